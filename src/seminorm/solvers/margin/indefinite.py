"""min 1/2 a'Ga - c'a in a box under few equalities, for a symmetric G with eigenvalues of either sign: a stationary
point.

Machines with an indefinite kernel live in a Krein space, where alpha <f, f> + loss has no minimum but stationary
points: f = K a + Q b with a_i = -w_i loss_i'(f_i) / (2 alpha) and Q'a = 0. These are the optimality conditions of the
quadratic programs that are the duals in the definite case (with G = K + alpha W^-1 for squared losses, G = K and a box
for the others), and there they are met by going downhill:

- pair steps (for one equality, a sum) move two variables along the segment that the box leaves them, to the minimum
  or, where the curvature is not positive, to its end;
- Newton steps on the variables strictly between their bounds solve the saddle system there, up to the first bound;
  where it has no minimum they follow the direction of most negative curvature to a bound;
- for several equalities proximal steps take the place of pair steps: convex programs with mu |a - a_old|^2 / 2 added.

No step increases the objective. The method stops where the optimality conditions hold to a tolerance and the quadratic
is convex on the variables between their bounds, so that it is a minimum among these. What it finds depends on the
start, which is fixed: results are reproducible. For a positive definite G it finds the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh, lapack
from sklearn.exceptions import ConvergenceWarning

from ... import _native
from ..._base.warnings import warn_user
from ..linear.saddle import SaddleFactor
from .active_set import product
from .box_qp import DenseForm, InfeasibleError, PairedForm, solve_box_qp

_ROUNDS = 200
_LOOSE = 1e-2
_PAIRS_PER_ROUND = 4
_NEWTON_PER_ROUND = 4
_EQUAL = 1e-12
_HUGE = 1e100


class UnboundedError(ValueError):
    """The objective falls without end along some ray of the box: there is no minimum."""


@dataclass
class StationaryPoint:
    """A point where the optimality conditions hold."""

    a: np.ndarray
    multipliers: np.ndarray  #: of the equalities
    objectives: np.ndarray  #: along the way, never increasing
    violation: float  #: of the optimality conditions, relative to the largest entry of c
    iterations: int  #: pair steps, proximal steps and Newton steps in all
    converged: bool


def stationary_point(
    Q: np.ndarray,
    c: np.ndarray,
    E: np.ndarray,
    e: float,
    u: np.ndarray,
    start: np.ndarray | None = None,
    tolerance: float = 1e-8,
    max_rounds: int = _ROUNDS,
) -> StationaryPoint:
    """A stationary point of min 1/2 a'Qa - c'a subject to E a = e, 0 <= a <= u, for any symmetric Q.

    E is one equality, without zeros: ones, labels -1 and 1, or positive and negative weights; u is positive and may be
    infinite. The search starts inside the box and on the equality, by default where all E_i a_i are alike, as far as
    possible. The tolerance is relative to the largest entry of c (of Q a, if c is zero). InfeasibleError is raised if
    no point of the box satisfies the equality, UnboundedError if the objective has no lower bound in the box.
    """
    Q, c, u = np.asarray(Q, float), np.asarray(c, float), np.asarray(u, float)
    E = np.asarray(E, float).reshape(-1)
    n = len(Q)
    if Q.shape != (n, n) or c.shape != (n,) or u.shape != (n,) or E.shape != (n,):
        raise ValueError(f"Q must be (n, n), c, E and u (n,): got {Q.shape}, {c.shape}, {E.shape}, {u.shape}.")
    if not (np.abs(E) > 0).all() or not (u > 0).all():
        raise ValueError("E must have no zeros and u must be positive: leave out the variables that are fixed.")
    G = Q if (E == 1.0).all() else Q / (E[:, None] * E)
    ends = np.sort(np.column_stack([np.zeros(n), u * E]), axis=1)
    problem = BoxQuadratic(G, np.zeros(n), np.arange(n), c / E, ends[:, 0], ends[:, 1], np.ones((n, 1)))
    x = _share(float(np.asarray(e).reshape(())), problem) if start is None else np.asarray(start, float) * E
    found = problem.descend(x, tolerance, max_rounds)
    found.a = found.a / E
    return found


@dataclass
class BoxQuadratic:
    """1/2 a'(K + ridge) a - c'x, lower <= x <= upper, E'x fixed, where a_p is the sum of the variables of point p.

    Most machines have one variable per point; those with a tube have two, x >= 0 and x <= 0.
    """

    K: np.ndarray  #: (n, n)
    ridge: np.ndarray  #: (n,)
    points: np.ndarray  #: (m,)
    c: np.ndarray  #: (m,)
    lower: np.ndarray
    upper: np.ndarray
    E: np.ndarray  #: (m, r)
    _objectives: list = field(default_factory=list)
    _steps: int = 0
    _proximal_multipliers: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self):
        for name in ("K", "ridge", "c", "lower", "upper"):  # as the compiled loop wants them
            setattr(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        self.points = np.ascontiguousarray(self.points, dtype=np.int64)

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """a (n,): the sum of the variables of each point."""
        return np.bincount(self.points, x, minlength=len(self.K))

    def values(self, x: np.ndarray) -> np.ndarray:
        """(K + ridge) a."""
        a = self.coefficients(x)
        active = np.flatnonzero(a)
        return product(self.K, active, a[active], a) + self.ridge * a

    def descend(self, x: np.ndarray, tolerance: float = 1e-8, max_rounds: int = _ROUNDS) -> StationaryPoint:
        """Go downhill from x until the optimality conditions hold."""
        with np.errstate(over="ignore", invalid="ignore"):  # where there is no minimum
            return self._descend(x.copy(), tolerance, max_rounds)

    def _descend(self, x: np.ndarray, tolerance: float, max_rounds: int) -> StationaryPoint:
        self._objectives, self._steps = [], 0
        values = self.values(x)
        scale = max(np.abs(self.c).max(initial=0.0), 1e-3 * np.abs(values).max(initial=0.0), 1e-300)
        first_order = self._pairs if self._has_pairs() else self._Proximal(self).step
        aim = _LOOSE * scale
        for _ in range(max_rounds):
            first_order(x, values, aim)
            _refuse_infinite(values)
            is_minimum = self._newton(x)
            values = self.values(x)
            self._objectives.append(0.5 * self.coefficients(x) @ values - self.c @ x)
            multipliers, violation = self._multipliers(x, values)
            finished = is_minimum and bool(violation <= tolerance * scale)
            if finished:
                break
            aim = max(0.1 * min(violation, aim), 0.1 * tolerance * scale)
        else:
            warn_user(
                f"no stationary point of the indefinite problem was found in {max_rounds} rounds: the optimality "
                f"conditions are violated by {violation / scale:.1e}. A larger ridge makes the matrix less indefinite.",
                ConvergenceWarning,
            )
        return StationaryPoint(
            x, multipliers, np.array(self._objectives), float(violation / scale), self._steps, finished
        )

    def _has_pairs(self) -> bool:
        """Whether the constraints are none, or that a sum is fixed."""
        r = self.E.shape[1]
        return r == 0 or (r == 1 and np.ptp(self.E) <= _EQUAL * np.abs(self.E).max())

    def _pairs(self, x, values, aim: float):
        points, c, lower, upper, moved = self.points, self.c, self.lower, self.upper, x
        if not self.E.shape[1]:  # a variable without kernel and bounds takes up what the others give
            points, c = np.append(points, -1), np.append(c, 0.0)
            lower, upper, moved = np.append(lower, -np.inf), np.append(upper, np.inf), np.append(x, 0.0)
        steps, _, unbounded = _native.pair_steps(
            self.K, self.ridge, points, c, lower, upper, moved, values, aim, _PAIRS_PER_ROUND * len(x)
        )
        x[:] = moved[: len(x)]
        self._steps += steps
        if unbounded:
            raise UnboundedError(_UNBOUNDED)

    def _newton(self, x) -> bool:
        """Steps on the variables between their bounds, in place; whether they ended at a minimum of these."""
        for _ in range(_NEWTON_PER_ROUND):
            free = self._free(x)
            if not len(free):
                return True
            points = self.points[free]
            values = self.values(x)
            _refuse_infinite(values)
            slope = self.c[free] - values[points]
            factor = self.factor(points, self.E[free])
            if factor.is_definite:
                direction, longest = factor.apply_inverse(slope), 1.0
            else:
                direction, longest = factor.descending_curve(), np.inf
                direction = direction if slope @ direction >= 0 else -direction
            length, blocking = _room(direction, x[free] - self.lower[free], self.upper[free] - x[free])
            if min(length, longest) == np.inf:
                raise UnboundedError(_UNBOUNDED)
            self._steps += 1
            x[free] = np.clip(x[free] + min(length, longest) * direction, self.lower[free], self.upper[free])
            if length > longest:
                return True
            hit = free[blocking]
            x[hit] = np.where(direction[blocking] > 0, self.upper[hit], self.lower[hit])
        return False

    def factor(self, points: np.ndarray, E: np.ndarray) -> SaddleFactor:
        """The saddle system of some points."""
        G = self.K[np.ix_(points, points)]
        G[np.diag_indices_from(G)] += self.ridge[points]
        return SaddleFactor(G, E)

    def _free(self, x) -> np.ndarray:
        """Variables strictly between their bounds, one per point."""
        free = np.flatnonzero((x > self.lower) & (x < self.upper))
        return free[np.unique(self.points[free], return_index=True)[1]]

    def _multipliers(self, x, values) -> tuple[np.ndarray, float]:
        """nu with c - G a = E nu between the bounds, and how much the optimality conditions are violated."""
        slope = self.c - values[self.points]
        up, down = x < self.upper, x > self.lower
        if not self.E.shape[1]:
            return np.empty(0), float(max(slope[up].max(initial=0.0), -slope[down].min(initial=0.0)))
        if self._has_pairs():
            most, least = slope[up].max(initial=-np.inf), slope[down].min(initial=np.inf)
            free = up & down
            middle = slope[free].mean() if free.any() else 0.5 * (most + least)
            middle = middle if np.isfinite(middle) else (most if np.isfinite(most) else least)
            return np.array([middle / self.E.mean()]), float(max(most - least, 0.0))
        free = up & down
        nu = np.linalg.lstsq(self.E[free], slope[free], rcond=None)[0]
        if np.linalg.matrix_rank(self.E[free]) < self.E.shape[1]:
            nu = self._proximal_multipliers
        rest = slope - self.E @ nu
        return nu, float(max(rest[up].max(initial=0.0), -rest[down].min(initial=0.0)))

    class _Proximal:
        """Convex steps: mu makes the quadratic positive definite, and is paid for the distance from the last point."""

        def __init__(self, problem: BoxQuadratic):
            n = len(problem.K)
            G = np.array(problem.K)
            G[np.diag_indices(n)] += problem.ridge
            smallest = eigh(G, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0]
            size = np.abs(G.diagonal()).mean()
            self.mu = max(-1.1 * smallest, 0.0) + 1e-3 * size
            G[np.diag_indices(n)] += self.mu
            self.problem, self.signs = problem, np.where(problem.lower < 0, -1.0, 1.0)
            paired = len(problem.points) == 2 * n
            self.form = PairedForm(G) if paired else DenseForm(self.signs[:, None] * G * self.signs)

        def step(self, x, values, aim: float):
            problem, s = self.problem, self.signs
            pull = problem.c + self.mu * problem.coefficients(x)[problem.points]
            limits = np.where(s < 0, -problem.lower, problem.upper)
            fixed = problem.E.T @ x
            found = solve_box_qp(self.form, s * pull, (s[:, None] * problem.E).T, fixed, limits)
            new = s * np.clip(found.a, 0.0, limits)
            size = np.abs(new).max(initial=0.0)
            new[np.abs(new) < 1e-7 * size] = 0.0
            full = np.isfinite(limits) & (np.abs(new) > (1 - 1e-6) * limits)
            new[full] = (s * limits)[full]
            x[:] = new
            free = problem._free(x)
            x[free] += np.linalg.lstsq(problem.E[free].T, fixed - problem.E.T @ x, rcond=None)[0]
            problem._proximal_multipliers = found.multipliers
            problem._steps += 1


_UNBOUNDED = "the objective has no lower bound in the box: the matrix is too indefinite for bounds that are infinite."


def _refuse_infinite(values: np.ndarray):
    if not np.abs(values).max(initial=0.0) < _HUGE:
        raise UnboundedError(_UNBOUNDED)


def is_definite(K: np.ndarray, tolerance: float = 1e-8, overwrite: bool = False) -> bool:
    """Whether a Cholesky factorisation of K exists, after adding a small part of its mean diagonal to the diagonal.

    ``overwrite`` allows the test to destroy a C-contiguous K.
    """
    A = K.T if overwrite else np.array(K, order="F")
    A[np.diag_indices_from(A)] += tolerance * max(float(np.abs(K.diagonal()).mean()), 1e-300)
    return lapack.dpotrf(A, lower=1, overwrite_a=1, clean=0)[1] == 0


def _room(direction, down, up) -> tuple[float, int]:
    """How far one may go, and which variable stops one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = np.where(direction > 0, up / direction, np.where(direction < 0, -down / direction, np.inf))
    k = int(np.argmin(limits))
    return float(limits[k]), k


def _share(total: float, problem: BoxQuadratic) -> np.ndarray:
    """The point of the box with the given sum whose entries are alike as far as possible."""
    lower, upper = problem.lower, problem.upper
    if not lower.sum() <= total <= upper.sum():
        raise InfeasibleError(
            f"no point of the box has the sum {total:g}: it lies between {lower.sum():g} and {upper.sum():g}."
        )
    finite = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)], [total, -total]])
    low, high = finite.min(), finite.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.clip(middle, lower, upper).sum() < total else (low, middle)
    x = np.clip(high, lower, upper)
    free = np.flatnonzero((x > lower) & (x < upper))
    if len(free):
        x[free] += (total - x.sum()) / len(free)
    return x
