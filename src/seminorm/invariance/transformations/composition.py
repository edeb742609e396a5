"""One set of transformations after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import COMPOSITIONS, Quadrature, Transformation
from .box import product_rule

_MOST_ELEMENTS = 2**12


class Composition(Transformation):
    """All maps x -> A(B(x)), written ``A * B``; the parameters of the outer set come first.

    Parameters
    ----------
    outer, inner : Transformation
        A and B, the one that is applied last and the one that is applied first.

    See Also
    --------
    seven_deformations : A composition of five sets.

    Examples
    --------
    >>> from seminorm.invariance import Reflection, Rotation
    >>> both = Rotation(n_nodes=4) * Reflection(axis=0)
    >>> both.quadrature().nodes.shape, both.is_group  # of the square
    ((8, 2), True)
    """

    def __init__(self, outer: Transformation, inner: Transformation):
        self.outer, self.inner = outer, inner

    @property
    def parts(self) -> tuple[Transformation, ...]:
        return (*self.outer.parts, *self.inner.parts)

    @property
    def n_parameters(self) -> int:
        return sum(part.n_parameters for part in self.parts)

    @property
    def identity(self) -> np.ndarray:
        return np.concatenate([part.identity for part in self.parts])

    @property
    def extent(self) -> np.ndarray | None:
        extents = [part.extent for part in self.parts if part.extent is not None]
        return np.concatenate(extents) if len(extents) == len(self.parts) else None

    @property
    def is_isometric(self) -> bool:
        return all(part.is_isometric for part in self.parts)

    @property
    def is_affine(self) -> bool:
        return all(part.is_affine for part in self.parts)

    @property
    def linear_size(self) -> int | None:
        sizes = [part.linear_size for part in self.parts if part.linear_size is not None]
        return max(sizes) if len(sizes) == len(self.parts) else None

    @property
    def is_group(self) -> bool:
        """Whether both are groups, and a b known to run through the same maps as b a (linear ones, not thousands)."""
        if not (self.outer.is_group and self.inner.is_group) or self.linear_size is None:
            return False
        rows = np.eye(self.linear_size)
        outer, inner = (part.apply(rows, part.quadrature().nodes) for part in (self.outer, self.inner))
        if len(outer) * len(inner) > _MOST_ELEMENTS:
            return False
        return _products(inner, outer) == _products(outer, inner)

    def transformed_size(self, dimension: int) -> int:
        for part in reversed(self.parts):
            dimension = part.transformed_size(dimension)
        return dimension

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        return self.inner.patterns(X, name)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
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

    def tangents(self, X: ArrayLike) -> np.ndarray:
        unmoved = self.inner.apply(X, self.inner.identity[None])[0]
        first, second = self.outer.tangents(unmoved), self.inner.tangents(X)
        if first.shape[2] != second.shape[2]:  # the outer maps add a margin
            flat = second.reshape(-1, second.shape[2])
            second = self.outer.apply(flat, self.outer.identity[None]).reshape(*second.shape[:2], first.shape[2])
        return np.concatenate([first, second], axis=1)

    def cost(self, parameters: ArrayLike, others: ArrayLike) -> np.ndarray:
        first, second = np.asarray(parameters, dtype=float), np.asarray(others, dtype=float)
        total, start = np.zeros((len(first), len(second))), 0
        for part in self.parts:
            columns = slice(start, start + part.n_parameters)
            total += part.cost(first[:, columns], second[:, columns])
            start = columns.stop
        return total

    def resized(self, factor: float) -> Composition:
        return Composition(self.outer.resized(factor), self.inner.resized(factor))


COMPOSITIONS["*"] = Composition


def _products(first: np.ndarray, second: np.ndarray) -> set[bytes]:
    """All products of two lists of matrices (acting on rows, so the first is applied first), rounded."""
    size = first.shape[1]
    return {(matrix.round(6) + 0.0).tobytes() for matrix in (first[:, None] @ second[None]).reshape(-1, size, size)}
