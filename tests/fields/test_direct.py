"""Small systems: their solutions by factors against those by iteration, and the exact smoother as an oracle."""

import numpy as np
import pytest
from field_bases import dense_matrix
from scipy import sparse

from seminorm import FieldSmoother, Functional, Smoother
from seminorm.fields import Settings, Source, fit_field
from seminorm.fields.direct import DirectSolver, independent, is_small
from seminorm.fields.functional_rows import leaf_rows
from seminorm.kernels import Polyharmonic
from seminorm.operators import derivatives
from seminorm.solvers.linear.sparse import BandPattern, factorize

OPERATORS = {"plate": derivatives(2), "tension": 64 * derivatives(1) + derivatives(2)}


def stations(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("functionals", [False, True])
@pytest.mark.parametrize(("d", "degree", "depth"), [(1, 3, 6), (2, 2, 3), (2, 3, 2)])
def test_variances_are_those_of_the_dense_matrix(d, degree, depth, functionals, rng):
    X = 0.5 * rng.random((40, d)) ** 2
    X[0] = 1.0  # refined where the others are
    source = Source.of(X, X[:, 0])
    if functionals:
        blocks = Functional.cell_average(np.zeros((1, d)), np.ones((1, d)))
        observed = [(blocks, [0.3], [5.0])]
        source = FieldSmoother()._source(X, X[:, 0], None, None, None, observed)
    fit = fit_field(source, Settings(alpha=1e-2, depth=depth, degree=degree, margin=0.5))
    tree = fit.field.tree
    assert is_small(tree) and np.count_nonzero(independent(tree)) < tree.size
    solver = DirectSolver(fit.system, fit.alpha)
    assert solver.regular
    functional = Functional.gradients(X[:7]) if functionals else Functional.values(rng.random((50, d)))
    rows = leaf_rows(functional, tree)
    right = (rows @ solver._spread).toarray()
    matrix = dense_matrix(fit.system, fit.alpha)[np.ix_(*[independent(tree)[tree.active]] * 2)]
    expected = np.einsum("ij,ji->i", right, np.linalg.solve(matrix, right.T))
    np.testing.assert_allclose(solver.variances(rows), expected, rtol=1e-8)
    assert solver.variances(rows[:0]).shape == (0,)


def test_what_is_undetermined_is_not_solved_directly(rng):
    X = np.column_stack([rng.random(30), np.zeros(30)])
    fit = fit_field(Source.of(X, X[:, 0]), Settings(alpha=1e-2, depth=2))
    assert not DirectSolver(fit.system, fit.alpha).regular
    assert np.isfinite(fit.posterior().variance(X[:3])).all()


def test_factors_of_bands(rng):
    matrix = sparse.random_array((60, 60), density=0.05, rng=rng)
    matrix = sparse.csc_array(matrix @ matrix.T + sparse.eye_array(60))
    right = rng.standard_normal((60, 2))
    pattern = BandPattern(matrix + sparse.eye_array(60))
    entries = pattern.entries(matrix)
    one, other = pattern.factorize(entries), factorize(matrix)
    np.testing.assert_allclose(one.solve(right), other.solve(right), atol=1e-10)
    assert one.log_determinant() == pytest.approx(other.log_determinant())
    assert pattern.factorize(-entries).log_determinant() == pytest.approx(other.log_determinant())  # not definite
    np.testing.assert_array_equal(pattern.diagonal(entries), matrix.diagonal())
    kept = np.setdiff1d(np.arange(60), [3, 40])
    minor = pattern.factorize(pattern.minor(entries, np.array([3, 40])))
    assert minor.log_determinant() == pytest.approx(np.linalg.slogdet(matrix.toarray()[np.ix_(kept, kept)])[1])


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.parametrize("n", [186, 1500])
def test_small_sets_agree_with_the_exact_smoother(n, operator):
    """At the same alpha, with the default depth: values within a tenth of the noise of 0.1, and deviations of f up to
    the share of detail that is finer than the cells, next to the stations.
    """
    X, y = stations(n)
    Z = np.random.default_rng(1).random((400, 2))
    kernel = Polyharmonic(2) if operator == derivatives(2) else operator.kernel(2)
    exact = Smoother(kernel, alpha=1e-3, prior_variance=1.0).fit(X, y)
    mean, std = exact.predict(Z, return_std=True)
    model = FieldSmoother(1e-3, operator=operator).fit(X, y)
    values, deviations = model.predict(Z, return_std=True)
    assert np.sqrt(np.mean((values - mean) ** 2)) < 0.006 and abs(values - mean).max() < 0.02
    ratio = deviations / model.noise_variance_**0.5 * exact.noise_variance_**0.5 / std
    assert 0.8 < ratio.mean() <= 1.0 and ratio.min() > 0.65 and ratio.max() < 1.02


def test_finer_cells_lead_to_the_exact_smoother():
    X, y = stations(186)
    Z = np.random.default_rng(1).random((60, 2))
    for operator in OPERATORS.values():
        kernel = Polyharmonic(2) if operator == derivatives(2) else operator.kernel(2)
        exact = Smoother(kernel, alpha=1e-3, prior_variance=1.0).fit(X, y)
        mean, std = exact.predict(Z, return_std=True)
        model = FieldSmoother(1e-3, operator=operator, depth=6, tol=1e-6).fit(X, y)
        values, deviations = model.predict(Z, return_std=True)
        np.testing.assert_allclose(values, mean, atol=0.003)
        ratio = deviations / model.noise_variance_**0.5 * exact.noise_variance_**0.5 / std
        assert 0.97 < ratio.min() <= ratio.max() < 1.01
