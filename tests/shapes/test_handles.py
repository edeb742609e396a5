"""Handles without support go, those with support stay."""

import numpy as np
import pytest

from seminorm.shapes import Box, Mesh, Sphere, Torus
from seminorm.shapes.handles import without_handles


def everywhere(vertices, normals):
    return np.ones(len(vertices))


def nowhere(vertices, normals):
    return np.zeros(len(vertices))


def bridged():
    """Two slabs, joined by a wide wall at one end and by two thin posts, and a hole in one of them."""
    slabs = Box([-1, -1, 0.2], [1, 1, 0.5]) | Box([-1, -1, -0.5], [1, 1, -0.2]) | Box([-1, -1, -0.5], [-0.7, 1, 0.5])
    posts = Box([0.5, 0.5, -0.3], [0.6, 0.6, 0.3]) | Box([0.2, -0.6, -0.3], [0.3, -0.5, 0.3])
    return ((slabs | posts) - Box([-0.3, 0, 0], [-0.2, 0.1, 1])).mesh(0.05)


def at_posts_and_hole(vertices, normals):
    """No support on the walls of the posts and of the hole."""
    inner = (np.abs(vertices[:, 2]) < 0.2) & (vertices[:, 0] > -0.6)
    hole = (np.abs(vertices[:, 0] + 0.25) < 0.06) & (np.abs(vertices[:, 1] - 0.05) < 0.06) & (vertices[:, 2] > 0.21)
    return 1.0 - (inner | (hole & (vertices[:, 2] < 0.49)))


def test_posts_and_a_hole_go():
    mesh = bridged()
    assert mesh.genus == 3
    mended = without_handles(mesh, at_posts_and_hole, 0.2)
    assert mended.is_watertight and mended.genus == 0 and mended.components()[1] == 1
    assert mended.volume == pytest.approx(mesh.volume, rel=0.02)
    same = (mended.vertices[: len(mesh.vertices)] == mesh.vertices).all(axis=1)
    assert same.mean() > 0.9
    np.testing.assert_array_equal(mended.normals[: len(mesh.vertices)][same], mesh.normals[same])


def test_what_has_support_stays():
    for mesh in (bridged(), Torus([0, 0, 0], [0, 0, 1], 1.0, 0.3).mesh(0.1)):
        assert without_handles(mesh, everywhere, 0.2) is mesh
    ball = Sphere([0, 0, 0], 1.0).mesh(0.1)
    assert without_handles(ball, nowhere, 10.0) is ball


def test_loops_longer_than_the_limit_stay():
    torus = Torus([0, 0, 0], [0, 0, 1], 1.0, 0.3).mesh(0.1)
    around = 2 * np.pi * 0.3
    assert without_handles(torus, everywhere, 0.8 * around) is torus
    cut = without_handles(torus, everywhere, 1.3 * around)
    assert cut.is_watertight and cut.genus == 0


def test_several_parts_and_borders():
    torus = Torus([0, 0, 0], [0, 0, 1], 1.0, 0.3).mesh(0.1)
    n = len(torus.vertices)
    two = Mesh(np.vstack([torus.vertices, torus.vertices + [0, 0, 5]]), np.vstack([torus.faces, torus.faces + n]))
    mended = without_handles(two, everywhere, 2.6)
    assert mended.genus == 0 and mended.components()[1] == 2
    opened = torus.keep(torus.vertices[torus.faces[:, 0], 0] < 0.9)
    mended = without_handles(opened, everywhere, 2.6)
    borders = mended.components()[1] * 2 - mended.euler_characteristic
    assert borders == 1  # the tube with two open ends is cut once, into two cups


def test_an_empty_mesh():
    assert len(without_handles(Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int)), everywhere, 1.0).faces) == 0
