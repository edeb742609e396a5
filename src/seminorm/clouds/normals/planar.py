"""Normals of points on curves in the plane: parabolas through neighbours, and signs that look outwards.

The signs are found as those of points in space are (``orientation``): neighbours agree, weighed against directions that
give all points the winding number 1/2, in the plane sum_j m_j . (x_j - x_i) / (2 pi |x_j - x_i|^2).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial import cKDTree

from ..._base.rows import equal_rows
from ..._base.threads import thread_count
from ..._base.warnings import warn_user
from ..cloud import unit_rows, weight_per_point
from .local_fits import LocalFits, best_step
from .orientation import FIRM, GENTLE, settle_parts, signs_of

_LADDER = (5, 7, 9, 13, 18, 26, 37, 52, 74, 104, 148, 208, 296, 416, 592, 832, 1184, 1664)
_LIKE_A_CURVE = 0.12  # deviation over radius of a neighbourhood, below which points look like a curve
_LEAST_POINTS = 4
_SAMPLE = 700  # points that decide the number of neighbours
_STEADY, _STEADY_STEP = 1.5, 3  # growth of the residual up to this step of the ladder: that of noise is less
_ROUNDS, _OUTLYING = 3, 4.685  # of Tukey's biweight, in standard deviations
_ROBUST_FROM = 7  # neighbours
_LEAST_DEVIATION = 1e-7  # in radii of the neighbourhood
_RIDGE = 1e-6
_SAME_SIDE, _LEAST_ON_A_SIDE = 0.3, 4
_DOUBT = 0.03  # squared sine of the angle at which confidence is one half
_LEAST_SOURCES, _MOST_SOURCES = 100, 1500  # points that decide the winding directions
_PULLING = 200  # points that pull with full strength: along a curve, edges at the ends of a part must outweigh it
_DAMPING = (2.0, 4.0)  # without and with noise
_CHUNK = 2**21  # numbers in an array
_MANY, _FITS = 40, 16  # neighbours, from which on fits are made at some points; and how many in a neighbourhood
_FAR, _FAR_NEIGHBORS = 6.0, 4  # distance of a neighbour over what is usual around there, from which a point is off
_HIGH, _HIGH_REACH, _HIGH_NOWHERE = 7.0, 0.4, 0.05  # height over the curve: over the median, and the farthest neighbour
_JUDGES = 4, 9  # neighbours that judge the height of a point, where there is no noise
_ASIDE = 1.5  # distance to the nearest point over what is usual: what is nearer does little harm
_NOISY_REACH = 5.0  # spacings that count as the neighbourhood, where there is
_FEWEST_JUDGED = 100  # points: with fewer, bends and other sheets look like outliers
_SEARCHES = 3
_MOST_OFF = 0.3  # share of points that are off, from which on nothing is clear


class PlanarCloud:
    """Points in the plane with estimated normals, made by :func:`seminorm.clouds.estimate_normals`.

    Attributes
    ----------
    points, normals : arrays (n, 2)
        Normals of length 1, NaN where the coordinates are not finite.
    confidence : array (n,)
        In [0, 1], for direction and sign.
    oriented : str, "outwards" or "sensor" by what decided the signs; "no" if they are arbitrary; "consistent" if
        neighbours agree but the outside is unknown, as for an arc, and all look towards larger y
    n_neighbors : int
        How many neighbours were used.

    See Also
    --------
    seminorm.clouds.estimate_normals

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds import estimate_normals
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> cloud = estimate_normals(circle)
    >>> cloud.oriented, bool(((cloud.normals * circle).sum(axis=1) > 0.999).all())
    ('outwards', True)
    """

    def __init__(self, points: np.ndarray, normals: np.ndarray, confidence: np.ndarray, oriented: str, neighbors: int):
        self.points, self.normals, self.confidence = points, normals, confidence
        self.oriented, self.n_neighbors = oriented, neighbors

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"PlanarCloud({len(self)} points, normals, signs: {self.oriented})"


def in_plane(points: Any) -> bool:
    """Whether these are points in the plane: an array (n, 2), or lists that make one."""
    if not isinstance(points, (list, tuple)) and not hasattr(points, "__array__"):
        return False
    try:
        return np.shape(points)[1:] == (2,)
    except ValueError:  # lists of different lengths
        return False


def planar_table(values: ArrayLike, name: str, n: int | None = None) -> np.ndarray:
    """A float64 array (n, 2)."""
    table = np.ascontiguousarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 2 or (n is not None and len(table) != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n}, 2), it has {table.shape}.")
    return table


def estimate_planar_normals(
    points: Any,
    n_neighbors: int | None = None,
    *,
    sensor: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    fit: str = "quadric",
    orient: bool = True,
) -> PlanarCloud:
    """What :func:`seminorm.clouds.estimate_normals` does for points (n, 2)."""
    given = planar_table(points, "points")
    valid = np.flatnonzero(np.isfinite(given).all(axis=1))
    if len(valid) < len(given):
        warn_user(f"{len(given) - len(valid)} of {len(given)} points have NaN or infinite coordinates: no normals.")
    first, group = equal_rows(given[valid])
    rows = valid[first]
    if len(rows) < _LEAST_POINTS:
        raise ValueError(f"normals need at least {_LEAST_POINTS} distinct points, got {len(rows)}.")
    if n_neighbors is not None and not 3 <= n_neighbors <= len(rows):
        raise ValueError(f"n_neighbors must be a whole number from 3 to {len(rows)}, got {n_neighbors!r}.")
    counted = None if confidence is None else weight_per_point("confidence", confidence, len(given))[valid]
    hood = CurveNeighborhoods(given[rows], np.bincount(group, counted), n_neighbors, fit == "quadric")
    towards = None if sensor is None else _sights(sensor, given)[rows]
    found, sure, oriented = _oriented(hood, towards) if orient else (hood.fit(), None, "no")
    normals, certainty = np.full_like(given, np.nan), np.zeros(len(given))
    row = hood.member[group]
    normals[valid], certainty[valid] = found.normals[row], (found.confidence if sure is None else sure)[row]
    return PlanarCloud(given, normals, certainty, oriented, hood.n_neighbors)


def points_off(points: np.ndarray) -> np.ndarray:
    """Rows of distinct points that lie on no curve with others; none, if that would be many of them.

    Such are points whose neighbours are much farther away than is usual around there, and points much higher over the
    curve through their neighbours than most are, and than their neighbours are apart.
    """
    kept = np.arange(len(points))
    for _ in range(_SEARCHES):
        if len(kept) <= _LADDER[0]:
            break
        places = points[kept]
        off = _lonely(places)
        off[~off] = _high(places[~off])
        if not off.any():
            break
        kept = kept[~off]
    gone = np.setdiff1d(np.arange(len(points)), kept)
    return gone if len(gone) <= _MOST_OFF * len(points) else gone[:0]


def _lonely(points: np.ndarray) -> np.ndarray:
    k = min(_FAR_NEIGHBORS, len(points) - 1)
    distance, near = cKDTree(points).query(points, k=k + 1, workers=thread_count())
    reach = np.maximum(distance[:, -1], 1e-300)
    return reach > _FAR * np.median(reach[near[:, 1:]], axis=1)


def _high(points: np.ndarray) -> np.ndarray:
    if len(points) < _FEWEST_JUDGED:
        return np.zeros(len(points), dtype=bool)
    hood = CurveNeighborhoods(points, np.ones(len(points)))
    if hood.n_neighbors > 2 * _JUDGES[-1]:
        fits = hood.fit()
        across = hood.points - fits.feet[hood.member]
        return _is_high(_dots(across, fits.normals[hood.member]), _NOISY_REACH * fits.spacing[hood.member])
    distance, near = hood.tree.query(hood.points, k=min(_JUDGES[-1] + 1, len(points)), workers=thread_count())
    usual = np.median(distance[near[:, 1:], 2], axis=1)
    far = distance[:, -1] > _FAR * np.median(distance[:, -1])
    high = far | (distance[:, 1] > _ASIDE * usual)
    for k in _JUDGES:  # a point does not judge itself, and a few neighbours or more must find it in place
        around = hood.points[near[:, 1 : k + 1]] - hood.points[:, None]
        high &= _is_high(fit_curves(around, np.ones(around.shape[:2]))[1], distance[:, min(k, near.shape[1] - 1)])
    return high


def _is_high(height: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Whether heights over curves are far beyond most, and large for the neighbourhood or in the middle of nowhere."""
    height = np.abs(height)
    nowhere = (reach > _FAR * np.median(reach)) & (height > _HIGH_NOWHERE * reach)
    return (height > np.maximum(_HIGH * np.median(height), _HIGH_REACH * reach)) | nowhere


class CurveNeighborhoods:
    """The neighbours of distinct points (n, 2), ready for fits of parabolas or lines; see ``Neighborhoods``.

    ``noisy`` says whether points scatter around the curve, rather than lie on one that bends between them. Where many
    neighbours are needed, fits are made at some of the points, ``rows``; ``member`` says which of them is nearest.
    """

    def __init__(self, points: np.ndarray, mass: np.ndarray, n_neighbors: int | None = None, curved: bool = True):
        low, high = points.min(axis=0), points.max(axis=0)
        if not (high - low).any():
            raise ValueError("all points are the same: normals need points that are apart.")
        self.points = (points - (low + high) / 2) / (high - low).max()
        self.mass, self.curved, self.tree = mass.astype(float), curved, cKDTree(self.points)
        chosen, self.noisy = self._choose()
        self.n_neighbors = chosen if n_neighbors is None else int(n_neighbors)
        self.rows = self.member = np.arange(len(points))
        if self.n_neighbors > _MANY:
            self.rows = np.sort(self.tree.indices[:: self.n_neighbors // _FITS])
            self.member = cKDTree(self.points[self.rows]).query(self.points, workers=thread_count())[1]

    def fit(self, sides: np.ndarray | None = None) -> LocalFits:
        """Fit a curve to the neighbours of each of the rows; with their ``sides``, to those that look the same way."""
        n, k = len(self.rows), self.n_neighbors
        sides = None if sides is None else sides[self.member]
        chunk = max(_CHUNK // k, 1)
        fewer = max(2 * k // 3, min(k, 5))
        parts = []
        for begin in range(0, n, chunk):
            rows = self.rows[begin : begin + chunk]
            distance, near = self.tree.query(self.points[rows], k=k, workers=thread_count())
            normals, height, deviation, slope, _ = self._fitted(rows, near, sides)
            other = self._fitted(rows, near[:, :fewer], sides)[0]
            doubt = deviation**2 * slope + 1.0 - (normals * other).sum(axis=1) ** 2
            feet = self.points[rows] + height[:, None] * normals
            parts.append((normals, feet, 1.0 / (1.0 + doubt / _DOUBT), distance[:, -1] / (k / 2)))
        return LocalFits(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _choose(self) -> tuple[int, bool]:
        n = len(self.points)
        ladder = [k for k in _LADDER if k <= n // 4]
        if len(ladder) < 2:
            return min(n, _LADDER[0]), False
        rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
        near = self.tree.query(self.points[rows], k=ladder[-1], workers=thread_count())[1]
        fits = [self._fitted(rows, near[:, :k], None) for k in ladder]
        radius = [np.linalg.norm(self.points[near[:, k - 1]] - self.points[rows], axis=1) for k in ladder]
        thin = [np.median(fit[2] / np.maximum(r, 1e-300)) for fit, r in zip(fits, radius, strict=True)]
        first = next((step for step, ratio in enumerate(thin) if ratio < _LIKE_A_CURVE), int(np.argmin(thin)))
        later = fits[min(first + _STEADY_STEP, len(fits) - 1)]
        noisy = first > 0 or bool(np.median(later[2]) < _STEADY * np.median(fits[0][2]))
        return ladder[first + best_step(fits[first:], noisy)], noisy

    def _fitted(self, rows: np.ndarray, near: np.ndarray, sides: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Normals (m, 2), heights of the curve over the points, deviations, variances of slopes, and ones."""
        mass = self.mass[near]
        if sides is not None:
            same = np.einsum("mka,ma->mk", sides[near], sides[rows]) > _SAME_SIDE
            mass = np.where((same.sum(axis=1) >= _LEAST_ON_A_SIDE)[:, None], mass * same, mass)
        return fit_curves(self.points[near] - self.points[rows, None], mass, self.curved)


def fit_curves(around: np.ndarray, mass: np.ndarray, curved: bool = True) -> tuple[np.ndarray, ...]:
    """Parabolas, or lines, through neighbours (m, k, 2), relative to the point in question.

    Returned are unit normals, the height of the curve over the point along the normal, the standard deviation of the
    neighbours, the variance of the slope in units of its square, and ones (curves have no width).
    """
    m, k, _ = around.shape
    radius = np.sqrt((around**2).sum(axis=2).max(axis=1))[:, None] + 1e-300
    near = mass * (1.0 - 0.75 * ((around / radius[..., None]) ** 2).sum(axis=2))
    center = np.einsum("mk,mka->ma", near, around) / near.sum(axis=1)[:, None]
    offset = around - center[:, None]
    axes = np.linalg.eigh(np.einsum("mk,mka,mkb->mab", near, offset, offset))[1]
    along, across = (np.einsum("mka,ma->mk", around, axes[:, :, i]) / radius for i in (1, 0))
    degree = 2 if curved and k >= _LADDER[0] else 1
    basis = along[..., None] ** np.arange(degree + 1)
    weight = near
    for last in range(_ROUNDS)[:: 1 if k >= _ROBUST_FROM else _ROUNDS]:
        normal_matrix = np.einsum("mk,mki,mkj->mij", weight, basis, basis)
        normal_matrix += _RIDGE * np.trace(normal_matrix, axis1=1, axis2=2)[:, None, None] * np.eye(degree + 1) / 3
        right = np.einsum("mk,mki,mk->mi", weight, basis, across)
        coef = np.linalg.solve(normal_matrix, right[..., None])[..., 0]
        off = np.abs(across - np.einsum("mki,mi->mk", basis, coef))
        if last < _ROUNDS - 1 and k >= _ROBUST_FROM:
            limit = _OUTLYING * np.maximum(1.4826 * np.median(off, axis=1), _LEAST_DEVIATION)[:, None]
            weight = near * np.maximum(1.0 - (off / limit) ** 2, 1e-3) ** 2
    total = weight.sum(axis=1)
    freedom = np.maximum(1.0 - (degree + 1) / np.maximum(total / weight.max(axis=1), degree + 1.5), 0.1)
    deviation = np.sqrt(np.maximum((weight * off**2).sum(axis=1) / total / freedom, _LEAST_DEVIATION**2))
    inverse = np.linalg.inv(normal_matrix)
    slope = np.einsum("mij,mjk,mki->mi", inverse, np.einsum("mk,mki,mkj->mij", weight**2, basis, basis), inverse)[:, 1]
    steep = np.sqrt(1.0 + coef[:, 1] ** 2)
    normals = (axes[:, :, 0] - coef[:, 1, None] * axes[:, :, 1]) / steep[:, None]
    return normals, radius[:, 0] * coef[:, 0] / steep, radius[:, 0] * deviation, slope / radius[:, 0] ** 2, np.ones(m)


def _oriented(hood: CurveNeighborhoods, towards: np.ndarray | None) -> tuple[LocalFits, np.ndarray, str]:
    fits = hood.fit()
    places = fits.feet if hood.noisy else hood.points[hood.rows]
    guide = _winding_directions(places, hood.noisy, _FITS * len(hood.points) // hood.n_neighbors)
    strength = np.full(len(guide), GENTLE * min(1.0, _PULLING / len(guide)))
    seen = np.zeros(len(guide), dtype=bool)
    if towards is not None:
        towards = towards[hood.rows]
        seen = np.isfinite(towards).all(axis=1)
        guide, strength = np.where(seen[:, None], towards, guide), np.where(seen, FIRM, GENTLE)
    signs, *_ = signs_of(_lifted(places), _in_space(fits), strength * _dots(guide, fits.normals))
    fits = hood.fit(signs[:, None] * fits.normals)
    pull = _dots(guide, fits.normals)
    signs, part, certainty = signs_of(_lifted(places), _in_space(fits), strength * pull)
    decided = settle_parts(signs, part, pull, _lifted(fits.normals), seen)
    found = LocalFits(signs[:, None] * fits.normals, fits.feet, fits.confidence, fits.spacing)
    told = "consistent" if not decided else "outwards" if not seen.any() else "sensor"
    return found, fits.confidence * certainty, told


def _winding_directions(points: np.ndarray, noisy: bool, enough: int) -> np.ndarray:
    """Unit vectors (n, 2) that look outwards, roughly: the smallest moments with winding number 1/2 everywhere.

    Moments are those of some points, no more than are ``enough``.
    """
    number = min(len(points), max(_LEAST_SOURCES, min(enough, _MOST_SOURCES)))
    rows = np.unique(np.linspace(0, len(points) - 1, number).astype(np.intp))
    rows = cKDTree(points).indices[rows]  # evenly spread, whatever the order of the points
    sources = points[rows]
    tree = cKDTree(sources)
    k = min(4, len(rows) - 1)
    width = tree.query(sources, k=k + 1)[0][:, -1] / (k / 2)
    width = np.clip(width, np.median(width) / 3, np.median(width) * 3)
    A = _rows_of_winding(sources, sources, width)
    G = A[0] @ A[0].T + A[1] @ A[1].T
    G[np.diag_indices_from(G)] *= _DAMPING[noisy]
    strength = cho_solve(cho_factor(G), np.full(len(rows), 0.5))
    field = np.empty_like(points)
    chunk = _CHUNK // len(rows)
    for begin in range(0, len(points), chunk):
        part = slice(begin, begin + chunk)
        for axis, matrix in enumerate(_rows_of_winding(sources, points[part], width)):
            field[part, axis] = strength @ matrix
    return unit_rows(field)


def _rows_of_winding(places: np.ndarray, sources: np.ndarray, width: np.ndarray) -> list[np.ndarray]:
    """Winding numbers, times 2 pi, at places of unit moments along each axis at sources."""
    across = [sources[None, :, axis] - places[:, None, axis] for axis in (0, 1)]
    squares = across[0] ** 2 + across[1] ** 2 + width[:, None] ** 2
    return [component / squares for component in across]


def _sights(sensor: ArrayLike, points: np.ndarray) -> np.ndarray:
    places = np.asarray(sensor, dtype=float)
    if places.shape not in ((2,), points.shape):
        raise ValueError(f"sensor must have shape (2,) or {points.shape}, one row per point, it has {places.shape}.")
    return unit_rows(np.broadcast_to(places, points.shape) - points)


def _lifted(vectors: np.ndarray) -> np.ndarray:
    """In the plane z = 0 of space."""
    return np.column_stack([vectors, np.zeros(len(vectors))])


def _in_space(fits: LocalFits) -> LocalFits:
    return LocalFits(_lifted(fits.normals), _lifted(fits.feet), fits.confidence, fits.spacing)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)
