"""Values of options: from the words of a command line to numbers, vectors and colours, or a word of advice."""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ..fields.limits import DEEPEST_SURFACE
from .reporting import listed

DASH = Path("-")  # standard input or output

COLORS = {
    "white": (1.0, 1.0, 1.0),
    "silver": (0.78, 0.79, 0.80),
    "grey": (0.55, 0.56, 0.58),
    "gray": (0.55, 0.56, 0.58),
    "black": (0.0, 0.0, 0.0),
    "red": (0.80, 0.25, 0.22),
    "orange": (0.93, 0.56, 0.25),
    "yellow": (0.93, 0.80, 0.33),
    "green": (0.42, 0.66, 0.38),
    "teal": (0.27, 0.60, 0.60),
    "blue": (0.30, 0.50, 0.78),
    "purple": (0.56, 0.44, 0.72),
    "pink": (0.90, 0.62, 0.68),
    "brown": (0.55, 0.40, 0.28),
}
TRANSPARENT = "transparent"
MEASURES = ("distance", "density", "filled", "uncertainty", "curvature", "gradient_length")  # Surface.mesh knows them
SPEED = "speed"  # and meshes of moving surfaces know this
_LARGEST_SIDE = 16384
_MOST_SAMPLES = 16
_FEWEST_FACES = 4  # those of a tetrahedron

Triple = tuple[float, float, float]


def add_input(
    parser: argparse.ArgumentParser, metavar: str, what: str, suffixes: Sequence[str], text: str | None = None
) -> None:
    """The files to read, and --from; ``text`` is the ending of what is not recognised from its first bytes."""
    parser.add_argument("inputs", nargs="+", type=path_or_dash, metavar=metavar, help=f"{what}; - for standard input")
    such = f"{suffixes[0][1:]} or {suffixes[1][1:]}"
    from_help = f"format of standard input, such as {such} (default: recognised, where it can be)"
    parser.add_argument("--from", dest="source", type=ending(suffixes), metavar="FORMAT", help=from_help)
    parser.set_defaults(text=text)


def add_output(
    parser: argparse.ArgumentParser, metavar: str, what: str, suffixes: Sequence[str], each: bool = False
) -> None:
    """The options -o and --to: ``what`` can be written; the first ending is that of standard output."""
    output_help = f"{what}; - for standard output"
    parser.add_argument("-o", "--output", type=path_or_dash, required=True, metavar=metavar, help=output_help)
    parser.set_defaults(target=None, default_target=suffixes[0])
    if len(suffixes) > 1:
        where = "standard output, and of files in a folder" if each else "standard output"
        to_help = f"format of {where} (default: {suffixes[0][1:]})"
        parser.add_argument("--to", dest="target", type=ending(suffixes), metavar="FORMAT", help=to_help)


def path_or_dash(text: str) -> Path:
    """A path; a file that is called "-" is ./-"""
    path = Path(text)
    return path.absolute() if path == DASH and text != "-" else path


def ending(suffixes: Sequence[str]) -> Callable[[str], str]:
    """The type of an option that is one of some endings, with the dot or without."""

    def parse(text: str) -> str:
        suffix = f".{text.strip().lower().removeprefix('.')}"
        if suffix not in suffixes:
            raise argparse.ArgumentTypeError(f"must be {listed([known[1:] for known in suffixes])}, got {text!r}")
        return suffix

    return parse


def _number(kind: Callable, valid: Callable, what: str) -> Callable:
    """The type of an option that is a number for which ``valid`` holds; ``what`` says which ones these are."""

    def parse(text: str):
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or not valid(number):
            point = ", with a decimal point" if "," in text else ""
            raise argparse.ArgumentTypeError(f"must be {what}{point}, got {text!r}")
        return number

    return parse


length = _number(float, lambda x: math.isfinite(x) and x > 0, "a positive length")
distance = _number(float, lambda x: math.isfinite(x) and x >= 0, "a length, 0 or more")
share = _number(float, lambda x: 0 <= x < 1, "a number from 0 up to, but not including, 1")
count = _number(int, lambda n: n >= 1, "a whole number, 1 or more")
faces = _number(int, lambda n: n >= _FEWEST_FACES, f"a whole number, {_FEWEST_FACES} or more")
depth = _number(int, lambda n: 1 <= n <= DEEPEST_SURFACE, f"a whole number from 1 to {DEEPEST_SURFACE}")
samples = _number(int, lambda n: 1 <= n <= _MOST_SAMPLES, f"a whole number from 1 to {_MOST_SAMPLES}")


def memory(text: str) -> int:
    """Bytes of a size such as 500MB."""
    match = re.fullmatch(r"([\d.]+) *([kmgt])(i?)b", text.strip(), re.IGNORECASE)
    if match is None or match[1].count(".") > 1 or not float(match[1].strip(".") or 0) > 0:
        raise argparse.ArgumentTypeError(f"must be a size such as 500MB, 4GB or 2GiB, got {text!r}")
    factor = (1024 if match[3] else 1000) ** (1 + "kmgt".index(match[2].lower()))
    return int(float(match[1]) * factor)


def number_or_word(text: str) -> float | str:
    """A number, whole if it is written so; words are judged by those who take them."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def words(text: str) -> list[str]:
    """Words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def measures(text: str) -> list[str]:
    """Names of what can be measured at the vertices of a mesh, each of them once."""
    names = list(dict.fromkeys(word.lower().replace("-", "_") for word in words(text)))
    unknown = [name for name in names if name not in (*MEASURES, SPEED)]
    if unknown or not names:
        got = repr(unknown[0] if unknown else text)
        raise argparse.ArgumentTypeError(f"must be {listed(MEASURES)}, or several with commas, got {got}")
    return names


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(word) for word in words(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None


def vector(text: str) -> Triple:
    """A direction in space."""
    triple = _triple(text)
    if triple is None or not any(triple):
        raise argparse.ArgumentTypeError(f"must be three numbers with commas between them, not all zero, got {text!r}")
    return triple


def place(text: str) -> Triple:
    """A point in space."""
    triple = _triple(text)
    if triple is None:
        raise argparse.ArgumentTypeError(f"must be three numbers with commas between them, got {text!r}")
    return triple


def _triple(text: str) -> Triple | None:
    try:
        triple = tuple(float(word) for word in text.split(","))
    except ValueError:
        return None
    return triple if len(triple) == 3 and all(map(math.isfinite, triple)) else None


def picture_size(text: str) -> tuple[int, int]:
    """Width and height in pixels."""
    match = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    sides = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not all(1 <= side <= _LARGEST_SIDE for side in sides):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, 1 to {_LARGEST_SIDE} each, got {text!r}")
    return sides


def color(text: str) -> Triple:
    """Red, green and blue from 0 to 1."""
    word = text.strip().lower()
    if word in COLORS:
        return COLORS[word]
    if re.fullmatch(r"#[0-9a-f]{6}", word):
        red, green, blue = (int(word[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return red, green, blue
    triple = _triple(text)
    if triple is None or min(triple) < 0 or max(triple) > 255:
        raise argparse.ArgumentTypeError(
            f"must be R,G,B (from 0 to 1, or from 0 to 255), #rrggbb or {listed(list(COLORS))}, got {text!r}"
        )
    scale = 255 if max(triple) > 1 else 1
    return triple[0] / scale, triple[1] / scale, triple[2] / scale


def background(text: str) -> Triple | str:
    """A colour or none at all."""
    return TRANSPARENT if text.strip().lower() == TRANSPARENT else color(text)
