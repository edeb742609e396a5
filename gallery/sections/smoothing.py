"""Noisy samples of a function of the plane, smoothed with the parameter chosen from the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import RBFInterpolator

from seminorm import Smoother
from seminorm.plotting import plot_alpha_path, plot_field

from ..drawing import maps, new_figure, rms, save, stopwatch, unit_square
from ..page import Code, Paragraph, Picture, Section, Table, number

_SAMPLES, _NOISE = 800, 0.2


def landscape(X: np.ndarray) -> np.ndarray:
    """Two hills and a hollow on a tilted plane."""
    x, y = X[:, 0], X[:, 1]

    def bump(a, b, width):
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))

    return bump(0.3, 0.65, 0.11) - 0.8 * bump(0.7, 0.3, 0.16) + 0.6 * bump(0.72, 0.78, 0.08) + 0.8 * x - 0.4 * y


def fit(X, y):
    return Smoother().fit(X, y)  # thin-plate spline, alpha by leave-one-out


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X = rng.random((_SAMPLES, 2))
    y = landscape(X) + _NOISE * rng.standard_normal(_SAMPLES)
    model = fit(X, y)
    intro = (
        f"{_SAMPLES} values of a landscape at random places, with noise of standard deviation {_NOISE:g}. The fit "
        "minimises alpha times the bending energy of a thin plate (up to a constant factor) plus the squared "
        "residuals; planes have no bending energy. The only parameter, alpha, is chosen from the data."
    )
    return Section(
        "Smoothing scattered data",
        [Paragraph(intro), Code.of(fit), _panels(folder, model, X, y), _path(folder, model), _comparison(model, X, y)],
    )


def _panels(folder: Path, model: Smoother, X: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.3)
    axes = maps(figure, 3)
    levels = np.arange(-4, 11) / 10
    plot_field(landscape, ([0, 0], [1, 1]), ax=axes[0], levels=levels, colorbar=False)
    dots = axes[1].scatter(X[:, 0], X[:, 1], c=y, s=10, vmin=levels[0], vmax=levels[-1])
    plot_field(model, ([0, 0], [1, 1]), ax=axes[2], levels=levels, colorbar=False)
    for ax, title in zip(axes, ("truth", f"data: {len(X)} noisy values", "fit"), strict=True):
        ax.set_title(title)
    figure.colorbar(dots, ax=axes, extend="both", pad=0.015, format="%.1f")
    caption = (
        f"The truth, the data, and the fit with alpha = {number(model.alpha_)}, which spends {number(model.edf_)} "
        "effective degrees of freedom. The noise it estimates has standard deviation "
        f"{number(np.sqrt(model.noise_variance_))}; the true one is {_NOISE:g}."
    )
    return Picture(
        save(figure, folder, "smoothing"),
        "Three maps: the true landscape, coloured dots at the data, and the smooth fit",
        caption,
    )


def _path(folder: Path, model: Smoother) -> Picture:
    figure = new_figure(7.2, 3.4)
    plot_alpha_path(model, ax=figure.subplots())
    caption = (
        f"How alpha was chosen: {len(model.alpha_path_['alpha'])} values were tried from one factorisation. Small "
        "alphas (left) follow the noise, large ones (right) flatten the landscape into a plane; the criterion is "
        "smallest in between."
    )
    return Picture(
        save(figure, folder, "alpha-path"),
        "The criterion against alpha with its minimum marked, and the degrees of freedom falling",
        caption,
    )


def _comparison(model: Smoother, X: np.ndarray, y: np.ndarray) -> Table:
    """Fit and evaluation of ours and SciPy's on the same data, in the same run."""
    grid = unit_square()
    truth = landscape(grid)
    chosen = model.alpha_
    tasks = {
        "`Smoother()`": (f"{number(chosen)}, chosen", lambda: fit(X, y).predict(grid)),
        "`Smoother(alpha=...)`": (number(chosen), lambda: Smoother(alpha=chosen).fit(X, y).predict(grid)),
        **{
            f"SciPy `RBFInterpolator(smoothing={name})`": (
                number(alpha),
                lambda alpha=alpha: RBFInterpolator(X, y, smoothing=alpha)(grid),
            )
            for name, alpha in (("0", 0.0), ("1", 1.0), ("...", chosen))
        },
    }
    timed = {name: (alpha, *stopwatch(task)) for name, (alpha, task) in tasks.items()}
    _, our_seconds, ours = next(iter(timed.values()))
    rows = [
        [
            name,
            alpha,
            number(rms(values - truth)),
            number(rms(values - truth) / rms(ours - truth)),
            number(seconds, 2),
            number(seconds / our_seconds, 2),
        ]
        for name, (alpha, seconds, values) in timed.items()
    ]
    agreement = number(np.abs(list(timed.values())[-1][2] - ours).max(), 1)
    caption = (
        f"Distance to the truth on a grid of {len(grid)} points, and seconds for fit and evaluation together; ratios "
        "are to the first row. SciPy (thin-plate spline, the same kernel) solves for one smoothing that the user "
        "has to know. Given the alpha that was chosen here, it returns the same function: the largest difference is "
        f"{agreement}."
    )
    return Table(["", "alpha", "rms error", "error ratio", "seconds", "time ratio"], rows, caption)
