"""Compiled loops over bytes of files, where each step depends on the one before."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def walk_rows(data, start, count_size, item_size, little, offsets, counts):
    """Find the entries of rows that hold lists.

    ``count_size[p]`` is the number of bytes of a list's length, 0 for single numbers; ``item_size[p]`` that of its
    entries. Fills ``offsets`` and ``counts`` (rows, entries) and returns how many rows are complete and where they end.
    """
    position = start
    for row in range(offsets.shape[0]):
        here = position
        for p in range(offsets.shape[1]):
            count: Any = 1
            if count_size[p] > 0:
                if here + count_size[p] > data.size:
                    return row, position
                count = 0
                for k in range(count_size[p]):
                    byte = data[here + (count_size[p] - 1 - k if little else k)]
                    count = count * 256 + np.int64(byte)
                here += count_size[p]
            offsets[row, p] = here
            counts[row, p] = count
            here += count * item_size[p]
            if here > data.size:
                return row, position
        position = here
    return offsets.shape[0], position


@njit(cache=True)
def decompress_lzf(packed, unpacked):
    """Fill ``unpacked`` from the LZF stream ``packed``. Returns the number of bytes written, -1 for damage."""
    i: Any = 0
    o: Any = 0
    while i < packed.size:
        control = np.int64(packed[i])
        i += 1
        if control < 32:  # control + 1 bytes as they are
            length = control + 1
            if i + length > packed.size or o + length > unpacked.size:
                return -1
            for k in range(length):
                unpacked[o + k] = packed[i + k]
            i += length
        else:  # a repetition of what was written before
            length = control >> 5
            if length == 7:
                if i >= packed.size:
                    return -1
                length += np.int64(packed[i])
                i += 1
            if i >= packed.size:
                return -1
            source = o - ((control & 31) << 8) - np.int64(packed[i]) - 1
            i += 1
            length += 2
            if source < 0 or o + length > unpacked.size:
                return -1
            for k in range(length):
                unpacked[o + k] = unpacked[source + k]
        o += length
    return o
