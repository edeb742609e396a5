"""Dissimilarities of patterns: symmetric, not negative, zero between equal patterns; the triangle may fail."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ..._equality import EqualByParameters


class Distance(EqualByParameters, BaseEstimator):
    """A dissimilarity of patterns, one at a time or all pairs.

    A new one supplies ``_pairwise(X, Y)`` (``Y`` is None for a symmetric matrix), and ``patterns`` if its patterns are
    not rows of numbers.
    """

    @property
    def is_euclidean(self) -> bool:
        """Whether it is the norm of the difference in some Hilbert space, so that kernels of it stay definite."""
        return False

    def distance(self, x, y) -> float:
        """The distance of two patterns."""
        return float(self.pairwise([x], [y])[0, 0])

    def pairwise(self, X, Y=None) -> np.ndarray:
        """All distances, (n, m); ``Y=None`` means ``Y=X`` and gives an exactly symmetric matrix with zero diagonal."""
        X = self.patterns(X, "X")
        return self._pairwise(X, None if Y is None else self.patterns(Y, "Y"))

    def to_origin(self, X) -> np.ndarray:
        """Distances (n,) to the pattern of zeros, the origin of inner products that are made from distances."""
        X = self.patterns(X, "X")
        return self._pairwise(X, np.zeros_like(X[:1]))[:, 0]

    def patterns(self, X, name: str = "X"):
        """X as this distance takes it, checked; rows of float64 here."""
        return check_array(X, dtype=np.float64, input_name=name)

    def _pairwise(self, X, Y) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its distances: subclasses supply _pairwise(X, Y).")
