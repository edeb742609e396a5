"""Kernels of linearly mapped points: a metric in which distances are measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .algebra import InCoordinates
from .base import ROTATION, Kernel, composed_by


@composed_by("map")
class LinearMap(InCoordinates):
    """A kernel of the points x L: distances are those of the metric L L'.

    Parameters
    ----------
    kernel : Kernel
    matrix : array (d, k)
        L, which maps the rows of X.

    See Also
    --------
    AxisScale, OnColumns

    Examples
    --------
    >>> from seminorm.kernels import NegativeDistance
    >>> NegativeDistance().linear_map([[1.0, 0.0], [0.0, 10.0]])([[0.0, 0.0]], [[3.0, 0.0], [0.0, 3.0]])
    array([[ -3., -30.]])
    """

    def __init__(self, kernel: Kernel, matrix: ArrayLike):
        self.kernel = kernel
        self.matrix = matrix

    @property
    def invariances(self) -> frozenset[str]:
        return self.kernel.invariances - {ROTATION}

    # of distances between the mapped points
    support_radius, reach = Kernel.support_radius, Kernel.reach
    knots, period, accepts_sparse = Kernel.knots, Kernel.period, Kernel.accepts_sparse

    def for_dimension(self, dimension: int) -> LinearMap:
        matrix = self._matrix_of_map()
        if len(matrix) != dimension:
            raise ValueError(f"matrix must have {dimension} rows, one per column of X, got shape {matrix.shape}.")
        return LinearMap(self.kernel.for_dimension(matrix.shape[1]), matrix)

    def _matrix_of_map(self) -> np.ndarray:
        matrix = np.asarray(self.matrix, dtype=float)
        if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
            raise ValueError(f"matrix must be a matrix of finite numbers, got {self.matrix!r}.")
        return matrix

    def _coordinates(self, X):
        return X @ self._matrix_of_map()

    def _derivative(self, X, Y, x, y):
        result, matrix = self.kernel._derivative(*self._both(X, Y), x, y), self._matrix_of_map()
        for axis in range(2, 2 + x + y):
            result = np.moveaxis(np.tensordot(result, matrix, axes=(axis, 1)), -1, axis)
        return result
