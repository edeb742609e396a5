"""From a LAS file to a mesh: read, reconstruct, save; or one line in the shell."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from seminorm import Mesh, PointCloud, read_points, reconstruct
from seminorm._base.extras import require

from ..page import Code, Paragraph, Section
from ..scenes import scene


def mesh_of(file) -> Mesh:
    cloud = read_points(file)  # .las, .laz, .ply, .e57, ...; coordinates keep their precision
    above = cloud.points.mean(axis=0) + [0, 0, 1000]  # where the scanner flew
    mesh = reconstruct(cloud, sensor=above).mesh()  # normals are estimated
    mesh.save(Path(file).with_suffix(".ply"))
    return mesh


def _survey(rng: np.random.Generator) -> np.ndarray:
    """A quarry in metres of a national grid."""
    X = rng.uniform(0, 60, (6000, 2))
    edge = np.hypot(X[:, 0] - 32, X[:, 1] - 28) + 2 * np.sin(X[:, 0] / 4)
    height = 4 * np.tanh((edge - 15) / 3) + 0.8 * np.sin(X[:, 0] / 7) * np.cos(X[:, 1] / 9)
    return np.column_stack([X, height + 0.05 * rng.standard_normal(6000)]) + [431_000, 5_412_000, 240]


def _written(points: np.ndarray, file: Path) -> Path:
    laspy = require("laspy", "las")
    las = laspy.create(point_format=0, file_version="1.2")
    las.header.offsets, las.header.scales = points.min(axis=0), [0.001] * 3
    las.x, las.y, las.z = points.T
    las.write(file)
    return file


def section(folder: Path) -> Section:
    points = _survey(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as name:
        mesh = mesh_of(_written(points, Path(name) / "quarry.las"))
    intro = (
        "6000 points of a quarry without normals. Only where the scanner flew is said by hand. "
        "In the shell: `seminorm reconstruct quarry.las -o quarry.ply`, or `-o quarry.html` for a page like this "
        "one. LAS and LAZ need `pip install 'seminorm[las]'`."
    )
    caption = f"{len(mesh.faces)} triangles; the mesh ends where the survey ends."
    local = points.mean(axis=0)
    items = {
        "points": PointCloud(points - local),
        "mesh": Mesh(mesh.vertices - local, mesh.faces, mesh.normals),
    }
    turn = scene(folder, "las-to-mesh", items, "A quarry as a mesh", caption, direction=(0.5, 1.0, -0.8), up=(0, 0, 1))
    return Section("From a LAS file to a mesh", [Paragraph(intro), Code.of(mesh_of), turn])
