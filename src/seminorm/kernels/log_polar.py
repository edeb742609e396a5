"""Kernels in log-polar coordinates, in which rotation and dilation are translations [Smola et al. 1998, 5]."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import DILATION, ROTATION, TRANSLATION, Kernel
from .dot_product import PowerSeries
from .line import PeriodicGaussian
from .positive_radial import Gaussian


class LogPolar(Kernel):
    """radial(log |x - c|, log |y - c|) * angular(direction of x - c, direction of y - c).

    It does not change if the data turn about the centre c or dilate from it; it is not defined at the centre itself.

    Parameters
    ----------
    radial : Kernel, optional
        Positive definite and translation-invariant, of log |x - c| (0.7 is a factor of 2); ``Gaussian()`` if left out.
    angular : Kernel, optional
        In the plane of the angle, with the period 2 pi, ``PeriodicGaussian()`` if left out; in all dimensions of unit
        vectors, ``PowerSeries("exp")`` if left out.
    center : sequence of float, optional
        c, the origin if left out.

    See Also
    --------
    PeriodicGaussian

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import LogPolar
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> bool(np.allclose(LogPolar()(5.0 * X @ [[0.0, 1.0], [-1.0, 0.0]]), LogPolar()(X)))  # dilated and turned
    True
    """

    def __init__(self, radial: Kernel | None = None, angular: Kernel | None = None, center: ArrayLike | None = None):
        self.radial, self.angular = radial, angular
        self.center: Any = center

    @property
    def invariances(self) -> frozenset[str]:
        """Rotation and dilation are about the origin, so a kernel about another centre states neither."""
        if self.center is not None and np.any(self.center):
            return frozenset()
        if self.angular is None:
            return frozenset({DILATION, ROTATION})
        turns = TRANSLATION if _is_of_angle(self.angular) else ROTATION
        return frozenset({DILATION, ROTATION} if turns in self.angular.invariances else {DILATION})

    @property
    def dilation_degree(self) -> float | None:
        return 0 if DILATION in self.invariances else None

    @property
    def is_indefinite(self) -> bool:
        return any(part is not None and part.is_indefinite for part in (self.radial, self.angular))

    differentiability = 0

    def for_dimension(self, dimension: int) -> Kernel:
        radial = Gaussian() if self.radial is None else self.radial
        angular = self.angular
        if angular is None:
            angular = PeriodicGaussian() if dimension == 2 else PowerSeries("exp")
        for name, part in (("radial", radial), ("angular", angular)):
            if part.cpd_order > 0:
                raise ValueError(
                    f"{name} must be positive definite (order 0), as in any product of kernels, and {part!r} has order "
                    f"{part.cpd_order}: use its twin (seminorm.nullspace.Twin)."
                )
        if TRANSLATION not in radial.invariances:
            raise ValueError(
                f"radial must be translation-invariant, or dilation would change the kernel, got {radial!r}: use "
                "Gaussian, Laplacian, Matern or BSpline."
            )
        _refuse_wrong_period(angular, dimension)
        angular = angular.for_dimension(1 if _is_of_angle(angular) else dimension)
        return LogPolar(radial.for_dimension(1), angular, self._settled_center(dimension))

    def _settled_center(self, dimension: int) -> np.ndarray | None:
        if self.center is None:
            return None
        center = np.asarray(self.center, dtype=float)
        if center.shape != (dimension,) or not np.isfinite(center).all():
            raise ValueError(f"center must be {dimension} finite coordinates, one per column, got {self.center!r}.")
        return center

    def _settled(self) -> tuple[Kernel, Kernel]:
        if self.radial is None or self.angular is None:
            raise ValueError("the parts of LogPolar depend on the dimension: use LogPolar(...).for_dimension(d).")
        return self.radial, self.angular

    def _coordinates(self, X: np.ndarray, name: str = "X") -> tuple[np.ndarray, np.ndarray]:
        """log |x - c| as a column, and angles (for a periodic angular kernel) or unit vectors."""
        offset = X if self.center is None else X - np.asarray(self.center, dtype=float)
        radius = np.linalg.norm(offset, axis=1)
        at_center = np.flatnonzero(radius == 0)
        if len(at_center):
            raise ValueError(
                f"row {at_center[0]} of {name} is the centre, which has no log-polar coordinates"
                + (f" ({len(at_center)} such rows)" if len(at_center) > 1 else "")
                + ": leave it out, or move the centre."
            )
        if _is_of_angle(self._settled()[1]):
            return np.log(radius)[:, None], np.arctan2(offset[:, 1], offset[:, 0])[:, None]
        return np.log(radius)[:, None], offset / radius[:, None]

    def _matrix(self, X, Y):
        radial, angular = self._settled()
        radius, direction = self._coordinates(X)
        other_radius, other_direction = (None, None) if Y is None else self._coordinates(Y, "Y")
        matrix = radial._matrix(radius, other_radius)
        matrix *= angular._matrix(direction, other_direction)
        return matrix

    def _diag(self, X):
        radial, angular = self._settled()
        radius, direction = self._coordinates(X)
        return radial._diag(radius) * angular._diag(direction)


def _is_of_angle(angular: Kernel) -> bool:
    """Whether the kernel takes angles: it is, or is composed of, kernels on the circle."""
    parts = (part for part in (angular, *angular.get_params().values()) if isinstance(part, Kernel))
    return any(part.period is not None for part in parts)


def _refuse_wrong_period(angular: Kernel, dimension: int):
    if not _is_of_angle(angular):
        return
    if dimension != 2:
        raise ValueError(
            f"angular takes angles, which belong to the plane, and X has {dimension} columns: {angular!r}. Use a "
            'kernel of unit vectors such as PowerSeries("exp"), Polynomial or Gaussian.'
        )
    angles = np.array([[0.0], [0.4], [1.3], [2.9]])
    once, again = angular(angles[:1], angles), angular(angles[:1], angles + 2 * math.pi)
    if not np.allclose(once, again, atol=1e-9 * np.abs(once).max()):
        raise ValueError(f"angular must have the period 2 pi of the angle, got {angular!r}.")
