"""Kernels on the circle: their Fourier coefficients."""

from __future__ import annotations

import math

import numpy as np

from ..kernels import Kernel, Scaled, Sum
from ..kernels.line import Dirichlet, FourierSeries, Periodic, PeriodicGaussian

_SAMPLES_PER_FREQUENCY = 8
_FEWEST_SAMPLES = 4096


def period_of(kernel: Kernel) -> float | None:
    """The period of a kernel on the circle, of a multiple or of a sum of such kernels; None for others."""
    if isinstance(kernel, Periodic):
        return float(kernel.period)
    if isinstance(kernel, Scaled):
        return period_of(kernel.kernel)
    if isinstance(kernel, Sum) and period_of(kernel.first) == period_of(kernel.second):
        return period_of(kernel.first)
    return None


def fourier_coefficients(kernel: Kernel, count: int) -> np.ndarray:
    """c_0, ..., c_(count - 1) with kernel = sum_l c_l cos(l t), t = 2 pi (x - y) / period.

    Examples
    --------
    >>> from seminorm.kernels import Dirichlet
    >>> from seminorm.operators import fourier_coefficients
    >>> fourier_coefficients(Dirichlet(N=2), 5)
    array([1., 2., 2., 0., 0.])
    """
    if period_of(kernel) is None:
        raise TypeError(f"kernel must be a kernel on the circle, got {kernel!r}; periods come from operator.kernel.")
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"count must be a positive integer, got {count!r}.")
    if isinstance(kernel, Scaled):
        return kernel.factor * fourier_coefficients(kernel.kernel, count)
    if isinstance(kernel, Sum):
        return fourier_coefficients(kernel.first, count) + fourier_coefficients(kernel.second, count)
    if isinstance(kernel, Dirichlet):
        return np.where(np.arange(count) == 0, 1.0, np.where(np.arange(count) <= kernel.N, 2.0, 0.0))
    if isinstance(kernel, FourierSeries):
        given = np.asarray(kernel.coefficients, dtype=float)[:count]
        return np.pad(given, (0, count - len(given)))
    if isinstance(kernel, PeriodicGaussian):
        return _periodic_gaussian(kernel.scale, count)
    return _by_samples(kernel, count)


def _periodic_gaussian(scale: float, count: int) -> np.ndarray:
    """exp(-l^2 scale^2 / 2), with the offset and the factor that bring the kernel to the range [0, 1]."""
    terms = np.arange(1, max(count, math.ceil(9.0 / scale) + 2))
    weights = np.exp(-0.5 * (terms**2 - 1.0) * scale**2)  # relative to the first, which may be tiny
    offset, height = np.sum((-1.0) ** (terms + 1) * weights), 2.0 * np.sum(weights[terms % 2 == 1])
    return np.concatenate([[offset], weights])[:count] / height


def _by_samples(kernel: Periodic, count: int) -> np.ndarray:
    """By the fast Fourier transform of samples, for kernels that are not known here."""
    size = max(_FEWEST_SAMPLES, _SAMPLES_PER_FREQUENCY * count)
    places = kernel.period * np.arange(size)[:, None] / size
    values = kernel(np.zeros((1, 1)), places)[0]
    coefficients = np.fft.rfft(values).real[:count] * 2.0 / size
    coefficients[0] *= 0.5
    return coefficients
