"""Newton's method for the transformations that bring two patterns closest, on many pairs at once.

The unknowns are the continuous parameters in units of the extent, in the box [-1, 1] unless the set is a group. The
objective is |r|^2 / 2, or |r| + weight * Omega if moving has a cost. |r| has a kink where the patterns meet, so the
parabola |r|^2 / (2 |r_now|) replaces it, which touches it from above: every step goes down.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..transformations.base import Transformation

_STEP = 1e-4
_COST_STEP = 1e-3
_PAIR_NUMBERS = 2**21
_COST_BLOCK = 16
_ITERATIONS = 100
_NEGLIGIBLE = 1e-14
_MEETING = 1e-30
_HOPELESS = 1e8


class Sides(NamedTuple):
    """Which of the two patterns moves: the first or not, and whether both do alike."""

    first_moves: bool
    alike: bool


BOTH, SECOND, SHARED = Sides(True, False), Sides(False, False), Sides(True, True)


def extents(transformation: Transformation) -> np.ndarray:
    """Half-widths (p,) of all parameters, 0 for those of finite lists."""
    sets = transformation.parts
    return np.concatenate([np.zeros(part.n_parameters) if part.extent is None else part.extent for part in sets])


def descend(pairs: Pairs, values: np.ndarray) -> np.ndarray:
    """The smallest values found for the pairs from where they start, never above ``values``."""
    result, n = np.array(values), len(values)
    numbers = (2 + 2 * pairs.p + pairs.p * (pairs.p - 1)) * pairs.X.shape[1] * (1 + pairs.sides.first_moves)
    for block in np.array_split(np.arange(n), max(1, -(-n * numbers // _PAIR_NUMBERS))):
        if len(block):
            result[block] = np.minimum(result[block], _newton(pairs.subset(block)))
    return result


class Pairs:
    """The objective of each of N pairs (X[rows], Y[columns]), as a function of its unknowns (N, q)."""

    def __init__(
        self,
        transformation: Transformation,
        weight: float,
        sides: Sides,
        X: np.ndarray,
        Y: np.ndarray,
        rows: np.ndarray,
        columns: np.ndarray,
        first: np.ndarray,
        second: np.ndarray,
    ):
        self.T, self.weight, self.sides = transformation, weight, sides
        self.X, self.Y, self.rows, self.columns = X, Y, rows, columns
        self.first, self.second = first, second
        width = extents(transformation)
        self.moving = width > 0
        self.p = int(self.moving.sum())
        closed = np.concatenate([np.full(part.n_parameters, not part.is_group) for part in transformation.parts])
        self.bound = np.where(np.isfinite(width) & closed, 1.0, np.inf)[self.moving]
        self.width = np.where(np.isfinite(width), width, 1.0)[self.moving]
        self.origin = transformation.identity[self.moving]

    def subset(self, kept: np.ndarray) -> Pairs:
        """The pairs with the given numbers, or under the given mask."""
        arrays = (self.rows, self.columns, self.first, self.second)
        return Pairs(self.T, self.weight, self.sides, self.X, self.Y, *(array[kept] for array in arrays))

    def start(self) -> np.ndarray:
        """The unknowns (N, q) to start from."""
        first, second = ((side[:, self.moving] - self.origin) / self.width for side in (self.first, self.second))
        return np.hstack([first, second]) if self.sides == BOTH else second

    def bounds(self) -> np.ndarray:
        """The largest size (q,) of each unknown."""
        return np.tile(self.bound, 2) if self.sides == BOTH else self.bound

    def value(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (N, d) and objective (N,): |r|^2 without weight, else |r| + weight * Omega."""
        first, second = self._split(u)
        left = self._moved(self.X, self.rows, self._parameters(self.first, first[:, None], self.sides.first_moves))
        right = self._moved(self.Y, self.columns, self._parameters(self.second, second[:, None]))
        residual = (left - right)[:, 0]
        squares = np.einsum("nd,nd->n", residual, residual)
        return residual, squares if self.weight == 0 else np.sqrt(squares) + self.weight * self._cost(u)

    def slopes(self, u: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (N, q, d) of the residuals, and their second derivatives times the residuals (N, q, q)."""
        first, second = self._split(u)
        jacobian, curvature = self._side(self.Y, self.columns, self.second, second, -residual)
        jacobian = -jacobian
        if not self.sides.first_moves:
            return jacobian, curvature
        jacobian_x, curvature_x = self._side(self.X, self.rows, self.first, first, residual)
        if self.sides.alike:
            return jacobian + jacobian_x, curvature + curvature_x
        both = np.zeros((len(u), 2 * self.p, 2 * self.p))
        both[:, : self.p, : self.p], both[:, self.p :, self.p :] = curvature_x, curvature
        return np.concatenate([jacobian_x, jacobian], axis=1), both

    def cost_slopes(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (N, q) and Hessian (N, q, q) of Omega."""
        offsets = _stencil(u.shape[1])
        values = np.stack([self._cost(u + _COST_STEP * offset) for offset in offsets], axis=1)
        return _differences(values, u.shape[1], _COST_STEP)

    def scale(self) -> np.ndarray:
        """Squared sizes (N,) of the patterns, the scale of rounding errors."""
        return (self.X**2).sum(axis=1)[self.rows] + (self.Y**2).sum(axis=1)[self.columns]

    def _split(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (u[:, : self.p], u[:, self.p :]) if self.sides == BOTH else (u, u)

    def _parameters(self, start: np.ndarray, u: np.ndarray, moves: bool = True) -> np.ndarray:
        """Parameters (N, S, p) for the unknowns (N, S, q) of one side."""
        parameters = np.repeat(start[:, None], u.shape[1], axis=1)
        if moves:
            parameters[:, :, self.moving] = self.origin + u * self.width
        return parameters

    def _side(
        self, patterns: np.ndarray, which: np.ndarray, start: np.ndarray, u: np.ndarray, residual: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of one side, and their second derivatives times the residuals."""
        center = np.clip(u, -self.bound + _STEP, self.bound - _STEP)
        parameters = self._parameters(start, center[:, None] + _STEP * _stencil(self.p))
        first, second = _differences(self._moved(patterns, which, parameters), self.p, _STEP)
        return first, np.einsum("nijd,nd->nij", second, residual)

    def _moved(self, patterns: np.ndarray, which: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Patterns[which], each under its own S transformations: (N, S, d)."""
        order = np.argsort(which, kind="stable")
        result = np.empty((*parameters.shape[:2], self.T.transformed_size(patterns.shape[1])))
        for run in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
            index = which[run[0]]
            moved = self.T._apply(patterns[index : index + 1], parameters[run].reshape(-1, parameters.shape[2]))
            result[run] = moved.reshape(len(run), *result.shape[1:])
        return result

    def _cost(self, u: np.ndarray) -> np.ndarray:
        first, second = self._split(u)
        first = self._parameters(self.first, first[:, None], self.sides.first_moves)[:, 0]
        return _cost_of_pairs(self.T, first, self._parameters(self.second, second[:, None])[:, 0])


def _cost_of_pairs(transformation: Transformation, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Omega(first[i], second[i]), (N,)."""
    sets, result, start = transformation.parts, np.zeros(len(first)), 0
    if len(sets) > 1:
        for part in sets:
            columns = slice(start, start + part.n_parameters)
            result += _cost_of_pairs(part, first[:, columns], second[:, columns])
            start = columns.stop
        return result
    if type(transformation).cost is Transformation.cost:
        return transformation._length(first) + transformation._length(second)
    for i in range(0, len(first), _COST_BLOCK):
        block = slice(i, i + _COST_BLOCK)
        result[block] = np.diagonal(transformation.cost(first[block], second[block]))
    return result


def _newton(problem: Pairs) -> np.ndarray:
    """Damped Newton steps, each pair with its own damping, until none gains anything; the smallest distances."""
    u, bounds = problem.start(), problem.bounds()
    residual, value = problem.value(u)
    result, pairs = value.copy(), np.arange(len(u))
    damping = np.zeros(len(u))
    negligible = _MEETING * problem.scale()
    for _ in range(_ITERATIONS):
        step, promised = _step(problem, u, residual, damping)
        trial = np.clip(u + step, -bounds, bounds)
        trial_residual, trial_value = problem.value(trial)
        better = trial_value < value
        u[better], residual[better], value[better] = trial[better], trial_residual[better], trial_value[better]
        damping = np.where(better, damping / 10.0, 10.0 * damping + 1e-3)
        result[pairs] = value
        met = np.einsum("nd,nd->n", residual, residual) <= negligible if problem.weight == 0 else value == 0
        active = ~met & (promised > _NEGLIGIBLE * value) & (damping < _HOPELESS)
        if not active.any():
            break
        if not active.all():
            problem, pairs, negligible = problem.subset(active), pairs[active], negligible[active]
            u, residual, value, damping = u[active], residual[active], value[active], damping[active]
    return np.sqrt(result) if problem.weight == 0 else result


def _step(problem: Pairs, u: np.ndarray, residual: np.ndarray, damping: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step of every pair and the gain that it promises."""
    jacobian, curvature = problem.slopes(u, residual)
    gradient = np.einsum("nid,nd->ni", jacobian, residual)
    hessian = np.einsum("nid,njd->nij", jacobian, jacobian) + curvature
    if problem.weight:
        length = np.sqrt(np.einsum("nd,nd->n", residual, residual))
        length = np.maximum(length, 1e-12 * np.sqrt(problem.scale()) + np.finfo(float).tiny)
        slope, bend = problem.cost_slopes(u)
        gradient = gradient / length[:, None] + problem.weight * slope
        hessian = hessian / length[:, None, None] + problem.weight * bend
    bounds = problem.bounds()
    stuck = (u <= -bounds) & (gradient > 0) | (u >= bounds) & (gradient < 0)
    gradient = np.where(stuck, 0.0, gradient)
    hessian = np.where(stuck[:, :, None] | stuck[:, None, :], 0.0, hessian)
    eigenvalues, vectors = np.linalg.eigh(hessian)
    sizes = np.abs(eigenvalues)
    largest = np.maximum(sizes.max(axis=1, keepdims=True), np.finfo(float).tiny)
    along = np.einsum("nij,ni->nj", vectors, gradient) / (sizes + (damping[:, None] + 1e-10) * largest)
    step = np.clip(-np.einsum("nij,nj->ni", vectors, along), -2.0 * bounds, 2.0 * bounds)
    return step, -np.einsum("ni,ni->n", gradient, step)


def _stencil(p: int) -> np.ndarray:
    """Offsets (S, p) for central first and second differences: the centre, each axis, each pair of axes."""
    axes = np.eye(p)
    diagonals = [axes[a] + axes[b] for a, b in combinations(range(p), 2)]
    return np.array([np.zeros(p), *axes, *-axes, *diagonals, *(-diagonal for diagonal in diagonals)])


def _differences(values: np.ndarray, p: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """First (N, p, ...) and second derivatives (N, p, p, ...) from values (N, S, ...) on the stencil."""
    center, plus, minus = values[:, :1], values[:, 1 : p + 1], values[:, p + 1 : 2 * p + 1]
    first = (plus - minus) / (2.0 * step)
    second = np.empty((len(values), p, p) + values.shape[2:])
    index = np.arange(p)
    second[:, index, index] = (plus - 2.0 * center + minus) / step**2
    count = p * (p - 1) // 2
    for k, (a, b) in enumerate(combinations(range(p), 2)):
        diagonal = values[:, 2 * p + 1 + k] + values[:, 2 * p + 1 + count + k]
        others = plus[:, a] + minus[:, a] + plus[:, b] + minus[:, b] - 2.0 * values[:, 0]
        second[:, a, b] = second[:, b, a] = (diagonal - others) / (2.0 * step**2)
    return first, second
