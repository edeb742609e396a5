"""Functions on few centres at many points, of which a block of rows at a time is ever known.

With centres z_j, f = sum_j c_j phi(., z_j) + Q b, where Q (n, p) are the free functions at the points, orthonormal, and
c annihilates the polynomials at the centres: c = N L^-T w, N a basis of the complement and N' Phi_zz N = L L'. Then
f = F w + Q b has the semi-norm |w|, and the columns of F = Phi_xz N L^-T are features. Whatever a solver needs of
U = [F Q] is a sum over points: :class:`WeightedGram`, :class:`Values`, :class:`Variances`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.linalg import blas, lapack

from ..linear.householder import Reflectors

_ENTRIES = 2**23  # of a block of kernel values


@dataclass
class FeatureCoordinates:
    """From kernel values at the centres, and free functions, to features, and back: all of it is linear."""

    reflectors: Reflectors | None  #: turn centres so that the first ``rank`` belong to the polynomials
    L: np.ndarray  #: (m - rank, m - rank) lower triangular
    turn: np.ndarray  #: (p, p) orthogonal, turns Q so that the last ``n_free`` are free and those before have a price
    n_free: int
    along: np.ndarray | None = None  #: (p, m - rank) Q'F, taken out of the features if polynomials have a price
    price: float = 0.0  #: the eigenvalue of these polynomials

    @property
    def n_kernel(self) -> int:
        """Number of kernel features."""
        return len(self.L)

    @property
    def n_penalized(self) -> int:
        """Number of coordinates whose squares make the semi-norm; those of the free functions follow."""
        return self.n_kernel + self._n_priced

    @property
    def width(self) -> int:
        """Number of coordinates of a function."""
        return self.n_penalized + self.n_free

    @property
    def _n_priced(self) -> int:
        return 0 if self.along is None else self.turn.shape[1] - self.n_free

    def _rest(self, B: np.ndarray) -> np.ndarray:
        """N' B for rows that belong to centres; a copy."""
        turned = np.array(B, order="F")
        if self.reflectors is None:
            return turned
        V = self.reflectors.V
        shares = self.reflectors.T.T @ (V.T @ turned)
        if shares.size:
            turned = blas.dgemm(-1.0, V, shares, beta=1.0, c=turned, overwrite_c=1)  # nothing of its size beside it
        return np.asfortranarray(turned[V.shape[1] :])

    def features(self, raw: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """U' (width, k) for kernel values (k, m) and free functions (k, p)."""
        return self.moments(raw.T, Q.T)

    def moments(self, kernel_part: np.ndarray, free_part: np.ndarray) -> np.ndarray:
        """U' q (width, k) from Phi_zx q (m, k) and Q' q (p, k)."""
        U = np.empty((self.width, kernel_part.shape[1]), order="F")
        kernel = self._rest(kernel_part)
        kernel = blas.dtrsm(1.0, self.L, kernel, lower=1, overwrite_b=1) if kernel.size else kernel
        if self.along is not None:
            kernel -= self.along.T @ free_part
        U[: self.n_kernel] = kernel
        turned = self.turn.T @ free_part
        U[self.n_kernel : self.n_penalized] = np.sqrt(self.price) * turned[: self._n_priced]
        U[self.n_penalized :] = turned[len(turned) - self.n_free :]
        return U

    def coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c (m, k) and b (p, k) with f = Phi_xz c + Q b for coordinates (width, k)."""
        w = theta[: self.n_kernel]
        inner = lapack.dtrtrs(self.L, w, lower=1, trans=1)[0] if w.size else w
        c = inner
        if self.reflectors is not None:
            c = self.reflectors.apply(np.vstack([np.zeros((self.reflectors.V.shape[1], w.shape[1])), inner]))
        turned = np.zeros((self.turn.shape[1], theta.shape[1]))
        turned[: self._n_priced] = np.sqrt(self.price) * theta[self.n_kernel : self.n_penalized]
        turned[len(turned) - self.n_free :] = theta[self.n_penalized :]
        b = self.turn @ turned
        return c, b if self.along is None else b - self.along @ w


@dataclass
class Block:
    """Some rows: kernel values at the centres (k, m), and free functions (k, p)."""

    map: FeatureCoordinates
    raw: np.ndarray
    Q: np.ndarray


class SumOverRows(Protocol):
    """A sum over points, made block by block; ``merge`` adds what was found on later points."""

    @property
    def add(self) -> Callable[..., None]: ...  #: of a block, and numbers of its points
    def merge(self, other: Any) -> None: ...


_Sum = TypeVar("_Sum", bound=SumOverRows)


class WeightedGram:
    """U' diag(weights) U (its lower triangle), and U' q."""

    def __init__(self, width: int):
        self.G, self.moment = np.zeros((width, width), order="F"), np.zeros(width)

    def add(self, block: Block, weights: np.ndarray, q: np.ndarray) -> None:
        weighty = weights != 0
        if weighty.any():
            U = block.map.features(block.raw[weighty], block.Q[weighty])
            for sign in (1.0, -1.0):
                chosen = sign * weights[weighty] > 0
                if chosen.any():
                    part = U if chosen.all() else np.asfortranarray(U[:, chosen])
                    part *= np.sqrt(sign * weights[weighty][chosen])
                    self.G = blas.dsyrk(sign, part, beta=1.0, c=self.G, lower=1, overwrite_c=1)
        if q.any():
            self.moment += block.map.moments(block.raw.T @ q[:, None], block.Q.T @ q[:, None])[:, 0]

    def merge(self, other: WeightedGram) -> None:
        self.G += other.G
        self.moment += other.moment


class Values:
    """U theta, row by row: the coefficients (m, k) and (p, k) are those of kernel and free functions."""

    def __init__(self, c: np.ndarray, b: np.ndarray):
        self.c, self.b = c, b
        self.parts: list[np.ndarray] = []

    def add(self, block: Block) -> None:
        self.parts.append(block.raw @ self.c + block.Q @ self.b)

    def merge(self, other: Values) -> None:
        self.parts += other.parts

    @property
    def values(self) -> np.ndarray:
        """(n, k)."""
        return np.concatenate(self.parts) if self.parts else np.empty((0, self.c.shape[1]))


class Variances:
    """u' A^-1 u for each row u of U, where ``halves(U')`` has columns whose squares sum up to that."""

    def __init__(self, halves: Callable[[np.ndarray], np.ndarray]):
        self.halves = halves
        self.parts: list[np.ndarray] = []

    def add(self, block: Block) -> None:
        half = self.halves(block.map.features(block.raw, block.Q))
        self.parts.append(np.einsum("ij,ij->j", half, half))

    def merge(self, other: Variances) -> None:
        self.parts += other.parts

    @property
    def values(self) -> np.ndarray:
        """(n,)."""
        return np.concatenate(self.parts) if self.parts else np.empty(0)


class Moments:
    """Phi_zx Q, of kernel values and free functions."""

    def __init__(self, n_centers: int, n_free: int):
        self.kernel_part = np.zeros((n_centers, n_free))

    def add(self, block: Block) -> None:
        self.kernel_part += block.raw.T @ block.Q

    def merge(self, other: Moments) -> None:
        self.kernel_part += other.kernel_part

    def of_features(self, map: FeatureCoordinates, free_part: np.ndarray) -> np.ndarray:
        """F' Q (n_kernel, p), with Q' Q (p, p)."""
        return map.moments(self.kernel_part, free_part)[: map.n_kernel]


class FeatureRows:
    """U, row by row; ``raw(points)`` are kernel values (k, m), Q (n, p) the free functions at all points.

    ``judges`` are the points whose leave-one-out values choose alpha, None for all of them; ``watch`` is told how many
    rows of how many a pass has seen.
    """

    def __init__(
        self,
        raw: Callable[[np.ndarray], np.ndarray],
        Q: np.ndarray,
        map: FeatureCoordinates,
        judges: np.ndarray | None = None,
        points: np.ndarray | None = None,
        watch: Callable[[int, int], None] = lambda done, total: None,
    ):
        self.watch = watch
        self._raw, self._Q, self.map, self.judges = raw, Q, map, judges
        self._points = points

    def __len__(self) -> int:
        return len(self._Q) if self._points is None else len(self._points)

    def with_map(self, map: FeatureCoordinates) -> FeatureRows:
        """The same rows in other coordinates."""
        return type(self)(self._raw, self._Q, map, self.judges, self._points, self.watch)

    def restricted(self, points: np.ndarray) -> FeatureRows:
        """Some of the rows."""
        judges = None if self.judges is None else np.flatnonzero(np.isin(points, self.judges))
        places = points if self._points is None else self._points[points]
        return type(self)(self._raw, self._Q, self.map, judges, places, self.watch)

    def sweep(
        self,
        make: Callable[[], _Sum],
        points: np.ndarray | None = None,
        columns: tuple[np.ndarray, ...] = (),
        into: _Sum | None = None,
    ) -> _Sum:
        """The sum ``make()``, or what ``into`` holds already, after all blocks of rows, or those of some points, were
        added to it, with their entries of ``columns`` (n,)."""
        total = make() if into is None else into
        done, number = 0, len(self) if points is None else len(points)
        for rows in self._blocks(points):
            places = rows if self._points is None else self._points[rows]
            total.add(Block(self.map, self._raw(places), self._Q[places]), *(column[rows] for column in columns))
            done += len(rows)
            self.watch(done, number)
        return total

    @staticmethod
    def block_rows(map: FeatureCoordinates) -> int:
        """How many rows make a block."""
        return max(64, _ENTRIES // max(map.width, 1))

    def _blocks(self, points: np.ndarray | None) -> Iterator[np.ndarray]:
        points = np.arange(len(self)) if points is None else points
        step = self.block_rows(self.map)
        for start in range(0, len(points), step):
            yield points[start : start + step]

    def values(self, theta: np.ndarray) -> np.ndarray:
        """U theta (n,) for coordinates (width,)."""
        c, b = self.map.coefficients(theta[:, None])
        return self.sweep(lambda: Values(c, b)).values[:, 0]
