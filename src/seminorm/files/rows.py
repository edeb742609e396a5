"""Rows of numbers in text files: reading the next lines, points or polygons, and writing columns."""

import re
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from .errors import FileFormatError, truncated

BLOCK_LINES = 2**14
_FACE_LINES = 2**18


def is_number(word: str) -> bool:
    """Whether a word is a number, NaN and infinity included."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def load_rows(
    lines: Iterable[str], delimiter: str | None = None, n: int | None = None, columns: Sequence[int] | None = None
) -> np.ndarray:
    """Numbers of lines, (n, k), without blank lines and comments after #; a ValueError if something is no number."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*contained no data")  # said by the caller, with the path
        return np.loadtxt(lines, delimiter=delimiter, usecols=columns, comments="#", quotechar='"', ndmin=2, max_rows=n)


def reason_of(error: ValueError) -> str:
    """What NumPy found wrong with lines of numbers, without its advice."""
    return str(error).partition(";")[0].rstrip(".")


def skip_lines(file: TextIO, n: int) -> None:
    """Pass over the next n lines of an open file."""
    next(islice(file, n, n), None)


def number_rows(
    path: Path, file: TextIO, n: int, width: int | None, what: str, delimiter: str | None = None
) -> np.ndarray:
    """The next n lines of an open file as an array (n, width); the width of the first line if it is None."""
    if n == 0:
        return np.zeros((0, width or 0))
    try:
        rows = load_rows(file, delimiter, n)
    except ValueError as error:
        if not any(line.strip() for line in file):
            raise truncated(path, what, n, _complete_rows(error)) from error
        raise FileFormatError(f"{path} is damaged: among its {n} {what}, {reason_of(error)}.") from error
    if len(rows) < n:
        raise truncated(path, what, n, len(rows))
    if width is not None and rows.shape[1] != width:
        raise FileFormatError(f"{path}: the lines of the {what} have {rows.shape[1]} numbers where {width} are due.")
    return rows


def write_rows(file: TextIO, columns: Sequence[np.ndarray], line: str) -> None:
    """Write columns through the format of one line."""
    for first in range(0, len(columns[0]), BLOCK_LINES):
        block = [column[first : first + BLOCK_LINES].tolist() for column in columns]
        flat = [number for row in zip(*block, strict=True) for number in row]
        file.write(line * len(block[0]) % tuple(flat))


def _complete_rows(error: ValueError) -> int:
    """How many rows NumPy could read; it counts those of a wrong length from 1, those with wrong text from 0."""
    row = re.search(r"at row (\d+)", str(error))
    return 0 if row is None else int(row[1]) - ("columns changed" in str(error))


def triangulated(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles (m, 3) of polygons, as fans; ``counts`` of their corners, and all corners one after the other."""
    if (counts == 3).all():
        return corners.reshape(-1, 3)
    start = np.cumsum(counts) - counts
    n_triangles = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(counts)), n_triangles)
    within = np.arange(len(polygon)) - np.repeat(np.cumsum(n_triangles) - n_triangles, n_triangles)
    first = start[polygon]
    return np.stack([corners[first], corners[first + within + 1], corners[first + within + 2]], axis=1)


def polygons_from_lines(path: Path, file: TextIO, n: int, before: Sequence[bool] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Counts and corners of n lines that hold a count and then the corners.

    ``before`` are the entries of a line in front of the count: False for one number, True for a list of its own.
    Numbers behind the corners are passed over.
    """
    counts, corners, found = [], [], 0
    lines = (line for line in file if line.strip() and not line.lstrip().startswith("#"))
    while found < n:
        block = list(islice(lines, min(_FACE_LINES, n - found)))
        if not block:
            raise truncated(path, "faces", n, found)
        try:
            part = _regular(block, before) or _irregular(block, before)
        except (ValueError, IndexError) as error:
            if next(lines, None) is None and found + len(block) == n:
                raise truncated(path, "faces", n, n - 1) from error
            which = f"one of the faces {found} to {found + len(block) - 1}"
            raise FileFormatError(f"{path} is damaged: {which} is no list of numbers.") from error
        counts.append(part[0])
        corners.append(part[1])
        found += len(block)
    return (np.concatenate(counts), np.concatenate(corners)) if n else (np.zeros(0, int), np.zeros(0, int))


def _regular(lines: list[str], before: Sequence[bool]) -> tuple[np.ndarray, np.ndarray] | None:
    """All lines at once, if they have the same number of corners."""
    if any(before):
        return None
    try:
        table = np.loadtxt(lines, ndmin=2)
    except ValueError:
        return None
    k = len(before)
    count = int(table[0, k])
    if (table[:, k] != count).any() or table.shape[1] < k + 1 + count:
        return None
    return np.full(len(table), count), table[:, k + 1 : k + 1 + count].astype(np.int64).ravel()


def _irregular(lines: list[str], before: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    counts: list[int] = []
    corners: list[int] = []
    for line in lines:
        words, k = line.split(), 0
        for is_list in before:
            k += 1 + int(words[k]) if is_list else 1
        count = int(words[k])
        if len(words) < k + 1 + count or count < 0:
            raise ValueError("a list is longer than its line")
        counts.append(count)
        corners.extend(map(int, words[k + 1 : k + 1 + count]))
    return np.array(counts), np.array(corners, dtype=np.int64)
