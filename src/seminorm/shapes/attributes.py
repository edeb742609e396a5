"""Attributes of the vertices of a surface's mesh: how near and how dense the data are, slopes and curvatures."""

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .implicit import Implicit

NAMES = ("density", "distance", "filled", "uncertainty", "curvature", "gradient_length")
FILLED = 3.0  # distances between neighbouring data points, beyond which a surface is made up

_NEIGHBORS = 16
_SPACING_RANGE = 30.0  # the most that a spacing may differ from the typical one
_TYPICAL = 2000  # points from which the typical spacing is computed
_CHUNK = 2**17


class Neighborhood:
    """The data (n, 3) around any place."""

    def __init__(self, points: np.ndarray):
        self.points = np.ascontiguousarray(points, dtype=float)
        self._spacings = np.full(len(self.points), np.nan, dtype=np.float32)

    @cached_property
    def tree(self) -> cKDTree:
        """A tree of the points, built when it is first needed; many equal points do it no harm."""
        return cKDTree(self.points, balanced_tree=False, compact_nodes=False)

    def nearest(self, X: np.ndarray, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Distance to the k-th nearest data point, and the row of the nearest one."""
        distances, rows = np.empty(len(X)), np.empty(len(X), dtype=np.int64)
        for begin in range(0, len(X), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            near, found = self.tree.query(X[part], k=[1] if k == 1 else [1, k], workers=thread_count())
            distances[part], rows[part] = near[:, -1], found[:, 0]
        return distances, rows

    def density(self, X: np.ndarray) -> np.ndarray:
        """Points per unit of area: 16 of them in the disc that reaches to the 16th nearest one."""
        k = min(_NEIGHBORS, len(self.points))
        least = self.typical / _SPACING_RANGE
        return 1.0 / np.maximum(self.nearest(X, k)[0] * np.sqrt(np.pi / k), least) ** 2

    def spacing(self, rows: np.ndarray) -> np.ndarray:
        """Local distance of neighbouring points at some of the points: the root of the area that each stands for."""
        rows = np.asarray(rows)
        new = np.unique(rows[np.isnan(self._spacings[rows])])
        limits = self.typical / _SPACING_RANGE, self.typical * _SPACING_RANGE
        self._spacings[new] = np.clip(self._unlimited(new), *limits)
        return self._spacings[rows].astype(float)

    def _unlimited(self, rows: np.ndarray) -> np.ndarray:
        k = min(_NEIGHBORS, len(self.points) - 1)
        return self.nearest(self.points[rows], k + 1)[0] * np.sqrt(np.pi / k)

    @cached_property
    def typical(self) -> float:
        """Median spacing; where most points have many twins, the mean of those that are not zero."""
        rows = np.unique(np.linspace(0, len(self.points) - 1, _TYPICAL).astype(np.int64))
        spacing = self._unlimited(rows)
        median = float(np.median(spacing))
        return median if median > 0 else float(spacing[spacing > 0].mean()) if spacing.any() else 1.0


def distance_and_spacing(data: Neighborhood, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest data point, and the distance of neighbouring data there."""
    distances, rows = data.nearest(X)
    return distances, data.spacing(rows)


def filled(data: Neighborhood, X: np.ndarray) -> np.ndarray:
    """Whether places are farther from the data than three distances of neighbouring data."""
    distances, spacing = distance_and_spacing(data, X)
    return distances > FILLED * spacing


def farness(data: Neighborhood, X: np.ndarray) -> np.ndarray:
    """0 at places within a spacing of the data, 1 where a surface is made up; the logarithm of the distance between."""
    distances, spacing = distance_and_spacing(data, X)
    return np.clip(np.log(np.maximum(distances / spacing, 1.0)) / np.log(FILLED), 0.0, 1.0)


def mean_curvature(shape: Implicit, X: np.ndarray) -> np.ndarray:
    """Mean curvature of a shape, 1 / r on a ball of radius r."""
    return _in_chunks(lambda part: shape.curvature(part).mean, X)


def gradient_length(shape: Implicit, X: np.ndarray) -> np.ndarray:
    """Length of the gradient: 1 where the function is a distance, small where it is nearly ambiguous."""
    return _in_chunks(lambda part: np.linalg.norm(shape.gradient(part), axis=1), X)


def check_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names of attributes as a tuple; an error for unknown ones."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise ValueError(f"attributes must be out of {', '.join(NAMES)}; got {unknown[0]!r}.")
    return wanted


def _in_chunks(function: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    result = np.empty(len(X))
    for begin in range(0, len(X), _CHUNK):
        result[begin : begin + _CHUNK] = function(X[begin : begin + _CHUNK])
    return result
