"""Features that are free beside the polynomials: a field plus a linear combination of given functions.

For a given alpha the field is linear in the values, f = H y, and the coefficients of the features P are those of
generalised least squares, (P' W (1 - H) P)^-1 P' W (1 - H) y: one more field for each feature, on the same cells.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .field import Field
from .fit import Fit, fit_levels
from .settings import Settings
from .sources import Observations, Source, weights_of
from .system import System, collapse
from .tree import Tree
from .vector_field import field_of

_ROUNDS = 3  # choices of alpha
_SAME = 0.2  # change of log alpha
_FREE_ALREADY = 1e-6  # share of a feature that is left when a field was taken off


@dataclass(frozen=True)
class _Features:
    """The features with their means taken off, in units of their deviations."""

    call: Callable[[np.ndarray], np.ndarray]
    mean: np.ndarray
    deviation: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (features_at(self.call, X) - self.mean) / self.deviation


def features_at(features: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Features (n, k) at points, checked; a feature alone may have shape (n,)."""
    P = np.asarray(features(X), dtype=float)
    P = P[:, None] if P.ndim == 1 else P
    if P.ndim != 2 or len(P) != len(X) or not P.shape[1]:
        raise ValueError(f"null_space must give one row of features for each of {len(X)} points, got shape {P.shape}.")
    if not np.isfinite(P).all():
        count = np.count_nonzero(~np.isfinite(P).all(axis=1))
        raise ValueError(f"null_space gives NaN or infinity at {count} of {len(X)} points: leave these points out.")
    return P


def fit_with_features(
    source: Source,
    settings: Settings,
    features: Callable[[np.ndarray], np.ndarray],
    begin: Callable[[Tree], object] = lambda tree: None,
) -> Iterator[Fit]:
    """Fit the levels of a field, and the coefficients of features beside it.

    Alpha, the energy and the cells are chosen for the values without the features, whose coefficients follow; this is
    repeated until alpha stays.

    Parameters
    ----------
    source, settings : Source, Settings
        Values, without gradients and functionals, and how to fit them.
    features : callable
        Takes points (n, d) to features (n, k).
    begin : callable, optional
        Called with the tree of a level before the level is fitted.

    Yields
    ------
    Fit
        The last one has ``null_coef``.

    See Also
    --------
    fit_levels : Without features.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source
    >>> from seminorm.fields.features import fit_with_features
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> step = lambda X: (X[:, 0] > 0.5).astype(float)
    >>> *_, fit = fit_with_features(Source.of(X, X[:, 0] + 3 * step(X)), Settings(alpha=1.0, depth=3), step)
    >>> fit.null_coef.round(3)
    array([3.])
    """
    scaled = _Features(features, *_moments(source, features))
    coef = _first(source, scaled)
    before = np.nan
    for number in range(_ROUNDS if settings.chosen else 1):
        rest = _mapped(source, partial(_without, scaled, coef))
        for fit in fit_levels(rest, settings, begin):
            yield replace(_in_units(fit, scaled, coef), final=False)
        fit, step = _by_least_squares(fit, rest, settings, scaled)
        coef = coef + step
        if abs(np.log(fit.alpha / before)) < _SAME or number == _ROUNDS - 1:
            break
        before = fit.alpha
    yield replace(_in_units(fit, scaled, coef), final=True)


def _in_units(fit: Fit, features: _Features, coef: np.ndarray) -> Fit:
    """The fit beside the features as they were given."""
    coef, field = coef / features.deviation, fit.field
    offset = float(field.offset - features.mean @ coef)
    return replace(fit, field=Field(field.tree, field.coef, field.roughness, offset), null_coef=coef)


def _mapped(source: Source, change: Callable[[Observations], np.ndarray]) -> Source:
    """The observations with other values."""
    return Source(lambda: (chunk._replace(y=change(chunk)) for chunk in source))


def _without(features: _Features, coef: np.ndarray, chunk: Observations) -> np.ndarray:
    return np.asarray(chunk.y) - features(chunk.X) @ coef


def _one(features: _Features, j: int, chunk: Observations) -> np.ndarray:
    return features(chunk.X)[:, j]


def _moments(source: Source, features: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and deviations of the features, (k,) each."""
    if source.functionals is not None:
        raise ValueError("null_space goes with values, not with functionals: leave one of them out.")
    total, first, second = 0.0, np.zeros(1), np.zeros(1)
    for chunk in source:
        if chunk.y is None or chunk.gradients is not None:
            raise ValueError("null_space goes with values, not with gradients: leave one of them out.")
        if chunk.y.ndim > 1:
            raise ValueError(f"null_space goes with one output, and y has {chunk.y.shape[1]}: fit them one by one.")
        P, w = features_at(features, chunk.X), weights_of(chunk)[0]
        total, first, second = total + w.sum(), first + w @ P, second + w @ P**2
    mean = first / max(total, np.finfo(float).tiny)
    deviation = np.sqrt(np.maximum(second / max(total, np.finfo(float).tiny) - mean**2, 0.0))
    constant = np.flatnonzero(deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300))
    if len(constant):
        raise ValueError(f"null_space: feature {constant[0]} is constant at the points: leave it out.")
    return mean, deviation


def _first(source: Source, features: _Features) -> np.ndarray:
    """Coefficients of least squares beside a linear function."""
    normal, right = np.zeros((1, 1)), np.zeros(1)
    low = next(iter(source)).X.mean(axis=0)
    for chunk in source:
        assert chunk.y is not None
        w, P = weights_of(chunk)[0], features(chunk.X)
        columns = np.column_stack([np.ones(len(P)), chunk.X - low, P])
        normal, right = normal + (columns.T * w) @ columns, right + (columns.T * w) @ np.where(w > 0, chunk.y, 0.0)
    unit = np.sqrt(np.diag(normal)) + np.finfo(float).tiny
    solution = np.linalg.lstsq(normal / np.outer(unit, unit), right / unit, rcond=1e-12)[0] / unit
    return solution[-len(features.mean) :]


def _by_least_squares(fit: Fit, rest: Source, settings: Settings, features: _Features) -> tuple[Fit, np.ndarray]:
    """The step of the coefficients, and the field without it, for the alpha and the cells of a fit."""
    tree, roughness = fit.field.tree, fit.field.roughness
    own = []
    for j in range(len(features.mean)):
        source = _mapped(rest, partial(_one, features, j))
        system = source.accumulate(partial(System, tree, roughness, 0.0, 0)).close()
        x = np.zeros_like(fit.x)
        system.solve(fit.alpha, x, tol=settings.tol, max_iter=settings.max_iter)
        own.append((x, Field(tree, collapse(tree, x), roughness)))
    k = len(own)
    normal, whole, right = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for chunk in rest:
        w, P = weights_of(chunk)[0], features(chunk.X)
        left = P - np.stack([field(chunk.X) for _, field in own], axis=1)
        normal, whole = normal + (P.T * w) @ left, whole + w @ P**2
        right += (P.T * w) @ np.where(w > 0, chunk.y - fit.field(chunk.X), 0.0)
    normal = 0.5 * (normal + normal.T)
    sizes, vectors = np.linalg.eigh(normal / np.sqrt(np.outer(whole, whole)))
    if sizes[0] < _FREE_ALREADY:
        j = int(np.abs(vectors[:, 0]).argmax())
        raise ValueError(
            f"null_space: feature {j} depends on the others or on what is free already, such as the polynomials that "
            "are not penalised: leave it out."
        )
    step = np.linalg.solve(normal, right)
    x = fit.x - sum(b * x for b, (x, _) in zip(step, own, strict=True))
    final = _mapped(rest, partial(_without, features, step))
    system = final.accumulate(partial(System, tree, roughness, fit.field.offset, 0)).close()
    outcome = system.solve(fit.alpha, x, tol=settings.tol, max_iter=settings.max_iter)
    field = field_of(tree, collapse(tree, x), roughness, fit.field.offset)
    return replace(fit, field=field, system=system, x=x, outcome=outcome), step
