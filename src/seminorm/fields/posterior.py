"""The posterior variance of a field [Walder 2008, 3.1.3].

With noise variance s2 / w_i and the prior that belongs to the semi-norm, the field is a Gaussian process with a
degenerate covariance, and its variance at t is s2 f_t' (alpha F + F_x' W F_x)^-1 f_t, where f_t holds the basis
functions at t.
"""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from .. import _native
from .field import Field
from .system import CellEnergy, System, collapse, dot, gather
from .tree import Tree

_ROOT_DEGREE = 40
_TRACE_TOL = 0.05


class Posterior:
    """Variance of a fitted field, exact or from random samples.

    Parameters
    ----------
    system, alpha : System, float
        Closed equations, and the alpha that they were solved for.
    residual_square_sum : float
        Of the field at the data.
    trace : float, optional
        Effective number of parameters; left out, it is estimated when it is needed.
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
        residual_square_sum: float,
        trace: float | None = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ):
        self.system, self.alpha, self.residual_square_sum = system, alpha, residual_square_sum
        self.tol, self.max_iter = tol, max_iter
        self._trace = trace

    @property
    def trace(self) -> float:
        """Effective number of parameters tr (alpha F + D)^-1 D, from random vectors of covariance D."""
        if self._trace is None:
            rng = np.random.default_rng(0)
            number = int(min(max(20_000 // max(self.system.number, 1), 1), 10))
            total = 0.0
            for _ in range(number):
                right = gather(self.system.tree, self._data_noise(rng))
                x = np.zeros_like(right)
                self.system.solve_for(self.alpha, right, x, tol=_TRACE_TOL, max_iter=self.max_iter)
                total += dot(right, x)
            self._trace = total / number
        return self._trace

    @property
    def noise_variance(self) -> float:
        """Of an observation of weight 1: what is left of the data, per degree of freedom."""
        return max(self.residual_square_sum, 0.0) / max(self.system.number - self.trace, 1.0)

    def variance(self, X: ArrayLike) -> np.ndarray:
        """Variance of the field at X (n,), exact up to ``tol``, by one solution per point."""
        tree = self.system.tree
        points = np.clip(tree.box.coordinates(X), 0.0, tree.box.cells)
        block, cell = tree.locate(points)
        result = np.empty(len(points))
        for i in range(len(points)):
            leaf_right = np.zeros(tree.active.shape)
            one = points[i : i + 1], block[i : i + 1], cell[i : i + 1]
            _native.spread_points(tree.links, *one, np.ones(1), leaf_right)
            right = gather(tree, leaf_right)
            x = np.zeros_like(right)
            self.system.solve_for(self.alpha, right, x, tol=self.tol, max_iter=self.max_iter)
            result[i] = dot(right, x)
        return self.noise_variance * result

    def samples(self, number: int, seed: int = 0) -> list[Field]:
        """Fields drawn from the posterior, minus its mean: the mean of their squares estimates the variance."""
        rng = np.random.default_rng(seed)
        tree = self.system.tree
        fields = []
        for _ in range(number):
            right = gather(tree, self._noise(rng))
            x = np.zeros_like(right)
            self.system.solve_for(self.alpha, right, x, tol=max(self.tol, 1e-3), max_iter=self.max_iter)
            coef = np.sqrt(self.noise_variance) * collapse(tree, x)
            fields.append(Field(tree, coef, self.system.energy.roughness))
        return fields

    def _noise(self, rng: np.random.Generator) -> np.ndarray:
        """Normal numbers, on the leaves, whose covariance is the matrix of the system."""
        return self._data_noise(rng) + energy_noise(self.system.tree, self.system.energy, self.alpha, rng)

    def _data_noise(self, rng: np.random.Generator) -> np.ndarray:
        """That of the data alone, by a polynomial that approximates the square root."""
        diagonal = self.system.data_diagonal()
        scale = np.sqrt(diagonal)
        inverse = np.where(diagonal > 0, 1 / np.where(diagonal > 0, scale, 1.0), 0.0)

        def scaled(v: np.ndarray) -> np.ndarray:
            return inverse * self.system.data_form(inverse * v)

        g = rng.standard_normal(scale.shape) * (diagonal > 0)
        largest = self._largest(scaled, g)
        # sqrt on [0, largest] in Chebyshev polynomials: what is lost are directions that data hardly see
        series: np.ndarray = chebyshev.chebinterpolate(lambda t: np.sqrt(0.5 * largest * (t + 1)), _ROOT_DEGREE)
        before, now = g, 2 / largest * scaled(g) - g
        total = series[0] * before + series[1] * now
        for coefficient in series[2:]:
            before, now = now, 2 * (2 / largest * scaled(now) - now) - before
            total += coefficient * now
        return scale * total

    @staticmethod
    def _largest(scaled: Callable[[np.ndarray], np.ndarray], g: np.ndarray) -> float:
        """The largest eigenvalue, from above: some steps of the power method and a fifth more."""
        v = g
        norm = 1.0
        for _ in range(20):
            v = scaled(v)
            norm = np.sqrt(dot(v, v))
            if norm == 0.0:
                return 1.0
            v /= norm
        return 1.2 * norm


def energy_noise(tree: Tree, energy: CellEnergy, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers whose covariance is alpha times the energy, on the leaves: made cell by cell."""
    values, vectors = np.linalg.eigh(energy.cells)
    keep = values > values[:, -1:] * 1e-13
    first = np.flatnonzero(keep.any(axis=0))[0]  # ascending: what all levels have at most
    factors = np.ascontiguousarray((vectors * np.sqrt(np.where(keep, values, 0.0))[:, None])[:, :, first:])
    numbers = rng.standard_normal((int(np.count_nonzero(tree.leaf)), factors.shape[2]))
    noise = np.zeros(tree.active.shape)
    roots = np.sqrt(alpha * energy.factors)
    _native.spread_cells(tree.links, tree.leaf, roots, factors, numbers, noise)
    return noise
