"""Choosing alpha of a margin machine by leave-one-out errors along a path with warm starts (DESIGN 4.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

_DECADES = (-5.0, 2.0)
_PER_DECADE = 2
_MIDDLE = -1.0
_PATIENCE = 2
_PLATEAU = 2


@dataclass
class MarginPath:
    """Alphas tried, their leave-one-out errors, and the solution at the best one."""

    alpha: float = np.nan
    errors: float = np.inf
    solution: object = None
    table: dict[float, dict] = field(default_factory=dict)

    def record(self, alpha: float, solution, errors: float) -> float:
        self.table[alpha] = {"errors": errors, "active": len(solution.active), "iterations": solution.iterations}
        if errors < self.errors or (errors == self.errors and alpha > self.alpha):
            self.alpha, self.errors, self.solution = alpha, errors, solution
        return errors

    def arrays(self) -> dict[str, np.ndarray]:
        alphas = sorted(self.table)
        columns = {name: np.array([self.table[a][name] for a in alphas]) for name in ("errors", "active", "iterations")}
        return {"alpha": np.array(alphas), **columns}


def default_alphas(scale: float) -> np.ndarray:
    """Two alphas a decade, in units of the mean eigenvalue of the kernel, so that they scale with the data."""
    low, high = _DECADES
    return scale * np.logspace(low, high, int((high - low) * _PER_DECADE) + 1)


def choose_by_leave_one_out(
    alphas: np.ndarray,
    scale: float,
    solve: Callable[[float, object], object],
    errors_of: Callable[[object], float],
    exhaustive: bool = False,
) -> MarginPath:
    """Walk from the middle of the path upwards, then downwards, while leave-one-out errors are not clearly worse than
    the best (``exhaustive``: to the ends).

    ``solve(alpha, start)`` returns a solution, ``errors_of(solution)`` its weighted leave-one-out errors. "Clearly"
    means by more than their standard deviation twice in a row, or twice that once; the walk also ends when nothing
    changes any more. Ties go to the larger alpha.
    """
    alphas = np.unique(alphas)
    path = MarginPath()
    middle = int(np.argmin(np.abs(np.log(alphas / scale) - np.log(10.0) * _MIDDLE)))
    first = None
    for direction in (range(middle, len(alphas)), range(middle - 1, -1, -1)):
        start, worse, same, last = first, 0, 0, None
        for i in direction:
            start = solve(float(alphas[i]), start)
            first = start if first is None else first
            errors = path.record(float(alphas[i]), start, errors_of(start))
            excess = (errors - path.errors) / max(1.0, np.sqrt(path.errors))
            worse = worse + (1 if excess < 2 else _PATIENCE) if excess > 1 else 0
            change = np.inf if last is None else abs(len(start.active) - last[1]) + abs(errors - last[0])
            same, last = (same + 1 if change <= 0.01 * len(start.active) else 0), (errors, len(start.active))
            if not exhaustive and (worse >= _PATIENCE or same >= _PLATEAU):
                break
    return path
