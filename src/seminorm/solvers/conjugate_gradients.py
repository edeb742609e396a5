"""Preconditioned conjugate gradients for symmetric positive semi-definite systems with a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    """What an iteration reached: the number of steps, and sqrt(r'Mr / b'Mb) for the residual r and the preconditioner
    M.
    """

    n_iter: int
    residual: float
    converged: bool


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    dot: Callable[[np.ndarray, np.ndarray], float],
    right: np.ndarray,
    x: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    reduction: float = 1.0,
) -> Outcome:
    """Solve A x = right, starting from x and overwriting it.

    The iteration stops when the residual is at most ``tol`` and at most ``reduction`` times that of the first x: a good
    start may satisfy ``tol`` and still miss what changed since it was found.

    A semi-definite matrix is no obstacle as long as the system has a solution: the iterates stay in the range.
    """
    scale = dot(right, precondition(right))
    if scale <= 0.0:
        x[...] = 0.0
        return Outcome(0, 0.0, True)
    r = right - apply(x)
    z = precondition(r)
    rho = dot(r, z)
    direction = z.copy()
    tol = min(tol, max(reduction * np.sqrt(max(rho, 0.0) / scale), _ROUNDING)) if reduction < 1.0 else tol
    for n in range(max_iter):
        residual = np.sqrt(max(rho, 0.0) / scale)
        if residual <= tol:
            return Outcome(n, float(residual), True)
        image = apply(direction)
        curvature = dot(direction, image)
        if curvature <= 0.0:  # rounding: nothing more to gain
            return Outcome(n, float(residual), False)
        step = rho / curvature
        x += step * direction
        r -= step * image
        z = precondition(r)
        rho, previous = dot(r, z), rho
        direction *= rho / previous
        direction += z
    residual = np.sqrt(max(rho, 0.0) / scale)
    return Outcome(max_iter, float(residual), bool(residual <= tol))
