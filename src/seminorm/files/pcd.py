"""Reading PCD files of the Point Cloud Library: ascii, binary and binary_compressed."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import _native
from ..clouds.cloud import PointCloud
from .columns import build, color_scale, layout_of
from .errors import FileFormatError, not_a, truncated
from .rows import number_rows, skip_lines

_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_KINDS = {"I": "i", "U": "u", "F": "f"}


class _Header(NamedTuple):
    path: Path
    fields: list[tuple[str, np.dtype, int]]
    n: int
    storage: str
    n_bytes: int
    n_lines: int


def read_points(path: Path) -> PointCloud:
    """Points, normals, colours and further fields."""
    header = _read_header(path)
    if header.n == 0:
        raise FileFormatError(f"{path} has no points.")
    columns = {"ascii": _ascii, "binary": _binary, "binary_compressed": _compressed}[header.storage](header)
    columns = {name: values for name, values in columns.items() if not name.startswith("_")}
    for name in ("rgb", "rgba"):
        if name in columns:
            _unpack_colors(columns, name)
    layout = layout_of(columns, path)
    return build(layout, columns, color_scale(layout, columns))


def _read_header(path: Path) -> _Header:
    entries: dict[str, list[str]] = {}
    n_lines = 0
    with open(path, "rb") as file:
        while "DATA" not in entries:
            line = file.readline(1 << 16)
            n_lines += 1
            words = line.decode("latin-1").split()
            if not line or (words and not words[0].startswith("#") and words[0] not in (*_KEYS, "COLUMNS")):
                if entries.keys() & {"FIELDS", "SIZE"} and not line:
                    raise FileFormatError(f"{path} is truncated: its header has no line DATA.")
                raise not_a("PCD", path)
            if words and not words[0].startswith("#"):
                entries["FIELDS" if words[0] == "COLUMNS" else words[0]] = words[1:]
        n_bytes = file.tell()
    try:
        names = [f"_{k}" if name == "_" else name for k, name in enumerate(entries["FIELDS"])]  # "_" only fills gaps
        counts = [int(word) for word in entries.get("COUNT", ["1"] * len(names))]
        sizes = zip(entries["TYPE"], entries["SIZE"], strict=True)
        types = [np.dtype(f"<{_KINDS[kind]}{size}") for kind, size in sizes]
        grid = int(entries.get("WIDTH", ["0"])[0]) * int(entries.get("HEIGHT", ["1"])[0])
        n = int(entries["POINTS"][0]) if "POINTS" in entries else grid
        storage = entries["DATA"][0]
        fields = list(zip(names, types, counts, strict=True))
    except (LookupError, ValueError, TypeError) as error:
        raise FileFormatError(f"{path}: its header cannot be understood: {error}.") from error
    if storage not in ("ascii", "binary", "binary_compressed"):
        raise FileFormatError(f"{path}: DATA must be ascii, binary or binary_compressed, it is {storage}.")
    return _Header(path, fields, n, storage, n_bytes, n_lines)


def _ascii(header: _Header) -> dict[str, np.ndarray]:
    width = sum(count for *_, count in header.fields)
    with open(header.path, encoding="latin-1") as file:
        skip_lines(file, header.n_lines)
        rows = number_rows(header.path, file, header.n, width, "points")
    columns, first = {}, 0
    for name, dtype, count in header.fields:
        values = rows[:, first] if count == 1 else rows[:, first : first + count]
        is_packed = name in ("rgb", "rgba")
        columns[name] = values.astype(dtype) if dtype.kind != "f" or is_packed else values
        first += count
    return columns


def _binary(header: _Header) -> dict[str, np.ndarray]:
    dtype = np.dtype([(name, kind, (count,)) if count > 1 else (name, kind) for name, kind, count in header.fields])
    rows = np.fromfile(header.path, dtype=dtype, count=header.n, offset=header.n_bytes)
    if len(rows) < header.n:
        raise truncated(header.path, "points", header.n, len(rows), header.n_bytes + header.n * dtype.itemsize)
    return {name: rows[name] for name, _, _ in header.fields}


def _compressed(header: _Header) -> dict[str, np.ndarray]:
    """All values of the first field, then all of the second, and so on, packed by LZF."""
    sizes = np.fromfile(header.path, dtype="<u4", count=2, offset=header.n_bytes)
    if len(sizes) < 2:
        raise truncated(header.path, "bytes of lengths", 8, sizes.nbytes)
    packed = np.fromfile(header.path, dtype=np.uint8, count=int(sizes[0]), offset=header.n_bytes + 8)
    if len(packed) < sizes[0]:
        raise truncated(header.path, "bytes of compressed points", int(sizes[0]), len(packed))
    expected = header.n * sum(dtype.itemsize * count for _, dtype, count in header.fields)
    if int(sizes[1]) != expected:
        what = f"{header.n} points take {expected} bytes, and it promises {sizes[1]}"
        raise FileFormatError(f"{header.path} is damaged: {what}.")
    data = np.empty(expected, dtype=np.uint8)
    if _native.decompress_lzf(packed, data) != expected:
        raise FileFormatError(f"{header.path} is damaged: its compressed points cannot be unpacked.")
    columns, first = {}, 0
    for name, dtype, count in header.fields:
        values = np.frombuffer(data, dtype=dtype, count=header.n * count, offset=first)
        columns[name] = values if count == 1 else values.reshape(header.n, count)
        first += values.nbytes
    return columns


def _unpack_colors(columns: dict[str, np.ndarray], name: str) -> None:
    """Replace a field of four bytes, blue first, by columns."""
    packed = np.ascontiguousarray(columns.pop(name))
    if packed.dtype.itemsize != 4:
        packed = packed.astype(np.uint32)
    packed = packed.view(np.uint32)
    for shift, color in ((16, "red"), (8, "green"), (0, "blue")):
        columns[color] = (packed >> np.uint32(shift)).astype(np.uint8)
    if name == "rgba":
        columns["alpha"] = (packed >> np.uint32(24)).astype(np.uint8)
