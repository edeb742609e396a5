"""How large the deviations of a field are, judged by blocks that are held out.

The prior of a semi-norm is the same everywhere, and the data may be rougher in some places than in others, or have
tails that are heavier than those of a normal distribution. Then the posterior is too narrow or too wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from .features import fit_with_features
from .fit import Fit, fit_levels
from .settings import Settings
from .sources import Observations, Source, block_numbers, take, weights_of
from .summary import Summary

_POINTS, _DRAWS = 2**17, 16  # at most; of the posterior of the part that is fitted
_ACROSS, _SHARE = 20, 5  # blocks along the longest side, one of how many is held out
_LEAST, _BLOCKS = 500, 20  # values and blocks that are held out, fewer of which say too little
_LEVEL = 0.95
_WIDEST, _STEP = 1.4, 0.2  # logarithms
_PRIOR = 0.3  # deviation of the logarithm of a factor
_TINY = np.finfo(float).tiny
_TOL = 0.1  # of the tolerance


@dataclass(frozen=True)
class Repetition:
    """How a fit is repeated with other observations: settings with what was chosen. With a robust loss also the
    ``factors`` (n,) that it gave to the weights, the ``least`` of them that noise explains, and the ``scale`` of noise.
    """

    settings: Settings
    factors: np.ndarray | None = None
    least: float = 0.0
    scale: float | None = None

    @classmethod
    def of(cls, fit: Fit, given: Settings, least: float = 0.0) -> Repetition:
        """That of a fit with given settings."""
        choice = fit.choice if fit.criterion == "reml" else None
        chosen = replace(
            given, alpha=fit.alpha, roughness=fit.field.roughness, family=None, choice=choice, anisotropy=fit.anisotropy
        )
        return cls(replace(chosen, criterion="auto", tol=_TOL * given.tol), fit.factors, least, fit.scale)


class _Sample(NamedTuple):
    """Values of positive weight with features and robust factors, and which ones are held out; values that noise does
    not explain are not.
    """

    chunk: Observations
    factor: np.ndarray
    out: np.ndarray
    place: np.ndarray  #: numbers of the blocks that are held out


def deviation_factor(source: Source, repetition: Repetition, draws: int = 64) -> float:
    """What the posterior deviations of f are multiplied by so that bands of 95 % cover as many values of held-out
    blocks, noise included; nearer to 1 the less these tell.

    The repetition has the roughness and alpha of the fit, and deviations come from so many ``draws``. It is 1 where
    there is too little to judge by, and beside gradients or other functionals. With a robust loss the source has the
    weights that it gave, and outliers are not among the values to cover.
    """
    sample = _sample(source, repetition)
    if sample is None or len(sample.place) < _LEAST or sample.place.max() + 1 < _BLOCKS:
        return 1.0
    error, variance, noise = (part.T.reshape(-1) for part in _held_out(sample, repetition))  # outputs one by one
    return _factor(error, variance, noise, np.tile(sample.place, len(error) // len(sample.place)), draws)


def _sample(source: Source, repetition: Repetition) -> _Sample | None:
    """Of the observations, unless they are no values, or all the same, or all at one point."""
    summary, first = Summary(_POINTS), 0
    for number, chunk in enumerate(source):
        if chunk.gradients is not None:
            return None
        if repetition.factors is not None:  # travels with the features
            own = repetition.factors[first : first + len(chunk.X)]
            features = own[:, None] if chunk.features is None else np.column_stack([chunk.features, own])
            chunk = chunk._replace(sample_weight=weights_of(chunk)[0] / own, features=features)
        summary.add(chunk, number * 2**32)
        first += len(chunk.X)
    if source.functionals is not None or not summary.n_sample:
        return None
    chunk = summary.sample(_POINTS)
    chunk = take(chunk, weights_of(chunk)[0] > 0)
    if chunk.y is None or not len(chunk.X) or not (np.ptp(chunk.y, axis=0).any() and np.ptp(chunk.X, axis=0).any()):
        return None
    factor = np.ones(len(chunk.X))
    if repetition.factors is not None:
        assert chunk.features is not None
        factor = chunk.features[:, -1]
        chunk = chunk._replace(features=chunk.features[:, :-1] if chunk.features.shape[1] > 1 else None)
    block = block_numbers((chunk.X - chunk.X.min(axis=0)) / repetition.settings.scale, _ACROSS)
    out = block % np.uint64(_SHARE) == 0
    judged = out & (factor >= repetition.least)
    return _Sample(chunk, np.where(out, 0.0, factor), judged, np.unique(block[judged], return_inverse=True)[1])


def _held_out(sample: _Sample, repetition: Repetition) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors at the values that are held out, the variances of f there, and those of the noise."""
    chunk, out = sample.chunk, sample.out
    fitted = sample.factor > 0.0
    training = take(chunk._replace(sample_weight=weights_of(chunk)[0] * sample.factor), fitted)
    levels = fit_levels if chunk.features is None else fit_with_features
    *_, fit = levels(Source(lambda: [training]), repetition.settings)
    posterior = replace(fit, scale=repetition.scale).posterior()
    test = take(chunk, out)
    assert test.y is not None
    variance = np.mean([field(test.X) ** 2 for field in posterior.unit_samples(_DRAWS)], axis=0)
    error = test.y - fit.field(test.X)
    if fit.drift is not None and test.features is not None:
        error = error - test.features @ fit.drift.given_coef
        variance = variance + fit.drift.variance(test.X, test.features)
    return error, posterior.of_outputs(variance), posterior.of_outputs(1.0 / weights_of(test)[0])


def _factor(error: np.ndarray, variance: np.ndarray, noise: np.ndarray, place: np.ndarray, draws: int) -> float:
    """The mean of its logarithm, given a prior around 0 and the coverage, whose chance is that between blocks."""
    width = special.ndtri(0.5 + 0.5 * _LEVEL)
    # a mean of a few squares is uncertain, and a band from it must be wider: those of Student are known
    wider = width * special.stdtrit(_DRAWS, 0.5 + 0.5 * _LEVEL) / special.stdtrit(draws, 0.5 + 0.5 * _LEVEL)

    def inside(logarithm: float) -> np.ndarray:
        return error**2 <= (wider * np.exp(logarithm)) ** 2 * variance + width**2 * noise

    def excess(logarithm: float) -> float:
        return float(inside(logarithm).mean()) - _LEVEL

    ends = (-_WIDEST, 0.0) if excess(0.0) > 0.0 else (0.0, _WIDEST)
    if excess(ends[0]) > 0.0:
        found = ends[0]
    else:
        found = ends[1] if excess(ends[1]) <= 0.0 else optimize.brentq(excess, *ends, xtol=1e-3)
    number, covered = np.bincount(place), np.bincount(place, inside(found))
    chance = np.sqrt(((covered - number * covered.sum() / number.sum()) ** 2).sum()) / number.sum()
    slope = (excess(found + _STEP) - excess(found - _STEP)) / (2.0 * _STEP)
    return float(np.exp(found * (_PRIOR * slope) ** 2 / max((_PRIOR * slope) ** 2 + chance**2, _TINY)))
