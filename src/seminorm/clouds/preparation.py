"""Points made ready: without invalid ones, duplicates and outliers, and thinned to an even spacing.

What only leaves points out returns the rows it keeps: ``cloud[remove_outliers(cloud)]``.
"""

import numpy as np
from scipy.spatial import cKDTree

from .._base.memory import require_memory
from .._base.rows import equal_rows
from .._base.threads import thread_count
from .cloud import CloudLike, PointCloud, as_cloud, sensor_rows

_CHUNK = 2**17
_MAD_TO_DEVIATION = 1.4826  # of a normal distribution
_LEAST_DEVIATION = 0.2  # of logarithms of distances


def drop_invalid(cloud: CloudLike) -> tuple[PointCloud, dict[str, int]]:
    """Leave out points that have no place or no direction.

    Parameters
    ----------
    cloud : PointCloud, array (n, 3), or what :func:`as_cloud` takes

    Returns
    -------
    cloud : PointCloud
        Its coordinates are finite and its normals, if there are any, finite and not zero.
    counts : dict
        Points left out: "coordinates" for NaN or infinity, of the others "normals" for these or zero.

    Examples
    --------
    >>> from seminorm.clouds import drop_invalid
    >>> drop_invalid([[0.0, 0.0, 0.0], [1.0, float("nan"), 0.0]])
    (PointCloud(1 points), {'coordinates': 1, 'normals': 0})

    See Also
    --------
    remove_duplicates, remove_outliers, thin
    """
    cloud = as_cloud(cloud)
    placed = np.isfinite(cloud.points).all(axis=1)
    valid = placed
    if cloud.normals is not None:
        valid = placed & np.isfinite(cloud.normals).all(axis=1) & (cloud.normals != 0).any(axis=1)
    n_placed, n_valid = int(placed.sum()), int(valid.sum())
    counts = {"coordinates": len(cloud) - n_placed, "normals": n_placed - n_valid}
    return (cloud if n_valid == len(cloud) else cloud[valid]), counts


def remove_duplicates(cloud: CloudLike, tolerance: float = 0.0) -> np.ndarray:
    """Rows of points that are no duplicates of earlier ones.

    Parameters
    ----------
    cloud : PointCloud, array (n, 3), or what :func:`as_cloud` takes
    tolerance : float
        How near to an earlier point that is kept duplicates are; 0 for equal coordinates.

    Returns
    -------
    rows : int array
        In increasing order.

    Examples
    --------
    >>> from seminorm.clouds import remove_duplicates
    >>> remove_duplicates([[0, 0, 0], [1, 0, 0], [0, 0, 0]])
    array([0, 1])

    See Also
    --------
    thin : One point per cell of a grid.
    """
    points = as_cloud(cloud).points
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a distance, 0 or more, got {tolerance}.")
    rows = np.sort(equal_rows(points)[0])
    if tolerance == 0 or len(rows) < 2:
        return rows
    _require_finite(points)
    tree = cKDTree(points[rows])
    n_pairs = (int(tree.count_neighbors(tree, tolerance)) - len(rows)) // 2
    require_memory(n_pairs * 100, f"comparing {n_pairs} pairs of points", "lower tolerance, or call thin first.")
    pairs = tree.query_pairs(tolerance, output_type="ndarray")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    kept = [True] * len(rows)
    for earlier, later in pairs.tolist():  # whether the earlier one stays is settled when its pairs begin
        if kept[earlier]:
            kept[later] = False
    return rows[np.array(kept)]


def thin(cloud: CloudLike, spacing: float) -> PointCloud:
    """One point per occupied cell of a grid: the mean of the points in it.

    Normals are averaged and brought to length one, colours and attributes are averaged; where the normals cancel, and
    for sensors and attributes that are whole numbers (classes, counts), the point nearest to the mean decides.

    Parameters
    ----------
    cloud : PointCloud, array (n, 3), or what :func:`as_cloud` takes
    spacing : float
        Side of the cells.

    Returns
    -------
    PointCloud, cells in the order in which the points first reach them

    Examples
    --------
    >>> from seminorm.clouds import thin
    >>> thin([[0, 0, 0], [0.25, 0, 0], [5, 0, 0]], 1.0).points
    array([[0.125, 0.   , 0.   ],
           [5.   , 0.   , 0.   ]])

    See Also
    --------
    remove_duplicates : Leaves out points instead of merging them.
    """
    cloud = as_cloud(cloud)
    if not len(cloud):
        return cloud
    cell, n_cells = _cells(cloud.points, spacing)
    counts = np.bincount(cell, minlength=n_cells)
    origin = cloud.points.min(axis=0)
    points = _means(cloud.points, cell, counts, origin)
    nearest = _nearest(cloud.points, points, cell)
    normals = None if cloud.normals is None else _mean_normals(cloud.normals, cell, counts, nearest)
    colors = None if cloud.colors is None else np.clip(_means(cloud.colors, cell, counts), 0.0, 1.0)
    attributes = {
        name: _means(values, cell, counts) if values.dtype.kind == "f" else values[nearest]
        for name, values in cloud.attributes.items()
    }
    sensor = None if cloud.sensor is None else sensor_rows(cloud.sensor, nearest)
    return PointCloud(points, normals, colors, attributes, sensor)


def thin_rows(cloud: CloudLike, spacing: float) -> np.ndarray:
    """Rows of one point per occupied cell of a grid: the one nearest to the mean of the points in it."""
    points = as_cloud(cloud).points
    if not len(points):
        return np.zeros(0, dtype=np.intp)
    cell, n_cells = _cells(points, spacing)
    means = _means(points, cell, np.bincount(cell, minlength=n_cells), points.min(axis=0))
    return np.sort(_nearest(points, means, cell))


def remove_outliers(cloud: CloudLike, n_neighbors: int = 16, threshold: float = 2.5) -> np.ndarray:
    """Rows of points that are not far from all others.

    A point is an outlier if the logarithm of the mean distance to its nearest neighbours exceeds the median of these
    logarithms by more than ``threshold`` standard deviations, estimated from the median absolute deviation and taken as
    0.2 at least, so that the borders of regular grids stay. Where the density of a scan varies by large
    factors, thin it first: its sparse parts look like outliers.

    Parameters
    ----------
    cloud : PointCloud, array (n, 3), or what :func:`as_cloud` takes
    n_neighbors, threshold : int
        Nearest points whose mean distance counts, and float, in standard deviations.

    Returns
    -------
    rows : int array
        In increasing order.

    Examples
    --------
    >>> from seminorm.clouds import remove_outliers
    >>> plane = [[i, j, 0] for i in range(20) for j in range(20)]
    >>> rows = remove_outliers([*plane, [10, 10, 9]])
    >>> len(rows), rows.max()
    (400, np.int64(399))

    See Also
    --------
    drop_invalid : Leaves out points with NaN or infinity.
    """
    points = as_cloud(cloud).points
    if int(n_neighbors) != n_neighbors or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number, 1 or more, got {n_neighbors}.")
    if not threshold > 0:
        raise ValueError(f"threshold must be positive, got {threshold}.")
    _require_finite(points)
    k = min(int(n_neighbors), len(points) - 1)
    if k < 1:
        return np.arange(len(points))
    tree = cKDTree(points)
    distance = np.empty(len(points))
    for first in range(0, len(points), _CHUNK):
        part = slice(first, first + _CHUNK)
        found = tree.query(points[part], k=k + 1, workers=thread_count())[0]
        distance[part] = found[:, 1:].mean(axis=1)
    apart = distance > 0
    if not apart.any():
        return np.arange(len(points))
    distance = np.log(np.where(apart, distance, distance[apart].min()))
    median = np.median(distance)
    deviation = max(_MAD_TO_DEVIATION * float(np.median(np.abs(distance - median))), _LEAST_DEVIATION)
    return np.flatnonzero(distance <= median + threshold * deviation)


def _cells(points: np.ndarray, spacing: float) -> tuple[np.ndarray, int]:
    """Cell of each point, numbered in the order of their first points, and how many there are."""
    if not (np.isfinite(spacing) and spacing > 0):
        raise ValueError(f"spacing must be a positive length, got {spacing}.")
    _require_finite(points)
    first, cell = equal_rows(np.floor((points - points.min(axis=0)) / spacing))
    return cell, len(first)


def _means(values: np.ndarray, cell: np.ndarray, counts: np.ndarray, origin: np.ndarray | float = 0.0) -> np.ndarray:
    """Mean of the values in each cell; sums are taken relative to the origin."""
    columns = (values - origin).reshape(len(values), -1)
    means = np.stack([np.bincount(cell, column, minlength=len(counts)) / counts for column in columns.T], axis=1)
    return means.reshape(len(counts), *values.shape[1:]) + origin


def _mean_normals(normals: np.ndarray, cell: np.ndarray, counts: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Unit normals of cells; where they cancel, that of the nearest point."""
    means = _means(normals, cell, counts)
    length = np.linalg.norm(means, axis=1, keepdims=True)
    cancelled = length[:, 0] < 1e-9
    means = means / np.where(cancelled[:, None], 1.0, length)
    means[cancelled] = normals[nearest[cancelled]]
    return means


def _nearest(points: np.ndarray, means: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Row of the point nearest to the mean of each cell, the first of equals."""
    distance = np.einsum("ij,ij->i", points - means[cell], points - means[cell])
    order = np.lexsort((distance, cell))
    return order[np.concatenate([[True], np.diff(cell[order]) > 0])]


def _require_finite(points: np.ndarray) -> None:
    n_invalid = len(points) - int(np.isfinite(points).all(axis=1).sum())
    if n_invalid:
        raise ValueError(f"{n_invalid} of {len(points)} points have NaN or infinity: call drop_invalid first.")
