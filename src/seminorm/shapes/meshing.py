"""Boxes around shapes, and meshes of what lies in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .extraction.marching import extract
from .mesh import Mesh

if TYPE_CHECKING:
    from .implicit import Implicit

Bounds = tuple[np.ndarray, np.ndarray]

_CELLS = 128  # along the diagonal of a shape that does not know its resolution
_BORDER = 2  # cells around the shape


def as_bounds(bounds: Any) -> Bounds:
    """Two corners of a box as float arrays, checked."""
    low, high = (np.array(corner, dtype=float).reshape(-1) for corner in bounds)
    if low.shape != high.shape or not np.isfinite([low, high]).all() or (low > high).any():
        raise ValueError(f"bounds must be two finite corners, low <= high, got {low.tolist()} and {high.tolist()}.")
    return low, high


def mesh_implicit(
    shape: Implicit,
    resolution: float | None = None,
    *,
    bounds: Bounds | None = None,
    closed: bool = True,
    refine: int = 2,
    verbose: bool = False,
) -> Mesh:
    """Triangles of the surface of a shape in space.

    Every fourth point of a grid is tried for changes of sign: parts that fit between these can be missed. Edges, as
    where two shapes meet, are cut off by less than a cell.

    Parameters
    ----------
    shape : Implicit
    resolution : float, optional
        Side of the cells to cut the surface into; by default half of the shape's own, or 1/128 of the diagonal.
    bounds : pair of points, optional, box in which to look; by default that of the shape
    closed : bool
        Close what reaches the border of the box with a cap; else leave it open there.
    refine : int
        Newton steps that bring each vertex onto the surface.
    verbose : bool
        Show progress.

    Returns
    -------
    Mesh

    Examples
    --------
    >>> from seminorm.shapes import Sphere, mesh_implicit
    >>> mesh = mesh_implicit(Sphere([0, 0, 0], 1) | Sphere([1, 0, 0], 1), 0.1)
    >>> mesh.is_watertight, mesh.genus
    (True, 0)

    See Also
    --------
    extract : The same for any function, with seeds and a choice of blocks.
    """
    if shape.dimension != 3:
        raise ValueError(f"a mesh needs a shape in 3 dimensions, got one in {shape.dimension}.")
    box = shape.bounds if bounds is None else bounds
    if box is None:
        raise ValueError("bounds are missing: the shape has none of its own, give the box in which to mesh it.")
    low, high = as_bounds(box)
    if resolution is None:
        known = shape.resolution
        resolution = float(np.linalg.norm(high - low)) / _CELLS if known is None else known / 2
    if not (np.isfinite(resolution) and resolution > 0):
        raise ValueError(f"resolution must be a positive length, got {resolution!r}.")
    if bounds is None:
        low, high = low - _BORDER * resolution, high + _BORDER * resolution
    options: dict[str, Any] = {"closed": closed, "refine": refine, "verbose": verbose}
    return Mesh(*extract(shape, (low, high), resolution, seeds=shape.seeds(), **options))
