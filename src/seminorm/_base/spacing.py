"""How far apart points are: the distance to the nearest other ones."""

import numpy as np
from scipy.spatial import cKDTree

_CHUNK = 2**18


def neighbor_distances(
    points: np.ndarray, k: int = 1, *, stride: int = 1, tree: cKDTree | None = None, workers: int = 1
) -> np.ndarray:
    """The distance of every ``stride``-th point to its k-th nearest other point; infinite if there are no k others.

    ``tree`` is that of the points, if there is one already; ``workers`` are threads.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm._base.spacing import neighbor_distances
    >>> neighbor_distances(np.array([[0.0], [1.0], [3.0]])), neighbor_distances(np.array([[0.0], [1.0], [3.0]]), 2)
    (array([1., 1., 2.]), array([3., 2., 3.]))
    """
    tree = cKDTree(points) if tree is None else tree
    asked = points[::stride]
    distances = np.empty(len(asked))
    for begin in range(0, len(asked), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        distances[part] = tree.query(asked[part], k=[k + 1], workers=workers)[0][:, 0]
    return distances


def median_spacing(points: np.ndarray, k: int = 1, *, most: int | None = None) -> float:
    """The median distance of distinct points to their k-th nearest other one, of about ``most`` of them."""
    distinct = np.unique(points, axis=0)
    stride = 1 if most is None else max(1, len(distinct) // most)
    return float(np.median(neighbor_distances(distinct, k, stride=stride)))
