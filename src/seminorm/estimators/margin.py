"""What the margin machines share: weights, null spaces, indefinite matrices, the choice of alpha, and training."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_y, validate_data

from .._base import blas as threads
from .._base.patterns import PatternTable, alone, is_plain
from .._base.progress import Progress
from .._base.spacing import near_groups, same_place
from .._base.warnings import warn_user
from ..kernels import Kernel, Linear
from ..losses import Loss
from ..nullspace import (
    Frozen,
    NullSpace,
    Polynomials,
    identifiable,
    independent_columns,
    null_space_for,
)
from ..nullspace.cross_fitted import Fold
from ..nullspace.spaces import warn_off_span
from ..nullspace.specification import free_functions
from ..solvers.margin.low_rank_machine import LowRankMachine
from ..solvers.margin.path import AlphaRule
from .base import KernelMachine, Terms, alphas_of, kernel_for
from .basis import MOST_DENSE, basis_points, check_number, number_for
from .row_tables import RowTable, gathered, in_memory, table_for
from .samples import distinct_samples, weighted_rows
from .settling import (
    alternatives,
    check_metric,
    choose_scale,
    has_open_scale,
    in_metric,
    is_learned,
    learn_metric,
    standardized,
    warn_of_units,
    with_column_numbers,
)  # fmt: skip
from .trials import WHOLE, JudgingFold, MachineTrial, Problem, Proposal, Rules, TrainingSet, best_of

NAMED_NULL_SPACES = ("auto", "zero", "constant", "soft")
WAYS_WITH_INDEFINITE = ("clip", "flip", "stationary")
FOLDS = 5
FEW_POINTS = 40  # per free function, below which more than one null space is tried
_TOLERANCE = 1e-13
_CHOOSE_ON = 700  # points on which kernels and null spaces are compared, if there are many
_PER_FUNCTION = 5  # but as many for each of the d + 1 linear functions
_MANY = 1200  # from here on
_PROBLEMS = 15  # problems on which they are compared, if there are many


class MarginMachine(KernelMachine, ABC):
    """Base of SVC, SVR and ImplicitSVM: everything but the loss and the problems.

    ``_kind`` says what is free: "free" (the whole null space), "soft" (the constant, and the rest at a price),
    "constant" or "zero" [Walder and Chapelle 2007, 6.2].
    """

    alpha: Any
    criterion: str
    null_space: Any
    max_iter: int
    indefinite: str = "clip"
    n_basis: int | str | None = None
    random_state: Any = None
    verbose: bool = False

    _state = "_kind", "_own_columns"
    _own_columns = False
    _last_learned: tuple | None = None
    _learned_metric: Any = None
    metric: Any
    _copies = 3
    _criteria: tuple[str, ...] = ("loo", "cv")
    _rule: AlphaRule
    stationary_ = False
    _span_: np.ndarray | None = None  # what the training points determine of the null space, if not everything
    alpha_: float | np.ndarray
    alpha_path_: dict[str, np.ndarray] | list[dict[str, np.ndarray]]
    n_iter_: int

    # -- what an estimator says --------------------------------------------------------------------------------------

    @abstractmethod
    def _loss(self, targets: np.ndarray, k: int = 0) -> Loss:
        """The loss of the k-th problem."""

    def _problems(self, y: np.ndarray) -> list[Problem]:
        """The problems that y makes: points, and their targets."""
        return [(np.arange(len(y)), y)]

    def _folds(self, targets: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Training and test points for cross-validation, by default with each label in proportion."""
        smallest = int(np.unique(targets, return_counts=True)[1].min())
        if smallest < 2:
            raise ValueError(
                "criterion='cv' needs at least two points of each class: use criterion='loo', or a number for alpha."
            )
        return StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=0).split(targets, targets)

    @abstractmethod
    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """The error on the training points, and that of the best constant."""

    def _judge(self, y: np.ndarray, data: TrainingSet, trial: MachineTrial) -> None:
        """What leave-one-out values tell of the trained machines; nothing unless a class says so."""

    # -- parameters ------------------------------------------------------------------------------------------------

    def _check_common_parameters(self) -> None:
        self._check_alpha()
        self._check_choice("criterion", self._criteria)
        self._check_choice("indefinite", WAYS_WITH_INDEFINITE)
        if hasattr(self, "metric"):
            check_metric(self.metric)
        check_number(self.n_basis)
        if self._learns() and isinstance(self.n_basis, (int, np.integer)):
            raise ValueError(
                f"n_basis={self.n_basis!r} does not go with a null space that learns from y, whose folds need all "
                "points: leave it out."
            )

    def _check_choice(self, name: str, choices: Iterable[Any]) -> None:
        value = getattr(self, name, None)
        if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")

    def _check_alpha(self) -> None:
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(
                    f"alpha must be 'auto', a positive number or candidates, got {self.alpha!r}. How it is chosen is "
                    f"said by criterion, one of {', '.join(map(repr, self._criteria))}."
                )
            return
        alphas = alphas_of(self.alpha)
        if alphas.ndim > 1 or alphas.size == 0 or not (np.isfinite(alphas).all() and (alphas > 0).all()):
            raise ValueError(f"alpha must be positive (a small one approaches the hard margin), got {self.alpha!r}.")

    def _given_alpha(self) -> np.ndarray | None:
        """A number, candidates, or None for a choice along a path."""
        return None if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=float)

    def _chooses_alpha(self) -> bool:
        """Whether alpha is to be chosen, along a path or among candidates."""
        given = self._given_alpha()
        return given is None or given.ndim > 0

    def _learns(self) -> bool:
        """Whether models that learn from y are in the null space."""
        return bool(getattr(self.null_space, "joins_polynomials", False))

    def _is_automatic(self) -> bool:
        return isinstance(self.null_space, str) and self.null_space == "auto"

    def _check_samples(self, X, y, **options):
        """X and y validated; a memory-mapped or Dask array of many rows stays where it is."""
        table, y = table_for(X, MOST_DENSE), gathered(y, "y")
        if self._is_given() or not isinstance(table, RowTable):
            return self._check_input(table, y, **options)
        if self._learns() or self.criterion == "cv" or self.n_basis is None:
            raise ValueError(
                f"X has {len(table)} rows that stay on disk or with workers: give n_basis='auto' or a number, "
                "criterion='loo', and a null space that does not learn from y, or load X."
            )
        validate_data(self, table[np.arange(1)])  # says how many columns there are
        y = _check_y(y, estimator=self, **options)
        check_consistent_length(table, y)
        return table, y

    # -- samples ---------------------------------------------------------------------------------------------------

    def _merge(self, X, y, weights, null_columns):
        """Leave out samples of weight zero, and add up the weights of samples that agree in point and target.

        The samples come out in an order of their own, so that nothing depends on the order in which they came in.
        """
        if isinstance(X, RowTable):
            if null_columns is not None or not (weights > 0).all():
                raise ValueError("null_columns, and weights that are zero, need X in memory: leave them out.")
            return X, y, weights, np.arange(len(X)), None
        if null_columns is not None:
            null_columns = _columns(null_columns, X.shape[0])
        if not self._is_given():
            further = y if null_columns is None else np.column_stack([y, null_columns])
            rows, weights = distinct_samples(X, further, weights)
            return X[rows], y[rows], weights, rows, None if null_columns is None else null_columns[rows]
        self._refuse_asymmetric(X)
        rows = weighted_rows(weights)
        columns = None if null_columns is None else null_columns[rows]
        return X[np.ix_(rows, rows)], y[rows], weights[rows], rows, columns

    def _groups(self, X) -> np.ndarray | None:
        """Points that coincide, or nearly if they are not too many, which are left out together."""
        if isinstance(X, PatternTable):
            return X.groups()
        if self._is_given() or not is_plain(X):
            return None
        return near_groups(X) if X.shape[0] <= MOST_DENSE else same_place(X)

    # -- candidates --------------------------------------------------------------------------------------------------

    def _settle_kernel(self, X) -> Kernel:
        return kernel_for(self.kernel, X, names=self._names())

    def _kernels(self, X, weights) -> list[Kernel | None]:
        """The kernels to be tried; the first is preferred. Their metric is set."""
        if self._is_given():
            return [None]
        return [*alternatives(self._settle_kernel(X), X)]

    def _candidate(
        self, kernel: Kernel | None, free: str, data: TrainingSet, y, null_columns, with_model: bool = True
    ) -> Proposal:
        """A kernel and what is free with it: the null space settled on the training points, and its matrix."""
        X = data.X
        named = isinstance(self.null_space, str) and self.null_space in NAMED_NULL_SPACES
        if kernel is None:
            if not named:
                raise ValueError(
                    "null_space cannot be evaluated with kernel='precomputed': give its columns as null_columns."
                )
            P = np.ones((X.shape[0], 1)) if null_columns is None else null_columns
            return Proposal(None, free, None, P, _TOLERANCE)
        space: NullSpace
        folds = None
        if named or (self._learns() and not with_model):
            space = free_functions(kernel, 0 if free in WHOLE else -1).fit(X)
            P = space(X)
            if self._learns() and self._chooses_alpha():
                folds = [JudgingFold(fold.train, fold.test, P) for fold in self._learned(data, y)[2]]
        elif self._learns():
            model, outputs, nested = self._learned(data, y)
            polynomials = free_functions(kernel, 0)
            space = null_space_for(polynomials | Frozen(model), kernel, X)
            own = polynomials.fit(X)(X)
            P = np.hstack([own, outputs])
            folds = [JudgingFold(fold.train, fold.test, np.hstack([own, fold.outputs])) for fold in nested]
        else:
            space = null_space_for(with_column_numbers(self.null_space, self._names()), kernel, X, y)
            P = space.training_matrix(X, y)
        if not named and not self._learns():
            identifiable(space, P)  # warns
        if null_columns is not None:
            P = np.hstack([P, null_columns])
            folds = None if folds is None else [fold.with_columns(null_columns) for fold in folds]
        return Proposal(kernel, free, space, P, space.resolution, folds or None)

    def _learned(self, data: TrainingSet, y: np.ndarray) -> tuple[NullSpace, np.ndarray, list[Fold]]:
        """The null space's model, its outputs at points it has not seen, and nested folds of these if alpha is to be
        chosen; trained once for all candidates."""
        if self._last_learned is None or self._last_learned[0] is not data.X:
            X, weights = data.X, data.weights
            model = clone(self.null_space).fit(X, y, weights)
            nested = model.nested(X, y, weights) if self._chooses_alpha() else []
            self._last_learned = X, (model, model.training_matrix(X, y, weights), nested)
        return self._last_learned[1]

    def _what_is_free(self, P: np.ndarray, problems: list[Problem]) -> list[str]:
        """What may be left free; the first is preferred."""
        named = isinstance(self.null_space, str) and self.null_space in ("zero", "constant", "soft")
        return [self.null_space] if named else ["free"]

    def _candidates(self, kernels: list[Kernel | None], data: TrainingSet, y, null_columns) -> list[Proposal]:
        found = []
        ways = (True, False) if self._learns() and self._chooses_alpha() else (True,)  # with the model, without
        for way, kernel in product(ways, kernels):
            whole = self._candidate(kernel, "free", data, y, null_columns, way)
            for free in self._what_is_free(whole.P, data.problems):
                candidate = whole if free == "free" else self._candidate(kernel, free, data, y, null_columns, way)
                found.append(self._allowed(replace(candidate, free=free), data))
        return found

    def _allowed(self, candidate: Proposal, data: TrainingSet) -> Proposal:
        """The candidate, or a softer one where a problem has too few points for it."""
        p, least = candidate.P.shape[1], min(len(points) for points, _ in data.problems)
        if self.criterion == "cv" and self._chooses_alpha():
            least -= -(-least // FOLDS)
        if candidate.free == "soft" or least > p:
            return candidate
        if candidate.free == "free" and p > 1 and candidate.kernel is not None:
            if not (self._is_automatic() or self._learns() or p <= 1):
                warn_user(
                    f"a training set (of all points, a pair of classes or a fold) has {least} distinct points, no more "
                    f"than the {p} free functions, which would fit anything: they are penalised (null_space='soft')."
                )
            return replace(candidate, free="soft")
        if candidate.free == "free":
            return candidate
        raise ValueError(
            f"X has n_samples={least} distinct points, no more than the {p} functions that the coefficients must "
            "annihilate: nothing is left for the kernel. Use a kernel of lower order (NegativeDistance, Gaussian), or "
            "more points."
        )

    def _basis(self, candidate: Proposal, data: TrainingSet) -> np.ndarray | None:
        """Points with a kernel term, if these are not all points: the few that were asked for, or that many points are
        to have; and distinct ones, where an expansion needs that."""
        kernel = candidate.kernel
        hindered = self._learns() or kernel is None or kernel.is_indefinite
        number = number_for(self.n_basis, len(data), self._copies, hindered)
        if number is not None and number <= candidate.P.shape[1]:
            raise ValueError(
                f"n_basis={number!r} must exceed the {candidate.P.shape[1]} functions that the coefficients "
                "annihilate: with fewer points nothing is left for the kernel."
            )
        distinct_only = candidate.free not in WHOLE and kernel is not None and not kernel.is_indefinite
        return basis_points(None if kernel is None else data.X, len(data), number, distinct_only, self.random_state)

    def _largest_matrix(self, n: int) -> int:
        """Rows of the largest matrix that is factorised."""
        return min(n, number_for(self.n_basis, n, self._copies, self._is_given()) or n)

    def _asks(self) -> bool:
        """Whether the user asked for a number of basis points."""
        return isinstance(self.n_basis, (int, np.integer))

    # -- training --------------------------------------------------------------------------------------------------

    def _rules(self, watch) -> Rules:
        return Rules(
            self._loss, self._rule, self.criterion, self._folds, self._given_alpha(), self.max_iter, self.indefinite,
            watch,
        )  # fmt: skip

    def _train(self, X, y: np.ndarray, weights: np.ndarray, rows: np.ndarray, null_columns) -> None:
        """Train on merged samples; ``rows`` are their rows of the user's X."""
        data = TrainingSet(X, weights, self._problems(y), self._is_given(), self._groups(X))
        self._own_columns = null_columns is not None
        if not self._is_given() and getattr(self, "metric", None) is None:
            warn_of_units(self.kernel, in_memory(X))
        size = self._largest_matrix(len(data))
        with threads.suited_to(size), Progress(self.verbose, type(self).__name__) as progress:
            if size < len(data):
                progress.say(f"{type(self).__name__}: kernel terms at n_basis={size} of {len(data)} points")
            rules = replace(self._rules(progress.step), watch_rows=progress.rows)
            trial = self._trained(data, y, null_columns, rules)
            self._adopt(trial)
            for fit, (points, targets) in zip(trial.fits, data.problems, strict=True):
                self._warn_if_useless(*self._errors(fit.values, targets, weights[points]))
            null = np.column_stack([found.null for found in trial.coefficients])
            self._keep_support(X, trial.dual(), null, rows)
            self._judge(y, data, trial)
        self._last_learned = None
        self.n_iter_ = sum(fit.iterations for fit in trial.fits)
        alphas, paths = np.array(trial.alphas), [fit.path for fit in trial.fits]
        self.alpha_, self.alpha_path_ = (float(alphas[0]), paths[0]) if len(paths) == 1 else (alphas, paths)

    def _trained(self, data: TrainingSet, y: np.ndarray, null_columns, rules: Rules) -> MachineTrial:
        """The trial that is best by what was left out, trained on all points."""
        if not self._is_given() and is_learned(getattr(self, "metric", None)):
            rows = data.X.sample_rows if isinstance(data.X, RowTable) else slice(None)
            self._learned_metric = learn_metric(self.metric, in_memory(data.X), y[rows], data.weights[rows])
        part = self._part(data, y, rules)
        if part is None:
            return self._compared(data, y, null_columns, rules)
        with threads.suited_to(len(part)):
            best = self._compared(data.part(part), y[part], rows_of(null_columns, part), rules)
        chosen, near = best.candidate, best.alphas
        if isinstance(data.X, RowTable):
            assert chosen.null_space is not None
            whole = replace(chosen, P=data.X.mapped(chosen.null_space))
            return _only(MachineTrial(whole, data, rules, self._basis(whole, data), True), near)
        way = not self._learns() or chosen.has_model
        whole = replace(self._candidate(chosen.kernel, chosen.free, data, y, null_columns, way), free=chosen.free)
        return _only(MachineTrial(whole, data, rules, self._basis(whole, data), self._asks()), near)

    def _compared(self, data: TrainingSet, y: np.ndarray, null_columns, rules: Rules) -> MachineTrial:
        """The best of all candidates; with many problems they are compared on some of them."""
        some = replace(data, problems=data.problems[:: -(-len(data.problems) // _PROBLEMS)])
        kernels = self._kernels_by_evidence(some, y, null_columns, rules)
        candidates = self._candidates(kernels, some, y, null_columns)
        trials = [MachineTrial(c, some, rules, self._basis(c, some), self._asks()) for c in candidates]
        if len(some.problems) == len(data.problems):
            return best_of(trials) if len(trials) > 1 else _only(trials[0])
        chosen = best_of(trials).candidate if len(trials) > 1 else candidates[0]
        return _only(MachineTrial(self._allowed(chosen, data), data, rules, self._basis(chosen, data), self._asks()))

    def _part(self, data: TrainingSet, y: np.ndarray, rules: Rules) -> np.ndarray | None:
        """Points on which to compare kernels and null spaces where all would take long: each label in proportion."""
        n = len(data)
        size = max(_CHOOSE_ON, 0 if self._is_given() else _PER_FUNCTION * (data.X.shape[1] + 1))
        stays = isinstance(data.X, RowTable)
        if stays and any(len(points) < n for points, _ in data.problems):
            raise ValueError("multi_class='ovo' needs X in memory: use 'ovr', or load it.")
        if not stays and (
            n < max(_MANY, 1.5 * size)
            or rules.criterion != "loo"
            or any(len(points) < n for points, _ in data.problems)
        ):
            return None
        rng, labels = np.random.default_rng(0), y
        if y.ndim > 1 or len(np.unique(y)) > n // 20:
            labels = np.zeros(n)
        parts = []
        for label in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == label))
            parts.append(members[: max(int(np.ceil(size * len(members) / n)), min(len(members), 20))])
        return np.sort(np.concatenate(parts))

    def _kernels_by_evidence(self, data: TrainingSet, y, null_columns, rules: Rules) -> list[Kernel | None]:
        """The kernels to be tried, with their scales and metric chosen by what was left out."""
        kernels = self._kernels(data.X, data.weights)
        if self._is_given():
            return kernels

        def score(kernel: Kernel) -> float:
            candidate = self._candidates([kernel], data, y, null_columns)[0]
            trial = MachineTrial(candidate, data, rules, self._basis(candidate, data), self._asks())
            return _only(trial).score

        metric = getattr(self, "metric", None)
        first = kernels[0]
        assert first is not None
        if metric == "auto":
            open_ = standardized(first, data.X, data.weights)
            one, other = (score(choose_scale(k, data.X, score)) for k in (first, open_))
            metric = "standardize" if other < one else None
        if metric == "standardize":
            kernels = [standardized(kernel, data.X, data.weights) for kernel in kernels if kernel is not None]
        if is_learned(metric):
            metric = self._learned_metric
            kernels = [in_metric(kernel, metric) for kernel in kernels if kernel is not None]
        self.metric_ = metric
        return [choose_scale(k, data.X, score) if k is not None and has_open_scale(k) else k for k in kernels]

    def _adopt(self, trial: MachineTrial) -> None:
        candidate, machine = trial.candidate, trial.problems[0].machine
        self.n_basis_ = len(trial.data) if trial.basis is None else len(trial.basis)
        if isinstance(machine, LowRankMachine):
            self.n_basis_ = machine.n_basis
        self.kernel_, self.null_space_, self._kind = candidate.kernel, candidate.null_space, candidate.free
        self.stationary_ = trial.stationary

    def _warn_if_useless(self, error: float, without: float) -> None:
        """A stationary point may be worse than no kernel at all, if alpha is too small for it."""
        if self.stationary_ and error > without:
            warn_user(
                f"the stationary point fits the training data worse ({error:.3g}) than a constant ({without:.3g}): the "
                "kernel matrix is too indefinite for so little regularisation. Take a larger alpha, or "
                "indefinite='clip'.",
                ConvergenceWarning,
            )

    # -- what training found ---------------------------------------------------------------------------------------

    def _keep_support(self, X, dual: np.ndarray, null: np.ndarray, rows: np.ndarray) -> None:
        """Keep the support: ``dual`` (n, k) and ``null`` (p, k); ``rows`` are the rows of the user's X."""
        support = np.flatnonzero(np.abs(dual).sum(axis=1) > 0)
        self.support_ = rows[support]
        self.dual_coef_, self.null_coef_, self._span_ = dual[support].T, null.T, None
        if self._is_given():
            self.support_vectors_ = np.empty((0, 0))
            return
        self.support_vectors_ = alone(X[support])
        if self._kind in WHOLE and self.null_space_ is not None:
            self._span_ = independent_columns(self.null_space_(in_memory(X)), self.null_space_.resolution)
        if self._kind not in WHOLE:
            self.null_space_ = Polynomials(0 if self._kind == "constant" else -1).fit(in_memory(X))

    def _terms(self) -> Terms:
        return Terms(self.support_, self.support_vectors_, self.dual_coef_.T, self.null_coef_.T)

    def _margin_values(self, X, null_columns=None) -> np.ndarray:
        """Decision values at X, (n, k)."""
        X = self._check_points(X)
        columns = None if null_columns is None else _columns(null_columns, X.shape[0])
        if self._kind in WHOLE and self._own_columns and columns is None:
            raise ValueError("null_columns were given to fit: give those of these points, too.")
        if columns is not None and not self._own_columns:
            raise ValueError("null_columns were not given to fit: leave them out, or train with them.")
        if not self._is_given():
            if self._span_ is not None and self.null_space_ is not None:
                warn_off_span(self.null_space_(X), self._span_)
            return self._values_beside(X, columns)
        columns = np.ones((len(X), 1)) if columns is None else columns
        if self._kind not in WHOLE:
            columns = columns[:, :0] if self._kind == "zero" else np.ones((len(X), 1))
        if columns.shape[1] != self.null_coef_.shape[1]:
            raise ValueError(
                f"null_columns must have {self.null_coef_.shape[1]} columns, as in fit, got {columns.shape[1]}."
            )
        return X[:, self.support_] @ self.dual_coef_.T + columns @ self.null_coef_.T

    def _values_beside(self, X, columns: np.ndarray | None) -> np.ndarray:
        """Values of a kernel's machine: its function of X, and what the user's columns add."""
        if columns is None or self._kind not in WHOLE:
            return self._values(X)
        assert self.null_space_ is not None
        own = self.null_space_(X)
        extra = self.null_coef_.shape[1] - own.shape[1]
        if columns.shape[1] != extra:
            raise ValueError(f"null_columns must have {extra} columns, as in fit, got {columns.shape[1]}.")
        values = np.hstack([own, columns]) @ self.null_coef_.T
        if len(self.support_):
            values = values + self.kernel_(X, self.support_vectors_) @ self.dual_coef_.T
        return values

    @property
    def coef_(self) -> np.ndarray:
        """Slopes (n_problems, d) of the functions of a linear kernel; other machines have none."""
        if not isinstance(getattr(self, "kernel_", None), Linear) or self.null_coef_.shape[1] > 1:
            raise AttributeError("coef_ exists only for the kernel Linear() with at most the constant free.")
        return self.dual_coef_ @ self.support_vectors_

    @property
    def intercept_(self) -> np.ndarray:
        """The constants (n_problems,) beside :attr:`coef_`."""
        return self.null_coef_.sum(axis=1) + 0.0 * self.coef_[:, 0]

    @property
    def function_(self):
        """The functions that training found, as one function with an output for each of them."""
        if getattr(self, "_own_columns", False) and not self._is_given() and self._kind in WHOLE:
            raise ValueError(
                "function_ is a function of X alone, and null_columns were given to fit: use predict, or name the "
                "features by null_space=Features(...)."
            )
        return super().function_


def _only(trial: MachineTrial, near: list[float] | None = None) -> MachineTrial:
    """A trial without rivals, around alphas that are known from fewer points, if there are any."""
    rules = trial.rules
    known = near is not None and bool(np.isfinite(near).all()) and rules.alphas is None
    if rules.alphas is not None:
        trial.prepare(float(rules.alphas.min()))
    else:
        trial.prepare(min(near) if known and near is not None else None)
    trial.explore(near if known else None)
    if known and not trial.is_accurate:  # the best alpha is smaller than expected
        near = trial.alphas
        trial.prepare(min(near))
        trial.explore(near)
    if not known:
        trial.refine()
    return trial


def rows_of(columns: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Some rows of columns that may not be there."""
    return None if columns is None else columns[rows]


def _columns(null_columns, n: int) -> np.ndarray:
    columns = np.asarray(null_columns.toarray() if hasattr(null_columns, "toarray") else null_columns, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != n:
        raise ValueError(f"null_columns must be of shape (n, r) with n = {n}, got shape {columns.shape}.")
    if not np.isfinite(columns).all():
        raise ValueError("null_columns must be finite, and hold NaN or infinity.")
    return columns
