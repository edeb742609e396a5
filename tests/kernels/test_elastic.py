"""The kernel of elastic plates: definiteness, symmetries, its transform and its equation."""

import math
import pickle

import numpy as np
import pytest
from helpers import case_id, central_difference
from scipy.linalg import null_space
from sklearn.base import clone

from seminorm.kernels import Elastic, NegativeDistance, Polyharmonic, all_vector_kernels
from seminorm.kernels.elastic import with_components
from seminorm.nullspace import PerComponent, Polynomials, RigidMotions, all_vector_null_spaces

KERNELS = all_vector_kernels()


def free(X, degree):
    space = PerComponent(Polynomials(degree))
    rows = with_components(X, 2)
    return space.fit(rows)(rows)


@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
def test_matrix_is_symmetric_and_agrees_with_diag_tensor_and_copies(kernel, rng):
    X = rng.random((12, 2))
    X[3] = X[7]
    rows = with_components(X, 2)[rng.permutation(24)]  # components in any order
    K = kernel(rows)
    assert np.array_equal(K, K.T)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(kernel.diag(rows), np.diag(K), atol=1e-15)
    np.testing.assert_allclose(kernel(rows[:5], rows[5:]), K[:5, 5:], atol=1e-15)
    number = rows[:, 2].astype(int)
    at = np.argmax((rows[:, None, :2] == X).all(axis=2), axis=1)
    np.testing.assert_allclose(K, kernel.tensor(X)[at[:, None], at, number[:, None], number], atol=1e-15)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert np.array_equal(copy(rows), K)


@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
def test_definite_on_the_complement_of_the_null_space_at_its_order_and_not_below(kernel, rng):
    for size in (0.5, 8.0):
        X = size * rng.random((30, 2))
        K = kernel(with_components(X, 2))
        complement = null_space(free(X, kernel.null_degree).T)
        values = np.linalg.eigvalsh(complement.T @ K @ complement)
        assert values[0] > -1e-10 * values[-1]
    larger = null_space(free(X, kernel.null_degree - 1).T) if kernel.null_degree else np.eye(60)
    values = np.linalg.eigvalsh(larger.T @ K @ larger)
    assert values[0] < -1e-6 * np.abs(values).max()


@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
def test_rotations_and_reflections_turn_the_field_and_dilations_scale_it(kernel, rng):
    X, Y = rng.random((5, 2)), rng.random((4, 2))
    Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    turned = kernel.tensor(X @ Q.T + 3.0, Y @ Q.T + 3.0)
    np.testing.assert_allclose(turned, Q @ kernel.tensor(X, Y) @ Q.T, atol=1e-13)
    a = null_space(free(X, kernel.null_degree + 1 if kernel.order < 3 else 2).T)
    if a.shape[1]:  # up to polynomials
        small, large = (a.T @ kernel(with_components(s * X, 2)) @ a for s in (1.0, 3.0))
        np.testing.assert_allclose(large, 3.0**kernel.dilation_degree * small, atol=1e-12 * np.abs(large).max() + 1e-15)


def test_without_coupling_it_is_the_kernel_of_each_component(rng):
    X = rng.random((6, 2))
    for order, scalar in ((2, Polyharmonic(2)), (3, Polyharmonic(3)), (1.5, NegativeDistance() / (2 * math.pi))):
        tensor = Elastic(-1.0, order).tensor(X)
        np.testing.assert_allclose(tensor[..., 0, 0], scalar(X), atol=1e-15)
        np.testing.assert_allclose(tensor[..., 0, 1], 0.0)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.order < 3], ids=case_id)
def test_quadratic_forms_are_those_of_the_transform(kernel):
    """a' K a = integral of |w|^(-2 m) (|a^|^2 - (1 + nu) / 2 |w a^|^2 / |w|^2) / (2 pi)^2, in polar coordinates."""
    X = np.array([[0.0, 0.0], [1.0, 0.1], [0.3, 0.9], [1.2, 1.1], [0.6, 0.4]])
    a = null_space(free(X, 1).T)[:, 0].reshape(5, 2)
    high, step, m, coupling = 50.0, 0.04, kernel.order, 0.5 * (1.0 + kernel.poisson)
    w = np.arange(0.5 * step, high, step)
    angles = 2 * np.pi * (np.arange(120) + 0.5) / 120
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    total = 0.0
    for e in directions:
        transform = np.exp(1j * np.outer(w, X @ e)) @ a
        square = (abs(transform) ** 2).sum(axis=1) - coupling * abs(transform @ e) ** 2
        total += (square * w ** (1 - 2 * m)).sum() * step / len(angles) / (2 * np.pi)
    total += (1 - coupling / 2) * (a**2).sum() * high ** (2 - 2 * m) / (2 * m - 2) / (2 * np.pi)  # beyond, on average
    form = a.ravel() @ kernel(with_components(X, 2)) @ a.ravel()
    assert abs(total / form - 1.0) < 2e-3


@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
def test_derivatives_by_finite_differences(kernel, rng):
    X, Y = rng.random((3, 2)), rng.random((4, 2)) + [1.5, 0.3]
    rows, others = with_components(X, 2), with_components(Y, 2)
    for x, y, variable in ((0, 0, "x"), (0, 0, "y"), (1, 0, "x"), (1, 0, "y"), (2, 1, "y")):
        exact = kernel.derivative(rows, others, x=x + (variable == "x"), y=y + (variable == "y"))

        def moved(Z, x=x, y=y, first=variable == "x"):
            new = np.column_stack([Z, (rows if first else others)[:, 2]])
            return kernel.derivative(new, others, x=x, y=y) if first else kernel.derivative(rows, new, x=x, y=y)

        numeric = central_difference(moved, (rows if variable == "x" else others)[:, :2])
        inside = (..., *[slice(2)] * (x + y + 1))
        if variable == "x" and x:
            numeric = np.moveaxis(numeric, -1, 2 + x)
        numeric = numeric[(slice(None), slice(None), *[slice(2)] * (x + y + 1))]
        np.testing.assert_allclose(exact[inside], numeric, atol=1e-6 * max(1.0, np.abs(exact).max()))
        assert not exact[..., 2].any()


def test_a_force_away_from_its_point_solves_the_equation_of_the_plate():
    """Laplace (Laplace u + (1 + nu) / (1 - nu) grad div u) = 0 for order 2: Navier's equation, taken twice."""
    nu, point = 0.3, np.array([[0.0, 0.0, 0.0]])
    kernel = Elastic(nu, 2)

    def navier(Z):  # of the field of a force along the first axis, (n, component)
        second = kernel.derivative(with_components(Z, 2), point, x=2)[:, 0, :2, :2].reshape(-1, 2, 2, 2)
        laplacian = np.trace(second, axis1=2, axis2=3)
        divergence_slopes = np.einsum("ncca->na", second)
        return laplacian + (1 + nu) / (1 - nu) * divergence_slopes

    Z = np.array([[0.8, 0.3], [-0.4, 1.1]])
    h = 1e-3
    shifts = h * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    parts = [navier(Z + shift) for shift in shifts]
    laplacian = (sum(parts) - 4 * navier(Z)) / h**2
    size = max(np.abs((parts[0] + parts[1] - 2 * navier(Z)) / h**2).max(), 1e-3)
    assert np.abs(laplacian).max() < 1e-4 * size


def test_wrong_parameters_and_rows_are_named():
    X = np.zeros((3, 3))
    for kernel, words in (
        (Elastic(1.5), "poisson must lie between"),
        (Elastic(0.5, 1.0), "order must be a number above 1"),
        (Elastic(), "poisson='auto' is for seminorm.Smoother"),
    ):
        with pytest.raises(ValueError, match=words):
            kernel(X)
    with pytest.raises(ValueError, match="number of a component"):
        Elastic(0.5)(X + 0.5)
    with pytest.raises(ValueError, match="third column"):
        Elastic(0.5)(X[:, :2])


@pytest.mark.parametrize("space", all_vector_null_spaces(), ids=case_id)
def test_null_spaces_of_vector_fields_and_their_slopes(space, rng):
    X = 100.0 + rng.random((8, 2))
    rows = with_components(X, 2)
    fitted = clone(space).fit(rows)
    P, G = fitted(rows), fitted.gradient(rows)
    assert np.linalg.matrix_rank(P) == P.shape[1]
    numeric = central_difference(lambda Z: fitted(np.column_stack([Z, rows[:, 2]])), rows[:, :2])
    np.testing.assert_allclose(G[..., :2], numeric, atol=1e-7)
    assert not G[..., 2].any()


def test_rigid_motions_have_no_strain_and_contain_the_rotation(rng):
    rows = with_components(rng.random((8, 2)), 2)
    space = RigidMotions().fit(rows)
    slopes = space.gradient(rows)[..., :2].reshape(8, 2, 3, 2)
    np.testing.assert_allclose(slopes + slopes.transpose(0, 3, 2, 1), 0.0, atol=1e-15)
    rotation = np.column_stack([-rows[::2, 1], rows[::2, 0]]).ravel()
    P = space(rows)
    np.testing.assert_allclose(P @ np.linalg.lstsq(P, rotation, rcond=None)[0], rotation, atol=1e-12)
