"""Pictures that may bend: how much nearer digits come when every pixel may move a little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from seminorm import KernelNeighbors
from seminorm.invariance import Euclidean, ImageDistortion

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def nearest(X, y, distance):
    return KernelNeighbors(distance).fit(X, y)


def section(folder: Path) -> Section:
    digits = load_digits()
    X, y, Z, t = digits.data[:100], digits.target[:100], digits.data[100:600], digits.target[100:600]
    distances = {"pixel by pixel": Euclidean(), "may bend": ImageDistortion((8, 8))}
    said = {name: nearest(X, y, distance).predict(Z) for name, distance in distances.items()}
    partners = [distance.pairwise(Z, X).argmin(axis=1) for distance in distances.values()]
    differ = np.flatnonzero((said["pixel by pixel"] != t) & (said["may bend"] == t))[:6]
    figure = new_figure(9.6, 4.6)
    for j, row in enumerate(figure.subplots(3, 6)):
        for ax, i in zip(row, differ, strict=False):
            picture, label = (Z[i], t[i]) if j == 0 else (X[partners[j - 1][i]], y[partners[j - 1][i]])
            ax.imshow(picture.reshape(8, 8), cmap="gray_r")
            ax.set_title(("a ", "by pixels ", "bent ")[j] + str(label), fontsize=10)
        for ax in row:
            ax.set_axis_off()
    wrong = {name: number(100 * np.mean(answers != t), 2) for name, answers in said.items()}
    intro = (
        "Writing is never the same twice: strokes move, lean and swell. `ImageDistortion` lets every pixel look "
        "for its partner a pixel or two away, `TangentDistance` lets whole pictures move along classical deformations."
    )
    caption = (
        f"The nearest of 100 digits is wrong for {wrong['pixel by pixel']} % of 500 others by pixels, for "
        f"{wrong['may bend']} % if they may bend. Above: some that differ; below each, its nearest by either."
    )
    alternative = "Digits with their nearest neighbours, of another class by pixels and of the right one when bent"
    picture = Picture(save(figure, folder, "bending"), alternative, caption)
    return Section("Pictures that may bend", [Paragraph(intro), Code.of(nearest), picture])
