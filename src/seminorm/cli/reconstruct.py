"""``seminorm reconstruct``: points in files, a mesh or a function out. Mistakes are found before slow imports."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import motion
from .batches import add_each, check_list, jobs_of, run_jobs
from .clouds import known_sensor, naming, read_clouds, sensors_of
from .options import (
    MEASURES,
    add_input,
    add_output,
    count,
    depth,
    distance,
    faces,
    length,
    measures,
    memory,
    place,
    share,
)
from .parsing import Parser
from .paths import (
    FUNCTION_SUFFIX,
    MESH_SUFFIXES,
    POINT_OUTPUT_SUFFIXES,
    POINT_SUFFIXES,
    check_different,
    check_output,
    check_points,
)
from .reporting import (
    Stopwatch,
    about,
    as_size,
    as_word,
    listed,
    peak_memory,
    shown,
    table,
    threads,
    write_stats,
)
from .wishes import check_normals, check_wishes, fit_options, wants_mesh

HELP = "fit a smooth surface to points, and write it as a mesh"


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "POINTS [POINTS ...] -o FILE [option ...]",
        "seminorm reconstruct scan.ply -o mesh.ply",
        "seminorm reconstruct scan.ply -o mesh.glb --color --faces 100000 --stats",
        "seminorm reconstruct scan.ply -o mesh.ply --quality --attributes distance,curvature",
        "seminorm reconstruct a.ply b.ply -o mesh.ply --sensor 0,0,2 --sensor 3,1,2",
        "seminorm reconstruct --each *.ply -o 'meshes/{name}.obj' --stats-json all.json",
        "seminorm reconstruct frames/*.ply --times names -o film.html --steps 50",
        "seminorm reconstruct a.ply b.ply c.ply --times 0,1,2.5 -o 'mesh_{:03d}.ply'",
        "cat scan.ply | seminorm reconstruct - -o - | seminorm info -",
    )
    points_help = f"files of points, taken together, with normals or without: {listed(POINT_SUFFIXES)}"
    add_input(parser, "POINTS", points_help, POINT_SUFFIXES)
    output_help = f"file to write: {listed(MESH_SUFFIXES)} for a mesh, {FUNCTION_SUFFIX} for the function itself"
    add_output(parser, "FILE", output_help, (*MESH_SUFFIXES, FUNCTION_SUFFIX), each=True)
    add_each(parser, "one surface")
    _add_fit(parser)
    _add_mesh(parser)
    _add_preparation(parser)
    motion.add_arguments(parser)
    add = parser.add_argument_group("running").add_argument
    add("--threads", type=count, metavar="N", help="processors to use (default: all)")
    add("--memory", type=memory, metavar="SIZE", help="most for the process, such as 500MB or 2GiB")
    add("--stats", action="store_true", help="print a table of times, memory and what was chosen")
    add("--stats-json", type=Path, metavar="FILE", help="write the same as JSON, with --each a list of them")
    add("--quiet", action="store_true", help="no progress, no summary")


def _add_fit(parser: Parser) -> None:
    group = parser.add_argument_group("surface (see the documentation of seminorm.surfaces.reconstruct)")
    add, width = group.add_argument, group.add_mutually_exclusive_group()
    width.add_argument("--depth", type=depth, help="2**DEPTH cells along the longest side (default: from the points)")
    width.add_argument("--resolution", type=length, metavar="R", help="width of the finest cells, instead of a depth")
    add("--smoothness", type=length, metavar="S", help="length below which details go (default: chosen)")
    tolerance_help = "distance to a point that weighs as much as a normal wrong by one radian (default: chosen)"
    add("--tolerance", type=length, metavar="W", help=tolerance_help)
    add(
        "--order",
        type=int,
        choices=(2, 3),
        help="order of the derivatives that measure roughness (default: 3, for many points 2)",
    )
    add("--fast", action="store_true", help="order 2 and cells twice as wide, unless these are given")
    sensor_help = "where points without normals were measured from, once for all files or once per file"
    add("--sensor", type=place, action="append", metavar="X,Y,Z", help=sensor_help)
    add("--confidence", action="store_true", help="count points by the lengths of their normals")


def _add_mesh(parser: Parser) -> None:
    group = parser.add_argument_group("mesh")
    add = group.add_argument
    add("--mesh-resolution", type=length, metavar="R", help="largest width of the cells that it is cut from")
    deviation_help = "how far triangles may lie from the surface; 0 keeps all vertices where it is flat"
    add("--deviation", type=distance, metavar="D", help=deviation_help)
    add("--faces", type=faces, metavar="N", help="the most triangles that the mesh may have")
    add("--quality", action="store_true", help="triangles that are nearly equilateral, for simulations; takes longer")
    edges = group.add_mutually_exclusive_group().add_argument
    edges("--sharp", action="store_true", help="resolve each sharp edge (default: if edges are most of what bends)")
    edges("--rounded", action="store_true", help="leave sharp edges as the smooth surface rounds them off")
    ends = group.add_mutually_exclusive_group().add_argument
    ends("--open", action="store_true", help="end the surface where points end (default: if they cover one side)")
    ends("--closed", action="store_true", help="close the surface, whatever the points cover")
    hole_help = "leave holes open that are wider than this (default: fill all holes of a closed surface)"
    ends("--max-hole", type=distance, metavar="D", help=hole_help)
    trims = group.add_mutually_exclusive_group().add_argument
    trims("--trim", type=length, metavar="D", help="end it where all points are farther than D")
    quantile_help = "cut off the share Q of it, where points are least dense"
    trims("--trim-quantile", type=share, metavar="Q", help=quantile_help)
    add("--color", action="store_true", help="give the surface the colours of the points")
    measures_help = f"columns to write for the vertices of a .ply, with commas between them: {listed(MEASURES)}"
    add("--attributes", type=measures, metavar="NAME,...", help=measures_help)


def _add_preparation(parser: Parser) -> None:
    group = parser.add_argument_group("preparation, in this order")
    add = group.add_argument
    add("--remove-duplicates", action="store_true", help="keep one of several equal points")
    add("--remove-outliers", action="store_true", help="leave out points far from all others")
    add("--thin", type=length, metavar="SPACING", help="merge the points in cells of this width")
    aside = group.add_mutually_exclusive_group().add_argument
    aside("--keep-outliers", action="store_true", help="use all points and normals as they are")
    aside_help = "also write the points that were set aside because they lie on no surface with others"
    aside("--outliers", type=Path, metavar="FILE", help=aside_help)


def run(arguments: argparse.Namespace) -> int:
    """Reconstruct one surface from all files, or one from each."""
    sensors_of(arguments)
    if arguments.times is not None:
        return motion.run(arguments)
    motion.check_unused(arguments)
    jobs = jobs_of(arguments, ("output", "outliers"))
    _check(arguments, jobs)
    stats, status = run_jobs(jobs, _reconstruct)
    if arguments.stats_json is not None:
        write_stats(arguments.stats_json, stats if arguments.each else stats[0])
    return status


def _reconstruct(job: argparse.Namespace) -> dict | None:
    """Read, fit, mesh, write, and say what was done; statistics, if they are wanted."""
    for path in job.inputs:
        check_points(path)
    clock, names = Stopwatch(), naming(job.inputs)
    with clock.stage("import"):
        from .._base.threads import thread_count
        from ..files import write_points
        from ..surfaces.reconstruction import reconstruct
    verbose = not job.quiet and sys.stderr.isatty()
    with threads(job.threads):
        used: dict[str, Any] = {"threads": thread_count()}
        with clock.stage("read"):
            cloud, dropped = read_clouds(job)
        check_normals(job, cloud)
        if not job.quiet and cloud.normals is None:
            print(f"{shown(names)}: no normals, estimating them", file=sys.stderr)
        wanted = fit_options(job) | ({"outliers": "keep"} if job.keep_outliers else {})
        if cloud.normals is None:
            wanted["sensor"] = known_sensor(cloud, names)
        with clock.stage("reconstruct"), about(names):
            surface = reconstruct(cloud, verbose=verbose, **wanted)
        if parts := surface.details["seconds"]:
            clock.seconds.pop("reconstruct")
            clock.seconds |= parts
        mesh = None
        if wants_mesh(job.output):
            with clock.stage("mesh"), about(names):
                mesh = surface.mesh(verbose=verbose, **_mesh_options(job))
                if not len(mesh.faces):
                    raise ValueError("the mesh is empty: the function is nowhere zero near the points.")
        with clock.stage("write"):
            (surface if mesh is None else mesh).save(job.output)
            if job.outliers is not None:
                write_points(job.outliers, cloud[surface.details["outliers"]])
    if job.quiet and not job.stats and job.stats_json is None:
        return None
    with clock.stage("check"):
        stats = _collect(job, surface, mesh, dropped)
    stats |= used | {"seconds": clock.seconds | {"total": clock.total}, "peak_memory": peak_memory()}
    if job.stats:
        print(_in_table(stats))
    if not job.quiet:
        print(_in_one_line(stats))
    return stats


def _check(arguments: argparse.Namespace, jobs: Sequence[argparse.Namespace]) -> None:
    """Everything that can be known to be wrong before the work begins, but for the files to read."""
    written: list[tuple[str, Path | None]] = [("--stats-json", arguments.stats_json)]
    for job in jobs:
        check_wishes(job, job.output)
        check_output(job.output, (*MESH_SUFFIXES, FUNCTION_SUFFIX))
        if job.outliers is not None:
            check_output(job.outliers, POINT_OUTPUT_SUFFIXES)
        written += [("--output", job.output), ("--outliers", job.outliers)]
    if arguments.stats_json is not None:
        check_list(arguments.stats_json, "--stats-json")
        check_output(arguments.stats_json, (".json",))
    check_different(arguments.inputs, written)


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
        "method": "quality" if arguments.quality else None,
        "attributes": arguments.attributes,
        "sharp": True if arguments.sharp else False if arguments.rounded else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _collect(arguments: argparse.Namespace, surface, mesh, dropped: dict) -> dict:
    """What was read and chosen, and what came out; the mesh is None if there is none."""
    details = surface.details
    stats = {
        "inputs": [shown(path) for path in arguments.inputs],
        "output": shown(arguments.output),
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
