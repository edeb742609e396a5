"""Meshes of any shape that is given by a function."""

from __future__ import annotations

import numpy as np

from .extraction import extract
from .implicit import Implicit, as_bounds
from .mesh import Mesh

_CELLS = 128  # along the diagonal of a shape that does not know its resolution
_BORDER = 2  # cells around the shape


def mesh_implicit(
    shape: Implicit,
    resolution: float | None = None,
    *,
    bounds=None,
    closed: bool = True,
    refine: int = 2,
    verbose: bool = False,
) -> Mesh:
    """Triangles of the surface of a shape in space.

    Every fourth point of a grid in the bounds is tried for changes of sign: parts that fit between these points can be
    missed. Edges, as where two shapes meet, are cut off by less than a cell.

    Parameters
    ----------
    shape : Implicit
    resolution : float, optional
        Side of the cells that the surface is cut into; by default half of the shape's own, where it has one, or the
        diagonal of the bounds divided by 128.
    bounds : pair of points, optional
        Box in which to look; by default that of the shape.
    closed : bool
        Close what reaches the border of the box with a cap; else leave it open there.
    refine : int
        Newton steps that bring each vertex onto the surface.
    verbose : bool
        Show progress.

    Examples
    --------
    >>> from seminorm.surfaces.meshing import mesh_implicit
    >>> from seminorm.surfaces.primitives import Sphere
    >>> mesh = mesh_implicit(Sphere([0, 0, 0], 1) | Sphere([1, 0, 0], 1), 0.1)
    >>> mesh.is_watertight, mesh.genus
    (True, 0)
    """
    if shape.dimension != 3:
        raise ValueError(f"a mesh needs a shape in 3 dimensions, got one in {shape.dimension}.")
    if bounds is None and shape.bounds is None:
        raise ValueError("bounds are missing: the shape has none of its own, give the box in which to mesh it.")
    low, high = as_bounds(shape.bounds if bounds is None else bounds)
    if resolution is None:
        known = shape.resolution
        resolution = float(np.linalg.norm(high - low)) / _CELLS if known is None else known / 2
    if not (np.isfinite(resolution) and resolution > 0):
        raise ValueError(f"resolution must be a positive length, got {resolution!r}.")
    if bounds is None:
        low, high = low - _BORDER * resolution, high + _BORDER * resolution
    return Mesh(*extract(shape, (low, high), resolution, closed=closed, refine=refine, verbose=verbose))
