"""Where to put radial functions: finer where a cloud of points is more curved [Walder 2008, 3.1.4]."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.utils import check_array

from .._base.memory import require_memory
from .._base.spacing import median_spacing
from ..bases.radial import PAIRS_AT_ONCE

_CELLS_PER_RADIUS = 10


def curvature_centers(
    points: ArrayLike,
    tolerance: float = 1 / 50,
    support: float = 1 / 5,
    shrink: float = 1.3,
    spacing: float = 1 / 3,
    min_support: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Centres and supports that follow the curvature of a point set [Walder 2008, Algorithm 3.1].

    A grid of wide functions covers the box of the points. Then the support s shrinks step by step; a point is finished,
    and gets functions of support s on the grid around it, as soon as the points within the distance s of it are close
    to a hyperplane: when the smallest eigenvalue of their covariance is less than tolerance / d of the sum of all. Flat
    parts keep wide functions, curved parts get narrow ones.

    Parameters
    ----------
    points : array (n, d)
        The longest side of whose box is the unit of the lengths below.
    tolerance : float
        From 0 (every point is refined as far as it goes) to 1 (all count as flat).
    support, shrink : float
        Support of the widest functions, and what it is divided by from step to step, above 1.
    spacing : float
        Width of the grids, as a share of the support; at most 1/2, or some places are hardly covered. See the notes.
    min_support : float, optional
        Where refinement stops: points that are not finished by then get the narrowest functions. The default is the
        median distance to the nearest other point, divided by ``spacing``: no grid is finer than the points.

    Returns
    -------
    centers, supports : arrays (p, d) and (p,), in the coordinates of the points

    See Also
    --------
    seminorm.bases.RadialSplineBasis : The functions.

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
    >>> from seminorm.fields import curvature_centers
    >>> angles = np.linspace(0.0, 2 * np.pi, 200)
    >>> np.unique(curvature_centers(np.column_stack([np.cos(angles), np.sin(angles)]))[1]).round(4)
    array([0.3077, 0.4   ])
    """
    given: np.ndarray = check_array(points, dtype=np.float64, ensure_min_samples=2, input_name="points")
    _check_options(tolerance, support, shrink, spacing)
    lower, extent = given.min(axis=0), np.ptp(given, axis=0)
    if extent.max() == 0:
        raise ValueError("points must not all coincide.")
    side = extent.max()
    scaled = (given - lower) / side
    least = median_spacing(scaled) / spacing if min_support is None else min_support
    if not least > 0:
        raise ValueError(f"min_support must be positive, got {min_support!r}.")
    levels = [(_grid_over_box(extent / side, spacing * support, support), support)]
    for s, chosen in _finished_points(scaled, tolerance, support / shrink, shrink, least):
        levels.append((_grid_around(scaled[chosen], spacing * s), s))
    centers = np.concatenate([lower + side * grid for grid, _ in levels])
    return centers, np.concatenate([np.full(len(grid), side * s) for grid, s in levels])


def _check_options(tolerance: float, support: float, shrink: float, spacing: float) -> None:
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}.")
    if not support > 0:
        raise ValueError(f"support must be positive, got {support!r}.")
    if not shrink > 1:
        raise ValueError(f"shrink must be above 1, got {shrink!r}: supports would not decrease.")
    if not 0 < spacing <= 0.5:
        raise ValueError(f"spacing must be positive and at most 1/2, got {spacing!r}.")


def _finished_points(
    points: np.ndarray, tolerance: float, s: float, shrink: float, least: float
) -> Iterator[tuple[float, np.ndarray]]:
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
    means, moments = _cell_moments(points - points.mean(axis=0), radius / _CELLS_PER_RADIUS)
    queries = queries - points.mean(axis=0)
    tree, d = cKDTree(means), points.shape[1]
    ratios = np.empty(len(queries))
    step = max(1, PAIRS_AT_ONCE // min(len(means), (2 * _CELLS_PER_RADIUS + 1) ** d))
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
    advice = "take a larger support, or fewer dimensions (the source advises at most 4)."
    require_memory(24 * count * len(extent), f"a grid of {count} wide functions", advice)
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
    step = max(1, PAIRS_AT_ONCE // len(steps))
    for begin in range(0, len(points), step):
        candidates = corner[begin : begin + step, None] + steps
        distances = np.linalg.norm(candidates * width - points[begin : begin + step, None], axis=-1)
        found.append(np.unique(candidates[distances <= width], axis=0))
    return np.unique(np.concatenate(found), axis=0) * width
