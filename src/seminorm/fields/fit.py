"""Fitting a field to observations, coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn_user
from ..memory import NotEnoughMemoryError, available_bytes
from ..operators.bsplines import check_order
from ..solvers.conjugate_gradients import Outcome
from .field import Field
from .posterior import Posterior
from .refinement import Residuals, residuals_of
from .selection import CrossValidation, HeldOut, Score, Selection
from .sources import Observations, Source, Summary
from .system import System, collapse
from .tree import Box, Tree

_SAMPLE = 2**18  # points kept in memory for the coarse levels
_SAMPLE_PER_CELL = 16
_SAMPLE_LEAST = 2**13
_CROWDED = 40  # points in an occupied cell, from which on alpha need not be chosen for the next level
_ROUGH = 0.01  # energy against data of a function of the finest level, as long as alpha is not chosen
_SPARSE = 4  # points in an occupied cell, below which alpha tells whether finer functions are needed
_SMOOTH = 0.3  # energy against data of a function of the finest level, from which on finer ones are not needed
_LEVEL_TOL = 1e-2
_HELD_OUT = 0.2
_EXACT = 1e-12  # mean square of the residuals, relative to the data, that counts as nothing
_MARGINS = {1: 2.0, 2: 2.0, 3: 2.0, 4: 1.0}
_DEEPEST = {1: 40, 2: 26, 3: 18, 4: 13}
_MANY = 1000  # points of which a field of depth 0 or 1 is suspicious
_OUTLYING = 100  # mean against median of squared residuals; 2.2 for normal noise, about 5 for heavy tails
_VECTORS = 16  # arrays of one number a function, while a system is built and solved


@dataclass(frozen=True)
class Settings:
    """How to fit: see :class:`seminorm.FieldSmoother` for the meaning."""

    alpha: float | str = "auto"
    order: int = 2
    degree: int = 2
    depth: int | None = None
    scale: float | np.ndarray = 1.0
    margin: float | None = None
    tol: float = 1e-4
    max_iter: int = 300
    memory_limit: float | None = None

    @property
    def chosen(self) -> bool:
        """Whether alpha is to be chosen."""
        return isinstance(self.alpha, str)


@dataclass
class Fit:
    """A fitted field and how it came about.

    Attributes
    ----------
    field : Field
    system : System
    x : array
        Coefficients of all levels.
    alpha : float
    outcome : Outcome
        Steps of the last solution, and its relative residual.
    path : list of Score
        The criterion along alpha, if it was chosen.
    bounds : pair of arrays (d,)
        Extent of the data.
    trace : float or None
        Effective number of parameters, if it was estimated.
    final : bool
        Whether all levels are there; False for what a coarse level gives on the way.
    """

    field: Field
    system: System
    x: np.ndarray
    alpha: float
    outcome: Outcome
    path: list[Score]
    bounds: tuple[np.ndarray, np.ndarray]
    trace: float | None = None
    final: bool = False

    def posterior(self) -> Posterior:
        """Variance of the field."""
        return Posterior(self.system, self.alpha, self.system.residual_square_sum(self.x), self.trace)


def fit_field(source: Source, settings: Settings) -> Fit:
    """Minimise alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2 over a multilevel basis."""
    *_, last = fit_levels(source, settings)
    return last


def fit_levels(
    source: Source, settings: Settings, begin: Callable[[Tree], object] = lambda tree: None
) -> Iterator[Fit]:
    """The same, one level after the other: each has a usable field, the last one is the answer.

    ``begin`` is called with the tree of a level before the level is fitted.
    """
    check_order(settings.degree, settings.order)
    summary = source.accumulate(partial(Summary, _SAMPLE))
    if summary.n_points == 0:
        raise ValueError("there are no observations: X has no chunks, or only empty ones.")
    if summary.low is None:
        raise ValueError(
            "all weights are zero, or all gradients NaN: give at least one value or gradient with a positive weight."
        )
    if np.ndim(settings.scale) > 0 and np.shape(settings.scale) != summary.low.shape:
        raise ValueError(f"scale must be one number or {len(summary.low)}, got shape {np.shape(settings.scale)}.")
    margin = _MARGINS[len(summary.low)] if settings.margin is None else settings.margin
    box = Box.around(summary.low, summary.high, scale=settings.scale, margin=margin)
    tree = Tree.root(box, settings.degree)
    data, choose, crowd = _data_for(tree, source, summary), False, np.inf
    x = np.zeros(tree.active.shape)
    while True:
        choose = settings.chosen and (choose or crowd < _CROWDED)
        begin(tree)
        fit = _fit_level(tree, data, summary, settings, x, choose)
        crowd = _crowd(fit.system)
        yield fit
        finer = _refined(fit, data, settings, crowd)
        if finer is None and data is source:
            break
        if finer is None:  # the sample sees nothing more; all of the data may
            data = source
            continue
        grown = np.zeros(finer.active.shape)
        grown[: len(x)] = x
        tree, x = finer, grown
        data = _data_for(tree, source, summary)
        del fit
    if settings.chosen and not choose:
        begin(tree)
        fit = _fit_level(tree, data, summary, settings, x, True)
    fit = _finished(fit, settings)
    if settings.depth is None and tree.depth <= 1 and summary.n_points >= _MANY:
        _warn_of_outliers(fit, summary)
    yield fit


def _fit_level(tree: Tree, data: Source, summary: Summary, settings: Settings, x: np.ndarray, choose: bool) -> Fit:
    """A solution good enough to see what is missing.

    Alpha is given or chosen. While there are many points in a cell it is small enough not to matter: there the basis
    does the smoothing. The search starts where energy and data of the finest functions weigh the same and goes to
    smaller alpha first: from the other side it may be caught by a criterion that is flat or uneven near
    interpolation.
    """
    options = {"tol": _LEVEL_TOL, "max_iter": settings.max_iter}
    probes = _probes(summary.n_points) if choose and settings.alpha != "holdout" else 0
    system = data.accumulate(partial(System, tree, settings.order, summary.mean, probes)).close()
    if system.number == 0:
        raise ValueError(
            "the observations could not be read a second time: a callable must return a fresh iterator each time it is "
            "called."
        )
    alpha, trace, path = settings.alpha, None, []
    if choose:
        selection = _selection(system, data, summary, settings, x, options)
        best = selection.minimise(level_alpha(system), *_alpha_range(system))
        alpha, trace, path = best.alpha, best.trace, selection.path()
    elif settings.chosen:
        alpha = _ROUGH * level_alpha(system)
    outcome, _ = system.solve_to_noise(alpha, x, **options)
    field = Field(tree, collapse(tree, x), settings.order, summary.mean)
    return Fit(field, system, x, alpha, outcome, path, (summary.low, summary.high), trace)


def _finished(fit: Fit, settings: Settings) -> Fit:
    """The solution on the finest level, as exact as asked for."""
    outcome = fit.system.solve(fit.alpha, fit.x, tol=settings.tol, max_iter=settings.max_iter)
    if not outcome.converged:
        warn_user(
            f"the field was not solved to tol={settings.tol:g}: after {outcome.n_iter} steps the relative residual is "
            f"{outcome.residual:.1e}. Raise max_iter or alpha.",
            ConvergenceWarning,
        )
    field = Field(fit.field.tree, collapse(fit.field.tree, fit.x), settings.order, fit.field.offset)
    return replace(fit, field=field, outcome=outcome, final=True)


def _warn_of_outliers(fit: Fit, summary: Summary) -> None:
    """A mean square far above the median means that a few observations drown what neighbours have in common."""
    residuals, weights, _ = residuals_of(fit.field, summary.sample(summary.n_sample))
    median = float(np.median((weights * residuals**2)[weights > 0]))
    mean = fit.system.residual_square_sum(fit.x) / max(fit.system.number, 1)
    if mean > _OUTLYING * median and mean > _EXACT * fit.system.square_sum / max(fit.system.number, 1):
        warn_user(
            f"the field ended at depth {fit.field.depth}, and a few residuals are enormous: their root mean square is "
            f"{mean**0.5:.3g}, their median {median**0.5:.3g}. Outliers or fill values hide all detail from "
            'depth="auto": remove them, give them sample_weight 0, or give a depth.'
        )


def _selection(
    system: System, data: Source, summary: Summary, settings: Settings, x: np.ndarray, options: dict
) -> Selection:
    if settings.alpha != "holdout":
        return CrossValidation(system, x, robust=settings.alpha == "auto", **options)
    held = max(1, int(_HELD_OUT * summary.n_sample))
    sample = summary.sample(summary.n_sample)
    training, test = (_rows(sample, rows) for rows in (slice(held, None), slice(0, held)))
    make = partial(System, system.tree, settings.order, summary.mean)
    return HeldOut(Source.of(*training).accumulate(make).close(), x, test, **options)


def _rows(observations: Observations, rows: slice) -> Observations:
    return Observations(*(part if part is None or np.ndim(part) == 0 else part[rows] for part in observations))


def _probes(n: int) -> int:
    """Few points need several probes for a trace that is accurate to some per cent."""
    return int(min(max(20_000 // n, 1), 4))


def _data_for(tree: Tree, source: Source, summary: Summary) -> Source:
    """All observations, or a sample that has plenty for the cells of the finest level."""
    cells = np.count_nonzero(tree.leaf[tree.blocks(tree.depth)])
    wanted = max(_SAMPLE_PER_CELL * cells, _SAMPLE_LEAST)
    if wanted >= summary.n_sample:
        return source
    return Source.of(*summary.sample(wanted))


def _occupied(system: System) -> int:
    """Cells of the finest level with observations."""
    own = system.tree.blocks(system.tree.depth)
    return max(np.count_nonzero((system.value_weight[own] > 0) | (system.gradient_weight[own] > 0)), 1)


def _crowd(system: System) -> float:
    """Observations in an occupied cell of the finest level."""
    tree = system.tree
    total, finest = (
        (system.value_weight[blocks] + system.gradient_weight[blocks]).sum()
        for blocks in (tree.blocks(0), tree.blocks(tree.depth))
    )
    return float(system.number * finest / total / _occupied(system)) if total > 0 else 0.0


def level_alpha(system: System) -> float:
    """The alpha for which energy and data of a function of the finest level weigh the same, on average."""
    tree, energy = system.tree, system.energy
    own = tree.blocks(tree.depth)
    weight = system.value_weight[own] + system.gradient_weight[own] / energy.spacings[-1] ** 2
    return float(weight.sum() / _occupied(system) / energy.factors[-1] / energy.inner[len(energy.inner) // 2])


def _alpha_range(system: System) -> tuple[float, float]:
    """From next to interpolation on the finest level to next to a polynomial."""
    energy, tree = system.energy, system.tree
    weight = (
        system.value_weight[tree.blocks(0)].sum()
        + system.gradient_weight[tree.blocks(0)].sum() / energy.spacings[0] ** 2
    )
    return 1e-6 * level_alpha(system), float(1e4 * weight / energy.factors[0])


def _refined(fit: Fit, data: Source, settings: Settings, crowd: float) -> Tree | None:
    """The tree with one level more, or None if it is fine enough or as large as memory allows; ``crowd`` is the
    number of points in an occupied cell.
    """
    tree, system = fit.field.tree, fit.system
    own = tree.blocks(tree.depth)
    if tree.depth >= (_DEEPEST[tree.box.dimension] if settings.depth is None else settings.depth):
        return None
    if settings.depth is None and crowd < _SPARSE and fit.alpha > _SMOOTH * level_alpha(system):
        return None  # what still finer functions could add, the semi-norm would take away
    if settings.depth is not None and well_posed(tree.box.dimension, settings.order, system):
        marked = (system.value_weight[own] > 0) | (system.gradient_weight[own] > 0)
    else:
        residuals = data.accumulate(partial(Residuals, fit.field))
        if settings.depth is not None:
            wanted = residuals.dense()
        else:
            wanted = residuals.structured(_EXACT * system.square_sum / max(system.number, 1))
        marked = wanted[:, None] & (residuals.number > 0)
    if not marked.any():
        return None
    finer = tree.refine(marked)
    needed = bytes_needed(finer)
    limit = settings.memory_limit or available_bytes()
    if limit is not None and needed > limit:
        message = (
            f"a field of depth {finer.depth} with {finer.size} coefficients needs about {needed / 2**30:.2g} GiB, and "
            f"{limit / 2**30:.2g} GiB are allowed"
        )
        if settings.depth is not None:
            raise NotEnoughMemoryError(f"{message}: choose depth={tree.depth} or less, or raise memory_limit.")
        warn_user(f"{message}: the field stays at depth {tree.depth}. Raise memory_limit for a finer one.")
        return None
    return finer


def well_posed(dimension: int, order: int, system: System) -> bool:
    """Whether the minimiser exists in the limit of fine functions: values need 2 m > d, gradients 2 m > d + 2."""
    return 2 * order > dimension + (2 if system.gradient_weight.any() else 0)


def bytes_needed(tree: Tree) -> int:
    """An upper estimate of the memory that fitting on a tree takes, apart from the observations."""
    lines = np.count_nonzero(tree.covered.reshape(len(tree.covered), -1, tree.layout.side).any(axis=2))
    stencils = lines * tree.layout.side * len(tree.layout.offset) * 8
    return int(stencils + 8 * _VECTORS * tree.active.size)
