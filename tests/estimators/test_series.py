"""Classification and regression of series: leave-one-out, patterns as they come, what is known of the data, bad
input."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.utils import shuffle

from seminorm import SeriesClassifier, SeriesRegressor
from seminorm.invariance.distances import DTW
from seminorm.invariance.distances.series import Series
from seminorm.invariance.series_views import SeriesViews, resampled
from seminorm.solvers.ridge.combination import ClippedRidge, weights_by_loss


def waves(rng, n, classes=2, length=40, channels=1):
    """Waves of a pace that tells the class, at any phase, with noise; (n, length, channels) and labels."""
    labels = np.arange(n) % classes
    t = np.linspace(0.0, 1.0, length)
    phases = rng.uniform(0, 1, (n, 1, channels))
    X = np.sin(2 * np.pi * ((2 + labels)[:, None, None] * t[:, None] + phases))
    return X + 0.2 * rng.standard_normal((n, length, channels)), labels


# -- the solver


def centred_ridge(K, y, alpha):
    """k(x)' a + b from the saddle system."""
    n = len(K)
    system = np.block([[K + alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_left_out_residuals_are_those_of_fits_without_the_point(alpha, rng):
    A = rng.standard_normal((12, 5))
    K, y = A @ A.T, rng.standard_normal((12, 2))
    residuals = ClippedRidge(K.copy(), y).left_out(np.array([alpha]))[0]
    for i in range(12):
        others = np.delete(np.arange(12), i)
        for output in range(2):
            a, b = centred_ridge(K[np.ix_(others, others)], y[others, output], alpha)
            assert residuals[i, output] == pytest.approx(y[i, output] - K[i, others] @ a - b, rel=1e-8)


def test_negative_eigenvalues_count_as_zero_for_new_points_too(rng):
    A = rng.standard_normal((20, 20))
    whole = A + A.T
    K, new = whole[:14, :14], whole[14:, :14]
    y = rng.standard_normal((14, 1))
    a, b = ClippedRidge(K.copy(), y).solve(0.3)
    centring = np.eye(14) - 1 / 14
    values, vectors = np.linalg.eigh(centring @ K @ centring)
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    expected, mean = centred_ridge(clipped, y[:, 0], 0.3)
    rows = (new - new.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()) @ vectors[:, values > 1e-12]
    repaired = rows @ vectors[:, values > 1e-12].T
    np.testing.assert_allclose((new @ a + b)[:, 0], repaired @ expected + mean, rtol=1e-8)


def test_weights():
    np.testing.assert_allclose(weights_by_loss([1.0, 2.0]), [16 / 17, 1 / 17])
    np.testing.assert_allclose(weights_by_loss([0.0, 1.0]), [1.0, 0.0], atol=1e-12)


# -- the views


def test_views_do_not_depend_on_units(rng):
    X, _ = waves(rng, 10, channels=2)
    scaled = 1e3 * X + np.array([5.0, -7.0])
    for A, B in (
        (SeriesViews.of(Series.of(S)).matrices(SeriesViews.of(Series.of(S)).prepared(Series.of(S))) for S in pair)
        for pair in [(X, scaled)]
    ):
        for (name, D), (other, E) in zip(A, B, strict=True):
            assert name == other
            np.testing.assert_allclose(D, E, rtol=1e-3, atol=1e-4)


def test_resampling(rng):
    x = np.linspace(0.0, 3.0, 7)[:, None]
    np.testing.assert_allclose(resampled(Series.of([x]), 13)[0], np.linspace(0.0, 3.0, 13)[:, None])


# -- the machines


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_of_waves(classes, rng):
    X, y = waves(rng, 60, classes)
    names = np.array(["a", "b", "c", "d"])[y]
    model = SeriesClassifier().fit(X[:40, :, 0], names[:40])
    assert model.score(X[40:, :, 0], names[40:]) >= 0.9
    P = model.predict_proba(X[40:, :, 0])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X[40:, :, 0])).all()
    explained = model.explain_
    assert explained["weight"].sum() == pytest.approx(1.0) and len(explained["distance"]) == 12
    order = np.argsort(explained["loss"])
    assert (np.diff(explained["weight"][order]) <= 0).all()


def test_patterns_as_they_come(rng):
    X, y = waves(rng, 40, channels=3)
    last = SeriesClassifier().fit(X[:30], y[:30])
    first = SeriesClassifier(channels="first").fit(X[:30].transpose(0, 2, 1), y[:30])
    expected = last.decision_function(X[30:])
    np.testing.assert_allclose(first.decision_function(X[30:].transpose(0, 2, 1)), expected, rtol=1e-9)
    np.testing.assert_allclose(last.decision_function(list(X[30:])), expected, rtol=1e-9)
    one = X[:, :, 0]
    rows = SeriesClassifier().fit(one[:30], y[:30]).decision_function(one[30:])
    ragged = SeriesClassifier().fit(list(one[:30, :, None]), y[:30]).decision_function([x for x in one[30:]])
    np.testing.assert_allclose(ragged, rows, rtol=1e-9)
    with pytest.raises(ValueError, match="X has 2 channels, but SeriesClassifier was trained on 3"):
        last.predict(X[:, :, :2])


def test_unequal_lengths(rng):
    X, y = waves(rng, 60, length=80)
    pieces = [x[: rng.integers(60, 81), 0] for x in X]
    model = SeriesClassifier().fit(pieces[:40], y[:40])
    assert model.score(pieces[40:], y[40:]) >= 0.9


def test_numbers_of_waves(rng, tmp_path):
    t, paces = np.linspace(0, 1, 50), rng.uniform(1, 4, 70)
    X = np.sin(2 * np.pi * (paces[:, None] * t + rng.random((70, 1))))
    y = np.column_stack([paces, -10 * paces + 3])
    model = SeriesRegressor().fit(X[:50], y[:50])
    assert model.score(X[50:], y[50:]) > 0.9
    one = SeriesRegressor().fit(X[:50], paces[:50])
    assert one.predict(X[50:]).shape == (20,)
    np.testing.assert_allclose(one.predict(X[50:]), model.predict(X[50:])[:, 0], rtol=1e-6)


def test_machines_of_scikit_learn(rng, tmp_path):
    X, y = waves(rng, 36)
    X, y = shuffle(X, y, random_state=0)
    series = [x[: 40 - k % 5, 0] for k, x in enumerate(X)]
    assert cross_val_score(SeriesClassifier(), series, y, cv=3).mean() > 0.8
    assert cross_val_predict(SeriesClassifier(), X[:, :, 0], y, cv=3, method="predict_proba").shape == (36, 2)
    model = SeriesClassifier().fit(series, y)
    again = SeriesClassifier.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict_proba(series), model.predict_proba(series))


def test_short_series(rng):
    for length in (1, 2, 3, 5):
        X = rng.standard_normal((30, length))
        y = X[:, 0] > 0
        assert SeriesClassifier().fit(X, y).score(X, y) > 0.9


def test_bad_input(rng):
    X, y = waves(rng, 12)
    rows = X[:, :, 0]
    broken = [x.copy() for x in rows]
    broken[3][7] = np.nan
    for series, labels, message in (
        (rows, np.zeros(12), r"y has only one class, \[0.0\]"),
        ([*rows[:11], []], y, r"X\[11\] is an empty series"),
        ([x[: 30 + k] for k, x in enumerate(broken)], y, r"X\[3\] has NaN or infinity, first at sample 7"),
        (np.array(broken), y, "NaN"),
        (rows, y[:11], "inconsistent numbers of samples"),
        (rows[:2], y[:2], "n_samples=2"),
        ([rows[0], X[1], np.ones((4, 2))] * 4, y, "channels"),
    ):
        with pytest.raises(ValueError, match=message):
            SeriesClassifier().fit(series, labels)
    with pytest.raises(ValueError, match="y contains NaN"):
        SeriesRegressor().fit(rows, np.where(y, np.nan, 1.0))


def test_nearest_neighbour_is_one_of_the_kernels(rng):
    """The dissimilarities are those of the public distances."""
    X, _ = waves(rng, 8)
    views = SeriesViews.of(Series.of(X))
    Z = views.prepared(Series.of(X))
    names = dict(views.matrices(Z))
    np.testing.assert_allclose(names["DTW"], DTW(0.1, squared=True).pairwise(Z), rtol=1e-4, atol=1e-4)
