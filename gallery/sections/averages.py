"""Data that are averages over cells, not values at points: the fit has these averages, and values everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Functional, Smoother
from seminorm.kernels import Polyharmonic
from seminorm.plotting import plot_band
from seminorm.plotting._style import GRAY, ORANGE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def fit(starts, ends, means):
    averages = Functional.cell_average(starts[:, None], ends[:, None])
    return Smoother(Polyharmonic(2), alpha=0).fit(functionals=[(averages, means)])


def section(folder: Path) -> Section:
    edges = np.array([0.0, 1, 2, 3, 4, 5.5, 7, 8, 9, 10, 11, 12])
    starts, ends = edges[:-1], edges[1:]
    fine = np.linspace(0, 12, 1201)

    def rain(t):
        return 60 + 45 * np.cos(2 * np.pi * (t - 1.5) / 12) + 15 * np.cos(2 * np.pi * (t - 4) / 6)

    means = np.array([rain(np.linspace(a, b, 400)).mean() for a, b in zip(starts, ends, strict=True)])
    model = fit(starts, ends, means)
    values = model.predict(fine[:, None])
    kept = [values[(fine >= a) & (fine <= b)].mean() for a, b in zip(starts, ends, strict=True)]
    figure = new_figure(9.6, 3.6)
    ax = figure.subplots()
    ax.bar(starts, means, ends - starts, align="edge", color=ORANGE, alpha=0.35, edgecolor="white", label="averages")
    ax.plot(fine, rain(fine), "--", color=GRAY, label="truth")
    plot_band(model, fine, ax=ax)
    ax.set(xlabel="month", ylabel="rain in mm per month", xlim=(0, 12), ylim=(0, None))
    ax.legend(loc="upper center")
    intro = (
        "Monthly totals are not the rain on the fifteenth. Say that each datum is an average over its cell, and the "
        "smoothest curve with these averages is found; cells may have any widths. Any linear functional will do: "
        "derivatives, line integrals, differences."
    )
    caption = f"The averages of the curve differ from the data by at most {number(np.abs(kept - means).max(), 1)} mm."
    alternative = "Bars of monthly averages and a smooth curve with the same averages, close to the truth"
    picture = Picture(save(figure, folder, "averages"), alternative, caption)
    return Section("Data that are averages", [Paragraph(intro), Code.of(fit), picture])
