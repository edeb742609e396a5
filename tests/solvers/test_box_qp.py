"""The box QP against scikit-learn, a general convex solver and its own optimality conditions."""

import numpy as np
import pytest
from convex import solve_qp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from seminorm.solvers.margin.box_qp import DenseForm, InfeasibleError, PairedForm, solve_box_qp


def random_problem(seed, n=20, r=3, unbounded=False):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, rng.integers(1, n + 1)))
    E = rng.standard_normal((r, n))
    u = rng.random(n) + 0.1
    inside = u * rng.random(n)
    if unbounded:
        u[::2] = np.inf
    return root @ root.T, rng.standard_normal(n), E, E @ inside, u


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), r=st.integers(0, 4), unbounded=st.booleans(), size=st.integers(-4, 4))
def test_satisfies_the_optimality_conditions(seed, r, unbounded, size):
    Q, c, E, e, u = random_problem(seed, r=r, unbounded=unbounded)
    Q = Q * 10.0**size + (1e-3 * np.eye(20) if unbounded else 0.0)
    found = solve_box_qp(Q, c, E, e, u)
    assert found.converged
    assert max(found.residuals.values()) < 1e-8
    a, scale = found.a, np.abs(c).max()
    assert (a >= 0).all()
    assert (a <= u * (1 + 1e-9)).all()
    gradient = Q @ a - c + E.T @ found.multipliers
    np.testing.assert_allclose(gradient - found.lower + found.upper, 0, atol=1e-7 * scale)


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_general_solver(seed):
    Q, c, E, e, u = random_problem(seed)
    Q += 0.1 * np.eye(20)  # a unique minimiser
    rows = np.vstack([np.eye(20), -np.eye(20)])
    theirs = solve_qp(Q, -c, equalities=(E, e), inequalities=(rows, np.concatenate([u, np.zeros(20)])))
    np.testing.assert_allclose(solve_box_qp(Q, c, E, e, u).a, theirs, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_paired_form_is_the_matrix_it_stands_for(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((12, 5))
    K = root @ root.T
    paired, dense = PairedForm(K), DenseForm(np.block([[K, -K], [-K, K]]))
    x, diagonal = rng.standard_normal(24), 10.0 ** rng.uniform(-6, 6, 24)
    np.testing.assert_allclose(paired.product(x), dense.product(x), atol=1e-12)
    ours = paired.shifted_solver(diagonal)(x)
    np.testing.assert_allclose(dense.product(ours) + diagonal * ours, x, atol=1e-6 * np.abs(x).max())


def test_contradictory_constraints_are_found():
    with pytest.raises(InfeasibleError, match="contradict"):
        solve_box_qp(np.eye(3), np.ones(3), np.ones((1, 3)), [10.0], np.ones(3))


def test_says_when_it_stops_early():
    Q, c, E, e, u = random_problem(0)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        found = solve_box_qp(Q, c, E, e, u, max_iter=2)
    assert not found.converged


@pytest.mark.parametrize(
    ("change", "message"), [({"u": -np.ones(3)}, "u must be positive"), ({"c": np.ones(2)}, "must be")]
)
def test_bad_input(change, message):
    arguments = {"Q": np.eye(3), "c": np.ones(3), "E": np.ones((1, 3)), "e": np.ones(1), "u": np.ones(3)} | change
    with pytest.raises(ValueError, match=message):
        solve_box_qp(**arguments)
