"""Votes of neighbours: what does not belong is found, what belongs stays."""

import numpy as np
import pytest

from seminorm.clouds.normals.repair import repaired_normals
from seminorm.clouds.trust import points_inwards, trusted_points


def torus(n, rng, noise=0.0):
    """Points and normals of a torus with radii 1 and 0.4, evenly by area."""
    u, v = rng.uniform(0, 2 * np.pi, (2, 3 * n))
    kept = np.flatnonzero(rng.random(3 * n) < (1 + 0.4 * np.cos(v)) / 1.4)[:n]
    u, v = u[kept], v[kept]
    normals = np.column_stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    points = np.column_stack([np.cos(u), np.sin(u), np.zeros(n)]) + 0.4 * normals
    return points + noise * rng.standard_normal((n, 3)), normals


def directions(n, rng):
    vectors = rng.standard_normal((n, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def with_outliers(points, normals, share, rng):
    n = int(share * len(points))
    wrong = rng.uniform(-1.6, 1.6, (n, 3))
    return np.vstack([points, wrong]), np.vstack([normals, directions(n, rng)])


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [3000, 15_000])
def test_outliers_are_found_and_the_rest_stays(n, share, oriented, rng):
    points, normals = with_outliers(*torus(n, rng), share, rng)
    found = trusted_points(points, normals if oriented else None)
    assert found.keep[:n].mean() > 0.99
    assert found.keep[n:].mean() < 0.15


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.005, 0.02])
def test_clouds_without_outliers_are_left_alone(noise, oriented, rng):
    points, normals = torus(4000, rng, noise)
    found = trusted_points(points, normals if oriented else None)
    assert found.keep.all()
    assert repaired_normals(points, normals) is normals
    uneven = rng.random(4000) < np.exp(1.5 * (points[:, 0] - 1.4))
    assert trusted_points(points[uneven], normals[uneven] if oriented else None).keep.mean() > 0.97


@pytest.mark.parametrize("oriented", [True, False])
def test_a_cluster_in_empty_space_has_no_vote(oriented, rng):
    points, normals = torus(5000, rng)
    cluster = [3.0, 3.0, 3.0] + 0.1 * rng.standard_normal((60, 3))
    found = trusted_points(
        np.vstack([points, cluster]), np.vstack([normals, directions(60, rng)]) if oriented else None
    )
    assert found.keep[:5000].mean() > 0.99 and not found.keep[5000:].any()


def test_the_order_of_points_does_not_matter_much(rng):
    points, normals = with_outliers(*torus(3000, rng), 0.05, rng)
    order = rng.permutation(len(points))
    one, other = trusted_points(points, normals).keep, trusted_points(points[order], normals[order]).keep
    np.testing.assert_array_equal(one[order], other)


@pytest.mark.parametrize("n", [1000, 5000, 20_000])
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("at_random", [False, True])
def test_normals_that_disagree_are_replaced(n, noise, at_random, rng):
    points, normals = torus(n, rng, noise)
    wrong = rng.random(n) < 0.05
    given = np.where(wrong[:, None], directions(n, rng) if at_random else -normals, normals)
    repaired = repaired_normals(points, given)
    cosine = np.einsum("ij,ij->i", repaired, normals)
    assert (cosine < 0.3).mean() < 0.003
    changed = (repaired != given).any(axis=1)
    assert cosine[changed].mean() > 0.93 and not (changed & ~wrong).mean() > 0.001


def test_thin_sheets_keep_their_normals(rng):
    """Two sides, nearer to each other than points of one side are."""
    n = 2000
    side = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    points = np.column_stack([rng.random((n, 2)), 0.01 * side])
    normals = np.column_stack([np.zeros((n, 2)), side])
    assert repaired_normals(points, normals) is normals
    wrong = rng.random(n) < 0.05
    repaired = repaired_normals(points, np.where(wrong[:, None], -normals, normals))
    assert (np.einsum("ij,ij->i", repaired, normals) > 0.9).mean() > 0.999


def test_inward_normals_of_a_closed_surface(rng):
    points, normals = torus(3000, rng)
    areas = np.full(3000, 4 * np.pi**2 * 0.4 / 3000)
    assert points_inwards(points, -normals, areas)
    assert not points_inwards(points, normals, areas)
    upper = points[:, 2] > 0  # open: nothing is known
    assert not points_inwards(points[upper], -normals[upper], areas[upper])


@pytest.mark.parametrize("n", [1, 5, 30, 40, 100])
def test_few_points_and_copies(n, rng):
    points = rng.standard_normal((n, 3))
    assert trusted_points(points).keep.shape == (n,)
    assert trusted_points(np.zeros((n, 3)), directions(n, rng)).keep.shape == (n,)
    assert trusted_points(np.repeat(points, 3, axis=0)).keep.shape == (3 * n,)
