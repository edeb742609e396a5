"""External drift: features that are free beside a field, against the dense smoother and known coefficients."""

import numpy as np
import pytest

from seminorm import FieldSmoother, Functional, Smoother
from seminorm.fields.sources import block_numbers
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


def terrain(n=500, noise=0.1, seed=0):
    """Places with a height that no field can guess, temperatures, and those without noise."""
    rng = np.random.default_rng(seed)
    X, height = rng.random((n, 2)), rng.random(n)
    clean = 15 + 2 * np.sin(4 * X[:, 0]) + X[:, 1] - 6.5 * height
    return np.column_stack([X[:, 0], height, X[:, 1]]), clean + noise * rng.standard_normal(n), clean


def test_columns_are_features_of_the_dense_smoother():
    X, y, _ = terrain(150)
    field = FieldSmoother(1e-3, order=2, depth=6, tol=1e-8, null_columns=[1]).fit(X, y)

    def along(order):  # the kernel sees the coordinates only
        return Polyharmonic(order).on_columns([0, 2])

    dense = Smoother(along(2), alpha=1e-3, null_space=lambda X: np.column_stack([np.ones(len(X)), X])).fit(X, y)
    slope = np.diff(dense.predict([[0.5, 0.0, 0.5], [0.5, 1.0, 0.5]]))
    assert field.null_coef_ == pytest.approx(slope, rel=1e-3)
    np.testing.assert_allclose(field.predict(X), dense.predict(X), atol=0.01)
    assert field.function_.dimension == 2 and field.n_features_in_ == 3


def test_uncertainty_of_coefficients_and_values_is_that_of_generalised_least_squares(rng):
    """On the line: y = P b + c0 + c1 x + a process of covariance r^3 / 12 / alpha + noise, b and c free."""
    n, alpha = 60, 1e-3
    x, w = np.sort(rng.random(n)), rng.uniform(0.5, 2.0, n)
    P = np.column_stack([rng.random(n) + x, x > 0.4])
    X = np.column_stack([x, P])
    field = FieldSmoother(alpha, order=2, depth=7, tol=1e-9, null_columns=[1, 2]).fit(X, np.sin(5 * x), sample_weight=w)
    Z = np.array([[0.21, 0.5, 0.0], [0.5, 3.0, 1.0], [0.93, -1.0, 0.0]])
    trend, trend_there = (np.column_stack([points[:, 1:], np.ones(len(points)), points[:, 0]]) for points in (X, Z))

    def covariance(a, b):  # of large variance where everything is free: any will do
        return np.abs(a[:, None] - b) ** 3 / 12 / alpha + 1e4 * (1 + np.outer(a, b))

    V = covariance(x, x) + np.diag(1 / w)
    normal = np.linalg.inv(trend.T @ np.linalg.solve(V, trend))
    np.testing.assert_allclose(field.null_coef_std_**2, np.diag(normal)[:2] * field.noise_variance_, rtol=0.01)
    cross = covariance(x, Z[:, 0])
    left = trend_there - cross.T @ np.linalg.solve(V, trend)
    variance = covariance(Z[:, 0], Z[:, 0]) - cross.T @ np.linalg.solve(V, cross) + left @ normal @ left.T
    _, std = field.predict(Z, return_std=True)
    np.testing.assert_allclose(std**2, np.diag(variance) * field.noise_variance_, rtol=0.02)
    draws = field.sample(Z, 300, random_state=0)
    assert draws.std(axis=1) == pytest.approx(std, rel=0.15)
    many = field.predict(np.tile(Z, (30, 1)), return_std=True)[1]  # by draws
    assert many[:3] == pytest.approx(std, rel=0.3)


def test_several_outputs_share_features_not_coefficients():
    X, y, _ = terrain()
    both = FieldSmoother(order=2, null_columns=[1]).fit(X, np.column_stack([y, 10 * y + 30 * X[:, 1]]))
    assert both.null_coef_ == pytest.approx(np.array([[-6.5, -35.0]]), rel=0.02)
    assert both.null_coef_std_.shape == (1, 2) and both.null_coef_std_[0, 1] == pytest.approx(
        10 * both.null_coef_std_[0, 0], rel=1e-3
    )
    one = FieldSmoother(both.alpha_, order=2, depth=both.function_.depth, null_columns=[1]).fit(X, y)
    np.testing.assert_allclose(both.predict(X)[:, 0], one.predict(X), atol=2e-3)
    mean, std = both.predict(X[:100], return_std=True)
    assert mean.shape == std.shape == (100, 2) and both.sample(X[:5], 2, random_state=0).shape == (5, 2, 2)


def test_columns_come_in_chunks_and_go_into_files(tmp_path):
    X, y, _ = terrain(300)
    whole = FieldSmoother(1e-3, depth=3, null_columns=[-2]).fit(X, y)
    parts = FieldSmoother(1e-3, depth=3, null_columns=[1]).fit([(X[:100], y[:100]), (X[100:], y[100:])])
    np.testing.assert_allclose(whole.predict(X), parts.predict(X), atol=1e-6)
    whole.save(tmp_path / "model.npz")
    again = FieldSmoother.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    np.testing.assert_array_equal(again.null_coef_, whole.null_coef_)


def test_columns_have_names_and_grids_have_covariates():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    X, y, _ = terrain(300)
    table = pandas.DataFrame(X, columns=["x", "height", "y"])
    model = FieldSmoother(1e-3, depth=3, null_columns=["height"]).fit(table, pandas.Series(y, name="t"))
    with pytest.raises(ValueError, match=r"use predict_grid\(like"):
        model.grid(0.5)
    heights = np.array([[0.1, 0.2, 0.3], [0.4, np.nan, 0.6]])
    like = xarray.Dataset({"height": (("y", "x"), heights)}, {"x": [0.1, 0.5, 0.9], "y": [0.2, 0.8]})
    grid = model.predict_grid(like)
    assert grid.dims == ("y", "x") and grid.name == "t" and np.isnan(grid.values[1, 1])
    there = model.predict(pandas.DataFrame({"x": [0.9], "height": [0.6], "y": [0.8]}))
    assert grid.values[1, 2] == pytest.approx(there[0])
    with pytest.raises(ValueError, match="with the covariate 'height' as a variable"):
        model.predict_grid(like.drop_vars("height"))


def test_outliers_beside_a_drift():
    X, y, clean = terrain(1000)
    y[::20] += 40.0
    model = FieldSmoother(order=2, null_columns=[1], loss="huber").fit(X, y)
    assert model.null_coef_ == pytest.approx([-6.5], abs=0.1)
    assert np.sqrt(np.mean((model.predict(X) - clean) ** 2)) < 0.1
    assert model.noise_variance_**0.5 == pytest.approx(0.1, rel=0.1)
    plain = FieldSmoother(order=2, null_columns=[1]).fit(np.delete(X, np.s_[::20], 0), np.delete(y, np.s_[::20]))
    assert model.null_coef_std_ == pytest.approx(plain.null_coef_std_, rel=0.3)


def test_functionals_of_a_drift(rng):
    X = rng.random((300, 2))
    model = FieldSmoother(1e-4, depth=3, null_space=step).fit(X, X[:, 1] + 5 * step(X))
    box = Functional.cell_average([[0.5, 0.2]], [[0.7, 0.4]])
    mean, std = model.predict_functional(box, return_std=True)
    assert mean == pytest.approx([5.3], abs=0.05) and std.shape == (1,)


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
    with pytest.raises(TypeError, match="null_columns must be a list of columns"):
        FieldSmoother(null_columns="height").fit(X, y)
    with pytest.raises(ValueError, match="null_columns names 'height', and X has no names"):
        FieldSmoother(null_columns=["height"]).fit(X, y)
    with pytest.raises(ValueError, match="null_columns must be names or numbers below 2"):
        FieldSmoother(null_columns=[2]).fit(X, y)
    with pytest.raises(ValueError, match="one to four coordinates must be left"):
        FieldSmoother(null_columns=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="null_columns must be different columns"):
        FieldSmoother(null_columns=[1, -1]).fit(X, y)
    with pytest.raises(ValueError, match="go with values, not with gradients"):
        FieldSmoother(1.0, depth=1, null_space=step).fit(X, y, gradients=np.ones((60, 2)))
    model = FieldSmoother(1.0, depth=1, null_space=step).fit(X, y)
    with pytest.raises(ValueError, match="null_space is code"):
        model.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="null_space and null_columns tell no gradients"):
        model.predict_gradient(X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["drift", "huber"])
def test_bands_cover_clean_values_of_held_out_blocks(kind):
    rng = np.random.default_rng(5)
    waves = 8.0 * rng.standard_normal((3000, 2)) / np.sqrt(rng.chisquare(3.0, 3000))[:, None]
    phases = rng.uniform(0, 2 * np.pi, 3000)
    rng = np.random.default_rng(0)
    X = rng.random((8000, 2))
    height = np.sin(9 * X[:, 0]) * np.cos(11 * X[:, 1]) + 0.5 * rng.standard_normal(8000)
    clean = np.cos(X @ waves.T + phases).sum(axis=1) * np.sqrt(2 / 3000) + 0.1 * rng.standard_normal(8000)
    out = block_numbers(X, 24) % np.uint64(5) == 0
    if kind == "drift":
        X, clean = np.column_stack([X, height]), clean - 0.65 * height
        model = FieldSmoother(null_columns=[2]).fit(X[~out], clean[~out])
    else:
        y = clean + np.where(rng.random(8000) < 0.05, rng.choice([-1, 1], 8000) * rng.uniform(1, 10, 8000), 0.0)
        model = FieldSmoother(loss="huber").fit(X[~out], y[~out])
    mean, std = model.predict(X[out], return_std="observation")
    assert 0.93 <= np.mean(np.abs(clean[out] - mean) <= 1.96 * std) <= 0.97
