"""Distances of time series under warping of time: the best monotone matching of their samples."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from . import _warping_numba as loops
from ._lanes import LANES
from ._tiles import require_matrix
from .base import Distance
from .series import Series

_EVERYTHING = 1 << 40
_CELLS_AT_ONCE = 4_000_000_000  # about a second, after which an interruption is seen


class _Warping(Distance):
    """What the warping distances share: patterns are series of any length with the same channels."""

    def patterns(self, X, name: str = "X") -> Series:
        """X as all samples one after another, checked; see `pairwise`."""
        return Series.of(X, name)

    def pairwise(self, X, Y=None) -> np.ndarray:
        """All distances, (n, m); ``Y=None`` means ``Y=X``.

        Parameters
        ----------
        X, Y : array (n, length), array (n, length, channels) or list of arrays (length,) or (length, channels)

        Returns
        -------
        array (n, m)
            The same bits for any number of threads, and transposed if X and Y change places.
        """
        return super().pairwise(X, Y)

    def to_origin(self, X) -> np.ndarray:
        """Distances (n,) to the series of zeros, each of the length of the one it is compared with."""
        X = self.patterns(X)
        squares = np.einsum("ij,ij->i", X.values, X.values)
        return self._finish((np.maximum if self._largest else np.add).reduceat(squares, X.starts[:-1]))

    #: whether the cost of a matching is the largest of its squared differences, not their sum
    _largest = False

    def _half_width(self) -> tuple[int, float]:
        """The window in samples, and as a share of the longer length or -1."""
        return _EVERYTHING, -1.0

    def _finish(self, squares: np.ndarray) -> np.ndarray:
        return np.sqrt(squares, out=squares)

    def _pairwise(self, X: Series, Y: Series | None) -> np.ndarray:
        other = X if Y is None else Y
        if X.channels != other.channels:
            raise ValueError(f"X has {X.channels} channels and Y has {other.channels}: they must have the same number.")
        window, share = self._half_width()
        _check_window(window, share, X.lengths, other.lengths, "X", "X" if Y is None else "Y")
        n, m = len(X.lengths), len(other.lengths)
        require_matrix(n, m)
        if Y is not None and n > m:
            return self._finish(_squares(Y, X, window, share, self._largest).T)
        return self._finish(_squares(X, Y, window, share, self._largest))


class DTW(_Warping):
    r"""Dynamic time warping: sample i of one series is matched with sample j of the other, never going back in time,

    .. math:: d(x, y)^2 = \min \sum_{(i, j)} |x_i - y_j|^2

    over all paths of steps (1, 0), (0, 1), (1, 1) from the first to the last samples. The triangle inequality fails,
    and kernels made of it are indefinite in general.

    Parameters
    ----------
    window : int, float or None, default None
        Matched samples are at most so far apart in time (the band of Sakoe and Chiba): a number of samples, or as a
        float between 0 and 1 a share of the longer length, rounded. It must be at least the difference of the lengths.
        None: no limit.
    squared : bool, default False
        Leave out the square root.

    Examples
    --------
    >>> from seminorm.invariance.distances import DTW
    >>> DTW().distance([0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0])
    0.0
    >>> DTW(window=0).distance([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    1.4142135623730951
    """

    def __init__(self, window=None, squared=False):
        self.window = window
        self.squared = squared

    def _half_width(self) -> tuple[int, float]:
        if self.window is None:
            return _EVERYTHING, -1.0
        if not isinstance(self.window, bool):
            if isinstance(self.window, Integral) and self.window >= 0:
                return min(int(self.window), _EVERYTHING), -1.0
            if isinstance(self.window, Real) and not isinstance(self.window, Integral) and 0 <= self.window <= 1:
                return _EVERYTHING, float(self.window)
        raise ValueError(
            f"window must be None, a whole number of samples (int, at least 0) or a share of the longer length (float "
            f"between 0 and 1), got {self.window!r}."
        )

    def _finish(self, squares: np.ndarray) -> np.ndarray:
        return squares if self.squared else super()._finish(squares)


class Frechet(_Warping):
    r"""The discrete Frechet distance: the shortest leash of two walkers along the samples who never go back,

    .. math:: d(x, y) = \min \max_{(i, j)} |x_i - y_j|

    over the paths of `DTW`.

    Examples
    --------
    >>> from seminorm.invariance.distances import Frechet
    >>> Frechet().distance([0.0, 1.0, 3.0], [0.0, 2.5])
    1.0
    """

    _largest = True


def _squares(X: Series, Y: Series | None, window: int, share: float, largest: bool) -> np.ndarray:
    """Squared distances, with the series of Y (or X) eight at a time, those of similar length together."""
    other = X if Y is None else Y
    other_order = np.argsort(other.lengths, kind="stable")
    out = np.empty((len(X.lengths), len(other.lengths)))
    order = other_order if Y is None else np.arange(len(X.lengths))
    cells = float(X.lengths.sum()) * float(other.lengths.sum())
    blocks = balanced(-(-len(other.lengths) // LANES))
    parts = min(len(blocks), max(1, int(cells // _CELLS_AT_ONCE)))
    for part in np.array_split(blocks, parts):
        loops.warp(*X, order, *other, other_order, Y is None, part, window, share, True if largest else None, out)
    return out


def balanced(n: int) -> np.ndarray:
    """0, n - 1, 1, n - 2, ...: neighbours have together the same work if it grows steadily, so that equal shares of
    the list are equal shares of the work.
    """
    numbers = np.empty(n, dtype=np.int64)
    numbers[0::2] = np.arange((n + 1) // 2)
    numbers[1::2] = np.arange(n - 1, (n - 1) // 2, -1)
    return numbers


def _check_window(window: int, share: float, lengths, others, name: str, other_name: str) -> None:
    unique, where = np.unique(lengths, return_index=True)
    unique_others, where_others = np.unique(others, return_index=True)
    longer = np.maximum.outer(unique, unique_others)
    widths = np.rint(share * longer) if share >= 0 else window
    missing = np.abs(np.subtract.outer(unique, unique_others)) - widths
    i, j = np.unravel_index(missing.argmax(), missing.shape)
    if missing[i, j] > 0:
        width = int(np.broadcast_to(widths, missing.shape)[i, j])
        raise ValueError(
            f"window is too small for these lengths: {name}[{where[i]}] has length {unique[i]} and "
            f"{other_name}[{where_others[j]}] has length {unique_others[j]}, and a window of {width} samples does not "
            f"reach from one end to the other: it must be at least {abs(unique[i] - unique_others[j])}."
        )
