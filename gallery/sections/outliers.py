"""A few values that are plainly wrong: a loss that does not listen to them, and bands of quantiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import SVR, Smoother
from seminorm.plotting._style import BLUE, GRAY, GREEN, INK, VERMILION

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, number


def robust(x, y):
    return SVR().fit(x, y)  # alpha by leave-one-out values, the width of the tube by the noise


def quantiles(x, y):
    return [SVR(loss="pinball", quantile=q).fit(x, y) for q in (0.1, 0.9)]


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(120))[:, None]
    truth = np.sin(6 * x[:, 0])
    y = truth + 0.12 * rng.standard_normal(120)
    y[rng.choice(120, 6, replace=False)] += rng.uniform(2, 4, 6)
    line = np.linspace(0, 1, 300)[:, None]
    models = {"squares": Smoother().fit(x, y), "SVR()": robust(x, y)}
    spread = truth + (0.05 + 0.5 * x[:, 0]) * rng.standard_normal(120)
    low, high = quantiles(x, spread)
    figure = new_figure(9.6, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    for (name, model), color in zip(models.items(), (VERMILION, BLUE), strict=True):
        error = number(rms(model.predict(line) - np.sin(6 * line[:, 0])), 2)
        left.plot(line, model.predict(line), color=color, label=f"{name}: rms error {error}")
    right.fill_between(line[:, 0], low.predict(line), high.predict(line), color=GREEN, alpha=0.3, linewidth=0)
    for ax, values, title in ((left, y, "outliers"), (right, spread, "80 % of the values")):
        ax.plot(x, values, ".", color=INK, markersize=4)
        ax.plot(line, np.sin(6 * line), "--", color=GRAY, linewidth=1.4)
        ax.set_title(title)
    left.legend(loc="upper right")
    intro = (
        "A twentieth of the values is wrong by two to four. Squares pay for that with the whole curve. A loss "
        "that grows no faster than the distance does not; a loss that leans to one side gives quantiles."
    )
    share = np.mean((low.predict(x) <= spread) & (spread <= high.predict(x)))
    caption = (
        "Left: least squares and `SVR()`. Right: other data, whose noise grows; between the two fitted quantiles lie "
        f"{100 * share:.0f} % of the values."
    )
    alternative = (
        "A sine with outliers above it; one curve is pulled up, the other is not. A band that widens with the noise"
    )
    picture = Picture(save(figure, folder, "outliers"), alternative, caption)
    return Section("Outliers and quantiles", [Paragraph(intro), Code.of(robust, quantiles), picture])
