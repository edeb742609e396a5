"""Open or closed is decided by what the points cover, and points that do not belong are set aside."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from seminorm.clouds.cloud import PointCloud
from seminorm.surfaces import reconstruct


def ball(n, rng):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def terrain(n, rng):
    x, y = rng.uniform(-1, 1, (2, n))
    normals = np.column_stack([-0.6 * np.cos(3 * x), 0.4 * np.sin(2 * y), np.ones(n)])
    heights = 0.2 * np.sin(3 * x) + 0.2 * np.cos(2 * y)
    return np.column_stack([x, y, heights]), normals / np.linalg.norm(normals, axis=1, keepdims=True)


def tube(n, rng):
    turn, height = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
    normals = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(n)])
    return normals + height[:, None] * [0, 0, 1], normals


def excess(mesh, points):
    """Share of the area farther than five spacings from all points."""
    corners = mesh.vertices[mesh.faces]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    tree = cKDTree(points)
    spacing = np.median(tree.query(points, k=2)[0][:, 1])
    return areas[tree.query(corners.mean(axis=1))[0] > 5 * spacing].sum() / areas.sum()


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_patches_of_a_ball_stay_open(share, rng):
    points = ball(12_000, rng)
    points = points[points[:, 2] > 1 - 2 * share][:3000]
    mesh = reconstruct(points, points).mesh()
    assert not mesh.is_watertight and mesh.components()[1] == 1
    assert excess(mesh, points) < 0.02
    assert mesh.area == pytest.approx(4 * np.pi * share, rel=0.05)


@pytest.mark.parametrize("make", [terrain, tube])
def test_sheets_stay_open(make, rng):
    points, normals = make(3000, rng)
    mesh = reconstruct(points, normals).mesh()
    assert not mesh.is_watertight and excess(mesh, points) < 0.02
    assert reconstruct(points, normals).mesh(boundary="closed").is_watertight


def test_bodies_are_closed_and_holes_are_filled_up_to_a_size(rng):
    points = ball(4000, rng)
    assert reconstruct(points, points).mesh().is_watertight
    holed = points[np.linalg.norm(points - [0, 0, 1], axis=1) > 0.35]
    surface = reconstruct(holed, holed)
    assert surface.mesh().is_watertight
    assert surface.mesh(max_hole=2.0).is_watertight
    assert not surface.mesh(max_hole=0.3).is_watertight
    with pytest.raises(ValueError, match="goes with boundary='auto'"):
        surface.mesh(boundary="closed", max_hole=0.3)
    with pytest.raises(ValueError, match="max_hole must be a length"):
        surface.mesh(max_hole=-1.0)


@pytest.mark.parametrize("oriented", [True, False])
def test_outliers_do_not_matter(oriented, rng):
    points = ball(3000, rng)
    wrong = rng.uniform(-1.5, 1.5, (150, 3))
    everything = np.vstack([points, wrong])
    normals = np.vstack([points, ball(150, rng)]) if oriented else None
    attribute = np.arange(3150.0)
    with pytest.warns(UserWarning, match="points do not lie on a surface with others"):
        surface = reconstruct(PointCloud(everything, normals, attributes={"number": attribute}))
    aside = surface.details["outliers"]
    assert len(aside) > 120 and min(aside) >= 2990
    np.testing.assert_array_equal(surface.points, np.delete(everything, aside, axis=0))
    mesh = surface.mesh()
    assert mesh.is_watertight and mesh.genus == 0 and mesh.components()[1] == 1
    assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1).mean() < 0.01


def test_outliers_may_be_kept(rng):
    points = np.vstack([ball(1000, rng), [[2.0, 2.0, 2.0]]])
    with pytest.warns(UserWarning, match="1 of 1001 points"):
        assert reconstruct(points, points).details["outliers"] == [1000]
    assert reconstruct(points, points, outliers="keep").details["outliers"] == []
    with pytest.raises(ValueError, match="outliers must be 'auto'"):
        reconstruct(points, points, outliers="drop")


def test_columns_follow_the_points_that_stay(rng):
    points = np.vstack([ball(1000, rng), [[2.0, 2.0, 2.0]]])
    confidence = np.append(np.ones(1000), 5.0)
    with pytest.warns(UserWarning, match="set aside"):
        surface = reconstruct(points, points, confidence=confidence)
    assert len(surface.points) == 1000


def test_wrong_normals(rng):
    points = ball(4000, rng)
    wrong = rng.random(4000) < 0.05
    with pytest.warns(UserWarning, match="normals that disagree"):
        surface = reconstruct(points, np.where(wrong[:, None], -points, points))
    assert surface.details["repaired_normals"] == pytest.approx(wrong.sum(), abs=3)
    assert np.einsum("ij,ij->i", surface.normals, points).min() > 0.9
    with pytest.warns(UserWarning, match="normals point inwards"):
        turned = reconstruct(points, -points)
    assert turned.inside([[0.0, 0.0, 0.0]]).all() and turned.mesh().volume > 4
    assert not reconstruct(points, -points, outliers="keep").inside([[0.0, 0.0, 0.0]]).any()


def test_meshes_of_a_given_size(rng):
    points = ball(3000, rng)
    surface = reconstruct(points, points)
    whole = surface.mesh(deviation=0)
    for faces in (4000, 600):
        mesh = surface.mesh(target_faces=faces)
        assert 0.8 * faces < len(mesh.faces) <= faces
        assert mesh.is_watertight and mesh.genus == 0
        assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1).max() < 0.02
    assert len(whole.simplified(10**7).faces) == len(whole.faces)
    with pytest.warns(UserWarning, match="faces, not 4"):
        assert whole.simplified(4).is_watertight
    with pytest.raises(ValueError, match="faces must be a whole number"):
        surface.mesh(target_faces=2.5)
    half = points[points[:, 2] < 0]
    open_mesh = reconstruct(half, half).mesh(target_faces=3000)
    assert not open_mesh.is_watertight and open_mesh.components()[1] == 1


def test_arrays_of_trimesh_are_arrays():
    trimesh = pytest.importorskip("trimesh")
    sphere = trimesh.creation.icosphere(3)
    assert reconstruct(sphere.vertices, sphere.vertex_normals).mesh().is_watertight
