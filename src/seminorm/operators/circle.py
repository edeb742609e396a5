"""Kernels on the circle: their Fourier coefficients."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import AxisScale, Dirichlet, FourierSeries, Kernel, PeriodicGaussian, Scaled, Sum
from .closed_forms import ByClass

_SAMPLES_PER_FREQUENCY = 8
_FEWEST_SAMPLES = 4096


def fourier_coefficients(kernel: Kernel, count: int) -> np.ndarray:
    """c_0, ..., c_(count - 1) with kernel = sum_l c_l cos(l t), t = 2 pi (x - y) / period.

    Parameters
    ----------
    kernel, count : Kernel, int
        The kernel is one on the circle, with a ``period``.

    Returns
    -------
    array (count,)

    See Also
    --------
    spectrum

    Examples
    --------
    >>> from seminorm.kernels import Dirichlet
    >>> from seminorm.operators import fourier_coefficients
    >>> fourier_coefficients(Dirichlet(N=2), 5)
    array([1., 2., 2., 0., 0.])
    """
    if getattr(kernel, "period", None) is None:
        raise TypeError(f"kernel must be a kernel on the circle, got {kernel!r}; periods come from operator.kernel.")
    if not (isinstance(count, (int, np.integer)) and count >= 1):
        raise ValueError(f"count must be a positive integer, got {count!r}.")
    return _coefficients(kernel, int(count))


def _coefficients(kernel: Kernel, count: int) -> np.ndarray:
    return COEFFICIENTS.entry_for(kernel)(kernel, count)


def _dirichlet(kernel: Dirichlet, count: int) -> np.ndarray:
    return np.where(np.arange(count) == 0, 1.0, np.where(np.arange(count) <= kernel.N, 2.0, 0.0))


def _given(kernel: FourierSeries, count: int) -> np.ndarray:
    given = np.asarray(kernel.coefficients, dtype=float)[:count]
    return np.pad(given, (0, count - len(given)))


def _periodic_gaussian(kernel: PeriodicGaussian, count: int) -> np.ndarray:
    """exp(-l^2 scale^2 / 2), with the offset and the factor that bring the kernel to the range [0, 1]."""
    scale = kernel.scale
    terms = np.arange(1, max(count, math.ceil(9.0 / scale) + 2))
    weights = np.exp(-0.5 * (terms**2 - 1.0) * scale**2)  # relative to the first, which may be tiny
    offset, height = np.sum((-1.0) ** (terms + 1) * weights), 2.0 * np.sum(weights[terms % 2 == 1])
    return np.concatenate([[offset], weights])[:count] / height


def _by_samples(kernel: Any, count: int) -> np.ndarray:
    """By the fast Fourier transform of samples, for kernels that are not known here."""
    size = max(_FEWEST_SAMPLES, _SAMPLES_PER_FREQUENCY * count)
    places = kernel.period * np.arange(size)[:, None] / size
    values = kernel(np.zeros((1, 1)), places)[0]
    coefficients = np.fft.rfft(values).real[:count] * 2.0 / size
    coefficients[0] *= 0.5
    return coefficients


#: Functions (kernel, count) -> coefficients, by the class of the kernel; others are sampled.
COEFFICIENTS: ByClass[Callable[[Any, int], np.ndarray]] = ByClass(
    {
        Kernel: _by_samples,
        Scaled: lambda kernel, count: kernel.factor * _coefficients(kernel.kernel, count),
        Sum: lambda kernel, count: _coefficients(kernel.first, count) + _coefficients(kernel.second, count),
        AxisScale: lambda kernel, count: _coefficients(kernel.kernel, count),
        Dirichlet: _dirichlet,
        FourierSeries: _given,
        PeriodicGaussian: _periodic_gaussian,
    }
)
