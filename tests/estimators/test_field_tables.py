"""FieldSmoother with pandas, xarray and scikit-learn around it."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from seminorm import FieldSmoother
from seminorm.operators import derivatives

pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")


@pytest.fixture
def table(rng):
    X = rng.random((400, 2)) * [2, 1]
    return pandas.DataFrame({"lon": X[:, 0], "lat": X[:, 1], "z": np.sin(3 * X[:, 0]) + X[:, 1] ** 2})


@pytest.fixture
def model(table):
    return FieldSmoother(1e-6, depth=4).fit(table[["lon", "lat"]], table["z"])


def test_columns_keep_their_names(model, table, tmp_path):
    grid = model.grid(0.25)
    assert grid.name == "z" and grid.dims == ("lon", "lat")
    np.testing.assert_array_equal(model.predict(table[["lon", "lat"]]), model.predict(table[["lon", "lat"]]))
    model.save(tmp_path / "model.npz")
    again = FieldSmoother.load(tmp_path / "model.npz")
    assert again.grid(0.25).equals(grid) and again.grid(0.25).name == "z"
    assert model.fit(table[["lon", "lat"]].to_numpy(), table["z"].to_numpy()).grid(0.5).dims == ("x0", "x1")


def test_a_grid_like_another(model):
    lat, lon = np.linspace(0.9, 0.1, 4), np.linspace(0, 2, 7)
    like = xarray.DataArray(np.zeros((4, 7)), {"lat": lat, "lon": lon}, ("lat", "lon"))
    grid = model.predict_grid(like)
    assert grid.dims == ("lat", "lon") and grid.name == "z"
    nodes = np.stack(np.meshgrid(lon, lat, indexing="xy"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(grid.values.ravel(), model.predict(pandas.DataFrame(nodes, columns=["lon", "lat"])))
    assert grid.coords.equals(like.coords)
    assert model.predict_grid(like.to_dataset(name="a")).equals(grid)
    with pytest.raises(ValueError, match="like must have 2 axes with coordinates, called lon, lat; it has lat"):
        model.predict_grid(like[:, 0])
    with pytest.raises(TypeError, match=r"like must be an xarray\.DataArray or Dataset"):
        model.predict_grid(np.zeros((4, 7)))


def test_a_grid_with_gaps_is_filled(rng):
    x, y = np.linspace(0, 1, 21), np.linspace(0, 1, 16)
    whole = xarray.DataArray(np.add.outer(np.sin(3 * x), y), {"x": x, "y": y}, ("x", "y"), name="height")
    gappy = whole.where(rng.random(whole.shape) < 0.7)
    model = FieldSmoother(1e-8, order=2, depth=4).fit(gappy)
    filled = model.predict_grid(whole)
    assert model.feature_names_in_.tolist() == ["x", "y"] and filled.name == "height"
    np.testing.assert_allclose(filled, whole, atol=2e-2)
    rows = np.isfinite(gappy.values)
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)[rows]
    plain = FieldSmoother(1e-8, order=2, depth=4).fit(nodes, gappy.values[rows])
    np.testing.assert_array_equal(plain.function_(nodes), model.function_(nodes))


def test_splitters_and_pipelines(table):
    X, z = table[["lon", "lat"]], table["z"]
    smoother = FieldSmoother(1e-6, depth=3)
    assert cross_val_score(smoother, X, z, cv=KFold(3, shuffle=True, random_state=0)).min() > 0.99
    blocks = (2 * X["lon"]).astype(int)
    assert len(cross_val_score(smoother, X, z, cv=GroupKFold(3), groups=blocks)) == 3
    assert make_pipeline(StandardScaler(), smoother).fit(X, z).score(X, z) > 0.99


def test_blocks_of_verde(table):
    verde = pytest.importorskip("verde")
    splitter = verde.BlockKFold(spacing=0.25, n_splits=3, shuffle=True, random_state=0)
    points, values = table[["lon", "lat"]].to_numpy(), table["z"].to_numpy()  # verde takes no tables here
    scores = cross_val_score(FieldSmoother(1e-6, depth=4), points, values, cv=splitter)
    assert len(scores) == 3 and scores.min() > 0.9


VARIATIONS = {
    "a plate": {"order": 2},
    "a sum": {"operator": 4 * derivatives(1) + derivatives(2), "alpha": 1e-3},
    "tension": {"operator": "tension"},
    "Matern": {"operator": "matern", "scale": [2.0, 1.0]},
    "robust": {"loss": "huber"},
    "held out": {"criterion": "holdout", "order": 1, "degree": 3, "margin": 1.0},
}


@pytest.mark.parametrize("options", VARIATIONS.values(), ids=VARIATIONS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_variations_from_files(options, outputs, table, tmp_path):
    X, y = table[["lon", "lat"]], table[["z", "lat"]] if outputs == 2 else table["z"]
    if outputs == 2 and options.get("loss"):
        pytest.skip("robust losses take one output")
    model = FieldSmoother(**options).fit(X, y)
    again = FieldSmoother.load(model.save(tmp_path / "model.npz"))
    assert repr(again) == repr(model) and again.operator_ == model.operator_ and again.alpha_ == model.alpha_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_gradient(X), model.predict_gradient(X))
    assert again.grid(0.5).equals(model.grid(0.5)) and again.details_ == model.details_
    np.testing.assert_array_equal(again.noise_variance_, model.noise_variance_)


def test_a_grid_has_the_deviations_of_its_nodes_in_a_pipeline(table):
    X, z = table[["lon", "lat"]], table["z"]
    pipeline = make_pipeline(StandardScaler(), FieldSmoother(1e-4, depth=4)).fit(X, z)
    mean, std = pipeline.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, pipeline.predict(X))
    assert std.shape == (400,) and (std > 0).all()
