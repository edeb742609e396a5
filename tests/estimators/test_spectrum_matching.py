"""Kernels with a prescribed spectrum, the kernel matched to data, and kernels in log-polar coordinates."""

import decimal
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest
from helpers import case_id, central_difference
from scipy.integrate import quad
from scipy.special import spherical_jn
from scipy.stats import special_ortho_group
from sklearn.base import clone

from seminorm import SVC, Smoother
from seminorm.estimators.spectrum_matching import _blocks, match_spectrum
from seminorm.kernels import (
    BSpline,
    Dirichlet,
    Gaussian,
    Laplacian,
    Linear,
    PeriodicGaussian,
    Polynomial,
    PowerSeries,
    ThinPlate,
)
from seminorm.kernels.log_polar import LogPolar
from seminorm.kernels.spectral import SpectralMixture
from seminorm.kernels.sphere import sphere_average
from seminorm.solvers.ridge.shells import ShellLikelihood

MIXTURE = SpectralMixture((0.0, 2.0, 5.0), (1.0, 0.4, 1.2), (1.0, 0.5, 0.25))


# --- averages over the sphere


def exact_sphere_average(z: float, dimension: int) -> Decimal:
    """The power series in as many digits as its cancellation needs."""
    with decimal.localcontext(prec=40 + int(z / 2)):
        square, half = -(Decimal(z) ** 2) / 4, Decimal(dimension) / 2
        term = total = Decimal(1)
        k = 0
        while k < z or abs(term) > Decimal(10) ** -30:
            term *= square / ((k + 1) * (half + k))
            total += term
            k += 1
        return total


@pytest.mark.parametrize("dimension", [*range(1, 13), 16, 20])
def test_sphere_average_keeps_fourteen_digits(dimension, rng):
    border = math.sqrt(8 * dimension)
    z = np.r_[0.0, 1e-9, 1e-3, border * 0.999999, border * 1.000001, rng.uniform(0, 40, 30), 130.0, 999.0, 1003.0]
    errors = [
        abs(Decimal(float(value)) - exact_sphere_average(float(at), dimension))
        for value, at in zip(sphere_average(z, dimension), z, strict=True)
    ]
    assert max(errors) < 2e-15


def test_sphere_average_in_space_and_far_out():
    z = np.array([2e4, 3e6])
    np.testing.assert_allclose(sphere_average(z, 5), 3 * spherical_jn(1, z) / z, atol=1e-16)
    # the phase is exact: J_0 at 10^8 by its first two asymptotic terms
    far = 1e8
    exact = math.sqrt(2 / (math.pi * far)) * (
        (math.cos(far) + math.sin(far)) / math.sqrt(2) + (math.sin(far) - math.cos(far)) / math.sqrt(2) / (8 * far)
    )
    assert float(sphere_average(far, 2)) == pytest.approx(exact, abs=1e-18)
    assert sphere_average(-2.0, 2) == sphere_average(2.0, 2)
    assert sphere_average(np.zeros((2, 3)), 4).shape == (2, 3)
    for wrong in (0, 2.5):
        with pytest.raises(ValueError, match="dimension"):
            sphere_average(1.0, wrong)


# --- the kernel


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 6])
def test_spectrum_is_the_fourier_transform(dimension):
    area = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    kernel = MIXTURE.for_dimension(dimension)
    for omega in (0.0, 1e-4, 0.5, 2.0, 6.0):

        def integrand(r, omega=omega):
            value = float(kernel.profile(np.array([r * r]))[0])
            return area * r ** (dimension - 1) * value * float(sphere_average(omega * r, dimension))

        expected = quad(integrand, 0, 25, limit=300, epsabs=1e-11)[0]
        assert kernel.spectrum_density(omega) == pytest.approx(expected, abs=1e-9 * expected + 1e-10)
    total = quad(lambda w: area * w ** (dimension - 1) * float(kernel.spectrum_density(w)), 0, 20, limit=200)[0]
    assert total / (2 * math.pi) ** dimension == pytest.approx(1.75)


def test_spectrum_of_narrow_shells_is_finite():
    narrow = SpectralMixture([3.0], [1e-6], [1.0])
    for dimension in (1, 2, 3, 4):
        values = narrow.spectrum_density([0.0, 2.0, 3.0, 3.000001], dimension)
        assert np.isfinite(values).all()
        assert values[2] > values[3] > values[1] == values[0] == 0.0


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_mixture_is_definite_and_differentiable(dimension, rng):
    X = 3 * rng.random((40, dimension))
    values = np.linalg.eigvalsh(MIXTURE(X))
    assert values[0] > -1e-12 * values[-1]
    Y = X[:4] + 0.3
    for x in (0, 1, 2):
        exact = MIXTURE.derivative(X[:5], Y, x=x + 1)
        numeric = central_difference(lambda Z, x=x: MIXTURE.derivative(Z, Y, x=x), X[:5])
        np.testing.assert_allclose(exact, numeric, atol=1e-7 * np.abs(exact).max())
    here = MIXTURE.mixed_hessian(X[:1])[0, 0]
    # -h'(0) 2: the second moment of the spectrum, by its definition
    moment = sum(w * (f**2 / dimension + b**2) for f, b, w in [(0, 1, 1), (2, 0.4, 0.5), (5, 1.2, 0.25)])
    np.testing.assert_allclose(here, moment * np.eye(dimension), atol=1e-12)


def test_mixture_at_frequency_zero_is_the_gaussian(rng):
    X = rng.random((8, 4))
    np.testing.assert_allclose(SpectralMixture([0.0], 2.0, [3.0])(X), 3 * Gaussian(0.5)(X), rtol=1e-13)


def test_mixture_parameters_and_dimension(rng):
    X = rng.random((6, 2))
    for kernel in (
        SpectralMixture(),
        SpectralMixture((0.0, 2.0, 5.0), (1.0, 0.4, 1.2), (1.0, 0.5, 0.25), dimension=3),
        MIXTURE,
    ):
        for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
            assert copy == kernel
            assert np.array_equal(copy(X), kernel(X))
        assert "SpectralMixture(frequencies=" in repr(kernel)
    in_space = SpectralMixture([2.0], [0.5], [1.0], dimension=3)
    assert in_space.max_dimension == 3
    np.testing.assert_allclose(in_space(X)[0, 1], in_space(np.c_[X, np.zeros(6)])[0, 1])  # the plane in space
    with pytest.raises(ValueError, match="leave dimension out"):
        in_space(rng.random((3, 4)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: SpectralMixture([1.0], [1.0], [-1.0])([[0.0]]), "weights must not be negative"),
        (lambda: SpectralMixture([1.0], [1.0], [0.0])([[0.0]]), "all are zero"),
        (lambda: SpectralMixture([1.0, 2.0], [1.0], [1.0])([[0.0]]), "same length, got 2, 1 and 1"),
        (lambda: SpectralMixture([np.nan], [1.0], [1.0])([[0.0]]), "frequencies must be a sequence of finite"),
        (lambda: SpectralMixture([1.0], -1.0, [1.0])([[0.0]]), "widths must not be negative"),
        (lambda: SpectralMixture(1.0, 1.0, [1.0])([[0.0]]), "frequencies must be a sequence"),
        (lambda: MIXTURE.profile([1.0]), "for_dimension"),
        (lambda: MIXTURE.spectrum_density([1.0]), "dimension is needed"),
        (lambda: MIXTURE.for_dimension(2).spectrum_density([1.0], 3), "differs"),
        (lambda: SpectralMixture([1.0], 0.0, [1.0]).spectrum_density([1.0], 1), "no density"),
    ],
)
def test_wrong_mixtures_say_why(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


# --- matching


def random_function(rng, dimension, frequencies):
    """A stationary random function of variance 1: waves of the given frequencies in random directions."""
    direction = rng.standard_normal((len(frequencies), dimension))
    direction *= (frequencies / np.linalg.norm(direction, axis=1))[:, None]
    phase = rng.uniform(0, 2 * np.pi, len(frequencies))
    return lambda X: np.cos(X @ direction.T + phase).sum(axis=1) * math.sqrt(2 / len(frequencies))


def error(kernel, X, y, inside, truth, alpha="auto"):
    model = Smoother(kernel=kernel, null_space=0, alpha=alpha).fit(X, y)
    return np.sqrt(np.mean((model.predict(inside) - truth) ** 2)), np.mean(model.loo_**2)


def error_of_best_gaussian(X, y, inside, truth):
    extent = np.ptp(X, axis=0).max()
    tried = [error(Gaussian(scale), X, y, inside, truth) for scale in np.geomspace(extent / 150, extent, 15)]
    return min(tried, key=lambda pair: pair[1])[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_quasi_periodic_data_are_filled_in_gaps(seed):
    rng = np.random.default_rng(seed)
    f = random_function(rng, 1, 25 + rng.standard_normal(300))
    x = rng.uniform(0, 10, 400)
    gaps = ((2.0, 2.5), (5.0, 5.6), (8.0, 8.3))
    X = x[~np.any([(x > a) & (x < b) for a, b in gaps], axis=0)][:150, None]
    y = f(X) + 0.3 * rng.standard_normal(150)
    inside = np.concatenate([np.linspace(a, b, 60) for a, b in gaps])[:, None]
    match = match_spectrum(X, y)
    assert match.peak == pytest.approx(25, rel=0.05)
    assert match.noise == pytest.approx(0.09, rel=0.4)
    gaussian = error_of_best_gaussian(X, y, inside, f(inside))
    assert error(match.kernel, X, y, inside, f(inside))[0] < 0.4 * gaussian
    assert error(match.kernel, X, y, inside, f(inside), match.noise)[0] < 0.4 * gaussian


def test_ring_spectrum_in_the_plane():
    rng = np.random.default_rng(0)
    f = random_function(rng, 2, 12 + rng.standard_normal(300))
    X, inside = 3 * rng.random((200, 2)), 3 * rng.random((400, 2))
    y = f(X) + 0.2 * rng.standard_normal(200)
    match = match_spectrum(X, y)
    assert match.peak == pytest.approx(12, rel=0.08)
    assert match.signal == pytest.approx(np.var(f(inside)), rel=0.5)
    gaussian = error_of_best_gaussian(X, y, inside, f(inside))
    assert error(match.kernel, X, y, inside, f(inside))[0] < 0.75 * gaussian


@pytest.mark.parametrize("dimension", [1, 2])
def test_smooth_fields_are_no_worse_than_with_the_gaussian_that_made_them(dimension):
    rng = np.random.default_rng(2)
    f = random_function(rng, dimension, 3 * np.linalg.norm(rng.standard_normal((300, dimension)), axis=1))
    X, inside = 4 * rng.random((150, dimension)), 4 * rng.random((300, dimension))
    y = f(X) + 0.2 * rng.standard_normal(150)
    match = match_spectrum(X, y)
    assert error(match.kernel, X, y, inside, f(inside))[0] < 1.1 * error_of_best_gaussian(X, y, inside, f(inside))
    assert match.power[0] == pytest.approx(match.power.max(), rel=0.05)


def test_two_lines_and_their_power():
    rng = np.random.default_rng(5)
    X = 20 * rng.random((160, 1))
    y = 2.0 * np.sin(3 * X[:, 0]) + np.cos(11 * X[:, 0]) + 0.2 * rng.standard_normal(160)
    match = match_spectrum(X, y)
    for line in (3.0, 11.0):
        near = np.abs(match.omega - line) < 0.5
        assert match.omega[near][np.argmax(match.power[near])] == pytest.approx(line, abs=0.1)
    valley = match.power[(match.omega > 5) & (match.omega < 9)].max()
    assert valley < 0.01 * match.power.max()
    assert repr(match).startswith("SpectrumMatch(signal ")
    np.testing.assert_allclose(match.power, match.kernel.spectrum_density(match.omega))
    assert np.trapezoid(match.power, match.omega) / math.pi == pytest.approx(match.signal, rel=0.01)


def test_units_trends_and_repeated_runs():
    rng = np.random.default_rng(7)
    X = rng.random((120, 2))
    f = random_function(rng, 2, 15 + rng.standard_normal(200))
    y = f(X) + 0.1 * rng.standard_normal(120)
    match, again = match_spectrum(X, y, trend_degree=1), match_spectrum(X, y, trend_degree=1)
    assert again.kernel == match.kernel
    assert again.noise == match.noise
    sloped = match_spectrum(1e3 * X + 5e4, 10 * y + 1e3 * X[:, 0] + 7.0, trend_degree=1)
    assert sloped.peak == pytest.approx(match.peak / 1e3, rel=1e-3)
    assert sloped.signal == pytest.approx(100 * match.signal, rel=1e-2)
    assert sloped.noise == pytest.approx(100 * match.noise, rel=1e-2)


@pytest.mark.parametrize("frequency", [6.0, 60.0])
def test_many_points_are_seen_through_blocks(frequency):
    """Low frequencies need far pairs, high ones need close ones; at random, close ones hardly occur."""
    rng = np.random.default_rng(11)
    f = random_function(rng, 2, frequency * (1 + 0.08 * rng.standard_normal(100)))
    X = 3 * rng.random((20_000, 2))
    match = match_spectrum(X, f(X) + 0.3 * rng.standard_normal(len(X)), max_pairs=20_000)
    assert match.peak == pytest.approx(frequency, rel=0.1)
    assert match.noise == pytest.approx(0.09, rel=0.4)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_derivatives_of_the_likelihood(dimension, rng):
    X, y = rng.random((60, dimension)), rng.standard_normal(60)
    blocks = _blocks(X, y, 1, 900, np.random.RandomState(0))
    assert len(blocks) == 3
    likelihood = ShellLikelihood(blocks, dimension, 50.0)
    theta = np.r_[np.log([0.3, 0.5]), [4.0, 9.0], np.log([2.0, 1.0]), -1.0]
    numeric = central_difference(lambda T: np.array([likelihood._deviance_and_gradient(t)[0] for t in T]), theta[None])
    np.testing.assert_allclose(likelihood._deviance_and_gradient(theta)[1], numeric[0], rtol=1e-6, atol=1e-6)


def test_white_noise_has_no_spectrum_to_match():
    """False alarms are rare: below one in ten, and one in some hundred in longer runs."""
    refused = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.random((60, 1 + seed % 3)), rng.standard_normal(60)
        try:
            match_spectrum(X, y)
        except ValueError as problem:
            assert "no structure beyond white noise" in str(problem)
            refused += 1
    assert refused >= 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.arange(10.0)[:, None], "y": np.arange(10.0)}, "at least 20 points"),
        ({"y": np.full(60, 3.0)}, "constant"),
        ({"y": np.r_[np.nan, np.ones(59)]}, "NaN"),
        ({"X": np.random.default_rng(0).random((60, 9))}, "up to 8 dimensions"),
        ({"X": np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)}, "distinct points"),
        ({"n_frequencies": 2}, "n_frequencies"),
        ({"trend_degree": -2}, "trend_degree"),
        ({"trend_degree": 30}, "needs at least 93 points"),
        ({"max_pairs": 10}, "max_pairs"),
        ({"y": 2.0 * np.linspace(0, 5, 60) + 1.0, "trend_degree": 1}, "polynomial of degree 1"),
    ],
)
def test_wrong_data_say_why(change, message):
    X = np.linspace(0, 5, 60)[:, None]
    arguments = {"X": X, "y": np.sin(3 * X[:, 0])} | change
    with pytest.raises(ValueError, match=message):
        match_spectrum(arguments.pop("X"), arguments.pop("y"), **arguments)


# --- log-polar coordinates


LOG_POLAR = [
    (LogPolar(), 2),
    (LogPolar(), 3),
    (LogPolar(Laplacian(0.5), Dirichlet(4)), 2),
    (LogPolar(Gaussian(0.5), 0.5 * PeriodicGaussian(0.8) + PeriodicGaussian(0.3)), 2),
    (LogPolar(BSpline(3), Gaussian(0.7)), 2),
    (LogPolar(angular=Polynomial(3)), 4),
]


@pytest.mark.parametrize(("kernel", "dimension"), LOG_POLAR, ids=case_id)
def test_log_polar_is_definite_and_blind_to_rotation_and_dilation(kernel, dimension, rng):
    X = rng.standard_normal((30, dimension))
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.linalg.eigvalsh(K)[-1]
    assert kernel.invariances == {"rotation", "dilation"}
    assert kernel.dilation_degree == 0
    for turn in special_ortho_group.rvs(dimension, size=3, random_state=0):
        np.testing.assert_allclose(kernel(37.0 * X @ turn), K, atol=1e-11 * np.abs(K).max())
    mirrored = X * np.r_[-1.0, np.ones(dimension - 1)]
    np.testing.assert_allclose(kernel(mirrored), K, atol=1e-11 * np.abs(K).max())
    assert not np.allclose(kernel(X + 1.0), K)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K))
    np.testing.assert_allclose(kernel(X[:7], X[7:]), K[:7, 7:], atol=1e-13)


def test_log_polar_by_its_formula():
    kernel = LogPolar(Gaussian(0.7), PeriodicGaussian(0.4))
    x, y = 2.0 * np.array([[math.cos(0.3), math.sin(0.3)]]), 5.0 * np.array([[math.cos(6.1), math.sin(6.1)]])
    expected = Gaussian(0.7)([[math.log(2.0)]], [[math.log(5.0)]]) * PeriodicGaussian(0.4)([[0.3]], [[6.1]])
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-12)
    center = np.array([3.0, -1.0])
    np.testing.assert_allclose(LogPolar(Gaussian(0.7), PeriodicGaussian(0.4), center)(x + center, y + center), expected)
    on_the_line = LogPolar()(np.array([[1.0], [-1.0]]))
    np.testing.assert_allclose(on_the_line, np.exp([[1, -1], [-1, 1]]))


def test_log_polar_states_only_what_holds():
    assert LogPolar(center=[1.0, 0.0]).invariances == frozenset()
    assert LogPolar(center=[1.0, 0.0]).dilation_degree is None
    assert LogPolar(center=[0.0, 0.0]).invariances == {"rotation", "dilation"}
    assert LogPolar(angular=BSpline(3)).invariances == {"dilation"}  # of unit vectors, along the axes
    assert LogPolar(angular=PowerSeries("exp", kernel=Linear())).invariances == {"rotation", "dilation"}


def test_log_polar_parameters(rng):
    X = rng.standard_normal((5, 2))
    for kernel in (
        LogPolar(),
        LogPolar(Gaussian(0.5), Gaussian(0.8)),
        LogPolar(Laplacian(), PeriodicGaussian(0.3), [0.5, 0.5]),
    ):
        for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), LogPolar(**kernel.get_params(deep=False))):
            assert np.array_equal(copy(X), kernel(X))
    assert repr(LogPolar(Gaussian(2.0))) == "LogPolar(radial=Gaussian(scale=2.0))"
    assert LogPolar(Gaussian()).set_params(radial__scale=3.0) == LogPolar(Gaussian(3.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LogPolar()([[1.0, 0.0], [0.0, 0.0]]), "row 1 of X is the centre"),
        (lambda: LogPolar(center=[1.0, 0.0])([[2.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]), r"row 0 of Y .*\(2 such rows\)"),
        (lambda: LogPolar(ThinPlate())([[1.0, 0.0]]), "radial must be positive definite"),
        (lambda: LogPolar(angular=ThinPlate())([[1.0, 0.0]]), "angular must be positive definite"),
        (lambda: LogPolar(Linear())([[1.0, 0.0]]), "translation-invariant"),
        (lambda: LogPolar(angular=PeriodicGaussian(0.5, period=1.5))([[1.0, 0.0]]), "period 2 pi"),
        (lambda: LogPolar(angular=PeriodicGaussian())([[1.0, 0.0, 0.0]]), "unit vectors"),
        (lambda: LogPolar(center=[1.0])([[1.0, 0.0]]), "center must be 2"),
        (lambda: LogPolar().gradient([[1.0, 0.0]], [[2.0, 0.0]]), "no derivatives"),
    ],
)
def test_wrong_log_polar_kernels_say_why(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_log_polar_in_the_estimators(rng):
    """A spiral is a function of log r and angle: finer and finer towards the centre."""

    def spiral(X):
        return np.cos(2 * np.arctan2(X[:, 1], X[:, 0]) - 3 * np.log(np.linalg.norm(X, axis=1)))

    def ring(n):
        radius, angle = np.exp(rng.uniform(-3, 1, n)), rng.uniform(0, 2 * np.pi, n)
        return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    X, inside = ring(150), ring(300)
    y = spiral(X) + 0.05 * rng.standard_normal(150)
    log_polar = Smoother(kernel=LogPolar(Gaussian(0.6), PeriodicGaussian(0.6))).fit(X, y)
    unexplained, by_thin_plate = (
        1 - model.score(inside, spiral(inside)) for model in (log_polar, Smoother().fit(X, y))
    )
    assert unexplained < min(0.05, 0.3 * by_thin_plate)
    machine = SVC(kernel=LogPolar(Gaussian(0.6), PeriodicGaussian(0.6))).fit(X, y > 0)
    assert machine.score(inside, spiral(inside) > 0) > 0.87
    dilated = SVC(kernel=LogPolar(Gaussian(0.6), PeriodicGaussian(0.6))).fit(8 * X, y > 0)
    assert np.array_equal(dilated.predict(8 * inside), machine.predict(inside))
