"""Newton's method on the active set for squared hinge and squared epsilon-insensitive losses (seed 000, 6.1 and
algorithm 1).

The problem is to minimise alpha a'Ka + sum_i w_i loss_i(f_i)^2 with f = K a + Q b and Q'a = 0. With the active set s
fixed it is linear least squares, (K_ss + alpha W_s^-1) a_s + Q_s b = t_s, where t are the values that active points
are drawn to: one Cholesky factorisation and a small Schur complement, no saddle system. Points enter and leave s
until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn_user

_DOUBLING_START = 600
_ROWS_AT_ONCE = 32
_SMALLEST_STEP = 2.0**-40


@dataclass
class NewtonSolution:
    """Coefficients on the active set, null-space coefficients, fitted values, and what leave-one-out needs."""

    active: np.ndarray  #: indices of the points with non-zero loss
    dual: np.ndarray  #: a on the active set
    null: np.ndarray  #: b
    values: np.ndarray  #: f at all points
    targets: np.ndarray  #: what the active points are drawn to
    iterations: int
    objective: float
    factor: ActiveSetFactor


class SquaredHinge:
    """max(0, 1 - y f)^2: points with y f < 1 are active and drawn to y."""

    def __init__(self, y: np.ndarray):
        self.y = y

    def subset(self, points: np.ndarray) -> SquaredHinge:
        return SquaredHinge(self.y[points])

    def active(self, f: np.ndarray) -> np.ndarray:
        return self.y * f < 1.0

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y


class SquaredInsensitive:
    """max(0, |y - f| - epsilon)^2: points outside the tube are active and drawn to its nearer edge."""

    def __init__(self, y: np.ndarray, epsilon: float):
        self.y = y
        self.epsilon = epsilon

    def subset(self, points: np.ndarray) -> SquaredInsensitive:
        return SquaredInsensitive(self.y[points], self.epsilon)

    def active(self, f: np.ndarray) -> np.ndarray:
        return np.abs(self.y - f) > self.epsilon

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y - self.epsilon * np.sign(self.y - f)


class ActiveSetFactor:
    """Cholesky factorisation of K_ss + alpha W_s^-1, and the Schur complement of the null space."""

    def __init__(self, K: np.ndarray, Q: np.ndarray, weights: np.ndarray, alpha: float, active: np.ndarray):
        A = K[np.ix_(active, active)]
        A[np.diag_indices_from(A)] += alpha / weights[active]
        self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)
        if info > 0:
            raise np.linalg.LinAlgError(
                f"the system on the {len(active)} active points is not positive definite for alpha={alpha:g}"
            )
        self.WQ = self._forward(Q[active])
        values, vectors = np.linalg.eigh(self.WQ.T @ self.WQ)
        kept = values > 1e-12 * max(values[-1], np.finfo(float).tiny) if len(values) else np.zeros(0, dtype=bool)
        self.schur_root = vectors[:, kept] / np.sqrt(
            values[kept]
        )  # its product with its transpose is the pseudo-inverse

    def _forward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1)[0] if B.size else B

    def _backward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1, trans=1)[0] if B.size else B

    def solve(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a and b on the active set; b of smallest norm if the active points do not determine it."""
        whitened = self._forward(targets)
        null = self.schur_root @ (self.schur_root.T @ (self.WQ.T @ whitened))
        return self._backward(whitened - self.WQ @ null), null

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of the dual block of the inverse of the saddle matrix."""
        if not len(self.L):
            return np.empty(0)
        inverse = np.tril(lapack.dtrtri(self.L, lower=1)[0])
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        return diagonal - (self._backward(self.WQ @ self.schur_root) ** 2).sum(axis=1)

    def conditional_variance(self, K: np.ndarray, Q: np.ndarray, active: np.ndarray, others: np.ndarray) -> np.ndarray:
        """K_jj - v' A^-1 v for other points j, A the saddle matrix of the active set and v = (K_sj, Q_j)."""
        whitened = self._forward(K[np.ix_(active, others)])
        remainder = self.schur_root.T @ (Q[others].T - self.WQ.T @ whitened)
        return K[others, others] - (whitened**2).sum(axis=0) + (remainder**2).sum(axis=0)


def minimise(
    K: np.ndarray,
    Q: np.ndarray,
    loss,
    alpha: float,
    weights: np.ndarray,
    start: NewtonSolution | None = None,
    max_iter: int = 100,
) -> NewtonSolution:
    """Minimise by Newton steps on the active set with a line search.

    ``K`` (n, n) is positive semi-definite, ``Q`` (n, r) spans the null space on the data. A ``start`` (the solution
    for another alpha) lends its active set; without it the active set grows from a subset of the points, doubling.
    """
    n = len(K)
    if start is None:
        start = _doubling_start(K, Q, loss, alpha, weights, max_iter)
    values = np.zeros(n) if start is None else start.values
    active, targets, state = np.flatnonzero(loss.active(values)), loss.targets(values), None
    for iteration in range(1, max_iter + 1):  # noqa: B007
        factor = ActiveSetFactor(K, Q, weights, alpha, active)
        dual, null = factor.solve(targets[active])
        full = np.zeros(n)
        full[active] = dual
        proposal = _State(full, null, _product(K, active, dual, full) + Q @ null, Q, loss, alpha, weights)
        previous = np.inf if state is None else state.objective
        state, step = proposal.backtrack_to(state)
        now = np.flatnonzero(loss.active(state.values))
        new_targets = loss.targets(state.values)
        settled = np.array_equal(now, active) and np.array_equal(new_targets[now], targets[now])
        stalled = previous - state.objective <= 1e-13 * abs(
            state.objective
        )  # points on the margin to rounding come and go
        if (step == 1.0 and settled) or stalled:
            break
        active, targets = now, new_targets
    else:
        warn_user(
            f"Newton's method did not settle on an active set in {max_iter} steps for alpha={alpha:g}: raise "
            "max_iter, or alpha.",
            ConvergenceWarning,
        )
    return NewtonSolution(
        active, state.dual[active], state.null, state.values, targets[active], iteration, state.objective, factor
    )


class _State:
    """A point of the search with its objective."""

    def __init__(self, dual, null, values, Q, loss, alpha, weights):
        self.dual, self.null, self.values = dual, null, values
        self.context = (Q, loss, alpha, weights)
        active = loss.active(values)
        residual = (values - loss.targets(values))[active]
        # a'Ka = a'f, because Q'a = 0
        self.objective = alpha * dual @ values + (weights[active] * residual**2).sum()

    def backtrack_to(self, old: _State | None) -> tuple[_State, float]:
        """The full step, or halves of it until the objective does not rise."""
        step, state = 1.0, self
        if old is None:
            return state, step
        while state.objective > old.objective * (1 + 1e-12) and step >= _SMALLEST_STEP:
            step *= 0.5
            mix = [
                step * new + (1 - step) * previous
                for new, previous in ((self.dual, old.dual), (self.null, old.null), (self.values, old.values))
            ]
            state = _State(*mix, *self.context)
        return state, step


def _product(K, active, dual, full) -> np.ndarray:
    """K[:, active] @ dual, without copying much of K."""
    if 2 * len(active) > len(K):
        return K @ full
    total = np.zeros(len(K))
    for start in range(0, len(active), _ROWS_AT_ONCE):
        rows = active[start : start + _ROWS_AT_ONCE]
        total += dual[start : start + _ROWS_AT_ONCE] @ K[rows]
    return total


def _doubling_start(K, Q, loss, alpha, weights, max_iter) -> NewtonSolution | None:
    """The solution on half of the points, itself started from a quarter, ...: few of the many points are ever active
    at once.
    """
    n = len(K)
    if n <= _DOUBLING_START:
        return None
    half = np.random.default_rng(0).permutation(n)[: n // 2]
    half.sort()
    part = minimise(K[np.ix_(half, half)], Q[half], loss.subset(half), alpha, weights[half], max_iter=max_iter)
    values = part.dual @ K[half[part.active]] + Q @ part.null
    return NewtonSolution(half[part.active], part.dual, part.null, values, part.targets, 0, np.inf, part.factor)


def leave_one_out(solution: NewtonSolution) -> np.ndarray:
    """f(x_i) of the machine trained without point i, if the active set of the others stays: t_i - a_i / diagonal of
    the inverse.

    Points outside the active set keep their value. Where an active point alone determines part of the null space the
    value is NaN.
    """
    values = solution.values.copy()
    diagonal = solution.factor.inverse_diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(diagonal > 1e-12 * np.abs(diagonal).max(initial=0.0), solution.dual / diagonal, np.nan)
    values[solution.active] = solution.targets - change
    return values
