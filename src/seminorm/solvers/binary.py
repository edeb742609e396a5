"""One margin machine for two classes: loss, alpha, coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..losses import SquaredHinge
from . import hinge as box
from . import indefinite_machines as stationary
from . import newton
from .indefinite import UnboundedError
from .machines import Coefficients, DenseMachine, FreeMachine
from .margin_path import MarginPath, choose_by_leave_one_out, default_alphas
from .separation import separates, smallest_separator

EMPTY_PATH = MarginPath().arrays()
LOSSES = ("squared_hinge", "hinge")


@dataclass
class BinaryFit:
    """A trained machine: coefficients, the alpha used, the path that led to it, and fitted values."""

    machine: FreeMachine | DenseMachine
    parts: tuple  #: active points, dual and null-space coefficients, values: what the machine expands
    alpha: float
    path: dict[str, np.ndarray]
    values: np.ndarray
    iterations: int

    @property
    def coefficients(self) -> Coefficients:
        return self.machine.expand(*self.parts)


class _NoMinimum:
    """In place of a solution, for an alpha that is too small for an indefinite kernel."""

    active, iterations = np.empty(0, dtype=int), 0


class BinaryProblem:
    """Two classes on the points of a machine.

    Parameters
    ----------
    machine : FreeMachine or DenseMachine
    y : array (n,) of -1 and 1
    weights : array (n,)
        Positive.
    loss : {"squared_hinge", "hinge"}
    """

    def __init__(
        self, machine: FreeMachine | DenseMachine, y: np.ndarray, weights: np.ndarray, loss: str, max_iter: int = 100
    ):
        self.machine, self.y, self.weights, self.loss, self.max_iter = machine, y, weights, loss, max_iter

    def fit(self, alpha: float | np.ndarray | None) -> BinaryFit:
        """Train at a given alpha, or at the one of some (``None``: of the default ones) with the fewest leave-one-out
        errors.
        """
        if separates(self.machine.Q, self.y):  # no kernel needed, whatever alpha is
            return self._null_space_alone(alpha)
        if alpha is not None and np.ndim(alpha) == 0:
            return self._finish(float(alpha), self.solve(float(alpha)), EMPTY_PATH)
        grid = default_alphas(self.machine.scale) if alpha is None else np.asarray(alpha, dtype=float)
        path = choose_by_leave_one_out(grid, self.machine.scale, self._try, self._errors, exhaustive=alpha is not None)
        if path.solution is None:  # the largest alpha tells why
            self.solve(float(grid.max()))
        return self._finish(path.alpha, path.solution, path.arrays())

    def path(self, alphas: np.ndarray):
        """Trained machines for decreasing alphas, each started from the one before; None where there is none."""
        start = None
        separable = separates(self.machine.Q, self.y)
        for alpha in np.sort(alphas)[::-1]:
            if separable:
                yield alpha, self._null_space_alone(alpha)
                continue
            start = self._try(float(alpha), start)
            yield alpha, None if isinstance(start, _NoMinimum) else self._finish(float(alpha), start, EMPTY_PATH)

    def _try(self, alpha: float, start=None):
        try:
            return self.solve(alpha, start)
        except UnboundedError:
            return _NoMinimum()

    def solve(self, alpha: float, start=None):
        K, Q = self.machine.K, self.machine.Q
        if self.machine.indefinite:
            solver = stationary.hinge if self.loss == "hinge" else stationary.squared_hinge
            return solver(K, Q, self.y, alpha, self.weights, self.max_iter)
        if self.loss == "hinge":
            return box.hinge(K, Q, self.y, alpha, self.weights)
        return newton.minimise(K, Q, SquaredHinge(self.y), alpha, self.weights, start=start, max_iter=self.max_iter)

    def leave_one_out(self, solution) -> np.ndarray:
        """Values that each point would get from the machine trained without it, the active set of the others kept."""
        if self.loss == "hinge":
            K, Q = self.machine.K, self.machine.Q
            factor = stationary.leave_one_out_factor(solution, K, Q) if self.machine.indefinite else None
            return box.leave_one_out_hinge(solution, K, Q, factor)
        return newton.leave_one_out(solution, self.machine.removal)

    def _errors(self, solution) -> float:
        if isinstance(solution, _NoMinimum):
            return np.inf
        right = self.y * self.leave_one_out(solution) > 0  # NaN counts as an error
        return float(self.weights[~right].sum())

    def _finish(self, alpha: float, solution, path: dict) -> BinaryFit:
        parts = (solution.active, solution.dual, solution.null, solution.values)
        iterations = int(path["iterations"].sum()) if len(path["alpha"]) else solution.iterations
        return BinaryFit(self.machine, parts, alpha, path, solution.values, iterations)

    def _null_space_alone(self, alpha) -> BinaryFit:
        null = smallest_separator(self.machine.Q, self.y)
        values = self.machine.Q @ null
        parts = (np.empty(0, dtype=int), np.empty(0), null, values)
        used = np.nan if alpha is None or np.ndim(alpha) else float(alpha)
        return BinaryFit(self.machine, parts, used, EMPTY_PATH, values, 0)
