"""Eigenvalues of either sign, largest modulus first, with eigenvectors whose signs are settled."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

_NEARLY_LARGEST = 1.0 - 1e-6


def signed_spectrum(K: np.ndarray, rounding: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix by descending modulus (of equals the positive first), and its eigenvectors.

    What rounding leaves of zero eigenvalues is set to zero; ``rounding`` tells how large it is if K is the difference
    of larger matrices. In each eigenvector the first of its largest entries is positive.
    """
    values, vectors = eigh(K, check_finite=False)
    order = np.lexsort((-values, -np.abs(values)))
    values, vectors = values[order], vectors[:, order]
    values[np.abs(values) <= max(rounding, 10 * len(K) * np.finfo(float).eps * abs(values[0]))] = 0.0
    modulus = np.abs(vectors)
    first = (modulus >= _NEARLY_LARGEST * modulus.max(axis=0)).argmax(axis=0)
    return values, vectors * np.sign(vectors[first, np.arange(len(values))])
