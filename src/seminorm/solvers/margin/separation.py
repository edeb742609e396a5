"""Can the null space alone separate two classes, and if so, by which of its functions? And can the kernel?"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import linprog, nnls

_STEPS = 60
_MARGIN = 1e-6
_RANK = 1e-10


class InseparableError(ValueError):
    """No function of a kernel and null space has the right sign at all points."""


def separates(Q: np.ndarray, y: np.ndarray) -> bool:
    """Whether some b has y_i Q_i b > 0 for all i: Newton's method on the squared hinge in the few dimensions of b."""
    n, r = Q.shape
    if r == 0 or (y == y[0]).all():
        return False
    if r >= n:
        return True
    signed = y[:, None] * Q
    ridge = 1e-10 * (Q**2).sum() / r
    b, loss = np.zeros(r), float(n)
    for _ in range(_STEPS):
        active = signed @ b < 1.0
        if not active.any():
            return True
        rows = signed[active]
        factor = cho_factor(rows.T @ rows + ridge * np.eye(r), check_finite=False)
        step = cho_solve(factor, rows.T @ (1.0 - rows @ b) - ridge * b, check_finite=False)
        length, new_loss = 1.0, np.inf
        while length > 1e-8:
            new_loss = (np.maximum(0.0, 1.0 - signed @ (b + length * step)) ** 2).sum()
            if new_loss < loss:
                break
            length *= 0.5
        if new_loss >= loss * (1 - 1e-10):
            break
        b, loss = b + length * step, new_loss
    return bool((signed @ b).min() > _MARGIN)


def smallest_separator(Q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The b of smallest norm with y_i Q_i b >= 1: least-distance programming by non-negative least squares."""
    signed = y[:, None] * Q
    target = np.zeros(Q.shape[1] + 1)
    target[-1] = 1.0
    stacked = np.vstack([signed.T, np.ones(len(y))])
    weights = nnls(stacked, target, maxiter=30 * max(stacked.shape))[0]
    residual = stacked @ weights - target
    return -residual[:-1] / residual[-1]


def separator_that_vanishes(Q: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The b of smallest norm with y_i Q_i b >= 1 where y_i is -1 or 1, and Q_i b = 0 where it is 0; or None."""
    boundary, labeled = y == 0, y != 0
    if not boundary.any():
        return smallest_separator(Q, y) if separates(Q, y) else None
    if not Q.shape[1]:
        return None
    _, sizes, directions = np.linalg.svd(np.linalg.qr(Q[boundary], mode="r"))
    rank = int((sizes > _RANK * max(sizes.max(initial=0.0), 1.0 / np.sqrt(len(Q)))).sum())
    vanishing = directions[rank:].T
    if not separates(Q[labeled] @ vanishing, y[labeled]):
        return None
    return vanishing @ smallest_separator(Q[labeled] @ vanishing, y[labeled])


def refuse_inseparable(K: np.ndarray, Q: np.ndarray, signs: np.ndarray) -> None:
    """Raise InseparableError if no function f = K a + Q b has y f >= 1 at all points."""
    eigenvalues, vectors = eigh(K)
    reach = np.hstack([vectors[:, eigenvalues > _RANK * eigenvalues[-1]], Q])
    nearest = reach @ np.linalg.lstsq(reach, signs, rcond=None)[0]
    if (signs * nearest > 0).all():
        return
    size = reach.shape[1]
    found = linprog(
        np.zeros(size), A_ub=-signs[:, None] * reach, b_ub=-np.ones(len(signs)), bounds=[(None, None)] * size
    )
    if found.status == 2:
        raise InseparableError(
            "no function of this kernel and null space separates the points labelled -1 and +1. Use a soft margin, a "
            "kernel with more freedom, or check the labels."
        )
