"""Spectra with drifting baselines: a distance that does not see what may drift."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import KernelNeighbors
from seminorm.invariance import Euclidean, SubspaceDistance
from seminorm.plotting._style import CYCLE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, number


def nearest(X, y):
    may_drift = SubspaceDistance(baseline_degree=2, scale=True)  # a parabola below, any intensity
    return KernelNeighbors(may_drift).fit(X, y)


def _spectra(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three substances, whose lines differ in their strengths, on baselines that wander."""
    w = np.linspace(0, 1, 120)
    lines = np.exp(-(((w - np.array([[0.25], [0.5], [0.7]])) / 0.03) ** 2))
    strengths = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.2], [0.3, 0.5, 1.0]])
    y = rng.integers(0, 3, n)
    drift = rng.normal(0, 1.0, (n, 3)) @ np.stack([np.ones(120), w, w**2])
    return rng.uniform(0.5, 2, (n, 1)) * (strengths[y] @ lines) + drift + 0.03 * rng.standard_normal((n, 120)), y


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X, y = _spectra(rng, 45)
    Z, t = _spectra(rng, 400)
    model = nearest(X, y)
    plain = KernelNeighbors(Euclidean()).fit(X, y)
    figure = new_figure(9.6, 3.6)
    axes = figure.subplots(1, 3, width_ratios=[1.4, 1, 1])
    for label in range(3):
        axes[0].plot(X[y == label][:3].T, color=CYCLE[label], linewidth=1.2)
    axes[0].set(title="three of each substance", yticks=[])
    order = np.argsort(y, kind="stable")
    for ax, (name, machine) in zip(axes[1:], {"Euclidean": plain, "SubspaceDistance": model}.items(), strict=True):
        distance = Euclidean() if machine is plain else SubspaceDistance(baseline_degree=2, scale=True)
        ax.imshow(distance.pairwise(X[order]))
        ax.set_title(f"{name}: {number(100 * np.mean(machine.predict(Z) != t), 2)} % wrong")
        ax.set_axis_off()
    intro = (
        "The lamp drifts, the amount of substance varies: neither says which substance it is. `SubspaceDistance` "
        "compares what is left when both have been taken out of both spectra, in closed form."
    )
    caption = "Right: distances between 45 spectra, sorted by substance. Errors of the nearest neighbour on 400 others."
    alternative = (
        "Spectra of three substances on wandering baselines, and two matrices of distances, one with three blocks"
    )
    picture = Picture(save(figure, folder, "baselines"), alternative, caption)
    return Section("Spectra that drift", [Paragraph(intro), Code.of(nearest), picture])
