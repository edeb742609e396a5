"""A kernel, distance, transformation, loss and file format of one's own: one class or module and one line each, and
the rest of the library treats them as its own.
"""

import sys
import types

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from seminorm import SVC, SVR, Expansion, KernelNeighbors, Mesh, Smoother
from seminorm.files import Format, all_formats, read_mesh
from seminorm.invariance import Distance, DistanceKernel, IntegrationKernel, Quadrature, Transformation
from seminorm.invariance.distances.registry import all_distances
from seminorm.invariance.transformations.registry import all_transformations
from seminorm.kernels import Gaussian, Radial, all_kernels
from seminorm.losses import REGRESSION, Loss, all_losses


class Bell(Radial):
    """exp(-r^2 / 2)."""

    def _h(self, s, k):
        return (-0.5) ** k * np.exp(-0.5 * s)


class City(Distance):
    """The sum of absolute differences."""

    def _pairwise(self, X, Y):
        return cdist(X, X if Y is None else Y, "cityblock")


class Mirror(Transformation):
    """A pattern and its mirror image."""

    n_parameters = 1
    is_group = is_isometric = is_affine = True

    def _apply(self, X, parameters):
        return np.stack([X[:, ::-1] if turned else X for (turned,) in parameters])

    def quadrature(self):
        return Quadrature(np.array([[0.0], [1.0]]), np.array([0.5, 0.5]))


class HalfSquared(Loss):
    """(f - y)^2 / 2."""

    name, task = "half_squared", REGRESSION

    def value(self, f):
        return 0.5 * (f - self.y) ** 2

    def gradient(self, f):
        return f - self.y

    def curvature(self, f):
        return np.full(len(f), 0.5)

    def active(self, f):
        return np.ones(len(f), dtype=bool)

    def targets(self, f):
        return self.y


@pytest.fixture
def patterns(rng):
    X = rng.uniform(-1, 1, (40, 3))
    return X, X[:, 0] - X[:, 2] ** 2


@pytest.fixture
def registered(request):
    """Registers a class for one test."""
    registry, kind = request.param
    registry.register(kind)
    yield registry
    registry.unregister(kind.__name__)


@pytest.mark.parametrize("registered", [(all_kernels, Bell)], indirect=True)
def test_a_kernel(registered, patterns, tmp_path):
    X, y = patterns
    ours = Smoother(Bell(), alpha=0.1).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), Smoother(Gaussian(), alpha=0.1).fit(X, y).predict(X), rtol=1e-10)
    again = Expansion.load(ours.function_.save(tmp_path / "function.npz"))
    np.testing.assert_array_equal(again(X), ours.function_(X))
    assert Bell() in registered()


@pytest.mark.parametrize("registered", [(all_distances, City)], indirect=True)
def test_a_distance(registered, patterns, tmp_path):
    X, y = patterns
    labels = y > 0
    nearest = cdist(X[:10], X[10:], "cityblock").argmin(axis=1)
    assert (
        KernelNeighbors(City(), n_neighbors=1).fit(X[10:], labels[10:]).predict(X[:10]) == labels[10:][nearest]
    ).all()
    machine = SVC(DistanceKernel(Gaussian(), City())).fit(X, labels)
    again = SVC.load(machine.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


@pytest.mark.parametrize("registered", [(all_transformations, Mirror)], indirect=True)
def test_a_transformation(registered, patterns, tmp_path):
    X, y = patterns
    machine = SVC(IntegrationKernel(Gaussian(), Mirror())).fit(X, y > 0)
    np.testing.assert_allclose(machine.decision_function(X), machine.decision_function(X[:, ::-1]), atol=1e-10)
    again = SVC.load(machine.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


def test_a_loss(patterns):
    X, y = patterns
    with pytest.raises(ValueError, match="loss"):
        SVR(loss="half_squared", alpha=0.1).fit(X, y)
    all_losses.register(HalfSquared, lambda: [HalfSquared(np.array([1.0]))])
    try:
        ours = SVR(Gaussian(), loss="half_squared", alpha=0.1).fit(X, y)
    finally:
        all_losses.unregister("HalfSquared")
    squares = Smoother(Gaussian(), alpha=0.2, null_space=ours.null_space_).fit(X, y)  # half the loss, half the alpha
    np.testing.assert_allclose(ours.predict(X), squares.predict(X), rtol=1e-6, atol=1e-8)


def test_a_file_format(tmp_path, monkeypatch):
    def read(path):
        rows = np.loadtxt(path).reshape(-1, 3)
        return Mesh(rows, np.arange(len(rows)).reshape(-1, 3))

    module = types.ModuleType("triangle_lists")
    module.read_mesh = read
    module.write_mesh = lambda path, mesh: np.savetxt(path, mesh.vertices[mesh.faces].reshape(-1, 9))
    monkeypatch.setitem(sys.modules, "triangle_lists", module)
    triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]], [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"\.tri"):
        triangle.save(tmp_path / "a.tri")
    added = all_formats.register(Format((".tri",), "triangle_lists", ("read_mesh", "write_mesh")))
    try:
        triangle.save(tmp_path / "a.tri")
        np.testing.assert_array_equal(read_mesh(tmp_path / "a.tri").vertices, triangle.vertices)
    finally:
        all_formats.unregister(added)
