"""The matrices of a margin machine: from kernel and null-space matrices to a positive definite problem, and back to
coefficients.

All machines present the problem as f = K a + Q b with Q'a = 0, K positive definite and Q orthonormal. They differ in
what is free: :class:`FreeMachine` leaves the whole null space free; :class:`SoftMachine` leaves the constant free, and
penalises the rest lightly; :class:`DenseMachine` is the machine with coefficients orthogonal to the null space and
nothing, or only the constant, free [Walder and Chapelle 2007, 6.2].
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, eigh, lapack, qr, solve_triangular

from ...nullspace.linear_algebra import independent_columns
from ..eigenvalues import repair_signs
from .active_set import BasisRemoval

_FEW = 8  # points per function that is annihilated, up to which a kernel term matters
_SMALL = 500  # and points up to which it costs little to take it along
SOFT = 10.0  # eigenvalue of the penalised polynomials, in mean eigenvalues of the kernel beside them
_ROWS_AT_ONCE = 512
_RIDGES = (1e-10, 1e-9, 1e-8)


@dataclass
class Coefficients:
    """Of the kernel at some points, and of the null space."""

    points: np.ndarray  #: indices of the points with a kernel term
    dual: np.ndarray
    null: np.ndarray


class FreeMachine:
    """The null space is free: K = Pi Phi Pi + c Q Q', c the mean eigenvalue.

    Phi (n, n) is overwritten; ``indefinite`` says that it may have negative eigenvalues beside the null space, and K
    with it. If the columns of P (n, r) are dependent, the coefficients of smallest norm are taken.
    """

    def __init__(self, Phi: np.ndarray, P: np.ndarray, tolerance: float = 1e-13, indefinite: bool = False):
        self.indefinite = indefinite
        self.combinations = independent_columns(P, tolerance)
        P = P if self.combinations is None else P @ self.combinations
        self.Q: np.ndarray
        self.R: np.ndarray
        self.Q, self.R = qr(P, mode="economic") if P.shape[1] else (P, np.empty((0, 0)))
        self.PhiQ = Phi @ self.Q
        self.K = _project_and_fill(Phi, self.Q, self.PhiQ)
        self.scale = float(np.trace(self.K)) / len(self.K)  # filling in the mean eigenvalue has not changed the mean
        if indefinite and self.scale <= 0:
            self.scale = float(np.linalg.norm(self.K)) / np.sqrt(len(self.K)) or 1.0

    def expand_many(self, parts: list[tuple]) -> list[Coefficients]:
        """Those of several functions."""
        return [self.expand(*part) for part in parts]

    removal = None  # a point outside the active set has no kernel term that could leave

    def expand(
        self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> Coefficients:
        """f = sum_active dual phi(., x_i) + P b: undo the change of the null coefficients."""
        if len(self.R):
            null = solve_triangular(self.R, null - self.PhiQ[active].T @ dual)
        return Coefficients(active, dual, null if self.combinations is None else self.combinations @ null)


class SoftMachine:
    """The constant is free and the rest of the null space penalised lightly: K = Pi Phi Pi + c Q1 Q1'.

    Q1 are the functions of the null space beside the constant, orthonormal on the data, and c is ``SOFT`` times the
    mean eigenvalue of Pi Phi Pi. Translations, rotations and dilations of the data still change nothing but alpha. Phi
    (n, n) is overwritten; the constant must be in the span of P (n, r).
    """

    indefinite = False
    removal = None

    def __init__(self, Phi: np.ndarray, P: np.ndarray, tolerance: float = 1e-13):
        self._whole = FreeMachine(Phi, P, tolerance)
        self._turn = constant_first(self._whole.Q)
        turned = self._whole.Q @ self._turn
        self.Q, self._linear = turned[:, :1], turned[:, 1:]
        self.K = self._whole.K
        mean = float(self.Q[:, 0] @ self.K @ self.Q[:, 0])  # what the free machine filled in
        self._weight = SOFT * mean
        _subtract_product(self.K, (mean - self._weight) * self._linear, self._linear)
        self.scale = mean

    def expand_many(self, parts: list[tuple]) -> list[Coefficients]:
        """Those of several functions."""
        return [self.expand(*part) for part in parts]

    def expand(
        self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> Coefficients:
        """Pi a on all points: the part of a along the polynomials becomes a polynomial."""
        n = len(self.K)
        along = self._linear[active].T @ dual
        full = np.zeros(n)
        full[active] = dual
        full -= self._linear @ along  # a is orthogonal to the constant
        turned = self._turn @ np.concatenate([null, self._weight * along])
        return self._whole.expand(np.arange(n), full, turned)


def constant_first(Q: np.ndarray) -> np.ndarray:
    """An orthogonal matrix (r, r) that turns the columns of Q (n, r) so that the first one is constant."""
    n = len(Q)
    along = Q.T @ np.full(n, n**-0.5)
    if not np.linalg.norm(along) > 1 - 1e-8:
        raise ValueError("null_space='soft' leaves the constant free, and the null space does not contain it.")
    return qr(along[:, None])[0]


class RepairedMachine(FreeMachine):
    """The free machine of an indefinite kernel matrix whose negative eigenvalues are set to zero, or to their moduli.

    With K = V diag(l) V' and S = V diag(h) V', h = 1 for l > 0 and 0 ("clip") or -1 ("flip") for l < 0, the machine of
    the positive semi-definite K S is an expansion of the kernel itself, with coefficients S a on all points: test
    points need no repair of their own.
    """

    def __init__(self, Phi: np.ndarray, P: np.ndarray, tolerance: float = 1e-13, repair: str = "clip"):
        super().__init__(Phi, P, tolerance, indefinite=True)
        eigenvalues, self._vectors = eigh(self.K, driver="evr", check_finite=False)
        self._signs = repair_signs(eigenvalues, repair)
        self.K = (self._vectors * (eigenvalues * self._signs)) @ self._vectors.T
        self.scale, self.indefinite = float(np.trace(self.K)) / len(self.K), False

    def expand(
        self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray | None = None
    ) -> Coefficients:
        """Coefficients S a on all points."""
        if not len(active):
            return super().expand(active, dual, null, values)
        full = self._vectors @ (self._signs * (self._vectors[active].T @ dual))
        return super().expand(np.arange(len(self.K)), full, null, values)


class ProjectedKernel(FreeMachine):
    """The free machine as a kernel matrix beside its null space, and the functions of its combinations."""

    def definite_part(self) -> np.ndarray:
        """Pi Phi Pi."""
        projected = np.array(self.K)
        _subtract_product(projected, self._filling() * self.Q, self.Q)
        return projected

    @property
    def rounding(self) -> float:
        """How large rounding errors of eigenvalues may be: relative to what was projected out, too."""
        size = max(float(np.abs(self.PhiQ).max(initial=0.0)), abs(self._filling()))
        return len(self.K) * np.finfo(float).eps * size

    def functions(self, combinations: np.ndarray, filled: bool) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n, k) and (p, k) of functions with values K a (if filled) or Pi Phi Pi a, a (n, k)."""
        along = self.Q.T @ combinations
        dual = combinations - self.Q @ along
        null = self._filling() * along if filled else np.zeros_like(along)
        return dual, self.expand(np.arange(len(dual)), dual, null).null

    def _filling(self) -> float:
        return float(self.Q[:, 0] @ self.K @ self.Q[:, 0]) if self.Q.shape[1] else 0.0


class DenseMachine:
    """Coefficients orthogonal to the null space, nothing or the constant free.

    The kernel of the machine is K0 = Phi - Q S Q', positive semi-definite; the expansion runs over all points, which
    are distinct. Phi (n, n) is overwritten; ``free`` (n, q) is what is left free on the data: no column, or ones.
    """

    indefinite = False

    def __init__(self, Phi: np.ndarray, P: np.ndarray, free: np.ndarray, tolerance: float = 1e-13):
        combinations = independent_columns(P, tolerance)
        P = P if combinations is None else P @ combinations
        Q = qr(P, mode="economic")[0] if P.shape[1] else P
        self._along = Q
        core = np.array(Phi).T  # symmetric: a view in Fortran's order
        PhiQ = core @ Q
        corner = Q.T @ PhiQ
        _project_and_fill(core, Q, PhiQ)
        try:
            self.L = cholesky_with_ridge(core)
        except LinAlgError:
            raise ValueError(
                "the expansion with coefficients orthogonal to the null space needs distinct points, and some points "
                "coincide (or nearly): remove duplicates, expand on fewer points, or leave the null space free."
            ) from None
        self._edge = PhiQ - Q @ corner
        S = corner - self._edge.T @ cho_solve((self.L, True), self._edge, check_finite=False)
        _subtract_product(Phi, Q @ S, Q)
        self.K0 = Phi
        inner = FreeMachine(self.K0, free)
        self.K, self.Q, self.scale, self._inner = inner.K, inner.Q, inner.scale, inner

    @cached_property
    def removal(self) -> BasisRemoval | None:
        """What leaving out a point takes from the kernel, besides its loss: much only while points are few."""
        n, r = len(self.K), self._along.shape[1]
        if n > max(_FEW * r, _SMALL):
            return None
        # V = Phi Pi G^-1 Pi = I + Qb (G^-1 Pi Phi Qb - Qb)', Qb of the polynomials, then projected from the free
        # functions; W = Pi G^-1 Pi
        right = cho_solve((self.L, True), self._edge, check_finite=False) - self._along
        left = self._along - self.Q @ (self.Q.T @ self._along)
        W = np.empty(n)
        for start in range(0, n, _ROWS_AT_ONCE):
            columns = np.zeros((n, min(_ROWS_AT_ONCE, n - start)))
            columns[start + np.arange(columns.shape[1]), np.arange(columns.shape[1])] = 1.0
            whitened = solve_triangular(self.L, self._project(columns), lower=True, check_finite=False)
            W[start : start + columns.shape[1]] = np.einsum("ij,ij->j", whitened, whitened)
        return BasisRemoval(np.hstack([left, -self.Q]), np.hstack([right, self.Q]), W, self.K, self.Q)

    def _project(self, B: np.ndarray) -> np.ndarray:
        return B - self._along @ (self._along.T @ B)

    def expand(self, active: np.ndarray, dual: np.ndarray, null: np.ndarray, values: np.ndarray) -> Coefficients:
        """The coefficients at the points whose kernel sum has the values K0 a, and the free constant."""
        return self.expand_many([(active, dual, null, values)])[0]

    def expand_many(self, parts: list[tuple]) -> list[Coefficients]:
        """Several machines at once: the triangular solves run through the large factor once for all."""
        # Pi K0 a = Pi K a, because the free part is in the null space
        right = np.column_stack([values - self.Q @ null for _, _, null, values in parts])
        full = cho_solve((self.L, True), self._project(right), check_finite=False)
        full = self._project(full)
        everything = np.arange(len(full))
        return [Coefficients(everything, full[:, k], self._inner.expand(*part).null) for k, part in enumerate(parts)]


def cholesky_with_ridge(core: np.ndarray) -> np.ndarray:
    """Cholesky factor; very smooth kernels or points that nearly meet need a ridge of 1e-10 of the mean eigenvalue, or,
    many of them, some more."""
    diagonal = core.diagonal().copy()
    L, info = lapack.dpotrf(core, lower=1, overwrite_a=1, clean=0)
    for ridge in _RIDGES:
        if info <= 0:
            return L  # its upper triangle holds nothing of use
        L = np.asfortranarray(np.triu(L, 1).T)  # the upper triangle was not touched: start again from it
        L[np.diag_indices_from(L)] = diagonal + ridge * diagonal.mean()
        L += np.tril(L, -1).T
        L, info = lapack.dpotrf(L, lower=1, overwrite_a=1, clean=0)
    if info > 0:
        raise LinAlgError
    return L


def _project_and_fill(Phi: np.ndarray, Q: np.ndarray, PhiQ: np.ndarray) -> np.ndarray:
    """Pi Phi Pi + c Q Q' in place, c the mean eigenvalue of the first part."""
    corner = Q.T @ PhiQ
    mean = float(np.trace(Phi) - np.trace(corner)) / max(len(Phi) - Q.shape[1], 1)
    size = float(np.abs(PhiQ).max(initial=0.0))
    if mean <= 1e-12 * size:  # nothing is left beside the null space: any positive number serves
        mean = size or 1.0
    _subtract_symmetric_product(Phi, PhiQ - 0.5 * Q @ (corner + mean * np.eye(len(corner))), Q)
    return Phi


def _subtract_symmetric_product(K: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """K -= A B' + B A' in place."""
    _subtract_product(K, np.hstack([A, B]), np.hstack([B, A]))


def _subtract_product(K: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """K -= A B' in place, a block of rows at a time."""
    for start in range(0, len(K), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        K[rows] -= A[rows] @ B.T
