"""Several scans: joining, poses, sensors, and how well they agree."""

import numpy as np
import pytest

from seminorm.clouds import PointCloud, estimate_normals, join_clouds
from seminorm.clouds.agreement import compare_scans, merged_sheets, weights_of_points
from seminorm.clouds.scans import are_scans

QUARTER_TURN = np.array([[0.0, -1.0, 0.0, 5.0], [1.0, 0.0, 0.0, 6.0], [0.0, 0.0, 1.0, 7.0], [0.0, 0.0, 0.0, 1.0]])


def ball(rng, n):
    normals = rng.standard_normal((n, 3))
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def test_joined_clouds_keep_what_all_have():
    first = PointCloud(np.zeros((2, 3)), np.ones((2, 3)), attributes={"intensity": [1, 2], "only": [0, 0]})
    second = PointCloud(np.ones((1, 3)), attributes={"intensity": [3]}, sensor=[0, 0, 9])
    both = join_clouds([first, second])
    assert both.normals is None and sorted(both.attributes) == ["intensity", "scan"]
    assert both.attributes["intensity"].tolist() == [1, 2, 3] and both.attributes["scan"].tolist() == [0, 0, 1]
    assert np.isnan(both.sensor[:2]).all() and both.sensor[2].tolist() == [0, 0, 9]


def test_scans_within_clouds_stay_apart():
    merged = PointCloud(np.zeros((3, 3)), attributes={"scan": [4, 7, 4]})
    assert join_clouds([merged, np.zeros((0, 3)), np.ones((1, 3))]).attributes["scan"].tolist() == [0, 1, 0, 3]


def test_poses_move_points_normals_and_sensors():
    cloud = PointCloud([[1.0, 2.0, 3.0]], [[1.0, 0.0, 0.0]])
    moved = join_clouds([cloud, cloud], poses=[None, QUARTER_TURN], sensors=[None, [0.0, 0.0, 1.0]])
    assert moved.points.tolist() == [[1, 2, 3], [3, 7, 10]]
    assert moved.normals.tolist() == [[1, 0, 0], [0, 1, 0]] and moved.sensor[1].tolist() == [5, 6, 8]
    assert cloud.points.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"poses": [np.eye(4)]}, "poses must have one entry, or None, for each of the 2 scans, it has 1"),
        ({"poses": [None, np.eye(3)]}, r"scan 1: its pose must be 4 x 4 finite numbers, got shape \(3, 3\)"),
        ({"poses": [np.full((4, 4), np.nan), None]}, "scan 0: its pose must be 4 x 4 finite numbers"),
        ({"poses": [2 * np.eye(4), None]}, "last row of its pose"),
        ({"poses": [QUARTER_TURN.T, None]}, "last row of its pose must be 0, 0, 0, 1, got 5, 6, 7, 1: transpose it"),
        ({"poses": [np.diag([1.0, 1.01, 1.0, 1.0]), None]}, "must be a rotation, they are 0.02 away from it"),
        ({"poses": [np.diag([1.0, 1.0, -1.0, 1.0]), None]}, "must be a rotation, they are a reflection"),
        ({"sensors": [[0, 0], None]}, r"scan 0: sensor must have shape \(3,\)"),
    ],
)
def test_bad_poses_and_sensors(options, message):
    with pytest.raises(ValueError, match=message):
        join_clouds([np.zeros((4, 3)), np.ones((4, 3))], **options)


def test_what_is_one_cloud_and_what_are_several():
    points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    several = ([points, points], (np.zeros((2, 3)),), ["a.ply", "b.ply"], [PointCloud(points), np.array(points)])
    one = (points, np.array(points), PointCloud(points), tuple(map(tuple, points)), list(np.array(points)), [], "a.ply")
    assert all(map(are_scans, several)) and not any(map(are_scans, one))


def test_noise_of_scans_and_their_weights(rng):
    normals, scan = ball(rng, 6000), np.arange(6000) % 3
    noise = np.array([0.005, 0.01, 0.02])
    points = normals * (1 + (noise[scan] * rng.standard_normal(6000))[:, None])
    found = compare_scans(points, normals, scan)
    assert np.allclose(found.noise, noise, rtol=0.25) and not found.apart  # of points left out: a little more
    assert np.allclose(found.weight, (found.noise[0] / found.noise) ** 2)
    alone = points[:, 2] > 0.5  # where there is nothing better, a point counts as much as any
    kept = ~alone | (scan == 2)
    weight = weights_of_points(points[kept], scan[kept], found)
    assert np.allclose(weight[scan[kept] == 0], 1.0) and (weight[points[kept, 2] > 0.85] == 1.0).all()
    assert np.allclose(weight[(points[kept, 2] < 0.1) & (scan[kept] == 2)], found.weight[2])


def test_scans_in_their_place_are_left_alone(rng):
    normals = ball(rng, 4000)
    bumpy = normals * (1 + 0.02 * np.sin(20 * normals).sum(axis=1))[:, None]  # details finer than a sparse scan shows
    scan = (np.arange(4000) % 8 == 0).astype(int)
    found = compare_scans(bumpy, normals, scan)
    assert not found.apart and (found.weight == 1.0).all() and weights_of_points(bumpy, scan, found) is None
    few = compare_scans(bumpy[:300], normals[:300], np.arange(300) % 2)
    assert np.isnan(few.noise).all() and np.isnan(few.offset).all() and not few.apart


def test_sheets_meet_between_them(rng):
    normals, scan = ball(rng, 12_000), np.arange(12_000) % 2
    left = normals[:, 0] < 0.3  # the second scan covers a part only
    normals, scan = normals[left | (scan == 0)], scan[left | (scan == 0)]
    points = normals * (1 + 0.02 * scan)[:, None]
    found = compare_scans(points, normals, scan)
    assert found.apart and np.allclose(found.offset, 0.01, rtol=0.25)
    radius = np.linalg.norm(merged_sheets(points, normals, scan), axis=1)
    assert np.abs(radius[points[:, 0] < 0.1] - 1.01).mean() < 0.0025  # a quarter of what they were off
    assert np.abs(radius[points[:, 0] > 0.5] - 1.0).max() < 1e-6


def test_neighbors_of_the_own_scan(rng):
    """Sheets half as far apart as points: planes through both would be turned."""
    normals, scan = ball(rng, 6000), np.arange(6000) % 2
    points = normals * (1 + 0.02 * scan)[:, None]

    def error(cloud):
        return np.degrees(np.arccos(np.clip(np.sum(cloud.normals * normals, axis=1), -1, 1))).max()

    assert error(estimate_normals(points, 12, scan_id=scan)) < 1.0 < 5.0 < error(estimate_normals(points, 12))
    few = np.where(np.arange(6000) < 50, 2, scan)  # a scan too small to have neighbours of its own
    assert error(estimate_normals(points, 12, scan_id=few)) < 20.0


def test_sensors_that_are_known_for_some(rng):
    """Half of a flat patch is seen from below; the other half, which is not known, follows."""
    points = np.column_stack([rng.uniform(0, 1, (2000, 2)), np.zeros(2000)])
    seen = PointCloud(points, sensor=np.where(points[:, :1] < 0.5, [0.5, 0.5, -3.0], np.nan))
    cloud = estimate_normals(seen)
    assert cloud.oriented == "sensor" and (cloud.normals[:, 2] < -0.99).all()
    with pytest.raises(ValueError, match="scan_id must be a whole number for each of the 2000 points"):
        estimate_normals(points, scan_id=np.zeros(3))
