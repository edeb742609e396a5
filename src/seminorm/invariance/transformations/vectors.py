"""Transformations of points: along directions and curves, rotations, scalings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator

from ..._equality import EqualByParameters
from .base import Quadrature
from .box import Box
from .rules import on_circle

_STEP = 1e-3


class Shift(Box):
    """x -> x + t u with |t| <= extent, along one or several directions u.

    Parameters
    ----------
    direction : array (d,) or (p, d)
        The direction, in which t is measured, so its length counts; or p of them, each with its own t.
    extent : float or array (p,)
        The largest t. ``inf`` is allowed for minimisation, not for averages.
    n_nodes : int or sequence of int
        Gauss-Legendre nodes of the average, along each direction.

    Examples
    --------
    >>> from seminorm.invariance import Shift
    >>> Shift([1.0, 1.0], extent=2.0).apply([[0.0, 1.0]], [[-1.0], [2.0]])[:, 0]
    array([[-1.,  0.],
           [ 2.,  3.]])
    """

    def __init__(self, direction, extent=1.0, n_nodes=9):
        self.direction = direction
        self.extent = extent
        self.n_nodes = n_nodes

    is_affine = property(lambda self: True)

    @property
    def n_parameters(self) -> int:
        return len(self._directions())

    def _directions(self) -> np.ndarray:
        directions = np.atleast_2d(np.asarray(self.direction, dtype=float))
        if directions.ndim != 2 or directions.size == 0 or not np.isfinite(directions).all():
            raise ValueError(f"direction must be a finite vector (d,), or several (p, d), got {self.direction!r}.")
        return directions

    def _apply(self, X, parameters):
        return X + (parameters @ self._fitting(X))[:, None, :]

    def tangents(self, X):
        X = self.patterns(X)
        return np.repeat(self._fitting(X)[None], len(X), axis=0)

    def _fitting(self, X) -> np.ndarray:
        directions = self._directions()
        if directions.shape[1] != X.shape[1]:
            raise ValueError(f"direction has {directions.shape[1]} entries, and X has {X.shape[1]} columns.")
        return directions


class CurveShift(Box):
    """x -> f(x, t) with |t| <= extent: along a curve through every point.

    Parameters
    ----------
    curve : callable
        ``curve(X, t)`` returns all points (n, d) moved by the number t, with ``curve(X, 0)`` equal to X.
        :class:`SineWave` and :class:`ParallelCurve` are two of them.
    extent : float
        The largest t.
    n_nodes : int
        Gauss-Legendre nodes of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import CurveShift, SineWave
    >>> wave = CurveShift(SineWave(frequency=np.pi, amplitude=0.5), extent=1.0)
    >>> wave.apply([[0.0, 0.0]], [[0.5]])[0]
    array([[0.5, 0.5]])
    """

    def __init__(self, curve: Callable, extent=1.0, n_nodes=9):
        self.curve = curve
        self.extent = extent
        self.n_nodes = n_nodes

    def _apply(self, X, parameters):
        if not callable(self.curve):
            raise ValueError(f"curve must be a callable curve(X, t), got {self.curve!r}.")
        if not np.allclose(self._moved(X[:1], 0.0), X[:1], rtol=1e-12, atol=1e-12):
            raise ValueError(
                "curve(X, 0) must return X: a set of transformations contains the identity. For a curve c(t) in space "
                "use ParallelCurve(c), which moves x to x + c(t) - c(0)."
            )
        return np.array([self._moved(X, t) for t in parameters[:, 0]]).reshape(len(parameters), *X.shape)

    def _moved(self, X, t) -> np.ndarray:
        moved = np.asarray(self.curve(X, float(t)), dtype=float)
        if moved.shape != X.shape:
            raise ValueError(f"curve(X, t) must have the shape {X.shape} of X, got {moved.shape}.")
        return moved

    def tangents(self, X):
        """Derivatives along the curve at t = 0, by central differences of fourth order (for smooth curves)."""
        X = self.patterns(X)
        near, far = (self.apply(X, [[-step], [step]]) for step in (_STEP, 2 * _STEP))
        return ((8 * (near[1] - near[0]) - (far[1] - far[0])) / (12 * _STEP))[:, None]


class SineWave(EqualByParameters, BaseEstimator):
    """The curve of a sine wave through every point: x1 moves by t, x2 by a (sin(f (x1 + t)) - sin(f x1)).

    Parameters
    ----------
    frequency : float
        f, in radians for each unit of x1.
    amplitude : float
        a, the height of the wave.
    """

    def __init__(self, frequency: float = 1.0, amplitude: float = 1.0):
        self.frequency = frequency
        self.amplitude = amplitude

    def __call__(self, X, t):
        moved = X.copy()
        moved[:, 0] += t
        moved[:, 1] += self.amplitude * (np.sin(self.frequency * moved[:, 0]) - np.sin(self.frequency * X[:, 0]))
        return moved


class ParallelCurve(EqualByParameters, BaseEstimator):
    """The same curve for all points: x moves to x + c(t) - c(0).

    Parameters
    ----------
    curve : callable
        c(t), a point (d,).
    """

    def __init__(self, curve: Callable):
        self.curve = curve

    def __call__(self, X, t):
        return X + (np.asarray(self.curve(t), dtype=float) - np.asarray(self.curve(0.0), dtype=float))


class Rotation(Box):
    """Rotations in a plane by angles up to the extent.

    Parameters
    ----------
    extent : float
        The largest angle. pi is the full circle, a group: the nodes are then equal steps, which is the invariant
        measure of the rotations by multiples of 2 pi / n_nodes, and of all rotations up to the error of the rule.
    plane : pair of int
        The two columns that turn, from the first towards the second.
    center : float or array (d,)
        The fixed point.
    n_nodes : int
        Nodes of the average: equal steps around the full circle, Gauss-Legendre on less.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Rotation
    >>> Rotation().apply([[1.0, 0.0]], [[np.pi / 2]])[0].round(12)
    array([[0., 1.]])
    """

    def __init__(self, extent=np.pi, plane=(0, 1), center=0.0, n_nodes=32):
        self.extent = extent
        self.plane = plane
        self.center = center
        self.n_nodes = n_nodes

    is_affine = property(lambda self: True)

    @property
    def is_group(self):
        return bool(is_full_turn(self.extent[0]))

    @property
    def is_isometric(self):
        return not np.any(self.center)

    @property
    def linear_size(self) -> int | None:
        """Least number of columns of the patterns; None if the maps are not linear."""
        return max(self.plane) + 1 if self.is_isometric else None

    def _rule(self, extent: float, n_nodes: int) -> Quadrature:
        return on_circle(n_nodes) if is_full_turn(extent) else super()._rule(extent, n_nodes)

    def _apply(self, X, parameters):
        first, second, away = self._in_plane(X)
        cosine, sine = np.cos(parameters), np.sin(parameters)
        turned = np.repeat(X[None], len(parameters), axis=0)
        # differences to X, so that what does not turn keeps its bits
        turned[:, :, first] += (cosine - 1) * away[0] - sine * away[1]
        turned[:, :, second] += sine * away[0] + (cosine - 1) * away[1]
        return turned

    def tangents(self, X):
        X = self.patterns(X)
        first, second, away = self._in_plane(X)
        result = np.zeros((len(X), 1, X.shape[1]))
        result[:, 0, first], result[:, 0, second] = -away[1], away[0]
        return result

    def _in_plane(self, X):
        plane = np.asarray(self.plane)
        if plane.shape != (2,) or plane.dtype.kind not in "iu" or plane[0] == plane[1] or plane.min() < 0:
            raise ValueError(f"plane must be two different column numbers, got {self.plane!r}.")
        if plane.max() >= X.shape[1]:
            raise ValueError(f"plane names column {plane.max()}, and X has {X.shape[1]} columns.")
        center = np.asarray(self.center, dtype=float)
        if center.shape not in ((), (X.shape[1],)) or not np.isfinite(center).all():
            raise ValueError(f"center must be a finite number or a point ({X.shape[1]},), got {self.center!r}.")
        away = X[:, plane] - np.broadcast_to(center, X.shape[1])[plane]
        return plane[0], plane[1], away.T


def is_full_turn(extent: float) -> bool:
    return extent >= np.pi * (1 - 1e-12)


class Scaling(Box):
    """x -> exp(t) x with |t| <= extent.

    Parameters
    ----------
    extent : float
        The logarithm of the largest factor.
    n_nodes : int
        Gauss-Legendre nodes of the average.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Scaling
    >>> Scaling(np.log(2.0)).apply([[1.0, 3.0]], [[np.log(2.0)]])[0]
    array([[2., 6.]])
    """

    def __init__(self, extent=0.5, n_nodes=9):
        self.extent = extent
        self.n_nodes = n_nodes

    is_affine = property(lambda self: True)

    def _apply(self, X, parameters):
        return np.exp(parameters)[:, :, None] * X

    def tangents(self, X):
        return self.patterns(X)[:, None].copy()
