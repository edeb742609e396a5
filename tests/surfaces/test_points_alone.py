"""Surfaces from points without normals, from end to end."""

from functools import partial

import numpy as np
import pytest

from seminorm import reconstruct, reconstruct_moving
from seminorm.clouds import estimate_normals


def sphere(n=1500, seed=0, center=(0.0, 0.0, 0.0)):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True) + center


def torus(n=3000, seed=0):
    u, v = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    ring = 1 + 0.35 * np.cos(v)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), 0.35 * np.sin(v)])


def from_torus(points, ring, tube):
    """Signed distance of points from a torus around the z axis."""
    return np.hypot(np.hypot(points[:, 0], points[:, 1]) - ring, points[:, 2]) - tube


def genus(mesh):
    edges = np.unique(np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    return 1 - (len(mesh.vertices) - len(edges) + len(mesh.faces)) // 2


@pytest.mark.slow
def test_a_torus_comes_out_as_a_torus():
    surface = reconstruct(torus())
    mesh = surface.mesh()
    assert mesh.is_watertight and genus(mesh) == 1
    assert abs(mesh.volume - 2 * np.pi**2 * 0.35**2) < 0.01
    assert surface([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])[0] > 0 > surface([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])[1]
    assert "estimated" in surface.details["normals"] and "outwards" in surface.details["normals"]


@pytest.mark.slow
def test_close_to_the_surface_of_true_normals():
    points = sphere(500)
    alone, known = reconstruct(points), reconstruct(points, points)
    probes = sphere(4000, seed=1)
    assert np.abs(alone(probes)).mean() < max(1.5 * np.abs(known(probes)).mean(), 2e-4)
    assert known.details["normals"] == "given"


@pytest.mark.slow
def test_noise_and_a_hole():
    points = sphere(3000) + 0.01 * np.random.default_rng(5).standard_normal((3000, 3))
    points = points[points[:, 2] < 0.8]
    mesh = reconstruct(points).mesh()
    assert mesh.is_watertight and genus(mesh) == 0
    assert abs(mesh.volume - 4 / 3 * np.pi) < 0.15


def test_fifty_points_of_a_torus():
    surface = reconstruct(torus(50, seed=1))
    mesh = surface.mesh()
    assert mesh.is_watertight and genus(mesh) == 1
    assert abs(mesh.volume - 2 * np.pi**2 * 0.35**2) < 0.2
    assert surface.details["normals"] == "estimated from all 50 points at once, signs: outwards"
    assert surface.details["estimation"]["certified"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, most", [("multisample_n25", 1.0), ("multisample_n50", 0.5), ("halfsamplel500_r25", 0.5)]
)
def test_few_points_of_a_torus_as_others_sampled_it(name, most, data_folder):
    """Bars: 1 % of the diagonal for 25 points, 0.5 % for others, and the hole."""
    with np.load(data_folder / "surfaces" / "vipss" / "torus.npz") as content:
        points, vertices = content[name], content["vertices"]
    mesh = reconstruct(points).mesh()
    outer, tube = np.abs(vertices[:, 0]).max(), np.abs(vertices[:, 2]).max()
    assert np.allclose(from_torus(vertices, outer - tube, tube), 0.0, atol=1e-6)
    assert mesh.is_watertight and genus(mesh) == 1
    away = from_torus(mesh.vertices, outer - tube, tube)
    assert np.abs(away).mean() < most / 100 * np.linalg.norm(np.ptp(vertices, axis=0))


@pytest.mark.slow
def test_isolated_points_are_no_outliers_if_the_surface_needs_them():
    """Of a torus of which one half is dense and the other sparse, nothing is set aside; of a dirty one, the dirt."""
    points = torus(900, seed=4)
    rng = np.random.default_rng(0)
    uneven = points[(points[:, 0] > 0) & (rng.random(900) < 0.6) | (rng.random(900) < 0.06)]
    assert not reconstruct(uneven).details["outliers"]
    dirt = rng.uniform(-1.4, 1.4, (10, 3))
    with pytest.warns(UserWarning, match="points do not lie on a surface"):
        dirty = reconstruct(np.concatenate([points[:300], dirt]))
    assert len(dirty.details["outliers"]) >= 7


@pytest.mark.slow
def test_two_far_components_both_look_outwards():
    points = np.concatenate([sphere(800), sphere(800, seed=1, center=(20.0, 0.0, 0.0))])
    surface = reconstruct(points)
    centers = np.array([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [10.0, 0.0, 0.0]])
    assert (np.sign(surface(centers)) == [-1, -1, 1]).all()
    assert abs(surface.mesh().volume - 8 / 3 * np.pi) < 0.3


@pytest.mark.slow
def test_a_plane_patch_has_no_inside():
    xy = np.random.default_rng(2).uniform(-1, 1, (800, 2))
    patch = np.column_stack([xy, np.zeros(800)])
    with pytest.warns(UserWarning, match="do not show which side is the inside"):
        surface = reconstruct(patch)
    mesh = surface.mesh(boundary="open")
    assert np.abs(mesh.vertices[:, 2]).max() < 0.01


@pytest.mark.slow
def test_a_sensor_settles_the_patch():
    xy = np.random.default_rng(2).uniform(-1, 1, (800, 2))
    patch = np.column_stack([xy, np.zeros(800)])
    surface = reconstruct(patch, sensor=[0.0, 0.0, -3.0])
    assert surface([[0.0, 0.0, -0.2]])[0] > 0 > surface([[0.0, 0.0, 0.2]])[0]


@pytest.mark.slow
def test_duplicates_change_little():
    points = sphere(700)
    twice = reconstruct(np.concatenate([points, points[:300]])).mesh()
    assert twice.is_watertight and abs(twice.volume - 4 / 3 * np.pi) < 0.05


@pytest.mark.filterwarnings("ignore:40 of 40 points have NaN")
@pytest.mark.parametrize(
    "points, message",
    [
        (np.eye(4)[:, :3], "at least 10 points, got 4"),
        (np.ones((50, 3)), "same|coincide"),
        (np.linspace(0, 1, 60)[:, None] * [1.0, 2.0, 3.0], "line"),
        (np.full((40, 3), np.nan), "finite|NaN|valid"),
    ],
)
def test_bad_input(points, message):
    with pytest.raises(ValueError, match=message):
        reconstruct(points)


def test_sensor_with_normals_and_times_without():
    points = sphere(100)
    with pytest.raises(ValueError, match="sensor orients normals that are estimated"):
        reconstruct(points, points, sensor=[0.0, 0.0, 9.0])
    with pytest.raises(ValueError, match="100 points have 4 times: give normals"):
        reconstruct_moving(points, None, np.repeat(np.arange(4.0), 25))


@pytest.mark.slow
def test_settled_normals_are_better(monkeypatch):
    """On exact sparse points, rounds of fits with their own normals turn the gradients towards the truth."""
    from seminorm.surfaces import chosen_fit, preparation

    monkeypatch.setattr(preparation, "estimate_normals", partial(estimate_normals, method="propagation"))
    points = torus(600, seed=3)
    ring = np.hypot(points[:, 0], points[:, 1])
    middle = points * [1, 1, 0] / ring[:, None]
    truth = (points - middle) / 0.35
    angles = {}
    for rounds in (0, 3):
        monkeypatch.setattr(chosen_fit, "_ROUNDS", rounds)
        slopes = reconstruct(points).gradient(points)
        slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
        angles[rounds] = np.arccos(np.clip((slopes * truth).sum(axis=1), -1, 1)).mean()
    assert angles[3] < angles[0]


@pytest.mark.slow
def test_clouds_with_estimated_normals_are_taken_as_they_are():
    cloud = estimate_normals(sphere(600))
    assert reconstruct(cloud).details["normals"] == "given"
