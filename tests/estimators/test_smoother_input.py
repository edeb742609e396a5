"""Bad input to the smoother: an error that names the argument and the way out, or a warning and a defined answer."""

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning

import seminorm._base.memory
from seminorm import Smoother
from seminorm.kernels import Linear, Polyharmonic, ThinPlate


@pytest.fixture
def data(rng):
    X = rng.random((30, 2))
    return X, X[:, 0] + 0.1 * rng.standard_normal(30)


def with_nan(X):
    X = X.copy()
    X[3, 1] = np.nan
    return X


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: Smoother().fit(with_nan(X), y), "X contains NaN"),
        (lambda X, y: Smoother().fit(X, y * np.nan), "y contains NaN"),
        (lambda X, y: Smoother().fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: Smoother().fit(X[:, 0], y), "Reshape"),
        (lambda X, y: Smoother().fit(X, y).predict(X[:, :1]), "features"),
        (lambda X, y: Smoother(alpha=0).fit(np.vstack([X, X[:2]]), np.r_[y, y[:2]]), "alpha=0.*2 duplicated points"),
        (lambda X, y: Smoother().fit(X[:2], y[:2]), "fewer than the dimension 3 of the null space"),
        (lambda X, y: Smoother(null_space=6).fit(X[:20], y[:20]), "null_space"),
        (lambda X, y: Smoother(alpha=-1.0).fit(X, y), "alpha must be >= 0"),
        (lambda X, y: Smoother(alpha=np.nan).fit(X, y), "alpha must"),
        (lambda X, y: Smoother(alpha=[0.0, 1.0]).fit(X, y), "candidates positive"),
        (lambda X, y: Smoother(alpha="best").fit(X, y), "alpha must be 'auto'"),
        (lambda X, y: Smoother(alpha=["a"]).fit(X, y), "alpha must be a number"),
        (lambda X, y: Smoother(criterion="aic").fit(X, y), "criterion must be one of 'auto', 'gcv', 'loo', 'reml'"),
        (lambda X, y: Smoother(prior_variance=-1).fit(X, y), "prior_variance"),
        (lambda X, y: Smoother("gaussian").fit(X, y), "kernel must be a kernel"),
        (lambda X, y: Smoother(null_space=0).fit(X, y), "null_space must contain the polynomials of degree 1"),
        (lambda X, y: Smoother(Polyharmonic(1)).fit(X, y), "2 order > d"),
        (lambda X, y: Smoother().fit(X, y, gradients=X), r"gradients need a kernel.*Polyharmonic\(order=3\)"),
        (lambda X, y: Smoother(Polyharmonic(3)).fit(X, y, gradients=X[:5]), "gradients must have shape"),
        (lambda X, y: Smoother(Polyharmonic(3)).fit(X, y, gradients=(X, X, -(y**2))), "gradients: the weights"),
        (lambda X, y: Smoother(Polyharmonic(3)).fit(X, y, gradients=(X, X, y[:3])), "gradients: the weights"),
        (lambda X, y: Smoother().fit(X, y, functionals=[X]), "functionals must hold"),
        (lambda X, y: Smoother(Polyharmonic(3)).fit(X, y, gradients=(X,)), "tuple of 1"),
        (lambda X, y: Smoother().fit(X, y, sample_weight=-np.ones(30)), "[Nn]egative"),
        (lambda X, y: Smoother().fit(X, y, sample_weight=np.zeros(30)), "[Ss]ample.weight"),
        (lambda X, y: Smoother().fit(X, y, sample_weight=np.ones(3)), "sample_weight"),
    ],
)
def test_errors_name_the_argument(call, message, data):
    with pytest.raises(ValueError, match=message):
        call(*data)


def test_gradient_data_need_one_more_order_than_the_thin_plate(rng):
    for d, m in ((1, 2), (2, 3), (3, 3)):
        Z = rng.random((20, d))
        with pytest.raises(ValueError, match=rf"Polyharmonic\(order={m}\)"):
            Smoother(ThinPlate()).fit(Z, Z[:, 0], gradients=Z)
        Smoother(Polyharmonic(m), alpha=0.1).fit(Z, Z[:, 0], gradients=Z)


def test_points_on_a_line_take_the_smallest_coefficients(rng):
    t = rng.random(30)
    direction = np.array([0.6, 0.8])
    X = t[:, None] * direction + [1.0, 2.0]
    y = np.sin(4 * t)
    plane = Smoother(alpha=1e-3).fit(X, y)
    line = Smoother(alpha=1e-3).fit(t[:, None], y)
    np.testing.assert_allclose(plane.predict(X), line.predict(t[:, None]), atol=1e-8)
    # across the line the null space does not change: the smallest coefficients
    gradient = plane.null_space_.gradient(X[:1])[0].T @ plane.null_coef_
    assert abs(gradient @ [-0.8, 0.6]) < 1e-8 * np.linalg.norm(gradient)
    with pytest.warns(UserWarning, match="30 of 30 points lie off the line"):
        assert np.isfinite(plane.predict(X + [0.3, 0.0], return_std=True)[1]).all()
    with pytest.warns(UserWarning, match="determine only 2"):
        Smoother(alpha=1e-3, null_space=1).fit(X, y)


def test_constant_features_work(rng, data):
    X, y = data
    model = Smoother(alpha=0.1).fit(np.column_stack([X, np.full(30, 7.1)]), y)
    np.testing.assert_allclose(
        model.predict(np.column_stack([X, np.full(30, 7.1)])), Smoother(alpha=0.1).fit(X, y).predict(X), atol=1e-8
    )


def test_singular_kernels_warn_and_fit_what_they_can(data):
    X, y = data
    with pytest.warns(LinAlgWarning, match="singular") as caught:
        model = Smoother(Linear(), alpha=0).fit(X, y)
    assert caught[0].filename == __file__  # the line of the caller
    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), X @ least_squares, atol=1e-6)


def test_too_large_for_memory_is_said_before_allocation(monkeypatch, rng):
    monkeypatch.setattr(seminorm._base.memory, "available_bytes", lambda: 10**6)
    called = []
    monkeypatch.setattr(ThinPlate, "_matrix", lambda self, X, Y: called.append(len(X)))
    with pytest.raises(MemoryError, match=r"use seminorm\.FieldSmoother, which takes millions of points") as caught:
        Smoother().fit(rng.random((400, 4)), np.zeros(400))
    assert isinstance(caught.value, ValueError)
    assert "GiB" in str(caught.value)
    with pytest.raises(MemoryError, match=r"fit a subset\.$"):  # a field cannot help in five dimensions
        Smoother().fit(rng.random((400, 5)), np.zeros(400))
    assert 400 not in called


def test_available_memory_is_plausible():
    available = seminorm._base.memory.available_bytes()
    assert available is None or 10**7 < available < 10**16
