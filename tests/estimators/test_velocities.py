"""Smoothing of velocities with the elastic kernel."""

import numpy as np
import pytest

from seminorm import Smoother
from seminorm.functions import VectorExpansion
from seminorm.kernels import Elastic, Gaussian, Polyharmonic, ThinPlate
from seminorm.kernels.elastic import with_components
from seminorm.nullspace import PerComponent, Polynomials, RigidMotions


def strike_slip(X):
    """Slip of a locked fault, and the rotation of the plate."""
    along = np.array([np.cos(0.6), np.sin(0.6)])
    across = X @ [-along[1], along[0]]
    return 12.0 * np.arctan(across / 0.08)[:, None] * along + 5.0 * np.column_stack([-X[:, 1], X[:, 0]])


def stations(rng, n=60, noise=1.0):
    X = rng.uniform(-0.5, 0.5, (n, 2))
    return X, strike_slip(X) + noise * rng.standard_normal((n, 2))


def test_without_coupling_it_is_the_smoother_of_both_components(rng):
    X, y = stations(rng)
    Z = rng.uniform(-0.5, 0.5, (20, 2))
    one, two = (Smoother(kernel, alpha=1e-3).fit(X, y) for kernel in (Elastic(-1.0), Polyharmonic(2)))
    np.testing.assert_allclose(one.predict(Z), two.predict(Z), atol=1e-8)
    np.testing.assert_allclose(one.predict_gradient(Z), two.predict_gradient(Z), atol=1e-6)
    assert one.edf_ == pytest.approx(2 * two.edf_)
    np.testing.assert_allclose(one.loo_, two.loo_, atol=1e-8)


def test_the_fit_is_the_solution_of_the_dense_system(rng):
    X, y = stations(rng, 25)
    alpha, weights = 1e-2, rng.uniform(0.5, 2.0, 25)
    rows = with_components(X, 2)
    K, P = Elastic(0.5)(rows), PerComponent(Polynomials(1)).fit(rows)(rows)
    saddle = np.block([[K + alpha * np.diag(1 / np.repeat(weights, 2)), P], [P.T, np.zeros((6, 6))]])
    solution = np.linalg.solve(saddle, np.r_[y.ravel(), np.zeros(6)])
    model = Smoother(Elastic(0.5), alpha=alpha).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X).ravel(), K @ solution[:50] + P @ solution[50:], atol=1e-8)
    assert model.function_.seminorm() ** 2 == pytest.approx(solution[:50] @ K @ solution[:50])


def test_the_coupling_is_chosen_and_pays_for_a_fault(rng):
    X, y = stations(rng, 100)
    Z = rng.uniform(-0.5, 0.5, (400, 2))
    coupled, apart = Smoother(Elastic()).fit(X, y), Smoother(ThinPlate()).fit(X, y)
    errors = [np.sqrt(np.mean((model.predict(Z) - strike_slip(Z)) ** 2)) for model in (coupled, apart)]
    assert coupled.kernel_.poisson > 0.5
    assert errors[0] < 0.9 * errors[1]
    mean, std = coupled.predict(Z, return_std=True)
    assert std.shape == (400, 2)
    assert np.mean(np.abs(mean - strike_slip(Z)) < 1.96 * std) > 0.93
    assert 0.5 < coupled.noise_variance_ < 1.5


def test_the_unit_of_length_and_the_orientation_do_not_matter(rng):
    X, y = stations(rng, 40)
    Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    Z = rng.uniform(-0.5, 0.5, (10, 2))
    expected = Smoother(Elastic()).fit(X, y).predict(Z)
    turned = Smoother(Elastic()).fit(4e5 * X @ Q.T + 1e6, y @ Q.T)
    np.testing.assert_allclose(turned.predict(4e5 * Z @ Q.T + 1e6), expected @ Q.T, atol=1e-4)


def test_missing_components_are_left_out(rng):
    X, y = stations(rng, 40)
    y[::3, 0] = np.nan
    y[5] = np.nan
    model = Smoother(Elastic(0.5), alpha=1e-3).fit(X, y)
    assert np.array_equal(np.isnan(model.loo_), np.isnan(y))
    rest = np.arange(40) != 5
    np.testing.assert_allclose(Smoother(Elastic(0.5), alpha=1e-3).fit(X[rest], y[rest]).predict(X), model.predict(X))
    rows, seen = with_components(X, 2), ~np.isnan(y.ravel())
    K, P = Elastic(0.5)(rows[seen]), PerComponent(Polynomials(1)).fit(rows[seen])(rows[seen])
    saddle = np.block([[K + 1e-3 * np.eye(len(K)), P], [P.T, np.zeros((6, 6))]])
    dual = np.linalg.solve(saddle, np.r_[y.ravel()[seen], np.zeros(6)])[: len(K)]
    np.testing.assert_allclose(model.dual_coef_, dual, atol=1e-6 * np.abs(dual).max())


def test_leave_one_out_leaves_out_one_component(rng):
    X, y = stations(rng, 20)
    model = Smoother(Elastic(0.5), alpha=1e-2).fit(X, y)
    without = y.copy()
    without[4, 1] = np.nan
    other = Smoother(Elastic(0.5), alpha=1e-2).fit(X, without)
    assert model.loo_[4, 1] == pytest.approx(y[4, 1] - other.predict(X[4:5])[0, 1], abs=1e-8)


def test_repeated_stations_are_merged_component_by_component(rng):
    X, y = stations(rng, 20)
    twice = Smoother(Elastic(0.5), alpha=1e-2).fit(np.vstack([X, X[:5]]), np.vstack([y, y[:5] + 1.0]))
    weights = np.where(np.arange(20) < 5, 2.0, 1.0)
    mean = y + np.where(np.arange(20) < 5, 0.5, 0.0)[:, None]
    once = Smoother(Elastic(0.5), alpha=1e-2).fit(X, mean, sample_weight=weights)
    np.testing.assert_allclose(twice.predict(X), once.predict(X), atol=1e-9)


def test_gradients_draws_and_files(rng, tmp_path):
    X, y = stations(rng, 30)
    model = Smoother(Elastic(0.5, order=2.5)).fit(X, y)
    Z, h = rng.uniform(-0.4, 0.4, (6, 2)), 1e-5
    for axis in range(2):
        shift = h * np.eye(2)[axis]
        numeric = (model.predict(Z + shift) - model.predict(Z - shift)) / (2 * h)
        np.testing.assert_allclose(model.predict_gradient(Z)[:, :, axis], numeric, atol=1e-5)
    draws = model.sample(Z, 4000, random_state=0)
    assert draws.shape == (6, 2, 4000)
    np.testing.assert_allclose(draws.std(axis=2), model.predict(Z, return_std=True)[1], rtol=0.1)
    assert model.sample(Z, 3, prior=True, random_state=0).shape == (6, 2, 3)
    loaded = Smoother.load(model.save(tmp_path / "model.npz"))
    assert np.array_equal(loaded.predict(Z), model.predict(Z))
    function = VectorExpansion.load(model.function_.save(tmp_path / "function.npz"))
    assert np.array_equal(function.hessian(Z), model.function_.hessian(Z))


def test_standard_deviations_of_gradients(rng):
    X, y = stations(rng, 30)
    model = Smoother(Elastic(0.5, order=3), alpha=1e-4).fit(X, y)
    Z, h = rng.uniform(-0.4, 0.4, (4, 2)), 1e-3
    slopes, std = model.predict_gradient(Z, return_std=True)
    assert slopes.shape == std.shape == (4, 2, 2)
    draws = model.sample(np.vstack([Z + [h, 0], Z - [h, 0]]), 4000, random_state=0)
    np.testing.assert_allclose(std[:, :, 0], ((draws[:4] - draws[4:]) / (2 * h)).std(axis=2), rtol=0.1)
    with pytest.raises(ValueError, match="differentiable"):
        Smoother(Elastic(0.5), alpha=1.0).fit(X, y).predict_gradient(Z, return_std=True)


def test_rigid_motions_may_be_free(rng):
    X = rng.random((20, 2))
    rotation = np.column_stack([-X[:, 1], X[:, 0]]) + [3.0, 4.0]
    model = Smoother(Elastic(0.5, order=1.5), alpha=10.0, null_space=RigidMotions()).fit(X, rotation)
    np.testing.assert_allclose(model.predict(X), rotation, atol=1e-9)
    with pytest.raises(ValueError, match="must contain the polynomials of degree 1"):
        Smoother(Elastic(0.5, order=2), null_space=RigidMotions()).fit(X, rotation)


def test_what_does_not_fit_is_named(rng):
    X, y = stations(rng, 20)
    for model, data, words in (
        (Smoother(Elastic()), (X, y[:, 0]), r"needs y of shape \(n, 2\)"),
        (Smoother(Elastic()), (X, np.column_stack([y[:, 0], np.full(20, np.nan)])), "no values in the columns"),
        (Smoother(Elastic()), (np.column_stack([X, X]), y), "third column"),
        (Smoother(Elastic(), metric="auto"), (X, y), "takes values alone"),
        (Smoother(Elastic(), coordinates="geographic"), (X, y), "kernel of the plane"),
        (Smoother(Elastic() + Gaussian()), (X, y), "poisson='auto'|columns"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(*data)
    with pytest.raises(ValueError, match="takes values alone"):
        Smoother(Elastic()).fit(X, y, gradients=np.zeros((20, 2, 2)))
