"""The same calls in two installations: this one, and one whose loops are compiled otherwise.

    python benchmarks/native.py --before PYTHON [--repeats 5]

PYTHON is the interpreter of another environment with seminorm, such as the last version with Numba (commit a647683).
Both take turns, warm, on one thread and on all; the shortest of several runs counts. docs/results/native_loops.md keeps
the comparison of the day the loops were moved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

PROGRAM = """
import json, sys, time
import numpy as np
import seminorm
from seminorm import FieldSmoother, estimate_normals, reconstruct
from seminorm.invariance import DTW, ImageDistortion, TangentDistance
from seminorm.rendering import render_mesh
rng = np.random.default_rng(0)
sphere = rng.standard_normal((20_000, 3))
sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
bumpy = sphere * (1 + 0.1 * np.sin(9 * sphere).prod(axis=1, keepdims=True))
plane, space = rng.random((300_000, 2)), rng.random((100_000, 3))
series, images = rng.standard_normal((200, 150)), rng.random((300, 256))
given = {"depth": 6, "smoothness": 0.002, "tolerance": 0.005}
surface = reconstruct(bumpy, sphere, order=3, **given)
mesh = surface.mesh(0.01)
field = FieldSmoother(1e-6, depth=7).fit(plane, np.sin(20 * plane).sum(axis=1))
CALLS = {
    "field in the plane, alpha chosen": lambda: FieldSmoother().fit(plane, np.sin(20 * plane).sum(axis=1)),
    "field in space, alpha given": lambda: FieldSmoother(1e-6, depth=5).fit(space, np.sin(9 * space).sum(axis=1)),
    "field, evaluation": lambda: field.predict(plane),
    "surface, order 2": lambda: reconstruct(bumpy, sphere, order=2, **given),
    "surface, order 3": lambda: reconstruct(bumpy, sphere, order=3, **given),
    "mesh": lambda: surface.mesh(0.01),
    "normals": lambda: estimate_normals(bumpy),
    "rendering": lambda: render_mesh(mesh.vertices, mesh.faces),
    "DTW": lambda: DTW().pairwise(series),
    "DTW, window": lambda: DTW(window=15).pairwise(series),
    "tangent distance": lambda: TangentDistance((16, 16)).pairwise(images),
    "image distortion": lambda: ImageDistortion((16, 16)).pairwise(images[:60]),
}
for call in CALLS.values():
    call()
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    CALLS[line.strip()]()
    print(time.perf_counter() - start, flush=True)
"""
NAMES = [line.split('"')[1] for line in PROGRAM.splitlines() if line.startswith('    "')]


class Installation:
    """A process of an interpreter that makes the calls it is told to."""

    def __init__(self, python: str, threads: int | None):
        setting = {} if threads is None else {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
        words = ["env", *(f"{name}={value}" for name, value in setting.items()), python, "-c", PROGRAM]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number()

    def number(self) -> float:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("an installation ended: see its message above.")
        return 0.0 if line.startswith("ready") else float(json.loads(line))

    def seconds(self, name: str) -> float:
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return self.number()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="the interpreter of the other installation")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.before is None:
        print("give --before, the interpreter of an environment with the version to compare with: skipped")
        return
    for threads in (1, None):
        before, now = (Installation(python, threads) for python in (arguments.before, sys.executable))
        print(f"{'one thread' if threads else 'all threads':>34}   before      now  times faster")
        for name in NAMES:
            times = [(before.seconds(name), now.seconds(name)) for _ in range(arguments.repeats)]
            old, new = (min(column) for column in zip(*times, strict=True))
            print(f"{name:>34} {old:7.3f}s {new:7.3f}s {old / new:8.2f}", flush=True)
        before.close()
        now.close()


if __name__ == "__main__":
    main()
