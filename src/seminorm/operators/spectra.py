"""From the kernel to its operator: spectra in closed form where they are known, by quadrature otherwise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
    RationalQuadratic,
    Scaled,
    SpectralMixture,
    Sum,
    Tension,
    ThinPlate,
)
from ..kernels.base import ROTATION, TRANSLATION
from ..kernels.line import TensorProduct
from .circle import fourier_coefficients
from .closed_forms import ByClass, matern_transform, power_transform
from .greens import GreensFunction
from .kernel_operators import (
    BesselOperator,
    KernelOperator,
    MixtureOperator,
    SpectrumSum,
    SplineOperator,
    StretchedOperator,
)
from .operator import Multiplier, Operator
from .transforms import check_dimension


def spectrum(kernel: Kernel, omega: ArrayLike, dimension: int = 1) -> np.ndarray:
    """The Fourier transform of a translation-invariant kernel: large where it lets functions vary, small where it
    damps them.

    F(omega) = integral phi(x) exp(-i omega.x) dx, with angular frequencies and no factor. Its reciprocal is the
    symbol of the regularisation operator. Conditionally positive definite kernels have a generalised transform, which
    is singular at 0. Where no closed form is known, it is computed by quadrature.

    Parameters
    ----------
    kernel, dimension : Kernel, int
        The kernel is translation-invariant; the dimension is that of the inputs.
    omega : array (n,) or (n, dimension)
        Lengths |omega| for kernels that are also rotation-invariant and on the line; vectors for all. For kernels on
        the circle (``Dirichlet``, ``PeriodicGaussian``, ``FourierSeries``): integers l, and the result is the
        coefficient of cos(l t), t = 2 pi x / period (half of it belongs to l, half to -l).

    Returns
    -------
    array (n,)

    See Also
    --------
    operator_of : the operator with the symbol 1 / spectrum.

    Examples
    --------
    >>> from seminorm.kernels import Laplacian
    >>> from seminorm.operators import spectrum
    >>> spectrum(Laplacian(), [0.0, 1.0])  # 2 / (1 + omega^2)
    array([2., 1.])
    """
    dimension = check_dimension(dimension)
    omega = np.asarray(omega, dtype=float)
    if not np.isfinite(omega).all():
        raise ValueError("omega must be finite.")
    _refuse_others(kernel)
    if kernel.period is not None:
        return _on_circle(kernel, omega, dimension)
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
    """The regularisation operator behind a kernel that depends on |x - y| [Smola et al. 1998, problem 2]: its symbol is
    1 / spectrum.

    Parameters
    ----------
    kernel, dimension : Kernel, int
        The dimension is that of the inputs.

    Returns
    -------
    Operator

    See Also
    --------
    Operator.kernel : the way back.

    Examples
    --------
    >>> from seminorm.kernels import Laplacian, Polyharmonic
    >>> from seminorm.operators import operator_of
    >>> operator_of(Laplacian()), operator_of(Polyharmonic(2), dimension=2)
    (Operator<0.5 + 0.5 w^2>, Operator<w^4>)
    """
    dimension = check_dimension(dimension)
    _refuse_others(kernel)
    if kernel.period is not None:
        raise ValueError(f"{kernel!r} lives on the circle: its spectrum is discrete; see spectrum and mercer.")
    if not is_radial(kernel, dimension):
        raise ValueError(
            f"{kernel!r} is not a function of |x - y| in R^{dimension} (invariances: "
            f"{', '.join(sorted(kernel.invariances)) or 'none'}), so it has no operator that is given by a symbol of "
            "|omega|."
        )
    return _operator(kernel.for_dimension(dimension), dimension)


def _refuse_others(kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of seminorm, got {kernel!r}; for a profile use radial_fourier.")
    if TRANSLATION not in kernel.invariances:
        raise ValueError(
            f"{kernel!r} is not translation-invariant, so it has no spectrum; see mercer, and monomial_expansion for "
            "kernels of the inner product."
        )


def _operator(kernel: Kernel, dimension: int) -> Operator:
    """The operator of a kernel that is settled for its dimension."""
    return OPERATORS.entry_for(kernel)(kernel, dimension)


def _gaussian(kernel: Gaussian, dimension: int) -> Operator:
    height = (2.0 * math.pi * kernel._length() ** 2) ** (0.5 * dimension)
    return Multiplier(exponential=(-math.log(height), 0.5 * kernel._length() ** 2))


def _matern(nu: float, length: float, dimension: int) -> Operator:
    power = nu + 0.5 * dimension
    height = matern_transform(nu, dimension) * length**dimension
    if power == int(power):
        factor = height ** (-1.0 / power)
        return Multiplier((factor, factor * length**2), power)
    return Multiplier((1.0, length**2), power, (-math.log(height),))


def _thin_plate(kernel: ThinPlate, dimension: int) -> Operator:
    half = 0.5 * dimension
    height = 2.0 ** (dimension + 1) * math.pi**half * math.gamma(half + 1.0)
    return Multiplier((0.0, 1.0), half + 1.0, (-math.log(height),))


def _negative_distance(kernel: NegativeDistance, dimension: int) -> Operator:
    height = -power_transform(kernel.beta, dimension)
    return Multiplier((0.0, 1.0), 0.5 * (kernel.beta + dimension), (-math.log(height),))


def _rational_quadratic(kernel: RationalQuadratic, dimension: int) -> Operator:
    return BesselOperator(kernel, dimension, kernel.mixture, math.sqrt(2.0 * kernel.mixture) * kernel._length())


def _mixture(kernel: SpectralMixture, dimension: int) -> Operator:
    return (MixtureOperator if kernel.dimension == dimension else KernelOperator)(kernel, dimension)


def _stretched(kernel: AxisScale, dimension: int) -> Operator:
    return StretchedOperator(_operator(kernel.kernel, dimension), float(np.ravel(kernel.scale)[0]), dimension)


#: How to find the operator of a kernel, by its class: functions (kernel, dimension) -> Operator. Kernels without an
#: entry are transformed by quadrature; assign to ``OPERATORS[YourKernel]`` to give the closed form of yours.
OPERATORS: ByClass[Callable[[Any, int], Operator]] = ByClass(
    {
        Kernel: KernelOperator,
        Gaussian: _gaussian,
        Laplacian: lambda kernel, d: _matern(0.5, kernel.scale, d),
        Matern: lambda kernel, d: _matern(kernel.nu, kernel.scale / math.sqrt(2.0 * kernel.nu), d),
        InverseMultiquadric: lambda kernel, d: BesselOperator(kernel, d, 0.5, kernel.scale),
        Multiquadric: lambda kernel, d: BesselOperator(kernel, d, -0.5, kernel.scale),
        RationalQuadratic: _rational_quadratic,
        Polyharmonic: lambda kernel, d: Multiplier((0.0,) * kernel.order + (1.0,)),
        Tension: lambda kernel, d: Multiplier((0.0, kernel._length() ** -2, 1.0)),
        ThinPlate: _thin_plate,
        NegativeDistance: _negative_distance,
        SpectralMixture: _mixture,
        BSpline: SplineOperator,
        GreensFunction: lambda kernel, d: kernel.operator,
        Scaled: lambda kernel, d: _operator(kernel.kernel, d) * (1.0 / kernel.factor),
        Sum: lambda kernel, d: SpectrumSum(_operator(kernel.first, d), _operator(kernel.second, d)),
        OnColumns: lambda kernel, d: _operator(kernel.kernel, d),  # all columns: others are not rotation-invariant
        AxisScale: _stretched,
    }
)


def _of_vectors(kernel: Kernel, omega: np.ndarray, dimension: int) -> np.ndarray:
    if is_radial(kernel, dimension):
        return operator_of(kernel, dimension).spectrum(np.linalg.norm(omega, axis=-1))
    return VECTOR_SPECTRA.entry_for(kernel)(kernel, omega, dimension)


def _unknown(kernel: Any, omega: np.ndarray, dimension: int) -> np.ndarray:
    raise ValueError(
        f"the spectrum of {kernel!r} is not known for vectors omega: it is for kernels of |x - y|, products over the "
        "coordinates, their sums, multiples and stretched versions."
    )


def _sum_of_vectors(kernel: Any, omega: np.ndarray, dimension: int) -> np.ndarray:
    return _of_vectors(kernel.first, omega, dimension) + _of_vectors(kernel.second, omega, dimension)


def _stretched_vectors(kernel: Any, omega: np.ndarray, dimension: int) -> np.ndarray:
    scale = np.broadcast_to(np.asarray(kernel.scale, dtype=float), (dimension,))
    return np.prod(scale) * _of_vectors(kernel.kernel, omega * scale, dimension)


#: The spectrum at vectors omega of kernels that are not rotation-invariant, by their class.
VECTOR_SPECTRA: ByClass[Callable[[Any, np.ndarray, int], np.ndarray]] = ByClass(
    {
        Kernel: _unknown,
        TensorProduct: lambda kernel, omega, d: np.prod(spectrum(kernel, omega, 1), axis=-1),
        Scaled: lambda kernel, omega, d: kernel.factor * _of_vectors(kernel.kernel, omega, d),
        Sum: _sum_of_vectors,
        AxisScale: _stretched_vectors,
    }
)


def _on_circle(kernel: Kernel, omega: np.ndarray, dimension: int) -> np.ndarray:
    if dimension != 1:
        raise ValueError(f"kernels on the circle have dimension 1, got {dimension!r}; products multiply coefficients.")
    if (omega != np.round(omega)).any():
        raise ValueError("omega must be whole numbers for a kernel on the circle, whose spectrum is discrete.")
    wanted = np.abs(omega).astype(int)
    return fourier_coefficients(kernel, int(wanted.max(initial=0)) + 1)[wanted]
