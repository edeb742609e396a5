"""Translation-invariant kernels on the line and the circle, multiplied over the dimensions."""

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import TRANSLATION, Kernel, non_negative
from .calculus import falling_power


class TensorProduct(Kernel):
    """Base of the kernels prod_i g(x_i - y_i). A subclass supplies ``_g(u, k)``, the k-th derivative of g."""

    invariances = frozenset({TRANSLATION})

    def _g(self, u: np.ndarray, k: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its factor: subclasses supply _g(u, k).")

    def _matrix(self, X, Y):
        Y = X if Y is None else Y
        matrix = np.ones((len(X), len(Y)))
        for axis in range(X.shape[1]):
            matrix *= self._g(X[:, axis, None] - Y[:, axis], 0)
        return matrix

    def _diag(self, X):
        return np.full(len(X), self._g(np.zeros(1), 0)[0] ** X.shape[1])

    def _derivative(self, X, Y, x, y):
        dimension, times = X.shape[1], x + y
        factors = [[self._g(X[:, axis, None] - Y[:, axis], k) for k in range(times + 1)] for axis in range(dimension)]
        result = np.empty((len(X), len(Y)) + (dimension,) * times)
        for slots in product(range(dimension), repeat=times):
            place: tuple[Any, ...] = (..., *slots)
            result[place] = (-1) ** y * math.prod(factors[axis][slots.count(axis)] for axis in range(dimension))
        return result


class BSpline(TensorProduct):
    """The centred B-spline of odd order q: the (q+1)-fold convolution of the indicator of [-1/2, 1/2]
    [Smola et al. 1998, (22)-(24)].

    Even orders have a spectrum with negative parts and are refused. The support is |x_i - y_i| < scale (q + 1) / 2.

    Parameters
    ----------
    q : int
        Order (degree) of the spline, odd: 1 is the hat function, 3 the cubic B-spline.
    scale : float
        Distance of the knots.

    See Also
    --------
    PeriodicGaussian, Wendland

    Examples
    --------
    >>> from seminorm.kernels import BSpline
    >>> BSpline(1, scale=2.0)([[0.0]], [[0.0], [1.0], [2.0]])
    array([[1. , 0.5, 0. ]])
    """

    def __init__(self, q: int = 3, scale: float = 1.0):
        self.q, self.scale = q, scale

    @property
    def differentiability(self) -> float:
        return self.q - 1

    @property
    def support_radius(self) -> float:
        return 0.5 * self.scale * (self.q + 1)

    @property
    def knots(self) -> np.ndarray:
        return self.scale * np.arange(1.0, 0.5 * (self.q + 1) + 1.0)

    def _refuse_singular(self, X, Y, times):  # the knots lie everywhere, not only at zero
        if times > self.differentiability:
            raise ValueError(
                f"{self!r} can be differentiated {self.q - 1} times, and {times} derivatives were asked for: take a "
                "larger q."
            )

    def _g(self, u, k):
        q = self.q
        if not (isinstance(q, (int, np.integer)) and q >= 1 and q % 2 == 1):
            raise ValueError(f"q must be an odd positive integer, got {q!r}: even orders are not positive definite.")
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}.")
        distance = np.abs(u) / self.scale
        # sum over the knots beyond |u|: short and free of cancellation near the end of the support
        total = np.zeros_like(distance)
        for j in range((q + 1) // 2 + 1):
            weight = (-1) ** j * math.comb(q + 1, j) * falling_power(q, k) * (-1) ** k / math.factorial(q)
            total += weight * np.maximum((q + 1) / 2 - j - distance, 0.0) ** (q - k)
        return total * (np.sign(u) if k % 2 else 1.0) / self.scale**k


class Periodic(TensorProduct):
    """A kernel on the circle: a subclass supplies the k-th derivative in t = 2 pi (x - y) / period."""

    period: float = 2 * math.pi

    def _on_circle(self, t: np.ndarray, k: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its factor: supply _on_circle(t, k).")

    def _g(self, u, k):
        if not self.period > 0:
            raise ValueError(f"period must be positive, got {self.period!r}.")
        frequency = 2 * math.pi / self.period
        angle = frequency * u
        return frequency**k * self._on_circle(angle - 2 * math.pi * np.round(angle / (2 * math.pi)), k)


class Dirichlet(Periodic):
    """sin((2N + 1) t / 2) / sin(t / 2) = 1 + 2 sum_(j <= N) cos(j t): all frequencies up to N alike
    [Smola et al. 1998, (27)].

    Positive semi-definite of rank 2N + 1 in each coordinate.

    Parameters
    ----------
    N : int
        The highest frequency.
    period : float
        Length of the circle.

    See Also
    --------
    FourierSeries, PeriodicGaussian

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import Dirichlet
    >>> Dirichlet(N=2)([[0.0]], [[0.0], [np.pi]]).round(4)
    array([[5., 1.]])
    """

    def __init__(self, N: int = 5, period: float = 2 * math.pi):
        self.N, self.period = N, period

    def _on_circle(self, t, k):
        if not (isinstance(self.N, (int, np.integer)) and self.N >= 0):
            raise ValueError(f"N must be a non-negative integer, got {self.N!r}.")
        return _cosine_series(t, k, np.r_[1.0, np.full(self.N, 2.0)])


class PeriodicGaussian(Periodic):
    """sum_(l >= 1) exp(-l^2 scale^2 / 2) cos(l t), shifted and scaled to the range [0, 1]
    [Smola et al. 1998, (29)].

    Parameters
    ----------
    scale : float
        Width, as an angle for the default period (``scale * period / (2 pi)`` in the units of X).
    period : float
        Length of the circle.

    See Also
    --------
    Dirichlet, FourierSeries

    Examples
    --------
    >>> from seminorm.kernels import PeriodicGaussian
    >>> PeriodicGaussian(0.5, period=24.0)([[23.0]], [[1.0], [11.0]]).round(4)
    array([[0.5779, 0.    ]])
    """

    def __init__(self, scale: float = 0.5, period: float = 2 * math.pi):
        self.scale, self.period = scale, period

    def _on_circle(self, t, k):
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}.")
        lowest, highest = self._series(np.array([math.pi, 0.0]), 0)
        values = self._series(t, k)
        return (values - lowest if k == 0 else values) / (highest - lowest)

    def _series(self, t, k):
        """The series up to a constant and a factor; if it is narrow by Poisson's formula, which converges faster."""
        if self.scale < 1.0:
            return sum(_gaussian(t + 2 * math.pi * wrap, self.scale, k) for wrap in (-2, -1, 0, 1, 2))
        terms = np.arange(1, 11)
        return _cosine_series(t, k, np.r_[0.0, np.exp(-0.5 * (terms**2 - 1.0) * self.scale**2)])


class FourierSeries(Periodic):
    """sum_l coefficients[l] cos(l t), t = 2 pi (x - y) / period: any translation-invariant kernel on the circle.

    Parameters
    ----------
    coefficients : sequence of float
        The spectrum of the kernel, not negative; if the first is zero, the constant is left free by default.
    period : float
        Length of the circle.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import FourierSeries
    >>> FourierSeries([0.5, 1.0, 0.25])([[0.0]], [[0.0], [np.pi]])
    array([[ 1.75, -0.25]])

    See Also
    --------
    seminorm.operators.Operator.kernel : makes such kernels from operators.
    """

    def __init__(self, coefficients: ArrayLike = (1.0, 1.0), period: float = 2 * math.pi):
        self.coefficients: Any = coefficients
        self.period = period

    @property
    def null_degree(self) -> int:
        return 0 if non_negative("coefficients", self.coefficients)[0] == 0 else -1

    def _on_circle(self, t, k):
        coefficients = non_negative("coefficients", self.coefficients)
        if k == 0:
            return np.polynomial.chebyshev.chebval(np.cos(t), coefficients)
        return _cosine_series(t, k, coefficients)


def _cosine_series(t: np.ndarray, k: int, coefficients: np.ndarray) -> np.ndarray:
    """k-th derivative of sum_l coefficients[l] cos(l t)."""
    total = np.zeros_like(t)
    for frequency, coefficient in enumerate(coefficients):
        if coefficient and (frequency or k == 0):
            total += coefficient * frequency**k * np.cos(frequency * t + 0.5 * math.pi * k)
    return total


def _gaussian(t: np.ndarray, scale: float, k: int) -> np.ndarray:
    """k-th derivative of exp(-t^2 / (2 scale^2)), by the Hermite polynomials."""
    z = t / scale
    return (-1.0 / scale) ** k * np.polynomial.hermite_e.hermeval(z, [0.0] * k + [1.0]) * np.exp(-0.5 * z * z)
