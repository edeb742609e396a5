"""Minima of a quadratic form over unit vectors: n' Q n, Q (n d, n d) positive definite, n of n vectors of length 1.

The problem is not convex. Its relaxation is nearly so: min tr V' Q V over matrices V (n d, p) whose blocks (d, p) have
Frobenius norm 1. With p = 1 it is the problem itself; a few columns mostly suffice for the minimum of the semi-definite
relaxation [Burer and Monteiro 2003]. Its leading singular vector, with blocks brought to length 1, is a good start.

At a stationary point Q n = diag(mu) n with mu_i = n_i . (Q n)_i. For all other unit vectors m

    m' Q m = n' Q n + m' (Q - diag(mu)) m,

so n is the global minimum if Q - diag(mu) is positive semi-definite: a certificate. Where some of the vectors are fixed
the others minimise n' Q n + 2 b' n, and ``linear`` is b.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from .._base import blas

_MEMORY = 10  # steps that L-BFGS remembers
_GRADIENT = 1e-5  # largest entry of the gradient, relative to the energy per vector


def unit_blocks(V: np.ndarray) -> np.ndarray:
    """Blocks V (n, d) or (n, d, p), each brought to norm 1."""
    norms = np.sqrt((V**2).sum(axis=tuple(range(1, V.ndim)), keepdims=True))
    return V / np.maximum(norms, np.finfo(float).tiny)


def energy(Q: np.ndarray, V: np.ndarray, linear: np.ndarray | float = 0.0) -> float:
    """tr V' (Q V + 2 linear) for blocks V (n, d) or (n, d, p)."""
    return float((V * (_applied(Q, V) + 2.0 * linear)).sum())


def descend(
    Q: np.ndarray,
    start: np.ndarray,
    linear: np.ndarray | float = 0.0,
    *,
    max_iter: int = 500,
    reduction: float = 1e-9,
) -> np.ndarray:
    """A local minimum over blocks of norm 1 next to the start (n, d) or (n, d, p), by L-BFGS over V = U / |U|.

    It ends when the energy falls by less than ``reduction``, relative to its quadratic part at the start.
    """
    shape, first = start.shape, max(energy(Q, unit_blocks(start)), np.finfo(float).tiny)
    axes = tuple(range(1, start.ndim))

    def slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        U = flat.reshape(shape)
        norms = np.sqrt((U**2).sum(axis=axes, keepdims=True))
        V = U / norms
        image = _applied(Q, V) + linear
        own = (V * image).sum(axis=axes, keepdims=True)
        value = own.sum() + (V * linear).sum()
        return float(value) / first, (2.0 / first * (image - own * V) / norms).ravel()

    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "maxcor": _MEMORY, "gtol": _GRADIENT / len(start)}
    with blas.suited_to(len(Q)):
        found = minimize(slope, start.ravel(), jac=True, method="L-BFGS-B", options={**options, "ftol": reduction})
    return unit_blocks(found.x.reshape(shape))


def leading_blocks(V: np.ndarray) -> np.ndarray:
    """Unit vectors (n, d) nearest to relaxed blocks (n, d, p): of the leading left singular vector."""
    n, d, p = V.shape
    return unit_blocks(np.linalg.svd(V.reshape(n * d, p), full_matrices=False)[0][:, 0].reshape(n, d))


def is_global_minimum(Q: np.ndarray, vectors: np.ndarray, gap: float) -> bool:
    """Whether no unit vectors have an energy below (1 - gap) times that of these ones (n, d), which are stationary.

    Tested is whether Q - diag(mu) + (gap energy / n) I is positive definite.
    """
    n, d = vectors.shape
    multipliers = (vectors * _applied(Q, vectors)).sum(axis=1)
    shifted = np.array(Q, order="F")
    shifted[np.diag_indices_from(shifted)] += gap * multipliers.sum() / n - np.repeat(multipliers, d)
    return lapack.dpotrf(shifted, lower=1, overwrite_a=1)[1] == 0


def curvature_diagonal(Q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Trace (n,) of each vector's block of H^-1, H = T' (Q - diag(mu)) T, for a minimum (n, d) with tangents T.

    H is half the Hessian of the energy over the product of spheres: the squared angle by which each vector turns if the
    energy may rise by one unit. Infinite where H is not positive definite.
    """
    n, d = vectors.shape
    tangents = np.linalg.svd(vectors[:, None, :])[2][:, 1:, :]  # (n, d - 1, d)
    half = np.einsum("ika,iajb->ikjb", tangents, Q.reshape(n, d, n, d), optimize=True)
    H = np.einsum("ikjb,jlb->ikjl", half, tangents, optimize=True).reshape(n * (d - 1), -1)
    H[np.diag_indices_from(H)] -= np.repeat((vectors * _applied(Q, vectors)).sum(axis=1), d - 1)
    L, failed = lapack.dpotrf(np.asfortranarray(H), lower=1)
    if failed:
        return np.full(n, np.inf)
    return np.diag(lapack.dpotri(L, lower=1)[0]).reshape(n, d - 1).sum(axis=1)


def _applied(Q: np.ndarray, V: np.ndarray) -> np.ndarray:
    return (Q @ V.reshape(len(Q), -1)).reshape(V.shape)
