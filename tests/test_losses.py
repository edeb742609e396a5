"""Losses against finite differences and their dual description, and their machines against other solvers."""

import numpy as np
import pytest
from helpers import case_id
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from seminorm import SVC, SVR, Smoother
from seminorm.kernels import Gaussian, Linear, ThinPlate
from seminorm.losses import ROBUST, Huber, Logistic, Loss, PerPoint, Squared, SquaredHinge, all_losses, loss_named
from seminorm.nullspace import Polynomials
from seminorm.solvers.margin import box_machines, newton
from seminorm.solvers.margin.machines import FreeMachine
from seminorm.solvers.margin.problem import MarginProblem

VALUES = np.array([-1.3, 0.35, 0.8, 2.1])
POWERS = np.array([-1.0, 1.0, 0.0, 1.0])


def examples():
    return [
        *all_losses(),
        PerPoint.with_boundary(POWERS, SquaredHinge),
        PerPoint.with_boundary(POWERS, loss_named("hinge")),
    ]


@pytest.mark.parametrize("loss", examples(), ids=case_id)
def test_slopes_and_curvatures_are_those_of_the_value(loss):
    h, f = 1e-5, VALUES
    slope = (loss.value(f + h) - loss.value(f - h)) / (2 * h)
    if loss.provides(["gradient"]):
        np.testing.assert_allclose(loss.gradient(f), slope, atol=1e-8)
    if loss.provides(newton.NEEDS):
        active = loss.active(f)
        linear = loss.linear(f) if hasattr(loss, "linear") else np.zeros(len(f), dtype=bool)
        curvature = (loss.gradient(f + h) - loss.gradient(f - h)) / (4 * h)
        np.testing.assert_allclose(np.where(active, loss.curvature(f), 0.0), curvature, atol=1e-8)
        model = np.where(active, 2 * loss.curvature(f) * (f - loss.targets(f)), 0.0)
        np.testing.assert_allclose(model[~linear], slope[~linear], atol=1e-8)
        assert not (active & linear).any() and (slope[linear] != 0).all()


@pytest.mark.parametrize("loss", [loss for loss in examples() if loss.provides(box_machines.NEEDS)], ids=case_id)
def test_the_box_describes_the_loss(loss):
    """loss(f) = max sum_k s_k (target_k - f) - ridge s^2 / 4: by brute force over the slopes."""
    box, f = loss.box(), VALUES
    assert ((box.lower == 0) | (box.upper == 0) | box.is_free).all()
    for i in range(len(f)):
        total, s = np.zeros(1), np.zeros(1)
        for k in np.flatnonzero(box.points == i):
            own = np.linspace(max(box.lower[k], -30.0), min(box.upper[k], 30.0), 601)
            total, s = (total[:, None] + own * (box.targets[k] - f[i])).ravel(), (s[:, None] + own).ravel()
        assert (total - box.ridge[i] * s**2 / 4).max() == pytest.approx(loss.value(f)[i], abs=2e-3)


@pytest.mark.parametrize("loss", examples(), ids=case_id)
def test_subsets(loss):
    points = np.array([1, 3])
    part = loss.subset(points)
    np.testing.assert_array_equal(part.value(VALUES[points]), loss.value(VALUES)[points])
    assert part.provides(newton.NEEDS) == loss.provides(newton.NEEDS)


def data(rng, n=60):
    X = rng.standard_normal((n, 2))
    y = np.where((X**2).sum(axis=1) + 0.8 * rng.standard_normal(n) > 1.4, 1.0, -1.0)
    z = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_t(1, n)
    return X, y, z, rng.random(n) + 0.5


def oracle(kernel, X, loss, alpha, weights, degree):
    """Values of the minimiser of the same objective, by SciPy over the values of the kernel's features."""
    machine = FreeMachine(kernel(X), Polynomials(degree).fit(X)(X))
    Q = machine.Q
    projected = machine.K - Q @ (Q.T @ machine.K @ Q) @ Q.T  # without what fills the null space
    sizes, vectors = np.linalg.eigh(0.5 * (projected + projected.T))
    kept = sizes > 1e-10 * sizes[-1]
    features = np.hstack([vectors[:, kept] * np.sqrt(sizes[kept]), Q])
    penalty = np.r_[np.ones(kept.sum()), np.zeros(Q.shape[1])]

    def objective(b):
        f = features @ b
        slope = features.T @ (weights * loss.gradient(f)) + 2 * alpha * penalty * b
        return alpha * (penalty * b) @ b + weights @ loss.value(f), slope

    found = minimize(
        objective, np.zeros(len(penalty)), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    )
    return features @ found.x, found.fun


@pytest.mark.parametrize(("kernel", "degree"), [(Gaussian(0.8), 0), (ThinPlate(), 1)], ids=case_id)
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_logistic_equals_scipy(kernel, degree, alpha, rng):
    X, y, _, w = data(rng)
    values, _ = oracle(kernel, X, Logistic(y), alpha, w, degree)
    ours = SVC(kernel, alpha=alpha, loss="logistic", null_space=degree).fit(X, y, sample_weight=w).decision_function(X)
    np.testing.assert_allclose(ours, values, atol=1e-4 * np.abs(values).max())


@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_logistic_equals_scikit_learn(alpha, rng):
    """On the features of a linear kernel; C = 1 / (2 alpha)."""
    X, y, _, w = data(rng)
    theirs = LogisticRegression(C=1 / (2 * alpha), tol=1e-10, max_iter=1000).fit(X, y, sample_weight=w)
    ours = SVC(Linear(), alpha=alpha, loss="logistic").fit(X, y, sample_weight=w)
    Z = rng.standard_normal((30, 2))
    np.testing.assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-5)


@pytest.mark.parametrize(("kernel", "degree"), [(Gaussian(0.8), 0), (ThinPlate(), 1)], ids=case_id)
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_huber_equals_scipy(kernel, degree, alpha, rng):
    X, _, z, w = data(rng)
    values, _ = oracle(kernel, X, Huber(z, 0.2), alpha, w, degree)
    model = SVR(kernel, alpha=alpha, epsilon=0.2, loss="huber", null_space=degree).fit(X, z, sample_weight=w)
    np.testing.assert_allclose(model.predict(X), values, atol=1e-4 * np.abs(values).max())


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("name", ["logistic", "huber", "squared", "squared_hinge", "squared_epsilon_insensitive"])
def test_optimality_conditions_of_smooth_losses(name, alpha, rng):
    """a_i = -w_i loss'(f_i) / (2 alpha), f = K a + Q b and Q'a = 0."""
    X, y, z, w = data(rng, 120)
    kind = loss_named(name)
    loss = kind(y) if kind.task == "classification" else kind(z, 0.3)
    machine = FreeMachine(ThinPlate()(X), Polynomials(1).fit(X)(X))
    found = MarginProblem(machine, loss, w).solve(alpha)
    a = np.zeros(120)
    a[found.active] = found.dual
    slope = loss.gradient(found.values)
    tolerance = 1e-6 if loss.provides(newton.NEEDS) else 1e-5  # interior points are inexact
    np.testing.assert_allclose(2 * alpha * a, -w * slope, atol=tolerance * np.abs(slope).max())
    np.testing.assert_allclose(machine.K @ a + machine.Q @ found.null, found.values, atol=1e-8 * np.abs(a).sum())
    np.testing.assert_allclose(machine.Q.T @ a, 0, atol=1e-7 * np.abs(a).sum())


@pytest.mark.slow
def test_logistic_from_a_start_far_off():
    """The solution on a part of many points may be far on the wrong side of others, where the loss has no curvature."""
    rng = np.random.default_rng(0)
    X, y, _, w = data(rng, 800)
    machine = FreeMachine(Gaussian(0.2)(X), np.ones((800, 1)))
    found = MarginProblem(machine, Logistic(y), w).solve(1e-4)
    a = np.zeros(800)
    a[found.active] = found.dual
    np.testing.assert_allclose(2e-4 * a, -w * Logistic(y).gradient(found.values), atol=1e-8)


def test_huber_is_the_squared_error_up_to_its_threshold(rng):
    X, _, z, _ = data(rng)
    squared = SVR(alpha=0.1, loss="squared").fit(X, z).predict(X)
    np.testing.assert_allclose(squared, Smoother(alpha=0.1).fit(X, z).predict(X), atol=1e-8)
    np.testing.assert_allclose(SVR(alpha=0.1, loss="huber", epsilon=1e3).fit(X, z).predict(X), squared, atol=1e-5)
    spoilt = z.copy()
    spoilt[:5] += 100.0
    robust = SVR(alpha=0.1, loss="huber", epsilon=0.1).fit(X, spoilt).predict(X[5:])
    clean = SVR(alpha=0.1, loss="huber", epsilon=0.1).fit(X, z).predict(X[5:])
    assert np.abs(robust - clean).mean() < 0.2


@pytest.mark.parametrize("name", ["logistic", "huber", "squared_hinge"])
def test_leave_one_out_is_nearly_that_of_training_again(name, rng):
    """Exact for squares with the same active set, one Newton step for the logistic loss."""
    X, y, z, w = data(rng, 40)
    kind, alpha = loss_named(name), 0.5

    def problem(rows):
        targets = y[rows] if kind.task == "classification" else z[rows]
        machine = FreeMachine(Gaussian(1.0)(X[rows]), np.ones((len(rows), 1)))
        return MarginProblem(machine, kind(targets, 0.3), w[rows])

    whole = problem(np.arange(40))
    estimate = whole.leave_one_out(whole.solve(alpha))
    again = np.empty(40)
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        fit = problem(rest).fit(alpha).coefficients
        again[i] = Gaussian(1.0)(X[[i]], X[rest[fit.points]])[0] @ fit.dual + fit.null[0]
    assert np.median(np.abs(estimate - again)) < 0.01 * np.ptp(again)
    assert np.corrcoef(estimate, again)[0, 1] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["loo", "cv"])
def test_alpha_is_chosen_for_every_loss(criterion, rng):
    X, y, z, _ = data(rng, 100)
    for loss in (loss for loss in all_losses() if loss.task != ROBUST):
        machine = SVC if loss.task == "classification" else SVR
        model = machine(loss=loss.name, criterion=criterion).fit(X, y if machine is SVC else z)
        best = model.alpha_path_["score"][model.alpha_path_["alpha"] == model.alpha_]
        assert best == model.alpha_path_["score"].min() and len(model.alpha_path_["alpha"]) > 3
        assert machine is SVR or model.score(X, y) > 0.75


def test_logistic_with_an_indefinite_matrix_needs_a_repair(rng):
    X, y, _, _ = data(rng)
    K = np.exp(-0.3 * np.abs(X[:, None] - X[None]).sum(axis=2) ** 1.6)
    with pytest.raises(ValueError, match="'hinge', 'squared_hinge', or clip"):
        SVC("precomputed", loss="logistic", alpha=0.1, indefinite="stationary").fit(K, y)
    assert SVC("precomputed", loss="logistic", indefinite="clip").fit(K, y).score(K, y) > 0.8


class LogCosh(Loss):
    """log cosh(y - f): between the squared and the absolute error."""

    name, task = "log_cosh", "regression"

    def value(self, f):
        return np.logaddexp(self.y - f, f - self.y) - np.log(2)

    def gradient(self, f):
        return np.tanh(f - self.y)

    def curvature(self, f):
        return 0.5 / np.cosh(np.clip(f - self.y, -15, 15)) ** 2

    def active(self, f):
        return np.ones(len(f), dtype=bool)

    def targets(self, f):
        return f - 0.5 * self.gradient(f) / self.curvature(f)


@pytest.fixture
def log_cosh():
    all_losses.register(LogCosh, lambda: [LogCosh(np.zeros(3))])
    yield
    all_losses.unregister("LogCosh")


def test_a_loss_from_outside_needs_nothing_but_its_class(log_cosh, rng):
    X, _, z, w = data(rng)
    model = SVR(Gaussian(0.8), alpha=0.1, loss="log_cosh").fit(X, z, sample_weight=w)
    values, _ = oracle(Gaussian(0.8), X, LogCosh(z), 0.1, w, 0)
    np.testing.assert_allclose(model.predict(X), values, atol=1e-4)
    assert SVR(loss="log_cosh", criterion="loo").fit(X, z).alpha_ > 0


def test_unknown_losses_are_refused_with_the_known_ones(rng):
    X, y, z, _ = data(rng)
    with pytest.raises(ValueError, match="loss must be one of 'hinge', 'logistic', 'squared_hinge', got 'huber'"):
        SVC(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match=r"'epsilon_insensitive', 'huber', 'pinball', 'squared', .*got 'log_cosh'"):
        SVR(loss="log_cosh").fit(X, z)
    with pytest.raises(ValueError, match="suits no solver"):
        MarginProblem(FreeMachine(np.eye(3), np.empty((3, 0))), _Bare(np.ones(3)), np.ones(3))


class _Bare(Loss):
    name, task = "bare", "regression"

    def value(self, f):
        return np.zeros(len(f))


def test_coefficients_belong_to_the_values_at_tiny_alpha(rng):
    """Slopes of the loss divided by alpha are no coefficients when alpha is near rounding."""
    X = rng.random((150, 2))
    y = np.where(np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) > 0, 1.0, -1.0)
    machine = FreeMachine(Gaussian(0.5)(X), np.ones((150, 1)))
    for alpha in (1e-6, 1e-9, 1e-11):
        found = newton.minimize(machine.K, machine.Q, SquaredHinge(y), alpha, np.ones(150))
        values = machine.K[:, found.active] @ found.dual + machine.Q @ found.null
        np.testing.assert_allclose(values, found.values, atol=1e-6 * max(1.0, np.abs(values).max()))


def test_squared_box_is_free():
    assert Squared(np.zeros(2)).box().is_free.all()
