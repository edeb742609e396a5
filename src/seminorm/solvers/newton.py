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
_GROWTH = 4
_ROWS_AT_ONCE = 32
_BISECTIONS = 60


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


class ActiveSetFactor:
    """Cholesky factorisation of K_ss + alpha W_s^-1, and the Schur complement of the null space."""

    def __init__(self, K: np.ndarray, Q: np.ndarray, weights: np.ndarray, alpha: float, active: np.ndarray):
        A = K[np.ix_(active, active)]
        A[np.diag_indices_from(A)] += alpha / weights[active]
        scale = A.diagonal().mean() if len(active) else 1.0
        self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=1)
        if info > 0:
            raise np.linalg.LinAlgError(
                f"the system on the {len(active)} active points is not positive definite for alpha={alpha:g}"
            )
        self.WQ = self._forward(Q[active])
        values, vectors = np.linalg.eigh(self.WQ.T @ self.WQ)
        # relative to what points that determine the null space would give, not to what rounding leaves of nothing
        kept = values > 1e-12 * max(values.max(initial=0.0), 1.0 / scale)
        self.undetermined = vectors[:, ~kept]
        self.schur_root = vectors[:, kept] / np.sqrt(
            values[kept]
        )  # its product with its transpose is the pseudo-inverse

    def _forward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1)[0] if B.size else B

    def _backward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1, trans=1)[0] if B.size else B

    def solve(self, targets: np.ndarray, previous: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """a and b on the active set; where the active points do not determine b it stays as it was (or zero)."""
        whitened = self._forward(targets)
        null = self.schur_root @ (self.schur_root.T @ (self.WQ.T @ whitened))
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
    """Minimise by Newton steps on the active set with an exact line search.

    ``loss`` is one of :mod:`seminorm.losses`. ``K`` (n, n) is positive semi-definite, ``Q`` (n, r) spans the null
    space on the data. A ``start`` (the solution for another alpha) lends its active set; without it the active set
    grows from a subset of the points, doubling.
    """
    if start is None:
        start = _doubling_start(K, Q, loss, alpha, weights, max_iter)
    search = _Search(K, Q, loss, alpha, weights)
    nothing = 1e-18 * search.objective(search.zero())
    state = search.zero() if start is None else search.state(start.active, start.dual, start.null, start.values)
    for iteration in range(1, max_iter + 1):  # noqa: B007
        active, targets = np.flatnonzero(loss.active(state.values)), loss.targets(state.values)
        factor = ActiveSetFactor(K, Q, weights, alpha, active)
        dual, null = factor.solve(targets[active], state.null)
        proposal = search.state(active, dual, null)
        state, step, decrease = search.step_towards(state, proposal)
        now = np.flatnonzero(loss.active(state.values))
        settled = step == 1.0 and np.array_equal(now, active)
        settled = settled and np.array_equal(loss.targets(state.values)[now], targets[now])
        # points on the margin to rounding come and go; the line search is exact, so no decrease means the minimum
        if settled or decrease <= 1e-14 * search.objective(state) + nothing:
            break
    else:
        warn_user(
            f"Newton's method did not settle on an active set in {max_iter} steps for alpha={alpha:g}: raise max_iter, "
            "or alpha.",
            ConvergenceWarning,
        )
    return search.finish(state, active, factor, iteration)


@dataclass
class _State:
    """A point of the search: coefficients, with Q'a = 0, and fitted values."""

    dual: np.ndarray
    null: np.ndarray
    values: np.ndarray


class _Search:
    """The objective and its exact line search."""

    def __init__(self, K, Q, loss, alpha, weights):
        self.K, self.Q, self.loss, self.alpha, self.weights = K, Q, loss, alpha, weights

    def zero(self) -> _State:
        n = len(self.K)
        return _State(np.zeros(n), np.zeros(self.Q.shape[1]), np.zeros(n))

    def state(self, active, dual, null, values=None) -> _State:
        full = np.zeros(len(self.K))
        full[active] = dual
        if values is None:
            values = _product(self.K, active, dual, full) + self.Q @ null
        return _State(full, null, values)

    def objective(self, state: _State) -> float:
        active = self.loss.active(state.values)
        residual = (state.values - self.loss.targets(state.values))[active]
        return self.alpha * state.dual @ state.values + (self.weights[active] * residual**2).sum()  # a'Ka = a'f

    def step_towards(self, old: _State, new: _State) -> tuple[_State, float, float]:
        """The minimum of the objective on the way from old to new: its slope is increasing, so bisection finds its
        zero.
        """
        d_dual, d_values = new.dual - old.dual, new.values - old.values
        linear, quadratic = d_dual @ old.values + old.dual @ d_values, 2.0 * d_dual @ d_values

        def slope(t):
            values = old.values + t * d_values
            active = self.loss.active(values)
            pull = (values - self.loss.targets(values))[active] * d_values[active]
            return self.alpha * (linear + t * quadratic) + 2.0 * (self.weights[active] * pull).sum()

        before = self.objective(old)
        step = 1.0
        if slope(1.0) > 1e-12 * before:
            low, step = 0.0, 1.0
            for _ in range(_BISECTIONS):
                middle = 0.5 * (low + step)
                low, step = (low, middle) if slope(middle) > 0 else (middle, step)
        mixed = (
            new
            if step == 1.0
            else _State(old.dual + step * d_dual, old.null + step * (new.null - old.null), old.values + step * d_values)
        )
        return mixed, step, before - self.objective(mixed)

    def finish(self, state: _State, active, factor, iterations: int) -> NewtonSolution:
        """Coefficients as the residuals at the minimum, and the factorisation that belongs to its active set."""
        now, targets = np.flatnonzero(self.loss.active(state.values)), self.loss.targets(state.values)
        if not np.array_equal(now, active):
            factor = ActiveSetFactor(self.K, self.Q, self.weights, self.alpha, now)
        dual = self.weights[now] * (targets[now] - state.values[now]) / self.alpha
        if np.array_equal(now, active):
            dual = state.dual[now]
        return NewtonSolution(
            now, dual, state.null, state.values, targets[now], iterations, self.objective(state), factor
        )


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
    """The solution on a quarter of the points, itself started from a quarter of these, and so on: of many points only
    few are ever active at once.
    """
    n = len(K)
    if n <= _DOUBLING_START:
        return None
    part = np.sort(np.random.default_rng(0).permutation(n)[: n // _GROWTH])
    found = minimise(K[np.ix_(part, part)], Q[part], loss.subset(part), alpha, weights[part], max_iter=max_iter)
    active = part[found.active]
    full = np.zeros(n)
    full[active] = found.dual
    values = _product(K, active, found.dual, full) + Q @ found.null
    return NewtonSolution(active, found.dual, found.null, values, found.targets, 0, np.inf, found.factor)


def leave_one_out(solution: NewtonSolution, removal: BasisRemoval | None = None) -> np.ndarray:
    """f(x_i) of the machine trained without point i, if the active set of the others stays: t_i - a_i / B_ii, B the
    dual block of the inverse of the saddle matrix.

    Points outside the active set keep their value, unless their kernel term leaves with them (``removal``). Where an
    active point alone determines part of the null space the value is NaN.
    """
    values = solution.values.copy()
    diagonal, dual = solution.factor.inverse_diagonal(), solution.dual
    if removal is not None:
        diagonal, dual = _without_kernel_terms(solution, removal, diagonal, values)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(diagonal > 1e-12 * np.abs(diagonal).max(initial=0.0), dual / diagonal, np.nan)
    values[solution.active] = solution.targets - change
    return values


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
        return 1.0 + np.einsum("ij,ij->i", self.left, self.right)


def _without_kernel_terms(solution, removal: BasisRemoval, diagonal, values) -> tuple[np.ndarray, np.ndarray]:
    """Rank-one changes of inverse and coefficients for every point; values of inactive points are changed in place."""
    s = solution.active
    Vs = removal.rows(s)
    BV, HV = solution.factor.solve(Vs)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (solution.dual @ Vs) / (removal.W - np.einsum("si,si->i", Vs, BV))
        response = np.einsum("si,si->i", removal.K[s], BV) + np.einsum("iq,qi->i", removal.Q, HV)
        values += gain * (response - removal.diagonal())
        own = BV[np.arange(len(s)), s]
        spread = own / (removal.W - np.einsum("si,si->i", Vs, BV))[s]
    return diagonal + own * spread, solution.dual + own * gain[s]
