"""Fields: functions in the multilevel basis, with value, gradient, Hessian and semi-norm at any points."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

from ..operators.bsplines import derivative_pieces, pieces
from ..serialization import load_npz, save_npz
from . import _local as local
from . import _numba as loops
from .system import Energy
from .tree import Tree

_CHUNK_POINTS = 2**18


class Field:
    """f(x) = offset + sum_k coef_k b((x - v_k) / s_k) with tensor-product B-splines b on nested grids.

    Outside the box of its coarsest grid a field goes on with the polynomial of degree at most 1 that it has at the
    nearest point of the box (a constant for order 1).

    Parameters
    ----------
    tree : Tree
        The basis.
    coef : array (blocks, functions)
        Coefficients, collapsed on the leaves.
    order : int
        Of the semi-norm.
    offset : float
        A constant, added to every value.
    """

    def __init__(self, tree: Tree, coef: np.ndarray, order: int, offset: float = 0.0):
        self.tree, self.coef, self.order, self.offset = tree, coef, order, float(offset)

    def __repr__(self):
        finest = self.tree.spacing(self.tree.depth)
        return (
            f"<Field in {self.dimension} dimensions: {self.n_coef} coefficients, depth {self.depth}, finest spacing "
            f"{finest:.3g}, order {self.order}, degree {self.tree.degree}>"
        )

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.tree.box.dimension

    @property
    def depth(self) -> int:
        """Number of the finest level; level 0 is one cell across the data."""
        return self.tree.depth

    @property
    def n_coef(self) -> int:
        """Number of basis functions."""
        return self.tree.size

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Two corners of the box."""
        box = self.tree.box
        return box.low.copy(), box.low + box.cells * box.spacing * box.scale

    def __call__(self, X) -> np.ndarray:
        """Values at X, shape (n,)."""
        return self._evaluate(X, 0)[:, 0]

    def gradient(self, X) -> np.ndarray:
        """Gradients at X, shape (n, d)."""
        return self._evaluate(X, 1)

    def hessian(self, X) -> np.ndarray:
        """Hessians at X, shape (n, d, d)."""
        d = self.dimension
        distinct = self._evaluate(X, 2)
        result = np.empty((len(distinct), d, d))
        for column, (i, j) in enumerate(combinations_with_replacement(range(d), 2)):
            result[:, i, j] = result[:, j, i] = distinct[:, column]
        return result

    def jet(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Values (n,) and gradients (n, d) at X, together."""
        X = self._checked(X)
        values, gradients = np.empty(len(X)), np.empty(X.shape)
        tree = self.tree
        spacings = np.array([tree.spacing(level) for level in range(tree.depth + 1)])
        slopes = derivative_pieces(tree.degree, 1)[1]
        for begin in range(0, len(X), _CHUNK_POINTS):
            part = slice(begin, begin + _CHUNK_POINTS)
            points = tree.box.coordinates(X[part])
            inside = np.clip(points, 0.0, tree.box.cells)
            block, cell = tree.locate(inside)
            out = np.empty((len(points), 1 + self.dimension))
            local.jets(
                inside, block, cell, spacings, tree.links, tree.layout, pieces(tree.degree), slopes, self.coef, out
            )
            beyond = np.flatnonzero((points != inside).any(axis=1))
            if self.order == 1:
                out[beyond, 1:] = 0.0
            shift = (points[beyond] - inside[beyond]) * tree.box.spacing
            out[beyond, 0] += (out[beyond, 1:] * shift).sum(axis=1)
            values[part] = out[:, 0] + self.offset
            gradients[part] = out[:, 1:] / tree.box.scale
        return values, gradients

    def seminorm(self) -> float:
        """|f|: the root of the sum of squared derivatives of the field's order, integrated over the box, in scaled
        coordinates.
        """
        return float(np.sqrt(max(Energy(self.tree, self.order)(self.coef), 0.0)))

    def content(self) -> dict:
        """What a file holds of a field; :meth:`from_content` reads it."""
        return {**self.tree.content(), "order": self.order, "offset": self.offset, "coef": self.coef}

    @classmethod
    def from_content(cls, content: dict, path) -> Field:
        """The field of a file."""
        tree = Tree.from_content(content)
        if content["coef"].shape != tree.active.shape:
            raise ValueError(
                f"{path} is damaged: it has coefficients of shape {content['coef'].shape}, not {tree.active.shape}."
            )
        return cls(tree, content["coef"], content["order"], content["offset"])

    def save(self, path) -> Path:
        """Write the field to one npz file without pickle; :meth:`load` reads it."""
        return save_npz(path, {"type": "Field", **self.content()})

    @classmethod
    def load(cls, path) -> Field:
        """Read a field written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "Field":
            raise ValueError(f"{path} does not hold a Field.")
        return cls.from_content(content, path)

    def _checked(self, X) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        if not np.isfinite(X).all():
            raise ValueError("X has NaN or infinity: remove these points.")
        return X

    def _evaluate(self, X, times: int) -> np.ndarray:
        """All distinct derivatives of one order, in chunks of bounded memory."""
        X = self._checked(X)
        columns = list(combinations_with_replacement(range(self.dimension), times))
        result = np.empty((len(X), len(columns)))
        for begin in range(0, len(X), _CHUNK_POINTS):
            points = self.tree.box.coordinates(X[begin : begin + _CHUNK_POINTS])
            result[begin : begin + _CHUNK_POINTS] = self._continued(points, columns)
        return result

    def _continued(self, points: np.ndarray, columns: list) -> np.ndarray:
        """Derivatives inside the box, and of the continuation outside."""
        inside = np.clip(points, 0.0, self.tree.box.cells)
        beyond = points - inside
        outside = np.flatnonzero(beyond.any(axis=1))
        values = self.derivatives(inside, columns)
        times = len(columns[0])
        if len(outside) and times == 0 and self.order > 1:
            slopes = self.derivatives(inside[outside], [(a,) for a in range(points.shape[1])])
            values[outside, 0] += (slopes * beyond[outside] * self.tree.box.spacing * self.tree.box.scale).sum(axis=1)
        elif len(outside) and (times == 2 or (times == 1 and self.order == 1)):
            values[outside] = 0.0
        if times == 0:
            values += self.offset
        return values

    def derivatives(self, points: np.ndarray, columns: list[tuple[int, ...]]) -> np.ndarray:
        """Derivatives, without the offset, at points of the box given in cells of level 0; a column is a tuple of
        axes.
        """
        tree, d = self.tree, self.dimension
        orders = np.array([[column.count(a) for a in range(d)] for column in columns], dtype=np.int64)
        block, cell = tree.locate(points)
        out = np.empty((len(points), len(columns)))
        polynomials = derivative_pieces(tree.degree, int(orders.max(initial=0)))
        loops.evaluate(points, block, cell, tree.links, tree.layout, polynomials, orders, self.coef, out)
        if orders.any():
            spacing = tree.box.spacing / 2.0 ** tree.level_of[block]
            out /= np.prod((spacing[:, None, None] * tree.box.scale) ** orders, axis=2)
        return out
