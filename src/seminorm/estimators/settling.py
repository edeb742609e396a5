"""What is left open in a kernel until data are there: names of columns, units of columns, length scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone

from .._base.patterns import is_plain
from .._base.warnings import warn_user
from ..kernels import Kernel
from ..kernels.algebra import Scaled
from ..kernels.base import ROTATION
from .learned_metric import LearnedMetric

METRICS = (None, "auto", "standardize", "diagonal", "full")
LEARNED = ("diagonal", "full")
AUTO = "auto"
_RANGES = 1000.0
_WINDOWS = (None, 0.25, 0.1, 0.05, 0.0)  # of distances of series, to choose from
_SAMPLE = 400
_FACTOR = 2.0
_STEPS = 10
_GAIN = 1e-3


def named_kernel(kernel: Any, names: Sequence[str] | None = None) -> Kernel:
    """The kernel that the user gave, checked, with names of columns replaced by their numbers."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel of seminorm.kernels such as ThinPlate(), got {_way_out(kernel)}")
    return with_column_numbers(clone(kernel), names)


def _way_out(kernel: Any) -> str:
    """What was given, and what was probably meant."""
    meant = {"rbf": "Gaussian('auto')", "gaussian": "Gaussian('auto')", "linear": "Linear()", "poly": "Polynomial(3)"}
    meant |= {"sigmoid": "a definite kernel such as Gaussian('auto')", "tps": "ThinPlate()"}
    if isinstance(kernel, str):
        return f"{kernel!r}: {meant.get(kernel.lower(), 'ThinPlate(), Gaussian(scale) ...')} is the kernel to give."
    if isclass(kernel):
        return f"the class {kernel.__name__}: make one of it, {kernel.__name__}()."
    if hasattr(kernel, "pairwise"):
        return f"the distance {kernel!r}: make it a kernel, seminorm.invariance.DistanceKernel(Gaussian(), distance)."
    return f"{kernel!r}."


def with_column_numbers(item: Any, names: Sequence[str] | None) -> Any:
    """A kernel, a null space or a list of columns with the names of columns replaced by their numbers."""
    if isinstance(item, (list, tuple, np.ndarray)):
        return [_number(column, names) for column in item] if any(isinstance(c, str) for c in item) else item
    if not hasattr(item, "get_params") or isclass(item):
        return item
    found = {
        key: with_column_numbers(value, names)
        for key, value in item.get_params().items()
        if key.split("__")[-1] == "columns" and isinstance(value, (list, tuple, np.ndarray, str))
    }
    found = {key: [_number(value, names)] if isinstance(value, str) else value for key, value in found.items()}
    return item.set_params(**found) if found else item


def _number(column: Any, names: Sequence[str] | None) -> Any:
    if not isinstance(column, str):
        return column
    if names is None:
        raise ValueError(f"columns names {column!r}, and X has no names of columns: give a DataFrame, or numbers.")
    known = list(names)
    if column not in known:
        raise ValueError(f"columns names {column!r}, and those of X are {', '.join(map(repr, known))}.")
    return known.index(column)


def standardized(kernel: Kernel, X: Any, weights: np.ndarray) -> Kernel:
    """The kernel after dividing each column of X by its standard deviation (constant columns stay as they are)."""
    if not is_plain(X):
        raise ValueError(
            "metric='standardize' needs a dense X of numbers: scale sparse columns or patterns yourself, or use "
            "metric=None."
        )
    deviation = np.sqrt(np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights))
    size = np.abs(X).max(axis=0, initial=0.0)
    return kernel.axis_scale(np.where(deviation > 1e-12 * size, deviation, 1.0)).for_dimension(X.shape[1])


def check_metric(metric: Any) -> None:
    """Raise an error for anything but a name, or an object that learns a matrix."""
    named = metric is None or (isinstance(metric, str) and metric in METRICS)
    if not named and (isinstance(metric, str) or isclass(metric) or not hasattr(metric, "fit")):
        raise ValueError(
            f"metric must be one of {', '.join(map(repr, METRICS))}, or a LearnedMetric(), got {metric!r}."
        )


def is_learned(metric: Any) -> bool:
    """Whether a metric is to be learned from targets."""
    return metric is not None and not (isinstance(metric, str) and metric not in LEARNED)


def learn_metric(metric: Any, X: Any, y: np.ndarray, weights: np.ndarray) -> Any:
    """A trained metric, with ``matrix_``, for values y (n,) or (n, k), or numbers of classes."""
    if not is_plain(X):
        raise ValueError(f"metric={metric!r} needs a dense X: use metric=None.")
    codes = np.eye(int(y.max()) + 1)[y] if y.dtype.kind in "iu" else y
    if not isinstance(metric, str):
        return clone(metric).fit(X, codes, sample_weight=weights)
    return LearnedMetric(metric, power=0.75 if metric == "full" else 1.0).fit(X, codes, sample_weight=weights)


def in_metric(kernel: Kernel, metric: Any) -> Kernel:
    """The kernel of the points in a learned metric."""
    matrix = np.asarray(metric.matrix_)
    return kernel.linear_map(matrix).for_dimension(len(matrix))


def warn_of_units(kernel: Any, X: Any) -> None:
    """Warn if the columns of X differ so much in range that a kernel that treats them alike sees only the largest."""
    alike = kernel is None or (isinstance(kernel, Kernel) and ROTATION in kernel.invariances)
    if not is_plain(X) or X.shape[1] < 2 or not alike:
        return
    ranges = np.ptp(X, axis=0)
    ranges = ranges[ranges > 0]
    if len(ranges) > 1 and ranges.max() > _RANGES * ranges.min():
        warn_user(
            f"the ranges of the columns of X differ by a factor of {ranges.max() / ranges.min():.2g}, and the kernel "
            "hardly sees the smaller ones: bring the columns to comparable units, or use metric='auto' (raw or "
            "standardised, whichever predicts better) or 'standardize'; if X is right as it is, "
            "kernel.axis_scale(1.0) says so."
        )


def alternatives(kernel: Kernel, X: Any) -> list[Kernel]:
    """The kernels to choose from where the window of a distance of series is "auto"; the kernel itself otherwise.

    Windows are shares of the longer length, at least twice the largest difference of lengths: new series may be shorter
    or longer than those of X.
    """
    parts = kernel.get_params()
    keys = [key for key, value in parts.items() if key.endswith("__window") and isinstance(value, str)]
    if not keys:
        return [kernel]
    for key in keys:
        if parts[key] != AUTO:
            raise ValueError(f"window must be None, a number or 'auto', got {parts[key]!r}.")
    lengths = parts[keys[0].removesuffix("__window")].patterns(X.items).lengths
    spread, longest = int(lengths.max() - lengths.min()), int(lengths.max())
    windows = [window for window in _WINDOWS if window is None or window * longest >= 2 * spread]
    return [clone(kernel).set_params(**dict.fromkeys(keys, window)) for window in windows]


def has_open_scale(kernel: Kernel) -> bool:
    """Whether a length scale of the kernel, or of a kernel in it, is "auto"."""
    return bool(_open_scales(kernel))


def _open_scales(kernel: Kernel) -> list[str]:
    found = kernel.get_params().items()
    return [key for key, value in found if key.split("__")[-1] == "scale" and isinstance(value, str) and value == AUTO]


def with_scale(kernel: Kernel, scale: float) -> Kernel:
    """The kernel with its open scales set."""
    return clone(kernel).set_params(**dict.fromkeys(_open_scales(kernel), float(scale)))


def typical_distance(kernel: Kernel, X: Any) -> float:
    """The median distance of two points, seen through the units of columns that the kernel uses."""
    rows = np.random.default_rng(0).permutation(X.shape[0])[:_SAMPLE]
    points = X[np.sort(rows)]
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if not (is_plain(points) or hasattr(points, "toarray") or hasattr(kernel, "distances")):
        raise ValueError(
            f"scale='auto' goes with one distance of patterns, and kernel is {kernel!r}: give each of its parts a "
            "scale, for instance the median of distance.pairwise(X)."
        )
    if hasattr(kernel, "distances"):
        return _median(kernel.distances(points)[np.triu_indices(len(points), 1)])
    points = points.toarray() if hasattr(points, "toarray") else points
    if hasattr(kernel, "_coordinates"):
        points = kernel._coordinates(points)
    return _median(pdist(points))


def _median(distances: np.ndarray) -> float:
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def choose_scale(kernel: Kernel, X: Any, score: Callable[[Kernel], float]) -> Kernel:
    """The kernel with its open scales at the best of a walk in steps of 2 from the median distance of the points.

    ``score(kernel)`` is the smallest value of the criterion over alpha.
    """
    if not has_open_scale(kernel):
        return kernel
    start, dimension = typical_distance(kernel, X), X.shape[1]
    scores: dict[int, float] = {}

    def at(k: int) -> float:
        if k not in scores:
            scores[k] = score(with_scale(kernel, start * _FACTOR**k).for_dimension(dimension))
        return scores[k]

    best = 0
    at(0)
    for direction in (-1, 1):
        k = direction
        while abs(k) <= _STEPS and at(k) < (1.0 - _GAIN) * scores[best]:
            best, k = k, k + direction
    return with_scale(kernel, start * _FACTOR**best).for_dimension(dimension)
