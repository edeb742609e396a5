"""Rank, unisolvent points and projections of null-space matrices P[i, j] = p_j(x_i)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, svd


def independent_columns(P: np.ndarray, tolerance: float = 1e-13) -> np.ndarray | None:
    """None if P has full column rank, else an orthonormal basis (p, r) of its row space.

    The rank is that of P with columns of unit length, so that it does not depend on units of measurement.
    """
    if P.shape[1] == 0:
        return None
    lengths = np.linalg.norm(P, axis=0)
    largest = lengths.max()
    lengths[lengths <= tolerance * largest] = np.inf
    diagonal = np.abs(np.diag(qr(P / lengths, mode="r", pivoting=True)[0]))
    rank = int((diagonal > max(tolerance, max(P.shape) * np.finfo(float).eps) * max(diagonal[0], 1e-300)).sum())
    if rank == P.shape[1]:
        return None
    return svd(P, full_matrices=False)[2][:rank].T


def unisolvent_subset(P: np.ndarray) -> np.ndarray:
    """Indices of r rows of P (n, r), of full column rank, that determine the coefficients well: pivoted QR of an
    orthonormal basis.
    """
    n, size = P.shape
    if size == 0:
        return np.empty(0, dtype=int)
    if n < size or independent_columns(P) is not None:
        raise ValueError(
            f"no unisolvent subset: {n} points do not determine the {size} functions of the null space. Give more "
            "points in general position."
        )
    orthonormal = qr(P, mode="economic")[0]
    return np.sort(qr(orthonormal.T, mode="r", pivoting=True)[1][:size])


def project_kernel_matrix(K: np.ndarray, P: np.ndarray) -> np.ndarray:
    """(1 - Q Q') K (1 - Q Q') with Q an orthonormal basis of the columns of P (seed 003, examples 12 and 13).

    With P a column of ones this is the centring of kernel PCA. The result is positive semi-definite if K is
    conditionally positive definite with respect to the space that P spans.
    """
    K, P = np.asarray(K, dtype=float), np.asarray(P, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or P.ndim != 2 or len(P) != len(K):
        raise ValueError(f"K must be (n, n) and P (n, p), got shapes {K.shape} and {P.shape}.")
    combinations = independent_columns(P)
    Q = qr(P if combinations is None else P @ combinations, mode="economic")[0]
    half = Q @ (Q.T @ K)
    projected = K - half - half.T + (half @ Q) @ Q.T
    return 0.5 * (projected + projected.T)
