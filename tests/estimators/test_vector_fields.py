"""FieldSmoother with several outputs."""

import numpy as np
import pytest

from seminorm import FieldSmoother, Functional, Smoother
from seminorm.kernels import Polyharmonic
from seminorm.operators import derivatives

N = 900
RNG = np.random.default_rng(3)
X = RNG.random((N, 2)) * [2.0, 1.0]
NOISE = np.array([0.1, 20.0, 0.0])
Y = np.column_stack([np.sin(5 * X[:, 0]) * X[:, 1], 1e4 + 300 * np.cos(4 * X[:, 1]), np.full(N, 7.0)])
Y += NOISE * RNG.standard_normal((N, 3))
Z = RNG.random((80, 2)) * [2.0, 1.0]
GIVEN = {"alpha": 1e-3, "depth": 4, "tol": 1e-9}


def singles(X, Y, *, gradients=None, functionals=None, **options):
    """A fit of each column alone."""
    weight, slope_weight = options.pop("sample_weight", None), options.pop("gradient_weight", None)
    for k in range(3):
        slopes = None if gradients is None else gradients[:, k]
        items = None if functionals is None else [(f, targets[:, k], w) for f, targets, w in functionals]
        y = None if Y is None else Y[:, k]
        yield FieldSmoother(**GIVEN, **options).fit(X, y, weight, slopes, slope_weight, functionals=items)


@pytest.mark.parametrize("options", [{}, {"order": 3}, {"operator": 4 * derivatives(1) + derivatives(2)}])
def test_outputs_are_those_of_single_fits(options):
    weight = RNG.uniform(0.2, 2.0, N)
    weight[:5] = 0.0
    unknown = Y.copy()
    unknown[:5] = np.nan
    together = FieldSmoother(**GIVEN, **options).fit(X, unknown, weight)
    assert together.function_.gradient(Z).shape == (80, 3, 2)
    for k, alone in enumerate(singles(X, Y, sample_weight=weight, **options)):
        scale = max(Y[:, k].std(), 1.0)
        np.testing.assert_allclose(together.predict(Z)[:, k], alone.predict(Z), atol=1e-6 * scale)
        np.testing.assert_allclose(together.predict_gradient(Z)[:, k], alone.predict_gradient(Z), atol=1e-4 * scale)
        np.testing.assert_allclose(together.function_.hessian(Z)[:, k], alone.function_.hessian(Z), atol=1e-2 * scale)
        seminorm = alone.function_.seminorm()
        np.testing.assert_allclose(together.function_.seminorm()[k], seminorm, atol=1e-5 * scale, rtol=1e-4)


def test_without_a_free_constant():
    process = {"operator": (4 + derivatives(1)) ** 2}
    together = FieldSmoother(**GIVEN, **process).fit(X, Y).predict(Z)
    for k, alone in enumerate(singles(X, Y, **process)):
        np.testing.assert_allclose(together[:, k], alone.predict(Z), rtol=1e-5, atol=1e-5)


def test_gradients_and_functionals_of_outputs():
    low = RNG.random((30, 2)) * [1.8, 0.8]
    blocks = Functional.cell_average(low, low + 0.2)
    targets = RNG.standard_normal((30, 3))
    slopes = RNG.standard_normal((N, 3, 2))
    slopes[::3, :, 1] = np.nan
    items, options = [(blocks, targets, np.full(30, 2.0))], {"order": 3}
    together = FieldSmoother(**GIVEN, **options).fit(X, Y, None, slopes, 0.3, functionals=items)
    single = list(singles(X, Y, gradients=slopes, gradient_weight=0.3, functionals=items, **options))
    for k, alone in enumerate(single):
        scale = max(Y[:, k].std(), 1.0)
        np.testing.assert_allclose(together.predict(Z)[:, k], alone.predict(Z), atol=1e-5 * scale)
    means = together.predict_functional(blocks)
    assert means.shape == (30, 3)
    np.testing.assert_allclose(means[:, 0], single[0].predict_functional(blocks), atol=1e-5)

    alone = FieldSmoother(**GIVEN).fit(functionals=items)  # functionals only, and gradients only
    np.testing.assert_allclose(
        alone.predict(Z)[:, 1],
        FieldSmoother(**GIVEN).fit(functionals=[(blocks, targets[:, 1], items[0][2])]).predict(Z),
        atol=1e-6,
    )
    steep = FieldSmoother(**GIVEN, order=3).fit(X, gradients=slopes).predict_gradient(Z)
    expected = FieldSmoother(**GIVEN, order=3).fit(X, gradients=slopes[:, 2]).predict_gradient(Z)
    np.testing.assert_allclose(steep[:, 2], expected, atol=1e-5)


def test_agrees_with_the_exact_smoother():
    some = Y[:300, :2]
    exact = Smoother(Polyharmonic(2), alpha=1e-3).fit(X[:300], some).predict(Z)
    field = FieldSmoother(alpha=1e-3, depth=6, margin=4).fit(X[:300], some).predict(Z)
    assert (np.sqrt(np.mean((field - exact) ** 2, axis=0)) < 0.01 * exact.std(axis=0)).all()


@pytest.mark.parametrize("options", [{}, {"operator": "matern"}, {"order": 2}, {"order": 2, "criterion": "holdout"}])
def test_the_choice_is_that_of_the_sum_over_standardised_outputs(options):
    y = Y[:, 0]
    alone = FieldSmoother(**options).fit(X, y)
    copies = FieldSmoother(**options).fit(X, np.column_stack([y, 1e5 - 300.0 * y]))
    np.testing.assert_allclose(copies.alpha_, alone.alpha_, rtol=0.02)
    assert copies.function_.depth == alone.function_.depth and copies.criterion_ == alone.criterion_
    np.testing.assert_allclose(copies.noise_variance_, alone.noise_variance_ * np.array([1.0, 9e4]), rtol=1e-3)
    scale, step = y.std(), np.abs(copies.predict(Z)[:, 0] - alone.predict(Z)).max()
    assert step < 0.003 * scale
    if "alpha" in copies.alpha_path_ and "edf" in copies.alpha_path_:
        assert copies.alpha_path_["edf"].max() <= N  # of one output


def test_deviations_draws_and_quantiles():
    some = Y[:, :2]
    together = FieldSmoother(alpha=1e-3, depth=3, order=2).fit(X, some)
    np.testing.assert_allclose(together.noise_variance_, NOISE[:2] ** 2, rtol=0.2)
    _, std = together.predict(Z, return_std=True)
    exact = together.predict(Z[:10], return_std=True)[1]
    alone = FieldSmoother(alpha=1e-3, depth=3, order=2).fit(X, some[:, 1])
    np.testing.assert_allclose(exact[:, 1], alone.predict(Z[:10], return_std=True)[1], rtol=0.05)
    np.testing.assert_allclose(std[:, 1], alone.predict(Z, return_std=True)[1], rtol=0.05)
    _, noisy = together.predict(Z, return_std="observation")
    np.testing.assert_allclose(noisy**2, std**2 + together.noise_variance_)
    quantiles = together.predict_quantile(Z, [0.05, 0.5])
    assert quantiles.shape == (80, 2, 2) and (quantiles[..., 0] < quantiles[..., 1]).all()
    assert together.predict_gradient(Z, return_std=True)[1].shape == (80, 2, 2)
    draws = together.sample(Z, 60, random_state=0) - together.predict(Z)[:, :, None]
    assert draws.shape == (80, 2, 60)
    spread = np.sqrt(np.mean(draws**2, axis=(0, 2)))
    np.testing.assert_allclose(spread, np.sqrt(np.mean(std**2, axis=0)), rtol=0.2)
    assert abs(np.mean(draws[:, 0] * draws[:, 1])) < 0.15 * spread.prod()  # outputs are independent


def test_deviations_are_calibrated_for_all_outputs():
    rng = np.random.default_rng(0)
    points = rng.random((6000, 2))
    values = np.column_stack([np.sin(9 * points[:, 0]), 50 * np.cos(7 * points.sum(axis=1))])
    values += rng.standard_normal(values.shape) * [0.2, 10.0]
    smoother = FieldSmoother(order=2, std_samples=24).fit(points, values)
    alone = FieldSmoother(order=2, std_samples=24).fit(points, values[:, 0])
    assert 0.7 < smoother.deviation_factor_ / alone.deviation_factor_ < 1.4


def test_chunks_and_dask():
    whole = FieldSmoother(**GIVEN).fit(X, Y)
    chunks = [(X[:400], Y[:400]), {"X": X[400:], "y": Y[400:]}]
    np.testing.assert_allclose(FieldSmoother(**GIVEN).fit(chunks).predict(Z), whole.predict(Z), rtol=1e-6)
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(X, chunks=(300, 2)), array.from_array(Y, chunks=(300, 3))
    np.testing.assert_allclose(FieldSmoother(**GIVEN).fit(*lazy).predict(Z), whole.predict(Z), rtol=1e-6)
    with pytest.raises(ValueError, match="as many columns in every chunk, got 3 in one and 2 in another"):
        FieldSmoother(**GIVEN).fit([(X[:400], Y[:400]), (X[400:], Y[400:, :2])])


def test_files(tmp_path):
    fitted = FieldSmoother(**GIVEN).fit(X, Y)
    loaded = FieldSmoother.load(fitted.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(Z), fitted.predict(Z))
    np.testing.assert_array_equal(loaded.noise_variance_, fitted.noise_variance_)
    function = type(fitted.function_).load(fitted.function_.save(tmp_path / "field.npz"))
    np.testing.assert_allclose(function.jet(Z)[1], fitted.function_.gradient(Z), rtol=1e-9)


def test_tables_and_grids():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    table = pandas.DataFrame(np.column_stack([X, Y]), columns=["lon", "lat", "east", "north", "up"])
    smoother = FieldSmoother(**GIVEN).fit(table[["lon", "lat"]], table[["east", "north"]])
    grid = smoother.grid(0.25, std=True)
    assert isinstance(grid, xarray.Dataset) and set(grid) == {"east", "north", "east_std", "north_std"}
    like = smoother.predict_grid(like=grid["east"].transpose("lat", "lon"))
    assert like["north"].dims == ("lat", "lon")
    np.testing.assert_allclose(like["north"].values.T, grid["north"].values)
    assert set(FieldSmoother(**GIVEN).fit(X, Y[:, :2]).grid(0.5)) == {"value0", "value1"}
    assert set(smoother.grid(0.5, value_name=["u", "v"])) == {"u", "v"}
    with pytest.raises(ValueError, match="value_name must be 2 different names"):
        smoother.grid(0.5, value_name="speed")


def test_one_column_keeps_its_axis():
    assert FieldSmoother(**GIVEN).fit(X, Y[:, :1]).predict(Z).shape == (80, 1)


def without_one_output():
    slopes = np.ones((N, 3, 2))
    slopes[0, 1] = np.nan
    return slopes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": np.where(X[:, :1] > 1.99, np.nan, Y)}, "NaN"),
        ({"y": Y, "gradients": np.zeros((N, 2))}, r"gradients must have shape \(900, 3, 2\)"),
        ({"gradients": without_one_output()}, "for all outputs of a point alike"),
        ({"y": Y, "functionals": [(Functional.values(Z), np.zeros(80))]}, "targets must have 3 columns"),
    ],
)
def test_errors(given, message):
    with pytest.raises(ValueError, match=message):
        FieldSmoother(**GIVEN).fit(X, **given)


def test_robust_losses_go_with_one_output():
    with pytest.raises(ValueError, match="goes with one output, got 3"):
        FieldSmoother(loss="huber", order=2, depth=2).fit(X, Y)
