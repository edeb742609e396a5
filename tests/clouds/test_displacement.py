"""Displacements between frames: affine motions, motions along the normals alone, frames that show different things."""

import numpy as np
import pytest

from seminorm.clouds.displacement import Displacement, displacement_between

TURN = np.array([[np.cos(0.4), -np.sin(0.4), 0.0], [np.sin(0.4), np.cos(0.4), 0.0], [0.0, 0.0, 1.0]])
AXES = np.array([1.0, 0.6, 0.4])


def egg(n=600, seed=0):
    """Points of an ellipsoid and their normals; it looks different from all sides."""
    u = np.random.default_rng(seed).standard_normal((n, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    normals = u / AXES
    return u * AXES, normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_a_rigid_motion_is_found(scale):
    first, normals = egg()
    other, other_normals = egg(seed=1)
    move = displacement_between(
        scale * first, normals, scale * (other @ TURN.T + [0.3, 0.1, 0.0]), other_normals @ TURN.T
    )
    middle = move.halfway(scale * first, 0.0)
    found = ((middle + move.function(middle) / 2) / scale - [0.3, 0.1, 0.0]) @ TURN / AXES
    assert np.abs(np.linalg.norm(found, axis=1) - 1).mean() < 0.01  # on the egg that has turned, wherever it slid to
    assert move.missed < 0.2 * move.spacing


def test_places_and_places_half_way_belong_together():
    first, normals = egg()
    move = displacement_between(first, normals, 1.2 * first, normals)
    for share in (0.0, 0.3, 1.0):
        middle = move.halfway(first, share)
        np.testing.assert_allclose(middle + (share - 0.5) * move.function(middle), first, atol=1e-4)
    assert (move.halfway(first, 0.5) == first).all()


def test_a_file_gives_the_same():
    first, normals = egg(100)
    move = displacement_between(first, normals, first + [0.1, 0, 0], normals)
    again = Displacement.from_content(move.content())
    np.testing.assert_array_equal(move.function(first), again.function(first))
    assert (move.extent, move.missed, move.spacing) == (again.extent, again.missed, again.spacing)


def test_what_is_not_there_is_missed():
    first, normals = egg()
    rng = np.random.default_rng(3)
    other = displacement_between(first, normals, rng.uniform(-1, 1, (600, 3)), normals)
    alike = displacement_between(first, normals, *egg(seed=1))
    assert other.missed > 5 * alike.missed
