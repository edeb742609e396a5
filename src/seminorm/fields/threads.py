"""Threads for the compiled loops: none where starting them takes longer than the work; and sums that do not depend on
their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba import get_num_threads, set_num_threads

from . import _numba as loops

_WORTH = 40_000


@contextmanager
def threads_for(work: int) -> Iterator[None]:
    """One thread for loops over fewer than some ten thousand numbers, else what Numba is set to."""
    before = get_num_threads()
    if work >= _WORTH or before == 1:
        yield
        return
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(before)


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Dot product, summed in the same order for any number of threads."""
    x, y = x.reshape(-1), y.reshape(-1)
    partial = np.empty(-(-x.size // loops.LANES))
    with threads_for(x.size):
        loops.partial_dots(x, y, partial)
    return float(sum(partial.tolist()))
