"""Energies of several orders: sums of single ones, dense Gaussian processes, and their restricted likelihood."""

import numpy as np
import pytest
from field_bases import dense_matrix, random_field, small_tree

from seminorm import Field, FieldSmoother, Smoother
from seminorm.fields import Roughness, Source
from seminorm.fields.draws import energy_noise
from seminorm.fields.families import choose, tension
from seminorm.fields.likelihood import Likelihood
from seminorm.fields.pointwise import LocalEnergy
from seminorm.fields.system import Energy, System
from seminorm.fields.windows import windows_of
from seminorm.kernels import Gaussian
from seminorm.operators import Operator, derivatives, operator_of
from seminorm.operators.operator import Multiplier

MIXED = Roughness((0.7, 4.0, 0.3))
shapes = pytest.mark.parametrize(("d", "degree"), [(1, 2), (1, 3), (2, 2), (3, 2)])


def test_roughness_of_operators():
    assert Roughness.of((2 + derivatives(1)) ** 2).factors == (4.0, 4.0, 1.0)
    assert Roughness.of(derivatives(3)) == Roughness.of(3) and Roughness.of(3).lowest == 3
    assert str(Roughness.of(2)) == "order 2" and str(tension(2.0)) == "symbol 4 w^2 + w^4"
    for operator in (Operator(lambda w: 1 + w**3), operator_of(Gaussian()), derivatives(1) ** 0.5, 2.0):
        with pytest.raises(ValueError, match=r"must have a symbol that is a polynomial in \|omega\|\^2"):
            Roughness.of(operator)
    for operator in (derivatives(4), Multiplier((1.0, -2.0, 1.0))):  # the symbol (1 - w^2)^2 is not negative
        with pytest.raises(ValueError, match="a sum of semi-norms of order 0 to 3 with factors that are not negative"):
            Roughness.of(operator)
    for factors in ((-1.0, 1.0), (0.0,), (1.0, np.nan), (1.0,) * 5):
        with pytest.raises(ValueError, match="factors must be at most 4 finite numbers"):
            Roughness(factors)


@shapes
def test_energies_add_up(d, degree):
    """Of fields, applied in two ways, in the system and its diagonal, on cells of several levels."""
    tree = small_tree(d, degree, levels=1)
    field, x = random_field(tree, 2)
    parts = sum(factor * Field(tree, field.coef, order).seminorm() ** 2 if order else factor * _square(field)
                for order, factor in MIXED.parts)  # fmt: skip
    mixed = Field(tree, field.coef, MIXED)
    assert mixed.seminorm() ** 2 == pytest.approx(parts, rel=1e-9)
    image = np.zeros(x.shape)
    LocalEnergy(tree, MIXED).add(field.coef, 1.0, image)
    assert (image * field.coef).sum() == pytest.approx(parts, rel=1e-9)
    X = np.random.default_rng(0).random((20, d))
    matrices = []
    for roughness in (MIXED, *(Roughness(factor * np.eye(4)[order]) for order, factor in MIXED.parts)):
        system = System(tree, roughness)
        system.add(next(iter(Source.of(X, X[:, 0]))), 0)
        matrices.append(dense_matrix(system.close(), 0.5) - dense_matrix(system, 0.0))
    np.testing.assert_allclose(matrices[0], sum(matrices[1:]), atol=1e-10 * np.abs(matrices[0]).max())


def _square(field):
    return Energy(field.tree, Roughness((1.0,)))(field.coef)


def test_order_zero_is_the_integral_of_the_square():
    tree = small_tree(1, 2, levels=1)
    field, _ = random_field(tree, 2)
    (low,), (high,) = field.bounds
    Z = np.linspace(low, high, 200_001)[:, None]
    assert _square(field) == pytest.approx(np.mean(field(Z) ** 2) * (high - low), rel=1e-4)


def test_noise_of_the_energy_has_its_covariance():
    """One column after the other of the map from normal numbers to noise."""
    tree = small_tree(1, 2, levels=1)

    class Unit:
        def __init__(self, place):
            self.place = place

        def standard_normal(self, shape):
            self.size = int(np.prod(shape))
            return (np.arange(self.size) == self.place).reshape(shape).astype(float)

    energy, first = Energy(tree, MIXED), Unit(0)
    energy_noise(tree, energy, 0.5, first)
    columns = np.stack([energy_noise(tree, energy, 0.5, Unit(k)).ravel() for k in range(first.size)], axis=1)
    field, _ = random_field(tree, 2)
    expected = 0.5 * energy(field.coef)
    assert ((columns.T @ field.coef.ravel()) ** 2).sum() == pytest.approx(expected, rel=1e-9)


# -- oracles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2])
def test_tension_is_the_smoother_with_its_kernel(d):
    rng = np.random.default_rng(1)
    X = rng.random((150, d))
    y = np.sin(6 * X[:, 0]) + X[:, -1] + 3.0
    operator = 36.0 * derivatives(1) + derivatives(2)
    exact = Smoother(operator.kernel(d), alpha=1e-5).fit(X, y)
    field = FieldSmoother(1e-5, operator=operator, depth=7 if d == 1 else 5, degree=3, tol=1e-8).fit(X, y)
    Z = rng.random((100, d))
    np.testing.assert_allclose(field.predict(Z), exact.predict(Z), atol=2e-3 if d == 1 else 5e-3)  # the box is finite
    assert field.function_.seminorm() == pytest.approx(exact.function_.seminorm(), rel=0.02)


@pytest.mark.parametrize(("d", "power"), [(1, 1), (1, 2), (2, 2), (2, 3)])
def test_matern_fields_are_gaussian_processes(d, power):
    """Of mean zero: no constant is free, and far from the data the field vanishes."""
    rng = np.random.default_rng(2)
    X, operator, alpha = rng.random((120, d)), (25.0 + derivatives(1)) ** power, 1e-7 if power == 3 else 1e-5
    y = np.sin(6 * X[:, 0]) + X[:, -1] + 3.0
    kernel = operator.kernel(d)
    Z = np.concatenate([rng.random((80, d)), np.full((1, d), 2.5)])
    expected = kernel(Z, X) @ np.linalg.solve(kernel(X) + alpha * np.eye(120), y)
    depth = 8 if d == 1 else 6
    field = FieldSmoother(alpha, operator=operator, depth=depth, degree=3, tol=1e-9, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(field.predict(Z), expected, atol=0.02 if power == 1 else 5e-3)


def test_null_space_follows_from_the_symbol():
    X = np.random.default_rng(3).random((200, 2))
    linear = X @ [1.0, -2.0] + 3.0
    given = {
        "free": derivatives(2) + derivatives(3), "constant": derivatives(1) + derivatives(2), "none": 1 + derivatives(2)
    }  # fmt: skip
    fits = {name: FieldSmoother(1e3, operator=operator, depth=2, tol=1e-10).fit(X, linear).predict(X)
            for name, operator in given.items()}  # fmt: skip
    np.testing.assert_allclose(fits["free"], linear, atol=1e-5)
    np.testing.assert_allclose(fits["constant"], linear.mean(), atol=0.1)
    assert np.abs(fits["none"]).max() < 0.5
    whole = FieldSmoother(1e3, operator=derivatives(1) + derivatives(2), depth=2, tol=1e-10).fit(X, 0 * linear + 3.0)
    np.testing.assert_allclose(whole.predict(np.full((1, 2), 30.0)), 3.0, atol=1e-8)


def test_likelihood_is_that_of_the_dense_process():
    """Differences of the deviance, with the kernel of the operator; on the line, whose box has little influence."""
    rng = np.random.default_rng(4)
    X = np.sort(rng.random(300))[:, None]
    y = np.cumsum(rng.standard_normal(300)) * 0.2 + 0.1 * rng.standard_normal(300)
    likelihood = Likelihood(windows_of(X, y, np.ones(300)))
    complement = np.linalg.qr(np.ones((300, 1)), mode="complete")[0][:, 1:]

    def dense(k, alpha):
        kernel = (k**2 * derivatives(1) + derivatives(2)).kernel(1)
        covariance = complement.T @ (kernel(X) / alpha + np.eye(300)) @ complement
        z = complement.T @ y
        return 299 * np.log(z @ np.linalg.solve(covariance, z)) + np.linalg.slogdet(covariance)[1]

    places = [(20.0, 1e-4), (40.0, 1e-5), (80.0, 1e-5)]
    ours = [likelihood.at(tension(k), alpha).deviance for k, alpha in places]
    np.testing.assert_allclose(np.diff(ours), np.diff([dense(*place) for place in places]), atol=1.0)


def test_units_of_coordinates_and_weights_do_not_matter():
    rng = np.random.default_rng(5)
    X = rng.random((300, 1))
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    one, other = choose(X, y, np.ones(300), "auto"), choose(8.0 * X + 16.0, 3.0 * y, np.full(300, 5.0), "auto")
    m = one.roughness.order
    assert other.alpha == pytest.approx(5.0 * 8.0 ** (2 * m - 1) * one.alpha, rel=1e-6)
    shares = [c * 8.0 ** (2 * (k - m)) for k, c in enumerate(one.roughness.factors)]
    np.testing.assert_allclose(other.roughness.factors, shares, rtol=1e-6)
