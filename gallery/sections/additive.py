"""An additive model of counts: what each column does to a rate, with its uncertainty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from seminorm import Smoother
from seminorm.kernels import Polyharmonic, ThinPlate
from seminorm.plotting import plot_partial_effects

from ..drawing import INK, new_figure, rms, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_SAMPLES = 600


def logarithm(X: np.ndarray) -> np.ndarray:
    """Of the true rate: two columns act together, one bends, one is straight, and one does nothing."""
    return 2 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 6 * (X[:, 2] - 0.5) ** 2 + X[:, 3]


def fit(X, counts):
    kernel = ThinPlate().on_columns([0, 1])
    for column in (2, 3, 4):
        kernel = kernel + Polyharmonic(2).on_columns([column])
    return Smoother(kernel, family="poisson", term_factors="auto").fit(X, counts)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    X, Z = rng.random((_SAMPLES, 5)), rng.random((4000, 5))
    counts = rng.poisson(np.exp(logarithm(X)))
    model = fit(X, counts)
    intro = (
        f"{_SAMPLES} counts, whose rate depends on five columns: on two of them together, on one along a curve, on one "
        "along a line, and on one not at all. The logarithm of the rate is a sum of a thin plate in two columns and a "
        "spline in each other one. How rough each of them may be is chosen by likelihood, and so the model shows what "
        "each column does."
    )
    return Section(
        "What each column does",
        [Paragraph(intro), Code.of(fit), _effects(folder, model, X), _comparison(model, X, counts, Z)],
    )


def _effects(folder: Path, model: Smoother, X: np.ndarray) -> Picture:
    figure = new_figure(9.6, 5.4)
    axes = figure.subplots(2, 2).ravel()
    plot_partial_effects(model, axes=axes)
    x = np.linspace(0, 1, 200)
    for ax, column in zip(axes[1:], (2, 3, 4), strict=True):
        points, own = np.zeros((200, 5)), np.zeros_like(X)
        points[:, column], own[:, column] = x, X[:, column]
        ax.plot(x, logarithm(points) - logarithm(own).mean(), color=INK, linestyle="--", linewidth=1.0, label="truth")
        ax.legend(loc="upper center")
    caption = (
        "Effects on the logarithm of the rate, with bands of two standard deviations, and the truth (dashed). The last "
        "column does nothing. The factors of the terms, from left to right, are "
        f"{', '.join(number(factor, 2) for factor in model.term_factors_)}."
    )
    return Picture(
        save(figure, folder, "additive"),
        "A map of the joint effect of two columns, and three curves with narrow bands that follow the truth",
        caption,
    )


def _comparison(model: Smoother, X: np.ndarray, counts: np.ndarray, Z: np.ndarray) -> Table:
    boosting = HistGradientBoostingRegressor(loss="poisson", random_state=0).fit(X, counts)
    plain = Smoother(family="poisson").fit(X, counts)
    truth = np.exp(logarithm(Z))
    rates = {
        "additive model": model.predict(Z),
        "one function of all columns, `Smoother(family='poisson')`": plain.predict(Z),
        "scikit-learn's `HistGradientBoostingRegressor(loss='poisson')`": boosting.predict(Z),
    }
    ours = rms(rates["additive model"] - truth)
    rows = [[name, number(rms(rate - truth)), number(rms(rate - truth) / ours)] for name, rate in rates.items()]
    return Table(
        ["model", "error of the rate", "ratio"],
        rows,
        f"Root mean square distance to the true rate at {len(Z)} new points; the rate has the mean "
        f"{number(truth.mean(), 2)}.",
    )
