"""One kernel and null space that a smoother tries, and the fit by one of the solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..functions import design, gram
from ..kernels import Kernel
from ..nullspace import NullSpace
from ..solvers.margin.indefinite import is_definite
from ..solvers.margin.machines import FreeMachine
from ..solvers.ridge.selection import Solution, output_units
from ..solvers.ridge.system import Factor, ReducedSystem
from .field_smoother import FieldSmoother
from .large_fits import LargeFit
from .observations import FunctionalData


@dataclass
class Attempt:
    """One kernel and null space, the observations, and the fit."""

    kernel: Kernel
    null_space: NullSpace
    observed: FunctionalData
    combinations: np.ndarray | None  #: of the null space, that the data determine
    system: ReducedSystem | None = None
    solution: Solution | None = None
    training: np.ndarray | None = None  #: the null space at the observations, if it has learned from them
    solver: str = "dense"
    large: LargeFit | None = None  #: by the fast solver, in place of a system
    field: FieldSmoother | None = None
    field_factor: float = 1.0  #: alpha in units of the kernel over that of the field

    def null_matrix(self, observed: FunctionalData) -> np.ndarray:
        """The null space at these observations or at others."""
        P = design(self.null_space, observed.functionals) if self.training is None else self.training
        return P if self.combinations is None else P @ self.combinations

    def reduced_system(self, observed: FunctionalData) -> ReducedSystem:
        """The system of these observations or of others with the same kernel and null space."""
        K, P = gram(self.kernel, observed.functionals), self.null_matrix(observed)
        return ReducedSystem(K, P, observed.targets, observed.weights, observed.scatter, observed.repeats)

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the kernel (n, k), and of the null space."""
        if self.large is not None:
            dual, null = self.large.dual, self.large.null
        else:
            assert self.system is not None and self.solution is not None
            dual, null = self.system.coefficients(self.solution.g)
        return dual, null if self.combinations is None else self.combinations @ null

    @property
    def left_out(self) -> float:
        """The mean square of the leave-one-out residuals, over the outputs in units of their scatter where there are
        several; computed here if the criterion for alpha did not need it.
        """
        assert self.solution is not None
        if self.solver == "dense" and np.isnan(self.solution.left_out):
            system = self.reduced_system(self.observed)
            units, weights = output_units(system), system.root[:, 0] ** 2
            if system.size > system.rank:
                squares = Factor(system, self.solution.alpha).leave_one_out() ** 2
                self.solution.left_out = float((weights @ squares / units).sum() / weights.sum())
        return self.solution.left_out

    @property
    def score(self) -> float:
        """The least value of the criterion that chose alpha."""
        assert self.solution is not None
        return float(np.min(self.solution.path["score"]))

    def refuse_indefinite(self) -> None:
        """Raise an error if the kernel matrix has negative eigenvalues beside the null space."""
        P = design(self.null_space, self.observed.functionals)
        if not is_definite(FreeMachine(gram(self.kernel, self.observed.functionals), P).K, overwrite=True):
            raise ValueError(
                f"kernel={self.kernel!r} has negative eigenvalues on these points beside the null space, and then the "
                "fit has no minimum: use seminorm.invariance.DefiniteRepair, or SVR, which drops them."
            )


def advice(dimension: int) -> str:
    """What to do where there is no room for a dense fit."""
    field = ", or use seminorm.FieldSmoother, which takes millions of points in one to four dimensions."
    return f"fit a subset{field if dimension <= 4 else '.'}"
