"""The smallest distance between all transformed versions of two patterns."""

from collections.abc import Callable
from numbers import Real

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike

from ..._base import blas
from ..._base.tiles import Tile
from ...kernels.radial import radial_matrix
from ..transformations.base import Transformation
from .base import Distance, Euclidean, distance_matrix, require_equal_patterns
from .descent import BOTH, SECOND, SHARED, Pairs, Sides, descend, extents

_TILE_NUMBERS = 2**22
_LARGEST_TILE = 512
_NODES_PER_PARAMETER = {1: 9, 2: 5}  # 3 beyond
_WORTH_THREADS = 2**24


class MinimumDistance(Distance):
    """The smallest distance between transformed versions of two patterns [Haasdonk and Burkhardt 2007, definition 9].

    d(x, x') is the infimum over t, t' in T of |t(x) - t'(x')| + regularization * Omega(t, t').

    A finite set T is searched exhaustively, the box of a continuous set on a grid; from the best node of every pair
    Newton's method descends to the nearest local minimum. A finer grid finds the global minimum more reliably. If T
    consists of isometries and there is no cost, only one of the two patterns moves, and the search is shorter. The
    distance is symmetric with d(x, x) = 0, but in general it violates the triangle inequality.

    Parameters
    ----------
    transformation : Transformation
        The set T, with its cost Omega.
    regularization : float
        The weight of the cost, >= 0. With 0 and a group the distance is totally invariant, with ``inf`` it is ``base``.
    base : Distance, optional
        The distance to minimise, Euclidean if left out.
    two_sided : bool
        Whether both patterns move. If not, each is moved to the other in turn, and the smaller distance counts.
    simultaneous : bool
        Apply the same t to both patterns [Haasdonk and Burkhardt 2007, proposition 13].
    n_grid : int or "quadrature", optional
        Number of nodes of the grid along each continuous parameter; by default 9 for one parameter, 5 for two, 3 for
        more. "quadrature" takes the nodes of the average over T. The identity is always among the nodes.
    refine : bool
        Whether to descend from the best node, which needs a Euclidean ``base``.
    threads : int; -1 for all; the result does not depend on it

    See Also
    --------
    DistanceKernel : Kernels of this distance.
    TangentDistance : The transformations to first order, much faster for images.

    Examples
    --------
    >>> from seminorm.invariance import MinimumDistance, Shift
    >>> X = [[0.0, 0.0], [3.0, 1.0]]
    >>> MinimumDistance(Shift([1.0, 0.0], extent=2.0)).pairwise(X).round(6)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        transformation: Transformation,
        regularization: float = 0.0,
        base: Distance | None = None,
        two_sided: bool = True,
        simultaneous: bool = False,
        n_grid: int | str | None = None,
        refine: bool = True,
        threads: int = -1,
    ):
        self.transformation, self.regularization, self.base, self.two_sided = (
            transformation,
            regularization,
            base,
            two_sided,
        )
        self.simultaneous, self.n_grid, self.refine, self.threads = simultaneous, n_grid, refine, threads

    @property
    def is_euclidean(self) -> bool:
        return self._nothing_moves() and (self.base is None or self.base.is_euclidean)

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        if not isinstance(self.transformation, Transformation):
            raise ValueError(f"transformation must be a Transformation, got {self.transformation!r}.")
        return self.transformation.patterns(X, name)

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        self._check()
        require_equal_patterns(X, Y)
        if self._nothing_moves():
            return self._base(X, Y)
        if self.simultaneous:
            return self._search(X, Y, SHARED)
        if self.two_sided and not self._one_side_suffices():
            return self._search(X, Y, BOTH)
        if self._one_side_suffices():
            return self._search(X, Y, SECOND)
        if Y is None:
            one_way = self._search(X, X, SECOND)
            np.fill_diagonal(one_way, 0.0)
            return np.minimum(one_way, one_way.T)
        return np.minimum(self._search(X, Y, SECOND), self._search(Y, X, SECOND).T)

    def _check(self) -> None:
        weight = self.regularization
        if not (isinstance(weight, Real) and weight >= 0):
            raise ValueError(f"regularization must be a number >= 0 (numpy.inf is allowed), got {weight!r}.")
        if self.base is not None and not isinstance(self.base, Distance):
            raise ValueError(f"base must be None (Euclidean) or a Distance, got {self.base!r}.")

    def _nothing_moves(self) -> bool:
        """Whether the infimum is at the identity whatever the patterns."""
        T = self.transformation
        alike = self.simultaneous and self._is_plain() and T.is_isometric
        return bool(np.isinf(self.regularization)) or alike or (T.extent is not None and not np.any(T.extent))

    def _is_plain(self) -> bool:
        """Whether Euclidean distances are minimised."""
        return self.base is None or type(self.base) is Euclidean

    def _one_side_suffices(self) -> bool:
        """Whether |t(x) - t'(x')| = |x - t^-1 t'(x')| with t^-1 t' in a set that is known."""
        T = self.transformation
        free = self.regularization == 0 and self._is_plain() and T.is_isometric
        return free and (T.is_group or (self.two_sided and self._takes_nodes() and T.differences() is not None))

    def _takes_nodes(self) -> bool:
        return self.n_grid == "quadrature" or not np.any(extents(self.transformation) > 0)

    def _base(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        if self.base is None or self._is_plain():
            return radial_matrix(np.sqrt, X, Y)
        return self.base.pairwise(X, Y)

    def _nodes(self) -> np.ndarray:
        """Transformations (m, p) to try, the identity first."""
        T = self.transformation
        if self._takes_nodes():
            differences = T.differences() if self._one_side_suffices() else None
            nodes = (T.quadrature() if differences is None else differences).nodes
        else:
            nodes = _combinations([self._nodes_of(part) for part in T.parts])
        away = (nodes != T.identity).any(axis=1)
        return np.vstack([T.identity, nodes[away]])

    def _nodes_of(self, part: Transformation) -> np.ndarray:
        if part.extent is None:
            return part.quadrature().nodes
        widths = np.where(np.isfinite(part.extent), part.extent, 0.0)
        steps = self._steps()
        return part.identity + _combinations([h * steps if h > 0 else np.zeros((1, 1)) for h in widths])

    def _steps(self) -> np.ndarray:
        n = self.n_grid
        if n is None:
            n = _NODES_PER_PARAMETER.get(int((extents(self.transformation) > 0).sum()), 3)
        if not (isinstance(n, (int, np.integer)) and n >= 1):
            raise ValueError(f"n_grid must be a positive whole number, 'quadrature' or None, got {self.n_grid!r}.")
        return np.linspace(-1.0, 1.0, n)[:, None] if n > 1 else np.zeros((1, 1))

    def _search(self, X: np.ndarray, Y: np.ndarray | None, sides: Sides) -> np.ndarray:
        """All minima, tile by tile; ``Y=None`` mirrors the upper half."""
        nodes = self._nodes()
        others = X if Y is None else Y
        size = int(np.clip(_TILE_NUMBERS // (len(nodes) * X.shape[1]), 16, _LARGEST_TILE))
        worth = len(X) * len(others) * X.shape[1] * len(nodes) >= _WORTH_THREADS

        def tile_of(rows: slice, columns: slice) -> np.ndarray:
            return self._tile(X[rows], others[columns], nodes, sides, Y is None and rows == columns)

        def for_each(work: Callable[[Tile], None], tiles: list[Tile]) -> None:
            workers = effective_n_jobs(self.threads) if worth and len(tiles) > 1 else 1
            with blas.suited_to(size):  # small matrices, one per thread
                Parallel(n_jobs=workers, require="sharedmem")(delayed(work)(tile) for tile in tiles)

        return distance_matrix(tile_of, len(X), None if Y is None else len(Y), size, for_each)

    def _tile(self, X: np.ndarray, Y: np.ndarray, nodes: np.ndarray, sides: Sides, symmetric: bool) -> np.ndarray:
        best, first, second = self._best_nodes(X, Y, nodes, sides)
        if self.refine and self._is_plain() and not self._takes_nodes():
            rows, columns = np.nonzero(np.triu(best > 0, 1) if symmetric else best > 0)
            starts = nodes[first[rows, columns]], nodes[second[rows, columns]]
            pairs = Pairs(self.transformation, self.regularization, sides, X, Y, rows, columns, *starts)
            best[rows, columns] = descend(pairs, best[rows, columns])
        return best

    def _best_nodes(
        self, X: np.ndarray, Y: np.ndarray, nodes: np.ndarray, sides: Sides
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The smallest values over the nodes, and which nodes of either side they belong to."""
        moved_x = self.transformation.apply(X, nodes if sides.first_moves else nodes[:1])
        moved_y = self.transformation.apply(Y, nodes)
        costs = self.transformation.cost(nodes[: len(moved_x)], nodes) if self.regularization else None
        best = np.full((len(X), len(Y)), np.inf)
        first, second = np.zeros(best.shape, dtype=np.int32), np.zeros(best.shape, dtype=np.int32)
        for k, left in enumerate(moved_x):
            for j in [k] if sides.alike else range(len(nodes)):
                values = self._base(left, moved_y[j])
                if costs is not None:
                    values += self.regularization * costs[k, j]
                better = values < best
                best[better], first[better], second[better] = values[better], k, j
        return best, first, second


def _combinations(lists: list[np.ndarray]) -> np.ndarray:
    """All rows that are made of a row of each."""
    rows = np.zeros((1, 0))
    for added in lists:
        rows = np.hstack([np.repeat(rows, len(added), axis=0), np.tile(added, (len(rows), 1))])
    return rows
