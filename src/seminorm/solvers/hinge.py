"""Hinge and epsilon-insensitive machines by the box QP (seed 001, 23-25; seed 003, 54-55; DESIGN 4.6).

As in :mod:`.newton`, f = K a + Q b with Q'a = 0, and the objective is alpha a'Ka + sum_i w_i loss_i(f_i); the
multipliers of the equalities are b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from .box_qp import DenseForm, PairedForm, solve_box_qp
from .newton import ActiveSetFactor

_AT_BOUND = 1e-6
_NEGLIGIBLE = 1e-7


@dataclass
class BoxMachineSolution:
    """Coefficients of a machine with a box: support points, those of them strictly inside the box, and the optimality
    residuals.
    """

    active: np.ndarray  #: indices of the support points
    dual: np.ndarray  #: their coefficients a
    null: np.ndarray  #: b
    values: np.ndarray  #: f at all points
    inside: np.ndarray  #: which support points lie strictly inside the box, on the margin
    iterations: int
    residuals: dict[str, float]


def hinge(K: np.ndarray, Q: np.ndarray, y: np.ndarray, alpha: float, weights: np.ndarray) -> BoxMachineSolution:
    """Minimise alpha a'Ka + sum_i w_i max(0, 1 - y_i f_i)."""
    form = DenseForm(K * (y[:, None] * y / (2.0 * alpha)))
    solution = solve_box_qp(form, np.ones(len(y)), (y[:, None] * Q).T, np.zeros(Q.shape[1]), weights)
    support, inside = _support(solution.a, weights)
    dual = np.where(support, solution.a, 0.0) * y / (2.0 * alpha)
    kernel_part = K @ dual
    null = solution.multipliers
    if Q.shape[1] and np.linalg.matrix_rank(Q[inside]) < Q.shape[1]:
        null = _settle_multipliers(null, kernel_part, Q, y, weights)
    return _collect(dual, inside, null, kernel_part + Q @ null, solution)


def _settle_multipliers(null, kernel_part, Q, y, weights) -> np.ndarray:
    """The multipliers are not unique: those of the interior point method lie amid the best ones, unless it was
    inexact.
    """
    best = null_coefficients_by_lp(kernel_part, Q, y, weights)
    losses = [(weights * np.maximum(0.0, 1.0 - y * (kernel_part + Q @ b))).sum() for b in (null, best)]
    return null if losses[0] <= losses[1] + 1e-6 * max(losses[1], weights.sum()) else best


def null_coefficients_by_lp(kernel_part: np.ndarray, Q: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """min_b sum_i w_i max(0, 1 - y_i (g_i + Q_i b)) for a given kernel part g (seed 001, 25)."""
    n, r = Q.shape
    cost = np.concatenate([np.zeros(r), weights])
    rows = np.hstack([-(y[:, None] * Q), -np.eye(n)])
    bounds = [(None, None)] * r + [(0, None)] * n
    result = linprog(cost, A_ub=rows, b_ub=y * kernel_part - 1.0, bounds=bounds, method="highs")
    return result.x[:r]


def epsilon_insensitive(
    K: np.ndarray, Q: np.ndarray, y: np.ndarray, epsilon: float, alpha: float, weights: np.ndarray
) -> BoxMachineSolution:
    """Minimise alpha a'Ka + sum_i w_i max(0, |y_i - f_i| - epsilon)."""
    form = PairedForm(K / (2.0 * alpha))
    linear = np.concatenate([y - epsilon, -y - epsilon])
    solution = solve_box_qp(
        form, linear, np.hstack([Q.T, -Q.T]), np.zeros(Q.shape[1]), np.concatenate([weights, weights])
    )
    n = len(y)
    signed = solution.a[:n] - solution.a[n:]
    support, inside = _support(np.abs(signed), weights)
    dual = np.where(support, signed, 0.0) / (2.0 * alpha)
    return _collect(dual, inside, solution.multipliers, K @ dual + Q @ solution.multipliers, solution)


def _support(a: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which variables are not zero, and which of them lie strictly inside the box (an interior point is never quite
    at its bounds).
    """
    support = a > _NEGLIGIBLE * a.max(initial=0.0)
    return support, support & (a < (1.0 - _AT_BOUND) * weights)


def _collect(dual, inside, null, values, solution) -> BoxMachineSolution:
    active = np.flatnonzero(dual)
    return BoxMachineSolution(
        active, dual[active], null, values, inside[active], solution.iterations, solution.residuals
    )


def leave_one_out_hinge(solution: BoxMachineSolution, K: np.ndarray, Q: np.ndarray, factor=None) -> np.ndarray:
    """f(x_i) of the machine trained without point i, if the other points keep their place inside or at the bound of
    the box.

    Points inside the box then move so that they stay on the margin: leaving out i takes a_i times the distance of
    phi(., x_i) from their span. ``factor`` is the factorisation of their system, if there is one already.
    """
    values = solution.values.copy()
    margin, bound = solution.active[solution.inside], solution.active[~solution.inside]
    if factor is None:
        jitter = 1e-12 * float(np.trace(K)) / len(K)
        factor = ActiveSetFactor(K, Q, np.ones(len(K)), jitter, margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        values[margin] -= solution.dual[solution.inside] / factor.inverse_diagonal()
    values[bound] -= solution.dual[~solution.inside] * factor.conditional_variance(K, Q, margin, bound)
    return values
