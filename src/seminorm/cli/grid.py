"""``seminorm grid``: scattered points in a file, a smooth grid out."""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from .._base.formats import all_formats
from ..files.grids import RESERVED_NAMES, Grid, std_name, write_grid
from .options import add_input, add_output, number_or_word, numbers, words
from .parsing import Parser
from .paths import GRID_SUFFIXES, check_different, check_one, check_output, check_there
from .reporting import listed, shown

HELP = "smooth scattered points of one to four coordinates, and write the result on a regular grid"
_MOST_COORDINATES = 4
_CRITERIA = ("auto", "reml", "robust_gcv", "gcv", "holdout")
_OPERATORS = ("auto", "tension", "matern", "none")
_NEGLIGIBLE = 0.1
_LOSSES, _ROBUST = ("squared", "huber", "student_t"), "student_t"
_TABLES = (".csv", ".tsv", ".txt", ".npy", ".npz")  # what standard input may be


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "POINTS -o GRID [option ...]",
        "seminorm grid soundings.csv -o depth.nc --spacing 0.01",
        "seminorm grid soundings.csv -o depth.nc --columns lon,lat --value depth --std",
        "cat soundings.csv | seminorm grid - -o - --to csv > depth.csv",
    )
    points_help = "text file (commas, semicolons, tabs or blanks; with or without a line of names), npy or npz"
    add_input(parser, "POINTS", points_help, _TABLES, text=".csv")
    add_output(parser, "GRID", f"file to write: {listed(GRID_SUFFIXES)}", GRID_SUFFIXES)
    add = parser.add_argument_group("columns, by name or by number from 1").add_argument
    add("--columns", type=words, metavar="X,Y", help="coordinates (default: all columns but value and weight)")
    add("--value", metavar="Z", help="what is smoothed (default: the last column not named otherwise)")
    add("--weight", metavar="W", help="one over the noise variance, up to a factor (default: equal)")
    add("--skip-missing", action="store_true", help="leave out rows with missing values")
    add = parser.add_argument_group("grid").add_argument
    spacing_help = "one, or one per axis (default: 100 along the longest side, after --scale)"
    add("--spacing", type=numbers, metavar="S[,S...]", help=spacing_help)
    add("--bounds", type=numbers, metavar="LO,HI[,...]", help="two per axis (default: extent of the points)")
    add("--std", action="store_true", help="write the standard deviation of the field, too (VALUE_std)")
    add = parser.add_argument_group("field (see the documentation of seminorm.FieldSmoother)").add_argument
    add("--alpha", type=number_or_word, default="auto", help="smoothing: a number or auto (default: auto)")
    criterion_help = f"how auto chooses alpha: {listed(_CRITERIA)} (default: {_CRITERIA[0]})"
    add("--criterion", choices=_CRITERIA, default=_CRITERIA[0], metavar="NAME", help=criterion_help)
    operator_help = f"what is smooth: {listed(_OPERATORS)}, the thin plate (default: {_OPERATORS[0]})"
    add("--operator", choices=_OPERATORS, default=_OPERATORS[0], metavar="NAME", help=operator_help)
    order_help = "only derivatives of this order, 1, 2 or 3, measure roughness (default: see --operator)"
    add("--order", type=int, choices=(1, 2, 3), help=order_help)
    loss_help = f"of the values: {listed(_LOSSES)} (default: {_LOSSES[0]})"
    add("--loss", choices=_LOSSES, metavar="NAME", help=loss_help)
    add("--robust", action="store_true", help=f"outliers shall not count: the same as --loss {_ROBUST}")
    add("--depth", type=number_or_word, default="auto", help="2**DEPTH cells along the longest side (default: auto)")
    add("--scale", type=numbers, metavar="S[,S...]", help="what coordinates are divided by, one or one per axis")
    margin_help = "of the box around the points, relative to them (default: 2, in four dimensions 1)"
    add("--margin", type=float, help=margin_help)
    add("--field", type=Path, metavar="FILE", help="save the field itself; seminorm.Field.load reads it")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, write and say what was done."""
    _check(arguments)
    from ..files.tables import open_table

    table = open_table(arguments.inputs[0])
    roles = choose_columns(table, arguments.columns, arguments.value, arguments.weight)
    from ..estimators import FieldSmoother

    d = len(roles.coordinates)
    bounds = None if arguments.bounds is None else _corners(arguments.bounds, d)
    spacing, scale = _one_each("--spacing", arguments.spacing, d), _one_each("--scale", arguments.scale, d)
    values = read_observations(table, roles, arguments.skip_missing, verbose=not arguments.quiet)
    print(f"{shown(table.path)}: {len(values)} points, {roles.describe(table)}")
    wanted = {name: getattr(arguments, name) for name in ("alpha", "criterion", "order", "depth", "margin")}
    wanted["loss"] = arguments.loss or (_ROBUST if arguments.robust else _LOSSES[0])
    wanted["operator"] = None if arguments.operator == "none" else arguments.operator
    smoother = FieldSmoother(**wanted, scale=1.0 if scale is None else scale, verbose=not arguments.quiet)
    smoother.fit(values[:, :d], values[:, d], sample_weight=None if roles.weight is None else values[:, d + 1])
    print(_summary(smoother))
    if arguments.field is not None:
        print(f"{smoother.function_.save(arguments.field)}: the field")
    grid = _grid(smoother, spacing, bounds, roles.names(table), arguments.std)
    write_grid(arguments.output, grid, _notes(smoother))
    size = " x ".join(str(len(axis)) for axis in grid.axes.values())
    print(f"{shown(arguments.output)}: {' and '.join(grid.values)} at {size} points")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    check_one(arguments.inputs, "join them first")
    check_output(arguments.output, GRID_SUFFIXES)
    all_formats.get("write_grid", arguments.output).check_installed()
    if arguments.field is not None:
        check_output(arguments.field)
    check_different(arguments.inputs, [("--output", arguments.output), ("--field", arguments.field)])
    check_there(arguments.inputs[0])


def _corners(numbers: list[float], d: int) -> list[list[float]]:
    """The two corners of XMIN,XMAX,YMIN,YMAX,..."""
    low, high = numbers[::2], numbers[1::2]
    if len(numbers) != 2 * d:
        wanted = f"{2 * d} numbers for {d} coordinates, the least and the largest of each"
        raise ValueError(f"--bounds must be {wanted}, got {numbers}.")
    if any(not a <= b for a, b in zip(low, high, strict=True)):
        raise ValueError(f"--bounds must be finite and in order, the least of each coordinate first, got {numbers}.")
    return [low, high]


def _one_each(option: str, numbers: list[float] | None, d: int) -> list[float] | float | None:
    if numbers is not None and len(numbers) not in (1, d):
        raise ValueError(f"{option} has {len(numbers)} numbers for {d} coordinates: give one, or one for each.")
    return numbers[0] if numbers is not None and len(numbers) == 1 else numbers


def _summary(smoother) -> str:
    chosen, noise = " (chosen)" if isinstance(smoother.alpha, str) else "", f"noise {smoother.noise_variance_**0.5:.4g}"
    field = smoother.function_
    lines = [f"alpha {smoother.alpha_:.4g}{chosen}, depth {field.depth}, {field.n_coef} coefficients, {noise}"]
    if chosen:
        details, how = smoother.details_, f"by {smoother.criterion_}"
        length = f", a plate within {details['length']:.4g} and a membrane beyond" if "length" in details else ""
        reason = f": {details['reason']}" if "reason" in details else ""
        lines.append(f"{field.roughness}{length}, {how}{reason}")
    if smoother.loss != "squared":
        few = int((smoother.weights_ < _NEGLIGIBLE).sum())
        lines.append(
            f"loss {smoother.loss}: {few} of {len(smoother.weights_)} values have less than a tenth of their weight"
        )
    return "\n".join(lines)


def _notes(smoother) -> dict[str, float | str]:
    """What a grid file says of how it came about."""
    return {
        "alpha": smoother.alpha_,
        "energy": str(smoother.function_.roughness),
        "criterion": smoother.criterion_,
        "loss": smoother.loss,
    }


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
            names = {*axes, value, std_name(value)}
            if len(names) == len(axes) + 2 and names.isdisjoint(RESERVED_NAMES):
                return axes, value
        return [f"x{k}" for k in range(len(self.coordinates))], "value"


def choose_columns(table, columns: list[str] | None, value: str | None, weight: str | None) -> Roles:
    """The value is by default the last column not named otherwise, and coordinates are the others.

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
        name = table.label(twice)
        raise ValueError(f"column {name} is named twice: a column is a coordinate, the value or the weight.")
    return Roles(coordinates, v, w)


def read_observations(table, roles: Roles, skip_missing: bool, verbose: bool):
    """Coordinates, value and weight as columns, without missing numbers."""
    import numpy as np

    columns = [*roles.coordinates, roles.value] + ([] if roles.weight is None else [roles.weight])
    values, places = table.read(columns, verbose)
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
