"""Estimated normals: against shapes whose normals are known, sums written out, and what must hold for any points."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from seminorm._base.threads import limited_threads
from seminorm.clouds.cloud import PointCloud
from seminorm.clouds.normals.estimation import estimate_normals
from seminorm.clouds.normals.local_fits import Neighborhoods
from seminorm.clouds.normals.orientation import Graph, _Sources, consistent_signs, winding_directions

FAR = np.array([431234.567, 5412345.678, 812.3])


def sphere(n, rng, radius=1.0, center=(0.0, 0.0, 0.0)):
    normals = rng.standard_normal((n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals * radius + np.array(center), normals


def torus(n, rng, minor=0.35):
    """Points on a torus around the z axis, with even density, and their normals."""
    a, b, keep = rng.random((3, 4 * n))
    a, b = 2 * np.pi * a, 2 * np.pi * b
    rows = np.flatnonzero(keep * (1 + minor) < 1 + minor * np.cos(b))[:n]
    a, b = a[rows], b[rows]
    normals = np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
    return np.column_stack([np.cos(a), np.sin(a), 0 * a]) + minor * normals, normals


def slab(n, rng, thickness):
    """The two large faces of a slab."""
    side = np.repeat([1.0, -1.0], n // 2)
    flat = rng.random((len(side), 2))
    return np.column_stack([flat, side * thickness / 2]), np.column_stack([0 * flat, side])


def wrong(found, normals):
    return float(np.mean(np.sum(found.normals * normals, axis=1) < 0))


def angle(found, normals):
    """Mean angle to the true normals, up to sign, in degrees."""
    return float(np.degrees(np.arccos(np.clip(np.abs(np.sum(found.normals * normals, axis=1)), 0, 1))).mean())


@pytest.mark.parametrize(("shape", "most"), [(sphere, 0.1), (torus, 1.5)])
def test_closed_shapes_look_outwards(shape, most, rng):
    points, normals = shape(3000, rng)
    found = estimate_normals(points)
    assert found.oriented == "outwards"
    assert wrong(found, normals) == 0.0
    assert angle(found, normals) < most
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, rtol=1e-12)
    assert found.confidence.min() >= 0 and found.confidence.max() <= 1 and np.median(found.confidence) > 0.9


def test_a_convex_polyhedron_agrees_with_its_facets(rng):
    """Inside facets, normals are those of Qhull."""
    corners = sphere(12, rng)[0]
    hull = ConvexHull(corners)
    triangles = corners[hull.simplices]
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    facet = rng.choice(len(triangles), 8000, p=area / area.sum())
    weights = rng.dirichlet([1, 1, 1], 8000)
    found = estimate_normals(np.einsum("ij,ijk->ik", weights, triangles[facet]))
    normals = hull.equations[facet, :3]
    inside = weights.min(axis=1) > 0.15
    assert wrong(found, normals) < 0.002
    assert (np.sum(found.normals * normals, axis=1)[inside] > 0.999).mean() > 0.98


def test_noise_calls_for_more_neighbors(rng):
    points, normals = sphere(5000, rng)
    clean = estimate_normals(points)
    noise = 0.02 * rng.standard_normal(points.shape)
    noisy, fixed = estimate_normals(points + noise), estimate_normals(points + noise, n_neighbors=clean.n_neighbors)
    assert noisy.n_neighbors > 3 * clean.n_neighbors
    assert wrong(noisy, normals) == 0.0
    assert angle(noisy, normals) < 5.0 < 20.0 < angle(fixed, normals)


def test_outliers_do_not_tilt_the_others(rng):
    points, normals = sphere(4000, rng)
    found = estimate_normals(np.vstack([points, rng.uniform(-1.5, 1.5, (80, 3))]))
    angles = np.degrees(np.arccos(np.clip(np.sum(found.normals[:4000] * normals, axis=1), -1, 1)))
    assert np.quantile(angles, 0.95) < 1.0
    assert np.median(found.confidence[4000:]) < 0.5 * np.median(found.confidence[:4000])


def test_quadrics_are_exact_on_a_paraboloid_and_planes_are_not(rng):
    xy = rng.uniform(-1, 1, (2000, 2))
    points = np.column_stack([xy, 0.6 * xy[:, 0] ** 2 - 0.4 * xy[:, 0] * xy[:, 1]])
    slopes = np.column_stack([1.2 * xy[:, 0] - 0.4 * xy[:, 1], -0.4 * xy[:, 0]])
    normals = np.column_stack([-slopes, np.ones(2000)]) / np.sqrt(1 + (slopes**2).sum(axis=1, keepdims=True))
    inner = np.abs(xy).max(axis=1) < 0.8
    found = (estimate_normals(points, n_neighbors=24, fit=fit) for fit in ("quadric", "plane"))
    errors = [angle(cloud[inner], normals[inner]) for cloud in found]
    assert errors[0] < 0.2 * errors[1]


def test_parts_look_outwards_and_hollows_inwards(rng):
    first, second, hollow = sphere(2000, rng), sphere(1000, rng, 0.5, (10, 0, 0)), sphere(800, rng, 0.5)
    points, normals = (np.vstack([a, b, c]) for a, b, c in zip(first, second, hollow, strict=True))
    normals[3000:] *= -1.0
    found = estimate_normals(points + FAR)
    assert found.oriented == "outwards"
    assert wrong(found, normals) == 0.0


def test_sheets_of_a_thin_slab_look_apart(rng):
    points, normals = slab(8000, rng, 0.05)
    found = estimate_normals(points)
    assert wrong(found, normals) < 0.005
    inner = np.abs(points[:, :2] - 0.5).max(axis=1) < 0.45
    assert wrong(found[inner], normals[inner]) == 0.0


def test_a_flat_patch_has_no_outside(rng):
    flat = rng.random((2000, 2))
    for points in (
        np.column_stack([flat, 0 * flat[:, 0]]),
        np.column_stack([flat, 0.1 * np.sin(9 * flat[:, 0]) * np.cos(7 * flat[:, 1])]),
    ):
        found = estimate_normals(points)
        assert found.oriented == "consistent"
        assert (found.normals[:, 2] > 0).all()


def test_normals_look_at_the_sensor(rng):
    flat = rng.random((2000, 2))
    points = np.column_stack([flat, 0.1 * np.sin(9 * flat[:, 0])])
    below = estimate_normals(points, sensor=[0.5, 0.5, -3.0])
    assert below.oriented == "sensor"
    assert (below.normals[:, 2] < 0).all()
    ball, normals = sphere(2000, rng)
    assert wrong(estimate_normals(ball, sensor=np.zeros(3)), -normals) == 0.0
    assert wrong(estimate_normals(ball, sensor=3.0 * ball), normals) == 0.0


def test_scan_lines_settle_the_signs(rng):
    """Lines over a ball seen from above: like the ball; over a surface with no outside: all one way."""
    line, along = np.mgrid[0:60, 0:60]
    x, y = (line / 30 - 1).ravel(), (along / 30 - 1).ravel()
    seen = x**2 + y**2 < 0.9
    ball = np.column_stack([x, y, np.sqrt(np.where(seen, 1 - x**2 - y**2, 0))])[seen]
    found = estimate_normals(ball, scan_lines=line.ravel()[seen])
    assert found.oriented == "scan lines"
    assert wrong(found, ball) == 0.0
    waves = np.column_stack([x, y, 0.2 * np.sin(4 * x) * np.cos(5 * y)])
    found = estimate_normals(waves, scan_lines=-line.ravel())
    assert found.oriented == "consistent"
    assert (found.normals[:, 2] > 0).all()


def test_winding_numbers_agree_with_sums_written_out(rng):
    points = torus(700, rng)[0]
    sources = _Sources(points, np.full(700, 0.1))
    x = sources.points
    moments, strength = rng.standard_normal((700, 3)), rng.random(700)
    step = x[None] - x[:, None]
    kernel = step / np.maximum(np.linalg.norm(step, axis=2), 0.1)[:, :, None] ** 3
    values, field = np.einsum("ijk,jk->i", kernel, moments), np.einsum("ijk,i->jk", kernel, strength)
    found_values, found_field = sources.winding(moments), sources.transposed(strength, x)
    assert np.linalg.norm(found_values - values) < 0.1 * np.linalg.norm(values)
    assert np.linalg.norm(found_field - field) < 0.1 * np.linalg.norm(field)
    matrix = np.einsum("ijk,ljk->il", kernel, kernel)
    matrix[np.diag_indices(700)] *= 2.0
    solution = np.linalg.solve(matrix, np.full(700, 0.5))
    assert np.linalg.norm(sources.solve(0.5, 2.0) - solution) < 0.15 * np.linalg.norm(solution)


def test_winding_directions_need_no_normals(rng):
    points, normals = torus(2000, rng)
    directions = winding_directions(points, np.full(2000, 0.08))
    assert (np.sum(directions * normals, axis=1) > 0.5).mean() > 0.99


def test_signs_recover_what_was_flipped(rng):
    """A grid of agreements, some of them wrong: nearly all signs come back."""
    side = 40
    node = np.arange(side * side).reshape(side, side)
    low = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel(), node[:-1, :-1].ravel(), node[:-1, 1:].ravel()])
    high = np.concatenate([node[:, 1:].ravel(), node[1:].ravel(), node[1:, 1:].ravel(), node[1:, :-1].ravel()])
    truth = rng.choice([-1.0, 1.0], side * side)
    agreement = truth[low] * truth[high] * rng.uniform(0.2, 1.0, len(low))
    agreement[rng.random(len(low)) < 0.04] *= -1.0
    signs, part = consistent_signs(Graph(side * side, low, high, agreement, np.abs(agreement)), 0.01 * truth)
    assert (part == 0).all()
    assert (signs == truth).mean() > 0.97
    energy = [np.sum(agreement * s[low] * s[high]) for s in (signs, truth)]
    assert energy[0] > 0.99 * energy[1]


def test_rigid_motion_and_scale_turn_the_normals_along(rng):
    points, _ = torus(1500, rng)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    moved = 1e-4 * points @ turn.T + 7.0
    before, after = estimate_normals(points), estimate_normals(moved)
    assert after.n_neighbors == before.n_neighbors
    np.testing.assert_allclose(after.normals, before.normals @ turn.T, atol=2e-3)  # sums over a tree are not exact
    before, after = estimate_normals(points, orient=False), estimate_normals(moved, orient=False)
    cosine = np.abs(np.sum(after.normals * (before.normals @ turn.T), axis=1))
    np.testing.assert_allclose(cosine, 1.0, atol=1e-9)


def test_duplicates_and_invalid_rows_keep_their_places(rng):
    points, normals = sphere(1000, rng)
    rows = np.concatenate([np.arange(1000), np.arange(300), np.full(40, 7)])
    cloud = PointCloud(points[rows], colors=rng.random((1340, 3)), attributes={"time": np.arange(1340)})
    cloud.points[1200] = np.nan
    with pytest.warns(UserWarning, match="1 of 1340 points have NaN"):
        found = estimate_normals(cloud)
    assert np.isnan(found.normals[1200]).all() and found.confidence[1200] == 0.0
    kept = np.arange(1340) != 1200
    assert wrong(found[kept], normals[rows][kept]) == 0.0
    np.testing.assert_array_equal(found.normals[7], found.normals[1339])
    np.testing.assert_array_equal(found.colors, cloud.colors)
    part = found[[5, 2]]
    assert part.attributes["time"].tolist() == [5, 2] and part.oriented == "outwards"
    np.testing.assert_array_equal(part.confidence, found.confidence[[5, 2]])


def test_points_in_doubt_have_low_confidence(rng):
    points, _ = sphere(2000, rng)
    line = np.column_stack([np.linspace(2, 4, 60), np.zeros(60), np.zeros(60)])
    found = estimate_normals(np.vstack([points, line, [[0.0, 0.0, 30.0]]]))
    assert found.confidence[2005:2055].max() < 0.1
    assert found.confidence[-1] < 0.3
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0)


def test_few_points():
    octahedron = np.vstack([np.eye(3), -np.eye(3)])
    found = estimate_normals(octahedron)
    assert wrong(found, octahedron) == 0.0
    assert np.isfinite(estimate_normals(octahedron[:4]).normals).all()
    assert estimate_normals(octahedron, orient=False).oriented == "no"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.eye(3)}, "at least 4 valid points, got 3"),
        ({"points": np.full((9, 3), np.nan)}, "at least 4 valid points, got 0"),
        ({"points": np.ones((50, 3))}, "all points are the same"),
        ({"points": np.outer(np.arange(50.0), [1, 2, 3])}, "all points lie on a line"),
        ({"points": np.repeat(np.eye(3), 5, axis=0)}, "at least 4 distinct points, got 3"),
        ({"points": np.zeros((5, 4))}, "points must be an array"),
        ({"n_neighbors": 51}, "n_neighbors must be a whole number from 4 to the number of distinct points, 50, got 51"),
        ({"n_neighbors": 3}, "n_neighbors must be a whole number from 4"),
        ({"n_neighbors": 8.5}, "n_neighbors must be a whole number"),
        ({"fit": "cubic"}, "fit must be 'quadric' or 'plane', got 'cubic'"),
        ({"sensor": np.zeros((3, 3))}, "sensor must have shape"),
        ({"sensor": [0.0, 0.0, np.nan]}, "sensor must be finite"),
        ({"scan_lines": np.arange(3)}, "scan_lines must be a whole number for each of the 50 points"),
        ({"scan_lines": np.zeros(50, dtype=int)}, "scan_lines must have two lines or more"),
        ({"scan_lines": np.arange(50), "sensor": np.zeros(3)}, "sensor or scan_lines, not both"),
    ],
)
@pytest.mark.filterwarnings("ignore:9 of 9 points")
def test_bad_input_is_named(change, message, rng):
    arguments = {"points": rng.random((50, 3)), **change}
    with pytest.raises(ValueError, match=message):
        estimate_normals(**arguments)


def test_many_neighbors_are_merged_without_loss(rng):
    """Fits to merged points are as good as fits to all of them, which are planes through the noise of many points."""
    points, normals = sphere(20_000, rng)
    noisy = points + 0.02 * rng.standard_normal(points.shape)
    hood = Neighborhoods(noisy, np.ones(20_000), n_neighbors=200)
    assert hood._count < 100
    assert angle(hood.fit(), normals) < 2.5


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_same_bits_for_any_number_of_threads(noise, rng):
    points, _ = sphere(3000, rng)
    points = points * [1, 2, 3] + noise * rng.standard_normal(points.shape)
    with limited_threads(1):
        alone = estimate_normals(points)
    for threads in (2, 4):
        with limited_threads(threads):
            found = estimate_normals(points)
        assert found.n_neighbors == alone.n_neighbors
        np.testing.assert_array_equal(found.normals, alone.normals)
        np.testing.assert_array_equal(found.confidence, alone.confidence)
