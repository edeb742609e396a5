"""``seminorm grid``: scattered points in a file, a smooth grid out."""

from __future__ import annotations

import argparse
from pathlib import Path

from .._extras import require
from . import options
from .columns import choose_columns, read_observations
from .grid_files import NETCDF_SUFFIX, SUFFIXES, Grid, std_name, write_grid
from .paths import check_different, check_output

HELP = "smooth scattered points of one to four coordinates, and write the result on a regular grid"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.epilog = "Example: seminorm grid soundings.csv --columns lon,lat --value depth --spacing 0.01 -o depth.nc"
    parser.add_argument(
        "points",
        type=Path,
        help="text file (commas, semicolons, tabs or blanks; with or without a line of names), npy or npz",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="GRID", help="file to write: .npz, .nc (NetCDF) or .csv"
    )
    columns = parser.add_argument_group("columns, by name or by number from 1")
    columns.add_argument(
        "--columns", type=options.words, metavar="X,Y", help="coordinates (default: all columns but value and weight)"
    )
    columns.add_argument("--value", metavar="Z", help="what is smoothed (default: the last column not named otherwise)")
    columns.add_argument("--weight", metavar="W", help="one over the noise variance, up to a factor (default: equal)")
    columns.add_argument("--skip-missing", action="store_true", help="leave out rows with missing values")
    grid = parser.add_argument_group("grid")
    grid.add_argument(
        "--spacing",
        type=options.numbers,
        metavar="S[,S...]",
        help="one, or one an axis (default: 100 along the longest side, after --scale)",
    )
    grid.add_argument(
        "--bounds", type=options.numbers, metavar="XMIN,XMAX[,...]", help="two an axis (default: extent of the points)"
    )
    grid.add_argument("--std", action="store_true", help="write the standard deviation of the field, too (VALUE_std)")
    field = parser.add_argument_group("field (see the documentation of seminorm.FieldSmoother)")
    field.add_argument(
        "--alpha",
        type=options.number_or_word,
        default="auto",
        help="smoothing: a number, auto, gcv or holdout (default: auto)",
    )
    field.add_argument(
        "--order", type=int, choices=(1, 2, 3), default=2, help="of the derivatives that measure roughness (default: 2)"
    )
    field.add_argument(
        "--depth",
        type=options.number_or_word,
        default="auto",
        help="2**DEPTH cells along the longest side (default: auto)",
    )
    field.add_argument(
        "--scale", type=options.numbers, metavar="S[,S...]", help="what coordinates are divided by, one or one an axis"
    )
    field.add_argument(
        "--margin", type=float, help="of the box around the points, relative to them (default: 2, in four dimensions 1)"
    )
    field.add_argument("--field", type=Path, metavar="FILE", help="save the field itself; seminorm.Field.load reads it")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, write and say what was done."""
    _check(arguments)
    from ..tables import open_table

    table = open_table(arguments.points)
    roles = choose_columns(table, arguments.columns, arguments.value, arguments.weight)
    from ..estimators import FieldSmoother
    from ..fields.gridding import as_corners

    d = len(roles.coordinates)
    bounds = None if arguments.bounds is None else as_corners(arguments.bounds, d, "--bounds")
    spacing, scale = _one_each("--spacing", arguments.spacing, d), _one_each("--scale", arguments.scale, d)
    values = read_observations(table, roles, arguments.skip_missing, progress=not arguments.quiet)
    print(f"{table.path}: {len(values)} points, {roles.describe(table)}")
    smoother = FieldSmoother(
        arguments.alpha,
        order=arguments.order,
        depth=arguments.depth,
        scale=1.0 if scale is None else scale,
        margin=arguments.margin,
        verbose=not arguments.quiet,
    )
    smoother.fit(values[:, :d], values[:, d], sample_weight=None if roles.weight is None else values[:, d + 1])
    print(_summary(smoother))
    if arguments.field is not None:
        print(f"{smoother.field_.save(arguments.field)}: the field")
    grid = _grid(smoother, spacing, bounds, roles.names(table), arguments.std)
    write_grid(arguments.output, grid, {"alpha": smoother.alpha_, "order": smoother.order})
    size = " x ".join(str(len(axis)) for axis in grid.axes.values())
    print(f"{arguments.output}: {' and '.join(grid.values)} at {size} points")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    check_output(arguments.output, SUFFIXES)
    if arguments.field is not None:
        check_output(arguments.field)
    if arguments.output.suffix.lower() == NETCDF_SUFFIX:
        require("xarray", "grid")
    check_different([arguments.points], {"--output": arguments.output, "--field": arguments.field})


def _one_each(option: str, numbers: list[float] | None, d: int) -> list[float] | float | None:
    if numbers is not None and len(numbers) not in (1, d):
        raise ValueError(f"{option} has {len(numbers)} numbers for {d} coordinates: give one, or one for each.")
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers


def _summary(smoother) -> str:
    chosen = " (chosen)" if isinstance(smoother.alpha, str) else ""
    field = smoother.field_
    return (
        f"alpha {smoother.alpha_:.4g}{chosen}, depth {field.depth}, {field.n_coef} coefficients, noise "
        f"{smoother.noise_variance_**0.5:.4g}"
    )


def _grid(smoother, spacing, bounds, names: tuple[list[str], str], std: bool) -> Grid:
    axis_names, value_name = names
    value_names = [value_name, std_name(value_name)] if std else [value_name]
    grid = smoother.grid(spacing, bounds=bounds, names=axis_names, value_name=value_name, std=std)
    if isinstance(grid, tuple):  # without xarray
        axes, *arrays = grid
    else:
        axes = [grid[name].values for name in axis_names]
        arrays = [grid[name].values for name in value_names] if std else [grid.values]
    return Grid(dict(zip(axis_names, axes, strict=True)), dict(zip(value_names, arrays, strict=True)))
