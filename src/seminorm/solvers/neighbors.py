"""Nearest neighbours in a matrix of distances, and their vote, with ties settled by rule."""

import numpy as np

_EQUAL = 1e-12


def nearest(distances: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` smallest entries of each row, ascending, equal ones from left to right, and their columns."""
    if count == 1:
        columns = distances.argmin(axis=1)[:, None]
        return np.take_along_axis(distances, columns, axis=1), columns
    columns = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(distances, columns, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    columns, values = np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)
    tied = np.flatnonzero(np.count_nonzero(distances <= values[:, -1:], axis=1) > count)
    for i in tied:  # more of equal distance than places: those on the left
        candidates = np.flatnonzero(distances[i] <= values[i, -1])
        columns[i] = candidates[np.argsort(distances[i, candidates], kind="stable")[:count]]
    return np.take_along_axis(distances, columns, axis=1), columns


def vote(
    labels: np.ndarray, distances: np.ndarray | None, n_classes: int, shares: np.ndarray | None = None
) -> np.ndarray:
    """The class with most votes among the labels (n, k) of the neighbours, nearest first; among equals the first one.

    With distances (n, k) a vote weighs 1 / distance; where some are zero only those count. ``shares`` (n, k) says how
    many votes each neighbour has.
    """
    weights = np.ones(labels.shape) if distances is None else _inverse(distances)
    weights = weights if shares is None else shares * weights
    rows = np.arange(len(labels))
    votes = np.zeros((len(labels), n_classes))
    for j in range(labels.shape[1]):
        votes[rows, labels[:, j]] += weights[:, j]
    of_neighbors = np.take_along_axis(votes, labels, axis=1)
    return labels[rows, (of_neighbors >= (1.0 - _EQUAL) * votes.max(axis=1, keepdims=True)).argmax(axis=1)]


def shares_of(weights: np.ndarray, count: float) -> np.ndarray:
    """How much of their weights (n, k) neighbours vote with, if the nearest of total weight ``count`` vote."""
    before = np.cumsum(weights, axis=1) - weights
    return np.clip(count - before, 0.0, weights)


def enough(weights: np.ndarray, count: float) -> int:
    """How many neighbours always have the total weight ``count``, if all have it."""
    return min(len(weights), int(np.searchsorted(np.cumsum(np.sort(weights)), count * (1.0 - _EQUAL))) + 1)


def _inverse(distances: np.ndarray) -> np.ndarray:
    """1 / distance relative to the nearest; 1 and 0 where a distance is zero."""
    smallest = distances.min(axis=1, keepdims=True)
    relative = smallest / np.where(distances > 0, distances, 1.0)
    return np.where(smallest > 0, relative, distances == 0)
