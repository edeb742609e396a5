"""Distances of time series under warping of time: the best monotone matching of their samples."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ... import _native
from .base import Distance, require_matrix

_EVERYTHING = 1 << 40
_CELLS_AT_ONCE = 100_000_000  # of the tables, by one thread: a few hundredths of a second


class Series(NamedTuple):
    """All samples (samples, channels) one after another: series i is ``values[starts[i]:starts[i + 1]]``."""

    values: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of samples per series."""
        return np.diff(self.starts)

    @property
    def channels(self) -> int:
        """Number of numbers per sample."""
        return self.values.shape[1]

    @classmethod
    def of(cls, X: Any, name: str = "X") -> Series:
        """Rows (n, length), an array (n, length, channels), or a list of arrays (length,) or (length, channels)."""
        if isinstance(X, cls):
            return X
        if not (isinstance(X, Sequence) or (isinstance(X, np.ndarray) and X.dtype.kind == "O")):
            X = _numbers(X, name)
            if X.ndim not in (2, 3):
                raise ValueError(
                    f"{name} must be rows (n, length), an array (n, length, channels) or a list of series, got an "
                    f"array of shape {X.shape}. A single series is the list [{name}]."
                )
        parts = [_samples(x, f"{name}[{i}]") for i, x in enumerate(X)]
        if not parts:
            raise ValueError(f"{name} has no series: give at least one.")
        for i, part in enumerate(parts):
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"{name}[{i}] has {part.shape[1]} channels and {name}[0] has {parts[0].shape[1]}: all series must "
                    "have the same number."
                )
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return cls(np.ascontiguousarray(np.concatenate(parts)), starts.astype(np.int64))


class _Warping(Distance):
    """What the warping distances share: patterns are series of any length with the same channels."""

    def patterns(self, X: Any, name: str = "X") -> Series:
        return Series.of(X, name)

    def pairwise(self, X: Any, Y: Any = None) -> np.ndarray:
        """All distances (n, m) between series: arrays (n, length), (n, length, channels), or lists of single series."""
        return super().pairwise(X, Y)

    def to_origin(self, X: Any) -> np.ndarray:
        """Distances (n,) to series of zeros that have the same lengths."""
        series = self.patterns(X)
        squares = np.einsum("ij,ij->i", series.values, series.values)
        return self._finish((np.maximum if self._largest else np.add).reduceat(squares, series.starts[:-1]))

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
        How far apart in time matched samples may be (the band of Sakoe and Chiba): a number of samples (int), a share
        between 0 and 1 of the longer length (float), or no limit. It must be at least the difference of the lengths.
    squared : bool, default False
        Leave out the square root.

    See Also
    --------
    Frechet : The largest difference along the path instead of the sum.

    Examples
    --------
    >>> from seminorm.invariance.distances import DTW
    >>> DTW().distance([0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0])
    0.0
    >>> DTW(window=0).distance([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    1.4142135623730951
    """

    def __init__(self, window: float | None = None, squared: bool = False):
        self.window, self.squared = window, squared

    def _half_width(self) -> tuple[int, float]:
        if self.window is None:
            return _EVERYTHING, -1.0
        if isinstance(self.window, Integral) and not isinstance(self.window, bool) and self.window >= 0:
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

    See Also
    --------
    DTW : The sum of squared differences along the path.

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
    longest = int(other.lengths.max())
    half_width = round(share * max(longest, int(X.lengths.max()))) if share >= 0 else window
    cells = 8.0 * int(X.lengths.sum()) * min(longest, 2 * half_width + 1)  # of all series with eight others
    parts = min(len(order), 1 + int(cells / _CELLS_AT_ONCE))
    _native.warp(*X, order, *other, other_order, Y is None, parts, window, share, largest, out)
    return out


def _check_window(window: int, share: float, lengths: np.ndarray, others: np.ndarray, name: str, other: str) -> None:
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
            f"{other}[{where_others[j]}] has length {unique_others[j]}, and a window of {width} samples does not "
            f"reach from one end to the other: it must be at least {abs(unique[i] - unique_others[j])}."
        )


def _samples(x: Any, name: str) -> np.ndarray:
    x = _numbers(x, name)
    if x.ndim not in (1, 2):
        raise ValueError(
            f"{name} must be a series of shape (length,) or (length, channels), got shape {x.shape}. A single series "
            "is given as a list of one."
        )
    if x.size == 0:
        raise ValueError(f"{name} is an empty series, of shape {x.shape}: leave it out.")
    x = x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        at = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise ValueError(
            f"{name} has NaN or infinity, first at sample {at}: fill the gap, for instance with numpy.interp, or leave "
            "the series out."
        )
    return x


def _numbers(x: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(x)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be real numbers; channels of one series must have the same length.") from None
