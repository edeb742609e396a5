"""Surfaces that move: one function of space and time for points with times, cut at any moment."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from .._base.saving import load_npz, save_npz
from ..fields.field import Field
from ..shapes.attributes import FILLED, Neighborhood, distance_and_spacing
from ..shapes.extraction.marching import component_labels, extract
from ..shapes.extraction.trimming import SMOOTHING, smoothed
from ..shapes.implicit import Implicit, as_bounds
from ..shapes.mesh import Mesh
from .boundaries import BORDER, box_around, check_boundary, check_resolution, default_trim, trimmed

_MESH_CELLS = 64  # along the longest side, of the coarsest mesh by default
_FEWEST = 10  # points that are looked at for what supports a moment
_SUPPORTED = 0.05  # share of a component's vertices that must lie near data, or where data can have moved to
_LEAST_SLOPE = 0.2
_BOUNDARIES = ("closed", "open")
_MOTIONS = 3.0  # between two frames, that the time between them counts as
_FRAME_POINTS = 50  # on average, from which on points of one time are a frame
_GROUP_POINTS = 500  # in a group of points that were measured one by one
_LOOKS = 2000  # points of a frame whose motion is measured


class MovingSurface:
    """A surface that moves: the zero set of a field in space and time, as :func:`reconstruct_moving` makes it.

    Parameters
    ----------
    field : Field
        Of four coordinates, the last of which is time.
    points, times : arrays (n, 3) and (n,)
    details : dict, optional
        What was given or chosen.

    See Also
    --------
    Surface : One that does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import reconstruct_moving
    >>> ball = np.random.default_rng(0).standard_normal((200, 3))
    >>> ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    >>> points, normals, times = np.concatenate([ball, ball + [2, 0, 0]]), np.tile(ball, (2, 1)), [0] * 200 + [1] * 200
    >>> moving = reconstruct_moving(points, normals, times, depth=2, smoothness=0.1, tolerance=0.1)
    >>> moving.at(1.0).inside([[2.0, 0.0, 0.0], [-0.5, 0.0, 0.0]]).tolist()
    [True, False]
    """

    def __init__(self, field: Field, points: np.ndarray, times: np.ndarray, details: dict | None = None):
        self.field, self.points, self.times, self.details = field, points, times, dict(details or {})

    def __repr__(self):
        return (
            f"<MovingSurface of {len(self.points)} points at times {self.times.min():.4g} to {self.times.max():.4g}: "
            f"depth {self.field.depth}, {self.field.n_coef} coefficients>"
        )

    def at(self, time: float) -> Moment:
        """The surface at a time that the field covers, some way beyond those of the data: a shape in space."""
        low, high = self.field.bounds
        if not (np.isfinite(time) and low[-1] <= time <= high[-1]):
            raise ValueError(
                f"time={time!r} is beyond the times the field covers, {low[-1]:.6g} to {high[-1]:.6g}; the data range "
                f"from {self.times.min():.6g} to {self.times.max():.6g}."
            )
        return Moment(self, float(time))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the function to one npz file without pickle; :meth:`load` reads it."""
        content = {"points": self.points, "times": self.times, "details": self.details}
        return save_npz(path, {"type": "MovingSurface", **self.field.content(), **content})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> MovingSurface:
        """Read a moving surface written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "MovingSurface":
            raise ValueError(f"{path} does not hold a MovingSurface.")
        return cls(Field.from_content(content, path), *(content[name] for name in ("points", "times", "details")))


class Moment(Implicit):
    """A moving surface at one time: what :meth:`MovingSurface.at` gives."""

    resolution: float

    thread_safe = False

    def __init__(self, moving: MovingSurface, time: float):
        self.moving, self.time = moving, time
        self._longest = float(np.ptp(moving.points, axis=0).max())
        self.bounds = box_around(moving.points, BORDER)
        box, depth = moving.field.tree.box, moving.field.depth
        self.resolution = float(moving.field.tree.spacing(depth) * box.scale[0])

    def __repr__(self):
        return f"<{self.moving!r} at time {self.time:.6g}>"

    def mesh(  # type: ignore[override]  # knows its data, and takes other options than shapes without data
        self,
        resolution: float | None = None,
        *,
        bounds=None,
        boundary: str = "closed",
        trim: float | None = None,
        keep_unsupported: bool = False,
        refine: int = 2,
        verbose: bool = False,
    ) -> Mesh:
        """Triangles of the surface at this time; ``refine`` and ``verbose`` are as for :meth:`Surface.mesh`.

        Data are those of the time or, between two times of the data, of both. There the surface may be away from them
        by as much as it moves: its speed, known from the function, times the time to the farther of the two.

        Parameters
        ----------
        resolution : float, optional
            Side of the cells that the surface is cut into; by default half of the field's finest cells, and at most a
            64th of the longest side of the data.
        bounds : pair of points, optional, box in which to look; by default :attr:`bounds`, some way beyond all data
        boundary : "closed" or "open"
            "closed": at the border of the box, with a cap. "open": where the surface leaves the data; see ``trim``.
        trim : float, optional
            For open surfaces: the largest distance to the nearest data point, on top of the motion. By default three
            times the distance of neighbouring data points there, but no less than the field's finest cells.
        keep_unsupported : bool
            Keep components that are not near any data.
        """
        check_boundary(boundary, _BOUNDARIES, trim)
        check_resolution(resolution)
        closed = boundary == "closed"
        mesh = self._extracted(resolution, bounds, closed=closed, refine=refine, verbose=verbose)
        if closed and keep_unsupported:
            return mesh
        points, wait = self._data()
        distance, spacing = distance_and_spacing(Neighborhood(points), mesh.vertices)
        moved = smoothed(wait * self.speed(mesh.vertices), mesh.faces, SMOOTHING)
        if not keep_unsupported:
            kept = _supported(mesh, distance <= np.maximum(FILLED * spacing, self.resolution) + moved)
            mesh, (distance, spacing, moved) = _kept(mesh, kept, distance, spacing, moved)
        if closed:
            return mesh
        near = default_trim(mesh, spacing, self.resolution) if trim is None else trim
        return trimmed(mesh, distance, near + moved)

    def _extracted(self, resolution: float | None, bounds, **options) -> Mesh:
        if resolution is None:
            resolution = min(self.resolution / 2, self._longest / _MESH_CELLS)
        return Mesh(*extract(self, as_bounds(self.bounds if bounds is None else bounds), resolution, scan=2, **options))

    def speed(self, X) -> np.ndarray:
        """How fast the surface moves along its normal at places X (m, 3), in units of length per unit of time."""
        X = self._points(X)
        gradients = self.moving.field.jet(np.column_stack([X, np.full(len(X), self.time)]))[1]
        return np.abs(gradients[:, 3]) / np.maximum(np.linalg.norm(gradients[:, :3], axis=1), _LEAST_SLOPE)

    def _data(self) -> tuple[np.ndarray, float]:
        """The data nearest in time, from before and after, and how far in time the farthest of them are."""
        away = self.moving.times - self.time
        few = min(_FEWEST if _has_frames(self.moving.times) else _GROUP_POINTS, len(away)) - 1
        before, after = away[away <= 0], away[away >= 0]
        wait = max(np.partition(np.abs(away), few)[few], -before.max() if len(before) else 0.0)
        wait = max(wait, after.min() if len(after) else 0.0)
        return self.moving.points[np.abs(away) <= wait * (1 + 1e-9)], float(wait)

    def _jet(self, X, order):
        X = np.column_stack([X, np.full(len(X), self.time)])
        if order == 0:
            return (self.moving.field(X),)
        values, gradients = self.moving.field.jet(X)
        result = values, np.ascontiguousarray(gradients[:, :3])
        return result if order == 1 else (*result, self.moving.field.hessian(X)[:, :3, :3])


def time_scale_of_motion(points: np.ndarray, normals: np.ndarray, times: np.ndarray) -> float:
    """The length that a unit of time should count as: three times as far as the surface moves in it.

    Smaller ones smooth the motion away, larger ones let every frame forget the others. The motion is the mean distance
    of points from the planes of the nearest points one frame later; noise counts as motion. All times together count at
    least as the distance of neighbouring points. Points that each have a time of their own are put into groups of some
    500.
    """
    frames = _frames(times)
    moments = np.array([times[rows].mean() for rows in frames])
    trees = [cKDTree(points[rows]) for rows in frames]
    moved, spacing = [], []
    for here, later, tree in zip(frames, frames[1:], trees[1:], strict=False):
        chosen = here[:: max(len(here) // _LOOKS, 1)]
        nearest = later[tree.query(points[chosen])[1]]
        moved.append(np.abs(((points[chosen] - points[nearest]) * normals[nearest]).sum(axis=1)).mean())
    for rows, tree in zip(frames, trees, strict=True):
        chosen = rows[:: max(len(rows) // _LOOKS, 1)]
        spacing.append(np.median(tree.query(points[chosen], k=2)[0][:, 1]))
    least = np.median(spacing) / np.ptp(times)
    return float(max(_MOTIONS * np.sum(moved) / (moments[-1] - moments[0]), least))


def _frames(times: np.ndarray) -> list[np.ndarray]:
    """Rows of the points of each time, earliest first, or of groups of points that follow each other."""
    order = np.argsort(times, kind="stable")
    if not _has_frames(times):
        return np.array_split(order, max(len(times) // _GROUP_POINTS, 2))
    return np.split(order, np.flatnonzero(np.diff(times[order])) + 1)


def _has_frames(times: np.ndarray) -> bool:
    """Whether many points share each time, or each has one of its own."""
    return len(times) >= _FRAME_POINTS * len(np.unique(times))


def _supported(mesh: Mesh, near: np.ndarray) -> np.ndarray:
    """Faces of the components of which a share is near data; in any case those of the component nearest to them."""
    labels = component_labels(mesh.faces, len(mesh.vertices))
    share = np.bincount(labels, near) / np.bincount(labels)
    return ((share >= _SUPPORTED) | (share == share.max()))[labels[mesh.faces[:, 0]]]


def _kept(mesh: Mesh, faces: np.ndarray, *columns: np.ndarray) -> tuple[Mesh, list[np.ndarray]]:
    """The mesh with some of its faces, and numbers of its vertices for those that are left."""
    if faces.all():
        return mesh, list(columns)
    used = np.unique(mesh.faces[faces])
    return mesh.keep(faces), [column[used] for column in columns]
