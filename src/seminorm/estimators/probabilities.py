"""Probabilities of classes from decision values, fitted on leave-one-out values.

Leave-one-out values are what a machine gives to points that it has not seen, so that no inner cross-validation is
needed. The links keep the decision: the most probable class is the one predicted.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, logsumexp, softmax

_LARGEST = 20.0  # logarithm of the steepest slope, in units of the typical decision value
_SMALLEST = -12.0


def fit_slopes(values: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Slopes (2,) of the link for f < 0 and f > 0: the probability of sign 1 is 1 / (1 + exp(-slope f)).

    Each side is a maximum likelihood estimate, with one observation more of either kind at the mean decision value of
    that side, so that no slope is infinite. A side without values takes the slope of the other.
    """
    slopes = np.full(2, np.nan)
    for k, side in enumerate((-1.0, 1.0)):
        chosen = side * values > 0
        size, agrees, weight = np.abs(values[chosen]), signs[chosen] == side, weights[chosen]
        if not len(size):
            continue
        typical = np.average(size, weights=weight)
        size, agrees = np.r_[size, typical, typical], np.r_[agrees, True, False]
        weight = np.r_[weight, 1.0, 1.0 / (1.0 + weight.sum())]
        signed = np.where(agrees, size, -size)
        slopes[k] = _best_slope(lambda slope, f=signed, w=weight: -w @ _log_expit(slope * f), typical)
    return np.nan_to_num(np.where(np.isnan(slopes), slopes[::-1], slopes), nan=1.0)


def fit_temperature(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The factor of the scores (n, k) before the multinomial link, by maximum likelihood."""
    spread = float(np.abs(scores - scores.mean(axis=1, keepdims=True)).mean())
    if not spread > 0:
        return 1.0
    rows = np.arange(len(labels))
    extra = 1.0 / (1.0 + weights.sum())  # an observation of each class with equal scores of size spread

    def loss(slope: float) -> float:
        return float(
            -weights @ log_softmax(slope * scores, axis=1)[rows, labels] + extra * logsumexp([0.0, slope * spread])
        )

    return _best_slope(loss, spread)


def binary_probabilities(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Probabilities (n, 2) for decision values (n,)."""
    second = expit(values * np.where(values > 0, slopes[1], slopes[0]))
    return np.column_stack([1.0 - second, second])


def multinomial_probabilities(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities (n, k) for scores (n, k)."""
    return softmax(temperature * scores, axis=1)


def _log_expit(f: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0.0, -f)


def _best_slope(loss, unit: float) -> float:
    found = minimize_scalar(lambda log: loss(np.exp(log) / unit), bounds=(_SMALLEST, _LARGEST), method="bounded")
    return float(np.exp(found.x) / unit)
