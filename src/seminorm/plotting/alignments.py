"""Alignments of series: which sample of the one an elastic distance matches with which of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..invariance.distances.elastic import ElasticDistance
from ..invariance.distances.warping import DTW
from ._style import BLUE, GRAY, VERMILION, Axes, axes_or_new

_LINES = 80


def plot_alignment(
    x: Any, y: Any, distance: ElasticDistance | None = None, ax: Axes | None = None, channel: int = 0
) -> Axes:
    """Two series, the first above the second, and lines between the samples that a distance matches.

    Parameters
    ----------
    x, y : arrays (n,) or (n, channels)
    distance : an elastic distance, ``DTW()`` if left out
    ax : Axes, optional; a new figure if left out
    channel : int
        Which channel is drawn; all of them decide on the alignment.

    Returns
    -------
    Axes with both series, and at most some 80 of the lines

    See Also
    --------
    seminorm.invariance.DTW : And other distances with a ``path``.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.plotting import plot_alignment
    >>> t = np.linspace(0, 1, 60)
    >>> ax = plot_alignment(np.sin(9 * t), np.sin(9 * t**1.5))
    """
    distance = DTW() if distance is None else distance
    path = distance.path(x, y)
    series = [distance.patterns([values], name).values for values, name in ((x, "x"), (y, "y"))]
    if not 0 <= channel < series[0].shape[1]:
        raise ValueError(f"channel must be one of 0 to {series[0].shape[1] - 1}, got {channel!r}.")
    above, below = (values[:, channel] for values in series)
    offset = 1.2 * max(np.ptp(above), np.ptp(below), np.finfo(float).tiny) + below.max() - above.min()
    ax = axes_or_new(ax)
    for i, j in path[:: 1 + len(path) // _LINES]:
        ax.plot([i, j], [above[i] + offset, below[j]], color=GRAY, linewidth=0.6, alpha=0.7)
    ax.plot(above + offset, color=BLUE, label="x")
    ax.plot(below, color=VERMILION, label="y")
    ax.set_yticks([])
    ax.set_xlabel("sample")
    ax.set_title(f"{type(distance).__name__}: {distance.distance(x, y):.4g}")
    ax.legend(loc="upper right")
    return ax
