"""Deviations and draws of fields against dense Gaussian processes, and their coverage."""

import pickle

import numpy as np
import pytest
from field_bases import dense_matrix
from scipy import stats

from seminorm import FieldSmoother, Functional, Smoother
from seminorm.fields import Roughness, Settings, Source, fit_field
from seminorm.fields.calibration import _DRAWS, Repetition, _factor, deviation_factor
from seminorm.fields.draws import Cascade, NoisyObservations
from seminorm.kernels import Polyharmonic
from seminorm.operators import derivatives


def posterior_by_kernel(kernel, X, Z, alpha):
    """Variances of f at Z in units of the noise variance, with the prior covariance kernel / alpha."""
    K, cross = kernel(X) / alpha, kernel(X, Z) / alpha
    return kernel.diag(Z) / alpha - np.einsum("ij,ij->j", cross, np.linalg.solve(K + np.eye(len(X)), cross))


@pytest.fixture(scope="module")
def process():
    """Values of a stationary process of the plane with noise 0.2, the function at other points, and its operator."""
    rng = np.random.default_rng(0)
    X, Z = rng.random((1200, 2)), rng.random((800, 2))
    operator = (15.0**2 + derivatives(1)) ** 2
    both = operator.kernel(2)(np.vstack([X, Z]))
    scale = both[0, 0] ** -0.5
    f = scale * np.linalg.cholesky(both + 1e-9 * both[0, 0] * np.eye(2000)) @ rng.standard_normal(2000)
    return X, f[:1200] + 0.2 * rng.standard_normal(1200), Z, f[1200:], operator, 0.2**2 / scale**2


def test_coarse_to_fine_solves_the_equations():
    X = np.random.default_rng(1).random((60, 2))
    source = Source.of(X, X[:, 0])
    fit = fit_field(source, Settings(alpha=1e-3, depth=2, margin=0.5))
    cascade = Cascade(fit.system, 1e-3, source)
    assert [system.tree.depth for system in cascade.systems] == [0, 1, 2]
    right = fit.system.right[0]
    matrix, used = dense_matrix(fit.system, 1e-3), fit.field.tree.active
    expected = right[used] @ np.linalg.lstsq(matrix, right[used], rcond=1e-13)[0]
    np.testing.assert_allclose(cascade.inverse_forms(right[None], tol=1e-3, max_iter=500), [expected], rtol=1e-5)


def test_noise_of_observations_is_normal_and_does_not_depend_on_chunks():
    X = np.random.default_rng(2).random((5000, 1))
    weights = np.full(5000, 4.0)
    fit = fit_field(Source.of(X, X[:, 0], weights), Settings(alpha=1e-3, depth=0))
    noisy = NoisyObservations(3, 0, 8, fit.system)
    numbers = noisy._random(8 * np.arange(5000, dtype=np.uint64))
    assert stats.kstest(numbers.reshape(-1), "norm").pvalue > 0.01
    np.testing.assert_allclose(np.corrcoef(numbers.T), np.eye(8), atol=0.06)
    parts = [(X[:1000], X[:1000, 0], weights[:1000]), (X[1000:], X[1000:, 0], weights[1000:])]
    whole, cut = (source.accumulate(lambda: NoisyObservations(3, 0, 2, fit.system)) for source in
                  (Source.of(X, X[:, 0], weights), Source.of(parts)))  # fmt: skip
    np.testing.assert_allclose(whole.leaf_right, cut.leaf_right, atol=1e-9)
    # the functions sum up to one
    np.testing.assert_allclose(whole.leaf_right[1].sum(), 2.0 * numbers[:, 0].sum())


def test_deviations_on_the_line_are_those_of_the_smoother():
    rng = np.random.default_rng(3)
    X, Z = rng.random((80, 1)), np.linspace(-0.1, 1.1, 70)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    smoother = Smoother(Polyharmonic(2), alpha=1e-4, prior_variance=1.0).fit(X, y)
    expected = smoother.predict(Z, return_std=True)[1] / smoother.noise_variance_**0.5
    model = FieldSmoother(alpha=1e-4, depth=7, std_samples=200).fit(X, y)
    noise = model.noise_variance_**0.5
    np.testing.assert_allclose(model.predict(Z[:60], return_std=True)[1] / noise, expected[:60], rtol=0.01)
    np.testing.assert_allclose(model.predict(Z, return_std=True)[1] / noise, expected, rtol=0.25)


def test_deviations_in_the_plane_are_those_of_a_gaussian_process(process):
    X, y, Z, _, operator, alpha = process
    expected = np.sqrt(posterior_by_kernel(operator.kernel(2), X, Z, alpha))
    model = FieldSmoother(alpha=alpha, operator=operator, depth=8, margin=0.5, std_samples=64).fit(X, y)
    noise = model.noise_variance_**0.5
    np.testing.assert_allclose(model.predict(Z[:10], return_std=True)[1] / noise, expected[:10], rtol=0.03)
    ratio = model.predict(Z, return_std=True)[1] / noise / expected
    assert abs(ratio.mean() - 1.0) < 0.03 and ratio.std() < 0.12


def test_bands_cover_with_everything_chosen(process):
    X, y, Z, truth, *_ = process
    model = FieldSmoother(operator="matern").fit(X, y)
    np.testing.assert_allclose(model.noise_variance_, 0.04, rtol=0.4)  # with what is finer than the cells
    low, high = model.predict_quantile(Z, [0.025, 0.975], observation=False).T
    assert 0.87 < np.mean((low < truth) & (truth < high)) < 0.98  # what is finer than the cells counts as noise
    low, high = model.predict_quantile(Z, [0.025, 0.975]).T
    observed = truth + 0.2 * np.random.default_rng(4).standard_normal(len(truth))
    assert 0.92 < np.mean((low < observed) & (observed < high)) < 0.98
    mean, std = model.predict(Z, return_std=True)
    noisy = model.predict(Z, return_std="observation")[1]
    np.testing.assert_allclose(noisy**2, std**2 + model.noise_variance_)
    np.testing.assert_allclose(model.predict_quantile(Z, 0.9), mean + stats.norm.ppf(0.9) * noisy)
    with pytest.raises(ValueError, match=r"q must lie between 0 and 1, got 1\.0"):
        model.predict_quantile(Z, 1.0)
    with pytest.raises(ValueError, match='True, False or "observation"'):
        model.predict(Z, return_std="noise")


def test_draws_gradients_and_means_have_the_deviations_of_the_posterior(process):
    X, y, Z, _, operator, alpha = process
    model = FieldSmoother(alpha=alpha, operator=operator, depth=5, std_samples=64).fit(X, y)
    draws = model.sample(Z, 64, random_state=5)
    assert np.array_equal(draws[:, :2], model.sample(Z, 2, random_state=5))
    mean, std = model.predict(Z, return_std=True)
    assert abs(np.mean((draws - mean[:, None]) ** 2) / np.mean(std**2) - 1.0) < 0.1
    middle = np.array([[0.5, 0.5]])
    slope, slope_std = model.predict_gradient(middle, return_std=True)
    near = Functional.values(middle + [[0.001, 0.0]]) - Functional.values(middle - [[0.001, 0.0]])
    difference, difference_std = model.predict_functional(near, return_std=True)
    np.testing.assert_allclose(
        [difference[0], difference_std[0]], 0.002 * np.array([slope[0, 0], slope_std[0, 0]]), rtol=0.03
    )
    block = Functional.cell_average([[0.25, 0.25]], [[0.75, 0.75]])
    assert model.predict_functional(block, return_std=True)[1][0] < 0.5 * std.mean()
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(Z, 0)


def test_deviations_follow_errors_on_held_out_blocks(process):
    rng = np.random.default_rng(7)
    place, number = np.arange(20_000) // 100, 20_000
    true = rng.uniform(0.5, 2.0, number)
    variance = true * rng.chisquare(_DRAWS, number) / _DRAWS
    error = rng.standard_normal(number)
    for share in (0.5, 1.0, 1.6):  # of the posterior deviation
        found = _factor(error * np.sqrt(share**2 * true + 0.1), variance, np.full(number, 0.1), place, 1000)
        assert abs(found / share - 1.0) < 0.06
    noisy = _factor(2.0 * error, 1e-3 * variance, np.full(number, 4.0), place, 1000)
    assert 0.8 < noisy < 1.2  # nothing to judge by
    X, y, _, _, operator, alpha = process
    right = Settings(alpha=alpha, roughness=Roughness.of(operator), depth=7)
    assert 0.8 < deviation_factor(Source.of(X, y), Repetition(right)) < 1.25
    assert deviation_factor(Source.of(X[:100], y[:100]), Repetition(right)) == 1.0


def test_pickled_smoothers_keep_what_draws_need():
    X = np.random.default_rng(6).random((300, 1))
    y = np.sin(6 * X[:, 0])
    model = FieldSmoother(alpha=1e-3, depth=4, std_samples=8).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    streamed = FieldSmoother(alpha=1e-3, depth=4).fit(lambda: iter([(X, y)]))
    again = pickle.loads(pickle.dumps(streamed))
    np.testing.assert_allclose(
        again.predict(X[:5], return_std=True)[1], streamed.predict(X[:5], return_std=True)[1], rtol=1e-3
    )
    with pytest.raises(ValueError, match="without its observations"):
        again.sample(X)
