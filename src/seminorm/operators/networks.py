"""Semi-norms of expansions by operators other than their kernel's own: regularisation networks, and the kernels with
which ridge regression and support vector machines regularise alike.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import BSpline, FeatureMap, FourierSeries, Kernel
from .circle import fourier_coefficients
from .features import Sections
from .greens import GreensFunction
from .operator import Operator
from .spectra import operator_of
from .transforms import check_dimension

_FREQUENCIES = 500
_CLOSED, _BY_QUADRATURE = 1e-10, 1e-6  # accuracy of twins, as their spectra allow


def energy_kernel(kernel: Kernel, operator: Operator, dimension: int = 1) -> Kernel:
    """D(x, y) = <P k(x, .), P k(y, .)>: a' D a is the squared semi-norm, by the operator P, of sum_i a_i k(x_i, .)
    [Smola et al. 1998, (11)].

    Its spectrum is that of the kernel squared, times the symbol of the operator. For the kernel's own operator it is
    the kernel itself (13).

    Parameters
    ----------
    kernel, operator, dimension : Kernel, Operator, int
        The kernel depends on |x - y|, and the dimension is that of the inputs.

    Returns
    -------
    Kernel

    See Also
    --------
    spectral_seminorm, network_kernel

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.operators import energy_kernel, operator_of
    >>> energy_kernel(Gaussian(2.0), operator_of(Gaussian(2.0)))
    Gaussian(scale=2.0)
    """
    dimension = check_dimension(dimension)
    own = operator_of(kernel, dimension)
    product = own**2 / operator
    if not product.growth > dimension:
        raise ValueError(
            f"{operator!r} is infinite on {kernel!r} in R^{dimension}: the kernel is not smooth enough for these "
            f"derivatives (its spectrum decays like |omega|^-{own.growth:g}, the symbol grows like "
            f"|omega|^{operator.growth:g})."
        )
    return product.kernel(dimension)


def spectral_seminorm(function: Any, operator: Operator | None = None) -> float | np.ndarray:
    """The semi-norm of an expansion, computed through the spectrum of its kernel.

    Parameters
    ----------
    function : Expansion
        Of a kernel that depends on |x - y|. Its null-space part is left aside.
    operator : Operator, optional
        Left out, the kernel's own operator: the result is ``function.seminorm()``, computed in another way.

    Returns
    -------
    float, or array for several outputs

    See Also
    --------
    energy_kernel

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Matern
    >>> from seminorm.operators import spectral_seminorm
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> f = Smoother(Matern(2.5)).fit(x, np.sin(6 * x[:, 0])).function_
    >>> bool(np.isclose(spectral_seminorm(f), f.seminorm()))
    True
    """
    dimension = function.dimension
    if operator is None:
        kernel: Kernel = GreensFunction(operator_of(function.kernel, dimension), dimension)
    else:
        kernel = energy_kernel(function.kernel, operator, dimension)
    return function.with_kernel(kernel).seminorm()


def network_kernel(kernel: Kernel, operator: Operator, centers: ArrayLike) -> FeatureMap:
    """The kernel of a regularisation network: functions sum_j a_j k(., c_j), penalised by an operator that need not
    be the kernel's own [Smola et al. 1998, (10)-(12)].

    With D_ij = <P k(c_i, .), P k(c_j, .)> the penalty is a' D a, so the machine is that of the kernel
    k(x, C) D^-1 k(C, y): give it to ``SVR``, ``SVC`` or ``Smoother``. For the kernel's own operator and the data as
    centres the solution is that of the kernel itself.

    Parameters
    ----------
    kernel, operator : Kernel, Operator
        The kernel depends on |x - y| and is positive definite.
    centers : array (m, d)
        Of the basis functions; usually the data.

    Returns
    -------
    FeatureMap

    See Also
    --------
    energy_kernel, ridge_twin

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.operators import derivatives, network_kernel
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> bending = network_kernel(Gaussian(0.5), derivatives(2), x)  # for SVR(bending)
    """
    centers = np.asarray(centers, dtype=float)
    if centers.ndim != 2 or not np.isfinite(centers).all() or len(centers) == 0:
        raise ValueError(f"centers must be finite points of shape (m, d), got shape {centers.shape}.")
    energy = energy_kernel(kernel, operator, centers.shape[1])
    if kernel.cpd_order > 0 or energy.cpd_order > 0:
        raise ValueError(
            f"the penalty of {operator!r} on {kernel!r} is defined for coefficients orthogonal to polynomials only: a "
            "network needs a positive definite kernel, such as Gaussian or Matern."
        )
    values, vectors = np.linalg.eigh(energy(centers))
    kept = values > len(centers) * np.finfo(float).eps * values[-1]
    weights = vectors[:, kept] / np.sqrt(values[kept])
    slopes = Sections(kernel, centers, weights, derivative=1) if kernel.differentiability >= 1 else None
    return FeatureMap(Sections(kernel, centers, weights), jacobian=slopes)


def ridge_twin(kernel: Kernel, dimension: int = 1) -> Kernel:
    """The kernel with which ridge regression (a penalty on the squared coefficients) regularises as a support vector
    machine does with the given one [Smola et al. 1998, appendix B]: its spectrum is the square root.

    It is the kernel that, composed with itself, gives the original: integral r(x, z) r(z, y) dz = k(x, y).

    Parameters
    ----------
    kernel, dimension : Kernel, int
        The kernel depends on |x - y|, or is a B-spline, or one on the circle; the dimension is that of the inputs.

    Returns
    -------
    Kernel

    See Also
    --------
    network_kernel

    Examples
    --------
    >>> from seminorm.kernels import BSpline
    >>> from seminorm.operators import ridge_twin
    >>> ridge_twin(BSpline(3))
    BSpline(q=1, scale=1.0)
    """
    dimension = check_dimension(dimension)
    if kernel.period is not None:
        return _circle_twin(kernel, kernel.period, dimension)
    if isinstance(kernel, BSpline) and (kernel.q + 1) % 4 == 0:
        twin, factor = BSpline((kernel.q - 1) // 2, kernel.scale), float(kernel.scale) ** (-0.5 * dimension)
        return twin if factor == 1.0 else factor * twin
    own = operator_of(kernel, dimension)
    if isinstance(kernel, BSpline) and 0.5 * own.growth > dimension:
        raise ValueError(
            f"the ridge twin of {kernel!r} has the spectrum |sin(u) / u|^{(kernel.q + 1) // 2}, and is no spline: take "
            "q = 3, 7, 11, ..."
        )
    if not 0.5 * own.growth > dimension:
        raise ValueError(
            f"the ridge twin of {kernel!r} is not finite at zero in R^{dimension}: its spectrum would decay like "
            f"|omega|^-{0.5 * own.growth:g}, and faster than |omega|^-{dimension} is needed. Take a smoother kernel."
        )
    accuracy = _BY_QUADRATURE if own.by_quadrature else _CLOSED
    return (own**0.5).kernel(dimension, accuracy=accuracy)


def _circle_twin(kernel: Kernel, period: float, dimension: int) -> FourierSeries:
    if dimension != 1:
        raise ValueError(f"kernels on the circle have dimension 1, got {dimension!r}.")
    coefficients = fourier_coefficients(kernel, _FREQUENCIES)
    lengths = np.where(np.arange(_FREQUENCIES) == 0, period, 0.5 * period)
    roots = np.sqrt(np.maximum(coefficients, 0.0) / lengths)
    if not roots[-1] <= 1e-4 * roots.sum() / math.sqrt(_FREQUENCIES):
        raise ValueError(
            f"the ridge twin of {kernel!r} is not finite at zero: the roots of its Fourier coefficients do not add up."
        )
    last = int(np.flatnonzero(roots > 1e-16 * roots.max())[-1])
    return FourierSeries(tuple(roots[: last + 1].tolist()), period)
