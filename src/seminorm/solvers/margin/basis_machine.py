"""The machine whose functions have kernel terms at few of many points, the null space complete.

Functions, semi-norm, loss and leave-one-out are those of the machine on all points, restricted to kernel terms at the
centres; with all points as centres it is that machine. Memory is that of a few matrices (m, m) and of blocks of rows.
"""

from collections.abc import Callable
from copy import copy
from functools import partial

import numpy as np
from scipy.linalg import qr, solve_triangular

from ...nullspace.linear_algebra import independent_columns
from ..linear.householder import Reflectors, lower_symmetric
from .features import FeatureCoordinates, FeatureRows, Moments, Variances, WeightedGram
from .machines import SOFT, Coefficients, cholesky_with_ridge, constant_first
from .primal import GramOfActive

JUDGES = 20_000  # points whose leave-one-out values choose alpha, if there are more
_GRAM_BYTES = 2**30  # of sums that are kept for several problems


class BasisMachine:
    """The machine on the centres ``basis`` (m,), indices of points.

    ``raw(points)`` (k, m) are kernel values at the centres, ``core`` (m, m), overwritten, those between centres. P (n,
    p) is what the machine leaves free at all points, ``annihilated`` (m, r) the functions at the centres that the
    coefficients annihilate. With ``soft``, all of P but the constant has a small price.
    ``rows_type`` says where sums over rows are made, and ``watch`` is told how far they are.
    """

    indefinite = False
    removal = None

    def __init__(
        self,
        raw: Callable[[np.ndarray], np.ndarray],
        basis: np.ndarray,
        core: np.ndarray,
        P: np.ndarray,
        annihilated: np.ndarray,
        soft: bool = False,
        tolerance: float = 1e-13,
        rows_type: type[FeatureRows] = FeatureRows,
        watch: Callable[[int, int], None] = lambda done, total: None,
    ):
        self.basis, n = basis, len(P)
        self._combinations = independent_columns(P, tolerance)
        P = P if self._combinations is None else P @ self._combinations
        p = P.shape[1]
        self._R: np.ndarray
        Q, self._R = qr(P, mode="economic") if p else (P, np.empty((0, 0)))
        map = FeatureCoordinates(*_factor(core, annihilated, tolerance), turn=np.eye(p), n_free=p)
        judges = None if n <= JUDGES else np.sort(np.random.default_rng(0).permutation(n)[:JUDGES])
        rows = rows_type(raw, Q, map, judges, watch=watch)
        along = rows.sweep(lambda: Moments(len(basis), p)).of_features(map, np.eye(p)).T
        sizes = rows.sweep(lambda: Variances(lambda U: U[: map.n_kernel]), judges).values
        beside = n * float(sizes.mean()) - float((along**2).sum())
        self.scale = beside / max(n - p, 1)
        if self.scale <= 1e-12 * float(sizes.mean()):  # nothing is left beside the free functions
            self.scale = float(sizes.mean()) or 1.0
        self.Q = Q
        if soft and p > 1:
            turn = np.roll(constant_first(Q), -1, axis=1)
            map = FeatureCoordinates(map.reflectors, map.L, turn, 1, along, SOFT * self.scale)
            self.Q = Q @ turn[:, -1:]
        self.K = rows.with_map(map)
        self._grams: dict[int, GramOfActive] = {}

    def gram(self, owner: int) -> GramOfActive:
        """Sums over active points, kept for each of a few owners."""
        if owner not in self._grams:
            most = max(1, _GRAM_BYTES // (8 * self.K.map.width**2))
            while len(self._grams) >= most:
                self._grams.pop(next(iter(self._grams)))
            self._grams[owner] = GramOfActive(self.K)
        return self._grams[owner]

    def restricted(self, points: np.ndarray) -> "BasisMachine":
        """The machine of the same functions on some of the points."""
        part = copy(self)
        part.K, part.Q, part._grams = self.K.restricted(points), self.Q[points], {}
        return part

    def values(self, parts: tuple) -> np.ndarray:
        """The function with these coordinates, at the machine's points."""
        return self.K.values(np.concatenate(parts[1:3]))

    def expand_many(self, parts: list[tuple]) -> list[Coefficients]:
        """Those of several functions."""
        return [self.expand(*part) for part in parts]

    def expand(
        self, active: np.ndarray | None, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> Coefficients:
        """Coefficients at the centres, and of the null space, from coordinates (``active`` is None), or from slopes at
        active points."""
        if active is not None:
            full = np.zeros((2, len(self.K)))
            full[1, active] = dual
            sums = self.K.sweep(partial(WeightedGram, self.K.map.width), active, tuple(full))
            dual = sums.moment[: self.K.map.n_penalized]
        c, b = self.K.map.coefficients(np.concatenate([dual, null])[:, None])
        null = solve_triangular(self._R, b[:, 0]) if len(self._R) else b[:, 0]
        return Coefficients(self.basis, c[:, 0], null if self._combinations is None else self._combinations @ null)


def _factor(core: np.ndarray, annihilated: np.ndarray, tolerance: float) -> tuple[Reflectors | None, np.ndarray]:
    """Reflections that take the annihilated functions at the centres to the first of these, and the Cholesky factor of
    the kernel matrix on the others."""
    combinations = independent_columns(annihilated, tolerance)
    columns = annihilated if combinations is None else annihilated @ combinations
    core = np.asfortranarray(core)
    reflectors = None
    if columns.shape[1]:
        reflectors = Reflectors.triangularize(columns)[0]
        reflectors.sandwich(core)
    rank = columns.shape[1]
    return reflectors, cholesky_with_ridge(lower_symmetric(core[rank:, rank:]))
