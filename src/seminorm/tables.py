"""Columns of numbers from files: text with commas, semicolons, tabs or blanks between the columns, npy and npz."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from tqdm import tqdm

_DELIMITERS = "\t;,"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_CHUNK_LINES = 2**16


class Rows(NamedTuple):
    """Numbers read from a table.

    Attributes
    ----------
    values : array (n, k)
        NaN for what is missing.
    places : int array (n,)
        Line of each row in a text file, number of the row in others, from 1.
    """

    values: np.ndarray
    places: np.ndarray


def open_table(path) -> TextTable | ArrayTable:
    """The table in a file; its numbers are read by ``read``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seminorm.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x,y,depth\\n0.5,1,-20\\n2,3,\\n")
    ...     table = open_table(path)
    ...     table.names, table.read([table.column("depth"), table.column("1")]).values
    (['x', 'y', 'depth'], array([[-20. ,   0.5],
           [  nan,   2. ]]))
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file of points.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    return ArrayTable(path) if path.suffix in (".npy", ".npz") else TextTable(path)


class _Table:
    """What tables have in common.

    Attributes
    ----------
    path : Path
    names : list of str, or None
        Of the columns, where the file has them.
    width : int
        Number of columns.
    unit : str
        What ``places`` count.
    """

    path: Path
    names: list[str] | None
    width: int
    unit: str

    def column(self, selector: str) -> int:
        """The position of a column, given by its name or by its number from 1."""
        if self.names is not None and selector in self.names:
            return self.names.index(selector)
        if selector.isdecimal() and 1 <= int(selector) <= self.width:
            return int(selector) - 1
        raise ValueError(f"{self.path} has no column {selector!r}: it has {self._columns()}.")

    def label(self, column: int) -> str:
        """The name of a column, or its number where there are no names."""
        return str(column + 1) if self.names is None else self.names[column]

    def _columns(self) -> str:
        if self.names is None:
            return f"the columns 1 to {self.width}, without names"
        return ", ".join(self.names)


class TextTable(_Table):
    """Lines of numbers. A first line without any number holds the names of the columns, or a comment line above the
    numbers does; lines that start with # are comments.
    """

    unit = "line"

    def __init__(self, path: Path):
        self.path = path
        comment, head = self._head()
        self._delimiter = next((mark for mark in _DELIMITERS if mark in head[-1][1]), None)
        fields = self._split(head[0][1])
        has_header = any(fields) and not any(map(_is_number, fields))
        if has_header and len(head) == 1:
            raise ValueError(f"{path} has a line of names and no numbers.")
        self._header_line = head[0][0] if has_header else 0
        self.width = len(self._split(head[-1][1]))
        names = fields if has_header else self._split(comment)
        self.names = names if len(names) == self.width and all(names) else None

    def read(self, columns: Sequence[int], progress: bool = False) -> Rows:
        """The numbers of some columns."""
        parts, places = [], []
        size = self.path.stat().st_size
        with (
            tqdm(total=size, desc="reading", unit="B", unit_scale=True, disable=not progress) as bar,
            self._open() as file,
        ):
            lines = enumerate(file, start=1)
            while chunk := list(islice(lines, _CHUNK_LINES)):
                bar.update(sum(len(line) for _, line in chunk))
                chunk = [(place, line) for place, line in chunk if _is_data(line) and place != self._header_line]
                if chunk:
                    parts.append(self._parse(chunk, columns))
                    places.append([place for place, _ in chunk])
        return Rows(np.concatenate(parts), np.concatenate(places))

    def _open(self) -> TextIO:
        return self.path.open(encoding="utf-8-sig", errors="replace")

    def _head(self) -> tuple[str, list[tuple[int, str]]]:
        """The last comment above the first line, and the first two lines with their numbers."""
        comment, head = "", []
        with self._open() as file:
            for place, line in enumerate(file, start=1):
                if _is_data(line):
                    head.append((place, line))
                elif line.strip() and not head:
                    comment = line.strip().lstrip("# ")
                if len(head) == 2:
                    break
        if not head:
            raise ValueError(f"{self.path} holds no numbers.")
        return comment, head

    def _split(self, line: str) -> list[str]:
        if self._delimiter is None:
            return line.split()
        return [field.strip() for field in next(csv.reader([line.strip("\r\n")], delimiter=self._delimiter), [])]

    def _parse(self, lines: list[tuple[int, str]], columns: Sequence[int]) -> np.ndarray:
        """Numbers of lines: at once, or field by field where something is missing or wrong."""
        try:
            return np.loadtxt(
                [line for _, line in lines],
                delimiter=self._delimiter,
                usecols=columns,
                comments=None,
                quotechar='"',
                ndmin=2,
            )
        except ValueError:
            return np.array([self._numbers(place, line, columns) for place, line in lines])

    def _numbers(self, place: int, line: str, columns: Sequence[int]) -> list[float]:
        fields = self._split(line)
        if max(columns) >= len(fields):
            raise ValueError(
                f"{self.path}, line {place} has {len(fields)} columns, and column {max(columns) + 1} is wanted."
            )
        numbers = []
        for column in columns:
            field = fields[column]
            if not (_is_number(field) or field.lower() in _MISSING):
                raise ValueError(
                    f"{self.path}, line {place}: column {self.label(column)} has the text {field!r} where a number "
                    "is wanted. Choose other columns, or mend the line."
                )
            numbers.append(float(field) if _is_number(field) else math.nan)
        return numbers


class ArrayTable(_Table):
    """Arrays of an npy or npz file: one-dimensional ones are columns, two-dimensional ones are several, called by the
    name of the array and their number.
    """

    unit = "row"

    def __init__(self, path: Path):
        self.path = path
        try:
            content = np.load(path, allow_pickle=False)
            arrays = dict(content) if path.suffix == ".npz" else {"": content}
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} cannot be read as a file of arrays of numbers: {error}") from error
        self._arrays: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            self._add(name, array)
        lengths = {name: len(column) for name, column in self._arrays.items()}
        if not lengths or min(lengths.values()) == 0:
            raise ValueError(f"{path} holds no numbers.")
        if len(set(lengths.values())) > 1:
            stated = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"the arrays of {path} must have one row a point, all equally many: {stated}.")
        self.names = list(self._arrays) if path.suffix == ".npz" or content.dtype.names else None
        self.width = len(self._arrays)

    def read(self, columns: Sequence[int], progress: bool = False) -> Rows:
        """The numbers of some columns."""
        arrays = list(self._arrays.values())
        for column in columns:
            if arrays[column].dtype.kind not in "biuf":
                raise ValueError(
                    f"column {self.label(column)} of {self.path} holds {arrays[column].dtype}, not numbers."
                )
        values = np.stack([np.asarray(arrays[column], dtype=float) for column in columns], axis=1)
        return Rows(values, np.arange(1, len(values) + 1))

    def _add(self, name: str, array: np.ndarray) -> None:
        if array.dtype.names:
            for part in array.dtype.names:
                self._add(part, array[part])
        elif array.ndim == 1:
            self._arrays[name or "1"] = array
        elif array.ndim == 2:
            self._arrays |= {f"{name}{k}": column for k, column in enumerate(array.T, start=1)}
        elif array.ndim > 2:
            raise ValueError(f"{self.path} must hold columns: {name or 'its array'} has shape {array.shape}.")


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field
