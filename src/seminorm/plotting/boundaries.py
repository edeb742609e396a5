"""Decision functions of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import BLUE, INK, VERMILION, axes_or_new, plane_bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_decision(
    classifier,
    bounds: tuple,
    ax: Axes | None = None,
    X=None,
    y=None,
    resolution: int = 200,
) -> Axes:
    """The decision function f of a two-class machine: f = 0 as a thick line, the margins f = 1 and f = -1 dashed.

    Parameters
    ----------
    classifier : fitted estimator
        With ``decision_function`` of two classes on the plane.
    bounds : tuple
        (xmin, xmax, ymin, ymax) of the picture, or its two corners.
    ax : Axes, optional
        Left out, a new figure is made.
    X, y : arrays (n, 2) and (n,), optional
        Data, drawn as dots and crosses.
    resolution : int
        Grid points along each side.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVC
    >>> from seminorm.plotting import plot_decision
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> ax = plot_decision(SVC().fit(X, (X**2).sum(axis=1) > 1.4), (-3, 3, -3, 3), resolution=20)
    """
    xmin, xmax, ymin, ymax = plane_bounds(bounds)
    x, z = np.linspace(xmin, xmax, resolution), np.linspace(ymin, ymax, resolution)
    grid = np.stack(np.meshgrid(x, z), axis=-1)
    values = np.asarray(classifier.decision_function(grid.reshape(-1, 2)))
    if values.ndim != 1:
        raise ValueError(f"classifier must have two classes for its boundary to be drawn, got {values.shape[1]}.")
    values = values.reshape(grid.shape[:2])
    ax = axes_or_new(ax)
    ax.contourf(x, z, values, levels=[-np.inf, 0.0, np.inf], colors=[BLUE, VERMILION], alpha=0.12)
    ax.contour(x, z, values, levels=[-1.0, 1.0], colors=INK, linestyles="dashed", linewidths=0.8)
    ax.contour(x, z, values, levels=[0.0], colors=INK, linewidths=2.0)
    if X is not None:
        X, positive = np.asarray(X, dtype=float), np.asarray(y) == classifier.classes_[1]
        ax.plot(*X[~positive].T, "o", color=BLUE, markersize=3)
        ax.plot(*X[positive].T, "x", color=VERMILION, markersize=4)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax))
    return ax
