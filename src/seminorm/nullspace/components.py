"""Free functions of vector fields: those of each component, and the motions of a rigid plate.

Points have the number of a component as last column, as for the kernels of vector fields.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from ..kernels.base import as_in
from .spaces import NullSpace


@as_in("space", "degree")
class PerComponent(NullSpace):
    """A space of functions, free in each component of a vector field by itself.

    Parameters
    ----------
    space : NullSpace
        Of functions of the points without the last column.
    components : int

    See Also
    --------
    RigidMotions

    Examples
    --------
    >>> from seminorm.nullspace import PerComponent, Polynomials
    >>> X = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]  # a point, for both components
    >>> PerComponent(Polynomials(0)).fit(X)(X)
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, space: NullSpace, components: int = 2):
        self.space, self.components = space, components

    def fit(self, X: Any, y: object = None) -> Self:
        self.space_ = clone(self.space).fit(np.asarray(X, dtype=float)[:, :-1])
        return self

    @property
    def resolution(self) -> float:
        return self.space_.resolution

    def derivative(self, X: Any, times: int) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        plane, inner = X.shape[1] - 1, self.space_.derivative(X[:, :-1], times)
        n, p = inner.shape[:2]
        result = np.zeros((n, self.components, p) + (plane + 1,) * times)
        for c in range(self.components):
            rows = np.flatnonzero(X[:, -1] == c)
            result[np.ix_(rows, np.array([c]), np.arange(p), *[np.arange(plane)] * times)] = inner[rows][:, None]
        return result.reshape(n, self.components * p, *result.shape[3:])


class RigidMotions(NullSpace):
    """Translations and the rotation of a rigid plate, for velocities (n, 2) in the plane: three functions.

    They leave no strain free, unlike ``PerComponent(Polynomials(1))``; kernels of order 1 need no more.

    See Also
    --------
    PerComponent, seminorm.kernels.Elastic

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Elastic
    >>> from seminorm.nullspace import RigidMotions
    >>> X = np.random.default_rng(0).random((20, 2))
    >>> rotation = np.column_stack([-X[:, 1], X[:, 0]])
    >>> model = Smoother(Elastic(0.5, order=1.5), alpha=1.0, null_space=RigidMotions()).fit(X, rotation)
    >>> model.predict([[3.0, 5.0]]).round(6)
    array([[-5.,  3.]])
    """

    degree = 0

    def fit(self, X: Any, y: object = None) -> Self:
        plane = np.asarray(X, dtype=float)[:, :-1]
        if plane.shape[1] != 2:
            raise ValueError(f"RigidMotions are those of the plane, and X has {plane.shape[1]} columns of coordinates.")
        self.center_ = plane.mean(axis=0)
        self.scale_ = float(np.abs(plane - self.center_).max(initial=0.0)) or 1.0
        return self

    def derivative(self, X: Any, times: int) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        result = np.zeros((len(X), 3) + (3,) * times)
        first = X[:, 2] == 0
        if times == 0:
            result[:, 0], result[:, 1] = first, ~first
            u, v = ((X[:, :2] - self.center_) / self.scale_).T
            result[:, 2] = np.where(first, -v, u)
        if times == 1:
            result[first, 2, 1], result[~first, 2, 0] = -1.0 / self.scale_, 1.0 / self.scale_
        return result
