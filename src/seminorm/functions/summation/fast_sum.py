"""Sums of kernels over many centres at many points, by near and far field, to a tolerance that is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._base.warnings import warn_user
from ...kernels.base import Kernel
from ...kernels.radial_parts import RadialPart, radial_part
from .boxes import SortedPoints
from .direct import direct_sum, magnitude, native_sum
from .levels import Request
from .plan import Plan

_SAMPLES = 128  # targets where the error is measured
_SAFETY = 2.0  # the largest error over all targets in terms of the largest over the samples
_ROUNDS = 6
_FEW_PAIRS = 2_000_000  # up to which all pairs are summed directly
_LEAST_TOLERANCE = 1e-14
_COLUMNS = 8  # at a time
_MEAN = {1: 1.0, 2: 2.5, 3: 5.0}  # errors of single sources in terms of their effect on a sum, roughly


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
        if not (isinstance(tolerance, (int, float)) and _LEAST_TOLERANCE <= tolerance < 1):
            raise ValueError(f"tolerance must lie between {_LEAST_TOLERANCE:g}, rounding, and 1, got {tolerance!r}.")
        if derivative not in (0, 1) or center_derivative not in (0, 1):
            raise ValueError(f"derivative and center_derivative must be 0 or 1, got {derivative}, {center_derivative}.")
        self.error_ = 0.0
        self._plan: Plan | None = None
        self._prepare()

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
        return "direct" if self._points is None else "fast"

    def _prepare(self) -> None:
        n, m, d = len(self.centers), len(self.targets), self.centers.shape[1]
        self._part = _fitting_part(self.kernel, d, self.derivative + self.center_derivative)
        self._points: SortedPoints | None = None
        if self._part is None:
            return
        both = [points @ self._part.matrix for points in (self.centers, self.targets)]
        low, high = (extreme([extreme(p, axis=0) for p in both], axis=0) for extreme in (np.min, np.max))
        middle = 0.5 * (low + high)
        self._size = float(np.linalg.norm(high - low))
        forms = [self._part.form(k, max(self._size**2, 1e-300)) for k in range(self._orders + 1)]
        if any(form is None for form in forms):
            self._part = None
            return
        self._forms = forms
        self._sources, self._places = (_in_space(points - middle) for points in both)
        if n * m <= _FEW_PAIRS or self._size == 0.0:
            return
        self._points = SortedPoints(both[0] - middle, both[1] - middle)
        self._sorted = [
            np.ascontiguousarray(points[order])
            for points, order in zip((self._sources, self._places), self._points.orders, strict=True)
        ]

    @property
    def _orders(self) -> int:
        return self.derivative + self.center_derivative

    def _sum(self, coefficients: np.ndarray, background: np.ndarray) -> np.ndarray:
        """For coefficients (n, d^c, k): (m, d^t, k)."""
        if self._part is None:
            return background + direct_sum(
                self.kernel, self.targets, self.centers, coefficients, self.derivative, self.center_derivative
            )
        numbers = _to_space(coefficients, self._part.matrix, self.center_derivative)
        if self._points is None:
            return background + self._from_space(self._directly(np.arange(len(self.targets)), numbers))
        chosen = np.sort(np.random.default_rng(0).permutation(len(self.targets))[:_SAMPLES])
        exact = self._directly(chosen, numbers)
        return self._to_tolerance(numbers, background, chosen, exact)

    def _to_tolerance(self, numbers, background, chosen, exact) -> np.ndarray:
        size = np.sqrt(np.square(numbers).sum(axis=(0, 2)))  # of the coefficients of each column
        whole = background[chosen] + self._from_space(exact)
        largest = np.abs(whole).max(axis=(0, 1))
        used = size > 0
        if not used.any():
            return background.copy()
        if self._plan is None:
            scale = magnitude(self._part.profile, np.geomspace(1e-3, 1.0, 200) * self._size, self._orders).max()
            typical = np.min(np.where(largest > 0, largest, np.inf)[used] / size[used])
            self._make_plan(_MEAN[self._part.matrix.shape[1]] * self.tolerance * min(scale, typical))
        for _ in range(_ROUNDS):
            found = self._apply(numbers)
            result = background + self._from_space(found)
            largest = np.abs(result).max(axis=(0, 1))
            error = np.abs(self._from_space(found[chosen] - exact)).max(axis=(0, 1))
            allowed = self.tolerance * largest
            excess = float((_SAFETY * error / np.where(allowed > 0, allowed, np.inf)).max())
            self.error_ = max(self.error_, float((error / np.where(largest > 0, largest, np.inf)).max()))
            if excess <= 1.0:
                return result
            if (error <= np.maximum(self._rounding(numbers, chosen), allowed / _SAFETY)).all():
                break
            self._make_plan(self._plan.request.tolerance * max(0.5 / excess, 1e-4))
        warn_user(
            f"tolerance={self.tolerance:g} is not reached: the measured error is {self.error_:.1e}. The terms of the sum "
            "cancel, and rounding them leaves no more digits."
        )
        return result

    def _rounding(self, numbers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """What rounding does to the terms of the sum, for each column."""
        some = chosen[:: max(1, len(chosen) // 8)]
        distances = np.linalg.norm(self._places[some, None] - self._sources, axis=2)
        sizes = np.sqrt(np.square(numbers).sum(axis=2))
        return 4.0 * np.finfo(float).eps * (magnitude(self._part.profile, distances, self._orders) @ sizes).max(axis=0)

    def _make_plan(self, tolerance: float) -> None:
        part = self._part
        distances = np.geomspace(1e-4, 1.0, 4000) * self._size
        beyond = np.maximum.accumulate(magnitude(part.profile, distances, self._orders)[::-1])[::-1]
        inside = np.flatnonzero(beyond > 0.1 * tolerance)
        reach = np.inf if inside.max(initial=-1) == len(distances) - 1 else distances[inside.max(initial=0) + 1]
        request = Request(
            part.profile, part.matrix.shape[1], tolerance, self.center_derivative, self.derivative, part.knots,
            2.0 * self._size, float(reach),
        )  # fmt: skip
        self._plan = Plan(request, self._points, *self._sorted, self._forms)

    def _apply(self, numbers: np.ndarray) -> np.ndarray:
        """By the plan, (m, k, parts)."""
        out = np.zeros((len(self.targets), numbers.shape[1], 3 if self.derivative else 1))
        self._plan.apply(np.ascontiguousarray(numbers[self._points.orders[0]]), out)
        result = np.empty_like(out)
        result[self._points.orders[1]] = out
        return result

    def _directly(self, chosen: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        parts = 3 if self.derivative else 1
        return native_sum(self._forms, self._places[chosen], self._sources, numbers, parts)

    def _from_space(self, found: np.ndarray) -> np.ndarray:
        """(m, k, parts) -> (m, d^t, k): gradients in the coordinates of the points."""
        if not self.derivative:
            return found.transpose(0, 2, 1)
        matrix = self._part.matrix
        return np.einsum("mkp,dp->mdk", found[:, :, : matrix.shape[1]], matrix)


def _points(name: str, points: Any) -> np.ndarray:
    array = np.asarray(points, dtype=float)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (n, d) with n, d > 0, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: it has entries that are NaN or infinite.")
    return array


def _fitting_part(kernel: Kernel, dimension: int, orders: int) -> RadialPart | None:
    """The radial part, if it is one of up to three coordinates with the derivatives wanted."""
    part = radial_part(kernel, dimension)
    if part is None or part.matrix.shape[1] > 3:
        return None
    try:
        part.profile(np.ones(1), orders)
    except NotImplementedError:
        return None
    return part


def _in_space(points: np.ndarray) -> np.ndarray:
    """Points with three coordinates."""
    result = np.zeros((len(points), 3))
    result[:, : points.shape[1]] = points
    return result


def _to_space(coefficients: np.ndarray, matrix: np.ndarray, gradients: int) -> np.ndarray:
    """(n, d^c, k) -> (n, k, parts)."""
    if not gradients:
        return np.ascontiguousarray(coefficients.transpose(0, 2, 1))
    result = np.zeros((len(coefficients), coefficients.shape[2], 3))
    result[:, :, : matrix.shape[1]] = np.einsum("ndk,dp->nkp", coefficients, matrix)
    return result
