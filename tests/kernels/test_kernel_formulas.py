"""Kernels against formulas and libraries that know them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.interpolate import BSpline as ScipyBSpline
from scipy.linalg import null_space
from scipy.special import diric
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.svm import SVC

from seminorm import kernels as k
from seminorm.nullspace import Polynomials


@pytest.fixture
def pair(rng):
    return rng.random((9, 3)), rng.random((7, 3))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (k.Gaussian(0.7), gp.RBF(0.7)),
        (k.Laplacian(0.7), gp.Matern(0.7, nu=0.5)),
        (k.Matern(1.5, 0.7), gp.Matern(0.7, nu=1.5)),
        (k.Matern(2.5, 0.7), gp.Matern(0.7, nu=2.5)),
        (k.Matern(3.5, 0.7), gp.Matern(0.7, nu=3.5)),
        (k.RationalQuadratic(1.3, 0.7), gp.RationalQuadratic(0.7, alpha=1.3)),
        (k.Linear(), gp.DotProduct(sigma_0=0.0)),
        (k.Gaussian() + 2.0 * k.Linear(), gp.RBF(1.0) + gp.ConstantKernel(2.0) * gp.DotProduct(0.0)),
        (k.Gaussian() * k.Linear(), gp.RBF(1.0) * gp.DotProduct(0.0)),
        (k.Gaussian().axis_scale([1.0, 2.0, 3.0]), gp.RBF([1.0, 2.0, 3.0])),
        (k.Gaussian() ** 3, gp.Exponentiation(gp.RBF(1.0), 3)),
    ],
    ids=repr,
)
def test_agrees_with_scikit_learn(ours, theirs, pair):
    np.testing.assert_allclose(ours(*pair), theirs(*pair), rtol=1e-12)


def test_polynomial_and_power_series(pair):
    inner = pair[0] @ pair[1].T
    np.testing.assert_allclose(k.Polynomial(3, 0.5, 2.0)(*pair), polynomial_kernel(*pair, 3, 2.0, 0.5))
    np.testing.assert_allclose(k.PowerSeries("sinh")(*pair), np.sinh(inner))
    np.testing.assert_allclose(k.PowerSeries((1.0, 0.0, 0.5))(*pair), 1 + 0.5 * inner**2)
    composed = k.PowerSeries("exp", kernel=k.PowerSeries("sinh", kernel=k.Gaussian()))
    np.testing.assert_allclose(composed(*pair), np.exp(np.sinh(k.Gaussian()(*pair))))


def test_feature_map(pair, rng):
    root = rng.standard_normal((6, 6))

    def features(X):
        return np.hstack([X, X**2])

    expected = features(pair[0]) @ (root @ root.T) @ features(pair[1]).T
    np.testing.assert_allclose(k.FeatureMap(features, root @ root.T)(*pair), expected)


def test_radial_profiles_by_their_formulas():
    r = np.linspace(0, 2.5, 60)[:, None]
    origin, t = np.zeros((1, 1)), r[:, 0] / 2
    inside = np.maximum(1 - t, 0)
    formulas = [
        (k.ThinPlate(), np.where(r[:, 0] > 0, r[:, 0] ** 2 * np.log(np.maximum(r[:, 0], 1e-300)), 0.0)),
        (k.Multiquadric(2.0), -np.sqrt(1 + t**2)),
        (k.InverseMultiquadric(2.0), 1 / np.sqrt(1 + t**2)),
        (k.NegativeDistance(1.5), -(r[:, 0] ** 1.5)),
        (k.Wendland(2, 2.0), inside**4 * (4 * t + 1)),
        (k.Wendland(4, 2.0), inside**6 * (35 * t**2 + 18 * t + 3) / 3),
        (k.Polyharmonic(1), -r[:, 0] / 2),
        (k.Polyharmonic(2), r[:, 0] ** 3 / 12),
    ]
    for kernel, expected in formulas:
        np.testing.assert_allclose(kernel(r, origin)[:, 0], expected, atol=1e-14)


def test_polyharmonic_constants_in_the_plane_and_in_space(rng):
    X, Y = rng.random((5, 2)), rng.random((4, 2))
    np.testing.assert_allclose(k.Polyharmonic(2)(X, Y), k.ThinPlate()(X, Y) / (8 * math.pi))
    X, Y = rng.random((5, 3)), rng.random((4, 3))
    np.testing.assert_allclose(k.Polyharmonic(2)(X, Y), k.NegativeDistance(1.0)(X, Y) / (8 * math.pi))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_polyharmonic_seminorm_is_its_energy_on_the_line(m, rng):
    nodes = np.sort(rng.random(m + 4))
    a = null_space(Polynomials(m - 1).fit(nodes[:, None])(nodes[:, None]).T)[:, 0]
    kernel = k.Polyharmonic(m).for_dimension(1)
    sign = (-1) ** m / math.factorial(2 * m - 1) / 2  # phi = sign |x|^(2m - 1), so f^(m) is a piecewise polynomial

    def derivative(x):
        t = x - nodes
        return (
            sign
            * math.factorial(2 * m - 1)
            / math.factorial(m - 1)
            * (a * np.sign(t) ** m * np.abs(t) ** (m - 1)).sum()
        )

    energy = sum(integrate.quad(lambda x: derivative(x) ** 2, *edge)[0] for edge in pairwise(nodes))
    np.testing.assert_allclose(a @ kernel(nodes[:, None]) @ a, energy, rtol=1e-8)


def test_polyharmonic_seminorm_is_its_energy_in_the_plane(rng):
    """m = 3, d = 2: the third derivatives are continuous, so that a mapped Gauss rule over the plane converges."""
    nodes = rng.random((9, 2)) - 0.5
    a = null_space(Polynomials(2).fit(nodes)(nodes).T)[:, 0]
    kernel = k.Polyharmonic(3)
    t, w = np.polynomial.legendre.leggauss(160)
    x, weight = t / (1 - t**2), w * (1 + t**2) / (1 - t**2) ** 2  # the line as the image of (-1, 1)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    density = np.zeros(len(grid))
    third = np.einsum("nmabc,m->nabc", kernel.derivative(grid, nodes, x=3), a)
    density = (third**2).sum(axis=(1, 2, 3))
    energy = np.outer(weight, weight).ravel() @ density
    np.testing.assert_allclose(a @ kernel(nodes) @ a, energy, rtol=1e-3)


@pytest.mark.parametrize("q", [1, 3, 5])
def test_bspline_equals_scipys(q):
    knots = np.arange(q + 2) - (q + 1) / 2
    reference = ScipyBSpline.basis_element(knots, extrapolate=False)
    x = np.linspace(-4, 4, 101)
    ours = k.BSpline(q, 0.8)(0.8 * x[:, None], np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(ours, np.nan_to_num(reference(x)), atol=1e-14)


def test_periodic_kernels(rng):
    x = np.linspace(-7, 7, 101)[:, None]
    np.testing.assert_allclose(k.Dirichlet(4)(x, [[0.0]])[:, 0], 9 * diric(x[:, 0], 9), atol=1e-12)
    for scale in (0.2, 0.99, 1.01, 3.0):
        order = np.arange(1, 400)
        decay = np.exp(-0.5 * order**2 * scale**2)
        offset, factor = ((-1.0) ** (order - 1) * decay).sum(), 1 / (2 * decay[::2].sum())
        series = factor * (np.cos(np.outer(x[:, 0], order)) @ decay + offset)
        ours = k.PeriodicGaussian(scale)(x, [[0.0]])[:, 0]
        np.testing.assert_allclose(ours, series, atol=1e-12)
    turned = k.PeriodicGaussian(0.4, period=3.0)
    np.testing.assert_allclose(turned(x + 3.0, [[0.1]]), turned(x, [[0.1]]), atol=1e-12)
    assert turned([[0.0]], [[1.5]])[0, 0] == 0.0


def test_distances_keep_their_digits_far_from_the_origin(rng):
    """Squares and one product would lose everything here; close pairs are computed from differences."""
    X = rng.random((40, 12))
    X[1] = X[0] + 1e-6
    far = X + 2.0**20
    near = far - 2.0**20  # exactly representable
    np.testing.assert_allclose(k.NegativeDistance(1.0)(far), k.NegativeDistance(1.0)(near), rtol=1e-9)
    assert k.NegativeDistance(1.0)(far)[0, 1] == pytest.approx(-np.linalg.norm(near[0] - near[1]), rel=1e-9)


def test_large_matrices_equal_small_ones(rng):
    """More than one tile, in low and in high dimension."""
    for d in (2, 20):
        X = rng.random((600, d))
        K = k.ThinPlate()(X)
        assert np.array_equal(K, K.T)
        np.testing.assert_allclose(K[250:262], k.ThinPlate()(X[250:262], X), atol=1e-11)


def test_linear_takes_sparse_input(rng):
    X = sparse.random_array((20, 50), density=0.1, rng=rng, format="csr")
    for kernel in (k.Linear(), k.Polynomial(2), k.PowerSeries("exp"), 2.0 * k.Linear() + k.Polynomial(3)):
        np.testing.assert_allclose(kernel(X), kernel(X.toarray()))
        np.testing.assert_allclose(kernel.diag(X), kernel.diag(X.toarray()))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        k.Gaussian()(X)


def test_kernels_work_inside_scikit_learn(rng):
    X = rng.random((40, 2))
    y = np.sin(4 * X[:, 0])
    ours = KernelRidge(kernel=k.Gaussian(0.5), alpha=0.1).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, KernelRidge(kernel="rbf", gamma=2.0, alpha=0.1).fit(X, y).predict(X))
    ours = GaussianProcessRegressor(k.Matern(2.5), alpha=0.1).fit(X, y).predict(X, return_std=True)
    theirs = (
        GaussianProcessRegressor(gp.Matern(1.0, nu=2.5), alpha=0.1, optimizer=None)
        .fit(X, y)
        .predict(X, return_std=True)
    )
    np.testing.assert_allclose(ours, theirs)
    assert SVC(kernel=k.Gaussian(0.3)).fit(X, y > 0).score(X, y > 0) > 0.9


@pytest.mark.parametrize(
    "compose",
    [
        lambda k0: 0.5 * k0,
        lambda k0: k0 + k.Gaussian(),
        lambda k0: k0 * k.Gaussian(),
        lambda k0: k0.axis_scale([1.0, 2.0]),
        lambda k0: k.PowerSeries("exp", kernel=k0),
    ],
)
def test_composed_kernels_refuse_derivatives_that_a_part_does_not_have(compose):
    rough = k.Laplacian().on_columns([0])
    with pytest.raises(ValueError, match="coincide"):  # equal in column 0, though the points differ
        compose(rough).gradient([[0.3, 0.1]], [[0.3, 0.9]])
    assert np.isfinite(compose(rough).gradient([[0.3, 0.1]], [[0.4, 0.1]])).all()
    with pytest.raises(ValueError, match="larger q"):
        compose(k.BSpline(1)).gradient([[0.3, 0.1]], [[0.5, 0.9]])


def test_equality_sums_and_quotients():
    assert k.Gaussian(2.0) == k.Gaussian(2.0) != k.Gaussian(1.0)
    assert k.Gaussian().axis_scale([1.0, 2.0]) != k.Gaussian().axis_scale([1.0, 2.0, 3.0])
    assert sum([k.Gaussian(), k.Linear()]) == k.Gaussian() + k.Linear()
    assert k.Gaussian() / 2 == 0.5 * k.Gaussian()
    assert (k.Gaussian() ** np.int64(2)).cpd_order == 0
    for wrong in (lambda: k.Gaussian() + 1, lambda: k.ThinPlate() + gp.RBF(), lambda: k.ThinPlate() * gp.RBF()):
        with pytest.raises(TypeError, match="kernel"):
            wrong()
    with pytest.raises(ValueError, match="order 0"):
        (k.Gaussian() * k.Linear()).set_params(first=k.ThinPlate())([[0.0]])


def test_order_rules_of_the_algebra():
    assert (k.ThinPlate() + k.Gaussian()).cpd_order == 2
    assert (k.Multiquadric() + k.Gaussian()).cpd_order == 1
    assert (3 * k.ThinPlate()).cpd_order == 2
    assert (k.Gaussian() * k.Linear()).cpd_order == 0
    assert k.ThinPlate().on_columns([0, 2]).cpd_order == 2
    assert (k.ThinPlate() + k.Linear()).dilation_degree == 2
    assert (k.ThinPlate() + k.NegativeDistance()).dilation_degree is None
    assert "dilation" not in (k.ThinPlate() + k.NegativeDistance()).invariances
    assert (k.Linear() * k.Polynomial(2, 0.0)).dilation_degree == 6
    assert (k.Polyharmonic(3) + k.Gaussian()).null_degree == 2
    assert "rotation" not in k.Gaussian().axis_scale([1.0, 2.0]).invariances


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: k.ThinPlate() * k.Gaussian(), "order 0"),
        (lambda: -1.0 * k.Gaussian(), "factor"),
        (lambda: 0 * k.Gaussian(), "factor"),
        (lambda: k.Gaussian() ** 0.5, "exponent"),
        (lambda: k.PowerSeries((1.0, -0.1))([[0.0]]), "negative coefficient"),
        (lambda: k.PowerSeries("tanh")([[0.0]]), "series"),
        (lambda: k.PowerSeries("exp", kernel=k.ThinPlate())([[0.0]]), "order 2"),
        (lambda: k.Polyharmonic(2)(np.zeros((2, 4))), "2 order > d"),
        (lambda: k.Polyharmonic(2, dimension=2)(np.zeros((2, 3))), "dimension"),
        (lambda: k.Polyharmonic(1.5)([[0.0]]), "order must"),
        (lambda: k.NegativeDistance(2.0)([[0.0]]), "beta"),
        (lambda: k.Gaussian(0.0)([[0.0]]), "scale"),
        (lambda: k.Gaussian([1.0, 2.0])([[0.0, 1.0]]), "axis_scale"),
        (lambda: k.Matern(2.0)([[0.0]]), "nu"),
        (lambda: k.Wendland(3)([[0.0]]), "continuity"),
        (lambda: k.Wendland(2)(np.zeros((2, 5))), "dimension=5"),
        (lambda: k.BSpline(2)([[0.0]]), "odd"),
        (lambda: k.Polynomial(0)([[0.0]]), "degree"),
        (lambda: k.Gaussian().on_columns([3])(np.zeros((2, 2))), "columns"),
        (lambda: k.Gaussian().axis_scale([1.0])(np.zeros((2, 2))), "scale"),
        (lambda: k.FeatureMap(3)([[0.0]]), "features"),
        (lambda: k.FeatureMap(lambda X: X, [[-1.0]])([[0.0]]), "covariance"),
        (lambda: k.Gaussian()([[0.0]], [[0.0, 1.0]]), "columns"),
        (lambda: k.Gaussian()([[np.nan]]), "NaN"),
        (lambda: k.Gaussian()([0.0, 1.0]), "2D"),
        (lambda: k.ThinPlate().hessian([[0.0], [1.0]]), "coincide"),
        (lambda: k.FeatureMap(lambda X: X).gradient([[0.0]], [[1.0]]), "jacobian"),
    ],
)
def test_wrong_kernels_say_why(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
