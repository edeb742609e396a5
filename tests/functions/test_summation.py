"""Fast sums against the matrix, over the registry of kernels: the tolerance holds wherever the points lie."""

import warnings

import numpy as np
import pytest
from helpers import interrupted

from seminorm._base import memory
from seminorm._base.threads import limited_threads
from seminorm.functions import Functional, gram
from seminorm.functions.fast_gram import FastGram
from seminorm.functions.local import local_functionals
from seminorm.functions.summation import FastSum, fast_sum
from seminorm.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Polyharmonic,
    ThinPlate,
    Wendland,
)
from seminorm.kernels.radial_parts import radial_part
from seminorm.kernels.registry import all_kernels


@pytest.fixture
def always_fast(monkeypatch):
    """Near and far field also for few points."""
    monkeypatch.setattr(fast_sum, "_FEW_PAIRS", {1: 0, 2: 0, 3: 0})


def exact_sum(kernel, targets, centers, coef, x=0, y=0):
    tensor = kernel.derivative(targets, centers, x=x, y=y)
    letters = "nm" + "a" * x + "b" * y
    return np.einsum(f"{letters},m{'b' * y}...->n{'a' * x}...", tensor, coef)


def relative_error(found, exact):
    """The largest one of all columns of a sum with coefficients of several columns."""
    axes = tuple(range(found.ndim - 1))
    return float((np.abs(found - exact).max(axis=axes) / np.abs(exact).max(axis=axes)).max())


def radial_kernels(dimension):
    for kernel in all_kernels():
        try:
            part = radial_part(kernel, dimension)
        except ValueError:  # not in this dimension
            continue
        if part is not None:
            yield kernel


POINT_SETS = {
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "clusters": lambda rng, n, d: rng.random((n, d)) * 10.0 ** rng.integers(-5, 1, (n, 1)),
    "sphere": lambda rng, n, d: (lambda g: g / np.linalg.norm(g, axis=1, keepdims=True))(rng.standard_normal((n, d))),
    "line": lambda rng, n, d: np.outer(rng.random(n), np.arange(1.0, d + 1.0)),
    "duplicates": lambda rng, n, d: np.repeat(rng.random((n // 10, d)), 10, axis=0),
}


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_every_radial_kernel_to_its_tolerance(rng, always_fast, dimension):
    centers, targets = rng.random((700, dimension)), rng.random((300, dimension))
    coef = rng.standard_normal((700, 2))
    for kernel in radial_kernels(dimension):
        for tolerance in (1e-3, 1e-6):
            found = FastSum(kernel, centers, targets, tolerance)(coef)
            assert relative_error(found, exact_sum(kernel, targets, centers, coef)) <= tolerance, kernel


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("name", POINT_SETS)
def test_wherever_the_points_lie(rng, always_fast, name, dimension):
    centers = POINT_SETS[name](rng, 800, dimension)
    targets = np.concatenate([centers[:200], centers[200:400] + 0.01 * rng.standard_normal((200, dimension))])
    coef = rng.standard_normal((800, 1))
    for kernel in (ThinPlate(), Polyharmonic(2), Multiquadric(0.1), Gaussian(0.05), Matern(1.5, 0.3), Wendland(2, 0.7)):
        found = FastSum(kernel, centers, targets, 1e-5)(coef)
        assert relative_error(found, exact_sum(kernel, targets, centers, coef)) <= 1e-5, kernel


@pytest.mark.parametrize("x, y", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_gradients_at_targets_and_sources(rng, always_fast, dimension, x, y):
    centers, targets = rng.random((600, dimension)), rng.random((250, dimension))
    coef = rng.standard_normal((600,) + (dimension,) * y + (2,))
    kernels = [Polyharmonic(3), Multiquadric(0.2), Gaussian(0.1), Matern(2.5, 0.5), Wendland(4, 0.8, dimension=3)]
    kernels += [ThinPlate() + 0.5 * Multiquadric(), Gaussian().axis_scale(np.arange(1.0, dimension + 1.0))]
    for kernel in kernels:
        found = FastSum(kernel, centers, targets, 1e-5, derivative=x, center_derivative=y)(coef)
        assert relative_error(found, exact_sum(kernel, targets, centers, coef, x, y)) <= 1e-5, kernel


def test_coefficients_of_an_interpolant_cancel(rng, always_fast):
    """The tolerance is relative to f, and not to its much larger terms."""
    centers, targets = rng.random((500, 2)), rng.random((200, 2))
    kernel = Polyharmonic(3)
    coef = np.linalg.solve(kernel(centers) + 1e-9 * np.eye(500), np.sin(6 * centers[:, :1]))
    exact = exact_sum(kernel, targets, centers, coef)
    assert np.abs(coef).sum() * np.abs(kernel(targets, centers)).max() > 1e2 * np.abs(exact).max()
    assert relative_error(FastSum(kernel, centers, targets, 1e-6)(coef), exact) <= 1e-6


def test_many_vectors_of_coefficients_with_one_plan(rng, always_fast):
    centers = rng.random((900, 3))
    fast, matrix = FastSum(Polyharmonic(2), centers, tolerance=1e-6), Polyharmonic(2)(centers)
    smooth, rough = np.ones((900, 1)), rng.standard_normal((900, 1))
    for coef in (smooth, rough, rough - matrix @ rough / np.abs(matrix).sum(), np.hstack([smooth, 1e6 * rough])):
        assert relative_error(fast(coef), matrix @ coef) <= 1e-6
    assert np.array_equal(fast(rough[:, 0]), fast(rough)[:, 0])


def test_same_bits_for_any_number_of_threads(rng, always_fast):
    centers, targets, coef = rng.random((3000, 3)), rng.random((2000, 3)), rng.standard_normal(3000)
    results = []
    for threads in (1, 2, 3):
        with limited_threads(threads):
            results.append(FastSum(Matern(1.5, 0.2), centers, targets, 1e-5, derivative=1)(coef))
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_one_point_and_coincident_points(rng, always_fast):
    one = np.full((1, 3), 0.5)
    assert FastSum(Gaussian(), one)([2.0]) == pytest.approx([2.0])
    assert FastSum(Gaussian(), np.repeat(one, 50, axis=0))(np.ones(50)) == pytest.approx(np.full(50, 50.0))
    two = np.concatenate([np.repeat(one, 60, axis=0), np.repeat(one + 1.0, 60, axis=0)])
    assert FastSum(Laplacian(), two, tolerance=1e-9)(np.ones(120)) == pytest.approx(
        np.full(120, 60 * (1 + np.exp(-np.sqrt(3.0)))), rel=1e-9
    )
    assert not FastSum(ThinPlate(), rng.random((400, 2)))(np.zeros(400)).any()


def test_few_targets_beside_many_centers_and_far_away(rng, always_fast):
    centers, coef = rng.random((3000, 2)), rng.standard_normal((3000, 1))
    for targets in (rng.random((3, 2)), rng.random((300, 2)) + [0.9, 0.0], rng.random((300, 2)) + 20.0):
        for kernel in (ThinPlate(), Gaussian(5.0)):
            found = FastSum(kernel, centers, targets, 1e-6)(coef)
            assert relative_error(found, exact_sum(kernel, targets, centers, coef)) <= 1e-6


def test_kernels_and_dimensions_without_a_far_field_are_summed_directly(rng):
    X, coef = rng.random((300, 5)), rng.standard_normal((300, 2))
    for kernel, points in ((Gaussian(), X), (Linear(), X[:, :2]), (Gaussian() + Linear(), X[:, :2])):
        fast = FastSum(kernel, points)
        assert fast.method_ == "direct"
        np.testing.assert_allclose(fast(coef), kernel(points) @ coef, rtol=1e-12, atol=1e-12)
        gradients = FastSum(kernel, points, derivative=1)(coef)
        np.testing.assert_allclose(gradients, exact_sum(kernel, points, points, coef, x=1), rtol=1e-12, atol=1e-12)


def test_a_tolerance_below_rounding(rng, always_fast):
    centers = np.linspace(0.0, 1.0, 2100)[:, None]
    with pytest.raises(ValueError, match="tolerance must lie between 1e-14"):
        FastSum(Gaussian(), centers, tolerance=1e-16)
    differences = np.array([1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0])  # of |x|^5 they leave 1e-16
    with pytest.warns(UserWarning, match="tolerance=1e-06 is not reached"):
        FastSum(Polyharmonic(3), centers)(np.tile(differences, 300))


def test_background_counts_for_the_tolerance(rng, always_fast):
    centers, coef = rng.random((500, 2)), rng.standard_normal(500)
    exact = exact_sum(Gaussian(0.3), centers, centers, coef)
    background = -0.999 * exact
    found = FastSum(Gaussian(0.3), centers, tolerance=1e-5)(coef, background)
    assert np.abs(found - 0.001 * exact).max() <= 1e-5 * np.abs(0.001 * exact).max()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"centers": np.zeros((0, 2))}, "centers must have shape"),
        ({"centers": np.full((3, 2), np.nan)}, "centers must be finite"),
        ({"targets": np.zeros((3, 3))}, "targets must have 2 columns"),
        ({"derivative": 2}, "derivative and center_derivative must be 0 or 1"),
        ({"tolerance": 1.5}, "tolerance must lie between"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        FastSum(**({"kernel": Gaussian(), "centers": np.zeros((3, 2))} | arguments))


def test_bad_coefficients():
    with pytest.raises(ValueError, match=r"coef must have shape \(3,\)"):
        FastSum(Gaussian(), np.zeros((3, 2)))(np.ones(4))
    with pytest.raises(ValueError, match="coef must be finite"):
        FastSum(Gaussian(), np.zeros((3, 2)))([1.0, np.nan, 0.0])


def test_no_warnings_where_the_tolerance_is_reached(rng, always_fast):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = FastSum(ThinPlate(), rng.random((800, 3)), tolerance=1e-7)(rng.standard_normal(800))
    assert np.isfinite(values).all()


def test_an_interruption_leaves_a_clean_state(rng, always_fast):
    centers, coef = rng.random((20_000, 2)), rng.standard_normal(20_000)
    whole = FastSum(ThinPlate(), centers, tolerance=1e-8)
    interrupted(lambda: whole(coef), 0.15)
    known = FastSum(ThinPlate(), centers, centers[:50], tolerance=0)(coef)
    assert np.abs(whole(coef)[:50] - known).max() <= 1e-8 * np.abs(whole(coef)).max()


def test_memory_is_asked_for_first(rng, always_fast, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(memory.NotEnoughMemoryError, match="A sum over 5000 centers at 5000 targets needs"):
        FastSum(ThinPlate(), rng.random((5000, 2)), tolerance=1e-8)(np.ones(5000))


def test_products_with_the_matrix_of_functionals(rng, always_fast):
    X, kernel = rng.random((400, 2)), Polyharmonic(3)
    functionals = [Functional.values(X) * 100.0, Functional.gradients(X[:300]), Functional.along(X, X)]
    coef = rng.standard_normal((400 + 600 + 400, 2))
    found, exact = FastGram(kernel, functionals, 1e-5)(coef), gram(kernel, functionals) @ coef
    for rows in (slice(0, 400), slice(400, 1000), slice(1000, None)):
        assert np.abs(found[rows] - exact[rows]).max() <= 1e-4 * np.abs(exact[rows]).max()


def test_functionals_at_points(rng):
    X = rng.random((30, 2))
    both = 2.0 * Functional.values(X) + Functional.along(X, [1.0, 3.0])
    local = local_functionals([Functional.values(X[::-1]), both, Functional.gradients(X)[[1, 4]]])
    assert len(local.places) == 30
    np.testing.assert_array_equal(local.places[local.place[30:60]], X)
    np.testing.assert_array_equal(local.jets[[0, 30, 60, 61]], [[1, 0, 0], [2, 1, 3], [0, 0, 1], [0, 1, 0]])
    assert local_functionals([Functional.average(X)]) is None
    assert local_functionals([Functional(X, 2)]) is None
    assert local_functionals([Functional.values(X) + Functional.values(X[::-1])]) is None
