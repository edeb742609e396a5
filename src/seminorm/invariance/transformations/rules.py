"""Nodes and weights of averages over boxes and circles of parameters."""

from __future__ import annotations

from itertools import product

import numpy as np

from .base import Quadrature

_MOST_NODES = 10**6


def checked_extent(extent, n_parameters: int) -> np.ndarray:
    """Half-widths as an array (p,); the same object if it is one already."""
    values = np.asarray(extent, dtype=float)
    if values.ndim == 0:
        values = np.full(n_parameters, float(values))
    if values.shape != (n_parameters,) or not (values >= 0).all():
        raise ValueError(
            f"extent must be one number >= 0, or {n_parameters} of them (one for each parameter), got {extent!r}."
        )
    return values


def checked_counts(n_nodes, n_parameters: int) -> list[int]:
    """The number of nodes along each parameter."""
    counts = np.atleast_1d(np.asarray(n_nodes))
    if counts.size == 1:
        counts = np.repeat(counts, n_parameters)
    if counts.shape != (n_parameters,) or counts.dtype.kind not in "iu" or (counts < 1).any():
        raise ValueError(
            f"n_nodes must be a positive integer, or {n_parameters} of them (one for each parameter), got {n_nodes!r}."
        )
    return counts.tolist()


def refuse_infinite(extent: np.ndarray) -> None:
    if not np.isfinite(extent).all():
        raise ValueError(
            f"extent is {extent!r}: an infinite set has no average. Give a finite extent, or use a distance that "
            "minimises over the set."
        )


def on_interval(extent: float, n_nodes: int) -> Quadrature:
    """Gauss-Legendre on [-extent, extent]; the middle alone if that is a point."""
    if extent == 0:
        return single(1)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return Quadrature(extent * nodes[:, None], weights / 2)


def equispaced(extent: float, n_nodes: int) -> Quadrature:
    """From -extent to extent in equal steps, all alike."""
    if extent == 0 or n_nodes == 1:
        return single(1)
    return Quadrature(np.linspace(-extent, extent, n_nodes)[:, None], np.full(n_nodes, 1.0 / n_nodes))


def on_circle(n_nodes: int) -> Quadrature:
    """Equal steps around the circle, from the identity on: the invariant measure of the cyclic group."""
    steps = np.arange(n_nodes)
    steps = np.where(2 * steps > n_nodes, steps - n_nodes, steps)
    return Quadrature(2 * np.pi * steps[:, None] / n_nodes, np.full(n_nodes, 1.0 / n_nodes))


def single(n_parameters: int) -> Quadrature:
    """The identity alone, if its parameters are zero."""
    return Quadrature(np.zeros((1, n_parameters)), np.ones(1))


def product_rule(rules: list[Quadrature]) -> Quadrature:
    """All combinations: parameters side by side, weights multiplied."""
    size = int(np.prod([len(rule.weights) for rule in rules], dtype=float))
    if size > _MOST_NODES:
        raise ValueError(
            f"the average would have {size} nodes, the product of {[len(rule.weights) for rule in rules]}: use fewer "
            "nodes for each parameter (n_nodes)."
        )
    nodes = np.array([np.concatenate(rows) for rows in product(*(rule.nodes for rule in rules))])
    weights = np.array([np.prod(factors) for factors in product(*(rule.weights for rule in rules))])
    return Quadrature(nodes.reshape(len(weights), -1), weights / weights.sum())
