"""Normals for points that come without: estimated from neighbours, with signs that look outwards."""

from __future__ import annotations

import numpy as np
from tqdm import tqdm

from .._warnings import warn_user
from . import orientation
from .cloud import PointCloud, as_cloud
from .local_fits import Neighbourhoods
from .preparation import equal_rows

_LEAST_POINTS = 4
_ON_A_LINE = 1e-9  # second extent of the points over the first


class OrientedCloud(PointCloud):
    """A point cloud with estimated normals.

    Attributes
    ----------
    normals : array (n, 3)
        Of length 1; NaN where the coordinates are not finite.
    confidence : array (n,)
        In [0, 1], for direction and sign.
    oriented : str
        How the signs were found: "outwards", "sensor", "scan lines"; "consistent" if neighbours agree but nothing tells
        the outside, as for a flat patch, and all look towards larger z; "no" if they are arbitrary.
    k : int
        Number of neighbours that were used.
    """

    __slots__ = ("confidence", "k", "oriented")

    def __init__(self, points, normals, colors=None, attributes=None, *, confidence, oriented: str, k: int):
        super().__init__(points, normals, colors, attributes)
        self.confidence, self.oriented, self.k = confidence, oriented, k

    def __getitem__(self, rows) -> OrientedCloud:
        part = super().__getitem__(rows)
        return OrientedCloud(
            part.points,
            part.normals,
            part.colors,
            part.attributes,
            confidence=self.confidence[rows],
            oriented=self.oriented,
            k=self.k,
        )


def estimate_normals(
    points,
    k: int | None = None,
    *,
    sensor=None,
    scan_lines=None,
    fit: str = "quadric",
    orient: bool = True,
    progress: bool = False,
) -> OrientedCloud:
    """Estimate the outward normals of points.

    A plane or a quadric is fitted to the neighbours of each point, without outliers. Signs come from the sensor, from
    scan lines, or from the points alone: then neighbours are made to agree, weighed against directions that give all
    points the winding number 1/2. The fits are repeated with the neighbours that lie on the same side of the surface,
    which separates thin sheets.

    Parameters
    ----------
    points : array (n, 3), PointCloud, path of a file, or a point cloud of Open3D, trimesh or PyVista
        Normals they have are not used. Points with NaN or infinite coordinates get the normal NaN and confidence 0.
    k : int, optional
        Number of neighbours of a point, itself included. By default as many as the noise calls for, and as few as the
        details of the surface allow.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from, in all or one by one: normals look there.
    scan_lines : array (n,) of int, optional
        Number of the scan line of each point. Lines must be numbered, and the points of each sorted, in the order of
        measurement, all lines in the same direction. This settles all signs but one, which the points decide.
    fit : "quadric" or "plane"
        Planes are simpler, and less accurate where the surface bends.
    orient : bool
        Whether to find the signs.
    progress : bool
        Show progress.

    Returns
    -------
    OrientedCloud
        A ``PointCloud`` with ``normals``, and ``confidence``, ``oriented`` and ``k``.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.normals import estimate_normals
    >>> sphere = np.random.default_rng(0).standard_normal((1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> cloud = estimate_normals(sphere)
    >>> cloud.oriented, bool((np.sum(cloud.normals * sphere, axis=1) > 0.99).all())
    ('outwards', True)
    """
    cloud = as_cloud(points)
    if fit not in ("quadric", "plane"):
        raise ValueError(f"fit must be 'quadric' or 'plane', got {fit!r}.")
    sensor = _sensors(sensor, len(cloud))
    lines = _lines(scan_lines, len(cloud), sensor, orient)
    valid = np.flatnonzero(np.isfinite(cloud.points).all(axis=1))
    _check_points(cloud.points, valid)
    first, group = equal_rows(cloud.points[valid])
    rows = valid[first]
    placed = _placed(cloud.points[rows])
    _check_neighbours(k, len(rows))
    with tqdm(total=len(rows) * (1 + orient), desc="fitting tangent planes", disable=not progress, leave=False) as bar:
        hood = Neighbourhoods(placed, np.bincount(group), k, fit == "quadric")
        fits = hood.fit(report=bar.update)
        normals, confidence, oriented = fits.normals, fits.confidence, "no"
        if orient:
            towards = None if sensor is None else _towards(sensor, cloud.points, rows)
            handed = None if lines is None else orientation.line_directions(placed, lines[rows])
            normals, confidence, oriented = _oriented(hood, fits, towards, handed, bar.update)
    all_normals, all_confidence = np.full((len(cloud), 3), np.nan), np.zeros(len(cloud))
    all_normals[valid], all_confidence[valid] = normals[group], confidence[group]
    rest = cloud.colors, cloud.attributes
    return OrientedCloud(cloud.points, all_normals, *rest, confidence=all_confidence, oriented=oriented, k=hood.k)


def _oriented(hood, fits, towards, handed, report) -> tuple[np.ndarray, np.ndarray, str]:
    normals, confidence, decided = orientation.orient(hood, fits, towards=towards, handed=handed, report=report)
    if not decided:
        return normals, confidence, "consistent"
    return normals, confidence, "sensor" if towards is not None else "outwards" if handed is None else "scan lines"


def _placed(points: np.ndarray) -> np.ndarray:
    """Points around the origin, in a box of size 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    placed = (points - (low + high) / 2) / (high - low).max()
    extents = np.linalg.svd(placed[:: max(len(placed) // 10_000, 1)], compute_uv=False)
    if extents[1] <= _ON_A_LINE * extents[0]:
        raise ValueError("all points lie on a line: normals need points that spread over a surface.")
    return placed


def _towards(sensor: np.ndarray, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    sight = (sensor if sensor.ndim == 1 else sensor[rows]) - points[rows]
    length = np.linalg.norm(sight, axis=1, keepdims=True)
    return sight / np.where(length > 0, length, 1.0)


def _sensors(sensor, n: int) -> np.ndarray | None:
    if sensor is None:
        return None
    sensor = np.asarray(sensor, dtype=np.float64)
    if sensor.shape not in ((3,), (n, 3)):
        raise ValueError(f"sensor must have shape (3,) or ({n}, 3), one row a point, it has {sensor.shape}.")
    if not np.isfinite(sensor).all():
        raise ValueError("sensor must be finite: leave it out, and the points alone decide the signs.")
    return sensor


def _lines(scan_lines, n: int, sensor, orient: bool) -> np.ndarray | None:
    if scan_lines is None or not orient:
        return None
    if sensor is not None:
        raise ValueError("give sensor or scan_lines, not both: the sensor alone tells all signs.")
    lines = np.asarray(scan_lines)
    if lines.shape != (n,) or lines.dtype.kind not in "iu":
        raise ValueError(
            f"scan_lines must be a whole number for each of the {n} points, got shape {lines.shape}, {lines.dtype}."
        )
    if len(lines) and lines.min() == lines.max():
        raise ValueError(f"scan_lines must have two lines or more, all points are in line {lines[0]}.")
    return lines.astype(np.int64)


def _check_points(points: np.ndarray, valid: np.ndarray) -> None:
    if len(valid) < len(points):
        warn_user(f"{len(points) - len(valid)} of {len(points)} points have NaN or infinite coordinates: no normals.")
    if len(valid) < _LEAST_POINTS:
        raise ValueError(f"normals need at least {_LEAST_POINTS} valid points, got {len(valid)}.")
    if np.ptp(points[valid], axis=0).max() == 0.0:
        raise ValueError("all points are the same: normals need points that are apart.")


def _check_neighbours(k, n: int) -> None:
    if n < _LEAST_POINTS:
        raise ValueError(f"normals need at least {_LEAST_POINTS} distinct points, got {n}.")
    if k is None:
        return
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not _LEAST_POINTS <= k <= n:
        raise ValueError(
            f"k must be a whole number from {_LEAST_POINTS} to the number of distinct points, {n}, got {k!r}: leave it "
            "out for an automatic choice."
        )
