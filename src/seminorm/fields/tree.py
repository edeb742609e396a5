"""The multilevel basis: nested regions, each with the B-splines of its own grid.

Level 0 covers a box around the data; level l + 1 covers a part of the region of level l with cells half as wide. The
functions of a level are *active* where their support (inside the box) lies within the level's region. A field is a
sum over all levels. On a *leaf* cell, one that the next level does not cover, the sum equals an ordinary
tensor-product spline of the leaf's level: coarser functions are refined exactly (hierarchical B-splines). So energies
and data enter once, on leaves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import _native
from ..bases.box import GridBox
from .layout import BlockLayout, layout

_BOX = ("low", "scale", "spacing", "cells")


class BlockGroups(NamedTuple):
    """Blocks in groups, of which no two blocks share a function: group g has ``blocks[starts[g]:starts[g + 1]]``."""

    blocks: np.ndarray
    starts: np.ndarray


class Tree:
    """Regions, blocks and index tables of a multilevel basis; ``levels`` has the blocks of each region (n, d).

    ``coords`` (blocks, d) is the position of each block in its level, ``level_of`` (blocks,) its level, ``neighbors``
    (blocks, 3**d) the blocks around it, -1 where there is none; ``links`` holds all of that for the compiled loops.
    """

    def __init__(self, box: GridBox, degree: int, levels: list[np.ndarray]):
        self.box, self.degree = box, degree
        self.coarser: Tree | None = None  # the tree that this one refines, if it was made so
        self._refined: Tree | None = None  # the last one that refined this: trials often want the same again
        self.layout: BlockLayout = layout(box.dimension, degree)
        self.levels = [np.asarray(blocks, dtype=np.int64).reshape(-1, box.dimension) for blocks in levels]
        self._number_blocks()
        self._link_levels()
        self._mark_nodes()

    def __reduce__(self):
        return Tree, (self.box, self.degree, self.levels)

    @classmethod
    def root(cls, box: GridBox, degree: int) -> Tree:
        """Level 0 alone."""
        side = layout(box.dimension, degree).side
        blocks = [np.arange(-(-cells // side)) for cells in box.cells]
        return cls(box, degree, [np.stack(np.meshgrid(*blocks, indexing="ij"), axis=-1).reshape(-1, box.dimension)])

    def content(self) -> dict:
        """What a file holds of a tree; :meth:`from_content` reads it."""
        levels = [blocks.astype(np.int32) for blocks in self.levels]
        box = {name: getattr(self.box, name) for name in _BOX}
        closed = {"wraps": self.box.wraps} if self.box.wraps.any() else {}
        turned = {} if self.box.axes is None else {"axes": self.box.axes}
        return {**box, **closed, **turned, "degree": self.degree, "levels": levels}

    @classmethod
    def from_content(cls, content: dict) -> Tree:
        """The tree of a file."""
        low, scale, spacing, cells = (content[name] for name in _BOX)
        box = GridBox(low, scale, spacing, cells, content.get("wraps"), content.get("axes"))
        return cls(box, content["degree"], content["levels"])

    @property
    def depth(self) -> int:
        """Number of the finest level."""
        return len(self.levels) - 1

    @property
    def size(self) -> int:
        """Number of active functions."""
        return int(np.count_nonzero(self.active))

    def spacing(self, level: int) -> float:
        """Side of a cell, in scaled coordinates."""
        return self.box.spacing / 2**level

    def cells(self, level: int) -> np.ndarray:
        """Number of cells along each axis."""
        return self.box.cells * 2**level

    def blocks(self, level: int) -> slice:
        """The numbers of a level's blocks."""
        return slice(self.level_start[level], self.level_start[level + 1])

    def refine(self, marked: np.ndarray) -> Tree:
        """A tree with one level more, around the marked leaf cells (blocks, side**d) of the finest level."""
        level, side = self.depth, self.layout.side
        own = self.coords[self.blocks(level)]
        flags = np.zeros((len(own), 4**self.box.dimension), dtype=np.bool_)
        _native.flag_children(self.links, marked, own, self.cells(level), flags)
        block, child = np.nonzero(flags)
        steps = np.stack(np.unravel_index(child, [4] * self.box.dimension), axis=-1) - 1
        blocks = 2 * own[block] + steps
        grid = -(-self.cells(level + 1) // side)
        blocks = self._wrapped(blocks, grid)
        blocks = blocks[((blocks >= 0) & (blocks < grid)).all(axis=1)]
        blocks = np.stack(np.unravel_index(np.unique(_ravel(blocks, grid)), grid), axis=-1)
        parents = _find(self._keys(level), _ravel(blocks // 2, self._grid(level)))
        blocks = blocks[(parents >= 0) & self._is_cell[self.blocks(level)][np.maximum(parents, 0)]]
        if self._refined is None or not np.array_equal(self._refined.levels[-1], blocks):
            self._refined = Tree(self.box, self.degree, [*self.levels, blocks])
            self._refined.coarser = self
        return self._refined

    def locate(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Block number and cell in the block of the leaf that holds each point, given in cells of level 0."""
        block, cell = np.empty(len(points), dtype=np.int32), np.empty(len(points), dtype=np.int32)
        _native.locate(self.links, np.ascontiguousarray(points, dtype=float), self.roots, self._root_cells, block, cell)
        return block, cell

    def sort_by_block(self, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Order of points by their blocks (stable), and where the points of each block begin in it."""
        order, start = np.empty(len(block), dtype=np.int64), np.empty(len(self.coords) + 1, dtype=np.int64)
        _native.sort_by_block(block, order, start)
        return order, start

    def of_finest_level(self, blocks: np.ndarray) -> np.ndarray:
        """Those of the given blocks that belong to the finest level."""
        return blocks[blocks >= self.level_start[self.depth]]

    def _grid(self, level: int) -> np.ndarray:
        """Blocks of functions along each axis."""
        return -(-(self.cells(level) + np.where(self.box.wraps, 0, self.degree)) // self.layout.side)

    def _wrapped(self, coords: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """Positions of blocks, those beyond the end of an axis that closes up at its other end."""
        return np.where(self.box.wraps, coords % grid, coords)

    def _keys(self, level: int) -> np.ndarray:
        return _ravel(self.coords[self.blocks(level)], self._grid(level))

    def _number_blocks(self) -> None:
        """All blocks of functions: those of cells, and the next ones along each axis, where functions reach in."""
        d = self.box.dimension
        steps = np.array(list(np.ndindex(*[2] * d)))
        coords, is_cell = [], []
        for level, blocks in enumerate(self.levels):
            grid = self._grid(level)
            reached = self._wrapped((blocks[:, None] + steps).reshape(-1, d), grid)
            keys = np.unique(_ravel(reached[(reached < grid).all(axis=1)], grid))
            coords.append(np.stack(np.unravel_index(keys, grid), axis=-1))
            is_cell.append(np.isin(keys, _ravel(blocks, grid)))
        self.level_start = np.cumsum([0] + [len(part) for part in coords])
        self.coords = np.concatenate(coords)
        self._is_cell = np.concatenate(is_cell)
        self.level_of = np.repeat(np.arange(len(coords)), np.diff(self.level_start))

    def _link_levels(self) -> None:
        d = self.box.dimension
        around = np.array(list(np.ndindex(*[3] * d))) - 1
        halves = np.array(list(np.ndindex(*[2] * d)))
        total = len(self.coords)
        self.neighbors = np.full((total, 3**d), -1, dtype=np.int32)
        # blocks of the next level inside each block, and those of them that have cells of the region
        inside, children = (np.full((total, 2**d), -1, dtype=np.int32) for _ in range(2))
        for level in range(len(self.levels)):
            own = self.blocks(level)
            self.neighbors[own] = self.lookup(level, self.coords[own][:, None] + around)
            if level < self.depth:
                finer = self.lookup(level + 1, 2 * self.coords[own][:, None] + halves)
                inside[own] = finer
                cells = (finer >= 0) & self._is_cell[np.maximum(finer, 0)] & self._is_cell[own][:, None]
                children[own] = np.where(cells, finer, -1)
        self._root_cells = np.array(self.box.cells, dtype=np.int64)
        limits = np.stack([self.cells(level) for level in range(len(self.levels))]).astype(np.int64)
        self.links = _native.TreeLinks(
            self.degree, self.coords, self._is_cell, self.level_of, limits, self.box.wraps,
            2.0 ** np.arange(len(self.levels)), self.neighbors, inside, children,
        )  # fmt: skip
        parents = (np.flatnonzero((inside[own] >= 0).any(axis=1)) for own in map(self.blocks, range(self.depth)))
        starts = self.level_start[:-1]
        self.parents = [self.by_color(first + blocks) for first, blocks in zip(starts, parents, strict=False)]
        self.root_grid = -(-self._root_cells // self.layout.side)
        self.roots = self.lookup(0, np.argwhere(np.ones(self.root_grid))).astype(np.int32)

    def by_color(self, blocks: np.ndarray) -> BlockGroups:
        """Blocks in groups that share no function: by the parity of their coordinates."""
        parity = (self.coords[blocks] % 2) @ (2 ** np.arange(self.box.dimension))
        order = np.argsort(parity, kind="stable")
        starts = np.searchsorted(parity[order], np.arange(2**self.box.dimension + 1))
        return BlockGroups(blocks[order], starts.astype(np.int64))

    def lookup(self, level: int, coords: np.ndarray) -> np.ndarray:
        """Numbers of the blocks with the given coordinates, -1 where there is none."""
        grid = self._grid(level)
        coords = self._wrapped(coords, grid)
        valid = np.all((coords >= 0) & (coords < grid), axis=-1)
        found = _find(self._keys(level), _ravel(np.where(valid[..., None], coords, 0), grid))
        return np.where(valid & (found >= 0), found + self.level_start[level], -1)

    def _mark_nodes(self) -> None:
        """Leaf cells, active functions, and how many leaf cells each function covers."""
        total, nodes = len(self.coords), self.layout.side**self.box.dimension
        region, self.leaf, self.active = (np.zeros((total, nodes), dtype=np.bool_) for _ in range(3))
        self.covered = np.zeros((total, nodes), dtype=np.int16)
        _native.mark(self.links, region, self.leaf, self.active, self.covered)


def _ravel(coords: np.ndarray, grid: np.ndarray) -> np.ndarray:
    if math.prod(int(n) for n in grid) > np.iinfo(np.int64).max // 2:
        raise ValueError("the grid has too many blocks to number: choose a smaller depth.")
    weights = np.append(np.cumprod(grid[::-1])[::-1][1:], 1)
    return (coords * weights).sum(axis=-1)


def _find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Positions in the sorted keys, -1 where absent."""
    if len(keys) == 0:
        return np.full(wanted.shape, -1)
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[position] == wanted, position, -1)
