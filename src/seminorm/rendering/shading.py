"""Light and colour for the ray tracer and the rasteriser: soft light on matt surfaces.

Colours are given and returned as one sees them (sRGB, 0 to 1); light is added up in linear intensities.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..shapes.implicit import Bounds
from .cameras import Camera

PALETTE = np.array(
    [
        [0.90, 0.68, 0.48],
        [0.48, 0.68, 0.84],
        [0.56, 0.72, 0.47],
        [0.80, 0.48, 0.52],
        [0.64, 0.56, 0.78],
        [0.82, 0.74, 0.46],
    ]
)
BACKGROUND = ((0.965, 0.970, 0.978), (0.840, 0.855, 0.880))
_AMBIENT, _SKY = 0.18, 0.10
_WRAP = 0.2  # how far diffuse light reaches around the edge of the lit side
_GLOSS, _SHARPNESS = 0.12, 40.0
_HAZE = 0.12
_INNER = 0.72


@dataclass(frozen=True, eq=False)
class Light:
    """Light from far away.

    Attributes
    ----------
    direction : 3 numbers, towards the light: right, up and towards the viewer if it follows the camera, else in space
    strength, color, follows_camera : float
        3 numbers, bool.

    See Also
    --------
    Picture

    Examples
    --------
    >>> from seminorm.rendering import Light, Picture
    >>> sun = Light((0.0, 0.0, 1.0), strength=1.2, follows_camera=False)
    >>> Picture(lights=[sun]).lights[0].strength
    1.2
    """

    direction: Sequence[float]
    strength: float = 1.0
    color: Sequence[float] = (1.0, 1.0, 1.0)
    follows_camera: bool = True

    def towards(self, camera: Camera) -> np.ndarray:
        """Unit vector towards the light, in space."""
        direction = np.asarray(self.direction, dtype=float)
        if direction.shape != (3,) or not np.linalg.norm(direction) > 0:
            raise ValueError(f"direction of a light must be 3 numbers that are not all zero, got {self.direction!r}.")
        direction = direction / np.linalg.norm(direction)
        return direction @ camera.frame if self.follows_camera else direction


LIGHTS = (Light((-0.50, 0.70, 0.80), 0.80, (1.0, 0.985, 0.96)), Light((0.90, 0.10, 0.55), 0.26, (0.93, 0.96, 1.0)))


def linear(color: ArrayLike) -> np.ndarray:
    """Intensities of sRGB colours (IEC 61966-2-1), both from 0 to 1, of any shape."""
    color = np.asarray(color, dtype=float)
    return np.where(color <= 0.04045, color / 12.92, ((np.maximum(color, 0.0) + 0.055) / 1.055) ** 2.4)


def encoded(intensity: ArrayLike) -> np.ndarray:
    """Intensities from 0 to 1, of any shape, as bytes of a picture in sRGB; what lies beyond is clipped."""
    light = np.clip(intensity, 0.0, 1.0)
    color = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(255 * color).astype(np.uint8)


def as_colors(color, n: int, name: str = "colors") -> np.ndarray:
    """A constant colour or one for each of n points, bytes or 0 to 1, as floats (n, 3)."""
    color = np.asarray(color)
    scaled = color / 255.0 if color.dtype == np.uint8 else color.astype(float)
    if scaled.ndim == 0 or scaled.shape[-1] not in (3, 4) or scaled.shape[:-1] not in ((), (n,)):
        raise ValueError(f"{name} must be one colour (3,) or one for each point ({n}, 3), got shape {color.shape}.")
    if not (np.isfinite(scaled).all() and (scaled >= 0).all() and (scaled <= 1).all()):
        raise ValueError(f"{name} must lie between 0 and 1, or be bytes (uint8).")
    return np.broadcast_to(scaled[..., :3], (n, 3))


@dataclass(frozen=True, eq=False)
class Studio:
    """A camera, lights, and a haze with the range of depths over which things fade into it a little."""

    camera: Camera
    lights: Sequence[Light]
    haze: np.ndarray
    near: float
    far: float

    @classmethod
    def around(cls, bounds: Bounds, camera: Camera, lights: Sequence[Light], haze: np.ndarray) -> "Studio":
        """For things in a box."""
        center, radius = (bounds[0] + bounds[1]) / 2, float(np.linalg.norm(bounds[1] - bounds[0])) / 2
        depth = float(camera.depth(center[None])[0])
        return cls(camera, tuple(lights), haze, depth - radius, depth + radius)

    def shade(self, points, normals, directions, colors, lit: np.ndarray | None = None) -> np.ndarray:
        """Intensities (n, 3) of surface points seen along directions.

        Normals are outward; where they point away from the viewer one sees the inner side, drawn darker. ``lit``
        (lights, n) says what light reaches, all by default.
        """
        away = (normals * directions).sum(axis=1) > 0
        normals = np.where(away[:, None], -normals, normals)
        albedo = linear(colors) * np.where(away, _INNER, 1.0)[:, None]
        light = np.repeat((_AMBIENT + _SKY * (normals @ self.camera.up))[:, None], 3, axis=1)
        gloss = np.zeros((len(points), 1))
        for number, source in enumerate(self.lights):
            towards = source.towards(self.camera)
            share = np.maximum((normals @ towards + _WRAP) / (1 + _WRAP), 0.0)
            half = towards - directions
            half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12)
            shine = np.maximum((normals * half).sum(axis=1), 0.0) ** _SHARPNESS
            if lit is not None:
                share, shine = share * lit[number], shine * lit[number]
            light += source.strength * share[:, None] * np.asarray(source.color, dtype=float)
            gloss += source.strength * shine[:, None]
        return self._faded(albedo * light + _GLOSS * gloss, points)

    def _faded(self, intensity: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Mix in some of the background with depth."""
        span = self.far - self.near
        depth = np.clip((self.camera.depth(points) - self.near) / (span if span > 0 else 1.0), 0.0, 1.0)
        share = _HAZE * depth[:, None]
        return (1 - share) * intensity + share * self.haze
