"""Reduction to the complement of the null space, and the path of alphas."""

import numpy as np
import pytest
from scipy.linalg import null_space

from seminorm.kernels import ThinPlate
from seminorm.nullspace import Polynomials
from seminorm.solvers.linear.householder import Reflectors, lower_symmetric
from seminorm.solvers.linear.paths import BandPath, EigenPath
from seminorm.solvers.ridge.system import Factor, ReducedSystem


def problem(rng, n=90, outputs=2):
    X = rng.random((n, 2))
    K, P = ThinPlate()(X), Polynomials(1).fit(X)(X)
    return K, P, rng.standard_normal((n, outputs)), rng.random(n) + 0.2


def test_reflectors_are_orthogonal_and_triangularize(rng):
    A = rng.standard_normal((12, 4))
    Q, R = Reflectors.triangularize(A)
    full = Q.apply(np.eye(12))
    np.testing.assert_allclose(full.T @ full, np.eye(12), atol=1e-13)
    np.testing.assert_allclose(full[:, :4] @ R, A, atol=1e-13)
    np.testing.assert_allclose(Q.apply_transposed(full), np.eye(12), atol=1e-13)


def test_sandwich_in_place(rng):
    S = rng.standard_normal((12, 12))
    S = np.asfortranarray(S + S.T)
    Q, _ = Reflectors.triangularize(rng.standard_normal((9, 3)))
    full = np.eye(12)
    full[3:, 3:] = Q.apply(np.eye(9))
    expected = full.T @ S @ full
    Q.sandwich(S, skip=3)
    np.testing.assert_allclose(lower_symmetric(S), expected, atol=1e-12)
    with pytest.raises(ValueError, match="Fortran"):
        Q.sandwich(np.ascontiguousarray(rng.random((9, 9))))


@pytest.mark.parametrize("band", [1, 4, 16, 64])
@pytest.mark.parametrize("n", [5, 63, 64, 65, 90])
def test_band_path_equals_eigen_path(band, n, rng):
    M = rng.standard_normal((n, n))
    M = np.asfortranarray(M @ M.T)
    z = rng.standard_normal((n, 2))
    alphas = np.logspace(-3, 2, 11)
    band_path, eigen_path = BandPath(M.copy(order="F"), z, band=band), EigenPath(M.copy(order="F"), z)
    for name in ("energy", "squares", "trace", "logdet"):
        ours, theirs = getattr(band_path.summary(alphas), name), getattr(eigen_path.summary(alphas), name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    np.testing.assert_allclose(band_path.solve(0.1), np.linalg.solve(M + 0.1 * np.eye(n), z), rtol=1e-6, atol=1e-9)


def test_reduced_system_solves_the_saddle_system(rng):
    K, P, y, w = problem(rng)
    alpha = 0.03
    saddle = np.block([[K + np.diag(alpha / w), P], [P.T, np.zeros((3, 3))]])
    expected = np.linalg.solve(saddle, np.vstack([y, np.zeros((3, 2))]))
    system = ReducedSystem(K.copy(), P, y, w)
    factor = Factor(system, alpha)
    dual, null = system.coefficients(factor.g)
    np.testing.assert_allclose(dual, expected[:90], atol=1e-9)
    np.testing.assert_allclose(null, expected[90:], atol=1e-9)
    np.testing.assert_allclose(P.T @ dual, 0, atol=1e-10)


def test_factor_summary_equals_direct_computation(rng):
    K, P, y, w = problem(rng)
    root = np.sqrt(w)
    N = null_space((root[:, None] * P).T)
    M = N.T @ (root[:, None] * K * root) @ N + 0.03 * np.eye(87)
    z = N.T @ (root[:, None] * y)
    summary = Factor(ReducedSystem(K.copy(), P, y, w), 0.03).summary()
    np.testing.assert_allclose(summary.trace, np.trace(np.linalg.inv(M)))
    np.testing.assert_allclose(summary.logdet, np.linalg.slogdet(M)[1])
    np.testing.assert_allclose(summary.energy[0], np.einsum("ik,ik->k", z, np.linalg.solve(M, z)))
    np.testing.assert_allclose(summary.squares[0], (np.linalg.solve(M, z) ** 2).sum(axis=0))
