"""Kernels matched to the spectrum of scattered data, against a Gaussian whose scale is chosen by leave-one-out, and
against scikit-learn's Gaussian process with a Gaussian kernel and noise, both fitted by its likelihood.

Random functions with a given spectrum, 150 points of the line (a band around 25) or 250 of the plane (a ring around 12,
or a smooth field), dense or with only a few per wave, with noise of standard deviation 0.3. It prints root mean square
errors at new points, the frequency that was found, and seconds.

    python benchmarks/spectrum_matching.py [--draws 6]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from seminorm import Smoother
from seminorm.estimators import match_spectrum
from seminorm.kernels import Gaussian

NOISE, WAVES = 0.3, 400
SCALES = np.geomspace(0.01, 1.0, 13)
# dimension, points, side of the box, frequency, width of the band
CASES = {
    "band, dense": (1, 150, 1.0, 25.0, 1.0),
    "band, sparse": (1, 150, 8.0, 25.0, 1.0),
    "ring, dense": (2, 250, 1.0, 12.0, 1.0),
    "ring, sparse": (2, 250, 2.5, 12.0, 1.0),
    "smooth, plane": (2, 250, 1.0, 0.0, 5.0),
}


def random_function(dimension: int, frequency: float, width: float, rng: np.random.Generator):
    """A sum of waves of random directions and phases, with frequencies around the given one; variance 1."""
    length = np.abs(frequency + width * rng.standard_normal(WAVES))
    direction = rng.standard_normal((WAVES, dimension))
    omega = length[:, None] * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    phase = rng.uniform(0, 2 * np.pi, WAVES)
    return lambda X: np.cos(X @ omega.T + phase).sum(axis=1) * np.sqrt(2 / WAVES)


def matched(X, y):
    match = match_spectrum(X, y)
    return Smoother(match.kernel, alpha=match.noise, null_space=0).fit(X, y).predict, match.peak


def gaussian(X, y):
    fits = [Smoother(Gaussian(scale), null_space=0).fit(X, y) for scale in SCALES]
    return min(fits, key=lambda fit: np.mean(fit.loo_**2)).predict, np.nan


def peer(X, y):
    kernel = ConstantKernel(1.0) * RBF(0.1, (1e-3, 10.0)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=4, random_state=0).fit(X, y)
    return model.predict, np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=6)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    for name, (dimension, n, side, frequency, width) in CASES.items():
        rows = {}
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            f = random_function(dimension, frequency, width, rng)
            X, new = side * rng.random((n, dimension)), side * rng.random((1000, dimension))
            y, truth = f(X) + NOISE * rng.standard_normal(n), f(new)
            for method in (matched, gaussian, peer):
                start = time.perf_counter()
                predict, peak = method(X, y)
                error = np.sqrt(np.mean((predict(new) - truth) ** 2))
                rows.setdefault(method.__name__, []).append((error, peak, time.perf_counter() - start))
        for method, values in rows.items():
            errors, peaks, seconds = np.array(values).T
            found = "" if np.isnan(peaks).all() else f", peak {peaks.min():.1f} to {peaks.max():.1f}"
            spread = f"{errors.min():.3f} to {errors.max():.3f}"
            print(
                f"{name:>14} {method:>9}: rms {errors.mean():.3f} ({spread}){found}, {seconds.mean():.1f} s", flush=True
            )


if __name__ == "__main__":
    main()
