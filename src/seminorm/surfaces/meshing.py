"""The mesh of a surface: extracted near the data, ended where it should end, with no more triangles than it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fields.field import Field, sample_blocks
from ..shapes.attributes import distance_and_spacing
from ..shapes.boundaries import (
    WIDE_BORDER,
    box_around,
    check_boundary,
    check_deviation,
    check_hole,
    check_resolution,
    default_trim,
    trimmed,
)
from ..shapes.extraction.creases import sharpened
from ..shapes.extraction.marching import component_labels, extract
from ..shapes.extraction.shaping import Shaping
from ..shapes.extraction.sides import OrientedData
from ..shapes.extraction.thinning import QUALITY
from ..shapes.extraction.trimming import SMOOTHING, components_with_data, smoothed
from ..shapes.handles import without_handles
from ..shapes.mesh import Mesh
from ..shapes.openness import looks_closed, opened

if TYPE_CHECKING:
    from .surface import Surface

_BLOCK = 8
_MESH_DEPTH = 6  # of the coarsest mesh, by default: a smooth surface has few coefficients, and is still round
_OF_HELD_OUT = 0.2  # how far triangles may lie from the surface, of the mean distance of held-out points,
_OF_CELL = (0.01, 0.1)  # but at least and at most, of a cell of the mesh
_FAR = 2.0  # of the longest side: how far an exact function is extrapolated
_BOUNDARIES = ("auto", "closed", "open", "extrapolate")
_METHODS = ("standard", "quality")
_FLIP = 2.0  # deviations that the diagonals of a flipped edge may pass each other by,
_FLIP_CELL = 0.05  # or cells of the mesh, if that is more
_HANDLE = 2.0  # distances of points: supported length of a loop, from which on a handle stays
_QUALITY: dict[str, Any] = {"wanted": 0.95, "rounds": 6, "passes": 3}  # of the triangles of method="quality"
_THINNED_QUALITY = 0.6  # least of the triangles that thinning leaves there


@dataclass(frozen=True)
class MeshPlan:
    """What is wanted of a mesh; see :meth:`Surface.mesh`."""

    resolution: float | None = None
    deviation: float | None = None
    boundary: str = "auto"
    trim: float | None = None
    trim_quantile: float | None = None
    max_hole: float | None = None
    method: str = "standard"
    sharp: bool | str = "auto"
    keep_unsupported: bool = False
    refine: int = 1
    verbose: bool = False

    def __post_init__(self):
        check_boundary(self.boundary, _BOUNDARIES, self.trim, self.trim_quantile)
        check_resolution(self.resolution)
        check_deviation(self.deviation)
        check_hole(self.max_hole, self.boundary)
        if self.sharp not in (True, False, "auto"):
            raise ValueError(f"sharp must be True, False or 'auto', got {self.sharp!r}.")
        if self.method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {self.method!r}.")


class SurfaceMesher:
    """Makes the mesh of a surface; with ``carries``, its triangles stay as small as the data are apart."""

    def __init__(self, surface: Surface, plan: MeshPlan, carries: bool):
        self.surface, self.plan = surface, plan
        self.grid = surface.field if isinstance(surface.field, Field) else None
        self.longest = max(surface.data.typical, surface.resolution) if carries else np.inf
        self.deviation = self._automatic_deviation() if plan.deviation is None else plan.deviation

    def mesh(self) -> Mesh:
        """The mesh, with normals."""
        plan, surface = self.plan, self.surface
        bounds: Any = surface.bounds
        if plan.boundary == "auto":
            bounds = box_around(surface.points, WIDE_BORDER)
        elif plan.boundary == "extrapolate":
            bounds = box_around(surface.points, _FAR) if self.grid is None else self.grid.bounds
        options: dict[str, Any] = {"seeds": surface.points, "refine": plan.refine, "verbose": plan.verbose}
        options["closed"] = plan.boundary in ("auto", "closed")
        options["reduce"] = lambda vertices, faces: self._reduced(Mesh(vertices, faces), bounds)
        coarse = plan.resolution is not None and plan.resolution > surface.resolution * (1 + 1e-9)
        if self.grid is None or coarse:
            spacing = plan.resolution or surface.resolution / 2
            return self._without_handles(
                Mesh(*extract(surface, bounds, spacing, shaping=self._shaping(spacing), **options))
            )
        finer = max(1, _MESH_DEPTH - self.grid.depth)
        if plan.resolution is not None:
            finer = max(int(np.ceil(np.log2(surface.resolution / plan.resolution) - 1e-9)), 0)
        sampler = _BlockSampler(self.grid, self.grid.depth + finer, bounds)
        bounds = sampler.bounds
        options |= {"shaping": self._shaping(sampler.spacing), "side": _BLOCK, "batch": 4096}
        return self._without_handles(Mesh(*extract(sampler, sampler.bounds, sampler.spacing, **options)))

    def _without_handles(self, mesh: Mesh) -> Mesh:
        """The mesh without handles that no data support: these have the normal of the mesh at their nearest point."""
        data, known = self.surface.data, self.surface.normals
        if known is None or self.plan.keep_unsupported:
            return mesh

        def support(vertices: np.ndarray, normals: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", normals, known[data.nearest(vertices)[1]])

        return without_handles(mesh, support, _HANDLE * data.typical)

    def _reduced(self, mesh: Mesh, bounds) -> Mesh:
        """The mesh without what it should not have: what lies far from the data, what is not supported by them, and
        vertices where it is flat."""
        plan, data = self.plan, self.surface.data
        if plan.boundary == "open":
            mesh = self._trimmed(mesh)
        if not plan.keep_unsupported:
            mesh = self._supported(mesh)
        if plan.boundary == "auto" and not (plan.max_hole is None and looks_closed(mesh.vertices, data)):
            cut = opened(mesh, data, bounds, deviation=self.deviation, max_hole=plan.max_hole)
            mesh = mesh if cut is None else cut
        return self._thinned(self._sharpened(mesh))

    def _shaping(self, spacing: float) -> Shaping | None:
        """None if all vertices are to stay as they are."""
        if self.plan.method == "quality":
            return Shaping(max(_FLIP * self.deviation, _FLIP_CELL * spacing), **_QUALITY)
        return Shaping(max(_FLIP * self.deviation, _FLIP_CELL * spacing)) if self.deviation > 0 else None

    def _automatic_deviation(self) -> float:
        """How far the triangles of a mesh may lie from the surface, by default."""
        if self.plan.resolution is not None:
            return 0.0
        trials = self.surface.details.get("trials") or [{"score": 0.0, "distance": 0.0}]
        held_out = min(trials, key=lambda trial: trial["score"])["distance"]
        least, most = (share * self.surface.resolution / 2 for share in _OF_CELL)
        return min(max(_OF_HELD_OUT * float(held_out), least), most)

    def _thinned(self, mesh: Mesh) -> Mesh:
        if self.deviation == 0:
            return mesh
        return mesh.thinned(self.deviation, self.longest, least_quality(self.plan.method))

    def _sharpened(self, mesh: Mesh) -> Mesh:
        """The mesh with its creases, if there are some; its vertices there have normals, and are final."""
        surface = self.surface
        if surface.normals is None or not self.plan.sharp:
            return mesh
        tolerance = surface.data.typical if surface.model is None else surface.model.tolerance
        lengths = surface.resolution, surface.data.typical, tolerance
        estimated = str(surface.details.get("normals", "")).startswith("estimated")
        evidence = OrientedData(
            surface.data.tree, surface.normals.astype(float), surface.field.jet, *lengths, estimated
        )
        result = sharpened(mesh.vertices, mesh.faces, evidence, all_creases=self.plan.sharp is True)
        return mesh if result is None else Mesh(*result)

    def _supported(self, mesh: Mesh) -> Mesh:
        """The components that data support."""
        labels = component_labels(mesh.faces, len(mesh.vertices))
        if labels.max(initial=0) == 0:
            return mesh
        points, resolution = self.surface.points, self.surface.resolution
        supported = components_with_data(labels, mesh.vertices, mesh.faces, points, resolution)
        return mesh if supported.all() else mesh.keep(supported[labels[mesh.faces[:, 0]]])

    def _trimmed(self, mesh: Mesh) -> Mesh:
        """What lies near the data."""
        data, trim, quantile = self.surface.data, self.plan.trim, self.plan.trim_quantile
        distance, spacing = distance_and_spacing(data, mesh.vertices)
        limit = np.full(len(distance), trim)
        if trim is None:
            limit = default_trim(mesh, spacing, self.surface.resolution)
        if quantile is None:
            return trimmed(mesh, distance, limit)
        density = smoothed(data.density(mesh.vertices), mesh.faces, SMOOTHING)
        return trimmed(mesh, distance, limit, density < np.quantile(density, quantile))


def least_quality(method: str) -> float:
    """Of the triangles that thinning leaves."""
    return _THINNED_QUALITY if method == "quality" else QUALITY


class _BlockSampler:
    """A field as the extraction wants it: on blocks of the grid of a level."""

    def __init__(self, field: Field, level: int, bounds):
        self.field, self.level = field, level
        box = field.tree.box
        self.spacing = box.spacing / 2.0**level * box.scale[0]
        width = _BLOCK * self.spacing
        low, high = ((corner - box.low) / width for corner in bounds)
        self._first = np.maximum(np.floor(low + 1e-9), 0).astype(np.int64)
        # whole blocks within the box
        last = np.minimum(np.floor(high - 1e-9).astype(np.int64) + 1, np.maximum(box.cells * 2**level // _BLOCK, 1))
        self.bounds = box.low + self._first * width, box.low + last * width

    def __call__(self, X):
        return self.field(X)

    def gradient(self, X):
        return self.field.jet(X)[1]

    def jet(self, X, order):
        return self.field.jet(X)

    def sample_blocks(self, blocks, side, origin, spacing):
        return sample_blocks(self.field, self.level, blocks + self._first)
