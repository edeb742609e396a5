"""Grids in NetCDF files, by xarray, with the attributes of the CF conventions."""

from pathlib import Path
from typing import Any

import numpy as np

from .._base.extras import require
from .._base.saving import whole_file
from .grids import LATITUDES, LONGITUDES, Grid, is_geographic

_PLANE = (("x", "easting", "east", "e"), ("y", "northing", "north", "n"))


def write_grid(path: Path, grid: Grid, notes: dict) -> None:
    """Write with the last coordinate first, the order that programs for maps expect; notes become attributes, and
    ``crs`` a grid mapping, too.
    """
    xarray = require("xarray", "grid")
    plain = {name: name.replace("/", "_") for name in (*grid.axes, *grid.values)}
    dims = [plain[name] for name in grid.axes]
    crs = notes.get("crs")
    mapping = {} if crs is None or "crs" in plain.values() else {"grid_mapping": "crs"}
    variables: dict[str, Any] = {
        plain[name]: (dims, values, {"long_name": name, "actual_range": _range(values)} | mapping)
        for name, values in grid.values.items()
    }
    axes: dict[str, Any] = {plain[name]: (plain[name], axis, _axis(name, axis)) for name, axis in grid.axes.items()}
    if mapping:
        axes["crs"] = ((), np.int32(0), _mapping(str(crs), is_geographic(tuple(grid.axes))))
    with whole_file(path) as temporary:
        dataset = xarray.Dataset(variables, axes, {"Conventions": "CF-1.8"} | notes)
        dataset.transpose(*reversed(dims)).to_netcdf(temporary)


def _range(values: np.ndarray) -> list[float]:
    known = values[np.isfinite(values)]
    return [float(known.min()), float(known.max())] if known.size else [np.nan, np.nan]


def _axis(name: str, axis: np.ndarray) -> dict[str, Any]:
    """What a coordinate is, by its name."""
    known, lower = {"actual_range": _range(axis), "long_name": name}, name.lower()
    if lower in LONGITUDES:
        return known | {"standard_name": "longitude", "units": "degrees_east", "axis": "X"}
    if lower in LATITUDES:
        return known | {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"}
    for letter, names in zip("xy", _PLANE, strict=True):
        if lower in names:
            return known | {"standard_name": f"projection_{letter}_coordinate", "axis": letter.upper()}
    return known


def _mapping(crs: str, geographic: bool) -> dict[str, Any]:
    """Attributes of the grid mapping, with the full text of the system where pyproj knows it."""
    try:
        from pyproj import CRS  # type: ignore[import-not-found,unused-ignore]

        return CRS.from_user_input(crs).to_cf() | {"epsg_code": crs}
    except ImportError:
        return ({"grid_mapping_name": "latitude_longitude"} if geographic else {}) | {"epsg_code": crs}
