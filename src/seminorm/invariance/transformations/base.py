"""Sets of transformations that leave the meaning of a pattern unchanged, or nearly so."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..._equality import EqualByParameters


class Quadrature(NamedTuple):
    """Transformations and what each counts for.

    Attributes
    ----------
    nodes : array (m, p)
        Parameters.
    weights : array (m,)
        Positive, with sum 1.
    """

    nodes: np.ndarray
    weights: np.ndarray


class Transformation(EqualByParameters, BaseEstimator):
    """A set T of maps of patterns, numbered by p parameters each, that contains the identity.

    A pattern is a row of d numbers (an image or a signal is flattened; transformations of images know the shape). A new
    set supplies ``n_parameters``, ``identity``, ``_apply`` and ``quadrature``, and, where they exist, ``extent``
    (continuous parameters), ``tangents`` and ``differences``. Sets are combined by ``A * B``: first B, then A.
    """

    #: number of parameters of one transformation
    n_parameters: int

    @property
    def identity(self) -> np.ndarray:
        """Parameters (p,) of the identity."""
        return np.zeros(self.n_parameters)

    @property
    def extent(self) -> np.ndarray | None:
        """Half-widths (p,) of the box of parameters around the identity that T is; None for a finite list."""
        return None

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

    def transformed_size(self, dimension: int) -> int:
        """How many numbers a transformed pattern has if the pattern has ``dimension``; more only where it is padded."""
        return dimension

    def apply(self, X, parameters) -> np.ndarray:
        """The patterns (n, d) under each of the transformations (m, p): shape (m, n, d).

        Patterns that are images may also come as (n, h, w); the answer has flat patterns.
        """
        X = self.patterns(X)
        parameters = np.asarray(parameters, dtype=float)
        if parameters.ndim != 2 or parameters.shape[1] != self.n_parameters:
            raise ValueError(
                f"parameters must have shape (m, {self.n_parameters}), a row for each transformation, got "
                f"{parameters.shape}."
            )
        return self._apply(X, parameters)

    def patterns(self, X) -> np.ndarray:
        """X as rows of float64, checked."""
        from sklearn.utils import check_array

        return check_array(X, dtype=np.float64, input_name="X")

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its maps: subclasses supply _apply(X, parameters).")

    def quadrature(self) -> Quadrature:
        """Nodes and weights of the average over T."""
        raise TypeError(f"{type(self).__name__} does not define its average: subclasses supply quadrature().")

    def differences(self) -> Quadrature | None:
        """The average over all t^-1 t', for isometric transformations: a double integral of an isometric kernel is the
        single one over these. None if there is no such shortcut.
        """
        return self.quadrature() if self.is_group and self.is_isometric else None

    def tangents(self, X) -> np.ndarray:
        """Derivatives of the transformed patterns in the parameters, at the identity: shape (n, p, d)."""
        raise ValueError(f"{self!r} has no tangents: it is not differentiable in its parameters.")

    def cost(self, parameters, others) -> np.ndarray:
        """Omega(t, t'), (m, k) for transformations (m, p) and (k, p): symmetric, 0 where both are the identity only.

        By default the squared distances of both from the identity, in units of the extent, added up.
        """
        return self._length(parameters)[:, None] + self._length(others)[None, :]

    def _length(self, parameters) -> np.ndarray:
        away = np.asarray(parameters, dtype=float) - self.identity
        if self.extent is None:
            return (away != 0).any(axis=1).astype(float)
        return ((away / np.where(self.extent > 0, self.extent, 1.0)) ** 2).sum(axis=1)

    def resized(self, factor: float) -> Transformation:
        """The set with all extents multiplied by a factor: 0 leaves the identity alone, 1 everything."""
        raise ValueError(f"{self!r} cannot be made smaller: it is a finite list.")

    def __mul__(self, other) -> Transformation:
        from .composition import Composition

        if not isinstance(other, Transformation):
            return NotImplemented
        return Composition(self, other)
