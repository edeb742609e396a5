"""Expansions and linear functionals."""

import pickle

import numpy as np
import pytest
from helpers import case_id, central_difference

import seminorm.functions.expansion as functions
from seminorm import Expansion, Functional, Smoother
from seminorm.functions import Function, cross, design, gram
from seminorm.kernels import Gaussian, Matern, Multiquadric, Polyharmonic, ThinPlate
from seminorm.nullspace import Features, Polynomials, Twin


def expansion(rng, kernel=None, outputs=None):
    kernel = Polyharmonic(4, 2) if kernel is None else kernel
    shape = () if outputs is None else (outputs,)
    X, G = rng.random((8, 2)), rng.random((5, 2))
    observed = rng.random((5, 2)) < 0.7
    functionals = [Functional(X), Functional.gradients(G, observed)]
    dual = rng.standard_normal((sum(f.size for f in functionals), *shape))
    space = Polynomials(kernel.null_degree).fit(X)
    return Expansion(kernel, functionals, dual, space, rng.standard_normal((space(X).shape[1], *shape)))


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("kernel", [Polyharmonic(4, 2), Multiquadric(0.7), Matern(2.5), Gaussian(0.6)], ids=case_id)
def test_gradient_and_hessian(kernel, outputs, rng):
    f = expansion(rng, kernel, outputs)
    Z = rng.random((7, 2)) + 1.1  # away from the points, where every kernel is smooth
    extra = () if outputs is None else (outputs,)
    assert f(Z).shape == (7, *extra)
    np.testing.assert_allclose(f.gradient(Z), central_difference(f, Z), atol=1e-5 * np.abs(f.gradient(Z)).max())
    np.testing.assert_allclose(f.hessian(Z), central_difference(f.gradient, Z), atol=1e-5 * np.abs(f.hessian(Z)).max())
    assert f.hessian(Z).shape == (7, *extra, 2, 2)
    assert isinstance(f, Function)


def test_values_by_hand(rng):
    X, a = rng.random((6, 2)), rng.standard_normal(6)
    f = Expansion(ThinPlate(), [Functional(X)], a, Polynomials(-1).fit(X), np.empty(0))
    Z = rng.random((4, 2))
    np.testing.assert_allclose(f(Z), ThinPlate()(Z, X) @ a)
    assert f.gradient(X).shape == (6, 2)  # the gradient exists at the points of a thin plate,
    with pytest.raises(ValueError, match="coincide"):  # the Hessian does not
        f.hessian(X)


def test_bounded_memory_gives_the_same_values(rng, monkeypatch):
    f = expansion(rng, outputs=2)
    Z = rng.random((53, 2))
    whole = f(Z), f.gradient(Z), f.seminorm()
    monkeypatch.setattr(functions, "_CHUNK_ENTRIES", 100)
    for one, other in zip((f(Z), f.gradient(Z), f.seminorm()), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_seminorm_is_the_quadratic_form(rng):
    f = expansion(rng, Gaussian(0.5), outputs=2)
    expected = np.sqrt(np.einsum("ik,ij,jk->k", f.dual_coef, gram(f.kernel, f.functionals), f.dual_coef))
    np.testing.assert_allclose(f.seminorm(), expected)


def test_functionals_act_on_the_kernel_as_on_any_function(rng):
    """L applied to x -> phi(x, z) by evaluating an expansion, against the matrices."""
    f = expansion(rng, Gaussian(0.5))
    Z = rng.random((4, 2))
    one = Expansion(f.kernel, f.functionals, np.eye(len(f.dual_coef)), f.null_space, np.empty((0, len(f.dual_coef))))
    np.testing.assert_allclose(cross(f.kernel, f.functionals, Z), one(Z).T)


def test_further_functionals_averages_and_laplacians(rng):
    """Functionals beyond values and gradients: interpolate the average over a square and the Laplacian at a point."""
    corners = np.array([[0.2, 0.2], [0.4, 0.2], [0.2, 0.4], [0.4, 0.4]])
    point = np.array([[0.7, 0.6]])
    functionals = [
        Functional(rng.random((6, 2))),
        Functional(corners, 0, np.full((1, 4), 0.25)),
        Functional(point, 2, np.array([[1.0, 0.0, 0.0, 1.0]])),
    ]
    kernel, space = Gaussian(0.7), Polynomials(1).fit(functionals[0].points)
    K, P = gram(kernel, functionals), design(space, functionals)
    y = rng.standard_normal(8)
    saddle = np.block([[K, P], [P.T, np.zeros((3, 3))]])
    solution = np.linalg.solve(saddle, np.r_[y, 0, 0, 0])
    f = Expansion(kernel, functionals, solution[:8], space, solution[8:])
    np.testing.assert_allclose(f(corners).mean(), y[6])
    np.testing.assert_allclose(np.trace(f.hessian(point)[0]), y[7])


@pytest.mark.parametrize("outputs", [None, 2])
def test_saves_without_pickle_and_pickles(outputs, rng, tmp_path):
    f = expansion(rng, outputs=outputs)
    Z = rng.random((5, 2))
    path = f.save(tmp_path / "f.npz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.npz"]
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode  # readable by whoever may read the user's other files
    for copy in (Expansion.load(path), pickle.loads(pickle.dumps(f))):
        assert np.array_equal(copy(Z), f(Z))
        assert np.array_equal(copy.gradient(Z), f.gradient(Z))
        assert np.array_equal(copy.seminorm(), f.seminorm())


def test_saves_composed_kernels_and_fitted_smoothers(rng, tmp_path):
    X = rng.random((30, 2))
    y = np.sin(5 * X[:, 0])
    kernel = 0.5 * (ThinPlate() + Gaussian().axis_scale([1.0, 2.0])) + Matern(2.5).on_columns([1])
    for k in (kernel, Twin.from_data(ThinPlate(), X)):
        f = Smoother(k).fit(X, y).function_
        assert np.array_equal(Expansion.load(f.save(tmp_path / "g.npz"))(X), f(X))


def test_refuses_to_save_code_and_to_load_strangers(rng, tmp_path):
    X = rng.random((20, 2))
    f = Smoother(null_space=Polynomials(1) | Features(np.sin)).fit(X, X[:, 0] ** 2).function_
    target = tmp_path / "f.npz"
    with pytest.raises(ValueError, match="pickle"):
        f.save(target)
    assert not list(tmp_path.iterdir())
    np.savez(
        target, description='{"kind": "object", "module": "os", "class": "system", "parameters": {}, "fitted": {}}'
    )
    with pytest.raises(ValueError, match="forged"):
        Expansion.load(target)
    with pytest.raises(FileNotFoundError, match="no file"):
        Expansion.load(tmp_path / "missing.npz")
    with pytest.raises(FileNotFoundError, match="no folder"):
        expansion(rng).save(tmp_path / "missing" / "f.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="not an npz"):
        Expansion.load(tmp_path / "text.npz")
    np.savez(target, x=np.ones(3))
    with pytest.raises(ValueError, match="not written by"):
        Expansion.load(target)


def test_bad_input(rng):
    f = expansion(rng)
    with pytest.raises(ValueError, match="X must have shape"):
        f(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="dual_coef"):
        Expansion(Gaussian(), [Functional(np.zeros((2, 1)))], [1.0], Polynomials(-1), [])
    with pytest.raises(ValueError, match="columns"):
        Functional(np.zeros((3, 2)), 0, np.ones((1, 4)))
