"""Systems of functions as objects, which can be copied, compared and saved: the features of kernels made here."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .._base.parameters import EqualByParameters, in_words
from ..kernels import Kernel

_ENTRIES_AT_ONCE = 2**23
_RESCALE = 1e100


class FeatureFunctions(EqualByParameters):
    """Base of callables that map points X (n, d) to the values of functions (n, p), or to their derivatives."""

    def __call__(self, X: ArrayLike) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its functions: supply __call__(X).")

    def __repr__(self) -> str:
        return in_words(self)


class SelectedColumns(FeatureFunctions):
    """The functions ``columns`` of a system of ``size`` functions; the second axis of its values numbers them."""

    def __init__(self, functions: Callable[[np.ndarray], np.ndarray], columns: Sequence[int], size: int):
        self.functions, self.columns, self.size = functions, columns, size

    def __call__(self, X: ArrayLike) -> np.ndarray:
        X = np.asarray(X)
        values = np.asarray(self.functions(X), dtype=float)
        if values.ndim < 2 or values.shape[:2] != (len(X), self.size):
            raise ValueError(
                f"functions must map X (n, d) to an array ({len(X)}, {self.size}, ...), one column for each "
                f"eigenvalue, got shape {values.shape}."
            )
        return values[:, list(self.columns)]


class Sections(FeatureFunctions):
    """sum_i k(x, centers_i) coefficients[i, l]: combinations of sections of a kernel, in blocks of bounded memory.

    Values (n, p) for ``derivative`` 0, gradients (n, p, d) for 1.
    """

    def __init__(self, kernel: Kernel, centers: ArrayLike, coefficients: ArrayLike, derivative: int = 0):
        self.kernel, self.centers, self.coefficients, self.derivative = kernel, centers, coefficients, derivative

    def __call__(self, X: ArrayLike) -> np.ndarray:
        X, centers = np.asarray(X, dtype=float), np.asarray(self.centers, dtype=float)
        coefficients = np.asarray(self.coefficients, dtype=float)
        if X.ndim != 2 or X.shape[1] != centers.shape[1]:
            raise ValueError(f"X must have shape (n, {centers.shape[1]}), got {X.shape}.")
        inner = (X.shape[1],) * self.derivative
        step = max(1, _ENTRIES_AT_ONCE // (len(centers) * math.prod(inner)))
        result = np.empty((len(X), coefficients.shape[1], *inner))
        for i in range(0, len(X), step):
            rows = slice(i, i + step)
            if self.derivative:
                result[rows] = np.einsum("nm...,mp->np...", self.kernel.gradient(X[rows], centers), coefficients)
            else:
                result[rows] = self.kernel(X[rows], centers) @ coefficients
        return result


class HermiteFunctions(FeatureFunctions):
    """height exp(-decay x^2) H_m(stretch x) / sqrt(2^m m!) for m < count, at a vector x: shape (n, count)."""

    def __init__(self, count: int, stretch: float, decay: float, height: float):
        self.count, self.stretch, self.decay, self.height = count, stretch, decay, height

    def __call__(self, X: ArrayLike) -> np.ndarray:
        x = np.asarray(X, dtype=float)
        t = self.stretch * x
        logarithm = math.log(self.height) - self.decay * x * x
        previous, current = np.zeros_like(t), np.ones_like(t)
        columns = np.empty((len(x), self.count))
        for m in range(self.count):
            columns[:, m] = current * np.exp(logarithm)
            previous, current = current, (math.sqrt(2.0) * t * current - math.sqrt(m) * previous) / math.sqrt(m + 1)
            large = np.abs(current) > _RESCALE  # the polynomials overflow long before the functions do
            if large.any():
                previous[large] /= _RESCALE
                current[large] /= _RESCALE
                logarithm[large] += math.log(_RESCALE)
        return columns


class Waves(FeatureFunctions):
    """1, sqrt(2) cos(w x), sqrt(2) sin(w x), sqrt(2) cos(2 w x), ... at a vector x: ``numbers`` says which of them."""

    def __init__(self, frequency: float, numbers: Sequence[int]):
        self.frequency, self.numbers = frequency, numbers

    def __call__(self, X: ArrayLike) -> np.ndarray:
        numbers = np.asarray(self.numbers)
        angles = self.frequency * np.asarray(X, dtype=float)[:, None] * ((numbers + 1) // 2)
        waves = np.where(numbers % 2, np.cos(angles), np.sin(angles))
        return np.where(numbers == 0, 1.0, math.sqrt(2.0) * waves)


class ProductFunctions(FeatureFunctions):
    """Products over the axes: column l is the product of the functions ``indices[l, i]`` of the coordinates x_i.

    There is one factor per axis; it maps a vector of coordinates to the values of its functions.
    """

    def __init__(self, factors: Sequence[Callable[[np.ndarray], np.ndarray]], indices: ArrayLike):
        self.factors, self.indices = factors, indices

    def __call__(self, X: ArrayLike) -> np.ndarray:
        X, indices = np.asarray(X, dtype=float), np.asarray(self.indices)
        if X.ndim != 2 or X.shape[1] != len(self.factors):
            raise ValueError(f"X must have shape (n, {len(self.factors)}), got {X.shape}.")
        result = np.ones((len(X), len(indices)))
        for axis, factor in enumerate(self.factors):
            result *= factor(X[:, axis])[:, indices[:, axis]]
        return result
