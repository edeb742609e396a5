"""Does a sequence of squared norms level off, or grow without end? Judged by the ratios of its gains."""

import math
from dataclasses import dataclass

import numpy as np

LEVELED, GROWING, UNDECIDED = "levelled off", "keeps growing", "undecided"
_MOST_SHRINKING, _LEAST_GROWING = 0.9, 1.1  # ratios of gains per doubling of points or tenfold smaller ridge
_NEGLIGIBLE = 1e-10
_SETTLED = 0.1  # a rung counts if twice the points change it by less than this part of its gain
_UNRESOLVED = 4  # at most this number of the lowest rungs may fail to
_LARGEST_REST = 1e-3  # of N, still to come where it has levelled off


def resolved_rungs(norms: np.ndarray) -> int:
    """How many ridges, from the largest on, give about the same N on the largest set of points and the one before."""
    gains = np.diff(norms[-1], prepend=0.0)
    change = np.abs(norms[-1] - norms[-2])
    unsettled = change > _SETTLED * np.abs(gains) + _NEGLIGIBLE * norms[-1]
    return int(unsettled.argmax()) if unsettled.any() else norms.shape[1]


@dataclass(frozen=True)
class Trend:
    """A verdict on a ladder, the limit it tends to, and whether its gains form a geometric series."""

    verdict: str
    limit: float = math.nan
    regular: bool = False


def trends(norms: np.ndarray, rounding: np.ndarray, resolved: int, alternating: bool) -> tuple[Trend, Trend]:
    """The trends of N as points are added, and as the ridge is lowered."""
    largest, last = norms[-1], norms[-1, -1]
    if resolved >= len(largest) - _UNRESOLVED:
        regularization = _trend(largest[:resolved], rounding[-1, :resolved], 2, _LARGEST_REST, 5 * _LARGEST_REST)
        if regularization.verdict == LEVELED and _slower_series_emerges(largest[:resolved]):
            regularization = Trend(UNDECIDED)
        return Trend(LEVELED, last), regularization
    # the lower ridges see that there are finitely many points: the refinement says what they miss
    refinement = _trend(norms[:, -1], rounding[:, -1], 1, _LARGEST_REST, 20 * _LARGEST_REST)
    regularization = _trend(largest[:resolved], rounding[-1, :resolved], 2, math.inf, math.inf)
    ridge_matters = abs(last - largest[-3]) > _SETTLED * abs(last - norms[-2, -1])
    if refinement.regular and not ridge_matters and regularization.verdict == UNDECIDED:
        regularization = Trend(LEVELED, last)
    elif refinement.verdict != LEVELED and _irregular_points_suffice(norms, resolved, regularization):
        refinement = Trend(LEVELED, last)
    elif refinement.verdict == GROWING and regularization.verdict == LEVELED:
        refinement = Trend(UNDECIDED)
    elif refinement.verdict == UNDECIDED and alternating:
        refinement = _pairwise_trend(norms[:, -1])
    return refinement, Trend(regularization.verdict, last)


def _slower_series_emerges(values: np.ndarray) -> bool:
    """Whether smooth ratios of gains rise faster and faster: a slower series, of a weak singularity, comes to light."""
    gains = np.diff(values)
    if gains[-7:].sum() <= 1e-2 * _LARGEST_REST * values[-1]:
        return False
    ratios = (gains[1:] / np.where(gains[:-1] > 0, gains[:-1], np.nan))[-7:]
    rise, earlier_rise = ratios[-1] - ratios[-4], ratios[-4] - ratios[-7]
    return bool(np.ptp(ratios) < 0.1 and rise > max(earlier_rise, 1e-3))


def _pairwise_trend(values: np.ndarray) -> Trend:
    """Whether the gains of two refinements at a time shrink fast: sets of points that alternate in kind."""
    gains = np.diff(values)
    sums = gains[len(gains) % 2 :].reshape(-1, 2).sum(axis=1)[-3:]
    if len(sums) < 3 or (sums <= 0).any():
        return Trend(UNDECIDED)
    ratios = sums[1:] / sums[:-1]
    rest = sums[-1] * ratios[1] / abs(1.0 - ratios[1])
    fast = ratios.max() + max(ratios[1] - ratios[0], 0.0) < 0.5
    return Trend(LEVELED, values[-1] + rest) if fast and rest < 10 * _LARGEST_REST * values[-1] else Trend(UNDECIDED)


def _irregular_points_suffice(norms: np.ndarray, resolved: int, regularization: Trend) -> bool:
    """Whether irregular points have stopped to matter, or add no more than fast falling gains of the ridge promise."""
    gains = np.diff(norms[:, -1])
    if (np.abs(gains[-3:]) <= 1e-2 * _LARGEST_REST * norms[-1, -1]).all():
        return True
    ridge_gains = np.diff(norms[-1, :resolved])
    fast = regularization.regular and ridge_gains[-1] < math.sqrt(0.5) * ridge_gains[-2]
    promised, found = regularization.limit - norms[-1, resolved - 1], norms[-1, -1] - norms[-1, resolved - 1]
    return bool(fast and found < 1.5 * promised < 15 * _LARGEST_REST * norms[-1, -1])


def _trend(
    values: np.ndarray, rounding: np.ndarray, steps_per_unit: int, largest_rest: float, largest_regular_rest: float
) -> Trend:
    """Whether a sequence levels off or grows without end, judged by the ratios of successive gains.

    Gains may come in lumps (one for each eigenvalue of a smooth kernel): they are summed over parts of the ladder.
    """
    gains = np.diff(values)
    small = np.abs(gains) <= _NEGLIGIBLE * values[1:] + 4.0 * rounding[1:]
    if len(gains) >= 3 and small[-3:].all() and np.abs(gains[-3:]).sum() <= 1e-6 * values[-1]:
        return Trend(LEVELED, values[-1])
    gains = gains[: int(small.argmax())] if small.any() else gains
    if len(gains) < 4:
        return Trend(UNDECIDED)
    together = len(gains) // 4
    sums = _last_four(gains, together)
    half = max(1, len(gains) // 8)
    if _grows(sums, together / steps_per_unit) or _grows(_last_four(gains, half), half / steps_per_unit):
        return Trend(GROWING, math.inf)
    if np.abs(sums[-1]) <= 1e-2 * _LARGEST_REST * values[-1]:
        return Trend(LEVELED, values[-1])
    if not _shrinks(sums, together / steps_per_unit):
        return Trend(UNDECIDED)
    rest = sums[-1] ** 2 / (sums[-2] - sums[-1])
    regular = _regular(gains)
    if rest > (largest_regular_rest if regular else largest_rest) * values[-1]:
        return Trend(UNDECIDED)
    return Trend(LEVELED, values[-1] + rest, regular)


def _last_four(gains: np.ndarray, together: int) -> np.ndarray:
    return gains[len(gains) - 4 * together :].reshape(4, together).sum(axis=1)


def _grows(sums: np.ndarray, units: float) -> bool:
    if (sums <= 0).any():
        return False
    ratios = sums[1:] / sums[:-1]
    return bool(ratios.min() + min(ratios[2] - ratios[0], 0.0) > _LEAST_GROWING**units)


def _shrinks(sums: np.ndarray, units: float) -> bool:
    if (sums <= 0).any():
        return False
    ratios = sums[1:] / sums[:-1]
    turning = ratios[2] - ratios[1] > max(ratios[1] - ratios[0], 0.02)
    return bool(not turning and ratios.max() + max(ratios[2] - ratios[0], 0.0) < _MOST_SHRINKING**units)


def _regular(gains: np.ndarray) -> bool:
    """Whether the last ratios of gains are alike, and do not creep up: a slower series may hide under a fast one."""
    if (gains[-5:] <= 0).any():
        return False
    ratios = (gains[1:] / gains[:-1])[-4:]
    return bool(np.ptp(ratios) < 0.1 and ratios[-1] - ratios.min() < 0.025)


def verdict(refinement: str, regularization: str) -> bool | None:
    """Whether the function belongs to the space, from the verdicts on both ladders; None if undecided."""
    if GROWING in (refinement, regularization):
        return False
    return True if refinement == regularization == LEVELED else None
