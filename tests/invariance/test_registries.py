"""Registries: every public class is in one, examples obey the common rules, classes of users are treated alike."""

import pickle

import numpy as np
import pytest
from helpers import case_id
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone

from seminorm import invariance
from seminorm.invariance import (
    Distance,
    DistanceKernel,
    HaarFeatures,
    IntegrationKernel,
    JitteringKernel,
    MinimumDistance,
    Quadrature,
    Rotation,
    Transformation,
    all_curves,
    all_distances,
    all_invariant_kernels,
    all_transformations,
    all_transformers,
)
from seminorm.kernels import Gaussian, NegativeDistance

REGISTRIES = [all_transformations, all_curves, all_distances, all_invariant_kernels, all_transformers]
EXAMPLES = [example for registry in REGISTRIES for example in registry()]


class CityBlock(Distance):
    """A user's distance."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def _pairwise(self, X, Y):
        return self.factor * cdist(X, X if Y is None else Y, "cityblock")


class SignChange(Transformation):
    """A user's group of two maps."""

    is_group = True
    is_isometric = True
    is_affine = True

    def _apply(self, X, parameters):
        return np.where(parameters == 0, 1.0, -1.0)[:, :, None] * X

    def quadrature(self):
        return Quadrature(np.array([[0.0], [1.0]]), np.full(2, 0.5))


def test_every_public_class_is_registered():
    for name in invariance.__all__:
        kind = getattr(invariance, name)
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and kind not in (Distance, Transformation):
            assert [registry[name] for registry in REGISTRIES if name in registry] == [kind], name


def test_names_are_those_of_classes():
    for registry in REGISTRIES:
        assert all(registry[name].__name__ == name for name in registry)
        assert {type(example).__name__ for example in registry()} == set(registry)
    with pytest.raises(KeyError, match=r"unknown distance 'Warp'; known are ADTW, Chamfer, DTW, .*"):
        all_distances["Warp"]


@pytest.mark.parametrize("example", EXAMPLES, ids=case_id)
def test_examples_are_made_of_their_parameters(example):
    again = type(example)(**example.get_params(deep=False))
    copies = [again, clone(example), pickle.loads(pickle.dumps(example))]
    assert len({repr(copy) for copy in [example, *copies]}) == 1
    if not isinstance(example, tuple(all_transformers[name] for name in all_transformers)):
        assert all(copy == example and hash(copy) == hash(example) for copy in copies)
        assert example != type("Another", (type(example),), {"__init__": type(example).__init__})(
            **example.get_params(deep=False)
        )


@pytest.fixture
def registered():
    all_distances.register(CityBlock, lambda: [CityBlock(), CityBlock(2.0)])
    all_transformations.register(SignChange)
    yield
    all_distances.unregister("CityBlock")
    all_transformations.unregister("SignChange")


@pytest.mark.usefixtures("registered")
def test_classes_of_users_are_found():
    assert all_distances["CityBlock"] is CityBlock and CityBlock(2.0) in all_distances()
    assert all_transformations["SignChange"] is SignChange and SignChange() in all_transformations()
    with pytest.raises(ValueError, match="already a distance 'CityBlock'"):
        all_distances.register(type("CityBlock", (Distance,), {}))


@pytest.mark.usefixtures("registered")
def test_classes_of_users_work_with_those_of_the_package(rng):
    X, Y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    apart = [cdist(X, Y, "cityblock"), cdist(X, -Y, "cityblock")]
    np.testing.assert_allclose(DistanceKernel(NegativeDistance(), CityBlock(2.0))(X, Y), -2.0 * apart[0])
    np.testing.assert_allclose(MinimumDistance(SignChange(), base=CityBlock()).pairwise(X, Y), np.minimum(*apart))
    near = np.minimum(cdist(X, Y), cdist(X, -Y))
    np.testing.assert_allclose(MinimumDistance(SignChange()).pairwise(X, Y), near)
    np.testing.assert_allclose(JitteringKernel(Gaussian(), SignChange())(X, Y), np.exp(-(near**2) / 2))
    mean = (Gaussian()(X, Y) + Gaussian()(X, -Y)) / 2
    np.testing.assert_allclose(IntegrationKernel(Gaussian(), SignChange())(X, Y), mean)
    np.testing.assert_allclose(HaarFeatures(SignChange(), degree=1).fit(X).transform(X), 0.0, atol=1e-15)


@pytest.mark.usefixtures("registered")
def test_sets_of_users_compose(rng):
    X, Y = rng.standard_normal((5, 2)), rng.standard_normal((4, 2))
    both = SignChange() * Rotation(n_nodes=4)
    assert [type(part) for part in both.parts] == [SignChange, Rotation]
    kernel = IntegrationKernel(Gaussian(), both)
    np.testing.assert_allclose(kernel(X, Y), IntegrationKernel(Gaussian(), Rotation(n_nodes=4))(X, Y))
    with pytest.raises(TypeError):
        SignChange() * 2.0
