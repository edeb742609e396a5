"""Reading and writing points as text: XYZ, TXT, PTS, PWN and the like.

Lines hold numbers between blanks, commas or semicolons; lines that start with # or // are comments. Names of the
columns are taken from a first line of words or from the comment above the numbers. Without them, the columns behind
x, y and z are read as

- one: intensity
- three: normals, or colours if they are whole numbers from 0 to 255 (or the ending is .xyzrgb)
- four: intensity and colours if these are whole numbers from 0 to 255, else normals and one more
- six: normals and colours, or colours from 0 to 255 and normals

and what is left becomes an attribute called by its number.
"""

import csv
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from ..clouds.cloud import PointCloud
from .columns import COLORS, NORMALS, POINTS, SENSORS, build, color_scale, layout_of
from .errors import FileFormatError, not_a
from .grids import Grid
from .rows import BLOCK_LINES, is_number, number_rows, write_rows
from .tables import TextTable


def read_points(path: Path) -> PointCloud:
    """Points and what else stands in their lines."""
    table = TextTable(path, delimiters=";,")
    if not all(map(is_number, table.first_fields)):
        raise not_a("point", path)
    rows = _counted_rows(table) if table.count is not None else table.read(strict=True).values
    if rows.shape[1] < 3:
        raise FileFormatError(f"{path} has {rows.shape[1]} columns, and points have at least three.")
    names = table.names if table.count is None else None
    if names is None or not {*POINTS} <= {name.lower() for name in names}:
        names = guessed_names(rows, colors_first=path.suffix.lower() == ".xyzrgb")
    columns = dict(zip(names, rows.T, strict=True))
    layout = layout_of(names, path)
    return build(layout, columns, color_scale(layout, columns))


def guessed_names(rows: np.ndarray, colors_first: bool = False) -> list[str]:
    """Names for columns that have none; see the module."""
    width = rows.shape[1]
    has_colors_first = colors_first or (_are_bytes(rows[:, 3:6]) and not _are_units(rows[:, 3:6]))
    triple = [*(COLORS[0] if has_colors_first else NORMALS[0])]
    if width < 6:
        rest = ["intensity"] if width == 4 else []
    elif width == 7 and _are_bytes(rows[:, 4:7]) and not _are_units(rows[:, 3:6]):
        rest = ["intensity", *COLORS[0]]
    elif width == 9:
        rest = triple + [*(NORMALS[0] if has_colors_first else COLORS[0])]
    else:
        rest = triple
    return [*POINTS, *rest, *(f"column{k + 1}" for k in range(3 + len(rest), width))]


def write_points(path: Path, cloud: PointCloud) -> None:
    """Write a comment with the names of the columns, then the points; colours as whole numbers up to 255."""
    names, columns, formats = [*POINTS], [*cloud.points.T], ["%.17g"] * 3
    if cloud.normals is not None:
        names, columns, formats = names + [*NORMALS[0]], columns + [*cloud.normals.T], formats + ["%.17g"] * 3
    if cloud.colors is not None:
        names, formats = names + [*COLORS[0]], formats + ["%d"] * 3
        columns += [np.rint(np.nan_to_num(column) * 255) for column in cloud.colors.T]
    if cloud.sensor is not None:
        names, columns, formats = names + [*SENSORS[0]], columns + [*cloud.sensor.T], formats + ["%.17g"] * 3
    for name, values in cloud.attributes.items():
        if values.dtype.kind not in "biuf":
            raise ValueError(f"attribute {name!r} cannot be written as numbers: it holds {values.dtype}.")
        name, parts = "_".join(name.split()), values.reshape(len(cloud), -1).T
        names += [name] if values.ndim == 1 else [f"{name}_{k}" for k in range(len(parts))]
        columns += [*parts]
        formats += ["%.17g" if values.dtype.kind == "f" else "%d"] * len(parts)
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(f"# {' '.join(names)}\n")
        write_rows(file, columns, " ".join(formats) + "\n")


def write_grid(path: Path, grid: Grid, notes: dict) -> None:
    """Write one line per grid point, below a line with the names; the notes are left out."""
    shape = tuple(len(axis) for axis in grid.axes.values())
    columns = [values.reshape(-1) for values in grid.values.values()]
    with whole_file(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow([*grid.axes, *grid.values])
        for begin in range(0, len(columns[0]), BLOCK_LINES):
            rows = np.arange(begin, min(begin + BLOCK_LINES, len(columns[0])))
            numbers = np.unravel_index(rows, shape)
            points = [axis[n] for axis, n in zip(grid.axes.values(), numbers, strict=True)]
            np.savetxt(file, np.stack([*points, *(column[rows] for column in columns)], axis=1), "%.15g", ",")


def _are_bytes(values: np.ndarray) -> bool:
    """Whether numbers look like colours from 0 to 255."""
    if values.shape[1] < 3:
        return False
    low, high = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    return bool(low >= 0 and 1 < high <= 255 and (values == np.rint(values)).all())


def _are_units(values: np.ndarray) -> bool:
    """Whether most of some vectors have length one."""
    return values.shape[1] == 3 and float(np.median(np.abs((values**2).sum(axis=1) - 1))) < 0.01


def _counted_rows(table: TextTable) -> np.ndarray:
    """Blocks of lines, each below a line with their number; in PWN files all normals stand below all positions."""
    path, delimiter = table.path, table.delimiter
    blocks: list[np.ndarray] = []
    with table.open_numbers() as file:
        for line in file:
            if not line.strip():
                continue
            if not line.strip().isdecimal():
                promised = len(blocks[-1])
                raise FileFormatError(f"{path} is damaged: there are more lines than the {promised} it promises.")
            n = int(line)
            if path.suffix.lower() == ".pwn":
                rows = number_rows(path, file, 2 * n, 3, "lines of positions and normals", delimiter)
                return np.hstack([rows[:n], rows[n:]])
            width = blocks[0].shape[1] if blocks else None
            blocks.append(number_rows(path, file, n, width, "points", delimiter))
    return np.concatenate(blocks)
