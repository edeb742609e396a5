"""Neighbours, principal components, enclosing spheres and perceptrons with kernels of every kind."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ReferencePCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as ReferencePerceptron
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from seminorm import EnclosingHypersphere, KernelNeighbors, KernelPCA, KernelPerceptron, SlabMachine
from seminorm.estimators import kernel_neighbors
from seminorm.invariance import IntegrationKernel, Reflection
from seminorm.invariance.distances.base import Distance
from seminorm.kernels import Gaussian, Linear, Multiquadric, NegativeDistance, Polynomial, ThinPlate
from seminorm.nullspace import Polynomials


class Manhattan(Distance):
    def _pairwise(self, X, Y):
        return cdist(X, X if Y is None else Y, "cityblock")


def clouds(rng, n=60, classes=2):
    y = np.arange(n) % classes
    return rng.standard_normal((n, 2)) + 1.5 * y[:, None], np.array(["a", "b", "c"])[y]


def indefinite_matrices(rng, n=30, m=8):
    """Kernel values of a distance that is not Euclidean: training matrix, new rows, and the new k(x, x)."""
    X, Z = rng.standard_normal((n, 3)), rng.standard_normal((m, 3))
    between = [np.abs(X[:, None] - Y).max(axis=2) ** 1.7 for Y in (X, Z)]
    return -between[0], -between[1].T, np.zeros(m)


# nearest neighbours


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("kernel", [None, Gaussian(0.3), Linear(), Multiquadric(2.0)], ids=case_id)
def test_radial_and_linear_kernels_give_the_ordinary_neighbors(kernel, count, rng):
    X, y = clouds(rng)
    Z = 2 * rng.standard_normal((100, 2))
    theirs = KNeighborsClassifier(count).fit(X, y)
    ours = KernelNeighbors(kernel, count).fit(X, y)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))
    np.testing.assert_array_equal(ours.kneighbors(Z)[1], theirs.kneighbors(Z)[1])
    assert ours.score(Z, ours.predict(Z)) == 1.0


def test_votes_by_distance(rng):
    X, y = clouds(rng, 90, classes=3)
    Z = np.vstack([2 * rng.standard_normal((60, 2)), X[:10]])
    theirs = KNeighborsClassifier(4, weights="distance").fit(X, y)
    for kernel in (Linear(), Polynomial(1, 3.0)):
        ours = KernelNeighbors(kernel, 4, "distance").fit(X, y)
        np.testing.assert_array_equal(ours.predict(Z[:60]), theirs.predict(Z[:60]))
        np.testing.assert_allclose(ours.kneighbors(Z)[0], theirs.kneighbors(Z)[0], atol=1e-7)
    exact = KernelNeighbors(n_neighbors=4, weights="distance").fit(X, y)
    np.testing.assert_array_equal(exact.predict(X), y)  # a point at distance zero outvotes the others


def test_a_gaussian_far_away_still_ranks(rng):
    X, y = clouds(rng)
    Z = np.array([8.0, 0.0]) + rng.standard_normal((50, 2))  # k is so small that 2 - 2 k is 2
    expected = KNeighborsClassifier(1).fit(X, y).predict(Z)
    np.testing.assert_array_equal(KernelNeighbors(Gaussian(0.5)).fit(X, y).predict(Z), expected)


def test_ties_are_settled_by_distance_and_then_by_class():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    y = ["z", "a", "z", "b"]
    assert KernelNeighbors().fit(X, y).predict([[0.0]]) == ["a"]
    assert KernelNeighbors(n_neighbors=2).fit(X, y).predict([[0.1]]) == ["z"]  # one vote each: the nearest decides
    assert KernelNeighbors(n_neighbors=2).fit(X, y).predict([[-0.1]]) == ["a"]
    assert KernelNeighbors(n_neighbors=3).fit(X, y).predict([[0.0]]) == ["a"]  # b is taken before z


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 6), weights=st.sampled_from(["uniform", "distance"]))
def test_the_order_of_the_training_points_does_not_matter(seed, count, weights):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (30, 2)).astype(float), rng.integers(0, 3, 30)  # on a grid, with many ties
    Z = rng.integers(0, 4, (20, 2)).astype(float)
    other = rng.permutation(30)
    one = KernelNeighbors(n_neighbors=count, weights=weights).fit(X, y)
    two = KernelNeighbors(n_neighbors=count, weights=weights).fit(X[other], y[other])
    np.testing.assert_array_equal(one.predict(Z), two.predict(Z))


@pytest.mark.parametrize("count", [1, 3])
def test_leave_one_out(count, rng):
    X, y = clouds(rng)
    expected = cross_val_score(KNeighborsClassifier(count), X, y, cv=LeaveOneOut()).mean()
    model = KernelNeighbors(n_neighbors=count).fit(X, y)
    assert model.leave_one_out_score() == pytest.approx(expected)
    assert KernelNeighbors("precomputed", count).fit(Linear()(X), y).leave_one_out_score() == pytest.approx(expected)
    distances = KernelNeighbors("precomputed_distances", count, "distance").fit(cdist(X, X), y)
    weighted = cross_val_score(KNeighborsClassifier(count, weights="distance"), X, y, cv=LeaveOneOut()).mean()
    assert distances.leave_one_out_score() == pytest.approx(weighted)


def test_neighbors_in_blocks(rng, monkeypatch):
    X, y = clouds(rng)
    Z = rng.standard_normal((50, 2))
    model = KernelNeighbors(n_neighbors=3, weights="distance").fit(X, y)
    expected = *model.kneighbors(Z), model.predict(Z), model.leave_one_out_score()
    monkeypatch.setattr(kernel_neighbors, "_BLOCK_ENTRIES", 200)
    for found, known in zip(
        (*model.kneighbors(Z), model.predict(Z), model.leave_one_out_score()), expected, strict=True
    ):
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_distances_in_place_of_a_kernel(weights, rng):
    X, y = clouds(rng)
    Z = rng.standard_normal((50, 2))
    theirs = KNeighborsClassifier(3, weights=weights, metric="manhattan").fit(X, y)
    ours = KernelNeighbors(Manhattan(), 3, weights).fit(X, y)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))
    np.testing.assert_allclose(ours.kneighbors(Z)[0], theirs.kneighbors(Z)[0])
    given_matrix = KernelNeighbors("precomputed_distances", 3, weights).fit(Manhattan().pairwise(X), y)
    np.testing.assert_array_equal(given_matrix.predict(Manhattan().pairwise(Z, X)), theirs.predict(Z))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbors_with_a_given_matrix(weights, rng):
    X, y = clouds(rng)
    Z = rng.standard_normal((50, 2))
    kernel = Polynomial(2)
    points, matrix = KernelNeighbors(kernel, 3, weights).fit(X, y), KernelNeighbors("precomputed", 3, weights)
    matrix.fit(kernel(X), y)
    np.testing.assert_array_equal(matrix.predict(kernel(Z, X), diag=kernel.diag(Z)), points.predict(Z))
    assert matrix.score(kernel(Z, X), points.predict(Z), diag=kernel.diag(Z)) == 1.0
    if weights == "uniform":  # k(x, x) of a new point does not change who is nearest
        np.testing.assert_array_equal(matrix.predict(kernel(Z, X)), points.predict(Z))
    else:
        with pytest.raises(ValueError, match="diag is needed"):
            matrix.predict(kernel(Z, X))
    constant = KernelNeighbors("precomputed", 3, weights).fit(Gaussian()(X), y)
    expected = KernelNeighbors(Gaussian(), 3, weights).fit(X, y).predict(Z)
    np.testing.assert_array_equal(constant.predict(Gaussian()(Z, X)), expected)
    search = GridSearchCV(KernelNeighbors("precomputed"), {"n_neighbors": [1, 5]}, cv=3).fit(kernel(X), y)
    assert search.best_score_ > 0.6


def test_negative_squares_of_an_indefinite_kernel_come_first(rng):
    K = np.diag([1.0, 1.0, -3.0])  # squared distances 2 and -2
    model = KernelNeighbors("precomputed", 3, "distance").fit(K, [0, 0, 1])
    distances, indices = model.kneighbors(np.array([[0.9, 0.0, 0.0]]), diag=[1.0])
    np.testing.assert_array_equal(indices, [[2, 0, 1]])
    np.testing.assert_allclose(distances, [[0.0, np.sqrt(0.2), np.sqrt(2.0)]])
    assert model.predict(np.array([[0.9, 0.0, 0.0]]), diag=[1.0]) == [1]


# principal components


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2), Linear()], ids=case_id)
def test_definite_kernels_give_the_components_of_scikit_learn(kernel, rng):
    X, Z = rng.standard_normal((50, 3)), rng.standard_normal((20, 3))
    theirs = ReferencePCA(3, kernel="precomputed", eigen_solver="dense").fit(kernel(X))
    ours = KernelPCA(kernel, 3).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_)
    signs = np.sign((ours.eigenvectors_ * theirs.eigenvectors_).sum(axis=0))
    np.testing.assert_allclose(ours.transform(Z), signs * theirs.transform(kernel(Z, X)), atol=1e-9)
    np.testing.assert_allclose(ours.fit_transform(X), signs * theirs.transform(kernel(X)), atol=1e-9)
    largest = np.abs(ours.eigenvectors_).argmax(axis=0)
    assert (ours.eigenvectors_[largest, [0, 1, 2]] > 0).all()


def test_all_components_that_are_not_zero_are_kept(rng):
    X = rng.standard_normal((30, 3))
    assert KernelPCA(Linear()).fit_transform(X).shape == (30, 3)
    padded = KernelPCA(Linear(), 5).fit(X)
    np.testing.assert_array_equal(padded.eigenvalues_[3:], 0)
    np.testing.assert_allclose(padded.transform(X)[:, 3:], 0, atol=1e-9)
    shifted = X + 1000.0  # what centring subtracts is a million times larger
    assert KernelPCA(Linear()).fit_transform(shifted).shape == (30, 3)
    same = KernelPCA().fit(np.ones((5, 2)))
    assert same.transform(np.zeros((4, 2))).shape == (4, 0)


def test_squared_distances_are_as_good_as_inner_products(rng):
    """-|x - y|^2 / 2 is conditionally positive definite of order 1; its components are the principal ones."""
    X, Z = rng.standard_normal((40, 3)) * [3, 2, 1] + 5, rng.standard_normal((10, 3))
    pca = PCA(2).fit(X)
    ours = KernelPCA("precomputed", 2).fit(-0.5 * cdist(X, X, "sqeuclidean"))
    expected = pca.transform(Z)
    found = ours.transform(-0.5 * cdist(Z, X, "sqeuclidean"))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, pca.explained_variance_ * 39)


@pytest.mark.parametrize(("kernel", "degree"), [(NegativeDistance(1.3), 0), (ThinPlate(), 1)], ids=case_id)
def test_conditional_kernels_are_definite_beside_their_null_space(kernel, degree, rng):
    X, Z = rng.standard_normal((40, 2)), rng.standard_normal((15, 2))
    model = KernelPCA(kernel).fit(X)
    coordinates = model.fit_transform(X)
    assert (model.eigenvalues_ > 0).all()
    np.testing.assert_allclose(model.transform(X), coordinates, atol=1e-8 * np.abs(coordinates).max())
    space = Polynomials(degree).fit(X)
    P = space(X)
    np.testing.assert_allclose(P.T @ coordinates, 0, atol=1e-8)
    fit = np.linalg.pinv(P)  # values at X to polynomials
    residual = kernel(X) - P @ (fit @ kernel(X))
    np.testing.assert_allclose(coordinates @ coordinates.T, residual - residual @ fit.T @ P.T, atol=1e-8)
    residual = kernel(Z, X) - space(Z) @ (fit @ kernel(X))
    np.testing.assert_allclose(model.transform(Z) @ coordinates.T, residual - residual @ fit.T @ P.T, atol=1e-8)
    assert model.function_.gradient(Z).shape == (15, len(model.eigenvalues_), 2)


def test_indefinite_kernels_have_pseudo_euclidean_coordinates(rng):
    K, new, _ = indefinite_matrices(rng)
    model = KernelPCA("precomputed").fit(K)
    center = np.eye(30) - 1 / 30
    expected = np.linalg.eigvalsh(center @ K @ center)
    kept = expected[np.abs(expected) > 1e-10]
    np.testing.assert_allclose(model.eigenvalues_, kept[np.argsort(-np.abs(kept))], atol=1e-10)
    assert (model.eigenvalues_ < 0).any()
    Z = model.fit_transform(K)
    np.testing.assert_allclose((Z * np.sign(model.eigenvalues_)) @ Z.T, center @ K @ center, atol=1e-10)
    np.testing.assert_allclose(model.transform(K), Z, atol=1e-9)
    products = (new - K.mean(axis=0)) @ center
    np.testing.assert_allclose((model.transform(new) * np.sign(model.eigenvalues_)) @ Z.T, products, atol=1e-9)


def test_components_in_a_pipeline(rng):
    X, y = clouds(rng)
    pipeline = make_pipeline(KernelPCA(Gaussian(), 5), KNeighborsClassifier()).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    assert list(pipeline[0].get_feature_names_out())[:2] == ["kernelpca0", "kernelpca1"]


# enclosing spheres


@pytest.mark.parametrize("nu", [0.05, 0.25, 0.6])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Gaussian(4.0)], ids=case_id)
def test_a_constant_diagonal_gives_the_one_class_machine(kernel, nu, rng):
    X, Z = rng.standard_normal((60, 2)), 2 * rng.standard_normal((40, 2))
    theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-10).fit(kernel(X))
    ours = EnclosingHypersphere(kernel, nu).fit(X)
    expected = theirs.decision_function(kernel(Z, X)) * 2 / (nu * 60)  # their coefficients add up to nu n
    np.testing.assert_allclose(ours.decision_function(Z), expected, atol=1e-6)
    center = np.zeros(60)
    center[ours.support_] = ours.dual_coef_[0]
    known = np.zeros(60)
    known[theirs.support_] = theirs.dual_coef_[0] / (nu * 60)
    np.testing.assert_allclose(center, known, atol=1e-4)


def smallest_circle(X):
    """By trying all circles through two or three points."""
    best = np.inf
    for count in (2, 3):
        for chosen in combinations(range(len(X)), count):
            points = X[list(chosen)]
            if count == 2:
                center = points.mean(axis=0)
            else:
                system = 2 * (points[1:] - points[0])
                center = np.linalg.solve(system, (points[1:] ** 2).sum(axis=1) - (points[0] ** 2).sum())
            radius = np.linalg.norm(points[0] - center)
            if radius < best and (np.linalg.norm(X - center, axis=1) <= radius * (1 + 1e-12)).all():
                best, found = radius, center
    return found, best


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_linear_kernel_and_small_nu_give_the_smallest_ball(seed):
    X = np.random.default_rng(seed).standard_normal((12, 2)) + 3
    center, radius = smallest_circle(X)
    model = EnclosingHypersphere(Linear(), 0.01).fit(X)
    assert model.radius_ == pytest.approx(radius, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], [center], atol=1e-3)
    assert (model.predict(X) == 1).all()  # also those on the sphere
    np.testing.assert_allclose(-model.score_samples(X), ((X - center) ** 2).sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("kernel", [None, Multiquadric(), Polynomial(2)], ids=case_id)
def test_sphere_equals_a_general_solver(kernel, rng):
    X, nu = rng.standard_normal((14, 2)), 0.3
    K = (kernel or NegativeDistance())(X)
    # the primal: squared radius plus what is outside, over the centre's coordinates
    values, vectors = np.linalg.eigh(K - K.mean(0) - K.mean(0)[:, None] + K.mean())
    F = vectors * np.sqrt(np.maximum(values, 0))

    def radius_and_excess(v):
        return v[0] + v[1:15].sum() / (nu * 14)

    constraints = {"type": "ineq", "fun": lambda v: v[0] + v[1:15] - ((F - v[15:]) ** 2).sum(axis=1)}
    start = np.r_[1.0, np.full(14, (F**2).sum(axis=1).max()), np.zeros(14)]
    bounds = [(None, None)] + [(0, None)] * 14 + [(None, None)] * 14
    found = minimize(
        radius_and_excess, start, bounds=bounds, constraints=constraints, method="SLSQP", options={"maxiter": 1000}
    )
    assert found.success
    model = EnclosingHypersphere(kernel, nu).fit(X)
    squared = -model.score_samples(X)
    ours = model.radius_**2 + np.maximum(squared - model.radius_**2, 0).sum() / (nu * 14)
    assert ours == pytest.approx(found.fun, rel=1e-5)
    assert model.convex_


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), nu=st.floats(0.02, 1.0), n=st.integers(2, 50))
def test_share_of_outliers(seed, nu, n):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    for kernel in (NegativeDistance(), Gaussian(), Linear()):
        model = EnclosingHypersphere(kernel, nu).fit(X)
        assert (model.predict(X) == -1).mean() <= nu + 1e-9
        assert len(model.support_) >= nu * n - 1e-6
        assert model.dual_coef_.sum() == pytest.approx(1.0)
        assert model.dual_coef_.max() <= max(1 / (nu * n), 1.0) * (1 + 1e-6)


def test_sphere_does_not_see_what_is_added_to_the_kernel(rng):
    X, Z = rng.standard_normal((40, 2)), 2 * rng.standard_normal((20, 2))
    kernel, b = Gaussian(), lambda x: x[:, 0] ** 2 - 3 * x[:, 1]
    plain = EnclosingHypersphere(kernel, 0.2).fit(X)
    changed = EnclosingHypersphere("precomputed", 0.2).fit(kernel(X) + b(X)[:, None] + b(X))
    values = changed.decision_function(kernel(Z, X) + b(Z)[:, None] + b(X), diag=1 + 2 * b(Z))
    np.testing.assert_allclose(values, plain.decision_function(Z), atol=1e-6)


def test_sphere_with_a_given_matrix(rng):
    X, Z = rng.standard_normal((40, 2)), 2 * rng.standard_normal((20, 2))
    for kernel in (Linear(), NegativeDistance()):
        points = EnclosingHypersphere(kernel, 0.2).fit(X)
        matrix = EnclosingHypersphere("precomputed", 0.2).fit(kernel(X))
        np.testing.assert_allclose(
            matrix.decision_function(kernel(Z, X), diag=kernel.diag(Z)), points.decision_function(Z), atol=1e-9
        )
        np.testing.assert_array_equal(matrix.fit_predict(kernel(X)), points.fit_predict(X))
    np.testing.assert_array_equal(matrix.predict(kernel(Z, X)), points.predict(Z))  # k(x, x) = 0 for all
    with pytest.raises(ValueError, match="diag is needed"):
        EnclosingHypersphere("precomputed").fit(Linear()(X)).predict(Linear()(Z, X))


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.8])
def test_sphere_of_an_indefinite_kernel_is_stationary(nu, rng):
    K, new, diag = indefinite_matrices(rng)
    K = K - 0.5 * np.abs(np.subtract.outer(np.arange(30), np.arange(30))) % 7  # more negative eigenvalues
    model = EnclosingHypersphere("precomputed", nu).fit(K)
    assert not model.convex_
    a = np.zeros(30)
    a[model.support_] = model.dual_coef_[0]
    bound = 1 / (nu * 30) if nu * 30 > 1 else np.inf
    slope = np.diag(K) - 2 * K @ a  # moving weight from j to i pays if slope_i > slope_j
    tolerance = 1e-6 * np.abs(slope).max()
    assert slope[a < bound * (1 - 1e-9)].max() <= slope[a > 0].min() + tolerance
    assert a.sum() == pytest.approx(1.0)
    assert ((a >= 0) & (a <= bound * (1 + 1e-9))).all()
    outside = model.fit_predict(K) == -1
    assert outside.mean() <= nu
    assert model.predict(new, diag=diag).shape == (8,)
    assert model.offset_ == pytest.approx(-(model.radius_**2), rel=1e-6)


@pytest.mark.parametrize("kernel", [None, Gaussian(), Linear()], ids=case_id)
def test_spheres_of_few_points(kernel):
    one = EnclosingHypersphere(kernel).fit([[2.0, 1.0]])
    assert one.radius_ == pytest.approx(0, abs=1e-6)
    np.testing.assert_array_equal(one.predict([[2.0, 1.0], [2.5, 1.0]]), [1, -1])
    same = EnclosingHypersphere(kernel, 0.5).fit(np.ones((6, 2)))
    np.testing.assert_array_equal(same.predict([[1.0, 1.0], [1.1, 1.0]]), [1, -1])
    X = np.random.default_rng(0).standard_normal((9, 2))
    everything = EnclosingHypersphere(kernel, 1.0).fit(X)
    np.testing.assert_allclose(everything.dual_coef_, 1 / 9)


# perceptrons


@pytest.mark.parametrize("seed", range(3))
def test_linear_perceptron_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(-20, 20, (60, 3)).astype(float), np.ones(60)])  # exact arithmetic
    y = (X @ [1.0, -2.0, 0.5, 3.3] > 0).astype(int)
    theirs = ReferencePerceptron(fit_intercept=False, shuffle=False, tol=None, max_iter=2000).fit(X, y)
    ours = KernelPerceptron("precomputed", max_iter=2000).fit(X @ X.T, y)  # in the order of the rows, as theirs
    np.testing.assert_array_equal(ours.dual_coef_ @ X[ours.support_], theirs.coef_)
    assert ours.converged_
    np.testing.assert_array_equal(ours.decision_function(X @ X.T), theirs.decision_function(X))
    points = KernelPerceptron(Linear(), max_iter=2000).fit(X, y)
    assert points.converged_ and points.score(X, y) == 1.0
    order = rng.permutation(60)
    np.testing.assert_array_equal(
        points.decision_function(X),
        KernelPerceptron(Linear(), max_iter=2000).fit(X[order], y[order]).decision_function(X),
    )


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), shuffle=st.booleans())
def test_number_of_corrections_obeys_the_bound(seed, shuffle):
    """At most R^2 / margin^2; f with f(x_i) = y_i has the margin 1 / |f|, |f|^2 = y'K^-1 y."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    kernel = Gaussian(0.5)
    model = KernelPerceptron(kernel, max_iter=10**5, shuffle=shuffle, random_state=seed).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    assert model.n_updates_ == np.abs(model.dual_coef_).sum()
    assert model.n_updates_ <= (2 * y - 1) @ np.linalg.solve(kernel(X), 2 * y - 1)
    assert (np.sign(model.dual_coef_[0]) == (2 * y - 1)[model.support_]).all()


@pytest.mark.parametrize("kernel", [NegativeDistance(), ThinPlate()], ids=case_id)
def test_conditional_perceptron_is_one_beside_the_null_space(kernel, rng):
    X, y = clouds(rng)
    model = KernelPerceptron(kernel).fit(X, y)
    assert model.converged_
    Q = np.linalg.qr(Polynomials(kernel.null_degree).fit(X)(X))[0]
    away = np.eye(60) - Q @ Q.T
    definite = away @ kernel(X) @ away
    K = definite + np.trace(definite) / (60 - Q.shape[1]) * Q @ Q.T
    visited = np.unique(X, axis=0, return_index=True)[1][np.random.default_rng(0).permutation(60)]
    K = K[np.ix_(visited, visited)]
    reference = KernelPerceptron("precomputed").fit((K + K.T) / 2, y[visited])
    np.testing.assert_allclose(model.decision_function(X[visited]), reference.decision_function(K), atol=1e-8)
    assert model.n_updates_ == reference.n_updates_
    dilated = KernelPerceptron(kernel).fit(4 * X + [10, -5], y)  # no length scale
    assert dilated.n_updates_ == model.n_updates_
    Z = rng.standard_normal((30, 2))
    np.testing.assert_array_equal(dilated.predict(4 * Z + [10, -5]), model.predict(Z))
    np.testing.assert_allclose(model.function_(Z)[:, 0], model.decision_function(Z))


def test_perceptrons_of_several_classes(rng):
    X, y = clouds(rng, classes=3)
    model = KernelPerceptron(Gaussian(0.5)).fit(X, y)
    single = [KernelPerceptron(Gaussian(0.5)).fit(X, y == name) for name in "abc"]
    for k, one in enumerate(single):
        np.testing.assert_allclose(model.decision_function(X)[:, k], one.decision_function(X))
    assert model.n_updates_ == sum(one.n_updates_ for one in single)
    assert model.n_iter_ == max(one.n_iter_ for one in single)
    assert model.score(X, y) == 1.0
    assert model.dual_coef_.shape == (3, len(model.support_))


def test_perceptron_says_when_the_classes_cannot_be_separated(rng):
    X, y = clouds(rng)
    X[1] = X[0]  # of the other class
    with pytest.warns(ConvergenceWarning, match="corrections in 5 passes"):
        model = KernelPerceptron(Gaussian(), max_iter=5).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 5
    with pytest.warns(ConvergenceWarning):
        KernelPerceptron("precomputed", max_iter=3).fit(-np.eye(60), y)  # each correction makes it worse


def test_shuffling_is_reproducible(rng):
    X, y = clouds(rng)
    runs = [KernelPerceptron(Gaussian(0.3), shuffle=True, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].decision_function(X), runs[1].decision_function(X))
    assert not np.array_equal(runs[0].decision_function(X), runs[2].decision_function(X))


# weights and units of columns


WEIGHTED = [
    *(KernelNeighbors(n_neighbors=3), KernelNeighbors(n_neighbors=4, weights="distance")),
    *(KernelPerceptron(), KernelPerceptron(Gaussian(0.5))),
    *(EnclosingHypersphere(nu=0.3), SlabMachine(nu=0.3), SlabMachine(nu=0.3, metric="standardize")),
]


@pytest.mark.parametrize("machine", WEIGHTED, ids=case_id)
def test_weights_are_repetitions(machine, rng):
    X, y = clouds(rng)
    weights = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    weighted, repeated = clone(machine).fit(X, y, sample_weight=weights), clone(machine).fit(X[rows], y[rows])
    Z = rng.standard_normal((200, 2))
    np.testing.assert_array_equal(weighted.predict(Z), repeated.predict(Z))
    if hasattr(machine, "decision_function"):
        np.testing.assert_allclose(weighted.decision_function(Z), repeated.decision_function(Z), rtol=1e-12, atol=1e-12)
    plain = clone(machine).fit(X, y)
    assert not np.array_equal(plain.predict(Z), weighted.predict(Z)) or hasattr(machine, "decision_function")


@pytest.mark.parametrize(
    "machine", [KernelPerceptron(), EnclosingHypersphere(nu=0.3), SlabMachine(nu=0.3)], ids=case_id
)
def test_a_common_factor_of_weights_changes_nothing(machine, rng):
    X, y = clouds(rng)
    weights, Z = rng.random(len(y)), rng.standard_normal((50, 2))
    one, other = (clone(machine).fit(X, y, sample_weight=factor * weights) for factor in (1.0, 1e-6))
    np.testing.assert_array_equal(one.predict(Z), other.predict(Z))


@pytest.mark.parametrize("machine", [KernelNeighbors, KernelPerceptron, EnclosingHypersphere, SlabMachine])
def test_given_matrices_with_weights_are_those_of_the_points_that_count(machine, rng):
    X, y = clouds(rng)
    weights, kernel = rng.integers(0, 3, len(y)).astype(float), Gaussian(0.5)
    kept = weights > 0
    given = machine("precomputed").fit(kernel(X), y, sample_weight=weights)
    part = machine("precomputed").fit(kernel(X[kept]), y[kept], sample_weight=weights[kept])
    Z = rng.standard_normal((50, 2))
    np.testing.assert_array_equal(given.predict(kernel(Z, X)), part.predict(kernel(Z, X[kept])))


def test_fractions_of_votes(rng):
    X, y = np.array([[0.0], [1.0], [2.0]]), ["a", "b", "b"]
    near = KernelNeighbors(n_neighbors=1).fit(X, y, sample_weight=[0.4, 0.5, 0.5])
    assert near.predict([[0.0]]) == ["b"]  # 0.4 for a; 0.5 and the remaining 0.1 for b
    assert near.kneighbors([[0.0]])[1].tolist() == [[0, 1, 2]]
    with pytest.raises(ValueError, match="n_neighbors=2 must be at most"):
        KernelNeighbors(n_neighbors=2).fit(X, y, sample_weight=[0.4, 0.5, 0.5])


@pytest.mark.parametrize("machine", [KernelNeighbors(n_neighbors=3), KernelPerceptron(Gaussian("auto"))], ids=case_id)
def test_metric_of_classifiers(machine, rng):
    X, y = clouds(rng)
    wide = np.column_stack([X, 1e4 * rng.standard_normal(len(y))])  # a column of noise in large units
    with pytest.warns(UserWarning, match="ranges of the columns"):
        raw = clone(machine).fit(wide[:30], y[:30])
    auto = clone(machine).set_params(metric="auto").fit(wide[:30], y[:30])
    same = clone(machine).set_params(metric="standardize").fit(wide[:30], y[:30])
    np.testing.assert_array_equal(auto.predict(wide), same.predict(wide))
    assert auto.score(wide[30:], y[30:]) > raw.score(wide[30:], y[30:])
    deviation = wide[:30].std(axis=0)
    scaled = clone(machine).fit(wide[:30] / deviation, y[:30])
    np.testing.assert_array_equal(scaled.predict(wide / deviation), same.predict(wide))
    with pytest.raises(ValueError, match="metric='auto' needs points"):
        clone(machine).set_params(metric="auto", kernel="precomputed").fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("machine", [KernelPCA(n_components=2), EnclosingHypersphere(), SlabMachine()], ids=case_id)
def test_metric_without_labels(machine, rng):
    X = rng.standard_normal((40, 3)) * [1.0, 100.0, 1e-2]
    same = clone(machine).set_params(metric="standardize").fit(X)
    scaled = clone(machine).fit(X / X.std(axis=0))
    values = [
        model.transform(Z) if hasattr(model, "transform") else model.decision_function(Z)
        for model, Z in ((same, X), (scaled, X / X.std(axis=0)))
    ]
    np.testing.assert_allclose(*values, atol=1e-7)
    with pytest.raises(ValueError, match="metric='auto' chooses by labels"):
        clone(machine).set_params(metric="auto").fit(X)


# all of them


MACHINES = [
    *(KernelNeighbors(n_neighbors=3), KernelNeighbors(Linear(), weights="distance"), KernelNeighbors("precomputed", 3)),
    *(KernelPCA(), KernelPCA(ThinPlate(), 3), KernelPCA("precomputed", 3)),
    *(EnclosingHypersphere(), EnclosingHypersphere("precomputed", 0.2)),
    *(KernelPerceptron(), KernelPerceptron("precomputed")),
]


def answers(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


@pytest.mark.parametrize("machine", MACHINES, ids=case_id)
def test_saves_without_pickle(machine, rng, tmp_path):
    X, y = clouds(rng, classes=3)
    X = Gaussian(0.2)(X) if machine.kernel == "precomputed" else X
    model = machine.fit(X, y)
    for copy in (type(model).load(model.save(tmp_path / "machine.npz")), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(answers(copy, X), answers(model, X))
        assert repr(copy) == repr(model)
    other = KernelPCA if not isinstance(model, KernelPCA) else KernelPerceptron
    with pytest.raises(ValueError, match="does not hold a"):
        other.load(tmp_path / "machine.npz")


def test_saves_names_of_columns(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = clouds(rng)
    frame = pandas.DataFrame(X, columns=["east", "north"])
    model = KernelNeighbors().fit(frame, y.astype(object))
    copy = KernelNeighbors.load(model.save(tmp_path / "machine.npz"))
    assert list(copy.predict(frame)) == list(model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        copy.predict(frame[["north", "east"]])


@pytest.mark.parametrize("kind", [KernelNeighbors, KernelPCA, EnclosingHypersphere, KernelPerceptron])
def test_sparse_input(kind, rng, tmp_path):
    X = sparse.random_array((50, 60), density=0.2, rng=rng, format="csr")
    y = (X.toarray() @ rng.standard_normal(60) > 0).astype(int)
    thin, dense = kind(Linear()).fit(X, y), kind(Linear()).fit(X.toarray(), y)
    np.testing.assert_allclose(answers(thin, X), answers(dense, X.toarray()), atol=1e-8)
    np.testing.assert_array_equal(answers(kind.load(thin.save(tmp_path / "machine.npz")), X), answers(thin, X))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        kind(Gaussian()).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES, ids=case_id)
def test_training_leaves_the_data_alone(machine, rng):
    X, y = clouds(rng)
    X = Gaussian(0.2)(X) if machine.kernel == "precomputed" else X
    before = X.copy()
    answers(machine.fit(X, y), X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: KernelNeighbors("rbf").fit(X, y), "kernel must be .* got 'rbf'"),
        (lambda X, y: KernelNeighbors(3.0).fit(X, y), "kernel must be .* got 3.0"),
        (lambda X, y: KernelNeighbors(ThinPlate()).fit(X, y), "kernel must be of order 0 or 1"),
        (lambda X, y: KernelNeighbors(n_neighbors=0).fit(X, y), "n_neighbors must be a positive integer, got 0"),
        (lambda X, y: KernelNeighbors(n_neighbors=61).fit(X, y), "n_neighbors=61 must be at most"),
        (lambda X, y: KernelNeighbors(n_neighbors=60).fit(X, y).leave_one_out_score(), "n_neighbors=60 must be less"),
        (lambda X, y: KernelNeighbors(weights="equal").fit(X, y), "weights must be 'uniform' or 'distance'"),
        (lambda X, y: KernelNeighbors(weights="distance").fit(X, y).predict(X, diag=y), "diag goes with"),
        (lambda X, y: KernelNeighbors().fit(X, y).predict(X, diag=y), "diag goes with"),
        (lambda X, y: KernelNeighbors(Manhattan()).fit(X, y).predict(X, diag=y), "diag goes with"),
        (lambda X, y: KernelNeighbors("precomputed_distances").fit(X, y), "square matrix"),
        (lambda X, y: KernelNeighbors("precomputed_distances").fit(-cdist(X, X), y), "X must hold distances"),
        (lambda X, y: KernelNeighbors("precomputed_distances").fit(cdist(X, X), y).predict(-cdist(X, X)), "must hold"),
        (lambda X, y: KernelPCA("precomputed").fit(X), "square matrix"),
        (lambda X, y: KernelPCA("precomputed").fit(X @ X.T).function_, "function_ needs the kernel"),
        (lambda X, y: KernelPCA(n_components=0).fit(X), "n_components must be a positive integer"),
        (lambda X, y: KernelPCA(ThinPlate()).fit(X[:3]), "n_samples=3"),
        (lambda X, y: KernelPCA().fit(X).transform(X[:, :1]), "features"),
        (lambda X, y: EnclosingHypersphere(nu=0.0).fit(X), "nu must be"),
        (lambda X, y: EnclosingHypersphere(nu=1.5).fit(X), "nu must be .* got 1.5"),
        (lambda X, y: EnclosingHypersphere(ThinPlate()).fit(X), "kernel must be of order 0 or 1"),
        (lambda X, y: EnclosingHypersphere("precomputed").fit(np.triu(X @ X.T)), "symmetric"),
        (lambda X, y: EnclosingHypersphere("precomputed").fit(X @ X.T).predict(X @ X.T, diag=[1]), "diag must hold 60"),
        (lambda X, y: KernelPerceptron(max_iter=0).fit(X, y), "max_iter must be a positive integer"),
        (lambda X, y: KernelPerceptron().fit(X, np.ones(60)), "class"),
        (lambda X, y: KernelPerceptron().fit(X * np.nan, y), "NaN"),
    ],
)
def test_bad_input(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(*clouds(rng))


@pytest.mark.parametrize("base", [Gaussian(0.2), NegativeDistance()], ids=case_id)
@pytest.mark.parametrize("kind", [KernelNeighbors, KernelPCA, EnclosingHypersphere, KernelPerceptron])
def test_machines_have_the_invariance_of_their_kernel(kind, base, rng, tmp_path):
    X, y = clouds(rng)
    Z = rng.standard_normal((30, 2))
    model = kind(IntegrationKernel(base, Reflection(0))).fit(X, y)
    if kind is KernelNeighbors:
        np.testing.assert_array_equal(model.predict(Z * [-1, 1]), model.predict(Z))
    else:
        values = model.transform if kind is KernelPCA else model.decision_function
        np.testing.assert_allclose(values(Z * [-1, 1]), values(Z), atol=1e-9)
    copy = kind.load(model.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(answers(copy, Z), answers(model, Z))
