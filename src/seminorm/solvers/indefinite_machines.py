"""Margin machines with an indefinite kernel: stationary points of alpha <f, f> + sum_i w_i loss_i(f_i) by
:mod:`.indefinite`.

As in :mod:`.newton` and :mod:`.hinge`, f = K a + Q b with Q'a = 0. On the active set of a squared loss a stationary
point solves (K_ss + alpha W^-1) a_s + Q_s b = t_s, whatever the signs of the eigenvalues of K; leaving out an active
point i takes its row and column from this system, so the leave-one-out value is t_i - a_i / B_ii, B the dual block of
the inverse, as in the definite case.
"""

from __future__ import annotations

import numpy as np

from .hinge import BoxMachineSolution
from .indefinite import BoxQuadratic, StationaryPoint
from .newton import NewtonSolution
from .saddle import SaddleFactor


def hinge(
    K: np.ndarray, Q: np.ndarray, y: np.ndarray, alpha: float, weights: np.ndarray, max_rounds: int = 100
) -> BoxMachineSolution:
    """For the loss max(0, 1 - y_i f_i): 0 <= y_i a_i <= w_i / (2 alpha)."""
    return _box_machine(_one_sided(K, Q, y, np.zeros(len(y)), weights / (2.0 * alpha)), y, max_rounds)


def squared_hinge(
    K: np.ndarray, Q: np.ndarray, y: np.ndarray, alpha: float, weights: np.ndarray, max_rounds: int = 100
) -> NewtonSolution:
    """For the loss max(0, 1 - y_i f_i)^2: 0 <= y_i a_i, and alpha / w_i on the diagonal."""
    problem = _one_sided(K, Q, y, alpha / weights, np.full(len(y), np.inf))
    return _squared_machine(problem, y, max_rounds)


def insensitive(
    K: np.ndarray,
    Q: np.ndarray,
    y: np.ndarray,
    epsilon: float,
    alpha: float,
    weights: np.ndarray,
    max_rounds: int = 100,
) -> BoxMachineSolution:
    """For the loss max(0, |y_i - f_i| - epsilon): |a_i| <= w_i / (2 alpha)."""
    return _box_machine(_two_sided(K, Q, y, epsilon, np.zeros(len(y)), weights / (2.0 * alpha)), y, max_rounds)


def squared_insensitive(
    K: np.ndarray,
    Q: np.ndarray,
    y: np.ndarray,
    epsilon: float,
    alpha: float,
    weights: np.ndarray,
    max_rounds: int = 100,
) -> NewtonSolution:
    """For the loss max(0, |y_i - f_i| - epsilon)^2, with alpha / w_i on the diagonal."""
    problem = _two_sided(K, Q, y, epsilon, alpha / weights, np.full(len(y), np.inf))
    return _squared_machine(problem, y, max_rounds)


def leave_one_out_factor(solution: BoxMachineSolution, K: np.ndarray, Q: np.ndarray) -> SaddleFactor:
    """The saddle system of the points strictly inside the box, which stay on the margin."""
    margin = solution.active[solution.inside]
    G = K[np.ix_(margin, margin)]
    G[np.diag_indices_from(G)] += 1e-12 * np.abs(K.diagonal()).mean()
    return SaddleFactor(G, Q[margin])


def _one_sided(K, Q, y, ridge, limits) -> BoxQuadratic:
    lower, upper = np.where(y > 0, 0.0, -limits), np.where(y > 0, limits, 0.0)
    return BoxQuadratic(K, ridge, np.arange(len(y)), y.astype(float), lower, upper, Q)


def _two_sided(K, Q, y, epsilon, ridge, limits) -> BoxQuadratic:
    zero = np.zeros(len(y))
    return BoxQuadratic(
        K,
        ridge,
        np.tile(np.arange(len(y)), 2),
        np.concatenate([y - epsilon, y + epsilon]),
        np.concatenate([zero, -limits]),
        np.concatenate([limits, zero]),
        np.vstack([Q, Q]),
    )


def _descend(problem: BoxQuadratic, max_rounds: int) -> tuple[StationaryPoint, np.ndarray]:
    """From zero, whatever was found for another alpha: a machine does not depend on the way to it."""
    found = problem.descend(np.zeros(len(problem.points)), max_rounds=max_rounds)
    return found, problem.coefficients(found.a)


def _box_machine(problem: BoxQuadratic, y, max_rounds) -> BoxMachineSolution:
    found, a = _descend(problem, max_rounds)
    active = np.flatnonzero(a)
    limits = np.maximum(problem.upper, -problem.lower)[: len(y)]
    residuals = {"stationarity": found.violation}
    values = problem.values(found.a) + problem.E[: len(y)] @ found.multipliers
    inside = np.abs(a[active]) < limits[active]
    return BoxMachineSolution(active, a[active], found.multipliers, values, inside, found.iterations, residuals)


def _squared_machine(problem: BoxQuadratic, y, max_rounds) -> NewtonSolution:
    found, a = _descend(problem, max_rounds)
    n, active = len(y), np.flatnonzero(a)
    Q = problem.E[:n]
    values = problem.values(found.a) - problem.ridge * a + Q @ found.multipliers
    edges = np.where(a >= 0, problem.c[:n], problem.c[-n:])  # what a point above or below is drawn to
    factor = problem.factor(active, Q[active])
    objective = float(a @ (values - Q @ found.multipliers) + a @ (problem.ridge * a))
    return NewtonSolution(
        active, a[active], found.multipliers, values, edges[active], found.iterations, objective, factor
    )
