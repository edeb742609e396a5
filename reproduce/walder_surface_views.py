"""Walder 2008, figures 3.4 (the rendering), 4.3, 4.5 to 4.8 and 4.15: surfaces from points with normals, as pictures.

Give the numbers of the figures wanted, or none for all. The source's scans of 35 thousand to 14 million points are
replaced by 20 000 to 100 000 points drawn from meshes, with interpolated normals.

- 3.4: points of a face, the centres of the basis on its finest levels, the surface. Algorithm 3.1 itself is in
  walder_figure34.py.
- 4.3: Lucy; the function in the plane that cuts her nose; the centres of the basis functions near that plane.
- 4.5: less smoothing from left to right. As in the source values and normals are trusted alike: only alpha changes.
- 4.6: parts of the data are missing; the surface continues smoothly. Order 2 is the source's thin plate, 3 our default.
- 4.7: several models, all with the same, automatic settings.
- 4.8: noise, in points and normals, grows from left to right; all parameters are chosen automatically (source:
  five-fold cross validation). A second picture shows what less and more smoothing would have given.
- 4.15: set operations with a knot of 10 000 points, a grid of balls, and other shapes; ray traced.

Printed: what was chosen, and the mean distance of true surface points from the result, in percent of the longest side.
"""

from __future__ import annotations

import time
from pathlib import Path

import _data
import numpy as np
from _surfaces import (
    CLAY,
    MODELS,
    SAGE,
    STEEL,
    WHITE,
    Model,
    camera,
    centers,
    distances,
    draw_mesh,
    draw_points,
    options,
    shape_of,
    side_by_side,
)
from matplotlib.figure import Figure
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation
from walder_chapelle_figure1 import save

from seminorm.rendering import Picture, render
from seminorm.shapes import Mesh, Torus, as_implicit
from seminorm.surfaces import Surface, reconstruct

NOSE = 653.0  # x of the plane that cuts the nose of the file lucy100k
RED = (0.82, 0.22, 0.2)
LEVEL_COLORS = ("#c9b458", "#4f9d69", "#2f6f9f", "#1b1b1b")
SMOOTHING = 0.1, 0.01, 0.001  # shares of the longest side
HOLES = 9
NOISE = 0.0, 0.003, 0.006, 0.012  # shares of the longest side
GALLERY = "buddha", "lucy", "armadillo", "dragon", "horse", "fertility", "bunny", "fandisk"


def truth(model: Model) -> np.ndarray:
    """Points of the true surface, none of which is fitted."""
    return model.sample(30_000, seed=2)[0]


def off(surface: Mesh, points: np.ndarray) -> float:
    """Mean distance of true points from a mesh, in percent of the longest side."""
    return 100.0 * float(distances(surface, points).mean() / np.ptp(points, axis=0).max())


def figure34(quick: bool, height: int, folder: Path) -> None:
    model = MODELS["mask"]
    points, normals = model.sample(2_000 if quick else 30_000)
    surface = reconstruct(points, normals)
    mesh = near_points(surface.mesh(), points, 3.0 * surface.resolution)
    depth, to_points = surface.field.depth, cKDTree(points)
    near = {}
    for level in range(max(depth - 3, 1), depth + 1):
        places = centers(surface.field.tree, level)
        width = surface.resolution * 2.0 ** (depth - level)
        near[level] = places[to_points.query(places, distance_upper_bound=width)[0] < width]
    everything = np.concatenate([points, *near.values()])
    size = shape_of(everything, model, height)
    view = camera(everything, model, size)
    images, titles = [draw_points(points, view, size)], [f"{len(points)} points"]
    for level, places in near.items():
        radius = surface.resolution * (0.22 + 0.12 * (depth - level))
        images.append(overlaid(images[0], draw_points(places, view, size, RED, radius=radius, background=None)))
        titles.append(f"level {level}: {len(places)} functions near the points")
    images.append(draw_mesh(mesh, view, size))
    titles.append("the surface, near the points")
    print(f"figure 3.4: {len(points)} points, {surface.field.n_coef} functions in all")
    side_by_side(images, titles, folder / "walder_figure34_surface.png", columns=3)


def overlaid(image: np.ndarray, transparent: np.ndarray) -> np.ndarray:
    """A picture with a transparent one on top."""
    share = transparent[:, :, 3:] / 255.0
    return np.rint((1.0 - share) * image + share * transparent[:, :, :3]).astype(np.uint8)


def near_points(mesh: Mesh, points: np.ndarray, distance: float) -> Mesh:
    """The faces of a mesh that have data close by: what belongs to an open surface."""
    close = np.isfinite(cKDTree(points).query(mesh.vertices, distance_upper_bound=distance)[0])
    return mesh.keep(close[mesh.faces].all(axis=1))


def figure43(quick: bool, height: int, folder: Path) -> None:
    model = MODELS["lucy"]
    points, normals = model.sample(2_000 if quick else 100_000)
    start = time.perf_counter()
    surface = reconstruct(points, normals, order=2)
    seconds = time.perf_counter() - start
    print(f"figure 4.3: {len(points)} points, {surface.field.n_coef} functions in {seconds:.0f} s")
    print("  source: 14 027 872 points, 364 982 functions")
    tall = round(1.6 * height)
    size = shape_of(points, model, tall)
    image = draw_mesh(surface.mesh(), camera(points, model, size), size)
    low, high = points.min(axis=0), points.max(axis=0)
    border = 0.04 * (high - low).max()
    bounds = low[1] - border, high[1] + border, low[2] - border, high[2] + border
    inches = tall / 150
    widths = [size[0] / tall, *[(bounds[1] - bounds[0]) / (bounds[3] - bounds[2])] * 2]
    figure = Figure(figsize=(1.03 * sum(widths) * inches + 0.4, inches + 0.7), layout="constrained")
    whole, plane, nodes = figure.subplots(1, 3, width_ratios=widths)
    whole.imshow(image, interpolation="none")
    whole.set_title("(a) the surface", fontsize=9)
    whole.axis("off")
    values = section(plane, surface, bounds, "(b) a section")
    depth = surface.field.depth
    for level, color, dot in zip(range(depth - 3, depth + 1), LEVEL_COLORS, (7, 3.5, 1.4, 0.3), strict=True):
        places = centers(surface.field.tree, level)
        near = places[np.abs(places[:, 0] - NOSE) <= 0.5 * surface.resolution * 2.0 ** (depth - level)]
        nodes.scatter(near[:, 1], near[:, 2], s=dot, color=color, linewidths=0, label=f"level {level}")
    nodes.contour(*values, levels=[0.0], colors="#c0202a", linewidths=0.9)
    nodes.set_title("(c) centres", fontsize=9)
    figure.legend(fontsize=8, loc="outside lower right", ncols=4, markerscale=2, frameon=False)
    nodes.set(aspect="equal", xticks=[], yticks=[], xlim=bounds[:2], ylim=bounds[2:])
    for ax in (plane, nodes):
        ax.invert_xaxis()
    save(figure, folder / "walder_figure43.png")


def section(ax, surface: Surface, bounds, title: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the function in the plane of the nose; its axes and values."""
    y, z = np.linspace(*bounds[:2], 400), np.linspace(*bounds[2:], 1100)
    grid = np.stack(np.meshgrid(y, z), axis=-1).reshape(-1, 2)
    values = surface(np.column_stack([np.full(len(grid), NOSE), grid])).reshape(len(z), len(y))
    limit = 0.1 * (bounds[3] - bounds[2])
    ax.imshow(values, extent=bounds, origin="lower", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="bilinear")
    ax.contour(y, z, values, levels=np.linspace(-limit, limit, 13), colors="0.5", linewidths=0.3, linestyles="solid")
    ax.contour(y, z, values, levels=[0.0], colors="black", linewidths=1.2)
    ax.set_title(title, fontsize=9)
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=bounds[:2], ylim=bounds[2:])
    return y, z, values


def figure45(quick: bool, height: int, folder: Path) -> None:
    model = MODELS["armadillo"]
    points, normals = model.sample(2_000 if quick else 60_000)
    longest = np.ptp(points, axis=0).max()
    size = shape_of(points, model, height)
    view = camera(points, model, size)
    images, titles = [], []
    print("figure 4.5: smoothness, distance, both in percent of the longest side")
    for share in SMOOTHING:
        surface = reconstruct(
            points, normals, order=2, depth=6 if quick else 7, smoothness=share * longest, tolerance=0.01 * longest
        )
        mesh = surface.mesh()
        print(f"  {100 * share:6.2f} {off(mesh, truth(model)):7.3f}")
        images.append(draw_mesh(mesh, view, size))
        titles.append(f"smoothness {100 * share:g} %")
    side_by_side(images, titles, folder / "walder_figure45.png")


def with_holes(points: np.ndarray, normals: np.ndarray, view) -> np.ndarray:
    """Which points are left when balls around some of them, far from each other and seen by a camera, are emptied."""
    front = np.flatnonzero(normals @ view.direction < -0.5)
    radii = np.ptp(points, axis=0).max() * np.linspace(0.11, 0.06, HOLES)
    kept = np.ones(len(points), dtype=bool)
    away = np.full(len(points), np.inf)
    middle = front[np.argmin(points[front] @ view.direction)]
    for radius in radii:
        distance = np.linalg.norm(points - points[middle], axis=1)
        kept &= distance > radius
        away = np.minimum(away, distance)
        middle = front[away[front].argmax()]
    return kept


def figure46(quick: bool, height: int, folder: Path) -> None:
    model = MODELS["bunny"]
    points, normals = model.sample(1_500 if quick else 40_000)
    size = shape_of(points, model, height)
    view = camera(points, model, size)
    kept = with_holes(points, normals, view)
    front = kept & (normals @ view.direction < 0)  # what lies behind would be seen through the holes
    shown = draw_points(points[front], view, size, normals=normals[front])
    images, titles = [shown], [f"{kept.sum()} of {len(points)} points are left"]
    print("figure 4.6: distance from the points left, and from those removed, percent of the longest side")
    for order in (2, 3):
        mesh = reconstruct(points[kept], normals[kept], order=order).mesh()
        print(f"  order {order}: {off(mesh, points[kept]):.3f} {off(mesh, points[~kept]):.3f}")
        images.append(draw_mesh(mesh, view, size))
        titles.append(f"order {order}" + (" (thin plate)" if order == 2 else ""))
    images.append(draw_mesh(model.mesh(), view, size, color=SAGE))
    titles.append("the truth")
    side_by_side(images, titles, folder / "walder_figure46.png", columns=4)


def figure47(quick: bool, height: int, folder: Path) -> None:
    images, titles = [], []
    size = height, height
    print(
        f"figure 4.7: {'model':<10} {'points':>7} {'functions':>10} {'depth':>6} {'distance':>9} {'closed':>7} {'s':>6}"
    )
    for name in GALLERY:
        if not _data.exists(MODELS[name].path):
            print(f"            {name:<10} {_data.missing(MODELS[name].path)}")
            continue
        points, normals = MODELS[name].sample(1_500 if quick else 100_000)
        start = time.perf_counter()
        surface = reconstruct(points, normals, order=2)
        seconds = time.perf_counter() - start
        mesh = surface.mesh()
        print(
            f"            {name:<10} {len(points):7d} {surface.field.n_coef:10d} {surface.field.depth:6d} "
            f"{off(mesh, truth(MODELS[name])):9.4f} {mesh.is_watertight!s:>7} {seconds:6.1f}",
            flush=True,
        )
        images.append(draw_mesh(mesh, camera(points, MODELS[name], size), size))
        titles.append(name)
    side_by_side(images, titles, folder / "walder_figure47.png", columns=4)


def noisy(points: np.ndarray, normals: np.ndarray, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points moved by normal noise, a share of the longest side; normals corrupted likewise (25 times the share)."""
    rng = np.random.default_rng(seed)
    moved = points + share * np.ptp(points, axis=0).max() * rng.standard_normal(points.shape)
    return moved, normals + 25.0 * share * rng.standard_normal(points.shape)


def figure48(quick: bool, height: int, folder: Path) -> None:
    model = MODELS["bunny"]
    points, normals = model.sample(1_500 if quick else 35_000)
    longest = np.ptp(points, axis=0).max()
    size = shape_of(points, model, height)
    view = camera(points, model, size, margin=0.05)
    clouds, images, titles = [], [], []
    print("figure 4.8, percent of the longest side: noise, depth, smoothness, tolerance, distance")
    for share in NOISE:
        data = noisy(points, normals, share)
        surface = reconstruct(*data)
        mesh = surface.mesh()
        details = surface.details
        chosen = [100.0 * details[name] / longest for name in ("smoothness", "tolerance")]
        lengths = f"{chosen[0]:8.3f} {chosen[1]:8.3f} {off(mesh, truth(model)):8.3f}"
        print(f"  {100 * share:4.1f} {details['depth']:6d} {lengths}", flush=True)
        clouds.append(draw_points(data[0], view, size, radius=0.003 * longest))
        images.append(draw_mesh(mesh, view, size))
        titles.append(f"noise {100 * share:g} %")
    side_by_side(clouds + images, titles + [""] * len(NOISE), folder / "walder_figure48.png", columns=len(NOISE))
    print("  for the largest noise: smoothness, tolerance, distance")
    trials = []
    for factor, name in ((0.2, "a fifth of both lengths"), (1.0, "chosen automatically"), (5.0, "five times both")):
        given = {key: factor * details[key] for key in ("smoothness", "tolerance")}
        mesh = reconstruct(*data, depth=details["depth"] + (factor < 1.0), **given).mesh()
        lengths = " ".join(f"{100 * length / longest:8.3f}" for length in given.values())
        print(f"  {lengths} {off(mesh, truth(model)):8.3f}")
        trials.append((draw_mesh(mesh, view, size), name))
    side_by_side(*zip(*trials, strict=True), folder / "walder_figure48_smoothing.png")


def knot(n: int, thickness: float = 0.38, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals of a tube around a trefoil."""
    rng = np.random.default_rng(seed)

    def core(t):
        return np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -1.2 * np.sin(3 * t)], axis=1)

    t, angle = 2 * np.pi * rng.random((2, n))
    along = core(t + 1e-4) - core(t - 1e-4)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(along, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    normals = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(along, side)
    return core(t) + thickness * normals, normals


def ball_grid(pitch: float, radius: float):
    """Balls at all whole multiples of the pitch: one function, however many there are."""

    def distance(X):
        return np.linalg.norm(X - pitch * np.round(X / pitch), axis=1) - radius

    return as_implicit(distance, dimension=3, lipschitz=1.0, resolution=0.3 * radius, step=1e-5)


def by_surface(first, second):
    """Colours that tell on which of two surfaces a point lies."""

    def color(X):
        return np.where((np.abs(first(X)) <= np.abs(second(X)))[:, None], CLAY, STEEL)

    return color


def figure415(quick: bool, height: int, folder: Path) -> None:
    points, normals = knot(1_000 if quick else 10_000)
    tube = reconstruct(points, normals, order=2)
    print(f"figure 4.15: {len(points)} points, {tube.field.n_coef} functions; source: 10 000 and 5000")
    model = Model("", (0.25, 0.35, -1.0))
    size = height, height
    view = camera(points, model, size)
    balls = ball_grid(0.44, 0.235)
    ring = Torus((0.0, 0.0, 0.0), Rotation.from_euler("x", 20, degrees=True).apply([0, 0, 1]), 2.1, 0.62)
    shapes = {
        "the knot": (tube, tube),
        "knot and balls: intersection": (tube & balls, balls),
        "knot without balls: difference": (tube - balls, balls),
        "knot or ring: union": (tube | ring, ring),
        "knot and ring: intersection": (tube & ring, ring),
    }
    images, titles = [draw_points(points, view, size, color=STEEL)], [f"{len(points)} points"]
    for name, (shape, other) in shapes.items():
        start = time.perf_counter()
        colors = CLAY if other is tube else by_surface(tube, other)
        picture = Picture(size, view, background=WHITE)
        images.append(render(shape, picture, colors=colors, bounds=tube.bounds, shadows=True))
        print(f"  {name}: drawn in {time.perf_counter() - start:.1f} s", flush=True)
        titles.append(name)
    side_by_side(images, titles, folder / "walder_figure415.png", columns=3)


FIGURES = {  # what draws them, and models of which at least one must be there
    "3.4": (figure34, ["mask"]),
    "4.3": (figure43, ["lucy"]),
    "4.5": (figure45, ["armadillo"]),
    "4.6": (figure46, ["bunny"]),
    "4.7": (figure47, GALLERY),
    "4.8": (figure48, ["bunny"]),
    "4.15": (figure415, []),
}


def main() -> None:
    chosen = options(__doc__, list(FIGURES))
    for name in chosen.figures:
        draw, models = FIGURES[name]
        if models and not any(_data.exists(MODELS[model].path) for model in models):
            print(f"figure {name}: {_data.missing(*(MODELS[model].path for model in models))}")
            continue
        draw(chosen.quick, 100 if chosen.quick else 480, chosen.output)


if __name__ == "__main__":
    main()
