"""The same data in other units: a kernel without a length scale does not notice."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Gaussian, ThinPlate
from seminorm.plotting._style import INK, SKY, VERMILION

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_LINES = ({"color": SKY, "linewidth": 6.0}, {"color": VERMILION, "linewidth": 2.6}, {"color": INK, "linewidth": 0.8})
_DILATIONS = (0.01, 1.0, 100.0)
_KERNELS = {"ThinPlate()": ThinPlate(), "Gaussian(scale=1)": Gaussian(scale=1.0)}


def fit_in_units(kernel, s, x, y):
    return Smoother(kernel).fit(s * x[:, None], y)  # alpha is chosen anew in each


def section(folder: Path) -> Section:
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, 60))
    y = np.sin(x) + 0.3 * np.cos(3 * x) + 0.15 * rng.standard_normal(len(x))
    line = np.linspace(-0.5, 10.5, 4000)  # fine enough for the narrowest of the curves
    with warnings.catch_warnings():  # in the wrong units the Gaussian says that it predicts nothing
        warnings.filterwarnings("ignore", message=".*nearly interpolates", category=UserWarning)
        models = {name: {s: fit_in_units(kernel, s, x, y) for s in _DILATIONS} for name, kernel in _KERNELS.items()}
    fits = {
        name: {s: model.predict(s * line[:, None]) for s, model in by_scale.items()}
        for name, by_scale in models.items()
    }
    intro = (
        "Measure the same data in another unit of length. The thin-plate semi-norm of a dilated function changes only "
        "by a factor, so the fit stays the same; there is no width to tune. A Gaussian has a width, and in the wrong "
        "units it is the wrong width for every alpha."
    )
    law = _dilation_law(models["ThinPlate()"], line, x, y)
    return Section(
        "No length scale",
        [Paragraph(intro), Code.of(fit_in_units), _picture(folder, fits, line, x, y), _differences(models, fits), law],
    )


def _picture(folder: Path, fits: dict[str, dict], line: np.ndarray, x: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.7)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (name, by_scale) in zip(axes, fits.items(), strict=True):
        ax.plot(x, y, "o", color=INK, markersize=3, zorder=1.5)
        for i, (s, values) in enumerate(by_scale.items()):
            ax.plot(line, values, **_LINES[i], solid_capstyle="round", label=f"s = {s:g}")
        ax.set(title=name, xlabel="x  (fitted on s·x)", ylim=(-2.1, 2.1))
        ax.legend(loc="lower left", ncols=3)
    caption = (
        "Fits on data dilated by s, drawn over the undilated axis. Left: three curves that coincide, drawn in "
        "different widths to be seen at all. Right: three different fits of the same data."
    )
    return Picture(
        save(figure, folder, "no-length-scale"), "Left three coinciding curves, right three different ones", caption
    )


def _differences(models: dict[str, dict[float, Smoother]], fits: dict[str, dict]) -> Table:
    rows = [
        [
            f"`{name}`",
            number(s),
            number(models[name][s].alpha_),
            number(models[name][s].edf_),
            number(np.abs(values - by_scale[1.0]).max(), 2),
        ]
        for name, by_scale in fits.items()
        for s, values in by_scale.items()
    ]
    caption = (
        "The alpha that was chosen, the degrees of freedom, and the largest difference to the fit with s = 1 along the "
        "curves above."
    )
    return Table(["kernel", "s", "alpha", "edf", "largest difference"], rows, caption)


def _dilation_law(by_scale: dict[float, Smoother], line: np.ndarray, x: np.ndarray, y: np.ndarray) -> Table:
    base = by_scale[1.0]
    degree = base.kernel_.dilation_degree
    rows = []
    for s in _DILATIONS:
        moved = Smoother(ThinPlate(), alpha=base.alpha_ * s**degree).fit(s * x[:, None], y)
        difference = np.abs(moved.predict(s * line[:, None]) - base.predict(line[:, None])).max()
        rows.append(
            [
                number(s),
                number(moved.alpha_),
                number(difference, 2),
                number(by_scale[s].alpha_ / (base.alpha_ * s**degree), 6),
            ]
        )
    caption = (
        f"The dilation law. The kernel has degree {degree}: fitting on s·x with alpha · s^{degree} gives the "
        "function fitted on x with alpha, dilated. The last column compares the automatically chosen alpha with "
        f"alpha · s^{degree}."
    )
    return Table(["s", f"alpha · s^{degree}", "largest difference", "chosen alpha, relative"], rows, caption)
