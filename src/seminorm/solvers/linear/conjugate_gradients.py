"""Preconditioned conjugate gradients for symmetric positive semi-definite systems with a solution."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    """Number of steps, sqrt(r'Mr / b'Mb) for the last residual r, and whether it was small enough."""

    n_iter: int
    residual: float
    converged: bool


class Arithmetic(Protocol):
    """What the iteration does with vectors, which are arrays of any shape."""

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        """x . y, whose bits do not depend on the number of threads."""

    def combine(self, factor: float, x: np.ndarray, share: float, y: np.ndarray) -> None:
        """y = factor x + share y, in place."""


class PlainArithmetic:
    """The same by NumPy."""

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        return float((x * y).sum())

    def combine(self, factor: float, x: np.ndarray, share: float, y: np.ndarray) -> None:
        if share != 1.0:
            y *= share
        y += factor * x


_PLAIN = PlainArithmetic()


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    x: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    reduction: float = 1.0,
    floor: float = _ROUNDING,
    arithmetic: Arithmetic = _PLAIN,
) -> Outcome:
    """Solve A x = right, starting from x and overwriting it, until sqrt(r'Mr / b'Mb) is at most ``tol``.

    ``apply`` is v -> A v, and ``precondition`` v -> M v, an approximate inverse, symmetric and positive definite. A
    semi-definite A is no obstacle as long as the system has a solution: the iterates stay in the range. The residual
    must also fall to the share ``reduction`` of that of the first x, but not below ``floor``: a good start may satisfy
    ``tol`` and still miss what changed since it was found.
    """
    outcome = conjugate_gradients_together(
        lambda v: apply(v[0])[None],
        lambda r: precondition(r[0])[None],
        right[None],
        x[None],
        tol=tol,
        max_iter=max_iter,
        reduction=reduction,
        floor=floor,
        arithmetic=arithmetic,
    )
    return outcome[0]


def conjugate_gradients_together(
    apply: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    x: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    reduction: float = 1.0,
    floor: float = _ROUNDING,
    arithmetic: Arithmetic = _PLAIN,
    enough: Callable[[np.ndarray], bool] | None = None,
) -> list[Outcome]:
    """Solve for several right-hand sides (sides, ...) in step, each as :func:`conjugate_gradients` would alone, so that
    one pass over the matrix serves all of them. ``apply`` and ``precondition`` take and return (sides, ...).
    ``enough``, called with the residuals (sides, ...), may end the iteration earlier.
    """
    dot, combine = arithmetic.dot, arithmetic.combine
    scales = [dot(b, z) for b, z in zip(right, precondition(right), strict=True)]
    outcomes = [Outcome(0, 0.0, True) for _ in scales]
    for s in (s for s, scale in enumerate(scales) if scale <= 0.0):
        x[s] = 0.0
    r = right - apply(x) if x.any() else right.astype(x.dtype)
    z = precondition(r)
    rhos, tols = [dot(a, b) for a, b in zip(r, z, strict=True)], [tol] * len(scales)
    left = [s for s, scale in enumerate(scales) if scale > 0.0]
    if reduction < 1.0:
        for s in left:
            tols[s] = min(tol, max(reduction * float(np.sqrt(max(rhos[s], 0.0) / scales[s])), floor))
    direction = z.copy()
    for n in range(max_iter + 1):
        for s in list(left):
            residual = float(np.sqrt(max(rhos[s], 0.0) / scales[s]))
            outcomes[s] = Outcome(n, residual, residual <= tols[s])
            if residual <= tols[s]:
                left.remove(s)
        if not left or n == max_iter:
            break
        if enough is not None and enough(r):
            for s in left:
                outcomes[s] = replace(outcomes[s], converged=True)
            break
        image = apply(direction)
        for s in list(left):
            curvature = dot(direction[s], image[s])
            if curvature <= 0.0:  # rounding: nothing more to gain
                left.remove(s)
                continue
            step = rhos[s] / curvature
            combine(step, direction[s], 1.0, x[s])
            combine(-step, image[s], 1.0, r[s])
        z = precondition(r)
        for s in left:
            rhos[s], previous = dot(r[s], z[s]), rhos[s]
            combine(1.0, z[s], rhos[s] / previous, direction[s])
    return outcomes
