"""Kernels of a distance: invariant distances in the place of the Euclidean one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .._base.patterns import PatternTable
from ..kernels.base import Kernel, as_in
from ..kernels.radial import Radial
from .definiteness import Definiteness
from .distances.base import Distance, distances_of, patterns_of
from .distances.minimum import MinimumDistance
from .transformations.base import Transformation

_PRECOMPUTED = "precomputed"


@as_in("base", "cpd_order", "null_degree", "max_dimension")
class DistanceKernel(Kernel):
    """A kernel in which d(x, y) takes the place of |x - y| [Haasdonk and Burkhardt 2007, definition 10].

    A radial base kernel becomes h(d(x, y)^2). A function of the inner product (linear, polynomial, power series) takes
    <x, y>_O = (d(x, O)^2 + d(y, O)^2 - d(x, y)^2) / 2 for <x, y>, with an origin O of your choice. Unless the distance
    is that of a Hilbert space, the kernel need not be positive definite (``is_indefinite``). :meth:`definiteness` shows
    how far it is from that on data, and :class:`DefiniteRepair` repairs matrices if you ask for it.

    Parameters
    ----------
    base : Radial, Linear, Polynomial or PowerSeries
        The kernel of the Euclidean distance.
    distance : Distance or "precomputed"
        With "precomputed" the kernel maps a matrix of distances (n, m), computed once, to the kernel matrix (n, m).
    origin : array (d,), optional
        The pattern O, for functions of the inner product; zeros if left out.

    See Also
    --------
    JitteringKernel : The kernel at the closest pair of transformed patterns.
    IntegrationKernel : An average over transformations, which stays positive definite.
    Definiteness : The report on a kernel matrix.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Linear
    >>> from seminorm.invariance import DistanceKernel, MinimumDistance, Reflection
    >>> d = MinimumDistance(Reflection(axis=0))
    >>> DistanceKernel(Gaussian(), d)([[1.0, 0.5]], [[-1.0, 0.5], [1.0, 0.5]])
    array([[1., 1.]])
    >>> DistanceKernel(Linear(), d)([[1.0, 0.0]], [[-2.0, 0.0], [2.0, 0.0]])
    array([[2., 2.]])
    >>> DistanceKernel(Gaussian(), "precomputed")([[0.0, 1.0]]).round(3)
    array([[1.   , 0.607]])
    """

    differentiability = 0

    def __init__(self, base: Kernel, distance: Distance | str, origin: ArrayLike | None = None):
        self.base, self.distance, self.origin = base, distance, origin

    @property
    def is_indefinite(self) -> bool:
        """Whether the distance is not that of a Hilbert space; some data may still give a definite matrix."""
        return self.takes_distances or not self._measure().is_euclidean

    @property
    def takes_distances(self) -> bool:
        """Whether the kernel is called with distances instead of patterns."""
        return isinstance(self.distance, str) and self.distance == _PRECOMPUTED

    def for_dimension(self, dimension: int) -> DistanceKernel:
        settled = self.base if self.takes_distances else self.base.for_dimension(dimension)
        return self if settled is self.base else self._with(settled)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The matrix phi(X_i, Y_j); ``Y=None`` means ``Y=X``. Patterns are whatever the distance takes."""
        X, Y = self._check_points(X, None if Y is X else Y)
        matrix = self._settled(X)._matrix(X, Y)
        return (matrix, np.empty(matrix.shape + (0,))) if eval_gradient else matrix

    def diag(self, X: Any) -> np.ndarray:
        X, _ = self._check_points(X, None)
        return self._settled(X)._diag(X)

    def of_distances(
        self, distances: ArrayLike, rows_to_origin: ArrayLike | None = None, columns_to_origin: ArrayLike | None = None
    ) -> np.ndarray:
        """The kernel matrix (n, m) from distances, and from those to the origin for functions of the inner product."""
        squares = np.square(np.asarray(distances, dtype=float))
        if isinstance(self.base, Radial):
            return self.base.profile(squares)
        of_inner_products = self._of_inner_products()
        if rows_to_origin is None:
            raise ValueError(
                f"rows_to_origin is missing: {type(self.base).__name__} is a function of the inner product, which "
                "needs the distances of all patterns to an origin (distance.to_origin(X))."
            )
        rows = np.square(np.asarray(rows_to_origin, dtype=float))
        columns = rows if columns_to_origin is None else np.square(np.asarray(columns_to_origin, dtype=float))
        if (len(rows), len(columns)) != squares.shape:
            raise ValueError(
                f"distances to the origin must be {squares.shape[0]} for the rows and {squares.shape[1]} for the "
                f"columns, got {len(rows)} and {len(columns)}."
            )
        products = np.add.outer(rows, columns)  # Haasdonk and Burkhardt 2007, (5)
        products -= squares
        products *= 0.5
        return of_inner_products(products)

    def definiteness(self, X: Any) -> Definiteness:
        """The spectrum of the kernel matrix of X, on the complement of the constants for a base kernel of order 1."""
        return Definiteness.of(self(X), self.cpd_order)

    @property
    def accepts_patterns(self) -> bool:
        return not self.takes_distances

    def patterns(self, X: Any, name: str = "X") -> Any:
        return patterns_of(self._measure(), X, name)

    def distances(self, X: Any, Y: Any = None) -> np.ndarray:
        """The distances that the kernel sees."""
        return distances_of(self._measure(), X, Y)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        if self.takes_distances:
            return self._of_given(X, Y)
        distances = self.distances(X, Y)
        if self._is_radial():
            return self.of_distances(distances)
        rows = self._to_origin(X)
        return self.of_distances(distances, rows, rows if Y is None else self._to_origin(Y))

    def _diag(self, X: Any) -> np.ndarray:
        if isinstance(self.base, Radial):
            return self.base.profile(np.zeros(len(X)))
        if self.takes_distances:
            return self._of_given(X, None)
        return self._of_inner_products()(np.square(self._to_origin(X)))

    def _of_given(self, D: np.ndarray, Y: object) -> np.ndarray:
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

    def _to_origin(self, X: Any) -> np.ndarray:
        X = X.items if isinstance(X, PatternTable) else X
        if self.origin is None:
            return self._measure().to_origin(X)
        return self._measure().pairwise(X, [self.origin])[:, 0]

    def _measure(self) -> Distance:
        if not isinstance(self.distance, Distance):
            raise ValueError(f"distance must be a Distance or 'precomputed', got {self.distance!r}.")
        return self.distance

    def _is_radial(self) -> bool:
        if isinstance(self.base, Radial):
            return True
        self._of_inner_products()
        return False

    def _of_inner_products(self) -> Callable[[np.ndarray], np.ndarray]:
        function = getattr(self.base, "of_inner_products", None)
        if function is None:
            raise ValueError(
                f"base must be a radial kernel or a function of the inner product (Linear, Polynomial, PowerSeries), "
                f"got {self.base!r}. Sums, products and multiples are made of kernels of the distance."
            )
        return function

    def _settled(self, X: Any) -> DistanceKernel:
        return self if self.takes_distances else self.for_dimension(X.shape[1])

    def _with(self, base: Kernel) -> DistanceKernel:
        return DistanceKernel(base, self.distance, self.origin)

    def _check_points(self, X: Any, Y: Any) -> tuple[Any, Any]:
        if self.takes_distances:
            D = check_array(X, dtype=np.float64, input_name="X")
            if D.min() < 0:
                raise ValueError(f"X must hold distances, which are not negative, got {D.min():g}.")
            return D, Y
        return self.patterns(X, "X"), None if Y is None else self.patterns(Y, "Y")


class JitteringKernel(DistanceKernel):
    """The base kernel at the closest pair of transformed patterns [Haasdonk and Burkhardt 2007, introduction].

    "Jittering" takes, of all pairs t(x), t'(y), the one that is closest in the feature space of the base kernel. For a
    radial kernel that decreases with the distance this is the closest pair itself: :class:`DistanceKernel` with
    ``MinimumDistance(transformation)`` over a finite set. Functions of the inner product are refused: the closest pair
    need not be unique, and different pairs give different values.

    Parameters
    ----------
    base : Radial; a decreasing kernel
    transformation : Transformation; a finite set; a continuous one is replaced by the nodes of its quadrature

    See Also
    --------
    DistanceKernel : A kernel of any distance.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.invariance import JitteringKernel, Reflection
    >>> JitteringKernel(Gaussian(), Reflection(axis=0))([[1.0, 0.0]], [[-2.0, 0.0]]).round(3)
    array([[0.607]])
    """

    origin = None

    def __init__(self, base: Kernel, transformation: Transformation):
        self.base, self.transformation = base, transformation

    @property
    def distance(self) -> Distance:  # type: ignore[override]  # a parameter there, follows from the parameters here
        """The smallest distance over the set."""
        return MinimumDistance(self.transformation, n_grid="quadrature", refine=False)

    def _with(self, base: Kernel) -> JitteringKernel:
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
