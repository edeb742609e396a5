"""The virtual support vector method against doing it by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC as SklearnSVC

from seminorm import SVC, VirtualSVC
from seminorm.invariance.transformations.base import Quadrature, Transformation
from seminorm.kernels import Gaussian


class Stretch(Transformation):
    """Multiplication of all numbers by 1 + t, which patterns of any size allow."""

    n_parameters = 1

    def __init__(self, size=0.1):
        self.size = size

    def _apply(self, X, parameters):
        return (1.0 + parameters[:, 0])[:, None, None] * X

    def quadrature(self):
        return Quadrature(np.array([[-self.size], [0.0], [self.size]]), np.full(3, 1 / 3))


class Turn(Transformation):
    """Rotations of the plane by multiples of a right angle: a group of four."""

    n_parameters = 1

    def _apply(self, X, parameters):
        angle = parameters[:, 0]
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
        return np.einsum("mij,nj->mni", R, X)

    def quadrature(self):
        return Quadrature(np.arange(4)[:, None] * np.pi / 2, np.full(4, 0.25))


class Longer(Stretch):
    def _apply(self, X, parameters):
        return np.repeat(X[None], len(parameters), axis=0)[:, :, [*range(X.shape[1]), 0]]


def pinwheel(n, seed):
    """Classes that a quarter turn does not change."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0, 1, n))
    y = np.sin(4 * (angle + radius)) > 0
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


@pytest.mark.parametrize("svc", [SVC(Gaussian(0.3), alpha=0.1), SklearnSVC(gamma=5.0, C=5.0)])
def test_it_is_the_machine_trained_by_hand(svc):
    X, y = pinwheel(80, 0)
    machine = VirtualSVC(svc, Stretch()).fit(X, y)
    first = clone(svc).fit(X, y)
    support = np.sort(first.support_)
    assert np.array_equal(np.sort(machine.support_), support)
    points = np.concatenate([X[support], 0.9 * X[support], 1.1 * X[support]])
    by_hand = clone(svc).fit(points, np.tile(y[support], 3))
    assert machine.n_virtual_ == 2 * len(support)
    fresh = pinwheel(50, 1)[0]
    np.testing.assert_allclose(machine.decision_function(fresh), by_hand.decision_function(fresh), atol=2e-2)
    assert machine.score(fresh, by_hand.predict(fresh)) >= 0.98


@pytest.mark.parametrize("svc", [None, SklearnSVC(gamma=10.0, C=10.0)])
def test_virtual_points_help(svc):
    X, y = pinwheel(120, 0)
    fresh, truth = pinwheel(2000, 1)
    machine = VirtualSVC(svc, Turn()).fit(X, y)
    assert machine.score(fresh, truth) > machine.first_.score(fresh, truth) + 0.03
    assert machine.n_virtual_ > 2 * len(machine.support_)


def test_weights_are_repetitions():
    X, y = pinwheel(60, 0)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    by_weight = VirtualSVC(SVC(alpha=0.1), Stretch()).fit(X, y, sample_weight=weights)
    by_repeating = VirtualSVC(SVC(alpha=0.1), Stretch()).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(by_weight.decision_function(X), by_repeating.decision_function(X), atol=1e-8)


def test_probabilities_are_those_of_the_machine():
    X, y = pinwheel(80, 0)

    class WithProbabilities(SklearnSVC):
        def predict_proba(self, X):
            positive = 1 / (1 + np.exp(-self.decision_function(X)))
            return np.column_stack([1 - positive, positive])

    assert not hasattr(VirtualSVC(SklearnSVC(), Stretch()), "predict_proba")
    for svc in (WithProbabilities(), SVC()):
        machine = VirtualSVC(svc, Stretch()).fit(X, y)
        assert np.array_equal(machine.predict_proba(X), machine.estimator_.predict_proba(X))


def test_refusals():
    X, y = pinwheel(40, 0)
    with pytest.raises(ValueError, match="transformation must be a Transformation"):
        VirtualSVC().fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        VirtualSVC(SVC("precomputed"), Stretch()).fit(X, y)
    with pytest.raises(ValueError, match="keep the size"):
        VirtualSVC(SVC(alpha=0.1), Longer()).fit(X, y)
    with pytest.raises(ValueError, match=r"(?i)weights"):
        VirtualSVC(SVC(), Stretch()).fit(X, y, sample_weight=np.zeros(40))
