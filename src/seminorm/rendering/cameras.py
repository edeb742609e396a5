"""Cameras: from pixels to rays and from points to pixels.

Pixel coordinates run from the top left corner, x to the right and y down; the centre of the first pixel is
(0.5, 0.5). What a camera shows is measured across the *shorter* side of the picture, so that it stays in view in
pictures of any shape.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np

from ..shapes.implicit import as_bounds

DEFAULT_DIRECTION = (-0.55, 0.75, -0.42)


@dataclass(frozen=True, eq=False)
class Camera(ABC):
    """What cameras share: a place and three orthonormal directions.

    Attributes
    ----------
    position : array (3,)
        The eye of a perspective camera, the middle of the picture of an orthographic one.
    direction, up : array (3,)
        Where the camera looks, and what is up in the picture: unit vectors at right angles.

    See Also
    --------
    Orthographic, Perspective
    """

    position: np.ndarray
    direction: np.ndarray
    up: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """The direction to the right in the picture."""
        return np.cross(self.direction, self.up)

    @property
    def frame(self) -> np.ndarray:
        """Right, up and towards the viewer as rows."""
        return np.stack([self.right, self.up, -self.direction])

    @classmethod
    def looking_at(cls, target, position=None, *, direction=None, up=None, **options) -> Self:
        """A camera that has the target in the middle of its picture.

        Give the position, or the direction, and it stands off the target by a unit of length. ``up`` is by default the
        z axis, or y if the camera looks along z; the options are ``span`` (orthographic) or ``field_of_view``
        (perspective).
        """
        target = np.asarray(target, dtype=float)
        if (position is None) == (direction is None):
            raise ValueError("looking_at needs either position or direction.")
        if position is None:
            forward = _unit(direction, "direction")
            position = target - forward
        else:
            position = np.asarray(position, dtype=float)
            forward = _unit(target - position, "the way from position to target")
        return cls(position, forward, _upright(forward, up), **options)

    def rays(self, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Origins and unit directions (width * height, 3) of the rays through the pixels, row by row."""
        x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        return self.rays_through(np.column_stack([x.ravel(), y.ravel()]), (width, height))

    @abstractmethod
    def rays_through(self, pixels: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Origins and unit directions of the rays through given pixel coordinates (n, 2)."""

    def project(self, X, size: tuple[int, int]) -> np.ndarray:
        """Pixel coordinates of points, (n, 2); NaN for points behind a perspective camera."""
        return self.project_with_depth(X, size)[0]

    @abstractmethod
    def project_with_depth(self, X, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Pixel coordinates (n, 2) of points, and their depths (n,) along the direction of the camera."""

    @abstractmethod
    def pixels_per_length(self, depth: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """How many pixels a unit of length takes at given depths (n,)."""

    def depth(self, X) -> np.ndarray:
        """Distances along the direction of the camera, (n,)."""
        return (np.asarray(X, dtype=float) - self.position) @ self.direction

    def _plane(self, pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """Pixels in half spans of the shorter side, from the middle, y upwards."""
        return (np.asarray(pixels) - np.array(size) / 2) * [2.0, -2.0] / min(size)

    def _pixels(self, plane: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        return plane * [0.5, -0.5] * min(size) + np.array(size) / 2


@dataclass(frozen=True, eq=False)
class Orthographic(Camera):
    """A camera with parallel rays.

    Attributes
    ----------
    span : float
        Length that the shorter side of the picture shows.

    See Also
    --------
    Perspective : A camera with an eye.

    Examples
    --------
    >>> from seminorm.rendering import Orthographic
    >>> camera = Orthographic.looking_at([0, 0, 0], direction=[0, 0, -1], span=2.0)
    >>> camera.project([[0.5, 0.0, 9.0]], size=(100, 100))
    array([[75., 50.]])
    """

    span: float = 2.0

    def rays_through(self, pixels, size):
        plane = self._plane(pixels, size) * (self.span / 2)
        origins = self.position + plane[:, :1] * self.right + plane[:, 1:] * self.up
        return origins, np.tile(self.direction, (len(origins), 1))

    def project_with_depth(self, X, size):
        seen = (np.asarray(X, dtype=float) - self.position) @ np.stack([self.right, self.up, self.direction], axis=1)
        return self._pixels(seen[:, :2] / (self.span / 2), size), seen[:, 2]

    def pixels_per_length(self, depth, size):
        return np.full(len(depth), min(size) / self.span)


@dataclass(frozen=True, eq=False)
class Perspective(Camera):
    """A camera whose rays start at its eye.

    Attributes
    ----------
    field_of_view : float
        Angle in degrees that the shorter side of the picture shows.

    See Also
    --------
    Orthographic : A camera with parallel rays.

    Examples
    --------
    >>> from seminorm.rendering import Perspective
    >>> camera = Perspective.looking_at([0, 0, 0], [0, -2, 0], field_of_view=90)
    >>> camera.project([[0.0, 0.0, 1.0]], size=(100, 100)).round(6)
    array([[50., 25.]])
    """

    field_of_view: float = 30.0

    @property
    def half_width(self) -> float:
        """Half of what the shorter side shows at depth 1."""
        return float(np.tan(np.radians(self.field_of_view) / 2))

    def rays_through(self, pixels, size):
        plane = self._plane(pixels, size) * self.half_width
        directions = self.direction + plane[:, :1] * self.right + plane[:, 1:] * self.up
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.tile(self.position, (len(directions), 1)), directions

    def project_with_depth(self, X, size):
        seen = (np.asarray(X, dtype=float) - self.position) @ np.stack([self.right, self.up, self.direction], axis=1)
        depth = seen[:, 2]
        plane = seen[:, :2] / np.where(depth > 0, depth, np.nan)[:, None] / self.half_width
        return self._pixels(plane, size), depth

    def pixels_per_length(self, depth, size):
        return min(size) / (2 * self.half_width * depth)


def fit(
    bounds,
    direction=DEFAULT_DIRECTION,
    kind: str = "perspective",
    *,
    up=None,
    size: tuple[int, int] = (1, 1),
    field_of_view: float = 30.0,
    margin: float = 0.06,
) -> Camera:
    """A camera that shows a whole box from a direction, with an empty border relative to the picture.

    ``size`` is (width, height) of the picture; by default a square, and then any picture shows the whole box. ``kind``
    is "perspective" or "orthographic", ``up`` by default the z axis, or y if the camera looks along z.
    """
    low, high = as_bounds(bounds)
    if len(low) != 3:
        raise ValueError(f"bounds must have 3 coordinates, got {len(low)}.")
    if not min(size) > 0:
        raise ValueError(f"size must be a positive width and height, got {size}.")
    forward = _unit(direction, "direction")
    up = _upright(forward, up)
    center = (low + high) / 2
    corners = np.array(list(product(*zip(low, high, strict=True)))) - center
    room = np.array(size) / min(size) * (1 - 2 * margin)
    across = np.abs(corners @ np.stack([np.cross(forward, up), up], axis=1)) / room
    radius = max(float(np.linalg.norm(high - low)) / 2, np.finfo(float).tiny)
    if kind == "orthographic":
        span = float(max(2 * across.max(), 1e-6 * radius))
        return Orthographic(center - 2 * radius * forward, forward, up, span=span)
    if kind != "perspective":
        raise ValueError(f'kind must be "perspective" or "orthographic", got {kind!r}.')
    half_width = np.tan(np.radians(field_of_view) / 2)
    away = max((across.max(axis=1) / half_width - corners @ forward).max(), 1.01 * radius)
    return Perspective(center - away * forward, forward, up, field_of_view=field_of_view)


def _unit(vector, name: str) -> np.ndarray:
    vector = np.asarray(vector, dtype=float)
    length = np.linalg.norm(vector)
    if vector.shape != (3,) or not np.isfinite(length) or length == 0:
        raise ValueError(f"{name} must be a vector of 3 coordinates that is not zero, got {vector}.")
    return vector / length


def _upright(forward: np.ndarray, up) -> np.ndarray:
    """The part of ``up`` across the view, of length 1."""
    if up is None:
        up = (0.0, 0.0, 1.0) if abs(forward[2]) < 0.999 else (0.0, 1.0, 0.0)
    up = _unit(up, "up")
    across = up - (up @ forward) * forward
    if np.linalg.norm(across) < 1e-6:
        raise ValueError(f"up {up} must not be along the direction of the camera {forward}.")
    return across / np.linalg.norm(across)
