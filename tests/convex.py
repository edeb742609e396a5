"""A general convex solver as an oracle for the machines."""

import clarabel
import numpy as np
from scipy import sparse
from scipy.linalg import block_diag, null_space


def solve_qp(P, q, equalities=None, inequalities=None):
    """min 1/2 x'Px + q'x subject to A x = b and G x <= h."""
    blocks, right, cones = [], [], []
    for pair, cone in ((equalities, clarabel.ZeroConeT), (inequalities, clarabel.NonnegativeConeT)):
        if pair is not None and len(pair[1]):
            blocks.append(np.atleast_2d(pair[0]))
            right.append(np.asarray(pair[1], dtype=float))
            cones.append(cone(len(pair[1])))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    A = sparse.csc_matrix(np.vstack(blocks))
    P = sparse.csc_matrix(np.triu(0.5 * (P + P.T)))
    solution = clarabel.DefaultSolver(P, np.asarray(q, dtype=float), A, np.concatenate(right), cones, settings).solve()
    return np.array(solution.x)


def machine_values(Phi, P, alpha, weights, power, tube):
    """Fitted values of min alpha |f|^2 + sum_i w_i xi_i^power, where xi bounds the violations of the tube.

    ``tube`` lists (signs, offsets): xi_i >= offset_i - sign_i f_i. The kernel is reduced to the complement of P.
    """
    n, N = len(Phi), null_space(P.T) if P.shape[1] else np.eye(len(Phi))
    F = np.hstack([Phi @ N, P])  # f = F (g, b)
    m = F.shape[1]
    energy = block_diag(2 * alpha * N.T @ Phi @ N, np.zeros((P.shape[1],) * 2))
    quadratic = block_diag(energy, 2 * np.diag(weights) if power == 2 else np.zeros((n, n)))
    linear = np.concatenate([np.zeros(m), np.zeros(n) if power == 2 else weights])
    rows = [np.hstack([-(signs[:, None] * F), -np.eye(n)]) for signs, _ in tube] + [
        np.hstack([np.zeros((n, m)), -np.eye(n)])
    ]
    right = [-offsets for _, offsets in tube] + [np.zeros(n)]
    return F @ solve_qp(quadratic, linear, inequalities=(np.vstack(rows), np.concatenate(right)))[:m]
