"""Powers of two that bring coordinates and values near 1 where their powers are too large or too small for numbers.

Multiplying by a power of two rounds nothing: the fit is that of the scaled problem, bit for bit.
"""

from __future__ import annotations

import numpy as np

_FAR = 2.0**100  # from 1, within which numbers stay as they are
_HEAVIEST = 2.0**900
_LARGEST = 2.0**1019  # extent beyond which the box around the data has no corners


def zoom_of(X: np.ndarray, scale: np.ndarray) -> float:
    """What to divide coordinates by, beside their scale."""
    low, high = X.min(axis=0), X.max(axis=0)
    if scale.ndim and scale.shape != low.shape:
        return 1.0  # what is wrong with it is said elsewhere
    with np.errstate(over="ignore"):
        extent = float(((high - low) / scale).max())
    if not extent < _LARGEST:
        raise ValueError(
            f"X has coordinates from {low.min():.3g} to {high.max():.3g}, whose differences are too large for numbers: "
            "divide them, by 1e10 for instance."
        )
    return _power_near(extent)


def unit_of(y: np.ndarray | None) -> float:
    """What to divide values by."""
    return 1.0 if y is None or not y.size else _power_near(float(np.abs(y).max()))


def check_weights(weights: np.ndarray | None) -> None:
    """Refuse weights whose products with squares are nothing."""
    largest = 0.0 if weights is None else float(np.max(weights, initial=0.0))
    if 0.0 < largest < 1.0 / _HEAVIEST:
        raise ValueError(
            f"sample_weight is at most {largest:.3g}, too small for its products: multiply all weights by a number, "
            "only their ratios count if alpha is chosen."
        )


def _power_near(size: float) -> float:
    """The largest power of two not above a positive number, 1 if it is not far from 1."""
    if size == 0.0 or 1.0 / _FAR < size < _FAR or not np.isfinite(size):
        return 1.0
    return 2.0 ** (float(np.frexp(size)[1]) - 1.0)
