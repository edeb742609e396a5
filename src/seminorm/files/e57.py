"""Reading E57 files of laser scanners (ASTM E2807), by pye57."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.extras import require
from ..clouds.cloud import PointCloud
from .errors import FileFormatError, not_a, truncated
from .scans import joined_scans

_SIGNATURE = b"ASTM-E57"
_CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
_SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
_COLORS = ("colorRed", "colorGreen", "colorBlue")
_NORMALS = ("nor:normalX", "nor:normalY", "nor:normalZ")
_INVALID = {_CARTESIAN: "cartesianInvalidState", _SPHERICAL: "sphericalInvalidState"}


def read_points(path: Path) -> PointCloud:
    """The points of all scans where their poses put them, without invalid ones."""
    _check_header(path)
    libe57 = require("pye57.libe57", "e57")
    try:
        file = libe57.ImageFile(str(path), "r")
        try:
            scans = list(_scans(path, libe57, file))
        finally:
            file.close()
    except (libe57.E57Exception, MemoryError) as error:
        raise FileFormatError(f"{path} cannot be read, it may be damaged: {str(error).splitlines()[0]}.") from error
    return joined_scans(path, _placed(scans))


class _Pose(NamedTuple):
    """From the coordinates of a scanner, whose origin is its own place, to those of the file."""

    rotation: np.ndarray
    translation: np.ndarray

    def moves(self) -> bool:
        return not (np.array_equal(self.rotation, np.eye(3)) and not self.translation.any())


class _Scan(NamedTuple):
    cloud: PointCloud
    pose: _Pose | None
    is_spherical: bool


def _placed(scans: list[_Scan]) -> list[PointCloud]:
    """The clouds with the places of their sensors, as far as they are known.

    Programs write a pose that moves nothing for clouds that are merged already. So such a pose tells the place of the
    sensor only beside poses that move other scans, or below distances and angles, which are measured from there.
    """
    some_move = any(scan.pose is not None and scan.pose.moves() for scan in scans)
    for scan in scans:
        if scan.is_spherical or (scan.pose is not None and some_move):
            place = np.zeros(3) if scan.pose is None else scan.pose.translation
            scan.cloud.sensor = np.broadcast_to(place, scan.cloud.points.shape)
    return [scan.cloud for scan in scans]


def _scans(path: Path, libe57: Any, file: Any) -> Iterator[_Scan]:
    root = file.root()
    if not root.isDefined("data3D"):
        return
    nodes = root["data3D"]
    for k in range(len(nodes)):
        yield _scan(path, libe57, file, nodes[k])


def _scan(path: Path, libe57: Any, file: Any, node: Any) -> _Scan:
    table = _Table(libe57, file, node["points"])
    kind = next((names for names in (_CARTESIAN, _SPHERICAL) if table.has(*names)), None)
    if kind is None:
        held = ", ".join(table.names)
        raise FileFormatError(f"{path}: a scan has neither cartesian nor spherical coordinates, but {held}.")
    columns = table.read(*kind, *_known_columns(table, _INVALID[kind]))
    if (state := columns.pop(_INVALID[kind], None)) is not None:
        columns = {name: values[state == 0] for name, values in columns.items()}
    points = np.stack([columns[name] for name in kind], axis=1)
    points = _from_angles(points) if kind == _SPHERICAL else points
    normals = np.stack([columns[name] for name in _NORMALS], axis=1) if table.has(*_NORMALS) else None
    pose = _pose(node)
    if pose is not None:
        points = points @ pose.rotation.T + pose.translation
        normals = None if normals is None else normals @ pose.rotation.T
    colors = _colors(node, table, columns) if table.has(*_COLORS) else None
    attributes = {"intensity": columns["intensity"]} if table.has("intensity") else {}
    return _Scan(PointCloud(points, normals, colors, attributes), pose, kind == _SPHERICAL)


class _Table:
    """The columns of a scan."""

    def __init__(self, libe57: Any, file: Any, points: Any):
        self._libe57, self._file, self._points = libe57, file, points
        self.prototype = libe57.StructureNode(points.prototype())
        self.names = [self.prototype.get(k).elementName() for k in range(self.prototype.childCount())]

    def has(self, *names: str) -> bool:
        """Whether there are columns of all these names."""
        return all(name in self.names for name in names)

    def read(self, *names: str) -> dict[str, np.ndarray]:
        """Some columns, as they were measured: scales and offsets of whole numbers are undone."""
        n = self._points.childCount()
        columns = {name: np.empty(n) for name in names}
        if n:
            buffers = self._libe57.VectorSourceDestBuffer()
            for name, values in columns.items():
                buffers.append(self._libe57.SourceDestBuffer(self._file, name, values, n, True, True))
            reader = self._points.reader(buffers)
            reader.read()
            reader.close()
        return columns


def _known_columns(table: _Table, invalid: str) -> list[str]:
    """The columns that a scan may have besides the coordinates, as far as it has them."""
    groups = (_COLORS, _NORMALS, ("intensity",), (invalid,))
    return [name for names in groups if table.has(*names) for name in names]


def _from_angles(points: np.ndarray) -> np.ndarray:
    """Cartesian coordinates of distances, azimuths and elevations (in radians)."""
    distance, azimuth, elevation = points.T
    level = distance * np.cos(elevation)
    return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), distance * np.sin(elevation)], axis=1)


def _pose(node: Any) -> _Pose | None:
    if not node.isDefined("pose"):
        return None
    w, x, y, z = _numbers(node, [f"pose/rotation/{axis}" for axis in "wxyz"], (1.0, 0.0, 0.0, 0.0))
    translation = _numbers(node, [f"pose/translation/{axis}" for axis in "xyz"], (0.0, 0.0, 0.0))
    double = 2.0 / (w * w + x * x + y * y + z * z or 1.0)
    rotation = np.eye(3) + double * np.array(
        [
            [-(y * y + z * z), x * y - z * w, x * z + y * w],
            [x * y + z * w, -(x * x + z * z), y * z - x * w],
            [x * z - y * w, y * z + x * w, -(x * x + y * y)],
        ]
    )
    return _Pose(rotation, np.array(translation))


def _numbers(node: Any, names: list[str], default: tuple[float, ...]) -> list[float]:
    """The numbers of some entries, or those that hold where one of them is missing."""
    if not all(node.isDefined(name) for name in names):
        return list(default)
    return [float(_entry(node, name).value()) for name in names]


def _entry(node: Any, name: str) -> Any:
    for part in name.split("/"):
        node = node[part]
    return node


def _colors(node: Any, table: _Table, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Colours in [0, 1], from the limits that the scan states, or else those of the numbers' type."""
    channels = []
    for name in _COLORS:
        limits = [f"colorLimits/{name}Minimum", f"colorLimits/{name}Maximum"]
        kind, values = table.prototype[name], columns[name]
        is_whole = type(kind).__name__ == "IntegerNode"
        default = (kind.minimum(), kind.maximum()) if is_whole else (0, 255 if values.max(initial=0.0) > 1 else 1)
        low, high = _numbers(node, limits, default)
        channels.append(np.clip((values - low) / (high - low or 1.0), 0.0, 1.0))
    return np.stack(channels, axis=1)


def _check_header(path: Path) -> None:
    """Compare the first bytes with what the format asks for, and the size with what they promise."""
    with open(path, "rb") as file:
        head = file.read(48)
    if head[:8] != _SIGNATURE:
        raise not_a("E57", path)
    promised, size = int.from_bytes(head[16:24], "little"), path.stat().st_size
    if len(head) < 48 or size < promised:
        raise truncated(path, "bytes", max(promised, 48), size)
