"""Loops over bytes of files: against plain Python, and what is refused."""

import numpy as np
import pytest

from seminorm import _native

PROPERTIES = [(1, 4), (0, 8), (2, 1), (4, 2), (8, 3), (0, 1)]  # bytes of a length, or 0, and of an entry


def list_rows(rng, n, properties, order):
    """Bytes of random rows after seven others, with the places and lengths of their entries."""
    data, offsets, counts = bytearray(b"header "), [], []
    for _ in range(n):
        for count_size, item_size in properties:
            count = int(rng.integers(0, 5)) if count_size else 1
            data += count.to_bytes(count_size, order) if count_size else b""
            offsets.append(len(data))
            counts.append(count)
            data += rng.bytes(count * item_size)
    return np.frombuffer(bytes(data), np.uint8), np.reshape(offsets, (n, -1)), np.reshape(counts, (n, -1))


def walk(data, n, properties, order, start=7):
    count_size, item_size = np.array(properties).T.copy()
    offsets, counts = np.full((2, n, len(properties)), -1)
    return *_native.walk_rows(data, start, count_size, item_size, order == "little", offsets, counts), offsets, counts


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("properties", [PROPERTIES, PROPERTIES[:1], [(0, 4), (0, 4)]])
def test_rows_with_lists(properties, order, rng):
    data, offsets, counts = list_rows(rng, 50, properties, order)
    complete, end, found, lengths = walk(data, 50, properties, order)
    assert (complete, end) == (50, len(data))
    np.testing.assert_array_equal(found, offsets)
    np.testing.assert_array_equal(lengths, counts)


@pytest.mark.parametrize("order", ["little", "big"])
def test_rows_that_are_cut_off(order, rng):
    data, offsets, _ = list_rows(rng, 6, PROPERTIES, order)
    ends = np.append(offsets[1:, 0] - 1, len(data))  # a row ends where the length of the next one's list begins
    for size in range(len(data)):
        complete, end, _, _ = walk(data[:size], 6, PROPERTIES, order)
        assert complete == np.searchsorted(ends, size, side="right")
        assert end == (ends[complete - 1] if complete else 7)


def test_damaged_lengths_do_not_lead_astray():
    for length in (b"\xff" * 8, b"\x00" * 7 + b"\x80", b"\xf0" + b"\xff" * 7):
        data = np.frombuffer(b"header " + length + b"12345678", np.uint8)
        for order in ("little", "big"):
            assert walk(data, 1, [(8, 4)], order)[:2] == (0, 7)
    assert walk(data, 1, [(0, 4)], "little", start=10**6)[:2] == (0, 10**6)


def unpack(packed, size):
    """LZF, byte by byte."""
    result, packed = bytearray(), iter(packed)
    for control in packed:
        if control < 32:
            result += bytes(next(packed) for _ in range(control + 1))
            continue
        length = control >> 5
        length += 2 + (next(packed) if length == 7 else 0)
        source = len(result) - (control % 32) * 256 - next(packed) - 1
        for k in range(length):
            result.append(result[source + k])
    assert len(result) == size
    return bytes(result)


def lzf_stream(rng, pieces=400):
    """A random stream and the size of what it holds: literals, repetitions near and far, short and long."""
    stream, size = bytearray(), 0
    for _ in range(pieces):
        if size == 0 or rng.random() < 0.4:
            length = int(rng.integers(1, 33))
            stream += bytes([length - 1]) + rng.bytes(length)
        else:
            length, back = int(rng.integers(3, rng.choice([9, 265]))), int(rng.integers(0, min(size, 8192)))
            back = min(back, 2) if rng.random() < 0.3 else back
            code = min(length - 2, 7)
            stream += bytes([code << 5 | back >> 8, *([length - 9] if code == 7 else []), back & 255])
        size += length
    return bytes(stream), size


def test_lzf(rng):
    for _ in range(10):
        packed, size = lzf_stream(rng)
        unpacked = np.zeros(size + 3, dtype=np.uint8)
        assert _native.decompress_lzf(np.frombuffer(packed, np.uint8), unpacked) == size
        assert unpacked.tobytes() == unpack(packed, size) + bytes(3)


def test_damaged_lzf_stays_within_its_arrays(rng):
    packed, size = lzf_stream(rng)
    for _ in range(500):
        damaged = np.frombuffer(packed, np.uint8).copy()
        damaged[rng.integers(0, len(damaged), 5)] = rng.integers(0, 256, 5)
        room = np.zeros(size + 16, dtype=np.uint8)
        written = _native.decompress_lzf(damaged[: rng.integers(1, len(damaged))], room[:size])
        assert -1 <= written <= size
        assert not room[size:].any()


def test_what_is_refused():
    data, sizes, places = np.zeros(10, dtype=np.uint8), np.array([1]), np.zeros((2, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="one entry for each property"):
        _native.walk_rows(data, 0, sizes, np.array([1, 1]), True, places, places.copy())
    with pytest.raises(ValueError, match="offsets and counts"):
        _native.walk_rows(data, 0, sizes, sizes, True, places, np.zeros((3, 1), dtype=np.int64))
    with pytest.raises(ValueError, match="start must not be negative"):
        _native.walk_rows(data, -1, sizes, sizes, True, places, places.copy())
    with pytest.raises(ValueError, match="count_size must lie between 0 and 8"):
        _native.walk_rows(data, 0, np.array([9]), sizes, True, places, places.copy())
    with pytest.raises(ValueError, match="item_size must lie between 1"):
        _native.walk_rows(data, 0, sizes, np.array([0]), True, places, places.copy())
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.decompress_lzf(data.astype(np.int64), data)
    data.flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.decompress_lzf(data, data)
