"""PCD files of the Point Cloud Library: ascii, binary and binary_compressed are read, binary is written."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import _native
from .._base.saving import whole_file
from ..clouds.cloud import PointCloud
from .columns import NORMALS, POINTS, SENSORS, build, color_scale, layout_of
from .errors import FileFormatError, not_a, truncated
from .rows import number_rows, skip_lines

_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_KINDS = {"I": "i", "U": "u", "F": "f"}
_LETTERS = {"i": "I", "u": "U", "b": "U", "f": "F"}  # of the types that are written
_CHUNK = 2**18


class _Header(NamedTuple):
    path: Path
    fields: list[tuple[str, np.dtype, int]]
    n: int
    storage: str
    n_bytes: int
    n_lines: int
    sensor: list[float] | None


def read_points(path: Path) -> PointCloud:
    """Points, normals, colours and further fields; the viewpoint is the sensor unless it is 0 0 0."""
    header = _read_header(path)
    if header.n == 0:
        raise FileFormatError(f"{path} has no points.")
    columns = {"ascii": _ascii, "binary": _binary, "binary_compressed": _compressed}[header.storage](header)
    columns = {name: values for name, values in columns.items() if not name.startswith("_")}
    for name in ("rgb", "rgba"):
        if name in columns:
            _unpack_colors(columns, name)
    layout = layout_of(columns, path)
    return build(layout, columns, color_scale(layout, columns), header.sensor)


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
        viewpoint = [float(word) for word in entries.get("VIEWPOINT", [])[:3]]
    except (LookupError, ValueError, TypeError) as error:
        raise FileFormatError(f"{path}: its header cannot be understood: {error}.") from error
    if storage not in ("ascii", "binary", "binary_compressed"):
        raise FileFormatError(f"{path}: DATA must be ascii, binary or binary_compressed, it is {storage}.")
    sensor = viewpoint if len(viewpoint) == 3 and any(viewpoint) else None
    return _Header(path, fields, n, storage, n_bytes, n_lines, sensor)


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


class _Field(NamedTuple):
    name: str
    dtype: np.dtype
    values: np.ndarray


def write_points(path: Path, cloud: PointCloud, single: bool = False) -> None:
    """Write points with all they carry; a sensor that is the same for all is the viewpoint."""
    viewpoint = _viewpoint(cloud.sensor)
    fields = _fields(cloud, np.dtype("<f4" if single else "<f8"), with_sensor=viewpoint is None)
    row = np.dtype([(field.name, field.dtype, field.values.shape[1:]) for field in fields])
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_written_header(len(cloud), fields, (0.0, 0.0, 0.0) if viewpoint is None else viewpoint))
        for first in range(0, len(cloud), _CHUNK):
            part = slice(first, min(first + _CHUNK, len(cloud)))
            rows = np.empty(part.stop - part.start, dtype=row)
            for field in fields:
                rows[field.name] = field.values[part]
            file.write(rows.tobytes())


def _viewpoint(sensor: np.ndarray | None) -> tuple[float, ...] | None:
    """The place that all points were measured from; None if they differ, or it would read as unknown."""
    if sensor is None or not len(sensor) or not sensor[0].any() or not (sensor == sensor[0]).all():
        return None
    return tuple(sensor[0].tolist())


def _fields(cloud: PointCloud, real: np.dtype, with_sensor: bool) -> list[_Field]:
    fields = [_Field(name, real, cloud.points[:, k]) for k, name in enumerate(POINTS)]
    if cloud.colors is not None:
        fields.append(_Field("rgb", np.dtype("<f4"), _packed_colors(cloud.colors)))
    if cloud.normals is not None:
        fields += [_Field(name, real, cloud.normals[:, k]) for k, name in enumerate(NORMALS[1])]
    if cloud.sensor is not None and with_sensor:
        fields += [_Field(name, real, cloud.sensor[:, k]) for k, name in enumerate(SENSORS[0])]
    for name, values in cloud.attributes.items():
        if values.dtype.kind not in _LETTERS:
            held = f"it holds {values.dtype}, not numbers"
            raise ValueError(f"attribute {name!r} cannot be written to a PCD file: {held}.")
        fields.append(_Field("_".join(name.split()), _written_type(values.dtype), values))
    names = [field.name for field in fields]
    wrong = [name for name in names if not name.isascii() or name[:1] in ("", "_") or names.count(name) > 1]
    if wrong:
        rule = "names must be plain ASCII text, differ, and not begin with _"
        raise ValueError(f"attribute {wrong[0]!r} cannot be written to a PCD file: {rule}.")
    return fields


def _written_type(dtype: np.dtype) -> np.dtype:
    """The type of the format that holds the numbers of another."""
    kind = {"b1": "u1", "f2": "f4"}.get(dtype.str[1:], dtype.str[1:])
    return np.dtype("<f8" if np.dtype(kind).itemsize > 8 else f"<{kind}")


def _packed_colors(colors: np.ndarray) -> np.ndarray:
    """Red, green and blue as the bytes of one single-precision number, which the Point Cloud Library expects."""
    red, green, blue = np.rint(np.nan_to_num(colors) * 255).astype("<u4").T
    return (red << 16 | green << 8 | blue).view("<f4")


def _written_header(n: int, fields: list[_Field], viewpoint: tuple[float, ...]) -> bytes:
    entries: dict[str, list] = {
        "VERSION": ["0.7"],
        "FIELDS": [field.name for field in fields],
        "SIZE": [field.dtype.itemsize for field in fields],
        "TYPE": [_LETTERS[field.dtype.kind] for field in fields],
        "COUNT": [math.prod(field.values.shape[1:]) for field in fields],
        "WIDTH": [n],
        "HEIGHT": [1],
        "VIEWPOINT": [*viewpoint, 1, 0, 0, 0],
        "POINTS": [n],
        "DATA": ["binary"],
    }
    return "".join(f"{key} {' '.join(map(str, words))}\n" for key, words in entries.items()).encode("ascii")
