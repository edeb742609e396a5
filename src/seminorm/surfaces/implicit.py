"""Shapes as functions: f < 0 inside, f > 0 outside, the surface is f = 0.

Gradients point outwards, and near the surface f is in units of length. Shapes combine by set operations, move, grow and
blend, and what comes out is again a shape with derivatives. :func:`as_implicit` makes a shape of any function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..fields.field import Field

Bounds = tuple[np.ndarray, np.ndarray]

_CHUNK_POINTS = 2**16
_HALVINGS = 30


class Curvature(NamedTuple):
    """Curvatures of level sets, positive where a shape is round: 1 / r on a ball of radius r.

    Attributes
    ----------
    mean : array (n,)
        Mean of the principal curvatures.
    gaussian : array (n,)
        Their product.
    principal : array (n, d - 1)
        The principal curvatures, largest first. In the plane there is one, and all three agree.
    """

    mean: np.ndarray
    gaussian: np.ndarray
    principal: np.ndarray


class Implicit:
    """A shape in the plane or in space, given by a function that is negative inside.

    Kinds of shapes supply ``_jet(X, order)``: the values, and up to the order the gradients and Hessians.

    Attributes
    ----------
    dimension : int
        2 or 3.
    bounds : pair of arrays (low, high), or None
        A box around the shape; None where there is none (a plane).
    resolution : float or None
        Length below which the shape has no detail, where it is known.
    lipschitz : float or None
        Bound on the gradient, where one is known: |f| / lipschitz is then a safe distance from the surface.
    thread_safe : bool
        Whether several threads may evaluate the shape at once.

    Examples
    --------
    >>> from seminorm.surfaces.primitives import Box, Sphere
    >>> die = Box([-1, -1, -1], [1, 1, 1]) & Sphere([0, 0, 0], 1.4)
    >>> die.inside([[0.0, 0.0, 0.9], [0.9, 0.9, 0.9]]).tolist()
    [True, False]
    """

    dimension: int = 3
    bounds: Bounds | None = None
    resolution: float | None = None
    lipschitz: float | None = None
    thread_safe: bool = True

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        raise TypeError(f"{type(self).__name__} does not define its values: shapes supply _jet(X, order).")

    def jet(self, X, order: int = 2) -> tuple[np.ndarray, ...]:
        """Values (n,), gradients (n, d) and Hessians (n, d, d) in one go, up to the order 0, 1 or 2."""
        return self._jet(self._points(X), order)

    def __call__(self, X) -> np.ndarray:
        """Values at X, shape (n,)."""
        return self._jet(self._points(X), 0)[0]

    def value(self, X) -> np.ndarray:
        """Values at X, shape (n,)."""
        return self(X)

    def gradient(self, X) -> np.ndarray:
        """Gradients at X, shape (n, d); where a shape has an edge, of one of the sides."""
        return self._jet(self._points(X), 1)[1]

    def hessian(self, X) -> np.ndarray:
        """Hessians at X, shape (n, d, d)."""
        return self._jet(self._points(X), 2)[2]

    def inside(self, X) -> np.ndarray:
        """Whether the points lie inside, shape (n,)."""
        return self(X) < 0

    def extent(self) -> float:
        """The diagonal of the bounds, 1 where there are none: the length that tolerances refer to."""
        return 1.0 if self.bounds is None else float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    def project(self, X, max_iter: int = 50, tol: float | None = None) -> np.ndarray:
        """Move points along the gradient onto the surface.

        Each step goes to the nearest zero of the second-order model of f along its gradient, and is halved until |f|
        falls. The result lies on the surface near X but is not in general the nearest point; see :meth:`closest`.

        Parameters
        ----------
        X : array (n, d)
        max_iter : int
            Number of steps.
        tol : float, optional
            Stop at |f| <= tol |gradient|; 1e-9 of the extent by default.

        Returns
        -------
        array (n, d)
            Points on the surface; NaN in the rows that did not converge: where the gradient vanishes, where |f| has a
            minimum that is not zero, and for some points inside a union, at the seam of its parts.
        """
        X = self._points(X)
        tol = 1e-9 * self.extent() if tol is None else tol
        pieces = [
            self._project(X[begin : begin + _CHUNK_POINTS], max_iter, tol) for begin in range(0, len(X), _CHUNK_POINTS)
        ]
        return np.concatenate(pieces) if pieces else X.copy()

    def _project(self, X: np.ndarray, max_iter: int, tol: float) -> np.ndarray:
        result = np.full_like(X, np.nan)
        rows = np.flatnonzero(np.isfinite(X).all(axis=1))
        points = X[rows]
        for iteration in range(max_iter + 1):
            value, gradient, hessian = self._jet(points, 2)
            slope = np.linalg.norm(gradient, axis=1)
            done = (np.abs(value) <= tol * slope) | (value == 0)
            result[rows[done]] = points[done]
            left = np.flatnonzero(~done & (slope > 0))
            if iteration == max_iter or len(left) == 0:
                return result
            normal = gradient[left] / slope[left, None]
            bend = np.einsum("ni,nij,nj->n", normal, hessian[left], normal)
            move = normal * _nearest_root(value[left], slope[left], bend)[:, None]
            trial, improved = self._damped(points[left], move, np.abs(value[left]))
            rows, points = rows[left[improved]], trial[improved]
        return result

    def _damped(self, points: np.ndarray, move: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points after the moves, halved until |f| is smaller than before, and whether that was reached."""
        trial = points + move
        worse = np.arange(len(points))
        for _ in range(_HALVINGS):
            worse = worse[np.abs(self._jet(trial[worse], 0)[0]) >= size[worse]]
            if len(worse) == 0:
                break
            move[worse] *= 0.5
            trial[worse] = points[worse] + move[worse]
        improved = np.ones(len(points), dtype=bool)
        improved[worse] = False
        return trial, improved

    def closest(self, X, max_iter: int = 50, tol: float | None = None) -> np.ndarray:
        """The point of the surface nearest to each X, found from :meth:`project` by sliding along the surface.

        It is a local minimum of the distance, to ``tol`` (1e-6 of the extent by default) along the surface; NaN in the
        rows where the projection fails.
        """
        X = self._points(X)
        tol = 1e-6 * self.extent() if tol is None else tol
        foot = self.project(X)
        share = np.ones(len(X))
        rows = np.flatnonzero(np.isfinite(foot).all(axis=1))
        for _ in range(max_iter):
            gap = X[rows] - foot[rows]
            normal = _unit(self._jet(foot[rows], 1)[1])
            slide = gap - (gap * normal).sum(axis=1)[:, None] * normal
            moving = np.linalg.norm(slide, axis=1) > tol
            rows, slide, gap = rows[moving], slide[moving], gap[moving]
            if len(rows) == 0:
                break
            trial = self.project(foot[rows] + share[rows, None] * slide)
            nearer = np.linalg.norm(X[rows] - trial, axis=1) < np.linalg.norm(gap, axis=1)
            foot[rows[nearer]] = trial[nearer]
            share[rows[~nearer]] *= 0.5
        return foot

    def distance(self, X, refine: bool = False) -> np.ndarray:
        """Signed distance to the surface, negative inside.

        Parameters
        ----------
        X : array (n, d)
        refine : bool
            False: to first order, f / |gradient|, good near the surface. True: from the nearest point that
            :meth:`closest` finds, NaN where it finds none.
        """
        X = self._points(X)
        value, gradient = self._jet(X, 1)
        if refine:
            return np.where(value < 0, -1.0, 1.0) * np.linalg.norm(X - self.closest(X), axis=1)
        slope = np.linalg.norm(gradient, axis=1)
        return np.divide(value, slope, out=np.where(value == 0, 0.0, np.copysign(np.inf, value)), where=slope > 0)

    def curvature(self, X) -> Curvature:
        """Curvatures of the level sets through X; of the surface if X lies on it. NaN where the gradient vanishes."""
        X = self._points(X)
        _, gradient, hessian = self._jet(X, 2)
        slope = np.linalg.norm(gradient, axis=1)
        flat = slope == 0
        basis = _tangents(_unit(gradient))
        shape_operator = np.einsum("nia,nij,njb->nab", basis, hessian, basis)
        shape_operator /= np.where(flat, 1.0, slope)[:, None, None]
        shape_operator[flat] = np.nan
        if self.dimension == 2:
            only = shape_operator[:, 0, 0]
            return Curvature(only, only, only[:, None])
        first, mixed, second = shape_operator[:, 0, 0], shape_operator[:, 0, 1], shape_operator[:, 1, 1]
        mean, spread = (first + second) / 2, np.hypot((first - second) / 2, mixed)
        principal = np.column_stack([mean + spread, mean - spread])
        return Curvature(mean, first * second - mixed**2, principal)

    def mesh(self, resolution: float | None = None, **options):
        """Triangles of the surface of a shape in space; see :func:`seminorm.surfaces.meshing.mesh_implicit`."""
        from .meshing import mesh_implicit

        return mesh_implicit(self, resolution, **options)

    def __or__(self, other) -> Implicit:
        """Union: min(f, g)."""
        return _combine(Union, self, other)

    def __and__(self, other) -> Implicit:
        """Intersection: max(f, g)."""
        return _combine(Intersection, self, other)

    def __sub__(self, other) -> Implicit:
        """What of this shape lies outside the other: max(f, -g)."""
        other = _coerced(other)
        return NotImplemented if other is None else Intersection(self, Complement(other))

    def __invert__(self) -> Implicit:
        """The outside: -f."""
        return Complement(self)

    def offset(self, distance: float) -> Implicit:
        """f - distance: the surface moves outwards for positive distances.

        It moves by that distance where f is a distance function, and by distance / |gradient| to first order elsewhere.
        """
        return Offset(self, distance)

    def translate(self, vector) -> Implicit:
        """The shape moved by a vector."""
        return Moved(self, shift=vector)

    def rotate(self, rotation, origin=0.0) -> Implicit:
        """The shape turned about an origin, x -> R (x - origin) + origin; R a matrix or a SciPy Rotation."""
        matrix = rotation.as_matrix() if isinstance(rotation, Rotation) else np.asarray(rotation, dtype=float)
        origin = np.broadcast_to(np.asarray(origin, dtype=float), (self.dimension,))
        moved = Moved(self, rotation=matrix)
        return Moved(self, rotation=matrix, shift=origin - moved.rotation @ origin)

    def scale(self, factor: float, origin=0.0) -> Implicit:
        """The shape enlarged about an origin; its values are scaled too, so that f stays in units of length."""
        origin = np.broadcast_to(np.asarray(origin, dtype=float), (self.dimension,))
        return Moved(self, factor=factor, shift=(1 - factor) * origin)

    def _points(self, X) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        return X


class _Pair(Implicit):
    """Two shapes of the same dimension."""

    def __init__(self, first: Implicit, second: Implicit):
        if first.dimension != second.dimension:
            raise ValueError(
                f"shapes of {first.dimension} and of {second.dimension} dimensions cannot be combined: give both the "
                "same."
            )
        self.first, self.second = first, second
        self.dimension = first.dimension
        self.thread_safe = first.thread_safe and second.thread_safe
        lengths = [shape.resolution for shape in (first, second) if shape.resolution is not None]
        self.resolution = min(lengths, default=None)
        known = first.lipschitz is not None and second.lipschitz is not None
        self.lipschitz = max(first.lipschitz, second.lipschitz) if known else None

    def __repr__(self):
        return f"{type(self).__name__}({self.first!r}, {self.second!r})"


class _Extreme(_Pair):
    """The smaller or the larger of two functions; derivatives are those of the chosen one, the first where equal."""

    sign: float

    def _jet(self, X, order):
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

    def __init__(self, first: Implicit, second: Implicit):
        super().__init__(first, second)
        self.bounds = _box_around(first.bounds, second.bounds)


class Intersection(_Extreme):
    """``a & b``: max(f, g)."""

    sign = -1.0

    def __init__(self, first: Implicit, second: Implicit):
        super().__init__(first, second)
        self.bounds = _box_within(first.bounds, second.bounds)


class Complement(Implicit):
    """``~a``: -f."""

    def __init__(self, shape: Implicit):
        self.shape = shape
        self.dimension, self.thread_safe = shape.dimension, shape.thread_safe
        self.resolution, self.lipschitz = shape.resolution, shape.lipschitz

    def __repr__(self):
        return f"~{self.shape!r}"

    def _jet(self, X, order):
        return tuple(-part for part in self.shape._jet(X, order))


class Offset(Implicit):
    """f - distance; see :meth:`Implicit.offset`."""

    def __init__(self, shape: Implicit, distance: float):
        self.shape, self.amount = shape, float(distance)
        self.dimension, self.thread_safe = shape.dimension, shape.thread_safe
        self.resolution, self.lipschitz = shape.resolution, shape.lipschitz
        self.bounds = _grown(shape.bounds, self.amount)

    def __repr__(self):
        return f"{self.shape!r}.offset({self.amount:g})"

    def _jet(self, X, order):
        value, *derivatives = self.shape._jet(X, order)
        return value - self.amount, *derivatives


class Moved(Implicit):
    """The shape under x -> factor R x + shift."""

    def __init__(self, shape: Implicit, rotation=None, shift=0.0, factor: float = 1.0):
        d = shape.dimension
        self.shape, self.factor = shape, float(factor)
        self.rotation = np.eye(d) if rotation is None else np.asarray(rotation, dtype=float)
        self.shift = np.array(np.broadcast_to(np.asarray(shift, dtype=float), (d,)))
        if not self.factor > 0:
            raise ValueError(f"factor must be positive, got {factor}.")
        if self.rotation.shape != (d, d) or np.abs(self.rotation @ self.rotation.T - np.eye(d)).max() > 1e-8:
            raise ValueError(f"rotation must be an orthogonal matrix of shape ({d}, {d}), got {rotation!r}.")
        self.dimension, self.thread_safe, self.lipschitz = d, shape.thread_safe, shape.lipschitz
        self.resolution = None if shape.resolution is None else shape.resolution * self.factor
        self.bounds = None if shape.bounds is None else self._moved_box(*shape.bounds)

    def __repr__(self):
        rotation, shift = self.rotation.tolist(), self.shift.tolist()
        return f"Moved({self.shape!r}, rotation={rotation}, shift={shift}, factor={self.factor:g})"

    def _moved_box(self, low, high) -> Bounds:
        centre = self.factor * self.rotation @ ((low + high) / 2) + self.shift
        half = self.factor * np.abs(self.rotation) @ ((high - low) / 2)
        return centre - half, centre + half

    def _jet(self, X, order):
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
        self.bounds = _grown(_box_around(first.bounds, second.bounds), self.width / 6)

    def _jet(self, X, order):
        first, second = self.first._jet(X, order), self.second._jet(X, order)
        gap = first[0] - second[0]
        rest = np.maximum(1 - np.abs(gap) / self.width, 0.0)
        jet = [(first[0] + second[0]) / 2 - np.abs(gap) / 2 - self.width / 6 * rest**3]
        lean = np.sign(gap) * (1 - rest**2) / 2
        if order > 0:
            turn = first[1] - second[1]
            jet.append((first[1] + second[1]) / 2 - lean[:, None] * turn)
        if order > 1:
            bend = rest / self.width
            jet.append(
                (first[2] + second[2]) / 2
                - lean[:, None, None] * (first[2] - second[2])
                - bend[:, None, None] * turn[:, :, None] * turn[:, None, :]
            )
        return tuple(jet)


class Meeting(_Pair):
    """Where two surfaces meet; see :func:`meeting`."""

    def __init__(self, first: Implicit, second: Implicit):
        super().__init__(first, second)
        self.bounds = _box_within(first.bounds, second.bounds)
        self.lipschitz = None if self.lipschitz is None else first.lipschitz + second.lipschitz

    def _jet(self, X, order):
        total = None
        for shape in (self.first, self.second):
            parts = shape._jet(X, order)
            sign = np.where(parts[0] < 0, -1.0, 1.0)
            signed = [part * sign.reshape((-1,) + (1,) * (part.ndim - 1)) for part in parts]
            total = signed if total is None else [a + b for a, b in zip(total, signed, strict=True)]
        return tuple(total)

    def _project(self, X, max_iter, tol):
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


class Product(_Pair):
    """Both surfaces at once; see :func:`product`."""

    def __init__(self, first: Implicit, second: Implicit):
        super().__init__(first, second)
        self.bounds = _box_around(first.bounds, second.bounds)
        self.lipschitz = None

    def _jet(self, X, order):
        first, second = self.first._jet(X, order), self.second._jet(X, order)
        jet = [first[0] * second[0]]
        if order > 0:
            jet.append(first[0][:, None] * second[1] + second[0][:, None] * first[1])
        if order > 1:
            mixed = first[1][:, :, None] * second[1][:, None, :]
            jet.append(
                first[0][:, None, None] * second[2]
                + second[0][:, None, None] * first[2]
                + mixed
                + mixed.transpose(0, 2, 1)
            )
        return tuple(jet)


class Wrapped(Implicit):
    """A function as a shape; see :func:`as_implicit`."""

    def __init__(self, function, dimension: int, bounds=None, resolution=None, lipschitz=None, step=None):
        self.function, self.dimension, self.bounds = function, dimension, bounds
        self.resolution, self.lipschitz = resolution, lipschitz
        self.step = 1e-4 * self.extent() if step is None else float(step)
        self.thread_safe = False

    def __repr__(self):
        return f"as_implicit({self.function!r})"

    def _jet(self, X, order):
        value = np.asarray(self.function(X), dtype=float)
        if value.shape != (len(X),):
            raise ValueError(f"a shape needs a function with values of shape ({len(X)},), got {value.shape}.")
        if order == 0:
            return (value,)
        if not hasattr(self.function, "gradient"):
            return self._differences(X, value, order)
        gradient = np.asarray(self.function.gradient(X), dtype=float)
        if order == 1:
            return value, gradient
        if hasattr(self.function, "hessian"):
            return value, gradient, np.asarray(self.function.hessian(X), dtype=float)
        shifts = self.step * np.eye(self.dimension)
        columns = [self.function.gradient(X + shift) - self.function.gradient(X - shift) for shift in shifts]
        hessian = np.stack(columns, axis=2) / (2 * self.step)
        return value, gradient, (hessian + hessian.transpose(0, 2, 1)) / 2

    def _differences(self, X, value, order):
        """Derivatives by central differences of the values."""
        f, h, d = self.function, self.step, self.dimension
        shifts = h * np.eye(d)
        forward = np.stack([f(X + shift) for shift in shifts], axis=1)
        backward = np.stack([f(X - shift) for shift in shifts], axis=1)
        gradient = (forward - backward) / (2 * h)
        if order == 1:
            return value, gradient
        hessian = np.empty((len(X), d, d))
        for i in range(d):
            hessian[:, i, i] = (forward[:, i] - 2 * value + backward[:, i]) / h**2
            for j in range(i):
                both, against = shifts[i] + shifts[j], shifts[i] - shifts[j]
                mixed = (f(X + both) - f(X + against) - f(X - against) + f(X - both)) / (4 * h**2)
                hessian[:, i, j] = hessian[:, j, i] = mixed
        return value, gradient, hessian


def blend(a, b, width: float) -> Implicit:
    """A union whose seam is rounded where f and g differ by less than ``width``, with continuous second derivatives.

    The shape is that of min(f, g) elsewhere and is at most width / 6 larger at the seam. ``~blend(~a, ~b, width)`` is a
    rounded intersection.
    """
    return Blend(as_implicit(a), as_implicit(b), width)


def meeting(a, b) -> Implicit:
    """|f| + |g|: zero where the two surfaces meet, in general along curves (in the plane, at points).

    It is nowhere negative: ``meeting(a, b).offset(width)`` is a tube around the curve that can be drawn.
    """
    return Meeting(as_implicit(a), as_implicit(b))


def product(a, b) -> Implicit:
    """f g: both surfaces whole, also the parts inside the other shape; negative inside exactly one of them.

    Its values are not in units of length: the gradient on one surface is multiplied by the value of the other function.
    """
    return Product(as_implicit(a), as_implicit(b))


def as_implicit(
    function: Implicit | Callable,
    *,
    bounds=None,
    dimension: int | None = None,
    resolution: float | None = None,
    lipschitz: float | None = None,
    step: float | None = None,
) -> Implicit:
    """A shape of a function that is negative inside.

    Parameters
    ----------
    function : Implicit, Field, Expansion or callable
        f(X) -> (n,). Its methods ``gradient`` and ``hessian`` are used where it has them; otherwise derivatives are
        central differences (a Hessian from differences of values is good to some six digits for smooth functions).
    bounds : pair of points, optional
        A box around the shape; by default that of the function, if it has one.
    dimension : int, optional
        By default that of the function or of the bounds, else 3.
    resolution, lipschitz : float, optional
        See :class:`Implicit`. The resolution of a field is its finest spacing.
    step : float, optional
        Of the differences; 1e-4 of the extent by default.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.implicit import as_implicit
    >>> ball = as_implicit(lambda X: np.linalg.norm(X, axis=1) - 2, bounds=([-2, -2, -2], [2, 2, 2]))
    >>> ball.curvature([[0.0, 0.0, 2.0]]).mean.round(4)
    array([0.5])
    """
    if isinstance(function, Implicit):
        return function
    if not callable(function):
        raise TypeError(f"a shape needs a function f(X) or an Implicit, got {function!r}.")
    bounds = getattr(function, "bounds", None) if bounds is None else bounds
    if bounds is not None:
        bounds = as_bounds(bounds)
    if dimension is None:
        dimension = getattr(function, "dimension", 3 if bounds is None else len(bounds[0]))
    if bounds is not None and len(bounds[0]) != dimension:
        raise ValueError(f"bounds must have {dimension} coordinates, got {len(bounds[0])}.")
    if resolution is None and isinstance(function, Field):
        resolution = float(function.tree.spacing(function.depth) * np.min(function.tree.box.scale))
    return Wrapped(function, dimension, bounds, resolution, lipschitz, step)


def as_bounds(bounds) -> Bounds:
    """Two corners of a box as float arrays, checked."""
    low, high = (np.array(corner, dtype=float).reshape(-1) for corner in bounds)
    if low.shape != high.shape or not np.isfinite([low, high]).all() or (low > high).any():
        raise ValueError(f"bounds must be two finite corners, low <= high, got {low.tolist()} and {high.tolist()}.")
    return low, high


def _coerced(other) -> Implicit | None:
    return as_implicit(other) if callable(other) else None


def _combine(kind, first: Implicit, second) -> Implicit:
    second = _coerced(second)
    return NotImplemented if second is None else kind(first, second)


def _box_around(first: Bounds | None, second: Bounds | None) -> Bounds | None:
    if first is None or second is None:
        return None
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


def _box_within(first: Bounds | None, second: Bounds | None) -> Bounds | None:
    if first is None or second is None:
        return second if first is None else first
    low = np.maximum(first[0], second[0])
    return low, np.maximum(np.minimum(first[1], second[1]), low)


def _grown(bounds: Bounds | None, distance: float) -> Bounds | None:
    if bounds is None:
        return None
    low, high = bounds[0] - distance, bounds[1] + distance
    centre = (low + high) / 2
    return np.minimum(low, centre), np.maximum(high, centre)


def _nearest_root(value: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The zero of value + slope s + bend s^2 / 2 of least |s|, for slope > 0; half the way to the vertex if there is
    none.
    """
    discriminant = slope**2 - 2 * value * bend
    root = -2 * value / (slope + np.sqrt(np.maximum(discriminant, 0.0)))
    return np.where(discriminant < 0, -slope / (2 * np.where(bend == 0, 1.0, bend)), root)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; zero vectors stay."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _tangents(normals: np.ndarray) -> np.ndarray:
    """Orthonormal vectors across unit normals, as columns: (n, d, d - 1)."""
    if normals.shape[1] == 2:
        return np.stack([-normals[:, 1], normals[:, 0]], axis=1)[:, :, None]
    least = np.argmin(np.abs(normals), axis=1)
    first = _unit(np.cross(normals, np.eye(3)[least]))
    return np.stack([first, np.cross(normals, first)], axis=2)
