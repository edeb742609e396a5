"""A metric learned from data, for the kernels of any machine."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._base import blas as threads
from .._base.warnings import warn_user
from ..solvers.metric.gradients import KINDS
from ..solvers.metric.learning import Learner, Recipe
from ..solvers.metric.profiles import PowerProfile
from ..solvers.metric.scaling import mean_and_deviation
from .samples import distinct_samples
from .saving import SavedEstimator

_ROWS = 2000
_USELESS = 0.98  # of the variance of y


class LearnedMetric(SavedEstimator, TransformerMixin, BaseEstimator):
    """A metric in which distances tell most of y: x -> x L, where columns that do not matter fade.

    A kernel machine -r^beta is fitted by least squares to standardised columns, its gradients' average outer product M
    is taken, and the machine is fitted again in the metric L = M^(power/2), several times, with alpha by leave-one-out
    each time. The step that predicts best what was left out is kept, with the first one, in which the metric is that of
    the standardised columns, among them. What is left out of one half of the rows is predicted in a metric learned on
    the other half: otherwise all steps would look better than they are.

    Parameters
    ----------
    kind : {"full", "half", "diagonal"}
        Which part of M is used: all, its diagonal, or the mean of the two, which is safer than all with many columns.
    power : float
        Of M; 3/4 to 1 does well.
    beta : float
        The exponent of the kernel -r^beta, between 0 and 2.
    n_iter : int
        Most steps.

    Attributes
    ----------
    matrix_ : array (d, d)
        L, for the columns as they are.
    root_ : array (d, d)
        L for standardised columns, symmetric.
    importances_ : array (d,)
        Share of each standardised column in the trace of the metric.
    losses_ : array
        Mean squared error of what was left out at each step, in units of the variance of y.
    n_features_in_ : int

    See Also
    --------
    SVC, SVR, Smoother : ``metric="full"`` learns one for their kernels.
    TableRegressor : a stack of machines with metrics of their own.

    Notes
    -----
    A kernel without a length scale needs only the shape of the metric, whose trace is d; others choose their scale
    after it. Numbers y are values; anything else, and columns y (n, k), are classes or outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.estimators import LearnedMetric
    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> LearnedMetric().fit(X, np.sin(X[:, 2])).importances_.argmax()
    np.int64(2)
    """

    def __init__(self, kind: str = "half", power: float = 1.0, beta: float = 1.0, n_iter: int = 8):
        self.kind, self.power, self.beta, self.n_iter = kind, power, beta, n_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from points X (n, d) and values (n,) or (n, k), or classes (n,)."""
        self._check_parameters()
        labels = np.asarray(y)
        if labels.ndim == 1 and labels.dtype.kind not in "biufc":
            y = np.unique(labels, return_inverse=True)[1]
        checked = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        points, Y = np.asarray(checked[0]), np.asarray(checked[1], dtype=float)
        Y = Y.reshape(len(points), -1)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        if labels.ndim == 1 and labels.dtype.kind not in "biufc":
            Y = np.eye(int(Y.max()) + 1)[Y[:, 0].astype(int)]
        rows, weights = distinct_samples(points, Y, weights)
        if len(rows) > _ROWS:
            some = np.sort(np.random.default_rng(0).permutation(len(rows))[:_ROWS])
            rows, weights = rows[some], weights[some]
        self._learn(points[rows], Y[rows], weights)
        return self

    def _check_parameters(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {self.kind!r}.")
        for name, low, high in (("power", 0.0, np.inf), ("beta", 0.0, 2.0), ("n_iter", 0, np.inf)):
            value = getattr(self, name)
            if not low < value < high:
                raise ValueError(f"{name} must lie between {low} and {high}, got {value!r}.")

    def _learn(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> None:
        mean, deviation = mean_and_deviation(X, weights)
        centered, unit = mean_and_deviation(Y, weights)
        recipe = Recipe(PowerProfile(0.5 * self.beta), self.kind, self.power, int(self.n_iter))
        with threads.suited_to(len(X)):
            found = Learner((X - mean) / deviation, (Y - centered) / unit, weights).iterates(recipe)
        best = min(found, key=lambda iterate: iterate.loss)
        self.losses_ = np.array([iterate.loss for iterate in found]) / Y.shape[1]
        self.root_, self.matrix_ = best.root, best.root / deviation[:, None]
        diagonal = np.diag(best.root @ best.root.T)
        self.importances_ = diagonal / diagonal.sum()
        if self.losses_.min() > _USELESS and len(X) > 2:
            warn_user(
                "no step of the metric predicts what was left out better than the mean of y: the columns may not tell "
                "y, or they are too many for the rows. The metric is that of the best step all the same."
            )

    def transform(self, X: ArrayLike) -> np.ndarray:
        """The points in which distances are those of the metric: X L."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False) @ self.matrix_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
