"""Kernels and the operators behind them: what each penalises, designing a penalty, reading one off the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.estimators import match_spectrum
from seminorm.kernels import BSpline, Gaussian, Laplacian, Polyharmonic
from seminorm.operators import Operator, admissible
from seminorm.plotting import plot_regressions, plot_spectrum
from seminorm.plotting._style import GRAY

from ..drawing import new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_SHOWN = {
    "BSpline(3)": BSpline(3),
    "Gaussian(0.6)": Gaussian(0.6),
    "Laplacian()": Laplacian(),
    "Polyharmonic(2)": Polyharmonic(2),
}
_END, _GAP, _NOISE = 24.0, (10.0, 12.5), 0.4
_SCALES = np.geomspace(0.05, 3.0, 13)
_QUESTIONS = {
    "`max(1 - r, 0)`": (lambda r: np.maximum(1.0 - r, 0.0), "radial"),
    "`exp(-r^4)`": (lambda r: np.exp(-(r**4)), "radial"),
    "`-sqrt(1 + r^2)`": (lambda r: -np.sqrt(1.0 + r**2), "radial"),
    "`tanh(<x, y>)`": (np.tanh, "dot"),
}


def cheap_around(frequency, width):
    return Operator(lambda omega: 1 + ((omega - frequency) / width) ** 4).kernel(dimension=1)


def fit_matched(x, y):
    match = match_spectrum(x[:, None], y)
    return Smoother(kernel=match.kernel, alpha=match.noise, null_space=0).fit(x[:, None], y)


def section(folder: Path) -> Section:
    x, y = _series()
    models = {"Gaussian": _best_gaussian(x, y), "matched spectrum": fit_matched(x, y)}
    intro = (
        "Behind every kernel is an operator: the semi-norm multiplies the power of a function at each frequency by a "
        "symbol, and the kernel's spectrum is its inverse. Where the spectrum is small, functions are penalised. "
        "`spectrum` reads it off a kernel; an `Operator` gives the kernel; `match_spectrum` estimates both from data."
    )
    return Section(
        "What does the kernel penalise?",
        [
            Paragraph(intro),
            _spectra(folder),
            Code.of(cheap_around, fit_matched),
            _designed(folder),
            _regressions(folder, models, x, y),
            _errors(models),
            _answers(),
        ],
    )


def _spectra(folder: Path) -> Picture:
    figure = new_figure(9.6, 4.6)
    axes = figure.subplots(2, len(_SHOWN))
    for (name, kernel), pair in zip(_SHOWN.items(), axes.T, strict=True):
        upper, lower = plot_spectrum(kernel, axes=pair)
        upper.set(title=name, ylabel="kernel" if name == next(iter(_SHOWN)) else "")
        lower.set(ylabel="spectrum" if name == next(iter(_SHOWN)) else "")
    caption = (
        "Above: kernels against distance. Below: their spectra against frequency. The spline and the Gaussian hardly "
        "differ; the Laplacian lets high frequencies pass, hence its kinks; the cubic spline of the last "
        "column has no length scale (a straight line on logarithmic axes) and leaves frequency 0 free."
    )
    return Picture(save(figure, folder, "spectra"), "Four kernels, and below each its Fourier transform", caption)


def _designed(folder: Path) -> Picture:
    figure = new_figure(9.6, 3.2)
    left, right = plot_spectrum(cheap_around(6.0, 0.8), axes=figure.subplots(1, 2))
    left.set_title("kernel")
    right.set_title("spectrum")
    right.axvline(6.0, color=GRAY, linestyle=":", linewidth=1)
    caption = (
        "A penalty designed by hand: frequencies around 6 are cheap, all others expensive. Its kernel has no closed "
        "form and is computed; it is a wave that loses its phase."
    )
    return Picture(save(figure, folder, "designed-operator"), "A damped wave, and a spectrum with a peak at 6", caption)


def _truth(x: np.ndarray) -> np.ndarray:
    return (1.0 + 0.4 * np.sin(0.31 * x)) * np.sin(4.0 * x + 0.8 * np.sin(0.23 * x))


def _series() -> tuple[np.ndarray, np.ndarray]:
    """A wave whose amplitude and phase wander, with noise and a gap."""
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0.0, _END, 150))
    x = x[(x < _GAP[0]) | (x > _GAP[1])]
    return x, _truth(x) + _NOISE * rng.standard_normal(len(x))


def _best_gaussian(x: np.ndarray, y: np.ndarray) -> Smoother:
    """Scale and alpha of the largest likelihood."""
    models = [Smoother(Gaussian(scale), criterion="reml", null_space=0).fit(x[:, None], y) for scale in _SCALES]
    return min(models, key=lambda model: np.min(model.alpha_path_["score"]))


def _regressions(folder: Path, models: dict[str, Smoother], x: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 3.8)
    ax = figure.subplots()
    ax.axvspan(*_GAP, color="#f0f2f4", linewidth=0, zorder=0)
    plot_regressions(models, np.linspace(0.0, _END, 1200), x, y, truth=_truth, ax=ax)
    ax.set(xlabel="x", xlim=(4.0, 20.0), ylim=(-2.9, 2.4))
    ax.legend(loc="lower left", ncols=4)
    matched = models["matched spectrum"].kernel_
    peak = matched.frequencies[np.argmax(matched.weights)]
    caption = (
        f"A wave that wanders, {len(x)} observations with noise, none in the grey range. `match_spectrum` finds most "
        f"of the variance around frequency {peak:.2g} (the wave's is 4): its kernel carries the wave through the gap."
    )
    return Picture(
        save(figure, folder, "matched-spectrum"), "Two fits of a wandering wave: one is flat within the gap", caption
    )


def _errors(models: dict[str, Smoother]) -> Table:
    grid = np.linspace(0.0, _END, 2401)
    inside = (grid > _GAP[0]) & (grid < _GAP[1])
    places = grid[~inside], grid[inside]
    rows = [
        [name, number(model.edf_), *(number(rms(model.predict(t[:, None]) - _truth(t))) for t in places)]
        for name, model in models.items()
    ]
    scale = models["Gaussian"].kernel_.scale
    return Table(
        ["", "edf", "rms error, near data", "rms error, in the gap"],
        rows,
        f"Distance to the truth. The Gaussian has the scale of the largest likelihood among {len(_SCALES)}, "
        f"{number(scale)}, and its alpha.",
    )


def _answers() -> Table:
    rows = []
    for name, (function, kind) in _QUESTIONS.items():
        answers = [admissible(function, dimension, kind=kind) for dimension in (1, 2)]
        rows.append([name, *(_verdict(answer) for answer in answers), answers[1].evidence[0]])
    return Table(
        ["function", "on the line", "in the plane", "evidence in the plane"],
        rows,
        "Is this a kernel? `admissible` looks at the spectrum, or at the power series of a function of the inner "
        "product, and searches for points that refute it.",
    )


def _verdict(answer) -> str:
    return answer.verdict + (f", order {answer.cpd_order}" if answer.cpd_order else "")
