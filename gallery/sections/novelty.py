"""What does not belong: the smallest sphere of feature space around what is normal."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import EnclosingHypersphere
from seminorm.kernels import Gaussian
from seminorm.plotting._style import BLUE, INK, VERMILION

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section


def fit(X, nu):
    return EnclosingHypersphere(Gaussian(0.5), nu=nu).fit(X)  # at most a share nu of X lies outside


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 1.6 * np.pi, 150)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 0.12 * rng.standard_normal((150, 1)))
    X[:8] = rng.uniform(-1.8, 1.8, (8, 2))
    side = np.linspace(-2, 2, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    figure = new_figure(9.6, 3.6)
    for ax, nu in zip(figure.subplots(1, 3, sharey=True), (0.02, 0.08, 0.3), strict=True):
        model = fit(X, nu)
        inside = model.predict(X) > 0
        height = model.decision_function(grid).reshape(120, 120)
        ax.contour(side, side, height, levels=[0], colors=[INK])
        ax.contourf(side, side, height, levels=[0, np.inf], colors=[BLUE], alpha=0.12)
        ax.scatter(*X.T, c=np.where(inside, BLUE, VERMILION), s=10)
        ax.set(aspect="equal", title=f"nu = {nu}: {(~inside).sum()} outside")
        ax.grid(False)
    intro = (
        "No labels, only examples of what is normal, with a few strangers among them. The enclosing hypersphere is the "
        "smallest sphere in feature space that holds all but a share nu of them; here it is a bent band in the plane."
    )
    caption = "The same points with three values of nu. Red points lie outside."
    alternative = "A bent band of points enclosed by a line, with more points outside as nu grows"
    picture = Picture(save(figure, folder, "novelty"), alternative, caption)
    return Section("Novelties", [Paragraph(intro), Code.of(fit), picture])
