"""Sums of kernels over many centres at many points, by near and far field, to a tolerance that is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.base import Kernel
from .far_sum import FarSum
from .space import space_of, sum_by_matrix

_FEW_PAIRS = {1: 2e7, 2: 5e7, 3: 4e8}  # up to which all pairs are summed directly
_LEAST_TOLERANCE = 1e-14
_COLUMNS = 8  # at a time


class FastSum:
    """The sums f(x_j) = sum_i a_i phi(x_j, y_i) at targets x_j, prepared once for many vectors of coefficients a.

    Sources that are far from a target act on it through series of boxes, so the cost grows like the number of points
    and not like that of pairs. It needs a radial kernel in 1 to 3 dimensions (also sums, products and multiples of
    such, and other scales for the axes); for others, and where it pays, all pairs are summed directly.

    Parameters
    ----------
    kernel : Kernel
    centers : array (n, d)
        The y_i.
    targets : array (m, d), optional
        The x_j; left out, the centres.
    tolerance : float
        The largest error at the targets, relative to the largest magnitude of f there; for each column of coefficients
        by itself. Every sum is compared with direct sums at some targets, and made again with more terms if it fails.
        0: all pairs are summed.
    derivative : {0, 1}
        1: gradients of f at the targets.
    center_derivative : {0, 1}
        1: sums of b_i . grad phi(x_j, y_i), with the gradient in y_i, for vectors b_i.

    Attributes
    ----------
    method_ : str
        "fast", or "direct" if all pairs are summed.
    error_ : float
        The largest error measured in the last call, relative as ``tolerance`` is.

    See Also
    --------
    seminorm.functions.Expansion

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.functions.summation import FastSum
    >>> from seminorm.kernels import Gaussian
    >>> centers, targets = np.random.default_rng(0).random((2, 3000, 2))
    >>> s = FastSum(Gaussian(0.1), centers, targets, tolerance=1e-8)
    >>> f = s(np.ones(3000))
    >>> bool(np.allclose(f, Gaussian(0.1)(targets, centers).sum(axis=1), rtol=0, atol=1e-8 * f.max()))
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        centers: ArrayLike,
        targets: ArrayLike | None = None,
        tolerance: float = 1e-6,
        derivative: int = 0,
        center_derivative: int = 0,
    ):
        self.kernel, self.tolerance = kernel, tolerance
        self.derivative, self.center_derivative = derivative, center_derivative
        self.centers = _points("centers", centers)
        self.targets = self.centers if targets is None else _points("targets", targets)
        if self.targets.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"targets must have {self.centers.shape[1]} columns as centers have, got shape {self.targets.shape}."
            )
        if not (isinstance(tolerance, (int, float)) and (tolerance == 0 or _LEAST_TOLERANCE <= tolerance < 1)):
            raise ValueError(
                f"tolerance must lie between {_LEAST_TOLERANCE:g}, rounding, and 1, or be 0 for sums over all pairs, "
                f"got {tolerance!r}."
            )
        if derivative not in (0, 1) or center_derivative not in (0, 1):
            raise ValueError(f"derivative and center_derivative must be 0 or 1, got {derivative}, {center_derivative}.")
        self.error_ = 0.0
        self._space = space_of(kernel, self.centers, self.targets, derivative, center_derivative)
        self._far: FarSum | None = None
        if self._space is not None:
            self._refuse_singular()
            many = len(self.centers) * len(self.targets) > _FEW_PAIRS[self._space.dimension]
            if tolerance > 0 and many and self._space.size > 0:
                self._far = FarSum(self._space, tolerance)

    def __repr__(self) -> str:
        sizes = f"{len(self.centers)} centers at {len(self.targets)} targets"
        return f"<FastSum of {self.kernel!r}: {sizes}, {self.method_}, tolerance {self.tolerance:g}>"

    def __call__(self, coef: ArrayLike, background: np.ndarray | None = None) -> np.ndarray:
        """The sums for coefficients (n,) or (n, k): (m,) or (m, k).

        Gradients have an axis of length d after the first one: coefficients (n, d) or (n, d, k) with
        ``center_derivative``, results (m, d) or (m, d, k) with ``derivative``. ``background``, of the shape of the
        result, is a known part of f, such as a polynomial, that is added; the tolerance is relative to the whole.
        """
        d, n = self.centers.shape[1], len(self.centers)
        numbers = np.asarray(coef, dtype=float)
        shape = (n,) + (d,) * self.center_derivative
        if numbers.shape[: len(shape)] != shape or numbers.ndim > len(shape) + 1:
            raise ValueError(f"coef must have shape {shape} or {(*shape, 'k')}, got {numbers.shape}.")
        if not np.isfinite(numbers).all():
            raise ValueError("coef must be finite: it has entries that are NaN or infinite.")
        columns = numbers.reshape(n, d**self.center_derivative, -1)
        m, parts = len(self.targets), d**self.derivative
        result = np.empty((m, parts, columns.shape[2]))
        behind = np.zeros(result.shape) if background is None else np.reshape(background, result.shape)
        self.error_ = 0.0
        for first in range(0, columns.shape[2], _COLUMNS):
            some = slice(first, first + _COLUMNS)
            result[:, :, some] = self._sum(columns[:, :, some], behind[:, :, some])
        ends = numbers.shape[len(shape) :]
        return result.reshape((m,) + (d,) * self.derivative + ends)

    @property
    def method_(self) -> str:
        """How the sums are made."""
        return "direct" if self._far is None else "fast"

    def _refuse_singular(self) -> None:
        """Let the kernel say that its derivatives do not exist, if a target lies on a centre."""
        x, y = self.derivative, self.center_derivative
        if self._space is None or x + y <= self.kernel.for_dimension(self.centers.shape[1]).differentiability:
            return
        met = self._space.coincident()
        if met is not None:
            self.kernel.derivative(self.targets[met[0], None], self.centers[met[1], None], x=x, y=y)

    def _sum(self, coef: np.ndarray, background: np.ndarray) -> np.ndarray:
        """For coef (n, d^y, k): (m, d^x, k)."""
        if self._space is None:
            orders = self.derivative, self.center_derivative
            return background + sum_by_matrix(self.kernel, self.targets, self.centers, coef, *orders)
        coefficients = self._space.coefficients(coef)
        if self._far is None:
            return background + self._space.sum_directly(coefficients)
        result = self._far(coefficients, background)
        self.error_ = max(self.error_, self._far.error)
        return result


def _points(name: str, points: Any) -> np.ndarray:
    array = np.asarray(points, dtype=float)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (n, d) with n, d > 0, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: it has entries that are NaN or infinite.")
    return array
