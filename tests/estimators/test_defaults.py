"""Defaults on data that ask for care, judged by data that training has not seen."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC as ReferenceSVC
from sklearn.tree import DecisionTreeClassifier

from seminorm import SVC, SVR, KernelNeighbors, Smoother
from seminorm.kernels import Gaussian, Linear, Matern, NegativeDistance, ThinPlate
from seminorm.nullspace import CrossFitted, SoftTwin


def held_out(machine, X, y, n):
    return machine.fit(X[:n], y[:n]).score(X[n:], y[n:])


# -- classification ----------------------------------------------------------------------------------------------------


def test_points_that_repeat_with_both_labels_are_left_out_together():
    """Categories with noisy labels: leaving out the one label of a point would make the other one predict it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1600, 3)).astype(float)
    y = rng.random(1600) < np.where(X[:, 0] > X[:, 1], 0.75, 0.25)
    assert held_out(SVC(), X, y, 600) > held_out(ReferenceSVC(), X, y, 600) - 0.02


def test_copies_that_were_moved_a_little_are_no_evidence():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1200, 2))
    y = (X**2).sum(axis=1) + 0.8 * rng.standard_normal(1200) > 1.4
    copies = np.vstack([X[:200], X[:200] + 1e-6 * rng.standard_normal((200, 2))])
    twice = SVC().fit(copies, np.tile(y[:200], 2)).score(X[200:], y[200:])
    assert twice > held_out(SVC(), X, y, 200) - 0.02


def test_leave_one_out_of_a_place_is_that_of_training_without_it(rng):
    X = rng.standard_normal((40, 2))
    X, y = np.vstack([X, X[:8]]), np.r_[X[:, 0] > 0, X[:8, 0] <= 0]
    machine = SVC(ThinPlate(), alpha=30.0, null_space=1)
    scores = SVC(ThinPlate(), alpha=[30.0], null_space=1).fit(X, y).alpha_path_["score"]
    left_out = np.empty(len(X))
    for i in range(len(X)):
        others = (X[i] != X).any(axis=1)
        left_out[i] = machine.fit(X[others], y[others]).decision_function(X[[i]])[0]
    signs = np.where(y, 1.0, -1.0)
    np.testing.assert_allclose(scores[0], np.mean(np.maximum(1 - signs * left_out, 0) ** 2), rtol=0.02)


def test_rare_classes_are_ranked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 10))
    signal = 0.6 * X[:, 0] + rng.standard_normal(6000)
    y = signal > np.quantile(signal, 0.98)
    ours, theirs = (
        roc_auc_score(y[1000:], machine.fit(X[:1000], y[:1000]).decision_function(X[1000:]))
        for machine in (SVC(), ReferenceSVC())
    )
    assert ours > theirs


def test_raw_columns_of_different_units():
    wine = load_wine()
    order = np.random.default_rng(0).permutation(178)
    X, y = wine.data[order], wine.target[order]
    with pytest.warns(UserWarning, match="ranges of the columns of X differ by a factor"):
        raw = held_out(SVC(), X, y, 100)
    automatic = SVC(metric="auto").fit(X[:100], y[:100])
    assert automatic.metric_ == "standardize"
    assert automatic.score(X[100:], y[100:]) > max(0.92, raw)
    for machine in (SVR(metric="auto"), Smoother(metric="auto")):
        assert machine.fit(X[:100], y[:100].astype(float)).score(X[100:], y[100:]) > 0.8


def test_scales_are_chosen_with_alpha(rng):
    X = 100.0 * rng.random((150, 2))
    y = np.sin(X[:, 0] / 8) + 0.1 * rng.standard_normal(150)
    for machine in (Smoother(Gaussian("auto")), SVR(Gaussian("auto")), Smoother(Matern(scale="auto"))):
        machine.fit(X[:100], y[:100])
        assert 3.0 < machine.kernel_.scale < 300.0
        assert machine.score(X[100:], np.sin(X[100:, 0] / 8)) > 0.8
    assert SVC(Gaussian("auto")).fit(X[:100], y[:100] > 0).score(X[100:], y[100:] > 0) > 0.8
    assert KernelNeighbors(Gaussian("auto")).fit(X, y > 0).kernel_.scale > 10.0  # not chosen: the median distance


def test_low_rank_is_the_same_machine(rng):
    X = rng.standard_normal((1500, 2))
    y = (X**2).sum(axis=1) + rng.standard_normal(1500) > 1.4
    few, all_points = (SVC(ThinPlate(), alpha=2.0, null_space=space).fit(X, y) for space in (1, "soft"))
    assert len(few.support_) < 700  # pivots
    dense = SVC("precomputed", alpha=2.0).fit(ThinPlate()(X), y, null_columns=np.column_stack([np.ones(1500), X]))
    np.testing.assert_allclose(
        few.decision_function(X),
        dense.decision_function(ThinPlate()(X), null_columns=np.column_stack([np.ones(1500), X])),
        atol=0.05,
    )
    assert np.mean(few.predict(X) != all_points.predict(X)) < 0.01


def test_many_points_take_the_choice_of_some():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    y = (X**2).sum(axis=1) + 0.8 * rng.standard_normal(4000) > 1.4
    best = max(held_out(SVC(ThinPlate(), alpha=a, null_space=1), X, y, 2000) for a in (0.1, 10.0))
    assert held_out(SVC(), X, y, 2000) > best - 0.01


# -- regression ----------------------------------------------------------------------------------------------------


def noisy(seed=0, n=200, d=2):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(6 * X[:, 0]) + 0.5 * rng.standard_normal(n)


def with_copies(kind, seed):
    X, y = noisy(seed, d=5 if kind == "five" else 2)
    if kind == "near":
        return np.vstack([X, X[:1] + 1e-5]), np.r_[y, y[:1]]
    if kind == "moved":
        return np.vstack([X, X + 1e-5]), np.r_[y, y]
    if kind == "labels":
        return X, (y > 0.5).astype(float)
    return np.vstack([X, X[:40].astype(np.float32)]), np.r_[y, y[:40].astype(np.float32)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["near", "moved", "single precision", "five", "labels"])
@pytest.mark.parametrize("criterion", ["auto", "reml"])
def test_smoothers_do_not_interpolate_noise_for_the_sake_of_copies(criterion, kind, seed):
    X, y = with_copies(kind, seed)
    model = Smoother(criterion=criterion, kernel=ThinPlate(), null_space=1).fit(X, y)
    assert model.edf_ < (0.9 if kind == "five" else 0.5) * 200
    if kind != "labels":
        new, _ = noisy(100, 1000, X.shape[1])
        truth = np.sin(6 * new[:, 0])
        plain = Smoother(ThinPlate(), criterion=criterion, null_space=1).fit(*noisy(seed, d=X.shape[1]))
        error, usual = (np.mean((m.predict(new) - truth) ** 2) for m in (model, plain))
        assert error < 1.3 * usual + 0.01


def test_smoothers_say_when_they_interpolate_noise():
    X, y = with_copies("labels", 2)
    with pytest.warns(UserWarning, match="nearly interpolates"):
        Smoother(ThinPlate(), criterion="gcv", null_space=1).fit(X, y)
    smooth = np.sin(6 * X[:, 0])
    Smoother().fit(X, smooth)  # without noise it is right to


def test_soft_null_space_of_smoothers():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((1150, 60)), rng.standard_normal(60)
    y = X @ w + np.linalg.norm(w) * 0.5 * rng.standard_normal(1150)
    errors = {}
    for name, model in {
        "auto": Smoother(),
        "free": Smoother(ThinPlate(), null_space=1),
        "rough": Smoother(NegativeDistance()),
        "ridge": Ridge(50.0),
    }.items():
        errors[name] = np.mean((model.fit(X[:150], y[:150]).predict(X[150:]) - y[150:]) ** 2)
    assert errors["auto"] < 1.02 * min(errors["free"], errors["rough"])
    assert errors["auto"] < 1.2 * errors["ridge"]
    soft = Smoother(null_space="soft").fit(X[:150], y[:150])
    assert soft.null_space_used_ == "soft" and isinstance(soft.kernel_, SoftTwin)


def test_the_soft_machine_is_that_of_the_soft_twin(rng):
    X, Z = rng.standard_normal((60, 4)), rng.standard_normal((20, 4))
    y = X[:, 0] + X[:, 1] ** 2 > 1
    soft = SVC(ThinPlate(), null_space="soft", alpha=0.3).fit(X, y)
    twin = SVC(SoftTwin(ThinPlate(), X), alpha=0.3).fit(X, y)
    np.testing.assert_allclose(soft.decision_function(Z), twin.decision_function(Z), atol=1e-9)
    gradient = SoftTwin(ThinPlate(), X).gradient(Z, X[:3])
    h = 1e-6
    for axis in range(4):
        step = h * np.eye(4)[axis]
        kernel = SoftTwin(ThinPlate(), X)
        np.testing.assert_allclose(
            gradient[:, :, axis], (kernel(Z + step, X[:3]) - kernel(Z - step, X[:3])) / (2 * h), atol=1e-5
        )


def test_the_tube_follows_the_noise():
    for noise in (0.05, 0.5):
        rng = np.random.default_rng(0)
        X = rng.random((400, 2))
        model = SVR().fit(X, np.sin(6 * X[:, 0]) + noise * rng.standard_normal(400))
        assert 0.4 * noise < model.epsilon_ < 0.8 * noise
        again = SVR().fit(X, 1000 * (np.sin(6 * X[:, 0]) + noise * np.random.default_rng(0).standard_normal(400)))
        assert again.epsilon_ > 100 * model.epsilon_


def test_several_outputs_are_several_machines(rng):
    X = rng.random((80, 2))
    Y = np.column_stack([np.sin(5 * X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.standard_normal((80, 2))
    both = SVR(alpha=0.1, epsilon=0.05).fit(X, Y).predict(X)
    apart = [SVR(alpha=0.1, epsilon=0.05).fit(X, Y[:, k]).predict(X) for k in range(2)]
    np.testing.assert_allclose(both, np.column_stack(apart), atol=1e-8)
    assert SVR().fit(X, Y).epsilon_.shape == (2,)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_of_a_linear_kernel_are_those_of_linear_programming(quantile, rng):
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(60)
    ours = SVR(Linear(), alpha=1e-4, loss="pinball", quantile=quantile).fit(X, y)
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)

    def loss(f):
        return np.maximum(quantile * (y - f), (quantile - 1) * (y - f)).sum()

    assert loss(ours.predict(X)) < 1.001 * loss(theirs.predict(X)) + 1e-3


def test_bands_cover_what_they_should():
    rng = np.random.default_rng(0)
    X = rng.random((3400, 2))
    y = np.sin(6 * X[:, 0]) + (0.2 + 0.5 * X[:, 1]) * rng.standard_normal(3400)
    low, high = (SVR(loss="pinball", quantile=q).fit(X[:400], y[:400]).predict(X[400:]) for q in (0.1, 0.9))
    assert 0.75 < np.mean((low < y[400:]) & (y[400:] < high)) < 0.85


# -- a model of one's own as the bias ----------------------------------------------------------------------------------


def test_a_model_as_bias_helps_and_labels_at_random_stay_at_chance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 5))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.3)
    forest = RandomForestClassifier(50, random_state=0)
    both = held_out(SVC(null_space=CrossFitted(forest)), X, y, 300)
    assert both > held_out(SVC(), X, y, 300) and both > held_out(forest, X, y, 300) - 0.02
    errors = [SVC(null_space=CrossFitted(forest)).fit(X[:300], rng.random(300) < 0.5).loo_error_ for _ in range(3)]
    assert np.mean(errors) > 0.38
    numbers = np.sin(3 * X[:, 0]) + (X[:, 1] > 0)
    trees = RandomForestRegressor(50, random_state=0)
    for machine in (SVR, Smoother):
        assert held_out(machine(null_space=CrossFitted(trees)), X, numbers, 300) > held_out(machine(), X, numbers, 300)


def test_a_linear_model_beside_linear_functions_does_not_give_away_labels():
    """Out-of-fold outputs of linear models differ from linear functions by the labels that they have not seen."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20)), rng.random(300) < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SVC(null_space=CrossFitted(LogisticRegression())).fit(X, y)
        chosen = SVC(null_space=CrossFitted(LogisticRegression()), alpha=np.logspace(-2, 4, 7)).fit(X, y)
    assert 0.42 < machine.loo_error_ < 0.6
    assert 0.42 < chosen.loo_error_ < 0.6 and len(chosen.alpha_path_["alpha"]) == 7
    with pytest.raises(ValueError, match="needs three folds"):
        SVC(null_space=CrossFitted(LogisticRegression())).fit(X[:30], np.arange(30) < 2)
    signal = X @ rng.standard_normal(20) + rng.standard_normal(300) > 0
    machine = SVC(null_space=CrossFitted(LogisticRegression())).fit(X[:150], signal[:150])
    assert machine.loo_error_ == pytest.approx(1 - machine.score(X[150:], signal[150:]), abs=0.07)


def test_the_model_is_left_out_where_the_machine_is_better_without():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 2))
    y = np.hypot(*X.T) > 1.1
    chance = DummyClassifier(strategy="stratified", random_state=0)
    machine = SVC(null_space=CrossFitted(chance)).fit(X[:200], y[:200])
    assert machine.score(X[200:], y[200:]) > SVC().fit(X[:200], y[:200]).score(X[200:], y[200:]) - 0.02


def test_models_see_weights_and_not_copies(rng):
    X = rng.integers(0, 3, (200, 2)).astype(float)
    y = rng.random(200) < 0.2 + 0.3 * X[:, 0]
    space = CrossFitted(DecisionTreeClassifier()).fit(X, y)
    matrix = space.training_matrix(X, y)
    for place in np.unique(X, axis=0):  # all points of a place are in one fold, and have the outputs of one model
        assert np.ptp(matrix[(place == X).all(axis=1)]) == 0
    weights = rng.integers(1, 4, 200).astype(float)
    repeated = np.repeat(np.arange(200), weights.astype(int))
    twice = CrossFitted(KNeighborsClassifier(5)).fit(X, y, weights)  # takes no weights
    np.testing.assert_allclose(
        twice.model_.predict_proba(X), KNeighborsClassifier(5).fit(X[repeated], y[repeated]).predict_proba(X)
    )
    for model in (SVC, SVR):
        weighted = model(ThinPlate(), null_space=CrossFitted(DecisionTreeClassifier(max_depth=2)), alpha=1.0)
        one, other = weighted.fit(X, y.astype(int), weights), clone(weighted).fit(X[repeated], y[repeated].astype(int))
        np.testing.assert_allclose(one.null_coef_, other.null_coef_, rtol=1e-6)


def test_own_columns_are_routed(rng):
    X, extra = rng.standard_normal((120, 2)), rng.standard_normal((120, 1))
    y = X[:, 0] ** 2 + 3 * extra[:, 0] > 0.5
    with config_context(enable_metadata_routing=True):
        machine = (
            SVC(Gaussian(1.0), alpha=0.1)
            .set_fit_request(null_columns=True)
            .set_predict_request(null_columns=True)
            .set_score_request(null_columns=True)
        )
        routed = cross_val_score(machine, X, y, params={"null_columns": extra})
        search = GridSearchCV(machine, {"alpha": [0.01, 1.0]}).fit(X, y, null_columns=extra)
    assert routed.mean() > 0.9 > cross_val_score(SVC(Gaussian(1.0), alpha=0.1), X, y).mean()
    assert search.best_score_ > 0.9


def test_outputs_in_training_come_from_models_that_have_not_seen_the_point(rng):
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    space = CrossFitted(RandomForestRegressor(20, random_state=0)).fit(X, y)
    honest, learned = space.training_matrix(X, y)[:, 0], space(X)[:, 0]
    assert abs(np.corrcoef(honest, y)[0, 1]) < 0.5 < np.corrcoef(learned, y)[0, 1]
    with pytest.raises(ValueError, match="needs targets"):
        CrossFitted(Ridge()).fit(X)
    with pytest.raises(ValueError, match="have no derivatives"):
        space.gradient(X)


def test_own_columns_beside_every_kernel(rng):
    X = rng.standard_normal((100, 2))
    extra = rng.standard_normal((100, 1))
    y = X[:, 0] ** 2 + 3 * extra[:, 0] > 0.5
    machine = SVC(Gaussian(1.0)).fit(X, y, null_columns=extra)
    assert machine.score(X, y, null_columns=extra) > 0.9
    by_matrix = SVC("precomputed", alpha=machine.alpha_).fit(
        Gaussian(1.0)(X), y, null_columns=np.column_stack([np.ones(100), extra])
    )
    np.testing.assert_allclose(
        machine.decision_function(X, null_columns=extra),
        by_matrix.decision_function(Gaussian(1.0)(X), null_columns=np.column_stack([np.ones(100), extra])),
        atol=1e-6,
    )
