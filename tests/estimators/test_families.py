"""Smoothers of counts, shares and positive numbers: against generalised linear models, known truth and mistakes."""

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from seminorm import Smoother
from seminorm.deviances import Binomial, Gamma, Poisson
from seminorm.kernels import Elastic, Gaussian, NegativeDistance, ThinPlate

FAMILIES = {"binomial": Binomial, "poisson": Poisson, "gamma": Gamma}


def truth(X):
    return 2 * np.sin(5 * X[:, 0]) + X[:, 1]


def observations(family, n, rng):
    X = rng.random((n, 2))
    mean = FAMILIES[family].mean(truth(X))
    if family == "binomial":
        return X, (rng.random(n) < mean).astype(float)
    return X, rng.poisson(mean).astype(float) if family == "poisson" else rng.gamma(4.0, mean / 4.0)


def linear_model(family, X, y, weights):
    """scikit-learn's model without a penalty, and its means."""
    if family == "binomial":
        model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=5000).fit(X, y, sample_weight=weights)
        return model.predict_proba(X)[:, 1]
    kind = PoissonRegressor if family == "poisson" else GammaRegressor
    return kind(alpha=0.0, tol=1e-12, max_iter=5000, solver="newton-cholesky").fit(X, y, weights).predict(X)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_kernel_it_is_the_generalized_linear_model(family, rng):
    X, y = observations(family, 150, rng)
    weights = rng.integers(1, 4, 150).astype(float)
    model = Smoother(ThinPlate(), alpha=1e12, family=family).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), linear_model(family, X, y, weights), rtol=2e-5)
    assert model.edf_ == pytest.approx(3.0, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("criterion", ["auto", "loo", "reml"])
def test_known_truth(family, criterion, rng):
    """Deviance near that of the truth on new data; bands that cover the mean, intervals that cover observations."""
    X, y = observations(family, 400, rng)
    Z, z = observations(family, 4000, rng)
    model = Smoother(family=family, criterion=criterion).fit(X, y)
    kind = FAMILIES[family]
    assert kind(z).value(model.predict_link(Z)).mean() < 1.1 * kind(z).value(truth(Z)).mean()
    mean, std = model.predict(Z, return_std=True)
    np.testing.assert_allclose(mean, kind.mean(model.function_(Z)))
    low, high = model.predict_quantile(Z, [0.05, 0.95], observation=False).T
    assert (low < mean).all() and (mean < high).all()
    assert np.mean((low < kind.mean(truth(Z))) & (kind.mean(truth(Z)) < high)) > 0.8
    error = np.sqrt(np.mean((mean - kind.mean(truth(Z))) ** 2))
    assert 0.5 * error < np.sqrt(np.mean(std**2)) < 3.0 * error
    low, high = model.predict_quantile(Z, [0.05, 0.95]).T
    assert 0.86 < np.mean((low <= z) & (z <= high)) <= 1.0
    assert model.score(Z, z) == pytest.approx(
        1 - kind(z).value(model.predict_link(Z)).mean() / kind(z).value(np.full(4000, kind.link(z.mean()))).mean()
    )
    if family == "gamma":
        assert model.noise_variance_ == pytest.approx(0.25, rel=0.2)
        assert np.mean((low <= z) & (z <= high)) < 0.94


@pytest.mark.parametrize("family", FAMILIES)
def test_deviations_are_those_of_draws(family, rng):
    X, y = observations(family, 200, rng)
    model, Z = Smoother(family=family).fit(X, y), rng.random((20, 2))
    draws = model.sample(Z, 4000, random_state=0)
    np.testing.assert_allclose(model.predict_quantile(Z, 0.5, observation=False), np.median(draws, axis=1), rtol=0.05)
    f, std = model.predict_link(Z, return_std=True)
    np.testing.assert_allclose(FAMILIES[family].link(draws).std(axis=1), std, rtol=0.1)
    np.testing.assert_allclose(model.predict(Z, return_std=True)[1], FAMILIES[family].slope(f) * std)
    mean, noisy = model.predict(Z, return_std="observation")
    variance = noisy**2 - model.predict(Z, return_std=True)[1] ** 2
    np.testing.assert_allclose(variance, model.noise_variance_ * FAMILIES[family].variance(mean))
    h = 1e-6 * np.array([1.0, 0.0])
    slope = (model.predict(Z + h) - model.predict(Z - h)) / 2e-6
    np.testing.assert_allclose(model.predict_gradient(Z)[:, 0], slope, rtol=1e-4, atol=1e-5)


def test_quantiles_of_counts_are_those_of_the_mixture(rng):
    X, y = observations("poisson", 150, rng)
    model, Z = Smoother(family="poisson").fit(X, y), rng.random((4, 2))
    f, std = model.predict_link(Z, return_std=True)
    counts = rng.poisson(np.exp(f + std * rng.standard_normal((200_000, 4))))
    for level, column in zip((0.1, 0.5, 0.97), model.predict_quantile(Z, [0.1, 0.5, 0.97]).T, strict=True):
        assert (column == np.round(column)).all()
        assert ((counts <= column).mean(axis=0) > level - 0.005).all()
        assert ((counts <= column - 1).mean(axis=0) < level + 0.005).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("criterion", ["auto", "loo", "reml"])
def test_weights_are_repetitions(family, criterion, rng):
    X, y = observations(family, 80, rng)
    counts = rng.integers(0, 4, 80)
    weighted = Smoother(ThinPlate(), null_space=1, family=family, criterion=criterion).fit(X, y, sample_weight=counts)
    repeated = Smoother(ThinPlate(), null_space=1, family=family, criterion=criterion).fit(
        X.repeat(counts, axis=0), y.repeat(counts)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-6)


def test_different_values_at_the_same_point(rng):
    """Merged with the weights of all of them, and the dispersion still sees how they scatter."""
    places = rng.random((40, 2))
    X = places.repeat(5, axis=0)
    y = rng.gamma(4.0, np.exp(truth(X)) / 4.0)
    model = Smoother(ThinPlate(), family="gamma", criterion="reml").fit(X, y)
    apart = Smoother(ThinPlate(), family="gamma", alpha=model.alpha_).fit(X + 2e-6 * rng.standard_normal(X.shape), y)
    np.testing.assert_allclose(model.predict(places), apart.predict(places), rtol=1e-3)
    assert model.noise_variance_ == pytest.approx(apart.noise_variance_, rel=1e-3)
    trials = Smoother(family="binomial").fit(X, rng.random(200) < expit(truth(X)))
    assert len(trials.dual_coef_) == 40


def test_leave_one_out_residuals_are_those_of_fits_without_the_point(rng):
    X, y = observations("poisson", 50, rng)
    model = Smoother(ThinPlate(), alpha=0.5, family="poisson").fit(X, y)
    for i in range(0, 50, 7):
        rest = np.delete(np.arange(50), i)
        again = Smoother(ThinPlate(), alpha=0.5, family="poisson").fit(X[rest], y[rest]).predict(X[[i]])[0]
        assert y[i] - model.loo_[i] == pytest.approx(again, rel=0.2)
    deviance = Poisson(y).value(np.log(y - model.loo_)).mean()
    assert model.alpha_path_["score"][0] == pytest.approx(deviance, rel=1e-6)


def test_exposure_makes_rates(rng):
    X = rng.random((300, 1))
    hours = rng.uniform(0.5, 20.0, 300)
    y = rng.poisson(hours * np.exp(np.sin(6 * X[:, 0])))
    model = Smoother(family="poisson").fit(X, y, exposure=hours)
    Z = np.linspace(0, 1, 50)[:, None]
    assert np.abs(model.predict_link(Z) - np.sin(6 * Z[:, 0])).mean() < 0.06
    halves = Smoother(model.kernel_, alpha=model.alpha_, family="poisson").fit(X, y / hours, sample_weight=hours)
    np.testing.assert_allclose(halves.predict(Z), model.predict(Z), rtol=1e-9)
    linear = PoissonRegressor(alpha=0.0, tol=1e-12, solver="newton-cholesky").fit(X, y / hours, hours)
    straight = Smoother(ThinPlate(), alpha=1e12, family="poisson").fit(X, y, exposure=hours)
    np.testing.assert_allclose(straight.predict(Z), linear.predict(Z), rtol=1e-5)


def test_classes_that_a_line_separates(rng):
    X = rng.random((60, 2))
    y = (X[:, 0] > 0.5).astype(float)
    with pytest.warns(UserWarning, match="separates the extreme values"):
        model = Smoother(family="binomial").fit(X, y)
    assert model.null_space_used_ == "soft" or not isinstance(model.kernel_, ThinPlate)
    assert np.isfinite(model.predict_link(X)).all() and (np.abs(model.predict_link(X)) < 50).all()
    assert ((model.predict(X) > 0.5) == y).mean() > 0.95
    with pytest.raises(ValueError, match="null_space='soft'"):
        Smoother(ThinPlate(), alpha=1.0, family="binomial").fit(X, y)
    with pytest.raises(ValueError, match="y is 1 everywhere"):
        Smoother(family="binomial").fit(X, np.ones(60))
    assert Smoother(Gaussian(0.3), family="binomial").fit(X, np.ones(60)).predict(X[:1])[0] > 0.5  # nothing is free


@pytest.mark.parametrize(
    ("family", "y", "message"),
    [
        ("poisson", [1.0, -2.0, 3.0], "y must not be negative for family='poisson', and 1 of 3 are not, such as -2"),
        ("binomial", [0.0, 1.0, 2.0], r"y must be 0 or 1, or shares .* such as 2"),
        ("binomial", [-1.0, 1.0, 1.0], r"such as -1"),
        ("gamma", [1.0, 0.0, 3.0], "y must be positive for family='gamma', and 1 of 3 are not, such as 0"),
        ("tweedie", [1.0, 2.0, 3.0], "family must be one of 'gaussian', 'binomial', 'poisson', 'gamma', got 'tweedie'"),
    ],
)
def test_wrong_targets(family, y, message):
    with pytest.raises(ValueError, match=message):
        Smoother(family=family).fit([[0.0], [1.0], [2.0]], y)


def test_wrong_settings(rng):
    X, y = observations("poisson", 30, rng)
    for message, options in {
        "criterion must be one of 'auto', 'loo', 'reml' for family='poisson'": {"criterion": "gcv"},
        "solver must be 'auto' or 'dense'": {"solver": "fast"},
        "alpha must be positive": {"alpha": 0},
        "prior_variance is the dispersion over alpha": {"prior_variance": 2.0},
        "has one output": {"kernel": Elastic()},
    }.items():
        with pytest.raises(ValueError, match=message):
            Smoother(family="poisson", **options).fit(X, y)
    with pytest.raises(ValueError, match="takes values alone"):
        Smoother(family="poisson").fit(X, y, gradients=np.zeros((30, 2)))
    for message, exposure in {"30 positive numbers": np.zeros(30), "got shape": np.ones(3)}.items():
        with pytest.raises(ValueError, match=message):
            Smoother(family="poisson").fit(X, y, exposure=exposure)
    with pytest.raises(ValueError, match="exposure goes with family='poisson'"):
        Smoother().fit(X, y, exposure=np.ones(30))
    with pytest.raises(ValueError, match="divide y"):
        Smoother(family="gamma").fit(X, y + 1, exposure=np.ones(30))
    assert not hasattr(Smoother(family="poisson"), "predict_proba")
    with pytest.raises(ValueError, match="return_std of gradients"):
        Smoother(family="poisson").fit(X, y).predict_gradient(X, return_std=True)


def test_files_pickles_pipelines_and_tables(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = observations("binomial", 120, rng)
    table = pandas.DataFrame(X, columns=["a", "b"])
    model = Smoother(NegativeDistance(), family="binomial", criterion="reml").fit(table, y.astype(bool))
    again = [Smoother.load(model.save(tmp_path / "model.npz")), pickle.loads(pickle.dumps(model))]
    for other in again:
        np.testing.assert_array_equal(other.predict_proba(table), model.predict_proba(table))
        np.testing.assert_allclose(other.predict(table, return_std=True)[1], model.predict(table, return_std=True)[1])
        np.testing.assert_allclose(other.loo_, model.loo_)
    assert clone(model).family == "binomial"
    piped = make_pipeline(StandardScaler(), Smoother(family="binomial")).fit(table, y)
    np.testing.assert_allclose(piped.predict_proba(table).sum(axis=1), 1.0)


def test_several_columns_of_noise_and_a_scale(rng):
    """Candidates are compared by the deviance of what is left out: kernels in many dimensions, and open scales."""
    X = rng.random((200, 6))
    y = rng.poisson(np.exp(3 * X[:, 0]))
    model = Smoother(family="poisson").fit(X, y)
    assert model.score(X, y) > 0.5
    scaled = Smoother(Gaussian("auto"), family="poisson").fit(X, y)
    assert np.isfinite(scaled.kernel_.scale) and scaled.score(X, y) > 0.4


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_factor_of_the_weights_is_one_of_alpha(factor, rng):
    """Leave-one-out does not see it; nor do slopes that are lost to rounding prevent an answer."""
    X, y = observations("binomial", 120, rng)
    plain = Smoother(ThinPlate(), null_space=1, family="binomial").fit(X, y)
    scaled = Smoother(ThinPlate(), null_space=1, family="binomial", alpha=factor * plain.alpha_)
    scaled.fit(X, y, sample_weight=np.full(120, factor))
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-5)
    rates = Smoother(ThinPlate(), null_space=1, family="poisson")
    one, other = (clone(rates).fit(X, y, exposure=np.full(120, unit)) for unit in (1.0, factor))
    np.testing.assert_allclose(other.predict(X) * factor, one.predict(X), rtol=0.02)


def test_no_more_points_than_free_functions():
    with pytest.raises(ValueError, match="no more than the 3 functions that are free"):
        Smoother(ThinPlate(), family="poisson").fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 2.0, 1.0])
