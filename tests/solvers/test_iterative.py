"""Iterative fits against dense ones: coefficients, criteria, hard sets of points."""

import numpy as np
import pytest

from seminorm._base import blas
from seminorm._base.threads import limited_threads
from seminorm.kernels import Gaussian, Matern, Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.nullspace import Polynomials
from seminorm.solvers.linear.coarse_to_fine import coarse_to_fine
from seminorm.solvers.linear.contrasts import EarlierNeighbors
from seminorm.solvers.ridge.iterative import IterativeSystem, neighbors_in
from seminorm.solvers.ridge.selection import solve
from seminorm.solvers.ridge.stochastic import StochasticCriteria
from seminorm.solvers.ridge.system import ReducedSystem

N = 500


@pytest.fixture(autouse=True)
def _one_thread():
    with blas.one_thread():
        yield


def points_of(kind, d, rng, n=N):
    X = rng.random((n, d))
    if kind == "clusters":
        widths = 10.0 ** rng.uniform(-4, -1, 20)
        which = rng.integers(0, 20, n)
        X = rng.random((20, d))[which] + widths[which, None] * rng.standard_normal((n, d))
    if kind == "near":
        X[n // 2 :] = X[: n - n // 2] + 1e-6 * rng.standard_normal((n - n // 2, d))
    if kind == "lines":
        X[:, 0] = np.round(20 * X[:, 0]) / 20
    if kind == "lattice":
        side = round(n ** (1 / d))
        X = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * d), axis=-1).reshape(-1, d)
    return X


def values_of(X):
    return np.column_stack([np.sin(5 * X.sum(axis=1)), np.cos(3 * X[:, 0])])


def problem(kernel, X, weights=None):
    kernel = kernel.for_dimension(X.shape[1])
    P = Polynomials(kernel.null_degree).fit(X)(X)
    K = kernel(X)
    weights = np.ones(len(X)) if weights is None else weights
    system = IterativeSystem(lambda a: K @ a, kernel.profile, X, P, weights, neighbors_in(X.shape[1]))
    return system, K, P, weights


def residual(K, P, weights, y, alpha, found):
    rest = y - K @ found.dual - alpha / weights[:, None] * found.dual - P @ found.null
    Q = np.linalg.qr(P)[0]
    return np.max(np.linalg.norm(rest, axis=0) / np.linalg.norm(y - Q @ (Q.T @ y), axis=0))


KERNELS = [
    NegativeDistance(),
    NegativeDistance(1.5),
    ThinPlate(),
    Polyharmonic(2),
    Polyharmonic(3),
    Multiquadric(0.05),
    Matern(1.5, 0.3),
]


@pytest.mark.parametrize("kind", ["uniform", "clusters", "near", "lines", "lattice"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_interpolation_needs_few_steps(kind, d, rng):
    X = np.unique(points_of(kind, d, rng), axis=0)
    y = values_of(X)
    for kernel in KERNELS:
        if kernel == Polyharmonic(3) and d == 1:
            continue  # r^5 on the line: the matrix is singular to rounding
        system, K, P, weights = problem(kernel, X)
        found = system.solve(y, 0.0, tol=1e-6, max_iter=60)
        assert found.converged and found.residual <= 1e-6, kernel
        assert residual(K, P, weights, y, 0.0, found) < 2e-6, kernel
        assert np.linalg.norm(P.T @ found.dual) <= 1e-10 * len(X) * np.abs(found.dual).max()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_smoothing_is_that_of_a_factorisation(d, rng):
    X, weights = rng.random((N, d)), rng.uniform(0.5, 2.0, N)
    y = values_of(X) + 0.1 * rng.standard_normal((N, 2))
    for kernel in [*KERNELS, Gaussian(0.1)]:
        system, K, P, _ = problem(kernel, X, weights)
        for share in (1e-6, 1e-3):
            alpha = share * N * np.abs(K).mean()
            found = system.solve(y, alpha, tol=1e-8, max_iter=300)
            dense = ReducedSystem(K.copy(), P, y, weights)
            dual, null = dense.coefficients(solve(dense, alpha, "gcv").g)
            assert found.converged
            np.testing.assert_allclose(found.dual, dual, atol=1e-5 * np.abs(dual).max())
            np.testing.assert_allclose(K @ found.dual + P @ found.null, K @ dual + P @ null, atol=1e-6)


def test_same_bits_for_any_number_of_threads(rng):
    X = rng.random((2000, 2))
    y, found = values_of(X), []
    for number in (1, 2):
        with limited_threads(number):
            found.append(problem(ThinPlate(), X)[0].solve(y, 0.0, tol=1e-6, max_iter=50).dual)
    np.testing.assert_array_equal(*found)


def test_fewer_points_than_neighbours(rng):
    for n in (4, 10, 30):
        X = rng.random((n, 2))
        found = problem(ThinPlate(), X)[0].solve(values_of(X), 0.0, tol=1e-9, max_iter=20)
        assert found.converged and found.n_iter <= 2


def test_an_iteration_that_does_not_get_there_says_so(rng):
    X = rng.random((N, 2))
    y = rng.standard_normal((N, 1))
    system = problem(Gaussian(0.3), X)[0]
    found = system.solve(y, 0.0, tol=1e-6, max_iter=20)
    assert not found.converged and 1e-6 < found.residual <= 1.0 and found.n_iter <= 20


def test_values_in_the_null_space_take_no_steps(rng):
    X = rng.random((N, 2))
    found = problem(ThinPlate(), X)[0].solve(1.0 + X @ rng.random((2, 1)), 0.0, tol=1e-6, max_iter=20)
    assert found.converged and found.n_iter == 0 and not found.dual.any()


def test_the_order_is_a_permutation_and_starts_coarse(rng):
    for X in (rng.random((500, 3)), np.zeros((5, 2)), np.repeat(rng.random((4, 1)), 3, axis=0)):
        assert sorted(coarse_to_fine(X)) == list(range(len(X)))
    X = rng.random((2000, 2))
    first = X[coarse_to_fine(X)[:50]]
    assert np.histogram2d(*first.T, bins=3, range=[[0, 1], [0, 1]])[0].min() >= 2


def test_contrasts_are_the_inverse_if_all_are_neighbours(rng):
    X = rng.random((60, 2))
    P = np.column_stack([np.ones(60), X])
    K = ThinPlate()(X) + 0.01 * np.eye(60)
    contrasts = EarlierNeighbors(X, P, 59).contrasts(ThinPlate().profile, np.full(60, 0.01))
    saddle = np.block([[K, P], [P.T, np.zeros((3, 3))]])
    inverse = np.linalg.inv(saddle)[:60, :60]
    np.testing.assert_allclose(contrasts(np.eye(60)), inverse, atol=1e-8 * np.abs(inverse).max())
    np.testing.assert_allclose(contrasts.diagonal(), np.diag(inverse), rtol=1e-7)
    assert np.count_nonzero(contrasts.scales) == 57


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
@pytest.mark.parametrize("d", [2, 3])
def test_criteria_are_those_of_a_factorisation(criterion, d, rng):
    X, weights = rng.random((N, d)), rng.uniform(0.5, 2.0, N)
    y = np.sin(5 * X.sum(axis=1))[:, None] + 0.1 * rng.standard_normal((N, 1))
    for kernel in (ThinPlate(), Matern(1.5, 0.2)):
        system, K, P, _ = problem(kernel, X, weights)
        criteria = StochasticCriteria(system, y, np.zeros(1), 0, criterion)
        alpha = criteria.minimize()
        dense = solve(ReducedSystem(K, P, y, weights), None, criterion)
        edf = criteria.path[alpha][1]
        assert abs(edf - dense.edf) < 0.1 * dense.edf + 5, (kernel, edf, dense.edf)
        at_ours = np.interp(np.log(alpha), np.log(dense.path["alpha"]), dense.path["score"])
        best = np.nanmin(dense.path["score"])
        allowed = 0.002 * abs(best) if criterion == "gcv" else 1.0  # reml: in units of the log likelihood
        assert at_ours <= best + allowed, (kernel, alpha, dense.alpha)


def test_posterior_covariance_is_that_of_a_factorisation(rng):
    X, Z = rng.random((300, 2)), rng.random((6, 2))
    kernel, space = ThinPlate(), Polynomials(1).fit(X)
    system, K, P, weights = problem(kernel, X)
    dense = solve(ReducedSystem(K.copy(), P, values_of(X), weights), 0.1, "gcv").factor
    for prior, diagonal in ((kernel(Z), False), (kernel.diag(Z), True)):
        ours = system.posterior_covariance(kernel(X, Z), space(Z), prior, 0.1, tol=1e-10, max_iter=100)
        theirs = dense.posterior_covariance(kernel(X, Z), space(Z), prior, diagonal)
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
