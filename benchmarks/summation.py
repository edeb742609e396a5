"""Sums over many centres at many points: fast sums against all pairs, ferreus_rbf and SciPy, in one run.

Times are seconds of the processors, all threads together, which other programs disturb less than the clock; errors are
the largest ones at 1000 points, relative to the largest magnitude there, measured against sums over all centres. The
time of all pairs is that of the compiled direct sums at some points, times the number of points over theirs.

    python benchmarks/summation.py [--quick] [--picture docs/images/summation-growth.png]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from _datasets import has_package, without_peer
from _memory import peak_of
from scipy.interpolate import RBFInterpolator

from seminorm.functions import FastSum
from seminorm.kernels import Gaussian, Matern, Multiquadric, Polyharmonic, ThinPlate, Wendland

CHECKED = 1000  # points where errors are measured


def processor_seconds(task: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def fast_sum(kernel, centers, targets, tolerance, coef):
    return FastSum(kernel, centers, targets, tolerance)(coef)


def uniform(rng, n):
    return rng.random((n, 3))


def clustered(rng, n):
    """Half of the points in a hundred clusters of very different sizes."""
    places = rng.integers(0, 100, n // 2)
    middles, sizes = rng.random((100, 3)), 10.0 ** rng.uniform(-4, -1, 100)
    inside = middles[places] + sizes[places, None] * rng.standard_normal((n // 2, 3))
    return np.concatenate([inside, rng.random((n - n // 2, 3))])


def surface(rng, n):
    normals = rng.standard_normal((n, 3))
    return 0.5 + 0.5 * normals / np.linalg.norm(normals, axis=1, keepdims=True)


def line(rng, n):
    t = rng.random(n)
    return np.column_stack([t, 0.5 + 0.4 * np.sin(6 * t), 0.5 + 0.4 * np.cos(6 * t)])


KERNELS = {
    "thin plate": ThinPlate(),
    "cubic": Polyharmonic(3, 3),
    "quintic": Polyharmonic(4, 3),
    "multiquadric 0.05": Multiquadric(0.05),
    "Gaussian 0.01": Gaussian(0.01),
    "Gaussian 0.5": Gaussian(0.5),
    "Matern 1.5, 0.2": Matern(1.5, 0.2),
    "Wendland 0.1": Wendland(2, 0.1),
}
SETS = [uniform, clustered, surface, line]


def measure(kernel, centers, targets, coef, tolerance):
    """Seconds of the first and of a second sum, of all pairs, the error, and the growth of the memory in bytes."""
    found = {}

    def first():
        fast = found["fast"] = FastSum(kernel, centers, targets, tolerance)
        found["sum"] = fast(coef)

    preparation, memory = processor_seconds(lambda: peak_of(first))
    again, _ = processor_seconds(lambda: found["fast"](coef))
    some = np.random.default_rng(7).permutation(len(targets))[:CHECKED]
    direct, exact = processor_seconds(lambda: FastSum(kernel, centers, targets[some], 0)(coef))
    error = np.abs(found["sum"][some] - exact).max() / np.abs(exact).max()
    return preparation, again, direct * len(targets) / len(some), error, memory


def table_of_kernels(n: int, tolerances: tuple[float, ...]) -> None:
    print(f"\n{n} centres at {n} points in space, coefficients at random: seconds of the processors, errors, MB")
    names = ["kernel", "points", "tolerance", "first", "again", "all pairs", "error", "MB"]
    print(" ".join(f"{name:>{width}}" for name, width in zip(names, (18, 10, 9, 8, 8, 9, 8, 6), strict=True)))
    for name, kernel in KERNELS.items():
        for points in SETS:
            rng = np.random.default_rng(1)
            centers, coef = points(rng, n), rng.standard_normal(n)
            for tolerance in tolerances:
                first, again, direct, error, memory = measure(kernel, centers, points(rng, n), coef, tolerance)
                verdict = "" if error <= tolerance else "  TOLERANCE MISSED"
                print(
                    f"{name:>18} {points.__name__:>10} {tolerance:9.0e} {first:8.2f} {again:8.2f} {direct:9.1f} "
                    f"{error:8.1e} {memory / 1e6:6.0f}{verdict}",
                    flush=True,
                )


def against_peers(n: int, m: int) -> None:
    """Evaluation of the interpolant that the peer has fitted, with its own coefficients, by both."""
    print(f"\nInterpolants of {n} points at {m} points in space: seconds of the processors, errors")
    rng = np.random.default_rng(2)
    X, targets = rng.random((n, 3)), rng.random((m, 3))
    y = np.sin(6 * X[:, :1]) * np.cos(5 * X[:, 1:2]) + X[:, 2:] ** 2
    some = rng.permutation(m)[:CHECKED]
    if has_package("ferreus_rbf"):
        import ferreus_rbf
        from ferreus_rbf.interpolant_config import (
            FittingAccuracy,
            FittingAccuracyType,
            InterpolantSettings,
            RBFKernelType,
        )

        accuracy = FittingAccuracy(1e-3, FittingAccuracyType.Relative)
        kernels = {"thin plate": (RBFKernelType.ThinPlateSpline, ThinPlate(), 1.0),
                   "cubic": (RBFKernelType.Cubic, Polyharmonic(3, 3), 96 * np.pi)}  # fmt: skip
        for name, (kind, kernel, factor) in kernels.items():
            settings = InterpolantSettings(kind, fitting_accuracy=accuracy)
            peer = ferreus_rbf.RBFInterpolator(X, y, settings)
            coef = factor * np.asarray(peer.coefficients.point_coefficients)[:, 0]
            exact = FastSum(kernel, X, targets[some], 0)(coef)
            theirs, values = processor_seconds(lambda peer=peer: np.ravel(peer.evaluate(targets)))
            trend = fitted_trend(targets[some], values[some] - exact)
            error = np.abs(values[some] - exact - trend).max() / np.abs(exact).max()
            print(f"{name:>12} {'ferreus_rbf':>24}: {theirs:8.2f} s, error {error:.1e}")
            for tolerance in (1e-6, 1e-7):
                task = partial(fast_sum, kernel, X, targets, tolerance, coef)
                ours, found = processor_seconds(task)
                error = np.abs(found[some] - exact).max() / np.abs(exact).max()
                print(
                    f"{name:>12} {f'seminorm, {tolerance:.0e}':>24}: {ours:8.2f} s, error {error:.1e}, "
                    f"{ours / theirs:.3f} of its time",
                    flush=True,
                )
    else:
        print(without_peer("ferreus_rbf"))
    local = RBFInterpolator(X, y[:, 0], neighbors=50, kernel="cubic")
    few = targets[: max(1000, m // 100)]
    seconds, _ = processor_seconds(lambda: local(few))
    print(f"{'cubic':>12} {'SciPy, 50 neighbours':>24}: {seconds * m / len(few):8.2f} s (another function, piecewise)")


def fitted_trend(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The linear part of an interpolant, in whatever coordinates its coefficients are."""
    design = np.column_stack([np.ones(len(points)), points])
    return design @ np.linalg.lstsq(design, values, rcond=None)[0]


def growth(sizes: list[int], picture: Path | None) -> None:
    print("\nGrowth with the number of centres and points, tolerance 1e-6: seconds of the processors, first sum")
    curves = {}
    for name, kernel, points in [
        ("thin plate, plane", ThinPlate(), lambda rng, n: rng.random((n, 2))),
        ("thin plate, space", ThinPlate(), uniform),
        ("cubic, space", Polyharmonic(3, 3), uniform),
        ("cubic, surface", Polyharmonic(3, 3), surface),
        ("Matern 0.2, space", Matern(1.5, 0.2), uniform),
    ]:
        seconds = []
        for n in sizes:
            rng = np.random.default_rng(3)
            first, _, direct, error, memory = measure(
                kernel, points(rng, n), points(rng, n), rng.standard_normal(n), 1e-6
            )
            seconds.append((first, direct))
            ours = f"{name:>20} {n:9d}: {first:8.2f} s, error {error:.1e}, {memory / 1e6:.0f} MB"
            print(f"{ours}, all pairs {direct:.1f} s", flush=True)
        slope = np.polyfit(np.log(sizes[-3:]), np.log([first for first, _ in seconds[-3:]]), 1)[0]
        print(f"{name:>20}  slope {slope:.2f} over the last three sizes", flush=True)
        curves[f"{name} (slope {slope:.2f})"] = [first for first, _ in seconds]
        if name == "cubic, space":
            curves["all pairs (slope 2)"] = [direct for _, direct in seconds]
    if picture is not None:
        draw(sizes, curves, picture)


def draw(sizes: list[int], curves: dict[str, list[float]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, seconds in curves.items():
        axes.loglog(sizes, seconds, "k--" if name.startswith("all") else "o-", label=name)
    axes.set(xlabel="centres, and as many points", ylabel="seconds of the processors")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    print(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--picture", type=Path, help="where to draw the growth")
    options = parser.parse_args()
    table_of_kernels(20_000 if options.quick else 100_000, (1e-4, 1e-6))
    against_peers(*((10_000, 30_000) if options.quick else (100_000, 1_000_000)))
    growth([10_000, 30_000, 100_000] + ([] if options.quick else [300_000, 1_000_000]), options.picture)
