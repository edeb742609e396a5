"""Spectra, Green's functions, energies: closed forms against quadrature, and the operator against its kernel."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from helpers import case_id
from scipy.integrate import dblquad, quad
from scipy.special import kv
from sklearn.base import clone

from seminorm import SVR, Smoother
from seminorm.kernels import (
    BSpline,
    Dirichlet,
    FourierSeries,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    NegativeDistance,
    PeriodicGaussian,
    Polyharmonic,
    Radial,
    ThinPlate,
    Wendland,
    all_kernels,
)
from seminorm.operators import (
    GreensFunction,
    Operator,
    derivatives,
    energy_kernel,
    fourier_coefficients,
    network_kernel,
    operator_of,
    radial_fourier,
    ridge_twin,
    spectral_seminorm,
    spectrum,
)
from seminorm.operators.kernel_operators import profile_of
from seminorm.operators.operator import Multiplier
from seminorm.operators.spectra import is_radial

OMEGA = np.array([0.05, 0.3, 1.0, 2.5, 6.0])
DISTANCES = np.array([0.0, 1e-5, 1e-2, 0.3, 1.0, 2.2, 7.0])


def points(distances, dimension):
    X = np.zeros((len(distances), dimension))
    X[:, 0] = distances
    return X


def profile(kernel, distances, dimension):
    return kernel(np.zeros((1, dimension)), points(distances, dimension))[0]


def radial_cases():
    return [
        (kernel, d)
        for kernel in all_kernels()
        for d in (1, 2, 3)
        if is_radial(kernel, d) and kernel.period is None and not (getattr(kernel, "order", 9) * 2 <= d)
    ]


class TestSpectra:
    @pytest.mark.parametrize("kernel, dimension", radial_cases(), ids=case_id)
    def test_every_kernel_of_the_registry_against_quadrature(self, kernel, dimension):
        settled = kernel.for_dimension(dimension)
        by_quadrature = radial_fourier(
            profile_of(settled, dimension),
            OMEGA,
            dimension,
            reach=settled.reach,
            breaks=settled.knots,
            refine=3,
        )
        values = spectrum(kernel, OMEGA, dimension)
        # what grows like r^k loses digits to cancellation; the closed forms do not
        tolerance = {0: 1e-9, 1: 1e-8, 2: 1e-6, 3: 1e-4, 4: 2e-3}[settled.cpd_order]
        assert (values > -1e-12 * values.max()).all()
        assert np.abs(by_quadrature - values).max() <= tolerance * values.max()

    @pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(1.5), Matern(2.5), InverseMultiquadric(), Wendland(4)])
    @pytest.mark.parametrize("omega", [0.4, 2.0, 5.0])
    def test_line_and_space_against_scipy(self, kernel, omega):
        phi = lambda r: float(kernel([[0.0]], [[r]])[0, 0])  # noqa: E731
        end = 1.0 if isinstance(kernel, Wendland) else np.inf
        line = 2 * quad(phi, 0, end, weight="cos", wvar=omega, limit=500, limlst=200)[0]
        assert np.isclose(spectrum(kernel, [omega])[0], line, rtol=1e-6, atol=1e-9)
        if isinstance(kernel, InverseMultiquadric):
            return  # r phi(r) does not decay
        space = 4 * math.pi / omega * quad(lambda r: r * phi(r), 0, end, weight="sin", wvar=omega, limit=500)[0]
        assert np.isclose(spectrum(kernel, [omega], 3)[0], space, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize(
        "kernel", [ThinPlate(), Polyharmonic(2), Polyharmonic(3), Multiquadric(0.7), NegativeDistance(1.5)], ids=case_id
    )
    def test_generalised_transforms_give_the_quadratic_form(self, kernel):
        """a' Phi a = 1/(2 pi) integral F |sum a exp(i omega x)|^2, for a orthogonal to the polynomials."""
        x = np.array([0.0, 0.4, 1.1, 1.7, 2.3])
        order = kernel.for_dimension(1).cpd_order
        basis = np.linalg.svd(np.vander(x, order, increasing=True).T)[2][order:]
        a = basis.T @ np.arange(1.0, len(basis) + 1)

        def integrand(w):
            # the first terms of the series of exp(i omega x) are annihilated by a: leave them out
            wave = np.exp(1j * w * x) - sum((1j * w * x) ** k / math.factorial(k) for k in range(order))
            return spectrum(kernel, np.array([w]))[0] * abs(a @ wave) ** 2 / math.pi

        ends = (1e-12, 1e-5, 1e-2, 1, 10, 60, 400)
        pieces = [quad(integrand, *pair, limit=400)[0] for pair in pairwise(ends)]
        exact = a @ kernel(x[:, None]) @ a
        assert np.isclose(sum(pieces), exact, rtol=2e-3)

    def test_vectors_and_lengths_agree_for_radial_kernels(self):
        omega = np.random.default_rng(0).normal(size=(5, 3))
        for kernel in (Gaussian(0.7), ThinPlate(), Multiquadric()):
            assert np.allclose(spectrum(kernel, omega, 3), spectrum(kernel, np.linalg.norm(omega, axis=1), 3))

    def test_tensor_products_and_stretched_kernels_in_the_plane(self):
        kernel = BSpline(1, 0.8)
        omega = np.array([[0.5, 1.2], [0.0, 3.0]])

        def integrand(y, x, w):
            return kernel([[0.0, 0.0]], [[x, y]])[0, 0] * math.cos(w[0] * x) * math.cos(w[1] * y)

        by_scipy = [4 * dblquad(integrand, 0, 0.8, 0, 0.8, args=(w,), epsabs=1e-6)[0] for w in omega]
        assert np.allclose(spectrum(kernel, omega, 2), by_scipy, atol=1e-5)
        stretched = Gaussian().axis_scale([2.0, 0.5])
        expected = 2 * math.pi * np.exp(-0.5 * ((omega * [2.0, 0.5]) ** 2).sum(axis=1))
        assert np.allclose(spectrum(stretched, omega, 2), expected)
        assert np.allclose(
            spectrum(2 * Gaussian() + stretched, omega, 2), expected + 2 * spectrum(Gaussian(), omega, 2)
        )

    @pytest.mark.parametrize(
        "kernel",
        [Dirichlet(4), PeriodicGaussian(0.4), PeriodicGaussian(1.6, 3.0), FourierSeries((0.5, 0, 2.0))],
        ids=case_id,
    )
    def test_circle_against_the_fast_fourier_transform(self, kernel):
        samples = kernel(np.zeros((1, 1)), kernel.period * np.arange(256)[:, None] / 256)[0]
        by_fft = np.fft.rfft(samples).real[:12] / 128
        by_fft[0] /= 2
        assert np.allclose(spectrum(kernel, np.arange(12)), by_fft, atol=1e-13)
        assert np.allclose(fourier_coefficients(kernel, 12), by_fft, atol=1e-13)

    def test_multiples_and_sums_on_the_circle(self):
        kernel = 2.0 * Dirichlet(3) + PeriodicGaussian(0.5)
        expected = 2 * spectrum(Dirichlet(3), np.arange(6)) + spectrum(PeriodicGaussian(0.5), np.arange(6))
        assert np.allclose(spectrum(kernel, np.arange(6)), expected)

    def test_kernels_of_the_user_are_transformed_by_quadrature(self):
        assert np.allclose(spectrum(Cubic(), OMEGA, 2), spectrum(_cubic_from_operator(), OMEGA, 2), rtol=1e-6)
        assert operator_of(Cubic(), 2).zero == pytest.approx(5.0)

    def test_refusals(self):
        with pytest.raises(ValueError, match="not translation-invariant"):
            spectrum(Linear(), [1.0])
        with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
            spectrum(BSpline(3), [1.0, 2.0], 2)
        with pytest.raises(ValueError, match="whole numbers"):
            spectrum(Dirichlet(3), [0.5])
        with pytest.raises(ValueError, match="dimension must be a positive integer"):
            spectrum(Gaussian(), [1.0], 0)
        with pytest.raises(ValueError, match="finite"):
            spectrum(Gaussian(), [np.nan])
        with pytest.raises(ValueError, match="needs 2 order > d"):
            spectrum(Polyharmonic(1), [1.0], 3)


class Cubic(Radial):
    """r^3, as a user would write it."""

    cpd_order = property(lambda self: 2)
    differentiability = property(lambda self: 2)

    def _h(self, s, k):
        return s**1.5


def _cubic_from_operator():
    factor = 2**5 * math.pi * math.gamma(2.5) / math.gamma(-1.5)
    return factor * GreensFunction(derivatives(1) ** 2.5, 2)


class TestOperators:
    def test_algebra_of_symbols(self):
        w = np.array([0.0, 0.5, 2.0])
        sobolev = 1 + derivatives(1)
        assert np.allclose(sobolev.symbol(w), 1 + w**2)
        assert np.allclose((sobolev * derivatives(2)).symbol(w), (1 + w**2) * w**4)
        assert np.allclose((2 * sobolev**1.5 / 3).symbol(w), 2 * (1 + w**2) ** 1.5 / 3)
        assert np.allclose((0.5 * derivatives(1)).exp().symbol(w), np.exp(w**2 / 2))
        assert np.allclose((sobolev**0.5 + derivatives(1)).symbol(w), np.sqrt(1 + w**2) + w**2)
        assert np.allclose((sobolev**0.5).exp().symbol(w), np.exp(np.sqrt(1 + w**2)))
        assert (sobolev * derivatives(2)).zero == 4 and (sobolev * derivatives(2)).growth == 6
        assert repr(sobolev**2) == "Operator<(1 + w^2)^2>"
        given = Operator(lambda omega: omega**2 + omega**3)
        assert (given.zero, given.growth) == (2.0, 3.0)
        assert ((given + 1).zero, (given * given).growth, (given**0.5).growth) == (0.0, 6.0, 1.5)
        assert Operator(np.cosh).growth == math.inf

    @pytest.mark.parametrize(
        "make, message",
        [
            (lambda: Operator(lambda w: w**2 - 1), "must not be negative.*at .omega. = "),
            (lambda: Multiplier((1.0, -3.0, 1.0)), "must not be negative"),
            (lambda: derivatives(1) * -2, "positive numbers"),
            (lambda: derivatives(-1), "order must be an integer from 0"),
            (lambda: derivatives(1).kernel(dimension=2), r"faster than .omega.\^2 \(2 m > d"),
            (lambda: derivatives(2).kernel(dimension=4), "does not exist in R.4"),
            (lambda: (1 + derivatives(1)).kernel(dimension=3), "does not exist in R.3"),
            (lambda: GreensFunction(derivatives(1))(np.zeros((2, 2))), "does not exist"),
            (lambda: Multiplier((1.0, -2.0, 1.0)).kernel(dimension=1), "vanishes at .omega. = 1"),
            (lambda: Operator(lambda w: 1 + np.log1p(w)), "follows no power"),
            (lambda: Operator(lambda w: np.where(w < 1, 0.0, w)), "give zero="),
            (lambda: Operator(lambda w: 3.0), "one value per frequency"),
            (lambda: derivatives(2).kernel(period=-1.0), "period must be"),
            (lambda: derivatives(2).kernel(2, period=1.0), "dimension is 1"),
            (lambda: derivatives(2).kernel(1.5), "dimension must be"),
        ],
    )
    def test_bad_input(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_wrong_types(self):
        with pytest.raises(TypeError, match="callable"):
            Operator(3.0)
        with pytest.raises(TypeError):
            derivatives(1) + "one"
        with pytest.raises(TypeError, match="finite number"):
            derivatives(1) ** "2"

    @pytest.mark.parametrize(
        "kernel, dimension",
        [(k, d) for k in (Gaussian(0.7), Laplacian(2.0), Matern(1.5, 0.8), Matern(2.5)) for d in (1, 2, 3)],
        ids=case_id,
    )
    def test_operator_and_kernel_are_inverse_to_each_other(self, kernel, dimension):
        again = operator_of(kernel, dimension).kernel(dimension)
        assert np.allclose(profile(again, DISTANCES, dimension), profile(kernel, DISTANCES, dimension), atol=1e-9)


class TestGreensFunctions:
    @pytest.mark.parametrize("dimension, power", [(1, 1), (1, 2), (2, 2), (3, 2), (2, 3), (3, 3), (5, 3)])
    def test_bessel_potentials(self, dimension, power):
        """(1 + |omega|^2)^-p has the inverse transform 2^(1-p) / ((2 pi)^(d/2) Gamma(p)) r^nu K_nu(r), nu = p - d/2."""
        nu, r = power - dimension / 2, DISTANCES[1:]
        expected = 2 ** (1 - power) * r**nu * kv(nu, r) / ((2 * math.pi) ** (dimension / 2) * math.gamma(power))
        tabulated = GreensFunction((1 + derivatives(1)) ** power, dimension)
        assert np.allclose(profile(tabulated, r, dimension), expected, rtol=1e-9, atol=1e-11 * expected[0])
        closed = ((1 + derivatives(1)) ** power).kernel(dimension)
        assert np.allclose(profile(closed, r, dimension), expected, rtol=1e-9, atol=1e-11 * expected[0])

    @pytest.mark.parametrize("m, dimension", [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 3), (3, 3), (4, 3)])
    def test_powers_give_polyharmonic_up_to_a_polynomial(self, m, dimension):
        assert derivatives(m).kernel(dimension) == Polyharmonic(m, dimension)
        tabulated, exact = GreensFunction(derivatives(m), dimension), Polyharmonic(m, dimension)
        assert tabulated.cpd_order == exact.cpd_order and tabulated.null_degree == exact.null_degree == m - 1
        assert (
            tabulated.differentiability == exact.differentiability
            and tabulated.dilation_degree == exact.dilation_degree
        )
        r = DISTANCES[1:]
        difference = profile(tabulated, r, dimension) - profile(exact, r, dimension)
        even = r[:, None] ** (2 * np.arange(exact.cpd_order))
        fitted = even @ np.linalg.lstsq(even, difference, rcond=None)[0]
        assert np.abs(difference - fitted).max() < 1e-9 * (1 + np.abs(profile(exact, r, dimension)).max())

    def test_quadratic_forms_and_derivatives_of_tabulated_kernels(self):
        rng = np.random.default_rng(3)
        X = rng.uniform(-1, 1, (12, 2))
        tabulated, exact = GreensFunction(derivatives(3), 2), Polyharmonic(3, 2)
        basis = np.linalg.svd(np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(3) for j in range(3 - i)]).T)
        a = basis[2][6:].T @ rng.standard_normal(6)
        assert np.isclose(a @ tabulated(X) @ a, a @ exact(X) @ a, rtol=1e-6)
        positive = GreensFunction((1 + derivatives(1)) ** 3, 3)
        closed = ((1 + derivatives(1)) ** 3).kernel(3)
        Y = rng.uniform(-1, 1, (7, 3))
        for order in ((1, 0), (1, 1), (2, 0)):
            mine, theirs = (k.derivative(Y, x=order[0], y=order[1]) for k in (positive, closed))
            assert np.abs(mine - theirs).max() < 1e-9 * np.abs(theirs).max()

    def test_fractional_powers(self):
        assert isinstance((derivatives(1) ** 1.25).kernel(2).kernel, NegativeDistance)
        cubic = _cubic_from_operator()
        difference = profile(cubic, DISTANCES, 2) - DISTANCES**3
        even = DISTANCES[:, None] ** (2 * np.arange(2))
        assert np.abs(difference - even @ np.linalg.lstsq(even, difference, rcond=None)[0]).max() < 1e-8
        assert cubic.cpd_order == 2 and cubic.for_dimension(2).null_degree == 1

    @pytest.mark.parametrize("width", [0.5, 0.05])
    def test_narrow_bands(self, width):
        """1 / symbol = two Gaussians at +-6: a damped cosine."""
        operator = Operator(lambda w: 1 / (1e-300 + np.exp(-0.5 * ((w - 6) / width) ** 2)), zero=0.0, growth=np.inf)
        r = np.array([0.0, 0.003, 0.2, 1.0, 3.0])
        exact = width * math.sqrt(2 / math.pi) * np.exp(-0.5 * (width * r) ** 2) * np.cos(6 * r)
        assert np.allclose(profile(operator.kernel(1), r, 1), exact, atol=1e-9 * width)

    def test_order_and_null_space_from_the_zeros_of_the_symbol(self):
        mixed = derivatives(2) + derivatives(3)
        assert [GreensFunction(mixed, d).cpd_order for d in (1, 2, 3)] == [2, 2, 1]
        assert GreensFunction(mixed, 3).null_degree == 1
        assert GreensFunction(1 + derivatives(2), 1).null_degree == -1

    def test_usable_everywhere(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 4, (60, 2))
        y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
        tension = (0.5 * derivatives(1) + derivatives(2)).kernel(dimension=2)  # a thin plate under tension
        model = Smoother(tension).fit(X, y)
        assert model.score(X, y) > 0.98
        assert np.isfinite(model.function_.gradient(X + 0.01)).all()
        copy = pickle.loads(pickle.dumps(tension))
        assert copy == tension and clone(tension) == tension
        assert np.array_equal(copy(X), tension(X))
        follows = ((1 + derivatives(1)) ** 3).kernel()
        assert np.allclose(follows(X), ((1 + derivatives(1)) ** 3).kernel(2)(X))

    def test_circle(self):
        sobolev = (1 + derivatives(1)).kernel(period=2 * math.pi)
        t = np.linspace(0.2, 6, 9)
        exact = np.cosh(math.pi - t) / (2 * math.sinh(math.pi))
        assert np.allclose(sobolev([[0.0]], t[:, None])[0], exact, atol=1e-5)
        bending = derivatives(2).kernel(period=1.0)  # Bernoulli polynomial: -B_4(t) / 4!
        t = np.linspace(0, 1, 9)
        bernoulli = t**4 - 2 * t**3 + t**2 - 1 / 30
        assert np.allclose(bending([[0.0]], t[:, None])[0], -bernoulli / 24, atol=1e-9)
        assert bending.null_degree == 0
        x = np.linspace(0, 1, 40)[:, None]
        y = 3 + np.sin(2 * np.pi * x[:, 0])
        assert Smoother(bending, alpha=1e-9).fit(x, y).score(x, y) > 1 - 1e-6


class TestSelfConsistency:
    def test_appendix_a_by_direct_integration(self):
        """<k(x,.), k(y,.)> + <k'(x,.), k'(y,.)> = k(x, y) for k = exp(-|x - y|) / 2."""
        x, y = 0.3, 1.1
        k = lambda t, c: 0.5 * math.exp(-abs(t - c))  # noqa: E731
        slope = lambda t, c: -math.copysign(1.0, t - c) * k(t, c)  # noqa: E731
        inner = quad(lambda t: k(t, x) * k(t, y) + slope(t, x) * slope(t, y), -40, 40, points=[x, y], limit=200)[0]
        kernel = (1 + derivatives(1)).kernel(dimension=1)
        assert np.isclose(inner, kernel([[x]], [[y]])[0, 0], rtol=1e-10)
        assert kernel.kernel == Laplacian(1.0)

    @pytest.mark.parametrize(
        "kernel", [Gaussian(0.7), Matern(2.5), Laplacian(2.0), InverseMultiquadric(0.6)], ids=case_id
    )
    @pytest.mark.parametrize("dimension", [1, 2, 3], ids=case_id)
    def test_energy_by_the_own_operator_is_the_kernel(self, kernel, dimension):
        """<Pk(x,.), Pk(y,.)> = k(x, y) [Smola et al. 1998, 13]."""
        D = GreensFunction(operator_of(kernel, dimension) ** 2 / operator_of(kernel, dimension), dimension)
        assert np.allclose(profile(D, DISTANCES, dimension), profile(kernel, DISTANCES, dimension), atol=1e-8)

    def test_the_operator_series_of_the_gaussian(self):
        """(25): sum_m scale^(2m) / (m! 2^m) |O^m f|^2 converges to the squared norm, up to the constant."""
        scale, x = 0.8, np.linspace(-1, 1, 5)[:, None]
        f = Smoother(Gaussian(1.1), alpha=1e-3, null_space=-1).fit(x, np.sin(2 * x[:, 0])).function_
        terms = [(scale**2 / 2) ** m / math.factorial(m) * spectral_seminorm(f, derivatives(m)) ** 2 for m in range(26)]
        exact = spectral_seminorm(f, (scale**2 / 2 * derivatives(1)).exp()) ** 2
        sums = np.cumsum(terms)
        assert np.isclose(sums[-1], exact, rtol=1e-6)
        assert abs(sums[3] - exact) > 1e-3 * exact
        constant = (2 * math.pi * scale**2) ** 0.5
        assert operator_of(Gaussian(scale)).symbol(np.array([1.3]))[0] == pytest.approx(
            math.exp(scale**2 * 1.3**2 / 2) / constant
        )

    def test_energies_by_direct_integration(self):
        x = np.array([[0.0], [0.7], [1.5]])
        f = Smoother(Matern(2.5), alpha=1e-2, null_space=-1).fit(x, [1.0, -0.5, 0.4]).function_
        slope = quad(lambda t: f.gradient([[t]])[0, 0] ** 2, -25, 25, points=[0, 0.7, 1.5], limit=400)[0]
        bend = quad(lambda t: f.hessian([[t]])[0, 0, 0] ** 2, -25, 25, points=[0, 0.7, 1.5], limit=400)[0]
        assert np.isclose(spectral_seminorm(f, derivatives(1)) ** 2, slope, rtol=1e-6)
        assert np.isclose(spectral_seminorm(f, derivatives(2)) ** 2, bend, rtol=1e-6)

    @pytest.mark.parametrize(
        "kernel", [Gaussian(0.5), Matern(1.5), Multiquadric(), Polyharmonic(2), NegativeDistance(1.0)], ids=case_id
    )
    @pytest.mark.parametrize("dimension", [1, 2, 3], ids=case_id)
    def test_norm_through_the_spectrum(self, kernel, dimension):
        rng = np.random.default_rng(dimension)
        X = rng.uniform(-1, 1, (25, dimension))
        f = Smoother(kernel, alpha=1e-2).fit(X, np.cos(2 * X).sum(axis=1)).function_
        assert np.isclose(spectral_seminorm(f), f.seminorm(), rtol=1e-6)

    def test_energy_needs_a_smooth_kernel(self):
        with pytest.raises(ValueError, match="not smooth enough"):
            energy_kernel(Laplacian(), derivatives(2), 2)


class TestNetworks:
    X = np.linspace(0, 5, 25)[:, None]
    y = np.sin(X[:, 0]) + 0.1 * np.cos(9 * X[:, 0])

    def test_squared_loss_against_the_normal_equations(self):
        kernel, operator, alpha = Matern(2.5), derivatives(2) + 0.1, 1e-3
        K, D = kernel(self.X), energy_kernel(kernel, operator)(self.X)
        a = np.linalg.lstsq(K.T @ K + alpha * D, K.T @ self.y, rcond=1e-14)[0]
        model = Smoother(network_kernel(kernel, operator, self.X), alpha=alpha, null_space=-1).fit(self.X, self.y)
        assert np.allclose(model.predict(self.X), K @ a, atol=1e-5)

    def test_own_operator_gives_the_machine_of_the_kernel(self):
        kernel = Matern(1.5)
        network = network_kernel(kernel, operator_of(kernel), self.X)
        settings = {"alpha": 1e-2, "epsilon": 0.05}
        mine, theirs = (SVR(k, null_space=0, **settings).fit(self.X, self.y).predict(self.X) for k in (network, kernel))
        assert np.allclose(mine, theirs, atol=1e-4)

    def test_another_operator_gives_another_machine(self):
        settings = {"alpha": 1e-2, "epsilon": 0.02}
        bending = SVR(network_kernel(Gaussian(0.6), derivatives(3), self.X), **settings).fit(self.X, self.y)
        own = SVR(Gaussian(0.6), **settings).fit(self.X, self.y)
        assert np.abs(bending.predict(self.X) - own.predict(self.X)).max() > 0.02

    def test_refusals(self):
        with pytest.raises(ValueError, match="positive definite kernel"):
            network_kernel(ThinPlate(), derivatives(1), np.zeros((3, 1)) + np.arange(3)[:, None])
        with pytest.raises(ValueError, match="centers must be"):
            network_kernel(Gaussian(), derivatives(1), np.zeros(3))


class TestRidgeTwins:
    @pytest.mark.parametrize(
        "kernel",
        [
            *(Gaussian(1.7), Matern(1.5), Matern(2.5), BSpline(3, 0.8), BSpline(7)),
            pytest.param(Wendland(4, 2.0), marks=pytest.mark.slow),  # its spectrum is computed by quadrature
        ],
        ids=case_id,
    )
    def test_composed_with_itself_the_twin_gives_the_kernel(self, kernel):
        twin, z = ridge_twin(kernel), np.linspace(-30, 30, 24001)
        x = np.array([[0.0], [0.45], [1.3]])
        R = twin(x, z[:, None])
        assert np.allclose(R @ R.T * (z[1] - z[0]), kernel(x), atol=2e-4)

    def test_named_twins(self):
        assert ridge_twin(Gaussian(3.0)).kernel.scale == pytest.approx(3.0 / math.sqrt(2))
        assert ridge_twin(BSpline(3)) == BSpline(1)
        assert ridge_twin(Polyharmonic(4), 2) == Polyharmonic(2, 2)
        w = np.linspace(0.1, 5, 7)
        for dimension in (1, 2, 3):
            twin = ridge_twin(Gaussian(1.3), dimension)
            assert np.allclose(spectrum(twin, w, dimension), np.sqrt(spectrum(Gaussian(1.3), w, dimension)))

    def test_circle(self):
        kernel = PeriodicGaussian(0.4)
        z = 2 * math.pi * np.arange(500)[:, None] / 500
        R = ridge_twin(kernel)(np.array([[0.0], [1.0]]), z)
        assert np.allclose(R @ R.T * 2 * math.pi / 500, kernel(np.array([[0.0], [1.0]])), atol=1e-12)

    @pytest.mark.parametrize(
        "kernel, dimension", [(Laplacian(), 1), (BSpline(1), 1), (ThinPlate(), 2), (Matern(1.5), 3)]
    )
    def test_refused_where_not_finite_at_zero(self, kernel, dimension):
        with pytest.raises(ValueError, match="not finite at zero"):
            ridge_twin(kernel, dimension)
