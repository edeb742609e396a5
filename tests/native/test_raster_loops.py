"""Pictures filled with triangles and discs: against NumPy, on any number of threads, and what is refused."""

import numpy as np
import pytest

from seminorm import _native
from seminorm._base.threads import limited_threads

HEIGHT, WIDTH = 37, 53


def buffers():
    return np.full((HEIGHT, WIDTH), -1), np.full((HEIGHT, WIDTH), np.inf)


def centres():
    return np.arange(WIDTH) + 0.5, (np.arange(HEIGHT) + 0.5)[:, None]


def put(owner, front, covered, z, number):
    wins = covered & (z < front)
    owner[wins], front[wins] = number, np.broadcast_to(z, front.shape)[wins]


def triangles(rng, n=300):
    """Small and large ones, flat ones, ones with vertices that are not seen or lie far outside, and equal ones."""
    scale = rng.choice([0.3, 2.0, 6.0, 60.0], size=(n, 1, 1), p=[0.4, 0.4, 0.15, 0.05])
    pixels = rng.uniform(-5, 60, size=(n, 1, 2)) + scale * rng.standard_normal((n, 3, 2))
    pixels[::20, 2] = pixels[::20, 1]
    pixels[7::50, 0] = np.nan
    pixels[3::20] = np.rint(pixels[3::20])
    pixels[3::40] += 0.5
    pixels[9] *= 1e200
    pixels[11] = pixels[10]
    nearness = rng.uniform(1, 2, size=(n, 3)) + 0.1 * scale[:, :, 0]  # small ones in front
    nearness[11] = nearness[10]
    return pixels.reshape(-1, 2), nearness.ravel(), rng.permutation(np.arange(3 * n).reshape(-1, 3))


def triangles_by_numpy(pixels, nearness, faces):
    owner, front = buffers()
    x, y = centres()
    for number, face in enumerate(faces):
        with np.errstate(all="ignore"):
            (ax, ay), (bx, by), (cx, cy) = pixels[face]
            area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            if not abs(area) > 0:
                continue
            u = ((cx - bx) * (y - by) - (cy - by) * (x - bx)) / area
            v = ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) / area
            w = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
            za, zb, zc = nearness[face]
            put(owner, front, (u >= 0) & (v >= 0) & (w >= 0), u * za + v * zb + w * zc, number)
    return owner, front


def discs(rng, n=400):
    pixels = rng.uniform(-5, 60, size=(n, 2))
    pixels[::20] = np.rint(pixels[::20])
    pixels[3::50] = np.nan
    pixels[5::50] = 1e300, -1e300
    reach = rng.choice([0.5, 0.5001, 3.0, 20.0], n)
    return pixels, rng.uniform(1, 2, n) + 0.1 * reach, reach  # small ones in front


def discs_by_numpy(pixels, depth, radius, pixel_radius):
    owner, front = buffers()
    x, y = centres()
    for number, ((px, py), reach) in enumerate(zip(pixels, pixel_radius, strict=True)):
        with np.errstate(all="ignore"):
            dx, dy = x - px, y - py
            rest = 1.0 - (dx * dx + dy * dy) / (reach * reach)
            own = (np.floor(px) == x - 0.5) & (np.floor(py) == y - 0.5)
            put(owner, front, (rest >= 0) | own, depth[number] - radius * np.sqrt(np.maximum(rest, 0.0)), number)
    return owner, front


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_triangles(threads, rng):
    given = triangles(rng)
    found = buffers()
    with limited_threads(threads):
        _native.fill_triangles(*given, *found)
    for got, expected in zip(found, triangles_by_numpy(*given), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert len(np.unique(found[0])) > 50


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_discs(threads, rng):
    pixels, depth, pixel_radius = discs(rng)
    found = buffers()
    with limited_threads(threads):
        _native.fill_discs(pixels, depth, 0.3, pixel_radius, *found)
    for got, expected in zip(found, discs_by_numpy(pixels, depth, 0.3, pixel_radius), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert len(np.unique(found[0])) > 50


def test_what_was_drawn_before_stays_in_front(rng):
    pixels, nearness, faces = triangles(rng)
    whole, parts = buffers(), buffers()
    _native.fill_triangles(pixels, nearness, faces, *whole)
    _native.fill_triangles(pixels, nearness, faces[:100].copy(), *parts)
    before = parts[0].copy()
    _native.fill_triangles(pixels, nearness, faces[100:].copy(), *parts)
    np.testing.assert_array_equal(parts[1], whole[1])
    kept = parts[0] == before
    np.testing.assert_array_equal(parts[0][kept], whole[0][kept])


def test_more_than_a_chunk_of_shapes(rng):
    """The last of many small triangles in front of all."""
    n = 150_000
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    pixels = (rng.integers(0, 40, size=(n, 1, 2)) + corners).reshape(-1, 2)
    nearness = np.repeat(np.linspace(2, 1, n), 3)
    owner, front = buffers()
    _native.fill_triangles(pixels, nearness, np.arange(3 * n).reshape(-1, 3), owner, front)
    expected = np.full((HEIGHT, WIDTH), -1)
    x, y = pixels[::3].T.astype(int)
    for right, down in ((0, 0), (1, 0), (0, 1)):
        seen = (x + right < WIDTH) & (y + down < HEIGHT)
        np.maximum.at(expected, (y[seen] + down, x[seen] + right), np.flatnonzero(seen))
    np.testing.assert_array_equal(owner, expected)


def test_nothing_to_draw():
    owner, front = buffers()
    _native.fill_triangles(np.empty((0, 2)), np.empty(0), np.empty((0, 3), dtype=np.int64), owner, front)
    _native.fill_discs(np.empty((0, 2)), np.empty(0), 1.0, np.empty(0), owner, front)
    assert (owner == -1).all()


def test_what_is_refused(rng):
    pixels, nearness, faces = triangles(rng)
    owner, front = buffers()
    for wrong in (-1, len(pixels)):
        with pytest.raises(ValueError, match="faces must lie between 0 and"):
            _native.fill_triangles(pixels, nearness, np.array([[0, 1, wrong]]), owner, front)
    with pytest.raises(ValueError, match="nearness"):
        _native.fill_triangles(pixels, nearness[:-1], faces, owner, front)
    with pytest.raises(ValueError, match="owner and front must match"):
        _native.fill_triangles(pixels, nearness, faces, owner, front[:-1])
    with pytest.raises(ValueError, match="depth and pixel_radius"):
        _native.fill_discs(pixels, nearness, 1.0, nearness[:-1], owner, front)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.fill_triangles(pixels, nearness, faces.astype(np.int32), owner, front)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _native.fill_triangles(pixels, nearness, faces, owner, front[:, ::-1])
