"""Walder 2008, figure 5.1: one surface over a wide range of scales.

The source fits a "synthetic fractal-like data set" with the thin-plate energy (m = 2), which has no length of its own,
and says that "such effective behaviour over so wide a range of scales is impossible with e.g. the Gaussian kernel". Its
data are not given. Ours are balls that carry smaller balls, which carry smaller ones, ...; only what lies outside all
others is sampled, the smaller the denser. The first picture shows the surface and two enlargements.

The second picture makes the claim visible in the plane: discs of the same kind, fitted exactly with Gaussian kernels of
three widths and with the polyharmonic kernel.

Printed: for each generation the mean distance of surface points that were not fitted, relative to the radius; and for
the plane, how much of it has the wrong sign.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from _surfaces import Model, camera, distances, draw_mesh, options, side_by_side
from matplotlib.figure import Figure
from walder_chapelle_figure1 import save

from seminorm.kernels import Gaussian, Polyharmonic
from seminorm.rendering.cameras import Orthographic
from seminorm.shapes import as_implicit
from seminorm.surfaces import fit_exact, reconstruct

SHRINK = 0.4
APART = 0.7  # from the surface of the larger ball to the centre of the smaller, in its radii
VIEW = Model("", (-0.4, 0.8, -0.3), (0.0, 0.0, 1.0))
SPAN = 5.0  # of the largest enlargement, in radii of the smallest balls
TOLERANCE = 0.02
MACHINES = {
    "Gaussian, width 0.04": (Gaussian(0.04), 1e-4),
    "Gaussian, width 0.2": (Gaussian(0.2), 1e-4),
    "Gaussian, width 1": (Gaussian(1.0), 1e-4),
    "polyharmonic, order 3": (Polyharmonic(3), 1e-9),
}
BOUNDS = -2.3, 2.3, -2.3, 2.3


def flake(dimension: int, generations: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, radii and generations of balls, each with one smaller ball on every side but the one it grew from."""
    axes = np.concatenate([np.eye(dimension), -np.eye(dimension)])
    balls = [(np.zeros(dimension), 1.0, 0, None)]
    for center, radius, generation, origin in balls:
        if generation + 1 < generations:
            small = SHRINK * radius
            balls.extend(
                (center + (radius + APART * small) * axis, small, generation + 1, axis)
                for axis in axes
                if origin is None or (axis != -origin).any()
            )
    return np.array([b[0] for b in balls]), np.array([b[1] for b in balls]), np.array([b[2] for b in balls])


def evenly(dimension: int, n: int, shift: float) -> np.ndarray:
    """n unit vectors: on the circle regular, on the sphere along a spiral; the shift, below 1, gives others."""
    number = np.arange(n) + 0.25 + 0.5 * shift
    if dimension == 2:
        angle = 2 * np.pi * number / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    height, angle = 1.0 - 2.0 * number / n, np.pi * (3.0 - np.sqrt(5.0)) * number
    ring = np.sqrt(1.0 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


def sample(balls, counts, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points outside all other balls, their normals, and the numbers of their balls."""
    centers, radii, generations = balls
    each = [evenly(centers.shape[1], counts[generation], shift) for generation in generations]
    owner = np.repeat(np.arange(len(radii)), [len(part) for part in each])
    normals = np.concatenate(each)
    points = centers[owner] + radii[owner, None] * normals
    outside = np.concatenate([depth_of(part, centers, radii) for part in np.array_split(points, 64)]) > -1e-9
    return points[outside], normals[outside], owner[outside]


def depth_of(points: np.ndarray, centers: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The least signed distance from the balls."""
    return (np.linalg.norm(points[:, None] - centers, axis=2) - radii).min(axis=1)


def in_space(quick: bool, folder: Path) -> None:
    generations = 2 if quick else 4
    balls = flake(3, generations)
    counts = [4000, 1600, 800, 400][:generations]
    points, normals, _ = sample(balls, counts)
    start = time.perf_counter()
    surface = reconstruct(points, normals, order=2, depth=6 if quick else 8)
    mesh = surface.mesh()
    seconds = time.perf_counter() - start
    print(
        f"in space: {len(balls[1])} balls, {len(points)} points, {surface.field.n_coef} functions, depth "
        f"{surface.field.depth}, {seconds:.0f} s; closed: {mesh.is_watertight}, genus {mesh.genus}"
    )
    others, _, owner = sample(balls, counts, shift=1.0)
    print_errors({"thin plate": distances(mesh, others, 400_000)}, balls, owner)
    size = (120, 120) if quick else (620, 620)
    whole = camera(points, VIEW, size)
    smallest = balls[2] == generations - 1
    target = balls[0][np.argmin(np.where(smallest, balls[0] @ whole.direction, np.inf))]
    largest = whole.span / (SPAN * balls[1].min())
    images, titles = [draw_mesh(mesh, whole, size)], ["the whole surface"]
    for zoom in (largest**0.5, largest):
        images.append(draw_mesh(mesh, zoomed(whole, target, zoom), size))
        titles.append(f"{zoom:.1f} times larger")
    side_by_side(images, titles, folder / "walder_figure51.png")


def print_errors(errors: dict[str, np.ndarray], balls, owner: np.ndarray) -> None:
    """Mean distances relative to the radius, by generation."""
    generations = np.unique(balls[2])
    radii = [balls[1][balls[2] == generation][0] for generation in generations]
    print(f"  {'distance / radius, for radius':<30}" + "".join(f"{radius:10.3f}" for radius in radii))
    for name, error in errors.items():
        relative = error / balls[1][owner]
        means = [relative[balls[2][owner] == generation].mean() for generation in generations]
        print(f"  {name:<30}" + "".join(f"{mean:10.4f}" for mean in means))


def zoomed(view: Orthographic, target: np.ndarray, zoom: float) -> Orthographic:
    """The same camera with a target in the middle, enlarged."""
    offset = target - view.position
    position = view.position + offset - (offset @ view.direction) * view.direction
    return Orthographic(position, view.direction, view.up, span=view.span / zoom)


def in_the_plane(quick: bool, folder: Path) -> None:
    balls = flake(2, 2 if quick else 4)
    counts = 72, 48, 32, 20
    points, normals, owner = sample(balls, counts)
    lengths = 2 * np.pi * balls[1][owner] / np.asarray(counts)[balls[2][owner]]
    others, _, own = sample(balls, counts, shift=1.0)
    x = np.linspace(*BOUNDS[:2], 360)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    inside = np.concatenate([depth_of(part, *balls[:2]) for part in np.array_split(grid, 16)]) < 0
    print(f"in the plane: {len(balls[1])} discs, {len(points)} points")
    figure = Figure(figsize=(16.0, 4.3), layout="constrained")
    errors = {}
    for ax, (name, (kernel, alpha)) in zip(figure.subplots(1, 4), MACHINES.items(), strict=True):
        f = fit_exact(points, normals, kernel=kernel, alpha=alpha, tolerance=TOLERANCE, areas=lengths)
        errors[name] = np.minimum(np.abs(as_implicit(f, dimension=2).distance(others)), balls[1][own])
        values = f(grid)
        wrong = 100.0 * np.mean((values < 0) != inside)
        values = values.reshape(len(x), -1)
        ax.imshow(values, extent=BOUNDS, origin="lower", cmap="RdBu_r", vmin=-0.5, vmax=0.5, interpolation="bilinear")
        ax.contour(x, x, values, levels=[0.0], colors="black", linewidths=1.0)
        ax.plot(*points.T, ".", color="#2a7f3f", ms=1.6)
        ax.set_title(f"{name}: {wrong:.1f} % of the plane wrong", fontsize=10)
        ax.set(xticks=[], yticks=[], aspect="equal", xlim=BOUNDS[:2], ylim=BOUNDS[2:])
    print_errors(errors, balls, own)
    save(figure, folder / "walder_figure51_plane.png")


def main() -> None:
    chosen = options(__doc__)
    in_the_plane(chosen.quick, chosen.output)
    in_space(chosen.quick, chosen.output)


if __name__ == "__main__":
    main()
