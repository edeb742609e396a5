"""Average outer products of gradients, and the linear maps made of them."""

import numpy as np

KINDS = "full", "half", "diagonal"


def outer_products(gradients: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """M = mean of g g' over the points, summed over outputs; gradients (n, k, d), weights (n,)."""
    rows = (gradients * np.sqrt(weights / weights.sum())[:, None, None]).reshape(-1, gradients.shape[2])
    return rows.T @ rows


def metric_root(M: np.ndarray, kind: str, power: float) -> np.ndarray | None:
    """L = (M d / trace M)^(power / 2), symmetric, of M as it is ("full"), of its diagonal, or of the mean of the two.

    None if M vanishes.
    """
    d, trace = len(M), np.trace(M)
    if not (trace > 0 and np.isfinite(trace)):
        return None
    M = M * (d / trace)
    if kind == "diagonal":
        return np.diag(np.diag(M) ** (0.5 * power))
    if kind == "half":
        M = 0.5 * (M + np.diag(np.diag(M)))
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 0.0) ** (0.5 * power)) @ vectors.T
