"""Elastic distances of time series: what they share, from the matrix of all pairs to the alignment of two."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ... import _native
from .base import Distance, require_matrix
from .series import Series

_EVERYTHING = 1 << 40
_CELLS_AT_ONCE = 100_000_000  # of the tables, by one thread: a few hundredths of a second
#: the rules of native/distances/kernels.hpp, in their order
_RULES = (
    *("warping", "weighted", "penalized", "largest", "gaps", "edits", "common", "twists", "splits", "soft"),
    *("alignments", "shapes", "symbols"),
)


class TableTerms(NamedTuple):
    """What the cells of a table depend on besides the samples: see native/distances/kernels.hpp."""

    table: np.ndarray = np.zeros(1)
    stride: int = 1
    middle: int = -1
    first: float = 0.0
    second: float = 0.0


class ElasticDistance(Distance):
    """The cheapest way to match two series in time, sample by sample, never going back.

    A subclass names its rule (native/distances/elastic_rules.hpp) and what the rule needs.
    """

    window: float | None = None
    channels: str = "last"
    dtype: Any = np.float64
    _rule: str
    _matches_only = False  #: whether a path is the list of matched samples, and other samples have no partner

    def patterns(self, X: Any, name: str = "X") -> Series:
        return Series.of(X, name, self.channels)

    def pairwise(self, X: Any, Y: Any = None) -> np.ndarray:
        """All distances (n, m) between series: arrays (n, length), (n, length, channels), or lists of single series.

        With ``channels="first"`` the arrays are (n, channels, length). Without Y the distances of X to one another.
        """
        return super().pairwise(X, Y)

    def to_origin(self, X: Any) -> np.ndarray:
        """Distances (n,) to series of zeros that have the same lengths."""
        series = self.patterns(X)
        out = np.empty(len(series.lengths))
        for length in np.unique(series.lengths):
            of_length = np.flatnonzero(series.lengths == length)
            parts = series.parts
            zeros = Series.of([np.zeros((length, series.channels))])
            out[of_length] = self._pairwise(Series.of([parts[i] for i in of_length]), zeros)[:, 0]
        return out

    def cost_matrix(self, x: Any, y: Any) -> np.ndarray:
        """The table (samples of x, samples of y) of accumulated costs, infinite outside the window.

        The last entry is what :meth:`distance` makes its value of.
        """
        return self._table(x, y)[0]

    def path(self, x: Any, y: Any) -> np.ndarray:
        """The best alignment as pairs (i, j) of samples of x and y, from the first to the last.

        Distances that let samples go without a partner (ERP, LCSS, EDR, TWE) list the pairs that are matched.
        """
        steps = self._table(x, y)[1]
        i, j = steps.shape[0] - 1, steps.shape[1] - 1
        pairs = []
        while i >= 0 and j >= 0:
            step = steps[i, j]
            if step == 0 or not self._matches_only:
                pairs.append((i, j))
            i, j = i - (step != 2), j - (step != 1)
        return np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)

    def _table(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        one, other = self._prepared(self.patterns([x], "x")), self._prepared(self.patterns([y], "y"))
        window, share = self._checked(one, other, "x", "y")
        out = np.full((len(one.values), len(other.values)), np.inf)
        steps = np.zeros(out.shape, dtype=np.int8)
        terms = self._terms(max(out.shape))
        _native.elastic_table(
            _RULES.index(self._rule),
            one.values,
            self._marks(one),
            other.values,
            self._marks(other),
            window,
            share,
            *terms,
            out,
            steps,
        )
        return self._cost(out), steps

    def _pairwise(self, X: Series, Y: Series | None) -> np.ndarray:
        one = self._prepared(X)
        other = one if Y is None else self._prepared(Y)
        raw = self._raw(one, None if Y is None else other)
        out = self._finish(raw, one, other)
        if Y is None:
            np.fill_diagonal(out, 0.0)
        return out

    def _raw(self, X: Series, Y: Series | None) -> np.ndarray:
        """Last entries of the tables."""
        other = X if Y is None else Y
        window, share = self._checked(X, other, "X", "X" if Y is None else "Y")
        require_matrix(len(X.lengths), len(other.lengths))
        if Y is not None and len(X.lengths) > len(Y.lengths):
            return self._call(Y, X, window, share).T
        return self._call(X, Y, window, share)

    def _call(self, X: Series, Y: Series | None, window: int, share: float) -> np.ndarray:
        """With the series of Y (or X) side by side, those of similar length together."""
        dtype = self._dtype()
        other = X if Y is None else Y
        other_order = np.argsort(other.lengths, kind="stable")
        out = np.empty((len(X.lengths), len(other.lengths)), dtype=dtype)
        order = other_order if Y is None else np.arange(len(X.lengths))
        longest = int(max(other.lengths.max(), X.lengths.max()))
        half_width = round(share * longest) if share >= 0 else window
        side_by_side = 64 // dtype.itemsize
        cells = float(side_by_side) * int(X.lengths.sum()) * min(longest, 2 * half_width + 1)
        parts = min(len(order), 1 + int(cells / _CELLS_AT_ONCE))
        table, *terms = self._terms(longest)
        lists = []
        for series, indices in ((X, order), (other, other_order)):
            lists += [series.values.astype(dtype, copy=False), self._marks(series).astype(dtype, copy=False)]
            lists += [series.starts, indices]
        rule = _RULES.index(self._rule)
        _native.elastic(rule, *lists, Y is None, parts, window, share, table.astype(dtype, copy=False), *terms, out)
        return out

    def _dtype(self) -> np.dtype:
        dtype = np.dtype(self.dtype)
        if dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype must be numpy.float64 or numpy.float32, got {self.dtype!r}.")
        return dtype

    def _prepared(self, X: Series) -> Series:
        """The series that the table is made of."""
        return X

    def _marks(self, X: Series) -> np.ndarray:
        """A number for each sample."""
        return np.zeros(len(X.values))

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms()

    def _cost(self, raw: np.ndarray) -> np.ndarray:
        """Accumulated costs from the entries of a table."""
        return raw

    def _finish(self, raw: np.ndarray, X: Series, Y: Series) -> np.ndarray:
        """Distances (n, m) from the last entries of the tables."""
        return self._cost(raw)

    def _half_width(self) -> tuple[int, float]:
        """The window in samples, and as a share of the longer length or -1."""
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

    def _checked(self, X: Series, Y: Series, name: str, other: str) -> tuple[int, float]:
        """The window, wide enough for all pairs of series that have the same channels."""
        if X.channels != Y.channels:
            raise ValueError(
                f"{name} has {X.channels} channels and {other} has {Y.channels}: they must have the same number."
            )
        window, share = self._half_width()
        _check_window(window, share, X.lengths, Y.lengths, name, other)
        return window, share


class RootedDistance(ElasticDistance):
    """The square root of an accumulated sum of squares, or with ``squared`` the sum itself."""

    squared: bool

    def _finish(self, raw: np.ndarray, X: Series, Y: Series) -> np.ndarray:
        return raw if self.squared else np.sqrt(raw, out=raw)


def non_negative_number(value: Any, name: str, positive: bool = False) -> float:
    """The value of a parameter, checked."""
    if isinstance(value, Real):
        number = float(value)
        if np.isfinite(number) and (number > 0 if positive else number >= 0):
            return number
    raise ValueError(f"{name} must be a {'positive' if positive else 'non-negative'} number, got {value!r}.")


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
