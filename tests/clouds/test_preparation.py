"""Points made ready: against brute force on small clouds, and what must hold for any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from seminorm.clouds.cloud import PointCloud
from seminorm.clouds.preparation import drop_invalid, equal_rows, remove_duplicates, remove_outliers, thin, thin_rows

FAR = np.array([431234.567, 5412345.678, 812.3])


@given(st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, 2.5, np.inf])] * 3), max_size=40))
def test_equal_rows_agrees_with_numpy(rows):
    rows = np.array(rows, dtype=float).reshape(-1, 3)
    first, group = equal_rows(rows)
    _, wanted_first, wanted_group = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == sorted(wanted_first.tolist())
    np.testing.assert_array_equal(first[group], wanted_first[wanted_group.ravel()] if len(rows) else [])


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.3])
def test_duplicates_agree_with_a_greedy_search(tolerance, rng):
    points = FAR + rng.random((300, 3))
    points = np.vstack([points, points[:50], points[:20] + 0.01])
    kept = []
    for i, distances in enumerate(cdist(points, points)):
        if not any(distances[j] <= tolerance for j in kept):
            kept.append(i)
    assert remove_duplicates(points, tolerance).tolist() == kept
    assert len(kept) < len(points)


def test_duplicates_of_one_and_no_point():
    assert remove_duplicates(np.zeros((1, 3)), 0.1).tolist() == [0]
    assert remove_duplicates(np.zeros((0, 3))).tolist() == []
    with pytest.raises(ValueError, match="tolerance must be a distance"):
        remove_duplicates(np.zeros((2, 3)), -1.0)


def test_thinning_takes_means_over_cells(rng):
    n, spacing = 2000, 0.2
    cloud = PointCloud(
        FAR + rng.random((n, 3)),
        rng.standard_normal((n, 3)) + [0, 0, 5],
        rng.random((n, 3)),
        {"time": rng.random(n), "flow": rng.random((n, 2)), "label": rng.integers(0, 9, n)},
    )
    found = thin(cloud, spacing)
    keys = [tuple(key) for key in np.floor((cloud.points - cloud.points.min(axis=0)) / spacing)]
    cells = list(dict.fromkeys(keys))
    assert len(found) == len(cells) < n / 5
    for row, cell in enumerate(cells):
        members = np.array([key == cell for key in keys])
        np.testing.assert_allclose(found.points[row], cloud.points[members].mean(axis=0), rtol=0, atol=5e-9)
        normal = cloud.normals[members].mean(axis=0)
        np.testing.assert_allclose(found.normals[row], normal / np.linalg.norm(normal))
        np.testing.assert_allclose(found.colors[row], cloud.colors[members].mean(axis=0))
        np.testing.assert_allclose(found.attributes["time"][row], cloud.attributes["time"][members].mean())
        np.testing.assert_allclose(found.attributes["flow"][row], cloud.attributes["flow"][members].mean(axis=0))
        assert found.attributes["label"][row] in cloud.attributes["label"][members]
    rows = thin_rows(cloud, spacing)
    assert len(rows) == len(cells) == len({keys[row] for row in rows})
    again = thin(cloud, spacing)
    np.testing.assert_array_equal(found.points, again.points)


def test_thinning_keeps_a_normal_where_two_cancel():
    cloud = PointCloud([[0.1, 0, 0], [0.2, 0, 0], [0.9, 0, 0]], [[0, 0, 1.0], [0, 0, -1.0], [1.0, 0, 0]])
    found = thin(cloud, 0.5)
    assert abs(found.normals[0, 2]) == 1
    assert found.normals[1].tolist() == [1, 0, 0]


def test_thinning_checks_its_input():
    assert len(thin(np.zeros((0, 3)), 1.0)) == 0
    assert len(thin(np.array([[0, 0, 0], [1e12, 1e12, -1e12]]), 1e-6)) == 2  # cells beyond 64-bit numbers
    with pytest.raises(ValueError, match="spacing must be a positive length, got 0"):
        thin(np.zeros((2, 3)), 0)
    with pytest.raises(ValueError, match=r"1 of 2 points have NaN .* drop_invalid"):
        thin(np.array([[0, 0, 0], [np.nan, 0, 0]]), 1.0)


def sphere(rng, n):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_outliers_agree_with_brute_force(rng):
    points = np.vstack([sphere(rng, 400), 3 * rng.standard_normal((20, 3))])
    distance = np.log(np.sort(cdist(points, points), axis=1)[:, 1:9].mean(axis=1))
    median = np.median(distance)
    deviation = 1.4826 * np.median(abs(distance - median))
    assert deviation > 0.2
    wanted = np.flatnonzero(distance <= median + 3 * deviation)
    assert remove_outliers(points, n_neighbors=8, threshold=3).tolist() == wanted.tolist()


def test_a_regular_grid_keeps_its_border():
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0), [0.0]), axis=-1).reshape(-1, 3)
    kept = remove_outliers(np.vstack([grid, [[15, 15, 6]]]))
    assert kept.tolist() == list(range(900))


def test_outliers_are_found_and_the_surface_stays(rng):
    surface = sphere(rng, 5000)
    stray = rng.uniform(-2, 2, (200, 3))
    stray = stray[np.abs(np.linalg.norm(stray, axis=1) - 1) > 0.2]
    kept = remove_outliers(FAR + np.vstack([surface, stray]))
    assert (kept >= 5000).sum() == 0
    assert (kept < 5000).sum() > 0.99 * 5000


def test_outliers_check_their_input():
    assert remove_outliers(np.zeros((1, 3))).tolist() == [0]
    assert remove_outliers(np.zeros((5, 3))).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="neighbors must be a whole number"):
        remove_outliers(np.zeros((5, 3)), n_neighbors=0)
    with pytest.raises(ValueError, match="threshold must be positive"):
        remove_outliers(np.zeros((5, 3)), threshold=0)


def test_invalid_points_are_dropped_and_counted(rng):
    cloud = PointCloud(rng.random((6, 3)), rng.standard_normal((6, 3)), attributes={"number": np.arange(6)})
    cloud.points[0, 1], cloud.points[1, 2] = np.nan, -np.inf
    cloud.normals[1] = 0  # counted once, for its coordinates
    cloud.normals[3], cloud.normals[4, 0] = 0, np.nan
    found, counts = drop_invalid(cloud)
    assert counts == {"coordinates": 2, "normals": 2}
    assert found.attributes["number"].tolist() == [2, 5]
    same, counts = drop_invalid(found)
    assert same is found and counts == {"coordinates": 0, "normals": 0}
    assert drop_invalid(cloud.points)[1] == {"coordinates": 2, "normals": 0}
