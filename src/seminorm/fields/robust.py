"""Losses that outliers do not dominate, by reweighting: a quadratic touches the loss of every value from above, at what
the field says there, and the next field minimises the sum of these quadratics."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..losses import Huber, Loss
from .features import fit_with_features, with_coefficients
from .fit import Fit, finished, fit_levels
from .refinement import residuals_of
from .settings import Settings
from .sources import Observations, Source, weights_of
from .system import System, collapse
from .tree import Tree
from .vector_field import field_of

NEEDS = ("weights",)  # methods of a loss
_NORMAL = 1.4826  # standard deviation over median absolute deviation
_EXACT = 1e-6  # of the size of the values: residuals below it are rounding
_ROUNDS, _STEPS, _LAST_STEPS = 5, 5, 30  # choices of alpha and cells; reweightings for each, and for the last
_SAME, _SETTLED = 0.2, 1e-3  # change of log alpha, and of the weights
_OUTLYING, _PURGES = 4.0, 5  # deviations of the noise, beyond which a residual is none of it; passes that sort them out


@dataclass(frozen=True)
class _Weights:
    """Factors of the weights of all values, chunk by chunk, and the deviation of the noise without outliers.

    Those of the choice of alpha are smaller for outliers: no square counts for more than that of the threshold. With a
    loss that grows forever, such as Huber's, weighted squares would look like noise.
    """

    factors: list[np.ndarray]
    for_choice: list[np.ndarray]
    scale: float

    def applied(self, source: Source, for_choice: bool = False) -> Source:
        """The observations with these weights."""
        weighted = Source(
            partial(_weighted, source, self.for_choice if for_choice else self.factors), source.functionals
        )
        weighted.in_memory = source.in_memory
        return weighted

    def distance(self, other: "_Weights | None") -> float:
        """The largest difference of two factors."""
        if other is None:
            return np.inf
        pairs = zip(self.factors, other.factors, strict=True)
        return max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)


def _weighted(source: Source, factors: Sequence[np.ndarray]) -> Iterator[Observations]:
    for chunk, factor in zip(source, factors, strict=True):
        yield chunk if chunk.y is None else chunk._replace(sample_weight=weights_of(chunk)[0] * factor)


def factor_of_outliers(loss: type[Loss]) -> float:
    """What multiplies the weight of a value so far off that noise hardly explains it."""
    return float(loss(np.zeros(1), loss.width).weights(np.array([_OUTLYING]))[0])  # type: ignore[attr-defined]


def fit_robust(
    source: Source,
    settings: Settings,
    loss: type[Loss],
    begin: Callable[[Tree], object] = lambda tree: None,
    *,
    has_features: bool = False,
) -> Iterator[Fit]:
    """Fit the levels of a field with a loss for the values that has ``weights``; gradients and functionals keep the
    squared one.

    Alpha, the energy and the cells are chosen with squares first, then with the weights that the field leads to, until
    alpha stays. In between and at the end the values are weighted anew on the same cells, from warm starts. The
    threshold of the loss belongs to the median absolute residual. A loss that is not convex starts from Huber's.

    Parameters
    ----------
    source, settings : Source, Settings
        The observations and how to fit them.
    loss : class of losses
        With a method ``weights``.
    begin : callable, optional
        Called with the tree of a level before the level is fitted.
    has_features : bool
        Whether the source has features that are free beside the field.

    Yields
    ------
    Fit

    See Also
    --------
    fit_levels : With squares.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source
    >>> from seminorm.fields.robust import fit_robust
    >>> from seminorm.losses import Huber
    >>> X, y = np.linspace(0.0, 1.0, 200)[:, None], 0.01 * np.random.default_rng(0).standard_normal(200)
    >>> y[50] = 100.0
    >>> *_, fit = fit_robust(Source.of(X, y), Settings(alpha=1e-3, depth=4), Huber)
    >>> bool(abs(fit.field([[0.25]])[0]) < 0.03)
    True
    """
    plain = source if type(source) is Source else Source(lambda: iter(source), source.functionals)
    levels = fit_with_features if has_features else fit_levels
    settings = replace(settings, warns=False)
    rounds = 1 if settings.depth is not None and not settings.chosen else _ROUNDS
    weighted, before, fit = plain, np.nan, None
    for number in range(rounds):
        for fit in levels(weighted, settings, begin):
            yield replace(fit, final=False)
        assert fit is not None
        if number > 0:  # once outliers counted less
            settings = replace(settings, anisotropy=fit.anisotropy)
        same = abs(np.log(fit.alpha / before)) < _SAME
        last, before = same or number == rounds - 1, fit.alpha
        if number == 0:
            fit, weights = _settled(fit, plain, settings, Huber, _STEPS)
        if number > 0 or last:
            fit, weights = _settled(fit, plain, settings, loss, _LAST_STEPS if last else _STEPS)
        weighted = weights.applied(plain, for_choice=True)
        if last:
            break
        yield replace(fit, final=False)
    assert fit is not None
    fit = finished(fit, replace(settings, roughness=fit.field.roughness))
    yield replace(fit, factors=np.concatenate(weights.factors), scale=weights.scale)


def _settled(fit: Fit, source: Source, settings: Settings, loss: type[Loss], steps: int) -> tuple[Fit, _Weights]:
    """The field on the same cells, with the same alpha, and weights that follow from it."""
    weights, before = _weights(fit, source, loss), None
    for _ in range(steps):
        if weights.distance(before) < _SETTLED:
            break
        fit, before = _solved(fit, weights.applied(source), settings), weights
        weights = _weights(fit, source, loss)
    return replace(fit, scale=weights.scale), weights


def _solved(fit: Fit, source: Source, settings: Settings) -> Fit:
    """The same cells and alpha, and other weights, from a warm start."""
    if fit.drift is not None:
        return replace(with_coefficients(fit, source, settings), trace=None)
    tree, roughness, offset, x = fit.field.tree, fit.field.roughness, fit.field.offset, fit.x.copy()
    system = source.accumulate(partial(System, tree, roughness, offset, 0)).close()
    outcome = system.solve(fit.alpha, x, tol=settings.tol, max_iter=settings.max_iter)
    field = field_of(tree, collapse(tree, x), roughness, offset)
    return replace(fit, field=field, system=system, source=source, x=x, outcome=outcome, trace=None)


def _weights(fit: Fit, source: Source, loss: type[Loss]) -> _Weights:
    """What the loss gives to each value; its threshold is a multiple of the median absolute residual."""
    if len(fit.field.components) > 1:
        raise ValueError(
            f"loss={loss.name!r} goes with one output, got {len(fit.field.components)}: fit them one by one."
        )
    residuals = []
    for chunk in source:
        if chunk.y is None:
            residuals.append(np.full(len(chunk.X), np.nan))
            continue
        if fit.drift is not None:
            chunk = chunk._replace(y=chunk.y - chunk.features @ fit.drift.given_coef)
        found, weights, _ = residuals_of(fit.field, chunk._replace(gradients=None, gradient_weight=None))
        residuals.append(np.where(weights > 0, np.sqrt(weights) * found, np.nan)[:, 0])
    known = np.abs(np.concatenate(residuals))
    known = known[np.isfinite(known)]
    if not len(known):
        raise ValueError(f"loss={loss.name!r} is one of values, and there are none: give y, or leave out the loss.")
    least = _EXACT * np.sqrt(fit.system.square_sum / max(fit.system.number, 1)) or 1.0
    scale = max(_NORMAL * float(np.median(known)), least)
    residuals, epsilon = [np.nan_to_num(r) for r in residuals], loss.width * scale
    factors = [loss(np.zeros(len(r)), epsilon).weights(r) for r in residuals]  # type: ignore[attr-defined]  # by NEEDS
    capped = [
        np.minimum(w, (epsilon / np.maximum(np.abs(r), epsilon)) ** 2) for w, r in zip(factors, residuals, strict=True)
    ]
    for _ in range(_PURGES):
        scale = max(_NORMAL * float(np.median(known[known <= _OUTLYING * scale])), least)
    return _Weights(factors, capped, scale)
