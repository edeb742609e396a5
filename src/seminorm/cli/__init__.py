"""The command line: ``seminorm VERB ...``, one sub-command per verb, each in a file of its own.

A verb has HELP, ``add_arguments(parser)``, and ``run(arguments)``, which does the work and returns the exit status.
"""

import argparse
import re
import sys

from .._base.version import __version__
from . import grid, info, normals, reconstruct, render
from .interrupts import heard_interrupts
from .reporting import one_line

VERBS = {module.__name__.rpartition(".")[2]: module for module in (grid, normals, reconstruct, render, info)}


def make_parser() -> argparse.ArgumentParser:
    """The parser with every verb of ``VERBS``."""
    parser = argparse.ArgumentParser(prog="seminorm", description="Kernel methods whose regulariser is a semi-norm.")
    parser.add_argument("--version", action="version", version=f"seminorm {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error came from, instead of one line")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB")
    for name, verb in VERBS.items():
        subparser = verbs.add_parser(name, help=verb.HELP, description=verb.HELP[0].upper() + verb.HELP[1:] + ".")
        verb.add_arguments(subparser)
        subparser.set_defaults(run=verb.run)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command line, by default that of the process; 0 is done, 1 failed, 2 used wrongly, 130 interrupted."""
    parser = make_parser()
    arguments = parser.parse_args(_with_lists(sys.argv[1:] if argv is None else argv))
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with heard_interrupts():
            return arguments.run(arguments)
    except KeyboardInterrupt:
        print("seminorm: interrupted", file=sys.stderr)
        return 130
    except (ImportError, MemoryError, OSError, ValueError) as error:
        if arguments.traceback:
            raise
        print(f"seminorm {arguments.verb}: {one_line(error) or 'not enough memory'}", file=sys.stderr)
        return 1


def _with_lists(argv: list[str]) -> list[str]:
    """``--bounds -1,2`` as ``--bounds=-1,2``: argparse takes a list that starts with a minus for an option."""
    joined: list[str] = []
    for word in argv:
        if re.match(r"-[\d.]", word) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
