"""Elastic distances: against recursions cell by cell and sums over all paths; alignments; single precision; bad
input."""

import itertools

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given
from hypothesis import strategies as st

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.invariance import GlobalAlignmentKernel
from seminorm.invariance.distances import (
    ADTW,
    DTW,
    EDR,
    ERP,
    LCSS,
    MSM,
    TWE,
    DerivativeDTW,
    Frechet,
    ShapeDTW,
    SoftDTW,
    WeightedDTW,
)

INF = np.inf


def norm(x):
    return float(np.sqrt((np.asarray(x) ** 2).sum()))


def squared(x):
    return float((np.asarray(x) ** 2).sum())


def warped(x, y, cost, price=0.0, combine=min):
    """The table of cost(i, j) + min(diagonal, up + price, left + price)."""
    cells = np.full((len(x) + 1, len(y) + 1), INF)
    cells[0, 0] = 0.0
    for i, j in itertools.product(range(len(x)), range(len(y))):
        best = combine(cells[i, j], cells[i, j + 1] + price, cells[i + 1, j] + price)
        cells[i + 1, j + 1] = cost(i, j) + best
    return cells[1:, 1:]


def edited(x, y, match, delete, insert, border=True):
    """The table of min(diagonal + match(i, j), up + delete(i, j), left + insert(i, j)), 0-based."""
    cells = np.full((len(x) + 1, len(y) + 1), INF)
    cells[0, 0] = 0.0
    if border:
        cells[1:, 0] = np.cumsum([delete(i, -1) for i in range(len(x))])
        cells[0, 1:] = np.cumsum([insert(-1, j) for j in range(len(y))])
    for i, j in itertools.product(range(len(x)), range(len(y))):
        cells[i + 1, j + 1] = min(
            cells[i, j] + match(i, j), cells[i, j + 1] + delete(i, j), cells[i + 1, j] + insert(i, j)
        )
    return cells[1:, 1:]


def in_window(width, cost):
    return lambda i, j: cost(i, j) if abs(i - j) <= width else INF


def slope(x):
    return np.array([((x[i] - x[i - 1]) + (x[i + 1] - x[i - 1]) / 2) / 2 for i in range(1, len(x) - 1)])


def soft(gamma):
    return lambda *values: -gamma * np.logaddexp.reduce([-v / gamma for v in values])


def dtw(x, y, width=INF):
    return warped(x, y, in_window(width, lambda i, j: squared(x[i] - y[j])))


def weighted(x, y, width=INF, g=0.3):
    n = max(len(x), len(y))
    return warped(x, y, in_window(width, lambda i, j: squared(x[i] - y[j]) / (1 + np.exp(-g * (abs(i - j) - n / 2)))))


def adtw(x, y, width=INF):
    return warped(x, y, in_window(width, lambda i, j: squared(x[i] - y[j])), price=0.3)


def soft_dtw(x, y, width=INF):
    return warped(x, y, in_window(width, lambda i, j: squared(x[i] - y[j])), combine=soft(0.5))


def erp(x, y, width=INF, gap=0.3):
    return edited(
        x,
        y,
        in_window(width, lambda i, j: norm(x[i] - y[j])),
        lambda i, j: norm(x[i] - gap),
        lambda i, j: norm(y[j] - gap),
    )


def edr(x, y, width=INF):
    tolerance = max(x.std(), y.std()) / 4
    close = in_window(width, lambda i, j: float(norm(x[i] - y[j]) >= tolerance))
    return edited(x, y, close, lambda i, j: 1.0, lambda i, j: 1.0)


def lcss(x, y, width=INF, tolerance=0.5):
    close = in_window(width, lambda i, j: -1.0 if norm(x[i] - y[j]) <= tolerance else 0.0)
    return -edited(x, y, close, lambda i, j: 0.0, lambda i, j: 0.0)


def twe(x, y, width=INF, nu=0.01, price=0.7):
    x, y = np.vstack([0 * x[:1], x]), np.vstack([0 * y[:1], y])

    def match(i, j):
        return norm(x[i + 1] - y[j + 1]) + norm(x[i] - y[j]) + 2 * nu * abs(i - j)

    def delete(i, j):
        return norm(x[i + 1] - x[i]) + nu + price if abs(i - j) <= width else INF

    def insert(i, j):
        return norm(y[j + 1] - y[j]) + nu + price if abs(i - j) <= width else INF

    return edited(x[1:], y[1:], in_window(width, match), delete, insert, border=False)


def msm(x, y, width=INF, c=0.4):
    """One channel, or the sum over channels."""
    if x.shape[1] > 1:
        return sum(msm(x[:, [k]], y[:, [k]], width, c) for k in range(x.shape[1]))
    x, y = x[:, 0], y[:, 0]

    def price(here, before, there):
        between = min(before, there) <= here <= max(before, there)
        return c + (0.0 if between else min(abs(here - before), abs(here - there)))

    return edited(
        x,
        y,
        in_window(width, lambda i, j: abs(x[i] - y[j])),
        lambda i, j: price(x[i], x[i - 1], y[j]) if i and abs(i - j) <= width else INF,
        lambda i, j: price(y[j], x[i], y[j - 1]) if j and abs(i - j) <= width else INF,
        border=False,
    )


def shape(x, y, width=INF, reach=2):
    def pieces(s):
        padded = np.concatenate([s[:1]] * reach + [s] + [s[-1:]] * reach)
        return np.stack([padded[k : k + 2 * reach + 1].ravel() for k in range(len(s))])

    a, b = pieces(x), pieces(y)
    cells = np.full((len(x) + 1, len(y) + 1, 2), INF)
    cells[0, 0] = 0.0
    for i, j in itertools.product(range(len(x)), range(len(y))):
        if abs(i - j) <= width:
            best = min(tuple(cells[p]) for p in ((i, j), (i, j + 1), (i + 1, j)))
            cells[i + 1, j + 1] = best + np.array([squared(a[i] - b[j]), squared(x[i] - y[j])])
    return cells[1:, 1:, 1]


def last(table):
    return table[-1, -1]


#: a distance for each width, the table, and the distance from its last entry and the two lengths
FAMILY = {
    "DTW": (lambda w: DTW(w, squared=True), dtw, lambda v, n, m: v),
    "DerivativeDTW": (
        lambda w: DerivativeDTW(w, squared=True),
        lambda x, y, w=INF: dtw(slope(x), slope(y), w),
        lambda v, n, m: v,
    ),
    "WeightedDTW": (lambda w: WeightedDTW(0.3, w, squared=True), weighted, lambda v, n, m: v),
    "ADTW": (lambda w: ADTW(0.3, w), adtw, lambda v, n, m: np.sqrt(v)),
    "ShapeDTW": (lambda w: ShapeDTW(2, w, squared=True), shape, lambda v, n, m: v),
    "ERP": (lambda w: ERP(0.3, w), erp, lambda v, n, m: v),
    "LCSS": (lambda w: LCSS(0.5, w), lcss, lambda v, n, m: 1 - v / min(n, m)),
    "EDR": (lambda w: EDR(None, w), edr, lambda v, n, m: v / max(n, m)),
    "TWE": (lambda w: TWE(0.01, 0.7, w), twe, lambda v, n, m: v),
    "MSM": (lambda w: MSM(0.4, window=w), msm, lambda v, n, m: v),
    "SoftDTW": (lambda w: SoftDTW(0.5, False, w), soft_dtw, lambda v, n, m: v),
}
family = pytest.mark.parametrize("name", FAMILY)


def random_series(rng, lengths, channels=1):
    return [rng.standard_normal((n, channels)) for n in lengths]


@family
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("window", [None, 0, 2, 5])
def test_equal_lengths(name, channels, window, rng):
    make, table, finish = FAMILY[name]
    X, Y = random_series(rng, [13] * 10, channels), random_series(rng, [13] * 3, channels)
    width = INF if window is None else window
    expected = [[finish(last(table(x, y, width)), 13, 13) for y in Y] for x in X]
    np.testing.assert_allclose(make(window).pairwise(X, Y), expected, rtol=1e-11, atol=1e-12)


@family
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("window", [None, 14, 0.9])
def test_unequal_lengths(name, channels, window, rng):
    make, table, finish = FAMILY[name]
    X = random_series(rng, [3, 5, 16, 9, 4, 13, 13, 6, 4, 16, 3], channels)
    d = make(window)
    shorter = 2 if name == "DerivativeDTW" else 0
    expected = np.zeros((len(X), len(X)))
    for (i, x), (j, y) in itertools.combinations(enumerate(X), 2):
        longer = max(len(x), len(y)) - shorter
        width = INF if window is None else window if window > 1 else round(window * longer)
        if window == 0.9 and abs(len(x) - len(y)) > width:
            with pytest.raises(ValueError, match="window is too small"):
                d.distance(x, y)
            return
        expected[i, j] = expected[j, i] = finish(last(table(x, y, width)), len(x), len(y))
    D = d.pairwise(X)
    off = ~np.eye(len(X), dtype=bool)
    np.testing.assert_allclose(D[off], expected[off], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(d.pairwise(X[:4], X[4:]), D[:4, 4:])
    np.testing.assert_array_equal(d.pairwise(X[4:], X[:4]), D[4:, :4])


@family
@pytest.mark.parametrize("window", [None, 3])
def test_cost_matrix(name, window, rng):
    make, table, _ = FAMILY[name]
    x, y = random_series(rng, [9, 7])
    width = INF if window is None else window
    expected = table(x, y, width)
    here = np.abs(np.subtract.outer(np.arange(len(expected)), np.arange(expected.shape[1]))) <= width
    table_of = make(window).cost_matrix(x, y)
    np.testing.assert_allclose(table_of[here], expected[here], rtol=1e-11, atol=1e-12)
    assert np.isinf(table_of[~here]).all()


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_paths_cost_what_the_distance_says(n, m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, 2)), rng.standard_normal((m, 2))

    def check(d, cost, step=0.0):
        path = d.path(x, y)
        steps = np.diff(path, axis=0)
        assert path[0].tolist() == [0, 0] and path[-1].tolist() == [n - 1, m - 1]
        assert ((steps >= 0) & (steps <= 1)).all() and (steps.sum(axis=1) > 0).all()
        total = sum(cost(i, j) for i, j in path) + step * (steps.sum(axis=1) == 1).sum()
        np.testing.assert_allclose(d.distance(x, y), total, rtol=1e-12, atol=1e-12)

    check(DTW(squared=True), lambda i, j: squared(x[i] - y[j]))
    check(ADTW(0.3, squared=True), lambda i, j: squared(x[i] - y[j]), 0.3)
    check(ShapeDTW(1, squared=True), lambda i, j: squared(x[i] - y[j]))
    assert Frechet().distance(x, y) == max(norm(x[i] - y[j]) for i, j in Frechet().path(x, y))
    path = ERP().path(x, y)
    alone = [norm(x[i]) for i in range(n) if i not in path[:, 0]] + [
        norm(y[j]) for j in range(m) if j not in path[:, 1]
    ]
    assert ERP().distance(x, y) == pytest.approx(sum(alone) + sum(norm(x[i] - y[j]) for i, j in path))
    path = EDR(1.0).path(x, y)
    wrong = sum(norm(x[i] - y[j]) >= 1.0 for i, j in path)
    assert EDR(1.0).distance(x, y) * max(n, m) == pytest.approx(wrong + n + m - 2 * len(path))
    path = LCSS(1.0).path(x, y)
    assert all(norm(x[i] - y[j]) <= 1.0 for i, j in path)
    assert LCSS(1.0).distance(x, y) == pytest.approx(1 - len(path) / min(n, m))


def test_channels_that_move_together(rng):
    """MSM of several channels at once: one channel apart, cell by cell."""
    x, y = rng.standard_normal((8, 3)), rng.standard_normal((6, 3))

    def price(here, before, there):
        if squared((before + there) / 2 - here) <= squared(before - there) / 4:
            return 0.4
        return 0.4 + min(squared(before - here), squared(there - here))

    table = edited(
        x,
        y,
        lambda i, j: squared(x[i] - y[j]),
        lambda i, j: price(x[i], x[i - 1], y[j]) if i else INF,
        lambda i, j: price(y[j], x[i], y[j - 1]) if j else INF,
        border=False,
    )
    d = MSM(0.4, independent=False)
    assert d.distance(x, y) == pytest.approx(last(table), rel=1e-12)
    with pytest.raises(ValueError, match="independent channels have one alignment each"):
        MSM().path(x, y)


@pytest.mark.parametrize("d", [ERP(0.2), MSM(0.3), TWE(0.1, 0.5)], ids=case_id)
def test_metrics_fulfil_the_triangle_inequality(d, rng):
    D = d.pairwise(random_series(rng, rng.integers(3, 12, 12)))
    assert (D[:, :, None] <= D[:, None, :] + D.T[None, :, :].transpose(0, 2, 1) + 1e-12).all()


@pytest.mark.parametrize("name", FAMILY)
def test_single_precision(name, rng):
    d = FAMILY[name][0](None)
    X = random_series(rng, rng.integers(20, 41, 40))
    if name in ("LCSS", "EDR"):  # which count
        X = [np.round(x, 1) + 0.01 for x in X]
        d.tolerance = 0.55
    single = type(d)(**d.get_params() | {"dtype": np.float32})
    D, S = d.pairwise(X), single.pairwise(X)
    assert S.dtype == np.float32
    off = ~np.eye(len(X), dtype=bool)
    np.testing.assert_allclose(S[off], D[off], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_everywhere(name, dtype, rng):
    d = FAMILY[name][0](None)
    d.dtype = dtype
    X, Y = random_series(rng, rng.integers(5, 25, 45)), random_series(rng, rng.integers(5, 25, 9))
    before = _native.instruction_set()
    results = set()
    try:
        for instructions in ("base", "avx2", "avx512"):
            try:
                _native.select_instruction_set(instructions)
            except ValueError:
                continue  # not on this machine
            for threads in (1, 3):
                with limited_threads(threads):
                    results.add((d.pairwise(X).tobytes(), d.pairwise(X, Y).tobytes()))
    finally:
        _native.select_instruction_set(before)
    assert len(results) == 1


# -- soft alignments


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 100.0]))
def test_soft_minimum_is_the_sum_over_all_paths(n, m, seed, gamma):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(n), rng.standard_normal(m)

    def paths(i, j):
        if (i, j) == (n - 1, m - 1):
            yield [(i, j)]
        for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
            if a < n and b < m:
                for rest in paths(a, b):
                    yield [(i, j), *rest]

    costs = np.array([sum((x[i] - y[j]) ** 2 for i, j in path) for path in paths(0, 0)])
    expected = -gamma * np.logaddexp.reduce(-costs / gamma)
    assert SoftDTW(gamma, divergence=False).distance(x, y) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    kappa = np.exp(-(np.subtract.outer(x, y) ** 2) / (2 * gamma))
    local = kappa / (2 - kappa)
    total = sum(np.prod([local[i, j] for i, j in path]) for path in paths(0, 0))
    own = GlobalAlignmentKernel(np.sqrt(gamma))
    if total > 0:
        raw = own._alignments()._cost(
            own._alignments()._raw(own._alignments().patterns([x]), own._alignments().patterns([y]))
        )
        assert raw[0, 0] == pytest.approx(-np.log(total), rel=1e-11, abs=1e-11)


def test_soft_dtw_hardens(rng):
    X = random_series(rng, [20, 15, 18])
    np.testing.assert_allclose(SoftDTW(1e-4).pairwise(X), DTW(squared=True).pairwise(X), rtol=1e-3, atol=1e-2)
    assert SoftDTW(1.0).distance(X[0], X[0]) == 0


@pytest.mark.parametrize("triangle", [None, 12])
def test_global_alignments_are_definite(triangle, rng):
    X = random_series(rng, rng.integers(10, 20, 40), 2)
    kernel = GlobalAlignmentKernel(2.0, triangle)
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > 0
    np.testing.assert_allclose(K[:3, 3:], kernel(X[:3], X[3:]), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(K), kernel.diag(X))
    if triangle is None:
        np.testing.assert_allclose(GlobalAlignmentKernel(2.0, 10**9)(X), K, rtol=1e-6)


def test_indefinite_where_the_global_alignment_is_not(rng):
    X = random_series(rng, [8] * 80)
    K = np.exp(-DTW(squared=True).pairwise(X) / 8)
    assert np.linalg.eigvalsh(K)[0] < -1e-6


# -- patterns and bad input


def test_channels_first_and_last(rng):
    X = rng.standard_normal((4, 3, 9))
    np.testing.assert_array_equal(
        DTW(channels="first").pairwise(X), DTW().pairwise(np.ascontiguousarray(X.transpose(0, 2, 1)))
    )
    np.testing.assert_array_equal(DTW(channels="first").pairwise(list(X)), DTW(channels="first").pairwise(X))
    np.testing.assert_array_equal(DTW(channels="first").pairwise(X[:, :1]), DTW().pairwise(X[:, 0]))
    with pytest.raises(ValueError, match=r"X has the shape \(4, 1, 9\).*channels='first'"):
        DTW().pairwise(X[:, :1])
    with pytest.raises(ValueError, match="channels must be 'last' or 'first', got 'middle'"):
        DTW(channels="middle").pairwise(X)


@pytest.mark.parametrize(
    ("d", "message"),
    [
        (ADTW(-1.0), "penalty must be a non-negative number, got -1.0"),
        (WeightedDTW(np.nan), "steepness must be a non-negative number"),
        (ERP([0.0, 1.0]), "gap must be a number, or one for each of 1 channels"),
        (LCSS("wide"), "tolerance must be a non-negative number, got 'wide'"),
        (EDR(-0.1), "tolerance must be"),
        (MSM(-1), "price must be"),
        (TWE(-1), "stiffness must be"),
        (TWE(0.1, -1), "deletion must be"),
        (SoftDTW(0.0), "gamma must be a positive number, got 0.0"),
        (ShapeDTW(1.5), "reach must be a whole number"),
        (DTW(dtype=np.float16), "dtype must be numpy.float64 or numpy.float32"),
        (DTW(1.5), "window must be None"),
        (MSM(window=0), "window is too small for these lengths"),
    ],
    ids=case_id,
)
def test_bad_parameters(d, message):
    with pytest.raises(ValueError, match=message):
        d.pairwise([[0.0, 1.0, 2.0], [1.0, 3.0, 4.0, 5.0]])


def test_slopes_need_three_samples():
    with pytest.raises(ValueError, match="series 1 has 2 samples: slopes need at least 3"):
        DerivativeDTW().pairwise([[0.0, 1.0, 2.0], [1.0, 2.0]])
