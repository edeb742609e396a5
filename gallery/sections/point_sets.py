"""Constellations: sets of points that may be moved, turned and numbered otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import KernelPCA
from seminorm.invariance import DistanceKernel, PointSetDistance
from seminorm.kernels import NegativeDistance
from seminorm.plotting._style import CYCLE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section


def embed(X):
    same_figure = PointSetDistance(n_points=5, matching=True)  # wherever it lies, in whatever order
    return KernelPCA(DistanceKernel(NegativeDistance(), same_figure), n_components=2).fit_transform(X)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    figures = rng.standard_normal((3, 5, 2))
    y = np.repeat([0, 1, 2], 25)
    angle = rng.uniform(0, 2 * np.pi, 75)
    turns = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1).reshape(75, 2, 2)
    X = np.einsum("nij,npj->npi", turns, figures[y] + 0.1 * rng.standard_normal((75, 5, 2)))
    X = np.stack([rng.permutation(points) for points in X + rng.uniform(-3, 3, (75, 1, 2))])
    where = embed(X.reshape(75, 10))
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    for i in range(0, 75, 5):
        closed = X[i] - X[i].mean(axis=0) + 6 * np.array([(i // 5) % 5, y[i]])
        left.plot(*closed.T, "o", color=CYCLE[y[i]], markersize=4)
    left.set(title="five of each constellation, as given", aspect="equal", xticks=[], yticks=[])
    for label in range(3):
        right.plot(*where[y == label].T, "o", color=CYCLE[label], markersize=5)
    right.set_title("where kernel PCA puts them")
    intro = (
        "Five stars, seen from somewhere, in no order. `PointSetDistance` is the distance after the best "
        "movement, turn and matching; with the kernel -r, `KernelPCA` makes a map of it."
    )
    caption = "75 noisy constellations of three kinds. Colours were not used."
    alternative = "Fifteen constellations, and a map in which three kinds form three clusters"
    picture = Picture(save(figure, folder, "point-sets"), alternative, caption)
    return Section("Constellations", [Paragraph(intro), Code.of(embed), picture])
