"""Integration kernels and Haar features [Haasdonk and Burkhardt 2007, propositions 7, 11, 13]; shortcuts against the
double sum.
"""

import pickle

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as LibSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import seminorm
from seminorm.invariance import (
    Baseline,
    CallableTransformation,
    CurveShift,
    HaarFeatures,
    ImageRotation,
    ImageShift,
    IntegrationKernel,
    Permutations,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    SignalShift,
    SineWave,
)
from seminorm.invariance.integration import _AveragedFeatures, _Double, _Overlaps, _Single
from seminorm.kernels import (
    FeatureMap,
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
from seminorm.nullspace import Polynomials


def _squares(X):
    return np.column_stack([X, X**2])


seeds = st.integers(0, 2**20)
CYCLE = Permutations([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
GROUPS = [
    Reflection(0),
    Reflection([0.6, 0.8, 0.0]),
    Reflection([[1.0, 0.0, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 1.0]]),
    Rotation(n_nodes=7),
    Rotation(n_nodes=6, center=[1.0, 2.0, 3.0]),
    CYCLE,
    Rotation(n_nodes=4) * Reflection(1),
]
SETS = [
    Shift([1.0, 0.5, 0.0], 0.8, n_nodes=4),
    CurveShift(SineWave(2.0, 0.4), 0.5, n_nodes=3),
    Scaling(0.3, n_nodes=3),
    Rotation(0.4, n_nodes=3),
    Baseline(1, 0.2, n_nodes=2),
    SignalShift(1.0),
    Scaling(0.3, n_nodes=2) * Reflection(0),
]
POSITIVE = [
    Gaussian(1.3),
    Matern(1.5),
    Laplacian(),
    Linear(),
    Polynomial(2),
    PowerSeries("exp", kernel=0.1 * Linear()),
    Gaussian() * Polynomial(2) + 0.5 * Linear(),
    FeatureMap(_squares),
    Gaussian().on_columns([0, 2]),
    Gaussian().axis_scale([1.0, 2.0, 3.0]),
]
ORDER_ONE = [NegativeDistance(1.0), NegativeDistance(1.7), Multiquadric()]


def name(value):
    return case_id(value)[:60]


def points(seed, n=8, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def plain_double_sum(base, maps, X, Y):
    nodes, weights = maps.quadrature()
    left, right = maps.apply(X, nodes), maps.apply(Y, nodes)
    return sum(
        w * v * base(x, y) for w, x in zip(weights, left, strict=True) for v, y in zip(weights, right, strict=True)
    )


@pytest.mark.parametrize("maps", GROUPS + SETS, ids=name)
@pytest.mark.parametrize("base", POSITIVE + ORDER_ONE, ids=name)
def test_is_the_double_sum(base, maps):
    X, Y = points(0, 5), points(1, 4)
    kernel = IntegrationKernel(base, maps)
    expected = plain_double_sum(base, maps, X, Y)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-10, atol=1e-10)
    matrix = kernel(X)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, plain_double_sum(base, maps, X, X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(X), np.diag(matrix), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("maps", [*SETS[:-1], Reflection(0), CYCLE, SETS[0] * SETS[2]], ids=name)
@given(seed=seeds)
@settings(max_examples=5)
def test_identity_alone_recovers_the_base(maps, seed):
    """Proposition 11 i."""
    X = points(seed)
    for base in (Gaussian(), NegativeDistance(1.0), Polynomial(3), Linear(), ThinPlate()):
        for simultaneous in (False, True):
            kernel = IntegrationKernel(base, maps.resized(0), simultaneous)
            np.testing.assert_allclose(kernel(X), base(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("maps", GROUPS, ids=name)
@pytest.mark.parametrize("base", POSITIVE + ORDER_ONE, ids=name)
@given(seed=seeds)
@settings(max_examples=4)
def test_groups_are_totally_invariant(base, maps, seed):
    """Proposition 11 ii: any pattern may be transformed on its own."""
    X, Y = points(seed, 4), points(seed + 1, 5)
    kernel = IntegrationKernel(base, maps)
    before = kernel(X, Y)
    nodes = maps.quadrature().nodes
    chosen = nodes[np.random.default_rng(seed).integers(len(nodes), size=len(X))]
    moved = np.concatenate([maps.apply(x[None], t[None])[0] for x, t in zip(X, chosen, strict=True)])
    np.testing.assert_allclose(kernel(moved, Y), before, rtol=1e-10, atol=1e-10)


@given(seed=seeds, angle=st.floats(-3.0, 3.0))
@settings(max_examples=20)
def test_all_rotations_are_reached_by_enough_nodes(seed, angle):
    """The trapezoidal rule on the circle converges geometrically: any angle, not only those of the nodes."""
    X, Y = points(seed, 4, 2), points(seed + 1, 4, 2)
    maps = Rotation(n_nodes=64)
    kernel = IntegrationKernel(Gaussian(1.5), maps)
    np.testing.assert_allclose(kernel(maps.apply(X, [[angle]])[0], Y), kernel(X, Y), atol=1e-10)


@pytest.mark.parametrize("maps", GROUPS, ids=name)
@pytest.mark.parametrize("base", [Gaussian(), Polynomial(2), Laplacian().axis_scale([1.0, 2.0, 3.0])], ids=name)
@given(seed=seeds)
@settings(max_examples=4)
def test_simultaneous_average_is_simultaneously_invariant(base, maps, seed):
    """Proposition 13 i: all patterns transformed together."""
    X, Y = points(seed, 4), points(seed + 1, 5)
    kernel = IntegrationKernel(base, maps, simultaneous=True)
    nodes, weights = maps.quadrature()
    moved_x, moved_y = maps.apply(X, nodes), maps.apply(Y, nodes)
    expected = sum(w * base(x, y) for w, x, y in zip(weights, moved_x, moved_y, strict=True))
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(moved_x[-1], moved_y[-1]), kernel(X, Y), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("maps", GROUPS + SETS, ids=name)
@given(seed=seeds)
@settings(max_examples=4)
def test_positive_definite_stays_so(maps, seed):
    X = points(seed, 12)
    for base in POSITIVE:
        matrix = IntegrationKernel(base, maps)(X)
        assert IntegrationKernel(base, maps).cpd_order == 0
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-10 * np.trace(matrix)


@pytest.mark.parametrize("maps", GROUPS + SETS, ids=name)
@given(seed=seeds)
@settings(max_examples=4)
def test_order_one_stays_so(maps, seed):
    X = points(seed, 12)
    Z = null_space(np.ones((1, 12)))
    for base in ORDER_ONE:
        kernel = IntegrationKernel(base, maps)
        projected = Z.T @ kernel(X) @ Z
        assert kernel.cpd_order == 1 and kernel.null_degree == 0
        assert np.linalg.eigvalsh(projected)[0] >= -1e-10 * np.abs(projected).max()


@pytest.mark.parametrize("maps", [m for m in GROUPS + SETS if m.is_affine], ids=name)
@given(seed=seeds)
@settings(max_examples=3)
def test_higher_orders_stay_under_affine_maps(maps, seed):
    X = points(seed, 14)
    kernel = IntegrationKernel(ThinPlate(), maps)
    assert kernel.cpd_order == 2
    Z = null_space(Polynomials(1).fit(X)(X).T)
    projected = Z.T @ kernel(X) @ Z
    assert np.linalg.eigvalsh(projected)[0] >= -1e-9 * np.abs(projected).max()


def test_higher_orders_under_curved_maps_need_averaged_polynomials():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 2))
    kernel = IntegrationKernel(ThinPlate(), CurveShift(SineWave(2.0, 1.0), 1.0, n_nodes=7))
    with pytest.raises(ValueError, match="averages of polynomials"):
        kernel.cpd_order  # noqa: B018
    with pytest.raises(ValueError, match="must contain AveragedPolynomials"):
        seminorm.Smoother(kernel=kernel, null_space=1).fit(X, X[:, 0])
    matrix = kernel(X)
    averaged = null_space(kernel.null_features().fit(X).transform(X).T)
    plain = null_space(Polynomials(1).fit(X)(X).T)
    scale = np.abs(matrix).max()
    assert np.linalg.eigvalsh(averaged.T @ matrix @ averaged)[0] >= -1e-11 * scale
    assert np.linalg.eigvalsh(plain.T @ matrix @ plain)[0] < -1e-4 * scale


def test_polynomial_kernel_separates_the_orbits_of_a_finite_group():
    """(<x, y> + 1)^n with n the size of the group: the same kernel function means the same orbit."""
    rng = np.random.default_rng(1)
    for maps in (Reflection(0), CYCLE, Rotation(n_nodes=4), Rotation(n_nodes=2) * Reflection(0)):
        nodes, _ = maps.quadrature()
        kernel = IntegrationKernel(Polynomial(len(nodes)), maps)
        for x in rng.normal(size=(6, 3)):
            orbit = maps.apply(x[None], nodes)[:, 0]
            others = np.concatenate([rng.normal(size=(6, 3)), x * np.sign(rng.normal(size=(6, 3))), [x[[1, 0, 2]]]])
            others = others[np.linalg.norm(others[:, None] - orbit, axis=2).min(axis=1) > 1e-6]
            for y, same in [(y, True) for y in orbit] + [(y, False) for y in others]:
                K = kernel(np.stack([x, y]))
                squared = K[0, 0] - 2 * K[0, 1] + K[1, 1]
                assert (abs(squared) < 1e-10 * K[0, 0]) == same


def test_a_smaller_power_does_not_separate():
    """The linear kernel cannot tell orbits of the rotations by quarters apart: all averages are zero."""
    K = IntegrationKernel(Linear(), Rotation(n_nodes=4))([[1.0, 0.0], [0.3, 2.0]])
    np.testing.assert_allclose(K, 0.0, atol=1e-15)


@given(seed=seeds, extent=st.floats(0.0, 3.0))
@settings(max_examples=20)
def test_linear_kernel_does_not_notice_a_symmetric_shift(seed, extent):
    """Haasdonk and Burkhardt 2007, figure 5."""
    X, direction = points(seed), points(seed + 1, 1)[0]
    np.testing.assert_allclose(IntegrationKernel(Linear(), Shift(direction, extent))(X), X @ X.T, atol=1e-10)


def test_continuous_average_is_the_integral():
    x, y, direction = np.array([0.3, -0.2]), np.array([-0.5, 0.4]), np.array([1.0, 0.5])
    base, extent = Gaussian(0.8), 1.2

    def integrand(t, s):
        apart = (x + t * direction) - (y + s * direction)
        return np.exp(-apart @ apart / (2 * 0.8**2))

    expected = dblquad(integrand, -extent, extent, -extent, extent, epsabs=1e-12)[0] / (2 * extent) ** 2
    kernel = IntegrationKernel(base, Shift(direction, extent, n_nodes=24))
    assert kernel([x], [y])[0, 0] == pytest.approx(expected, abs=1e-12)


def test_continuous_nonlinear_average_is_the_integral():
    x, y, wave = np.array([0.3, -0.2]), np.array([-0.5, 0.4]), SineWave(2.0, 0.7)

    def integrand(t, s):
        return float((1 + wave(x[None], t)[0] @ wave(y[None], s)[0]) ** 2)

    expected = dblquad(integrand, -0.9, 0.9, -0.9, 0.9, epsabs=1e-12)[0] / 1.8**2
    kernel = IntegrationKernel(Polynomial(2), CurveShift(wave, 0.9, n_nodes=16))
    assert kernel([x], [y])[0, 0] == pytest.approx(expected, abs=1e-11)


# --- shortcuts

IMAGE_BASES = [
    Gaussian(4.0),
    Laplacian(3.0),
    NegativeDistance(1.0),
    ThinPlate(),
    Polynomial(3, gamma=0.1),
    Linear(),
    Gaussian(3.0) + 0.2 * Polynomial(2, gamma=0.1),
    Gaussian(3.0).axis_scale(2.0),
    Gaussian(5.0) * Polynomial(2, gamma=0.1),
    PowerSeries("exp", kernel=Gaussian(3.0)),
]


@pytest.mark.parametrize("base", IMAGE_BASES, ids=name)
@pytest.mark.parametrize("shape", [(5, 4), (7,)], ids=case_id)
def test_single_sum_of_padded_shifts_is_the_double_sum(base, shape):
    rng = np.random.default_rng(2)
    X, Y = rng.random((6, np.prod(shape))), rng.random((5, np.prod(shape)))
    X[1], X[2, :] = X[0], 0.0  # equal images, and an empty one
    maps = ImageShift(shape, (2, 1), padding=2) if len(shape) == 2 else SignalShift(2, padding=2)
    X[3] = (
        maps.apply(X[:1], np.ones((1, maps.n_parameters)))[0]
        .reshape(1, *np.add(shape, 4))[(0,) + (slice(2, -2),) * len(shape)]
        .ravel()
    )  # a shifted image
    kernel = IntegrationKernel(base, maps)
    np.testing.assert_allclose(kernel(X, Y), plain_double_sum(base, maps, X, Y), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(kernel(X), plain_double_sum(base, maps, X, X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-11, atol=1e-11)


def test_which_way_is_taken():
    X = points(0)
    shift, open_shift = SignalShift(1, padding=1), SignalShift(1)
    ways = {
        _Overlaps: IntegrationKernel(Gaussian(), shift),
        _Double: IntegrationKernel(Gaussian(), open_shift),
        _Single: IntegrationKernel(Gaussian(), CYCLE),
        _AveragedFeatures: IntegrationKernel(Linear(), open_shift),
    }
    for way, kernel in ways.items():
        assert type(kernel._average(X, X)) is way
    assert type(IntegrationKernel(Gaussian().on_columns([0]), CYCLE)._average(X, X)) is _Double


def test_tiles_do_not_show(monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = rng.random((23, 12)), rng.random((17, 12))
    kernels = [
        IntegrationKernel(Gaussian(), ImageShift((3, 4), 1, padding=1)),
        IntegrationKernel(Gaussian(), ImageShift((3, 4), 1)),
        IntegrationKernel(Gaussian(), Reflection(0)),
        IntegrationKernel(Linear(), ImageShift((3, 4), 1)),
        IntegrationKernel(Gaussian(), Reflection(0), simultaneous=True),
    ]
    whole = [(kernel(X), kernel(X, Y), kernel.diag(X)) for kernel in kernels]
    for limit, value in {
        "_TILE_VALUES": 2500,
        "_KEPT_VALUES": 0,
        "_LARGEST_TILE": 5,
        "_OVERLAP_TILE": 5,
        "_MOVED_VALUES": 700,
    }.items():
        monkeypatch.setattr(f"seminorm.invariance.integration.{limit}", value)
    for kernel, expected in zip(kernels, whole, strict=True):
        for tiled, matrix in zip((kernel(X), kernel(X, Y), kernel.diag(X)), expected, strict=True):
            np.testing.assert_allclose(tiled, matrix, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(kernel(X), kernel(X).T)


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("seminorm.invariance.integration._OVERLAP_TILE", 16)
    X = np.random.default_rng(4).random((70, 48))
    kernel = IntegrationKernel(Gaussian(), ImageShift((6, 8), 1, padding=1))
    results = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            results.append(kernel(X))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_images_may_come_as_images():
    X = np.random.default_rng(4).random((5, 4, 3))
    kernel = IntegrationKernel(Gaussian(), ImageShift((4, 3), 1, padding=1))
    np.testing.assert_array_equal(kernel(X), kernel(X.reshape(5, 12)))


def test_polyharmonic_is_settled_for_the_padded_size():
    kernel = IntegrationKernel(Polyharmonic(4), SignalShift(1, padding=1)).for_dimension(5)
    assert kernel.base == Polyharmonic(4).for_dimension(7)
    assert IntegrationKernel(Polyharmonic(2), Scaling(0.1)).for_dimension(3).null_degree == 1


def test_rotated_images_are_nearly_invariant():
    """What interpolation leaves of the invariance, for smooth images that stay inside."""
    rows, columns = np.mgrid[:17, :17] - 8.0
    X = np.stack([np.exp(-((rows - a) ** 2 + (columns - b) ** 2) / 6) for a, b in [(2, 1), (0, 3), (-1, -2)]]).reshape(
        3, -1
    )
    maps = ImageRotation((17, 17), np.pi, n_nodes=32)
    for base, reached in ((Gaussian(2.0), 1e-3), (Polynomial(3), 1e-3)):
        kernel = IntegrationKernel(base, maps)
        before = kernel(X)
        after = kernel(maps.apply(X, [[0.77]])[0], X)
        change = np.abs(after - before).max() / np.abs(before).max()
        unaveraged = np.abs(base(maps.apply(X, [[0.77]])[0], X) - base(X)).max() / np.abs(base(X)).max()
        assert change < reached and unaveraged > 0.1


# --- use


def test_behaves_like_a_kernel():
    X = points(5, 20)
    y = np.where(np.abs(X[:, 0]) > 0.7, 1, -1)
    kernel = IntegrationKernel(Gaussian(), Reflection(0))
    assert clone(kernel) == kernel and pickle.loads(pickle.dumps(kernel)) == kernel
    assert kernel != IntegrationKernel(Gaussian(), Reflection(1))
    assert clone(kernel).set_params(base__scale=2.0).base.scale == 2.0
    flipped = X * [-1, 1, 1]
    for machine in (seminorm.SVC(kernel=kernel), LibSVC(kernel=kernel)):
        np.testing.assert_array_equal(machine.fit(X, y).predict(flipped), machine.predict(X))
    smoother = seminorm.Smoother(kernel=IntegrationKernel(NegativeDistance(1.0), Reflection(0)), alpha=0.01)
    np.testing.assert_allclose(smoother.fit(X, X[:, 1]).predict(flipped), smoother.predict(X), atol=1e-8)
    assert KernelPCA(2, kernel=kernel).fit_transform(X).shape == (20, 2)
    assert ((kernel + Linear())(X) == kernel(X) + Linear()(X)).all()


def test_refusals():
    X = points(6)
    with pytest.raises(ValueError, match="no derivatives"):
        IntegrationKernel(Gaussian(), Reflection(0)).gradient(X, X + 1)
    with pytest.raises(ValueError, match="transformation must be"):
        IntegrationKernel(Gaussian(), "shift")(X)
    with pytest.raises(ValueError, match="base must be"):
        IntegrationKernel("rbf", Reflection(0))(X)
    with pytest.raises(ValueError, match="infinite"):
        IntegrationKernel(Gaussian(), Shift([1.0, 0.0, 0.0], np.inf))(X)
    with pytest.raises(ValueError, match="no images of shape"):
        IntegrationKernel(Gaussian(), ImageShift((4, 4)))(X)


# --- Haar features


@parametrize_with_checks(
    [
        HaarFeatures(),
        HaarFeatures(Reflection(0)),
        HaarFeatures(Scaling(0.2, n_nodes=3), degree=1, include_constant=True),
    ]
)
def test_haar_features_are_a_transformer(estimator, check):
    check(estimator)


@pytest.mark.parametrize("maps", GROUPS, ids=name)
@given(seed=seeds)
@settings(max_examples=4)
def test_haar_features_of_groups_are_invariant(maps, seed):
    """Proposition 7 i: their inner product is a totally invariant kernel."""
    X = points(seed)
    for features in (HaarFeatures(maps, degree=3), HaarFeatures(maps, functions=[np.cos, lambda X: np.exp(X[:, 0])])):
        values = features.fit_transform(X)
        for moved in maps.apply(X, maps.quadrature().nodes):
            np.testing.assert_allclose(features.transform(moved), values, rtol=1e-9, atol=1e-9)


def test_haar_features_are_what_the_polynomial_kernel_works_with():
    """(<x, y> + 1)^2 is an inner product of monomials: so is its average, of averaged monomials."""
    X = points(7, 6)
    factors = {0: 1.0, 1: np.sqrt(2.0)}
    haar = HaarFeatures(CYCLE, degree=2, include_constant=True).fit(X)
    powers = haar.monomials_.powers_
    scale = np.array([factors[0] if max(p) == 2 or sum(p) == 0 else factors[1] for p in powers])
    features = haar.transform(X) * scale
    np.testing.assert_allclose(features @ features.T, IntegrationKernel(Polynomial(2), CYCLE)(X), rtol=1e-12)


def test_haar_feature_names():
    X = points(8, 4)
    features = HaarFeatures(Reflection(0), functions=[np.sin, lambda X: X[:, 0]]).fit(X)
    assert features.get_feature_names_out().tolist() == ["mean sin_0", "mean sin_1", "mean sin_2", "mean h1"]
    assert make_pipeline(features, LibSVC()).fit(X, [0, 1, 0, 1]).predict(X).shape == (4,)
    with pytest.raises(ValueError, match="functions"):
        HaarFeatures(functions=[3]).fit(X)
    with pytest.raises(ValueError, match="degree"):
        HaarFeatures(degree=0).fit(X)


def test_callable_transformations_average():
    maps = CallableTransformation(lambda X, t: X + t[0], nodes=[0, 1], weights=[3, 1])
    X = points(9, 4)
    np.testing.assert_allclose(
        IntegrationKernel(Gaussian(), maps)(X), plain_double_sum(Gaussian(), maps, X, X), rtol=1e-12
    )
