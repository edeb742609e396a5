"""What the margin machines share: weights, null spaces, indefinite matrices, the choice of alpha, and training."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from .._base import blas as threads
from .._base.warnings import warn_user
from ..kernels import Kernel
from ..losses import Loss
from ..nullspace import NullSpace, Polynomials, null_space_for
from ..solvers.margin.indefinite import UnboundedError, is_definite
from ..solvers.margin.machines import Coefficients, DenseMachine, FreeMachine, Machine, RepairedMachine
from ..solvers.margin.path import AlphaRule, cross_validate
from ..solvers.margin.problem import MarginFit, MarginProblem
from .base import KernelMachine, Terms, alphas_of, kernel_for

NAMED_NULL_SPACES = ("auto", "zero", "constant")
WAYS_WITH_INDEFINITE = ("stationary", "clip", "flip")
FOLDS = 5
_TOLERANCE = 1e-13

Problem = tuple[np.ndarray, np.ndarray]  # points, and their targets


class MarginMachine(KernelMachine, ABC):
    """Base of SVC, SVR and ImplicitSVM: everything but the loss and the problems.

    ``_kind`` says what is free: "free" (the whole null space), "constant" or "zero" [Walder and Chapelle 2007, 6.2].
    """

    alpha: Any
    criterion: str
    null_space: Any
    max_iter: int
    indefinite: str = "stationary"
    n_basis: int | None = None
    random_state: Any = None

    _state = "_kind", "_own_columns"
    _copies = 3
    _criteria: tuple[str, ...] = ("loo", "cv")
    _rule: ClassVar[AlphaRule]
    stationary_ = False
    alpha_: float | np.ndarray
    alpha_path_: dict[str, np.ndarray] | list[dict[str, np.ndarray]]
    n_iter_: int
    _matrix_is_indefinite = False

    # -- what an estimator says --------------------------------------------------------------------------------------

    @abstractmethod
    def _loss(self, targets: np.ndarray) -> Loss:
        """The loss of one problem."""

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

    # -- parameters ------------------------------------------------------------------------------------------------

    def _check_common_parameters(self) -> None:
        self._check_alpha()
        self._check_choice("criterion", self._criteria)
        self._check_choice("indefinite", WAYS_WITH_INDEFINITE)
        if self.n_basis is not None and not (isinstance(self.n_basis, (int, np.integer)) and self.n_basis > 0):
            raise ValueError(f"n_basis must be a positive integer or None, got {self.n_basis!r}.")

    def _check_choice(self, name: str, choices: Iterable[str]) -> None:
        if getattr(self, name) not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(self, name)!r}.")

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

    # -- matrices --------------------------------------------------------------------------------------------------

    def _merge(self, X, y, weights, null_columns):
        """Leave out samples of weight zero, and add up the weights of samples that agree in point and target.

        The samples come out in an order of their own, so that nothing depends on the order in which they came in.
        """
        if null_columns is not None:
            null_columns = _columns(null_columns, X.shape[0])
        if not self._is_given():
            rows, weights = distinct_samples(X, y, weights)
            return X[rows], y[rows], weights, rows, null_columns
        rows = _weighted_rows(weights)
        columns = None if null_columns is None else null_columns[rows]
        return X[np.ix_(rows, rows)], y[rows], weights[rows], rows, columns

    def _settle_kernel(self, X) -> Kernel:
        return kernel_for(self.kernel, X)

    def _prepare(self, X, null_columns) -> np.ndarray:
        """Settle kernel and null space on the training points; returns the null-space matrix."""
        if self._is_given():
            self._own_columns = null_columns is not None
            if not (isinstance(self.null_space, str) and self.null_space in NAMED_NULL_SPACES):
                raise ValueError(
                    "null_space cannot be evaluated with kernel='precomputed': give its columns as null_columns."
                )
            self.kernel_, self.null_space_, self._tolerance = None, None, _TOLERANCE
            return np.ones((X.shape[0], 1)) if null_columns is None else _columns(null_columns, X.shape[0])
        if null_columns is not None:
            raise ValueError(
                "null_columns goes with kernel='precomputed': name your features by null_space=Features(...) otherwise."
            )
        self.kernel_ = self._settle_kernel(X)
        self.null_space_ = _space_of(self.null_space, self.kernel_, X)
        P, self._tolerance = self._null_matrix(X)
        return P

    def _refuse_too_few(self, P: np.ndarray) -> None:
        if self._kind != "free" and len(P) <= P.shape[1]:
            raise ValueError(
                f"X has n_samples={len(P)} distinct points, no more than the {P.shape[1]} functions that the "
                "coefficients must annihilate: nothing is left for the kernel. Use a kernel of lower order "
                "(NegativeDistance, Gaussian), or more points."
            )

    def _inspect(self, Phi: np.ndarray, P: np.ndarray) -> None:
        self._matrix_is_indefinite = self._is_indefinite(Phi, P)
        self.stationary_ = self._matrix_is_indefinite and self.indefinite == "stationary"

    def _is_indefinite(self, Phi: np.ndarray, P: np.ndarray) -> bool:
        """Whether the kernel matrix has negative eigenvalues beside the null space; only asked where it may."""
        if not (self._is_given() or getattr(self.kernel_, "is_indefinite", False)):
            return False
        if is_definite(FreeMachine(np.array(Phi), P, self._tolerance).K, overwrite=True):
            return False
        if self.n_basis is not None:
            raise ValueError(
                f"n_basis={self.n_basis!r} needs a kernel that is positive definite beside the null space, and this "
                "matrix has negative eigenvalues: leave n_basis out."
            )
        return True

    def _machine(self, Phi: np.ndarray, P: np.ndarray, basis: np.ndarray | None = None) -> Machine:
        free = P if self._kind == "free" else np.ones((len(Phi), 1 if self._kind == "constant" else 0))
        if self._matrix_is_indefinite:  # annihilating polynomials gains nothing for a kernel that stays indefinite
            if self.stationary_:
                return FreeMachine(Phi, free, self._tolerance, indefinite=True)
            return RepairedMachine(Phi, free, self._tolerance, self.indefinite)
        if self._kind == "free":
            return FreeMachine(Phi, P, self._tolerance)
        if not P.shape[1] and basis is None:  # a positive definite kernel: nothing to annihilate
            return FreeMachine(Phi, free, self._tolerance)
        return DenseMachine(Phi, P, free, basis, self._tolerance)

    def _basis(self, X) -> np.ndarray | None:
        """Points of a dense expansion: distinct ones, at random if there are to be fewer; None for all."""
        if self._kind == "free":
            return None
        n = X.shape[0]
        distinct = np.arange(n)
        if not self._is_given() and not hasattr(X, "tocsr"):
            distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
        if self.n_basis is not None and self.n_basis < len(distinct):
            return np.sort(check_random_state(self.random_state).choice(distinct, self.n_basis, replace=False))
        return None if len(distinct) == n else distinct

    def _what_is_free(self, P: np.ndarray, problems: list[Problem]) -> str:
        named = isinstance(self.null_space, str) and self.null_space in ("zero", "constant")
        return self.null_space if named else "free"

    # -- training --------------------------------------------------------------------------------------------------

    def _train(self, X, y: np.ndarray, weights: np.ndarray, rows: np.ndarray, null_columns) -> None:
        """Train on merged samples; ``rows`` are their rows of the user's X."""
        with threads.suited_to(X.shape[0]):
            P = self._prepare(X, null_columns)
            problems = self._problems(y)
            self._kind = self._what_is_free(P, problems)
            self._refuse_too_few(P)
            Phi = self._gram(X)
            self._inspect(Phi, P)
            basis = self._basis(X)
            alphas = self._given_alpha()
            choices = [self._choose(X, Phi, P, problem, weights, basis, alphas) for problem in problems]
            fits, coefficients = self._fit_problems(Phi, P, problems, weights, basis, [alpha for alpha, _ in choices])
        for fit, (points, targets) in zip(fits, problems, strict=True):
            self._warn_if_useless(*self._errors(fit.values, targets, weights[points]))
        dual = np.zeros((X.shape[0], len(fits)))
        for k, (found, (points, _)) in enumerate(zip(coefficients, problems, strict=True)):
            dual[points[found.points], k] = found.dual
        self._keep_support(X, dual, np.column_stack([found.null for found in coefficients]), rows)
        self.n_iter_ = sum(fit.iterations for fit in fits)
        alphas = np.array([fit.alpha for fit in fits])
        paths = [fit.path if path is None else path for fit, (_, path) in zip(fits, choices, strict=True)]
        self.alpha_, self.alpha_path_ = (float(alphas[0]), paths[0]) if len(fits) == 1 else (alphas, paths)

    def _fit_problems(
        self, Phi, P, problems: list[Problem], weights, basis, alphas
    ) -> tuple[list[MarginFit], list[Coefficients]]:
        """Machines of all problems; they share their matrices if each has all points."""
        shared = self._machine(Phi, P, basis) if all(len(points) == len(Phi) for points, _ in problems) else None
        fits = []
        for (points, targets), alpha in zip(problems, alphas, strict=True):
            machine = shared
            if machine is None:
                machine = self._machine(Phi[np.ix_(points, points)], P[points], _within(basis, points))
            try:
                fits.append(self._problem(machine, targets, weights[points]).fit(alpha, self._rule))
            except UnboundedError as error:
                raise UnboundedError(f"{error} (The latter is indefinite='clip'.)") from None
        if shared is not None:
            return fits, shared.expand_many([fit.parts for fit in fits])
        return fits, [fit.coefficients for fit in fits]

    def _problem(self, machine: Machine, targets: np.ndarray, weights: np.ndarray) -> MarginProblem:
        return MarginProblem(machine, self._loss(targets), weights, self.max_iter)

    def _choose(self, X, Phi, P, problem: Problem, weights, basis, alphas) -> tuple[Any, dict | None]:
        """The alpha, the candidates or None of a problem, and the path if cross-validation has chosen already."""
        if self.criterion == "loo" or (alphas is not None and alphas.ndim == 0):
            return alphas, None
        points, targets = problem

        def paths(train: np.ndarray, candidates: np.ndarray | None) -> tuple[np.ndarray, Iterator]:
            inner = points[train]
            machine = self._machine(Phi[np.ix_(inner, inner)], P[inner], _within(basis, inner))
            candidates = self._rule.alphas(machine.scale) if candidates is None else candidates
            return candidates, self._problem(machine, targets[train], weights[inner]).path(candidates)

        def values(fit: MarginFit, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            found, outer = fit.coefficients, points[test]
            null = P[outer] @ found.null if self._kind == "free" else np.full(len(outer), found.null.sum())
            return Phi[np.ix_(outer, points[train][found.points])] @ found.dual + null

        return cross_validate(
            self._folds(targets), paths, values, self._loss(targets), weights[points], self._rule, alphas
        )

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
        self.dual_coef_, self.null_coef_ = dual[support].T, null.T
        if self._is_given():
            self.support_vectors_ = np.empty((0, 0))
            return
        self.support_vectors_ = X[support]
        if self._kind != "free":
            self.null_space_ = Polynomials(0 if self._kind == "constant" else -1).fit(X)

    def _terms(self) -> Terms:
        return Terms(self.support_, self.support_vectors_, self.dual_coef_.T, self.null_coef_.T)

    def _margin_values(self, X, null_columns=None) -> np.ndarray:
        """Decision values at X, (n, k)."""
        X = self._check_points(X)
        if not self._is_given():
            return self._values(X)
        if self._kind == "free" and self._own_columns and null_columns is None:
            raise ValueError("null_columns were given to fit: give those of these points, too.")
        columns = np.ones((len(X), 1)) if null_columns is None else _columns(null_columns, len(X))
        if self._kind != "free":
            columns = columns[:, :0] if self._kind == "zero" else np.ones((len(X), 1))
        if columns.shape[1] != self.null_coef_.shape[1]:
            raise ValueError(
                f"null_columns must have {self.null_coef_.shape[1]} columns, as in fit, got {columns.shape[1]}."
            )
        return X[:, self.support_] @ self.dual_coef_.T + columns @ self.null_coef_.T


def distinct_samples(X, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ in point or target, and the sums of their weights: a weight is the same as repetition."""
    rows = _weighted_rows(weights)
    if hasattr(X, "tocsr"):
        _, first, inverse = np.unique(_row_keys(X[rows], y[rows]), return_index=True, return_inverse=True)
    else:
        keyed = np.column_stack([X[rows], y[rows]])
        _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    return rows[first], np.bincount(inverse.ravel(), weights[rows])


def _weighted_rows(weights: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        raise ValueError("sample_weight must have a positive entry: all weights are zero.")
    return rows


def _within(basis: np.ndarray | None, points: np.ndarray) -> np.ndarray | None:
    """Positions, among the given points, of those that belong to the basis."""
    return None if basis is None else np.flatnonzero(np.isin(points, basis))


def _space_of(specification, kernel: Kernel, X) -> NullSpace:
    """The free or annihilated functions; never less than the constant, the usual bias, unless the user says so."""
    if isinstance(specification, str) and specification in NAMED_NULL_SPACES:
        return Polynomials(max(kernel.null_degree, 0) if specification == "auto" else kernel.null_degree).fit(X)
    return null_space_for(specification, kernel, X)


def _row_keys(X, y) -> np.ndarray:
    """One string per row of a sparse matrix and its target: equal rows have equal keys."""
    X = X.sorted_indices()
    parts = zip(X.indptr[:-1], X.indptr[1:], y, strict=True)
    return np.array(
        [X.indices[i:j].tobytes().hex() + X.data[i:j].tobytes().hex() + repr(float(t)) for i, j, t in parts]
    )


def _columns(null_columns, n: int) -> np.ndarray:
    columns = np.asarray(null_columns.toarray() if hasattr(null_columns, "toarray") else null_columns, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != n:
        raise ValueError(f"null_columns must be of shape (n, r) with n = {n}, got shape {columns.shape}.")
    if not np.isfinite(columns).all():
        raise ValueError("null_columns must be finite, and hold NaN or infinity.")
    return columns
