"""Machines that describe one class, by their duals: the smallest sphere, and the slab.

The smallest sphere in feature space with a share of the points outside is min a'Ka - a'diag(K) subject to sum a = 1,
0 <= a <= 1 / (nu n): a combines the centre. Adding b_i + b_j to K changes nothing, so that K may be centred: that makes
it positive semi-definite if the kernel is conditionally positive definite of order 1.

The slab around the points, as far from the origin as possible [Walder 2008, 4.4.1], is min 1/2 a'Ka + delta sum |a|
with a = a+ - a-, sum a = 1, 0 <= a+, a- <= 1 / (nu n): a combines its normal.
"""

from dataclasses import dataclass

import numpy as np

from ...nullspace.linear_algebra import project_kernel_matrix
from .box_qp import PairedForm, solve_box_qp
from .indefinite import is_definite, stationary_point

_NEGLIGIBLE = 1e-7
_AT_BOUND = 1e-6
_RIDGE = 1e-8
_ROUNDING = 1e-14
_SLACK = 1e-6


@dataclass
class EnclosingSphere:
    """Centre sum_i weights[i] phi(x_i) and radius of a sphere."""

    weights: np.ndarray
    squared_radius: float
    reach: float  #: the squared radius with the tolerance of the solver: points on the sphere are within
    convex: bool  #: whether the matrix was semi-definite and the sphere is the smallest, or only stationary


def enclosing_sphere(K: np.ndarray, nu: float) -> EnclosingSphere:
    """The smallest sphere in the feature space of a kernel matrix with the share 0 < nu <= 1 of the points outside."""
    n = len(K)
    centered = project_kernel_matrix(K, np.ones((n, 1)))
    size = float(np.abs(K).max())
    bound = 1.0 / (nu * n) if nu * n > 1 else np.inf
    if bound * n <= 1.0 + _ROUNDING or np.abs(centered).max() <= _ROUNDING * n * size:
        a, convex = np.full(n, 1.0 / n), True  # nothing to choose, or all points are one
    else:
        a, convex = _weights(centered, bound)
    a = np.where(a > _NEGLIGIBLE * a.max(), a, 0.0)
    a = a / a.sum()
    products = centered @ a
    squared = np.diagonal(centered) - 2.0 * products + a @ products
    inside_box = (a > 0) & (a < (1.0 - _AT_BOUND) * bound)
    radius = _squared_radius(squared, a, bound, inside_box)
    reach = max(radius, squared[inside_box].max(initial=-np.inf))
    slack = 1e-9 * float(np.abs(squared).max()) + _ROUNDING * size
    return EnclosingSphere(a, radius, reach + slack, convex)


def _weights(centered: np.ndarray, bound: float) -> tuple[np.ndarray, bool]:
    """The minimiser of the dual, or a stationary point of it if it is not convex, and which of the two."""
    n = len(centered)
    diagonal, upper = np.diagonal(centered), np.full(n, bound)
    if not is_definite(centered, _RIDGE):
        return stationary_point(2.0 * centered, diagonal, np.ones(n), 1.0, upper).a, False
    form = 2.0 * centered
    form[np.diag_indices(n)] += _RIDGE * diagonal.mean()
    return solve_box_qp(form, diagonal, np.ones((1, n)), np.ones(1), upper).a, True


def _squared_radius(squared: np.ndarray, a: np.ndarray, bound: float, inside_box: np.ndarray) -> float:
    """That of points inside the box; if there are none, midway between the points within and those outside."""
    if inside_box.any():
        depth = np.where(inside_box, a * (bound - a if np.isfinite(bound) else 1.0), 0.0)
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


def slab(K: np.ndarray, nu: float, delta: float) -> Slab:
    """Minimise 1/2 |g|^2 - rho + 1 / (nu n) sum_i max(0, |g(x_i) - rho| - delta), K positive definite, 0 < nu <= 1."""
    n = len(K)
    signs = np.repeat([1.0, -1.0], n)
    bounds = np.full(2 * n, (1.0 + _SLACK) / (nu * n))
    level = float(K.mean())  # by the equality it changes the multiplier alone, and gives the problem its scale
    solution = solve_box_qp(PairedForm(K), level * signs - delta, signs[None], np.ones(1), bounds)
    weights = solution.a[:n] - solution.a[n:]
    weights[np.abs(weights) <= _NEGLIGIBLE * np.abs(weights).max()] = 0.0
    rho = level - float(solution.multipliers[0])
    return Slab(weights / weights.sum(), rho, delta + _SLACK * abs(rho), solution.iterations)
