"""Margin machines with points on the boundary (seed 004, 4.2): squared error to 0 at some points, a margin at others.

As in :mod:`.newton`, f = K a + Q b with Q'a = 0. The objective is alpha a'Ka + sum_{y_i = 0} w_i f_i^2 + sum_{y_i != 0}
w_i max(0, 1 - y_i f_i)^p; with a hard margin y_i f_i >= 1 is demanded instead. For p = 2 this is Newton's method with a
loss of its own. For p = 1 and the hard margin the coefficients of the boundary points are free in the dual, and are
eliminated: a box QP in the labelled points is left, whose matrix is the kernel conditioned on the boundary points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn_user
from . import newton
from .box_qp import DenseForm, solve_box_qp
from .hinge import BoxMachineSolution
from .separation import separates, smallest_separator

LOSSES = ("squared_hinge", "hinge", "hard")
_RIDGE = 1e-12
_RANK = 1e-10
_MISMATCH = 1e-6
_AT_BOUND = 1e-6
_NEGLIGIBLE = 1e-7
_DECADES = (-8.0, 1.0)
_PER_DECADE = 2
_PATIENCE = 4
_FLAT = 1.1
_NEGLIGIBLE_DECREASE = 1e-6
_BISECTIONS = 60
_LEVEL = 1e-9


class BoundaryAndMargin:
    """f^2 where y = 0, max(0, 1 - y f)^2 elsewhere: a loss for Newton's method (see :mod:`seminorm.losses`)."""

    def __init__(self, y: np.ndarray):
        self.y = y

    def subset(self, points: np.ndarray) -> BoundaryAndMargin:
        return BoundaryAndMargin(self.y[points])

    def active(self, f: np.ndarray) -> np.ndarray:
        return (self.y == 0) | (self.y * f < 1.0)

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y


def losses(y: np.ndarray, f: np.ndarray, loss: str) -> np.ndarray:
    """The loss of each point for given values; with a hard margin the squared hinge tells how far it is missed."""
    miss = np.maximum(0.0, 1.0 - y * f)
    return np.where(y == 0, f**2, miss if loss == "hinge" else miss**2)


def solve_with_box(
    K: np.ndarray, Q: np.ndarray, y: np.ndarray, alpha: float, weights: np.ndarray, hard: bool = False
) -> BoxMachineSolution:
    """Minimise alpha a'Ka + sum_{y = 0} w f^2 + sum_{y != 0} w max(0, 1 - y f), or with y f >= 1 for ``hard``."""
    surface, labelled = np.flatnonzero(y == 0), np.flatnonzero(y)
    signs = y[labelled]
    if hard:
        refuse_inseparable(K[np.ix_(labelled, labelled)], Q[labelled], signs)
    factor = newton.ActiveSetFactor(K, Q, weights, alpha, surface)
    conditioned = _conditional_covariance(factor, K, Q, surface, labelled)
    rows = (signs[:, None] * (Q[labelled] @ factor.undetermined)).T
    bounds = np.full(len(labelled), np.inf) if hard else weights[labelled]
    form = DenseForm(conditioned * (signs[:, None] * signs / (2.0 * alpha)))
    solution = solve_box_qp(form, np.ones(len(labelled)), rows, np.zeros(len(rows)), bounds)
    support = solution.a > _NEGLIGIBLE * solution.a.max(initial=0.0)
    inside = np.ones(len(y), dtype=bool)
    inside[labelled] = solution.a < (1.0 - _AT_BOUND) * bounds
    dual = np.zeros(len(y))
    dual[labelled] = np.where(support, solution.a, 0.0) * signs / (2.0 * alpha)
    dual[surface], null = _boundary_coefficients(factor, K, Q, surface, labelled, dual[labelled])
    null = null + factor.undetermined @ solution.multipliers
    active, values = np.flatnonzero(dual), K @ dual + Q @ null
    return BoxMachineSolution(
        active, dual[active], null, values, inside[active], solution.iterations, solution.residuals
    )


def _boundary_coefficients(factor, K, Q, surface, labelled, dual) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the boundary points and the null space for given ones of the labelled points."""
    whitened = _whitened(factor, -K[np.ix_(surface, labelled)] @ dual)
    null = factor.schur_root @ (factor.schur_root.T @ (factor.WQ.T @ whitened + Q[labelled].T @ dual))
    return solve_triangular(factor.L, whitened - factor.WQ @ null, lower=True, trans="T", check_finite=False), null


def _whitened(factor: newton.ActiveSetFactor, B: np.ndarray) -> np.ndarray:
    return solve_triangular(factor.L, B, lower=True, check_finite=False)


def _conditional_covariance(factor: newton.ActiveSetFactor, K, Q, given: np.ndarray, others: np.ndarray) -> np.ndarray:
    """K on other points, conditioned on the given ones with their noise, the null space eliminated as far as these
    determine it.
    """
    whitened = _whitened(factor, K[np.ix_(given, others)])
    remainder = factor.schur_root.T @ (Q[others].T - factor.WQ.T @ whitened)
    H = K[np.ix_(others, others)] - whitened.T @ whitened + remainder.T @ remainder
    H[np.diag_indices_from(H)] += _RIDGE * float(np.trace(K)) / len(K)
    return 0.5 * (H + H.T)


def refuse_inseparable(K: np.ndarray, Q: np.ndarray, signs: np.ndarray) -> None:
    """Raise ValueError if no function f = K a + Q b has y f >= 1 at all labelled points."""
    eigenvalues, vectors = eigh(K)
    reach = np.hstack([vectors[:, eigenvalues > _RANK * eigenvalues[-1]], Q])
    nearest = reach @ np.linalg.lstsq(reach, signs, rcond=None)[0]
    if (signs * nearest > 0).all():
        return
    size = reach.shape[1]
    found = linprog(
        np.zeros(size), A_ub=-signs[:, None] * reach, b_ub=-np.ones(len(signs)), bounds=[(None, None)] * size
    )
    if found.status == 2:
        raise ValueError(
            "margin='hard' cannot be met: no function of this kernel and null space separates the points labelled -1 "
            "and +1. Use margin='soft', a kernel with more freedom, or check the labels."
        )


def leave_one_out(solution, K: np.ndarray, Q: np.ndarray, y: np.ndarray, alpha: float, weights) -> np.ndarray:
    """f(x_i) of the box machine trained without point i, if the other points keep their place inside or at the bound
    of the box.

    Boundary points are least squares with noise alpha / w, labelled points inside the box interpolate.
    """
    values = solution.values.copy()
    moving, bound = solution.active[solution.inside], solution.active[~solution.inside]
    moving = np.union1d(moving, np.flatnonzero(y == 0))
    jitter = _RIDGE * float(np.trace(K)) / len(K)
    noise = np.where(y == 0, weights, alpha / jitter)
    factor = newton.ActiveSetFactor(K, Q, noise, alpha, moving)
    dual = np.zeros(len(y))
    dual[solution.active] = solution.dual
    with np.errstate(divide="ignore", invalid="ignore"):
        values[moving] = y[moving] - dual[moving] / factor.inverse_diagonal()
    values[bound] -= dual[bound] * factor.conditional_variance(K, Q, moving, bound)
    return values


@dataclass
class ImplicitFit:
    """A trained machine: active points with their coefficients, null-space coefficients, values, and the alpha used."""

    active: np.ndarray
    dual: np.ndarray
    null: np.ndarray
    values: np.ndarray
    alpha: float
    path: dict[str, np.ndarray]
    iterations: int

    @property
    def parts(self) -> tuple:
        """What a machine of :mod:`.machines` expands."""
        return self.active, self.dual, self.null, self.values


class ImplicitProblem:
    """Boundary points (y = 0) and labelled points (y = -1, 1) on the matrices of a machine.

    Parameters
    ----------
    machine : FreeMachine or DenseMachine
    y : array (n,) of -1, 0 and 1
    weights : array (n,)
        Positive.
    loss : {"squared_hinge", "hinge", "hard"}
        Of the labelled points.
    """

    def __init__(self, machine, y: np.ndarray, weights: np.ndarray, loss: str, max_iter: int = 100):
        self.machine, self.y, self.weights, self.loss, self.max_iter = machine, y, weights, loss, max_iter

    def fit(self, alpha: float | np.ndarray | None) -> ImplicitFit:
        """Train at a given alpha, or at the one of some (``None``: of a path) with the smallest leave-one-out loss."""
        alone = self._null_space_alone()
        if alone is not None:
            values = self.machine.Q @ alone
            used = np.nan if alpha is None or np.ndim(alpha) else float(alpha)
            return ImplicitFit(np.empty(0, dtype=int), np.empty(0), alone, values, used, _table([]), 0)
        if alpha is not None and np.ndim(alpha) == 0:
            return self._finish(self.solve(float(alpha)), float(alpha), _table([]))
        grid = default_alphas(self.machine.scale) if alpha is None else np.unique(alpha)
        return self._choose(grid, exhaustive=alpha is not None)

    def solve(self, alpha: float, start=None):
        K, Q = self.machine.K, self.machine.Q
        if self.loss == "squared_hinge":
            loss = BoundaryAndMargin(self.y)
            found = newton.minimise(K, Q, loss, alpha, self.weights, start=start, max_iter=self.max_iter)
            return _consistent(found, K, Q, alpha)
        return solve_with_box(K, Q, self.y, alpha, self.weights, hard=self.loss == "hard")

    def leave_one_out(self, solution, alpha: float) -> np.ndarray:
        """Values that each point would get from the machine trained without it, the active set of the others kept."""
        if self.loss == "squared_hinge":
            return newton.leave_one_out(solution, self.machine.removal)
        return leave_one_out(solution, self.machine.K, self.machine.Q, self.y, alpha, self.weights)

    def leave_one_out_loss(self, solution, alpha: float) -> float:
        """Weighted mean of the loss at each point for the machine trained without it; 1 where there is no such
        machine.
        """
        missed = losses(self.y, self.leave_one_out(solution, alpha), self.loss)
        return float(np.average(np.where(np.isfinite(missed), missed, 1.0), weights=self.weights))

    def _choose(self, grid: np.ndarray, exhaustive: bool) -> ImplicitFit:
        """Walk from the largest alpha downwards, while the leave-one-out loss does not rise several times in a row; of
        losses within a tenth of the smallest the largest alpha counts: off-surface points share the noise of the
        surface points that they come from, which leaving out one point at a time does not see.
        """
        tried, start, best, rises = [], None, np.inf, 0
        for alpha in grid[::-1]:
            try:
                start = self.solve(float(alpha), start)
                tried.append((float(alpha), self.leave_one_out_loss(start, float(alpha)), start))
            except np.linalg.LinAlgError:  # too small for the rounding of this kernel, and so are the rest
                if not tried:
                    raise
                break
            rises = 0 if tried[-1][1] < best else rises + 1
            best = min(best, tried[-1][1])
            if rises >= _PATIENCE and not exhaustive:
                break
        alpha, _, solution = next(trial for trial in tried if trial[1] <= _FLAT * best)
        return self._finish(solution, alpha, _table(tried[::-1]))

    def _finish(self, solution, alpha: float, path: dict) -> ImplicitFit:
        iterations = int(path["iterations"].sum()) if len(path["alpha"]) else solution.iterations
        return ImplicitFit(solution.active, solution.dual, solution.null, solution.values, alpha, path, iterations)

    def _null_space_alone(self) -> np.ndarray | None:
        """Coefficients of the null space that vanish at the boundary points and meet the margin, the smallest ones, if
        there are any: then nothing is left for the kernel to do, and alpha plays no part.
        """
        Q = self.machine.Q
        if not Q.shape[1]:
            return None
        surface, labelled = self.y == 0, self.y != 0
        _, sizes, directions = np.linalg.svd(np.linalg.qr(Q[surface], mode="r"))
        rank = int((sizes > _RANK * max(sizes.max(initial=0.0), 1.0 / np.sqrt(len(Q)))).sum())
        vanishing = directions[rank:].T
        if not separates(Q[labelled] @ vanishing, self.y[labelled]):
            return None
        return vanishing @ smallest_separator(Q[labelled] @ vanishing, self.y[labelled])


def _consistent(found: newton.NewtonSolution, K: np.ndarray, Q: np.ndarray, alpha: float) -> newton.NewtonSolution:
    """The solution with coefficients that have its values: residuals divided by a tiny alpha may not."""
    for _ in range(2):
        values = K[:, found.active] @ found.dual + Q @ found.null
        if np.abs(values - found.values).max() <= _MISMATCH * max(1.0, np.abs(found.values).max()):
            return found
        dual, null = found.factor.solve(found.targets, found.null)
        values = K[:, found.active] @ dual + Q @ null
        found = replace(found, dual=dual, null=null, values=values)
    warn_user(f"rounding spoils the function: alpha={alpha:g} is too small for this kernel.", ConvergenceWarning)
    return found


def default_alphas(scale: float) -> np.ndarray:
    """Two alphas a decade, in units of the mean eigenvalue of the kernel; surfaces without noise want small ones."""
    low, high = _DECADES
    return scale * np.logspace(low, high, int((high - low) * _PER_DECADE) + 1)


def _table(tried: list[tuple]) -> dict[str, np.ndarray]:
    return {
        "alpha": np.array([alpha for alpha, _, _ in tried]),
        "loss": np.array([loss for _, loss, _ in tried]),
        "active": np.array([len(found.active) for _, _, found in tried], dtype=int),
        "iterations": np.array([found.iterations for _, _, found in tried], dtype=int),
    }


@dataclass
class Candidate:
    """A function known by its coefficients: its values at the data, and the squared semi-norm as a quadratic form."""

    coef: np.ndarray
    values: np.ndarray
    energy: float


def minimise_by_fits(
    y: np.ndarray,
    weights: np.ndarray,
    alpha: float,
    start: Candidate,
    fit: Callable[[np.ndarray, Candidate, bool], Candidate],
    mixed_energy: Callable[[Candidate, Candidate], float],
    max_iter: int,
) -> tuple[Candidate, np.ndarray, int]:
    """The machine with the squared hinge by repeated least squares, for functions that are not expansions.

    ``fit(active, start, exact)`` minimises alpha |f|^2 + sum_active w (f - y)^2, roughly or exactly; ``mixed_energy``
    is the inner product of the semi-norm. Each fit is followed by an exact line search, so that the objective never
    rises. Fits are rough until the active set has settled. Returns the minimiser, the active points, and the number of
    fits.
    """
    loss, now, exact = BoundaryAndMargin(y), start, False
    for iteration in range(1, max_iter + 1):
        active = loss.active(now.values)
        proposal = fit(active, now, exact)
        before = _objective(now, y, weights, alpha)
        now, step = _line_search(now, proposal, mixed_energy(now, proposal), y, weights, alpha)
        settled = step == 1.0 and np.array_equal(loss.active(now.values), active)
        settled = settled or before - _objective(now, y, weights, alpha) <= _NEGLIGIBLE_DECREASE * before
        if settled and exact:
            return now, loss.active(now.values), iteration
        exact = exact or settled
    warn_user(
        f"the active set did not settle in {max_iter} fits for alpha={alpha:g}: raise max_iter, or alpha.",
        ConvergenceWarning,
    )
    return now, loss.active(now.values), max_iter


def _objective(candidate: Candidate, y, weights, alpha: float) -> float:
    return float(alpha * candidate.energy + (weights * losses(y, candidate.values, "squared_hinge")).sum())


def _line_search(old: Candidate, new: Candidate, mixed: float, y, weights, alpha: float) -> tuple[Candidate, float]:
    """The minimum of the objective between two functions: its slope is increasing, so bisection finds its zero."""
    change, loss = new.values - old.values, BoundaryAndMargin(y)
    curvature = old.energy - 2.0 * mixed + new.energy

    def slope(t):
        values = old.values + t * change
        pull = np.where(loss.active(values), weights * (values - y) * change, 0.0).sum()
        return 2.0 * (alpha * (mixed - old.energy + t * curvature) + pull)

    if slope(1.0) <= _LEVEL * _objective(old, y, weights, alpha):
        return new, 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    energy = old.energy + 2.0 * high * (mixed - old.energy) + high**2 * curvature
    return Candidate(old.coef + high * (new.coef - old.coef), old.values + high * change, energy), high
