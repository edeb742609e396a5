"""The fit is a function with derivatives: summits, pits and passes of a landscape known at scattered points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import root

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting import plot_field
from seminorm.plotting._style import INK

from ..drawing import new_figure, save, unit_square
from ..page import Code, Paragraph, Picture, Section
from .smoothing import landscape


def stationary_points(f, starts):
    """Places where the gradient vanishes, and the signs of the curvatures there."""
    found = []
    for start in starts:
        step = root(lambda p: f.gradient(p[None])[0], start, jac=lambda p: f.hessian(p[None])[0])
        known = any(np.linalg.norm(step.x - place) < 1e-3 for place, _ in found)
        if step.success and not known and (step.x > 0.02).all() and (step.x < 0.98).all():
            found.append((step.x, np.sign(np.linalg.eigvalsh(f.hessian(step.x[None])[0]))))
    return found


def section(folder: Path) -> Section:
    rng = np.random.default_rng(1)
    X = rng.random((900, 2))
    model = Smoother(Polyharmonic(3)).fit(X, landscape(X) + 0.05 * rng.standard_normal(900))
    points = stationary_points(model.function_, 0.05 + 0.9 * unit_square(9))
    figure = new_figure(7.2, 5.2)
    ax = figure.subplots()
    plot_field(model, ([0, 0], [1, 1]), ax=ax, levels=20)
    for place, signs in points:
        kind = {-2: "^", 2: "v"}.get(int(signs.sum()), "X")
        ax.plot(*place, kind, color="white", markeredgecolor=INK, markersize=10)
    ax.set(aspect="equal", title="summits ▲, pits ▼, passes ✖")
    intro = (
        "What is fitted is a function: it has values, gradients and Hessians, exactly, wherever you ask. So questions "
        "about its shape are a few lines: a stationary point is a root of the gradient, and the eigenvalues of the "
        "Hessian say which kind."
    )
    caption = f"{len(points)} stationary points of a fit to 900 noisy heights."
    alternative = "A map of a landscape with marks at its summits, pits and passes"
    picture = Picture(save(figure, folder, "summits"), alternative, caption)
    return Section("Summits, pits and passes", [Paragraph(intro), Code.of(stationary_points), picture])
