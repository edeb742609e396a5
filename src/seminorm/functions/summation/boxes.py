"""The subdivision of space: a cube that holds all sources and targets, halved along each axis where it holds many."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_BITS = {1: 44, 2: 28, 3: 20}  # levels at most: digits of a coordinate in a key of 64 bits
_ROOM = 1e-9  # of the cube around the points
_LOPSIDED = 8.0  # times as many sources for a target as on average, or as few


class Boxes(NamedTuple):
    """Boxes of all levels, those of a level one after the other, in the order of their keys.

    The sources and targets are sorted by the keys, so each box has a range of either. Coordinates have three columns.
    """

    width: float  # of the cube
    level_from: np.ndarray
    coords: np.ndarray
    parents: np.ndarray
    children: np.ndarray  # (boxes, 8), -1 where there is none
    octant: np.ndarray  # which child of its parent a box is
    source_spans: np.ndarray
    target_spans: np.ndarray
    centers: np.ndarray
    halves: np.ndarray

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.level_from) - 1

    @property
    def leaves(self) -> np.ndarray:
        """Which boxes have no children."""
        return np.asarray((self.children < 0).all(axis=1))

    def of_level(self, level: int) -> slice:
        """The boxes of a level."""
        return slice(self.level_from[level], self.level_from[level + 1])


class SortedPoints:
    """Sources and targets (n, d), d = 1 to 3, in the cube that holds both, in the order of their keys."""

    def __init__(self, sources: np.ndarray, targets: np.ndarray):
        self.dimension = sources.shape[1]
        self.bits = _BITS[self.dimension]
        low = np.minimum(sources.min(axis=0), targets.min(axis=0))
        high = np.maximum(sources.max(axis=0), targets.max(axis=0))
        self.width = float((high - low).max()) * (1.0 + _ROOM)
        self.corner = 0.5 * (low + high) - 0.5 * self.width
        keys = [_keys(points, self.corner, self.width, self.bits) for points in (sources, targets)]
        self.orders = [np.argsort(key, kind="stable") for key in keys]
        self.keys = [key[order] for key, order in zip(keys, self.orders, strict=True)]

    def spans(self, codes: np.ndarray, level: int) -> list[np.ndarray]:
        """The ranges of sources and of targets in boxes of a level, given by the leading digits of their keys."""
        shift = np.uint64(self.dimension * (self.bits - level))
        ends = codes << shift, (codes + np.uint64(1)) << shift
        return [np.stack([np.searchsorted(key, end) for end in ends], axis=1) for key in self.keys]

    def neighbors(self, coords: np.ndarray, level: int) -> list[np.ndarray]:
        """How many sources, and targets, are in the boxes around given ones of a level, these included."""
        totals = [np.zeros(len(coords), np.int64) for _ in self.keys]
        for step in np.indices((3,) * self.dimension).reshape(self.dimension, -1).T - 1:
            beside = coords + step
            inside = ((beside >= 0) & (beside < 2**level)).all(axis=1)
            codes = _interleaved(beside[inside].astype(np.uint64))
            for total, span in zip(totals, self.spans(codes, level), strict=True):
                total[inside] += np.diff(span)[:, 0]
        return totals


def subdivide(points: SortedPoints, worth: Callable[[int, float], float]) -> Boxes:
    """Halve the boxes in which the product of the numbers of sources and of targets exceeds worth(level, children).

    ``children`` is the mean number of children of the boxes that were halved before. Where there are many sources and
    few targets, or the reverse, those in the boxes around count, too.
    """
    d, bits, width = points.dimension, points.bits, points.width
    spans = [np.array([[0, len(key)]]) for key in points.keys]
    coords, parents, octant = np.zeros((1, d), np.int64), np.full(1, -1), np.zeros(1, np.int64)
    code, per_box, first = np.zeros(1, np.uint64), float(2**d), 0
    parts: list[tuple] = []
    for level in range(bits + 1):
        parts.append((np.full(len(code), level), coords, parents, octant, *spans))
        split = np.flatnonzero(_pairs(points, coords, spans, level, per_box) > worth(level, per_box))
        if level == bits or len(split) == 0:
            break
        digits = np.arange(2**d, dtype=np.uint64)
        child_code = (code[split, None] * np.uint64(2**d) + digits).reshape(-1)
        child_spans = points.spans(child_code, level + 1)
        kept = np.flatnonzero((np.diff(child_spans[0]) + np.diff(child_spans[1]))[:, 0] > 0)
        child_octant = np.tile(digits.astype(np.int64), len(split))
        sides = child_octant[:, None] >> np.arange(d - 1, -1, -1) & 1
        coords = (2 * np.repeat(coords[split], 2**d, axis=0) + sides)[kept]
        parents, octant = np.repeat(split + first, 2**d)[kept], child_octant[kept]
        first, code, spans = first + len(code), child_code[kept], [span[kept] for span in child_spans]
        per_box = len(kept) / len(split)
    level_of, coords, parents, octant, *both_spans = (np.concatenate(column) for column in zip(*parts, strict=True))
    halves = 0.5 * width * 0.5**level_of
    centers = np.zeros((len(coords), 3))
    centers[:, :d] = points.corner + halves[:, None] * (2 * coords + 1)
    children = np.full((len(coords), 8), -1, np.int32)
    inner = np.flatnonzero(parents >= 0)
    children[parents[inner], octant[inner]] = inner
    whole = np.zeros((len(coords), 3), np.int32)
    whole[:, :d] = coords
    level_from = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
    spans = [np.ascontiguousarray(span, np.int64) for span in both_spans]
    return Boxes(
        width, level_from, whole, parents.astype(np.int32), children, octant, spans[0], spans[1], centers, halves
    )


def _pairs(points: SortedPoints, coords: np.ndarray, spans: list[np.ndarray], level: int, per_box: float) -> np.ndarray:
    """Pairs of a source and a target in each box; where one is much rarer than usual, those with the boxes around."""
    sources, targets = (np.diff(span)[:, 0].astype(float) for span in spans)
    usual = len(points.keys[0]) / len(points.keys[1])
    pairs = sources * targets
    rare = np.flatnonzero((sources < usual * targets / _LOPSIDED) | (sources > usual * targets * _LOPSIDED))
    if len(rare):
        around_sources, around_targets = points.neighbors(coords[rare], level)
        boxes = per_box ** np.log2(3.0)
        around = np.maximum(sources[rare] * around_targets, targets[rare] * around_sources) / boxes
        pairs[rare] = np.maximum(pairs[rare], around)
    return pairs


def _keys(points: np.ndarray, corner: np.ndarray, width: float, bits: int) -> np.ndarray:
    """The digits of the coordinates, interleaved: neighbours in the order of the keys are neighbours in space."""
    digits = np.clip((points - corner) * (2.0**bits / width), 0, 2**bits - 1).astype(np.uint64)
    return _interleaved(digits)


def _interleaved(digits: np.ndarray) -> np.ndarray:
    d = digits.shape[1]
    keys = np.zeros(len(digits), np.uint64)
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
