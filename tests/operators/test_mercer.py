"""Eigensystems, Mercer series and monomial expansions, against quadrature, the FFT and symbolic identities."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from helpers import case_id
from numpy.polynomial.hermite_e import hermegauss
from scipy import integrate
from scipy.special import eval_hermite
from sklearn.base import clone

from seminorm import SVR, Smoother
from seminorm.kernels import (
    BSpline,
    Dirichlet,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PeriodicGaussian,
    Polynomial,
    PowerSeries,
    ThinPlate,
)
from seminorm.nullspace import Features
from seminorm.operators.eigensystems import Eigensystem
from seminorm.operators.expansions import mercer
from seminorm.operators.monomials import monomial_expansion, polynomial_norm, power_series_coefficients, series_degree

FREQUENCIES = np.repeat(np.arange(1, 9), 2)


def fourier(X):
    """1, cos x, sin x, cos 2x, ... normalised on [0, 2 pi]."""
    angles = X * np.arange(1, 9)
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(X), -1)
    return np.hstack([np.full((len(X), 1), math.sqrt(0.5)), waves]) / math.sqrt(math.pi)


def fourier_slopes(X):
    angles = X * np.arange(1, 9)
    slopes = np.stack([-np.sin(angles), np.cos(angles)], axis=2).reshape(len(X), -1) * FREQUENCIES
    return np.hstack([np.zeros((len(X), 1)), slopes])[:, :, None] / math.sqrt(math.pi)


def circle(power):
    """The eigensystem of the derivative of order ``power`` on the circle."""
    return Eigensystem(np.r_[0.0, FREQUENCIES.astype(float) ** (2 * power)], fourier, fourier_slopes)


@pytest.mark.parametrize("exclude", [(), (1, 4)])
def test_self_consistency_by_quadrature(exclude):
    """<Pk(x, .), Pk(y, .)> = k(x, y) with P the first derivative, which the kernel's own derivative evaluates."""
    kernel = circle(1).kernel(exclude)
    nodes = np.linspace(0, 2 * np.pi, 64, endpoint=False)[:, None]
    points = np.array([[0.2], [1.7], [4.0]])
    slopes = kernel.gradient(nodes, points)[:, :, 0]
    np.testing.assert_allclose(slopes.T @ slopes * (2 * np.pi / 64), kernel(points), atol=1e-13)


def test_seminorm_is_the_energy_of_the_operator(rng):
    system = circle(1)
    coefficients = rng.standard_normal(17)
    nodes = np.linspace(0, 2 * np.pi, 1001)
    energy = integrate.simpson((fourier_slopes(nodes[:, None])[:, :, 0] @ coefficients) ** 2, x=nodes)
    assert system.seminorm(coefficients) == pytest.approx(math.sqrt(energy))
    twice = system.seminorm(np.stack([coefficients, 2 * coefficients]))
    np.testing.assert_allclose(twice, math.sqrt(energy) * np.array([1, 2]))


def test_excluded_functions_are_not_in_the_kernel():
    system = circle(2)
    places = np.linspace(0, 6, 40)[:, None]
    without = system.kernel(exclude=[1, 2])
    difference = system.kernel()(places) - without(places)
    np.testing.assert_allclose(difference, fourier(places)[:, 1:3] @ fourier(places)[:, 1:3].T, atol=1e-13)
    assert np.linalg.matrix_rank(without(places), tol=1e-10) == 14


def test_kernel_and_null_space_can_be_cloned_and_pickled():
    kernel = circle(2).kernel()
    null_space = circle(2).null_space()
    assert isinstance(null_space, Features)
    X = np.linspace(0, 6, 5)[:, None]
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        np.testing.assert_array_equal(copy(X), kernel(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(null_space)).fit(X)(X), clone(null_space).fit(X)(X))
    assert Eigensystem([1.0, 2.0], np.sin).null_space() is None


@pytest.mark.parametrize("machine", [Smoother(alpha=1e-6), SVR(alpha=1e-6, epsilon=1e-3)], ids=["Smoother", "SVR"])
def test_machines_take_the_kernel_with_its_null_space(machine):
    system = circle(2)
    X = np.linspace(0, 2 * np.pi, 60, endpoint=False)[:, None]
    y = 40 + np.cos(2 * X[:, 0]) + 0.3 * np.sin(3 * X[:, 0])
    fitted = clone(machine).set_params(kernel=system.kernel(), null_space=system.null_space()).fit(X, y)
    new = np.array([[0.1], [2.345], [5.0]])
    expected = 40 + np.cos(2 * new[:, 0]) + 0.3 * np.sin(3 * new[:, 0])
    np.testing.assert_allclose(fitted.predict(new), expected, atol=5e-3)


def test_machine_penalises_the_energy():
    """A smoother with this kernel is ridge regression on the coefficients with the eigenvalues as penalties."""
    system = circle(1)
    X = np.linspace(0, 5, 30)[:, None]
    y, alpha = np.sin(3 * X[:, 0]) + X[:, 0], 0.7
    fitted = Smoother(kernel=system.kernel(), null_space=system.null_space(), alpha=alpha).fit(X, y)
    basis = fourier(X)
    coefficients = np.linalg.solve(basis.T @ basis + alpha * np.diag(system.eigenvalues), basis.T @ y)
    np.testing.assert_allclose(fitted.predict(X), basis @ coefficients, atol=1e-8)


def test_eigensystem_errors():
    with pytest.raises(ValueError, match="-2 at 1"):
        Eigensystem([1.0, -2.0], fourier)
    with pytest.raises(ValueError, match="sequence of finite numbers"):
        Eigensystem([[1.0]], fourier)
    with pytest.raises(ValueError, match="callable"):
        Eigensystem([1.0], None)
    with pytest.raises(ValueError, match="no penalised eigenfunction"):
        circle(1).kernel(exclude=range(17))
    with pytest.raises(ValueError, match="from 0 to 16"):
        circle(1).kernel(exclude=[17])
    with pytest.raises(ValueError, match="17 entries"):
        circle(1).seminorm([1.0])
    with pytest.raises(ValueError, match="one column for each"):
        Eigensystem([1.0, 2.0], fourier).kernel()([[0.0]])


@pytest.mark.parametrize(("scale", "spread"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.7)])
def test_hermite_functions_are_orthonormal_and_sum_to_the_gaussian(scale, spread):
    series = mercer(Gaussian(scale), 100, spread=spread)
    np.testing.assert_allclose(series.values.sum() + series.remainder, 1.0, rtol=1e-13)
    # the integrand is a normal density times a product of Hermite functions: a polynomial times exp(-t^2)
    a, b = 0.25 / spread**2, 0.5 / scale**2
    stretch = math.sqrt(2 * math.sqrt(a * a + 2 * a * b))
    nodes, weights = np.polynomial.hermite.hermgauss(130)
    x = nodes[:, None] / stretch
    density = np.exp(-0.5 * (x[:, 0] / spread) ** 2 + nodes**2) / (spread * math.sqrt(2 * math.pi) * stretch)
    functions = series.functions(x)[:, :60]
    np.testing.assert_allclose(functions.T * (weights * density) @ functions, np.eye(60), atol=1e-10)
    X = np.linspace(-1.5 * spread, 1.5 * spread, 9)[:, None]
    np.testing.assert_allclose(series.kernel_matrix(X), Gaussian(scale)(X), atol=1e-7)


def test_hermite_functions_against_the_printed_formula():
    """Walder 2008, B.1.1: lambda_m phi_m(x) phi_m(y) does not depend on how the functions are normalised."""
    scale, spread, x, y = 0.8, 1.3, 0.4, -0.9
    a, b = 0.25 / spread**2, 0.5 / scale**2
    c = math.sqrt(a * a + 2 * a * b)
    A = a + b + c
    series = mercer(Gaussian(scale), 8, spread=spread)
    left, right = series.functions([[x]])[0], series.functions([[y]])[0]
    for m in range(8):
        printed = (
            math.sqrt(2 * c / A) * (b / A) ** m / (2.0**m * math.factorial(m)) * math.exp(-(c - a) * (x**2 + y**2))
        )
        printed *= eval_hermite(m, math.sqrt(2 * c) * x) * eval_hermite(m, math.sqrt(2 * c) * y)
        assert series.values[m] * left[m] * right[m] == pytest.approx(printed, rel=1e-12)


def test_many_hermite_functions_stay_finite():
    series = mercer(Gaussian(0.05), 1500, spread=1.0)
    values = series.functions(np.array([[0.0], [1.0], [3.0], [40.0], [1e3]]))
    assert np.isfinite(values).all()
    X = np.linspace(-2, 2, 7)[:, None]
    np.testing.assert_allclose(series.kernel_matrix(X), Gaussian(0.05)(X), atol=1e-9)


def test_norm_of_a_gaussian_by_its_mercer_coefficients():
    """The norm of exp(-x^2 / (2 s^2)) in the space of the Gaussian [Walder 2008, 3.1.3]."""
    series = mercer(Gaussian(), 60, spread=1.0)
    nodes, weights = hermegauss(160)
    weights = weights / math.sqrt(2 * math.pi)
    for width in (0.9, 1.4):
        coefficients = series.functions(nodes[:, None]).T @ (weights * np.exp(-0.5 * (nodes / width) ** 2))
        expected = math.sqrt(width**2 / math.sqrt(2 * width**2 - 1))
        assert series.norm(coefficients) == pytest.approx(expected, rel=1e-5)
    assert series.norm(np.eye(60)[3]) == pytest.approx(series.values[3] ** -0.5)


def test_gaussian_in_several_dimensions():
    series = mercer(Gaussian(1.5), 300, dimension=3, spread=0.6)
    X = np.random.default_rng(0).normal(0, 0.6, (12, 3))
    np.testing.assert_allclose(series.kernel_matrix(X), Gaussian(1.5)(X), atol=1e-4)
    assert (np.diff(series.values) <= 0).all()
    line = mercer(Gaussian(1.5), 30, spread=0.6).values
    every = sorted((line[i] * line[j] * line[k] for i, j, k in product(range(30), repeat=3)), reverse=True)
    np.testing.assert_allclose(series.values, every[:300], rtol=1e-12)
    stretched = Gaussian(0.5).axis_scale([2.0, 3.0])
    unequal = mercer(2.0 * stretched, 400, dimension=2, spread=[0.5, 1.0])
    Y = np.random.default_rng(1).normal(0, 0.5, (9, 2))
    np.testing.assert_allclose(unequal.kernel_matrix(Y), 2.0 * stretched(Y), atol=1e-8)
    assert unequal.values.sum() + unequal.remainder == pytest.approx(2.0)


@pytest.mark.parametrize(
    "kernel",
    [Dirichlet(4), Dirichlet(3, period=1.5), *(PeriodicGaussian(s) for s in (0.1, 0.5, 0.99, 1.0, 2.5, 60.0))],
    ids=repr,
)
def test_periodic_kernels_against_the_fft(kernel):
    n = 256
    nodes = np.arange(n)[:, None] * kernel.period / n
    spectrum = np.fft.rfft(kernel(nodes, [[0.0]])[:, 0]).real / n
    expected = np.sort(np.r_[spectrum[0], np.repeat(spectrum[1:], 2)])[::-1]
    series = mercer(kernel, 60)
    np.testing.assert_allclose(series.values, expected[: len(series.values)], atol=1e-14)
    assert expected[len(series.values)] < 1e-12 or len(series.values) == 60
    functions = series.functions(nodes)
    np.testing.assert_allclose(functions.T @ functions / n, np.eye(len(series.values)), atol=1e-12)
    # the functions are at most sqrt(2), so that the terms left out are at most twice their eigenvalues
    np.testing.assert_allclose(series.kernel_matrix(nodes), kernel(nodes), atol=1e-12 + 2 * series.remainder)
    assert series.values.sum() + series.remainder == pytest.approx(kernel.diag([[0.0]])[0])


def test_periodic_kernel_in_the_plane():
    kernel = PeriodicGaussian(0.9)
    X = np.random.default_rng(3).uniform(0, 6, (8, 2))
    series = mercer(kernel, 200, dimension=2)
    np.testing.assert_allclose(series.kernel_matrix(X), kernel(X), atol=1e-6)


def test_dirichlet_has_finitely_many_functions():
    series = mercer(Dirichlet(4), 60)
    assert len(series.values) == 9
    assert series.remainder == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(1.5), BSpline(3)], ids=case_id)
def test_functions_under_a_discrete_measure(kernel, rng):
    X, weights = rng.random((40, 2)), rng.random(40)
    series = mercer(kernel, 40, measure=(X, weights))
    functions = series.functions(X)
    np.testing.assert_allclose(series.kernel_matrix(X), kernel(X), atol=1e-9)
    sizeable = series.values > 1e-8 * series.values[0]  # the extension divides rounding errors by the eigenvalues
    np.testing.assert_allclose(
        ((functions.T * weights) @ functions)[sizeable][:, sizeable], np.eye(sizeable.sum()), atol=1e-6
    )
    short = mercer(kernel, 5, measure=(X, weights))
    np.testing.assert_allclose(short.values, series.values[:5])
    assert short.remainder == pytest.approx((weights * kernel.diag(X)).sum() - short.values.sum())


def test_a_discrete_measure_approximates_the_normal_distribution():
    nodes, weights = hermegauss(60)
    series = mercer(Gaussian(), 6, measure=(nodes[:, None], weights / math.sqrt(2 * math.pi)))
    exact = mercer(Gaussian(), 6, spread=1.0)
    np.testing.assert_allclose(series.values, exact.values, rtol=1e-8)
    X = np.linspace(-2, 2, 11)[:, None]
    np.testing.assert_allclose(np.abs(series.functions(X)), np.abs(exact.functions(X)), atol=1e-7)


def test_norm_of_a_section_under_a_discrete_measure():
    X = np.linspace(0, 1, 12)[:, None]
    series = mercer(Laplacian(), 12, measure=(X, None))
    section = Laplacian()(X, X[[3]])[:, 0]
    coefficients = series.functions(X).T @ section / 12
    assert series.norm(coefficients) == pytest.approx(1.0)


def test_expansions_can_be_pickled_and_become_kernels():
    for series in (mercer(Gaussian(), 9, spread=1.0), mercer(Matern(2.5), 4, measure=(np.eye(4), None))):
        X = np.eye(4)[:, : 1 if "normal" in series.measure else 4]
        copy = pickle.loads(pickle.dumps(series))
        np.testing.assert_array_equal(copy.kernel_matrix(X), series.kernel_matrix(X))
        np.testing.assert_allclose(clone(series.eigensystem().kernel())(X), series.kernel_matrix(X), rtol=1e-12)


def test_mercer_errors():
    with pytest.raises(ValueError, match="spread must be"):
        mercer(Gaussian(), 5)
    with pytest.raises(ValueError, match="give measure"):
        mercer(Matern(1.5), 5)
    with pytest.raises(ValueError, match="spread belongs to the Gaussian"):
        mercer(Dirichlet(3), 5, spread=1.0)
    with pytest.raises(ValueError, match="count must be"):
        mercer(Gaussian(), 0, spread=1.0)
    with pytest.raises(ValueError, match="dimension must be"):
        mercer(Gaussian(), 3, spread=1.0, dimension=0)
    with pytest.raises(ValueError, match="not both"):
        mercer(Gaussian(), 3, spread=1.0, measure=([[0.0]], None))
    with pytest.raises(ValueError, match="positive numbers"):
        mercer(Gaussian(), 3, measure=([[0.0], [1.0]], [1.0, 0.0]))
    with pytest.raises(ValueError, match="Twin"):
        mercer(ThinPlate(), 3, measure=(np.eye(5), None))
    with pytest.raises(ValueError, match=r"\(n, 1\)"):
        mercer(Gaussian(), 3, spread=1.0).functions(np.eye(2))


DOT_PRODUCT_KERNELS = [
    Linear(),
    Polynomial(3, 0.0),
    Polynomial(4, 0.7, 1.3),
    PowerSeries((0.5, 0.0, 2.0)),
    PowerSeries((0.5, 1.0, 3.0), kernel=Polynomial(2, 0.3)),
    Polynomial(2) + 0.5 * Linear(),
    Polynomial(2) * Linear(),
    Linear() ** 3,
]


@pytest.mark.parametrize("kernel", DOT_PRODUCT_KERNELS, ids=case_id)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_monomials_sum_to_the_kernel(kernel, dimension, rng):
    X, Y = rng.standard_normal((6, dimension)), rng.standard_normal((4, dimension))
    expansion = monomial_expansion(kernel, dimension)
    assert expansion.exponents.sum(axis=1).max() == series_degree(kernel)
    np.testing.assert_allclose(expansion.kernel_matrix(X, Y), kernel(X, Y), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(expansion.features(X) @ expansion.features(X).T, kernel(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", DOT_PRODUCT_KERNELS, ids=case_id)
def test_self_consistency_of_monomials(kernel, rng):
    """<Pk(x, .), Pk(y, .)> = k(x, y), (31): the coefficients of y -> k(x, y) in the monomials are w_m x^m."""
    expansion = monomial_expansion(kernel, 2)
    X = rng.standard_normal((5, 2))
    images = np.array([expansion.operator(row) for row in expansion.monomials(X) * expansion.weights])
    np.testing.assert_allclose(images @ images.T, kernel(X), rtol=1e-10, atol=1e-12)
    assert expansion.norm(expansion.monomials(X[:1])[0] * expansion.weights) ** 2 == pytest.approx(kernel(X)[0, 0])


def test_homogeneous_square_in_the_plane(rng):
    """[Smola et al. 1998, (35)-(37)]: (D_xx / 2, D_xy / sqrt(2), D_yy / 2); features (x1^2, sqrt(2) x1 x2, x2^2)."""
    square = monomial_expansion(Polynomial(2, offset=0.0), 2)
    X = rng.standard_normal((4, 2))
    x, y = X.T
    np.testing.assert_allclose(square.features(X)[:, 3:], np.column_stack([x**2, math.sqrt(2) * x * y, y**2]))
    # f = 3 x1^2 - 5 x1 x2 + x2^2 has the second derivatives 6, -5 and 2
    assert polynomial_norm([3.0, -5.0, 1.0], [[2, 0], [1, 1], [0, 2]], Polynomial(2, 0.0)) == pytest.approx(
        math.sqrt((6 / 2) ** 2 + (-5 / math.sqrt(2)) ** 2 + (2 / 2) ** 2)
    )
    np.testing.assert_allclose(square.operator([0, 0, 0, 3.0, -5.0, 1.0])[3:], [3.0, -5.0 / math.sqrt(2), 1.0])


def test_linear_kernel_penalises_the_gradient(rng):
    """Walder 2008, example 2.2.8, against the machine with this kernel."""
    w = rng.standard_normal(4)
    assert polynomial_norm(w, np.eye(4, dtype=int), Linear()) == pytest.approx(np.linalg.norm(w))
    assert polynomial_norm([1.0], [[0, 0, 0, 0]], Linear()) == math.inf
    X = rng.standard_normal((30, 4))
    fitted = Smoother(kernel=Linear(), null_space=None, alpha=1e-9).fit(X, X @ w)
    assert fitted.function_.seminorm() == pytest.approx(np.linalg.norm(w), rel=1e-5)


def test_norms_of_polynomials_agree_with_the_kernel_matrix(rng):
    """The norm of an interpolant sum_i a_i k(., x_i) is a' K a, whatever its monomials are."""
    kernel = Polynomial(3, 0.5, 2.0)
    centers, weights = rng.standard_normal((7, 2)), rng.standard_normal(7)
    expansion = monomial_expansion(kernel, 2)
    coefficients = expansion.weights * (weights @ expansion.monomials(centers))
    assert expansion.norm(coefficients) == pytest.approx(math.sqrt(weights @ kernel(centers) @ weights))
    assert polynomial_norm(coefficients, expansion.exponents, kernel) == pytest.approx(expansion.norm(coefficients))


def test_homogeneous_kernels_have_no_other_degrees():
    cubic = Polynomial(3, offset=0.0)
    assert polynomial_norm([1.0, 1.0], [[3, 0], [1, 0]], cubic) == math.inf
    assert polynomial_norm([1.0, 0.0], [[3, 0], [1, 0]], cubic) == 1.0
    assert polynomial_norm([1.0], [[2]], PowerSeries("sinh")) == math.inf
    assert polynomial_norm([1.0], [[3]], PowerSeries("cosh")) == math.inf


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (PowerSeries("exp"), [1 / math.factorial(k) for k in range(12)]),
        (PowerSeries("cosh"), [(1 - k % 2) / math.factorial(k) for k in range(12)]),
        (PowerSeries("sinh"), [k % 2 / math.factorial(k) for k in range(12)]),
        (PowerSeries("exp", kernel=3.0 * Linear()), [3.0**k / math.factorial(k) for k in range(12)]),
        (Polynomial(3, 2.0, 0.5), [8.0, 6.0, 1.5, 0.125] + [0.0] * 8),
        (Linear(), [0.0, 1.0] + [0.0] * 10),
        (PowerSeries((1.0, 2.0)), [1.0, 2.0] + [0.0] * 10),
    ],
    ids=repr,
)
def test_power_series(kernel, expected):
    np.testing.assert_allclose(power_series_coefficients(kernel, 12), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        PowerSeries("sinh", kernel=PowerSeries("exp")),  # Smola et al. 1998, (43): sinh(e^<x, y>)
        PowerSeries("exp", kernel=Polynomial(2, 0.4)),
        PowerSeries("cosh", kernel=PowerSeries((0.3, 1.0, 0.2))),
        PowerSeries("exp") * Polynomial(2) + PowerSeries("cosh"),
    ],
    ids=repr,
)
def test_composed_series_reproduce_the_kernel(kernel):
    x = np.linspace(-0.6, 0.6, 7)[:, None]
    series = power_series_coefficients(kernel, 60)
    np.testing.assert_allclose(np.polynomial.polynomial.polyval(x * 0.5, series), kernel(x, [[0.5]]), rtol=1e-12)
    assert (series >= 0).all()
    X = 0.4 * np.random.default_rng(5).standard_normal((5, 2))
    np.testing.assert_allclose(monomial_expansion(kernel, 2, max_degree=40).kernel_matrix(X), kernel(X), rtol=1e-10)


def test_monomial_errors():
    with pytest.raises(ValueError, match="give max_degree"):
        monomial_expansion(PowerSeries("exp"), 2)
    with pytest.raises(ValueError, match="power series of the inner product"):
        power_series_coefficients(Gaussian(), 3)
    with pytest.raises(ValueError, match="power series of the inner product"):
        monomial_expansion(PowerSeries("exp", kernel=Gaussian()), 2, max_degree=3)
    with pytest.raises(ValueError, match="negative coefficient"):
        power_series_coefficients(PowerSeries((1.0, -1.0)), 3)
    with pytest.raises(ValueError, match="'exp', 'cosh', 'sinh'"):
        power_series_coefficients(PowerSeries("tanh"), 3)
    with pytest.raises(ValueError, match="degree must be"):
        power_series_coefficients(Polynomial(-1), 3)
    with pytest.raises(ValueError, match="lower max_degree"):
        monomial_expansion(Polynomial(9), 40)
    with pytest.raises(ValueError, match="count"):
        power_series_coefficients(Linear(), 0)
    with pytest.raises(ValueError, match="each monomial once"):
        polynomial_norm([1.0, 1.0], [[1, 0], [1, 0]], Linear())
    with pytest.raises(ValueError, match="non-negative integers"):
        polynomial_norm([1.0], [[0.5]], Linear())
    with pytest.raises(ValueError, match=r"\(2,\)"):
        monomial_expansion(Linear(), 1).norm([1.0])
