"""Where observations come from: arrays, memory-mapped arrays, or anything that can be read again chunk by chunk.

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

CHUNK_POINTS = 2**20
_ONE_AT_A_TIME = threading.Lock()  # the compiled loops are parallel themselves


class Observations(NamedTuple):
    """A chunk of observations in the user's units; what is not observed is None.

    Attributes
    ----------
    X, y : arrays (n, d) and (n,), points and values; (n, k) values for k outputs
    sample_weight : array (n,), float or None
        Weight of each value, one over its noise variance; None is 1.
    gradients, gradient_weight : array (n, d), or (n, k, d)
        With NaN for components that are not observed, and their weights (n,).
    features : array (n, p)
        What is free beside the field: made by a source that has features, not given.

    See Also
    --------
    Source
    """

    X: np.ndarray
    y: np.ndarray | None = None
    sample_weight: np.ndarray | float | None = None
    gradients: np.ndarray | None = None
    gradient_weight: np.ndarray | float | None = None
    features: np.ndarray | None = None


_GIVEN = Observations._fields[:-1]
_Split = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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
    _units: np.ndarray | None = None  # of the outputs
    _split: _Split | None = None  # X into coordinates and features

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

    @property
    def width(self) -> int:
        """Number of columns of X, by the first chunk as it is given."""
        return np.shape(next(iter(self._read())).X)[1]

    def with_functionals(self, functionals: ObservedFunctionals | None) -> Source:
        """The same observations, and linear functionals beside them."""
        source = copy(self)
        source.functionals = functionals
        return source

    def with_features(self, split: _Split) -> Source:
        """The same observations, of which X is taken apart into coordinates (n, d) and features (n, p)."""
        source = copy(self)
        source._split = split
        return source

    def mapped(self, change: Callable[[Observations], Observations]) -> Source:
        """The observations, changed chunk by chunk; functionals as they are."""
        source = Source(partial(_changed, self, change), self.functionals)
        source.in_memory = self.in_memory
        return source

    def in_units(self, units: np.ndarray) -> Source:
        """The same observations, with the outputs divided by their units (k,)."""
        source = copy(self)
        source._units = units if self._units is None else self._units * units
        if self.functionals is not None:
            source.functionals = self.functionals._replace(targets=self.functionals.targets / units)
        return source

    def __iter__(self) -> Iterator[Observations]:
        for number, chunk in enumerate(self._read()):
            yield checked(chunk, f" of chunk {number}" if number else "", self._units, self._split)

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
            yield checked(
                Observations(*dask.compute(*parts, **scheduler())), f" of chunk {number}", self._units, self._split
            )

    def _sum_of_chunks(self, make: Callable[[], Any]) -> Any:
        """Partial sums on the workers, merged in pairs in a fixed order."""
        dask = require("dask", "distributed")
        partial = dask.delayed(_partial, pure=False)
        shared = dask.delayed(make)
        sums = [
            partial(shared, int(first), number, self._units, self._split, *parts)
            for number, (first, *parts) in enumerate(zip(self._first[:-1], *self._parts, strict=True))
        ]
        return dask.compute(merged_in_pairs(sums), **scheduler())[0]


def _partial(
    make: Callable[[], Any], first: int, number: int, units: np.ndarray | None, split: _Split | None, *parts: Any
) -> Any:
    with _ONE_AT_A_TIME:
        total = make()
        total.add(checked(Observations(*parts), f" of chunk {number}", units, split), first)
        return total


def _merge(total: Any, other: Any) -> Any:
    with _ONE_AT_A_TIME:
        total.merge(other)
        return total


def merged_in_pairs(sums: list) -> Any:
    """One delayed accumulator of several, merged by the workers in a fixed order."""
    merge = require("dask", "distributed").delayed(_merge, pure=False)
    while len(sums) > 1:
        pairs = [merge(*sums[i : i + 2]) for i in range(0, len(sums) - 1, 2)]
        sums = pairs + sums[2 * len(pairs) :]
    return sums[0]


def scheduler() -> dict:
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
        slope[np.isnan(chunk.gradients.reshape(n, -1, d)).any(axis=1)] = 0.0
    return value, slope


def outputs_of(chunk: Observations) -> tuple[int, ...]:
    """The axis of the outputs: (), or (k,)."""
    if chunk.y is not None:
        return np.shape(chunk.y)[1:2]
    return () if chunk.gradients is None else np.shape(chunk.gradients)[1:-1][:1]


def prepare(chunk: Observations, box: GridBox, mean: float | np.ndarray, probes: np.ndarray | None = None) -> Chunk:
    """A chunk for the loops: points in cells, values without their mean, gradients by scaled coordinates.

    Outputs share points and weights, as right-hand sides do. ``probes`` (n, columns, m) are numbers of unit variance;
    they become further right-hand sides B' W^(1/2) probe.
    """
    weight, slope_weight = weights_of(chunk)
    columns: list[np.ndarray] = []
    column_weights: list[np.ndarray] = []
    values_first = gradients_first = -1
    n, d = chunk.X.shape
    if chunk.y is not None:
        values_first = 0
        columns.append((np.where(weight[:, None] > 0, chunk.y.reshape(n, -1), mean) - mean)[:, None])
        column_weights.append(weight[:, None])
    if chunk.gradients is not None:
        gradients_first = len(columns)
        scale = box.upright_scale
        # a derivative by x / scale is scale times the derivative by x
        slopes = np.moveaxis(np.nan_to_num(chunk.gradients.reshape(n, -1, d)), 1, 2)
        columns.append(slopes * np.broadcast_to(scale, (d,))[:, None])
        column_weights.append(slope_weight / scale**2)
    if not columns:
        raise ValueError("y and gradients are both missing: give at least one of them.")
    observations, weights = np.concatenate(columns, axis=1), np.concatenate(column_weights, axis=1)
    if probes is not None:
        root = np.sqrt(weights)[:, :, None]
        observations = np.concatenate([observations, probes / np.where(root > 0, root, 1.0)], axis=2)
    points = np.ascontiguousarray(box.coordinates(chunk.X))
    return Chunk(points, np.ascontiguousarray(observations), weights, (values_first, gradients_first))


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


def _changed(source: Source, change: Callable[[Observations], Observations]) -> Iterator[Observations]:
    return map(change, source)


def _parts(arrays: Observations, points: int) -> Iterator[Observations]:
    """At most so many points at a time."""
    return (take(arrays, slice(begin, begin + points)) for begin in range(0, max(len(arrays.X), 1), points))


def _as_observations(item: Any) -> Observations:
    if isinstance(item, Observations):
        return item
    if isinstance(item, dict):
        unknown = set(item) - set(_GIVEN)
        if unknown or "X" not in item:
            raise ValueError(
                f"a chunk must have X and may have {', '.join(_GIVEN[1:])}; it has {', '.join(map(str, item))}."
            )
        return Observations(**item)
    if isinstance(item, str) or hasattr(item, "__fspath__"):
        with np.load(item, allow_pickle=False) as file:
            unknown = set(file.files) - set(_GIVEN)
            if unknown or "X" not in file.files:
                raise ValueError(
                    f"{item} must hold an array X and may hold {', '.join(_GIVEN[1:])}; it holds "
                    f"{', '.join(file.files)}."
                )
            return Observations(**{name: file[name] for name in file.files})
    return Observations(*item)


def checked(
    chunk: Observations, where: str = "", units: np.ndarray | None = None, split: _Split | None = None
) -> Observations:
    """Arrays of floats in matching shapes, finite, with outputs in their units; errors say where."""
    X = np.asarray(chunk.X, dtype=float)
    if split is not None and X.ndim == 2:
        _require_finite(X, where)
        X, features = split(X)
        chunk = chunk._replace(features=features)
    if X.ndim != 2 or not 1 <= X.shape[1] <= 4:
        raise ValueError(f"X{where} must have shape (n, d) with 1 <= d <= 4, got {X.shape}.")
    if chunk.y is None and chunk.gradients is None:
        raise ValueError(f"y and gradients{where} are both missing: give at least one of them.")
    parts = [X]
    several, alone = outputs_of(chunk), (len(X),)
    shapes = {"y": alone + several, "sample_weight": alone, "gradient_weight": alone}
    shapes["gradients"] = alone + several + X.shape[1:]
    for name in _GIVEN[1:]:
        part, shape = getattr(chunk, name), shapes[name]
        if part is not None and np.ndim(part) > 0:
            part = np.asarray(part, dtype=float)
            if part.shape != shape:
                raise ValueError(f"{name}{where} must have shape {shape}, got {part.shape}.")
        elif part is not None and name in ("y", "gradients"):
            raise ValueError(f"{name}{where} must have shape {shape}, got a single number.")
        parts.append(part)
    result = Observations(*parts)._replace(features=chunk.features)
    _require_finite(X, where)
    for name in ("sample_weight", "gradient_weight"):
        part = getattr(result, name)
        if part is not None and not (np.isfinite(part).all() and np.min(part, initial=0.0) >= 0.0):
            raise ValueError(f"{name}{where} must be finite and not negative.")
    weight, _ = weights_of(result)
    if result.y is not None and not np.isfinite(result.y[weight > 0]).all():
        raise ValueError(f"y{where} has NaN or infinity: remove these points or give them sample_weight 0.")
    if result.gradients is not None and np.isinf(result.gradients).any():
        raise ValueError(f"gradients{where} have infinite components: mark what is not observed by NaN.")
    if result.gradients is not None and several:
        missing = np.isnan(result.gradients)
        if (missing.any(axis=1) != missing.all(axis=1)).any():
            raise ValueError(f"gradients{where} must be observed (or NaN) for all outputs of a point alike.")
    return result if units is None or not several else _divided(result, units)


def _require_finite(X: np.ndarray, where: str) -> None:
    if not np.isfinite(X).all():
        count = np.count_nonzero(~np.isfinite(X).all(axis=1))
        raise ValueError(f"X{where} has {count} rows with NaN or infinity: remove them.")


def _divided(chunk: Observations, units: np.ndarray) -> Observations:
    y = None if chunk.y is None else chunk.y / units
    return chunk._replace(y=y, gradients=None if chunk.gradients is None else chunk.gradients / units[:, None])


def values_of(chunk: Observations) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Points, their values and weights: those of positive weight, if any."""
    weight, _ = weights_of(chunk)
    used = weight > 0
    if chunk.y is None or not used.any():
        return None
    return chunk.X[used], chunk.y[used], weight[used]


def block_numbers(X: np.ndarray, across: int) -> np.ndarray:
    """Pseudo-random numbers (n,) of the cubes that points lie in, so many along the longest side."""
    low, longest = X.min(axis=0), float(np.ptp(X, axis=0).max())
    places = ((X - low) / longest * across).astype(np.uint64)
    return scrambled(places @ (np.uint64(across + 1) ** np.arange(X.shape[1], dtype=np.uint64)))


def take(chunk: Observations, rows: Any) -> Observations:
    """Some of the observations."""
    parts: list[Any] = [part if part is None or np.ndim(part) == 0 else part[rows] for part in chunk]  # type: ignore[index]  # numbers are not indexed
    return Observations(*parts)


def require_outputs(chunk: Observations, outputs: tuple[int, ...]) -> None:
    """Raise an error if a chunk has other outputs."""
    if outputs_of(chunk) != outputs:
        one, other = (str(shape[0]) if shape else "no" for shape in (outputs, outputs_of(chunk)))
        raise ValueError(f"y must have as many columns in every chunk, got {one} in one and {other} in another.")


def joined(chunks: list[Observations]) -> Observations:
    """One chunk; where only some have values or gradients, the others get none by weight 0 or NaN."""
    if len(chunks) == 1:
        return chunks[0]
    weights, _ = zip(*(weights_of(chunk) for chunk in chunks), strict=True)
    X, outputs = np.concatenate([chunk.X for chunk in chunks]), outputs_of(chunks[0])
    for chunk in chunks:
        require_outputs(chunk, outputs)
    values = [np.zeros((len(chunk.X), *outputs)) if chunk.y is None else chunk.y for chunk in chunks]
    y = np.concatenate(values) if any(chunk.y is not None for chunk in chunks) else None
    rows = [chunk.features for chunk in chunks if chunk.features is not None]
    features = np.concatenate(rows) if rows else None
    if all(chunk.gradients is None for chunk in chunks):
        return Observations(X, y, np.concatenate(weights), features=features)
    slopes = [
        np.full((len(chunk.X), *outputs, X.shape[1]), np.nan) if chunk.gradients is None else chunk.gradients
        for chunk in chunks
    ]
    given = (1.0 if chunk.gradient_weight is None else chunk.gradient_weight for chunk in chunks)
    slope_weights = [np.broadcast_to(weight, len(chunk.X)) for weight, chunk in zip(given, chunks, strict=True)]
    sample_weight = None if y is None else np.concatenate(weights)
    return Observations(X, y, sample_weight, np.concatenate(slopes), np.concatenate(slope_weights), features)
