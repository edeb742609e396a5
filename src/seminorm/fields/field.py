"""Fields: functions in the multilevel basis, with value, gradient, Hessian and semi-norm at any points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np

from .. import _native
from ..bases.bsplines import derivative_pieces
from ..bases.grid import GridBasis
from ..functions.protocol import StoredFunction
from .roughness import Roughness
from .system import Energy
from .tree import Tree

_CHUNK_POINTS = 2**18


class Field(StoredFunction):
    """f(x) = offset + sum_k coef_k b((x - v_k) / s_k) with tensor-product B-splines b on nested grids.

    Outside the box of its coarsest grid a field goes on with the polynomial of degree at most 1 that it has at the
    nearest point of the box (a constant if no linear function is free). Axes of the box that close up have no outside.

    Parameters
    ----------
    tree : Tree
        The basis.
    coef : array (blocks, functions)
        Coefficients, collapsed on the leaves.
    roughness, offset : Roughness or int, float
        What :meth:`seminorm` measures, or the order of a single semi-norm; and a constant that is added to every value.

    See Also
    --------
    seminorm.FieldSmoother : fits fields.
    seminorm.functions.Expansion : the exact, dense function.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.bases import GridBasis, GridBox
    >>> from seminorm.fields import Field
    >>> basis = GridBasis(GridBox([0.0], [1.0], 0.25, [4]), degree=2)
    >>> f = Field.on_grid(basis, np.ones(basis.size), order=2)
    >>> f([[0.3]]), f.gradient([[0.3]]).round(6), round(f.seminorm(), 6)
    (array([1.]), array([[0.]]), 0.0)
    """

    def __init__(self, tree: Tree, coef: np.ndarray, roughness: Roughness | int, offset: float = 0.0):
        self.tree, self.coef, self.roughness, self.offset = tree, coef, Roughness.of(roughness), float(offset)

    def __repr__(self) -> str:
        finest = self.tree.spacing(self.tree.depth)
        return (
            f"<Field in {self.dimension} dimensions: {self.n_coef} coefficients, depth {self.depth}, finest spacing "
            f"{finest:.3g}, {self.roughness}, degree {self.tree.degree}>"
        )

    @property
    def order(self) -> int:
        """The highest order of derivatives in the semi-norm."""
        return self.roughness.order

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.tree.box.dimension

    @property
    def components(self) -> list[Self]:
        """The field alone: it has one output."""
        return [self]

    def times(self, factor: float) -> Field:
        """The field multiplied by a number."""
        return Field(self.tree, factor * self.coef, self.roughness, factor * self.offset)

    @property
    def depth(self) -> int:
        """Number of the finest level; level 0 is one cell across the data."""
        return self.tree.depth

    @property
    def n_coef(self) -> int:
        """Number of basis functions."""
        return self.tree.size

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper corner of the box (2, d)."""
        return self.tree.box.bounds

    def jet(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values (n,) and gradients (n, d) at X, together."""
        X = self._checked(X)
        values, gradients = np.empty(len(X)), np.empty(X.shape)
        tree = self.tree
        spacings = np.array([tree.spacing(level) for level in range(tree.depth + 1)])
        for begin in range(0, len(X), _CHUNK_POINTS):
            part = slice(begin, begin + _CHUNK_POINTS)
            points = tree.box.coordinates(X[part])
            inside = np.clip(points, 0.0, tree.box.cells)
            block, cell = tree.locate(inside)
            out = np.empty((len(points), 1 + self.dimension))
            _native.read_jets(tree.links, self.coef, inside, block, cell, spacings, out)
            beyond = np.flatnonzero((points != inside).any(axis=1))
            if self.roughness.lowest <= 1:
                out[beyond, 1:] = 0.0
            shift = (points[beyond] - inside[beyond]) * tree.box.spacing
            out[beyond, 0] += (out[beyond, 1:] * shift).sum(axis=1)
            values[part] = out[:, 0] + self.offset
            gradients[part] = tree.box.gradients(out[:, 1:])
        return values, gradients

    def seminorm(self) -> float:
        """|f|: root of the squared derivatives of the field's order, or of the sum of several orders, integrated over
        the box in scaled coordinates.
        """
        return float(np.sqrt(max(Energy(self.tree, self.roughness)(self.coef), 0.0)))

    @classmethod
    def on_grid(cls, basis: GridBasis, coef: np.ndarray, order: int) -> Field:
        """The field of one level with given coefficients (p,) in the basis of a grid."""
        tree = Tree.root(basis.box, basis.degree)
        block, node = np.nonzero(tree.active)
        places = tree.coords[block] * tree.layout.side + tree.layout.node_coords[node]
        stored = np.zeros(tree.active.shape)
        stored[block, node] = np.asarray(coef)[np.ravel_multi_index(tuple(places.T), basis.shape)]
        return cls(tree, stored, order)

    def content(self) -> dict:
        content = {**self.tree.content(), "order": self.order, "offset": self.offset, "coef": self.coef}
        return (
            content
            if self.roughness == Roughness.of(self.order)
            else {**content, "factors": np.array(self.roughness.factors)}
        )

    @classmethod
    def from_content(cls, content: dict, path: Any = "the file") -> Self:
        tree = Tree.from_content(content)
        if content["coef"].shape != tree.active.shape:
            raise ValueError(
                f"{path} is damaged: coefficients of shape {content['coef'].shape}, not {tree.active.shape}."
            )
        roughness = Roughness(content["factors"]) if "factors" in content else content["order"]
        return cls(tree, content["coef"], roughness, content["offset"])

    def _checked(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        if not np.isfinite(X).all():
            raise ValueError("X has NaN or infinity: remove these points.")
        return X

    def _derivative(self, X: Any, times: int) -> np.ndarray:
        """All derivatives of one order, in chunks of bounded memory; each distinct one is computed once."""
        X, d = self._checked(X), self.dimension
        columns = list(combinations_with_replacement(range(d), times))
        distinct = np.empty((len(X), len(columns)))
        for begin in range(0, len(X), _CHUNK_POINTS):
            points = self.tree.box.coordinates(X[begin : begin + _CHUNK_POINTS])
            distinct[begin : begin + _CHUNK_POINTS] = self._continued(points, columns)
        box = self.tree.box
        if times < 2:
            return distinct[:, 0] if times == 0 else box.gradients(distinct)
        result = np.empty((len(X), d, d))
        for column, (i, j) in enumerate(columns):
            result[:, i, j] = result[:, j, i] = distinct[:, column]
        return box.hessians(result)

    def _continued(self, points: np.ndarray, columns: Sequence[tuple[int, ...]]) -> np.ndarray:
        """Derivatives by scaled coordinates inside the box, and of the continuation outside."""
        inside = np.clip(points, 0.0, self.tree.box.cells)
        beyond = points - inside
        outside = np.flatnonzero(beyond.any(axis=1))
        values = self.derivatives(inside, columns)
        times = len(columns[0])
        if len(outside) and times == 0 and self.roughness.lowest > 1:
            slopes = self.derivatives(inside[outside], [(a,) for a in range(points.shape[1])])
            values[outside, 0] += (slopes * beyond[outside] * self.tree.box.spacing).sum(axis=1)
        elif len(outside) and (times == 2 or (times == 1 and self.roughness.lowest <= 1)):
            values[outside] = 0.0
        if times == 0:
            values += self.offset
        return values

    def derivatives(self, points: np.ndarray, columns: Sequence[tuple[int, ...]]) -> np.ndarray:
        """Derivatives by scaled coordinates of the grid, without the offset, at points in cells of level 0 of the box.
        A column is a tuple of axes.
        """
        tree, d = self.tree, self.dimension
        orders = np.array([[column.count(a) for a in range(d)] for column in columns], dtype=np.int64)
        block, cell = tree.locate(points)
        out = np.empty((len(points), len(columns)))
        polynomials = derivative_pieces(tree.degree, int(orders.max(initial=0)))
        _native.read_derivatives(tree.links, self.coef, points, block, cell, polynomials, orders, out)
        if orders.any():
            spacing = tree.box.spacing / 2.0 ** tree.level_of[block]
            out /= spacing[:, None] ** orders.sum(axis=1)
        return out


def sample_blocks(field: Field, level: int, blocks: np.ndarray) -> np.ndarray:
    """Values (n, side + 1, ...) on the corners of the cells of blocks (n, d) of a level no coarser than the field."""
    tree = field.tree
    if level < tree.depth:
        raise ValueError(f"level={level} is coarser than the field's depth {tree.depth}.")
    d, corners = tree.box.dimension, tree.layout.side + 1
    out = np.empty((len(blocks), corners**d), dtype=field.coef.dtype)
    blocks = np.ascontiguousarray(blocks, dtype=np.int64)
    _native.sample_blocks(tree.links, field.coef, blocks, level, tree.roots, tree.root_grid, field.offset, out)
    return out.reshape(len(blocks), *[corners] * d)
