"""Margin machines by repeated least squares, for functions that are not expansions in kernels."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._base.warnings import warn_user
from .newton import SmoothLoss, first_zero

_NEGLIGIBLE_DECREASE = 1e-6
_BISECTIONS = 60
_LEVEL = 1e-9


@dataclass
class Candidate:
    """A function known by its coefficients: its values at the data, and the squared semi-norm as a quadratic form."""

    coef: np.ndarray
    values: np.ndarray
    energy: float


def minimize_by_fits(
    loss: SmoothLoss,
    weights: np.ndarray,
    alpha: float,
    start: Candidate,
    fit: Callable[[np.ndarray, np.ndarray, Candidate, bool], Candidate],
    mixed_energy: Callable[[Candidate, Candidate], float],
    max_iter: int,
) -> tuple[Candidate, np.ndarray, int]:
    """Minimise alpha |f|^2 + sum_i w_i loss_i(f_i): the minimiser, its active points, and how many fits it took.

    ``fit(targets, weights, start, exact)`` minimises alpha |f|^2 + sum_i w_i (f_i - t_i)^2, roughly or exactly, where
    the weights are zero at points that are not active; ``mixed_energy`` is the inner product of the semi-norm. Each fit
    is followed by an exact line search, so that the objective never rises. Fits are rough until the active set has
    settled.
    """
    objective = _Objective(loss, weights, alpha)
    now, exact = start, False
    for iteration in range(1, max_iter + 1):
        active = loss.active(now.values)
        pull = np.where(active, weights * loss.curvature(now.values), 0.0)
        proposal = fit(loss.targets(now.values), pull, now, exact)
        before = objective(now)
        now, step = objective.line_search(now, proposal, mixed_energy(now, proposal))
        settled = step == 1.0 and np.array_equal(loss.active(now.values), active)
        settled = settled or before - objective(now) <= _NEGLIGIBLE_DECREASE * before
        if settled and exact:
            return now, loss.active(now.values), iteration
        exact = exact or settled
    warn_user(
        f"the active set did not settle in {max_iter} fits for alpha={alpha:g}: raise max_iter, or alpha.",
        ConvergenceWarning,
    )
    return now, loss.active(now.values), max_iter


class _Objective:
    """alpha |f|^2 + sum_i w_i loss_i(f_i)."""

    def __init__(self, loss: SmoothLoss, weights: np.ndarray, alpha: float):
        self.loss, self.weights, self.alpha = loss, weights, alpha

    def __call__(self, candidate: Candidate) -> float:
        return float(self.alpha * candidate.energy + (self.weights * self.loss.value(candidate.values)).sum())

    def line_search(self, old: Candidate, new: Candidate, mixed: float) -> tuple[Candidate, float]:
        """The minimum between two functions: the slope of the objective is increasing, so bisection finds its zero."""
        change = new.values - old.values
        curvature = old.energy - 2.0 * mixed + new.energy

        def slope(t: float) -> float:
            pull = (self.weights * self.loss.gradient(old.values + t * change) * change).sum()
            return 2.0 * self.alpha * (mixed - old.energy + t * curvature) + pull

        if slope(1.0) <= _LEVEL * self(old):
            return new, 1.0
        step = first_zero(slope, _BISECTIONS)
        energy = old.energy + 2.0 * step * (mixed - old.energy) + step**2 * curvature
        return Candidate(old.coef + step * (new.coef - old.coef), old.values + step * change, energy), step
