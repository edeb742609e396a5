"""Light and colour for the ray tracer and the rasteriser: soft light on matt surfaces, antialiased pictures.

Colours are given and returned as one sees them (sRGB, 0 to 1); light is added up in linear intensities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

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
_GAMMA = 2.2
_AMBIENT, _SKY = 0.18, 0.10
_WRAP = 0.2  # how far diffuse light reaches around the edge of the lit side
_GLOSS, _SHARPNESS = 0.12, 40.0
_HAZE = 0.12
_INNER = 0.72
_TILE_RAYS = 2**15

_DIVERGING = np.array(
    [
        [0.075, 0.180, 0.400],
        [0.130, 0.375, 0.640],
        [0.330, 0.590, 0.785],
        [0.640, 0.800, 0.895],
        [0.960, 0.955, 0.945],
        [0.955, 0.770, 0.670],
        [0.870, 0.500, 0.400],
        [0.705, 0.220, 0.215],
        [0.410, 0.050, 0.130],
    ]
)


@dataclass(frozen=True, eq=False)
class Light:
    """Light from far away.

    Attributes
    ----------
    direction : 3 numbers
        Towards the light; to the right, up and towards the viewer if it follows the camera, else in space.
    strength : float
    color : 3 numbers
    follows_camera : bool
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


LIGHTS = (
    Light((-0.50, 0.70, 0.80), 0.80, (1.0, 0.985, 0.96)),
    Light((0.90, 0.10, 0.55), 0.26, (0.93, 0.96, 1.0)),
)


def linear(color) -> np.ndarray:
    """Intensities of colours 0 to 1."""
    return np.asarray(color, dtype=float) ** _GAMMA


def encoded(intensity: np.ndarray) -> np.ndarray:
    """Intensities as bytes of a picture."""
    return np.rint(255 * np.clip(intensity, 0.0, 1.0) ** (1 / _GAMMA)).astype(np.uint8)


def diverging(values) -> np.ndarray:
    """Colours (n, 3) of values from -1 (blue, inside) over 0 (white) to 1 (red, outside)."""
    position = (np.clip(np.nan_to_num(np.asarray(values, dtype=float)), -1, 1) + 1) / 2
    anchors = np.linspace(0, 1, len(_DIVERGING))
    return np.stack([np.interp(position, anchors, column) for column in _DIVERGING.T], axis=-1)


def as_colors(color, n: int, name: str = "colors") -> np.ndarray:
    """A constant colour or one for each of n points, bytes or 0 to 1, as floats (n, 3)."""
    color = np.asarray(color)
    scaled = color / 255.0 if color.dtype == np.uint8 else color.astype(float)
    if scaled.ndim == 0 or scaled.shape[-1] not in (3, 4) or scaled.shape[:-1] not in ((), (n,)):
        raise ValueError(f"{name} must be one colour (3,) or one for each point ({n}, 3), got shape {color.shape}.")
    if not (np.isfinite(scaled).all() and (scaled >= 0).all() and (scaled <= 1).all()):
        raise ValueError(f"{name} must lie between 0 and 1, or be bytes (uint8).")
    return np.broadcast_to(scaled[..., :3], (n, 3))


@dataclass(frozen=True)
class Studio:
    """A camera, lights and a background, and the range of depths over which things fade a little."""

    camera: Camera
    lights: Sequence[Light]
    background: object
    near: float
    far: float

    @classmethod
    def around(cls, bounds, camera: Camera, lights, background) -> Studio:
        """For things in a box."""
        lights = LIGHTS if lights is None else tuple(lights)
        centre, radius = (bounds[0] + bounds[1]) / 2, np.linalg.norm(bounds[1] - bounds[0]) / 2
        depth = float(camera.depth(centre[None])[0])
        return cls(camera, lights, background, depth - radius, depth + radius)

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
        haze = linear(BACKGROUND if self.background is None else self.background).reshape(-1, 3).mean(axis=0)
        share = _HAZE * depth[:, None]
        return (1 - share) * intensity + share * haze


def paint(
    size: tuple[int, int],
    samples: int,
    background,
    look: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    n_jobs: int = 1,
    progress: bool = False,
) -> np.ndarray:
    """A picture from ``look(pixels) -> intensities (n, 3), covered (n,)``, averaged over samples x samples in a pixel.

    It is painted in strips of bounded memory that do not depend on the number of threads. ``background`` is a colour,
    a pair of colours for top and bottom, or None for a transparent picture (four channels).
    """
    width, height = (int(side) for side in size)
    if width < 1 or height < 1 or samples < 1:
        raise ValueError(f"size and samples must be positive, got {size} and {samples}.")
    top, bottom = _backdrop(background)
    rows_of_strip = max(1, _TILE_RAYS // (width * samples**2))
    image = np.empty((height, width, 4 if background is None else 3), dtype=np.uint8)

    def strip(begin: int) -> None:
        end = min(begin + rows_of_strip, height)
        intensity, cover = look(_sample_positions(width, begin, end, samples))
        intensity = intensity.reshape(end - begin, width, samples**2, 3)
        cover = cover.reshape(end - begin, width, samples**2).astype(float)
        seen = (intensity * cover[..., None]).sum(axis=2)
        if background is None:
            image[begin:end, :, :3] = encoded(seen / np.maximum(cover.sum(axis=2), 1.0)[..., None])
            image[begin:end, :, 3] = np.rint(255 * cover.mean(axis=2))
            return
        height_share = ((np.arange(begin, end) + 0.5) / height)[:, None, None]
        behind = (1 - height_share) * top + height_share * bottom
        image[begin:end] = encoded(seen / samples**2 + (1 - cover.mean(axis=2)[..., None]) * behind)

    begins = range(0, height, rows_of_strip)
    with tqdm(total=len(begins), desc="drawing", disable=not progress, leave=False) as bar:
        if n_jobs == 1:
            results = (strip(begin) for begin in begins)
        else:
            results = Parallel(n_jobs, backend="threading", return_as="generator")(delayed(strip)(b) for b in begins)
        for _ in results:
            bar.update()
    return image


def _backdrop(background) -> tuple[np.ndarray, np.ndarray]:
    if background is None:
        return np.zeros(3), np.zeros(3)
    colors = np.asarray(background, dtype=float)
    if colors.shape not in ((3,), (2, 3)) or not ((colors >= 0) & (colors <= 1)).all():
        raise ValueError(
            f"background must be a colour, a pair of colours (top, bottom) from 0 to 1, or None, got {background!r}."
        )
    colors = linear(colors).reshape(-1, 3)
    return colors[0], colors[-1]


def _sample_positions(width: int, begin: int, end: int, samples: int) -> np.ndarray:
    """Pixel coordinates of the samples: rows, then columns, then the samples of a pixel."""
    inside = (np.arange(samples) + 0.5) / samples
    shape = (end - begin, width, samples, samples)
    y = np.broadcast_to((np.arange(begin, end)[:, None] + inside)[:, None, :, None], shape)
    x = np.broadcast_to((np.arange(width)[:, None] + inside)[None, :, None, :], shape)
    return np.stack([x.ravel(), y.ravel()], axis=1)
