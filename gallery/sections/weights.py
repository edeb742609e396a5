"""Measurements of different quality: weights are inverse variances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting import plot_band
from seminorm.plotting._style import GRAY, INK

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, number


def fit(x, y, sigma):
    return Smoother(Polyharmonic(2), criterion="reml").fit(x[:, None], y, sample_weight=1 / sigma**2)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0, 10, 80))
    sigma = np.where(rng.random(80) < 0.5, 0.08, 0.8)
    y = np.sin(x) + sigma * rng.standard_normal(80)
    line = np.linspace(0, 10, 400)
    models = {"all alike": fit(x, y, np.ones(80)), "weighted": fit(x, y, sigma)}
    figure = new_figure(9.6, 3.4)
    for ax, (name, model) in zip(figure.subplots(1, 2, sharey=True), models.items(), strict=True):
        plot_band(model, line, ax=ax)
        ax.errorbar(x, y, sigma, fmt=".", color=INK, elinewidth=0.8, markersize=4)
        ax.plot(line, np.sin(line), "--", color=GRAY, linewidth=1.4)
        ax.set(
            title=f"{name}: rms error {number(rms(model.predict(line[:, None]) - np.sin(line)), 2)}", ylim=(-2.6, 2.6)
        )
    intro = (
        "Half of the values come from an instrument that is ten times as good as the other. Give each value the weight "
        "one over its variance, and the good ones decide where they are near."
    )
    caption = "Bars: what is known of the errors. Dashed: the truth. The band is two standard deviations of the fit."
    alternative = "Two fits of the same points with error bars; the weighted one is closer to the true sine"
    return Section(
        "Good and bad measurements",
        [Paragraph(intro), Code.of(fit), Picture(save(figure, folder, "weights"), alternative, caption)],
    )
