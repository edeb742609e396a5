"""The terms of an additive model: curves with bands, and maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from .._base.extras import require
from ..kernels.algebra import columns_of
from ._style import BLUE, COLORMAP, INK, Axes

_POINTS, _SIDE = 200, 60
_FAR = 0.15  # of the extent of the samples
_WIDTH, _HEIGHT, _PER_ROW = 3.6, 2.9, 3


def plot_partial_effects(
    smoother: Any, terms: Sequence[int] | None = None, axes: Sequence[Axes] | None = None, deviations: float = 2.0
) -> np.ndarray:
    """The effects of the terms of an additive model, one picture each.

    Terms of one column are curves with bands of some standard deviations, on a common scale and with the samples as
    ticks below. Terms of two columns are maps, drawn where samples are near, with the samples as dots. Effects belong
    to the linear predictor, and have the mean 0 over the samples.

    Parameters
    ----------
    smoother : fitted Smoother with ``term_factors``
    terms : sequence of int, optional
        Numbers of terms; all of them if left out.
    axes : sequence of Axes, optional; those of a new figure if left out
    deviations : float
        Half the width of the bands in standard deviations; 2 covers some 95 %.

    Returns
    -------
    array of Axes, one per term

    See Also
    --------
    plot_band, seminorm.Smoother.partial_effect

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Polyharmonic
    >>> from seminorm.plotting import plot_partial_effects
    >>> X = np.random.default_rng(0).random((80, 2))
    >>> kernel = Polyharmonic(2).on_columns([0]) + Polyharmonic(2).on_columns([1])
    >>> axes = plot_partial_effects(Smoother(kernel, term_factors="auto").fit(X, np.sin(6 * X[:, 0]) + X[:, 1]))
    """
    X = np.asarray(smoother.X_fit_)
    columns = [columns_of(term, X.shape[1]) for term in smoother._terms()]
    chosen = range(len(columns)) if terms is None else [range(len(columns))[number] for number in terms]
    wide = [number for number in chosen if len(columns[number]) > 2]
    if wide:
        raise ValueError(
            f"terms {wide} look at more than two columns and cannot be drawn: name others by terms=, or evaluate "
            "partial_effect."
        )
    drawn = _new_axes(len(chosen)) if axes is None else np.ravel(np.asarray(axes, dtype=object))
    if len(drawn) != len(chosen):
        raise ValueError(f"axes must hold {len(chosen)} axes, one per term, got {len(drawn)}.")
    names = list(map(str, getattr(smoother, "feature_names_in_", [f"x{k}" for k in range(X.shape[1])])))
    reach = []
    for ax, number in zip(drawn, chosen, strict=True):
        own = [names[k] for k in columns[number]]
        if len(own) == 1:
            reach.append(_curve(ax, smoother, number, columns[number][0], X, deviations))
            ax.set(xlabel=own[0], ylabel=f"effect of {own[0]}")
        else:
            _map(ax, smoother, number, columns[number], X)
            ax.set(xlabel=own[0], ylabel=own[1], title=f"effect of {own[0]} and {own[1]}")
    for ax, number in zip(drawn, chosen, strict=True):
        if len(columns[number]) == 1:
            ax.set_ylim(min(low for low, _ in reach), max(high for _, high in reach))
    return drawn


def _new_axes(count: int) -> np.ndarray:
    across = min(count, _PER_ROW)
    down = -(-count // across)
    _, grid = require("matplotlib.pyplot", "plot").subplots(
        down, across, figsize=(_WIDTH * across, _HEIGHT * down), layout="constrained", squeeze=False
    )
    for ax in grid.flat[count:]:
        ax.set_axis_off()
    return grid.ravel()[:count]


def _points(X: np.ndarray, columns: Sequence[int], values: np.ndarray) -> np.ndarray:
    """Points that differ in some columns alone."""
    points = np.repeat(np.median(X, axis=0)[None], len(values), axis=0)
    points[:, list(columns)] = values
    return points


def _curve(ax: Axes, smoother: Any, number: int, column: int, X: np.ndarray, deviations: float) -> tuple[float, float]:
    x = np.linspace(X[:, column].min(), X[:, column].max(), _POINTS)
    effect, std = smoother.partial_effect(number, _points(X, [column], x[:, None]), return_std=True)
    low, high = effect - deviations * std, effect + deviations * std
    ax.fill_between(x, low, high, color=BLUE, alpha=0.22, linewidth=0)
    ax.plot(x, effect, color=BLUE)
    ax.axhline(0.0, color=INK, linewidth=0.6, linestyle=":")
    ax.plot(
        X[:, column], np.full(len(X), 0.01), "|", color=INK, alpha=0.4, markersize=5, transform=ax.get_xaxis_transform()
    )
    margin = 0.08 * float(np.ptp([low.min(), high.max()]))
    return float(low.min()) - margin, float(high.max()) + margin


def _map(ax: Axes, smoother: Any, number: int, columns: Sequence[int], X: np.ndarray) -> None:
    samples = X[:, list(columns)]
    low, high = samples.min(axis=0), samples.max(axis=0)
    x, y = (np.linspace(a, b, _SIDE) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    effect = smoother.partial_effect(number, _points(X, columns, grid)).reshape(_SIDE, _SIDE)
    unit = np.where(high > low, high - low, 1.0)
    far = KDTree(samples / unit).query(grid / unit)[0].reshape(_SIDE, _SIDE) > _FAR
    contours = ax.contourf(x, y, np.ma.masked_where(far, effect), levels=12, cmap=COLORMAP)
    ax.plot(*samples.T, ".", color=INK, markersize=2)
    ax.grid(False)
    ax.figure.colorbar(contours, ax=ax)
