"""Machines on invariant kernels give functions that are invariant, whatever the base kernel leaves free."""

import numpy as np
import pytest
from scipy.linalg import null_space

from seminorm import SVC, SVR, EnclosingHypersphere, KernelNeighbors, KernelPCA, KernelPerceptron, Smoother
from seminorm._base.saving import load_npz, save_npz
from seminorm.invariance import (
    AveragedPolynomials,
    CurveShift,
    DistanceKernel,
    Euclidean,
    ImageShift,
    IntegrationKernel,
    MinimumDistance,
    Permutations,
    Reflection,
    Rotation,
    Scaling,
    SineWave,
)
from seminorm.kernels import Gaussian, Linear, Multiquadric, NegativeDistance, Polyharmonic, Polynomial, ThinPlate
from seminorm.nullspace import Polynomials, null_space_for
from seminorm.nullspace.specification import free_functions

BASES = [
    Gaussian(),
    NegativeDistance(),
    Multiquadric(),
    Linear(),
    Polynomial(2),
    ThinPlate(),
    Polyharmonic(2),
    Polyharmonic(3),
    ThinPlate() + Gaussian(),
    2.0 * ThinPlate(),
]
QUARTER = np.array([[0.0, 1.0], [-1.0, 0.0]])
GROUPS = {
    "rotations": (Rotation(extent=np.pi), lambda X: X @ QUARTER),
    "reflection": (Reflection(axis=0), lambda X: X * [-1.0, 1.0]),
    "permutations": (Permutations([[0, 1], [1, 0]]), lambda X: X[:, ::-1].copy()),
}
MACHINES = {
    "SVC": SVC,
    "SVC given alpha": lambda kernel: SVC(kernel, alpha=0.01),
    "SVC soft": lambda kernel: SVC(kernel, alpha=0.01, null_space="soft"),
    "SVC constant": lambda kernel: SVC(kernel, alpha=0.01, null_space="constant"),
    "SVC zero": lambda kernel: SVC(kernel, alpha=0.01, null_space="zero"),
    "SVR": lambda kernel: SVR(kernel, alpha=0.01),
    "Smoother": Smoother,
    "Smoother soft": lambda kernel: Smoother(kernel, null_space="soft"),
    "KernelPCA": lambda kernel: KernelPCA(kernel, 3),
    "KernelPerceptron": KernelPerceptron,
    "KernelNeighbors": KernelNeighbors,
    "EnclosingHypersphere": EnclosingHypersphere,
}
ONLY_TO_ORDER_ONE = {"KernelNeighbors", "EnclosingHypersphere"}
_rng = np.random.default_rng(0)
X = _rng.standard_normal((40, 2)) + [0.3, 0.5]
y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 0] > 0.1).astype(int)


def outputs(machine, points):
    for name in ("decision_function", "transform", "predict"):
        if hasattr(machine, name):
            return getattr(machine, name)(points)
    raise AssertionError


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("group", GROUPS)
def test_values_do_not_move(group, name, base):
    transformation, moved = GROUPS[group]
    kernel = IntegrationKernel(base, transformation)
    if base == Linear() and group == "rotations":
        assert np.abs(kernel(X)).max() < 1e-30  # nothing is left of linear functions
        return
    if name in ONLY_TO_ORDER_ONE and kernel.cpd_order > 1:
        with pytest.raises(ValueError, match="order 0 or 1"):
            MACHINES[name](kernel).fit(X, y)
        return
    machine = MACHINES[name](kernel).fit(X, y)
    points = 2.0 * np.random.default_rng(1).standard_normal((20, 2))
    values = outputs(machine, points)
    np.testing.assert_allclose(outputs(machine, moved(points)), values, atol=1e-6 * max(1.0, np.abs(values).max()))


@pytest.mark.parametrize(
    "transformation",
    [Reflection(0), Rotation(extent=0.7, n_nodes=5), Scaling(0.4), CurveShift(SineWave(2.0, 1.0), 1.0, n_nodes=7)],
    ids=repr,
)
@pytest.mark.parametrize("base", [ThinPlate(), Polyharmonic(3)], ids=repr)
def test_averaged_kernels_are_positive_beside_averages(base, transformation):
    kernel = IntegrationKernel(base, transformation)
    P = kernel.own_null_space().fit(X)(X)
    N = null_space(P.T)
    matrix = N.T @ kernel(X) @ N
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()
    direct = kernel.null_features().fit_transform(X)  # averages by another way
    both = np.hstack([P, direct / np.maximum(np.abs(direct).max(axis=0), 1e-9)])
    assert np.linalg.matrix_rank(both, 1e-8) == np.linalg.matrix_rank(P, 1e-8) == P.shape[1]


@pytest.mark.filterwarnings("ignore")
def test_curved_shifts_go_with_thin_plates():
    kernel = IntegrationKernel(ThinPlate(), CurveShift(SineWave(2.0, 1.0), 1.0, n_nodes=7))
    assert SVC(kernel, alpha=0.01).fit(X, y).score(X, y) > 0.8
    Smoother(kernel).fit(X, X[:, 0])


def test_what_vanishes_is_left_out():
    full = AveragedPolynomials(Rotation(extent=np.pi), 2).fit(X)
    assert full(X).shape == (40, 2)  # the constant and |x|^2
    squares = (X**2).sum(axis=1)
    rest = squares - full(X) @ np.linalg.lstsq(full(X), squares, rcond=None)[0]
    assert np.abs(rest).max() < 1e-10
    images = ImageShift((3, 3), padding=1)
    assert AveragedPolynomials(images).fit(np.eye(9))(np.eye(9)).shape == (9, 10)
    with pytest.raises(ValueError, match="no derivatives"):
        full.gradient(X)


def test_saved_and_loaded(tmp_path):
    space = AveragedPolynomials(Reflection(0)).fit(X)
    loaded = load_npz(save_npz(tmp_path / "space.npz", {"space": space}))["space"]
    np.testing.assert_array_equal(loaded(X), space(X))
    machine = SVC(IntegrationKernel(ThinPlate(), Reflection(0)), alpha=0.01).fit(X, y)
    again = SVC.load(machine.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


def test_a_space_of_the_user_must_contain_the_averages():
    kernel = IntegrationKernel(ThinPlate(), Reflection(0))
    assert isinstance(null_space_for(1, kernel, X), Polynomials)
    with pytest.raises(ValueError, match="must contain AveragedPolynomials"):
        null_space_for(0, kernel, X)
    together = IntegrationKernel(ThinPlate(), Reflection(0), simultaneous=True)
    assert free_functions(together).degree == 1
    assert free_functions(kernel + Gaussian()) == kernel.own_null_space()
    assert free_functions(kernel + kernel) == kernel.own_null_space()
    assert free_functions(kernel + ThinPlate()).degree == 1


def test_distances_go_with_orders_up_to_one():
    kernel = DistanceKernel(ThinPlate(), MinimumDistance(Reflection(0)))
    with pytest.raises(ValueError, match="base of order 0 or 1"):
        kernel.cpd_order  # noqa: B018
    for machine in (SVC, SVR, Smoother, KernelPCA, KernelPerceptron, KernelNeighbors):
        with pytest.raises(ValueError, match="base of order 0 or 1"):
            machine(kernel).fit(X, y)
    plain = SVC(ThinPlate(), alpha=0.01).fit(X, y).decision_function(X)
    euclidean = SVC(DistanceKernel(ThinPlate(), Euclidean()), alpha=0.01).fit(X, y).decision_function(X)
    np.testing.assert_allclose(euclidean, plain, atol=1e-6)
