"""Newton's method in the coordinates of few centres: many points cost passes over their rows, and no matrix of them.

The problem is that of :mod:`.newton`, with f = U theta and a semi-norm that is the sum of squares of the first
coordinates. A step needs G = U_s' D U_s of the active points s with the curvatures D. Where D is constant, as for the
squared hinge, only points that enter or leave s change G, and rows of the others are not computed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .active_set import NullSpaceBlock, left_out, left_out_together
from .features import FeatureRows, Variances, WeightedGram
from .newton import DOUBLING_START, GROWTH, DescentSearch, DescentState, LossModel, SmoothLoss, descend

_RENEWALS = 8  # how often the points may be exchanged before G is summed up again, for its rounding errors


@dataclass
class GramOfActive:
    """G = U' diag(weights) U and U' q, kept from one step to the next."""

    rows: FeatureRows
    weights: np.ndarray = field(init=False)
    q: np.ndarray = field(init=False)
    sums: WeightedGram = field(init=False)
    _exchanged: int = 0

    def __post_init__(self):
        self._clear()

    def _clear(self) -> None:
        self.weights, self.q = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        self.sums, self._exchanged = WeightedGram(self.rows.map.width), 0

    def adopt(self, part: GramOfActive, points: np.ndarray) -> None:
        """Take over the sums of some of the points."""
        self._clear()
        self.weights[points], self.q[points], self.sums = part.weights, part.q, part.sums

    def move_to(self, weights: np.ndarray, q: np.ndarray) -> None:
        """Change weights and q (n,): only the rows of points that differ are used, unless all afresh are fewer."""
        changed = int(np.count_nonzero(weights != self.weights))
        if changed >= np.count_nonzero(weights) or self._exchanged + changed > _RENEWALS * len(weights):
            self._clear()
            changed = int(np.count_nonzero(weights))
        self._exchanged += changed
        points = np.flatnonzero((weights != self.weights) | (q != self.q))
        self.rows.sweep(
            partial(WeightedGram, self.rows.map.width), points, (weights - self.weights, q - self.q), self.sums
        )
        self.weights, self.q = weights.copy(), q.copy()


class PrimalFactor(NullSpaceBlock):
    """G + alpha on the penalised coordinates, factorised, and the Schur complement of the free ones."""

    def __init__(self, gram: GramOfActive, alpha: float):
        n_penalized, G = gram.rows.map.n_penalized, gram.sums.G
        self.alpha, self._moment = alpha, gram.sums.moment.copy()
        A = np.array(G[:n_penalized, :n_penalized], order="F")
        pull = float(gram.weights.sum()) or 1.0
        scale = (float(np.trace(A)) + alpha * np.count_nonzero(gram.weights)) / pull or 1.0  # of K_ss + noise
        A[np.diag_indices_from(A)] += alpha
        self.L: np.ndarray
        self.L, info = lapack.dpotrf(A, lower=1, overwrite_a=1, clean=0) if len(A) else (A, 0)
        if info > 0:
            raise np.linalg.LinAlgError(
                f"the system of the {n_penalized} coordinates is not positive definite: alpha is lost to rounding"
            )
        edge = G[n_penalized:, :n_penalized].T
        self.edge = self._forward(edge)
        corner = G[n_penalized:, n_penalized:]
        corner = np.tril(corner) + np.tril(corner, -1).T
        self._keep_schur((corner - self.edge.T @ self.edge) / alpha, scale)

    def _forward(self, B: np.ndarray) -> np.ndarray:
        return lapack.dtrtrs(self.L, B, lower=1)[0] if B.size else B

    def solve(self, previous: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Penalised and free coordinates where the model is smallest; what active points do not determine stays."""
        size = len(self.L)
        half = self._forward(self._moment[:size, None])[:, 0]
        _, free = self._null((self._moment[size:] - self.edge.T @ half) / self.alpha, None, previous)
        rest = half - self.edge @ free
        w = lapack.dtrtrs(self.L, rest, lower=1, trans=1)[0] if size else rest
        return w, free

    def halves(self, U: np.ndarray) -> np.ndarray:
        """Columns whose squares sum up to alpha u' (G + alpha)^-1 u, for the columns u of U (width, k)."""
        size = len(self.L)
        half = self._forward(U[:size])
        rest = self.schur_root.T @ (U[size:] - self.edge.T @ half)
        return np.vstack([np.sqrt(self.alpha) * half, rest])


@dataclass
class PrimalSolution:
    """Coordinates of a function, fitted values, and what leave-one-out needs."""

    active: np.ndarray  #: indices of the points with a slope
    dual: np.ndarray  #: penalised coordinates
    null: np.ndarray  #: free coordinates
    values: np.ndarray  #: f at all points
    targets: np.ndarray  #: (n,) what active points are drawn to where the loss is quadratic
    weights: np.ndarray  #: (n,) curvature times weight there, 0 elsewhere
    straight: np.ndarray  #: (n,) coefficients where the loss is linear
    alpha: float
    iterations: int
    gram: GramOfActive

    @property
    def parts(self) -> tuple:
        """What the machine expands: no points, but coordinates."""
        return None, self.dual, self.null, self.values

    def moment(self) -> np.ndarray:
        """(n,) what the points pull with."""
        return self.weights * self.targets + self.alpha * self.straight

    def leave_one_out(self, rows: FeatureRows, Q=None, removal=None, groups: np.ndarray | None = None) -> np.ndarray:
        """As :meth:`.newton.NewtonSolution.leave_one_out`; where judges are named, NaN at all other points."""
        self.gram.move_to(self.weights, self.moment())
        factor = PrimalFactor(self.gram, self.alpha)
        points = self.active if rows.judges is None else np.intersect1d(self.active, rows.judges)
        variance = rows.sweep(lambda: Variances(factor.halves), points).values
        bent = self.weights[points] > 0
        full = np.where(self.weights > 0, self.weights * (self.targets - self.values) / self.alpha, self.straight)
        dual = full[points]
        with np.errstate(divide="ignore"):
            noise = self.alpha / self.weights[points]  # infinite where the loss is linear
        values = self.values.copy()
        with np.errstate(invalid="ignore"):
            diagonal = np.where(bent, (1.0 - variance / noise) / noise, 1.0)
        values[points[bent]] = left_out(self.targets[points[bent]], dual[bent], diagonal[bent])
        values[points[~bent]] -= dual[~bent] * variance[~bent]
        if groups is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                given_others = np.where(bent, np.maximum(variance / (1.0 - variance / noise), 0.0), variance)
            left_out_together(values, self.values, points, dual, given_others, noise, groups)
        if rows.judges is None:
            return values
        judged = np.full(len(values), np.nan)
        judged[rows.judges] = values[rows.judges]
        return judged


def minimize(
    gram: GramOfActive,
    loss: SmoothLoss,
    alpha: float,
    weights: np.ndarray,
    start: PrimalSolution | None = None,
    max_iter: int = 100,
) -> PrimalSolution:
    """Minimise as :func:`.newton.minimize` does, over the functions of some rows."""
    if start is None:
        start = _doubling_start(gram, loss, alpha, weights, max_iter)
    return descend(PrimalSearch(gram, loss, alpha, weights), start, max_iter)


class PrimalSearch(DescentSearch):
    """The objective in coordinates, and its exact line search."""

    def __init__(self, gram: GramOfActive, loss: SmoothLoss, alpha: float, weights: np.ndarray):
        self.gram, self.rows, self.loss, self.alpha, self.weights = gram, gram.rows, loss, alpha, weights

    def at(self, penalized: np.ndarray, free: np.ndarray) -> DescentState:
        """A point with its values."""
        return DescentState(penalized, free, self.rows.values(np.concatenate([penalized, free])))

    def state_of(self, start: Any) -> DescentState:
        return DescentState(start.dual, start.null, start.values)

    def zero(self) -> DescentState:
        map = self.rows.map
        return DescentState(np.zeros(map.n_penalized), np.zeros(map.n_free), np.zeros(len(self.rows)))

    def constant(self, level: float) -> DescentState:
        n, map = len(self.rows), self.rows.map
        found = self.rows.sweep(partial(WeightedGram, map.width), None, (np.zeros(n), np.full(n, level)))
        return self.at(np.zeros(map.n_penalized), found.moment[map.n_penalized :])

    def inner(self, one: DescentState, other: DescentState) -> float:
        return float(one.dual @ other.dual)

    def factor(self, model: LossModel) -> PrimalFactor:
        weights, targets = self._full(model)
        self.gram.move_to(weights, weights * targets + self.alpha * model.straight)
        try:
            return PrimalFactor(self.gram, self.alpha)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error}: take a larger alpha than {self.alpha:g}.") from None

    def minimum(self, model: LossModel, factor: PrimalFactor, before: DescentState) -> DescentState:
        return self.at(*factor.solve(before.null))

    def finish(self, state: DescentState, model: LossModel, factor: PrimalFactor, iterations: int) -> PrimalSolution:
        now = self.model(state.values)
        weights, targets = self._full(now)
        active = np.flatnonzero((weights != 0) | (now.straight != 0))
        return PrimalSolution(
            active, state.dual, state.null, state.values, targets, weights, now.straight, self.alpha, iterations,
            self.gram,
        )  # fmt: skip

    def _full(self, model: LossModel) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n,), zero where the loss is not quadratic, and targets (n,)."""
        weights, targets = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        weights[model.active] = self.weights[model.active] * model.curvature
        targets[model.active] = model.targets
        return weights, targets


def _doubling_start(gram: GramOfActive, loss, alpha, weights, max_iter) -> PrimalSolution | None:
    """As in :mod:`.newton`; what was summed up on the part is kept."""
    n = len(gram.rows)
    if n <= DOUBLING_START:
        return None
    part = np.sort(np.random.default_rng(0).permutation(n)[: n // GROWTH])
    inner = GramOfActive(gram.rows.restricted(part))
    found = minimize(inner, loss.subset(part), alpha, weights[part], max_iter=max_iter)
    gram.adopt(inner, part)
    found.values = gram.rows.values(np.concatenate([found.dual, found.null]))
    return found
