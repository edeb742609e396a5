"""Where observations come from: arrays, memory-mapped arrays, or anything that can be read again chunk by chunk.

A source is read several times: for its extent and a sample, then once for each level that needs all of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from .tree import Box

CHUNK_POINTS = 2**20


class Observations(NamedTuple):
    """A chunk of observations in the user's units; what is not observed is None.

    Attributes
    ----------
    X : array (n, d)
    y : array (n,) or None
        Values.
    sample_weight : array (n,), float or None
        Weight of each value, one over its noise variance; None is 1.
    gradients : array (n, d) or None
        NaN for components that are not observed.
    gradient_weight : array (n,), float or None
        Weight of each gradient component; None is 1.
    """

    X: np.ndarray
    y: np.ndarray | None = None
    sample_weight: np.ndarray | float | None = None
    gradients: np.ndarray | None = None
    gradient_weight: np.ndarray | float | None = None


class Chunk(NamedTuple):
    """Observations ready for the compiled loops.

    Attributes
    ----------
    points : array (n, d)
        In cells of the coarsest level.
    observations : array (n, columns, sides)
        What is observed; a last axis for several right-hand sides that share points and weights.
    weights : array (n, columns)
        Zero for what is not observed.
    first : pair of int
        Columns of the value and of the gradient's first component, -1 for none.
    """

    points: np.ndarray
    observations: np.ndarray
    weights: np.ndarray
    first: tuple[int, int]


class Accumulator(Protocol):
    """A sum over observations: chunks are added, partial sums merged."""

    def add(self, chunk: Observations, first: int) -> None:
        """Add a chunk whose first observation has the number ``first``."""

    def merge(self, other) -> None:
        """Add the sum over later chunks."""


class Source:
    """Observations that can be read again and again.

    Parameters
    ----------
    read : callable
        Returns an iterator over :class:`Observations`, the same ones each time it is called.
    """

    def __init__(self, read: Callable[[], Iterable[Observations]]):
        self._read = read

    @classmethod
    def of(
        cls, X, y=None, sample_weight=None, gradients=None, gradient_weight=None, *, chunk_points: int = CHUNK_POINTS
    ):
        """A source from arrays, from a callable that returns an iterator of chunks, from a list of chunks or files,
        or from Dask arrays.

        A chunk is an :class:`Observations`, a tuple in its order, a dict with its names, or the path of an npz file
        with these names. Arrays may be memory-mapped: they are read a chunk at a time.
        """
        if isinstance(X, Source):
            return X
        if callable(X):
            return cls(lambda: map(_as_observations, X()))
        if isinstance(X, (list, tuple)) and len(X) and is_chunk(X[0]):
            return cls(lambda: map(_as_observations, X))
        arrays = Observations(X, y, sample_weight, gradients, gradient_weight)
        if hasattr(X, "dask"):
            from .dask_source import DaskSource

            return DaskSource(arrays)
        return cls(lambda: _slices(arrays, chunk_points))

    def __iter__(self) -> Iterator[Observations]:
        for number, chunk in enumerate(self._read()):
            yield checked(chunk, f" of chunk {number}" if number else "")

    def accumulate(self, make: Callable[[], Accumulator]):
        """The accumulator ``make()`` after all chunks were added to it."""
        total, first = make(), 0
        for chunk in self:
            total.add(chunk, first)
            first += len(chunk.X)
        return total


class Summary:
    """Extent, mean and a sample of observations; an accumulator.

    Attributes
    ----------
    low, high : arrays (d,)
        Extent of the points with weight.
    n_points, n_observations : int
        Number of points, and of observed values and gradient components.
    """

    def __init__(self, sample_size: int):
        self.low = self.high = None
        self.n_points = self.n_observations = 0
        self._weight_sum = self._value_sum = 0.0
        self._kept: list[tuple[np.ndarray, Observations]] = []
        self._size, self._threshold = sample_size, np.uint64(2**64 - 1)

    def add(self, chunk: Observations, first: int) -> None:
        """Add a chunk."""
        self.n_points += len(chunk.X)
        weight, slope_weight = weights_of(chunk)
        used = (weight > 0) | (slope_weight > 0).any(axis=1)
        if not used.any():
            return
        X = chunk.X if used.all() else chunk.X[used]
        self._extend(X.min(axis=0), X.max(axis=0))
        self.n_observations += int(np.count_nonzero(weight)) + int(np.count_nonzero(slope_weight))
        if chunk.y is not None:
            self._weight_sum += float(weight.sum())
            self._value_sum += float((weight * np.where(weight > 0, chunk.y, 0.0)).sum())
        draw = scrambled(np.arange(first, first + len(chunk.X), dtype=np.uint64))
        chosen = used & (draw <= self._threshold)
        self._kept.append((draw[chosen], _take(chunk, chosen)))
        self._thin()

    def merge(self, other: Summary) -> None:
        """Add the sum over later chunks."""
        if other.low is not None:
            self._extend(other.low, other.high)
        for name in ("n_points", "n_observations", "_weight_sum", "_value_sum"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._threshold = min(self._threshold, other._threshold)
        self._kept += other._kept
        self._thin()

    @property
    def mean(self) -> float:
        """Weighted mean of the values, 0 without values."""
        return self._value_sum / self._weight_sum if self._weight_sum > 0 else 0.0

    @property
    def n_sample(self) -> int:
        """Number of points in the sample."""
        return sum(len(draw) for draw, _ in self._kept)

    def sample(self, number: int) -> Observations:
        """Some of the points in pseudo-random order, whatever the chunks were: the first ``number`` of the sample."""
        if not hasattr(self, "_sample"):
            order = np.argsort(np.concatenate([draw for draw, _ in self._kept]), kind="stable")
            self._sample = _take(_joined([part for _, part in self._kept]), order)
        return _take(self._sample, slice(0, number))

    def _extend(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)

    def _thin(self) -> None:
        while self.n_sample > self._size:
            self._threshold //= np.uint64(2)
            self._kept = [
                (draw[draw <= self._threshold], _take(part, draw <= self._threshold)) for draw, part in self._kept
            ]


def weights_of(chunk: Observations) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the value (n,) and of the gradient's components (n, d): zero for what is not observed."""
    n, d = chunk.X.shape
    value, slope = np.zeros(n), np.zeros((n, d))
    if chunk.y is not None:
        value[:] = 1.0 if chunk.sample_weight is None else chunk.sample_weight
    if chunk.gradients is not None:
        slope[:] = 1.0 if chunk.gradient_weight is None else np.reshape(chunk.gradient_weight, (-1, 1))
        slope[np.isnan(chunk.gradients)] = 0.0
    return value, slope


def prepare(chunk: Observations, box: Box, mean: float, probes: np.ndarray | None = None) -> Chunk:
    """A chunk for the loops: points in cells, values without their mean, gradients by scaled coordinates.

    ``probes`` (n, columns, k) are numbers of unit variance; they become right-hand sides B' W^(1/2) probe.
    """
    weight, slope_weight = weights_of(chunk)
    columns, weights = [], []
    values_first = gradients_first = -1
    if chunk.y is not None:
        values_first = 0
        columns.append((np.where(weight > 0, chunk.y, mean) - mean)[:, None])
        weights.append(weight[:, None])
    if chunk.gradients is not None:
        gradients_first = len(columns)
        # a derivative by x / scale is scale times the derivative by x
        columns.append(np.nan_to_num(chunk.gradients) * box.scale)
        weights.append(slope_weight / box.scale**2)
    if not columns:
        raise ValueError("y and gradients are both missing: give at least one of them.")
    observations, weights = np.concatenate(columns, axis=1)[:, :, None], np.concatenate(weights, axis=1)
    if probes is not None:
        root = np.sqrt(weights)[:, :, None]
        observations = np.concatenate([observations, probes / np.where(root > 0, root, 1.0)], axis=2)
    return Chunk(np.ascontiguousarray(box.coordinates(chunk.X)), observations, weights, (values_first, gradients_first))


def scrambled(numbers: np.ndarray) -> np.ndarray:
    """A fixed pseudo-random 64-bit number for each integer (the finaliser of splitmix64)."""
    z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def is_chunk(item) -> bool:
    """Whether an item of a list is a chunk of observations, rather than a row of numbers."""
    if isinstance(item, tuple) and not isinstance(item, Observations):
        return len(item) > 0 and np.ndim(item[0]) == 2
    return isinstance(item, (Observations, dict, str)) or hasattr(item, "__fspath__")


def _as_observations(item) -> Observations:
    if isinstance(item, Observations):
        return item
    if isinstance(item, dict):
        return Observations(**item)
    if isinstance(item, str) or hasattr(item, "__fspath__"):
        with np.load(item, allow_pickle=False) as file:
            unknown = set(file.files) - set(Observations._fields)
            if unknown or "X" not in file.files:
                raise ValueError(
                    f"{item} must hold an array X and may hold {', '.join(Observations._fields[1:])}; it holds "
                    f"{', '.join(file.files)}."
                )
            return Observations(**{name: file[name] for name in file.files})
    return Observations(*item)


def _slices(arrays: Observations, chunk_points: int) -> Iterator[Observations]:
    n = len(arrays.X)
    for begin in range(0, max(n, 1), chunk_points):
        rows = slice(begin, begin + chunk_points)
        yield Observations(*(part if part is None or np.ndim(part) == 0 else part[rows] for part in arrays))


def checked(chunk: Observations, where: str = "") -> Observations:
    """Arrays of floats in matching shapes, finite; errors say where."""
    X = np.asarray(chunk.X, dtype=float)
    if X.ndim != 2 or not 1 <= X.shape[1] <= 4:
        raise ValueError(f"X{where} must have shape (n, d) with 1 <= d <= 4, got {X.shape}.")
    if chunk.y is None and chunk.gradients is None:
        raise ValueError(f"y and gradients{where} are both missing: give at least one of them.")
    parts = [X]
    shapes = {"y": (len(X),), "sample_weight": (len(X),), "gradients": X.shape, "gradient_weight": (len(X),)}
    for name, shape in shapes.items():
        part = getattr(chunk, name)
        if part is not None and np.ndim(part) > 0:
            part = np.asarray(part, dtype=float)
            if part.shape != shape:
                raise ValueError(f"{name}{where} must have shape {shape}, got {part.shape}.")
        elif part is not None and name in ("y", "gradients"):
            raise ValueError(f"{name}{where} must have shape {shape}, got a single number.")
        parts.append(part)
    result = Observations(*parts)
    if not np.isfinite(X).all():
        raise ValueError(
            f"X{where} has {np.count_nonzero(~np.isfinite(X).all(axis=1))} rows with NaN or infinity: remove them."
        )
    for name in ("sample_weight", "gradient_weight"):
        part = getattr(result, name)
        if part is not None and not (np.isfinite(part).all() and np.min(part, initial=0.0) >= 0.0):
            raise ValueError(f"{name}{where} must be finite and not negative.")
    weight, _ = weights_of(result)
    if result.y is not None and not np.isfinite(result.y[weight > 0]).all():
        raise ValueError(f"y{where} has NaN or infinity: remove these points or give them sample_weight 0.")
    if result.gradients is not None and np.isinf(result.gradients).any():
        raise ValueError(f"gradients{where} have infinite components: mark what is not observed by NaN.")
    return result


def _take(chunk: Observations, rows) -> Observations:
    return Observations(*(part if part is None or np.ndim(part) == 0 else part[rows] for part in chunk))


def _joined(chunks: list[Observations]) -> Observations:
    """One chunk; where only some have values or gradients, the others get none by weight 0 or NaN."""
    if len(chunks) == 1:
        return chunks[0]
    weights, _ = zip(*(weights_of(chunk) for chunk in chunks), strict=True)
    X = np.concatenate([chunk.X for chunk in chunks])
    values = [np.zeros(len(chunk.X)) if chunk.y is None else chunk.y for chunk in chunks]
    y = np.concatenate(values) if any(chunk.y is not None for chunk in chunks) else None
    if all(chunk.gradients is None for chunk in chunks):
        return Observations(X, y, np.concatenate(weights))
    slopes = [np.full(chunk.X.shape, np.nan) if chunk.gradients is None else chunk.gradients for chunk in chunks]
    slope_weights = [
        np.broadcast_to(1.0 if chunk.gradient_weight is None else chunk.gradient_weight, len(chunk.X))
        for chunk in chunks
    ]
    sample_weight = None if y is None else np.concatenate(weights)
    return Observations(X, y, sample_weight, np.concatenate(slopes), np.concatenate(slope_weights))
