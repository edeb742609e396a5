"""Fits of kernel expansions to more points than a dense matrix allows: which solver suits them, and the fast one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base import blas
from ..functions.large_system import LargeSystem, large_system, warn_unless_converged
from ..kernels import Kernel
from ..solvers.ridge.selection import Solution
from ..solvers.ridge.stochastic import StochasticCriteria
from .observations import FunctionalData

SOLVERS = ("auto", "dense", "fast", "field")
_MOST_FAST = 20_000, 1_000_000  # up to which it is fast beside a field, if alpha is chosen, and if it is given
_FEW_PROBES = 4  # for the degrees of freedom at a given alpha


def suits_fast(n: int, alpha: Any) -> bool:
    """Whether so many observations are for the fast solver, rather than for a field."""
    return n <= _MOST_FAST[0 if alpha is None or np.ndim(alpha) else 1]


@dataclass
class LargeFit:
    """A fit by the fast solver."""

    system: LargeSystem
    solution: Solution
    dual: np.ndarray  #: (n, k)
    null: np.ndarray  #: (r, k)
    n_iter: int  #: steps of the last solution
    residual: float


@dataclass(frozen=True)
class LargeSettings:
    """How the fast solver works."""

    criterion: str
    tol: float
    max_iter: int
    verbose: bool


def fit_large(
    kernel: Kernel,
    observed: FunctionalData,
    P: np.ndarray,
    alpha: float | np.ndarray | None,
    settings: LargeSettings,
    places: FunctionalData | None = None,
    places_P: np.ndarray | None = None,
) -> LargeFit:
    """Solve at a given alpha, the best of some candidates, or (None) the best alpha, which the observations merged into
    ``places`` choose, if there are any."""
    with blas.one_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="tolerance=")  # of a product: the residual says what matters
        choosing = alpha is None or bool(np.ndim(alpha))
        system = _system(kernel, observed, P, settings.tol, not choosing and alpha == 0.0)
        if choosing and places is not None:
            assert places_P is not None
            criteria = _criteria(_system(kernel, places, places_P, settings.tol), places, settings)
        else:
            criteria = _criteria(system, observed, settings, None if choosing else _FEW_PROBES)
        chosen = _chosen(criteria, alpha)
        start = None
        if criteria.system is system.scaled and criteria.last and criteria.last[0] == chosen:
            start = criteria.last[1]
        found = system.solve(
            observed.targets,
            chosen,
            tol=settings.tol,
            max_iter=settings.max_iter,
            start=start,
            verbose=settings.verbose,
        )
        table, variance = _along(criteria, chosen, found.dual * system.units)
    warn_unless_converged(found, settings.tol)
    edf = float(table["edf"][np.searchsorted(table["alpha"], chosen)])
    solution = Solution(chosen, table, np.empty((0, observed.targets.shape[1])), edf, variance)
    return LargeFit(system, solution, found.dual, found.null, found.n_iter, found.residual)


def _system(
    kernel: Kernel, observed: FunctionalData, P: np.ndarray, tol: float, interpolates: bool = False
) -> LargeSystem:
    return large_system(kernel, observed.functionals, observed.weights, P, tol, interpolates)


def _criteria(
    system: LargeSystem, observed: FunctionalData, settings: LargeSettings, n_probes: int | None = None
) -> StochasticCriteria:
    criterion = "reml" if settings.criterion == "reml" else "gcv"
    targets = observed.targets / system.units
    scatter = np.broadcast_to(observed.scatter, (targets.shape[1],))
    return StochasticCriteria(
        system.scaled, targets, scatter, observed.repeats, criterion, settings.max_iter, settings.verbose, n_probes
    )


def _chosen(criteria: StochasticCriteria, alpha: float | np.ndarray | None) -> float:
    if alpha is None:
        return criteria.minimize()
    if np.ndim(alpha):
        for candidate in np.unique(alpha):
            criteria(float(candidate))
        return criteria.best()
    if alpha > 0.0:
        criteria(float(alpha))
    return float(alpha)


def _along(criteria: StochasticCriteria, alpha: float, dual: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The path of alphas, and the variances of the outputs at the last one."""
    if alpha > 0.0:
        return criteria.table(), criteria.variance(alpha)
    size = float(criteria.system.size)
    path = {"alpha": np.zeros(1), "score": np.full(1, np.nan), "edf": np.full(1, size)}
    return path, np.einsum("ij,ij->j", criteria.y, dual) / criteria.degrees
