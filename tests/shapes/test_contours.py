"""Lines in the plane: lengths, areas, what lies inside; marching squares against closed forms."""

import numpy as np
import pytest

from seminorm.shapes import Contours, Sphere
from seminorm.shapes.extraction.squares import contour

BOX = np.array([-2.0, -2.0]), np.array([2.0, 2.0])


def test_lines_by_hand():
    outer, hole = [[0, 0], [4, 0], [4, 4], [0, 4]], [[1, 1], [1, 3], [3, 3], [3, 1]]
    lines = Contours([outer, hole, [[5, 0], [6, 0], [6, 2]]], [True, True, False])
    np.testing.assert_allclose(lines.areas, [16, -4, np.nan])
    np.testing.assert_allclose(lines.lengths, [16, 8, 3])
    assert np.isnan(lines.area) and not lines.is_closed and lines.length == 27
    np.testing.assert_array_equal(lines.inside([[0.5, 0.5], [2, 2], [5, 1]]), [True, False, False])
    np.testing.assert_array_equal(lines.segments[[3, 4, -1]], [[3, 0], [4, 5], [9, 10]])
    assert len(lines.segments) == 10 and repr(lines) == "Contours(2 closed and 1 open lines, 11 points)"
    with pytest.raises(ValueError, match="closed must say of each of 1 lines"):
        Contours([outer], [True, False])


def test_a_circle_converges_quadratically():
    errors = []
    for width in (0.1, 0.05, 0.01):
        circle = contour(Sphere([0.01, 0.02], 1), BOX, width)
        assert circle.is_closed and len(circle) == 1
        errors.append([2 * np.pi - circle.length, np.pi - circle.area])
        np.testing.assert_allclose(np.linalg.norm(circle.points - [0.01, 0.02], axis=1), 1, atol=1e-9)
        np.testing.assert_allclose(circle.normals, circle.points - [0.01, 0.02], atol=1e-9)
    errors = np.array(errors)
    assert (errors > 0).all() and (errors[2] < errors[0] / 60).all()


def test_lines_at_the_border_are_closed_or_cut():
    half = Sphere([2, 0], 1)
    capped = contour(half, BOX, 0.02)
    assert capped.is_closed and capped.area == pytest.approx(np.pi / 2, rel=0.03)
    cut = contour(half, BOX, 0.02, closed=False)
    assert not cut.is_closed and cut.length == pytest.approx(np.pi, rel=0.01)


def test_two_that_touch_in_a_saddle_cell():
    for gap in (-1e-3, 1e-3):
        shape = Sphere([-0.5 - gap, 0], 0.5) | Sphere([0.5 + gap, 0], 0.5)
        lines = contour(shape, BOX, 0.1, refine=0)
        assert lines.is_closed and lines.area == pytest.approx(np.pi / 2, rel=0.05)


def test_seeds_find_what_is_small():
    tiny = Sphere([0.3, 0.4], 0.004)
    assert contour(tiny, BOX, 0.001, seeds=np.array([[0.3, 0.4]])).area == pytest.approx(np.pi * 0.004**2, rel=0.05)
    assert len(contour(Sphere([9, 9], 1), BOX, 0.1)) == 0
