"""Shapes as functions: derivatives, set operations, moves, curvature and projection, against closed forms."""

import pickle

import numpy as np
import pytest
from helpers import case_id, central_difference
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from seminorm.functions import Expansion, Functional
from seminorm.kernels import Polyharmonic
from seminorm.nullspace import Polynomials
from seminorm.shapes import as_implicit, blend, meeting, product
from seminorm.shapes.primitives import Box, Capsule, Plane, Sphere, Torus

BALL = Sphere([0.1, -0.2, 0.3], 0.8)
BOX = Box([-0.9, -0.5, -0.6], [0.4, 0.7, 0.8])
RING = Torus([0.1, 0.0, -0.1], [1.0, 2.0, 3.0], 0.9, 0.3)
ROD = Capsule([-0.5, -0.5, 0.0], [0.6, 0.4, 0.5], 0.3)
HALF = Plane([0.1, 0.1, 0.0], [1.0, -1.0, 2.0])
TURN = Rotation.from_rotvec([0.3, -0.5, 0.9])

SOLID = {
    "ball": BALL,
    "box": BOX,
    "ring": RING,
    "rod": ROD,
    "half": HALF,
    "union": BALL | RING,
    "intersection": BOX & BALL,
    "difference": BOX - ROD,
    "complement": ~RING,
    "offset": ROD.offset(0.2),
    "translated": BOX.translate([0.5, 0.1, -0.2]),
    "rotated": BOX.rotate(TURN, origin=[0.2, 0.1, 0.0]),
    "scaled": RING.scale(1.7, origin=[0.3, 0.0, 0.1]),
    "blend": blend(BALL, ROD, 0.5),
    "meeting": meeting(BALL, HALF),
    "product": product(BALL, RING),
    "nested": ((BALL | BOX).rotate(TURN) - ROD).scale(0.6),
}
FLAT = {
    "disc": Sphere([0.2, 0.1], 0.7),
    "rectangle": Box([-0.7, -0.3], [0.5, 0.6]),
    "line": Plane([0.0, 0.1], [1.0, 2.0]),
    "stadium": Capsule([-0.4, 0.0], [0.5, 0.2], 0.3),
    "moved": Box([-0.7, -0.3], [0.5, 0.6]).rotate([[0.6, -0.8], [0.8, 0.6]]).translate([0.1, 0.2]),
    "blend": blend(Sphere([0.2, 0.1], 0.5), Sphere([-0.4, 0.1], 0.4), 0.3),
}
EVERY = [pytest.param(shape, id=name) for name, shape in SOLID.items()]
EVERY += [pytest.param(shape, id=f"flat {name}") for name, shape in FLAT.items()]


def test_a_torus_knows_its_axis():
    """Distances on the axis, where no direction leads away from it, are those of the limit."""
    ring = Torus([0.1, 0.0, -0.1], [0.0, 0.0, 1.0], 0.9, 0.3)
    heights = np.array([0.0, 0.5, -2.0])
    points = ring.center + heights[:, None] * ring.axis
    np.testing.assert_allclose(ring(points), np.hypot(0.9, heights) - 0.3)
    np.testing.assert_allclose(np.linalg.norm(ring.gradient(points), axis=1), 1)


def away_from_kinks(shape, X, step=1e-5):
    """Points around which the gradient does not jump."""
    shifts = 10 * step * np.eye(X.shape[1])
    change = np.max([np.abs(shape.gradient(X + s) - shape.gradient(X - s)).max(axis=1) for s in shifts], axis=0)
    return X[change < 0.002]


@pytest.mark.parametrize("shape", EVERY)
def test_derivatives_agree_with_differences(shape, rng):
    X = away_from_kinks(shape, rng.uniform(-1.5, 1.5, (400, shape.dimension)))
    assert len(X) > 300
    np.testing.assert_allclose(shape.gradient(X), central_difference(shape, X), atol=1e-7)
    np.testing.assert_allclose(shape.hessian(X), central_difference(shape.gradient, X), atol=1e-5)
    for order in range(3):
        for part, whole in zip(shape.jet(X, order), shape.jet(X, 2), strict=False):
            np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize("shape", EVERY)
def test_bounds_hold_the_shape_and_lipschitz_bounds_the_gradient(shape, rng):
    X = rng.uniform(-4, 4, (20_000, shape.dimension))
    if shape.bounds is not None:
        inside = X[shape.inside(X)]
        assert ((inside >= shape.bounds[0]) & (inside <= shape.bounds[1])).all()
    if shape.lipschitz is not None:
        assert np.linalg.norm(shape.gradient(X), axis=1).max() <= shape.lipschitz * (1 + 1e-12)


@pytest.mark.parametrize("shape", EVERY)
def test_shapes_can_be_pickled(shape, rng):
    X = rng.normal(size=(20, shape.dimension))
    copy = pickle.loads(pickle.dumps(shape))
    np.testing.assert_array_equal(copy(X), shape(X))
    assert repr(copy) == repr(shape)


@pytest.mark.parametrize("shape", [BALL, BOX, RING, ROD, FLAT["disc"], FLAT["rectangle"], FLAT["stadium"]], ids=case_id)
def test_primitives_are_distances(shape, rng):
    """No point nearer than |f| lies on the other side, and the surface is reached at that distance."""
    X = rng.uniform(-1.5, 1.5, (100, shape.dimension))
    value = shape(X)
    ways = rng.normal(size=(300, 1, shape.dimension))
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    around = X + 0.9999 * np.abs(value)[:, None] * ways
    signs = np.sign(shape(around.reshape(-1, shape.dimension))).reshape(300, 100)
    np.testing.assert_array_equal(signs, np.broadcast_to(np.sign(value), signs.shape))
    np.testing.assert_allclose(shape(X - value[:, None] * shape.gradient(X)), 0.0, atol=1e-12)


def test_set_operations_are_those_of_sets(rng):
    X = rng.uniform(-1.5, 1.5, (5000, 3))
    a, b = BALL.inside(X), RING.inside(X)
    np.testing.assert_array_equal((BALL | RING).inside(X), a | b)
    np.testing.assert_array_equal((BALL & RING).inside(X), a & b)
    np.testing.assert_array_equal((BALL - RING).inside(X), a & ~b)
    np.testing.assert_array_equal((~BALL).inside(X), ~a)
    np.testing.assert_array_equal(product(BALL, RING).inside(X), a ^ b)
    np.testing.assert_array_equal((~(~BALL | ~RING))(X), (BALL & RING)(X))
    assert a.any() and b.any() and (a & b).any() and (a & ~b).any()


def test_bounds_of_operations():
    one, other, far = Sphere([0, 0, 0], 1), Sphere([1, 0, 0], 1), Sphere([9, 0, 0], 1)
    np.testing.assert_allclose((one | other).bounds, [[-1, -1, -1], [2, 1, 1]])
    np.testing.assert_allclose((one & other).bounds, [[0, -1, -1], [1, 1, 1]])
    np.testing.assert_allclose((one - other).bounds, one.bounds)
    np.testing.assert_allclose((one & HALF).bounds, one.bounds)
    np.testing.assert_allclose(one.offset(0.5).bounds, [[-1.5] * 3, [1.5] * 3])
    low, high = (one & far).bounds
    assert (low <= high).all()
    assert (~one).bounds is None and (one | HALF).bounds is None
    np.testing.assert_allclose(Box([0, 0, 0], [1, 2, 3]).rotate(Rotation.from_euler("z", 90, degrees=True)).bounds,
                               [[-2, 0, 0], [0, 1, 3]], atol=1e-12)  # fmt: skip


def test_moves(rng):
    X = rng.normal(size=(200, 3))
    np.testing.assert_allclose(BOX.translate([1, 2, 3])(X + [1, 2, 3]), BOX(X))
    origin = np.array([0.3, -0.2, 0.7])
    np.testing.assert_allclose(BOX.rotate(TURN, origin)(TURN.apply(X - origin) + origin), BOX(X))
    np.testing.assert_allclose(BOX.rotate(TURN.as_matrix())(TURN.apply(X)), BOX(X))
    np.testing.assert_allclose(BOX.scale(2.5, origin)(2.5 * (X - origin) + origin), 2.5 * BOX(X))
    np.testing.assert_allclose(Sphere([0, 0, 0], 1).offset(0.25)(X), Sphere([0, 0, 0], 1.25)(X))


def test_blend_is_the_union_away_from_the_seam_and_at_most_a_sixth_of_the_width_larger(rng):
    X = rng.uniform(-1.5, 1.5, (5000, 3))
    union, smooth = (BALL | ROD)(X), blend(BALL, ROD, 0.3)(X)
    apart = np.abs(BALL(X) - ROD(X)) > 0.3
    np.testing.assert_allclose(smooth[apart], union[apart], atol=1e-14)
    assert (smooth <= union + 1e-14).all()
    assert 0.045 < (union - smooth).max() <= 0.05 + 1e-12


def test_curvature_of_a_ball_and_of_a_disc(rng):
    normals = rng.normal(size=(50, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    mean, gaussian, principal = BALL.curvature(BALL.center + 0.8 * normals)
    np.testing.assert_allclose(mean, 1 / 0.8)
    np.testing.assert_allclose(gaussian, 1 / 0.8**2)
    np.testing.assert_allclose(principal, 1 / 0.8)
    disc = FLAT["disc"]
    mean, gaussian, principal = disc.curvature(disc.center + [[0.7, 0.0], [0.0, -0.7]])
    np.testing.assert_allclose(mean, 1 / 0.7)
    assert principal.shape == (2, 1)
    np.testing.assert_allclose((~disc).curvature(disc.center + [[0.7, 0.0]]).mean, -1 / 0.7)


def test_curvature_of_a_torus(rng):
    major, minor = 1.0, 0.35
    u, v = rng.uniform(0, 2 * np.pi, (2, 100))
    reach = major + minor * np.cos(v)
    X = np.column_stack([reach * np.cos(u), reach * np.sin(u), minor * np.sin(v)])
    turned = Torus(major=major, minor=minor).rotate(TURN)
    mean, gaussian, principal = turned.curvature(TURN.apply(X))
    np.testing.assert_allclose(principal[:, 0], 1 / minor)
    np.testing.assert_allclose(principal[:, 1], np.cos(v) / reach, atol=1e-12)
    np.testing.assert_allclose(gaussian, np.cos(v) / (minor * reach), atol=1e-12)
    np.testing.assert_allclose(mean, (1 / minor + np.cos(v) / reach) / 2)


def test_curvature_does_not_depend_on_the_size_of_the_gradient(rng):
    """A quadratic function of a ball has the same level sets."""
    squared = as_implicit(lambda X: (X**2).sum(axis=1) - 4, bounds=([-2, -2, -2], [2, 2, 2]))
    X = np.array([[2.0, 0.0, 0.0], [0.0, 1.2, 1.6]])
    np.testing.assert_allclose(squared.curvature(X).principal, 0.5, rtol=1e-5)
    assert np.isnan(BALL.curvature(BALL.center[None]).mean).all()


@pytest.mark.parametrize("name", ["ball", "box", "ring", "rod", "half", "union", "rotated", "scaled", "blend"])
def test_projection_reaches_the_surface(name, rng):
    shape = SOLID[name]
    X = rng.uniform(-1.5, 1.5, (300, 3))
    X = X[shape(X) > 0] if name == "union" else X  # inside, the seam of a union can be a dead end
    found = shape.project(X)
    assert np.isfinite(found).all()
    assert np.abs(shape(found)).max() < 1e-8
    np.testing.assert_allclose(shape.project(found), found, atol=1e-8)


def test_projection_of_functions_that_are_no_distances(rng):
    ellipsoid = as_implicit(lambda X: ((X / [3, 2, 1]) ** 2).sum(axis=1) - 1, bounds=([-3, -2, -1], [3, 2, 1]))
    X = rng.uniform(-3, 3, (200, 3))
    X = X[np.linalg.norm(X, axis=1) > 0.3]
    found = ellipsoid.project(X)
    assert np.abs((((found / [3, 2, 1]) ** 2).sum(axis=1)) - 1).max() < 1e-6
    exact = [
        np.sqrt(
            min(
                minimize(
                    lambda y, x=x: ((y - x) ** 2).sum(),
                    start,
                    constraints={"type": "eq", "fun": lambda y: ((y / [3, 2, 1]) ** 2).sum() - 1},
                    method="SLSQP",
                    options={"ftol": 1e-15, "maxiter": 300},
                ).fun
                for start in (x, found[i], -found[i] + 2 * x)
            )
        )
        for i, x in enumerate(X[:30])
    ]
    outside = ellipsoid(X[:30]) > 0
    np.testing.assert_allclose(
        ellipsoid.distance(X[:30], refine=True)[outside], np.array(exact)[outside], rtol=1e-3, atol=1e-6
    )
    near = found + 1e-4 * rng.normal(size=found.shape)
    np.testing.assert_allclose(ellipsoid.distance(near), ellipsoid.distance(near, refine=True), atol=1e-6)


def test_projection_says_where_it_fails():
    """At a critical point there is nowhere to go, and a function without zeros has no surface."""
    nowhere = as_implicit(lambda X: (X**2).sum(axis=1) + 1, bounds=([-1, -1, -1], [1, 1, 1]))
    assert np.isnan(nowhere.project([[0.5, 0.2, 0.1]])).all()
    assert np.isnan(BALL.project(np.vstack([BALL.center, [5.0, 0.0, 0.0]]))).all(axis=1).tolist() == [True, False]


def test_meeting_is_zero_where_the_surfaces_meet(rng):
    curve = meeting(BALL, HALF)
    found = curve.project(rng.uniform(-1, 1, (100, 3)))
    assert np.isfinite(found).all(axis=1).mean() > 0.95
    found = found[np.isfinite(found).all(axis=1)]
    assert np.abs(BALL(found)).max() < 1e-8 and np.abs(HALF(found)).max() < 1e-8
    assert (curve(rng.normal(size=(100, 3))) > 0).all()


def test_wrapped_functions_use_their_own_derivatives(rng):
    X = rng.uniform(-1, 1, (40, 3))
    space = Polynomials(1).fit(X)
    function = Expansion(Polyharmonic(3), [Functional(X)], rng.normal(size=40), space, rng.normal(size=4))
    shape = as_implicit(function)
    at = rng.uniform(-1, 1, (10, 3))
    np.testing.assert_array_equal(shape.hessian(at), function.hessian(at))
    np.testing.assert_array_equal(shape.gradient(at), function.gradient(at))
    differences = as_implicit(lambda X: function(X))
    np.testing.assert_allclose(differences.gradient(at), function.gradient(at), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(differences.hessian(at), function.hessian(at), rtol=1e-3, atol=1e-3)
    assert as_implicit(shape) is shape


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: BALL | FLAT["disc"], "dimensions"),
        (lambda: BALL([[1.0, 2.0]]), r"\(n, 3\)"),
        (lambda: BALL.scale(-1), "factor must be positive"),
        (lambda: BALL.rotate(np.ones((3, 3))), "orthogonal"),
        (lambda: Sphere([0, 0, 0], -1), "radius must be positive"),
        (lambda: Plane([0, 0, 0], [0, 0, 0]), "normal must not be zero"),
        (lambda: blend(BALL, BOX, 0), "width must be positive"),
        (lambda: as_implicit(lambda X: X, bounds=([0, 0, 0], [1, 1, 1]))(np.zeros((2, 3))), "values of shape"),
        (lambda: as_implicit(len, bounds=([0, 0, 0], [-1, 1, 1])), "low <= high"),
    ],
)
def test_mistakes_are_explained(action, message):
    with pytest.raises(ValueError, match=message):
        action()


def test_only_functions_make_shapes():
    with pytest.raises(TypeError):
        BALL | 3
    with pytest.raises(TypeError, match="function"):
        as_implicit(3)
