"""One parameter between a curve through every point and a straight line: what alpha means."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting._style import BLUE, INK, VERMILION

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def with_alpha(x, y, alpha):
    return Smoother(Polyharmonic(2), alpha=alpha).fit(x[:, None], y)  # a number, or "auto"


def section(folder: Path) -> Section:
    rng = np.random.default_rng(3)
    x = np.sort(rng.random(30))
    y = np.sin(7 * x) + x + 0.25 * rng.standard_normal(30)
    line = np.linspace(0, 1, 400)
    figure = new_figure(9.6, 3.2)
    axes = figure.subplots(1, 4, sharey=True)
    for ax, alpha in zip(axes, (0.0, "auto", 0.1, 1e4), strict=True):
        model = with_alpha(x, y, alpha)
        ax.plot(line, model.predict(line[:, None]), color=VERMILION if alpha == "auto" else BLUE)
        ax.plot(x, y, "o", color=INK, markersize=3.5)
        chosen = f'"auto": {number(model.alpha_, 2)}' if alpha == "auto" else f"{alpha:g}"
        ax.set(title=f"alpha = {chosen}\n{number(model.edf_)} degrees of freedom", ylim=(-1.6, 2.2))
    intro = (
        "Alpha is the price of roughness: the fit minimises alpha times the squared semi-norm plus the squared "
        "residuals. At 0 roughness is free, and the curve goes through every point. As alpha grows, only what costs "
        "nothing is left, here straight lines. In between, the data choose: the value whose fit predicts left-out "
        "points best."
    )
    caption = "Four prices. The effective degrees of freedom say how many parameters a fit is worth: from 30 down to 2."
    file = save(figure, folder, "what-alpha-means")
    alternative = "Four fits of 30 points, from a wiggly curve through all of them to a straight line"
    return Section("What alpha means", [Paragraph(intro), Code.of(with_alpha), Picture(file, alternative, caption)])
