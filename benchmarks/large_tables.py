"""SVC and SVR on large synthetic tables with few basis points: time per sample, memory, and what alpha was chosen.

    python benchmarks/large_tables.py 100000 1000000 --basis 1000
    python benchmarks/large_tables.py --predict
    python benchmarks/large_tables.py --mnist 2000

Each size runs in a process of its own, so that the peak of its memory is its own. The features are 18 normal numbers;
the target is sin(2 x0) + x1 x2 + x3^2 / 2 - 1/2 with noise of deviation 0.3, or its sign. ``--predict`` compares the
time of predictions with that of scikit-learn's SVC with as many support vectors. ``--mnist`` trains on all 60 000
digits, raw pixels, a Gaussian of scale 4, with so many basis points, beside scikit-learn's SVC(C=10) on 20 000 of them.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from _datasets import arrays, require

from seminorm import SVC, SVR
from seminorm.functions import Expansion, Functional
from seminorm.kernels import Gaussian, NegativeDistance
from seminorm.nullspace import Polynomials


def truth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5


def fit(n: int, n_basis: int, loss: str, alpha: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 18))
    y = truth(X) + 0.3 * rng.standard_normal(n)
    T = rng.standard_normal((10_000, 18))
    given = {"n_basis": n_basis, "random_state": 0, "alpha": "auto" if alpha == "auto" else float(alpha)}
    start = time.process_time()
    if loss == "squared_hinge":
        machine = SVC(NegativeDistance(), **given).fit(X, y > 0)
        score = machine.score(T, truth(T) > 0)
    else:
        machine = SVR(NegativeDistance(), loss=loss, **given).fit(X, y)
        score = machine.score(T, truth(T))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    tried = len(machine.alpha_path_["alpha"])
    print(
        f"{loss:14} n={n:8} m={machine.n_basis_:5} CPU {seconds:8.1f} s, {1e6 * seconds / n:7.1f} us/sample, peak "
        f"{peak:.2f} GB, alpha {machine.alpha_:.3g} of {tried}, score {score:.4f}",
        flush=True,
    )


def predict() -> None:
    """Values at new points, of as many support vectors as scikit-learn's machine has."""
    import sklearn.svm

    rng = np.random.default_rng(0)
    for d in (18, 784):
        X = rng.standard_normal((3000, d))
        y = truth(X) + rng.standard_normal(len(X)) > 0
        peer = sklearn.svm.SVC(C=1.0, gamma=0.5 / d).fit(X, y)
        T = rng.standard_normal((5000, d))
        start = time.process_time()
        values = peer.decision_function(T)
        theirs = time.process_time() - start
        kernel = Gaussian(float(np.sqrt(d)))
        ours = Expansion(
            kernel, [Functional(peer.support_vectors_)], peer.dual_coef_[0], Polynomials(0).fit(X), peer.intercept_
        )
        ours(T[:10])
        start = time.process_time()
        same = ours(T)
        seconds = time.process_time() - start
        print(
            f"d={d:4} {len(peer.support_)} support vectors, {len(T)} points: CPU {seconds:.2f} s, SVC {theirs:.2f} s, "
            f"ratio {seconds / theirs:.2f}; largest difference {np.abs(same - values).max():.1e}"
        )


def mnist(n_basis: int) -> None:
    """All digits on a basis, and a third of them by scikit-learn."""
    import sklearn.svm

    digits = arrays("mnist/mnist.npz")
    X, T = (digits[name].reshape(-1, 784) / 255.0 for name in ("X_train", "X_test"))
    some = np.random.default_rng(0).permutation(len(X))[:20_000]
    for name, machine, rows in (
        ("SVC of scikit-learn, 20 000 digits", sklearn.svm.SVC(C=10), some),
        (f"SVC, {len(X)} digits, n_basis={n_basis}", SVC(Gaussian(4.0), n_basis=n_basis, random_state=0), slice(None)),
    ):
        start = time.process_time()
        machine.fit(X[rows], digits["y_train"][rows])
        seconds = time.process_time() - start
        wrong = np.mean(machine.predict(T) != digits["y_test"])
        print(f"{name}: CPU {seconds:.1f} s, {100 * wrong:.2f} % of the test digits wrong", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*")
    parser.add_argument("--basis", type=int, default=1000)
    parser.add_argument("--loss", default="squared_hinge")
    parser.add_argument("--alpha", default="auto")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--mnist", type=int)
    parser.add_argument("--one", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if arguments.predict:
        predict()
    if arguments.mnist:
        require("mnist/mnist.npz")
        mnist(arguments.mnist)
    for n in arguments.sizes:
        if arguments.one:
            fit(n, arguments.basis, arguments.loss, arguments.alpha)
        else:
            options = ["--basis", str(arguments.basis), "--loss", arguments.loss, "--alpha", arguments.alpha, "--one"]
            subprocess.run([sys.executable, __file__, str(n), *options], check=True)


if __name__ == "__main__":
    main()
