"""The subdivision of space: a cube that holds all sources and targets, halved along each axis where it holds many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_BITS = {1: 44, 2: 28, 3: 20}  # levels at most: digits of a coordinate in a key of 64 bits
_ROOM = 1e-9  # of the cube around the points


class Boxes(NamedTuple):
    """Boxes of all levels, those of a level one after the other, in the order of their keys.

    The sources and targets are sorted by the keys, so each box has a range of either. Coordinates have three columns.
    """

    width: float  # of the cube
    level_from: np.ndarray
    level: np.ndarray
    coords: np.ndarray
    parents: np.ndarray
    children: np.ndarray  # (boxes, 8), -1 where there is none
    octant: np.ndarray  # which child of its parent a box is
    source_spans: np.ndarray
    target_spans: np.ndarray
    centers: np.ndarray
    halves: np.ndarray
    source_order: np.ndarray
    target_order: np.ndarray

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.level_from) - 1

    @property
    def leaves(self) -> np.ndarray:
        """Which boxes have no children."""
        return (self.children < 0).all(axis=1)

    def of_level(self, level: int) -> slice:
        """The boxes of a level."""
        return slice(self.level_from[level], self.level_from[level + 1])


def subdivide(sources: np.ndarray, targets: np.ndarray, most_sources: int, most_targets: int) -> Boxes:
    """Halve boxes with more sources or more targets than given; the points have d = 1 to 3 columns."""
    d = sources.shape[1]
    low = np.minimum(sources.min(axis=0), targets.min(axis=0))
    high = np.maximum(sources.max(axis=0), targets.max(axis=0))
    width = float((high - low).max()) * (1.0 + _ROOM) or 1.0
    corner = 0.5 * (low + high) - 0.5 * width
    bits = _BITS[d]
    keys = [_keys(points, corner, width, bits) for points in (sources, targets)]
    orders = [np.argsort(key, kind="stable") for key in keys]
    keys = [key[order] for key, order in zip(keys, orders, strict=True)]
    spans = [np.array([[0, len(key)]]) for key in keys]
    coords, parents, octant = np.zeros((1, d), np.int64), np.full(1, -1), np.zeros(1, np.int64)
    code = np.zeros(1, np.uint64)
    parts: list[tuple] = []
    first = 0  # number of the first box of the level
    for level in range(bits + 1):
        parts.append((np.full(len(code), level), coords, parents, octant, *spans))
        many = (np.diff(spans[0])[:, 0] > most_sources) | (np.diff(spans[1])[:, 0] > most_targets)
        split = np.flatnonzero(many)
        if level == bits or len(split) == 0:
            break
        digits = np.arange(2**d, dtype=np.uint64)
        child_code = (code[split, None] * np.uint64(2**d) + digits).reshape(-1)
        shift = np.uint64(d * (bits - level - 1))
        child_spans = [
            np.stack(
                [np.searchsorted(key, child_code << shift), np.searchsorted(key, (child_code + np.uint64(1)) << shift)],
                1,
            )
            for key in keys
        ]
        kept = np.flatnonzero((np.diff(child_spans[0]) + np.diff(child_spans[1]))[:, 0] > 0)
        child_octant = np.tile(digits.astype(np.int64), len(split))
        sides = child_octant[:, None] >> np.arange(d - 1, -1, -1) & 1
        coords = (2 * np.repeat(coords[split], 2**d, axis=0) + sides)[kept]
        parents, octant = np.repeat(split + first, 2**d)[kept], child_octant[kept]
        first, code, spans = first + len(code), child_code[kept], [span[kept] for span in child_spans]
    level_of, coords, parents, octant, source_spans, target_spans = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    halves = 0.5 * width * 0.5**level_of
    centers = np.zeros((len(coords), 3))
    centers[:, :d] = corner + halves[:, None] * (2 * coords + 1)
    children = np.full((len(coords), 8), -1, np.int32)
    inner = np.flatnonzero(parents >= 0)
    children[parents[inner], octant[inner]] = inner
    whole = np.zeros((len(coords), 3), np.int32)
    whole[:, :d] = coords
    level_from = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
    return Boxes(
        width,
        level_from,
        level_of,
        whole,
        parents.astype(np.int32),
        children,
        octant,
        np.ascontiguousarray(source_spans, np.int64),
        np.ascontiguousarray(target_spans, np.int64),
        centers,
        halves,
        *orders,
    )


def _keys(points: np.ndarray, corner: np.ndarray, width: float, bits: int) -> np.ndarray:
    """The digits of the coordinates, interleaved: neighbours in the order of the keys are neighbours in space."""
    d = points.shape[1]
    digits = np.clip((points - corner) * (2.0**bits / width), 0, 2**bits - 1).astype(np.uint64)
    keys = np.zeros(len(points), np.uint64)
    for axis in range(d):
        keys |= _spread(digits[:, axis], d) << np.uint64(d - 1 - axis)
    return keys


def _spread(digits: np.ndarray, d: int) -> np.ndarray:
    """Put d - 1 zeros between the bits of numbers."""
    if d == 1:
        return digits
    steps = {
        2: [
            (16, 0x0000FFFF0000FFFF),
            (8, 0x00FF00FF00FF00FF),
            (4, 0x0F0F0F0F0F0F0F0F),
            (2, 0x3333333333333333),
            (1, 0x5555555555555555),
        ],
        3: [
            (32, 0x1F00000000FFFF),
            (16, 0x1F0000FF0000FF),
            (8, 0x100F00F00F00F00F),
            (4, 0x10C30C30C30C30C3),
            (2, 0x1249249249249249),
        ],
    }[d]
    for shift, mask in steps:
        digits = (digits | digits << np.uint64(shift)) & np.uint64(mask)
    return digits
