"""Kernels in log-polar coordinates, in which rotation and dilation are translations (seed 003, end of section 5)."""

from __future__ import annotations

import math

import numpy as np

from .base import DILATION, ROTATION, TRANSLATION, Kernel
from .dot_product import PowerSeries
from .line import Periodic, PeriodicGaussian
from .positive_radial import Gaussian


class LogPolar(Kernel):
    """radial(log |x - c|, log |y - c|) * angular(direction of x - c, direction of y - c).

    Turning the data about the centre c, or dilating them from it, shifts their log-polar coordinates; a kernel of
    differences of these coordinates does not notice. The kernel is not defined at the centre itself.

    Parameters
    ----------
    radial : Kernel, optional
        A positive definite, translation-invariant kernel of log |x - c|; ``Gaussian()`` if left out. A scale of 0.7 in
        it means a factor of 2 in distance.
    angular : Kernel, optional
        In the plane a kernel of the angle with the period 2 pi (one that is made of ``Periodic`` kernels),
        ``PeriodicGaussian()`` if left out. In all dimensions a kernel of unit vectors, ``PowerSeries("exp")`` if left
        out.
    centre : sequence of float, optional
        c; the origin if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels.log_polar import LogPolar
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> turned_and_dilated = 5.0 * X @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> bool(np.allclose(LogPolar()(turned_and_dilated), LogPolar()(X)))
    True
    """

    def __init__(self, radial: Kernel | None = None, angular: Kernel | None = None, centre=None):
        self.radial = radial
        self.angular = angular
        self.centre = centre

    @classmethod
    def examples(cls):
        return [cls(), cls(Gaussian(0.5), Gaussian(0.8))]

    @property
    def invariances(self):
        """Rotation and dilation are about the origin, so a kernel about another centre states neither."""
        if self.centre is not None and np.any(self.centre):
            return frozenset()
        if self.angular is None:
            return frozenset({DILATION, ROTATION})
        turns = TRANSLATION if _is_of_angle(self.angular) else ROTATION
        return frozenset({DILATION, ROTATION} if turns in self.angular.invariances else {DILATION})

    @property
    def dilation_degree(self):
        return 0 if DILATION in self.invariances else None

    @property
    def is_indefinite(self):
        return any(part is not None and part.is_indefinite for part in (self.radial, self.angular))

    @property
    def smoothness(self):
        return 0

    def for_dimension(self, dimension):
        radial = Gaussian() if self.radial is None else self.radial
        angular = self.angular
        if angular is None:
            angular = PeriodicGaussian() if dimension == 2 else PowerSeries("exp")
        for name, part in (("radial", radial), ("angular", angular)):
            _refuse_conditional(name, part)
        if TRANSLATION not in radial.invariances:
            raise ValueError(
                f"radial must be translation-invariant, or dilation would change the kernel, got {radial!r}: use "
                "Gaussian, Laplacian, Matern or BSpline."
            )
        _refuse_wrong_period(angular, dimension)
        angular = angular.for_dimension(1 if _is_of_angle(angular) else dimension)
        return LogPolar(radial.for_dimension(1), angular, self._settled_centre(dimension))

    def _settled_centre(self, dimension: int) -> np.ndarray | None:
        if self.centre is None:
            return None
        centre = np.asarray(self.centre, dtype=float)
        if centre.shape != (dimension,) or not np.isfinite(centre).all():
            raise ValueError(f"centre must be {dimension} finite coordinates, one a column of X, got {self.centre!r}.")
        return centre

    def _coordinates(self, X: np.ndarray | None, name: str = "X"):
        """log |x - c| as a column, and angles (for a periodic angular kernel) or unit vectors."""
        if X is None:
            return None, None
        offset = X if self.centre is None else X - self.centre
        radius = np.linalg.norm(offset, axis=1)
        at_centre = np.flatnonzero(radius == 0)
        if len(at_centre):
            raise ValueError(
                f"row {at_centre[0]} of {name} is the centre, which has no log-polar coordinates"
                + (f" ({len(at_centre)} such rows)" if len(at_centre) > 1 else "")
                + ": leave it out, or move the centre."
            )
        if _is_of_angle(self.angular):
            return np.log(radius)[:, None], np.arctan2(offset[:, 1], offset[:, 0])[:, None]
        return np.log(radius)[:, None], offset / radius[:, None]

    def _matrix(self, X, Y):
        radius, direction = self._coordinates(X)
        other_radius, other_direction = self._coordinates(Y, "Y")
        matrix = self.radial._matrix(radius, other_radius)
        matrix *= self.angular._matrix(direction, other_direction)
        return matrix

    def _diag(self, X):
        radius, direction = self._coordinates(X)
        return self.radial._diag(radius) * self.angular._diag(direction)


def _refuse_conditional(name: str, part: Kernel):
    if part.order > 0:
        raise ValueError(
            f"{name} must be positive definite (order 0), as in any product of kernels, and {part!r} has order "
            f"{part.order}: use its twin (seminorm.nullspace.Twin)."
        )


def _is_of_angle(angular: Kernel) -> bool:
    """Whether the kernel takes angles: it is, or is composed of, kernels on the circle."""
    return any(isinstance(part, Periodic) for part in (angular, *angular.get_params().values()))


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
