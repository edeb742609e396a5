"""Shapes as functions: f < 0 inside, f > 0 outside, the surface is f = 0.

Gradients point outwards, and near the surface f is in units of length. Shapes combine by set operations, move, grow and
blend, and what comes out is again a shape with derivatives. :func:`as_implicit` makes a shape of any function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..clouds.cloud import unit_rows
from ..fields.field import Field
from .mesh import Mesh
from .meshing import Bounds, as_bounds, mesh_implicit

_CHUNK_POINTS = 2**16
_HALVINGS = 30
OPERATIONS: dict[str, Callable[..., Any]] = {}  # by name; ``set_operations`` fills it


class Curvature(NamedTuple):
    """Curvatures of level sets, positive where a shape is round: 1 / r on a ball of radius r.

    Attributes
    ----------
    mean, gaussian : array (n,)
        Mean and product of the principal curvatures.
    principal : array (n, d - 1)
        The largest first; in the plane there is one, and all three agree.

    See Also
    --------
    Implicit
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
    bounds : pair of arrays (low, high), or None, a box around the shape; None where there is none (a plane)
    resolution : float or None
        Length below which the shape has no detail, where it is known.
    lipschitz : float or None
        Known bound on the gradient: |f| / lipschitz is then a safe distance from the surface.
    exact : pair of bool
        Whether |f| is the distance to the surface, inside and outside.
    thread_safe : bool
        Whether several threads may evaluate the shape at once.

    Examples
    --------
    >>> from seminorm.shapes import Box, Sphere
    >>> die = Box([-1, -1, -1], [1, 1, 1]) & Sphere([0, 0, 0], 1.4)
    >>> die.inside([[0.0, 0.0, 0.9], [0.9, 0.9, 0.9]]).tolist()
    [True, False]

    See Also
    --------
    as_implicit : A shape of any function.
    blend, meeting, product : Further ways to combine shapes.
    """

    dimension: int = 3
    bounds: Bounds | None = None
    resolution: float | None = None
    lipschitz: float | None = None
    exact: tuple[bool, bool] = (False, False)
    thread_safe: bool = True

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        raise TypeError(f"{type(self).__name__} does not define its values: shapes supply _jet(X, order).")

    def jet(self, X: ArrayLike, order: int = 2) -> tuple[np.ndarray, ...]:
        """Values (n,), gradients (n, d) and Hessians (n, d, d) in one go, up to the order 0, 1 or 2."""
        return self._jet(self._points(X), order)

    def __call__(self, X: ArrayLike) -> np.ndarray:
        """Values at X, shape (n,)."""
        return self._jet(self._points(X), 0)[0]

    def value(self, X: ArrayLike) -> np.ndarray:
        """Values at X, shape (n,)."""
        return self(X)

    def gradient(self, X: ArrayLike) -> np.ndarray:
        """Gradients at X, shape (n, d); where a shape has an edge, of one of the sides."""
        return self._jet(self._points(X), 1)[1]

    def hessian(self, X: ArrayLike) -> np.ndarray:
        """Hessians at X, shape (n, d, d)."""
        return self._jet(self._points(X), 2)[2]

    def inside(self, X: ArrayLike) -> np.ndarray:
        """Whether the points lie inside, shape (n,)."""
        return self(X) < 0

    def extent(self) -> float:
        """The diagonal of the bounds, 1 where there are none: the length that tolerances refer to."""
        return 1.0 if self.bounds is None else float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    def project(self, X: ArrayLike, max_iter: int = 50, tol: float | None = None) -> np.ndarray:
        """Move points (n, d) along the gradient onto the surface, to |f| <= tol |gradient| (1e-9 of the extent by
        default).

        Each step goes to the nearest zero of the second-order model of f along its gradient, and is halved until |f|
        falls. The result lies on the surface near X but is not in general the nearest point; see :meth:`closest`. Rows
        that did not converge are NaN: where the gradient vanishes, where |f| has a minimum that is not zero, and for
        some points inside a union, at the seam of its parts.
        """
        X = self._points(X)
        tol = 1e-9 * self.extent() if tol is None else tol
        chunks = (X[begin : begin + _CHUNK_POINTS] for begin in range(0, len(X), _CHUNK_POINTS))
        return np.concatenate([self._project(chunk, max_iter, tol) for chunk in chunks]) if len(X) else X.copy()

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

    def closest(self, X: ArrayLike, max_iter: int = 50, tol: float | None = None) -> np.ndarray:
        """The point of the surface nearest to each X, found from :meth:`project` by sliding along the surface.

        It is a local minimum of the distance, to ``tol`` (1e-6 of the extent by default) along the surface; NaN in the
        rows where the projection fails.
        """
        X = self._points(X)
        return self._slid(X, self.project(X), max_iter, 1e-6 * self.extent() if tol is None else tol)

    def _slid(self, X: np.ndarray, foot: np.ndarray, max_iter: int, tol: float) -> np.ndarray:
        """Points ``foot`` of the surface moved along it, towards those nearest to X; NaN stays."""
        foot = foot.copy()
        share = np.ones(len(X))
        rows = np.flatnonzero(np.isfinite(foot).all(axis=1))
        for _ in range(max_iter):
            gap = X[rows] - foot[rows]
            normal = unit_rows(self._jet(foot[rows], 1)[1])
            slide = gap - (gap * normal).sum(axis=1)[:, None] * normal
            moving = np.linalg.norm(slide, axis=1) > tol
            rows, slide, gap = rows[moving], slide[moving], gap[moving]
            if len(rows) == 0:
                break
            trial = self.project(foot[rows] + share[rows, None] * slide, tol=min(tol, 1e-6 * self.extent()) or None)
            nearer = np.linalg.norm(X[rows] - trial, axis=1) < np.linalg.norm(gap, axis=1)
            foot[rows[nearer]] = trial[nearer]
            share[rows[~nearer]] *= 0.5
        return foot

    def distance(self, X: ArrayLike, refine: bool = False) -> np.ndarray:
        """Signed distance to the surface, negative inside: f / |gradient|, good near the surface, or if refined that of
        the point that :meth:`closest` finds, NaN where it finds none.
        """
        X = self._points(X)
        value, gradient = self._jet(X, 1)
        if refine:
            return np.where(value < 0, -1.0, 1.0) * np.linalg.norm(X - self.closest(X), axis=1)
        slope = np.linalg.norm(gradient, axis=1)
        return np.divide(value, slope, out=np.where(value == 0, 0.0, np.copysign(np.inf, value)), where=slope > 0)

    def curvature(self, X: ArrayLike) -> Curvature:
        """Curvatures of the level sets through X; of the surface if X lies on it. NaN where the gradient vanishes."""
        X = self._points(X)
        _, gradient, hessian = self._jet(X, 2)
        slope = np.linalg.norm(gradient, axis=1)
        flat = slope == 0
        basis = _tangents(unit_rows(gradient))
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

    def mesh(self, resolution: float | None = None, **options) -> Mesh:
        """Triangles of the surface of a shape in space; see :func:`seminorm.shapes.mesh_implicit`."""
        return mesh_implicit(self, resolution, **options)

    def __or__(self, other: Implicit | Callable) -> Implicit:
        """Union: min(f, g)."""
        return self._combined("union", other)

    def __and__(self, other: Implicit | Callable) -> Implicit:
        """Intersection: max(f, g)."""
        return self._combined("intersection", other)

    def __sub__(self, other: Implicit | Callable) -> Implicit:
        """Difference, the part of this shape outside the other: max(f, -g)."""
        return self & ~as_implicit(other) if callable(other) else NotImplemented

    def _combined(self, operation: str, other: Implicit | Callable) -> Implicit:
        return OPERATIONS[operation](self, as_implicit(other)) if callable(other) else NotImplemented

    def __invert__(self) -> Implicit:
        """The outside: -f."""
        return OPERATIONS["complement"](self)

    def offset(self, distance: float) -> Implicit:
        """The shape grown by a distance, or shrunk by a negative one.

        The distance is that to the nearest point of the surface. Where f is not known to be it (:attr:`exact`), the
        surface is meshed first, when values are first asked for; then f matters only near its zeros.
        """
        return OPERATIONS["offset"](self, distance)

    def level(self, value: float) -> Implicit:
        """f - value: the surface on which f has a value; an offset only where f is a distance."""
        return OPERATIONS["level"](self, value)

    def surface_points(self) -> np.ndarray:
        """Many points on the surface (n, d), about half a :attr:`resolution` apart, or a 256th of the diagonal."""
        return OPERATIONS["surface_points"](self)

    def seeds(self) -> np.ndarray | None:
        """Points near the surface, if the shape knows them: from there it is meshed faster."""
        return None

    def translate(self, vector: ArrayLike) -> Implicit:
        """The shape moved by a vector."""
        return OPERATIONS["motion"](self, shift=vector)

    def rotate(self, rotation: ArrayLike | Rotation, origin: ArrayLike = 0.0) -> Implicit:
        """The shape turned about an origin, x -> R (x - origin) + origin; R a matrix or a SciPy Rotation."""
        matrix = rotation.as_matrix() if isinstance(rotation, Rotation) else np.asarray(rotation, dtype=float)
        origin = np.broadcast_to(np.asarray(origin, dtype=float), (self.dimension,))
        if matrix.shape != (self.dimension, self.dimension):
            raise ValueError(f"rotation must be a matrix of shape {(self.dimension,) * 2}, got {matrix.shape}.")
        return OPERATIONS["motion"](self, rotation=matrix, shift=origin - matrix @ origin)

    def scale(self, factor: float, origin: ArrayLike = 0.0) -> Implicit:
        """The shape enlarged about an origin; its values are scaled too, so that f stays in units of length."""
        origin = np.broadcast_to(np.asarray(origin, dtype=float), (self.dimension,))
        return OPERATIONS["motion"](self, factor=factor, shift=(1 - factor) * origin)

    def _points(self, X: ArrayLike) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        return X


class Wrapped(Implicit):
    """A function as a shape; see :func:`as_implicit`."""

    thread_safe = False

    def __init__(self, function: Any, dimension: int, bounds: Bounds | None, resolution, lipschitz, step):
        self.function, self.dimension, self.bounds = function, dimension, bounds
        self.resolution, self.lipschitz = resolution, lipschitz
        self.step = 1e-4 * self.extent() if step is None else float(step)

    def __repr__(self) -> str:
        return f"as_implicit({self.function!r})"

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
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

    def _differences(self, X: np.ndarray, value: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
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


def as_implicit(
    function: Implicit | Callable,
    *,
    bounds: Sequence[ArrayLike] | np.ndarray | None = None,
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
    bounds : pair of points, optional, a box around the shape; by default that of the function, if it has one
    dimension : int, optional
        By default that of the function or of the bounds, else 3.
    resolution, lipschitz : float, optional
        See :class:`Implicit`. The resolution of a field is its finest spacing.
    step : float, optional
        Of the differences; 1e-4 of the extent by default.

    Returns
    -------
    Implicit

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.shapes import as_implicit
    >>> ball = as_implicit(lambda X: np.linalg.norm(X, axis=1) - 2, bounds=([-2, -2, -2], [2, 2, 2]))
    >>> ball.curvature([[0.0, 0.0, 2.0]]).mean.round(4)
    array([0.5])

    See Also
    --------
    Box, Sphere, Torus, Capsule, Plane : Shapes with exact distances.
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
        resolution = function.tree.spacing(function.depth) * function.tree.box.finest_unit
    return Wrapped(function, dimension, bounds, resolution, lipschitz, step)


def _nearest_root(value: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The zero of value + slope s + bend s^2 / 2 of least |s|, slope > 0; or half the way to the vertex."""
    discriminant = slope**2 - 2 * value * bend
    root = -2 * value / (slope + np.sqrt(np.maximum(discriminant, 0.0)))
    return np.where(discriminant < 0, -slope / (2 * np.where(bend == 0, 1.0, bend)), root)


def _tangents(normals: np.ndarray) -> np.ndarray:
    """Orthonormal vectors across unit normals, as columns: (n, d, d - 1)."""
    if normals.shape[1] == 2:
        return np.stack([-normals[:, 1], normals[:, 0]], axis=1)[:, :, None]
    least = np.argmin(np.abs(normals), axis=1)
    first = unit_rows(np.cross(normals, np.eye(3)[least]))
    return np.stack([first, np.cross(normals, first)], axis=2)
