"""Matrices from tiles: the whole matrix for any side, half of the work for symmetric ones, any order of the tiles."""

import numpy as np
import pytest

from seminorm._base.tiles import tiled, tiles


@pytest.mark.parametrize("side", [1, 2, 3, 5, 100])
def test_tiles_cover_the_matrix_once(side):
    for n, m in [(7, 5), (1, 1), (4, 10), (0, 3)]:
        hits = np.zeros((n, m), dtype=int)
        for tile in tiles(n, m, side):
            hits[tile] += 1
        assert (hits == 1).all()


@pytest.mark.parametrize("side", [1, 2, 3, 5, 100])
def test_the_matrix_is_that_of_one_tile(side, rng):
    K = rng.standard_normal((7, 5))
    np.testing.assert_array_equal(tiled(lambda rows, columns: K[rows, columns], 7, 5, side=side), K)


@pytest.mark.parametrize("side", [1, 2, 3, 5, 100])
def test_symmetric_matrices_need_the_upper_half_only(side, rng):
    K = rng.standard_normal((7, 7))
    asked = np.zeros((7, 7), dtype=int)

    def tile_of(rows, columns):
        asked[rows, columns] += 1
        return K[rows, columns]

    matrix = tiled(tile_of, 7, side=side)
    np.testing.assert_array_equal(matrix, np.triu(K) + np.triu(K, 1).T)
    assert (asked[np.triu_indices(7)] == 1).all()
    assert asked.sum() <= 28 + 7 * (side - 1)


def test_tiles_may_be_filled_in_any_order(rng):
    K = rng.standard_normal((9, 9))

    def backwards(work, items):
        for item in reversed(items):
            work(item)

    for m in (9, None):
        expected = tiled(lambda rows, columns: K[rows, columns], 9, m, side=4)
        np.testing.assert_array_equal(
            tiled(lambda rows, columns: K[rows, columns], 9, m, side=4, for_each=backwards), expected
        )
