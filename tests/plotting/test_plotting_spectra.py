"""Pictures of spectra, filters, impulse responses and regressions: what is drawn, where, and in which range."""

import sys

import numpy as np
import pytest

from gallery.sections.operators import section as operators_section
from seminorm import SVR, Smoother
from seminorm.kernels import (
    BSpline,
    Dirichlet,
    FourierSeries,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    NegativeDistance,
    PeriodicGaussian,
    Polyharmonic,
    SpectralMixture,
    ThinPlate,
)
from seminorm.operators import Operator, spectrum
from seminorm.plotting import plot_filters, plot_impulse, plot_regressions, plot_spectrum

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@pytest.fixture
def axes():
    """Two axes outside pyplot, in a figure that must be drawable in the end; pyplot must not have gained figures."""
    before = pyplot.get_fignums()
    figure = Figure()
    yield figure.subplots(1, 2)
    figure.canvas.draw()
    assert pyplot.get_fignums() == before


@pytest.fixture
def ax(axes):
    return axes[0]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


DRAW = {
    "filters": lambda **kw: plot_filters([Gaussian(), Laplacian()], **kw),
    "impulse": lambda **kw: plot_impulse(Gaussian(), **kw),
    "regressions": lambda **kw: plot_regressions({"sine": lambda X: np.sin(X[:, 0])}, np.linspace(0, 1, 5), **kw),
}


@pytest.mark.parametrize("name", DRAW)
def test_axes_are_used_or_made(name, ax):
    assert DRAW[name](ax=ax) is ax
    before = pyplot.get_fignums()
    made = DRAW[name]()
    assert isinstance(made, Axes) and len(pyplot.get_fignums()) == len(before) + 1
    pyplot.close(made.figure)


def test_spectrum_uses_or_makes_a_pair_of_axes(axes):
    assert plot_spectrum(Gaussian(), axes=axes) == tuple(axes)
    before = pyplot.get_fignums()
    left, right = plot_spectrum(Gaussian())
    assert left.figure is right.figure and left is not right
    assert len(pyplot.get_fignums()) == len(before) + 1
    pyplot.close(left.figure)


@pytest.mark.parametrize("name", [*DRAW, "spectrum"])
def test_missing_matplotlib_names_the_pip_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'seminorm\[plot\]'"):
        DRAW[name]() if name in DRAW else plot_spectrum(Gaussian())


@pytest.mark.parametrize(
    ("kernel", "dimension"), [(Gaussian(0.5), 1), (Matern(1.5), 3), (BSpline(3), 1), (ThinPlate(), 2)]
)
def test_spectrum_draws_the_kernel_and_its_spectrum(kernel, dimension, axes):
    r, omega = np.linspace(0, 4, 30), np.linspace(0.5, 9, 40)
    left, right = plot_spectrum(kernel, omega, r, dimension, axes=axes)
    places = np.zeros((30, dimension))
    places[:, 0] = r
    np.testing.assert_allclose(left.lines[0].get_ydata(), kernel(np.zeros((1, dimension)), places)[0], atol=1e-14)
    np.testing.assert_array_equal(left.lines[0].get_xdata(), r)
    np.testing.assert_array_equal(right.lines[0].get_xdata(), omega)
    np.testing.assert_allclose(right.lines[0].get_ydata(), spectrum(kernel, omega, dimension), rtol=1e-12)
    assert right.get_xlabel() == "frequency |ω|" and left.get_xlabel() == "distance r"


def test_both_sides_of_zero_can_be_drawn(axes):
    both = np.linspace(-5, 5, 21)
    left, right = plot_spectrum(Laplacian(), both, both, axes=axes)
    np.testing.assert_allclose(left.lines[0].get_ydata(), np.exp(-np.abs(both)))
    np.testing.assert_allclose(right.lines[0].get_ydata(), 2 / (1 + both**2))
    assert (left.get_xlabel(), right.get_xlabel()) == ("difference x", "frequency ω")


@pytest.mark.parametrize("scale", [1e-10, 1e-4, 1.0, 300.0, 1e10])
@pytest.mark.parametrize("kind", [Gaussian, Laplacian, lambda scale: BSpline(3, scale), Multiquadric])
def test_default_ranges_follow_the_scale(kind, scale, axes):
    """The picture of a dilated kernel is the dilated picture, up to the steps of the search."""
    left, right = plot_spectrum(kind(scale), axes=axes)
    unit_left, unit_right = plot_spectrum(kind(1.0), axes=Figure().subplots(1, 2))
    for one, unit, factor in ((left, unit_left, scale), (right, unit_right, 1 / scale)):
        assert one.lines[0].get_xdata()[-1] == pytest.approx(factor * unit.lines[0].get_xdata()[-1], rel=0.5)
        assert one.get_xscale() == unit.get_xscale()


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(1.5), BSpline(5), SpectralMixture((200.0,), 0.1, (1.0,))])
def test_default_ranges_show_all_that_is_large(kernel, axes):
    left, right = plot_spectrum(kernel, axes=axes)
    assert left.lines[0].get_xdata()[0] == 0.0 and right.lines[0].get_xdata()[0] == 0.0
    beyond_r = np.linspace(1, 4, 500)[:, None] * left.lines[0].get_xdata()[-1]
    assert np.abs(kernel([[0.0]], beyond_r)).max() < 0.06 * left.lines[0].get_ydata()[0]
    omega, height = right.lines[0].get_xdata()[-1], right.lines[0].get_ydata().max()
    assert spectrum(kernel, np.linspace(1, 4, 500) * omega).max() < 0.012 * height
    assert height > 0.8 * spectrum(kernel, np.linspace(0, omega, 50_001)).max()


@pytest.mark.parametrize(
    ("kernel", "level"),
    [
        (NegativeDistance(), "φ(0, r), up to a constant"),
        (ThinPlate(), "φ(0, r), up to polynomials of degree 1"),
        (Polyharmonic(2), "φ(0, r), up to polynomials of degree 1"),
        (InverseMultiquadric(), "φ(0, r)"),
    ],
)
def test_spectra_that_are_infinite_at_zero_have_logarithmic_axes(kernel, level, axes):
    left, right = plot_spectrum(kernel, axes=axes)
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")
    assert left.get_ylabel() == level
    assert np.isfinite(right.lines[0].get_xydata()).all()


def test_the_rule_for_homogeneous_kernels_is_a_straight_line(axes):
    """|omega|^-4 for r^3 on the line."""
    x, y = np.log(plot_spectrum(Polyharmonic(2), axes=axes)[1].lines[0].get_xydata()).T
    np.testing.assert_allclose(np.diff(y) / np.diff(x), -4.0)


def test_circle_has_stems_at_whole_frequencies(axes):
    left, right = plot_spectrum(Dirichlet(10), axes=axes)
    np.testing.assert_array_equal(right.lines[0].get_xdata(), np.arange(13))
    np.testing.assert_allclose(right.lines[0].get_ydata(), np.r_[np.ones(11), 0, 0])
    assert len(right.collections[0].get_segments()) == 13
    assert right.get_xlabel() == "frequency l" and right.get_ylabel() == "coefficient of exp(i l t)"
    np.testing.assert_allclose(left.lines[0].get_xdata()[[0, -1]], [-np.pi, np.pi])
    assert left.lines[0].get_ydata().max() == pytest.approx(21.0)


def test_stems_sum_to_the_kernel(axes):
    kernel, order = PeriodicGaussian(0.3, period=1.7), np.arange(-40, 41)
    _, right = plot_spectrum(kernel, order, axes=axes)
    t = np.linspace(0, 1.7, 9)
    series = np.cos(2 * np.pi / 1.7 * np.outer(t, order)) @ right.lines[0].get_ydata()
    np.testing.assert_allclose(series, kernel([[0.0]], t[:, None])[0], atol=1e-12)


def test_stems_end_where_a_series_converges_slowly(axes):
    slow = FourierSeries(tuple(1.0 / (1.0 + np.arange(300.0))))
    assert len(plot_spectrum(slow, axes=axes)[1].lines[0].get_xdata()) == 64


def test_products_over_the_axes_are_drawn_along_the_first(axes):
    omega = np.linspace(0, 5, 11)
    _, right = plot_spectrum(BSpline(3, 2.0), omega, dimension=2, axes=axes)
    along = np.column_stack([omega, np.zeros(11)])
    np.testing.assert_allclose(right.lines[0].get_ydata(), spectrum(BSpline(3, 2.0), along, 2))
    assert "first axis" in right.get_xlabel()


def test_kernels_without_spectrum_are_refused(axes):
    with pytest.raises(ValueError, match="not translation-invariant"):
        plot_spectrum(Linear(), axes=axes)
    with pytest.raises(TypeError, match="kernel must be a kernel of seminorm"):
        plot_spectrum(np.cos, axes=axes)
    with pytest.raises(ValueError, match="dimension 1"):
        plot_spectrum(Dirichlet(3), dimension=2, axes=axes)
    with pytest.raises(ValueError, match="whole numbers"):
        plot_spectrum(Dirichlet(3), [0.5], axes=axes)
    with pytest.raises(ValueError, match="omega must be points of the line"):
        plot_spectrum(Gaussian(), np.ones((3, 2)), axes=axes)


def test_designed_operators_have_spectra_too(axes):
    operator = Operator(lambda omega: 1 + ((omega - 6) / 0.8) ** 4)
    _, right = plot_spectrum(operator.kernel(dimension=1), axes=axes)
    omega, values = right.lines[0].get_xydata().T
    np.testing.assert_allclose(values, 1 / operator.symbol(omega))
    assert omega[-1] > 7 and values.max() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_narrow_peaks_of_designed_operators_are_found(axes):
    narrow = Operator(lambda omega: 1 + ((omega - 50) / 1.5) ** 4).kernel(dimension=1)
    omega, values = plot_spectrum(narrow, axes=axes)[1].lines[0].get_xydata().T
    assert 52 < omega[-1] < 100 and values.max() > 0.99


def test_filters_are_spectra_relative_to_their_largest_value(ax):
    omega = np.linspace(0, 6, 25)
    kernels = {"spline": BSpline(3), "wide": Gaussian(2.0), "shell": SpectralMixture((3.0,), 0.5, (2.0,))}
    plot_filters(kernels, omega, ax=ax)
    for label, kernel in kernels.items():
        values = spectrum(kernel, omega)
        np.testing.assert_allclose(curves(ax)[label], np.transpose([omega, values / values.max()]), rtol=1e-12)
    assert labels(ax) == list(kernels)
    assert ax.get_yscale() == "log" and ax.get_xscale() == "linear"
    assert len({line.get_color() for line in ax.lines}) == 3


def test_filters_are_named_by_their_kernels(ax):
    plot_filters([Gaussian(0.5), Laplacian()], ax=ax)
    assert labels(ax) == ["Gaussian(scale=0.5)", "Laplacian(scale=1.0)"]


def test_filters_of_circles_are_dots_at_their_frequencies(ax):
    plot_filters({"circle": PeriodicGaussian(0.5, period=3.0), "line": Gaussian(0.5 * 3 / (2 * np.pi))}, ax=ax)
    circle, line = curves(ax)["circle"], curves(ax)["line"]
    np.testing.assert_allclose(circle[:, 0], 2 * np.pi / 3 * np.arange(len(circle)))
    seen = circle[circle[:, 1] > 1e-6][1:]
    there = np.exp(np.interp(seen[:, 0], line[:, 0], np.log(line[:, 1])))
    np.testing.assert_allclose(seen[:, 1], there, rtol=0.01)  # a wrapped Gaussian, but for the constant
    assert ax.lines[0].get_linestyle() == "None" and ax.lines[0].get_marker() == "o"


@pytest.mark.parametrize("kernels", [[Gaussian(0.01), Gaussian(10.0)], [ThinPlate(), Gaussian()], [Multiquadric()]])
def test_filters_of_different_scales_have_a_logarithmic_axis(kernels, ax):
    plot_filters(kernels, ax=ax)
    assert ax.get_xscale() == "log"
    for line in ax.lines:
        assert line.get_ydata().max() == 1.0 and np.isfinite(line.get_xydata()).all()


def test_filters_that_let_nothing_pass_are_refused(ax):
    with pytest.raises(ValueError, match=r"lets none of the frequencies from 5e\+03"):
        plot_filters(Gaussian(), [5000.0, 6000.0], ax=ax)
    with pytest.raises(ValueError, match="at least one kernel"):
        plot_filters([], ax=ax)


def test_impulse_is_the_column_of_the_smoothing_matrix(ax):
    x = np.linspace(-3, 3, 25)
    plot_impulse({"f": Matern(1.5)}, alpha=0.3, x=x, ax=ax)
    K = Matern(1.5)(x[:, None])
    expected = (K @ np.linalg.inv(K + 0.3 * np.eye(25)))[:, 12]
    drawn = curves(ax)["f"]
    np.testing.assert_allclose(drawn[np.isin(drawn[:, 0], x), 1], expected, atol=1e-12)
    assert labels(ax) == ["data", "f"]


def test_impulse_keeps_the_constant_of_conditional_kernels(ax):
    """The weights of a smoother that leaves straight lines free add up to 1."""
    x = np.arange(-30.0, 31.0)
    plot_impulse({"spline": Polyharmonic(2)}, alpha=2.0, x=x, ax=ax)
    drawn = curves(ax)["spline"]
    at_data = drawn[np.isin(drawn[:, 0], x), 1]
    assert at_data.sum() == pytest.approx(1.0, abs=1e-8)
    assert drawn[np.argmax(drawn[:, 1]), 0] == 0.0


@pytest.mark.parametrize("scale", [1e-3, 50.0])
def test_impulse_points_follow_the_shortest_kernel(scale, ax):
    plot_impulse([Gaussian(scale), Gaussian(3 * scale), Polyharmonic(2)], ax=ax)
    spacing = np.diff(curves(ax)["data"][:, 0])
    assert 0.1 * scale < spacing[0] < scale


def test_impulse_on_the_circle_covers_it_once(ax):
    plot_impulse(Dirichlet(3, period=4.0), ax=ax)
    x = curves(ax)["data"][:, 0]
    np.testing.assert_allclose(np.diff(x), 4.0 / 41)
    assert len(x) == 41


def test_impulse_takes_one_alpha_for_each_kernel(ax):
    plot_impulse({"a": Gaussian(), "b": Gaussian()}, alpha=[0.01, 1.0], x=np.arange(-4.0, 5.0), ax=ax)
    assert curves(ax)["a"][:, 1].max() > curves(ax)["b"][:, 1].max()
    with pytest.raises(ValueError, match="one for each of 2 kernels, got 3"):
        plot_impulse([Gaussian(), Laplacian()], alpha=[1, 2, 3], ax=ax)


@pytest.mark.parametrize("x", [[0.0, 1.0], [0.0, 1.0, 3.0], [2.0, 1.0, 0.0]])
def test_impulse_needs_equally_spaced_points(x, ax):
    with pytest.raises(ValueError, match="equally spaced"):
        plot_impulse(Gaussian(), x=x, ax=ax)


@pytest.fixture(scope="module")
def regressions():
    X = np.random.default_rng(0).uniform(0, 6, (30, 1))
    y = np.sin(X[:, 0])
    models = {"Gaussian": Smoother(Gaussian()).fit(X, y), "SVR": SVR(Laplacian(), alpha=0.1).fit(X, y)}
    return models, X, y


def test_regressions_are_drawn_with_data_and_truth(regressions, ax):
    models, X, y = regressions
    x = np.array([3.0, 1.0, 2.0, 5.0])
    plot_regressions(models, x, X, y, truth=np.sin, ax=ax)
    ordered = np.sort(x)
    for name, model in models.items():
        np.testing.assert_allclose(curves(ax)[name], np.transpose([ordered, model.predict(ordered[:, None])]))
    np.testing.assert_allclose(curves(ax)["truth"], np.transpose([ordered, np.sin(ordered)]))
    np.testing.assert_array_equal(curves(ax)["data"], np.column_stack([X, y]))
    assert labels(ax) == ["truth", "Gaussian", "SVR", "data"]


def test_truth_may_be_an_array_in_the_order_of_x(regressions, ax):
    x = np.array([3.0, 1.0, 2.0])
    plot_regressions(regressions[0], x[:, None], truth=x**2, ax=ax)
    np.testing.assert_array_equal(curves(ax)["truth"], [[1, 1], [2, 4], [3, 9]])
    assert "data" not in labels(ax)


def test_regressions_are_named_by_their_estimators(regressions, ax):
    models = regressions[0]
    plot_regressions(models["SVR"], np.linspace(0, 1, 3), ax=ax)
    assert labels(ax) == [repr(models["SVR"])]
    other = Figure().subplots()
    plot_regressions(list(models.values()), np.linspace(0, 1, 3), ax=other)
    assert labels(other) == [repr(model) for model in models.values()]


def test_regressions_refuse_what_they_cannot_draw(regressions, ax):
    models, X, y = regressions
    x = np.linspace(0, 1, 4)
    with pytest.raises(ValueError, match="X and y belong together"):
        plot_regressions(models, x, X, ax=ax)
    with pytest.raises(ValueError, match=r"truth must have one value for each of 4 points x, got shape \(3,\)"):
        plot_regressions(models, x, truth=np.ones(3), ax=ax)
    two = Smoother(Gaussian()).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"'both' returned shape \(4, 2\)"):
        plot_regressions({"both": two}, x, ax=ax)


@pytest.mark.slow
def test_the_section_of_the_demo_bears_its_captions_out(tmp_path):
    section = operators_section(tmp_path)
    tables = {tuple(block.header[:2]): block.rows for block in section.blocks if hasattr(block, "rows")}
    gaussian, matched = tables["", "edf"]
    assert float(matched[2]) < 0.6 * float(gaussian[2]) and float(matched[3]) < 0.5 * float(gaussian[3])
    answers = {row[0]: row[1:3] for row in tables["function", "on the line"]}
    assert answers["`max(1 - r, 0)`"] == ["positive definite", "not admissible"]  # Askey's function, of power 1
    assert answers["`-sqrt(1 + r^2)`"] == 2 * ["conditionally positive definite, order 1"]
    assert answers["`exp(-r^4)`"] == answers["`tanh(<x, y>)`"] == 2 * ["not admissible"]
    files = [block.file for block in section.blocks if hasattr(block, "alternative")]
    assert sorted(files) == sorted(file.name for file in tmp_path.iterdir())
