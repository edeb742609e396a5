"""How the regularisation parameter was chosen."""

import numpy as np

from .._base.extras import require
from ._style import BLUE, VERMILION, Axes, axes_or_new

_CRITERIA = {
    "gcv": "generalised cross-validation",
    "loo": "leave-one-out mean square",
    "reml": "minus log restricted likelihood",
    "robust_gcv": "robust generalised cross-validation",
    "holdout": "mean square at held-out points",
}


def plot_alpha_path(estimator, ax: Axes | None = None) -> Axes:
    """The criterion that chose alpha, and the effective degrees of freedom, along the path of alphas.

    The right axis shows edf(alpha) = tr A(alpha), where A maps the data to the fitted values: from the number of
    observations (interpolation) down to the dimension of the null space. It is left out where the path does not have
    it.

    Parameters
    ----------
    estimator : Smoother, FieldSmoother, SVC, SVR or another estimator with ``alpha_path_``
        Fitted with ``alpha="auto"``, with another way to choose it, or with an array of candidates.
    ax : Axes, optional; a new figure if left out

    Returns
    -------
    Axes, those of the criterion

    See Also
    --------
    plot_band

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.plotting import plot_alpha_path
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> ax = plot_alpha_path(Smoother().fit(X, np.sin(9 * X[:, 0])))
    """
    path = estimator.alpha_path_
    if isinstance(path, list):
        raise ValueError(f"alpha was chosen for {len(path)} machines, one per class: fit two classes to plot a path.")
    if len(path.get("alpha", ())) < 2:
        state = "fixed to" if getattr(estimator, "complete_", True) else "not chosen yet, provisionally"
        raise ValueError(
            f"alpha was {state} {estimator.alpha_:g}, so there is no path to plot: fit with alpha='auto' or with an "
            "array of candidates."
        )
    ax = axes_or_new(ax)
    finite = np.isfinite(path["score"])
    alpha, score = path["alpha"][finite], path["score"][finite]
    ax.axvline(estimator.alpha_, color=BLUE, linestyle=":", linewidth=1)
    lines = ax.plot(alpha, score, color=BLUE, label="criterion")
    chosen = f"chosen: alpha = {estimator.alpha_:.2g}"
    height = score[np.argmin(np.abs(np.log(alpha / estimator.alpha_)))]
    lines += ax.plot([estimator.alpha_], [height], "o", color=BLUE, markersize=7, label=chosen)
    ax.set_xscale("log")
    if score.min() > 0 and score.max() > 10 * score.min():
        ax.set_yscale("log")
    ax.set_xlabel("alpha")
    criterion = getattr(estimator, "criterion_", estimator.criterion)
    ax.set_ylabel(_CRITERIA.get(criterion, criterion), color=BLUE)
    if "edf" in path:
        lines += _plot_degrees_of_freedom(ax.twinx(), path["alpha"], path["edf"])
    # above the axes, where no curve can be
    ax.legend(handles=lines, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
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
