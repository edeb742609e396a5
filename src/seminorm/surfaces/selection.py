"""Choosing smoothness, tolerance and depth of a surface from points that were held out.

A held-out point says two things about a surface fitted without it: how far away it lies, and how far its normal turns
from the gradient. Noise deceives the distance alone (a surface full of folds is near to everything), and the angle
alone hardly notices small shifts. The product of the two, each in its first power, has its minimum where the surface is
best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..clouds.sampling import OrientedPoints
from ..fields.pointwise import PointEquations
from .fitting import Model, SurfaceFit, fit_surface

_SEED = 20211  # not a number that anybody would seed a sample with: the choice must not depend on it
_WINDOWS = 3
_WINDOW_POINTS = 6000  # in all windows together
_HELD_OUT = 0.2
_ALPHA = {2: 0.01, 3: 0.003}  # (smoothness / scale)**(2 order - 3)
_WEIGHTS = (3.0, 10.0, 30.0)  # (scale / tolerance)**2; the first one while the scale is searched for
_COARSEST = 16.0  # times the finest scale
_STEP = 2.0
_GAIN = 0.01  # of the score, that counts as better
_TIE = 0.05  # of the score, by which a smaller tolerance may be worse where normals are estimated (measured)
_TIE_OF_FRAMES = 0.15  # the same for frames: their means need less smoothing than each alone (measured)
_CLOSE = 0.3  # difference of the scores of two scales, above which none between them is tried
_ANGLE = 0.5  # exponent of the mean of one minus the cosine: about that of the mean angle
_LEAST_SLOPE = 0.2
_TOL = 0.02


@dataclass(frozen=True)
class Trial:
    """A model and how well it predicts the points that were held out."""

    model: Model
    scale: float  # the length that decides, in cells of level 0
    score: float  # what is minimised
    distance: float  # mean over the points
    angle: float  # mean of one minus the cosine of the angle of the normals


class ModelSelection:
    """A search for the best model of some points, or of a few compact windows of many.

    One length, the *scale*, decides: smoothness and tolerance are fixed multiples of it, and the basis is one level
    finer, or the finest if that is fixed. The first trials are at four times and twice the finest scale, the cells of
    the level ``deepest``. If the finer one is better, the finest is tried; if not, there is noise, and the search goes
    on to coarser scales as long as the score falls. Then come half steps, and smaller tolerances. Where normals are
    ``estimated`` from the points, points say more than normals do, and ties go to the smaller tolerance. If there are
    ``others``, point sets in the same box, the mean of all scores counts; with estimated normals the smallest distance
    decides among the trials that are nearly as good.
    """

    def __init__(
        self,
        points: OrientedPoints,
        order: int,
        degree: int,
        deepest: int,
        report: Callable[[Trial], None] | None = None,
        fixed_depth: bool = False,
        estimated: bool = False,
        others: Sequence[OrientedPoints] = (),
    ):
        self.order, self.degree, self.deepest, self._report = order, degree, deepest, report
        self._fixed_depth, self._tie = fixed_depth, _TIE if estimated else 0.0
        self._parts = [_divided(windows(part)) for part in (points, *others)]
        self.trials: list[Trial] = []
        self._fits: list[SurfaceFit | None] = [None] * len(self._parts)

    def search(self, *, smoothness: float | None = None, tolerance: float | None = None) -> Model:
        """The best model; what is given is not searched for."""
        if smoothness is not None and tolerance is not None:
            return self._model(2.0**-self.deepest, _WEIGHTS[0], smoothness, tolerance)
        finest = 2.0**-self.deepest

        def attempt(scale: float, weight: float = _WEIGHTS[0]) -> Trial:
            return self._try(self._model(scale, weight, smoothness, tolerance), scale)

        best, other = (attempt(factor * finest) for factor in (2 * _STEP, _STEP))
        if other.score < best.score - _GAIN:
            best, other = other, best
            trial = attempt(finest)
            if trial.score < best.score - _GAIN:
                best, other = trial, best
        else:  # noise: the other way
            while best.scale < _COARSEST * finest:
                trial = attempt(best.scale * _STEP)
                if trial.score > best.score - _GAIN:
                    other = min(other, trial, key=lambda trial: trial.score)
                    break
                best, other = trial, best
        if other.score - best.score < _CLOSE:
            for factor in (_STEP**-0.5, _STEP**0.5):
                if best.scale * factor >= finest:
                    trial = attempt(best.scale * factor)
                    if trial.score < best.score - _GAIN:
                        best = trial
                        break
        if tolerance is None:
            for weight in _WEIGHTS[1:]:
                trial = attempt(best.scale, weight)
                if trial.score >= best.score + self._tie:
                    break
                best = trial
        if self._tie and len(self._parts) > 1:
            alike = [trial for trial in self.trials if trial.score <= best.score + _TIE_OF_FRAMES]
            best = min(alike, key=lambda trial: trial.distance)
        return best.model

    def _model(self, scale: float, weight: float, smoothness: float | None, tolerance: float | None) -> Model:
        finer = int(np.ceil(-np.log2(scale) - 1e-9)) + 1
        depth = self.deepest if self._fixed_depth else min(self.deepest, finer)
        if smoothness is None:
            smoothness = scale * _ALPHA[self.order] ** (1.0 / (2 * self.order - 3))
        if tolerance is None:
            tolerance = scale / np.sqrt(weight)
        return Model(self.order, self.degree, smoothness, tolerance, depth)

    def _try(self, model: Model, scale: float) -> Trial:
        errors = []
        for k, (training, test) in enumerate(self._parts):
            fit = self._fits[k] = fit_surface(training, model, start=self._fits[k], tol=_TOL)
            errors.append(held_out_errors(fit, test))
        score, distance, angle = np.mean(errors, axis=0).tolist()
        trial = Trial(model, scale, score, distance, angle)
        self.trials.append(trial)
        if self._report is not None:
            self._report(trial)
        return trial


def _divided(points: OrientedPoints) -> tuple[OrientedPoints, OrientedPoints]:
    """Points to fit, and points that are held out."""
    held = np.random.default_rng([_SEED, len(points)]).random(len(points)) < _HELD_OUT
    return points[~held], points[held]


def held_out_errors(fit: SurfaceFit, test: OrientedPoints) -> tuple[float, float, float]:
    """Score, mean distance (in cells of level 0) and mean of one minus the cosine of the angle."""
    n, d = test.X.shape
    observed = np.zeros((n, 1 + d), dtype=np.float32)
    observed[:, 1:] = test.normals
    reader = PointEquations(fit.tree, fit.model.order, test.X, np.zeros((n, 2)), observed, fit.x.dtype)
    values = reader.at_points(fit.x).astype(float)
    values[:, 1:] *= test.axes
    slope = np.linalg.norm(values[:, 1:], axis=1)
    away = np.abs(values[:, 0]) / np.maximum(slope, _LEAST_SLOPE)
    distance = _mean(away, test.confidence)
    length = np.linalg.norm(reader.observed[:, 1:], axis=1)
    cosine = (values[:, 1:] * reader.observed[:, 1:]).sum(axis=1) / np.maximum(slope * length, 1e-12)
    angle = 1.0 - _mean(cosine, test.confidence)
    tiny = float(np.finfo(np.float32).tiny)
    return float(np.log(max(distance, tiny)) + _ANGLE * np.log(max(angle, tiny))), distance, angle


def _mean(values: np.ndarray, confidence: np.ndarray | None) -> float:
    if confidence is None or not confidence.any():
        return float(values.mean())
    return float(np.average(values, weights=confidence))


def windows(points: OrientedPoints) -> OrientedPoints:
    """Some compact parts of many points: the neighbours of a few of them, each once."""
    n = len(points)
    return points if n <= _WINDOW_POINTS else points[window_rows(points.X, _WINDOW_POINTS)]


def window_rows(X: np.ndarray, most: int) -> np.ndarray:
    """Which points (n, d) belong to a few compact parts with about so many points: a mask (n,)."""
    chosen = np.zeros(len(X), dtype=np.bool_)
    each = most // _WINDOWS
    for center in np.random.default_rng([_SEED, len(X)]).choice(len(X), _WINDOWS, replace=False):
        away = ((X - X[center]) ** 2).sum(axis=1)
        away[chosen] = np.inf
        chosen[np.argpartition(away, each)[:each]] = True
    return chosen
