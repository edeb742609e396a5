"""The box that a grid of functions covers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_MARGINS = {1: 2.0, 2: 2.0, 3: 2.0, 4: 1.0}
_CLOSED_MARGINS = {1: 1.0, 2: 1.0, 3: 0.25}
_MOST_CELLS = 4096  # of level 0, whose equations are solved as a dense matrix


class GridBox:
    """The box of the coarsest grid, in coordinates divided by the scale of each axis.

    Parameters
    ----------
    low, scale : arrays (d,), a corner in the user's coordinates, and what each axis is divided by
    spacing, cells : float, int array (d,)
        Side of the cells of level 0, scaled, and their number along each axis.
    wraps : bool array (d,), optional
        Axes that close up: after the last cell comes the first.

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

    def __init__(
        self, low: ArrayLike, scale: ArrayLike, spacing: float, cells: ArrayLike, wraps: ArrayLike | None = None
    ):
        self.low, self.scale = np.asarray(low, dtype=float), np.asarray(scale, dtype=float)
        self.spacing, self.cells = float(spacing), np.asarray(cells, dtype=np.int64)
        self.wraps = np.zeros(len(self.low), dtype=np.bool_) if wraps is None else np.asarray(wraps, dtype=np.bool_)

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

    @classmethod
    def closed(
        cls, low: ArrayLike, high: ArrayLike, period: ArrayLike, least: int, *, scale: ArrayLike, margin: float | None
    ) -> GridBox:
        """A box that closes up along the axes of finite ``period`` (d,), with ``least`` times a power of two cells
        there; along the others it has a ``margin`` (1; 3-D: 1/4), in units of the longest side of data or period.
        """
        low, high, period = (np.asarray(part, dtype=float) for part in (low, high, period))
        scale = np.broadcast_to(np.asarray(scale, dtype=float), low.shape)
        wraps = np.isfinite(period)
        widths = np.where(wraps, period, high - low) / scale
        spacing = widths[wraps].min() / least
        border = (_CLOSED_MARGINS[len(low)] if margin is None else margin) * widths.max()
        cells = np.maximum(np.ceil((widths + 2 * border) / spacing - 1e-9).astype(np.int64), 1)
        closed = widths[wraps]
        powers = 2 ** np.round(np.log2(closed / closed.min())).astype(np.int64)
        if (np.abs(powers * closed.min() - closed) > 1e-9 * closed).any():
            raise ValueError(
                f"period {period[wraps].tolist()} divided by scale must be equal, or in the ratio of a power of two, "
                f"got {closed.tolist()}: choose scale so that they are."
            )
        cells[wraps] = least * powers
        if cells.astype(float).prod() > _MOST_CELLS:
            raise ValueError(
                f"with period {period[wraps].tolist()} the coarsest grid would have {' x '.join(map(str, cells))} "
                "cells, because the other axes are long beside it, in coordinates divided by scale: give the other "
                "axes a larger scale, or take a smaller margin."
            )
        return cls(low + (high - low) / 2 - cells * spacing * scale / 2, scale, spacing, cells, wraps)

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return len(self.low)

    def coordinates(self, X: ArrayLike) -> np.ndarray:
        """Points in cells of level 0. The difference to the corner comes first: large offsets lose nothing."""
        places = (np.asarray(X, dtype=float, order="C") - self.low) / (self.scale * self.spacing)
        for axis in np.flatnonzero(self.wraps):
            places[:, axis] %= self.cells[axis]
            places[places[:, axis] >= self.cells[axis], axis] = 0.0  # what is a hair below 0 becomes that by rounding
        return places

    def unrolled(self, X: np.ndarray) -> np.ndarray:
        """The same points with the coordinates along axes that close up within the box."""
        return self.coordinates(X) * (self.scale * self.spacing) + self.low if self.wraps.any() else X
