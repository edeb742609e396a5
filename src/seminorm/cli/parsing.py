"""The parser: what is wrong is said in one line, with the nearest option there is; and the layout of the help."""

import argparse
import re
import sys
from collections.abc import Generator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from .options import path_or_dash
from .reporting import listed

_COLUMN = 26  # where the help of an option begins
_ERRORS = [  # of argparse, in shorter words
    (r"^argument (\S+): must be", r"\1 must be"),
    (r"^argument (\S+): not allowed with argument (\S+)", r"\1 is not allowed with \2: leave out one of them"),
    (r"^argument (\S+): expected one argument", r"\1 needs a value"),
    (r"^argument (\S+): invalid choice: (.*) \(choose from (.*)\)", r"\1 must be one of \3, got \2"),
    (r"^argument (\S+): ignored explicit argument (.*)", r"\1 takes no value, got \2"),
    (r"^argument ", ""),
    (r"^the following arguments are required: (.*)", r"missing: \1"),
    (r"^(missing: .*)-o/--output", r"\1-o FILE, what to write"),
    (r"^ambiguous option: (\S+) could match (.*)", r"\1 may be \2: write more of it"),
]


class Parser(argparse.ArgumentParser):
    """A parser that suggests options, and takes the files of a verb on either side of its options."""

    def __init__(self, *arguments: Any, **options: Any):
        options.setdefault("formatter_class", Layout)
        super().__init__(*arguments, **options)
        self._positionals.title = "files"
        self.verbs: dict[str, argparse.ArgumentParser] = {}

    def set_layout(self, usage: str, *examples: str) -> None:
        """What stands first and last in the help: ``usage`` without the name of the program, and command lines."""
        self.usage = f"%(prog)s {usage}"
        lines = "\n  ".join(examples)
        self.epilog = f"{'examples' if len(examples) > 1 else 'example'}:\n  {lines}"

    def parse_known_args(self, args=None, namespace=None):
        """Refuse unknown verbs and options before argparse misses what they were meant to be."""
        words = list(sys.argv[1:] if args is None else args)
        for word in words:
            if word == "--":
                break
            if word.startswith("-") and word != "-":
                self._check_option(word)
            elif self.verbs:
                self._check_verb(word)
                break
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """How the command is used, and what is wrong with it."""
        for pattern, words in _ERRORS:
            message = re.sub(pattern, words, message)
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\n")

    def _check_option(self, word: str) -> None:
        name, known = word.partition("=")[0], [option for option in self._option_string_actions if option[:2] == "--"]
        if name.startswith("--"):
            if not any(option.startswith(name) for option in known):  # the beginning of an option is enough
                self.error(f"there is no option {name}{_nearest(name, known) or '; --help lists all'}")
        elif re.fullmatch(r"-[a-z][a-z-]{2,}", name) and (meant := [o for o in known if o.startswith(f"-{name}")]):
            self.error(f"there is no option {name}: did you mean {listed(meant)}?")

    def _check_verb(self, word: str) -> None:
        if word not in self.verbs:
            advice = _nearest(word, list(self.verbs)) or f": there are {listed(list(self.verbs), 'and')}"
            if Path(word).suffix:
                advice = f": say first what to do with a file, as in {self.prog} reconstruct {word}"
            self.error(f"there is no verb {word}{advice}")


class Layout(argparse.HelpFormatter):
    """Several lines, such as examples, stay as they are written; verbs stand in a column of their own."""

    def __init__(self, prog: str, **options: Any):
        super().__init__(prog, max_help_position=_COLUMN, **options)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        return text.partition("\n")[2] if action.nargs == argparse.PARSER else text

    def _iter_indented_subactions(self, action: argparse.Action) -> Generator[argparse.Action, None, None]:
        yield from getattr(action, "_get_subactions", list)()


def parsed(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line."""
    arguments, rest = parser.parse_known_args(with_lists(argv))
    plain = rest.index("--") if "--" in rest else len(rest)  # what follows is no option
    for word in (*rest[:plain], *rest[plain + 1 :]):
        if arguments.verb is None or (word.startswith("-") and word != "-" and word in rest[:plain]):
            (parser.verbs.get(arguments.verb) or parser).error(f"there is no option {word}; --help lists all")
        arguments.inputs.append(path_or_dash(word))
    return arguments


def with_lists(argv: Sequence[str]) -> list[str]:
    """``--bounds -1,2`` as ``--bounds=-1,2``: argparse takes a list that starts with a minus for an option."""
    joined: list[str] = []
    for word in argv:
        if re.match(r"-[\d.]", word) and joined and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _nearest(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f": did you mean {near[0]}?" if near else ""
