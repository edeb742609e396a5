"""A model of your own, corrected where it is wrong: its outputs are the free part of a machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from seminorm import Smoother
from seminorm.nullspace import CrossFitted
from seminorm.plotting._style import BLUE, GRAY, GREEN, VERMILION

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, number


def fit(X, y, model):
    return Smoother(null_space=CrossFitted(model)).fit(X, y)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    effects = rng.normal(0, 2, 12)

    def sample(n):
        X = np.column_stack([rng.random(n), rng.integers(0, 12, n)])
        truth = 2 * np.sin(9 * X[:, 0]) + effects[X[:, 1].astype(int)]
        return X, truth, truth + 0.3 * rng.standard_normal(n)

    X, _, y = sample(300)
    Z, truth, _ = sample(600)
    forest = RandomForestRegressor(50, random_state=0)
    models = {"a forest": forest.fit(X, y), "a smoother": Smoother().fit(X, y), "both": fit(X, y, forest)}
    figure = new_figure(9.6, 3.5)
    axes = figure.subplots(1, 3, sharey=True)
    for ax, (name, model), color in zip(axes, models.items(), (VERMILION, BLUE, GREEN), strict=True):
        said = model.predict(Z)
        ax.axline((0, 0), slope=1, color=GRAY, linewidth=1)
        ax.plot(truth, said, ".", color=color, markersize=3)
        ax.set(title=f"{name}: rms error {number(rms(said - truth), 2)}", xlabel="truth")
    axes[0].set_ylabel("prediction")
    intro = (
        "One column is a number along which the answer is smooth, the other a code of twelve groups without order. "
        "Codes are easy for a forest and hard for a smoother; slopes are the other way round. `CrossFitted` makes any "
        "scikit-learn model the part that is free. In training its outputs come from models that have not seen the "
        "point, so it cannot boast."
    )
    caption = "600 new points: what each model says, against the truth."
    alternative = (
        "Predictions against the truth for a forest, a smoother, and both together, which lie nearest the diagonal"
    )
    picture = Picture(save(figure, folder, "your-own-model"), alternative, caption)
    return Section("Your own model, corrected", [Paragraph(intro), Code.of(fit), picture])
