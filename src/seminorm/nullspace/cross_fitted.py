"""A model of the user's own as the free part of a machine: the generalised bias [Li et al. 2007], made honest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_array

from .spaces import NullSpace


class CrossFitted(NullSpace):
    """The outputs of an estimator, as functions that are free.

    In training the outputs at a point come from a model that has not seen it (``n_folds``-fold), so that the machine
    does not take what the model has learned by heart for truth. In prediction they come from the model trained on all
    points. Joined with the polynomials that the kernel needs, the machine corrects the model where it is wrong.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        if not hasattr(self.estimator, "fit"):
            raise ValueError(f"estimator must be a scikit-learn estimator, got {self.estimator!r}.")
        if y is None:
            raise ValueError("CrossFitted needs targets y: use it as null_space of SVC, SVR or Smoother.")
        self.model_ = clone(self.estimator).fit(X, y)
        values = _outputs(self.model_, X)
        self.scale_ = np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
        return self

    def training_matrix(self, X: Any, y: Any = None) -> np.ndarray:
        """Outputs at each point of a model that was trained without it."""
        y = np.asarray(y)
        result = np.zeros((X.shape[0], len(self.scale_)))
        for train, test in self._folds(X, y):
            values = _outputs(clone(self.estimator).fit(X[train], y[train]), X[test])
            if values.shape[1] != result.shape[1]:
                raise ValueError(
                    f"the model gives {result.shape[1]} outputs on all points and {values.shape[1]} on a fold: a class "
                    "is missing there. Use fewer folds, or more points of each class."
                )
            result[test] = values
        return result / self.scale_

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
        kind = StratifiedKFold if classes else KFold
        return kind(folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y)


def _outputs(model: Any, X: Any) -> np.ndarray:
    """What a model says of X, (n, p)."""
    if hasattr(model, "predict_proba"):
        logs = np.log(np.clip(np.asarray(model.predict_proba(X)), 1e-6, None))
        values = logs[:, 1:] - logs[:, :1]
    elif hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
    elif hasattr(model, "predict"):
        values = np.asarray(model.predict(X), dtype=float)
    else:
        values = model.transform(X)
        values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return check_array(values[:, None] if values.ndim == 1 else values, dtype=np.float64, input_name="model outputs")
