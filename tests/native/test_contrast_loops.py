"""Nearest earlier points and local contrasts against sorting and dense algebra."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial.distance import cdist

from seminorm import _native
from seminorm._base.threads import limited_threads
from seminorm.functions import Functional, design, gram
from seminorm.kernels import Polyharmonic
from seminorm.nullspace import Polynomials


def nearest_earlier(points, m):
    neighbors = np.empty((len(points), m), dtype=np.int32)
    _native.earlier_neighbors(points, neighbors)
    return neighbors


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_nearest_earlier_points(rng, d):
    points = rng.random((300, d))
    points[50:60] = points[:10]  # ties
    neighbors = nearest_earlier(points, 7)
    distances = cdist(points, points)
    for i in range(len(points)):
        order = np.lexsort((np.arange(i), distances[i, :i]))[:7]
        np.testing.assert_array_equal(neighbors[i, : len(order)], order)
        assert (neighbors[i, len(order) :] == -1).all()


def contrasts(points, rows, neighbors, profile, noise, P, first=None, jets=None):
    """The rows of each group one after the other, their columns, and which were found."""
    m, orders = neighbors.shape[1], 1 if jets is None else 3
    squares = np.empty((len(rows), (m + 1) * (m + 2) // 2))
    _native.local_squares(points, rows, neighbors, squares)
    profiles = np.stack([profile(squares, k) if orders > 1 else profile(squares) for k in range(orders)], axis=1)
    first = np.arange(len(points) + 1) if first is None else first
    counts = np.diff(first)
    width = np.where(neighbors >= 0, counts[neighbors], 0).sum(axis=1) + counts[rows] if rows.max() < len(points) else 1
    begins = np.concatenate([[0], np.cumsum(counts[rows % len(points)] * width)])
    values, columns = np.empty(begins[-1]), np.empty(begins[-1], dtype=np.int32)
    found = np.empty(len(rows), dtype=np.int32)
    _native.local_contrasts(
        rows, neighbors, first, points, profiles, np.empty((0, 0)) if jets is None else jets, noise, P,
        np.abs(P).max(axis=0, initial=0.0), 1e-13, 1e3, begins, np.arange(len(noise), dtype=np.int32), values, columns,
        found,
    )  # fmt: skip
    return np.split(values, begins[1:-1]), np.split(columns, begins[1:-1]), found


def dense_contrast(K, P):
    """The combination of all values, the last one among them, that is uncorrelated with those of the others alone."""
    Z = null_space(P.T) if P.shape[1] else np.eye(len(K))
    inverse = Z @ np.linalg.solve(Z.T @ K @ Z, Z.T)
    return inverse[:, -1] / np.sqrt(inverse[-1, -1])


@pytest.mark.parametrize("degree", [-1, 0, 1, 2])
def test_contrasts_are_those_of_dense_algebra(rng, degree):
    points = rng.random((60, 2))
    x, y = points.T
    P = np.column_stack([np.ones(60), x, y, x**2, x * y, y**2])[:, : {-1: 0, 0: 1, 1: 3, 2: 6}[degree]]
    P = np.ascontiguousarray(P)
    noise = 0.1 * rng.random(60)
    rows, neighbors = np.arange(20, 60), nearest_earlier(points, 12)
    kernel = (lambda s: np.exp(-np.sqrt(s))) if degree < 0 else (lambda s: -np.sqrt(s))
    found_contrasts, columns, found = contrasts(points, rows, neighbors[rows], kernel, noise, P)
    assert found.all()
    for row, contrast, group in zip(rows, found_contrasts, columns, strict=True):
        np.testing.assert_array_equal(group, np.append(neighbors[row], row))
        K = kernel(cdist(points[group], points[group]) ** 2) + np.diag(noise[group])
        np.testing.assert_allclose(contrast, dense_contrast(K, P[group]), rtol=1e-7, atol=1e-7)


def test_contrasts_of_values_and_gradients_are_those_of_dense_algebra(rng):
    n, d = 30, 2
    points, kernel = rng.random((n, d)), Polyharmonic(3).for_dimension(2)
    first = np.concatenate([[0], np.cumsum(rng.integers(1, 4, n))])
    place, total = np.repeat(np.arange(n), np.diff(first)), first[-1]
    jets = rng.standard_normal((total, 1 + d))
    functional = Functional(points, 0)[place] * jets[:, 0] + Functional.along(points[place], jets[:, 1:])
    noise, K = 0.01 * rng.random(total), gram(kernel, [functional])
    P = np.ascontiguousarray(design(Polynomials(2).fit(points), [functional]))
    rows, neighbors = np.arange(12, n), nearest_earlier(points, 8)
    values, columns, found = contrasts(points, rows, neighbors[rows], kernel.profile, noise, P, first, jets)
    assert found.all()
    for row, block, names in zip(rows, values, columns, strict=True):
        own = first[row + 1] - first[row]
        for j, contrast in enumerate(block.reshape(own, -1)):
            last = len(contrast) - own + j + 1
            group = names[:last]
            dense = dense_contrast(K[np.ix_(group, group)] + np.diag(noise[group]), P[group])
            assert names[last - 1] == first[row] + j and not contrast[last:].any()
            np.testing.assert_allclose(contrast[:last], dense, atol=1e-6 * np.abs(dense).max())


def test_points_that_their_neighbours_do_not_determine(rng):
    line = np.column_stack([np.linspace(0, 1, 10), np.zeros(10)])
    points = np.vstack([line, [[0.5, 1.0]], [[0.25, 0.0]]])
    P = np.column_stack([np.ones(12), points])
    neighbors = nearest_earlier(points, 5)[10:]
    out, _, found = contrasts(points, np.arange(10, 12), neighbors, lambda s: -np.sqrt(s), np.zeros(12), P)
    assert found.tolist() == [0, 1]  # a point off the line, a point on it
    assert not out[0].any()
    np.testing.assert_allclose(out[1] @ P[np.append(neighbors[1], 11)], 0.0, atol=1e-12)


def test_coincident_points_leave_finite_contrasts(rng):
    points = np.repeat(rng.random((8, 2)), 3, axis=0)
    out, _, found = contrasts(
        points, np.arange(24), nearest_earlier(points, 10), lambda s: np.exp(-s), np.zeros(24), np.zeros((24, 0))
    )
    assert found.all() and np.isfinite(np.concatenate(out)).all()


def test_few_neighbours_are_marked():
    points = np.array([[0.0], [1.0], [3.0]])
    squares = np.empty((1, 6))
    _native.local_squares(points, np.array([1]), np.array([[0, -1]], dtype=np.int32), squares)
    matrix = np.zeros((3, 3))
    matrix[np.triu_indices(3)] = squares[0]
    assert matrix[0, 2] == 1.0 and matrix[2, 2] == 0.0


def test_same_bits_for_any_number_of_threads(rng):
    points, results = rng.random((3000, 3)), []
    P = np.column_stack([np.ones(3000), points])
    for number in (1, 2):
        with limited_threads(number):
            neighbors = nearest_earlier(points, 20)
            results.append(contrasts(points, np.arange(3000), neighbors, lambda s: -np.sqrt(s), np.zeros(3000), P)[0])
    np.testing.assert_array_equal(*map(np.concatenate, results))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nearest_earlier(np.zeros((3, 5)), 2), "1 to 4 columns"),
        (lambda: _native.earlier_neighbors(np.zeros((3, 2)), np.zeros((2, 2), dtype=np.int32)), "a row for each point"),
        (
            lambda: _native.local_squares(
                np.zeros((3, 2)), np.array([0]), np.array([[7]], dtype=np.int32), np.zeros((1, 3))
            ),
            "neighbors must lie between -1 and 2",
        ),
        (
            lambda: contrasts(
                np.zeros((3, 2)), np.array([5]), np.array([[0]], dtype=np.int32), np.sqrt, np.zeros(3), np.zeros((3, 0))
            ),
            "lie between 0 and 2",
        ),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
