"""Surfaces that move: one function of space and time for points with times, cut at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._base.saving import load_npz, save_npz
from ..clouds.frames import GROUP_POINTS, frames_of, has_frames
from ..fields.field import Field
from ..shapes import attributes as measures
from ..shapes.attributes import FILLED, Neighborhood, distance_and_spacing
from ..shapes.boundaries import BORDER, box_around, check_boundary, check_resolution, default_trim, trimmed
from ..shapes.carried import FrameAttachments
from ..shapes.carried_frames import CarriedFrames
from ..shapes.extraction.marching import component_labels, extract
from ..shapes.extraction.trimming import SMOOTHING, smoothed
from ..shapes.implicit import Implicit, as_bounds
from ..shapes.mesh import Mesh
from ..shapes.openness import looks_closed, opened

_MESH_CELLS = 64  # along the longest side, of the coarsest mesh by default
_FEWEST = 10  # points that are looked at for what supports a moment
_SUPPORTED = 0.05  # share of a component's vertices that must lie near data, or where data can have moved to
_LEAST_SLOPE = 0.2
_BOUNDARIES = ("auto", "closed", "open")
_MEASURES = ("distance", "density", "filled", "curvature", "gradient_length", "speed")
_OPENNESS_LOOKS = 3  # frames that tell whether the surface is open


class MovingSurface:
    """A surface that moves: the zero set of a function of space and time, as :func:`reconstruct_moving` makes it.

    Parameters
    ----------
    field : Field or CarriedFrames
        Of four coordinates, the last of which is time.
    points, times : arrays (n, 3) and (n,)
    details : dict, optional
        What was given or chosen.
    attributes : dict of arrays (n,) or (n, k), optional
        Colours and other numbers of the points, see :meth:`attribute`.

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

    def __init__(
        self,
        field: Field | CarriedFrames,
        points: np.ndarray,
        times: np.ndarray,
        details: dict | None = None,
        *,
        attributes: Mapping[str, Any] | None = None,
    ):
        self.field, self.points, self.times, self.details = field, points, times, dict(details or {})
        self._attached = FrameAttachments(points, times, attributes)

    def __repr__(self):
        attached = f", with {', '.join(self.attached)}" if self.attached else ""
        span = f"{self.times.min():.4g} to {self.times.max():.4g}"
        return (
            f"<MovingSurface of {len(self.points)} points at times {span}{attached}: "
            f"depth {self.field.depth}, {self.field.n_coef} coefficients>"
        )

    @property
    def resolution(self) -> float:
        """Width of the finest cells in space."""
        if isinstance(self.field, CarriedFrames):
            return self.field.resolution
        return float(self.field.tree.spacing(self.field.depth) * self.field.tree.box.scale[0])

    def at(self, time: float) -> Moment:
        """The surface at a time that the function covers: a shape in space.

        Functions of frames end at the first and last one, one function of space and time goes on some way beyond.
        """
        low, high = self.field.bounds
        if not (np.isfinite(time) and low[-1] <= time <= high[-1]):
            raise ValueError(
                f"time={time!r} is beyond the times the function covers, {low[-1]:.6g} to {high[-1]:.6g}; the data "
                f"range from {self.times.min():.6g} to {self.times.max():.6g}."
            )
        return Moment(self, float(time))

    @property
    def attached(self) -> tuple[str, ...]:
        """Names of the attributes of the data that the surface carries."""
        return self._attached.names

    def attribute(self, name: str, X, time: float) -> np.ndarray:
        """An attached attribute (m,) or (m, k), by its name, at places X (m, 3) at a time.

        Numbers with a fraction are smooth fields in each frame, and between two frames the mean of both, in the
        proportion of the time between. Whole numbers (classes) and truth values are those of the nearest data point of
        the nearer frame.
        """
        return self._attached.at(name, self.at(time)._points(X), float(time))

    @cached_property
    def is_open(self) -> bool:
        """Whether data cover one side only, in most of three frames; each is judged as a surface at rest would be."""
        moments = np.array([self.times[rows].mean() for rows in frames_of(self.times)])
        looks = moments[np.unique(np.linspace(0, len(moments) - 1, _OPENNESS_LOOKS).astype(np.int64))]
        return bool(np.mean([self.at(time).is_open for time in looks]) > 0.5)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the function and all that is attached to one npz file without pickle; :meth:`load` reads it."""
        content = {"points": self.points, "times": self.times, "details": self.details}
        content["attached"] = self._attached.content()
        return save_npz(path, {"type": "MovingSurface", **self.field.content(), **content})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> MovingSurface:
        """Read a moving surface written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "MovingSurface":
            raise ValueError(f"{path} does not hold a MovingSurface.")
        points, times, details = (content[name] for name in ("points", "times", "details"))
        kind = CarriedFrames if "moves" in content else Field
        moving = cls(kind.from_content(content, path), points, times, details)
        if "attached" in content:
            moving._attached = FrameAttachments.from_content(points, times, content["attached"])
        return moving


class Moment(Implicit):
    """A moving surface at one time: what :meth:`MovingSurface.at` gives."""

    resolution: float

    thread_safe = False

    def __init__(self, moving: MovingSurface, time: float):
        self.moving, self.time = moving, time
        self._longest = float(np.ptp(moving.points, axis=0).max())
        self.bounds = box_around(moving.points, BORDER)
        self.resolution = moving.resolution

    def __repr__(self):
        return f"<{self.moving!r} at time {self.time:.6g}>"

    def mesh(  # type: ignore[override]  # knows its data, and takes other options than shapes without data
        self,
        resolution: float | None = None,
        *,
        bounds=None,
        boundary: str = "auto",
        trim: float | None = None,
        keep_unsupported: bool = False,
        attributes: str | Iterable[str] = (),
        refine: int = 2,
        verbose: bool = False,
    ) -> Mesh:
        """Triangles of the surface at this time, with the attached attributes at their vertices; ``refine`` and
        ``verbose`` are as for :meth:`Surface.mesh`.

        Data are those of the time or, between two times of the data, of both. There the surface may be away from them
        by as much as it moves: its speed, known from the function, times the time to the farther of the two.

        Parameters
        ----------
        resolution : float, optional
            Side of the cells that the surface is cut into; by default half of the field's finest cells, and at most a
            64th of the longest side of the data.
        bounds : pair of points, optional, box in which to look; by default :attr:`bounds`, some way beyond all data
        boundary : "auto", "closed" or "open"
            "auto": as :attr:`MovingSurface.is_open` says, the same at all times. "closed": at the
            border of the box, with a cap. "open": where the surface leaves the data; see ``trim``.
        trim : float, optional
            For open surfaces: the largest distance to the nearest data point, on top of the motion. By default three
            times the distance of neighbouring data points there, but no less than the field's finest cells.
        keep_unsupported : bool
            Keep components that are not near any data.
        attributes : str or sequence of str
            What else to give the vertices: "distance", "density", "filled", "curvature" and "gradient_length" are as
            for :meth:`Surface.mesh`, by the data of the time; "speed" is :meth:`speed`.
        """
        check_boundary(boundary, _BOUNDARIES, trim)
        check_resolution(resolution)
        names = _checked_names(attributes)
        closed = boundary == "closed" or (boundary == "auto" and not self.moving.is_open)
        mesh = self._ended(resolution, bounds, closed, trim, keep_unsupported, refine=refine, verbose=verbose)
        columns = {name: self.attribute(name, mesh.vertices) for name in self.moving.attached if name not in names}
        columns.update((name, self._measured(name, mesh.vertices)) for name in names)
        return Mesh(mesh.vertices, mesh.faces, mesh.normals, columns) if columns else mesh

    def attribute(self, name: str, X) -> np.ndarray:
        """An attached attribute at places X (m, 3); see :meth:`MovingSurface.attribute`."""
        return self.moving.attribute(name, X, self.time)

    @property
    def is_open(self) -> bool:
        """Whether data of this time, or of those around it, cover one side only."""
        data = Neighborhood(self._data()[0])
        mesh = self._extracted(max(self._finest, data.typical / 2), None, closed=True, refine=0)
        return not looks_closed(mesh.vertices, data) and opened(mesh, data, as_bounds(self.bounds)) is not None

    def _measured(self, name: str, X: np.ndarray) -> np.ndarray:
        if name == "speed":
            return self.speed(X)
        if name == "curvature":
            return measures.mean_curvature(self, X)
        if name == "gradient_length":
            return measures.gradient_length(self, X)
        data = Neighborhood(self._data()[0])
        if name == "filled":
            return measures.filled(data, X)
        return data.nearest(X)[0] if name == "distance" else data.density(X)

    def _ended(self, resolution, bounds, closed: bool, trim: float | None, keep_unsupported: bool, **options) -> Mesh:
        """The mesh without what is not near data, ended where it should end."""
        mesh = self._extracted(resolution, bounds, closed=closed, **options)
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
        box = as_bounds(self.bounds if bounds is None else bounds)
        return Mesh(*extract(self, box, self._finest if resolution is None else resolution, scan=2, **options))

    @property
    def _finest(self) -> float:
        """Side of the cells that the surface is cut into by default."""
        return min(self.resolution / 2, self._longest / _MESH_CELLS)

    def speed(self, X) -> np.ndarray:
        """How fast the surface moves along its normal at places X (m, 3), in units of length per unit of time."""
        X = self._points(X)
        gradients = self.moving.field.jet(np.column_stack([X, np.full(len(X), self.time)]))[1]
        return np.abs(gradients[:, 3]) / np.maximum(np.linalg.norm(gradients[:, :3], axis=1), _LEAST_SLOPE)

    def _data(self) -> tuple[np.ndarray, float]:
        """The data nearest in time, from before and after, and how far in time the farthest of them are."""
        away = self.moving.times - self.time
        few = min(_FEWEST if has_frames(self.moving.times) else GROUP_POINTS, len(away)) - 1
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


def _checked_names(names: str | Iterable[str]) -> tuple[str, ...]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in wanted if name not in _MEASURES]
    if unknown:
        known = "is not known of moving surfaces" if unknown[0] in measures.NAMES else "is no such attribute"
        raise ValueError(f"attributes must be out of {', '.join(_MEASURES)}; {unknown[0]!r} {known}.")
    return wanted


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
