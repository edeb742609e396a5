"""Learned metrics in the machines: irrelevant columns fade, files and clones keep what was learned."""

import numpy as np
import pytest
from helpers import central_difference
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as PeerSVC

from seminorm import SVC, SVR, EnclosingHypersphere, KernelNeighbors, KernelPCA, Smoother
from seminorm.estimators import LearnedMetric
from seminorm.kernels import Gaussian, LinearMap, NegativeDistance, Polyharmonic


@pytest.fixture(scope="module")
def hidden():
    """Twenty columns, of which two tell y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 20)) * np.geomspace(1.0, 10.0, 20)
    y = np.sin(2 * X[:, 0]) + (X[:, 1] / np.geomspace(1.0, 10.0, 20)[1]) ** 2
    return X[:400], y[:400], X[400:], y[400:]


MACHINES = [
    (lambda metric: SVR(NegativeDistance(), metric=metric), False),
    (lambda metric: Smoother(NegativeDistance(), metric=metric), False),
    (lambda metric: SVC(NegativeDistance(), metric=metric), True),
    (lambda metric: KernelNeighbors(n_neighbors=3, metric=metric), True),
]


@pytest.mark.parametrize("make, classifies", MACHINES)
@pytest.mark.parametrize("metric", ["diagonal", LearnedMetric("half")])
def test_two_relevant_columns_of_twenty(make, classifies, metric, hidden):
    X, y, new_X, new_y = hidden
    if classifies:
        y, new_y = (np.where(values > 1, "high", "low") for values in (y, new_y))
    learned, plain = (make(m).fit(X, y) for m in (metric, "standardize"))
    lost, lost_plain = 1 - learned.score(new_X, new_y), 1 - plain.score(new_X, new_y)
    assert lost < 0.8 * lost_plain
    assert set(np.argsort(-learned.metric_.importances_)[:2]) == {0, 1}
    assert isinstance(learned.kernel_, LinearMap)


@pytest.mark.parametrize("kind", [SVR, Smoother, SVC, KernelNeighbors])
def test_what_was_learned_is_kept(kind, hidden, tmp_path):
    X, y, new_X, _ = hidden
    y = y if kind in (SVR, Smoother) else y > 1
    machine = clone(kind(metric="full")).fit(X[:100], y[:100])
    loaded = kind.load(machine.save(tmp_path / "machine.npz"))
    np.testing.assert_array_equal(loaded.predict(new_X), machine.predict(new_X))
    np.testing.assert_array_equal(loaded.metric_.matrix_, machine.metric_.matrix_)


def test_scales_are_chosen_in_the_metric(hidden):
    X, y, new_X, new_y = hidden
    learned = Smoother(Gaussian("auto"), metric=LearnedMetric("half")).fit(X, y)
    assert learned.score(new_X, new_y) > Smoother(Gaussian("auto"), metric="standardize").fit(X, y).score(new_X, new_y)


def test_a_metric_serves_machines_of_others(hidden):
    X, y, new_X, new_y = hidden
    model = make_pipeline(LearnedMetric(), PeerSVC(C=10.0)).fit(X, y > 1)
    assert model.score(new_X, new_y > 1) > 0.85


@pytest.mark.parametrize("wrong", ["fully", 3, LearnedMetric])
@pytest.mark.parametrize("kind", [SVC, SVR, Smoother, KernelNeighbors])
def test_wrong_metrics_are_named(wrong, kind):
    with pytest.raises(ValueError, match="metric must be one of"):
        kind(metric=wrong).fit(np.arange(8.0)[:, None], np.arange(8) % 2)


def test_metrics_need_labels_and_points():
    X = np.random.default_rng(0).standard_normal((30, 2))
    for kind in (KernelPCA, EnclosingHypersphere):
        with pytest.raises(ValueError, match="learns by labels"):
            kind(metric="full").fit(X)
    with pytest.raises(ValueError, match="from values alone"):
        Smoother(metric="full").fit(X, X[:, 0], gradients=X)


def test_noise_is_said():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="no step of the metric"):
        LearnedMetric().fit(rng.standard_normal((100, 5)), rng.standard_normal(100))


@pytest.mark.parametrize("name, value", [("kind", "round"), ("power", 0.0), ("beta", 2.0), ("n_iter", 0)])
def test_wrong_parameters_of_a_metric(name, value):
    with pytest.raises(ValueError, match=name):
        LearnedMetric(**{name: value}).fit(np.eye(5), np.arange(5.0))


def test_kernels_of_mapped_points():
    rng = np.random.default_rng(0)
    L, X, Y = rng.standard_normal((3, 2)), rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    kernel = Polyharmonic(3).linear_map(L)
    np.testing.assert_allclose(kernel(X, Y), Polyharmonic(3)(X @ L, Y @ L))
    gradient = central_difference(lambda Z: kernel(Z, Y), X)
    np.testing.assert_allclose(kernel.gradient(X, Y), gradient, atol=1e-6)
    hessian = central_difference(lambda Z: kernel.gradient(Z, Y), X)
    np.testing.assert_allclose(kernel.hessian(X, Y), hessian, atol=1e-6)
    np.testing.assert_allclose(
        Gaussian().linear_map(np.diag([0.5, 2.0]))(X[:, :2]), Gaussian().axis_scale([2, 0.5])(X[:, :2])
    )
    with pytest.raises(ValueError, match="matrix must have 2 rows"):
        kernel(X[:, :2])
