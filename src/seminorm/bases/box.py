"""The box that a grid of functions covers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_MARGINS = {1: 2.0, 2: 2.0, 3: 2.0, 4: 1.0}
_CLOSED_MARGINS = {1: 1.0, 2: 1.0, 3: 0.25}
_MOST_CELLS = 4096  # of level 0, whose equations are solved as a dense matrix


class GridBox:
    """The box of the coarsest grid, in coordinates divided by the scale of each axis, and mapped by ``axes`` if given.

    Parameters
    ----------
    low, scale : arrays (d,), a corner in the user's coordinates, and what each axis is divided by
    spacing, cells : float, int array (d,)
        Side of the cells of level 0, scaled, and their number along each axis.
    wraps : bool array (d,), optional
        Axes that close up: after the last cell comes the first.
    axes : array (d, d), optional
        Takes rows of scaled coordinates to those of the grid, ``x @ axes``: columns are directions times factors. Not
        beside axes that close up.

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
        self,
        low: ArrayLike,
        scale: ArrayLike,
        spacing: float,
        cells: ArrayLike,
        wraps: ArrayLike | None = None,
        axes: ArrayLike | None = None,
    ):
        self.axes = None if axes is None else np.asarray(axes, dtype=float)
        self.low, self.scale = np.asarray(low, dtype=float), np.asarray(scale, dtype=float)
        self.spacing, self.cells = float(spacing), np.asarray(cells, dtype=np.int64)
        self.wraps = np.zeros(len(self.low), dtype=np.bool_) if wraps is None else np.asarray(wraps, dtype=np.bool_)

    @classmethod
    def around(
        cls,
        low: ArrayLike,
        high: ArrayLike,
        *,
        scale: ArrayLike = 1.0,
        margin: float | None = None,
        across: int = 1,
        axes: np.ndarray | None = None,
    ) -> GridBox:
        """A box of ``across`` cells along the longest side of the data, and ``margin`` times it beyond (2; 4-D: 1)."""
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        scale = np.broadcast_to(np.asarray(scale, dtype=float), low.shape)
        widths = (high - low) / scale
        widths = widths if axes is None else widths @ np.abs(axes)
        longest = widths.max()
        if longest == 0.0:  # one point only: any box will do
            longest = 1.0
        spacing = longest / across
        border = (_MARGINS[len(low)] if margin is None else margin) * longest
        cells = np.maximum(np.ceil((widths + 2 * border) / spacing - 1e-9).astype(np.int64), 1)
        center = low + (high - low) / 2
        half = cells * spacing / 2
        return cls(
            center - (half if axes is None else half @ np.linalg.inv(axes)) * scale, scale, spacing, cells, axes=axes
        )

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
        places = (np.asarray(X, dtype=float, order="C") - self.low) / self.scale / self.spacing
        if self.axes is not None:
            return mapped(places, self.axes)
        for axis in np.flatnonzero(self.wraps):
            places[:, axis] %= self.cells[axis]
            places[places[:, axis] >= self.cells[axis], axis] = 0.0  # what is a hair below 0 becomes that by rounding
        return places

    def unrolled(self, X: np.ndarray) -> np.ndarray:
        """The same points with the coordinates along axes that close up within the box."""
        return self.coordinates(X) * (self.scale * self.spacing) + self.low if self.wraps.any() else X

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper corner (2, d) in the user's coordinates; of the upright box around it if axes are turned."""
        far = self.cells * self.spacing
        if self.axes is None:
            return np.stack([self.low, self.low + far * self.scale])
        corners = far * np.array(list(np.ndindex(*[2] * self.dimension))) @ np.linalg.inv(self.axes) * self.scale
        return self.low + np.stack([corners.min(axis=0), corners.max(axis=0)])

    @property
    def jacobian(self) -> np.ndarray:
        """Derivatives of the coordinates of the grid, scaled, by those of the user: in [a, b] that of b by x_a."""
        axes = np.eye(self.dimension) if self.axes is None else self.axes
        return axes / np.broadcast_to(self.scale, self.dimension)[:, None]

    @property
    def finest_unit(self) -> float:
        """The shortest length in the user's coordinates that is one in those of the grid, scaled."""
        return float(np.min(self.scale) if self.axes is None else 1.0 / np.linalg.norm(self.jacobian, 2))

    @property
    def upright_scale(self) -> np.ndarray:
        """What each coordinate is divided by in all; an error if axes are turned, and no such numbers exist."""
        if self.axes is None:
            return self.scale
        stretch = np.diag(self.axes)
        if (self.axes != np.diag(stretch)).any():
            raise ValueError(
                "the axes of the grid are turned: this takes a grid along the coordinates (anisotropy='auto' or None)."
            )
        return self.scale / stretch

    def gradients(self, slopes: np.ndarray) -> np.ndarray:
        """Gradients (n, d) by scaled coordinates of the grid as those by the user's."""
        return slopes / self.scale if self.axes is None else slopes @ self.jacobian.T

    def hessians(self, bends: np.ndarray) -> np.ndarray:
        """Hessians (n, d, d) by scaled coordinates of the grid as those by the user's."""
        jacobian = self.jacobian
        return np.einsum("ac,ncd,bd->nab", jacobian, bends, jacobian)


def mapped(X: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """X @ axes, the same bits for any number of threads."""
    return np.ascontiguousarray(sum(X[:, a, None] * axes[a] for a in range(len(axes))))
