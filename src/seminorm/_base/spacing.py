"""How far apart points are: the distance to the nearest other ones."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from .rows import equal_rows, row_keys

_CHUNK = 2**18
_NEAR = 0.01
_COPIES = 4
_TREE_DIMENSIONS = 12
_BLOCK = 2**24
_REPEATED = 1e-6  # of the extent: rows so near to each other, with the same value, are one
_MANY = 2**16  # rows among which a part tells whether any are repeated
_BITS = 60  # the sixteenth of keys whose other bits are zero
_HARMLESS = 1e-3  # share of repetitions that is left alone among many rows


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


def near_groups(X: np.ndarray, share: float = _NEAR, rounding: float = np.inf) -> np.ndarray | None:
    """The place (n,) of each point, -1 for a place of its own: points coincide that are a hundred times nearer to each
    other than points are to their fifth neighbour (the median: there may be four copies of all). None if none do.

    ``share`` says how many times; ``rounding`` limits how far apart they may be, in units of the extent of X.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm._base.spacing import near_groups
    >>> near_groups(np.array([[0.0], [1.0], [2.0], [1.001]]))
    array([-1,  0, -1,  0])
    """
    if not len(X):
        return None
    distinct, inverse = np.unique(X, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    n, limit = len(distinct), rounding * float(np.ptp(distinct, axis=0).max(initial=0.0))
    if n < 3:
        return _places(inverse)
    if X.shape[1] <= _TREE_DIMENSIONS:
        tree = cKDTree(distinct)
        reach = min(share * float(np.median(tree.query(distinct, k=[min(_COPIES + 2, n)])[0])), limit)
        pairs = tree.query_pairs(reach, output_type="ndarray")
    else:
        pairs = _near_pairs(distinct, share, limit)
    if len(pairs):
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        inverse = connected_components(graph, directed=False)[1][inverse]
    return _places(inverse)


def same_place(X: np.ndarray) -> np.ndarray | None:
    """The place (n,) of each row, -1 for a place of its own: rows that are equal share one. None if none are.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm._base.spacing import same_place
    >>> same_place(np.array([[0.0], [1.0], [0.0]]))
    array([ 0, -1,  0])
    """
    return _places(equal_rows(X)[1])


def repetitions(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows that are repeated, up to a millionth of the extent of each column, with the same y: the first row of each
    group, in order, and the group of every row; None if there are (nearly) none.

    Among many rows a part of them tells whether there is anything to be looked for.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm._base.spacing import repetitions
    >>> repetitions(np.array([[0.0], [1.0], [0.0], [2.0]]), np.array([5.0, 5.0, 5.0, 6.0]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    if not len(X):
        return None
    columns = [*(_steps(column) for column in X.T), *y.reshape(len(y), -1).T]
    if len(y) > _MANY:
        keys = row_keys(columns)
        some = np.sort(keys[keys >> np.uint64(_BITS) == 0])  # all copies of a row have the same key
        if np.count_nonzero(some[1:] == some[:-1]) <= _HARMLESS * len(some):
            return None
    first, group = equal_rows(np.column_stack(columns))
    return None if len(first) == len(y) else (first, group)


def _steps(column: np.ndarray) -> np.ndarray:
    """Whole numbers of millionths of the extent."""
    low, extent = float(column.min()), float(np.ptp(column))
    known = _REPEATED * extent > np.finfo(float).tiny
    return np.round((column - low) * (1.0 / (_REPEATED * extent) if known else 0.0))


def _near_pairs(points: np.ndarray, share: float, limit: float) -> np.ndarray:
    """Pairs of points much nearer than usual, where trees do not help.

    Squared distances come from matrix products, those to the nearest points are then made exact.
    """
    n, step = len(points), max(1, _BLOCK // len(points))
    points = points - points.mean(axis=0)
    squares = np.einsum("ij,ij->i", points, points)
    nearest, usual, partner = np.empty(n), np.empty(n), np.empty(n, dtype=int)
    k = min(_COPIES, n - 2)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        apart = points[rows] @ points.T
        apart *= -2.0
        apart += squares[rows, None]
        apart += squares
        apart[np.arange(len(rows)), rows] = np.inf
        partner[rows] = np.argmin(apart, axis=1)
        nearest[rows] = np.linalg.norm(points[rows] - points[partner[rows]], axis=1)
        usual[rows] = np.sqrt(np.maximum(np.partition(apart, k, axis=1)[:, k], 0.0))
    near = nearest <= min(share * float(np.median(usual)), limit)
    return np.column_stack([np.flatnonzero(near), partner[near]])


def _places(labels: np.ndarray) -> np.ndarray | None:
    """Numbers of the labels that occur more than once, -1 for the others; None if there are none."""
    counts = np.bincount(labels)
    if counts.max() < 2:
        return None
    number = np.where(counts > 1, np.cumsum(counts > 1) - 1, -1)
    return number[labels]
