"""The walk of marching cubes: from block to block along the surface, then the mesh of all that was seen."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from ... import _native
from ..._base.memory import require_memory
from .tables import marching_table

_LARGEST_SIDE = 16
_MARGIN = 1e-3  # crossings keep this distance, in cells, from the ends of their edge
_STEPS = np.array(list(product((-1, 0, 1), repeat=3)))  # the slots of a table of neighbours
_FACE_STEPS = np.array([sign * axis for axis in np.eye(3, dtype=np.int64) for sign in (-1, 1)])

Sampler = Callable[[np.ndarray], np.ndarray]


class BlockGrid(NamedTuple):
    """Blocks and cells along each axis; a block has its number as key. If closed, caps on the border close it."""

    blocks: np.ndarray
    cells: np.ndarray
    side: int
    closed: bool

    @classmethod
    def of(cls, cells: np.ndarray, side: int, closed: bool) -> "BlockGrid":
        """The grid of the given number of cells along each axis, in blocks of ``side`` cells."""
        if not 2 <= side <= _LARGEST_SIDE:
            raise ValueError(f"side must be from 2 to {_LARGEST_SIDE}, got {side}.")
        return cls(-(-cells // side), cells, int(side), bool(closed))

    def keys(self, coords: np.ndarray) -> np.ndarray:
        """Keys of blocks, from their coordinates (..., 3)."""
        return (coords[..., 0] * self.blocks[1] + coords[..., 1]) * self.blocks[2] + coords[..., 2]

    def coords(self, keys: np.ndarray) -> np.ndarray:
        """Coordinates (n, 3) of blocks."""
        rest, z = np.divmod(keys, self.blocks[2])
        return np.stack([*np.divmod(rest, self.blocks[1]), z], axis=-1)

    def step(self, coords: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the blocks one step away, and whether they lie in the grid."""
        moved = coords + step
        return self.keys(moved), ((moved >= 0) & (moved < self.blocks)).all(axis=-1)

    def neighbors(self, keys: np.ndarray) -> np.ndarray:
        """Places among sorted keys of the 27 blocks around each block; -1 for those that are not there."""
        coords = self.coords(keys)
        table = np.full((len(keys), len(_STEPS)), -1, dtype=np.int32)
        for slot, step in enumerate(_STEPS):
            wanted, valid = self.step(coords, step)
            place, found = _find(keys, wanted)
            table[found & valid, slot] = place[found & valid]
        return table


class Walk:
    """Visits blocks from seeds along the surface and keeps what the mesh needs of each; ``batch`` of them at a time.

    ``sample`` takes blocks, int64 array (n, 3), and returns values (n, side + 1, side + 1, side + 1), float32 or
    float64, at the corners of their cells, once per block. Inside is where a value is below 0; NaN is outside. A corner
    of several blocks should get the same value in all of them. Where rounding makes the signs differ, the first block
    in lexicographic order decides, so the mesh is watertight in any case.
    """

    def __init__(self, sample: Sampler, grid: BlockGrid, batch: int, verbose: bool):
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
            raise ValueError(f"sample must return values of shape {(len(keys), *[width] * 3)}, got {values.shape}.")
        values = np.ascontiguousarray(values, dtype=np.float32 if values.dtype == np.float32 else np.float64)
        rows = np.empty((len(keys), width**2), dtype=np.uint32)
        _native.sign_rows(values, blocks, grid.cells, grid.side, grid.closed, rows)
        _, counts = self._count(rows, blocks)
        crossings = np.empty(counts.sum(), dtype=np.float32)
        _native.place_crossings(values, rows, blocks, grid.cells, grid.side, _MARGIN, _starts(counts), crossings)
        self.parts.append((keys, rows, counts, crossings))
        return self.across(rows, blocks)

    def across(self, signs: np.ndarray, blocks: np.ndarray) -> np.ndarray:
        """Keys of the blocks across the faces on which the sign changes."""
        changes = np.empty((len(blocks), len(_FACE_STEPS)), dtype=np.bool_)
        _native.face_changes(signs, blocks, self.grid.cells, self.grid.side, changes)
        block, face = np.nonzero(changes)
        keys, valid = self.grid.step(blocks[block], _FACE_STEPS[face])
        return np.unique(keys[valid])

    def _count(self, signs: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vertices before each row of a block, and of each block."""
        ranks = np.empty(signs.shape, dtype=np.uint16)
        counts = np.empty(len(blocks), dtype=np.int64)
        _native.count_vertices(signs, blocks, self.grid.cells, self.grid.side, ranks, counts)
        return ranks, counts

    def agree(self) -> tuple["_Signs", np.ndarray]:
        """What was seen, sorted by keys, with signs on which all blocks agree, and the new blocks they lead to."""
        keys, rows, counts, crossings = (np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))
        self.parts = [(keys, rows, counts, crossings)]
        order = np.argsort(keys)
        keys, rows, first_crossing = keys[order], rows[order], _starts(counts)[order]
        blocks, neighbors = self.grid.coords(keys), self.grid.neighbors(keys)
        agreed = np.empty_like(rows)
        _native.agree_on_signs(rows, blocks, self.grid.cells, self.grid.side, neighbors, agreed)
        missing = np.empty(0, dtype=np.int64)
        if np.array_equal(agreed, rows):
            agreed = rows
        else:
            reached = self.across(agreed, blocks)
            missing = reached[~_find(keys, reached)[1]]
        return _Signs(blocks, neighbors, agreed, rows, first_crossing, crossings), missing

    def mesh(self, seen: "_Signs") -> tuple[np.ndarray, np.ndarray]:
        """Vertices in cells, and faces."""
        blocks, limits = seen.blocks, (self.grid.cells, self.grid.side)
        table = marching_table()
        ranks, counts = self._count(seen.agreed, blocks)
        face_counts = np.empty(len(blocks), dtype=np.int64)
        _native.count_faces(seen.agreed, blocks, *limits, *table, face_counts)
        index_type = np.int32 if counts.sum() < 2**31 else np.int64
        needed = int(counts.sum()) * 24 + int(face_counts.sum()) * 3 * np.dtype(index_type).itemsize
        what = f"a mesh of {counts.sum()} vertices and {face_counts.sum()} faces"
        require_memory(needed, what, "choose a larger spacing.")
        first = _starts(counts)
        vertices = np.empty((counts.sum(), 3))
        crossings = seen.first_crossing, seen.crossings
        _native.write_vertices(seen.agreed, seen.rows, blocks, *limits, _MARGIN, *crossings, first, vertices)
        faces, starts = np.empty((face_counts.sum(), 3), dtype=index_type), _starts(face_counts)
        _native.write_faces(seen.agreed, ranks, first, blocks, *limits, seen.neighbors, *table, starts, faces)
        return vertices, faces


class _Signs(NamedTuple):
    """The visited blocks in the order of their keys; ``rows`` are signs as sampled, ``agreed`` those of the mesh."""

    blocks: np.ndarray
    neighbors: np.ndarray
    agreed: np.ndarray
    rows: np.ndarray
    first_crossing: np.ndarray
    crossings: np.ndarray


def mesh_blocks(walk: Walk, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (v, 3), in cells from the lower corner of the grid, and faces, from sorted keys of blocks on."""
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
