"""Margin machines whose function is a field, for many points in up to four dimensions."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.warnings import warn_user
from ..losses import Loss
from ..solvers.margin.newton import SmoothLoss
from ..solvers.margin.repeated_fits import Candidate, minimize_by_fits
from .field import Field
from .fit import Fit, fit_field
from .settings import Settings
from .sources import Source
from .system import System, collapse

_ROUGH_TOL = 1e-2
_REDUCTION = 0.1


@dataclass
class FieldMargin:
    """A trained machine: the field, its active points, and the number of fits that were needed."""

    field: Field
    active: np.ndarray  #: (n,) of bool
    n_iter: int


def fit_margin_field(X: np.ndarray, loss: Loss, weights: np.ndarray, settings: Settings, max_iter: int) -> FieldMargin:
    """Minimise alpha |f|^2 + sum_i w_i loss_i(f(x_i)) in the basis of a field that is fitted to the targets y of all
    points, in at most ``max_iter`` fits.

    The loss has the methods :data:`seminorm.solvers.margin.newton.NEEDS`, the settings a number for alpha.
    """
    regression = fit_field(Source.of(X, loss.y, weights), settings)
    fits, alpha = _FieldFits(regression, X, settings), regression.alpha
    smooth: SmoothLoss = loss  # type: ignore[assignment]  # the caller's choice of the loss
    start = fits.candidate(regression.x)
    found, active, n_iter = minimize_by_fits(smooth, weights, alpha, start, fits.fit, fits.mixed_energy, max_iter)
    return FieldMargin(fits.field(found), active, n_iter)


class _FieldFits:
    """Least squares in the basis of a field."""

    def __init__(self, regression: Fit, X: np.ndarray, settings: Settings):
        self.regression, self.X, self.settings = regression, X, settings
        self.tree, self.offset = regression.field.tree, float(regression.field.offset)
        self.energy = regression.system.energy

    def field(self, candidate: Candidate) -> Field:
        return Field(self.tree, collapse(self.tree, candidate.coef), self.settings.roughness, self.offset)

    def fit(self, targets: np.ndarray, weights: np.ndarray, start: Candidate, exact: bool) -> Candidate:
        source = Source.of(self.X, targets, weights)
        system = source.accumulate(partial(System, self.tree, self.settings.roughness, self.offset)).close()
        coef = start.coef.copy()
        options: dict[str, Any] = {"tol": self.settings.tol} if exact else {"tol": _ROUGH_TOL, "reduction": _REDUCTION}
        outcome = system.solve(self.regression.alpha, coef, max_iter=self.settings.max_iter, **options)
        if exact and not outcome.converged:
            warn_user(
                f"the field was not solved to a relative residual of {self.settings.tol:g}: after {outcome.n_iter} "
                f"steps it is {outcome.residual:.1e}. Take a larger alpha.",
                ConvergenceWarning,
            )
        return self.candidate(coef)

    def mixed_energy(self, one: Candidate, other: Candidate) -> float:
        """The inner product of the semi-norm, from that of the sum and the difference."""
        both, apart = (self.energy(collapse(self.tree, one.coef + sign * other.coef)) for sign in (1.0, -1.0))
        return 0.25 * (both - apart)

    def candidate(self, coef: np.ndarray) -> Candidate:
        collapsed = collapse(self.tree, coef)
        values = Field(self.tree, collapsed, self.settings.roughness, self.offset)(self.X)
        return Candidate(coef, values, self.energy(collapsed))
