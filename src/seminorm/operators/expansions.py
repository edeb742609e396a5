"""Mercer expansions: a kernel as a series of functions that are orthonormal under a measure [Smola et al. 1998, (17)].

Where mu is the measure, k(x, y) = sum_l lambda_l phi_l(x) phi_l(y) with integral phi_l phi_m dmu = delta_lm.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from .._base.memory import require_memory
from ..kernels import AxisScale, Gaussian, Kernel, Scaled
from ..kernels.line import Periodic
from .circle import fourier_coefficients
from .eigensystems import Eigensystem
from .features import FeatureFunctions, HermiteFunctions, ProductFunctions, Sections, Waves


@dataclass(frozen=True, eq=False)
class MercerExpansion:
    """The leading terms of a kernel's Mercer series; :func:`mercer` computes them.

    Attributes
    ----------
    values : array (L,)
        Eigenvalues lambda_l > 0 of f -> integral k(., y) f(y) dmu(y), decreasing.
    functions : callable
        Maps X (n, d) to the eigenfunctions (n, L), orthonormal under the measure.
    measure : str
        The measure, in words.
    remainder : float
        The sum of all eigenvalues left out: the integral of k(x, x) dmu minus the sum of ``values``. It bounds the mean
        error of the truncated series on the diagonal.

    See Also
    --------
    mercer

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.operators import mercer
    >>> mercer(Gaussian(), 5, spread=1.0).kernel_matrix([[0.0]]).round(3)
    array([[0.999]])
    """

    values: np.ndarray
    functions: Callable[[np.ndarray], np.ndarray]
    measure: str
    remainder: float

    def kernel_matrix(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """The truncated series at all pairs of points."""
        left = self.functions(np.asarray(X))
        return (left * self.values) @ (left if Y is None else self.functions(np.asarray(Y))).T

    def norm(self, coefficients: ArrayLike) -> float | np.ndarray:
        """The norm sqrt(sum_l c_l^2 / lambda_l), in the space of the kernel, of f = sum_l c_l phi_l."""
        return self.eigensystem().seminorm(coefficients)

    def eigensystem(self) -> Eigensystem:
        """The regularisation operator behind the truncated kernel: the same functions, and 1 / lambda_l."""
        return Eigensystem(1.0 / self.values, self.functions)


def mercer(
    kernel: Kernel,
    count: int,
    *,
    dimension: int = 1,
    spread: ArrayLike | None = None,
    measure: tuple[ArrayLike, ArrayLike | None] | None = None,
) -> MercerExpansion:
    """The ``count`` largest terms of a kernel's Mercer series; fewer if the kernel has fewer.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, also with ``axis_scale``, or a kernel on the circle (Dirichlet, PeriodicGaussian), and positive
        multiples of these; any positive definite kernel with ``measure``.
    count, dimension : int
        Number of terms, and of variables (for the closed forms).
    spread : float or sequence of float, optional
        For the Gaussian: the measure is the normal distribution of this standard deviation (one for each axis, or one
        for all), and the functions are Hermite functions.
    measure : (X, weights), optional
        Take the discrete measure that has these weights at the rows of X; ``weights=None`` means 1/n each. The
        functions are extended to all points by Nystrom's formula.

    Returns
    -------
    MercerExpansion

    Notes
    -----
    On the line, with b = 1 / (2 scale^2), a = 1 / (4 spread^2), c = sqrt(a^2 + 2 a b), A = a + b + c and B = b / A, the
    Gaussian has the eigenvalues (1 - B) B^m and the functions (c / a)^(1/4) exp(-(c - a) x^2) H_m(sqrt(2 c) x) /
    sqrt(2^m m!). The eigenvalues printed in [Walder 2008, B.1.1] are those divided by the squared lengths of functions
    that are not normalised; sqrt(2 a / A) = 1 - B. In several variables everything is a product over the axes.

    Periodic kernels have sines and cosines, under the uniform probability measure on the circle.

    See Also
    --------
    monomial_expansion, Eigensystem

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.operators import mercer
    >>> mercer(Gaussian(), 30, spread=1.0).values[:3].round(4)
    array([0.618 , 0.2361, 0.0902])
    """
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"count must be a positive integer, got {count!r}.")
    if measure is not None:
        return _nystrom(kernel, int(count), measure, spread)
    if not (isinstance(dimension, (int, np.integer)) and dimension >= 1):
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    return _closed_form(kernel.for_dimension(dimension), int(count), dimension, spread)


def _closed_form(kernel: Kernel, count: int, dimension: int, spread) -> MercerExpansion:
    if isinstance(kernel, Scaled):
        kernel.check_composition()
        inner = _closed_form(kernel.kernel, count, dimension, spread)
        return MercerExpansion(
            kernel.factor * inner.values, inner.functions, inner.measure, kernel.factor * inner.remainder
        )
    scales = _gaussian_scales(kernel)
    if scales is not None:
        spreads = _spreads(spread, dimension)
        pairs = zip(np.broadcast_to(scales, dimension), spreads, strict=True)
        factors: list[tuple[np.ndarray, FeatureFunctions]] = [_hermite(float(s), float(t), count) for s, t in pairs]
        total, name = 1.0, f"normal distribution of standard deviation {spread!r} in {dimension} dimension(s)"
    elif isinstance(kernel, Periodic):
        if spread is not None:
            raise ValueError(f"spread belongs to the Gaussian; {kernel!r} has the uniform measure on its circle.")
        factors = [_waves(kernel, count)] * dimension
        total = float(kernel.diag(np.zeros((1, dimension)))[0])
        name = f"uniform probability measure on [0, {kernel.period:g})^{dimension}"
    else:
        raise ValueError(
            f"no closed form is known for {kernel!r}: give measure=(X, weights) for the eigenfunctions under a "
            "discrete measure."
        )
    values, indices = _largest_products([values for values, _ in factors], count)
    functions = ProductFunctions(tuple(function for _, function in factors), indices)
    return MercerExpansion(values, functions, name, max(total - math.fsum(values), 0.0))


def _gaussian_scales(kernel: Kernel) -> np.ndarray | None:
    """The length scales of a Gaussian along the axes, one for all or one per axis; None for other kernels."""
    if isinstance(kernel, AxisScale):
        inner = _gaussian_scales(kernel.kernel)
        return None if inner is None else inner * np.asarray(kernel.scale, dtype=float)
    return np.asarray(kernel._length()) if isinstance(kernel, Gaussian) else None


def _spreads(spread, dimension: int) -> np.ndarray:
    spreads = np.asarray(np.nan if spread is None else spread, dtype=float)
    if spreads.shape not in ((), (dimension,)) or not (np.isfinite(spreads).all() and (spreads > 0).all()):
        raise ValueError(
            "spread must be the standard deviation of the normal distribution under which the functions are "
            f"orthonormal: one positive number, or one for each of {dimension} axes, got {spread!r}."
        )
    return np.broadcast_to(spreads, dimension)


def _hermite(scale: float, spread: float, count: int) -> tuple[np.ndarray, HermiteFunctions]:
    a, b = 0.25 / spread**2, 0.5 / scale**2
    c = math.sqrt(a * (a + 2.0 * b))
    total = a + b + c
    values = (a + c) / total * (b / total) ** np.arange(count)
    decay = 2.0 * a * b / (c + a)  # c - a
    return values, HermiteFunctions(count, math.sqrt(2.0 * c), decay, (c / a) ** 0.25)


def _waves(kernel: Periodic, count: int) -> tuple[np.ndarray, Waves]:
    """Eigenvalues of 1, sqrt(2) cos(l w x), sqrt(2) sin(l w x), sorted, and these functions in the same order."""
    kernel.diag(np.zeros((1, 1)))  # refuses parameters out of range
    weights = 0.5 * np.maximum(fourier_coefficients(kernel, count // 2 + 1), 0.0)
    weights[0] *= 2.0
    numbers = np.arange(count)
    values = weights[(numbers + 1) // 2]
    order = np.argsort(-values, kind="stable")
    return values[order], Waves(2.0 * math.pi / kernel.period, tuple(numbers[order].tolist()))


def _largest_products(factors: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest positive products of one entry from each decreasing sequence, and the indices of the entries."""

    def product(index):
        return math.prod(float(values[i]) for values, i in zip(factors, index, strict=True))

    start = (0,) * len(factors)
    heap, seen = [(-product(start), start)], {start}
    values: list[float] = []
    indices: list[tuple[int, ...]] = []
    while heap and len(values) < count:
        value, index = heapq.heappop(heap)
        if value == 0:
            break
        values.append(-value)
        indices.append(index)
        for axis, entries in enumerate(factors):
            following = (*index[:axis], index[axis] + 1, *index[axis + 1 :])
            if following[axis] < len(entries) and following not in seen:
                seen.add(following)
                heapq.heappush(heap, (-product(following), following))
    return np.array(values), np.array(indices)


def _nystrom(kernel: Kernel, count: int, measure, spread) -> MercerExpansion:
    points, weights = _discrete_measure(measure, spread)
    kernel = kernel.for_dimension(points.shape[1])
    if kernel.cpd_order > 0 or kernel.is_indefinite:
        raise ValueError(
            f"a Mercer series needs a positive definite kernel, and {kernel!r} is not: use its twin "
            "(seminorm.nullspace.Twin)."
        )
    n = len(points)
    require_memory(3 * 8 * n * n, f"the kernel matrix of {n} points", "take fewer points into the measure.")
    roots = np.sqrt(weights)
    matrix = roots[:, None] * kernel(points) * roots
    total = float(np.trace(matrix))
    values, vectors = eigh(matrix, subset_by_index=[max(0, n - count), n - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 10 * n * np.finfo(float).eps * values[0]  # the others are rounding, and cannot be extended
    values, vectors = values[kept], vectors[:, kept]
    functions = Sections(kernel, points, roots[:, None] * vectors / values)
    return MercerExpansion(values, functions, f"discrete measure on {n} points", max(total - math.fsum(values), 0.0))


def _discrete_measure(measure, spread) -> tuple[np.ndarray, np.ndarray]:
    if spread is not None:
        raise ValueError("give either spread, for the normal distribution, or measure=(X, weights), not both.")
    try:
        points, weights = measure
    except (TypeError, ValueError):
        raise ValueError("measure must be a pair (X, weights); weights may be None for 1/n each.") from None
    points = np.array(points, dtype=float)
    if points.ndim != 2 or len(points) == 0:
        raise ValueError(f"the points of the measure must have shape (n, d), got {points.shape}.")
    weights = np.full(len(points), 1.0 / len(points)) if weights is None else np.array(weights, dtype=float)
    if weights.shape != (len(points),) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(
            f"the weights of the measure must be {len(points)} positive numbers, got shape {weights.shape}: leave "
            "points of weight 0 out."
        )
    return points, weights
