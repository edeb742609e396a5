"""External drift: features that are free beside a field, against the dense smoother and known coefficients."""

import numpy as np
import pytest

from seminorm import FieldSmoother, Smoother
from seminorm.kernels import Polyharmonic


def step(X):
    return (X[:, 0] > 0.4).astype(float)


def test_the_dense_smoother_agrees(rng):
    X = np.sort(rng.random((80, 1)), axis=0)
    y, w = np.sin(5 * X[:, 0]) + 2 * step(X) + 0.1 * rng.standard_normal(80), rng.uniform(0.5, 2, 80)
    dense = Smoother(Polyharmonic(2), alpha=1e-3, null_space=lambda X: np.column_stack([np.ones(len(X)), X, step(X)]))
    dense.fit(X, y, sample_weight=w)
    field = FieldSmoother(1e-3, order=2, depth=7, tol=1e-8, null_space=step).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(field.predict(X), dense.predict(X), atol=1e-3)
    jump = np.diff(dense.predict([[0.4 - 1e-9], [0.4 + 1e-9]]))
    np.testing.assert_allclose(field.null_coef_, jump, atol=2e-3)


def test_alpha_is_chosen_beside_a_drift(rng):
    """Temperature that falls with height: a rough relief is no part of the field."""
    relief = FieldSmoother(1e-9, depth=4).fit(rng.random((300, 2)), 1000 * rng.random(300)).function_
    X, places = rng.random((600, 2)), rng.random((300, 2))

    def truth(X):
        return 15 + 3 * np.sin(3 * X[:, 0]) + X[:, 1] - 0.0065 * relief(X)

    y = truth(X) + 0.1 * rng.standard_normal(600)
    model = FieldSmoother(order=2, null_space=relief).fit(X, y)
    assert model.null_coef_ == pytest.approx([-0.0065], rel=0.02)
    error, without = (
        np.sqrt(np.mean((m.predict(places) - truth(places)) ** 2)) for m in (model, FieldSmoother(order=2).fit(X, y))
    )
    assert error < 0.05 and error < 0.3 * without
    assert model.noise_variance_**0.5 == pytest.approx(0.1, rel=0.1)
    grid = model.grid(0.5, bounds=[[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(np.ravel(grid)[-1], model.predict([[1.0, 1.0]])[0])


def test_chunks_and_arrays_agree(rng):
    X = rng.random((300, 2))
    y = X[:, 1] + 5 * step(X)
    whole = FieldSmoother(1e-3, depth=3, null_space=step).fit(X, y)
    parts = FieldSmoother(1e-3, depth=3, null_space=step).fit([(X[:100], y[:100]), (X[100:], y[100:])])
    np.testing.assert_allclose(whole.predict(X), parts.predict(X), atol=1e-6)
    assert whole.null_coef_ == pytest.approx([5.0], abs=1e-3)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda X: X[:, :1], "feature 0 depends on the others or on what is free already"),
        (lambda X: np.column_stack([step(X), 2 * step(X)]), "feature . depends on the others"),
        (lambda X: np.ones(len(X)), "feature 0 is constant at the points"),
        (lambda X: np.ones(3), "must give one row of features for each of 60 points"),
        (lambda X: np.where(X[:, 0] < 0.5, np.nan, 1.0), "gives NaN or infinity at"),
    ],
)
def test_features_that_cannot_be_told(features, message, rng):
    X = rng.random((60, 2))
    with pytest.raises(ValueError, match=message):
        FieldSmoother(1e-3, order=2, depth=2, null_space=features).fit(X, X[:, 0] + rng.random(60))


def test_what_a_drift_does_not_go_with(rng, tmp_path):
    X = rng.random((60, 2))
    y = X[:, 1] + step(X)
    with pytest.raises(TypeError, match="null_space must be a function of points"):
        FieldSmoother(null_space="columns").fit(X, y)
    with pytest.raises(ValueError, match="null_space goes with loss='squared'"):
        FieldSmoother(null_space=step, loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="goes with values, not with gradients"):
        FieldSmoother(1.0, depth=1, null_space=step).fit(X, y, gradients=np.ones((60, 2)))
    model = FieldSmoother(1.0, depth=1, null_space=step).fit(X, y)
    with pytest.raises(ValueError, match="null_space is code"):
        model.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="null_space tells no gradients"):
        model.predict_gradient(X)
