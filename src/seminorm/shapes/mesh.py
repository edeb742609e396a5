"""Triangle meshes: measures, connectedness, and the way to other libraries and files."""

import os
from collections.abc import Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._base.extras import require
from .._base.formats import all_formats
from .._base.warnings import warn_user
from ..clouds.cloud import as_attributes, as_colors, as_triples, bounds_of, unit_rows
from .extraction.thinning import QUALITY, thinned

_CHUNK_FACES = 2**19
_FINEST, _COARSEST = 1e-6, 0.05  # deviations that are tried, in diagonals
_HALVINGS = 14
_WORTH = 0.02  # share of the faces that another round must remove


class Mesh:
    """Triangles over shared vertices, with attributes of the vertices.

    Parameters
    ----------
    vertices : array (n, 3)
    faces : int array (m, 3)
        Rows of three vertices, counter-clockwise as seen from outside.
    normals : array (n, 3), optional
        Of the vertices.
    attributes : dict of arrays (n,) or (n, k), optional, ``attributes["colors"]`` is special: (n, 3) in [0, 1]

    Examples
    --------
    >>> from seminorm.shapes import Mesh
    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> mesh = Mesh(corner, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> mesh.is_watertight, mesh.genus, round(mesh.volume, 4)
    (True, 0, 0.1667)

    See Also
    --------
    Implicit.mesh, seminorm.files.read_mesh, seminorm.files.write_mesh : The mesh of a shape or of a file.
    """

    __slots__ = ("attributes", "faces", "normals", "vertices")

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        normals: ArrayLike | None = None,
        attributes: Mapping[str, ArrayLike] | None = None,
    ):
        self.vertices = as_triples(vertices, "vertices")
        n = len(self.vertices)
        self.faces = _as_faces(faces, n)
        self.normals = None if normals is None else as_triples(normals, "normals", n)
        self.attributes = as_attributes(attributes, n)
        if "colors" in self.attributes:
            self.attributes["colors"] = as_colors(self.attributes["colors"], n)

    def __repr__(self) -> str:
        parts = (["normals"] if self.normals is not None else []) + list(self.attributes)
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces{', ' if parts else ''}{', '.join(parts)})"

    @property
    def area(self) -> float:
        """Sum of the areas of the faces."""
        return float(self.face_areas.sum())

    @property
    def face_areas(self) -> np.ndarray:
        """The area of each face."""
        parts = [0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1) for a, b, c in self._corners()]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def volume(self) -> float:
        """Enclosed volume, negative if the faces look inwards; for open meshes, that of the cones to the centre."""
        if not len(self.faces):
            return 0.0
        center = self.bounds.mean(axis=0)
        spokes = ((a - center, b - center, c - center) for a, b, c in self._corners())
        return float(sum(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 for a, b, c in spokes))

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and largest coordinates, (2, 3)."""
        return bounds_of(self.vertices)

    def components(self) -> tuple[np.ndarray, int]:
        """Parts connected through vertices: the part of each face (m,), 0 has the most faces, and their number."""
        m, n = len(self.faces), len(self.vertices)
        if m == 0:
            return np.zeros(0, dtype=np.int32), 0
        ends = np.concatenate([self.faces[:, 1], self.faces[:, 2]])
        graph = sparse.coo_array((np.ones(2 * m, dtype=bool), (np.tile(self.faces[:, 0], 2), ends)), shape=(n, n))
        _, of_vertex = connected_components(graph.tocsr(), directed=False)
        of_face = of_vertex[self.faces[:, 0]]
        sizes = np.bincount(of_face)
        count = int(np.count_nonzero(sizes))
        rank = np.empty(len(sizes), dtype=np.int32)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        return rank[of_face], count

    @property
    def is_watertight(self) -> bool:
        """Whether every edge belongs to two faces that run through it in opposite directions."""
        faces = self.faces
        if not len(faces) or ((faces == np.roll(faces, 1, axis=1)).any()):
            return False
        keys = self._edge_keys(0, 1)
        keys.sort()
        if (keys[1:] == keys[:-1]).any():
            return False
        opposite = self._edge_keys(1, 0)
        opposite.sort()
        return bool(np.array_equal(keys, opposite))

    @property
    def euler_characteristic(self) -> int:
        """Vertices in use minus edges plus faces."""
        n_edges = 0
        if len(self.faces):
            keys = self._edge_keys(0, 1, directed=False)
            keys.sort()
            n_edges = 1 + int(np.count_nonzero(keys[1:] != keys[:-1]))
        return int(np.count_nonzero(self._used(self.faces))) - n_edges + len(self.faces)

    @property
    def genus(self) -> int:
        """Number of handles, over all parts; for watertight meshes only."""
        if not self.is_watertight:
            raise ValueError("genus is defined for watertight meshes: this has open, crowded or inconsistent edges.")
        return self.components()[1] - self.euler_characteristic // 2

    def vertex_normals(self) -> np.ndarray:
        """Unit normals (n, 3) of the vertices: the mean of the normals of their faces, weighted by area."""
        normals = np.zeros((len(self.vertices), 3))
        for first, (a, b, c) in enumerate(self._corners()):
            faces = self.faces[first * _CHUNK_FACES : (first + 1) * _CHUNK_FACES]
            of_face = np.cross(b - a, c - a)
            for axis in range(3):
                weights = np.repeat(of_face[:, axis], 3)
                normals[:, axis] += np.bincount(faces.ravel(), weights, minlength=len(normals))
        return unit_rows(normals)

    def keep(self, face_mask: ArrayLike) -> "Mesh":
        """The mesh of some faces, given by a mask or by indices, and of the vertices they use."""
        faces = self.faces[np.asarray(face_mask)]
        used = self._used(faces)
        new_index = np.cumsum(used, dtype=self.faces.dtype) - 1
        return Mesh(
            self.vertices[used],
            new_index[faces],
            None if self.normals is None else self.normals[used],
            {name: values[used] for name, values in self.attributes.items()},
        )

    def thinned(self, deviation: float, longest: float = np.inf, quality: float = QUALITY) -> "Mesh":
        """The mesh with fewer vertices where it is flat; those that stay keep their places, normals and attributes.

        ``deviation`` is about how far the new triangles may lie from the old ones, ``longest`` the length of new edges,
        ``quality`` the least 4 sqrt(3) area / (sum of the squared sides) of new triangles: 1 if they are equilateral.
        Topology does not change, and borders stay as they are.
        """
        if not (np.isfinite(deviation) and deviation >= 0):
            raise ValueError(f"deviation must be a length, 0 or more, got {deviation!r}.")
        if not longest > 0:
            raise ValueError(f"longest must be a positive length, got {longest!r}.")
        if not 0 <= quality <= 1:
            raise ValueError(f"quality must be a number from 0 to 1, got {quality!r}.")
        rows, faces = thinned(self.vertices, self.faces, float(deviation), float(longest), float(quality))
        return Mesh(
            self.vertices[rows],
            faces,
            None if self.normals is None else self.normals[rows],
            {name: values[rows] for name, values in self.attributes.items()},
        )

    def simplified(self, faces: int, quality: float = QUALITY) -> "Mesh":
        """The mesh with at most this many faces, placed where they are needed: :meth:`thinned`, with the deviation that
        gives as many, and triangles of that ``quality`` at least.

        A mesh stays what it is topologically, its borders stay, and triangles stay well shaped: where that does not
        allow so few faces, there are more, with a warning.
        """
        if not (isinstance(faces, Integral) and faces >= 4):
            raise ValueError(f"faces must be a whole number from 4 on, got {faces!r}.")
        if len(self.faces) <= faces:
            return self
        size = float(np.linalg.norm(np.ptp(self.vertices, axis=0)))
        low, high, best = _FINEST * size, _COARSEST * size, self
        for _ in range(_HALVINGS):  # of the logarithm of the deviation
            middle = float(np.sqrt(low * high))
            tried = self.thinned(middle, quality=quality)
            enough = len(tried.faces) <= faces
            low, high = (low, middle) if enough else (middle, high)
            fewer = len(tried.faces) < len(best.faces)
            if fewer if len(best.faces) > faces else enough and not fewer:
                best = tried
        while len(best.faces) > faces:
            tried = best.thinned(_COARSEST * size, quality=quality)
            if len(tried.faces) > (1.0 - _WORTH) * len(best.faces):
                warn_user(
                    f"the mesh has {len(best.faces)} faces, not {faces}: with fewer its topology, its borders or the "
                    "shape of its triangles would suffer."
                )
                break
            best = tried
        return best

    def to_trimesh(self) -> Any:
        """A ``trimesh.Trimesh`` of the same vertices and faces."""
        looks = {"vertex_normals": self.normals, "vertex_colors": self._colors8()}
        mesh = require("trimesh", "surface").Trimesh(self.vertices, self.faces, **looks, process=False)
        mesh.vertex_attributes.update({name: a for name, a in self.attributes.items() if name != "colors"})
        return mesh

    def to_open3d(self) -> Any:
        """An ``open3d.geometry.TriangleMesh``."""
        open3d = require("open3d", "viewers")
        vectors, triples = open3d.utility.Vector3dVector, open3d.utility.Vector3iVector
        mesh = open3d.geometry.TriangleMesh(vectors(self.vertices), triples(self.faces.astype(np.int32)))
        if self.normals is not None:
            mesh.vertex_normals = vectors(self.normals)
        if "colors" in self.attributes:
            mesh.vertex_colors = vectors(self.attributes["colors"])
        return mesh

    def to_pyvista(self) -> Any:
        """A ``pyvista.PolyData``; normals, colours ("RGB") and attributes are its point data."""
        pyvista = require("pyvista", "viewers")
        corners = np.empty((len(self.faces), 4), dtype=np.int64)
        corners[:, 0], corners[:, 1:] = 3, self.faces
        mesh = pyvista.PolyData(self.vertices, corners.ravel())
        if self.normals is not None:
            mesh.point_data["Normals"] = self.normals
        for name, values in self.attributes.items():
            mesh.point_data["RGB" if name == "colors" else name] = self._colors8() if name == "colors" else values
        return mesh

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the mesh by the ending: ply, obj, stl, off, 3mf, glb, gltf, or html (a page to turn it)."""
        return all_formats.write("write_mesh", path, self)

    def _colors8(self) -> np.ndarray | None:
        colors = self.attributes.get("colors")
        return None if colors is None else np.rint(np.nan_to_num(colors) * 255).astype(np.uint8)

    def _corners(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        for first in range(0, len(self.faces), _CHUNK_FACES):
            faces = self.faces[first : first + _CHUNK_FACES]
            yield self.vertices[faces[:, 0]], self.vertices[faces[:, 1]], self.vertices[faces[:, 2]]

    def _edge_keys(self, tail: int, head: int, directed: bool = True) -> np.ndarray:
        """One integer per edge, (3 m,): from the corner ``tail`` of each side to its corner ``head``."""
        m, n = len(self.faces), len(self.vertices)
        keys = np.empty(3 * m, dtype=np.int64)
        for side in range(3):
            ends = self.faces[:, (side + tail) % 3], self.faces[:, (side + head) % 3]
            first, last = ends if directed else (np.minimum(*ends), np.maximum(*ends))
            part = keys[side * m : (side + 1) * m]
            np.multiply(first, n, out=part, dtype=np.int64)
            part += last
        return keys

    def _used(self, faces: np.ndarray) -> np.ndarray:
        used = np.zeros(len(self.vertices), dtype=bool)
        used[faces.ravel()] = True
        return used


def _as_faces(faces: ArrayLike, n: int) -> np.ndarray:
    rows = np.asarray(faces)
    if rows.size == 0:
        return np.zeros((0, 3), dtype=np.int32)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise ValueError(f"faces must be integers of shape (m, 3), they are {rows.dtype} of shape {rows.shape}.")
    low, high = int(rows.min()), int(rows.max())
    if low < 0 or high >= n:
        raise ValueError(f"faces must refer to the vertices 0 to {n - 1}, they go from {low} to {high}.")
    return np.ascontiguousarray(rows, dtype=np.int32 if n < 2**31 else np.int64)
