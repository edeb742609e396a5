"""Finite lists of transformations: reflections, permutations, whatever the user lists, and the identity alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .base import Quadrature, Transformation
from .box import checked_factor


class Finite(Transformation):
    """A list of transformations that cannot be made smaller, except down to the identity."""

    def resized(self, factor: float) -> Transformation:
        checked_factor(factor)
        if factor not in (0, 1):
            raise ValueError(f"{self!r} is a finite list: resize it by 0 (the identity alone) or 1, not by {factor!r}.")
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
    """The identity alone: every finite list is this set after ``resized(0)``.

    See Also
    --------
    Reflection, Permutations

    Examples
    --------
    >>> from seminorm.invariance import Identity
    >>> Identity().quadrature().weights
    array([1.])
    """

    n_parameters, linear_size = 0, 1
    is_group = is_isometric = is_affine = True

    @property
    def extent(self) -> np.ndarray:
        return np.zeros(0)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        return np.repeat(X[None], len(parameters), axis=0)

    def quadrature(self) -> Quadrature:
        return Quadrature(np.zeros((1, 0)), np.ones(1))

    def tangents(self, X: ArrayLike) -> np.ndarray:
        rows = self.patterns(X)
        return np.zeros((len(rows), 0, rows.shape[1]))

    def resized(self, factor: float) -> Identity:
        checked_factor(factor)
        return self


class Reflection(Finite):
    """A reflection and the identity: a group of two.

    Parameters
    ----------
    axis : int, array (d,) or array (d, d)
        The coordinate that changes its sign; a vector normal to the mirror; or a matrix M with M M = 1 (x to M x).

    See Also
    --------
    Permutations : Other finite groups.

    Examples
    --------
    >>> from seminorm.invariance import Reflection
    >>> Reflection(axis=0).apply([[1.0, 2.0]], [[0], [1]])[:, 0]
    array([[ 1.,  2.],
           [-1.,  2.]])
    """

    is_group = is_affine = True

    def __init__(self, axis: ArrayLike = 0):
        self.axis = axis

    @property
    def is_isometric(self) -> bool:
        axis = np.asarray(self.axis, dtype=float)
        return axis.ndim < 2 or bool(np.allclose(axis @ axis.T, np.eye(len(axis)), atol=1e-12))

    @property
    def linear_size(self) -> int:
        axis = np.asarray(self.axis)
        return int(axis) + 1 if axis.ndim == 0 else len(axis)

    def quadrature(self) -> Quadrature:
        return self._uniform(2)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        mirrored = self._mirrored(X)
        return np.stack([mirrored if place else X for place in self._numbers(parameters, 2)]).reshape(-1, *X.shape)

    def _mirrored(self, X: np.ndarray) -> np.ndarray:
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
        if not 0 < length < np.inf:
            raise ValueError(f"axis must be a normal vector other than zero, got {self.axis!r}.")
        normal = axis / length
        return X - 2.0 * np.outer(X @ normal, normal)


class Permutations(Finite):
    """A list of permutations of the columns.

    Parameters
    ----------
    permutations : sequence of permutations of 0, ..., d - 1
        Each maps x to x[permutation]. The identity must be among them; the class finds out whether they are a group.

    See Also
    --------
    CallableTransformation : Any finite list of maps.

    Examples
    --------
    >>> from seminorm.invariance import Permutations
    >>> Permutations([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).is_group
    True
    >>> Permutations([[0, 1, 2], [1, 2, 0]]).is_group
    False
    """

    is_isometric = is_affine = True

    def __init__(self, permutations: Sequence[Sequence[int]] | np.ndarray):
        self.permutations = permutations

    @property
    def identity(self) -> np.ndarray:
        table = self._table()
        return np.array([float(np.flatnonzero((table == np.arange(table.shape[1])).all(axis=1))[0])])

    @property
    def is_group(self) -> bool:
        """Whether the product of any two permutations is in the list."""
        table = self._table()
        members = {row.tobytes() for row in table}
        return all(first[second].tobytes() in members for first in table for second in table)

    @property
    def linear_size(self) -> int:
        return self._table().shape[1]

    def quadrature(self) -> Quadrature:
        return self._uniform(len(self._table()))

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
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
            raise ValueError(f"permutations must be a list of permutations of columns, got {self.permutations!r}.")
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
        ``function(X, parameters)`` returns the transformed patterns (n, d); ``parameters`` is one row (p,).
    nodes : array (m, p) or (m,)
        The parameters in the list.
    identity : array (p,), optional
        The row of ``nodes`` for which ``function`` returns X unchanged; zeros if left out.
    weights : array (m,), optional
        Weights of the maps in averages, equal if left out.
    group : bool
        Whether the list is a group (with equal weights): averages are then invariant.
    isometric, affine : bool
        Whether all maps are orthogonal, or affine; see :class:`Transformation`.

    See Also
    --------
    CurveShift : A continuous set given by a function.

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
        function: Callable[[np.ndarray, np.ndarray], np.ndarray],
        nodes: ArrayLike,
        identity: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        group: bool = False,
        isometric: bool = False,
        affine: bool = False,
    ):
        self.function, self.nodes, self.identity, self.weights = function, nodes, identity, weights
        self.group, self.isometric, self.affine = group, isometric, affine

    @property
    def is_isometric(self) -> bool:
        return bool(self.isometric)

    @property
    def is_affine(self) -> bool:
        return bool(self.affine)

    @property
    def n_parameters(self) -> int:
        return self._nodes().shape[1]

    @property
    def identity(self) -> np.ndarray:
        return np.zeros(self.n_parameters) if self._identity is None else self._identity

    @identity.setter
    def identity(self, value: ArrayLike | None) -> None:
        self._identity: np.ndarray | None = None if value is None else np.atleast_1d(np.asarray(value, dtype=float))

    def get_params(self, deep: bool = True) -> dict:
        return {**super().get_params(deep), "identity": self._identity}

    @property
    def is_group(self) -> bool:
        """Whether the user declared a group and the weights are equal."""
        return bool(self.group and np.ptp(self.quadrature().weights) < 1e-15)

    def _nodes(self) -> np.ndarray:
        nodes = np.asarray(self.nodes, dtype=float)
        nodes = nodes[:, None] if nodes.ndim == 1 else nodes
        if nodes.ndim != 2 or len(nodes) == 0 or not np.isfinite(nodes).all():
            raise ValueError(f"nodes must be finite parameters (m, p), one row per map, got {self.nodes!r}.")
        return nodes

    def quadrature(self) -> Quadrature:
        nodes = self._nodes()
        if not (nodes == self.identity).all(axis=1).any():
            raise ValueError(
                f"nodes must contain the identity {self.identity.tolist()}; add it, or say which row it is (identity=)."
            )
        weights = np.ones(len(nodes)) if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights.shape != (len(nodes),) or not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError(f"weights must be {len(nodes)} positive numbers, one per node, got {self.weights!r}.")
        return Quadrature(nodes, weights / weights.sum())

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        if not callable(self.function):
            raise ValueError(f"function must be a callable function(X, parameters), got {self.function!r}.")
        self.quadrature()
        if not np.allclose(self._map(X[:1], self.identity), X[:1], rtol=1e-12, atol=1e-12):
            raise ValueError(
                f"function changes patterns for the parameters {self.identity.tolist()} of the identity: a set of "
                "transformations contains the identity; say which row of nodes it is (identity=)."
            )
        return np.stack([self._map(X, row) for row in parameters]) if len(parameters) else np.empty((0, *X.shape))

    def _map(self, X: np.ndarray, row: np.ndarray) -> np.ndarray:
        moved = np.asarray(self.function(X, row), dtype=float)
        if moved.shape != X.shape:
            raise ValueError(f"function must return patterns of the shape {X.shape} of X, got {moved.shape}.")
        return moved
