"""Operators that are known by the spectrum of a kernel, in closed form or by quadrature."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kv

from ..kernels import BSpline, Kernel, SpectralMixture
from .operator import Operator, OperatorPair
from .transforms import OctaveTable, radial_fourier, total

_NEAR_ZERO = np.array([1e-5, 1e-4])
_FEW, _TABLE_ACCURACY, _RESOLVED = 2000, 1e-12, 1e-11
_QUARTER_OCTAVES = 2.0 ** np.arange(-30.0, 30.0, 0.25)


def profile_of(kernel: Kernel, dimension: int) -> Callable[[ArrayLike], np.ndarray]:
    """The kernel as a function of the distance r."""

    def profile(r: ArrayLike) -> np.ndarray:
        r = np.asarray(r, dtype=float)
        points = np.zeros((r.size, dimension))
        points[:, 0] = r.ravel()
        return kernel._matrix(np.zeros((1, dimension)), points)[0].reshape(r.shape)

    return profile


class SpectrumOperator(Operator):
    """Base of the operators that are given by their spectrum."""

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        """1 / spectrum."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.spectrum(omega)

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its spectrum(omega).")


class KernelOperator(SpectrumOperator):
    """The operator of a kernel of |x - y|, settled by ``for_dimension``, whose spectrum is computed by quadrature."""

    def __init__(self, source: Kernel, source_dimension: int):
        self.source, self.source_dimension = source, source_dimension

    by_quadrature = True

    @property
    def zero(self) -> float:
        """0 for positive definite kernels; otherwise the power of |omega| that the spectrum follows near 0."""
        if self.source.cpd_order == 0:
            return 0.0
        near = self._by_quadrature(_NEAR_ZERO)
        return round(-math.log(near[1] / near[0]) / math.log(_NEAR_ZERO[1] / _NEAR_ZERO[0]), 2)

    @property
    def growth(self) -> float:
        """Kernels with a kink r^(n+1) after n derivatives have spectra that decay like |omega|^(-d - n - 1)."""
        return self.source_dimension + self.source.differentiability + 1.0

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        frequencies = np.abs(np.asarray(omega, dtype=float))
        values = np.empty(frequencies.shape)
        positive = frequencies > 0
        values[positive] = self._at_positive(frequencies[positive])
        if not positive.all():
            values[~positive] = self._at_zero()
        return values

    def _at_positive(self, omega: np.ndarray) -> np.ndarray:
        """By quadrature, interpolated if they are many; beyond rounding the spectrum goes on with its power."""
        if omega.size <= _FEW:
            few = self._by_quadrature(omega)
            if self.source.cpd_order > 0 or not (few < _RESOLVED * self._at_zero()).any():
                return few
        horizon, largest = self._horizon()
        inside = omega < horizon
        values = np.zeros(omega.shape)
        if "_table" not in self.__dict__:
            self._table = OctaveTable(self._by_quadrature, _TABLE_ACCURACY, largest)
        values[inside] = self._table(omega[inside])
        if not inside.all() and math.isfinite(self.growth):
            last = self._by_quadrature(np.array([horizon]))
            values[~inside] = last * (horizon / omega[~inside]) ** self.growth
        return np.maximum(values, 0.0)

    def _horizon(self) -> tuple[float, float]:
        """The frequency at which rounding hides the spectrum, and its largest value (infinite and 0 without decay)."""
        if self.source.cpd_order > 0:
            return math.inf, 0.0
        if "_seen" not in self.__dict__:
            values = self._by_quadrature(_QUARTER_OCTAVES)
            lost = np.flatnonzero(values < _RESOLVED * values.max())
            lost = lost[lost > np.argmax(values)]
            self._seen = float(_QUARTER_OCTAVES[lost[0]] if len(lost) else math.inf), float(values.max())
        return self._seen

    def _by_quadrature(self, omega: np.ndarray) -> np.ndarray:
        source = self.source
        return radial_fourier(self._profile, omega, self.source_dimension, reach=source.reach, breaks=source.knots)

    def _at_zero(self) -> float:
        return total(self._profile, self.source_dimension, reach=self.source.reach)

    def _profile(self, r: np.ndarray) -> np.ndarray:
        """Without the constant that a power series adds: a point mass of the spectrum at 0."""
        return profile_of(self.source, self.source_dimension)(r) - self.source.limit

    def __repr__(self) -> str:
        return f"Operator<1 / spectrum of {self.source!r} in R^{self.source_dimension}>"


class FormulaOperator(KernelOperator):
    """Base of the operators of kernels whose spectrum is known."""

    by_quadrature = False


class BesselOperator(FormulaOperator):
    """The operator of (1 + r^2 / scale^2)^(-beta), with the sign that makes it positive: a modified Bessel function."""

    growth = math.inf

    def __init__(self, source: Kernel, source_dimension: int, beta: float, scale: float):
        self.source, self.source_dimension, self.beta, self.scale = source, source_dimension, beta, scale

    @property
    def zero(self) -> float:
        return max(self.source_dimension - 2.0 * self.beta, 0.0)

    def _at_positive(self, omega: np.ndarray) -> np.ndarray:
        d, beta, z = self.source_dimension, self.beta, self.scale * omega
        factor = (2.0 * math.pi) ** (0.5 * d) * 2.0 ** (1.0 - beta) / abs(math.gamma(beta)) * self.scale**d
        return factor * z ** (beta - 0.5 * d) * kv(abs(0.5 * d - beta), z)

    def _at_zero(self) -> float:
        d, beta = self.source_dimension, self.beta
        if 2.0 * beta <= d:
            return math.inf
        return math.pi ** (0.5 * d) * math.gamma(beta - 0.5 * d) / math.gamma(beta) * self.scale**d


class SplineOperator(FormulaOperator):
    """The operator of the B-spline on the line: a power of sin(u) / u, zero at whole multiples of 2 pi / scale."""

    source: BSpline

    @property
    def growth(self) -> float:
        return self.source.q + 1.0

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        scale = self.source.scale
        return scale * np.sinc(0.5 * scale * np.asarray(omega, dtype=float) / math.pi) ** (self.source.q + 1)


class MixtureOperator(FormulaOperator):
    """The operator of a mixture of shells in the dimension that it is made for."""

    source: SpectralMixture
    growth = math.inf

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        return self.source.spectrum_density(np.abs(np.asarray(omega, dtype=float)), self.source_dimension)


class SpectrumSum(SpectrumOperator, OperatorPair):
    """The operator of a sum of kernels: their spectra add."""

    @property
    def zero(self) -> float:
        return max(self.first.zero, self.second.zero)

    @property
    def growth(self) -> float:
        return min(self.first.growth, self.second.growth)

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        return self.first.spectrum(omega) + self.second.spectrum(omega)


class StretchedOperator(SpectrumOperator):
    """The operator of phi(x / scale): the spectrum is scale^d F(scale omega), F that of ``base``."""

    def __init__(self, base: Operator, scale: float, dimension: int):
        self.base, self.scale, self.dimension = base, scale, dimension

    @property
    def zero(self) -> float:
        return self.base.zero

    @property
    def growth(self) -> float:
        return self.base.growth

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        return self.scale**self.dimension * self.base.spectrum(self.scale * np.asarray(omega, dtype=float))
