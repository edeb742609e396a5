"""How sure is the machine? Probabilities that come from the leave-one-out values, at no cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import SVC
from seminorm.plotting._style import BLUE, ORANGE

from ..drawing import new_figure, save, unit_square
from ..page import Code, Paragraph, Picture, Section, number


def fit(X, y):
    return SVC().fit(X, y)


def _sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.random((n, 2))
    sure = 1 / (1 + np.exp(-14 * (X[:, 1] - 0.5 - 0.2 * np.sin(6 * X[:, 0]))))
    return X, rng.random(n) < sure, sure


def section(folder: Path) -> Section:
    rng = np.random.default_rng(2)
    X, y, _ = _sample(rng, 400)
    Z, t, truth = _sample(rng, 5000)
    model = fit(X, y)
    said = model.predict_proba(Z)[:, 1]
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    map_ = model.predict_proba(unit_square(80))[:, 1].reshape(80, 80)
    filled = left.contourf(map_, extent=(0, 1, 0, 1), levels=np.linspace(0, 1, 11), cmap="RdYlBu")
    left.scatter(*X.T, c=np.where(y, BLUE, ORANGE), s=8)
    left.set(aspect="equal", title="probability of blue")
    left.grid(False)
    figure.colorbar(filled, ax=left)
    bins = np.digitize(said, np.linspace(0, 1, 11)[1:-1])
    kept = [b for b in range(10) if (bins == b).sum() > 20]
    right.axline((0, 0), slope=1, color="#8a939c", linewidth=1)
    right.plot([said[bins == b].mean() for b in kept], [t[bins == b].mean() for b in kept], "o-", color=BLUE)
    right.set(xlabel="what it says", ylabel="how often it is so", aspect="equal", title="5000 new points")
    intro = (
        "A support vector machine gives decision values. What they are worth is read off the leave-one-out values that "
        "the choice of alpha needs anyway: no second cross-validation."
    )
    caption = f"Mean distance to the true probabilities: {number(np.abs(said - truth).mean(), 2)}."
    alternative = "A map of probabilities between two classes, and a calibration curve near the diagonal"
    picture = Picture(save(figure, folder, "probabilities"), alternative, caption)
    return Section("Probabilities", [Paragraph(intro), Code.of(fit), picture])
