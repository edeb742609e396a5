"""What observations choose before a field is fitted: the energy, alpha, and a map of the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .anisotropy import Anisotropy, described, stretch
from .boxes import box_of
from .families import AUTO_DIMENSIONS, FEW, MOST_DIMENSIONS, Choice, choose
from .roughness import THIN_PLATE
from .settings import Settings
from .sources import Source, block_numbers, values_of
from .summary import Summary

CLOSE = 0.1  # of the tolerance, where alpha is small: far from the data little of the residual tells of a large error
BY_DEFAULT = "robust_gcv"  # where nothing but alpha is chosen
_VETO_POINTS, _VETO_BLOCKS, _VETO_SHARE = 30_000, 20, 5  # at most, blocks across, one of how many is held out
_VETO_LEAST = 100  # values that are held out, fewer of which cannot tell roughnesses apart
_STRETCH_POINTS = 2**17  # at most, for a map of the coordinates: the search for it costs more than these fits
_CLEARLY = 1.05  # mean square on them against that of the thin plate, from which on the latter is taken
_CONVINCING = 10.0  # by which minus twice the log likelihood must fall for a map of the coordinates

Fitter = Callable[[Source, Settings], Any]


def chosen(summary: Summary, settings: Settings, fit: Fitter) -> Settings:
    """The settings with all that the observations are to choose but an alpha by cross-validation; candidates are judged
    by fits of blocks, for which ``fit`` takes a source and settings.
    """
    wanted = settings.anisotropy
    if isinstance(wanted, str):
        settings = replace(settings, anisotropy=None)
    settings = _by_likelihood(summary, settings)
    if settings.by_likelihood and settings.family == "auto":
        settings = _unless_vetoed(summary, settings, fit)
    return _stretched(summary, settings, wanted == "rotated", fit) if isinstance(wanted, str) else settings


def _stretched(summary: Summary, settings: Settings, turned: bool, fit: Fitter) -> Settings:
    """The settings with a map of the coordinates, if likelihood and held-out blocks are both better with it."""
    values = _values(summary, settings)
    reason = _too_little(values, None) or ("there is one coordinate" if summary.bounds.shape[1] == 1 else "")
    if values is None or reason:
        return replace(settings, anisotropy=Anisotropy(details={"reason": reason}))
    choice = settings.choice
    if choice is None or not settings.by_likelihood:
        choice = choose(*values, settings.roughness)
    found = stretch(*values, choice, turned)
    anisotropy = Anisotropy(found.axes, described(found.axes) | {"gain": found.gain})
    if found.gain < _CONVINCING:
        reason = "the likelihood is hardly better with it"
        return replace(settings, anisotropy=Anisotropy(details=anisotropy.details | {"reason": reason}))
    other = replace(settings, anisotropy=anisotropy)
    if settings.by_likelihood:
        choice = replace(choice, roughness=found.roughness, alpha=found.alpha, deviance=found.deviance)
        choice = replace(choice, details=choice.details | _words(found.roughness, choice.details))
        other = replace(other, roughness=found.roughness, alpha=found.alpha, choice=choice)
    errors = _held_out(summary, [replace(part, family=None) for part in (settings, other)], fit, _STRETCH_POINTS)
    if not errors:
        reason = "there are no blocks to hold out"
        return replace(settings, anisotropy=Anisotropy(details=anisotropy.details | {"reason": reason}))
    details = anisotropy.details | {"held_out": {"isotropic": errors[0], "anisotropic": errors[1]}}
    if errors[1] >= errors[0]:
        reason = "held-out blocks are not better with it"
        return replace(settings, anisotropy=Anisotropy(details=details | {"reason": reason}))
    return replace(other, anisotropy=Anisotropy(found.axes, details))


def _words(roughness: Any, details: dict[str, Any]) -> dict[str, Any]:
    """The roughness, and the length of a tension, as the details of a choice name them."""
    length = {"length": (roughness.factors[2] / roughness.factors[1]) ** 0.5} if "length" in details else {}
    return {"roughness": str(roughness)} | length


def _values(summary: Summary, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Points in the coordinates of the energy, values and weights of the sample."""
    values = values_of(summary.sample(summary.n_sample)) if summary.n_sample else None
    if values is None:
        return None
    X = values[0] if settings.period is None else box_of(summary, settings)[0].unrolled(values[0])
    return settings.coordinates(X), *values[1:]


def _held_out(summary: Summary, candidates: Sequence[Settings], fit: Fitter, most: int) -> list[float]:
    """Sums of squared errors of candidates at blocks that are held out, of so many points; empty if there are none."""
    values = values_of(summary.sample(most))
    if values is None:
        return []
    X, y, w = values
    block = block_numbers((X - X.min(axis=0)) / candidates[0].scale, _VETO_BLOCKS)
    out = block % np.uint64(_VETO_SHARE) == 0
    if np.count_nonzero(out) < _VETO_LEAST or out.all():
        return []
    fields = (fit(Source.of(X[~out], y[~out], w[~out]), candidate).field for candidate in candidates)
    return [float((w[out] @ (field(X[out]) - y[out]) ** 2).sum()) for field in fields]


def _by_likelihood(summary: Summary, settings: Settings) -> Settings:
    """The settings with a roughness and alpha chosen by restricted likelihood, where that is asked for."""
    by_default = BY_DEFAULT if settings.criterion in ("auto", "reml") else settings.criterion
    if settings.family is None and not (settings.chosen and settings.criterion == "reml"):
        return replace(settings, criterion=by_default)
    values = _values(summary, settings)
    reason = _too_little(values, settings.family)
    if values is None or reason:
        choice = Choice(settings.roughness, np.nan, {}, {"reason": reason})
        return replace(settings, criterion=by_default, choice=choice)
    box, depth = box_of(summary, settings)
    least = 0.0 if depth is None else box.spacing / 2.0**depth
    choice = choose(*values, settings.roughness if settings.family is None else settings.family, least)
    settings = replace(settings, roughness=choice.roughness, choice=choice)
    if settings.criterion not in ("auto", "reml"):
        return settings
    if settings.family == "auto" and choice.roughness == THIN_PLATE and settings.criterion == "auto":
        details = choice.details | {"reason": "the values bend like a thin plate over a window"}
        plain = replace(choice, alpha=np.nan, deviance={}, details=details)
        return replace(settings, criterion=BY_DEFAULT, choice=plain)  # all of the data know more of alpha
    return replace(settings, alpha=choice.alpha, tol=CLOSE * settings.tol)


def _unless_vetoed(summary: Summary, settings: Settings, fit: Fitter) -> Settings:
    """The settings, or those of the thin plate by cross-validation if it is clearly better on held-out blocks."""
    choice = settings.choice
    if choice is None:
        return settings
    plain = replace(settings, roughness=THIN_PLATE, alpha="auto", criterion=BY_DEFAULT, family=None, choice=None)
    plain = replace(plain, tol=settings.tol / CLOSE)
    errors = _held_out(summary, [replace(settings, family=None), plain], fit, _VETO_POINTS)
    if not errors:
        return settings
    details = choice.details | {"held_out": {"chosen": errors[0], "order 2": errors[1]}}
    if errors[0] > _CLEARLY * errors[1]:
        reason = "the thin plate is clearly better on held-out blocks"
        return replace(plain, choice=Choice(THIN_PLATE, np.nan, {}, details | {"reason": reason}))
    return replace(settings, choice=replace(choice, details=details))


def _too_little(values: tuple[np.ndarray, ...] | None, family: str | None) -> str:
    """Why there is nothing to choose from, or why one has to ask for it, if so."""
    if values is None or len(np.unique(values[1], axis=0)) < FEW:
        return f"there are fewer than {FEW} different values"
    X = values[0]
    if X.shape[1] > MOST_DIMENSIONS:
        return f"windows have at most {MOST_DIMENSIONS} dimensions"
    if X.shape[1] > AUTO_DIMENSIONS and family == "auto":
        return "in three dimensions the choice takes long: operator='tension' makes it"
    return "all points coincide" if not np.ptp(X, axis=0).any() else ""
