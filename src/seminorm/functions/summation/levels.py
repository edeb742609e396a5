"""The far field of one level: the degree of its series, who sees whom from afar, and the translations between boxes.

Between boxes whose centres are h t apart, h their width, the kernel is T(x)' C_t T(y) with Chebyshev terms T in either
box. All C_t of a level nearly share their row and column space: with U, the leading left singular vectors of all C_t
side by side, small matrices U' C_t U serve. C_t of mirrored and permuted t follow by the symmetry of a radial kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from ...kernels.forms import Form
from ...kernels.radial_parts import Profile
from . import chebyshev as series
from .space import slopes

MOST_DEGREE = {1: 40, 2: 24, 3: 15}
_GAPS = 2, 3, 4
DROPPED, FAR, NEAR = 0, 1, 2
_NOISE = 16.0 * np.finfo(float).eps
_SAMPLES = 48  # points in a box where errors are measured
_SHARE = 0.5  # of the tolerance: for the series, and for the common space
_MULTIPLET = 1.0 + 1e-6  # eigenvalues of one symmetric space, which must not be torn


@dataclass(frozen=True)
class Request:
    """What the far field has to be good for."""

    profile: Profile
    dimension: int
    tolerance: float  # of one source with coefficient 1
    source_order: int  # 0: values, 1: gradients
    target_order: int
    knots: np.ndarray
    size: float  # of the whole cube, diagonally
    reach: float  # beyond which all is below the tolerance

    @cached_property
    def least_width(self) -> float:
        """Of a box: in smaller ones, differences of the kernel, which make derivatives, have lost their digits."""
        order = self.source_order + self.target_order
        if order == 0:
            return 0.0
        largest = np.abs(self.profile((np.geomspace(1e-3, 1.0, 200) * self.size) ** 2, 0)).max()
        return 4.0 * (_NOISE * largest / self.tolerance) ** (1.0 / order)


@cache
def samples(dimension: int) -> np.ndarray:
    """Points of the cube: corners, middles of faces, and others."""
    corners = np.array(list(product((-1.0, 1.0), repeat=dimension)))
    middles = np.concatenate([np.eye(dimension), -np.eye(dimension)])
    return np.concatenate([corners, middles, np.random.default_rng(0).uniform(-1, 1, (_SAMPLES, dimension))])


def series_error(request: Request, width: float, degree: int, gap: int) -> float:
    """The largest error of the kernel with one argument replaced by its series in a box, seen from afar: from boxes at
    an offset of ``gap`` at least.

    Derivatives of that argument are taken from the series, those of the other from the kernel.
    """
    d, inside = request.dimension, samples(request.dimension)
    outside = _viewpoints(request, width, gap)
    if len(outside) == 0:
        return 0.0
    nodes, to_series = series.interpolation(d, degree)
    worst = 0.0
    for own, other in {(request.source_order, request.target_order), (request.target_order, request.source_order)}:
        values = slopes(request.profile, outside[:, None] - 0.5 * width * nodes, other)
        exact = (-1.0) ** own * slopes(request.profile, outside[:, None] - 0.5 * width * inside, own + other)
        read = series.rows(inside, degree, 0 if own else None) * (2.0 / width) ** own
        worst = max(worst, float(np.abs(values @ to_series.T @ read.T - exact).max()))
    return worst


def choose_degree(request: Request, width: float, guess: int = 1) -> tuple[int, int] | None:
    """The least degree whose error is within the tolerance, and the least offset of boxes that are far then.

    That offset is 2; only if no degree is enough for it, a larger one. The search starts at a guess, such as the degree
    of another level.
    """

    def is_enough(degree: int, gap: int) -> bool:
        return series_error(request, width, degree, gap) <= _SHARE * request.tolerance

    for gap in _GAPS:
        degree = guess
        while degree <= MOST_DEGREE[request.dimension] and not is_enough(degree, gap):
            degree += 1
        if degree > MOST_DEGREE[request.dimension]:
            continue
        while degree > 1 and degree <= guess and is_enough(degree - 1, gap):
            degree -= 1
        return degree, gap
    return None


def _viewpoints(request: Request, width: float, gap: int) -> np.ndarray:
    """Points from which a box of this width counts as far, from the nearest on, where the kernel is smooth."""
    d = request.dimension
    rng = np.random.default_rng(1)
    shapes = np.concatenate([np.tri(d), np.tri(d)[:-1, ::-1], rng.uniform(-1, 1, (4, d))])
    shapes /= np.abs(shapes).max(axis=1, keepdims=True)
    steps = (gap - 0.5) * 2.0 ** np.arange(0, max(1.0, np.log2(request.size / width)), 0.5)
    points = (width * steps[:, None, None] * shapes).reshape(-1, d)
    distances, half_diagonal = np.linalg.norm(points, axis=1), 0.5 * width * np.sqrt(d)
    clean = distances - half_diagonal < request.reach
    for knot in request.knots:
        clean &= np.abs(distances - knot) > half_diagonal
    return points[clean]


class FarLevel:
    """The far field of boxes of one width.

    ``status`` (size, size, size) says by absolute offsets which boxes are dropped, far or near. :meth:`settle` makes
    the translations once it is known between which offsets.
    """

    def __init__(
        self,
        request: Request,
        width: float,
        form: Form,
        size: int,
        degree: tuple[int, int] | None,
    ):
        self.request, self.width, self.size, self._form = request, width, size, form
        self.degree, self.gap = (-1, size) if degree is None else degree
        self._series: dict[tuple[int, ...], np.ndarray] = {}
        self.status = self._status()

    @property
    def terms(self) -> int:
        """Numbers in the series of a box."""
        return series.terms(self.request.dimension, self.degree)

    @property
    def splits(self) -> int:
        """The largest offset along an axis of boxes that are near."""
        near = np.argwhere(self.status == NEAR)
        return int(near.max(initial=0))

    def _status(self) -> np.ndarray:
        d = self.request.dimension
        offsets = np.indices((self.size,) * d).reshape(d, -1).T
        nearest = self.width * np.linalg.norm(np.maximum(offsets - 1, 0), axis=1)
        farthest = self.width * np.linalg.norm(offsets + 1, axis=1)
        status = np.full(len(offsets), NEAR, np.int8)
        if self.degree >= 0:
            apart = offsets.max(axis=1) >= self.gap
            rough = np.zeros(len(offsets), bool)
            for knot in self.request.knots:
                rough |= (nearest <= knot) & (knot <= farthest) & (nearest < self.request.reach)
            status[apart & ~rough] = FAR
            for i in np.flatnonzero(apart & rough):
                if self._offset_error(offsets[i]) <= self.request.tolerance:
                    status[i] = FAR
        status[nearest >= self.request.reach] = DROPPED
        whole = np.full((self.size,) * 3, DROPPED, np.int8)
        whole[(slice(None),) * d + (0,) * (3 - d)] = status.reshape((self.size,) * d)
        return whole

    def _coefficients(self, offset: np.ndarray) -> np.ndarray:
        """C_t in terms of mean square 1, for t >= 0."""
        representative = tuple(sorted((int(k) for k in offset), reverse=True))
        if representative not in self._series:
            d = self.request.dimension
            nodes, to_series = series.interpolation(d, self.degree)
            squares = np.zeros((len(nodes), len(nodes)))
            for axis in range(d):
                x = 0.5 * self.width * nodes[:, axis]
                squares += (x[:, None] - x - self.width * representative[axis]) ** 2
            norm = series.norms(d, self.degree)
            matrix = to_series @ self._form(squares) @ to_series.T
            self._series[representative] = matrix / norm[:, None] / norm
        return self._series[representative]

    def _permuted(self, offset: np.ndarray) -> np.ndarray:
        """Where the terms of the representative of an offset t >= 0 go."""
        order = np.argsort(-offset, kind="stable")
        inverse = tuple(np.argsort(order))
        return next(places for axes, places in series.permuted(self.request.dimension, self.degree) if axes == inverse)

    def _offset_error(self, offset: np.ndarray) -> float:
        """The largest error of the series of both boxes."""
        request, points = self.request, samples(self.request.dimension)
        norm = series.norms(request.dimension, self.degree)
        order = -np.sort(-offset)
        factors = [(2.0 / self.width) ** order_ for order_ in (request.target_order, request.source_order)]
        read = [
            series.rows(points, self.degree, 0 if k else None) * norm
            for k in (request.target_order, request.source_order)
        ]
        found = factors[0] * factors[1] * read[0] @ self._coefficients(offset) @ read[1].T
        differences = 0.5 * self.width * (points[:, None] - points) - self.width * order
        exact = slopes(request.profile, differences, request.target_order + request.source_order)
        return float(np.abs(found - (-1.0) ** request.source_order * exact).max())

    def settle(self, codes: np.ndarray) -> None:
        """Make the translations for the offsets whose codes occur; see native/summation/pairs.hpp."""
        d, side = self.request.dimension, 2 * self.size - 1
        offsets = np.stack(np.unravel_index(codes, (side,) * 3), axis=1)[:, :d] - (self.size - 1)
        plain = np.unique(np.abs(offsets), axis=0)
        representatives = np.unique(-np.sort(-plain, axis=1), axis=0)
        basis = self._common_space(plain, representatives)
        norm = series.norms(d, self.degree)
        parity = self._parity
        self.rank = basis.shape[1]
        width = series.padded(self.rank)
        self.compress = np.zeros((1, series.padded(self.terms), width))
        self.compress[0, : self.terms, : self.rank] = norm[:, None] * basis
        self.expand = np.ascontiguousarray(self.compress.transpose(0, 2, 1))
        self.matrices = np.zeros((len(offsets), width, width))
        small = {tuple(t): self._small(t, basis) for t in plain}
        for matrix, offset in zip(self.matrices, offsets, strict=True):
            sign = np.prod(np.where(offset < 0, (-1.0) ** parity, 1.0), axis=1)
            matrix[: self.rank, : self.rank] = (sign[:, None] * small[tuple(np.abs(offset))] * sign).T
        self._series.clear()

    def _small(self, offset: np.ndarray, basis: np.ndarray) -> np.ndarray:
        places = self._permuted(offset)
        own = basis[places]
        return own.T @ self._coefficients(offset) @ own

    def _common_space(self, plain: np.ndarray, representatives: np.ndarray) -> np.ndarray:
        """U (terms, rank), of least rank for the tolerance; each column is even or odd along each axis.

        It serves all mirrored offsets, too: that is why terms of different parity stay apart.
        """
        d, parts = self.request.dimension, []
        places = [self._permuted(offset) for offset in plain]
        powers = series.exponents(d, self.degree)
        for parity in product((0, 1), repeat=d):
            members = np.flatnonzero((powers % 2 == parity).all(axis=1))
            if len(members) == 0:
                continue
            rows = [self._coefficients(t)[_inverse(place)[members]] for t, place in zip(plain, places, strict=True)]
            triangle = np.linalg.qr(np.concatenate(rows, axis=1).T, mode="r")
            _, value, vector = np.linalg.svd(triangle)
            whole = np.zeros((self.terms, len(members)))
            whole[members] = vector.T
            parts.append((np.pad(value, (0, len(members) - len(value))), whole.T, np.tile(parity, (len(members), 1))))
        value, vector, parities = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(-value, kind="stable")
        rank = self._least_rank(representatives, np.ascontiguousarray(vector[order].T), value[order])
        self._parity = parities[order][:rank]
        return np.ascontiguousarray(vector[order][:rank].T)

    def _least_rank(self, representatives: np.ndarray, vectors: np.ndarray, values: np.ndarray) -> int:
        request, points = self.request, samples(self.request.dimension)
        norm = series.norms(request.dimension, self.degree)
        own, other = (
            (series.rows(points, self.degree, 0 if k else None) * norm * (2.0 / self.width) ** k)
            for k in (request.target_order, request.source_order)
        )
        cores = [self._coefficients(offset) for offset in representatives]
        wholes = [own @ core @ other.T for core in cores]

        def error(rank: int) -> float:
            kept = vectors[:, :rank]
            left, right = own @ kept @ kept.T, other @ kept @ kept.T
            parts = (left @ core @ right.T - whole for core, whole in zip(cores, wholes, strict=True))
            return max(float(np.abs(part).max()) for part in parts)

        low, high = 0, len(values)  # error(low) is too large, error(high) is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if error(middle) > _SHARE * request.tolerance else (low, middle)
        while high < len(values) and values[high - 1] <= _MULTIPLET * values[high]:
            high += 1
        return high


def _inverse(places: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(places)
    inverse[places] = np.arange(len(places))
    return inverse
