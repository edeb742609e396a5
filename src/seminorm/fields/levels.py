"""Coarse to fine: the one driver that fits a multilevel basis level by level.

The driver owns the loop: each level starts from the solution of the one before it, memory is checked before a level is
added, and every level is handed out as soon as it is there, so that progress can be shown and an interruption leaves
the last level that was completed. What is fitted, and where finer functions are needed, a :class:`LevelProblem` says.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

import numpy as np

from .._base.memory import NotEnoughMemoryError, available_bytes
from .._base.warnings import warn_user
from .tree import Tree

F = TypeVar("F")


class LevelProblem(ABC, Generic[F]):
    """The equations of a level, and the rule of refinement.

    ``kind`` names what is fitted. A level that does not fit into memory is an error if ``depth_is_given``; otherwise
    the fit ends before it, with a warning.
    """

    kind = "field"
    depth_is_given = True

    @abstractmethod
    def fit(self, tree: Tree, x: np.ndarray) -> F:
        """Solve on a tree, starting from the coefficients x of all levels and overwriting them."""

    @abstractmethod
    def marked(self, tree: Tree, fit: F) -> np.ndarray | None:
        """Cells of the finest level that need finer functions, as for :meth:`Tree.refine`; None ends the fit."""

    @abstractmethod
    def bytes_needed(self, tree: Tree) -> int:
        """An upper estimate of the memory that a fit on a tree takes."""

    def settled(self) -> bool:
        """Whether the last fit is the answer, now that no level follows; otherwise its level is fitted once more."""
        return True


def fit_coarse_to_fine(
    problem: LevelProblem[F],
    tree: Tree,
    x: np.ndarray,
    *,
    memory_limit: float | None = None,
    begin: Callable[[Tree], object] = lambda tree: None,
) -> Generator[F, None, F]:
    """Fit one level after the other, each from the one before it, the first from the coefficients x (blocks,
    functions), which are overwritten. Yields the fit of each level; the last one is also the return value.

    Memory is limited to ``memory_limit`` bytes, or to what is free; ``begin`` is called with each tree before it is
    fitted.
    """
    while True:
        begin(tree)
        fit = problem.fit(tree, x)
        yield fit
        marked = problem.marked(tree, fit)
        finer = None if marked is None else tree.refine(marked)
        if finer is not None and _fits_into_memory(problem, finer, memory_limit):
            tree, x = finer, prolonged(finer, x)
        elif problem.settled():
            return fit
        del fit, finer


def prolonged(tree: Tree, x: np.ndarray) -> np.ndarray:
    """Coefficients (..., blocks, functions) of the coarser levels of a tree, with zeros for the finer ones."""
    larger = np.zeros((*x.shape[:-2], *tree.active.shape), dtype=x.dtype)
    larger[..., : x.shape[-2], :] = x
    return larger


def _fits_into_memory(problem: LevelProblem, tree: Tree, limit: float | None) -> bool:
    """Whether a tree may be fitted; if it must be and cannot, an error says so."""
    needed, limit = problem.bytes_needed(tree), limit or available_bytes()
    if limit is None or needed <= limit:
        return True
    message = (
        f"a {problem.kind} of depth {tree.depth} with {tree.size} coefficients needs about {needed / 2**30:.2g} GiB, "
        f"and {limit / 2**30:.2g} GiB are allowed"
    )
    if problem.depth_is_given:
        raise NotEnoughMemoryError(f"{message}: choose depth={tree.depth - 1} or less, or raise memory_limit.")
    warn_user(f"{message}: the {problem.kind} stays at depth {tree.depth - 1}. Raise memory_limit for a finer one.")
    return False
