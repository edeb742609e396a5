"""Regularised least squares with a semi-norm: (Phi + alpha W^-1) a + P b = y, P' a = 0.

Scaling by the square roots of the weights and a QR factorisation of P reduce it to (M + alpha I) g = z on the complement of the null
space. :class:`ReducedSystem` holds the reduction, :func:`choose_alpha` walks the path of alphas, :class:`Factor` is the
factorisation at one alpha, with leave-one-out and the posterior covariance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, cholesky, eigh, lapack, solve_triangular

from .householder import Reflectors, lower_symmetric
from .paths import BandPath, EigenPath, PathSummary, factor_path

CRITERIA = ("gcv", "loo", "reml")
_DECADES = (-12, 1)
_PER_DECADE = 3
_REFINEMENTS = 2


class ReducedSystem:
    """The problem on the complement of the null space.

    Parameters
    ----------
    K : array (n, n)
        Kernel matrix; overwritten.
    P : array (n, r)
        Null-space matrix of full column rank.
    y : array (n, k)
    weights : array (n,)
        Positive.
    """

    def __init__(self, K: np.ndarray, P: np.ndarray, y: np.ndarray, weights: np.ndarray):
        self.root = np.sqrt(weights)[:, None]
        K *= self.root
        K *= self.root.T
        S = K.T if K.flags.c_contiguous else np.asfortranarray(K)  # symmetric: the transpose is the same matrix
        r = P.shape[1]
        self.size, self.rank = len(K), r
        if r:
            self.reflectors, self.R = Reflectors.triangularise(self.root * P)
            self.reflectors.sandwich(S)
        y = self.rotate(self.root * y)
        self.corner = lower_symmetric(S[:r, :r])
        self.edge = np.array(S[r:, :r])
        self.M = np.asfortranarray(S[r:, r:])
        self.y_null, self.z = y[:r], y[r:]

    def rotate(self, B: np.ndarray) -> np.ndarray:
        """Q' B: the first ``rank`` rows belong to the null space."""
        return self.reflectors.apply_transposed(B) if self.rank else B

    def coefficients(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dual and null-space coefficients that belong to the solution g of the reduced system."""
        dual = np.concatenate([np.zeros((self.rank, g.shape[1])), g])
        dual = self.root * (self.reflectors.apply(dual) if self.rank else dual)
        null = solve_triangular(self.R, self.y_null - self.edge.T @ g) if self.rank else np.empty((0, g.shape[1]))
        return dual, null

    def take_matrix(self) -> np.ndarray:
        """Hand M over to be overwritten."""
        M, self.M = self.M, None
        return M


@dataclass
class Choice:
    """The regularisation parameter that a criterion chose, and the criterion along the path."""

    alpha: float
    path: dict[str, np.ndarray]
    g: np.ndarray
    summary: PathSummary


def choose_alpha(system: ReducedSystem, criterion: str, alphas: np.ndarray | None = None, verbose: bool = False) -> Choice:
    """Minimise the criterion over a grid of alphas, refined around its minimum unless the grid is given; ties go to the larger alpha."""
    path = factor_path(system.take_matrix(), system.z, with_vectors=criterion == "loo", verbose=verbose)
    grid = _default_grid(path) if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    score = _scorer(criterion, system, path)
    scores, summaries = score(grid)
    best = _last_minimum(scores)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    for _ in range(_REFINEMENTS if alphas is None else 0):
        finer = np.geomspace(low, high, 10)[1:-1]
        finer_scores, finer_summaries = score(finer)
        grid, order = np.unique(np.concatenate([grid, finer]), return_index=True)
        scores = np.concatenate([scores, finer_scores])[order]
        summaries = np.concatenate([summaries, finer_summaries])[order]
        best = _last_minimum(scores)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    alpha = float(grid[best])
    table = {"alpha": grid, "score": scores, "edf": system.size - grid * summaries}
    return Choice(alpha, table, path.solve(alpha), path.summary(np.array([alpha])))


def _default_grid(path: EigenPath | BandPath) -> np.ndarray:
    """From nearly interpolating to nearly the null space alone, in units of the trace of M (so that it scales with the data)."""
    low, high = _DECADES
    return max(path.trace, np.finfo(float).tiny * 1e20) * np.logspace(low, high, (high - low) * _PER_DECADE + 1)


def _last_minimum(scores: np.ndarray) -> int:
    if not np.isfinite(scores).any():
        raise ValueError("alpha could not be chosen: the criterion is not finite for any alpha of the grid. Give alpha a number, or larger candidates.")
    lowest = np.nanmin(np.where(np.isfinite(scores), scores, np.inf))
    return int(np.flatnonzero(scores <= lowest + 1e-12 * abs(lowest))[-1])


def _scorer(criterion: str, system: ReducedSystem, path: EigenPath | BandPath):
    """A function alphas -> (criterion, trace of (M + alpha)^-1)."""

    def score(alphas: np.ndarray):
        summary = path.summary(alphas)
        if criterion == "gcv":
            return generalised_cross_validation(summary, system.size), summary.trace
        if criterion == "reml":
            return restricted_likelihood(summary, system.size - system.rank), summary.trace
        return _leave_one_out_path(system, path, alphas), summary.trace

    floor = np.finfo(float).eps ** 2 * len(system.z) * max((system.y_null**2).sum() + (system.z**2).sum(), np.finfo(float).tiny)
    if (system.z**2).sum() <= floor:  # the null space explains the data: every alpha fits, take the largest
        return lambda alphas: (np.zeros(len(alphas)), path.summary(alphas).trace)
    return score


def generalised_cross_validation(summary: PathSummary, n: int) -> np.ndarray:
    """n |y - A y|^2 / tr(I - A)^2, summed over the outputs; the factors of alpha cancel."""
    return n * summary.squares.sum(axis=1) / summary.trace**2


def restricted_likelihood(summary: PathSummary, degrees: int) -> np.ndarray:
    """Minus the logarithm of the restricted likelihood of z ~ N(0, v (M + alpha I)) with the best v, summed over the outputs."""
    outputs = summary.energy.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = degrees * (np.log(2 * np.pi * summary.energy / degrees) + 1.0).sum(axis=1)
    return 0.5 * (fit + outputs * summary.logdet)


def _leave_one_out_path(system: ReducedSystem, path: EigenPath, alphas: np.ndarray) -> np.ndarray:
    """Weighted mean of the squared leave-one-out residuals for every alpha."""
    vectors = np.concatenate([np.zeros((system.rank, len(path.values))), path.vectors])
    vectors = system.reflectors.apply(vectors) if system.rank else vectors
    diagonal = (vectors**2) @ (1.0 / (path.values[:, None] + alphas))
    total = np.zeros(len(alphas))
    for output in range(path.z.shape[1]):
        dual = vectors @ (path.z[:, output, None] / (path.values[:, None] + alphas))
        total += (_ratio(dual, diagonal) ** 2).sum(axis=0)
    return total / (system.root**2).sum()


def _ratio(dual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return dual / diagonal


class Factor:
    """Factorisation of M + alpha I for one alpha: Cholesky, or, where that breaks down in working precision, a pseudo-inverse with a warning."""

    def __init__(self, system: ReducedSystem, alpha: float):
        self.system, self.alpha = system, alpha
        M = system.take_matrix()
        M[np.diag_indices_from(M)] += alpha
        try:
            self.L, self.W = cholesky(M, lower=True, check_finite=False), None
            self.logdet = 2.0 * np.log(np.diag(self.L)).sum()
        except LinAlgError:
            self.L, self.W = None, self._pseudo_inverse_root(M)
        self.g = self.solve(system.z)

    def _pseudo_inverse_root(self, M: np.ndarray) -> np.ndarray:
        """W with W' W the pseudo-inverse of M + alpha I."""
        values, vectors = eigh(M, lower=True, overwrite_a=True, driver="evr", check_finite=False)
        kept = values > len(M) * np.finfo(float).eps * values[-1]
        self.logdet = np.log(values[kept]).sum()
        warnings.warn(
            f"the system is singular to working precision for alpha={self.alpha:g}: {len(M) - kept.sum()} of {len(M)} directions are lost to rounding (points "
            "nearly coincide, or the kernel is very smooth or only semi-definite), and the data are fitted as far as the others allow. "
            "A larger alpha, alpha='auto' or a rougher kernel avoids it.",
            LinAlgWarning,
            stacklevel=6,
        )
        return (vectors[:, kept] / np.sqrt(values[kept])).T

    def whiten(self, B: np.ndarray) -> np.ndarray:
        """W B with W' W = (M + alpha I)^-1."""
        return self.W @ B if self.L is None else solve_triangular(self.L, B, lower=True, check_finite=False)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(M + alpha I)^-1 B."""
        if self.L is None:
            return self.W.T @ (self.W @ B)
        return solve_triangular(self.L, self.whiten(B), lower=True, trans="T", check_finite=False)

    def summary(self) -> PathSummary:
        energy, squares = (self.system.z * self.g).sum(axis=0), (self.g**2).sum(axis=0)
        trace = (self._inverse_factor() ** 2).sum()
        return PathSummary(energy[None], squares[None], np.array([trace]), np.array([self.logdet]))

    def leave_one_out(self) -> np.ndarray:
        """y_i - f(x_i) with f fitted without observation i (DESIGN 4.4: a_i over the diagonal of the inverse)."""
        system = self.system
        factor = self._inverse_factor()
        columns = np.concatenate([np.zeros((system.rank, len(factor))), factor.T])
        columns = system.reflectors.apply(columns) if system.rank else columns
        diagonal = (columns**2).sum(axis=1)[:, None] * system.root**2
        return _ratio(system.coefficients(self.g)[0], diagonal)

    def posterior_covariance(self, cross: np.ndarray, null: np.ndarray, prior: np.ndarray, diagonal: bool) -> np.ndarray:
        """Covariance of f at new points, in units of the prior variance, with an improper prior on the null space (universal kriging).

        ``cross`` (n, m) and ``null`` (m, r) belong to the new points; ``prior`` is the kernel matrix of the new points, or its diagonal.
        """
        system = self.system
        q = system.rotate(system.root * cross)
        q_null, q_rest = q[: system.rank], q[system.rank :]
        c = solve_triangular(system.R, null.T, trans="T") if system.rank else np.empty((0, cross.shape[1]))
        shifted = system.corner + self.alpha * np.eye(system.rank)
        half = 0.5 * shifted @ c - q_null
        rest = self.whiten(q_rest - system.edge @ c)
        if diagonal:
            return prior + 2.0 * (c * half).sum(axis=0) - (rest**2).sum(axis=0)
        mixed = c.T @ half
        return prior + mixed + mixed.T - rest.T @ rest

    def _inverse_factor(self) -> np.ndarray:
        if self.L is None:
            return self.W
        return np.tril(lapack.dtrtri(self.L, lower=1)[0]) if len(self.L) else self.L
