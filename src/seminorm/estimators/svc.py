"""Support vector classification with a semi-norm as regulariser."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from ..kernels import Kernel
from ..losses import CLASSIFICATION, Loss, loss_named
from ..solvers.margin.path import FEWEST_ERRORS
from ..solvers.margin.separation import separates
from .margin import NAMED_NULL_SPACES, MarginMachine, Problem


class SVC(ClassifierMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i loss(y_i, f(x_i)) over the kernel's space and its null space.

    The loss is max(0, 1 - y f)^2, max(0, 1 - y f) or log(1 + exp(-y f)), with y = -1 and 1 for the two classes.

    With the thin plate there is no length scale to tune: dilating the data is the same as changing alpha [Walder and
    Chapelle 2007], and alpha is chosen by the number of leave-one-out errors, which cost no further training.

    With a kernel matrix that is indefinite beside the null space there is no minimum, but there are stationary points
    in a Krein space. One of them is found by descent in the dual problem (:mod:`seminorm.solvers.margin.indefinite`).
    With the squared hinge it is the only one if alpha exceeds the modulus of the smallest eigenvalue times the largest
    weight. At smaller alphas the dual may have no minimum, which is an error, or the machine fits badly: "clip" is more
    robust.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``ThinPlate()`` if left out (``NegativeDistance()`` in more than ten dimensions with fewer than two points for
        each of its d + 1 free functions).
    alpha : "auto", float or array of float
        Weight of the squared semi-norm (scikit-learn's C is 1 / (2 alpha)). "auto" takes the fewest errors along a
        path, an array names the candidates.
    criterion : {"loo", "cv"}
        How alpha is chosen: by the number of leave-one-out errors, or of errors in five-fold cross-validation.
    loss : {"squared_hinge", "hinge", "logistic"}
        Or the ``name`` of a loss for classification that you registered in :data:`seminorm.losses.all_losses`. With
        "logistic", 1 / (1 + exp(-f)) is the probability of the second class.
    null_space : "auto", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free: by default the polynomials of the kernel's ``null_degree``, at least the constant. If these
        alone separate any of the binary problems, all of them use "constant" instead: coefficients orthogonal to the
        polynomials, only the constant free. "zero" leaves nothing free (see ``null_space_used_``). Features of your
        own are the generalised bias of [Li et al. 2007].
    multi_class : {"ovr", "ovo"}
        One machine per class against the rest, or one per pair of classes.
    n_basis, random_state : int, int or RandomState, optional
        For "zero" and "constant": expand on this number of points, chosen at random, instead of all.
    class_weight : dict or "balanced", optional
    max_iter : int
        Most steps of Newton's method at each alpha.
    indefinite : {"stationary", "clip", "flip"}
        What to do with a kernel matrix that is indefinite beside the null space (kernels of invariant distances,
        "precomputed"): find a stationary point, or drop its negative eigenvalues, or take their moduli.

    Attributes
    ----------
    classes_ : array
    support_, support_vectors_ : arrays
        Rows of X with a kernel term, and these points.
    dual_coef_, null_coef_ : arrays (n_problems, n_support) and (n_problems, p)
    alpha_ : float, or array with one entry per binary problem
        NaN where the null space alone separates and alpha plays no part.
    alpha_path_ : dict, or list of dicts
        ``alpha`` and ``score`` (the weighted number of errors) along the path; with leave-one-out also ``active`` and
        ``iterations``.
    null_space_used_ : str
        "free", "constant" or "zero".
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
        n_basis: int | None = None,
        class_weight: dict | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        max_iter: int = 100,
        indefinite: str = "stationary",
    ):
        self.kernel, self.alpha, self.criterion, self.loss, self.null_space = kernel, alpha, criterion, loss, null_space
        self.multi_class, self.n_basis, self.class_weight = multi_class, n_basis, class_weight
        self.random_state, self.max_iter, self.indefinite = random_state, max_iter, indefinite

    _rule = FEWEST_ERRORS

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> SVC:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix (n, d), or the kernel matrix (n, n) for ``kernel="precomputed"``
        y, sample_weight : arrays (n,)
        null_columns : array (n, r), optional
            For ``kernel="precomputed"``: the free functions at the training points; a column of ones if left out.
        """
        self._check_common_parameters()
        self._check_choice("multi_class", ("ovr", "ovo"))
        loss_named(self.loss, CLASSIFICATION)
        X, y = self._check_input(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weights = weights * compute_sample_weight(self.class_weight, y)
        X, labels, weights, rows, null_columns = self._merge(X, labels, weights, null_columns)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                f"y must hold at least two classes (with positive weight), got one class: {self.classes_[labels[:1]]}."
            )
        self._train(X, labels, weights, rows, null_columns)
        return self

    def decision_function(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Decision values: (n,) for two classes, otherwise (n, n_classes)."""
        values = self._margin_values(X, null_columns)
        if len(self.classes_) == 2:
            return values[:, 0]
        if self.multi_class == "ovo":
            return _ovr_decision_function(values < 0, -values, len(self.classes_))
        return values

    def predict(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """The class of each row of X."""
        decision = self.decision_function(X, null_columns)
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> float:
        """Share of rows that are classified correctly."""
        return accuracy_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def _loss(self, targets: np.ndarray) -> Loss:
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

    def _what_is_free(self, P: np.ndarray, problems: list[Problem]) -> str:
        kind = super()._what_is_free(P, problems)
        automatic = isinstance(self.null_space, str) and self.null_space in NAMED_NULL_SPACES
        if kind == "free" and automatic and not self._is_given() and P.shape[1] > 1:
            Q = np.linalg.qr(P)[0]
            if any(separates(Q[points], signs) for points, signs in problems):
                kind = "constant"
        self.null_space_used_ = kind
        return kind

    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        wrong, smaller = (np.average(side, weights=weights) for side in (values * targets <= 0, targets > 0))
        return float(wrong), float(min(smaller, 1.0 - smaller))
