"""Samples that differ: repetitions become weights, and what has no weight is left out."""

import numpy as np

from .._base.patterns import PatternTable, is_plain


def distinct_samples(X, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ in point or target, and the sums of their weights: a weight is the same as repetition."""
    rows = weighted_rows(weights)
    y = y[:, None] if y.ndim == 1 else y
    if not is_plain(X):
        keys = _pattern_keys(X[rows], y[rows]) if isinstance(X, PatternTable) else _row_keys(X[rows], y[rows])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    else:
        keyed = np.column_stack([X[rows], y[rows]])
        _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    return rows[first], np.bincount(inverse.ravel(), weights[rows])


def weighted_rows(weights: np.ndarray) -> np.ndarray:
    """Rows of positive weight."""
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        raise ValueError("sample_weight must have a positive entry: all weights are zero.")
    return rows


def _pattern_keys(X: PatternTable, y) -> np.ndarray:
    """One string per pattern and its target."""
    return np.array([f"{key} {t.tobytes().hex()}" for key, t in zip(X.keys(), y, strict=True)])


def _row_keys(X, y) -> np.ndarray:
    """One string per row of a sparse matrix and its target: equal rows have equal keys."""
    X = X.sorted_indices()
    parts = zip(X.indptr[:-1], X.indptr[1:], y, strict=True)
    return np.array(
        [X.indices[i:j].tobytes().hex() + X.data[i:j].tobytes().hex() + t.tobytes().hex() for i, j, t in parts]
    )
