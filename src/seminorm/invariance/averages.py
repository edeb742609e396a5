"""The functions that an averaged kernel leaves free: averages of polynomials."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._base.parameters import EqualByParameters
from ..nullspace.spaces import NullSpace, Polynomials
from .transformations.base import Transformation

_SAMPLE = 200  # patterns that settle the units of the polynomials
_VANISHES = 1e-9  # what an average vanishes at, in units of the polynomials
_BLOCK_VALUES = 2**22  # numbers of transformed patterns, or of polynomials there, at a time


class AveragedPolynomials(EqualByParameters, NullSpace):
    """Averages of polynomials over transformations: what :class:`IntegrationKernel` leaves free by default.

    A kernel that is positive beside the polynomials of a degree is, averaged, positive beside the averages of these,
    whatever the transformations. If these are a group with its invariant measure, the averages do not change under it,
    as the kernel does not. What vanishes in the average is left out: of linear functions of the plane nothing is left
    under all rotations about the origin.

    Parameters
    ----------
    transformation : Transformation
    max_degree : int
        Of the polynomials.

    See Also
    --------
    HaarFeatures : averages as features of their own.

    Examples
    --------
    >>> from seminorm.invariance import AveragedPolynomials, Reflection
    >>> X = [[1.0, 2.0], [-3.0, 1.0], [0.0, 5.0]]
    >>> AveragedPolynomials(Reflection(axis=0)).fit(X)(X).shape  # the constant, and the other coordinate
    (3, 2)
    """

    degree = 0

    def __init__(self, transformation: Transformation, max_degree: int = 1):
        self.transformation, self.max_degree = transformation, max_degree

    def fit(self, X: Any, y: object = None) -> Self:
        X = self.transformation.patterns(X)
        some = X[:: -(-len(X) // _SAMPLE)]
        nodes = self.transformation.quadrature().nodes
        moved = self.transformation.apply(some, nodes)
        self.inner_ = Polynomials(self.max_degree).fit(moved.reshape(-1, moved.shape[2]))
        self.combinations_ = np.ones((1, 1))
        size = self.inner_(moved[0, :1]).shape[1]
        spread = np.abs(some - some.mean(axis=0)).max() or 1.0
        probes = some.mean(axis=0) + spread * np.random.default_rng(0).standard_normal((2 * size + 10, X.shape[1]))
        averages = self._averages(probes)[:, 1:]  # of all but the constant
        averages -= averages.mean(axis=0)
        _, sizes, directions = np.linalg.svd(averages / np.sqrt(len(probes)), full_matrices=False)
        kept = sizes > _VANISHES
        self.combinations_ = np.zeros((size, 1 + np.count_nonzero(kept)))
        self.combinations_[0, 0] = 1.0
        self.combinations_[1:, 1:] = directions[kept].T / sizes[kept]
        self.resolution_ = max(self.inner_.resolution, 1e-15 / float(sizes[kept].min(initial=1.0)))
        return self

    @property
    def resolution(self) -> float:
        return self.resolution_

    def derivative(self, X: Any, times: int) -> np.ndarray:
        if times:
            raise ValueError(f"the average over {self.transformation!r} has no derivatives here: fit values only.")
        return self._averages(self.transformation.patterns(X)) @ self.combinations_

    def _averages(self, X: np.ndarray) -> np.ndarray:
        """Averages of all polynomials (n, p)."""
        nodes, weights = self.transformation.quadrature()
        result: list[np.ndarray] = []
        width = max(self.inner_.derivative(self.transformation.apply(X[:1], nodes[:1])[0], 0).shape[1], X.shape[1])
        step = max(1, _BLOCK_VALUES // (width * len(nodes)))
        for start in range(0, len(X), step):
            moved = self.transformation.apply(X[start : start + step], nodes)
            values = self.inner_(moved.reshape(-1, moved.shape[2])).reshape(*moved.shape[:2], -1)
            result.append(np.tensordot(weights, values, axes=1))
        return np.concatenate(result)
