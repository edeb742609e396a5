"""Green's functions in closed form, the transforms behind them, and tables of formulas by class."""

import math
from typing import TypeVar

from ..kernels import Gaussian, Kernel, Laplacian, Matern, NegativeDistance, Polyharmonic, Tension

Entry = TypeVar("Entry")


class ByClass(dict[type, Entry]):
    """Entries by class; an object whose class has none takes that of its nearest base.

    Assign to a key to add a formula for a class of your own.
    """

    def entry_for(self, instance: object) -> Entry:
        """The entry of the instance's class, or of the nearest base that has one."""
        return next(self[base] for base in type(instance).__mro__ if base in self)


def power_transform(beta: float, dimension: int) -> float:
    """c such that the generalised transform of r^beta is c |omega|^(-beta - d); beta not an even integer."""
    half = 0.5 * dimension
    return 2.0 ** (beta + dimension) * math.pi**half * math.gamma(half + 0.5 * beta) / math.gamma(-0.5 * beta)


def matern_transform(nu: float, dimension: int) -> float:
    """c with c (1 + |omega|^2)^(-nu - d/2) the transform of z^nu K_nu(z) 2^(1 - nu) / Gamma(nu), 1 at z = 0."""
    half = 0.5 * dimension
    return 2.0**dimension * math.pi**half * math.gamma(nu + half) / math.gamma(nu)


def of_monomial(factor: float, power: float, dimension: int) -> Kernel | None:
    """The Green's function of the symbol factor |omega|^power, if it is known."""
    if power % 2 == 0:
        return _scaled(Polyharmonic(int(power) // 2, dimension), 1.0 / factor)
    beta = power - dimension
    if 0 < beta < 2:
        return _scaled(NegativeDistance(beta), 1.0 / (factor * -power_transform(beta, dimension)))
    return None


def of_exponential(rate: float, at_zero: float, dimension: int) -> Kernel:
    """The Green's function of the spectrum at_zero exp(-rate |omega|^2)."""
    scale = math.sqrt(2.0 * rate)
    return _scaled(Gaussian(scale), at_zero / (2.0 * math.pi * scale**2) ** (0.5 * dimension))


def of_binomial(low: float, high: float, power: float, at_zero: float, dimension: int) -> Kernel | None:
    """The Green's function of the symbol (low + high |omega|^2)^power / (at_zero low^power), if it is known."""
    nu = power - 0.5 * dimension
    if nu % 1 != 0.5 or not low > 0:
        return None
    rate = math.sqrt(low / high)
    factor = at_zero * rate**dimension / matern_transform(nu, dimension)
    kernel = Laplacian(1.0 / rate) if nu == 0.5 else Matern(nu, math.sqrt(2.0 * nu) / rate)
    return _scaled(kernel, factor)


def of_tension(slope: float, bending: float, dimension: int) -> Kernel:
    """The Green's function of the symbol slope |omega|^2 + bending |omega|^4."""
    return _scaled(Tension(math.sqrt(bending / slope), dimension), 1.0 / bending)


def _scaled(kernel: Kernel, factor: float) -> Kernel:
    return kernel if math.isclose(factor, 1.0, rel_tol=1e-12) else factor * kernel
