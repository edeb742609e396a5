"""Learning a metric: fit, take the average outer product of the gradients, map the points, and fit again.

Leave-one-out with a metric that has seen y_i is optimistic. So the points are split into two halves, a metric is
learned on each of them beside the one learned on all points, and what is left out of one half is predicted in the
metric of the other.
"""

from dataclasses import dataclass

import numpy as np

from ..._base.rows import equal_rows
from .gradients import metric_root, outer_products
from .profiles import PowerProfile
from .ridge import CenteredKernel, RidgeFit, fit, left_out_last, mean_square
from .walk import walk

_ROWS = 1000  # at which gradients are averaged
_ENOUGH = 20  # different points from which on a metric is learned
_GAIN = 1e-2  # of an iterate that counts as better than the one before


@dataclass
class Recipe:
    """How a metric is learned: for which kernel, and which power of which part of the average outer product."""

    profile: PowerProfile
    kind: str = "full"
    power: float = 1.0
    n_iter: int = 8
    patience: int = 2


@dataclass
class Iterate:
    """A kernel machine in a metric: x -> x root, sum_j dual[j] k(., x_j root) + constant."""

    root: np.ndarray  #: (d, d)
    fit: RidgeFit
    exponent: float  #: log10 of alpha over the mean of the centred kernel's diagonal
    left_out: np.ndarray  #: cross-fitted leave-one-out predictions (n, k)
    loss: float  #: their mean square error
    outer: np.ndarray  #: average outer product (d, d) of the gradients, by the coordinates before the map
    half_roots: tuple[np.ndarray, np.ndarray]  #: of the metrics learned on one half and on the other


class _Half:
    """One half of the points: the metric learned on it, and the order that puts the other half last."""

    def __init__(self, inside: np.ndarray, outside: np.ndarray, root: np.ndarray):
        self.inside, self.outside, self.root = inside, outside, root
        self.order = np.concatenate([inside, outside])
        self.exponent = np.nan


class Learner:
    """Points X (n, d), targets Y (n, k) and weights (n,) on which recipes are carried out.

    ``share`` (n,) of each weight is left out at a time, where points stand for several; by default all of it.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, share: np.ndarray | None = None):
        self.X, self.Y, self.weights, self.share = X, Y, weights / weights.mean(), share
        first, place = equal_rows(X)
        self.n_places = len(first)
        # rows at the same place stay together: apart, one half would know what the other is to predict
        self.shuffled = np.argsort(np.random.default_rng(0).permutation(self.n_places)[place], kind="stable")

    def iterates(self, recipe: Recipe, start: Iterate | None = None) -> list[Iterate]:
        """The machines in the metric of a start (by default that of the points), and in those learned from it."""
        n, d = self.X.shape
        root = np.eye(d) if start is None else start.root
        split = self.shuffled[: n // 2], self.shuffled[n // 2 :]
        roots = (root, root) if start is None else start.half_roots
        halves = [_Half(a, b, r) for (a, b), r in zip((split, split[::-1]), roots, strict=True)]
        found: list[Iterate] = []
        best, waited = np.inf, 0
        for step in range(recipe.n_iter + 1):
            own = step == 0 and start is None
            left_out, exponent = self._start(recipe, root) if own else self._crossed(recipe, halves)
            if own:
                for half in halves:
                    half.exponent = exponent
            fitted, outer = self._fit(recipe, root, exponent, np.arange(n))
            loss = mean_square(left_out, self.Y, self.weights)
            found.append(Iterate(root, fitted, exponent, left_out, loss, outer, (halves[0].root, halves[1].root)))
            waited = 0 if loss < (1.0 - _GAIN) * best else waited + 1
            best = min(best, loss)
            if step == recipe.n_iter or waited >= recipe.patience or self.n_places < _ENOUGH or d == 1:
                break
            learned = metric_root(outer, recipe.kind, recipe.power)
            crossed = [other for half in halves if (other := self._learned_on(recipe, half)) is not None]
            if learned is None or len(crossed) < len(halves):
                break
            root = learned
            for half, half_root in zip(halves, crossed, strict=True):
                half.root = half_root
        return found

    def _system(self, recipe: Recipe, root: np.ndarray, rows: np.ndarray) -> CenteredKernel:
        Z = self.X[rows] @ root
        return CenteredKernel(recipe.profile.matrix(Z, Z), self.weights[rows])

    def _start(self, recipe: Recipe, root: np.ndarray) -> tuple[np.ndarray, float]:
        """Leave-one-out predictions in a metric that has not seen the targets, at the best alpha."""
        rows = np.arange(len(self.X))
        return self._best(self._system(recipe, root, rows), rows, len(rows), None)

    def _crossed(self, recipe: Recipe, halves: list[_Half]) -> tuple[np.ndarray, float]:
        """Those of each half in the metric of the other."""
        left_out = np.empty_like(self.Y)
        exponent = None
        for half in halves:
            system = self._system(recipe, half.root, half.order)
            near = half.exponent if exponent is None else exponent
            left_out[half.outside], exponent = self._best(
                system, half.order, len(half.outside), near if np.isfinite(near) else None
            )
            half.exponent = exponent
        return left_out, float(np.mean([half.exponent for half in halves]))

    def _best(self, system: CenteredKernel, rows, count: int, start: float | None) -> tuple[np.ndarray, float]:
        """Leave-one-out predictions at the last rows, at the alpha where they are best, and its exponent."""
        Y, last = self.Y[rows], slice(len(rows) - count, None)
        share = None if self.share is None else self.share[rows]
        known: dict[float, np.ndarray] = {}

        def score(exponent: float) -> float:
            known[exponent] = left_out_last(system, Y, system.scale * 10.0**exponent, count, share)
            return mean_square(known[exponent], Y[last], self.weights[rows][last])

        exponent = walk(score, start)
        if exponent not in known:
            score(exponent)
        return known[exponent], exponent

    def _fit(self, recipe: Recipe, root, exponent: float, rows: np.ndarray) -> tuple[RidgeFit, np.ndarray]:
        """The machine of some rows, and the average outer product of its gradients."""
        system = self._system(recipe, root, rows)
        fitted = fit(system, self.Y[rows], system.scale * 10.0**exponent)
        Z = self.X[rows] @ root
        seen = slice(None) if len(rows) <= _ROWS else self.shuffled_part(len(rows))
        gradients = recipe.profile.gradients(Z[seen], Z, fitted.dual) @ root.T
        return fitted, outer_products(gradients, self.weights[rows][seen])

    def _learned_on(self, recipe: Recipe, half: _Half) -> np.ndarray | None:
        _, outer = self._fit(recipe, half.root, half.exponent, half.inside)
        return metric_root(outer, recipe.kind, recipe.power)

    def shuffled_part(self, n: int) -> np.ndarray:
        """Some of n rows, at random."""
        chosen = self.shuffled[self.shuffled < n]
        return chosen[:_ROWS]
