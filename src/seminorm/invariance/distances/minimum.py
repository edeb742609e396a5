"""The smallest distance between all transformed versions of two patterns."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ... import _threads as threads
from ...kernels.radial import radial_matrix
from ..transformations.base import Transformation
from .base import Distance
from .descent import BOTH, SECOND, SHARED, Sides, descend, extents, parts

_TILE_NUMBERS = 2**22
_LARGEST_TILE = 512
_NODES_PER_PARAMETER = {1: 9, 2: 5}  # 3 beyond
_WORTH_THREADS = 2**24


class MinimumDistance(Distance):
    """d(x, x') = inf over t, t' in T of |t(x) - t'(x')| + regularisation * Omega(t, t') (seed 002, definition 9).

    A finite set T is searched exhaustively. The box of a continuous one is searched on a grid, and from the best node
    of every pair Newton's method descends to the nearest local minimum; a finer grid finds the global one more surely.
    Compositions of both kinds are searched in both ways. Where T consists of isometries, moving one of the two patterns
    is enough if nothing is paid for it, and the search is that much shorter. The result obeys symmetry and
    d(x, x) = 0, but not the triangle inequality in general.

    Parameters
    ----------
    transformation : Transformation
        The set T, with its cost Omega.
    regularisation : float
        lambda >= 0. With 0 and a group the distance is totally invariant, with ``numpy.inf`` it is ``base``.
    base : Distance, optional
        What is minimised; Euclidean if left out.
    two_sided : bool
        Whether both patterns move. If not, one is moved to the other, in both ways, and the smaller distance counts.
    simultaneous : bool
        Move both patterns alike, inf over t of d(t(x), t(x')) + regularisation * Omega(t, t) (proposition 13).
    n_grid : int or "quadrature", optional
        Nodes of the grid along each continuous parameter: 9 for one parameter, 5 for two, else 3, if left out;
        "quadrature" takes the nodes of the average over T. The identity is always among them.
    refine : bool
        Whether to descend from the best node. Only for Euclidean ``base``: others take the best node as it is.
    n_jobs : int
        Threads, as in joblib; -1 is all. The result is the same for any number.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import MinimumDistance, Shift
    >>> X = [[0.0, 0.0], [3.0, 1.0]]
    >>> MinimumDistance(Shift([1.0, 0.0], extent=2.0)).pairwise(X).round(6)
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self,
        transformation: Transformation,
        regularisation: float = 0.0,
        base: Distance | None = None,
        two_sided: bool = True,
        simultaneous: bool = False,
        n_grid: int | str | None = None,
        refine: bool = True,
        n_jobs: int | None = -1,
    ):
        self.transformation = transformation
        self.regularisation = regularisation
        self.base = base
        self.two_sided = two_sided
        self.simultaneous = simultaneous
        self.n_grid = n_grid
        self.refine = refine
        self.n_jobs = n_jobs

    @property
    def is_euclidean(self) -> bool:
        return self._nothing_moves() and (self.base is None or self.base.is_euclidean)

    def patterns(self, X, name: str = "X") -> np.ndarray:
        if not isinstance(self.transformation, Transformation):
            raise ValueError(f"transformation must be a Transformation, got {self.transformation!r}.")
        return self.transformation.patterns(X)

    def _pairwise(self, X, Y):
        self._check()
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

    def _check(self):
        weight = self.regularisation
        if not (np.isscalar(weight) and weight >= 0):
            raise ValueError(f"regularisation must be a number >= 0 (numpy.inf is allowed), got {weight!r}.")
        if self.base is not None and not isinstance(self.base, Distance):
            raise ValueError(f"base must be None (Euclidean) or a Distance, got {self.base!r}.")

    def _nothing_moves(self) -> bool:
        """Whether the infimum is at the identity whatever the patterns."""
        T = self.transformation
        alike = self.simultaneous and self._is_plain() and T.is_isometric
        return bool(np.isinf(self.regularisation)) or alike or (T.extent is not None and not np.any(T.extent))

    def _is_plain(self) -> bool:
        """Whether Euclidean distances are minimised."""
        if self.base is None:
            return True
        from .euclidean import Euclidean

        return type(self.base) is Euclidean

    def _one_side_suffices(self) -> bool:
        """Whether |t(x) - t'(x')| = |x - t^-1 t'(x')| with t^-1 t' in a set that is known."""
        T = self.transformation
        free = self.regularisation == 0 and self._is_plain() and T.is_isometric
        return free and (T.is_group or (self.two_sided and self._takes_nodes() and T.differences() is not None))

    def _takes_nodes(self) -> bool:
        return self.n_grid == "quadrature" or not np.any(extents(self.transformation) > 0)

    def _base(self, X, Y=None) -> np.ndarray:
        return radial_matrix(np.sqrt, X, Y) if self._is_plain() else self.base.pairwise(X, Y)

    def _nodes(self) -> np.ndarray:
        """Transformations (m, p) to try, the identity first."""
        T = self.transformation
        if self._takes_nodes():
            nodes = (T.differences() if self._one_side_suffices() else T.quadrature()).nodes
        else:
            nodes = _combinations([self._nodes_of(part) for part in parts(T)])
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

    def _search(self, X, Y, sides: Sides) -> np.ndarray:
        """All minima, tile by tile; ``Y=None`` mirrors the upper half."""
        nodes = self._nodes()
        n, m = len(X), len(X if Y is None else Y)
        size = int(np.clip(_TILE_NUMBERS // (len(nodes) * X.shape[1]), 16, _LARGEST_TILE))
        result = np.empty((n, m))
        tiles = [(i, j) for i in range(0, n, size) for j in range(i if Y is None else 0, m, size)]

        def fill(i, j):
            others = (X if Y is None else Y)[j : j + size]
            tile = self._tile(X[i : i + size], others, nodes, sides, Y is None and i == j)
            result[i : i + size, j : j + size] = tile
            if Y is None and i != j:
                result[j : j + size, i : i + size] = tile.T

        worth = n * m * X.shape[1] * len(nodes) >= _WORTH_THREADS and len(tiles) > 1
        workers = effective_n_jobs(self.n_jobs) if worth else 1
        with threads.suited_to(size):  # small matrices, and as many at a time as there are threads
            Parallel(n_jobs=workers, require="sharedmem")(delayed(fill)(i, j) for i, j in tiles)
        return result

    def _tile(self, X, Y, nodes, sides: Sides, symmetric: bool) -> np.ndarray:
        best, first, second = self._best_nodes(X, Y, nodes, sides)
        pairs = np.triu(np.ones(best.shape, dtype=bool), 1) if symmetric else np.ones(best.shape, dtype=bool)
        if self.refine and self._is_plain() and not self._takes_nodes():
            rows, columns = np.nonzero(pairs & (best > 0))
            starts = nodes[first[rows, columns]], nodes[second[rows, columns]]
            best[rows, columns] = descend(
                self.transformation, self.regularisation, sides, X, Y, rows, columns, starts, best[rows, columns]
            )
        if symmetric:
            best = np.triu(best, 1)
            best += best.T
        return best

    def _best_nodes(self, X, Y, nodes, sides: Sides):
        """The smallest values over the nodes, and which nodes of either side they belong to."""
        moved_x = self.transformation.apply(X, nodes if sides.first_moves else nodes[:1])
        moved_y = self.transformation.apply(Y, nodes)
        costs = self.transformation.cost(nodes[: len(moved_x)], nodes) if self.regularisation else None
        best = np.full((len(X), len(Y)), np.inf)
        first, second = np.zeros(best.shape, dtype=np.int32), np.zeros(best.shape, dtype=np.int32)
        for k, left in enumerate(moved_x):
            for j in [k] if sides.alike else range(len(nodes)):
                values = self._base(left, moved_y[j])
                if costs is not None:
                    values += self.regularisation * costs[k, j]
                better = values < best
                best[better], first[better], second[better] = values[better], k, j
        return best, first, second


def _combinations(lists: list[np.ndarray]) -> np.ndarray:
    """All rows that are made of a row of each."""
    rows = np.zeros((1, 0))
    for added in lists:
        rows = np.hstack([np.repeat(rows, len(added), axis=0), np.tile(added, (len(rows), 1))])
    return rows
