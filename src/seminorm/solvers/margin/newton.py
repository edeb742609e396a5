"""Newton's method on the active set [Walder and Chapelle 2007, 6.1 and algorithm 1].

The problem is to minimise alpha a'Ka + sum_i w_i loss_i(f_i) with f = K a + Q b and Q'a = 0. Near f the loss of an
active point is c_i (f - t_i)^2 plus a constant, that of the others is constant. Such a model is linear least squares,
(K_ss + alpha (W C)_s^-1) a_s + Q_s b = t_s: one Cholesky factorisation and a small Schur complement, no saddle system.
For losses that are squares with a flat part c is 1, the model is exact on the active set s, and points enter and leave
s until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._base.warnings import warn_user
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
_DOUBLING_START = 600
_GROWTH = 4
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

    active: np.ndarray  #: indices of the points with non-zero loss
    dual: np.ndarray  #: a on the active set
    null: np.ndarray  #: b
    values: np.ndarray  #: f at all points
    targets: np.ndarray  #: what the active points are drawn to
    iterations: int
    factor: ActiveSetFactor | LowRankFactor

    def leave_one_out(
        self, K: Gram, Q: np.ndarray, removal: BasisRemoval | None = None, groups: np.ndarray | None = None
    ) -> np.ndarray:
        """f(x_i) of the machine trained without point i, or its group, if the active set of the others stays.

        For losses that are not quadratic on the active set it is one Newton step towards that machine. Points outside
        the active set keep their value, unless their kernel term leaves with them (``removal``). Where an active point
        alone determines part of the null space the value is NaN.
        """
        values = self.values.copy()
        diagonal, dual = self.factor.inverse_diagonal(), self.dual
        if removal is not None:
            diagonal, dual = removal.change(self.active, dual, cast(ActiveSetFactor, self.factor), diagonal, values)
        values[self.active] = left_out(self.targets, dual, diagonal)
        if groups is not None:
            noise = self.factor.noise
            with np.errstate(divide="ignore"):
                variance = np.maximum(1.0 / diagonal - noise, 0.0)
            left_out_together(values, self.values, self.active, dual, variance, noise, groups)
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
    search = _Search(K, Q, loss, alpha, weights)
    nothing = 1e-18 * search.objective(search.zero())
    state = search.zero() if start is None else search.state(start.active, start.dual, start.null, start.values)
    for iteration in range(1, max_iter + 1):  # noqa: B007
        model = search.model(state.values)
        factor = search.factor(model)
        dual, null = factor.solve(model.targets, state.null)
        state, step, decrease = search.step_towards(state, search.state(model.active, dual, null))
        settled = step == 1.0 and model == search.model(state.values)
        # points on the margin to rounding come and go; the line search is exact, so no decrease means the minimum
        if settled or decrease <= 1e-14 * search.objective(state) + nothing:
            break
    else:
        warn_user(
            f"Newton's method did not settle on an active set in {max_iter} steps for alpha={alpha:g}: raise max_iter, "
            "or alpha.",
            ConvergenceWarning,
        )
    return search.finish(state, model, factor, iteration)


@dataclass
class _State:
    """A point of the search: coefficients, with Q'a = 0, and fitted values."""

    dual: np.ndarray
    null: np.ndarray
    values: np.ndarray


@dataclass(eq=False)
class _Model:
    """The quadratic model of the loss: active points, what they are drawn to, and how strongly."""

    active: np.ndarray
    targets: np.ndarray
    curvature: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Model) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("active", "targets", "curvature")
        )


class _Search:
    """The objective and its exact line search."""

    def __init__(self, K: Gram, Q: np.ndarray, loss: SmoothLoss, alpha: float, weights: np.ndarray):
        self.K, self.Q, self.loss, self.alpha, self.weights = K, Q, loss, alpha, weights

    def zero(self) -> _State:
        n = len(self.K)
        return _State(np.zeros(n), np.zeros(self.Q.shape[1]), np.zeros(n))

    def state(self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None) -> _State:
        full = np.zeros(len(self.K))
        full[active] = dual
        if values is None:
            values = product(self.K, active, dual, full) + self.Q @ null
        return _State(full, null, values)

    def model(self, values: np.ndarray) -> _Model:
        active = np.flatnonzero(self.loss.active(values))
        return _Model(active, self.loss.targets(values)[active], self.loss.curvature(values)[active])

    def factor(self, model: _Model) -> ActiveSetFactor | LowRankFactor:
        noise = np.zeros(len(self.K))
        noise[model.active] = self.alpha / (self.weights[model.active] * model.curvature)
        try:
            return factorize(self.K, self.Q, noise, model.active)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error}: take a larger alpha than {self.alpha:g}.") from None

    def objective(self, state: _State) -> float:
        return float(
            self.alpha * state.dual @ state.values + self.weights @ self.loss.value(state.values)
        )  # a'Ka = a'f

    def step_towards(self, old: _State, new: _State) -> tuple[_State, float, float]:
        """The minimum of the objective between old and new: its slope increases, so bisection finds its zero."""
        d_dual, d_values = new.dual - old.dual, new.values - old.values
        linear, quadratic = d_dual @ old.values + old.dual @ d_values, 2.0 * d_dual @ d_values

        def slope(t: float) -> float:
            pull = self.loss.gradient(old.values + t * d_values) * d_values
            return self.alpha * (linear + t * quadratic) + self.weights @ pull

        before = self.objective(old)
        if slope(1.0) <= 1e-12 * before:
            return new, 1.0, before - self.objective(new)
        step = first_zero(slope, _BISECTIONS)
        mixed = _State(old.dual + step * d_dual, old.null + step * (new.null - old.null), old.values + step * d_values)
        return mixed, step, before - self.objective(mixed)

    def finish(
        self, state: _State, model: _Model, factor: ActiveSetFactor | LowRankFactor, iterations: int
    ) -> NewtonSolution:
        """Coefficients on the active set at the minimum, and the factorisation that belongs to it."""
        now = self.model(state.values)
        if now != model:
            factor = self.factor(now)
        if np.array_equal(now.active, model.active):
            dual = state.dual[now.active]
        else:  # the slopes of the loss at the minimum
            dual = -(self.weights * self.loss.gradient(state.values))[now.active] / (2.0 * self.alpha)
        found = NewtonSolution(now.active, dual, state.null, state.values, now.targets, iterations, factor)
        return self._consistent(found)

    def _consistent(self, found: NewtonSolution) -> NewtonSolution:
        """The solution with coefficients that have its values: slopes divided by a tiny alpha may not."""
        state = self.state(found.active, found.dual, found.null)
        if np.abs(state.values - found.values).max() <= _MISMATCH * max(1.0, np.abs(found.values).max()):
            return found
        dual, null = found.factor.solve(found.targets, found.null)
        state = self.state(found.active, dual, null)
        return replace(found, dual=dual, null=null, values=state.values)


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
    if n <= _DOUBLING_START:
        return None
    part = np.sort(np.random.default_rng(0).permutation(n)[: n // _GROWTH])
    found = minimize(restricted(K, part), Q[part], loss.subset(part), alpha, weights[part], max_iter=max_iter)
    active = part[found.active]
    full = np.zeros(n)
    full[active] = found.dual
    values = product(K, active, found.dual, full) + Q @ found.null
    return NewtonSolution(active, found.dual, found.null, values, found.targets, 0, found.factor)
