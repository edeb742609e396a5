"""scikit-learn's checks over all estimators."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _check_sample_weight, validate_data

from seminorm import FieldSmoother, ImplicitSVM, VirtualSVC, estimators
from seminorm.estimators import all_estimators
from seminorm.invariance import Scaling

_TOO_MANY_FEATURES = "fields have one to four coordinates; the check uses more"
_EXPECTED = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_all_zero_sample_weights_error",
        "check_sample_weight_equivalence_on_dense_data",
        "check_dtype_object",
        "check_regressors_train",
        "check_regressor_data_not_an_array",
        "check_regressors_int",
        "check_fit2d_1sample",
    ),
    _TOO_MANY_FEATURES,
)


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
    """An example of each estimator; machines that need points of label 0 in the form of a classifier."""
    return [
        TwoClasses(**estimator.get_params(deep=False)) if isinstance(estimator, ImplicitSVM) else estimator
        for estimator in [*all_estimators(), VirtualSVC(SklearnSVC(C=1.0), Scaling(0.1))]
    ]


def test_every_estimator_is_registered():
    public = {getattr(estimators, name) for name in estimators.__all__}
    classes = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert classes == {all_estimators[name] for name in all_estimators}


def expected_failures(estimator):
    return _EXPECTED if isinstance(estimator, FieldSmoother) else {}


@pytest.mark.slow
@parametrize_with_checks(checked(), expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:the perceptron made:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
