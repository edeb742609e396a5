"""Offsets by true distance: volumes in closed form, derivatives against differences, shapes that are no distances."""

import numpy as np
import pytest

from seminorm import reconstruct
from seminorm.shapes import Box, Plane, Sphere, as_implicit, blend, meeting


def slow_ball(slope=0.2):
    """A ball whose function is not in units of length."""
    return as_implicit(lambda X: slope * (np.linalg.norm(X, axis=1) - 1), bounds=([-1] * 3, [1] * 3), resolution=0.1)


@pytest.mark.parametrize("distance", [0.3, -0.4])
def test_slope_of_the_function_does_not_matter(distance):
    mesh = slow_ball().offset(distance).mesh()
    assert mesh.is_watertight and mesh.genus == 0
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * (1 + distance) ** 3, rel=0.01)


@pytest.mark.parametrize(
    ("distance", "volume"), [(0.3, 8 + 24 * 0.3 + 6 * np.pi * 0.09 + 4 / 3 * np.pi * 0.027), (-0.2, 1.6**3)]
)
def test_cube_of_points_grows_with_round_edges_and_shrinks_with_sharp_ones(distance, volume, rng):
    n = 3000
    points, axis, side = rng.uniform(-1, 1, (n, 3)), rng.integers(0, 3, n), rng.choice([-1, 1], n)
    points[np.arange(n), axis] = side
    normals = np.zeros((n, 3))
    normals[np.arange(n), axis] = side
    surface = reconstruct(points, normals, depth=5)
    mesh = surface.offset(distance).mesh(0.06 if distance > 0 else None)
    assert mesh.is_watertight and mesh.genus == 0
    assert mesh.volume == pytest.approx(volume, rel=0.01)
    np.testing.assert_allclose(np.abs(mesh.bounds), 1 + distance, atol=0.05)


def test_known_distances_are_used_as_they_are():
    X = np.random.default_rng(0).uniform(-2, 2, (50, 3))
    box, ball = Box([-1, -1, -1], [1, 1, 1]), Sphere([1, 0, 0], 1)
    for shape, distance in (
        (box, 0.2),
        (box | ball, 0.3),
        (box & ball, -0.1),
        (~(box | ball), -0.2),
        (box.scale(2.0), -0.3),
    ):
        assert np.array_equal(shape.offset(distance)(X), shape(X) - distance)
        assert np.array_equal(shape.level(distance)(X), shape(X) - distance)
    tube = meeting(ball, Plane([0, 0, 0], [0, 0, 1]))
    assert np.array_equal(tube.offset(0.1)(X), tube(X) - 0.1)


def test_edges_of_an_intersection_become_round():
    wedge = Box([-1, -1, -1], [1, 1, 1]) & Plane([0, 0, 0], [1, 0, 0])
    # the nearest point of the wedge to (0.3, 0, 1.4) is (0, 0, 1) on its edge
    assert wedge.offset(0.5)([[0.3, 0.0, 1.4]])[0] == pytest.approx(0.0, abs=0.02)
    assert wedge.level(0.5)([[0.3, 0.0, 1.4]])[0] == pytest.approx(-0.1)


def test_values_and_derivatives(rng):
    shape = blend(Sphere([0, 0, 0], 1), Sphere([1.5, 0, 0], 0.8), 0.5)
    moved = shape.offset(0.25)
    X = np.array([[0.2, 1.1, 0.3], [-1.4, 0.1, 0.2], [2.3, 0.4, 0.3], [0.1, -0.2, 0.9]])
    value, slope, bend = moved.jet(X)
    np.testing.assert_allclose(np.linalg.norm(slope, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(np.abs(value + 0.25), np.linalg.norm(X - shape.closest(X), axis=1), atol=1e-5)
    for axis in range(3):
        step = 1e-4 * np.eye(3)[axis]
        after, before = moved.jet(X + step, 1), moved.jet(X - step, 1)
        np.testing.assert_allclose((after[0] - before[0]) / 2e-4, slope[:, axis], atol=1e-3)
        np.testing.assert_allclose((after[1] - before[1]) / 2e-4, bend[:, axis], atol=0.02)
    on = moved.shape.project(X)
    np.testing.assert_allclose(moved(on), -0.25, atol=1e-5)


def test_offset_in_the_plane():
    ellipse = as_implicit(lambda X: X[:, 0] ** 2 / 4 + X[:, 1] ** 2 - 1, bounds=([-2, -1], [2, 1]))
    grown = ellipse.offset(0.5)
    np.testing.assert_allclose(grown([[2.5, 0.0], [0.0, 1.5], [3.0, 0.0]]), [0, 0, 0.5], atol=1e-3)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="without bounds"):
        as_implicit(lambda X: X[:, 0]).offset(1.0)
    with pytest.raises(ValueError, match="distance must be finite"):
        slow_ball().offset(np.nan)
