"""Sets of transformations that leave the meaning of a pattern unchanged, or nearly so."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ..._base.parameters import EqualByParameters

#: what an operator makes of two sets; the module of compositions fills it
COMPOSITIONS: dict[str, Callable[[Transformation, Transformation], Transformation]] = {}


class Quadrature(NamedTuple):
    """Transformations and their weights in an average.

    Attributes
    ----------
    nodes : array (m, p)
        Parameters, one row per transformation.
    weights : array (m,)
        Positive, with sum 1.

    See Also
    --------
    Transformation

    Examples
    --------
    >>> from seminorm.invariance import Reflection
    >>> nodes, weights = Reflection(axis=0).quadrature()
    >>> nodes[:, 0], weights
    (array([0., 1.]), array([0.5, 0.5]))
    """

    nodes: np.ndarray
    weights: np.ndarray


class Transformation(EqualByParameters, BaseEstimator):
    """A set T of maps of patterns that contains the identity; p parameters say which map is meant.

    A pattern is a row of d numbers. Images and signals are flattened; transformations of images know the shape. A new
    set supplies ``n_parameters`` (1 by default), ``_apply`` and ``quadrature``, and, where they exist, ``identity`` (if
    its parameters are not zeros), ``extent`` (for continuous parameters), ``tangents`` and ``differences``. Sets are
    combined by ``A * B``: first B, then A. ``all_transformations.register(MySet)`` adds a set to those of the package.

    See Also
    --------
    CallableTransformation : A finite set given by a function.
    IntegrationKernel : Kernels averaged over a set.
    MinimumDistance : Distances minimised over a set.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Quadrature, Transformation
    >>> class SignChange(Transformation):
    ...     def _apply(self, X, parameters):
    ...         return np.where(parameters == 0, 1.0, -1.0)[:, :, None] * X
    ...     def quadrature(self):
    ...         return Quadrature(np.array([[0.0], [1.0]]), np.full(2, 0.5))
    >>> SignChange().apply([[1.0, 2.0]], [[1]])[0]
    array([[-1., -2.]])
    """

    @property
    def n_parameters(self) -> int:
        """Number of parameters p of one transformation."""
        return 1

    @property
    def identity(self) -> np.ndarray:
        """Parameters (p,) of the identity."""
        return np.zeros(self.n_parameters)

    @property
    def extent(self) -> np.ndarray | None:
        """Half-widths (p,) of the box of parameters around the identity that T is; None for a finite list."""
        return None

    @property
    def parts(self) -> tuple[Transformation, ...]:
        """The sets that a composition consists of, the one that is applied last first; otherwise the set itself."""
        return (self,)

    @property
    def is_group(self) -> bool:
        """Whether T is a group and the quadrature has its invariant (Haar) measure: averages are then invariant."""
        return False

    @property
    def is_isometric(self) -> bool:
        """Whether every transformation keeps Euclidean distances and inner products of the patterns it is made for."""
        return False

    @property
    def is_affine(self) -> bool:
        """Whether every transformation is an affine map of the d numbers: polynomials then stay polynomials."""
        return False

    @property
    def linear_size(self) -> int | None:
        """Least number of columns of the patterns if the maps are known to be linear, otherwise None."""
        return None

    def transformed_size(self, dimension: int) -> int:
        """Length of a transformed pattern of length ``dimension``; it is larger only with padding."""
        return dimension

    def apply(self, X: ArrayLike, parameters: ArrayLike) -> np.ndarray:
        """All patterns X (n, d) under each of several transformations, with parameters (m, p): flat, (m, n, d)."""
        patterns = self.patterns(X)
        rows = np.asarray(parameters, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self.n_parameters:
            raise ValueError(f"parameters must have shape (m, {self.n_parameters}), one row per map, got {rows.shape}.")
        return self._apply(patterns, rows)

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        """X as rows of float64, checked."""
        return check_array(X, dtype=np.float64, input_name=name)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its maps: subclasses supply _apply(X, parameters).")

    def quadrature(self) -> Quadrature:
        """Nodes and weights of the average over T."""
        raise TypeError(f"{type(self).__name__} does not define its average: subclasses supply quadrature().")

    def differences(self) -> Quadrature | None:
        """The average over all t^-1 t', which gives double integrals of isometric kernels; None if it does not."""
        return self.quadrature() if self.is_group and self.is_isometric else None

    def tangents(self, X: ArrayLike) -> np.ndarray:
        """Derivatives of the transformed patterns with respect to the parameters, at the identity: shape (n, p, d)."""
        raise ValueError(f"{self!r} has no tangents: it is not differentiable in its parameters.")

    def cost(self, parameters: ArrayLike, others: ArrayLike) -> np.ndarray:
        """Omega(t, t') (m, k): symmetric, zero where both are the identity; by default squared distances from it."""
        return self._length(parameters)[:, None] + self._length(others)[None, :]

    def _length(self, parameters: ArrayLike) -> np.ndarray:
        away, extent = np.asarray(parameters, dtype=float) - self.identity, self.extent
        if extent is None:
            return (away != 0).any(axis=1).astype(float)
        return ((away / np.where(extent > 0, extent, 1.0)) ** 2).sum(axis=1)

    def resized(self, factor: float) -> Transformation:
        """The set with all extents multiplied by a factor: 0 leaves only the identity, 1 the whole set."""
        raise ValueError(f"{self!r} cannot be made smaller: it is a finite list.")

    def __mul__(self, other: Transformation) -> Transformation:
        return COMPOSITIONS["*"](self, other) if isinstance(other, Transformation) else NotImplemented
