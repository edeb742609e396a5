"""The kernel of splines in tension against its operator, its energy, its limits and fields."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate
from scipy.special import k0

from seminorm import FieldSmoother, Smoother
from seminorm.kernels import Polyharmonic, Tension
from seminorm.operators import derivatives, operator_of
from seminorm.operators.greens import GreensFunction

K = 1.7


def contrast(rng, n):
    a = rng.standard_normal(n)
    return a - a.mean()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_closed_forms(d, rng):
    r = np.array([1e-3, 0.1, 0.5, 0.69, 0.71, 2.0, 30.0])
    origin = np.zeros((1, d))
    x = 1.3 * r
    forms = [-(x + np.exp(-x)) / 2 / 1.3**3, -(np.log(x) + k0(x)) / (2 * math.pi * 1.3**2)]
    forms.append((1 - np.exp(-x)) / x / (4 * math.pi * 1.3))
    ours = Tension(1 / 1.3)(np.pad(r[:, None], [(0, 0), (0, d - 1)]), origin)[:, 0]
    np.testing.assert_allclose(np.diff(ours), np.diff(forms[d - 1]), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_quadratic_forms_of_the_tabulated_greens_function(d, rng):
    X, a = rng.uniform(-2, 2, (15, d)), contrast(rng, 15)
    tabulated = GreensFunction(K**2 * derivatives(1) + derivatives(2), d)
    assert a @ Tension(1 / K)(X) @ a == pytest.approx(a @ tabulated(X) @ a, rel=1e-7)
    slopes = [kernel.derivative(X[:8], X[8:], x=1) for kernel in (Tension(1 / K), tabulated)]
    np.testing.assert_allclose(*slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_operator_and_kernel_are_inverse_to_each_other(d):
    assert operator_of(Tension(0.5), d).as_polynomial().tolist() == [0.0, 4.0, 1.0]
    made = (8 * derivatives(1) + 2 * derivatives(2)).kernel(d)
    X = np.random.default_rng(0).random((6, d))
    np.testing.assert_allclose(made(X), 0.5 * Tension(0.5)(X), rtol=1e-12)
    assert made.cpd_order == 1 and made.null_degree == 0


def test_seminorm_is_its_energy_on_the_line(rng):
    nodes, a = np.sort(rng.random(6)), contrast(rng, 6)
    kernel = Tension(1 / K).for_dimension(1)

    def energy(x):
        slope, bend = (kernel.derivative([[x]], nodes[:, None], x=m).ravel() @ a for m in (1, 2))
        return K**2 * slope**2 + bend**2

    edges = [-30.0, *nodes, 30.0]
    total = sum(integrate.quad(energy, *edge, limit=200)[0] for edge in pairwise(edges))
    assert a @ kernel(nodes[:, None]) @ a == pytest.approx(total, rel=1e-6)


def test_seminorm_is_its_energy_in_the_plane(rng):
    """The second derivatives have logarithmic poles, so a mapped Gauss rule over the plane converges slowly."""
    nodes, a = rng.random((5, 2)) - 0.5, contrast(rng, 5)
    kernel = Tension(1 / K)
    t, w = np.polynomial.legendre.leggauss(200)
    x, weight = t / (1 - t**2), w * (1 + t**2) / (1 - t**2) ** 2
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    slope, bend = (np.einsum("nm...,m->n...", kernel.derivative(grid, nodes, x=m), a) for m in (1, 2))
    density = K**2 * (slope**2).sum(axis=1) + (bend**2).sum(axis=(1, 2))
    total = np.outer(weight, weight).ravel() @ density
    assert a @ kernel(nodes) @ a == pytest.approx(total, rel=1e-2)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_digits_are_lost_near_zero(d):
    """The kernel of a large scale, beside polynomials of degree 1, is that of the thin plate."""
    rng = np.random.default_rng(1)
    X = rng.random((12, d))
    P = np.column_stack([np.ones(12), X])
    a = np.linalg.svd(P.T)[2][d + 1 :].T @ rng.standard_normal(11 - d)
    for scale, accuracy in ((1e2, 2e-2), (1e5, 1e-4)):
        assert a @ Tension(scale)(X) @ a == pytest.approx(a @ Polyharmonic(2)(X) @ a, rel=accuracy)
    near = Tension().for_dimension(d).profile(np.array([1e-12]), 0)  # of r^2 = 1e-12
    leading = {1: -0.25e-12, 2: 1e-12 / 8 / math.pi * (math.log(0.5e-6) + np.euler_gamma - 1), 3: -1e-6 / 8 / math.pi}
    assert near[0] == pytest.approx(leading[d], rel=1e-5)


def test_a_small_scale_is_a_membrane(rng):
    X, y = rng.random((30, 1)), rng.random(30)
    Z = np.linspace(0.1, 0.9, 50)[:, None]
    membrane = Smoother(Polyharmonic(1), alpha=1e-2).fit(X, y).predict(Z)
    scale = 1e-5
    tight = Smoother(Tension(scale), alpha=1e-2 * scale**2).fit(X, y).predict(Z)
    np.testing.assert_allclose(tight, membrane, atol=1e-3)


@pytest.mark.parametrize("d", [1, 2])
def test_fields_agree_with_the_kernel(d, rng):
    X = rng.random((300, d))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    field = FieldSmoother(1e-4, operator=9 * derivatives(1) + derivatives(2), depth=7, degree=3, tol=1e-8)
    exact = Smoother(Tension(1 / 3), alpha=1e-4).fit(X, y)
    np.testing.assert_allclose(field.fit(X, y).predict(X), exact.predict(X), atol=3e-3)
    assert field.function_.seminorm() == pytest.approx(exact.function_.seminorm(), rel=5e-3)


def test_the_scale_is_chosen_by_what_is_left_out():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 10, (250, 2))
    truth = lambda Z: np.sign(Z[:, 0] - 5) + 0.2 * np.sin(8 * Z[:, 1])  # noqa: E731
    y = truth(X) + 0.05 * rng.standard_normal(250)
    chosen = Smoother(Tension("auto")).fit(X, y)
    assert 0.0 < chosen.kernel_.scale < 10.0
    Z = rng.uniform(0, 10, (1000, 2))
    tension, plate = (np.mean((m.predict(Z) - truth(Z)) ** 2) for m in (chosen, Smoother().fit(X, y)))
    assert tension < 1.02 * plate


def test_more_dimensions_are_refused():
    with pytest.raises(ValueError, match="at most 3 columns"):
        Tension()(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="made for 2 columns"):
        Tension(1.0, 2)(np.zeros((2, 3)))
