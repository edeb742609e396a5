"""Radial kernels: phi(x, y) = h(|x - y|^2), driven from a profile h and its derivatives."""

import math
from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .._base.tiles import tiled
from .base import ROTATION, TRANSLATION, Kernel, OfProducts
from .calculus import chain_rule, squared_distance_jet
from .forms import Form

_TILE = 256
_DIRECT_DIMENSIONS = 6
_CANCELLATION = 1e-3


class Radial(Kernel):
    """Base of the radial kernels, functions of |x - y|.

    A subclass supplies ``_h(s, k)``: the k-th derivative, with respect to s, of the profile at s = r^2 / scale^2.
    Where a derivative is infinite at s = 0 it returns 0 there: it is only ever multiplied by powers of x - y, and
    that product tends to 0 whenever the derivative of the kernel exists.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import Radial
    >>> class Cauchy(Radial):
    ...     def __init__(self, scale=1.0):
    ...         self.scale = scale
    ...     def _h(self, s, k):
    ...         return (-1) ** k * np.prod(range(1, k + 1)) / (1 + s) ** (k + 1)
    >>> Cauchy(2.0)([[0.0]], [[0.0], [2.0]])
    array([[1. , 0.5]])
    >>> Cauchy(2.0).gradient([[0.0]], [[2.0]])
    array([[[0.25]]])

    See Also
    --------
    Gaussian, Matern, ThinPlate, Polyharmonic : some radial kernels.
    """

    @property
    def invariances(self) -> frozenset[str]:
        return frozenset({TRANSLATION, ROTATION})

    def profile(self, squared_distance: ArrayLike, derivative: int = 0) -> np.ndarray:
        """h(r^2), or its derivative of the given order with respect to r^2."""
        s = np.asarray(squared_distance, dtype=np.float64)
        factor = 1.0 / self._length() ** 2
        values = self._h(s if factor == 1.0 else s * factor, derivative)
        return values if derivative == 0 else factor**derivative * values

    def closed_form(self, derivative: int = 0) -> Form | None:
        """:meth:`profile` as compiled loops read it, if its formula is one they know."""
        factor = 1.0 / self._length() ** 2
        form = self._form(derivative)
        over = None if form is None else form.over(factor)
        return None if over is None else over.times(factor**derivative)

    def _form(self, k: int) -> Form | None:
        """The same for s = r^2 / scale^2, optional for a subclass: without it the profile is tabulated."""
        return None

    def _length(self) -> float:
        """The length scale; kernels without one leave it at 1."""
        scale = getattr(self, "scale", 1.0)
        if not (isinstance(scale, Real) and 0.0 < float(scale) < math.inf):
            raise ValueError(
                f"scale must be a positive number, got {scale!r} in {type(self).__name__}. For one scale per axis use "
                "kernel.axis_scale(scales)."
            )
        return float(scale)

    def _h(self, s: np.ndarray, k: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its profile: subclasses of Radial supply _h(s, k).")

    def of_products(self) -> OfProducts | None:
        return lambda products, distances: self.profile(distances)

    def _matrix(self, X, Y) -> np.ndarray:
        return radial_matrix(self.profile, X, Y)

    def _diag(self, X) -> np.ndarray:
        return np.full(X.shape[0], self.profile(np.zeros(1))[0])

    def _derivative(self, X, Y, x: int, y: int) -> np.ndarray:
        values, jet = squared_distance_jet(X, Y)
        return chain_rule(lambda k: self.profile(values, k), jet, x, y)


class WithScale(Radial):
    """Base of the radial kernels whose only parameter is a length scale."""

    def __init__(self, scale: float | str = 1.0):
        self.scale = scale


def radial_matrix(
    profile: Callable[[np.ndarray], np.ndarray], X: np.ndarray, Y: np.ndarray | None = None
) -> np.ndarray:
    """The matrix profile(|X_i - Y_j|^2), computed tile by tile; with ``Y=None`` half the tiles are mirrored."""
    tile_of = _squared_distance_tiles(X, X if Y is None else Y)
    m = None if Y is None else len(Y)
    return tiled(lambda rows, columns: profile(tile_of(rows, columns)), len(X), m, side=_TILE)


def _squared_distance_tiles(X: np.ndarray, Y: np.ndarray):
    """A function (rows, columns) -> |X_i - Y_j|^2 with small relative error, also where points are close."""
    if X.shape[1] <= _DIRECT_DIMENSIONS:
        return lambda rows, columns: cdist(X[rows], Y[columns], "sqeuclidean")
    center = X.mean(axis=0)
    X, Y = X - center, Y - center
    squares_x, squares_y = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
    left = np.column_stack([-2.0 * X, squares_x, np.ones(len(X))])
    right = np.column_stack([Y, np.ones(len(Y)), squares_y]).T

    def tile_of(rows, columns):
        distances = left[rows] @ right[:, columns]
        largest = squares_x[rows].max() + squares_y[columns].max()
        if distances.min() < _CANCELLATION * largest:
            i, j = np.nonzero(distances < _CANCELLATION * (squares_x[rows, None] + squares_y[columns]))
            difference = X[rows][i] - Y[columns][j]
            distances[i, j] = np.einsum("ij,ij->i", difference, difference)
        return distances

    return tile_of


def safe_power(s: np.ndarray, exponent: float) -> np.ndarray:
    """s^exponent, with 0 where it is infinite (see Radial)."""
    if exponent == 0.5:
        return np.sqrt(s)
    if exponent >= 0:
        return s**exponent
    return np.power(s, exponent, where=s > 0, out=np.zeros_like(s))
