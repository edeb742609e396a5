"""The solvers of the smoother against each other, how one is chosen, and what each refuses."""

import numpy as np
import pytest
from helpers import interrupted
from sklearn.exceptions import ConvergenceWarning

from seminorm import Smoother
from seminorm.estimators import engines, smoother
from seminorm.functions import Functional
from seminorm.kernels import (
    Gaussian,
    Linear,
    Matern,
    Multiquadric,
    NegativeDistance,
    Polyharmonic,
    Tension,
    ThinPlate,
)
from seminorm.nullspace import Polynomials

N = 1500


@pytest.fixture
def data(rng):
    X = rng.random((N, 2))
    return X, np.sin(5 * X.sum(axis=1)) + 0.1 * rng.standard_normal(N), rng.random((40, 2))


def both(kernel, X, y, sample_weight=None, **parameters):
    return [Smoother(kernel, solver=s, **parameters).fit(X, y, sample_weight) for s in ("dense", "fast")]


@pytest.mark.parametrize(
    "kernel",
    [
        NegativeDistance(),
        ThinPlate(),
        Polyharmonic(3),
        0.5 * Multiquadric(0.1),
        Matern(1.5, 0.2),
        Tension(0.2),
        Matern(2.5, 1.0).axis_scale([0.2, 0.5]),
        ThinPlate() + Gaussian(0.3),
    ],
    ids=repr,
)
def test_fast_is_dense(kernel, data, rng):
    X, y, Z = data
    weights = rng.uniform(0.5, 2.0, N)
    for alpha in (0.0, 1e-3):
        y_fit = np.sin(5 * X.sum(axis=1)) if alpha == 0 else y
        dense, fast = both(kernel, X, y_fit, weights, alpha=alpha)
        assert (dense.solver_, fast.solver_) == ("dense", "fast")
        np.testing.assert_allclose(fast.predict(Z), dense.predict(Z), atol=2e-5 if alpha else 1e-4)
        if alpha:
            assert abs(fast.edf_ - dense.edf_) < 0.05 * dense.edf_ + 5
            np.testing.assert_allclose(fast.prior_variance_, dense.prior_variance_, rtol=1e-3)


def test_chosen_alpha_deviations_and_left_out_are_those_of_dense(data):
    X, y, Z = data
    for criterion in ("gcv", "reml"):
        dense, fast = both(None, X, np.column_stack([y, 2 * y[::-1]]), criterion=criterion)
        assert abs(np.log(fast.alpha_ / dense.alpha_)) < np.log(1.3)
        np.testing.assert_allclose(fast.predict(Z), dense.predict(Z), atol=0.02)
        for ours, theirs in zip(fast.predict(Z, return_std=True), dense.predict(Z, return_std=True), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0.06, atol=0.02)
        assert np.median(np.abs(fast.loo_ - dense.loo_)) < 0.02 * np.median(np.abs(dense.loo_))
        assert set(fast.alpha_path_) == {"alpha", "score", "edf"} and fast.alpha_ in fast.alpha_path_["alpha"]
    mean, std = fast.predict(Z[:5], return_std=True)
    draws = fast.sample(Z[:5], 100, random_state=0)
    assert draws.shape == (5, 2, 100)
    assert (np.abs(draws.mean(axis=-1) - mean) < 0.5 * std).all() and (np.abs(draws.std(axis=-1) / std - 1) < 0.4).all()


def slopes_of_sine(X):
    return 5 * np.cos(5 * X.sum(axis=1))[:, None] * np.ones(X.shape[1])


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel",
    [Polyharmonic(3), Polyharmonic(4), Matern(2.5, 0.5), 2.0 * Multiquadric(0.2), Matern(2.5, 0.3) + Matern(3.5, 1.0)],
    ids=repr,
)
def test_gradients_fast_is_dense(kernel, d, rng):
    X, Z = rng.random((250, d)), rng.random((20, d))
    y, G, weights = np.sin(5 * X.sum(axis=1)), slopes_of_sine(X), rng.uniform(0.5, 2.0, 250)
    G[rng.random(G.shape) < 0.3] = np.nan
    for alpha in (1e-7, 1e-3):
        dense, fast = (
            Smoother(kernel, alpha=alpha, solver=solver, tol=1e-8).fit(X, y, weights, gradients=G)
            for solver in ("dense", "fast")
        )
        assert fast.solver_ == "fast" and fast.n_iter_ < 60
        np.testing.assert_allclose(fast.predict(Z), dense.predict(Z), atol=2e-5)
        np.testing.assert_allclose(fast.predict_gradient(Z), dense.predict_gradient(Z), atol=1e-3)
        np.testing.assert_allclose(fast.prior_variance_, dense.prior_variance_, rtol=1e-3)


def test_functionals_at_points_fast_is_dense(rng):
    X, places, Z = rng.random((200, 2)), rng.random((300, 2)), rng.random((20, 2))
    y = np.sin(5 * X.sum(axis=1)) + 0.01 * rng.standard_normal(200)
    kernel = Matern(2.5, 1.0).axis_scale([0.3, 0.6])
    normals = rng.standard_normal((300, 2))
    flux = 0.5 * Functional.values(places) + Functional.along(places, normals)
    rates = 0.5 * np.sin(5 * places.sum(axis=1)) + (slopes_of_sine(places) * normals).sum(axis=1)
    rates += 0.05 * rng.standard_normal(300)
    observed = [(flux, rates, 0.04)]
    dense, fast = (
        Smoother(kernel, criterion="reml", solver=solver).fit(X, y, functionals=observed)
        for solver in ("dense", "fast")
    )
    assert abs(np.log(fast.alpha_ / dense.alpha_)) < np.log(1.3)
    assert abs(fast.edf_ - dense.edf_) < 0.1 * dense.edf_
    for ours, theirs in zip(fast.predict(Z, return_std=True), dense.predict(Z, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.1, atol=0.01)
    for ours, theirs in zip(fast.predict_gradient(Z, True), dense.predict_gradient(Z, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.1, atol=0.15)
    assert np.corrcoef(fast.loo_, dense.loo_)[0, 1] > 0.99


def test_candidates(data):
    X, y, _ = data
    fast = Smoother(alpha=[1e-4, 0.04, 10.0], criterion="gcv", solver="fast").fit(X, y)
    assert fast.alpha_ == 0.04 and fast.alpha_path_["alpha"].tolist() == [1e-4, 0.04, 10.0]


def test_repetitions_and_near_copies(rng):
    X = rng.random((500, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    near = np.vstack([X, X[:300] + 1e-5 * rng.standard_normal((300, 2)), X[:100]])
    values = np.concatenate([y, y[:300], y[:100] + 0.1])
    dense, fast = both(None, near, values, criterion="gcv")
    assert abs(np.log(fast.alpha_ / dense.alpha_)) < np.log(1.3)
    np.testing.assert_allclose(fast.predict(X), dense.predict(X), atol=0.02)


@pytest.mark.parametrize("shape", ["line", "lattice", "scan lines", "clusters"])
def test_hard_sets_of_points(shape, rng):
    X = rng.random((600, 2))
    if shape == "line":
        X[:, 1] = 2 * X[:, 0]
    if shape == "lattice":
        X = np.stack(np.meshgrid(np.arange(25.0), np.arange(25.0)), axis=-1).reshape(-1, 2) / 25 + 4e6
    if shape == "scan lines":
        X[:, 0] = np.round(8 * X[:, 0])
    if shape == "clusters":
        X[:300] = X[0] + 1e-4 * rng.standard_normal((300, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    for alpha in (0.0, 1e-4):
        dense, fast = both(None, X, y, alpha=alpha)
        size = np.ptp(y)
        np.testing.assert_allclose(fast.predict(X[::7]), dense.predict(X[::7]), atol=2e-5 * size)


def test_fields_are_close_and_saved(data, tmp_path):
    X, y, Z = data
    for kernel in (Polyharmonic(2), ThinPlate(), Tension(0.3), 3.0 * Polyharmonic(2)):
        dense = Smoother(kernel, criterion="reml").fit(X, y)
        field = Smoother(kernel, alpha=dense.alpha_, solver="field").fit(X, y)
        assert field.solver_ == "field" and field.alpha_ == pytest.approx(dense.alpha_)
        assert np.std(field.predict(Z) - dense.predict(Z)) < 0.01
    mean, std = field.predict(Z, return_std=True)
    assert (std > 0).all() and field.sample(Z, 2, random_state=0).shape == (40, 2)
    field.save(tmp_path / "field.npz")
    np.testing.assert_array_equal(Smoother.load(tmp_path / "field.npz").predict(Z), mean)
    assert not hasattr(field, "dual_coef_")
    for call in (lambda: field.loo_, lambda: field.sample(Z, prior=True), lambda: field.predict_gradient(Z, True)):
        with pytest.raises(ValueError, match="a field has no"):
            call()


def test_saved_and_fitted_again(data, tmp_path):
    X, y, Z = data
    fast = Smoother(solver="fast", alpha=0.01).fit(X, y)
    fast.save(tmp_path / "fast.npz")
    again = Smoother.load(tmp_path / "fast.npz")
    np.testing.assert_array_equal(again.predict(Z), fast.predict(Z))
    np.testing.assert_allclose(again.predict(Z, True)[1], fast.predict(Z, True)[1], rtol=1e-3)
    assert Smoother(alpha=0.01).fit(X, y).solver_ == "dense"


@pytest.fixture
def small_limits(monkeypatch):
    """Two hundred observations are many."""
    monkeypatch.setattr(engines, "MOST_DENSE", 200)


def test_auto_takes_what_suits(small_limits, data, rng, monkeypatch, capsys):
    X, y, _ = data
    assert Smoother(alpha=0.01).fit(X[:200], y[:200]).solver_ == "dense"
    assert Smoother(alpha=0.01, verbose=True).fit(X[:300], y[:300]).solver_ == "fast"
    assert "solver='fast' for 300 observations" in "".join(capsys.readouterr())
    assert Smoother(Linear(), alpha=0.01).fit(X[:300], y[:300]).solver_ == "dense"
    assert Smoother(alpha=[0.01, 0.1], criterion="loo").fit(X[:300], y[:300]).solver_ == "dense"
    assert Smoother(alpha=0.01).fit(rng.random((300, 5)), y[:300]).solver_ == "dense"
    gradients = np.zeros((300, 2))
    assert Smoother(Polyharmonic(3), alpha=0.01).fit(X[:300], y[:300], gradients=gradients).solver_ == "fast"
    monkeypatch.setattr(engines, "suits_fast", lambda n, alpha: False)
    assert Smoother(Polyharmonic(2), alpha=0.01).fit(X[:300], y[:300]).solver_ == "field"
    assert Smoother(Matern(), alpha=0.01).fit(X[:300], y[:300]).solver_ == "fast"
    assert Smoother(Polyharmonic(2), alpha=0.0).fit(X[:300], y[:300]).solver_ == "fast"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: Smoother(solver="fmm").fit(X, y), "solver must be one of 'auto', 'dense', 'fast', 'field'"),
        (lambda X, y: Smoother(tol=0.0).fit(X, y), "tol must be a positive number"),
        (lambda X, y: Smoother(max_iter=0).fit(X, y), "max_iter must be a positive number"),
        (lambda X, y: Smoother(Linear(), solver="fast").fit(X, y), "function of distances"),
        (lambda X, y: Smoother(solver="fast").fit(np.hstack([X, X]), y), "1 to 3 dimensions, and X has 4 columns"),
        (lambda X, y: Smoother(solver="fast", criterion="loo").fit(X, y), "criterion='loo' needs the dense one"),
        (lambda X, y: Smoother(solver="fast", null_space="soft").fit(X, y), "null space must not be 'soft'"),
        (
            lambda X, y: Smoother(solver="fast").fit(X, y, functionals=[(Functional.average(X), [0.5])]),
            "values and first derivatives at points",
        ),
        (
            lambda X, y: Smoother(1.0 * Polyharmonic(3), solver="fast").fit(np.hstack([X, X]), y),
            "1 to 3 dimensions",
        ),
        (lambda X, y: Smoother(Matern(), solver="field").fit(X, y), "solver='field' takes values"),
        (lambda X, y: Smoother(null_space=Polynomials(2), solver="field").fit(X, y), "with their own null space"),
        (lambda X, y: Smoother(alpha=0, solver="field").fit(X, y), "one positive number for solver='field'"),
        (lambda X, y: Smoother(criterion="loo", solver="field").fit(X, y), "criterion='loo'"),
    ],
)
def test_what_a_solver_refuses(call, message, data):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        call(X[:100], y[:100])


def test_too_little_memory_is_said_before(small_limits, data, monkeypatch):
    import seminorm._base.memory

    X, y, _ = data
    monkeypatch.setattr(seminorm._base.memory, "available_bytes", lambda: 10_000)
    with pytest.raises(MemoryError, match="a fast fit of 300 observations needs about"):
        Smoother(Matern(), alpha=0.1).fit(X[:300], y[:300])


def test_many_deviations_are_said(data, monkeypatch):
    X, y, Z = data
    model = Smoother(Matern(), alpha=0.1, solver="fast").fit(X[:300], y[:300])
    monkeypatch.setattr(smoother, "_MANY_DEVIATIONS", 30)
    with pytest.warns(UserWarning, match="deviations at 40 points take 2 solutions"):
        model.predict(Z, return_std=True)


def test_an_interruption_leaves_a_clean_state(rng):
    X = rng.random((6000, 2))
    y = np.sin(5 * X.sum(axis=1))
    model = Smoother(alpha=0.01, solver="fast").fit(X, y)
    before = model.predict(X[:50])
    interrupted(lambda: model.fit(X[::-1], 2 * y[::-1]))
    assert (model.predict(X[:50]) == before).all() or np.allclose(model.predict(X[:50]), 2 * before, atol=1e-4)
    np.testing.assert_array_equal(model.fit(X, y).predict(X[:50]), before)


def test_a_residual_that_is_not_reached_is_said(data):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning, match=r"reached a residual of .* in 3 steps"):
        Smoother(alpha=0.01, solver="fast", max_iter=3).fit(X, y)
