"""Margin machines on trial: a kernel, and what is free with it, on the training points, judged by points that were left
out. Where a choice is automatic, several are tried, and the best is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.memory import require_memory
from .._base.patterns import alone, is_plain
from ..kernels import Kernel
from ..losses import Loss
from ..nullspace import NullSpace
from ..nullspace.spaces import UnionSpace
from ..solvers.margin import newton
from ..solvers.margin.basis_machine import BasisMachine
from ..solvers.margin.features import FeatureRows
from ..solvers.margin.indefinite import UnboundedError, is_definite
from ..solvers.margin.low_rank_machine import LowRankMachine
from ..solvers.margin.machines import Coefficients, DenseMachine, FreeMachine, RepairedMachine, SoftMachine
from ..solvers.margin.path import AlphaRule, cross_validate
from ..solvers.margin.problem import Machine, MarginFit, MarginProblem
from .basis import values_at

WHOLE = ("free", "soft")  # kinds whose functions have the whole null space
_REST = 0.02  # what a factor of low rank should leave out of the kernel, in units of alpha
_AT_MOST = 0.05  # and what it may
_MAX_RANK = 1000
_RANK_SHARE = 4
_FACTOR_ENTRIES = 2**27
_LOW_DIMENSION = 3  # up to which many points are tried with a factor of low rank
_LOW_RANK_FROM = 1000
_GAIN = 0.005  # share by which a later trial must be better than an earlier one
_CLOSE = 1.05  # trials within this factor of the best are looked at more closely

Problem = tuple[np.ndarray, np.ndarray]  #: points, and their targets


@dataclass(frozen=True)
class TrainingSet:
    """Distinct samples and the problems to be solved on them."""

    X: Any  #: points (n, d), or the kernel matrix (n, n)
    weights: np.ndarray
    problems: list[Problem]
    is_matrix: bool = False
    groups: np.ndarray | None = None  #: (n,) the place of each point, -1 for a place of its own

    def groups_of(self, points: np.ndarray) -> np.ndarray | None:
        """Places of some of the points."""
        if self.groups is None or (self.groups[points] < 0).all():
            return None
        return self.groups[points]

    def __len__(self) -> int:
        return self.X.shape[0]

    def part(self, points: np.ndarray) -> TrainingSet:
        """The samples at some positions; problems keep those of their points that are among them."""
        place = np.full(len(self), -1)
        place[points] = np.arange(len(points))
        problems = []
        for rows, targets in self.problems:
            kept = place[rows] >= 0
            problems.append((place[rows[kept]], targets[kept]))
        X = self.X[np.ix_(points, points)] if self.is_matrix else alone(self.X[points])
        groups = None if self.groups is None else self.groups[points]
        return replace(self, X=X, weights=self.weights[points], problems=problems, groups=groups)


@dataclass(frozen=True)
class Rules:
    """How machines are trained: what all trials of an estimator share."""

    loss: Callable[[np.ndarray, int], Loss]  #: of targets, and the number of the problem
    rule: AlphaRule
    criterion: str
    folds: Callable[[np.ndarray], Iterable[tuple[np.ndarray, np.ndarray]]]
    alphas: np.ndarray | None  #: one, candidates, or None for a choice
    max_iter: int
    indefinite: str
    watch: Callable[[float], None] = lambda alpha: None  #: told of every alpha tried
    watch_rows: Callable[[int, int], None] = lambda done, total: None  #: told how many rows of how many were used

    @property
    def fixed(self) -> float | None:
        """The alpha that was given, if it is one."""
        return float(self.alphas) if self.alphas is not None and self.alphas.ndim == 0 else None


class JudgingFold(NamedTuple):
    """Points to train on, points to judge by, and the null space's functions at all of them (n, p)."""

    train: np.ndarray
    test: np.ndarray
    P: np.ndarray

    def with_columns(self, columns: np.ndarray) -> JudgingFold:
        """The same with further functions."""
        return self._replace(P=np.hstack([self.P, columns]))


@dataclass(frozen=True)
class Proposal:
    """A settled kernel (None for a matrix), what is free, and the functions that are meant by that, at the points."""

    kernel: Kernel | None
    free: str  #: "free", "soft", "constant" or "zero"
    null_space: NullSpace | None
    P: np.ndarray
    tolerance: float
    folds: list[JudgingFold] | None = None  #: if functions of the null space have learned from the labels

    @property
    def has_model(self) -> bool:
        """Whether functions of the null space have learned from the labels."""
        return isinstance(self.null_space, UnionSpace)

    @property
    def name(self) -> str:
        return f"{'a given matrix' if self.kernel is None else self.kernel!r}, {self.free}"


class MachineTrial:
    """One candidate on a training set: its machines, one per problem, and the search for their alphas."""

    def __init__(
        self,
        candidate: Proposal,
        data: TrainingSet,
        rules: Rules,
        basis: np.ndarray | None = None,
        must_have_basis: bool = True,
    ):
        self.must_have_basis = must_have_basis and basis is not None  # rather than a factor of low rank
        self.candidate, self.data, self.rules, self.basis = candidate, data, rules, basis
        self.stationary = False
        self.Phi: np.ndarray | None = None  # where cross-validation needs it
        self.whole: BasisMachine | None = None  #: if there are few basis points
        self._indefinite = False
        self.problems: list[MarginProblem] = []
        self.chosen: list[tuple[float, dict]] = []  # alphas and paths of cross-validation
        self._unseen: list[np.ndarray] = []  # values at points that were left out there, if nothing else is honest

    # -- matrices --------------------------------------------------------------------------------------------------

    @property
    def _free(self) -> str:
        return self.candidate.free

    def prepare(self, smallest: float | None = None, Phi: np.ndarray | None = None) -> None:
        """Make the machines: from the kernel matrix (copied), or from a factor of low rank that is accurate enough for
        the smallest alpha, if that is known."""
        self.__dict__.pop("fits", None)
        self.__dict__.pop("coefficients", None)
        self.whole = None
        if Phi is None and smallest is not None and not self.must_have_basis:
            low_rank = self._low_rank(smallest)
            if low_rank is not None:
                self._set([low_rank] * len(self.data.problems))
                return
        if self.basis is not None:
            self._prepare_on_basis(self.basis)
            return
        Phi = self.matrix() if Phi is None else Phi
        self._inspect(Phi)
        kept = self.rules.criterion == "cv" or self.candidate.folds is not None
        self.Phi = Phi if kept else None
        everything = all(len(points) == len(Phi) for points, _ in self.data.problems)
        if everything:
            self._set([self._machine(np.array(Phi), self.candidate.P)] * len(self.data.problems))
        else:
            self.Phi = Phi
            self._set([self._machine_on(points) for points, _ in self.data.problems])
            self.Phi = Phi if kept else None

    def _prepare_on_basis(self, basis: np.ndarray) -> None:
        """Make the machines that have kernel terms at few points; they share the rows of these."""
        kernel, X, P = self.candidate.kernel, self.data.X, self.candidate.P
        core = X[np.ix_(basis, basis)] if kernel is None else kernel(X[basis])
        free = self._free_functions(P, len(P))
        try:
            if kernel is None:
                self._inspect(X)
            if self._indefinite:
                raise np.linalg.LinAlgError
            self.whole = BasisMachine(
                values_at(kernel, X, basis), basis, core, free, P[basis], self._free == "soft",
                self.candidate.tolerance, getattr(X, "rows_type", FeatureRows), self.rules.watch_rows,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            raise ValueError(
                f"n_basis={len(basis)} needs a kernel that is positive definite beside the null space, and this "
                "matrix has negative eigenvalues: leave n_basis out."
            ) from None
        n = len(self.data)
        self._set([self.whole if len(p) == n else self.whole.restricted(p) for p, _ in self.data.problems])

    def matrix(self) -> np.ndarray:
        """The kernel matrix."""
        if self.candidate.kernel is None:
            return self.data.X
        n = len(self.data)
        require_memory(3 * 8 * n**2, f"a dense machine on {n} points", "train on a subset.")
        return self.candidate.kernel(self.data.X)

    def _set(self, machines: list[Machine]) -> None:
        self.problems = [
            MarginProblem(
                machine,
                self.rules.loss(targets, k),
                self.data.weights[points],
                self.rules.max_iter,
                self.data.groups_of(points),
            )
            for k, (machine, (points, targets)) in enumerate(zip(machines, self.data.problems, strict=True))
        ]
        for problem in self.problems:
            problem.watch = self.rules.watch

    def _low_rank(self, alpha: float) -> LowRankMachine | None:
        """A machine of low rank that is accurate enough for alpha, if there is one and the loss can use it."""
        n, kernel = len(self.data), self.candidate.kernel
        smooth = self.rules.loss(self.data.problems[0][1][:1], 0).provides(newton.NEEDS)
        if (
            n < _LOW_RANK_FROM
            or self.candidate.folds is not None
            or kernel is None
            or self._free not in WHOLE
            or kernel.is_indefinite
            or not smooth
        ):
            return None
        if any(len(points) < n for points, _ in self.data.problems) or not is_plain(self.data.X):
            return None
        X = self.data.X
        if self.basis is not None and X.shape[1] > _LOW_DIMENSION:
            return None
        machine = LowRankMachine(
            lambda rows: kernel(X, X[rows]), kernel.diag(X), self.candidate.P,
            _REST * alpha / float(self.data.weights.max()), min(_MAX_RANK, n // _RANK_SHARE, _FACTOR_ENTRIES // n),
            self._free == "soft", self.candidate.tolerance,
        )  # fmt: skip
        return machine if machine.is_accurate else None

    def _inspect(self, Phi: np.ndarray) -> None:
        """Whether the kernel matrix has negative eigenvalues beside the null space; only asked where it may."""
        kernel = self.candidate.kernel
        if kernel is None or kernel.is_indefinite:
            free = FreeMachine(np.array(Phi), self.candidate.P, self.candidate.tolerance).K
            self._indefinite = not is_definite(free, overwrite=True)
        self.stationary = self._indefinite and self.rules.indefinite == "stationary"

    @property
    def is_accurate(self) -> bool:
        """Whether a factor of low rank leaves out little of the kernel, compared with the alphas that were chosen."""
        machine = self.problems[0].machine
        smallest = np.nanmin([*self.alphas, np.inf]) / float(self.data.weights.max())
        return not isinstance(machine, LowRankMachine) or machine.rest <= _AT_MOST * smallest

    @property
    def is_indefinite(self) -> bool:
        """Whether the kernel matrix has negative eigenvalues beside the null space."""
        return self._indefinite

    def _machine_on(self, points: np.ndarray, P: np.ndarray | None = None) -> Machine:
        """The machine on some points."""
        if self.whole is not None:
            return self.whole.restricted(points)
        assert self.Phi is not None
        P = self.candidate.P if P is None else P
        return self._machine(self.Phi[np.ix_(points, points)], P[points])

    def _free_functions(self, P: np.ndarray, n: int) -> np.ndarray:
        """What the machine leaves free, or gives a price, at n points."""
        return P if self._free in WHOLE else np.ones((n, 1 if self._free == "constant" else 0))

    def _machine(self, Phi: np.ndarray, P: np.ndarray) -> Machine:
        kind, tolerance = self._free, self.candidate.tolerance
        free = self._free_functions(P, len(Phi))
        if self._indefinite:  # annihilating polynomials gains nothing for a kernel that stays indefinite
            if self.stationary:
                return FreeMachine(Phi, free, tolerance, indefinite=True)
            return RepairedMachine(Phi, free, tolerance, self.rules.indefinite)
        if kind == "soft" and P.shape[1] > 1:
            return SoftMachine(Phi, P, tolerance)
        if kind in WHOLE:
            return FreeMachine(Phi, P, tolerance)
        if not P.shape[1]:  # a positive definite kernel: nothing to annihilate
            return FreeMachine(Phi, free, tolerance)
        return DenseMachine(Phi, P, free, tolerance)

    # -- alphas ----------------------------------------------------------------------------------------------------

    def explore(self, near: Sequence[float] | None = None) -> None:
        """Try alphas for every problem, around those known from fewer points if there are any."""
        alphas = self.rules.alphas
        if self.rules.criterion == "cv" and self.rules.fixed is None:
            self.chosen = [self._cross_validate(k)[:2] for k in range(len(self.problems))]
            return
        if self.candidate.folds is not None and self.rules.fixed is None:
            self._judge_by_folds(near)
            return
        for k, problem in enumerate(self.problems):
            try:
                if alphas is not None:
                    problem.exhaust(self.rules.rule, np.atleast_1d(alphas))
                elif near is None or not np.isfinite(near[k]):
                    problem.explore(self.rules.rule)
                else:
                    problem.explore(self.rules.rule, near[k], 10.0**0.5)
            except UnboundedError as error:
                raise UnboundedError(f"{error} (The latter is indefinite='clip'.)") from None

    def _judge_by_folds(self, near: Sequence[float] | None) -> None:
        """Alphas by cross-validation on the candidate's folds; keeps the values at unseen points."""
        judged = [self._judged(k, None if near is None else near[k]) for k in range(len(self.problems))]
        self.chosen = [(alpha, path) for alpha, path, _ in judged]
        self._unseen = [values for _, _, values in judged]

    def _judged(self, k: int, near: float | None) -> tuple[float, dict, np.ndarray]:
        """Alpha, path and values at unseen points: on given alphas, or first two decades apart, then closer."""
        if self.rules.alphas is not None:
            return self._cross_validate(k)
        known = near is not None and bool(np.isfinite(near))
        wide = np.array([near]) if known else self.rules.rule.alphas(self.problems[k].unit)[::4]
        alpha = self._cross_validate(k, wide, not known)[0]
        return self._cross_validate(k, alpha * np.logspace(-1.0, 1.0, 5), False)

    def refine(self) -> None:
        """Smaller steps around the best alpha of each problem, unless the user gave them."""
        if self.rules.alphas is None and self.rules.criterion == "loo" and self.candidate.folds is None:
            for problem in self.problems:
                problem.refine()

    @property
    def score(self) -> float:
        """The mean over the problems of their best scores; a problem that the null space alone solves counts with the
        score of that."""
        if self.chosen:
            return float(np.mean([path["score"].min() for _, path in self.chosen]))
        return float(np.mean([problem.best_score(self.rules.rule) for problem in self.problems]))

    @cached_property
    def fits(self) -> list[MarginFit]:
        """The machines at the best alphas."""
        if not self.chosen:
            return [problem.best() for problem in self.problems]
        fits = []
        for k, (problem, (alpha, path)) in enumerate(zip(self.problems, self.chosen, strict=True)):
            problem.exhaust(self.rules.rule, np.array([alpha]))
            fits.append(replace(problem.best(), path=path))
            if self._unseen:  # what leaves out the machine alone is not honest
                fits[-1].__dict__["left_out"] = self._unseen[k]
        return fits

    @property
    def alphas(self) -> list[float]:
        """Those of the machines; NaN where the null space alone meets all points."""
        return [fit.alpha for fit in self.fits]

    @cached_property
    def coefficients(self) -> list[Coefficients]:
        """Those of the machines."""
        machines = {id(problem.machine) for problem in self.problems}
        if len(machines) == 1:
            return self.problems[0].machine.expand_many([fit.parts for fit in self.fits])
        return [fit.coefficients for fit in self.fits]

    def dual(self) -> np.ndarray:
        """Coefficients of the kernel at the points (n, k), a column per problem."""
        dual = np.zeros((len(self.data), len(self.fits)))
        for k, (found, (points, _)) in enumerate(zip(self.coefficients, self.data.problems, strict=True)):
            places = found.points if self.whole is not None else points[found.points]
            dual[places, k] = found.dual
        return dual

    def values(self) -> np.ndarray:
        """The functions of all problems at all points, (n, k)."""
        if self.whole is not None:
            return np.column_stack([self.whole.values(fit.parts) for fit in self.fits])
        dual, null = self.dual(), np.column_stack([found.null for found in self.coefficients])
        support = np.flatnonzero(np.abs(dual).sum(axis=1) > 0)
        X, kernel = self.data.X, self.candidate.kernel
        columns = X[:, support] if kernel is None else kernel(X, X[support]) if len(support) else np.empty((len(X), 0))
        free = self.candidate.P @ null if self._free in WHOLE else null.sum(axis=0)
        return columns @ dual[support] + free

    @property
    def judged(self) -> np.ndarray:
        """Which points have leave-one-out values: with few basis points not all of many."""
        mask = np.zeros(len(self.data), dtype=bool)
        for problem, (points, _) in zip(self.problems, self.data.problems, strict=True):
            mask[points if problem.judges is None else points[problem.judges]] = True
        return mask

    def left_out(self, k: int) -> np.ndarray:
        """Leave-one-out values of the k-th problem, zero where there is none; fitted values where none was wanted."""
        fit, judges = self.fits[k], self.problems[k].judges
        if judges is None:
            return np.nan_to_num(fit.left_out)
        values = fit.values.copy()
        values[judges] = np.nan_to_num(fit.left_out[judges])
        return values

    def unseen(self, k: int) -> np.ndarray:
        """Values of the k-th problem at points that were not used for training, in folds, at the alpha chosen."""
        if self._unseen:
            return self._unseen[k]
        if self.whole is None:
            self.Phi = self.matrix() if self.Phi is None else self.Phi
        return self._cross_validate(k, np.array([self.alphas[k]]), False)[2]

    def _cross_validate(
        self, k: int, grid: np.ndarray | None = None, extend: bool | None = None
    ) -> tuple[float, dict, np.ndarray]:
        """Alpha, path and values at unseen points of a problem, on given alphas or those of the user or the rule."""
        (points, targets), weights = self.data.problems[k], self.data.weights
        folds = self._folds_of(k)

        def paths(fold: JudgingFold, alphas: np.ndarray) -> Iterator:
            problem = MarginProblem(
                self._machine_on(points[fold.train], fold.P),
                self.rules.loss(targets[fold.train], k), weights[points[fold.train]], self.rules.max_iter,
            )  # fmt: skip
            return problem.path(alphas)

        def values(fit: MarginFit, fold: JudgingFold) -> np.ndarray:
            outer = points[fold.test]
            if self.whole is not None:
                return self.whole.restricted(outer).values(fit.parts)
            found, Phi = fit.coefficients, self.Phi
            assert Phi is not None
            null = fold.P[outer] @ found.null if self._free in WHOLE else np.full(len(outer), found.null.sum())
            return Phi[np.ix_(outer, points[fold.train][found.points])] @ found.dual + null

        problem, alphas = self.problems[k], self.rules.alphas
        if grid is None:
            grid, extend = (self.rules.rule.alphas(problem.unit), True) if alphas is None else (alphas, False)
        loss = self.rules.loss(targets, k)
        return cross_validate(folds, paths, values, loss, weights[points], self.rules.rule, grid, bool(extend))

    def _folds_of(self, k: int) -> list[JudgingFold]:
        """Folds of the points of a problem, in positions among these."""
        points, targets = self.data.problems[k]
        if self.candidate.folds is None:
            return [JudgingFold(*fold, self.candidate.P) for fold in self.rules.folds(targets)]
        return [
            JudgingFold(np.flatnonzero(np.isin(points, fold.train)), np.flatnonzero(np.isin(points, fold.test)), fold.P)
            for fold in self.candidate.folds
        ]


def best_of(trials: Sequence[MachineTrial]) -> MachineTrial:
    """The trial with the best score; those that come close are looked at more closely first.

    Earlier trials are preferred where scores are nearly equal. Trials whose machines do not exist are left out, unless
    all are.
    """
    kept: list[MachineTrial] = []
    failure: Exception | None = None
    matrices: dict[int, np.ndarray] = {}
    for trial in trials:
        key = id(trial.candidate.kernel)
        try:
            if key not in matrices and trial.basis is None:
                matrices = {key: trial.matrix()}
            trial.prepare(Phi=matrices.get(key))
            trial.explore()
        except (UnboundedError, np.linalg.LinAlgError) as error:
            failure = failure or error
            continue
        kept.append(trial)
    if not kept:
        raise failure or ValueError("there is nothing to be tried.")
    lowest = min(trial.score for trial in kept)
    close = [trial for trial in kept if trial.score <= _CLOSE * lowest]
    for trial in close:
        trial.refine()
    best = close[0]
    for trial in close[1:]:
        if trial.score < (1.0 - _GAIN) * best.score:
            best = trial
    return best
