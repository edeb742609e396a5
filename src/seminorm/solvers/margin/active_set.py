"""The linear system of a margin machine on its active points, and leave-one-out values in closed form.

The kernel matrix is an array (n, n), or a :class:`LowRank` F F' with F (n, r), whose systems cost m r^2 for m active
points in place of m^3.

Leaving out a point keeps the active set of the others, and points at a bound of their box stay there. What a point is
drawn to is its value plus its noise times its coefficient: t_i = f_i + noise_i a_i. Leaving it out gives
f_i -> t_i - a_i / B_ii, B the dual block of the inverse of the saddle matrix.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

_ROWS_AT_ONCE = 32
_UNDETERMINED = 1e-12


class LowRank:
    """K = F F' for F (n, r)."""

    def __init__(self, F: np.ndarray):
        self.F = F

    def __len__(self) -> int:
        return len(self.F)


Gram = np.ndarray | LowRank  #: a kernel matrix


def factorize(K: Gram, Q: np.ndarray, noise: np.ndarray, active: np.ndarray) -> "ActiveSetFactor | LowRankFactor":
    """K_ss + noise on the active points s, factorised, and the Schur complement of the null space."""
    return LowRankFactor(K, Q, noise, active) if isinstance(K, LowRank) else ActiveSetFactor(K, Q, noise, active)


def restricted(K: Gram, points: np.ndarray) -> Gram:
    """K on some of the points."""
    return LowRank(K.F[points]) if isinstance(K, LowRank) else K[np.ix_(points, points)]


def product(K: Gram, active: np.ndarray, dual: np.ndarray, full: np.ndarray) -> np.ndarray:
    """K[:, active] @ dual without copying much of K; ``full`` (n,) holds ``dual`` at the active points."""
    if isinstance(K, LowRank):
        return K.F @ (full @ K.F)
    if 2 * len(active) > len(K):
        return K @ full
    total = np.zeros(len(K))
    for start in range(0, len(active), _ROWS_AT_ONCE):
        rows = active[start : start + _ROWS_AT_ONCE]
        total += dual[start : start + _ROWS_AT_ONCE] @ K[rows]
    return total


class NullSpaceBlock:
    """The Schur complement S = Q_s' A^-1 Q_s of the null space, A = K_ss + noise, and what it makes of solutions."""

    undetermined: np.ndarray  #: (p, k) combinations of the null space that the active points do not determine
    schur_root: np.ndarray  #: its product with its transpose is the pseudo-inverse of S

    def _keep_schur(self, S: np.ndarray, scale: float) -> None:
        values, vectors = np.linalg.eigh(S)
        # relative to what points that determine the null space would give, not to what rounding leaves of nothing
        kept = values > 1e-12 * max(values.max(initial=0.0), 1.0 / scale)
        self.undetermined = vectors[:, ~kept]
        self.schur_root = vectors[:, kept] / np.sqrt(values[kept])

    def _null(self, right: np.ndarray, moments: np.ndarray | None, previous: np.ndarray | None) -> tuple:
        """b from Q_s' A^-1 t, and b with what is not determined as it was before."""
        null = self.schur_root @ (self.schur_root.T @ (right if moments is None else right + moments))
        if previous is None or not self.undetermined.shape[1]:
            return null, null
        return null, null + self.undetermined @ (self.undetermined.T @ previous)


class ActiveSetFactor(NullSpaceBlock):
    """Cholesky factorisation of K_ss + noise, s the active points, and the Schur complement of the null space."""

    def __init__(self, K: np.ndarray, Q: np.ndarray, noise: np.ndarray, active: np.ndarray):
        A = K[np.ix_(active, active)]
        self.noise = noise[active]
        A[np.diag_indices_from(A)] += self.noise
        scale = A.diagonal().mean() if len(active) else 1.0
        self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
        if info > 0:
            raise np.linalg.LinAlgError(
                f"the system on the {len(active)} active points is not positive definite: the noise on its diagonal is "
                "lost to rounding"
            )
        self.WQ = self._forward(Q[active])
        self._keep_schur(self.WQ.T @ self.WQ, scale)

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
        determined, null = self._null(self.WQ.T @ whitened, moments, previous)
        return self._backward(whitened - self.WQ @ determined), null

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


class LowRankFactor(NullSpaceBlock):
    """A = F_s F_s' + noise by Woodbury's identity: A^-1 = N^-1/2 (1 - G (1 + G'G)^-1 G') N^-1/2 with G = N^-1/2 F_s."""

    def __init__(self, K: LowRank, Q: np.ndarray, noise: np.ndarray, active: np.ndarray):
        self.noise = noise[active]
        self.root = np.sqrt(self.noise)
        self.G = K.F[active] / self.root[:, None]
        core = blas.dsyrk(1.0, self.G.T, lower=1)
        core[np.diag_indices_from(core)] += 1.0
        self.L = lapack.dpotrf(core, lower=1, overwrite_a=1, clean=1)[0]
        self.Q = Q[active] / self.root[:, None]
        self.AQ = self._shrink(self.Q)
        scale = float((self.root**2).mean()) + float((K.F[active] ** 2).sum() / max(len(active), 1))
        self._keep_schur(self.Q.T @ self.AQ, scale or 1.0)

    def _shrink(self, B: np.ndarray) -> np.ndarray:
        """(1 - G (1 + G'G)^-1 G') B."""
        half = lapack.dtrtrs(self.L, self.G.T @ B, lower=1)[0]
        return B - self.G @ lapack.dtrtrs(self.L, half, lower=1, trans=1)[0]

    def solve(
        self, targets: np.ndarray, previous: np.ndarray | None = None, moments: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """As in :class:`ActiveSetFactor`."""
        whitened = targets / self.root
        determined, null = self._null(self.AQ.T @ whitened, moments, previous)
        return self._shrink(whitened - self.Q @ determined) / self.root, null

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of the dual block of the inverse of the saddle matrix."""
        if not len(self.root):
            return np.empty(0)
        half = lapack.dtrtrs(self.L, self.G.T, lower=1)[0]
        share = np.einsum("ij,ij->j", half, half) + ((self.AQ @ self.schur_root) ** 2).sum(axis=1)
        return (1.0 - share) / self.root**2

    def conditional_variance(self, K: LowRank, Q: np.ndarray, active: np.ndarray, others: np.ndarray) -> np.ndarray:
        """As in :class:`ActiveSetFactor`."""
        F = K.F[others]
        half = lapack.dtrtrs(self.L, F.T, lower=1)[0]
        remainder = self.schur_root.T @ (Q[others].T - self.AQ.T @ (self.G @ F.T))
        return (half**2).sum(axis=0) + (remainder**2).sum(axis=0)


def left_out(targets: np.ndarray, dual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """t - a / B; NaN where an active point alone determines part of the null space."""
    with np.errstate(divide="ignore", invalid="ignore"):
        known = diagonal > _UNDETERMINED * np.abs(diagonal).max(initial=0.0)
        return targets - np.where(known, dual / diagonal, np.nan)


def left_out_together(
    values: np.ndarray, f: np.ndarray, points: np.ndarray, dual: np.ndarray, variance: np.ndarray, noise: np.ndarray,
    groups: np.ndarray,
) -> None:  # fmt: skip
    """Leave out points that (nearly) coincide together; changes leave-one-out values (n,) in place.

    ``groups`` (n,) names the place of each point, -1 for a place of its own; f (n,) are the fitted values. For some
    ``points`` dual, variance and noise are the coefficient a, the variance there given all other points, and what the
    point adds to it (infinite if it is not in the system). The group adds v sum_j a_j to f at its place, where v is the
    variance given the points outside: 1 / v = 1 / v_i - sum over the other members k of 1 / noise_k.
    """
    place = groups[points]
    shared = np.flatnonzero(place >= 0)
    if not len(shared):
        return
    number = int(groups.max()) + 1
    place, dual, variance, noise = place[shared], dual[shared], variance[shared], noise[shared]
    total = np.bincount(place, dual, minlength=number)
    precision = np.bincount(place, 1.0 / noise, minlength=number)
    first = np.full(number, -1)  # of each group the member with the least noise
    order = np.argsort(-noise, kind="stable")
    first[place[order]] = order
    known = np.flatnonzero(first >= 0)
    member = first[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        others = precision[known] - 1.0 / noise[member]
        v = variance[member] / (1.0 - variance[member] * others)
    fall = np.zeros(number)
    fall[known] = np.where(np.isfinite(v) & (v >= 0), v, np.nan) * total[known]
    members = np.flatnonzero(groups >= 0)
    values[members] = f[members] - fall[groups[members]]


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
        self,
        s: np.ndarray,
        straight: np.ndarray,
        full: np.ndarray,
        factor: ActiveSetFactor,
        diagonal: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank-one changes of the inverse's diagonal and the coefficients of the points s of the system, and what the
        variances of ``straight`` points lose, whose coefficients stay as they are.

        ``full`` (n,) holds all coefficients; the values (n,) of other points change in place.
        """
        Vs = self.rows(s)
        BV, HV = factor.solve(Vs)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = self.W - np.einsum("si,si->i", Vs, BV)
            gain = (full[s] @ Vs + full[straight] @ self.rows(straight)) / rest
            response = np.einsum("si,si->i", self.K[s], BV) + np.einsum("iq,qi->i", self.Q, HV)
            shift = response - self.diagonal()
            values += gain * shift
            own = BV[np.arange(len(s)), s]
            spread = own / rest[s]
            lost = shift[straight] ** 2 / rest[straight]
        return diagonal + own * spread, full[s] + own * gain[s], lost
