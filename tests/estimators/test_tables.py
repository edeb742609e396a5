"""TableRegressor and TableClassifier: what tables hold, what is promised of predictions, files."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from seminorm import TableClassifier, TableRegressor


@pytest.fixture(scope="module")
def mixed():
    """A table with numbers, gaps, categories of few and of many values, text, and a constant column."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.uniform(0, 1, n),
            "age": rng.uniform(0, 1, n),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "town": rng.choice([f"town {k}" for k in range(20)], n),
            "same": 1.0,
        }
    )
    effect = frame["town"].str.slice(5).astype(int).to_numpy() / 20
    y = np.sin(5 * frame["size"]) + (frame["kind"] == "b") + effect + 0.05 * rng.standard_normal(n)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "kind"] = None
    return frame, y.to_numpy()


def test_tables_of_all_sorts(mixed):
    frame, y = mixed
    model = TableRegressor().fit(frame[:200], y[:200])
    error = np.sqrt(np.mean((model.predict(frame[200:]) - y[200:]) ** 2))
    assert error < 0.45 * y.std()
    shares = model.explain_.columns
    assert shares["same"] == 0.0 and shares["age"] < min(shares[name] for name in ("size", "kind", "town"))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert "kind" in str(model.explain_)


def test_unseen_categories_are_average_ones(mixed):
    frame, y = mixed
    model = TableRegressor().fit(frame, y)
    new = frame[:5].assign(kind="never seen", town="nowhere")
    assert np.isfinite(model.predict(new)).all()
    each = [model.predict(frame[:5].assign(kind=kind, town="nowhere")) for kind in "abc"]
    assert (model.predict(new) < np.max(each, axis=0)).all() and (model.predict(new) > np.min(each, axis=0)).all()


def test_categories_by_name_number_and_mask(mixed):
    frame, y = mixed
    codes = frame["kind"].cat.codes.to_numpy()
    X = np.column_stack([frame["size"], codes])
    named = TableRegressor(["kind"]).fit(pd.DataFrame({"size": X[:, 0], "kind": X[:, 1]}), y)
    numbered, masked = TableRegressor([1]).fit(X, y), TableRegressor([False, True]).fit(X, y)
    np.testing.assert_array_equal(numbered.predict(X), masked.predict(X))
    np.testing.assert_array_equal(numbered.predict(X), named.predict(pd.DataFrame(X, columns=["size", "kind"])))
    assert numbered.loo_error_ < TableRegressor().fit(X[:, :1], y).loo_error_


@pytest.mark.parametrize("wrong", [["nothing"], [7], [-1], [0.5]])
def test_wrong_categories_are_named(wrong, mixed):
    frame, y = mixed
    with pytest.raises(ValueError, match=r"categorical_features|columns"):
        TableRegressor(wrong).fit(frame[["size", "age"]], y)


def test_text_in_an_array_is_refused():
    with pytest.raises(ValueError, match=r"categor|could not convert"):
        TableRegressor().fit(np.array([["a", 1.0], ["b", 2.0]], dtype=object), [0.0, 1.0])


def test_dates_are_refused_with_advice():
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=10)})
    with pytest.raises(ValueError, match="dates in column 'day'"):
        TableRegressor().fit(frame, np.arange(10.0))


def test_order_of_rows_and_units_of_columns_do_not_matter():
    X, y = make_friedman1(120, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    one = TableRegressor().fit(X, y).predict(X[:20])
    other = TableRegressor().fit(X[order], y[order]).predict(X[:20])
    np.testing.assert_array_equal(one, other)
    scaled = TableRegressor().fit(X * 1000.0, 10 * y).predict(X[:20] * 1000.0)
    np.testing.assert_allclose(scaled, 10 * one, rtol=1e-6)


def test_left_out_error_and_intervals_are_honest():
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    model = TableRegressor().fit(X[:300], y[:300])
    error = np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2))
    assert model.loo_error_ == pytest.approx(error, rel=0.15)
    low, high = model.predict_interval(X[300:], coverage=0.9)
    assert 0.86 < np.mean((low <= y[300:]) & (y[300:] <= high)) < 0.94
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, coverage=90)


def test_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 8)), rng.standard_normal(150)
    assert TableRegressor().fit(X, y).loo_error_ > 0.95 * y.std()
    constant = TableRegressor().fit(np.ones((20, 2)), np.arange(20.0))
    np.testing.assert_allclose(constant.predict(np.ones((3, 2))), 9.5)


def test_outputs():
    X, y = make_friedman1(150, random_state=0)
    model = TableRegressor().fit(X, np.column_stack([y, -2 * y]))
    values = model.predict(X)
    assert values.shape == (150, 2) and model.loo_error_.shape == (2,)
    np.testing.assert_allclose(values[:, 1], -2 * values[:, 0], atol=1e-6 * np.abs(y).max())


def test_probabilities_of_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TableClassifier().fit(X[::2], names[::2])
    p = model.predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X[1::2])).all()
    assert model.score(X[1::2], names[1::2]) > 0.9
    assert model.decision_function(X).shape == (150, 3)


@pytest.mark.parametrize("kind", [TableRegressor, TableClassifier])
def test_saving_cloning_and_pickling(kind, mixed, tmp_path):
    frame, y = mixed
    target = y if kind is TableRegressor else np.where(y > np.median(y), "high", "low")
    model = clone(kind()).fit(frame[:150], target[:150])
    for other in (kind.load(model.save(tmp_path / "model.npz")), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        assert other.explain_ == model.explain_
    if kind is TableRegressor:
        loaded = kind.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(loaded.predict_interval(frame), model.predict_interval(frame))


def test_a_real_table():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = TableRegressor().fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.4
    assert next(iter(model.explain_.columns)) in ("bmi", "s5")


def test_many_rows_on_a_basis():
    X, y = make_friedman1(3000, noise=0.5, random_state=0)
    model = TableRegressor(n_basis=300).fit(X[:2500], y[:2500])
    assert model.n_basis_ == 300
    error = np.sqrt(np.mean((model.predict(X[2500:]) - y[2500:]) ** 2))
    assert error < 0.7 and model.loo_error_ == pytest.approx(error, rel=0.15)
    few = TableRegressor(n_basis=5000).fit(X[:200], y[:200])
    np.testing.assert_array_equal(few.predict(X), TableRegressor().fit(X[:200], y[:200]).predict(X))
    with pytest.raises(ValueError, match="n_basis"):
        TableRegressor(n_basis=0).fit(X, y)


def pumadyn_like(n):
    """30 of 32 columns do not matter, and one of the two others has no effect of its own."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 32))
    truth = X[:, 3] * np.cos(1.5 * X[:, 4])
    return X, truth + 0.1 * rng.standard_normal(n), truth


@pytest.mark.slow
def test_relevant_columns_are_found_among_many():
    X, y, truth = pumadyn_like(1800)
    model = TableRegressor().fit(X[:1000], y[:1000])
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X[:1000], y[:1000])
    ours, theirs = (np.mean((m.predict(X[1000:]) - truth[1000:]) ** 2) for m in (model, boosted))
    assert set(list(model.explain_.columns)[:2]) == {"x3", "x4"}
    assert ours < 0.5 * theirs


@pytest.mark.parametrize("more", [10, 30])
def test_friedmans_function_with_columns_of_noise(more):
    X, y = make_friedman1(800, 10 + more, noise=1.0, random_state=0)
    model = TableRegressor().fit(X[:300], y[:300])
    boosted = HistGradientBoostingRegressor(random_state=0).fit(X[:300], y[:300])
    ours, theirs = (np.mean((m.predict(X[300:]) - y[300:]) ** 2) for m in (model, boosted))
    assert set(list(model.explain_.columns)[:5]) == {f"x{j}" for j in range(5)}
    assert ours < 0.7 * theirs


def test_one_row_that_stands_for_several_is_left_out_alone():
    """A table of few distinct rows: weights and repetitions say the same, and errors are those of new rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3000, 2)).astype(float)
    y = np.where(rng.random(3000) < 0.2 + 0.3 * X[:, 0], "yes", "no")
    model = TableClassifier().fit(X[:300], y[:300])
    assert model.loo_error_ == pytest.approx(1 - model.score(X[300:], y[300:]), abs=0.06)
