"""(M + alpha I)^-1 for many alphas from one factorisation of a symmetric positive semi-definite M.

:class:`EigenPath` diagonalises M. :class:`BandPath` stops at a band matrix, M = U B U', which takes matrix-matrix
products only and is several times faster than tridiagonalisation; for a block-tridiagonal B everything a criterion
needs is a recursion over the blocks that costs O(n b^2) per alpha.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import eigh
from tqdm import tqdm

from .householder import Reflectors, lower_symmetric

_BAND = 64
_COMPACT_AT = 0.12
_ALPHAS_AT_ONCE = 8
_SMALL = 1400


@dataclass
class PathSummary:
    """What the criteria are made of, for q alphas and k right-hand sides z."""

    energy: np.ndarray  #: (q, k) z' (M + alpha)^-1 z
    squares: np.ndarray  #: (q, k) |(M + alpha)^-1 z|^2
    trace: np.ndarray  #: (q,) tr (M + alpha)^-1
    logdet: np.ndarray  #: (q,) log det (M + alpha)


def factor_path(
    M: np.ndarray, z: np.ndarray, with_vectors: bool = False, verbose: bool = False
) -> EigenPath | BandPath:
    """The faster of the two factorisations of M (n, n), for right-hand sides z (n, k).

    M is Fortran-contiguous; its lower triangle is read, and it is overwritten. Leave-one-out needs eigenvectors.
    """
    if with_vectors or len(M) <= _SMALL:
        return EigenPath(M, z)
    return BandPath(M, z, verbose=verbose)


class EigenPath:
    """M = V diag(lambda) V'."""

    def __init__(self, M: np.ndarray, z: np.ndarray):
        self.trace = float(np.trace(M))
        driver = "evd" if len(M) <= _SMALL else "evr"  # evd is faster, evr needs two matrices of workspace less
        self.values, self.vectors = eigh(M, lower=True, overwrite_a=True, driver=driver, check_finite=False)
        self.z = self.vectors.T @ z

    def summary(self, alphas: np.ndarray) -> PathSummary:
        """Energies, squares, traces and determinants for each alpha."""
        shifted = self.values + np.asarray(alphas)[:, None]
        # eigenvalues that rounding made negative drown alpha
        shifted[shifted[:, 0] < 0.5 * np.asarray(alphas)] = np.nan
        ratio = self.z / shifted[:, :, None]
        energy, squares = (self.z * ratio).sum(axis=1), (ratio**2).sum(axis=1)
        return PathSummary(energy, squares, (1.0 / shifted).sum(axis=1), np.log(shifted).sum(axis=1))

    def solve(self, alpha: float) -> np.ndarray:
        """(M + alpha)^-1 z."""
        return self.vectors @ (self.z / (self.values + alpha)[:, None])


class BandPath:
    """M = U B U' with B block-tridiagonal, blocks of size ``band``."""

    def __init__(self, M: np.ndarray, z: np.ndarray, band: int = _BAND, verbose: bool = False):
        self.trace = float(np.trace(M))
        self.diagonal: list[np.ndarray] = []
        self.coupling: list[np.ndarray] = []  # block (i + 1, i)
        self.reflectors: list[tuple[int, Reflectors]] = []
        self._reduce(M, band, verbose)
        self.z = self._split(self._rotate(z, transposed=True))

    def _reduce(self, S: np.ndarray, band: int, verbose: bool) -> None:
        """Annihilate everything below the band, one block of columns at a time."""
        n, done, skip = len(S), 0, 0  # done: finished rows of M; skip: those of them that S still holds
        with tqdm(total=n, desc="band reduction", disable=not verbose, leave=False) as bar:
            while True:
                width = min(band, n - done)
                self.diagonal.append(lower_symmetric(S[skip : skip + width, skip : skip + width]))
                below = S[skip + width :, skip : skip + width]
                bar.update(width)
                done, skip = done + width, skip + width
                if done == n:
                    return
                reflectors, R = Reflectors.triangularize(below)
                self.coupling.append(R)
                self.reflectors.append((done, reflectors))
                if skip > _COMPACT_AT * len(S):  # keep the active part contiguous, as the BLAS wrappers want it
                    S, skip = np.asfortranarray(S[skip:, skip:]), 0
                reflectors.sandwich(S, skip)

    def _rotate(self, z: np.ndarray, transposed: bool) -> np.ndarray:
        """U' z or U z."""
        z = np.array(z)
        for start, reflectors in self.reflectors if transposed else reversed(self.reflectors):
            z[start:] = reflectors.apply_transposed(z[start:]) if transposed else reflectors.apply(z[start:])
        return z

    def _split(self, z: np.ndarray) -> list[np.ndarray]:
        return np.split(z, np.cumsum([len(block) for block in self.diagonal])[:-1])

    def summary(self, alphas: np.ndarray) -> PathSummary:
        """Energies, squares, traces and determinants for each alpha; NaN where rounding drowns alpha."""
        alphas = np.asarray(alphas, dtype=float)
        parts = [self._summary(alphas[i : i + _ALPHAS_AT_ONCE]) for i in range(0, len(alphas), _ALPHAS_AT_ONCE)]
        return _join(parts)

    def _summary(self, alphas: np.ndarray) -> PathSummary:
        try:
            return self._recursion(alphas)[0]
        except np.linalg.LinAlgError:  # some alpha drowns in rounding errors: say so for that one alone
            if len(alphas) > 1:
                return _join([self._summary(alphas[i : i + 1]) for i in range(len(alphas))])
            lost = np.full((1, self.z[0].shape[1]), np.nan)
            return PathSummary(lost, lost, lost[:, 0], lost[:, 0])

    def solve(self, alpha: float) -> np.ndarray:
        """(M + alpha)^-1 z."""
        solution = self._recursion(np.array([alpha]))[1]
        return self._rotate(np.concatenate([block[0] for block in solution]), transposed=False)

    def _recursion(self, alphas: np.ndarray) -> tuple[PathSummary, list[np.ndarray]]:
        """Block LDL' downwards; solution and diagonal blocks of the inverse upwards; stacks of all alphas at once."""
        q = len(alphas)
        inverses: list[np.ndarray] = []
        reduced: list[np.ndarray] = []
        logdet = np.zeros(q)
        for i, block in enumerate(self.diagonal):
            pivot = block + alphas[:, None, None] * np.eye(len(block))
            right = np.broadcast_to(self.z[i], (q, *self.z[i].shape))
            if i:
                C = self.coupling[i - 1]
                CX = C @ inverses[-1]
                pivot = pivot - CX @ C.T
                right = right - CX @ reduced[-1]
            L = np.linalg.cholesky(pivot)
            logdet += 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
            L_inverse = np.linalg.inv(L)
            inverses.append(np.swapaxes(L_inverse, 1, 2) @ L_inverse)
            reduced.append(right)
        G = inverses[-1]
        solution = [G @ reduced[-1]]
        trace = np.trace(G, axis1=1, axis2=2)
        for i in range(len(self.diagonal) - 2, -1, -1):
            C, X = self.coupling[i], inverses[i]
            solution.insert(0, X @ (reduced[i] - C.T @ solution[0]))
            CX = C @ X
            G = X + np.swapaxes(CX, 1, 2) @ G @ CX
            trace = trace + np.trace(G, axis1=1, axis2=2)
        energy = sum((z * u).sum(axis=1) for z, u in zip(self.z, solution, strict=True))
        squares = sum((u * u).sum(axis=1) for u in solution)
        return PathSummary(energy, squares, trace, logdet), solution


def _join(parts: list[PathSummary]) -> PathSummary:
    return PathSummary(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(PathSummary))
    )
