"""Longitude and latitude: distances on the sphere for Smoother, a local plane for FieldSmoother."""

import warnings

import numpy as np
import pytest
from helpers import central_difference
from scipy.interpolate import RBFInterpolator

from seminorm import FieldSmoother, Smoother
from seminorm.functions import SphereExpansion, unit_vectors
from seminorm.kernels import Gaussian, Matern, NegativeDistance, Polyharmonic, ThinPlate

pd = pytest.importorskip("pandas")


def degrees(U):
    return np.column_stack([np.degrees(np.arctan2(U[:, 1], U[:, 0])), np.degrees(np.arcsin(np.clip(U[:, 2], -1, 1)))])


def directions(rng, n):
    U = rng.standard_normal((n, 3))
    return U / np.linalg.norm(U, axis=1)[:, None]


def on_sphere(kernel=None, **options):
    return Smoother(kernel, coordinates="geographic", **options)


def harmonic(U):
    """A sum of spherical harmonics of degree 1 to 3."""
    x, y, z = U.T
    return 0.5 * z + x * y - (x**2 - y**2) + x * (5 * z**2 - 1)


def test_it_is_the_function_of_scipy_on_unit_vectors(rng):
    U, Z = directions(rng, 80), directions(rng, 40)
    y = rng.standard_normal(80)
    expected = RBFInterpolator(U, y, kernel="thin_plate_spline", smoothing=1e-2)(Z)
    model = on_sphere(ThinPlate(), alpha=1e-2).fit(degrees(U), y)
    np.testing.assert_allclose(model.predict(degrees(Z)), expected, atol=1e-10)
    assert model.coordinates_ == "geographic"
    expected = RBFInterpolator(U, y, kernel="linear", smoothing=1e-2, degree=0)(Z)
    np.testing.assert_allclose(
        on_sphere(NegativeDistance(), alpha=1e-2).fit(degrees(U), y).predict(degrees(Z)), expected, atol=1e-10
    )


def test_harmonics_are_recovered_from_noise(rng):
    U, Z = directions(rng, 400), directions(rng, 200)
    y = harmonic(U) + 0.1 * rng.standard_normal(400)
    mean, std = on_sphere().fit(degrees(U), y).predict(degrees(Z), return_std=True)
    assert np.sqrt(np.mean((mean - harmonic(Z)) ** 2)) < 0.05
    assert 0.85 < np.mean(np.abs(mean - harmonic(Z)) < 1.96 * std) <= 1.0
    linear = on_sphere(alpha=1e6).fit(degrees(U), U @ [1.0, 2.0, 3.0] + 4.0)  # degree 0 and 1 are free
    np.testing.assert_allclose(linear.predict(degrees(Z)), Z @ [1.0, 2.0, 3.0] + 4.0, atol=1e-9)


def test_rotations_of_the_sphere_do_not_matter(rng):
    U, Z = directions(rng, 60), directions(rng, 20)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    y = rng.standard_normal(60)
    for kernel in (ThinPlate(), Matern(1.5, 0.5)):
        one = on_sphere(kernel, alpha=0.1).fit(degrees(U), y).predict(degrees(Z))
        two = on_sphere(kernel, alpha=0.1).fit(degrees(U @ Q.T), y).predict(degrees(Z @ Q.T))
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_the_date_line_and_the_poles_are_places_like_others(rng):
    X = degrees(directions(rng, 60))
    model = on_sphere(alpha=0.1).fit(X, rng.standard_normal(60))
    latitudes = np.linspace(-90, 90, 19)
    west, east = (np.column_stack([np.full(19, longitude), latitudes]) for longitude in (-180.0, 180.0))
    assert np.array_equal(model.predict(west), model.predict(east))
    assert np.array_equal(model.function_.gradient(west), model.function_.gradient(east))
    pole = model.predict(np.column_stack([np.linspace(-180, 360, 9), np.full(9, 90.0)]))
    assert np.ptp(pole) < 1e-12
    around = np.where(X[:, 0] < 0, X[:, 0] + 360, X[:, 0])
    same = on_sphere(alpha=0.1).fit(np.column_stack([around, X[:, 1]]), model._y[:, 0])
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-9)


def test_points_that_coincide_on_the_sphere_are_one(rng):
    X = degrees(directions(rng, 20))
    X[:4] = [[-180, 10], [180, 10], [0, 90], [120, 90]]
    model = on_sphere(alpha=0.1).fit(X, rng.standard_normal(20))
    assert len(model.dual_coef_) == 18


def test_derivatives_are_those_in_degrees(rng, tmp_path):
    X = degrees(directions(rng, 40))
    f = on_sphere(Polyharmonic(3), alpha=1e-3).fit(X, rng.standard_normal(40)).function_
    Z = degrees(directions(rng, 10))
    np.testing.assert_allclose(f.gradient(Z), central_difference(f, Z, 1e-3), atol=1e-7)
    np.testing.assert_allclose(f.hessian(Z), central_difference(f.gradient, Z, 1e-3), atol=1e-7)
    swapped = SphereExpansion.load(f.save(tmp_path / "f.npz")).facing(True)
    np.testing.assert_allclose(
        swapped.hessian(Z[:, ::-1]), central_difference(swapped.gradient, Z[:, ::-1], 1e-3), atol=1e-7
    )


def test_several_outputs_and_files(rng, tmp_path):
    X = degrees(directions(rng, 30))
    model = on_sphere(ThinPlate()).fit(X, rng.standard_normal((30, 2)))
    assert model.predict_gradient(X).shape == (30, 2, 2)
    assert model.sample(X[:5], 3, random_state=0).shape == (5, 2, 3)
    loaded = Smoother.load(model.save(tmp_path / "model.npz"))
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_columns_are_recognised_by_name_and_it_is_said(rng):
    X = degrees(directions(rng, 40))
    y = harmonic(unit_vectors(X))
    expected = on_sphere(alpha=0.1).fit(X, y).predict(X)
    frame = pd.DataFrame(X[:, ::-1], columns=["Latitude", "Longitude"])
    with pytest.warns(UserWarning, match="'Longitude' and 'Latitude' are taken for degrees"):
        model = Smoother(alpha=0.1).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert on_sphere(alpha=0.1).fit(frame, y).coordinates_ == "geographic"
        plain = Smoother(alpha=0.1, coordinates=None).fit(frame, y)
        assert plain.coordinates_ is None
        for model, data in (  # a length in degrees, other columns, numbers that are no degrees
            (Smoother(Gaussian(30.0), alpha=0.1), frame),
            (Smoother(alpha=0.1), frame.rename(columns={"Latitude": "y"})),
            (Smoother(alpha=0.1), frame * 1000.0),
            (Smoother(alpha=0.1, null_space=[0, 1]), frame),
        ):
            assert model.fit(data, y).coordinates_ is None


def test_what_is_not_on_the_sphere_is_named(rng):
    X, y = degrees(directions(rng, 20)), rng.standard_normal(20)
    for model, words in (
        (on_sphere(ThinPlate().axis_scale([1.0, 2.0])), "kernel of distances"),
        (on_sphere(metric="auto"), "takes values alone"),
        (Smoother(coordinates="sphere"), "coordinates must be one of"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    with pytest.raises(ValueError, match="takes values alone"):
        on_sphere(Polyharmonic(3)).fit(X, y, gradients=np.zeros((20, 2)))
    with pytest.raises(ValueError, match="latitudes from -90 to 90"):
        on_sphere().fit(X[:, ::-1] * [1, 1.0] + [0, 0], y)
    with pytest.raises(ValueError, match=r"needs X \(n, 2\)"):
        on_sphere().fit(np.column_stack([X, X]), y)


def test_a_field_scales_longitudes_of_recognised_columns(rng):
    X = rng.uniform([5.0, 55.0], [15.0, 65.0], (300, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    frame = pd.DataFrame(X, columns=["lon", "lat"])
    options = {"alpha": 1e-3, "depth": 3}
    model = FieldSmoother(**options).fit(frame, y)
    middle = 0.5 * (X[:, 1].min() + X[:, 1].max())
    np.testing.assert_allclose(model.scale_, [1 / np.cos(np.radians(middle)), 1.0])
    same = FieldSmoother(**options, scale=model.scale_).fit(X, y)
    np.testing.assert_allclose(model.predict(frame), same.predict(X), atol=1e-10)
    assert np.all(FieldSmoother(**options).fit(X, y).scale_ == 1.0)
    assert np.all(FieldSmoother(**options, scale=1.0).fit(frame, y).scale_ == 1.0)


def test_a_field_warns_where_no_plane_suits(rng):
    y = rng.standard_normal(60)
    options = {"alpha": 1.0, "depth": 1}
    high = pd.DataFrame(rng.uniform([0, 30], [20, 80], (60, 2)), columns=["lon", "lat"])
    with pytest.warns(UserWarning, match="length of a degree of longitude differs"):
        FieldSmoother(**options).fit(high, y)
    around = pd.DataFrame(rng.uniform([-180, -10], [180, 10], (60, 2)), columns=["lon", "lat"])
    with pytest.warns(UserWarning, match=r"give period=\{0: 360.0\}"):
        FieldSmoother(**options).fit(around, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FieldSmoother(**options, period={"lon": 360.0}).fit(around, y)
        FieldSmoother(**options, scale=1.0).fit(around, y)
    mixed = np.column_stack([rng.uniform(5, 6, 60), rng.uniform(4e5, 5e5, 60)])
    with pytest.warns(UserWarning, match="as degrees do, and column 1 over"):
        FieldSmoother(**options).fit(mixed, y)
