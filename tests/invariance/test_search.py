"""Search for pieces of a series: against all distances, one by one."""

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.invariance import DTW, search


def every_distance(query, series, window, standardize):
    pieces = np.lib.stride_tricks.sliding_window_view(series, len(query)).copy()

    def unit(x):
        deviation = x.std(axis=-1, keepdims=True)
        return (x - x.mean(axis=-1, keepdims=True)) / np.where(deviation > 1e-9, deviation, np.inf)

    if standardize:
        query, pieces = unit(query), unit(pieces)
    return DTW(window).pairwise(query[None], pieces)[0]


def greedy(distances, k, apart):
    distances, chosen = distances.copy(), []
    while len(chosen) < k and np.isfinite(distances).any():
        chosen.append(int(distances.argmin()))
        distances[max(0, chosen[-1] - apart + 1) : chosen[-1] + apart] = np.inf
    return chosen


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("window", [0, 3, 0.3, None])
@pytest.mark.parametrize(("k", "exclusion"), [(1, None), (4, None), (7, 3), (5, 1), (500, 40)])
def test_search_is_exact(standardize, window, k, exclusion, rng):
    series = np.cumsum(rng.standard_normal(700))
    series[300:340] = series[300]  # constant pieces
    query = series[123:147] + 0.3 * rng.standard_normal(24)
    distances = every_distance(query, series, window, standardize)
    expected = greedy(distances, k, 12 if exclusion is None else exclusion)
    found = search(query, series, k, window=window, standardize=standardize, exclusion=exclusion)
    np.testing.assert_array_equal(found.starts, expected)
    np.testing.assert_allclose(found.distances, distances[expected], rtol=1e-9, atol=1e-7)


def test_bounds_rule_out_nearly_all(rng):
    series = np.cumsum(rng.standard_normal(20000))
    found = search(series[5000:5100] + 0.05 * rng.standard_normal(100), series, 2, window=0.05)
    assert found.starts[0] == 5000
    assert found.n_distances < 2000


@pytest.mark.parametrize("length", [1, 3, 12])
def test_short_series(length, rng):
    series = rng.standard_normal(12)
    found = search(series[:length], series, 3, window=1, standardize=False)
    assert found.starts[0] == 0 and found.distances[0] == 0


def test_same_bits(rng):
    series, query = np.cumsum(rng.standard_normal(3000)), rng.standard_normal(50)
    before, results = _native.instruction_set(), set()
    try:
        for instructions in ("base", "avx2", "avx512"):
            try:
                _native.select_instruction_set(instructions)
            except ValueError:
                continue  # not on this machine
            for threads in (1, 2):
                with limited_threads(threads):
                    found = search(query, series, 3)
                    results.add((found.starts.tobytes(), found.distances.tobytes()))
    finally:
        _native.select_instruction_set(before)
    assert len(results) == 1


def test_bad_input(rng):
    x = rng.standard_normal(30)
    for arguments, options, message in (
        ((x, x[:20]), {}, "series has 20 samples, fewer than the 30 of the query"),
        ((x[:5], x, 0), {}, "k must be a positive whole number"),
        ((x[:5], x), {"exclusion": -1}, "exclusion must be"),
        ((x[:5], x), {"window": 2.0}, "window must be"),
        ((np.append(x[:5], np.nan), x), {}, "NaN"),
        ((x.reshape(10, 3), x), {}, "one channel"),
    ):
        with pytest.raises(ValueError, match=message):
            search(*arguments, **options)
    with pytest.raises(ValueError, match="at least 8 pieces"):
        _native.piece_units(x[:9], 4, True, 0.0, np.empty(6), np.empty(6))
