"""What a learned metric says of the columns."""

from typing import Any

import numpy as np

from ._style import BLUE, COLORMAP, Axes, axes_or_new

_MOST = 25


def plot_metric(model: Any, ax: Axes | None = None, *, matrix: bool = False) -> Axes:
    """Bars of how much each column counts, largest first; with ``matrix`` the metric itself.

    Parameters
    ----------
    model : estimator
        A ``LearnedMetric``, a machine with ``metric="diagonal"`` or ``"full"``, ``TableRegressor`` or
        ``TableClassifier``.
    ax : Axes, optional
        A new figure if left out.
    matrix : bool
        Show the metric of the columns as they come to the kernel, not for stacks, which have several.

    Returns
    -------
    Axes

    See Also
    --------
    plot_alpha_path

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.estimators import LearnedMetric
    >>> from seminorm.plotting import plot_metric
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> ax = plot_metric(LearnedMetric().fit(X, X[:, 2]))
    """
    if matrix:
        return _matrix(model, axes_or_new(ax))
    shares = _shares(model)
    names = sorted(shares, key=lambda name: -shares[name])[:_MOST]
    ax = axes_or_new(ax)
    places = np.arange(len(names))
    ax.barh(places, [shares[name] for name in names], color=BLUE)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    more = "" if len(shares) <= _MOST else f" ({_MOST} of {len(shares)} columns)"
    ax.set_xlabel(f"share of the column{more}")
    return ax


def _learned(model: Any) -> Any:
    metric = model if hasattr(model, "importances_") else getattr(model, "metric_", None)
    if not hasattr(metric, "importances_"):
        raise ValueError(
            f"model must have learned a metric, and {type(model).__name__} has metric_={metric!r}: train it with "
            "metric='diagonal' or 'full'."
        )
    return metric


def _names(model: Any, count: int) -> list[str]:
    return [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(count)])]


def _shares(model: Any) -> dict[str, float]:
    if hasattr(model, "explain_"):
        return dict(model.explain_.columns)
    shares = _learned(model).importances_
    return dict(zip(_names(model, len(shares)), shares, strict=True))


def _matrix(model: Any, ax: Axes) -> Axes:
    if hasattr(model, "explain_"):
        raise ValueError("matrix=True needs one metric, and a stack has several: leave matrix out.")
    metric = _learned(model)
    scaled = metric.root_ @ metric.root_.T
    names = _names(model, len(scaled))
    largest = np.abs(scaled).max()
    image = ax.imshow(scaled, cmap=COLORMAP, vmin=-largest, vmax=largest)
    ax.figure.colorbar(image, ax=ax)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    return ax
