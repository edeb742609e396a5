"""The posterior variance of a field [Walder 2008, 3.1.3].

With noise variance s2 / w_i and the prior that belongs to the semi-norm, the field is a Gaussian process with a
degenerate covariance, and its variance at t is s2 f_t' (alpha F + F_x' W F_x)^-1 f_t, where f_t holds the basis
functions at t.
"""

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _native
from ..functions.functionals import Functional
from .direct import DirectSolver, is_small
from .draws import Cascade, NoisyObservations
from .drift import Drift
from .field import Field
from .functional_rows import leaf_rows
from .sources import Source
from .system import System, collapse, dot, gather
from .vector_field import VectorField, scaled

_TRACE_TOL = 0.05
_DRAW_TOL = 1e-2
_DEVIATION_TOL = 5e-2  # changes deviations from 48 draws by 4 % at most, where chance does by 10 %, their mean by 0.4 %


class Posterior:
    """Variance of a fitted field, exact or from random samples.

    Parameters
    ----------
    system, alpha, source : System, float, Source
        Closed equations, the alpha that they were solved for, and all of their observations, None where they are
        not at hand.
    residual_square_sum : float or array (k,)
        Of the field at the data; of each output, if there are several.
    trace : float, optional
        Effective number of parameters; left out, it is estimated when it is needed.
    likely_variance : float or array (k,), optional
        The noise variance of the largest restricted likelihood; left out, it is what the residuals tell.
    drift : Drift, optional
        Free features beside the field, whose coefficients are as uncertain as their covariance says.
    tol, max_iter : float, int
        For the solutions.

    See Also
    --------
    Field

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.fields import Settings, Source, fit_field
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> y = X[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> posterior = fit_field(Source.of(X, y), Settings(alpha=1.0, depth=2)).posterior()
    >>> bool(0.05**2 < posterior.noise_variance < 0.15**2), posterior.variance([[0.5]]).shape
    (True, (1,))
    """

    def __init__(
        self,
        system: System,
        alpha: float,
        source: Source | None,
        residual_square_sum: float | np.ndarray,
        trace: float | None = None,
        likely_variance: float | np.ndarray | None = None,
        drift: Drift | None = None,
        *,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ):
        self.source = source
        self.system, self.alpha, self.residual_square_sum = system, alpha, residual_square_sum
        self.tol, self.max_iter = tol, max_iter
        self._trace, self._likely_variance, self.drift = trace, likely_variance, drift

    @property
    def trace(self) -> float:
        """Effective number of parameters tr (alpha F + D)^-1 D, from random vectors of covariance D."""
        if self._trace is None:
            number = int(min(max(20_000 // max(self.system.number, 1), 1), 10))
            noisy = self.known_source().accumulate(partial(NoisyObservations, 0, 0, number, self.system))
            total = 0.0
            for noise in noisy.leaf_right[noisy.outputs :]:
                right = gather(self.system.tree, noise)
                x = np.zeros_like(right)
                self.system.solve_for(self.alpha, right, x, tol=_TRACE_TOL, max_iter=self.max_iter)
                total += dot(right, x)
            self._trace = total / number
        return self._trace

    @property
    def noise_variance(self) -> Any:
        """Of an observation of weight 1: the likely one, or what is left of the data, per degree of freedom. A number,
        or (k,) for k outputs.
        """
        if self._likely_variance is not None:
            return self._likely_variance
        trace = self.trace + (0.0 if self.drift is None else self.drift.freedom)
        return np.maximum(self.residual_square_sum, 0.0) / max(self.system.number - trace, 1.0)

    def variance(self, X: ArrayLike) -> np.ndarray:
        """Variance of the field at X (n,), or (n, k), exact up to ``tol``, by one solution per point; exact and by one
        factorisation if the system is small. That of the field alone for known coefficients of a drift.
        """
        tree = self.system.tree
        if self.direct is not None:
            return self.functional_variance(Functional.values(X))
        points = np.clip(tree.box.coordinates(X), 0.0, tree.box.cells)
        block, cell = tree.locate(points)
        result, cascade = np.empty(len(points)), self._cascade
        for first in range(0, len(points), cascade.together):
            chosen = range(first, min(first + cascade.together, len(points)))
            right = np.zeros((len(chosen), *tree.active.shape))
            for i, own in zip(chosen, right, strict=True):
                one = points[i : i + 1], block[i : i + 1], cell[i : i + 1]
                _native.spread_points(tree.links, *one, np.ones(1), own)
            result[chosen] = cascade.inverse_forms(gather(tree, right), tol=self.tol, max_iter=self.max_iter)
        return self.of_outputs(result)

    @cached_property
    def direct(self) -> DirectSolver | None:
        """Factors of the equations, if they are small and have one solution."""
        solver = DirectSolver(self.system, self.alpha) if is_small(self.system.tree) else None
        return solver if solver is not None and solver.regular else None

    def functional_variance(self, functional: Functional) -> np.ndarray:
        """Variance of functionals of values and gradients inside the box (size,), or (size, k), by ``direct``."""
        assert self.direct is not None
        rows = leaf_rows(functional, self.system.tree)
        return self.of_outputs(np.maximum(self.direct.variances(rows), 0.0))

    def unit_samples(self, number: int, seed: int = 0, normal: bool = False) -> list[Field]:
        """Fields with the covariance of the posterior of an output whose noise has variance one, minus its mean; made
        of normal noise or of signs.
        """
        tree, tol = self.system.tree, max(self.tol, _DRAW_TOL if normal else _DEVIATION_TOL)
        draws = self._cascade.draws(self.known_source(), number, seed, tol=tol, max_iter=self.max_iter, normal=normal)
        return [Field(tree, collapse(tree, x), self.system.energy.roughness) for x in draws]

    def samples(self, number: int, seed: int = 0) -> list[Field] | list[VectorField]:
        """Fields drawn from the posterior, minus its mean: the mean of their squares estimates the variance. For known
        coefficients of a drift.
        """
        scale = np.sqrt(self.noise_variance)
        if np.ndim(scale) == 0:
            return [field.times(scale) for field in self.unit_samples(number, seed, normal=True)]
        k = len(scale)
        fields = self.unit_samples(number * k, seed, normal=True)
        return [scaled(VectorField(fields[k * i : k * (i + 1)]), scale) for i in range(number)]

    def of_outputs(self, variance: np.ndarray) -> np.ndarray:
        """Variances (n, ...) for a noise of variance one as those of the outputs: (n, k, ...) for k of them."""
        noise = np.asarray(self.noise_variance)
        if noise.ndim == 0:
            return noise * variance
        return variance[:, None] * noise.reshape(-1, *[1] * (variance.ndim - 1))

    def __getstate__(self) -> dict:
        """All but observations that cannot be copied to another process."""
        changed: dict[str, Any] = {}
        if self.source is not None and not self.source.in_memory:
            self.noise_variance  # noqa: B018  # needs them
            changed["source"] = None
        return {name: part for name, part in self.__dict__.items() if name != "direct"} | changed  # factors stay here

    def known_source(self) -> Source:
        """All observations."""
        if self.source is None:
            raise ValueError(
                "this smoother was pickled without its observations, which came from a callable or from Dask arrays: "
                "fit it again for standard deviations and draws."
            )
        return self.source

    @cached_property
    def _cascade(self) -> Cascade:
        return Cascade(self.system, self.alpha, self.source)
