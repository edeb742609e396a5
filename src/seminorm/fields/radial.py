"""A basis of radial B3-splines of compact support, and where to put its functions (seed 004, 3.1.2 and 3.1.4).

Values, derivatives and energies are sparse matrices: two functions meet only if their supports do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.utils import check_array

from ..memory import require_memory
from ..operators.radial_energies import b3_spline, check_order, radial_energy
from .centred import CentredBasis

_BIN_RATIO = 1.2  # supports that differ by less share a search tree
_BYTES_A_PAIR = 120  # indices, distance, energy and the copies made on the way to a symmetric matrix
_CELLS_A_RADIUS = 10
_PAIRS_AT_ONCE = 2**23


class RadialSplineBasis(CentredBasis):
    """Functions f_k(x) = b(|x - centres[k]| / supports[k]), b the B3-spline with b(0) = 1 and b(t) = 0 for t >= 1.

    Parameters
    ----------
    centres : array (p, d)
    supports : float or array (p,)
        Radii of the supports.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields.radial import RadialSplineBasis
    >>> basis = RadialSplineBasis([[0.0], [0.5], [1.0]], 1.0)
    >>> basis.design([[0.0], [1.0]]).toarray()
    array([[1.  , 0.25, 0.  ],
           [0.  , 0.25, 1.  ]])
    >>> basis.energy(order=1).toarray().round(4)
    array([[ 3.    , -0.5625, -0.9   ],
           [-0.5625,  3.    , -0.5625],
           [-0.9   , -0.5625,  3.    ]])
    """

    def __init__(self, centres, supports):
        super().__init__(centres)
        supports = np.asarray(supports, dtype=float)
        if supports.shape not in ((), (self.size,)):
            raise ValueError(
                f"supports must be one number, or one for each of the {self.size} centres, got shape {supports.shape}."
            )
        if not (np.isfinite(supports).all() and (supports > 0).all()):
            raise ValueError("supports must be positive and finite.")
        self.supports = np.array(np.broadcast_to(supports, (self.size,)))

    def __repr__(self):
        low, high = self.supports.min(), self.supports.max()
        return f"<RadialSplineBasis: {self.size} functions in R^{self.dimension}, supports {low:.3g} to {high:.3g}>"

    def parameters(self) -> dict[str, np.ndarray]:
        """What the constructor needs to build the basis again."""
        return {"centres": self.centres, "supports": self.supports}

    def design(self, X, derivative: int = 0) -> sparse.csr_array:
        """Values of all functions at X, or their first or second derivatives, as a sparse matrix.

        The rows are the points; for ``derivative=1`` all d components at the first point, then at the second, ...; for
        ``derivative=2`` likewise the d x d second derivatives.
        """
        X = self._points(X, derivative)
        components = self.dimension**derivative
        rows, columns, distances = self._reached(X, components)
        blocks = self._derivatives(X[rows] - self.centres[columns], distances, self.supports[columns], derivative)
        rows = rows[:, None] * components + np.arange(components)
        columns = np.broadcast_to(columns[:, None], rows.shape)
        return sparse.coo_array(
            (blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(len(X) * components, self.size)
        ).tocsr()

    def energy(self, order: int = 2) -> sparse.csr_array:
        """The matrix of <D^m f_j, D^m f_k> over R^d, m the order: 0, 1, 2 (the thin plate) or 3.

        It is symmetric and, for distinct functions, positive definite: nothing of compact support but 0 has vanishing
        derivatives. See :func:`seminorm.operators.radial_energies.radial_energy`.
        """
        check_order(order)
        rows, columns, distances = self._meeting()
        values = radial_energy(
            distances, self.supports[rows], self.supports[columns], dimension=self.dimension, order=order
        )
        upper = sparse.coo_array((values, (rows, columns)), shape=(self.size, self.size)).tocsr()
        return (upper + sparse.triu(upper, 1).T).tocsr()

    def _reached(self, X: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points and functions that are not zero there, with the distances to the centres."""
        points = cKDTree(X)
        found = []
        for members, tree, reach in self._bins():
            require_memory(
                _BYTES_A_PAIR * components * int(points.count_neighbors(tree, reach)),
                f"the values of {self.size} functions at {len(X)} points",
                "use fewer points at a time, or functions of smaller support.",
            )
            pairs = points.sparse_distance_matrix(tree, reach, output_type="ndarray")
            rows, columns, distances = pairs["i"], members[pairs["j"]], pairs["v"]
            inside = distances < self.supports[columns]
            found.append((rows[inside], columns[inside], distances[inside]))
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))

    def _meeting(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of functions j <= k whose supports overlap (seed 004, (3.5)), with the distances of the centres."""
        bins = list(self._bins())
        couples = [(one, other) for i, one in enumerate(bins) for other in bins[i:]]
        count = sum(int(one[1].count_neighbors(other[1], one[2] + other[2])) for one, other in couples)
        require_memory(
            _BYTES_A_PAIR * count,
            f"the energy matrix of {self.size} functions",
            "take a larger spacing of the centres or smaller supports.",
        )
        found = []
        for (members, tree, reach), (others, other_tree, other_reach) in couples:
            pairs = tree.sparse_distance_matrix(other_tree, reach + other_reach, output_type="ndarray")
            rows, columns, distances = members[pairs["i"]], others[pairs["j"]], pairs["v"]
            kept = distances < self.supports[rows] + self.supports[columns]
            if tree is other_tree:
                kept &= rows <= columns
            first, second = np.minimum(rows[kept], columns[kept]), np.maximum(rows[kept], columns[kept])
            found.append((first, second, distances[kept]))
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))

    def _bins(self) -> Iterator[tuple[np.ndarray, cKDTree, float]]:
        """Functions of nearly equal support: their indices, the tree of their centres and the largest support."""
        labels = np.round(np.log(self.supports / self.supports.min()) / math.log(_BIN_RATIO)).astype(int)
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            yield members, cKDTree(self.centres[members]), float(self.supports[members].max())

    def _derivatives(self, offsets, distances, supports, derivative: int) -> np.ndarray:
        """Values (n, 1), gradients (n, d) or Hessians (n, d * d) of single functions at single points."""
        t = distances / supports
        if derivative == 0:
            return b3_spline(t)[:, None]
        # b'(t) / t, whose limit at the centre is -12: neither derivative is singular there
        slope = np.where(t < 0.5, 18.0 * t - 12.0, b3_spline(t, 1) / np.maximum(t, 0.5)) / supports**2
        if derivative == 1:
            return slope[:, None] * offsets
        if derivative != 2:
            raise ValueError(f"derivative must be 0, 1 or 2, got {derivative!r}.")
        directions = np.divide(offsets, distances[:, None], where=distances[:, None] > 0, out=np.zeros_like(offsets))
        along = b3_spline(t, 2) / supports**2 - slope
        hessians = along[:, None, None] * directions[:, :, None] * directions[:, None, :]
        hessians += slope[:, None, None] * np.eye(self.dimension)
        return hessians.reshape(len(offsets), -1)


def curvature_centres(
    points,
    tolerance: float = 1 / 50,
    support: float = 1 / 5,
    shrink: float = 1.3,
    spacing: float = 1 / 3,
    min_support: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Centres and supports that follow the curvature of a point set (seed 004, Algorithm 3.1).

    A grid of wide functions covers the box of the points. Then the support s shrinks step by step; a point is finished,
    and gets functions of support s on the grid around it, as soon as the points within the distance s of it are close
    to a hyperplane: when the smallest eigenvalue of their covariance is less than tolerance / d of the sum of all. Flat
    parts keep wide functions, curved parts get narrow ones.

    Lengths are shares of the longest side of the box of the points; the results are in the coordinates of the points.

    Parameters
    ----------
    points : array (n, d)
    tolerance : float
        From 0 (every point is refined as far as it goes) to 1 (all count as flat).
    support : float
        Of the widest functions.
    shrink : float
        By which the support is divided from step to step, above 1.
    spacing : float
        Width of the grids, as a share of the support; at most 1/2, or some places are hardly covered. See the notes.
    min_support : float, optional
        Where refinement stops: points that are not finished by then get the narrowest functions. The default is the
        median distance to the nearest other point, divided by ``spacing``: no grid is finer than the points.

    Returns
    -------
    centres : array (p, d)
    supports : array (p,)
        For :class:`RadialSplineBasis`.

    Notes
    -----
    The first grid takes in all functions that reach into the box, where the source takes those within a grid width: so
    that the functions do not force the fit towards zero at the faces. Points in a cell of a tenth of s are counted
    together in the covariances, which keeps the cost linear in the number of points.

    Functions of one support on a grid add up to a constant only nearly; what is left is a ripple of the grid's width,
    which the regulariser sees. The thin-plate energy of the best "constant 1" in a unit of volume is 0.07 / s^4 in
    space and 0.4 / s^4 in the plane for the spacing 1/3 of the source, 0.001 / s^4 and 0.003 / s^4 for 1/4. On the line
    the spacings 1/2 and 1/4 contain all cubic polynomials. Where the wide functions matter (holes, few data, large
    alpha) prefer 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields.radial import curvature_centres
    >>> angles = np.linspace(0.0, 2 * np.pi, 200)
    >>> centres, supports = curvature_centres(np.column_stack([np.cos(angles), np.sin(angles)]))
    >>> np.unique(supports).round(4)
    array([0.3077, 0.4   ])
    """
    points = check_array(points, dtype=np.float64, ensure_min_samples=2, input_name="points")
    _check_options(tolerance, support, shrink, spacing)
    lower, extent = points.min(axis=0), np.ptp(points, axis=0)
    if extent.max() == 0:
        raise ValueError("points must not all coincide.")
    side = extent.max()
    scaled = (points - lower) / side
    least = _sampling_distance(scaled) / spacing if min_support is None else min_support
    if not least > 0:
        raise ValueError(f"min_support must be positive, got {min_support!r}.")
    levels = [(_grid_over_box(extent / side, spacing * support, support), support)]
    for s, chosen in _finished_points(scaled, tolerance, support / shrink, shrink, least):
        levels.append((_grid_around(scaled[chosen], spacing * s), s))
    centres = np.concatenate([lower + side * grid for grid, _ in levels])
    return centres, np.concatenate([np.full(len(grid), side * s) for grid, s in levels])


def _check_options(tolerance: float, support: float, shrink: float, spacing: float) -> None:
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}.")
    if not support > 0:
        raise ValueError(f"support must be positive, got {support!r}.")
    if not shrink > 1:
        raise ValueError(f"shrink must be above 1, got {shrink!r}: supports would not decrease.")
    if not 0 < spacing <= 0.5:
        raise ValueError(f"spacing must be positive and at most 1/2, got {spacing!r}.")


def _sampling_distance(points: np.ndarray) -> float:
    """Median distance to the nearest other point, repetitions left out."""
    distinct = np.unique(points, axis=0)
    return float(np.median(cKDTree(distinct).query(distinct, k=2)[0][:, 1]))


def _finished_points(points, tolerance, s, shrink, least) -> Iterator[tuple[float, np.ndarray]]:
    """Supports in decreasing order, each with the points that are finished there; ends at the least support."""
    active = np.arange(len(points))
    while len(active) and s >= least:
        flat = _curvature(points, points[active], s) < tolerance / points.shape[1]
        if s / shrink < least:
            flat[:] = True
        if flat.any():
            yield s, active[flat]
        active, s = active[~flat], s / shrink


def _curvature(points: np.ndarray, queries: np.ndarray, radius: float) -> np.ndarray:
    """Smallest eigenvalue of the covariance of the points within a radius, divided by the sum of all (0 to 1/d)."""
    means, moments = _cell_moments(points - points.mean(axis=0), radius / _CELLS_A_RADIUS)
    queries = queries - points.mean(axis=0)
    tree, d = cKDTree(means), points.shape[1]
    ratios = np.empty(len(queries))
    step = max(1, _PAIRS_AT_ONCE // min(len(means), (2 * _CELLS_A_RADIUS + 1) ** d))
    for begin in range(0, len(queries), step):
        chunk = queries[begin : begin + step]
        pairs = cKDTree(chunk).sparse_distance_matrix(tree, radius, output_type="ndarray")
        members = sparse.csr_array((np.ones(len(pairs)), (pairs["i"], pairs["j"])), shape=(len(chunk), len(means)))
        sums = members @ moments
        count = np.maximum(sums[:, 0], 1.0)
        mean = sums[:, 1 : d + 1] / count[:, None]
        covariance = (sums[:, d + 1 :] / count[:, None]).reshape(-1, d, d) - mean[:, :, None] * mean[:, None, :]
        eigenvalues = np.linalg.eigvalsh(covariance).clip(min=0.0)
        total = eigenvalues.sum(axis=1)
        ratios[begin : begin + step] = np.divide(eigenvalues[:, 0], total, where=total > 0, out=np.zeros(len(chunk)))
    return ratios


def _cell_moments(points: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the points in each cell of a grid, and the sums of 1, x and x x' over them."""
    cells = np.unique(np.floor(points / width).astype(np.int64), axis=0, return_inverse=True)[1].ravel()
    products = (points[:, :, None] * points[:, None, :]).reshape(len(points), -1)
    terms = np.column_stack([np.ones(len(points)), points, products])
    collect = sparse.csr_array((np.ones(len(points)), (cells, np.arange(len(points)))))
    moments = collect @ terms
    return moments[:, 1 : points.shape[1] + 1] / moments[:, :1], moments


def _grid_over_box(extent: np.ndarray, width: float, margin: float) -> np.ndarray:
    """Points of the grid of the given width that are nearer than the margin to the box from 0 to ``extent``."""
    low, high = math.ceil(-margin / width), np.floor((extent + margin) / width).astype(int)
    count = math.prod(int(n) - low + 1 for n in high)
    require_memory(
        24 * count * len(extent),
        f"a grid of {count} wide functions",
        "take a larger support, or fewer dimensions (the source advises at most 4).",
    )
    grid = np.stack(np.meshgrid(*(np.arange(low, n + 1) for n in high), indexing="ij"), axis=-1)
    grid = grid.reshape(-1, len(extent)) * width
    outside = np.linalg.norm(grid - np.clip(grid, 0.0, extent), axis=1)
    return grid[outside < margin]


def _grid_around(points: np.ndarray, width: float) -> np.ndarray:
    """Points of the grid of the given width that are at most the width away from some of the points."""
    d = points.shape[1]
    steps = np.stack(np.meshgrid(*([np.arange(-1, 3)] * d), indexing="ij"), axis=-1).reshape(-1, d)
    corner = np.floor(points / width).astype(np.int64)
    found = []
    step = max(1, _PAIRS_AT_ONCE // len(steps))
    for begin in range(0, len(points), step):
        candidates = corner[begin : begin + step, None] + steps
        distances = np.linalg.norm(candidates * width - points[begin : begin + step, None], axis=-1)
        found.append(np.unique(candidates[distances <= width], axis=0))
    return np.unique(np.concatenate(found), axis=0) * width
