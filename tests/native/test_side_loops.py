"""Quadrics for the sides of a crease, against planes and quadrics that are known."""

import numpy as np
import pytest

from seminorm import _native

LIMITS = {"tolerance": 0.1, "apart": 0.88, "backside": -0.9, "ridge": 1e-9, "doubt": np.inf, "least": 4, "rounds": 3}


def fitted(points, normals, places, directions, **limits):
    m = len(places)
    results = np.empty(m), np.empty((m, 4, 10)), np.empty((m, 4), dtype=bool), np.empty((m, 4))
    rows = np.tile(np.arange(len(points)), (m, 1))
    smooth = np.ones((len(points), 2))
    _native.fit_sides(places, directions, rows, points, normals, smooth, *(LIMITS | limits).values(), *results)
    return results


def test_two_planes_are_found(rng):
    directions = np.array([[0.0, 0.0, 1.0], [0.8, 0.0, -0.6]])
    points = rng.uniform(-1, 1, (60, 3))
    side = np.arange(60) % 2
    points -= (points * directions[side]).sum(axis=1)[:, None] * directions[side]
    place, front = rng.uniform(-0.1, 0.1, (1, 3)), np.array([[0.7, 0.0, 0.7]])
    radius, coef, valid, misfit = fitted(points, directions[side], place, front, ridge=1.0)
    assert valid[0].sum() == 2
    assert radius[0] == pytest.approx(np.linalg.norm(points - place, axis=1).max())
    for plane in directions:
        found = coef[0, np.argmax(coef[0, :, 1:4] @ plane)]
        np.testing.assert_allclose(found[1:4], plane, atol=1e-5)
        assert radius[0] * found[0] == pytest.approx(place[0] @ plane, abs=1e-5)
        np.testing.assert_allclose(found[4:], 0.0, atol=1e-6)
    np.testing.assert_allclose(misfit[0], [1.0, 1.0, 0.0, 0.0], atol=1e-9)


def test_a_quadric_is_found(rng):
    h = np.array([[0.3, 0.1, 0.0], [0.1, -0.2, 0.05], [0.0, 0.05, 0.1]])
    points = np.column_stack([rng.uniform(-0.5, 0.5, (40, 2)), np.zeros(40)])
    slope = np.array([0.0, 0.0, 1.0])
    for _ in range(50):  # onto z + x h x / 2 = 0
        points[:, 2] -= points[:, 2] + 0.5 * ((points @ h) * points).sum(axis=1)
    radius, coef, valid, _ = fitted(points, slope + points @ h, np.zeros((1, 3)), slope[None])
    assert valid[0].tolist() == [True, False, False, False]
    np.testing.assert_allclose(coef[0, 0, 1:4], slope, atol=1e-6)
    np.testing.assert_allclose(coef[0, 0, 4:] / radius[0], h[np.triu_indices(3)], atol=1e-4)


def test_arrays_are_checked(rng):
    points = rng.standard_normal((5, 3))
    with pytest.raises(ValueError, match="directions"):
        fitted(points, points, points[:2], points[:1])
    with pytest.raises(ValueError, match="normal"):
        fitted(points, points[:3], points[:2], points[:2])
