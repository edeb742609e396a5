"""The zero set of a function in R^3 (f < 0 inside) as a triangle mesh.

Marching cubes on a grid made of blocks of cells. Only blocks that the surface passes are sampled: starting from seeds,
the walk goes on through every face of a block on which the sign changes. Of each block the signs of its corners and
the crossings of its edges are kept, so the samples of one batch of blocks are in memory at a time. The mesh is
closed, or ends on the border of the grid; it is a 2-manifold, its triangles are counter-clockwise seen from outside.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from ... import _native
from .shaping import Shaping
from .walking import BlockGrid, Sampler, Walk, mesh_blocks

_BATCH_BLOCKS = 512
_CHUNK_POINTS = 2**18


class Extraction(NamedTuple):
    """A triangle mesh: vertices (v, 3), faces (f, 3) counter-clockwise from outside, outward unit normals (v, 3)."""

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray


def extract(
    function: Any,
    bounds: Sequence[ArrayLike] | np.ndarray,
    spacing: float,
    *,
    seeds: ArrayLike | None = None,
    refine: int = 2,
    closed: bool = True,
    reduce: Callable[[np.ndarray, np.ndarray], Any] | None = None,
    shaping: Shaping | None = None,
    side: int = 16,
    scan: int = 4,
    batch: int = _BATCH_BLOCKS,
    verbose: bool = False,
) -> Extraction:
    """Mesh the zero set of a function in a box.

    Parameters
    ----------
    function : Function, or what has ``function(X)``, negative inside, and ``function.gradient(X)`` for points (n, 3)
        A method ``sample_blocks(blocks, side, origin, spacing)`` samples the grid, if there is one: values
        (n, side + 1, side + 1, side + 1) at ``origin + spacing * (side * block + (i, j, k))``.
    bounds : two arrays (3,), lower and upper corner of the box, which is rounded up to whole cells
    spacing : float
        Side of a cell.
    seeds : array (n, 3), optional
        Points near the zero set, to within a cell; components of the surface without a seed are left out. By default
        every ``scan``-th grid point is tried for changes of sign: components that fit between these can be missed.
    refine : int
        Newton steps that bring each vertex onto the zero set, by at most half a cell in all.
    closed : bool
        Close the surface at the border of the box with a cap, bevelled by at most a cell at its rim.
    reduce : callable, optional
        Takes vertices and faces before the vertices are refined, and returns a mesh of those that are to stay. If it
        has normals, vertices whose normal is not zero are final.
    shaping : Shaping, optional
        How badly shaped triangles are improved before the vertices are refined.
    side, scan : int
        Cells along a block, 2 to 16, and between the points tried without seeds; the first is a multiple.
    batch : int
        Blocks sampled at a time; the mesh does not depend on it.
    verbose : bool
        Show progress.

    Returns
    -------
    Extraction
        Normals are those of the function; of the border on the cap; of the triangles where the gradient vanishes.

    Examples
    --------
    >>> from seminorm.shapes import Sphere, extract
    >>> mesh = extract(Sphere([0, 0, 0], 1), ([-1.2] * 3, [1.2] * 3), 0.1)
    >>> bool((abs((mesh.vertices**2).sum(axis=1) - 1) < 1e-6).all())
    True

    See Also
    --------
    mesh_implicit : The mesh of a shape that knows its bounds.
    """
    low, high = (np.asarray(corner, dtype=float) for corner in bounds)
    if low.shape != (3,) or high.shape != (3,) or not (np.isfinite(high - low).all() and (high > low).all()):
        raise ValueError(f"bounds must be two corners (3,), the lower one first, got {low} and {high}.")
    if not (np.isfinite(spacing) and spacing > 0):
        raise ValueError(f"spacing must be positive, got {spacing}.")
    if math.prod(((high - low) / spacing / side + 1).tolist()) >= 2**62:
        raise ValueError(f"spacing {spacing:g} is too fine for a box of {high - low}: choose a coarser resolution.")
    if side % scan:
        raise ValueError(f"scan must divide side, got scan={scan} and side={side}.")
    # a hair less than the width, so that rounding does not add a cell
    cells = np.maximum(np.ceil((high - low) / spacing * (1 - 1e-12)), 1).astype(np.int64)
    grid = BlockGrid.of(cells, side, closed)
    if seeds is None:
        keys = _scan(function, low, spacing, grid, scan)
        advice = "make scan smaller or give seeds, points near the surface"
    else:
        keys = _blocks_near(seeds, low, spacing, grid)
        advice = "give seeds nearer to the surface"
    sampler = _point_sampler(function, low, spacing, side)
    vertices, faces = mesh_blocks(Walk(sampler, grid, batch, verbose), keys)
    if not len(faces):
        raise ValueError(f"function changes its sign nowhere that was looked within bounds {low} and {high}: {advice}.")
    vertices *= spacing
    vertices += low
    settled = np.zeros((len(vertices), 3))
    if reduce is not None:
        left = reduce(vertices, faces)
        vertices, faces = left.vertices, left.faces
        settled = np.zeros((len(vertices), 3)) if left.normals is None else left.normals
    final: np.ndarray = (settled != 0).any(axis=1)
    limits = low, low + cells * spacing
    border = (vertices == limits[0]).astype(np.int8) * -1 + (vertices == limits[1])
    normals = np.empty_like(vertices)
    passes = 1 if shaping is None else shaping.passes
    for number in range(passes):
        if shaping is not None:
            vertices, faces = shaping(vertices, faces, border.any(axis=1) | final)
        for begin in tqdm(range(0, len(vertices), _CHUNK_POINTS), desc="refining", disable=not verbose, leave=False):
            part = slice(begin, begin + _CHUNK_POINTS)
            _polish(function, vertices[part], border[part], final[part], limits, spacing / 2, refine, closed)
            if number == passes - 1:
                normals[part] = _unit_normals(function, vertices[part], border[part], closed)
    normals[final] = settled[final]
    _fill_normals(vertices, faces, normals)
    return Extraction(vertices, faces, normals)


def _point_sampler(function: Any, origin: np.ndarray, spacing: float, side: int) -> Sampler:
    """Values at the corners of blocks, by the function's own method or point by point."""
    if hasattr(function, "sample_blocks"):
        return lambda blocks: function.sample_blocks(blocks, side, origin, spacing)
    width = side + 1
    at_a_time = max(_CHUNK_POINTS // width**3, 1)

    def sample(blocks: np.ndarray) -> np.ndarray:
        values = np.empty((len(blocks), width**3))
        for begin in range(0, len(blocks), at_a_time):
            part = slice(begin, begin + at_a_time)
            axes = origin[:, None] + spacing * (side * blocks[part, :, None] + np.arange(width))
            points = np.empty((len(axes), width, width, width, 3))
            points[..., 0] = axes[:, 0, :, None, None]
            points[..., 1] = axes[:, 1, None, :, None]
            points[..., 2] = axes[:, 2, None, None, :]
            values[part] = np.reshape(function(points.reshape(-1, 3)), (-1, width**3))
        return values.reshape(-1, width, width, width)

    return sample


def _blocks_near(points: ArrayLike, origin: np.ndarray, spacing: float, grid: BlockGrid) -> np.ndarray:
    """Keys of the blocks within a cell of points."""
    places = np.asarray(points, dtype=float)
    if places.ndim != 2 or places.shape[1] != 3:
        raise ValueError(f"seeds must be points of shape (n, 3), got {places.shape}.")
    found = [np.empty(0, dtype=np.int64)]
    for begin in range(0, len(places), _CHUNK_POINTS):
        position = (places[begin : begin + _CHUNK_POINTS] - origin) / spacing
        position = position[((position >= -1) & (position <= grid.cells + 1)).all(axis=1)]
        cell = np.floor(position).astype(np.int64)
        lower, upper = (np.clip(cell + s, 0, grid.cells - 1) // grid.side for s in (-1, 1))
        # a block, and in the last three bits the axes along which the next block is near as well
        reach = np.unique(8 * grid.keys(lower) + (upper - lower) @ (4, 2, 1))
        for axes, step in enumerate(product((0, 1), repeat=3)):
            found.append(reach[reach & axes == axes] // 8 + grid.keys(np.array(step)))
    return np.unique(np.concatenate(found))


def _scan(function: Any, origin: np.ndarray, spacing: float, grid: BlockGrid, stride: int) -> np.ndarray:
    """Keys of the blocks in which the sign changes between every stride-th corners of the grid."""
    nodes = [np.append(np.arange(0, count, stride), count) for count in grid.cells]
    found = [np.empty(0, dtype=np.int64)]
    layers = _layers(function, origin, spacing, nodes, grid.closed)
    before = next(layers)
    for x, layer in enumerate(layers):
        some, every = before | layer, before & layer
        mixed = (some[:-1, :-1] | some[:-1, 1:] | some[1:, :-1] | some[1:, 1:]) & ~(
            every[:-1, :-1] & every[:-1, 1:] & every[1:, :-1] & every[1:, 1:]
        )
        y, z = np.nonzero(mixed)
        coarse = np.stack([np.full(y.size, x), y, z], axis=1) - grid.closed
        coarse = np.clip(coarse, 0, [len(n) - 2 for n in nodes])
        found.append(np.unique(grid.keys(coarse * stride // grid.side)))
        before = layer
    return np.unique(np.concatenate(found))


def _layers(function, origin, spacing: float, nodes: list[np.ndarray], closed: bool) -> Iterator[np.ndarray]:
    """Layer by layer along x, which corners are inside; with ``closed`` within a margin of corners that are not."""
    y, z = (origin[a] + spacing * nodes[a] for a in (1, 2))
    shape = (len(y), len(z))
    empty = np.zeros((len(y) + 2, len(z) + 2), dtype=np.bool_)
    if closed:
        yield empty
    for x in origin[0] + spacing * nodes[0]:
        inside = np.empty(math.prod(shape), dtype=np.bool_)
        for begin in range(0, inside.size, _CHUNK_POINTS):
            j, k = np.unravel_index(np.arange(begin, min(begin + _CHUNK_POINTS, inside.size)), shape)
            points = np.stack([np.full(j.size, x), y[j], z[k]], axis=1)
            inside[begin : begin + _CHUNK_POINTS] = np.reshape(function(points), -1) < 0
        yield np.pad(inside.reshape(shape), 1) if closed else inside.reshape(shape)
    if closed:
        yield empty


def _polish(function, vertices, border, final, limits, reach: float, steps: int, closed: bool) -> None:
    """Newton steps x -= f g / |g|^2 in place, within reach and limits; a cap stays put, as do vertices that are final,
    an open border in its plane."""
    start = vertices.copy()
    fixed = border != 0
    if closed:
        fixed = np.broadcast_to(fixed.any(axis=1, keepdims=True), fixed.shape)
    fixed = fixed | final[:, None]
    for _ in range(steps):
        values, gradient = _jet(function, vertices)
        gradient = np.where(fixed, 0.0, gradient)
        with np.errstate(all="ignore"):
            factor = values / (gradient**2).sum(axis=1)
            shift = vertices - start - factor[:, None] * gradient
            length = np.linalg.norm(shift, axis=1)
            shift *= np.minimum(reach / length, 1.0)[:, None]
        moved = np.isfinite(shift).all(axis=1)
        vertices[moved] = np.clip(start[moved] + shift[moved], *limits)


def _jet(function: Any, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients, in one go where the function can."""
    if hasattr(function, "jet"):
        return function.jet(points, 1)[:2]
    return np.reshape(function(points), -1), function.gradient(points)


def _unit_normals(function: Any, vertices: np.ndarray, border: np.ndarray, closed: bool) -> np.ndarray:
    """Unit gradients, or the normal of the border on a cap; not finite where the gradient is zero or not finite."""
    gradient = np.array(function.gradient(vertices), dtype=float)
    if closed:
        cap = border.any(axis=1)
        gradient[cap] = border[cap]
    with np.errstate(all="ignore"):
        return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


def _fill_normals(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray) -> None:
    """Replace normals that are not finite by those of the triangles around."""
    lost = ~np.isfinite(normals).all(axis=1)
    if not lost.any():
        return
    normals[lost] = 0.0
    touching = faces[lost[faces].any(axis=1)]
    p, q, r = (vertices[touching[:, corner]] for corner in range(3))
    for corner in range(3):
        own = lost[touching[:, corner]]
        np.add.at(normals, touching[own, corner], np.cross(q - p, r - p)[own])
    normals[lost] /= np.maximum(np.linalg.norm(normals[lost], axis=1, keepdims=True), np.finfo(float).tiny)


def component_labels(faces: np.ndarray, n_vertices: int) -> np.ndarray:
    """The component of each vertex (n_vertices,), numbered by first vertices; one without faces is one of its own."""
    faces = np.asarray(faces)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise ValueError(f"faces must be integers of shape (f, 3), got {faces.dtype} of shape {faces.shape}.")
    faces = np.ascontiguousarray(faces, dtype=np.int32 if faces.dtype == np.int32 else np.int64)
    labels = np.empty(n_vertices, dtype=np.int32 if n_vertices < 2**31 else np.int64)
    _native.connected_labels(faces, labels)
    return labels
