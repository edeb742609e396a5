"""Robust losses of FieldSmoother: outliers hardly matter, and Huber's minimiser is that of the dense machine."""

import numpy as np
import pytest

from seminorm import SVR, FieldSmoother
from seminorm.kernels import Polyharmonic
from seminorm.losses import Huber, StudentT

NOISE = 0.05
PLACES = np.random.default_rng(9).random((500, 2))


def surface(X):
    return np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) * X[:, 0]


def survey(n=2000):
    """Points, clean values, values of which every twentieth is grossly wrong, and which ones are."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    clean, bad = surface(X) + NOISE * rng.standard_normal(n), np.arange(0, n, 20)
    y = clean.copy()
    y[bad] += rng.uniform(5, 50, len(bad))  # all on one side
    return X, clean, y, bad


def error(model):
    return np.sqrt(np.mean((model.predict(PLACES) - surface(PLACES)) ** 2))


@pytest.mark.parametrize("loss", ["huber", "student_t"])
def test_gross_outliers_hardly_change_the_result(loss):
    X, clean, y, bad = survey()
    plain, robust = FieldSmoother(order=2).fit(X, clean), FieldSmoother(order=2, loss=loss).fit(X, y)
    assert error(robust) < (1.2 if loss == "student_t" else 1.6) * error(plain)  # Huber's are still pulled, a little
    assert error(FieldSmoother(order=2).fit(X, y)) > 20 * error(plain)
    assert robust.noise_variance_**0.5 == pytest.approx(NOISE, rel=0.15)
    assert robust.weights_.shape == y.shape and robust.weights_[bad].max() < 0.03
    assert np.median(np.delete(robust.weights_, bad)) > 0.85
    assert robust.complete_


@pytest.mark.slow
def test_the_operator_is_chosen_without_the_outliers():
    X, clean, y, _ = survey()
    assert error(FieldSmoother(loss="student_t").fit(X, y)) < 1.3 * error(FieldSmoother().fit(X, clean))


def test_hubers_minimiser_is_that_of_the_dense_machine(rng):
    X = np.sort(rng.random((60, 1)), axis=0)
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_t(2, 60)
    field = FieldSmoother(1e-3, order=2, depth=7, loss="huber", tol=1e-8).fit(X, y)
    residuals = y - field.predict(X)
    threshold = Huber.width * 1.4826 * np.median(np.abs(residuals))
    dense = SVR(Polyharmonic(2), alpha=1e-3, loss="huber", epsilon=threshold).fit(X, y)
    np.testing.assert_allclose(field.predict(X), dense.predict(X), atol=2e-3 * y.std())
    np.testing.assert_allclose(field.weights_, Huber(y, threshold).weights(field.predict(X)), atol=5e-3)


def test_student_weights_are_stationary_and_scale_with_the_weights_of_the_values(rng):
    X, y = rng.random((200, 1)), rng.standard_t(2, 200)
    w = rng.uniform(0.5, 2.0, 200)
    model = FieldSmoother(1e-2, order=2, depth=4, loss="student_t", tol=1e-8).fit(X, y, sample_weight=w)
    residuals = np.sqrt(w) * (y - model.predict(X))
    threshold = StudentT.width * 1.4826 * np.median(np.abs(residuals))
    np.testing.assert_allclose(model.weights_, StudentT(residuals, threshold).weights(np.zeros(200)), atol=5e-3)
    again = FieldSmoother(1e-2, order=2, depth=4, tol=1e-8).fit(X, y, sample_weight=w * model.weights_)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=2e-3 * y.std())


def test_chunks_and_arrays_agree():
    X, _, y, _ = survey(600)
    whole = FieldSmoother(1e-3, order=2, depth=3, loss="huber").fit(X, y)
    parts = FieldSmoother(1e-3, order=2, depth=3, loss="huber").fit([(X[:250], y[:250]), (X[250:], y[250:])])
    np.testing.assert_allclose(whole.weights_, parts.weights_, atol=1e-10)


def test_errors_name_the_loss(rng):
    X = rng.random((40, 2))
    with pytest.raises(ValueError, match="loss must be one of 'huber', 'squared', 'student_t', got 'hinge'"):
        FieldSmoother(loss="hinge").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="loss='huber' is one of values, and there are none"):
        FieldSmoother(1.0, loss="huber").fit(X, gradients=np.ones((40, 2)))
