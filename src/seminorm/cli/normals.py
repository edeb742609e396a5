"""``seminorm normals``: points in a file, the same points with outward normals out."""

import argparse
import sys

from .batches import add_each, jobs_of, run_jobs
from .clouds import check_spread, sensors_of
from .options import add_input, add_output, count, place
from .parsing import Parser
from .paths import POINT_OUTPUT_SUFFIXES, POINT_SUFFIXES, check_different, check_one, check_output, check_points
from .reporting import Stopwatch, about, listed, shown, threads, warn

HELP = "estimate the outward normals of points"


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "POINTS -o FILE [option ...]",
        "seminorm normals scan.xyz -o oriented.ply",
        "seminorm normals scan.xyz -o oriented.ply --sensor 0,0,10 --confidence",
        "seminorm normals --each *.xyz -o 'oriented/{name}.ply'",
        "cat scan.xyz | seminorm normals - --from xyz -o - | seminorm info -",
    )
    add = parser.add_argument
    add_input(parser, "POINTS", f"file of points: {listed(POINT_SUFFIXES)}", POINT_SUFFIXES)
    add_output(parser, "FILE", f"file to write: {listed(POINT_OUTPUT_SUFFIXES)}", POINT_OUTPUT_SUFFIXES, each=True)
    add_each(parser, "one output")
    neighbors_help = "neighbours of each point, itself included (default: from the noise)"
    add("--neighbors", type=count, metavar="K", help=neighbors_help)
    sensor_help = "where the points were measured from: normals look there; with --each once, or once per file"
    add("--sensor", type=place, action="append", metavar="X,Y,Z", help=sensor_help)
    add("--planes", action="store_true", help="fit planes to the neighbours, instead of quadrics")
    add("--confidence", action="store_true", help="write how sure each normal is, too, in [0, 1]")
    add("--threads", type=count, metavar="N", help="processors to use (default: all)")
    add("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Estimate the normals of one file, or of each."""
    if not arguments.each:
        check_one(arguments.inputs, "--each estimates the normals of each")
    sensors_of(arguments)
    jobs = jobs_of(arguments)
    for job in jobs:
        check_output(job.output, POINT_OUTPUT_SUFFIXES)
    check_different(arguments.inputs, [("--output", job.output) for job in jobs])
    return run_jobs(jobs, _estimate)[1]


def _estimate(job: argparse.Namespace) -> None:
    """Read, estimate, write, and say what was done."""
    (path,), (sensor,) = job.inputs, sensors_of(job)
    check_points(path)
    clock = Stopwatch()
    verbose = not job.quiet and sys.stderr.isatty()
    with threads(job.threads), clock.stage("all"):
        from ..clouds.cloud import PointCloud
        from ..clouds.normals.estimation import estimate_normals
        from ..files import read_points, write_points

        given, fit = read_points(path), "plane" if job.planes else "quadric"
        check_spread(given, str(path))
        with about(str(path)):
            found = estimate_normals(given, job.neighbors, sensor=sensor, fit=fit, verbose=verbose)
        attributes = dict(found.attributes)
        if job.confidence:
            attributes["confidence"] = found.confidence
        write_points(job.output, PointCloud(found.points, found.normals, found.colors, attributes, found.sensor))
    if found.oriented == "consistent":
        warn(
            f"{path}: the inside of these points cannot be told from the outside, and all normals may be the wrong way "
            "round: give --sensor, if you know it."
        )
    if not job.quiet:
        print(
            f"{shown(job.output)}: {len(found)} points, {found.source}, signs: {found.oriented}, "
            f"mean confidence {found.confidence.mean():.2f}, {clock.total:.1f} s"
        )
