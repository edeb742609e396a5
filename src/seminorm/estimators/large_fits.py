"""Fits of kernel expansions to more points than a dense matrix allows: which solver suits them, and the fast one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base import blas
from .._base.memory import require_memory
from .._base.warnings import warn_user
from ..functions import Functional
from ..functions.fast_gram import FastGram
from ..functions.local import local_functionals
from ..functions.summation import FastSum
from ..kernels import Kernel
from ..kernels.radial_parts import radial_part
from ..solvers.linear.contrasts import Jets
from ..solvers.ridge.iterative import IterativeSolution, IterativeSystem, groups_in, neighbors_in
from ..solvers.ridge.selection import Solution
from ..solvers.ridge.stochastic import PROBES, StochasticCriteria
from .observations import FunctionalData

SOLVERS = ("auto", "dense", "fast", "field")
MOST_DENSE = 8000  # observations up to which "auto" is dense
_MOST_FAST = 20_000, 1_000_000  # up to which it is fast beside a field, if alpha is chosen, and if it is given
_DIMENSIONS = 3
_ROUGH = 1e-5  # error of the products in the steps
_DROWNED = 1e-10  # variances, in units of the kernel times the root of n, that products with such errors cannot tell
_SHARE = 0.5  # error of a product in terms of the residual that is asked for
_LEAST_TOLERANCE = 1e-13
_FEW_PROBES = 4  # for the degrees of freedom at a given alpha
_POINT_BYTES = 2000  # of the sums, for each point


def obstacle(kernel: Kernel, observed: FunctionalData, plain_space: bool) -> str | None:
    """Why there is no fast solver, or None."""
    dimension = observed.points.shape[1]
    if dimension > _DIMENSIONS:
        return f"it works in 1 to {_DIMENSIONS} dimensions, and X has {dimension} columns"
    if not plain_space:
        return "the null space must not be 'soft', nor learn from the data"
    part = radial_part(kernel, dimension)
    if kernel.is_indefinite or part is None or part.matrix.shape[1] > _DIMENSIONS:
        return f"the kernel must be a function of distances, and {kernel!r} is not"
    if is_values(observed.functionals):
        return None
    if local_functionals(observed.functionals) is None:
        return "it takes values and first derivatives at points, not averages or second derivatives"
    if not part.has(2):
        return f"derivatives need those of the profile, and {kernel!r} has none"
    return None


def is_values(functionals: list[Functional]) -> bool:
    """Whether the functionals are the values at points, and nothing else."""
    terms = functionals[0].terms
    return len(functionals) == 1 and len(terms) == 1 and terms[0].derivative == 0 and terms[0].matrix is None


def suits_fast(n: int, alpha: Any) -> bool:
    """Whether so many observations are for the fast solver, rather than for a field."""
    return n <= _MOST_FAST[0 if alpha is None or np.ndim(alpha) else 1]


@dataclass(frozen=True)
class LargeSystem:
    """The equations of the fast solver, for observations over their ``units`` (N, 1)."""

    scaled: IterativeSystem
    units: np.ndarray

    def solve(self, targets: np.ndarray, alpha: float, **options: Any) -> IterativeSolution:
        """The coefficients for targets (N, k); see :meth:`IterativeSystem.solve`."""
        found = self.scaled.solve(targets / self.units, alpha, **options)
        return replace(found, dual=found.dual / self.units)

    def left_out(self, dual: np.ndarray, alpha: float) -> np.ndarray:
        """See :meth:`IterativeSystem.left_out`."""
        return self.units * self.scaled.left_out(self.units * dual, alpha)

    def posterior_covariance(self, cross: np.ndarray, *parts: Any, **options: Any) -> np.ndarray:
        """See :meth:`IterativeSystem.posterior_covariance`."""
        return self.scaled.posterior_covariance(cross / self.units, *parts, **options)


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


def large_system(
    kernel: Kernel, observed: FunctionalData, P: np.ndarray, tol: float, interpolates: bool
) -> LargeSystem:
    """The equations, with products by near and far field.

    Observations that are not all values are brought to one unit, and their residuals are measured in it: the roots of
    their weights say what errors are alike.
    """
    tolerance = max(_SHARE * tol, _LEAST_TOLERANCE)
    size = len(observed.targets)
    if is_values(observed.functionals):
        scaled = _system_of_values(kernel, observed, P, tolerance, interpolates)
        return LargeSystem(scaled, np.ones((size, 1)))
    units = 1.0 / np.sqrt(observed.weights)
    ends = np.cumsum([functional.size for functional in observed.functionals])
    shares = np.split(1.0 / units, ends[:-1])
    functionals = [functional * share for functional, share in zip(observed.functionals, shares, strict=True)]
    return LargeSystem(_system_of_jets(kernel, functionals, P / units[:, None], tolerance), units[:, None])


def _require_memory(n: int, n_points: int, n_entries: int) -> None:
    needed = n * 12 * n_entries + n_points * (8 * n_entries + _POINT_BYTES)
    require_memory(needed, f"a fast fit of {n} observations", "fit a subset, or use seminorm.FieldSmoother.")


def _system_of_values(
    kernel: Kernel, observed: FunctionalData, P: np.ndarray, tolerance: float, interpolates: bool
) -> IterativeSystem:
    points = observed.functionals[0].points
    n, d = points.shape
    is_rough = kernel.differentiability <= 1  # smooth kernels enlarge errors of high frequency
    n_neighbors = neighbors_in(d, easy=interpolates and is_rough)
    _require_memory(n, n, n_neighbors + 1)
    part = radial_part(kernel, d)
    assert part is not None
    return IterativeSystem(
        FastSum(kernel, points, tolerance=tolerance),
        part.profile,
        points @ part.matrix,
        P,
        observed.weights,
        n_neighbors,
        accuracy=_DROWNED,
        rough=FastSum(kernel, points, tolerance=_ROUGH) if is_rough and d > 1 and tolerance < _ROUGH else None,
    )


def _system_of_jets(kernel: Kernel, functionals: list[Functional], P: np.ndarray, tolerance: float) -> IterativeSystem:
    local = local_functionals(functionals)
    assert local is not None
    (n, d), size = local.places.shape, len(local.place)
    n_neighbors = groups_in(d, size / n)
    _require_memory(size, n, round((n_neighbors + 1) * size / n))
    part = radial_part(kernel, d)
    assert part is not None
    jets = np.column_stack([local.jets[:, 0], local.jets[:, 1:] @ part.matrix])
    return IterativeSystem(
        FastGram(kernel, functionals, tolerance),
        part.profile,
        local.places @ part.matrix,
        P,
        np.ones(size),
        n_neighbors,
        accuracy=_DROWNED,
        jets=Jets(local.place, jets),
    )


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
        system = large_system(kernel, observed, P, settings.tol, not choosing and alpha == 0.0)
        if choosing and places is not None:
            assert places_P is not None
            criteria = _criteria(large_system(kernel, places, places_P, settings.tol, False), places, settings, PROBES)
        else:
            criteria = _criteria(system, observed, settings, PROBES if choosing else _FEW_PROBES)
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
    if not found.converged:
        warn_user(
            f"the fast solver reached a residual of {found.residual:.1e} in {found.n_iter} steps, and tol="
            f"{settings.tol:g} was asked for, in units of the values beside the null space: use a larger alpha (a "
            "nugget, for interpolation), a rougher kernel, or a larger tol or max_iter.",
            ConvergenceWarning,
        )
    edf = float(table["edf"][np.searchsorted(table["alpha"], chosen)])
    solution = Solution(chosen, table, np.empty((0, observed.targets.shape[1])), edf, variance)
    return LargeFit(system, solution, found.dual, found.null, found.n_iter, found.residual)


def _criteria(
    system: LargeSystem, observed: FunctionalData, settings: LargeSettings, n_probes: int
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
