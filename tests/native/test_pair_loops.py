"""Pair steps against a naive program, their ends, and what is refused."""

import numpy as np
import pytest

from seminorm import _native


def naive_steps(K, ridge, points, c, lower, upper, x, values, tolerance, max_steps):
    """The same steps over a matrix with a row of zeros for the variable without a kernel, in the same arithmetic."""
    n, steps = len(K), 0
    G, extra = np.zeros((n + 1, n + 1)), np.append(ridge, 0.0)
    G[:n, :n] = K
    diagonal = G.diagonal() + extra
    while True:
        slope = c - np.append(values, 0.0)[points]
        up = np.where(x < upper, slope, -np.inf)
        first = int(np.argmax(up))
        violation = up[first] - np.where(x > lower, slope, np.inf).min()
        if not violation > tolerance or steps >= max_steps:
            return steps, max(violation, 0.0), False
        fall, i = up[first] - slope, points[first]
        curvature = np.where(points == i, 0.0, diagonal[i] + diagonal[points] - 2 * G[i, points])
        room = np.minimum(upper[first] - x[first], x - lower)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.where((curvature > 0) & (fall < room * curvature), fall / curvature, room)
            allowed = (np.arange(len(x)) != first) & (x > lower) & (fall > 0)
            gain = np.where(allowed, t * (fall - 0.5 * curvature * t), -np.inf)
        if np.isinf(t[allowed]).any():
            return steps, violation, True
        second = int(np.argmax(gain))
        if not gain[second] > 0:
            return steps, violation, False
        j, length = points[second], t[second]
        x[first] = upper[first] if length == upper[first] - x[first] else x[first] + length
        x[second] = lower[second] if length == x[second] - lower[second] else x[second] - length
        if i != j:
            values += length * (G[i, :n] - G[j, :n])
            for point, sign in ((i, 1.0), (j, -1.0)):
                values[point % n] += sign * length * extra[point]
        steps += 1


def problem(n=25, seed=0, shared=False, free=False, size=1.0):
    """An indefinite problem: with two variables per point (shared), or a variable without a kernel (free)."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    K, ridge = A + A.T, rng.uniform(0, 2, n)
    points, c, lower, upper = np.arange(n), rng.standard_normal(n), -rng.random(n), size * rng.random(n)
    if shared:
        points, c = np.tile(points, 2), np.concatenate([c - 0.1, c + 0.1])
        lower, upper = np.concatenate([np.zeros(n), lower]), np.concatenate([upper, np.zeros(n)])
    if free:
        points, c = np.append(points, -1), np.append(c, 0.0)
        lower, upper = np.append(lower, -np.inf), np.append(upper, np.inf)
    return K, ridge, points, c, lower, upper


def solved(steps, arguments, tolerance=1e-8, max_steps=1000):
    x, values = np.zeros(len(arguments[2])), np.zeros(len(arguments[0]))
    return steps(*arguments, x, values, tolerance, max_steps), x, values


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("max_steps", [0, 1, 7, 1000])
def test_pair_steps(max_steps, shared, free, seed):
    arguments = problem(seed=seed, shared=shared, free=free)
    (steps, violation, unbounded), x, values = solved(_native.pair_steps, arguments, max_steps=max_steps)
    expected, expected_x, expected_values = solved(naive_steps, arguments, max_steps=max_steps)
    assert (steps, violation, unbounded) == expected and steps <= max_steps
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(values, expected_values)


def test_steps_in_portions_are_the_same_steps():
    """The loop looks for Ctrl-C between portions, which must not show."""
    arguments = problem(60)
    (steps, *_), x, values = solved(_native.pair_steps, arguments)
    assert steps > 10
    portions, y, other = 0, np.zeros(60), np.zeros(60)
    while done := _native.pair_steps(*arguments, y, other, 1e-8, 3)[0]:
        portions += done
    assert portions == steps
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(other, values)


def test_bounds_are_met_exactly():
    K, ridge, points, c, lower, upper = problem()
    _, x, _ = solved(_native.pair_steps, (K, ridge, points, c, lower, upper))
    assert (x >= lower).all() and (x <= upper).all() and ((x == lower) | (x == upper)).sum() > 5


def test_a_fall_without_end_is_told():
    K, ridge, points, c, _, _ = problem()
    everything = np.full(25, np.inf)
    (steps, violation, unbounded), *_ = solved(_native.pair_steps, (K, ridge, points, c, -everything, everything))
    assert unbounded and violation > 0 and steps < 1000


def test_no_variables():
    empty = np.zeros(0)
    arguments = np.zeros((0, 0)), empty, np.zeros(0, dtype=np.int64), empty, empty, empty
    assert solved(_native.pair_steps, arguments)[0] == (0, 0.0, False)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, np.zeros((25, 24)), r"K must be \(n, n\)"),
        (1, np.zeros(24), "ridge and values"),
        (2, np.full(25, 25), "points must lie between -1 and 24"),
        (2, np.full(25, -2), "points must lie between -1 and 24"),
        (3, np.zeros(24), "must have the same length"),
        (5, np.zeros(26), "must have the same length"),
    ],
)
def test_wrong_shapes_are_refused(position, value, message):
    arguments = list(problem())
    arguments[position] = value
    with pytest.raises(ValueError, match=message):
        _native.pair_steps(*arguments, np.zeros(25), np.zeros(25), 1e-8, 10)


def test_matrices_in_another_order_are_refused():
    K, *rest = problem()
    with pytest.raises(TypeError):
        _native.pair_steps(np.asfortranarray(K), *rest, np.zeros(25), np.zeros(25), 1e-8, 10)
