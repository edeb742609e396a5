"""Support vector classification with a semi-norm as regulariser."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .._base.warnings import warn_user
from ..kernels import Kernel, NegativeDistance
from ..losses import CLASSIFICATION, Loss, loss_named
from ..solvers.margin.path import SMALLEST_HINGE
from ..solvers.margin.separation import separates
from .base import kernel_for
from .margin import FEW_POINTS, FOLDS, MarginMachine
from .probabilities import binary_probabilities, fit_slopes, fit_temperature, multinomial_probabilities
from .trials import MachineTrial, Problem, TrainingSet


class SVC(ClassifierMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i loss(y_i, f(x_i)) over the kernel's space and its null space.

    The loss is max(0, 1 - y f)^2, max(0, 1 - y f) or log(1 + exp(-y f)), with y = -1 and 1 for the two classes.

    With the thin plate there is no length scale to tune: dilating the data is the same as changing alpha [Walder and
    Chapelle 2007]. Alpha, and how free the linear functions are, are chosen by the squared hinge loss of leave-one-out
    values, which cost no further training. What is left out is a place: points that (nearly) coincide are left out
    together. With many points, kernels and null spaces are compared on some of them, and alpha is then chosen on all;
    in few dimensions the kernel matrix is replaced by a factor of low rank if that is accurate enough for alpha.

    With a kernel matrix that is indefinite beside the null space there is no minimum, but there are stationary points
    in a Krein space. One of them is found by descent in the dual problem (:mod:`seminorm.solvers.margin.indefinite`).
    With the squared hinge it is the only one if alpha exceeds the modulus of the smallest eigenvalue times the largest
    weight. At smaller alphas the dual may have no minimum, which is an error, or the machine fits badly: "clip" is more
    robust.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``ThinPlate()`` or ``NegativeDistance()`` if left out, whichever is better by what is left out (always the
        latter in more than ten dimensions with fewer than two points for each of the d + 1 linear functions; always the
        thin plate if alpha is given). A kernel with ``scale="auto"`` gets its scale by the same criterion.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm (scikit-learn's C is 1 / (2 alpha)). "auto" takes the smallest loss along a
        path, an array names the candidates.
    criterion : {"loo", "cv"}
        How alpha is chosen: by the squared hinge loss of leave-one-out values, or of values in five-fold
        cross-validation.
    loss : {"squared_hinge", "hinge", "logistic"}
        Or the ``name`` of a loss for classification that you registered in :data:`seminorm.losses.all_losses`. With
        "logistic", 1 / (1 + exp(-f)) is the probability of the second class.
    null_space : "auto", "soft", "constant", "zero", None, int, sequence of int, callable, transformer or NullSpace
        What is free. "auto" chooses by what is left out: the polynomials of the kernel's ``null_degree``, at least the
        constant (unless they separate the classes alone); "soft", where all but the constant have a small price; or
        "constant", with coefficients orthogonal to the polynomials and only the constant free. "zero" leaves nothing
        free. Features of your own are the generalised bias of [Li et al. 2007]; a model of your own is
        :class:`seminorm.nullspace.CrossFitted`.
    multi_class : {"ovr", "ovo"}
        One machine per class against the rest, or one per pair of classes.
    n_basis : "auto", int or None
        Number of points that have a kernel term; None for all. With fewer, memory grows like ``n_basis`` squared, and
        time like n; alpha is chosen by leave-one-out values of 20 000 points, if there are more. "auto" takes all of up
        to 16 000 points and 2000 of more; see ``n_basis_``.
    random_state : int or RandomState, optional
        Chooses these points, random but far from each other [Arthur and Vassilvitskii 2007].
    class_weight : dict or "balanced", optional
    max_iter : int
        Most steps of Newton's method at each alpha.
    indefinite : {"clip", "flip", "stationary"}
        What to do with a kernel matrix that is indefinite beside the null space (kernels of invariant distances,
        "precomputed"): drop its negative eigenvalues, take their moduli, or find a stationary point.
    metric : None, "standardize", "auto", "diagonal", "full" or LearnedMetric
        What distances are measured in: the columns as they are, divided by their standard deviations, or ("auto")
        whichever of the two is better by what is left out. "diagonal" and "full" learn weights of the columns, or a
        linear map, from gradients: see :class:`seminorm.estimators.LearnedMetric`, which may be given, too.
        ``metric_`` is the choice, or what was learned.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : array
    support_, support_vectors_ : arrays
        Rows of X with a kernel term, and these points.
    dual_coef_, null_coef_ : arrays (n_problems, n_support) and (n_problems, p)
    alpha_ : float, or array with one entry per binary problem
        NaN where the null space alone separates and alpha plays no part.
    alpha_path_ : dict, or list of dicts
        ``alpha`` and ``score`` (the mean squared hinge loss) along the path; with leave-one-out also ``active`` and
        ``iterations``.
    n_basis_ : int
        Number of points that may have a kernel term.
    kernel_, null_space_used_ : Kernel, str
        What was used; "free", "soft", "constant" or "zero".
    loo_error_ : float
        Share of the training points that are classified wrongly when left out.
    link_coef_ : array
        Slopes of the link between decision values and probabilities, see :meth:`predict_proba`.
    coef_, intercept_ : arrays
        For the kernel ``Linear()`` only.
    stationary_ : bool
        Whether the kernel matrix is indefinite and the machine a stationary point. (With an indefinite matrix, "zero"
        and "constant" leave nothing or the constant free, and the coefficients annihilate no more than that.)
    n_iter_ : int
        Newton or interior-point steps in all.

    See Also
    --------
    SVR : the same for regression.
    ImplicitSVM : with examples on the boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVC
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> bool(SVC().fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: str | float | np.ndarray = "auto",
        criterion: str = "loo",
        loss: str = "squared_hinge",
        null_space: object = "auto",
        multi_class: str = "ovr",
        n_basis: int | str | None = "auto",
        class_weight: dict | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        max_iter: int = 100,
        indefinite: str = "clip",
        metric: object = None,
        verbose: bool = False,
    ):
        self.kernel, self.alpha, self.criterion, self.loss, self.null_space = kernel, alpha, criterion, loss, null_space
        self.multi_class, self.n_basis, self.class_weight = multi_class, n_basis, class_weight
        self.random_state, self.max_iter, self.indefinite = random_state, max_iter, indefinite
        self.metric, self.verbose = metric, verbose

    _rule = SMALLEST_HINGE

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> SVC:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix (n, d), or the kernel matrix (n, n) for ``kernel="precomputed"``
            Memory-mapped and Dask arrays of many rows stay where they are.
        y, sample_weight : arrays (n,)
        null_columns : array (n, r), optional
            For ``kernel="precomputed"``: the free functions at the training points; a column of ones if left out.
        """
        self._check_common_parameters()
        self._check_choice("multi_class", ("ovr", "ovo"))
        loss_named(self.loss, CLASSIFICATION)
        _refuse_missing_labels(y)
        X, y = self._check_samples(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = weights * compute_sample_weight(self.class_weight, y)
        X, labels, weights, rows, null_columns = self._merge(X, labels, weights, null_columns)
        self._least_points = self._smallest_problem(len(labels), labels)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y must hold at least two classes (with positive weight), got one class: {self.classes_[labels[:1]]}."
            )
        self._train(X, labels, weights, rows, null_columns)
        return self

    def decision_function(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Decision values: (n,) for two classes, otherwise (n, n_classes)."""
        values = self._margin_values(X, null_columns)
        return values[:, 0] if len(self.classes_) == 2 else self._scores(values)

    def predict(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """The class of each row of X."""
        decision = self.decision_function(X, null_columns)
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def predict_proba(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Probabilities of the classes (n, n_classes); the most probable one is the class predicted.

        They come from decision values by a link fitted to leave-one-out values of the training points: for two classes
        1 / (1 + exp(-slope f)) with a slope for each side of the boundary, otherwise the multinomial link of the scores
        times a factor (``link_coef_``). With ``loss="logistic"`` they are the model's own, 1 / (1 + exp(-f)).
        """
        decision = self.decision_function(X, null_columns)
        own = self.loss == "logistic" and self.multi_class == "ovr"
        if decision.ndim == 1:
            return binary_probabilities(decision, np.ones(2) if own else self.link_coef_)
        if own:
            odds = expit(decision)
            return odds / odds.sum(axis=1, keepdims=True)
        return multinomial_probabilities(decision, float(self.link_coef_[0]))

    def predict_log_proba(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, null_columns))

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> float:
        """Share of rows that are classified correctly."""
        return accuracy_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """Scores of several classes from the values of the binary machines."""
        return _ovr_decision_function(values < 0, -values, len(self.classes_)) if self.multi_class == "ovo" else values

    def _loss(self, targets: np.ndarray, k: int = 0) -> Loss:
        return loss_named(self.loss, CLASSIFICATION)(targets)

    def _problems(self, y: np.ndarray) -> list[Problem]:
        """Points and signs of each binary problem."""
        everything = np.arange(len(y))
        if len(self.classes_) == 2:
            return [(everything, np.where(y == 1, 1.0, -1.0))]
        if self.multi_class == "ovr":
            return [(everything, np.where(y == k, 1.0, -1.0)) for k in range(len(self.classes_))]
        pairs = []
        for first, second in combinations(range(len(self.classes_)), 2):
            points = np.flatnonzero((y == first) | (y == second))
            pairs.append((points, np.where(y[points] == first, 1.0, -1.0)))
        return pairs

    def _kernels(self, X, weights) -> list[Kernel | None]:
        kernels = super()._kernels(X, weights)
        if self.kernel is not None or not (self._is_automatic() or self._learns()) or self._given_alpha() is not None:
            return kernels
        return kernels if isinstance(kernels[0], NegativeDistance) else [*kernels, NegativeDistance()]

    def _what_is_free(self, P: np.ndarray, problems: list[Problem]) -> list[str]:
        """Everything, with a price or without, or only the constant: chosen by what is left out."""
        automatic = self._is_automatic() or self._learns()
        settled = not automatic or self._is_given() or self._own_columns
        if settled or P.shape[1] < 2:
            return super()._what_is_free(P, problems)
        n = min(len(points) for points, _ in problems)
        if n <= P.shape[1]:
            return ["soft"]
        Q = np.linalg.qr(P)[0]
        few = n < FEW_POINTS * P.shape[1]
        separable = any(separates(Q[points], signs) for points, signs in problems)
        given = self._given_alpha()
        if given is not None and given.ndim == 0 and not few and not separable:
            return ["free"]
        beside = few and self._is_automatic()
        return [*([] if separable else ["free"]), "soft", *(["constant"] if beside else [])]

    def _settle_kernel(self, X) -> Kernel:
        """The kernel given, or the default for the smallest of the binary problems."""
        return kernel_for(self.kernel, X, self._least_points, self._names())

    def _adopt(self, trial: MachineTrial) -> None:
        super()._adopt(trial)
        self.null_space_used_ = self._kind

    def _judge(self, y: np.ndarray, data: TrainingSet, trial: MachineTrial) -> None:
        """Fit the link of the probabilities to leave-one-out values, and warn if these are no better than a guess."""
        left_out = [trial.left_out(k) for k in range(len(trial.fits))]
        weights = data.weights * trial.judged
        if len(self.classes_) == 2:
            scores = left_out[0]
            self.link_coef_ = fit_slopes(scores, data.problems[0][1], weights)
            chosen = (scores > 0).astype(int)
        else:
            values = trial.values() if self.multi_class == "ovo" else np.empty((len(data), len(trial.fits)))
            for k, (points, _) in enumerate(data.problems):
                values[points, k] = left_out[k]
            scores = self._scores(values)
            self.link_coef_ = np.array([fit_temperature(scores, y, weights)])
            chosen = scores.argmax(axis=1)
        self.loo_error_ = float(np.average(chosen != y, weights=weights))
        self._warn_if_guessing(self.loo_error_, np.bincount(y, weights) / weights.sum())

    def _warn_if_guessing(self, error: float, shares: np.ndarray) -> None:
        if self._given_alpha() is None and error >= 1.0 - shares.max():
            warn_user(
                f"the leave-one-out error ({100 * error:.3g} %) is no better than that of always predicting the most "
                f"frequent class ({100 * (1.0 - shares.max()):.3g} %): these features may not tell the classes apart, "
                "or they need another kernel, metric or scale of columns."
            )

    def _smallest_problem(self, n: int, labels: np.ndarray) -> int:
        """How many points the smallest training set has, of a pair of classes or of a fold."""
        counts = np.sort(np.bincount(labels))
        if self.multi_class == "ovo" and len(counts) > 2:
            n = int(counts[:2].sum())
        given = self._given_alpha()
        return n - n // FOLDS if self.criterion == "cv" and (given is None or given.ndim > 0) else n

    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        wrong, smaller = (np.average(side, weights=weights) for side in (values * targets <= 0, targets > 0))
        return float(wrong), float(min(smaller, 1.0 - smaller))


def _refuse_missing_labels(y) -> None:
    labels = np.asarray(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if labels.ndim == 1 and labels.dtype == object:
        missing = [i for i, label in enumerate(labels) if label is None or label != label]
        if missing:
            raise ValueError(
                f"y has no label (None or NaN) at {len(missing)} rows, the first is {missing[0]}: drop them."
            )
