"""Fits of kernel expansions: the fast solver of Smoother against ferreus_rbf, dense solutions and fields, in one run.

Times are seconds of the processors, all threads together, which other programs disturb less than the clock. Residuals
are the largest at 2000 points of the data, over the largest value, of functions summed over all pairs; held-out errors
are root mean squares at 2000 other points.

    python benchmarks/kernel_fits.py [peers] [steps] [dense] [surface] [million] [--sizes N ...] [--only TEXT] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from _datasets import has_package, without_peer
from _memory import peak_of

from seminorm import FieldSmoother, Smoother
from seminorm.kernels import Gaussian, Kernel, Matern, Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.solvers.ridge.iterative import IterativeSolution, IterativeSystem
from seminorm.surfaces import fit_exact

CHECKED = 2000
TOLERANCE = 1e-6
MOST_IN_SPACE = 100_000  # against the peer, which takes long there
BAR = 0.5  # of the time of the peer


def truth(X):
    return np.sin(6 * X[:, 0]) * np.cos(5 * X[:, -1]) + np.exp(-30 * ((X - 0.3) ** 2).sum(axis=1))


def uniform(rng, n, d):
    return rng.random((n, d))


def clustered(rng, n, d):
    """Half of the points in a hundred clusters of very different sizes."""
    places, sizes = rng.integers(0, 100, n // 2), 10.0 ** rng.uniform(-3, -1, 100)
    inside = rng.random((100, d))[places] + sizes[places, None] * rng.standard_normal((n // 2, d))
    return np.concatenate([inside, rng.random((n - n // 2, d))])


def near_copies(rng, n, d):
    """Half of the points with a copy at a fiftieth of their distance."""
    first, shift = rng.random((n // 2, d)), rng.standard_normal((n // 2, d))
    return np.concatenate([first, first + 0.02 * n ** (-1 / d) * shift / np.linalg.norm(shift, axis=1, keepdims=True)])


def measured(task: Callable[[], object]) -> tuple[object, float, int]:
    """Result, seconds of the processors, and the growth of the memory in bytes."""
    found = {}

    def timed():
        start = time.process_time()
        found["result"] = task()
        found["seconds"] = time.process_time() - start

    memory = peak_of(timed)
    return found["result"], found["seconds"], memory


def report(name: str, predict, seconds: float, memory: int, X, y, Z) -> None:
    residual = np.abs(np.ravel(predict(X[:CHECKED])) - y[:CHECKED]).max() / np.abs(y).max()
    held_out = np.sqrt(np.mean((np.ravel(predict(Z)) - truth(Z)) ** 2))
    print(
        f"{name:>34}: {seconds:8.2f} s, {memory / 1e6:6.0f} MB, residual {residual:.1e}, held out {held_out:.2e}",
        flush=True,
    )


def against_peer(sizes: list[int]) -> None:
    if not has_package("ferreus_rbf"):
        print(without_peer("ferreus_rbf"))
        return
    from ferreus_rbf import RBFInterpolator
    from ferreus_rbf.interpolant_config import FittingAccuracy, FittingAccuracyType, InterpolantSettings, RBFKernelType

    accuracy = FittingAccuracy(TOLERANCE, FittingAccuracyType.Relative)
    cases = [
        ("thin plate, plane", RBFKernelType.ThinPlateSpline, ThinPlate(), "auto", 2),
        ("cubic, space", RBFKernelType.Cubic, Polyharmonic(3), 1, 3),
        ("linear, space", RBFKernelType.Linear, NegativeDistance(), "auto", 3),
    ]
    print(f"\nInterpolation to a relative residual of {TOLERANCE:g}")
    for n in sizes:
        for name, kind, kernel, null_space, d in cases:
            if d == 3 and n > MOST_IN_SPACE:
                continue
            rng = np.random.default_rng(0)
            X, Z = uniform(rng, n, d), uniform(rng, CHECKED, d)
            y = truth(X)
            smoother = Smoother(kernel, alpha=0, null_space=null_space, solver="fast", tol=TOLERANCE)
            ours, our_time, memory = measured(lambda s=smoother, X=X, y=y: s.fit(X, y))
            report(f"{name}, {n}, Smoother", ours.predict, our_time, memory, X, y, Z)
            settings = InterpolantSettings(kind, fitting_accuracy=accuracy)
            theirs, their_time, memory = measured(lambda s=settings, X=X, y=y: RBFInterpolator(X, y, s))
            report(f"{name}, {n}, ferreus_rbf", theirs.evaluate, their_time, memory, X, y, Z)
            share = our_time / their_time
            print(
                f"{'':>34}  {share:.2f} of its time (at most {BAR}: {'met' if share <= BAR else 'MISSED'})", flush=True
            )


def steps(sizes: list[int], only: str = "") -> None:
    """Steps of the iteration to the residual, for kernels in whose description a text occurs."""
    taken: list[IterativeSolution] = []
    solve = IterativeSystem.solve

    def counted(self, *arguments, **options):
        taken.append(solve(self, *arguments, **options))
        return taken[-1]

    IterativeSystem.solve = counted  # type: ignore[method-assign]
    kernels: list[tuple[Kernel, int, float]] = [
        (NegativeDistance(), 3, 0.0),
        (ThinPlate(), 2, 0.0),
        (Polyharmonic(2), 1, 1e-8),
        (Polyharmonic(3), 3, 0.0),
        (Polyharmonic(3), 2, 1e-8),
        (Multiquadric(0.02), 2, 0.0),
        (Matern(1.5, 0.2), 3, 0.0),
        (Matern(1.5, 0.2), 2, 0.01),
        (Gaussian(0.1), 2, 0.01),
    ]
    print(f"\nSteps to a residual of {TOLERANCE:g}, for {', '.join(map(str, sizes))} points")
    for kernel, d, alpha in (case for case in kernels if only in f"{case[0]!r} d={case[1]}"):
        for points in (uniform, clustered, near_copies):
            shown = []
            for n in sizes:
                X = points(np.random.default_rng(1), n, d)
                taken.clear()
                Smoother(kernel, alpha=alpha, solver="fast", tol=TOLERANCE).fit(X, truth(X))
                last = taken[-1]
                number = sum(found.n_iter for found in taken)  # with alpha > 0 a rough solution comes first
                shown.append(f"{number}" + ("" if last.converged else f" ({last.residual:.0e})"))
            print(f"{kernel!r:>34} d={d} alpha={alpha:<6g} {points.__name__:>12}: {', '.join(shown)}", flush=True)
    IterativeSystem.solve = solve  # type: ignore[method-assign]


def beside_dense(sizes: list[int]) -> None:
    """Noisy values: alpha chosen by generalised cross-validation; dense, fast and field."""
    print("\nSmoothing of noisy values in the plane and in space, alpha by cross-validation")
    for n in sizes:
        for kernel, d in ((Polyharmonic(2), 2), (Polyharmonic(2), 3)):
            rng = np.random.default_rng(2)
            X, Z = uniform(rng, n, d), uniform(rng, CHECKED, d)
            y = truth(X) + 0.1 * rng.standard_normal(n)
            solvers = ["dense", "fast", "field"] if n <= 8000 else ["fast", "field"]
            for solver in solvers:
                smoother = Smoother(kernel, criterion="gcv" if solver != "field" else "auto", solver=solver)
                fitted, seconds, memory = measured(lambda s=smoother, X=X, y=y: s.fit(X, y))
                held_out = np.sqrt(np.mean((fitted.predict(Z) - truth(Z)) ** 2))
                print(
                    f"{n:>8} points, d={d}, {solver:>6}: {seconds:8.2f} s, {memory / 1e6:6.0f} MB, alpha "
                    f"{fitted.alpha_:.3g}, edf {fitted.edf_:.0f}, held out {held_out:.4f}",
                    flush=True,
                )
            field, seconds, memory = measured(lambda X=X, y=y: FieldSmoother().fit(X, y))
            held_out = np.sqrt(np.mean((field.predict(Z) - truth(Z)) ** 2))
            name = f"{n:>8} points, d={d}, FieldSmoother()"
            print(f"{name}: {seconds:8.2f} s, {memory / 1e6:6.0f} MB, held out {held_out:.4f}", flush=True)


def torus(rng, n):
    """Points of a torus and its normals."""
    around, across = rng.uniform(0, 2 * np.pi, (2, n))
    outwards = np.column_stack([np.cos(around), np.sin(around), np.zeros(n)])
    normals = np.cos(across)[:, None] * outwards + np.sin(across)[:, None] * np.array([0.0, 0.0, 1.0])
    return outwards + 0.4 * normals, normals


def surfaces(sizes: list[int]) -> None:
    """Exact fits of oriented points: values and gradients."""
    print("\nExact surfaces, Polyharmonic(3), smoothness: the distance of points, tolerance: a third of it")
    area = 4 * np.pi**2 * 0.4
    for n in sizes:
        points, normals = torus(np.random.default_rng(4), n)
        places = torus(np.random.default_rng(5), CHECKED)[0]
        distance = np.sqrt(area / n)
        options = {"smoothness": distance, "tolerance": 0.3 * distance, "areas": np.full(n, area / n)}
        found = {}
        for solver in ("dense", "fast") if 4 * n <= 8000 else ("fast",):
            task = partial(fit_exact, points, normals, solver=solver, tol=TOLERANCE, **options)
            found[solver], seconds, memory = measured(task)
            surface = found[solver]
            off = np.sqrt(np.mean(surface(places) ** 2))
            print(
                f"{n:>8} points, {solver:>6}: {seconds:8.2f} s, {memory / 1e6:6.0f} MB, residual "
                f"{surface.details['residual']:.1e}, off the torus {off:.1e}",
                flush=True,
            )
        if "dense" in found:
            apart = np.abs(found["fast"](places) - found["dense"](places)).max()
            print(f"{'':>24}  largest difference of both {apart:.1e}", flush=True)


def a_million() -> None:
    n, rng = 1_000_000, np.random.default_rng(3)
    X, Z = uniform(rng, n, 3), uniform(rng, CHECKED, 3)
    y = truth(X)
    smoother = Smoother(NegativeDistance(), alpha=0, solver="fast", tol=TOLERANCE)
    fitted, seconds, memory = measured(lambda: smoother.fit(X, y))
    print("\nA million points in space, linear kernel")
    report("Smoother", fitted.predict, seconds, memory, X, y, Z)
    print(f"{'':>34}  memory at most 8 GB: {'met' if memory <= 8e9 else 'MISSED'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["peers", "steps", "dense", "surface", "million"])
    parser.add_argument("--sizes", nargs="*", type=int, help="numbers of points")
    parser.add_argument("--only", default="", help="of the steps: a part of a kernel's name, or d=1")
    parser.add_argument("--quick", action="store_true", help="a few thousand points")
    options = parser.parse_args()
    if "peers" in options.parts:
        against_peer(options.sizes or ([5000] if options.quick else [30_000, 100_000, 300_000]))
    if "steps" in options.parts:
        steps(options.sizes or ([2000, 4000] if options.quick else [10_000, 100_000, 300_000]), options.only)
    if "dense" in options.parts:
        beside_dense(options.sizes or ([2000] if options.quick else [4000, 100_000]))
    if "surface" in options.parts:
        surfaces(options.sizes or ([1500] if options.quick else [1500, 10_000, 100_000]))
    if "million" in options.parts and not options.quick:
        a_million()
