"""Invariant distances and kernels against their peers, all parts by default.

dtw: the matrix of warping distances of 300 series of length 270 (FiftyWords of the UCR archive, or random walks where
it is not found) against aeon, dtaidistance and tslearn, each on all cores. The peers are imported by the interpreter
named with ``--python``, in a process of their own that takes turns with this one; those it does not have are left out.
tangent: the matrix of two-sided tangent distances of the 7291 training images of USPS (or of smooth random ones), seven
tangents, against the 64 products of such matrices, in single precision, that its inner products are.
integration: the kernel averaged over 9 x 9 shifts of 300 padded images against the plain double sum over the 81 x 81
pairs of shifts, each a matrix product.

    python benchmarks/invariance.py [dtw tangent integration] [--python PYTHON_WITH_PEERS] [--repeats 3]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile

import numpy as np
from _datasets import arrays, exists, missing, without_peer
from _timing import best_times, report
from scipy.ndimage import gaussian_filter

FIFTY_WORDS, USPS = "timeseries/ucr/FiftyWords.npz", "usps/usps.npz"
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
    if exists(FIFTY_WORDS):
        return np.ascontiguousarray(arrays(FIFTY_WORDS)["X_train"][:300], dtype=np.float64)
    print(f"random walks instead of the series. {missing(FIFTY_WORDS)}")
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
        print(f"{'seminorm':>28}: {times['seminorm']:8.3f} s")
        print(without_peer("aeon dtaidistance tslearn", arguments.python))
        return
    for peer in peers:
        print(f"{peer:>28}: {times[peer]:8.3f} s, {times[peer] / times['seminorm']:6.1f} times ours, ", end="")
        print(f"largest difference {errors[peer]:.1e} (at most 1e-9: {'met' if errors[peer] <= 1e-9 else 'MISSED'})")
    report(times, "seminorm", min(peers, key=times.get), 0.2)


def digits(n: int) -> np.ndarray:
    """Images of 16 x 16 pixels, flat."""
    if exists(USPS):
        return arrays(USPS)["X_train"][:n].astype(np.float64)
    print(f"random images instead of the digits. {missing(USPS)}")
    return gaussian_filter(np.random.default_rng(0).random((n, 16, 16)), (0, 2, 2)).reshape(n, -1)


def tangent(arguments: argparse.Namespace) -> None:
    from seminorm.invariance import TangentDistance

    X = digits(7291)
    single = X.astype(np.float32)
    distance = TangentDistance((16, 16))
    distance.pairwise(X[:50])

    def products() -> None:
        for _ in range(64):
            single @ single.T

    before = peak_bytes()
    distance.pairwise(X)
    matrices = (peak_bytes() - before) / (8 * len(X) ** 2)
    functions = {"tangent distances": lambda: distance.pairwise(X), "64 products": products}
    report(best_times(functions, arguments.repeats), "tangent distances", "64 products", 1.5)
    print(f"{'memory':>28}: {matrices:8.2f} matrices   (at most 2: {'met' if matrices <= 2 else 'MISSED'})")


def peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def integration(arguments: argparse.Namespace) -> None:
    from seminorm.invariance import ImageShift, IntegrationKernel
    from seminorm.kernels import Gaussian

    X, base = digits(300), Gaussian(4.0)
    shifts = ImageShift((16, 16), extent=4, padding=4)
    kernel = IntegrationKernel(base, shifts)
    nodes, weights = shifts.quadrature()

    def plain() -> np.ndarray:
        moved = shifts.apply(X, nodes)
        squares = (moved**2).sum(axis=2)
        total = np.zeros((len(X), len(X)))
        for i, weight in enumerate(weights):
            for j, other in enumerate(weights):
                squared = squares[i][:, None] + squares[j] - 2.0 * moved[i] @ moved[j].T
                total += weight * other * base.profile(np.maximum(squared, 0.0))
        return total

    kernel(X[:20])
    times = best_times({"integration kernel": lambda: kernel(X), "plain double sum": plain}, min(arguments.repeats, 2))
    report(times, "integration kernel", "plain double sum", 1 / 15)
    print(f"{'largest difference':>28}: {np.abs(kernel(X) - plain()).max():.1e}")


PARTS = {"dtw": dtw, "tangent": tangent, "integration": integration}


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
