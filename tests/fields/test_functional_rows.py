"""Functionals in the system of a field: against the functions of the basis one by one."""

from functools import partial

import numpy as np
import pytest
from field_bases import basis_columns, dense_matrix, random_field, small_tree

from seminorm import Field, Functional
from seminorm.fields import Source
from seminorm.fields.functional_rows import cell_shares, cell_weights, leaf_rows, of_constant
from seminorm.fields.system import Energy, System, collapse
from seminorm.functions.functionals import ObservedFunctionals


def mixed(rng, d, number=12):
    """Values, slopes and means over boxes, added."""
    X, normals = rng.random((number, d)), rng.standard_normal((number, d))
    return (
        rng.random(number) * Functional.values(X) + Functional.along(X, normals) - Functional.cell_average(X, X + 0.2)
    )


@pytest.mark.parametrize("degree", (2, 3))
@pytest.mark.parametrize("d", (1, 2, 3))
def test_rows_apply_the_functionals(d, degree):
    rng = np.random.default_rng(0)
    tree = small_tree(d, degree)
    field, _ = random_field(tree, 2)
    functional = mixed(rng, d)
    applied = leaf_rows(functional, tree) @ field.coef.reshape(-1)
    np.testing.assert_allclose(applied, functional.apply(field), atol=1e-12 * np.abs(applied).max())
    np.testing.assert_allclose(
        of_constant(functional), functional.apply(Field(tree, 0 * field.coef, 2, 1.0)), atol=1e-12
    )
    assert cell_shares(functional, tree).sum() == pytest.approx(functional.size)
    assert (cell_shares(functional, tree)[~tree.leaf] == 0).all()


def test_weights_of_cells_are_those_of_values_and_gradients():
    rng = np.random.default_rng(1)
    tree, X, weights = small_tree(2, 2), rng.random((20, 2)), rng.random(20)
    values = System(tree, 2)
    values.add(next(iter(Source.of(X, weights, weights, rng.random((20, 2)), weights))), 0)
    by_values = cell_weights(Functional.values(X), weights, tree)[0]
    by_slopes = cell_weights(Functional.gradients(X), np.repeat(weights, 2), tree)[1]
    np.testing.assert_allclose(by_values, values.value_weight, atol=1e-12)
    np.testing.assert_allclose(by_slopes, values.gradient_weight, atol=1e-12)


@pytest.mark.parametrize(("d", "degree"), [(1, 2), (1, 3), (2, 2), (3, 2)])
def test_solution_with_functionals_equals_the_dense_one(d, degree):
    rng = np.random.default_rng(2)
    tree = small_tree(d, degree, levels=1, margin=0.5)
    X, y, weight, alpha = rng.random((60, d)), rng.standard_normal(60), rng.uniform(0.5, 2.0, 60), 0.01
    functional = mixed(rng, d)
    targets, weights = rng.standard_normal((12, 1)), rng.uniform(0.5, 2.0, 12)
    source = Source.of(X, y, weight).with_functionals(ObservedFunctionals(functional, targets, weights))
    system = source.accumulate(partial(System, tree, 2, probes=2)).close()
    functions = list(basis_columns(tree))
    rows = np.stack([np.concatenate([f(X), functional.apply(f)]) for f in functions], axis=1)
    every, observed = np.concatenate([weight, weights]), np.concatenate([y, targets[:, 0]])
    data = rows.T @ (every[:, None] * rows)
    norms = np.array([Energy(tree, 2)(f.coef) for f in functions])
    matrix = dense_matrix(system, alpha)
    np.testing.assert_allclose(dense_matrix(system, 0.0), data, atol=1e-9 * np.abs(data).max())
    np.testing.assert_allclose(np.diag(matrix), alpha * norms + np.diag(data), rtol=1e-9)
    right = rows.T @ (every * observed)
    np.testing.assert_allclose(system.right[0][tree.active], right, atol=1e-10 * np.abs(right).max())
    expected = rows @ np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
    x = np.zeros(tree.active.shape)
    assert system.solve(alpha, x, tol=1e-11, max_iter=5000).converged
    field = Field(tree, collapse(tree, x), 2)
    np.testing.assert_allclose(np.concatenate([field(X), functional.apply(field)]), expected, atol=1e-6)
    squares = (every * (observed - expected) ** 2).sum()
    np.testing.assert_allclose(system.residual_square_sum(x), squares, rtol=1e-6)
    assert system.number == 72
    np.testing.assert_allclose(system.square_sum, (every * observed**2).sum())
