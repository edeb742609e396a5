"""Fields that are smoother in some directions: maps of the coordinates, given and chosen."""

import numpy as np
import pytest

from seminorm import Field, FieldSmoother, Functional
from seminorm.fields import VectorField
from seminorm.fields.anisotropy import axes_of, described

ANGLE, RATIO = np.deg2rad(30.0), 3.0
ALONG = np.array([np.cos(ANGLE), np.sin(ANGLE)])
TURNED = np.column_stack([ALONG / RATIO**0.5, [-ALONG[1] * RATIO**0.5, ALONG[0] * RATIO**0.5]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def rough(X):
    """An isotropic random function."""
    rng = np.random.default_rng(5)
    waves = 8.0 * rng.standard_normal((800, 2)) / np.sqrt(rng.chisquare(3, 800))[:, None]
    return np.cos(X @ waves.T + rng.uniform(0, 2 * np.pi, 800)).sum(axis=1) / 20.0


def survey(n, axes=TURNED, noise=0.1):
    rng = np.random.default_rng(0)
    X = np.concatenate([CORNERS, rng.random((n, 2))])
    return X, rough(X @ axes) + noise * rng.standard_normal(len(X))


def test_directions_and_lengths_are_found():
    X, y = survey(2500)
    Z = np.random.default_rng(1).random((1000, 2))
    plain, turned = FieldSmoother(operator="tension").fit(X, y), FieldSmoother(anisotropy="rotated").fit(X, y)
    found = turned.details_["anisotropy"]
    assert "reason" not in found and found["gain"] > 100
    assert found["held_out"]["anisotropic"] < 0.9 * found["held_out"]["isotropic"]
    assert abs(found["directions"][0] @ ALONG) > np.cos(np.deg2rad(10))
    assert found["lengths"][0] / found["lengths"][1] == pytest.approx(RATIO, rel=0.35)
    assert np.linalg.det(turned.anisotropy_) == pytest.approx(1.0)
    errors = [np.sqrt(np.mean((m.predict(Z) - rough(Z @ TURNED)) ** 2)) for m in (plain, turned)]
    assert errors[1] < 0.92 * errors[0]
    _, std = turned.predict(Z, return_std=True)
    assert 0.8 < np.mean(np.abs(turned.predict(Z) - rough(Z @ TURNED)) < 1.96 * std) <= 1.0


@pytest.mark.slow
def test_factors_of_axes_are_found_and_refused_where_nothing_is_gained():
    X, y = survey(2500, np.diag([RATIO**-0.5, RATIO**0.5]))
    found = FieldSmoother(anisotropy="auto").fit(X, y).details_["anisotropy"]
    assert found["lengths"][0] / found["lengths"][1] == pytest.approx(RATIO, rel=0.35)
    np.testing.assert_array_equal(found["directions"], np.eye(2))
    X, y = survey(2500, np.eye(2))
    plain, model = FieldSmoother().fit(X, y), FieldSmoother(anisotropy="auto").fit(X, y)
    if "reason" in model.details_["anisotropy"]:
        np.testing.assert_array_equal(model.anisotropy_, np.eye(2))
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    else:
        np.testing.assert_allclose(np.diag(model.anisotropy_), 1.0, atol=0.15)


def test_a_map_is_another_coordinate_system(tmp_path):
    X, y = survey(400)
    inside = FieldSmoother(1e-3, depth=4, tol=1e-9, anisotropy=TURNED).fit(X, y)
    outside = FieldSmoother(1e-3, depth=4, tol=1e-9).fit(X @ TURNED, y)
    Z = np.random.default_rng(1).uniform(0.05, 0.95, (50, 2))
    np.testing.assert_allclose(inside.predict(Z), outside.predict(Z @ TURNED), atol=1e-6)
    np.testing.assert_allclose(inside.predict_gradient(Z), outside.predict_gradient(Z @ TURNED) @ TURNED.T, atol=1e-4)
    steps = 1e-6 * np.eye(2)
    differences = [(inside.predict(Z + step) - inside.predict(Z - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(inside.predict_gradient(Z), np.stack(differences, axis=1), atol=1e-4)
    hessian = inside.function_.hessian(Z)
    field = inside.function_
    differences = [(field.gradient(Z + step) - field.gradient(Z - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(hessian, np.stack(differences, axis=1), atol=2e-3 * np.abs(hessian).max())
    values, slopes = field.jet(Z)
    np.testing.assert_allclose(values, field(Z), atol=1e-9)
    np.testing.assert_allclose(slopes, field.gradient(Z), atol=1e-8)
    far = np.array([[30.0, -20.0]])
    np.testing.assert_allclose(field(far), outside.function_(far @ TURNED), rtol=1e-5)
    assert Field.load(field.save(tmp_path / "field.npz"))(Z) == pytest.approx(field(Z))
    np.testing.assert_allclose(
        inside.predict(Z, return_std=True)[1], outside.predict(Z @ TURNED, return_std=True)[1], rtol=1e-3
    )
    low, high = field.bounds
    assert (low < -1.0).all() and (high > 2.0).all()
    corners = inside.grid(1.0)
    np.testing.assert_allclose(np.ravel(corners), inside.predict([[0, 0], [0, 1], [1, 0], [1, 1]]))


def test_a_map_beside_a_scale_chunks_and_outputs():
    X, y = survey(300)
    long = X * [100.0, 1.0]
    one = FieldSmoother(1e-3, depth=3, anisotropy=TURNED).fit(X, y)
    both = FieldSmoother(1e-3, depth=3, scale=[100.0, 1.0], anisotropy=TURNED)
    both.fit([(long[:150], np.column_stack([y, -y])[:150]), (long[150:], np.column_stack([y, -y])[150:])])
    np.testing.assert_allclose(both.predict(long)[:, 1], -one.predict(X), atol=1e-4)
    assert isinstance(both.function_, VectorField)
    np.testing.assert_allclose(both.predict_gradient(long)[:, 0] * [100.0, 1.0], one.predict_gradient(X), atol=5e-3)


def test_functionals_and_gradients_with_a_map():
    X, y = survey(200)
    slopes = Functional.along(X[::5], [1.0, 0.5])
    model = FieldSmoother(1e-3, depth=3, anisotropy=TURNED).fit(X, y, functionals=[(slopes, np.ones(slopes.size))])
    mapped = Functional.along(X[::5] @ TURNED, np.array([1.0, 0.5]) @ TURNED)
    other = FieldSmoother(1e-3, depth=3).fit(X @ TURNED, y, functionals=[(mapped, np.ones(mapped.size))])
    np.testing.assert_allclose(model.predict(X), other.predict(X @ TURNED), atol=1e-3)
    G = np.ones((len(X), 2))
    upright = FieldSmoother(1e-3, depth=3, anisotropy=np.diag([0.5, 2.0])).fit(X, y, gradients=G)
    scaled = FieldSmoother(1e-3, depth=3, scale=[2.0, 0.5]).fit(X, y, gradients=G)
    np.testing.assert_allclose(upright.predict(X), scaled.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="axes of the grid are turned"):
        FieldSmoother(1e-3, depth=3, anisotropy=TURNED).fit(X, y, gradients=G)


def test_entries_are_stretches_near_the_coordinates():
    np.testing.assert_allclose(axes_of(np.array([0.5]), 2), np.diag(np.exp([0.5, -0.5])))
    for entries in (np.array([0.5, 0.2]), np.array([-0.5, 0.2]), np.array([0.2, -0.1, 0.3, 0.0, 0.1])):
        d = 2 if len(entries) == 2 else 3
        axes = axes_of(entries, d)
        assert np.linalg.det(axes) == pytest.approx(1.0) and (np.diag(axes) > 0).all()
        gram = axes.T @ axes
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    found = described(TURNED)
    np.testing.assert_allclose(found["directions"][0], ALONG)
    np.testing.assert_allclose(found["lengths"], [RATIO**0.5, RATIO**-0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anisotropy": "yes"}, "anisotropy must be None, 'auto', 'rotated' or an array"),
        ({"anisotropy": "auto", "alpha": 1.0}, "is chosen together with alpha"),
        ({"anisotropy": np.ones((2, 2))}, "must be an invertible array"),
        ({"anisotropy": np.eye(3)}, r"anisotropy must have shape \(2, 2\)"),
    ],
)
def test_errors(options, message):
    X, y = survey(40)
    with pytest.raises(ValueError, match=message):
        FieldSmoother(**options).fit(X, y)


def test_too_little_to_choose_from():
    X, y = survey(10)
    assert "fewer than 30" in FieldSmoother(anisotropy="auto").fit(X, y).details_["anisotropy"]["reason"]
    line = FieldSmoother(anisotropy="rotated").fit(X[:, :1] + y[:, None], np.tile(y, 1)[: len(X)])
    assert line.details_["anisotropy"]["reason"]
