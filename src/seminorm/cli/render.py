"""``seminorm render``: pictures of a mesh, a surface or points."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import options
from .paths import FACE_SUFFIXES, POINT_SUFFIXES, check_input, check_output, holds_surface
from .reporting import listed, shown_warnings, warn

HELP = "draw a mesh, a surface or points"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.epilog = "Example: seminorm render mesh.ply -o mesh.png --size 1200x900 --direction -1,1,-0.5 --color silver"
    parser.add_argument(
        "shape",
        type=Path,
        metavar="FILE",
        help="a mesh, points, or a surface written by seminorm reconstruct as .npz (drawn by ray tracing)",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PICTURE", help="file to write: .png")
    parser.add_argument("--size", type=options.picture_size, default=(800, 600), metavar="WxH", help="default: 800x600")
    parser.add_argument("--direction", type=options.vector, metavar="X,Y,Z", help="where the camera looks")
    parser.add_argument("--up", type=options.vector, metavar="X,Y,Z", help="what is up in the picture (default: 0,0,1)")
    parser.add_argument("--orthographic", action="store_true", help="parallel rays, instead of perspective")
    parser.add_argument(
        "--color",
        type=options.color,
        metavar="COLOR",
        help=f"R,G,B, #rrggbb or {listed(list(options.COLORS))} (default: that of the file)",
    )
    parser.add_argument(
        "--background",
        type=options.background,
        metavar="COLOR",
        help=f"the same, or {options.TRANSPARENT} (default: a pale sky)",
    )
    parser.add_argument(
        "--samples",
        type=options.samples,
        default=2,
        metavar="N",
        help="N x N in a pixel, for smooth edges (default: 2)",
    )
    parser.add_argument(
        "--turntable", type=options.count, metavar="N", help="N pictures around the up direction: PICTURE_000.png, ..."
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Read a shape, and draw it from one direction or from several."""
    check_input(arguments.shape, POINT_SUFFIXES)
    check_output(arguments.output, (".png",))
    from ..surfaces.png import write_png

    with shown_warnings():
        bounds, draw = _drawing(arguments)
        cameras = _cameras(arguments, bounds)
        for path, camera in zip(_picture_paths(arguments), cameras, strict=True):
            print(f"{write_png(path, draw(camera))}: {' x '.join(map(str, arguments.size))} pixels")
    return 0


def _drawing(arguments: argparse.Namespace):
    """Bounds of what a file holds, and a function that draws it as a camera sees it."""
    from functools import partial

    from ..surfaces.cloud import bounds_of
    from ..surfaces.mesh import Mesh
    from ..surfaces.rasterising import render_mesh, render_points
    from ..surfaces.raytracing import render
    from ..surfaces.shading import BACKGROUND
    from ..surfaces.surface import Surface

    background = BACKGROUND if arguments.background is None else arguments.background
    look = {
        "size": arguments.size,
        "samples": arguments.samples,
        "background": None if background == options.TRANSPARENT else background,
        "progress": not arguments.quiet and sys.stderr.isatty(),
    }
    if holds_surface(arguments.shape):
        surface = Surface.load(arguments.shape)
        colors = arguments.color
        if colors is None and "colors" in surface.attached:
            colors = partial(surface.attribute, "colors")
        return bounds_of(surface.points), lambda camera: render(surface, camera, colors=colors, **look)
    shape = _read_shape(arguments.shape)
    if isinstance(shape, Mesh):
        colors = shape.attributes.get("colors") if arguments.color is None else arguments.color
        look |= {"colors": colors, "normals": shape.normals}
        return shape.bounds, lambda camera: render_mesh(shape.vertices, shape.faces, camera, **look)
    cloud = _valid(shape, arguments.shape)
    look |= {"colors": cloud.colors if arguments.color is None else arguments.color, "normals": cloud.normals}
    return cloud.bounds, lambda camera: render_points(cloud.points, camera, **look)


def _read_shape(path: Path):
    """The mesh of a file with faces, the points of another one."""
    from ..surfaces.files import open_points, read_mesh, read_points

    with_faces = path.suffix.lower() in FACE_SUFFIXES and open_points(path).n_faces
    return read_mesh(path) if with_faces else read_points(path)


def _valid(cloud, path: Path):
    """Points that can be drawn."""
    from ..surfaces.preparation import drop_invalid

    valid, dropped = drop_invalid(cloud)
    if not len(valid):
        raise ValueError(f"{path}: all coordinates or normals of its {len(cloud)} points are NaN, infinite or zero.")
    if sum(dropped.values()):
        warn(f"left out {sum(dropped.values())} of {len(cloud)} points: NaN or infinity, or normals that are zero.")
    return valid


def _cameras(arguments: argparse.Namespace, bounds) -> list:
    """One camera, or those of a turntable: around the up direction, all equally far away."""
    from dataclasses import replace

    import numpy as np
    from scipy.spatial.transform import Rotation

    from ..surfaces.cameras import DEFAULT_DIRECTION, fit

    direction = DEFAULT_DIRECTION if arguments.direction is None else arguments.direction
    lens = {"kind": "orthographic" if arguments.orthographic else "perspective", "size": arguments.size}
    if arguments.turntable is None:
        return [fit(bounds, direction, up=arguments.up, **lens)]
    axis = np.array(arguments.up or (0.0, 0.0, 1.0)) / np.linalg.norm(arguments.up or 1.0)
    angles = np.arange(arguments.turntable) * (2 * np.pi / arguments.turntable)
    turned = Rotation.from_rotvec(angles[:, None] * axis).apply(direction)
    cameras = [fit(bounds, forward, up=axis, **lens) for forward in turned]
    if arguments.orthographic:
        span = max(camera.span for camera in cameras)
        return [replace(camera, span=span) for camera in cameras]
    centre = np.mean(bounds, axis=0)
    away = max(np.linalg.norm(camera.position - centre) for camera in cameras)
    return [replace(camera, position=centre - away * camera.direction) for camera in cameras]


def _picture_paths(arguments: argparse.Namespace) -> list[Path]:
    path, number = arguments.output, arguments.turntable
    if number is None:
        return [path]
    digits = max(3, len(str(number - 1)))
    return [path.with_name(f"{path.stem}_{k:0{digits}}{path.suffix}") for k in range(number)]
