"""What sums of kernels on different columns leave free: the sum of what each of them does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from .spaces import NullSpace, Polynomials


class PolynomialSum(NullSpace):
    """Sums of polynomials, each up to a total degree in some of the columns.

    Functions of several summands, such as the constant, cost nothing: their coefficients share the work.

    Parameters
    ----------
    degrees : sequence of int
        One per summand; -1 for nothing.
    columns : sequence of sequences of int
        The columns of each summand.

    See Also
    --------
    Polynomials, UnionSpace

    Examples
    --------
    >>> from seminorm.nullspace import PolynomialSum
    >>> X = [[0.0, 0.0], [1.0, 3.0], [2.0, 1.0]]
    >>> PolynomialSum([0, 1], [[0], [1]]).fit(X)(X).shape  # 1; 1 and the second column
    (3, 3)
    """

    def __init__(self, degrees: Sequence[int], columns: Sequence[Sequence[int]]):
        self.degrees, self.columns = degrees, columns

    @property
    def degree(self) -> int:
        return min(max(self.degrees, default=-1), 0)

    @property
    def resolution(self) -> float:
        return max((part.resolution for part in self.parts_), default=1e-13)

    @property
    def ranges(self) -> list[slice]:
        """The basis functions of each summand."""
        return [slice(low, high) for low, high in pairwise(np.cumsum([0, *self.sizes_]).tolist())]

    def fit(self, X: Any, y: object = None) -> Self:
        X = np.asarray(X, dtype=float)
        if len(self.degrees) != len(self.columns):
            raise ValueError(f"degrees and columns must be as many, got {len(self.degrees)} and {len(self.columns)}.")
        pairs = zip(self.degrees, self.columns, strict=True)
        self.parts_ = [Polynomials(int(degree)).fit(X[:, list(columns)]) for degree, columns in pairs]
        self.sizes_ = [
            part(X[:1, list(columns)]).shape[1] for part, columns in zip(self.parts_, self.columns, strict=True)
        ]
        return self

    def derivative(self, X: Any, times: int) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        result = np.zeros((len(X), sum(self.sizes_)) + (X.shape[1],) * times)
        for part, columns, own in zip(self.parts_, self.columns, self.ranges, strict=True):
            inner = part.derivative(X[:, list(columns)], times)
            rows = np.ix_(range(len(X)), range(own.start, own.stop), *[list(columns)] * times)
            result[rows] = inner
        return result
