"""The same gesture, slower or faster: distances between series that may change their pace."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import KernelNeighbors
from seminorm.invariance import DTW, Euclidean
from seminorm.plotting._style import CYCLE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def nearest(X, y, distance):
    return KernelNeighbors(distance).fit(X, y)


def _gestures(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two humps, or a hump and a dip, at a pace that changes along the way."""
    y = rng.integers(0, 2, n)
    t = np.linspace(0, 1, 80)
    bend = rng.uniform(-1, 1, (n, 1)) / np.pi
    warped = t + bend * np.sin(np.pi * t)
    sign = np.where(y, 1.0, -1.0)[:, None]
    first = np.exp(-(((warped - 0.35) / 0.08) ** 2))
    second = sign * np.exp(-(((warped - 0.62) / 0.06) ** 2))
    return first + second + 0.25 * rng.standard_normal((n, 80)), y


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X, y = _gestures(rng, 16)
    Z, t = _gestures(rng, 300)
    figure = new_figure(9.6, 3.8)
    axes = figure.subplots(1, 3, width_ratios=[1.3, 1, 1])
    for label in (0, 1):
        axes[0].plot((X[y == label][:5] + 3 * label).T, color=CYCLE[label], linewidth=1.2)
    axes[0].set(title="five examples of each class", yticks=[])
    order = np.argsort(y, kind="stable")
    for ax, distance in zip(axes[1:], (Euclidean(), DTW(window=0.3)), strict=True):
        wrong = np.mean(nearest(X, y, distance).predict(Z) != t)
        ax.imshow(distance.pairwise(X[order]), cmap="viridis")
        ax.set_title(f"{type(distance).__name__}: {number(100 * wrong, 2)} % wrong")
        ax.set_axis_off()
    intro = (
        "A gesture is what it is at any pace. `DTW` (dynamic time warping) compares series after the best stretching; "
        "a window limits how far. As a distance it goes to neighbours at once, in a `DistanceKernel` to any machine."
    )
    caption = "Right: all distances between 16 series, sorted by class. Errors of the nearest neighbour on 300 others."
    alternative = "Series of two classes at different paces, and two matrices of distances, one with two blocks"
    picture = Picture(save(figure, folder, "pace"), alternative, caption)
    return Section("At any pace", [Paragraph(intro), Code.of(nearest), picture])
