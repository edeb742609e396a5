"""Grids in NetCDF files, by xarray."""

from pathlib import Path

from .._base.extras import require
from .._base.saving import whole_file
from .grids import Grid


def write_grid(path: Path, grid: Grid, notes: dict) -> None:
    """Write with the last coordinate first, the order that programs for maps expect; notes become attributes."""
    xarray = require("xarray", "grid")
    plain = {name: name.replace("/", "_") for name in (*grid.axes, *grid.values)}
    dims = [plain[name] for name in grid.axes]
    variables = {plain[name]: (dims, values) for name, values in grid.values.items()}
    axes = {plain[name]: axis for name, axis in grid.axes.items()}
    with whole_file(path) as temporary:
        xarray.Dataset(variables, axes, notes).transpose(*reversed(dims)).to_netcdf(temporary)
