"""Pictures of triangle meshes and of point clouds, by filling a buffer of depths."""

from collections.abc import Callable

import numpy as np

from .. import _native
from .._base.memory import require_memory
from .._base.spacing import neighbor_distances
from ..clouds.cloud import unit_rows
from .cameras import Camera, Perspective
from .picture import Picture
from .shading import PALETTE, Studio, as_colors

_Surfels = tuple[np.ndarray, np.ndarray, np.ndarray]  # points, normals and colours, (n, 3) each

_SPACING_SAMPLE = 2000
_CREASE = np.cos(np.radians(30.0))  # between the normals of a face and of a vertex on a crease
_VIEW_AHEAD = 1e-6  # nearest depth that a perspective camera sees, in units of the size of what is drawn


def rasterize(vertices, faces, camera: Camera, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Which face is seen at the centre of each pixel (height, width), -1 for none, and its depth, infinite for none.

    Faces with a vertex behind a perspective camera are left out.
    """
    vertices, faces = _mesh(vertices, faces)
    owner, front, _, _ = _visible_faces(vertices, faces, camera, size)
    if isinstance(camera, Perspective):
        front = np.divide(-1.0, front, out=np.full_like(front, np.inf), where=owner >= 0)
    return owner, front


def render_mesh(
    vertices,
    faces,
    picture: Picture | None = None,
    *,
    colors=None,
    normals=None,
    smooth: bool = True,
    verbose: bool = False,
) -> np.ndarray:
    """Draw a triangle mesh.

    Parameters
    ----------
    vertices : array (n, 3)
    faces : int array (m, 3)
        Counter-clockwise seen from outside; inner sides are drawn darker.
    picture : Picture, optional
        Size, view, light, background and smooth edges.
    colors : (3,)
        One for each vertex (n, 3), or a function X -> (k, 3) on the surface; bytes, or floats from 0 to 1.
    normals : array (n, 3), optional
        Of the vertices; by default the mean of the faces around, weighted by area.
    smooth : bool
        False shows flat faces.
    verbose : bool
        Show progress.

    Returns
    -------
    image : uint8 array (height, width, 3 or 4)
        Four channels for a transparent picture.

    See Also
    --------
    render, render_points : Draw shapes without a mesh, and points.

    Examples
    --------
    >>> from seminorm.rendering import Picture, render_mesh
    >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> render_mesh(corners, [[0, 1, 2]], Picture(size=(40, 30))).shape
    (30, 40, 3)
    """
    picture = Picture() if picture is None else picture
    vertices, faces = _mesh(vertices, faces)
    used = vertices[faces.ravel()] if len(faces) < len(vertices) else vertices
    studio = picture.studio((used.min(axis=0), used.max(axis=0)))
    owner, _, pixels, depth = _visible_faces(vertices, faces, studio.camera, picture.fine_size)
    vertex_normals = _vertex_normals(vertices, faces, normals) if smooth else None
    colors = PALETTE[0] if colors is None else colors
    if not callable(colors):
        colors = as_colors(colors, len(vertices))

    def surface(seen: np.ndarray, positions: np.ndarray) -> _Surfels:
        corners = faces[seen]
        weights = _weights(pixels[corners], positions)
        if isinstance(studio.camera, Perspective):  # what is linear on the picture is 1 / depth
            weights = weights / depth[corners]
            weights /= weights.sum(axis=1, keepdims=True)
        points = np.einsum("nk,nkd->nd", weights, vertices[corners])
        own_normals = None if vertex_normals is None else vertex_normals[corners]
        shown = _shading_normals(vertices[corners], weights, own_normals)
        if callable(colors):
            own = colors(points)
        else:  # rounding may lead a hair beyond the range
            own = np.clip(np.einsum("nk,nkd->nd", weights, colors[corners]), 0.0, 1.0)
        return points, shown, as_colors(own, len(points))

    return _painted(picture, studio, owner, surface, verbose)


def render_points(
    points,
    picture: Picture | None = None,
    *,
    colors=None,
    normals=None,
    radius: float | None = None,
    verbose: bool = False,
) -> np.ndarray:
    """Draw points as small balls, or as discs lit by their normals.

    Parameters
    ----------
    points : array (n, 3)
    picture : Picture, optional
        Size, view, light, background and smooth edges.
    colors : optional, a colour (3,) or one for each point (n, 3); bytes, or floats from 0 to 1
    normals : array (n, 3), optional
        Outward normals; points whose normals point away are drawn darker.
    radius : float, optional
        Of the balls; by default 0.6 times the median distance between neighbours.
    verbose : bool
        Show progress.

    Returns
    -------
    uint8 array (height, width, 3), or 4 for a transparent picture

    See Also
    --------
    render_mesh, render

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.rendering import Picture, render_points
    >>> render_points(np.eye(3), Picture(size=(40, 30), background=None), radius=0.1).shape
    (30, 40, 4)
    """
    picture = Picture() if picture is None else picture
    points = _coordinates(points, "points")
    if len(points) == 0:
        raise ValueError("points is empty: there is nothing to draw.")
    normals = None if normals is None else unit_rows(_like(normals, points, "normals"))
    colors = as_colors(PALETTE[1] if colors is None else colors, len(points))
    radius = _typical_radius(points) if radius is None else float(radius)
    studio = picture.studio((points.min(axis=0), points.max(axis=0)), margin=radius)
    pixels, depth = _seen(points, studio.camera, picture.fine_size)
    reach = np.maximum(radius * studio.camera.pixels_per_length(depth, picture.fine_size), 0.5)
    owner, front = _buffers(picture.fine_size)
    _native.fill_discs(pixels, depth, radius, reach, owner, front)

    def surface(seen: np.ndarray, positions: np.ndarray) -> _Surfels:
        if normals is not None:
            return points[seen], normals[seen], colors[seen]
        side = (positions - pixels[seen]) * [1.0, -1.0] / reach[seen, None]
        shown = np.column_stack([side, np.sqrt(np.maximum(1 - (side**2).sum(axis=1), 0.0))]) @ studio.camera.frame
        return points[seen], unit_rows(shown), colors[seen]

    return _painted(picture, studio, owner, surface, verbose)


def _painted(picture: Picture, studio: Studio, owner: np.ndarray, surface: Callable, verbose: bool) -> np.ndarray:
    """The picture of what owns each sample; ``surface`` gives points, normals and colours of owners at samples."""

    def look(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        positions = positions * picture.samples
        seen = owner[positions[:, 1].astype(int), positions[:, 0].astype(int)]
        hit = np.flatnonzero(seen >= 0)
        points, normals, colors = surface(seen[hit], positions[hit])
        _, directions = studio.camera.rays_through(positions[hit], picture.fine_size)
        intensity = np.zeros((len(positions), 3))
        intensity[hit] = studio.shade(points, normals, directions, colors)
        return intensity, seen >= 0

    return picture.paint(look, verbose=verbose)


def _visible_faces(vertices, faces, camera: Camera, size):
    """The faces seen, what is compared to find them, and the pixels and depths of the vertices."""
    pixels, depth = _seen(vertices, camera, size)
    owner, front = _buffers(size)
    nearness = -1.0 / depth if isinstance(camera, Perspective) else depth
    _native.fill_triangles(pixels, nearness, faces, owner, front)
    return owner, front, pixels, depth


def _seen(points, camera: Camera, size) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and depths of points, NaN for what a perspective camera has behind it."""
    pixels, depth = map(np.ascontiguousarray, camera.project_with_depth(points, size))
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


def _weights(corners: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of pixels in projected triangles (n, 3, 2)."""
    spokes = corners - positions[:, None]
    after, before = np.roll(spokes, -1, axis=1), np.roll(spokes, 1, axis=1)
    areas = after[:, :, 0] * before[:, :, 1] - before[:, :, 0] * after[:, :, 1]
    return areas / areas.sum(axis=1, keepdims=True)


def _shading_normals(triangles, weights, vertex_normals) -> np.ndarray:
    """Interpolated normals, on the side of the face's own; the face's own where there are none to interpolate, and at
    corners on a crease, where those of the vertices belong to no side."""
    flat = unit_rows(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]))
    if vertex_normals is None:
        return flat
    on_crease = (vertex_normals * flat[:, None]).sum(axis=2) < _CREASE
    own = np.where(on_crease[..., None], flat[:, None], vertex_normals)
    mixed = unit_rows(np.einsum("nk,nkd->nd", weights, own))
    return np.where(((mixed * flat).sum(axis=1) > 0)[:, None], mixed, flat)


def _vertex_normals(vertices, faces, given) -> np.ndarray:
    if given is not None:
        return unit_rows(_like(given, vertices, "normals"))
    corners = vertices[faces]
    doubled_areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.empty_like(vertices)
    for axis in range(3):
        repeated = np.repeat(doubled_areas[:, axis], 3)
        total[:, axis] = np.bincount(faces.ravel(), weights=repeated, minlength=len(vertices))
    return unit_rows(total)


def _typical_radius(points: np.ndarray) -> float:
    """0.6 of the median distance from a sample of the points to their nearest neighbours."""
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    distances = neighbor_distances(points, stride=max(1, len(points) // _SPACING_SAMPLE))
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
