"""Normals for points that come without: estimated from neighbours, with signs that look outwards."""

import os
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from tqdm import tqdm

from ..._base.rows import equal_rows
from ..._base.threads import thread_count
from ..._base.warnings import warn_user
from ..cloud import CloudLike, HasVertices, PointCloud, as_cloud, unit_rows, weight_per_point
from ..scans import as_scan_numbers
from . import orientation, variational
from .estimate import Estimate
from .local_fits import Neighborhoods
from .planar import PlanarCloud, estimate_planar_normals, in_plane

_LEAST_POINTS = 4
_LEAST_OF_SCAN = 200  # points, with which a scan has neighbours of its own
_ON_A_LINE = 1e-9  # second extent of the points over the first
_METHODS = ("auto", "propagation", "variational")
_FEW = 2000  # points, up to which the energy is minimised by default


class OrientedCloud(PointCloud):
    """A point cloud with estimated normals, made by :func:`estimate_normals`.

    Attributes
    ----------
    normals : array (n, 3)
        Of length 1; NaN where the coordinates are not finite.
    confidence : array (n,)
        In [0, 1], for direction and sign.
    oriented : str, "outwards", "sensor" or "scan lines" by what decided the signs; "no" if they are arbitrary;
        "consistent" if neighbours agree but the outside is unknown, as for a flat patch, and all look towards larger z
    n_neighbors : int
        How many neighbours were used: all points, where the energy was minimised.
    details : dict
        How the normals were found: the "method", and where the energy was minimised "alpha", the relative "gap" to its
        relaxation, whether the minimum is "certified" to be global, and the mean "distance" of held-out points, in
        diagonals of the cloud.

    See Also
    --------
    estimate_normals

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds import estimate_normals
    >>> grid = np.stack(np.meshgrid(*[np.arange(10.0)] * 2), axis=-1).reshape(-1, 2)
    >>> cloud = estimate_normals(np.column_stack([grid, np.zeros(100)]), sensor=[0, 0, 5])
    >>> cloud.oriented, cloud[:5].normals[0].round(6) + 0.0
    ('sensor', array([0., 0., 1.]))
    """

    __slots__ = ("confidence", "details", "n_neighbors", "oriented")

    def __init__(
        self,
        cloud: PointCloud,
        *,
        confidence: np.ndarray,
        oriented: str,
        n_neighbors: int,
        details: dict[str, Any] | None = None,
    ):
        super().__init__(cloud.points, cloud.normals, cloud.colors, cloud.attributes, cloud.sensor)
        self.confidence, self.oriented, self.n_neighbors = confidence, oriented, n_neighbors
        self.details = dict(details or {"method": "propagation"})

    def __getitem__(self, rows: ArrayLike | slice) -> "OrientedCloud":
        part = super().__getitem__(rows)
        confidence = self.confidence[rows if isinstance(rows, slice) else np.asarray(rows)]
        told: dict[str, Any] = {"oriented": self.oriented, "n_neighbors": self.n_neighbors, "details": self.details}
        return OrientedCloud(part, confidence=confidence, **told)

    @property
    def source(self) -> str:
        """What the normals come from, in words."""
        if self.details["method"] == "variational":
            return f"all {self.n_neighbors} points at once"
        return f"{self.n_neighbors} neighbours"


@overload
def estimate_normals(
    points: PointCloud | HasVertices | str | os.PathLike[str],
    n_neighbors: int | None = None,
    *,
    sensor: ArrayLike | None = None,
    scan_lines: ArrayLike | None = None,
    scan_id: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    fit: str = "quadric",
    orient: bool = True,
    method: str = "auto",
    verbose: bool = False,
) -> OrientedCloud: ...
@overload
def estimate_normals(
    points: ArrayLike,
    n_neighbors: int | None = None,
    *,
    sensor: ArrayLike | None = None,
    scan_lines: ArrayLike | None = None,
    scan_id: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    fit: str = "quadric",
    orient: bool = True,
    method: str = "auto",
    verbose: bool = False,
) -> Any: ...  # by the number of columns
def estimate_normals(
    points: CloudLike,
    n_neighbors: int | None = None,
    *,
    sensor: ArrayLike | None = None,
    scan_lines: ArrayLike | None = None,
    scan_id: ArrayLike | None = None,
    confidence: ArrayLike | None = None,
    fit: str = "quadric",
    orient: bool = True,
    method: str = "auto",
    verbose: bool = False,
) -> OrientedCloud | PlanarCloud:
    """Estimate the outward normals of points on a surface, or on curves in the plane.

    A plane or a quadric is fitted to the neighbours of each point, without outliers. Signs come from the sensor, from
    scan lines, or from the points alone: then neighbours are made to agree, weighed against directions that give all
    points the winding number 1/2. The fits are repeated with the neighbours that lie on the same side of the surface,
    which separates thin sheets.

    Few points may have no neighbours that show a surface. Their normals are those of the smoothest function that is
    zero at the points and has gradients of length 1 there: all normals, with their signs, are found at once.

    Parameters
    ----------
    points : array (n, 3), PointCloud, path of a file, or a point cloud of Open3D, trimesh or PyVista
        Normals they have are not used. Points with NaN or infinite coordinates get the normal NaN and confidence 0.
        An array (n, 2) lies on curves in the plane: lines or parabolas are fitted, and the result is a
        :class:`seminorm.clouds.PlanarCloud`.
    n_neighbors : int, optional
        The point included; by default the noise decides: more average it, fewer keep details.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from, in all or one by one, with NaN where that is not known; by default
        ``sensor`` of the cloud, if it has one and there are no ``scan_lines``.
    scan_lines : array (n,) of int, optional
        Number of the scan line of each point. Lines must be numbered, and the points of each sorted, in the order of
        measurement, all lines in the same direction. This settles all signs but one, which the points decide.
    scan_id : array (n,) of int, optional
        Number of the scan of each point, for scans that were placed badly: planes and quadrics are fitted to neighbours
        of the same scan. Scans of fewer than 200 points go with the others around them.
    confidence : array (n,), optional
        How much each point counts in the fits of its neighbours.
    fit : "quadric" or "plane"
        Planes are simpler, and less accurate where the surface bends.
    orient : bool
        Whether to find the signs.
    method : "auto", "propagation" or "variational"
        "propagation": from neighbours. "variational": those of the smoothest function; memory grows with the square and
        time with the cube of the number of points. "auto": the latter for up to 2000 points of which nothing else is
        known, unless its minimum is in doubt or both agree; ``details`` tells what happened.
    verbose : bool
        Show progress.

    Returns
    -------
    OrientedCloud, a ``PointCloud`` with ``normals``, ``confidence``, ``oriented`` and ``n_neighbors``

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds import estimate_normals
    >>> sphere = np.random.default_rng(0).standard_normal((1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> cloud = estimate_normals(sphere)
    >>> cloud.oriented, bool((np.sum(cloud.normals * sphere, axis=1) > 0.99).all())
    ('outwards', True)

    See Also
    --------
    seminorm.reconstruct : Estimates normals itself where points have none.
    """
    if fit not in ("quadric", "plane"):
        raise ValueError(f"fit must be 'quadric' or 'plane', got {fit!r}.")
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    if in_plane(points):
        if scan_lines is not None or scan_id is not None or method == "variational":
            raise ValueError("scan_lines, scan_id and method='variational' are for points in space, not in the plane.")
        return estimate_planar_normals(
            points, n_neighbors, sensor=sensor, confidence=confidence, fit=fit, orient=orient
        )
    cloud = as_cloud(points)
    if sensor is None and scan_lines is None:
        sensor = _known_sensor(cloud)
    given = (sensor, scan_lines, scan_id, confidence, n_neighbors)
    alone = orient and fit == "quadric" and all(what is None for what in given)
    if method == "variational" and not alone:
        raise ValueError("method='variational' knows nothing but the points: leave out the other arguments.")
    places = _sensors(sensor, len(cloud))
    lines = _lines(scan_lines, len(cloud), places, orient)
    scans = None if scan_id is None else as_scan_numbers(scan_id, len(cloud))
    counted = None if confidence is None else weight_per_point("confidence", confidence, len(cloud))
    valid = np.flatnonzero(np.isfinite(cloud.points).all(axis=1))
    _check_points(cloud.points, valid)
    first, group = equal_rows(cloud.points[valid])
    rows = valid[first]
    if method == "variational":
        variational.require_memory_for(len(rows))
    placed = _placed(cloud.points[rows])
    _check_neighbors(n_neighbors, len(rows))
    with tqdm(total=len(rows) * (1 + orient), desc="fitting tangent planes", disable=not verbose, leave=False) as bar:
        own = None if scans is None else _large_scans(placed, scans[rows])
        mass = np.bincount(group)
        counts = None if counted is None else np.bincount(group, counted[valid]) / mass
        hood = Neighborhoods(placed, mass, n_neighbors, fit == "quadric", own, counts)
        fits = hood.fit(report=bar.update)
        found = Estimate(fits.normals, fits.confidence, "no", hood.n_neighbors, {"method": "propagation"})
        if orient:
            sights = None if places is None else np.broadcast_to(places, cloud.points.shape)[rows]
            towards = None if sights is None else unit_rows(sights - cloud.points[rows])
            handed = None if lines is None else orientation.line_directions(placed, lines[rows])
            normals, sure, oriented = _oriented(hood, fits, towards, handed, bar.update)
            found = replace(found, normals=normals, confidence=sure, oriented=oriented)
    if method == "variational" or (method == "auto" and alone and len(rows) <= _FEW):
        found = _from_all(placed, found, method == "auto")
    if method == "auto" and alone and found.details["method"] == "propagation":
        found = replace(found, normals=variational.settled(placed, found.normals, found.confidence, hood.noisy))
    all_normals, all_confidence = np.full((len(cloud), 3), np.nan), np.zeros(len(cloud))
    all_normals[valid], all_confidence[valid] = found.normals[group], found.confidence[group]
    completed = PointCloud(cloud.points, all_normals, cloud.colors, cloud.attributes, cloud.sensor)
    told: dict[str, Any] = {"oriented": found.oriented, "n_neighbors": found.n_neighbors, "details": found.details}
    return OrientedCloud(completed, confidence=all_confidence, **told)


def _oriented(hood, fits, towards, handed, report) -> tuple[np.ndarray, np.ndarray, str]:
    normals, confidence, decided = orientation.orient(hood, fits, towards=towards, handed=handed, report=report)
    if not decided:
        return normals, confidence, "consistent"
    return normals, confidence, "sensor" if towards is not None else "outwards" if handed is None else "scan lines"


def _from_all(placed: np.ndarray, propagated: Estimate, checked: bool) -> Estimate:
    """The estimate by the smoothest function; if ``checked``, the propagated one where that is in doubt or the same."""
    X = placed / np.linalg.norm(np.ptp(placed, axis=0))
    try:
        return variational.estimate_from_all(X, propagated, checked=checked)
    except variational.DegenerateTrendError:
        if not checked:
            raise
        return propagated


def _placed(points: np.ndarray) -> np.ndarray:
    """Points around the origin, in a box of size 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    placed = (points - (low + high) / 2) / (high - low).max()
    extents = np.linalg.svd(placed[:: max(len(placed) // 10_000, 1)], compute_uv=False)
    if extents[1] <= _ON_A_LINE * extents[0]:
        raise ValueError("all points lie on a line: normals need points that spread over a surface.")
    return placed


def _known_sensor(cloud: PointCloud) -> np.ndarray | None:
    """Where the points of a cloud were measured from, if that is known of any."""
    return cloud.sensor if cloud.sensor is not None and np.isfinite(cloud.sensor).all(axis=1).any() else None


def _sensors(sensor: ArrayLike | None, n: int) -> np.ndarray | None:
    if sensor is None:
        return None
    places = np.asarray(sensor, dtype=np.float64)
    if places.shape not in ((3,), (n, 3)):
        raise ValueError(f"sensor must have shape (3,) or ({n}, 3), one row per point, it has {places.shape}.")
    if not np.isfinite(places).all(axis=-1).any():
        raise ValueError("sensor must be finite: leave it out, and the points alone decide the signs.")
    return places


def _lines(scan_lines: ArrayLike | None, n: int, sensor: np.ndarray | None, orient: bool) -> np.ndarray | None:
    if scan_lines is None or not orient:
        return None
    if sensor is not None:
        raise ValueError("give sensor or scan_lines, not both: the sensor alone decides all signs.")
    lines = np.asarray(scan_lines)
    if lines.shape != (n,) or lines.dtype.kind not in "iu":
        found = f"shape {lines.shape}, {lines.dtype}"
        raise ValueError(f"scan_lines must be a whole number for each of the {n} points, got {found}.")
    if len(lines) and lines.min() == lines.max():
        raise ValueError(f"scan_lines must have two lines or more, all points are in line {lines[0]}.")
    return lines.astype(np.int64)


def _large_scans(points: np.ndarray, scan: np.ndarray) -> np.ndarray | None:
    """The scan of each point, or that of the nearest point of a large one; None if all are small."""
    _, group, counts = np.unique(scan, return_inverse=True, return_counts=True)
    large = counts[group] >= _LEAST_OF_SCAN
    if large.any() and not large.all():
        nearest = cKDTree(points[large]).query(points[~large], workers=thread_count())[1]
        group[~large] = group[large][nearest]
    return group if large.any() else None


def _check_points(points: np.ndarray, valid: np.ndarray) -> None:
    if len(valid) < len(points):
        warn_user(f"{len(points) - len(valid)} of {len(points)} points have NaN or infinite coordinates: no normals.")
    if len(valid) < _LEAST_POINTS:
        raise ValueError(f"normals need at least {_LEAST_POINTS} valid points, got {len(valid)}.")
    if np.ptp(points[valid], axis=0).max() == 0.0:
        raise ValueError("all points are the same: normals need points that are apart.")


def _check_neighbors(n_neighbors: int | None, n: int) -> None:
    if n < _LEAST_POINTS:
        raise ValueError(f"normals need at least {_LEAST_POINTS} distinct points, got {n}.")
    is_whole = isinstance(n_neighbors, (int, np.integer)) and not isinstance(n_neighbors, bool)
    if n_neighbors is not None and not (is_whole and _LEAST_POINTS <= n_neighbors <= n):
        raise ValueError(
            f"n_neighbors must be a whole number from {_LEAST_POINTS} to the number of distinct points, {n}, got "
            f"{n_neighbors!r}: leave it out for an automatic choice."
        )
