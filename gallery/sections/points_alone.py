"""A knot from points without normals."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from seminorm import reconstruct, rendering
from seminorm.rendering.cameras import fit
from seminorm.rendering.shading import PALETTE

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_POINTS, _RADIUS, _NOISE = 6000, 0.42, 0.015
_SIZE = 480, 400
_CLOSER = 0.78  # what the picture shows, of the box around the knot


def tie(points):
    surface = reconstruct(points)  # normals, their signs, smoothness and depth: all from the points
    return surface, surface.mesh()


def _trefoil(t: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)


def _knot(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of a knotted tube, with noise, and their true normals."""
    t, angle = rng.uniform(0, 2 * np.pi, (2, _POINTS))
    center, step = _trefoil(t), 1e-4
    tangent = _trefoil(t + step) - _trefoil(t - step)
    side = np.cross(tangent, [0.0, 0.0, 1.0])
    up = np.cross(side, tangent)
    side, up = (axis / np.linalg.norm(axis, axis=1, keepdims=True) for axis in (side, up))
    normals = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * up
    return center + _RADIUS * normals + _NOISE * rng.standard_normal(center.shape), normals


def section(folder: Path) -> Section:
    points, truth = _knot(np.random.default_rng(3))
    begin = perf_counter()
    surface, mesh = tie(points)
    seconds = perf_counter() - begin
    t = np.linspace(0, 2 * np.pi, 4000)
    distance = np.abs(np.array([np.linalg.norm(_trefoil(t) - x, axis=1).min() for x in mesh.vertices[::10]]) - _RADIUS)
    agree = (surface.normals * truth).sum(axis=1) > 0
    intro = (
        "Scans often come as bare points. Normals are then estimated from neighbours. The agreement of neighbours and "
        "the winding number of a closed surface decide which way is outwards. `seminorm normals` does the same on the "
        "command line."
    )
    rows = [
        ["points", str(len(points))],
        ["normals", surface.details["normals"]],
        ["signs that are right", f"{100 * agree.mean():.2f} %"],
        ["closed", "yes" if mesh.is_watertight else "no"],
        ["mean distance to the true tube, of a radius of 0.42", number(distance.mean(), 2)],
        ["seconds, with the mesh", number(seconds, 2)],
    ]
    caption = f"The points have noise of standard deviation {_NOISE:g}. (Seconds of a single run here, on all cores.)"
    return Section(
        "Surfaces from points alone",
        [Paragraph(intro), Code.of(tie), _picture(folder, points, mesh), Table(["", ""], rows, caption)],
    )


def _picture(folder: Path, points: np.ndarray, mesh) -> Picture:
    center = mesh.bounds.mean(axis=0)
    camera = fit(center + _CLOSER * (mesh.bounds - center), (0.15, 0.3, -0.95), size=_SIZE)
    picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
    images = [
        rendering.render_points(points, picture, colors=PALETTE[1]),
        rendering.render_mesh(mesh.vertices, mesh.faces, picture, normals=mesh.normals, colors=PALETTE[0]),
    ]
    figure = new_figure(9.6, 4.1)
    for ax, title, image in zip(figure.subplots(1, 2), ("points", "surface"), images, strict=True):
        ax.imshow(image, interpolation="lanczos")
        ax.set_title(title)
        ax.set_axis_off()
    caption = "Nothing but the coordinates on the left went into the surface on the right."
    return Picture(save(figure, folder, "points-alone"), "A cloud of points, and the knot that it is", caption)
