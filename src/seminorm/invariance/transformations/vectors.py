"""Transformations of points: along directions and curves, rotations, scalings."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..._base.parameters import EqualByParameters
from .base import Quadrature
from .box import Additive, ParameterBox, on_circle

_STEP = 1e-3


class Shift(Additive):
    """x -> x + t u with |t| <= extent, along one or several directions u.

    Parameters
    ----------
    direction : array (d,) or (p, d)
        u, or p of them, each with its own t, in units of its length.
    extent : float or array (p,)
        The largest t; ``inf`` is allowed for minimisation, not for averages.
    n_nodes : int or sequence of int
        Number of Gauss-Legendre nodes of the average, along each direction.

    See Also
    --------
    CurveShift : Shifts along curves.

    Examples
    --------
    >>> from seminorm.invariance import Shift
    >>> Shift([1.0, 1.0], extent=2.0).apply([[0.0, 1.0]], [[-1.0], [2.0]])[:, 0]
    array([[-1.,  0.],
           [ 2.,  3.]])
    """

    def __init__(self, direction: ArrayLike, extent: ArrayLike = 1.0, n_nodes: int | tuple[int, ...] = 9):
        self.direction, self.extent, self.n_nodes = direction, extent, n_nodes

    @property
    def n_parameters(self) -> int:
        return len(self._vectors())

    def _vectors(self) -> np.ndarray:
        directions = np.atleast_2d(np.asarray(self.direction, dtype=float))
        if directions.ndim != 2 or directions.size == 0 or not np.isfinite(directions).all():
            raise ValueError(f"direction must be a finite vector (d,), or several (p, d), got {self.direction!r}.")
        return directions

    def _directions(self, dimension: int) -> np.ndarray:
        directions = self._vectors()
        if directions.shape[1] != dimension:
            raise ValueError(f"direction has {directions.shape[1]} entries, and X has {dimension} columns.")
        return directions


class CurveShift(ParameterBox):
    """x -> f(x, t) with |t| <= extent: along a curve through every point.

    Parameters
    ----------
    curve : callable
        ``curve(X, t)``, all points (n, d) moved by t, such as :class:`SineWave` and :class:`ParallelCurve`.
    extent : float
        The largest t.
    n_nodes : int
        Number of Gauss-Legendre nodes of the average.

    See Also
    --------
    Shift : Shifts along straight lines.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import CurveShift, SineWave
    >>> CurveShift(SineWave(frequency=np.pi, amplitude=0.5)).apply([[0.0, 0.0]], [[0.5]])[0]
    array([[0.5, 0.5]])
    """

    def __init__(self, curve: Callable[[np.ndarray, float], np.ndarray], extent: float = 1.0, n_nodes: int = 9):
        self.curve, self.extent, self.n_nodes = curve, extent, n_nodes

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        if not callable(self.curve):
            raise ValueError(f"curve must be a callable curve(X, t), got {self.curve!r}.")
        if not np.allclose(self._moved(X[:1], 0.0), X[:1], rtol=1e-12, atol=1e-12):
            raise ValueError(
                "curve(X, 0) must return X: a set of transformations contains the identity. For a curve c(t) in space "
                "use ParallelCurve(c), which moves x to x + c(t) - c(0)."
            )
        return np.array([self._moved(X, t) for t in parameters[:, 0]]).reshape(len(parameters), *X.shape)

    def _moved(self, X: np.ndarray, t: float) -> np.ndarray:
        moved = np.asarray(self.curve(X, float(t)), dtype=float)
        if moved.shape != X.shape:
            raise ValueError(f"curve(X, t) must have the shape {X.shape} of X, got {moved.shape}.")
        return moved

    def tangents(self, X: ArrayLike) -> np.ndarray:
        """Derivatives along the curve at t = 0, by central differences of fourth order (for smooth curves)."""
        rows = self.patterns(X)
        near, far = (self.apply(rows, [[-step], [step]]) for step in (_STEP, 2 * _STEP))
        return ((8 * (near[1] - near[0]) - (far[1] - far[0])) / (12 * _STEP))[:, None]


class SineWave(EqualByParameters, BaseEstimator):
    """The curve of a sine wave through every point: x1 moves by t, x2 by a (sin(f (x1 + t)) - sin(f x1)).

    Parameters
    ----------
    frequency : float
        f, in radians per unit of x1.
    amplitude : float
        a, the height of the wave.

    See Also
    --------
    ParallelCurve, CurveShift

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import SineWave
    >>> SineWave(frequency=np.pi, amplitude=0.5)(np.zeros((1, 2)), 0.5)
    array([[0.5, 0.5]])
    """

    def __init__(self, frequency: float = 1.0, amplitude: float = 1.0):
        self.frequency, self.amplitude = frequency, amplitude

    def __call__(self, X: np.ndarray, t: float) -> np.ndarray:
        """All points (n, d) moved by t."""
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

    See Also
    --------
    SineWave, CurveShift

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import ParallelCurve
    >>> ParallelCurve(lambda t: [t, t**2])(np.zeros((1, 2)), 0.5)
    array([[0.5 , 0.25]])
    """

    def __init__(self, curve: Callable[[float], ArrayLike]):
        self.curve = curve

    def __call__(self, X: np.ndarray, t: float) -> np.ndarray:
        """All points (n, d) moved by t."""
        return X + (np.asarray(self.curve(t), dtype=float) - np.asarray(self.curve(0.0), dtype=float))


class Rotation(ParameterBox):
    """Rotations in a plane by angles up to the extent.

    Parameters
    ----------
    extent : float
        The largest angle. pi is the full circle, a group; equal steps are then the invariant measure of the rotations
        by multiples of 2 pi / n_nodes, and of all rotations up to the error of the rule.
    plane : pair of int; the two columns that turn, from the first towards the second
    center : float or array (d,)
        The fixed point.
    n_nodes : int
        Number of nodes of the average: equal steps around the full circle, Gauss-Legendre on less.

    See Also
    --------
    ImageRotation : Rotations of images.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Rotation
    >>> Rotation().apply([[1.0, 0.0]], [[np.pi / 2]])[0].round(12)
    array([[0., 1.]])
    """

    is_affine = True

    def __init__(
        self, extent: float = np.pi, plane: tuple[int, int] = (0, 1), center: ArrayLike = 0.0, n_nodes: int = 32
    ):
        self.extent, self.plane, self.center, self.n_nodes = extent, plane, center, n_nodes

    @property
    def is_group(self) -> bool:
        """Whether the extent is the full circle."""
        return bool(is_full_turn(self.extent[0]))

    @property
    def is_isometric(self) -> bool:
        return not np.any(self.center)

    @property
    def linear_size(self) -> int | None:
        return max(self.plane) + 1 if self.is_isometric else None

    def _rule(self, extent: float, n_nodes: int) -> Quadrature:
        return on_circle(n_nodes) if is_full_turn(extent) else super()._rule(extent, n_nodes)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        first, second, away = self._in_plane(X)
        cosine, sine = np.cos(parameters), np.sin(parameters)
        turned = np.repeat(X[None], len(parameters), axis=0)
        # differences to X, so that what does not turn keeps its bits
        turned[:, :, first] += (cosine - 1) * away[0] - sine * away[1]
        turned[:, :, second] += sine * away[0] + (cosine - 1) * away[1]
        return turned

    def tangents(self, X: ArrayLike) -> np.ndarray:
        rows = self.patterns(X)
        first, second, away = self._in_plane(rows)
        result = np.zeros((len(rows), 1, rows.shape[1]))
        result[:, 0, first], result[:, 0, second] = -away[1], away[0]
        return result

    def _in_plane(self, X: np.ndarray) -> tuple[int, int, np.ndarray]:
        plane = np.asarray(self.plane)
        if plane.shape != (2,) or plane.dtype.kind not in "iu" or plane[0] == plane[1] or plane.min() < 0:
            raise ValueError(f"plane must be two different column numbers, got {self.plane!r}.")
        if plane.max() >= X.shape[1]:
            raise ValueError(f"plane names column {plane.max()}, and X has {X.shape[1]} columns.")
        center = np.asarray(self.center, dtype=float)
        if center.shape not in ((), (X.shape[1],)) or not np.isfinite(center).all():
            raise ValueError(f"center must be a finite number or a point ({X.shape[1]},), got {self.center!r}.")
        away = X[:, plane] - np.broadcast_to(center, X.shape[1])[plane]
        return int(plane[0]), int(plane[1]), away.T


def is_full_turn(extent: float) -> bool:
    """Whether angles up to the extent are all angles."""
    return extent >= np.pi * (1 - 1e-12)


class Scaling(ParameterBox):
    """x -> exp(t) x with |t| <= extent.

    Parameters
    ----------
    extent : float
        The logarithm of the largest factor.
    n_nodes : int
        Number of Gauss-Legendre nodes of the average.

    See Also
    --------
    Amplitude : The same for signals.

    Examples
    --------
    >>> from seminorm.invariance import Scaling
    >>> Scaling().apply([[1.0, 3.0]], [[0.6931]])[0].round(3)
    array([[2., 6.]])
    """

    is_affine = True

    def __init__(self, extent: float = 0.5, n_nodes: int = 9):
        self.extent, self.n_nodes = extent, n_nodes

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        return np.exp(parameters)[:, :, None] * X

    def tangents(self, X: ArrayLike) -> np.ndarray:
        return self.patterns(X)[:, None].copy()
