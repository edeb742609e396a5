"""scikit-learn's checks over all estimators."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from seminorm import FieldSmoother, ImplicitSVM, VirtualSVC, estimators
from seminorm.estimators import all_estimators
from seminorm.invariance import Scaling


class OfThreeColumns(FieldSmoother):
    """The smoother of the three columns that tell most of y: scikit-learn's checks use more than fields take."""

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        centered = weights[:, None] * (X - np.average(X, axis=0, weights=weights))
        tells = np.abs(y.T @ centered).reshape(-1, X.shape[1]).sum(axis=0)
        self.columns_ = np.sort(np.argsort(-tells, kind="stable")[:3])
        order = np.lexsort(X.T)  # the stochastic trace of the criterion depends on the order of the rows
        super().fit(X[order][:, self.columns_], y[order], None if sample_weight is None else weights[order])
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.function_(X[:, self.columns_])


class TwoClasses(ImplicitSVM):
    """The machine as scikit-learn's checks want a classifier: two classes of any name, and between their means a
    point of label 0.
    """

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        names = np.unique(y[weights > 0]) if (weights > 0).any() else np.unique(y)
        if y.dtype.kind == "f" and (names != names.astype(int)).any():
            raise ValueError("Unknown label type: continuous")
        if len(names) != 2:
            raise ValueError(
                f"Only binary classification is supported. y must hold two classes, got {len(names)} class"
            )
        means = [np.average(X[y == name], axis=0, weights=weights[y == name]) for name in names]
        X, labels = np.vstack([X, np.mean(means, axis=0)]), np.append(np.where(y == names[1], 1, -1), 0)
        super().fit(X, labels, np.append(weights, 1.0))
        self.classes_ = names
        return self

    def predict(self, X):
        outside = super().predict(X) > 0
        return self.classes_[outside.astype(int)]

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def checked():
    """An example of each estimator; machines that need points of label 0, or few columns, in a form that copes."""
    coping = {ImplicitSVM: TwoClasses, FieldSmoother: OfThreeColumns}
    return [
        coping.get(type(estimator), type(estimator))(**estimator.get_params(deep=False))
        for estimator in [*all_estimators(), VirtualSVC(SklearnSVC(C=1.0), Scaling(0.1))]
    ]


def test_every_estimator_is_registered():
    public = {getattr(estimators, name) for name in estimators.__all__}
    classes = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert classes == {all_estimators[name] for name in all_estimators}


@pytest.mark.slow
@parametrize_with_checks(checked())
@pytest.mark.filterwarnings("ignore:the perceptron made:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
