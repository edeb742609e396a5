"""``seminorm demo``: a page of pictures."""

from __future__ import annotations

import argparse

HELP = "build a page of pictures that shows what the library does"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        default="demo",
        help="where to write the page and its pictures (default: %(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Build the page and say where it is."""
    from ..demo import run as build_page

    page = build_page(arguments.output, progress=not arguments.quiet)
    print(f"The page is {page.resolve()}")
    return 0
