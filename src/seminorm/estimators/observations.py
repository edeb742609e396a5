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


def collect_observations(X: np.ndarray, y: np.ndarray, weights: np.ndarray, gradients, kernel: Kernel) -> Observations:
    """Observed values, then observed gradient components."""
    points, targets, point_weights, groups = _merge_duplicates(X, y, weights)
    functionals = [Functional(points)]
    if gradients is not None:
        functional, components, component_weights = _gradient_observations(gradients, X, y.shape[1], kernel)
        if functional.size:
            functionals.append(functional)
            targets = np.concatenate([targets, components])
            point_weights = np.concatenate([point_weights, component_weights])
    return Observations(functionals, targets, point_weights, groups)


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
    return X[used][first[order]], targets, total, groups


def _gradient_observations(gradients, X, outputs: int, kernel: Kernel):
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
    points, values, weights = _parts(gradients, X)
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
    weights = (
        np.ones(len(points)) if weights is None else np.broadcast_to(np.asarray(weights, dtype=float), len(points))
    )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("gradients: the weights must be finite and not negative.")
    observed = ~missing.any(axis=2) & (weights > 0)[:, None]
    return (
        Functional.gradients(points, observed),
        values[observed],
        np.broadcast_to(weights[:, None], observed.shape)[observed],
    )


def _parts(gradients, X):
    if not isinstance(gradients, tuple):
        return X, gradients, None
    if len(gradients) not in (2, 3):
        raise ValueError(
            f"gradients must be an array, (points, array) or (points, array, weights), got a tuple of {len(gradients)}."
        )
    return gradients if len(gradients) == 3 else (*gradients, None)
