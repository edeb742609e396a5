"""Soft dynamic time warping: all alignments count, the better ones more."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elastic import ElasticDistance, TableTerms, non_negative_number
from .series import Series


class SoftAlignment(ElasticDistance):
    """What distances with a soft minimum over alignments share: a pattern is not at distance zero from itself."""

    divergence: bool

    def _unit(self) -> float:
        """What the entries of tables are multiplied by."""
        return 1.0

    def _cost(self, raw: np.ndarray) -> np.ndarray:
        return raw * self._unit()

    def _pairwise(self, X: Series, Y: Series | None) -> np.ndarray:
        one = self._prepared(X)
        other = None if Y is None else self._prepared(Y)
        raw = self._cost(self._raw(one, other))
        if not self.divergence:
            return raw
        own = self._self_costs(one) if Y is not None else np.diag(raw)
        others = self._self_costs(other) if other is not None else own
        out = raw - 0.5 * np.add.outer(own, others)
        if Y is None:
            np.fill_diagonal(out, 0.0)
        return np.maximum(out, 0.0, out=out)  # below zero by rounding only

    def _self_costs(self, X: Series) -> np.ndarray:
        """The cost of each series with itself: blocks on the diagonal of the matrix."""
        order = np.argsort(X.lengths, kind="stable")
        parts, out = X.parts, np.empty(len(order))
        for start in range(0, len(order), 8):
            block = order[start : start + 8]
            out[block] = np.diag(self._cost(self._raw(Series.of([parts[i] for i in block]), None)))
        return out


class SoftDTW(SoftAlignment):
    r"""`DTW` with a soft minimum over all alignments [Cuturi and Blondel 2017],

    .. math:: s(x, y) = -\gamma \log \sum_{\text{paths}} e^{-\sum |x_i - y_j|^2 / \gamma},

    differentiable in the samples. As s may be negative, and s(x, x) is not zero, the default is the divergence
    :math:`s(x, y) - (s(x, x) + s(y, y)) / 2` [Blondel, Mensch and Vert 2021].

    Parameters
    ----------
    gamma : float, default 1.0
        The smaller, the harder the minimum. In units of squared differences.
    divergence : bool, default True
        False: s itself.
    window, channels, dtype : see `DTW`

    Notes
    -----
    Of the divergence it is not known whether it is never negative for this cost; negative values count as zero.

    See Also
    --------
    GlobalAlignmentKernel : The positive definite kernel of the same family.

    Examples
    --------
    >>> from seminorm.invariance.distances import SoftDTW
    >>> SoftDTW().distance([0.0, 1.0], [0.0, 1.0])
    0.0
    >>> SoftDTW(divergence=False).distance([0.0, 1.0], [0.0, 1.0]).__round__(3)
    -0.551
    """

    _rule = "soft"

    def __init__(
        self,
        gamma: float = 1.0,
        divergence: bool = True,
        window: float | None = None,
        channels: str = "last",
        dtype: Any = np.float64,
    ):
        self.gamma, self.divergence, self.window = gamma, divergence, window
        self.channels, self.dtype = channels, dtype

    def _unit(self) -> float:
        return non_negative_number(self.gamma, "gamma", positive=True)

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(first=1.0 / self._unit())
