"""Grids and the files that hold them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .._base.formats import all_formats

if TYPE_CHECKING:
    import numpy as np

LONGITUDES, LATITUDES = ("lon", "long", "lng", "longitude"), ("lat", "latitude")  # what columns are called
RESERVED_NAMES = ("file", "allow_pickle")  # parameters of np.savez, which arrays cannot be called


class Grid(NamedTuple):
    """Axes and the arrays on their grid, by name.

    Attributes
    ----------
    axes, values : dict of arrays
        The coordinates along each axis, and arrays whose first axis belongs to the first coordinate.

    See Also
    --------
    write_grid

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.files import Grid
    >>> grid = Grid({"x": np.arange(3.0), "y": np.arange(2.0)}, {"depth": np.zeros((3, 2))})
    >>> list(grid.axes), grid.values["depth"].shape
    (['x', 'y'], (3, 2))
    """

    axes: dict[str, np.ndarray]
    values: dict[str, np.ndarray]


def is_geographic(names: Sequence[str]) -> bool:
    """Whether axes are longitude and latitude, by their names."""
    lower = [name.lower() for name in names]
    return len(lower) == 2 and lower[0] in LONGITUDES and lower[1] in LATITUDES


def std_name(name: str) -> str:
    """What the standard deviations of a value are called."""
    return f"{name}_std"


def write_grid(path: str | os.PathLike[str], grid: Grid, notes: dict | None = None) -> Path:
    """Write a grid in the format of the path's ending: npz, nc (NetCDF), tif (GeoTIFF) or csv.

    The file appears whole or not at all.

    Parameters
    ----------
    path : path of the file; replaced if it exists, once all is written
    grid : Grid
    notes : dict, optional
        Attributes of a NetCDF file, ``crs`` such as "EPSG:25832" among them, which a GeoTIFF takes, too; other formats
        leave them out.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from seminorm.files import Grid, write_grid
    >>> grid = Grid({"x": np.array([0.0, 1.0])}, {"depth": np.array([-3.0, -2.5])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_grid(f"{folder}/grid.csv", grid).read_text())
    x,depth
    0,-3
    1,-2.5

    See Also
    --------
    seminorm.FieldSmoother.grid : The grid of a fitted field.
    """
    return all_formats.write("write_grid", path, grid, notes or {})
