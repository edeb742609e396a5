"""Figures of one look, drawn without pyplot (no window, no state left behind), and measurements the sections share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seminorm._base.extras import require
from seminorm.plotting._style import CYCLE, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 150
_LOOK = {
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8a939c",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "grid.color": "#e6e9ed",
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "legend.frameon": True,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.fontsize": 9.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "figure.facecolor": "white",
}


def look() -> AbstractContextManager:
    """The style of the page, for as long as the context lasts."""
    cycle = require("matplotlib.rcsetup", "plot").cycler(color=CYCLE)
    return require("matplotlib.style", "plot").context(["default", {**_LOOK, "axes.prop_cycle": cycle}])


def new_figure(width: float = 9.6, height: float = 3.6) -> Figure:
    """An empty figure, in inches; the page is some ten inches wide."""
    return require("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write the figure into the folder; returns the name of the file."""
    file = f"{name}.png"
    figure.savefig(Path(folder) / file, dpi=_DOTS_PER_INCH)
    return file


def stopwatch(task: Callable[[], Any], repetitions: int = 3) -> tuple[float, Any]:
    """Seconds of the fastest of a few runs, and the result of the last."""
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = task()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def rms(difference: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(difference))))


def maps(figure: Figure, count: int) -> np.ndarray:
    """Axes side by side for functions on the unit square, with few ticks."""
    axes = figure.subplots(1, count, sharey=True)
    for ax in axes:
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
        ax.set_yticks((0, 0.5, 1), ("0", "0.5", "1"))
        ax.grid(False)
    return axes


def unit_square(resolution: int = 60) -> np.ndarray:
    """The points of a square grid on [0, 1]^2, shape (resolution^2, 2)."""
    side = np.linspace(0.0, 1.0, resolution)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
