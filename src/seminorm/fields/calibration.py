"""How large the deviations of a field are, judged by blocks that are held out.

The prior of a semi-norm is the same everywhere, and the data may be rougher in some places than in others, or have
tails that are heavier than those of a normal distribution. Then the posterior is too narrow or too wide.
"""

from dataclasses import replace

import numpy as np
from scipy import optimize, special

from .fit import Fit, fit_levels
from .posterior import Posterior
from .settings import Settings
from .sources import Source, block_numbers, values_of
from .summary import Summary

_POINTS, _DRAWS = 2**17, 24  # at most; of the posterior of the part that is fitted
_ACROSS, _SHARE = 20, 5  # blocks along the longest side, one of how many is held out
_LEAST, _BLOCKS = 500, 20  # values and blocks that are held out, fewer of which say too little
_LEVEL = 0.95
_WIDEST, _STEP = 1.4, 0.2  # logarithms
_PRIOR = 0.3  # deviation of the logarithm of a factor
_TINY = np.finfo(float).tiny
_TOL = 0.1  # of the tolerance


def settings_again(fit: Fit, given: Settings) -> Settings:
    """Settings that repeat a fit with other observations: those given, with what was chosen."""
    choice = fit.choice if fit.criterion == "reml" else None
    chosen = replace(given, alpha=fit.alpha, roughness=fit.field.roughness, family=None, choice=choice)
    return replace(chosen, criterion="auto", tol=_TOL * given.tol)


def deviation_factor(source: Source, settings: Settings, draws: int = 64) -> float:
    """What the posterior deviations of f are multiplied by so that bands of 95 % cover as many values of held-out
    blocks, noise included; nearer to 1 the less these tell.

    ``settings`` have the roughness and alpha of the fit, and deviations come from so many ``draws``. It is 1 where
    there is too little to judge by, and beside gradients or other functionals.
    """
    summary = Summary(_POINTS)
    for number, chunk in enumerate(source):
        if chunk.gradients is not None:
            return 1.0
        summary.add(chunk, number * 2**32)
    values = values_of(summary.sample(_POINTS), 1.0) if source.functionals is None and summary.n_sample else None
    if values is None or not np.ptp(values[0], axis=0).any():
        return 1.0
    X, y, w = values
    block = block_numbers((X - X.min(axis=0)) / settings.scale, _ACROSS)
    out = block % np.uint64(_SHARE) == 0
    _, place = np.unique(block[out], return_inverse=True)
    if len(place) < _LEAST or place.max() + 1 < _BLOCKS:
        return 1.0
    error, variance, noise = _held_out(X, y, w, out, settings)
    error, variance, noise = (part.T.reshape(-1) for part in (error, variance, noise))  # outputs one by one
    return _factor(error, variance, noise, np.tile(place, len(error) // len(place)), draws)


def _held_out(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, out: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors at the points that are left out, the variances of f there, and those of the noise."""
    *_, fit = fit_levels(Source.of(X[~out], y[~out], w[~out]), settings)
    posterior: Posterior = fit.posterior()
    variance = np.mean([field(X[out]) ** 2 for field in posterior.unit_samples(_DRAWS)], axis=0)
    noise = posterior.of_outputs(1.0 / w[out])
    return y[out] - fit.field(X[out]), posterior.of_outputs(variance), noise


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
