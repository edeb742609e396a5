"""Machines that describe one class, by their duals: the smallest sphere, and the slab.

The smallest sphere in feature space with a share of the points outside is min a'Ka - a'diag(K) subject to sum a = 1,
0 <= a <= w / (nu sum w), w the weights of the points: a combines the centre. Adding b_i + b_j to K changes nothing, so
that K may be centred: that makes it positive semi-definite if the kernel is conditionally positive definite of order 1.

The slab around the points, as far from the origin as possible [Walder 2008, 4.4.1], is min 1/2 a'Ka + delta sum |a|
with a = a+ - a-, sum a = 1, 0 <= a+, a- <= w / (nu sum w): a combines its normal.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .box_qp import PairedForm, solve_box_qp
from .indefinite import is_definite, stationary_point

_NEGLIGIBLE = 1e-7
_AT_BOUND = 1e-6
_RIDGE = 1e-8
_ROUNDING = 1e-14
_SLACK = 1e-6
_ACTIVE_SET_FROM = 300
_JOINING = 24
_ROUNDS = 2000
_SETTLED = 1e-8


@dataclass
class EnclosingSphere:
    """Centre sum_i weights[i] phi(x_i) and radius of a sphere."""

    weights: np.ndarray
    squared_radius: float
    reach: float  #: the squared radius with the tolerance of the solver: points on the sphere are within
    convex: bool  #: whether the matrix was semi-definite and the sphere is the smallest, or only stationary


def enclosing_sphere(
    K: np.ndarray, nu: float, sample_weight: np.ndarray | None = None, definite: bool = False
) -> EnclosingSphere:
    """The smallest sphere in the feature space of a kernel matrix with the share 0 < nu <= 1 of the points outside.

    ``definite`` says that the matrix is known to be so.
    """
    n = len(K)
    shares = _shares(sample_weight, n)
    mean = K.mean(axis=0)
    centered = K - mean
    centered -= mean[:, None] - mean.mean()
    size = float(np.abs(K).max())
    bound = np.where(shares < nu, shares / nu, np.inf)
    if bound.sum() <= 1.0 + _ROUNDING or np.abs(centered).max() <= _ROUNDING * n * size:
        a, convex = shares.copy(), True  # nothing to choose, or all points are one
    else:
        a, convex = _weights(centered, bound, definite)
    a = np.where(a > _NEGLIGIBLE * a.max(), a, 0.0)
    a = a / a.sum()
    products = centered @ a
    squared = np.diagonal(centered) - 2.0 * products + a @ products
    inside_box = (a > 0) & (a < (1.0 - _AT_BOUND) * bound)
    radius = _squared_radius(squared, a, bound, inside_box)
    reach = max(radius, squared[inside_box].max(initial=-np.inf))
    slack = 1e-9 * float(np.abs(squared).max()) + _ROUNDING * size
    return EnclosingSphere(a, radius, reach + slack, convex)


def _shares(sample_weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights that add up to one."""
    return np.full(n, 1.0 / n) if sample_weight is None else sample_weight / sample_weight.sum()


def _weights(centered: np.ndarray, upper: np.ndarray, definite: bool) -> tuple[np.ndarray, bool]:
    """The minimiser of the dual, or a stationary point of it if it is not convex, and which of the two."""
    n, diagonal = len(centered), np.diagonal(centered).copy()
    if not (definite or is_definite(centered, _RIDGE)):
        return stationary_point(2.0 * centered, diagonal, np.ones(n), 1.0, upper).a, False
    form = 2.0 * centered
    form[np.diag_indices(n)] += _RIDGE * diagonal.mean()
    found = _by_active_set(form, diagonal, upper) if n > _ACTIVE_SET_FROM else None
    if found is not None:
        return found, True
    return solve_box_qp(form, diagonal, np.ones((1, n)), np.ones(1), upper).a, True


def _by_active_set(Q: np.ndarray, c: np.ndarray, upper: np.ndarray) -> np.ndarray | None:
    """min 1/2 a'Qa - c'a, sum a = 1, 0 <= a <= upper: few variables lie strictly between their bounds, and the others
    are known once these are. The worst of those that should leave their bound join in, a few at a time, and go back
    where they meet it again. None if that does not end."""
    order = np.argsort(-c, kind="stable")  # the points farthest from the mean first: a good start
    room = np.minimum(upper, 1.0)
    a = np.zeros(len(c))
    a[order] = np.clip(1.0 - (np.cumsum(room[order]) - room[order]), 0.0, room[order])
    slope, free = Q @ a - c, np.flatnonzero((a > 0) & (a < upper))
    free = free if len(free) else order[np.flatnonzero(a[order] > 0)[-1:]]
    tolerance = _SETTLED * float(np.abs(c).max())
    for _ in range(_ROUNDS):
        factor = cho_factor(Q[np.ix_(free, free)], lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, np.column_stack([-slope[free], np.ones(len(free))]), check_finite=False)
        change = solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                change > 0, (upper[free] - a[free]) / change, np.where(change < 0, -a[free] / change, np.inf)
            )
        step = min(1.0, float(room.min(initial=np.inf)))
        a[free] += step * change
        slope += Q[:, free] @ (step * change)
        if step < 1.0:  # some meet a bound
            met = room <= step
            a[free[met]] = np.where(change[met] > 0, upper[free[met]], 0.0)
            free = free[~met]
            if len(free):
                continue
        rises, falls = a < upper, a > 0
        level = slope[free].mean() if len(free) else 0.5 * (slope[rises].min() + slope[falls].max())
        low = np.where(rises, level - slope, -np.inf)
        high = np.where(falls, slope - level, -np.inf)
        low[free] = high[free] = -np.inf
        if max(low.max(), high.max()) <= tolerance:
            return a
        joining = [np.argsort(-gain)[:_JOINING] for gain in (low, high)]
        wanted = [rows[gain[rows] > tolerance] for rows, gain in zip(joining, (low, high), strict=True)]
        free = np.union1d(free, np.concatenate(wanted))
    return None


def _squared_radius(squared: np.ndarray, a: np.ndarray, bound: np.ndarray, inside_box: np.ndarray) -> float:
    """That of points inside the box; if there are none, midway between the points within and those outside."""
    if inside_box.any():
        depth = np.where(inside_box, a * np.where(np.isfinite(bound), bound - a, 1.0), 0.0)
        return float(depth @ squared / depth.sum())
    within, outside = squared[a == 0], squared[a > 0]
    if not len(within):  # all points share the centre
        return float(squared.min())
    return 0.5 * float(within.max() + outside.min())


@dataclass
class Slab:
    """The function g = sum_i weights[i] k(., x_i), and the level rho of the middle of the slab."""

    weights: np.ndarray
    rho: float
    reach: float  #: half of the width with the tolerance of the solver: points on the faces are within
    iterations: int


def slab(K: np.ndarray, nu: float, delta: float, sample_weight: np.ndarray | None = None) -> Slab:
    """Minimise 1/2 |g|^2 - rho + sum_i w_i / (nu sum w) max(0, |g(x_i) - rho| - delta), K positive definite."""
    n = len(K)
    signs = np.repeat([1.0, -1.0], n)
    bounds = np.tile(_shares(sample_weight, n) * (1.0 + _SLACK) / nu, 2)
    level = float(K.mean())  # by the equality it changes the multiplier alone, and gives the problem its scale
    solution = solve_box_qp(PairedForm(K), level * signs - delta, signs[None], np.ones(1), bounds)
    weights = solution.a[:n] - solution.a[n:]
    weights[np.abs(weights) <= _NEGLIGIBLE * np.abs(weights).max()] = 0.0
    rho = level - float(solution.multipliers[0])
    return Slab(weights / weights.sum(), rho, delta + _SLACK * abs(rho), solution.iterations)
