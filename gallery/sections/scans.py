"""Scans of real things, where the development data are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.spatial import cKDTree

from seminorm import reconstruct, rendering
from seminorm.clouds import PointCloud, drop_invalid
from seminorm.files import write_page
from seminorm.rendering.cameras import DEFAULT_DIRECTION, fit
from seminorm.rendering.shading import PALETTE
from seminorm.shapes import Mesh

from ..drawing import new_figure, save
from ..page import Paragraph, Picture, Section, Table, Viewer, number

_NEIGHBORS = 14
_SIZE = 560, 480
_CLOSER = 0.8  # what a picture shows, of the box around the data
_VIEWS = {  # direction in which the camera looks, and what is up
    "bunny": ((0.25, -0.15, -1.0), (0.0, 1.0, 0.0)),
    "lion": (DEFAULT_DIRECTION, (0.0, 0.0, 1.0)),
    "range map, 0 degrees": ((0.1, -0.1, -1.0), (0.0, 1.0, 0.0)),
    "range map, 180 degrees": ((0.1, -0.1, -1.0), (0.0, 1.0, 0.0)),
}


def section(folder: Path) -> Section | None:
    """The section, or nothing if the environment variable SEMINORM_DATA names no folder with the scans."""
    data = os.environ.get("SEMINORM_DATA")
    points = Path(data or "") / "surfaces" / "points"
    if not data or not points.is_dir():
        return None
    scans = {
        "bunny": _bunny(points / "bunny_range_scans_registered.npz"),
        "lion": _oriented(points / "lion_takanawa_scan.npz"),
        "range map, 0 degrees": _oriented(points / "laurana_rangemap_lato000.npz"),
        "range map, 180 degrees": _oriented(points / "laurana_rangemap_lato180.npz"),
    }
    rows, images, bunny = [], [], None
    for name, scan in scans.items():
        begin = perf_counter()
        surface = reconstruct(scan)
        mesh = surface.mesh()
        seconds = perf_counter() - begin
        rows.append(_row(name, surface, mesh, seconds))
        images += [_picture_of_points(scan, name), _picture_of_mesh(mesh, scan, name)]
        bunny = bunny or mesh
    intro = (
        "Real scans, reconstructed with default settings. The bunny is ten registered range scans, each with normals "
        "estimated from nearest neighbours and turned to its scanner; the lion is a walk-around scan with plants, some "
        "of whose leaves are components of their own; the range maps are single views of a statue. Every mesh "
        "is closed: where the data end it continues to the edge of their box and is capped there; with "
        '`mesh(boundary="open")` it would end with the data.'
    )
    header = ["", "points", "depth", "smoothness", "closed", "components", "points off by (median)", "seconds"]
    caption = (
        "Points without a normal are left out. Distances from the points to the surface are in 1/1000 of the "
        "longest side. (Seconds of a single run here, with the mesh.)"
    )
    viewer = Viewer(
        write_page(folder / "scans-viewer.html", {"points": scans["bunny"], "mesh": bunny}, title="Bunny").name,
        "The bunny: its scans and their reconstruction",
        "Drag to turn.",
    )
    return Section("Real scans", [Paragraph(intro), _panels(folder, images), Table(header, rows, caption), viewer])


def _oriented(path: Path) -> PointCloud:
    with np.load(path) as content:
        return drop_invalid(PointCloud(content["points"].astype(float), content["normals"].astype(float)))[0]


def _bunny(path: Path) -> PointCloud:
    """Range scans in one frame; all normals of one scan point to the side its scanner was on."""
    with np.load(path) as content:
        points, scan = content["points"].astype(float), content["scan"]
    normals = np.empty_like(points)
    center = points.mean(axis=0)
    for number_of_scan in np.unique(scan):
        own = scan == number_of_scan
        lines = _plane_normals(points[own])
        view = np.linalg.eigh(lines.T @ lines)[1][:, -1]
        view *= np.sign(view @ (points[own].mean(axis=0) - center))
        lines *= np.where(lines @ view < 0, -1.0, 1.0)[:, None]
        view = lines.mean(axis=0)
        normals[own] = lines * np.where(lines @ view < 0, -1.0, 1.0)[:, None]
    return PointCloud(points, normals)


def _plane_normals(points: np.ndarray) -> np.ndarray:
    """Unit normals of the planes through nearest neighbours, of either sign."""
    near = points[cKDTree(points).query(points, k=_NEIGHBORS)[1]]
    near -= near.mean(axis=1, keepdims=True)
    return np.linalg.eigh(np.einsum("nki,nkj->nij", near, near))[1][:, :, 0]


def _row(name: str, surface, mesh: Mesh, seconds: float) -> list[str]:
    off = np.abs(surface.distance(surface.points[:: max(len(surface.points) // 20_000, 1)]))
    return [
        name,
        str(len(surface.points)),
        str(surface.details["depth"]),
        number(surface.details["smoothness"]),
        "yes" if mesh.is_watertight else "no",
        str(mesh.components()[1]),
        number(1000 * np.median(off) / np.ptp(surface.points, axis=0).max(), 2),
        number(seconds, 2),
    ]


def _picture_of_points(scan: PointCloud, name: str) -> np.ndarray:
    camera = _camera(scan, name)
    front = scan[((camera.position - scan.points) * scan.normals).sum(axis=1) > 0]
    picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
    return rendering.render_points(front.points, picture, normals=front.normals, colors=PALETTE[1])


def _picture_of_mesh(mesh: Mesh, scan: PointCloud, name: str) -> np.ndarray:
    picture = rendering.Picture(_SIZE, _camera(scan, name), background=(1.0, 1.0, 1.0))
    return rendering.render_mesh(mesh.vertices, mesh.faces, picture, normals=mesh.normals, colors=PALETTE[0])


def _camera(scan: PointCloud, name: str):
    direction, up = _VIEWS[name]
    corners = np.stack([scan.points.min(axis=0), scan.points.max(axis=0)])
    center = corners.mean(axis=0)
    return fit(center + _CLOSER * (corners - center), direction, up=up, size=_SIZE)


def _panels(folder: Path, images: list[np.ndarray]) -> Picture:
    figure = new_figure(9.6, 4.6)
    for place, (name, ax) in enumerate(zip(_VIEWS, figure.subplots(2, len(_VIEWS)).T, strict=True)):
        for one, image in zip(ax, images[2 * place : 2 * place + 2], strict=True):
            one.imshow(image, interpolation="lanczos")
            one.set_axis_off()
        ax[0].set_title(name)
    caption = "Above: the points that face the camera. Below: the closed surface."
    return Picture(save(figure, folder, "scans"), "Points of four scans, and their reconstructions", caption)
