"""Two classes in the plane, in three units of length: a machine that notices, and one that does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as PeerSVC

from seminorm import SVC
from seminorm.kernels import Gaussian
from seminorm.plotting import plot_decision

from ..drawing import new_figure, save, stopwatch
from ..page import Code, Paragraph, Picture, Section, Table, number

_DILATIONS = (0.1, 1.0, 10.0)
_BOUNDS = np.array([[-3.6, -3.2], [3.6, 3.2]])
_GRID = {"gamma": np.logspace(-4, 4, 13), "C": np.logspace(-2, 4, 11)}


def spirals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arms that wind around each other, blurred."""
    y = rng.integers(0, 2, n)
    t = 0.6 + 2.2 * rng.random(n)
    angle = 1.8 * t + np.pi * y
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.28 * rng.standard_normal((n, 2)), y


def tune_thin_plate(X, y):
    return SVC().fit(X, y)  # alpha by leave-one-out along a path


def tune_gaussian(X, y):
    return GridSearchCV(PeerSVC(), _GRID, cv=5).fit(X, y)  # scikit-learn: 13 widths, 11 values of C


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    (X, y), (Z, t) = spirals(rng, 240), spirals(rng, 4000)
    intro = (
        "A support vector machine with the thin-plate semi-norm has one parameter, and dilating the data is the same "
        "as changing that parameter. So the tuned machine does not depend on the unit of length. A Gaussian of fixed "
        "width does, and has two parameters to tune."
    )
    return Section(
        "Classes without a length scale",
        [Paragraph(intro), Code.of(tune_thin_plate), _picture(folder, X, y), _tuning(X, y, Z, t)],
    )


def _picture(folder: Path, X: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 6.2)
    axes = figure.subplots(2, 3)
    kernels = {"ThinPlate()": None, "Gaussian(scale=0.5)": Gaussian(0.5)}
    for row, (name, kernel) in zip(axes, kernels.items(), strict=True):
        for ax, s in zip(row, _DILATIONS, strict=True):
            model = SVC(kernel).fit(s * X, y)
            plot_decision(model, s * _BOUNDS, ax=ax, X=s * X, y=y, resolution=160)
            ax.set_title(f"{name}, s = {s:g}")
            ax.grid(False)
    caption = (
        "The same data dilated by s, the machine tuned anew in each picture. Above: the thin plate draws the same "
        "boundary (thick) and margins (dashed). Below: a Gaussian whose width was right at s = 1."
    )
    return Picture(save(figure, folder, "classes"), "Six maps with two spiral classes and decision boundaries", caption)


def _tuning(X: np.ndarray, y: np.ndarray, Z: np.ndarray, t: np.ndarray) -> Table:
    rows = []
    seconds = {}
    for name, tune in (("`SVC()`", tune_thin_plate), ("scikit-learn, Gaussian, grid search", tune_gaussian)):
        seconds[name], model = stopwatch(lambda tune=tune: tune(X, y), repetitions=1)
        ratio = seconds[name] / seconds["`SVC()`"]
        rows.append([name, number(100 * (1 - model.score(Z, t))), number(seconds[name], 2), number(ratio, 2)])
    caption = f"Error on {len(t)} new points and the time to a tuned machine on {len(y)}."
    return Table(["", "error in percent", "seconds", "time ratio"], rows, caption)
