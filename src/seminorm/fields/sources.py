"""Where observations come from: arrays, memory-mapped arrays, or anything that can be read again chunk by chunk; and
what is known of them after they were read once.

A source is read several times: for its extent and a sample, then once for each level that needs all of the data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from .._base.extras import require
from ..bases.box import GridBox
from ..functions.functionals import ObservedFunctionals
from .functional_rows import of_constant

CHUNK_POINTS = 2**20
_ONE_AT_A_TIME = threading.Lock()  # the compiled loops are parallel themselves


class Observations(NamedTuple):
    """A chunk of observations in the user's units; what is not observed is None.

    Attributes
    ----------
    X, y : arrays (n, d) and (n,), points and values
    sample_weight : array (n,), float or None
        Weight of each value, one over its noise variance; None is 1.
    gradients, gradient_weight : array (n, d)
        With NaN for components that are not observed, and their weights (n,).

    See Also
    --------
    Source
    """

    X: np.ndarray
    y: np.ndarray | None = None
    sample_weight: np.ndarray | float | None = None
    gradients: np.ndarray | None = None
    gradient_weight: np.ndarray | float | None = None


class Chunk(NamedTuple):
    """Observations ready for the compiled loops."""

    points: np.ndarray  # (n, d), in cells of the coarsest level
    observations: np.ndarray  # (n, columns, sides): a last axis for right-hand sides that share points and weights
    weights: np.ndarray  # (n, columns), zero for what is not observed
    first: tuple[int, int]  # columns of the value and of the gradient's first component, -1 for none


class Accumulator(Protocol):
    """A sum over observations, added chunk by chunk (each with the number of its first one), merged, and closed."""

    def add(self, chunk: Observations, first: int) -> None: ...
    def merge(self, other: Any) -> None: ...
    def add_functionals(self, observed: ObservedFunctionals) -> None: ...


_Sum = TypeVar("_Sum", bound=Accumulator)


class Source:
    """Observations that can be read again and again.

    Parameters
    ----------
    read : callable
        Returns an iterator over :class:`Observations`, the same ones each time it is called.
    functionals : ObservedFunctionals, optional
        Further linear functionals; they are not in chunks.

    See Also
    --------
    Observations

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Source
    >>> [len(chunk.X) for chunk in Source.of(np.zeros((5, 2)), np.ones(5), chunk_points=2)]
    [2, 2, 1]
    """

    in_memory = False  # whether it can be copied to another process

    def __init__(self, read: Callable[[], Iterable[Observations]], functionals: ObservedFunctionals | None = None):
        self._read, self.functionals = read, functionals

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        gradients: Any = None,
        gradient_weight: Any = None,
        *,
        chunk_points: int = CHUNK_POINTS,
    ) -> Source:
        """A source from arrays, a callable that returns an iterator of chunks, a list of chunks or files, or Dask
        arrays.

        A chunk is an :class:`Observations`, a tuple in its order, a dict with its names, or the path of an npz file
        with these names. Arrays may be memory-mapped: they are read one chunk at a time.
        """
        if isinstance(X, Source):
            return X
        if callable(X):
            return cls(partial(_read_again, X))
        if isinstance(X, (list, tuple)) and len(X) and is_chunk(X[0]):
            return cls(partial(map, _as_observations, X))._copyable()
        arrays = Observations(X, y, sample_weight, gradients, gradient_weight)
        if hasattr(X, "dask"):
            return DaskSource(arrays)
        return cls(partial(_parts, arrays, chunk_points))._copyable()

    def _copyable(self) -> Source:
        self.in_memory = True
        return self

    def with_functionals(self, functionals: ObservedFunctionals | None) -> Source:
        """The same observations, and linear functionals beside them."""
        source = copy(self)
        source.functionals = functionals
        return source

    def __iter__(self) -> Iterator[Observations]:
        for number, chunk in enumerate(self._read()):
            yield checked(chunk, f" of chunk {number}" if number else "")

    def accumulate(self, make: Callable[[], _Sum]) -> _Sum:
        """The accumulator ``make()`` after all chunks, and then the functionals, were added to it."""
        total = self._sum_of_chunks(make)
        if self.functionals is not None:
            total.add_functionals(self.functionals)
        return total

    def _sum_of_chunks(self, make: Callable[[], _Sum]) -> _Sum:
        total, first = make(), 0
        for chunk in _larger(self):
            total.add(chunk, first)
            first += len(chunk.X)
        return total


def _larger(chunks: Iterable[Observations]) -> Iterator[Observations]:
    """Small chunks joined: the more points there are at a time, the more of them share a cell."""
    waiting: list[Observations] = []
    for chunk in chunks:
        if waiting and sum(len(part.X) for part in waiting) + len(chunk.X) > CHUNK_POINTS:
            yield joined(waiting)
            waiting = []
        waiting.append(chunk)
    if waiting:
        yield joined(waiting)


class DaskSource(Source):
    """A source whose arrays are Dask arrays, cut along the points; numbers and None stay as they are."""

    def __init__(self, arrays: Observations):
        super().__init__(self.__iter__)
        dask_array = require("dask.array", "distributed")
        rows = dask_array.asarray(arrays.X).rechunk({1: -1}).chunks[0]
        if any(np.isnan(size) for size in rows):
            raise ValueError("X has chunks of unknown size: call X.compute_chunk_sizes() first.")
        self._first = np.concatenate([[0], np.cumsum(rows)])
        self._parts: list[list] = []
        for part in arrays:
            if part is None or np.ndim(part) == 0:
                self._parts.append([part] * len(rows))
            else:
                part = dask_array.asarray(part).rechunk((rows,) + (-1,) * (np.ndim(part) - 1))
                self._parts.append(list(part.to_delayed().reshape(-1)))

    def __iter__(self) -> Iterator[Observations]:
        dask = require("dask", "distributed")
        for number, parts in enumerate(zip(*self._parts, strict=True)):
            yield checked(Observations(*dask.compute(*parts, **_scheduler())), f" of chunk {number}")

    def _sum_of_chunks(self, make: Callable[[], Any]) -> Any:
        """Partial sums on the workers, merged in pairs in a fixed order."""
        dask = require("dask", "distributed")
        partial, merge = dask.delayed(_partial, pure=False), dask.delayed(_merge, pure=False)
        shared = dask.delayed(make)
        sums = [
            partial(shared, int(first), number, *parts)
            for number, (first, *parts) in enumerate(zip(self._first[:-1], *self._parts, strict=True))
        ]
        while len(sums) > 1:
            pairs = [merge(*sums[i : i + 2]) for i in range(0, len(sums) - 1, 2)]
            sums = pairs + sums[2 * len(pairs) :]
        return dask.compute(sums[0], **_scheduler())[0]


def _partial(make: Callable[[], Any], first: int, number: int, *parts: Any) -> Any:
    with _ONE_AT_A_TIME:
        total = make()
        total.add(checked(Observations(*parts), f" of chunk {number}"), first)
        return total


def _merge(total: Any, other: Any) -> Any:
    with _ONE_AT_A_TIME:
        total.merge(other)
        return total


def _scheduler() -> dict:
    """The current client, if there is one; otherwise this thread, since the loops use all cores by themselves."""
    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return {"scheduler": "synchronous"}
    return {}


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


def prepare(chunk: Observations, box: GridBox, mean: float, probes: np.ndarray | None = None) -> Chunk:
    """A chunk for the loops: points in cells, values without their mean, gradients by scaled coordinates.

    ``probes`` (n, columns, k) are numbers of unit variance; they become right-hand sides B' W^(1/2) probe.
    """
    weight, slope_weight = weights_of(chunk)
    columns: list[np.ndarray] = []
    column_weights: list[np.ndarray] = []
    values_first = gradients_first = -1
    if chunk.y is not None:
        values_first = 0
        columns.append((np.where(weight > 0, chunk.y, mean) - mean)[:, None])
        column_weights.append(weight[:, None])
    if chunk.gradients is not None:
        gradients_first = len(columns)
        # a derivative by x / scale is scale times the derivative by x
        columns.append(np.nan_to_num(chunk.gradients) * box.scale)
        column_weights.append(slope_weight / box.scale**2)
    if not columns:
        raise ValueError("y and gradients are both missing: give at least one of them.")
    observations, weights = np.concatenate(columns, axis=1)[:, :, None], np.concatenate(column_weights, axis=1)
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


def is_chunk(item: Any) -> bool:
    """Whether an item of a list is a chunk of observations, rather than a row of numbers."""
    if isinstance(item, tuple) and not isinstance(item, Observations):
        return len(item) > 0 and np.ndim(item[0]) == 2
    return isinstance(item, (Observations, dict, str)) or hasattr(item, "__fspath__")


def _read_again(read: Callable[[], Iterable[Any]]) -> Iterator[Observations]:
    return map(_as_observations, read())


def _parts(arrays: Observations, points: int) -> Iterator[Observations]:
    """At most so many points at a time."""
    return (take(arrays, slice(begin, begin + points)) for begin in range(0, max(len(arrays.X), 1), points))


def _as_observations(item: Any) -> Observations:
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
        count = np.count_nonzero(~np.isfinite(X).all(axis=1))
        raise ValueError(f"X{where} has {count} rows with NaN or infinity: remove them.")
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


def values_of(chunk: Observations, scale: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Points in coordinates divided by the scale, their values and weights: those of positive weight, if any."""
    weight, _ = weights_of(chunk)
    used = weight > 0
    if chunk.y is None or not used.any():
        return None
    return chunk.X[used] / scale, chunk.y[used], weight[used]


def block_numbers(X: np.ndarray, across: int) -> np.ndarray:
    """Pseudo-random numbers (n,) of the cubes that points lie in, so many along the longest side."""
    low, longest = X.min(axis=0), float(np.ptp(X, axis=0).max())
    places = ((X - low) / longest * across).astype(np.uint64)
    return scrambled(places @ (np.uint64(across + 1) ** np.arange(X.shape[1], dtype=np.uint64)))


def take(chunk: Observations, rows: Any) -> Observations:
    """Some of the observations."""
    parts: list[Any] = [part if part is None or np.ndim(part) == 0 else part[rows] for part in chunk]  # type: ignore[index]  # numbers are not indexed
    return Observations(*parts)


def joined(chunks: list[Observations]) -> Observations:
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
    given = (1.0 if chunk.gradient_weight is None else chunk.gradient_weight for chunk in chunks)
    slope_weights = [np.broadcast_to(weight, len(chunk.X)) for weight, chunk in zip(given, chunks, strict=True)]
    sample_weight = None if y is None else np.concatenate(weights)
    return Observations(X, y, sample_weight, np.concatenate(slopes), np.concatenate(slope_weights))


class Summary:
    """Extent ``low`` to ``high``, mean, sum of squares and a sample of observations with weight, number of all; an
    accumulator.
    """

    def __init__(self, sample_size: int):
        self.low: np.ndarray | None = None
        self.high: np.ndarray | None = None
        self.n_points = 0
        self.functionals: ObservedFunctionals | None = None
        self._weight_sum = self._value_sum = self.square_sum = 0.0
        self._kept: list[tuple[np.ndarray, Observations]] = []
        self._size, self._threshold = sample_size, np.uint64(2**64 - 1)

    def add(self, chunk: Observations, first: int) -> None:
        self.n_points += len(chunk.X)
        weight, slope_weight = weights_of(chunk)
        used = (weight > 0) | (slope_weight > 0).any(axis=1)
        if not used.any():
            return
        X = chunk.X if used.all() else chunk.X[used]
        self._extend(X.min(axis=0), X.max(axis=0))
        if chunk.y is not None:
            self._weight_sum += float(weight.sum())
            values = np.where(weight > 0, chunk.y, 0.0)
            with np.errstate(over="ignore"):
                self._value_sum += float((weight * values).sum())
                self.square_sum += float((weight * values**2).sum())
        draw = scrambled(np.arange(first, first + len(chunk.X), dtype=np.uint64))
        chosen = used & (draw <= self._threshold)
        self._kept.append((draw[chosen], take(chunk, chosen)))
        self._thin()

    def merge(self, other: Summary) -> None:
        if other.low is not None and other.high is not None:
            self._extend(other.low, other.high)
        for name in ("n_points", "_weight_sum", "_value_sum", "square_sum"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._threshold = min(self._threshold, other._threshold)
        self._kept += other._kept
        self._thin()

    def add_functionals(self, observed: ObservedFunctionals) -> None:
        """Add functionals, after all chunks: to the extent, and to the mean, which is the constant nearest to all."""
        if self.low is not None and len(self.low) != observed.functional.dimension:
            d = observed.functional.dimension
            raise ValueError(f"functionals: points must have {len(self.low)} coordinates as X has, got {d}.")
        self.functionals = observed
        self.n_points += observed.functional.size
        points, ones = observed.functional.points, of_constant(observed.functional)
        self._extend(points.min(axis=0), points.max(axis=0))
        self._weight_sum += float((observed.weights * ones**2).sum())
        self._value_sum += float((observed.weights * ones * observed.targets[:, 0]).sum())

    @property
    def bounds(self) -> np.ndarray:
        """Extent of the points with weight (2, d)."""
        return np.array([self.low, self.high])

    @property
    def mean(self) -> float:
        """Weighted mean of the values, 0 without values."""
        return self._value_sum / self._weight_sum if self._weight_sum > 0 else 0.0

    @property
    def n_functionals(self) -> int:
        """Number of functionals."""
        return 0 if self.functionals is None else self.functionals.functional.size

    @property
    def n_sample(self) -> int:
        """Number of points in the sample."""
        return sum(len(draw) for draw, _ in self._kept)

    def sample(self, number: int) -> Observations:
        """Some of the points in pseudo-random order, whatever the chunks were: the first ``number`` of the sample."""
        if not hasattr(self, "_sample"):
            order = np.argsort(np.concatenate([draw for draw, _ in self._kept]), kind="stable")
            self._sample = take(joined([part for _, part in self._kept]), order)
        return take(self._sample, slice(0, number))

    def source(self, number: int) -> Source:
        """The sample, its first ``number`` points, and all functionals."""
        sample = self.sample(number)
        return Source(lambda: [sample], self.functionals)

    def split(self, share: float) -> tuple[Source, Source]:
        """The sample and the functionals in two parts, for training and for testing, of the given share."""
        training, test = [], []
        if self.n_sample:
            sample = self.sample(self.n_sample)
            held = max(1, int(share * self.n_sample))
            training.append(take(sample, slice(held, None)))
            test.append(take(sample, slice(0, held)))
        parts: list[ObservedFunctionals | None] = [None, None]
        if self.functionals is not None:
            functional, targets, weights = self.functionals
            held = int(share * functional.size)
            if not held and not test:
                raise ValueError(
                    f'criterion="holdout" needs at least {int(np.ceil(1 / share))} functionals, got '
                    f"{functional.size}: give alpha a number."
                )
            order = np.argsort(scrambled(np.arange(functional.size)), kind="stable")
            for k, rows in enumerate((order[held:], order[:held])):
                if len(rows):
                    parts[k] = ObservedFunctionals(functional[rows], targets[rows], weights[rows])
        return Source(lambda: training, parts[0]), Source(lambda: test, parts[1])

    def _extend(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low = np.array(low if self.low is None else np.minimum(self.low, low))
        self.high = np.array(high if self.high is None else np.maximum(self.high, high))

    def _thin(self) -> None:
        while self.n_sample > self._size:
            self._threshold //= np.uint64(2)
            below = ((draw <= self._threshold, draw, part) for draw, part in self._kept)
            self._kept = [(draw[kept], take(part, kept)) for kept, draw, part in below]
