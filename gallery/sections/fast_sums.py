"""Sums over very many centres: near ones exactly, far ones by series."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm.functions import FastSum
from seminorm.kernels import ThinPlate
from seminorm.plotting._style import BLUE, VERMILION

from ..drawing import new_figure, save, stopwatch
from ..page import Code, Paragraph, Picture, Section, number

_TOLERANCE = 1e-6


def quick(centers, weights):
    return FastSum(ThinPlate(), centers, tolerance=_TOLERANCE)(weights)


def direct(centers, weights, targets):
    return ThinPlate()(targets, centers) @ weights


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    counts, some = [2000, 8000, 32_000, 128_000], 500
    fast, slow, errors = [], [], []
    for n in counts:
        centers, weights = rng.random((n, 2)), rng.standard_normal(n)
        seconds, values = stopwatch(lambda c=centers, w=weights: quick(c, w), 1)
        part, exact = stopwatch(lambda c=centers, w=weights: direct(c, w, c[:some]), 1)
        fast.append(seconds)
        slow.append(part * n / some)
        errors.append(np.abs(values[:some] - exact).max() / np.abs(exact).max())
    figure = new_figure(6.4, 4.0)
    ax = figure.subplots()
    ax.loglog(counts, slow, "o--", color=VERMILION, label=f"all pairs (from {some} rows)")
    ax.loglog(counts, fast, "o-", color=BLUE, label="FastSum")
    ax.set(xlabel="centres, and targets", ylabel="seconds", title="a thin plate at all of its centres")
    ax.legend()
    intro = (
        "A fitted function is a sum over its centres. At many points that is many pairs; `FastSum` sorts the centres "
        "into boxes and replaces far ones by short series, to a tolerance that you name."
    )
    caption = f"Largest error, of the largest value: {number(max(errors), 1)} (asked for: {_TOLERANCE:g})."
    alternative = "Seconds against the number of centres: steep for all pairs, nearly linear for fast sums"
    picture = Picture(save(figure, folder, "fast-sums"), alternative, caption)
    return Section("Fast sums", [Paragraph(intro), Code.of(quick), picture])
