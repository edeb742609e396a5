"""Which columns of a table are coordinates, the value, its weight or its deviation; and their numbers."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..files.grids import LATITUDES, LONGITUDES, RESERVED_NAMES, is_geographic, std_name

_MOST_COORDINATES = 4
_X = (*LONGITUDES, "x", "easting", "east", "e", "utm_x", "utm_e", "rechtswert")
_Y = (*LATITUDES, "y", "northing", "north", "n", "utm_y", "utm_n", "hochwert")
_HEIGHTS = ("z", "depth", "elevation", "elev", "height", "altitude", "alt", "h", "bathymetry", "topography")
_VALUES = ("value", "values", "val", "v", "temperature", "temp", "sst", "salinity", "anomaly", "gravity", "magnetic")
_TIMES = ("time", "t")
_WEIGHTS = ("weight", "weights", "sample_weight")
_DEVIATIONS = ("std", "sigma", "stdev", "stddev", "sd", "uncertainty", "standard_deviation")
_CLASSES = ("classification", "class")
_FILLS = (-9999.0, -99999.0, -32767.0, -32768.0, 9999.0, 99999.0, 1e20, -1e20, 9.969209968386869e36)
_HUGE = 1e30  # fill values of many programs
_UNITS = ("m", "km", "cm", "mm", "ft", "c", "k", "f", "degc", "nt", "mgal", "ms", "pa", "hpa", "psu")
_APART = 3.0  # how many times as large as the largest other value a fill value is


class Roles(NamedTuple):
    """Positions of the columns in a table."""

    coordinates: list[int]
    value: int
    weight: int | None = None
    deviation: int | None = None
    classes: int | None = None
    unused: tuple[int, ...] = ()

    def describe(self, table) -> str:
        """The columns in words."""
        parts = [f"coordinates {', '.join(map(table.label, self.coordinates))}", f"value {table.label(self.value)}"]
        named = (("weight", self.weight), ("standard deviation", self.deviation))
        parts += [f"{name} {table.label(column)}" for name, column in named if column is not None]
        parts += [f"not used: {', '.join(map(table.label, self.unused))}"] if self.unused else []
        return ", ".join(parts)

    def names(self, table) -> tuple[list[str], str]:
        """Names for the axes and the values of a grid: those of the table if it has any, and they differ."""
        if table.names is not None:
            axes, value = [table.label(column) for column in self.coordinates], table.label(self.value)
            names = {*axes, value, std_name(value)}
            if len(names) == len(axes) + 2 and names.isdisjoint(RESERVED_NAMES):
                return axes, value
        return [f"x{k}" for k in range(len(self.coordinates))], "value"

    def are_geographic(self, table) -> bool:
        """Whether the coordinates are longitude and latitude, by their names."""
        return table.names is not None and is_geographic([table.label(column) for column in self.coordinates])


def choose_columns(
    table,
    columns: list[str] | None,
    value: str | None = None,
    weight: str | None = None,
    deviation: str | None = None,
    has_classes: bool = False,
) -> Roles:
    """What is not named is recognised by usual names. Beside two coordinates that are recognised, the value must be, or
    be the only column that is left; else the value is the last column that is left, and coordinates are the others.

    The arrays X, y and sample_weight of an npz file that :class:`seminorm.FieldSmoother` could read mean what they say.
    """
    names = table.names or []
    if "y" in names and ("X" in names or "X1" in names):
        columns = [name for name in names if re.fullmatch(r"X\d*", name)] if columns is None else columns
        value = "y" if value is None else value
        weight = "sample_weight" if weight is None and "sample_weight" in names else weight
    named = None if columns is None else [table.column(name) for name in columns]
    v, w, s = (None if name is None else table.column(name) for name in (value, weight, deviation))
    if w is not None and s is not None:
        raise ValueError("give --weight or --sigma, not both: a weight is one over the square of the deviation.")
    known = _Known(table, {v, w, s, *(named or [])} - {None})
    if w is None and s is None:
        w, s = known.first(_WEIGHTS), known.first(_DEVIATIONS)
        w, s = (w, None) if w is not None else (w, s)
    classes = known.first(_CLASSES)
    if has_classes and classes is None:
        raise ValueError(f"--classes needs a column called {' or '.join(_CLASSES)}, and {table.path} has none.")
    if named is None and (pair := known.plane()) is not None:
        named, v = _recognized(known, pair, v, {w, s, classes})
    if v is None:
        v = max(set(range(table.width)) - {w, s, *(named or [])} - ({classes} if has_classes else set()), default=None)
    taken = (v, w, s, classes if has_classes else None)
    coordinates = [column for column in range(table.width) if column not in taken] if named is None else named
    _check(table, coordinates, [column for column in (v, w, s) if column is not None], v, w)
    assert v is not None
    used = {*coordinates, v, w, s, *([classes] if has_classes else [])}
    return Roles(
        coordinates, v, w, s, classes if has_classes else None, tuple(k for k in range(table.width) if k not in used)
    )


class _Known:
    """The columns of a table by usual names, with or without units, but for those that have a role already."""

    def __init__(self, table, taken: set):
        self.table = table
        self.free = [k for k in range(table.width) if k not in taken]
        labels = [(k, table.names[k].lower()) for k in reversed(self.free)] if table.names else []
        self._columns = {_without_unit(name): k for k, name in labels} | {name: k for k, name in labels}

    def first(self, names: Sequence[str]) -> int | None:
        return next((self._columns[name] for name in names if name in self._columns), None)

    def plane(self) -> tuple[int, int] | None:
        """Two coordinates of the same kind."""
        pairs = ((self._columns.get(x), self._columns.get(y)) for x, y in _pairs())
        return next(((x, y) for x, y in pairs if x is not None and y is not None), None)


def _without_unit(name: str) -> str:
    """``depth`` of ``depth_m``, ``depth (m)`` and ``depth [m]``."""
    bare = re.sub(r"\s*[\[(].*[\])]\s*$", "", name)
    stem, _, unit = bare.rpartition("_")
    return stem if stem and unit in _UNITS else bare


def _pairs() -> list[tuple[str, str]]:
    geographic = [(x, y) for x in LONGITUDES for y in LATITUDES]
    return geographic + list(zip(_X[len(LONGITUDES) :], _Y[len(LATITUDES) :], strict=True))


def _recognized(known: _Known, pair: tuple[int, int], value: int | None, others: set) -> tuple[list[int], int | None]:
    """Coordinates, x first, and the value, without one of ``others``; None if there is no column for it."""
    height, time = known.first(_HEIGHTS), known.first(_TIMES)
    found = value if value is not None else known.first(_VALUES)
    if found is None:
        found, height = height, None
    if found is None:
        left = [column for column in known.free if column not in {*pair, time, *others}]
        if len(left) > 1:
            raise ValueError(
                f"which column of {known.table.path} is the value: {', '.join(map(known.table.label, left))}? Name it "
                f"by --value, such as --value {known.table.label(left[0])}."
            )
        found = left[0] if left else time
    return [*pair, *(column for column in (height, time) if column is not None and column != found)], found


def _check(table, coordinates: list[int], others: list[int], v: int | None, w: int | None) -> None:
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
    used = [*coordinates, *others]
    twice = next((column for column in used if used.count(column) > 1), None)
    if twice is not None:
        name = table.label(twice)
        raise ValueError(f"column {name} is named twice: a column is a coordinate, the value or the weight.")


def read_observations(
    table,
    roles: Roles,
    skip_missing: bool,
    verbose: bool,
    fills: Sequence[float] | None = None,
    classes: Sequence[float] | None = None,
) -> Any:
    """Coordinates, value and weight as columns, without missing numbers; ``fills`` stand for missing values, left out
    those that programs use and that are far from all other values."""
    import numpy as np

    others = [column for column in (roles.weight, roles.deviation, roles.classes) if column is not None]
    values, places = table.read([*roles.coordinates, roles.value, *others], verbose)
    if classes is not None:
        kept = np.isin(values[:, -1], classes)
        if not kept.any():
            raise ValueError(f"{table.path} has no points of the classes {', '.join(f'{c:g}' for c in classes)}.")
        values, places = values[kept, :-1], places[kept]
    d = len(roles.coordinates)
    found = [] if len(values) == 0 else _fills_in(values[:, d]) if fills is None else list(fills)
    values[np.isin(values[:, d], found), d] = np.nan
    if roles.deviation is not None:
        values[:, d + 1] = _weights(values[:, d + 1], table)
    complete = np.isfinite(values).all(axis=1)
    missing = len(values) - np.count_nonzero(complete)
    if missing and not skip_missing:
        such = f", {' and '.join(f'{fill:g}' for fill in found)} among them" if found else ""
        numbers = "; --missing none takes these for numbers" if found and fills is None else ""
        raise ValueError(
            f"{table.path} has missing or infinite values in {missing} of {len(values)} rows{such}, first in "
            f"{table.unit} {places[np.argmin(complete)]}: --skip-missing leaves these rows out{numbers}."
        )
    if missing == len(values):
        raise ValueError(f"{table.path} has missing or infinite values in all of its {missing} rows.")
    return values[complete] if missing else values


def _weights(deviations, table):
    """One over the squares of deviations, which are positive or missing."""
    import numpy as np

    if (deviations <= 0).any():
        raise ValueError(f"{table.path}: standard deviations must be positive, got {np.nanmin(deviations):g}.")
    return deviations**-2.0


def _fills_in(values) -> list[float]:
    """Numbers that programs write for missing values, far from all others in the column."""
    import numpy as np

    finite = values[np.isfinite(values)]
    is_fill = np.isin(finite, _FILLS) | (np.abs(finite) > _HUGE)
    largest = np.abs(finite[~is_fill]).max(initial=0.0)
    present = np.unique(finite[is_fill])
    return [float(fill) for fill in present if abs(fill) > _APART * largest and not is_fill.all()]
