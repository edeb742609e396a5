"""Machines and quadratic programs with indefinite matrices: optimality, descent, and agreement in the definite case."""

import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as SklearnSVC
from sklearn.svm import SVR as SklearnSVR
from threadpoolctl import threadpool_limits

from seminorm import SVC, SVR, _native
from seminorm.kernels import Gaussian, Kernel
from seminorm.losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from seminorm.solvers.linear.saddle import SaddleFactor
from seminorm.solvers.margin import box_machines, newton
from seminorm.solvers.margin.box_machines import solve_indefinite
from seminorm.solvers.margin.box_qp import InfeasibleError, solve_box_qp
from seminorm.solvers.margin.indefinite import BoxQuadratic, UnboundedError, is_definite, stationary_point

ALPHAS = (1e-3, 0.1, 10.0)


def points(n=90, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def definite(n=90, seed=0):
    return Gaussian(1.5)(points(n, seed=seed))


def indefinite(n=90, seed=0, size=0.3):
    """exp(-d) of a dissimilarity without triangle inequality."""
    X = points(n, seed=seed)
    return np.exp(-size * np.abs(X[:, None] - X[None]).sum(axis=2) ** 1.6)


def labels(n=90, seed=0):
    return np.where((points(n, seed=seed) ** 2).sum(axis=1) > 2.5, 1.0, -1.0)


def responses(n=90, seed=0):
    X = points(n, seed=seed)
    return np.sin(2 * X[:, 0]) + X[:, 1]


def weights(n=90):
    return np.random.default_rng(5).uniform(0.5, 2.0, n)


def constant(n=90):
    return np.full((n, 1), 1.0 / np.sqrt(n))


def several(n=90):
    return np.linalg.qr(np.column_stack([np.ones(n), points(n)]))[0]


def one_sided(K, Q, y, ridge, limits):
    """The program of a loss of labels."""
    lower, upper = np.where(y > 0, 0.0, -limits), np.where(y > 0, limits, 0.0)
    return BoxQuadratic(K, ridge, np.arange(len(y)), y, lower, upper, Q)


NULL_SPACES = {"constant": constant(), "zero": np.empty((90, 0)), "several": several()}


def test_matrices_are_what_they_are_called():
    assert np.linalg.eigvalsh(definite())[0] > -1e-10
    assert np.linalg.eigvalsh(indefinite())[0] < -0.1
    assert is_definite(definite()) and not is_definite(indefinite())
    assert is_definite(np.ones((50, 50)))  # positive semi-definite up to rounding


@pytest.mark.parametrize("null", NULL_SPACES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_definite_machines_are_the_usual_ones(null, alpha):
    K, Q, w, y, z = definite(), NULL_SPACES[null], weights(), labels(), responses()
    pairs = [
        (
            solve_indefinite(K, Q, SquaredHinge(y), alpha, w),
            newton.minimize(K, Q, SquaredHinge(y), alpha, w),
        ),
        (
            solve_indefinite(K, Q, SquaredEpsilonInsensitive(z, 0.1), alpha, w),
            newton.minimize(K, Q, SquaredEpsilonInsensitive(z, 0.1), alpha, w),
        ),
        (solve_indefinite(K, Q, Hinge(y), alpha, w), box_machines.solve(K, Q, Hinge(y), alpha, w)),
        (
            solve_indefinite(K, Q, EpsilonInsensitive(z, 0.1), alpha, w),
            box_machines.solve(K, Q, EpsilonInsensitive(z, 0.1), alpha, w),
        ),
    ]
    for (ours, usual), tolerance in zip(pairs, (1e-6, 1e-6, 1e-4, 1e-4), strict=True):  # interior points are inexact
        np.testing.assert_allclose(ours.values, usual.values, atol=tolerance * max(1.0, np.abs(usual.values).max()))


@pytest.mark.parametrize("alpha", ALPHAS[:2])
def test_definite_leave_one_out_is_the_usual_one(alpha):
    K, Q, w, y = definite(), constant(), weights(), labels()
    ours = solve_indefinite(K, Q, SquaredHinge(y), alpha, w)
    usual = newton.minimize(K, Q, SquaredHinge(y), alpha, w)
    np.testing.assert_allclose(ours.leave_one_out(K, Q), usual.leave_one_out(K, Q), rtol=1e-5, atol=1e-5)
    ours, usual = solve_indefinite(K, Q, Hinge(y), alpha, w), box_machines.solve(K, Q, Hinge(y), alpha, w)
    np.testing.assert_allclose(ours.leave_one_out(K, Q), usual.leave_one_out(K, Q), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("null", NULL_SPACES)
@pytest.mark.parametrize("alpha", (0.05, 0.3, 3.0))
def test_stationary_machines_satisfy_the_conditions(null, alpha):
    """a_i = -w_i loss'(f_i) / (2 alpha), f = K a + Q b, Q'a = 0."""
    K, Q, w, y, z, epsilon = indefinite(), NULL_SPACES[null], weights(), labels(), responses(), 0.1

    def check(found, slope_low, slope_high):
        a = np.zeros(len(K))
        a[found.active] = found.dual
        f = K @ a + Q @ found.null
        np.testing.assert_allclose(f, found.values, atol=1e-8 * max(1, np.abs(f).max()))
        assert np.abs(Q.T @ a).max(initial=0.0) <= 1e-9 * np.abs(a).sum()
        size = 1e-6 * max(1.0, np.abs(2 * alpha * a).max())
        assert (2 * alpha * a >= w * slope_low(f) - size).all()
        assert (2 * alpha * a <= w * slope_high(f) + size).all()

    def pull(f):
        return 2 * y * np.maximum(0, 1 - y * f)

    def tube(f):
        return 2 * np.sign(z - f) * np.maximum(0, np.abs(z - f) - epsilon)

    def kinked(inside, t=1e-7):  # the subdifferential at a kink, widened by a tolerance
        return lambda f: inside(f, -t), lambda f: inside(f, t)

    check(
        solve_indefinite(K, Q, Hinge(y), alpha, w),
        *kinked(lambda f, t: np.where(y > 0, f < 1 + t, -1.0 * (f > -1 + t))),
    )
    check(
        solve_indefinite(K, Q, EpsilonInsensitive(z, epsilon), alpha, w),
        *kinked(lambda f, t: 1.0 * (z - f > epsilon - t) - 1.0 * (f - z > epsilon + t)),
    )
    if alpha > 0.3:  # smaller ones may have no minimum
        check(solve_indefinite(K, Q, SquaredHinge(y), alpha, w), pull, pull)
        check(solve_indefinite(K, Q, SquaredEpsilonInsensitive(z, epsilon), alpha, w), tube, tube)


def test_squared_hinge_is_unique_above_the_smallest_eigenvalue():
    """A ridge on the diagonal is a part of alpha: the machine is a convex one of a shifted kernel."""
    K, Q, y, w = indefinite(), constant(), labels(), np.ones(90)
    shift = 1.01 * abs(np.linalg.eigvalsh(K)[0])
    ours = solve_indefinite(K, Q, SquaredHinge(y), shift + 0.2, w)
    convex = newton.minimize(K + shift * np.eye(90), Q, SquaredHinge(y), 0.2, w)
    assert np.array_equal(ours.active, convex.active)
    np.testing.assert_allclose(ours.dual, convex.dual, rtol=1e-6)
    np.testing.assert_allclose(ours.null, convex.null, rtol=1e-6)


@pytest.mark.parametrize("null", NULL_SPACES)
def test_the_objective_never_increases(null):
    K, y = indefinite(), labels()
    problem = one_sided(K, NULL_SPACES[null], y, np.zeros(90), np.full(90, 5.0))
    found = problem.descend(np.zeros(90))
    assert found.converged and found.violation < 1e-8
    assert (np.diff(np.concatenate([[0.0], found.objectives])) <= 1e-9 * np.abs(found.objectives[-1])).all()
    assert found.objectives[-1] < 0


def test_pair_steps_never_increase_the_objective():
    K, y = indefinite(), labels()
    problem = one_sided(K, constant(), y, np.zeros(90), np.full(90, 5.0))
    x, values, last = np.zeros(90), np.zeros(90), 0.0
    for _ in range(300):
        steps, _, unbounded = _native.pair_steps(
            K, problem.ridge, problem.points, problem.c, problem.lower, problem.upper, x, values, 1e-10, 1
        )
        now = 0.5 * x @ K @ x - y @ x
        assert not unbounded and now <= last + 1e-12
        assert abs(x.sum()) < 1e-9
        assert (x >= problem.lower).all() and (x <= problem.upper).all()
        last = now
        if not steps:
            break


def test_stationary_point_is_a_local_minimum():
    """No feasible point nearby is better; SciPy started there stays."""
    rng = np.random.default_rng(3)
    n = 12
    A = rng.standard_normal((n, n))
    Q, c, u = A + A.T, rng.standard_normal(n), np.full(n, 0.3)
    found = stationary_point(Q, c, np.ones(n), 1.0, u)
    assert found.converged and abs(found.a.sum() - 1) < 1e-12 and (found.a >= 0).all() and (found.a <= u).all()

    def objective(a):
        return 0.5 * a @ Q @ a - c @ a

    other = minimize(
        objective,
        found.a,
        jac=lambda a: Q @ a - c,
        bounds=[(0, 0.3)] * n,
        constraints=LinearConstraint(np.ones((1, n)), 1.0, 1.0),
        method="SLSQP",
    )
    assert other.fun >= objective(found.a) - 1e-8
    assert objective(found.a) == pytest.approx(found.objectives[-1])


@pytest.mark.parametrize("E", ["ones", "labels", "weights"])
def test_stationary_point_of_a_definite_matrix_is_the_minimum(E):
    n, rng = 40, np.random.default_rng(4)
    K, c, u = definite(n) + 0.1 * np.eye(n), rng.standard_normal(n), rng.uniform(0.1, 1.0, n)
    E = {"ones": np.ones(n), "labels": labels(n), "weights": rng.uniform(0.5, 2, n) * labels(n)}[E]
    for e in (0.3, 1.0):
        ours = stationary_point(K, c, E, e, u)
        usual = solve_box_qp(K, c, E[None], np.array([e]), u)
        np.testing.assert_allclose(ours.a, usual.a, atol=1e-6)
        np.testing.assert_allclose(ours.multipliers, usual.multipliers, atol=1e-6)
    started = stationary_point(K, c, E, e, u, start=usual.a)
    np.testing.assert_allclose(started.a, usual.a, atol=1e-6)


def test_stationary_point_refuses():
    K, n = indefinite(20), 20
    with pytest.raises(InfeasibleError, match="sum 3"):
        stationary_point(K, np.zeros(n), np.ones(n), 3.0, np.full(n, 0.1))
    with pytest.raises(ValueError, match="no zeros"):
        stationary_point(K, np.zeros(n), np.zeros(n), 0.0, np.ones(n))
    with pytest.raises(ValueError, match=r"Q must be \(n, n\)"):
        stationary_point(K, np.zeros(3), np.ones(n), 0.0, np.ones(n))
    with pytest.raises(UnboundedError, match="no lower bound"):
        stationary_point(-np.eye(n), np.zeros(n), labels(n), 0.0, np.full(n, np.inf), start=0.01 * np.ones(n))


def test_rounds_that_do_not_suffice_are_announced(monkeypatch):
    monkeypatch.setattr("seminorm.solvers.margin.indefinite._PAIRS_PER_ROUND", 0)
    problem = one_sided(indefinite(), constant(), labels(), np.full(90, 1.0), np.full(90, np.inf))
    with pytest.warns(ConvergenceWarning, match="in 1 rounds"):
        assert not problem.descend(np.zeros(90), max_rounds=1).converged


def test_saddle_factor():
    rng = np.random.default_rng(0)
    n, r = 9, 2
    A, E, K = rng.standard_normal((n, n)), rng.standard_normal((n, r)), np.diag(rng.uniform(1, 2, n + 3))
    G = A @ A.T + 0.1 * np.eye(n) - 50.0 * E @ E.T  # indefinite, but not under the constraints
    factor = SaddleFactor(G, E)
    inverse = np.linalg.inv(np.block([[G, E], [E.T, np.zeros((r, r))]]))
    assert np.linalg.eigvalsh(G)[0] < 0 and factor.is_definite
    np.testing.assert_allclose(factor.apply_inverse(np.eye(n)), inverse[:n, :n], atol=1e-9)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse)[:n], atol=1e-9)
    K[:n, n:] = rng.standard_normal((n, 3))
    Q = rng.standard_normal((n + 3, r))
    v = np.vstack([K[:n, n:], Q[n:].T])
    expected = np.diag(K)[n:] - np.diag(v.T @ inverse @ v)
    np.testing.assert_allclose(factor.conditional_variance(K, Q, np.arange(n), n + np.arange(3)), expected, rtol=1e-8)
    bent = SaddleFactor(G - 200 * np.eye(n), E)
    direction = bent.descending_curve()
    assert not bent.is_definite and direction @ bent.G @ direction < 0
    assert np.isnan(bent.inverse_diagonal()).all()
    np.testing.assert_allclose(E.T @ direction, 0, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(
    ("alpha", "criterion"), [("auto", "loo"), ("auto", "cv"), (1.0, "loo"), ([0.3, 1.0, 3.0], "loo")]
)
def test_svc_takes_an_indefinite_matrix(loss, alpha, criterion):
    K, y = indefinite(), labels()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = SVC("precomputed", indefinite="stationary", alpha=alpha, criterion=criterion, loss=loss).fit(K, y)
        again = clone(machine).fit(K, y)
    assert machine.stationary_ is True
    assert machine.score(K, y) > 0.85
    assert np.array_equal(machine.dual_coef_, again.dual_coef_)
    assert np.array_equal(machine.null_coef_, again.null_coef_)


def test_leave_one_out_is_that_of_training_without_the_point():
    """Exact where the active set of the others does not change."""
    K, y, w, alpha = indefinite(), labels(), np.ones(90), 3.0
    solution = solve_indefinite(K, constant(), SquaredHinge(y), alpha, w)
    predicted, compared = solution.leave_one_out(K, constant()), 0
    for i in range(0, 90, 7):
        rest = np.delete(np.arange(90), i)
        without = solve_indefinite(K[np.ix_(rest, rest)], constant()[rest], SquaredHinge(y[rest]), alpha, w[rest])
        if set(rest[without.active]) == set(solution.active) - {i}:
            value = K[i, rest[without.active]] @ without.dual + constant()[i] @ without.null
            assert predicted[i] == pytest.approx(value, abs=1e-7)
            compared += 1
    assert compared > 3


def test_more_classes_and_pairs():
    X = points(120, seed=2)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    K = np.exp(-0.3 * np.abs(X[:, None] - X[None]).sum(axis=2) ** 1.6)
    for multi_class in ("ovr", "ovo"):
        machine = SVC("precomputed", indefinite="stationary", multi_class=multi_class).fit(K, y)
        assert machine.stationary_ and machine.score(K, y) > 0.9


def test_threads_do_not_matter():
    K, y = indefinite(), labels()
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(SVC("precomputed", indefinite="stationary", loss="hinge", alpha=0.1).fit(K, y).dual_coef_)
    assert np.array_equal(*found)


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_scikit_learn_on_a_definite_matrix(C):
    K, y, z = definite(), labels(), responses()
    problem = solve_indefinite(K, constant(), Hinge(y), 1 / (2 * C), np.ones(90))
    theirs = SklearnSVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    np.testing.assert_allclose(problem.values, theirs.decision_function(K), atol=1e-6)
    problem = solve_indefinite(K, constant(), EpsilonInsensitive(z, 0.1), 1 / (2 * C), np.ones(90))
    theirs = SklearnSVR(kernel="precomputed", C=C, epsilon=0.1, tol=1e-9).fit(K, z)
    np.testing.assert_allclose(problem.values, theirs.predict(K), atol=1e-6)


def test_no_worse_than_scikit_learn_on_an_indefinite_matrix():
    """Both go downhill in the same dual problem; above the smallest eigenvalue of K they find the same machine."""
    K, y = indefinite(), labels()
    for C in (0.1, 1.0, 10.0):
        ours = solve_indefinite(K, constant(), Hinge(y), 1 / (2 * C), np.ones(90))
        theirs = SklearnSVC(kernel="precomputed", C=C, tol=1e-8).fit(K, y)
        a = np.zeros((2, 90))
        a[0, ours.active], a[1, theirs.support_] = ours.dual, theirs.dual_coef_[0]
        objective = 0.5 * np.einsum("ki,ij,kj->k", a, K, a) - a @ y
        assert objective[0] <= objective[1] + 1e-6 * abs(objective[1])


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_svr_takes_an_indefinite_matrix(loss):
    K, z = indefinite(), responses()
    machine = SVR("precomputed", indefinite="stationary", loss=loss).fit(K, z)
    assert machine.stationary_ and machine.score(K, z) > 0.9
    assert np.array_equal(clone(machine).fit(K, z).predict(K), machine.predict(K))


def test_small_alpha_is_refused_or_announced():
    K, z = indefinite(), responses()
    with pytest.raises(UnboundedError, match="Take a larger alpha"):
        SVR("precomputed", indefinite="stationary", alpha=1e-3, loss="squared_epsilon_insensitive").fit(K, z)
    with pytest.warns(ConvergenceWarning, match="worse .* than a constant"):
        SVR("precomputed", indefinite="stationary", alpha=1e-3).fit(K, z)
    path = (
        SVC("precomputed", indefinite="stationary", alpha=[1e-7, 1.0]).fit(indefinite(size=1e-3), labels()).alpha_path_
    )
    assert np.isinf(path["score"][0]) and np.isfinite(path["score"][1])


@pytest.mark.parametrize("repair", ["clip", "flip"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_repaired_machines_are_those_of_the_repaired_matrix(repair, loss):
    """Repaired by hand, rows of test points by the same projection."""
    K, y = indefinite(), labels()
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    eigenvalues, V = np.linalg.eigh(centered)
    signs = np.where(eigenvalues > 0, 1.0, 0.0 if repair == "clip" else -1.0)
    by_hand = SVC("precomputed", indefinite="stationary", alpha=0.1, loss=loss).fit(
        (V * (signs * eigenvalues)) @ V.T, y
    )
    ours = SVC("precomputed", alpha=0.1, loss=loss, indefinite=repair).fit(K, y)
    assert not ours.stationary_ and not by_hand.stationary_
    np.testing.assert_allclose(
        ours.decision_function(K), by_hand.decision_function((V * (signs * eigenvalues)) @ V.T), atol=1e-5
    )
    assert SVR("precomputed", indefinite=repair).fit(K, responses()).score(K, responses()) > 0.9


class Violating(Kernel):
    """exp(-d) of a dissimilarity without triangle inequality."""

    is_indefinite = True

    def _matrix(self, X, Y):
        Y = X if Y is None else Y
        return np.exp(-0.3 * np.abs(X[:, None] - Y[None]).sum(axis=2) ** 1.6)


@pytest.mark.parametrize("indefinite_way", ["stationary", "clip"])
def test_kernels_that_say_so(indefinite_way):
    X, y = points(), labels()
    for null_space in ("auto", "constant", "zero"):
        machine = SVC(Violating(), null_space=null_space, indefinite=indefinite_way, alpha=1.0).fit(X, y)
        assert machine.stationary_ == (indefinite_way == "stationary")
        assert machine.score(X, y) > 0.85
    by_matrix = SVC("precomputed", indefinite=indefinite_way, alpha=1.0).fit(Violating()(X), y)
    by_kernel = SVC(Violating(), indefinite=indefinite_way, alpha=1.0).fit(X, y)
    fresh = points(20, seed=9)
    np.testing.assert_allclose(
        by_kernel.decision_function(fresh), by_matrix.decision_function(Violating()(fresh, X)), atol=1e-6
    )


def test_definite_matrices_keep_the_usual_way():
    K, y = definite(), labels()
    machine = SVC("precomputed", indefinite="stationary").fit(K, y)
    assert machine.stationary_ is False
    assert SVC(Gaussian()).fit(points(), y).stationary_ is False
    # centred distances are positive although the matrix is not
    distances = -np.sqrt(((points()[:, None] - points()[None]) ** 2).sum(axis=2))
    assert SVC("precomputed", indefinite="stationary").fit(distances, y).stationary_ is False


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="indefinite must be one of 'clip', 'flip', 'stationary', got 'shift'"):
        SVC(indefinite="shift").fit(points(), labels())
    with pytest.raises(ValueError, match="n_basis=10 needs a kernel"):
        SVC("precomputed", indefinite="stationary", n_basis=10, null_space="constant").fit(indefinite(), labels())


def test_saved_machines_come_back(tmp_path):
    K, y = indefinite(), labels()
    machine = SVC("precomputed", indefinite="stationary", alpha=1.0).fit(K, y)
    machine.save(tmp_path / "machine.npz")
    loaded = SVC.load(tmp_path / "machine.npz")
    assert loaded.stationary_ is True
    assert np.array_equal(loaded.decision_function(K), machine.decision_function(K))


def test_variables_of_a_point_add_up():
    problem = BoxQuadratic(
        np.eye(2), np.ones(2), np.array([0, 1, 0, 1]), np.zeros(4), np.zeros(4), np.ones(4), np.ones((4, 1))
    )
    assert problem.coefficients(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [4.0, 6.0]
    assert problem.values(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [8.0, 12.0]
