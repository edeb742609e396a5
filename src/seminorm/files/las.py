"""Reading LAS and LAZ files of laser scanning, those ordered for the cloud (``.copc.laz``) among them, by laspy."""

import struct
from pathlib import Path

import numpy as np

from .._base.extras import require
from ..clouds.cloud import PointCloud
from .columns import COLORS, build, layout_of
from .errors import FileFormatError, not_a, truncated

_KEPT = ("intensity", "return_number", "number_of_returns", "classification", "gps_time")
_RECORD_HEADER, _LAST_RECORD_HEADER = 54, 60  # bytes of the records before and behind the points, at least


def read_points(path: Path) -> PointCloud:
    """Points in their coordinate system, colours, the usual measurements and extra dimensions."""
    _check_header(path)
    laspy = require("laspy", "las")
    try:
        data = laspy.read(path)
    except (laspy.errors.LaspyException, ValueError, EOFError, OSError, RuntimeError, MemoryError) as error:
        advice = " (LAZ needs pip install 'seminorm[las]')" if "backend" in str(error).lower() else ""
        raise FileFormatError(f"{path} cannot be read, it may be truncated: {error}{advice}.") from error
    if data.header.point_count == 0:
        raise FileFormatError(f"{path} has no points.")
    if len(data.points) != data.header.point_count:
        raise truncated(path, "points", data.header.point_count, len(data.points))
    names = set(data.point_format.dimension_names)
    columns = {name: np.asarray(getattr(data, name)) for name in ("x", "y", "z")}
    for name in (*COLORS[0], *_KEPT, *data.point_format.extra_dimension_names):
        if name in names:
            columns[name] = np.asarray(data[name])
    layout = layout_of(columns, path)
    # the standard asks for 16 bits, and many programs write 8
    has_bytes = layout.colors is not None and max(int(columns[name].max()) for name in layout.colors) <= 255
    return build(layout, columns, 255.0 if has_bytes else 65535.0)


def _check_header(path: Path) -> None:
    """Compare what the header promises with the size of the file, before laspy believes it."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(375)
    if head[:4] != b"LASF":
        raise not_a("LAS", path)
    if len(head) < 227:
        raise truncated(path, "bytes of header", 227, len(head))
    header_size, start, n_records, kind, width, n_points = struct.unpack_from("<HIIBHI", head, 94)
    has_long_counts = head[24:26] >= b"\x01\x04" and len(head) == 375
    n_last, n_long = struct.unpack_from("<IQ", head, 243) if has_long_counts else (0, n_points)
    if n_records * _RECORD_HEADER + header_size > start or start > size or n_last * _LAST_RECORD_HEADER > size:
        raise FileFormatError(f"{path} is damaged or truncated: its header promises more than the file's {size} bytes.")
    n_points = n_long or n_points
    if kind < 128 and start + n_points * width > size:  # not compressed
        raise truncated(path, "points", n_points, (size - start) // max(width, 1), start + n_points * width)
