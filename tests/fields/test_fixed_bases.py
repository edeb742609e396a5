"""Fixed bases with exact energies: radial B3-splines, Gaussians, the fit in their span, Algorithm 3.1."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from helpers import central_difference
from scipy import sparse
from scipy.integrate import dblquad, quad
from scipy.interpolate import BSpline
from scipy.linalg import LinAlgError, LinAlgWarning
from scipy.special import j0, j1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge

from seminorm import Smoother
from seminorm.bases.gaussian import GaussianBasis
from seminorm.bases.radial import RadialSplineBasis
from seminorm.bases.radial_energies import b3_spline, radial_energy
from seminorm.fields.curvature import curvature_centers
from seminorm.fields.fixed_basis import Basis, BasisField, fit_basis
from seminorm.functions import Function
from seminorm.kernels import Gaussian, Laplacian, Matern, Multiquadric, Polyharmonic

# ---------------------------------------------------------------------------------------------------------------------
# Energies of radial splines. The oracle integrates the full contraction of the derivative tensors in polar coordinates
# around one centre by scipy's adaptive rule; the profile is scipy's B-spline.

SPLINE = BSpline([-1.0] * 4 + [-0.5, 0.0, 0.5] + [1.0] * 4, 1.5 * np.eye(7)[3], 3)
SLOPES = [SPLINE, *(SPLINE.derivative(k) for k in (1, 2, 3))]


def tensor_parts(t, s, order):
    """Coefficients of the derivative tensor of b(|x| / s) at |x| = t s, in the unit vector e = x / |x|.

    Order 0: b. Order 1: p e. Order 2: p I + q e e'. Order 3: p (e_i I_jk + e_j I_ik + e_k I_ij) + q e e e.
    """
    if t >= 1:
        return 0.0, 0.0
    f, f1, f2, f3 = (float(slope(t)) / s**k for k, slope in enumerate(SLOPES))
    r = t * s
    if order == 0:
        return f, 0.0
    if order == 1:
        return f1, 0.0
    if order == 2:
        return f1 / r, f2 - f1 / r
    p = (f2 - f1 / r) / r
    return p, f3 - 3 * p


def contraction(one, other, cosine, order, d):
    (p, q), (u, v) = one, other
    return {
        0: p * u,
        1: p * u * cosine,
        2: p * u * d + p * v + q * u + q * v * cosine**2,
        3: 3 * (d + 2) * p * u * cosine + 3 * cosine * (p * v + q * u) + q * v * cosine**3,
    }[order]


def integrated_energy(R, s, S, d, order):
    def at(r, theta):
        other = math.sqrt(r * r + R * R - 2 * r * R * math.cos(theta))
        cosine = (r * r + other**2 - R * R) / (2 * r * other)
        parts = tensor_parts(r / s, s, order), tensor_parts(other / S, S, order)
        return contraction(*parts, cosine, order, d) * math.sin(theta) ** (d - 2)

    def around(r):
        cosines = [(r * r + R * R - k * k) / (2 * r * R) for k in (S / 2, S)]
        cuts = [0.0, *sorted(math.acos(c) for c in cosines if abs(c) < 1), math.pi]
        return r ** (d - 1) * sum(
            quad(lambda a: at(r, a), *ends, epsabs=1e-12, epsrel=1e-10, limit=200)[0] for ends in pairwise(cuts)
        )

    radii = {0.0, s / 2, s, *(abs(R + sign * k) for k in (0.0, S / 2, S) for sign in (1, -1))}
    radii = sorted(r for r in radii if r <= s)

    def between(low, high):  # a sine takes away the roots at the ends, which scipy's rule halves its way to
        center, half = (low + high) / 2, (high - low) / 2
        smooth = lambda a: half * math.cos(a) * around(center + half * math.sin(a))  # noqa: E731
        return quad(smooth, -math.pi / 2, math.pi / 2, epsabs=0, epsrel=1e-9)[0]

    total = sum(between(*ends) for ends in pairwise(radii))
    return 2 * math.pi ** ((d - 1) / 2) / math.gamma((d - 1) / 2) * total


def test_the_profile_is_the_b_spline():
    t = np.linspace(0, 1.2, 25)
    for k, slope in enumerate(SLOPES):
        inside = (t < 1) & (np.abs(t - 0.5) > 1e-9)
        np.testing.assert_allclose(b3_spline(t[inside], k), slope(t[inside]), atol=1e-12)
    assert (b3_spline(t[t >= 1]) == 0).all()


@pytest.mark.parametrize("R, s, S", [(0.4, 1.0, 1.0), (1.7, 1.0, 1.3), (3.3, 1.0, 5.0), (0.9, 2.0, 0.7)])
def test_closed_form_in_space(R, s, S):
    expected = integrated_energy(R, min(s, S), max(s, S), 3, 2)
    np.testing.assert_allclose(radial_energy(R, s, S), expected, rtol=1e-8)


@pytest.mark.parametrize("ratio", [1.0, 1.3, 5.0, 10.0, 100.0])
def test_closed_form_equals_the_integral_in_elliptic_coordinates(ratio, rng):
    from seminorm.bases.radial_energies import _energy_of_pair

    R = np.concatenate([[0.0, 1e-9, 1e-4, ratio, 1 + 0.999 * ratio], rng.uniform(0, 1 + ratio, 5)])
    R = np.append(R, 1 + ratio - 1e-2)
    expected = [_energy_of_pair(r, ratio, 3, 2) for r in R]
    np.testing.assert_allclose(radial_energy(R, ratio, 1.0), expected, rtol=1e-10)


def test_closed_form_at_its_ends():
    # R -> 0: the integral of the squared Laplacian, whose two pieces are written down by hand
    laplacian = [lambda r: 72 * r - 36, lambda r: 12 * (1 - r) - 12 * (1 - r) ** 2 / r]
    parts = [
        quad(lambda r, f=f: f(r) ** 2 * r * r, *ends)[0]
        for f, ends in zip(laplacian, ((0, 0.5), (0.5, 1)), strict=True)
    ]
    np.testing.assert_allclose(radial_energy([0.0, 1e-200, 1e-12], 1.0, 1.0), 4 * np.pi * sum(parts), rtol=1e-12)
    # at the last contact the energy goes like gap^4 pi 12 / (R s^2): relative digits are kept to the end
    gaps = np.array([1e-3, 1e-4])
    near_end = radial_energy(6.0 - gaps, 1.0, 5.0)
    np.testing.assert_allclose(near_end, np.pi * 12 * gaps**4 / (6 * 25), rtol=3e-3)
    assert (radial_energy([6.0, 7.0], 1.0, 5.0) == 0).all()
    steps = radial_energy(1.0 + np.array([-1e-9, 1e-9]), 1.0, 3.0)  # where one formula takes over from the other
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-7)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")  # scipy's rule ends at rounding
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_energies_by_direct_integration(d, order):
    expected = integrated_energy(0.8, 1.0, 1.6, d, order)
    np.testing.assert_allclose(radial_energy(0.8, 1.0, 1.6, dimension=d, order=order), expected, rtol=1e-8)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_energies_on_the_line(order):
    R, s, S = 0.7, 1.0, 1.6
    knots = sorted({-1.0, -0.5, 0.0, 0.5, 1.0, *(k for k in R + S * np.array([-1, -0.5, 0, 0.5, 1]) if abs(k) < 1)})

    def product(t):
        other = abs(t - R) / S
        sign = np.sign(t) * np.sign(t - R) if order % 2 else 1.0
        return sign * SLOPES[order](abs(t)) * (SLOPES[order](other) / S**order if other < 1 else 0.0)

    expected = sum(quad(product, *ends)[0] for ends in pairwise(knots))
    np.testing.assert_allclose(radial_energy(R, s, S, dimension=1, order=order), expected, rtol=1e-10)


@pytest.mark.parametrize("d, order", [(2, 2), (2, 3), (4, 2)])
def test_tables_agree_with_single_integrals(d, order, rng):
    from seminorm.bases.radial_energies import _energy_of_pair

    R = rng.uniform(0, 2.2, 1000)
    values = radial_energy(R, 1.0, 1.0, dimension=d, order=order)
    expected = [_energy_of_pair(r, 1.0, d, order) if r < 2 else 0.0 for r in R[:20]]
    np.testing.assert_allclose(values[:20], expected, atol=1e-8 * np.abs(values).max())


def test_dilation_and_symmetry_of_energies(rng):
    R, s, S = rng.uniform(0, 2, 6), rng.uniform(0.3, 1, 6), rng.uniform(0.3, 3, 6)
    for d, order in ((1, 2), (2, 1), (3, 2)):
        values = radial_energy(R, s, S, dimension=d, order=order)
        np.testing.assert_allclose(values, radial_energy(R, S, s, dimension=d, order=order))
        dilated = radial_energy(3 * R, 3 * s, 3 * S, dimension=d, order=order)
        np.testing.assert_allclose(dilated, 3.0 ** (d - 2 * order) * values, rtol=1e-9, atol=1e-12)


def test_energies_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="order must be 0, 1, 2 or 3, got 4"):
        radial_energy(0.5, 1.0, 1.0, order=4)
    with pytest.raises(ValueError, match="no fourth derivative"):
        b3_spline(0.2, 4)
    for arguments, name in (((-1.0, 1.0, 1.0), "distance"), ((1.0, 0.0, 1.0), "support"), ((1.0, 1.0, -1.0), "other")):
        with pytest.raises(ValueError, match=name):
            radial_energy(*arguments)
    with pytest.raises(ValueError, match="dimension"):
        radial_energy(0.5, 1.0, 1.0, dimension=0)


# ---------------------------------------------------------------------------------------------------------------------
# The radial basis


def radial_basis(rng, d=2, p=40):
    return RadialSplineBasis(rng.random((p, d)), rng.choice([0.2, 0.35, 0.6, 0.61], p))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_design_of_the_radial_basis(d, rng):
    basis = radial_basis(rng, d)
    X = np.concatenate([rng.random((30, d)), basis.centers[:2]])  # the centres are no exception
    distances = np.linalg.norm(X[:, None] - basis.centers, axis=-1)
    np.testing.assert_allclose(basis.design(X).toarray(), b3_spline(distances / basis.supports), atol=1e-14)
    gradients = basis.design(X, 1).toarray().reshape(len(X), d, -1)
    numerical = central_difference(lambda Z: basis.design(Z).toarray(), X)
    np.testing.assert_allclose(gradients, np.moveaxis(numerical, -1, 1), atol=1e-7)
    hessians = basis.design(X, 2).toarray().reshape(len(X), d, d, -1)
    numerical = central_difference(lambda Z: basis.design(Z, 1).toarray().reshape(len(Z), d, -1), X, step=1e-6)
    np.testing.assert_allclose(hessians, np.moveaxis(numerical, -1, 1), atol=2e-2)  # third derivatives jump at knots
    assert basis.design(X, 1).shape == (len(X) * d, basis.size) and sparse.issparse(basis.design(X))


@pytest.mark.parametrize("d", [1, 3])
def test_energy_of_the_radial_basis(d, rng):
    basis = radial_basis(rng, d, 60)
    energy = basis.energy(2)
    assert sparse.issparse(energy) and abs(energy - energy.T).max() == 0
    distances = np.linalg.norm(basis.centers[:, None] - basis.centers, axis=-1)
    dense = radial_energy(distances, basis.supports[:, None], basis.supports, dimension=d)
    np.testing.assert_allclose(energy.toarray(), dense, rtol=1e-10, atol=1e-9 * dense.max())
    assert np.linalg.eigvalsh(dense)[0] > -1e-10 * dense.max()


def test_radial_basis_refuses():
    with pytest.raises(ValueError, match="supports must be one number"):
        RadialSplineBasis([[0.0], [1.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="positive"):
        RadialSplineBasis([[0.0], [1.0]], 0.0)
    basis = RadialSplineBasis([[0.0], [1.0]], 1.0)
    with pytest.raises(ValueError, match="columns"):
        basis.design([[0.0, 0.0]])
    with pytest.raises(ValueError, match="derivative"):
        basis.design([[0.0]], 3)
    with pytest.raises(ValueError, match="square-integrable"):
        basis.energy(order=4)


# ---------------------------------------------------------------------------------------------------------------------
# Gaussians in the spaces of kernels. The oracle is scipy's quadrature on the Fourier side.


def fourier_norm(symbol, R, s, t, d):
    """(2 pi)^-d times the integral of the two transforms, the symbol and exp(i omega R), over R^d."""
    kernels = {
        1: lambda w: math.cos(w * R) / math.pi,
        2: lambda w: j0(w * R) * w / (2 * math.pi),
        3: lambda w: np.sinc(w * R / math.pi) * w**2 / (2 * math.pi**2),
        4: lambda w: (j1(w * R) / (w * R)) * w**3 / (4 * math.pi**2),
    }
    transforms = (2 * math.pi * s * t) ** d
    top = math.sqrt(80 / (s * s + t * t))
    return quad(
        lambda w: transforms * math.exp(-0.5 * w * w * (s * s + t * t)) * symbol(w) * kernels[d](w),
        1e-12,
        top,
        epsabs=1e-13,
        epsrel=1e-10,
        limit=300,
    )[0]


def pair(d, R, s, t):
    centers = np.zeros((2, d))
    centers[1, 0] = R
    return GaussianBasis(centers, [s, t])


def matern_symbol(nu, a, d):
    constant = 2**d * math.pi ** (d / 2) * math.gamma(nu + d / 2) / math.gamma(nu) * a ** (2 * nu)
    return lambda w: (a * a + w * w) ** (nu + d / 2) / constant


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("R, s, t", [(0.7, 1.0, 1.5), (0.3, 0.2, 0.2), (2.0, 0.15, 1.4)])
def test_norms_on_the_fourier_side(d, R, s, t):
    basis = pair(d, R, s, t)
    scale = 0.8
    cases = {
        Laplacian(scale): matern_symbol(0.5, 1 / scale, d),
        Matern(2.5, scale): matern_symbol(2.5, math.sqrt(5) / scale, d),
        Polyharmonic(2): lambda w: w**4,
    }
    small = 0.9 * min(s, t)
    cases[Gaussian(small)] = lambda w: math.exp(0.5 * (small * w) ** 2) / (2 * math.pi * small**2) ** (d / 2)
    for kernel, symbol in cases.items():
        expected = fourier_norm(symbol, R, s, t, d)
        scale_of_entry = np.sqrt(np.prod(np.diag(basis.energy(kernel))))
        np.testing.assert_allclose(basis.energy(kernel)[0, 1], expected, rtol=1e-10, atol=1e-12 * scale_of_entry)


def test_norm_with_a_scale_for_each_axis():
    s, t, offset, scale = np.array([0.5, 0.9]), np.array([0.7, 0.4]), np.array([0.3, -0.6]), 0.8
    basis = GaussianBasis([[0.0, 0.0], offset], [s, t])
    symbol = matern_symbol(0.5, 1 / scale, 2)

    def integrand(w2, w1):
        w = np.array([w1, w2])
        transforms = s.prod() * t.prod() * math.exp(-0.5 * np.sum(w * w * (s * s + t * t)))
        return transforms * symbol(math.hypot(w1, w2)) * math.cos(w @ offset)

    expected = 2 * dblquad(integrand, 0, 11, -11, 11, epsabs=1e-11, epsrel=1e-10)[0]
    np.testing.assert_allclose(basis.energy(Laplacian(scale))[0, 1], expected, rtol=1e-8)
    # the space of an axis-scaled kernel: stretch the axes first
    axes = np.array([0.5, 2.0])
    stretched = GaussianBasis(basis.centers / axes, basis.scales / axes)
    kernel = Laplacian(scale)
    np.testing.assert_allclose(basis.energy(kernel.axis_scale(axes)), stretched.energy(kernel))
    np.testing.assert_allclose(basis.energy(3.0 * kernel), basis.energy(kernel) / 3.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_reproducing_property(d, rng):
    kernel = Gaussian(0.7)
    centers = rng.standard_normal((8, d))
    scales = np.concatenate([np.full((4, d), 0.7), rng.uniform(0.55, 2.0, (4, d))])
    basis = GaussianBasis(centers, scales)
    energy = basis.energy(kernel)
    np.testing.assert_allclose(energy[:4, :4], kernel(centers[:4]), rtol=1e-12)
    # <f, k(., v)> = f(v) for every f of the space
    np.testing.assert_allclose(energy[:4], basis.design(centers[:4]), rtol=1e-12)
    # Aronszajn: k(x, y) - f(x) f(y) / |f|^2 is positive semi-definite
    X = rng.standard_normal((30, d))
    f = basis.design(X)[:, 5]
    difference = kernel(X) - np.outer(f, f) / energy[5, 5]
    assert np.linalg.eigvalsh(difference)[0] > -1e-12
    assert np.linalg.eigvalsh(energy)[0] > -1e-12


def test_gaussians_outside_the_space_are_refused():
    basis = GaussianBasis([[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 0.7]])
    with pytest.raises(ValueError, match=r"scale / sqrt\(2\).*function 1 has 0.7 .*does not belong"):
        basis.energy(Gaussian(1.0))
    assert np.isfinite(basis.energy(Gaussian(0.98))).all()
    assert np.isfinite(basis.energy(Laplacian(1.0))).all()
    with pytest.raises(ValueError, match="norm must be"):
        basis.energy(Multiquadric(1.0))
    with pytest.raises(ValueError, match="half-integer"):
        basis.energy(Matern(1.7))
    with pytest.raises(ValueError, match="scales must have one of the shapes"):
        GaussianBasis([[0.0, 0.0]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("d", [1, 3])
def test_design_of_gaussians(d, rng):
    basis = GaussianBasis(rng.random((6, d)), rng.uniform(0.3, 1.0, (6, d)))
    X = rng.random((9, d))
    gradients = basis.design(X, 1).reshape(9, d, 6)
    np.testing.assert_allclose(gradients, np.moveaxis(central_difference(basis.design, X), -1, 1), atol=1e-8)
    hessians = basis.design(X, 2).reshape(9, d, d, 6)
    numerical = central_difference(lambda Z: basis.design(Z, 1).reshape(9, d, 6), X)
    np.testing.assert_allclose(hessians, np.moveaxis(numerical, -1, 1), atol=1e-7)


# ---------------------------------------------------------------------------------------------------------------------
# The fit


def problem(rng, n=60, d=2, outputs=None):
    X = rng.random((n, d))
    shape = () if outputs is None else (outputs,)
    return X, rng.standard_normal((n, *shape)), rng.standard_normal((n, *shape, d)), rng.random(n), rng.random(n)


def grid_basis(d=2, support=0.5):
    axis = np.arange(-0.4, 1.41, 0.2)
    return RadialSplineBasis(np.stack(np.meshgrid(*[axis] * d), -1).reshape(-1, d), support)


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("kind", ["radial", "gaussian"])
def test_the_fit_is_the_minimiser(kind, outputs, rng):
    X, y, gradients, w, v = problem(rng, outputs=outputs)
    if kind == "radial":
        basis = grid_basis()
        energy = basis.energy(2)
    else:
        basis = GaussianBasis(rng.random((20, 2)), rng.uniform(0.1, 0.4, 20))
        energy = basis.energy(Laplacian(0.5))
    assert isinstance(basis, Basis)
    alpha = 1e-3
    f = fit_basis(basis, energy, X, y, alpha, sample_weight=w, gradients=gradients, gradient_weight=v)
    assert isinstance(f, Function)
    dense = energy.toarray() if sparse.issparse(energy) else energy
    coef = f.coef.reshape(basis.size, -1)
    np.testing.assert_allclose(np.square(f.seminorm()), np.diag(coef.T @ dense @ coef).squeeze(), rtol=1e-8)

    def objective(c):
        one = BasisField(basis, c, np.zeros(c.shape[1:]))
        values = np.sum(w * ((one(X) - y) ** 2).reshape(len(X), -1).sum(1))
        slopes = np.sum(v * ((one.gradient(X) - gradients) ** 2).reshape(len(X), -1).sum(1))
        columns = c.reshape(basis.size, -1)
        return alpha * np.sum(columns * (dense @ columns)) + values + slopes

    least = objective(f.coef)
    step = rng.standard_normal(f.coef.shape)
    step *= 1e-3 * np.linalg.norm(f.coef) / np.linalg.norm(step)
    up, down = objective(f.coef + step), objective(f.coef - step)
    assert up > least and down > least
    np.testing.assert_allclose(up - least, down - least, rtol=1e-5)  # no slope: a stationary point


def test_solvers_agree(rng):
    X, y, gradients, w, _ = problem(rng, 200, d=3)
    basis = RadialSplineBasis(rng.random((250, 3)), np.repeat([0.5, 0.2], [100, 150]))
    energy, Z = basis.energy(2), rng.random((50, 3))
    fits = {
        solver: fit_basis(basis, energy, X, y, 1e-2, sample_weight=w, gradients=gradients, solver=solver)
        for solver in ("dense", "direct", "cg")
    }
    for solver in ("direct", "cg"):
        np.testing.assert_allclose(fits[solver](Z), fits["dense"](Z), atol=1e-5 if solver == "cg" else 1e-9)
        variance = fits["direct"].variance(Z, 0.3, solver=solver)
        np.testing.assert_allclose(variance, fits["dense"].variance(Z, 0.3), rtol=1e-5 if solver == "cg" else 1e-8)
    pickled = pickle.loads(pickle.dumps(fits["direct"]))
    np.testing.assert_array_equal(pickled(Z), fits["direct"](Z))


def test_gradient_and_hessian_of_the_fit(rng):
    X, y, *_ = problem(rng, outputs=2)
    basis = GaussianBasis(rng.random((20, 2)), 0.3)
    f = fit_basis(basis, basis.energy(Gaussian(0.4)), X, y, 0.1)
    Z = rng.random((7, 2))
    assert f(Z).shape == (7, 2) and f.gradient(Z).shape == (7, 2, 2) and f.hessian(Z).shape == (7, 2, 2, 2)
    np.testing.assert_allclose(f.gradient(Z), central_difference(f, Z), atol=1e-6 * np.abs(f.coef).max())
    np.testing.assert_allclose(f.hessian(Z), central_difference(f.gradient, Z), atol=1e-6 * np.abs(f.coef).max())


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_kernel_ridge_is_the_basis_at_the_data(alpha, rng):
    X = rng.uniform(-3, 3, (40, 2))
    y, kernel, Z = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40), Gaussian(0.5), rng.uniform(-3, 3, (30, 2))
    basis = GaussianBasis(X, kernel.scale)
    f = fit_basis(basis, basis.energy(kernel), X, y, alpha)
    ridge = KernelRidge(kernel="precomputed", alpha=alpha).fit(kernel(X), y)
    np.testing.assert_allclose(f(Z), ridge.predict(kernel(Z, X)), atol=1e-9)
    np.testing.assert_allclose(f(Z), Smoother(kernel, alpha=alpha, null_space=None).fit(X, y).predict(Z), atol=1e-9)
    process = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(X, y)
    mean, deviation = process.predict(X, return_std=True)
    np.testing.assert_allclose(f(X), mean, atol=1e-9)
    np.testing.assert_allclose(f.variance(X, alpha), deviation**2, atol=1e-9)
    # off the data the degenerate process lacks the part of the prior that is orthogonal to the basis
    # [Walder 2008, 3.1.3]
    deviation = process.predict(Z, return_std=True)[1]
    missing = 1 - np.einsum("ij,ji->i", kernel(Z, X), np.linalg.solve(kernel(X), kernel(X, Z)))
    np.testing.assert_allclose(f.variance(Z, alpha) + missing, deviation**2, atol=1e-7)


def test_variance_with_weights_is_that_of_the_degenerate_process(rng):
    X, y, _, w, _ = problem(rng, 30)
    w = w + 0.1
    basis, noise, alpha = GaussianBasis(rng.random((12, 2)), 0.15), 0.2, 0.5
    energy = basis.energy(Gaussian(0.2))
    f = fit_basis(basis, energy, X, y, alpha, sample_weight=w)
    Z = rng.random((9, 2))
    B, T = basis.design(X), basis.design(Z)
    prior = noise / alpha * np.linalg.inv(energy)
    gain = T @ prior @ B.T @ np.linalg.inv(B @ prior @ B.T + np.diag(noise / w))
    np.testing.assert_allclose(f(Z), gain @ y, rtol=1e-6, atol=1e-9)
    covariance = T @ prior @ T.T - gain @ (B @ prior @ T.T)
    np.testing.assert_allclose(f.variance(Z, noise), np.diag(covariance), rtol=1e-6)


def test_on_the_line_the_basis_becomes_the_smoothing_spline(rng):
    # spacing = half the support: the cubic splines of a grid. Functions of the basis vanish far away, those of the
    # kernel need not; the difference falls as 1 / margin.
    X = rng.random((25, 1))
    y, Z = np.sin(6 * X[:, 0]), np.linspace(0, 1, 50)[:, None]
    expected = Smoother(Polyharmonic(2), alpha=1e-2).fit(X, y).predict(Z)
    errors = []
    for margin in (3, 30, 300):
        basis = RadialSplineBasis(np.arange(-margin, 1.05 + margin, 0.1)[:, None], 0.2)
        errors.append(np.abs(fit_basis(basis, basis.energy(2), X, y, 1e-2)(Z) - expected).max())
    assert errors[2] < 2e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 10.0, rtol=0.1)


def test_systems_singular_to_rounding(rng):
    X, y, *_ = problem(rng, 200)
    basis = grid_basis()
    f = fit_basis(basis, basis.energy(), X, y, 1e-2)
    twice = RadialSplineBasis(np.concatenate([basis.centers, basis.centers[:3]]), 0.5)
    with pytest.warns(LinAlgWarning, match="103 functions have rank 100"):
        g = fit_basis(twice, twice.energy(), X, y, 1e-2)
    Z = rng.random((20, 2))
    np.testing.assert_allclose(g(Z), f(Z), atol=1e-7)
    np.testing.assert_allclose(g.coef[:3], g.coef[-3:], atol=1e-7)  # least norm: shared alike
    np.testing.assert_allclose(g.variance(Z, 1.0), f.variance(Z, 1.0), rtol=1e-6)
    with pytest.raises(LinAlgError, match="singular to rounding"):
        fit_basis(twice, twice.energy(), X, y, 1e-2, solver="direct")


def test_what_nothing_determines_is_zero(rng):
    """An energy that leaves a function free, and data that do not see it."""
    basis = RadialSplineBasis([[0.0], [0.5], [5.0]], 1.0)
    energy = np.diag([1.0, 1.0, 0.0])
    X = np.array([[0.1], [0.4]])
    with pytest.warns(LinAlgWarning, match="rank 2"):
        f = fit_basis(basis, energy, X, [1.0, 2.0], 0.1)
    assert f.coef[2] == pytest.approx(0.0, abs=1e-12)
    assert f.variance([[5.2]], 0.1) > 1e6 > f.variance([[0.2]], 0.1)
    determined = fit_basis(basis, energy, np.vstack([X, [[5.2]]]), [1.0, 2.0, 3.0], 0.1)  # seen once: interpolated
    np.testing.assert_allclose(determined([[5.2]]), 3.0)
    with pytest.raises(ValueError, match="positive semi-definite"):
        fit_basis(basis, np.diag([1.0, 1.0, -1.0]), X, [1.0, 2.0], 0.1)
    with pytest.raises(ValueError, match="positive semi-definite"):
        fit_basis(basis, -0.5 * np.eye(3), np.vstack([X, [[5.0]]]), [1.0, 2.0, 1.0], 0.1)


def test_conjugate_gradients_say_when_they_stop_early(rng, monkeypatch):
    X, y, *_ = problem(rng)
    basis = grid_basis()
    monkeypatch.setattr("seminorm.fields.fixed_basis._CG_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 steps"):
        fit_basis(basis, basis.energy(), X, y, 1e-3, solver="cg")


def test_blocks_give_the_same_fit(rng, monkeypatch):
    X, y, gradients, w, v = problem(rng)
    basis = grid_basis()
    arguments = {"sample_weight": w, "gradients": gradients, "gradient_weight": v}
    Z = rng.random((15, 2))
    whole = fit_basis(basis, basis.energy(), X, y, 1e-2, **arguments)
    expected = whole(Z), whole.gradient(Z), whole.variance(Z, 1.0)
    monkeypatch.setattr("seminorm.fields.fixed_basis._CHUNK_ENTRIES", 700)
    f = fit_basis(basis, basis.energy(), X, y, 1e-2, **arguments)
    for one, other in zip((f(Z), f.gradient(Z), f.variance(Z, 1.0)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", ["dense", "direct"])
def test_save_and_load(solver, rng, tmp_path):
    X, y, *_ = problem(rng)
    basis = grid_basis()
    f = fit_basis(basis, basis.energy(), X, y, 1e-3, solver=solver)
    g = BasisField.load(f.save(tmp_path / "field.npz"))
    Z = rng.random((10, 2))
    for one, other in ((f(Z), g(Z)), (f.hessian(Z), g.hessian(Z)), (f.variance(Z, 0.1), g.variance(Z, 0.1))):
        np.testing.assert_array_equal(one, other)
    assert f.seminorm() == g.seminorm() and repr(f) == repr(g)
    small = BasisField.load(f.save(tmp_path / "small.npz", with_posterior=False))
    with pytest.raises(ValueError, match="without its posterior"):
        small.variance(Z, 0.1)
    gaussian = GaussianBasis(rng.random((5, 2)), 0.2)
    h = fit_basis(gaussian, gaussian.energy(Laplacian(1.0)), X, np.column_stack([y, y]), 0.1)
    np.testing.assert_array_equal(BasisField.load(h.save(tmp_path / "g.npz"))(Z), h(Z))


def test_errors_name_the_argument(rng, tmp_path):
    X, y, gradients, w, _ = problem(rng, 10)
    basis = grid_basis()
    energy = basis.energy()
    cases = [
        ("alpha must be positive", {"alpha": 0.0}),
        ("y must have shape", {"y": y[:5]}),
        ("X must have shape", {"X": X[:, :1]}),
        ("energy must have shape", {"energy": energy[:5][:, :5]}),
        ("energy must be symmetric", {"energy": sparse.triu(energy)}),
        ("gradients must be finite and of shape", {"gradients": gradients[:5]}),
        ("gradient_weight needs gradients", {"gradient_weight": w}),
        ("sample_weight must be", {"sample_weight": -w}),
        ("solver must be one of", {"solver": "magic"}),
        ("needs a sparse energy", {"energy": energy.toarray(), "solver": "direct"}),
    ]
    for message, change in cases:
        with pytest.raises(ValueError, match=message):
            fit_basis(**{"basis": basis, "energy": energy, "X": X, "y": y, "alpha": 1.0, **change})
    f = fit_basis(basis, energy, X, y, 1.0)
    with pytest.raises(ValueError, match="noise_variance"):
        f.variance(X, 0.0)
    with pytest.raises(ValueError, match="coef must have"):
        BasisField(basis, np.zeros(3), 0.0)
    np.savez(tmp_path / "other.npz", description=np.array('{"kind": "dict", "items": {"type": "Expansion"}}'))
    with pytest.raises(ValueError, match="does not hold a BasisField"):
        BasisField.load(tmp_path / "other.npz")


# ---------------------------------------------------------------------------------------------------------------------
# Algorithm 3.1


def plane(rng, n=2000):
    return np.column_stack([rng.random((n, 2)) * 10.0, np.full(n, 3.0)]) + 100.0


def plane_with_a_bump(rng, n=2000):
    points = plane(rng, n)
    r = np.linalg.norm(points[:, :2] - 105.0, axis=1)
    points[:, 2] += 0.5 * np.exp(-0.5 * (r / 0.3) ** 2)
    return points


def test_flat_points_are_finished_at_once(rng):
    points = plane(rng)
    supports = curvature_centers(points)[1]
    np.testing.assert_allclose(np.unique(supports), 0.2 * np.ptp(points[:, :2], axis=0).max() / np.array([1.3, 1.0]))


def test_curved_parts_get_narrow_functions(rng):
    points = plane_with_a_bump(rng)
    centers, supports = curvature_centers(points)
    steps = np.log(supports.max() / np.unique(supports)) / np.log(1.3)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)  # decreasing by the ratio
    narrow = supports < 0.9
    assert narrow.any()
    assert (np.linalg.norm(centers[narrow, :2] - 105.0, axis=1) < 2.0).all()
    loose = curvature_centers(points, tolerance=0.2)[1]
    assert (loose < 0.9).sum() < narrow.sum()


def test_tolerance_zero_stops_at_the_least_support(rng):
    points = plane_with_a_bump(rng, 300)
    supports = curvature_centers(points, tolerance=0.0, min_support=0.06)[1]
    np.testing.assert_allclose(supports.max() / supports.min(), 1.3**4)  # the last level above 0.06 of the side
    assert len(np.unique(supports)) == 2
    default = curvature_centers(points, tolerance=0.0)[1]
    assert np.isfinite(default).all() and default.min() > 0


def test_the_box_is_covered(rng):
    points = plane_with_a_bump(rng, 500) * [1.0, 0.5, 1.0]
    basis = RadialSplineBasis(*curvature_centers(points))
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.stack(np.meshgrid(*zip(low, high, strict=True)), -1).reshape(-1, 3)
    Z = np.concatenate([corners, low + (high - low) * rng.random((200, 3)), points])
    inside = (basis.design(Z) > 0).sum(axis=1)
    assert inside.min() >= 4**3


def test_moving_and_scaling_the_points_moves_the_functions(rng):
    points = plane_with_a_bump(rng, 500)
    centers, supports = curvature_centers(points)
    moved = curvature_centers(4.0 * points - 7.0)
    np.testing.assert_allclose(moved[0], 4.0 * centers - 7.0, atol=1e-9)
    np.testing.assert_allclose(moved[1], 4.0 * supports)


def test_curvature_is_that_of_the_covariance(rng):
    from seminorm.fields.curvature import _curvature

    points = rng.standard_normal((60, 3)) * [1.0, 0.5, 0.1]
    queries = points[:5]
    for value, query in zip(_curvature(points, queries, 1.0), queries, strict=True):
        near = points[np.linalg.norm(points - query, axis=1) <= 1.0]
        eigenvalues = np.linalg.eigvalsh(np.cov(near.T, bias=True))
        assert value == pytest.approx(eigenvalues[0] / eigenvalues.sum(), abs=0.02)


def test_algorithm_refuses():
    points = np.random.default_rng(0).random((10, 2))
    for change in ({"tolerance": -1}, {"support": 0}, {"shrink": 1.0}, {"spacing": 0.7}, {"min_support": 0.0}):
        with pytest.raises(ValueError, match=next(iter(change))):
            curvature_centers(points, **change)
    with pytest.raises(ValueError, match="coincide"):
        curvature_centers(np.ones((5, 2)))


def test_a_surface_from_values_and_normals():
    """A sphere: values 0 and outward normals; f is the signed distance near it [Walder 2008, section 4.3]."""
    golden = np.pi * (1 + 5**0.5) * (np.arange(800) + 0.5)
    z = 1 - 2 * (np.arange(800) + 0.5) / 800
    points = np.column_stack([np.sqrt(1 - z * z) * np.cos(golden), np.sqrt(1 - z * z) * np.sin(golden), z])
    basis = RadialSplineBasis(*curvature_centers(points, support=0.4, spacing=0.5))
    f = fit_basis(basis, basis.energy(2), points, np.zeros(800), 1e-3, gradients=points)
    probes = points[::7]
    assert np.abs(f(probes)).max() < 0.03
    assert (f(0.9 * probes) < 0).all() and (f(1.1 * probes) > 0).all()
    np.testing.assert_allclose(f.gradient(probes), probes, atol=0.2)
