"""From what the user passes to ``fit`` to linear functionals, targets and weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_array

from .._base.patterns import PatternTable
from .._base.spacing import near_groups
from ..functions.functionals import Functional, ObservedFunctionals
from ..kernels.base import Kernel
from ..kernels.elastic import VectorKernel

_ROUNDING = 1e-7  # of single precision, in units of the extent of X
_SAME_VALUE = 1e-6  # values that differ by less, in units of their standard deviation, are copies


@dataclass
class FunctionalData:
    """N observed functionals with targets (N, k) and positive weights (N,); the values come first, if there are any.

    ``groups[i]`` says which observed value sample i went into: samples at the same point (to the rounding of single
    precision) are merged into one observation with their weighted mean and the sum of their weights, which changes no
    fit, and makes "leave one out" leave out a point rather than one of its copies. Samples of weight zero are left out
    (-1).
    """

    functionals: list[Functional]
    targets: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    scatter: np.ndarray  #: weighted sum of squares of the samples about the means of their points, per output
    repeats: int  #: degrees of freedom of the scatter: different values at the same point, less one each
    n_values: int  #: number of observed values

    def content(self) -> dict[str, Any]:
        """What a file holds; :meth:`from_content` reads it."""
        return vars(self) | {"functionals": [functional.content() for functional in self.functionals]}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Self:
        """The observations of a file."""
        functionals = [Functional.from_content(part) for part in content["functionals"]]
        return cls(**(content | {"functionals": functionals}))

    def merged_places(self, kernel: Kernel) -> Self | None:
        """The same with values at points much nearer than usual merged, too, for the choice of alpha: a copy that was
        moved a little is no second observation. None if there are no such points."""
        if not self.n_values:
            return None
        n, points = self.n_values, self.functionals[0].points
        merged = _merge(points, self.targets[:n], self.weights[:n], _places(points, kernel))
        if len(merged.points) == n:
            return None
        return replace(
            self,
            functionals=[Functional.values(merged.points), *self.functionals[1:]],
            targets=np.concatenate([merged.targets, self.targets[n:]]),
            weights=np.concatenate([merged.weights, self.weights[n:]]),
            groups=np.full(len(self.groups), -1),
            scatter=self.scatter + merged.scatter,
            repeats=self.repeats + merged.repeats,
            n_values=len(merged.points),
        )

    @property
    def points(self) -> np.ndarray:
        """Where values are observed; if there are none, the points of all functionals."""
        if self.n_values:
            return self.functionals[0].points
        return np.concatenate([functional.points for functional in self.functionals])


def collect_observations(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    gradients: Any,
    functionals: Sequence[ObservedFunctionals],
    kernel: Kernel,
) -> FunctionalData:
    """Observed values, then observed gradient components, then other functionals."""
    merged = _merge(X, y, weights, _places(X[weights > 0], kernel, rounding=_ROUNDING))
    blocks = [ObservedFunctionals(Functional.values(merged.points), merged.targets, merged.weights)]
    if gradients is not None:
        blocks.append(_gradient_observations(gradients, X, weights, y.shape[1], kernel))
    for block in functionals:
        if kernel.differentiability < 2 * block.functional.derivative:
            raise ValueError(
                f"functionals with derivatives of order {block.functional.derivative} need a kernel with "
                f"{2 * block.functional.derivative} derivatives where its arguments coincide, and {kernel!r} has "
                f"{kernel.differentiability}: use Polyharmonic of a higher order, a smoother Matern, Gaussian() or "
                "Multiquadric()."
            )
    blocks += functionals
    observed, values, all_weights = zip(*[block for block in blocks if block.functional.size], strict=True)
    return FunctionalData(
        list(observed),
        np.concatenate(values),
        np.concatenate(all_weights),
        merged.groups,
        merged.scatter,
        merged.repeats,
        len(merged.points),
    )


def functional_shape(functionals: Any) -> tuple[int, tuple[int, ...]]:
    """Number of coordinates of the first observed functional, and the axes of its targets after the first."""
    if not functionals:
        raise ValueError("functionals must hold at least one functional if there are no X and y.")
    functional, targets, _ = _checked_item(functionals[0])
    return functional.dimension, np.shape(targets)[1:]


def observed_functionals(item: Any, dimension: int, outputs: int) -> ObservedFunctionals:
    """Functionals, targets and weights from ``(Functional, targets)`` or ``(Functional, targets, weights)``."""
    functional, targets, weights = _checked_item(item)
    targets = np.asarray(targets, dtype=float)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if functional.dimension != dimension or targets.shape != (functional.size, outputs):
        raise ValueError(
            f"functionals: points must have {dimension} columns and targets shape ({functional.size}, {outputs}), got "
            f"{functional.dimension} columns and shape {targets.shape}."
        )
    if not np.isfinite(targets).all() or not all(np.isfinite(term.points).all() for term in functional.terms):
        raise ValueError("functionals: points and targets must be finite; leave out what was not observed.")
    weights = _checked_weights(weights, functional.size, "functionals")
    if not (weights > 0).all():
        raise ValueError("functionals: the weights must be positive; leave out what was not observed.")
    return ObservedFunctionals(functional, targets, weights)


def _checked_item(item: Any) -> tuple[Functional, Any, Any]:
    if not (isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], Functional)):
        raise ValueError("functionals must hold pairs (Functional, targets) or triples (Functional, targets, weights).")
    return item[0], item[1], item[2] if len(item) == 3 else 1.0


def _places(X: Any, kernel: Kernel, **options: float) -> np.ndarray | None:
    """The places of points, which coincide or nearly do; patterns must be equal."""
    return X.groups() if isinstance(X, PatternTable) else near_groups(_apart(X, kernel), **options)


def _apart(X: np.ndarray, kernel: Kernel) -> np.ndarray:
    """The points, with components of vectors as far apart as the data extend."""
    if not isinstance(kernel, VectorKernel) or not len(X):
        return X
    return np.column_stack([X[:, :-1], X[:, -1] * (np.ptp(X[:, :-1], axis=0).max() or 1.0)])


class _Merged(NamedTuple):
    """Samples merged where they coincide; the fields are those of :class:`FunctionalData`."""

    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    scatter: np.ndarray
    repeats: int


def _merge(X: np.ndarray, y: np.ndarray, weights: np.ndarray, places: np.ndarray | None) -> _Merged:
    """Merge samples of positive weight at the same place: ``places`` are theirs, -1 for a place of its own."""
    used = np.flatnonzero(weights > 0)
    groups = np.full(len(X), -1)
    if places is None:
        groups[used] = np.arange(len(used))
        return _Merged(X[used], y[used], weights[used], groups, np.zeros(y.shape[1]), 0)
    labels = np.where(places >= 0, places, len(X) + np.arange(len(used)))
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)  # that of the data
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    members = rank[inverse.ravel()]
    total = np.bincount(members, weights[used])
    targets = np.column_stack([np.bincount(members, weights[used] * column) for column in y[used].T]) / total[:, None]
    groups[used] = members
    scatter = (weights[used, None] * (y[used] - targets[members]) ** 2).sum(axis=0)
    unit = _SAME_VALUE * np.maximum(y[used].std(axis=0), np.finfo(float).tiny)
    repeats = len(np.unique(np.column_stack([members, np.round(y[used] / unit)]), axis=0)) - len(total)
    return _Merged(X[used][first[order]], targets, total, groups, scatter, repeats)


def _gradient_observations(
    gradients: Any, X: np.ndarray, sample_weight: np.ndarray, outputs: int, kernel: Kernel
) -> ObservedFunctionals:
    """Observations from ``G``, ``(points, G)`` or ``(points, G, weights)``; NaN marks what was not observed."""
    if kernel.differentiability < 2:
        d = X.shape[1]
        raise ValueError(
            f"gradients need a kernel that is twice differentiable where its arguments coincide, and {kernel!r} is "
            f"not: use Polyharmonic(order={(d + 2) // 2 + 1}) "
            f"(2 m > d + 2 for d = {d}), Matern(2.5), Gaussian() or Multiquadric()."
        )
    points, values, weights = _parts(gradients, X, sample_weight)
    points = check_array(points, dtype=np.float64, input_name="gradients (points)")
    values = check_array(
        values, dtype=np.float64, allow_nd=True, ensure_all_finite="allow-nan", ensure_2d=False, input_name="gradients"
    )
    expected: list[tuple[int, ...]] = [(len(points), X.shape[1])] if outputs == 1 else []
    expected.append((len(points), outputs, X.shape[1]))
    if points.shape[1] != X.shape[1] or values.shape not in expected:
        raise ValueError(
            f"gradients must have shape {' or '.join(map(str, expected))} (NaN where not observed), or be (points, "
            f"gradients) with points (m, {X.shape[1]}), "
            f"got gradients of shape {values.shape} at points of shape {points.shape}."
        )
    values = np.moveaxis(values.reshape(len(points), outputs, X.shape[1]), 1, 2)  # (m, d, k)
    missing = np.isnan(values)
    if (missing.any(axis=2) != missing.all(axis=2)).any():
        raise ValueError("gradients must be observed (or NaN) for all outputs of a point alike.")
    weights = _checked_weights(weights, len(points), "gradients")
    observed = ~missing.any(axis=2) & (weights > 0)[:, None]
    some = observed.any(axis=1)
    points, values, weights, observed = points[some], values[some], weights[some], observed[some]
    return ObservedFunctionals(
        Functional.gradients(points, observed),
        values[observed],
        np.broadcast_to(weights[:, None], observed.shape)[observed],
    )


def _checked_weights(weights: Any, size: int, name: str) -> np.ndarray:
    weights = np.asarray(weights, dtype=float)
    if weights.shape not in ((), (size,)) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"{name}: the weights must be finite, not negative, and one number or {size}, got shape {weights.shape}."
        )
    return np.broadcast_to(weights, (size,))


def _parts(gradients: Any, X: np.ndarray, sample_weight: np.ndarray) -> tuple:
    if not isinstance(gradients, tuple):  # at the points of the values, with their weights
        return X, gradients, sample_weight
    if len(gradients) not in (2, 3):
        raise ValueError(
            f"gradients must be an array, (points, array) or (points, array, weights), got a tuple of {len(gradients)}."
        )
    return gradients if len(gradients) == 3 else (*gradients, 1.0)
