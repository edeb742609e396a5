"""The command line: ``seminorm VERB ...``, one sub-command per verb, each in a file of its own.

A verb has HELP, ``add_arguments(parser)``, and ``run(arguments)``, which does the work and returns the exit status.
"""

import argparse
import sys

from .._base.version import __version__
from . import grid, info, normals, reconstruct, render
from .interrupts import heard_interrupts
from .parsing import Parser, parsed
from .reporting import tell_failure
from .streams import abandon_output, standard_streams

VERBS = {module.__name__.rpartition(".")[2]: module for module in (grid, normals, reconstruct, render, info)}
_DESCRIPTION = "Smooth surfaces from points, and grids from scattered data."
_TRACEBACK = "show where an error came from, instead of one line"


def make_parser() -> Parser:
    """The parser with every verb of ``VERBS``."""
    parser = Parser(prog="seminorm", description=_DESCRIPTION)
    parser.usage = "%(prog)s VERB FILE ... [option ...]"
    parser.epilog = "seminorm VERB --help has the options of a verb, and examples."
    parser.add_argument("--version", action="version", version=f"seminorm {__version__}")
    parser.add_argument("--traceback", action="store_true", help=_TRACEBACK)
    verbs = parser.add_subparsers(prog=parser.prog, title="verbs", dest="verb", metavar="VERB")
    for name, verb in VERBS.items():
        subparser = verbs.add_parser(name, help=verb.HELP, description=verb.HELP[0].upper() + verb.HELP[1:] + ".")
        verb.add_arguments(subparser)
        subparser.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=_TRACEBACK)
        subparser.set_defaults(run=verb.run)
        parser.verbs[name] = subparser
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command line, by default that of the process; 0 is done, 1 failed, 2 used wrongly, 130 interrupted."""
    parser = make_parser()
    arguments = parsed(parser, sys.argv[1:] if argv is None else argv)
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with heard_interrupts(), standard_streams(arguments):
            status = arguments.run(arguments)
            sys.stdout.flush()
            return status
    except KeyboardInterrupt:
        print("seminorm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the messages has seen enough
        abandon_output()
        return 1
    except Exception as error:
        if arguments.traceback:
            raise
        tell_failure(arguments.verb, error)
        return 1
