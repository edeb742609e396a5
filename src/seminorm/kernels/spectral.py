"""A radial kernel with a prescribed power spectrum: a sum of smooth shells of frequencies."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ive

from .base import Kernel, non_negative
from .radial import Radial
from .sphere import sphere_average

_SMALL = 1e-3
_LARGE = 1e8


class SpectralMixture(Radial):
    """sum_j weights_j Omega_d(frequencies_j r) exp(-(widths_j r)^2 / 2).

    Omega_d is the average of a plane wave over all directions (cos, J_0, sin(z) / z in dimension 1, 2, 3), so the
    spectrum of each term is a shell of the radius frequencies_j, smoothed by a Gaussian of the width widths_j: any
    isotropic power spectrum can be approximated. phi(0) is the sum of the weights.

    Parameters
    ----------
    frequencies : sequence of float
        Angular frequencies |omega| >= 0 of the shells.
    widths : sequence of float, or float
        >= 0, in the same unit, one or one per shell; 1 / width is the distance over which a wave keeps its phase.
    weights : sequence of float
        The variance that each shell contributes, >= 0.
    dimension : int, optional
        Of the shells, and the largest in which the kernel is positive definite; that of the data if left out.

    See Also
    --------
    seminorm.match_spectrum

    Examples
    --------
    >>> from seminorm.kernels import SpectralMixture
    >>> SpectralMixture([6.283], [0.0], [1.0])([[0.0]], [[0.0], [0.5], [1.0]]).round(2)  # a wave of length 1
    array([[ 1., -1.,  1.]])
    """

    def __init__(
        self,
        frequencies: ArrayLike = (3.0,),
        widths: ArrayLike = 1.0,
        weights: ArrayLike = (1.0,),
        dimension: int | None = None,
    ):
        self.frequencies: Any = frequencies
        self.widths: Any = widths
        self.weights: Any = weights
        self.dimension = dimension

    @property
    def max_dimension(self) -> float:
        return math.inf if self.dimension is None else self.dimension

    @property
    def reach(self) -> float:
        narrowest = float(np.min(self.widths))
        return 9.0 / narrowest if narrowest > 0 else math.inf

    def for_dimension(self, dimension: int) -> Kernel:
        if self.dimension is None:
            return SpectralMixture(self.frequencies, self.widths, self.weights, dimension)
        if dimension > self.dimension:
            raise ValueError(
                f"{self!r} is positive definite up to dimension {self.dimension}, and X has {dimension} columns: "
                "leave dimension out to follow the data."
            )
        return self

    def spectrum_density(self, omega: ArrayLike, dimension: int | None = None) -> np.ndarray:
        """The Fourier transform, the integral of phi(x) exp(-i omega.x) over R^d, at |omega| of any shape."""
        dimension = self._stated_dimension(dimension)
        frequencies, widths, weights = self._components()
        if (widths == 0).any():
            raise ValueError("widths has a zero: the spectrum of a shell without width has no density.")
        omega = np.abs(np.asarray(omega, dtype=np.float64))
        density = np.zeros_like(omega)
        for frequency, width, weight in zip(frequencies, widths, weights, strict=True):
            height = weight * (math.sqrt(2 * math.pi) / width) ** dimension
            gaussian = np.exp(-0.5 * ((omega - frequency) / width) ** 2)
            density += height * gaussian * _exponential_average((omega / width) * (frequency / width), dimension)
        return density

    def _stated_dimension(self, dimension: int | None) -> int:
        stated = self.dimension if dimension is None else dimension
        if stated is None:
            raise ValueError("dimension is needed: the spectrum of SpectralMixture depends on it.")
        if self.dimension not in (None, stated):
            raise ValueError(f"dimension={dimension!r} differs from that of the kernel, {self.dimension}.")
        return stated

    def _components(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frequencies, widths and weights, checked."""
        frequencies = non_negative("frequencies", self.frequencies)
        weights = non_negative("weights", self.weights)
        widths = non_negative("widths", self.widths if np.ndim(self.widths) else np.full(len(weights), self.widths))
        if not len(frequencies) == len(widths) == len(weights):
            raise ValueError(
                "frequencies, widths and weights must have the same length, got "
                f"{len(frequencies)}, {len(widths)} and {len(weights)}."
            )
        if not weights.any():
            raise ValueError("weights must have a positive entry: all are zero.")
        return frequencies, widths, weights

    def _h(self, s, k):
        if self.dimension is None:
            raise ValueError("the profile of SpectralMixture depends on the dimension: use kernel.for_dimension(d).")
        r = np.sqrt(s)
        total = np.zeros_like(r)
        for frequency, width, weight in zip(*self._components(), strict=True):
            if weight:
                wave = _wave_derivatives(r, frequency, width, self.dimension, k)
                total += weight * wave * np.exp(-0.5 * width**2 * s)
        return total


def _wave_derivatives(r, frequency: float, width: float, dimension: int, k: int) -> np.ndarray:
    """The k-th derivative in s = r^2 of Omega_d(frequency r) exp(-width^2 s / 2), by Leibniz' rule."""
    if frequency == 0:
        return np.full_like(r, (-0.5 * width**2) ** k)
    total, factor = np.zeros_like(r), 1.0
    for i in range(k + 1):
        share = math.comb(k, i) * factor * (-0.5 * width**2) ** (k - i)
        if share:
            total += share * sphere_average(frequency * r, dimension + 2 * i)
        factor *= -(frequency**2) / (2 * (dimension + 2 * i))
    return total


def _exponential_average(t: np.ndarray, dimension: int) -> np.ndarray:
    """exp(-t) times the average of exp(t cos(angle)) over the sphere, t >= 0."""
    if dimension == 1:
        return 0.5 * (1.0 + np.exp(-2.0 * t))
    order = 0.5 * dimension - 1.0
    log_factor = gammaln(0.5 * dimension) + order * (math.log(2.0) - np.log(np.maximum(t, _SMALL)))
    scaled_bessel = np.where(t < _LARGE, ive(order, np.minimum(t, _LARGE)), 1.0 / np.sqrt(2 * math.pi * (t + _SMALL)))
    series = np.exp(-t) * (1.0 + t**2 / (2 * dimension) * (1.0 + t**2 / (4 * (dimension + 2))))
    return np.where(t < _SMALL, series, np.exp(log_factor) * scaled_bessel)
