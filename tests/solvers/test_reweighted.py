"""Penalised likelihoods: the minimum, the marginal likelihood and leave-one-out, against dense and repeated fits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from seminorm.deviances import Binomial, Gamma, Poisson
from seminorm.kernels import Gaussian, NegativeDistance, ThinPlate
from seminorm.nullspace import Polynomials
from seminorm.solvers.ridge import reweighted
from seminorm.solvers.ridge.reweighted import LikelihoodData, SeparableError

KERNELS = [(ThinPlate(), 1), (NegativeDistance(), 0), (Gaussian(0.4), -1)]


def observations(kind, n, rng):
    X = rng.random((n, 2))
    eta = 2 * np.sin(5 * X[:, 0]) + X[:, 1]
    if kind is Binomial:
        return X, (rng.random(n) < Binomial.mean(eta)).astype(float)
    return X, rng.poisson(np.exp(eta)).astype(float) if kind is Poisson else rng.gamma(3.0, np.exp(eta) / 3.0)


def as_data(kind, X, y, weights, kernel=None, degree=1):
    kernel, loss = kernel or ThinPlate(), kind(y)
    return LikelihoodData(kernel(X), Polynomials(degree).fit(X)(X), loss, weights, loss, weights, 0.0)


def features_of(data):
    """f = F b with penalty |b|^2 on all but the last r."""
    K, P = data.K, data.P
    Q = np.linalg.qr(P)[0]
    projected = K - Q @ (Q.T @ K)
    projected -= (projected @ Q) @ Q.T
    sizes, vectors = np.linalg.eigh(projected)
    kept = sizes > 1e-12 * sizes[-1]
    return np.hstack([vectors[:, kept] * np.sqrt(sizes[kept]), P]), kept.sum()


@pytest.mark.parametrize(("kernel", "degree"), KERNELS)
@pytest.mark.parametrize("kind", [Binomial, Poisson, Gamma])
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 1e3])
def test_slopes_vanish_at_the_minimum(kind, alpha, kernel, degree, rng):
    """alpha a + w d'(f) / 2 = 0 and P'a = 0, to 1e-8 of the largest slope of the constant."""
    X, y = observations(kind, 80, rng)
    weights = rng.random(80) + 0.5
    data = as_data(kind, X, y, weights, kernel, degree)
    found = reweighted.fit(data, alpha)
    f = data.K @ found.dual + data.P @ found.null
    unit = np.abs(weights * data.loss.gradient(np.zeros(80))).max()
    np.testing.assert_allclose(alpha * found.dual, -0.5 * weights * data.loss.gradient(f), atol=1e-8 * unit)
    np.testing.assert_allclose(data.P.T @ found.dual, 0.0, atol=1e-8 * np.abs(found.dual).sum())


@pytest.mark.parametrize("kind", [Binomial, Poisson, Gamma])
def test_minimum_equals_that_of_scipy(kind, rng):
    X, y = observations(kind, 50, rng)
    data = as_data(kind, X, y, np.ones(50))
    features, penalized = features_of(data)
    price = np.r_[np.ones(penalized), np.zeros(features.shape[1] - penalized)]

    def objective(b):
        f = features @ b
        slope = features.T @ data.loss.gradient(f) + 0.2 * price * b
        return data.loss.value(f).sum() + 0.1 * (price * b) @ b, slope

    theirs = minimize(objective, np.zeros(len(price)), jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 5000})
    np.testing.assert_allclose(reweighted.fit(data, 0.1).values, features @ theirs.x, atol=1e-4)


@pytest.mark.parametrize("kind", [Binomial, Poisson, Gamma])
@pytest.mark.parametrize("alpha", [0.02, 2.0])
def test_marginal_likelihood_is_laplaces(kind, alpha, rng):
    """In coordinates b: -log p(y) = -log p(y | b) - log p(b) + 1/2 log |H| - dim / 2 log(2 pi) at the maximum."""
    X, y = observations(kind, 40, rng)
    data = as_data(kind, X, y, rng.random(40) + 0.5)
    found = reweighted.fit(data, alpha)
    ours, phi = reweighted.marginal_likelihood(data, found, reweighted.working(data, found.values, alpha).factor)
    features, penalized = features_of(data)

    def direct(phi):
        variance = phi / alpha
        price = np.r_[np.full(penalized, 1.0 / variance), np.zeros(features.shape[1] - penalized)]
        curvature = data.weights * data.loss.curvature(found.values) / phi
        hessian = features.T @ (curvature[:, None] * features) + np.diag(price)
        likelihood = data.loss.saturated(data.weights, phi) - found.deviance / (2 * phi)
        prior = -0.5 * found.energy / variance - 0.5 * penalized * np.log(2 * np.pi * variance)
        volume = 0.5 * features.shape[1] * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hessian)[1]
        return -(likelihood + prior + volume)

    assert ours == pytest.approx(direct(phi), rel=1e-8)
    if kind is Gamma:  # the dispersion is the most likely one
        assert direct(phi) < min(direct(1.01 * phi), direct(phi / 1.01))


@pytest.mark.parametrize("kind", [Binomial, Poisson, Gamma])
def test_leave_one_out_is_nearly_that_of_fitting_again(kind, rng):
    X, y = observations(kind, 60, rng)
    ones, alpha = np.ones(60), 0.3
    data = as_data(kind, X, y, ones)
    work = reweighted.working(data, reweighted.fit(data, alpha).values, alpha)
    estimate = reweighted.left_out_values(data, work.factor, work.targets)
    again = np.empty(60)
    space = Polynomials(1).fit(X)
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        found = reweighted.fit(
            LikelihoodData(
                ThinPlate()(X[rest]), space(X[rest]), kind(y[rest]), ones[rest], kind(y[rest]), ones[rest], 0.0
            ),
            alpha,
        )
        again[i] = (ThinPlate()(X[[i]], X[rest]) @ found.dual + space(X[[i]]) @ found.null)[0]
    assert np.median(np.abs(estimate - again)) < 0.01 * np.ptp(again)
    exact = kind(y).value(again).mean()
    assert reweighted.left_out_deviance(data, work) == pytest.approx(exact, rel=0.05)


def test_separable_data_are_refused(rng):
    X = rng.random((50, 2))
    split = (X[:, 0] > 0.5).astype(float)
    with pytest.raises(SeparableError, match="null_space='soft'"):
        reweighted.solve_likelihood(as_data(Binomial, X, split, np.ones(50)), None, "auto")
    with pytest.raises(SeparableError, match="y is 0 everywhere"):
        reweighted.solve_likelihood(as_data(Poisson, X, 0.0 * split, np.ones(50)), None, "auto")
    groups, counts = np.column_stack([X[:, 0], split]), np.where(split, 0.0, rng.poisson(3.0, 50))
    with pytest.raises(SeparableError):
        reweighted.refuse_separable(as_data(Poisson, groups, counts, np.ones(50)))
    reweighted.refuse_separable(as_data(Poisson, X, counts, np.ones(50)))
    mixed = split.copy()
    mixed[np.argmax(X[:, 0])] = 0.0
    mixed[np.argmin(X[:, 0])] = 1.0
    reweighted.refuse_separable(as_data(Binomial, X, mixed, np.ones(50)))
    reweighted.refuse_separable(as_data(Binomial, X, split, np.ones(50), NegativeDistance(), 0))


@pytest.mark.parametrize("criterion", ["auto", "loo", "reml"])
@pytest.mark.parametrize("kind", [Binomial, Poisson, Gamma])
def test_chosen_alpha_is_near_the_best_on_held_out_data(kind, criterion, rng):
    X, y = observations(kind, 200, rng)
    Z, z = observations(kind, 4000, rng)
    data, space = as_data(kind, X, y, np.ones(200)), Polynomials(1).fit(X)
    cross, null = ThinPlate()(Z, X), space(Z)

    def held_out(found):
        return kind(z).value(cross @ found.dual + null @ found.null).mean()

    solution, found, _ = reweighted.solve_likelihood(data, None, criterion)
    assert len(solution.path["alpha"]) > 8
    best = min(held_out(reweighted.fit(data, alpha)) for alpha in np.geomspace(1e-4, 1e3, 15))
    assert held_out(found) < 1.03 * best


def test_auto_is_likely_and_leaves_out_well(rng):
    X, y = observations(Poisson, 150, rng)
    data = as_data(Poisson, X, y, np.ones(150))
    found = {name: reweighted.solve_likelihood(data, None, name)[0] for name in ("auto", "loo", "reml")}
    likely = {}
    for name, solution in found.items():
        fitted = reweighted.fit(data, solution.alpha)
        work = reweighted.working(data, fitted.values, solution.alpha)
        likely[name] = reweighted.marginal_likelihood(data, fitted, work.factor)[0]
    assert found["auto"].left_out <= 1.03 * found["loo"].left_out
    assert likely["reml"] - 1e-9 <= likely["auto"] <= likely["loo"]


def test_likelihoods_that_lead_astray_are_said():
    """Few labels and many copies of them: Laplace's approximation goes to the ends of the range."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = (rng.random(40) < 0.5).astype(float)
    data = as_data(Binomial, X, y, np.full(40, 3.0))
    with pytest.warns(UserWarning, match="worse than a constant"):
        reweighted.solve_likelihood(data, None, "reml")
