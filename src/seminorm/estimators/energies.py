"""Kernels whose semi-norm a field has as its energy, and the field in place of the expansion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.spacing import median_spacing
from ..kernels import Kernel, NegativeDistance, Polyharmonic, Tension, ThinPlate
from ..kernels.algebra import Scaled
from ..operators import derivatives
from ..operators.operator import Operator
from .field_smoother import FieldSmoother
from .observations import FunctionalData

if TYPE_CHECKING:
    from .smoother import Smoother

_HIGHEST = 3
_SOME = 10_000
_DEEPEST = 14
_MOST_DIMENSIONS = 4


def field_energy(kernel: Kernel, dimension: int, null_space: Any) -> tuple[Operator, float] | None:
    """The operator of a kernel's semi-norm, and what the kernel is multiplied by beside it; None if no field has it, or
    leaves other polynomials free."""
    if isinstance(kernel, Scaled):
        inner = field_energy(kernel.kernel, dimension, null_space)
        return None if inner is None else (inner[0], inner[1] * float(kernel.factor))
    kernel = kernel.for_dimension(dimension)
    default = isinstance(null_space, str) and null_space == "auto"
    if dimension > _MOST_DIMENSIONS or not (default or null_space == kernel.null_degree):
        return None
    if isinstance(kernel, Polyharmonic):
        return (derivatives(kernel.order), 1.0) if kernel.order <= _HIGHEST else None
    if isinstance(kernel, ThinPlate) and dimension == 2:
        return derivatives(2), 8.0 * math.pi
    if isinstance(kernel, NegativeDistance) and kernel.beta == 1 and dimension == 1:
        return derivatives(1), 2.0
    if isinstance(kernel, Tension):
        return derivatives(1) / float(kernel.scale) ** 2 + derivatives(2), 1.0
    return None


def fit_field(
    smoother: Smoother, operator: Operator, factor: float, alpha: Any, observed: FunctionalData
) -> FieldSmoother:
    """The field with the smallest sum of energy and squared errors; for a given alpha with functions as narrow as
    the points are apart."""
    if alpha is not None and not (isinstance(alpha, float) and alpha > 0.0):
        raise ValueError(f"alpha must be 'auto' or one positive number for solver='field', got {smoother.alpha!r}.")
    if smoother.criterion == "loo":
        raise ValueError("criterion='loo' needs the dense solver: use 'gcv' or 'reml' for solver='field'.")
    targets = observed.targets[:, 0] if observed.targets.shape[1] == 1 else observed.targets
    field = FieldSmoother(
        "auto" if alpha is None else alpha / factor,
        operator=operator,
        criterion=smoother.criterion,
        depth="auto" if alpha is None else _depth(observed.points),
        verbose=smoother.verbose,
    )
    return field.fit(observed.points, targets, observed.weights)


def _depth(points: np.ndarray) -> int:
    """Halvings of the longest side after which it is as short as the distance of neighbours."""
    side, spacing = float(np.ptp(points, axis=0).max()), median_spacing(points, most=_SOME)
    return int(np.clip(np.ceil(np.log2(side / spacing)), 1, _DEEPEST)) if spacing > 0.0 else 1
