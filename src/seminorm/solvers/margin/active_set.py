"""The linear system of a margin machine on its active points, and leave-one-out values in closed form.

Leaving out a point keeps the active set of the others, and points at a bound of their box stay there. What a point is
drawn to is its value plus its noise times its coefficient: t_i = f_i + noise_i a_i. Leaving it out gives
f_i -> t_i - a_i / B_ii, B the dual block of the inverse of the saddle matrix.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

_ROWS_AT_ONCE = 32
_UNDETERMINED = 1e-12


class ActiveSetFactor:
    """Cholesky factorisation of K_ss + noise, s the active points, and the Schur complement of the null space."""

    def __init__(self, K: np.ndarray, Q: np.ndarray, noise: np.ndarray, active: np.ndarray):
        A = K[np.ix_(active, active)]
        A[np.diag_indices_from(A)] += noise[active]
        scale = A.diagonal().mean() if len(active) else 1.0
        self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
        if info > 0:
            raise np.linalg.LinAlgError(
                f"the system on the {len(active)} active points is not positive definite: the noise on its diagonal is "
                "lost to rounding"
            )
        self.WQ = self._forward(Q[active])
        values, vectors = np.linalg.eigh(self.WQ.T @ self.WQ)
        # relative to what points that determine the null space would give, not to what rounding leaves of nothing
        kept = values > 1e-12 * max(values.max(initial=0.0), 1.0 / scale)
        self.undetermined = vectors[:, ~kept]
        # its product with its transpose is the pseudo-inverse of the Schur complement
        self.schur_root = vectors[:, kept] / np.sqrt(values[kept])

    def _forward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1)[0] if B.size else B

    def _backward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1, trans=1)[0] if B.size else B

    def solve(
        self, targets: np.ndarray, previous: np.ndarray | None = None, moments: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """a and b with (K_ss + noise) a + Q_s b = targets and Q_s' a = -moments (zero if left out).

        Where the active points do not determine b it stays at ``previous`` (or zero).
        """
        whitened = self._forward(targets)
        right = self.WQ.T @ whitened
        null = self.schur_root @ (self.schur_root.T @ (right if moments is None else right + moments))
        dual = self._backward(whitened - self.WQ @ null)
        if previous is not None and self.undetermined.shape[1]:
            null = null + self.undetermined @ (self.undetermined.T @ previous)
        return dual, null

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of the dual block of the inverse of the saddle matrix."""
        if not len(self.L):
            return np.empty(0)
        inverse = lapack.dtrtri(self.L, lower=1)[0]
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        return diagonal - (self._backward(self.WQ @ self.schur_root) ** 2).sum(axis=1)

    def conditional_variance(self, K: np.ndarray, Q: np.ndarray, active: np.ndarray, others: np.ndarray) -> np.ndarray:
        """K_jj - v' A^-1 v for other points j, A the saddle matrix of the active set and v = (K_sj, Q_j)."""
        whitened, remainder = self._conditioned(K, Q, active, others)
        return K[others, others] - (whitened**2).sum(axis=0) + (remainder**2).sum(axis=0)

    def conditional_covariance(
        self, K: np.ndarray, Q: np.ndarray, active: np.ndarray, others: np.ndarray
    ) -> np.ndarray:
        """K on other points, given the active ones with their noise; what these determine of b is eliminated."""
        whitened, remainder = self._conditioned(K, Q, active, others)
        return K[np.ix_(others, others)] - whitened.T @ whitened + remainder.T @ remainder

    def _conditioned(self, K, Q, active, others) -> tuple[np.ndarray, np.ndarray]:
        whitened = self._forward(K[np.ix_(active, others)])
        return whitened, self.schur_root.T @ (Q[others].T - self.WQ.T @ whitened)


def product(K: np.ndarray, active: np.ndarray, dual: np.ndarray, full: np.ndarray) -> np.ndarray:
    """K[:, active] @ dual without copying much of K; ``full`` (n,) holds ``dual`` at the active points."""
    if 2 * len(active) > len(K):
        return K @ full
    total = np.zeros(len(K))
    for start in range(0, len(active), _ROWS_AT_ONCE):
        rows = active[start : start + _ROWS_AT_ONCE]
        total += dual[start : start + _ROWS_AT_ONCE] @ K[rows]
    return total


def left_out(targets: np.ndarray, dual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """t - a / B; NaN where an active point alone determines part of the null space."""
    with np.errstate(divide="ignore", invalid="ignore"):
        known = diagonal > _UNDETERMINED * np.abs(diagonal).max(initial=0.0)
        return targets - np.where(known, dual / diagonal, np.nan)


@dataclass
class BasisRemoval:
    """How the machine's kernel changes when the kernel term of point i is taken out: K - v_i v_i' / W_ii."""

    left: np.ndarray  #: the v_i are the columns of I + left right'
    right: np.ndarray
    W: np.ndarray  #: W_ii, (n,)
    K: np.ndarray
    Q: np.ndarray

    def rows(self, points: np.ndarray) -> np.ndarray:
        """Rows of V."""
        rows = self.left[points] @ self.right.T
        rows[np.arange(len(points)), points] += 1.0
        return rows

    def diagonal(self) -> np.ndarray:
        """Diagonal of V."""
        return 1.0 + np.einsum("ij,ij->i", self.left, self.right)

    def change(
        self, s: np.ndarray, dual: np.ndarray, factor: ActiveSetFactor, diagonal: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank-one changes of inverse and coefficients of the active points s; values of others change in place."""
        Vs = self.rows(s)
        BV, HV = factor.solve(Vs)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = self.W - np.einsum("si,si->i", Vs, BV)
            gain = (dual @ Vs) / rest
            response = np.einsum("si,si->i", self.K[s], BV) + np.einsum("iq,qi->i", self.Q, HV)
            values += gain * (response - self.diagonal())
            own = BV[np.arange(len(s)), s]
            spread = own / rest[s]
        return diagonal + own * spread, dual + own * gain[s]
