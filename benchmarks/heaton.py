"""Satellite temperatures under clouds: values and error bars of FieldSmoother beside those of a published comparison.

Land surface temperatures on a grid of 500 x 300 pixels, of which 105 569 are given and 42 740 are covered by the clouds
of another day [Heaton 2019]. The published rows are from there, with times on the authors' machines. Ours has
default parameters in degrees of latitude along both axes, and sees no test value before it is scored. All scores are
those of a normal prediction of new observations, noise included; the bands are of 95 %. With --simulated, the same
pixels carry draws of an isotropic Gaussian process with an exponential covariance instead, and the peer is kriging from
the nearest pixels with the covariance they were drawn with: no predictor can be much better.
"""

import argparse
import time

import numpy as np
from _datasets import arrays, require
from _scores import scores
from scattered_data import geographic, middle_of
from scipy.spatial import cKDTree

from seminorm import FieldSmoother

PUBLISHED = {  # RMSE, MAE, CRPS, interval score, coverage, minutes
    "SPDE": (1.53, 1.10, 0.83, None, None, 120.0),
    "NNGP": (1.64, 1.21, 0.85, 7.57, 0.95, 2.0),
    "LatticeKrig": (1.68, 1.22, 0.87, None, None, 28.0),
}
SILL, RANGE, NUGGET = 16.0, 1.0, 0.05  # of the simulated process; the range in degrees of latitude
NEIGHBORS = 60


def pixels(latitude):
    """The given and the covered pixels, in degrees of latitude along both axes, and the file they come from."""
    file = arrays("scattered/heaton_sat.npz")
    middle = middle_of(file) if latitude is None else latitude
    return *(geographic(*file[name].T, middle) for name in ("X", "X_test")), file


def simulated(X, Z, seed):
    """A draw at all pixels, which form a grid: circulant embedding [Dietrich and Newsam 1997]."""
    rng = np.random.default_rng(seed)
    both = np.concatenate([X, Z])
    axes = [np.unique(both[:, k].round(9)) for k in range(2)]
    sides = [np.ptp(axis) / (len(axis) - 1) for axis in axes]
    shape = [6 * len(axis) for axis in axes]
    offsets = [side * np.minimum(np.arange(n), n - np.arange(n)) for side, n in zip(sides, shape, strict=True)]
    spectrum = np.fft.fft2(SILL * np.exp(-np.hypot(*np.ix_(*offsets)) / RANGE)).real
    if spectrum.min() < -1e-9 * spectrum.max():
        raise RuntimeError("the embedding of the covariance is not positive semi-definite: enlarge it")
    noise = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    values = np.fft.fft2(np.sqrt(np.maximum(spectrum, 0.0) / spectrum.size) * noise).real
    places = [np.rint((both[:, k] - axes[k][0]) / sides[k]).astype(int) for k in range(2)]
    drawn = values[tuple(places)] + NUGGET**0.5 * rng.standard_normal(len(both))
    return drawn[: len(X)], drawn[len(X) :]


def kriging(X, y, Z):
    """Prediction and deviation of new observations from the nearest ones, with the true mean and covariance."""
    mean, std = np.empty(len(Z)), np.empty(len(Z))
    tree = cKDTree(X)
    for first in range(0, len(Z), 2000):
        part = slice(first, first + 2000)
        _, near = tree.query(Z[part], k=NEIGHBORS)
        points = X[near]
        between = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
        matrix = SILL * np.exp(-between / RANGE) + NUGGET * np.eye(NEIGHBORS)
        right = SILL * np.exp(-np.linalg.norm(points - Z[part][:, None], axis=-1) / RANGE)
        weights = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
        mean[part] = (weights * y[near]).sum(axis=1)
        std[part] = np.sqrt(SILL + NUGGET - (weights * right).sum(axis=1))
    return mean, std


def ours(X, y, Z, truth, **options):
    start = time.perf_counter()
    smoother = FieldSmoother(**options).fit(X, y)
    middle = time.perf_counter()
    mean, std = smoother.predict(Z, return_std="observation")
    seconds = time.perf_counter() - start
    print(f"{smoother.function_!r}, noise {smoother.noise_variance_**0.5:.3g}, factor "
          f"{smoother.deviation_factor_:.2f}; fit {middle - start:.1f} s of "
          f"{seconds:.1f} s")  # fmt: skip
    if options.get("anisotropy"):
        print(smoother.details_["anisotropy"])
    return scores(truth, mean, std), seconds


def show(name, values, minutes):
    cells = ("      -" if value is None else f"{value:7.3f}" for value in values)
    print(f"{name:>16} " + " ".join(cells) + f" {minutes:8.2f}", flush=True)


def head():
    print(f"{'':>16} " + " ".join(f"{title:>7}" for title in ("RMSE", "MAE", "CRPS", "score", "cover")) + "  minutes")


def compare_simulated(X, Z, seeds, draws):
    """FieldSmoother without and with directions beside kriging with what is true."""
    for seed in range(seeds):
        y, truth = simulated(X, Z, seed)
        rows = {}
        for anisotropy in (None, "auto", "rotated"):
            rows[str(anisotropy)] = ours(X, y, Z, truth, std_samples=draws, anisotropy=anisotropy)
        start = time.perf_counter()
        best = scores(truth, *kriging(X, y, Z))
        head()
        show("kriging, truth", best, (time.perf_counter() - start) / 60.0)
        for name, (found, seconds) in rows.items():
            show(name, found, seconds / 60.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=48, help="std_samples of FieldSmoother")
    parser.add_argument("--anisotropy", choices=("auto", "rotated"), help="of FieldSmoother; none by default")
    parser.add_argument("--latitude", type=float, help="where a degree of longitude counts as long as it is")
    parser.add_argument("--simulated", type=int, metavar="SEEDS", help="draws of a Gaussian process instead")
    arguments = parser.parse_args()
    require("scattered/heaton_sat.npz")
    X, Z, file = pixels(arguments.latitude)
    if arguments.simulated:
        compare_simulated(X, Z, arguments.simulated, arguments.draws)
        raise SystemExit
    options = {"std_samples": arguments.draws, "anisotropy": arguments.anisotropy}
    found, seconds = ours(X, file["y"], Z, file["y_test"], **options)
    head()
    for name, row in PUBLISHED.items():
        show(name, row[:-1], row[-1])
    show("FieldSmoother", found, seconds / 60.0)
