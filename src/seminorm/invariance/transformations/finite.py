"""Finite lists of transformations: reflections, permutations, whatever the user lists, and the identity alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .base import Quadrature, Transformation
from .box import checked_factor


class Finite(Transformation):
    """A list of transformations that cannot be made smaller, except down to the identity."""

    n_parameters = 1

    def resized(self, factor: float) -> Transformation:
        """The list itself for factor 1, the identity alone for 0."""
        checked_factor(factor)
        if factor not in (0, 1):
            raise ValueError(
                f"{self!r} is a finite list: it can be resized by 0 (the identity alone) and 1, not by {factor!r}."
            )
        return Identity() if factor == 0 else self

    def _uniform(self, size: int) -> Quadrature:
        return Quadrature(np.arange(size, dtype=float)[:, None], np.full(size, 1.0 / size))

    def _numbers(self, parameters: np.ndarray, size: int) -> np.ndarray:
        """The first parameter of each row as a place in the list."""
        places = parameters[:, 0]
        if not np.isin(places, np.arange(size)).all():
            raise ValueError(f"parameters of {self!r} are the integers from 0 to {size - 1}, got {places.tolist()}.")
        return places.astype(int)


class Identity(Transformation):
    """The identity alone: what is left of every set of transformations of size 0."""

    n_parameters = 0
    is_group = property(lambda self: True)
    is_isometric = property(lambda self: True)
    is_affine = property(lambda self: True)
    extent = property(lambda self: np.zeros(0))
    #: least number of columns of the patterns of a linear group
    linear_size = 1

    def _apply(self, X, parameters):
        return np.repeat(X[None], len(parameters), axis=0)

    def quadrature(self):
        return Quadrature(np.zeros((1, 0)), np.ones(1))

    def tangents(self, X):
        X = self.patterns(X)
        return np.zeros((len(X), 0, X.shape[1]))

    def resized(self, factor):
        checked_factor(factor)
        return self


class Reflection(Finite):
    """A reflection and the identity: a group of two.

    Parameters
    ----------
    axis : int, array (d,) or array (d, d)
        The coordinate that changes its sign; or a vector normal to the mirror (a hyperplane through the origin); or a
        matrix M with M M = 1, which maps x to M x.

    Examples
    --------
    >>> from seminorm.invariance import Reflection
    >>> Reflection(axis=0).apply([[1.0, 2.0]], [[0], [1]])[:, 0]
    array([[ 1.,  2.],
           [-1.,  2.]])
    """

    def __init__(self, axis=0):
        self.axis = axis

    is_group = property(lambda self: True)
    is_affine = property(lambda self: True)

    @property
    def is_isometric(self):
        axis = np.asarray(self.axis, dtype=float)
        return axis.ndim < 2 or np.allclose(axis @ axis.T, np.eye(len(axis)), atol=1e-12)

    @property
    def linear_size(self) -> int:
        """Least number of columns of the patterns."""
        return int(self.axis) + 1 if np.ndim(self.axis) == 0 else len(self.axis)

    def quadrature(self):
        return self._uniform(2)

    def _apply(self, X, parameters):
        mirrored = self._mirrored(X)
        return np.stack([mirrored if place else X for place in self._numbers(parameters, 2)]).reshape(-1, *X.shape)

    def _mirrored(self, X):
        axis = np.asarray(self.axis)
        if axis.ndim == 0:
            if axis.dtype.kind not in "iu" or not 0 <= axis < X.shape[1]:
                raise ValueError(
                    f"axis must be a column number from 0 to {X.shape[1] - 1}, a normal vector or a matrix, got "
                    f"{self.axis!r}."
                )
            signs = np.ones(X.shape[1])
            signs[int(axis)] = -1.0
            return X * signs
        if axis.shape not in ((X.shape[1],), (X.shape[1], X.shape[1])):
            raise ValueError(
                f"axis must be a column number, a vector ({X.shape[1]},) or a matrix ({X.shape[1]}, {X.shape[1]}) for "
                f"patterns of {X.shape[1]} columns, got shape {axis.shape}."
            )
        if axis.ndim == 2:
            if not np.allclose(axis @ axis, np.eye(len(axis)), atol=1e-12):
                raise ValueError("axis is a matrix M that is no reflection: M M must be the identity.")
            return X @ axis.T
        length = np.linalg.norm(axis)
        if not (np.isfinite(length) and length > 0):
            raise ValueError(f"axis must be a normal vector other than zero, got {self.axis!r}.")
        normal = axis / length
        return X - 2.0 * np.outer(X @ normal, normal)


class Permutations(Finite):
    """A list of permutations of the columns.

    Parameters
    ----------
    permutations : sequence of permutations of 0, ..., d - 1
        Each maps x to x[permutation]. The identity must be among them; whether they are a group is found out.

    Examples
    --------
    >>> from seminorm.invariance import Permutations
    >>> Permutations([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).is_group
    True
    >>> Permutations([[0, 1, 2], [1, 2, 0]]).is_group
    False
    """

    def __init__(self, permutations: Sequence[Sequence[int]]):
        self.permutations = permutations

    is_isometric = property(lambda self: True)
    is_affine = property(lambda self: True)

    @property
    def identity(self):
        table = self._table()
        return np.array([float(np.flatnonzero((table == np.arange(table.shape[1])).all(axis=1))[0])])

    @property
    def is_group(self):
        table = self._table()
        members = {row.tobytes() for row in table}
        return all(first[second].tobytes() in members for first in table for second in table)

    @property
    def linear_size(self) -> int:
        """Number of columns of the patterns."""
        return self._table().shape[1]

    def quadrature(self):
        return self._uniform(len(self._table()))

    def _apply(self, X, parameters):
        table = self._table()
        if X.shape[1] != table.shape[1]:
            raise ValueError(f"the permutations are of {table.shape[1]} columns, and X has {X.shape[1]}.")
        return np.moveaxis(X[:, table[self._numbers(parameters, len(table))]], 1, 0)

    def _table(self) -> np.ndarray:
        try:
            table = np.ascontiguousarray(self.permutations)
        except ValueError:
            table = np.empty(0)
        if table.ndim != 2 or table.size == 0 or table.dtype.kind not in "iu":
            raise ValueError(
                f"permutations must be a list of permutations of the same columns, got {self.permutations!r}."
            )
        columns = np.arange(table.shape[1])
        if not (np.sort(table, axis=1) == columns).all():
            raise ValueError(f"each of permutations must have every number from 0 to {columns[-1]} once.")
        if not (table == columns).all(axis=1).any():
            raise ValueError(f"permutations must contain the identity {columns.tolist()}; add it.")
        if len({row.tobytes() for row in table}) < len(table):
            raise ValueError("permutations must be different from one another.")
        return table


class CallableTransformation(Finite):
    """Any list of maps, given by a function of the patterns and a row of parameters.

    Parameters
    ----------
    function : callable
        ``function(X, parameters)`` returns the transformed patterns, of the shape of X (n, d); ``parameters`` is one
        row (p,).
    nodes : array (m, p) or (m,)
        The parameters in the list.
    identity : array (p,), optional
        The row of ``nodes`` for which ``function`` returns X unchanged; zeros if left out.
    weights : array (m,), optional
        What each counts for in averages; all alike if left out.
    group : bool
        Say True if the list is a group (with equal weights): averages are then invariant.
    isometric, affine : bool
        Say True if all maps are orthogonal, or affine; see :class:`Transformation`.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import CallableTransformation
    >>> roll = CallableTransformation(lambda X, t: np.roll(X, int(t[0]), axis=1), nodes=[0, 1, 2], group=True)
    >>> roll.apply([[1.0, 2.0, 3.0]], [[1]])[0]
    array([[3., 1., 2.]])
    """

    def __init__(
        self,
        function: Callable,
        nodes,
        identity=None,
        weights=None,
        group: bool = False,
        isometric: bool = False,
        affine: bool = False,
    ):
        self.function = function
        self.nodes = nodes
        self.identity = identity
        self.weights = weights
        self.group = group
        self.isometric = isometric
        self.affine = affine

    is_isometric = property(lambda self: bool(self.isometric))
    is_affine = property(lambda self: bool(self.affine))

    @property
    def n_parameters(self) -> int:
        return self._nodes().shape[1]

    @property
    def identity(self) -> np.ndarray:
        """The row of parameters that changes nothing."""
        return np.zeros(self.n_parameters) if self._identity is None else self._identity

    @identity.setter
    def identity(self, value):
        self._identity = None if value is None else np.atleast_1d(np.asarray(value, dtype=float))

    def get_params(self, deep=True):
        return {**super().get_params(deep), "identity": self._identity}

    @property
    def is_group(self):
        return bool(self.group) and np.ptp(self.quadrature().weights) < 1e-15

    def _nodes(self) -> np.ndarray:
        nodes = np.asarray(self.nodes, dtype=float)
        nodes = nodes[:, None] if nodes.ndim == 1 else nodes
        if nodes.ndim != 2 or len(nodes) == 0 or not np.isfinite(nodes).all():
            raise ValueError(f"nodes must be finite parameters (m, p), a row for each map, got {self.nodes!r}.")
        return nodes

    def quadrature(self):
        nodes = self._nodes()
        if not (nodes == self.identity).all(axis=1).any():
            raise ValueError(
                f"nodes must contain the identity {self.identity.tolist()}; add it, or say which row it is (identity=)."
            )
        weights = np.ones(len(nodes)) if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights.shape != (len(nodes),) or not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError(f"weights must be {len(nodes)} positive numbers, one for each node, got {self.weights!r}.")
        return Quadrature(nodes, weights / weights.sum())

    def _apply(self, X, parameters):
        if not callable(self.function):
            raise ValueError(f"function must be a callable function(X, parameters), got {self.function!r}.")
        self.quadrature()
        if not np.allclose(self._map(X[:1], self.identity), X[:1], rtol=1e-12, atol=1e-12):
            raise ValueError(
                f"function changes patterns for the parameters {self.identity.tolist()} of the identity: a set of "
                "transformations contains the identity; say which row of nodes it is (identity=)."
            )
        return np.stack([self._map(X, row) for row in parameters]) if len(parameters) else np.empty((0, *X.shape))

    def _map(self, X, row):
        moved = np.asarray(self.function(X, row), dtype=float)
        if moved.shape != X.shape:
            raise ValueError(f"function must return patterns of the shape {X.shape} of X, got {moved.shape}.")
        return moved
