"""Distances of patterns: against formulas written out, SciPy and least squares; their contract; bad input."""

import ctypes
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given
from hypothesis import strategies as st
from scipy import LowLevelCallable
from scipy.optimize import linear_sum_assignment
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation
from sklearn.base import clone

from seminorm import MissingExtraError
from seminorm._base.threads import limited_threads
from seminorm.invariance.distances import (
    DTW,
    Chamfer,
    Euclidean,
    Frechet,
    ImageDistortion,
    Levenshtein,
    PointSetDistance,
    SubspaceDistance,
    TangentDistance,
    UserDistance,
    all_distances,
)
from seminorm.invariance.distances.elastic import ElasticDistance
from seminorm.invariance.distances.user import _compiled


def city_block(x, y):
    total = 0.0
    for k in range(x.size):
        total += abs(x[k] - y[k])
    return total


def one_sided(x, y):
    return np.maximum(x - y, 0.0).sum()


def raising(x, y):
    if x[0] > 0:
        raise ValueError("never seen")
    return 0.0


def signed(x, y):
    return x[0] + y[0] if x[0] < 5 else np.nan


INSTANCES = all_distances()
instances = pytest.mark.parametrize("d", INSTANCES, ids=case_id)


def table_of_warping(x, y, window=None, combine=np.add):
    """The whole table of the recursion, cell by cell."""
    x, y = np.reshape(x, (len(x), -1)), np.reshape(y, (len(y), -1))
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            if window is None or abs(i - j) <= window:
                best = min(table[i, j], table[i, j + 1], table[i + 1, j])
                table[i + 1, j + 1] = combine(((x[i] - y[j]) ** 2).sum(), best)
    return table[-1, -1]


def paths(n, m):
    """Every way from (0, 0) to (n - 1, m - 1)."""
    if n == 1 and m == 1:
        return [[(0, 0)]]
    before = [(n - 1, m), (n, m - 1), (n - 1, m - 1)]
    return [[*path, (n - 1, m - 1)] for a, b in before if a > 0 and b > 0 for path in paths(a, b)]


def random_series(rng, lengths, channels=1):
    return [rng.standard_normal((length, channels)).cumsum(axis=0) for length in lengths]


# -- the contract


@pytest.mark.slow
@instances
def test_contract(d, rng):
    X, Y = rng.standard_normal((11, 12)), rng.standard_normal((9, 12))
    own, both = d.pairwise(X), d.pairwise(X, Y)
    assert own.shape == (11, 11) and both.shape == (11, 9)
    assert (own == own.T).all() and (np.diag(own) == 0).all() and (own >= 0).all()
    accuracy = 1e-5 if isinstance(d, TangentDistance) else 1e-12  # tangent distances are in single precision
    np.testing.assert_allclose(own, d.pairwise(X, X), rtol=accuracy, atol=1e-7)
    np.testing.assert_allclose(both, d.pairwise(Y, X).T, rtol=accuracy)
    np.testing.assert_allclose(d.distance(X[3], Y[5]), both[3, 5], rtol=accuracy)
    if not isinstance(d, Chamfer | Levenshtein):  # whose origins are a single point and the empty sequence
        origin = d.pairwise(X, np.zeros((1, 12)))[:, 0]
        np.testing.assert_allclose(d.to_origin(X), origin, rtol=100 * accuracy, atol=1e-12)


@instances
def test_copies_and_pickles(d, rng):
    X = rng.standard_normal((4, 12))
    for other in (clone(d), pickle.loads(pickle.dumps(d))):
        assert repr(other) == repr(d)
        assert (other.pairwise(X) == d.pairwise(X)).all()


@instances
def test_claims_of_hilbert_spaces(d, rng):
    """-d^2 is conditionally positive definite exactly if d is the norm of a difference in some Hilbert space."""
    X = rng.standard_normal((25, 12)) + 1.0
    centring = np.eye(25) - 1 / 25
    smallest = np.linalg.eigvalsh(-centring @ d.pairwise(X) ** 2 @ centring).min()
    if d.is_euclidean:
        assert smallest > -1e-10
    elif not isinstance(
        d, UserDistance | ImageDistortion | Levenshtein
    ):  # for which these few data happen to be definite
        assert smallest < -1e-6


@instances
def test_bad_rows(d, rng):
    X = rng.standard_normal((3, 12))
    broken = X.copy()
    broken[1, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        d.pairwise(broken)
    with pytest.raises(ValueError, match="NaN"):
        d.pairwise(X, broken)
    with pytest.raises(ValueError):
        d.pairwise(X[0])
    with pytest.raises(ValueError):
        d.pairwise(np.empty((0, 12)))
    if not isinstance(d, Chamfer | ElasticDistance | Levenshtein):
        with pytest.raises(ValueError, match="12"):
            d.pairwise(X, X[:, :10])


def test_matrices_that_do_not_fit_are_refused(monkeypatch, rng):
    monkeypatch.setattr("seminorm._base.memory.available_bytes", lambda: 1000)
    for d in INSTANCES:
        with pytest.raises(MemoryError, match="20 x 20 distances"):
            d.pairwise(rng.standard_normal((20, 12)))


# -- Euclidean


@pytest.mark.parametrize("columns", [2, 40])
def test_euclidean(columns, rng):
    X, Y = rng.standard_normal((300, columns)), rng.standard_normal((70, columns))
    Y[:10] = X[:10] + 1e-9 * rng.standard_normal((10, columns))
    np.testing.assert_allclose(Euclidean().pairwise(X, Y), cdist(X, Y), rtol=1e-7)
    np.testing.assert_allclose(Euclidean().pairwise(X), cdist(X, X), rtol=1e-12)


# -- warping


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("window", [None, 0, 1, 2, 3, 7, 0.1, 0.35, 1.0])
def test_dtw_of_equal_lengths(window, channels, rng):
    X, Y = rng.standard_normal((10, 21, channels)), rng.standard_normal((3, 21, channels))
    width = round(window * 21) if isinstance(window, float) else window
    expected = [[table_of_warping(x, y, width) for y in Y] for x in X]
    np.testing.assert_allclose(DTW(window, squared=True).pairwise(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(DTW(window).pairwise(X, Y), np.sqrt(expected), rtol=1e-12)
    if channels == 1:
        assert (DTW(window).pairwise(X[..., 0], Y[..., 0]) == DTW(window).pairwise(X, Y)).all()


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("window", [None, 17, 0.95])
def test_dtw_of_unequal_lengths(window, channels, rng):
    X = random_series(rng, [1, 5, 18, 9, 2, 13, 13, 6, 4, 18, 3], channels)
    Y = random_series(rng, [7, 1, 18], channels)

    def width(x, y):
        return round(window * max(len(x), len(y))) if isinstance(window, float) else window

    expected = [[table_of_warping(x, y, width(x, y)) for y in Y] for x in X]
    np.testing.assert_allclose(DTW(window, squared=True).pairwise(X, Y), expected, rtol=1e-12)
    expected = [[table_of_warping(x, y, width(x, y)) for y in X] for x in X]
    np.testing.assert_allclose(DTW(window, squared=True).pairwise(X), expected, rtol=1e-12)


def test_windows_that_differ_inside_a_block(rng):
    X = random_series(rng, range(30, 50, 2))
    expected = [[table_of_warping(x, y, round(0.45 * max(len(x), len(y)))) for y in X] for x in X]
    np.testing.assert_allclose(DTW(0.45, squared=True).pairwise(X), expected, rtol=1e-12)


@pytest.mark.parametrize("channels", [1, 2])
def test_frechet(channels, rng):
    X = random_series(rng, [1, 5, 18, 9, 2, 13, 13, 6, 4, 18, 3], channels)
    expected = np.sqrt([[table_of_warping(x, y, combine=max) for y in X] for x in X])
    np.testing.assert_allclose(Frechet().pairwise(X), expected, rtol=1e-12)
    np.testing.assert_allclose(Frechet().pairwise(X[2:], X[:2]), expected[2:, :2], rtol=1e-12)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_warping_is_the_best_of_all_paths(n, m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, 2)), rng.standard_normal((m, 2))
    costs = [[((x[i] - y[j]) ** 2).sum() for i, j in path] for path in paths(n, m)]
    np.testing.assert_allclose(DTW(squared=True).distance(x, y), min(map(sum, costs)), rtol=1e-12)
    np.testing.assert_allclose(Frechet().distance(x, y) ** 2, min(map(max, costs)), rtol=1e-12)


@pytest.mark.parametrize("d", [DTW(), DTW(0.9), Frechet()], ids=case_id)
def test_warping_is_symmetric_to_the_last_bit(d, rng):
    X = random_series(rng, rng.integers(5, 40, 30), 2)
    own, both = d.pairwise(X), d.pairwise(X[:20], X[20:])
    assert (own == own.T).all()
    assert (own[:20, 20:] == both).all()
    assert (both == d.pairwise(X[20:], X[:20]).T).all()
    assert own[3, 4] == d.distance(X[4], X[3])


def test_slow_motion_costs_nothing(rng):
    x = rng.standard_normal(30)
    assert DTW().distance(x, np.repeat(x, 3)) == 0
    assert Frechet().distance(x, np.repeat(x, 3)) == 0
    assert DTW(window=0).distance(x, x[::-1]) == pytest.approx(np.linalg.norm(x - x[::-1]))


@pytest.mark.parametrize("d", [DTW(), Frechet()], ids=case_id)
def test_origin_of_unequal_lengths(d, rng):
    X = random_series(rng, [3, 8, 5])
    np.testing.assert_allclose(d.to_origin(X), [d.distance(x, np.zeros_like(x)) for x in X], rtol=1e-12)


@pytest.mark.parametrize("d", [DTW(), DTW(window=5), Frechet()], ids=case_id)
def test_same_bits_for_any_number_of_threads(d, rng):
    X = rng.standard_normal((70, 41))
    results = set()
    for threads in (1, 2, 3):
        with limited_threads(threads):
            results.add((d.pairwise(X).tobytes(), d.pairwise(X, X[:9]).tobytes()))
    assert len(results) == 1


def test_long_series_in_parts(rng, monkeypatch):
    X, Y = random_series(rng, rng.integers(5, 40, 30)), random_series(rng, rng.integers(5, 40, 13))
    whole = [DTW().pairwise(X), DTW().pairwise(X, Y), DTW(0.9).pairwise(Y)]
    monkeypatch.setattr("seminorm.invariance.distances.elastic._CELLS_AT_ONCE", 1000)
    for one, other in zip(whole, [DTW().pairwise(X), DTW().pairwise(X, Y), DTW(0.9).pairwise(Y)], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0], [1.0, np.nan, 3.0]], r"X\[1\] has NaN or infinity, first at sample 1"),
        ([[1.0, 2.0], [np.inf]], r"X\[1\] has NaN or infinity, first at sample 0"),
        ([[1.0, 2.0], []], r"X\[1\] is an empty series"),
        ([np.ones((3, 2)), np.ones((4, 1))], r"X\[1\] has 1 channels and X\[0\] has 2"),
        ([np.ones((3, 2, 2))], r"X\[0\] must be a series of shape"),
        ([1.0, 2.0], r"X\[0\] must be a series of shape"),
        (np.ones(4), r"got an array of shape \(4,\). A single series is the list \[X\]"),
        (["ab"], r"X\[0\] must be real numbers"),
        ([np.ones(3) * 1j], r"X\[0\] must be real numbers"),
        ([[[1.0, 2.0], [3.0]]], r"X\[0\] must be real numbers"),
        ([], "X has no series"),
    ],
)
@pytest.mark.parametrize("d", [DTW(), Frechet()], ids=case_id)
def test_bad_series(d, X, message):
    with pytest.raises(ValueError, match=message):
        d.pairwise(X)


def test_channels_of_both_sides_must_agree():
    with pytest.raises(ValueError, match="X has 1 channels and Y has 2"):
        DTW().pairwise(np.ones((2, 5)), np.ones((2, 5, 2)))


@pytest.mark.parametrize("window", [-1, -0.1, 1.5, True, "all", np.nan])
def test_bad_windows(window):
    with pytest.raises(ValueError, match="window must be None"):
        DTW(window).distance([1.0, 2.0], [1.0, 2.0])


@pytest.mark.parametrize("window", [3, 0.3])
def test_windows_too_small_for_the_lengths(window):
    X = [np.ones(10), np.ones(8), np.ones(6)]
    with pytest.raises(ValueError, match=r"X\[\d\] has length (10|6) and X\[\d\] has length (10|6).*at least 4"):
        DTW(window).pairwise(X)
    DTW(window).pairwise(X[:2])


# -- baselines and intensity


@pytest.mark.parametrize("degree", [0, 1, 4])
def test_baselines_against_least_squares(degree, rng):
    X, Y = rng.standard_normal((20, 30)), rng.standard_normal((6, 30))
    positions = np.sort(rng.random(30)) * 2000 + 400
    for at in (None, positions):
        t = np.arange(30.0) if at is None else (at - 1400) / 1000
        polynomials = np.vander(t / np.abs(t).max(), degree + 1)
        differences = (X[:, None] - Y[None]).reshape(-1, 30)
        residuals = np.linalg.lstsq(polynomials, differences.T, rcond=None)[1]
        d = SubspaceDistance(degree, positions=at)
        np.testing.assert_allclose(d.pairwise(X, Y), np.sqrt(residuals).reshape(20, 6), rtol=1e-10)


def test_directions_against_least_squares(rng):
    X, Y, background = rng.standard_normal((5, 30)), rng.standard_normal((6, 30)), rng.standard_normal((2, 30))
    differences = (X[:, None] - Y[None]).reshape(-1, 30)
    residuals = np.linalg.lstsq(background.T, differences.T, rcond=None)[1]
    twice = np.concatenate([background, background.sum(axis=0)[None]])
    d = SubspaceDistance(baseline_degree=None, directions=twice)
    np.testing.assert_allclose(d.pairwise(X, Y), np.sqrt(residuals).reshape(5, 6), rtol=1e-10)


def test_without_baselines_it_is_euclidean(rng):
    X = rng.standard_normal((5, 30))
    np.testing.assert_allclose(SubspaceDistance(None).pairwise(X), cdist(X, X), rtol=1e-12)
    expected = np.sqrt(2 * cdist(X, X, "cosine"))
    np.testing.assert_allclose(SubspaceDistance(None, scale=True).pairwise(X), expected, atol=1e-7)


@given(st.integers(0, 4), st.integers(0, 10**6))
def test_baselines_and_intensity_do_not_matter(degree, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 25))
    t = np.linspace(-1, 1, 25)
    changed = rng.uniform(0.1, 10, (4, 1)) * X + rng.standard_normal((4, degree + 1)) @ (
        t ** np.arange(degree + 1)[:, None]
    )
    d = SubspaceDistance(degree, scale=True)
    np.testing.assert_allclose(d.pairwise(X), d.pairwise(changed), rtol=1e-9)
    assert np.diag(d.pairwise(X, changed)).max() < 1e-12
    np.testing.assert_allclose(d.pairwise(X, -X).diagonal(), 2.0)
    np.testing.assert_allclose(d.pairwise(X), cdist(d.features(X), d.features(X)), rtol=1e-9)


def test_patterns_that_are_nothing_but_baseline(rng):
    t = np.linspace(-1, 1, 25)
    X = np.stack([1e6 * (1 + t), 3 - t, rng.standard_normal(25)])
    np.testing.assert_array_equal(
        SubspaceDistance(1, scale=True).pairwise(X).round(12), [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline_degree": -1}, "baseline_degree must be None or a whole number"),
        ({"baseline_degree": 1.5}, "baseline_degree must be None or a whole number"),
        ({"baseline_degree": 7}, "every pattern would be a baseline"),
        ({"positions": np.ones(8)}, "every pattern would be a baseline"),
        ({"positions": np.arange(5.0)}, r"positions must be 8 finite numbers.*\(5,\)"),
        ({"directions": np.ones((1, 5))}, r"directions must be finite patterns of 8 numbers.*\(1, 5\)"),
        ({"directions": np.eye(8)}, "leave nothing"),
    ],
)
def test_bad_subspaces(options, message, rng):
    with pytest.raises(ValueError, match=message):
        SubspaceDistance(**options).pairwise(rng.standard_normal((3, 8)))


# -- point sets


def random_rotation(dimension, rng, sign=1):
    rotation = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    rotation[:, 0] *= sign * np.sign(np.linalg.det(rotation))
    return rotation


def test_rigid_motion_in_space_against_scipy(rng):
    X, Y = rng.standard_normal((9, 7, 3)), rng.standard_normal((6, 7, 3))
    expected = [
        [Rotation.align_vectors(x - x.mean(axis=0), y - y.mean(axis=0))[1] for y in Y] for x in X
    ]  # its second answer is the root of the summed squares
    np.testing.assert_allclose(PointSetDistance(7, 3).pairwise(X, Y), expected, rtol=1e-7)


def test_rigid_motion_in_the_plane_is_that_in_space(rng):
    X, Y = rng.standard_normal((9, 7, 2)), rng.standard_normal((6, 7, 2))
    angles = np.linspace(0, 2 * np.pi, 20001)
    turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    x, y = X[0] - X[0].mean(axis=0), Y[0] - Y[0].mean(axis=0)
    best = min(np.linalg.norm(x - y @ turn.T) for turn in turns)
    assert PointSetDistance(7).distance(X[0], Y[0]) == pytest.approx(best, rel=1e-6)
    flat = [np.concatenate([Z, np.zeros((len(Z), 7, 1))], axis=2) for Z in (X, Y)]
    # turning a plane over in space is a reflection of it
    reflected = PointSetDistance(7, 2, reflections=True).pairwise(X, Y)
    np.testing.assert_allclose(reflected, PointSetDistance(7, 3).pairwise(*flat), rtol=1e-9)
    assert (reflected <= PointSetDistance(7).pairwise(X, Y) + 1e-12).all()


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_reflections_against_procrustes(dimension, rng):
    """SciPy's procrustes also scales: with unit norms its disparity is 1 - (sum of singular values)^2."""
    for _ in range(5):
        x, y = (z / np.linalg.norm(z) for z in (z - z.mean(axis=0) for z in rng.standard_normal((2, 8, dimension))))
        squared = 2 - 2 * np.sqrt(1 - procrustes(x, y)[2])
        assert PointSetDistance(8, dimension, reflections=True).distance(x, y) ** 2 == pytest.approx(squared)


@pytest.mark.parametrize("matching", [False, True])
@pytest.mark.parametrize("reflections", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_motion_does_not_matter(dimension, reflections, matching, rng):
    d = PointSetDistance(6, dimension, reflections, matching)
    X = rng.standard_normal((5, 6, dimension))
    sign = -1 if reflections else 1
    moved = np.stack([x @ random_rotation(dimension, rng, sign).T + rng.standard_normal(dimension) for x in X])
    if matching:
        moved = np.stack([x[rng.permutation(6)] for x in moved])
    both = d.pairwise(X, moved)
    assert np.diag(both).max() < 1e-13 * 6 * dimension
    np.testing.assert_allclose(both, d.pairwise(X), atol=1e-9)
    if not reflections and dimension < 3:
        assert d.distance(X[0], -X[0] if dimension == 1 else X[0] * [1, -1]) > 0.1


@pytest.mark.parametrize("dimension", [2, 3])
def test_near_point_sets_keep_their_digits(dimension, rng):
    """A small change is a small motion and a rest, by least squares on infinitesimal motions."""
    x = rng.standard_normal((10, dimension))
    change = rng.standard_normal((10, dimension))
    pairs = [(a, b) for a in range(dimension) for b in range(a)]
    turns = [np.outer(np.eye(dimension)[a], np.eye(dimension)[b]) for a, b in pairs]
    motions = [x @ (turn - turn.T) for turn in turns] + [np.ones((10, 1)) * axis for axis in np.eye(dimension)]
    rest = np.linalg.lstsq(np.stack([motion.ravel() for motion in motions], axis=1), change.ravel(), rcond=None)[1]
    turned = (x + 1e-8 * change) @ random_rotation(dimension, rng).T
    assert PointSetDistance(10, dimension).distance(x, turned) == pytest.approx(1e-8 * np.sqrt(rest[0]), rel=1e-5)


def test_point_sets_across_tiles(rng):
    X = rng.standard_normal((128 + 5, 3, 2))
    own = PointSetDistance(3).pairwise(X)
    assert (own == own.T).all()
    np.testing.assert_allclose(own[128 + 2, :3], PointSetDistance(3).pairwise(X[128 + 2 :][:1], X[:3])[0], rtol=1e-10)


@pytest.mark.parametrize("dimension", [2, 3])
def test_matching_finds_at_least_what_a_search_finds(dimension, rng):
    """Against the best of many random motions, each with its best pairing."""
    d = PointSetDistance(5, dimension, matching=True)
    ordered = PointSetDistance(5, dimension)
    better = 0
    for _ in range(10):
        x, y = rng.standard_normal((2, 5, dimension))
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        turned = [y @ random_rotation(dimension, rng).T for _ in range(300)]
        costs = [cdist(x, z, "sqeuclidean") for z in turned]
        searched = np.sqrt(min(cost[linear_sum_assignment(cost)].sum() for cost in costs))
        better += d.distance(x, y) <= searched + 1e-12
        assert d.distance(x, y) <= ordered.distance(x, y) + 1e-12 or d.distance(x, y) <= searched
    assert better >= 9


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"n_points": 0}, np.ones((2, 4)), "n_points must be a whole number"),
        ({"n_points": 2, "dimension": 1.5}, np.ones((2, 4)), "dimension must be a whole number"),
        ({"n_points": 3}, np.ones((2, 4)), "patterns of 4 numbers, expected 6: n_points=3 times dimension=2"),
        ({"n_points": 2}, np.ones((2, 4, 1)), r"sets of shape \(4, 1\), expected \(2, 2\)"),
    ],
)
def test_bad_point_sets(options, X, message):
    with pytest.raises(ValueError, match=message):
        PointSetDistance(**options).pairwise(X)


# -- functions of the user

C_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_void_p,
)
SIGNATURE = "double (double const *, double const *, int64_t, void *)"


@C_FUNCTION
def city_block_in_c(x, y, d, user_data):
    """City block distance, times the number that the user data is, if there is one."""
    factor = ctypes.cast(user_data, ctypes.POINTER(ctypes.c_double))[0] if user_data else 1.0
    return factor * sum(abs(x[k] - y[k]) for k in range(d))


def numba_function():
    return pytest.importorskip("numba").njit(city_block)


def numba_c_function():
    numba = pytest.importorskip("numba")

    @numba.cfunc("float64(CPointer(float64), CPointer(float64), int64, voidptr)")
    def function(x, y, d, user_data):
        return np.abs(numba.carray(x, d) - numba.carray(y, d)).sum()

    return function


def capsule():
    return tuple.__getitem__(LowLevelCallable(city_block_in_c, signature=SIGNATURE), 0)


FUNCTIONS = {
    "plain": lambda: pytest.importorskip("numba") and city_block,
    "njit": numba_function,
    "cfunc": numba_c_function,
    "ctypes": lambda: city_block_in_c,
    "capsule": capsule,
    "low level": lambda: LowLevelCallable(city_block_in_c),
    "low level capsule": lambda: LowLevelCallable(capsule()),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("threads", [1, 3])
def test_user_distance(kind, threads, rng):
    X, Y = rng.standard_normal((40, 7)), rng.standard_normal((13, 7))
    d = UserDistance(FUNCTIONS[kind]())
    with limited_threads(threads):
        np.testing.assert_allclose(d.pairwise(X), cdist(X, X, "cityblock"), rtol=1e-12)
        np.testing.assert_allclose(d.pairwise(X, Y), cdist(X, Y, "cityblock"), rtol=1e-12)
        np.testing.assert_allclose(clone(d).pairwise(X, Y), cdist(X, Y, "cityblock"), rtol=1e-12)
    assert clone(d) == d


CITY_BLOCK = """
#include <math.h>
#include <stdint.h>
double city_block(double const *x, double const *y, int64_t d, void *user_data) {
    double total = 0.0;
    for (int64_t k = 0; k < d; ++k) total += fabs(x[k] - y[k]);
    return total;
}
"""


def test_functions_of_a_library(tmp_path, rng):
    """Functions of ctypes.CDLL have no argtypes unless one sets them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "city_block.c").write_text(CITY_BLOCK)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "city_block.c", "-o", "library.so"], cwd=tmp_path, check=True)
    X = rng.standard_normal((50, 3))
    function = ctypes.CDLL(str(tmp_path / "library.so")).city_block
    assert function.argtypes is None
    np.testing.assert_allclose(UserDistance(function).pairwise(X), cdist(X, X, "cityblock"), rtol=1e-12)


def test_user_data_of_functions(rng):
    X, factor = rng.standard_normal((9, 4)), ctypes.c_double(2.5)
    data = ctypes.cast(ctypes.pointer(factor), ctypes.c_void_p)
    d = UserDistance(LowLevelCallable(city_block_in_c, data))
    np.testing.assert_allclose(d.pairwise(X), 2.5 * cdist(X, X, "cityblock"), rtol=1e-12)


def test_a_function_is_compiled_once():
    pytest.importorskip("numba")
    assert _compiled(city_block) is _compiled(clone(UserDistance(city_block)).function)
    assert _compiled(city_block) is not _compiled(one_sided)


def test_without_numba(monkeypatch, rng):
    X = rng.standard_normal((5, 3))
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingExtraError, match=r"needs numba.*pip install 'seminorm\[numba\]'"):
        UserDistance(lambda x, y: 0.0, compiled=True).pairwise(X)
    with pytest.warns(UserWarning, match=r"pip install 'seminorm\[numba\]'.*in plain Python: slow"):
        np.testing.assert_allclose(UserDistance(lambda x, y: city_block(x, y)).pairwise(X), cdist(X, X, "cityblock"))
    np.testing.assert_allclose(UserDistance(city_block_in_c).pairwise(X), cdist(X, X, "cityblock"), rtol=1e-12)


def test_bad_functions(rng):
    pytest.importorskip("numba")
    X = np.array([[1.0], [2.0], [-4.0], [7.0]])
    with pytest.raises(ValueError, match=r"distance signed of X\[0\] and X\[2\] is -3.0: distances must be finite"):
        UserDistance(signed).pairwise(X[:3])
    with pytest.raises(ValueError, match=r"distance signed of X\[3\] and Y\[0\] is nan"):
        UserDistance(signed).pairwise(X[[0, 1, 1, 3]], X[:1])
    with pytest.raises(
        ValueError, match=r"one_sided is not symmetric: from X\[0\] to X\[3\] it is 0.0, the other way 6"
    ):
        UserDistance(one_sided).pairwise(X)
    with pytest.raises(ValueError, match=r"distance raising of X\[0\] and Y\[0\] is nan"):
        UserDistance(raising).pairwise(X, X[1:])
    with pytest.raises(TypeError, match="must be a function"):
        UserDistance("city_block").pairwise(X)
    with pytest.raises(ValueError, match="Numba cannot compile the distance <lambda>"):
        UserDistance(lambda x, y: "far", compiled=True).pairwise(X)
    with pytest.warns(UserWarning, match="slow"), pytest.raises(ValueError, match="must return a number, got 'far'"):
        UserDistance(lambda x, y: "far").pairwise(X)


def test_plain_python(rng):
    X, Y = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    d = UserDistance(lambda x, y: np.abs(x - y).sum(), compiled=False)
    np.testing.assert_allclose(d.pairwise(X), cdist(X, X, "cityblock"), rtol=1e-12)
    np.testing.assert_allclose(d.pairwise(X, Y), cdist(X, Y, "cityblock"), rtol=1e-12)
    words = UserDistance(lambda x, y: len(set(x) ^ set(y)), compiled=False)
    assert words.pairwise(["abc", "ab"], ["c"]).tolist() == [[2.0], [3.0]]
    for function, message in (
        (lambda x, y: x[0] - y[0], "distances must be finite and not negative"),
        (lambda x, y: max(x[0] - y[0], 0.0), "is not symmetric"),
    ):
        with pytest.raises(ValueError, match=message):
            UserDistance(function, compiled=False).pairwise([[3.0], [2.0], [5.0]][:: 1 if "finite" in message else 2])
    with pytest.raises(ZeroDivisionError):
        UserDistance(lambda x, y: 1 / 0, compiled=False).pairwise(X)


@pytest.mark.parametrize(
    "function",
    [
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(abs),
        LowLevelCallable(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs)),
        LowLevelCallable(C_FUNCTION(lambda x, y, d, data: 0.0), signature="double (float *, double *, long, void *)"),
    ],
)
def test_signatures_of_c_functions(function):
    with pytest.raises(ValueError, match=r"has the signature '.*', it must be 'double \(double const \*, double"):
        UserDistance(function).pairwise(np.ones((3, 2)))
