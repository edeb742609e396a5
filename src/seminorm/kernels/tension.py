"""The kernel of splines in tension: bending and slope are penalised together.

The Fourier transform of the kernel is 1 / (|w|^2 (k^2 + |w|^2)) = (1 / |w|^2 - 1 / (k^2 + |w|^2)) / k^2, the difference
of the kernels of order 1 and of a Bessel potential [Mitasova and Mitas 1993]. Its derivatives in r^2 are, up to
factors, the same difference in dimension d + 2, d + 4, ...; near 0, where the parts cancel, its series takes over.
"""

import math
from functools import cache

import numpy as np
from numpy.polynomial import polynomial
from scipy.special import digamma, k0, k1

from .base import Kernel
from .pieces import tabulated
from .radial import Radial, safe_power

_NEAR = 1.0  # squared distance in units of 1 / k up to which the series is used
_TERMS = 14  # of the series there, to rounding


class Tension(Radial):
    """The kernel of |f|_1^2 / scale^2 + |f|_2^2, normalised to it: over lengths beyond ``scale`` a membrane, within it
    a plate. In dimension 1 to 3; |f|_m^2 is the integral of all squared m-th derivatives.

    With x = r / scale it is, up to constants, -(x + exp(-x)) scale^3 / 2 on the line,
    -(log x + K_0(x)) scale^2 / (2 pi) in the plane, and -(exp(-x) - 1 + x) / x scale / (4 pi) in space; ``a' phi(X) a``
    *equals* the energy of ``sum_i a_i phi(., x_i)`` if the a_i sum to 0. For large scales the function with the least
    energy is that of ``Polyharmonic(2)``, for small ones that of ``Polyharmonic(1)``, where that exists (on the line).

    Parameters
    ----------
    scale : float
        The length; 1 / scale is the tension k of the symbol k^2 |w|^2 + |w|^4.
    dimension : int, optional
        Of the inputs; left out, it follows the data.

    See Also
    --------
    Polyharmonic : its two limits.
    seminorm.FieldSmoother : whose default is this energy, with the scale chosen by the data.

    Examples
    --------
    >>> from seminorm.kernels import Tension
    >>> Tension(2.0)([[0.0]], [[0.0], [1.0]]).round(4)  # 4 (1 - 1/2 - exp(-1/2)) on the line
    array([[ 0.    , -0.4261]])
    """

    cpd_order = 1

    def __init__(self, scale: float | str = 1.0, dimension: int | None = None):
        self.scale, self.dimension = scale, dimension

    @property
    def differentiability(self) -> float:
        return 2 if self.dimension is None else 3 - self.dimension

    @property
    def max_dimension(self) -> float:
        return 3

    def for_dimension(self, dimension: int) -> Kernel:
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"{self!r} is made for {self.dimension} columns, and X has {dimension}: leave dimension out to "
                "follow the data."
            )
        if dimension > 3:
            raise ValueError(
                f"Tension needs at most 3 columns, and X has {dimension}: take Polyharmonic(order) with order >= "
                f"{dimension // 2 + 1}, or ThinPlate(), which works in every dimension."
            )
        return self if self.dimension == dimension else Tension(self.scale, dimension)

    def _h(self, s, k):
        if self.dimension is None:
            raise ValueError("the profile of Tension depends on the dimension: use kernel.for_dimension(d).")
        if k == 0:  # less its value at 0, which is a large constant for large scales
            values = tabulated(_unit_profile, (self.dimension, True), s)
        else:
            values = _unit_profile(s, self.dimension + 2 * k, False)
        values *= (-math.pi) ** k * self._length() ** (4 - self.dimension)
        return values


def _unit_profile(s: np.ndarray, dimension: int, less_its_value_at_zero: bool) -> np.ndarray:
    """The inverse transform of 1 / |w|^2 - 1 / (1 + |w|^2) in R^d at |x|^2 = s; 0 where it is infinite."""
    values, near, far = np.zeros_like(s), (s > 0) & (s <= _NEAR), s > _NEAR
    values[near], values[far] = _series(s[near], dimension), _difference(s[far], dimension)
    at_zero = _difference_at_zero(dimension)
    values[far if less_its_value_at_zero else ~far] += -at_zero if less_its_value_at_zero else at_zero
    return values


def _difference(s: np.ndarray, dimension: int) -> np.ndarray:
    """The same by its two parts."""
    nu = 0.5 * dimension - 1.0
    part = (2.0 * math.pi) ** (-0.5 * dimension) * safe_power(s, -0.5 * nu) * _bessel(np.sqrt(s), dimension)
    if dimension == 2:
        return -np.log(s) / (4.0 * math.pi) - part
    return math.gamma(nu) / (4.0 * math.pi ** (0.5 * dimension)) * safe_power(s, -nu) - part


def _bessel(x: np.ndarray, dimension: int) -> np.ndarray:
    """K_nu with nu = d / 2 - 1, by the recurrence upwards."""
    if dimension % 2:
        lower = upper = np.sqrt(0.5 * math.pi / x) * np.exp(-x)
        nu = 0.5  # K_(-1/2) = K_(1/2)
    else:
        lower, upper, nu = k1(x), k0(x), 0.0  # K_(-1) = K_1
    while nu < 0.5 * dimension - 1.0:
        lower, upper, nu = upper, lower + 2.0 * nu / x * upper, nu + 1.0
    return upper


def _difference_at_zero(dimension: int) -> float:
    """Its value at 0, or in more than three dimensions, where that is infinite, 0."""
    known = {1: -0.5, 2: (np.euler_gamma - math.log(2.0)) / (2.0 * math.pi), 3: 0.25 / math.pi}
    return known.get(dimension, 0.0)


def _series(s: np.ndarray, dimension: int) -> np.ndarray:
    """The difference less its value at 0, for 0 < s up to about 1."""
    singular, logarithmic, smooth = _coefficients(dimension)
    values = polynomial.polyval(s, smooth)
    if len(singular):
        values += safe_power(s, 2.0 - 0.5 * dimension) * polynomial.polyval(s, singular)
    if len(logarithmic):
        values += np.log(s) * polynomial.polyval(s, logarithmic)
    return values


@cache
def _coefficients(dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of polynomials in s beside s^(2 - d/2), beside log s, and alone.

    They are those of the series of s^(-nu/2) K_nu(sqrt(s)), nu = d/2 - 1, less its first term, which is 1 / |w|^2.
    """
    nu, terms = 0.5 * dimension - 1.0, np.arange(_TERMS)
    factorial = np.array([math.factorial(j) for j in terms], dtype=float)
    quarter = 0.25**terms
    scale = -((2.0 * math.pi) ** (-0.5 * dimension))
    if dimension % 2:
        reflected = 0.5 * math.pi / math.sin(nu * math.pi)
        lower = 2.0**nu * quarter / factorial / np.array([math.gamma(j - nu + 1.0) for j in terms])
        upper = 2.0**-nu * quarter / factorial / np.array([math.gamma(j + nu + 1.0) for j in terms])
        singular, logarithmic, smooth = reflected * lower[1:], np.empty(0), -reflected * upper
    else:
        n = int(nu)
        ahead = np.array([math.factorial(n + j) for j in terms], dtype=float)
        both = (-1.0) ** n * 0.5 * 2.0**-n * quarter / (factorial * ahead)
        finite = [0.5 * 2.0**n * math.factorial(n - j - 1) / math.factorial(j) * (-0.25) ** j for j in range(1, n)]
        singular, logarithmic = np.array(finite), -both
        smooth = both * (digamma(terms + 1) + digamma(n + terms + 1) + 2.0 * math.log(2.0))
    if dimension == 2:
        logarithmic[0] = 0.0
    if dimension <= 3:  # the value at 0 is left out
        smooth[0] = 0.0
    return scale * singular, scale * logarithmic, scale * smooth
