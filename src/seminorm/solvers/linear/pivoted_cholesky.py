"""Low-rank factors of a positive semi-definite matrix of which only some columns are ever computed."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack, solve_triangular

_BLOCK = 32
_CANDIDATES = 4
_INDEPENDENT = 0.1


def pivoted_cholesky(
    columns: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, tolerance: float, max_rank: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """F (n, r) and pivots (r,) with K = F F' up to a semi-definite rest, and the largest diagonal entry of the rest.

    ``columns(indices)`` are columns of K (n, k), and ``diagonal`` (n,) is its diagonal. Pivots are where the rest is
    largest, a block of them at a time, chosen so that none is nearly explained by others. It ends when the largest
    entry is at most the tolerance, or at the rank ``max_rank``. The rows of F at the pivots are lower triangular.
    """
    n = len(diagonal)
    rest, pivots = diagonal.astype(float).copy(), np.empty(0, dtype=int)
    F = np.zeros((n, min(max_rank, 4 * _BLOCK)))
    rank = 0
    while rank < max_rank and rest.max() > tolerance:
        size = min(_BLOCK, max_rank - rank)
        likely = np.argpartition(-rest, min(_CANDIDATES * size, n - 1))[: _CANDIDATES * size]
        likely = np.sort(likely[rest[likely] > tolerance])
        block = columns(likely) - F[:, :rank] @ F[likely, :rank].T
        chosen = _well_chosen(block[likely], size)
        new = likely[chosen]
        L = np.linalg.cholesky(block[np.ix_(new, chosen)])
        if rank + len(new) > F.shape[1]:
            F = np.hstack([F, np.zeros((n, min(F.shape[1], max_rank - F.shape[1])))])
        F[:, rank : rank + len(new)] = solve_triangular(L, block[:, chosen].T, lower=True, check_finite=False).T
        F[new, rank : rank + len(new)] = L  # to the last bit: zeros above the diagonal
        rest -= (F[:, rank : rank + len(new)] ** 2).sum(axis=1)
        pivots = np.concatenate([pivots, new])
        rest[pivots] = 0.0
        F[pivots[: -len(new)], rank : rank + len(new)] = 0.0
        rank += len(new)
    return np.ascontiguousarray(F[:, :rank]), pivots, float(max(rest.max(), 0.0))


def _well_chosen(block: np.ndarray, size: int) -> np.ndarray:
    """Positions of up to ``size`` columns of a small matrix by Cholesky with pivoting, none nearly explained by the
    others."""
    C, order, rank, _ = lapack.dpstrf(np.array(block, order="F"), lower=1)
    pivots = np.diagonal(C)[:rank] ** 2
    few = int(np.count_nonzero(np.cumprod(pivots > _INDEPENDENT * pivots[0]))) if rank else 0
    return order[: max(min(few, size), 1)] - 1
