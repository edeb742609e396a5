"""Deviations of surfaces against errors that are known: numbers drawn with them, and spheres."""

import numpy as np
import pytest

from seminorm._base.threads import limited_threads
from seminorm.clouds.pairs import HeldOutPairs, hole_factor, local_factors, mutual_neighbors
from seminorm.shapes.attributes import Neighborhood, farness
from seminorm.surfaces import reconstruct


def directions(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def held_out(n, deviation, noise, seed=0):
    """Pairs at random places of a square with a common error of a deviation (per pair), and with noise each."""
    rng = np.random.default_rng(seed)
    places = np.column_stack([rng.random((n, 2)), np.zeros(n)])
    error = deviation(places) * rng.standard_normal(n)
    distances = np.concatenate([error, error]) + noise * rng.standard_normal(2 * n)
    return HeldOutPairs(np.concatenate([places, places + 1e-6]), distances)


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_noise_of_held_out_points_is_not_the_error(noise):
    pairs = held_out(20_000, lambda X: 1.0, noise)
    variances = np.full(40_000, 0.25)
    factors = local_factors(pairs, variances, pairs.places[:500], 0.0)
    assert np.mean(factors) == pytest.approx(4.0, rel=0.2)
    assert np.std(factors) < 0.5 * np.mean(factors)


def test_factors_are_local_where_noise_allows():
    left = lambda X: np.where(X[:, 0] < 0.5, 1.0, 5.0)  # noqa: E731
    probes = np.column_stack([np.linspace(0.05, 0.95, 100), np.full(100, 0.5), np.zeros(100)])
    probes = probes[np.abs(probes[:, 0] - 0.5) > 0.1]
    pairs = held_out(4000, left, 0.0)
    deviations = np.sqrt(local_factors(pairs, np.ones(8000), probes, 0.0))
    low, high = (np.median(deviations[part]) for part in (probes[:, 0] < 0.5, probes[:, 0] > 0.5))
    assert 0.7 < low < 2.5 and 3.5 < high < 6.5


def test_without_evidence_the_posterior_has_its_own_scale():
    none = HeldOutPairs(np.zeros((0, 3)), np.zeros(0))
    np.testing.assert_array_equal(local_factors(none, np.zeros(0), np.zeros((3, 3)), 0.7), 0.7)
    against = HeldOutPairs(np.zeros((4, 3)), np.array([1.0, 1.0, -1.0, -1.0]))  # products below zero
    np.testing.assert_array_equal(local_factors(against, np.ones(4), np.zeros((3, 3)), 0.7), 0.7)
    assert hole_factor(none, np.zeros(0), np.zeros(0), 2.0) == 2.0


def test_few_bad_discs_do_not_decide_about_holes():
    rng = np.random.default_rng(0)
    error = np.repeat(3.0 * rng.standard_normal(400), 5)
    error[:50] *= 100
    holes = HeldOutPairs(np.zeros((4000, 3)), np.concatenate([error, error]), np.repeat(np.arange(400), 5))
    assert hole_factor(holes, np.ones(4000), np.ones(4000), 1.0) == pytest.approx(9.0, rel=0.3)


def test_mutual_neighbors_by_brute_force(rng):
    X, normals = rng.standard_normal((200, 3)), directions(200)
    apart = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(200, np.inf))
    near = apart.argmin(axis=1)
    expected = {(i, int(near[i])) for i in range(200) if near[near[i]] == i < near[i]}
    expected = {(i, j) for i, j in expected if normals[i] @ normals[j] > 0}
    assert {tuple(pair) for pair in mutual_neighbors(X, normals).tolist()} == expected
    assert mutual_neighbors(X[:1], normals[:1]).shape == (0, 2)


def test_farness():
    data = Neighborhood(directions(2000))
    X = np.array([[1.0, 0, 0], [3.0, 0, 0], [1 + 1.7 * data.typical, 0, 0]])
    far = farness(data, X)
    assert far[0] == 0 and far[1] == 1 and 0 < far[2] < 1


def scanned_ball(seed, n=1500):
    """Noisy points and normals of a ball that lacks its top."""
    rng = np.random.default_rng(seed)
    clean = directions(n, seed)
    clean = clean[clean[:, 2] < 0.8]
    return clean + 0.005 * rng.standard_normal(clean.shape), clean + 0.1 * rng.standard_normal(clean.shape)


def stated_and_true(surface, n=400):
    """Deviation and error at places of the unit sphere."""
    places = directions(n, seed=99)
    feet = surface.project(places)
    return surface._measured("uncertainty", feet), np.abs(np.linalg.norm(feet, axis=1) - 1), places[:, 2] > 0.8


@pytest.mark.slow
def test_share_of_a_sphere_within_two_deviations():
    """Noisy points with a wide hole, over some seeds."""
    found = [stated_and_true(reconstruct(*scanned_ball(seed))) for seed in range(3)]
    deviation, error, hole = (np.concatenate(parts) for parts in zip(*found, strict=True))
    within = error <= 2 * deviation
    assert 0.9 <= within.mean() <= 0.98
    assert 0.9 <= within[~hole].mean() <= 0.98
    assert within[hole].mean() >= 0.9
    assert np.median(deviation[hole]) > np.median(deviation[~hole])


@pytest.mark.slow
def test_the_same_deviation_for_any_number_of_threads():
    surface = reconstruct(*scanned_ball(0, 600), depth=4, smoothness=0.1, tolerance=0.1)
    places = directions(100)
    told = []
    for threads in (1, 2):
        with limited_threads(threads):
            told.append(surface._measured("uncertainty", places))
    np.testing.assert_array_equal(*told)


@pytest.mark.slow
def test_few_points_have_a_deviation():
    for n in (12, 40):
        surface = reconstruct(directions(n), directions(n), depth=3, smoothness=0.1, tolerance=0.1)
        deviation = surface._measured("uncertainty", directions(20, seed=1))
        assert np.isfinite(deviation).all() and (deviation > 0).all()
