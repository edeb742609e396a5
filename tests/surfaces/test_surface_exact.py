"""Exact fits of oriented points against brute force, optimality and symmetries; the fast path against exact fits."""

import warnings
from functools import cache
from itertools import combinations_with_replacement
from math import factorial, pi

import numpy as np
import pytest
from helpers import case_id
from scipy.linalg import lstsq
from scipy.stats import special_ortho_group
from sklearn.exceptions import ConvergenceWarning

import seminorm._base.memory
from seminorm import Field, Smoother
from seminorm._base.memory import NotEnoughMemoryError
from seminorm.bases import GridBox
from seminorm.clouds.sampling import OrientedPoints
from seminorm.fields.deepening import occupied_cells
from seminorm.fields.pointwise import PointEquations
from seminorm.fields.system import collapse
from seminorm.fields.tree import Tree
from seminorm.functions import Expansion, Functional, design, fits
from seminorm.kernels import Gaussian, Laplacian, Matern, Multiquadric, Polyharmonic, ThinPlate, Wendland
from seminorm.surfaces import Surface, fit_exact, reconstruct
from seminorm.surfaces.fitting import Model, fit_surface

KERNELS = [Polyharmonic(3), Gaussian(0.7), Multiquadric(0.5), Matern(2.5), Wendland(2, 1.5), Wendland(4, 2.0)]


def sphere(n, d=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X.copy()


def bumpy(n, d=3, seed=0):
    """A sphere whose normals are bent: unlike its own, no quadratic has them for gradients."""
    X, normals = sphere(n, d, seed)
    return X, normals + 0.2 * np.sin(5 * np.roll(X, -1, axis=1))


def torus(n, seed=0):
    around, across = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    outwards = np.column_stack([np.cos(around), np.sin(around), np.zeros(n)])
    normals = np.cos(across)[:, None] * outwards + np.sin(across)[:, None] * np.array([0.0, 0.0, 1.0])
    return outwards + 0.4 * normals, normals


def curve(n, seed=0):
    """A closed curve with three lobes, and its normals."""
    t = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    r, slope = 1 + 0.2 * np.cos(3 * t), -0.6 * np.sin(3 * t)
    points = np.column_stack([r * np.cos(t), r * np.sin(t)])
    normals = np.column_stack([slope * np.sin(t) + r * np.cos(t), r * np.sin(t) - slope * np.cos(t)])
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def exact_function(points, normals, areas=None, **options):
    """The function of an exact fit, by default with unit areas, whose gradients are to be the normals as they are."""
    areas = np.ones(len(points)) if areas is None else areas
    return fit_exact(points, normals, areas=areas, unit_normals=False, **options).field


def objective(f, points, normals, weights, alpha, tolerance):
    data = ((f.gradient(points) - normals) ** 2).sum(axis=1) + f(points) ** 2 / tolerance**2
    return alpha * f.seminorm() ** 2 + (weights * data).sum()


# -- the minimum -----------------------------------------------------------------------------------------------------


def admissible(rng, space, functionals):
    """Random coefficients of the functionals that annihilate the null space."""
    P = design(space, functionals)
    a = rng.standard_normal(len(P))
    return a - P @ lstsq(P, a)[0] if P.shape[1] else a


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
def test_no_other_function_is_better(kernel, d, rng):
    points, normals = bumpy(40, d)
    weights, alpha, tolerance = rng.uniform(0.5, 2.0, 40), 0.02, 0.2
    f = exact_function(points, normals, kernel=kernel, alpha=alpha, tolerance=tolerance, areas=weights)
    elsewhere = Functional(rng.standard_normal((10, d)))  # the minimum is over the whole space, not over the span
    functionals, dual = [*f.functionals, elsewhere], np.concatenate([f.dual_coef, np.zeros(10)])
    least = objective(f, points, normals, weights, alpha, tolerance)
    assert least < 0.9 * (weights * (normals**2).sum(axis=1)).sum()  # better than f = 0
    for _ in range(5):
        a = admissible(rng, f.null_space, functionals)
        b = rng.standard_normal(len(f.null_coef))
        unit = np.sqrt(objective(Expansion(kernel, functionals, a, f.null_space, b), points, 0.0, weights, alpha, 0.2))
        for step in (1e-1, 1e-2):
            sides = [
                objective(
                    Expansion(kernel, functionals, dual + t * a, f.null_space, f.null_coef + t * b),
                    *(points, normals, weights, alpha, tolerance),
                )
                for t in (step / unit, -step / unit)
            ]
            np.testing.assert_allclose(np.array(sides) - least, step**2, rtol=1e-4)  # no term of first order


def test_optimality_conditions(rng):
    """alpha a_i = w_i (y_i - L_i f), and the coefficients annihilate the null space."""
    points, normals = bumpy(50)
    weights, alpha, tolerance = rng.uniform(0.5, 2.0, 50), 0.01, 0.1
    f = exact_function(points, normals, alpha=alpha, tolerance=tolerance, areas=weights)
    values, gradients = f.dual_coef[:50], f.dual_coef[50:].reshape(50, 3)
    np.testing.assert_allclose(alpha * values, -weights * f(points) / tolerance**2, atol=1e-10)
    np.testing.assert_allclose(alpha * gradients, weights[:, None] * (normals - f.gradient(points)), atol=1e-10)
    balance = design(f.null_space, f.functionals).T @ f.dual_coef
    assert np.abs(balance).max() < 1e-10 * np.abs(f.dual_coef).sum()


# -- brute force -----------------------------------------------------------------------------------------------------


def cubic(difference):
    """r^3 / (96 pi), the fundamental solution of -Laplace^3 in space, with its gradient and second derivatives."""
    r = np.linalg.norm(difference)
    ratio = np.outer(difference, difference) / r if r else np.zeros((3, 3))
    return r**3 / (96 * pi), 3 * r * difference / (96 * pi), 3 * (r * np.eye(3) + ratio) / (96 * pi)


def quartic(difference):
    """-r^4 log(r) / (128 pi), the same in the plane."""
    s = difference @ difference
    log = np.log(s) / 2 if s else 0.0
    slope, curvature = 4 * log + 1, 8 * log + 6
    second = s * slope * np.eye(2) + curvature * np.outer(difference, difference)
    return -s * s * log / (128 * pi), -s * slope * difference / (128 * pi), -second / (128 * pi)


def bell(difference):
    value = np.exp(-0.5 * difference @ difference)
    second = np.outer(difference, difference) - np.eye(len(difference))
    return value, -difference * value, second * value


def brute_force(points, normals, profile, degree, alpha, tolerance, weights, at):
    """The saddle system of (4.5), (4.6) with monomials, one pair of points at a time; values at other points."""
    n, d = points.shape
    K = np.empty((n, 1 + d, n, 1 + d))
    for i in range(n):
        for j in range(n):
            value, gradient, second = profile(points[i] - points[j])
            K[i, 0, j, 0], K[i, 1:, j, 0], K[i, 0, j, 1:], K[i, 1:, j, 1:] = value, gradient, -gradient, -second
    terms = [t for total in range(degree + 1) for t in combinations_with_replacement(range(d), total)]
    P = np.zeros((n, 1 + d, len(terms)))
    for k, term in enumerate(terms):
        P[:, 0, k] = points[:, list(term)].prod(axis=1)
        for place, axis in enumerate(term):
            P[:, 1 + axis, k] += points[:, [*term[:place], *term[place + 1 :]]].prod(axis=1)
    size, p = n * (1 + d), len(terms)
    noise = alpha / np.column_stack([weights / tolerance**2, *[weights] * d])
    system = np.zeros((size + p, size + p))
    system[:size, :size] = K.reshape(size, size) + np.diag(noise.ravel())
    system[:size, size:] = P.reshape(size, p)
    system[size:, :size] = system[:size, size:].T
    right = np.concatenate([np.column_stack([np.zeros(n), normals]).ravel(), np.zeros(p)])
    solution = np.linalg.solve(system, right)
    a, b = solution[:size].reshape(n, 1 + d), solution[size:]
    values = np.zeros(len(at))
    for k, x in enumerate(at):
        for i in range(n):
            value, gradient, _ = profile(x - points[i])
            values[k] += a[i, 0] * value - a[i, 1:] @ gradient
        values[k] += sum(c * x[list(term)].prod() for c, term in zip(b, terms, strict=True))
    return values


@pytest.mark.parametrize(
    ("kernel", "d", "profile", "degree"),
    [(None, 3, cubic, 2), (None, 2, quartic, 2), (Gaussian(), 2, bell, -1), (Gaussian(), 3, bell, -1)],
    ids=["r^3", "r^4 log r", "gaussian-2", "gaussian-3"],
)
def test_against_brute_force(kernel, d, profile, degree, rng):
    points, normals = bumpy(30, d)
    weights, at = rng.uniform(0.5, 2.0, 30), rng.standard_normal((20, d))
    amount = {"smoothness": 0.3} if kernel is None else {"alpha": 0.1}
    f = exact_function(points, normals, kernel=kernel, tolerance=0.2, areas=weights, **amount)
    alpha = 0.3**3 if kernel is None else 0.1
    expected = brute_force(points, normals, profile, degree, alpha, 0.2, weights, at)
    np.testing.assert_allclose(f(at), expected, atol=1e-9 * np.abs(expected).max())


def test_smoother_with_gradients_fits_the_same(rng):
    points, normals = bumpy(40)
    weights = rng.uniform(0.5, 2.0, 40)
    smoother = Smoother(Polyharmonic(3), alpha=0.01)
    smoother.fit(points, np.zeros(40), sample_weight=weights / 0.04, gradients=(points, normals, weights))
    f = exact_function(points, normals, alpha=0.01, tolerance=0.2, areas=weights)
    at = rng.standard_normal((20, 3))
    np.testing.assert_allclose(f(at), smoother.predict(at), atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_sphere_costs_nothing(d):
    """(|x|^2 - 1) / 2 has the normals for gradients, and no third derivatives."""
    points, normals = (np.array([[-1.0], [1.0]]),) * 2 if d == 1 else sphere(30 * d, d)
    kernel = Polyharmonic(3) if d == 1 else None
    f = exact_function(points, normals, kernel=kernel, smoothness=0.5, tolerance=0.1)
    at = np.random.default_rng(1).standard_normal((30, d))
    np.testing.assert_allclose(f(at), ((at**2).sum(axis=1) - 1) / 2, atol=1e-11)
    assert f.kernel == Polyharmonic(4 if d == 4 else 3)


# -- symmetries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize(("size", "offset"), [(1.0, 3.0), (1e-4, 0.0), (1e6, 0.0), (1e3, 1e7)])
def test_moves_turns_and_dilates_with_the_data(size, offset, d, rng):
    points, normals = bumpy(60, d)
    weights, at = rng.uniform(0.5, 2.0, 60), rng.standard_normal((30, d))
    turn = special_ortho_group.rvs(d, random_state=1)
    f = exact_function(points, normals, smoothness=0.2, tolerance=0.1, areas=weights)
    moved = exact_function(
        size * points @ turn + offset,
        normals @ turn,
        smoothness=0.2 * size,
        tolerance=0.1 * size,
        areas=weights * size ** (d - 1),
    )
    there = size * at @ turn + offset
    precision = 1e-9 + 1e3 * np.finfo(float).eps * offset / size  # what the coordinates themselves have lost
    np.testing.assert_allclose(moved(there) / size, f(at), atol=precision)
    np.testing.assert_allclose(moved.gradient(there), f.gradient(at) @ turn, atol=precision)


@pytest.mark.parametrize("size", [1e-15, 1e15])
def test_units_do_not_decide_what_is_identifiable(size):
    """The values at the points of a sphere say nothing about |x|^2 - 1, only the normals do."""
    points, normals = sphere(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = np.full(60, size**2)
        f = exact_function(size * points, normals, smoothness=0.1 * size, tolerance=0.1 * size, areas=weights)
    np.testing.assert_allclose(f([[0.0, 0.0, 0.0]]) / size, -0.5, atol=1e-10)


def test_order_and_copies_of_the_points_do_not_matter(rng):
    points, normals = bumpy(40)
    options = {"smoothness": 0.2, "tolerance": 0.1}
    f, at = exact_function(points, normals, **options), rng.standard_normal((20, 3))
    twice = np.repeat(rng.permutation(40), 2)
    halves = exact_function(points[twice], normals[twice], areas=np.full(80, 0.5), **options)
    np.testing.assert_allclose(halves(at), f(at), atol=1e-9)
    more = np.concatenate([points, at]), np.concatenate([normals, at])
    ignored = exact_function(*more, areas=np.repeat([1.0, 0.0], [40, 20]), **options)
    np.testing.assert_allclose(ignored(at), f(at), atol=1e-12)


def test_points_of_a_plane_give_the_plane(rng):
    points = np.column_stack([rng.standard_normal((30, 2)), np.zeros(30)])
    with pytest.warns(UserWarning, match="determine only 9"):  # nothing is known of the square of the height
        f = exact_function(points, np.tile([0.0, 0.0, 1.0], (30, 1)), smoothness=0.1, tolerance=0.1)
    at = rng.standard_normal((10, 3))
    np.testing.assert_allclose(f(at), at[:, 2], atol=1e-12)


# -- the fast path ---------------------------------------------------------------------------------------------------

SHAPES = {"sphere": sphere, "bumpy": bumpy, "torus": torus, "curve": curve}


@cache
def difference_to_field(shape, smoothness, depth, margin=2.0):
    """Largest difference of the field and the exact function near the surface, in sizes of the data."""
    points, normals = SHAPES[shape](300)
    ready = OrientedPoints.prepare(points, normals, margin=margin)
    model = Model(order=3, degree=3, smoothness=smoothness, tolerance=0.1, depth=depth)
    fit = fit_surface(ready, model, dtype=np.float64, tol=1e-8, max_iter=3000)
    assert fit.outcome.converged
    exact = exact_function(
        points,
        normals,
        smoothness=smoothness * ready.size,
        tolerance=0.1 * ready.size,
        areas=ready.area * ready.size ** (points.shape[1] - 1),
    )
    heights = np.random.default_rng(1).uniform(-0.06, 0.06, (300, 1)) * ready.size
    near = points + heights * normals
    return np.abs(fit.field()(near) - exact(near)).max() / ready.size


def test_field_reproduces_a_sphere():
    assert difference_to_field("sphere", 0.1, 3) < 1e-8


# Measured, in sizes of the data, at depths 2 to 5: 6e-3, 1.1e-3, 3e-4, 8e-5 for the torus, 8e-4, 2e-4, 7e-5, 5e-5 for
# the bent normals: a factor of about 4 a level, until the box shows (see below).
@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "depth", "bound"), [("torus", 3, 2e-3), ("torus", 4, 5e-4), ("torus", 5, 1.5e-4), ("bumpy", 4, 1e-4)]
)
def test_field_converges_to_the_exact_function(shape, depth, bound):
    difference = difference_to_field(shape, 0.1, depth)
    assert difference < bound
    assert difference < 0.5 * difference_to_field(shape, 0.1, depth - 1)


@pytest.mark.slow
def test_what_remains_is_the_energy_outside_the_box():
    """A field's energy ends at its box, the kernel's goes on. For the torus this alone makes a difference of 9e-5 (a
    margin of one size), 2e-5 (two, the default) or less than 7e-6 (four), at smoothness 0.3.
    """
    near, far = difference_to_field("torus", 0.3, 4, 1.0), difference_to_field("torus", 0.3, 4, 2.0)
    assert far < 5e-5
    assert far < 0.5 * near


def test_in_the_plane_the_box_matters_more():
    """Measured 1.0e-3, 5e-4, 1.8e-4, 7e-5 with margins of 1, 2, 4 and 8 sizes; finer levels do not change them."""
    differences = [difference_to_field("curve", 0.046, 5, margin) for margin in (2.0, 4.0, 8.0)]
    assert differences[0] < 1e-3
    assert differences[1] < 0.6 * differences[0]
    assert differences[2] < 0.6 * differences[1]


def small_tree(X, d, degree, depth):
    tree = Tree.root(GridBox.around(np.zeros(d), np.ones(d), margin=1.0), degree)
    for _ in range(depth):
        tree = tree.refine(occupied_cells(tree, tree.box.coordinates(X)))
    return tree


def unit_vectors(tree):
    for block, node in np.argwhere(tree.active):
        x = np.zeros(tree.active.shape)
        x[block, node] = 1.0
        yield x


def gauss_points(tree):
    """Points in the finest cells, in cells of level 0, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(tree.degree + 1)
    cells, width = tree.cells(tree.depth), 2.0**-tree.depth
    lines = [(np.arange(count)[:, None] + (nodes + 1) / 2).ravel() * width for count in cells]
    shares = [np.tile(weights / 2, count) * width for count in cells]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(cells))
    return points, np.prod(np.stack(np.meshgrid(*shares, indexing="ij"), axis=-1), axis=-1).ravel()


def small_problem(d, order, depth):
    """Points in a corner of a small tree, weights, observations, and their equations."""
    X, normals = bumpy(60, d)
    X = 0.25 + 0.15 * X
    tree = small_tree(X, d, order, depth)
    area = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    weights, observed = np.column_stack([area / 0.2**2, area]), np.column_stack([np.zeros(len(X)), normals])
    return X, weights, observed, PointEquations(tree, order, tree.box.coordinates(X), weights, observed)


@pytest.mark.parametrize(("d", "order", "depth"), [(2, 2, 3), (2, 3, 3), (3, 2, 2), (3, 3, 2)])
def test_point_equations_against_quadrature(d, order, depth, rng):
    """u' A v and u' b from derivatives of the fields at Gauss points, and from values and gradients at the points."""
    X, weights, observed, equations = small_problem(d, order, depth)
    tree, alpha = equations.tree, 0.01
    points, share = gauss_points(tree)
    columns = list(combinations_with_replacement(range(d), order))
    repeats = [factorial(order) / np.prod([factorial(c.count(axis)) for axis in range(d)]) for c in columns]
    energy_root = np.sqrt(alpha * share[:, None] * repeats)
    data_root = np.sqrt(np.column_stack([weights[:, 0], *[weights[:, 1]] * d]))
    vectors = rng.standard_normal((4, *tree.active.shape)) * tree.active
    rows = []
    for x in vectors:
        f = Field(tree, collapse(tree, x), order)
        data = data_root * np.column_stack([f(X), f.gradient(X)])
        rows.append(np.concatenate([data.ravel(), (energy_root * f.derivatives(points, columns)).ravel()]))
    rows = np.array(rows)
    expected, right = rows @ rows.T, rows[:, : observed.size] @ (data_root * observed).ravel()
    applied = [[(u * equations.apply(v, alpha)).sum() for v in vectors] for u in vectors]
    np.testing.assert_allclose(applied, expected, atol=1e-6 * expected.diagonal().min())
    np.testing.assert_allclose([(u * equations.right).sum() for u in vectors], right, atol=1e-6 * np.abs(right).max())


@pytest.mark.slow
@pytest.mark.parametrize(("d", "order", "depth"), [(2, 2, 3), (2, 3, 3), (3, 2, 2)])
def test_iteration_against_a_dense_solve_in_the_same_basis(d, order, depth, rng):
    """For order 2 normals have no exact minimiser: the oracle is the minimum over the same splines."""
    X, _, _, equations = small_problem(d, order, depth)
    tree, alpha = equations.tree, 0.01
    assert sum(tree.leaf[tree.blocks(level)].any() for level in range(depth + 1)) == 2  # the finest covers a part
    x, dense = np.zeros(tree.active.shape), np.zeros(tree.active.shape)
    outcome = equations.solve_for(alpha, equations.right, x, tol=1e-10, max_iter=3000)
    assert outcome.converged
    matrix = np.array([equations.apply(unit, alpha)[tree.active] for unit in unit_vectors(tree)])
    dense[tree.active] = lstsq(matrix, equations.right[tree.active], cond=1e-12)[0]  # levels overlap: rank-deficient
    solved, expected = (Field(tree, collapse(tree, solution), order) for solution in (x, dense))
    at = np.concatenate([X, rng.uniform(-0.9, 1.9, (200, d))])
    np.testing.assert_allclose(solved(at), expected(at), atol=1e-6 * np.abs(expected(at)).max())
    covering = tree.covered > 0
    unit = np.abs(expected.coef[covering]).max()
    np.testing.assert_allclose(solved.coef[covering], expected.coef[covering], atol=1e-6 * unit)


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "d", "needed"),
    [
        (ThinPlate(), 2, 3),
        (ThinPlate(), 3, 3),
        (Polyharmonic(2), 2, 3),
        (Polyharmonic(2), 3, 3),
        (Polyharmonic(3), 4, 4),
        (Polyharmonic(2), 4, 4),
        (Laplacian(), 3, 3),
    ],
    ids=case_id,
)
def test_kernels_without_second_derivatives_are_refused(kernel, d, needed):
    points, normals = sphere(20, d)
    with pytest.raises(ValueError, match=rf"(?s)2 m > d \+ 2.*Polyharmonic\({needed}\)"):
        exact_function(points, normals, kernel=kernel, alpha=0.1, tolerance=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normals": np.ones((19, 3))}, "normals must have one row for each of 20 points, it has 19"),
        ({"points": np.ones(20)}, r"points must be an array \(n, 3\)"),
        ({"tolerance": 0.0}, "tolerance must be a positive length or 'auto', got 0.0"),
        ({"tolerance": "small"}, "tolerance must be a positive length or 'auto', got 'small'"),
        ({"smoothness": -1.0}, "smoothness must be a positive length or 'auto', got -1.0"),
        ({"smoothness": None}, "smoothness must be a positive length or 'auto', got None"),
        ({"alpha": 1.0}, "give smoothness or alpha, not both"),
        ({"smoothness": "auto", "alpha": np.inf}, "alpha must be a positive number or 'auto', got inf"),
        ({"kernel": Gaussian()}, r"smoothness=0.1 is for polyharmonic kernels.*give alpha"),
        ({"kernel": "gaussian"}, "kernel must be a kernel of seminorm.kernels, got 'gaussian'"),
        ({"kernel": Polyharmonic(3, 2)}, "made for 2 columns, and X has 3"),
        ({"areas": np.ones(3)}, r"areas must have one number for each of the 20 points, got shape \(3,\)"),
        ({"areas": -np.ones(20)}, "areas must be finite, not negative.*from -1 to -1"),
        ({"areas": np.zeros(20)}, "not all zero"),
        ({"confidence": "length"}, "confidence must be one number per point or 'normals'"),
        ({"sensor": [0.0, 0.0, 9.0]}, "sensor orients normals that are estimated"),
        ({"resolution": 0.0}, "resolution must be a positive length"),
        ({"null_space": 1}, "null_space must contain the polynomials of degree 2"),
    ],
)
def test_errors_name_the_argument(change, message):
    points, normals = sphere(20)
    arguments = {"points": points, "normals": normals, "smoothness": 0.1, "tolerance": 0.1} | change
    with pytest.raises(ValueError, match=message):
        fit_exact(arguments.pop("points"), arguments.pop("normals"), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normals": np.ones((19, 2))}, r"normals must have the shape of points, \(20, 2\), got \(19, 2\)"),
        ({"normals": np.zeros((20, 2))}, "normals must not be zero, and 20 of 20 are, the first in row 0"),
        ({"points": np.full((20, 2), np.nan)}, "points contains NaN"),
        ({"normals": np.full((20, 2), np.inf)}, "normals contains infinity"),
        ({"points": np.ones(20)}, "points must be an array of shape"),
        ({"areas": np.zeros(20)}, "areas.*not all zero"),
    ],
)
def test_errors_in_the_plane(change, message):
    points, normals = sphere(20, 2)
    arguments = {"points": points, "normals": normals, "smoothness": 0.1, "tolerance": 0.1} | change
    with pytest.raises(ValueError, match=message):
        fit_exact(arguments.pop("points"), arguments.pop("normals"), **arguments)


def test_what_cannot_be_chosen_must_be_given():
    with pytest.raises(ValueError, match="give smoothness and tolerance in 4-D"):
        fit_exact(*sphere(40, 4), smoothness=0.1)
    with pytest.raises(ValueError, match=r"points have 5: give areas"):
        fit_exact(*sphere(40, 5), smoothness=0.1, tolerance=0.1)


def test_memory_is_asked_for_first(monkeypatch):
    points, normals = sphere(200)
    monkeypatch.setattr(seminorm._base.memory, "available_bytes", lambda: 10**6)
    with pytest.raises(NotEnoughMemoryError, match=r"200 oriented points \(800 observations\).*reconstruct"):
        exact_function(points, normals, smoothness=0.1, tolerance=0.1)


@pytest.mark.parametrize("n", [1, 2])
def test_few_points(n):
    """The null space alone meets what one point says; the rest of it is left at zero."""
    points = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        f = exact_function(points, points, smoothness=0.1, tolerance=0.1)
    np.testing.assert_allclose(f(points), 0.0, atol=1e-12)
    np.testing.assert_allclose(f.gradient(points), points, atol=1e-12)


# -- by iteration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=case_id)
@pytest.mark.parametrize("d", [2, 3])
def test_iteration_and_factorisation_agree(kernel, d):
    points, normals = bumpy(250, d)
    options = {"kernel": kernel, "alpha": 1e-4, "tolerance": 0.05}
    dense, fast = (fit_exact(points, normals, solver=s, tol=1e-8, **options) for s in ("dense", "fast"))
    assert fast.details["solver"] == "fast" and 0 < fast.details["residual"] <= 1e-8
    places = bumpy(100, d, seed=1)[0] * 1.05
    np.testing.assert_allclose(fast(places), dense(places), atol=1e-6)
    np.testing.assert_allclose(fast.field.seminorm(), dense.field.seminorm(), rtol=1e-5)


def test_iteration_chooses_what_is_likely():
    points, normals = torus(150)
    dense, fast = (
        fit_exact(points, normals, kernel=Matern(2.5, 1.0), tolerance=0.05, solver=s) for s in ("dense", "fast")
    )
    assert abs(np.log(fast.details["alpha"] / dense.details["alpha"])) < np.log(1.5)
    assert np.abs(fast(points * 1.05) - dense(points * 1.05)).max() < 2e-3


def test_iteration_is_the_choice_for_many_points(monkeypatch):
    points, normals = sphere(100)
    monkeypatch.setattr(fits, "MOST_DENSE", 300)
    options = {"tolerance": 0.1, "areas": np.full(100, 0.1)}
    assert fit_exact(points, normals, smoothness=0.1, **options).details["solver"] == "fast"
    bumps = Gaussian(1.0) + Gaussian(2.0).axis_scale([1.0, 2.0, 3.0])
    assert fit_exact(points, normals, kernel=bumps, alpha=0.1, **options).details["solver"] == "dense"
    with pytest.warns(ConvergenceWarning, match="in 1 steps"):
        fit_exact(*bumpy(100), smoothness=0.1, max_iter=1, **options)
    for change, message in [
        ({"solver": "fmm"}, "solver must be one of"),
        ({"solver": "fast", "kernel": bumps, "smoothness": "auto", "alpha": 0.1}, "function of distances"),
        ({"tol": 0.0}, "tol must lie between 0 and 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit_exact(points, normals, **({"smoothness": 0.1} | options | change))


# -- what is chosen --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_exact_fits_agree_with_the_fast_path():
    points, normals = torus(200)
    fast = reconstruct(points, normals, depth=6, tol=1e-5, order=3, smoothness=0.3, tolerance=0.1)
    exact = fit_exact(points, normals, smoothness=0.3, tolerance=0.1)
    assert isinstance(exact.field, Expansion)
    places = points + 0.05 * normals
    assert np.abs(exact(places) - fast(places)).max() < 2e-3
    assert exact.details["exact"]
    assert exact.details["smoothness"] == pytest.approx(0.3)
    assert exact.details["alpha"] == pytest.approx(0.3**3)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [None, Gaussian(0.5), Matern(2.5, 1.0)], ids=case_id)
def test_everything_is_chosen(kernel, tmp_path):
    points, normals = torus(150)
    surface = fit_exact(points, normals, kernel=kernel)
    mesh = surface.mesh(0.1, attributes="filled")
    assert mesh.is_watertight
    assert mesh.genus == 1
    assert np.abs(surface.distance(torus(500, 1)[0])).mean() < 2e-3
    again = Surface.load(surface.save(tmp_path / "exact.npz"))
    assert (again(points) == surface(points)).all()
    assert again.details["alpha"] == surface.details["alpha"] > 0
    assert ("smoothness" in again.details) == (kernel is None)
    with pytest.raises(ValueError, match="use reconstruct"):
        surface.mesh(0.1, attributes="uncertainty")


def test_lengths_are_chosen_in_the_plane_too():
    points, normals = curve(150)
    surface = fit_exact(points, normals)
    assert len(surface.details["trials"]) > 2
    assert np.abs(surface(curve(300, seed=1)[0])).mean() < 2e-3


def test_given_areas_count(rng):
    """Areas that are all the same change nothing where they are what would be estimated, times the confidence."""
    points, normals = sphere(60)
    points = points + 0.1 * rng.standard_normal(points.shape)
    ready = OrientedPoints.prepare(points, normals)
    options = {"smoothness": 0.2, "tolerance": 0.1}
    confidence = rng.uniform(0.0, 1.0, 60)
    estimated = fit_exact(points, normals, confidence=confidence, **options)
    given = fit_exact(points, normals, areas=ready.area * ready.size**2, confidence=confidence, **options)
    np.testing.assert_allclose(given(points), estimated(points), atol=1e-10)


def test_normals_are_estimated_where_they_are_missing():
    points, _ = sphere(200)
    surface = fit_exact(points, smoothness=0.2, tolerance=0.05)
    assert "estimated" in surface.details["normals"]
    assert surface.inside([[0.0, 0.0, 0.0], [0.0, 0.0, 1.2]]).tolist() == [True, False]


def test_invalid_points_are_left_out():
    points, normals = sphere(100)
    damaged = points.copy()
    damaged[3] = np.nan
    options = {"smoothness": 0.2, "tolerance": 0.05, "areas": np.full(100, 4 * pi / 100)}
    with pytest.warns(UserWarning, match="1 of 100 points were left out"):
        surface = fit_exact(damaged, normals, **options)
    rest = np.arange(100) != 3
    options["areas"] = options["areas"][rest]
    np.testing.assert_allclose(surface(points), fit_exact(points[rest], normals[rest], **options)(points), atol=1e-12)
