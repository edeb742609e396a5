"""Every kernel of the registry keeps the contract of Kernel."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from helpers import case_id, central_difference
from scipy.linalg import null_space
from sklearn.base import clone

import seminorm.kernels as module
from seminorm.kernels import Polyharmonic, all_kernels, all_vector_kernels
from seminorm.nullspace import Polynomials, ThinPlateTwin, all_twins
from seminorm.operators import all_operator_kernels

CASES = [(kernel, d) for kernel, d in product(all_kernels(), (1, 2, 3)) if d <= kernel.max_dimension]
CASES += [(twin, 2) for twin in all_twins()]
CASES += [(kernel, 1) for kernel in all_operator_kernels()]
SMOOTH = [(k, d) for k, d in CASES if not isinstance(k, ThinPlateTwin)]


def points(rng, n, d, size=2.0):
    return size * rng.random((n, d))


@pytest.mark.parametrize(("kernel", "d"), CASES, ids=case_id)
def test_matrix_is_symmetric_finite_and_agrees_with_diag_and_cross(kernel, d, rng):
    X = points(rng, 12, d)
    X[3] = X[7]  # coincident points
    K = kernel(X)
    assert K.shape == (12, 12)
    assert np.isfinite(K).all()
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), atol=1e-12)
    np.testing.assert_allclose(kernel(X, X), K, atol=1e-12)
    np.testing.assert_allclose(kernel(X[:5], X[5:]), K[:5, 5:], atol=1e-12)
    np.testing.assert_allclose(kernel(X.tolist()), K, atol=0)


@pytest.mark.parametrize("kernel", all_kernels() + all_twins(), ids=case_id)
def test_clone_pickle_parameters_and_repr(kernel, rng):
    X = points(rng, 6, 1 if kernel.max_dimension == 1 else 2)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), type(kernel)(**kernel.get_params(deep=False))):
        assert np.array_equal(copy(X), kernel(X))
    assert type(kernel).__name__ in repr(kernel)
    assert hash(kernel) == hash(clone(kernel))
    assert kernel.null_degree >= kernel.cpd_order - 1
    assert kernel.invariances <= {"translation", "rotation", "dilation"}


@pytest.mark.parametrize(("kernel", "d"), SMOOTH, ids=case_id)
def test_derivatives_by_finite_differences(kernel, d):
    # a lattice shifted by an irrational amount: no point is near another, or near the knot of a spline
    X = np.stack(np.meshgrid(*[[0.11, 0.83]] * d, indexing="ij"), -1).reshape(-1, d)
    Y = X[::-1] * 0.9 + math.sqrt(2) / 5 + 0.03 * np.arange(d)
    orders = {(1, 0): (0, 0, "x"), (0, 1): (0, 0, "y"), (2, 0): (1, 0, "x"), (1, 1): (1, 0, "y"), (2, 1): (2, 0, "y")}
    tested = 0
    for (x, y), (x0, y0, variable) in orders.items():
        try:
            exact = kernel.derivative(X, Y, x=x, y=y)
        except ValueError as error:  # a spline with too few derivatives, features without them
            assert "derivative" in str(error)
            continue
        if variable == "x":
            numeric = central_difference(lambda Z, x0=x0, y0=y0: kernel.derivative(Z, Y, x=x0, y=y0), X)
        else:
            numeric = central_difference(lambda Z, x0=x0, y0=y0: kernel.derivative(X, Z, x=x0, y=y0), Y)
        np.testing.assert_allclose(exact, numeric, atol=2e-6 * max(1.0, np.abs(exact).max()))
        tested += 1
    assert tested >= min(2, kernel.differentiability)


@pytest.mark.parametrize(("kernel", "d"), SMOOTH, ids=case_id)
def test_derivatives_at_coincident_points_are_the_limit_or_refused(kernel, d, rng):
    x = points(rng, 1, d, 1.0)
    settled = kernel.for_dimension(d)
    for order in ((1, 0), (1, 1), (2, 1)):
        times = sum(order)
        if times > settled.differentiability:
            with pytest.raises(ValueError, match=r"differentiated|derivatives"):
                kernel.derivative(x, x, x=order[0], y=order[1])
        elif not (times == 3 and "FeatureMap" in repr(kernel)):
            here = kernel.derivative(x, x, x=order[0], y=order[1])
            near = kernel.derivative(x + 1e-9, x, x=order[0], y=order[1])
            usual = np.abs(kernel.derivative(x + 0.1 * rng.standard_normal((20, d)), x, x=order[0], y=order[1])).max()
            assert np.isfinite(here).all()
            np.testing.assert_allclose(here, near, atol=1e-3 * max(1.0, usual))


@pytest.mark.parametrize(("kernel", "d"), CASES, ids=case_id)
def test_definite_on_the_complement_of_the_null_space_at_its_order(kernel, d, rng):
    kernel = kernel.for_dimension(d)
    for size in (0.5, 8.0):
        X = points(rng, 40, d, size)
        complement = null_space(Polynomials(kernel.cpd_order - 1).fit(X)(X).T) if kernel.cpd_order else np.eye(40)
        values = np.linalg.eigvalsh(complement.T @ kernel(X) @ complement)
        assert values[0] > -1e-10 * values[-1]
        assert values[-1] > 0


@pytest.mark.parametrize(("kernel", "d"), [case for case in CASES if case[0].cpd_order > 0], ids=case_id)
def test_the_order_is_minimal(kernel, d, rng):
    kernel = kernel.for_dimension(d)
    X = points(rng, 40, d, 8.0)
    complement = null_space(Polynomials(kernel.cpd_order - 2).fit(X)(X).T) if kernel.cpd_order > 1 else np.eye(40)
    values = np.linalg.eigvalsh(complement.T @ kernel(X) @ complement)
    assert values[0] < -1e-6 * np.abs(values).max()


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_polyharmonic_order_follows_the_dimension(m):
    for d in range(1, 2 * m):
        kernel = Polyharmonic(m).for_dimension(d)
        assert kernel.cpd_order == m - (d - 1) // 2 if d % 2 else m - d // 2 + 1
        assert kernel.null_degree == m - 1
        assert kernel.dilation_degree == 2 * m - d
        assert kernel.differentiability == 2 * m - d - 1


def test_registry_names_every_public_kernel():
    of_one_dimension = {"LinearMap"}  # see tests/estimators/test_learned_metric.py
    assert {type(kernel).__name__ for kernel in all_kernels()} == set(all_kernels) - of_one_dimension
    bases = {"Kernel", "Radial", "VectorKernel"}
    assert set(all_kernels) | set(all_vector_kernels) == {k for k in module.__all__ if not k.startswith("all_")} - bases
