"""Distances of point sets: against SciPy's Hausdorff distance and all pairs of points; bad input."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, directed_hausdorff

from seminorm.invariance import Chamfer


@pytest.mark.parametrize("dimension", [1, 3])
def test_all_pairs_of_points(dimension, rng):
    X = [rng.standard_normal((n, dimension)) for n in (4, 1, 7, 20)]
    Y = [rng.standard_normal((n, dimension)) for n in (3, 9)]
    apart = [[cdist(x, y) for y in Y] for x in X]
    mean = [[0.5 * (D.min(axis=0).mean() + D.min(axis=1).mean()) for D in row] for row in apart]
    np.testing.assert_allclose(Chamfer().pairwise(X, Y), mean, rtol=1e-12)
    largest = [[max(directed_hausdorff(x, y)[0], directed_hausdorff(y, x)[0]) for y in Y] for x in X]
    np.testing.assert_allclose(Chamfer("largest").pairwise(X, Y), largest, rtol=1e-12)
    np.testing.assert_allclose(Chamfer().pairwise(X)[1:, 0], Chamfer().pairwise(X[1:], X[:1])[:, 0], rtol=1e-12)
    np.testing.assert_allclose(Chamfer().to_origin(X), Chamfer().pairwise(X, [np.zeros((1, dimension))])[:, 0])


@pytest.mark.parametrize(
    ("d", "X", "message"),
    [
        (Chamfer("smallest"), [np.ones((2, 2))], "reduction must be 'mean' or 'largest', got 'smallest'"),
        (Chamfer(), [np.ones((2, 2)), np.ones((2, 3))], r"X\[1\] has points of dimension 3 and X\[0\] of 2"),
        (Chamfer(), [np.ones((2, 2)), np.ones((0, 2))], r"X\[1\] must be points"),
        (Chamfer(), [np.array([[1.0, np.nan]])], r"X\[0\] has NaN or infinity, first at point 0"),
        (Chamfer(), [], "no point sets"),
    ],
)
def test_bad_input(d, X, message):
    with pytest.raises(ValueError, match=message):
        d.pairwise(X)
