"""Choosing alpha without a factorisation: criteria from iterative solutions, random probes and local contrasts.

With K = Phi + alpha W^-1 and B the inverse of K on the complement of P, the trace of W^-1/2 B W^-1/2 is estimated by
u' W^-1/2 B W^-1/2 u for random signs u [Hutchinson 1990]. The same with the contrasts C'C in place of B, whose trace is
known, tells most of the error of the estimate, and is taken off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from ..linear.paths import PathSummary
from .iterative import IterativeSystem
from .selection import default_grid, generalized_cross_validation, restricted_likelihood

_SEED = 0
PROBES = {1: 32, 2: 8, 3: 8}  # by the number of coordinates: contrasts know less of traces on the line
_ENOUGH = 4  # probes that can tell how much the approximate ones say
_ROUGH = 1e-3  # residual of what only a criterion needs
_SAMPLED = 4096  # contrasts that stand for all in the first search
_ALWAYS = 1024  # the first ones, which are all different
_TRIALS = 8  # of the last search


class StochasticCriteria:
    """Criteria for values y (n, k), which may be means: ``scatter`` (k,) and ``repeats`` as in ReducedSystem."""

    def __init__(
        self,
        system: IterativeSystem,
        y: np.ndarray,
        scatter: np.ndarray,
        repeats: int,
        criterion: str = "gcv",
        max_iter: int = 300,
        verbose: bool = False,
        n_probes: int | None = None,
    ):
        self.system, self.y, self.criterion = system, y, criterion
        self.scatter, self.repeats, self.max_iter, self.verbose = scatter, repeats, max_iter, verbose
        self.degrees = system.size - system.rank
        count = PROBES[system.neighborhoods.points.shape[1]] if n_probes is None else n_probes
        signs = np.random.default_rng(_SEED).integers(0, 2, (system.size, count)) * 2.0 - 1.0
        self.probes = signs / np.sqrt(system.weights)[:, None]
        self.path: dict[float, tuple[float, float]] = {}  #: alpha: score, effective degrees of freedom
        self.summaries: dict[float, PathSummary] = {}
        self.last: tuple[float, np.ndarray] | None = None  #: alpha, and a rough solution for it

    def __call__(self, alpha: float) -> float:
        """The criterion at one alpha."""
        if alpha not in self.path:
            summary = self._summary(alpha)
            score = self._score(alpha, summary)
            self.path[alpha] = score, self.system.size - alpha * float(summary.trace[0])
            self.summaries[alpha] = summary
        return self.path[alpha][0]

    def variance(self, alpha: float) -> np.ndarray:
        """The most likely variance of each output, as the dense solution has it."""
        scatter = self.scatter / alpha if self.repeats else 0.0
        return (self.summaries[alpha].energy[0] + scatter) / (self.degrees + self.repeats)

    def table(self) -> dict[str, np.ndarray]:
        """All alphas that were tried, with score and effective degrees of freedom."""
        alphas = np.array(sorted(self.path))
        scores, edf = np.array([self.path[alpha] for alpha in alphas]).T
        return {"alpha": alphas, "score": scores, "edf": edf}

    def minimize(self) -> float:
        """The best alpha: from the most likely one downhill, factors of ten first."""
        grid = default_grid(self.system.trace())
        low, high = np.log10(grid[0]), np.log10(grid[-1])
        middle = np.log10(self._most_likely(grid))
        steps = [step for step in (-1.0, 1.0) if low <= middle + step <= high]
        here = self(10.0**middle)
        for step in steps:
            while low <= middle + step <= high and self(10.0 ** (middle + step)) < here:
                middle += step
                here = self(10.0**middle)
        minimize_scalar(
            lambda x: self(10.0**x),
            bounds=(max(middle - 1.0, low), min(middle + 1.0, high)),
            method="bounded",
            options={"maxiter": _TRIALS, "xatol": 0.02},
        )
        return self.best()

    def best(self) -> float:
        """The alpha with the lowest score so far; ties go to the larger one."""
        table = self.table()
        lowest = table["score"].min()
        return float(table["alpha"][table["score"] <= lowest + 1e-12 * abs(lowest)][-1])

    def _summary(self, alpha: float) -> PathSummary:
        k, weights = self.y.shape[1], self.system.weights
        right = np.concatenate([self.y, self.probes], axis=1)
        solution = self.system.solve(right, alpha, tol=_ROUGH, max_iter=self.max_iter, verbose=self.verbose)
        dual, inverse = solution.dual[:, :k], solution.dual[:, k:]
        self.last = alpha, dual
        contrasts = self.system.contrasts(alpha)
        known = float((contrasts.diagonal() / weights).sum())
        exact = np.einsum("ij,ij->j", self.probes, inverse)
        approximate = contrasts.squares(self.probes)
        trace = float(exact.mean()) + _share(exact, approximate) * (known - float(approximate.mean()))
        energy = np.einsum("ij,ij->j", self.y, dual)
        squares = (dual**2 / weights[:, None]).sum(axis=0)
        logdet = self.system.log_determinant(alpha)
        return PathSummary(energy[None], squares[None], np.array([trace]), np.array([logdet]))

    def _score(self, alpha: float, summary: PathSummary) -> float:
        weights, alphas = self.system.weights, np.array([alpha])
        k = self.y.shape[1]
        if self.criterion == "reml":
            return float(restricted_likelihood(alphas, summary, self.degrees, self.repeats, self.scatter)[0])
        units = np.ones(1)
        if k > 1:
            units = np.maximum((weights[:, None] * self.system.project(self.y) ** 2).mean(axis=0), np.finfo(float).tiny)
        size = self.system.size
        return float(generalized_cross_validation(alphas, summary, size, self.repeats, self.scatter, units)[0])

    def _most_likely(self, grid: np.ndarray) -> float:
        """The alpha of the grid with the largest restricted likelihood by a sample of the contrasts alone."""
        rows = self.system.sampled_rows(_ALWAYS, _SAMPLED)
        score = self._contrast_likelihood(*rows)
        coarse = grid[::3]
        scores = np.array([score(alpha) for alpha in coarse])
        best = int(np.nanargmin(scores))
        fine = grid[max(3 * best - 2, 0) : 3 * best + 3]
        return float(fine[np.nanargmin([score(alpha) for alpha in fine])])

    def _contrast_likelihood(self, rows: np.ndarray, shares: np.ndarray) -> Callable[[float], float]:
        def score(alpha: float) -> float:
            contrasts = self.system.some_contrasts(alpha, rows)
            used = contrasts.scales > 0
            each = shares[contrasts.groups]
            energy = each @ np.square(contrasts.matrix @ self.y)
            logdet = -2.0 * float(each[used] @ np.log(contrasts.scales[used]))
            summary = PathSummary(energy[None], energy[None], np.zeros(1), np.array([logdet]))
            found = restricted_likelihood(np.array([alpha]), summary, self.degrees, self.repeats, self.scatter)
            return float(found[0])

        return score


def _share(exact: np.ndarray, approximate: np.ndarray) -> float:
    """How much of the error of the approximate probes to take off the exact ones: between 0 and 1."""
    if len(exact) < _ENOUGH:
        return 0.0
    spread = float(np.var(approximate))
    if spread == 0.0:
        return 1.0
    return float(np.clip(np.mean((exact - exact.mean()) * (approximate - approximate.mean())) / spread, 0.0, 1.0))
