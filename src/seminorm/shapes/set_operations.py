"""Shapes made of shapes: set operations, offsets, motions, blends.

Importing this module gives :class:`seminorm.shapes.Implicit` its operators.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .implicit import OPERATIONS, Implicit, as_implicit
from .meshing import Bounds
from .offsetting import TrueOffset, points_of_curve


def _box_around(first: Bounds | None, second: Bounds | None) -> Bounds | None:
    """The smallest box around two; None if one of them is unbounded."""
    if first is None or second is None:
        return None
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


def _box_within(first: Bounds | None, second: Bounds | None) -> Bounds | None:
    """What two boxes have in common, None being unbounded; a box of no width where they do not meet."""
    if first is None or second is None:
        return second if first is None else first
    low = np.maximum(first[0], second[0])
    return low, np.maximum(np.minimum(first[1], second[1]), low)


def _grown(bounds: Bounds | None, distance: float) -> Bounds | None:
    """A box with all sides moved outwards; one that shrinks ends at its centre."""
    if bounds is None:
        return None
    low, high = bounds[0] - distance, bounds[1] + distance
    center = (low + high) / 2
    return np.minimum(low, center), np.maximum(high, center)


class _Pair(Implicit):
    """Two shapes of the same dimension; kinds say how the bounds, and the bounds on the gradients, combine."""

    _box: Callable[..., Bounds | None] = staticmethod(_box_around)
    _steepest: Callable[..., float | None] = staticmethod(max)

    def __init__(self, first: Implicit, second: Implicit):
        if first.dimension != second.dimension:
            dimensions = f"{first.dimension} and of {second.dimension} dimensions"
            raise ValueError(f"shapes of {dimensions} cannot be combined: give both the same.")
        self.first, self.second = first, second
        self.dimension = first.dimension
        self.thread_safe = first.thread_safe and second.thread_safe
        lengths = [shape.resolution for shape in (first, second) if shape.resolution is not None]
        self.resolution = min(lengths, default=None)
        self.bounds = self._box(first.bounds, second.bounds)
        slopes = first.lipschitz, second.lipschitz
        self.lipschitz = None if None in slopes else self._steepest(slopes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.first!r}, {self.second!r})"


class _Extreme(_Pair):
    """The smaller or the larger of two functions; derivatives are those of the chosen one, the first where equal."""

    sign: float

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        first, second = self.first._jet(X, 0)[0], self.second._jet(X, 0)[0]
        chosen = self.sign * first <= self.sign * second
        value = np.where(chosen, first, second)
        if order == 0:
            return (value,)
        derivatives = [np.empty((len(X),) + (X.shape[1],) * times) for times in range(1, order + 1)]
        for shape, rows in ((self.first, chosen), (self.second, ~chosen)):
            if rows.any():
                for whole, part in zip(derivatives, shape._jet(X[rows], order)[1:], strict=True):
                    whole[rows] = part
        return value, *derivatives


class Union(_Extreme):
    """``a | b``: min(f, g)."""

    sign = 1.0

    @property
    def exact(self) -> tuple[bool, bool]:  # type: ignore[override]
        """Outside the nearer shape is that of the smaller function; inside, the seam may be nearer."""
        return False, self.first.exact[1] and self.second.exact[1]


class Intersection(_Extreme):
    """``a & b``: max(f, g)."""

    sign = -1.0
    _box = staticmethod(_box_within)

    @property
    def exact(self) -> tuple[bool, bool]:  # type: ignore[override]
        """Inside; outside, an edge may be nearer."""
        return self.first.exact[0] and self.second.exact[0], False


class _Changed(Implicit):
    """One shape, changed."""

    def __init__(self, shape: Implicit):
        self.shape = shape
        self.dimension, self.thread_safe = shape.dimension, shape.thread_safe
        self.resolution, self.lipschitz, self.exact = shape.resolution, shape.lipschitz, shape.exact


class Complement(_Changed):
    """``~a``: -f."""

    def __init__(self, shape: Implicit):
        super().__init__(shape)
        self.exact = shape.exact[::-1]

    def __repr__(self) -> str:
        return f"~{self.shape!r}"

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        return tuple(-part for part in self.shape._jet(X, order))


class Level(_Changed):
    """f - value; see :meth:`Implicit.level`."""

    def __init__(self, shape: Implicit, value: float):
        super().__init__(shape)
        self.amount = float(value)
        self.bounds = _grown(shape.bounds, self.amount)
        self.exact = shape.exact[0] and self.amount <= 0, shape.exact[1] and self.amount >= 0

    def __repr__(self) -> str:
        return f"{self.shape!r}.level({self.amount:g})"

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        value, *derivatives = self.shape._jet(X, order)
        return value - self.amount, *derivatives


def _offset(shape: Implicit, distance: float) -> Implicit:
    """The level of a function that is the distance on the side that matters; else the distance is measured."""
    distance = float(distance)
    if not np.isfinite(distance):
        raise ValueError(f"distance must be finite, got {distance}.")
    if distance == 0.0 or shape.exact[distance > 0]:
        return Level(shape, distance)
    return TrueOffset(shape, distance, _grown(shape.bounds, distance))


def _surface_points(shape: Implicit) -> np.ndarray:
    """Vertices of a fine mesh; in the plane, points of the curve."""
    return points_of_curve(shape) if shape.dimension == 2 else shape.mesh(closed=False).vertices


class Moved(_Changed):
    """The shape under x -> factor R x + shift."""

    def __init__(self, shape: Implicit, rotation: ArrayLike | None = None, shift: ArrayLike = 0.0, factor: float = 1.0):
        super().__init__(shape)
        d = shape.dimension
        self.factor = float(factor)
        self.rotation = np.eye(d) if rotation is None else np.asarray(rotation, dtype=float)
        self.shift = np.array(np.broadcast_to(np.asarray(shift, dtype=float), (d,)))
        if not self.factor > 0:
            raise ValueError(f"factor must be positive, got {factor}.")
        if self.rotation.shape != (d, d) or np.abs(self.rotation @ self.rotation.T - np.eye(d)).max() > 1e-8:
            raise ValueError(f"rotation must be an orthogonal matrix of shape ({d}, {d}), got {rotation!r}.")
        self.resolution = None if shape.resolution is None else shape.resolution * self.factor
        if shape.bounds is not None:
            center = self.factor * self.rotation @ ((shape.bounds[0] + shape.bounds[1]) / 2) + self.shift
            half = self.factor * np.abs(self.rotation) @ ((shape.bounds[1] - shape.bounds[0]) / 2)
            self.bounds = center - half, center + half

    def __repr__(self) -> str:
        rotation, shift = self.rotation.tolist(), self.shift.tolist()
        return f"Moved({self.shape!r}, rotation={rotation}, shift={shift}, factor={self.factor:g})"

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        parts = self.shape._jet((X - self.shift) @ self.rotation / self.factor, order)
        moved = [parts[0] * self.factor]
        if order > 0:
            moved.append(parts[1] @ self.rotation.T)
        if order > 1:
            moved.append(self.rotation @ parts[2] @ self.rotation.T / self.factor)
        return tuple(moved)


class Blend(_Pair):
    """A union with a rounded seam; see :func:`blend`."""

    def __init__(self, first: Implicit, second: Implicit, width: float):
        super().__init__(first, second)
        self.width = float(width)
        if not self.width > 0:
            raise ValueError(f"width must be positive, got {width}: use a | b for a sharp seam.")
        self.bounds = _grown(self.bounds, self.width / 6)

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        first, second = self.first._jet(X, order), self.second._jet(X, order)
        gap = first[0] - second[0]
        rest = np.maximum(1 - np.abs(gap) / self.width, 0.0)
        jet = [(first[0] + second[0]) / 2 - np.abs(gap) / 2 - self.width / 6 * rest**3]
        lean = np.sign(gap) * (1 - rest**2) / 2
        if order > 0:
            turn = first[1] - second[1]
            jet.append((first[1] + second[1]) / 2 - lean[:, None] * turn)
        if order > 1:
            bend = (rest / self.width)[:, None, None] * turn[:, :, None] * turn[:, None, :]
            jet.append((first[2] + second[2]) / 2 - lean[:, None, None] * (first[2] - second[2]) - bend)
        return tuple(jet)


class Meeting(_Pair):
    """Where two surfaces meet; see :func:`meeting`."""

    _box = staticmethod(_box_within)
    _steepest = staticmethod(sum)

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        jets = (_absolute(shape._jet(X, order)) for shape in (self.first, self.second))
        return tuple(a + b for a, b in zip(*jets, strict=True))

    def offset(self, distance: float) -> Implicit:
        """|f| + |g| - distance, a tube: there is no inside from which distances could be measured."""
        return Level(self, distance)

    def _project(self, X: np.ndarray, max_iter: int, tol: float) -> np.ndarray:
        """Newton steps of least length for the two equations f = 0, g = 0, as |f| + |g| has a kink at its zeros."""
        result = np.full_like(X, np.nan)
        rows = np.flatnonzero(np.isfinite(X).all(axis=1))
        points = X[rows]
        for iteration in range(max_iter + 1):
            jets = [shape._jet(points, 1) for shape in (self.first, self.second)]
            values, slopes = (np.stack(parts, axis=1) for parts in zip(*jets, strict=True))
            gram = slopes @ slopes.transpose(0, 2, 1)
            done = (np.abs(values) <= tol * np.linalg.norm(slopes, axis=2)).all(axis=1)
            result[rows[done]] = points[done]
            parallel = np.linalg.det(gram) <= 1e-12 * np.prod(np.diagonal(gram, axis1=1, axis2=2), axis=1)
            left = np.flatnonzero(~done & ~parallel)
            if iteration == max_iter or len(left) == 0:
                return result
            weights = np.linalg.solve(gram[left], values[left, :, None])
            move = -(slopes[left].transpose(0, 2, 1) @ weights)[:, :, 0]
            trial, improved = self._damped(points[left], move, np.abs(values[left]).sum(axis=1))
            rows, points = rows[left[improved]], trial[improved]
        return result


class ProductShape(_Pair):
    """Both surfaces at once; see :func:`product`."""

    _steepest = staticmethod(lambda slopes: None)

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        first, second = self.first._jet(X, order), self.second._jet(X, order)
        jet = [first[0] * second[0]]
        if order > 0:
            jet.append(first[0][:, None] * second[1] + second[0][:, None] * first[1])
        if order > 1:
            mixed = first[1][:, :, None] * second[1][:, None, :]
            bent = first[0][:, None, None] * second[2] + second[0][:, None, None] * first[2]
            jet.append(bent + mixed + mixed.transpose(0, 2, 1))
        return tuple(jet)


def blend(a: Implicit | Callable, b: Implicit | Callable, width: float) -> Implicit:
    """A union whose seam is rounded where f and g differ by less than ``width``, with continuous second derivatives.

    The shape is that of min(f, g) elsewhere and is at most width / 6 larger at the seam. ``~blend(~a, ~b, width)`` is a
    rounded intersection.

    Parameters
    ----------
    a, b : Implicit, or what :func:`as_implicit` takes
    width : float
        Difference of f and g below which the seam is rounded.

    Returns
    -------
    Implicit

    Examples
    --------
    >>> from seminorm.shapes import Sphere, blend
    >>> first, second = Sphere([-1, 0, 0], 1.1), Sphere([1, 0, 0], 1.1)
    >>> (first | second)([[0, 0.6, 0]]).round(3), blend(first, second, 0.6)([[0, 0.6, 0]]).round(3)
    (array([0.066]), array([-0.034]))

    See Also
    --------
    Implicit : ``a | b`` is the union with a sharp seam.
    """
    return Blend(as_implicit(a), as_implicit(b), width)


def meeting(a: Implicit | Callable, b: Implicit | Callable) -> Implicit:
    """|f| + |g|: zero where the two surfaces meet, in general along curves (in the plane, at points).

    It is nowhere negative: ``meeting(a, b).offset(width)`` is a tube around the curve that can be drawn.

    Parameters
    ----------
    a, b : Implicit, or what :func:`as_implicit` takes

    Returns
    -------
    Implicit

    Examples
    --------
    >>> from seminorm.shapes import Plane, Sphere, meeting
    >>> circle = meeting(Sphere([0, 0, 0], 1), Plane([0, 0, 0], [0, 0, 1]))
    >>> circle.project([[1.2, 0.0, 0.3]]).round(6)
    array([[1., 0., 0.]])

    See Also
    --------
    product : Both surfaces whole.
    """
    return Meeting(as_implicit(a), as_implicit(b))


def product(a: Implicit | Callable, b: Implicit | Callable) -> Implicit:
    """f g: both surfaces whole, also the parts inside the other shape; negative inside exactly one of them.

    Its values are not in units of length: the gradient on one surface is multiplied by the value of the other function.

    Parameters
    ----------
    a, b : Implicit, or what :func:`as_implicit` takes

    Returns
    -------
    Implicit

    Examples
    --------
    >>> from seminorm.shapes import Sphere, product
    >>> both = product(Sphere([0, 0, 0], 1), Sphere([1, 0, 0], 1))
    >>> both.inside([[-0.5, 0, 0], [0.5, 0, 0]]).tolist()
    [True, False]

    See Also
    --------
    meeting : Only where the surfaces meet.
    """
    return ProductShape(as_implicit(a), as_implicit(b))


def _absolute(jet: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """|f| and its derivatives."""
    sign = np.where(jet[0] < 0, -1.0, 1.0)
    return [part * sign.reshape((-1,) + (1,) * (part.ndim - 1)) for part in jet]


OPERATIONS.update(union=Union, intersection=Intersection, complement=Complement, motion=Moved)
OPERATIONS.update(offset=_offset, level=Level, surface_points=_surface_points)
