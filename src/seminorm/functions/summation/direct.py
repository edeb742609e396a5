"""Sums over all pairs: compiled for profiles, in blocks of the matrix for any other kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import _native
from ...kernels.base import Kernel
from ...kernels.forms import Form
from .levels import Profile

_TARGETS = 32  # of a chunk
_ENTRIES = 2**22  # of a block of the matrix


def native_sum(forms: Sequence[Form], targets, sources, coefficients: np.ndarray, parts: int) -> np.ndarray:
    """The sums (m, k, parts) for coefficients (n, k, 1 or 3) at targets (m, 3), sources (n, 3)."""
    m, n = len(targets), len(sources)
    rows = np.zeros((3, m + 8))
    rows[:, :m] = targets.T
    begins = np.arange(0, m, _TARGETS)
    spans = np.stack([begins, np.minimum(begins + _TARGETS, m)], axis=1)
    range_from = np.arange(len(begins) + 1)
    ranges = np.tile([[0, n]], (len(begins), 1))
    out = np.zeros((m, coefficients.shape[1], parts))
    _native.sum_near(rows, spans, range_from, ranges, sources, coefficients, [tuple(form) for form in forms], out)
    return out


def direct_sum(kernel: Kernel, targets, sources, coefficients: np.ndarray, x: int, y: int) -> np.ndarray:
    """The sums (m, d^x, k) for coefficients (n, d^y, k), of derivatives of order x at the targets and y at the sources."""
    n, width, k = coefficients.shape
    d = sources.shape[1]
    step = max(1, _ENTRIES // (n * d ** (x + y)))
    result = np.empty((len(targets), d**x, k))
    for begin in range(0, len(targets), step):
        block = kernel.derivative(targets[begin : begin + step], sources, x=x, y=y)
        block = np.moveaxis(block.reshape(-1, n, d**x, d**y), 1, 2)
        result[begin : begin + step] = block.reshape(-1, d**x, n * width) @ coefficients.reshape(n * width, k)
    return result


def magnitude(profile: Profile, distances: np.ndarray, order: int) -> np.ndarray:
    """The size of the kernel, or of its derivatives of order 1 or 2."""
    squares = distances**2
    if order == 0:
        return np.abs(profile(squares, 0))
    if order == 1:
        return 2.0 * distances * np.abs(profile(squares, 1))
    return 2.0 * np.abs(profile(squares, 1)) + 4.0 * squares * np.abs(profile(squares, 2))
