"""Edit distances of symbols: against the recursion, sets of rules, and what metrics fulfil."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seminorm import KernelNeighbors
from seminorm.invariance import DistanceKernel, Levenshtein
from seminorm.kernels import Gaussian

words = st.text("abcd", max_size=8)


def edits(x, y, replace=lambda a, b: float(a != b), gap=lambda a: 1.0):
    cells = np.zeros((len(x) + 1, len(y) + 1))
    cells[1:, 0], cells[0, 1:] = np.cumsum([gap(a) for a in x]), np.cumsum([gap(b) for b in y])
    for i, j in itertools.product(range(len(x)), range(len(y))):
        cells[i + 1, j + 1] = min(
            cells[i, j] + replace(x[i], y[j]), cells[i, j + 1] + gap(x[i]), cells[i + 1, j] + gap(y[j])
        )
    return cells[-1, -1]


@given(st.lists(words, min_size=1, max_size=12), st.lists(words, min_size=1, max_size=5))
def test_recursion(X, Y):
    d = Levenshtein()
    np.testing.assert_array_equal(d.pairwise(X, Y), [[edits(x, y) for y in Y] for x in X])
    np.testing.assert_array_equal(d.pairwise(X), [[edits(x, y) for y in X] for x in X])
    np.testing.assert_array_equal(d.to_origin(X), [len(x) for x in X])


@given(words, words)
def test_prices_of_the_user(x, y):
    def replace(a, b):
        return 0.25 * abs(ord(a) - ord(b))

    def gap(a):
        return 0.5 + 0.1 * (a == "a")

    expected = edits(x, y, replace, gap)
    assert Levenshtein(replace, gap).distance(x, y) == pytest.approx(expected)
    table = {(a, b): replace(a, b) for a, b in itertools.combinations("abcd", 2)}
    assert Levenshtein(table, {a: gap(a) for a in "abcd"}).distance(x, y) == pytest.approx(expected)


def test_alignment():
    x, y = "kitten", "sitting"
    path = Levenshtein().path(x, y)
    changed = sum(x[i] != y[j] for i, j in path)
    assert changed + len(x) + len(y) - 2 * len(path) == 3
    assert Levenshtein().cost_matrix(x, y)[-1, -1] == 3
    with pytest.raises(ValueError, match="must not be empty"):
        Levenshtein().path("", "a")


def test_machines_take_words():
    X = ["hauses", "haus", "hausen", "katze", "katzen", "kater"]
    y = [0, 0, 0, 1, 1, 1]
    assert Levenshtein(normalized=True).pairwise(X).max() <= 1
    kernel = DistanceKernel(Gaussian(2.0), Levenshtein())
    np.testing.assert_allclose(kernel(X), np.exp(-(Levenshtein().pairwise(X) ** 2) / 8))
    D = Levenshtein().pairwise(X)
    assert KernelNeighbors("precomputed").fit(np.exp(-D), y).leave_one_out_score() == 1.0


@pytest.mark.parametrize(
    ("d", "X", "message"),
    [
        (Levenshtein(), "one string", "X must be a list of strings"),
        (Levenshtein(), [["a", ["b"]]], r"X\[0\] must be a string or a sequence of symbols that can be hashed"),
        (Levenshtein(-1.0), ["ab", "c"], "replacement must give prices that are not negative"),
        (Levenshtein(gap=np.nan), ["ab", "c"], "gap must give prices"),
        (Levenshtein(lambda a, b: float(a < b)), ["ab", "c"], "replacement must be symmetric"),
    ],
)
def test_bad_input(d, X, message):
    with pytest.raises(ValueError, match=message):
        d.pairwise(X)
