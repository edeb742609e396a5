"""The stack: all iterates of all members, combined by weights found on what they predict of points left out."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..._base.memory import require_memory
from .learning import Iterate, Learner, Recipe
from .profiles import PowerProfile
from .stacking import stack_weights

_LEAST = 1e-3  # weight of a machine that is kept
_BLOCK = 2**24  # kernel values at a time


class Member(NamedTuple):
    """A kernel, the scale of the columns that it sees, and how its metric is learned."""

    name: str
    scale: str
    recipe: Recipe


MEMBERS = (
    Member("-r^1.8, full metric", "squashed", Recipe(PowerProfile(0.9), "full", 0.75)),
    Member("-r, half full metric, half diagonal", "squashed", Recipe(PowerProfile(0.5), "half", 1.0)),
    Member("-(l1 distance)^0.7, diagonal metric", "ranked", Recipe(PowerProfile(0.7, 1), "diagonal", 2.0)),
    Member("linear", "squashed", Recipe(PowerProfile(1.0), n_iter=0)),
)


class Machine(NamedTuple):
    """One function of the stack: sum_j dual[j] k(., x_j root) + constant of points on a scale."""

    member: str
    step: int  #: how often its metric was learned
    weight: float
    loss: float  #: mean square error of what it predicts of points left out
    alpha: float
    scale: str
    profile: PowerProfile
    root: np.ndarray  #: (d, d)
    sensitivity: np.ndarray  #: root mean square derivative by each column (d,)
    centers: np.ndarray  #: rows of the training points
    dual: np.ndarray
    constant: np.ndarray

    def __call__(self, Z: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Values (n, k) at Z; ``points`` are the training points on the same scale."""
        mapped = points[self.centers] @ self.root
        step = max(1, _BLOCK // len(mapped))
        blocks = [self.profile.matrix(Z[i : i + step] @ self.root, mapped) @ self.dual for i in range(0, len(Z), step)]
        return np.concatenate(blocks) + self.constant


class Stack(NamedTuple):
    """The machines that carry weight, and what they predict together of points left out."""

    machines: list[Machine]
    rows: np.ndarray  #: training points that were left out in turn
    left_out: np.ndarray  #: predictions there (len(rows), k)
    losses: list[tuple[str, int, float, float]]  #: of all machines tried: member, step, mean square error, weight


def train(
    Z: dict[str, np.ndarray], Y: np.ndarray, weights: np.ndarray, watch: Callable[[float], None] = lambda alpha: None
) -> Stack:
    """Train the members on points on several scales, (n, d) each, and targets Y (n, k); ``watch`` sees every alpha."""
    n = len(Y)
    require_memory(6 * 8 * n**2, f"a stack of dense machines on {n} rows", "train on a part of the rows.")
    tried = []
    for member, step, iterate in _iterates(Z, Y, weights):
        watch(iterate.fit.alpha)
        tried.append((member, step, iterate))
    predictions = np.array([iterate.left_out for *_, iterate in tried])
    found = stack_weights(predictions, Y, weights)
    found = np.where(found < _LEAST, 0.0, found)
    found /= found.sum()
    rows = np.arange(n)
    machines = [
        _machine(member, step, iterate, weight, rows)
        for (member, step, iterate), weight in zip(tried, found, strict=True)
        if weight
    ]
    losses = [(m.name, step, iterate.loss, float(w)) for (m, step, iterate), w in zip(tried, found, strict=True)]
    return Stack(machines, rows, np.tensordot(found, predictions, 1), losses)


def _iterates(Z, Y, weights) -> Iterator[tuple[Member, int, Iterate]]:
    for member in MEMBERS:
        learner = Learner(Z[member.scale], Y, weights)
        for step, iterate in enumerate(learner.iterates(member.recipe)):
            if np.isfinite(iterate.loss):
                yield member, step, iterate


def _machine(member: Member, step: int, iterate: Iterate, weight: float, rows: np.ndarray) -> Machine:
    fitted = iterate.fit
    sensitivity = np.sqrt(np.diag(iterate.outer))
    return Machine(
        member.name, step, float(weight), iterate.loss, fitted.alpha, member.scale, member.recipe.profile, iterate.root,
        sensitivity, rows, fitted.dual, fitted.constant,
    )  # fmt: skip
