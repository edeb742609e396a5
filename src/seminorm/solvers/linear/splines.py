"""Smoothing splines on the line: the inverse of a kernel matrix beside the null space, exactly, by band matrices.

For the kernel of the semi-norm int (f^(m))^2, divided differences D of order m make a band matrix of the kernel matrix:
D Phi D' is the Gram matrix of the B-splines of degree m - 1 over the points. So the inverse of Phi + N beside
the polynomials of degree m - 1 is D' (D Phi D' + D N D')^-1 D, in O(n m^2) operations [Reinsch 1967].
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded, solve_banded

from ... import _native

_VANISHING = 1e-6  # share of its terms that a divided difference of the null space may leave


class LineSplines:
    """The band matrices for points (n,) and the semi-norm of order m, whose kernel is multiplied by ``factor``."""

    def __init__(self, points: np.ndarray, m: int, factor: float):
        self.m = m
        order = np.argsort(points, kind="stable")
        self.order, self.points = order, points[order]
        x = self.points
        n = len(x)
        lengths = x[m:] - x[:-m]
        rows = np.ones((n - m, m + 1))  # divided differences times lengths / m: B-splines whose sum is one
        for j in range(m + 1):
            for k in range(m + 1):
                if k != j:
                    rows[:, j] /= x[j : n - m + j] - x[k : n - m + k]
        rows *= math.factorial(m) * (lengths / m)[:, None]
        self._own = rows[:, m].copy()  # positive
        columns = np.arange(n - m)[:, None] + np.arange(m + 1)
        starts = np.arange(0, rows.size + 1, m + 1)
        self.differences = sparse.csr_array((rows.ravel(), order[columns].ravel(), starts), (n - m, n))
        self.gram = factor * _gram_of_splines(x, m)  # (n - m, m), the lower band, one row per column

    @classmethod
    def suited_to(cls, points: np.ndarray, P: np.ndarray, m: int, factor: float) -> LineSplines | None:
        """None if points coincide, or if the columns of P are not the polynomials of degree m - 1."""
        if P.shape[1] != m or len(points) <= m or not (np.diff(np.sort(points)) > 0).all():
            return None
        splines = cls(points, m, factor)
        left = np.abs(splines.differences @ P)
        return splines if (left <= _VANISHING * (np.abs(splines.differences) @ np.abs(P))).all() else None

    def contrasts(self, noise: np.ndarray) -> SplineContrasts | None:
        """The inverse for independent noise of variances (n,); None where so much noise leaves no digits of it."""
        band = self._band(noise, self.gram)
        try:
            return SplineContrasts(self.differences, band)
        except LinAlgError:
            return None

    def log_volume(self, weights: np.ndarray, P: np.ndarray) -> float:
        """log det D W^-1 D', as - log det W + log det P'WP + a number that does not depend on W."""
        x, m = self.points, self.m
        unit = (x - x[0]) / (x[-1] - x[0])
        to_powers = np.linalg.lstsq(np.vander(unit, m), P[self.order], rcond=None)[0]
        first = np.array([unit[k] - unit[j] for k in range(m) for j in range(k)])
        own = 2.0 * np.log(self._own).sum() - 2.0 * np.log(first).sum()
        free = np.linalg.slogdet(P.T @ (weights[:, None] * P))[1] - 2.0 * np.linalg.slogdet(to_powers)[1]
        return float(own + free - np.log(weights).sum())

    def _band(self, noise: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """D N D' plus D Phi D': entry k of row j is that at (j + k, j)."""
        product = (self.differences * noise) @ self.differences.T
        band = np.zeros((product.shape[0], self.m + 1))
        for k in range(self.m + 1):
            band[: max(len(band) - k, 0), k] = product.diagonal(-k)
        band[:, : self.m] += gram
        return band


class SplineContrasts:
    """The inverse of a matrix on the complement of the null space; see LocalContrasts."""

    def __init__(self, differences: sparse.csr_array, band: np.ndarray):
        self.differences = differences
        self.root = cholesky_banded(band.T, lower=True, overwrite_ab=True, check_finite=False)
        self.log_determinant = float(2.0 * np.log(self.root[0]).sum())

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The inverse applied to a vector or to columns."""
        return self.differences.T @ cho_solve_banded((self.root, True), self.differences @ right, check_finite=False)

    def squares(self, right: np.ndarray) -> np.ndarray:
        """right' B right for each column, B the inverse."""
        whitened = solve_banded((len(self.root) - 1, 0), self.root, self.differences @ right, check_finite=False)
        return np.square(whitened).sum(axis=0)

    def diagonal(self) -> np.ndarray:
        """The diagonal of the inverse."""
        inverse, n = np.empty(self.root.T.shape), self.root.shape[1]
        _native.band_inverse(np.ascontiguousarray(self.root.T), inverse)
        diagonals = [inverse[: max(n - k, 0), k] for k in range(min(len(self.root), n))]
        offsets = range(len(diagonals))
        both = sparse.diags_array(
            [*diagonals, *diagonals[1:]], offsets=[*offsets, *(-k for k in offsets[1:])], shape=(n, n), format="csr"
        )
        return np.asarray((self.differences * (both @ self.differences)).sum(axis=0)).ravel()


def _gram_of_splines(x: np.ndarray, m: int) -> np.ndarray:
    """Integrals of products of the B-splines of degree m - 1 over the knots x (n,): (n - m, m), the lower band."""
    n = len(x)
    nodes, weights = np.polynomial.legendre.leggauss(m)
    width = np.diff(x)
    places = x[:-1, None] + 0.5 * width[:, None] * (nodes + 1.0)  # (n - 1, m)
    gram = np.zeros((n - m, m))
    splines = _splines_between(x, m, places)
    integrals = np.einsum("kqi,kqj,q,k->kij", splines, splines, 0.5 * weights, width)
    for i in range(m):  # spline number k - m + 1 + i on the interval k
        for j in range(i, m):
            number = np.arange(n - 1) - m + 1 + i
            inside = (number >= 0) & (number + j - i < n - m)
            gram[number[inside], j - i] += integrals[inside, i, j]
    return gram


def _splines_between(x: np.ndarray, m: int, places: np.ndarray) -> np.ndarray:
    """The m B-splines of order m at places (n - 1, q) between the knots x (n,), by the recursion of Cox and de Boor.

    Knots beyond both ends continue the sequence; what depends on them is no spline over x and is not used.
    """
    step = (x[-1] - x[0]) / (len(x) - 1)
    knots = np.concatenate([x[0] - step * np.arange(m - 1, 0, -1), x, x[-1] + step * np.arange(1, m)])
    interval = np.arange(len(x) - 1) + m - 1
    values = np.zeros((*places.shape, m))
    values[..., -1] = 1.0
    for degree in range(1, m):
        lower = values.copy()
        values[:] = 0.0
        for i in range(m - 1 - degree, m):
            first = interval - m + 1 + i
            rise = (places - knots[first][:, None]) / (knots[first + degree] - knots[first])[:, None]
            values[..., i] += rise * lower[..., i]
            if i + 1 < m:
                fall = (knots[first + degree + 1][:, None] - places) / (knots[first + degree + 1] - knots[first + 1])[
                    :, None
                ]
                values[..., i] += fall * lower[..., i + 1]
    return values
