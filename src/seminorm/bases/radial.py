"""A basis of radial B3-splines of compact support [Walder 2008, 3.1.2].

Values, derivatives and energies are sparse matrices: two functions meet only if their supports do.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import cKDTree

from .._base.memory import require_memory
from .centered import CenteredBasis
from .radial_energies import b3_spline, check_order, radial_energy

_BIN_RATIO = 1.2  # supports that differ by less share a search tree
_BYTES_PER_PAIR = 120  # indices, distance, energy and the copies made on the way to a symmetric matrix
PAIRS_AT_ONCE = 2**23


class RadialSplineBasis(CenteredBasis):
    """Functions f_k(x) = b(|x - centres[k]| / supports[k]), b the B3-spline with b(0) = 1 and b(t) = 0 for t >= 1.

    Parameters
    ----------
    centers, supports : array (p, d), float or array (p,)
        Centres and radii of the supports.

    See Also
    --------
    GaussianBasis, radial_energy

    Examples
    --------
    >>> from seminorm.bases import RadialSplineBasis
    >>> basis = RadialSplineBasis([[0.0], [0.5], [1.0]], 1.0)
    >>> basis.design([[0.0], [1.0]]).toarray()
    array([[1.  , 0.25, 0.  ],
           [0.  , 0.25, 1.  ]])
    >>> basis.energy(order=1).toarray()[0].round(4)
    array([ 3.    , -0.5625, -0.9   ])
    """

    _widths = "supports"

    def __init__(self, centers: ArrayLike, supports: ArrayLike):
        super().__init__(centers)
        supports = np.asarray(supports, dtype=float)
        if supports.shape not in ((), (self.size,)):
            raise ValueError(f"supports must be one number or {self.size}, one for each centre, got {supports.shape}.")
        if not (np.isfinite(supports).all() and (supports > 0).all()):
            raise ValueError("supports must be positive and finite.")
        self.supports = np.array(np.broadcast_to(supports, (self.size,)))

    def design(self, X: ArrayLike, derivative: int = 0) -> sparse.csr_array:
        """Values, first or second derivatives of all functions at X; rows as for :meth:`GaussianBasis.design`."""
        X = self._points(X, derivative)
        components = self.dimension**derivative
        rows, columns, distances = self._reached(X, components)
        blocks = self._derivatives(X[rows] - self.centers[columns], distances, self.supports[columns], derivative)
        rows = rows[:, None] * components + np.arange(components)
        columns = np.broadcast_to(columns[:, None], rows.shape)
        return sparse.coo_array(
            (blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(len(X) * components, self.size)
        ).tocsr()

    def energy(self, order: int = 2) -> sparse.csr_array:
        """The matrix of <D^m f_j, D^m f_k> over R^d, m the order: 0, 1, 2 (the thin plate) or 3; positive definite for
        distinct functions, for nothing of compact support but 0 has vanishing derivatives. See
        :func:`seminorm.bases.radial_energy`.
        """
        check_order(order)
        rows, columns, distances = self._meeting()
        supports = self.supports[rows], self.supports[columns]
        values = radial_energy(distances, *supports, dimension=self.dimension, order=order)
        upper = sparse.coo_array((values, (rows, columns)), shape=(self.size, self.size)).tocsr()
        return (upper + sparse.triu(upper, 1).T).tocsr()

    def _reached(self, X: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points and functions that are not zero there, with the distances to the centres."""
        points = cKDTree(X)
        found = []
        for members, tree, reach in self._bins():
            needed = _BYTES_PER_PAIR * components * int(points.count_neighbors(tree, reach))
            advice = "use fewer points at a time, or functions of smaller support."
            require_memory(needed, f"the values of {self.size} functions at {len(X)} points", advice)
            pairs = points.sparse_distance_matrix(tree, reach, output_type="ndarray")
            rows, columns, distances = pairs["i"], members[pairs["j"]], pairs["v"]
            inside = distances < self.supports[columns]
            found.append((rows[inside], columns[inside], distances[inside]))
        return _joined(found)

    def _meeting(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of functions j <= k whose supports overlap [Walder 2008, (3.5)], with the distances of the centres."""
        bins = list(self._bins())
        couples = [(one, other) for i, one in enumerate(bins) for other in bins[i:]]
        count = sum(int(one[1].count_neighbors(other[1], one[2] + other[2])) for one, other in couples)
        advice = "take a larger spacing of the centres or smaller supports."
        require_memory(_BYTES_PER_PAIR * count, f"the energy matrix of {self.size} functions", advice)
        found = []
        for (members, tree, reach), (others, other_tree, other_reach) in couples:
            pairs = tree.sparse_distance_matrix(other_tree, reach + other_reach, output_type="ndarray")
            rows, columns, distances = members[pairs["i"]], others[pairs["j"]], pairs["v"]
            kept = distances < self.supports[rows] + self.supports[columns]
            if tree is other_tree:
                kept &= rows <= columns
            first, second = np.minimum(rows[kept], columns[kept]), np.maximum(rows[kept], columns[kept])
            found.append((first, second, distances[kept]))
        return _joined(found)

    def _bins(self) -> Iterator[tuple[np.ndarray, cKDTree, float]]:
        """Functions of nearly equal support: their indices, the tree of their centres and the largest support."""
        labels = np.round(np.log(self.supports / self.supports.min()) / math.log(_BIN_RATIO)).astype(int)
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            yield members, cKDTree(self.centers[members]), float(self.supports[members].max())

    def _derivatives(self, offsets, distances, supports, derivative: int) -> np.ndarray:
        """Values (n, 1), gradients (n, d) or Hessians (n, d * d) of single functions at single points."""
        t = distances / supports
        if derivative == 0:
            return b3_spline(t)[:, None]
        # b'(t) / t, whose limit at the centre is -12: neither derivative is singular there
        slope = np.where(t < 0.5, 18.0 * t - 12.0, b3_spline(t, 1) / np.maximum(t, 0.5)) / supports**2
        if derivative == 1:
            return slope[:, None] * offsets
        if derivative != 2:
            raise ValueError(f"derivative must be 0, 1 or 2, got {derivative!r}.")
        directions = np.divide(offsets, distances[:, None], where=distances[:, None] > 0, out=np.zeros_like(offsets))
        along = b3_spline(t, 2) / supports**2 - slope
        hessians = along[:, None, None] * directions[:, :, None] * directions[:, None, :]
        hessians += slope[:, None, None] * np.eye(self.dimension)
        return hessians.reshape(len(offsets), -1)


def _joined(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs and their distances, from several lists of them."""
    first, second, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return first, second, distances
