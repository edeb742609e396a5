"""From the kernel to its operator: spectra in closed form where they are known, by quadrature otherwise."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from scipy.special import kv

from ..kernels import (
    AxisScale,
    BSpline,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Matern,
    Multiquadric,
    NegativeDistance,
    OnColumns,
    Polyharmonic,
    PowerSeries,
    Product,
    RationalQuadratic,
    Scaled,
    SpectralMixture,
    Sum,
    ThinPlate,
    Wendland,
)
from ..kernels.base import ROTATION, TRANSLATION
from ..kernels.line import TensorProduct
from .circle import fourier_coefficients, period_of
from .greens import GreensFunction, matern_transform, power_transform
from .octaves import OctaveTable
from .operator import Multiplier, Operator
from .transforms import check_dimension, radial_fourier, total

_NEAR_ZERO = np.array([1e-5, 1e-4])
_FEW, _TABLE_ACCURACY, _RESOLVED = 2000, 1e-12, 1e-11
_QUARTER_OCTAVES = 2.0 ** np.arange(-30.0, 30.0, 0.25)


def spectrum(kernel: Kernel, omega, dimension: int = 1) -> np.ndarray:
    """The Fourier transform of a translation-invariant kernel: large where it lets functions vary, small where it
    damps them.

    F(omega) = integral phi(x) exp(-i omega.x) dx, with angular frequencies and no factor. Its reciprocal is the
    symbol of the regularisation operator. Conditionally positive definite kernels have a generalised transform, which
    is singular at 0. Where no closed form is known, it is computed by quadrature.

    Parameters
    ----------
    kernel : Kernel
        Translation-invariant.
    omega : array (n,) or (n, dimension)
        Lengths |omega| for kernels that are also rotation-invariant and on the line; vectors for all. For kernels on
        the circle (``Dirichlet``, ``PeriodicGaussian``, ``FourierSeries``): integers l, and the result is the
        coefficient of cos(l t), t = 2 pi x / period (half of it belongs to l, half to -l).
    dimension : int
        Of the inputs.

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> from seminorm.kernels import Laplacian, ThinPlate
    >>> from seminorm.operators import spectrum
    >>> spectrum(Laplacian(), [0.0, 1.0])  # 2 / (1 + omega^2)
    array([2., 1.])
    >>> spectrum(ThinPlate(), [1.0, 2.0], dimension=2).round(3)  # 8 pi / |omega|^4
    array([25.133,  1.571])
    """
    dimension = check_dimension(dimension)
    omega = np.asarray(omega, dtype=float)
    if not np.isfinite(omega).all():
        raise ValueError("omega must be finite.")
    if period_of(kernel) is not None:
        return _on_circle(kernel, omega, dimension)
    _refuse_others(kernel)
    if omega.ndim >= 2 and omega.shape[-1] == dimension and not (dimension == 1 and omega.ndim == 1):
        return _of_vectors(kernel, omega, dimension)
    if dimension > 1 and not is_radial(kernel, dimension):
        raise ValueError(
            f"{kernel!r} is not rotation-invariant: its spectrum depends on the direction of omega. Give vectors, of "
            f"shape (n, {dimension})."
        )
    return operator_of(kernel, dimension).spectrum(np.abs(omega))


def is_radial(kernel: Kernel, dimension: int) -> bool:
    """Whether the kernel is a function of |x - y| in this dimension."""
    needed = {TRANSLATION} if dimension == 1 else {TRANSLATION, ROTATION}
    return needed <= kernel.invariances


def operator_of(kernel: Kernel, dimension: int = 1) -> Operator:
    """The regularisation operator behind a kernel that depends on |x - y| (seed 003, problem 2): its symbol is
    1 / spectrum.

    Examples
    --------
    >>> from seminorm.kernels import Laplacian, Polyharmonic
    >>> from seminorm.operators import operator_of
    >>> operator_of(Laplacian()), operator_of(Polyharmonic(2), dimension=2)
    (Operator<0.5 + 0.5 w^2>, Operator<w^4>)
    """
    dimension = check_dimension(dimension)
    _refuse_others(kernel)
    if period_of(kernel) is not None:
        raise ValueError(f"{kernel!r} lives on the circle: its spectrum is discrete; see spectrum and mercer.")
    if not is_radial(kernel, dimension):
        raise ValueError(
            f"{kernel!r} is not a function of |x - y| in R^{dimension} (invariances: "
            f"{', '.join(sorted(kernel.invariances)) or 'none'}), so it has no operator that is given by a symbol of "
            "|omega|."
        )
    return _operator(kernel.for_dimension(dimension), dimension)


def _refuse_others(kernel) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of seminorm, got {kernel!r}; for a profile use radial_fourier.")
    if TRANSLATION not in kernel.invariances:
        raise ValueError(
            f"{kernel!r} is not translation-invariant, so it has no spectrum; see mercer, and monomial_expansion for "
            "kernels of the inner product."
        )


class KernelOperator(Operator):
    """The operator of a kernel whose spectrum is known as a function or computed by quadrature."""

    def __init__(self, source: Kernel, source_dimension: int):
        self.source = source
        self.source_dimension = source_dimension

    @property
    def zero(self):
        """0 for positive definite kernels; otherwise the power of |omega| that the spectrum follows near 0."""
        if self.source.order == 0:
            return 0.0
        near = self._by_quadrature(_NEAR_ZERO)
        return round(-math.log(near[1] / near[0]) / math.log(_NEAR_ZERO[1] / _NEAR_ZERO[0]), 2)

    @property
    def growth(self):
        """Kernels with a kink r^(n+1) after n derivatives have spectra that decay like |omega|^(-d - n - 1)."""
        return self.source_dimension + self.source.smoothness + 1.0

    def symbol(self, omega):
        with np.errstate(divide="ignore"):
            return 1.0 / self.spectrum(omega)

    def spectrum(self, omega):
        omega = np.abs(np.asarray(omega, dtype=float))
        values = np.empty(omega.shape)
        positive = omega > 0
        values[positive] = self._at_positive(omega[positive])
        if not positive.all():
            values[~positive] = self._at_zero()
        return values

    def _at_positive(self, omega):
        """By quadrature. Many values are interpolated, as far as rounding errors allow; beyond, the spectrum goes on
        with its power.
        """
        if omega.size <= _FEW:
            few = self._by_quadrature(omega)
            if self.source.order > 0 or not (few < _RESOLVED * self._at_zero()).any():
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
        """The frequency at which the spectrum is lost in rounding errors, and its largest value (infinite and 0 for
        kernels that do not decay, whose spectrum is computed relative to their growth).
        """
        if self.source.order > 0:
            return math.inf, 0.0
        if "_seen" not in self.__dict__:
            values = self._by_quadrature(_QUARTER_OCTAVES)
            lost = np.flatnonzero(values < _RESOLVED * values.max())
            lost = lost[lost > np.argmax(values)]
            self._seen = float(_QUARTER_OCTAVES[lost[0]] if len(lost) else math.inf), float(values.max())
        return self._seen

    def _by_quadrature(self, omega):
        return radial_fourier(self._profile, omega, self.source_dimension, **self._ends())

    def _at_zero(self):
        return total(self._profile, self.source_dimension, reach=self._ends()["reach"])

    def _ends(self) -> dict:
        reach = reach_of(self.source)
        return {"reach": reach, "breaks": () if math.isinf(reach) else knots_of(self.source, reach)}

    def _profile(self, r):
        return profile_of(self.source, self.source_dimension)(r) - _constant_part(self.source)

    def __repr__(self):
        return f"Operator<1 / spectrum of {self.source!r} in R^{self.source_dimension}>"


class _BesselOperator(KernelOperator):
    """(1 + r^2 / scale^2)^(-beta), with the sign that makes it positive: a modified Bessel function."""

    def __init__(self, source, source_dimension, beta: float, scale: float):
        super().__init__(source, source_dimension)
        self.beta, self.scale = beta, scale

    growth = property(lambda self: math.inf)

    @property
    def zero(self):
        return max(self.source_dimension - 2.0 * self.beta, 0.0)

    def _at_positive(self, omega):
        d, beta, z = self.source_dimension, self.beta, self.scale * omega
        factor = (2.0 * math.pi) ** (0.5 * d) * 2.0 ** (1.0 - beta) / abs(math.gamma(beta)) * self.scale**d
        return factor * z ** (beta - 0.5 * d) * kv(abs(0.5 * d - beta), z)

    def _at_zero(self):
        d, beta = self.source_dimension, self.beta
        if 2.0 * beta <= d:
            return math.inf
        return math.pi ** (0.5 * d) * math.gamma(beta - 0.5 * d) / math.gamma(beta) * self.scale**d


class _SplineOperator(KernelOperator):
    """The B-spline on the line: a power of sin(u) / u, zero at whole multiples of 2 pi / scale."""

    growth = property(lambda self: self.source.q + 1.0)

    def spectrum(self, omega):
        scale = self.source.scale
        return scale * np.sinc(0.5 * scale * np.asarray(omega, dtype=float) / math.pi) ** (self.source.q + 1)


class _MixtureOperator(KernelOperator):
    growth = property(lambda self: math.inf)

    def spectrum(self, omega):
        return self.source.spectrum_density(np.abs(np.asarray(omega, dtype=float)), self.source_dimension)


class _SumOperator(KernelOperator):
    """Spectra add."""

    def __init__(self, source, source_dimension):
        super().__init__(source, source_dimension)
        self.parts = [_operator(part, source_dimension) for part in (source.first, source.second)]

    zero = property(lambda self: max(part.zero for part in self.parts))
    growth = property(lambda self: min(part.growth for part in self.parts))

    def spectrum(self, omega):
        return self.parts[0].spectrum(omega) + self.parts[1].spectrum(omega)


class _StretchedOperator(KernelOperator):
    """phi(x / scale) has the spectrum scale^d F(scale omega)."""

    def __init__(self, source, source_dimension):
        super().__init__(source, source_dimension)
        self.inner, self.scale = _operator(source.kernel, source_dimension), float(np.ravel(source.scale)[0])

    zero = property(lambda self: self.inner.zero)
    growth = property(lambda self: self.inner.growth)

    def spectrum(self, omega):
        return self.scale**self.source_dimension * self.inner.spectrum(self.scale * np.asarray(omega, dtype=float))


@singledispatch
def _operator(kernel: Kernel, dimension: int) -> Operator:
    return KernelOperator(kernel, dimension)


@_operator.register
def _(kernel: Gaussian, dimension):
    height = (2.0 * math.pi * kernel.scale**2) ** (0.5 * dimension)
    return Multiplier(exponential=(-math.log(height), 0.5 * kernel.scale**2))


@_operator.register
def _(kernel: Laplacian, dimension):
    return _matern_operator(0.5, kernel.scale, dimension)


@_operator.register
def _(kernel: Matern, dimension):
    return _matern_operator(kernel.nu, kernel.scale / math.sqrt(2.0 * kernel.nu), dimension)


def _matern_operator(nu: float, length: float, dimension: int) -> Multiplier:
    power = nu + 0.5 * dimension
    height = matern_transform(nu, dimension) * length**dimension
    if power == int(power):
        factor = height ** (-1.0 / power)
        return Multiplier((factor, factor * length**2), power)
    return Multiplier((1.0, length**2), power, (-math.log(height),))


@_operator.register
def _(kernel: InverseMultiquadric, dimension):
    return _BesselOperator(kernel, dimension, 0.5, kernel.scale)


@_operator.register
def _(kernel: Multiquadric, dimension):
    return _BesselOperator(kernel, dimension, -0.5, kernel.scale)


@_operator.register
def _(kernel: RationalQuadratic, dimension):
    return _BesselOperator(kernel, dimension, kernel.mixture, math.sqrt(2.0 * kernel.mixture) * kernel.scale)


@_operator.register
def _(kernel: Polyharmonic, dimension):
    return Multiplier((0.0,) * kernel.m + (1.0,))


@_operator.register
def _(kernel: ThinPlate, dimension):
    half = 0.5 * dimension
    height = 2.0 ** (dimension + 1) * math.pi**half * math.gamma(half + 1.0)
    return Multiplier((0.0, 1.0), half + 1.0, (-math.log(height),))


@_operator.register
def _(kernel: NegativeDistance, dimension):
    height = -power_transform(kernel.beta, dimension)
    return Multiplier((0.0, 1.0), 0.5 * (kernel.beta + dimension), (-math.log(height),))


@_operator.register
def _(kernel: SpectralMixture, dimension):
    return (_MixtureOperator if kernel.dimension == dimension else KernelOperator)(kernel, dimension)


@_operator.register
def _(kernel: BSpline, dimension):
    return _SplineOperator(kernel, dimension)


@_operator.register
def _(kernel: GreensFunction, dimension):
    return kernel.operator


@_operator.register
def _(kernel: Scaled, dimension):
    return _operator(kernel.kernel, dimension) * (1.0 / kernel.factor)


@_operator.register
def _(kernel: Sum, dimension):
    return _SumOperator(kernel, dimension)


@_operator.register
def _(kernel: OnColumns, dimension):
    return _operator(kernel.kernel, dimension)  # all columns: others are not rotation-invariant


@_operator.register
def _(kernel: AxisScale, dimension):
    return _StretchedOperator(kernel, dimension)


def profile_of(kernel: Kernel, dimension: int):
    """The kernel as a function of the distance r."""

    def profile(r):
        r = np.asarray(r, dtype=float)
        points = np.zeros((r.size, dimension))
        points[:, 0] = r.ravel()
        return kernel._matrix(np.zeros((1, dimension)), points)[0].reshape(r.shape)

    return profile


def reach_of(kernel: Kernel) -> float:
    """Distance beyond which the kernel is zero or below rounding; infinite for most."""
    if isinstance(kernel, Gaussian):
        return 9.0 * float(kernel.scale)
    if isinstance(kernel, SpectralMixture):
        narrowest = float(np.min(kernel.widths))
        return 9.0 / narrowest if narrowest > 0 else math.inf
    if isinstance(kernel, Wendland):
        return float(kernel.scale)
    if isinstance(kernel, BSpline):
        return 0.5 * kernel.scale * (kernel.q + 1)
    if isinstance(kernel, Product):
        return min(reach_of(kernel.first), reach_of(kernel.second))
    if isinstance(kernel, Sum):
        return max(reach_of(kernel.first), reach_of(kernel.second))
    if isinstance(kernel, Scaled):
        return reach_of(kernel.kernel)
    if isinstance(kernel, AxisScale):
        return reach_of(kernel.kernel) * float(np.max(kernel.scale))
    if isinstance(kernel, PowerSeries):
        return reach_of(kernel._inner())
    return math.inf


def knots_of(kernel: Kernel, reach: float) -> np.ndarray:
    """Where a compactly supported kernel may be less smooth."""
    if isinstance(kernel, BSpline):
        return kernel.scale * np.arange(1.0, 0.5 * (kernel.q + 1) + 1.0)
    return np.array([reach])


def _constant_part(kernel: Kernel) -> float:
    """What a power series adds to a kernel that decays: a point mass of the spectrum at 0."""
    return float(kernel._series(np.zeros(1), 0)[0]) if isinstance(kernel, PowerSeries) else 0.0


def _of_vectors(kernel: Kernel, omega: np.ndarray, dimension: int) -> np.ndarray:
    if is_radial(kernel, dimension):
        return operator_of(kernel, dimension).spectrum(np.linalg.norm(omega, axis=-1))
    if isinstance(kernel, TensorProduct):
        return np.prod(spectrum(kernel, omega, 1), axis=-1)
    if isinstance(kernel, Scaled):
        return kernel.factor * _of_vectors(kernel.kernel, omega, dimension)
    if isinstance(kernel, Sum):
        return _of_vectors(kernel.first, omega, dimension) + _of_vectors(kernel.second, omega, dimension)
    if isinstance(kernel, AxisScale):
        scale = np.broadcast_to(np.asarray(kernel.scale, dtype=float), (dimension,))
        return np.prod(scale) * _of_vectors(kernel.kernel, omega * scale, dimension)
    raise ValueError(
        f"the spectrum of {kernel!r} is not known for vectors omega: it is for kernels of |x - y|, products over the "
        "coordinates, their sums, multiples and stretched versions."
    )


def _on_circle(kernel: Kernel, omega: np.ndarray, dimension: int) -> np.ndarray:
    if dimension != 1:
        raise ValueError(f"kernels on the circle have dimension 1, got {dimension!r}; products multiply coefficients.")
    if (omega != np.round(omega)).any():
        raise ValueError("omega must be whole numbers for a kernel on the circle, whose spectrum is discrete.")
    wanted = np.abs(omega).astype(int)
    return fourier_coefficients(kernel, int(wanted.max(initial=0)) + 1)[wanted]
