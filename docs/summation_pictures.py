"""The pictures of docs/summation.md: near and far boxes of a leaf, the ways between boxes, errors against degrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from gallery.drawing import new_figure, save
from seminorm.functions.summation.boxes import SortedPoints
from seminorm.functions.summation.levels import Request, series_error
from seminorm.functions.summation.plan import Plan
from seminorm.functions.summation.space import Space
from seminorm.kernels import Gaussian, Matern, Multiquadric, Polyharmonic, ThinPlate
from seminorm.kernels.radial_parts import radial_part

INK, NEAR, FAR = "#26323d", "#e07b39", ["#1f4e79", "#3f7cac", "#7fb0d3", "#b9d6e8", "#dcebf5"]


def section(folder: Path) -> None:
    """Draw all of them into a folder."""
    save(near_and_far(), folder, "summation-boxes")
    save(ways(), folder, "summation-ways")
    save(errors(), folder, "summation-errors")


def near_and_far():
    """A tree over points of uneven density, and what one of its leaves sees from afar."""
    rng = np.random.default_rng(3)
    angle, radius = rng.uniform(0, 2 * np.pi, 700), 0.25 + 0.012 * rng.standard_normal(700)
    ring = 0.68 + np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    points = np.concatenate([ring, rng.random((500, 2))])
    part = radial_part(ThinPlate(), 2)
    space = Space(part, points, points, 0, 0)
    sorted_points = SortedPoints(space.sources[:, :2], space.targets[:, :2])
    here = np.ascontiguousarray(space.sources[sorted_points.orders[0]])
    request = Request(part.profile, 2, 1e-2, 0, 0, part.knots, 2 * space.size, np.inf)
    plan = Plan(request, sorted_points, here, here, space.forms)
    boxes = plan.boxes
    place = np.array([0.455, 0.6]) - 0.5
    leaves = np.flatnonzero(boxes.leaves)
    leaf = leaves[np.argmin(np.abs(boxes.centers[leaves, :2] - place).max(axis=1))]
    figure = new_figure(9.6, 4.7)
    left, right = figure.subplots(1, 2)
    for axes, title in ((left, "Boxes with few points are not halved"), (right, "What one leaf sees")):
        axes.set(title=title, aspect="equal", xticks=[], yticks=[])
        axes.grid(False)
    left.plot(*here[:, :2].T, ".", ms=2, color=INK)
    for box in leaves:
        left.add_patch(square(boxes, box, fill=False, lw=0.6, ec="#8a939c"))
    ancestor, level = leaf, len(boxes.level_from) - 2
    while ancestor >= 0:
        level = int(np.searchsorted(boxes.level_from, ancestor, side="right")) - 1
        if level in plan.across:
            moves, first = plan.across[level], boxes.level_from[level]
            for other in moves.origin[moves.to == ancestor - first] + first:
                right.add_patch(square(boxes, other, fc=FAR[min(level - 2, 4)], ec="white", lw=0.8))
        ancestor = boxes.parents[ancestor]
    spans, range_from, ranges = plan.near
    row = np.flatnonzero(spans[:, 0] == boxes.target_spans[leaf, 0])[0]
    met = ranges[range_from[row] : range_from[row + 1]]
    for box in leaves:
        begin, end = boxes.source_spans[box]
        if any(low <= begin and end <= high and begin < end for low, high in met):
            right.add_patch(square(boxes, box, fc=NEAR, alpha=0.55, ec="white", lw=0.8))
    right.add_patch(square(boxes, leaf, fill=False, ec=INK, lw=2))
    right.plot(*here[:, :2].T, ".", ms=1, color=INK, alpha=0.5)
    right.legend(handles=[Rectangle((0, 0), 1, 1, fc=NEAR, alpha=0.55, label="near: pair by pair"),
                          *(Rectangle((0, 0), 1, 1, fc=FAR[k], label=f"far, level {k + 2}") for k in range(4))],
                 loc="lower right", fontsize=8)  # fmt: skip
    return figure


def square(boxes, box: int, **look) -> Rectangle:
    """The outline of a box."""
    half = boxes.halves[box]
    return Rectangle(boxes.centers[box, :2] - half, 2 * half, 2 * half, **look)


def ways():
    """From sources to targets: up, across, down."""
    figure = new_figure(9.6, 3.2)
    axes = figure.subplots()
    axes.set(xlim=(-0.3, 11.5), ylim=(-0.3, 2.5), aspect="equal")
    axes.axis("off")
    rng = np.random.default_rng(0)
    for left, color, name in ((0.0, FAR[0], "sources"), (5.2, NEAR, "targets")):
        for size, count in ((2.0, 1), (1.0, 2), (0.5, 2)):
            for x, y in np.ndindex(count, count):
                axes.add_patch(Rectangle((left + x * size, y * size), size, size, fill=False, ec="#8a939c", lw=1))
        axes.plot(*(np.array([left + 0.03, 0.03]) + 0.44 * rng.random((9, 2))).T, ".", color=color, ms=5)
        axes.text(left + 1.0, 2.1, name, ha="center", color=color)
    steps = [
        ((0.25, 0.25), (0.6, 0.6), "moments of a leaf"),
        ((0.6, 0.6), (1.2, 1.2), "moments of the boxes that hold it"),
        ((1.3, 1.3), (6.3, 1.3), "a series in each box that sees it from afar"),
        ((6.4, 1.2), (5.8, 0.6), "the same for its parts"),
        ((5.8, 0.6), (5.45, 0.25), "values at the targets"),
    ]
    for number, (start, end, text) in enumerate(steps, 1):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.6})
        across = np.array([0.0, 0.18]) if number == 3 else np.array([0.14, -0.12])
        axes.text(*((np.array(start) + end) / 2 + across), number, ha="center", va="center", fontsize=10, weight="bold")
        axes.text(7.7, 2.25 - 0.42 * number, f"{number}  {text}", va="center", fontsize=9.5)
    return figure


def errors():
    """The far-field error of boxes with one box between them, against the degree, for several kernels."""
    figure = new_figure(9.6, 3.6)
    for axes, dimension in zip(figure.subplots(1, 2, sharey=True), (2, 3), strict=True):
        degrees = np.arange(1, 13)
        for name, kernel in {
            "thin plate": ThinPlate(),
            "Polyharmonic(3)": Polyharmonic(3),
            "multiquadric, scale h/4": Multiquadric(0.25),
            "Matern 3/2, scale h": Matern(1.5, 1.0),
            "Gaussian, scale h": Gaussian(1.0),
        }.items():
            part = radial_part(kernel, dimension)
            request = Request(part.profile, dimension, 1.0, 0, 0, part.knots, 8.0, np.inf)
            size = np.abs(part.profile(np.linspace(2.25, 16.0, 100), 0)).max()
            axes.semilogy(degrees, [series_error(request, 1.0, p, 2) / size for p in degrees], "o-", ms=4, label=name)
        axes.set(title=f"dimension {dimension}", xlabel="degree of the series")
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("largest error, of the largest value")
    return figure
