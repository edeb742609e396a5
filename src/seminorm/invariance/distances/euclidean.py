"""The distance without any invariance."""

from __future__ import annotations

import numpy as np

from ...kernels.radial import radial_matrix
from ._tiles import require_equal_patterns
from .base import Distance


class Euclidean(Distance):
    """The norm of the difference, with small relative error for near patterns too.

    Examples
    --------
    >>> from seminorm.invariance.distances import Euclidean
    >>> Euclidean().distance([0.0, 0.0], [3.0, 4.0])
    5.0
    """

    @property
    def is_euclidean(self) -> bool:
        return True

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        require_equal_patterns(X, Y)
        return radial_matrix(np.sqrt, X, Y)
