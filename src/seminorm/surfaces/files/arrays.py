"""Points in NPZ and NPY files of NumPy."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ...serialization import whole_file
from ..cloud import PointCloud
from .columns import COLORS, NORMALS, POINTS, Content, PointSource, build, color_scale, layout_of
from .errors import FileFormatError, not_a

_POINTS = ("points", "vertices", "xyz")


def read(path: Path, faces: bool = False) -> Content:
    """Arrays points, normals and colors of an NPZ file; further arrays with a row a point become attributes."""
    if path.suffix.lower() == ".npy":
        source = open_npy(path, chunk=2**62)
        return Content(next(iter(source)))
    if not zipfile.is_zipfile(path):
        raise not_a("whole NPZ", path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # damage shows as errors of zip, zlib, NumPy and its parser of headers
        raise FileFormatError(f"{path} cannot be read: {error}") from error
    name = next((name for name in _POINTS if name in arrays), None)
    if name is None:
        raise FileFormatError(f"{path} has no array points, but {', '.join(arrays) or 'none at all'}.")
    points, normals, colors = arrays.pop(name), arrays.pop("normals", None), arrays.pop("colors", None)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise FileFormatError(f"{path}: {name} must have shape (n, 3) with n > 0, it has {points.shape}.")
    attributes = {
        name: array
        for name, array in arrays.items()
        if array.ndim in (1, 2) and len(array) == len(points) and array.dtype.kind in "biuf"
    }
    try:
        return Content(PointCloud(points, normals, colors, attributes))
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error


def open_npy(path: Path, chunk: int) -> PointSource:
    """Rows of an NPY file, read when they are asked for: three coordinates, then normals, then colours; or names."""
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header raises whatever NumPy's parser of it does
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise not_a("NPY", path) from error
        raise FileFormatError(f"{path} is damaged or truncated: {error}") from error
    if not isinstance(rows, np.ndarray):
        raise not_a("NPY", path)
    if rows.dtype.names is None:
        if rows.ndim != 2 or rows.shape[1] < 3 or rows.dtype.kind not in "biuf":
            raise FileFormatError(
                f"{path} must hold rows of at least three numbers, it holds {rows.dtype}{rows.shape}."
            )
        names = [*POINTS, *NORMALS[0], *COLORS[0]][: rows.shape[1] if rows.shape[1] in (3, 6, 9) else 3]
        names += [f"column{k + 1}" for k in range(len(names), rows.shape[1])]
        columns = {name: rows[:, k] for k, name in enumerate(names)}
    else:
        names, columns = rows.dtype.names, rows
    if len(rows) == 0:
        raise FileFormatError(f"{path} has no points.")
    layout = layout_of(names, path)
    scale = color_scale(layout, columns)

    def points(first: int, last: int) -> PointCloud:
        return build(layout, {name: columns[name][first:last] for name in names}, scale)

    return PointSource(path, len(rows), points, min(chunk, len(rows)))


def write_points(path: Path, cloud: PointCloud) -> None:
    """Write arrays points, normals, colors and the attributes by their names."""
    arrays = {"points": cloud.points}
    for name in ("normals", "colors"):
        if getattr(cloud, name) is not None:
            arrays[name] = getattr(cloud, name)
    taken = [name for name in cloud.attributes if name in ("points", "normals", "colors", "file")]
    if taken:
        raise ValueError(f"attribute {taken[0]!r} cannot be written to an NPZ file: the name is taken.")
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays, **cloud.attributes)
