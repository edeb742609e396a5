"""Walder 2008, figure 3.1: kernel ridge regression, and the same problem in the span of a random multi-scale basis.

50 noisy samples of a sinc function, the Gaussian kernel of scale 0.2 and the noise level 0.1 are those of the source;
its interval and its random basis are not given. Ours are [-1, 1], centres drawn from it and scales between the least
one the space allows, 0.2 / sqrt(2), and 0.4. The regulariser is the same norm in both, exactly, by (3.10). Top: the
solutions for 30 and 50 functions, with the centres and scales as crosses. Bottom: the terms that add up to the
regression (left) and to the solution in the span of the 50 functions (right): they are large and cancel, which a
penalty on the coefficients would not allow.

Printed: how far the span's solution is from the regression, and how much of the objective is lost.
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import LinAlgWarning
from walder_chapelle_figure1 import output_folder, save

from seminorm.bases.gaussian import GaussianBasis
from seminorm.fields.fixed_basis import fit_basis
from seminorm.kernels import Gaussian

SCALE, NOISE, SAMPLES = 0.2, 0.1, 50
SIZES = (30, 50)
ALPHA = NOISE**2
GRID = np.linspace(-1.0, 1.0, 801)[:, None]


def samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(-1.0, 1.0, (SAMPLES, 1))
    return X, np.sinc(3.0 * X[:, 0]) + NOISE * rng.standard_normal(SAMPLES)


def random_basis(rng: np.random.Generator, size: int) -> GaussianBasis:
    return GaussianBasis(rng.uniform(-1.0, 1.0, (size, 1)), rng.uniform(SCALE / np.sqrt(2.0) * 1.001, 0.4, size))


def draw_fit(ax, X, y, regression, f) -> None:
    ax.plot(GRID[:, 0], regression(GRID), color="C0", lw=2.0, label="kernel ridge regression")
    ax.plot(GRID[:, 0], f(GRID), "--", color="C3", lw=1.6, label="in the span of the basis")
    ax.plot(X[:, 0], y, "k.", ms=4)
    ax.plot(f.basis.centers[:, 0], f.basis.scales[:, 0], "kx", ms=5, mew=0.9, label="centres and scales")
    ax.set_title(f"{f.basis.size} functions", fontsize=10)
    ax.legend(fontsize=8, loc="upper left")


def main() -> None:
    folder = output_folder(__doc__)
    rng = np.random.default_rng(0)
    X, y = samples(rng)
    kernel = Gaussian(SCALE)
    exact = np.linalg.solve(kernel(X) + ALPHA * np.eye(SAMPLES), y)

    def regression(Z):
        return kernel(Z, X) @ exact

    best = ALPHA * exact @ kernel(X) @ exact + np.sum((regression(X) - y) ** 2)
    figure = Figure(figsize=(10.0, 6.6), layout="constrained")
    axes = figure.subplots(2, 2)
    print(f"objective of the regression: {best:.6f}, largest coefficient {np.abs(exact).max():.3g}")
    print(f"{'functions':>9} {'largest difference':>19} {'objective, excess':>18} {'largest coefficient':>20}")
    for ax, size in zip(axes[0], SIZES, strict=True):
        basis = random_basis(rng, size)
        with warnings.catch_warnings():
            # functions so close to each other are dependent to rounding: the least coefficients are what we want
            warnings.simplefilter("ignore", LinAlgWarning)
            f = fit_basis(basis, basis.energy(kernel), X, y, ALPHA)
        excess = ALPHA * f.seminorm() ** 2 + np.sum((f(X) - y) ** 2) - best
        difference = np.abs(f(GRID) - regression(GRID)).max()
        print(f"{size:9d} {difference:19.1e} {excess / best:17.1e}  {np.abs(f.coef).max():20.3g}")
        draw_fit(ax, X, y, regression, f)
    axes[1, 0].plot(GRID[:, 0], kernel(GRID, X) * exact, lw=0.7)
    axes[1, 0].set_title("terms of the regression", fontsize=10)
    axes[1, 1].plot(GRID[:, 0], f.basis.design(GRID) * f.coef, lw=0.7)
    axes[1, 1].set_title(f"terms of the {SIZES[1]} functions", fontsize=10)
    save(figure, folder / "walder_figure31.png")


if __name__ == "__main__":
    main()
