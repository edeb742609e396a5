"""Transformations with continuous parameters: a box around the identity, and nodes and weights of its average."""

from __future__ import annotations

from itertools import product
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .base import Quadrature, Transformation

_MOST_NODES = 10**6


class ParameterBox(Transformation):
    """All parameters t with |t_k| <= extent_k; a subclass has the parameters ``extent`` and ``n_nodes``."""

    n_nodes: int | tuple[int, ...] | None

    @property
    def extent(self) -> np.ndarray:
        return self._extent

    @extent.setter
    def extent(self, value: ArrayLike) -> None:
        self._extent = checked_extent(value, self.n_parameters)

    def quadrature(self) -> Quadrature:
        refuse_infinite(self.extent)
        counts = checked_counts(self.n_nodes, self.n_parameters)
        return product_rule([self._rule(extent, count) for extent, count in zip(self.extent, counts, strict=True)])

    def _rule(self, extent: float, n_nodes: int) -> Quadrature:
        return on_interval(extent, n_nodes)

    def resized(self, factor: float) -> ParameterBox:
        checked_factor(factor)
        return clone(self).set_params(extent=np.zeros_like(self.extent) if factor == 0 else factor * self.extent)


class Additive(ParameterBox):
    """Multiples of some patterns are added; a subclass supplies ``_directions(d)``, these patterns (p, d)."""

    is_affine = True

    def _directions(self, dimension: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its maps: subclasses supply _directions(dimension).")

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        return X + (parameters @ self._directions(X.shape[1]))[:, None, :]

    def tangents(self, X: ArrayLike) -> np.ndarray:
        rows = self.patterns(X)
        return np.repeat(self._directions(rows.shape[1])[None], len(rows), axis=0)


def checked_factor(factor: float) -> None:
    """Raise an error unless the factor is a finite number that is not negative."""
    if not (isinstance(factor, Real) and np.isfinite(factor) and factor >= 0):
        raise ValueError(f"factor must be a finite number >= 0 (0 leaves only the identity), got {factor!r}.")


def checked_extent(extent: ArrayLike, n_parameters: int) -> np.ndarray:
    """Half-widths as an array (p,); the same object if it is one already."""
    values = np.asarray(extent, dtype=float)
    if values.ndim == 0:
        values = np.full(n_parameters, float(values))
    if values.shape != (n_parameters,) or not (values >= 0).all():
        raise ValueError(f"extent must be a number >= 0, or {n_parameters} (one per parameter), got {extent!r}.")
    return values


def checked_counts(n_nodes: ArrayLike | None, n_parameters: int) -> list[int]:
    """The number of nodes along each parameter."""
    counts = np.atleast_1d(np.asarray(n_nodes))
    if counts.size == 1:
        counts = np.repeat(counts, n_parameters)
    if counts.shape != (n_parameters,) or counts.dtype.kind not in "iu" or (counts < 1).any():
        raise ValueError(f"n_nodes must be a positive integer, or {n_parameters} (one per parameter), got {n_nodes!r}.")
    return counts.tolist()


def refuse_infinite(extent: np.ndarray) -> None:
    """Raise an error if an average over the box does not exist."""
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
    """From -extent to extent in equal steps, with equal weights."""
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
            "nodes per parameter (n_nodes)."
        )
    nodes = np.array([np.concatenate(rows) for rows in product(*(rule.nodes for rule in rules))])
    weights = np.array([np.prod(factors) for factors in product(*(rule.weights for rule in rules))])
    return Quadrature(nodes.reshape(len(weights), -1), weights / weights.sum())
