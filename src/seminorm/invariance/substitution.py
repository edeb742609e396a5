"""Kernels of a distance: invariant distances in the place of the Euclidean one."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

from ..kernels.base import Kernel
from ..kernels.radial import Radial
from .definiteness import Definiteness
from .distances.base import Distance

_PRECOMPUTED = "precomputed"


class DistanceKernel(Kernel):
    """A kernel in which d(x, y) takes the place of |x - y| (seed 002, definition 10).

    A radial base kernel becomes h(d(x, y)^2). A function of the inner product (linear, polynomial, power series) takes

        <x, y>_O = (d(x, O)^2 + d(y, O)^2 - d(x, y)^2) / 2

    for <x, y>, with an origin O of your choice. Unless the distance is that of a Hilbert space the kernel need not be
    positive definite (``is_indefinite``): :meth:`definiteness` tells how far it is from that on data, and
    :class:`DefiniteRepair` repairs matrices; nothing is repaired without being asked for.

    Parameters
    ----------
    base : Radial, Linear, Polynomial or PowerSeries
        The kernel of the Euclidean distance.
    distance : Distance or "precomputed"
        With "precomputed" the kernel is called with a matrix of distances (n, m) alone, and answers the kernel matrix
        (n, m): compute the distances once, and try kernels and parameters.
    origin : array (d,), optional
        The pattern O, for functions of the inner product; zeros if left out.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Linear
    >>> from seminorm.invariance import DistanceKernel, MinimumDistance, Reflection
    >>> d = MinimumDistance(Reflection(axis=0))
    >>> DistanceKernel(Gaussian(), d)([[1.0, 0.5]], [[-1.0, 0.5], [1.0, 0.5]])
    array([[1., 1.]])
    >>> DistanceKernel(Linear(), d)([[1.0, 0.0]], [[-2.0, 0.0], [2.0, 0.0]])
    array([[2., 2.]])
    >>> DistanceKernel(Gaussian(), "precomputed")([[0.0, 1.0], [1.0, 0.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    def __init__(self, base: Kernel, distance: Distance | str, origin=None):
        self.base = base
        self.distance = distance
        self.origin = origin

    @classmethod
    def examples(cls):
        from ..kernels import Gaussian, NegativeDistance, Polynomial
        from .distances.minimum import MinimumDistance
        from .transformations.finite import Reflection
        from .transformations.vectors import Rotation

        reflected = MinimumDistance(Reflection(axis=0))
        turned = MinimumDistance(Rotation(extent=0.5), regularisation=0.1)
        return [cls(Gaussian(), reflected), cls(NegativeDistance(), turned), cls(Polynomial(2), reflected)]

    @property
    def order(self) -> int:
        """The order of the base kernel; see ``is_indefinite``."""
        return self.base.order

    @property
    def null_degree(self) -> int:
        return self.base.null_degree

    @property
    def is_indefinite(self) -> bool:
        """False if the distance is that of a Hilbert space. True otherwise, though data may happen to give a definite
        matrix.
        """
        return self.takes_distances or not self.distance.is_euclidean

    @property
    def smoothness(self) -> int:
        return 0

    @property
    def max_dimension(self) -> float:
        return self.base.max_dimension

    @property
    def takes_distances(self) -> bool:
        """Whether the kernel is called with distances instead of patterns."""
        return isinstance(self.distance, str) and self.distance == _PRECOMPUTED

    def for_dimension(self, dimension: int) -> DistanceKernel:
        settled = self.base if self.takes_distances else self.base.for_dimension(dimension)
        return self if settled is self.base else self._with(settled)

    def __call__(self, X, Y=None, eval_gradient: bool = False):
        """The matrix phi(X_i, Y_j); ``Y=None`` means ``Y=X``. Patterns are whatever the distance takes."""
        X, Y = self._check_points(X, None if Y is X else Y)
        matrix = self._settled(X)._matrix(X, Y)
        return (matrix, np.empty(matrix.shape + (0,))) if eval_gradient else matrix

    def diag(self, X) -> np.ndarray:
        X, _ = self._check_points(X, None)
        return self._settled(X)._diag(X)

    def of_distances(self, distances, rows_to_origin=None, columns_to_origin=None) -> np.ndarray:
        """The kernel matrix (n, m) from distances (n, m).

        Functions of the inner product need the distances of the patterns of the rows (n,) and of the columns (m,) to
        the origin as well; those of the columns may be left out if the matrix is square and they are the same patterns.
        """
        squares = np.square(np.asarray(distances, dtype=float))
        if self._is_radial():
            return self.base.profile(squares)
        if rows_to_origin is None:
            raise ValueError(
                f"rows_to_origin is missing: {type(self.base).__name__} is a function of the inner product, which "
                "takes the distances of all patterns to an origin (distance.to_origin(X))."
            )
        columns_to_origin = rows_to_origin if columns_to_origin is None else columns_to_origin
        rows, columns = (np.square(np.asarray(side, dtype=float)) for side in (rows_to_origin, columns_to_origin))
        if (len(rows), len(columns)) != squares.shape:
            raise ValueError(
                f"distances to the origin must be {squares.shape[0]} for the rows and {squares.shape[1]} for the "
                f"columns, got {len(rows)} and {len(columns)}."
            )
        products = np.add.outer(rows, columns)  # seed 002, (5)
        products -= squares
        products *= 0.5
        return self.base.of_inner_products(products)

    def definiteness(self, X) -> Definiteness:
        """The spectrum of the kernel matrix of X, on the complement of the constants for a base kernel of order 1."""
        return Definiteness.of(self(X), self.order)

    def _matrix(self, X, Y):
        if self.takes_distances:
            return self._of_given(X, Y)
        distances = self.distance.pairwise(X, Y)
        if self._is_radial():
            return self.of_distances(distances)
        rows = self._to_origin(X)
        return self.of_distances(distances, rows, rows if Y is None else self._to_origin(Y))

    def _diag(self, X):
        if self._is_radial():
            return self.base.profile(np.zeros(len(X)))
        if self.takes_distances:
            return self._of_given(X, None)
        return self.base.of_inner_products(np.square(self._to_origin(X)))

    def _of_given(self, D, Y):
        if Y is not None:
            raise ValueError(
                "with distance='precomputed' the kernel takes one matrix, of distances: call kernel(D), and give the "
                "result to a machine with kernel='precomputed'."
            )
        if not self._is_radial():
            raise ValueError(
                f"with distance='precomputed' {type(self.base).__name__} lacks the distances to the origin: call "
                "kernel.of_distances(D, rows_to_origin, columns_to_origin)."
            )
        return self.of_distances(D)

    def _to_origin(self, X):
        if self.origin is None:
            return self.distance.to_origin(X)
        return self.distance.pairwise(X, [self.origin])[:, 0]

    def _is_radial(self) -> bool:
        if isinstance(self.base, Radial):
            return True
        if not hasattr(self.base, "of_inner_products"):
            raise ValueError(
                f"base must be a radial kernel or a function of the inner product (Linear, Polynomial, PowerSeries), "
                f"got {self.base!r}. Sums, products and multiples are made of kernels of the distance."
            )
        return False

    def _settled(self, X) -> DistanceKernel:
        return self if self.takes_distances or not hasattr(X, "shape") else self.for_dimension(X.shape[1])

    def _with(self, base: Kernel) -> DistanceKernel:
        return DistanceKernel(base, self.distance, self.origin)

    def _check_points(self, X, Y):
        if self.takes_distances:
            D = check_array(X, dtype=np.float64, input_name="X")
            if D.min() < 0:
                raise ValueError(f"X must hold distances, which are not negative, got {D.min():g}.")
            return D, Y
        if not isinstance(self.distance, Distance):
            raise ValueError(f"distance must be a Distance or 'precomputed', got {self.distance!r}.")
        X = self.distance.patterns(X, "X")
        return X, None if Y is None else self.distance.patterns(Y, "Y")


class JitteringKernel(DistanceKernel):
    """The base kernel at the closest pair of transformed patterns, "jittering" (seed 002, introduction).

    Of all pairs t(x), t'(y) the one that is closest in the feature space of the base kernel is taken. For a radial
    kernel that decreases with the distance that is the closest pair itself, so this is :class:`DistanceKernel` with
    ``MinimumDistance(transformation)`` without regularisation, over a finite set. Functions of the inner product are
    refused: the closest pair need not be unique, and different ones give different values.

    Parameters
    ----------
    base : Radial
        Decreasing.
    transformation : Transformation
        A finite set; of a continuous one the nodes of its quadrature are taken.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.invariance import JitteringKernel, Reflection
    >>> JitteringKernel(Gaussian(), Reflection(axis=0))([[1.0, 0.0]], [[-2.0, 0.0]]).round(3)
    array([[0.607]])
    """

    origin = None

    def __init__(self, base: Kernel, transformation):
        self.base = base
        self.transformation = transformation

    @classmethod
    def examples(cls):
        from ..kernels import Gaussian
        from .transformations.finite import Reflection

        return [cls(Gaussian(), Reflection(axis=0))]

    @property
    def distance(self) -> Distance:
        """The distance that is minimised over the set."""
        from .distances.minimum import MinimumDistance

        return MinimumDistance(self.transformation, n_grid="quadrature", refine=False)

    def _with(self, base):
        return JitteringKernel(base, self.transformation)

    def _is_radial(self) -> bool:
        if not isinstance(self.base, Radial):
            raise ValueError(
                f"base must be a radial kernel, got {self.base!r}: jittering is not well defined for other kernels, as "
                "the closest pair need not be unique. DistanceKernel(base, MinimumDistance(transformation)) is."
            )
        values = self.base.profile(np.concatenate([[0.0], np.logspace(-12, 12, 97)]))
        if (np.diff(values) > 1e-12 * np.abs(values[1:])).any():
            raise ValueError(
                f"base must decrease with the distance, and {self.base!r} does not: the closest pair in feature space "
                "is then not the closest pair of patterns. Use DistanceKernel(base, MinimumDistance(transformation))."
            )
        return True
