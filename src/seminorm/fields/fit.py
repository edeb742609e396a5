"""Fitting a field to observations, coarse to fine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field as dataclass_field

import numpy as np

from ..solvers.conjugate_gradients import Outcome
from .field import Field
from .refinement import Residuals
from .selection import Score, Selection
from .sources import Observations, Source, Summary, prepare, scrambled, summarize
from .system import System, collapse
from .tree import Box, Tree

_SAMPLE = 2**18
_ROUGH = 0.01


@dataclass
class Step:
    """What was reached on a level, for callbacks and progress."""

    level: int
    n_coef: int
    alpha: float
    outcome: Outcome


@dataclass
class Fit:
    """A fitted field and how it came about.

    Attributes
    ----------
    field : Field
    alpha : float
    outcome : Outcome
        Steps of the last solution, and its relative residual.
    scores : list of Score
        Criterion along alpha on the last level, if it was chosen.
    steps : list of Step
    """

    field: Field
    system: System
    alpha: float
    outcome: Outcome
    scores: list[Score]
    summary: Summary
    square_sum: float
    trace: float | None
    rss: float
    steps: list[Step] = dataclass_field(default_factory=list)


def fit_field(
    source: Source,
    *,
    alpha: float | None = None,
    order: int = 2,
    degree: int = 2,
    depth: int | None = None,
    scale=1.0,
    margin: float = 2.0,
    tol: float = 1e-4,
    max_iter: int = 300,
    callback: Callable[[Step], None] | None = None,
) -> Fit:
    """Minimise alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2 over a multilevel basis."""
    summary = summarize(source, _SAMPLE)
    box = Box.around(summary.low, summary.high, scale=scale, margin=margin)
    tree = Tree.root(box, degree)
    x = np.zeros(tree.active.shape)
    steps: list[Step] = []
    limit = 40 if depth is None else depth
    probes = 0 if alpha is not None else _probes(summary.n_points)
    while True:
        whole = summary.sampled == 1.0 or len(summary.sample.X) < 16 * _leaf_cells(tree)
        chunks = source if whole else [summary.sample]
        system, number, square_sum = assemble(tree, order, chunks, summary.mean, 0)
        current = max(alpha or 0.0, _ROUGH * _level_alpha(system))
        outcome, _ = system.solve_to_noise(current, x, square_sum, tol=1e-2, max_iter=max_iter)
        field = Field(tree, collapse(tree, x), order, summary.mean)
        steps.append(Step(tree.depth, tree.size, current, outcome))
        if callback is not None:
            callback(steps[-1])
        if tree.depth >= limit:
            break
        marked = _needs(system, field, chunks, summary.mean, current, depth is not None)
        if not marked.any():
            break
        finer = tree.refine(marked)
        if len(finer.levels[-1]) == 0:
            break
        grown = np.zeros(finer.active.shape)
        grown[: len(x)] = x
        tree, x = finer, grown
    scores: list[Score] = []
    if not whole or probes:
        system, number, square_sum = assemble(tree, order, source, summary.mean, probes)
    trace = None
    if alpha is None:
        selection = Selection(system, x, number=number, square_sum=square_sum, tol=1e-3, max_iter=max_iter)
        best = selection.minimise(current, *_alpha_range(system))
        current, trace = best.alpha, best.trace
        scores = sorted(selection.scores.values(), key=lambda score: score.alpha)
    else:
        current = alpha
    outcome = system.solve(current, x, tol=tol, max_iter=max_iter)
    u = collapse(tree, x)
    rss = system.residual_square_sum(x, square_sum)
    return Fit(Field(tree, u, order, summary.mean), system, current, outcome, scores, summary, square_sum, trace, rss, steps)


def assemble(tree: Tree, order: int, chunks, mean: float, probes: int) -> tuple[System, int, float]:
    """The system of all chunks, the number of observations and their weighted sum of squares."""
    system = System(tree, order, 1 + probes)
    number, square_sum, seen = 0, 0.0, 0
    for chunk in chunks:
        ready = prepare(chunk, tree.box, mean, _signs(chunk, seen, probes) if probes else None)
        seen += len(chunk.X)
        system.add(ready)
        number += int(np.count_nonzero(ready.weights))
        square_sum += float((ready.weights * ready.observations[:, :, 0] ** 2).sum())
    system.close()
    return system, number, square_sum


def _signs(chunk: Observations, seen: int, probes: int) -> np.ndarray:
    """Random signs for every observation, fixed by its number."""
    columns = (chunk.y is not None) + (chunk.X.shape[1] if chunk.gradients is not None else 0)
    numbers = np.arange(seen, seen + len(chunk.X), dtype=np.uint64)[:, None] * np.uint64(8) + np.arange(columns, dtype=np.uint64)
    bits = scrambled(numbers)
    return np.stack([1.0 - 2.0 * ((bits >> np.uint64(k)) & np.uint64(1)) for k in range(probes)], axis=-1)


def _probes(n: int) -> int:
    return int(min(max(20_000 // n, 1), 10))


def _leaf_cells(tree: Tree) -> int:
    """Leaf cells on the finest level."""
    return int(np.count_nonzero(tree.leaf[tree.blocks(tree.depth)]))


def _level_alpha(system: System) -> float:
    """The alpha for which energy and data of a function on the finest level weigh the same, on average."""
    tree, energy = system.tree, system.energy
    own = tree.blocks(tree.depth)
    weight = system.value_weight[own] + system.gradient_weight[own] / energy.spacings[-1] ** 2
    occupied = max(np.count_nonzero(weight), 1)
    return float(weight.sum() / occupied / energy.factors[-1] / energy.inner[len(energy.inner) // 2])


def _alpha_range(system: System) -> tuple[float, float]:
    """From next to interpolation on the finest level to next to a polynomial on the coarsest."""
    energy = system.energy
    middle = _level_alpha(system)
    return 1e-6 * middle, 1e4 * middle * energy.factors[-1] / energy.factors[0] * len(system.tree.leaf)


def _needs(system: System, field: Field, chunks, mean: float, alpha: float, forced: bool) -> np.ndarray:
    """Cells of the finest level to refine."""
    tree = field.tree
    own = tree.blocks(tree.depth)
    if forced:
        return (system.value_weight[own] + system.gradient_weight[own]) > 0
    columns = None
    residuals = None
    for chunk in chunks:
        ready = prepare(chunk, tree.box, mean)
        if residuals is None:
            columns = ready.weights.shape[1]
            residuals = Residuals(field, columns)
        residuals.add(ready)
    wanted = residuals.structured()
    marked = wanted[:, None] & (residuals.number > 0)
    return marked
