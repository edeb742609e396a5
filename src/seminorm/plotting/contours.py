"""Pictures of curves in the plane."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..shapes.contours import Contours
from ._style import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # matplotlib is imported when something is drawn
    Axes = Any


def plot_contours(
    contours: Contours, points: ArrayLike | None = None, filled: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw lines in the plane, closed ones with their inside, open ones dashed.

    Parameters
    ----------
    contours : Contours
    points : array (n, 2), optional
        The data, as dots.
    filled : bool
        Whether the inside of closed lines is tinted.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    See Also
    --------
    seminorm.surfaces.Surface.contours

    Examples
    --------
    >>> from seminorm.plotting import plot_contours
    >>> from seminorm.shapes import Contours
    >>> ax = plot_contours(Contours([[[0, 0], [2, 0], [2, 2]]]))
    >>> len(ax.lines), len(ax.patches)
    (1, 1)
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ax = axes_or_new(ax)
    color = f"C{len(ax.patches) % 10}"
    rings = [line for line, closed in zip(contours.lines, contours.closed, strict=True) if closed]
    if filled and rings:
        inside = Path.make_compound_path(*(Path(np.concatenate([ring, ring[:1]]), closed=True) for ring in rings))
        ax.add_patch(PathPatch(inside, facecolor=color, alpha=0.2, edgecolor="none"))
    for line, closed in zip(contours.lines, contours.closed, strict=True):
        drawn = np.concatenate([line, line[:1]]) if closed else line
        ax.plot(*drawn.T, "-" if closed else "--", color=color)
    if points is not None:
        ax.plot(*np.asarray(points, dtype=float).T, ".", color="0.3", markersize=3, zorder=1)
    ax.set_aspect("equal")
    return ax
