"""Points and grids in NPZ files of NumPy."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._base.saving import whole_file
from ..clouds.cloud import PointCloud, is_one_place
from .errors import FileFormatError, not_a
from .grids import Grid

_POINTS = ("points", "vertices", "xyz")


def read_points(path: Path) -> PointCloud:
    """Arrays points, normals, colors and sensor; further arrays with one row per point become attributes."""
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
    is_placed = "sensor" in arrays and arrays["sensor"].shape in ((3,), points.shape)
    sensor = arrays.pop("sensor") if is_placed else None
    numbers = {name: array for name, array in arrays.items() if array.ndim in (1, 2) and array.dtype.kind in "biuf"}
    attributes = {name: array for name, array in numbers.items() if len(array) == len(points)}
    try:
        return PointCloud(points, normals, colors, attributes, sensor)
    except ValueError as error:
        raise FileFormatError(f"{path}: {error}") from error


def write_points(path: Path, cloud: PointCloud) -> None:
    """Write arrays points, normals, colors, sensor and the attributes by their names."""
    sensor = cloud.sensor if cloud.sensor is None or not is_one_place(cloud.sensor) else cloud.sensor[0]
    arrays = {"points": cloud.points, "normals": cloud.normals, "colors": cloud.colors, "sensor": sensor}
    taken = [name for name in cloud.attributes if name in (*arrays, "file")]
    if taken:
        raise ValueError(f"attribute {taken[0]!r} cannot be written to an NPZ file: the name is taken.")
    _write(path, {name: a for name, a in arrays.items() if a is not None} | cloud.attributes)


def write_grid(path: Path, grid: Grid, notes: dict) -> None:
    """Write the axes and the values by their names; the notes are left out."""
    _write(path, {**grid.axes, **grid.values})


def _write(path: Path, arrays: Mapping[str, Any]) -> None:
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)
