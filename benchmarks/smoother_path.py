"""Smoother with automatic alpha (n = 5000, 2-D) against one fit of SciPy's RBFInterpolator at a given smoothing.

At most 8 times its time, 5 if possible; and the peak memory of the fit, at most three n x n matrices.
"""

import multiprocessing

import numpy as np
from _memory import peak_of, report_peak
from _timing import best_times, report
from scipy.interpolate import RBFInterpolator

from seminorm import Smoother

N = 5000


def data(n=N):
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return X, np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def measure(n, criterion, queue):
    """In a process of its own, after a small fit has loaded everything."""
    Smoother(criterion=criterion).fit(*data(700))
    queue.put(peak_of(lambda: Smoother(criterion=criterion).fit(*data(n))))


if __name__ == "__main__":
    X, y = data()
    model = Smoother().fit(X, y)
    alphas = len(model.alpha_path_["alpha"])
    print(
        f"{'alphas on the path':>28}: {alphas:8d}   (GCV chose {model.alpha_:.3g}, {model.edf_:.1f} degrees of freedom)"
    )
    times = best_times(
        {
            "Smoother, automatic alpha": lambda: Smoother().fit(X, y),
            "RBFInterpolator, one alpha": lambda: RBFInterpolator(X, y, smoothing=model.alpha_),
        },
        repeats=3,
    )
    report(times, "Smoother, automatic alpha", "RBFInterpolator, one alpha", 5)
    context = multiprocessing.get_context("spawn")
    for criterion in ("gcv", "loo"):
        queue = context.Queue()
        process = context.Process(target=measure, args=(N, criterion, queue))
        process.start()
        report_peak(criterion, queue.get(), N, 3)
        process.join()
