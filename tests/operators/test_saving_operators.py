"""What the library makes can be described by plain values, arrays and registered objects, and rebuilt from them.

Skipped are the examples that hold a function such as a user would write: these cannot be saved.
"""

from types import ModuleType

import numpy as np
import pytest
from helpers import case_id

from seminorm import operators
from seminorm.kernels import BSpline, Gaussian, Matern, PeriodicGaussian, RationalQuadratic, ThinPlate, all_kernels
from seminorm.nullspace import Twin, all_null_spaces, all_twins
from seminorm.operators import (
    all_features,
    all_operator_kernels,
    all_operators,
    derivatives,
    energy_kernel,
    operator_of,
    ridge_twin,
)
from seminorm.operators.spectra import OPERATORS

REGISTRIES = (all_kernels, all_null_spaces, all_twins, all_operators, all_operator_kernels, all_features)
MADE = [
    ridge_twin(Gaussian()),
    ridge_twin(RationalQuadratic()),
    ridge_twin(BSpline(3)),
    ridge_twin(PeriodicGaussian()),
    energy_kernel(Matern(2.5), derivatives(1)),
    (1 + derivatives(1)).kernel(dimension=1),
    derivatives(2).kernel(period=2.0),
    operator_of(Gaussian() + Matern(2.5)).kernel(1, accuracy=1e-8),
    (operator_of(ThinPlate()) + 1).kernel(1, accuracy=1e-6),
]


class UserFunctionError(Exception):
    pass


def description(value):
    """Nested plain values; a tuple (class, parameters, fitted state) for a registered object."""
    if value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUS":
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(description(item) for item in value)
    if hasattr(value, "get_params"):
        name = type(value).__name__
        assert any(registry[name] is type(value) for registry in REGISTRIES if name in registry), name
        fitted = {key: item for key, item in vars(value).items() if key.endswith("_")}
        return {
            "class": type(value),
            "parameters": {key: description(item) for key, item in value.get_params(deep=False).items()},
            "fitted": {key: description(item) for key, item in fitted.items()},
        }
    assert callable(value), value
    raise UserFunctionError


def rebuilt(value):
    if isinstance(value, (list, tuple)):
        return type(value)(rebuilt(item) for item in value)
    if not isinstance(value, dict):
        return value
    built = value["class"](**{key: rebuilt(item) for key, item in value["parameters"].items()})
    for key, item in value["fitted"].items():
        setattr(built, key, rebuilt(item))
    return built


def copy_of(instance):
    try:
        return rebuilt(description(instance))
    except UserFunctionError:
        assert type(instance).__name__ in ("FeatureMap", "Features", "Operator", "SelectedColumns")
        pytest.skip("holds a function of the user")


@pytest.mark.parametrize("kernel", [*all_kernels(), *all_twins(), *all_operator_kernels(), *MADE], ids=case_id)
def test_kernels(kernel, rng):
    copy = copy_of(kernel)
    on_the_line = kernel.max_dimension == 1 or "Sections(" in repr(kernel) or "ProductFunctions(" in repr(kernel)
    X = rng.random((6, 1 if on_the_line else 2))
    assert np.array_equal(copy(X), kernel(X))
    assert copy == kernel or type(kernel) is Twin  # null spaces are compared by identity
    assert (copy.cpd_order, copy.null_degree, copy.invariances) == (
        kernel.cpd_order,
        kernel.null_degree,
        kernel.invariances,
    )


@pytest.mark.parametrize("space", all_null_spaces(), ids=case_id)
def test_null_spaces_as_they_are_fitted(space, rng):
    space.fit(rng.random((30, 2)))
    X = rng.random((6, 2))
    assert np.array_equal(copy_of(space)(X), space(X))


@pytest.mark.parametrize("operator", all_operators(), ids=case_id)
def test_operators(operator):
    copy = copy_of(operator)
    omega = np.linspace(0.1, 5.0, 7)
    assert np.array_equal(copy.spectrum(omega), operator.spectrum(omega))
    assert np.array_equal(copy.symbol(omega), operator.symbol(omega))
    assert (copy.zero, copy.growth) == (operator.zero, operator.growth)
    assert copy == operator


@pytest.mark.parametrize("features", all_features(), ids=case_id)
def test_features(features):
    X = np.linspace(0.0, 2.0, 5)
    X = X if type(features).__name__ in ("HermiteFunctions", "Waves") else X[:, None]
    assert np.array_equal(copy_of(features)(X), features(X))


def test_a_name_stands_for_one_class():
    for registry in REGISTRIES:
        for name in registry:
            assert all(other[name] is registry[name] for other in REGISTRIES if name in other)


def test_examples_are_of_the_classes_they_stand_for():
    for registry in REGISTRIES:
        without = {"LinearMap"} & set(registry)  # its matrix fits one dimension only
        assert {type(instance).__name__ for instance in registry()} == set(registry) - without


def test_linear_maps(rng):
    kernel, X = Gaussian(0.5).linear_map(rng.standard_normal((3, 2))), rng.random((5, 3))
    assert np.array_equal(copy_of(kernel)(X), kernel(X))


def test_a_class_of_the_user_takes_part(rng):
    """A kernel registered from outside is described alike, and its spectrum in closed form is used."""

    class Cauchy(Gaussian):
        """exp(-r^2 / 2) under another name."""

    all_kernels.register(Cauchy, lambda: [Cauchy(2.0)])
    OPERATORS[Cauchy] = lambda kernel, dimension: derivatives(3)
    try:
        X = rng.random((5, 2))
        assert np.array_equal(copy_of(Cauchy(2.0))(X), Gaussian(2.0)(X))
        assert operator_of(Cauchy(2.0), 2) == derivatives(3)
        assert Cauchy(2.0) in all_kernels()
    finally:
        all_kernels.unregister("Cauchy")
        del OPERATORS[Cauchy]


def test_public_names_stay_what_they_are():
    """A function that has the name of its module would be replaced by the module when that is imported."""
    for name in operators.__all__:
        assert not isinstance(getattr(operators, name), ModuleType), name
        assert getattr(operators, name) is getattr(operators, name)
