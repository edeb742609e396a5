"""Kernels of the inner product as sums of monomials, and the norms of polynomials in their spaces
[Smola et al. 1998, 6].

A kernel t(<x, y>) with t(s) = sum_p a_p s^p is sum_m w_m x^m y^m over all multi-indices m, with the weights
w_m = a_|m| |m|! / (m_1! ... m_d!). Its regularisation operator is P = sum_m e_m w_m^(-1/2) D_0^m, where D_0^m f is the
coefficient of x^m in f and the e_m are orthonormal ((34), (40) and (42); the exponents there have lost their sign).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import Kernel, Linear, Polynomial, PowerSeries, Product, Scaled, Sum
from .closed_forms import ByClass

_MAX_MONOMIALS = 200_000


def power_series_coefficients(kernel: Kernel, count: int) -> np.ndarray:
    """The first ``count`` coefficients of t for a kernel t(<x, y>).

    Takes Linear, Polynomial and PowerSeries, power series of these, and their sums, products and positive multiples.
    The coefficients are those of the formulas, rounded; nothing is fitted.
    """
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"count must be a positive integer, got {count!r}.")
    return _coefficients(kernel, int(count))


def series_degree(kernel: Kernel) -> float:
    """The degree of t for a kernel t(<x, y>); infinite for exp, cosh and sinh."""
    return SERIES.entry_for(kernel).degree(kernel)


@dataclass(frozen=True, eq=False)
class MonomialExpansion:
    """k(x, y) = sum_m weights[m] x^exponents[m] y^exponents[m]; :func:`monomial_expansion` makes it.

    Attributes
    ----------
    exponents, weights : arrays (M, d) of int and (M,)
        By increasing degree; the weight is zero for monomials that are not in the space of the kernel.

    See Also
    --------
    monomial_expansion

    Examples
    --------
    >>> from seminorm.kernels import Polynomial
    >>> from seminorm.operators import monomial_expansion
    >>> expansion = monomial_expansion(Polynomial(2), 1)
    >>> expansion.kernel_matrix([[2.0]], [[3.0]])  # (1 + 6)^2
    array([[49.]])
    """

    exponents: np.ndarray
    weights: np.ndarray

    def monomials(self, X: ArrayLike) -> np.ndarray:
        """The values x^m, shape (n, M)."""
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.exponents.shape[1]:
            raise ValueError(f"X must have shape (n, {self.exponents.shape[1]}), got {X.shape}.")
        powers = X[:, :, None] ** np.arange(self.exponents.max(initial=0) + 1)
        result = np.ones((len(X), len(self.exponents)))
        for axis, exponents in enumerate(self.exponents.T):
            result *= powers[:, axis, exponents]
        return result

    def features(self, X: ArrayLike) -> np.ndarray:
        """The orthonormal basis w_m^(1/2) x^m of the space, shape (n, M): its products are the kernel (37)."""
        return self.monomials(X) * np.sqrt(self.weights)

    def kernel_matrix(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """The sum of the expansion at all pairs of points."""
        left = self.features(X)
        return left @ (left if Y is None else self.features(Y)).T

    def operator(self, coefficients: ArrayLike) -> np.ndarray:
        """P f = (w_m^(-1/2) c_m)_m for f = sum_m c_m x^m; infinite where the space has no such monomial."""
        coefficients = np.asarray(coefficients, dtype=float)
        if coefficients.shape != self.weights.shape:
            raise ValueError(f"coefficients must have shape {self.weights.shape}, got {coefficients.shape}.")
        used = coefficients != 0
        result = np.zeros_like(coefficients)
        with np.errstate(divide="ignore"):
            result[used] = coefficients[used] / np.sqrt(self.weights[used])
        return result

    def norm(self, coefficients: ArrayLike) -> float:
        """|f| = |P f| = sqrt(sum_m c_m^2 / w_m) of f = sum_m c_m x^m."""
        return float(np.linalg.norm(self.operator(coefficients)))


def monomial_expansion(kernel: Kernel, dimension: int, max_degree: int | None = None) -> MonomialExpansion:
    """A kernel of the inner product as a sum of monomials in ``dimension`` variables.

    Parameters
    ----------
    kernel : Kernel
        Linear, Polynomial, PowerSeries of these, their sums, products and positive multiples.
    dimension : int
    max_degree : int, optional
        The highest degree; left out, that of the kernel. A series without end (exp, cosh, sinh) needs it, and is cut
        off there: the remainder is the rest of the power series at <x, y>.

    Returns
    -------
    MonomialExpansion

    See Also
    --------
    polynomial_norm, mercer

    Examples
    --------
    <x, y>^2 in the plane [Smola et al. 1998, (35)-(37)]: x_1^2, sqrt(2) x_1 x_2 and x_2^2.

    >>> from seminorm.kernels import Polynomial
    >>> from seminorm.operators import monomial_expansion
    >>> square = monomial_expansion(Polynomial(2, offset=0.0), 2)
    >>> square.weights, square.exponents[3:].tolist()
    (array([0., 0., 0., 1., 2., 1.]), [[2, 0], [1, 1], [0, 2]])
    """
    if not (isinstance(dimension, (int, np.integer)) and dimension >= 1):
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    degree = series_degree(kernel) if max_degree is None else max_degree
    if degree == math.inf:
        raise ValueError(f"{kernel!r} has monomials of every degree: give max_degree.")
    if not (isinstance(degree, (int, np.integer)) and degree >= 0):
        raise ValueError(f"max_degree must be a non-negative integer, got {max_degree!r}.")
    size = math.comb(dimension + degree, dimension)
    if size > _MAX_MONOMIALS:
        raise ValueError(
            f"there are {size} monomials of degree up to {degree} in {dimension} variables, more than "
            f"{_MAX_MONOMIALS}: lower max_degree."
        )
    exponents = np.zeros((size, dimension), dtype=int)
    row = 0
    for total in range(degree + 1):
        for axes in combinations_with_replacement(range(dimension), total):
            np.add.at(exponents[row], list(axes), 1)
            row += 1
    return MonomialExpansion(exponents, _weights(kernel, exponents))


def polynomial_norm(coefficients: ArrayLike, exponents: ArrayLike, kernel: Kernel) -> float:
    """The norm sqrt(sum_m c_m^2 / w_m) of the polynomial sum_m c_m x^m in the space of a kernel t(<x, y>).

    Parameters
    ----------
    coefficients, exponents : arrays (M,) and (M, d) of int
        Each multi-index stands there once.
    kernel : Kernel
        As in :func:`monomial_expansion`.

    Returns
    -------
    float
        Infinite if the polynomial has a monomial that the space does not have.

    See Also
    --------
    monomial_expansion

    Examples
    --------
    >>> from seminorm.kernels import Linear
    >>> from seminorm.operators import polynomial_norm
    >>> polynomial_norm([3.0, 4.0], [[1, 0], [0, 1]], Linear())  # the length of the gradient
    5.0
    """
    exponents = np.asarray(exponents)
    if exponents.ndim != 2 or exponents.dtype.kind not in "iu" or (exponents < 0).any():
        raise ValueError("exponents must be an array (M, d) of non-negative integers.")
    if len(np.unique(exponents, axis=0)) < len(exponents):
        raise ValueError("exponents must name each monomial once: add the coefficients of repeated ones.")
    return MonomialExpansion(exponents, _weights(kernel, exponents)).norm(coefficients)


def _weights(kernel: Kernel, exponents: np.ndarray) -> np.ndarray:
    degrees = exponents.sum(axis=1)
    series = power_series_coefficients(kernel, int(degrees.max(initial=0)) + 1)
    multinomials = [math.factorial(sum(row)) // math.prod(map(math.factorial, row)) for row in exponents.tolist()]
    return series[degrees] * np.array(multinomials, dtype=float)


class MonomialSeries(NamedTuple):
    """How to find the series of a kernel: functions kernel -> degree and (kernel, count) -> coefficients."""

    degree: Callable[[Any], float]
    coefficients: Callable[[Any, int], np.ndarray]


def _coefficients(kernel: Kernel, count: int) -> np.ndarray:
    return SERIES.entry_for(kernel).coefficients(kernel, count)


def _binomial(kernel: Polynomial, count: int) -> np.ndarray:
    kernel.of_inner_products(np.zeros(1))  # refuses parameters out of range
    p = kernel.degree
    return _padded([math.comb(p, i) * kernel.gamma**i * kernel.offset ** (p - i) for i in range(p + 1)], count)


def _composed_degree(kernel: PowerSeries) -> float:
    inner = series_degree(_inner(kernel))
    outer = math.inf if isinstance(kernel.series, str) else max(np.flatnonzero(kernel.series).tolist(), default=0)
    return 0 if 0 in (inner, outer) else outer * inner


def _composed_coefficients(kernel: PowerSeries, count: int) -> np.ndarray:
    inner = _coefficients(_inner(kernel), count)
    return _composed(_taylor(kernel, inner[0], count), inner, count)


def _multiple(kernel: Scaled, count: int) -> np.ndarray:
    kernel.check_composition()
    return kernel.factor * _coefficients(kernel.kernel, count)


def _added(kernel: Sum, count: int) -> np.ndarray:
    return _coefficients(kernel.first, count) + _coefficients(kernel.second, count)


def _multiplied(kernel: Product, count: int) -> np.ndarray:
    return np.convolve(_coefficients(kernel.first, count), _coefficients(kernel.second, count))[:count]


def _refused(kernel: Kernel, count: int = 0) -> Any:
    raise ValueError(
        f"kernel must be a power series of the inner product <x, y> (Linear, Polynomial, PowerSeries, and their sums, "
        f"products and multiples), got {kernel!r}."
    )


def _inner(kernel: PowerSeries) -> Kernel:
    return Linear() if kernel.kernel is None else kernel.kernel


#: The series of kernels of the inner product, by their class; assign to ``SERIES[YourKernel]`` to add one.
SERIES: ByClass[MonomialSeries] = ByClass(
    {
        Kernel: MonomialSeries(_refused, _refused),
        Linear: MonomialSeries(lambda kernel: 1, lambda kernel, count: _padded([0.0, 1.0], count)),
        Polynomial: MonomialSeries(lambda kernel: kernel.degree, _binomial),
        PowerSeries: MonomialSeries(_composed_degree, _composed_coefficients),
        Scaled: MonomialSeries(lambda kernel: series_degree(kernel.kernel), _multiple),
        Sum: MonomialSeries(lambda kernel: max(series_degree(kernel.first), series_degree(kernel.second)), _added),
        Product: MonomialSeries(lambda kernel: series_degree(kernel.first) + series_degree(kernel.second), _multiplied),
    }
)


def _taylor(kernel: PowerSeries, place: float, count: int) -> np.ndarray:
    """Coefficients of the outer series around a place."""
    if isinstance(kernel.series, str):
        values = {
            "exp": (math.exp(place), math.exp(place)),
            "cosh": (math.cosh(place), math.sinh(place)),
            "sinh": (math.sinh(place), math.cosh(place)),
        }
        if kernel.series in values:
            return np.array([values[kernel.series][k % 2] * (1 / math.factorial(k)) for k in range(count)])
    PowerSeries(kernel.series).of_inner_products(np.zeros(1))  # refuses what is not a series
    series = [float(a) for a in kernel.series]
    terms = range(len(series))
    return _padded([sum(series[j] * math.comb(j, k) * place ** (j - k) for j in terms[k:]) for k in terms], count)


def _composed(outer: np.ndarray, inner: np.ndarray, count: int) -> np.ndarray:
    """Coefficients of outer(inner(s) - inner(0)), by Horner's rule on truncated series."""
    shifted = np.r_[0.0, inner[1:]]
    total = np.zeros(count)
    for coefficient in outer[::-1]:
        total = np.convolve(total, shifted)[:count]
        total[0] += coefficient
    return total


def _padded(series: Sequence[float], count: int) -> np.ndarray:
    result = np.zeros(count)
    result[: min(count, len(series))] = series[:count]
    return result
