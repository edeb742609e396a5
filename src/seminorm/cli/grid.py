"""``seminorm grid``: scattered points in a file, a smooth grid out."""

import argparse
import math
import re
from pathlib import Path

from .._base.extras import require
from .._base.formats import all_formats
from ..files.grids import Grid, is_geographic, std_name, write_grid
from .columns import Roles, choose_columns, read_observations
from .options import add_input, add_output, distance, number_or_word, numbers, words
from .parsing import Parser
from .paths import GRID_SUFFIXES, check_different, check_one, check_output, check_there
from .reporting import listed, shown

HELP = "smooth scattered points of one to four coordinates, and write the result on a regular grid"
_CRITERIA = ("auto", "reml", "robust_gcv", "gcv", "holdout")
_OPERATORS = ("auto", "tension", "matern", "none")
_PICTURES, _DPI = (".png", ".pdf", ".svg"), 150
_ANISOTROPIES = ("auto", "rotated", "none")
_NEGLIGIBLE = 0.1
_LOSSES, _ROBUST = ("squared", "huber", "student_t"), "huber"
_TABLES = (".csv", ".tsv", ".txt", ".npy", ".npz", ".las", ".laz", ".ply", ".pcd", ".e57")  # what standard input may be


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "POINTS -o GRID [option ...]",
        "seminorm grid soundings.csv -o depth.nc --spacing 0.01",
        "seminorm grid soundings.csv -o depth.nc --columns lon,lat --value depth --std",
        "cat soundings.csv | seminorm grid - -o - --to csv > depth.csv",
    )
    points_help = (
        "text file (commas, semicolons, tabs or blanks; with or without a line of names), npy, npz, las or laz"
    )
    add_input(parser, "POINTS", points_help, _TABLES, text=".csv")
    add_output(parser, "GRID", f"file to write: {listed(GRID_SUFFIXES)}", GRID_SUFFIXES)
    add = parser.add_argument_group("columns, by name or by number from 1").add_argument
    columns_help = "coordinates (default: recognised by name, such as lon,lat; else all columns but value and weight)"
    add("--columns", type=words, metavar="X,Y", help=columns_help)
    add("--value", metavar="Z", help="what is smoothed (default: recognised by name; else the last column not named)")
    add("--weight", metavar="W", help="one over the noise variance, up to a factor (default: by name, else equal)")
    add("--sigma", metavar="S", help="standard deviation of the noise of each value (default: by name, else equal)")
    add("--skip-missing", action="store_true", help="leave out rows with missing values")
    missing_help = "values that stand for missing ones, or none (default: -9999 and the like, far from all others)"
    add("--missing", type=_fills, metavar="V[,V...]", help=missing_help)
    classes_help = "only points of these classes, such as 2 for ground in LAS files"
    add("--classes", type=numbers, metavar="C[,C...]", help=classes_help)
    add = parser.add_argument_group("grid").add_argument
    spacing_help = "one, or one per axis, in units of the data (default: 100 along the longest side, after --scale)"
    add("--spacing", type=numbers, metavar="S[,S...]", help=spacing_help)
    bounds_help = "two per axis (default: extent of the points)"
    add("--bounds", "--region", type=_slashed, metavar="LO,HI[,...]", help=bounds_help)
    add("--std", action="store_true", help="write the standard deviation of the field, too (VALUE_std)")
    mask_help = (
        "cells farther than this from all points become NaN: a distance after --scale, none, or auto: outside the hull "
        "of the points, and twice as far as any place in it (default: auto)"
    )
    add("--mask-distance", type=_mask, default="auto", metavar="D", help=mask_help)
    crs_help = (
        "coordinate system noted in NetCDF and GeoTIFF files, such as EPSG:25832 (default: EPSG:4326 for lon,lat)"
    )
    add("--crs", metavar="EPSG:CODE", help=crs_help)
    add("--preview", type=Path, metavar="FILE", help="draw the values with a colour bar, into a png, pdf or svg file")
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
    period_help = "of axes that close up, such as 360: of the first axis, or one per axis, 0 for the others"
    add("--period", type=numbers, metavar="P[,P...]", help=period_help)
    anisotropy_help = (
        f"whether it may be smoother in some directions: {listed(_ANISOTROPIES)}; auto chooses a factor for each axis, "
        "rotated the directions, too, if held-out points agree (default: none)"
    )
    add("--anisotropy", choices=_ANISOTROPIES, default="none", metavar="NAME", help=anisotropy_help)
    margin_help = "of the box around the points, relative to them (default: 2, in four dimensions 1)"
    add("--margin", type=float, help=margin_help)
    add("--field", type=Path, metavar="FILE", help="save the field itself; seminorm.Field.load reads it")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Read, fit, write and say what was done."""
    _check(arguments)
    from ..files.tables import open_table

    table = open_table(arguments.inputs[0])
    named = (arguments.columns, arguments.value, arguments.weight, arguments.sigma)
    roles = choose_columns(table, *named, has_classes=arguments.classes is not None)
    d, verbose = len(roles.coordinates), not arguments.quiet
    bounds = None if arguments.bounds is None else _corners(arguments.bounds, d)
    spacing, scale = _one_each("--spacing", arguments.spacing, d), _one_each("--scale", arguments.scale, d)
    values = read_observations(table, roles, arguments.skip_missing, verbose, arguments.missing, arguments.classes)
    print(f"{shown(table.path)}: {len(values)} points, {roles.describe(table)}")
    periods = _periods(arguments.period, d)
    scale = _geographic_scale(roles, table, values, periods) if scale is None else scale
    smoother = _fitted(arguments, values, d, scale, periods)
    if arguments.field is not None:
        print(f"{smoother.function_.save(arguments.field)}: the field")
    grid = _grid(smoother, spacing, bounds, roles.names(table), arguments.std)
    _mask_far(grid, values[:, :d], arguments.mask_distance, scale)
    crs = arguments.crs or ("EPSG:4326" if is_geographic(list(grid.axes)) else None)
    write_grid(arguments.output, grid, _notes(smoother) | ({} if crs is None else {"crs": crs}))
    size = " x ".join(str(len(axis)) for axis in grid.axes.values())
    print(f"{shown(arguments.output)}: {' and '.join(grid.values)} at {size} points")
    if arguments.preview is not None:
        _draw(arguments.preview, grid)
    return 0


def _periods(numbers: list[float] | None, d: int) -> dict[int, float] | None:
    """Lengths of the axes that close up, by their numbers."""
    if numbers is None:
        return None
    if len(numbers) not in (1, d):
        raise ValueError(
            f"--period has {len(numbers)} numbers for {d} coordinates: give that of the first, or one each."
        )
    return {axis: number for axis, number in enumerate(numbers) if number != 0.0}


def _fitted(arguments: argparse.Namespace, values, d: int, scale, periods: dict[int, float] | None):
    """The smoother, and what is said of it."""
    from ..estimators import FieldSmoother

    wanted = {name: getattr(arguments, name) for name in ("alpha", "criterion", "order", "depth", "margin")}
    wanted["loss"] = arguments.loss or (_ROBUST if arguments.robust else _LOSSES[0])
    wanted["anisotropy"] = None if arguments.anisotropy == "none" else arguments.anisotropy
    wanted["operator"] = None if arguments.operator == "none" else arguments.operator
    smoother = FieldSmoother(**wanted, scale=scale, period=periods, verbose=not arguments.quiet)
    smoother.fit(values[:, :d], values[:, d], sample_weight=values[:, d + 1] if values.shape[1] > d + 1 else None)
    print(_summary(smoother))
    return smoother


def _geographic_scale(roles: Roles, table, values, periods: dict[int, float] | None) -> list[float] | float:
    """What makes a degree of longitude as long as one of latitude, in the middle of the points."""
    if not roles.are_geographic(table):
        return 1.0
    from ..estimators.geography import GeographicColumns, in_degrees, scale_of_degrees

    columns = GeographicColumns(0, 1)
    if not in_degrees(values, columns):
        return 1.0
    scale = scale_of_degrees(values[:, :2], columns, 0 in (periods or {}))
    if (scale == 1.0).all():
        return 1.0
    cosine = 1.0 / scale[0]
    print(f"longitudes are scaled by {cosine:.4g}, the cosine of the middle latitude; --scale 1 leaves them alone")
    return scale.tolist()


def _mask_far(grid: Grid, points, wanted: float | str, scale) -> None:
    """Make NaN of what is far from the points, and say so."""
    if wanted == "none":
        return
    from ..functions.masks import far_from

    far, limit = far_from(points, list(grid.axes.values()), None if isinstance(wanted, str) else wanted, scale)
    for array in grid.values.values():
        array[far] = math.nan
    if far.any():
        how = "extrapolated, and " if wanted == "auto" else ""
        advice = "; --mask-distance none keeps them" if wanted == "auto" else ""
        print(
            f"{int(far.sum())} of {far.size} grid points are NaN: {how}farther than {limit:.4g} from the data{advice}"
        )


def _draw(path: Path, grid: Grid) -> None:
    """A picture of the first array, with a colour bar."""
    from matplotlib.figure import Figure

    from .._base.saving import whole_file
    from ..plotting import plot_grid

    name, values = next(iter(grid.values.items()))
    figure = Figure(layout="compressed")
    plot_grid(list(grid.axes.values()), values, list(grid.axes), name, figure.add_subplot())
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=_DPI, bbox_inches="tight", format=path.suffix[1:].lower())
    print(f"{shown(path)}: a picture of {name}")


def _fills(text: str) -> list[float]:
    return [] if text.strip().lower() == "none" else numbers(text)


def _slashed(text: str) -> list[float]:
    """Numbers between commas, or slashes as in other programs."""
    return numbers(text.replace("/", ","))


def _mask(text: str) -> float | str:
    return text if text in ("auto", "none") else distance(text)


def _check(arguments: argparse.Namespace) -> None:
    """Everything that can be known to be wrong before the work begins."""
    check_one(arguments.inputs, "join them first")
    check_output(arguments.output, GRID_SUFFIXES)
    all_formats.get("write_grid", arguments.output).check_installed()
    if arguments.field is not None:
        check_output(arguments.field)
    if arguments.preview is not None:
        check_output(arguments.preview, _PICTURES)
        require("matplotlib", "plot")
    if arguments.crs is not None and not re.fullmatch(r"(?i)epsg:\d{4,5}", arguments.crs):
        raise ValueError(f"--crs must be a code such as EPSG:25832, got {arguments.crs!r}.")
    outputs = [(f"--{name}", getattr(arguments, name)) for name in ("output", "field", "preview")]
    check_different(arguments.inputs, outputs)
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
    if "anisotropy" in smoother.details_:
        lines.append(_directions(smoother.details_["anisotropy"]))
    if smoother.loss != "squared":
        few = int((smoother.weights_ < _NEGLIGIBLE).sum())
        lines.append(
            f"loss {smoother.loss}: {few} of {len(smoother.weights_)} values have less than a tenth of their weight"
        )
    return "\n".join(lines)


def _directions(found: dict) -> str:
    """In which directions the field is smoother, or why it is not."""
    if "reason" in found:
        return f"no direction is smoother than others: {found['reason']}"
    pairs = zip(found["lengths"], found["directions"], strict=True)
    parts = (f"{length:.3g} along ({', '.join(f'{x:.2f}' for x in way)})" for length, way in pairs)
    return f"relative lengths over which it looks alike: {'; '.join(parts)}"


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
