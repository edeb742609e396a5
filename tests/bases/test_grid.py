import numpy as np
import pytest

from seminorm.bases import GridBasis, GridBox
from seminorm.fields import Field
from seminorm.fields.system import Energy


@pytest.mark.parametrize(("d", "degree"), [(1, 2), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_matrices_agree_with_fields(d, degree):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 5.0, (50, d))
    basis = GridBasis.around(X, 5, margin=0.3, degree=degree)
    coef = rng.standard_normal(basis.size)
    for order in range(1, degree + 1):
        field = Field.on_grid(basis, coef, order)
        assert np.allclose(basis.values(X) @ coef, field(X))
        gradients = np.stack([g @ coef for g in basis.gradients(X)], axis=1) / basis.box.scale
        assert np.allclose(gradients, field.gradient(X))
        assert np.isclose(coef @ (basis.energy(order) @ coef), Energy(field.tree, order)(field.coef))


def test_products_agree_with_quadrature():
    rng = np.random.default_rng(0)
    basis = GridBasis(GridBox([1.0, -1.0], [2.0, 2.0], 0.25, [4, 6]), degree=3)
    coef, other = rng.standard_normal((2, basis.size))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    axes = [(np.arange(n)[:, None] + (nodes + 1) / 2).ravel() for n in (4, 6)]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2) * 0.5 + [1.0, -1.0]
    W = np.multiply.outer(np.tile(weights / 2, 4), np.tile(weights / 2, 6)).ravel() * 0.25**2
    expected = W @ (Field.on_grid(basis, coef, 2)(X) * Field.on_grid(basis, other, 2)(X))
    assert np.isclose(coef @ (basis.products() @ other), expected)
    assert np.allclose(basis.solve_products(basis.products() @ coef), coef)


def test_refinement_keeps_the_function():
    X = np.random.default_rng(0).random((40, 3))
    basis = GridBasis(GridBox([0.0] * 3, [1.0] * 3, 0.125, [8, 8, 8]), degree=2)
    coef = np.random.default_rng(1).standard_normal(basis.coarser().size)
    assert np.allclose(basis.values(X) @ (basis.refinement() @ coef), basis.coarser().values(X) @ coef)
    with pytest.raises(ValueError, match="none of half as many"):
        GridBasis(GridBox([0.0], [1.0], 0.2, [5]), degree=2).coarser()


def test_centers_are_the_maxima():
    basis = GridBasis(GridBox([0.0, 0.0], [2.0, 1.0], 0.25, [4, 4]), degree=3)
    inner = np.ravel_multi_index((3, 3), basis.shape)
    coef = np.zeros(basis.size)
    coef[inner] = 1.0
    field, center = Field.on_grid(basis, coef, 2), basis.centers()[inner : inner + 1]
    assert np.allclose(field.gradient(center), 0.0)
    assert np.isclose(field(center)[0], (2 / 3) ** 2)


def test_points_outside_the_box_are_refused():
    with pytest.raises(ValueError, match="outside the box"):
        GridBasis(GridBox([0.0], [1.0], 0.2, [5]), degree=2).values(np.array([[1.5]]))
