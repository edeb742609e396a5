"""Machines with a box, by the box QP [Li et al. 2007, (23)-(25); Smola et al. 1998, (54)-(55); Walder 2008, 4.2].

As in :mod:`.newton`, f = K a + Q b with Q'a = 0, and the objective is alpha a'Ka + sum_i w_i loss_i(f_i); the
multipliers of the equalities are b. A ridge of the loss goes on the diagonal of K. The coefficients of points without
bounds (those with a squared error) are eliminated: what is left is a program in the other points, whose matrix is the
kernel conditioned on the eliminated ones.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ...losses import SlopeBox
from ..linear.saddle import SaddleFactor
from .active_set import ActiveSetFactor, BasisRemoval, left_out, left_out_together
from .box_qp import BoxSolution, DenseForm, PairedForm, solve_box_qp
from .indefinite import BoxQuadratic, UnboundedError
from .separation import refuse_inseparable

#: the methods that a loss must have
NEEDS = ("value", "box")
_AT_BOUND = 1e-6
_NEGLIGIBLE = 1e-7
_RIDGE = 1e-12


class BoxLoss(Protocol):
    """A loss for the box QP: see :mod:`seminorm.losses`."""

    def value(self, f: np.ndarray) -> np.ndarray: ...
    def box(self) -> SlopeBox: ...


@dataclass
class BoxMachineSolution:
    """Coefficients of a machine with a box: support points, those strictly inside, and the optimality residuals."""

    active: np.ndarray  #: indices of the support points
    dual: np.ndarray  #: their coefficients a
    null: np.ndarray  #: b
    values: np.ndarray  #: f at all points
    inside: np.ndarray  #: which support points lie strictly inside the box
    ridge: np.ndarray  #: (n,) what the loss adds to the diagonal of K
    free: np.ndarray  #: indices of the points without bounds
    iterations: int
    residuals: dict[str, float]
    is_definite: bool = True  #: whether the kernel matrix is

    def leave_one_out(
        self, K: np.ndarray, Q: np.ndarray, removal: BasisRemoval | None = None, groups: np.ndarray | None = None
    ) -> np.ndarray:
        """f(x_i) of the machine trained without point i, or its group, if the other points keep their place inside or
        at the bound of the box.

        Points inside the box then move so that they stay on the margin: leaving out i takes a_i times the distance of
        phi(., x_i) from their span. Points without bounds are least squares.
        """
        values = self.values.copy()
        moving, bound = np.union1d(self.active[self.inside], self.free), self.active[~self.inside]
        factor = self._factor(K, Q, moving)
        dual = np.zeros(len(values))
        dual[self.active] = self.dual
        diagonal, noisy = factor.inverse_diagonal(), self.ridge[moving] > 0
        targets = values[moving] + self.ridge[moving] * dual[moving]
        at_bound, own = factor.conditional_variance(K, Q, moving, bound), dual[moving]
        if removal is not None and isinstance(factor, ActiveSetFactor):
            diagonal, own, lost = removal.change(moving, bound, dual, factor, diagonal, values)
            at_bound = at_bound - lost
        with np.errstate(divide="ignore", invalid="ignore"):
            interpolated = targets - own / diagonal
        values[moving] = np.where(noisy, left_out(targets, own, diagonal), interpolated)
        values[bound] -= dual[bound] * at_bound
        if groups is not None:
            points, ridge = np.concatenate([moving, bound]), np.full(len(bound), np.inf)
            noise = np.concatenate(
                [np.where(noisy, self.ridge[moving], _RIDGE * float(np.abs(K.diagonal()).mean())), ridge]
            )
            with np.errstate(divide="ignore"):
                variance = np.concatenate([np.maximum(1.0 / diagonal - noise[: len(moving)], 0.0), at_bound])
            left_out_together(values, self.values, points, np.concatenate([own, dual[bound]]), variance, noise, groups)
        return values

    def _factor(self, K: np.ndarray, Q: np.ndarray, points: np.ndarray) -> ActiveSetFactor | SaddleFactor:
        noise = np.where(self.ridge > 0, self.ridge, _RIDGE * float(np.abs(K.diagonal()).mean()))
        if self.is_definite:
            return ActiveSetFactor(K, Q, noise, points)
        G = K[np.ix_(points, points)]
        G[np.diag_indices_from(G)] += noise[points]
        return SaddleFactor(G, Q[points])


def solve(K: np.ndarray, Q: np.ndarray, loss: BoxLoss, alpha: float, weights: np.ndarray) -> BoxMachineSolution:
    """Minimise alpha a'Ka + sum_i w_i loss_i(f_i) over f = K a + Q b with Q'a = 0; the loss has what ``NEEDS`` says."""
    box = loss.box()
    variables = _Variables(box, alpha, weights)
    ridge = box.ridge * alpha / weights
    free = box.points[box.is_free]
    if variables.are_hard:
        refuse_inseparable(K[np.ix_(variables.points, variables.points)], Q[variables.points], variables.signs)
    if not len(free):
        solution = variables.solve(K, ridge, Q)
        dual, inside = variables.coefficients(solution.a)
        kernel_part, null = K @ dual, solution.multipliers
        if not ridge.any() and Q.shape[1] and np.linalg.matrix_rank(Q[inside]) < Q.shape[1]:
            null = _settle_multipliers(null, kernel_part, Q, loss, weights)
        values = kernel_part + Q @ null
    else:
        factor = ActiveSetFactor(K, Q, ridge, free)
        conditioned = _conditioned(factor, K, Q, free, np.unique(variables.points))
        solution = variables.solve(conditioned, ridge, Q @ factor.undetermined)
        dual, inside = variables.coefficients(solution.a)
        dual[free], null = factor.solve(box.targets[box.is_free] - K[free] @ dual, moments=Q.T @ dual)
        null = null + factor.undetermined @ solution.multipliers
        inside[free] = True
        values = K @ dual + Q @ null
    active = np.flatnonzero(dual)
    return BoxMachineSolution(
        active, dual[active], null, values, inside[active], ridge, free, solution.iterations, solution.residuals
    )


def _conditioned(
    factor: ActiveSetFactor, K: np.ndarray, Q: np.ndarray, free: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """K on the other points conditioned on the free ones, in the places that these points have in K."""
    H = factor.conditional_covariance(K, Q, free, others)
    H[np.diag_indices_from(H)] += _RIDGE * float(np.trace(K)) / len(K)
    result = np.zeros_like(K)
    result[np.ix_(others, others)] = 0.5 * (H + H.T)
    return result


class _Variables:
    """The variables of a box with bounds, with their signs taken off: 0 <= x <= w limit."""

    def __init__(self, box: SlopeBox, alpha: float, weights: np.ndarray):
        bounded = ~box.is_free
        self.n, self.alpha = len(weights), alpha
        self.points, self.targets = box.points[bounded], box.targets[bounded]
        lower, upper = box.lower[bounded], box.upper[bounded]
        self.signs = np.where(upper > 0, 1.0, -1.0)
        limits = np.where(upper > 0, upper, -lower)
        self.bounds = weights[self.points] * limits
        self.are_hard = bool(len(limits) and np.isinf(limits).all() and not box.ridge[self.points].any())

    def solve(self, K: np.ndarray, ridge: np.ndarray, Q: np.ndarray) -> BoxSolution:
        signs, linear = self.signs, self.signs * self.targets
        rows = (signs[:, None] * Q[self.points]).T
        return solve_box_qp(self._form(K, ridge), linear, rows, np.zeros(len(rows)), self.bounds)

    def _form(self, K: np.ndarray, ridge: np.ndarray) -> DenseForm | PairedForm:
        G = K
        if ridge[self.points].any():
            G = np.array(K)
            G[np.diag_indices_from(G)] += ridge
        everything = np.arange(self.n)
        if np.array_equal(self.points, np.tile(everything, 2)) and (self.signs[: self.n] > 0).all():
            return PairedForm(G / (2.0 * self.alpha))
        if not np.array_equal(self.points, everything):
            G = G[np.ix_(self.points, self.points)]
        return DenseForm(G * (self.signs[:, None] * self.signs / (2.0 * self.alpha)))

    def coefficients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a (n,), and which points lie strictly inside their box (an interior point is never quite at its bounds)."""
        signed = np.bincount(self.points, self.signs * x, minlength=self.n)
        size, bounds = np.abs(signed), np.zeros(self.n)
        np.maximum.at(bounds, self.points, self.bounds)
        support = size > _NEGLIGIBLE * size.max(initial=0.0)
        return np.where(support, signed, 0.0) / (2.0 * self.alpha), support & (size < (1.0 - _AT_BOUND) * bounds)


def _settle_multipliers(
    null: np.ndarray, kernel_part: np.ndarray, Q: np.ndarray, loss: BoxLoss, weights: np.ndarray
) -> np.ndarray:
    """Multipliers that are not unique: those of the interior point lie amid the best ones, unless it was inexact."""
    if not np.isfinite(loss.box().upper - loss.box().lower).all():
        return null
    best = null_coefficients_by_lp(kernel_part, Q, loss.box(), weights)
    values = [weights @ loss.value(kernel_part + Q @ b) for b in (null, best)]
    return null if values[0] <= values[1] + 1e-6 * max(values[1], weights.sum()) else best


def null_coefficients_by_lp(kernel_part: np.ndarray, Q: np.ndarray, box: SlopeBox, weights: np.ndarray) -> np.ndarray:
    """min_b sum_i w_i loss_i(g_i + Q_i b) for a kernel part g and a loss without a ridge [Li et al. 2007, (25)]."""
    m, r = len(box.points), Q.shape[1]
    signs = np.where(box.upper > 0, 1.0, -1.0)
    cost = np.concatenate([np.zeros(r), weights[box.points] * (box.upper - box.lower)])
    rows = sparse.hstack([-(signs[:, None] * Q[box.points]), -sparse.eye(m)], format="csc")
    bounds = [(None, None)] * r + [(0, None)] * m
    right = signs * (kernel_part[box.points] - box.targets)
    return linprog(cost, A_ub=rows, b_ub=right, bounds=bounds, method="highs").x[:r]


def solve_indefinite(
    K: np.ndarray, Q: np.ndarray, loss: BoxLoss, alpha: float, weights: np.ndarray, max_rounds: int = 100
) -> BoxMachineSolution:
    """A stationary point for a symmetric K (n, n) with eigenvalues of either sign, by :mod:`.indefinite`.

    Where no bound is active it solves (K_ss + ridge_s) a_s + Q_s b = t_s, whatever the signs of the eigenvalues;
    leaving out a point i takes its row and column from this system, so leave-one-out is as in the definite case. The
    search starts from zero, whatever was found for another alpha: a machine does not depend on the way to it.
    """
    box = loss.box()
    scale, ridge = weights[box.points] / (2.0 * alpha), box.ridge * alpha / weights
    lower, upper = box.lower * scale, box.upper * scale
    problem = BoxQuadratic(K, ridge, box.points, box.targets, lower, upper, Q[box.points])
    try:
        found = problem.descend(np.zeros(len(box.points)), max_rounds=max_rounds)
    except UnboundedError:
        raise UnboundedError(
            f"there is no stationary point: the kernel matrix is too indefinite for alpha={alpha:g}. Take a larger "
            "alpha, a loss with bounded slopes (hinge, epsilon-insensitive), or clip the negative eigenvalues."
        ) from None
    a = problem.coefficients(found.a)
    values = problem.values(found.a) - ridge * a + Q @ found.multipliers
    active, limits = np.flatnonzero(a), np.zeros(len(weights))
    np.maximum.at(limits, box.points, np.maximum(upper, -lower))
    return BoxMachineSolution(
        active,
        a[active],
        found.multipliers,
        values,
        np.abs(a[active]) < limits[active],
        ridge,
        box.points[box.is_free],
        found.iterations,
        {"stationarity": found.violation},
        is_definite=False,
    )
