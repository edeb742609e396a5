"""Conjugate gradients and the preconditioner for grids."""

import numpy as np

from seminorm.bases import GridBasis
from seminorm.solvers.linear.conjugate_gradients import conjugate_gradients
from seminorm.solvers.linear.multigrid import Multigrid


def semidefinite(rng, n=30, rank=20):
    root = rng.standard_normal((n, rank))
    return root @ root.T


def test_semidefinite_systems_with_a_solution_are_solved(rng):
    matrix = semidefinite(rng)
    right, x = matrix @ rng.standard_normal(30), np.zeros(30)
    outcome = conjugate_gradients(
        lambda v: matrix @ v, lambda v: v / np.diag(matrix), right, x, tol=1e-10, max_iter=200
    )
    assert outcome.converged and outcome.n_iter <= 60
    np.testing.assert_allclose(matrix @ x, right, rtol=1e-6, atol=1e-6)


def test_arrays_of_any_shape(rng):
    x = np.ones((4, 5))
    outcome = conjugate_gradients(lambda v: 3.0 * v, lambda v: v, np.full((4, 5), 6.0), x, tol=1e-12, max_iter=5)
    assert outcome.n_iter == 1
    np.testing.assert_allclose(x, 2.0)


def test_right_side_zero_has_the_solution_zero():
    x = np.ones(3)
    outcome = conjugate_gradients(lambda v: v, lambda v: v, np.zeros(3), x, tol=1e-6, max_iter=5)
    assert outcome.converged and not x.any()


def test_a_good_start_is_improved_by_the_reduction(rng):
    matrix = semidefinite(rng, rank=30) + np.eye(30)
    solution = rng.standard_normal(30)
    system = lambda v: matrix @ v, lambda v: v, matrix @ solution
    start = solution + 1e-4 * rng.standard_normal(30)
    kept, improved = start.copy(), start.copy()
    assert conjugate_gradients(*system, kept, tol=1e-2, max_iter=50).n_iter == 0
    assert conjugate_gradients(*system, improved, tol=1e-2, max_iter=50, reduction=0.1).n_iter > 0
    assert np.linalg.norm(matrix @ (improved - solution)) < np.linalg.norm(matrix @ (kept - solution))


def test_steps_are_limited(rng):
    matrix = semidefinite(rng, rank=30)
    x = np.zeros(30)
    outcome = conjugate_gradients(lambda v: matrix @ v, lambda v: v, np.ones(30), x, tol=1e-12, max_iter=3)
    assert outcome.n_iter == 3 and not outcome.converged and outcome.residual > 1e-12


def test_multigrid_solves_like_a_factorisation():
    points = np.random.default_rng(0).standard_normal((800, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    basis = GridBasis.around(points, 16, margin=0.17)
    data, *slopes = (rows.T @ rows for rows in (basis.values(points), *basis.gradients(points)))
    matrix = (4e-3 * (data / 1e-4 + sum(slopes)) + 0.003 * basis.energy(2)).tocsr()
    cycle = Multigrid(matrix, basis.refinements())
    right, other = np.random.default_rng(1).standard_normal((2, basis.size))
    assert np.isclose(other @ cycle(right), right @ cycle(other))
    assert right @ cycle(right) > 0
    x = np.zeros_like(right)
    conjugate_gradients(lambda v: matrix @ v, cycle, right, x, tol=1e-9, max_iter=25)
    assert np.linalg.norm(matrix @ x - right) < 1e-6 * np.linalg.norm(right)
