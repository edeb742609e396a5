"""Large systems of functionals for the iterative solver, with products by near and far field."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.memory import require_memory
from .._base.warnings import warn_user
from ..kernels import NegativeDistance, Polyharmonic
from ..kernels.algebra import AxisScale, Scaled
from ..kernels.base import Kernel
from ..kernels.radial_parts import radial_part
from ..solvers.linear.contrasts import Jets
from ..solvers.linear.splines import LineSplines
from ..solvers.ridge.iterative import IterativeSolution, IterativeSystem, groups_in, neighbors_in
from .fast_gram import FastGram
from .functionals import Functional
from .local import local_functionals
from .summation.fast_sum import FastSum

MOST_DENSE = 8000  # observations up to which a dense solution is the automatic choice
_DIMENSIONS = 3
_ROUGH = 1e-5  # error of the products in the steps
_FEW_POINTS = 50_000  # up to which preparing two kinds of products costs more than it saves
_DROWNED = 1e-10  # variances, in units of the kernel times the root of n, that products with such errors cannot tell
_SHARE = 0.5  # error of a product in terms of the residual that is asked for
_LEAST_TOLERANCE = 1e-13
_MOST_ORDER = 4  # of smoothing splines whose divided differences keep enough digits
_POINT_BYTES = 2000  # of the sums, for each point


def obstacle(kernel: Kernel, functionals: Sequence[Functional], plain_space: bool = True) -> str | None:
    """Why there is no fast solver, or None."""
    dimension = functionals[0].dimension
    if dimension > _DIMENSIONS:
        return f"it works in 1 to {_DIMENSIONS} dimensions, and X has {dimension} columns"
    if not plain_space:
        return "the null space must not be 'soft', nor learn from the data"
    part = radial_part(kernel, dimension)
    if kernel.is_indefinite or part is None or part.matrix.shape[1] > _DIMENSIONS:
        return f"the kernel must be a function of distances, and {kernel!r} is not"
    if is_values(functionals):
        return None
    if local_functionals(functionals) is None:
        return "it takes values and first derivatives at points, not averages or second derivatives"
    if not part.has(2):
        return f"derivatives need those of the profile, and {kernel!r} has none"
    return None


def is_values(functionals: Sequence[Functional]) -> bool:
    """Whether the functionals are the values at points, and nothing else."""
    terms = functionals[0].terms
    return len(functionals) == 1 and len(terms) == 1 and terms[0].derivative == 0 and terms[0].matrix is None


@dataclass(frozen=True)
class LargeSystem:
    """The equations of the fast solver, for observations over their ``units`` (N, 1)."""

    scaled: IterativeSystem
    units: np.ndarray

    def solve(self, targets: np.ndarray, alpha: float, **options: Any) -> IterativeSolution:
        """The coefficients for targets (N, k); see :meth:`IterativeSystem.solve`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="tolerance=")  # of a product: the residual says what matters
            found = self.scaled.solve(targets / self.units, alpha, **options)
        return replace(found, dual=found.dual / self.units)

    def left_out(self, dual: np.ndarray, alpha: float) -> np.ndarray:
        """See :meth:`IterativeSystem.left_out`."""
        return self.units * self.scaled.left_out(self.units * dual, alpha)

    def posterior_covariance(self, cross: np.ndarray, *parts: Any, **options: Any) -> np.ndarray:
        """See :meth:`IterativeSystem.posterior_covariance`."""
        return self.scaled.posterior_covariance(cross / self.units, *parts, **options)


def warn_unless_converged(found: IterativeSolution, tol: float) -> None:
    """Say how far an iteration got that did not get there."""
    if not found.converged:
        warn_user(
            f"the fast solver reached a residual of {found.residual:.1e} in {found.n_iter} steps, and tol={tol:g} was "
            "asked for, in units of the values beside the null space: use a larger alpha (a nugget, for "
            "interpolation), a rougher kernel, or a larger tol or max_iter.",
            ConvergenceWarning,
        )


def large_system(
    kernel: Kernel,
    functionals: Sequence[Functional],
    weights: np.ndarray,
    P: np.ndarray,
    tol: float,
    interpolates: bool = False,
) -> LargeSystem:
    """The equations, with products by near and far field.

    Observations that are not all values are brought to one unit, and their residuals are measured in it: the roots of
    their weights say what errors are alike.
    """
    tolerance = max(_SHARE * tol, _LEAST_TOLERANCE)
    size = len(weights)
    if is_values(functionals):
        scaled = _system_of_values(kernel, functionals[0].points, weights, P, tolerance, interpolates)
        return LargeSystem(scaled, np.ones((size, 1)))
    units = 1.0 / np.sqrt(weights)
    ends = np.cumsum([functional.size for functional in functionals])
    shares = np.split(1.0 / units, ends[:-1])
    alike = [functional * share for functional, share in zip(functionals, shares, strict=True)]
    return LargeSystem(_system_of_jets(kernel, alike, P / units[:, None], tolerance), units[:, None])


def _require_memory(n: int, n_points: int, n_entries: int) -> None:
    needed = n * 12 * n_entries + n_points * (8 * n_entries + _POINT_BYTES)
    require_memory(needed, f"a fast fit of {n} observations", "fit a subset, or use seminorm.FieldSmoother.")


def _system_of_values(
    kernel: Kernel, points: np.ndarray, weights: np.ndarray, P: np.ndarray, tolerance: float, interpolates: bool
) -> IterativeSystem:
    n, d = points.shape
    is_rough = kernel.differentiability <= 1  # smooth kernels enlarge errors of high frequency
    pays = d > 1 and n > _FEW_POINTS and tolerance < _ROUGH
    n_neighbors = neighbors_in(d, easy=interpolates and is_rough)
    _require_memory(n, n, n_neighbors + 1)
    part = radial_part(kernel, d)
    assert part is not None
    return IterativeSystem(
        FastSum(kernel, points, tolerance=tolerance),
        part.profile,
        points @ part.matrix,
        P,
        weights,
        n_neighbors,
        accuracy=_DROWNED,
        splines=_line_splines(kernel, points, part.matrix, P),
        rough=FastSum(kernel, points, tolerance=_ROUGH) if is_rough and pays else None,
    )


def _line_splines(kernel: Kernel, points: np.ndarray, matrix: np.ndarray, P: np.ndarray) -> LineSplines | None:
    """The exact inverse for smoothing splines on the line."""
    if points.shape[1] != 1:
        return None
    factor = 1.0
    while isinstance(kernel, (Scaled, AxisScale)):
        factor *= kernel.factor if isinstance(kernel, Scaled) else 1.0
        kernel = kernel.kernel
    if isinstance(kernel, NegativeDistance) and kernel.beta == 1.0:  # twice the kernel of int f'^2
        return LineSplines.suited_to((points @ matrix)[:, 0], P, 1, 2.0 * factor)
    if not isinstance(kernel, Polyharmonic) or kernel.order > _MOST_ORDER:
        return None
    return LineSplines.suited_to((points @ matrix)[:, 0], P, kernel.order, factor)


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
