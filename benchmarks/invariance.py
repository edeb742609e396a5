"""Invariant distances and kernels against their peers, all parts by default.

dtw: the matrix of warping distances of 300 series of length 270 (FiftyWords of the UCR archive, or random walks where
it is not found) against aeon, dtaidistance and tslearn, each on all cores. The peers are imported by the interpreter
named with ``--python``, in a process of their own that takes turns with this one; those it does not have are left out.

    python benchmarks/invariance.py [dtw ...] [--python PYTHON_WITH_PEERS] [--repeats 3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _timing import best_times, report

DATA = Path(os.environ.get("SEMINORM_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

WARPING_PEERS = """
import sys, warnings
import numpy as np

warnings.simplefilter("ignore")
folder = sys.argv[1]
X = np.load(f"{folder}/series.npy")
peers = {}
try:
    from aeon.distances import dtw_pairwise_distance

    peers["aeon"] = lambda X: np.sqrt(dtw_pairwise_distance(X, n_jobs=-1))
except ImportError:
    pass
try:
    from dtaidistance import dtw

    peers["dtaidistance"] = lambda X: dtw.distance_matrix_fast(X)
except ImportError:
    pass
try:
    from tslearn.metrics import cdist_dtw

    peers["tslearn"] = lambda X: cdist_dtw(X, n_jobs=-1)
except ImportError:
    pass
for peer in peers.values():
    peer(X[:10])
print(*peers, flush=True)
for line in sys.stdin:
    name = line.strip()
    np.save(f"{folder}/{name}.npy", peers[name](X))
    print("done", flush=True)
"""


def fifty_words() -> np.ndarray:
    """300 series of length 270."""
    file = DATA / "timeseries" / "ucr" / "FiftyWords.npz"
    if file.is_file():
        with np.load(file) as arrays:
            return np.ascontiguousarray(arrays["X_train"][:300], dtype=np.float64)
    print(f"random walks, since there is no {file}: set SEMINORM_DATA to the folder of the data")
    walks = np.random.default_rng(0).standard_normal((300, 270)).cumsum(axis=1)
    return (walks - walks.mean(axis=1, keepdims=True)) / walks.std(axis=1, keepdims=True)


def dtw(arguments: argparse.Namespace) -> None:
    from seminorm.invariance.distances import DTW

    X = fifty_words()
    DTW().pairwise(X[:10])
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/series.npy", X)
        command = [arguments.python, "-c", WARPING_PEERS, folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            peers = process.stdout.readline().split()

            def ask(peer: str) -> None:
                print(peer, file=process.stdin, flush=True)
                if process.stdout.readline().strip() != "done":
                    raise RuntimeError(f"{peer} failed; its error is above.")

            functions = {"seminorm": lambda: DTW().pairwise(X)} | {peer: lambda peer=peer: ask(peer) for peer in peers}
            times = best_times(functions, arguments.repeats)
        ours = DTW().pairwise(X)
        errors = {peer: np.abs(np.load(f"{folder}/{peer}.npy") - ours).max() for peer in peers}
    if not peers:
        print(f"{'seminorm':>28}: {times['seminorm']:8.3f} s   ({arguments.python} has none of the peers)")
        return
    for peer in peers:
        print(f"{peer:>28}: {times[peer]:8.3f} s, {times[peer] / times['seminorm']:6.1f} times ours, ", end="")
        print(f"largest difference {errors[peer]:.1e} (at most 1e-9: {'met' if errors[peer] <= 1e-9 else 'MISSED'})")
    report(times, "seminorm", min(peers, key=times.get), 0.2)


PARTS = {"dtw": dtw}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the peers")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose of {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        print(f"-- {part}")
        PARTS[part](arguments)


if __name__ == "__main__":
    main()
