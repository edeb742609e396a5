"""Observed functionals in Smoother and FieldSmoother: block averages, a f + b df/dn, and both estimators alike."""

import numpy as np
import pytest

from seminorm import FieldSmoother, Functional, Smoother
from seminorm.kernels import Gaussian, Polyharmonic, ThinPlate


def wave(X):
    return np.sin(6 * X[:, 0]) + X[:, -1] ** 2


class Wave:
    """The same with a gradient."""

    __call__ = staticmethod(wave)

    @staticmethod
    def gradient(X):
        slopes = np.zeros(X.shape)
        slopes[:, 0] = 6 * np.cos(6 * X[:, 0])
        slopes[:, -1] += 2 * X[:, -1]
        return slopes


def blocks(d, number):
    """Means over the cells of a grid of the unit cube, and their exact values for the wave."""
    edges = np.linspace(0.0, 1.0, number + 1)
    low = np.stack(np.meshgrid(*[edges[:-1]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    functional = Functional.cell_average(low, low + 1 / number, n_nodes=4)
    return functional, functional.apply(wave)


def robin(rng, d, number):
    """2 f + 0.3 df/dn in random directions at random points."""
    X, normals = rng.random((number, d)), rng.standard_normal((number, d))
    functional = 2 * Functional.values(X) + 0.3 * Functional.along(X, normals)
    return functional, functional.apply(Wave())


# -- Smoother ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", (1, 2))
def test_the_dense_smoother_recovers_a_function_from_block_averages(d, rng):
    functional, targets = blocks(d, 16 if d == 1 else 8)
    model = Smoother(Polyharmonic(3), alpha=0).fit(functionals=[(functional, targets)])
    np.testing.assert_allclose(functional.apply(model.function_), targets, atol=1e-8)
    Z = 0.05 + 0.9 * rng.random((100, d))
    np.testing.assert_allclose(model.predict(Z), wave(Z), atol=0.02)
    assert model.n_features_in_ == d and model.X_fit_.shape == (0, d) and model.loo_.shape == (0,)
    assert (model.predict(Z, return_std=True)[1] >= 0).all()


def test_the_dense_smoother_recovers_a_function_from_values_and_slopes(rng):
    functional, targets = robin(rng, 2, 150)
    model = Smoother(Polyharmonic(3), alpha=1e-8).fit(functionals=[(functional, targets)])
    Z = 0.1 + 0.8 * rng.random((100, 2))
    np.testing.assert_allclose(model.predict(Z), wave(Z), atol=0.02)


def test_functionals_alone_for_several_outputs_and_chosen_alphas(rng):
    functional, targets = blocks(1, 30)
    noisy = targets + 0.05 * rng.standard_normal(30)
    Z = rng.random((50, 1))
    for criterion in ("gcv", "loo", "reml"):
        model = Smoother(Polyharmonic(2), criterion=criterion).fit(functionals=[(functional, noisy)])
        assert np.sqrt(np.mean((model.predict(Z) - wave(Z)) ** 2)) < 0.05
    two = Smoother(Polyharmonic(2), alpha=1e-4).fit(functionals=[(functional, np.stack([targets, -noisy], axis=1))])
    one = Smoother(Polyharmonic(2), alpha=1e-4).fit(functionals=[(functional, noisy)])
    assert two.predict(Z).shape == (50, 2)
    np.testing.assert_allclose(two.predict(Z)[:, 1], -one.predict(Z), atol=1e-9)


def test_values_as_functionals_are_values(rng):
    X = rng.random((40, 2))
    y, weights = wave(X), rng.uniform(0.5, 2.0, 40)
    as_values = Smoother(alpha=1e-3).fit(X, y, sample_weight=weights)
    as_functionals = Smoother(alpha=1e-3).fit(functionals=[(Functional.values(X), y, weights)])
    both = Smoother(alpha=1e-3).fit(
        X[:20], y[:20], weights[:20], functionals=[(Functional.values(X)[20:], y[20:], weights[20:])]
    )
    Z = rng.random((30, 2))
    for other in (as_functionals, both):
        np.testing.assert_allclose(other.predict(Z), as_values.predict(Z), atol=1e-9)


# -- FieldSmoother -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "number"), [(1, 20), (2, 8)])
def test_block_averages_agree_with_the_dense_smoother(d, number, rng):
    functional, targets = blocks(d, number)
    exact = Smoother(Polyharmonic(2), alpha=1e-5).fit(functionals=[(functional, targets)])
    field = FieldSmoother(alpha=1e-5, depth=6, degree=3, tol=1e-8).fit(functionals=[(functional, targets)])
    Z = rng.random((100, d))
    reference = exact.predict(Z)
    assert np.sqrt(np.mean((field.predict(Z) - reference) ** 2)) < 1e-3 * reference.std()
    assert field.n_features_in_ == d


@pytest.mark.parametrize(("d", "order"), [(1, 2), (2, 3)])
def test_values_plus_slopes_agree_with_the_dense_smoother(d, order, rng):
    """Beside ordinary values; slopes need 2 m > d + 2."""
    observed = [robin(rng, d, 150)]
    X = rng.random((150, d))
    exact = Smoother(Polyharmonic(order), alpha=1e-6).fit(X, wave(X), functionals=observed)
    field = FieldSmoother(alpha=1e-6, order=order, degree=3, depth=6, margin=4, tol=1e-8, max_iter=5000)
    field.fit(X, wave(X), functionals=observed)
    Z = 0.05 + 0.9 * rng.random((100, d))  # beyond the data, the box of the field matters
    np.testing.assert_allclose(field.predict(Z), exact.predict(Z), atol=2e-3)
    np.testing.assert_allclose(field.predict_gradient(Z), exact.function_.gradient(Z), atol=0.1)


@pytest.mark.parametrize("d", (1, 2))
def test_the_field_smoother_recovers_a_function_from_block_averages(d, rng):
    """With alpha and depth chosen."""
    functional, targets = blocks(d, 40 if d == 1 else 14)
    model = FieldSmoother().fit(functionals=[(functional, targets + 10.0)])
    Z = 0.05 + 0.9 * rng.random((200, d))
    np.testing.assert_allclose(model.predict(Z), wave(Z) + 10.0, atol=0.02 if d == 1 else 0.04)
    assert model.complete_ and model.data_bounds_.shape == (2, d)


@pytest.mark.slow
def test_the_field_smoother_recovers_a_function_from_values_and_slopes(rng):
    model = FieldSmoother(order=3).fit(functionals=[robin(rng, 2, 400)])
    Z = 0.05 + 0.9 * rng.random((200, 2))
    np.testing.assert_allclose(model.predict(Z), wave(Z), atol=0.02)


@pytest.mark.parametrize("criterion", ["robust_gcv", "gcv", "holdout"])
def test_alpha_is_chosen_with_functionals(criterion, rng):
    functional, targets = blocks(1, 200)
    noisy = targets + 0.1 * rng.standard_normal(200)
    X = rng.random((300, 1))
    y = wave(X) + 0.1 * rng.standard_normal(300)
    Z = rng.random((300, 1))
    for arguments in ({}, {"X": X, "y": y}):
        model = FieldSmoother(criterion=criterion).fit(**arguments, functionals=[(functional, noisy)])
        assert np.sqrt(np.mean((model.predict(Z) - wave(Z)) ** 2)) < 0.05
        assert len(model.alpha_path_["alpha"]) == len(model.alpha_path_["score"]) >= 3
        np.testing.assert_allclose(model.noise_variance_, 0.01, rtol=0.25)


def test_values_and_gradients_as_functionals_are_values_and_gradients(rng):
    X = rng.random((200, 2))
    y, slopes, weights = wave(X), Wave.gradient(X), rng.uniform(0.5, 2.0, 200)
    options = {"alpha": 1e-4, "depth": 4, "order": 3, "tol": 1e-10, "scale": [1.0, 2.0]}
    stencils = FieldSmoother(**options).fit(X, y, weights, slopes, weights)
    observed = [
        (Functional.values(X), y, weights),
        (Functional.gradients(X), slopes.reshape(-1), np.repeat(weights, 2)),
    ]
    rows = FieldSmoother(**options).fit(functionals=observed)
    assert repr(rows.function_) == repr(stencils.function_)
    Z = rng.random((50, 2))
    np.testing.assert_allclose(rows.predict(Z), stencils.predict(Z), atol=1e-6)
    few = Z[:5]
    np.testing.assert_allclose(
        rows.predict(few, return_std=True)[1], stencils.predict(few, return_std=True)[1], rtol=0.1
    )


def test_functionals_beside_chunks(rng):
    X = rng.random((400, 1))
    y = wave(X) + 0.01 * rng.standard_normal(400)
    observed = [blocks(1, 30)]
    whole = FieldSmoother(alpha=1e-5, depth=4, tol=1e-10).fit(X, y, functionals=observed)
    Z = rng.random((50, 1))
    for source in ([(X[:150], y[:150]), (X[150:], y[150:])], lambda: iter([(X, y)])):
        chunks = FieldSmoother(alpha=1e-5, depth=4, tol=1e-10).fit(source, functionals=observed)
        np.testing.assert_allclose(chunks.predict(Z), whole.predict(Z), atol=1e-8)


def test_functionals_beside_dask_arrays(rng):
    dask_array = pytest.importorskip("dask.array")
    X = rng.random((400, 1))
    y, observed = wave(X), [blocks(1, 30)]
    whole = FieldSmoother(alpha=1e-5, depth=4, tol=1e-10).fit(X, y, functionals=observed)
    arrays = dask_array.from_array(X, chunks=(150, 1)), dask_array.from_array(y, chunks=150)
    pieces = FieldSmoother(alpha=1e-5, depth=4, tol=1e-10).fit(*arrays, functionals=observed)
    Z = rng.random((50, 1))
    np.testing.assert_allclose(pieces.predict(Z), whole.predict(Z), atol=1e-8)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoother", [Smoother(Gaussian()), FieldSmoother(alpha=1.0, depth=1)])
@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Functional.values(np.eye(2)), "functionals must hold pairs"),
        ((Functional.values(np.eye(2)), [1.0]), r"targets shape \(2, 1\), got 2 columns and shape \(1, 1\)"),
        ((Functional.values(np.eye(3)), [1.0, 2.0, 3.0]), "points must have 2 columns"),
        ((Functional.values(np.eye(2)), [1.0, np.nan]), "points and targets must be finite"),
        ((Functional.values(np.full((2, 2), np.inf)), [1.0, 2.0]), "points and targets must be finite"),
        ((Functional.values(np.eye(2)), [1.0, 2.0], [1.0, 0.0]), "weights must be positive"),
        ((Functional.values(np.eye(2)), [1.0, 2.0], [1.0, -1.0]), "functionals: the weights must be finite"),
    ],
)
def test_bad_functionals(smoother, item, message, rng):
    X = rng.random((20, 2))
    with pytest.raises(ValueError, match=message):
        smoother.fit(X, X[:, 0], functionals=[item])


@pytest.mark.parametrize("smoother", [Smoother(), FieldSmoother()])
def test_functionals_alone_must_exist(smoother):
    with pytest.raises(ValueError, match="at least one functional"):
        smoother.fit(functionals=[])
    with pytest.raises(ValueError, match="need"):
        smoother.fit(sample_weight=[1.0], functionals=[blocks(1, 5)])
    with pytest.raises((ValueError, TypeError)):
        smoother.fit()


def test_what_each_smoother_cannot_take(rng):
    X = rng.random((5, 2))
    slope = (Functional.along(X, [1.0, 0.0]), np.zeros(5))
    with pytest.raises(ValueError, match="order 1 need a kernel with 2 derivatives"):
        Smoother(ThinPlate()).fit(X, X[:, 0], functionals=[slope])
    with pytest.raises(ValueError, match="values and first derivatives, got derivatives of order 2"):
        FieldSmoother(alpha=1.0).fit(functionals=[(Functional(X, 2), np.zeros(20))])
    with pytest.raises(ValueError, match="5 coordinates, and fields have one to four"):
        FieldSmoother(alpha=1.0).fit(functionals=[(Functional.values(rng.random((3, 5))), np.zeros(3))])
    with pytest.raises(ValueError, match='criterion="holdout" needs at least 5 functionals, got 3'):
        FieldSmoother(criterion="holdout").fit(functionals=[blocks(1, 3)])
    with pytest.raises(ValueError, match="must have 1 coordinates as X has, got 2"):
        FieldSmoother(alpha=1.0).fit([(X[:, :1], X[:, 0])], functionals=[slope])


def test_a_field_from_rays_alone(rng):
    """Travel times between the sides of a square, and what is between them."""
    ends = [np.column_stack([np.full(150, x), rng.random(150)]) for x in (0.0, 1.0)]
    sides = [np.column_stack([rng.random(150), np.full(150, y)]) for y in (0.0, 1.0)]
    rays = Functional.line_integral(*(np.vstack(pair) for pair in zip(ends, sides, strict=True)), n_nodes=24)
    times = rays.apply(wave)
    field = FieldSmoother(1e-8, order=2, depth=4).fit(functionals=[(rays, times)])
    exact = Smoother(Polyharmonic(2), alpha=1e-8).fit(functionals=[(rays, times)])
    Z = 0.1 + 0.8 * rng.random((200, 2))
    for model in (field, exact):
        np.testing.assert_allclose(rays.apply(model.function_), times, atol=1e-3)
        assert np.sqrt(np.mean((model.predict(Z) - wave(Z)) ** 2)) < 0.03
