"""The zero set of a function in R^3 (f < 0 inside) as a triangle mesh.

Marching cubes on a grid made of blocks of cells. Only blocks that the surface passes are sampled: starting from seeds,
the walk goes on through every face of a block on which the sign changes. Of each block the signs of its corners and
the crossings of its edges are kept, so the samples of one batch of blocks are in memory at a time. The mesh is
closed, or ends on the border of the grid; it is a 2-manifold, its triangles are counter-clockwise seen from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ..memory import require_memory
from . import _marching as loops
from .marching_tables import marching_table

_LARGEST_SIDE = 16
_BATCH_BLOCKS = 512
_CHUNK_POINTS = 2**18
_STEPS = np.array(list(product((-1, 0, 1), repeat=3)))  # the slots of a table of neighbours
_FACE_STEPS = np.array([sign * axis for axis in np.eye(3, dtype=np.int64) for sign in (-1, 1)])

Sampler = Callable[[np.ndarray], np.ndarray]


class Extraction(NamedTuple):
    """A triangle mesh.

    Attributes
    ----------
    vertices : float64 array (v, 3)
    faces : int32 array (f, 3)
        Vertex numbers, counter-clockwise seen from outside; int64 above 2**31 vertices.
    normals : float64 array (v, 3)
        Unit vectors that point outwards.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray


def extract(
    function,
    bounds,
    spacing: float,
    *,
    seeds=None,
    refine: int = 2,
    closed: bool = True,
    side: int = 16,
    scan: int = 4,
    batch: int = _BATCH_BLOCKS,
    verbose: bool = False,
) -> Extraction:
    """Mesh the zero set of a function in a box.

    Parameters
    ----------
    function : Function
        ``function(X)`` and ``function.gradient(X)`` for points (n, 3); negative inside. If it has a method
        ``sample_blocks(blocks, side, origin, spacing)``, the grid is sampled with that: values
        (n, side + 1, side + 1, side + 1) at ``origin + spacing * (side * block + (i, j, k))``.
    bounds : two arrays (3,)
        Lower and upper corner of the box. It is rounded up to whole cells.
    spacing : float
        Side of a cell.
    seeds : array (n, 3), optional
        Points near the zero set, to within a cell; components of the surface without a seed are left out. By default
        every ``scan``-th grid point of the whole box is tried for changes of sign: components that fit between these
        points can be missed.
    refine : int
        Newton steps along the gradient that bring each vertex onto the zero set, by at most half a cell in all.
    closed : bool
        Close the surface at the border of the box with a cap, bevelled by at most a cell at its rim; else leave it
        open there.
    side : int
        Cells along a block, 2 to 16.
    scan : int
        Cells between the points tried without seeds; divides ``side``.
    batch : int
        Blocks sampled at a time. The mesh does not depend on it.
    verbose : bool
        Show progress.

    Returns
    -------
    Extraction
        Normals are those of the function; of the border on the cap; of the triangles where the gradient vanishes.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.extraction import extract
    >>> class Ball:
    ...     def __call__(self, X):
    ...         return np.linalg.norm(X, axis=1) - 1
    ...     def gradient(self, X):
    ...         return X / np.linalg.norm(X, axis=1, keepdims=True)
    >>> mesh = extract(Ball(), ([-1.2] * 3, [1.2] * 3), 0.1)
    >>> bool(np.allclose(np.linalg.norm(mesh.vertices, axis=1), 1))
    True
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
    grid = _Grid.of(-(-cells // side), cells, side, closed)
    if seeds is None:
        keys = _scan(function, low, spacing, grid, scan)
        advice = "make scan smaller or give seeds, points near the surface"
    else:
        keys = _blocks_near(seeds, low, spacing, grid)
        advice = "give seeds nearer to the surface"
    sampler = _point_sampler(function, low, spacing, side)
    vertices, faces = _extract(_Walk(sampler, grid, batch, verbose), keys)
    if not len(faces):
        raise ValueError(f"function changes its sign nowhere that was looked within bounds {low} and {high}: {advice}.")
    border = (vertices == 0).astype(np.int8) * -1 + (vertices == cells)
    vertices *= spacing
    vertices += low
    normals = np.empty_like(vertices)
    for begin in tqdm(range(0, len(vertices), _CHUNK_POINTS), desc="refining", disable=not verbose, leave=False):
        part = slice(begin, begin + _CHUNK_POINTS)
        _polish(function, vertices[part], border[part], (low, low + cells * spacing), spacing / 2, refine, closed)
        normals[part] = _normals(function, vertices[part], border[part], closed)
    _fill_normals(vertices, faces, normals)
    return Extraction(vertices, faces, normals)


def extract_blocks(
    sample: Sampler,
    seeds,
    grid_blocks,
    *,
    side: int = 16,
    cells=None,
    closed: bool = True,
    batch: int = _BATCH_BLOCKS,
    verbose: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Mesh the zero set of samples on a grid of blocks.

    Parameters
    ----------
    sample : callable
        Takes blocks, int64 array (n, 3), and returns values (n, side + 1, side + 1, side + 1), float32 or float64, at
        the corners of their cells. It is called once for a block. Inside is where a value is below 0; NaN is outside.
        A corner of several blocks should get the same value in all of them. Where rounding makes the signs differ,
        the first block in lexicographic order decides, so the mesh is watertight in any case.
    seeds : int array (n, 3)
        Blocks where to start.
    grid_blocks : (int, int, int)
        Number of blocks along each axis.
    side : int
        Cells along a block, 2 to 16.
    cells : (int, int, int), optional
        Number of cells along each axis if the last blocks are not used in full.
    closed : bool
        Take what lies on or beyond the border of the grid as outside: the surface ends in a cap on the border. Else it
        is left open there.
    batch : int
        Blocks sampled at a time. The mesh does not depend on it.
    verbose : bool
        Show progress.

    Returns
    -------
    vertices : float64 array (v, 3)
        In cells from the lower corner of the grid.
    faces : int32 array (f, 3)
        Counter-clockwise seen from outside; int64 above 2**31 vertices.
    """
    blocks = np.asarray(grid_blocks, dtype=np.int64)
    grid = _Grid.of(blocks, blocks * side if cells is None else np.asarray(cells, dtype=np.int64), side, closed)
    seeds = np.asarray(seeds, dtype=np.int64).reshape(-1, 3)
    if not ((seeds >= 0) & (seeds < grid.blocks)).all():
        outside = seeds[((seeds < 0) | (seeds >= grid.blocks)).any(axis=1)][0]
        raise ValueError(f"seeds must be blocks of the grid, from 0 up to {grid.blocks}, got {outside}.")
    return _extract(_Walk(sample, grid, batch, verbose), np.unique(grid.keys(seeds)))


class _Grid(NamedTuple):
    """Blocks and cells along each axis; a block's key is its lexicographic number."""

    blocks: np.ndarray
    cells: np.ndarray
    side: int
    closed: bool

    @classmethod
    def of(cls, blocks: np.ndarray, cells: np.ndarray, side: int, closed: bool) -> _Grid:
        if not 2 <= side <= _LARGEST_SIDE:
            raise ValueError(f"side must be from 2 to {_LARGEST_SIDE}, got {side}.")
        if blocks.shape != (3,) or (blocks < 1).any() or math.prod(blocks.tolist()) >= 2**62:
            raise ValueError(f"grid_blocks must be three positive numbers with a product below 2**62, got {blocks}.")
        if cells.shape != (3,) or (-(-cells // side) != blocks).any():
            raise ValueError(f"cells must end in the last of {blocks} blocks of {side} cells, got {cells}.")
        return cls(blocks, cells, int(side), bool(closed))

    def keys(self, coords: np.ndarray) -> np.ndarray:
        return (coords[..., 0] * self.blocks[1] + coords[..., 1]) * self.blocks[2] + coords[..., 2]

    def coords(self, keys: np.ndarray) -> np.ndarray:
        rest, z = np.divmod(keys, self.blocks[2])
        return np.stack([*np.divmod(rest, self.blocks[1]), z], axis=-1)

    def step(self, coords: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the blocks one step away, and whether they lie in the grid."""
        moved = coords + step
        return self.keys(moved), ((moved >= 0) & (moved < self.blocks)).all(axis=-1)

    def neighbours(self, keys: np.ndarray) -> np.ndarray:
        """Places among sorted keys of the 27 blocks around each block; -1 for those that are not there."""
        coords = self.coords(keys)
        table = np.full((len(keys), len(_STEPS)), -1, dtype=np.int32)
        for slot, step in enumerate(_STEPS):
            wanted, valid = self.step(coords, step)
            place, found = _find(keys, wanted)
            table[found & valid, slot] = place[found & valid]
        return table


class _Walk:
    """Visits blocks from seeds along the surface and keeps what the mesh needs of each."""

    def __init__(self, sample: Sampler, grid: _Grid, batch: int, verbose: bool):
        if batch < 1:
            raise ValueError(f"batch must be at least 1, got {batch}.")
        self.sample, self.grid, self.batch, self.verbose = sample, grid, batch, verbose
        self.known = np.empty(0, dtype=np.int64)
        self.parts: list[tuple[np.ndarray, ...]] = []

    def visit(self, waiting: np.ndarray) -> None:
        """Sample the blocks of these sorted keys, and all that the surface reaches from them."""
        with tqdm(desc="extracting", unit=" blocks", disable=not self.verbose, leave=False) as bar:
            while waiting.size:
                now, later = waiting[: self.batch], waiting[self.batch :]
                self.known = np.insert(self.known, np.searchsorted(self.known, now), now)
                reached = np.concatenate([later, self._look_at(now)])
                waiting = np.unique(reached[~_find(self.known, reached)[1]])
                bar.update(now.size)

    def _look_at(self, keys: np.ndarray) -> np.ndarray:
        """Sample blocks and keep their signs and crossings; returns the blocks across faces with a change of sign."""
        grid, width = self.grid, self.grid.side + 1
        blocks = grid.coords(keys)
        values = np.asarray(self.sample(blocks))
        if values.shape != (len(keys), width, width, width):
            raise ValueError(
                f"sample must return values of shape {(len(keys), width, width, width)} for {len(keys)} blocks, got "
                f"{values.shape}."
            )
        values = np.ascontiguousarray(values, dtype=np.float32 if values.dtype == np.float32 else np.float64)
        rows = np.empty((len(keys), width**2), dtype=np.uint32)
        loops.sign_rows(values, blocks, grid.cells, grid.side, grid.closed, rows)
        _, counts = self._count(rows, blocks)
        crossings = np.empty(counts.sum(), dtype=np.float32)
        loops.place_crossings(values, rows, blocks, grid.cells, grid.side, _starts(counts), crossings)
        self.parts.append((keys, rows, counts, crossings))
        return self.across(rows, blocks)

    def across(self, signs: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Keys of the blocks across the faces on which the sign changes."""
        changes = np.empty((len(blocks), len(_FACE_STEPS)), dtype=np.bool_)
        loops.face_changes(signs, blocks, self.grid.cells, self.grid.side, changes)
        block, face = np.nonzero(changes)
        keys, valid = self.grid.step(blocks[block], _FACE_STEPS[face])
        return np.unique(keys[valid])

    def _count(self, signs: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vertices before each row of a block, and of each block."""
        ranks = np.empty(signs.shape, dtype=np.uint16)
        counts = np.empty(len(blocks), dtype=np.int64)
        loops.count_vertices(signs, blocks, self.grid.cells, self.grid.side, ranks, counts)
        return ranks, counts

    def agree(self) -> tuple[_Signs, np.ndarray]:
        """What was seen, in the order of the keys, with signs on which all blocks agree; and the blocks they lead to
        that were not visited.
        """
        keys, rows, counts, crossings = (np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))
        self.parts = [(keys, rows, counts, crossings)]
        order = np.argsort(keys)
        keys, rows, first_crossing = keys[order], rows[order], _starts(counts)[order]
        blocks, neighbours = self.grid.coords(keys), self.grid.neighbours(keys)
        agreed = np.empty_like(rows)
        loops.agree_on_signs(rows, blocks, self.grid.cells, self.grid.side, neighbours, agreed)
        missing = np.empty(0, dtype=np.int64)
        if np.array_equal(agreed, rows):
            agreed = rows
        else:
            reached = self.across(agreed, blocks)
            missing = reached[~_find(keys, reached)[1]]
        return _Signs(blocks, neighbours, agreed, rows, first_crossing, crossings), missing

    def mesh(self, seen: _Signs) -> tuple[np.ndarray, np.ndarray]:
        """Vertices in cells, and faces."""
        blocks, limits = seen.blocks, (self.grid.cells, self.grid.side)
        table = marching_table()
        ranks, counts = self._count(seen.agreed, blocks)
        face_counts = np.empty(len(blocks), dtype=np.int64)
        loops.count_faces(seen.agreed, blocks, *limits, table, face_counts)
        index_type = np.int32 if counts.sum() < 2**31 else np.int64
        require_memory(
            int(counts.sum()) * 24 + int(face_counts.sum()) * 3 * np.dtype(index_type).itemsize,
            f"a mesh of {counts.sum()} vertices and {face_counts.sum()} faces",
            "choose a larger spacing.",
        )
        first = _starts(counts)
        vertices = np.empty((counts.sum(), 3))
        loops.write_vertices(
            seen.agreed, seen.rows, blocks, *limits, seen.first_crossing, seen.crossings, first, vertices
        )
        faces = np.empty((face_counts.sum(), 3), dtype=index_type)
        loops.write_faces(
            seen.agreed, ranks, first, blocks, *limits, seen.neighbours, table, _starts(face_counts), faces
        )
        return vertices, faces


class _Signs(NamedTuple):
    """The visited blocks in the order of their keys; ``rows`` are signs as sampled, ``agreed`` those of the mesh."""

    blocks: np.ndarray
    neighbours: np.ndarray
    agreed: np.ndarray
    rows: np.ndarray
    first_crossing: np.ndarray
    crossings: np.ndarray


def _extract(walk: _Walk, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not keys.size:
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int32)
    while keys.size:
        walk.visit(keys)
        seen, keys = walk.agree()
    return walk.mesh(seen)


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts


def _find(sorted_keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of keys in a sorted array that is not empty, and whether they are there."""
    place = np.minimum(np.searchsorted(sorted_keys, wanted), sorted_keys.size - 1)
    return place, sorted_keys[place] == wanted


def _point_sampler(function, origin: np.ndarray, spacing: float, side: int) -> Sampler:
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


def _blocks_near(points, origin: np.ndarray, spacing: float, grid: _Grid) -> np.ndarray:
    """Keys of the blocks within a cell of points."""
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"seeds must be points of shape (n, 3), got {points.shape}.")
    found = [np.empty(0, dtype=np.int64)]
    for begin in range(0, len(points), _CHUNK_POINTS):
        position = (points[begin : begin + _CHUNK_POINTS] - origin) / spacing
        position = position[((position >= -1) & (position <= grid.cells + 1)).all(axis=1)]
        lower, upper = (
            np.clip(np.floor(position).astype(np.int64) + s, 0, grid.cells - 1) // grid.side for s in (-1, 1)
        )
        # a block, and in the last three bits the axes along which the next block is near as well
        reach = np.unique(8 * grid.keys(lower) + (upper - lower) @ (4, 2, 1))
        for axes, step in enumerate(product((0, 1), repeat=3)):
            found.append(reach[reach & axes == axes] // 8 + grid.keys(np.array(step)))
    return np.unique(np.concatenate(found))


def _scan(function, origin: np.ndarray, spacing: float, grid: _Grid, stride: int) -> np.ndarray:
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


def _layers(function, origin, spacing, nodes, closed: bool) -> Iterator[np.ndarray]:
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


def _polish(function, vertices, border, limits, reach: float, steps: int, closed: bool) -> None:
    """Newton steps x -= f g / |g|^2 in place, within reach of the start and within limits.

    The cap stays where it is, an open border in its plane.
    """
    start = vertices.copy()
    fixed = border != 0
    if closed:
        fixed = np.broadcast_to(fixed.any(axis=1, keepdims=True), fixed.shape)
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


def _jet(function, points) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients, in one go where the function can."""
    if hasattr(function, "jet"):
        return function.jet(points, 1)[:2]
    return np.reshape(function(points), -1), function.gradient(points)


def _normals(function, vertices, border, closed: bool) -> np.ndarray:
    """Unit gradients, or the normal of the border on a cap; not finite where the gradient is zero or not finite."""
    gradient = np.array(function.gradient(vertices), dtype=float)
    if closed:
        cap = border.any(axis=1)
        gradient[cap] = border[cap]
    with np.errstate(all="ignore"):
        return gradient / np.linalg.norm(gradient, axis=1, keepdims=True)


def _fill_normals(vertices, faces, normals) -> None:
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


def component_labels(faces, n_vertices: int) -> np.ndarray:
    """The component of each vertex of a mesh, int32 or int64 array (n_vertices,).

    Components are numbered from 0 in the order of their first vertices; a vertex without faces is one of its own.
    """
    faces = np.ascontiguousarray(faces)
    if faces.ndim != 2 or faces.shape[1] != 3 or (faces.size and not 0 <= faces.min() <= faces.max() < n_vertices):
        raise ValueError(f"faces must be numbers of {n_vertices} vertices, shape (f, 3), got shape {faces.shape}.")
    labels = np.empty(n_vertices, dtype=np.int32 if n_vertices < 2**31 else np.int64)
    loops.connected_labels(faces, labels)
    return labels
