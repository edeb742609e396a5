"""Expansions whose points are not those of the kernel: vector fields, and functions on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.elastic import with_components
from .expansion import Expansion
from .sphere import contracted, unit_vectors


class VectorExpansion(Expansion):
    """A vector field: an expansion in a kernel of vector fields, as a function of points without components.

    Parameters
    ----------
    kernel, functionals, dual_coef, null_space, null_coef : as for Expansion
        The kernel is one of vector fields, and the points of the functionals have the number of a component as last
        column.

    See Also
    --------
    Expansion, seminorm.kernels.Elastic

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Elastic
    >>> X = np.random.default_rng(0).random((10, 2))
    >>> field = Smoother(Elastic(0.5), alpha=1.0).fit(X, X).function_
    >>> field(X[:3]).shape, field.gradient(X[:3]).shape
    ((3, 2), (3, 2, 2))
    """

    @property
    def dimension(self) -> int:
        return super().dimension - 1

    def _derivative(self, X: Any, times: int) -> np.ndarray:
        X, k = _checked(X, self.dimension), self.kernel.components  # type: ignore[attr-defined]
        values = self._evaluate(with_components(X, k), times)[..., 0]
        values = values.reshape(len(X), k, *values.shape[1:])
        for axis in range(2, 2 + times):
            values = values.take(range(self.dimension), axis=axis)
        return values


class SphereExpansion(Expansion):
    """A function on the sphere: an expansion in a kernel of unit vectors, as a function of degrees.

    Points are longitude and latitude; derivatives are those in degrees, which at the poles, where longitude has no
    meaning, tell little.

    Parameters
    ----------
    kernel, functionals, dual_coef, null_space, null_coef : as for Expansion
        The points of the functionals are unit vectors.

    Attributes
    ----------
    latitude_first : bool
        Whether points are latitude and longitude; :meth:`facing` sets it.

    See Also
    --------
    Expansion, seminorm.functions.unit_vectors

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> X = np.array([[0.0, 0.0], [90.0, 0.0], [180.0, 0.0], [0.0, 90.0], [0.0, -90.0], [45.0, 45.0]])
    >>> f = Smoother(alpha=1.0, coordinates="geographic").fit(X, np.sin(np.radians(X[:, 1]))).function_
    >>> bool(np.isclose(*f([[-180.0, 30.0], [180.0, 30.0]])))
    True
    """

    latitude_first = False

    @property
    def dimension(self) -> int:
        return 2

    def facing(self, latitude_first: bool) -> SphereExpansion:
        """The same function of the coordinates in this order."""
        self.latitude_first = latitude_first
        return self

    def _derivative(self, X: Any, times: int) -> np.ndarray:
        X = _checked(X, 2)
        X = X[:, ::-1] if self.latitude_first else X
        points = unit_vectors(X)
        tensors = [np.moveaxis(self._evaluate(points, order), -1, 1) for order in range(times + 1)]
        values = contracted(tensors, X, times)
        for axis in range(2, 2 + times):
            values = np.flip(values, axis) if self.latitude_first else values
        return values[:, 0] if self.dual_coef.ndim == 1 else values

    def content(self) -> dict:
        return super().content() | {"latitude_first": self.latitude_first}

    @classmethod
    def from_content(cls, content: dict, path: Any = "the file"):
        return super().from_content(content, path).facing(bool(content["latitude_first"]))


def _checked(X: Any, dimension: int) -> np.ndarray:
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != dimension:
        raise ValueError(f"X must have shape (n, {dimension}), got {X.shape}.")
    return X
