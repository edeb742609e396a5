"""Normals of the smoothest function: against exact interpolants, brute force, and shapes whose normals are known."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from seminorm.clouds import estimate_normals
from seminorm.clouds.normals.variational import DegenerateTrendError, GradientCovariance, smoothest_normals
from seminorm.functions import Functional, design, gram
from seminorm.solvers.unit_blocks import descend, energy, is_global_minimum


def sphere(n, seed=0, center=(0.0, 0.0, 0.0), radius=1.0):
    points = np.random.default_rng(seed).standard_normal((n, 3))
    return radius * points / np.linalg.norm(points, axis=1, keepdims=True) + center


def torus(n, rng):
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    normals = np.column_stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    return np.column_stack([np.cos(u), np.sin(u), np.zeros(n)]) + 0.35 * normals, normals


def moebius(n, rng):
    t, w = rng.uniform(0, 2 * np.pi, n), rng.uniform(-0.3, 0.3, n)
    ring = 1 + w * np.cos(t / 2)
    return np.column_stack([ring * np.cos(t), ring * np.sin(t), w * np.sin(t / 2)])


def outwards(normals, directions):
    return (np.sum(normals * directions, axis=1) > 0).mean()


def saddle(covariance, alpha, X=None):
    """The matrix of the exact interpolant with noise in the values, and the functionals of it and of other places."""
    n = covariance.shape[0]
    functionals = [*covariance.functionals, *([] if X is None else [Functional(X)])]
    G, P = gram(covariance.kernel, functionals), design(covariance.space, functionals)
    known = 4 * n
    S = G[:known, :known].copy()
    S[np.diag_indices(n)] += alpha
    rank = P.shape[1]
    return np.block([[S, P[:known]], [P[:known].T, np.zeros((rank, rank))]]), G, P


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("degree", [1, 2])
def test_energy_is_that_of_the_exact_hermite_interpolant(degree, alpha, rng):
    X, normals = rng.uniform(-1, 1, (25, 3)), sphere(25, 1)
    covariance = GradientCovariance(X, degree)
    form = covariance.energy(alpha)
    f = form.function(normals)
    assert np.allclose(f.gradient(X), normals, atol=1e-8)
    noise = 0.0 if alpha == 0 else f(X) @ f(X) / alpha
    assert np.isclose(energy(form.Q, normals), f.seminorm() ** 2 + noise)
    matrix, *_ = saddle(covariance, alpha)
    right = np.concatenate([np.zeros(25), normals.ravel(), np.zeros(len(matrix) - 100)])
    assert np.isclose(energy(form.Q, normals), right @ np.linalg.solve(matrix, right))


def test_variance_is_that_of_kriging(rng):
    X, places = rng.uniform(-1, 1, (15, 3)), rng.uniform(-2, 2, (6, 3))
    covariance = GradientCovariance(X)
    matrix, G, P = saddle(covariance, 1e-3, places)
    right = np.concatenate([G[:60, 60:], P[60:].T])
    expected = np.diag(G[60:, 60:]) - (right * np.linalg.solve(matrix, right)).sum(axis=0)
    assert np.allclose(covariance.energy(1e-3).variance(places), expected)


def test_certificate_against_brute_force_on_ten_points():
    """No descent from any signs of the right normals, or from anywhere, ends below what is certified."""
    X = sphere(10, 3) / 3
    form = GradientCovariance(X).energy(1e-8)
    found = smoothest_normals(X)
    assert found.certified
    normals = descend(form.Q, found.normals)
    assert is_global_minimum(form.Q, normals, 0.01)
    starts = [np.array((1, *signs))[:, None] * X for signs in product((-1, 1), repeat=9)][::16]
    starts += [sphere(10, seed) for seed in range(20)]
    least = min(energy(form.Q, descend(form.Q, start)) for start in starts)
    assert least >= 0.99 * energy(form.Q, normals)


@pytest.mark.parametrize("n", [10, 40, 150])
def test_spheres(n):
    points = sphere(n)
    cloud = estimate_normals(points)
    assert cloud.oriented == "outwards" and cloud.details["method"] == "variational" and cloud.details["certified"]
    assert np.sum(cloud.normals * points, axis=1).min() > (0.8 if n == 10 else 0.98)
    assert cloud.source == f"all {n} points at once"


def test_a_torus_of_sixty_points(rng):
    points, normals = torus(60, rng)
    cloud = estimate_normals(points)
    assert np.median(np.sum(cloud.normals * normals, axis=1)) > 0.97
    assert outwards(cloud.normals, normals) == 1.0 and cloud.details["gap"] < 0.01


def test_curves_on_a_torus(rng):
    """Rings around a tube: neighbours lie on a line, and show no normals."""
    u, v = np.meshgrid(2 * np.pi * np.arange(12) / 12, 2 * np.pi * np.arange(24) / 24, indexing="ij")
    u, v = u.ravel(), v.ravel()
    normals = np.column_stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)])
    points = np.column_stack([np.cos(u), np.sin(u), np.zeros(len(u))]) + 0.35 * normals
    cloud = estimate_normals(points + 1e-3 * rng.standard_normal(points.shape))
    assert outwards(cloud.normals, normals) == 1.0


@pytest.mark.parametrize("apart", [2.0, 2.4, 20.0])
def test_two_spheres_touching_and_apart(apart):
    center = np.array([apart, 0.0, 0.0])
    points = np.concatenate([sphere(100), sphere(100, 1, center)])
    cloud = estimate_normals(points)
    directions = points - np.repeat([np.zeros(3), center], 100, axis=0)
    assert outwards(cloud.normals, directions) == 1.0 and cloud.oriented == "outwards"


def test_nested_spheres_are_a_shell():
    points = np.concatenate([sphere(150), sphere(80, 1, radius=0.5)])
    cloud = estimate_normals(points)
    assert outwards(cloud.normals[:150], points[:150]) == 1.0
    assert outwards(cloud.normals[150:], points[150:]) == 0.0


def test_a_sheet_has_no_outside(rng):
    xy = rng.uniform(-1, 1, (120, 2))
    cloud = estimate_normals(np.column_stack([xy, 0.2 * np.sin(3 * xy[:, 0]) * np.cos(2 * xy[:, 1])]))
    assert cloud.oriented == "consistent" and (cloud.normals[:, 2] > 0).all()


def test_points_in_a_plane(rng):
    flat = np.column_stack([rng.uniform(-1, 1, (60, 2)), np.zeros(60)])
    cloud = estimate_normals(flat)
    assert cloud.oriented == "consistent" and np.allclose(np.abs(cloud.normals[:, 2]), 1.0)
    assert cloud.details["method"] == "propagation"
    with pytest.raises(DegenerateTrendError, match="in a plane, where method='propagation' works"):
        estimate_normals(flat, method="variational")


@pytest.mark.slow
def test_a_moebius_band_is_not_certified(rng):
    cloud = estimate_normals(moebius(150, rng))
    assert not cloud.details["certified"] and cloud.details["gap"] > 0.1 and cloud.oriented == "consistent"


def test_duplicates_get_the_normals_of_their_points():
    points = sphere(60)
    once, twice = estimate_normals(points), estimate_normals(np.concatenate([points, points[:20]]))
    assert np.array_equal(twice.normals[60:], twice.normals[:20])
    assert np.allclose(once.normals, twice.normals[:60])
    nearly = estimate_normals(np.concatenate([points, points[:20] + 1e-9]))
    assert np.allclose(nearly.normals[60:], nearly.normals[:20], atol=1e-4)


def test_noise_makes_alpha_larger(rng):
    points, normals = torus(150, rng)
    exact = estimate_normals(points)
    noisy = estimate_normals(points + 0.03 * rng.standard_normal(points.shape))
    assert noisy.details["alpha"] > exact.details["alpha"]
    assert outwards(noisy.normals, normals) > 0.97


def test_normals_turn_with_the_points(rng):
    points, _ = torus(80, rng)
    turn = Rotation.from_euler("xyz", [0.3, 1.0, -0.5]).as_matrix()
    turned = estimate_normals(100.0 * points @ turn.T + [1e5, -3e4, 7.0])
    assert np.allclose(turned.normals, estimate_normals(points).normals @ turn.T, atol=1e-3)


def test_confidence_is_less_where_points_are_few(rng):
    u = sphere(400)
    kept = (u[:, 2] > 0) | (rng.random(400) < 0.08)
    cloud = estimate_normals(u[kept])
    assert cloud.confidence[u[kept, 2] > 0.2].mean() > cloud.confidence[u[kept, 2] < -0.2].mean()


def test_more_points_are_decided_by_some(rng):
    """Dense points keep the normals from their neighbours; these are checked by some of the points."""
    points, normals = torus(900, rng)
    cloud = estimate_normals(points)
    assert outwards(cloud.normals, normals) == 1.0 and cloud.details["gap"] < 0.01


def test_what_the_method_refuses(monkeypatch):
    points = sphere(30)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'propagation', 'variational', got 'best'"):
        estimate_normals(points, method="best")
    with pytest.raises(ValueError, match="knows nothing but the points"):
        estimate_normals(points, 10, method="variational")
    with pytest.raises(MemoryError, match="the energy of the normals of 60000 points needs about"):
        estimate_normals(sphere(60_000), method="variational")
    assert estimate_normals(points, method="propagation").details == {"method": "propagation"}
