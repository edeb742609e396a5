"""Columns of numbers from files: text with commas, semicolons, tabs or blanks between the columns, npy and npz."""

import csv
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from tqdm import tqdm

from .._base.formats import all_formats
from .errors import FileFormatError, not_a
from .rows import is_number, load_rows, skip_lines

_DELIMITERS = "\t;,"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "*", "-", "--", "?"})
_CHUNK_LINES = 2**16
_HEAD_LINES = 100  # that tell how numbers are written
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_CLOUDS = (".las", ".laz", ".ply", ".pcd", ".e57")


class Rows(NamedTuple):
    """Numbers (n, k) read from a table, NaN for what is missing; ``places`` are their lines, or rows, from 1."""

    values: np.ndarray
    places: np.ndarray


def open_table(path: str | os.PathLike[str]) -> "Table":
    """The table in a file; its numbers are read by ``read``.

    Parameters
    ----------
    path : path of an npy or npz file, of points in a LAS, LAZ, PLY, PCD or E57 file, or of text with commas,
        semicolons, tabs or blanks between the columns

    Returns
    -------
    Table, with ``names``, ``width``, ``column(name)`` and ``read(columns)``

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seminorm.files import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x,y,depth\\n0.5,1,-20\\n2,3,\\n")
    ...     table = open_table(path)
    ...     table.names, table.read([table.column("depth"), table.column("1")]).values
    (['x', 'y', 'depth'], array([[-20. ,   0.5],
           [  nan,   2. ]]))

    See Also
    --------
    read_points : Reads points with normals, colours and attributes.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file of points.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    suffix = path.suffix.lower()
    if suffix in (".npy", ".npz"):
        return ArrayTable(path, _arrays_in(path))
    return ArrayTable(path, _cloud_in(path)) if suffix in _CLOUDS else TextTable(path, decimal_commas=True)


class Table(ABC):
    """What tables have in common; :func:`open_table` makes them.

    Attributes
    ----------
    path : Path
    names : list of str, or None where the file has none
    width : int
        Number of columns.
    unit : str
        What ``places`` count.

    See Also
    --------
    open_table
    """

    path: Path
    names: list[str] | None
    width: int
    unit: str

    @abstractmethod
    def read(self, columns: Sequence[int] | None = None, verbose: bool = False) -> Rows:
        """The numbers of some columns, by default of all; ``verbose`` shows a bar."""

    def column(self, selector: str) -> int:
        """The position of a column, given by its name or by its number from 1."""
        if self.names is not None and selector in self.names:
            return self.names.index(selector)
        if selector.isdecimal() and 1 <= int(selector) <= self.width:
            return int(selector) - 1
        known = f"the columns 1 to {self.width}, without names" if self.names is None else ", ".join(self.names)
        raise ValueError(f"{self.path} has no column {selector!r}: it has {known}.")

    def label(self, column: int) -> str:
        """The name of a column, or its number where there are no names."""
        return str(column + 1) if self.names is None else self.names[column]


class TextTable(Table):
    """Lines of numbers, the one reader of tables in text files.

    A first line without any number holds the names of the columns, or a comment line above the numbers does. Lines that
    start with # or // are comments. The first of ``delimiters`` that occurs stands between columns, else blanks (None).
    With ``decimal_commas``, commas are decimal marks where something else stands between the columns and no number has
    a point.
    ``first_fields`` are those of the first line below the names; if it is one whole number, that is ``count``.
    """

    unit = "line"

    def __init__(self, path: Path, delimiters: str = _DELIMITERS, decimal_commas: bool = False):
        self.path, self._delimiters = path, delimiters
        comment, lines = self._head(_HEAD_LINES if decimal_commas else 2)
        head = lines[:2]
        self.delimiter, self._has_decimal_commas = self._delimiter_of(head[-1][1]), False
        rows = [line for _, line in lines[1:] or lines]
        delimiter = None if self.delimiter == "," else self.delimiter
        if decimal_commas and _are_decimal_commas([_split(line, delimiter) for line in rows], delimiter):
            self.delimiter, self._has_decimal_commas = delimiter, True
        head = [(place, self._plain(line)) for place, line in head]
        fields = _split(head[0][1], self.delimiter)
        has_header = any(fields) and not any(map(is_number, fields))
        if has_header and len(head) == 1:
            raise FileFormatError(f"{path} has a line of names and no numbers: there is no line of numbers in it.")
        place, line = head[1] if has_header else head[0]
        self._n_above = place - 1
        self.first_fields = _split(line, self.delimiter)
        is_count = len(self.first_fields) == 1 and self.first_fields[0].isdecimal()
        self.count = int(self.first_fields[0]) if is_count else None
        self.width = len(self.first_fields)
        self.names = self._names(head[0][1] if has_header else comment)

    def read(self, columns: Sequence[int] | None = None, verbose: bool = False, *, strict: bool = False) -> Rows:
        """The numbers of some columns, by default of all; if strict, gaps and lines of other lengths are errors."""
        parts, place = [], self._n_above + 1
        bar = tqdm(total=self.path.stat().st_size, desc="reading", unit="B", unit_scale=True, disable=not verbose)
        with bar, self.open_numbers() as file:
            while lines := list(islice(file, _CHUNK_LINES)):
                bar.update(sum(map(len, lines)) if verbose else 0)
                plain = [self._plain(line) for line in lines] if self._has_decimal_commas else lines
                parts.append(self._parse(np.arange(place, place + len(lines)), plain, columns, strict))
                place += len(lines)
        return Rows(*map(np.concatenate, zip(*parts, strict=True)))

    @contextmanager
    def open_numbers(self) -> Iterator[TextIO]:
        """The file, at the first line below the names."""
        with self._open() as file:
            skip_lines(file, self._n_above)
            yield file

    def _open(self) -> TextIO:
        return self.path.open(encoding="utf-8-sig", errors="replace")

    def _head(self, n: int) -> tuple[str, list[tuple[int, str]]]:
        """The last comment above the first line, and the first lines with their numbers."""
        comment, head = "", []
        with self._open() as file:
            for place, line in enumerate(file, start=1):
                if "\0" in line:
                    raise not_a("text", self.path)
                if _is_data(line):
                    head.append((place, line))
                elif line.strip() and not head:
                    comment = line.strip().lstrip("#/ \t")
                if len(head) == n:
                    break
        if not head:
            raise FileFormatError(f"{self.path} holds no numbers: there is no line of numbers in it.")
        return comment, head

    def _names(self, line: str) -> list[str] | None:
        """The names in a line, if there is one per column."""
        for delimiter in (self.delimiter, self._delimiter_of(line)):
            names = [name.strip(" \t\"'") for name in _split(line, delimiter)]
            if len(names) == self.width and all(names):
                return names
        return None

    def _delimiter_of(self, line: str) -> str | None:
        return next((mark for mark in self._delimiters if mark in line), None)

    def _parse(
        self, places: np.ndarray, lines: list[str], columns: Sequence[int] | None, strict: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of lines and their places: at once, or field by field where something is missing or wrong."""
        values = self._at_once(lines, columns)
        if values is not None and len(values) == len(lines):
            return values, places
        kept = [(place, line) for place, line in zip(places.tolist(), lines, strict=True) if _is_data(line)]
        wanted = range(self.width) if columns is None else columns
        values = self._at_once([line for _, line in kept], columns)
        if values is None:
            values = np.array([self._numbers(place, line, wanted, strict) for place, line in kept])
        return values.reshape(-1, len(wanted)), np.array([place for place, _ in kept], dtype=int)

    def _plain(self, line: str) -> str:
        """The line with decimal points."""
        return line.replace(",", ".") if self._has_decimal_commas else line

    def _at_once(self, lines: list[str], columns: Sequence[int] | None) -> np.ndarray | None:
        if any(self._is_cut(line) for line in (lines[-1:] if self.delimiter is None else lines)):
            return None
        try:
            values = load_rows(lines, self.delimiter, columns=columns)
        except ValueError:
            return None
        return values if columns is not None or values.shape[1] == self.width or not len(values) else None

    def _is_cut(self, line: str) -> bool:
        """Whether a line of data has fewer columns than the first one; quickly."""
        if self.delimiter is not None:
            return line.count(self.delimiter) < self.width - 1 and _is_data(line)
        return _is_data(line) and len(line.split()) < self.width

    def _numbers(self, place: int, line: str, columns: Sequence[int], strict: bool) -> list[float]:
        fields = _split(line.partition("#")[0] if strict else line, self.delimiter)
        missing = frozenset() if strict else _MISSING
        given = [(k, fields[k]) for k in columns if k < len(fields)]
        wrong = [(k, field) for k, field in given if not is_number(field) and field.lower() not in missing]
        if wrong:
            raise FileFormatError(
                f"{self.path}, line {place}: the text {wrong[0][1]!r} stands where a number is wanted, in column "
                f"{self.label(wrong[0][0])}. Choose other columns, or mend the line."
            )
        if strict and len(fields) != self.width:
            above = f"where the lines above have {self.width}"
            raise FileFormatError(f"{self.path}, line {place}: it has {len(fields)} columns {above}.")
        if max(columns) >= len(fields):
            wanted = f"and column {max(columns) + 1} is wanted"
            raise FileFormatError(f"{self.path}, line {place} has {len(fields)} columns, {wanted}: it may be cut.")
        if len(fields) < self.width:
            above = f"where the first line has {self.width}"
            raise FileFormatError(f"{self.path}, line {place}: it has {len(fields)} columns {above}, and may be cut.")
        return [float(fields[k]) if is_number(fields[k]) else math.nan for k in columns]


class ArrayTable(Table):
    """Arrays by name; those of two dimensions are columns called by the array and their number."""

    unit = "row"

    def __init__(self, path: Path, arrays: dict[str, np.ndarray]):
        self.path = path
        self._arrays: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            self._add(name, array)
        lengths = {name: len(column) for name, column in self._arrays.items()}
        if not lengths or min(lengths.values()) == 0:
            raise ValueError(f"{path} holds no numbers.")
        if len(set(lengths.values())) > 1:
            stated = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"the arrays of {path} must have one row per point, all equally many: {stated}.")
        self.names = None if "" in arrays and not arrays[""].dtype.names else list(self._arrays)
        self.width = len(self._arrays)

    def read(self, columns: Sequence[int] | None = None, verbose: bool = False) -> Rows:
        """The numbers of some columns, by default of all; they are in memory, so there is no bar."""
        arrays = list(self._arrays.values())
        wanted = range(self.width) if columns is None else columns
        for column in wanted:
            if arrays[column].dtype.kind not in "biuf":
                held = arrays[column].dtype
                raise ValueError(f"column {self.label(column)} of {self.path} holds {held}, not numbers.")
        values = np.stack([np.asarray(arrays[column], dtype=float) for column in wanted], axis=1)
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


def _arrays_in(path: Path) -> dict[str, np.ndarray]:
    """Those of an npz file by name, that of an npy file without one."""
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return {"": content}
        with content:
            return dict(content)
    except Exception as error:  # damage shows as errors of zip, zlib, NumPy and its parser of headers
        words = f"{path} cannot be read as a file of arrays of numbers, it may be damaged or truncated: {error}"
        raise FileFormatError(words) from error


def _cloud_in(path: Path) -> dict[str, np.ndarray]:
    """Coordinates and attributes of the points of a file."""
    cloud = all_formats.read("read_points", path)
    return {name: column for name, column in zip("xyz", cloud.points.T, strict=True)} | cloud.attributes


def _are_decimal_commas(rows: list[list[str]], delimiter: str | None) -> bool:
    """Whether words are numbers with decimal commas: one at least has one, and none has a point. Blanks count as
    delimiters if every line has several words, all of them numbers.
    """
    words = [word for row in rows for word in row]
    is_comma = [_DECIMAL_COMMA.fullmatch(word) is not None for word in words]
    if delimiter is None:
        numbers = all(comma or is_number(word) for comma, word in zip(is_comma, words, strict=True))
        if not numbers or min(map(len, rows)) < 2:
            return False
    return any(is_comma) and not any("." in word and is_number(word) for word in words)


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "//"))


def _split(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    return [field.strip() for field in next(csv.reader([line.strip("\r\n")], delimiter=delimiter), [])]
