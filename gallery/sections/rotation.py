"""A turned pattern is the same pattern: two ways to say so to a support vector machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import SVC
from seminorm.invariance import DistanceKernel, IntegrationKernel, MinimumDistance, Rotation
from seminorm.kernels import Gaussian
from seminorm.plotting import plot_decision

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number

TURNS = Rotation()  # all of them, about the origin


def machines(X, y):
    base = Gaussian(0.4)
    return {
        "told nothing": SVC(base).fit(X, y),
        "average over all turns": SVC(IntegrationKernel(base, TURNS)).fit(X, y),
        "distance of the nearest turns": SVC(DistanceKernel(base, MinimumDistance(TURNS))).fit(X, y),
    }


def _rings(rng: np.random.Generator, n: int, arc: float) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, n)
    radius, angle = np.where(y, 1.0, 1.6) + 0.12 * rng.standard_normal(n), rng.uniform(0, arc, n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def section(folder: Path) -> Section:
    rng = np.random.default_rng(1)
    X, y = _rings(rng, 24, np.pi / 2)
    Z, t = _rings(rng, 1000, 2 * np.pi)
    figure = new_figure(9.6, 3.6)
    for ax, (name, model) in zip(figure.subplots(1, 3, sharey=True), machines(X, y).items(), strict=True):
        plot_decision(model, np.array([[-2.2, -2.2], [2.2, 2.2]]), ax=ax, X=X, y=y, resolution=80)
        ax.set(title=f"{name}\n{number(100 * np.mean(model.predict(Z) != t), 2)} % of new points wrong", aspect="equal")
        ax.grid(False)
    intro = (
        "24 examples from a quarter of the circle. What is new comes from all around. `Rotation()` is the set of all "
        "turns; an `IntegrationKernel` averages any kernel over it, a `DistanceKernel` takes the distance between the "
        "nearest turned versions. Every machine of the library takes either."
    )
    caption = "Decisions from the same 24 points. With the invariance declared, a quarter is enough."
    alternative = "Decision maps of three machines; two of them found rings from points of a quarter circle"
    picture = Picture(save(figure, folder, "rotation"), alternative, caption)
    return Section("Turned patterns", [Paragraph(intro), Code.of(machines), picture])
