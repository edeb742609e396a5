"""``seminorm grid``: scattered points in a file, a smooth grid out."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HELP = "smooth scattered points of one to four coordinates, and write the result on a regular grid"
SUFFIXES = (".npz", ".nc", ".csv")
_MOST_COORDINATES = 4
_CSV_LINES = 2**16
_TAKEN = ("file", "allow_pickle")  # parameters of np.savez, which arrays cannot be called


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.epilog = "Example: seminorm grid soundings.csv --columns lon,lat --value depth --spacing 0.01 -o depth.nc"
    parser.add_argument(
        "points", help="text file (commas, semicolons, tabs or blanks; with or without a line of names), npy or npz"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="GRID", help="file to write: .npz, .nc (NetCDF) or .csv"
    )
    columns = parser.add_argument_group("columns, by name or by number from 1")
    columns.add_argument(
        "--columns", type=_words, metavar="X,Y", help="coordinates (default: all columns but value and weight)"
    )
    columns.add_argument("--value", metavar="Z", help="what is smoothed (default: the last column not named otherwise)")
    columns.add_argument("--weight", metavar="W", help="one over the noise variance, up to a factor (default: equal)")
    columns.add_argument("--skip-missing", action="store_true", help="leave out rows with missing values")
    grid = parser.add_argument_group("grid")
    grid.add_argument(
        "--spacing",
        type=_numbers,
        metavar="S[,S...]",
        help="one, or one an axis (default: 100 along the longest side, after --scale)",
    )
    grid.add_argument(
        "--bounds", type=_numbers, metavar="XMIN,XMAX[,...]", help="two an axis (default: extent of the points)"
    )
    grid.add_argument("--std", action="store_true", help="write the standard deviation of the field, too (VALUE_std)")
    field = parser.add_argument_group("field (see the documentation of seminorm.FieldSmoother)")
    field.add_argument(
        "--alpha",
        type=_number_or_word,
        default="auto",
        help="smoothing: a number, auto, gcv or holdout (default: auto)",
    )
    field.add_argument(
        "--order", type=int, choices=(1, 2, 3), default=2, help="of the derivatives that measure roughness (default: 2)"
    )
    field.add_argument(
        "--depth", type=_number_or_word, default="auto", help="2**DEPTH cells along the longest side (default: auto)"
    )
    field.add_argument(
        "--scale", type=_numbers, metavar="S[,S...]", help="what coordinates are divided by, one or one an axis"
    )
    field.add_argument(
        "--margin", type=float, help="of the box around the points, relative to them (default: 2, in four dimensions 1)"
    )
    field.add_argument("--field", metavar="FILE", help="save the field itself; seminorm.Field.load reads it")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, write and say what was done."""
    from .estimators import FieldSmoother
    from .fields.gridding import as_corners
    from .serialization import whole_file
    from .tables import open_table

    output = _writable(arguments.output)
    if output.suffix not in SUFFIXES:
        raise ValueError(f"the output {output} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    field_file = None if arguments.field is None else _writable(arguments.field)
    if field_file == output:
        raise ValueError(f"--output and --field are both {output}: name two files.")
    table = open_table(arguments.points)
    roles = choose_columns(table, arguments.columns, arguments.value, arguments.weight)
    d = len(roles.coordinates)
    bounds = None if arguments.bounds is None else as_corners(arguments.bounds, d, "--bounds")
    spacing, scale = _one_each("--spacing", arguments.spacing, d), _one_each("--scale", arguments.scale, d)
    values = _observations(table, roles, arguments.skip_missing, progress=not arguments.quiet)
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
    if field_file is not None:
        print(f"{smoother.field_.save(field_file)}: the field")
    grid = _grid(smoother, spacing, bounds, roles.names(table), arguments.std)
    with whole_file(output) as temporary:
        _WRITERS[output.suffix](temporary, grid, {"alpha": smoother.alpha_, "order": smoother.order})
    size = " x ".join(str(len(axis)) for axis in grid.axes.values())
    print(f"{output}: {' and '.join(grid.values)} at {size} points")
    return 0


# -- columns ---------------------------------------------------------------------------------------------------------


class Roles(NamedTuple):
    """Positions of the columns in a table."""

    coordinates: list[int]
    value: int
    weight: int | None

    def describe(self, table) -> str:
        """The columns in words."""
        coordinates = ", ".join(map(table.label, self.coordinates))
        weight = "" if self.weight is None else f", weight {table.label(self.weight)}"
        return f"coordinates {coordinates}, value {table.label(self.value)}{weight}"

    def names(self, table) -> tuple[list[str], str]:
        """Names for the axes and the values of a grid: those of the table if it has any, and they differ."""
        if table.names is not None:
            axes, value = [table.label(column) for column in self.coordinates], table.label(self.value)
            names = {*axes, value, _std_name(value)}
            if len(names) == len(axes) + 2 and names.isdisjoint(_TAKEN):
                return axes, value
        return [f"x{k}" for k in range(len(self.coordinates))], "value"


def choose_columns(table, columns: list[str] | None, value: str | None, weight: str | None) -> Roles:
    """Which column is what: the value is the last one that is not named otherwise, coordinates are the remaining ones.

    The arrays X, y and sample_weight of an npz file that :class:`seminorm.FieldSmoother` could read mean what they say.
    """
    names = table.names or []
    if "y" in names and ("X" in names or "X1" in names):
        columns = [name for name in names if re.fullmatch(r"X\d*", name)] if columns is None else columns
        value = "y" if value is None else value
        weight = "sample_weight" if weight is None and "sample_weight" in names else weight
    named = None if columns is None else [table.column(name) for name in columns]
    w = None if weight is None else table.column(weight)
    v = None if value is None else table.column(value)
    if v is None:
        v = max(set(range(table.width)) - {w, *(named or [])}, default=None)
    coordinates = [column for column in range(table.width) if column not in (v, w)] if named is None else named
    if v is None or not coordinates:
        raise ValueError(
            f"{table.path} has not enough columns, {table.width}: at least one coordinate and the value are needed"
            f"{', besides the weight' if w is not None else ''}."
        )
    if len(coordinates) > _MOST_COORDINATES:
        raise ValueError(
            f"{table.path} has {len(coordinates)} columns besides the value, and a field has at most "
            f"{_MOST_COORDINATES} coordinates: name them by --columns."
        )
    used = [*coordinates, v] + ([] if w is None else [w])
    twice = next((column for column in used if used.count(column) > 1), None)
    if twice is not None:
        raise ValueError(
            f"column {table.label(twice)} is named twice: a column is a coordinate, the value or the weight."
        )
    return Roles(coordinates, v, w)


def _observations(table, roles: Roles, skip_missing: bool, progress: bool):
    """Coordinates, value and weight as columns, without missing numbers."""
    import numpy as np

    columns = [*roles.coordinates, roles.value] + ([] if roles.weight is None else [roles.weight])
    values, places = table.read(columns, progress)
    complete = np.isfinite(values).all(axis=1)
    missing = len(values) - np.count_nonzero(complete)
    if missing and not skip_missing:
        raise ValueError(
            f"{table.path} has missing or infinite values in {missing} of {len(values)} rows, first in {table.unit} "
            f"{places[np.argmin(complete)]}: --skip-missing leaves these rows out."
        )
    if missing == len(values):
        raise ValueError(f"{table.path} has missing or infinite values in all of its {missing} rows.")
    return values[complete] if missing else values


# -- grid ------------------------------------------------------------------------------------------------------------


class Grid(NamedTuple):
    """Axes and the arrays on their grid, by name; the first axis of an array belongs to the first coordinate."""

    axes: dict
    values: dict


def _grid(smoother, spacing, bounds, names: tuple[list[str], str], std: bool) -> Grid:
    axis_names, value_name = names
    value_names = [value_name, _std_name(value_name)] if std else [value_name]
    grid = smoother.grid(spacing, bounds=bounds, names=axis_names, value_name=value_name, std=std)
    if isinstance(grid, tuple):  # without xarray
        axes, *arrays = grid
    else:
        axes = [grid[name].values for name in axis_names]
        arrays = [grid[name].values for name in value_names] if std else [grid.values]
    return Grid(dict(zip(axis_names, axes, strict=True)), dict(zip(value_names, arrays, strict=True)))


def _std_name(name: str) -> str:
    return f"{name}_std"


def _write_npz(path: Path, grid: Grid, attributes: dict) -> None:
    import numpy as np

    with path.open("wb") as file:
        np.savez(file, **grid.axes, **grid.values)


def _write_netcdf(path: Path, grid: Grid, attributes: dict) -> None:
    """Last coordinate first, the order that programs for maps expect."""
    from ._extras import require

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
    ".nc": _write_netcdf,
    ".csv": _write_csv,
}


def _writable(name: str) -> Path:
    """A path for output, checked before the work begins."""
    path = Path(name)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder.")
    return path


# -- arguments and report --------------------------------------------------------------------------------------------


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None


def _number_or_word(text: str) -> float | str:
    """A number, whole if it is written so; words are judged by the estimator."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
