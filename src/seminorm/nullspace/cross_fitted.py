"""A model of the user's own as the free part of a machine: the generalised bias [Li et al. 2007], made honest."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from .._base.warnings import warn_user
from .spaces import NullSpace

_LEAST = 1e-3  # probabilities below it say no more
_MOST_ROWS = 50  # rows per point at most, where weights become repetitions


class Fold(NamedTuple):
    """Points to train a machine on, points to test it on, and what a model says at all of them (n, p)."""

    train: np.ndarray
    test: np.ndarray
    outputs: np.ndarray


class CrossFitted(NullSpace):
    """The outputs of an estimator, as functions that are free.

    In training the outputs at a point come from a model that has not seen it, nor a copy of it (``n_folds``-fold), so
    that the machine does not take what the model has learned by heart for truth. In prediction they come from the model
    trained on all points. Joined with the polynomials that the kernel needs, the machine corrects the model where it is
    wrong. SVC and SVR leave the outputs free, give them a price, or do without the model, whichever predicts better
    what neither machine nor model has seen (nested folds; see ``null_space_used_`` and ``null_space_``).

    Parameters
    ----------
    estimator : estimator
        A regressor (its ``predict``), a classifier (log odds of ``predict_proba``, or ``decision_function``), or a
        transformer (``transform``); it is cloned.
    n_folds : int

    See Also
    --------
    Features : functions that do not learn from y.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVC
    >>> from seminorm.nullspace import CrossFitted
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).standard_normal((80, 3))
    >>> y = X[:, 0] + X[:, 1] ** 2 > 1
    >>> SVC(null_space=CrossFitted(LogisticRegression())).fit(X, y).predict(X).shape
    (80,)
    """

    #: as ``null_space`` of an estimator it comes with the polynomials that the kernel needs
    joins_polynomials = True

    def __init__(self, estimator: Any, n_folds: int = 5):
        self.estimator, self.n_folds = estimator, n_folds

    def fit(self, X: Any, y: Any = None, sample_weight: np.ndarray | None = None) -> Self:
        if not hasattr(self.estimator, "fit"):
            raise ValueError(f"estimator must be a scikit-learn estimator, got {self.estimator!r}.")
        if y is None:
            raise ValueError("CrossFitted needs targets y: use it as null_space of SVC, SVR or Smoother.")
        self.model_ = _trained(self.estimator, X, np.asarray(y), sample_weight)
        values = _outputs(self.model_, X)
        self.scale_ = np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
        return self

    def training_matrix(self, X: Any, y: Any = None, sample_weight: np.ndarray | None = None) -> np.ndarray:
        """Outputs at each point of a model that was trained without it."""
        y, everything = np.asarray(y), np.arange(X.shape[0])
        return self._outside(X, y, sample_weight, everything, self._folds(X, y))

    def nested(self, X: Any, y: Any, sample_weight: np.ndarray | None = None) -> list[Fold]:
        """Folds for judging a machine that uses the outputs: for each, outputs at all points of models that have not
        seen its test points.

        The outputs in :meth:`training_matrix` come from several models, which differ by the labels that they have not
        seen. A machine that can tell the models apart reads these labels off them, and what is left out of the machine
        alone would not notice. Here the test points have the outputs of a model trained on all training points, and
        each training point those of one that has seen neither it nor the test points.
        """
        y, folds, found = np.asarray(y), self._folds(X, y), []
        if len(folds) < 3:
            raise ValueError(
                f"choosing alpha beside CrossFitted needs three folds, and there are {len(folds)}: give n_folds=3 or "
                "more and at least three points (of each class), or a number for alpha."
            )
        for k, (train, test) in enumerate(folds):
            weights = None if sample_weight is None else sample_weight[train]
            outputs = self._outside(X, y, sample_weight, train, folds[:k] + folds[k + 1 :])
            outputs[test] = _outputs(_trained(self.estimator, X[train], y[train], weights), X[test]) / self.scale_
            found.append(Fold(train, test, outputs))
        return found

    def _outside(self, X, y, weights, known: np.ndarray, folds) -> np.ndarray:
        """Outputs at the test points of folds, of models trained on the other known points."""
        result = np.zeros((X.shape[0], len(self.scale_)))
        for _, test in folds:
            train = np.setdiff1d(known, test)
            values = _outputs(
                _trained(self.estimator, X[train], y[train], None if weights is None else weights[train]), X[test]
            )
            if values.shape[1] != result.shape[1]:
                raise ValueError(
                    f"the model gives {result.shape[1]} outputs on all points and {values.shape[1]} on a fold: a class "
                    "is missing there. Use fewer folds, or more points of each class."
                )
            result[test] = values / self.scale_
        return result

    def derivative(self, X: Any, times: int) -> np.ndarray:
        if times:
            raise ValueError("the outputs of an estimator have no derivatives here: use predict, not gradients.")
        return _outputs(self.model_, X) / self.scale_

    def _folds(self, X, y):
        classes = is_classifier(self.estimator)
        least = int(np.unique(y, return_counts=True)[1].min()) if classes else len(y)
        folds = min(int(self.n_folds), least)
        if folds < 2:
            raise ValueError(f"n_folds={self.n_folds!r} needs at least two points (of each class), got {least}.")
        places = None if hasattr(X, "tocsr") else np.unique(X, axis=0, return_inverse=True)[1].ravel()
        if places is None or places.max(initial=0) == len(y) - 1:
            kind = StratifiedKFold if classes else KFold
            return list(kind(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
        # copies in other folds would tell the model of their label, or, if labels differ, of the opposite
        of_groups = StratifiedGroupKFold if classes else GroupKFold
        return list(of_groups(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y, places))


def _trained(estimator: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    """The model trained with weights; whole ones are repetitions for a model that takes none."""
    model = clone(estimator)
    if weights is None or np.ptp(weights) == 0:
        return model.fit(X, y)
    if has_fit_parameter(model, "sample_weight"):
        return model.fit(X, y, sample_weight=weights)
    times = np.maximum(np.round(weights / weights.min()), 1.0)
    if times.sum() > _MOST_ROWS * len(y) or np.abs(times * weights.min() - weights).max() > 0.01 * weights.max():
        warn_user(f"{estimator!r} takes no sample_weight: it learns from all points alike.")
        return model.fit(X, y)
    rows = np.repeat(np.arange(len(y)), times.astype(int))
    return model.fit(X[rows], y[rows])


def _outputs(model: Any, X: Any) -> np.ndarray:
    """What a model says of X, (n, p)."""
    if hasattr(model, "predict_proba"):
        logs = np.log(np.clip(np.asarray(model.predict_proba(X)), _LEAST, None))
        values = logs[:, 1:] - logs[:, :1]
    elif hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
    elif hasattr(model, "predict"):
        values = np.asarray(model.predict(X), dtype=float)
    else:
        values = model.transform(X)
        values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return check_array(values[:, None] if values.ndim == 1 else values, dtype=np.float64, input_name="model outputs")
