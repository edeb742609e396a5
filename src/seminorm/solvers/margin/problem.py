"""One margin problem: a loss on the points of a machine, at a given alpha or at one that is chosen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from ...losses import CLASSIFICATION, Loss, all_losses
from . import box_machines, newton, primal
from .active_set import Gram
from .basis_machine import BasisMachine
from .box_machines import BoxLoss, BoxMachineSolution
from .indefinite import UnboundedError
from .low_rank_machine import Machine as FullMachine
from .machines import Coefficients
from .newton import NewtonSolution, SmoothLoss
from .path import SMALLEST_ERROR, SMALLEST_HINGE, AlphaRule, AlphaSearch, MarginPath
from .primal import PrimalSolution
from .separation import separator_that_vanishes

_CORNERS = 10.0 ** np.arange(-1.0, -7.0, -1.0)
EMPTY_PATH = MarginPath().arrays()
Machine = FullMachine | BasisMachine
MarginSolution = NewtonSolution | BoxMachineSolution | PrimalSolution


@dataclass
class MarginFit:
    """A trained machine: coefficients, the alpha used, the path that led to it, and fitted values."""

    machine: Machine
    parts: tuple  #: active points, dual and null-space coefficients, values: what the machine expands
    alpha: float  #: NaN if the null space alone meets all points, and alpha was to be chosen
    path: dict[str, np.ndarray]
    iterations: int
    solution: MarginSolution | None = None  #: None if the null space alone meets all points
    groups: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """f at the points."""
        return self.parts[3]

    @cached_property
    def left_out(self) -> np.ndarray:
        """f at each point of the machine trained without it; NaN where there is none."""
        return self.values if self.solution is None else _left_out(self.machine, self.solution, self.groups)

    @property
    def coefficients(self) -> Coefficients:
        """Of the kernel and of the null space."""
        return self.machine.expand(*self.parts)


class _NoMinimum:
    """In place of a solution, for an alpha that is too small for an indefinite kernel."""

    active, iterations = np.empty(0, dtype=int), 0


class MarginProblem:
    """A loss on the points of a machine, with positive weights.

    The loss is one of labels -1 and 1, of numbers, or with points on the boundary, whose labels are 0
    (:meth:`seminorm.losses.PerPoint.with_boundary`). ``groups`` (n,) names the place of each point, -1 for a place of
    its own: what is left out is a place, with all of its points.
    """

    def __init__(
        self, machine: Machine, loss: Loss, weights: np.ndarray, max_iter: int = 100, groups: np.ndarray | None = None
    ):
        self.machine, self.loss, self.weights, self.max_iter, self.groups = machine, loss, weights, max_iter, groups
        self.watch: Callable[[float], None] = lambda alpha: None
        self._search: AlphaSearch | None = None
        self._only = np.nan  # the one alpha that was tried, if it is one
        if isinstance(machine, BasisMachine) and not (loss.provides(newton.NEEDS) or hasattr(loss, "smoothed")):
            raise ValueError(
                f"the loss {loss.name!r} does not suit a machine on few basis points: it needs the methods "
                f"{newton.NEEDS}, or the method 'smoothed'."
            )
        needs = [box_machines.NEEDS] if machine.indefinite else [newton.NEEDS, box_machines.NEEDS]
        if not any(loss.provides(names) for names in needs):
            raise ValueError(_refusal(loss, machine.indefinite))

    @property
    def unit(self) -> float:
        """What alphas are measured by: the mean eigenvalue of the kernel, times the mean weight and curvature."""
        return self.machine.scale * float(self.weights.mean()) * self.loss.stiffness

    @property
    def judges(self) -> np.ndarray | None:
        """The points whose leave-one-out values choose alpha; None for all."""
        return self.machine.K.judges if isinstance(self.machine, BasisMachine) else None

    def fit(self, alpha: float | np.ndarray | None, rule: AlphaRule | None = None) -> MarginFit:
        """Train at a given alpha, or at the best of some candidates, judged by a rule for leave-one-out values."""
        if rule is None:
            rule = SMALLEST_HINGE if self.loss.task == CLASSIFICATION else SMALLEST_ERROR
        if alpha is not None and np.ndim(alpha) == 0:
            if self.separator is not None:  # no kernel needed, whatever alpha is
                return self._null_space_alone(float(alpha))
            return self._finish(float(alpha), self.solve(float(alpha)), EMPTY_PATH)
        if alpha is None:
            self.explore(rule)
            self.refine()
        else:
            self.exhaust(rule, np.asarray(alpha, dtype=float))
        return self.best()

    def explore(self, rule: AlphaRule, alpha: float | None = None, step: float = 10.0) -> None:
        """Walk over alphas, by default from where the rule says."""
        if self.separator is None:
            self._searching(rule).explore(self.unit * 10.0**rule.start if alpha is None else alpha, step)

    def exhaust(self, rule: AlphaRule, alphas: np.ndarray) -> None:
        """Try all of these alphas, and nothing else."""
        self._only = float(alphas[0]) if len(alphas) == 1 else np.nan
        if self.separator is None:
            self._search = None
            self._searching(rule).exhaust(alphas)

    def refine(self) -> None:
        """Smaller steps around the best alpha."""
        if self._search is not None:
            self._search.refine()

    def best(self) -> MarginFit:
        """The machine at the best alpha tried."""
        if self._search is None:
            return self._null_space_alone(self._only)
        path = self._search.path
        if not np.isfinite(path.best):  # the largest alpha tells why
            self.solve(max(path.table))
        solution = path.solution if self._smoothed is None else self.solve(path.alpha)
        return self._finish(path.alpha, cast(MarginSolution, solution), path.arrays())

    @cached_property
    def _smoothed(self) -> "MarginProblem | None":
        """The problem with the corners of the loss rounded, if Newton's method needs that; paths are those of it."""
        if self.machine.indefinite or self.loss.provides(newton.NEEDS) or not hasattr(self.loss, "smoothed"):
            return None
        return MarginProblem(self.machine, self.loss.smoothed(), self.weights, self.max_iter, self.groups)

    def best_score(self, rule: AlphaRule) -> float:
        """The score of :meth:`best`."""
        if self._search is None:
            return rule.score(self.loss, self.best().values, self.weights)
        return self._search.best

    def _searching(self, rule: AlphaRule) -> AlphaSearch:
        smooth = self._smoothed

        def score(solution) -> float:
            if isinstance(solution, _NoMinimum):
                return np.inf
            values, judges = self.leave_one_out(solution), self.judges
            if judges is None:
                return rule.score(self.loss, values, self.weights)
            return rule.score(self.loss.subset(judges), values[judges], self.weights[judges])

        def solve(alpha: float, start: Any) -> Any:
            solution = (self if smooth is None else smooth)._try(alpha, start)
            self.watch(alpha)
            return solution

        if self._search is None:
            self._search = AlphaSearch(solve, score, rule.slack)
        return self._search

    def path(self, alphas: np.ndarray) -> Iterator[tuple[float, MarginFit | None]]:
        """Trained machines for decreasing alphas, each started from the one before; None where there is none."""
        start = None
        for alpha in np.sort(alphas)[::-1]:
            if self.separator is not None:
                yield alpha, self._null_space_alone(float(alpha))
                continue
            start = self._try(float(alpha), start)
            self.watch(float(alpha))
            yield alpha, None if isinstance(start, _NoMinimum) else self._finish(float(alpha), start, EMPTY_PATH)

    def _try(self, alpha: float, start=None):
        try:
            return self.solve(alpha, start)
        except UnboundedError:
            return _NoMinimum()

    def solve(self, alpha: float, start: NewtonSolution | None = None) -> MarginSolution:
        """The solution at one alpha, by the solver that the loss allows."""
        K, Q, loss = self.machine.K, self.machine.Q, self.loss
        if self.machine.indefinite:
            return box_machines.solve_indefinite(
                cast(np.ndarray, K), Q, cast(BoxLoss, loss), alpha, self.weights, self.max_iter
            )
        if isinstance(self.machine, BasisMachine):
            return self._solve_on_basis(self.machine, alpha, start)
        if loss.provides(newton.NEEDS):
            return newton.minimize(cast(Gram, K), Q, cast(SmoothLoss, loss), alpha, self.weights, start, self.max_iter)
        return box_machines.solve(cast(np.ndarray, K), Q, cast(BoxLoss, loss), alpha, self.weights)

    def _solve_on_basis(self, machine: BasisMachine, alpha: float, start: Any) -> PrimalSolution:
        """By Newton's method; corners of the loss are rounded less and less, to a millionth."""
        gram = machine.gram(id(self))
        for share in (None,) if self.loss.provides(newton.NEEDS) else _CORNERS:
            loss = cast(SmoothLoss, self.loss if share is None else cast(Any, self.loss).smoothed(share))
            start = primal.minimize(gram, loss, alpha, self.weights, start, self.max_iter)
        return start

    def leave_one_out(self, solution: MarginSolution) -> np.ndarray:
        """Values that each point would get from the machine trained without it, the active set of the others kept."""
        return _left_out(self.machine, solution, self.groups)

    @cached_property
    def separator(self) -> np.ndarray | None:
        """The smallest null-space coefficients that meet all labels, if any do: the kernel has nothing to do then."""
        if self.loss.task != CLASSIFICATION:
            return None
        return separator_that_vanishes(self.machine.Q, self.loss.y)

    def _finish(self, alpha: float, solution: MarginSolution, path: dict) -> MarginFit:
        if isinstance(solution, PrimalSolution):
            parts = solution.parts
        else:
            parts = (solution.active, solution.dual, solution.null, solution.values)
        iterations = int(path["iterations"].sum()) if len(path["alpha"]) else solution.iterations
        return MarginFit(self.machine, parts, alpha, path, iterations, solution, self.groups)

    def _null_space_alone(self, alpha: float) -> MarginFit:
        null = self.separator
        assert null is not None
        parts = (np.empty(0, dtype=int), np.empty(0), null, self.machine.Q @ null)
        return MarginFit(self.machine, parts, alpha, EMPTY_PATH, 0)


def _left_out(machine: Machine, solution: MarginSolution, groups: np.ndarray | None) -> np.ndarray:
    return solution.leave_one_out(machine.K, machine.Q, machine.removal, groups)  # type: ignore[arg-type]


def _refusal(loss: Loss, indefinite: bool) -> str:
    if not indefinite:
        return f"the loss {loss.name!r} suits no solver: it needs the methods {newton.NEEDS} or {box_machines.NEEDS}."
    names = sorted(
        repr(known.name) for known in all_losses() if known.task == loss.task and known.provides(box_machines.NEEDS)
    )
    return (
        f"the kernel matrix has negative eigenvalues, and the loss {loss.name!r} has no box for a stationary point: "
        f"use one of {', '.join(dict.fromkeys(names))}, or clip the negative eigenvalues."
    )
