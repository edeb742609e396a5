"""A part with sharp edges, and what it becomes without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import reconstruct, rendering
from seminorm.clouds import PointCloud
from seminorm.rendering.cameras import fit
from seminorm.rendering.shading import PALETTE
from seminorm.shapes import Box, Capsule, Implicit, Mesh

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_POINTS, _SKIN = 8000, 0.02
_HALF, _RADIUS = np.array([1.0, 0.7, 0.45]), 0.4
_NEAR = 0.05  # of an edge
_SIZE = 480, 400
_DIRECTION = (-0.6, 0.55, -0.75)


def reconstruct_part(part: PointCloud) -> tuple[Mesh, Mesh]:
    surface = reconstruct(part)
    return surface.mesh(), surface.mesh(sharp=False)


def section(folder: Path) -> Section:
    part = _part(np.random.default_rng(0))
    sharp, rounded = reconstruct_part(part)
    intro = (
        f"{len(part)} points with normals of a block with a hole. The function behind a surface is smooth, and rounds "
        "edges off over about one of its cells. The normals of the points are not smooth: near an edge they fall into "
        "clusters. Where this holds for most of what bends, the mesh gets the edges by itself."
    )
    rows = [
        [
            name,
            str(len(mesh.faces)),
            f"closed, genus {mesh.genus}" if mesh.is_watertight else "open",
            number(_off_near_edges(mesh), 2),
        ]
        for name, mesh in (("default", sharp), ("`sharp=False`", rounded))
    ]
    caption = (
        f"Mean distance from the true block of the triangles that lie within {_NEAR:g} of one of its straight edges; "
        "the block is 2 long."
    )
    table = Table(["", "triangles", "mesh", "off by, near edges"], rows, caption)
    return Section(
        "Sharp edges", [Paragraph(intro), Code.of(reconstruct_part), _panels(folder, part, sharp, rounded), table]
    )


def _part(rng: np.random.Generator) -> PointCloud:
    """Points of the surface of a block that a hole goes through, evenly, with normals."""
    block, bar = Box(-_HALF, _HALF), Capsule([0.0, 0.0, -3.0], [0.0, 0.0, 3.0], _RADIUS)
    outside, hole = _evenly(block, rng), _evenly(bar, rng)
    outside, hole = outside[bar(outside.points) > 0], hole[block(hole.points) < 0]
    points = np.concatenate([outside.points, hole.points])
    normals = np.concatenate([outside.normals, -hole.normals])
    return PointCloud(points, normals)[rng.choice(len(points), _POINTS, replace=False)]


def _evenly(shape: Implicit, rng: np.random.Generator) -> PointCloud:
    """Points of a thin skin below the surface of a shape, moved onto it."""
    places = rng.uniform(-_HALF, _HALF, (30 * _POINTS, 3))
    depth = shape(places)
    skin = places[(depth < 0) & (depth > -_SKIN)]
    normals = shape.gradient(skin)
    return PointCloud(skin - shape(skin)[:, None] * normals, normals)


def _off_near_edges(mesh: Mesh) -> float:
    """Mean distance, by area, of the centres of triangles near the edges of the block to its planes."""
    gaps = np.sort(_HALF - np.abs(mesh.vertices[mesh.faces].mean(axis=1)), axis=1)
    near = gaps[:, 1] < _NEAR
    return float(np.average(np.abs(gaps[near, 0]), weights=mesh.face_areas[near]))


def _panels(folder: Path, part: PointCloud, sharp: Mesh, rounded: Mesh) -> Picture:
    camera = fit(np.stack([-_HALF, _HALF]), _DIRECTION, size=_SIZE)
    picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
    front = part[((camera.position - part.points) * part.normals).sum(axis=1) > 0]
    images = [rendering.render_points(front.points, picture, normals=front.normals, colors=PALETTE[1])]
    images += [
        rendering.render_mesh(mesh.vertices, mesh.faces, picture, normals=mesh.normals, colors=PALETTE[0])
        for mesh in (sharp, rounded)
    ]
    figure = new_figure(9.6, 3.0)
    for ax, title, image in zip(figure.subplots(1, 3), ("points", "default", "sharp=False"), images, strict=True):
        ax.imshow(image, interpolation="lanczos")
        ax.set_title(title)
        ax.set_axis_off()
    alternative = "Points of a block with a hole, its mesh with sharp edges, and with rounded ones"
    return Picture(save(figure, folder, "sharp-edges"), alternative, "The same surface, with and without its edges.")
