"""``seminorm reconstruct --times``: frames in, a moving surface out, as meshes, a page that plays, or a function."""

import argparse
import sys
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

from .batches import check_list
from .clouds import check_alike, known_sensor, naming, read_clouds, sensors_of
from .options import SPEED, count, length, numbers
from .parsing import Parser
from .paths import FUNCTION_SUFFIX, MESH_SUFFIXES, check_different, check_output, check_points
from .reporting import (
    Stopwatch,
    about,
    as_size,
    as_word,
    memory_in_use,
    peak_memory,
    shown,
    shown_warnings,
    table,
    threads,
    write_stats,
)
from .times import NAMES, times_of_files, times_wanted, warn_of_gaps
from .wishes import check_normals, check_wishes, fit_options, is_given, named, wants_mesh

_OWN = ("at", "steps", "time_scale")  # options that need --times
_AT_REST = ("each", "quality", "sharp", "rounded", "max_hole", "trim_quantile", "outliers", "keep_outliers")
_PAGE = ".html"
_FEWEST = 10  # points of a frame without normals


def add_arguments(parser: Parser) -> None:
    """The options of motion."""
    add = parser.add_argument_group("motion").add_argument
    times_help = f"when each file was measured: numbers, {NAMES} (the last number in each), a file, or a column's name"
    add("--times", metavar="T,...", help=times_help)
    add("--at", type=numbers, metavar="T,...", help="times of the meshes (default: those of the frames)")
    add("--steps", type=count, metavar="N", help="instead: N times, evenly from the first frame to the last")
    scale_help = "one function of space and time, a unit of time counting as length R (default: one per frame)"
    add("--time-scale", type=length, metavar="R", help=scale_help)


def check_unused(arguments: argparse.Namespace) -> None:
    """Raise an error if options of motion are given without --times."""
    given = [named(option) for option in _OWN if is_given(arguments, option)]
    if given:
        raise ValueError(f"{given[0]} is for a surface that moves: give --times, too.")
    if SPEED in (arguments.attributes or ()):
        raise ValueError(f"--attributes: only a surface that moves has a {SPEED}: give --times, too.")


def run(arguments: argparse.Namespace) -> int:
    """Reconstruct a moving surface from files of points, one frame each, or with a column of times."""
    with shown_warnings():
        times = times_of_files(arguments.times, arguments.inputs)
        _check(arguments, times)
        stats = _reconstruct(arguments, times)
    if arguments.stats_json is not None:
        write_stats(arguments.stats_json, stats)
    return 0


def _check(arguments: argparse.Namespace, times: list[float] | None) -> None:
    """Everything that can be known to be wrong before the work begins, but for the content of the files."""
    given = [named(option) for option in _AT_REST if is_given(arguments, option)]
    if given:
        raise ValueError(f"{given[0]} is for surfaces at rest, and --times makes a moving one: leave one of them out.")
    for path in arguments.inputs:
        check_points(path)
    if times is not None:
        warn_of_gaps(times)
        _output_paths(arguments, times_wanted(arguments, times))
    elif arguments.thin is not None or arguments.remove_duplicates:
        raise ValueError("--thin and --remove-duplicates would mix points of different times: leave them out.")
    check_wishes(arguments, _like(arguments))
    if "uncertainty" in (arguments.attributes or ()):
        raise ValueError("--attributes: the uncertainty of surfaces that move is not known, leave it out.")
    if not wants_mesh(arguments.output) and (arguments.at or arguments.steps):
        raise ValueError(f"{arguments.output} is to hold the function, at all times: leave out --at and --steps.")
    if arguments.stats_json is not None:
        check_list(arguments.stats_json, "--stats-json")
        check_output(arguments.stats_json, (".json",))


def _like(arguments: argparse.Namespace) -> Path:
    """The output, or what files in it are called."""
    output = arguments.output
    return output / f"frame{arguments.target or arguments.default_target}" if output.is_dir() else output


def _output_paths(arguments: argparse.Namespace, moments: list[float]) -> list[Path]:
    """The files to write: one, or one per time."""
    from ..files.sequences import is_pattern, sequence_paths

    output, suffix = arguments.output, arguments.target or arguments.default_target
    single = not output.is_dir() and not is_pattern(output)
    if single and output.suffix.lower() not in (FUNCTION_SUFFIX, _PAGE) and len(moments) > 1:
        example = output.with_name(f"{output.stem}_{{:03d}}{output.suffix or suffix}")
        raise ValueError(
            f"{output} is one file, and there are {len(moments)} times: give a name such as '{example}', a folder that "
            f"exists, a page (.html), or {FUNCTION_SUFFIX} for the function; --at TIME makes one mesh."
        )
    paths = [output] if single else sequence_paths(output, moments, suffix)
    for path in paths:
        check_output(path, (*MESH_SUFFIXES, FUNCTION_SUFFIX) if single else MESH_SUFFIXES)
    written = [("--output", path) for path in paths]
    check_different(arguments.inputs, [*written, ("--stats-json", arguments.stats_json)])
    return paths


def _reconstruct(job: argparse.Namespace, times: list[float] | None) -> dict:
    """Read, fit, mesh, write, and say what was done."""
    clock, names = Stopwatch(), naming(job.inputs)
    with clock.stage("import"):
        from .._base.threads import thread_count
        from ..surfaces.moving_reconstruction import reconstruct_moving
    verbose = not job.quiet and sys.stderr.isatty()
    with threads(job.threads):
        used: dict[str, Any] = {"threads": thread_count()}
        with clock.stage("read"):
            clouds, dropped = _frames(job, times is not None)
            if times is None:
                clouds, times = _by_column(job, clouds)
                paths = _output_paths(job, times_wanted(job, times))
            else:
                paths = _output_paths(job, times_wanted(job, times))
        if not job.quiet and clouds[0].normals is None:
            print(f"{shown(names)}: no normals, estimating them for each time", file=sys.stderr)
        options = fit_options(job) | ({} if job.time_scale is None else {"time_scale": job.time_scale})
        before = memory_in_use()
        with clock.stage("reconstruct"), about(names):
            moving = reconstruct_moving(
                clouds if len(clouds) > 1 else clouds[0], times=times, verbose=verbose, **options
            )
        clock.seconds.pop("reconstruct")
        clock.seconds |= moving.details["seconds"]
        fit_memory = max((peak_memory() or before) - before, 0)
        if wants_mesh(job.output) and "boundary" not in _mesh_options(job):
            with clock.stage("open or closed"):
                used["open"] = moving.is_open
        with clock.stage("meshes and files"), about(names):
            written = _written(job, moving, times_wanted(job, moving.times), paths)
    stats = _collect(job, moving, written, dropped, len(set(times)))
    stats |= used | {"seconds": clock.seconds | {"total": clock.total}}
    stats |= {"peak_memory": peak_memory(), "fit_memory": fit_memory}
    _tell(job, stats)
    return stats


def _frames(job: argparse.Namespace, timed: bool) -> tuple[list, dict[str, int]]:
    """The points of each file, prepared each for itself, and how many were left out."""
    clouds, dropped = [], dict.fromkeys(("coordinates", "normals"), 0)
    for path, sensor in zip(job.inputs, sensors_of(job), strict=True):
        one = copy(job)
        one.inputs, one.sensor = [path], None if sensor is None else [sensor]
        cloud, lost = read_clouds(one, None if timed else job.times)
        check_normals(job, cloud)
        if timed and cloud.normals is None and len(cloud) < _FEWEST:
            raise ValueError(
                f"{path} has {len(cloud)} points, and normals are estimated from at least {_FEWEST} of each frame: "
                "leave it out, or give normals."
            )
        if cloud.normals is None and cloud.sensor is not None:
            known_sensor(cloud, str(path))  # says what is unknown
        clouds.append(cloud)
        for reason, number in lost.items():
            dropped[reason] = dropped.get(reason, 0) + number
    check_alike(job.inputs, clouds)
    return clouds, dropped


def _by_column(job: argparse.Namespace, clouds: list) -> tuple[list, Any]:
    """All points as one cloud, and the time of each, from a column of the files."""
    import numpy as np

    from ..clouds.cloud import PointCloud
    from ..clouds.scans import joined

    times = np.concatenate([np.asarray(cloud.attributes.pop(job.times), dtype=float) for cloud in clouds])
    if times.ndim != 1 or not np.isfinite(times).all():
        raise ValueError(f"--times {job.times}: the column must hold one finite number for each point.")
    if not np.ptp(times):
        raise ValueError(f"--times {job.times}: all points have the time {times[0]:g}; leave it out for one at rest.")
    whole = joined(clouds) if len(clouds) > 1 else clouds[0]
    return [PointCloud(whole.points, whole.normals, whole.colors, sensor=whole.sensor)], times


def _written(job: argparse.Namespace, moving, moments: list[float], paths: list[Path]) -> list[dict[str, Any]]:
    """Write the function, a page or meshes, all or none; what each mesh is."""
    if not wants_mesh(paths[0]):
        moving.save(paths[0])
        return []
    from ..files.html import write_page
    from ..files.sequences import whole_sequence

    told: list[dict[str, Any]] = []
    meshes = _meshes(job, moving, moments, told)
    if len(moments) > len(paths):  # a page
        items = {f"time {time:g}": mesh for time, mesh in zip(moments, meshes, strict=True)}
        write_page(paths[0], items, title=paths[0].stem, times=moments)
        return told
    with whole_sequence(paths) as temporary:
        for path, mesh in zip(temporary, meshes, strict=True):
            mesh.save(path)
    for one, path in zip(told, paths, strict=True):
        one["output"] = shown(path)
    return told


def _meshes(job: argparse.Namespace, moving, moments: list[float], told: list[dict[str, Any]]) -> Iterator:
    """The mesh of each moment, one after the other; ``told`` gets what each one is."""
    from tqdm import tqdm

    options = _mesh_options(job)
    hidden = job.quiet or not sys.stderr.isatty()
    for time in tqdm(moments, desc="meshing", unit="time", disable=hidden, leave=False):
        clock = Stopwatch()
        mesh = moving.at(time).mesh(**options)
        if not len(mesh.faces):
            raise ValueError(f"the mesh at time {time:g} is empty: the function is nowhere zero near the points.")
        mesh = mesh if job.deviation is None else mesh.thinned(job.deviation)
        mesh = mesh if job.faces is None else mesh.simplified(job.faces)
        one = {"time": time, "vertices": len(mesh.vertices), "faces": len(mesh.faces)}
        told.append(one | {"watertight": mesh.is_watertight, "components": mesh.components()[1]})
        told[-1]["seconds"] = clock.total
        yield mesh


def _mesh_options(job: argparse.Namespace) -> dict:
    """What the user wants of the meshes, in the words of ``Moment.mesh``."""
    is_open = job.open or job.trim is not None
    wanted = {
        "resolution": job.mesh_resolution,
        "trim": job.trim,
        "boundary": "open" if is_open else "closed" if job.closed else None,
        "attributes": job.attributes,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _collect(job: argparse.Namespace, moving, written: list[dict], dropped: dict, frames: int) -> dict:
    details = moving.details
    return {
        "inputs": [shown(path) for path in job.inputs],
        "output": shown(job.output),
        "frames": frames,
        "times": [float(moving.times.min()), float(moving.times.max())],
        "points": len(moving.points),
        "dropped": dropped,
        **{name: details[name] for name in ("normals", "method", "order", "depth", "smoothness", "tolerance")},
        "time_scale": details["time_scale"],
        "resolution": moving.at(float(moving.times.min())).resolution,
        "coefficients": moving.field.n_coef,
        "meshes": written,
    }


def _tell(job: argparse.Namespace, stats: dict) -> None:
    fitting = sum(stats["seconds"].get(step, 0.0) for step in ("normals", "choose", "fit"))
    each = {"fit": fitting / stats["frames"], "mesh": None}
    if stats["meshes"]:
        each["mesh"] = sum(one["seconds"] for one in stats["meshes"]) / len(stats["meshes"])
    stats["seconds_per_frame"] = each
    if job.stats:
        print(_in_table(stats))
    if job.quiet:
        return
    meshes, times = stats["meshes"], "{:g} to {:g}".format(*stats["times"])
    parts = [f"{stats['points']} points in {stats['frames']} frames at times {times}"]
    parts += [] if stats["normals"].startswith("given") else ["normals estimated"]
    parts += [f"depth {stats['depth']}", f"smoothness {stats['smoothness']:.3g}", f"tolerance {stats['tolerance']:.3g}"]
    if meshes:
        closed = sum(one["watertight"] for one in meshes)
        faces = [one["faces"] for one in meshes]
        many = f"{len(meshes)} meshes of {min(faces)} to {max(faces)}" if len(meshes) > 1 else f"1 mesh of {faces[0]}"
        parts.append(f"{many} faces, {closed} watertight")
    else:
        parts.append(f"{stats['coefficients']} coefficients")
    parts.append(f"{each['fit']:.2g} s per frame to fit")
    parts += [] if each["mesh"] is None else [f"{each['mesh']:.2g} s per mesh"]
    parts += [f"{stats['seconds']['total']:.1f} s", as_size(stats["peak_memory"])]
    print(f"{stats['output']}: {', '.join(parts)}")


def _in_table(stats: dict) -> str:
    rows = [(f"{stage}, seconds", f"{seconds:.2f}") for stage, seconds in stats["seconds"].items()]
    rows += [("fit, seconds per frame", f"{stats['seconds_per_frame']['fit']:.2f}")]
    rows += [(f"mesh at time {one['time']:g}", _of_mesh(one)) for one in stats["meshes"]]
    rows += [("peak memory", as_size(stats["peak_memory"]))]
    rows.append(("memory of the fit per frame", as_size(round(stats["fit_memory"] / stats["frames"]))))
    for name in ("frames", "points", "normals", "method", "order", "depth", "smoothness", "tolerance", "time_scale"):
        rows.append((name.replace("_", " "), as_word(stats[name])))
    rows += [(name, as_word(stats[name])) for name in ("resolution", "coefficients", "threads")]
    rows += [(f"dropped, {reason}", str(number)) for reason, number in stats["dropped"].items() if number]
    return table(rows)


def _of_mesh(one: dict) -> str:
    closed = "watertight" if one["watertight"] else "open"
    return f"{one['vertices']} vertices, {one['faces']} faces, {closed}, {one['seconds']:.2f} s"
