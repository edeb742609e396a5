"""Inverses within the band against dense inverses."""

import numpy as np
import pytest
from scipy.linalg import cholesky_banded

from seminorm import _native


@pytest.mark.parametrize(("n", "p"), [(1, 0), (7, 0), (9, 1), (40, 3), (3, 4)])
def test_inverse_within_the_band(rng, n, p):
    factor = np.tril(rng.standard_normal((n, n)))
    factor[np.tri(n, k=-p - 1, dtype=bool)] = 0.0
    matrix = factor @ factor.T + np.eye(n)
    band = np.zeros((p + 1, n))
    for k in range(min(p + 1, n)):
        band[k, : n - k] = np.diag(matrix, -k)
    root = np.ascontiguousarray(cholesky_banded(band, lower=True).T)
    found, inverse = np.empty((n, p + 1)), np.linalg.inv(matrix)
    _native.band_inverse(root, found)
    for k in range(p + 1):
        np.testing.assert_allclose(found[: max(n - k, 0), k], np.diag(inverse, -k), atol=1e-12)
        assert not found[max(n - k, 0) :, k].any()


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="inverse must have the shape of factor"):
        _native.band_inverse(np.ones((3, 2)), np.ones((3, 1)))
