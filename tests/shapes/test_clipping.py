"""Meshes cut along a line."""

import numpy as np
import pytest

from seminorm.shapes.clipping import clipped
from seminorm.shapes.mesh import Mesh


def test_clipping_cuts_along_the_line_where_values_vanish():
    x, y = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21), indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), np.zeros(441)])
    corner = np.arange(441).reshape(21, 21)
    a, b, c, d = corner[:-1, :-1].ravel(), corner[1:, :-1].ravel(), corner[1:, 1:].ravel(), corner[:-1, 1:].ravel()
    sheet = Mesh(vertices, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])]))
    line = vertices @ [1.0, 0.3, 0.0] - 0.613
    half = clipped(sheet, line)
    assert (half.vertices @ [1.0, 0.3, 0.0] <= 0.613 + 0.05 * 0.06).all()
    assert half.area == pytest.approx(0.613 - 0.15, rel=0.01)  # the mean of 0.613 - 0.3 y
    assert len(clipped(sheet, -np.ones(441)).faces) == len(sheet.faces)
    assert len(clipped(sheet, np.ones(441)).faces) == 0
