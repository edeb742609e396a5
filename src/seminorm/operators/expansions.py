"""Mercer expansions: a kernel as a series of functions that are orthonormal under a measure (seed 003, (17)).

Where mu is the measure, k(x, y) = sum_l lambda_l phi_l(x) phi_l(y) with integral phi_l phi_m dmu = delta_lm.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ..kernels import AxisScale, Gaussian, Kernel, Scaled
from ..kernels.line import Periodic
from ..memory import require_memory
from .circle import fourier_coefficients
from .eigensystems import Eigensystem

_ENTRIES_AT_ONCE = 2**23
_RESCALE = 1e100


@dataclass(frozen=True, eq=False)
class MercerExpansion:
    """The leading terms of a kernel's Mercer series.

    Attributes
    ----------
    values : array (L,)
        Eigenvalues lambda_l > 0 of f -> integral k(., y) f(y) dmu(y), decreasing.
    functions : callable
        Maps X (n, d) to the eigenfunctions (n, L), orthonormal under the measure.
    measure : str
        The measure, in words.
    remainder : float
        The sum of all eigenvalues left out: the integral of k(x, x) dmu minus the sum of ``values``. It bounds the mean
        error of the truncated series on the diagonal.
    """

    values: np.ndarray
    functions: Callable[[np.ndarray], np.ndarray]
    measure: str
    remainder: float

    def kernel_matrix(self, X, Y=None) -> np.ndarray:
        """The truncated series at all pairs of points."""
        left = self.functions(X)
        return (left * self.values) @ (left if Y is None else self.functions(Y)).T

    def norm(self, coefficients) -> float | np.ndarray:
        """The norm sqrt(sum_l c_l^2 / lambda_l), in the space of the kernel, of f = sum_l c_l phi_l."""
        return self.eigensystem().seminorm(coefficients)

    def eigensystem(self) -> Eigensystem:
        """The regularisation operator behind the truncated kernel: the same functions, and 1 / lambda_l."""
        return Eigensystem(1.0 / self.values, self.functions)


def mercer(
    kernel: Kernel,
    count: int,
    *,
    dimension: int = 1,
    spread: float | None = None,
    measure: tuple | None = None,
) -> MercerExpansion:
    """The ``count`` largest terms of a kernel's Mercer series; fewer if the kernel has fewer.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, also with ``axis_scale``, or a kernel on the circle (Dirichlet, PeriodicGaussian), and positive
        multiples of these; any positive definite kernel with ``measure``.
    count : int
        Number of terms.
    dimension : int
        Number of variables, for the closed forms.
    spread : float or sequence of float, optional
        For the Gaussian: the measure is the normal distribution of this standard deviation (one for each axis, or one
        for all), and the functions are Hermite functions.
    measure : (X, weights), optional
        Take the discrete measure that has these weights at the rows of X; ``weights=None`` means 1/n each. The
        functions are extended to all points by Nystrom's formula.

    Notes
    -----
    On the line, with b = 1 / (2 scale^2), a = 1 / (4 spread^2), c = sqrt(a^2 + 2 a b), A = a + b + c and B = b / A, the
    Gaussian has the eigenvalues (1 - B) B^m and the functions (c / a)^(1/4) exp(-(c - a) x^2) H_m(sqrt(2 c) x) /
    sqrt(2^m m!). The eigenvalues printed in seed 004, B.1.1, are those divided by the squared lengths of functions that
    are not normalised; sqrt(2 a / A) = 1 - B. In several variables all is a product over the axes.

    Periodic kernels have sines and cosines, under the uniform probability measure on the circle.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.operators.expansions import mercer
    >>> series = mercer(Gaussian(), 30, spread=1.0)
    >>> series.values[:3].round(4)
    array([0.618 , 0.2361, 0.0902])
    >>> bool(abs(series.kernel_matrix([[0.3]], [[-0.5]]) - Gaussian()([[0.3]], [[-0.5]])).max() < 1e-9)
    True
    """
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"count must be a positive integer, got {count!r}.")
    if measure is not None:
        return _nystrom(kernel, int(count), measure, spread)
    if not (isinstance(dimension, (int, np.integer)) and dimension >= 1):
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    return _closed_form(kernel.for_dimension(dimension), int(count), dimension, spread)


def _closed_form(kernel: Kernel, count: int, dimension: int, spread) -> MercerExpansion:
    if isinstance(kernel, Scaled):
        kernel.check_composition()
        inner = _closed_form(kernel.kernel, count, dimension, spread)
        return MercerExpansion(
            kernel.factor * inner.values, inner.functions, inner.measure, kernel.factor * inner.remainder
        )
    stretched = isinstance(kernel, AxisScale) and isinstance(kernel.kernel, Gaussian)
    if isinstance(kernel, Gaussian) or stretched:
        scales = kernel.kernel._length() * np.asarray(kernel.scale) if stretched else kernel._length()
        spreads = _spreads(spread, dimension)
        factors = [_hermite(s, t, count) for s, t in zip(np.broadcast_to(scales, dimension), spreads, strict=True)]
        total, name = 1.0, f"normal distribution of standard deviation {spread!r} in {dimension} dimension(s)"
    elif isinstance(kernel, Periodic):
        if spread is not None:
            raise ValueError(f"spread belongs to the Gaussian; {kernel!r} has the uniform measure on its circle.")
        factors = [_waves(kernel, count)] * dimension
        total = float(kernel.diag(np.zeros((1, dimension)))[0])
        name = f"uniform probability measure on [0, {kernel.period:g})^{dimension}"
    else:
        raise ValueError(
            f"no closed form is known for {kernel!r}: give measure=(X, weights) for the eigenfunctions under a "
            "discrete measure."
        )
    values, indices = _largest_products([values for values, _ in factors], count)
    functions = ProductFunctions(tuple(function for _, function in factors), indices)
    return MercerExpansion(values, functions, name, max(total - math.fsum(values), 0.0))


def _spreads(spread, dimension: int) -> np.ndarray:
    spreads = np.asarray(np.nan if spread is None else spread, dtype=float)
    if spreads.shape not in ((), (dimension,)) or not (np.isfinite(spreads).all() and (spreads > 0).all()):
        raise ValueError(
            "spread must be the standard deviation of the normal distribution under which the functions are "
            f"orthonormal: one positive number, or one for each of {dimension} axes, got {spread!r}."
        )
    return np.broadcast_to(spreads, dimension)


def _hermite(scale: float, spread: float, count: int) -> tuple[np.ndarray, HermiteFunctions]:
    a, b = 0.25 / spread**2, 0.5 / scale**2
    c = math.sqrt(a * (a + 2.0 * b))
    total = a + b + c
    values = (a + c) / total * (b / total) ** np.arange(count)
    decay = 2.0 * a * b / (c + a)  # c - a
    return values, HermiteFunctions(count, math.sqrt(2.0 * c), decay, (c / a) ** 0.25)


def _waves(kernel: Periodic, count: int) -> tuple[np.ndarray, Waves]:
    """Eigenvalues of 1, sqrt(2) cos(l w x), sqrt(2) sin(l w x), sorted, and these functions in the same order."""
    kernel.diag(np.zeros((1, 1)))  # refuses parameters out of range
    weights = 0.5 * np.maximum(fourier_coefficients(kernel, count // 2 + 1), 0.0)
    weights[0] *= 2.0
    numbers = np.arange(count)
    values = weights[(numbers + 1) // 2]
    order = np.argsort(-values, kind="stable")
    return values[order], Waves(2.0 * math.pi / kernel.period, tuple(numbers[order].tolist()))


@dataclass(frozen=True)
class HermiteFunctions:
    """height exp(-decay x^2) H_m(stretch x) / sqrt(2^m m!) for m < count, at a vector x: shape (n, count)."""

    count: int
    stretch: float
    decay: float
    height: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
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


@dataclass(frozen=True)
class Waves:
    """1, sqrt(2) cos(w x), sqrt(2) sin(w x), sqrt(2) cos(2 w x), ... in the order of ``numbers``, at a vector x."""

    frequency: float
    numbers: tuple[int, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        numbers = np.array(self.numbers)
        angles = self.frequency * x[:, None] * ((numbers + 1) // 2)
        waves = np.where(numbers % 2, np.cos(angles), np.sin(angles))
        return np.where(numbers == 0, 1.0, math.sqrt(2.0) * waves)


@dataclass(frozen=True, eq=False)
class ProductFunctions:
    """Products over the axes: column l is the product of the functions ``indices[l, i]`` of the coordinates x_i."""

    factors: tuple[Callable[[np.ndarray], np.ndarray], ...]
    indices: np.ndarray

    def __call__(self, X) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != len(self.factors):
            raise ValueError(f"X must have shape (n, {len(self.factors)}), got {X.shape}.")
        result = np.ones((len(X), len(self.indices)))
        for axis, factor in enumerate(self.factors):
            result *= factor(X[:, axis])[:, self.indices[:, axis]]
        return result


def _largest_products(factors: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest positive products of one entry from each decreasing sequence, and the indices of the entries."""

    def product(index):
        return math.prod(float(values[i]) for values, i in zip(factors, index, strict=True))

    start = (0,) * len(factors)
    heap, seen, values, indices = [(-product(start), start)], {start}, [], []
    while heap and len(values) < count:
        value, index = heapq.heappop(heap)
        if value == 0:
            break
        values.append(-value)
        indices.append(index)
        for axis, entries in enumerate(factors):
            following = (*index[:axis], index[axis] + 1, *index[axis + 1 :])
            if following[axis] < len(entries) and following not in seen:
                seen.add(following)
                heapq.heappush(heap, (-product(following), following))
    return np.array(values), np.array(indices)


@dataclass(frozen=True, eq=False)
class NystromFunctions:
    """sum_i k(x, x_i) coefficients[i, l], in blocks of bounded memory."""

    kernel: Kernel
    points: np.ndarray
    coefficients: np.ndarray

    def __call__(self, X) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.points.shape[1]:
            raise ValueError(f"X must have shape (n, {self.points.shape[1]}), got {X.shape}.")
        step = max(1, _ENTRIES_AT_ONCE // len(self.points))
        blocks = [self.kernel(X[i : i + step], self.points) @ self.coefficients for i in range(0, len(X), step)]
        return np.concatenate(blocks) if blocks else np.empty((0, self.coefficients.shape[1]))


def _nystrom(kernel: Kernel, count: int, measure, spread) -> MercerExpansion:
    points, weights = _discrete_measure(measure, spread)
    kernel = kernel.for_dimension(points.shape[1])
    if kernel.order > 0 or kernel.is_indefinite:
        raise ValueError(
            f"a Mercer series needs a positive definite kernel, and {kernel!r} is not: use its twin "
            "(seminorm.nullspace.Twin)."
        )
    n = len(points)
    require_memory(3 * 8 * n * n, f"the kernel matrix of {n} points", "take fewer points into the measure.")
    roots = np.sqrt(weights)
    matrix = roots[:, None] * kernel(points) * roots
    total = float(np.trace(matrix))
    values, vectors = eigh(matrix, subset_by_index=[max(0, n - count), n - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 10 * n * np.finfo(float).eps * values[0]  # the others are rounding, and cannot be extended
    values, vectors = values[kept], vectors[:, kept]
    functions = NystromFunctions(kernel, points, roots[:, None] * vectors / values)
    return MercerExpansion(values, functions, f"discrete measure on {n} points", max(total - math.fsum(values), 0.0))


def _discrete_measure(measure, spread) -> tuple[np.ndarray, np.ndarray]:
    if spread is not None:
        raise ValueError("give either spread, for the normal distribution, or measure=(X, weights), not both.")
    try:
        points, weights = measure
    except (TypeError, ValueError):
        raise ValueError("measure must be a pair (X, weights); weights may be None for 1/n each.") from None
    points = np.array(points, dtype=float)
    if points.ndim != 2 or len(points) == 0:
        raise ValueError(f"the points of the measure must have shape (n, d), got {points.shape}.")
    weights = np.full(len(points), 1.0 / len(points)) if weights is None else np.array(weights, dtype=float)
    if weights.shape != (len(points),) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(
            f"the weights of the measure must be {len(points)} positive numbers, got shape {weights.shape}: leave "
            "points of weight 0 out."
        )
    return points, weights
