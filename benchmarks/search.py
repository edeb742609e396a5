"""The pieces of a long series nearest to a query, against stumpy and dtaidistance: CPU time, and whether they agree.

Euclidean distance of standardised pieces against ``stumpy.match``; DTW of standardised pieces in a window of 10 %
against all distances by ``dtaidistance`` in C with its best-so-far as early abandoning, on a part of the series. The
series are random walks, which are hard (many pieces are alike), and the query is a noisy piece of it.

    python benchmarks/search.py [--samples 1000000] [--query 128] [--part 20000]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from seminorm.invariance import search


def timed(function) -> tuple[float, object]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def by_dtaidistance(query: np.ndarray, series: np.ndarray, window: int) -> tuple[int, float]:
    """The nearest piece, one by one, each distance abandoned beyond the best one."""
    from dtaidistance import dtw

    pieces = np.lib.stride_tricks.sliding_window_view(series, len(query))
    pieces = (pieces - pieces.mean(axis=1, keepdims=True)) / pieces.std(axis=1, keepdims=True)
    x = (query - query.mean()) / query.std()
    best, where = np.inf, -1
    for start, piece in enumerate(pieces):
        # its window of w samples is one wider than that of Sakoe and Chiba
        distance = dtw.distance_fast(
            x, np.ascontiguousarray(piece), window=window + 1, max_dist=best, use_pruning=False
        )
        if distance < best:
            best, where = distance, start
    return where, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--query", type=int, default=128)
    parser.add_argument("--part", type=int, default=20_000, help="samples for dtaidistance")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    series, length = rng.standard_normal(arguments.samples).cumsum(), arguments.query
    query = series[arguments.part // 3 :][:length] + 0.3 * rng.standard_normal(length)
    print(f"{arguments.samples} samples, query of {length}")
    zone = int(np.ceil(length / 4))
    ours, found = timed(lambda: search(query, series, 10, window=0, exclusion=zone + 1))
    print(f"{'Euclidean, 10 pieces: ours':>34} {ours:8.3f} s")
    try:
        import stumpy

        def match():
            return stumpy.match(query, series, max_distance=np.inf, max_matches=10)

        stumpy.match(query, series[:1000], max_distance=np.inf, max_matches=1)
        theirs, rows = timed(match)
        same = np.array_equal(rows[:, 1].astype(int), found.starts)
        error = np.abs(rows[:, 0].astype(float) - found.distances).max()
        print(
            f"{'stumpy':>34} {theirs:8.3f} s, {theirs / ours:6.1f} times ours, same pieces: {same}, {error:.1e} apart"
        )
    except ImportError:
        print("stumpy is not installed: pip install stumpy")
    ours, found = timed(lambda: search(query, series, 1, window=0.1))
    print(f"{'DTW, whole series: ours':>34} {ours:8.3f} s, {found.n_distances} distances computed")
    part = series[: arguments.part]
    ours, found = timed(lambda: search(query, part, 1, window=0.1))
    print(f"{'DTW, part of the series: ours':>34} {ours:8.3f} s, {found.n_distances} distances computed")
    try:
        theirs, (where, distance) = timed(lambda: by_dtaidistance(query, part, round(0.1 * length)))
        verdict = f"same piece: {where == found.starts[0]}, {abs(distance - found.distances[0]):.1e} apart"
        print(f"{'dtaidistance':>34} {theirs:8.3f} s, {theirs / ours:6.1f} times ours, {verdict}")
    except ImportError:
        print("dtaidistance is not installed: pip install dtaidistance")


if __name__ == "__main__":
    main()
