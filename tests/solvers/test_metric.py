"""Learned metrics: gradients, leave-one-out, cross-fitting and stacking against brute force."""

import numpy as np
import pytest
from helpers import central_difference
from scipy.optimize import minimize

from seminorm.solvers.metric.basis import BasisSystem
from seminorm.solvers.metric.gradients import metric_root, outer_products
from seminorm.solvers.metric.learning import Learner, Recipe
from seminorm.solvers.metric.profiles import PowerProfile
from seminorm.solvers.metric.ridge import CenteredKernel, fit, left_out_last
from seminorm.solvers.metric.scaling import Ranked, Squashed
from seminorm.solvers.metric.stacking import stack_weights
from seminorm.solvers.metric.walk import walk

PROFILES = [PowerProfile(0.9), PowerProfile(0.5), PowerProfile(0.7, 1), PowerProfile(1.0)]


def saddle_solution(profile, Z, Y, weights, alpha):
    """(K + alpha W^-1) a + b = y, 1'a = 0, as it stands."""
    n = len(Z)
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = profile.matrix(Z, Z) + np.diag(alpha / weights)
    A[n, n] = 0.0
    solution = np.linalg.solve(A, np.vstack([Y, np.zeros(Y.shape[1])]))
    return solution[:n], solution[n]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), rng.uniform(0.5, 2.0, 30)


@pytest.mark.parametrize("profile", PROFILES)
def test_gradients_agree_with_differences(profile, data):
    X, Y, _ = data
    where = np.random.default_rng(1).standard_normal((5, 3))
    found = profile.gradients(where, X, Y)
    expected = central_difference(lambda Z: profile.matrix(Z, X) @ Y, where)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_fit_solves_the_saddle_system(profile, alpha, data):
    X, Y, weights = data
    found = fit(CenteredKernel(profile.matrix(X, X), weights), Y, alpha)
    dual, constant = saddle_solution(profile, X, Y, weights, alpha)
    np.testing.assert_allclose(found.dual, dual, rtol=1e-6, atol=1e-8 * np.abs(dual).max())
    np.testing.assert_allclose(found.constant, constant, rtol=1e-6, atol=1e-8 * np.abs(dual).max())


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("alpha", [1e-5, 1.0])
def test_leave_one_out_agrees_with_leaving_out(profile, alpha, data):
    X, Y, weights = data
    found = left_out_last(CenteredKernel(profile.matrix(X, X), weights), Y, alpha, 10)
    expected = []
    for i in range(20, 30):
        kept = np.arange(30) != i
        dual, constant = saddle_solution(profile, X[kept], Y[kept], weights[kept], alpha)
        expected.append(profile.matrix(X[i : i + 1], X[kept])[0] @ dual + constant)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-5, 1.0])
def test_one_of_several_copies_is_left_out(alpha, data):
    X, Y, _ = data
    copies = 1.0 + np.arange(30) % 4
    profile = PROFILES[1]
    system = CenteredKernel(profile.matrix(X, X), copies)
    found = left_out_last(system, Y, alpha, 30, 1.0 / copies)
    for i in range(8):
        fewer = copies - (np.arange(30) == i)
        kept = fewer > 0
        dual, constant = saddle_solution(profile, X[kept], Y[kept], fewer[kept], alpha)
        expected = profile.matrix(X[i : i + 1], X[kept])[0] @ dual + constant
        np.testing.assert_allclose(found[i], expected, rtol=1e-6, atol=1e-6)


def test_outer_products_and_their_roots():
    gradients = np.random.default_rng(0).standard_normal((7, 2, 3))
    weights = np.arange(1.0, 8.0)
    expected = sum(w * np.outer(g, g) for w, rows in zip(weights, gradients, strict=True) for g in rows) / weights.sum()
    M = outer_products(gradients, weights)
    np.testing.assert_allclose(M, expected)
    L = metric_root(M, "full", 1.0)
    np.testing.assert_allclose(L @ L, 3 * M / np.trace(M))
    np.testing.assert_allclose(metric_root(M, "diagonal", 2.0), 3 * np.diag(np.diag(M)) / np.trace(M))
    assert metric_root(np.zeros((3, 3)), "full", 1.0) is None


def test_walk_finds_the_minimum_of_a_convex_function():
    assert walk(lambda x: (x - 1.3) ** 2) == 1.5
    assert walk(lambda x: (x + 4.9) ** 2) == -5.0
    assert walk(lambda x: (x - 1.3) ** 2, start=0.25) == 1.25


def test_stack_weights_minimise_over_the_simplex():
    rng = np.random.default_rng(0)
    Y, weights = rng.standard_normal((50, 2)), rng.uniform(0.5, 1.5, 50)
    predictions = Y + rng.standard_normal((4, 50, 2)) * np.array([0.3, 0.5, 0.8, 3.0])[:, None, None]

    def loss(s):
        return (weights[:, None] * (Y - np.tensordot(s, predictions, 1)) ** 2).sum()

    found = stack_weights(predictions, Y, weights)
    simplex = {"type": "eq", "fun": lambda s: s.sum() - 1.0}
    best = minimize(loss, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=simplex, options={"ftol": 1e-14})
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0)


def test_a_perfect_member_gets_all_weight():
    Y = np.arange(5.0)[:, None]
    np.testing.assert_allclose(stack_weights(np.stack([Y + 1, Y, 0 * Y]), Y, np.ones(5)), [0, 1, 0], atol=1e-7)


def test_two_relevant_columns_of_twenty_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    Y = (np.sin(2 * X[:, :1]) + X[:, 1:2] ** 2) / 1.5 + 0.05 * rng.standard_normal((400, 1))
    new = rng.standard_normal((300, 20))
    truth = (np.sin(2 * new[:, :1]) + new[:, 1:2] ** 2) / 1.5
    recipe = Recipe(PowerProfile(0.5), "half", 1.0)
    iterates = Learner(X, Y, np.ones(400)).iterates(recipe)

    def error(it):
        predicted = recipe.profile.matrix(new @ it.root, X @ it.root) @ it.fit.dual + it.fit.constant
        return np.sqrt(np.mean((predicted - truth) ** 2))

    best = min(iterates, key=lambda it: it.loss)
    importance = np.diag(best.root @ best.root)
    assert importance[:2].min() > 20 * importance[2:].max()
    assert error(best) < 0.3 * error(iterates[0])


def test_cross_fitted_leave_one_out_is_honest():
    """Columns of noise: nothing can be predicted, and no iterate claims otherwise."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((200, 10)), rng.standard_normal((200, 1))
    for profile, kind in [(PowerProfile(0.9), "full"), (PowerProfile(0.7, 1), "diagonal")]:
        for iterate in Learner(X, Y, np.ones(200)).iterates(Recipe(profile, kind)):
            assert iterate.loss > 0.97 * Y.var()


def test_scales_are_standardised_and_bounded():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_cauchy(500), rng.standard_normal(500), rng.random(500) < 0.3]).astype(float)
    levels = np.array([False, False, True])
    squashed = Squashed.fit(X, np.ones(500), levels)
    Z = squashed(X)
    assert np.abs(Z).max() <= 4.0
    np.testing.assert_allclose(Z[:, 2], X[:, 2] - X[:, 2].mean())
    ranked = Ranked.fit(X, np.ones(500), squashed)(X)
    assert np.all(np.diff(ranked[np.argsort(X[:, 0]), 0]) >= 0)


@pytest.mark.parametrize("profile", PROFILES[:3])
def test_a_basis_of_all_points_is_the_dense_machine(profile, data):
    X, Y, weights = data
    weights = weights / weights.mean()
    system = BasisSystem(profile, X, np.arange(30), Y, weights)
    dense = fit(CenteredKernel(profile.matrix(X, X), weights), Y, system.scale * 0.1)
    found = system.fit(system.scale * 0.1)
    values, expected = (profile.matrix(X, X) @ f.dual + f.constant for f in (found, dense))
    np.testing.assert_allclose(values, expected, atol=1e-4)


def test_leave_one_out_of_a_basis_agrees_with_leaving_out(data):
    X, Y, weights = data
    weights = weights / weights.mean()
    profile, centers = PROFILES[1], np.arange(12)
    system = BasisSystem(profile, X, centers, Y, weights)
    exponent, found = system.choose(np.arange(20, 30))
    for i in range(20, 30):
        kept = np.arange(30) != i
        other = BasisSystem(profile, X[kept], centers, Y[kept], weights[kept])
        fitted = other.fit(system.scale * 10.0**exponent)
        expected = profile.matrix(X[i : i + 1], X[centers]) @ fitted.dual + fitted.constant
        np.testing.assert_allclose(found[i - 20], expected[0], rtol=1e-6)
