"""Factors of terms: the restricted likelihood against determinants, its gradient, and its maximum against SciPy."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from seminorm.kernels import Gaussian, Polyharmonic
from seminorm.nullspace import Polynomials
from seminorm.solvers.ridge.term_factors import TermLikelihood, best_factors


def problem(rng, n=60):
    X = rng.random((n, 3))
    y = np.sin(6 * X[:, 0]) + (X[:, 1] - 0.5) ** 2 + 0.2 * rng.standard_normal(n)
    kernels = [Polyharmonic(2).on_columns([0]), Polyharmonic(2).on_columns([1]), Gaussian(0.3).on_columns([2])]
    kernels = [kernel.for_dimension(3) for kernel in kernels]
    return [kernel(X) for kernel in kernels], Polynomials(1).fit(X)(X), y, rng.random(n) + 0.5


def direct(factors, matrices, P, y, weights, phi=None):
    """-2 log restricted likelihood, up to a constant, by determinants of covariance matrix and trend."""
    V = sum(factor * K for factor, K in zip(factors, matrices, strict=True)) + np.diag(1 / weights)
    inverse = np.linalg.inv(V)
    inner = P.T @ inverse @ P
    projected = inverse - inverse @ P @ np.linalg.solve(inner, P.T @ inverse)
    energy, degrees = y @ projected @ y, len(y) - P.shape[1]
    logdet = np.linalg.slogdet(V)[1] + np.linalg.slogdet(inner)[1]
    return degrees * np.log(energy) + logdet if phi is None else degrees * np.log(phi) + logdet + energy / phi


@pytest.mark.parametrize("phi", [None, 1.0, 0.04])
def test_likelihood_is_that_of_determinants(phi, rng):
    """Their difference does not depend on the factors (kernels of order 2 are semi-definite beside the trend)."""
    matrices, P, y, weights = problem(rng)
    likelihood = TermLikelihood([K.copy() for K in matrices], P, y, weights, dispersion=phi)
    gaps = []
    for theta in rng.uniform(-3.0, 5.0, (5, 3)):
        value, slope = likelihood(theta)
        gaps.append(value - direct(np.exp(theta) / likelihood.units, matrices, P, y, weights, phi))
        numeric = approx_fprime(theta, lambda t: likelihood(t)[0], 1e-6)
        np.testing.assert_allclose(slope, numeric, atol=1e-4 * max(1.0, np.abs(slope).max()))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-7)


def test_scatter_of_repeated_samples_counts(rng):
    """Merged samples with their scatter have the likelihood of all of them, up to a constant."""
    matrices, P, _, _ = problem(rng, 30)
    copies = np.repeat(np.arange(30), 3)
    y = rng.standard_normal(30)[copies] + 0.3 * rng.standard_normal(90)
    means = np.bincount(copies, y) / 3
    scatter = float(((y - means[copies]) ** 2).sum())
    merged = TermLikelihood([K.copy() for K in matrices], P, means, np.full(30, 3.0), scatter, 60)
    gaps = []
    for theta in rng.uniform(-2.0, 3.0, (4, 3)):
        factors = np.exp(theta) / merged.units
        spread = [K[np.ix_(copies, copies)] for K in matrices]
        gaps.append(merged(theta)[0] - direct(factors, spread, P[copies], y, np.ones(90)))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-7)


def test_maximum_equals_that_of_scipy(rng):
    matrices, P, y, weights = problem(rng)
    ours = best_factors(matrices, P, y, weights)
    found = minimize(
        lambda t: direct(np.exp(t), matrices, P, y, weights),
        np.log(ours) + rng.uniform(-2, 2, 3),
        method="Nelder-Mead",
        options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-6, "fatol": 1e-9},
    )
    assert direct(ours, matrices, P, y, weights) <= found.fun + 1e-4


def test_many_points_start_from_some_of_them(rng, monkeypatch):
    import seminorm.solvers.ridge.term_factors as module

    matrices, P, y, weights = problem(rng, 200)
    plain = best_factors(matrices, P, y, weights)
    monkeypatch.setattr(module, "_MANY", 100)
    monkeypatch.setattr(module, "_SOME", 80)
    started = best_factors(matrices, P, y, weights)
    assert direct(started, matrices, P, y, weights) == pytest.approx(direct(plain, matrices, P, y, weights), abs=1e-3)
