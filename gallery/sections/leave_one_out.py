"""Leave-one-out values without leaving anything out: one fit tells what n fits would."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.plotting._style import BLUE, GRAY

from ..drawing import new_figure, save, stopwatch
from ..page import Code, Paragraph, Picture, Section, number


def by_formula(X, y, alpha):
    return Smoother(alpha=alpha).fit(X, y).loo_  # residuals, each of a fit without the point


def one_by_one(X, y, alpha):
    rest = [np.arange(len(y)) != i for i in range(len(y))]
    fits = [Smoother(alpha=alpha).fit(X[keep], y[keep]) for keep in rest]
    return y - np.array([fit.predict(X[i : i + 1])[0] for i, fit in enumerate(fits)])


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = np.sin(5 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(120)
    quick, once = stopwatch(lambda: by_formula(X, y, 0.05))
    slow, each = stopwatch(lambda: one_by_one(X, y, 0.05), 1)
    figure = new_figure(5.2, 4.6)
    ax = figure.subplots()
    ax.axline((0, 0), slope=1, color=GRAY, linewidth=1)
    ax.plot(each, once, "o", color=BLUE, markersize=4)
    ax.set(xlabel="120 fits, each without a point", ylabel="one fit and a formula", aspect="equal")
    ax.set_title("leave-one-out residuals")
    difference = np.abs(np.abs(each) - np.abs(once)).max()
    intro = (
        "How well would a model predict each point, had it not seen it? For these models the answer is a formula: the "
        "coefficient of the point over a diagonal entry of an inverse. So alpha can be chosen by leave-one-out at "
        "the price of one factorisation."
    )
    caption = (
        f"The two ways differ by at most {number(difference, 1)}; the formula takes {number(quick, 2)} s, the fits "
        f"{number(slow, 2)} s."
    )
    alternative = "Leave-one-out residuals by a formula against those of 120 fits: all on the diagonal"
    picture = Picture(save(figure, folder, "leave-one-out"), alternative, caption)
    return Section("Leave-one-out for free", [Paragraph(intro), Code.of(by_formula, one_by_one), picture])
