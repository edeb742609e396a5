"""``python -m gallery``: build the page of pictures and say where it is."""

from __future__ import annotations

import argparse
import sys

from seminorm.cli.interrupts import heard_interrupts
from seminorm.cli.reporting import one_line

from . import run


def main(argv: list[str] | None = None) -> int:
    """Build the page; the exit status is 0, or 1 after an error, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="gallery", description="Build a page of pictures that shows the library.")
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        default="demo",
        help="where to write the page and its pictures (default: %(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    arguments = parser.parse_args(argv)
    try:
        with heard_interrupts():
            page = run(arguments.output, verbose=not arguments.quiet)
    except KeyboardInterrupt:
        print("gallery: interrupted", file=sys.stderr)
        return 130
    except (ImportError, MemoryError, OSError, ValueError) as error:
        print(f"gallery: {one_line(error) or 'not enough memory'}", file=sys.stderr)
        return 1
    print(f"The page is {page.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
