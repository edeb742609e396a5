"""Wavefront OBJ files: vertices with normals and colours, and faces."""

from itertools import islice
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from ..clouds.cloud import PointCloud, unit_rows
from ..shapes.mesh import Mesh
from .columns import Content, faces_in_range, readers
from .errors import FileFormatError, not_a
from .rows import reason_of, triangulated, write_rows

_BLOCK_LINES = 2**18
_OTHER_KEYS = ("vt", "vp", "g", "o", "s", "mtllib", "usemtl")


def _read(path: Path, faces: bool) -> Content:
    """Vertices and, if wanted, faces. A vertex whose corners have different normals gets their mean."""
    lines = _Lines(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        whole_lines = _whole_lines(file)
        while block := list(islice(whole_lines, _BLOCK_LINES)):
            lines.add(block)
    if not lines.n_vertices:
        raise FileFormatError(f"{path} has no vertices.") if lines.is_obj else not_a("OBJ", path)
    vertices = lines.table("v")
    colors = vertices[:, 3:6] if vertices.shape[1] >= 6 else None
    if colors is not None and np.fmax.reduce(colors, axis=None, initial=0.0) > 1:
        colors = colors / 255
    triangles = lines.triangles() if faces and lines.counts else None
    if triangles is not None:
        triangles = faces_in_range(triangles, len(vertices), path)
    colors = None if colors is None else np.clip(colors, 0.0, 1.0)
    return Content(PointCloud(vertices[:, :3], lines.vertex_normals(), colors), triangles)


read_points, read_mesh = readers(_read)


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write vertices (with colours behind the coordinates), normals and faces."""
    colors = mesh.attributes.get("colors")
    columns = [*mesh.vertices.T] + ([] if colors is None else [*np.nan_to_num(colors).T])
    corners = [column + 1 for column in mesh.faces.astype(np.int64).T]
    with whole_file(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        file.write("# written by seminorm\n")
        write_rows(file, columns, "v" + " %.17g" * 3 + (" %.6g" * 3 if colors is not None else "") + "\n")
        if mesh.normals is None:
            write_rows(file, corners, "f %d %d %d\n")
        else:
            write_rows(file, [*mesh.normals.T], "vn %.17g %.17g %.17g\n")
            write_rows(file, [corner for corner in corners for _ in range(2)], "f %d//%d %d//%d %d//%d\n")


def _whole_lines(file):
    """Lines, with those that end in a backslash joined to the next."""
    for line in file:
        while line.endswith("\\\n"):
            line = line[:-2] + " " + next(file, "")
        yield line


class _Lines:
    """The lines of a file, turned into arrays a block at a time."""

    def __init__(self, path: Path):
        self.path = path
        self.is_obj = False
        self.n_vertices = self.n_normals = 0
        self.counts: list[np.ndarray] = []
        self._tables: dict[str, list[np.ndarray]] = {"v": [], "vn": []}
        self._corners: list[np.ndarray] = []
        self._corner_normals: list[np.ndarray | None] = []

    def add(self, lines: list[str]) -> None:
        """Take up a block of lines."""
        vertices, normals, faces, seen = [], [], [], []
        for line in lines:
            key, rest = line[:2], line[2:]
            if key not in ("v ", "f ") and (words := line.split(None, 1)) and len(words) == 2:
                key, rest = words
            if key in ("v ", "v"):
                vertices.append(rest)
            elif key == "vn":
                normals.append(rest)
            elif key in ("f ", "f"):
                faces.append(rest)
                seen.append((self.n_vertices + len(vertices), self.n_normals + len(normals)))
            elif key in _OTHER_KEYS:
                self.is_obj = True
        self.n_vertices += len(vertices)
        self.n_normals += len(normals)
        self.is_obj |= bool(faces or normals)
        for name, texts in (("v", vertices), ("vn", normals)):
            if texts:
                self._tables[name].append(self._numbers(name, texts))
        if faces:
            self._add_faces(faces, np.array(seen))

    def table(self, key: str) -> np.ndarray:
        """All vertices or all normals."""
        width = min(table.shape[1] for table in self._tables[key])
        return np.concatenate([table[:, :width] for table in self._tables[key]])

    def triangles(self) -> np.ndarray:
        """Faces as triangles."""
        return triangulated(np.concatenate(self.counts), np.concatenate(self._corners))

    def vertex_normals(self) -> np.ndarray | None:
        """One normal per vertex; None if they do not cover the vertices."""
        if not self.n_normals:
            return None
        normals, n = self.table("vn"), self.n_vertices
        given = [part for part in self._corner_normals if part is not None]
        if not self._corners or len(given) < len(self._corner_normals):
            return normals if self.n_normals == n and normals.shape[1] == 3 else None
        corner, normal = np.concatenate(self._corners), np.concatenate(given)
        faces_in_range(corner[:, None], n, self.path)
        if normal.min() < 0 or normal.max() >= self.n_normals:
            raise FileFormatError(f"{self.path} is damaged: a face refers to more than its {self.n_normals} normals.")
        of_vertex = np.full(n, -1)
        of_vertex[corner] = normal
        if (of_vertex[corner] == normal).all():
            result = normals[of_vertex]
        else:
            sums = [np.bincount(corner, normals[normal, axis], minlength=n) for axis in range(3)]
            result = unit_rows(np.stack(sums, axis=1))
        result[of_vertex < 0] = 0.0
        return result

    def _numbers(self, key: str, texts: list[str]) -> np.ndarray:
        try:
            table = np.loadtxt(texts, comments="#", ndmin=2)
        except ValueError as error:
            raise FileFormatError(f"{self.path} is damaged: among its lines {key!r}, {reason_of(error)}.") from error
        if len(table) != len(texts) or table.shape[1] < 3:
            raise FileFormatError(f"{self.path} is damaged: a line {key!r} has fewer than three numbers.")
        return table

    def _add_faces(self, texts: list[str], seen: np.ndarray) -> None:
        """Faces, and how many vertices and normals were above each: negative numbers count back from there."""
        try:
            counts, corners, normals = _regular_faces(texts) or _irregular_faces(texts)
        except ValueError as error:
            raise FileFormatError(f"{self.path} is damaged: a face is not made of whole numbers: {error}.") from error
        if (corners == 0).any():
            raise FileFormatError(f"{self.path} is damaged: a face refers to vertex 0, and they count from 1.")
        seen = np.repeat(seen, counts, axis=0)
        self.counts.append(counts)
        self._corners.append(np.where(corners < 0, corners + seen[:, 0], corners - 1))
        if normals is not None:
            normals = np.where(normals < 0, normals + seen[:, 1], normals - 1)
        self._corner_normals.append(normals)


_Faces = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _regular_faces(texts: list[str]) -> _Faces | None:
    """Counts, corners and their normals, if all lines have the form of the first."""
    word = texts[0].split()[0] if texts[0].split() else ""
    separator = "//" if "//" in word else "/"
    n_parts = len(word.split(separator)) if word else 0
    try:
        table = np.loadtxt([text.replace(separator, " ") for text in texts], dtype=np.int64, comments="#", ndmin=2)
    except ValueError:
        return None
    n_words = table.size // max(n_parts, 1)
    n_separators = sum(text.count(separator) for text in texts)
    if len(table) != len(texts) or n_words * n_parts != table.size or n_separators != n_words * (n_parts - 1):
        return None
    parts = table.reshape(-1, n_parts)
    has_normals = n_parts == 3 or separator == "//"
    return np.full(len(table), table.shape[1] // n_parts), parts[:, 0], parts[:, -1] if has_normals else None


def _irregular_faces(texts: list[str]) -> _Faces:
    """The same for lines of any form."""
    words = [text.partition("#")[0].split() for text in texts]
    parts = [word.split("/") for line in words for word in line]
    corners = np.array([int(part[0]) for part in parts], dtype=np.int64)
    has_normals = all(len(part) == 3 and part[2] for part in parts)
    normals = np.array([int(part[2]) for part in parts], dtype=np.int64) if has_normals else None
    return np.array([len(line) for line in words]), corners, normals
