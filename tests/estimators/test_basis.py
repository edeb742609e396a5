"""SVC and SVR with kernel terms at few points."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from seminorm import SVC, SVR
from seminorm.estimators import basis
from seminorm.estimators.basis import spread_out
from seminorm.kernels import Gaussian, NegativeDistance, ThinPlate


def rings(rng, n, d=2):
    X = rng.standard_normal((n, d))
    return X, (X[:, :2] ** 2).sum(axis=1) + 0.2 * rng.standard_normal(n) > 1.4


def test_basis_points_are_distinct_spread_out_and_reproducible(rng):
    X = np.repeat(rng.standard_normal((300, 3)), 2, axis=0)
    chosen = spread_out(X, 60, np.random.RandomState(0))
    assert len(np.unique(X[chosen], axis=0)) == 60
    np.testing.assert_array_equal(chosen, spread_out(X, 60, np.random.RandomState(0)))
    assert len(spread_out(X, 1000, np.random.RandomState(0))) == 300

    def reach(rows):
        return cdist(X, X[rows]).min(axis=1).max()

    at_random = [reach(np.random.RandomState(k).permutation(600)[:60]) for k in range(20)]
    assert np.mean([reach(spread_out(X, 60, np.random.RandomState(k))) for k in range(20)]) < np.mean(at_random)


@pytest.mark.parametrize("null_space", ["auto", "soft", "constant", "zero", 1])
def test_few_basis_points_are_nearly_as_good_as_all(null_space, rng):
    X, y = rings(rng, 600)
    T, u = rings(rng, 2000)
    few = SVC(ThinPlate(), null_space=null_space, n_basis=60, random_state=0).fit(X, y)
    everything = SVC(ThinPlate(), null_space=null_space, n_basis=None).fit(X, y)
    assert len(few.support_) <= few.n_basis_ == 60
    assert everything.n_basis_ == 600
    assert few.score(T, u) > everything.score(T, u) - 0.015
    assert few.loo_error_ == pytest.approx(1.0 - few.score(T, u), abs=0.03)


@pytest.mark.parametrize("n_basis", [300, 10**6])
def test_as_many_basis_points_as_points_are_all(n_basis, rng):
    X, y = rings(rng, 300)
    some, everything = (SVC(n_basis=number).fit(X, y) for number in (n_basis, None))
    np.testing.assert_array_equal(some.decision_function(X), everything.decision_function(X))


def test_many_points_get_a_basis_by_themselves(rng, monkeypatch):
    monkeypatch.setattr(basis, "MOST_DENSE", 400)
    monkeypatch.setattr(basis, "BASIS", 80)
    X, y = rings(rng, 1500, 5)
    machine = SVC(NegativeDistance(), random_state=0).fit(X, y)
    assert machine.n_basis_ == len(machine.support_) == 80
    assert SVC(NegativeDistance(), n_basis=None, alpha=machine.alpha_).fit(X, y).n_basis_ == 1500
    smooth = SVR(NegativeDistance(), random_state=0).fit(X, X[:, 0] + y)
    assert smooth.n_basis_ == 80


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_share_the_basis(multi_class, rng):
    X = rng.standard_normal((900, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.7, 0.7])
    few = SVC(NegativeDistance(), multi_class=multi_class, n_basis=150, random_state=0).fit(X[:600], y[:600])
    everything = SVC(NegativeDistance(), multi_class=multi_class, n_basis=None).fit(X[:600], y[:600])
    assert few.score(X[600:], y[600:]) > everything.score(X[600:], y[600:]) - 0.04
    assert few.predict_proba(X[600:]).sum(axis=1) == pytest.approx(1.0)
    assert few.loo_error_ == pytest.approx(1.0 - few.score(X[600:], y[600:]), abs=0.08)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "squared", "pinball"])
def test_regression_on_few_points(loss, rng):
    X = rng.random((800, 2))
    truth = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
    y = truth + 0.1 * rng.standard_normal(800)
    few, everything = (SVR(loss=loss, n_basis=n_basis, random_state=0).fit(X[:500], y[:500]) for n_basis in (80, None))
    errors = [np.sqrt(np.mean((machine.predict(X[500:]) - truth[500:]) ** 2)) for machine in (few, everything)]
    assert errors[0] < 1.3 * errors[1] + 0.005


def test_cross_validation_on_few_points(rng):
    X, y = rings(rng, 300)
    machine = SVC(n_basis=40, criterion="cv", random_state=0).fit(X, y)
    assert machine.score(X, y) > 0.85
    assert machine.n_basis_ == 40


def test_given_matrices_and_columns(rng):
    X, y = rings(rng, 200)
    K = Gaussian(1.0)(X)
    few = SVC("precomputed", n_basis=50, random_state=0).fit(K, y)
    assert few.score(K, y) > 0.85
    assert len(few.support_) == 50
    beside = SVC("precomputed", n_basis=50, random_state=0).fit(K, y, null_columns=np.hstack([np.ones((200, 1)), X]))
    assert beside.null_coef_.shape == (1, 3)


def test_repeated_samples_count_as_weights(rng):
    X, y = rings(rng, 200)
    chosen = {"n_basis": 40, "alpha": 1.0, "random_state": 0}
    twice = SVC(NegativeDistance(), **chosen).fit(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = SVC(NegativeDistance(), **chosen).fit(X, y, sample_weight=np.full(200, 2.0))
    np.testing.assert_allclose(twice.decision_function(X), weighted.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("n_basis", [0, -3, 2.5, True, "some"])
def test_bad_numbers(n_basis, rng):
    X, y = rings(rng, 60)
    for machine in (SVC(n_basis=n_basis), SVR(n_basis=n_basis)):
        with pytest.raises(ValueError, match="n_basis must be 'auto'"):
            machine.fit(X, y.astype(float))
