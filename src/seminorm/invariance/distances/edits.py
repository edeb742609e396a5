"""Edit distances of time series: matches, and a price for samples without a partner or for those that are repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .elastic import ElasticDistance, TableTerms, non_negative_number
from .series import Series


class ERP(ElasticDistance):
    r"""Edit distance with real penalty [Chen and Ng 2004]: a match costs :math:`|x_i - y_j|`, a sample without a
    partner its distance from the gap value. A metric.

    Parameters
    ----------
    gap : float or array (channels,), default 0.0
        The gap value. For standardised series 0 is natural.
    window : int, float or None, default None
        How far apart in time matched samples may be, see `DTW`.
    channels, dtype : see `DTW`

    Notes
    -----
    A path that begins with samples without partners pays for them one by one, as in the paper; aeon charges all of the
    series at once (version 1.6), so its values differ where such a path is best.

    See Also
    --------
    MSM, TWE : Other metrics.

    Examples
    --------
    >>> from seminorm.invariance.distances import ERP
    >>> ERP().distance([0.0, 2.0, 3.0], [2.0, 3.0])
    0.0
    >>> ERP(gap=1.0).distance([0.0, 2.0, 3.0], [2.0, 3.0])
    1.0
    """

    _rule = "gaps"
    _matches_only = True

    def __init__(
        self,
        gap: float | ArrayLike = 0.0,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.gap, self.window, self.channels, self.dtype = gap, window, channels, dtype

    def _marks(self, X: Series) -> np.ndarray:
        gap = np.asarray(self.gap, dtype=float)
        if gap.shape not in ((), (X.channels,)) or not np.isfinite(gap).all():
            raise ValueError(f"gap must be a number, or one for each of {X.channels} channels, got {self.gap!r}.")
        return np.linalg.norm(X.values - gap, axis=1)


class LCSS(ElasticDistance):
    r"""One minus the longest common subsequence as a share of the shorter length [Vlachos, Kollios and Gunopulos 2002].

    Samples at most ``tolerance`` apart are equal.

    Parameters
    ----------
    tolerance : float, default 1.0
    window : int, float or None, default None
        How far apart in time equal samples may be, see `DTW`.
    channels, dtype : see `DTW`

    See Also
    --------
    EDR : Counts what must be changed, too.

    Examples
    --------
    >>> from seminorm.invariance.distances import LCSS
    >>> LCSS(0.1).distance([0.0, 2.0, 3.0], [2.0, 3.0, 7.0]).__round__(3)
    0.333
    """

    _rule = "common"
    _matches_only = True

    def __init__(
        self,
        tolerance: float = 1.0,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.tolerance, self.window, self.channels, self.dtype = tolerance, window, channels, dtype

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(first=non_negative_number(self.tolerance, "tolerance"))

    def _cost(self, raw: np.ndarray) -> np.ndarray:
        """The number of samples of the common subsequence."""
        return np.where(np.isinf(raw), np.inf, -raw)

    def path(self, x: Any, y: Any) -> np.ndarray:
        one, other = self.patterns([x], "x").values, self.patterns([y], "y").values
        pairs = super().path(x, y)
        return pairs[np.linalg.norm(one[pairs[:, 0]] - other[pairs[:, 1]], axis=1) <= self.tolerance]

    def _finish(self, raw: np.ndarray, X: Series, Y: Series) -> np.ndarray:
        return 1.0 + raw / np.minimum.outer(X.lengths, Y.lengths).astype(raw.dtype)


class EDR(ElasticDistance):
    r"""Edit distance on real sequences [Chen, Özsu and Oria 2005]: how many samples must be inserted, deleted or
    replaced, as a share of the longer length. Samples closer than ``tolerance`` are equal.

    Parameters
    ----------
    tolerance : float or None, default None
        None: a quarter of the larger standard deviation of the two series.
    window : int, float or None, default None
        How far apart in time matched samples may be, see `DTW`.
    channels, dtype : see `DTW`

    Notes
    -----
    Samples without a partner at the beginning cost 1 each, as everywhere; in aeon (version 1.6) these are free.

    See Also
    --------
    LCSS : Counts what is common.

    Examples
    --------
    >>> from seminorm.invariance.distances import EDR
    >>> EDR(0.1).distance([0.0, 2.0, 3.0, 5.0], [2.0, 3.0, 7.0])
    0.5
    """

    _rule = "edits"
    _matches_only = True

    def __init__(
        self,
        tolerance: float | None = None,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.tolerance, self.window, self.channels, self.dtype = tolerance, window, channels, dtype

    def _marks(self, X: Series) -> np.ndarray:
        least = float(np.finfo(self._dtype()).tiny)  # equal samples are equal
        if self.tolerance is None:
            deviations = np.array([x.std() for x in X.parts])
            return np.maximum(np.repeat(deviations / 4, X.lengths), least)
        return np.full(len(X.values), max(non_negative_number(self.tolerance, "tolerance"), least))

    def _finish(self, raw: np.ndarray, X: Series, Y: Series) -> np.ndarray:
        return raw / np.maximum.outer(X.lengths, Y.lengths).astype(raw.dtype)


class TWE(ElasticDistance):
    r"""Time warp edit distance [Marteau 2009]: matches compare a sample and the one before it, and pay for their
    distance in time; deletions pay for the length of the step they remove. A metric.

    Parameters
    ----------
    stiffness : float, default 0.001
        The price of a distance of one sample in time.
    deletion : float, default 1.0
        The price of a deletion.
    window : int, float or None, default None
        How far apart in time matched samples may be, see `DTW`.
    channels, dtype : see `DTW`

    See Also
    --------
    ERP, MSM : Other metrics.

    Examples
    --------
    >>> from seminorm.invariance.distances import TWE
    >>> TWE(stiffness=0.0).distance([0.0, 2.0, 2.0, 3.0], [0.0, 2.0, 3.0])
    1.0
    """

    _rule = "twists"
    _matches_only = True

    def __init__(
        self,
        stiffness: float = 0.001,
        deletion: float = 1.0,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.stiffness, self.deletion, self.window = stiffness, deletion, window
        self.channels, self.dtype = channels, dtype

    def _marks(self, X: Series) -> np.ndarray:
        steps = np.diff(X.values, axis=0, prepend=np.zeros((1, X.channels)))
        steps[X.starts[:-1]] = X.values[X.starts[:-1]]  # before the first sample there is zero
        price = non_negative_number(self.stiffness, "stiffness") + non_negative_number(self.deletion, "deletion")
        return np.linalg.norm(steps, axis=1) + price

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(2.0 * non_negative_number(self.stiffness, "stiffness") * np.arange(longest))


class MSM(ElasticDistance):
    r"""Move, split, merge [Stefan, Athitsos and Das 2013]: a sample changes its value at the price of the change, and
    is doubled, or merged with an equal neighbour, at a fixed price. A metric for series of one channel.

    Parameters
    ----------
    price : float, default 1.0
        Of a split or a merge.
    independent : bool, default True
        For several channels: add their distances. Otherwise they move together, and the costs are squares
        [Shifaz et al. 2023].
    window : int, float or None, default None
        How far apart in time matched samples may be, see `DTW`.
    channels, dtype : see `DTW`

    See Also
    --------
    ERP, TWE : Other metrics.

    Examples
    --------
    >>> from seminorm.invariance.distances import MSM
    >>> MSM(0.5).distance([0.0, 2.0, 2.0], [0.0, 2.0])
    0.5
    """

    _rule = "splits"

    def __init__(
        self,
        price: float = 1.0,
        independent: bool = True,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.price, self.independent, self.window = price, independent, window
        self.channels, self.dtype = channels, dtype

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(first=non_negative_number(self.price, "price"))

    def _marks(self, X: Series) -> np.ndarray:
        if X.channels > 1:
            return super()._marks(X)
        steps = -np.diff(X.values[:, 0], prepend=0.0)
        steps[X.starts[:-1]] = 0.0
        return steps

    def _call(self, X: Series, Y: Series | None, window: int, share: float) -> np.ndarray:
        if not self.independent or X.channels == 1:
            return super()._call(X, Y, window, share)
        out: np.ndarray | float = 0.0
        for c in range(X.channels):
            of_channel = None if Y is None else _channel(Y, c)
            out = out + super()._call(_channel(X, c), of_channel, window, share)
        return np.asarray(out)

    def _table(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.independent and self.patterns([x], "x").channels > 1:
            raise ValueError(
                "independent channels have one alignment each: take the channels one by one, or independent=False."
            )
        return super()._table(x, y)


def _channel(X: Series, c: int) -> Series:
    return Series(np.ascontiguousarray(X.values[:, c : c + 1]), X.starts)
