"""A ball with a hole in its scan: what fills it, and how sure the surface is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import reconstruct
from seminorm._base.extras import require
from seminorm.shapes import Mesh

from ..page import Code, Paragraph, Section, Table, number
from ..scenes import scene


def fill(points, normals):
    return reconstruct(points, normals).mesh(attributes="uncertainty")


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((3000, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals[normals @ [0.35, -0.75, 0.55] < 0.8]
    points = normals + 0.01 * rng.standard_normal(normals.shape)
    mesh = fill(points, normals)
    deviation = mesh.attributes["uncertainty"]
    ramp = require("matplotlib", "plot").colormaps["viridis"]
    colors = ramp(np.clip(deviation / np.quantile(deviation, 0.99), 0, 1))[:, :3]
    off = np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1)
    hole = mesh.vertices @ [0.35, -0.75, 0.55] > 0.8
    rows = [
        [name, number(off[where].mean(), 2), number(deviation[where].mean(), 2)]
        for name, where in (("among the points", ~hole), ("in the hole", hole))
    ]
    intro = (
        "A cap of the ball was not scanned. The smoothest function continues the surface across the hole, and its "
        "posterior says how far off it may be there: a standard deviation at every vertex."
    )
    ratio = deviation[hole].mean() / deviation[~hole].mean()
    caption = (
        f"From blue to yellow, small to large deviations. In the hole they are {number(ratio, 2)} times as large as "
        "among the points, which have noise of 0.01."
    )
    turn = scene(
        *(folder, "holes", {"deviation": Mesh(mesh.vertices, mesh.faces, mesh.normals, {"colors": colors})}),
        *("A ball, coloured by the standard deviation of its surface, large where the scan had a hole", caption),
    )
    table = Table(["", "distance from the ball", "standard deviation"], rows, "Means over the vertices.")
    return Section("A hole, and how sure", [Paragraph(intro), Code.of(fill), turn, table])
