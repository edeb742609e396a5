"""Regularised least squares with a semi-norm by iteration: (Phi + alpha W^-1) a + P b = y, P' a = 0.

Products with Phi come from outside. Conjugate gradients on the complement of P, preconditioned by local contrasts,
need a number of steps that hardly depends on the number of points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.spatial.distance import cdist
from tqdm import tqdm

from ..linear.conjugate_gradients import conjugate_gradients_together
from ..linear.contrasts import EarlierNeighbors, Jets, LocalContrasts, Profile
from ..linear.splines import LineSplines, SplineContrasts
from .system import quotient

_RESTARTS = 20
_REDUCTION = 1e-3  # of the residual before it is computed afresh
_MARGIN = 0.7
_ROUNDING = 1e-13  # of y
_PROGRESS = 0.9  # the share of its residual that a restart must not keep
_SPREAD = 200
Enough = Callable[[np.ndarray], bool]
_NEIGHBORS = {1: 20, 2: 36, 3: 64}
_FEW_NEIGHBORS = {1: 16, 2: 24, 3: 48}
_OBSERVATIONS = {1: 32, 2: 60, 3: 96}  # in a neighbourhood, if there are gradients


def neighbors_in(dimension: int, easy: bool = False) -> int:
    """How many neighbours a contrast has; fewer will do to interpolate with kernels that are not smooth."""
    return (_FEW_NEIGHBORS if easy else _NEIGHBORS)[dimension]


def groups_in(dimension: int, group: float) -> int:
    """The same where the observations at one point, with gradients among them, are so many on average."""
    return min(neighbors_in(dimension), round(_OBSERVATIONS[dimension] / group))


@dataclass(frozen=True)
class IterativeSolution:
    """Coefficients of the kernel (n, k) and of the null space (r, k), and how well they solve the system."""

    dual: np.ndarray
    null: np.ndarray
    residual: float  #: |y - (Phi + alpha W^-1) a - P b| / |y - P b_0|, with the best b_0; the worst of the outputs
    n_iter: int  #: steps
    converged: bool


@dataclass(frozen=True)
class _Iterate:
    dual: np.ndarray
    values: np.ndarray  #: (Phi + alpha W^-1) a
    remainder: np.ndarray  #: what is missing of y beside the null space
    residual: float


class IterativeSystem:
    """The problem for ``product``, a (n, k) -> Phi a, and ``profile``, Phi as a function of squared distances, with
    its derivatives.

    Points are (n, d) with d up to 3, P (n, r) has full column rank, and weights are (n,). With ``jets`` observations
    are not values at the points, and their number is not that of the points. ``accuracy`` is that of the products,
    relative to a sum of absolute values. ``rough`` are cheaper products for the steps, with errors well below a
    thousandth of the largest result; the residual is computed by the better ones. ``splines`` know the inverse exactly.
    """

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        profile: Profile,
        points: np.ndarray,
        P: np.ndarray,
        weights: np.ndarray,
        n_neighbors: int,
        accuracy: float = 1e-13,
        rough: Callable[[np.ndarray], np.ndarray] | None = None,
        jets: Jets | None = None,
        splines: LineSplines | None = None,
    ):
        self.rough = product if rough is None else rough
        self.product, self.profile, self.weights, self.jets = product, profile, weights, jets
        self.splines, self.P = splines, P
        self.size, self.rank = P.shape
        self.neighborhoods = EarlierNeighbors(points, P, n_neighbors, jets)
        self.Q, self.R = P, np.zeros((0, 0))
        if self.rank:
            self.Q, self.R = qr(P, mode="economic", check_finite=False)
        self._drowned = accuracy * np.sqrt(self.size) * self._typical_variances()
        if splines is not None:  # solve for what the products do not tell
            self._drowned = np.zeros(self.size)
        self._contrasts: tuple[float, LocalContrasts | SplineContrasts] | None = None

    def contrasts(self, alpha: float) -> LocalContrasts | SplineContrasts:
        """The local contrasts for one alpha, or the inverse itself; the last ones are kept.

        Variances that drown in the errors of the products are kept above them: what the iteration cannot see there it
        must not enlarge.
        """
        if self._contrasts is None or self._contrasts[0] != alpha:
            self._contrasts = None  # makes room first
            exact = None if self.splines is None else self.splines.contrasts(alpha / self.weights)
            every = np.arange(self.neighborhoods.n_groups)
            self._contrasts = alpha, exact or self.some_contrasts(alpha, every)
        return self._contrasts[1]

    def some_contrasts(self, alpha: float, rows: np.ndarray) -> LocalContrasts:
        """Those of some groups, by their places in the order from coarse to fine."""
        return self.neighborhoods.contrasts(self.profile, alpha / self.weights + self._drowned, rows)

    def sampled_rows(self, always: int, sampled: int) -> tuple[np.ndarray, np.ndarray]:
        """The first groups in the order, and a sample of the others, with how many each of them stands for."""
        n = self.neighborhoods.n_groups
        first, others = np.arange(min(always, n)), np.arange(min(always, n), n)
        chosen = np.sort(np.random.default_rng(0).permutation(others)[:sampled])
        shares = np.full(len(chosen), len(others) / max(len(chosen), 1))
        return np.concatenate([first, chosen]), np.concatenate([np.ones(len(first)), shares])

    def left_out(self, dual: np.ndarray, alpha: float) -> np.ndarray:
        """y_i - f(x_i), approximately, with f fitted without point i: a_i over the diagonal of the inverse, for which
        that of the contrasts stands."""
        return quotient(dual, self.contrasts(alpha).diagonal()[:, None])

    def posterior_covariance(
        self, cross: np.ndarray, null: np.ndarray, prior: np.ndarray, alpha: float, *, tol: float, max_iter: int
    ) -> np.ndarray:
        """Covariance of f at new points, in units of the prior variance, as Factor.posterior_covariance has it.

        ``cross`` (n, m) and ``null`` (m, r) belong to the new points; ``prior`` is their kernel matrix or its diagonal.
        """
        weights = np.zeros(cross.shape)
        if self.rank:
            weights = self.Q @ solve_triangular(self.R, null.T, trans="T")
        right = cross - self._apply(weights, (alpha / self.weights)[:, None])
        found = self.solve(right, alpha, tol=tol, max_iter=max_iter)
        if prior.ndim == 1:
            return prior - np.einsum("ij,ij->j", cross, weights + found.dual) - np.einsum("ij,ji->i", null, found.null)
        covariance = prior - cross.T @ (weights + found.dual) - null @ found.null
        return 0.5 * (covariance + covariance.T)

    def trace(self) -> float:
        """The trace of W^1/2 Phi W^1/2 on the complement of W^1/2 P."""
        root = np.sqrt(self.weights)[:, None]
        total = float(self.weights @ self._variances(lambda k: float(self.profile(np.zeros(1), k)[0])))
        if not self.rank:
            return total
        basis = root * qr(root * self.Q, mode="economic", check_finite=False)[0]
        return total - float(np.einsum("ij,ij->", basis, self.product(basis)))

    def log_determinant(self, alpha: float) -> float:
        """Approximately that of W^1/2 Phi W^1/2 + alpha on the complement of W^1/2 P, from the local contrasts."""
        contrasts = self.contrasts(alpha)
        if isinstance(contrasts, SplineContrasts):
            return contrasts.log_determinant - self._spline_volume
        scales = contrasts.scales
        return float(-2.0 * np.log(scales[scales > 0]).sum()) + self._log_volume

    @cached_property
    def _spline_volume(self) -> float:
        assert self.splines is not None
        return self.splines.log_volume(self.weights, self.P)

    def _variances(self, size: Callable[[int], float]) -> np.ndarray:
        """c^2 h - 2 g.g h' for each observation, with sizes of h and h'."""
        if self.jets is None:
            return np.full(self.size, size(0))
        squares = np.square(self.jets.jets)
        return squares[:, 0] * size(0) - 2.0 * squares[:, 1:].sum(axis=1) * size(1)

    def _typical_variances(self) -> np.ndarray:
        """The same with mean absolute values of the kernel between the first points, which are spread over the data."""
        some = self.neighborhoods.points[:_SPREAD]
        squares = cdist(some, some, "sqeuclidean")
        return self._variances(lambda k: (-1.0) ** k * float(np.abs(self.profile(squares, k)).mean()))

    @cached_property
    def _log_volume(self) -> float:
        """What turns determinants of contrasts with the entry 1 at their own points into those of an orthonormal basis.

        With P_1 (r, r) the null space at the first points and W_2 the weights of the others, E = [-P_2 P_1^-1, 1] has
        log det(E W^-1 E') = -log det W_2 + log det(1 + W_1^-1/2 (P_2 P_1^-1)' W_2 (P_2 P_1^-1) W_1^-1/2).
        """
        order, r = self.neighborhoods.order, self.rank
        weights = self.weights[order]
        volume = -np.log(weights[r:]).sum()
        if r:
            null = self.neighborhoods.null
            lagrange = np.linalg.solve(null[:r].T, null[r:].T).T / np.sqrt(weights[:r])
            volume += np.linalg.slogdet(np.eye(r) + lagrange.T @ (weights[r:, None] * lagrange))[1]
        return float(-volume)

    def project(self, values: np.ndarray) -> np.ndarray:
        """What is left of values (n, k) beside the null space."""
        return values - self.Q @ (self.Q.T @ values) if self.rank else values

    def solve(
        self,
        y: np.ndarray,
        alpha: float,
        *,
        tol: float,
        max_iter: int,
        start: np.ndarray | None = None,
        verbose: bool = False,
    ) -> IterativeSolution:
        """Solve for y (n, k) until the residual is at most ``tol``, in ``max_iter`` steps at most.

        Variances below the errors of the products cannot be told from zero: the steps solve a system to which they are
        added, and what is missing then is solved for again, as long as that helps.
        """
        noise = (alpha / self.weights)[:, None]
        rounding = _ROUNDING / tol * np.linalg.norm(y, axis=0)  # smaller residuals mean nothing
        size = np.maximum(np.linalg.norm(self.project(y), axis=0), rounding)
        dual = np.zeros(y.shape) if start is None else self.project(start)
        best = self._state(dual, y, noise, size)
        steps, product = 0, self.rough
        with tqdm(desc="conjugate gradients", unit="step", disable=not verbose, leave=False) as bar:
            for _ in range(_RESTARTS):
                change, limit = np.zeros(y.shape), tol * size
                if product is not self.product:
                    limit = np.maximum(limit, _REDUCTION * np.linalg.norm(best.remainder, axis=0))
                enough = _watched(bar, _MARGIN * limit, size)
                steps += self._iterate(product, best.remainder, change, alpha, max_iter - steps, enough)
                state = self._state(best.dual + change, y, noise, size)
                improved = state.residual < _PROGRESS * best.residual
                best = min(best, state, key=lambda s: s.residual)
                if best.residual <= tol or steps >= max_iter or not (improved or product is not self.product):
                    break
                product = product if improved else self.product
        rest = self.Q.T @ (y - best.values)
        null = solve_triangular(self.R, rest) if self.rank else np.zeros((0, y.shape[1]))
        return IterativeSolution(best.dual, null, best.residual, steps, best.residual <= tol)

    def _iterate(self, product, right: np.ndarray, x: np.ndarray, alpha: float, max_iter: int, enough: Enough) -> int:
        """Overwrite x with the solution of the system with the variances that drown added; returns the steps."""
        precondition, noise = self.contrasts(alpha), (alpha / self.weights + self._drowned)[:, None]
        found = np.ascontiguousarray(x.T)

        def image(sides: np.ndarray) -> np.ndarray:
            v = _by_columns(sides)
            return _by_rows(self.project(product(v) + noise * v))

        outcomes = conjugate_gradients_together(
            image,
            lambda r: _by_rows(self.project(precondition(_by_columns(r)))),
            _by_rows(right),
            found,
            tol=0.0,
            max_iter=max_iter,
            enough=lambda r: enough(r.T),
        )
        x[...] = found.T
        return max(outcome.n_iter for outcome in outcomes)

    def _state(self, dual: np.ndarray, y: np.ndarray, noise: np.ndarray, size: np.ndarray) -> _Iterate:
        values = self._apply(dual, noise) if dual.any() else np.zeros(y.shape)
        remainder = self.project(y - values)
        return _Iterate(dual, values, remainder, _largest_quotient(np.linalg.norm(remainder, axis=0), size))

    def _apply(self, dual: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return self.product(dual) + noise * dual


def _by_columns(sides: np.ndarray) -> np.ndarray:
    """(k, n) as (n, k)."""
    return np.ascontiguousarray(sides.T)


def _by_rows(columns: np.ndarray) -> np.ndarray:
    """(n, k) as (k, n)."""
    return np.ascontiguousarray(columns.T)


def _watched(bar: tqdm, limit: np.ndarray, size: np.ndarray) -> Enough:
    """Whether residuals (n, k) are within their limits; shows the worst."""

    def enough(remainder: np.ndarray) -> bool:
        norms = np.linalg.norm(remainder, axis=0)
        bar.update()
        bar.set_postfix_str(f"residual {_largest_quotient(norms, size):.1e}", refresh=False)
        return bool((norms <= limit).all())

    return enough


def _largest_quotient(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(np.divide(x, y, out=np.zeros_like(x), where=y > 0.0), initial=0.0))
