"""Machines on few basis points: all points as a basis are the dense machine, and leave-one-out is honest."""

import numpy as np
import pytest

from seminorm.kernels import Gaussian, NegativeDistance, ThinPlate
from seminorm.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, Squared, SquaredHinge
from seminorm.nullspace import Polynomials
from seminorm.solvers.margin.basis_machine import BasisMachine
from seminorm.solvers.margin.machines import DenseMachine, FreeMachine, SoftMachine
from seminorm.solvers.margin.problem import MarginProblem

KINDS = ("free", "soft", "constant", "zero")


@pytest.fixture
def data(rng):
    X = rng.standard_normal((150, 2))
    y = np.where((X**2).sum(axis=1) + 0.6 * rng.standard_normal(150) > 1.4, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, 150)


def losses(y):
    noisy = y + 0.3 * np.cos(np.arange(len(y)))
    smooth = [SquaredHinge(y), Logistic(y), Squared(noisy), Huber(noisy, 0.5)]
    return [(loss, 1e-7) for loss in smooth] + [
        (loss, 1e-4) for loss in (Hinge(y), EpsilonInsensitive(noisy, 0.3), Pinball(noisy, 0.3))
    ]


def free_functions(kind, P):
    return P if kind in ("free", "soft") else np.ones((len(P), 1 if kind == "constant" else 0))


def machine_on(kernel, X, basis, kind="free", judges=None):
    P, Phi = Polynomials(1).fit(X)(X), kernel(X)
    core = Phi[np.ix_(basis, basis)]
    return BasisMachine(
        lambda points: Phi[np.ix_(points, basis)], basis, core, free_functions(kind, P), P[basis], kind == "soft"
    )


def dense_machine(kernel, X, kind):
    P, Phi = Polynomials(1).fit(X)(X), kernel(X)
    if kind in ("free", "soft"):
        return (FreeMachine if kind == "free" else SoftMachine)(Phi, P)
    return DenseMachine(Phi, P, free_functions(kind, P))


@pytest.mark.parametrize("kind", KINDS)
def test_a_basis_of_all_points_is_the_dense_machine(data, kind):
    X, y, weights = data
    dense, basis = dense_machine(ThinPlate(), X, kind), machine_on(ThinPlate(), X, np.arange(len(X)), kind)
    dense.__dict__["removal"] = None  # of a small dense machine a point leaves with its kernel term
    assert basis.scale == pytest.approx(dense.scale, rel=1e-9)
    for loss, tolerance in losses(y):
        one, other = (MarginProblem(machine, loss, weights).fit(0.5) for machine in (dense, basis))
        np.testing.assert_allclose(other.values, one.values, atol=tolerance)
        np.testing.assert_allclose(other.coefficients.null, one.coefficients.null, atol=20 * tolerance)
        full = np.zeros((2, len(X)))
        for row, fit in zip(full, (one, other), strict=True):
            row[fit.coefficients.points] = fit.coefficients.dual
        np.testing.assert_allclose(full[1], full[0], atol=20 * tolerance * np.abs(full[0]).max())
        if tolerance < 1e-6:
            np.testing.assert_allclose(other.left_out, one.left_out, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_is_that_of_the_dense_machine(data, kind):
    X, y, weights = data
    dense, basis = dense_machine(ThinPlate(), X, kind), machine_on(ThinPlate(), X, np.arange(len(X)), kind)
    dense.__dict__["removal"] = None
    one, other = (MarginProblem(machine, SquaredHinge(y), weights).fit(None) for machine in (dense, basis))
    assert other.alpha == pytest.approx(one.alpha)
    np.testing.assert_allclose(other.path["score"], one.path["score"], rtol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), NegativeDistance(), ThinPlate()])
def test_restricted_least_squares_against_the_normal_equations(data, kernel, rng):
    X, _, weights = data
    y, basis, alpha = rng.standard_normal(150), np.sort(rng.permutation(150)[:30]), 0.3
    fit = MarginProblem(machine_on(kernel, X, basis), Squared(y), weights).fit(alpha)
    P = Polynomials(1).fit(X)(X)
    # alpha c' Phi c + |W^(1/2) (Phi c + P b - y)|^2 with P_z' c = 0, by Lagrange multipliers
    U, Z = np.hstack([kernel(X, X[basis]), P]), np.hstack([P[basis].T, np.zeros((3, 3))])
    penalty = np.zeros((33, 33))
    penalty[:30, :30] = kernel(X[basis])
    normal = alpha * penalty + U.T @ (weights[:, None] * U)
    saddle = np.block([[normal, Z.T], [Z, np.zeros((3, 3))]])
    solution = np.linalg.lstsq(saddle, np.concatenate([U.T @ (weights * y), np.zeros(3)]), rcond=1e-14)[0][:33]
    np.testing.assert_allclose(fit.values, U @ solution, atol=1e-6)
    found = fit.coefficients
    np.testing.assert_allclose(kernel(X, X[found.points]) @ found.dual + P @ found.null, fit.values, atol=1e-7)
    np.testing.assert_allclose(P[found.points].T @ found.dual, 0.0, atol=1e-8 * np.abs(found.dual).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [Squared, SquaredHinge])
def test_leave_one_out_is_that_of_brute_force(data, rng, kind, make):
    X, y, weights = data
    weights = weights.copy()
    basis = np.sort(rng.permutation(150)[:25])
    machine = machine_on(NegativeDistance(), X, basis, kind)
    fit = MarginProblem(machine, make(y), weights).fit(0.5)
    for i in range(0, 150, 6):
        rest = np.arange(150) != i
        part = machine.restricted(np.flatnonzero(rest))
        # the same active set is what closed forms assume: start from it, and take one Newton step
        inner = MarginProblem(part, make(y[rest]), weights[rest])
        without = inner.fit(0.5)
        same = np.array_equal(
            without.solution.active, np.flatnonzero(np.isin(np.flatnonzero(rest), fit.solution.active))
        )
        if same:
            value = machine.restricted(np.array([i])).values(without.parts)[0]
            assert fit.left_out[i] == pytest.approx(value, abs=1e-7)


def test_sums_of_changed_points_are_sums_afresh(data, rng):
    X, y, weights = data
    machine = machine_on(NegativeDistance(), X, np.arange(0, 150, 5))
    kept, afresh = machine.gram(0), machine.gram(1)
    chosen = np.zeros((2, 150))
    for _ in range(5):
        chosen[0] = weights * (rng.random(150) < 0.8)
        chosen[1] = chosen[0] * y
        kept.move_to(*chosen)
    afresh.move_to(*chosen)
    np.testing.assert_allclose(np.tril(kept.sums.G), np.tril(afresh.sums.G), atol=1e-9)
    np.testing.assert_allclose(kept.sums.moment, afresh.sums.moment, atol=1e-9)


def test_some_points_judge_for_many(data, monkeypatch):
    X, y, weights = data
    monkeypatch.setattr("seminorm.solvers.margin.basis_machine.JUDGES", 60)
    basis = np.arange(0, 150, 5)
    few, everyone = machine_on(NegativeDistance(), X, basis), None
    monkeypatch.setattr("seminorm.solvers.margin.basis_machine.JUDGES", 150)
    everyone = machine_on(NegativeDistance(), X, basis)
    one, other = (MarginProblem(machine, SquaredHinge(y), weights).fit(0.5) for machine in (few, everyone))
    known = np.isfinite(one.left_out)
    assert known.sum() == 60
    np.testing.assert_allclose(one.left_out[known], other.left_out[known], atol=1e-9)
