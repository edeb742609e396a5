"""Support vector regression against other solvers."""

import warnings

import numpy as np
import pytest
from convex import machine_values
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR as ReferenceSVR

from seminorm import SVR, Smoother
from seminorm.kernels import Gaussian, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.losses import EpsilonInsensitive
from seminorm.nullspace import Features, Polynomials
from seminorm.solvers.margin import box_machines
from seminorm.solvers.margin.machines import FreeMachine


def scattered(rng, n=40):
    X = rng.random((n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_equals_scikit_learn(alpha, epsilon, rng):
    X, y = scattered(rng)
    kernel = Gaussian(0.4)
    theirs = ReferenceSVR(kernel="precomputed", C=1 / (2 * alpha), epsilon=epsilon, tol=1e-10).fit(kernel(X), y)
    ours = SVR(kernel, alpha=alpha, epsilon=epsilon).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(kernel(X)), atol=1e-4)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "space"),
    [
        (ThinPlate(), Polynomials(1)),
        (Polyharmonic(3), Polynomials(2)),
        (NegativeDistance(), Polynomials(0)),
        (Gaussian(0.5), Polynomials(0) | Features(np.cos)),
    ],
    ids=repr,
)
def test_equals_a_general_convex_solver(kernel, space, power, rng):
    X, y = scattered(rng)
    w, epsilon = rng.random(40) + 0.5, 0.05
    ones = np.ones(40)
    tube = [(-ones, -y - epsilon), (ones, y - epsilon)]  # xi >= f - y - epsilon, xi >= y - f - epsilon
    P = space.fit(X)(X)
    loss = {1: "epsilon_insensitive", 2: "squared_epsilon_insensitive"}[power]
    for alpha in (0.001, 0.1):
        expected = machine_values(kernel(X), P, alpha, w, power, tube)
        ours = SVR(kernel, alpha=alpha, epsilon=epsilon, loss=loss, null_space=space).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict(X), expected, atol=2e-4)  # the objective is flat: theirs is higher


def test_without_a_tube_the_squared_loss_is_the_smoother(rng):
    X, y = scattered(rng)
    ours = SVR(alpha=0.1, epsilon=0.0, loss="squared_epsilon_insensitive").fit(X, y)
    np.testing.assert_allclose(ours.predict(X), Smoother(alpha=0.1).fit(X, y).predict(X), atol=1e-8)


@pytest.mark.slow
def test_optimality_residuals_are_small(rng):
    X, y = scattered(rng, 150)
    machine = FreeMachine(ThinPlate()(X), Polynomials(1).fit(X)(X))
    for alpha in (1e-4, 1e-2, 1.0, 100.0):
        found = box_machines.solve(machine.K, machine.Q, EpsilonInsensitive(y, 0.1), alpha, np.ones(150))
        assert max(found.residuals.values()) < 1e-8


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), exponent=st.floats(-2, 2))
def test_dilation_law(seed, exponent):
    rng = np.random.default_rng(seed)
    X, y = scattered(rng)
    s = 10.0**exponent
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        one = SVR(alpha=0.05, loss=loss).fit(X, y)
        other = SVR(alpha=0.05 * s**2, loss=loss).fit(s * X, y)
        np.testing.assert_allclose(other.predict(s * X), one.predict(X), atol=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_automatic_alpha_fits_and_resists_outliers(loss, rng):
    X, y = scattered(rng, 120)
    truth = np.sin(5 * X[:, 0]) + X[:, 1]
    model = SVR(loss=loss, epsilon=0.05).fit(X, y)
    assert np.mean((model.predict(X) - truth) ** 2) < 0.08**2
    assert len(model.support_) < 120
    assert {"alpha", "score"} <= set(model.alpha_path_)
    spoilt = y.copy()
    spoilt[:6] += 10.0
    robust = np.abs(SVR(alpha=0.1, epsilon=0.05).fit(X, spoilt).predict(X[6:]) - truth[6:]).mean()
    square = np.abs(Smoother(alpha=0.1).fit(X, spoilt).predict(X[6:]) - truth[6:]).mean()
    assert robust < 0.5 * square


def test_null_space_alone_explains_the_data(rng):
    X = rng.random((40, 2))
    y = 2 * X[:, 0] - X[:, 1] + 1
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        model = SVR(alpha=1.0, epsilon=0.01, loss=loss).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=0.0101)


def test_tools_precomputed_and_saving(rng, tmp_path):
    X, y = scattered(rng, 60)
    model = SVR(alpha=0.1).fit(X, y)
    assert np.array_equal(SVR.load(model.save(tmp_path / "m.npz")).predict(X), model.predict(X))
    P = Polynomials(1).fit(X)
    by_matrix = SVR("precomputed", alpha=0.1).fit(ThinPlate()(X), y, null_columns=P(X))
    np.testing.assert_allclose(by_matrix.predict(ThinPlate()(X), null_columns=P(X)), model.predict(X), atol=1e-6)
    assert GridSearchCV(SVR(alpha=0.1), {"epsilon": [0.01, 0.1]}, cv=3).fit(X, y).best_score_ > 0.7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": -0.1}, "epsilon"),
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"loss": "hinge"}, "loss must be one of .*'huber'"),
        ({"n_basis": 1.5}, "n_basis"),
        ({"loss": "huber", "epsilon": 0.0}, "epsilon must be positive"),
        ({"criterion": "gcv"}, "criterion must be one of"),
        ({"alpha": "cv"}, "alpha must be 'auto'"),
    ],
)
def test_bad_input(change, message, rng):
    with pytest.raises(ValueError, match=message):
        SVR(**change).fit(*scattered(rng))


LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive", "huber", "pinball", "squared"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_and_origin_of_y_do_not_matter(loss, factor, rng):
    X = rng.random((80, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(80)
    one, other = (SVR(loss=loss).fit(X, c * y).predict(X) for c in (1.0, factor))
    np.testing.assert_allclose(other / factor, one, atol=1e-9)
    np.testing.assert_allclose(SVR(loss=loss).fit(X, y + 1e4).predict(X) - 1e4, one, atol=1e-3)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber", "pinball"])
def test_outliers_neither_move_the_fit_nor_hide_what_alpha_is_right(loss):
    rng = np.random.default_rng(0)
    X, Z = rng.random((150, 2)), rng.random((500, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(150)
    y[:4] += [1e4, -1e5, 1e6, 50.0]
    assert np.sqrt(np.mean((SVR(loss=loss).fit(X, y).predict(Z) - np.sin(6 * Z[:, 0])) ** 2)) < 0.3


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_targets(loss, rng):
    X = rng.random((40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(SVR(loss=loss).fit(X, np.full(40, 3.0)).predict(X), 3.0, rtol=1e-6)
