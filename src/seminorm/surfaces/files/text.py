"""Reading and writing points as text: XYZ, TXT, PTS, PWN and the like.

Lines hold numbers between blanks, commas or semicolons; lines that start with # or // are comments. Names of the
columns are taken from a first line of words or from the comment above the numbers. Without them, the columns behind
x, y and z are read as

- one: intensity
- three: normals, or colours if they are whole numbers from 0 to 255 (or the ending is .xyzrgb)
- four: intensity and colours if these are whole numbers from 0 to 255, else normals and one more
- six: normals and colours, or colours from 0 to 255 and normals

and what is left becomes an attribute called by its number.
"""

from __future__ import annotations

import re
import warnings
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...serialization import whole_file
from ..cloud import PointCloud
from .columns import COLORS, NORMALS, POINTS, Content, build, color_scale, layout_of
from .errors import FileFormatError, not_a, truncated

_BLOCK_LINES = 2**14


class _Head(NamedTuple):
    """How a file starts: what is above the numbers, and how they are separated."""

    n_lines: int
    names: list[str] | None
    count: int | None
    delimiter: str | None


def read(path: Path, faces: bool = False) -> Content:
    """Points and what else stands in their lines."""
    head = _head(path)
    with _open(path) as file:
        skip_lines(file, head.n_lines)
        if head.count is None:
            rows = _all_rows(path, file, head)
        elif path.suffix.lower() == ".pwn":
            rows = number_rows(path, file, 2 * head.count, 3, "lines of positions and normals", head.delimiter)
            rows = np.hstack([rows[: head.count], rows[head.count :]])
        else:
            rows = _blocks(path, file, head)
    if rows.shape[1] < 3:
        raise FileFormatError(f"{path} has {rows.shape[1]} columns, and points have at least three.")
    names = head.names if head.names is not None and len(head.names) == rows.shape[1] else None
    if names is None or not {*POINTS} <= {name.lower() for name in names}:
        names = guessed_names(rows, colors_first=path.suffix.lower() == ".xyzrgb")
    columns = dict(zip(names, rows.T, strict=True))
    layout = layout_of(names, path)
    return Content(build(layout, columns, color_scale(layout, columns)))


def skip_lines(file, n: int) -> None:
    """Pass over the next n lines of an open file."""
    next(islice(file, n, n), None)


def number_rows(path: Path, file, n: int, width: int | None, what: str, delimiter: str | None = None) -> np.ndarray:
    """The next n lines of an open file as an array (n, width); the width of the first line if it is None."""
    if n == 0:
        return np.zeros((0, width or 0))
    try:
        rows = _load(file, delimiter, n)
    except ValueError as error:
        if not any(line.strip() for line in file):
            raise truncated(path, what, n, _complete_rows(error)) from error
        reason = str(error).partition(";")[0].rstrip(".")
        raise FileFormatError(f"{path} is damaged: among its {n} {what}, {reason}.") from error
    if len(rows) < n:
        raise truncated(path, what, n, len(rows))
    if width is not None and rows.shape[1] != width:
        raise FileFormatError(f"{path}: the lines of the {what} have {rows.shape[1]} numbers where {width} are due.")
    return rows


def guessed_names(rows: np.ndarray, colors_first: bool = False) -> list[str]:
    """Names for columns that have none; see the module."""
    width = rows.shape[1]
    has_colors_first = colors_first or (_are_bytes(rows[:, 3:6]) and not _are_units(rows[:, 3:6]))
    triple = [*(COLORS[0] if has_colors_first else NORMALS[0])]
    if width < 6:
        rest = ["intensity"] if width == 4 else []
    elif width == 7 and _are_bytes(rows[:, 4:7]) and not _are_units(rows[:, 3:6]):
        rest = ["intensity", *COLORS[0]]
    elif width == 9:
        rest = triple + [*(NORMALS[0] if has_colors_first else COLORS[0])]
    else:
        rest = triple
    return [*POINTS, *rest, *(f"column{k + 1}" for k in range(3 + len(rest), width))]


def write_points(path: Path, cloud: PointCloud) -> None:
    """Write a comment with the names of the columns, then the points; colours as whole numbers up to 255."""
    names, columns, formats = [*POINTS], [*cloud.points.T], ["%.17g"] * 3
    if cloud.normals is not None:
        names, columns, formats = names + [*NORMALS[0]], columns + [*cloud.normals.T], formats + ["%.17g"] * 3
    if cloud.colors is not None:
        names, formats = names + [*COLORS[0]], formats + ["%d"] * 3
        columns += [np.rint(np.nan_to_num(column) * 255) for column in cloud.colors.T]
    for name, values in cloud.attributes.items():
        if values.dtype.kind not in "biuf":
            raise ValueError(f"attribute {name!r} cannot be written as numbers: it holds {values.dtype}.")
        name, parts = "_".join(name.split()), values.reshape(len(cloud), -1).T
        names += [name] if values.ndim == 1 else [f"{name}_{k}" for k in range(len(parts))]
        columns += [*parts]
        formats += ["%.17g" if values.dtype.kind == "f" else "%d"] * len(parts)
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(f"# {' '.join(names)}\n")
        write_rows(file, columns, " ".join(formats) + "\n")


def write_rows(file, columns: list[np.ndarray], line: str) -> None:
    """Write columns through the format of one line."""
    n = len(columns[0])
    for first in range(0, n, _BLOCK_LINES):
        block = [column[first : first + _BLOCK_LINES].tolist() for column in columns]
        flat = [number for row in zip(*block, strict=True) for number in row]
        file.write(line * len(block[0]) % tuple(flat))


def _are_bytes(values: np.ndarray) -> bool:
    """Whether numbers look like colours from 0 to 255."""
    if values.shape[1] < 3:
        return False
    low, high = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    return bool(low >= 0 and 1 < high <= 255 and (values == np.rint(values)).all())


def _are_units(values: np.ndarray) -> bool:
    """Whether most of some vectors have length one."""
    return values.shape[1] == 3 and float(np.median(np.abs((values**2).sum(axis=1) - 1))) < 0.01


def _complete_rows(error: ValueError) -> int:
    """How many rows NumPy could read; it counts those of a wrong length from 1, those with wrong text from 0."""
    row = re.search(r"at row (\d+)", str(error))
    return 0 if row is None else int(row[1]) - ("columns changed" in str(error))


def _open(path: Path):
    return open(path, encoding="utf-8-sig", errors="replace")


def _load(lines, delimiter: str | None, n: int | None = None) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*contained no data")  # said by the caller, with the path
        return np.loadtxt(lines, delimiter=delimiter, comments="#", ndmin=2, max_rows=n)


def _head(path: Path) -> _Head:
    """Look at a file up to its first line of numbers."""
    names, has_header = None, False
    with _open(path) as file:
        for n_lines, line in enumerate(file):
            if "\0" in line:
                raise not_a("text", path)
            text = line.strip()
            if not text:
                continue
            delimiter = _delimiter(text)
            words = _words(text.lstrip("#/"), delimiter)
            n_numbers = sum(map(_is_number, words))
            if text.startswith(("#", "//")):
                names = words
            elif n_numbers == 0 and not has_header:
                names, has_header = words, True
            elif n_numbers < len(words):
                raise not_a("point", path)
            elif len(words) == 1 and words[0].isdecimal():
                return _Head(n_lines + 1, names, int(words[0]), _delimiter(file.readline()))
            else:
                return _Head(n_lines, names, None, delimiter)
    raise FileFormatError(f"{path} holds no points: it has no line of numbers.")


def _all_rows(path: Path, file, head: _Head) -> np.ndarray:
    try:
        return _load(file, head.delimiter)
    except ValueError as error:
        raise FileFormatError(f"{path}, {_first_fault(path, head)}.") from error


def _first_fault(path: Path, head: _Head) -> str:
    width = None
    with _open(path) as file:
        for place, line in islice(enumerate(file, start=1), head.n_lines, None):
            text = line.partition("#")[0].strip()
            words = _words(text, head.delimiter) if text else []
            wrong = next((word for word in words if not _is_number(word)), None)
            if wrong is not None:
                return f"line {place}: the text {wrong!r} stands where a number is wanted"
            width = len(words) if width is None and words else width
            if words and len(words) != width:
                return f"line {place}: it has {len(words)} columns where the lines above have {width}"
    return "whose numbers cannot be read"


def _blocks(path: Path, file, head: _Head) -> np.ndarray:
    """Blocks of lines, each below a line with their number."""
    blocks = [number_rows(path, file, head.count, None, "points", head.delimiter)]
    for line in file:
        if not line.strip():
            continue
        if not line.strip().isdecimal():
            raise FileFormatError(f"{path} is damaged: there are more lines than the {len(blocks[-1])} it promises.")
        blocks.append(number_rows(path, file, int(line), blocks[0].shape[1], "points", head.delimiter))
    return np.concatenate(blocks)


def _delimiter(line: str) -> str | None:
    return next((mark for mark in ",;" if mark in line), None)


def _words(text: str, delimiter: str | None) -> list[str]:
    return [word.strip(" \t\"'") for word in text.strip().split(delimiter)]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word
