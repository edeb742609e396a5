"""Support vector classification with a semi-norm as regulariser."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .. import _threads as threads
from ..kernels import Kernel
from ..solvers.binary import LOSSES, BinaryFit, BinaryProblem
from ..solvers.machines import Coefficients
from ..solvers.margin_path import default_alphas
from ..solvers.separation import separates
from .margin import NAMED_NULL_SPACES, MarginMachine

_FOLDS = 5


class SVC(ClassifierMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i max(0, 1 - y_i f(x_i))^p, p = 2 or 1, over the kernel's space and its null
    space.

    With the thin plate there is no length scale to tune: dilating the data is the same as changing alpha (seed 000),
    and alpha is chosen by the number of leave-one-out errors, which cost no further training.

    With a kernel matrix that is indefinite beside the null space there is no minimum, but there are stationary points
    in a Krein space. One of them is found by descent in the dual problem (:mod:`seminorm.solvers.indefinite`); with the
    squared hinge it is the only one if alpha exceeds the modulus of the smallest eigenvalue times the largest weight.
    At smaller alphas the dual may have no minimum, which is an error, or the machine fits badly: "clip" is more robust.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``ThinPlate()`` if left out (``NegativeDistance()`` in more than ten dimensions with fewer than two points for
        each of its d + 1 free functions).
    alpha : "auto", "cv", float or array of float
        Weight of the squared semi-norm (scikit-learn's C is 1 / (2 alpha)). "auto" takes the fewest leave-one-out
        errors along a path, "cv" the fewest in five-fold cross-validation, an array names the candidates.
    loss : {"squared_hinge", "hinge"}
    null_space : "auto", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free: by default the polynomials of the kernel's ``null_degree``, at least the constant. If these
        alone separate any of the binary problems, all of them use "constant" instead: coefficients orthogonal to the
        polynomials, only the constant free. "zero" leaves nothing free (``null_space_used_`` tells). Features of your
        own are the generalised bias of seed 001.
    multi_class : {"ovr", "ovo"}
        One machine a class against the rest, or one a pair of classes.
    n_basis : int, optional
        For "zero" and "constant": expand on so many points chosen at random instead of all.
    class_weight : dict or "balanced", optional
    random_state : int or RandomState, optional
        For ``n_basis``.
    max_iter : int
        Of Newton's method at each alpha.
    indefinite : {"stationary", "clip", "flip"}
        What to do with a kernel matrix that is indefinite beside the null space (kernels of invariant distances,
        "precomputed"): find a stationary point, or drop its negative eigenvalues, or take their moduli.

    Attributes
    ----------
    classes_ : array
    support_, support_vectors_ : arrays
        Rows of X with a kernel term, and these points.
    dual_coef_, null_coef_ : arrays (n_problems, n_support) and (n_problems, p)
    alpha_ : float, or array with one entry a binary problem
        NaN where the null space alone separates and alpha plays no part.
    alpha_path_ : dict, or list of dicts
        ``alpha``, ``errors`` (leave-one-out), ``active``, ``iterations`` along the path.
    null_space_used_ : str
        "free", "constant" or "zero".
    stationary_ : bool
        Whether the kernel matrix is indefinite and the machine a stationary point. (With an indefinite matrix, "zero"
        and "constant" leave nothing or the constant free, and the coefficients annihilate no more than that.)
    n_iter_ : int
        Newton or interior-point steps in all.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> bool(SVC().fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha="auto",
        loss: str = "squared_hinge",
        null_space="auto",
        multi_class: str = "ovr",
        n_basis: int | None = None,
        class_weight=None,
        random_state=None,
        max_iter: int = 100,
        indefinite: str = "stationary",
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.loss = loss
        self.null_space = null_space
        self.multi_class = multi_class
        self.n_basis = n_basis
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.indefinite = indefinite

    def fit(self, X, y, sample_weight=None, null_columns=None) -> SVC:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix (n, d), or the kernel matrix (n, n) for ``kernel="precomputed"``
        y : array (n,)
        sample_weight : array (n,), optional
        null_columns : array (n, r), optional
            For ``kernel="precomputed"``: the free functions at the training points; a column of ones if left out.
        """
        self._check_parameters()
        X, y = self._check_fit_input(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = weights * compute_sample_weight(self.class_weight, y)
        X, labels, weights, rows, null_columns = self._merge(X, labels, weights, null_columns)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y must hold at least two classes (with positive weight), got one class: {self.classes_[labels[:1]]}."
            )
        with threads.suited_to(X.shape[0]):
            self._train(X, labels, weights, rows, self._prepare(X, null_columns))
        return self

    def decision_function(self, X, null_columns=None) -> np.ndarray:
        """Decision values: (n,) for two classes, otherwise (n, n_classes)."""
        values = self._values(X, null_columns)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.multi_class == "ovo":
            return _ovr_decision_function(values < 0, -values, len(self.classes_))
        return values

    def predict(self, X, null_columns=None) -> np.ndarray:
        """The class of each row of X."""
        decision = self.decision_function(X, null_columns)
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def score(self, X, y, sample_weight=None, null_columns=None) -> float:
        """Share of rows that are classified correctly."""
        return accuracy_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def _check_parameters(self):
        self._check_alpha("auto", "cv")
        self._check_n_basis()
        self._check_indefinite()
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}.")
        if self.multi_class not in ("ovr", "ovo"):
            raise ValueError(f"multi_class must be 'ovr' or 'ovo', got {self.multi_class!r}.")

    def _train(self, X, labels, weights, rows, P):
        problems = self._problems(labels)
        self._kind = self.null_space_used_ = self._free_or_dense(P, problems)
        self._refuse_too_few(P)
        Phi = self._gram(X)
        self._inspect(Phi, P)
        basis = None if self._kind == "free" else self._basis(X, self.random_state)
        alphas = self._alphas(Phi, P, problems, weights, basis)
        shared = self.multi_class == "ovr" or len(self.classes_) == 2
        machine = self._machine(Phi, P, basis) if shared else None
        fits, members = [], []
        for (points, signs), alpha in zip(problems, alphas, strict=True):
            if not shared:
                machine = self._machine(Phi[np.ix_(points, points)], P[points], _within(basis, points))
            fits.append(BinaryProblem(machine, signs, weights[points], self.loss, self.max_iter).fit(alpha))
            members.append(points)
        if shared:
            coefficients = machine.expand_many([fit.parts for fit in fits])
        else:
            coefficients = [fit.coefficients for fit in fits]
        self._collect(X, fits, coefficients, members, rows)
        for fit, (points, signs) in zip(fits, problems, strict=True):
            wrong, smaller = (
                np.average(side, weights=weights[points]) for side in (fit.values * signs <= 0, signs > 0)
            )
            self._warn_if_useless(wrong, min(smaller, 1.0 - smaller))

    def _problems(self, labels) -> list[tuple[np.ndarray, np.ndarray]]:
        """Points and signs of each binary problem."""
        everything = np.arange(len(labels))
        if len(self.classes_) == 2:
            return [(everything, np.where(labels == 1, 1.0, -1.0))]
        if self.multi_class == "ovr":
            return [(everything, np.where(labels == k, 1.0, -1.0)) for k in range(len(self.classes_))]
        pairs = []
        for first, second in combinations(range(len(self.classes_)), 2):
            points = np.flatnonzero((labels == first) | (labels == second))
            pairs.append((points, np.where(labels[points] == first, 1.0, -1.0)))
        return pairs

    def _free_or_dense(self, P, problems) -> str:
        if isinstance(self.null_space, str) and self.null_space in ("zero", "constant"):
            return self.null_space
        automatic = isinstance(self.null_space, str) and self.null_space in NAMED_NULL_SPACES
        if automatic and not self._is_precomputed() and P.shape[1] > 1:
            Q = np.linalg.qr(P)[0]
            if any(separates(Q[points], signs) for points, signs in problems):
                return "constant"
        return "free"

    def _alphas(self, Phi, P, problems, weights, basis) -> list:
        """What each binary problem is told about alpha: a number, candidates, or None to choose for itself."""
        if not isinstance(self.alpha, str):
            return [self.alpha] * len(problems)
        if self.alpha == "auto":
            return [None] * len(problems)
        return [self._cross_validated(Phi, P, points, signs, weights, basis) for points, signs in problems]

    def _cross_validated(self, Phi, P, points, signs, weights, basis) -> float:
        """The alpha with the smallest weighted number of errors in stratified cross-validation; ties to the larger."""
        smallest = int(min((signs > 0).sum(), (signs < 0).sum()))
        if smallest < 2:
            raise ValueError("alpha='cv' needs at least two points of each class: use alpha='auto' or a number.")
        folds = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=0)
        errors: dict[float, float] = {}
        grid = None
        for train, test in folds.split(points, signs):
            inner, outer = points[train], points[test]
            machine = self._machine(Phi[np.ix_(inner, inner)], P[inner], _within(basis, inner))
            grid = default_alphas(machine.scale) if grid is None else grid
            problem = BinaryProblem(machine, signs[train], weights[inner], self.loss, self.max_iter)
            for alpha, fit in problem.path(grid):
                if fit is None:
                    errors[float(alpha)] = np.inf
                    continue
                coefficients = fit.coefficients
                values = Phi[np.ix_(outer, inner[coefficients.points])] @ coefficients.dual
                values = values + self._null_part(P[outer], coefficients.null)
                wrong = weights[outer][~(signs[test] * values > 0)].sum()
                errors[float(alpha)] = errors.get(float(alpha), 0.0) + wrong
        return max(errors, key=lambda alpha: (-errors[alpha], alpha))

    def _collect(self, X, fits: list[BinaryFit], coefficients: list[Coefficients], members, rows):
        dual = np.zeros((X.shape[0], len(fits)))
        for k, (found, points) in enumerate(zip(coefficients, members, strict=True)):
            dual[points[found.points], k] = found.dual
        null = np.column_stack([found.null for found in coefficients])
        self._keep(X, dual, null, rows)
        self.n_iter_ = sum(fit.iterations for fit in fits)
        alphas, paths = np.array([fit.alpha for fit in fits]), [fit.path for fit in fits]
        self.alpha_, self.alpha_path_ = (float(alphas[0]), paths[0]) if len(fits) == 1 else (alphas, paths)


def _within(basis: np.ndarray | None, points: np.ndarray) -> np.ndarray | None:
    """Positions, among the given points, of those that belong to the basis."""
    return None if basis is None else np.flatnonzero(np.isin(points, basis))
