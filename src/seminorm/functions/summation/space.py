"""A kernel with its points in the coordinates where it is radial, and sums over all pairs there."""

from __future__ import annotations

import numpy as np

from ... import _native
from ...kernels.base import Kernel
from ...kernels.radial_parts import Profile, RadialPart, radial_part

_TARGETS = 32  # of a chunk


class Space:
    """Sources and targets in up to three coordinates, as compiled loops want them, and the profile.

    x and y are the orders of the derivatives at the targets and at the sources.
    """

    def __init__(self, part: RadialPart, sources: np.ndarray, targets: np.ndarray, x: int, y: int):
        self.part, self.x, self.y, self.order = part, x, y, x + y
        both = [points @ part.matrix for points in (sources, targets)]
        self.dimension = both[0].shape[1]
        low, high = (extreme([extreme(p, axis=0) for p in both], axis=0) for extreme in (np.min, np.max))
        self.size = float(np.linalg.norm(high - low))
        self.sources, self.targets = (_three_columns(points - 0.5 * (low + high)) for points in both)
        forms = [part.form(k, max(self.size**2, 1e-300)) for k in range(self.order + 1)]
        self.forms = [form for form in forms if form is not None]
        self.is_known = len(self.forms) == len(forms)

    def coincident(self) -> tuple[int, int] | None:
        """A target and a source at the same place."""
        rows, place = np.unique(np.concatenate([self.sources, self.targets]) + 0.0, axis=0, return_inverse=True)
        n = len(self.sources)
        target_of = np.full(len(rows), -1)
        target_of[place[n:]] = np.arange(len(self.targets))
        met = np.flatnonzero(target_of[place[:n]] >= 0)
        return (int(target_of[place[met[0]]]), int(met[0])) if len(met) else None

    def coefficients(self, given: np.ndarray) -> np.ndarray:
        """(n, d^y, k) -> (n, k, parts)."""
        if not self.y:
            return np.ascontiguousarray(given.transpose(0, 2, 1))
        result = np.zeros((len(given), given.shape[2], 3))
        result[:, :, : self.dimension] = np.einsum("ndk,dp->nkp", given, self.part.matrix)
        return result

    def room(self, count: int, columns: int) -> np.ndarray:
        """Zeros for the sums at so many targets, (count, k, parts)."""
        return np.zeros((count, columns, 3 if self.x else 1))

    def derivatives(self, found: np.ndarray) -> np.ndarray:
        """(m, k, parts) -> (m, d^x, k), in the coordinates of the points."""
        if not self.x:
            return found.transpose(0, 2, 1)
        return np.einsum("mkp,dp->mdk", found[:, :, : self.dimension], self.part.matrix)

    def sum_directly(self, coefficients: np.ndarray, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Sums over all sources at some targets, (m, d^x, k) for coefficients (n, k, parts)."""
        targets = self.targets[chosen]
        m = len(targets)
        begins = np.arange(0, m, _TARGETS)
        spans = np.stack([begins, np.minimum(begins + _TARGETS, m)], axis=1)
        ranges = np.tile([[0, len(self.sources)]], (len(begins), 1))
        out = self.room(m, coefficients.shape[1])
        arguments = in_rows(targets), spans, np.arange(len(begins) + 1), ranges, self.sources, coefficients
        _native.sum_near(*arguments, [tuple(form) for form in self.forms], out)
        return self.derivatives(out)

    def magnitude(self, distances: np.ndarray) -> np.ndarray:
        """The size of the kernel, or of its derivatives, at distances."""
        return magnitude(self.part.profile, distances, self.order)

    def rounding(self, coefficients: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """What rounding does to the sums at some targets, for each column of coefficients."""
        distances = np.linalg.norm(self.targets[chosen, None] - self.sources, axis=2)
        sizes = np.sqrt(np.square(coefficients).sum(axis=2))
        return 4.0 * np.finfo(float).eps * (self.magnitude(distances) @ sizes).max(axis=0)


def space_of(kernel: Kernel, sources: np.ndarray, targets: np.ndarray, x: int, y: int) -> Space | None:
    """The space of a kernel that is radial in up to three coordinates and has the derivatives wanted, or None."""
    part = radial_part(kernel, sources.shape[1])
    if part is None or part.matrix.shape[1] > 3 or not part.has(x + y):
        return None
    space = Space(part, sources, targets, x, y)
    return space if space.is_known else None


def magnitude(profile: Profile, distances: np.ndarray, order: int) -> np.ndarray:
    """The size of a radial kernel, or of its derivatives of order 1 or 2."""
    squares = distances**2
    if order == 0:
        return np.abs(profile(squares, 0))
    if order == 1:
        return 2.0 * distances * np.abs(profile(squares, 1))
    return 2.0 * np.abs(profile(squares, 1)) + 4.0 * squares * np.abs(profile(squares, 2))


def slopes(profile: Profile, differences: np.ndarray, order: int) -> np.ndarray:
    """The kernel at x - y (..., d), or its first or second derivative along the first axis."""
    squares = np.einsum("...i,...i->...", differences, differences)
    if order == 0:
        return profile(squares, 0)
    first = differences[..., 0]
    if order == 1:
        return 2.0 * first * profile(squares, 1)
    return 2.0 * profile(squares, 1) + 4.0 * first**2 * profile(squares, 2)


def in_rows(points: np.ndarray) -> np.ndarray:
    """Points (m, 3) with a row for each coordinate, and room for a vector beyond the last one."""
    rows = np.zeros((3, len(points) + 8))
    rows[:, : len(points)] = points.T
    return rows


def sum_by_matrix(kernel: Kernel, targets, sources, coefficients: np.ndarray, x: int, y: int) -> np.ndarray:
    """Sums (m, d^x, k) for coefficients (n, d^y, k) and any kernel, from blocks of its matrix."""
    n, width, k = coefficients.shape
    d = sources.shape[1]
    step = max(1, _ENTRIES // (n * d ** (x + y)))
    result = np.empty((len(targets), d**x, k))
    for begin in range(0, len(targets), step):
        block = kernel.derivative(targets[begin : begin + step], sources, x=x, y=y)
        block = np.moveaxis(block.reshape(-1, n, d**x, d**y), 1, 2)
        result[begin : begin + step] = block.reshape(-1, d**x, n * width) @ coefficients.reshape(n * width, k)
    return result


_ENTRIES = 2**22  # of a block of the matrix


def _three_columns(points: np.ndarray) -> np.ndarray:
    result = np.zeros((len(points), 3))
    result[:, : points.shape[1]] = points
    return result
