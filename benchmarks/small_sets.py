"""FieldSmoother on small sets against SciPy's dense thin plate, defaults on both sides: CPU time of one thread.

A fit and the values at 100 x 100 targets; ours once more with standard deviations, which the peer does not have. The
test function has waves of several lengths and noise, and SciPy is given a smoothing. Ours chooses operator and alpha.
"""

import argparse
import time

import numpy as np
from scipy.interpolate import RBFInterpolator
from threadpoolctl import threadpool_limits

from seminorm import FieldSmoother

SIZES = (20, 60, 186, 500, 1000, 2000)
NOISE, SMOOTHING, BAR = 0.1, 1e-3, 3


def truth(X):
    return np.sin(12 * X[:, 0]) * np.cos(9 * X[:, 1]) + np.exp(-50 * ((X - 0.3) ** 2).sum(axis=1))


def shortest(task, repeats):
    """The least CPU time of some runs, and what the last one returned."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = task()
        best = min(best, time.process_time() - start)
    return best, result


def compare(n, Z, repeats):
    rng = np.random.default_rng(n)
    X = rng.random((n, 2))
    y = truth(X) + NOISE * rng.standard_normal(n)
    plain, values = shortest(lambda: FieldSmoother().fit(X, y).predict(Z), repeats)
    with_std, _ = shortest(lambda: FieldSmoother().fit(X, y).predict(Z, return_std=True), repeats)
    peer, others = shortest(lambda: RBFInterpolator(X, y, smoothing=SMOOTHING)(Z), repeats)
    errors = (np.sqrt(np.mean((found - truth(Z)) ** 2)) for found in (values, others))
    verdict = "met" if with_std <= BAR * peer else "MISSED"
    print(f"{n:>6} {1e3 * plain:9.1f} {1e3 * with_std:9.1f} {1e3 * peer:9.1f} {plain / peer:7.1f} "
          f"{with_std / peer:9.1f}   {verdict:>6} {next(errors):8.3f} {next(errors):8.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of points")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    axis = np.linspace(0.0, 1.0, 100)
    targets = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    with threadpool_limits(1):
        compare(100, targets, 1)  # what is set up once
        print(f"milliseconds of CPU, and what ours takes times the peer's (with deviations at most {BAR})\n"
              f"{'n':>6} {'ours':>9} {'with std':>9} {'SciPy':>9} {'ratio':>7} {'with std':>9} {'':>8} "
              f"{'rms ours':>9} {'SciPy':>7}")  # fmt: skip
        for size in arguments.sizes:
            compare(size, targets, arguments.repeats)
