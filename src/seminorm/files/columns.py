"""From named columns to point clouds: which columns are coordinates, normals, colours, and what is left."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ..clouds.cloud import PointCloud, is_one_place
from ..shapes.mesh import Mesh
from .errors import FileFormatError

POINTS = ("x", "y", "z")
NORMALS = (("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"), ("normalx", "normaly", "normalz"))
COLORS = (("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue"))
SENSORS = (
    *(("x_origin", "y_origin", "z_origin"), ("origin_x", "origin_y", "origin_z")),
    *(("scanner_x", "scanner_y", "scanner_z"), ("sensor_x", "sensor_y", "sensor_z")),
    *(("vp_x", "vp_y", "vp_z"), ("sx", "sy", "sz")),
)

Columns: TypeAlias = Mapping[str, np.ndarray] | np.ndarray  # by name: a dict or a structured array


class Content(NamedTuple):
    """What a file holds: points or vertices, and triangles (None where there are none)."""

    cloud: PointCloud
    faces: np.ndarray | None = None

    def mesh(self) -> Mesh:
        """The same as a mesh, whose attributes hold the colours and the places of the sensor."""
        cloud = self.cloud
        special = {"colors": cloud.colors, "sensor": cloud.sensor}
        attributes = {name: values for name, values in special.items() if values is not None} | cloud.attributes
        return Mesh(cloud.points, [] if self.faces is None else self.faces, cloud.normals, attributes)


def readers(read: Callable[[Path, bool], Content]) -> tuple[Callable[[Path], PointCloud], Callable[[Path], Mesh]]:
    """The functions ``read_points`` and ``read_mesh`` of a format, from ``read(path, with_faces)``."""
    return lambda path: read(path, False).cloud, lambda path: read(path, True).mesh()


class ColumnLayout(NamedTuple):
    """Names of the columns that make up a point cloud; attributes of several columns have several names."""

    points: tuple[str, ...]
    normals: tuple[str, ...] | None
    colors: tuple[str, ...] | None
    sensor: tuple[str, ...] | None
    attributes: dict[str, tuple[str, ...]]


def layout_of(names: Iterable[str], path: Path) -> ColumnLayout:
    """Recognise columns by their names; x, y and z are needed. Columns called a_0, a_1, ... form one attribute a."""
    original = {name.lower(): name for name in names}

    def first_complete(choices: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
        for choice in choices:
            if all(name in original for name in choice):
                return tuple(original.pop(name) for name in choice)
        return None

    points = first_complete([POINTS])
    if points is None:
        raise FileFormatError(f"{path} has no columns x, y and z, but {', '.join(original.values()) or 'none at all'}.")
    normals, colors, sensor = first_complete(NORMALS), first_complete(COLORS), first_complete(SENSORS)
    attributes = _grouped([name for name in original.values() if name != "_"])
    return ColumnLayout(points, normals, colors, sensor, attributes)


def _grouped(names: list[str]) -> dict[str, tuple[str, ...]]:
    """Attributes of the columns that are left: a_0, a_1, ... belong together."""
    stems: dict[str, list[str]] = {}
    for name in names:
        match = re.fullmatch(r"(.+)_(\d+)", name)
        if match:
            stems.setdefault(match[1], []).append(name)
    groups: dict[str, tuple[str, ...]] = {}
    for name in names:
        stem = name.rpartition("_")[0]
        members = stems.get(stem, [])
        complete = members == [f"{stem}_{k}" for k in range(len(members))] and stem not in names
        if name in members and len(members) > 1 and complete:
            groups[stem] = tuple(members)
        else:
            groups[name] = (name,)
    return groups


def color_scale(layout: ColumnLayout, columns: Columns) -> float:
    """What to divide colours by: the range of unsigned integers, 255 for other numbers above 1, else 1."""
    if layout.colors is None:
        return 1.0
    arrays = [np.asarray(columns[name]) for name in layout.colors]
    kinds = {array.dtype for array in arrays}
    if all(kind.kind == "u" and kind.itemsize < 4 for kind in kinds):
        return float(max(np.iinfo(kind).max for kind in kinds))
    return 255.0 if max(np.fmax.reduce(array, initial=0.0) for array in arrays) > 1 else 1.0


def build(layout: ColumnLayout, columns: Columns, scale: float, sensor: Sequence[float] | None = None) -> PointCloud:
    """A point cloud from columns: a dict or a structured array; ``sensor`` is its place if no columns tell it."""
    colors = None if layout.colors is None else np.clip(_stacked(columns, layout.colors) / scale, 0.0, 1.0)
    return PointCloud(
        _stacked(columns, layout.points),
        None if layout.normals is None else _stacked(columns, layout.normals),
        colors,
        {name: _attribute(columns, parts) for name, parts in layout.attributes.items()},
        sensor if layout.sensor is None else _stacked(columns, layout.sensor),
    )


def joined(chunks: Iterable[PointCloud], n: int) -> PointCloud:
    """One cloud from chunks of n points in all, without holding them all twice."""
    whole, first = None, 0
    for chunk in chunks:
        if len(chunk) == n:
            return chunk
        if whole is None:
            whole = chunk[np.broadcast_to(np.intp(0), n)]  # room for all
        rows = slice(first, first + len(chunk))
        for target, values in zip(_arrays(whole), _arrays(chunk), strict=True):
            target[rows] = values
        first += len(chunk)
    return PointCloud(np.zeros((0, 3))) if whole is None else whole


def _arrays(cloud: PointCloud) -> list[np.ndarray]:
    sensor = None if cloud.sensor is None or is_one_place(cloud.sensor) else cloud.sensor
    given = [array for array in (cloud.points, cloud.normals, cloud.colors, sensor) if array is not None]
    return given + list(cloud.attributes.values())


def _stacked(columns: Columns, names: tuple[str, ...]) -> np.ndarray:
    stacked = np.empty((len(columns[names[0]]), len(names)))
    for k, name in enumerate(names):
        stacked[:, k] = columns[name]
    return stacked


def _attribute(columns: Columns, names: tuple[str, ...]) -> np.ndarray:
    arrays = [np.asarray(columns[name]) for name in names]
    values = arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=1)
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def faces_in_range(faces: np.ndarray, n: int, path: Path) -> np.ndarray:
    """The faces, in int32 where n vertices allow it; an error if they refer to vertices that are not there."""
    if len(faces):
        low, high = int(faces.min()), int(faces.max())
        if low < 0 or high >= n:
            wrong = low if low < 0 else high
            raise FileFormatError(f"{path} is damaged: a face refers to vertex {wrong}, and there are {n} vertices.")
    return faces.astype(np.int32 if n < 2**31 else np.int64, copy=False)


class PointSource:
    """Points that can be read again and again, a chunk at a time; ``len`` is their number.

    Attributes
    ----------
    path : Path
    chunk : int
        Largest number of points that are in memory at once.
    n_faces : int
        Number of triangles or polygons the file promises besides.

    See Also
    --------
    open_points : Makes one of a file.
    """

    def __init__(self, path: Path, n: int, read: Callable[[int, int], PointCloud], chunk: int, n_faces: int = 0):
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {chunk}.")
        self.path, self.chunk, self.n_faces = path, int(chunk), n_faces
        self._n, self._read = n, read

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[PointCloud]:
        for first in range(0, self._n, self.chunk):
            yield self._read(first, min(first + self.chunk, self._n))
