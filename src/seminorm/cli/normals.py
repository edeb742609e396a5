"""``seminorm normals``: points in a file, the same points with outward normals out."""

import argparse
import sys
from pathlib import Path

from .options import add_output, count, place
from .paths import POINT_OUTPUT_SUFFIXES, POINT_SUFFIXES, check_different, check_input, check_output
from .reporting import Stopwatch, listed, shown_warnings, threads, warn

HELP = "estimate the outward normals of points"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Example: seminorm normals scan.xyz -o oriented.ply --sensor 0,0,10"
    add = parser.add_argument
    add("points", type=Path, metavar="POINTS", help=f"file of points: {listed(POINT_SUFFIXES)}")
    add_output(parser, "FILE", listed(POINT_OUTPUT_SUFFIXES))
    add("--neighbors", type=count, metavar="K", help="of each point (default: from the noise)")
    add("--sensor", type=place, metavar="X,Y,Z", help="where the points were measured from: normals look there")
    add("--planes", action="store_true", help="fit planes to the neighbours, instead of quadrics")
    add("--confidence", action="store_true", help="write how sure each normal is, too, in [0, 1]")
    add("--threads", type=count, metavar="N", help="processors to use (default: all)")
    add("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Read, estimate, write, and say what was done."""
    check_input(arguments.points, POINT_SUFFIXES)
    check_output(arguments.output, POINT_OUTPUT_SUFFIXES)
    check_different([arguments.points], {"--output": arguments.output})
    clock = Stopwatch()
    verbose = not arguments.quiet and sys.stderr.isatty()
    with shown_warnings(), threads(arguments.threads), clock.stage("all"):
        from ..clouds.cloud import PointCloud
        from ..clouds.normals.estimation import estimate_normals
        from ..files import read_points, write_points

        given, fit = read_points(arguments.points), "plane" if arguments.planes else "quadric"
        found = estimate_normals(given, arguments.neighbors, sensor=arguments.sensor, fit=fit, verbose=verbose)
        attributes = dict(found.attributes)
        if arguments.confidence:
            attributes["confidence"] = found.confidence
        write_points(arguments.output, PointCloud(found.points, found.normals, found.colors, attributes))
    if found.oriented == "consistent":
        warn("the inside of these points cannot be told from the outside: all normals may be the wrong way round.")
    if not arguments.quiet:
        print(
            f"{arguments.output}: {len(found)} points, {found.n_neighbors} neighbours, signs: {found.oriented}, "
            f"mean confidence {found.confidence.mean():.2f}, {clock.total:.1f} s"
        )
    return 0
