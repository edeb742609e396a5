"""Observations in Dask arrays: partial sums on the workers of the current client, or one by one without a client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np

from .._extras import require
from .sources import Accumulator, Observations, Source, checked

_ONE_AT_A_TIME = threading.Lock()  # the compiled loops are parallel themselves


class DaskSource(Source):
    """A source whose arrays are Dask arrays, cut along the points.

    Parameters
    ----------
    arrays : Observations
        Of Dask arrays; numbers and None stay as they are.
    """

    def __init__(self, arrays: Observations):
        dask_array = require("dask.array", "distributed")
        rows = arrays.X.rechunk({1: -1}).chunks[0]
        if any(np.isnan(size) for size in rows):
            raise ValueError("X has chunks of unknown size: call X.compute_chunk_sizes() first.")
        self._first = np.concatenate([[0], np.cumsum(rows)])
        self._parts = []
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

    def accumulate(self, make: Callable[[], Accumulator]):
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


def _partial(make, first: int, number: int, *parts):
    with _ONE_AT_A_TIME:
        total = make()
        total.add(checked(Observations(*parts), f" of chunk {number}"), first)
        return total


def _merge(total, other):
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
