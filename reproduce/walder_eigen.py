"""Walder 2008, figures 4.11 to 4.15: surfaces from points without normals, by eigenvectors.

- 4.11: the slab support vector machine and the eigenvector: only one of them tells inside from outside.
- 4.12: the eigenvector of (4.14) in a plain basis of Gaussians, with their own norm; marks are signs of coefficients.
- 4.13: the role of the parameters: chosen by the distances of 4.4.3, too large an energy term, too large a gradient
  term; and what fits to the function's own normalised gradients make of the first. The gradient at the points shows the
  focusing of energy: printed is its 5th over its 95th percentile.
- 4.14: a bunny with a hole. The zero set of the eigenvector with such fits, on one coarse grid; and the combination:
  the eigenvector decides the signs of normals, and the oriented fit of 4.3 makes the surface.
- 4.15: a knot, from the eigenvector and such fits alone, and its intersection with a grid of balls.

In 4.11 and 4.13 to 4.15 the basis is a grid of B-splines. Weights of (4.14) are given as multiples of those at which
its least value becomes negative: far above them the function retreats to a few points. The source's data in the plane
are not given: ours are similar.
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
    camera,
    distances,
    draw_mesh,
    draw_points,
    options,
    shape_of,
    side_by_side,
)
from _surfaces import Model as View
from matplotlib.figure import Figure
from scipy.linalg import eigh
from walder_chapelle_figure1 import save
from walder_surface_2d import curve
from walder_surface_views import ball_grid, by_surface, knot

from seminorm.bases.gaussian import GaussianBasis
from seminorm.clouds.normals.estimation import estimate_normals
from seminorm.estimators.slab import SlabMachine
from seminorm.kernels import Gaussian
from seminorm.rendering import Picture, render
from seminorm.shapes import mesh_implicit
from seminorm.surfaces import Surface, reconstruct
from seminorm.surfaces.eigen.method import eigen_surface
from seminorm.surfaces.eigen.orientation import orient_by_eigenvector
from seminorm.surfaces.eigen.search import measure, search_eigen_surface

HOLE = 0.13  # radius, in longest sides of the bunny


def blob(n: int) -> np.ndarray:
    """A curve of about the same complexity all around, evenly sampled."""
    return evenly(lambda t: (1.0 + 0.22 * np.cos(4 * t + 0.5))[:, None] * np.column_stack([np.cos(t), np.sin(t)]), n)


def evenly(places, n: int) -> np.ndarray:
    """Points of a closed curve at equal distances along it."""
    fine = np.linspace(0.0, 2 * np.pi, 20_001)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(places(fine), axis=0), axis=1))])
    return places(np.interp((np.arange(n) + 0.5) / n * length[-1], length, fine))


def draw_function(ax, f, points: np.ndarray, title: str, limit: float | None = None, line: str = "magenta") -> None:
    """The values as colours, the zero set as a line, the data as dots."""
    low, high = points.min(axis=0), points.max(axis=0)
    border = 0.22 * (high - low).max()
    x, y = (np.linspace(a - border, b + border, 361) for a, b in zip(low, high, strict=True))
    values = f(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(len(y), len(x))
    limit = np.quantile(np.abs(values), 0.93) if limit is None else limit
    extent = x[0], x[-1], y[0], y[-1]
    ax.imshow(values, extent=extent, origin="lower", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="bilinear")
    ax.contour(x, y, values, levels=np.linspace(-limit, limit, 17), colors="0.5", linewidths=0.3, linestyles="solid")
    ax.contour(x, y, values, levels=[0.0], colors=line, linewidths=1.6)
    ax.plot(*points.T, "k.", ms=3.0)
    ax.set(xlim=extent[:2], ylim=extent[2:], xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=9)


def figure411(quick: bool, folder: Path) -> None:
    points = blob(60 if quick else 120)
    slab = SlabMachine(Gaussian(0.3), nu=0.001, delta=0.0).fit(points).function_
    ours = eigen_surface(points)
    inner, outer = 0.75 * points, 1.25 * points
    print("figure 4.11: share of right signs inside and outside, up to one sign for all")
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    for ax, (name, f) in zip(figure.subplots(1, 2), {"slab machine": slab, "eigenvector": ours}.items(), strict=True):
        one, other = np.mean(f(inner) < 0), np.mean(f(outer) > 0)
        if one + other < 1.0:
            one, other = 1.0 - one, 1.0 - other
        print(f"  {name:<13} {one:6.2f} {other:6.2f}")
        draw_function(ax, f, points, f"{name}: sign right inside {100 * one:.0f} %, outside {100 * other:.0f} %")
    save(figure, folder / "walder_figure411.png")


def figure412(quick: bool, folder: Path) -> None:
    points = blob(60 if quick else 120)
    across = 15 if quick else 21
    axis = np.linspace(-1.75, 1.75, across)
    pitch = axis[1] - axis[0]
    scale = 1.1 * pitch
    basis = GaussianBasis(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), scale)
    values, gradients = basis.design(points), basis.design(points, derivative=1)
    apart = ((basis.centers[:, None] - basis.centers) ** 2).sum(axis=2)
    products = np.pi * scale**2 * np.exp(-apart / (4 * scale**2))
    rough = values.T @ values / len(points) + 1e-4 * basis.energy(Gaussian(scale))
    wanted = 0.2 * products + 0.05 * gradients.T @ gradients / len(points)
    factor = 1.0 / eigh(wanted, rough, eigvals_only=True)[-1]
    value, vectors = eigh(rough - 1.5 * factor * wanted)
    coef = vectors[:, 0] * (-1.0 if (basis.design(np.zeros((1, 2))) @ vectors[:, 0])[0] > 0 else 1.0)
    inside = np.mean(basis.design(0.75 * points) @ coef < 0)
    outside = np.mean(basis.design(1.25 * points) @ coef > 0)
    print(
        f"figure 4.12: {basis.size} Gaussians; least eigenvalue {value[0]:.2e}, the next {value[1]:.2e}; negative "
        f"inside {100 * inside:.0f} %, positive outside {100 * outside:.0f} %"
    )
    figure = Figure(figsize=(6.0, 6.2), layout="constrained")
    ax = figure.subplots()
    title = f"{basis.size} Gaussians: positive (+) and negative (x) coefficients"
    draw_function(ax, lambda X: basis.design(X) @ coef, points, title, line="red")
    for sign, marker in ((1, "P"), (-1, "X")):
        ax.scatter(*basis.centers[sign * coef > 0].T, marker=marker, s=26, color="white", edgecolors="0.2", lw=0.5)
    ax.plot(*points.T, ".", color="#1030c0", ms=5.0)
    save(figure, folder / "walder_figure412.png")


def figure413(quick: bool, folder: Path) -> None:
    points = evenly(curve, 120 if quick else 240)
    found = search_eigen_surface(points, excesses=(1.02, 1.2, 2.0), equalize=0)
    best = found.parameters
    print(f"figure 4.13: best of {len(found.trials)} trials: {', '.join(f'{k} {v:.3g}' for k, v in best.items())}")
    energy, gradient = best["energy_weight"], best["gradient_weight"]
    unit = {"gradient_weight": 1e-3, "energy_weight": 1e-3 * energy / gradient}
    equal = {**best, **unit, "generalized": True, "equalize": 12}
    fits = {
        "chosen": found.field,
        "energy term too large": eigen_surface(points, **{**best, "energy_weight": 2000.0 * gradient}),
        "gradient term too large": eigen_surface(points, **{**best, "gradient_weight": 6.0 * gradient}),
        "chosen, with gradients made equal": eigen_surface(points, **equal),
    }
    inner, outer = 0.8 * points, 1.25 * points
    headings = f"{'m_RS':>7} {'m_SR':>7} {'signs':>6} {'gradient 5 %/95 %':>18} {'inside':>7} {'outside':>8}"
    print(f"  {'function':<34} {headings}")
    figure = Figure(figsize=(9.6, 9.8), layout="constrained")
    for ax, (name, f) in zip(figure.subplots(2, 2).ravel(), fits.items(), strict=True):
        slopes = np.linalg.norm(f.gradient(points), axis=1)
        focus = np.quantile(slopes, 0.05) / np.quantile(slopes, 0.95)
        far, missed, signs = measure(f, points)
        print(
            f"  {name:<34} {far:7.4f} {missed:7.4f} {signs:6.2f} {focus:18.4f} {np.mean(f(inner) < 0):7.2f} "
            f"{np.mean(f(outer) > 0):8.2f}"
        )
        draw_function(ax, f, points, f"{name} (gradient, 5 % over 95 %: {focus:.3f})")
    save(figure, folder / "walder_figure413.png")


def figure414(quick: bool, folder: Path) -> None:
    model = MODELS["bunny"]
    points, normals = model.sample(3_000 if quick else 37_000)
    longest = np.ptp(points, axis=0).max()
    size = shape_of(points, model, 100 if quick else 480)
    view = camera(points, model, size)
    front = np.flatnonzero(normals @ view.direction < -0.7)
    upper_rear = points.min(axis=0) + np.ptp(points, axis=0) * [0.72, 0.55, 0.5]
    middle = points[front[np.argmin(np.linalg.norm((points[front] - upper_rear)[:, :2], axis=1))]]
    kept = np.linalg.norm(points - middle, axis=1) > HOLE * longest
    data, lost = points[kept], points[~kept]
    print(f"figure 4.14: {len(data)} points; source: 35 000. Distances in percent of the longest side")
    start = time.perf_counter()
    alone = eigen_surface(data, cells=12 if quick else 32, equalize=10)
    seconds = time.perf_counter() - start
    agree = np.einsum("ij,ij->i", alone.gradient(points), normals) > 0
    shapes = {"eigenvector alone, gradients made equal": mesh_implicit(Surface(alone, data))}
    print(
        f"  eigenvector alone: {alone.n_coef} functions, {seconds:.0f} s, signs right at "
        f"{100 * agree[kept].mean():.1f} % of the points"
    )
    start = time.perf_counter()
    unsigned = np.asarray(estimate_normals(data, orient=False).normals)
    signs, _ = orient_by_eigenvector(data, unsigned)
    agree = np.einsum("ij,ij->i", signs[:, None] * unsigned, normals[kept]) > 0
    oriented = time.perf_counter()
    shapes["signs by the eigenvector, then the oriented fit"] = reconstruct(data, signs[:, None] * unsigned).mesh()
    print(
        f"  combination: signs right at {100 * agree.mean():.2f} % of the points, {oriented - start:.0f} s; surface "
        f"{time.perf_counter() - oriented:.0f} s"
    )
    seen = kept & (normals @ view.direction < 0)
    images, titles = [draw_points(points[seen], view, size, normals=normals[seen])], [f"{len(data)} points"]
    for name, mesh in shapes.items():
        off = [100.0 * distances(mesh, part).mean() / longest for part in (data, lost)]
        print(f"  {name}: mean distance of the data {off[0]:.3f}, of the {len(lost)} removed points {off[1]:.3f}")
        images.append(draw_mesh(mesh, view, size))
        titles.append(name)
    images.append(draw_mesh(model.mesh(), view, size, color=SAGE))
    titles.append("the truth")
    side_by_side(images, titles, folder / "walder_figure414.png", columns=4)


def figure415(quick: bool, folder: Path) -> None:
    points, normals = knot(1_000 if quick else 10_000)
    start = time.perf_counter()
    field = eigen_surface(points, energy_weight=0.0, cells=16 if quick else 36, equalize=12)
    seconds = time.perf_counter() - start
    right = np.mean(np.einsum("ij,ij->i", field.gradient(points), normals) > 0)
    print(
        f"figure 4.15: {len(points)} points, {field.n_coef} functions, {seconds:.0f} s, signs right at "
        f"{100 * right:.1f} %, eigenvector alone; source: 10 000, 5000, 15 minutes"
    )
    tube, balls = Surface(field, points), ball_grid(0.44, 0.235)
    height = 100 if quick else 480
    size = height, height
    view = camera(points, View("", (0.25, 0.35, -1.0)), size)
    images, titles = [draw_points(points, view, size, color=STEEL)], [f"{len(points)} points without normals"]
    drawn = {"the knot": (tube, CLAY), "knot and balls: intersection": (tube & balls, by_surface(tube, balls))}
    for name, (shape, colors) in drawn.items():
        picture = Picture(size, view, background=WHITE)
        images.append(render(shape, picture, colors=colors, bounds=tube.bounds, shadows=True))
        titles.append(name)
    side_by_side(images, titles, folder / "walder_figure415_without_normals.png")


FIGURES = {"4.11": figure411, "4.12": figure412, "4.13": figure413, "4.14": figure414, "4.15": figure415}


def main() -> None:
    chosen = options(__doc__, list(FIGURES))
    for name in chosen.figures:
        if name == "4.14" and not _data.exists(MODELS["bunny"].path):
            print(f"figure 4.14: {_data.missing(MODELS['bunny'].path)}")
            continue
        FIGURES[name](chosen.quick, chosen.output)


if __name__ == "__main__":
    main()
