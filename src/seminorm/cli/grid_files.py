"""Grids and the files that hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

NETCDF_SUFFIX = ".nc"
RESERVED_NAMES = ("file", "allow_pickle")  # parameters of np.savez, which arrays cannot be called
_CSV_LINES = 2**16


class Grid(NamedTuple):
    """Axes and the arrays on their grid, by name; the first axis of an array belongs to the first coordinate."""

    axes: dict
    values: dict


def std_name(name: str) -> str:
    """What the standard deviations of a value are called."""
    return f"{name}_std"


def write_grid(path: Path, grid: Grid, attributes: dict) -> None:
    """Write a file of the kind that its ending says; it appears whole or not at all."""
    from ..serialization import whole_file

    with whole_file(path) as temporary:
        _WRITERS[path.suffix.lower()](temporary, grid, attributes)


def _write_npz(path: Path, grid: Grid, attributes: dict) -> None:
    import numpy as np

    with path.open("wb") as file:
        np.savez(file, **grid.axes, **grid.values)


def _write_netcdf(path: Path, grid: Grid, attributes: dict) -> None:
    """Last coordinate first, the order that programs for maps expect."""
    from .._extras import require

    xarray = require("xarray", "grid")
    plain = {name: name.replace("/", "_") for name in (*grid.axes, *grid.values)}
    dims = [plain[name] for name in grid.axes]
    variables = {plain[name]: (dims, values) for name, values in grid.values.items()}
    axes = {plain[name]: axis for name, axis in grid.axes.items()}
    xarray.Dataset(variables, axes, attributes).transpose(*reversed(dims)).to_netcdf(path)


def _write_csv(path: Path, grid: Grid, attributes: dict) -> None:
    import csv

    import numpy as np

    shape = tuple(len(axis) for axis in grid.axes.values())
    columns = [values.reshape(-1) for values in grid.values.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow([*grid.axes, *grid.values])
        for begin in range(0, len(columns[0]), _CSV_LINES):
            rows = np.arange(begin, min(begin + _CSV_LINES, len(columns[0])))
            numbers = np.unravel_index(rows, shape)
            points = [axis[n] for axis, n in zip(grid.axes.values(), numbers, strict=True)]
            np.savetxt(file, np.stack([*points, *(column[rows] for column in columns)], axis=1), "%.15g", ",")


_WRITERS: dict[str, Callable[[Path, Grid, dict], None]] = {
    ".npz": _write_npz,
    NETCDF_SUFFIX: _write_netcdf,
    ".csv": _write_csv,
}
SUFFIXES = tuple(_WRITERS)
