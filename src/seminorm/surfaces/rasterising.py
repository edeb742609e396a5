"""Pictures of triangle meshes and of point clouds, by filling a buffer of depths."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from ..memory import require_memory
from . import _raster as loops
from .cameras import Camera, Perspective, fit
from .shading import BACKGROUND, PALETTE, Studio, as_colors, paint

_SPACING_SAMPLE = 2000
_VIEW_AHEAD = 1e-6  # nearest depth that a perspective camera sees, in units of the size of what is drawn


def rasterise(vertices, faces, camera: Camera, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Which face is seen at the centre of each pixel, and how deep it lies.

    Parameters
    ----------
    vertices : array (n, 3)
    faces : int array (m, 3)
    camera : Camera
        Faces with a vertex behind a perspective camera are left out.
    size : (width, height)

    Returns
    -------
    faces : int array (height, width)
        -1 where no face is seen.
    depths : array (height, width)
        Along the direction of the camera, infinite where no face is seen.
    """
    vertices, faces = _mesh(vertices, faces)
    owner, front, _, _ = _visible_faces(vertices, faces, camera, size)
    if isinstance(camera, Perspective):
        front = np.divide(-1.0, front, out=np.full_like(front, np.inf), where=owner >= 0)
    return owner, front


def render_mesh(
    vertices,
    faces,
    camera: Camera | None = None,
    *,
    size: tuple[int, int] = (800, 600),
    colors=None,
    normals=None,
    smooth: bool = True,
    lights=None,
    background=BACKGROUND,
    samples: int = 2,
    progress: bool = False,
) -> np.ndarray:
    """Draw a triangle mesh.

    Parameters
    ----------
    vertices : array (n, 3)
    faces : int array (m, 3)
        Counter-clockwise seen from outside; inner sides are drawn darker.
    camera : Camera, optional
        By default one in perspective that shows the mesh from the front, the right and above.
    size : (width, height)
        In pixels.
    colors : optional
        A colour (3,), one for each vertex (n, 3), or a function X -> (k, 3) of points on the surface; bytes, or floats
        from 0 to 1.
    normals : array (n, 3), optional
        Of the vertices; by default the mean of those of the faces around, weighted by area.
    smooth : bool
        False shows flat faces.
    lights : sequence of Light, optional
    background : colour, pair of colours (top, bottom), or None for a transparent picture with a fourth channel
    samples : int
        samples x samples in a pixel, for smooth edges.
    progress : bool
        Show a bar.

    Returns
    -------
    uint8 array (height, width, 3), or 4 for a transparent picture
    """
    vertices, faces = _mesh(vertices, faces)
    used = vertices[faces.ravel()] if len(faces) < len(vertices) else vertices
    bounds = used.min(axis=0), used.max(axis=0)
    camera = fit(bounds, size=size) if camera is None else camera
    studio = Studio.around(bounds, camera, lights, background)
    fine = size[0] * samples, size[1] * samples
    owner, _, pixels, depth = _visible_faces(vertices, faces, camera, fine)
    vertex_normals = _vertex_normals(vertices, faces, normals) if smooth else None
    colors = PALETTE[0] if colors is None else colors
    if not callable(colors):
        colors = as_colors(colors, len(vertices))

    def look(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = positions * samples
        seen = owner[positions[:, 1].astype(int), positions[:, 0].astype(int)]
        hit = np.flatnonzero(seen >= 0)
        corners = faces[seen[hit]]
        weights = _weights(pixels[corners], positions[hit])
        if isinstance(camera, Perspective):  # what is linear on the picture is 1 / depth
            weights = weights / depth[corners]
            weights /= weights.sum(axis=1, keepdims=True)
        points = np.einsum("nk,nkd->nd", weights, vertices[corners])
        shown = _shading_normals(
            vertices[corners], weights, None if vertex_normals is None else vertex_normals[corners]
        )
        if callable(colors):
            own = colors(points)
        else:  # rounding may lead a hair beyond the range
            own = np.clip(np.einsum("nk,nkd->nd", weights, colors[corners]), 0.0, 1.0)
        _, directions = camera.rays_through(positions[hit], fine)
        intensity = np.zeros((len(positions), 3))
        intensity[hit] = studio.shade(points, shown, directions, as_colors(own, len(points)))
        return intensity, seen >= 0

    return paint(size, samples, background, look, progress=progress)


def render_points(
    points,
    camera: Camera | None = None,
    *,
    size: tuple[int, int] = (800, 600),
    colors=None,
    normals=None,
    radius: float | None = None,
    lights=None,
    background=BACKGROUND,
    samples: int = 2,
    progress: bool = False,
) -> np.ndarray:
    """Draw points as small balls, or as discs lit by their normals.

    Parameters
    ----------
    points : array (n, 3)
    camera : Camera, optional
        By default one in perspective that shows the points from the front, the right and above.
    size : (width, height)
        In pixels.
    colors : optional
        A colour (3,) or one for each point (n, 3); bytes, or floats from 0 to 1.
    normals : array (n, 3), optional
        Outward normals; points whose normals point away are drawn darker.
    radius : float, optional
        Of the balls; by default 0.6 times the median distance between neighbours.
    lights, background, samples, progress
        See :func:`render_mesh`.

    Returns
    -------
    uint8 array (height, width, 3), or 4 for a transparent picture
    """
    points = _coordinates(points, "points")
    if len(points) == 0:
        raise ValueError("points is empty: there is nothing to draw.")
    normals = None if normals is None else _unit_rows(_like(normals, points, "normals"))
    colors = as_colors(PALETTE[1] if colors is None else colors, len(points))
    bounds = points.min(axis=0), points.max(axis=0)
    radius = _typical_radius(points) if radius is None else float(radius)
    camera = fit((bounds[0] - radius, bounds[1] + radius), size=size) if camera is None else camera
    studio = Studio.around(bounds, camera, lights, background)
    fine = size[0] * samples, size[1] * samples
    pixels, depth = _seen(points, camera, fine)
    reach = np.maximum(_pixels_of(radius, depth, camera, fine), 0.5)
    owner, front = _buffers(fine)
    loops.fill_discs(pixels, depth, radius, reach, owner, front)

    def look(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = positions * samples
        seen = owner[positions[:, 1].astype(int), positions[:, 0].astype(int)]
        hit = np.flatnonzero(seen >= 0)
        point = seen[hit]
        if normals is None:
            side = (positions[hit] - pixels[point]) * [1.0, -1.0] / reach[point, None]
            shown = np.column_stack([side, np.sqrt(np.maximum(1 - (side**2).sum(axis=1), 0.0))]) @ camera.frame
            shown = _unit_rows(shown)
        else:
            shown = normals[point]
        _, directions = camera.rays_through(positions[hit], fine)
        intensity = np.zeros((len(positions), 3))
        intensity[hit] = studio.shade(points[point], shown, directions, colors[point])
        return intensity, seen >= 0

    return paint(size, samples, background, look, progress=progress)


def _visible_faces(vertices, faces, camera: Camera, size):
    """The faces seen, what is compared to find them, and the pixels and depths of the vertices."""
    pixels, depth = _seen(vertices, camera, size)
    owner, front = _buffers(size)
    nearness = -1.0 / depth if isinstance(camera, Perspective) else depth
    loops.fill_triangles(pixels, nearness, faces, owner, front)
    return owner, front, pixels, depth


def _seen(points, camera: Camera, size) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and depths of points, NaN for what a perspective camera has behind it."""
    pixels, depth = camera.project_with_depth(points, size)
    if isinstance(camera, Perspective):
        behind = depth <= _VIEW_AHEAD * max(np.abs(depth).max(initial=0.0), np.finfo(float).tiny)
        pixels[behind], depth[behind] = np.nan, np.nan
    return pixels, depth


def _buffers(size) -> tuple[np.ndarray, np.ndarray]:
    width, height = size
    if width < 1 or height < 1:
        raise ValueError(f"size and samples must be positive, got a picture of {width} x {height} samples.")
    require_memory(40 * width * height, "the buffer of depths", "draw a smaller picture, or with fewer samples.")
    return np.full((height, width), -1, dtype=np.int64), np.full((height, width), np.inf)


def _pixels_of(radius: float, depth: np.ndarray, camera: Camera, size) -> np.ndarray:
    """A length in pixels, at given depths."""
    if isinstance(camera, Perspective):
        return radius * min(size) / (2 * camera.half_width * depth)
    return np.full(len(depth), radius * min(size) / camera.span)


def _weights(corners: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of pixels in projected triangles (n, 3, 2)."""
    spokes = corners - positions[:, None]
    after, before = np.roll(spokes, -1, axis=1), np.roll(spokes, 1, axis=1)
    areas = after[:, :, 0] * before[:, :, 1] - before[:, :, 0] * after[:, :, 1]
    return areas / areas.sum(axis=1, keepdims=True)


def _shading_normals(triangles, weights, vertex_normals) -> np.ndarray:
    """Interpolated normals, on the side of the face's own; the face's own where there are none to interpolate."""
    flat = _unit_rows(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]))
    if vertex_normals is None:
        return flat
    mixed = _unit_rows(np.einsum("nk,nkd->nd", weights, vertex_normals))
    return np.where(((mixed * flat).sum(axis=1) > 0)[:, None], mixed, flat)


def _vertex_normals(vertices, faces, given) -> np.ndarray:
    if given is not None:
        return _unit_rows(_like(given, vertices, "normals"))
    corners = vertices[faces]
    doubled_areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.empty_like(vertices)
    for axis in range(3):
        repeated = np.repeat(doubled_areas[:, axis], 3)
        total[:, axis] = np.bincount(faces.ravel(), weights=repeated, minlength=len(vertices))
    return _unit_rows(total)


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _typical_radius(points: np.ndarray) -> float:
    """0.6 of the median distance from a sample of the points to their nearest neighbours."""
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    sample = points[:: max(1, len(points) // _SPACING_SAMPLE)]
    distances = cKDTree(points).query(sample, k=2)[0][:, 1] if len(points) > 1 else np.zeros(1)
    distances = distances[np.isfinite(distances) & (distances > 0)]
    return 0.6 * float(np.median(distances)) if len(distances) else max(0.01 * size, 1e-3)


def _mesh(vertices, faces) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = _coordinates(vertices, "vertices"), np.asarray(faces)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or len(faces) == 0:
        raise ValueError(f"faces must be integers of shape (m, 3), got {faces.dtype} of shape {faces.shape}.")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(f"faces must lie between 0 and {len(vertices) - 1}, got {faces.min()} to {faces.max()}.")
    return vertices, faces.astype(np.int64)


def _coordinates(points, name: str) -> np.ndarray:
    points = np.ascontiguousarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"{name} must have shape (n, 3), got {points.shape}.")
    if not np.isfinite(points).all():
        raise ValueError(f"{name} has NaN or infinity: remove these points.")
    return points


def _like(vectors, points: np.ndarray, name: str) -> np.ndarray:
    vectors = _coordinates(vectors, name)
    if len(vectors) != len(points):
        raise ValueError(f"{name} must have {len(points)} rows, one for each point, got {len(vectors)}.")
    return vectors
