"""The pieces of a long series that are nearest to a query: exact, by lower bounds and few distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from ... import _native
from .series import Series
from .warping import DTW

_FIRST, _MOST = 64, 4096  # pieces whose distances are computed at once
_CONSTANT = 1e-10  # of the largest sample: a deviation that is rounding
_ROUNDING = 1e-9


class Matches(NamedTuple):
    """Pieces of a series, the nearest first."""

    starts: np.ndarray  #: (k,) their first samples
    distances: np.ndarray  #: (k,)
    n_distances: int  #: how many distances were computed; all other pieces were ruled out by lower bounds


def search(
    query: Any,
    series: Any,
    k: int = 1,
    *,
    window: float | None = 0.1,
    standardize: bool = True,
    exclusion: int | None = None,
) -> Matches:
    """The k pieces of a series that are nearest to a query, by `DTW` between series of the same length.

    The result is that of computing all distances: first the nearest piece, then the nearest of those that begin at
    least ``exclusion`` samples from it, and so on. Lower bounds from envelopes [Keogh and Ratanamahatana 2005] rule out
    nearly all pieces.

    Parameters
    ----------
    query : array (length,)
    series : array (n,), with at least as many samples
    k : int, default 1
        Fewer are returned where there is no room for more.
    window : int, float or None, default 0.1
        That of `DTW`; 0 is the Euclidean distance.
    standardize : bool, default True
        Subtract from the query and from each piece its mean, and divide by its standard deviation; a constant piece
        becomes zero.
    exclusion : int, optional
        Half the length of the query if left out.

    Returns
    -------
    Matches
        ``starts``, ``distances`` and ``n_distances``.

    See Also
    --------
    DTW : All distances of given series.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import search
    >>> t = np.arange(400)
    >>> series = np.sin(t / 7) + 0.001 * t
    >>> series[200:230] = np.linspace(0, 3, 30) ** 2
    >>> search(np.linspace(0, 1, 30) ** 2, series, 1).starts
    array([200])
    """
    x, whole = (_one_channel(values, name) for values, name in ((query, "query"), (series, "series")))
    length, pieces = len(x), len(whole) - len(x) + 1
    if pieces < 1:
        raise ValueError(f"series has {len(whole)} samples, fewer than the {length} of the query.")
    if k < 1 or int(k) != k:
        raise ValueError(f"k must be a positive whole number, got {k!r}.")
    apart = max(1, length // 2) if exclusion is None else exclusion
    if apart < 0 or int(apart) != apart:
        raise ValueError(f"exclusion must be a whole number of samples, at least 0, got {exclusion!r}.")
    distance = DTW(window, squared=True)
    samples, share = distance._half_width()
    reach = min(length - 1, round(share * length) if share >= 0 else samples)
    search_for = _Search(x, whole, reach, standardize, distance)
    return search_for.best(int(k), max(1, int(apart)))


class _Search:
    """A query and the pieces of a series: lower bounds of all distances, and the distances of some."""

    def __init__(self, query: np.ndarray, series: np.ndarray, reach: int, standardize: bool, distance: DTW):
        self.length, self.reach, self.distance = len(query), reach, distance
        self.pieces = len(series) - len(query) + 1
        missing = max(0, 8 - self.pieces)  # the loop takes eight pieces at once
        self.series = np.append(series, np.full(missing, series[-1]))
        own, inverse = self._units(np.append(query, np.full(7, query[-1])), standardize)
        self.means, self.inverses = self._units(self.series, standardize)
        self.query = (query - own[0]) * inverse[0]

    def _units(self, series: np.ndarray, standardize: bool) -> tuple[np.ndarray, np.ndarray]:
        means, inverses = np.empty((2, len(series) - self.length + 1))
        least = _CONSTANT * max(float(np.abs(series).max()), np.finfo(float).tiny)
        _native.piece_units(series, self.length, standardize, least, means, inverses)
        return means, inverses

    def bounds(self) -> np.ndarray:
        """Lower bounds of the squared distances of all pieces; their values for reach 0."""
        size = 2 * self.reach + 1
        envelopes = [
            (minimum_filter1d(values, size, mode="nearest"), maximum_filter1d(values, size, mode="nearest"))
            for values in (self.query, self.series)
        ]
        out = np.empty(len(self.means))
        _native.piece_bounds(self.series, self.means, self.inverses, self.query, *envelopes[0], *envelopes[1], out)
        return out[: self.pieces]

    def squares(self, starts: np.ndarray) -> np.ndarray:
        """Squared distances of pieces."""
        pieces = np.lib.stride_tricks.sliding_window_view(self.series, self.length)[starts]
        pieces = (pieces - self.means[starts, None]) * self.inverses[starts, None]
        return self.distance.pairwise(self.query[None], pieces)[0]

    def best(self, k: int, apart: int) -> Matches:
        bounds = self.bounds()
        if self.reach == 0:
            starts, squares = np.arange(self.pieces), bounds
            chosen = _greedy(starts, squares, k, apart)
            return Matches(starts[chosen], np.sqrt(squares[chosen]), self.pieces)
        order = np.argsort(bounds, kind="stable")
        known = np.empty(self.pieces)
        done, cutoff = 0, np.inf
        # A nearer piece found later rules out two of those chosen so far at most. So the (2 k - 1)-th of these is no
        # nearer than the k-th of the end.
        while done < self.pieces and bounds[order[done]] * (1.0 - _ROUNDING) <= cutoff:
            batch = order[done : done + min(_MOST, max(_FIRST, done))]
            known[batch] = self.squares(batch)
            done += len(batch)
            of_many = _greedy(order[:done], known[order[:done]], 2 * k - 1, apart)
            cutoff = known[order[of_many[-1]]] if len(of_many) == 2 * k - 1 else np.inf
        starts = np.sort(order[:done])
        chosen = _greedy(starts, known[starts], k, apart)
        return Matches(starts[chosen], np.sqrt(known[starts[chosen]]), done)


def _greedy(starts: np.ndarray, squares: np.ndarray, k: int, apart: int) -> np.ndarray:
    """Indices of up to k pieces: always the nearest of those that begin far enough from the ones before."""
    left = squares.astype(float)
    chosen: list[int] = []
    while len(chosen) < k:
        best = int(left.argmin())
        if not np.isfinite(left[best]):
            break
        chosen.append(best)
        left[np.abs(starts - starts[best]) < apart] = np.inf
    return np.array(chosen, dtype=np.intp)


def _one_channel(values: Any, name: str) -> np.ndarray:
    series = Series.of([values], name)
    if series.channels != 1:
        raise ValueError(f"{name} must have one channel, got {series.channels}.")
    return np.ascontiguousarray(series.values[:, 0])
