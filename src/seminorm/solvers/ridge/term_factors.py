"""One factor per term of a sum of kernels, by restricted likelihood.

The contrasts of the data have the covariance phi (sum_j t_j M_j + I), where M_j is the kernel matrix of term j on the
complement of the null space and t_j its factor, in units of the noise. The derivative of -2 log likelihood in log t_j
is t_j (tr(A^-1 M_j) - z'A^-1 M_j A^-1 z / phi), with A = sum_j t_j M_j + I: one Cholesky factorisation for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from ..linear.householder import lower_symmetric
from .likelihood import contrasts, deviance
from .system import ReducedSystem

_RANGE = (-20.0, 23.0)  # of the log factors, in units of the noise over the mean variance of a term
_MANY, _SOME = 1200, 600  # points from which on some of them find where to start
_STEPS = 100


class TermLikelihood:
    """-2 log of the restricted likelihood and its gradient, in the logarithms of the factors.

    For kernel matrices (n, n), which are overwritten, P (n, r) of full rank, y (n,) and weights; ``scatter`` and
    ``repeats`` as for :class:`ReducedSystem`. The dispersion phi is the most likely one if it is left out.
    """

    def __init__(
        self,
        matrices: Sequence[np.ndarray],
        P: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        scatter: float = 0.0,
        repeats: int = 0,
        dispersion: float | None = None,
    ):
        self.scatter, self.repeats, self.dispersion = scatter, repeats, dispersion
        self.M, traces = [], []
        for K in matrices:
            system = ReducedSystem(K, P, y[:, None], weights)
            self.M.append(lower_symmetric(system.take_matrix()))
            traces.append(np.trace(self.M[-1]) / max(len(self.M[-1]), 1))
        self.z = system.z[:, 0]
        #: the mean variance of the contrasts of each term
        self.units = np.maximum(np.array(traces), np.finfo(float).tiny * 1e20)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """At t = exp(theta) / units."""
        factors = np.exp(theta) / self.units
        A = np.eye(len(self.z))
        for factor, M in zip(factors, self.M, strict=True):
            A += factor * M
        inverse, dual, at_one = contrasts(A, np.empty((len(self.z), 0)), self.z)
        energy, degrees = float(self.z @ dual), len(self.z) + self.repeats
        total = energy + self.scatter
        phi = total / degrees if self.dispersion is None else self.dispersion
        value = float(deviance(total, at_one - energy, degrees, variance=self.dispersion))
        slopes = [np.vdot(inverse, M) - dual @ M @ dual / phi for M in self.M]
        return value, factors * np.array(slopes)

    def maximize(self, start: np.ndarray | None = None) -> np.ndarray:
        """The most likely factors, in units of the noise."""
        theta = np.zeros(len(self.M)) if start is None else np.log(np.maximum(start * self.units, np.exp(_RANGE[0])))
        options = {"maxiter": _STEPS, "ftol": 1e-11, "gtol": 1e-4}
        bounds = [_RANGE] * len(theta)
        found = minimize(self, np.clip(theta, *_RANGE), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return np.exp(found.x) / self.units


def best_factors(
    matrices: Sequence[np.ndarray],
    P: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    scatter: float = 0.0,
    repeats: int = 0,
    dispersion: float | None = None,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """The most likely factors of some kernel matrices, in units of the noise; many points start from some of them."""
    if start is None and len(y) > _MANY:
        part = np.sort(np.random.default_rng(0).permutation(len(y))[:_SOME])
        if np.linalg.matrix_rank(P[part]) == P.shape[1]:
            some = [K[np.ix_(part, part)] for K in matrices]
            start = TermLikelihood(some, P[part], y[part], weights[part], dispersion=dispersion).maximize()
    own = [np.array(K) for K in matrices]
    return TermLikelihood(own, P, y, weights, scatter, repeats, dispersion).maximize(start)
