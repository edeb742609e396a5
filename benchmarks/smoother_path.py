"""Smoother with automatic alpha (n = 5000, 2-D) against one fit of SciPy's RBFInterpolator at a given smoothing.

At most 8 times its time, 5 if possible; and the peak memory of the fit, at most three n x n matrices.
"""

import multiprocessing
from pathlib import Path

import numpy as np
from _timing import best_times, report
from scipy.interpolate import RBFInterpolator

from seminorm import Smoother

N = 5000


def data(n=N):
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return X, np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def resident(field):
    """Current (VmRSS) or largest (VmHWM) resident size of this process in bytes (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak_memory(n, criterion, queue):
    """Growth of the resident size at its peak during a fit, after a small one has loaded everything."""
    Smoother(criterion=criterion).fit(*data(700))
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
    before = resident("VmRSS")
    Smoother(criterion=criterion).fit(*data(n))
    queue.put(resident("VmHWM") - before)


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
        process = context.Process(target=peak_memory, args=(N, criterion, queue))
        process.start()
        matrices = queue.get() / (8 * N**2)
        process.join()
        print(
            f"{'peak memory, ' + criterion:>28}: {matrices:8.2f} n x n matrices   (at most 3: "
            f"{'met' if matrices <= 3 else 'MISSED'})"
        )
