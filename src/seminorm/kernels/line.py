"""Translation-invariant kernels on the line and the circle, multiplied over the dimensions."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from .base import TRANSLATION, Kernel
from .calculus import falling_power


class TensorProduct(Kernel):
    """prod_i g(x_i - y_i): base of the kernels of this file, which supply ``_g(u, k)``, the k-th derivative of the
    factor g.
    """

    @property
    def invariances(self):
        return frozenset({TRANSLATION})

    def _g(self, u: np.ndarray, k: int) -> np.ndarray:
        raise TypeError(
            f"{type(self).__name__} does not define its factor: subclasses of TensorProduct supply _g(u, k)."
        )

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
            result[(..., *slots)] = (-1) ** y * math.prod(factors[axis][slots.count(axis)] for axis in range(dimension))
        return result


class BSpline(TensorProduct):
    """The centred B-spline of odd order q: the (q+1)-fold convolution of the indicator of [-1/2, 1/2] (seed 003,
    22-24).

    Even orders have a spectrum with negative parts and are refused. The support in each coordinate is |x - y| < scale
    (q + 1) / 2.

    Parameters
    ----------
    q : int
        Order (degree) of the spline, odd: 1 is the hat function, 3 the cubic B-spline.
    scale : float
        Distance of the knots.
    """

    def __init__(self, q: int = 3, scale: float = 1.0):
        self.q = q
        self.scale = scale

    @classmethod
    def examples(cls):
        return [cls(1, 1.3), cls(3, 0.9), cls(5, 0.7)]

    @property
    def smoothness(self):
        return self.q - 1

    def _refuse_singular(self, X, Y, times):  # the knots lie everywhere, not only at zero
        if times <= self.smoothness:
            return
        raise ValueError(
            f"{self!r} can be differentiated {self.q - 1} times, and {times} derivatives were asked for: take a "
            "larger q."
        )

    def _g(self, u, k):
        q = self.q
        if not (isinstance(q, (int, np.integer)) and q >= 1 and q % 2 == 1):
            raise ValueError(
                f"q must be an odd positive integer, got {q!r}: B-splines of even order are not positive definite."
            )
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
    """Base of the kernels on the circle: the factor is a function of 2 pi (x - y) / period."""

    def _g(self, u, k):
        if not self.period > 0:
            raise ValueError(f"period must be positive, got {self.period!r}.")
        frequency = 2 * math.pi / self.period
        angle = frequency * u
        return frequency**k * self._on_circle(angle - 2 * math.pi * np.round(angle / (2 * math.pi)), k)


class Dirichlet(Periodic):
    """sin((2N + 1) t / 2) / sin(t / 2) = 1 + 2 sum_(j <= N) cos(j t): all frequencies up to N alike (seed 003, 27).

    Positive semi-definite of rank 2N + 1 in each coordinate.

    Parameters
    ----------
    N : int
        The highest frequency.
    period : float
        Length of the circle.
    """

    def __init__(self, N: int = 5, period: float = 2 * math.pi):
        self.N = N
        self.period = period

    @classmethod
    def examples(cls):
        return [cls(3), cls(10, period=3.0)]

    def _on_circle(self, t, k):
        if not (isinstance(self.N, (int, np.integer)) and self.N >= 0):
            raise ValueError(f"N must be a non-negative integer, got {self.N!r}.")
        return _cosine_series(t, k, np.r_[1.0, np.full(self.N, 2.0)])


class PeriodicGaussian(Periodic):
    """sum_(l >= 1) exp(-l^2 scale^2 / 2) cos(l t), shifted and scaled to the range [0, 1] (seed 003, 29).

    Parameters
    ----------
    scale : float
        Width, as an angle for the default period (``scale * period / (2 pi)`` in the units of X).
    period : float
        Length of the circle.
    """

    def __init__(self, scale: float = 0.5, period: float = 2 * math.pi):
        self.scale = scale
        self.period = period

    @classmethod
    def examples(cls):
        return [cls(0.3), cls(1.4, period=2.0)]

    def _on_circle(self, t, k):
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}.")
        lowest, highest = self._series(np.array([math.pi, 0.0]), 0)
        values = self._series(t, k)
        return (values - lowest if k == 0 else values) / (highest - lowest)

    def _series(self, t, k):
        """The series up to a constant and a factor; wrapped Gaussians converge faster when the kernel is narrow
        (Poisson's formula).
        """
        if self.scale < 1.0:
            return sum(_gaussian(t + 2 * math.pi * wrap, self.scale, k) for wrap in (-2, -1, 0, 1, 2))
        terms = np.arange(1, 11)
        return _cosine_series(t, k, np.r_[0.0, np.exp(-0.5 * (terms**2 - 1.0) * self.scale**2)])


class FourierSeries(Periodic):
    """sum_l coefficients[l] cos(l t), t = 2 pi (x - y) / period: any translation-invariant kernel on the circle.

    Parameters
    ----------
    coefficients : sequence of float
        Not negative: the spectrum of the kernel. Where the first is zero, the constant has no part in the kernel and
        is left free by default.
    period : float
        Length of the circle.
    """

    def __init__(self, coefficients=(1.0, 1.0), period: float = 2 * math.pi):
        self.coefficients = coefficients
        self.period = period

    @classmethod
    def examples(cls):
        return [cls((0.5, 1.0, 0.0, 0.25)), cls((0.0, 1.0, 0.5), period=3.0)]

    @property
    def null_degree(self):
        return 0 if self._checked()[0] == 0 else -1

    def _checked(self) -> np.ndarray:
        coefficients = np.asarray(self.coefficients, dtype=float)
        if coefficients.ndim != 1 or len(coefficients) == 0 or not np.isfinite(coefficients).all():
            raise ValueError(f"coefficients must be a sequence of finite numbers, got {self.coefficients!r}.")
        if (coefficients < 0).any():
            raise ValueError(
                f"coefficients must not be negative, and one is {coefficients.min():g}: the kernel would not be "
                "positive definite."
            )
        return coefficients

    def _on_circle(self, t, k):
        coefficients = self._checked()
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
