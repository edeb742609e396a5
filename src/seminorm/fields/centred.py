"""What bases of functions around centres have in common."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array


class CentredBasis:
    """Functions that belong to centres (p, d)."""

    def __init__(self, centres):
        self.centres = check_array(centres, dtype=np.float64, input_name="centres")

    @property
    def size(self) -> int:
        """The number of functions."""
        return len(self.centres)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.centres.shape[1]

    def _points(self, X, derivative: int) -> np.ndarray:
        """Points at which derivatives of order 0, 1 or 2 are wanted, checked."""
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != self.dimension:
            raise ValueError(f"X must have {self.dimension} columns as the centres have, got {X.shape[1]}.")
        if derivative not in (0, 1, 2):
            raise ValueError(f"derivative must be 0, 1 or 2, got {derivative!r}.")
        return X
