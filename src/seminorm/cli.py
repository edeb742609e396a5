"""The command line: ``seminorm VERB ...``, one sub-command a verb."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from . import __version__, cli_grid, cli_surfaces


@dataclass(frozen=True)
class Verb:
    """A sub-command: ``add_arguments`` fills its parser, ``run`` does the work and returns the exit status."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        default="demo",
        help="where to write the page and its pictures (default: %(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _demo(arguments: argparse.Namespace) -> int:
    from .demo import run

    page = run(arguments.output, progress=not arguments.quiet)
    print(f"The page is {page.resolve()}")
    return 0


VERBS = (
    Verb("demo", "build a page of pictures that shows what the library does", _add_demo_arguments, _demo),
    Verb("grid", cli_grid.HELP, cli_grid.add_arguments, cli_grid.run),
    Verb(
        "reconstruct",
        cli_surfaces.RECONSTRUCT_HELP,
        cli_surfaces.add_reconstruct_arguments,
        cli_surfaces.run_reconstruct,
    ),
    Verb("render", cli_surfaces.RENDER_HELP, cli_surfaces.add_render_arguments, cli_surfaces.run_render),
    Verb("info", cli_surfaces.INFO_HELP, cli_surfaces.add_info_arguments, cli_surfaces.run_info),
)


def make_parser() -> argparse.ArgumentParser:
    """The parser with every verb of ``VERBS``."""
    parser = argparse.ArgumentParser(prog="seminorm", description="Kernel methods whose regulariser is a semi-norm.")
    parser.add_argument("--version", action="version", version=f"seminorm {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error came from, instead of one line")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB")
    for verb in VERBS:
        subparser = verbs.add_parser(verb.name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".")
        verb.add_arguments(subparser)
        subparser.set_defaults(run=verb.run)
    return parser


def _with_lists(argv: list[str]) -> list[str]:
    """``--bounds -1,2`` as ``--bounds=-1,2``: argparse takes a list that starts with a minus for an option."""
    joined: list[str] = []
    for word in argv:
        if re.match(r"-[\d.]", word) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def main(argv: list[str] | None = None) -> int:
    """Run a command line, by default that of the process; the exit status is 0 done, 1 failed, 2 used wrongly."""
    parser = make_parser()
    arguments = parser.parse_args(_with_lists(sys.argv[1:] if argv is None else argv))
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        print("seminorm: interrupted", file=sys.stderr)
        return 130
    except (ImportError, MemoryError, OSError, ValueError) as error:
        if arguments.traceback:
            raise
        print(f"seminorm {arguments.verb}: {' '.join(str(error).split()) or 'not enough memory'}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
