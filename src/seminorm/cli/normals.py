"""``seminorm normals``: points in a file, the same points with outward normals out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import options
from .paths import POINT_SUFFIXES, check_different, check_input, check_output
from .reporting import Clock, listed, shown_warnings, threads, warn

HELP = "estimate the outward normals of points"
_WRITTEN = (".ply", ".xyz", ".txt", ".npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.epilog = "Example: seminorm normals scan.xyz -o oriented.ply --sensor 0,0,10"
    parser.add_argument("points", type=Path, metavar="POINTS", help=f"file of points: {listed(POINT_SUFFIXES)}")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help=f"file to write: {listed(_WRITTEN)}"
    )
    parser.add_argument("--neighbours", type=options.count, metavar="K", help="of each point (default: from the noise)")
    parser.add_argument(
        "--sensor", type=options.place, metavar="X,Y,Z", help="where the points were measured from: normals look there"
    )
    parser.add_argument("--planes", action="store_true", help="fit planes to the neighbours, instead of quadrics")
    parser.add_argument("--confidence", action="store_true", help="write how sure each normal is, too, in [0, 1]")
    parser.add_argument("--threads", type=options.count, metavar="N", help="processors to use (default: all)")
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def run(arguments: argparse.Namespace) -> int:
    """Read, estimate, write, and say what was done."""
    check_input(arguments.points, POINT_SUFFIXES)
    check_output(arguments.output, _WRITTEN)
    check_different([arguments.points], {"--output": arguments.output})
    clock = Clock()
    progress = not arguments.quiet and sys.stderr.isatty()
    with shown_warnings(), threads(arguments.threads), clock.stage("all"):
        from .._compilation import announce_compilation
        from ..surfaces import _neighbourhoods, _orientation
        from ..surfaces.cloud import PointCloud
        from ..surfaces.files import read_points, write_points
        from ..surfaces.normals import estimate_normals

        if not arguments.quiet:
            loops = [_neighbourhoods.fit_neighbourhoods, _orientation.edge_agreement]
            announce_compilation(loops, lambda message: print(message, file=sys.stderr, flush=True))
        found = estimate_normals(
            read_points(arguments.points),
            arguments.neighbours,
            sensor=arguments.sensor,
            fit="plane" if arguments.planes else "quadric",
            progress=progress,
        )
        attributes = dict(found.attributes)
        if arguments.confidence:
            attributes["confidence"] = found.confidence
        write_points(arguments.output, PointCloud(found.points, found.normals, found.colors, attributes))
    if found.oriented == "consistent":
        warn("nothing tells the inside of these points from the outside: all normals may be the wrong way round.")
    if not arguments.quiet:
        print(
            f"{arguments.output}: {len(found)} points, {found.k} neighbours, signs: {found.oriented}, mean confidence "
            f"{found.confidence.mean():.2f}, {clock.total:.1f} s"
        )
    return 0
