"""Usual mistakes in what FieldSmoother is given, and input that looks like one and is none."""

import numpy as np
import pytest
from sklearn.utils import check_array

from seminorm import FieldSmoother, Functional
from seminorm._base.memory import NotEnoughMemoryError
from seminorm.kernels import Gaussian
from seminorm.operators import derivatives, operator_of


@pytest.fixture(scope="module")
def plane():
    """Points and values, none of which is as large as 2."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    return X, np.sin(5 * X[:, 0]) + 0.9 * X[:, 1] + 0.03 * rng.standard_normal(120)


def spoilt(values, what):
    values = values.copy()
    values[3] = what
    return values


MISTAKES = {
    "the symbol of a Gaussian": (
        lambda X, y: FieldSmoother(operator=operator_of(Gaussian(), 2)).fit(X, y),
        r"operator must have a symbol that is a polynomial in \|omega\|\^2.*use seminorm.Smoother",
    ),
    "derivatives of order 4": (
        lambda X, y: FieldSmoother(operator=derivatives(4)).fit(X, y),
        "operator must be a sum of semi-norms of order 0 to 3",
    ),
    "a difference": (lambda X, y: derivatives(2) - 0.5 * derivatives(1), "operators cannot be subtracted"),
    "a negative factor": (lambda X, y: -0.5 * derivatives(1), "positive numbers, got -0.5"),
    "a scale in words": (lambda X, y: FieldSmoother(scale="wide").fit(X, y), "scale must be"),
    "NaN in X": (lambda X, y: FieldSmoother().fit(spoilt(X, np.nan), y), "Input X contains NaN"),
    "infinity in X": (lambda X, y: FieldSmoother().fit(spoilt(X, np.inf), y), "Input X contains infinity"),
    "NaN in y": (lambda X, y: FieldSmoother().fit(X, spoilt(y, np.nan)), "Input y contains NaN"),
    "masked points": (
        lambda X, y: FieldSmoother().fit(np.ma.masked_greater(X, 0.9), y),
        r"X is a masked array, and \d+ of its numbers are masked: leave these points out",
    ),
    "masked values": (
        lambda X, y: FieldSmoother().fit(X, np.ma.masked_less(y, y.min() + 1e-9)),
        "y is a masked array, and 1 of its numbers",
    ),
    "weights all zero": (lambda X, y: FieldSmoother().fit(X, y, np.zeros(120)), "all weights are zero"),
    "tiny weights": (
        lambda X, y: FieldSmoother().fit(X, y, np.full(120, 1e-310)),
        "sample_weight is at most 1e-310, too small.*multiply all weights",
    ),
    "a given alpha far from 1": (
        lambda X, y: FieldSmoother(1e-3).fit(1e300 * X, y),
        r"X has an extent of 9\.\d+e\+299 in coordinates divided by scale.*give a scale that brings it near 1",
    ),
    "differences beyond all numbers": (
        lambda X, y: FieldSmoother().fit(1.7e308 * (2 * X - 1), y),
        "X has coordinates from .* whose differences are too large for numbers: divide them",
    ),
    "values of chunks beyond all squares": (
        lambda X, y: FieldSmoother().fit([(X, 1e200 * y)]),
        "y has values whose squares are too large for numbers: divide y",
    ),
    "one value": (lambda X, y: FieldSmoother().fit(X, y[0]), "Expected|shape|array"),
    "complex values": (lambda X, y: FieldSmoother().fit(X, y + 1j), "Complex data not supported"),
    "targets in one row": (lambda X, y: FieldSmoother().fit(X, y).predict(X[0]), "Expected 2D array"),
    "a spacing of zero": (lambda X, y: FieldSmoother().fit(X, y).grid(0.0), "spacing must be positive"),
    "corners that are swapped": (
        lambda X, y: FieldSmoother().fit(X, y).grid(0.1, bounds=[[1, 1], [0, 0]]),
        "bounds must be finite and in order",
    ),
}


@pytest.mark.parametrize(("do", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(do, message, plane):
    with pytest.raises((ValueError, TypeError), match=message):
        do(*plane)


def test_a_grid_beyond_memory_is_refused(plane):
    with pytest.raises(NotEnoughMemoryError, match=r"a grid of .* needs about .* GiB.*choose a larger spacing"):
        FieldSmoother().fit(*plane).grid(1e-7, std=True)


@pytest.mark.parametrize("size", [2.0**990, 2.0**-500])
@pytest.mark.parametrize("options", [{}, {"order": 2, "loss": "huber"}], ids=str)
def test_powers_of_two_in_coordinates_and_values_change_no_bit(options, size, plane):
    X, y = plane
    model = FieldSmoother(**options).fit(X, y)
    for points, unit in ((size * X, 1.0), (X, size), (size * X, size)):
        same = FieldSmoother(**options).fit(points, unit * y)
        for noise in (True, "observation"):
            for mine, other in zip(model.predict(X, noise), same.predict(points, noise), strict=True):
                np.testing.assert_array_equal(unit * mine, other)
        np.testing.assert_array_equal(unit * model.sample(X, 2, random_state=0), same.sample(points, 2, random_state=0))
    np.testing.assert_array_equal(same.grid(size / 8, bounds=size * np.array([[0, 0], [1, 1]])) / unit,
                                  model.grid(1 / 8, bounds=[[0, 0], [1, 1]]))  # fmt: skip


@pytest.mark.parametrize("size", [1e300, 1e-160, 1e-310, 5e-324])
def test_numbers_near_the_limits_are_fitted(size, plane):
    X, y = plane
    expected = FieldSmoother(order=2).fit(X, y).predict(X)
    if size > 1e-320:
        np.testing.assert_allclose(FieldSmoother(order=2).fit(size * X, y).predict(size * X), expected, atol=0.02)
        values, std = FieldSmoother(order=2).fit(X, size * y).predict(X, return_std=True)
        np.testing.assert_allclose(values / size, expected, atol=0.02)
        assert (std > 0).all() and (std < size).all()
    else:  # nothing is left but two corners
        assert np.isfinite(FieldSmoother(order=2).fit(size * X, y).predict(size * X)).all()
        np.testing.assert_array_equal(FieldSmoother().fit(X, np.full(120, size)).predict(X), size)
    outputs = FieldSmoother(order=2).fit(X, np.column_stack([size * y, size * y])).predict(X)
    assert outputs.shape == (120, 2) and np.isfinite(outputs).all()


def test_functionals_beside_values_keep_their_unit(plane):
    """Where targets come along, values are not scaled, and the error for their squares stays."""
    X, y = plane
    mean = Functional.average(X)
    with pytest.raises(ValueError, match="squares are too large"):
        FieldSmoother().fit(X, 1e200 * y, functionals=[(mean, [1e200 * y.mean()])])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_points(n, plane):
    X, y = plane
    values, std = FieldSmoother().fit(X[:n], y[:n]).predict(X, return_std=True)
    assert np.isfinite(values).all() and np.isfinite(std).all()
    np.testing.assert_allclose(FieldSmoother(alpha=1e-9).fit(X[:n], y[:n]).predict(X[:n]), y[:n], atol=1e-5)


def test_data_that_say_little(plane):
    X, y = plane
    here = FieldSmoother().fit(np.ones((20, 2)), np.arange(20.0))
    np.testing.assert_allclose(here.predict([[1.0, 1.0]], return_std=True)[0], 9.5)
    flat = FieldSmoother().fit(X, np.full(120, 3.0)).predict(X, return_std=True)
    np.testing.assert_allclose(flat[0], 3.0)
    line = np.column_stack([X[:, 0], 2 * X[:, 0]])
    values, std = FieldSmoother().fit(line, np.sin(5 * X[:, 0])).predict(line, return_std=True)
    np.testing.assert_allclose(values, np.sin(5 * X[:, 0]), atol=0.02)
    assert np.isfinite(std).all() and std.max() < 0.1
    twice = FieldSmoother(order=2).fit(np.concatenate([X, X]), np.concatenate([y - 0.5, y + 0.5]))
    assert abs(twice.predict(X) - y).mean() < 0.3 and abs(twice.noise_variance_ - 0.25) < 0.1


@pytest.mark.parametrize(
    "change",
    [
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (np.asfortranarray(X), y[::-1][::-1]),
        lambda X, y: (X.astype(object), y.astype(object)),
        lambda X, y: (X.astype(">f8"), y.astype(">f8")),
    ],
    ids=["lists", "Fortran order", "objects", "other byte order"],
)
def test_the_form_of_arrays_does_not_matter(change, plane):
    X, y = plane
    same = FieldSmoother(order=2).fit(*change(X, y)).predict(X)
    np.testing.assert_array_equal(same.reshape(-1), FieldSmoother(order=2).fit(X, y).predict(X))


def test_values_in_one_column(plane):
    X, y = plane
    column = FieldSmoother(order=2).fit(X, y[:, None]).predict(X)
    assert column.shape == (120, 1)
    np.testing.assert_allclose(column[:, 0], FieldSmoother(order=2).fit(X, y).predict(X), atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.int32, bool])
def test_numbers_of_other_types(kind, plane):
    X, y = (np.round(100 * part) for part in plane)
    X, y = X.astype(np.float32), (y > 50 if kind is bool else y).astype(kind)
    same = FieldSmoother(order=2).fit(check_array(X, dtype=float), y.astype(float)).predict(X)
    np.testing.assert_array_equal(FieldSmoother(order=2).fit(X, y).predict(X), same)


def test_targets_beyond_the_box_alone(plane):
    with pytest.warns(UserWarning, match="beyond the box"):
        values, std = FieldSmoother().fit(*plane).predict([[50.0, 50.0]], return_std=True)
    assert np.isfinite(values).all() and np.isinf(std).all()
