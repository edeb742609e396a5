"""Which solver a smoother uses, and the fits by those that need no matrix of all pairs of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from ..functions.large_system import MOST_DENSE, obstacle
from ..kernels import VectorKernel
from ..nullspace import SoftTwin
from .attempts import Attempt
from .energies import field_energy, fit_field
from .large_fits import LargeSettings, fit_large, suits_fast
from .observations import FunctionalData

if TYPE_CHECKING:
    from .smoother import Smoother


def chosen_solver(smoother: Smoother, attempt: Attempt, asked: str, alpha: Any, values_only: bool) -> str:
    """What was asked for, with an error if that does not do; for "auto" what suits the observations."""
    n = len(attempt.observed.targets)
    if asked == "dense" or (asked == "auto" and n <= MOST_DENSE):
        return "dense"
    d, kernel = attempt.observed.points.shape[1], attempt.kernel
    plain = attempt.training is None and not isinstance(kernel, SoftTwin)
    hindrance = obstacle(kernel, attempt.observed.functionals, plain)
    if isinstance(kernel, VectorKernel):
        hindrance = f"{kernel!r} is no kernel of a single value"
    if smoother.criterion == "loo" and (alpha is None or np.ndim(alpha)):
        hindrance = "criterion='loo' needs the dense one, while 'gcv' and 'reml' do not"
    in_plane = values_only and plain and smoother.coordinates_ is None and not isinstance(kernel, VectorKernel)
    has_field = in_plane and field_energy(kernel, d, smoother.null_space) is not None
    if asked == "fast" and hindrance is not None:
        raise ValueError(f"solver='fast' cannot be used here: {hindrance}. Use solver='dense'.")
    if asked == "field" and not has_field:
        raise ValueError(
            "solver='field' takes values in 1 to 4 dimensions and the kernels Polyharmonic of order up to 3, Tension, "
            f"and ThinPlate in the plane, with their own null space; got {kernel!r} in dimension {d} with null_space="
            f"{smoother.null_space!r}: use another solver, or FieldSmoother."
        )
    if asked != "auto":
        return asked
    has_field = has_field and smoother.criterion != "loo" and (alpha is None or (np.ndim(alpha) == 0 and alpha > 0.0))
    solver = "field" if has_field else "dense"
    if hindrance is None and (suits_fast(n, alpha) or not has_field):
        solver = "fast"
    if smoother.verbose:
        tqdm.write(f"Smoother: solver={solver!r} for {n} observations in dimension {d}")
    return solver


def solved_fast(smoother: Smoother, attempt: Attempt, alpha: Any, places: FunctionalData | None) -> Attempt:
    """The fit by iteration; ``places`` choose alpha, if there are any."""
    settings = LargeSettings(smoother.criterion, float(smoother.tol), int(smoother.max_iter), smoother.verbose)
    P = attempt.null_matrix(attempt.observed)
    places_P = None if places is None else attempt.null_matrix(places)
    attempt.large = fit_large(attempt.kernel, attempt.observed, P, alpha, settings, places, places_P)
    attempt.solution = attempt.large.solution
    return attempt


def solved_by_field(smoother: Smoother, attempt: Attempt, alpha: Any) -> Attempt:
    """The fit by a field."""
    energy = field_energy(attempt.kernel, attempt.observed.points.shape[1], smoother.null_space)
    assert energy is not None
    attempt.field, attempt.field_factor = fit_field(smoother, *energy, alpha, attempt.observed), energy[1]
    return attempt
