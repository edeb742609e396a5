"""Pictures: what is drawn, where it is drawn, and that nothing else is touched."""

import subprocess
import sys

import numpy as np
import pytest

from seminorm import FieldSmoother, Smoother, TableRegressor
from seminorm.kernels import Gaussian, NegativeDistance, Polyharmonic, ThinPlate, all_kernels
from seminorm.plotting import (
    plot_alpha_path,
    plot_band,
    plot_contours,
    plot_field,
    plot_kernels,
    plot_levels,
    plot_metric,
    plot_samples,
)
from seminorm.shapes import Contours

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@pytest.fixture
def ax():
    """Axes outside pyplot, in a figure that must be drawable in the end; pyplot must not have gained figures."""
    before = pyplot.get_fignums()
    figure = Figure()
    yield figure.subplots()
    figure.canvas.draw()
    assert pyplot.get_fignums() == before


@pytest.fixture(scope="module")
def line_data():
    rng = np.random.default_rng(0)
    x = rng.permutation(np.linspace(0, 5, 40))
    return x, np.sin(x) + 0.1 * rng.standard_normal(40)


@pytest.fixture(scope="module")
def line_model(line_data):
    return Smoother(Polyharmonic(2)).fit(line_data[0][:, None], line_data[1])


@pytest.fixture(scope="module")
def field_model():
    """A field of the plane with a detail in one corner, on axes of different scales and offsets."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((3000, 2)), 0.1 * rng.random((3000, 2))])
    y = np.sin(70 * X.min(axis=1)) * np.exp(-10 * X.max(axis=1)) + 0.02 * rng.standard_normal(6000)
    return FieldSmoother(order=2, scale=[1.0, 20.0]).fit(X * [1.0, 20.0] + [100.0, -5.0], y)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


NAMES = ["alpha_path", "band", "samples", "field", "levels", "kernels"]


def plots(line_model, field_model):
    x = np.linspace(0, 5, 20)
    return {
        "alpha_path": lambda **kw: plot_alpha_path(line_model, **kw),
        "band": lambda **kw: plot_band(line_model, x, **kw),
        "samples": lambda **kw: plot_samples(x, line_model.sample(x[:, None], 3, random_state=0), **kw),
        "field": lambda **kw: plot_field(lambda X: X.sum(axis=1), ([0, 0], [1, 1]), resolution=5, **kw),
        "levels": lambda **kw: plot_levels(field_model, **kw),
        "kernels": lambda **kw: plot_kernels(ThinPlate(), **kw),
    }


@pytest.mark.parametrize("name", NAMES)
def test_axes_are_used_or_made(name, line_model, field_model, ax):
    draw = plots(line_model, field_model)[name]
    assert draw(ax=ax) is ax
    before = pyplot.get_fignums()
    made = draw()
    assert isinstance(made, Axes) and made is not ax
    assert len(pyplot.get_fignums()) == len(before) + 1
    pyplot.close(made.figure)


def test_plotting_imports_without_matplotlib():
    code = "import sys; sys.modules['matplotlib'] = None; import seminorm.plotting as p; assert p.plot_field"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_missing_matplotlib_names_the_pip_command(name, line_model, field_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ImportError, match=r"plotting needs matplotlib, which is not installed: pip install 'seminorm\[plot\]'"
    ):
        plots(line_model, field_model)[name]()


@pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])
def test_alpha_path_shows_the_whole_path_and_the_choice(criterion, line_data, ax):
    model = Smoother(criterion=criterion).fit(line_data[0][:, None], line_data[1])
    plot_alpha_path(model, ax=ax)
    twin = next(other for other in ax.figure.axes if other is not ax)
    by_label = {line.get_label(): line for line in [*ax.lines, *twin.lines]}
    np.testing.assert_array_equal(by_label["criterion"].get_xdata(), model.alpha_path_["alpha"])
    np.testing.assert_array_equal(by_label["criterion"].get_ydata(), model.alpha_path_["score"])
    np.testing.assert_array_equal(by_label["degrees of freedom"].get_ydata(), model.alpha_path_["edf"])
    chosen = by_label[f"chosen: alpha = {model.alpha_:.2g}"]
    assert chosen.get_xdata()[0] == model.alpha_ and chosen.get_ydata()[0] == model.alpha_path_["score"].min()
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "alpha" and "freedom" in twin.get_ylabel()


def test_alpha_path_skips_scores_that_are_not_finite(line_model, ax):
    class Fitted:
        criterion, alpha_ = "gcv", 1.0
        alpha_path_ = {
            "alpha": np.array([0.1, 1.0, 10.0]),
            "score": np.array([np.nan, 2.0, 3.0]),
            "edf": np.array([9.0, 5.0, 2.0]),
        }

    plot_alpha_path(Fitted(), ax=ax)
    np.testing.assert_array_equal(
        next(line for line in ax.lines if line.get_label() == "criterion").get_xdata(), [1.0, 10.0]
    )


def test_alpha_path_of_a_classifier(ax):
    """Ties go to the larger alpha: the dot is where alpha is, not where the score is least."""

    class Fitted:
        criterion, alpha_ = "loo", 1.0
        alpha_path_ = {"alpha": np.array([0.1, 1.0, 10.0]), "score": np.array([2.0, 2.1, 3.0])}

    plot_alpha_path(Fitted(), ax=ax)
    chosen = next(line for line in ax.lines if line.get_label() == "chosen: alpha = 1")
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (1.0, 2.1)
    Fitted.alpha_path_ = [Fitted.alpha_path_] * 3
    with pytest.raises(ValueError, match="3 machines, one per class"):
        plot_alpha_path(Fitted(), ax=ax)


def test_alpha_path_needs_a_path(line_data, ax):
    with pytest.raises(ValueError, match=r"alpha was fixed to 0\.5.*alpha='auto'"):
        plot_alpha_path(Smoother(alpha=0.5).fit(line_data[0][:, None], line_data[1]), ax=ax)


def test_alpha_path_of_a_field(field_model, ax):
    plot_alpha_path(field_model, ax=ax)
    by_label = {line.get_label(): line for axes in ax.figure.axes for line in axes.lines}
    assert by_label[f"chosen: alpha = {field_model.alpha_:.2g}"].get_xdata()[0] == field_model.alpha_
    path = field_model.alpha_path_
    np.testing.assert_array_equal(by_label["criterion"].get_xydata(), np.transpose([path["alpha"], path["score"]]))
    np.testing.assert_array_equal(by_label["degrees of freedom"].get_ydata(), path["edf"])
    assert ax.get_ylabel() == "robust generalised cross-validation"


def test_alpha_path_of_a_field_by_likelihood(ax):
    x = np.random.default_rng(0).random((300, 1))
    plot_alpha_path(FieldSmoother(order=2, criterion="reml").fit(x, np.sin(9 * x[:, 0])), ax=ax)
    assert ax.get_ylabel() == "minus log restricted likelihood" and len(ax.figure.axes) == 1


def test_alpha_path_of_a_field_without_degrees_of_freedom(ax):
    x = np.random.default_rng(0).random((300, 1))
    plot_alpha_path(FieldSmoother(criterion="holdout").fit(x, np.sin(9 * x[:, 0])), ax=ax)
    assert ax.get_ylabel() == "mean square at held-out points" and len(ax.figure.axes) == 1
    with pytest.raises(ValueError, match=r"alpha was fixed to 0\.5.*alpha='auto'"):
        plot_alpha_path(FieldSmoother(0.5).fit(x, x[:, 0]), ax=ax)


def test_band_is_the_mean_and_its_deviations(line_model, line_data, ax):
    x = np.array([3.0, 1.0, 2.0])
    plot_band(line_model, x, ax=ax, y=line_data[1], deviations=3)
    mean, std = line_model.predict(np.sort(x)[:, None], return_std=True)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack([np.sort(x), mean]))
    corners = ax.collections[0].get_paths()[0].vertices
    for value, height in zip(np.sort(x), mean + 3 * std, strict=True):
        assert np.isclose(corners[corners[:, 0] == value, 1].max(), height)
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), np.column_stack(line_data))
    assert labels(ax) == ["± 3 standard deviations", "fit", "data"]


def test_band_refuses_what_is_not_a_function_of_the_line(line_data, ax):
    x, y = line_data
    with pytest.raises(ValueError, match=r"one output.*has 2"):
        plot_band(Smoother().fit(x[:, None], np.column_stack([y, y])), x, ax=ax)
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(n, 1\), got shape \(40, 2\)"):
        plot_band(Smoother().fit(x[:, None], y), np.zeros((40, 2)), ax=ax)


def test_band_of_a_field_wants_the_points_of_the_data(line_data, ax):
    x, y = line_data
    model = FieldSmoother(depth=4).fit(x[:, None], y)
    plot_band(model, x, ax=ax, y=y, X=x)
    mean, _ = model.predict(np.sort(x)[:, None], return_std=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), mean)
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), np.column_stack(line_data))
    with pytest.raises(ValueError, match="FieldSmoother does not keep its data: give X"):
        plot_band(model, x, ax=ax, y=y)


def test_samples_are_lines_in_the_order_of_x(ax):
    x, draws = np.array([2.0, 0.0, 1.0]), np.array([[2.0, 20.0], [0.0, 0.0], [1.0, 10.0]])
    plot_samples(x[:, None], draws, ax=ax, label="draws from the prior")
    assert ax.lines[0].get_label() == "draws from the prior"
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], [[0, 1, 2], [0, 10, 20]])
    with pytest.raises(ValueError, match=r"draws must have shape \(3, n_samples\).*\(2, 3\)"):
        plot_samples(x, draws.T, ax=ax)


def test_field_is_evaluated_where_it_is_drawn(ax):
    seen = []

    def function(X):
        seen.append(X)
        return X[:, 0] + 10 * X[:, 1]

    points = np.array([[0.5, 0.5], [1.5, 0.2]])
    plot_field(
        function,
        ([0, 0], [2, 1]),
        ax=ax,
        points=points,
        values=[0.0, 1.0],
        resolution=41,
        levels=[0.0, 5.0, 12.0],
        label="height",
    )
    grid = np.concatenate(seen)
    assert grid.shape == (41 * 21, 2)
    np.testing.assert_array_equal([grid.min(axis=0), grid.max(axis=0)], [[0, 0], [2, 1]])
    contours, dots = ax.collections
    np.testing.assert_array_equal(contours.levels, [0.0, 5.0, 12.0])
    np.testing.assert_array_equal(dots.get_offsets(), points)
    assert dots.norm is contours.norm  # a dot has the colour of its value in the picture
    assert contours.get_paths()[1].contains_point((1.0, 0.25)) and not contours.get_paths()[1].contains_point(
        (1.0, 0.75)
    )
    assert ax.get_xlim() == (0, 2) and ax.get_ylim() == (0, 1)
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["height"]


def test_field_takes_estimators_and_functions_alike(ax):
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    model = Smoother(ThinPlate()).fit(X, X @ [1.0, 2.0])
    first = plot_field(model, ([0, 0], [1, 1]), ax=Figure().subplots(), resolution=7, colorbar=False)
    second = plot_field(model.function_, ([0, 0], [1, 1]), ax=ax, resolution=7, points=X, colorbar=False)
    np.testing.assert_allclose(first.collections[0].zmax, second.collections[0].zmax)
    assert len(second.collections[1].get_offsets()) == 30 and len(second.figure.axes) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": ([1, 0], [0, 1])}, "bounds must be finite and in order"),
        ({"bounds": ([0, 0], [0, 1])}, "bounds must have a width and a height"),
        ({"bounds": (0, 1)}, r"bounds must have shape \(2, 2\), the lower corner.*got \(0, 1\)"),
        ({"bounds": ([0, 0], [1, 1]), "resolution": 1}, "resolution must be at least 2"),
        ({"bounds": ([0, 0], [1, 1]), "function": lambda X: X}, "one value per point"),
    ],
)
def test_field_says_what_is_wrong(arguments, message, ax):
    with pytest.raises(ValueError, match=message):
        plot_field(**{"function": lambda X: X[:, 0], "ax": ax, **arguments})


def drawn_cells(ax):
    """Lower corners, upper corners and levels of the squares in a picture."""
    (cells,) = ax.collections
    corners = np.array([path.vertices[:4] for path in cells.get_paths()])
    return corners.min(axis=1), corners.max(axis=1), np.asarray(cells.get_array())


def test_contours_are_lines_and_an_inside(ax):
    ring, hole, open_line = [[0, 0], [4, 0], [4, 4], [0, 4]], [[1, 1], [1, 3], [3, 3], [3, 1]], [[5, 0], [6, 1]]
    plot_contours(Contours([ring, hole, open_line], [True, True, False]), [[1, 2], [3, 4]], ax=ax)
    closed, _, dashed, dots = ax.lines
    np.testing.assert_array_equal(closed.get_xydata(), [*ring, ring[0]])
    assert dashed.get_linestyle() == "--" and len(dots.get_xydata()) == 2
    (inside,) = ax.patches
    assert len(inside.get_path().vertices) == 10
    plot_contours(Contours([ring]), filled=False, ax=ax)
    assert len(ax.patches) == 1


def test_levels_tile_the_box_with_cells_of_their_size(field_model, ax):
    field = field_model.function_
    plot_levels(field, ax=ax)
    low, high, levels = drawn_cells(ax)
    box_low, box_high = field.bounds
    assert len(set(levels)) > 1 and levels.max() == field.depth
    width = (field_model.data_bounds_[1] - field_model.data_bounds_[0])[0]
    np.testing.assert_allclose(high - low, width * 2.0 ** -levels[:, None] * [1.0, 20.0], rtol=1e-6)
    np.testing.assert_allclose([low.min(axis=0), high.max(axis=0)], [box_low, box_high], rtol=1e-9)
    np.testing.assert_allclose(np.prod(high - low, axis=1).sum(), np.prod(box_high - box_low))  # no gap, no overlap
    block, _ = field.tree.locate(field.tree.box.coordinates((low + high) / 2))
    np.testing.assert_array_equal(field.tree.level_of[block], levels)


def test_levels_of_an_estimator_show_its_data(field_model, ax):
    plot_levels(field_model, ax=ax)
    low, high = field_model.data_bounds_
    np.testing.assert_allclose([ax.get_xlim(), ax.get_ylim()], np.transpose([low, high]))
    assert len(drawn_cells(ax)[2]) < np.count_nonzero(field_model.function_.tree.leaf)
    (scale,) = (other for other in ax.figure.axes if other is not ax)
    assert scale.get_ylabel() == "level"
    np.testing.assert_array_equal(scale.get_yticks(), np.arange(field_model.function_.depth + 1))


def test_levels_take_bounds(field_model, ax):
    plot_levels(field_model, ([100.0, -5.0], [100.2, 0.0]), ax=ax, colorbar=False)
    low, high, _ = drawn_cells(ax)
    assert (low < [100.2, 0.0]).all() and (high > [100.0, -5.0]).all()
    assert ax.get_xlim() == (100.0, 100.2) and len(ax.figure.axes) == 1


@pytest.mark.parametrize("draw", ["field", "levels", "decision"])
def test_bounds_are_two_corners(draw, field_model):
    from seminorm.plotting import plot_decision

    class Halves:
        def decision_function(self, X):
            return X[:, 0] - 100.1

    plot = {
        "field": lambda **kw: plot_field(field_model, resolution=5, **kw),
        "levels": lambda **kw: plot_levels(field_model, **kw),
        "decision": lambda **kw: plot_decision(Halves(), resolution=5, **kw),
    }[draw]
    ax = plot(bounds=([100.0, -5.0], [100.2, 0.0]), ax=Figure().subplots())
    assert ax.get_xlim() == (100.0, 100.2) and ax.get_ylim() == (-5.0, 0.0)
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        plot(bounds=(100.0, 100.2, -5.0, 0.0), ax=ax)


def test_levels_need_a_plane(line_data, ax):
    with pytest.raises(ValueError, match="fields of the plane, and this one has 1 coordinates"):
        plot_levels(FieldSmoother(alpha=1.0, depth=1).fit(line_data[0][:, None], line_data[1]), ax=ax)


def test_kernels_are_drawn_with_their_names(ax):
    r = np.array([0.0, 1.0, 2.0])
    plot_kernels([Gaussian(), NegativeDistance(), Polyharmonic(2)], r, ax=ax)
    np.testing.assert_allclose(
        [line.get_ydata() for line in ax.lines], [np.exp(-(r**2) / 2), -r, r**3 / 12], atol=1e-15
    )
    assert labels(ax) == [repr(Gaussian()), repr(NegativeDistance()), repr(Polyharmonic(2))]
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 3
    assert ax.get_xlabel() == "distance r"


def test_kernels_take_labels(ax):
    plot_kernels({"cubic": Polyharmonic(2), "linear": NegativeDistance()}, ax=ax)
    assert labels(ax) == ["cubic", "linear"]


def test_every_kernel_of_one_variable_has_a_profile(ax):
    def on_the_line(kernel):
        try:
            kernel([[0.0]])
        except (ValueError, IndexError):  # made for more columns
            return False
        return True

    kernels = {str(i): kernel for i, kernel in enumerate(all_kernels()) if on_the_line(kernel)}
    assert len(kernels) > 20
    plot_kernels(kernels, ax=ax)
    assert all(np.isfinite(line.get_ydata()).all() for line in ax.lines)


def test_decision_boundaries_show_level_and_margins(rng):
    from seminorm import SVC
    from seminorm.plotting import plot_decision

    X = rng.standard_normal((60, 2))
    y = (X**2).sum(axis=1) > 1.4
    ax = plot_decision(SVC().fit(X, y), ([-3, -3], [3, 3]), X=X, y=y, resolution=30)
    assert len(ax.lines) == 2
    assert len(ax.lines[0].get_xdata()) == (~y).sum()
    assert len(ax.collections) >= 3
    assert ax.get_xlim() == (-3, 3)
    with pytest.raises(ValueError, match="two classes"):
        plot_decision(SVC().fit(X, np.digitize(X[:, 0], [-0.5, 0.5])), ([-3, -3], [3, 3]))
    import matplotlib.pyplot as plt

    plt.close(ax.figure)


def test_metrics(ax):
    X = np.random.default_rng(0).standard_normal((120, 4))
    machine = Smoother(NegativeDistance(), metric="full").fit(X, np.sin(2 * X[:, 1]))
    plot_metric(machine, ax)
    assert len(ax.patches) == 4 and ax.get_yticklabels()[0].get_text() == "x1"
    assert len(plot_metric(machine, matrix=True, ax=Figure().subplots()).images) == 1
    stack = TableRegressor().fit(X, X[:, 1])
    assert plot_metric(stack, Figure().subplots()).get_yticklabels()[0].get_text() == "x1"
    with pytest.raises(ValueError, match="several"):
        plot_metric(stack, Figure().subplots(), matrix=True)
    with pytest.raises(ValueError, match="learned a metric"):
        plot_metric(Smoother().fit(X, X[:, 0]), ax)
