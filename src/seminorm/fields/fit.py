"""Fitting a field to observations, coarse to fine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.warnings import warn_user
from ..bases.bsplines import check_order
from ..solvers.linear.conjugate_gradients import Outcome
from .anisotropy import Anisotropy
from .boxes import box_of
from .choices import BY_DEFAULT, chosen
from .drift import Drift
from .families import Choice
from .field import Field
from .levels import LevelProblem, fit_coarse_to_fine
from .likelihood import free_polynomials
from .limits import DEEPEST
from .posterior import Posterior
from .refinement import Residuals, residuals_of
from .selection import AlphaSelection, CrossValidation, HeldOut, Score
from .settings import Settings
from .sources import Source
from .summary import Summary
from .system import System, collapse, dot
from .tree import Tree
from .vector_field import VectorField, field_of, scaled

_SAMPLE = 2**18  # points kept in memory for the coarse levels
_SAMPLE_PER_CELL = 16
_SAMPLE_LEAST = 2**13
_CROWDED = 40  # points in an occupied cell, from which on alpha need not be chosen for the next level
_ROUGH = 0.01  # energy against data of a function of the finest level, as long as alpha is not chosen
_SPARSE = 4  # points in an occupied cell, below which alpha tells whether finer functions are needed
_SMOOTH = 0.3  # energy against data of a function of the finest level, from which on finer ones are not needed
_HELD_OUT = 0.2
_LARGE = 1e40  # extent whose powers, up to the sixth, stay far from the limits of numbers
_SMALL, _CELLS_PER_POINT = 2000, 64  # points, up to which a given alpha is resolved, and how finely
_EXACT = 1e-12  # mean square of the residuals, relative to the data, that counts as nothing
_MANY = 1000  # points of which a field of depth 0 or 1 is suspicious
_OUTLYING = 100  # mean against median of squared residuals; 2.2 for normal noise, about 5 for heavy tails
_VECTORS = 16  # arrays of one number per function, while a system is built and solved


@dataclass
class Fit:
    """A fitted field and how it came about; see :func:`fit_field`.

    Attributes
    ----------
    field, alpha : Field or VectorField, float
    system, source, x : System, Source, array
        The equations, all observations, and the coefficients of all levels (blocks, functions), or (k, blocks,
        functions): several outputs in their ``units``.
    outcome : Outcome
        Steps of the last solution, and its relative residual.
    path, trace : list of Score, float or None
        Criterion along alpha, effective number of parameters.
    bounds : array (2, d)
        Extent of the data.
    final : bool
        Whether all levels are there; False for what a coarse level gives on the way.
    factors, scale : array (n,) and float, optional
        With a robust loss: what the weights of the values were multiplied by, and the deviation of the noise, from the
        median absolute residual.
    drift : Drift, optional
        Free features beside the field, and their coefficients.
    units : array (k,), optional
        What several outputs were divided by.
    choice, anisotropy : Choice, Anisotropy, optional
        How the energy and the map of the coordinates were chosen.

    See Also
    --------
    fit_field
    """

    field: Field | VectorField
    system: System
    source: Source
    x: np.ndarray
    alpha: float
    outcome: Outcome
    path: list[Score]
    bounds: np.ndarray
    trace: float | None = None
    final: bool = False
    choice: Choice | None = None
    anisotropy: Anisotropy | None = None
    criterion: str = BY_DEFAULT
    factors: np.ndarray | None = None
    scale: float | None = None
    drift: Drift | None = None
    units: np.ndarray | None = None

    def posterior(self) -> Posterior:
        """Variance of the field."""
        rest: Any = self.system.residual_square_sums(self.x)
        likely: Any = self._likely_variances()
        if self.units is not None:
            rest, likely = rest * self.units**2, None if likely is None else likely * self.units**2
        else:
            rest, likely = rest[0], None if likely is None else likely[0]
        if self.scale is not None:  # squares, and be they weighted, still feel outliers
            rest, likely = self.scale**2 * self.system.number, None
        drift = None if self.drift is None or self.drift.covariance is None else self.drift
        return Posterior(self.system, self.alpha, self.source, rest, self.trace, likely, drift)

    def _likely_variances(self) -> np.ndarray | None:
        """The noise variances of the largest restricted likelihood (k,), if that chose alpha."""
        if self.criterion != "reml":
            return None
        open_axes = int(np.count_nonzero(~self.system.tree.box.wraps))
        free = free_polynomials(open_axes, self.field.roughness.lowest)
        free += 0 if self.drift is None else len(self.drift.mean)
        parts = enumerate(self.system.of_outputs(self.x))
        explained = np.array([dot(self.system.right[side], part) for side, part in parts])
        return np.maximum(self.system.square_sums - explained, 0.0) / max(self.system.number - free, 1)


def fit_field(source: Source, settings: Settings) -> Fit:
    """Minimise alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2 over a multilevel basis.

    Parameters
    ----------
    source, settings : Source, Settings
        The observations and how to fit them.

    Returns
    -------
    Fit

    See Also
    --------
    seminorm.FieldSmoother : The estimator.
    fit_levels : Every level as soon as it is there.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source, fit_field
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> fit_field(Source.of(X, np.sin(6 * X[:, 0])), Settings(alpha=1e-6, depth=5)).field([[0.25]]).round(3)
    array([0.997])
    """
    *_, last = fit_levels(source, settings)
    return last


def fit_levels(
    source: Source, settings: Settings, begin: Callable[[Tree], object] = lambda tree: None
) -> Iterator[Fit]:
    """Fit one level after the other: each has a usable field, the last one is the answer of :func:`fit_field`.

    Parameters
    ----------
    source, settings : Source, Settings
        The observations and how to fit them.
    begin : callable, optional
        Called with the tree of a level before the level is fitted.

    Yields
    ------
    Fit

    See Also
    --------
    fit_field

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source, fit_levels
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> [fit.field.depth for fit in fit_levels(Source.of(X, X[:, 0] ** 2), Settings(alpha=1e-6, depth=2))]
    [0, 1, 2, 2]
    """
    check_order(settings.degree, settings.roughness.order)
    summary = source.accumulate(partial(Summary, _SAMPLE))
    if not summary.outputs or not summary.n_known:
        yield from _fit_levels(source, summary, settings, begin)
        return
    units = summary.units
    source = source.in_units(units)
    for fit in _fit_levels(source, source.accumulate(partial(Summary, _SAMPLE)), settings, begin):
        yield replace(fit, field=scaled(fit.field, units), units=units)


def _fit_levels(source: Source, summary: Summary, settings: Settings, begin: Callable[[Tree], object]) -> Iterator[Fit]:
    """The levels of a field; several outputs are in their units."""
    if summary.n_points == 0:
        raise ValueError("there are no observations: X has no chunks, or only empty ones.")
    if summary.low is None:
        raise ValueError("all weights are zero, or all gradients NaN: give a value or gradient with a positive weight.")
    if np.ndim(settings.scale) > 0 and np.shape(settings.scale) != summary.low.shape:
        raise ValueError(f"scale must be one number or {len(summary.low)}, got shape {np.shape(settings.scale)}.")
    if settings.axes is not None and len(settings.axes) != len(summary.low):
        d = len(summary.low)
        raise ValueError(f"anisotropy must have shape ({d}, {d}), got {np.shape(settings.axes)}.")
    _check_sizes(summary, settings)
    settings = chosen(summary, settings, fit_field)
    box, depth = box_of(summary, settings)
    tree = Tree.root(box, settings.degree)
    problem = _FieldLevels(source, summary, replace(settings, depth=depth))
    x = np.zeros((*(summary.outputs or ()), *tree.active.shape))
    fit = yield from fit_coarse_to_fine(problem, tree, x, memory_limit=settings.memory_limit, begin=begin)
    if settings.chosen and not problem.choose:
        begin(fit.field.tree)
        fit = _fit_level(fit.field.tree, problem.data, source, summary, settings, fit.x, True)
    fit = finished(fit, settings)
    shallow = settings.depth is None and fit.field.depth <= (3 if settings.by_likelihood else 1)
    if settings.warns and shallow and summary.n_sample >= _MANY:
        _warn_of_outliers(fit, summary)
    yield fit


def _check_sizes(summary: Summary, settings: Settings) -> None:
    """Refuse numbers whose powers are none."""
    longest = float((np.diff(summary.bounds, axis=0)[0] / settings.scale).max())
    if longest > 0.0 and not 1.0 / _LARGE < longest < _LARGE:
        raise ValueError(
            f"X has an extent of {longest:.3g} in coordinates divided by scale, whose powers are too large or too "
            f"small for numbers: give a scale that brings it near 1, such as scale={longest:.1g} times the present one."
        )
    if not np.isfinite(summary.square_sum).all():
        raise ValueError("y has values whose squares are too large for numbers: divide y by its largest value.")


class _FieldLevels(LevelProblem[Fit]):
    """The levels of a field: alpha is chosen once cells hold few points; coarse levels see a sample of the data."""

    def __init__(self, source: Source, summary: Summary, settings: Settings):
        self.depth_is_given = settings.depth is not None
        self._source, self._summary, self._settings = source, summary, settings
        self.data, self.choose = source, False
        self._crowd, self._all_data = np.inf, False

    def fit(self, tree: Tree, x: np.ndarray) -> Fit:
        self.data = self._source if self._all_data else _data_for(tree, self._source, self._summary)
        self._all_data = False
        self.choose = self._settings.chosen and (self.choose or self._crowd < _CROWDED)
        fit = _fit_level(tree, self.data, self._source, self._summary, self._settings, x, self.choose)
        self._crowd = _crowd(fit.system)
        return fit

    def marked(self, tree: Tree, fit: Fit) -> np.ndarray | None:
        settings, system = self._settings, fit.system
        if tree.depth >= (DEEPEST[tree.box.dimension] if settings.depth is None else settings.depth):
            return None
        if settings.depth is None and settings.by_likelihood and tree.spacing(tree.depth) < settings.finest:
            return None  # what is finer counts as noise
        if (
            settings.depth is None
            and not settings.by_likelihood
            and self._crowd < _SPARSE
            and fit.alpha > _SMOOTH * level_alpha(system)
        ):
            return None  # what still finer functions could add, the semi-norm would take away
        if settings.depth is None and (settings.by_likelihood or self._alpha_rules(tree, system)):
            marked = self._unresolved(tree, fit)[:, None] & self._occupied(tree, system)
        elif settings.depth is not None and well_posed(tree.box.dimension, settings.roughness.order, system):
            marked = self._occupied(tree, system)
        else:
            residuals = self.data.accumulate(partial(Residuals, fit.field))
            negligible = _EXACT * system.square_sum / max(system.number, 1)
            wanted = residuals.structured(negligible) if settings.depth is None else residuals.dense()
            marked = wanted[:, None] & residuals.occupied
        return marked if marked.any() else None

    def _alpha_rules(self, tree: Tree, system: System) -> bool:
        """Whether a given alpha smooths a small set, and not the size of the cells: then it is resolved, as by
        :class:`seminorm.Smoother`, down to some cells for each point.
        """
        d, n = tree.box.dimension, self._summary.n_points
        few = n <= _SMALL and d <= 2 and 2 ** (d * (tree.depth + 1)) <= _CELLS_PER_POINT * n
        return few and self._settings.resolved and well_posed(d, self._settings.roughness.order, system)

    def _unresolved(self, tree: Tree, fit: Fit) -> np.ndarray:
        """Blocks of the finest level of whose functions the data see far more than the semi-norm, unless the field
        follows them exactly.
        """
        residuals = self.data.accumulate(partial(Residuals, fit.field))
        own = tree.blocks(tree.depth)
        weight = fit.system.value_weight[own] + fit.system.gradient_weight[own] / fit.system.energy.spacings[-1] ** 2
        occupied = np.maximum(np.count_nonzero(weight, axis=1), 1)
        free = fit.alpha * fit.system.energy.of_one < _SMOOTH * weight.sum(axis=1) / occupied
        return free & residuals.remain(_EXACT * fit.system.square_sum / max(fit.system.number, 1))

    def _occupied(self, tree: Tree, system: System) -> np.ndarray:
        own = tree.blocks(tree.depth)
        return (system.value_weight[own] > 0) | (system.gradient_weight[own] > 0)

    def settled(self) -> bool:
        """The sample sees nothing more; all of the data may."""
        self._all_data = self.data is not self._source
        return not self._all_data

    def bytes_needed(self, tree: Tree) -> int:
        lines = np.count_nonzero(tree.covered.reshape(len(tree.covered), -1, tree.layout.side).any(axis=2))
        stencils = lines * tree.layout.side * tree.layout.stencil * 8
        return int(stencils + 8 * _VECTORS * tree.active.size)


def _fit_level(
    tree: Tree, data: Source, source: Source, summary: Summary, settings: Settings, x: np.ndarray, choose: bool
) -> Fit:
    """A solution good enough to see what is missing, for an alpha that is given or chosen; small while there are many
    points in a cell and the basis does the smoothing.

    The search starts where energy and data of the finest functions weigh the same and goes to smaller alpha first: from
    the other side it may be caught by a criterion that is flat or uneven near interpolation.
    """
    options: dict[str, Any] = {"tol": settings.level_tol, "max_iter": settings.max_iter}
    probes = 0
    if choose and settings.criterion != "holdout":  # few points need several for a trace accurate to some per cent
        probes = int(min(max(20_000 // summary.n_points, 1), 4))
    system = data.accumulate(partial(System, tree, settings.roughness, settings.offset(summary), probes)).close()
    if system.number == summary.n_functionals and summary.n_sample:
        raise ValueError("the observations could not be read a second time: a callable must return a fresh iterator.")
    trace, path = None, _path(settings)
    if choose:
        selection = _selection(system, summary, settings, x, options)
        best = selection.minimize(level_alpha(system), *_alpha_range(system))
        alpha, trace, path = best.alpha, best.trace, selection.path()
    elif isinstance(settings.alpha, str):
        alpha = _ROUGH * level_alpha(system)
    else:
        alpha = settings.alpha
    outcome, _ = system.solve_to_noise(alpha, x, **options)
    field = field_of(tree, collapse(tree, x), settings.roughness, settings.offset(summary))
    return Fit(
        field,
        system,
        source,
        x,
        alpha,
        outcome,
        path,
        summary.bounds,
        trace,
        choice=settings.choice,
        anisotropy=settings.anisotropy if isinstance(settings.anisotropy, Anisotropy) else None,
        criterion=settings.decisive,
    )


def _path(settings: Settings) -> list[Score]:
    """Minus the log likelihood along alpha, where it has chosen."""
    if not settings.by_likelihood:
        return []
    return [Score(alpha, 0.5 * deviance) for alpha, deviance in settings.choice.deviance.items()]  # type: ignore[union-attr]


def finished(fit: Fit, settings: Settings) -> Fit:
    """The solution on the finest level, as exact as asked for."""
    outcome = fit.system.solve_all(fit.alpha, fit.x, tol=settings.tol, max_iter=settings.max_iter)
    if not outcome.converged:
        warn_user(
            f"the field was not solved to tol={settings.tol:g}: after {outcome.n_iter} steps the relative residual is "
            f"{outcome.residual:.1e}. Raise max_iter or alpha.",
            ConvergenceWarning,
        )
    field = field_of(fit.field.tree, collapse(fit.field.tree, fit.x), settings.roughness, fit.field.offset)
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


def _selection(system: System, summary: Summary, settings: Settings, x: np.ndarray, options: dict) -> AlphaSelection:
    if settings.criterion != "holdout":
        return CrossValidation(system, x, robust=settings.criterion == "robust_gcv", **options)
    training, test = summary.split(_HELD_OUT)
    make = partial(System, system.tree, settings.roughness, settings.offset(summary))
    return HeldOut(training.accumulate(make).close(), x, test, **options)


def _data_for(tree: Tree, source: Source, summary: Summary) -> Source:
    """All observations, or a sample that has plenty for the cells of the finest level."""
    cells = int(np.count_nonzero(tree.leaf[tree.blocks(tree.depth)]))
    wanted = max(_SAMPLE_PER_CELL * cells, _SAMPLE_LEAST)
    return source if wanted >= summary.n_sample else summary.source(wanted)


def _occupied(system: System) -> int:
    """Cells of the finest level with observations."""
    own = system.tree.blocks(system.tree.depth)
    return max(int(np.count_nonzero((system.value_weight[own] > 0) | (system.gradient_weight[own] > 0))), 1)


def _crowd(system: System) -> float:
    """Observations in an occupied cell of the finest level."""
    tree = system.tree
    weight = system.value_weight + system.gradient_weight
    total, finest = (weight[tree.blocks(level)].sum() for level in (0, tree.depth))
    return float(system.number * finest / total / _occupied(system)) if total > 0 else 0.0


def level_alpha(system: System) -> float:
    """The alpha for which energy and data of a function of the finest level weigh the same, on average."""
    tree, energy = system.tree, system.energy
    own = tree.blocks(tree.depth)
    weight = system.value_weight[own] + system.gradient_weight[own] / energy.spacings[-1] ** 2
    return float(weight.sum() / _occupied(system) / energy.of_one)


def _alpha_range(system: System) -> tuple[float, float]:
    """From next to interpolation on the finest level to next to a polynomial."""
    energy, root = system.energy, system.tree.blocks(0)
    weight = system.value_weight[root].sum() + system.gradient_weight[root].sum() / energy.spacings[0] ** 2
    return 1e-6 * level_alpha(system), float(1e4 * weight / energy.scales[0])


def well_posed(dimension: int, order: int, system: System) -> bool:
    """Whether the minimiser exists in the limit of fine functions: values need 2 m > d, gradients 2 m > d + 2."""
    return 2 * order > dimension + (2 if system.gradient_weight.any() else 0)
