"""Surfaces: implicit functions fitted to points, meshed near the points."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .. import functions  # its names are imported when they are used: expansions need much that surfaces do not
from .._base.saving import load_npz, save_npz
from ..clouds.scans import SCAN
from ..fields.field import Field
from ..shapes import attributes as measures
from ..shapes.attributes import Neighborhood, check_names
from ..shapes.boundaries import BORDER, WIDE_BORDER, box_around, check_boundary, check_hole, check_resolution
from ..shapes.carried import Attachments
from ..shapes.contours import Contours
from ..shapes.data_contours import data_contours
from ..shapes.implicit import Implicit
from ..shapes.mesh import Mesh
from .meshing import MeshPlan, SurfaceMesher, least_quality
from .uncertainty import FitModel, place_deviation

_CONTOUR_CELLS = 512  # along the longest side of points in the plane, of the coarsest contours by default


class Surface(Implicit):
    """The zero set of a function: negative inside, its gradient points outwards, in units of length near the points.

    Parameters
    ----------
    field : Field or Expansion
        The function: piecewise polynomial, or the exact combination of kernels.
    points : array (n, 3)
        The data.
    details : dict, optional
        The parameters that were given or chosen, and what they were chosen from.
    model : FitModel, optional
        What the field was fitted with; the uncertainty needs it.
    normals : array (n, 3), optional
        Unit normals of the data; with them the uncertainty is estimated better. Kept in single precision.
    attributes : dict of arrays (n,) or (n, k), optional, see :meth:`attach`
    resolution : float, optional
        Width of the smallest details, for an Expansion; a field knows its own.

    See Also
    --------
    reconstruct, fit_exact : Functions that make surfaces.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import Surface, reconstruct
    >>> sphere = np.random.default_rng(0).standard_normal((300, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> surface = reconstruct(sphere, sphere, depth=3, smoothness=0.1, tolerance=0.1)
    >>> surface.inside([[0.0, 0.0, 0.0], [0.0, 0.0, 1.1]]).tolist()
    [True, False]
    """

    thread_safe = False
    resolution: float

    def __init__(
        self,
        field: Field | functions.Expansion,
        points: np.ndarray,
        details: dict | None = None,
        *,
        model: FitModel | None = None,
        normals: np.ndarray | None = None,
        attributes: Mapping[str, Any] | None = None,
        resolution: float | None = None,
    ):
        self.field, self.points, self.details, self.model = field, points, dict(details or {}), model
        self.normals = None if normals is None else np.ascontiguousarray(normals, dtype=np.float32)
        self.dimension = points.shape[1]
        self._grid = field if isinstance(field, Field) else None
        self.bounds = box_around(points, BORDER)
        if self._grid is not None:
            resolution = self._grid.tree.spacing(self._grid.depth) * self._grid.tree.box.scale[0]
        elif resolution is None:
            raise ValueError("resolution is missing: give the width of the smallest details of the function.")
        self.resolution = float(resolution)
        self._attached = Attachments(points, attributes)

    def __repr__(self):
        attached = f", with {', '.join(self.attached)}" if self.attached else ""
        kind = "exact" if self._grid is None else f"depth {self._grid.depth}"
        return (
            f"<Surface of {len(self.points)} points{attached}: {kind}, {self.field.n_coef} coefficients, resolution "
            f"{self.resolution:.3g}>"
        )

    @property
    def on_grid(self) -> bool:
        """Whether the function is a field, rather than an exact combination of kernels."""
        return self._grid is not None

    def _jet(self, X, order):
        if order == 0:
            return (self.field(X),)
        values, gradients = self.field.jet(X)
        return (values, gradients) if order == 1 else (values, gradients, self.field.hessian(X))

    @property
    def data(self) -> Neighborhood:
        """The points, to ask for neighbours."""
        return self._attached.data

    def surface_points(self) -> np.ndarray:
        """Many points on the surface (n, 3), as far as the function is known."""
        return self.mesh(deviation=0.0, boundary="extrapolate", sharp=False).vertices

    @property
    def attached(self) -> tuple[str, ...]:
        """Names of the attributes of the data that the surface carries."""
        return self._attached.names

    def attach(self, name: str, values) -> Surface:
        """Give the surface colours or other numbers (n,) or (n, k) of its data points; its meshes have them too.

        Numbers with a fraction become a smooth field of their own, fitted when it is first needed, that stays within
        their range; NaN is where they are not known. Whole numbers (classes) and truth values are those of the nearest
        data point. "colors" are in [0, 1], or unsigned integers that fill the range of their type. Returns the surface.
        """
        self._attached.add(name, values)
        return self

    def attribute(self, name: str, X) -> np.ndarray:
        """An attached attribute (m,) or (m, k), by its name, at places X (m, 3)."""
        self._attached.check(name)
        return self._attached.at(name, self._points(X))

    def mesh(  # type: ignore[override]  # knows its data, and takes other options than shapes without data
        self,
        resolution: float | None = None,
        *,
        deviation: float | None = None,
        boundary: str = "auto",
        trim: float | None = None,
        trim_quantile: float | None = None,
        max_hole: float | None = None,
        target_faces: int | None = None,
        method: str = "standard",
        sharp: bool | str = "auto",
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
        deviation : float, optional
            How far the triangles may lie from the surface, about: where it is flat, vertices that are not needed for
            this are left out, and the triangles are larger. By default a fifth of the mean distance of points that were
            held out, but 0.01 to 0.1 of a cell; with attributes, triangles grow no wider than the data are apart. 0
            keeps all vertices, as does a resolution without a deviation.
        boundary : "auto", "closed", "open" or "extrapolate"
            Where the surface ends. "auto": a scan of a closed body becomes closed, with its holes filled; of a scan
            that covers one side, what lies outside is cut off where the data end. Outside is what the data do not
            support and what reaches the box around them or protrudes from their convex hull. "closed": some way beyond
            the data, at :attr:`bounds`, with a cap. "open": where it leaves the data; see ``trim``. "extrapolate": on
            the border of the field's box, some two lengths of the data away from them, without a cap.
        trim : float, optional
            For open surfaces: the largest distance to the nearest data point. By default three times the distance of
            neighbouring data points there, but no less than the field's finest cells. Faces are kept or dropped whole;
            holes narrower than this are filled.
        trim_quantile : float, optional
            For open surfaces, instead of ``trim``: the share of the vertices that is cut off, where data are least
            dense.
        max_hole : float, optional
            For ``boundary="auto"``: holes wider than this stay open; by default all are filled.
        target_faces : int, optional
            The most faces that the mesh may have, see :meth:`seminorm.shapes.Mesh.simplified`.
        method : "standard" or "quality"
            "quality" makes triangles that are nearly equilateral, as simulations want them, in some more time.
        sharp : "auto", True or False
            Resolve edges that are sharper than the function, which rounds them off over about one of its cells. Where
            the normals of the data near an edge or corner fall into two to four clusters, and a quadric for each
            explains the data much better than the function does, the quadrics' intersection becomes a chain of mesh
            edges. "auto": if this holds for most of what bends; smooth shapes are left exactly as they are. True: at
            each edge for itself. False: nowhere. Needs normals that are given, or estimated by ``reconstruct``.
        keep_unsupported : bool
            Keep components that have hardly any data of their own, bubbles made of noise, and handles whose shortest
            loop has next to no data: bridges between sheets, and holes torn into thin ones.
        attributes : str or sequence of str
            What else to give the vertices: "distance" to the nearest data point; "density", data points per unit of
            area nearby; "filled", whether the surface is a guess there, farther from the data than three times the
            distance of neighbouring data; "uncertainty", the standard deviation of the surface along its normal,
            calibrated by points that are held out, in some seconds
            (:func:`seminorm.surfaces.uncertainty.place_deviation`); "curvature", the mean of the principal ones, 1 / r
            on a ball of radius r; "gradient_length" of the function, near 1 where it is trustworthy. Attached
            attributes come without being asked for; one with such a name is replaced if it is asked for.
        refine : int
            Newton steps that bring each vertex onto the surface.
        verbose : bool
            Show progress.

        Returns
        -------
        Mesh
        """
        if self.dimension != 3:
            raise ValueError("a mesh is for points in space, and these lie in the plane: use contours().")
        names = check_names(attributes)
        plan = MeshPlan(
            resolution,
            deviation,
            boundary,
            trim,
            trim_quantile,
            max_hole,
            method,
            sharp,
            keep_unsupported,
            refine,
            verbose,
        )
        mesh = SurfaceMesher(self, plan, carries=bool(names or set(self.attached) - {SCAN})).mesh()
        mesh = mesh if target_faces is None else mesh.simplified(target_faces, least_quality(method))
        columns = {name: self.attribute(name, mesh.vertices) for name in self.attached if name not in names}
        columns.update((name, self._measured(name, mesh.vertices)) for name in names)
        return Mesh(mesh.vertices, mesh.faces, mesh.normals, columns) if columns else mesh

    def contours(
        self,
        resolution: float | None = None,
        *,
        boundary: str = "auto",
        trim: float | None = None,
        max_hole: float | None = None,
        keep_unsupported: bool = False,
        refine: int = 2,
    ) -> Contours:
        """The curve through points in the plane, as lines.

        Parameters
        ----------
        resolution : float, optional
            Side of the cells that the plane is cut into near the curve; by default half of the field's finest cells,
            and at most a 512th of the longest side.
        boundary : "auto", "closed" or "open"
            Where lines end. "auto": stretches without data that reach the box around them, or protrude from their
            convex hull, are cut off; others fill gaps. "closed": nowhere, and some way beyond the data along the box.
            "open": where they leave the data; see ``trim``.
        trim : float, optional
            For open lines: the largest distance to the nearest data point; by default three times the distance of
            neighbouring data points there, but no less than the field's finest cells.
        max_hole : float, optional
            For ``boundary="auto"``: gaps wider than this stay open; by default all are filled.
        keep_unsupported : bool
            Keep lines without data of their own.
        refine : int
            Newton steps that bring each point onto the curve.

        Returns
        -------
        Contours, whose ``is_closed`` says whether all lines are, with the attached attributes
        """
        if self.dimension != 2:
            raise ValueError(f"contours are for points in the plane, and these have {self.dimension} axes: use mesh().")
        check_boundary(boundary, ("auto", "closed", "open"), trim)
        check_resolution(resolution)
        check_hole(max_hole, boundary)
        cell = resolution or min(self.resolution / 2, float(np.ptp(self.points, axis=0).max()) / _CONTOUR_CELLS)
        box = box_around(self.points, WIDE_BORDER if boundary == "auto" else BORDER)
        options: dict[str, Any] = {"boundary": boundary, "trim": trim, "max_hole": max_hole, "refine": refine}
        options["keep_unsupported"] = keep_unsupported
        found = data_contours(self, self.points, box, cell, self.resolution, **options)
        columns = {name: self.attribute(name, found.points) for name in self.attached}
        return Contours(found.lines, found.closed, found.normals, columns)

    def _measured(self, name: str, X: np.ndarray) -> np.ndarray:
        if name == "distance":
            return self.data.nearest(X)[0]
        if name == "density":
            return self.data.density(X)
        if name == "filled":
            return measures.filled(self.data, X)
        if name == "curvature":
            return measures.mean_curvature(self, X)
        if name == "gradient_length":
            return measures.gradient_length(self, X)
        if self._grid is None:
            raise ValueError("the uncertainty of an exact surface is not known: use reconstruct instead of fit_exact.")
        if self.model is None:
            raise ValueError(
                "the uncertainty needs to know the fit: give the surface a model with its order, smoothness and "
                "tolerance, as reconstruct does."
            )
        estimated = str(self.details.get("normals", "")).startswith("estimated")
        return place_deviation(self._grid, self.points, self.normals, self.model, X, self.data, estimated=estimated)

    def save(self, path: str | PathLike[str], **options) -> Path:
        """Write the mesh, with the options of :meth:`mesh`, or the function and all that is attached; the path's ending
        decides: ply, obj, stl, glb, off or html for the mesh, npz for the function. In the plane svg, csv and obj are
        for the contours, with the options of :meth:`contours`. Returns the path of the file.
        """
        path = Path(path)
        if path.suffix.lower() != ".npz":
            return (self.contours if self.dimension == 2 else self.mesh)(**options).save(path)
        if options:
            raise ValueError(f"{path} holds the function, not a mesh: leave out {', '.join(options)}.")
        content = {name: getattr(self, name) for name in ("points", "normals", "resolution", "details")}
        content["model"] = None if self.model is None else asdict(self.model)
        content["attached"] = self._attached.content()
        return save_npz(path, {"type": "Surface", **self.field.content(), **content})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Surface:
        """Read a surface written by :meth:`save` as npz; no code of the file is run."""
        try:
            content = load_npz(path)
            if content.get("type") != "Surface":
                raise ValueError(f"{path} does not hold a Surface.")
            points = content["points"]
            kind = _class_of_field(content)
            field = kind.from_content(content, path)
            if points.ndim != 2 or points.shape[1] != field.dimension:
                raise ValueError(f"points of shape {points.shape} do not belong to a field of {field.dimension} axes.")
            details, model = _fit_of(content)
            options = {"normals": content["normals"], "resolution": content["resolution"]}
            surface = cls(field, points, details, model=model, **options)
            surface._attached = Attachments.from_content(points, content["attached"])
        except FileNotFoundError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path} cannot be read as a Surface, it may be damaged: {error}") from error
        except zipfile.BadZipFile as error:
            raise ValueError(f"{path} is damaged: {error}") from error
        return surface


def _fit_of(content: dict) -> tuple[dict, FitModel | None]:
    """Details and model of a file; files of format 1 have the model in their details, the tolerance by its old name."""
    details = dict(content["details"])
    if "model" in content:
        return details, None if content["model"] is None else FitModel(**content["model"])
    for named in (details, *details.get("trials", ())):
        if "normal_weight" in named:
            named["tolerance"] = named.pop("normal_weight")
    needed = ("order", "smoothness", "tolerance")
    if details.get("exact") or not all(name in details for name in needed):
        return details, None
    return details, FitModel(**{name: details[name] for name in needed}, area=details.get("area"))


def _class_of_field(content: dict) -> type[functions.Expansion] | type[Field]:
    """Which of the two a file holds."""
    return functions.Expansion if "functionals" in content else Field
