"""The free and the soft machine on few of many points, where the kernel matrix is of low rank to working accuracy.

In few dimensions smooth kernels are. With the semi-definite twin of the kernel, which vanishes at a few unisolvent
points z, K = F F' by Cholesky's factorisation with pivoting, up to a rest that is small compared with alpha: as much as
to change the noise of each point a little. The machine is an expansion on the pivots and z.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr, solve_triangular

from ...nullspace.linear_algebra import independent_columns, unisolvent_subset
from ..linear.pivoted_cholesky import pivoted_cholesky
from .active_set import LowRank
from .machines import SOFT, Coefficients, DenseMachine, FreeMachine, SoftMachine, constant_first


class LowRankMachine:
    """The machine that leaves the null space free, or soft, on all points.

    ``columns(indices)`` (n, k) are columns of the kernel matrix, ``diagonal`` (n,) its diagonal, P (n, p) the null
    space at the points. ``rest`` is what the factor leaves of the largest diagonal entry of the twin: at most
    ``accuracy``, unless that takes more than ``max_rank`` pivots.
    """

    indefinite = False
    removal = None

    def __init__(
        self,
        columns: Callable[[np.ndarray], np.ndarray],
        diagonal: np.ndarray,
        P: np.ndarray,
        accuracy: float,
        max_rank: int,
        soft: bool = False,
        tolerance: float = 1e-13,
    ):
        n, self.accuracy = len(diagonal), accuracy
        self._combinations = independent_columns(P, tolerance)
        P = P if self._combinations is None else P @ self._combinations
        self._z = unisolvent_subset(P) if P.shape[1] else np.empty(0, dtype=int)
        self._to_null = np.linalg.inv(P[self._z]) if P.shape[1] else np.empty((0, 0))
        L, B = P @ self._to_null, columns(self._z) if len(self._z) else np.empty((n, 0))
        self._L, self._corner = L, B[self._z]
        half = 0.5 * L @ self._corner - B  # the twin is phi + L half' + half L'
        self._half = half

        def twin(indices: np.ndarray) -> np.ndarray:
            return columns(indices) + L @ half[indices].T + half @ L[indices].T

        twin_diagonal = np.maximum(diagonal + 2.0 * np.einsum("ij,ij->i", L, half), 0.0)
        self._F, self.pivots, self.rest = pivoted_cholesky(twin, twin_diagonal, accuracy, max_rank)
        self._edge = B[self.pivots]  # kernel between the pivots and z
        self._Q: np.ndarray
        self._R: np.ndarray
        self._Q, self._R = qr(P, mode="economic") if P.shape[1] else (P, np.empty((0, 0)))
        self._along = self._Q.T @ self._F
        inner = self._F - self._Q @ self._along
        self.scale = float((inner**2).sum()) / max(n - P.shape[1], 1) or 1.0
        self.Q, self._turn, self._weight = self._Q, None, 0.0
        if soft and P.shape[1] > 1:
            self._turn = constant_first(self._Q)
            turned = self._Q @ self._turn
            self.Q, self._weight = turned[:, :1], SOFT * self.scale
            inner = np.hstack([inner, np.sqrt(self._weight) * turned[:, 1:]])
        self.K = LowRank(inner)

    @property
    def is_accurate(self) -> bool:
        """Whether the factor is as accurate as it should be."""
        return self.rest <= self.accuracy

    @property
    def n_basis(self) -> int:
        """Number of points with a kernel term."""
        return len(np.union1d(self.pivots, self._z))

    def expand_many(self, parts: list[tuple]) -> list[Coefficients]:
        """Those of several functions."""
        return [self.expand(*part) for part in parts]

    def expand(
        self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> Coefficients:
        """Coefficients on the pivots and z, and of the null space."""
        weights = dual @ self.K.F[active]
        rank = self._F.shape[1]
        if self._turn is not None:
            null = self._turn @ np.concatenate([null, np.sqrt(self._weight) * weights[rank:]])
        weights = weights[:rank]
        c = solve_triangular(self._F[self.pivots], weights, lower=True, trans="T") if rank else weights
        points, coefficients = self.pivots, c
        if len(self._z):
            at_z = self._L[self.pivots].T @ c
            lagrange = self._corner @ at_z - self._edge.T @ c
            null = solve_triangular(self._R, null - self._along @ weights) + self._to_null @ lagrange
            points = np.concatenate([points, self._z])
            coefficients = np.concatenate([coefficients, -at_z])
            points, inverse = np.unique(points, return_inverse=True)
            coefficients = np.bincount(inverse.ravel(), coefficients)
        return Coefficients(points, coefficients, null if self._combinations is None else self._combinations @ null)


Machine = FreeMachine | SoftMachine | DenseMachine | LowRankMachine
