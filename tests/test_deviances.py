"""Likelihoods against finite differences, SciPy's distributions and the definition of the deviance."""

import numpy as np
import pytest
from helpers import case_id
from scipy import stats

from seminorm.deviances import Binomial, Gamma, Poisson, all_deviances

F = np.array([-1.3, 0.35, 0.8, 2.1])


@pytest.mark.parametrize("loss", all_deviances(), ids=case_id)
def test_slopes_and_curvatures_are_those_of_the_value(loss):
    h = 1e-5
    np.testing.assert_allclose(loss.gradient(F), (loss.value(F + h) - loss.value(F - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(loss.curvature(F), (loss.gradient(F + h) - loss.gradient(F - h)) / (4 * h), atol=1e-7)
    np.testing.assert_allclose(2 * loss.curvature(F) * (F - loss.targets(F)), loss.gradient(F), atol=1e-12)
    np.testing.assert_allclose(loss.slope(F), (loss.mean(F + h) - loss.mean(F - h)) / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(loss.link(loss.mean(F)), F, atol=1e-12)


@pytest.mark.parametrize("loss", all_deviances(), ids=case_id)
def test_subsets_and_directions(loss):
    np.testing.assert_array_equal(loss.subset(np.array([1, 3])).value(F[[1, 3]]), loss.value(F)[[1, 3]])
    far = 30.0 * np.where(loss.directions() == 0.0, loss.link(loss.start(np.ones(4))), loss.directions())
    at_end = loss.value(far)[loss.directions() != 0.0]
    np.testing.assert_allclose(at_end, 0.0, atol=1e-12)
    assert (loss.value(F) > 0.0).all()


@pytest.mark.parametrize("phi", [1.0, 0.4, 1e-4, 1e-7])
def test_the_likelihood_is_that_of_scipy(phi):
    """Saturated likelihood minus half of the deviance over phi is the log likelihood, at any f."""
    gamma, weights, f = Gamma(np.array([0.1, 3.1, 1.1, 7.1])), np.array([1.0, 2.0, 1.0, 3.0]), np.sqrt(phi) * F
    f = f + np.log(gamma.y)
    expected = weights @ stats.gamma.logpdf(gamma.y, 1 / phi, scale=np.exp(f) * phi)
    assert gamma.saturated(weights, phi) - weights @ gamma.value(f) / (2 * phi) == pytest.approx(expected, rel=1e-6)


def test_the_likelihood_of_counts_and_labels_is_that_of_scipy():
    poisson, binomial, ones = (
        Poisson(np.array([0.0, 3.0, 1.0, 7.0])),
        Binomial(np.array([0.0, 1.0, 0.0, 1.0])),
        np.ones(4),
    )
    ours = poisson.saturated(ones, 1.0) - poisson.value(F).sum() / 2
    assert ours == pytest.approx(stats.poisson.logpmf(poisson.y, np.exp(F)).sum(), rel=1e-12)
    ours = binomial.saturated(ones, 1.0) - binomial.value(F).sum() / 2
    assert ours == pytest.approx(stats.bernoulli.logpmf(binomial.y, binomial.mean(F)).sum(), rel=1e-12)


@pytest.mark.parametrize("loss", all_deviances(), ids=case_id)
def test_moments_of_the_distribution(loss):
    """By integrals of the distribution function: mean, and variance phi V(mean)."""
    mean, phi = 0.4, loss.dispersion or 0.3
    edges = np.linspace(0.0, 12.0, 120_001) + 1e-9
    tail = 1.0 - loss.cdf(edges, np.full(len(edges), mean), phi)
    first, second = np.trapezoid(tail, edges), np.trapezoid(2 * edges * tail, edges)
    assert first == pytest.approx(mean, abs=2e-4)
    assert second - first**2 == pytest.approx(phi * loss.variance(np.array(mean)), abs=2e-3)
