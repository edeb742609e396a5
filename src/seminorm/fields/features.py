"""Fields with features that are free beside the polynomials: a field plus a linear combination of given functions.

For a given alpha the field is linear in the values, f = H y, and the coefficients of the features P are those of
generalised least squares, (P' W (1 - H) P)^-1 P' W (1 - H) y: one more field for each feature, on the same cells.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .choices import CLOSE
from .drift import Drift
from .field import Field
from .fit import Fit, fit_levels
from .settings import Settings
from .sources import Observations, Source, weights_of
from .system import System, collapse
from .tree import Tree
from .vector_field import field_of, scaled

_ROUNDS = 3  # choices of alpha
_SAME = 0.2  # change of log alpha
_FREE_ALREADY = 1e-6  # share of a feature that is left when a field was taken off


def fit_with_features(
    source: Source, settings: Settings, begin: Callable[[Tree], object] = lambda tree: None
) -> Iterator[Fit]:
    """Fit the levels of a field, and the coefficients of features beside it.

    Alpha, the energy and the cells are chosen for the values without the features, whose coefficients follow; this is
    repeated until alpha stays.

    Parameters
    ----------
    source, settings : Source, Settings
        Values and features, without gradients and functionals, and how to fit them.
    begin : callable, optional
        Called with the tree of a level before the level is fitted.

    Yields
    ------
    Fit
        With a ``drift``; that of the last one knows how uncertain the coefficients are.

    See Also
    --------
    fit_levels : Without features.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source
    >>> from seminorm.fields.drift import FreeFeatures
    >>> from seminorm.fields.features import fit_with_features
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> step = lambda X: (X[:, 0] > 0.5).astype(float)
    >>> source = Source.of(X, X[:, 0] + 3 * step(X)).with_features(FreeFeatures(step).split)
    >>> *_, fit = fit_with_features(source, Settings(alpha=1.0, depth=3))
    >>> fit.drift.given_coef.round(3)
    array([3.])
    """
    centered = settings.family is not None or settings.roughness.lowest > 0
    drift = _first(source, *_moments(source, centered))
    before = np.nan
    for number in range(_ROUNDS if settings.chosen else 1):
        rest = source.mapped(partial(_without, drift))
        for fit in fit_levels(rest, settings, begin):
            yield replace(fit, field=drift.without_constant(fit.field), drift=drift, source=source, final=False)
        fit = with_coefficients(replace(fit, drift=drift), source, settings)
        assert fit.drift is not None
        drift, settings = fit.drift, replace(settings, anisotropy=fit.anisotropy)
        if abs(np.log(fit.alpha / before)) < _SAME or number == _ROUNDS - 1:
            break
        before = fit.alpha
    yield replace(fit, final=True)


def with_coefficients(fit: Fit, source: Source, settings: Settings) -> Fit:
    """The field and the coefficients for the alpha and the cells of a fit with a drift, from where it stands, which may
    have been fitted to other values or weights.
    """
    drift, units = fit.drift, fit.units
    assert drift is not None
    tree, roughness = fit.field.tree, fit.field.roughness
    options = {"tol": settings.tol * (CLOSE if fit.criterion == "reml" else 1.0), "max_iter": settings.max_iter}
    start = field_of(tree, collapse(tree, fit.x), roughness, fit.system.mean)
    start = start if units is None else scaled(start, units)
    own, fields = _fields_of_features(fit, source, drift, options)
    normal, right, freedom = _normal_equations(source, drift, fields, start)
    covariance = np.linalg.inv(normal)
    covariance = 0.5 * (covariance + covariance.T)
    step = covariance @ right
    drift = replace(
        drift,
        coef=drift.coef + step,
        fields=fields,
        solutions=own,
        covariance=covariance,
        freedom=float(np.sum(covariance * freedom)),
    )
    in_units = step if units is None else step / units
    x = fit.x - np.tensordot(in_units, own, axes=(0, 0))
    rest = source.mapped(partial(_without, drift))
    rest = rest if units is None else rest.in_units(units)
    system = rest.accumulate(partial(System, tree, roughness, fit.system.mean, 0)).close()
    outcome = system.solve_all(fit.alpha, x, **options)
    field = field_of(tree, collapse(tree, x), roughness, fit.system.mean)
    field = drift.without_constant(field if units is None else scaled(field, units))
    kept = source if units is None else source.in_units(units)
    return replace(fit, field=field, system=system, source=kept, x=x, outcome=outcome, drift=drift)


def _fields_of_features(fit: Fit, source: Source, drift: Drift, options: dict) -> tuple[np.ndarray, list[Field]]:
    """Coefficients (p, blocks, functions) of the fields that are fitted to the features, and these fields."""
    tree, roughness, p = fit.field.tree, fit.field.roughness, len(drift.mean)
    make = partial(System, tree, roughness, np.zeros(p), 0)
    system = source.mapped(partial(_features_as_values, drift)).accumulate(make).close()
    own = np.zeros((p, *tree.active.shape))
    if drift.solutions is not None and drift.fields[0].tree is tree:
        own = drift.solutions.copy()
    system.solve_all(fit.alpha, own, **options)
    return own, [Field(tree, collapse(tree, x), roughness) for x in own]


def _normal_equations(
    source: Source, drift: Drift, fields: list[Field], start: Callable
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P' W (1 - H) P, P' W (y - f) for the field f as it stands, and P' (1 - H)' W (1 - H) P."""
    p = len(drift.mean)
    normal, freedom, whole, right = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), np.zeros(drift.coef.shape)
    own = replace(drift, fields=fields)
    for chunk in source:
        w, P = weights_of(chunk)[0], drift.scaled(_features_of(chunk))
        left, y = own.excess(chunk.X, _features_of(chunk)), _without(drift, chunk).y
        normal, whole = normal + (P.T * w) @ left, whole + w @ P**2
        freedom += (left.T * w) @ left
        residuals = y - start(chunk.X)
        right += (P.T * w) @ np.where((w > 0).reshape(-1, *[1] * (residuals.ndim - 1)), residuals, 0.0)
    normal = 0.5 * (normal + normal.T)
    sizes, vectors = np.linalg.eigh(normal / np.sqrt(np.outer(whole, whole)))
    if sizes[0] < _FREE_ALREADY:
        j = int(np.abs(vectors[:, 0]).argmax())
        raise ValueError(
            f"null_space or null_columns: feature {j} depends on the others or on what is free already, such as the "
            "polynomials that are not penalised: leave it out."
        )
    return normal, right, freedom


def _features_of(chunk: Observations) -> np.ndarray:
    assert chunk.features is not None
    return chunk.features


def _without(drift: Drift, chunk: Observations) -> Observations:
    """The values without the features."""
    assert chunk.y is not None
    return chunk._replace(y=chunk.y - drift.scaled(_features_of(chunk)) @ drift.coef)


def _features_as_values(drift: Drift, chunk: Observations) -> Observations:
    return chunk._replace(y=drift.scaled(_features_of(chunk)))


def _moments(source: Source, centered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and deviations of the features, (p,) each; what is not centred has the mean 0."""
    if source.functionals is not None:
        raise ValueError("null_space and null_columns go with values, not with functionals: leave one of them out.")
    total, first, second = 0.0, np.zeros(1), np.zeros(1)
    for chunk in source:
        if chunk.y is None or chunk.gradients is not None:
            raise ValueError("null_space and null_columns go with values, not with gradients: leave one of them out.")
        P, w = _features_of(chunk), weights_of(chunk)[0]
        total, first, second = total + w.sum(), first + w @ P, second + w @ P**2
    mean = first / max(total, np.finfo(float).tiny)
    deviation = np.sqrt(np.maximum(second / max(total, np.finfo(float).tiny) - mean**2, 0.0))
    constant = np.flatnonzero(deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300))
    if len(constant):
        raise ValueError(f"null_space or null_columns: feature {constant[0]} is constant at the points: leave it out.")
    return (mean if centered else np.zeros_like(mean)), deviation


def _first(source: Source, mean: np.ndarray, deviation: np.ndarray) -> Drift:
    """Coefficients of least squares beside a linear function."""
    drift = Drift(mean, deviation, np.zeros(len(mean)))
    normal: Any = 0.0
    right: Any = 0.0
    low = next(iter(source)).X.mean(axis=0)
    for chunk in source:
        assert chunk.y is not None
        w, P = weights_of(chunk)[0], drift.scaled(_features_of(chunk))
        columns = np.column_stack([np.ones(len(P)), chunk.X - low, P])
        y = np.where((w > 0).reshape(-1, *[1] * (chunk.y.ndim - 1)), chunk.y, 0.0)
        normal, right = normal + (columns.T * w) @ columns, right + (columns.T * w) @ y
    unit = np.sqrt(np.diag(normal)) + np.finfo(float).tiny
    scaled_right = (right.T / unit).T
    solution = (np.linalg.lstsq(normal / np.outer(unit, unit), scaled_right, rcond=1e-12)[0].T / unit).T
    return replace(drift, coef=solution[-len(mean) :])
