"""Compiled loops of tangent distances: small systems for sixteen pairs side by side."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

LANES = 16


@njit(cache=True, parallel=True)
def two_sided(squares, g, h, S, spring: float, out) -> None:
    """Squared distances of two planes with springs.

    With D = squares (n, m), g (n, p, m) = T_x (x - y), h (p, n, m) = T_y (x - y) and S (n, p, p, m) = T_x T_y' the
    least of |x + T_x' a - y - T_y' b|^2 + spring (|a|^2 + |b|^2) is, after elimination of a,

        D - s |g|^2 - w' M^-1 w,   w = h - s S' g,   M = (1 + spring) I - s S' S,   s = 1 / (1 + spring).
    """
    n, p, m = g.shape
    s = np.float32(1.0 / (1.0 + spring))
    blocks = (m + LANES - 1) // LANES
    for i in prange(n):
        M = np.empty((p, p, LANES), dtype=np.float32)
        w = np.empty((p, LANES), dtype=np.float32)
        value = np.empty(LANES, dtype=np.float32)
        part = np.empty((p, p, LANES), dtype=np.float32)
        own = np.empty((p, LANES), dtype=np.float32)
        for block in range(blocks):
            start = block * LANES
            width = min(LANES, m - start)
            part[:] = 0.0
            own[:] = 0.0
            w[:] = 0.0
            for a in range(p):
                for lane in range(width):
                    own[a, lane] = g[i, a, start + lane]
                    w[a, lane] = h[a, i, start + lane]
                for b in range(p):
                    for lane in range(width):
                        part[a, b, lane] = S[i, a, b, start + lane]
            value[:] = 0.0
            for lane in range(width):
                value[lane] = squares[i, start + lane]
            _eliminate(part, own, w, s, np.float32(1.0 + spring), M, value)
            for lane in range(width):
                out[i, start + lane] = max(value[lane], np.float32(0.0))


@njit(cache=True)
def _eliminate(S, g, w, s, diagonal, M, value) -> None:
    p = len(g)
    for a in range(p):
        for lane in range(LANES):
            value[lane] -= s * g[a, lane] * g[a, lane]
    for a in range(p):
        for c in range(p):
            for lane in range(LANES):
                w[a, lane] -= s * S[c, a, lane] * g[c, lane]
        for b in range(a + 1):
            for lane in range(LANES):
                M[a, b, lane] = 0.0
            for c in range(p):
                for lane in range(LANES):
                    M[a, b, lane] -= s * S[c, a, lane] * S[c, b, lane]
        for lane in range(LANES):
            M[a, a, lane] += diagonal
    for a in range(p):  # M = L L', w -> L^-1 w, in place
        for b in range(a):
            for c in range(b):
                for lane in range(LANES):
                    M[a, b, lane] -= M[a, c, lane] * M[b, c, lane]
            for lane in range(LANES):
                M[a, b, lane] *= M[b, b, lane]
            for lane in range(LANES):
                M[a, a, lane] -= M[a, b, lane] * M[a, b, lane]
            for lane in range(LANES):
                w[a, lane] -= M[a, b, lane] * w[b, lane]
        for lane in range(LANES):
            M[a, a, lane] = np.float32(1.0) / np.sqrt(M[a, a, lane])  # the reciprocal: it is what is needed
        for lane in range(LANES):
            w[a, lane] *= M[a, a, lane]
        for lane in range(LANES):
            value[lane] -= w[a, lane] * w[a, lane]
