"""Where a grid is far from all data."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError, cKDTree

from .._base.spacing import median_spacing

_CHUNK_POINTS = 2**18
_FEW_SPACINGS, _WIDEST = 3.0, 2.0
_PROBES = 20_000
_SOME = 2**12


def far_from(
    X: ArrayLike, axes: Sequence[np.ndarray], distance: float | None = None, scale: ArrayLike = 1.0
) -> tuple[np.ndarray, float]:
    """Nodes of a grid that are farther than a distance from all points, and the distance.

    Parameters
    ----------
    X : array (n, d)
    axes : sequence of d arrays
    distance : float, optional
        In coordinates divided by the scale. Left out, nodes outside the convex hull of the points (in space, outside
        their box) that are twice as far from the points as any place inside it: what is interpolated is never far,
        however wide the gaps.
    scale : float or array (d,)

    Returns
    -------
    array of bool in the shape of the grid, and the distance

    See Also
    --------
    sample_on_grid

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.functions.masks import far_from
    >>> far_from([[0.0], [1.0], [2.0]], [np.arange(-3.0, 8.0)])[0].astype(int)
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    """
    points = np.asarray(X, dtype=float) / scale
    nodes = _nodes([axis / step for axis, step in zip(axes, np.broadcast_to(scale, len(axes)), strict=True)])
    tree, shape = cKDTree(points), tuple(map(len, axes))
    gaps = _gaps(tree, nodes)
    if distance is not None:
        return (gaps > distance).reshape(shape), float(distance)
    sides = zip(points.min(axis=0), points.max(axis=0), strict=True)
    probes = _nodes([np.linspace(*side, round(_PROBES ** (1 / points.shape[1]))) for side in sides])
    widest = float(_gaps(tree, probes[_in_hull(points, probes)]).max(initial=0.0))
    distance = max(_FEW_SPACINGS * median_spacing(points, most=_SOME), _WIDEST * widest)
    return (~_in_hull(points, nodes) & (gaps > distance)).reshape(shape), distance


def _nodes(axes: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _gaps(tree: cKDTree, nodes: np.ndarray) -> np.ndarray:
    """The distance of each node to the nearest point."""
    gaps = np.empty(len(nodes))
    for begin in range(0, len(nodes), _CHUNK_POINTS):
        part = slice(begin, begin + _CHUNK_POINTS)
        gaps[part] = tree.query(nodes[part])[0]
    return gaps


def _in_hull(points: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Nodes in the convex hull of points of the plane; in their box in other dimensions, or where the hull is flat."""
    low, high = points.min(axis=0), points.max(axis=0)
    inside = ((nodes >= low) & (nodes <= high)).all(axis=1)
    if points.shape[1] == 2:
        try:
            sides = ConvexHull(points).equations
        except QhullError:  # all points on a line
            return inside
        hair = 1e-9 * float((high - low).max())
        for side in sides:
            inside &= nodes @ side[:-1] + side[-1] <= hair
    return inside
