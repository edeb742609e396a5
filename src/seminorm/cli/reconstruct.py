"""``seminorm reconstruct``: points in files, a mesh or a function out.

What a user can get wrong is checked before anything slow is imported.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import options
from .clouds import read_clouds
from .paths import FUNCTION_SUFFIX, MESH_SUFFIXES, POINT_SUFFIXES, check_different, check_input, check_output
from .reporting import Clock, listed, peak_memory, shown_warnings, threads
from .statistics import collect, in_one_line, in_table

HELP = "fit a smooth surface to points, and write it as a mesh"
_COLORLESS = (".stl",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.epilog = "Example: seminorm reconstruct scan.ply -o mesh.ply --trim 0.02 --color"
    parser.add_argument(
        "points",
        nargs="+",
        type=Path,
        metavar="POINTS",
        help=f"files of points, taken together, with normals or without: {listed(POINT_SUFFIXES)}",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"file to write: {listed(MESH_SUFFIXES)} for a mesh, {FUNCTION_SUFFIX} for the function itself",
    )
    fit = parser.add_argument_group("surface (see the documentation of seminorm.surfaces.reconstruct)")
    width = fit.add_mutually_exclusive_group()
    width.add_argument(
        "--depth", type=options.depth, help="2**DEPTH cells along the longest side (default: from the points)"
    )
    width.add_argument(
        "--resolution", type=options.length, metavar="R", help="width of the finest cells, instead of a depth"
    )
    fit.add_argument(
        "--smoothness", type=options.length, metavar="S", help="length below which details go (default: chosen)"
    )
    fit.add_argument(
        "--normal-weight",
        type=options.length,
        metavar="W",
        help="distance to a point that weighs as much as a normal wrong by one radian (default: chosen)",
    )
    fit.add_argument("--order", type=int, choices=(2, 3), help="of the derivatives that measure roughness")
    fit.add_argument("--fast", action="store_true", help="order 2 and cells twice as wide, unless these are given")
    fit.add_argument(
        "--sensor", type=options.place, metavar="X,Y,Z", help="where points without normals were measured from"
    )
    fit.add_argument("--confidence", action="store_true", help="count points by the lengths of their normals")
    mesh = parser.add_argument_group("mesh")
    mesh.add_argument(
        "--mesh-resolution", type=options.length, metavar="R", help="largest width of the cells it is cut into"
    )
    mesh.add_argument("--open", action="store_true", help="end the surface where the points end, instead of closing it")
    ends = mesh.add_mutually_exclusive_group()
    ends.add_argument(
        "--trim", type=options.length, metavar="D", help="open, with nothing farther than D from all points"
    )
    ends.add_argument(
        "--trim-quantile",
        type=options.share,
        metavar="Q",
        help="open, without this share of it, where points are least dense",
    )
    mesh.add_argument("--color", action="store_true", help="give the surface the colours of the points")
    points = parser.add_argument_group("preparation, in this order")
    points.add_argument("--remove-duplicates", action="store_true", help="keep one of several equal points")
    points.add_argument("--remove-outliers", action="store_true", help="leave out points far from all others")
    points.add_argument(
        "--thin", type=options.length, metavar="SPACING", help="merge the points in cells of this width"
    )
    parser.add_argument("--threads", type=options.count, metavar="N", help="processors to use (default: all)")
    parser.add_argument(
        "--memory", type=options.memory, metavar="SIZE", help="refuse to take more, for instance 500MB or 2GiB"
    )
    parser.add_argument("--stats", action="store_true", help="print a table of times, memory and what was chosen")
    parser.add_argument("--stats-json", type=Path, metavar="FILE", help="write the same as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, mesh, write, and say what was done."""
    _check(arguments)
    clock = Clock()
    with shown_warnings(), clock.stage("import"):
        import numba

        from ..surfaces.reconstruction import reconstruct
    progress = not arguments.quiet and sys.stderr.isatty()
    with shown_warnings(), threads(arguments.threads):
        used = {"threads": numba.get_num_threads()}
        with clock.stage("read"):
            cloud, dropped = read_clouds(arguments)
        _check_normals(arguments, cloud)
        if not arguments.quiet:
            if cloud.normals is None:
                print("the points have no normals: estimating them", file=sys.stderr)
            _announce(arguments, cloud.normals is None)
        with clock.stage("reconstruct"):
            surface = reconstruct(cloud, verbose=progress, **_fit_options(arguments))
        clock.split("reconstruct", surface.details["seconds"])
        mesh = None
        if _wants_mesh(arguments):
            with clock.stage("mesh"):
                mesh = surface.mesh(verbose=progress, **_mesh_options(arguments))
            if not len(mesh.faces):
                raise ValueError("the mesh is empty: the function is nowhere zero near the points.")
        with clock.stage("write"):
            (surface if mesh is None else mesh).save(arguments.output)
    if not arguments.quiet or arguments.stats or arguments.stats_json is not None:
        with clock.stage("check"):
            told = collect(arguments, surface, mesh, dropped)
        used |= {"seconds": clock.seconds | {"total": clock.total}, "peak_memory": peak_memory()}
        _report(arguments, told | used)
    return 0


def _report(arguments: argparse.Namespace, stats: dict) -> None:
    if arguments.stats_json is not None:
        from ..serialization import whole_file

        with whole_file(arguments.stats_json) as temporary:
            temporary.write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
    if arguments.stats:
        print(in_table(stats))
    if not arguments.quiet:
        print(in_one_line(stats))


def _check(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    for path in arguments.points:
        check_input(path, POINT_SUFFIXES)
    output = arguments.output
    check_output(output, (*MESH_SUFFIXES, FUNCTION_SUFFIX))
    if arguments.stats_json is not None:
        check_output(arguments.stats_json, (".json",))
    check_different(arguments.points, {"--output": output, "--stats-json": arguments.stats_json})
    if not _wants_mesh(arguments):
        for option in ("trim", "trim_quantile", "open", "mesh_resolution"):
            if getattr(arguments, option) not in (None, False):
                raise ValueError(
                    f"--{option.replace('_', '-')} shapes the mesh, and {output} is to hold the function: leave it "
                    "out, or write a mesh."
                )
    if arguments.color and output.suffix.lower() in _COLORLESS:
        kept = [suffix for suffix in MESH_SUFFIXES if suffix not in _COLORLESS]
        raise ValueError(f"--color: {output.suffix} files hold no colours, write {listed(kept)}.")
    if arguments.confidence and arguments.thin is not None:
        raise ValueError("--thin gives all normals the same length, so --confidence finds none: leave out one of them.")


def _check_normals(arguments: argparse.Namespace, cloud) -> None:
    if cloud.normals is None and arguments.confidence:
        raise ValueError("--confidence counts points by their normals, and they have none: leave it out.")
    if cloud.normals is not None and arguments.sensor is not None:
        raise ValueError("--sensor is for points without normals, and these have some: leave it out.")


def _wants_mesh(arguments: argparse.Namespace) -> bool:
    return arguments.output.suffix.lower() != FUNCTION_SUFFIX


def _fit_options(arguments: argparse.Namespace) -> dict:
    """What the user wants of the fit, in the words of ``reconstruct``."""
    wanted = {
        name: getattr(arguments, name)
        for name in ("depth", "resolution", "smoothness", "normal_weight", "order", "sensor")
    }
    wanted |= {
        "confidence": "normals" if arguments.confidence else None,
        "memory_limit": arguments.memory,
        "fast": arguments.fast or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _mesh_options(arguments: argparse.Namespace) -> dict:
    """What the user wants of the mesh, in the words of ``Surface.mesh``."""
    is_open = arguments.open or arguments.trim is not None or arguments.trim_quantile is not None
    wanted = {
        "resolution": arguments.mesh_resolution,
        "trim": arguments.trim,
        "trim_quantile": arguments.trim_quantile,
        "boundary": "open" if is_open else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _announce(arguments: argparse.Namespace, without_normals: bool) -> None:
    """Say so if the compiler has to work first, which takes long and happens once on a machine."""
    from .._compilation import announce_compilation

    loops = _compiled(arguments)
    if without_normals:
        from ..surfaces import _neighbourhoods

        loops.append(_neighbourhoods.fit_neighbourhoods)
    announce_compilation(loops, lambda message: print(message, file=sys.stderr, flush=True))


def _compiled(arguments: argparse.Namespace) -> list:
    """Loops that are needed whatever the options are."""
    from ..fields import _local, _numba
    from ..surfaces import _marching

    of_fit = [_numba.locate, _local.place, _local.evaluate]
    return [*of_fit, _local.sample, _marching.place_crossings] if _wants_mesh(arguments) else of_fit
