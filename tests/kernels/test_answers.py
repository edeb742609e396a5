"""Kernels answer for themselves: support, reach, knots, period, and the form by inner products."""

import math

import numpy as np
import pytest
from helpers import case_id

from seminorm.kernels import (
    BSpline,
    Dirichlet,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PowerSeries,
    SpectralMixture,
    Wendland,
    all_kernels,
)

COMPACT = [
    BSpline(3, 0.9),
    Wendland(2, 1.7),
    2.0 * Wendland(4, 1.2),
    Wendland(2, 1.7) + BSpline(1, 0.4),
    Wendland(2, 1.7) * Laplacian(),
    Wendland(2, 1.7).axis_scale(3.0),
    PowerSeries("sinh", Wendland(2, 1.7)),
]


def on_the_line(kernel, distances):
    distances = np.asarray(distances, dtype=float)
    return kernel(np.zeros((1, 1)), distances[:, None])[0]


@pytest.mark.parametrize("kernel", COMPACT, ids=case_id)
def test_compact_kernels_vanish_beyond_their_support_and_not_before(kernel):
    end = kernel.support_radius
    assert math.isfinite(end)
    assert np.all(on_the_line(kernel, end * np.array([1.0 + 1e-12, 1.5, 7.0])) == 0)
    assert on_the_line(kernel, [0.95 * end])[0] != 0
    assert kernel.reach == end
    assert kernel.knots[-1] == pytest.approx(end)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.3),
        SpectralMixture((3.0, 1.0), 0.7, (1.0, 2.0)),
        PowerSeries("exp", Gaussian()),
        PowerSeries("cosh", Wendland()) * PowerSeries("exp", Gaussian()),
        PowerSeries("cosh", Wendland()) * Gaussian(3.0),
        PowerSeries("exp", Wendland(2, 1.7)) + Gaussian(0.2),
    ],
    ids=case_id,
)
def test_kernels_equal_their_limit_beyond_their_reach(kernel):
    assert math.isfinite(kernel.reach)
    far = on_the_line(kernel, kernel.reach * np.array([1.0, 2.0, 10.0]))
    np.testing.assert_allclose(far, kernel.limit, atol=1e-15 * float(kernel.diag([[0.0]])[0]))


@pytest.mark.parametrize("kernel", all_kernels(), ids=case_id)
def test_most_kernels_have_no_end(kernel):
    if not math.isfinite(kernel.support_radius):
        assert len(kernel.knots) == 0
    assert kernel.support_radius >= kernel.reach or math.isinf(kernel.support_radius)


def test_knots_of_splines():
    np.testing.assert_allclose(BSpline(5, 0.7).knots, [0.7, 1.4, 2.1])
    np.testing.assert_allclose((BSpline(1, 2.0) + Wendland(2, 0.5)).knots, [0.5, 2.0])
    assert len((BSpline(1, 2.0) * Gaussian()).on_columns([0]).knots) == 0


def test_periods():
    circle = Dirichlet(3, period=5.0)
    for kernel in (circle, 2.0 * circle, circle + circle, circle * circle, PowerSeries("exp", circle)):
        assert kernel.period == 5.0
        places = np.linspace(0.0, 4.0, 7)
        np.testing.assert_allclose(on_the_line(kernel, places), on_the_line(kernel, places + kernel.period), rtol=1e-9)
    assert circle.axis_scale(2.0).period == 10.0
    for kernel in (Gaussian(), circle + Gaussian(), circle + Dirichlet(3), circle.on_columns([0]), Linear()):
        assert kernel.period is None


@pytest.mark.parametrize("kernel", [*all_kernels(), Matern(2.5).axis_scale([1.0, 2.0])], ids=case_id)
def test_forms_by_products_are_the_kernel(kernel, rng):
    d = int(min(kernel.max_dimension, 2))
    X, Y = rng.random((5, d)), rng.random((4, d))
    settled = kernel.for_dimension(d)
    form = settled.of_products()
    if form is None:
        assert "rotation" not in kernel.invariances or "LogPolar" in repr(kernel)
        return
    products = X @ Y.T
    distances = ((X[:, None] - Y) ** 2).sum(axis=2)
    copies = products.copy(), distances.copy()
    np.testing.assert_allclose(form(products, distances), settled(X, Y), atol=1e-12)
    assert np.array_equal(copies[0], products) and np.array_equal(copies[1], distances)
