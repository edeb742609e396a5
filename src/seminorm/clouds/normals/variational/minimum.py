"""Normals of few points: those of the smoothest function that is zero at the points, with gradients of length 1
[Huang et al. 2019].

Minimised is E(n) = n' C^-1 n over unit vectors (:mod:`.gradient_energy`). How exact the points are, alpha, is found in
two steps. First the least alpha is taken for which the minimum is certified to be global, or nearly so: noise makes the
energy rugged, and alpha smoothes it. Then alpha is changed, and the normals follow, to where points that are held out
lie nearest to the surface. The normals of the others are free in this, so that nothing estimated from a held-out point
takes part. Likelihood smoothes too much here: shapes are no samples of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from ...._base import blas
from ....functions import Expansion
from ....solvers.unit_blocks import curvature_diagonal, descend, energy, is_global_minimum, leading_blocks, unit_blocks
from .gradient_energy import GradientCovariance, GradientEnergy

_LEAST, _STEP, _STEPS = 3.3e-9, 4.0, 8  # alphas, for a cloud of diagonal 1: lengths alpha**(1/3) of 0.15 to 3.8 %
_COLUMNS = 4  # of the relaxation
_RELAXED: dict[str, Any] = {"max_iter": 150, "reduction": 1e-7}
_GAP = 0.01  # within which a minimum is certified
_HELD_OUT, _FOLDS = 0.2, 2
_TIE = 0.01  # of the score, by which a larger alpha may be worse
_WORSE, _CLEARLY = 2, 1.05  # steps in which the score rises, or its rise in one, after which no alpha is tried
_SMALL, _PASSED = 0.05, 2.0  # gap, after which two larger ones end the search, or one so many times larger
_LEAST_SLOPE = 0.2
_SEED = 20211
_FAR, _DIRECTIONS = 2.0, 200  # diagonals from the centre, and in how many directions the outside is looked for
_OUTSIDE = 0.8  # share of the outside among them, of a surface that encloses something


@dataclass(frozen=True)
class Minimum:
    """What was found for points (n, 3)."""

    normals: np.ndarray  #: (n, 3) they look outwards, if ``closed``
    alpha: float  #: variance of the noise over that of the function, for a cloud of diagonal 1
    gap: float  #: between the energy and that of the relaxation, relative, where the signs were found
    certified: bool  #: whether no other normals have an energy that is lower by one per cent there
    clear: bool  #: whether it is certified, or its gap is that small
    distance: float  #: mean distance of held-out points from the surface, for a cloud of diagonal 1
    variance: np.ndarray  #: (n,) of the direction, as a squared angle
    closed: bool  #: whether the function is positive nearly everywhere far away
    form: GradientEnergy  #: the energy for this alpha
    unit: float  #: energy of each free direction: the variance of the prior

    def function(self, normals: np.ndarray | None = None) -> Expansion:
        """The smoothest function, of places in the cloud of diagonal 1; with other normals, if they are given."""
        return self.form.function(self.normals if normals is None else normals)

    def deviation(self, X: np.ndarray) -> np.ndarray:
        """Standard deviation (m,) of what would be observed of the function at places X (m, d)."""
        return np.sqrt(self.unit * (self.form.variance(X) + self.alpha))


def smoothest_normals(X: np.ndarray, start: np.ndarray | None = None, rest: np.ndarray | None = None) -> Minimum:
    """Normals of points X (n, 3), of diagonal 1, that make the function through them smoothest.

    Where the minimum is neither certified nor near its relaxation, the one next to ``start`` is taken: on thin shapes
    with few points wrong signs may have the lower energy. Without ``start`` the lowest minimum found is taken.
    ``rest`` (m, 3) are other points of the surface; without them some of X are held out.
    """
    with blas.suited_to(X.size):
        covariance = GradientCovariance(X)
        signs = _clearest(covariance)
        if start is not None and not signs.clear:
            signs = replace(signs, normals=descend(covariance.energy(signs.alpha).Q, start))
        found = _followed(covariance, signs, _Folds(covariance) if rest is None else _Rest(rest))
        return _minimum(covariance.energy(found.alpha), found)


def continued(X: np.ndarray, start: np.ndarray, near: Minimum) -> Minimum:
    """The minimum next to the start (n, 3), for the alpha of the minimum for some of the points."""
    with blas.suited_to(X.size):
        form = GradientCovariance(X).energy(near.alpha)
        normals = descend(form.Q, start)
        certified = is_global_minimum(form.Q, normals, _GAP)
        signs = _SignsFound(normals, near.alpha, near.gap, certified)
        return _minimum(form, _Settled(signs, normals, near.alpha, near.distance))


@dataclass(frozen=True)
class _SignsFound:
    """Where the signs were found."""

    normals: np.ndarray
    alpha: float
    gap: float
    certified: bool

    @property
    def clear(self) -> bool:
        return self.certified or self.gap <= _GAP


@dataclass(frozen=True)
class _Settled:
    """Normals that followed a change of alpha."""

    signs: _SignsFound
    normals: np.ndarray
    alpha: float
    distance: float


def _clearest(covariance: GradientCovariance) -> _SignsFound:
    """The minimum for the least alpha that gives a certified one, or for the one with the smallest gap."""
    tried: list[_SignsFound] = []
    relaxed = None
    for alpha in _LEAST * _STEP ** np.arange(_STEPS):
        form = covariance.energy(alpha)
        relaxed = descend(form.Q, _lowest(form) if relaxed is None else relaxed, **_RELAXED)
        starts = [leading_blocks(relaxed), *(signs.normals for signs in tried[-1:])]
        normals = min((descend(form.Q, start) for start in starts), key=lambda found: energy(form.Q, found))
        lowest = energy(form.Q, normals)
        gap = max(1.0 - energy(form.Q, relaxed) / lowest, 0.0)
        tried.append(_SignsFound(normals, float(alpha), gap, is_global_minimum(form.Q, normals, _GAP)))
        least = min(signs.gap for signs in tried)
        passed = gap > _PASSED * least or all(signs.gap > least for signs in tried[-_WORSE:])
        if tried[-1].certified or (least < _SMALL and passed):
            break
    return tried[-1] if tried[-1].certified else min(tried, key=lambda signs: signs.gap)


def _lowest(form: GradientEnergy) -> np.ndarray:
    """Blocks (n, d, p) of the eigenvectors of the lowest energy."""
    n, d = form.of.shape
    p = min(_COLUMNS, n * d - 1)
    start = np.random.default_rng(_SEED).standard_normal(n * d)
    return unit_blocks(eigsh(form.C, k=p, which="LA", tol=1e-6, v0=start)[1].reshape(n, d, p))


def _followed(covariance: GradientCovariance, signs: _SignsFound, judge: _Folds | _Rest) -> _Settled:
    """The normals for the alpha that brings held-out points nearest to the surface: first smaller ones are tried, then
    larger ones."""

    def attempt(alpha: float, normals: np.ndarray) -> _Settled:
        form = covariance.energy(alpha)
        normals = descend(form.Q, normals)
        return _Settled(signs, normals, alpha, judge.distance(form, normals))

    tried = [attempt(signs.alpha, signs.normals)]
    for factor in (1.0 / _STEP, _STEP):
        if min(tried, key=lambda one: one.distance) is not tried[0]:
            break
        last, worse = tried[0], 0
        while worse < _WORSE and _LEAST * 0.99 < last.alpha * factor < _LEAST * _STEP**_STEPS:
            best = min(one.distance for one in tried)
            last = attempt(last.alpha * factor, last.normals)
            worse = _WORSE if last.distance > _CLEARLY * best else worse + 1 if last.distance > best else 0
            tried.append(last)
    limit = (1.0 + _TIE) * min(one.distance for one in tried)
    return max((one for one in tried if one.distance <= limit), key=lambda one: one.alpha)


class _Folds:
    """Parts of the points that are held out, with what the others give."""

    def __init__(self, covariance: GradientCovariance):
        self._X = covariance.functionals[0].terms[0].points
        order = np.random.default_rng([_SEED, len(self._X)]).permutation(len(self._X))
        size = max(int(_HELD_OUT * len(self._X)), 1)
        self._parts = [np.sort(order[fold * size : (fold + 1) * size]) for fold in range(_FOLDS)]
        self._others = [np.delete(np.arange(len(self._X)), part) for part in self._parts]
        self._covariances = [GradientCovariance(self._X[rows]) for rows in self._others]

    def distance(self, whole: GradientEnergy, normals: np.ndarray) -> float:
        """Mean distance of held-out points from the surface of the others, whose normals descend from those given."""
        distances = []
        for part, rows, covariance in zip(self._parts, self._others, self._covariances, strict=True):
            form = covariance.energy(whole.alpha)
            distances.append(distances_from(form.function(descend(form.Q, normals[rows])), self._X[part]))
        return float(np.concatenate(distances).mean())


class _Rest:
    """Points that took no part."""

    def __init__(self, X: np.ndarray):
        self._X = X

    def distance(self, form: GradientEnergy, normals: np.ndarray) -> float:
        """Their mean distance from the surface with the given normals."""
        return float(distances_from(form.function(normals), self._X).mean())


def distances_from(function: Expansion, X: np.ndarray) -> np.ndarray:
    """Distance of each point from the zero set of a function, to first order."""
    values, slopes = function.jet(X)
    return np.abs(values) / np.maximum(np.linalg.norm(slopes, axis=1), _LEAST_SLOPE)


def _minimum(form: GradientEnergy, found: _Settled) -> Minimum:
    signs, (n, d) = found.signs, form.of.shape
    unit = energy(form.Q, found.normals) / ((d - 1) * n)
    variance = unit * curvature_diagonal(form.Q, found.normals)
    function = form.function(found.normals)
    outside = float((function(_far_places(d)) > 0).mean())
    sign = 1.0 if outside >= 0.5 else -1.0
    closed = max(outside, 1.0 - outside) >= _OUTSIDE
    told = (found.alpha, signs.gap, signs.certified, signs.clear, found.distance)
    return Minimum(sign * found.normals, *told, variance, closed, form, unit)


def _far_places(d: int) -> np.ndarray:
    """Places all around, far away from points around the origin."""
    around = np.random.default_rng(_SEED).standard_normal((_DIRECTIONS, d))
    return _FAR * around / np.linalg.norm(around, axis=1, keepdims=True)
