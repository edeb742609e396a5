"""Curves in the plane: lines through points, closed or with two ends, with what they carry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._base.formats import all_formats

_CHUNK = 2**22


class Contours:
    """Lines in the plane, closed or open, with the inside on their left.

    Parameters
    ----------
    lines : sequence of arrays (k, 2)
        The points of each line; closed ones do not repeat the first.
    closed : sequence of bool, whether each line is closed; by default all are
    normals : array (n, 2), optional, outward normals of all points, those of the lines one after the other
    attributes : dict of arrays (n,) or (n, k), optional, what else is known of the points

    Attributes
    ----------
    points : array (n, 2)
    segments : array (m, 2) of int, the ends of each piece, as rows of ``points``

    Examples
    --------
    >>> from seminorm.shapes import Contours
    >>> square = Contours([[[0, 0], [2, 0], [2, 2], [0, 2]]])
    >>> square.length, square.area, square.is_closed
    (8.0, 4.0, True)

    See Also
    --------
    seminorm.reconstruct : Its ``contours`` are such lines, for points in the plane.
    seminorm.plotting.plot_contours
    """

    def __init__(
        self,
        lines: Sequence[Any],
        closed: Sequence[bool] | np.ndarray | None = None,
        normals: np.ndarray | None = None,
        attributes: Mapping[str, np.ndarray] | None = None,
    ):
        self.lines = [np.asarray(line, dtype=float).reshape(-1, 2) for line in lines]
        given = np.ones(len(self.lines), dtype=bool) if closed is None else np.asarray(closed, dtype=bool)
        if given.shape != (len(self.lines),):
            raise ValueError(f"closed must say of each of {len(self.lines)} lines whether it is, got {given.shape}.")
        self.closed, self.normals, self.attributes = given, normals, dict(attributes or {})
        self.points = np.concatenate(self.lines) if self.lines else np.zeros((0, 2))

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        n = int(self.closed.sum())
        return f"Contours({n} closed and {len(self) - n} open lines, {len(self.points)} points)"

    @property
    def segments(self) -> np.ndarray:
        """The ends of each piece, as rows of the points."""
        pieces, begin = [np.zeros((0, 2), dtype=np.int64)], 0
        for line, closed in zip(self.lines, self.closed, strict=True):
            here = np.arange(begin, begin + len(line))
            ends = np.column_stack([here, np.roll(here, -1)])
            pieces.append(ends if closed else ends[:-1])
            begin += len(line)
        return np.concatenate(pieces)

    @property
    def is_closed(self) -> bool:
        """Whether there are lines, and none has ends."""
        return bool(len(self) and self.closed.all())

    @property
    def lengths(self) -> np.ndarray:
        """The length of each line."""
        return np.array([_length(*line) for line in zip(self.lines, self.closed, strict=True)])

    @property
    def length(self) -> float:
        """The length of all lines."""
        return float(self.lengths.sum())

    @property
    def areas(self) -> np.ndarray:
        """The area that each line encloses, negative for holes, NaN for open lines."""
        pairs = zip(self.lines, self.closed, strict=True)
        return np.array([_area(line) if closed else np.nan for line, closed in pairs])

    @property
    def area(self) -> float:
        """The area inside; NaN if a line is open."""
        return float(self.areas.sum())

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and largest coordinates, (2, 2)."""
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    def inside(self, X) -> np.ndarray:
        """Whether points X (m, 2) lie inside the closed lines, by how many of them a ray meets."""
        X = np.asarray(X, dtype=float)
        crossings = np.zeros(len(X), dtype=np.int64)
        for line, closed in zip(self.lines, self.closed, strict=True):
            if closed:
                chunk = max(_CHUNK // len(line), 1)
                for begin in range(0, len(X), chunk):
                    part = slice(begin, begin + chunk)
                    crossings[part] += _crossings(line, X[part])
        return crossings % 2 == 1

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the lines by the ending: svg, csv (x, y, line, closed), or obj (lines in the plane z = 0)."""
        return all_formats.write("write_contours", path, self)


def _length(line: np.ndarray, closed: bool) -> float:
    steps = np.diff(line, axis=0, append=line[:1] if closed else line[-1:])
    return float(np.linalg.norm(steps, axis=1).sum())


def _area(line: np.ndarray) -> float:
    x, y = (line - line[0]).T
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


def _crossings(line: np.ndarray, X: np.ndarray) -> np.ndarray:
    """How many pieces of a closed line lie to the right of each place."""
    (x, y), (x2, y2) = line.T, np.roll(line, -1, axis=0).T
    spans = (y > X[:, 1:]) != (y2 > X[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = x + (X[:, 1:] - y) * (x2 - x) / (y2 - y)
    return (spans & (X[:, :1] < meets)).sum(axis=1)
