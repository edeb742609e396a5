"""Tabulated functions against NumPy, their ends, and what is refused."""

import numpy as np
import pytest
from numpy.polynomial import polynomial

from seminorm import _native
from seminorm.kernels.pieces import tabulated


def test_cells_and_places_in_them_against_numpy(rng):
    pieces, first = rng.standard_normal((12, 12)), int(np.float64(0.5).view(np.uint64) >> np.uint64(50))
    numbers, values = rng.uniform(0.5, 4.0, 10_000), np.empty(10_000)
    _native.read_pieces(pieces, first, numbers, values)
    octave = np.floor(np.log2(numbers))
    within = 4.0 * (numbers / 2.0**octave - 1.0)
    cell = (4 * (octave + 1) + np.floor(within)).astype(int)
    t = 2.0 * (within - np.floor(within)) - 1.0
    np.testing.assert_allclose(values, polynomial.polyval(t, pieces[cell].T, tensor=False), rtol=1e-9, atol=1e-12)


def test_numbers_beyond_are_nan():
    first = int(np.float64(1.0).view(np.uint64) >> np.uint64(50))
    numbers = np.array([0.999, 1.0, 1.999, 2.0, 0.0, -1.5, np.inf, np.nan, 5e-324])
    values = np.empty(len(numbers))
    _native.read_pieces(np.ones((4, 12)), first, numbers, values)
    assert np.isfinite(values).tolist() == [False, True, True] + 6 * [False]


def test_smooth_functions_to_rounding(rng):
    s = 2.0 ** rng.uniform(-70, 70, 20_000)
    for function in (np.log1p, np.sqrt, lambda s: 1 / (1 + s), lambda s: -np.expm1(-np.sqrt(s))):
        np.testing.assert_allclose(tabulated(function, (), s), function(s), rtol=5e-15)
    assert tabulated(np.sqrt, (), np.zeros((2, 3))).tolist() == np.zeros((2, 3)).tolist()


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="12 columns"):
        _native.read_pieces(np.ones((4, 11)), 0, np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="as many entries"):
        _native.read_pieces(np.ones((4, 12)), 0, np.ones(3), np.ones(4))
