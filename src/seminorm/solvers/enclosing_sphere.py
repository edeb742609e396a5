"""The smallest sphere in feature space with a share of the points outside, by its dual.

min a'Ka - a'diag(K) subject to sum a = 1, 0 <= a <= 1 / (nu n): a combines the centre. Adding b_i + b_j to K changes
nothing, so that K may be centred: that makes it positive semi-definite if the kernel is conditionally positive
definite of order 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..nullspace.linear_algebra import project_kernel_matrix
from .box_qp import solve_box_qp
from .indefinite import is_definite, stationary_point

_NEGLIGIBLE = 1e-7
_AT_BOUND = 1e-6
_RIDGE = 1e-8
_ROUNDING = 1e-14


@dataclass
class Sphere:
    """Centre sum_i weights[i] phi(x_i) and radius of a sphere."""

    weights: np.ndarray
    squared_radius: float
    reach: float  #: the squared radius with the tolerance of the solver: points on the sphere are within
    convex: bool  #: whether the matrix was semi-definite and the sphere is the smallest, or only stationary


def enclosing_sphere(K: np.ndarray, nu: float) -> Sphere:
    """The sphere for a symmetric kernel matrix and a share 0 < nu <= 1 of points outside."""
    n = len(K)
    centred = project_kernel_matrix(K, np.ones((n, 1)))
    size = float(np.abs(K).max())
    bound = 1.0 / (nu * n) if nu * n > 1 else np.inf
    if bound * n <= 1.0 + _ROUNDING or np.abs(centred).max() <= _ROUNDING * n * size:
        a, convex = np.full(n, 1.0 / n), True  # nothing to choose, or all points are one
    else:
        a, convex = _weights(centred, bound)
    a = np.where(a > _NEGLIGIBLE * a.max(), a, 0.0)
    a = a / a.sum()
    products = centred @ a
    squared = np.diagonal(centred) - 2.0 * products + a @ products
    inside_box = (a > 0) & (a < (1.0 - _AT_BOUND) * bound)
    radius = _squared_radius(squared, a, bound, inside_box)
    reach = max(radius, squared[inside_box].max(initial=-np.inf))
    slack = 1e-9 * float(np.abs(squared).max()) + _ROUNDING * size
    return Sphere(a, radius, reach + slack, convex)


def _weights(centred: np.ndarray, bound: float) -> tuple[np.ndarray, bool]:
    """The minimiser of the dual, or a stationary point of it if it is not convex, and which of the two."""
    n = len(centred)
    diagonal, upper = np.diagonal(centred), np.full(n, bound)
    if not is_definite(centred, _RIDGE):
        return stationary_point(2.0 * centred, diagonal, np.ones(n), 1.0, upper).a, False
    form = 2.0 * centred
    form[np.diag_indices(n)] += _RIDGE * diagonal.mean()
    return solve_box_qp(form, diagonal, np.ones((1, n)), np.ones(1), upper).a, True


def _squared_radius(squared: np.ndarray, a: np.ndarray, bound: float, inside_box: np.ndarray) -> float:
    """Points inside the box lie on the sphere; if there are none, the sphere passes midway between the points within
    and those outside.
    """
    if inside_box.any():
        depth = np.where(inside_box, a * (bound - a if np.isfinite(bound) else 1.0), 0.0)
        return float(depth @ squared / depth.sum())
    within, outside = squared[a == 0], squared[a > 0]
    if not len(within):  # all points share the centre
        return float(squared.min())
    return 0.5 * float(within.max() + outside.min())
