"""A smooth trend and a yearly cycle: what is known goes into the null space, the rest is smoothed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.nullspace import Features, Polynomials
from seminorm.plotting import plot_band
from seminorm.plotting._style import BLUE, GRAY, VERMILION

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_END, _HORIZON, _NOISE = 6.0, 8.0, 0.25


def yearly(X):
    return np.column_stack([np.sin(2 * np.pi * X[:, 0]), np.cos(2 * np.pi * X[:, 0])])


def fit(x, y):
    cycle_is_free = Polynomials(1) | Features(yearly)
    return Smoother(Polyharmonic(2), null_space=cycle_is_free).fit(x[:, None], y)


def _truth(x: np.ndarray) -> np.ndarray:
    return 3.0 + 0.35 * x + 0.5 * np.tanh(1.2 * (x - 2.5)) + 0.9 * np.sin(2 * np.pi * x + 0.6)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(11)
    x = np.sort(rng.uniform(0, _END, 110))
    y = _truth(x) + _NOISE * rng.standard_normal(len(x))
    models = {"smoothing alone": Smoother(Polyharmonic(2)).fit(x[:, None], y), "with the cycle free": fit(x, y)}
    intro = (
        "The semi-norm can leave other functions than polynomials free. The features you name are fitted without "
        "penalty beside the smooth part: parametric where something is known, non-parametric where nothing is. Here "
        "the data have a yearly cycle of unknown phase and size on a trend of unknown shape."
    )
    return Section(
        "Free features", [Paragraph(intro), Code.of(yearly, fit), _picture(folder, models, y), _errors(models)]
    )


def _picture(folder: Path, models: dict[str, Smoother], y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.8)
    axes = figure.subplots(1, 2, sharey=True)
    line = np.linspace(0, _HORIZON, 600)
    for ax, (name, model), color in zip(axes, models.items(), (VERMILION, BLUE), strict=True):
        ax.axvspan(_END, _HORIZON, color="#f0f2f4", linewidth=0, zorder=0)
        ax.plot(line, _truth(line), color=GRAY, linestyle="--", linewidth=1.4, label="truth", zorder=2.5)
        plot_band(model, line, ax=ax, y=y, color=color)
        ax.set(title=name, xlabel="years", xlim=(0, _HORIZON), ylim=(0, 9.5))
        ax.legend(loc="upper left")
        ax.text((_END + _HORIZON) / 2, 0.3, "forecast", ha="center")
    caption = (
        "Left: the smoother mistakes the cycle for part of the trend and continues beyond the data on a straight line, "
        "with the slope it happens to have there. Right: sine and cosine are free, the trend is smoothed, and the "
        "forecast continues the cycle."
    )
    return Picture(
        save(figure, folder, "free-features"),
        "Two forecasts: a straight line that misses the cycle, and a curve that continues it",
        caption,
    )


def _errors(models: dict[str, Smoother]) -> Table:
    ranges = {"within the data": np.linspace(0, _END, 600), "forecast": np.linspace(_END, _HORIZON, 200)}
    rows = [
        [name, number(model.edf_), *(number(rms(model.predict(t[:, None]) - _truth(t))) for t in ranges.values())]
        for name, model in models.items()
    ]
    header = ["", "edf", *(f"rms error, {name}" for name in ranges)]
    return Table(header, rows, "Distance to the truth, and the effective degrees of freedom that each fit needs.")
