import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

from seminorm.bases import GridBasis, GridBox
from seminorm.fields import Field
from seminorm.surfaces.eigen.method import (
    Forms,
    approximate_inverse,
    as_surface,
    check_points,
    eigen_coefficients,
    eigen_surface,
    equalized,
    plane_normals,
    sign_share,
)
from seminorm.surfaces.eigen.orientation import best_signs, orient_by_eigenvector, patches
from seminorm.surfaces.eigen.search import measure, search_eigen_surface, zero_set


def polar(radius, n, center=(0.0, 0.0)):
    """Points of the curve radius(angle) around a centre, evenly spaced, and a function with its inside negative."""
    fine = np.linspace(0.0, 2 * np.pi, 20_001)
    curve = radius(fine)[:, None] * np.column_stack([np.cos(fine), np.sin(fine)])
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    angle = np.interp((np.arange(n) + 0.5) / n * length[-1], length, fine)
    points = radius(angle)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + center

    def level(X):
        offset = X - np.asarray(center)
        return np.linalg.norm(offset, axis=1) - radius(np.arctan2(offset[:, 1], offset[:, 0]))

    return points, level


def circle(n=80, center=(0.0, 0.0)):
    return polar(np.ones_like, n, center)


def ellipse(n=90):
    return polar(lambda a: 1.0 / np.hypot(np.cos(a) / 2.0, np.sin(a)), n)


def star(n=160, center=(0.0, 0.0), size=1.0):
    return polar(lambda a: size * (1.0 + 0.35 * np.cos(5 * a)), n, center)


def both(one, other):
    return np.concatenate([one[0], other[0]]), lambda X: np.minimum(one[1](X), other[1](X))


def circles():
    return both(circle(80), circle(80, (2.7, 0.4)))


def sphere(n, rng):
    points = rng.standard_normal((n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, points


def torus(n, rng):
    u, v = 2 * np.pi * rng.random((2, 4 * n))
    kept = np.flatnonzero(rng.random(4 * n) < (1 + 0.4 * np.cos(v)) / 1.4)[:n]
    u, v = u[kept], v[kept]
    normals = np.column_stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)])
    return np.column_stack([np.cos(u), np.sin(u), np.zeros(n)]) + 0.4 * normals, normals


def right_signs(field, points, level):
    X = np.random.default_rng(1).uniform(points.min(axis=0) - 0.2, points.max(axis=0) + 0.2, (3000, points.shape[1]))
    clear = np.abs(level(X)) > 0.02
    return np.mean((field(X) < 0) == (level(X) < 0), where=clear)


def slopes(field, points):
    return np.linalg.norm(field.gradient(points), axis=1)


def test_small_systems_are_solved_exactly():
    small = Forms.of(sphere(200, np.random.default_rng(0))[0], 4)
    right = np.random.default_rng(1).standard_normal(small.basis.size)
    matrix = (small.data + small.basis.energy(2)).tocsr()
    assert np.allclose(matrix @ approximate_inverse(small.basis, matrix)(right), right)


# -- eigenvectors --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["coefficients", "integral"])
@pytest.mark.parametrize("generalized", [False, True])
def test_eigenvector_agrees_with_dense(unit, generalized):
    forms = Forms.of(ellipse(60)[0], 10)
    smoothness, energy_weight, gradient_weight = 0.05, 0.02, 1e-3
    coef = eigen_coefficients(forms, smoothness, energy_weight, gradient_weight, generalized=generalized, unit=unit)
    products = forms.basis.products().toarray()
    rough = (forms.data + smoothness**3 * forms.basis.energy(2)).toarray()
    wanted = energy_weight * products + gradient_weight * forms.slopes.toarray()
    if generalized:
        best = 1.0 / eigh(wanted, rough, eigvals_only=True)[-1]
        found = (coef @ rough @ coef) / (coef @ wanted @ coef)
    else:
        norm = np.eye(len(rough)) if unit == "coefficients" else products
        best = eigh(rough - wanted, norm, eigvals_only=True)[0]
        found = (coef @ (rough - wanted) @ coef) / (coef @ norm @ coef)
    assert np.isclose(found, best, rtol=1e-6)


def test_iterated_eigenvector_agrees_with_factorised(monkeypatch):
    forms = Forms.of(torus(600, np.random.default_rng(0))[0], 10)
    expected = eigen_coefficients(forms, 0.02, 0.003, 1e-3, generalized=True)
    monkeypatch.setattr("seminorm.surfaces.eigen.method._ITERATED", 100)
    found = eigen_coefficients(forms, 0.02, 0.003, 1e-3, generalized=True)
    cosine = abs(expected @ found) / np.linalg.norm(expected) / np.linalg.norm(found)
    assert cosine > 1 - 1e-4


@pytest.mark.parametrize("shape", [circle, ellipse, star, circles])
def test_inside_is_negative_in_the_plane(shape):
    points, level = shape()
    field = eigen_surface(points, smoothness=0.003, energy_weight=0.01, equalize=8)
    assert right_signs(field, points, level) > 0.99
    assert sign_share(field, points, 0.02) > 0.98
    assert np.isclose(np.sqrt(np.mean(slopes(field, points) ** 2)), 1.0, atol=0.05)


@pytest.mark.parametrize("order", [2, 3])
def test_field_is_a_length(order):
    points, level = circle(60)
    X = np.random.default_rng(0).standard_normal((200, 2))
    X *= np.random.default_rng(1).uniform(0.9, 1.1, (200, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    field = eigen_surface(1000.0 * points + 1e6, order=order, equalize=8)
    assert np.allclose(field(1000.0 * X + 1e6) / 1000.0, level(X), atol=0.012)


@pytest.mark.slow
def test_difference_works_with_the_right_weights_and_focuses_with_large_ones():
    points, level = circle(100)
    gentle = eigen_surface(points, smoothness=0.01, energy_weight=0.0, gradient_weight=1.05e-5, generalized=False)
    large = eigen_surface(points, smoothness=0.01, energy_weight=0.0, gradient_weight=3e-4, generalized=False)
    assert right_signs(gentle, points, level) > 0.99
    assert np.quantile(slopes(large, points), 0.05) < 1e-2 * np.quantile(slopes(large, points), 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [sphere, torus])
def test_inside_is_negative_in_space(shape):
    points, normals = shape(1000, np.random.default_rng(0))
    field = eigen_surface(points, cells=12, equalize=4)
    assert np.mean(np.einsum("ij,ij->i", field.gradient(points), normals) > 0.5) == 1.0
    assert np.mean(field(points - 0.15 * normals) < 0) == 1.0
    assert np.mean(field(points + 0.15 * normals) > 0) == 1.0


def test_equalising_never_raises_the_objective():
    forms = Forms.of(star()[0], 24)
    smoothness, weight = 0.01, 1e-3
    coef = eigen_coefficients(forms, smoothness, 0.003, weight, generalized=True)
    coef *= np.sqrt(forms.area.sum() / (coef @ (forms.slopes @ coef)))
    energy = forms.basis.energy(2)

    def objective(x):
        length = np.linalg.norm(forms.gradient(x), axis=1)
        rough = x @ (forms.data @ x) + smoothness**3 * (x @ (energy @ x))
        return forms.area @ (length - 1) ** 2 + rough / weight

    values = [objective(equalized(forms, coef, smoothness, weight, 2, rounds)) for rounds in range(8)]
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < 0.5 * values[0]


# -- focusing, and signs -------------------------------------------------------------------------------------------


def complex_and_simple():
    return both(circle(90), star(200, center=(2.9, 0.0), size=0.9))


def test_energy_focusing_and_its_treatment():
    points, level = complex_and_simple()
    plain = slopes(eigen_surface(points, smoothness=0.003, energy_weight=0.01), points)
    assert np.median(plain[:90]) > 20 * np.median(plain[90:])
    treated = eigen_surface(points, smoothness=0.003, energy_weight=0.01, equalize=10)
    assert np.median(slopes(treated, points)[:90]) < 1.3 * np.median(slopes(treated, points)[90:])
    normals = plane_normals(points)
    signs, confidence = orient_by_eigenvector(points, normals)
    outwards = signs[:, None] * normals
    assert (level(points + 0.01 * outwards) > level(points - 0.01 * outwards)).all()
    assert confidence.min() > 0.3


@pytest.mark.slow
def test_orientation_of_an_unequal_pair_in_space():
    rng = np.random.default_rng(0)
    one, outwards_one = sphere(500, rng)
    other, outwards_other = torus(1500, rng)
    turn = Rotation.from_euler("xyz", [1.0, 0.4, 0.2]).as_matrix()
    points = np.concatenate([one, other @ turn + [3.2, 0.0, 0.0]])
    outwards = np.concatenate([outwards_one, outwards_other @ turn])
    normals = outwards * rng.choice([-1.0, 1.0], (2000, 1))
    signs, confidence = orient_by_eigenvector(points, normals, cells=16)
    assert (np.einsum("ij,ij->i", signs[:, None] * normals, outwards) > 0).all()
    assert ((confidence >= 0) & (confidence <= 1)).all()


@pytest.mark.slow
def test_cavities_are_outside():
    rng = np.random.default_rng(0)
    points = np.concatenate([sphere(900, rng)[0], 0.5 * sphere(300, rng)[0]])
    outwards = points * np.repeat([1.0, -2.0], [900, 300])[:, None]
    signs, _ = orient_by_eigenvector(points, points, cells=16)
    assert (np.einsum("ij,ij->i", signs[:, None] * points, outwards) > 0).all()


@pytest.mark.slow
def test_many_points_are_oriented_by_a_part_of_them(monkeypatch):
    points, outwards = torus(3000, np.random.default_rng(0))
    monkeypatch.setattr("seminorm.surfaces.eigen.method._MOST_POINTS", 1000)
    signs, confidence = orient_by_eigenvector(points, -outwards, cells=12)
    assert (signs == -1.0).all()
    assert confidence.shape == (3000,)


def test_patches_are_consistent_on_thin_sheets():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 25)] * 2), axis=-1).reshape(-1, 2)
    points = np.concatenate([np.column_stack([grid, np.full(len(grid), z)]) for z in (0.0, 0.06)])
    patch, signs = patches(points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), 20)
    assert (signs == 1.0).all()
    upper = points[:, 2] > 0.03
    assert not set(patch[upper]) & set(patch[~upper])


def test_best_signs_are_the_best_of_all():
    rng = np.random.default_rng(0)
    every = np.array(np.meshgrid(*[[-1.0, 1.0]] * 10)).reshape(10, -1).T
    for _ in range(5):
        root = rng.standard_normal((10, 10))
        coupling = root @ root.T
        found = best_signs(coupling)
        assert np.isclose(found @ coupling @ found, np.einsum("si,ij,sj->s", every, coupling, every).max())


def test_a_slab_is_noticed():
    points, _ = circle(100)
    forms = Forms.of(points, 40)
    X = forms.basis.centers()
    slab = as_surface(forms, np.abs(np.linalg.norm(X, axis=1) - 1.0) - 0.01, 2)
    signed = as_surface(forms, np.linalg.norm(X, axis=1) - 1.0, 2)
    assert sign_share(slab, points, 0.1) < 0.05
    assert sign_share(signed, points, 0.1) == 1.0


# -- search and variants -------------------------------------------------------------------------------------------


def test_zero_set_of_a_known_function():
    basis = GridBasis(GridBox([-2.0, -2.0], [4.0, 4.0], 1 / 32, [32, 32]), degree=2)
    field = Field.on_grid(basis, (basis.centers() ** 2).sum(axis=1) - 1.0, 2)
    zeros = zero_set(field, 4)
    assert np.allclose(np.linalg.norm(zeros, axis=1), 1.0, atol=0.02)
    points = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.5, 0.0], [0.7, 0.7], [0.7, -0.7]])
    to_points, to_zeros, _ = measure(field, points)
    exact = circle(2000)[0]
    apart = np.linalg.norm(exact[:, None] - points, axis=2)
    assert np.isclose(to_points, apart.min(axis=1).max() / 2.5, atol=0.01)
    assert np.isclose(to_zeros, apart.min(axis=0).max() / 2.5, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("excesses", [(), (1.1, 30.0)])
def test_search_finds_parameters(excesses):
    points, level = star(140)
    found = search_eigen_surface(
        points, search_cells=24, smoothness=(0.003, 0.1), gradient_weights=(1e-3,), energy_ratios=(10.0,),
        excesses=excesses, equalize=0,
    )  # fmt: skip
    assert right_signs(found.field, points, level) > 0.99
    assert len(found.trials) == 2 * max(len(excesses), 1)
    assert found.parameters["smoothness"] == 0.003
    ranks = [trial.rank for trial in found.trials]
    assert ranks == sorted(ranks)


# -- bad input -----------------------------------------------------------------------------------------------------


def test_bad_points_are_refused():
    points, _ = circle(20)
    with pytest.raises(ValueError, match="6 distinct rows or more, got 3"):
        eigen_surface(points[:3])
    with pytest.raises(ValueError, match="lie on a line"):
        eigen_surface(np.column_stack([np.arange(20.0), 2 * np.arange(20.0)]))
    with pytest.raises(ValueError, match="lie on a plane"):
        check_points(np.column_stack([points, np.ones(20)]))
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 20 rows"):
        eigen_surface(np.where(np.arange(20)[:, None] == 3, np.nan, points))
    with pytest.raises(ValueError, match=r"shape \(n, 2\) or \(n, 3\)"):
        search_eigen_surface(np.zeros((5, 4)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"smoothness": 0.0}, "smoothness must be a positive length"),
        ({"energy_weight": -1.0}, "energy_weight must not be negative"),
        ({"energy_weight": 0.0, "gradient_weight": 0.0}, "both 0"),
        ({"gradient_weight": 0.0, "energy_weight": 0.1, "equalize": 3}, "equalize=3 needs"),
        ({"order": 4}, "order must be 2 or 3"),
        ({"unit": "length"}, "unit must be"),
        ({"cells": 2}, "cells must be a whole number"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        eigen_surface(circle(20)[0], **given)


def test_bad_normals_are_refused():
    points, _ = circle(20)
    with pytest.raises(ValueError, match="shape of points"):
        orient_by_eigenvector(points, points[:5])
    with pytest.raises(ValueError, match="not zero"):
        orient_by_eigenvector(points, np.zeros_like(points))
