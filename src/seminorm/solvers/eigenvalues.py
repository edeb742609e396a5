"""Eigenvalues of either sign, largest modulus first, with eigenvectors whose signs are settled."""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

_LANCZOS_FROM = 300
_LANCZOS_SHARE = 0.05
_NEARLY_LARGEST = 1.0 - 1e-6


def signed_spectrum(K: np.ndarray, rounding: float = 0.0, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix by descending modulus (a positive one first among equals), and eigenvectors.

    ``count`` limits how many are computed: few of many by Lanczos' method.

    Eigenvalues up to the modulus ``rounding`` count as zero, which matters if K is the difference of larger matrices.
    The first of the largest entries of each eigenvector is positive.
    """
    if count is not None and len(K) > _LANCZOS_FROM and count < _LANCZOS_SHARE * len(K):
        start = np.random.default_rng(0).standard_normal(len(K))
        values, vectors = eigsh(K, k=count, which="LM", v0=start)
    else:
        values, vectors = eigh(K, check_finite=False)
    order = np.lexsort((-values, -np.abs(values)))
    values, vectors = values[order], vectors[:, order]
    values[np.abs(values) <= max(rounding, 10 * len(K) * np.finfo(float).eps * abs(values[0]))] = 0.0
    modulus = np.abs(vectors)
    first = (modulus >= _NEARLY_LARGEST * modulus.max(axis=0)).argmax(axis=0)
    return values, vectors * np.sign(vectors[first, np.arange(len(values))])


def repair_signs(values: np.ndarray, method: str) -> np.ndarray:
    """1, and 0 ("clip") or -1 ("flip") at negative eigenvalues: factors that make a matrix positive semi-definite."""
    return np.where(values > 0, 1.0, {"clip": 0.0, "flip": -1.0}[method])
