"""The elastic distances of series against aeon: CPU time of a matrix of all pairs, and the largest difference.

Series of FiftyWords (UCR archive, length 270), or random walks where it is not found. Both libraries run in this
process and take turns; CPU time counts all threads. ``--channels 3`` makes series of three channels of neighbouring
rows. The bar is 20 in double precision, and 100 for DTW in single precision.

aeon charges the whole sum of gaps for any beginning without partners in ERP, and nothing in EDR (version 1.6). For
these two, both libraries get series that begin with samples far away, which must be matched with each other: then the
definitions agree. Its soft DTW is the absolute value of ours.

    python benchmarks/elastic.py [--series 60] [--channels 1] [--window 0.1] [--repeats 3]
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
from _datasets import arrays, exists, missing

from seminorm.invariance import distances as ours

FIFTY_WORDS = "timeseries/ucr/FiftyWords.npz"
FAR = 1e3
BAR, SINGLE_BAR = 20.0, 100.0


def series(n: int, channels: int) -> np.ndarray:
    """(n, channels, length)"""
    if exists(FIFTY_WORDS):
        X = arrays(FIFTY_WORDS)["X_train"].astype(np.float64)
    else:
        print(f"random walks instead of the series. {missing(FIFTY_WORDS)}")
        X = np.random.default_rng(0).standard_normal((450, 270)).cumsum(axis=1)
        X = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    return np.ascontiguousarray(np.stack([X[c : c + n] for c in range(channels)], axis=1))


def pairs_of_functions(window: float | None, channels: int) -> dict:
    """Name: (our distance, aeon's function, its arguments, samples far away to begin with)."""
    import aeon.distances as peer

    w = {} if window is None else {"window": window}
    # a window of aeon is cut to whole samples, ours is rounded: give ours in samples
    own = lambda length: {"window": None if window is None else int(window * length), "channels": "first"}  # noqa: E731
    rooted = lambda length: own(length) | {"squared": True}  # noqa: E731
    table = {
        "DTW": (lambda n: ours.DTW(**rooted(n)), peer.dtw_pairwise_distance, w, 0),
        "DerivativeDTW": (lambda n: ours.DerivativeDTW(**rooted(n - 2)), peer.ddtw_pairwise_distance, w, 0),
        "WeightedDTW": (lambda n: ours.WeightedDTW(**rooted(n)), peer.wdtw_pairwise_distance, w, 0),
        "ADTW": (lambda n: ours.ADTW(**rooted(n)), peer.adtw_pairwise_distance, w, 0),
        "ShapeDTW": (lambda n: ours.ShapeDTW(**rooted(n)), peer.shape_dtw_pairwise_distance, w, 0),
        "ERP": (lambda n: ours.ERP(**own(n)), peer.erp_pairwise_distance, w, 1),
        "LCSS": (lambda n: ours.LCSS(**own(n)), peer.lcss_pairwise_distance, w, 0),
        "EDR": (lambda n: ours.EDR(0.25, **own(n)), peer.edr_pairwise_distance, w | {"epsilon": 0.25}, 270),
        "TWE": (lambda n: ours.TWE(**own(n)), peer.twe_pairwise_distance, w, 0),
        "MSM": (lambda n: ours.MSM(**own(n)), peer.msm_pairwise_distance, w, 0),
        "SoftDTW": (lambda n: ours.SoftDTW(divergence=False, **own(n)), peer.soft_dtw_pairwise_distance, w, 0),
    }
    if channels > 1:
        together = {"independent": False}
        table["MSM, together"] = (
            lambda n: ours.MSM(**own(n), **together),
            peer.msm_pairwise_distance,
            w | together,
            0,
        )
    return table


def cpu_times(functions: list, repeats: int) -> tuple[list[float], list[np.ndarray]]:
    """The least CPU time of each function, which take turns, and their results."""
    best, results = [np.inf] * len(functions), [np.empty(0)] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            start = time.process_time()
            results[k] = function()
            best[k] = min(best[k], time.process_time() - start)
    return best, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="distances; all by default")
    parser.add_argument("--series", type=int, default=60)
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--window", type=float, help="share of the length; none by default")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    plain = series(arguments.series, arguments.channels)
    print(
        f"{len(plain)} series of {arguments.channels} channels and length {plain.shape[2]}, window {arguments.window}"
    )
    heads = (
        ("aeon s", 8),
        ("ours s", 8),
        ("ratio", 7),
        ("float32", 8),
        ("ratio", 7),
        ("difference", 11),
        ("float32", 9),
    )
    print(f"{'':>14} " + " ".join(f"{head:>{width}}" for head, width in heads))
    chosen = pairs_of_functions(arguments.window, arguments.channels)
    for name in arguments.names or chosen:
        make, peer, options, far = chosen[name]
        X = np.concatenate([np.full((*plain.shape[:2], far), FAR), plain], axis=2)
        d = make(X.shape[2])
        single = type(d)(**d.get_params() | {"dtype": np.float32})
        functions = [partial(peer, **options), d.pairwise, single.pairwise]
        for function in functions:
            function(X[:3])
        times, (theirs, mine, short) = cpu_times([partial(f, X) for f in functions], arguments.repeats)
        off = ~np.eye(len(X), dtype=bool)
        error, error32 = (np.abs(np.abs(D) - theirs)[off].max() / max(1.0, np.abs(theirs).max()) for D in (mine, short))
        met = times[0] / times[1] >= BAR and error <= 1e-9
        met &= name != "DTW" or arguments.channels > 1 or times[0] / times[2] >= SINGLE_BAR
        print(
            f"{name:>14} {times[0]:8.3f} {times[1]:8.4f} {times[0] / times[1]:7.1f} {times[2]:8.4f} "
            f"{times[0] / times[2]:7.1f} {error:11.1e} {error32:9.1e} {'met' if met else 'MISSED'}"
        )


if __name__ == "__main__":
    main()
