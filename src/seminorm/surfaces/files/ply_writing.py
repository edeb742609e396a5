"""Writing PLY files: binary little endian, coordinates in double precision."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...serialization import whole_file
from ..cloud import PointCloud
from ..mesh import Mesh
from .columns import COLORS, NORMALS, POINTS

_CHUNK = 2**18
_TYPES = {
    **{"b1": ("u1", "uchar"), "i1": ("i1", "char"), "u1": ("u1", "uchar"), "i2": ("<i2", "short")},
    **{"u2": ("<u2", "ushort"), "i4": ("<i4", "int"), "u4": ("<u4", "uint")},
    **{"f4": ("<f4", "float"), "f8": ("<f8", "double"), "f2": ("<f4", "float")},
}


class _Column(NamedTuple):
    name: str
    dtype: str
    word: str
    values: np.ndarray
    scale: float = 1.0


def write_mesh(path: Path, mesh: Mesh, single: bool = False) -> None:
    """Write vertices with all they carry, and faces."""
    attributes = dict(mesh.attributes)
    colors = attributes.pop("colors", None)
    columns = _columns(mesh.vertices, mesh.normals, colors, attributes, single)
    index, word = ("<i4", "int") if len(mesh.vertices) < 2**31 else ("<u4", "uint")
    if len(mesh.vertices) >= 2**32:
        raise ValueError(f"{path}: a PLY file holds at most {2**32} vertices, the mesh has {len(mesh.vertices)}.")
    dtype = np.dtype([("count", "u1"), ("corners", index, (3,))])
    faces = [f"element face {len(mesh.faces)}", f"property list uchar {word} vertex_indices"]
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_header(len(mesh.vertices), columns, faces))
        _write_rows(file, columns, len(mesh.vertices))
        for first in range(0, len(mesh.faces), _CHUNK):
            part = mesh.faces[first : first + _CHUNK]
            rows = np.empty(len(part), dtype=dtype)
            rows["count"], rows["corners"] = 3, part
            file.write(rows.tobytes())


def write_points(path: Path, cloud: PointCloud, single: bool = False) -> None:
    """Write points with all they carry."""
    columns = _columns(cloud.points, cloud.normals, cloud.colors, cloud.attributes, single)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_header(len(cloud), columns, []))
        _write_rows(file, columns, len(cloud))


def _header(n: int, columns: list[_Column], more: list[str]) -> bytes:
    lines = ["ply", "format binary_little_endian 1.0", "comment written by seminorm", f"element vertex {n}"]
    lines += [f"property {column.word} {column.name}" for column in columns] + more + ["end_header", ""]
    return "\n".join(lines).encode("ascii")


def _columns(points, normals, colors, attributes, single: bool) -> list[_Column]:
    real = ("<f4", "float") if single else ("<f8", "double")
    columns = [_Column(name, *real, points[:, k]) for k, name in enumerate(POINTS)]
    if normals is not None:
        columns += [_Column(name, *real, normals[:, k]) for k, name in enumerate(NORMALS[0])]
    if colors is not None:
        columns += [_Column(name, "u1", "uchar", colors[:, k], 255.0) for k, name in enumerate(COLORS[0])]
    for name, values in attributes.items():
        columns += _attribute_columns(name, values)
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"attribute {name!r} cannot be written: two columns of the PLY file would have its name.")
    return columns


def _attribute_columns(name: str, values: np.ndarray) -> list[_Column]:
    name = "_".join(name.split())
    if not name or not name.isascii():
        raise ValueError(f"attribute {name!r} cannot be written to a PLY file: its name must be plain ASCII text.")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"attribute {name!r} cannot be written to a PLY file: it holds {values.dtype}, not numbers.")
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        fits = values.size == 0 or (values.min() >= -(2**31) and values.max() < 2**31)
        kind = "i4" if fits else "f8"
    else:
        kind = values.dtype.str[1:]
    dtype, word = _TYPES.get(kind, _TYPES["f8"])
    if values.ndim == 1:
        return [_Column(name, dtype, word, values)]
    return [_Column(f"{name}_{k}", dtype, word, values[:, k]) for k in range(values.shape[1])]


def _write_rows(file, columns: list[_Column], n: int) -> None:
    dtype = np.dtype([(column.name, column.dtype) for column in columns])
    for first in range(0, n, _CHUNK):
        part = slice(first, min(first + _CHUNK, n))
        rows = np.empty(part.stop - part.start, dtype=dtype)
        for column in columns:
            values = column.values[part]
            rows[column.name] = np.rint(np.nan_to_num(values) * column.scale) if column.scale != 1.0 else values
        file.write(rows.tobytes())
