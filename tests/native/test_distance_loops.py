"""Compiled loops over pairs of patterns: against plain loops, for all instruction sets and numbers of threads."""

import ctypes
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.threads import limited_threads

EVERYTHING = 1 << 40


@pytest.fixture
def everywhere():
    """Calls a function for every instruction set and 1, 2, 4 threads: one result, the same bits."""
    before = _native.instruction_set()

    def call(function):
        results = []
        for name in ("base", "avx2", "avx512"):
            try:
                _native.select_instruction_set(name)
            except ValueError:
                continue  # not on this machine
            for threads in (1, 2, 4):
                with limited_threads(threads):
                    results.append(function())
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])
        return results[0]

    yield call
    _native.select_instruction_set(before)


# -- warping


def series(rng, lengths, channels):
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return rng.standard_normal((starts[-1], channels)), starts


def warped(X, Y, window=EVERYTHING, share=-1.0, largest=False, parts=1):
    """Squared distances by the rules 0 (DTW) or 3 (Frechet); Y is None for a symmetric matrix."""
    other = X if Y is None else Y
    other_order = np.argsort(np.diff(other[1]), kind="stable")
    order = other_order if Y is None else np.arange(len(X[1]) - 1)
    out = np.full((len(order), len(other_order)), np.nan)
    lists = [X[0], np.zeros(len(X[0])), X[1], order, other[0], np.zeros(len(other[0])), other[1], other_order]
    rule = 3 if largest else 0
    _native.elastic(rule, *lists, Y is None, parts, window, share, np.zeros(1), 1, -1, 0.0, 0.0, out)
    return out


def table(x, y, window, share, largest):
    """The last cell of the recursion, cell by cell."""
    width = np.rint(share * max(len(x), len(y))) if share >= 0 else window
    cells = np.full((len(x) + 1, len(y) + 1), np.inf)
    cells[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            if abs(i - j) <= width:
                best = min(cells[i, j], cells[i, j + 1], cells[i + 1, j])
                cost = ((x[i] - y[j]) ** 2).sum()
                cells[i + 1, j + 1] = max(cost, best) if largest else cost + best
    return cells[-1, -1]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("window", "share"), [(EVERYTHING, -1.0), (0, -1.0), (6, -1.0), (EVERYTHING, 0.45)])
def test_warping(channels, symmetric, largest, window, share, rng, everywhere):
    equal = window == 0
    X = series(rng, [9] * 11 if equal else rng.integers(6, 12, 11), channels)
    Y = None if symmetric else series(rng, [9] * 10 if equal else rng.integers(6, 12, 10), channels)
    split = [np.split(values, starts[1:-1]) for values, starts in (X, X if Y is None else Y)]
    expected = [[table(x, y, window, share, largest) for y in split[1]] for x in split[0]]
    out = everywhere(lambda: warped(X, Y, window, share, largest))
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    for parts in (2, 5, 100):
        np.testing.assert_array_equal(everywhere(lambda parts=parts: warped(X, Y, window, share, largest, parts)), out)


def test_bad_series(rng):
    values, starts = series(rng, [3, 4], 1)
    good = {"values": values, "marks": np.zeros(7), "starts": starts, "order": np.arange(2)}
    good |= {f"other_{name}": value for name, value in good.items()}
    good |= {"symmetric": False, "parts": 1, "window": 5, "share": -1.0, "out": np.empty((2, 2))}
    good |= {"rule": 0, "table": np.zeros(4), "stride": 1, "middle": -1, "first": 0.0, "second": 0.0}
    _native.elastic(**good)
    for changes, message in (
        ({"values": np.ones((7, 2))}, "same number of channels"),
        ({"values": np.ones((7, 0)), "other_values": np.ones((7, 0))}, "at least one"),
        ({"order": np.arange(3)}, "series: starts must have one entry more than order"),
        ({"order": np.array([0, 2])}, "series must lie between 0 and 1"),
        ({"order": np.array([0, -1])}, "series must lie between 0 and 1"),
        ({"other_starts": np.array([0, 3, 8])}, "other series must lie between 0 and 7"),
        ({"other_starts": np.array([0, 3, 3])}, "other series: starts must increase"),
        ({"out": np.empty((2, 3))}, r"out must be \(series, other series\)"),
        ({"parts": 0}, "parts must be positive"),
        ({"window": -1}, "window must lie"),
        ({"share": 1.5}, "share must be at most 1"),
        ({"share": np.nan}, "share must be at most 1"),
        ({"rule": 13}, "no such rule"),
        ({"marks": np.zeros(6)}, "one mark for each sample"),
        ({"rule": 1, "table": np.zeros(3)}, "table is too short"),
        ({"rule": 1, "middle": 3}, "middle must be negative, or at least the longest length"),
        ({"rule": 12}, "stride x stride"),
        ({"rule": 12, "stride": 2}, "symbols must be 0 .. stride - 1"),
        ({"rule": 11}, "a descriptor needs 1 .. channels numbers"),
        ({"stride": 0}, "stride must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.elastic(**good | changes)
    for changes in ({"values": values.astype(np.float32)}, {"order": np.arange(2.0)}, {"out": np.empty((4, 2))[::2]}):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _native.elastic(**good | changes)
    with pytest.raises(ValueError, match="compared with itself"):
        longer = {"other_starts": np.arange(4), "other_order": np.arange(3), "out": np.empty((2, 3))}
        _native.elastic(**good | longer | {"symmetric": True})


def test_ctrl_c_among_long_series():
    code = """
import signal
import numpy as np
from seminorm._base.threads import limited_threads
from seminorm.invariance import DTW
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may have been told to ignore it
X = np.random.default_rng(0).standard_normal((400, 3000))
with limited_threads(1):
    print("go", flush=True)
    try:
        DTW().pairwise(X)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.perf_counter() - start < 1.0
    assert process.wait(10) == 0


# -- tangent planes


def planes(rng, n, m, p, d=12):
    """Patterns, orthonormal tangents, and what the loop takes."""
    x, y = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    Tx, Ty = (np.linalg.qr(rng.standard_normal((size, d, p)))[0].transpose(0, 2, 1) for size in (n, m))
    apart = x[:, None] - y
    along, other_along = np.einsum("npd,nmd->npm", Tx, apart), np.einsum("mpd,nmd->npm", Ty, apart)
    taken = (apart**2).sum(axis=2), along, other_along, np.einsum("npd,mqd->npqm", Tx, Ty)
    return (x, Tx, y, Ty), [np.ascontiguousarray(array, dtype=np.float32) for array in taken]


@pytest.mark.parametrize("m", [1, 16, 37])
@pytest.mark.parametrize("p", [1, 3, 7, 9])
@pytest.mark.parametrize("spring", [1e-3, 0.1, 3.0])
def test_tangent_planes(m, p, spring, rng, everywhere):
    (x, Tx, y, Ty), taken = planes(rng, 5, m, p)

    def squared():
        out = np.full((5, m), np.nan, dtype=np.float32)
        _native.tangent_planes(*taken, spring, out)
        return out

    expected = np.empty((5, m))
    for i in range(5):
        for j in range(m):
            system = np.vstack([np.concatenate([Tx[i], -Ty[j]]).T, np.sqrt(spring) * np.eye(2 * p)])
            right = np.concatenate([y[j] - x[i], np.zeros(2 * p)])
            rest = right - system @ np.linalg.lstsq(system, right, rcond=None)[0]
            expected[i, j] = rest @ rest
    np.testing.assert_allclose(everywhere(squared), expected, rtol=2e-4, atol=2e-3)


def test_tangent_distances_are_not_negative(rng):
    _, (squares, along, other_along, mixed) = planes(rng, 3, 20, 7)
    out = np.full((3, 20), np.nan, dtype=np.float32)
    _native.tangent_planes(np.zeros_like(squares), along, other_along, mixed, 0.1, out)
    assert (out == 0).all()


def test_bad_planes(rng):
    _, arrays = planes(rng, 3, 4, 2)
    good = dict(zip(("squares", "along", "other_along", "mixed"), arrays, strict=True))
    good |= {"spring": 0.1, "out": np.empty((3, 4), dtype=np.float32)}
    _native.tangent_planes(**good)
    for name, shape in (
        ("out", (4, 3)),
        ("along", (3, 2, 5)),
        ("other_along", (2, 3, 4)),
        ("mixed", (3, 2, 3, 4)),
    ):
        with pytest.raises(ValueError, match=rf"^{name} must be \(n, "):
            _native.tangent_planes(**good | {name: np.empty(shape, dtype=np.float32)})
    for spring in (0.0, np.nan):
        with pytest.raises(ValueError, match="spring must be positive"):
            _native.tangent_planes(**good | {"spring": spring})


# -- distortion


def distorted(A, B, reach, context, upper):
    out = np.zeros((len(A), len(B)))
    _native.distort(A, B, reach, context, upper, out)
    return out


def cheapest(a, b, reach, context):
    """Sum over the pixels of a of the least cost within reach in b; both (channels, height, width) with borders."""
    border, side = reach + context, 2 * context + 1
    h, w = a.shape[1] - 2 * border, a.shape[2] - 2 * border
    places = [(r, c) for r in range(h) for c in range(w)]

    def patch(image, r, c):
        return image[:, r + reach : r + reach + side, c + reach : c + reach + side]

    near = {place: [q for q in places if max(abs(q[0] - place[0]), abs(q[1] - place[1])) <= reach] for place in places}
    return sum(min(((patch(a, *p) - patch(b, *q)) ** 2).sum() for q in near[p]) for p in places)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("reach", [0, 1, 2])
@pytest.mark.parametrize("context", [0, 1, 2, 3])
def test_distortion(channels, reach, context, rng, everywhere):
    border = reach + context

    def images(n):
        inside = rng.standard_normal((n, channels, 4, 3))
        return np.pad(inside, ((0, 0), (0, 0), (border, border), (border, border))).astype(np.float32)

    A, B = images(3), images(4)
    out = everywhere(lambda: distorted(A, B, reach, context, False))
    expected = [[(cheapest(a, b, reach, context) + cheapest(b, a, reach, context)) / 2 for b in B] for a in A]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 16, 37])
def test_distortion_above_the_diagonal(n, rng, everywhere):
    A = rng.standard_normal((n, 2, 9, 8)).astype(np.float32)
    full = everywhere(lambda: distorted(A, A, 1, 1, False))
    np.testing.assert_array_equal(everywhere(lambda: distorted(A, A, 1, 1, True)), np.triu(full, 1))


def test_bad_images(rng):
    A = rng.standard_normal((3, 2, 9, 8)).astype(np.float32)
    for B in (A[:, :1], A[:, :, :8], A[:, :, :, :7]):
        with pytest.raises(ValueError, match="same channels, height and width"):
            distorted(A, np.ascontiguousarray(B), 1, 1, False)
    for reach, context in ((-1, 1), (1, -1), (3, 1), (2, 2), (EVERYTHING, 0), (0, 1 << 62)):
        with pytest.raises(ValueError, match="reach and context"):
            distorted(A, A, reach, context, False)
    with pytest.raises(ValueError, match=r"out must be \(images, others\)"):
        _native.distort(A, A, 1, 1, False, np.empty((3, 2)))
    with pytest.raises(ValueError, match="compared with themselves"):
        distorted(A, A[:2], 1, 1, True)


# -- functions of the user

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_void_p,
)


@FUNCTION
def asymmetric(x, y, d, user_data):
    """A number that tells x, y, d and the user data apart."""
    return sum(x[k] - 2.0 * y[k] for k in range(d)) + 100.0 * d + (user_data or 0)


def called(X, Y, symmetric, user_data=0):
    out = np.full((len(X), len(Y)), np.nan)
    _native.user_pairs(X, Y, ctypes.cast(asymmetric, ctypes.c_void_p).value, user_data, symmetric, out)
    return out


@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize("user_data", [0, 12345])
def test_functions_of_users(d, user_data, rng, everywhere):
    X, Y = rng.integers(-9, 9, (23, d)).astype(float), rng.integers(-9, 9, (17, d)).astype(float)
    expected = X.sum(axis=1)[:, None] - 2.0 * Y.sum(axis=1) + 100.0 * d + user_data
    np.testing.assert_array_equal(everywhere(lambda: called(X, Y, False, user_data)), expected)


def test_symmetric_functions_of_users(rng, everywhere):
    """Only what is below the diagonal is computed, and mirrored."""
    X = rng.standard_normal((23, 2))
    lower = np.tril(called(X, X, False), -1)
    out = everywhere(lambda: called(X, X, True))
    assert np.isnan(np.diag(out)).all()
    np.testing.assert_array_equal(np.where(np.eye(23), 0.0, out), lower + lower.T)


def test_bad_arguments_of_functions_of_users():
    X, out = np.ones((3, 2)), np.empty((3, 3))
    for arguments, message in (
        ((X, np.ones((3, 1)), 1, 0, False, out), "same length"),
        ((X, X[:2], 1, 0, False, out), r"out must be \(n, m\)"),
        ((X, X[:2], 1, 0, True, np.empty((3, 2))), "compared with itself"),
        ((X, X, 0, 0, False, out), "must not be null"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.user_pairs(*arguments)


def test_parts_of_capsules():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    set_context = ctypes.pythonapi.PyCapsule_SetContext
    set_context.argtypes = [ctypes.py_object, ctypes.c_void_p]
    name = b"double (int)"
    capsule = new(1234, name, None)
    assert _native.capsule_parts(capsule) == ("double (int)", 1234, 0)
    set_context(capsule, 77)
    assert _native.capsule_parts(capsule) == ("double (int)", 1234, 77)
    assert _native.capsule_parts(new(1234, None, None)) == ("", 1234, 0)
    with pytest.raises(ValueError, match="not a capsule"):
        _native.capsule_parts("double (int)")
