"""The stack: all iterates of all members, combined by weights found on what they predict of points left out.

Of many rows, metrics are learned on some; the machines that carry weight there are trained on all rows, on a basis of
centres, and their metrics learned further.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..._base.memory import require_memory
from .basis import BasisSystem
from .gradients import metric_root, outer_products
from .learning import Iterate, Learner, Recipe
from .profiles import PowerProfile
from .ridge import RidgeFit, mean_square
from .stacking import stack_weights

LEARNING_ROWS = 2000  # on which metrics are learned first
DENSE_ROWS = 2500  # up to which nothing but dense machines on all rows is needed
BASIS = 2000  # centres beyond
LARGE_BASIS = 3000  # centres from this many rows on:
LARGE = 10_000
_FEWEST = 500  # rows on which metrics are learned, if there are to be fewer centres
_JUDGING_ROWS = 4000
_LEAST = 1e-3  # weight of a machine that is kept
_NOTABLE = 0.03  # weight on some rows of a machine that is trained on all
_FURTHER = 3  # most steps of learning on all rows
_NOISE = 0.5  # of the variance of y: members that leave more unexplained may start again,
_BETTER = 0.6  # if weights of columns leave less than this share of it
_GAIN = 0.01  # of a step, as a share of the loss, below which there is no further one
_ROWS = 1000  # at which gradients are averaged
_PER_COLUMN = 10  # rows for each column that further learning needs
_BLOCK = 2**24  # kernel values at a time

Watch = Callable[[float], None]


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


class _Tried(NamedTuple):
    """A machine, and what it predicts of points left out."""

    member: Member
    step: int
    root: np.ndarray
    outer: np.ndarray
    fit: RidgeFit
    left_out: np.ndarray
    loss: float


def train(
    Z: dict[str, np.ndarray], Y: np.ndarray, weights: np.ndarray, n_basis: int | None = None, watch: Watch | None = None
) -> Stack:
    """Train the members on points on several scales, (n, d) each, and targets Y (n, k).

    A weight above 1 says how many rows a point stands for, of which one is left out at a time.

    ``n_basis`` is the number of centres: n or more for dense machines; by default all rows if they are not many.
    ``watch`` sees every alpha.
    """
    n = len(Y)
    m = n_basis or (n if n <= DENSE_ROWS else BASIS if n < LARGE else LARGE_BASIS)
    share = np.minimum(1.0 / weights, 1.0)
    weights = weights / weights.mean()
    watch = watch or (lambda alpha: None)
    if m >= n:
        require_memory(6 * 8 * n**2, f"a stack of dense machines on {n} rows", "leave n_basis out, or set it to 3000.")
        rows = np.arange(n)
        return _stacked(list(_on_all(Z, Y, weights, share, watch)), Y, weights, rows, rows)
    require_memory(8 * (7 * m**2 + 2 * _BLOCK), f"machines on {m} centres", "set n_basis to a smaller number.")
    shuffled = np.random.default_rng(0).permutation(n)
    learning = min(LEARNING_ROWS, max(m, _FEWEST))
    some, judging = np.sort(shuffled[:learning]), np.sort(shuffled[learning:][:_JUDGING_ROWS])
    if len(judging) < min(learning, n // 2):
        judging = np.arange(n)[:: -(-n // _JUDGING_ROWS)]
    first = list(
        _on_all({name: points[some] for name, points in Z.items()}, Y[some], weights[some], share[some], watch)
    )
    chosen = _weights(first, Y[some], weights[some])
    notable = [tried for tried, weight in zip(first, chosen, strict=True) if weight >= _NOTABLE]
    centers = np.sort(shuffled[:m])
    tried = list(_on_basis(notable, Z, Y, weights, share, centers, judging, watch))
    return _stacked(tried, Y, weights, judging, centers)


def _weights(tried: list[_Tried], Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    found = stack_weights(np.array([each.left_out for each in tried]), Y, weights)
    found = np.where(found < _LEAST, 0.0, found)
    return found / found.sum()


def _stacked(tried: list[_Tried], Y, weights, rows: np.ndarray, centers: np.ndarray) -> Stack:
    """The machines combined by their predictions at left-out rows."""
    found = _weights(tried, Y[rows], weights[rows])
    pairs = [(each, float(weight)) for each, weight in zip(tried, found, strict=True)]
    machines = [_machine(each, weight, centers) for each, weight in pairs if weight]
    left_out = np.tensordot(found, np.array([each.left_out for each in tried]), 1)
    losses = [(each.member.name, each.step, each.loss, weight) for each, weight in pairs]
    return Stack(machines, rows, left_out, losses)


def _machine(tried: _Tried, weight: float, centers: np.ndarray) -> Machine:
    (name, scale, recipe), fitted = tried.member, tried.fit
    sensitivity = np.sqrt(np.diag(tried.outer))
    shape = name, tried.step, weight, tried.loss, fitted.alpha, scale, recipe.profile, tried.root
    return Machine(*shape, sensitivity, centers, fitted.dual, fitted.constant)


def _on_all(
    Z: dict[str, np.ndarray], Y: np.ndarray, weights: np.ndarray, share: np.ndarray, watch: Watch
) -> Iterator[_Tried]:
    """All iterates of all members, dense and cross-fitted.

    Where most columns do not matter, gradients of a fit to all of them are noise, and only weights of columns emerge
    from it: members that found nothing then start once more, from the best of these.
    """
    found: list[tuple[Member, list[Iterate]]] = []
    for member in MEMBERS:
        found.append((member, Learner(Z[member.scale], Y, weights, share).iterates(member.recipe)))
    weighted = min((it for m, its in found if m.recipe.kind == "diagonal" for it in its), key=_loss)
    unexplained = _NOISE * _spread(Y, weights)
    for member, iterates in found[:]:
        reached = min(map(_loss, iterates))
        learns = member.recipe.n_iter and member.recipe.kind != "diagonal"
        if learns and reached > max(unexplained, weighted.loss / _BETTER):
            learner = Learner(Z[member.scale], Y, weights, share)
            found.append((member, learner.iterates(member.recipe, weighted)))
    for member, iterates in found:
        for step, it in enumerate(iterates):
            watch(it.fit.alpha)
            if np.isfinite(it.loss):
                yield _Tried(member, step, it.root, it.outer, it.fit, it.left_out, it.loss)


def _loss(iterate: Iterate) -> float:
    return iterate.loss


def _spread(Y: np.ndarray, weights: np.ndarray) -> float:
    """The mean square of Y about its mean, summed over outputs."""
    return mean_square(np.average(Y, axis=0, weights=weights), Y, weights)


def _on_basis(
    notable: list[_Tried], Z: dict[str, np.ndarray], Y: np.ndarray, weights: np.ndarray, share: np.ndarray,
    centers: np.ndarray, judging: np.ndarray, watch: Watch,
) -> Iterator[_Tried]:  # fmt: skip
    """The machines of some rows, trained on all; the last one of each member learns its metric further."""
    for i, each in enumerate(notable):
        points, recipe = Z[each.member.scale], each.member.recipe
        is_last = i + 1 == len(notable) or notable[i + 1].member != each.member
        enough = len(points) >= _PER_COLUMN * points.shape[1] * (1 if recipe.kind == "diagonal" else points.shape[1])
        further = _FURTHER if is_last and recipe.n_iter and enough else 0
        root: np.ndarray | None = each.root
        best = np.inf
        for step in range(further + 1):
            if root is None:
                break
            tried = _on_centers(each.member, each.step + step, root, points, Y, weights, share, centers, judging)
            watch(tried.fit.alpha)
            yield tried
            if tried.loss > (1.0 - _GAIN) * best:
                break
            best = tried.loss
            root = metric_root(tried.outer, recipe.kind, recipe.power)


def _on_centers(member: Member, step: int, root, points, Y, weights, share, centers, judging) -> _Tried:
    """One machine on all rows."""
    profile, mapped = member.recipe.profile, points @ root
    system = BasisSystem(profile, mapped, centers, Y, weights)
    exponent, left_out = system.choose(judging, share)
    fitted = system.fit(system.scale * 10.0**exponent)
    seen = judging[:: -(-len(judging) // _ROWS)]
    gradients = profile.gradients(mapped[seen], mapped[centers], fitted.dual) @ root.T
    outer = outer_products(gradients, weights[seen])
    return _Tried(member, step, root, outer, fitted, left_out, mean_square(left_out, Y[judging], weights[judging]))
