"""Directions in which a field is smoother than in others, by the restricted likelihood of windows.

A map of the coordinates x -> x T of determinant one, with columns of T along orthogonal directions, makes a field
isotropic that has ellipses for circles. T = V exp(D), with V and D of a symmetric matrix S = V D V' without trace: the
entries of S are free numbers, and those on the diagonal alone stretch the axes without turning them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from scipy import linalg, optimize

from .._base.blas import suited_to
from ..bases.box import GridBox, mapped
from ..bases.grid import GridBasis
from .families import Choice
from .likelihood import Fitted, Likelihood
from .roughness import Roughness
from .windows import DEGREE, MARGIN, Window, windows_of

ANISOTROPIES = ("auto", "rotated")
_STEP = 0.3  # of logarithms
_ALONE, _TOGETHER = (16, 30), 9  # evaluations for one window, upright or turned; for all, per number that is free
_MOST = 3.0  # logarithm of a stretch


@dataclass(frozen=True)
class Anisotropy:
    """The map of scaled coordinates to those in which a field is isotropic, None for the identity, and how it came
    about.
    """

    axes: np.ndarray | None = None
    details: dict[str, Any] = field(default_factory=dict)


def described(axes: np.ndarray) -> dict[str, Any]:
    """Directions (d, d), row by row, in scaled coordinates, and how far the field looks alike along them, relative to
    their geometric mean: the longest first.
    """
    stretches = np.linalg.norm(axes, axis=0)
    order = np.argsort(stretches, kind="stable")
    directions = (axes / stretches)[:, order].T
    directions *= np.where(directions[np.arange(len(axes)), np.abs(directions).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    return {"lengths": 1.0 / stretches[order], "directions": directions}


def axes_of(entries: np.ndarray, dimension: int) -> np.ndarray:
    """T for the free entries of S: d - 1 on the diagonal, then those above it, if any."""
    matrix = np.diag(np.append(entries[: dimension - 1], -entries[: dimension - 1].sum()))
    if len(entries) < dimension:
        return np.diag(np.exp(np.diag(matrix)))
    matrix[np.triu_indices(dimension, 1)] = entries[dimension - 1 :]
    sizes, vectors = linalg.eigh(np.triu(matrix), lower=False)
    # near the coordinates: each direction beside the axis that it resembles, and pointing the same way
    order = max(permutations(range(dimension)), key=lambda p: float(np.prod(np.abs(vectors[range(dimension), p]))))
    vectors, sizes = vectors[:, list(order)], sizes[list(order)]
    return vectors * np.where(np.diag(vectors) < 0.0, -1.0, 1.0) * np.exp(sizes)


@dataclass(frozen=True)
class Stretched:
    """A map, the roughness and alpha of the largest likelihood with it, and by how much minus twice its logarithm is
    smaller than that without.
    """

    axes: np.ndarray
    roughness: Roughness
    alpha: float
    gain: float
    deviance: dict[float, float]


def stretch(X: np.ndarray, y: np.ndarray, w: np.ndarray, choice: Choice, turned: bool) -> Stretched:
    """The map for values y with weights w at points X (n, d), along the axes or in any directions, from a choice that
    was made without.
    """
    d, low, size, unit = X.shape[1], X.min(axis=0), float(np.ptp(X, axis=0).max()), float(w.mean())
    start = choice.roughness
    top = start.factors[-1]
    # of alpha and of the factors in units of the extent and of the weights; see families.choose
    factor = unit * size ** (2 * start.order - d) / top
    single = Roughness([c / top * size ** (2 * (start.order - m)) for m, c in enumerate(start.factors)])
    with suited_to(0):  # the same bits for any number of threads
        search = _StretchSearch(
            windows_of((X - low) / size, y, w / unit, choice.spacing / size), single, choice.centered
        )
        entries = np.zeros(d - 1 if not turned else d * (d + 1) // 2 - 1)
        point = np.concatenate([[np.log(choice.alpha / factor)], search.own, entries])
        first = len(point) - len(entries)
        before = search.at(point)
        ahead = search.minimized(point, np.arange(first, len(point)), _ALONE[turned], alone=True)
        point = search.minimized(ahead, np.arange(len(point)), _TOGETHER * len(point))
        likelihood, best = search.likelihood(point), search.at(point)
        path = likelihood.along_alpha(best)
    roughness = Roughness([top * c * size ** (2 * (m - start.order)) for m, c in enumerate(best.roughness.factors)])
    deviance = {factor * alpha: score for alpha, score in path.items()}
    gain = before.deviance - best.deviance
    return Stretched(axes_of(point[first:], d), roughness, factor * best.alpha, gain, deviance)


class _StretchSearch:
    """The likelihood of stretched windows, along log alpha, the logarithms of what is free in the roughness (the k of a
    tension), and the entries of S.
    """

    def __init__(self, windows: list[Window], roughness: Roughness, centered: bool):
        self._windows, self._roughness, self._centered = windows, roughness, centered
        self._is_tension = roughness.lowest == 1 and roughness.order == 2
        self.own = np.log([roughness.factors[1]]) / 2 if self._is_tension else np.zeros(0)

    def likelihood(self, point: np.ndarray, alone: bool = False) -> Likelihood:
        """That of all windows, or of the densest alone."""
        windows = self._windows[:1] if alone else self._windows
        axes = axes_of(np.clip(point[1 + len(self.own) :], -_MOST, _MOST), windows[0].X.shape[1])
        return Likelihood(_mapped(windows, axes), self._centered)

    def at(self, point: np.ndarray, alone: bool = False) -> Fitted:
        """The likelihood of a point."""
        roughness = Roughness((0.0, float(np.exp(2 * point[1])), 1.0)) if self._is_tension else self._roughness
        return self.likelihood(point, alone).at(roughness, float(np.exp(point[0])))

    def minimized(self, start: np.ndarray, free: np.ndarray, most: int, alone: bool = False) -> np.ndarray:
        """Downhill along the free entries of a point, in at most so many evaluations."""
        seen: list[tuple[float, np.ndarray]] = []

        def deviance(values: np.ndarray) -> float:
            point = start.copy()
            point[free] = values
            seen.append((self.at(point, alone).deviance, point))
            return seen[-1][0]

        steps = np.where(free == 0, 2.0, 1.0) * _STEP  # alpha is flat
        simplex = start[free] + np.vstack([np.zeros(len(free)), np.diag(steps)])
        options = {"initial_simplex": simplex, "maxfev": most, "xatol": 0.03, "fatol": 2.0}
        optimize.minimize(deviance, start[free], method="Nelder-Mead", options=options)
        return min(seen, key=lambda each: each[0])[1]


def _mapped(windows: list[Window], axes: np.ndarray) -> list[Window]:
    """The windows in mapped coordinates, on grids of equal size with the same cells."""
    spacing, d = windows[0].basis.box.spacing, len(axes)
    points = [mapped(window.X, axes) for window in windows]
    size = np.max([np.ceil(np.ptp(X, axis=0) / spacing + 1e-9) for X in points], axis=0).astype(np.int64)
    border = max(2, round(MARGIN[d] * int(size.max())))
    result = []
    for window, X in zip(windows, points, strict=True):
        middle = 0.5 * (X.min(axis=0) + X.max(axis=0))
        box = GridBox(middle - (0.5 * size + border) * spacing, np.ones(d), spacing, size + 2 * border)
        basis = GridBasis(box, DEGREE)
        result.append(window._replace(basis=basis, X=X, design=basis.values(X)))
    return result
