"""``seminorm reconstruct``: points in files, a mesh or a function out. Mistakes are found before slow imports."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .clouds import read_clouds
from .options import add_output, count, depth, distance, length, memory, place, share
from .paths import (
    FUNCTION_SUFFIX,
    MESH_SUFFIXES,
    POINT_OUTPUT_SUFFIXES,
    POINT_SUFFIXES,
    check_different,
    check_input,
    check_output,
)
from .reporting import Stopwatch, as_size, as_word, listed, peak_memory, shown_warnings, table, threads

HELP = "fit a smooth surface to points, and write it as a mesh"
_COLORLESS = (".stl",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Examples: seminorm reconstruct scan.ply -o mesh.ply --color; "
        "seminorm reconstruct a.ply b.ply -o mesh.ply --max-hole 0.02 --outliers aside.ply --stats"
    )
    points_help = f"files of points, taken together, with normals or without: {listed(POINT_SUFFIXES)}"
    parser.add_argument("points", nargs="+", type=Path, metavar="POINTS", help=points_help)
    add_output(parser, "FILE", f"{listed(MESH_SUFFIXES)} for a mesh, {FUNCTION_SUFFIX} for the function itself")
    fit = parser.add_argument_group("surface (see the documentation of seminorm.surfaces.reconstruct)")
    width = fit.add_mutually_exclusive_group()
    width.add_argument("--depth", type=depth, help="2**DEPTH cells along the longest side (default: from the points)")
    width.add_argument("--resolution", type=length, metavar="R", help="width of the finest cells, instead of a depth")
    fit.add_argument("--smoothness", type=length, metavar="S", help="length below which details go (default: chosen)")
    tolerance_help = "distance to a point that weighs as much as a normal wrong by one radian (default: chosen)"
    fit.add_argument("--tolerance", type=length, metavar="W", help=tolerance_help)
    fit.add_argument("--order", type=int, choices=(2, 3), help="of the derivatives that measure roughness")
    fit.add_argument("--fast", action="store_true", help="order 2 and cells twice as wide, unless these are given")
    fit.add_argument("--sensor", type=place, metavar="X,Y,Z", help="where points without normals were measured from")
    fit.add_argument("--confidence", action="store_true", help="count points by the lengths of their normals")
    mesh = parser.add_argument_group("mesh")
    mesh.add_argument("--mesh-resolution", type=length, metavar="R", help="largest width of the cells it is cut into")
    deviation_help = "how far triangles may lie from the surface; 0 keeps all vertices where it is flat"
    mesh.add_argument("--deviation", type=distance, metavar="D", help=deviation_help)
    mesh.add_argument("--faces", type=count, metavar="N", help="the most triangles that the mesh may have")
    ends = mesh.add_mutually_exclusive_group()
    ends.add_argument("--open", action="store_true", help="end the surface where points end (default: if it is open)")
    ends.add_argument("--closed", action="store_true", help="close the surface, whatever the points cover")
    hole_help = "leave holes open that are wider than this (default: fill all holes of a closed surface)"
    ends.add_argument("--max-hole", type=distance, metavar="D", help=hole_help)
    add = mesh.add_mutually_exclusive_group().add_argument
    add("--trim", type=length, metavar="D", help="open, with nothing farther than D from all points")
    add("--trim-quantile", type=share, metavar="Q", help="open, without this share of it, where points are least dense")
    mesh.add_argument("--color", action="store_true", help="give the surface the colours of the points")
    points = parser.add_argument_group("preparation, in this order")
    points.add_argument("--remove-duplicates", action="store_true", help="keep one of several equal points")
    points.add_argument("--remove-outliers", action="store_true", help="leave out points far from all others")
    aside = points.add_mutually_exclusive_group()
    aside.add_argument("--keep-outliers", action="store_true", help="use all points and normals as they are")
    aside_help = "also write the points that were set aside because they lie on no surface with others"
    aside.add_argument("--outliers", type=Path, metavar="FILE", help=aside_help)
    points.add_argument("--thin", type=length, metavar="SPACING", help="merge the points in cells of this width")
    parser.add_argument("--threads", type=count, metavar="N", help="processors to use (default: all)")
    parser.add_argument("--memory", type=memory, metavar="SIZE", help="most for the process, such as 500MB or 2GiB")
    parser.add_argument("--stats", action="store_true", help="print a table of times, memory and what was chosen")
    parser.add_argument("--stats-json", type=Path, metavar="FILE", help="write the same as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, mesh, write, and say what was done."""
    _check(arguments)
    clock = Stopwatch()
    with shown_warnings(), clock.stage("import"):
        from .._base.threads import thread_count
        from ..files import write_points
        from ..surfaces.reconstruction import reconstruct
    verbose = not arguments.quiet and sys.stderr.isatty()
    with shown_warnings(), threads(arguments.threads):
        used: dict[str, Any] = {"threads": thread_count()}
        with clock.stage("read"):
            cloud, dropped = read_clouds(arguments)
        _check_normals(arguments, cloud)
        if not arguments.quiet and cloud.normals is None:
            print("the points have no normals: estimating them", file=sys.stderr)
        with clock.stage("reconstruct"):
            surface = reconstruct(cloud, verbose=verbose, **_fit_options(arguments))
        if parts := surface.details["seconds"]:
            clock.seconds.pop("reconstruct")
            clock.seconds |= parts
        mesh = None
        if _wants_mesh(arguments):
            with clock.stage("mesh"):
                mesh = surface.mesh(verbose=verbose, **_mesh_options(arguments))
            if not len(mesh.faces):
                raise ValueError("the mesh is empty: the function is nowhere zero near the points.")
        with clock.stage("write"):
            (surface if mesh is None else mesh).save(arguments.output)
            if arguments.outliers is not None:
                write_points(arguments.outliers, cloud[surface.details["outliers"]])
    if not arguments.quiet or arguments.stats or arguments.stats_json is not None:
        with clock.stage("check"):
            stats = _collect(arguments, surface, mesh, dropped)
        used |= {"seconds": clock.seconds | {"total": clock.total}, "peak_memory": peak_memory()}
        _report(arguments, stats | used)
    return 0


def _report(arguments: argparse.Namespace, stats: dict) -> None:
    if arguments.stats_json is not None:
        from .._base.saving import whole_file

        with whole_file(arguments.stats_json) as temporary:
            temporary.write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")
    if arguments.stats:
        print(_in_table(stats))
    if not arguments.quiet:
        print(_in_one_line(stats))


def _check(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    for path in arguments.points:
        check_input(path, POINT_SUFFIXES)
    output = arguments.output
    check_output(output, (*MESH_SUFFIXES, FUNCTION_SUFFIX))
    if arguments.stats_json is not None:
        check_output(arguments.stats_json, (".json",))
    if arguments.outliers is not None:
        check_output(arguments.outliers, POINT_OUTPUT_SUFFIXES)
    written = {"--output": output, "--stats-json": arguments.stats_json, "--outliers": arguments.outliers}
    check_different(arguments.points, written)
    if not _wants_mesh(arguments):
        shaping = ("trim", "trim_quantile", "open", "closed", "max_hole", "faces", "mesh_resolution", "deviation")
        for option in shaping:
            if getattr(arguments, option) is not None and getattr(arguments, option) is not False:
                raise ValueError(
                    f"--{option.replace('_', '-')} shapes the mesh, and {output} is to hold the function: leave it "
                    "out, or write a mesh."
                )
    trims = [
        f"--{name.replace('_', '-')}" for name in ("trim", "trim_quantile") if getattr(arguments, name) is not None
    ]
    if trims and (arguments.closed or arguments.max_hole is not None):
        other = "--closed" if arguments.closed else "--max-hole"
        raise ValueError(f"{trims[0]} is for open surfaces, and {other} is not: leave out one of them.")
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
    names = ("depth", "resolution", "smoothness", "tolerance", "order", "sensor")
    wanted = {name: getattr(arguments, name) for name in names}
    wanted |= {
        "confidence": "normals" if arguments.confidence else None,
        "memory_limit": None if arguments.memory is None else _left_of(arguments.memory),
        "fast": arguments.fast or None,
        "outliers": "keep" if arguments.keep_outliers else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _left_of(limit: int) -> int:
    """What a limit for the process leaves to the fit, beside the interpreter and the points."""
    taken = peak_memory() or 0
    if limit <= taken:
        raise ValueError(
            f"--memory {as_size(limit)}: Python and the points take {as_size(taken)} of memory already: allow more."
        )
    return limit - taken


def _mesh_options(arguments: argparse.Namespace) -> dict:
    """What the user wants of the mesh, in the words of ``Surface.mesh``."""
    is_open = arguments.open or arguments.trim is not None or arguments.trim_quantile is not None
    wanted = {
        "resolution": arguments.mesh_resolution,
        "deviation": arguments.deviation,
        "trim": arguments.trim,
        "trim_quantile": arguments.trim_quantile,
        "boundary": "open" if is_open else "closed" if arguments.closed else None,
        "max_hole": arguments.max_hole,
        "target_faces": arguments.faces,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _collect(arguments: argparse.Namespace, surface, mesh, dropped: dict) -> dict:
    """What was read and chosen, and what came out; the mesh is None if there is none."""
    details = surface.details
    stats = {
        "inputs": [str(path) for path in arguments.points],
        "output": str(arguments.output),
        "points": len(surface.points),
        "dropped": dropped,
        "outliers": len(details["outliers"]),
        "repaired_normals": details["repaired_normals"],
        **{name: details[name] for name in ("normals", "order", "depth", "smoothness", "tolerance")},
        "resolution": surface.resolution,
        "coefficients": surface.field.n_coef,
    }
    if mesh is not None:
        closed = mesh.is_watertight
        stats |= {"vertices": len(mesh.vertices), "faces": len(mesh.faces), "watertight": closed}
        stats |= {"components": mesh.components()[1], "genus": mesh.genus if closed else None}
    return stats


def _in_table(stats: dict) -> str:
    """Times and memory first, a line each."""
    rows = [(f"{stage}, seconds", f"{seconds:.2f}") for stage, seconds in stats["seconds"].items()]
    rows.append(("peak memory", as_size(stats["peak_memory"])))
    for name, value in stats.items():
        if name not in ("seconds", "peak_memory", "inputs", "output", "dropped"):
            rows.append((name.replace("_", " "), as_word(value)))
    rows += [(f"dropped, {reason}", str(count)) for reason, count in stats["dropped"].items() if count]
    return table(rows)


def _in_one_line(stats: dict) -> str:
    """The file that was written, and what matters most."""
    parts = [f"{stats['points']} points", *([] if stats["normals"].startswith("given") else ["normals estimated"])]
    parts += [f"depth {stats['depth']}", f"smoothness {stats['smoothness']:.3g}", f"tolerance {stats['tolerance']:.3g}"]
    if "faces" in stats:
        parts += [f"{stats['vertices']} vertices", f"{stats['faces']} faces"]
        parts.append("watertight" if stats["watertight"] else "not watertight")
    else:
        parts.append(f"{stats['coefficients']} coefficients")
    parts += [f"{stats['seconds']['total']:.1f} s", as_size(stats["peak_memory"])]
    return f"{stats['output']}: {', '.join(parts)}"
