"""Null spaces, unisolvent points, Lagrange bases, twins and projections."""

import pickle
from math import comb

import numpy as np
import pytest
from helpers import case_id, central_difference
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer, PolynomialFeatures, SplineTransformer
from sklearn.svm import SVR

import seminorm.nullspace as module
from seminorm.kernels import Gaussian, Multiquadric, Polyharmonic, ThinPlate
from seminorm.nullspace import (
    Columns,
    Features,
    LagrangeBasis,
    Polynomials,
    ThinPlateTwin,
    Twin,
    all_null_spaces,
    all_twins,
    all_vector_null_spaces,
    identifiable,
    independent_columns,
    null_space_for,
    project_kernel_matrix,
    unisolvent_subset,
)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("degree", [-1, 0, 1, 2, 4])
def test_polynomials_span_the_polynomials(d, degree, rng):
    X = 1e5 + 3e3 * rng.random((200, d))  # far away and large: georeferenced coordinates
    P = Polynomials(degree).fit(X)(X)
    assert P.shape == (200, comb(d + degree, d) if degree >= 0 else 0)
    if degree >= 0:
        monomials = PolynomialFeatures(degree).fit_transform((X - 1e5) / 3e3)
        residual = monomials - P @ np.linalg.lstsq(P, monomials, rcond=None)[0]
        assert np.abs(residual).max() < 1e-10
        assert np.linalg.cond(P) < 1e3


def test_polynomials_of_high_degree_stay_well_conditioned():
    x = np.linspace(-1, 1, 400)[:, None]
    assert np.linalg.cond(Polynomials(20).fit(x)(x)) < 20


@pytest.mark.parametrize("space", all_null_spaces(), ids=case_id)
def test_copies_of_null_spaces_are_alike(space, rng):
    X, Z = rng.random((6, 2)), rng.random((30, 2))
    expected = space.fit(Z)(X)
    for copy in (clone(space), pickle.loads(pickle.dumps(space)), type(space)(**space.get_params(deep=False))):
        assert np.array_equal(copy.fit(Z)(X), expected)
    assert expected.shape[0] == 6


def test_registries_name_every_public_null_space_and_twin():
    public = {name for name in module.__all__ if isinstance(getattr(module, name), type)}
    needs_targets = {"CrossFitted"}
    known = set(all_null_spaces) | set(all_twins) | set(all_vector_null_spaces)
    assert known == public - {"NullSpace"} - needs_targets


@pytest.mark.parametrize("space", all_null_spaces(), ids=case_id)
def test_derivatives_of_null_spaces(space, rng):
    X = rng.random((6, 2))
    space.fit(rng.random((30, 2)))
    np.testing.assert_allclose(space.gradient(X), central_difference(space, X), atol=1e-7)
    if not isinstance(space, Features):
        np.testing.assert_allclose(space.hessian(X), central_difference(space.gradient, X), atol=1e-7)


def test_features_from_callables_transformers_and_columns(rng):
    X = rng.random((30, 2))
    by_callable = Features(lambda Z: np.column_stack([Z[:, 0], Z[:, 0] * Z[:, 1]])).fit(X)(X)
    assert np.linalg.matrix_rank(np.hstack([by_callable, X[:, :1], X[:, :1] * X[:, 1:]])) == 2
    by_transformer = Features(PolynomialFeatures(2)).fit(X)(X)
    assert np.linalg.matrix_rank(np.hstack([by_transformer, Polynomials(2).fit(X)(X)])) == 6
    union = (Polynomials(1) | Features(np.exp)).fit(X)
    assert union(X).shape == (30, 5)


def test_rank_is_found_whatever_the_units(rng):
    x = rng.random(50)
    line = np.column_stack([x, 0.3 * x]) + [4e5, 5e6]
    space = Polynomials(1).fit(line)
    with pytest.warns(UserWarning, match="determine only 2"):
        kept = identifiable(space, space(line))
    assert kept.shape == (3, 2)
    anisotropic = np.column_stack([1e6 * x, rng.random(50)])
    space = Polynomials(1).fit(anisotropic)
    assert independent_columns(space(anisotropic), space.resolution) is None
    constant = np.column_stack([x, np.full(50, 0.1)])
    space = Polynomials(1).fit(constant)
    assert independent_columns(space(constant), space.resolution).shape == (3, 2)


def test_unisolvent_subset_and_lagrange_basis(rng):
    X = rng.random((60, 2))
    P = Polynomials(2).fit(X)(X)
    chosen = unisolvent_subset(P)
    assert len(set(chosen)) == 6
    random_condition = np.median([np.linalg.cond(P[rng.choice(60, 6, replace=False)]) for _ in range(50)])
    assert np.linalg.cond(P[chosen]) < 0.5 * random_condition
    basis = LagrangeBasis(Polynomials(2), X[chosen]).fit()
    np.testing.assert_allclose(basis(X[chosen]), np.eye(6), atol=1e-12)
    values = X[:, 0] ** 2 - X[:, 1]
    np.testing.assert_allclose(basis(X) @ values[chosen], values, atol=1e-12)
    np.testing.assert_allclose(basis.gradient(X[:4]), central_difference(basis, X[:4]), atol=1e-6)


@pytest.mark.parametrize("kernel", [ThinPlate(), Polyharmonic(2), Polyharmonic(3), Multiquadric()], ids=case_id)
def test_twins_by_their_definition(kernel, rng):
    X, Y = rng.random((30, 2)), rng.random((8, 2))
    H, K = Twin.from_data(kernel, X, definite=False), Twin.from_data(kernel, X)
    Z = H.points
    L = LagrangeBasis(Polynomials(kernel.null_degree), Z).fit()
    lx, ly = L(X), L(Y)
    expected = kernel(X, Y) - lx @ kernel(Z, Y) - kernel(X, Z) @ ly.T + lx @ kernel(Z) @ ly.T
    np.testing.assert_allclose(H(X, Y), expected, atol=1e-12)
    np.testing.assert_allclose(K(X, Y), expected + lx @ ly.T, atol=1e-12)
    np.testing.assert_allclose(H(X, Z), 0, atol=1e-12)
    values = np.linalg.eigvalsh(K(X))
    assert values[0] > -1e-12 * values[-1]
    assert H.cpd_order == K.cpd_order == 0


def test_closed_form_of_the_thin_plate_twin(rng):
    for d in (1, 2, 5):
        X, Y = rng.random((20, d)), rng.random((7, d))
        points = np.vstack([np.zeros(d), np.eye(d) / np.sqrt(2)]) - 0.3
        general = Twin(ThinPlate(), points, definite=False)
        np.testing.assert_allclose(ThinPlateTwin(0.3)(X, Y), general(X, Y), atol=1e-12)
        np.testing.assert_allclose(ThinPlateTwin(0.3).diag(X), general.diag(X), atol=1e-12)


def test_twins_in_scikit_learn(rng):
    X = rng.random((60, 2))
    y = np.cos(5 * X[:, 0]) * X[:, 1]
    twin = Twin.from_data(ThinPlate(), X)
    assert SVR(kernel=twin, C=1e3, epsilon=0.01).fit(X, y).score(X, y) > 0.95
    assert KernelRidge(kernel=twin, alpha=1e-4).fit(X, y).score(X, y) > 0.99
    assert GaussianProcessRegressor(kernel=twin, alpha=1e-6).fit(X, y).score(X, y) > 0.99


def test_twins_keep_the_space_that_was_fitted_on_the_data(rng):
    """Features that depend on the data they were fitted on (knots at quantiles) survive in the twin, and in its
    clones.
    """
    X = rng.random((50, 1))
    space = Features(SplineTransformer(5, degree=3, knots="quantile"))
    twin = Twin.from_data(Polyharmonic(2), X, space, definite=False)
    fitted = Features(SplineTransformer(5, degree=3, knots="quantile")).fit(X)
    Z = rng.random((20, 1)) * 0.9 + 0.05
    a = null_space(fitted(Z).T)
    for kernel in (twin, clone(twin)):
        np.testing.assert_allclose(a.T @ kernel(Z) @ a, a.T @ Polyharmonic(2)(Z) @ a, atol=1e-10)
    with pytest.raises(ValueError, match="its own twin"):
        Twin.from_data(Gaussian(), X)


def test_projection_of_a_kernel_matrix(rng):
    X = rng.random((40, 3))
    K = Gaussian()(X)
    np.testing.assert_allclose(
        project_kernel_matrix(K, np.ones((40, 1))), KernelCenterer().fit_transform(K.copy()), atol=1e-12
    )
    P = Polynomials(1).fit(X)(X)
    projected = project_kernel_matrix(ThinPlate()(X), P)
    np.testing.assert_allclose(projected @ P, 0, atol=1e-10)
    assert np.linalg.eigvalsh(projected)[0] > -1e-10
    few = X[:4]  # no more points than free functions: nothing is left (example 13)
    np.testing.assert_allclose(project_kernel_matrix(ThinPlate()(few), Polynomials(1).fit(few)(few)), 0, atol=1e-10)


def test_null_space_arguments(rng):
    X = rng.random((20, 2))
    assert null_space_for("auto", ThinPlate(), X)(X).shape == (20, 3)
    assert null_space_for(None, Gaussian(), X)(X).shape == (20, 0)
    assert null_space_for(2, ThinPlate(), X)(X).shape == (20, 6)
    assert null_space_for([0], Multiquadric(), X)(X).shape == (20, 2)
    assert null_space_for([0, 1], ThinPlate(), X)(X).shape == (20, 3)  # the constant and both columns: enough
    assert null_space_for(lambda Z: np.column_stack([np.ones(len(Z)), Z, Z**2]), ThinPlate(), X)(X).shape == (20, 5)
    for wrong in (0, None, [0], np.sin):
        with pytest.raises(ValueError, match="null_space must contain"):
            null_space_for(wrong, ThinPlate(), X)
    with pytest.raises(ValueError, match="null_space must be"):
        null_space_for("linear", ThinPlate(), X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda X: Polynomials(1.5).fit(X), "degree"),
        (lambda X: Polynomials(40).fit(np.zeros((3, 30))), "lower the degree"),
        (lambda X: Columns([5]).fit(X), "columns"),
        (lambda X: Features(3).fit(X), "features"),
        (lambda X: Features(lambda Z: Z[:2]).fit(X), "shape"),
        (lambda X: Features(lambda Z: Z * np.nan).fit(X), "NaN"),
        (lambda X: Features(np.sin).fit(X).gradient(X), "jacobian"),
        (lambda X: Polynomials(1).fit(X[0]), "reshape"),
        (lambda X: Twin(ThinPlate(), [[0, 0], [1, 1], [2, 2]])(X), "points"),
        (lambda X: unisolvent_subset(np.ones((5, 2))), "unisolvent"),
        (lambda X: project_kernel_matrix(np.ones((3, 3)), np.ones((2, 1))), "shapes"),
    ],
)
def test_bad_input(wrong, message, rng):
    with pytest.raises(ValueError, match=message):
        wrong(rng.random((10, 2)))
