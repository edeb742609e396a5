"""What is beyond closed data is outside."""

import numpy as np
import pytest

from seminorm import reconstruct
from seminorm.clouds.sampling import OrientedPoints
from seminorm.surfaces.fitting import Model, fit_surface
from seminorm.surfaces.outside import kept_outside


def ball(n, rng):
    normals = rng.standard_normal((n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals


def finger_without_tip(rng, flare=0.3):
    """A ball, and a tube from it that grows wider and ends without a tip; five points around it."""
    normals = ball(600, rng)
    normals = normals[~((np.hypot(normals[:, 0], normals[:, 1]) < 0.12) & (normals[:, 2] > 0))]
    z, angle = np.meshgrid(np.linspace(1.05, 1.5, 5), 2 * np.pi * np.arange(5) / 5, indexing="ij")
    z, angle = z.ravel(), angle.ravel() + 0.6 * z.ravel()
    around = np.column_stack([np.cos(angle), np.sin(angle), 0 * z])
    tube = (0.1 + flare * (z - 1.05))[:, None] * around + np.column_stack([0 * z, 0 * z, z])
    slope = np.array([0.0, 0.0, -flare])
    return np.concatenate([normals, tube]), np.concatenate([normals, (around + slope) / np.hypot(1.0, flare)])


@pytest.mark.slow
def test_a_finger_without_a_tip_ends_near_its_last_points(rng):
    points, normals = finger_without_tip(rng)
    oriented = OrientedPoints.prepare(points, normals)
    fit = fit_surface(oriented, Model(3, 3, 0.005, 0.01, 5))
    far = [[0.0, 0.0, z] for z in (1.8, 1.9, 2.0)]
    assert (fit.field()(far) < 0).all()  # a bubble
    kept = kept_outside(fit)
    assert (kept.field()(far) > 0).all() and kept.points is oriented
    surface = reconstruct(points, normals)
    mesh = surface.mesh()
    assert mesh.is_watertight and mesh.components()[1] == 1 and mesh.vertices[:, 2].max() < 1.8
    assert surface.inside([[0.0, 0.0, 1.3]]).all()


@pytest.mark.parametrize("what", ["ball", "cap", "tube"])
def test_nothing_changes_without_bubbles_or_where_data_are_open(what, rng):
    points = normals = ball(1500, rng)
    if what == "cap":
        points = normals = normals[normals[:, 2] > 0.3]
    if what == "tube":
        points = normals * [1, 1, 0]
        normals = points / np.linalg.norm(points, axis=1, keepdims=True)
        points = normals + np.column_stack([np.zeros((1500, 2)), rng.uniform(-1.5, 1.5, 1500)])
    fit = fit_surface(OrientedPoints.prepare(points, normals), Model(3, 3, 0.02, 0.03, 4))
    assert np.array_equal(kept_outside(fit).x, fit.x)
