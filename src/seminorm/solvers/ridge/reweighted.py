"""Penalised likelihoods: alpha |f|^2 plus weighted deviances, by Newton's method on the ridge system.

Near f a deviance is curvature (f - target)^2, so a Newton step is a ridge regression with working weights and working
responses [Green and Silverman 1994, 5.3], and what holds for that one at the minimum holds for the fit: leave-one-out
values (one Newton step from the fit of all), the posterior by Laplace's approximation, and the determinants in
the marginal likelihood [Wood 2011].
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from ..._base.warnings import warn_user
from ...deviances import Deviance
from .selection import Solution
from .system import Factor, ReducedSystem

CRITERIA = ("auto", "loo", "reml")
_TOLERANCE = 1e-10  # of the slopes, in units of the largest
_STEPS = 200
_STALLED, _ROUNDED = 3, 1e-5  # steps without descent after which slopes of this size are rounding
_DECADES = (1, -12)  # of the alphas tried, in units of the trace
_PAST = 3  # steps for which the criterion rises before the search ends
_WORST = 0.9  # effective degrees of freedom, as a share of n, at which it ends too
_NOTHING_LEFT = 1e-4  # mean deviance, where that of the noise is known to be near 1
_FINER = 6
_WORSE = 1.2  # deviance of what is left out, over that of the constant, that deserves a warning
_CLOSE = 0.03  # share of the deviance left out by which the most likely alpha may be worse than the best
_SHARPEST = 1e-16  # a dispersion that is rounding
_PHI = (-20.0, 20.0)  # log of the dispersion, in units of that of the residuals


class SeparableError(ValueError):
    """A function that the regulariser leaves free fits the data better and better as it grows."""


class LikelihoodData(NamedTuple):
    """What is fitted: K (n, n), P (n, r) of full rank, a loss of n points with weights, and what merged samples had."""

    K: np.ndarray
    P: np.ndarray
    loss: Deviance
    weights: np.ndarray
    samples: Deviance  #: before samples at the same point were merged; of the dispersion
    sample_weights: np.ndarray
    scatter: float  #: deviance of the samples about the means of their points


class PenalizedFit(NamedTuple):
    """The minimum at one alpha."""

    alpha: float
    dual: np.ndarray
    null: np.ndarray
    values: np.ndarray  #: f at the points
    energy: float  #: |f|^2
    deviance: float


class Working(NamedTuple):
    """The ridge regression that a fit is, at its minimum."""

    weights: np.ndarray
    targets: np.ndarray
    factor: Factor


def refuse_separable(data: LikelihoodData) -> None:
    """Raise an error if a function of the null space never makes a deviance larger, and so grows for ever."""
    signs = data.loss.directions()
    if not data.P.shape[1] or not signs.any():
        return
    rows = np.where(signs == 0.0, 1.0, signs)[:, None] * data.P
    rows = rows / np.abs(rows).max(axis=0)
    low, high = np.zeros(len(rows)), np.where(signs == 0.0, 0.0, 1.0)
    found = linprog(
        -rows[signs != 0.0].sum(axis=0),
        A_ub=np.vstack([-rows, rows]),
        b_ub=np.concatenate([-low, high]),
        bounds=(None, None),
        method="highs",
    )
    if found.status == 0 and -found.fun > 1e-6:
        constant = np.ptp(data.loss.y) == 0.0
        raise SeparableError(
            f"y is {data.loss.y[0]:g} everywhere, and then the constant grows without end: there is nothing to fit."
            if constant
            else "the functions that the regulariser leaves free separate the extreme values of y from the others, and "
            "then they grow without end: use null_space='soft', which puts a price on them, or a kernel that leaves "
            "only the constant free (NegativeDistance)."
        )


def fit(data: LikelihoodData, alpha: float, start: PenalizedFit | None = None) -> PenalizedFit:
    """The minimum at alpha, by damped Newton steps from another fit."""
    loss, weights = data.loss, data.weights
    f = loss.link(loss.start(weights)) if start is None else start.values
    scale = max(float(np.abs(weights * loss.gradient(f)).max()) / 2, float((weights * loss.curvature(f)).max()))
    current = _newton(data, alpha, f) if start is None else start._replace(alpha=alpha)
    stalled = 0
    for _ in range(_STEPS):
        slope = 0.5 * weights * loss.gradient(current.values) + alpha * current.dual  # zero at the minimum
        size = np.abs(slope).max()
        if size <= _TOLERANCE * scale or (stalled >= _STALLED and size <= _ROUNDED * scale):
            return current
        before, current = _objective(current), _between(data, current, _newton(data, alpha, current.values))
        stalled = stalled + 1 if before - _objective(current) <= 1e-13 * abs(before) else 0
    warn_user(
        f"the penalised likelihood for alpha={alpha:g} has not reached its minimum within {_STEPS} steps: fitted means "
        "may have reached the end of their range (0 or 1, or 0), or the system is singular to working precision. Use a "
        "larger alpha."
    )
    return current


def working(data: LikelihoodData, values: np.ndarray, alpha: float) -> Working:
    """The ridge regression that touches the objective at f; at the minimum, its solution is f."""
    weights, targets = data.weights * data.loss.curvature(values), data.loss.targets(values)
    system = ReducedSystem(np.array(data.K), data.P, targets[:, None], weights)
    return Working(weights, targets, Factor(system, alpha))


def _newton(data: LikelihoodData, alpha: float, f: np.ndarray) -> PenalizedFit:
    """Where the quadratic that touches the objective at f has its minimum."""
    factor = working(data, f, alpha).factor
    dual, null = (part[:, 0] for part in factor.system.coefficients(factor.g))
    return _at(data, alpha, dual, null)


def _at(data: LikelihoodData, alpha: float, dual: np.ndarray, null: np.ndarray) -> PenalizedFit:
    smooth = data.K @ dual
    f = smooth + data.P @ null
    with np.errstate(invalid="ignore", over="ignore"):
        deviance = float(data.weights @ data.loss.value(f))
    return PenalizedFit(alpha, dual, null, f, float(dual @ smooth), deviance)


def _objective(fitted: PenalizedFit) -> float:
    value = fitted.alpha * fitted.energy + fitted.deviance
    return value if np.isfinite(value) else np.inf


def _between(data: LikelihoodData, current: PenalizedFit, step: PenalizedFit) -> PenalizedFit:
    """The step, or the first of its halves at which the objective is not larger."""
    before = _objective(current)
    share, trial = 1.0, step
    while _objective(trial) > before + 1e-12 * abs(before) and share > 1e-10:
        share *= 0.5
        dual = current.dual + share * (step.dual - current.dual)
        trial = _at(data, current.alpha, dual, current.null + share * (step.null - current.null))
    return trial


def left_out_values(data: LikelihoodData, factor: Factor, targets: np.ndarray) -> np.ndarray:
    """f at each point from a fit without it, by one Newton step [Rad and Maleki 2020]."""
    return targets - factor.leave_one_out()[:, 0]


def left_out_deviance(data: LikelihoodData, work: Working) -> float:
    """Weighted mean of the deviances of what is left out."""
    f = left_out_values(data, work.factor, work.targets)
    with np.errstate(invalid="ignore", over="ignore"):
        score = float(data.weights @ data.loss.value(f)) / data.weights.sum()
    return score if np.isfinite(score) else np.inf


def marginal_likelihood(data: LikelihoodData, fitted: PenalizedFit, factor: Factor) -> tuple[float, float]:
    """Minus the logarithm of the restricted likelihood by Laplace's approximation [Wood 2011], and the dispersion.

    With the contrasts M of the working system and its triangle R it is, up to r log(2 pi) / 2, half of
    (D + alpha |f|^2) / phi + log|M / alpha + I| + 2 log|R| - r log phi, less the likelihood at the data themselves.
    """
    system = factor.system
    degrees, rank = system.size - system.rank, system.rank
    logdet = factor.logdet - degrees * math.log(fitted.alpha)
    logdet += 2.0 * float(np.log(np.abs(np.diag(system.R))).sum()) if rank else 0.0
    energy = fitted.deviance + data.scatter + fitted.alpha * fitted.energy

    def score(phi: float) -> float:
        saturated = data.samples.saturated(data.sample_weights, phi)
        return 0.5 * (energy / phi + logdet - rank * math.log(2.0 * math.pi * phi)) - saturated

    if data.loss.dispersion is not None:
        return score(data.loss.dispersion), data.loss.dispersion
    start = math.log(max(energy / data.sample_weights.sum(), _SHARPEST))
    found = minimize_scalar(
        lambda t: score(math.exp(start + t)), bounds=_PHI, method="bounded", options={"xatol": 1e-10}
    )
    return float(found.fun), math.exp(start + found.x)


class _Trial(NamedTuple):
    fitted: PenalizedFit
    score: float
    edf: float
    unlikely: float  #: minus the logarithm of the marginal likelihood


class _AlphaSearch:
    """Fits at several alphas, each started from the nearest one."""

    def __init__(self, data: LikelihoodData, criterion: str):
        self.data, self.criterion = data, criterion
        self.trials: dict[float, _Trial] = {}

    def __call__(self, alpha: float) -> _Trial:
        near = min(self.trials, key=lambda known: abs(math.log(known / alpha)), default=None)
        fitted = fit(self.data, alpha, None if near is None else self.trials[near].fitted)
        work = working(self.data, fitted.values, alpha)
        unlikely = marginal_likelihood(self.data, fitted, work.factor)[0]
        score = unlikely if self.criterion == "reml" else left_out_deviance(self.data, work)
        trial = _Trial(fitted, score, _degrees(work.factor), unlikely)
        self.trials[alpha] = trial
        return trial

    def descend(self, trace: float) -> None:
        """One alpha per decade, until the criterion has risen for long."""
        for decade in range(_DECADES[0], _DECADES[1] - 1, -1):
            trial = self(trace * 10.0**decade)
            scores = [known.score for known in self.trials.values()]
            known = self.data.loss.dispersion is not None
            if known and trial.fitted.deviance < _NOTHING_LEFT * min(len(self.data.K), self.data.weights.sum()):
                return  # all means are at an end of their range
            if trial.edf > _WORST * len(self.data.K) or len(scores) - 1 - int(np.argmin(scores)) >= _PAST:
                return

    def refine(self) -> None:
        """Halve the intervals on both sides of the minimum."""
        for _ in range(_FINER // 2):
            known = sorted(self.trials)
            k = known.index(self.best)
            for a, b in ((k - 1, k), (k, k + 1)):
                if a >= 0 and b < len(known):
                    self(math.sqrt(known[a] * known[b]))

    @property
    def best(self) -> float:
        """The alpha with the lowest score, the largest of several; for "auto" the most likely one of those that leave
        out nearly as well as the best."""
        if self.criterion != "auto":
            return max(self.trials, key=lambda alpha: (-self.trials[alpha].score, alpha))
        enough = (1.0 + _CLOSE) * min(trial.score for trial in self.trials.values())
        good = [alpha for alpha, trial in self.trials.items() if trial.score <= enough]
        return min(good, key=lambda alpha: (self.trials[alpha].unlikely, -alpha))


def _degrees(factor: Factor) -> float:
    summary = factor.summary()
    return float(factor.system.rank + factor.kept - factor.alpha * summary.trace[0])


def _warn_if_worse_than_a_constant(data: LikelihoodData, left_out: float) -> None:
    """Laplace's approximation may prefer fits near the ends of the range of the mean, where it does not hold."""
    constant = np.full(len(data.K), data.loss.link(np.average(data.loss.y, weights=data.weights)))
    alone = float(data.weights @ data.loss.value(constant)) / data.weights.sum()
    if left_out > _WORSE * alone:
        warn_user(
            f"the most likely alpha predicts what is left out worse than a constant does (mean deviance {left_out:.3g} "
            f"against {alone:.3g}): use criterion='auto', or give alpha a number."
        )


def solve_likelihood(
    data: LikelihoodData, alpha: float | Iterable[float] | None, criterion: str
) -> tuple[Solution, PenalizedFit, Working]:
    """The fit at a given alpha, or at the best of some, or (None) at the best one.

    The solution is that of the working system, and its variance that of the Gaussian process.
    """
    n, rank = data.P.shape
    if n <= rank:
        raise ValueError(
            f"X has n_samples={n} distinct observations, no more than the {rank} functions that are free: give more "
            "points, or a smaller null_space."
        )
    refuse_separable(data)
    search = _AlphaSearch(data, criterion)
    if alpha is None:
        loss = data.loss
        first = data.weights * loss.curvature(loss.link(loss.start(data.weights)))
        system = ReducedSystem(np.array(data.K), data.P, np.zeros((len(data.K), 1)), first)
        search.descend(max(float(np.trace(system.M)), np.finfo(float).tiny * 1e20))
        search.refine()
    else:
        for value in sorted(np.atleast_1d(np.asarray(alpha, dtype=float)), reverse=True):
            search(float(value))
    chosen = search.trials[search.best]
    if not np.isfinite(chosen.score) and alpha is None:
        raise ValueError("alpha could not be chosen: the criterion is not finite for any alpha. Give alpha a number.")
    work = working(data, chosen.fitted.values, chosen.fitted.alpha)
    dispersion = marginal_likelihood(data, chosen.fitted, work.factor)[1]
    alphas = sorted(search.trials)
    path = {
        "alpha": np.array(alphas),
        "score": np.array([search.trials[value].score for value in alphas]),
        "edf": np.array([search.trials[value].edf for value in alphas]),
    }
    variance = np.array([dispersion / chosen.fitted.alpha])
    left_out = left_out_deviance(data, work)
    if criterion == "reml" and alpha is None:
        _warn_if_worse_than_a_constant(data, left_out)
    solution = Solution(chosen.fitted.alpha, path, work.factor.g, chosen.edf, variance, work.factor, left_out=left_out)
    return solution, chosen.fitted, work
