"""Regularised least squares with a semi-norm: (Phi + alpha W^-1) a + P b = y, P' a = 0.

Scaling by the square roots of the weights and a QR factorisation of P reduce it to (M + alpha I) g = z on the
complement of the null space. :class:`ReducedSystem` holds the reduction; :class:`Factor` is the factorisation at one
alpha, with leave-one-out and the posterior covariance.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, cholesky, eigh, lapack, solve_triangular

from ..._base.warnings import warn_user
from ..linear.householder import Reflectors, lower_symmetric
from ..linear.paths import PathSummary

_ROWS_AT_ONCE = 512


class ReducedSystem:
    """The problem on the complement of the null space, for K (n, n), overwritten, and P (n, r) of full column rank.

    The values y (n, k) may be means of repeated samples: ``scatter`` (k,) and ``repeats`` are the sum of squares and
    the degrees of freedom about them, which show the noise.
    """

    def __init__(
        self,
        K: np.ndarray,
        P: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        scatter: np.ndarray | float = 0.0,
        repeats: int = 0,
    ):
        self.scatter, self.repeats = np.broadcast_to(scatter, (y.shape[1],)), repeats
        self.root = np.sqrt(weights)[:, None]
        K *= self.root
        K *= self.root.T
        S = K.T if K.flags.c_contiguous else np.asfortranarray(K)  # symmetric: the transpose is the same matrix
        r = P.shape[1]
        self.size, self.rank = len(K), r
        if r:
            self.reflectors, self.R = Reflectors.triangularize(self.root * P)
            self.reflectors.sandwich(S)
        y = self.rotate(self.root * y)
        self.corner = lower_symmetric(S[:r, :r])
        self.edge = np.array(S[r:, :r])
        self.M = np.asfortranarray(S[r:, r:])
        self.y_null, self.z = y[:r], y[r:]

    def rotate(self, B: np.ndarray) -> np.ndarray:
        """Q' B: the first ``rank`` rows belong to the null space."""
        return self.reflectors.apply_transposed(B) if self.rank else B

    def coefficients(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dual and null-space coefficients that belong to the solution g of the reduced system."""
        dual = np.concatenate([np.zeros((self.rank, g.shape[1])), g])
        dual = self.root * (self.reflectors.apply(dual) if self.rank else dual)
        null = solve_triangular(self.R, self.y_null - self.edge.T @ g) if self.rank else np.empty((0, g.shape[1]))
        return dual, null

    def lift(self, B: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Q [0; B], a block of rows at a time, to spare another matrix of that size."""
        r = self.rank
        core = self.reflectors.T @ (self.reflectors.V[r:].T @ B) if r else None
        for start in range(0, self.size, _ROWS_AT_ONCE):
            rows = slice(start, min(start + _ROWS_AT_ONCE, self.size))
            block = np.zeros((rows.stop - rows.start, B.shape[1]))
            block[max(r - start, 0) :] = B[max(start - r, 0) : rows.stop - r]
            yield rows, block - self.reflectors.V[rows] @ core if r else block

    def take_matrix(self) -> np.ndarray:
        """Hand M over to be overwritten."""
        M = self.M
        del self.M
        return M


def quotient(dual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """dual / diagonal, without warnings where the diagonal vanishes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return dual / diagonal


class Factor:
    """Factorisation of M + alpha I in place: Cholesky, or a pseudo-inverse, with a warning, where that breaks down."""

    def __init__(self, system: ReducedSystem, alpha: float):
        self.system, self.alpha = system, alpha
        M = system.take_matrix()
        M[np.diag_indices_from(M)] += alpha
        self.L: np.ndarray | None  #: the Cholesky factor, if there is one
        self.W: np.ndarray  #: a root of the pseudo-inverse otherwise
        try:
            self.L = cholesky(M, lower=True, check_finite=False)
            self.kept = len(M)
            self.logdet = 2.0 * np.log(np.diag(self.L)).sum()
        except LinAlgError:
            self.L, self.W = None, self._pseudo_inverse_root(M)
        self.g = self.solve(system.z)

    def _pseudo_inverse_root(self, M: np.ndarray) -> np.ndarray:
        """W with W' W the pseudo-inverse of M + alpha I."""
        values, vectors = eigh(M, lower=True, overwrite_a=True, driver="evr", check_finite=False)
        kept = values > len(M) * np.finfo(float).eps * values[-1]
        self.logdet = np.log(values[kept]).sum()
        self.kept, self._values = int(kept.sum()), values[kept]
        warn_user(
            f"the system is singular to working precision for alpha={self.alpha:g}: {len(M) - kept.sum()} of "
            f"{len(M)} directions are lost to rounding (points nearly coincide, or the kernel is very smooth or only "
            "semi-definite), and the data are fitted as far as the others allow. A larger alpha or a rougher kernel "
            "avoids it.",
            LinAlgWarning,
        )
        return (vectors[:, kept] / np.sqrt(values[kept])).T

    def whiten(self, B: np.ndarray) -> np.ndarray:
        """W B with W' W = (M + alpha I)^-1."""
        return self.W @ B if self.L is None else solve_triangular(self.L, B, lower=True, check_finite=False)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(M + alpha I)^-1 B."""
        if self.L is None:
            return self.W.T @ (self.W @ B)
        return solve_triangular(self.L, self.whiten(B), lower=True, trans="T", check_finite=False)

    def summary(self) -> PathSummary:
        """What the criteria for alpha need."""
        energy, squares = (self.system.z * self.g).sum(axis=0), (self.g**2).sum(axis=0)
        inverse = self._inverse_factor()
        trace = np.einsum("ij,ij->", inverse, inverse)
        return PathSummary(energy[None], squares[None], np.array([trace]), np.array([self.logdet]))

    def leave_one_out(self) -> np.ndarray:
        """y_i - f(x_i) with f fitted without observation i: a_i over the diagonal of the inverse."""
        system = self.system
        if system.size == system.rank:  # nothing determines the value at a point but the point itself
            return np.full((system.size, system.z.shape[1]), np.nan)
        if self.L is None:
            return self._leave_one_out_of_pseudo_inverse()
        diagonal = np.concatenate([(block**2).sum(axis=1) for _, block in system.lift(self._inverse_factor().T)])
        diagonal = diagonal[:, None] * system.root**2
        return quotient(system.coefficients(self.g)[0], diagonal)

    def residual_squares(self) -> np.ndarray:
        """Weighted sum of squared residuals for each output, counting the directions that were lost."""
        if self.L is not None:
            return self.alpha**2 * (self.g**2).sum(axis=0)
        return ((self.system.z - self._smooth(self.whiten(self.system.z))) ** 2).sum(axis=0)

    def _smooth(self, whitened: np.ndarray) -> np.ndarray:
        """M (M + alpha)^+ z from W z, in the pseudo-inverse case."""
        return self.W.T @ ((self._values - self.alpha)[:, None] * whitened)

    def _leave_one_out_of_pseudo_inverse(self) -> np.ndarray:
        """Residuals over one minus the diagonal of the hat matrix, which here is not alpha times the inverse."""
        system = self.system
        residual = np.concatenate([b for _, b in system.lift(system.z - self._smooth(self.whiten(system.z)))])
        shrinkage = self._values - self.alpha
        hat = np.concatenate([(block**2) @ shrinkage for _, block in system.lift(self.W.T)])
        if system.rank:
            hat += (system.reflectors.apply(np.eye(system.size, system.rank)) ** 2).sum(axis=1)
        return quotient(residual, (1.0 - hat)[:, None]) / system.root

    def posterior_covariance(
        self, cross: np.ndarray, null: np.ndarray, prior: np.ndarray, diagonal: bool
    ) -> np.ndarray:
        """Covariance of f at new points, in units of the prior variance, with an improper prior on the null space
        (universal kriging).

        ``cross`` (n, m) and ``null`` (m, r) belong to the new points; ``prior`` is the kernel matrix of the new
        points, or its diagonal.
        """
        system = self.system
        q = system.rotate(system.root * cross)
        q_null, q_rest = q[: system.rank], q[system.rank :]
        c = solve_triangular(system.R, null.T, trans="T") if system.rank else np.empty((0, cross.shape[1]))
        shifted = system.corner + self.alpha * np.eye(system.rank)
        half = 0.5 * shifted @ c - q_null
        rest = self.whiten(q_rest - system.edge @ c)
        if diagonal:
            return prior + 2.0 * (c * half).sum(axis=0) - (rest**2).sum(axis=0)
        mixed = c.T @ half
        return prior + mixed + mixed.T - rest.T @ rest

    def _inverse_factor(self) -> np.ndarray:
        if self.L is None:
            return self.W
        return lapack.dtrtri(self.L, lower=1)[0]
