"""The driver from coarse to fine levels."""

import numpy as np
import pytest

from seminorm._base.memory import NotEnoughMemoryError
from seminorm.bases import GridBox
from seminorm.fields.levels import LevelProblem, fit_coarse_to_fine
from seminorm.fields.tree import Tree


class Counting(LevelProblem[int]):
    """Each level adds one to all coefficients; some levels are fitted twice at the end."""

    kind = "count"

    def __init__(self, depth, again=0, depth_is_given=True):
        self.depth, self.again, self.depth_is_given = depth, again, depth_is_given

    def fit(self, tree, x):
        x += 1
        self.x = x
        return tree.depth

    def marked(self, tree, fit):
        return None if tree.depth == self.depth else tree.leaf[tree.blocks(tree.depth)]

    def bytes_needed(self, tree):
        return 10**tree.depth

    def settled(self):
        self.again -= 1
        return self.again < 0


@pytest.fixture
def start():
    tree = Tree.root(GridBox.around([0.0], [1.0]), 2)
    return tree, np.zeros(tree.active.shape)


def test_each_level_starts_from_the_one_before(start):
    problem, begun = Counting(3), []
    fits = list(fit_coarse_to_fine(problem, *start, begin=lambda tree: begun.append(tree.depth)))
    assert fits == begun == [0, 1, 2, 3]
    assert problem.x.max() == 4.0 and (problem.x[: len(start[1])] == 4.0).all() and (problem.x[-1] == 1.0).all()


def test_the_last_level_is_fitted_until_it_is_settled(start):
    assert list(fit_coarse_to_fine(Counting(1, again=2), *start)) == [0, 1, 1, 1]


def test_memory_ends_the_fit_or_refuses_it(start):
    with pytest.warns(UserWarning, match="the count stays at depth 1"):
        assert list(fit_coarse_to_fine(Counting(9, depth_is_given=False), *start, memory_limit=50)) == [0, 1]
    with pytest.raises(NotEnoughMemoryError, match=r"a count of depth 2 .* choose depth=1 or less"):
        list(fit_coarse_to_fine(Counting(9), *start, memory_limit=50))
