"""A noisy scan with parts missing, and the closed surface that is made of it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from seminorm import reconstruct, rendering
from seminorm._base.extras import require
from seminorm.clouds import PointCloud
from seminorm.plotting._style import ORANGE, VERMILION
from seminorm.rendering.cameras import Camera, Perspective, fit
from seminorm.rendering.rasterizing import rasterize
from seminorm.rendering.shading import PALETTE
from seminorm.shapes import Capsule, Implicit, Mesh, Sphere, Torus, blend
from seminorm.surfaces import Surface

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, Viewer, number
from ..scenes import scene

_POINTS, _NOISE, _TILT = 15_000, 0.012, 0.2
_SCANNERS = ([3.2, -2.6, 1.1], [-3.4, -2.0, 0.9], [0.3, 3.4, 2.6])
_SCANNER_PIXELS = 260, 260
_FIELD_OF_VIEW = 52.0
_FROM_ABOVE, _FROM_BELOW = (-0.35, 0.85, -0.38), (0.3, -0.6, 0.75)
_SIZE = 600, 430
_CLOSER = 0.66  # what a picture shows, of the box around the shape
_GREY = (0.74, 0.76, 0.78)


def teapot() -> Implicit:
    """Balls, capsules and rings with rounded seams."""
    pot = blend(Sphere([0, 0, 0], 1.0), Torus([0, 0, 0.8], [0, 0, 1], major=0.56, minor=0.05), 0.08)
    pot = blend(pot, Sphere([0, 0, 1.14], 0.15), 0.2)
    spout = blend(Capsule([0.8, 0, -0.3], [1.25, 0, -0.02], 0.21), Capsule([1.25, 0, -0.02], [1.5, 0, 0.5], 0.14), 0.15)
    spout = blend(spout, Capsule([1.5, 0, 0.5], [1.72, 0, 0.68], 0.115), 0.1)
    handle = Torus([-1.0, 0, 0.1], [0, 1, 0], major=0.52, minor=0.09)
    return blend(blend(pot, spout, 0.25), handle, 0.15)


def _scan(shape: Implicit, mesh: Mesh, rng: np.random.Generator) -> PointCloud:
    """What scanners at a few places see of a shape, with noise in the points and in the normals."""
    seen = np.concatenate([_seen_from(place, mesh) for place in _SCANNERS])
    points = seen[rng.choice(len(seen), _POINTS, replace=False)]
    normals = shape.gradient(points) + _TILT * rng.standard_normal(points.shape)
    return PointCloud(
        points + _NOISE * rng.standard_normal(points.shape), normals / np.linalg.norm(normals, axis=1, keepdims=True)
    )


def _seen_from(place, mesh: Mesh) -> np.ndarray:
    """Where the rays of a scanner meet a mesh."""
    scanner = Perspective.looking_at([0, 0, 0], place, field_of_view=_FIELD_OF_VIEW)
    face, depth = rasterize(mesh.vertices, mesh.faces, scanner, _SCANNER_PIXELS)
    origins, directions = scanner.rays(*_SCANNER_PIXELS)
    hit = face.ravel() >= 0
    steps = depth.ravel()[hit] / (directions[hit] @ scanner.direction)
    return origins[hit] + steps[:, None] * directions[hit]


def close(points, normals):
    surface = reconstruct(points, normals)  # smoothness, tolerance and depth are chosen from the data
    return surface, surface.mesh(attributes=("distance", "filled"))


def section(folder: Path) -> Section:
    shape = teapot()
    truth = shape.mesh(0.03)
    scan = _scan(shape, truth, np.random.default_rng(0))
    begin = perf_counter()
    surface, mesh = close(scan.points, scan.normals)
    seconds = perf_counter() - begin
    colors = _scale(mesh.attributes["distance"]).to_rgba(mesh.attributes["distance"])[:, :3]
    colored = Mesh(mesh.vertices, mesh.faces, mesh.normals, {"colors": colors})
    intro = (
        f"{len(scan)} points with normals, as {len(_SCANNERS)} scanners around a teapot would give them: noise of "
        f"standard deviation {_NOISE:g} in every coordinate (the pot is 2 wide) and of {_TILT:g} in every component "
        "of the normals, uneven density, and nothing where no scanner could look: underneath, and behind spout and "
        "handle. `reconstruct` finds a smooth function whose gradient agrees with the normals and which is small at "
        "the points; the surface is where it vanishes."
    )
    return Section(
        "Surfaces from points",
        [
            Paragraph(intro),
            Code.of(close),
            _panels(folder, scan, mesh, colored, truth),
            _scene(folder, {"scan": scan, "reconstruction": mesh, "distance to the points": colored, "truth": truth}),
            _numbers(shape, scan, surface, mesh, seconds),
        ],
    )


def _scale(distance: np.ndarray):
    """Colours of distances, from grey over orange to red."""
    colors = require("matplotlib.colors", "plot")
    ramp = colors.LinearSegmentedColormap.from_list("distance", [_GREY, ORANGE, VERMILION])
    return require("matplotlib.cm", "plot").ScalarMappable(colors.Normalize(0.0, float(distance.max())), ramp)


def _panels(folder: Path, scan: PointCloud, mesh: Mesh, colored: Mesh, truth: Mesh) -> Picture:
    titles = [f"scan: {len(scan)} points", "reconstruction", "truth"]
    titles += ["scan from below", "reconstruction from below", "distance to the points"]
    images = []
    for direction, other, color in (
        (_FROM_ABOVE, truth, _GREY),
        (_FROM_BELOW, colored, colored.attributes["colors"]),
    ):
        camera = _camera(truth, direction)
        picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
        front = scan[((camera.position - scan.points) * scan.normals).sum(axis=1) > 0]
        images.append(rendering.render_points(front.points, picture, normals=front.normals, colors=PALETTE[1]))
        images += [
            rendering.render_mesh(shown.vertices, shown.faces, picture, normals=shown.normals, colors=paint)
            for shown, paint in ((mesh, PALETTE[0]), (other, color))
        ]
    figure = new_figure(9.6, 5.2)
    axes = figure.subplots(2, 3)
    for ax, title, image in zip(axes.flat, titles, images, strict=True):
        ax.imshow(image, interpolation="lanczos")
        ax.set_title(title)
        ax.set_axis_off()
    figure.colorbar(
        _scale(mesh.attributes["distance"]), ax=axes[1, 2], orientation="horizontal", shrink=0.6, pad=0.02, aspect=30
    )
    caption = (
        "Above: the pot as the scanners saw it. Below: from underneath, where they could not look (points that face "
        "away are not drawn). The mesh is closed; where nothing was measured it continues as smoothly as possible, and "
        "the distance to the nearest point shows where that is."
    )
    return Picture(
        save(figure, folder, "surfaces"),
        "Teapots from above and from below: points of a scan, the surface made of them, the truth, and where it is far "
        "from the points",
        caption,
    )


def _camera(mesh: Mesh, direction) -> Camera:
    center = mesh.bounds.mean(axis=0)
    return fit(center + _CLOSER * (mesh.bounds - center), direction, size=_SIZE)


def _scene(folder: Path, items: dict[str, Mesh | PointCloud]) -> Viewer:
    caption = (
        'Drag to turn. `files.write_page("teapot.html", {"scan": cloud, "mesh": mesh})` makes such a page, and '
        '`mesh.save("teapot.html")` one for a single mesh.'
    )
    return scene(
        folder, "surfaces", items, "The scan of a teapot, its reconstruction and the truth", caption, _FROM_ABOVE
    )


def _numbers(shape: Implicit, scan: PointCloud, surface: Surface, mesh: Mesh, seconds: float) -> Table:
    details, filled = surface.details, mesh.attributes["filled"]
    error = np.abs(shape.distance(mesh.vertices))
    rows = [
        ["points", str(details["points"])],
        ["smoothness, chosen", number(details["smoothness"])],
        ["tolerance, chosen", number(details["tolerance"])],
        ["depth, chosen", str(details["depth"])],
        ["seconds, with the mesh", number(seconds, 2)],
        ["mean distance of the points to the truth", number(np.abs(shape.distance(scan.points)).mean(), 2)],
        ["mean distance of the surface to the truth, near points", number(error[~filled].mean(), 2)],
        ["the same where it was filled in", number(error[filled].mean(), 2)],
        ["share filled in", f"{100 * filled.mean():.1f} %"],
    ]
    caption = (
        "What was chosen, and the result; lengths are in units of the radius of the pot. Parts count as filled in if "
        "they are farther from the data than three times the distance of neighbouring points. (Seconds of a single run "
        "here, on all cores.)"
    )
    return Table(["", ""], rows, caption)
