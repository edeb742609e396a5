"""Newton's method on the active set [Walder and Chapelle 2007, 6.1 and algorithm 1].

The problem is to minimise alpha a'Ka + sum_i w_i loss_i(f_i) with f = K a + Q b and Q'a = 0. Near f the loss of an
active point is c_i (f - t_i)^2 plus a constant, that of the others is constant. Such a model is linear least squares,
(K_ss + alpha (W C)_s^-1) a_s + Q_s b = t_s: one Cholesky factorisation and a small Schur complement, no saddle system.
For losses that are squares with a flat part c is 1, the model is exact on the active set s, and points enter and leave
s until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._base.warnings import warn_user
from ...losses import REGRESSION
from .active_set import (
    ActiveSetFactor,
    BasisRemoval,
    Gram,
    LowRankFactor,
    factorize,
    left_out,
    left_out_together,
    product,
    restricted,
)

#: the methods that a loss must have
NEEDS = ("value", "gradient", "active", "targets", "curvature")
DOUBLING_START = 600
GROWTH = 4
_BISECTIONS = 60
_MISMATCH = 1e-6


class SmoothLoss(Protocol):
    """A loss for Newton's method: see :mod:`seminorm.losses`."""

    def value(self, f: np.ndarray) -> np.ndarray: ...
    def gradient(self, f: np.ndarray) -> np.ndarray: ...
    def active(self, f: np.ndarray) -> np.ndarray: ...
    def targets(self, f: np.ndarray) -> np.ndarray: ...
    def curvature(self, f: np.ndarray) -> np.ndarray: ...
    def subset(self, points: np.ndarray) -> SmoothLoss: ...


@dataclass
class NewtonSolution:
    """Coefficients on the active set, null-space coefficients, fitted values, and what leave-one-out needs."""

    active: np.ndarray  #: indices of the points with a coefficient
    dual: np.ndarray  #: a at these points
    null: np.ndarray  #: b
    values: np.ndarray  #: f at all points
    targets: np.ndarray  #: what the points are drawn to where the loss is quadratic
    iterations: int
    factor: ActiveSetFactor | LowRankFactor
    bent: np.ndarray  #: indices of the points where the loss is quadratic

    def leave_one_out(
        self, K: Gram, Q: np.ndarray, removal: BasisRemoval | None = None, groups: np.ndarray | None = None
    ) -> np.ndarray:
        """f(x_i) of the machine trained without point i, or its group, if the active set of the others stays.

        For losses that are not quadratic on the active set it is one Newton step towards that machine. Points outside
        the active set keep their value, unless their kernel term leaves with them (``removal``). Where an active point
        alone determines part of the null space the value is NaN.
        """
        values, full = self.values.copy(), np.zeros(len(self.values))
        full[self.active] = self.dual
        diagonal, dual = self.factor.inverse_diagonal(), full[self.bent]
        straight = np.setdiff1d(self.active, self.bent)
        spread = self.factor.conditional_variance(K, Q, self.bent, straight)  # type: ignore[arg-type]
        if removal is not None:
            factor = cast(ActiveSetFactor, self.factor)
            diagonal, dual, lost = removal.change(self.bent, straight, full, factor, diagonal, values)
            spread = spread - lost
        values[self.bent] = left_out(self.targets, dual, diagonal)
        values[straight] -= full[straight] * spread
        if groups is not None:
            points = np.concatenate([self.bent, straight])
            noise = np.concatenate([self.factor.noise, np.full(len(straight), np.inf)])
            with np.errstate(divide="ignore"):
                variance = np.concatenate([np.maximum(1.0 / diagonal - self.factor.noise, 0.0), spread])
            duals = np.concatenate([dual, full[straight]])
            left_out_together(values, self.values, points, duals, variance, noise, groups)
        return values


def minimize(
    K: Gram,
    Q: np.ndarray,
    loss: SmoothLoss,
    alpha: float,
    weights: np.ndarray,
    start: NewtonSolution | None = None,
    max_iter: int = 100,
) -> NewtonSolution:
    """Minimise by Newton steps on the active set with an exact line search.

    K (n, n) is positive semi-definite, an array or of low rank, Q (n, r) spans the null space on the data, the loss has
    the methods ``NEEDS``, and the weights are positive. ``start`` is the solution for another alpha; without it the
    active set grows from a subset of the points.
    """
    if start is None:
        start = _doubling_start(K, Q, loss, alpha, weights, max_iter)
    return descend(DescentSearch(K, Q, loss, alpha, weights), start, max_iter)


def descend(search: DescentSearch, start: Any, max_iter: int) -> Any:
    """Newton steps until the active set stays, from the solution for another alpha or, if there is none, from zero."""
    nothing = 1e-18 * search.objective(search.zero())
    state = search.beginning() if start is None else search.state_of(start)
    for iteration in range(1, max_iter + 1):  # noqa: B007
        model = search.model(state.values)
        factor = search.factor(model)
        state, step, decrease = search.step_towards(state, search.minimum(model, factor, state))
        settled = step == 1.0 and model == search.model(state.values)
        # points on the margin to rounding come and go; the line search is exact, so no decrease means the minimum
        if settled or decrease <= 1e-14 * search.objective(state) + nothing:
            break
    else:
        warn_user(
            f"Newton's method did not settle on an active set in {max_iter} steps for alpha={search.alpha:g}: raise "
            "max_iter, or alpha.",
            ConvergenceWarning,
        )
    return search.finish(state, model, factor, iteration)


@dataclass
class DescentState:
    """A point of the search: coefficients, with Q'a = 0 (or coordinates), and fitted values."""

    dual: np.ndarray
    null: np.ndarray
    values: np.ndarray


@dataclass(eq=False)
class LossModel:
    """The quadratic model of the loss: active points, what they are drawn to, and how strongly."""

    active: np.ndarray
    targets: np.ndarray
    curvature: np.ndarray
    straight: np.ndarray  #: (n,) coefficients of the points where the loss is linear, zero at the others

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LossModel) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("active", "targets", "curvature", "straight")
        )


class DescentSearch:
    """The objective and its exact line search."""

    def __init__(self, K: Gram, Q: np.ndarray, loss: SmoothLoss, alpha: float, weights: np.ndarray):
        self.K, self.Q, self.loss, self.alpha, self.weights = K, Q, loss, alpha, weights

    def state_of(self, start: Any) -> DescentState:
        """The point where another search ended."""
        return self.state(start.active, start.dual, start.null, start.values)

    def zero(self) -> DescentState:
        n = len(self.K)
        return DescentState(np.zeros(n), np.zeros(self.Q.shape[1]), np.zeros(n))

    def beginning(self) -> DescentState:
        """Zero; or the median of the targets, if the constant is free and that is better: a regression whose loss is
        linear at all points has nothing that bends to lead on."""
        zero = self.zero()
        if not hasattr(self.loss, "linear") or not self.loss.linear(zero.values).any():
            return zero
        level = float(np.median(self.loss.targets(zero.values)))
        middle = self.constant(level) if np.isfinite(level) else zero
        better = self.objective(middle) < self.objective(zero)
        return middle if better and getattr(self.loss, "task", "") == REGRESSION else zero

    def constant(self, level: float) -> DescentState:
        """The constant function, as far as it is free."""
        null = self.Q.T @ np.full(len(self.K), level)
        return DescentState(np.zeros(len(self.K)), null, self.Q @ null)

    def state(
        self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> DescentState:
        full = np.zeros(len(self.K))
        full[active] = dual
        if values is None:
            values = product(self.K, active, dual, full) + self.Q @ null
        return DescentState(full, null, values)

    def model(self, values: np.ndarray) -> LossModel:
        active = np.flatnonzero(self.loss.active(values))
        straight = np.zeros(len(values))
        if hasattr(self.loss, "linear"):
            slopes = -self.weights * self.loss.gradient(values) / (2.0 * self.alpha)
            straight = np.where(self.loss.linear(values), slopes, 0.0)
        return LossModel(active, self.loss.targets(values)[active], self.loss.curvature(values)[active], straight)

    def minimum(self, model: LossModel, factor: Any, before: DescentState) -> DescentState:
        """Where the model is smallest; what it does not determine stays as it was before."""
        previous = before.null
        if not model.straight.any():
            dual, null = factor.solve(model.targets, previous)
            return self.state(model.active, dual, null)
        straight = np.flatnonzero(model.straight)
        fixed = product(self.K, straight, model.straight[straight], model.straight)
        dual, null = factor.solve(model.targets - fixed[model.active], previous, self.Q.T @ model.straight)
        full = model.straight.copy()
        full[model.active] = dual
        points = np.flatnonzero(full)
        return self.state(points, full[points], null)

    def factor(self, model: LossModel) -> Any:
        """The system of the model, factorised."""
        noise = np.zeros(len(self.K))
        noise[model.active] = self.alpha / (self.weights[model.active] * model.curvature)
        try:
            return factorize(self.K, self.Q, noise, model.active)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error}: take a larger alpha than {self.alpha:g}.") from None

    def objective(self, state: DescentState) -> float:
        return float(self.alpha * self.inner(state, state) + self.weights @ self.loss.value(state.values))

    def inner(self, one: DescentState, other: DescentState) -> float:
        """The inner product of the semi-norm: a'K a2 = a'f2."""
        return float(one.dual @ other.values)

    def step_towards(self, old: DescentState, new: DescentState) -> tuple[DescentState, float, float]:
        """The minimum of the objective between old and new: its slope increases, so bisection finds its zero."""
        d_dual, d_values = new.dual - old.dual, new.values - old.values
        change = DescentState(d_dual, new.null - old.null, d_values)
        linear, quadratic = self.inner(change, old) + self.inner(old, change), 2.0 * self.inner(change, change)

        def slope(t: float) -> float:
            pull = self.loss.gradient(old.values + t * d_values) * d_values
            return self.alpha * (linear + t * quadratic) + self.weights @ pull

        before = self.objective(old)
        if slope(1.0) <= 1e-12 * before:
            return new, 1.0, before - self.objective(new)
        step = first_zero(slope, _BISECTIONS)
        mixed = DescentState(old.dual + step * d_dual, old.null + step * change.null, old.values + step * d_values)
        return mixed, step, before - self.objective(mixed)

    def finish(self, state: DescentState, model: LossModel, factor: Any, iterations: int) -> Any:
        """Coefficients on the active set at the minimum, and the factorisation that belongs to it."""
        now = self.model(state.values)
        if now != model:
            factor = self.factor(now)
        if np.array_equal(now.active, model.active) and np.array_equal(now.straight, model.straight):
            full = state.dual
        else:  # the slopes of the loss at the minimum
            full = -(self.weights * self.loss.gradient(state.values)) / (2.0 * self.alpha)
        points = np.union1d(now.active, np.flatnonzero(now.straight))
        found = self.state(points, full[points], state.null)
        # slopes divided by a tiny alpha may not have the values that they come from
        if np.abs(found.values - state.values).max() > _MISMATCH * max(1.0, np.abs(state.values).max()):
            found = self.minimum(now, factor, state)
        else:
            found = DescentState(found.dual, state.null, state.values)
        return NewtonSolution(
            points, found.dual[points], found.null, found.values, now.targets, iterations, factor, now.active
        )


def first_zero(slope: Callable[[float], float], bisections: int) -> float:
    """The zero of an increasing function between 0 and 1, rounded up."""
    low, high = 0.0, 1.0
    for _ in range(bisections):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return high


def _doubling_start(K, Q, loss, alpha, weights, max_iter) -> NewtonSolution | None:
    """The solution on a quarter of the points, started in the same way: few of many points are ever active at once."""
    n = len(K)
    if n <= DOUBLING_START:
        return None
    part = np.sort(np.random.default_rng(0).permutation(n)[: n // GROWTH])
    found = minimize(restricted(K, part), Q[part], loss.subset(part), alpha, weights[part], max_iter=max_iter)
    active = part[found.active]
    full = np.zeros(n)
    full[active] = found.dual
    values = product(K, active, found.dual, full) + Q @ found.null
    return NewtonSolution(active, found.dual, found.null, values, found.targets, 0, found.factor, part[found.bent])
