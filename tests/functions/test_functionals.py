"""Linear functionals: their algebra, what they do to functions, kernels and null spaces, and files of them."""

import numpy as np
import pytest
from scipy import sparse

from seminorm import Expansion, Functional, Smoother
from seminorm.bases.radial import RadialSplineBasis
from seminorm.fields import BasisField, Field, Source, fit_basis, fit_field
from seminorm.fields.settings import Settings
from seminorm.functions import Function, cross, design, gram
from seminorm.kernels import Gaussian
from seminorm.nullspace import Polynomials


class Cubic:
    """x^3 + 2 x y, and its double as a second output if wanted."""

    def __init__(self, outputs=None):
        self.factor = 1.0 if outputs is None else np.arange(1.0, outputs + 1)

    def _several(self, values, order):
        return values if np.ndim(self.factor) == 0 else np.moveaxis(values[..., None] * self.factor, -1, 1)

    def __call__(self, X):
        return self._several(X[:, 0] ** 3 + 2 * X[:, 0] * X[:, 1], 0)

    def gradient(self, X):
        return self._several(np.stack([3 * X[:, 0] ** 2 + 2 * X[:, 1], 2 * X[:, 0]], axis=1), 1)

    def hessian(self, X):
        off = np.full(len(X), 2.0)
        return self._several(np.stack([6 * X[:, 0], off, off, 0 * off], axis=1).reshape(-1, 2, 2), 2)


@pytest.fixture
def parts(rng):
    X, Y, normals = rng.random((6, 2)), rng.random((6, 2)), rng.standard_normal((6, 2))
    return Functional.values(X), Functional.along(Y, normals), Functional.cell_average(X, X + 0.3)


@pytest.mark.parametrize("outputs", [None, 2])
def test_the_usual_functionals(rng, outputs):
    f, X, normals = Cubic(outputs), rng.random((6, 2)), rng.standard_normal((6, 2))
    np.testing.assert_allclose(Functional.values(X).apply(f), f(X))
    slopes = f.gradient(X) if outputs is None else np.moveaxis(f.gradient(X), 1, 2)
    np.testing.assert_allclose(Functional.gradients(X).apply(f), slopes.reshape(12, *slopes.shape[2:]))
    along = np.einsum("i...a,ia->i...", f.gradient(X), normals)
    np.testing.assert_allclose(Functional.along(X, normals).apply(f), along)
    np.testing.assert_allclose(Functional.along(X, [0.0, 1.0]).apply(f), f.gradient(X)[..., 1])
    laplacian = Functional(X, 2, sparse.kron(sparse.eye_array(6), [[1.0, 0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(laplacian.apply(f), np.trace(f.hessian(X), axis1=-2, axis2=-1))
    groups, weights = np.array([1, 0, 1, 1, 0, 0]), rng.random(6)
    means = [np.average(f(X)[groups == k], axis=0, weights=weights[groups == k]) for k in range(2)]
    np.testing.assert_allclose(Functional.average(X, groups, weights).apply(f), means)
    np.testing.assert_allclose(Functional.average(X).apply(f), [f(X).mean(axis=0)])


def test_cell_averages_integrate_polynomials():
    low, high = np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([[2.0, 1.0], [1.5, 3.0]])
    integrals = [
        (b**4 - a**4) / 4 * (d - c) + (b**2 - a**2) * (d**2 - c**2) / 2
        for (a, c), (b, d) in zip(low, high, strict=True)
    ]
    volumes = np.prod(high - low, axis=1)
    np.testing.assert_allclose(Functional.cell_average(low, high, n_nodes=2).apply(Cubic()), integrals / volumes)
    assert Functional.cell_average(low, high, n_nodes=4).points.shape == (2 * 16, 2)


def test_averages_along_lines(rng):
    start, end = rng.random((5, 3)), 2.0 + rng.random((5, 3))
    lengths = np.linalg.norm(end - start, axis=1)
    constant, linear = rng.standard_normal(), rng.standard_normal(3)
    expected = constant + 0.5 * (start + end) @ linear
    ours = Functional.line_average(start, end, n_nodes=1).apply(lambda x: constant + x @ linear)
    np.testing.assert_allclose(ours, expected)
    # exp(w x) along a line goes from a to b, with the mean (exp(b) - exp(a)) / (b - a)
    a, b = start @ linear, end @ linear
    ours = Functional.line_integral(start, end).apply(lambda x: np.exp(x @ linear))
    np.testing.assert_allclose(ours, lengths * (np.exp(b) - np.exp(a)) / (b - a))
    np.testing.assert_allclose(Functional.line_integral(start[:1], start[:1]).apply(lambda x: x[:, 0]), 0.0)


def test_the_algebra_is_that_of_the_numbers(parts, rng):
    f, a, b = Cubic(), rng.standard_normal(6), rng.standard_normal(6)
    value, slope, mean = parts
    v, s, m = (part.apply(f) for part in parts)
    matrix = rng.standard_normal((3, 6))
    for functional, expected in [
        (a * value + b * slope, a * v + b * s),
        (value * 2 - slope / 3 + mean, 2 * v - s / 3 + m),
        (-(a * (value + mean)), -a * (v + m)),
        (np.float64(2) * value, 2 * v),
        (matrix @ (value + slope), matrix @ (v + s)),
        (sparse.csr_array(matrix) @ mean, matrix @ m),
        ((value + slope)[[4, 1]], (v + s)[[4, 1]]),
        (mean[2], m[2:3]),
        ((value + mean)[a > 0], (v + m)[a > 0]),
        (Functional.stack([value + slope, matrix @ mean, slope]), np.concatenate([v + s, matrix @ m, s])),
    ]:
        assert functional.size == len(expected)
        np.testing.assert_allclose(functional.apply(f), expected)


def test_matrices_are_bilinear(parts, rng):
    """Gram matrix, cross matrix and null-space matrix of a sum are those of its parts, combined."""
    a, b = rng.standard_normal(6), rng.standard_normal(6)
    value, slope, mean = parts
    kernel, space = Gaussian(0.7), Polynomials(2).fit(value.points)
    mixed = a * value + b * slope - mean
    rows = np.hstack([np.diag(a), np.diag(b), -np.eye(6)])
    Z = rng.random((4, 2))
    np.testing.assert_allclose(gram(kernel, [mixed]), rows @ gram(kernel, parts) @ rows.T, atol=1e-12)
    np.testing.assert_allclose(cross(kernel, [mixed], Z), rows @ cross(kernel, parts, Z), atol=1e-12)
    np.testing.assert_allclose(design(space, [mixed]), rows @ design(space, parts), atol=1e-12)


def test_expansions_of_sums(parts, rng, tmp_path):
    """An expansion over sums of functionals is a function like any other, and its semi-norm the quadratic form."""
    value, slope, mean = parts
    functionals = [value + 0.3 * slope, mean]
    kernel, space = Gaussian(0.5), Polynomials(3).fit(value.points)
    f = Expansion(kernel, functionals, rng.standard_normal(12), space, rng.standard_normal(10))
    Z = rng.random((5, 2))
    expected = cross(kernel, functionals, Z).T @ f.dual_coef + space(Z) @ f.null_coef
    np.testing.assert_allclose(f(Z), expected)
    np.testing.assert_allclose(f.seminorm() ** 2, f.dual_coef @ gram(kernel, functionals) @ f.dual_coef)
    loaded = Expansion.load(f.save(tmp_path / "f.npz"))
    assert np.array_equal(loaded(Z), f(Z)) and np.array_equal(loaded.seminorm(), f.seminorm())
    assert repr(loaded.functionals) == repr(f.functionals)


def test_functionals_of_older_files():
    """Format 1 had one term per functional."""
    old = {"points": np.eye(2), "derivative": 0, "matrix": np.array([[0.5, 0.5]])}
    assert Functional.from_content(old).apply(lambda X: X[:, 0]) == 0.5


def test_every_function_conforms(rng):
    X = rng.random((30, 1))
    y = np.sin(5 * X[:, 0])
    basis = RadialSplineBasis(np.linspace(-1.0, 2.0, 31)[:, None], 0.4)
    functions = [
        Smoother().fit(X, y).function_,
        fit_field(Source.of(X, y), Settings(alpha=1e-4, depth=3)).field,
        fit_basis(basis, basis.energy(order=2), X, y, alpha=1e-6),
    ]
    assert [type(f) for f in functions] == [Expansion, Field, BasisField]
    functional = 2 * Functional.values(X) + Functional.along(X, [1.0]) + Functional(X, 2)
    for f in functions:
        assert isinstance(f, Function)
        assert f(X).shape == (30,) and f.gradient(X).shape == (30, 1) and f.seminorm() > 0
        if not isinstance(f, Expansion):  # the thin plate has no second derivative at its points
            assert f.hessian(X).shape == (30, 1, 1)
            np.testing.assert_allclose(functional.apply(f), 2 * f(X) + f.gradient(X)[:, 0] + f.hessian(X)[:, 0, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: v + Functional.values(np.zeros((2, 2))), "same size and dimension .* sizes 3 and 2"),
        (lambda v: v + Functional.values(np.zeros((3, 1))), "in 2 and 1 dimensions"),
        (lambda v: np.ones(2) * v, "one number or 3"),
        (lambda v: np.ones((2, 2)) @ v, "3 columns, one per functional"),
        (lambda v: Functional(np.zeros(3)), r"shape \(m, d\)"),
        (
            lambda v: Functional.along(np.zeros((3, 2)), np.ones((2, 2))),
            r"directions must have shape \(2,\) or \(3, 2\)",
        ),
        (lambda v: Functional.average(np.zeros((3, 2)), [0, 1]), "groups must be 3 integers"),
        (lambda v: Functional.average(np.zeros((3, 2)), [0, 2, 2]), r"none in the groups \[1\]"),
        (lambda v: Functional.average(np.zeros((3, 2)), weights=[1, 1, -1]), "weights must be 3 finite numbers"),
        (lambda v: Functional.cell_average([[0.0]], [[0.0]]), "low must be below high"),
        (lambda v: Functional.cell_average([[0.0]], [[1.0]], n_nodes=0), "n_nodes must be at least 1"),
        (lambda v: Functional.line_average([[0.0]], [[1.0]], n_nodes=0), "n_nodes must be at least 1"),
        (lambda v: Functional.line_integral([[0.0]], [[np.inf]]), "start and end must be finite"),
        (lambda v: Functional.gradients(np.zeros((1, 2))).apply(np.sin), "needs function.gradient"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call(Functional.values(np.zeros((3, 2))))


def test_only_functionals_are_added():
    with pytest.raises(TypeError):
        Functional.values(np.zeros((3, 2))) + 1.0
