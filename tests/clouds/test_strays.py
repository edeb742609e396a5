"""What lies near a surface, but not on it."""

import numpy as np
import pytest

from seminorm.clouds.cleaning import cleaned
from seminorm.clouds.strays import stray_points


def ball(n, rng):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("oriented", [True, False])
def test_points_off_a_ball_are_found(oriented, rng):
    normals = ball(3000, rng)
    off = np.zeros(3000)
    off[:60] = rng.choice([-1.0, 1.0], 60) * rng.uniform(0.02, 0.06, 60)
    found = stray_points(normals * (1 + off[:, None]), normals if oriented else None)
    assert found[:60].mean() > 0.9 and found[60:].mean() < 0.01


@pytest.mark.parametrize("oriented", [True, False])
def test_creases_and_noise_stay(oriented, rng):
    faces = rng.integers(6, size=6000)
    points, normals = rng.uniform(-1, 1, (6000, 3)), np.zeros((6000, 3))
    rows, axis, side = np.arange(6000), faces % 3, np.where(faces < 3, 1.0, -1.0)
    points[rows, axis], normals[rows, axis] = side, side
    assert stray_points(points, normals if oriented else None).mean() < 0.02
    noisy = ball(3000, rng) * rng.normal(1.0, 0.02, (3000, 1))
    assert stray_points(noisy).mean() < 0.005


def test_strays_are_looked_for_where_there_are_outliers(rng):
    points = ball(3000, rng)
    points[:20] *= 1.05
    assert cleaned(points).keep.all()
    found = cleaned(np.vstack([points, rng.uniform(-2, 2, (100, 3))]))
    assert found.keep[:20].mean() < 0.2 and found.keep[20:3000].mean() > 0.99


def test_few_points_and_copies(rng):
    assert not stray_points(ball(20, rng)).any()
    assert not stray_points(np.zeros((100, 3))).any()
