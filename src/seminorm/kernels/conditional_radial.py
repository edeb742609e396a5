"""Conditionally positive definite radial kernels, signed to be positive on the complement of their null space."""

import math

import numpy as np

from .base import DILATION, ROTATION, TRANSLATION, Kernel
from .calculus import falling_power
from .forms import half_power, log_power, shifted_root
from .radial import Radial, WithScale, safe_power


class ThinPlate(Radial):
    """r^2 log r, conditionally positive definite of order 2 in every dimension.

    It has no length scale: dilating the data is the same as changing the regularisation parameter [Walder and Chapelle
    2007, 5]. In the plane it is 8 pi times ``Polyharmonic(2)``, the kernel of the bending energy of a thin plate.

    See Also
    --------
    Polyharmonic, NegativeDistance

    Examples
    --------
    >>> from seminorm.kernels import ThinPlate
    >>> ThinPlate().cpd_order, ThinPlate().dilation_degree
    (2, 2)
    """

    cpd_order, dilation_degree, differentiability = 2, 2, 1
    invariances = frozenset({TRANSLATION, ROTATION, DILATION})

    def _h(self, s, k):
        if k == 0:  # the kernel matrix of the classification machines: worth a line of its own
            return _half_s_log_s(s)
        return _log_power(s, 1, 0.5, k)

    def _form(self, k):
        return log_power(*_log_terms(1, 0.5, k))


class Polyharmonic(Radial):
    """The kernel of the sum of all squared m-th derivatives over R^d, normalised to it
    [Walder and Chapelle 2007, definition 5.1].

    phi is r^(2m-d), times log r for even d, with the sign and the constant that make ``a' phi(X) a`` *equal* to the
    integral of the squared m-th derivatives of ``sum_i a_i phi(., x_i)`` if a annihilates polynomials of degree m - 1.

    Parameters
    ----------
    order : int
        Order m of the derivatives; needs 2 m > d.
    dimension : int, optional
        d; read off the data if left out, and until then ``cpd_order`` is m, which suffices in every dimension.

    See Also
    --------
    ThinPlate : Without a limit on the dimension.

    Examples
    --------
    >>> from seminorm.kernels import Polyharmonic
    >>> Polyharmonic(2)([[0.0]], [[0.0], [1.0]])  # |x|^3 / 12 on the line
    array([[0.        , 0.08333333]])
    """

    invariances = frozenset({TRANSLATION, ROTATION, DILATION})

    def __init__(self, order: int = 2, dimension: int | None = None):
        self.order, self.dimension = order, dimension

    @property
    def cpd_order(self) -> int:
        if self.dimension is None:
            return self.order
        return self.order - self.dimension // 2 if self.dimension % 2 else self.order - self.dimension // 2 + 1

    @property
    def null_degree(self) -> int:
        return self.order - 1

    @property
    def dilation_degree(self) -> float | None:
        return None if self.dimension is None else 2 * self.order - self.dimension

    @property
    def differentiability(self) -> float:
        return 2 * self.order - (1 if self.dimension is None else self.dimension) - 1

    @property
    def max_dimension(self) -> float:
        return 2 * self.order - 1

    def for_dimension(self, dimension: int) -> Kernel:
        if not (isinstance(self.order, (int, np.integer)) and self.order >= 1):
            raise ValueError(f"order must be a positive integer, got {self.order!r}.")
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"{self!r} is made for {self.dimension} columns, and X has {dimension}: leave dimension out to "
                "follow the data."
            )
        if 2 * self.order <= dimension:
            raise ValueError(
                f"Polyharmonic(order={self.order}) needs 2 order > d, and X has d = {dimension} columns: take order >= "
                f"{dimension // 2 + 1}, or ThinPlate(), which works in every dimension."
            )
        return self if self.dimension == dimension else Polyharmonic(self.order, dimension)

    def _h(self, s, k):
        m, d, factor = self._constants()
        if d % 2:
            return factor * falling_power(m - d / 2, k) * safe_power(s, m - d / 2 - k)
        return _log_power(s, m - d // 2, 0.5 * factor, k)

    def _form(self, k):
        m, d, factor = self._constants()
        if d % 2:
            return half_power(factor * falling_power(m - d / 2, k), 2 * m - d - 2 * k)
        return log_power(*_log_terms(m - d // 2, 0.5 * factor, k))

    def _constants(self) -> tuple[int, int, float]:
        """m, d, and the factor of r^(2m - d), or of r^(2m - d) log r for even d."""
        if self.dimension is None:
            raise ValueError("the profile of Polyharmonic depends on the dimension: use kernel.for_dimension(d).")
        m, d = self.order, self.dimension
        common = math.pi ** (d / 2) * math.factorial(m - 1)
        if d % 2:
            return m, d, math.gamma(d / 2 - m) / (4.0**m * common)
        sign = (-1) ** (m - (d - 2) // 2)
        return m, d, sign / (2.0 ** (2 * m - 1) * common * math.factorial(m - d // 2))


class Multiquadric(WithScale):
    """-sqrt(1 + r^2 / scale^2), conditionally positive definite of order 1 [Smola et al. 1998, (48)].

    Parameters
    ----------
    scale : float
        The length scale.

    Examples
    --------
    >>> from seminorm.kernels import Multiquadric
    >>> Multiquadric()([[0.0]], [[0.0], [1.0]]).round(4)
    array([[-1.    , -1.4142]])

    See Also
    --------
    InverseMultiquadric : the reciprocal, positive definite.
    """

    cpd_order = 1

    def _h(self, s, k):
        return -falling_power(0.5, k) * (1.0 + s) ** (0.5 - k)

    def _form(self, k):
        return shifted_root(-falling_power(0.5, k), 1.0, 1 - 2 * k)


class NegativeDistance(Radial):
    """-r^beta with 0 < beta < 2, conditionally positive definite of order 1 in every dimension.

    Parameters
    ----------
    beta : float
        The exponent; 1 gives piecewise linear interpolation on the line.

    See Also
    --------
    ThinPlate, Multiquadric

    Examples
    --------
    >>> from seminorm.kernels import NegativeDistance
    >>> NegativeDistance()([[0.0]], [[0.0], [2.0]])
    array([[-0., -2.]])
    """

    cpd_order = 1
    invariances = frozenset({TRANSLATION, ROTATION, DILATION})

    def __init__(self, beta: float = 1.0):
        self.beta = beta

    @property
    def dilation_degree(self) -> float | None:
        return self.beta

    @property
    def differentiability(self) -> float:
        return 1 if self.beta > 1 else 0

    def _h(self, s, k):
        if not 0 < self.beta < 2:
            raise ValueError(f"beta must lie strictly between 0 and 2, got {self.beta!r}.")
        return -falling_power(self.beta / 2, k) * safe_power(s, self.beta / 2 - k)

    def _form(self, k):
        return half_power(-falling_power(self.beta / 2, k), int(self.beta) - 2 * k) if self.beta == 1 else None


def _half_s_log_s(s: np.ndarray) -> np.ndarray:
    """s log(s) / 2 with its limit 0 at 0 (adding the smallest normal number changes no other value)."""
    values = np.log(s + np.finfo(float).tiny)
    values *= s
    values *= 0.5
    return values


def _log_terms(exponent: int, factor: float, k: int) -> tuple[int, float, float]:
    """k-th derivative of factor * s^exponent log(s) as s^n (a log s + b): n, a, b."""
    log_factor, plain_factor = factor, 0.0
    for _ in range(k):
        log_factor, plain_factor = log_factor * exponent, log_factor + plain_factor * exponent
        exponent -= 1
    return exponent, log_factor, plain_factor


def _log_power(s: np.ndarray, exponent: int, factor: float, k: int) -> np.ndarray:
    """k-th derivative of factor * s^exponent log(s); 0 at s = 0 where it is infinite (see Radial)."""
    exponent, log_factor, plain_factor = _log_terms(exponent, factor, k)
    values = np.zeros_like(s)
    positive = s > 0
    t = s[positive]
    values[positive] = t**exponent * (log_factor * np.log(t) + plain_factor)
    return values
