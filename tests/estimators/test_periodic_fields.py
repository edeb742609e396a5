"""Fields along axes that close up."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from seminorm import FieldSmoother, Functional
from seminorm.bases import GridBox
from seminorm.fields import Field
from seminorm.fields.tree import Tree

LENGTH = 24.0


def circle(x):
    return np.sin(2 * np.pi * x / LENGTH) + 0.5 * np.cos(10 * np.pi * x / LENGTH)


def smoother(period=None, **options):
    return FieldSmoother(**{"alpha": 0.5, "depth": 4, "tol": 1e-9, "period": period} | options)


@pytest.mark.parametrize("order", [1, 2])
def test_it_is_the_fourier_smoothing_spline(order, rng):
    """On n equidistant points every coefficient is divided by 1 + alpha L k^(2 m) / n, up to aliases."""
    n, alpha = 128, 0.5
    x = np.arange(n) / n * LENGTH
    y = circle(x) + 0.1 * rng.standard_normal(n)
    k = 2 * np.pi * np.fft.fftfreq(n, 1 / n) / LENGTH
    aliases = k[:, None] + 2 * np.pi * n / LENGTH * np.arange(-200, 201)
    with np.errstate(divide="ignore"):
        energy = alpha * LENGTH / n / (aliases ** (-2.0 * order)).sum(axis=1)
    expected = np.fft.ifft(np.fft.fft(y) / (1 + np.where(k == 0, 0.0, energy))).real
    model = smoother(LENGTH, alpha=alpha, order=order, depth=12 if order == 1 else 10, degree=3).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict(x[:, None]), expected, atol=3e-4 if order == 1 else 3e-5)


def test_shifts_of_the_origin_and_turns_do_not_matter(rng):
    x = rng.uniform(0, LENGTH, 100)
    y = circle(x) + 0.1 * rng.standard_normal(100)
    expected = smoother(LENGTH).fit(x[:, None], y).predict(x[:, None])
    shifted = smoother(LENGTH).fit(x[:, None] + 7.3, y)
    np.testing.assert_allclose(shifted.predict(x[:, None] + 7.3), expected, atol=1e-7)
    np.testing.assert_allclose(shifted.predict(x[:, None] + 7.3 - 5 * LENGTH), expected, atol=1e-7)
    fine = {"depth": 8, "degree": 3}
    one = smoother(LENGTH, **fine).fit(x[:, None], y)
    two = smoother(LENGTH, **fine).fit(np.where(x > 12, x - LENGTH, x)[:, None], y)  # another seam
    np.testing.assert_allclose(two.predict(x[:, None]), one.predict(x[:, None]), atol=1e-5)


CASES = [
    (2, {0: LENGTH}, {}),
    (2, {1: LENGTH}, {"order": 3}),
    (2, {0: LENGTH, 1: 2 * LENGTH}, {"depth": 6, "order": 1}),
    (3, [None, None, LENGTH], {"depth": 3}),
]


def plane(X):
    return circle(X[:, 0]) * np.cos(np.pi * X[:, 1] / LENGTH) + np.cos(2 * np.pi * X[:, -1] / LENGTH)


@pytest.mark.parametrize(("d", "period", "options"), CASES)
def test_values_and_derivatives_agree_at_the_seam_of_a_refined_tree(d, period, options, rng):
    cluster = rng.normal(0.0, 0.8, (300, d)) % LENGTH  # dense about the seam: cells are refined there
    X = np.vstack([cluster, rng.uniform(0, LENGTH, (200, d))])
    model = smoother(period, **{"depth": 5, "tol": 1e-6} | options).fit(X, plane(X))
    tree = model.function_.tree
    assert tree.depth >= 1 or d == 3
    lengths = {axis: p for axis, p in (period.items() if isinstance(period, dict) else enumerate(period)) if p}
    for axis, length in lengths.items():
        Z = rng.uniform(0, LENGTH, (20, d))
        Z[:, axis] = tree.box.low[axis]
        other = Z.copy()
        other[:, axis] += length
        for name in ("__call__", "gradient"):
            here, there = (getattr(model.function_, name)(points) for points in (Z, other))
            np.testing.assert_allclose(here, there, atol=1e-9)
        before = Z.copy()
        before[:, axis] -= 1e-7
        for name, tolerance in (("__call__", 1e-5), ("gradient", 1e-4)):  # continuous across it
            here, there = (getattr(model.function_, name)(points) for points in (Z, before))
            np.testing.assert_allclose(here, there, atol=tolerance)


def test_every_function_away_from_the_other_border_has_the_same_energy():
    """Turning the coefficients by whole blocks changes neither the energy nor, turned, the field."""
    box = GridBox.closed([0.0, 0.0], [10.0, 1.0], [16.0, np.inf], 16, scale=1.0, margin=0.1)
    tree = Tree.root(box, 2).refine(np.ones((len(Tree.root(box, 2).coords), 256), dtype=bool))
    rng = np.random.default_rng(0)
    coef = np.where(tree.active, rng.standard_normal(tree.active.shape), 0.0)
    own = tree.blocks(1)
    coef[: own.start] = 0.0
    turned = coef.copy()
    grid = tree.coords[own].max(axis=0) + 1
    for block, place in enumerate(tree.coords[own]):
        target = np.flatnonzero((tree.coords[own] == [(place[0] + 1) % grid[0], place[1]]).all(axis=1))[0]
        turned[own.start + target] = coef[own.start + block]
    one, two = Field(tree, coef, 2), Field(tree, turned, 2)
    assert one.seminorm() == pytest.approx(two.seminorm(), rel=1e-12)
    X = rng.uniform([0, 0.0], [16, 1.0], (50, 2))
    np.testing.assert_allclose(two(X + [8.0, 0.0]), one(X), atol=1e-12)


def test_constants_and_open_axes_stay_free(rng):
    X = rng.uniform(0, LENGTH, (60, 2))
    model = smoother({0: LENGTH}, alpha=1e3, depth=2, tol=1e-12).fit(X, 3.0 + 2.0 * X[:, 1])
    np.testing.assert_allclose(model.predict(X), 3.0 + 2.0 * X[:, 1], atol=1e-4)
    assert model.function_.seminorm() < 1e-4


def test_defaults_beat_a_field_with_a_border_at_the_seam(rng):
    X = rng.uniform([-180, -30], [180, 30], (800, 2))

    def truth(X):
        return np.cos(np.radians(X[:, 0]) - 1) + 0.5 * np.sin(np.radians(3 * X[:, 0]))

    y = truth(X) + 0.3 * rng.standard_normal(800)
    seam = np.column_stack([rng.choice([-179.0, 179.0], 200), rng.uniform(-30, 30, 200)])
    closed, cut = FieldSmoother(period=[360.0, None]).fit(X, y), FieldSmoother().fit(X, y)
    errors = [np.sqrt(np.mean((model.predict(seam) - truth(seam)) ** 2)) for model in (closed, cut)]
    assert errors[0] < 0.8 * errors[1]
    std = [closed.predict(points, return_std=True)[1] for points in (seam[:5], seam[:5] + [360.0, 0.0])]
    np.testing.assert_allclose(std[0], std[1], rtol=1e-6)
    assert np.isfinite(std[0]).all()


def test_functionals_gradients_and_files(rng, tmp_path):
    X = rng.uniform(0, LENGTH, (150, 1))
    slopes = np.cos(2 * np.pi * X / LENGTH) * 2 * np.pi / LENGTH
    sine = smoother(LENGTH, alpha=1e-6, order=2).fit(X, np.sin(2 * np.pi * X[:, 0] / LENGTH), gradients=slopes)
    Z = np.array([[-0.2], [0.1], [LENGTH - 0.1], [LENGTH + 30.0]])
    np.testing.assert_allclose(sine.predict(Z), np.sin(2 * np.pi * Z[:, 0] / LENGTH), atol=1e-3)
    loaded = FieldSmoother.load(sine.save(tmp_path / "field.npz"))
    assert np.array_equal(loaded.predict(Z), sine.predict(Z))
    assert loaded.period == [LENGTH]
    low = np.arange(-1.0, 23.0, 0.5)[:, None]  # blocks across the seam
    means = Functional.cell_average(low, low + 1.0)
    field = smoother(LENGTH, alpha=1e-7).fit(functionals=[(means, means.apply(lambda x: circle(x[:, 0])))])
    np.testing.assert_allclose(field.predict(X), circle(X[:, 0]), atol=0.05)


def test_the_number_of_threads_changes_no_bit(rng):
    X = rng.uniform(0, LENGTH, (3000, 2))
    y = plane(X) + 0.1 * rng.standard_normal(3000)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(smoother({0: LENGTH, 1: 2 * LENGTH}, alpha="auto", depth=6, order=2).fit(X, y))
    assert fits[0].alpha_ == fits[1].alpha_
    assert np.array_equal(fits[0].function_.coef, fits[1].function_.coef)


def test_bad_periods_are_named(rng):
    X, y = rng.uniform(0, LENGTH, (40, 2)), rng.standard_normal(40)
    for period, options, words in (
        ([24, 25], {}, "ratio of a power of two"),
        ({5: 3.0}, {}, "period names column 5"),
        ([-1.0, None], {}, "positive numbers"),
        (24.0, {}, "which of 2 axes closes up"),
        ({"lon": 3.0}, {}, "no names of columns"),
        ([None, None], {}, "at least one column"),
        ([24, None], {"scale": [1.0, 1e-4]}, "coarsest grid would have"),
    ):
        with pytest.raises(ValueError, match=words):
            smoother(period, **options).fit(X, y)
    with pytest.raises(ValueError, match="one to three coordinates"):
        smoother([24, None, None, None]).fit(np.hstack([X, X]), y)
