"""The box that a grid of functions covers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_MARGINS = {1: 2.0, 2: 2.0, 3: 2.0, 4: 1.0}


class GridBox:
    """The box of the coarsest grid, in coordinates divided by the scale of each axis.

    Parameters
    ----------
    low, scale : arrays (d,), a corner in the user's coordinates, and what each axis is divided by
    spacing, cells : float, int array (d,)
        Side of the cells of level 0, scaled, and their number along each axis.

    See Also
    --------
    GridBasis

    Examples
    --------
    >>> from seminorm.bases import GridBox
    >>> box = GridBox.around([0.0, 0.0], [1.0, 2.0], margin=1.0)
    >>> box.cells, box.coordinates([[0.5, 1.0]])
    (array([3, 3]), array([[1.5, 1.5]]))
    """

    def __init__(self, low: ArrayLike, scale: ArrayLike, spacing: float, cells: ArrayLike):
        self.low, self.scale = np.asarray(low, dtype=float), np.asarray(scale, dtype=float)
        self.spacing, self.cells = float(spacing), np.asarray(cells, dtype=np.int64)

    @classmethod
    def around(
        cls, low: ArrayLike, high: ArrayLike, *, scale: ArrayLike = 1.0, margin: float | None = None, across: int = 1
    ) -> GridBox:
        """A box of ``across`` cells along the longest side of the data, and ``margin`` times it beyond (2; 4-D: 1)."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        scale = np.broadcast_to(np.asarray(scale, dtype=float), low.shape)
        widths = (high - low) / scale
        longest = widths.max()
        if longest == 0.0:  # one point only: any box will do
            longest = 1.0
        spacing = longest / across
        border = (_MARGINS[len(low)] if margin is None else margin) * longest
        cells = np.maximum(np.ceil((widths + 2 * border) / spacing - 1e-9).astype(np.int64), 1)
        center = low + (high - low) / 2
        return cls(center - cells * spacing * scale / 2, scale, spacing, cells)

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return len(self.low)

    def coordinates(self, X: ArrayLike) -> np.ndarray:
        """Points in cells of level 0. The difference to the corner comes first: large offsets lose nothing."""
        return (np.asarray(X, dtype=float, order="C") - self.low) / (self.scale * self.spacing)
