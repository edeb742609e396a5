"""Positive definite radial kernels. Each is a profile of s = r^2 / scale^2 with all its derivatives."""

import math

import numpy as np
from numpy.polynomial import polynomial

from .base import Kernel
from .calculus import falling_power
from .forms import Form, decay, gauss, shifted_root, truncated
from .radial import Radial, WithScale, safe_power


class Gaussian(WithScale):
    """exp(-r^2 / (2 scale^2)).

    Parameters
    ----------
    scale : float
        The length scale.

    See Also
    --------
    Matern, RationalQuadratic

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> Gaussian(scale=2.0)([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    @property
    def reach(self) -> float:
        return 9.0 * float(self.scale)  # exp(-40.5) is below rounding

    def _h(self, s, k):
        return (-0.5) ** k * np.exp(-0.5 * s)

    def _form(self, k):
        return gauss((-0.5) ** k, 0.5)


class Laplacian(WithScale):
    """exp(-r / scale): the Green's function of |f|^2 + |f'|^2 on the line [Smola et al. 1998, (A3)].

    Parameters
    ----------
    scale : float
        The length scale.

    Examples
    --------
    >>> from seminorm.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0]], [[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679]])

    See Also
    --------
    Matern : smoother kernels of the same family.
    """

    differentiability = 0

    def _h(self, s, k):
        return _matern_profile(s, 0, k)

    def _form(self, k):
        return _matern_form(1.0, 0, k)


class Matern(Radial):
    """The Matern kernel of half-integer smoothness nu, with scikit-learn's parametrisation.

    With z = sqrt(2 nu) r / scale it is (1 + z) exp(-z) for nu = 3/2 and (1 + z + z^2 / 3) exp(-z) for nu = 5/2.

    Parameters
    ----------
    nu : float
        1.5, 2.5, or any larger half-integer; functions in the space have about nu derivatives.
    scale : float
        The length scale.

    See Also
    --------
    Laplacian, Gaussian

    Examples
    --------
    >>> from seminorm.kernels import Matern
    >>> Matern(2.5)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.   , 0.524]])
    """

    def __init__(self, nu: float = 1.5, scale: float | str = 1.0):
        self.nu, self.scale = nu, scale

    @property
    def differentiability(self) -> float:
        return 2 * self._bessel_degree()

    def _bessel_degree(self) -> int:
        degree = self.nu - 0.5
        if degree < 1 or degree != int(degree):
            raise ValueError(f"nu must be a half-integer, 1.5, 2.5, ..., got {self.nu!r}; for 0.5 use Laplacian.")
        return int(degree)

    def _h(self, s, k):
        p, stretch = self._bessel_degree(), 2.0 * self.nu
        return stretch**k * _matern_profile(stretch * s, p, k) / _reverse_bessel(p)[0]

    def _form(self, k):
        p, stretch = self._bessel_degree(), 2.0 * self.nu
        form = _matern_form(stretch, p, k)
        return None if form is None else form.times(stretch**k / _reverse_bessel(p)[0])


class InverseMultiquadric(WithScale):
    """1 / sqrt(1 + r^2 / scale^2) [Smola et al. 1998, (49)].

    Parameters
    ----------
    scale : float
        The length scale.

    Examples
    --------
    >>> from seminorm.kernels import InverseMultiquadric
    >>> InverseMultiquadric()([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.7071]])

    See Also
    --------
    Multiquadric : its reciprocal with the other sign, conditionally positive definite.
    """

    def _h(self, s, k):
        return falling_power(-0.5, k) * (1.0 + s) ** (-0.5 - k)

    def _form(self, k):
        return shifted_root(falling_power(-0.5, k), 1.0, -1 - 2 * k)


class RationalQuadratic(Radial):
    """(1 + r^2 / (2 mixture scale^2))^(-mixture), a mixture of Gaussians over length scales, as in scikit-learn.

    Parameters
    ----------
    mixture : float
        Small values mix many scales; the limit of large values is the Gaussian.
    scale : float
        The length scale.

    See Also
    --------
    InverseMultiquadric, Gaussian

    Examples
    --------
    >>> from seminorm.kernels import RationalQuadratic
    >>> RationalQuadratic()([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6667]])
    """

    def __init__(self, mixture: float = 1.0, scale: float | str = 1.0):
        self.mixture, self.scale = mixture, scale

    def _h(self, s, k):
        if not self.mixture > 0:
            raise ValueError(f"mixture must be positive, got {self.mixture!r}.")
        slope = 0.5 / self.mixture
        return falling_power(-self.mixture, k) * slope**k * (1.0 + slope * s) ** (-self.mixture - k)

    def _form(self, k):
        if 2 * self.mixture != int(2 * self.mixture):
            return None
        slope = 0.5 / self.mixture
        return shifted_root(falling_power(-self.mixture, k) * slope**k, slope, -int(2 * self.mixture) - 2 * k)


class Wendland(Radial):
    """Wendland's compactly supported kernels of minimal degree, zero beyond r = scale.

    With l = floor(dimension / 2) + continuity / 2 + 1 and t = r / scale they are (1 - t)^(l+1) (1 + (l+1) t) for C2 and
    (1 - t)^(l+2) (1 + (l+2) t + (l^2 + 4 l + 3) t^2 / 3) for C4.

    Parameters
    ----------
    continuity : {2, 4}
        Number of continuous derivatives.
    scale : float
        Radius of the support.
    dimension : int
        The kernel is positive definite in R^d for d up to this number.

    See Also
    --------
    BSpline

    Examples
    --------
    >>> from seminorm.kernels import Wendland
    >>> Wendland(2, scale=2.0)([[0.0]], [[0.0], [1.0], [2.0]])
    array([[1.    , 0.1875, 0.    ]])
    """

    def __init__(self, continuity: int = 2, scale: float | str = 1.0, dimension: int = 3):
        self.continuity, self.scale, self.dimension = continuity, scale, dimension

    @property
    def differentiability(self) -> float:
        return self.continuity

    @property
    def max_dimension(self) -> float:
        return self.dimension

    @property
    def support_radius(self) -> float:
        return float(self.scale)

    @property
    def knots(self) -> np.ndarray:
        return np.array([float(self.scale)])

    def for_dimension(self, dimension: int) -> Kernel:
        if dimension > self.dimension:
            raise ValueError(
                f"{self!r} is positive definite up to dimension {self.dimension}, and X has {dimension} columns: "
                f"set dimension={dimension}."
            )
        return self

    def _h(self, s, k):
        return _truncated_power(np.sqrt(s), *_truncated_terms(*self._terms(), k))

    def _form(self, k):
        exponent, coefficients, shift = _truncated_terms(*self._terms(), k)
        return truncated(list(coefficients), exponent, shift)

    def _terms(self) -> tuple[int, np.ndarray]:
        """The exponent of 1 - t, and the coefficients of the polynomial beside it."""
        if self.continuity not in (2, 4):
            raise ValueError(f"continuity must be 2 or 4, got {self.continuity!r}.")
        degree = self.dimension // 2 + self.continuity // 2 + 1
        if self.continuity == 2:
            exponent, coefficients = degree + 1, [1.0, degree + 1.0]
        else:
            exponent, coefficients = degree + 2, [1.0, degree + 2.0, (degree**2 + 4 * degree + 3) / 3]
        return exponent, np.array(coefficients)


def _reverse_bessel(p: int) -> np.ndarray:
    """Coefficients of theta_p, lowest first: sqrt(2 / pi) z^(p + 1/2) K_(p + 1/2)(z) = theta_p(z) exp(-z)."""
    f = math.factorial
    return np.array([f(p + j) / (f(j) * f(p - j) * 2.0**j) for j in range(p, -1, -1)])


def _matern_profile(s: np.ndarray, p: int, k: int) -> np.ndarray:
    """k-th derivative in s = z^2 of sqrt(2 / pi) z^nu K_nu(z), nu = p + 1/2: each lowers nu by 1, by a factor -1/2."""
    z = np.sqrt(s)
    lowered = p - k
    if lowered >= 0:
        values = polynomial.polyval(z, _reverse_bessel(lowered))
    else:  # K_(-nu) = K_nu
        values = polynomial.polyval(z, _reverse_bessel(-lowered - 1)) * safe_power(z, 2 * lowered + 1)
    return (-0.5) ** k * values * np.exp(-z)


def _matern_form(stretch: float, p: int, k: int) -> Form | None:
    """The same as a function of s, for z = sqrt(stretch s)."""
    lowered = p - k
    coefficients = _reverse_bessel(lowered if lowered >= 0 else -lowered - 1)
    return decay(list((-0.5) ** k * coefficients), stretch, max(0, -2 * lowered - 1))


def _truncated_terms(exponent: int, coefficients: np.ndarray, k: int) -> tuple[int, np.ndarray, int]:
    """k-th derivative in t^2 of (1 - t)_+^exponent P(t), as (1 - t)^e P(t) t^-q: differentiate by hand, k times."""
    shift = 0
    for _ in range(k):
        slope = polynomial.polysub(polynomial.polymulx(polynomial.polyder(coefficients)), shift * coefficients)
        inner = exponent * polynomial.polymulx(coefficients)
        coefficients = polynomial.polysub(polynomial.polymul([1.0, -1.0], slope), inner)
        exponent, shift, coefficients = exponent - 1, shift + 2, 0.5 * coefficients
        while shift and abs(coefficients[0]) < 1e-12 * np.abs(coefficients).max():
            shift, coefficients = shift - 1, coefficients[1:]
    return exponent, coefficients, shift


def _truncated_power(t: np.ndarray, exponent: int, coefficients: np.ndarray, shift: int) -> np.ndarray:
    inside = np.maximum(1.0 - t, 0.0)
    return np.where(t < 1, inside**exponent, 0.0) * polynomial.polyval(t, coefficients) * safe_power(t, -shift)
