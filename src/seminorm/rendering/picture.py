"""What a picture is to look like, whatever it shows: size, view, light, background and smooth edges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from ..shapes.implicit import Bounds
from .cameras import DEFAULT_DIRECTION, Camera, fit
from .shading import BACKGROUND, LIGHTS, Light, Studio, encoded, linear

_TILE_RAYS = 2**15

Color = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Picture:
    """A description of a picture, for :func:`render`, :func:`render_mesh` and :func:`render_points`.

    Attributes
    ----------
    size : (width, height)
        In pixels.
    camera : Camera, optional
        By default one that shows everything from the direction.
    direction : 3 numbers, where the camera looks; by default from the front, the right and above
    up : 3 numbers, optional, what is up in the picture; by default the z axis
    kind : "perspective" or "orthographic"
    lights : sequence of Light
    background : colour or pair (top, bottom), from 0 to 1; None for a transparent picture, with a fourth channel
    samples : int
        Samples x samples per pixel, for smooth edges.

    See Also
    --------
    render, render_mesh, render_points

    Examples
    --------
    >>> from seminorm.rendering import Picture, render
    >>> from seminorm.shapes import Sphere
    >>> render(Sphere([0, 0, 0], 1), Picture(size=(40, 30), direction=(0, 1, 0), background=None)).shape
    (30, 40, 4)
    """

    size: tuple[int, int] = (800, 600)
    camera: Camera | None = None
    direction: Sequence[float] = DEFAULT_DIRECTION
    up: Sequence[float] | None = None
    kind: str = "perspective"
    lights: Sequence[Light] = LIGHTS
    background: Color | Sequence[Color] | None = BACKGROUND
    samples: int = 2

    def __post_init__(self):
        if min(self.size) < 1 or self.samples < 1:
            raise ValueError(f"size and samples must be positive, got {self.size} and {self.samples}.")
        self._backdrop()

    @property
    def fine_size(self) -> tuple[int, int]:
        """Width and height in samples."""
        return self.size[0] * self.samples, self.size[1] * self.samples

    def studio(self, bounds: Bounds, margin: float = 0.0) -> Studio:
        """The camera, or one that shows the box and a margin around it, with light for things in the box."""
        camera = self.camera
        if camera is None:
            wide = bounds[0] - margin, bounds[1] + margin
            camera = fit(wide, self.direction, self.kind, up=self.up, size=self.size)
        backdrop = np.asarray(BACKGROUND if self.background is None else self.background, dtype=float)
        haze = linear(backdrop).reshape(-1, 3).mean(axis=0)
        return Studio.around(bounds, camera, self.lights, haze)

    def paint(
        self, look: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], threads: int = 1, verbose: bool = False
    ) -> np.ndarray:
        """The picture of ``look(pixels) -> intensities (n, 3), covered (n,)``, averaged over the samples of a pixel."""
        (width, height), samples = self.size, self.samples
        top, bottom = self._backdrop()
        rows_of_strip = max(1, _TILE_RAYS // (width * samples**2))
        image = np.empty((height, width, 4 if self.background is None else 3), dtype=np.uint8)

        def strip(begin: int) -> None:
            end = min(begin + rows_of_strip, height)
            intensity, cover = look(_sample_positions(width, begin, end, samples))
            intensity = intensity.reshape(end - begin, width, samples**2, 3)
            cover = cover.reshape(end - begin, width, samples**2).astype(float)
            seen = (intensity * cover[..., None]).sum(axis=2)
            if self.background is None:
                image[begin:end, :, :3] = encoded(seen / np.maximum(cover.sum(axis=2), 1.0)[..., None])
                image[begin:end, :, 3] = np.rint(255 * cover.mean(axis=2))
                return
            height_share = ((np.arange(begin, end) + 0.5) / height)[:, None, None]
            behind = (1 - height_share) * top + height_share * bottom
            image[begin:end] = encoded(seen / samples**2 + (1 - cover.mean(axis=2)[..., None]) * behind)

        begins = range(0, height, rows_of_strip)
        jobs = Parallel(threads, backend="threading", return_as="generator")
        with tqdm(total=len(begins), desc="drawing", disable=not verbose, leave=False) as bar:
            for _ in jobs(delayed(strip)(begin) for begin in begins) if threads != 1 else map(strip, begins):
                bar.update()
        return image

    def _backdrop(self) -> tuple[np.ndarray, np.ndarray]:
        """Intensities of the background at the top and at the bottom."""
        if self.background is None:
            return np.zeros(3), np.zeros(3)
        colors = np.asarray(self.background, dtype=float)
        if colors.shape not in ((3,), (2, 3)) or not ((colors >= 0) & (colors <= 1)).all():
            kinds = "a colour, a pair of colours (top, bottom) from 0 to 1, or None"
            raise ValueError(f"background must be {kinds}, got {self.background!r}.")
        colors = linear(colors).reshape(-1, 3)
        return colors[0], colors[-1]


def _sample_positions(width: int, begin: int, end: int, samples: int) -> np.ndarray:
    """Pixel coordinates of the samples: rows, then columns, then the samples of a pixel."""
    inside = (np.arange(samples) + 0.5) / samples
    shape = (end - begin, width, samples, samples)
    y = np.broadcast_to((np.arange(begin, end)[:, None] + inside)[:, None, :, None], shape)
    x = np.broadcast_to((np.arange(width)[:, None] + inside)[None, :, None, :], shape)
    return np.stack([x.ravel(), y.ravel()], axis=1)
