"""Sheets that hover over others."""

import numpy as np
import pytest

from seminorm.clouds.trust import trusted_points


def ball(n, rng):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def with_ghost(points, normals, height, rng):
    """A cap, seen again a little higher."""
    cap = points[points[:, 2] > 0.75]
    moved = cap + [0, 0, height] + 0.002 * rng.standard_normal(cap.shape)
    return np.vstack([points, moved]), np.vstack([normals, normals[points[:, 2] > 0.75]]), len(points)


@pytest.mark.parametrize("n", [4000, 20_000])
@pytest.mark.parametrize("oriented", [True, False])
def test_ghosts_are_set_aside(n, oriented, rng):
    points = ball(n, rng)
    dirty, normals, first = with_ghost(points, points, 0.15, rng)
    found = trusted_points(dirty, normals if oriented else None)
    assert found.dirty and found.ghosts
    rim = 0.4 if n < 5000 and not oriented else 0.1  # that no other sheet is under
    assert found.keep[:first].mean() > 0.99 and found.keep[first:].mean() < rim


def test_ghosts_that_cross_the_surface_lose_what_hovers(rng):
    points = ball(20_000, rng)
    cap = points[points[:, 2] > 0.75]
    turned = cap * [1, np.cos(0.2), np.cos(0.2)] + [0, 0, 0.02] + np.sin(0.2) * cap[:, [0, 2, 1]] * [0, -1, 1]
    dirty = np.vstack([points, turned + [0, 0.1, 0.0]])
    found = trusted_points(dirty, np.vstack([points, cap]))
    assert found.keep[:20_000].mean() > 0.99


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("thickness", [0.04, 0.1])
def test_both_sides_of_a_plate_stay(thickness, oriented, rng):
    n = 6000
    side = rng.choice([-1.0, 1.0], n)
    points = np.column_stack([rng.uniform(-1, 1, (n, 2)), 0.5 * thickness * side])
    normals = np.column_stack([np.zeros((n, 2)), side])
    found = trusted_points(points, normals if oriented else None)
    assert found.keep.all() and not found.ghosts


def test_a_ball_before_a_wall_stays(rng):
    """One over the other, but of another shape."""
    small = 0.15 * ball(1500, rng)
    wall = np.column_stack([rng.uniform(-1, 1, (8000, 2)), np.full(8000, -0.25)])
    front = small[:, 2] > 0
    points = np.vstack([small[front], wall])
    normals = np.vstack([small[front] / 0.15, np.tile([0.0, 0.0, 1.0], (8000, 1))])
    assert trusted_points(points, normals).keep.all()
