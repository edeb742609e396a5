"""Few points in the plane: values alone, and values with gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats.qmc import Halton

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting import plot_field

from ..drawing import maps, new_figure, rms, save, unit_square
from ..page import Code, Paragraph, Picture, Section, Table, number

_POINTS = 25


def _truth(X: np.ndarray) -> np.ndarray:
    x, y = X[:, 0], X[:, 1]
    return np.sin(5 * x) * np.cos(4 * y) + 0.5 * x * y


def _true_gradient(X: np.ndarray) -> np.ndarray:
    x, y = X[:, 0], X[:, 1]
    return np.column_stack([5 * np.cos(5 * x) * np.cos(4 * y) + 0.5 * y, -4 * np.sin(5 * x) * np.sin(4 * y) + 0.5 * x])


def fit(X, y, gradients=None):
    return Smoother(Polyharmonic(3), alpha=0).fit(X, y, gradients=gradients)  # alpha=0 interpolates


def section(folder: Path) -> Section:
    many = Halton(2, scramble=False).random(3 * _POINTS + 1)[1:]  # spread evenly, and so are the first of them
    X = many[:_POINTS]
    gradients = _true_gradient(X)
    models = {"values": fit(X, _truth(X)), "values and gradients": fit(X, _truth(X), gradients)}
    more_values = fit(many, _truth(many))
    intro = (
        "A gradient is an observation like a value: any linear functional of the function may be one. Where a "
        "sensor or a simulation gives slopes for free, they replace points that nobody measured. Here are "
        f"{_POINTS} points without noise, interpolated by the kernel whose semi-norm is the integral of the squared "
        "third derivatives."
    )
    return Section(
        "Gradients as data",
        [
            Paragraph(intro),
            Code.of(fit),
            _panels(folder, models, X, gradients),
            _errors({**models, "values at three times as many points": more_values}),
        ],
    )


def _panels(folder: Path, models: dict[str, Smoother], X: np.ndarray, gradients: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.3)
    axes = maps(figure, 3)
    levels = np.arange(-10, 15, 2) / 10
    for ax, (name, function) in zip(axes, {"truth": _truth, **models}.items(), strict=True):
        plot_field(
            function, ([0, 0], [1, 1]), ax=ax, points=X if name != "truth" else None, levels=levels, colorbar=False
        )
        ax.set_title(name if name == "truth" else f"from {name}")
    axes[2].quiver(X[:, 0], X[:, 1], gradients[:, 0], gradients[:, 1], scale=55, width=0.007, color="white")
    figure.colorbar(axes[0].collections[0], ax=axes, pad=0.015, format="%.1f")
    caption = (
        f"The truth, and two interpolants of the same {len(X)} points (dots). The right one also uses the gradients, "
        "drawn as arrows."
    )
    return Picture(
        save(figure, folder, "gradients"),
        "Three maps: the truth, the interpolant of values, the interpolant of values and gradients",
        caption,
    )


def _errors(models: dict[str, Smoother]) -> Table:
    grid = unit_square()
    errors = {
        name: (rms(model.predict(grid) - _truth(grid)), rms(model.predict_gradient(grid) - _true_gradient(grid)))
        for name, model in models.items()
    }
    rows = [
        [
            name,
            str(len(models[name].X_fit_)),
            str(len(models[name].dual_coef_)),
            number(error),
            number(errors["values"][0] / error),
            number(slope),
        ]
        for name, (error, slope) in errors.items()
    ]
    caption = (
        f"Errors on a grid of {len(grid)} points; the ratio is the improvement over values alone. A gradient in the "
        "plane counts as two observations: the last two rows have equally many, at different numbers of points."
    )
    return Table(
        ["observed", "points", "observations", "rms error", "ratio", "rms error of the gradient"], rows, caption
    )
