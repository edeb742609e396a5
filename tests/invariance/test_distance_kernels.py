"""Minimum distances, kernels of distances, their definiteness and repair, against SciPy's optimiser, plain loops and
the base kernels [Haasdonk and Burkhardt 2007, definitions 9, 10; propositions 12, 13].
"""

import pickle

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import seminorm
from seminorm._base.saving import load_npz, save_npz
from seminorm.invariance.definiteness import Definiteness, DefiniteRepair, Repair
from seminorm.invariance.distances.base import Distance
from seminorm.invariance.distances.minimum import MinimumDistance
from seminorm.invariance.integration import IntegrationKernel
from seminorm.invariance.registry import all_invariant_kernels
from seminorm.invariance.substitution import DistanceKernel, JitteringKernel
from seminorm.invariance.transformations.base import Quadrature, Transformation
from seminorm.invariance.transformations.composition import Composition
from seminorm.invariance.transformations.finite import CallableTransformation, Identity, Permutations, Reflection
from seminorm.invariance.transformations.vectors import CurveShift, Rotation, Scaling, Shift, SineWave
from seminorm.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    NegativeDistance,
    Polyharmonic,
    Polynomial,
    PowerSeries,
    ThinPlate,
)

RADIAL = [Gaussian(0.8), Laplacian(), Matern(1.5), NegativeDistance(1.5), Multiquadric(), ThinPlate(), Polyharmonic(2)]
PRODUCTS = [Linear(), Polynomial(3, 1.0, 0.5), Polynomial(2, 0.0), PowerSeries("exp"), PowerSeries((0.0, 1.0, 0.5))]
EXAMPLES = [kernel for kernel in all_invariant_kernels() if isinstance(kernel, DistanceKernel)]
CYCLE = Permutations([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
SQUARE = Rotation(n_nodes=4) * Reflection(axis=0)

planes = arrays(float, st.tuples(st.integers(2, 6), st.just(2)), elements=st.floats(-3, 3, width=32))
angles = st.floats(-7.0, 7.0)


class Manhattan(Distance):
    def _pairwise(self, X, Y):
        return cdist(X, X if Y is None else Y, "cityblock")


class TwoSteps(Transformation):
    """A finite set of shifts, with a cost that is no sum over the two sides."""

    n_parameters = 1

    def _apply(self, X, parameters):
        return X + parameters[:, :, None]

    def quadrature(self):
        return Quadrature(np.array([[0.0], [0.5], [2.0]]), np.full(3, 1 / 3))

    def cost(self, parameters, others):
        return np.abs(parameters + others.T)


class SharedCost(Shift):
    """A continuous set, with a cost that is no sum over the two sides."""

    def __init__(self, direction, extent=1.0, n_nodes=9):
        super().__init__(direction, extent, n_nodes)

    def cost(self, parameters, others):
        one, other = np.asarray(parameters)[:, :1], np.asarray(others)[:, :1].T
        return one**2 + other**2 + one * other


def by_optimiser(T, weight, x, y, sides, rng, tries=3):
    """The minimum over the box from many starts of Nelder and Mead's method."""
    p = T.n_parameters

    def value(z):
        first, second = {"both": (z[:p], z[p:]), "second": (T.identity, z), "shared": (z, z)}[sides]
        away = T._apply(x[None], first[None])[0, 0] - T._apply(y[None], second[None])[0, 0]
        return np.linalg.norm(away) + weight * T.cost(first[None], second[None])[0, 0]

    bounds = [(-h, h) for h in T.extent] * (2 if sides == "both" else 1)
    options = {"xatol": 1e-9, "fatol": 1e-10, "maxiter": 600}
    starts = [[0.0] * len(bounds)] + [[rng.uniform(*bound) for bound in bounds] for _ in range(tries)]
    return min(minimize(value, z, method="Nelder-Mead", bounds=bounds, options=options).fun for z in starts)


CONTINUOUS = [
    Shift([1.0, 0.5], 0.7),
    Shift([[1.0, 0.0], [0.3, 1.0]], [0.5, 0.2]),
    Rotation(0.5),
    Rotation(0.4, center=1.0),
    Scaling(0.4),
    CurveShift(SineWave(3.0, 0.5), 1.0),
    Scaling(0.3) * Rotation(0.5),
]


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, 0.2])
@pytest.mark.parametrize("T", CONTINUOUS, ids=lambda T: type(T).__name__)
def test_continuous_minimum_is_that_of_an_optimiser(T, weight, rng):
    X = rng.standard_normal((6, 2))
    D = MinimumDistance(T, weight).pairwise(X)
    assert np.array_equal(D, D.T)
    assert not D.diagonal().any()
    for i, j in ((0, 1), (2, 3)):
        assert D[i, j] <= by_optimiser(T, weight, X[i], X[j], "both", rng) + 1e-7


@pytest.mark.parametrize("options", [{"two_sided": False}, {"simultaneous": True}], ids=case_id)
@pytest.mark.parametrize("weight", [0.0, 0.2])
def test_one_sided_and_simultaneous_minimum(options, weight, rng):
    T = Scaling(0.4) * Shift([1.0, 0.2], 0.3)
    X = rng.standard_normal((4, 2))
    D = MinimumDistance(T, weight, **options).pairwise(X)
    assert np.array_equal(D, D.T)
    for i, j in ((0, 1), (2, 3)):
        if options.get("simultaneous"):
            expected = by_optimiser(T, weight, X[i], X[j], "shared", rng)
        else:
            ways = ((X[i], X[j]), (X[j], X[i]))
            expected = min(by_optimiser(T, weight, x, y, "second", rng) for x, y in ways)
        assert expected - 1e-3 < D[i, j] < expected + 1e-7


def test_values_are_reached_by_some_transformation(rng):
    """Not below the infimum: for shifts it is known in closed form."""
    X = rng.standard_normal((7, 3))
    u = np.array([1.0, -0.5, 0.2])
    D = MinimumDistance(Shift(u, 0.4)).pairwise(X)
    difference = X[:, None] - X[None]
    t = np.clip(difference @ u / (u @ u), -0.8, 0.8)
    np.testing.assert_allclose(D, np.linalg.norm(difference - t[..., None] * u, axis=2), atol=1e-12)


def test_infinite_extent_projects(rng):
    X = rng.standard_normal((5, 3))
    projected = MinimumDistance(Shift([0.0, 2.0, 0.0], np.inf)).pairwise(X)
    np.testing.assert_allclose(projected, cdist(X[:, [0, 2]], X[:, [0, 2]]), atol=1e-10)


@pytest.mark.parametrize("weight", [0.0, 0.3])
@pytest.mark.parametrize("T", [TwoSteps(), CYCLE, Permutations([[0, 1, 2], [1, 0, 2]])], ids=case_id)
@pytest.mark.parametrize("base", [None, Manhattan()], ids=case_id)
def test_finite_sets_by_plain_loops(T, weight, base, rng):
    X, Y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    nodes = T.quadrature().nodes
    costs = weight * T.cost(nodes, nodes)
    norm = np.linalg.norm if base is None else (lambda r: np.abs(r).sum())

    def expected(x, y):
        moved_x, moved_y = T.apply([x], nodes)[:, 0], T.apply([y], nodes)[:, 0]
        pairs = ((i, j) for i in range(len(nodes)) for j in range(len(nodes)))
        return min(norm(moved_x[i] - moved_y[j]) + costs[i, j] for i, j in pairs)

    loops = np.array([[expected(x, y) for y in Y] for x in X])
    np.testing.assert_allclose(MinimumDistance(T, weight, base).pairwise(X, Y), loops, atol=1e-12)
    D = MinimumDistance(T, weight, base).pairwise(X)
    assert np.array_equal(D, D.T)


def test_cost_of_the_user_in_the_descent(rng):
    X = rng.standard_normal((4, 2))
    T = SharedCost([1.0, 0.5], 0.8)
    D = MinimumDistance(T, 0.3).pairwise(X)
    for i, j in ((0, 1), (2, 3)):
        expected = by_optimiser(T, 0.3, X[i], X[j], "both", rng)
        assert expected - 1e-3 < D[i, j] < expected + 1e-7


def test_same_bits_for_tiles_and_threads(rng, monkeypatch):
    import seminorm.invariance.distances.minimum as module

    X = rng.standard_normal((70, 2))
    T = Rotation(0.5)
    plain = MinimumDistance(T, 0.1, threads=1).pairwise(X)
    monkeypatch.setattr(module, "_LARGEST_TILE", 16)
    monkeypatch.setattr(module, "_WORTH_THREADS", 0)
    assert np.array_equal(MinimumDistance(T, 0.1, threads=2).pairwise(X), plain)
    np.testing.assert_allclose(MinimumDistance(T, 0.1, threads=1).pairwise(X[:9], X), plain[:9], atol=1e-12)


@pytest.mark.parametrize("base", RADIAL + PRODUCTS, ids=case_id)
@given(X=planes)
@settings(max_examples=15)
def test_identity_alone_gives_the_base_kernel(base, X):  # proposition 12, i
    for T in (Identity(), Shift([1.0, 1.0], 0.0), Rotation(0.0)):
        kernel = DistanceKernel(base, MinimumDistance(T))
        assert not kernel.is_indefinite
        np.testing.assert_allclose(kernel(X), base(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("base", [Gaussian(0.8), NegativeDistance(1.5), *PRODUCTS], ids=case_id)
@given(X=planes)
@settings(max_examples=15)
def test_large_regularization_gives_the_base_kernel(base, X):  # proposition 12, ii, with the origin at zero
    T = Shift([1.0, 0.5], 1.0)
    exact = DistanceKernel(base, MinimumDistance(T, np.inf))
    np.testing.assert_allclose(exact(X), base(X), rtol=1e-9, atol=1e-9)
    size = np.abs(base(X)).max()
    np.testing.assert_allclose(DistanceKernel(base, MinimumDistance(T, 1e8))(X), base(X), atol=1e-4 * (1 + size))


def test_large_regularization_needs_the_origin_at_zero(rng):
    X = rng.standard_normal((5, 2))
    kernel = DistanceKernel(Linear(), MinimumDistance(Reflection(), np.inf), origin=[1.0, 2.0])
    np.testing.assert_allclose(kernel(X), (X - [1.0, 2.0]) @ (X - [1.0, 2.0]).T, atol=1e-12)


def members(T, X, angle):
    """Patterns under some member of a group."""
    if isinstance(T, Composition):
        return T.apply(X, [[angle, int(angle > 0)]])[0]
    if isinstance(T, Rotation):
        return T.apply(X, [[angle]])[0]
    return T.apply(X, T.quadrature().nodes[-1:])[0]


GROUPS = [Rotation(), Rotation(center=0.5), Reflection(0), Permutations([[0, 1], [1, 0]]), SQUARE]


@pytest.mark.parametrize("base", [Gaussian(0.8), NegativeDistance(1.0), Linear(), Polynomial(2)], ids=case_id)
@pytest.mark.parametrize("T", GROUPS, ids=lambda T: " ".join(repr(T).split()))
@given(X=planes, angle=angles, other=angles)
@settings(max_examples=10)
def test_groups_give_total_invariance(T, base, X, angle, other):  # proposition 12, iii
    kernel = DistanceKernel(base, MinimumDistance(T))
    moved = kernel(members(T, X, angle), members(T, X, other))
    np.testing.assert_allclose(moved, kernel(X, X), atol=1e-10 * (1 + np.abs(moved).max()))


@given(X=planes, angle=angles)
@settings(max_examples=20)
def test_simultaneous_invariance(X, angle):  # proposition 13, ii, which needs regularization = 0
    T = CallableTransformation(_sheared, [0.0, 1.0], group=True)
    d = MinimumDistance(T, simultaneous=True)
    np.testing.assert_allclose(d.pairwise(_sheared(X, [1.0])), d.pairwise(X), atol=1e-10)
    turned = MinimumDistance(Rotation(center=0.7), simultaneous=True)
    np.testing.assert_allclose(
        turned.pairwise(Rotation(center=0.7).apply(X, [[angle]])[0]), turned.pairwise(X), atol=1e-10
    )


def test_simultaneous_regularized_is_not_invariant():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    T = CallableTransformation(_sheared, [0.0, 1.0], group=True)
    d = MinimumDistance(T, 0.05, simultaneous=True)
    assert d.pairwise(X)[0, 1] != pytest.approx(d.pairwise(_sheared(X, [1.0]))[0, 1], abs=1e-6)


def _sheared(X, t):
    """An involution that is no isometry."""
    return X @ np.array([[1.0, 0.0], [1.0, -1.0]]) if t[0] else X


def test_isometric_shortcuts_agree_with_the_full_search(rng):
    X = rng.standard_normal((6, 3))
    full = CallableTransformation(_rolled, [0, 1, 2])  # says neither that it is a group nor that it is isometric
    np.testing.assert_allclose(MinimumDistance(CYCLE).pairwise(X), MinimumDistance(full).pairwise(X), atol=1e-12)
    assert MinimumDistance(CYCLE)._one_side_suffices()
    assert not MinimumDistance(full)._one_side_suffices()


def _rolled(X, t):
    return np.roll(X, int(t[0]), axis=1)


@pytest.mark.parametrize("base", [Gaussian(0.8), Laplacian(), NegativeDistance(1.0), Multiquadric()], ids=case_id)
def test_jittering_in_two_steps(base, rng):
    T, X, Y = CYCLE, rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    moved_x, moved_y = T.apply(X, T.quadrature().nodes), T.apply(Y, T.quadrature().nodes)
    for i in range(5):
        for j in range(4):
            x, y = moved_x[:, i], moved_y[:, j]
            between = base(x, y)
            in_feature_space = base.diag(x)[:, None] + base.diag(y)[None] - 2 * between
            closest = np.unravel_index(in_feature_space.argmin(), between.shape)
            assert JitteringKernel(base, T)(X, Y)[i, j] == pytest.approx(between[closest], abs=1e-12)


@pytest.mark.parametrize(("base", "message"), [(Linear(), "not unique|unique"), (ThinPlate(), "decrease")])
def test_jittering_refuses(base, message):
    with pytest.raises(ValueError, match=message):
        JitteringKernel(base, Reflection())([[1.0, 2.0]])


def test_indefinite_kernel_is_declared_and_reported(rng):
    X = 3 * rng.standard_normal((30, 2))
    kernel = DistanceKernel(Gaussian(), MinimumDistance(CurveShift(SineWave(2.0, 1.0), 2.0)))
    assert kernel.is_indefinite
    report = kernel.definiteness(X)
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    np.testing.assert_allclose(report.eigenvalues, eigenvalues, atol=1e-10)
    assert report.n_negative > 0
    assert not report.is_definite
    assert report.negative_share == pytest.approx(-eigenvalues[eigenvalues < 0].sum() / np.abs(eigenvalues).sum())
    assert "indefinite" in repr(report)
    assert f"{report.n_negative} of 30" in repr(report)


def test_definiteness_of_order_one_looks_at_the_complement_of_constants(rng):
    X = rng.standard_normal((15, 2))
    kernel = DistanceKernel(NegativeDistance(), MinimumDistance(Identity()))
    assert kernel.definiteness(X).is_definite
    assert np.linalg.eigvalsh(kernel(X))[0] < -1
    assert "complement of the constants" in repr(kernel.definiteness(X))
    with pytest.raises(ValueError, match="order must be 0 or 1"):
        DistanceKernel(ThinPlate(), MinimumDistance(Identity())).definiteness(X)


symmetric = arrays(float, (6, 6), elements=st.floats(-5, 5, width=16)).map(lambda A: A + A.T)


@pytest.mark.parametrize("order", [0, 1])
@given(K=symmetric)
def test_repaired_matrices_are_definite(order, K):
    centered = K - K.mean(axis=0) - K.mean(axis=0)[:, None] + K.mean() if order else K
    values, vectors = np.linalg.eigh(centered)
    shift = np.eye(6) * max(0.0, -values[0])
    expected = {"flip": (vectors * np.abs(values)) @ vectors.T, "clip": (vectors * np.maximum(values, 0)) @ vectors.T}
    expected["shift"] = centered + shift
    for method, matrix in expected.items():
        repair = Repair(method, order).fit(K)
        np.testing.assert_allclose(repair.matrix_, matrix, atol=1e-10)
        assert np.array_equal(repair.matrix_, repair.matrix_.T)
        assert np.linalg.eigvalsh(repair.matrix_)[0] > -1e-11 * (1 + np.abs(values).max())
        if method != "shift":
            np.testing.assert_allclose(repair.transform(K[2:4]), repair.matrix_[2:4], atol=1e-10)
        else:
            np.testing.assert_allclose(repair.transform(K[2:4]), centered[2:4], atol=1e-10)


def test_repair_leaves_definite_matrices_alone(rng):
    K = Gaussian()(rng.standard_normal((12, 2)))
    for method in ("flip", "clip", "shift"):
        np.testing.assert_allclose(Repair(method).fit(K).matrix_, K, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Repair("mirror").fit(np.eye(2)), "method must be one of"),
        (lambda: Repair().fit([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
        (lambda: Repair().fit([[0.0, 1.0, 2.0]]), "square"),
        (lambda: Repair().fit(np.eye(3)).transform(np.ones((1, 2))), "3 columns"),
        (lambda: DefiniteRepair("rbf").fit(np.eye(2)), "kernel must be"),
        (lambda: Definiteness.of(np.eye(3), cpd_order=2), "order must be 0 or 1"),
    ],
)
def test_errors_of_repair(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def waves(rng, n=60):
    X = rng.uniform(-2, 2, (n, 2))
    return X, (X[:, 1] > np.sin(2 * X[:, 0])).astype(int)


@pytest.mark.parametrize("method", ["flip", "clip", "shift", None])
@pytest.mark.parametrize("base", [Gaussian(0.5), NegativeDistance(1.0)], ids=case_id)
def test_repair_in_a_pipeline(method, base, rng):
    X, y = waves(rng)
    kernel = DistanceKernel(base, MinimumDistance(Shift([1.0, 0.0], 0.1)))
    machine = make_pipeline(DefiniteRepair(kernel, method), SVC(kernel="precomputed", C=10.0))
    machine.fit(X, y)
    assert machine.score(X, y) > 0.8
    # the same through matrices of distances, also in cross-validation, which cuts their rows and columns
    D = kernel.distance.pairwise(X)
    given = make_pipeline(DefiniteRepair(DistanceKernel(base, "precomputed"), method), machine[-1])
    np.testing.assert_allclose(given[0].fit_transform(D), machine[0].fit_transform(X), atol=1e-10)
    np.testing.assert_allclose(given[0].transform(D[:5]), machine[0].transform(X[:5]), atol=1e-7)
    np.testing.assert_allclose(cross_val_score(given, D, y, cv=3), cross_val_score(machine, X, y, cv=3), atol=0.06)


def test_one_matrix_of_distances_serves_a_search_over_kernels(rng):
    X, y = waves(rng)
    D = MinimumDistance(Shift([1.0, 0.0], 0.1)).pairwise(X)
    machine = make_pipeline(DefiniteRepair(DistanceKernel(Gaussian(), "precomputed")), SVC(kernel="precomputed"))
    search = GridSearchCV(machine, {"definiterepair__kernel__base__scale": [1e-3, 0.5]}, cv=3).fit(D, y)
    assert search.best_params_ == {"definiterepair__kernel__base__scale": 0.5}


@pytest.mark.parametrize("base", RADIAL[:6], ids=case_id)
def test_precomputed_distances_give_the_same_kernel(base, rng):
    X, Y = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
    d = MinimumDistance(Reflection(0))
    direct, given = DistanceKernel(base, d), DistanceKernel(base, "precomputed")
    assert np.array_equal(given(d.pairwise(X)), direct(X))
    assert np.array_equal(given(d.pairwise(X, Y)), direct(X, Y))
    assert np.array_equal(given.diag(d.pairwise(X)), direct.diag(X))


@pytest.mark.parametrize("base", PRODUCTS, ids=case_id)
def test_inner_products_from_precomputed_distances(base, rng):
    X, Y = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
    d = MinimumDistance(Rotation(0.4), 0.1)
    direct, given = DistanceKernel(base, d), DistanceKernel(base, "precomputed")
    assert np.array_equal(given.of_distances(d.pairwise(X), d.to_origin(X)), direct(X))
    assert np.array_equal(given.of_distances(d.pairwise(X, Y), d.to_origin(X), d.to_origin(Y)), direct(X, Y))
    np.testing.assert_allclose(direct.diag(X), direct(X).diagonal(), atol=1e-12)
    with pytest.raises(ValueError, match="of_distances"):
        given(d.pairwise(X))
    with pytest.raises(ValueError, match="rows_to_origin is missing"):
        given.of_distances(d.pairwise(X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DistanceKernel(Gaussian(), "precomputed")([[0.0]], [[1.0]]), "one matrix, of distances"),
        (lambda: DistanceKernel(Gaussian(), "precomputed")([[-1.0]]), "not negative"),
        (lambda: DistanceKernel(Gaussian(), "euclidean")([[1.0]]), "distance must be"),
        (lambda: DistanceKernel(Gaussian() + Linear(), Manhattan())([[1.0]]), "base must be"),
        (lambda: DistanceKernel(PowerSeries("exp", Gaussian()), Manhattan())([[1.0]]), "not a function of the inner"),
        (lambda: MinimumDistance(Reflection(), -1.0).pairwise([[1.0]]), "regularization must be"),
        (lambda: MinimumDistance(Reflection(), base="l1").pairwise([[1.0]]), "base must be"),
        (lambda: MinimumDistance(Rotation(0.5), n_grid=0).pairwise([[1.0, 2.0]]), "n_grid must be"),
        (lambda: MinimumDistance("shift").pairwise([[1.0]]), "transformation must be"),
        (lambda: DistanceKernel(Gaussian(), Manhattan()).gradient([[1.0]], [[2.0]]), "no derivatives"),
    ],
)
def test_errors_of_kernels_and_distances(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("kernel", all_invariant_kernels(), ids=case_id)
def test_kernel_contract(kernel, rng):
    X = rng.standard_normal((7, 2))
    K = kernel(X)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(kernel(X[:3], X), K[:3], atol=1e-10)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), atol=1e-12)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert np.array_equal(copy(X), K)
    assert kernel != DistanceKernel(Gaussian(), Manhattan())
    assert kernel.cpd_order == getattr(kernel, "base", kernel).cpd_order


def test_kernels_compose(rng):
    X = rng.standard_normal((7, 2))
    kernel = DistanceKernel(Gaussian(), MinimumDistance(Reflection(0)))
    np.testing.assert_allclose((kernel + Linear())(X), kernel(X) + X @ X.T)
    np.testing.assert_allclose((2.0 * kernel * Gaussian())(X), 2 * kernel(X) * Gaussian()(X))
    np.testing.assert_allclose((kernel**2)(X), kernel(X) ** 2)
    np.testing.assert_allclose(kernel.axis_scale(2.0)(X), kernel(X / 2))
    for composed in (kernel + Linear(), Gaussian() + kernel, 2 * kernel, kernel * Gaussian(), kernel**2):
        assert composed.is_indefinite
    assert not (Gaussian() + Linear()).is_indefinite


def test_scikit_learn_takes_the_kernels(rng):
    X, y = waves(rng, 40)
    kernel = DistanceKernel(Gaussian(0.5), MinimumDistance(Shift([1.0, 0.0], 0.1)))
    direct, given = SVC(kernel=kernel, C=10.0).fit(X, y), SVC(kernel="precomputed", C=10.0).fit(kernel(X), y)
    np.testing.assert_allclose(direct.decision_function(X), given.decision_function(kernel(X)), atol=1e-6)
    KernelPCA(2, kernel="precomputed").fit(Repair("clip").fit(kernel(X)).matrix_)


@pytest.mark.parametrize(
    "kernel",
    [
        *EXAMPLES,
        DistanceKernel(Gaussian(), "precomputed"),
        DistanceKernel(Linear(), MinimumDistance(CYCLE, np.inf), origin=np.ones(3)),
        DistanceKernel(Matern(2.5), MinimumDistance(Scaling(0.3) * Rotation(0.2), 0.1, two_sided=False)),
    ],
    ids=repr,
)
def test_saved_without_pickle(kernel, tmp_path, rng):
    loaded = load_npz(save_npz(tmp_path / "kernel.npz", {"kernel": kernel}))["kernel"]
    assert loaded == kernel
    X = np.abs(rng.standard_normal((5, 5))) if kernel.distance == "precomputed" else rng.standard_normal((5, 3))
    if kernel.distance == "precomputed" or kernel.max_dimension >= 3:
        assert np.array_equal(loaded(X), kernel(X))


@pytest.mark.parametrize(
    "kernel",
    [
        DistanceKernel(Gaussian(), Manhattan()),
        DistanceKernel(Gaussian(), MinimumDistance(CallableTransformation(_rolled, [0, 1]))),
    ],
    ids=["class of the user", "function of the user"],
)
def test_what_cannot_be_saved_is_named(kernel, tmp_path):
    with pytest.raises(ValueError, match="cannot be saved without pickle"):
        save_npz(tmp_path / "kernel.npz", {"kernel": kernel})
    assert not list(tmp_path.iterdir())


@parametrize_with_checks([DefiniteRepair(Linear()), DefiniteRepair(Gaussian(), "clip"), DefiniteRepair()])
def test_repair_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


def test_parts_are_equal_by_their_parameters():
    waves = [CurveShift(SineWave(2.0, height), 0.3) for height in (0.4, 0.4, 0.5)]
    kernels = [DistanceKernel(Gaussian(), MinimumDistance(wave)) for wave in waves]
    assert waves[0] == waves[1] != waves[2]
    assert kernels[0].distance == kernels[1].distance != kernels[2].distance
    assert kernels[0] == kernels[1] != kernels[2]


def test_a_machine_with_a_curved_shift_is_saved(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2))
    machine = seminorm.SVC(IntegrationKernel(Gaussian(), CurveShift(SineWave(2.0, 0.4), 0.3))).fit(X, X[:, 0] > 0)
    again = seminorm.SVC.load(machine.save(tmp_path / "machine.npz"))
    assert again.kernel == machine.kernel
    assert (again.decision_function(X) == machine.decision_function(X)).all()
