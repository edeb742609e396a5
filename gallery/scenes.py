"""Scenes to turn, each with a still picture of what it shows at first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from seminorm import rendering
from seminorm.clouds import PointCloud
from seminorm.files import write_page, write_png
from seminorm.rendering.cameras import DEFAULT_DIRECTION, fit
from seminorm.rendering.shading import PALETTE
from seminorm.shapes import Mesh

from .page import Viewer

_SIZE = 960, 560
_CLOSER = 0.68  # what the still picture shows, of the box around all


def scene(
    folder: Path,
    name: str,
    items: Mapping[str, Mesh | PointCloud],
    title: str,
    caption: str,
    direction: ArrayLike | None = None,
    up: ArrayLike | None = None,
    times: ArrayLike | None = None,
) -> Viewer:
    """Write the scene, which starts with the first item, and its still picture, which shows the last mesh."""
    page = write_page(folder / f"{name}-scene.html", items, title=title, direction=direction, up=up, times=times)
    mesh = [item for item in items.values() if isinstance(item, Mesh)][-1]
    center = mesh.bounds.mean(axis=0)
    box = center + _CLOSER * (mesh.bounds - center)
    camera = fit(box, DEFAULT_DIRECTION if direction is None else direction, up=up, size=_SIZE)
    picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
    colors = mesh.attributes.get("colors", PALETTE[0])
    image = rendering.render_mesh(mesh.vertices, mesh.faces, picture, normals=mesh.normals, colors=colors)
    still = write_png(folder / f"{name}-scene.png", image)
    return Viewer(page.name, title, caption, still.name)
