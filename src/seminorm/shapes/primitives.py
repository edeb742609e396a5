"""Simple shapes whose functions are exact distances: balls, boxes, half-spaces, capsules and tori."""

import numpy as np
from numpy.typing import ArrayLike

from .implicit import Implicit
from .meshing import as_bounds


class _Primitive(Implicit):
    lipschitz = 1.0
    exact = True, True

    def __repr__(self) -> str:
        parameters = (f"{name}={np.asarray(getattr(self, name)).tolist()}" for name in self.names)
        return f"{type(self).__name__}({', '.join(parameters)})"

    names: tuple[str, ...] = ()


class Plane(_Primitive):
    """The half-space behind a plane (in the plane, a line).

    Parameters
    ----------
    point : array (d,)
        Any point of the plane.
    normal : array (d,)
        Points outwards; its length does not matter.

    Examples
    --------
    >>> from seminorm.shapes import Plane
    >>> Plane([0, 0, 1], [0, 0, 2])([[5, 5, 3], [0, 0, 0]])
    array([ 2., -1.])

    See Also
    --------
    Box, Sphere, Capsule, Torus
    """

    names = ("point", "normal")

    def __init__(self, point: ArrayLike, normal: ArrayLike):
        self.point, self.normal = _vector(point, "point"), _direction(normal, "normal")
        self.dimension = _same_dimension(point=self.point, normal=self.normal)

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        n, d = X.shape
        jet = ((X - self.point) @ self.normal, np.tile(self.normal, (n, 1)), np.zeros((n, d, d)))
        return jet[: order + 1]


class Capsule(_Primitive):
    """All points within a radius of a segment.

    Parameters
    ----------
    start, end : array (d,)
        The ends of the segment.
    radius : float

    Examples
    --------
    >>> from seminorm.shapes import Capsule
    >>> Capsule([0, 0, 0], [4, 0, 0], 1)([[2, 3, 0], [6, 0, 0]])
    array([2., 1.])

    See Also
    --------
    Box, Sphere, Plane, Torus
    """

    names = ("start", "end", "radius")

    def __init__(self, start: ArrayLike, end: ArrayLike, radius: float):
        self.start, self.end, self.radius = _vector(start, "start"), _vector(end, "end"), _positive(radius, "radius")
        self.dimension = _same_dimension(start=self.start, end=self.end)
        self.bounds = np.minimum(self.start, self.end) - radius, np.maximum(self.start, self.end) + radius

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        axis = self.end - self.start
        length = np.linalg.norm(axis)
        axis = axis / length if length > 0 else axis
        along = (X - self.start) @ axis
        between = (along > 0) & (along < length)
        away = X - self.start - np.clip(along, 0.0, length)[:, None] * axis
        straight = np.where(between[:, None, None], np.outer(axis, axis), 0.0) if order > 1 else None
        return _distance_jet(away, straight, order, self.radius)


class Sphere(_Primitive):
    """A ball; in the plane a disc.

    Parameters
    ----------
    center : array (d,)
    radius : float

    Examples
    --------
    >>> from seminorm.shapes import Sphere
    >>> ball = Sphere([0, 0, 0], 2)
    >>> ball([[0, 0, 5]]), ball.gradient([[0, 0, 5]])
    (array([3.]), array([[0., 0., 1.]]))

    See Also
    --------
    Box, Capsule, Plane, Torus
    """

    names = ("center", "radius")

    def __init__(self, center: ArrayLike, radius: float):
        self.center, self.radius = _vector(center, "center"), _positive(radius, "radius")
        self.dimension = len(self.center)
        self.bounds = self.center - radius, self.center + radius

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        return _distance_jet(X - self.center, 0.0, order, self.radius)


class Torus(_Primitive):
    """A ring around an axis: all points within ``minor`` of a circle of radius ``major``.

    Parameters
    ----------
    center, axis : array (3,)
        Of the circle.
    major, minor : float
        The two radii.

    Examples
    --------
    >>> from seminorm.shapes import Torus
    >>> Torus(major=2, minor=0.5)([[2, 0, 0], [0, 0, 0]])
    array([-0.5,  1.5])

    See Also
    --------
    Box, Capsule, Plane, Sphere
    """

    names = ("center", "axis", "major", "minor")

    def __init__(
        self,
        center: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike = (0.0, 0.0, 1.0),
        major: float = 1.0,
        minor: float = 0.35,
    ):
        self.center, self.axis = _vector(center, "center"), _direction(axis, "axis")
        self.major, self.minor = _positive(major, "major"), _positive(minor, "minor")
        if _same_dimension(center=self.center, axis=self.axis) != 3:
            raise ValueError(f"centre of a torus must have 3 coordinates, got {len(self.center)}.")
        reach = self.major * np.sqrt(np.maximum(1 - self.axis**2, 0.0)) + self.minor
        self.bounds = self.center - reach, self.center + reach

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        height = (X - self.center) @ self.axis
        spoke = X - self.center - height[:, None] * self.axis
        reach = np.linalg.norm(spoke, axis=1)
        outwards = spoke / np.where(reach > 0, reach, 1.0)[:, None]
        outwards[reach == 0] = _across(self.axis)
        beyond = reach - self.major
        away = beyond[:, None] * outwards + height[:, None] * self.axis
        if order < 2:
            return _distance_jet(away, None, order, self.minor)
        size, normal = _length_and_unit(away)
        across = np.outer(self.axis, self.axis) + outwards[:, :, None] * outwards[:, None, :]
        ring = (np.eye(3) - across) * (beyond / np.where(reach > 0, reach, np.inf))[:, None, None]
        hessian = (across + ring - normal[:, :, None] * normal[:, None, :]) / _never_zero(size)[:, None, None]
        return size - self.minor, normal, hessian


class Box(_Primitive):
    """A box with sides along the axes.

    Parameters
    ----------
    low, high : array (d,)
        Opposite corners, the lower one first.

    Examples
    --------
    >>> from seminorm.shapes import Box
    >>> Box([0, 0, 0], [1, 2, 3])([[0.5, 1, 1], [4, 6, 3]])
    array([-0.5,  5. ])

    See Also
    --------
    Capsule, Plane, Sphere, Torus
    """

    names = ("low", "high")

    def __init__(self, low: ArrayLike, high: ArrayLike):
        self.low, self.high = as_bounds((low, high))
        self.dimension = len(self.low)
        self.bounds = self.low.copy(), self.high.copy()

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        center, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        side = np.where(center > X, -1.0, 1.0)
        excess = np.abs(X - center) - half
        beyond = np.maximum(excess, 0.0)
        size, normal = _length_and_unit(beyond)
        inner = excess.max(axis=1)
        value = np.where(inner > 0, size, inner)
        if order == 0:
            return (value,)
        nearest = np.eye(X.shape[1])[excess.argmax(axis=1)]
        gradient = side * np.where((inner > 0)[:, None], normal, nearest)
        if order == 1:
            return value, gradient
        loose = (excess > 0)[:, :, None] * np.eye(X.shape[1])
        hessian = (loose - gradient[:, :, None] * gradient[:, None, :]) / _never_zero(size)[:, None, None]
        return value, gradient, np.where((inner > 0)[:, None, None], hessian, 0.0)


def _distance_jet(away: np.ndarray, straight, order: int, radius: float) -> tuple[np.ndarray, ...]:
    """|away| - radius and its derivatives; ``straight`` projects on directions in which the core is not bent."""
    size, normal = _length_and_unit(away)
    jet = [size - radius, normal]
    if order > 1:
        across = np.eye(away.shape[1]) - normal[:, :, None] * normal[:, None, :] - straight
        jet.append(across / _never_zero(size)[:, None, None])
    return tuple(jet[: order + 1])


def _length_and_unit(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = np.linalg.norm(vectors, axis=1)
    return size, vectors / _never_zero(size)[:, None]


def _never_zero(size: np.ndarray) -> np.ndarray:
    """Lengths, infinite where they vanish: what is divided by them, the derivatives at a centre, becomes zero."""
    return np.where(size > 0, size, np.inf)


def _vector(value: ArrayLike, name: str) -> np.ndarray:
    vector = np.array(value, dtype=float)
    if vector.ndim != 1 or len(vector) not in (2, 3) or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be 2 or 3 finite coordinates, got {value!r}.")
    return vector


def _direction(value: ArrayLike, name: str) -> np.ndarray:
    vector = _vector(value, name)
    length = np.linalg.norm(vector)
    if length == 0:
        raise ValueError(f"{name} must not be zero.")
    return vector / length


def _across(axis: np.ndarray) -> np.ndarray:
    """A unit vector at right angles to another."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return across / np.linalg.norm(across)


def _positive(value: float, name: str) -> float:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive, got {value}.")
    return float(value)


def _same_dimension(**vectors: np.ndarray) -> int:
    (first, one), (second, other) = vectors.items()
    if len(one) != len(other):
        raise ValueError(f"{first} and {second} must have equally many coordinates, got {len(one)} and {len(other)}.")
    return len(one)
