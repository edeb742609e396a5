"""Where the mesh of a surface ends: what may be asked for, and cutting off what lies far from the data."""

from collections.abc import Sequence

import numpy as np

from .attributes import FILLED
from .extraction.trimming import SMOOTHING, smoothed, trimmed_faces
from .mesh import Mesh

BORDER = 0.1  # of the longest side: how far beyond the data a surface is followed before it is closed
WIDE_BORDER = 0.25  # the same, where it is decided whether a surface is open: room for what is round to come back


def check_boundary(
    boundary: str, allowed: Sequence[str], trim: float | None, trim_quantile: float | None = None
) -> None:
    """Refuse options of a mesh that do not fit together."""
    if boundary not in allowed:
        raise ValueError(f"boundary must be one of {', '.join(map(repr, allowed))}, got {boundary!r}.")
    both = (("trim", trim), ("trim_quantile", trim_quantile))
    given = [f"{name}={value!r}" for name, value in both if value is not None]
    if given and boundary != "open":
        raise ValueError(f"{given[0]} is for open surfaces: give boundary='open' with it, not {boundary!r}.")
    if len(given) > 1:
        raise ValueError(f"give trim or trim_quantile, not both: got {' and '.join(given)}.")
    if trim is not None and not (np.isfinite(trim) and trim > 0):
        raise ValueError(f"trim must be a positive length, got {trim!r}.")
    if trim_quantile is not None and not 0 <= trim_quantile < 1:
        raise ValueError(f"trim_quantile must be a share from 0 up to, but not including, 1, got {trim_quantile!r}.")


def check_resolution(resolution: float | None) -> None:
    """Refuse a resolution that is no length."""
    if resolution is not None and not (np.isfinite(resolution) and resolution > 0):
        raise ValueError(f"resolution must be a positive length, got {resolution!r}.")


def check_deviation(deviation: float | None) -> None:
    """Refuse a deviation that is no length."""
    if deviation is not None and not (np.isfinite(deviation) and deviation >= 0):
        raise ValueError(f"deviation must be a length, or 0 to keep all vertices, got {deviation!r}.")


def check_hole(max_hole: float | None, boundary: str) -> None:
    """Refuse a width of holes that is no length, or says nothing."""
    if max_hole is None:
        return
    if boundary != "auto":
        raise ValueError(f"max_hole={max_hole!r} goes with boundary='auto', not {boundary!r}: leave one of them out.")
    if not (np.isfinite(max_hole) and max_hole >= 0):
        raise ValueError(f"max_hole must be a length, 0 or more, got {max_hole!r}.")


def box_around(points: np.ndarray, border: float) -> tuple[np.ndarray, np.ndarray]:
    """The box of the points, larger on all sides by a share of its longest one."""
    low, high = points.min(axis=0), points.max(axis=0)
    width = border * (high - low).max()
    return low - width, high + width


def default_trim(mesh: Mesh, spacing: np.ndarray, resolution: float) -> np.ndarray:
    """Three times the smoothed distance of neighbouring data, but no less than the resolution, per vertex."""
    return np.maximum(FILLED * smoothed(spacing, mesh.faces, SMOOTHING), resolution)


def trimmed(mesh: Mesh, distance: np.ndarray, limit: np.ndarray, far: np.ndarray | None = None) -> Mesh:
    """The mesh without what is far: by default, what is farther from the data than the limit, per vertex."""
    kept = trimmed_faces(mesh.vertices, mesh.faces, distance > limit if far is None else far, limit)
    if not kept.any():
        raise ValueError(
            f"trimming leaves nothing of the surface: data are {distance.min():.3g} or more away from it, and trim "
            f"is {limit.min():.3g}. Give a larger trim."
        )
    return mesh.keep(kept)
