"""How the regularisation parameter was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._extras import require
from ._style import BLUE, VERMILION, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CRITERIA = {
    "gcv": "generalised cross-validation",
    "loo": "leave-one-out mean square",
    "reml": "minus log restricted likelihood",
    "auto": "generalised cross-validation",  # of a FieldSmoother, whose alpha names the criterion
    "holdout": "mean square at held-out points",
}


def plot_alpha_path(smoother, ax: Axes | None = None) -> Axes:
    """The criterion that chose alpha, and the effective degrees of freedom, along the path of alphas.

    The left axis shows the criterion that the chosen alpha minimises; the right one edf(alpha) = tr A(alpha), where
    A maps the data to the fitted values: from the number of observations (interpolation) down to the dimension of the
    null space. It is left out where the path does not have it.

    Parameters
    ----------
    smoother : Smoother or FieldSmoother
        Fitted with ``alpha="auto"``, with another way to choose it, or with an array of candidates.
    ax : Axes, optional
        Left out, a new figure is made.

    Returns
    -------
    Axes
        Those of the criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.plotting import plot_alpha_path
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> ax = plot_alpha_path(Smoother().fit(X, np.sin(9 * X[:, 0])))
    """
    path = smoother.alpha_path_
    if len(path["alpha"]) < 2:
        state = "fixed to" if getattr(smoother, "complete_", True) else "not chosen yet, provisionally"
        raise ValueError(
            f"alpha was {state} {smoother.alpha_:g}, so there is no path to plot: fit with alpha='auto' or with an "
            "array of candidates."
        )
    ax = axes_or_new(ax)
    finite = np.isfinite(path["score"])
    alpha, score = path["alpha"][finite], path["score"][finite]
    ax.axvline(smoother.alpha_, color=BLUE, linestyle=":", linewidth=1)
    lines = ax.plot(alpha, score, color=BLUE, label="criterion")
    lines += ax.plot(
        [smoother.alpha_], [score.min()], "o", color=BLUE, markersize=7, label=f"chosen: alpha = {smoother.alpha_:.2g}"
    )
    ax.set_xscale("log")
    if score.min() > 0 and score.max() > 10 * score.min():
        ax.set_yscale("log")
    ax.set_xlabel("alpha")
    criterion = smoother.criterion if hasattr(smoother, "criterion") else smoother.alpha
    ax.set_ylabel(_CRITERIA.get(criterion, criterion), color=BLUE)
    if "edf" in path:
        lines += _plot_degrees_of_freedom(ax.twinx(), path["alpha"], path["edf"])
    ax.legend(
        handles=lines, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3
    )  # above the axes, where no curve can be
    return ax


def _plot_degrees_of_freedom(ax: Axes, alpha: np.ndarray, edf: np.ndarray) -> list:
    lines = ax.plot(alpha, edf, color=VERMILION, linestyle="--", label="degrees of freedom")
    ax.set_yscale("log", subs=())
    ax.yaxis.set_major_locator(require("matplotlib.ticker", "plot").LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_ylabel("effective degrees of freedom", color=VERMILION)
    ax.spines["right"].set_visible(True)
    ax.grid(False)
    return lines
