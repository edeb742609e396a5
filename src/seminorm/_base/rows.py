"""Equal rows of arrays, by hash values."""

from collections.abc import Iterable

import numpy as np

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def row_keys(columns: Iterable[np.ndarray]) -> np.ndarray:
    """A 64-bit key for each row of a table, given by its columns: equal rows have equal keys, others hardly ever."""
    key: np.ndarray | np.uint64 = np.uint64(0)
    for column in columns:
        key = (key ^ _bits(column)) * _FACTOR
        key ^= key >> np.uint64(29)
    return np.asarray(key)


def equal_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows of an array (n, k): the first row of each group, increasing, and the group of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm._base.rows import equal_rows
    >>> equal_rows(np.array([[0.0], [1.0], [-0.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    bits, key = _bits(values), row_keys(values.T) if values.size else np.zeros(len(values), dtype=np.uint64)
    order = np.argsort(key, kind="stable")
    differs = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    if (differs & (key[order[1:]] == key[order[:-1]])).any():  # two rows share a key by chance: compare them in full
        order = np.lexsort(bits.T)
        differs = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    group_sorted = np.concatenate([[0], np.cumsum(differs)]) if len(bits) else np.zeros(0, dtype=np.int64)
    first = order[np.concatenate([[True], differs])] if len(bits) else np.zeros(0, dtype=np.intp)
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty(len(first), dtype=np.int64)
    rank[by_appearance] = np.arange(len(first))
    group = np.empty(len(bits), dtype=np.int64)
    group[order] = rank[group_sorted]
    return first[by_appearance], group


def _bits(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0)  # -0.0 becomes 0.0
    return bits.view(f"u{bits.dtype.itemsize}").astype(np.uint64)
