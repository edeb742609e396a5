"""Sets of transformations: identity, averages, tangents, sizes, compositions, and what they refuse."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.integrate import quad
from scipy.linalg import expm
from sklearn.base import clone

from seminorm import invariance
from seminorm.invariance import (
    Amplitude,
    Baseline,
    Brightness,
    CallableTransformation,
    Composition,
    CurveShift,
    Identity,
    ImageRotation,
    ImageScaling,
    ImageShear,
    ImageShift,
    LineThickness,
    ParallelCurve,
    Permutations,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    SignalShift,
    SineWave,
    all_transformations,
    seven_deformations,
)
from seminorm.invariance.transformations.interpolation import smoothed

SHAPE = (9, 12)
IMAGE_MAPS = [
    ImageShift(SHAPE, extent=(1.5, 2.0), n_nodes=(3, 4)),
    ImageRotation(SHAPE),
    ImageScaling(SHAPE),
    ImageShear(SHAPE),
    LineThickness(SHAPE),
]


def _parabola(t):
    return np.array([t, t**2, 0.0])


def _turn(X, t):
    return np.roll(X, int(t[0]), axis=1)


POINT_MAPS = [
    Shift([1.0, -2.0, 0.5], 0.7),
    Shift([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [0.5, 0.2], n_nodes=3),
    CurveShift(SineWave(2.0, 0.5), 0.8),
    CurveShift(ParallelCurve(_parabola), 0.8),
    Rotation(np.pi, n_nodes=12),
    Rotation(0.5, plane=(2, 0), center=[1.0, 2.0, 3.0], n_nodes=5),
    Scaling(0.4),
    Reflection(1),
    Reflection([1.0, 1.0, 0.0]),
    Reflection([[1.0, 0.0, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 1.0]]),
    Permutations([[1, 0, 2], [0, 1, 2]]),
    CallableTransformation(_turn, nodes=[[0], [1], [2]], group=True, isometric=True, affine=True),
    Identity(),
    Amplitude(0.3),
    Baseline(2, [0.3, 0.2, 0.1]),
    SignalShift(1.5),
    SignalShift(2, padding=2),
    Brightness(0.2),
    Scaling(0.2, n_nodes=3) * Rotation(0.3, n_nodes=3) * Reflection(0),
]
ALL = [(maps, 3) for maps in POINT_MAPS] + [(maps, 108) for maps in IMAGE_MAPS]
SMOOTH = [(maps, d) for maps, d in ALL if maps.extent is not None]
REGISTERED = [(maps, 12) for maps in all_transformations()]


def _name(case):
    return type(case[0]).__name__


def _blobs(n=3, shape=SHAPE, width=1.6):
    """Smooth images that vanish at the edges."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    centers = np.array(shape)[:, None] / 2 - 0.5 + rng.uniform(-0.7, 0.7, (2, n))
    return np.stack(
        [np.exp(-((rows - y) ** 2 + 0.7 * (columns - x) ** 2) / (2 * width**2)) for y, x in centers.T]
    ).reshape(n, -1)


@pytest.mark.parametrize("case", REGISTERED + ALL, ids=_name)
def test_contract(case):
    maps, d = case
    X = np.random.default_rng(1).normal(size=(4, d))
    nodes, weights = maps.quadrature()
    assert nodes.shape == (len(weights), maps.n_parameters)
    assert (weights > 0).all() and weights.sum() == pytest.approx(1.0, abs=1e-14)
    moved = maps.apply(X, nodes)
    assert moved.shape == (len(nodes), 4, maps.transformed_size(d))
    one_by_one = [maps.apply(X[i : i + 1], node[None])[0, 0] for i in range(4) for node in nodes[:2]]
    np.testing.assert_allclose(one_by_one, [moved[k, i] for i in range(4) for k in range(len(nodes[:2]))], atol=1e-12)
    unmoved = maps.apply(X, maps.identity[None])[0]
    if maps.transformed_size(d) == d:
        np.testing.assert_array_equal(unmoved, X)
    cost = maps.cost(nodes, nodes)
    np.testing.assert_allclose(cost, cost.T)
    assert maps.cost(maps.identity[None], maps.identity[None]) == 0
    if len(nodes) > 1:
        away = (nodes != maps.identity).any(axis=1)
        assert (maps.cost(nodes[away], maps.identity[None]) > 0).all()
    alone = maps.resized(0)
    np.testing.assert_array_equal(alone.apply(X, alone.quadrature().nodes), unmoved[None])
    again = clone(maps)
    assert again == maps and pickle.loads(pickle.dumps(maps)) == maps
    np.testing.assert_array_equal(again.apply(X, nodes), moved)


@pytest.mark.parametrize("case", [c for c in SMOOTH if c[0].n_parameters], ids=_name)
def test_tangents_are_derivatives(case):
    maps, d = case
    X, grid = np.random.default_rng(2).normal(size=(3, d)), None
    if d != 3:
        grid = (23, 25)
        maps, X = clone(maps).set_params(shape=grid), _blobs(3, grid)
    elif isinstance(maps, SignalShift):
        grid, X = (25,), _blobs(3, (1, 25))
    tangents = maps.tangents(X)
    assert tangents.shape == (3, maps.n_parameters, maps.transformed_size(X.shape[1]))
    start = X
    if grid and not isinstance(maps, LineThickness):  # tangents of images are derivatives of the smoothed images
        start = smoothed(X.reshape(3, *grid), maps.smoothing).reshape(3, -1)
    step = 1e-4
    for k in range(maps.n_parameters):
        row = np.zeros(maps.n_parameters)
        row[k] = step
        ahead, back = maps.apply(start, [maps.identity + row, maps.identity - row])
        tolerance = 0.01 * np.abs(tangents[:, k]).max() if grid else 1e-6
        np.testing.assert_allclose(tangents[:, k], (ahead - back) / (2 * step), atol=tolerance)


@pytest.mark.parametrize("case", [c for c in ALL if c[0].extent is None], ids=_name)
def test_finite_lists_have_no_tangents(case):
    with pytest.raises(ValueError, match="no tangents"):
        case[0].tangents(np.ones((2, 3)))


@pytest.mark.parametrize("case", [c for c in REGISTERED + ALL if c[0].is_affine], ids=_name)
def test_affine_means_affine(case):
    maps, d = case
    X = np.random.default_rng(3).normal(size=(3, d))
    X[2] = 0.3 * X[0] + 0.7 * X[1]
    moved = maps.apply(X, maps.quadrature().nodes)
    np.testing.assert_allclose(moved[:, 2], 0.3 * moved[:, 0] + 0.7 * moved[:, 1], atol=1e-12)


@pytest.mark.parametrize("case", [c for c in REGISTERED + ALL if c[0].is_isometric], ids=_name)
def test_isometric_means_isometric(case):
    maps, d = case
    X = np.random.default_rng(4).normal(size=(5, d))
    for moved in maps.apply(X, maps.quadrature().nodes):
        np.testing.assert_allclose(moved @ moved.T, X @ X.T, atol=1e-12)


def _check_group(maps, d=3):
    """The weighted orbit of t x is the weighted orbit of x, for every t."""
    x = np.random.default_rng(5).normal(size=(1, d))
    nodes, weights = maps.quadrature()
    orbit = maps.apply(x, nodes)[:, 0]
    share = (np.linalg.norm(orbit[:, None] - orbit, axis=2) < 1e-9) @ weights
    for t in nodes:
        other = maps.apply(maps.apply(x, t[None])[0], nodes)[:, 0]
        np.testing.assert_allclose((np.linalg.norm(orbit[:, None] - other, axis=2) < 1e-9) @ weights, share)


@pytest.mark.parametrize("case", [c for c in REGISTERED + ALL if c[0].is_group], ids=_name)
def test_groups_are_closed_with_invariant_measure(case):
    _check_group(*case)


@given(st.floats(0.0, 3.0), st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_shift_average_is_the_integral(extent, n_nodes):
    """Gauss-Legendre with n nodes is exact up to degree 2 n - 1."""
    nodes, weights = Shift([1.0], extent, n_nodes=n_nodes).quadrature()
    degree = 2 * n_nodes - 2
    expected = quad(lambda t: t**degree, -extent, extent)[0] / (2 * extent) if extent > 1e-3 else None
    if expected is not None:
        assert weights @ nodes[:, 0] ** degree == pytest.approx(expected, rel=1e-9)


def test_rotation_turns_from_the_first_to_the_second_column():
    turned = Rotation(plane=(0, 1)).apply([[1.0, 0.0, 7.0]], [[0.3]])[0, 0]
    generator = np.array([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(turned[:2], expm(0.3 * generator)[:, 0])
    assert turned[2] == 7.0


def test_rotation_about_a_center_fixes_it():
    center = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(Rotation(1.0, center=center).apply([center], [[0.7]])[0, 0], center)


def test_reflection_in_a_vector_is_householder():
    normal = np.array([1.0, 2.0, -1.0])
    matrix = np.eye(3) - 2 * np.outer(normal, normal) / (normal @ normal)
    X = np.random.default_rng(6).normal(size=(4, 3))
    np.testing.assert_allclose(Reflection(normal).apply(X, [[1]])[0], X @ matrix.T)
    assert not Reflection([[1.0, 0.0], [2.0, -1.0]]).is_isometric


def test_sine_wave_keeps_points_on_their_wave():
    wave = SineWave(frequency=3.0, amplitude=0.5)
    X = np.array([[0.2, 0.5 * np.sin(0.6)]])
    for moved in CurveShift(wave, 1.0).apply(X, [[-0.7], [0.4], [1.0]])[:, 0]:
        assert moved[1] == pytest.approx(0.5 * np.sin(3 * moved[0]))


# --- compositions


def test_composition_is_first_inner_then_outer():
    X = np.random.default_rng(7).normal(size=(4, 2))
    outer, inner = Scaling(0.5), Shift([1.0, 2.0], 1.0)
    both = outer * inner
    np.testing.assert_allclose(both.apply(X, [[0.2, -0.4]])[0], np.exp(0.2) * (X - 0.4 * np.array([1.0, 2.0])))
    nodes, weights = both.quadrature()
    assert len(weights) == 81 and both.n_parameters == 2
    np.testing.assert_allclose(both.extent, [0.5, 1.0])
    np.testing.assert_allclose(
        both.cost(nodes[:3], nodes[:2]),
        outer.cost(nodes[:3, :1], nodes[:2, :1]) + inner.cost(nodes[:3, 1:], nodes[:2, 1:]),
    )
    np.testing.assert_allclose(both.resized(0.5).extent, [0.25, 0.5])


def test_composition_does_not_depend_on_brackets():
    X = np.random.default_rng(8).normal(size=(3, 2))
    A, B, C = Scaling(0.5, n_nodes=2), Shift([1.0, 2.0], 1.0, n_nodes=3), Rotation(0.4, n_nodes=2)
    left, right = (A * B) * C, A * (B * C)
    assert left.parts == right.parts == (A, B, C)
    nodes = left.quadrature().nodes
    np.testing.assert_array_equal(nodes, right.quadrature().nodes)
    np.testing.assert_array_equal(left.apply(X, nodes), right.apply(X, nodes))
    np.testing.assert_array_equal(left.tangents(X), right.tangents(X))


@pytest.mark.parametrize(
    ("outer", "inner", "group"),
    [
        (Rotation(n_nodes=4), Reflection(0), True),  # dihedral
        (Rotation(n_nodes=5), Reflection([0.3, 0.8, 0.0]), True),
        (Reflection(0), Reflection(1), True),
        (Reflection([1.0, 0.0, 0.0]), Reflection([1.0, 0.3, 0.0]), False),  # generate a larger group
        (Rotation(n_nodes=6), Rotation(n_nodes=4), True),
        (Rotation(0.5), Reflection(0), False),
        (Rotation(center=1.0), Reflection(0), False),
        (Permutations([[0, 1, 2], [1, 2, 0], [2, 0, 1]]), Permutations([[0, 1, 2], [1, 0, 2]]), True),
        (Permutations([[0, 1, 2], [0, 2, 1]]), Permutations([[0, 1, 2], [1, 0, 2]]), False),
        (Identity(), Reflection(2), True),
        (Scaling(0.2), Reflection(2), False),
    ],
)
def test_compositions_that_are_groups(outer, inner, group):
    assert (outer * inner).is_group is group
    if group:
        _check_group(outer * inner)


def test_composition_of_padded_images():
    """Padding makes images larger for what follows."""
    X = _blobs()
    both = ImageRotation((13, 16), 0.2) * ImageShift(SHAPE, 2, padding=2)
    assert both.transformed_size(108) == 13 * 16
    assert both.tangents(X).shape == (3, 3, 13 * 16)
    other = ImageShift(SHAPE, 2, padding=2) * ImageRotation(SHAPE, 0.2)
    assert other.tangents(X).shape == (3, 3, 13 * 16)
    np.testing.assert_array_equal(other.apply(X, other.identity[None]), both.apply(X, both.identity[None]))
    with pytest.raises(ValueError, match="larger shape"):
        (ImageRotation(SHAPE, 0.2) * ImageShift(SHAPE, 2, padding=2)).apply(X, [[0.1, 0.0, 1.0]])


# --- images and signals


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_whole_pixels_are_exact(interpolation):
    X = np.random.default_rng(9).normal(size=(2, *SHAPE))
    shift = ImageShift(SHAPE, 20, interpolation=interpolation)
    expected = np.zeros_like(X)
    expected[:, 2:, :-3] = X[:, :-2, 3:]
    np.testing.assert_array_equal(shift.apply(X, [[2, -3]])[0], expected.reshape(2, -1))
    np.testing.assert_array_equal(shift.apply(X, [[0, 15]])[0], np.zeros((2, 108)))


@pytest.mark.parametrize(("interpolation", "order"), [("linear", 1), ("cubic", 3)])
def test_parts_of_pixels_agree_with_scipy(interpolation, order):
    X = np.random.default_rng(10).normal(size=(1, *SHAPE))
    shift = ImageShift(SHAPE, 3, interpolation=interpolation)
    moved = shift.apply(X, [[0.3, -1.6]])[0].reshape(SHAPE)
    wide = np.pad(X[0], 14)
    expected = ndimage.shift(wide, (0.3, -1.6), order=order)[14:-14, 14:-14]
    np.testing.assert_allclose(moved, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("maps", "row", "matrix"),
    [
        (ImageRotation(SHAPE), [0.4], expm(0.4 * np.array([[0.0, -1.0], [1.0, 0.0]]))),
        (ImageScaling(SHAPE), [0.2], np.exp(0.2) * np.eye(2)),
        (ImageShear(SHAPE), [0.2, -0.3], expm(np.array([[-0.2, -0.3], [-0.3, 0.2]]))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_linear_maps_of_images_agree_with_scipy(maps, row, matrix):
    X = np.random.default_rng(11).normal(size=(1, *SHAPE))
    wide = np.pad(X[0], 14)
    middle = (np.array(wide.shape) - 1) / 2
    inverse = np.linalg.inv(matrix)
    expected = ndimage.affine_transform(wide, inverse, middle - inverse @ middle, order=3)[14:-14, 14:-14]
    np.testing.assert_allclose(maps.apply(X, [row])[0].reshape(SHAPE), expected, atol=1e-11)


def test_rotation_is_counter_clockwise_on_the_screen():
    image = np.zeros((9, 9))
    image[4, 7] = 1.0  # to the right
    turned = ImageRotation((9, 9)).apply(image[None], [[np.pi / 2]])[0].reshape(9, 9)
    assert np.unravel_index(turned.argmax(), (9, 9)) == (1, 4)  # to the top


def test_quarter_turns_of_square_images_are_exact():
    X = np.random.default_rng(12).normal(size=(2, 8, 8))
    turned = ImageRotation((8, 8), np.pi, n_nodes=4).apply(X, [[np.pi / 2]])[0].reshape(2, 8, 8)
    np.testing.assert_allclose(turned, np.rot90(X, axes=(1, 2)), atol=1e-12)


def test_padded_whole_shifts_are_isometric():
    X = np.random.default_rng(13).normal(size=(4, 108))
    shift = ImageShift(SHAPE, (2, 3), padding=3)
    assert shift.is_isometric and shift.transformed_size(108) == 15 * 18
    for moved in shift.apply(X, shift.quadrature().nodes):
        np.testing.assert_allclose(moved @ moved.T, X @ X.T, atol=1e-12)
    assert not ImageShift(SHAPE, (2, 3), padding=2).is_isometric
    assert not ImageShift(SHAPE, (2, 3), n_nodes=4, padding=3).is_isometric
    assert ImageShift(SHAPE, (2, 3), padding=2).differences() is None


def test_differences_count_all_pairs():
    shift = ImageShift((16, 16), 4, padding=4)
    nodes, weights = shift.quadrature()
    apart, shares = shift.differences()
    assert (len(weights), len(shares)) == (81, 289)
    table = {}
    for one in nodes:
        for other in nodes:
            table[tuple(other - one)] = table.get(tuple(other - one), 0) + 1 / 81**2
    np.testing.assert_allclose(shares, [table[tuple(row)] for row in apart])


@pytest.mark.parametrize("difference", [(0, 0), (2, -3), (-8, 11), (9, 0)])
def test_overlap_gives_products_with_the_shifted(difference):
    X, Y = np.random.default_rng(14).normal(size=(2, 3, 108))
    shift = ImageShift(SHAPE, 12, padding=12)
    here, there = shift.overlap(X, Y, np.array(difference, dtype=float))
    padded, shifted = shift.apply(X, [[0, 0]])[0], shift.apply(Y, [difference])[0]
    np.testing.assert_allclose(here @ there.T, padded @ shifted.T, atol=1e-12)


def test_line_thickness_grows_strokes():
    image = np.zeros((9, 9))
    image[4, 2:7] = 1.0
    thin, same, thick = LineThickness((9, 9)).apply(image[None], [[-0.5], [0.0], [0.5]])[:, 0]
    assert thin.sum() < same.sum() < thick.sum()
    np.testing.assert_array_equal(same, image.ravel())


def test_seven_deformations_have_seven_tangents():
    tangents = seven_deformations(SHAPE).tangents(_blobs())
    assert tangents.shape == (3, 7, 108)
    assert (np.linalg.matrix_rank(tangents) == 7).all()


def test_images_may_be_flat_or_not():
    X = _blobs()
    shift = ImageShift(SHAPE, 1)
    np.testing.assert_array_equal(shift.apply(X, [[1, 0.5]]), shift.apply(X.reshape(3, *SHAPE), [[1, 0.5]]))


def test_baseline_adds_legendre_polynomials():
    x = np.linspace(-1, 1, 7)
    moved = Baseline(2).apply(np.zeros((1, 7)), [[0.5, 2.0, -1.0]])[0, 0]
    np.testing.assert_allclose(moved, 0.5 + 2 * x - (3 * x**2 - 1) / 2)


# --- what is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shift([1.0, 0.0], -1.0), "extent"),
        (lambda: Shift([1.0, 0.0], np.nan), "extent"),
        (lambda: Shift([1.0, 0.0], np.inf).quadrature(), "infinite"),
        (lambda: Shift([1.0, 0.0]).apply(np.ones((1, 3)), [[1.0]]), "direction has 2"),
        (lambda: Shift([1.0, 0.0]).apply(np.ones((1, 2)), [[1.0, 2.0]]), "parameters must have shape"),
        (lambda: Shift([1.0, 0.0], n_nodes=0).quadrature(), "n_nodes"),
        (lambda: Shift([1.0, 0.0]).resized(-1), "factor"),
        (lambda: CurveShift(lambda X, t: X + t + 1).apply(np.ones((1, 2)), [[0.5]]), "must return X"),
        (lambda: CurveShift(lambda X, t: X[:, :1]).apply(np.ones((1, 2)), [[0.5]]), "shape"),
        (lambda: Rotation(plane=(0, 0)).apply(np.ones((1, 2)), [[0.5]]), "plane"),
        (lambda: Rotation(plane=(0, 5)).apply(np.ones((1, 2)), [[0.5]]), "column 5"),
        (lambda: Reflection(3).apply(np.ones((1, 2)), [[1]]), "axis"),
        (lambda: Reflection(np.ones((2, 2))).apply(np.ones((1, 2)), [[1]]), "no reflection"),
        (lambda: Reflection(0).apply(np.ones((1, 2)), [[0.5]]), "integers from 0 to 1"),
        (lambda: Reflection(0).resized(0.5), "finite list"),
        (lambda: Permutations([[1, 0]]).quadrature(), "identity"),
        (lambda: Permutations([[0, 1], [1, 1]]).quadrature(), "once"),
        (lambda: Permutations([[0, 1], [0, 1]]).quadrature(), "different"),
        (lambda: Permutations([[0, 1], [0, 1, 2]]).quadrature(), "permutations"),
        (lambda: Permutations([[0, 1]]).apply(np.ones((1, 3)), [[0]]), "2 columns"),
        (lambda: CallableTransformation(_turn, nodes=[1, 2]).quadrature(), "contain the identity"),
        (lambda: CallableTransformation(lambda X, t: X + 1, [0, 1]).apply(np.ones((1, 3)), [[1]]), "of the identity"),
        (lambda: CallableTransformation(_turn, [0, 1], weights=[1, -1]).quadrature(), "weights"),
        (lambda: ImageShift(None).apply(np.ones((2, 9)), [[0, 0]]), "shape must be"),
        (lambda: ImageShift((3, 4)).apply(np.ones((2, 9)), [[0, 0]]), "no images of shape"),
        (lambda: ImageShift((3, 3), padding=-1).apply(np.ones((2, 9)), [[0, 0]]), "padding"),
        (lambda: ImageShift((3, 3), interpolation="sinc").apply(np.ones((2, 9)), [[0, 0.5]]), "interpolation"),
        (lambda: ImageShift((3, 3), smoothing=-1).tangents(np.ones((2, 9))), "smoothing"),
        (lambda: Baseline(-1), "degree"),
        (lambda: Brightness().apply([[np.nan]], [[0.1]]), "NaN"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_names_are_found():
    assert invariance.Composition is Composition
    assert set(dir(invariance)) == set(invariance.__all__)
    with pytest.raises(AttributeError):
        invariance.nothing  # noqa: B018
