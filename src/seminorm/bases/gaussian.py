"""A basis of Gaussians of any scales, regularised by the norm of a kernel [Walder 2008, example 3.1.1 and lemma 3.1.2].

Scales and centres are free: they need not belong to the kernel, yet the norm of the sum is exact.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._base.memory import require_memory
from ..kernels import AxisScale, Gaussian, Kernel, Laplacian, Matern, Polyharmonic, Scaled
from .centered import CenteredBasis

_PAIRS_AT_ONCE = 2**15
_STEP = 0.15  # of the trapezoidal rule: its error is exp(-pi^2 / (2 step)), 5e-15
_REACH = 6.2  # where exp(-t^2) is below rounding


class GaussianBasis(CenteredBasis):
    """Functions f_k(x) = exp(-1/2 sum_i ((x_i - centres[k, i]) / scales[k, i])^2).

    Parameters
    ----------
    centers : array (p, d)
    scales : float, array (p,), (p, d) or (1, d)
        One for all, one for each function, or one for each axis as well.

    See Also
    --------
    seminorm.fields.fit_basis : Fits in a basis.

    Examples
    --------
    >>> from seminorm.bases import GaussianBasis
    >>> from seminorm.kernels import Gaussian
    >>> GaussianBasis([[0.0], [1.0]], [1.0, 2.0]).energy(Gaussian(1.0)).round(4)
    array([[1.    , 0.8825],
           [0.8825, 1.5119]])
    """

    _widths = "scales"

    def __init__(self, centers: ArrayLike, scales: ArrayLike):
        super().__init__(centers)
        scales = np.asarray(scales, dtype=float)
        allowed = ((), (self.size,), self.centers.shape, (1, self.dimension))
        if scales.shape not in allowed:
            raise ValueError(
                f"scales must have one of the shapes {', '.join(map(str, allowed))} for {self.size} centres in "
                f"R^{self.dimension}, got {scales.shape}."
            )
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise ValueError("scales must be positive and finite.")
        scales = scales[:, None] if scales.ndim == 1 else scales
        self.scales = np.array(np.broadcast_to(scales, self.centers.shape))

    def design(self, X: ArrayLike, derivative: int = 0) -> np.ndarray:
        """Values of all functions at X, or their first or second derivatives: (n * d**derivative, p).

        The rows are the points; for ``derivative=1`` all d components at each, for ``derivative=2`` the d x d
        derivatives.
        """
        X = self._points(X, derivative)
        needed = 32 * len(X) * self.size * self.dimension ** max(derivative, 1)
        require_memory(needed, f"the values of {self.size} Gaussians at {len(X)} points", "use fewer points at a time.")
        steps = (X[:, None] - self.centers) / self.scales  # (n, p, d)
        values = np.exp(-0.5 * np.einsum("npi,npi->np", steps, steps))
        if derivative == 0:
            return values
        slopes = -steps / self.scales  # gradient of the logarithm
        if derivative == 1:
            return np.moveaxis(slopes * values[..., None], 2, 1).reshape(-1, self.size)
        factors = slopes[:, :, :, None] * slopes[:, :, None, :]
        factors -= np.eye(self.dimension) / self.scales[:, :, None] ** 2
        return np.moveaxis(factors * values[..., None, None], 1, -1).reshape(-1, self.size)

    def energy(self, norm: Kernel) -> np.ndarray:
        """The inner products of all functions in the space of a kernel, (p, p), symmetric.

        The kernel is a Gaussian, Laplacian, Matern or Polyharmonic, or ``Scaled`` or ``AxisScale`` of these.

        - ``Gaussian(scale)``: (3.10) of Walder 2008. A Gaussian belongs to its space only if all its scales exceed
          scale / sqrt(2); others are refused.
        - ``Laplacian`` and ``Matern``: every Gaussian belongs to the space. In odd dimension the result is a closed
          form, in even dimension a one-dimensional integral computed to about 1e-12.
        - ``Polyharmonic(m)``: the integral of the squared m-th derivatives over R^d, in closed form.
        """
        if isinstance(norm, Scaled):
            return self.energy(norm.kernel) / norm.factor
        if isinstance(norm, AxisScale):
            scale = np.asarray(norm.for_dimension(self.dimension).scale)
            return GaussianBasis(self.centers / scale, self.scales / scale).energy(norm.kernel)
        if isinstance(norm, Gaussian):
            self._refuse_narrow(norm)
            return self._symmetric(lambda offsets, one, other: _gaussian_product(offsets, one, other, norm._length()))
        symbol = _symbol(norm, self.dimension)
        return self._symmetric(lambda offsets, one, other: _symbol_product(offsets, one, other, symbol))

    def _refuse_narrow(self, norm: Gaussian) -> None:
        least = norm._length() / math.sqrt(2.0)
        narrow = np.flatnonzero((self.scales <= least).any(axis=1))
        if len(narrow):
            raise ValueError(
                f"scales must exceed {least:.6g} = scale / sqrt(2) for the norm of {norm!r}, and "
                f"function {narrow[0]} has {self.scales[narrow[0]].min():.6g} ({len(narrow)} of {self.size} are too "
                "narrow): a narrower Gaussian does not belong to the space [Walder 2008, (3.9)]. Widen the functions, "
                "choose a kernel of smaller scale, or the norm of Laplacian or Matern, which have them all."
            )

    def _symmetric(self, product: Callable) -> np.ndarray:
        """The matrix of a product of two functions, given their offset and scales; each pair is computed once."""
        require_memory(24 * self.size**2, f"the energy matrix of {self.size} Gaussians", "take fewer functions.")
        matrix = np.empty((self.size, self.size))
        rows, columns = np.triu_indices(self.size)
        for begin in range(0, len(rows), _PAIRS_AT_ONCE):
            i, j = rows[begin : begin + _PAIRS_AT_ONCE], columns[begin : begin + _PAIRS_AT_ONCE]
            matrix[i, j] = product(self.centers[i] - self.centers[j], self.scales[i], self.scales[j])
            matrix[j, i] = matrix[i, j]
        return matrix


def _gaussian_product(offsets, one, other, scale: float) -> np.ndarray:
    """Walder 2008, (3.10), axis by axis: the space of the Gaussian kernel is a tensor product."""
    squares = one**2 + other**2 - scale**2
    factors = one * other / (scale * np.sqrt(squares))
    return np.prod(factors, axis=1) * np.exp(-0.5 * np.sum(offsets**2 / squares, axis=1))


class _Symbol(NamedTuple):
    """The squared norm (2 pi)^-d times the integral of |F f|^2 (decay^2 + |omega|^2)^exponent / constant."""

    decay: float
    exponent: float
    constant: float


def _symbol(norm: Kernel, dimension: int) -> _Symbol:
    if isinstance(norm, Polyharmonic):
        if not (norm.order >= 1 and norm.order == int(norm.order)):
            raise ValueError(f"m must be a positive integer, got {norm!r}.")
        return _Symbol(0.0, float(norm.order), 1.0)
    if isinstance(norm, Laplacian):
        nu, decay = 0.5, 1.0 / norm._length()
    elif isinstance(norm, Matern):
        nu = norm._bessel_degree() + 0.5
        decay = math.sqrt(2.0 * nu) / norm._length()
    else:
        raise ValueError(
            f"norm must be a Gaussian, Laplacian, Matern or Polyharmonic kernel, got {norm!r}: the norms of Gaussians "
            "in other spaces are not known in closed form."
        )
    exponent = nu + 0.5 * dimension
    d = dimension
    constant = 2.0**d * math.pi ** (0.5 * d) * math.gamma(exponent) / math.gamma(nu) * decay ** (2.0 * nu)
    return _Symbol(decay, exponent, constant)


def _symbol_product(offsets, one, other, symbol: _Symbol) -> np.ndarray:
    """Both functions are Gaussians in the Fourier domain too: the norm is a moment of their product there."""
    variances, squares = one**2 + other**2, offsets**2
    decay_squared = symbol.decay**2
    if symbol.exponent == int(symbol.exponent):
        moment = _moment(variances, squares, decay_squared, int(symbol.exponent))
    else:
        moment = _half_integer_moment(variances, squares, decay_squared, int(symbol.exponent + 0.5))
    return np.prod(one * other, axis=1) * moment / symbol.constant


def _moment(variances, squares, shift, n: int) -> np.ndarray:
    """The integral of (shift + |omega|^2)^n exp(-1/2 sum variances omega^2) cos(omega x), with squares = x^2: the n-th
    derivative at z = 0 of exp(shift z) times a Gaussian of the variances v - 2 z, from the simple derivatives of its
    logarithm (cumulants).
    """
    axes = variances.shape[1]
    height = (2.0 * math.pi) ** (0.5 * axes) * np.exp(-0.5 * np.sum(squares / variances, axis=1))
    moments = [height / np.sqrt(np.prod(variances, axis=1))]
    cumulants = []
    for r in range(1, n + 1):
        factor = 2.0 ** (r - 1) * math.factorial(r - 1)
        cumulant = factor * np.sum((1.0 - r * squares / variances) / variances**r, axis=1)
        cumulants.append(cumulant + shift if r == 1 else cumulant)
        moments.append(sum(math.comb(r - 1, k) * cumulants[k] * moments[r - 1 - k] for k in range(r)))
    return moments[n]


def _half_integer_moment(variances, squares, shift, n: int) -> np.ndarray:
    """:func:`_moment` for the power n - 1/2: since q^(-1/2) = 2 / sqrt(pi) times the integral of exp(-t^2 q) over t >
    0, it is an integral of moments of the power n with variances + 2 t^2. With t = c sinh(u) the trapezoidal rule
    converges exponentially, for c the smaller one of the lengths at which the integrand changes.
    """
    length = np.minimum(np.sqrt(0.5 * variances.min(axis=1)), 1.0 / math.sqrt(shift))
    last = math.asinh(_REACH / (math.sqrt(shift) * length.min()))
    total = np.zeros(len(variances))
    for step in range(math.ceil(last / _STEP) + 1):
        u = step * _STEP
        t_squared = (length * math.sinh(u)) ** 2
        weight = (0.5 if step == 0 else 1.0) * math.cosh(u) * np.exp(-shift * t_squared)
        total += weight * _moment(variances + 2.0 * t_squared[:, None], squares, shift, n)
    return 2.0 / math.sqrt(math.pi) * _STEP * length * total
