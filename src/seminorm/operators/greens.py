"""From the operator to its kernel: Green's functions by quadrature, tabulated, or as Fourier series on a circle."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import FourierSeries, Kernel, Radial
from ..kernels.base import DILATION
from .transforms import OctaveTable, radial_fourier, removed_moments, total

if TYPE_CHECKING:
    from .operator import Operator

_MOST_FREQUENCIES = 500
_MOST_PIECES = 64
_ZERO_GRID = np.logspace(-4, 4, 4001)


def conditional_order(zero: float, dimension: int) -> int:
    """The order of conditional positive definiteness of a kernel whose symbol follows |omega|^zero at 0."""
    excess = 0.5 * (zero - dimension)
    return 0 if excess < 0 else math.floor(excess) + 1


def check_existence(operator: Operator, dimension: int) -> None:
    """Refuse operators without a Green's function in R^d, and say which condition fails."""
    if not operator.growth > dimension:
        raise ValueError(
            f"the Green's function of {operator!r} does not exist in R^{dimension}: the symbol must grow faster than "
            f"|omega|^{dimension} (2 m > d for derivatives of order m), and it grows like |omega|^{operator.growth:g}. "
            "Penalise higher derivatives, or take fewer dimensions."
        )
    _refuse_zeros(operator)


def _refuse_zeros(operator: Operator) -> None:
    """A symbol that vanishes at a frequency other than 0 leaves waves of that frequency free, in all directions."""
    values = operator.symbol(_ZERO_GRID)
    inside = values[1:-1]
    dips = np.flatnonzero((inside <= values[:-2]) & (inside <= values[2:]) & (inside < np.inf)) + 1
    for i in dips:
        fine = np.linspace(_ZERO_GRID[i - 1], _ZERO_GRID[i + 1], 2001)
        depth = operator.symbol(fine)
        if depth.min() < 1e-6 * min(values[i - 1], values[i + 1]) or depth.min() == 0:
            raise ValueError(
                f"{operator!r} vanishes at |omega| = {fine[np.argmin(depth)]:.4g}: it leaves the waves of that "
                "frequency free, which are not polynomials. Add a small multiple of the identity, or put the functions "
                "on a circle with kernel(period=...), where such frequencies are left out."
            )


class GreensFunction(Radial):
    """The kernel of a regularisation operator, tabulated.

    phi(r) is the inverse transform of 1 / symbol, less polynomials of degree < order where the symbol vanishes at 0;
    derivatives with respect to r^2 are the same transform in dimension d + 2, d + 4, ... Each is computed by
    quadrature at Chebyshev points of the distances that occur, octave by octave, and interpolated.

    Parameters
    ----------
    operator : Operator
        With a symbol that grows faster than |omega|^dimension.
    dimension : int, optional
        Of the inputs; left out, it follows the data.
    accuracy : float
        Error of the interpolation relative to the largest value in the octave of r (and to phi(0) if phi is positive
        definite). The quadrature itself is good to some 1e-12 of these.

    See Also
    --------
    seminorm.operators.Operator.kernel : gives the closed form where one is known.

    Examples
    --------
    >>> from seminorm.operators import derivatives
    >>> plane = ((1 + derivatives(1)) ** 2).kernel(dimension=2)  # r K_1(r) / (4 pi)
    >>> plane([[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]).round(6)
    array([[0.079577, 0.047898]])
    """

    def __init__(self, operator: Operator, dimension: int | None = None, accuracy: float = 1e-10):
        self.operator, self.dimension, self.accuracy = operator, dimension, accuracy

    @property
    def cpd_order(self) -> int:
        return conditional_order(self.operator.zero, 1 if self.dimension is None else self.dimension)

    @property
    def null_degree(self) -> int:
        """Polynomials with the semi-norm 0: degree < zero / 2, or < order if the symbol follows an odd power at 0."""
        half = 0.5 * self.operator.zero
        return int(half) - 1 if half == int(half) else self.cpd_order - 1

    @property
    def invariances(self) -> frozenset[str]:
        return super().invariances | ({DILATION} if self.operator.as_monomial() else frozenset())

    @property
    def dilation_degree(self) -> float | None:
        monomial = self.operator.as_monomial()
        return None if monomial is None or self.dimension is None else monomial[1] - self.dimension

    @property
    def differentiability(self) -> float:
        excess = self.operator.growth - (1 if self.dimension is None else self.dimension)
        return math.inf if math.isinf(excess) else math.ceil(excess) - 1

    @property
    def max_dimension(self) -> float:
        return math.inf if self.dimension is None else self.dimension

    def for_dimension(self, dimension: int) -> Kernel:
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"{self!r} is made for {self.dimension} columns, and X has {dimension}: make it with "
                f"operator.kernel(dimension={dimension})."
            )
        if self.dimension == dimension:
            return self
        settled = self.__dict__.setdefault("_settled", {})
        if dimension not in settled:
            settled[dimension] = self.operator.kernel(dimension, accuracy=self.accuracy)
        return settled[dimension]

    def _h(self, s, k):
        if self.dimension is None:
            raise ValueError("the profile depends on the dimension: use kernel.for_dimension(d).")
        tables = self.__dict__.setdefault("_tables", {})
        if k not in tables:
            check_existence(self.operator, self.dimension)
            tables[k] = InverseTransform(self.operator, self.dimension, k, self.accuracy)
        return (-math.pi) ** k * tables[k](np.sqrt(s))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_tables", "_settled")}


class InverseTransform:
    """A spectrum transformed back in dimension d + 2 k, tabulated in the distances that occur."""

    def __init__(self, operator: Operator, dimension: int, k: int, accuracy: float):
        self.spectrum = operator.spectrum
        self.dimension = dimension + 2 * k
        self.remove = max(conditional_order(operator.zero, dimension) - k, 0)
        self.origin = _typical_frequency(operator, dimension)
        self.finite = operator.growth > self.dimension
        self.refine = self._panels_needed(accuracy)
        self.at_zero = self._at_zero() if self.finite else 0.0
        size = abs(self.at_zero) if self.finite and self.remove == 0 else 0.0
        self.table = OctaveTable(self.transform, accuracy, size)
        smooth = min(operator.growth - self.dimension, 2.0)
        self.nearest = accuracy ** (1.0 / smooth) / self.origin if self.finite else 0.0

    def __call__(self, r: np.ndarray) -> np.ndarray:
        values = np.full(r.shape, self.at_zero)
        apart = r > self.nearest
        values[apart] = self.table(r[apart])
        return values

    def transform(self, r: np.ndarray) -> np.ndarray:
        """By quadrature."""
        values = radial_fourier(self.spectrum, r, self.dimension, remove=self.remove, refine=self.refine)
        if self.remove:
            values = values + removed_moments(self.spectrum, r, self.dimension, self.remove, self.origin)
        return values / (2.0 * math.pi) ** self.dimension

    def _panels_needed(self, accuracy: float) -> int:
        """The number of pieces of each panel that symbols which change quickly need: until twice that agrees."""
        r = 2.0 ** np.arange(-8.0, 5.0) / self.origin
        self.refine = 1
        values = self.transform(r)
        while self.refine <= _MOST_PIECES:
            self.refine *= 2
            finer = self.transform(r)
            if (np.abs(finer - values) <= max(accuracy, 1e-11) * np.abs(finer).max()).all():
                return self.refine // 2
            values = finer
        raise ValueError(
            f"the symbol changes too quickly with the frequency for a kernel of the accuracy {accuracy:g}: smooth it, "
            "or raise accuracy."
        )

    def _at_zero(self) -> float:
        if self.remove == 0:
            return total(self.spectrum, self.dimension, refine=self.refine) / (2.0 * math.pi) ** self.dimension
        above = lambda u: np.where(u > self.origin, self.spectrum(u), 0.0)  # noqa: E731
        beyond = total(above, self.dimension, refine=self.refine)
        return beyond / (2.0 * math.pi) ** self.dimension


def _typical_frequency(operator: Operator, dimension: int) -> float:
    """A power of 2 near the frequencies that make up most of the kernel, or where the symbol changes its power."""
    octaves = 2.0 ** np.arange(-30.0, 31.0)
    spectrum = operator.spectrum(octaves)
    if operator.zero < dimension < operator.growth:
        return float(octaves[np.argmax(spectrum * octaves**dimension)])
    low, high = operator.zero, min(operator.growth, operator.zero + 4.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = -np.diff(np.log2(spectrum))
    passed = np.flatnonzero(~(slopes < 0.5 * (low + high)))
    return float(octaves[passed[0]]) if len(passed) and high > low else 1.0


def on_circle(operator: Operator, period: float, accuracy: float) -> FourierSeries:
    """The kernel of an operator for functions of a given period, by its Fourier series
    [Smola et al. 1998, proposition 2].

    At most 500 frequencies: where the series converges slowly, this is the exact kernel for trigonometric polynomials
    of that degree, the eigenfunctions beyond being excluded.
    """
    if not (isinstance(period, Real) and 0.0 < float(period) < math.inf):
        raise ValueError(f"period must be a positive number, got {period!r}.")
    if not operator.growth > 1:
        check_existence(operator, 1)
    frequencies = 2.0 * math.pi * np.arange(_MOST_FREQUENCIES + 1) / period
    symbol = operator.symbol(frequencies)
    present = symbol > 1e-12 * np.median(symbol[np.isfinite(symbol)])
    coefficients = np.zeros(len(symbol))
    coefficients[present] = np.where(frequencies[present] > 0, 2.0, 1.0) / (period * symbol[present])
    left = coefficients[::-1].cumsum()[::-1]
    needed = int(np.count_nonzero(left > accuracy * left[0]))
    return FourierSeries(tuple(coefficients[: max(needed, 2)].tolist()), period)
