"""Normals in doubt that the others decide: on shapes whose normals are known, against brute force."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import cKDTree

from seminorm.clouds.normals.variational import GradientCovariance, settled
from seminorm.solvers.unit_blocks import energy


def torus(n, rng):
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    normals = np.column_stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    return (np.column_stack([np.cos(u), np.sin(u), np.zeros(n)]) + 0.35 * normals) / 3.9, normals


def finger(n, rng):
    """A cylinder with a round tip, thinner than the points are apart, on a plate."""
    z, angle = rng.uniform(0.0, 0.5, n), rng.uniform(0, 2 * np.pi, n)
    around = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)])
    plate = np.column_stack([rng.uniform(-0.5, 0.5, (8 * n, 2)), np.zeros(8 * n)])
    plate = plate[np.hypot(plate[:, 0], plate[:, 1]) > 0.06]
    points = np.concatenate([0.03 * around + np.column_stack([0 * z, 0 * z, z]), plate])
    return points, np.concatenate([around, np.tile([0.0, 0.0, 1.0], (len(plate), 1))])


def nearest(points, row, count):
    return np.atleast_1d(cKDTree(points).query(points[row], k=count)[1])


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("count", [1, 6, 25])
def test_a_flipped_cluster_is_turned_back(count, noisy, rng):
    points, normals = torus(400, rng)
    rows = nearest(points, 7, count)
    wrong, confidence = normals.copy(), np.ones(400)
    wrong[rows] *= -1.0
    confidence[rows] = 0.0
    found = settled(points, wrong, confidence, noisy)
    assert np.sum(found[rows] * normals[rows], axis=1).min() > 0.8
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0)
    sure = np.setdiff1d(np.arange(400), rows)
    assert np.array_equal(found[sure], normals[sure])


def test_no_signs_are_better(rng):
    """Of all signs of a cluster, those found have the lowest energy of all points."""
    points, normals = torus(100, rng)
    rows = nearest(points, 3, 7)
    wrong, confidence = normals.copy(), np.ones(100)
    wrong[rows] *= rng.choice([-1.0, 1.0], 7)[:, None]
    confidence[rows] = 0.1
    found = settled(points, wrong, confidence, False)
    Q = GradientCovariance(points).energy(1e-8).Q
    own = energy(Q, found)
    for signs in product((-1.0, 1.0), repeat=7):
        tried = found.copy()
        tried[rows] *= np.array(signs)[:, None]
        assert energy(Q, tried) >= own * (1 - 1e-9)


def test_a_finger_thinner_than_its_points_are_apart(rng):
    points, normals = finger(40, rng)
    doubtful = points[:, 2] > 0.15
    turned = normals.copy()
    turned[doubtful] *= np.where(rng.random(doubtful.sum()) < 0.5, -1.0, 1.0)[:, None]
    found = settled(points, turned, np.where(doubtful, 0.05, 1.0), False)
    right = np.sum(found * normals, axis=1) > 0
    assert right[doubtful].mean() > 0.9 > (np.sum(turned * normals, axis=1) > 0)[doubtful].mean()


def test_without_doubt_nothing_changes(rng):
    points, normals = torus(200, rng)
    assert np.array_equal(settled(points, normals, np.ones(200), False), normals)
    flat = points * [1.0, 1.0, 0.0]  # no trend is determined: normals stay
    assert np.array_equal(settled(flat, normals, np.where(np.arange(200) < 5, 0.0, 1.0), False), normals)
