"""Choosing alpha: generalised cross-validation with a stochastic trace, or held-out observations."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np

from .refinement import SquaredErrors
from .sources import Source
from .system import System, collapse, dot
from .vector_field import field_of

_PROBE_TOL = 0.05  # the error of a quadratic form is its square
_PROBE_REDUCTION = 0.2
_NEARLY_ALL = 1 - 1e-9
_ROBUST = 0.3


@dataclass(frozen=True)
class Score:
    """A criterion at one alpha; for GCV also the effective number of parameters."""

    alpha: float
    score: float
    trace: float | None = None


class AlphaSelection(ABC):
    """A criterion along alpha for one system, with warm starts from one alpha to the next."""

    def __init__(self, system: System, x: np.ndarray, *, tol: float, max_iter: int):
        self.system, self.x, self.tol, self.max_iter = system, x, tol, max_iter
        self.scores: dict[float, Score] = {}

    @abstractmethod
    def _score(self, alpha: float) -> Score: ...

    def score(self, alpha: float) -> Score:
        """The criterion at one alpha; computed once."""
        if alpha not in self.scores:
            self.scores[alpha] = self._score(alpha)
        return self.scores[alpha]

    def minimize(self, start: float, low: float, high: float) -> Score:
        """Walk along alpha in decades from start to the lowest score, then one step of a parabola."""
        start = min(max(start, low), high)
        best = 0
        for step in (-1, 1):
            while low <= start * 10.0 ** (best + step) <= high:
                if self.score(start * 10.0 ** (best + step)).score >= self.score(start * 10.0**best).score:
                    break
                best += step
        left, right = (self.scores.get(start * 10.0 ** (best + step)) for step in (-1, 1))
        return self._parabola(left, self.score(start * 10.0**best), right)

    def _parabola(self, left: Score | None, best: Score, right: Score | None) -> Score:
        if left is None or right is None or min(left.score, best.score, right.score) <= 0.0:
            return best
        a, b, c = (math.log(score.score) for score in (left, best, right))
        bend = a - 2 * b + c
        shift = 0.5 * (a - c) / bend if bend > 0.0 else 0.0
        if abs(shift) < 0.1:
            return best
        trial = self.score(best.alpha * 10.0**shift)
        return trial if trial.score < best.score else best

    def path(self) -> list[Score]:
        """All scores, by alpha."""
        return sorted(self.scores.values(), key=lambda score: score.alpha)


class CrossValidation(AlphaSelection):
    """Generalised cross-validation V = n RSS / (n - tr H)^2, and its robust form (g + (1 - g) tr H^2 / n) V [Lukas
    2006].

    The traces are means of z' H z and |H z|^2 over the system's probes z. V alone chooses a far too small alpha when
    errors of neighbours are alike, as along the tracks of a ship; the factor prevents that and changes little
    otherwise.
    """

    def __init__(self, system: System, x: np.ndarray, *, robust: bool, tol: float, max_iter: int):
        super().__init__(system, x, tol=tol, max_iter=max_iter)
        self._share = _ROBUST if robust else 1.0
        self._probes = [np.zeros(system.tree.active.shape) for _ in range(system.probes)]

    def _score(self, alpha: float) -> Score:
        _, rss = self.system.solve_to_noise(alpha, self.x, tol=self.tol, max_iter=self.max_iter)
        n, trace, square = self.system.number, 0.0, 0.0
        for side, x in enumerate(self._probes, start=self.system.outputs):
            self.system.solve(alpha, x, side=side, tol=_PROBE_TOL, max_iter=self.max_iter, reduction=_PROBE_REDUCTION)
            # 2 z'x - x'Ax instead of z'x: the error is of second order wherever the iteration started
            trace += 2 * dot(self.system.right[side], x) - dot(x, self.system.apply(x, alpha))
            u = collapse(self.system.tree, x)
            square += dot(u, self.system.data_form(u))
        trace = min(trace / len(self._probes), n * _NEARLY_ALL)
        factor = self._share + (1 - self._share) * square / len(self._probes) / n
        return Score(alpha, factor * n * rss / (n - trace) ** 2, trace)


class HeldOut(AlphaSelection):
    """The weighted mean of squared errors at observations that the system has not seen."""

    def __init__(self, system: System, x: np.ndarray, held_out: Source, *, tol: float, max_iter: int):
        super().__init__(system, x, tol=tol, max_iter=max_iter)
        self._held_out = held_out

    def _score(self, alpha: float) -> Score:
        self.system.solve_to_noise(alpha, self.x, tol=self.tol, max_iter=self.max_iter)
        tree, roughness = self.system.tree, self.system.energy.roughness
        field = field_of(tree, collapse(tree, self.x), roughness, self.system.mean)
        return Score(alpha, self._held_out.accumulate(partial(SquaredErrors, field)).mean)
