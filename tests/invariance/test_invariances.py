"""Symmetries as properties: translation, rotation and dilation for every kernel that claims them
[Walder and Chapelle 2007, 2 and 3].
"""

import numpy as np
import pytest
from helpers import case_id
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.stats import ortho_group

from seminorm import Smoother
from seminorm.kernels import Polyharmonic, Polynomial, ThinPlate, all_kernels
from seminorm.nullspace import Polynomials

DIMENSIONS = (1, 2, 3)
CLAIMS = [(k.for_dimension(d), d) for k in all_kernels() for d in DIMENSIONS if d <= k.max_dimension]
seeds = st.integers(0, 2**20)
dilations = st.floats(-3, 3).map(lambda e: 10.0**e)


def claiming(invariance):
    cases = [(k, d) for k, d in CLAIMS if invariance in k.invariances]
    return pytest.mark.parametrize(("kernel", "d"), cases, ids=case_id)


def complement_of_null_space(kernel, X):
    return null_space(Polynomials(kernel.cpd_order - 1).fit(X)(X).T) if kernel.cpd_order else np.eye(len(X))


@claiming("translation")
@given(seed=seeds)
def test_translation(kernel, d, seed):
    rng = np.random.default_rng(seed)
    X, shift = rng.random((10, d)), rng.standard_normal(d)
    np.testing.assert_allclose(kernel(X + shift), kernel(X), atol=1e-10 * max(1.0, np.abs(kernel(X)).max()))


@claiming("rotation")
@given(seed=seeds)
def test_rotation(kernel, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, d))
    rotation = ortho_group.rvs(d, random_state=seed) if d > 1 else -np.eye(1)
    np.testing.assert_allclose(kernel(X @ rotation), kernel(X), atol=1e-10 * max(1.0, np.abs(kernel(X)).max()))


@claiming("dilation")
@given(seed=seeds, s=dilations)
def test_dilation_on_the_complement_of_the_null_space(kernel, d, seed, s):
    X = np.random.default_rng(seed).random((24, d))
    N = complement_of_null_space(kernel, X)
    one, other = N.T @ kernel(X) @ N, N.T @ kernel(s * X) @ N / s**kernel.dilation_degree
    np.testing.assert_allclose(other, one, atol=1e-9 * max(1e-3, np.abs(kernel(X)).max()) * (1 + abs(np.log(s))))


@pytest.mark.parametrize(("kernel", "d"), [c for c in CLAIMS if c[0].dilation_degree is None], ids=case_id)
def test_kernels_without_a_degree_do_not_scale(kernel, d):
    X = np.random.default_rng(0).random((24, d))
    N = complement_of_null_space(kernel, X)
    one, other = N.T @ kernel(X) @ N, N.T @ kernel(2 * X) @ N
    ratio = np.trace(one @ other) / np.trace(one @ one)
    assert np.abs(other - ratio * one).max() > 1e-3 * np.abs(other).max()


@claiming("dilation")
@given(seed=seeds, s=dilations)
def test_dilation_law_of_the_smoother(kernel, d, seed, s):
    """Fitting on s X with alpha s^k gives the function fitted on X with alpha, dilated (corollary 2.3)."""
    rng = np.random.default_rng(seed)
    X, y, Z = rng.random((30, d)), rng.standard_normal(30), rng.random((6, d))
    one = Smoother(kernel, alpha=0.1).fit(X, y)
    other = Smoother(kernel, alpha=0.1 * s**kernel.dilation_degree).fit(s * X, y)
    np.testing.assert_allclose(other.predict(s * Z), one.predict(Z), atol=2e-6)


@pytest.mark.parametrize("kernel", [ThinPlate(), Polyharmonic(3)], ids=case_id)
@given(seed=seeds, s=dilations)
def test_automatic_alpha_makes_the_smoother_invariant(kernel, seed, s):
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2))
    y = np.sin(5 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    moved = s * X @ ortho_group.rvs(2, random_state=seed) + rng.standard_normal(2)
    for criterion in ("gcv", "reml"):
        one, other = (
            Smoother(kernel, criterion=criterion).fit(X, y),
            Smoother(kernel, criterion=criterion).fit(moved, y),
        )
        np.testing.assert_allclose(other.predict(moved), one.predict(X), atol=1e-4)
        np.testing.assert_allclose(other.edf_, one.edf_, rtol=1e-3)


@given(seed=seeds, s=st.floats(0.1, 10), p=st.integers(1, 4))
def test_homogeneous_polynomial_is_transformation_scaled(seed, s, p):
    """Lemma 3.1: k(x, y) = g k(s x, s y) with g = s^(-2p); corollary 2.3: ridge solutions follow with alpha / g."""
    rng = np.random.default_rng(seed)
    kernel = Polynomial(p, offset=0.0)
    X, y, Z = rng.random((12, 2)), rng.standard_normal(12), rng.random((5, 2))
    g = s ** (-2.0 * p)
    np.testing.assert_allclose(kernel(X), g * kernel(s * X), rtol=1e-9)
    one, other = Smoother(kernel, alpha=0.3).fit(X, y), Smoother(kernel, alpha=0.3 / g).fit(s * X, y)
    np.testing.assert_allclose(other.predict(s * Z), one.predict(Z), atol=1e-7)
    assert other.function_.seminorm() ** 2 == pytest.approx(g * one.function_.seminorm() ** 2, rel=1e-6)


@given(seed=seeds)
def test_order_of_the_samples_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((30, 2)), rng.standard_normal(30)
    order = rng.permutation(30)
    one, other = Smoother(alpha=0.1).fit(X, y), Smoother(alpha=0.1).fit(X[order], y[order])
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-9)
