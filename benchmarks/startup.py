"""How long a new process waits: imports against those of NumPy, SciPy and scikit-learn, first against second calls.

Processes take turns, the shortest of several counts. Bars: `import seminorm` at most 0.2 times the peer's imports,
`from seminorm import SVC, reconstruct` 1.3 times, `seminorm --help` and `seminorm info small.ply` once; a first call at
most 1.3 times the second.

    python benchmarks/startup.py [--repeats 7]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from seminorm import PointCloud
from seminorm.files import write_points

PEER = "import numpy, scipy.spatial, sklearn"
STARTS = {  # commands in words, and the largest ratio to the peer's
    "import seminorm": (["-c", "import seminorm"], 0.2),
    "from seminorm import SVC, reconstruct": (["-c", "from seminorm import SVC, reconstruct"], 1.3),
    "seminorm --help": (["-m", "seminorm", "--help"], 1.0),
    "seminorm info small.ply": (["-m", "seminorm", "info", "{cloud}"], 1.0),
}
BETWEEN = 1.3
SETUP = """
import time
import numpy as np
from seminorm import FieldSmoother, estimate_normals, reconstruct
from seminorm.invariance import DTW, TangentDistance
rng = np.random.default_rng(0)
sphere = rng.standard_normal((2000, 3))
sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
plane = rng.random((20_000, 2))
series, images = rng.standard_normal((100, 100)), rng.random((100, 256))
"""
CALLS = {
    "reconstruct": "reconstruct(sphere, sphere).mesh()",
    "FieldSmoother.fit": "FieldSmoother().fit(plane, np.sin(6 * plane[:, 0]))",
    "DTW.pairwise": "DTW().pairwise(series)",
    "TangentDistance.pairwise": "TangentDistance((16, 16)).pairwise(images)",
    "estimate_normals": "estimate_normals(sphere)",
}


def seconds(words: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def first_and_second(call: str) -> tuple[float, float]:
    """Times of the first and the second call in a new process."""
    timed = f"start = time.perf_counter(); {call}; print(time.perf_counter() - start)\n"
    run = subprocess.run([sys.executable, "-c", SETUP + 2 * timed], check=True, capture_output=True, text=True)
    first, second = map(float, run.stdout.split())
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        points = np.random.default_rng(0).random((1000, 3))
        cloud = write_points(Path(folder) / "small.ply", PointCloud(points))
        commands = {name: [word.format(cloud=cloud) for word in words] for name, (words, _) in STARTS.items()}
        best = dict.fromkeys([PEER, *commands], float("inf"))
        for _ in range(repeats):
            for name, words in {PEER: ["-c", PEER], **commands}.items():
                best[name] = min(best[name], seconds(words))
    print(f"{PEER:>40} {best[PEER]:7.3f} s")
    for name, (_, bar) in STARTS.items():
        ratio = best[name] / best[PEER]
        print(
            f"{name:>40} {best[name]:7.3f} s, {ratio:5.2f} of it (at most {bar}: {'met' if ratio <= bar else 'MISSED'})"
        )
    for name, call in CALLS.items():
        times = np.array([first_and_second(call) for _ in range(max(3, repeats // 2))]).min(axis=0)
        ratio, first, second = times[0] / times[1], *times
        met = "met" if ratio <= BETWEEN else "MISSED"
        print(f"{name:>40} first {first:.3f} s, second {second:.3f} s: {ratio:.2f} (at most {BETWEEN}: {met})")


if __name__ == "__main__":
    main()
