"""Distances of time series under warping of time: the best monotone matching of their samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elastic import ElasticDistance, RootedDistance, TableTerms, non_negative_number
from .series import Series


class DTW(RootedDistance):
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
    channels : "last" or "first", default "last"
        Whether arrays of series with several channels are (n, length, channels) or (n, channels, length).
    dtype : numpy.float64 or numpy.float32, default numpy.float64
        Single precision is about three times as fast.

    See Also
    --------
    Frechet : The largest difference along the path instead of the sum.
    ADTW : Steps off the diagonal cost something.

    Examples
    --------
    >>> from seminorm.invariance.distances import DTW
    >>> DTW().distance([0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0])
    0.0
    >>> DTW(window=0).distance([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    1.4142135623730951
    >>> DTW().path([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    array([[0, 0],
           [1, 0],
           [2, 1],
           [2, 2]])
    """

    _rule = "warping"

    def __init__(
        self, window: float | None = None, squared: bool = False, channels: str = "last", dtype: Any = np.float64
    ):
        self.window, self.squared, self.channels, self.dtype = window, squared, channels, dtype


class Frechet(ElasticDistance):
    r"""The discrete Frechet distance: the shortest leash of two walkers along the samples who never go back,

    .. math:: d(x, y) = \min \max_{(i, j)} |x_i - y_j|

    over the paths of `DTW`.

    Parameters
    ----------
    window, channels, dtype : see `DTW`

    See Also
    --------
    DTW : The sum of squared differences along the path.

    Examples
    --------
    >>> from seminorm.invariance.distances import Frechet
    >>> Frechet().distance([0.0, 1.0, 3.0], [0.0, 2.5])
    1.0
    """

    _rule = "largest"

    def __init__(self, window: float | None = None, channels: str = "last", dtype: Any = np.float64):
        self.window, self.channels, self.dtype = window, channels, dtype

    def _cost(self, raw: np.ndarray) -> np.ndarray:
        return np.sqrt(raw, out=raw)


class DerivativeDTW(RootedDistance):
    r"""`DTW` of slopes: :math:`((x_i - x_{i-1}) + (x_{i+1} - x_{i-1})/2)/2` in the place of samples [Keogh and
    Pazzani 2001].

    Levels no longer count, only shapes. The first and the last sample have no slope, so series need three samples.
    Paths are those of samples; tables leave out the first and the last one.

    Parameters
    ----------
    window, squared, channels, dtype : see `DTW`

    See Also
    --------
    ShapeDTW : Samples with their neighbourhoods.

    Examples
    --------
    >>> from seminorm.invariance.distances import DerivativeDTW
    >>> DerivativeDTW().distance([0.0, 0.0, 1.0, 0.0], [5.0, 5.0, 6.0, 5.0])
    0.0
    """

    _rule = "warping"

    def __init__(
        self, window: float | None = None, squared: bool = False, channels: str = "last", dtype: Any = np.float64
    ):
        self.window, self.squared, self.channels, self.dtype = window, squared, channels, dtype

    def path(self, x: Any, y: Any) -> np.ndarray:
        return super().path(x, y) + 1

    def _prepared(self, X: Series) -> Series:
        return slopes(X)


def slopes(X: Series) -> Series:
    """The mean of the slope to the sample before and of half the slope between both neighbours."""
    if X.lengths.min() < 3:
        i = int(X.lengths.argmin())
        raise ValueError(f"series {i} has {X.lengths[i]} samples: slopes need at least 3.")
    return X.map(lambda x: ((x[1:-1] - x[:-2]) + (x[2:] - x[:-2]) / 2) / 2)


class WeightedDTW(RootedDistance):
    r"""`DTW` whose matches cost more the farther apart in time they are [Jeong, Jeong and Omitaomu 2011],

    .. math:: d(x, y)^2 = \min \sum_{(i, j)} w(|i - j|) |x_i - y_j|^2, \quad w(k) = 1 / (1 + e^{-g (k - n/2)}),

    where n is the longer length.

    Parameters
    ----------
    steepness : float, default 0.05
        g: 0 weighs all matches alike, by 1/2.
    window, squared, channels, dtype : see `DTW`

    See Also
    --------
    ADTW : A price for steps instead of weights.

    Examples
    --------
    >>> from seminorm.invariance.distances import DTW, WeightedDTW
    >>> x, y = [0.0, 1.0, 3.0], [1.0, 1.0, 2.0]
    >>> WeightedDTW(0.0, squared=True).distance(x, y), DTW(squared=True).distance(x, y)
    (1.0, 2.0)
    """

    _rule = "weighted"

    def __init__(
        self,
        steepness: float = 0.05,
        window: float | None = None,
        squared: bool = False,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.steepness, self.window, self.squared = steepness, window, squared
        self.channels, self.dtype = channels, dtype

    def _terms(self, longest: int) -> TableTerms:
        g = non_negative_number(self.steepness, "steepness")
        halves = np.arange(-longest, longest + 1) / 2.0  # entry longest - n + 2 k belongs to k - n / 2
        return TableTerms(1.0 / (1.0 + np.exp(-g * halves)), 2, longest)


class ADTW(RootedDistance):
    r"""Amerced `DTW`: every step (1, 0) or (0, 1) costs a penalty [Herrmann and Webb 2023].

    With a penalty of 0 it is `DTW`, with a large one the Euclidean distance.

    Parameters
    ----------
    penalty : float, default 1.0
        In units of squared differences.
    window, squared, channels, dtype : see `DTW`

    See Also
    --------
    WeightedDTW : Weights for matches that are far apart in time.

    Examples
    --------
    >>> from seminorm.invariance.distances import ADTW
    >>> ADTW(0.5, squared=True).distance([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    1.0
    """

    _rule = "penalized"

    def __init__(
        self,
        penalty: float = 1.0,
        window: float | None = None,
        squared: bool = False,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.penalty, self.window, self.squared = penalty, window, squared
        self.channels, self.dtype = channels, dtype

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(first=non_negative_number(self.penalty, "penalty"))


class ShapeDTW(RootedDistance):
    r"""`DTW` that matches neighbourhoods: the path is the best one between pieces of 2 reach + 1 samples, and the
    distance adds :math:`|x_i - y_j|^2` along it [Zhao and Itti 2018].

    Pieces at the ends are filled up with the first and the last sample. Of paths of the same cost, the one with the
    smaller sum counts.

    Parameters
    ----------
    reach : int, default 15
        Samples before and after. 0 is `DTW`.
    window, squared, channels, dtype : see `DTW`

    See Also
    --------
    DerivativeDTW : Slopes instead of samples.

    Examples
    --------
    >>> from seminorm.invariance.distances import ShapeDTW
    >>> ShapeDTW(reach=1).distance([0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0])
    0.0
    """

    _rule = "shapes"

    def __init__(
        self,
        reach: int = 15,
        window: float | None = None,
        squared: bool = False,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.reach, self.window, self.squared = reach, window, squared
        self.channels, self.dtype = channels, dtype

    def _prepared(self, X: Series) -> Series:
        reach = int(non_negative_number(self.reach, "reach"))
        if reach != self.reach:
            raise ValueError(f"reach must be a whole number of samples, got {self.reach!r}.")

        def pieces(x: np.ndarray) -> np.ndarray:
            padded = np.pad(x, ((reach, reach), (0, 0)), mode="edge")
            return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=0).reshape(len(x), -1)

        return X.map(pieces)

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(first=2.0 * self.reach + 1.0)
