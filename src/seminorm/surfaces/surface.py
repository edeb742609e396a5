"""Surfaces: implicit functions fitted to points, meshed near the points."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from ..fields.field import Field
from ..fields.sampling import sample_blocks
from ..fields.tree import Tree
from ..functions import Expansion
from ..serialization import load_npz, save_npz
from . import attributes as measures
from .attributes import FILLED, Neighbourhood, check_names, distance_and_spacing
from .carried import Carried, carry
from .cloud import as_attributes, as_colors
from .extraction import component_labels, extract
from .implicit import Implicit
from .mesh import Mesh
from .trimming import components_with_data, smoothed, trimmed_faces

_BLOCK = 8
_MESH_DEPTH = 6  # of the coarsest mesh, by default: a smooth surface has few coefficients, and is still round
_BORDER = 0.1  # of the longest side: how far beyond the data a surface is followed before it is closed
_FAR = 2.0  # of the longest side: how far an exact function is extrapolated
_SMOOTHING = 10  # steps over the mesh, of what decides where an open surface ends
_BOUNDARIES = ("closed", "open", "extrapolate")


class Surface(Implicit):
    """The zero set of a function: negative inside, its gradient points outwards, in units of length near the points.

    Parameters
    ----------
    field : Field or Expansion
        The function: piecewise polynomial, or the exact combination of kernels.
    points : array (n, 3)
        The data.
    details : dict, optional
        How the field came about: the parameters that were given or chosen, and what they were chosen from.
    normals : array (n, 3), optional
        Unit normals of the data; with them the uncertainty is estimated better. Kept in single precision.
    attributes : dict of arrays (n,) or (n, k), optional
        See :meth:`attach`.
    resolution : float, optional
        Width of the smallest details, for an Expansion; a field knows its own.
    """

    thread_safe = False

    def __init__(
        self,
        field: Field | Expansion,
        points: np.ndarray,
        details: dict | None = None,
        *,
        normals: np.ndarray | None = None,
        attributes: Mapping | None = None,
        resolution: float | None = None,
    ):
        self.field, self.points, self.details = field, points, dict(details or {})
        self.normals = None if normals is None else np.ascontiguousarray(normals, dtype=np.float32)
        self.dimension = points.shape[1]
        self.on_grid = isinstance(field, Field)
        low, high = points.min(axis=0), points.max(axis=0)
        border = _BORDER * (high - low).max()
        self.bounds = low - border, high + border
        if self.on_grid:
            resolution = field.tree.spacing(field.depth) * field.tree.box.scale[0]
        elif resolution is None:
            raise ValueError("resolution is missing: give the width of the smallest details of the function.")
        self.resolution = float(resolution)
        self._attached: dict[str, np.ndarray | Carried] = {}
        for name, values in (attributes or {}).items():
            self.attach(name, values)

    def __repr__(self):
        attached = f", with {', '.join(self._attached)}" if self._attached else ""
        return (
            f"<Surface of {len(self.points)} points{attached}: "
            f"{f'depth {self.field.depth}' if self.on_grid else 'exact'}, {self.field.n_coef} coefficients, resolution "
            f"{self.resolution:.3g}>"
        )

    def _jet(self, X, order):
        if order == 0:
            return (self.field(X),)
        values, gradients = self.field.jet(X)
        return (values, gradients) if order == 1 else (values, gradients, self.field.hessian(X))

    @cached_property
    def _data(self) -> Neighbourhood:
        return Neighbourhood(self.points)

    # -- attributes of the data ------------------------------------------------------------------------------------

    @property
    def attached(self) -> tuple[str, ...]:
        """Names of the attributes of the data that the surface carries."""
        return tuple(self._attached)

    def attach(self, name: str, values) -> Surface:
        """Give the surface colours or other numbers of its data points; its meshes have them too.

        Numbers with a fraction become a smooth field of their own, fitted when it is first needed, that stays within
        their range; NaN is where they are not known. Whole numbers (classes) and truth values are those of the nearest
        data point.

        Parameters
        ----------
        name : str
            "colors" are in [0, 1], or unsigned integers that fill the range of their type.
        values : array (n,) or (n, k)

        Returns
        -------
        Surface
            Itself.
        """
        values = as_attributes({name: values}, len(self.points))[str(name)]
        if name == "colors":
            values = as_colors(values, len(self.points))
        if values.dtype.kind not in "biuf":
            raise ValueError(f"attribute {name!r} must be numbers or truth values, got {values.dtype}.")
        self._attached[str(name)] = values
        return self

    def attribute(self, name: str, X) -> np.ndarray:
        """An attached attribute at places X (m, 3), shape (m,) or (m, k)."""
        if name not in self._attached:
            raise ValueError(f"no attribute {name!r} is attached; there are: {', '.join(self._attached) or 'none'}.")
        X = self._points(X)
        carried = self._carried(name)
        return carried(X) if isinstance(carried, Carried) else carried[self._data.nearest(X)[1]]

    def _carried(self, name: str) -> np.ndarray | Carried:
        values = self._attached[name]
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            values = self._attached[name] = carry(self.points, values, f"attribute {name!r}")
        return values

    # -- meshes ----------------------------------------------------------------------------------------------------

    def mesh(
        self,
        resolution: float | None = None,
        *,
        boundary: str = "closed",
        trim: float | None = None,
        trim_quantile: float | None = None,
        keep_unsupported: bool = False,
        attributes=(),
        refine: int = 1,
        verbose: bool = False,
    ) -> Mesh:
        """Triangles of the surface, with the attached attributes at their vertices.

        Parameters
        ----------
        resolution : float, optional
            Side of the cells that the surface is cut into; by default half of the field's finest cells, and at most a
            64th of the longest side. Below the width of the former it is rounded down to that width divided by a power
            of 2.
        boundary : "closed", "open" or "extrapolate"
            Where the surface ends. "closed": some way beyond the data, at :attr:`bounds`, with a cap. "open": where it
            leaves the data; see ``trim``. "extrapolate": on the border of the field's box, some two lengths of
            the data away from them, without a cap.
        trim : float, optional
            For open surfaces: the largest distance to the nearest data point, in the units of the data. By default
            three times the distance of neighbouring data points there, but no less than the field's finest cells. Faces
            are kept or dropped whole; holes narrower than this are filled.
        trim_quantile : float, optional
            For open surfaces, instead of ``trim``: the share of the vertices, those where data are least dense, that is
            cut off.
        keep_unsupported : bool
            Keep components that have hardly any data of their own: bubbles made of noise.
        attributes : str or sequence of str
            What else to tell at the vertices:

            - "distance": to the nearest data point;
            - "density": data points per unit of area nearby;
            - "filled": whether the surface is made up there: farther from the data than three times the distance of
              neighbouring data;
            - "uncertainty": estimated standard deviation of the surface along its normal;
              see :func:`seminorm.surfaces.uncertainty.place_deviation`. Takes a few seconds;
            - "curvature": mean of the principal curvatures, 1 / r on a ball of radius r;
            - "gradient_length": of the function, near 1 where it is trustworthy.

            Attached attributes come without being asked for; one with such a name is replaced if it is asked for.
        refine : int
            Newton steps that bring each vertex onto the surface.
        verbose : bool
            Show progress.
        """
        names = check_names(attributes)
        _check_boundary(boundary, trim, trim_quantile)
        mesh = self._extracted(resolution, boundary, refine, verbose)
        if boundary == "open":
            mesh = self._trimmed(mesh, trim, trim_quantile)
        if not keep_unsupported:
            mesh = self._supported(mesh)
        told = {name: self.attribute(name, mesh.vertices) for name in self._attached if name not in names}
        told.update((name, self._measured(name, mesh.vertices)) for name in names)
        return Mesh(mesh.vertices, mesh.faces, mesh.normals, told) if told else mesh

    def _extracted(self, resolution: float | None, boundary: str, refine: int, verbose: bool) -> Mesh:
        if resolution is not None and not (np.isfinite(resolution) and resolution > 0):
            raise ValueError(f"resolution must be a positive length, got {resolution!r}.")
        options = {"seeds": self.points, "refine": refine, "closed": boundary == "closed", "verbose": verbose}
        bounds = self._far_bounds() if boundary == "extrapolate" else self.bounds
        if not self.on_grid:
            resolution = self.resolution / 2 if resolution is None else resolution
            return Mesh(*extract(self, bounds, resolution, **options))
        if resolution is not None and resolution > self.resolution * (1 + 1e-9):
            return Mesh(*extract(self, bounds, resolution, **options))
        if resolution is None:
            finer = max(1, _MESH_DEPTH - self.field.depth)
        else:
            finer = max(int(np.ceil(np.log2(self.resolution / resolution) - 1e-9)), 0)
        sampler = _BlockSampler(self, self.field.depth + finer, bounds)
        return Mesh(*extract(sampler, sampler.bounds, sampler.spacing, side=_BLOCK, batch=4096, **options))

    def _far_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        if self.on_grid:
            return self.field.bounds
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        border = _FAR * (high - low).max()
        return low - border, high + border

    def _supported(self, mesh: Mesh) -> Mesh:
        """The components that data support."""
        labels = component_labels(mesh.faces, len(mesh.vertices))
        if labels.max(initial=0) == 0:
            return mesh
        supported = components_with_data(labels, mesh.vertices, mesh.faces, self.points, self.resolution)
        return mesh if supported.all() else mesh.keep(supported[labels[mesh.faces[:, 0]]])

    def _trimmed(self, mesh: Mesh, trim: float | None, quantile: float | None) -> Mesh:
        """What lies near the data."""
        distance, spacing = distance_and_spacing(self._data, mesh.vertices)
        if trim is None:
            limit = np.maximum(FILLED * smoothed(spacing, mesh.faces, _SMOOTHING), self.resolution)
        else:
            limit = np.full(len(distance), float(trim))
        far = distance > limit
        if quantile is not None:
            density = smoothed(self._data.density(mesh.vertices), mesh.faces, _SMOOTHING)
            far = density < np.quantile(density, quantile)
        keep = trimmed_faces(mesh.vertices, mesh.faces, far, limit)
        if not keep.any():
            raise ValueError(
                f"trimming leaves nothing of the surface: data are {distance.min():.3g} or more away from it, and trim "
                f"is {limit.min():.3g}. Give a larger trim."
            )
        return mesh.keep(keep)

    def _measured(self, name: str, X: np.ndarray) -> np.ndarray:
        if name == "distance":
            return self._data.nearest(X)[0]
        if name == "density":
            return self._data.density(X)
        if name == "filled":
            return measures.filled(self._data, X)
        if name == "curvature":
            return measures.mean_curvature(self, X)
        if name == "gradient_length":
            return measures.gradient_length(self, X)
        from .uncertainty import place_deviation

        return place_deviation(self, self._data, X)

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path, **options) -> Path:
        """Write the mesh (by ending: ply, obj, stl, glb, off, html) or, as npz, the function and all that is attached.

        ``options`` are those of :meth:`mesh`.
        """
        path = Path(path)
        if path.suffix.lower() != ".npz":
            return self.mesh(**options).save(path)
        if options:
            raise ValueError(f"{path} holds the function, not a mesh: leave out {', '.join(options)}.")
        return save_npz(
            path,
            {
                "type": "Surface",
                **self.field.content(),
                "points": self.points,
                "normals": self.normals,
                "resolution": self.resolution,
                "details": self.details,
                "attached": {name: _carried_content(self._carried(name)) for name in self._attached},
            },
        )

    @classmethod
    def load(cls, path) -> Surface:
        """Read a surface written by :meth:`save` as npz; no code of the file is run."""
        try:
            content = load_npz(path)
            if content.get("type") != "Surface":
                raise ValueError(f"{path} does not hold a Surface.")
            points = content["points"]
            if "functionals" in content:
                field = Expansion.from_content(content)
                dimension = field.functionals[0].points.shape[1]
            else:
                field = Field.from_content(content, path)
                dimension = field.dimension
            if points.ndim != 2 or points.shape[1] != dimension:
                raise ValueError(f"points of shape {points.shape} do not belong to a field of {dimension} axes.")
            options = {"normals": content["normals"], "resolution": content["resolution"]}
            surface = cls(field, points, content["details"], **options)
            surface._attached = {name: _carried_of(part) for name, part in content["attached"].items()}
        except FileNotFoundError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path} cannot be read as a Surface, it may be damaged: {error}") from error
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        return surface


class _BlockSampler:
    """A surface as the extraction wants it: on blocks of the grid of a level."""

    def __init__(self, surface: Surface, level: int, bounds):
        self.surface, self.level = surface, level
        box = surface.field.tree.box
        self.spacing = box.spacing / 2.0**level * box.scale[0]
        width = _BLOCK * self.spacing
        low, high = ((corner - box.low) / width for corner in bounds)
        self._first = np.maximum(np.floor(low + 1e-9), 0).astype(np.int64)
        # whole blocks within the box
        last = np.minimum(np.floor(high - 1e-9).astype(np.int64) + 1, np.maximum(box.cells * 2**level // _BLOCK, 1))
        self.bounds = box.low + self._first * width, box.low + last * width

    def __call__(self, X):
        return self.surface.field(X)

    def gradient(self, X):
        return self.surface.field.jet(X)[1]

    def jet(self, X, order):
        return self.surface.field.jet(X)

    def sample_blocks(self, blocks, side, origin, spacing):
        return sample_blocks(self.surface.field, self.level, blocks + self._first)


def _check_boundary(boundary: str, trim: float | None, trim_quantile: float | None) -> None:
    if boundary not in _BOUNDARIES:
        raise ValueError(f"boundary must be one of {', '.join(map(repr, _BOUNDARIES))}, got {boundary!r}.")
    given = [
        f"{name}={value!r}" for name, value in (("trim", trim), ("trim_quantile", trim_quantile)) if value is not None
    ]
    if given and boundary != "open":
        raise ValueError(f"{given[0]} is for open surfaces: give boundary='open' with it, not {boundary!r}.")
    if len(given) > 1:
        raise ValueError(f"give trim or trim_quantile, not both: got {' and '.join(given)}.")
    if trim is not None and not (np.isfinite(trim) and trim > 0):
        raise ValueError(f"trim must be a positive length, got {trim!r}.")
    if trim_quantile is not None and not 0 <= trim_quantile < 1:
        raise ValueError(f"trim_quantile must be a share from 0 up to, but not including, 1, got {trim_quantile!r}.")


def _carried_content(carried: np.ndarray | Carried) -> dict | np.ndarray:
    if isinstance(carried, np.ndarray):
        return carried
    parts = ("coef", "offsets", "low", "high", "flat")
    return {"tree": carried.tree.content(), **{name: getattr(carried, name) for name in parts}}


def _carried_of(content: dict | np.ndarray) -> np.ndarray | Carried:
    if isinstance(content, np.ndarray):
        return content
    return Carried(**{**content, "tree": Tree.from_content(content["tree"])})
