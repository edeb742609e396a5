"""What the estimators do when the user leaves it to them."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ..kernels import Kernel, NegativeDistance, ThinPlate

_LOW_DIMENSION = 10


def kernel_for(kernel: Kernel | None, X) -> Kernel:
    """The kernel settled for the dimension of X; left out, the thin plate.

    In more than ten dimensions with fewer than two points for each of the d + 1 free functions of the thin plate, the
    default is ``NegativeDistance()``, which leaves only the constant free.
    """
    d = X.shape[1]
    if kernel is not None and not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel of seminorm.kernels such as ThinPlate(), got {kernel!r}.")
    if kernel is not None:
        return clone(kernel).for_dimension(d)
    few = d > _LOW_DIMENSION and len(np.unique(X, axis=0)) < 2 * (d + 1)
    return NegativeDistance() if few else ThinPlate()


def alphas_of(alpha) -> np.ndarray:
    """Numbers that the user gave for alpha, as an array."""
    try:
        return np.asarray(alpha, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"alpha must be a number, or an array of numbers as candidates, got {alpha!r}.") from None
