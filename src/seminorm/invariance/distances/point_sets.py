"""Distances of point sets under rigid motion."""

from collections.abc import Callable
from itertools import permutations, product
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..transformations.grids import require_one_shape
from .base import Distance, distance_matrix, require_equal_patterns

_CANCELLATION = 1e-3
_ANGLES = 12
_ROUNDS = 100

#: the distances in a slice of rows and a slice of columns
TileOf = Callable[[slice, slice], np.ndarray]


class PointSetDistance(Distance):
    r"""Distance of two sets of points that may be moved as rigid bodies,

    .. math:: d(x, y)^2 = \min_{R, t} \sum_i |x_i - R y_i - t|^2

    over rotations R and translations t, in closed form (Kabsch). It is a metric of shapes, but not the norm of a
    difference in a Hilbert space.

    Parameters
    ----------
    n_points : int
        Per set; a pattern is an array (n_points, dimension), or a row of these numbers.
    dimension : int, default 2
        Number of coordinates per point.
    reflections : bool, default False
        Whether R may also reflect.
    matching : bool, default False
        Whether the points have no order: the minimum is then also taken over all ways to pair them. Motion and pairing
        are improved in turns, from several first motions, to a local minimum, in milliseconds per pair of sets.

    See Also
    --------
    MinimumDistance : The smallest distance over other transformations.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance.distances import PointSetDistance
    >>> triangle = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> moved = triangle @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + 5.0
    >>> PointSetDistance(n_points=3).distance(triangle, moved) < 1e-14
    True
    """

    def __init__(self, n_points: int, dimension: int = 2, reflections: bool = False, matching: bool = False):
        self.n_points, self.dimension, self.reflections, self.matching = n_points, dimension, reflections, matching

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        """Rows of n_points * dimension numbers, from rows or from an array (n, n_points, dimension)."""
        for parameter in ("n_points", "dimension"):
            value = getattr(self, parameter)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{parameter} must be a whole number, at least 1, got {value!r}.")
        shape = (int(self.n_points), int(self.dimension))
        require_one_shape(X, name)
        sets = np.asarray(X)
        if sets.ndim == 3:
            if sets.shape[1:] != shape:
                raise ValueError(f"{name} has sets of shape {sets.shape[1:]}, expected {shape}: n_points, dimension.")
            sets = sets.reshape(len(sets), -1)
        rows = super().patterns(sets, name)
        if rows.shape[1] != shape[0] * shape[1]:
            raise ValueError(
                f"{name} has patterns of {rows.shape[1]} numbers, expected {shape[0] * shape[1]}: n_points={shape[0]} "
                f"times dimension={shape[1]}."
            )
        return rows

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        require_equal_patterns(X, Y)
        X = self._centered(X)
        Y, m = (X, None) if Y is None else (self._centered(Y), len(Y))
        if self.matching:
            tile_of = _matched_tiles(X, Y, self.reflections, mirrored=m is None)
        elif self.dimension == 2:
            tile_of = _plane_tiles(X, Y, self.reflections)
        else:
            tile_of = _space_tiles(X, Y, self.reflections)
        return distance_matrix(tile_of, len(X), m)

    def _centered(self, X: np.ndarray) -> np.ndarray:
        X = X.reshape(len(X), int(self.n_points), int(self.dimension))
        return X - X.mean(axis=1, keepdims=True)


def _plane_tiles(X: np.ndarray, Y: np.ndarray, reflections: bool) -> TileOf:
    """Sets as complex vectors: the best rotation is the phase of their inner product."""
    X, Y = X[..., 0] + 1j * X[..., 1], Y[..., 0] + 1j * Y[..., 1]
    sizes_x, sizes_y = _squared_norms(X), _squared_norms(Y)

    def tile_of(rows: slice, columns: slice) -> np.ndarray:
        turn = X[rows] @ Y[columns].conj().T
        mirrored = X[rows] @ Y[columns].T if reflections else np.zeros_like(turn)
        sizes = sizes_x[rows, None] + sizes_y[columns]
        squares = sizes - 2.0 * np.maximum(np.abs(turn), np.abs(mirrored))
        i, j = np.nonzero(squares < _CANCELLATION * sizes)
        reflect = np.abs(mirrored[i, j]) > np.abs(turn[i, j])
        phase = np.where(reflect, mirrored[i, j], turn[i, j])
        phase = np.where(phase == 0, 1.0, phase / np.maximum(np.abs(phase), np.finfo(float).tiny))
        other = np.where(reflect[:, None], Y[columns][j].conj(), Y[columns][j])
        squares[i, j] = _squared_norms(X[rows][i] - phase[:, None] * other)
        return np.sqrt(squares)

    return tile_of


def _space_tiles(X: np.ndarray, Y: np.ndarray, reflections: bool) -> TileOf:
    """The singular values of the d x d products X_i' Y_j, the last with the sign of the determinant."""
    sizes_x, sizes_y = _squared_norms(X), _squared_norms(Y)

    def tile_of(rows: slice, columns: slice) -> np.ndarray:
        products = _products(X[rows], Y[columns])
        sizes = sizes_x[rows, None] + sizes_y[columns]
        values = np.linalg.svd(products, compute_uv=False)
        if not reflections:
            values[..., -1] *= np.where(np.linalg.det(products) < 0, -1.0, 1.0)
        squares = sizes - 2.0 * values.sum(axis=-1)
        i, j = np.nonzero(squares < _CANCELLATION * sizes)
        moved = Y[columns][j] @ np.swapaxes(_best_rotations(products[i, j], reflections), 1, 2)
        squares[i, j] = _squared_norms(X[rows][i] - moved)
        return np.sqrt(squares)

    return tile_of


def _products(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """X_i' Y_j, (n, m, d, d), from one matrix product."""
    (n, points, d), m = X.shape, len(Y)
    left = X.transpose(0, 2, 1).reshape(n * d, points)
    right = Y.transpose(1, 0, 2).reshape(points, m * d)
    return (left @ right).reshape(n, d, m, d).transpose(0, 2, 1, 3)


def _best_rotations(products: np.ndarray, reflections: bool) -> np.ndarray:
    """The R that make trace(R' X'Y) largest: y -> R y comes nearest to x."""
    left, _, right = np.linalg.svd(products)
    if not reflections:
        left[..., -1] *= np.where(np.linalg.det(left) * np.linalg.det(right) < 0, -1.0, 1.0)[..., None]
    return left @ right


def _matched_tiles(X: np.ndarray, Y: np.ndarray, reflections: bool, mirrored: bool) -> TileOf:
    """The best pairing of the points; with ``mirrored`` above the diagonal only."""
    trials = _trial_rotations(X.shape[2], reflections)
    axes_x, axes_y = _principal_axes(X), _principal_axes(Y)

    def tile_of(rows: slice, columns: slice) -> np.ndarray:
        tile = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for i in range(rows.start, rows.stop):
            for j in range(max(columns.start, i + 1) if mirrored else columns.start, columns.stop):
                starts = axes_x[i] @ trials @ axes_y[j].T
                tile[i - rows.start, j - columns.start] = min(_match(X[i], Y[j], R, reflections) for R in starts)
        return tile

    return tile_of


def _match(x: np.ndarray, y: np.ndarray, rotation: np.ndarray, reflections: bool) -> float:
    """Pair the points, move, pair again, until the pairs stay."""
    paired = None
    for _ in range(_ROUNDS):
        order = linear_sum_assignment(cdist(x, y @ rotation.T, "sqeuclidean"))[1]
        if paired is not None and (order == paired).all():
            break
        paired = order
        rotation = _best_rotations(x.T @ y[paired], reflections)
    return float(np.linalg.norm(x - y[paired] @ rotation.T))


def _principal_axes(X: np.ndarray) -> np.ndarray:
    """Right-handed axes (n, d, d) of each set, as columns."""
    axes = np.linalg.eigh(np.swapaxes(X, 1, 2) @ X)[1]
    axes[..., 0] *= np.sign(np.linalg.det(axes))[:, None]
    return axes


def _trial_rotations(d: int, reflections: bool) -> np.ndarray:
    """Rotations of the axes to start from: a fan in the plane, symmetries of the cube in 1-D and 3-D, else the box."""
    if d == 2:
        angles = 2 * np.pi * np.arange(_ANGLES) / _ANGLES
        turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
        return np.concatenate([turns, turns * [1.0, -1.0]]) if reflections else turns
    orders = permutations(range(d)) if d <= 3 else [range(d)]
    moves = np.array([np.eye(d)[list(o)] * s for o, s in product(orders, product([1.0, -1.0], repeat=d))])
    return moves if reflections else moves[np.linalg.det(moves) > 0]


def _squared_norms(X: np.ndarray) -> np.ndarray:
    return (np.abs(X) ** 2).sum(axis=tuple(range(1, X.ndim)))
