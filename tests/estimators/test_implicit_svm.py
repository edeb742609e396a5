"""Margin machines with points on the boundary, labelled points from normals, and the slab machine."""

import pickle

import numpy as np
import pytest
from convex import solve_qp
from scipy.linalg import block_diag, null_space
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as ReferenceSVC
from sklearn.svm import OneClassSVM

from seminorm import SVC, ImplicitSVM, SlabMachine
from seminorm.clouds.off_surface import off_surface_points, sampling_distance
from seminorm.fields import Field
from seminorm.kernels import Gaussian, Linear, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.losses import HardMargin, Hinge, PerPoint, SquaredHinge
from seminorm.nullspace import Polynomials
from seminorm.shapes import as_implicit, mesh_implicit
from seminorm.solvers.margin.machines import FreeMachine
from seminorm.solvers.margin.problem import MarginProblem

LOSSES = ("squared_hinge", "hinge", "hard")


def named(loss):
    return {"margin": "hard"} if loss == "hard" else {"loss": loss}


@pytest.fixture
def ring(rng):
    """Points of the plane: those near a circle are too hard to label."""
    X = rng.standard_normal((40, 2))
    radius = np.linalg.norm(X, axis=1)
    return X, np.where(np.abs(radius - 1.1) < 0.25, 0, np.sign(radius - 1.1)).astype(int)


def sphere(n, rng, noise=0.0):
    normals = rng.standard_normal((n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals * (1.0 + noise * rng.standard_normal((n, 1))), normals


def torus(n, rng):
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    normals = np.column_stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)])
    return np.column_stack([np.cos(u), np.sin(u), 0.0 * u]) + 0.4 * normals, normals


def flower(n, rng, noise=0.0):
    a = rng.uniform(0, 2 * np.pi, n)
    r, slope = 1 + 0.25 * np.cos(3 * a), -0.75 * np.sin(3 * a)
    normals = np.column_stack([slope * np.sin(a) + r * np.cos(a), r * np.sin(a) - slope * np.cos(a)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.column_stack([r * np.cos(a), r * np.sin(a)]) + noise * rng.standard_normal((n, 2)), normals


def with_labels(points, normals, distance=None):
    Z, labels = off_surface_points(points, normals, distance)
    return np.concatenate([points, Z]), np.concatenate([np.zeros(len(points), dtype=int), labels])


def surface_error(f, points):
    """Root mean square distance of points from the zero set, to first order."""
    return np.sqrt(np.mean((f(points) / np.linalg.norm(f.gradient(points), axis=1)) ** 2))


# -- the minimum, by other solvers ---------------------------------------------------------------------------------


def values_by_convex_solver(Phi, P, y, alpha, weights, loss):
    """Fitted values of the machine by a general quadratic program in the primal, the kernel reduced to the complement
    of P.
    """
    N = null_space(P.T) if P.shape[1] else np.eye(len(Phi))
    F = np.hstack([Phi @ N, P])
    zero, labeled = y == 0, y != 0
    count, size = labeled.sum(), F.shape[1]
    energy = block_diag(2 * alpha * N.T @ Phi @ N, np.zeros((P.shape[1],) * 2))
    quadratic = energy + 2 * F[zero].T @ (weights[zero, None] * F[zero])
    margin = -y[labeled, None] * F[labeled]
    if loss == "hard":
        return F @ solve_qp(quadratic, np.zeros(size), inequalities=(margin, -np.ones(count)))
    w, nothing = weights[labeled], np.zeros((count, count))
    quadratic = block_diag(quadratic, 2 * np.diag(w) if loss == "squared_hinge" else nothing)
    linear = np.concatenate([np.zeros(size), w if loss == "hinge" else np.zeros(count)])
    rows = np.block([[margin, -np.eye(count)], [np.zeros((count, size)), -np.eye(count)]])
    right = np.concatenate([-np.ones(count), np.zeros(count)])
    return F @ solve_qp(quadratic, linear, inequalities=(rows, right))[:size]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.003, 0.3])
@pytest.mark.parametrize(
    ("kernel", "degree"),
    [(ThinPlate(), 1), (Polyharmonic(3, 2), 2), (Gaussian(0.7), -1), (Gaussian(0.7), 0), (NegativeDistance(), 0)],
    ids=repr,
)
def test_equals_a_general_convex_solver(kernel, degree, alpha, loss, ring, rng):
    X, y = ring
    weights = rng.random(len(X)) + 0.5
    expected = values_by_convex_solver(kernel(X), Polynomials(degree).fit(X)(X), y, alpha, weights, loss)
    machine = ImplicitSVM(kernel, alpha=alpha, null_space=degree, **named(loss)).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(machine.decision_function(X), expected, atol=1e-5 * np.abs(expected).max())


def test_the_hard_margin_equals_a_solver_of_scipy(ring):
    X, y = ring
    X, y = X[:24], y[:24]
    K, zero, labeled, alpha = Gaussian(0.8)(X), y == 0, y != 0, 0.05

    def objective(a):
        f = K @ a
        return alpha * a @ f + (f[zero] ** 2).sum(), 2 * alpha * f + 2 * K[:, zero] @ f[zero]

    constraint = {
        "type": "ineq",
        "fun": lambda a: y[labeled] * (K[labeled] @ a) - 1.0,
        "jac": lambda a: y[labeled, None] * K[labeled],
    }
    start = np.linalg.solve(K + 1e-6 * np.eye(len(K)), 1.5 * y)
    found = minimize(
        objective, start, jac=True, constraints=constraint, method="SLSQP", options={"maxiter": 2000, "ftol": 1e-14}
    )
    machine = ImplicitSVM(Gaussian(0.8), alpha=alpha, margin="hard", null_space=None).fit(X, y)
    f = machine.decision_function(X)
    assert (y * f)[labeled].min() > 1 - 1e-6
    ours = alpha * machine.function_.seminorm() ** 2 + (f[zero] ** 2).sum()
    assert ours <= found.fun * (1 + 1e-5)
    np.testing.assert_allclose(f, K @ found.x, atol=1e-2)


def test_a_far_surface_point_leaves_the_usual_support_vector_machine(ring):
    """A Gaussian is next to zero there, whatever the two classes do."""
    X, y = ring
    X, y = X[y != 0], y[y != 0]
    far = np.concatenate([X, [[100.0, 100.0]]])
    machine = ImplicitSVM(Gaussian(0.7), alpha=0.1, loss="hinge", null_space=None).fit(far, np.append(y, 0))
    classes = SVC(Gaussian(0.7), alpha=0.1, loss="hinge", null_space=None).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), classes.decision_function(X), atol=1e-5)


def test_a_large_margin_weight_approaches_the_hard_margin(ring):
    X, y = ring
    hard = ImplicitSVM(alpha=0.1, margin="hard").fit(X, y).decision_function(X)
    far = [
        np.abs(ImplicitSVM(alpha=0.1, loss=loss, margin_weight=weight).fit(X, y).decision_function(X) - hard).max()
        for loss in ("hinge", "squared_hinge")
        for weight in (0.1, 1e6)
    ]
    assert far[1] < 1e-4 < far[0] and far[3] < 1e-3 < far[2]
    infinite = ImplicitSVM(alpha=0.1, margin_weight=np.inf).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(infinite, hard)


def test_points_beyond_the_margin_have_no_influence(ring):
    X, y = ring
    machine = ImplicitSVM(alpha=0.01, margin="hard").fit(X, y)
    kept = np.union1d(machine.support_, np.flatnonzero(y == 0))
    assert len(kept) < len(X)
    again = ImplicitSVM(alpha=0.01, margin="hard").fit(X[kept], y[kept])
    np.testing.assert_allclose(again.decision_function(X), machine.decision_function(X), atol=1e-5)


def test_a_tiny_alpha_keeps_values_and_coefficients_together():
    X, y = with_labels(*flower(350, np.random.default_rng(0), 0.01), 0.1)
    soft = ImplicitSVM(alpha=1e-14).fit(X, y).decision_function(X)
    hard = ImplicitSVM(alpha=1e-14, margin="hard").fit(X, y).decision_function(X)
    for f in (soft, hard):
        assert np.abs(f[y == 0]).max() < 1e-3 and (y * f)[y != 0].min() > 1 - 1e-3


def test_candidates_below_rounding_are_passed_over(ring):
    X, y = ring
    X, y = np.tile(X, (2, 1)) + np.repeat([[0.0], [1e-9]], 40, axis=0), np.tile(y, 2)
    machine = ImplicitSVM(Gaussian(3.0), alpha=[1e-40, 1e-2, 1.0]).fit(X, y)
    assert machine.alpha_ in (1e-2, 1.0)
    assert 1e-40 not in machine.alpha_path_["alpha"]


# -- choice of alpha -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_leave_one_out_is_that_of_training_again(loss, ring):
    X, y = ring
    kernel, alpha = ThinPlate(), 0.3
    machine = FreeMachine(kernel(X), Polynomials(1).fit(X)(X))
    of_labels = {"squared_hinge": SquaredHinge, "hinge": Hinge, "hard": HardMargin}[loss]
    problem = MarginProblem(machine, PerPoint.with_boundary(y.astype(float), of_labels), np.ones(40))
    estimate = problem.leave_one_out(problem.solve(alpha))
    truth = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        truth.append(ImplicitSVM(kernel, alpha=alpha, **named(loss)).fit(X[rest], y[rest]).decision_function(X[[i]])[0])
    change = np.abs(estimate - truth)
    assert np.median(change) < 1e-4  # exact as long as the active set stays
    assert np.quantile(change, 0.8) < 0.3


def test_alpha_grows_with_the_noise(rng):
    chosen = []
    for noise in (0.0, 0.05):
        points, normals = flower(120, np.random.default_rng(0), noise)
        machine = ImplicitSVM().fit(*with_labels(points, normals, 0.1))
        chosen.append(machine.alpha_)
        path = machine.alpha_path_
        assert machine.alpha_ in path["alpha"]
        assert path["score"][path["alpha"] == machine.alpha_] <= 1.1 * path["score"].min()
    assert chosen[1] > 10 * chosen[0]


def test_cross_validation_chooses_a_similar_alpha(monkeypatch):
    points, normals = flower(120, np.random.default_rng(0), 0.05)
    X, y = with_labels(points, normals, 0.1)
    chosen = {criterion: ImplicitSVM(criterion=criterion).fit(X, y) for criterion in ("loo", "cv")}
    assert 0.01 < chosen["cv"].alpha_ / chosen["loo"].alpha_ < 100
    path = chosen["cv"].alpha_path_
    assert path["score"][path["alpha"] == chosen["cv"].alpha_] <= 1.1 * path["score"].min()
    monkeypatch.setattr("seminorm.estimators.implicit_svm._CHOOSE_ON", 200)
    sampled = ImplicitSVM(criterion="cv").fit(X, y)
    assert 0.01 < sampled.alpha_ / chosen["cv"].alpha_ < 100


def test_candidates_and_a_sample_for_many_points(monkeypatch, rng):
    points, normals = flower(300, rng, 0.02)
    X, y = with_labels(points, normals, 0.1)
    grid = [1e-6, 1e-3, 10.0]
    assert ImplicitSVM(alpha=grid).fit(X, y).alpha_ in grid
    monkeypatch.setattr("seminorm.estimators.implicit_svm._CHOOSE_ON", 200)
    machine = ImplicitSVM(alpha=grid).fit(X, y)
    assert np.isclose(machine.alpha_, grid).any()
    assert surface_error(ImplicitSVM().fit(X, y).function_, flower(500, rng)[0]) < 0.02


# -- surfaces ------------------------------------------------------------------------------------------------------


def test_a_sphere_needs_no_kernel(rng):
    machine = ImplicitSVM(margin="hard").fit(*with_labels(*sphere(80, rng)))
    assert np.isnan(machine.alpha_) and len(machine.support_) == 0
    assert surface_error(machine.function_, sphere(500, rng)[0]) < 1e-10
    np.testing.assert_array_equal(machine.predict([[0.0, 0, 0], [0, 0, 1.5]]), [-1, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_sphere_with_noise(loss, rng):
    X, y = with_labels(*sphere(200, rng, 0.01), 0.2)
    f = ImplicitSVM(**named(loss)).fit(X, y).function_
    assert surface_error(f, sphere(500, rng)[0]) < 0.01
    mesh = mesh_implicit(as_implicit(f, bounds=([-1.3] * 3, [1.3] * 3)), 0.08)
    radius = np.linalg.norm(mesh.vertices, axis=1)
    assert abs(radius.mean() - 1) < 0.005 and radius.std() < 0.01


def test_torus_and_its_normals(rng):
    machine = ImplicitSVM(margin="hard").fit(*with_labels(*torus(250, rng)))
    points, normals = torus(500, rng)
    assert surface_error(machine.function_, points) < 0.003
    slopes = machine.function_.gradient(points)
    assert ((slopes * normals).sum(axis=1) / np.linalg.norm(slopes, axis=1)).min() > 0.98
    np.testing.assert_array_equal(machine.predict([[1.0, 0, 0], [0, 0, 0], [3, 3, 3]]), [-1, 1, 1])


@pytest.mark.slow
def test_field_agrees_with_expansion(rng):
    X, y = with_labels(*flower(150, rng, 0.01), 0.1)
    fields = [ImplicitSVM(alpha=1e-2, engine="field", depth=depth).fit(X, y) for depth in (4, 7)]
    exact = ImplicitSVM(alpha=1e-2).fit(X, y)
    assert isinstance(fields[1].function_, Field) and (exact.engine_, fields[1].engine_) == ("exact", "field")
    coarse, fine = (np.abs(field.decision_function(X) - exact.decision_function(X)).max() for field in fields)
    assert fine < 0.02 and fine < coarse
    common = np.intersect1d(fields[1].support_, exact.support_)
    assert len(common) > 0.97 * len(exact.support_)


def test_field_is_the_minimum_in_its_basis(rng):
    """No nearby field is better: the slope of the objective along random fields is zero."""
    X, y = with_labels(*flower(150, rng, 0.01), 0.1)
    machine = ImplicitSVM(alpha=1e-2, engine="field", depth=5).fit(X, y)
    f = machine.function_

    def objective(coef):
        g = Field(f.tree, coef, f.order, f.offset)
        values = g(X)
        return 1e-2 * g.seminorm() ** 2 + np.where(y == 0, values**2, np.maximum(0, 1 - y * values) ** 2).sum()

    best = objective(f.coef)
    for _ in range(5):
        direction = f.coef * rng.standard_normal(f.coef.shape)
        assert min(objective(f.coef + t * direction) for t in (-1e-3, 1e-3)) >= best * (1 - 1e-6)


@pytest.mark.slow
def test_many_points_take_a_field_with_alpha_chosen(rng):
    X, y = with_labels(*flower(2000, rng, 0.002), 0.08)
    assert len(X) > 5000
    machine = ImplicitSVM().fit(X, y)
    assert machine.engine_ == "field" and machine.alpha_ > 0 and len(machine.alpha_path_["alpha"]) > 3
    assert surface_error(machine.function_, flower(500, rng)[0]) < 0.004
    assert machine.score(X, y) > 0.99


# -- as a classifier -----------------------------------------------------------------------------------------------


def test_examples_between_the_classes_help(rng):
    """Two classes apart by the sign of the first coordinate in ten dimensions, few labels, many examples at 0."""
    errors = {"with": [], "without": []}
    test = rng.standard_normal((1000, 10))
    for _ in range(10):
        X = rng.standard_normal((16, 10))
        y = np.where(X[:, 0] > 0, 1, -1)
        between = rng.standard_normal((60, 10)) * np.where(np.arange(10) == 0, 0.05, 1.0)
        machine = ImplicitSVM(Linear(), alpha=0.1, null_space=0)
        machine.fit(np.concatenate([X, between]), np.append(y, np.zeros(60, dtype=int)))
        plain = ReferenceSVC(kernel="linear", C=5.0).fit(X, y)
        for name, found in (("with", machine), ("without", plain)):
            errors[name].append(np.mean(found.predict(test) != np.where(test[:, 0] > 0, 1, -1)))
    assert np.mean(errors["with"]) < 0.5 * np.mean(errors["without"])


def test_grid_search_stratifies_the_three_labels(ring):
    X, y = np.tile(ring[0], (3, 1)), np.tile(ring[1], 3)
    search = GridSearchCV(ImplicitSVM(), {"alpha": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


# -- input and storage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1, 0, 2, 1], "labels -1 .*2"),
        ([0.5, 0, 1, -1], "0.5"),
        (["in", "on", "out", "on"], "'in'"),
        ([-1, 1, 1, -1], "no points of label 0.*SVC"),
        ([0, 1, 1, 0], "there is no -1"),
        ([0, -1, 0, -1], "there is no 1"),
        ([0, 0, 0, 0], "no -1 and no 1"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        ImplicitSVM().fit(np.eye(4)[:, :2] + np.arange(4)[:, None], labels)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin": "weak"}, "margin must be"),
        ({"loss": "log"}, "loss must be"),
        ({"engine": "gpu"}, "engine must be"),
        ({"margin_weight": 0}, "margin_weight must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": "cv"}, "alpha must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"depth": -1}, "depth must be"),
        ({"engine": "field", "margin": "hard"}, "soft"),
        ({"engine": "field", "loss": "hinge"}, "squared hinge"),
        ({"engine": "field", "kernel": Gaussian()}, "Polyharmonic"),
        ({"engine": "field", "null_space": 3}, "null_space"),
    ],
)
def test_bad_parameters(parameters, message, ring):
    with pytest.raises(ValueError, match=message):
        ImplicitSVM(**parameters).fit(*ring)


def test_a_hard_margin_that_cannot_be_met(ring):
    X, y = ring
    with pytest.raises(ValueError, match="margin='hard' cannot be met"):
        ImplicitSVM(Linear(), alpha=1.0, margin="hard").fit(X, y)
    X, y = np.concatenate([X, X[y == 1][:1]]), np.append(y, -1)
    with pytest.raises(ValueError, match="margin='hard' cannot be met"):
        ImplicitSVM(alpha=1.0, margin="hard").fit(X, y)
    assert ImplicitSVM(alpha=1.0).fit(X, y).score(X, y) > 0.5
    one, zero = np.linspace(-1, 1, 9)[:, None], np.array([-1, -1, -1, -1, 0, 1, 1, 1, 1])
    assert ImplicitSVM(Linear(), alpha=1.0, margin="hard").fit(one, zero).score(one, zero) == 1


@pytest.mark.parametrize("engine", ["exact", "field"])
def test_copies_pickles_and_files(engine, ring, tmp_path):
    X, y = ring
    machine = ImplicitSVM(Polyharmonic(2), alpha=0.1, engine=engine, depth=3).fit(X, y)
    values = machine.decision_function(X)
    copies = [
        pickle.loads(pickle.dumps(machine)),
        clone(machine).fit(X, y),
        ImplicitSVM.load(machine.save(tmp_path / "machine.npz")),
    ]
    for copy in copies:
        np.testing.assert_array_equal(copy.decision_function(X), values)
        assert copy.engine_ == engine and copy.alpha_ == machine.alpha_
    np.testing.assert_allclose(machine.function_(X), values)
    other = machine.set_params(engine={"exact": "field", "field": "exact"}[engine]).fit(X, y)
    assert isinstance(other.function_, Field) == (engine == "exact")


def test_precomputed_matrix(ring):
    X, y = ring
    kernel = Gaussian(0.7)
    points = ImplicitSVM(kernel, alpha=0.1, loss="hinge").fit(X, y)
    matrix = ImplicitSVM("precomputed", alpha=0.1, loss="hinge").fit(kernel(X), y)
    np.testing.assert_allclose(matrix.decision_function(kernel(X[:5], X)), points.decision_function(X[:5]), atol=1e-6)
    with pytest.raises(ValueError, match="function_ needs the kernel"):
        matrix.function_  # noqa: B018


# -- labelled points from normals ----------------------------------------------------------------------------------


def test_off_surface_points_of_a_thin_wall():
    """Two parallel lines at a distance of 1: points 0.6 inwards are nearer to the other line."""
    x = np.linspace(0, 10, 101)
    points = np.concatenate([np.column_stack([x, 0 * x]), np.column_stack([x, 0 * x + 1])])
    normals = np.repeat([[0.0, -2.0], [0.0, 2.0]], 101, axis=0)
    Z, labels, report = off_surface_points(points, normals, 0.6, return_report=True)
    assert (labels == 1).all() and len(Z) == 202 and report.n_discarded == 202
    np.testing.assert_allclose(np.sort(np.unique(Z[:, 1])), [-0.6, 1.6])
    Z, labels, report = off_surface_points(points, normals, 0.4, return_report=True)
    assert len(Z) == 404 and report.n_discarded == 0
    np.testing.assert_allclose(Z, points[report.rows] + labels[:, None] * 0.4 * normals[report.rows] / 2)
    assert len(off_surface_points(points, normals, 0.6, keep=0.0)[0]) == 404
    assert set(off_surface_points(points, normals, 0.4, sides="inside")[1]) == {-1}


def test_discarded_points_are_those_near_other_points(rng):
    points, normals = flower(80, rng)
    distance = np.linspace(0.1, 0.5, 80)
    _, labels, report = off_surface_points(points, normals, distance, return_report=True)
    for sign in (1, -1):
        moved = points + sign * distance[:, None] * normals
        far = cdist(moved, points)
        np.fill_diagonal(far, np.inf)
        np.testing.assert_array_equal(report.rows[labels == sign], np.flatnonzero(far.min(axis=1) >= 0.9 * distance))


def test_default_distance_is_that_of_the_samples(rng):
    square = np.stack(np.meshgrid(np.arange(30), np.arange(30), [0]), axis=-1).reshape(-1, 3) * 0.25
    normals = np.tile([0.0, 0.0, 1.0], (900, 1))
    report = off_surface_points(square, normals, return_report=True)[2]
    np.testing.assert_allclose(report.distance, 0.25)
    assert sampling_distance(np.concatenate([square, square])) == pytest.approx(0.25)
    assert "1800 off-surface points" in str(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normals": np.zeros((10, 2))}, "normals must not be zero"),
        ({"normals": np.ones((9, 2))}, "shape of points"),
        ({"points": np.full((10, 2), np.nan)}, "points has NaN"),
        ({"distance": 0.0}, "distance must be positive"),
        ({"distance": np.ones(3)}, "distance must be one number, or 10"),
        ({"keep": 2.0}, "keep must be"),
        ({"sides": "left"}, "sides must be"),
        ({"points": np.ones((10, 2))}, "too few"),
    ],
)
def test_bad_input_of_off_surface_points(change, message, rng):
    given = {"points": rng.standard_normal((10, 2)), "normals": rng.standard_normal((10, 2)), **change}
    with pytest.raises(ValueError, match=message):
        off_surface_points(**given)


# -- the slab machine ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nu", "delta"), [(0.1, 0.0), (0.3, 0.02), (0.8, 0.1)])
def test_slab_equals_a_general_convex_solver(nu, delta, rng):
    X = flower(30, rng, 0.05)[0]
    n, K = len(X), rbf_kernel(X, gamma=2.0)
    quadratic = block_diag(K, np.zeros((n + 1, n + 1)))  # coefficients, rho, slacks
    linear = np.concatenate([np.zeros(n), [-1.0], np.full(n, 1 / (nu * n))])
    one = np.ones((n, 1))
    rows = np.block([[-K, one, -np.eye(n)], [K, -one, -np.eye(n)], [np.zeros((n, n + 1)), -np.eye(n)]])
    best = solve_qp(quadratic, linear, inequalities=(rows, np.concatenate([np.full(2 * n, delta), np.zeros(n)])))
    slab = SlabMachine(Gaussian(0.5), nu=nu, delta=delta).fit(X)
    np.testing.assert_allclose(slab.function_(X), K @ best[:n] - best[n], atol=1e-5)
    assert slab.rho_ == pytest.approx(best[n], abs=1e-5)
    assert slab.dual_coef_.sum() == pytest.approx(1.0)


def test_a_wide_slab_is_the_one_class_machine(rng):
    """With no upper face in reach the slab is a half-space, moved by delta."""
    X = rng.standard_normal((50, 2))
    theirs = OneClassSVM(nu=0.3, gamma=0.5, tol=1e-10).fit(X)
    ours = SlabMachine(Gaussian(1.0), nu=0.3, delta=100.0).fit(X)
    reference = theirs.decision_function(X) / (0.3 * 50)
    np.testing.assert_allclose(ours.function_(X) + 100.0, reference, atol=1e-5)


def test_slab_input_and_files(ring, tmp_path):
    X, _ = ring
    slab = SlabMachine().fit(X)
    again = SlabMachine.load(slab.save(tmp_path / "slab.npz"))
    np.testing.assert_array_equal(again.predict(X), slab.predict(X))
    for parameters, message in (
        ({"nu": 0}, "nu must"),
        ({"delta": -1}, "delta must"),
        ({"kernel": ThinPlate()}, "positive definite"),
    ):
        with pytest.raises(ValueError, match=message):
            SlabMachine(**parameters).fit(X)
