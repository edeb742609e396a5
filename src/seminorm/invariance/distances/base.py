"""Dissimilarities of patterns: symmetric, not negative, zero between equal patterns; the triangle may fail."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ..._base.memory import require_memory
from ..._base.parameters import EqualByParameters
from ..._base.patterns import PatternTable, table_of
from ..._base.tiles import ForEach, tiled
from ...kernels.radial import radial_matrix
from ..transformations.grids import checked_images, require_one_shape


class Distance(EqualByParameters, BaseEstimator):
    """A dissimilarity of patterns, of two or of all pairs.

    A new distance supplies ``_pairwise(X, Y)``, where ``Y`` is None for a symmetric matrix, and ``patterns`` if its
    patterns are not rows of numbers. ``all_distances.register(MyDistance)`` adds it to those of the package.

    See Also
    --------
    DistanceKernel : Kernels of a distance.
    UserDistance : A distance from a function of two patterns.

    Examples
    --------
    >>> from scipy.spatial.distance import cdist
    >>> from seminorm.invariance import Distance
    >>> class CityBlock(Distance):
    ...     def _pairwise(self, X, Y):
    ...         return cdist(X, X if Y is None else Y, "cityblock")
    >>> CityBlock().pairwise([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 7.],
           [7., 0.]])
    """

    @property
    def is_euclidean(self) -> bool:
        """Whether it is the norm of the difference in some Hilbert space, so that kernels of it stay definite."""
        return False

    def distance(self, x: Any, y: Any) -> float:
        """The distance of two patterns (d,), or whatever else one entry of X is."""
        return float(self.pairwise([x], [y])[0, 0])

    def pairwise(self, X: Any, Y: Any = None) -> np.ndarray:
        """All distances (n, m) between patterns X (n, d) and Y (m, d); some distances also take images, point sets or
        lists of series. Without Y those of X to one another: exactly symmetric with a zero diagonal.
        """
        X = self.patterns(X, "X")
        return self._pairwise(X, None if Y is None else self.patterns(Y, "Y"))

    def to_origin(self, X: Any) -> np.ndarray:
        """Distances (n,) to the pattern of zeros, the origin of inner products that are made from distances."""
        X = self.patterns(X, "X")
        return self._pairwise(X, np.zeros_like(X[:1]))[:, 0]

    def patterns(self, X: ArrayLike, name: str = "X") -> Any:
        """X as this distance takes it, checked: rows of float64 unless a subclass says otherwise."""
        require_one_shape(X, name)
        return check_array(X, dtype=np.float64, input_name=name)

    def _pairwise(self, X: Any, Y: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its distances: subclasses supply _pairwise(X, Y).")


def patterns_of(distance: Distance, X: Any, name: str = "X") -> Any:
    """Rows, or a table of what the distance takes, checked."""
    if isinstance(X, PatternTable):
        return X
    if getattr(X, "ndim", 0) == 1 and X.dtype == np.dtype(object) and hasattr(X, "tolist"):  # of pandas or NumPy
        X = X.tolist()
    return table_of(X, distance.patterns(X, name))


def distances_of(distance: Distance, X: Any, Y: Any = None) -> np.ndarray:
    """Distances of rows, or of tables; of parts of one table they are computed once."""
    if isinstance(X, PatternTable):
        return X.pairs(distance, distance.pairwise, Y)
    return distance.pairwise(X, Y)


class Euclidean(Distance):
    """The norm of the difference, with small relative error for close patterns too.

    See Also
    --------
    MinimumDistance : The smallest distance between transformed patterns.

    Examples
    --------
    >>> from seminorm.invariance import Euclidean
    >>> Euclidean().distance([0.0, 0.0], [3.0, 4.0])
    5.0
    """

    is_euclidean = True

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        require_equal_patterns(X, Y)
        return radial_matrix(np.sqrt, X, Y)


class ImageDistance(Distance):
    """A distance of images of one ``shape`` (height, width)."""

    shape: tuple[int, int] | None

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        if self.shape is None:
            size = np.shape(X)[1:]
            raise ValueError(
                f"shape is missing: give shape={size if len(size) == 2 else '(height, width)'} to "
                f"{type(self).__name__}, the size of the images in {name}."
            )
        return checked_images(X, self.shape, name)


def require_matrix(n: int, m: int) -> None:
    """Raise an error if a matrix of n x m distances does not fit into memory."""
    require_memory(8 * n * m, f"A matrix of {n} x {m} distances", "compute it for fewer patterns at a time.")


def require_equal_patterns(X: np.ndarray, Y: np.ndarray | None) -> None:
    """Raise an error if rows of X and Y differ in length, or if the matrix of distances does not fit into memory."""
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise ValueError(f"patterns of X have {X.shape[1]} numbers and those of Y have {Y.shape[1]}: they must agree.")
    require_matrix(len(X), len(X if Y is None else Y))


def distance_matrix(
    tile_of: Callable[[slice, slice], np.ndarray],
    n: int,
    m: int | None,
    side: int = 128,
    for_each: ForEach | None = None,
) -> np.ndarray:
    """The matrix (n, m) from its tiles; with ``m=None`` symmetric, with zero diagonal."""
    matrix = tiled(tile_of, n, m, side=side, for_each=for_each)
    if m is None:
        np.fill_diagonal(matrix, 0.0)
    return matrix
