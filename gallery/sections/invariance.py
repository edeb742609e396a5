"""Transformations that do not change what a point means, built into the kernel: a checkerboard and novelties."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import EnclosingHypersphere, KernelNeighbors
from seminorm.invariance import (
    CurveShift,
    DistanceKernel,
    IntegrationKernel,
    MinimumDistance,
    Scaling,
    SineWave,
    Transformation,
)
from seminorm.kernels import Gaussian, Kernel, Linear
from seminorm.plotting._style import BLUE, INK, VERMILION

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, number

SCALING = Scaling(extent=np.log(1.6), n_nodes=16)
FIELD = Gaussian(0.15)
_HALF_WIDTH, _HEIGHT, _OFFSET = 0.3, 0.5, 0.5
WAVE = CurveShift(SineWave(frequency=np.pi / _HALF_WIDTH, amplitude=_HEIGHT), extent=_HALF_WIDTH, n_nodes=16)
NORMAL, NOVEL = 30, 10
_REPETITIONS = 10
_SQUARE = (-1.0, 1.0)


def invariant_kernels(base: Kernel, transformation: Transformation, n_grid: int = 41) -> dict[str, Kernel]:
    closest = MinimumDistance(transformation, n_grid=n_grid, refine=False)
    return {
        "not invariant": base,
        "minimum of distances": DistanceKernel(base, closest),
        "average of kernels": IntegrationKernel(base, transformation),
    }


def false_alarms_and_misses(kernel: Kernel, X, novel) -> tuple[int, int]:
    outside = EnclosingHypersphere(kernel, nu=novel.mean()).fit_predict(X) < 0
    return (outside & ~novel).sum(), (~outside & novel).sum()


def checkerboard() -> tuple[np.ndarray, np.ndarray]:
    """The centres of 4 x 4 fields in the square, and their colours."""
    places = np.arange(16)
    rows, columns = places // 4, places % 4
    return np.column_stack([columns, rows]) / 2 - 0.75, (rows + columns) % 2


def wave_and_novelties(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of a sine wave, a few of the wave moved up or down, and which are these."""
    x = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, NORMAL + NOVEL)
    novel = np.arange(NORMAL + NOVEL) >= NORMAL
    moved = np.where(novel, _OFFSET * rng.choice([-1.0, 1.0], len(x)), 0.0)
    return np.column_stack([x, _HEIGHT * np.sin(np.pi * x / _HALF_WIDTH) + moved]), novel


def orbits(transformation: Transformation, X: np.ndarray, steps: int = 81) -> np.ndarray:
    """The curves (steps, n, 2) of all transformed versions of points, for a single continuous parameter."""
    return transformation.apply(X, np.linspace(-1.0, 1.0, steps)[:, None] * transformation.extent)


def square(resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """The ticks of a grid on the square, and its points (resolution^2, 2)."""
    ticks = np.linspace(*_SQUARE, resolution)
    return ticks, np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


def draw_regions(ax, ticks: np.ndarray, values: np.ndarray) -> None:
    """Where values are negative and positive, and the line between."""
    values = values.reshape(len(ticks), len(ticks))
    ax.contourf(ticks, ticks, values, levels=[-np.inf, 0.0, np.inf], colors=[BLUE, VERMILION], alpha=0.18)
    ax.contour(ticks, ticks, values, levels=[0.0], colors=INK, linewidths=1.2)
    ax.set(xlim=_SQUARE, ylim=_SQUARE, aspect="equal", xticks=[], yticks=[])


def draw_checkerboard(ax, kernel: Kernel, resolution: int, curves: bool = True) -> None:
    """The nearest neighbour's answer on the square, the training points and what they are scaled to."""
    X, y = checkerboard()
    ticks, points = square(resolution)
    distances, neighbors = KernelNeighbors(kernel, n_neighbors=len(X)).fit(X, y).kneighbors(points)
    nearest = [np.where(y[neighbors] == color, distances, np.inf).min(axis=1) for color in (0, 1)]
    draw_regions(ax, ticks, nearest[0] - nearest[1])
    if curves:
        ax.plot(*np.moveaxis(orbits(SCALING, X), 2, 0), color=INK, linewidth=1.2)
    _draw_points(ax, X, y == 1)


def draw_novelties(ax, kernel: Kernel, X: np.ndarray, novel: np.ndarray, resolution: int) -> None:
    """The sphere in the plane, and the points, with rings around those judged wrongly."""
    model = EnclosingHypersphere(kernel, nu=novel.mean()).fit(X)
    ticks, points = square(resolution)
    draw_regions(ax, ticks, -model.decision_function(points))
    _draw_points(ax, X, novel)
    wrong = (model.predict(X) < 0) != novel
    ax.plot(*X[wrong].T, "o", markersize=11, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.2)


def _draw_points(ax, X: np.ndarray, second: np.ndarray) -> None:
    ax.plot(*X[~second].T, "o", color=BLUE, markersize=5)
    ax.plot(*X[second].T, "x", color=VERMILION, markersize=6, markeredgewidth=2)
    ax.grid(False)


def section(folder: Path) -> Section:
    intro = (
        "Often a pattern can be changed without changing its meaning: a digit can be shifted, a spectrum multiplied. "
        "Name the set of transformations, and there are two ways to build it into a kernel: replace the Euclidean "
        "distance by the distance of the closest transformed versions, or average the kernel over all versions. Every "
        "kernel machine can use either. `extent` says how far a pattern may be transformed, from not at all to a "
        "whole group."
    )
    novelties = (
        "The same with a sphere around points of which a quarter is novel. Normal points lie on a wave, novelties on "
        "the wave moved up or down, and all points may be shifted along it."
    )
    return Section(
        "Invariance",
        [
            Paragraph(intro),
            Code.of(invariant_kernels),
            _checkerboard_picture(folder),
            Paragraph(novelties),
            Code.of(false_alarms_and_misses),
            _novelty_picture(folder),
            _novelty_table(),
        ],
    )


def _checkerboard_picture(folder: Path) -> Picture:
    figure = new_figure(9.6, 3.5)
    kernels = invariant_kernels(FIELD, SCALING, n_grid=21)
    for ax, (name, kernel) in zip(figure.subplots(1, 3), kernels.items(), strict=True):
        draw_checkerboard(ax, kernel, 100, curves=kernel is not FIELD)
        ax.set_title(name)
    caption = (
        "`KernelNeighbors` with one neighbour, 16 training points. With a Gaussian kernel it is the ordinary nearest "
        "neighbour (left). With scaling by up to 1.6 in the kernel the regions follow the lines along which the points "
        "may move; with the minimum of distances they go beyond them, because both points move."
    )
    return Picture(save(figure, folder, "invariance_checkerboard"), "Three maps of a checkerboard's classes", caption)


def _novelty_picture(folder: Path) -> Picture:
    figure = new_figure(9.6, 3.5)
    X, novel = wave_and_novelties(np.random.default_rng(0))
    kernels = invariant_kernels(Linear(), WAVE)
    for ax, (name, kernel) in zip(figure.subplots(1, 3), kernels.items(), strict=True):
        draw_novelties(ax, kernel, X, novel, 70)
        ax.set_title(name)
    caption = (
        "`EnclosingHypersphere` with the linear kernel, trained on dots and crosses alike. What is outside is novel; "
        "rings are mistakes. The crosses are novelties."
    )
    return Picture(
        save(figure, folder, "invariance_novelties"), "Three maps of what is normal among points on a wave", caption
    )


def _novelty_table() -> Table:
    rows = []
    for name, kernel in invariant_kernels(Linear(), WAVE).items():
        scenes = [wave_and_novelties(np.random.default_rng(seed)) for seed in range(_REPETITIONS)]
        counts = np.mean([false_alarms_and_misses(kernel, *scene) for scene in scenes], axis=0)
        rows.append([name, *(number(count) for count in counts)])
    caption = f"Mean of {_REPETITIONS} repetitions with {NORMAL} normal points and {NOVEL} novelties."
    return Table(["", "false alarms", "novelties missed"], rows, caption)
