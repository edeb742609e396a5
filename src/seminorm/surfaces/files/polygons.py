"""Polygons to triangles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from .errors import FileFormatError, truncated

_CHUNK_LINES = 2**18


def triangulated(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles (m, 3) of polygons, as fans around their first corners; fewer than three corners give none.

    Parameters
    ----------
    counts : int array
        Number of corners of each polygon.
    corners : int array
        All corners, one polygon after the other.
    """
    if (counts == 3).all():
        return corners.reshape(-1, 3)
    start = np.cumsum(counts) - counts
    n_triangles = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(counts)), n_triangles)
    within = np.arange(len(polygon)) - np.repeat(np.cumsum(n_triangles) - n_triangles, n_triangles)
    first = start[polygon]
    return np.stack([corners[first], corners[first + within + 1], corners[first + within + 2]], axis=1)


def polygons_from_lines(
    path: Path, file, n: int, before: Sequence[bool] = (), what: str = "faces"
) -> tuple[np.ndarray, np.ndarray]:
    """Counts and corners of n lines that hold a count and so many corners.

    ``before`` are the entries of a line in front of the count: False for one number, True for a list of its own.
    Numbers behind the corners are passed over.
    """
    counts, corners, found = [], [], 0
    lines = (line for line in file if line.strip() and not line.lstrip().startswith("#"))
    while found < n:
        block = list(islice(lines, min(_CHUNK_LINES, n - found)))
        if not block:
            raise truncated(path, what, n, found)
        try:
            part = _regular(block, before) or _irregular(block, before)
        except (ValueError, IndexError) as error:
            if next(lines, None) is None and found + len(block) == n:
                raise truncated(path, what, n, n - 1) from error
            raise FileFormatError(
                f"{path} is damaged: one of the {what} {found} to {found + len(block) - 1} is no list of numbers."
            ) from error
        counts.append(part[0])
        corners.append(part[1])
        found += len(block)
    return (np.concatenate(counts), np.concatenate(corners)) if n else (np.zeros(0, int), np.zeros(0, int))


def _regular(lines: list[str], before: Sequence[bool]) -> tuple[np.ndarray, np.ndarray] | None:
    """All lines at once, if they have the same number of corners."""
    if any(before):
        return None
    try:
        table = np.loadtxt(lines, ndmin=2)
    except ValueError:
        return None
    k = len(before)
    count = int(table[0, k])
    if (table[:, k] != count).any() or table.shape[1] < k + 1 + count:
        return None
    return np.full(len(table), count), table[:, k + 1 : k + 1 + count].astype(np.int64).ravel()


def _irregular(lines: list[str], before: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    counts, corners = [], []
    for line in lines:
        words, k = line.split(), 0
        for is_list in before:
            k += 1 + int(words[k]) if is_list else 1
        count = int(words[k])
        if len(words) < k + 1 + count or count < 0:
            raise ValueError("a list is longer than its line")
        counts.append(count)
        corners.extend(map(int, words[k + 1 : k + 1 + count]))
    return np.array(counts), np.array(corners, dtype=np.int64)
