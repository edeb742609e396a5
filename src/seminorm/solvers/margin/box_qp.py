"""min 1/2 a'Qa - c'a subject to E a = e, 0 <= a <= u: one dense quadratic program for every machine with a box.

A primal-dual interior point method with Mehrotra's predictor and corrector. A step costs one factorisation of Q + D,
D diagonal and positive, and a Schur complement of the size of the equalities. The multipliers of the equalities are
part of the answer: for support vector machines they are the coefficients of the null space.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from ..._base.warnings import warn_user

_PATIENCE = 25

Solver = Callable[[np.ndarray], np.ndarray]


class DenseForm:
    """The quadratic form of a symmetric positive semi-definite matrix; ``scale`` is the mean eigenvalue."""

    def __init__(self, Q: np.ndarray):
        self.Q = np.asarray(Q, dtype=float)
        self.size = len(self.Q)
        self.scale = max(float(np.trace(self.Q)) / max(self.size, 1), np.finfo(float).tiny)

    def product(self, a: np.ndarray) -> np.ndarray:
        """Q a."""
        return self.Q @ a

    def shifted_solver(self, diagonal: np.ndarray) -> Solver:
        """A function B -> (Q + diag)^-1 B."""
        return _cholesky_solver(self.Q, diagonal)


class PairedForm:
    """[[K, -K], [-K, K]] for machines with two variables per point (above and below a tube), at the price of one K."""

    def __init__(self, K: np.ndarray):
        self.K = np.asarray(K, dtype=float)
        self.size = 2 * len(self.K)
        self.scale = max(float(np.trace(self.K)) / max(len(self.K), 1), np.finfo(float).tiny)

    def product(self, a: np.ndarray) -> np.ndarray:
        """The matrix times a."""
        n = len(self.K)
        up = self.K @ (a[:n] - a[n:])
        return np.concatenate([up, -up])

    def shifted_solver(self, diagonal: np.ndarray) -> Solver:
        """A function B -> (D + [[K, -K], [-K, K]])^-1 B, D diagonal.

        The difference v of the two halves of the solution satisfies (I + T K) v = D1^-1 b1 - D2^-1 b2, T = D1^-1 +
        D2^-1. Each half then follows from the equation with the larger entry of D, and the other from v: nothing
        cancels.
        """
        n = len(self.K)
        first, second = diagonal[:n, None], diagonal[n:, None]
        root = np.sqrt(1.0 / first + 1.0 / second)
        solve = _cholesky_solver(root * self.K * root.T, np.ones(n))
        large = first >= second

        def apply(B):
            flat = B.ndim == 1
            b1, b2 = (B[:n, None], B[n:, None]) if flat else (B[:n], B[n:])
            v = root * solve((b1 / first - b2 / second) / root)
            Kv = self.K @ v
            x1 = np.where(large, (b1 - Kv) / first, v + (b2 + Kv) / second)
            x2 = np.where(large, x1 - v, (b2 + Kv) / second)
            result = np.concatenate([x1, x2])
            return result[:, 0] if flat else result

        return apply


def _cholesky_solver(Q: np.ndarray, diagonal: np.ndarray):
    A = np.array(Q, order="F")
    A[np.diag_indices_from(A)] += diagonal
    L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)

    def apply(B):
        return solve_triangular(
            L, solve_triangular(L, B, lower=True, check_finite=False), lower=True, trans="T", check_finite=False
        )

    return apply


@dataclass
class BoxSolution:
    """The minimiser with its multipliers, and how well it satisfies the optimality conditions."""

    a: np.ndarray
    multipliers: np.ndarray  #: of the equalities
    lower: np.ndarray  #: multipliers of a >= 0
    upper: np.ndarray  #: multipliers of a <= u
    residuals: dict[str, float]  #: stationarity, equality and complementarity, relative to the scale of the problem
    iterations: int
    converged: bool


class InfeasibleError(ValueError):
    """The equalities have no solution inside the box."""


def solve_box_qp(
    Q: np.ndarray | DenseForm | PairedForm,
    c: np.ndarray,
    E: np.ndarray,
    e: np.ndarray,
    u: np.ndarray,
    tolerance: float = 1e-9,
    max_iter: int = 100,
) -> BoxSolution:
    """Solve min 1/2 a'Qa - c'a, E a = e, 0 <= a <= u.

    Q is positive semi-definite, at least on the null space of E, whose r >= 0 rows are independent; u is positive and
    may be infinite. The tolerance is for the residuals of stationarity, equality and complementarity, relative to the
    scale of the problem. InfeasibleError is raised if no a in the box satisfies the equalities.
    """
    form = DenseForm(Q) if isinstance(Q, np.ndarray) else Q
    problem = _Problem(form, np.asarray(c, float), np.asarray(E, float), np.asarray(e, float), np.asarray(u, float))
    state, steps, stalled = problem.start(), 0, 0
    best, residuals = state, problem.residuals(state)
    while steps < max_iter and max(residuals.values()) >= tolerance and stalled < _PATIENCE:
        try:
            state = problem.step(state)
        except (np.linalg.LinAlgError, ValueError):  # lost to rounding: the best point so far counts
            break
        steps += 1
        found = problem.residuals(state)
        better = max(found.values()) < max(residuals.values())
        stalled = 0 if better else stalled + 1
        if better:
            best, residuals = state, found
    converged = max(residuals.values()) < 100 * tolerance
    if not converged:
        problem.refuse_infeasible()
        warn_user(
            f"the interior point method stopped after {steps} steps with relative residuals "
            + ", ".join(f"{name} {value:.1e}" for name, value in residuals.items())
            + ": rescale the problem, or add to the diagonal of Q.",
            ConvergenceWarning,
        )
    a, _, lower, upper, nu = best
    return BoxSolution(a, nu, lower, upper, residuals, steps, converged)


class _Problem:
    """Residuals, steps and scales of one quadratic program."""

    def __init__(self, form, c, E, e, u):
        n = form.size
        if c.shape != (n,) or u.shape != (n,) or E.ndim != 2 or E.shape[1] != n or e.shape != (len(E),):
            raise ValueError(
                f"for Q of size {n}, c and u must be ({n},), E (r, {n}) and e (r,): got {c.shape}, {u.shape}, "
                f"{E.shape}, {e.shape}."
            )
        if not (u > 0).all():
            raise ValueError("u must be positive: leave out the variables that are fixed to zero.")
        self.form, self.c, self.E, self.e, self.u = form, c, E, e, u
        self.bounded = np.isfinite(u)
        self.size_c = max(np.abs(c).max(initial=0.0), 1e-300)
        # the size of a typical solution: where the gradient vanishes, or what the equalities ask for
        needed = np.abs(e) / np.maximum(np.abs(E).sum(axis=1), 1e-300)
        self.size_a = max(self.size_c / form.scale, 10 * needed.max(initial=0.0))
        typical = np.minimum(u, self.size_a)
        self.row_scale = np.maximum(np.abs(E) @ typical + np.abs(e), 1e-300)
        # what counts as zero energy when the solution itself is zero
        self.least_energy = 1e-3 * self.size_c * typical.sum()

    def start(self):
        a = np.minimum(np.where(self.bounded, 0.5 * self.u, np.inf), self.size_a)
        gap = np.where(self.bounded, self.u - a, 1.0)
        lower, upper = np.full(len(a), self.size_c), np.where(self.bounded, self.size_c, 0.0)
        return a, gap, lower, upper, np.zeros(len(self.E))

    def residuals(self, state) -> dict[str, float]:
        a, gap, lower, upper, nu = state
        Qa = self.form.product(a)
        stationarity = Qa - self.c + self.E.T @ nu - lower + upper
        products = a @ lower + gap[self.bounded] @ upper[self.bounded]
        energy = abs(a @ Qa) + abs(self.c @ a) + self.least_energy
        equality = np.abs(self.E @ a - self.e) / self.row_scale
        found = {
            "stationarity": float(np.abs(stationarity).max(initial=0.0) / self.size_c),
            "equality": float(equality.max(initial=0.0)),
            "complementarity": float(products / max(energy, 1e-300)),
        }
        return {name: value if np.isfinite(value) else np.inf for name, value in found.items()}

    def step(self, state):
        a, gap, lower, upper, nu = state
        stationarity = self.form.product(a) - self.c + self.E.T @ nu - lower + upper
        equality = self.E @ a - self.e
        solve = self.form.shifted_solver(lower / a + upper / gap)
        right = solve(self.E.T) if len(self.E) else np.empty((len(a), 0))
        schur = self.E @ right

        def direction(target_lower, target_upper):
            # lower = (target_lower - lower * da) / a - lower ..., eliminated into one system for da
            push = -stationarity + target_lower / a - lower - np.where(self.bounded, target_upper / gap - upper, 0.0)
            base = solve(push)
            d_nu = np.linalg.lstsq(schur, self.E @ base + equality, rcond=None)[0] if len(self.E) else np.empty(0)
            da = base - right @ d_nu
            d_lower = (target_lower - lower * da) / a - lower
            d_upper = np.where(self.bounded, (target_upper + upper * da) / gap - upper, 0.0)
            return da, d_lower, d_upper, d_nu

        count = len(a) + self.bounded.sum()
        mu = ((a * lower).sum() + (gap * upper)[self.bounded].sum()) / count
        zero = np.zeros_like(a)
        da, d_lower, d_upper, _ = direction(zero, zero)
        length = self._length(a, gap, lower, upper, da, d_lower, d_upper, 1.0)
        after = (a + length * da) @ (lower + length * d_lower)
        after += ((gap - length * da) * (upper + length * d_upper))[self.bounded].sum()
        center = mu * min(1.0, (after / count / mu) ** 3)
        da, d_lower, d_upper, d_nu = direction(center - da * d_lower, center + da * d_upper)
        length = self._length(a, gap, lower, upper, da, d_lower, d_upper, 0.995)
        moved = np.where(self.bounded, gap - length * da, 1.0)  # kept apart from a, or it would round to zero
        return a + length * da, moved, lower + length * d_lower, upper + length * d_upper, nu + length * d_nu

    def _length(self, a, gap, lower, upper, da, d_lower, d_upper, damping) -> float:
        """The longest step that keeps everything positive; one for both sides, because Q couples them."""
        inside = self.bounded
        longest = min(
            *(_to_boundary(a, da), _to_boundary(gap[inside], -da[inside])),
            *(_to_boundary(lower, d_lower), _to_boundary(upper[inside], d_upper[inside])),
        )
        return min(1.0, damping * longest)

    def refuse_infeasible(self):
        if not len(self.E):
            return
        bounds = np.column_stack([np.zeros(len(self.u)), self.u])
        if linprog(np.zeros(len(self.u)), A_eq=self.E, b_eq=self.e, bounds=bounds, method="highs").status == 2:
            raise InfeasibleError(
                "no point of the box 0 <= a <= u satisfies E a = e: the constraints contradict each other."
            )


def _to_boundary(x, dx) -> float:
    """How far one may go along dx before some entry of x is zero; a little over 1 if never."""
    shrinking = dx < 0
    return float((-x[shrinking] / dx[shrinking]).min(initial=2.0))
