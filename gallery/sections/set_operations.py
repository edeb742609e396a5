"""Surfaces are functions, so shapes can be cut from them, joined and rounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Surface, reconstruct
from seminorm.shapes import Capsule, Implicit, Sphere, blend

from ..page import Code, Paragraph, Section
from ..scenes import scene


def drill(surface: Surface) -> Implicit:
    hole = Capsule([-2, 0, 0], [2, 0, 0], 0.35)
    knob = Sphere([0, 0, 1.05], 0.4)
    return blend(surface - hole, knob, 0.15)  # minus, and a rounded union


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((2500, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    bumpy = normals * (1 + 0.06 * np.sin(6 * normals[:, :1]) * np.cos(5 * normals[:, 1:2]))
    surface = reconstruct(bumpy + 0.005 * rng.standard_normal(normals.shape))
    part = drill(surface)
    intro = (
        "A reconstructed surface is an implicit shape like a ball or a box: negative inside, a distance near the "
        "surface. `|`, `&`, `-` and `~` combine shapes, `blend` rounds the seam, and the result can be meshed, "
        "ray traced, or asked where it is."
    )
    items = {"part": part.mesh(0.04), "scan": surface.mesh()}
    items = {"scan": items["scan"], "part": items["part"]}
    caption = "A lump reconstructed from points alone, then with a hole drilled through it and a knob on top."
    turn = scene(folder, "set-operations", items, "A lump with a drilled hole and a knob", caption)
    return Section("Cut, join, round", [Paragraph(intro), Code.of(drill), turn])
