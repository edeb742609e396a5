"""Inside, outside, on the line: a curve from labelled points, as a support vector machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import ImplicitSVM
from seminorm.plotting._style import BLUE, INK, ORANGE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section


def fit(X, side):
    return ImplicitSVM().fit(X, side)  # -1 inside, 1 outside, 0 on the curve


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.6, 1.6, (260, 2))

    def height(X):
        angle = np.arctan2(X[:, 1], X[:, 0])
        return np.hypot(*X.T) - 1 - 0.25 * np.cos(5 * angle)

    angle = rng.uniform(0, 2 * np.pi, 40)
    line = (1 + 0.25 * np.cos(5 * angle))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X, side = np.concatenate([X, line]), np.concatenate([np.sign(height(X)), np.zeros(40)]).astype(int)
    model = fit(X, side)
    s = np.linspace(-1.6, 1.6, 200)
    grid = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2)
    figure = new_figure(5.6, 5.0)
    ax = figure.subplots()
    ax.contourf(s, s, model.decision_function(grid).reshape(200, 200), levels=[-99, 0, 99], colors=["#dbe9f5", "#fff"])
    ax.contour(s, s, model.decision_function(grid).reshape(200, 200), levels=[0], colors=[BLUE])
    ax.contour(s, s, height(grid).reshape(200, 200), levels=[0], colors=[INK], linestyles="--", linewidths=1)
    ax.scatter(*X.T, c=np.array([BLUE, INK, ORANGE])[side + 1], s=10)
    ax.set(aspect="equal", title="fitted, and the truth (dashed)")
    ax.grid(False)
    intro = (
        "No normals, but labels: whether a point lies inside, outside or on the curve. `ImplicitSVM` finds "
        "the smoothest function with these signs; its zero set is the curve, and in space the surface."
    )
    caption = "260 points at random places, and 40 on the curve."
    alternative = "Points inside and outside a flower, the fitted curve and the true one"
    picture = Picture(save(figure, folder, "labelled"), alternative, caption)
    return Section("From inside and outside", [Paragraph(intro), Code.of(fit), picture])
