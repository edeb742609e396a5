"""Which columns of a table are coordinates, value and weight."""

from __future__ import annotations

import re
from typing import NamedTuple

from .grid_files import RESERVED_NAMES, std_name

_MOST_COORDINATES = 4


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


def read_observations(table, roles: Roles, skip_missing: bool, progress: bool):
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
