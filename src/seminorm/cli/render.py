"""``seminorm render``: pictures of a mesh, a surface or points."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .batches import add_each, jobs_of, run_jobs
from .clouds import check_units, valid_points
from .options import (
    COLORS,
    TRANSPARENT,
    add_input,
    add_output,
    background,
    color,
    count,
    numbers,
    picture_size,
    samples,
    vector,
)
from .parsing import Parser
from .paths import (
    FACE_SUFFIXES,
    POINT_SUFFIXES,
    check_different,
    check_input,
    check_one,
    check_output,
    holds_motion,
    holds_surface,
)
from .reporting import listed, shown
from .times import times_wanted

HELP = "draw a mesh, a surface or points"


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "SHAPE -o FILE [option ...]",
        "seminorm render mesh.ply -o mesh.png --size 1200x900 --direction -1,1,-0.5",
        "seminorm render scan.ply -o scan.png --color silver --background transparent",
        "seminorm render surface.npz -o turn.png --turntable 36",
        "seminorm render moving.npz -o film.png --steps 25",
        "seminorm render --each *.ply -o 'pictures/{name}.png'",
        "seminorm reconstruct scan.ply -o - | seminorm render - -o mesh.png",
    )
    shape_help = "a mesh, points, or a surface written by seminorm reconstruct as .npz (drawn by ray tracing)"
    add_input(parser, "SHAPE", shape_help, POINT_SUFFIXES)
    add_output(parser, "FILE", "file to write: .png", (".png",))
    add_each(parser, "one picture")
    add = parser.add_argument
    add(
        "--size",
        type=picture_size,
        default=(800, 600),
        metavar="WxH",
        help="pixels of the picture (default: 800x600)",
    )
    add("--direction", type=vector, metavar="X,Y,Z", help="where the camera looks")
    add("--up", type=vector, metavar="X,Y,Z", help="what is up in the picture (default: 0,0,1)")
    add("--orthographic", action="store_true", help="parallel rays, instead of perspective")
    color_help = f"R,G,B, #rrggbb or {listed(list(COLORS))} (default: that of the file)"
    add("--color", type=color, metavar="COLOR", help=color_help)
    add("--background", type=background, metavar="COLOR", help=f"the same, or {TRANSPARENT} (default: a pale sky)")
    add("--samples", type=samples, default=2, metavar="N", help="N x N per pixel, for smooth edges (default: 2)")
    add("--turntable", type=count, metavar="N", help="N pictures around the up direction: FILE_000.png, ...")
    add("--at", type=numbers, metavar="T,...", help="of a moving surface: when (default: at its first frame)")
    steps_help = "of a moving surface: N pictures, evenly from its first frame to its last: FILE_000.png, ..."
    add("--steps", type=count, metavar="N", help=steps_help)
    add("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Draw one file, or each."""
    if not arguments.each:
        check_one(arguments.inputs, "--each draws each")
    jobs = jobs_of(arguments)
    for job in jobs:
        check_output(job.output, (".png",))
    check_different(arguments.inputs, [("--output", job.output) for job in jobs])
    return run_jobs(jobs, _draw)[1]


def _draw(job: argparse.Namespace) -> None:
    """Read a shape, and draw it from one direction or from several."""
    path = job.inputs[0]
    check_input(path, POINT_SUFFIXES)
    from ..files.png import write_png

    if holds_surface(path) and holds_motion(path):
        _draw_motion(job)
        return
    if job.at is not None or job.steps is not None:
        option = "--at" if job.at is not None else "--steps"
        raise ValueError(f"{path} does not move: leave {option} out.")
    bounds, draw = _drawing(job)
    check_units(bounds, str(job.inputs[0]))
    picture, cameras = _picture(job), _cameras(job, bounds)
    for path, camera in zip(_picture_paths(job, job.turntable), cameras, strict=True):
        write_png(path, draw(replace(picture, camera=camera)))
        print(f"{shown(path)}: {' x '.join(map(str, job.size))} pixels")


def _draw_motion(job: argparse.Namespace) -> None:
    """Draw a moving surface at one time or several, seen by the same camera, or at one time from all around."""
    from ..clouds.cloud import bounds_of
    from ..files.png import write_png
    from ..rendering.rasterizing import render_mesh
    from ..surfaces.moving import MovingSurface

    moving = MovingSurface.load(job.inputs[0])
    moments = times_wanted(job, moving.times)
    if job.at is None and job.steps is None:
        moments = moments[:1]
    if job.turntable is not None and len(moments) > 1:
        raise ValueError("--turntable turns a surface at one time, and there are several: give one time with --at.")
    verbose = not job.quiet and sys.stderr.isatty()
    picture, cameras = _picture(job), _cameras(job, bounds_of(moving.points))
    paths = iter(_picture_paths(job, len(moments) if len(moments) > 1 else job.turntable))
    for time in moments:
        mesh = moving.at(time).mesh()
        colors = mesh.attributes.get("colors") if job.color is None else job.color
        for camera in cameras:
            path, view = next(paths), replace(picture, camera=camera)
            write_png(
                path, render_mesh(mesh.vertices, mesh.faces, view, colors=colors, normals=mesh.normals, verbose=verbose)
            )
            print(f"{shown(path)}: time {time:g}, {' x '.join(map(str, job.size))} pixels")


def _drawing(arguments: argparse.Namespace) -> tuple[Any, Callable]:
    """Bounds of what a file holds, and a function that draws it as a picture is described."""
    from functools import partial

    from ..clouds.cloud import bounds_of
    from ..rendering.rasterizing import render_mesh, render_points
    from ..rendering.raytracing import render
    from ..shapes.mesh import Mesh
    from ..surfaces.surface import Surface

    verbose = not arguments.quiet and sys.stderr.isatty()
    if holds_surface(arguments.inputs[0]):
        surface = Surface.load(arguments.inputs[0])
        colors = arguments.color
        if colors is None and "colors" in surface.attached:
            colors = partial(surface.attribute, "colors")
        return bounds_of(surface.points), partial(render, surface, colors=colors, verbose=verbose)
    shape = _read_shape(arguments.inputs[0])
    if isinstance(shape, Mesh):
        colors = shape.attributes.get("colors") if arguments.color is None else arguments.color
        mesh = shape.vertices, shape.faces
        return shape.bounds, partial(render_mesh, *mesh, colors=colors, normals=shape.normals, verbose=verbose)
    cloud = valid_points(shape, str(arguments.inputs[0]))[0]
    colors = cloud.colors if arguments.color is None else arguments.color
    return cloud.bounds, partial(render_points, cloud.points, colors=colors, normals=cloud.normals, verbose=verbose)


def _read_shape(path: Path):
    """The mesh of a file with faces, the points of another one."""
    from ..files import open_points, read_mesh, read_points

    with_faces = path.suffix.lower() in FACE_SUFFIXES and open_points(path).n_faces
    return read_mesh(path) if with_faces else read_points(path)


def _picture(arguments: argparse.Namespace):
    """Everything but the camera."""
    from ..rendering.picture import Picture

    if arguments.background is None:
        return Picture(size=arguments.size, samples=arguments.samples)
    behind = None if arguments.background == TRANSPARENT else arguments.background
    return Picture(size=arguments.size, samples=arguments.samples, background=behind)


def _cameras(arguments: argparse.Namespace, bounds) -> list:
    """One camera, or those of a turntable: around the up direction, all equally far away."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    from ..rendering.cameras import DEFAULT_DIRECTION, fit

    direction = DEFAULT_DIRECTION if arguments.direction is None else arguments.direction
    kind = "orthographic" if arguments.orthographic else "perspective"
    if arguments.turntable is None:
        return [fit(bounds, direction, kind, up=arguments.up, size=arguments.size)]
    axis = np.array(arguments.up or (0.0, 0.0, 1.0)) / np.linalg.norm(arguments.up or 1.0)
    angles = np.arange(arguments.turntable) * (2 * np.pi / arguments.turntable)
    turned = Rotation.from_rotvec(angles[:, None] * axis).apply(direction)
    cameras = [fit(bounds, forward, kind, up=axis, size=arguments.size) for forward in turned]
    return _equally_far(cameras, np.mean(bounds, axis=0))


def _equally_far(cameras: list, center) -> list:
    """The cameras with the view of the widest one."""
    import numpy as np

    from ..rendering.cameras import Orthographic

    flat = [camera for camera in cameras if isinstance(camera, Orthographic)]
    if flat:
        return [replace(camera, span=max(other.span for other in flat)) for camera in flat]
    away = max(np.linalg.norm(camera.position - center) for camera in cameras)
    return [replace(camera, position=center - away * camera.direction) for camera in cameras]


def _picture_paths(arguments: argparse.Namespace, number: int | None) -> list[Path]:
    path = arguments.output
    if number is None:
        return [path]
    digits = max(3, len(str(number - 1)))
    return [path.with_name(f"{path.stem}_{k:0{digits}}{path.suffix}") for k in range(number)]
