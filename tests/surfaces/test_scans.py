"""Several scans in one reconstruction: poses, sensors, noise that differs, scans that were placed badly."""

import warnings

import numpy as np
import pytest

from seminorm import reconstruct
from seminorm.clouds import PointCloud

FIXED = {"depth": 4, "smoothness": 0.1, "tolerance": 0.1}


def ball(rng, n):
    normals = rng.standard_normal((n, 3))
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def radii(surface):
    return np.linalg.norm(surface.mesh().vertices, axis=1)


def test_scans_with_poses_are_one_cloud(rng):
    """Two halves of a sphere, each in its own frame, give what the whole sphere gives."""
    normals = ball(rng, 1200)
    upper = normals[:, 2] > 0
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, [3.0, -2.0, 1.0]
    own = PointCloud(
        (normals[~upper] - pose[:3, 3]) @ turn, normals[~upper] @ turn, attributes={"class": [1] * (~upper).sum()}
    )
    whole = reconstruct(
        np.vstack([normals[upper], normals[~upper]]), np.vstack([normals[upper], normals[~upper]]), **FIXED
    )
    parts = reconstruct([PointCloud(normals[upper], normals[upper]), own], poses=[None, pose], **FIXED)
    assert np.allclose(parts.points, whole.points) and parts.attached == ("scan",)
    places = rng.uniform(-1.5, 1.5, (100, 3))
    assert np.allclose(parts(places), whole(places), atol=1e-4)
    assert parts.details["normals"] == "given"
    assert parts.attribute("scan", [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]).tolist() == [0, 1]
    assert [found["points"] for found in parts.details["scans"]] == [upper.sum(), (~upper).sum()]


def test_each_scan_has_its_sensor(rng):
    """Two sheets that nothing but their sensors orients: each looks at its own, which moves with the pose."""
    sheet = np.column_stack([rng.uniform(0, 1, (600, 2)), np.zeros(600)])
    away = np.eye(4)
    away[0, 3] = 3.0
    surface = reconstruct(
        [sheet, PointCloud(sheet, sensor=[0.5, 0.5, -4.0])],
        sensors=[[0.5, 0.5, 4.0], None],
        poses=[None, away],
        **FIXED,
    )
    assert (surface.normals[:600, 2] > 0.99).all() and (surface.normals[600:, 2] < -0.99).all()
    assert "signs: sensor" in surface.details["normals"]


def test_normals_are_estimated_where_they_are_missing(rng):
    normals = ball(rng, 3000)
    left = normals[:, 0] < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surface = reconstruct([normals[left], normals[~left]], [-normals[left], None], outliers="keep", **FIXED)
    assert (surface.normals[: left.sum()] == -normals[left].astype(np.float32)).all()
    assert (np.sum(surface.normals[left.sum() :] * normals[~left], axis=1) < -0.95).all()  # they follow the others
    assert surface.details["normals"].startswith("given for 1 of 2 scans, the others estimated")


def test_a_good_scan_counts_for_more(rng):
    normals = ball(rng, 2400)
    scan = np.arange(2400) % 2
    points = normals + (np.array([0.003, 0.03])[scan, None]) * rng.standard_normal(normals.shape)
    cloud = PointCloud(points, normals, attributes={"scan": 10 * scan})
    found = reconstruct(cloud, order=2, depth=4)
    assert [scan["scan"] for scan in found.details["scans"]] == [0, 10]
    assert found.details["scans"][0]["weight"] == 1.0 and found.details["scans"][1]["weight"] < 0.03
    alike = reconstruct(cloud, order=2, depth=4, scan_id=None)
    assert alike.details["scans"] == [] and alike.attached == ("scan",)
    assert np.abs(radii(found) - 1.0).mean() < 0.7 * np.abs(radii(alike) - 1.0).mean()


@pytest.mark.slow
def test_badly_placed_scans_give_one_surface(rng):
    """Two scans of a sphere without normals that overlap in a band, 0.9 % of the diagonal apart."""
    normals = ball(rng, 8000)
    scan = np.where(np.abs(normals[:, 0]) < 0.2, np.arange(8000) % 2, normals[:, 0] > 0)
    points = normals + np.where(scan[:, None] == 1, [0.0, 0.018, 0.024], 0.0)
    surface = reconstruct(points, scan_id=scan, depth=5, smoothness=0.02, tolerance=0.03)
    mesh = surface.mesh()
    assert mesh.components()[1] == 1 and mesh.genus == 0
    assert abs(mesh.area / (4 * np.pi) - 1) < 0.003  # no folds
    assert (surface.points == points).all()  # the points stay where they were measured


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.eye(3), {"sensors": [[0, 0, 1]]}, "sensors is for several scans, a list of clouds: give sensor="),
        (np.eye(3), {"poses": [np.eye(4)]}, "poses is for several scans"),
        (np.eye(3), {"scan_id": [0, 1]}, "scan_id must be a whole number for each of the 3 points"),
        (np.eye(3), {"scan_id": [0.5, 1.0, 2.0]}, "scan_id must be a whole number"),
        ([np.eye(3), np.eye(3)], {"scan_id": [0] * 6}, "scan_id is for one cloud of several scans"),
        ([np.eye(3), np.eye(3)], {"normals": np.eye(3)}, "normals must have one entry, or None, for each of the 2"),
        ([np.eye(3), np.eye(3)], {"sensors": [[0, 0, 1]]}, "sensors must have one entry, or None, for each of the 2"),
        ([np.eye(3), np.eye(3)], {"sensors": [None, None], "sensor": [0, 0, 1]}, "sensor for all scans, or sensors"),
        ([np.eye(3), np.eye(3)], {"normals": [np.eye(3), None], "sensors": [[0, 0, 1], None]}, "scan 0 has normals"),
        ([np.eye(3), "none.ply"], {}, "none.ply"),
    ],
)
def test_bad_scans(points, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        reconstruct(points, **options)
