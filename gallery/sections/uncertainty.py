"""Data on the line with a gap: how sure the fit is, and other functions that fit as well."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting import plot_band, plot_samples
from seminorm.plotting._style import INK, VERMILION

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_NOISE, _GAP, _DRAWS, _REPETITIONS = 0.15, (4.2, 6.8), 20, 50


def _truth(x: np.ndarray) -> np.ndarray:
    return np.sin(x) + 0.1 * x


def _data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = np.sort(rng.uniform(0, 10, 90))
    x = x[(x < _GAP[0]) | (x > _GAP[1])]
    return x, _truth(x) + _NOISE * rng.standard_normal(len(x))


def fit(x, y):
    return Smoother(Polyharmonic(2), criterion="reml").fit(x[:, None], y)  # cubic smoothing spline


def section(folder: Path) -> Section:
    rng = np.random.default_rng(5)
    x, y = _data(rng)
    model = fit(x, y)
    intro = (
        "The fit is the posterior mean of a Gaussian process whose prior leaves straight lines free, so it comes "
        "with a standard deviation and with draws: `predict(X, return_std=True)` and `sample(X)`. Nothing is "
        "assumed about the level or the slope, and the bands widen where data are missing."
    )
    line = np.linspace(-1, 11, 400)
    return Section(
        "Uncertainty", [Paragraph(intro), Code.of(fit), _picture(folder, model, line, x, y), _calibration(rng)]
    )


def _picture(folder: Path, model: Smoother, line: np.ndarray, x: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.7)
    left, right = figure.subplots(1, 2, sharey=True)
    plot_band(model, line, ax=left, y=y)
    left.set_title("band")
    plot_samples(
        line,
        model.sample(line[:, None], _DRAWS, random_state=0),
        ax=right,
        color=VERMILION,
        label="draws from the posterior",
    )
    right.plot(x, y, "o", color=INK, markersize=3.5, label="data")
    right.set_title("samples")
    for ax in (left, right):
        ax.plot(line, _truth(line), color=INK, linestyle="--", linewidth=1.6, label="truth", zorder=2.5)
        ax.set(xlabel="x", xlim=(line[0], line[-1]), ylim=(-2.7, 2.4))
        ax.legend(loc="lower center", ncols=2 if ax is left else 3)
    caption = (
        f"Left: {len(x)} noisy values, the fit, and two standard deviations on either side. Right: {_DRAWS} "
        "functions drawn from the posterior. They agree where there are data, and fan out in the gap and beyond the "
        "ends."
    )
    return Picture(
        save(figure, folder, "uncertainty"),
        "A curve with a band that widens in a gap of the data, and sample curves that spread there",
        caption,
    )


def _calibration(rng: np.random.Generator) -> Table:
    """Claimed and true errors over many data sets: one alone would show luck."""
    regions = {
        "among the data": np.concatenate([np.linspace(0.5, _GAP[0], 100), np.linspace(_GAP[1], 9.5, 100)]),
        "in the gap": np.linspace(*_GAP, 100),
        "beyond the ends": np.concatenate([np.linspace(-1, 0, 50), np.linspace(10, 11, 50)]),
    }
    claimed, errors = ({name: [] for name in regions} for _ in range(2))
    for _ in range(_REPETITIONS):
        model = fit(*_data(rng))
        for name, points in regions.items():
            mean, std = model.predict(points[:, None], return_std=True)
            claimed[name].append(std)
            errors[name].append(mean - _truth(points))
    rows = []
    for name in regions:
        std, error = np.array(claimed[name]), np.array(errors[name])
        rows.append(
            [name, number(rms(std), 2), number(rms(error), 2), f"{100 * np.mean(np.abs(error) < 2 * std):.0f} %"]
        )
    caption = (
        "The standard deviation that the fit claims against the error that it makes, over "
        f"{_REPETITIONS} data sets of this kind."
    )
    return Table(["", "claimed", "rms error", "truth inside the band"], rows, caption)
