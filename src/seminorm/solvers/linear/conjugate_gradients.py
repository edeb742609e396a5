"""Preconditioned conjugate gradients for symmetric positive semi-definite systems with a solution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

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

    def dot(self, x: np.ndarray, y: np.ndarray) -> Any:
        """x . y, one number, or one for each of several systems; its bits do not depend on the number of threads."""

    def combine(self, factor: Any, x: np.ndarray, share: Any, y: np.ndarray) -> None:
        """y = factor x + share y, in place."""


class PlainArithmetic:
    """The same by NumPy."""

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        return float((x * y).sum())

    def combine(self, factor: float, x: np.ndarray, share: float, y: np.ndarray) -> None:
        if share != 1.0:
            y *= share
        y += factor * x


class ColumnArithmetic:
    """Arithmetic for arrays (n, k) whose columns are k systems with the same matrix, solved side by side."""

    def dot(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One number for each column."""
        return np.einsum("ij,ij->j", x, y)

    def combine(self, factor: np.ndarray, x: np.ndarray, share: np.ndarray, y: np.ndarray) -> None:
        """Factors of each column."""
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
    enough: Callable[[np.ndarray], bool] | None = None,
) -> Outcome:
    """Solve A x = right, starting from x and overwriting it, until sqrt(r'Mr / b'Mb) is at most ``tol``.

    ``apply`` is v -> A v, and ``precondition`` v -> M v, an approximate inverse, symmetric and positive definite. A
    semi-definite A is no obstacle as long as the system has a solution: the iterates stay in the range. The residual
    must also fall to the share ``reduction`` of that of the first x, but not below ``floor``: a good start may satisfy
    ``tol`` and still miss what changed since it was found. ``enough``, called with the residual r, may end the
    iteration earlier. Where the arithmetic solves several systems, the worst one counts.
    """
    dot, combine = arithmetic.dot, arithmetic.combine
    scale = dot(right, precondition(right))
    if not np.any(scale > 0.0):
        x[...] = 0.0
        return Outcome(0, 0.0, True)
    r = right - apply(x) if x.any() else right.astype(x.dtype)
    z = precondition(r)
    rho = dot(r, z)
    direction = z.copy()
    tol = min(tol, max(reduction * _relative(rho, scale), floor)) if reduction < 1.0 else tol
    for n in range(max_iter):
        residual = _relative(rho, scale)
        if residual <= tol or (enough is not None and enough(r)):
            return Outcome(n, residual, True)
        image = apply(direction)
        curvature = dot(direction, image)
        if not np.any(curvature > 0.0):  # rounding: nothing more to gain
            return Outcome(n, residual, False)
        step = _quotient(rho, curvature)
        combine(step, direction, 1.0, x)
        combine(-step, image, 1.0, r)
        z = precondition(r)
        rho, previous = dot(r, z), rho
        combine(1.0, z, _quotient(rho, previous), direction)
    residual = _relative(rho, scale)
    return Outcome(max_iter, residual, residual <= tol or (enough is not None and enough(r)))


def _relative(rho: Any, scale: Any) -> float:
    """The square root of the largest quotient."""
    return float(np.sqrt(np.max(_quotient(np.maximum(rho, 0.0), scale))))


def _quotient(x: Any, y: Any) -> Any:
    """x / y where y is positive, 0 elsewhere: systems that are solved stay as they are."""
    if np.ndim(y) == 0:
        return x / y if y > 0.0 else 0.0
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0.0)
