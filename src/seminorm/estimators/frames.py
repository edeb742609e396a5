"""From the points of the user to those of the kernel: as they are, on the sphere, or once per component."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.warnings import warn_user
from ..functions import Expansion, unit_vectors
from ..functions.framed import SphereExpansion, VectorExpansion
from ..kernels import Kernel, VectorKernel
from ..kernels.base import DILATION, ROTATION, TRANSLATION
from ..kernels.elastic import with_components
from .geography import GeographicColumns, geographic_columns, in_degrees
from .settling import has_open_scale

COORDINATES = ("auto", "geographic", None)
GEOGRAPHIC = "geographic"


class Frame:
    """Points as they are."""

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Points of the kernel."""
        return X

    def with_units(self, rows: np.ndarray) -> np.ndarray:
        """The columns of rows that have units of the user."""
        return rows

    def stacked(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Targets (rows, k) and weights of the rows."""
        return (y[:, None] if y.ndim == 1 else y), weights

    def shaped(self, values: np.ndarray) -> np.ndarray:
        """What belongs to rows as what belongs to points."""
        return values

    def expansion(self, *parts: Any) -> Expansion:
        """The function of the user's points."""
        return Expansion(*parts)


class SphereFrame(Frame):
    """Degrees of longitude and latitude, as unit vectors."""

    def __init__(self, columns: GeographicColumns):
        self.columns = columns

    def rows(self, X: np.ndarray) -> np.ndarray:
        return unit_vectors(X[:, list(self.columns)])

    def expansion(self, *parts: Any) -> Expansion:
        return SphereExpansion(*parts).facing(self.columns.latitude == 0)


class ComponentFrame(Frame):
    """Points of a vector field, each once per component."""

    def __init__(self, components: int):
        self.components = components

    def rows(self, X: np.ndarray) -> np.ndarray:
        return with_components(X, self.components)

    def with_units(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, :-1]

    def stacked(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Components that are missing (NaN) get no weight."""
        targets = y.reshape(-1, 1)
        return targets, np.repeat(weights, self.components) * ~np.isnan(targets[:, 0])

    def shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(len(values) // self.components, self.components, *values.shape[1:])

    def expansion(self, *parts: Any) -> Expansion:
        return VectorExpansion(*parts)


def frame_of(kernel: Any, columns: GeographicColumns | None) -> Frame:
    """That of a kernel, or of the columns of longitude and latitude."""
    if isinstance(kernel, VectorKernel):
        return ComponentFrame(kernel.components)
    return Frame() if columns is None else SphereFrame(columns)


def geographic_frame(coordinates: Any, kernel: Any, X: np.ndarray, names: Any, plain: bool) -> GeographicColumns | None:
    """The columns of degrees on a sphere, if X has them: named by the user, or recognised.

    They are recognised by the names of both columns where nothing speaks against it: numbers that can be degrees, a
    kernel without a length that was given in degrees, and ``plain``: nothing else that was said of the coordinates.
    """
    known = geographic_columns(names)
    if coordinates is None:
        return None
    if coordinates == GEOGRAPHIC:
        columns = GeographicColumns(0, 1) if known is None else known
        _check_geographic(kernel, X, columns, plain)
        return columns
    if not isinstance(coordinates, str) or coordinates not in COORDINATES:
        raise ValueError(f"coordinates must be one of {', '.join(map(repr, COORDINATES))}, got {coordinates!r}.")
    if known is None or X.shape[1] != 2 or not plain or not _is_free_of_length(kernel) or not in_degrees(X, known):
        return None
    warn_user(
        f"the columns {names[known.longitude]!r} and {names[known.latitude]!r} are taken for degrees, and distances "
        "are those on the sphere: coordinates='geographic' says so, coordinates=None takes the numbers as they are."
    )
    return known


def check_vector_data(kernel: VectorKernel, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values of all components with zeros where they are missing, and where that is."""
    y = np.asarray(y, dtype=float)
    if y.ndim != 2 or y.shape[1] != kernel.components:
        raise ValueError(
            f"{kernel!r} needs y of shape (n, {kernel.components}), one column per component (NaN where it was not "
            f"observed), got shape {y.shape}."
        )
    missing = np.isnan(y)
    if missing.all(axis=0).any():
        raise ValueError(f"y has no values in the columns {np.flatnonzero(missing.all(axis=0)).tolist()}.")
    return np.where(missing, 0.0, y), missing


def _is_free_of_length(kernel: Any) -> bool:
    """Whether the kernel means the same whatever the unit of length is, and looks at distances only."""
    if kernel is None:
        return True
    if not isinstance(kernel, Kernel) or isinstance(kernel, VectorKernel) or ROTATION not in kernel.invariances:
        return False
    return DILATION in kernel.invariances or has_open_scale(kernel)


def _check_geographic(kernel: Any, X: np.ndarray, columns: GeographicColumns, plain: bool) -> None:
    if X.shape[1] != 2:
        raise ValueError(f"coordinates='geographic' needs X (n, 2), longitude and latitude, got shape {X.shape}.")
    if not in_degrees(X, columns):
        raise ValueError(
            "coordinates='geographic' needs longitudes from -180 to 360 and latitudes from -90 to 90 degrees, got "
            f"columns from {X.min(axis=0)} to {X.max(axis=0)}: longitude comes first, unless the columns have names."
        )
    if isinstance(kernel, VectorKernel):
        raise ValueError(f"{kernel!r} is a kernel of the plane: project the coordinates, and leave coordinates out.")
    if isinstance(kernel, Kernel) and not {TRANSLATION, ROTATION} <= kernel.invariances:
        raise ValueError(f"coordinates='geographic' needs a kernel of distances such as ThinPlate(), got {kernel!r}.")
    if not plain:
        raise ValueError(
            "coordinates='geographic' takes values alone, with metric=None: leave gradients and functionals out, "
            "or project the coordinates."
        )
