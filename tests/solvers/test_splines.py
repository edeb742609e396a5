"""Smoothing splines by band matrices against dense algebra, SciPy, and the smoother's dense solver."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

from seminorm import Smoother
from seminorm._base import blas
from seminorm.kernels import Gaussian, Matern, Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from seminorm.solvers.linear.splines import LineSplines


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_inverse_is_that_of_dense_algebra(m, rng):
    n = 24
    x, noise, weights = rng.permutation(np.arange(n) + 0.5 * rng.random(n)), rng.random(n), rng.uniform(0.5, 2.0, n)
    K, P = Polyharmonic(m).for_dimension(1)(x[:, None]), np.vander(x, m) @ rng.standard_normal((m, m))
    splines = LineSplines.suited_to(x, P, m, 3.0)
    saddle = np.block([[3.0 * K + np.diag(noise), P], [P.T, np.zeros((m, m))]])
    inverse = np.linalg.inv(saddle)[:n, :n]
    contrasts = splines.contrasts(noise)
    size = 1e-7 * np.abs(inverse).max()
    np.testing.assert_allclose(contrasts(np.eye(n)), inverse, atol=size)
    np.testing.assert_allclose(contrasts.diagonal(), np.diag(inverse), atol=size)
    np.testing.assert_allclose(contrasts.squares(np.eye(n)), np.diag(inverse), atol=size)
    root, alpha = np.sqrt(weights)[:, None], 0.3
    Q = np.linalg.qr(root * P, mode="complete")[0][:, m:]
    known = np.linalg.slogdet(Q.T @ (3.0 * root * K * root.T) @ Q + alpha * np.eye(n - m))[1]
    found = splines.contrasts(alpha / weights).log_determinant - splines.log_volume(weights, P)
    np.testing.assert_allclose(found, known, atol=1e-5)


def test_what_is_no_smoothing_spline(rng):
    x = rng.random(20)
    assert LineSplines.suited_to(x, np.vander(x, 2), 2, 1.0) is not None
    assert LineSplines.suited_to(np.repeat(x, 2), np.vander(np.repeat(x, 2), 2), 2, 1.0) is None
    assert LineSplines.suited_to(x, np.vander(x, 3), 2, 1.0) is None
    assert LineSplines.suited_to(x, np.column_stack([np.sin(x), np.ones(20)]), 2, 1.0) is None
    assert LineSplines.suited_to(x[:2], np.vander(x[:2], 2), 2, 1.0) is None


@pytest.mark.parametrize("n", [500, 20_000])
def test_smoothing_splines_of_scipy(n, rng):
    x = (np.arange(n) + 0.9 * rng.random(n)) / n
    y = np.sin(9 * x) + 0.1 * rng.standard_normal(n)
    for alpha in (1e-6, 1e-3):
        ours = Smoother(Polyharmonic(2), alpha=alpha, solver="fast", tol=1e-8).fit(x[:, None], y)
        assert ours.n_iter_ <= 5
        np.testing.assert_allclose(
            ours.predict(x[::50, None]), make_smoothing_spline(x, y, lam=alpha)(x[::50]), atol=1e-5
        )


@pytest.mark.parametrize(
    "kernel",
    [NegativeDistance(), 2.0 * Polyharmonic(2).axis_scale(0.5), Polyharmonic(3), ThinPlate(), Matern(1.5, 0.1)],
    ids=repr,
)
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_alpha_on_the_line(kernel, criterion, rng):
    x = rng.random((1500, 1))
    y = np.sin(20 * x[:, 0]) + 0.1 * rng.standard_normal(1500)
    with blas.one_thread():
        dense, fast = (Smoother(kernel, criterion=criterion, solver=s).fit(x, y) for s in ("dense", "fast"))
    assert abs(fast.alpha_ / dense.alpha_ - 1.0) < 0.1
    np.testing.assert_allclose(fast.edf_, dense.edf_, rtol=0.08)
    np.testing.assert_allclose(fast.predict(x[:100]), dense.predict(x[:100]), atol=2e-3)


@pytest.mark.parametrize("kernel", [Multiquadric(0.02), Gaussian(0.05)], ids=repr)
def test_criterion_of_smooth_kernels_on_the_line(kernel, rng):
    """Where the criterion is flat alphas may differ, but not what they are worth."""
    x = rng.random((1500, 1))
    y = np.sin(20 * x[:, 0]) + 0.1 * rng.standard_normal(1500)
    with blas.one_thread():
        dense, fast = (Smoother(kernel, criterion="gcv", solver=s).fit(x, y) for s in ("dense", "fast"))
    path = dense.alpha_path_
    ours = np.interp(np.log(fast.alpha_), np.log(path["alpha"]), path["score"])
    assert ours <= 1.005 * np.nanmin(path["score"])
