"""The global alignment kernel of time series: positive definite, where kernels of warping distances are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.base import Kernel
from .distances.base import distances_of, patterns_of
from .distances.elastic import TableTerms, non_negative_number
from .distances.soft import SoftAlignment


class _Alignments(SoftAlignment):
    """Minus the logarithm of the sum over all alignments."""

    _rule = "alignments"
    divergence = True

    def __init__(self, scale: float, triangle: int | None, channels: str, dtype: Any):
        self.scale, self.triangle, self.channels, self.dtype = scale, triangle, channels, dtype
        self.window = None if triangle is None else triangle - 1

    def _terms(self, longest: int) -> TableTerms:
        apart = np.arange(longest)
        weights = np.zeros(longest)
        if self.triangle is not None:
            weights = -np.log(np.maximum(1.0 - apart / self.triangle, np.finfo(float).tiny))
        return TableTerms(weights, first=0.5 / self.scale**2)


class GlobalAlignmentKernel(Kernel):
    r"""The sum over all alignments of two series, of products of a local kernel [Cuturi 2011], divided by the roots
    of its values for each series with itself.

    With :math:`\kappa = e^{-|x_i - y_j|^2 / (2 s^2)}` the local kernel is :math:`\kappa / (2 - \kappa)`, which makes
    the sum positive definite.

    Parameters
    ----------
    scale : float, default 1.0
        s. The median distance of samples times the root of the median length is a good start.
    triangle : int, optional
        Samples that are k apart in time have weight 1 - k / triangle, and those farther apart than that are not
        matched: definite as well, and faster. It must be larger than the differences of the lengths.
    channels, dtype : see `DTW`

    See Also
    --------
    DTW : The best alignment alone; its kernels are indefinite.
    SoftDTW : The same sum with squared differences as costs.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import GlobalAlignmentKernel
    >>> K = GlobalAlignmentKernel()([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [2.0, 2.0]])
    >>> K[0].round(3)
    array([1.   , 0.747, 0.002])
    >>> bool(np.linalg.eigvalsh(K)[0] > 0)
    True
    """

    differentiability = 0

    def __init__(
        self, scale: float = 1.0, triangle: int | None = None, channels: str = "last", dtype: Any = np.float64
    ):
        self.scale, self.triangle, self.channels, self.dtype = scale, triangle, channels, dtype

    accepts_patterns = True

    def patterns(self, X: Any, name: str = "X") -> Any:
        return patterns_of(self._alignments(), X, name)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.exp(-distances_of(self._alignments(), X, Y))

    def _diag(self, X: Any) -> np.ndarray:
        return np.ones(len(X))

    def _alignments(self) -> _Alignments:
        if self.triangle is not None and (int(self.triangle) != self.triangle or self.triangle < 1):
            raise ValueError(f"triangle must be None or a positive whole number of samples, got {self.triangle!r}.")
        scale = non_negative_number(self.scale, "scale", positive=True)
        triangle = None if self.triangle is None else int(self.triangle)
        return _Alignments(scale, triangle, self.channels, self.dtype)
