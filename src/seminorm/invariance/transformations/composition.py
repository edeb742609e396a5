"""One set of transformations after another."""

from __future__ import annotations

import numpy as np

from .base import Quadrature, Transformation
from .rules import product_rule

_MOST_ELEMENTS = 2**12


class Composition(Transformation):
    """All maps x -> A(B(x)), written ``A * B``: first the inner one, then the outer.

    The parameters of the outer set come first, then those of the inner one.

    Parameters
    ----------
    outer : Transformation
        Done last.
    inner : Transformation
        Done first.

    Examples
    --------
    >>> from seminorm.invariance import Reflection, Rotation
    >>> both = Rotation(n_nodes=4) * Reflection(axis=0)
    >>> both.quadrature().nodes.shape
    (8, 2)
    >>> both.is_group  # of the square
    True
    """

    def __init__(self, outer: Transformation, inner: Transformation):
        self.outer = outer
        self.inner = inner

    @property
    def parts(self) -> tuple[Transformation, ...]:
        """What is composed, the last one done first in the list; nested compositions are opened."""
        return sum((p.parts if isinstance(p, Composition) else (p,) for p in (self.outer, self.inner)), ())

    @property
    def n_parameters(self) -> int:
        return sum(part.n_parameters for part in self.parts)

    @property
    def identity(self):
        return np.concatenate([part.identity for part in self.parts])

    @property
    def extent(self):
        """Half-widths of all parts; None if one of them is a finite list."""
        extents = [part.extent for part in self.parts]
        return None if any(extent is None for extent in extents) else np.concatenate(extents)

    @property
    def is_isometric(self):
        return all(part.is_isometric for part in self.parts)

    @property
    def is_affine(self):
        return all(part.is_affine for part in self.parts)

    @property
    def linear_size(self) -> int | None:
        """Least number of columns of the patterns if all parts are linear maps that do not know it better."""
        sizes = [getattr(part, "linear_size", None) for part in self.parts]
        return None if None in sizes else max(sizes)

    @property
    def is_group(self):
        """Whether both sets are groups and a b runs through the same maps as b a; where that cannot be found out (maps
        that are not known to be linear, very many of them) the answer is no.
        """
        if not (self.outer.is_group and self.inner.is_group) or self.linear_size is None:
            return False
        rows = np.eye(self.linear_size)
        outer, inner = (part.apply(rows, part.quadrature().nodes) for part in (self.outer, self.inner))
        if len(outer) * len(inner) > _MOST_ELEMENTS:
            return False
        one_way, other_way = _products(inner, outer), _products(outer, inner)
        return _keys(one_way) == _keys(other_way)

    def transformed_size(self, dimension):
        for part in reversed(self.parts):
            dimension = part.transformed_size(dimension)
        return dimension

    def patterns(self, X):
        return self.inner.patterns(X)

    def _apply(self, X, parameters):
        split = self.outer.n_parameters
        # each inner map is done once, however many outer ones follow it
        distinct, where = np.unique(parameters[:, split:], axis=0, return_inverse=True)
        where = where.ravel()
        middle = self.inner.apply(X, distinct)
        result = np.empty((len(parameters), len(X), self.outer.transformed_size(middle.shape[2])))
        for i, patterns in enumerate(middle):
            chosen = np.flatnonzero(where == i)
            result[chosen] = self.outer.apply(patterns, parameters[chosen, :split])
        return result

    def quadrature(self) -> Quadrature:
        return product_rule([part.quadrature() for part in self.parts])

    def tangents(self, X):
        unmoved = self.inner.apply(X, self.inner.identity[None])[0]
        first, second = self.outer.tangents(unmoved), self.inner.tangents(X)
        if first.shape[2] != second.shape[2]:  # the outer maps add a margin
            flat = second.reshape(-1, second.shape[2])
            second = self.outer.apply(flat, self.outer.identity[None]).reshape(*second.shape[:2], first.shape[2])
        return np.concatenate([first, second], axis=1)

    def cost(self, parameters, others):
        """The costs of the parts, added up."""
        parameters, others = np.asarray(parameters, dtype=float), np.asarray(others, dtype=float)
        total, start = np.zeros((len(parameters), len(others))), 0
        for part in self.parts:
            columns = slice(start, start + part.n_parameters)
            total += part.cost(parameters[:, columns], others[:, columns])
            start = columns.stop
        return total

    def resized(self, factor: float) -> Composition:
        return Composition(self.outer.resized(factor), self.inner.resized(factor))


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """All products of two lists of matrices (of rows, so the first is done first)."""
    size = first.shape[1]
    return (first[:, None] @ second[None]).reshape(-1, size, size)


def _keys(matrices: np.ndarray) -> set[bytes]:
    return {(matrix.round(6) + 0.0).tobytes() for matrix in matrices}
