"""``seminorm reconstruct``, ``render`` and ``info``: from points to surfaces, and to pictures of them.

What a user can get wrong is checked before anything slow is imported.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RECONSTRUCT_HELP = "fit a smooth surface to points with normals, and write it as a mesh"
RENDER_HELP = "draw a mesh, a surface or points"
INFO_HELP = "tell what files of points, meshes or surfaces hold"

POINT_SUFFIXES = (
    *(".ply", ".xyz", ".txt", ".asc", ".csv", ".xyzn", ".xyzrgb", ".pts", ".pwn"),
    *(".pcd", ".obj", ".stl", ".off", ".npz", ".npy", ".las", ".laz"),
)
MESH_SUFFIXES = (".ply", ".obj", ".stl", ".off", ".glb")
FUNCTION_SUFFIX = ".npz"
_FACE_SUFFIXES = (".ply", ".obj", ".stl", ".off")  # of files that are read, and may hold faces
_COLORLESS = (".stl",)
_DEEPEST = 14
_LARGEST_SIDE = 16384
_MOST_SAMPLES = 16
_COLORS = {
    "white": (1.0, 1.0, 1.0),
    "silver": (0.78, 0.79, 0.80),
    "grey": (0.55, 0.56, 0.58),
    "gray": (0.55, 0.56, 0.58),
    "black": (0.0, 0.0, 0.0),
    "red": (0.80, 0.25, 0.22),
    "orange": (0.93, 0.56, 0.25),
    "yellow": (0.93, 0.80, 0.33),
    "green": (0.42, 0.66, 0.38),
    "teal": (0.27, 0.60, 0.60),
    "blue": (0.30, 0.50, 0.78),
    "purple": (0.56, 0.44, 0.72),
    "pink": (0.90, 0.62, 0.68),
    "brown": (0.55, 0.40, 0.28),
}
_TRANSPARENT = "transparent"


# -- reconstruct -----------------------------------------------------------------------------------------------------


def add_reconstruct_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of ``seminorm reconstruct``."""
    parser.epilog = "Example: seminorm reconstruct scan.ply -o mesh.ply --trim 0.02 --color"
    parser.add_argument(
        "points",
        nargs="+",
        type=Path,
        metavar="POINTS",
        help=f"files of points with normals, taken together: {_listed(POINT_SUFFIXES)}",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"file to write: {_listed(MESH_SUFFIXES)} for a mesh, {FUNCTION_SUFFIX} for the function itself",
    )
    fit = parser.add_argument_group("surface (see the documentation of seminorm.surfaces.reconstruct)")
    width = fit.add_mutually_exclusive_group()
    width.add_argument("--depth", type=_depth, help="2**DEPTH cells along the longest side (default: from the points)")
    width.add_argument("--resolution", type=_length, metavar="R", help="width of the finest cells, instead of a depth")
    fit.add_argument("--smoothness", type=_length, metavar="S", help="length below which details go (default: chosen)")
    fit.add_argument(
        "--normal-weight",
        type=_length,
        metavar="W",
        help="distance to a point that weighs as much as a normal wrong by one radian (default: chosen)",
    )
    fit.add_argument("--order", type=int, choices=(2, 3), help="of the derivatives that measure roughness")
    fit.add_argument("--fast", action="store_true", help="order 2 and cells twice as wide, unless these are given")
    fit.add_argument("--confidence", action="store_true", help="count points by the lengths of their normals")
    mesh = parser.add_argument_group("mesh")
    mesh.add_argument("--mesh-resolution", type=_length, metavar="R", help="largest width of the cells it is cut into")
    mesh.add_argument("--open", action="store_true", help="end the surface where the points end, instead of closing it")
    ends = mesh.add_mutually_exclusive_group()
    ends.add_argument("--trim", type=_length, metavar="D", help="open, with nothing farther than D from all points")
    ends.add_argument(
        "--trim-quantile", type=_share, metavar="Q", help="open, without this share of it, where points are least dense"
    )
    mesh.add_argument("--color", action="store_true", help="give the surface the colours of the points")
    points = parser.add_argument_group("preparation, in this order")
    points.add_argument("--remove-duplicates", action="store_true", help="keep one of several equal points")
    points.add_argument("--remove-outliers", action="store_true", help="leave out points far from all others")
    points.add_argument("--thin", type=_length, metavar="SPACING", help="merge the points in cells of this width")
    parser.add_argument("--threads", type=_count, metavar="N", help="processors to use (default: all)")
    parser.add_argument("--memory", type=_bytes, metavar="SIZE", help="refuse to take more, for instance 500MB or 2GiB")
    parser.add_argument("--stats", action="store_true", help="print a table of times, memory and what was chosen")
    parser.add_argument("--stats-json", type=Path, metavar="FILE", help="write the same as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run_reconstruct(arguments: argparse.Namespace) -> int:
    """Read, fit, mesh, write, and say what was done."""
    _check_reconstruct(arguments)
    clock = _Clock()
    with _shown_warnings(), clock.stage("import"):
        import numba

        from .surfaces.reconstruction import reconstruct
    fit_options = _fit_options(arguments)
    progress = not arguments.quiet and sys.stderr.isatty()
    with _shown_warnings(), _threads(arguments.threads):
        threads = numba.get_num_threads()
        with clock.stage("read"):
            cloud, dropped = _read_clouds(arguments)
        if not arguments.quiet:
            _announce()
        with clock.stage("reconstruct"):
            surface = reconstruct(cloud, verbose=progress, **fit_options)
        clock.split("reconstruct", surface.details["seconds"])
        mesh = None
        if arguments.output.suffix.lower() != FUNCTION_SUFFIX:
            with clock.stage("mesh"):
                mesh = surface.mesh(verbose=progress, **_mesh_options(arguments))
            if not len(mesh.faces):
                raise ValueError("the mesh is empty: the function is nowhere zero near the points.")
        with clock.stage("write"):
            (surface if mesh is None else mesh).save(arguments.output)
    if arguments.quiet and not arguments.stats and arguments.stats_json is None:
        return 0
    with clock.stage("check"):
        stats = _stats(arguments, surface, mesh, dropped, threads)
    stats |= {"seconds": clock.seconds | {"total": clock.total}, "peak_memory": _peak_memory()}
    if arguments.stats_json is not None:
        from .serialization import whole_file

        with whole_file(arguments.stats_json) as temporary:
            temporary.write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
    if arguments.stats:
        print(_stats_table(stats))
    if not arguments.quiet:
        print(_summary(stats))
    return 0


def _check_reconstruct(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    for path in arguments.points:
        _check_input(path, POINT_SUFFIXES)
    output = arguments.output
    _check_output(output, (*MESH_SUFFIXES, FUNCTION_SUFFIX))
    outputs = [output]
    if arguments.stats_json is not None:
        _check_output(arguments.stats_json, (".json",))
        outputs.append(arguments.stats_json)
    for path in arguments.points:
        if path.resolve() in [output.resolve() for output in outputs]:
            raise ValueError(f"{path} is to be read and written: name another file for the output.")
    if output.suffix.lower() == FUNCTION_SUFFIX:
        for option in ("trim", "trim_quantile", "open", "mesh_resolution"):
            if getattr(arguments, option) not in (None, False):
                raise ValueError(
                    f"--{option.replace('_', '-')} shapes the mesh, and {output} is to hold the function: leave it "
                    "out, or write a mesh."
                )
    if arguments.color and output.suffix.lower() in _COLORLESS:
        kept = [suffix for suffix in MESH_SUFFIXES if suffix not in _COLORLESS]
        raise ValueError(f"--color: {output.suffix} files hold no colours, write {_listed(kept)}.")
    if arguments.confidence and arguments.thin is not None:
        raise ValueError("--thin gives all normals the same length, so --confidence finds none: leave out one of them.")


def _fit_options(arguments: argparse.Namespace) -> dict:
    options = {
        name: getattr(arguments, name)
        for name in ("depth", "resolution", "smoothness", "normal_weight", "order")
        if getattr(arguments, name) is not None
    }
    if arguments.confidence:
        options["confidence"] = "normals"
    if arguments.memory is not None:
        options["memory_limit"] = arguments.memory
    if arguments.fast:
        options["fast"] = True
    return options


def _mesh_options(arguments: argparse.Namespace) -> dict:
    """What the user wants of the mesh, in the words of ``Surface.mesh``."""
    options = {
        "resolution": arguments.mesh_resolution,
        "trim": arguments.trim,
        "trim_quantile": arguments.trim_quantile,
    }
    options = {name: value for name, value in options.items() if value is not None}
    if arguments.open or "trim" in options or "trim_quantile" in options:
        options["boundary"] = "open"
    return options


def _read_clouds(arguments: argparse.Namespace):
    """All points as one cloud with valid coordinates and normals, prepared as wished, and how many were invalid."""
    from .surfaces.cloud import PointCloud
    from .surfaces.files import read_points
    from .surfaces.preparation import drop_invalid, remove_duplicates, remove_outliers, thin

    clouds = []
    for path in arguments.points:
        cloud = read_points(path)
        if cloud.normals is None:
            raise ValueError(
                f"{path} has no normals, and a surface needs the outward normal of every point: compute them with "
                "MeshLab, CloudCompare or Open3D and save them with the points (as nx, ny, nz)."
            )
        if arguments.color and cloud.colors is None:
            raise ValueError(f"--color: {path} has no colours (red, green, blue).")
        clouds.append(PointCloud(cloud.points, cloud.normals, cloud.colors if arguments.color else None))
    cloud = _joined(clouds)
    clouds.clear()
    given = len(cloud)
    cloud, dropped = drop_invalid(cloud)
    if dropped["coordinates"]:
        _warn(f"left out {dropped['coordinates']} of {given} points: NaN or infinity in their coordinates.")
    if dropped["normals"]:
        _warn(f"left out {dropped['normals']} of {given} points: their normals are zero or not finite.")
    for wanted, choose, what in (
        (arguments.remove_duplicates, remove_duplicates, "duplicates"),
        (arguments.remove_outliers, remove_outliers, "outliers"),
    ):
        if wanted:
            rows = choose(cloud)
            dropped[what] = len(cloud) - len(rows)
            cloud = cloud[rows] if dropped[what] else cloud
    if arguments.thin is not None:
        before = len(cloud)
        cloud = thin(cloud, arguments.thin)
        dropped["thinned"] = before - len(cloud)
    return cloud, dropped


def _joined(clouds: list):
    import numpy as np

    from .surfaces.cloud import PointCloud

    if len(clouds) == 1:
        return clouds[0]
    colors = None if clouds[0].colors is None else np.concatenate([cloud.colors for cloud in clouds])
    return PointCloud(
        np.concatenate([cloud.points for cloud in clouds]), np.concatenate([cloud.normals for cloud in clouds]), colors
    )


def _announce() -> None:
    from ._compilation import announce_compilation
    from .fields import _local, _numba
    from .surfaces import _marching

    needed = (_numba.locate, _local.place, _local.evaluate, _local.sample, _marching.place_crossings)
    announce_compilation(needed, lambda message: print(message, file=sys.stderr, flush=True))


def _stats(arguments: argparse.Namespace, surface, mesh, dropped: dict, threads: int) -> dict:
    details = surface.details
    stats = {
        "inputs": [str(path) for path in arguments.points],
        "output": str(arguments.output),
        "points": len(surface.points),
        "dropped": dropped,
        **{name: details[name] for name in ("order", "depth", "smoothness", "normal_weight")},
        "resolution": surface.resolution,
        "coefficients": surface.field.n_coef,
    }
    if mesh is not None:
        stats |= {"vertices": len(mesh.vertices), "faces": len(mesh.faces), "watertight": mesh.is_watertight}
    return stats | {"threads": threads}


def _stats_table(stats: dict) -> str:
    rows = [(f"{stage}, seconds", f"{seconds:.2f}") for stage, seconds in stats["seconds"].items()]
    rows.append(("peak memory", _size(stats["peak_memory"])))
    for name, value in stats.items():
        if name not in ("seconds", "peak_memory", "inputs", "output", "dropped"):
            rows.append((name.replace("_", " "), _word(value)))
    rows += [(f"dropped, {reason}", str(count)) for reason, count in stats["dropped"].items() if count]
    return _table(rows)


def _summary(stats: dict) -> str:
    parts = [
        f"{stats['points']} points",
        f"depth {stats['depth']}",
        f"smoothness {stats['smoothness']:.3g}",
        f"normal weight {stats['normal_weight']:.3g}",
    ]
    if "faces" in stats:
        parts += [f"{stats['vertices']} vertices", f"{stats['faces']} faces"]
        parts.append("watertight" if stats["watertight"] else "not watertight")
    else:
        parts.append(f"{stats['coefficients']} coefficients")
    parts += [f"{stats['seconds']['total']:.1f} s", _size(stats["peak_memory"])]
    return f"{stats['output']}: {', '.join(parts)}"


# -- render ----------------------------------------------------------------------------------------------------------


def add_render_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of ``seminorm render``."""
    parser.epilog = "Example: seminorm render mesh.ply -o mesh.png --size 1200x900 --direction -1,1,-0.5 --color silver"
    parser.add_argument(
        "shape",
        type=Path,
        metavar="FILE",
        help="a mesh, points, or a surface written by seminorm reconstruct as .npz (drawn by ray tracing)",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PICTURE", help="file to write: .png")
    parser.add_argument("--size", type=_picture_size, default=(800, 600), metavar="WxH", help="default: 800x600")
    parser.add_argument("--direction", type=_vector, metavar="X,Y,Z", help="where the camera looks")
    parser.add_argument("--up", type=_vector, metavar="X,Y,Z", help="what is up in the picture (default: 0,0,1)")
    parser.add_argument("--orthographic", action="store_true", help="parallel rays, instead of perspective")
    parser.add_argument(
        "--color",
        type=_color,
        metavar="COLOR",
        help=f"R,G,B, #rrggbb or {_listed(list(_COLORS))} (default: that of the file)",
    )
    parser.add_argument(
        "--background", type=_background, metavar="COLOR", help=f"the same, or {_TRANSPARENT} (default: a pale sky)"
    )
    parser.add_argument(
        "--samples", type=_samples, default=2, metavar="N", help="N x N in a pixel, for smooth edges (default: 2)"
    )
    parser.add_argument(
        "--turntable", type=_count, metavar="N", help="N pictures around the up direction: PICTURE_000.png, ..."
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run_render(arguments: argparse.Namespace) -> int:
    """Read a shape, and draw it from one direction or from several."""
    _check_input(arguments.shape, POINT_SUFFIXES)
    _check_output(arguments.output, (".png",))
    from .surfaces.png import write_png

    with _shown_warnings():
        bounds, draw = _drawing(arguments)
        cameras = _cameras(arguments, bounds)
        for path, camera in zip(_picture_paths(arguments), cameras, strict=True):
            print(f"{write_png(path, draw(camera))}: {' x '.join(map(str, arguments.size))} pixels")
    return 0


def _drawing(arguments: argparse.Namespace):
    """Bounds of what a file holds, and a function that draws it as a camera sees it."""
    from functools import partial

    from .surfaces.cloud import bounds_of
    from .surfaces.mesh import Mesh
    from .surfaces.rasterising import render_mesh, render_points
    from .surfaces.raytracing import render
    from .surfaces.shading import BACKGROUND
    from .surfaces.surface import Surface

    background = BACKGROUND if arguments.background is None else arguments.background
    options = {
        "size": arguments.size,
        "samples": arguments.samples,
        "background": None if background == _TRANSPARENT else background,
        "progress": not arguments.quiet and sys.stderr.isatty(),
    }
    if _holds_surface(arguments.shape):
        surface = Surface.load(arguments.shape)
        colors = arguments.color
        if colors is None and "colors" in surface.attached:
            colors = partial(surface.attribute, "colors")
        return bounds_of(surface.points), lambda camera: render(surface, camera, colors=colors, **options)
    shape = _read_shape(arguments.shape)
    if isinstance(shape, Mesh):
        colors = shape.attributes.get("colors") if arguments.color is None else arguments.color
        options |= {"colors": colors, "normals": shape.normals}
        return shape.bounds, lambda camera: render_mesh(shape.vertices, shape.faces, camera, **options)
    cloud = _valid(shape, arguments.shape)
    options |= {"colors": cloud.colors if arguments.color is None else arguments.color, "normals": cloud.normals}
    return cloud.bounds, lambda camera: render_points(cloud.points, camera, **options)


def _read_shape(path: Path):
    """The mesh of a file with faces, the points of another one."""
    from .surfaces.files import open_points, read_mesh, read_points

    with_faces = path.suffix.lower() in _FACE_SUFFIXES and open_points(path).n_faces
    return read_mesh(path) if with_faces else read_points(path)


def _valid(cloud, path: Path):
    """Points that can be drawn."""
    from .surfaces.preparation import drop_invalid

    valid, dropped = drop_invalid(cloud)
    if not len(valid):
        raise ValueError(f"{path}: all coordinates or normals of its {len(cloud)} points are NaN, infinite or zero.")
    if sum(dropped.values()):
        _warn(f"left out {sum(dropped.values())} of {len(cloud)} points: NaN or infinity, or normals that are zero.")
    return valid


def _cameras(arguments: argparse.Namespace, bounds) -> list:
    """One camera, or those of a turntable: around the up direction, all equally far away."""
    from dataclasses import replace

    import numpy as np
    from scipy.spatial.transform import Rotation

    from .surfaces.cameras import DEFAULT_DIRECTION, fit

    direction = DEFAULT_DIRECTION if arguments.direction is None else arguments.direction
    options = {"kind": "orthographic" if arguments.orthographic else "perspective", "size": arguments.size}
    if arguments.turntable is None:
        return [fit(bounds, direction, up=arguments.up, **options)]
    axis = np.array(arguments.up or (0.0, 0.0, 1.0)) / np.linalg.norm(arguments.up or 1.0)
    angles = np.arange(arguments.turntable) * (2 * np.pi / arguments.turntable)
    turned = Rotation.from_rotvec(angles[:, None] * axis).apply(direction)
    cameras = [fit(bounds, forward, up=axis, **options) for forward in turned]
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


# -- info ------------------------------------------------------------------------------------------------------------


def add_info_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of ``seminorm info``."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_listed(POINT_SUFFIXES))


def run_info(arguments: argparse.Namespace) -> int:
    """Tell of each file; one that cannot be read does not keep the others from being told of."""
    failed = False
    for number, path in enumerate(arguments.files):
        try:
            _check_input(path, POINT_SUFFIXES)
            rows = _surface_rows(path) if _holds_surface(path) else _file_rows(path)
        except (ImportError, OSError, ValueError) as error:
            if arguments.traceback:
                raise
            print(f"seminorm info: {' '.join(str(error).split())}", file=sys.stderr)
            failed = True
            continue
        print(f"{'' if number == 0 else chr(10)}{path}\n{_table(rows)}")
    return int(failed)


def _file_rows(path: Path) -> list[tuple[str, str]]:
    from .surfaces.files import describe, read_mesh

    told = describe(path)
    is_mesh = told["kind"] == "mesh"
    rows = [
        ("holds", "a mesh" if is_mesh else "points"),
        ("format", f"{told['format']}, {_size(told['bytes'])}"),
        ("vertices" if is_mesh else "points", str(told["points"])),
    ]
    rows += [("faces", str(told["faces"]))] if is_mesh else []
    rows.append(("columns", ", ".join(told["columns"])))
    rows += _extent_rows(*told["bounds"]) if told["bounds"] is not None else []
    rows += [("NaN or infinite", str(told["invalid_points"]))] if told["invalid_points"] else []
    if is_mesh:
        mesh = read_mesh(path)
        rows += [
            ("watertight", _word(mesh.is_watertight)),
            ("components", str(mesh.components()[1])),
            ("area", _word(mesh.area)),
            ("volume", _word(mesh.volume)),
        ]
    elif not told["has_normals"]:
        rows.append(("normals", "none: seminorm reconstruct needs them"))
    return rows


def _surface_rows(path: Path) -> list[tuple[str, str]]:
    from .surfaces.cloud import bounds_of
    from .surfaces.surface import Surface

    surface = Surface.load(path)
    rows = [
        ("holds", "a surface, as a function"),
        ("format", f"npz, {_size(path.stat().st_size)}"),
        ("points", str(len(surface.points))),
        ("coefficients", str(surface.field.n_coef)),
        ("resolution", _word(surface.resolution)),
        ("attributes", ", ".join(surface.attached) or "none"),
        *_extent_rows(*bounds_of(surface.points)),
    ]
    for name, value in surface.details.items():
        if name != "points" and isinstance(value, (bool, int, float, str)):
            rows.append((name.replace("_", " "), _word(value)))
    return rows


def _extent_rows(low, high) -> list[tuple[str, str]]:
    return [
        (axis, f"{start:.6g} to {stop:.6g} ({stop - start:.4g})")
        for axis, start, stop in zip("xyz", low, high, strict=True)
    ]


def _holds_surface(path: Path) -> bool:
    import zipfile

    if path.suffix.lower() != FUNCTION_SUFFIX or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "description.npy" in file.namelist()


# -- files, processors, memory, time ---------------------------------------------------------------------------------


def _check_input(path: Path, suffixes) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} cannot be read: its name must end in {_listed(suffixes)}.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def _check_output(path: Path, suffixes) -> None:
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"cannot write {path}: its name must end in {_listed(suffixes)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise type(error)(f"cannot write {path}: the folder {path.parent} takes no files.") from error


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """As many threads of Numba as wished, if there are as many."""
    if number is None:
        yield
        return
    import numba

    most = numba.config.NUMBA_NUM_THREADS
    if number > most:
        _warn(f"--threads {number}: there are {most}.")
    before = numba.get_num_threads()
    numba.set_num_threads(min(number, most))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Warnings as one line each."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *where: _warn(str(message))
        yield


def _warn(message: str) -> None:
    from tqdm import tqdm

    tqdm.write(f"seminorm: warning: {' '.join(message.split())}", file=sys.stderr)


class _Clock:
    """Seconds of each stage."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @property
    def total(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    def split(self, name: str, parts: dict[str, float]) -> None:
        """Replace a stage by its parts, if they are known."""
        if parts:
            self.seconds.pop(name)
            self.seconds |= parts


def _peak_memory() -> int | None:
    """Bytes, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# -- words -----------------------------------------------------------------------------------------------------------


def _listed(words) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _size(number: int | None) -> str:
    if number is None:
        return "unknown"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}" if number < 1000 * factor else f"{number / factor:.0f} {unit}"
    return f"{number} bytes"


def _word(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"  {name:{width}}{value}" for name, value in rows)


# -- values of options -----------------------------------------------------------------------------------------------


def _number(text: str, kind: type, valid, what: str):
    """A number of a kind for which ``valid`` holds; ``what`` says which ones these are."""
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not valid(number):
        raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")
    return number


def _length(text: str) -> float:
    return _number(text, float, lambda x: math.isfinite(x) and x > 0, "a positive length")


def _share(text: str) -> float:
    return _number(text, float, lambda x: 0 <= x <= 1, "a number from 0 to 1")


def _count(text: str) -> int:
    return _number(text, int, lambda n: n >= 1, "a whole number, 1 or more")


def _depth(text: str) -> int:
    return _number(text, int, lambda n: 1 <= n <= _DEEPEST, f"a whole number from 1 to {_DEEPEST}")


def _samples(text: str) -> int:
    return _number(text, int, lambda n: 1 <= n <= _MOST_SAMPLES, f"a whole number from 1 to {_MOST_SAMPLES}")


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([\d.]+) *([kmgt])(i?)b", text.strip(), re.IGNORECASE)
    if match is None or match[1].count(".") > 1 or not float(match[1].strip(".") or 0) > 0:
        raise argparse.ArgumentTypeError(f"must be a size such as 500MB, 4GB or 2GiB, got {text!r}")
    factor = (1024 if match[3] else 1000) ** (1 + "kmgt".index(match[2].lower()))
    return int(float(match[1]) * factor)


def _picture_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    sides = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, 1 to {_LARGEST_SIDE} each, got {text!r}")
    return sides


def _vector(text: str) -> tuple[float, float, float]:
    numbers = _three(text)
    if numbers is None or not any(numbers):
        raise argparse.ArgumentTypeError(f"must be three numbers with commas between them, not all zero, got {text!r}")
    return numbers


def _color(text: str) -> tuple[float, float, float]:
    word = text.strip().lower()
    if word in _COLORS:
        return _COLORS[word]
    if re.fullmatch(r"#[0-9a-f]{6}", word):
        numbers = tuple(float(int(word[k : k + 2], 16)) for k in (1, 3, 5))
        return tuple(number / 255 for number in numbers)
    numbers = _three(text)
    if numbers is None or min(numbers) < 0 or max(numbers) > 255:
        raise argparse.ArgumentTypeError(
            f"must be R,G,B (from 0 to 1, or from 0 to 255), #rrggbb or {_listed(list(_COLORS))}, got {text!r}"
        )
    return tuple(number / 255 for number in numbers) if max(numbers) > 1 else numbers


def _background(text: str) -> tuple[float, float, float] | str:
    return _TRANSPARENT if text.strip().lower() == _TRANSPARENT else _color(text)


def _three(text: str) -> tuple[float, float, float] | None:
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        return None
    return numbers if len(numbers) == 3 and all(map(math.isfinite, numbers)) else None
