"""The header of PLY files: elements, and the properties of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from .errors import FileFormatError, not_a

_TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8", "float32": "f4", "float64": "f8"},
}
_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}


class Property(NamedTuple):
    """A column; ``count`` is the type of the length in front of a list, None for a single number."""

    name: str
    dtype: np.dtype
    count: np.dtype | None = None


class Element(NamedTuple):
    """A table of the file."""

    name: str
    count: int
    properties: list[Property]

    @property
    def has_lists(self) -> bool:
        """Whether rows can differ in length."""
        return any(column.count is not None for column in self.properties)

    @property
    def dtype(self) -> np.dtype:
        """Type of a row without lists."""
        return np.dtype([(column.name, column.dtype) for column in self.properties])


class Header(NamedTuple):
    """What a PLY file promises."""

    path: Path
    ascii: bool
    order: str
    elements: list[Element]
    n_bytes: int
    n_lines: int

    def element(self, *names: str) -> Element | None:
        """The first element with one of these names."""
        return next((element for element in self.elements if element.name in names), None)


def read_header(path: Path) -> Header:
    """Read the header of a PLY file."""
    with open(path, "rb") as file:
        if file.readline(16).strip() != b"ply":
            raise not_a("PLY", path)
        lines = []
        while (raw := file.readline(1 << 16)).strip() != b"end_header":
            if not raw:
                raise FileFormatError(f"{path} is truncated: its header has no line end_header.")
            lines.append(raw.decode("latin-1").split())
        n_bytes = file.tell()
    order, elements = None, []
    for words in lines:
        try:
            if words[:1] == ["format"]:
                order = _ORDERS[words[1]]
                is_ascii = words[1] == "ascii"
            elif words[:1] == ["element"]:
                elements.append(Element(words[1], _count(words[2]), []))
            elif words[:1] == ["property"]:
                elements[-1].properties.append(_property(words, order or "="))
        except (LookupError, ValueError) as error:
            raise FileFormatError(f"{path}: the header line {' '.join(words)!r} cannot be understood.") from error
    if order is None:
        raise FileFormatError(f"{path}: the header has no line format.")
    for element in elements:
        names = [column.name for column in element.properties]
        if len(set(names)) < len(names):
            raise FileFormatError(f"{path}: element {element.name} has two properties of one name: {', '.join(names)}.")
    return Header(path, is_ascii, order, elements, n_bytes, len(lines) + 2)


def _count(word: str) -> int:
    count = int(word)
    if count < 0:
        raise ValueError(f"{count} is no count")
    return count


def _property(words: list[str], order: str) -> Property:
    if words[1] == "list":
        count = _type(words[2], order)
        if count.kind == "f":
            raise ValueError(f"the length of a list cannot be {words[2]}")
        return Property(words[4], _type(words[3], order), count)
    return Property(words[2], _type(words[1], order))


def _type(word: str, order: str) -> np.dtype:
    return np.dtype(_TYPES[word]).newbyteorder(order)
