"""Additive models: factors, effects and their deviations against dense Gaussian processes and known truth."""

from functools import reduce

import numpy as np
import pytest

from seminorm import Smoother
from seminorm.kernels import Gaussian, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.kernels.algebra import Sum, summands
from seminorm.nullspace import PolynomialSum
from seminorm.plotting import plot_partial_effects
from seminorm.solvers.ridge.term_factors import TermLikelihood, best_factors

PLATE = ThinPlate().on_columns([0, 1])
EFFECTS = [
    lambda X: 10 * np.sin(np.pi * X[:, 0] * X[:, 1]),
    lambda X: 20 * (X[:, 2] - 0.5) ** 2,
    lambda X: 10 * X[:, 3],
    lambda X: 0.0 * X[:, 4],
]


def friedman(n, rng, noise=1.0):
    X = rng.random((n, 5))
    return X, sum(effect(X) for effect in EFFECTS) + noise * rng.standard_normal(n)


def kernel_of(*columns):
    return reduce(Sum, [PLATE, *[Polyharmonic(2).on_columns([column]) for column in columns]])


def test_friedmans_function(rng):
    X, y = friedman(400, rng)
    Z, z = friedman(2000, rng, 0.0)
    model = Smoother(kernel_of(2, 3, 4), criterion="reml", term_factors="auto").fit(X, y)
    error = np.sqrt(np.mean((model.predict(Z) - z) ** 2))
    assert error < 0.5
    assert error < 0.6 * np.sqrt(np.mean((Smoother().fit(X, y).predict(Z) - z) ** 2))
    assert model.noise_variance_ == pytest.approx(1.0, rel=0.2)
    total = np.zeros(len(Z))
    for number, effect in enumerate(EFFECTS):
        ours, std = model.partial_effect(number, Z, return_std=True)
        true = effect(Z) - effect(X).mean()
        assert np.sqrt(np.mean((ours - true) ** 2)) < 0.4
        assert np.mean(np.abs(ours - true) < 2.5 * std) > 0.75
        np.testing.assert_allclose(model.partial_effect(number, X).mean(), 0.0, atol=1e-9)
        total += ours
    np.testing.assert_allclose(total + model.predict(X).mean(), model.predict(Z), atol=1e-8)


def test_linear_and_irrelevant_terms_lose_their_factors(rng):
    """What is left of a term whose factor vanishes is a straight line, and of an irrelevant one nearly nothing."""
    X, y = friedman(600, rng)
    model = Smoother(kernel_of(2, 3, 4), criterion="reml", term_factors="auto").fit(X, y)
    Z = np.repeat(X.mean(axis=0)[None], 50, axis=0)
    x = np.linspace(0, 1, 50)
    Z[:, 3] = Z[:, 4] = x
    for number, size in ((2, 10.0), (3, 0.0)):
        effect = model.partial_effect(number, Z)
        line = np.polynomial.Polynomial.fit(x, effect, 1)
        assert np.abs(effect - line(x)).max() < 0.15
        assert np.ptp(effect) == pytest.approx(size, abs=0.4)
    assert model.term_factors_[1] > 20 * model.term_factors_[2:].max()


@pytest.mark.parametrize("weighted", [False, True])
def test_factors_and_alpha_are_those_of_the_joint_likelihood(weighted, rng):
    X, y = friedman(150, rng)
    weights = rng.random(150) + 0.5 if weighted else np.ones(150)
    model = Smoother(kernel_of(2, 3), criterion="reml", term_factors="auto").fit(X, y, sample_weight=weights)
    terms = [kernel.kernel for kernel in summands(model.kernel_)]
    space = model.null_space_
    P = space(X) @ np.linalg.svd(space(X), full_matrices=False)[2][:5].T
    factors = best_factors([term(X) for term in terms], P, y, weights)
    np.testing.assert_allclose(model.term_factors_ / factors, (model.term_factors_ / factors)[0], rtol=1e-3)
    likelihood = TermLikelihood([term(X) for term in terms], P, y, weights)
    ours = likelihood(np.log(model.term_factors_ / model.alpha_ * likelihood.units))[0]
    assert ours <= likelihood(np.log(factors * likelihood.units))[0] + 0.02  # alpha is one of a fine grid


def test_given_factors_are_penalties_of_the_terms(rng):
    """alpha / factor multiplies the squared semi-norm of each term."""
    X, y = friedman(80, rng)
    X = X[:, :3]  # all of which the terms leave free
    model = Smoother(kernel_of(2), alpha=0.1, term_factors=[2.0, 0.5]).fit(X, y)
    same = Smoother(2.0 * PLATE + 0.5 * Polyharmonic(2).on_columns([2]), alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-8)
    np.testing.assert_array_equal(model.term_factors_, [2.0, 0.5])


def dense_effect(model, number, X, y, Z, huge=1e7):
    """Mean and deviation of a centred effect: a Gaussian process with a twin of each kernel, and wide priors."""
    terms, space = summands(model.kernel_), model.null_space_

    def prior(k, A, B):
        part = np.zeros(sum(space.sizes_))
        part[space.ranges[k]] = 1.0
        corners = X[:12]
        P = (space(X) * part)[:, space.ranges[k]]
        some, own = P[:12], np.linalg.pinv(P[:12])
        La, Lb = ((space(M) * part)[:, space.ranges[k]] @ own for M in (A, B))
        K = terms[k]
        twin = K(A, B) - La @ K(corners, B) - K(A, corners) @ Lb.T + La @ K(corners) @ Lb.T
        assert some.shape[1] <= 12
        return twin + huge * ((space(A) * part) @ (space(B) * part).T)

    V = sum(prior(k, X, X) for k in range(len(terms))) + model.alpha_ * np.eye(len(X))
    both = np.vstack([Z, X])
    cross, own = prior(number, both, X), prior(number, both, both)
    mean = cross @ np.linalg.solve(V, y)
    covariance = own - cross @ np.linalg.solve(V, cross.T)
    L = np.hstack([np.eye(len(Z)), np.full((len(Z), len(X)), -1 / len(X))])
    return L @ mean, np.sqrt(np.diag(L @ covariance @ L.T) * model.prior_variance_)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_effects_are_those_of_a_gaussian_process(number, rng):
    X, y = friedman(60, rng)
    kernel = PLATE + Polyharmonic(2).on_columns([2]) + Gaussian(0.5).on_columns([3])
    model = Smoother(kernel, alpha=0.05, term_factors=[1.0, 2.0, 5.0]).fit(X, y)
    Z = rng.random((20, 5))
    effect, std = model.partial_effect(number, Z, return_std=True)
    mean, deviation = dense_effect(model, number, X, y, Z)
    np.testing.assert_allclose(effect, mean, atol=2e-4 * np.abs(mean).max())
    np.testing.assert_allclose(std, deviation, rtol=2e-3)


def test_terms_that_share_a_column(rng):
    """A main effect and an interaction: the interaction has no share in what is linear in the column they share."""
    X = rng.random((300, 2))
    truth = np.sin(6 * X[:, 0]) + 4 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    y = truth + 0.1 * rng.standard_normal(300)
    model = Smoother(Polyharmonic(2).on_columns([0]) + PLATE, term_factors="auto").fit(X, y)
    assert (
        np.sqrt(np.mean((model.predict(X) - np.sin(6 * X[:, 0]) - 4 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)) ** 2)) < 0.06
    )
    for number in (0, 1):
        effect, std = model.partial_effect(number, X, return_std=True)
        shared = np.column_stack([np.ones(300), X[:, 0]])
        np.testing.assert_allclose(shared.T @ effect / 300, 0.0, atol=1e-8)
        assert np.isfinite(std).all() and (std > 0).all()
    rest = model.predict(X) - model.partial_effect(0, X) - model.partial_effect(1, X)
    line = np.polynomial.Polynomial.fit(X[:, 0], rest, 1)
    np.testing.assert_allclose(rest, line(X[:, 0]), atol=1e-8)


def test_what_is_free_is_the_sum_of_what_the_terms_leave_free(rng):
    X, y = friedman(50, rng)
    model = Smoother(
        Polyharmonic(3).on_columns([0]) + NegativeDistance().on_columns([1]), alpha=1e9, term_factors=[1, 1]
    )
    straight = np.column_stack([np.ones(50), X[:, 0], X[:, 0] ** 2])
    expected = straight @ np.linalg.lstsq(straight, y)[0]
    np.testing.assert_allclose(model.fit(X, y).predict(X), expected, atol=1e-4)
    space = PolynomialSum([2, 0], [[0], [1]]).fit(X)
    step = 1e-6 * np.eye(5)
    slopes = np.stack([(space(X + h) - space(X - h)) / 2e-6 for h in step], axis=-1)
    np.testing.assert_allclose(space.gradient(X), slopes, atol=1e-7)


@pytest.mark.parametrize("family", ["poisson", "gamma", "binomial"])
def test_additive_models_of_other_families(family, rng):
    X = rng.random((500, 3))
    effects = [lambda Z: np.sin(6 * Z[:, 0]), lambda Z: 4 * (Z[:, 1] - 0.5) ** 2, lambda Z: 0.0 * Z[:, 2]]
    f = sum(effect(X) for effect in effects)
    if family == "binomial":
        y = (rng.random(500) < 1 / (1 + np.exp(-f))).astype(float)
    else:
        y = rng.poisson(np.exp(f)) if family == "poisson" else rng.gamma(5.0, np.exp(f) / 5.0)
    kernel = reduce(Sum, [Polyharmonic(2).on_columns([k]) for k in range(3)])
    model = Smoother(kernel, family=family, term_factors="auto").fit(X, y)
    Z = rng.random((300, 3))
    worst = {"poisson": 0.2, "gamma": 0.15, "binomial": 0.4}[family]
    for number, effect in enumerate(effects):
        ours, std = model.partial_effect(number, Z, return_std=True)
        assert np.sqrt(np.mean((ours - effect(Z) + effect(X).mean()) ** 2)) < worst
        assert (std > 0).all()
    # the factors are the most likely ones for the working responses of their own fit
    terms, observed, P = summands(model.kernel_), model._observed, model._restrict(model.null_space_(X))
    joint = Smoother(kernel, family=family, criterion="reml", term_factors="auto").fit(X, y)
    terms, observed = [kernel.kernel for kernel in summands(joint.kernel_)], joint._observed
    known = None if family == "gamma" else 1.0
    likelihood = TermLikelihood([t(X) for t in terms], P, observed.targets[:, 0], observed.weights, dispersion=known)
    near = joint.term_factors_ / joint.alpha_
    best = likelihood.maximize(near)
    gap = likelihood(np.log(near * likelihood.units))[0] - likelihood(np.log(best * likelihood.units))[0]
    assert gap < (1.0 if family == "gamma" else 0.3)  # its dispersion is not that of the working responses


def test_mistakes(rng):
    X, y = friedman(60, rng)
    for message, options in {
        "term_factors needs a sum of kernels": {"kernel": ThinPlate()},
        "None, 'auto', or one positive number per term, got 'best'": {"term_factors": "best"},
        "2 positive numbers, one per term": {"term_factors": [1.0, -1.0]},
        "metric=None": {"metric": "standardize"},
        "not with 'soft'": {"null_space": "soft"},
    }.items():
        with pytest.raises(ValueError, match=message):
            Smoother(**({"kernel": kernel_of(2), "term_factors": "auto"} | options)).fit(X, y)
    with pytest.raises(ValueError, match="one output, and y has 2"):
        Smoother(kernel_of(2), term_factors="auto").fit(X, np.column_stack([y, y]))
    model = Smoother(kernel_of(2), term_factors="auto").fit(X, y)
    for term in (2, "x2", None):
        with pytest.raises(ValueError, match="term must be a number from 0 to 1"):
            model.partial_effect(term, X)
    with pytest.raises(AttributeError, match="term_factors"):
        Smoother(kernel_of(2)).fit(X, y).partial_effect(0, X)


def test_files_names_and_pictures(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    X, y = friedman(120, rng)
    table = pandas.DataFrame(X, columns=list("abcde"))
    model = Smoother(kernel_of(2, 3), term_factors="auto").fit(table, y)
    again = Smoother.load(model.save(tmp_path / "model.npz"))
    for one, other in zip(model.partial_effect("c", table, True), again.partial_effect(1, table, True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(again.term_factors_, model.term_factors_)
    axes = plot_partial_effects(model)
    assert [ax.get_xlabel() for ax in axes] == ["a", "c", "d"]
    curve = axes[1].lines[0]
    points = np.repeat(X[:1], len(curve.get_xdata()), axis=0)
    points[:, 2] = curve.get_xdata()
    points = pandas.DataFrame(points, columns=list("abcde"))
    np.testing.assert_allclose(curve.get_ydata(), model.partial_effect(1, points))
    with pytest.raises(ValueError, match="axes must hold 1 axes"):
        plot_partial_effects(model, terms=[1], axes=axes)
    wide = ThinPlate().on_columns([0, 1, 2]) + Polyharmonic(2).on_columns([3])
    with pytest.raises(ValueError, match="more than two columns"):
        plot_partial_effects(Smoother(wide, term_factors="auto").fit(X, y))
