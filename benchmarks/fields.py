"""FieldSmoother: speed against dense, local and fast-multipole peers, growth with the number of points, memory.

Five parts, all by default: dense (10^4 points, RBFInterpolator), neighbors (10^6 points, cKDTree), growth (10^5 to
10^6 points in two and three dimensions), multipole (ferreus_rbf, if it is installed), disk (10^7 points in chunks
from disk). The test function has waves of several lengths and noise of 5 % of its range, so that smoothing matters.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
from _datasets import without_peer
from _memory import peak_of
from _timing import best_times, report
from scipy.interpolate import RBFInterpolator
from scipy.spatial import cKDTree

from seminorm import FieldSmoother

NOISE = 0.1


def truth(X):
    return np.sin(12 * X[:, 0]) * np.cos(9 * X[:, -1]) + np.exp(-50 * ((X - 0.3) ** 2).sum(axis=1))


def data(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, truth(X) + NOISE * rng.standard_normal(n)


def rms(values, Z):
    return float(np.sqrt(np.mean((values - truth(Z)) ** 2)))


def dense():
    """10^4 points, automatic alpha, 10^4 evaluations."""
    X, y = data(10_000)
    Z = np.random.default_rng(1).random((10_000, 2))
    found = {}

    def ours():
        smoother = FieldSmoother().fit(X, y)
        found["ours"], found["alpha"] = smoother.predict(Z), smoother.alpha_

    def peer():  # 8 pi: our thin plate is normalised
        found["peer"] = RBFInterpolator(X, y, smoothing=8 * np.pi * found["alpha"])(Z)

    ours()
    times = best_times({"FieldSmoother, alpha chosen": ours, "RBFInterpolator, one alpha": peer}, repeats=2)
    report(times, "FieldSmoother, alpha chosen", "RBFInterpolator, one alpha", 1 / 20)
    print(f"{'errors':>28}: ours {rms(found['ours'], Z):.4f}, RBFInterpolator {rms(found['peer'], Z):.4f}")


def neighbors():
    """A fit of 10^6 points against a tree of them and ten neighbours of each."""
    X, y = data(1_000_000)
    automatic = FieldSmoother().fit(X, y)
    given, depth = automatic.alpha_, 9  # two million cells across: four points in a cell
    times = best_times(
        {
            "given alpha, depth 9": lambda: FieldSmoother(given, depth=depth).fit(X, y),
            "given alpha": lambda: FieldSmoother(given).fit(X, y),
            "alpha chosen": lambda: FieldSmoother().fit(X, y),
            "cKDTree and 10 neighbours": lambda: cKDTree(X).query(X, k=10),
        },
        repeats=2,
    )
    for name, bar in (("given alpha, depth 9", 2), ("given alpha", 2), ("alpha chosen", 6)):
        report(times, name, "cKDTree and 10 neighbours", bar)


def growth():
    """Seconds per point at 10^6 points, relative to 10^5; the depth grows with the points."""
    for d, depths in ((2, (7, 9)), (3, (4, 5))):
        seconds = {}
        for n, depth in zip((100_000, 1_000_000), depths, strict=True):
            X, y = data(n, d)
            smoother = FieldSmoother(1e-4, depth=depth)
            for name, model in ((f"depth {depth}", smoother), ("automatic depth", FieldSmoother(1e-4))):
                times = best_times({"fit": lambda model=model, X=X, y=y: model.fit(X, y)}, repeats=2)
                seconds[n, name.split()[0]] = times["fit"] / n
                print(
                    f"{f'{d}-D, {n} points, {name}':>40}: {times['fit']:7.2f} s, {model.function_.n_coef} coefficients"
                )
        for kind in ("depth", "automatic"):
            ratio = seconds[1_000_000, kind] / seconds[100_000, kind]
            print(f"{f'{d}-D, {kind}: time per point':>40}: {ratio:7.2f} of that at 10^5 (at most 1: "
                  f"{'met' if ratio <= 1 else 'MISSED'})")  # fmt: skip


def multipole():
    """Against a fast-multipole thin plate that is given our alpha; our time includes choosing it."""
    try:
        from ferreus_rbf import RBFInterpolator as Multipole
        from ferreus_rbf import interpolant_config as config
    except ImportError:
        print(without_peer("ferreus_rbf"))
        return
    Z = np.random.default_rng(1).random((20_000, 2))
    for n in (30_000, 100_000, 300_000):
        X, y = data(n)
        found = {}

        def ours(X=X, y=y, found=found):
            smoother = FieldSmoother().fit(X, y)
            found["ours"], found["alpha"] = smoother.predict(Z), smoother.alpha_

        def peer(X=X, y=y, found=found):
            accuracy = config.FittingAccuracy(0.01 * NOISE, config.FittingAccuracyType.Absolute)
            settings = config.InterpolantSettings(
                config.RBFKernelType.ThinPlateSpline, nugget=8 * np.pi * found["alpha"], fitting_accuracy=accuracy
            )
            found["peer"] = np.ravel(Multipole(X, y[:, None], settings).evaluate(Z))

        times = best_times({f"FieldSmoother, {n}": ours, f"ferreus_rbf, {n}": peer}, repeats=1)
        report(times, f"FieldSmoother, {n}", f"ferreus_rbf, {n}", 1)
        print(f"{'errors':>28}: ours {rms(found['ours'], Z):.4f}, ferreus_rbf {rms(found['peer'], Z):.4f}")


def _fit_from_disk(folder, queue):
    FieldSmoother().fit(*data(2000))
    files = sorted(Path(folder).glob("*.npz"))
    smoother = FieldSmoother(1e-4, depth=10, memory_limit=3e9)
    start = time.perf_counter()
    growth = peak_of(lambda: smoother.fit(files))
    Z = np.random.default_rng(1).random((20_000, 2))
    queue.put((growth, time.perf_counter() - start, smoother.function_.n_coef, rms(smoother.predict(Z), Z)))


def disk():
    """10^7 points in twenty files, within 4 GB."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            X, y = data(500_000, seed=number)
            np.savez(Path(folder) / f"{number:02d}.npz", X=X, y=y)
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        process = context.Process(target=_fit_from_disk, args=(folder, queue))
        process.start()
        growth, seconds, n_coef, error = queue.get()
        process.join()
    print(f"{'10^7 points from disk':>28}: {seconds:8.1f} s, {n_coef} coefficients, error {error:.4f}")
    verdict = "met" if growth <= 4e9 else "MISSED"
    print(f"{'peak memory':>28}: {growth / 1e9:8.2f} GB (at most 4: {verdict})")


PARTS = {part.__name__: part for part in (dense, neighbors, growth, multipole, disk)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}")
    chosen = parser.parse_args().parts or list(PARTS)
    for d in (2, 3):
        FieldSmoother().fit(*data(2000, d))  # whatever is compiled once
    for name in chosen:
        print(f"-- {name}: {PARTS[name].__doc__.splitlines()[0]}", flush=True)
        PARTS[name]()
