"""Tables whose rows stay where they are: memory-mapped arrays, and Dask arrays whose sums are made by their workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._base.extras import require
from ..fields.sources import merged_in_pairs, scheduler
from ..kernels import Kernel
from ..solvers.margin.features import Block, FeatureRows

_SAMPLE = 20_000
_AT_ONCE = 2**16


class RowTable:
    """A memory-mapped array (n, d), read row by row as numbers of 64 bits."""

    rows_type = FeatureRows
    dtype = np.dtype(float)

    def __init__(self, X: Any):
        self.X, self.shape = X, tuple(X.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return check_array(self._read(np.asarray(rows)), dtype=np.float64, input_name="X", ensure_min_samples=0)

    def _read(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.X[rows])

    @cached_property
    def sample_rows(self) -> np.ndarray:
        """Those of the sample, increasing."""
        return np.sort(np.random.default_rng(0).permutation(len(self))[:_SAMPLE])

    @cached_property
    def sample(self) -> np.ndarray:
        """Some of the rows, in memory: what settles scales and the like."""
        return self[self.sample_rows]

    def mapped(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A function (k, d) -> (k, p) of all rows."""
        starts = range(0, len(self), _AT_ONCE)
        return np.concatenate([function(self[np.arange(s, min(s + _AT_ONCE, len(self)))]) for s in starts])

    def values_at(self, kernel: Kernel, basis: np.ndarray) -> Any:
        """Rows of kernel values at some of the rows, computed when asked for."""
        centers = self[basis]
        return lambda rows: kernel(self[rows], centers)


class DaskTable(RowTable):
    """A Dask array (n, d), cut along the rows."""

    def __init__(self, X: Any):
        dask_array = require("dask.array", "distributed")
        refuse_unknown(X, "X")
        super().__init__(dask_array.asarray(X).rechunk({1: -1}))
        self.rows_type = DaskRows
        self.parts = list(self.X.to_delayed().reshape(-1))
        self.first = np.concatenate([[0], np.cumsum(self.X.chunks[0])])

    def _read(self, rows: np.ndarray) -> np.ndarray:
        order = np.argsort(rows, kind="stable")
        found = np.empty((len(rows), self.shape[1]))
        found[order] = self.X[rows[order]].compute(**scheduler())
        return found

    def mapped(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        dask = require("dask", "distributed")
        checked = dask.delayed(_checked, pure=False)
        return np.concatenate(dask.compute(*[checked(function, part) for part in self.parts], **scheduler()))

    def values_at(self, kernel: Kernel, basis: np.ndarray) -> Any:
        return DaskKernelRows(self, kernel, self[basis])


class DaskKernelRows:
    """Kernel values at centers, of a table whose workers compute them."""

    def __init__(self, table: DaskTable, kernel: Kernel, centers: np.ndarray):
        self.table, self.kernel, self.centers = table, kernel, centers

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.kernel(self.table[rows], self.centers)


class DaskRows(FeatureRows):
    """Sums over rows by the workers, merged in pairs in a fixed order."""

    _raw: DaskKernelRows

    def sweep(self, make, points=None, columns=(), into=None):
        dask = require("dask", "distributed")
        rows = np.arange(len(self)) if points is None else points
        places = rows if self._points is None else self._points[rows]
        order = np.argsort(places, kind="stable")
        if (np.diff(order) < 0).any():
            raise ValueError("points must increase: sums over Dask arrays go from chunk to chunk.")
        table, partial = self._raw.table, dask.delayed(_partial, pure=False)
        shared = dask.delayed((make, self._raw.kernel, self._raw.centers, self.map), pure=False)
        cuts, sums = np.searchsorted(places, table.first), []
        for part, start, first, end in zip(table.parts, table.first, cuts, cuts[1:], strict=False):
            if end > first:
                inside = places[first:end]
                numbers = [column[rows[first:end]] for column in columns]
                sums.append(partial(shared, part, inside - start, self._Q[inside], numbers))
        total = make() if into is None else into
        if sums:
            total.merge(dask.compute(merged_in_pairs(sums), **scheduler())[0])
        return total


def in_memory(X: Any) -> Any:
    """Some rows of a table that stays where it is; other points as they are."""
    return X.sample if isinstance(X, RowTable) else X


def table_for(X: Any, least: int) -> Any:
    """A table, for memory-mapped and Dask arrays of more than ``least`` rows; smaller ones in memory, others as they
    are."""
    refuse_unknown(X, "X")
    if hasattr(X, "dask") and hasattr(X, "to_delayed") and np.ndim(X) == 2 and not hasattr(X, "columns"):
        table: RowTable = DaskTable(X)
        return table if len(table) > least else table[np.arange(len(table))]
    return RowTable(X) if isinstance(X, np.memmap) and X.ndim == 2 and len(X) > least else X


def gathered(array: Any, name: str) -> Any:
    """A Dask array in memory, other numbers as they are."""
    refuse_unknown(array, name)
    return array.compute(**scheduler()) if hasattr(array, "dask") and hasattr(array, "compute") else array


def refuse_unknown(array: Any, name: str) -> None:
    """Raise an error for a Dask array of unknown size."""
    if hasattr(array, "dask") and any(np.isnan(size) for size in array.shape if isinstance(size, float)):
        raise ValueError(f"{name} has chunks of unknown size: call {name}.compute_chunk_sizes() first.")


def _checked(function: Callable[[np.ndarray], np.ndarray], chunk: np.ndarray) -> np.ndarray:
    return function(check_array(chunk, dtype=np.float64, input_name="X"))


def _partial(shared: tuple, chunk: np.ndarray, rows: np.ndarray, Q: np.ndarray, columns: list[np.ndarray]) -> Any:
    """The sum over rows of a chunk."""
    make, kernel, centers, map = shared
    total, step = make(), FeatureRows.block_rows(map)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        X = check_array(np.asarray(chunk)[rows[some]], dtype=np.float64, input_name="X")
        total.add(Block(map, kernel(X, centers), Q[some]), *(column[some] for column in columns))
    return total
