"""Surfaces from oriented points: exactness, convergence, invariances, choices, bad input."""

import warnings

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import special_ortho_group

from seminorm._base.threads import limited_threads
from seminorm.clouds import as_cloud
from seminorm.clouds.frames import time_scale_of_motion
from seminorm.clouds.sampling import OrientedPoints
from seminorm.shapes import Sphere, Torus
from seminorm.surfaces import MovingSurface, Surface, reconstruct, reconstruct_moving


def sphere(n, seed=0):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, points.copy()


def torus(n, seed=0, major=1.0, minor=0.4):
    rng = np.random.default_rng(seed)
    u = rng.uniform(0, 2 * np.pi, 4 * n)
    v = rng.uniform(0, 2 * np.pi, 4 * n)
    v = v[rng.random(4 * n) < (major + minor * np.cos(v)) / (major + minor)][:n]  # uniform on the surface
    u = u[: len(v)]
    normals = np.stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)], axis=1)
    return np.stack([major * np.cos(u), major * np.sin(u), 0 * u], axis=1) + minor * normals, normals


def error(mesh, shape):
    """Mean distance of the vertices from a shape whose function is a distance."""
    return np.abs(shape(mesh.vertices)).mean()


SPHERE, TORUS = Sphere([0, 0, 0], 1.0), Torus([0, 0, 0], [0, 0, 1], 1.0, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
def test_a_torus_converges(order):
    """Points and depth grow together; the error falls by more than four when the spacing is halved."""
    errors = []
    for n in (300, 1200, 4800):
        mesh = reconstruct(*torus(n), order=order).mesh()
        assert mesh.is_watertight
        assert mesh.genus == 1
        errors.append(error(mesh, TORUS))
    assert errors[0] < 0.015
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3


@pytest.mark.slow
def test_a_sphere_is_found_by_order_3_to_many_digits():
    surface = reconstruct(*sphere(500), order=3)
    mesh = surface.mesh()
    assert error(mesh, SPHERE) < 1e-3
    assert mesh.is_watertight and mesh.genus == 0 and mesh.volume > 0
    at = np.array([[0.0, 0, 0], [0, 0, 0.95], [0, 0, 1.05], [1.5, 0, 0]])
    assert surface.inside(at).tolist() == [True, True, False, False]
    np.testing.assert_allclose(surface.gradient(sphere(50, seed=1)[0]), sphere(50, seed=1)[0], atol=0.05)


@pytest.mark.slow
def test_a_union_of_balls():
    shape = Sphere([0, 0, 0], 1.0) | Sphere([1.2, 0, 0], 0.7)
    points = np.concatenate([sphere(4000)[0], sphere(2000, seed=1)[0] * 0.7 + [1.2, 0, 0]])
    points = points[np.abs(shape(points)) < 1e-9]
    mesh = reconstruct(points, shape.gradient(points)).mesh()
    assert mesh.is_watertight and mesh.genus == 0
    assert np.abs(shape(mesh.vertices)).mean() < 2e-3


@pytest.mark.slow
def test_a_plane_patch_is_flat():
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(-1, 1, (800, 2)), np.zeros(800)])
    surface = reconstruct(points, np.tile([0.0, 0, 1], (800, 1)))
    at = np.column_stack([rng.uniform(-1.2, 1.2, (100, 2)), np.zeros(100)])
    np.testing.assert_allclose(surface(at), 0.0, atol=1e-3)
    assert not surface.inside(at + [0, 0, 0.1]).any()
    assert surface.inside(at - [0, 0, 0.1]).all()


@pytest.mark.slow
def test_moves_turns_and_dilates_with_the_data():
    points, normals = torus(800)
    turn = special_ortho_group.rvs(3, random_state=0)
    plain = reconstruct(points, normals, depth=5)
    moved = reconstruct(1e3 * points + [5e5, -3e6, 100.0], normals, depth=5)
    assert moved.details["smoothness"] == pytest.approx(1e3 * plain.details["smoothness"], rel=1e-6)
    np.testing.assert_allclose(moved(1e3 * points + [5e5, -3e6, 100.0]) / 1e3, plain(points), atol=2e-4)
    turned = reconstruct(points @ turn, normals @ turn, depth=5)
    assert error(turned.mesh(), TORUS.rotate(turn.T)) < 5e-3


@pytest.mark.slow
def test_noise_is_smoothed_and_exact_points_are_not():
    rng = np.random.default_rng(1)
    points, normals = torus(3000)
    clean = reconstruct(points, normals)
    noisy_points = points + 0.02 * rng.standard_normal(points.shape)
    noisy_normals = normals + 0.2 * rng.standard_normal(points.shape)
    noisy = reconstruct(noisy_points, noisy_normals)
    assert noisy.details["smoothness"] > 2 * clean.details["smoothness"]
    mesh = noisy.mesh()
    assert mesh.components()[1] == 1 and mesh.is_watertight and mesh.genus == 1
    assert error(mesh, TORUS) < 0.5 * np.abs(TORUS(noisy_points)).mean()
    assert error(clean.mesh(), TORUS) < 1e-3


@pytest.mark.slow
def test_a_hole_is_filled_smoothly():
    points, normals = sphere(1500)
    away = points[:, 2] < 0.8
    mesh = reconstruct(points[away], normals[away]).mesh()
    assert mesh.is_watertight and mesh.genus == 0
    assert np.abs(SPHERE(mesh.vertices)).max() < 0.02


@pytest.mark.slow
def test_uneven_sampling_does_not_matter():
    points, normals = sphere(4000)
    rare = (points[:, 0] < 0) | (np.random.default_rng(0).random(4000) < 0.1)
    ready = OrientedPoints.prepare(points[rare], normals[rare])
    assert (ready.area * ready.size**2).sum() == pytest.approx(4 * np.pi, rel=0.15)
    assert error(reconstruct(points[rare], normals[rare]).mesh(), SPHERE) < 2e-3


@pytest.mark.slow
def test_confidence_and_lengths_of_normals():
    points, normals = sphere(1500)
    wrong = np.arange(1500) % 5 == 0
    shifted = np.where(wrong[:, None], 1.2 * points, points)
    options = {"smoothness": 0.02, "tolerance": 0.05, "outliers": "keep"}
    plain = error(reconstruct(shifted, normals, **options).mesh(), SPHERE)
    trusted = reconstruct(shifted, normals, confidence=np.where(wrong, 1e-6, 1.0), **options)
    assert error(trusted.mesh(), SPHERE) < 0.2 * plain
    by_length = reconstruct(shifted, np.where(wrong[:, None], 1e-6, 1.0) * normals, confidence="normals", **options)
    np.testing.assert_allclose(by_length(points), trusted(points), atol=1e-5)


def test_normals_that_are_no_normals_get_a_warning(rng):
    points, normals = sphere(500)
    with pytest.warns(UserWarning, match="leave the normals out"):
        reconstruct(points, rng.standard_normal((500, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reconstruct(points, normals)


@pytest.mark.slow
def test_given_values_are_used_and_reported():
    points, normals = sphere(400)
    surface = reconstruct(points, normals, depth=4, smoothness=0.05, tolerance=0.1, order=2)
    assert surface.field.depth == 4
    for name, value in {"depth": 4, "smoothness": 0.05, "tolerance": 0.1, "order": 2}.items():
        assert surface.details[name] == pytest.approx(value)
    assert surface.details["trials"] == []
    finer = reconstruct(points, normals, resolution=0.07)
    assert finer.resolution <= 0.07 < 2 * finer.resolution


@pytest.mark.slow
def test_the_same_bytes_for_any_number_of_threads():
    points, normals = torus(1000)
    meshes = set()
    for threads in (1, 2, 4):
        with limited_threads(threads):
            mesh = reconstruct(points, normals).mesh()
        meshes.add((mesh.vertices.tobytes(), mesh.faces.tobytes()))
    assert len(meshes) == 1


@pytest.mark.slow
def test_clouds_with_normals_and_columns():
    points, normals = sphere(300)
    for given in (np.column_stack([points, normals]), as_cloud(points, normals)):
        assert isinstance(reconstruct(given, depth=3), Surface)


@pytest.mark.slow
def test_a_moving_ball_between_its_frames():
    frames = np.linspace(0, 1, 5)
    points, normals, times = [], [], []
    for k, time in enumerate(frames):
        unit, _ = sphere(250, seed=k)
        points.append((1 + 0.5 * time) * unit + [2 * time, 0, 0])
        normals.append(unit)
        times.append(np.full(250, time))
    moving = reconstruct_moving(*map(np.concatenate, (points, normals, times)), depth=2)
    assert isinstance(moving, MovingSurface)
    for time in (0.0, 0.3, 0.85):
        shape = moving.at(time)
        ball = Sphere([2 * time, 0, 0], 1 + 0.5 * time)
        on = ball.project(sphere(100, seed=9)[0] * 0.9 * (1 + 0.5 * time) + [2 * time, 0, 0])
        assert np.abs(shape(on)).mean() < 0.03
        assert shape.inside([[2 * time, 0.0, 0.0]]).all()
    with pytest.raises(ValueError, match=r"time=99.0 is beyond the times"):
        moving.at(99.0)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth must be 'auto' or a whole number"),
        ({"depth": 4, "resolution": 0.1}, "depth or resolution, not both"),
        ({"resolution": -1.0}, "resolution must be a positive length"),
        ({"smoothness": 0.0}, "smoothness must be a positive length"),
        ({"smoothness": "much"}, "smoothness must be a positive length"),
        ({"tolerance": np.nan}, "tolerance must be a positive length"),
        ({"order": 4}, "order must be 2, 3 or 'auto'"),
        ({"tol": 0.0}, "tol must be a positive number, got 0.0"),
        ({"max_iter": "many"}, "max_iter must be a positive number, got 'many'"),
        ({"memory_limit": -1}, "memory_limit must be a positive number, got -1"),
        ({"confidence": "normal"}, "confidence must be one number per point or 'normals'"),
        ({"confidence": np.ones(3)}, "confidence must have one number for each"),
        ({"confidence": np.zeros(100)}, "not all zero"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        reconstruct(*sphere(100), **options)


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        (np.ones(3), {}, "times must have one number for each"),
        (np.ones(100), {}, "not all the same"),
        (np.arange(100.0), {"time_scale": -1.0}, "time_scale must be a positive length or 'auto', got -1.0"),
        (np.arange(100.0), {"order": 4}, "order must be 2, 3 or 'auto'"),
        (np.arange(100.0), {"depth": 0}, "depth must be 'auto' or a whole number"),
    ],
)
def test_wrong_options_of_moving_surfaces(times, options, message):
    with pytest.raises(ValueError, match=message):
        reconstruct_moving(*sphere(100), times, **options)


def test_wrong_points():
    points, normals = sphere(100)
    with pytest.raises(ValueError, match=r"at least 10 valid points.*got 5"):
        reconstruct(points[:5], normals[:5])
    with pytest.raises(ValueError, match=r"all points are the same"):
        reconstruct(np.zeros((20, 3)), normals[:20])
    damaged = points.copy()
    damaged[3] = np.nan
    zero = normals.copy()
    zero[[5, 6]] = 0.0
    with pytest.warns(UserWarning, match=r"3 of 100 points were left out: 1 with NaN.*2 whose normal is zero"):
        surface = reconstruct(damaged, zero, depth=3)
    assert surface.details["dropped"] == {"coordinates": 1, "normals": 2}


# -- motion ----------------------------------------------------------------------------------------------------------


def growing_balls(speed, n=250, frames=4):
    """Unit normals, points and times of a ball that grows."""
    normals = np.random.default_rng(0).standard_normal((frames * n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    times = np.repeat(np.arange(float(frames)), n)
    return normals * (1.0 + speed * times)[:, None], normals, times


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_time_counts_three_times_as_far_as_the_surface_moves(unit):
    points, normals, times = growing_balls(0.2)
    assert time_scale_of_motion(unit * points, normals, times) == pytest.approx(0.6 * unit, rel=0.1)
    assert time_scale_of_motion(points, normals, times / 10) == pytest.approx(6.0, rel=0.1)


def test_what_does_not_move_keeps_a_time_scale():
    points, normals, times = growing_balls(0.0)
    scale = time_scale_of_motion(points, normals, times)
    spacing = np.median(cKDTree(points[:250]).query(points[:250], k=2)[0][:, 1])
    assert spacing / 3 * 0.5 < scale < 10 * spacing


@pytest.mark.slow
def test_a_moment_has_a_speed_and_an_open_mesh():
    points, normals, times = growing_balls(0.2)
    upper = points[:, 2] > 0.0
    lengths = {"smoothness": 0.02, "tolerance": 0.02}
    moving = reconstruct_moving(points[upper], normals[upper], times[upper], depth=4, **lengths)
    moment = moving.at(1.5)
    pole = np.array([[0.0, 0.0, 1.3], [0.6, 0.0, np.sqrt(1.3**2 - 0.36)]])
    np.testing.assert_allclose(moment.speed(pole), 0.2, rtol=0.1)
    mesh = moment.mesh(boundary="open")
    assert not mesh.is_watertight
    radii = np.linalg.norm(mesh.vertices, axis=1)
    assert np.abs(radii - 1.3).max() < 0.05
    assert mesh.vertices[:, 2].min() > -0.6
    assert not moment.mesh().is_watertight
    assert moment.mesh(boundary="closed").is_watertight
