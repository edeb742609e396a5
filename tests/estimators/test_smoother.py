"""The smoother against other people's code and direct computation."""

import pickle

import numpy as np
import pytest
from helpers import case_id
from scipy.interpolate import RBFInterpolator, make_smoothing_spline
from scipy.linalg import LinAlgWarning, null_space
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from seminorm import Functional, Smoother
from seminorm.kernels import Gaussian, Linear, Matern, Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.nullspace import Features, Polynomials


def scattered(rng, n=60, outputs=None, d=2):
    X = rng.random((n, d))
    y = np.sin(5 * X[:, 0]) + X[:, -1] ** 2 + 0.1 * rng.standard_normal(n)
    return X, y if outputs is None else np.column_stack([y * (k + 1) + X[:, 0] ** k for k in range(outputs)])


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("smoothing", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize(
    ("kernel", "name", "degree", "epsilon", "factor", "d"),
    [
        (ThinPlate(), "thin_plate_spline", 1, 1.0, 1.0, 2),
        (ThinPlate(), "thin_plate_spline", 1, 1.0, 1.0, 3),
        (Polyharmonic(2), "cubic", 1, 1.0, 12.0, 1),
        (Polyharmonic(3), "cubic", 2, 1.0, 96 * np.pi, 3),
        (NegativeDistance(1.0), "linear", 0, 1.0, 1.0, 2),
        (Multiquadric(0.2), "multiquadric", 0, 5.0, 1.0, 2),
        (Gaussian(0.1), "gaussian", -1, 1 / (np.sqrt(2) * 0.1), 1.0, 2),
    ],
)
def test_equals_scipys_rbf_interpolator(kernel, name, degree, epsilon, factor, d, smoothing, outputs, rng):
    X, y = scattered(rng, 40, outputs, d)
    if d == 1:  # spread out: interpolation by cubics is ill-conditioned where points nearly meet, for both
        X = (np.argsort(rng.random(40))[:, None] + 0.5 * X) / 40
    Z = 1.2 * rng.random((30, d)) - 0.1
    weights = rng.random(40) + 0.5
    # SciPy's kernel is `factor` times ours: the same function belongs to alpha = smoothing / factor
    theirs = RBFInterpolator(X, y, smoothing=smoothing / weights, kernel=name, epsilon=epsilon, degree=degree)(Z)
    ours = Smoother(kernel, alpha=smoothing / factor, null_space=degree).fit(X, y, sample_weight=weights).predict(Z)
    np.testing.assert_allclose(ours, theirs, atol=1e-8 * np.abs(theirs).max())


def test_equals_scipys_smoothing_spline_on_the_line(rng):
    x = np.sort(rng.random(50))
    y = np.sin(7 * x) + 0.1 * rng.standard_normal(50)
    theirs = make_smoothing_spline(x, y, lam=1e-4)
    ours = Smoother(Polyharmonic(2), alpha=1e-4).fit(x[:, None], y)
    grid = np.linspace(x[0], x[-1], 40)
    np.testing.assert_allclose(ours.predict(grid[:, None]), theirs(grid), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.02, 1.0])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Matern(2.5)], ids=case_id)
def test_equals_kernel_ridge_and_gaussian_process(kernel, alpha, rng):
    X, y = scattered(rng)
    Z = rng.random((20, 2))
    model = Smoother(kernel, alpha=alpha, prior_variance=1.0).fit(X, y)
    np.testing.assert_allclose(
        model.predict(Z), KernelRidge(kernel=kernel, alpha=alpha).fit(X, y).predict(Z), atol=1e-8
    )
    mean, std = GaussianProcessRegressor(kernel, alpha=alpha).fit(X, y).predict(Z, return_std=True)
    ours = model.predict(Z, return_std=True)
    np.testing.assert_allclose(ours[0], mean, atol=1e-8)
    np.testing.assert_allclose(ours[1], std, atol=1e-8)


def test_universal_kriging_is_the_limit_of_a_wide_prior_on_the_null_space(rng):
    """A Gaussian process with the twin kernel's cousin: phi + c * (constant and linear part), c large, as an ordinary
    process.
    """
    X, y = scattered(rng, 40)
    Z = rng.random((10, 2))

    def wide(A, B):
        P = Polynomials(1).fit(X)
        return Matern(2.5)(A, B) + 1e6 * P(A) @ P(B).T

    K = wide(X, X) + 0.1 * np.eye(40)
    mean = wide(Z, X) @ np.linalg.solve(K, y)
    variance = np.diag(wide(Z, Z) - wide(Z, X) @ np.linalg.solve(K, wide(X, Z)))
    ours = Smoother(Matern(2.5), alpha=0.1, null_space=1, prior_variance=1.0).fit(X, y).predict(Z, return_std=True)
    np.testing.assert_allclose(ours[0], mean, atol=1e-5)
    np.testing.assert_allclose(ours[1], np.sqrt(variance), rtol=1e-4)


def saddle_inverse(kernel, X, alpha, w, degree):
    P = Polynomials(degree).fit(X)(X)
    zero = np.zeros((P.shape[1],) * 2)
    return np.linalg.inv(np.block([[kernel(X) + np.diag(alpha / w), P], [P.T, zero]])), P


@pytest.mark.parametrize("outputs", [None, 2])
def test_leave_one_out_equals_brute_force(outputs, rng):
    X, y = scattered(rng, 25, outputs)
    w = rng.random(25) + 0.5
    for alpha in (0.0, 0.05):
        model = Smoother(alpha=alpha).fit(X, y, sample_weight=w)
        for i in range(25):
            rest = np.arange(25) != i
            other = Smoother(alpha=alpha).fit(X[rest], y[rest], sample_weight=w[rest])
            np.testing.assert_allclose(model.loo_[i], y[i] - other.predict(X[i : i + 1])[0], atol=1e-7)


def test_edf_and_criteria_equal_direct_computation(rng):
    X, y = scattered(rng, 30)
    w = rng.random(30) + 0.5
    root = np.sqrt(w)
    for alpha in (0.003, 0.3):
        inverse, P = saddle_inverse(ThinPlate(), X, alpha, w, 1)
        influence = np.eye(30) - (alpha / w)[:, None] * inverse[:30, :30]
        residual = root * (y - influence @ y)
        model = {
            c: Smoother(alpha=[alpha, 1e-9], criterion=c).fit(X, y, sample_weight=w) for c in ("gcv", "loo", "reml")
        }
        at = {
            c: dict(zip(m.alpha_path_["alpha"], m.alpha_path_["score"], strict=True))[alpha] for c, m in model.items()
        }
        edf = dict(zip(model["gcv"].alpha_path_["alpha"], model["gcv"].alpha_path_["edf"], strict=True))[alpha]
        np.testing.assert_allclose(edf, np.trace(influence))
        np.testing.assert_allclose(at["gcv"], 30 * residual @ residual / np.trace(np.eye(30) - influence) ** 2)
        loo = (y - influence @ y) / (1 - np.diag(influence))
        np.testing.assert_allclose(at["loo"], (w * loo**2).sum() / w.sum())
        # restricted likelihood: the density of contrasts N' D y, N an orthonormal basis of the complement of D P
        N = np.linalg.svd((root[:, None] * P).T)[2][3:].T
        covariance = N.T @ (root[:, None] * ThinPlate()(X) * root + alpha * np.eye(30)) @ N
        z = N.T @ (root * y)
        variance = z @ np.linalg.solve(covariance, z) / 27
        density = multivariate_normal(np.zeros(27), variance * covariance).logpdf(z)
        np.testing.assert_allclose(at["reml"], -density)
        fixed = Smoother(alpha=alpha, criterion="reml").fit(X, y, sample_weight=w)
        np.testing.assert_allclose(fixed.prior_variance_, variance)
        np.testing.assert_allclose(fixed.edf_, np.trace(influence))


@pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])
def test_fixed_alpha_reports_the_same_score_as_the_path(criterion, rng):
    X, y = scattered(rng)
    chosen = Smoother(criterion=criterion).fit(X, y)
    fixed = Smoother(alpha=chosen.alpha_, criterion=criterion).fit(X, y)
    best = np.argmin(chosen.alpha_path_["score"])
    np.testing.assert_allclose(fixed.alpha_path_["score"][0], chosen.alpha_path_["score"][best], rtol=1e-7)
    np.testing.assert_allclose(fixed.edf_, chosen.edf_, rtol=1e-7)
    np.testing.assert_allclose(fixed.predict(X), chosen.predict(X), atol=1e-8)
    assert len(chosen.alpha_path_["alpha"]) >= 30
    assert (np.diff(chosen.alpha_path_["alpha"]) > 0).all()
    assert (np.diff(chosen.alpha_path_["edf"]) < 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_large_problems_take_the_band_path_and_agree_with_a_direct_solve(criterion, rng):
    X, y = scattered(rng, 1600)
    model = Smoother(criterion=criterion).fit(X, y)
    fixed = Smoother(alpha=model.alpha_, criterion=criterion).fit(X, y)
    np.testing.assert_allclose(model.predict(X), fixed.predict(X), atol=1e-8)
    np.testing.assert_allclose(model.edf_, fixed.edf_, rtol=1e-7)
    np.testing.assert_allclose(model.prior_variance_, fixed.prior_variance_, rtol=1e-5)  # near points are merged there
    np.testing.assert_allclose(np.abs(model.loo_).mean(), np.abs(fixed.loo_).mean(), rtol=1e-5)


@pytest.mark.parametrize("n", [60, 1600])
def test_alphas_that_drown_in_rounding_errors_are_passed_over(n, rng):
    """The matrix of a wide Gaussian has negative eigenvalues in floating point, where small alphas mean nothing."""
    x = np.sort(rng.random((n, 1)), axis=0)
    y = x[:, 0] ** 2 + 0.01 * rng.standard_normal(n)
    for criterion in ("gcv", "reml") if n > 1000 else ("gcv", "loo", "reml"):
        model = Smoother(Gaussian(30.0), criterion=criterion).fit(x, y)
        assert np.isfinite(model.alpha_path_["score"]).sum() >= 30
        assert np.mean((model.predict(x) - x[:, 0] ** 2) ** 2) < 0.005**2


def test_automatic_alpha_is_near_the_best(rng):
    X = rng.random((300, 2))
    truth = np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1])
    y = truth + 0.2 * rng.standard_normal(300)
    errors = [np.mean((Smoother(alpha=a).fit(X, y).predict(X) - truth) ** 2) for a in np.logspace(-5, 3, 17)]
    for criterion in ("gcv", "loo", "reml"):
        assert np.mean((Smoother(criterion=criterion).fit(X, y).predict(X) - truth) ** 2) < 1.4 * min(errors)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 1e6, "auto"])
@pytest.mark.parametrize("kernel", [ThinPlate(), Polyharmonic(3), Multiquadric(0.3), NegativeDistance()], ids=case_id)
def test_polynomials_of_the_null_space_are_reproduced(kernel, alpha, rng):
    X = rng.random((40, 2)) + [1e3, 0]
    degree = kernel.null_degree
    Z = rng.random((20, 2)) + [1e3, -1]
    coefficients = rng.standard_normal((degree + 1, degree + 1))

    def polynomial(W):
        u, v = W[:, 0] - 1e3, W[:, 1]
        return sum(coefficients[i, j] * u**i * v**j for i in range(degree + 1) for j in range(degree + 1 - i))

    model = Smoother(kernel, alpha=alpha).fit(X, polynomial(X))
    np.testing.assert_allclose(model.predict(Z), polynomial(Z), atol=1e-7)
    assert model.function_.seminorm() < 1e-5


def test_gradients_of_a_linear_function_are_reproduced(rng):
    X, G = rng.random((4, 2)), rng.random((6, 2))
    slope = np.array([2.0, -3.0])
    model = Smoother(Polyharmonic(3), alpha=1e-6).fit(X, X @ slope + 1, gradients=(G, np.tile(slope, (6, 1))))
    Z = rng.random((10, 2))
    np.testing.assert_allclose(model.predict(Z), Z @ slope + 1, atol=1e-8)
    np.testing.assert_allclose(model.predict_gradient(Z), np.tile(slope, (10, 1)), atol=1e-8)


@pytest.mark.parametrize("kernel", [Polyharmonic(3), Multiquadric(0.5), Gaussian(0.3), Matern(2.5)], ids=case_id)
def test_gradient_data_are_interpolated_and_solve_the_normal_equations(kernel, rng):
    X = rng.random((12, 2))
    y, g = np.sin(3 * X[:, 0]) * X[:, 1], np.column_stack([3 * np.cos(3 * X[:, 0]) * X[:, 1], np.sin(3 * X[:, 0])])
    g[3, 1] = g[5] = np.nan  # components that were not observed
    seen = ~np.isnan(g)
    model = Smoother(kernel, alpha=0).fit(X, y, gradients=g)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    np.testing.assert_allclose(model.predict_gradient(X)[seen], g[seen], atol=1e-5)
    # optimality for alpha > 0: the objective does not fall in any direction of the dual coefficients
    weights = np.full(12, 2.0)
    model = Smoother(kernel, alpha=0.1).fit(X, y, gradients=(X, g, weights))
    residual = np.concatenate([y - model.predict(X), 2.0 * (g - model.predict_gradient(X))[seen]])
    np.testing.assert_allclose(residual, 0.1 * model.dual_coef_, atol=1e-8)


def test_gradients_with_several_outputs(rng):
    X = rng.random((15, 2))
    Y = np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 1]])
    G = np.stack([np.column_stack([2 * X[:, 0], 0 * X[:, 0]]), X[:, ::-1]], axis=1)
    both = Smoother(Polyharmonic(3), alpha=0.01).fit(X, Y, gradients=G)
    assert both.predict_gradient(X).shape == (15, 2, 2)
    for k in range(2):
        one = Smoother(Polyharmonic(3), alpha=0.01).fit(X, Y[:, k], gradients=G[:, k])
        np.testing.assert_allclose(both.predict(X)[:, k], one.predict(X), atol=1e-9)
        np.testing.assert_allclose(both.predict_gradient(X)[:, k], one.predict_gradient(X), atol=1e-8)


def test_fit_minimises_the_objective(rng):
    X, y = scattered(rng, 30)
    model = Smoother(alpha=0.1).fit(X, y)

    def objective(values):  # the smallest semi-norm with these values, by interpolation
        f = Smoother(alpha=0).fit(X, values).function_
        return 0.1 * f.seminorm() ** 2 + ((values - y) ** 2).sum()

    best = objective(model.predict(X))
    assert best == pytest.approx(0.1 * model.function_.seminorm() ** 2 + ((model.predict(X) - y) ** 2).sum(), rel=1e-6)
    for _ in range(10):
        assert objective(model.predict(X) + 0.01 * rng.standard_normal(30)) > best


def test_repeated_samples_equal_weights(rng):
    X, y = scattered(rng, 30)
    twice = rng.integers(0, 4, 30)
    repeated = np.repeat(np.arange(30), twice)
    by_weight = Smoother().fit(X, y, sample_weight=twice)
    by_repetition = Smoother().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.predict(X), by_repetition.predict(X), atol=1e-9)
    noisy = Smoother(alpha=0.1).fit(np.vstack([X, X]), np.r_[y, y + 1])  # different values at one point: their mean
    merged = Smoother(alpha=0.1).fit(X, y + 0.5, sample_weight=np.full(30, 2.0))
    np.testing.assert_allclose(noisy.predict(X), merged.predict(X), atol=1e-9)
    assert noisy.loo_.shape == (60,)
    np.testing.assert_allclose(noisy.loo_[30:] - noisy.loo_[:30], 1.0)


def test_scatter_of_repeated_samples_tells_the_noise(rng):
    """Eight points, forty values at each: merging must not forget what their scatter says about the noise."""
    x = np.repeat(np.linspace(0, 1, 8), 40)[:, None]
    y = np.sin(5 * x[:, 0]) + rng.standard_normal(320)
    jittered = x + 1e-9 * rng.standard_normal(x.shape)
    for criterion in ("gcv", "reml"):
        merged = Smoother(Polyharmonic(2), criterion=criterion).fit(x, y)
        apart = Smoother(Polyharmonic(2), criterion=criterion).fit(jittered, y)
        assert 0.8 < merged.noise_variance_ < 1.2 or criterion == "gcv"
        np.testing.assert_allclose(merged.edf_, apart.edf_, rtol=0.02)
        np.testing.assert_allclose(merged.noise_variance_, apart.noise_variance_, rtol=0.02)
        np.testing.assert_allclose(merged.predict(x), apart.predict(x), atol=0.02)


def test_gradients_at_the_points_carry_their_weights(rng):
    X = rng.random((15, 2))
    y, G = X[:, 0] ** 2, np.column_stack([2 * X[:, 0], 0 * X[:, 0]])
    w = rng.random(15) + 0.5
    w[3] = 0.0
    G[3] = 1e6  # belongs to a sample of weight zero
    kept = w > 0
    one = Smoother(Polyharmonic(3), alpha=0.1).fit(X, y, sample_weight=w, gradients=G)
    other = Smoother(Polyharmonic(3), alpha=0.1).fit(X[kept], y[kept], sample_weight=w[kept], gradients=G[kept])
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-9)
    five = Smoother(Polyharmonic(3), alpha=0.5).fit(X, y, sample_weight=5 * w, gradients=G)
    np.testing.assert_allclose(one.predict(X), five.predict(X), atol=1e-9)


def test_unobserved_gradients_cost_nothing(rng):
    X = rng.random((40, 2))
    G = np.full((40, 2), np.nan)
    G[:2] = 0.0
    model = Smoother(Polyharmonic(3), alpha=0.1).fit(X, X[:, 0], gradients=G)
    assert len(model.function_.functionals[1].points) == 2


def test_other_functionals_are_observations_too(rng):
    X = rng.random((20, 2))
    y = np.sin(3 * X[:, 0])
    cell = np.array([[0.2, 0.2], [0.4, 0.2], [0.2, 0.4], [0.4, 0.4]])
    average = Functional(cell, 0, np.full((1, 4), 0.25))
    model = Smoother(alpha=0).fit(X, y, functionals=[(average, [2.0])])
    assert model.predict(cell).mean() == pytest.approx(2.0)
    as_gradients = Smoother(Polyharmonic(3), alpha=0.1).fit(X, y, gradients=(X[:5], np.zeros((5, 2))))
    as_functional = Smoother(Polyharmonic(3), alpha=0.1).fit(X, y, functionals=[(Functional(X[:5], 1), np.zeros(10))])
    np.testing.assert_allclose(as_gradients.predict(X), as_functional.predict(X), atol=1e-10)


def test_several_outputs_choose_alpha_whatever_their_units(rng):
    X, Y = scattered(rng, 60, 2)
    for criterion in ("gcv", "loo", "reml"):
        alphas = [Smoother(criterion=criterion).fit(X, Y * [1.0, unit]).alpha_ for unit in (1e-3, 1.0, 1e3)]
        np.testing.assert_allclose(alphas, alphas[0], rtol=1e-6)


def test_singular_fits_report_what_they_did(rng):
    X = rng.random((30, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    for criterion in ("gcv", "loo"):
        with pytest.warns(LinAlgWarning):
            zero = Smoother(Linear(), alpha=0, criterion=criterion).fit(X, y)
        tiny = Smoother(Linear(), alpha=1e-8, criterion=criterion).fit(X, y)
        np.testing.assert_allclose(zero.edf_, 2.0, rtol=1e-6)
        np.testing.assert_allclose(zero.loo_, tiny.loo_, atol=1e-6)
        np.testing.assert_allclose(zero.alpha_path_["score"], tiny.alpha_path_["score"], rtol=1e-5)


def test_leave_one_out_does_not_choose_an_alpha_below_rounding():
    rng = np.random.default_rng(4)
    X = rng.random((80, 2))
    model = Smoother(Multiquadric(2.0), criterion="loo").fit(X, np.sin(3 * X[:, 0]) * X[:, 1])
    assert np.isfinite(model.edf_)
    assert np.isfinite(model.predict(X, return_std=True)[1]).all()


def test_prior_draws_annihilate_the_fitted_null_space(rng):
    """Splines whose knots depend on the training data: the draws belong to the fitted space, wherever they are
    evaluated.
    """
    t = np.sort(rng.random(60))[:, None]
    y = np.sin(6 * t[:, 0])
    model = Smoother(Polyharmonic(2), alpha=0.01, null_space=SplineTransformer(4, degree=2), prior_variance=1.0).fit(
        t, y
    )
    Z = np.linspace(0.1, 0.4, 12)[:, None]
    P = model.null_space_(Z)
    a = null_space(P.T)
    draws = model.sample(Z, 20000, prior=True, random_state=0)
    np.testing.assert_allclose((a.T @ draws).var(axis=1), np.diag(a.T @ model.kernel_(Z) @ a), rtol=0.06)
    assert model.sample(Z[:1], 2, prior=True).shape == (1, 2)


def test_user_features_are_left_free(rng):
    X = rng.random((80, 1))
    wave = np.column_stack([np.sin(20 * X[:, 0]), np.cos(20 * X[:, 0])])

    def features(Z):
        return np.column_stack([np.sin(20 * Z[:, 0]), np.cos(20 * Z[:, 0])])

    y = wave @ [2.0, -1.0] + 3 * X[:, 0] - 1
    model = Smoother(Polyharmonic(2), alpha=10.0, null_space=Polynomials(1) | Features(features)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, 0, atol=1e-8)


def test_samples_have_the_posterior_mean_and_variance(rng):
    X, y = scattered(rng, 40)
    Z = rng.random((6, 2))
    model = Smoother(alpha=0.05).fit(X, y)
    mean, std = model.predict(Z, return_std=True)
    draws = model.sample(Z, 20000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / np.sqrt(20000))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.05)
    assert np.array_equal(model.sample(Z, 3, random_state=1), model.sample(Z, 3, random_state=1))


def test_prior_samples_have_the_seminorm_of_the_process(rng):
    """Contrasts of a prior draw have variance a' Phi a times the prior variance."""
    X, y = scattered(rng, 40)
    Z = rng.random((8, 2))
    model = Smoother(alpha=0.05, prior_variance=2.0).fit(X, y)
    a = np.linalg.svd(Polynomials(1).fit(Z)(Z).T)[2][3:]
    draws = model.sample(Z, 20000, prior=True, random_state=0)
    expected = 2.0 * np.diag(a @ ThinPlate()(Z) @ a.T)
    np.testing.assert_allclose((a @ draws).var(axis=1), expected, rtol=0.06)


def test_interpolation_has_no_uncertainty_at_the_data(rng):
    X, y = scattered(rng, 30)
    mean, std = Smoother(alpha=0).fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=1e-8)
    np.testing.assert_allclose(std, 0, atol=1e-6)


def test_works_in_scikit_learns_tools(rng):
    X, y = scattered(rng, 80)
    search = GridSearchCV(
        Smoother(ThinPlate()), {"kernel": [ThinPlate(), Gaussian(0.3)], "criterion": ["gcv", "reml"]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.8
    nested = GridSearchCV(Smoother(Gaussian()), {"kernel__scale": [0.1, 0.3]}, cv=3).fit(X, y)
    assert nested.best_params_["kernel__scale"] in (0.1, 0.3)
    assert make_pipeline(StandardScaler(), Smoother()).fit(X, y).score(X, y) > 0.9


def test_pickle_keeps_predictions_and_drops_the_factor(rng):
    X, y = scattered(rng, 200)
    model = Smoother().fit(X, y)
    expected = model.predict(X, return_std=True)
    text = pickle.dumps(model)
    assert len(text) < 8 * 200 * 200
    np.testing.assert_allclose(pickle.loads(text).predict(X, return_std=True), expected)


def test_refitting_forgets_the_first_fit(rng):
    X, y = scattered(rng, 30)
    model = Smoother(alpha=0.1).fit(X, y)
    first = model.loo_, model.predict(X, return_std=True)[1]
    model.fit(X[:20] * 2, y[:20])
    again = Smoother(alpha=0.1).fit(X[:20] * 2, y[:20])
    np.testing.assert_allclose(model.loo_, again.loo_)
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], again.predict(X, return_std=True)[1])
    assert len(first[0]) == 30


def test_lists_and_one_column(rng):
    model = Smoother().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 4, 9])
    assert model.predict([[1.5]]).shape == (1,)
    assert Smoother().fit([[0.0], [1.0], [2.0]], [[1.0], [2.0], [4.0]]).predict([[1.5]]).shape == (1, 1)


def test_as_many_points_as_free_functions(rng):
    X = rng.random((3, 2))
    model = Smoother().fit(X, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict(X), [1.0, 2.0, 3.0])
    assert model.edf_ == 3.0
    assert np.isnan(model.loo_).all()
    with pytest.raises(ValueError, match="prior_variance"):
        model.predict(X, return_std=True)


def test_standard_deviations_of_gradients_are_those_of_draws(rng):
    X, y = scattered(rng, 40)
    Z, h = rng.random((3, 2)), 1e-3
    model = Smoother(Polyharmonic(3), alpha=1e-4).fit(X, np.column_stack([y, 2 * y + X[:, 0]]))
    slopes, std = model.predict_gradient(Z, return_std=True)
    assert slopes.shape == std.shape == (3, 2, 2)
    draws = model.sample(np.vstack([Z + [0, h], Z - [0, h]]), 4000, random_state=0)
    np.testing.assert_allclose(std[:, :, 1], ((draws[:3] - draws[3:]) / (2 * h)).std(axis=2), rtol=0.1)
    single = Smoother(Polyharmonic(3), alpha=1e-4).fit(X, y).predict_gradient(Z, return_std=True)[1]
    np.testing.assert_allclose(single, std[:, 0])
    with pytest.raises(ValueError, match="differentiable"):
        Smoother(ThinPlate(), alpha=1.0).fit(X, y).predict_gradient(Z, return_std=True)


@pytest.mark.parametrize("options", [{"criterion": "gcv"}, {"criterion": "reml"}, {"alpha": 1e-3}])
def test_an_open_scale_is_chosen_for_every_criterion(options, rng):
    X, y = scattered(rng, 80)
    model = Smoother(Gaussian("auto"), **options).fit(X, y)
    chosen = model.kernel_.scale
    for factor in (0.5, 2.0):
        other = Smoother(Gaussian(factor * chosen), **options).fit(X, y)
        assert np.mean(model.loo_**2) <= 1.01 * np.mean(other.loo_**2)
