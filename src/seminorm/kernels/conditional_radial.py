"""Conditionally positive definite radial kernels, signed to be positive on the complement of their null space."""

from __future__ import annotations

import math

import numpy as np

from .base import DILATION
from .calculus import falling_power
from .radial import Radial, safe_power


class ThinPlate(Radial):
    """r^2 log r, conditionally positive definite of order 2 in every dimension.

    It has no length scale: dilating the data is the same as changing the regularisation parameter (seed 000, section
    5). In the plane it is 8 pi times ``Polyharmonic(2)``, the kernel of the bending energy of a thin plate.

    Examples
    --------
    >>> from seminorm.kernels import ThinPlate
    >>> ThinPlate().order, ThinPlate().dilation_degree
    (2, 2)
    """

    @property
    def order(self):
        return 2

    @property
    def invariances(self):
        return super().invariances | {DILATION}

    @property
    def dilation_degree(self):
        return 2

    @property
    def smoothness(self):
        return 1

    def _h(self, s, k):
        if k == 0:  # the kernel matrix of the classification machines: worth a line of its own
            return _half_s_log_s(s)
        return _log_power(s, 1, 0.5, k)


class Polyharmonic(Radial):
    """The kernel of the sum of all squared m-th derivatives over R^d (seed 000, definition 5.1), normalised to it.

    phi is r^(2m-d) for odd d and r^(2m-d) log r for even d, with the sign that makes it positive and the constant
    that makes ``a' phi(X) a`` *equal* to the integral of the squared m-th derivatives of ``sum_i a_i phi(., x_i)``
    when a annihilates the polynomials of degree m - 1.

    Parameters
    ----------
    m : int
        Order of the derivatives; needs 2 m > d.
    dimension : int, optional
        The dimension d of the inputs. Left out, it is read off the data; ``order`` then is m, which suffices in every
        dimension, and ``dilation_degree`` is not known yet.

    Examples
    --------
    >>> from seminorm.kernels import Polyharmonic
    >>> Polyharmonic(2)([[0.0], [1.0]])  # |x|^3 / 12 on the line
    array([[0.        , 0.08333333],
           [0.08333333, 0.        ]])
    """

    def __init__(self, m: int = 2, dimension: int | None = None):
        self.m = m
        self.dimension = dimension

    @classmethod
    def examples(cls):
        return [cls(1), cls(2), cls(3), cls(4)]

    @property
    def order(self):
        if self.dimension is None:
            return self.m
        return self.m - self.dimension // 2 if self.dimension % 2 else self.m - self.dimension // 2 + 1

    @property
    def null_degree(self):
        return self.m - 1

    @property
    def invariances(self):
        return super().invariances | {DILATION}

    @property
    def dilation_degree(self):
        return None if self.dimension is None else 2 * self.m - self.dimension

    @property
    def smoothness(self):
        return 2 * self.m - (1 if self.dimension is None else self.dimension) - 1

    @property
    def max_dimension(self):
        return 2 * self.m - 1

    def for_dimension(self, dimension):
        if not (isinstance(self.m, (int, np.integer)) and self.m >= 1):
            raise ValueError(f"m must be a positive integer, got {self.m!r}.")
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"{self!r} is made for {self.dimension} columns, and X has {dimension}: leave dimension out to "
                "follow the data."
            )
        if 2 * self.m <= dimension:
            raise ValueError(
                f"Polyharmonic(m={self.m}) needs 2 m > d, and X has d = {dimension} columns: take m >= "
                f"{dimension // 2 + 1}, or "
                "ThinPlate(), which works in every dimension."
            )
        return self if self.dimension == dimension else Polyharmonic(self.m, dimension)

    def _h(self, s, k):
        if self.dimension is None:
            raise ValueError(
                "the profile of Polyharmonic depends on the dimension: use Polyharmonic(m).for_dimension(d)."
            )
        m, d = self.m, self.dimension
        common = math.pi ** (d / 2) * math.factorial(m - 1)
        if d % 2:
            factor = math.gamma(d / 2 - m) / (4.0**m * common)
            return factor * falling_power(m - d / 2, k) * safe_power(s, m - d / 2 - k)
        sign = (-1) ** (m - (d - 2) // 2)
        factor = sign / (2.0 ** (2 * m - 1) * common * math.factorial(m - d // 2))
        return _log_power(s, m - d // 2, 0.5 * factor, k)


class Multiquadric(Radial):
    """-sqrt(1 + r^2 / scale^2), conditionally positive definite of order 1 (seed 003, 48)."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    @property
    def order(self):
        return 1

    def _h(self, s, k):
        return -falling_power(0.5, k) * (1.0 + s) ** (0.5 - k)


class NegativeDistance(Radial):
    """-r^beta with 0 < beta < 2, conditionally positive definite of order 1 in every dimension.

    Parameters
    ----------
    beta : float
        The exponent; 1 gives piecewise linear interpolation on the line.
    """

    def __init__(self, beta: float = 1.0):
        self.beta = beta

    @classmethod
    def examples(cls):
        return [cls(0.5), cls(1.0), cls(1.5)]

    @property
    def order(self):
        return 1

    @property
    def invariances(self):
        return super().invariances | {DILATION}

    @property
    def dilation_degree(self):
        return self.beta

    @property
    def smoothness(self):
        return 1 if self.beta > 1 else 0

    def _h(self, s, k):
        if not 0 < self.beta < 2:
            raise ValueError(f"beta must lie strictly between 0 and 2, got {self.beta!r}.")
        return -falling_power(self.beta / 2, k) * safe_power(s, self.beta / 2 - k)


def _half_s_log_s(s: np.ndarray) -> np.ndarray:
    """s log(s) / 2 with its limit 0 at 0 (adding the smallest normal number changes no other value)."""
    values = np.log(s + np.finfo(float).tiny)
    values *= s
    values *= 0.5
    return values


def _log_power(s: np.ndarray, exponent: int, factor: float, k: int) -> np.ndarray:
    """k-th derivative of factor * s^exponent log(s); 0 at s = 0 where it is infinite (see Radial)."""
    log_factor, plain_factor = factor, 0.0
    for _ in range(k):
        log_factor, plain_factor = log_factor * exponent, log_factor + plain_factor * exponent
        exponent -= 1
    values = np.zeros_like(s)
    positive = s > 0
    t = s[positive]
    values[positive] = t**exponent * (log_factor * np.log(t) + plain_factor)
    return values
