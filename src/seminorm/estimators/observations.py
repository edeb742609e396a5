"""From what the user passes to ``fit`` to linear functionals, targets and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array

from ..functions import Functional
from ..kernels.base import Kernel


@dataclass
class Observations:
    """N observed functionals with targets (N, k) and positive weights (N,).

    ``groups[i]`` says which observed value sample i went into: samples at the same point are merged into one
    observation with their weighted mean and the sum of their weights, which changes no fit, and makes "leave one out"
    leave out a point rather than one of its copies. Samples of weight zero are left out (-1).
    """

    functionals: list[Functional]
    targets: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    scatter: np.ndarray  #: weighted sum of squares of the samples about the means of their points, for each output
    repeats: int  #: degrees of freedom of the scatter: different values at the same point, less one each


def collect_observations(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, gradients, functionals, kernel: Kernel
) -> Observations:
    """Observed values, then observed gradient components, then other functionals."""
    points, targets, point_weights, groups, scatter, repeats = _merge_duplicates(X, y, weights)
    blocks = [(Functional(points), targets, point_weights)]
    if gradients is not None:
        blocks.append(_gradient_observations(gradients, X, weights, y.shape[1], kernel))
    blocks += [_functional_observations(item, X.shape[1], y.shape[1]) for item in functionals or ()]
    observed, values, all_weights = zip(*[block for block in blocks if block[0].size], strict=True)
    return Observations(list(observed), np.concatenate(values), np.concatenate(all_weights), groups, scatter, repeats)


def _merge_duplicates(X, y, weights):
    used = np.flatnonzero(weights > 0)
    _, first, inverse = np.unique(X[used], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # keep the order of the data
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    members = rank[inverse.ravel()]
    total = np.bincount(members, weights[used])
    targets = np.column_stack([np.bincount(members, weights[used] * column) for column in y[used].T]) / total[:, None]
    groups = np.full(len(X), -1)
    groups[used] = members
    scatter = (weights[used, None] * (y[used] - targets[members]) ** 2).sum(axis=0)
    repeats = len(np.unique(np.column_stack([members, y[used]]), axis=0)) - len(total) if len(total) < len(used) else 0
    return X[used][first[order]], targets, total, groups, scatter, repeats


def _gradient_observations(gradients, X, sample_weight, outputs: int, kernel: Kernel):
    """Functionals, targets and weights from ``G``, ``(points, G)`` or ``(points, G, weights)``; NaN marks components
    that were not observed.
    """
    if kernel.smoothness < 2:
        d = X.shape[1]
        raise ValueError(
            f"gradients need a kernel that is twice differentiable where its arguments coincide, and {kernel!r} is "
            f"not: use Polyharmonic(m={(d + 2) // 2 + 1}) "
            f"(2 m > d + 2 for d = {d}), Matern(2.5), Gaussian() or Multiquadric()."
        )
    points, values, weights = _parts(gradients, X, sample_weight)
    points = check_array(points, dtype=np.float64, input_name="gradients (points)")
    values = check_array(
        values, dtype=np.float64, allow_nd=True, ensure_all_finite="allow-nan", ensure_2d=False, input_name="gradients"
    )
    expected = [(len(points), X.shape[1])] if outputs == 1 else []
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
    return (
        Functional.gradients(points, observed),
        values[observed],
        np.broadcast_to(weights[:, None], observed.shape)[observed],
    )


def _functional_observations(item, dimension: int, outputs: int):
    """Functionals, targets and weights from ``(Functional, targets)`` or ``(Functional, targets, weights)``."""
    if not (isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], Functional)):
        raise ValueError("functionals must hold pairs (Functional, targets) or triples (Functional, targets, weights).")
    functional, targets = item[0], np.asarray(item[1], dtype=float)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if functional.points.shape[1] != dimension or targets.shape != (functional.size, outputs):
        raise ValueError(
            f"functionals: points must have {dimension} columns and targets shape ({functional.size}, {outputs}), got "
            f"{functional.points.shape[1]} columns and shape {targets.shape}."
        )
    weights = _checked_weights(item[2] if len(item) == 3 else 1.0, functional.size, "functionals")
    if not (weights > 0).all():
        raise ValueError("functionals: the weights must be positive; leave out what was not observed.")
    return functional, targets, weights


def _checked_weights(weights, size: int, name: str) -> np.ndarray:
    weights = np.asarray(weights, dtype=float)
    if weights.shape not in ((), (size,)) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"{name}: the weights must be finite, not negative, and one number or {size}, got shape {weights.shape}."
        )
    return np.broadcast_to(weights, (size,))


def _parts(gradients, X, sample_weight):
    if not isinstance(gradients, tuple):  # at the points of the values, with their weights
        return X, gradients, sample_weight
    if len(gradients) not in (2, 3):
        raise ValueError(
            f"gradients must be an array, (points, array) or (points, array, weights), got a tuple of {len(gradients)}."
        )
    return gradients if len(gradients) == 3 else (*gradients, 1.0)
