"""Velocities of stations beside a fault: a vector field whose components elasticity couples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Elastic
from seminorm.plotting._style import BLUE, VERMILION

from ..drawing import new_figure, rms, save, unit_square
from ..page import Code, Paragraph, Picture, Section, number


def fit(stations, velocities):
    return Smoother(Elastic()).fit(stations, velocities)  # Poisson's ratio and alpha by likelihood


def _motion(X: np.ndarray) -> np.ndarray:
    """Two plates that slide past each other along an oblique line."""
    return np.outer(15 * np.arctan((X @ [-0.6, 0.8] - 0.1) / 0.08), [0.8, 0.6])


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    stations = rng.random((70, 2))
    model = fit(stations, _motion(stations) + rng.standard_normal((70, 2)))
    grid = unit_square(15)
    fine = unit_square(60)
    slopes = model.predict_gradient(fine)
    shear = np.sqrt(np.mean((0.5 * (slopes + slopes.swapaxes(1, 2))) ** 2, axis=(1, 2)))
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    left.quiver(*grid.T, *model.predict(grid).T, color=BLUE, width=0.004)
    left.quiver(*stations.T, *_motion(stations).T, color=VERMILION, width=0.004)
    filled = right.contourf(shear.reshape(60, 60), extent=(0, 1, 0, 1), levels=14)
    figure.colorbar(filled, ax=right, label="strain rate")
    for ax, title in ((left, "velocities"), (right, "strain rate, from the gradient of the fit")):
        ax.set(aspect="equal", title=title)
        ax.grid(False)
    error = rms(model.predict(fine) - _motion(fine))
    intro = (
        "The ground east of a fault moves one way, the ground west of it the other. A plate that slides hardly "
        "stretches, so each component of the motion says something of the other. `Elastic` is the kernel of an "
        "elastic plate, and it has gradients: the strain rate comes with the fit."
    )
    caption = (
        f"Red: 70 stations (measured with noise of 1). Blue: the fit, off by {number(error, 2)} (rms). Poisson's ratio "
        f"was chosen as {number(model.kernel_.poisson, 2)}: 1 is a field without divergence."
    )
    alternative = "Arrows of two plates that slide past each other, and the band of strain between them"
    return Section(
        "Velocities beside a fault",
        [Paragraph(intro), Code.of(fit), Picture(save(figure, folder, "velocities"), alternative, caption)],
    )
