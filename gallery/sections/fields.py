"""Soundings along ship tracks: hundreds of thousands of points, few of them where they are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import RBFInterpolator

from seminorm import FieldSmoother, Smoother
from seminorm.plotting import plot_field, plot_levels

from ..drawing import new_figure, rms, save, stopwatch
from ..page import Code, Paragraph, Picture, Section, Table, number

_SOUNDINGS, _NOISE = 200_000, 20.0
_SIDE = 100.0
_BOX = ((0.0, 0.0), (_SIDE, _SIDE))
_SURVEY = np.array([[52.0, 58.0], [84.0, 86.0]])
_SURVEY_SHARE = 0.7
_TRACKS, _SWATH = 24, 0.3
_SUBSET, _NEIGHBORS = 1000, 50
_SMOOTHINGS = (0.1, 1.0, 10.0)


def sea_floor(X: np.ndarray) -> np.ndarray:
    """Depth in metres: a shelf, a slope with a canyon, hills of the deep sea, and two seamounts, one of them rugged."""
    x, y = X[:, 0], X[:, 1]

    def bump(a, b, width):
        return np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))

    slope = -1700 + 1500 * np.tanh((22 - x - 6 * np.sin(y / 14)) / 14)
    canyon = -350 * np.exp(-(((y - 45 - 5 * np.sin(x / 9)) / 4) ** 2)) * np.exp(-(((x - 25) / 14) ** 2))
    hills = 80 / (1 + np.exp((45 - x) / 4)) * np.sin(0.6 * x + 0.3 * y) * np.cos(0.2 * y - 0.1 * x)
    rugged = 120 * bump(68, 72, 4) * np.sin(2 * x + 0.8 * y) * np.cos(1.5 * y)
    return slope + canyon + hills + 1400 * bump(68, 72, 7) + rugged + 900 * bump(78, 25, 5)


def _soundings(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A dense survey around one seamount, and the swaths of ships that only passed by."""
    dense = int(_SURVEY_SHARE * _SOUNDINGS)
    survey = rng.uniform(*_SURVEY, (dense, 2))
    ends = rng.uniform(0, _SIDE, (2, _TRACKS))
    upright = np.arange(_TRACKS) % 3 == 0
    track, along = rng.integers(0, _TRACKS, _SOUNDINGS - dense), rng.random(_SOUNDINGS - dense)
    across = ends[0, track] * (1 - along) + ends[1, track] * along + _SWATH * rng.standard_normal(len(along))
    passages = np.column_stack([_SIDE * along, across])
    passages[upright[track]] = passages[upright[track]][:, ::-1]
    X = np.concatenate([survey, passages[(across > 0) & (across < _SIDE)]])
    return X, sea_floor(X) + _NOISE * rng.standard_normal(len(X))


def fit(X, y):
    return FieldSmoother(std_samples=12).fit(X, y)  # alpha and the cells are chosen


def section(folder: Path) -> Section:
    X, y = _soundings(np.random.default_rng(1))
    fit(X[::100], y[::100])  # compiled loops are loaded once
    seconds, model = stopwatch(lambda: fit(X, y), 1)
    intro = (
        f"{len(X)} soundings of a sea floor, most of them from a survey of one seamount, the others along the "
        f"tracks of {_TRACKS} ships. Dense kernel methods stop at some ten thousand points. `FieldSmoother` minimises "
        "the same sum of alpha times the bending energy and the squared residuals, in a basis of B-splines on nested "
        "grids, which are fine only where data are dense and need it."
    )
    return Section(
        "Hundreds of thousands of points",
        [
            Paragraph(intro),
            Code.of(fit),
            _panels(folder, model, X, y, seconds),
            _comparison(model, seconds, X, y),
        ],
    )


def _panels(folder: Path, model: FieldSmoother, X: np.ndarray, y: np.ndarray, seconds: float) -> Picture:
    figure = new_figure(9.6, 7.6)
    figure.set_layout_engine("compressed")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    depths = np.arange(-3400, 200, 200)
    some = slice(None, None, 8)
    dots = axes[0, 0].scatter(*X[some].T, c=y[some], s=0.3, vmin=depths[0], vmax=depths[-1])
    figure.colorbar(dots, ax=axes[0, 0], label="metres")
    axes[0, 0].set(title=f"{len(X)} soundings", aspect="equal", ylabel="km")
    plot_field(model, _BOX, ax=axes[0, 1], levels=depths, label="metres")
    axes[0, 1].set_title("fitted sea floor")
    deviation = [1, 2, 5, 10, 20, 50, 100, 200]
    plot_field(
        lambda P: model.predict(P, return_std=True)[1],
        _BOX,
        ax=axes[1, 0],
        resolution=120,
        levels=deviation,
        label="metres",
    )
    axes[1, 0].set(title="standard deviation", xlabel="km", ylabel="km")
    plot_levels(model, _BOX, ax=axes[1, 1])
    axes[1, 1].set(title="cells of the basis", xlabel="km")
    for ax in axes.flat:
        ax.grid(False)
    caption = (
        f"Fitted in {number(seconds, 2)} seconds, with alpha = {number(model.alpha_)} chosen by generalised "
        f"cross-validation and {model.function_.n_coef} coefficients in {model.function_.depth + 1} levels. The noise "
        f"it estimates is {number(np.sqrt(model.noise_variance_))} m; the true one is {_NOISE:g} m. The standard "
        "deviation, from 12 random fields, is small along the tracks and grows between them; cells are small where "
        "soundings are dense and the floor is rough."
    )
    return Picture(
        save(figure, folder, "fields"),
        "Four maps: ship tracks with a dense survey, the fitted sea floor, its standard deviation, cells of the basis",
        caption,
    )


def _comparison(model: FieldSmoother, seconds: float, X: np.ndarray, y: np.ndarray) -> Table:
    """Errors in the survey and in the whole box, and seconds for fit and evaluation."""
    rng = np.random.default_rng(2)
    places = np.concatenate([rng.uniform(*_SURVEY, (1000, 2)), rng.uniform(0, _SIDE, (1000, 2))])
    truth = sea_floor(places)
    some = rng.choice(len(X), _SUBSET, replace=False)
    local = {
        smoothing: stopwatch(
            lambda smoothing=smoothing: RBFInterpolator(X, y, neighbors=_NEIGHBORS, smoothing=smoothing)(places), 1
        )
        for smoothing in _SMOOTHINGS
    }
    best = min(local, key=lambda smoothing: rms(local[smoothing][1] - truth))
    ours = stopwatch(lambda: model.predict(places))
    timed = {
        "`FieldSmoother()`": (len(X), seconds + ours[0], ours[1]),
        f"SciPy `RBFInterpolator(neighbors={_NEIGHBORS}, smoothing={best:g})`": (len(X), *local[best]),
        "`Smoother()`, on a subset": (
            _SUBSET,
            *stopwatch(lambda: Smoother().fit(X[some], y[some]).predict(places), 1),
        ),
    }
    rows = [
        [name, str(points), number(rms((f - truth)[:1000])), number(rms((f - truth)[1000:])), number(duration, 2)]
        for name, (points, duration, f) in timed.items()
    ]
    caption = (
        "Distance to the truth at 1000 random places of the survey and 1000 of the whole map, in metres, and seconds "
        f"for the fit and these 2000 values. SciPy fits a thin plate to the {_NEIGHBORS} nearest soundings of each "
        f"place, with the best smoothing of {', '.join(f'{s:g}' for s in _SMOOTHINGS)}, picked with the truth at hand. "
        "It is quick, but uses nothing beyond these neighbours: between the tracks they all lie on the nearest one. A "
        "subset small enough for a dense fit loses the detail. (Seconds of a single run here; `FieldSmoother` uses all "
        "cores.)"
    )
    return Table(["", "points", "rms error in the survey", "on the map", "seconds"], rows, caption)
