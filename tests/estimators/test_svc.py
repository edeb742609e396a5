"""Support vector classification against other solvers, and against what the sources promise."""

import pickle

import numpy as np
import pytest
from convex import machine_values
from helpers import case_id
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space
from scipy.stats import ortho_group
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as ReferenceSVC

from seminorm import SVC
from seminorm.estimators.probabilities import binary_probabilities, fit_slopes, fit_temperature
from seminorm.invariance import DTW
from seminorm.kernels import Gaussian, Linear, NegativeDistance, Polyharmonic, Polynomial, ThinPlate
from seminorm.losses import Hinge, SquaredHinge, loss_named
from seminorm.nullspace import Features, Polynomials, ThinPlateTwin, Twin
from seminorm.solvers.margin import newton
from seminorm.solvers.margin.box_machines import null_coefficients_by_lp
from seminorm.solvers.margin.box_qp import solve_box_qp
from seminorm.solvers.margin.machines import DenseMachine, FreeMachine
from seminorm.solvers.margin.problem import MarginProblem
from seminorm.solvers.margin.separation import separates, smallest_separator


def rings(rng, n=80, noise=0.3, classes=2):
    X = rng.standard_normal((n, 2))
    radius = (X**2).sum(axis=1) + noise * rng.standard_normal(n)
    return X, np.digitize(radius, [1.4] if classes == 2 else [0.7, 2.0])


def signs_of(y):
    return np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Polynomial(2), Linear()], ids=case_id)
def test_hinge_with_a_constant_equals_scikit_learn(kernel, alpha, rng):
    X, y = rings(rng)
    ours = SVC(kernel, alpha=alpha, loss="hinge").fit(X, y)
    theirs = ReferenceSVC(kernel="precomputed", C=1 / (2 * alpha), tol=1e-10).fit(kernel(X), y)
    Z = rng.standard_normal((30, 2))
    reference = theirs.decision_function(kernel(Z, X))
    np.testing.assert_allclose(ours.decision_function(Z), reference, atol=1e-4 * max(1.0, np.abs(reference).max()))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("alpha", [0.03, 1.0])
@pytest.mark.parametrize(
    ("kernel", "space"),
    [
        (ThinPlate(), Polynomials(1)),
        (Polyharmonic(3), Polynomials(2)),
        (NegativeDistance(), Polynomials(0)),
        (Gaussian(0.7), Polynomials(-1)),
        (Gaussian(0.7), Polynomials(0) | Features(np.cos)),
    ],
    ids=repr,
)
def test_equals_a_general_convex_solver(kernel, space, alpha, power, rng):
    X, y = rings(rng, 40, noise=1.0)
    s, w = signs_of(y), rng.random(40) + 0.5
    P = space.fit(X)(X)
    expected = machine_values(kernel(X), P, alpha, w, power, [(s, np.ones(40))])
    loss = {1: "hinge", 2: "squared_hinge"}[power]
    ours = SVC(kernel, alpha=alpha, loss=loss, null_space=space).fit(X, y, sample_weight=w).decision_function(X)
    np.testing.assert_allclose(ours, expected, atol=2e-5 * max(1.0, np.abs(expected).max()))


def free_problem(X, y, loss="squared_hinge", kernel=None, degree=1):
    kernel = ThinPlate() if kernel is None else kernel
    machine = FreeMachine(kernel(X), Polynomials(degree).fit(X)(X))
    return MarginProblem(machine, loss_named(loss)(signs_of(y)), np.ones(len(X)))


def test_newton_solution_satisfies_the_optimality_conditions(rng):
    X, y = rings(rng, 150)
    problem = free_problem(X, y)
    for alpha in (1e-4, 1e-2, 1.0, 100.0):
        found = problem.solve(alpha)
        slack = problem.loss.y - found.values
        np.testing.assert_allclose(slack[found.active], alpha * found.dual, atol=1e-8)  # a = residual / alpha
        assert (problem.loss.y * found.values)[np.setdiff1d(np.arange(150), found.active)].min() >= 1 - 1e-8
        np.testing.assert_allclose(
            problem.machine.Q[found.active].T @ found.dual, 0, atol=1e-8 * np.abs(found.dual).sum()
        )


def test_hinge_residuals_are_small(rng):
    X, y = rings(rng, 150)
    problem = free_problem(X, y, "hinge")
    for alpha in (1e-3, 1e-1, 10.0):
        assert max(problem.solve(alpha).residuals.values()) < 1e-8


def test_doubling_and_warm_starts_lead_to_the_same_machine(rng):
    X, y = rings(rng, 900)
    problem = free_problem(X, y)
    cold = problem.solve(0.1)
    warm = problem.solve(0.1, start=problem.solve(10.0))
    np.testing.assert_allclose(cold.values, warm.values, atol=1e-7)


def test_zero_machine_equals_a_direct_solution(rng):
    """[Walder and Chapelle 2007, (18)], sign corrected: a = N (N'(lambda Phi + Phi_s' Phi_s) N)^-1 N' Phi_s' y_s."""
    X, y = rings(rng, 60)
    s, alpha, Phi = signs_of(y), 0.5, ThinPlate()(X)
    N = null_space(Polynomials(1).fit(X)(X).T)
    active = np.ones(60, dtype=bool)
    for _ in range(50):
        A = N.T @ (alpha * Phi + Phi[active].T @ Phi[active]) @ N
        direct = N @ np.linalg.solve(A, N.T @ Phi[active].T @ s[active])
        now = s * (Phi @ direct) < 1
        if np.array_equal(now, active):
            break
        active = now
    model = SVC(alpha=alpha, null_space="zero").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), Phi @ direct, atol=1e-7)
    found = np.zeros(60)
    found[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(found, direct, atol=1e-6 * np.abs(direct).max())
    np.testing.assert_allclose(Polynomials(1).fit(X)(X).T @ found, 0, atol=1e-8)


def test_few_basis_points_do(rng):
    X, y = rings(rng, 60)
    few = SVC(null_space="constant", n_basis=20, random_state=0).fit(X, y)
    assert len(few.support_) <= 20
    assert few.score(X, y) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_analytic_leave_one_out_equals_brute_force(loss, rng):
    X, y = rings(rng, 50)
    problem = free_problem(X, y, loss)
    whole = problem.solve(0.5)
    analytic = problem.leave_one_out(whole)
    equal = 0
    for i in range(50):
        rest = np.arange(50) != i
        part = SVC(alpha=0.5, loss=loss, null_space=1).fit(X[rest], y[rest])
        value = part.decision_function(X[i : i + 1])[0]
        inner = free_problem(X[rest], y[rest], loss).solve(0.5)
        unchanged = set(np.flatnonzero(rest)[inner.active]) == set(whole.active) - {i}
        if loss == "hinge":
            kept = np.flatnonzero(rest)[inner.active[inner.inside]]
            unchanged &= set(kept) == set(whole.active[whole.inside]) - {i}
        if unchanged:
            assert analytic[i] == pytest.approx(value, abs=1e-4)
            equal += 1
    assert equal > 20


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_twin_is_the_same_machine_when_the_null_space_is_free_in_both(loss, rng):
    X, y = rings(rng, 60, noise=1.0)
    Z = rng.standard_normal((20, 2))
    plate = SVC(ThinPlate(), alpha=0.3, loss=loss, null_space=1).fit(X, y).decision_function(Z)
    for twin in (Twin.from_data(ThinPlate(), X), Twin.from_data(ThinPlate(), X, definite=False), ThinPlateTwin(1.0)):
        same = SVC(twin, alpha=0.3, loss=loss, null_space=1).fit(X, y).decision_function(Z)
        np.testing.assert_allclose(same, plate, atol=1e-5)
    own = SVC(ThinPlateTwin(1.0), alpha=0.3, loss=loss).fit(X, y)  # with the usual constant it is a machine of its own
    assert own.score(X, y) > 0.7


def test_hard_margin_is_the_limit(rng):
    X, y = rings(rng, 60, noise=0.0)
    kernel = Gaussian(0.8)
    hard = ReferenceSVC(kernel="precomputed", C=1e9, tol=1e-9).fit(kernel(X), y).decision_function(kernel(X))
    for loss in ("squared_hinge", "hinge"):
        soft = SVC(kernel, alpha=1e-9, loss=loss).fit(X, y).decision_function(X)
        np.testing.assert_allclose(soft, hard, atol=2e-2 * np.abs(hard).max())
    scaled = SVC(Polynomial(2, 0.0), alpha=1e-9).fit(7.0 * X, y).decision_function(7.0 * X)
    np.testing.assert_allclose(scaled, SVC(Polynomial(2, 0.0), alpha=1e-9).fit(X, y).decision_function(X), atol=1e-3)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), exponent=st.floats(-2, 2))
def test_dilation_law_and_invariance_of_the_tuned_machine(seed, exponent):
    rng = np.random.default_rng(seed)
    X, y = rings(rng, 60)
    s = 10.0**exponent
    moved = s * X @ ortho_group.rvs(2, random_state=seed) + rng.standard_normal(2)
    for kernel, space in (
        (ThinPlate(), "auto"),
        (ThinPlate(), "constant"),
        (NegativeDistance(1.5), "auto"),
        (Polyharmonic(3), 2),
    ):
        degree = kernel.for_dimension(2).dilation_degree
        one = SVC(kernel, alpha=0.1, null_space=space).fit(X, y)
        other = SVC(kernel, alpha=0.1 * s**degree, null_space=space).fit(moved, y)
        values = one.decision_function(X)
        np.testing.assert_allclose(other.decision_function(moved), values, atol=1e-4 * max(1.0, np.abs(values).max()))
    one, other = SVC().fit(X, y), SVC().fit(moved, y)
    assert np.array_equal(one.predict(X), other.predict(moved))
    assert one.null_space_used_ == other.null_space_used_
    assert type(one.kernel_) is type(other.kernel_)
    np.testing.assert_allclose(other.alpha_, one.alpha_ * s**one.kernel_.dilation_degree, rtol=1e-6)


def test_nothing_free_breaks_the_dilation_law_of_a_logarithm(rng):
    """Dilation adds log(s) sum_i a_i |x_i|^2, a constant: with it free the law holds, without it
    it does not.
    """
    X, y = rings(rng, 60)
    one = SVC(alpha=0.1, null_space="zero").fit(X, y).decision_function(X)
    other = SVC(alpha=0.1 * 9, null_space="zero").fit(3 * X, y).decision_function(3 * X)
    assert np.abs(one - other).max() > 1e-3


def test_features_that_explain_the_labels_leave_nothing_to_the_kernel(rng):
    X = rng.standard_normal((60, 2))
    y = (np.sin(3 * X[:, 0]) > 0).astype(int)
    space = Polynomials(0) | Features(lambda Z: np.sign(np.sin(3 * Z[:, :1])))
    for loss in ("squared_hinge", "hinge"):
        model = SVC(Gaussian(), loss=loss, alpha=0.1, null_space=space).fit(X, y)
        assert len(model.support_) == 0
        assert model.score(X, y) == 1.0
        np.testing.assert_allclose(np.abs(model.decision_function(X)), 1.0, atol=1e-6)  # the smallest that separates


def test_null_space_may_be_transformed_linearly(rng):
    """Li et al. 2007, 4.2: the answer does not depend on the basis of the features."""
    X, y = rings(rng, 50, noise=1.0)
    A = rng.standard_normal((2, 2)) + 2 * np.eye(2)
    for loss in ("squared_hinge", "hinge"):
        plain = SVC(Gaussian(), alpha=0.2, loss=loss, null_space=Polynomials(0) | Features(np.cos)).fit(X, y)
        mixed = SVC(
            Gaussian(), alpha=0.2, loss=loss, null_space=Polynomials(0) | Features(lambda Z: np.cos(Z) @ A)
        ).fit(X, y)
        np.testing.assert_allclose(mixed.decision_function(X), plain.decision_function(X), atol=1e-5)


def test_virtual_points_change_nothing(rng):
    """Li et al. 2007, (27): points with label 0 add a constant to the objective; in the QP they are rows of zeros."""
    X, y = rings(rng, 30, noise=3.0)
    s, K, P = signs_of(y), Gaussian()(X), np.column_stack([np.ones(30), np.cos(X)])
    virtual = np.concatenate([s, np.zeros(3)])
    Kv = np.pad(K, (0, 3)) + np.pad(np.eye(3), ((30, 0), (30, 0)))
    Pv = np.vstack([P, np.eye(3)])
    one = solve_box_qp(K * np.outer(s, s) / 0.2, np.ones(30), (s[:, None] * P).T, np.zeros(3), np.ones(30))
    other = solve_box_qp(
        Kv * np.outer(virtual, virtual) / 0.2, np.ones(33), (virtual[:, None] * Pv).T, np.zeros(3), np.ones(33)
    )
    np.testing.assert_allclose(other.a[:30], one.a, atol=1e-6)
    np.testing.assert_allclose(other.multipliers, one.multipliers, atol=1e-6)


def test_linear_program_settles_the_null_space_in_the_degenerate_case(rng):
    """All points at the bound: any multiplier in an interval solves the QP, the program (25) picks one that is
    optimal.
    """
    X, y = rings(rng, 40, noise=1.0)
    model = SVC(Gaussian(), alpha=1e4, loss="hinge").fit(X, y)
    s = signs_of(y)
    kernel_part = model.decision_function(X) - model.null_coef_[0] @ np.ones((1, 40)) * model.null_space_(X)[:, 0]
    best = null_coefficients_by_lp(kernel_part, np.ones((40, 1)), Hinge(s).box(), np.ones(40))

    def objective(b):
        return np.maximum(0, 1 - s * (kernel_part + b)).sum()

    assert objective(model.null_coef_[0, 0]) == pytest.approx(objective(best[0]), rel=1e-6)
    assert all(objective(best[0]) <= objective(b) + 1e-9 for b in np.linspace(-2, 2, 81))


def test_separation_by_the_null_space():
    rng = np.random.default_rng(0)
    for _ in range(20):
        Q = np.column_stack([np.ones(40), rng.standard_normal((40, 3))])
        b = rng.standard_normal(4)
        y = np.sign(Q @ b)
        if abs(y.sum()) == 40:
            continue
        assert separates(Q, y)
        smallest = smallest_separator(Q, y)
        assert (y * (Q @ smallest)).min() > 1 - 1e-8
        hard = ReferenceSVC(kernel="linear", C=1e8, tol=1e-8).fit(Q[:, 1:], y)  # penalises all but the constant
        assert np.linalg.norm(smallest) <= np.linalg.norm(np.r_[hard.intercept_, hard.coef_[0]]) * (1 + 1e-4)
        y[np.argmax(np.abs(Q @ b))] *= -1
        assert not separates(Q, y) or (y * (Q @ smallest_separator(Q, y))).min() > 0


def test_the_null_space_is_chosen_by_what_was_left_out(rng):
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = SVC(ThinPlate()).fit(X, y)  # the plane separates: soft, or orthogonal to it
    assert model.null_space_used_ in ("soft", "constant")
    assert len(model.support_) > 0
    assert SVC(alpha=0.1).fit(X, y).null_space_used_ in ("soft", "constant")
    free = SVC(null_space=1).fit(X, y)
    assert free.null_space_used_ == "free"
    assert len(free.support_) == 0
    labels = np.where(X[:, 0] > 1, 2, (X**2).sum(axis=1) > 1)  # one separable problem of three
    assert SVC(ThinPlate()).fit(X, labels).null_space_used_ != "free"
    X, y = rings(rng, 80)
    chosen = SVC(ThinPlate()).fit(X, y)
    scores = {kind: SVC(ThinPlate(), null_space=kind).fit(X, y).alpha_path_["score"].min() for kind in ("soft", 1)}
    assert chosen.alpha_path_["score"].min() <= min(scores.values())


@pytest.mark.parametrize(
    ("alpha", "criterion"),
    [("auto", "loo"), ("auto", "cv"), ([0.01, 0.1, 1.0], "loo"), ([0.01, 0.1], "cv"), (0.1, "loo")],
)
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("null_space", ["auto", "constant", "zero"])
def test_several_classes(multi_class, alpha, criterion, null_space, rng):
    X, y = rings(rng, 150, classes=3)
    names = np.array(["inner", "middle", "outer"])[y]
    model = SVC(alpha=alpha, criterion=criterion, multi_class=multi_class, null_space=null_space).fit(X, names)
    assert model.score(X, names) > 0.8
    assert all({"alpha", "score"} <= set(path) for path in model.alpha_path_)
    assert model.decision_function(X).shape == (150, 3)
    assert model.alpha_.shape == (3,)
    assert set(model.predict(X)) <= set(names)
    if multi_class == "ovr":
        space = 1 if model.null_space_used_ == "free" else model.null_space_used_
        space = "auto" if isinstance(model.kernel_, NegativeDistance) else space
        one = SVC(model.kernel_, alpha, criterion, null_space=space).fit(X, names == "inner")
        np.testing.assert_allclose(one.decision_function(X), model.decision_function(X)[:, 0], atol=1e-5)


def test_automatic_alpha_is_among_the_best(rng):
    X, y = rings(rng, 200, noise=0.5)
    Z, t = rings(rng, 2000, noise=0.5)
    errors = [1 - SVC(alpha=a).fit(X, y).score(Z, t) for a in np.logspace(-3, 2, 11)]
    assert 1 - SVC().fit(X, y).score(Z, t) < min(errors) + 0.02
    path = SVC().fit(X, y).alpha_path_
    assert set(path) == {"alpha", "score", "active", "iterations"}


def test_weights(rng):
    X, y = rings(rng, 60, noise=1.0)
    w = rng.integers(0, 3, 60)
    repeated = np.repeat(np.arange(60), w)
    for loss in ("squared_hinge", "hinge"):
        one = SVC(loss=loss).fit(X, y, sample_weight=w)
        other = SVC(loss=loss).fit(X[repeated], y[repeated])
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    by_class = SVC(alpha=0.1, class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    by_sample = SVC(alpha=0.1).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=1e-9)


def test_works_with_scikit_learns_tools(rng):
    X, y = rings(rng, 150)
    probability = CalibratedClassifierCV(SVC(), cv=3).fit(X, y).predict_proba(X)
    assert np.mean((probability[:, 1] > 0.5) == y) > 0.9
    assert make_pipeline(StandardScaler(), SVC()).fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(SVC(Gaussian()), {"kernel__scale": [0.5, 2.0], "alpha": [0.1, "auto"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_sparse_input(rng):
    X = sparse.random_array((80, 40), density=0.2, rng=rng, format="csr")
    y = (X.toarray() @ rng.standard_normal(40) > 0).astype(int)
    for loss in ("squared_hinge", "hinge"):
        thin = SVC(Linear(), alpha=0.1, loss=loss).fit(X, y)
        dense = SVC(Linear(), alpha=0.1, loss=loss).fit(X.toarray(), y)
        np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(X.toarray()), atol=1e-6)


def test_precomputed_kernels(rng):
    X, y = rings(rng, 90, classes=3)
    K, P = ThinPlate()(X), Polynomials(1).fit(X)
    Z = rng.standard_normal((10, 2))
    direct = SVC(alpha=0.1, null_space=1).fit(X, y)
    given_matrix = SVC("precomputed", alpha=0.1).fit(K, y, null_columns=P(X))
    ours = given_matrix.decision_function(ThinPlate()(Z, X), null_columns=P(Z))
    np.testing.assert_allclose(ours, direct.decision_function(Z), atol=1e-6)
    search = GridSearchCV(SVC("precomputed"), {"alpha": [0.01, 0.1, 1.0]}, cv=3).fit(
        rbf_kernel(X), y
    )  # needs the pairwise tag
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("null_space", ["auto", "constant", "zero"])
def test_saves_without_pickle(null_space, rng, tmp_path):
    X, y = rings(rng, 80, classes=3)
    names = np.array(["a", "b", "c"])[y]
    model = SVC(null_space=null_space).fit(X, names)
    for copy in (SVC.load(model.save(tmp_path / "machine.npz")), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.predict(X), model.predict(X))
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))
        assert copy.get_params().keys() == model.get_params().keys()


def test_prediction_needs_the_support_only(rng):
    X, y = rings(rng, 200, noise=0.1)
    model = SVC(alpha=0.01).fit(X, y)
    assert 0 < len(model.support_) < 120
    kept = ThinPlate()(X, X[model.support_]) @ model.dual_coef_[0] + model.null_space_(X) @ model.null_coef_[0]
    np.testing.assert_allclose(kept, model.decision_function(X), atol=1e-10)


def test_awkward_but_legal_input(rng):
    X, y = rings(rng, 60)
    twice, labels = np.vstack([X, X[:5]]), np.r_[y, 1 - y[:5]]  # the same points with both labels
    for free in ("auto", "constant", "zero"):
        assert SVC(null_space=free).fit(twice, labels).score(X, y) > 0.7
    flat = SVC(alpha=0.1).fit(np.column_stack([X, np.ones(60)]), y)
    np.testing.assert_allclose(
        flat.decision_function(np.column_stack([X, np.ones(60)])),
        SVC(alpha=0.1).fit(X, y).decision_function(X),
        atol=1e-6,
    )
    with pytest.warns(UserWarning, match="60 of 60 points lie off the line, plane or subspace"):  # now it matters
        flat.predict(np.column_stack([X, np.zeros(60)]))
    with pytest.warns(UserWarning, match="determine only"):  # linearly dependent features
        SVC(Gaussian(), null_space=Polynomials(0) | Features(lambda Z: np.column_stack([Z, Z.sum(axis=1)]))).fit(X, y)
    wide = rng.standard_normal((20, 50))  # more features than points: the default kernel steps down
    assert SVC().fit(wide, np.arange(20) % 2).score(wide, np.arange(20) % 2) > 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: SVC().fit(X, np.ones(60)), "class"),
        (lambda X, y: SVC(alpha=0.0).fit(X, y), "alpha must be positive"),
        (lambda X, y: SVC(alpha=-1.0).fit(X, y), "alpha must be positive"),
        (lambda X, y: SVC(alpha="best").fit(X, y), "alpha must be 'auto'.*'loo', 'cv'"),
        (lambda X, y: SVC(loss="log").fit(X, y), "loss must be one of"),
        (lambda X, y: SVC(multi_class="all").fit(X, y), "multi_class"),
        (lambda X, y: SVC(n_basis=0).fit(X, y), "n_basis"),
        (lambda X, y: SVC("rbf").fit(X, y), r"kernel must be .* 'rbf': Gaussian\('auto'\)"),
        (lambda X, y: SVC(null_space=0).fit(X, y), "null_space must contain"),
        (lambda X, y: SVC("precomputed").fit(X, y), "square matrix"),
        (lambda X, y: SVC("precomputed").fit(np.triu(X @ X.T), y), "symmetric matrix"),
        (lambda X, y: SVC(criterion="gcv").fit(X, y), "criterion must be one of 'loo', 'cv'"),
        (lambda X, y: SVC().fit(X, y, null_columns=X).predict(X), "null_columns were given"),
        (lambda X, y: SVC().fit(X, y, null_columns=X).function_, "function of X alone"),
        (lambda X, y: SVC().fit(X, y).predict(X, null_columns=X), "were not given"),
        (lambda X, y: SVC(n_basis=2).fit(X, y), "n_basis=2 must exceed the 3 functions"),
        (lambda X, y: SVC(ThinPlate).fit(X, y), r"make one of it, ThinPlate\(\)"),
        (lambda X, y: SVC(DTW()).fit(X, y), "make it a kernel, .*DistanceKernel"),
        (lambda X, y: SVC("precomputed").fit(X @ X.T, y, null_columns=X[:3]), "null_columns must be"),
        (lambda X, y: SVC("precomputed", null_space=1).fit(X @ X.T, y), "null_columns"),
        (lambda X, y: SVC("precomputed").fit(X @ X.T, y, null_columns=X).predict(X @ X.T), "null_columns were given"),
        (
            lambda X, y: SVC(ThinPlate(), null_space="constant").fit(np.hstack([X] * 20)[:30], y[:30]),
            "n_samples=30",
        ),
        (lambda X, y: SVC().fit(X, y).predict(X[:, :1]), "features"),
        (lambda X, y: SVC().fit(X * np.nan, y), "NaN"),
        (
            lambda X, y: SVC(criterion="cv").fit(np.r_[X, [[9.0, 9.0]]], np.r_[np.zeros(60), 1]),
            "two points of each class",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:the null space")
def test_bad_input(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(*rings(rng, 60))


@pytest.mark.parametrize("free", [0, 1], ids=["zero", "constant"])
def test_leave_one_out_of_dense_machines_takes_the_kernel_term_along(free, rng):
    """With few points for many annihilated functions it matters that a point leaves with its kernel term."""
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((60, 12))
    X[:, :4] += 0.75 * y[:, None]
    kind = ["zero", "constant"][free]
    machine = DenseMachine(ThinPlate()(X), Polynomials(1).fit(X)(X), np.ones((60, free)))
    problem = MarginProblem(machine, SquaredHinge(y), np.ones(60))
    for alpha, exact in ((300.0, True), (3.0, False)):
        solution = problem.solve(alpha)
        analytic, brute = problem.leave_one_out(solution), np.empty(60)
        for i in range(60):
            rest = np.arange(60) != i
            part = SVC(ThinPlate(), alpha=alpha, null_space=kind).fit(X[rest], y[rest])
            brute[i] = part.decision_function(X[i : i + 1])[0]
        if exact:
            assert len(solution.active) == 60  # all active, with and without each point
            np.testing.assert_allclose(analytic, brute, atol=1e-9)
        assert abs((analytic * y < 0).sum() - (brute * y < 0).sum()) <= 2


def gaussian_of(x):
    return np.exp(-(np.subtract.outer(x, x) ** 2) / 2)


LINE = np.arange(8) * 0.5


@pytest.mark.parametrize(
    ("points", "y", "columns", "alpha", "power"),
    [
        # active points without any feature; equal objectives on the way; features that come and go; features of one
        # sign
        (np.array([2, -1.99, 0.02, -1.97, -1.96]), [-1, 1, -1, -1, 1], [[0, 0, 1, 1, 0], [0, 1, 1, 0, 0]], 0.1, 2),
        (LINE, [-1, -1, -1, 1, 1, 1, -1, 1], [[1] * 8, [0, 1, 0, 1, 0, 1, 1, 1]], 0.01, 2),
        (LINE, [1, 1, -1, -1, -1, 1, 1, -1], [[1] * 8, [1, 1, 0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0, 1, 0]], 0.01, 2),
        (np.arange(6.0), [1, 1, -1, 1, -1, -1], [[1, 1, 0, 0, 0, 0]], 0.1, 1),
        (LINE[:5], [1, -1, 1, 1, -1], [[1] * 5, [1, 0, 0, 0, 1], [0, 1, 0, 0, 0]], 0.01, 1),
    ],
)
def test_features_that_few_points_have(points, y, columns, alpha, power):
    K, y, P = gaussian_of(points), np.array(y, dtype=float), np.array(columns, dtype=float).T
    model = SVC("precomputed", alpha=alpha, loss={1: "hinge", 2: "squared_hinge"}[power]).fit(K, y, null_columns=P)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]

    def objective(f, energy):
        return alpha * energy + (np.maximum(0, 1 - y * f) ** power).sum()

    expected = machine_values(K, P, alpha, np.ones(len(y)), power, [(y, np.ones(len(y)))])
    N = null_space(P.T)
    g = np.linalg.lstsq(np.hstack([K @ N, P]), expected, rcond=None)[0][: N.shape[1]]
    ours = objective(K @ a + P @ model.null_coef_[0], a @ K @ a)
    assert ours == pytest.approx(objective(expected, g @ N.T @ K @ N @ g), rel=1e-5)
    np.testing.assert_allclose(P.T @ a, 0, atol=1e-9)


def test_bias_lies_amid_the_best_when_all_points_are_at_the_bound():
    x = np.r_[np.linspace(-2, -1, 10), np.linspace(1, 2, 10)]
    model = SVC("precomputed", alpha=50.0, loss="hinge").fit(gaussian_of(0.1 * x), np.sign(x))
    assert abs(model.null_coef_[0, 0]) < 1e-6
    assert model.score(gaussian_of(0.1 * x), np.sign(x)) == 1.0


def test_newton_says_when_it_stops_early(rng):
    X, y = rings(rng, 100)
    problem = free_problem(X, y)
    with pytest.warns(UserWarning, match="did not settle"):
        newton.minimize(
            problem.machine.K, problem.machine.Q, SquaredHinge(problem.loss.y), 1e-3, np.ones(100), max_iter=1
        )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_most_probable_class_is_the_one_predicted(classes, multi_class, loss, rng):
    X, y = rings(rng, 120, classes=classes, noise=0.6)
    Z, labels = rings(rng, 400, classes=classes, noise=0.6)
    model = SVC(loss=loss, multi_class=multi_class).fit(X, y)
    probabilities = model.predict_proba(Z)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(Z))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(Z)), probabilities)
    if loss == "logistic" and multi_class == "ovr" and classes == 2:
        np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-model.decision_function(Z))))
    prior = np.bincount(y) / len(y)
    assert log_loss(labels, probabilities) < log_loss(labels, np.tile(prior, (len(Z), 1)))


def test_probabilities_are_those_of_brute_force_leave_one_out(rng):
    X, y = rings(rng, 150, noise=1.0)
    machine = SVC(ThinPlate(), alpha=1.0, null_space=1)
    rows = np.arange(150)
    left_out = np.array([machine.fit(X[rows != i], y[rows != i]).decision_function(X[[i]])[0] for i in rows])
    model = machine.fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    expected = binary_probabilities(model.decision_function(X), fit_slopes(left_out, signs, np.ones(150)))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=0.02)


def test_slopes_are_the_maximum_likelihood(rng):
    f = 2 * rng.standard_normal(20000)
    true = np.where(f > 0, 0.7, 2.0)
    signs = np.where(rng.random(20000) < 1 / (1 + np.exp(-true * f)), 1.0, -1.0)
    np.testing.assert_allclose(fit_slopes(f, signs, np.ones(20000)), [2.0, 0.7], rtol=0.06)
    reference = LogisticRegression(fit_intercept=False, C=1e9).fit(f[f > 0, None], signs[f > 0]).coef_[0, 0]
    np.testing.assert_allclose(fit_slopes(f, signs, np.ones(20000))[1], reference, rtol=1e-3)
    np.testing.assert_allclose(fit_slopes(f[f > 0], signs[f > 0], np.ones((f > 0).sum())), [reference] * 2, rtol=1e-3)
    scores = rng.standard_normal((20000, 4))
    chances = np.exp(1.5 * scores) / np.exp(1.5 * scores).sum(axis=1, keepdims=True)
    labels = (chances.cumsum(axis=1) < rng.random((20000, 1))).sum(axis=1)
    np.testing.assert_allclose(fit_temperature(scores, labels, np.ones(20000)), 1.5, rtol=0.05)


def test_labels_at_random_are_reported(rng):
    X = rng.standard_normal((150, 4))
    with pytest.warns(UserWarning, match="no better than that of always predicting the most frequent class"):
        SVC().fit(X, rng.random(150) < 0.3)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("criterion", ["loo", "cv"])
def test_a_common_factor_of_the_weights_changes_nothing_but_alpha(factor, criterion, rng):
    X, y = rings(rng, 100, noise=0.5)
    w = rng.uniform(0.5, 2.0, 100)
    one, other = (SVC(criterion=criterion).fit(X, y, sample_weight=v) for v in (w, factor * w))
    np.testing.assert_allclose(other.alpha_, factor * one.alpha_, rtol=1e-9)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2])
def test_separable_by_a_plane_in_many_dimensions(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((1240, 60)), rng.standard_normal(60)
    y = X @ (w / np.linalg.norm(w)) + 0.3 * rng.standard_normal(1240) > 0
    own, linear = (1 - m.fit(X[:240], y[:240]).score(X[240:], y[240:]) for m in (SVC(), SVC(Linear())))
    assert own < linear + 0.02


def test_easy_pairs_of_digits_are_not_smoothed_over():
    digits, errors = load_digits(), 0
    for first, second in ((3, 8), (1, 8), (5, 9), (4, 7)):
        chosen = np.flatnonzero((digits.target == first) | (digits.target == second))
        order = np.random.default_rng(0).permutation(chosen)
        train, test = order[:120], order[120:]
        model = SVC().fit(digits.data[train], digits.target[train])
        errors += (model.predict(digits.data[test]) != digits.target[test]).sum()
    assert errors <= 16


def test_one_against_one_with_few_points_of_each_pair():
    digits = load_digits()
    X, y = digits.data[:160], digits.target[:160]
    for criterion in ("loo", "cv"):
        model = SVC(multi_class="ovo", criterion=criterion).fit(X, y)
        assert model.score(digits.data[160:], digits.target[160:]) > 0.8
