"""Grids as GeoTIFF, with nothing but the standard library: 32-bit numbers, compressed, north up, NaN for no data."""

import re
import struct
import zlib
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from .grids import Grid, is_geographic

_STRIP_BYTES = 2**18
_LARGEST = 2**32 - 2**20
_SHORT, _LONG, _ASCII, _DOUBLE = (3, "H"), (4, "I"), (2, "s"), (12, "d")
_UNEVEN = 1e-6  # of a spacing
_USER_DEFINED, _PROJECTED, _GEOGRAPHIC = 32767, 1, 2


def write_grid(path: Path, grid: Grid, notes: dict) -> None:
    """Write each array as a band; the points of the grid are the centres of pixels. Of the notes, ``crs`` is written if
    it is an EPSG code."""
    if len(grid.axes) != 2:
        raise ValueError(f"a GeoTIFF has two coordinates, and the grid has {len(grid.axes)}: write {path.stem}.nc.")
    (x, y), names = grid.axes.values(), tuple(grid.axes)
    steps = _step(names[0], x), _step(names[1], y)
    bands = np.stack([values.T[::-1] for values in grid.values.values()], axis=-1).astype("<f4")
    height, width, n_bands = bands.shape
    if bands.nbytes > _LARGEST:
        raise ValueError(
            f"{path} would be larger than a TIFF file can be, {bands.nbytes:,} bytes: write {path.stem}.nc."
        )
    rows = max(1, _STRIP_BYTES // (4 * width * n_bands))
    strips = [zlib.compress(bands[k : k + rows].tobytes(), 6) for k in range(0, height, rows)]
    entries: dict[int, tuple[tuple[int, str], list | bytes]] = {
        256: (_LONG, [width]),
        257: (_LONG, [height]),
        258: (_SHORT, [32] * n_bands),
        259: (_SHORT, [8]),  # deflate
        262: (_SHORT, [1]),  # grey
        273: (_LONG, []),  # where the strips are: known below
        277: (_SHORT, [n_bands]),
        278: (_LONG, [rows]),
        279: (_LONG, [len(strip) for strip in strips]),
        284: (_SHORT, [1]),
        338: (_SHORT, [0] * (n_bands - 1)),
        339: (_SHORT, [3] * n_bands),  # floating point
        33550: (_DOUBLE, [*steps, 0.0]),
        33922: (_DOUBLE, [0.0, 0.0, 0.0, float(x[0]), float(y[-1]), 0.0]),
        34735: (_SHORT, _keys(names, str(notes.get("crs", "")))),
        42113: (_ASCII, b"nan\0"),
    }
    entries = {tag: entry for tag, entry in entries.items() if tag == 273 or len(entry[1])}
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_directory(entries, [len(strip) for strip in strips]))
        file.writelines(strips)


def _step(name: str, axis: np.ndarray) -> float:
    """The distance of the coordinates along an axis."""
    steps = np.diff(axis)
    if not len(steps) or not (steps > 0).all() or np.ptp(steps) > _UNEVEN * steps[0] + 1e-12 * np.abs(axis).max():
        raise ValueError(
            f"a GeoTIFF has two or more evenly spaced, rising coordinates along each axis: {name} has not."
        )
    return float((axis[-1] - axis[0]) / len(steps))


def _keys(names: tuple[str, ...], crs: str) -> list[int]:
    """The GeoKeys: what kind of coordinates, that pixels are points, and the EPSG code."""
    code = re.fullmatch(r"epsg:(\d{4,5})", crs.lower())
    model = _USER_DEFINED if code is None else _GEOGRAPHIC if is_geographic(names) else _PROJECTED
    keys = [(1024, model), (1025, 2)]
    if code is not None:
        keys.append((2048 if model == _GEOGRAPHIC else 3072, int(code[1])))
    return [1, 1, 0, len(keys), *(number for key, value in keys for number in (key, 0, 1, value))]


def _directory(entries: dict, sizes: list[int]) -> bytes:
    """The header, the list of entries, and what does not fit into it; the strips follow."""
    first = 8 + 2 + 12 * len(entries) + 4
    entries[273] = (_LONG, [0] * len(sizes))
    packed_sizes = [len(_packed(*entry)) for entry in entries.values()]
    length = sum(size + size % 2 for size in packed_sizes if size > 4)
    entries[273] = (_LONG, [first + length + int(before) for before in np.cumsum([0, *sizes[:-1]])])
    listed, beside = b"", b""
    for tag in sorted(entries):
        kind, content = entries[tag]
        packed = _packed(kind, content)
        place = packed.ljust(4, b"\0") if len(packed) <= 4 else struct.pack("<I", first + len(beside))
        listed += struct.pack("<HHI", tag, kind[0], len(content)) + place
        beside += packed + b"\0" * (len(packed) % 2) if len(packed) > 4 else b""
    return struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + listed + struct.pack("<I", 0) + beside


def _packed(kind: tuple[int, str], content: list | bytes) -> bytes:
    return content if isinstance(content, bytes) else struct.pack(f"<{len(content)}{kind[1]}", *content)
