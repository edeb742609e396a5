"""Coordinates in degrees: which columns they are, by their names, and when a plane will do for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.warnings import warn_user
from ..files.grids import LATITUDES, LONGITUDES

_POLAR = 0.02  # cosine of a latitude so near to a pole that its coordinates are of no use
_DISTORTED = 1.5  # ratio of the scales along parallels in the north and in the south, from which on a plane is wrong
_CIRCLE, _MIXED = 360.0, 1000.0  # the largest number of degrees; ratio of extents
_AROUND = 180.0  # extent in longitude, from which on the seam matters


class GeographicColumns(NamedTuple):
    """The numbers of the columns of longitude and latitude."""

    longitude: int
    latitude: int


def geographic_columns(names: Sequence[str] | None) -> GeographicColumns | None:
    """Those of a table, by the names of its columns; None if there are none, or several of a kind."""
    lower = [str(name).lower() for name in (() if names is None else names)]
    found = [[k for k, name in enumerate(lower) if name in known] for known in (LONGITUDES, LATITUDES)]
    return GeographicColumns(found[0][0], found[1][0]) if [len(k) for k in found] == [1, 1] else None


def in_degrees(X: np.ndarray, columns: GeographicColumns) -> bool:
    """Whether the numbers can be longitudes from -180 to 360, and latitudes."""
    longitude, latitude = X[:, columns.longitude], X[:, columns.latitude]
    return bool(((longitude >= -180.0) & (longitude <= 360.0) & (np.abs(latitude) <= 90.0)).all())


def middle_cosine(latitudes: Any) -> float | None:
    """The cosine of the latitude in the middle: how long a degree of longitude is, in degrees of latitude.

    None if these are no latitudes, or so near to a pole that longitudes are of no use there.
    """
    south, north = float(np.min(latitudes)), float(np.max(latitudes))
    cosine = math.cos(math.radians(0.5 * (south + north)))
    return cosine if -90.0 <= south <= north <= 90.0 and cosine >= _POLAR else None


def scale_of_degrees(X: np.ndarray, columns: GeographicColumns, closes_up: bool = False) -> np.ndarray:
    """What coordinates (n, d) are to be divided by so that a degree of longitude is as long as one of latitude in the
    middle; with a warning where no plane suits them. ``closes_up``: the longitude has a period.
    """
    scale = np.ones(X.shape[1])
    cosine = middle_cosine(X[:, columns.latitude])
    if cosine is not None:
        scale[columns.longitude] = 1.0 / cosine
    _warn_of_distortion(np.stack([X.min(axis=0), X.max(axis=0)]), columns, closes_up)
    return scale


def warn_of_mixed_units(bounds: np.ndarray) -> None:
    """Warn if one axis looks like degrees, and another like metres."""
    extents, sizes = np.ptp(bounds, axis=0), np.abs(bounds).max(axis=0)
    degrees = (sizes <= _CIRCLE) & (extents > 0.0)
    if len(extents) < 2 or not degrees.any():
        return
    one, other = int(np.argmax(np.where(degrees, extents, 0.0))), int(np.argmax(extents))
    if extents[other] > _MIXED * extents[one]:
        warn_user(
            f"column {one} of X extends over {extents[one]:.3g}, as degrees do, and column {other} over "
            f"{extents[other]:.3g}, as metres do, and a field takes them for the same unit of length: convert one of "
            "them, or give scale, one number per column; scale=1.0 says that X is right as it is."
        )


def _warn_of_distortion(bounds: np.ndarray, columns: GeographicColumns, closes_up: bool) -> None:
    south, north = bounds[:, columns.latitude]
    width = float(np.ptp(bounds[:, columns.longitude]))
    ends = np.cos(np.radians([south, north]))
    widest = 1.0 if south <= 0.0 <= north else float(ends.max())
    ratio = widest / max(float(ends.min()), 1e-3)
    if ratio > _DISTORTED:
        warn_user(
            f"between the latitudes {south:.4g} and {north:.4g} the length of a degree of longitude differs by a "
            f"factor of {ratio:.3g}, and a field takes it for the same: project the coordinates, or use "
            "seminorm.Smoother(coordinates='geographic'), which measures on the sphere."
        )
    elif width > _AROUND and not closes_up:
        warn_user(
            f"longitudes extend over {width:.4g} degrees, and a field does not know that they close up: give "
            f"period={{{columns.longitude}: 360.0}}, or use "
            "seminorm.Smoother(coordinates='geographic'), which measures on the sphere."
        )
