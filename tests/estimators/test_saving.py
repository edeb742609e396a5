"""Every trained estimator can be saved without pickle, and answers the same afterwards."""

import numpy as np
import pytest
from helpers import case_id
from sklearn.svm import SVC as ForeignSVC

from seminorm import SVC, FieldSmoother, Functional, ImplicitSVM, Smoother, VirtualSVC
from seminorm.estimators import all_estimators
from seminorm.invariance.transformations import Scaling
from seminorm.kernels import Polyharmonic

ANSWERS = ("predict", "decision_function", "predict_proba", "transform", "score_samples", "predict_gradient")


def fitted(estimator, rng):
    """The estimator trained on points of the plane, and new points (rows of a matrix) to ask about."""
    X, Z = rng.standard_normal((40, 2)), rng.standard_normal((15, 2))
    y = np.where(X[:, 0] > 0, 1, -1) if isinstance(estimator, ImplicitSVM) else np.sin(X[:, 0]) + X[:, 1]
    if isinstance(estimator, ImplicitSVM):
        y[:5] = 0
    elif hasattr(estimator, "classes_") or "Class" in "".join(c.__name__ for c in type(estimator).__mro__):
        y = np.digitize(y, [-0.5, 0.8]).astype(str)
    elif estimator.__sklearn_tags__().target_tags.positive_only:
        y = np.exp(y)
    if getattr(estimator, "kernel", None) == "precomputed":
        X, Z = X @ X.T, Z @ X.T
    return estimator.fit(X, y), Z


@pytest.mark.parametrize("example", list(all_estimators()), ids=case_id)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_estimator_answers_the_same_after_saving(example, rng, tmp_path):
    model, Z = fitted(example, rng)
    again = type(model).load(model.save(tmp_path / "model.npz"))
    assert repr(again) == repr(model)
    asked = [name for name in ANSWERS if hasattr(model, name)]
    assert asked
    for name in asked:
        np.testing.assert_array_equal(getattr(again, name)(Z), getattr(model, name)(Z), err_msg=name)


def test_a_smoother_keeps_its_deviations_and_residuals(rng, tmp_path):
    X, y = rng.random((50, 2)), rng.standard_normal((50, 2))
    model = Smoother(Polyharmonic(3), alpha=0.1).fit(
        X, y, gradients=(X[:5], rng.standard_normal((5, 2, 2))), functionals=[(Functional(X[:2]), np.zeros((2, 2)))]
    )
    again = Smoother.load(model.save(tmp_path / "model.npz"))
    for one, other in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(again.loo_, model.loo_, rtol=1e-9)
    np.testing.assert_allclose(again.sample(X, random_state=0), model.sample(X, random_state=0), atol=1e-6)
    assert again.function_.seminorm() == pytest.approx(model.function_.seminorm())


def test_a_field_from_a_file_has_no_deviations(rng, tmp_path):
    X, y = rng.random((300, 2)), rng.random(300)
    model = FieldSmoother(callback=lambda fit: None).fit(X, y)
    again = FieldSmoother.load(model.save(tmp_path / "model.npz"))
    assert again.noise_variance_ == model.noise_variance_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="fit it again"):
        again.predict(X, return_std=True)
    twice = FieldSmoother.load(again.save(tmp_path / "twice.npz"))
    assert twice.noise_variance_ == model.noise_variance_


def test_what_cannot_be_saved_says_so(rng, tmp_path):
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    foreign = VirtualSVC(ForeignSVC(), Scaling(0.1)).fit(X, y)
    with pytest.raises(ValueError, match="cannot be saved without pickle"):
        foreign.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
    path = SVC(alpha=0.1).fit(X, X[:, 0] > 0).save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="does not hold a Smoother"):
        Smoother.load(path)
