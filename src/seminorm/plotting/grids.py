"""Pictures of grids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._style import COLORMAP, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # matplotlib is imported when something is drawn
    Axes = Any

_MOST_STRETCHED = 20.0  # axes of other units are not drawn to the same scale


def plot_grid(
    axes: Sequence[ArrayLike],
    values: ArrayLike,
    names: Sequence[str] | None = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw values on a grid of the plane with a colour bar, or on the line; NaN stays white.

    Parameters
    ----------
    axes, values : sequence of one or two arrays, and an array
        As :func:`seminorm.functions.sample_on_grid` gives them; the first axis of the values belongs to the first one.
    names, label : sequence of str, and str
        Of the axes and of the values.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    See Also
    --------
    plot_field : Draws a field of the plane.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.plotting import plot_grid
    >>> ax = plot_grid([np.arange(3.0), np.arange(2.0)], np.arange(6.0).reshape(3, 2), ["x", "y"], "depth")
    >>> ax.get_xlabel()
    'x'
    """
    lines, heights = [np.asarray(axis, dtype=float) for axis in axes], np.asarray(values, dtype=float)
    if len(lines) not in (1, 2) or heights.shape != tuple(map(len, lines)):
        raise ValueError(
            f"values must be on one or two axes of lengths {[len(a) for a in lines]}, got {heights.shape}."
        )
    ax, labels = axes_or_new(ax), ["", ""] if names is None else [*names, ""]
    if len(lines) == 1:
        ax.plot(lines[0], heights)
        ax.set(xlabel=labels[0], ylabel=label)
        return ax
    low, high = np.nanpercentile(heights, [0, 100]) if np.isfinite(heights).any() else (0.0, 1.0)
    picture = ax.pcolormesh(*lines, heights.T, cmap=COLORMAP, vmin=low, vmax=high, shading="nearest", rasterized=True)
    ax.figure.colorbar(picture, ax=ax, label=label)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    widths = [float(np.ptp(line)) or 1.0 for line in lines]
    if max(widths) < _MOST_STRETCHED * min(widths):
        ax.set_aspect("equal")
    return ax
