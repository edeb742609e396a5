"""FieldSmoother as a user meets it: scikit-learn's checks, bad input, limits, interruption, grids."""

import numpy as np
import pytest

from seminorm import FieldSmoother
from seminorm._base.memory import NotEnoughMemoryError
from seminorm._base.spacing import repetitions
from seminorm.operators import Operator, derivatives


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(0)
    X = rng.random((500, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(500)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, 'alpha must be "auto" or a positive number'),
        ({"alpha": "best"}, "alpha must be .* got 'best'"),
        ({"alpha": "gcv"}, "use alpha=\"auto\", criterion='gcv'"),
        ({"criterion": "loo"}, "criterion must be one of 'auto', 'reml', 'robust_gcv', 'gcv', 'holdout', got 'loo'"),
        ({"order": 4}, "order must be 1, 2, 3 or None"),
        ({"operator": "spline"}, "operator must be one of 'auto', 'tension', 'matern' or an operator"),
        ({"operator": "tension", "alpha": 1.0}, "chosen together with alpha: leave alpha out"),
        ({"operator": derivatives(1), "order": 2}, r"not both: order=2 is operator=derivatives\(2\)"),
        ({"operator": derivatives(4)}, "semi-norms of order 0 to 3 with factors that are not negative"),
        ({"operator": Operator(lambda w: 1 + w**3)}, "a symbol that is a polynomial"),
        ({"operator": derivatives(3), "degree": 2}, "degree=2 is too small for order=3"),
        ({"order": 3, "degree": 2}, "degree=2 is too small for order=3"),
        ({"degree": 5}, "degree must be 2 or 3"),
        ({"depth": -1}, "depth must be"),
        ({"depth": 2.5}, "depth must be"),
        ({"scale": [1.0, 0.0]}, "scale must be positive"),
        ({"margin": -1.0}, "margin must be a number not below 0"),
        ({"memory_limit": 0}, "memory_limit must be a positive number of bytes"),
    ],
)
def test_bad_parameters(plane, parameters, message):
    with pytest.raises(ValueError, match=message):
        FieldSmoother(**parameters).fit(*plane)


def test_the_operator_follows_the_data(rng):
    """A walk at random asks for tension within a cell, a smooth function for the thin plate; both with noise."""
    X = np.arange(600.0)[:, None] / 600
    walk = np.cumsum(rng.standard_normal(600)) / 20
    smooth = np.sin(4 * X[:, 0]) + 0.05 * rng.standard_normal(600)
    rough, fine = FieldSmoother().fit(X, walk), FieldSmoother().fit(X, smooth)
    assert fine.operator_.as_polynomial()[-1] == 1.0 and len(fine.operator_.as_polynomial()) == 3
    assert rough.details_.get("length", 0.0) < 0.01 < fine.details_.get("length", np.inf)
    assert rough.criterion_ == "reml" and rough.alpha_ in rough.alpha_path_["alpha"]
    assert np.sqrt(np.mean((fine.predict(X) - np.sin(4 * X[:, 0])) ** 2)) < 0.02


def test_the_thin_plate_where_nothing_is_chosen(plane):
    X, y = plane
    for model in (FieldSmoother(1e-3), FieldSmoother(1e-3, operator=None), FieldSmoother(1e-3, order=2)):
        assert model.fit(X, y).operator_ == derivatives(2)
    few = FieldSmoother().fit(X[:20], y[:20])
    assert few.operator_ == derivatives(2) and few.details_["reason"] == "there are fewer than 30 different values"
    assert few.criterion_ == "robust_gcv"
    same = FieldSmoother().fit(np.ones((50, 2)), np.arange(50.0))
    assert same.details_["reason"] == "all points coincide" and np.allclose(same.predict([[1.0, 1.0]]), 24.5)


def test_bad_observations(plane):
    X, y = plane
    broken = y.copy()
    broken[3] = np.inf
    weights = np.ones(500)
    for arguments, message in [
        ((X, broken), "infinity"),
        ((X, y, -weights), "sample_weight must be finite and not negative"),
        ((X, y, weights[:-1]), "sample_weight must have shape"),
        ((X, y, 0 * weights), "all weights are zero"),
        ((np.tile(X, 3), y), "one to four coordinates: use seminorm.Smoother"),
    ]:
        with pytest.raises(ValueError, match=message):
            FieldSmoother().fit(*arguments)
    with pytest.raises(ValueError, match="gradients must have shape"):
        FieldSmoother().fit(X, y, gradients=y)
    with pytest.raises(ValueError, match="infinite components"):
        FieldSmoother().fit(X, y, gradients=np.full((500, 2), np.inf))
    with pytest.raises(ValueError, match="y of chunk 1 must have shape"):
        FieldSmoother().fit([(X, y), (X, y[:-1])])
    with pytest.raises(ValueError, match="features"):
        FieldSmoother().fit(X, y).predict(X[:, :1])


def test_sources_are_read_again_and_scales_fit(plane):
    X, y = plane
    spent = iter([(X, y)])
    with pytest.raises(ValueError, match="must return a fresh iterator"):
        FieldSmoother().fit(lambda: spent)
    with pytest.raises(ValueError, match="each chunk of X has its own"):
        FieldSmoother().fit([(X, y)], y)
    with pytest.raises(ValueError, match="scale must be one number or 2"):
        FieldSmoother(scale=[1.0, 2.0, 3.0]).fit(X, y)


def test_sources_without_observations_or_files(plane, tmp_path):
    X, y = plane
    np.savez(tmp_path / "there.npz", X=X, y=y)
    files = [str(tmp_path / "there.npz"), tmp_path / "absent.npz"]
    with pytest.raises(FileNotFoundError, match=r"chunk file .*absent\.npz, item 1 of 2 of X does not exist"):
        FieldSmoother().fit(files)
    with pytest.raises(FileNotFoundError, match=r"chunk file .*absent\.npz does not exist"):
        FieldSmoother().fit(lambda: iter(files))
    with pytest.raises(FileNotFoundError, match="is a folder: give paths of npz files"):
        FieldSmoother().fit([tmp_path])
    for empty in ([], ()):
        with pytest.raises(ValueError, match=r"X is an empty (list|tuple): give points.*check the folder"):
            FieldSmoother().fit(empty)
    with pytest.raises(ValueError, match=r"X is a generator, which can be read once.*function that returns"):
        FieldSmoother().fit(chunk for chunk in [(X, y)])
    with pytest.raises(ValueError, match="there are no observations: X has no chunks"):
        FieldSmoother().fit(lambda: iter([]))
    with pytest.raises(ValueError, match="all gradients NaN"):
        FieldSmoother().fit(X, gradients=np.full((500, 2), np.nan))


def test_coarsest_level_alone_is_solved():
    """All data in one cell: the preconditioner must still know the free polynomials."""
    X = np.random.default_rng(5).random((1000, 2))
    smoother = FieldSmoother(alpha=1.0, depth=0, tol=1e-8).fit(X, X @ [1.0, -2.0])
    np.testing.assert_allclose(smoother.predict(X), X @ [1.0, -2.0], atol=1e-6)


def test_values_left_out_by_weight_may_be_anything(plane):
    X, y = plane
    weight = np.ones(500)
    weight[:5] = 0.0
    changed, moved = y.copy(), X.copy()
    changed[:5], moved[:5] = np.nan, 50.0
    one = FieldSmoother(alpha=1e-3).fit(X[5:], y[5:])
    other = FieldSmoother(alpha=1e-3).fit(moved, changed, sample_weight=weight)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-6)


def test_constant_axis(plane):
    """A third coordinate that never changes has no influence."""
    X, y = plane
    flat = np.column_stack([X, np.full(500, 7.0)])
    smoother = FieldSmoother(alpha=1e-3, tol=1e-8).fit(flat, y)
    values = smoother.predict(flat)
    assert np.sqrt(np.mean((values - y) ** 2)) < 0.06
    moved = flat + [0.0, 0.0, 0.05]
    np.testing.assert_allclose(smoother.predict(moved), values, atol=0.05)


def test_one_point_and_equal_values():
    single = FieldSmoother(alpha=1.0).fit([[3.0, 4.0]], [2.5])
    np.testing.assert_allclose(single.predict([[3.0, 4.0], [10.0, -5.0]]), 2.5)
    X = np.random.default_rng(1).random((200, 2))
    equal = FieldSmoother().fit(X, np.full(200, -7.25))
    np.testing.assert_array_equal(equal.predict(X), -7.25)
    repeated = FieldSmoother(alpha=1e-6).fit(np.ones((50, 2)), np.arange(50.0))
    np.testing.assert_allclose(repeated.predict([[1.0, 1.0]]), 24.5, atol=1e-6)


def test_duplicated_points_with_different_values(plane):
    X, y = plane
    smoother = FieldSmoother().fit(np.concatenate([X, X]), np.concatenate([y + 0.5, y - 0.5]))
    assert smoother.function_.depth <= 6
    np.testing.assert_allclose(smoother.predict(X).mean(), y.mean(), atol=0.02)


@pytest.mark.slow
def test_outliers_that_hide_all_detail_are_reported(recwarn):
    rng = np.random.default_rng(8)
    X = rng.random((3000, 2))
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.standard_normal(3000)
    assert FieldSmoother().fit(X, y).function_.depth > 1
    y[7] = 9999.0
    weight = np.ones(3000)
    weight[7] = 0.0
    assert FieldSmoother().fit(X, y, sample_weight=weight).function_.depth > 1
    for noise in (rng.standard_normal(3000), rng.standard_t(3, 3000), np.zeros(3000)):  # coarse, and rightly so
        assert FieldSmoother().fit(X, X[:, 0] + noise).function_.depth <= 3
    assert not [warning for warning in recwarn if "enormous" in str(warning.message)]
    with pytest.warns(UserWarning, match=r"ended at depth [0-3], and a few residuals are enormous.*fill values"):
        FieldSmoother().fit(X, y)


def test_large_offsets_lose_nothing(plane):
    """UTM coordinates and values with a large mean."""
    X, y = plane
    near = FieldSmoother(alpha=1e2 * 1e-3, depth=6, tol=1e-6).fit(1e3 * X, y)
    offset = np.array([5e5, 5.4e6])
    far = FieldSmoother(alpha=1e2 * 1e-3, depth=6, tol=1e-6).fit(1e3 * X + offset, y + 1e6)
    np.testing.assert_allclose(far.predict(1e3 * X + offset) - 1e6, near.predict(1e3 * X), atol=1e-5)


def test_memory_limit(plane):
    X, y = plane
    with pytest.raises(
        NotEnoughMemoryError, match=r"depth \d+ .* GiB.* choose depth=\d+ or less, or raise memory_limit"
    ):
        FieldSmoother(alpha=1e-6, depth=12, memory_limit=2e8).fit(X, y)
    rough = np.random.default_rng(2).random((4000, 2))
    with pytest.warns(UserWarning, match="the field stays at depth"):
        smoother = FieldSmoother(memory_limit=1e6).fit(rough, np.sin(40 * rough[:, 0]) * np.sin(40 * rough[:, 1]))
    assert smoother.function_.depth >= 1


def test_interruption_leaves_the_last_level(plane):
    X, y = plane
    seen = []

    def stop(fit):
        seen.append(fit.field.depth)
        if len(seen) == 3:
            raise KeyboardInterrupt

    smoother = FieldSmoother(callback=stop)
    with pytest.raises(KeyboardInterrupt) as interruption:
        smoother.fit(X, y)
    assert seen == [0, 1, 2] and smoother.function_.depth == 2
    assert np.isfinite(smoother.predict(X)).all()
    assert not smoother.complete_
    assert "keeps the field of depth 2" in interruption.value.__notes__[0]
    assert FieldSmoother().fit(X, y).complete_


def interrupting(chunk, reads):
    """A source that is interrupted while it is read for the last time of ``reads``."""
    left = [reads]

    def read():
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        yield chunk

    return read


def test_interruption_within_a_level_leaves_the_level_before(plane):
    fields = []
    smoother = FieldSmoother(alpha=1e-3, depth=5, callback=lambda fit: fields.append(fit.field))
    with pytest.raises(KeyboardInterrupt):
        smoother.fit(interrupting(plane, reads=5))
    assert len(fields) >= 2 and smoother.function_ is fields[-1] and not smoother.complete_
    mean, std = smoother.predict(plane[0][:5], return_std=True)
    np.testing.assert_array_equal(mean, fields[-1](plane[0][:5]))
    assert (std > 0).all() and np.isfinite(std).all()


def test_interruption_before_the_first_level_leaves_nothing(plane):
    from sklearn.exceptions import NotFittedError

    smoother = FieldSmoother(alpha=1e-3, depth=2).fit(*plane)
    with pytest.raises(KeyboardInterrupt) as interruption:
        smoother.fit(interrupting(plane, reads=1))
    assert not hasattr(interruption.value, "__notes__")
    with pytest.raises(NotFittedError):
        smoother.predict(plane[0])


def test_progress_bar_names_the_level(plane, capsys):
    smoother = FieldSmoother(verbose=True, depth=5).fit(*plane)
    shown = capsys.readouterr().err
    for depth in range(6):
        assert f"depth {depth}, " in shown
    assert smoother.function_.n_coef > 1000
    assert f"depth 5, {smoother.function_.n_coef:,} coefficients".replace(",", " ").replace("  ", ", ") in shown


def test_no_convergence_is_said(plane):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="Raise max_iter or alpha"):
        FieldSmoother(alpha=1e-7, depth=6, tol=1e-10, max_iter=3).fit(*plane)


def test_residual_is_what_was_asked(plane):
    assert FieldSmoother(alpha=1e-4, depth=6, tol=1e-9).fit(*plane).residual_ <= 1e-9


def test_orders_that_are_not_well_posed_stay_at_the_sampling():
    """Order 1 in the plane has no minimiser in the limit: cells do not become smaller than the sampling."""
    rng = np.random.default_rng(3)
    X = rng.random((2000, 2))
    rough = FieldSmoother(alpha=1e-3, order=1, depth=12).fit(X, X[:, 0])
    assert rough.function_.depth < 9


def test_four_dimensions():
    rng = np.random.default_rng(4)
    X = rng.random((1500, 4))
    y = X[:, 0] * X[:, 1] + X[:, 3] ** 2
    smoother = FieldSmoother(alpha=1e-3, depth=1).fit(X, y + 0.01 * rng.standard_normal(1500))
    Z = rng.random((200, 4))
    truth = Z[:, 0] * Z[:, 1] + Z[:, 3] ** 2
    assert np.sqrt(np.mean((smoother.predict(Z) - truth) ** 2)) < 0.1 * truth.std()


def test_grid(plane):
    X, y = plane
    smoother = FieldSmoother(alpha=1e-3).fit(X, y)
    grid = smoother.grid([0.1, 0.2], bounds=([0.0, 0.0], [1.0, 1.0]), names=["east", "north"], value_name="height")
    assert grid.dims == ("east", "north") and grid.shape == (11, 6) and grid.name == "height"
    np.testing.assert_allclose(grid.sel(east=0.3, north=0.4, method="nearest"), smoother.predict([[0.3, 0.4]])[0])
    assert max(smoother.grid().shape) == 100
    with pytest.raises(ValueError, match="spacing must be positive"):
        smoother.grid(0.0)
    with pytest.raises(ValueError, match="larger spacing"):
        smoother.grid(1e-7)
    with pytest.raises(ValueError, match="spacing must be one number or 2"):
        smoother.grid([0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match="names must be 2 different ones"):
        smoother.grid(names=["x", "x"])


def test_bounds_of_a_grid_are_two_corners(plane):
    smoother = FieldSmoother(alpha=1e-3, depth=3).fit(*plane)
    corners = smoother.grid(0.1, bounds=([0.0, 0.2], [1.0, 0.6]))
    assert corners.shape == (11, 5)
    line = FieldSmoother(alpha=1e-3, depth=3).fit(plane[0][:, :1], plane[1])
    assert line.grid(0.1, bounds=(0.0, 1.0)).identical(line.grid(0.1, bounds=([0.0], [1.0])))
    for bounds, message in [
        ((0.0, 1.0, 0.2, 0.6), r"bounds must have shape \(2, 2\), the lower corner and the upper one, got"),
        (([0.0], [1.0, 2.0]), r"bounds must have shape \(2, 2\)"),
        (([0.0, 0.2], [1.0, 0.1]), "in order, the least of each coordinate first"),
        (([0.0, 0.0], [np.inf, 1.0]), "bounds must be finite"),
        ("everywhere", r"shape \(2, 2\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            smoother.grid(0.1, bounds=bounds)


def test_spacing_left_out_is_the_same_in_scaled_coordinates(plane):
    X, y = plane
    plain = FieldSmoother(alpha=1e-3, depth=3).fit(X, y).grid()
    wide = FieldSmoother(alpha=1e-3, depth=3, scale=[1000.0, 1.0]).fit(X * [1000.0, 1.0], y).grid()
    assert wide.shape == plain.shape
    np.testing.assert_allclose(wide.values, plain.values, atol=1e-6)
    single = FieldSmoother(alpha=1.0, scale=1e-5).fit([[3.0, 4.0]], [2.5]).grid()
    assert single.shape == (1, 1)


@pytest.mark.parametrize("spacing", [0.2, 0.05])  # few nodes: exact; many: drawn
def test_grid_with_standard_deviations(plane, spacing):
    smoother = FieldSmoother(alpha=1e-3, depth=3, std_samples=8).fit(*plane)
    grid = smoother.grid(spacing, bounds=([0, 0], [1, 1]), names=["east", "north"], value_name="height", std=True)
    assert list(grid.data_vars) == ["height", "height_std"] and grid["height_std"].dims == ("east", "north")
    nodes = np.stack(np.meshgrid(grid["east"], grid["north"], indexing="ij"), axis=-1).reshape(-1, 2)
    mean, std = smoother.predict(nodes, return_std=True)
    np.testing.assert_allclose(grid["height"].values.reshape(-1), mean)
    np.testing.assert_allclose(grid["height_std"].values.reshape(-1), std)


def test_chunks_of_a_grid_have_the_deviations_of_the_whole(plane, monkeypatch):
    smoother = FieldSmoother(alpha=1e-3, depth=3, std_samples=8).fit(*plane)
    whole = smoother.grid(0.1, std=True)
    monkeypatch.setattr("seminorm.functions.grids._CHUNK_POINTS", 13)
    xarray = pytest.importorskip("xarray")
    xarray.testing.assert_allclose(smoother.grid(0.1, std=True), whole)


@pytest.mark.parametrize("number", [3, 100])  # exact, and drawn
def test_nothing_is_known_beyond_the_box(plane, number):
    smoother = FieldSmoother(alpha=1e-3, depth=2, margin=0.0, std_samples=4).fit(*plane)
    low, high = smoother.function_.bounds
    edge = low + (high - low) * np.array([1.0, 0.5])
    X = np.tile([edge, edge + [0.1, 0.0]], (number, 1))
    with pytest.warns(UserWarning, match="beyond the box of the field.*infinite. A larger margin"):
        mean, std = smoother.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std[::2]).all() and (std[::2] > 0).all() and np.isinf(std[1::2]).all()


def test_the_data_lie_in_the_box_whatever_the_rounding(recwarn):
    """The extreme points of data without a margin are on the edge of the box."""
    rng = np.random.default_rng(6)
    for offset in (0.0, 1e6 / 3):
        X = rng.random((30, 1)) / 7 + offset
        smoother = FieldSmoother(alpha=1e-3, depth=2, margin=0.0).fit(X, X[:, 0])
        assert np.isfinite(smoother.predict(X, return_std=True)[1]).all()
    assert not [warning for warning in recwarn if "beyond the box" in str(warning.message)]


@pytest.mark.parametrize("margin", [0.0, 0.3, 1.0])
def test_margin_is_rounded_up_to_whole_cells(margin):
    X = np.random.default_rng(7).random((200, 2)) * [2.0, 1.1]
    smoother = FieldSmoother(alpha=1.0, depth=0, margin=margin).fit(X, X[:, 0])
    (low, high), (left, right) = smoother.function_.bounds, smoother.data_bounds_
    longest = (right - left).max()
    wanted = (right - left) / longest + 2 * margin
    np.testing.assert_allclose((high - low) / longest, np.ceil(wanted - 1e-9))


def test_grid_without_xarray(plane, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    smoother = FieldSmoother(alpha=1e-3).fit(*plane)
    axes, values = smoother.grid(0.25)
    assert values.shape == tuple(map(len, axes))
    axes, values, std = smoother.grid(0.25, std=True)
    assert std.shape == values.shape == tuple(map(len, axes)) and (std > 0).all()


@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("shift", [0.0, 1e-9])
def test_copies_of_observations_are_weights(copies, shift, rng):
    """Copies tell nothing of the noise: a criterion that took them for independent interpolated."""
    X, Z = rng.random((1500, 2)), rng.random((500, 2))
    y, truth = np.sin(6 * X[:, 0]) * X[:, 1] + 0.3 * rng.standard_normal(1500), np.sin(6 * Z[:, 0]) * Z[:, 1]
    once = FieldSmoother().fit(X, y)
    again = np.repeat(X, copies, axis=0) + shift * rng.standard_normal((1500 * copies, 2))
    copied = FieldSmoother().fit(again, np.repeat(y, copies))
    assert np.sqrt(np.mean((copied.predict(Z) - truth) ** 2)) < 0.08
    if shift == 0.0:
        assert copied.alpha_ == pytest.approx(copies * once.alpha_, rel=0.02)


def test_repetitions_are_found_by_point_and_value(rng):
    X, y = rng.random((100_000, 2)), rng.random(100_000)
    assert repetitions(X, y) is None
    rows = rng.permutation(np.repeat(np.arange(50_000), 2))
    first, group = repetitions(X[rows], y[rows])
    assert len(first) == 50_000 and (np.diff(first) > 0).all()
    np.testing.assert_array_equal(X[rows][first][group], X[rows])
    assert repetitions(X[rows], rng.random(100_000)) is None
    assert repetitions(np.zeros((0, 2)), np.zeros(0)) is None
