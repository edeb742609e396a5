"""Expansions that fit functionals: by a factorisation, or by an iteration for many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._base import blas as threads
from .._base.memory import require_memory
from ..kernels.base import Kernel
from ..solvers.ridge.selection import choose_alpha
from ..solvers.ridge.stochastic import StochasticCriteria
from ..solvers.ridge.system import Factor, ReducedSystem
from .functionals import Functional
from .large_system import MOST_DENSE, large_system, obstacle, warn_unless_converged
from .matrices import gram

_SOLVERS = ("auto", "dense", "fast")
_MATRICES = 4  # of the size of the system, at the same time (measured: 2.8 to 3.4)


class Iteration(NamedTuple):
    """How the iteration works."""

    tol: float
    max_iter: int
    verbose: bool


class FunctionalFit(NamedTuple):
    """Coefficients of the functionals (N, k) and of the null space (r, k), alpha, and the residual of the iteration."""

    dual: np.ndarray
    null: np.ndarray
    alpha: float | None
    residual: float


def chosen_solver(
    solver: str, kernel: Kernel, example: Functional, size: int, iteration: Iteration, what: str, advice: str
) -> str:
    """What was asked for, with an error if that does not do; for "auto" what suits so many functionals as the example.

    ``what`` and ``advice`` go into the message where there is no room for a matrix.
    """
    if solver not in _SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, _SOLVERS))}, got {solver!r}.")
    tol, max_iter, _ = iteration
    if not (0 < tol < 1 and max_iter >= 1):
        raise ValueError(f"tol must lie between 0 and 1, and max_iter be at least 1, got {tol!r} and {max_iter!r}.")
    hindrance = obstacle(kernel, [example])
    if solver == "fast" and hindrance is not None:
        raise ValueError(f"solver='fast' cannot be used here: {hindrance}. Use solver='dense'.")
    if solver == "fast" or (solver == "auto" and size > MOST_DENSE and hindrance is None):
        return "fast"
    require_memory(_MATRICES * 8 * size**2, what, advice)
    return "dense"


def fit_functionals(
    kernel: Kernel,
    functionals: Sequence[Functional],
    targets: np.ndarray,
    weights: np.ndarray,
    P: np.ndarray,
    alpha: float | None,
    iteration: Iteration | None,
) -> FunctionalFit:
    """Fit targets (N, k) of N functionals, whose design matrix of the null space is P (N, r); alpha None is the most
    likely one, and iteration None a factorisation."""
    if iteration is None:
        with threads.suited_to(len(targets)):
            return _factorized(kernel, functionals, targets, weights, P, alpha)
    tol, max_iter, verbose = iteration
    with threads.one_thread():
        system = large_system(kernel, functionals, weights, P, tol)
        if alpha is None:
            scaled, scatter = targets / system.units, np.zeros(targets.shape[1])
            alpha = StochasticCriteria(system.scaled, scaled, scatter, 0, "reml", max_iter, verbose).minimize()
        found = system.solve(targets, alpha, tol=tol, max_iter=max_iter, verbose=verbose)
    warn_unless_converged(found, tol)
    return FunctionalFit(found.dual, found.null, alpha, found.residual)


def _factorized(kernel, functionals, targets, weights, P, alpha: float | None) -> FunctionalFit:
    system = ReducedSystem(gram(kernel, functionals), P, targets, weights)
    if system.size == system.rank:  # the null space meets all observations
        g = np.empty((0, targets.shape[1]))
    elif alpha is None:
        chosen_alpha = choose_alpha(system, "reml")
        g, alpha = chosen_alpha.g, chosen_alpha.alpha
    else:
        g = Factor(system, alpha).g
    return FunctionalFit(*system.coefficients(g), alpha, 0.0)
