"""Reading PTX files of laser scanners: one scan below the other, each a grid of points with its own transformation.

A scan begins with ten lines: the numbers of columns and rows, the scanner's registered place, three lines with its
axes, and four with the transformation of its points, to be multiplied from the left by rows ``x y z 1``. The points
follow, one per line: ``x y z``, intensity, and colours up to 255. A point at ``0 0 0`` is a return that is missing.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from ..clouds.cloud import PointCloud
from .errors import FileFormatError, not_a, truncated
from .rows import number_rows
from .scans import joined_scans

_HEADER_WIDTHS = (1, 1, 3, 3, 3, 3, 4, 4, 4, 4)  # numbers in the lines of a header
_PARTS = {3: (), 4: ("intensity",), 6: ("colors",), 7: ("intensity", "colors")}  # by the numbers in a line


def read_points(path: Path) -> PointCloud:
    """The points of all scans where their transformations put them, without missing returns."""
    with open(path, encoding="latin-1") as file:
        return joined_scans(path, list(_scans(path, file)))


def _scans(path: Path, file: TextIO) -> Iterator[PointCloud]:
    number = 0
    while header := _header(path, file, number):
        number += 1
        n = _count(path, *header[0]) * _count(path, *header[1])
        place, matrix = np.array(header[2]), np.array(header[6:])
        if n > path.stat().st_size:  # before memory is taken for what a damaged count promises
            raise FileFormatError(
                f"{path} is damaged: scan {number} promises {n} points, more than the file has bytes."
            )
        if matrix[:, 3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            what = f"the transformation of scan {number}, lines 7 to 10 of its header,"
            raise FileFormatError(f"{path}: the fourth column of {what} must be 0, 0, 0, 1.")
        yield _scan(path, number_rows(path, file, n, None, f"points of scan {number}"), matrix, place)


def _header(path: Path, file: TextIO, number: int) -> list[list[float]]:
    """The numbers in the ten lines above the points of a scan; empty at the end of the file."""
    lines = (line.split() for line in file if line.strip())
    words = list(islice(lines, len(_HEADER_WIDTHS)))
    try:
        header = [[float(word) for word in line] for line in words]
    except ValueError as error:
        raise _no_header(path, number) from error
    if tuple(map(len, header)) != _HEADER_WIDTHS[: len(header)]:
        raise _no_header(path, number)
    if header and len(header) < len(_HEADER_WIDTHS):
        raise truncated(path, f"lines above scan {number + 1}", len(_HEADER_WIDTHS), len(header))
    return header


def _no_header(path: Path, number: int) -> FileFormatError:
    """The error for lines that should be the header of the scan behind a number of others."""
    if not number:
        return not_a("PTX", path)
    what = f"the lines behind the points of scan {number} are no header of another scan"
    return FileFormatError(f"{path} is damaged: {what}, and no points that its own header promises.")


def _count(path: Path, number: float) -> int:
    if not (number >= 0 and number.is_integer()):
        raise FileFormatError(f"{path}: {number:g} columns or rows of a scan cannot be.")
    return int(number)


def _scan(path: Path, rows: np.ndarray, matrix: np.ndarray, place: np.ndarray) -> PointCloud:
    width = rows.shape[1] if len(rows) else 3
    if width not in _PARTS:
        raise FileFormatError(f"{path}: the lines of the points have {width} numbers where 3, 4, 6 or 7 are due.")
    rows = rows.reshape(-1, width)[rows[:, :3].any(axis=1)]
    points = rows[:, :3] @ matrix[:3, :3] + matrix[3, :3]
    # The scanner is at the origin of its points. The place in the header does not know of a coordinate system that the
    # user chose for the matrix, so it counts only where there is no shift: then the points may have been moved before.
    sensor = matrix[3, :3] if matrix[3, :3].any() else place
    colors = np.clip(rows[:, -3:] / 255.0, 0.0, 1.0) if "colors" in _PARTS[width] else None
    attributes = {"intensity": rows[:, 3].copy()} if "intensity" in _PARTS[width] else {}
    return PointCloud(points, None, colors, attributes, sensor)
