"""OFF files, with normals (NOFF) and colours (COFF)."""

import re
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from ..clouds.cloud import PointCloud
from ..shapes.mesh import Mesh
from .columns import Content, faces_in_range, readers
from .errors import FileFormatError, not_a
from .rows import number_rows, polygons_from_lines, triangulated, write_rows


def _read(path: Path, faces: bool) -> Content:
    """Vertices and faces; polygons become triangles."""
    with open(path, encoding="latin-1") as file:
        flags, n_vertices, n_faces = _read_header(path, file)
        if n_vertices == 0:
            raise FileFormatError(f"{path} has no vertices.")
        rows = number_rows(path, file, n_vertices, None, "vertices")
        cloud = _cloud(path, rows, flags)
        if not faces or n_faces == 0:
            return Content(cloud)
        triangles = triangulated(*polygons_from_lines(path, file, n_faces))
    return Content(cloud, faces_in_range(triangles, n_vertices, path))


read_points, read_mesh = readers(_read)


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write vertices with normals and colours (whole numbers up to 255, with opacity), and faces."""
    columns, line, kind = [*mesh.vertices.T], "%.17g %.17g %.17g", "OFF"
    if mesh.normals is not None:
        columns, line, kind = columns + [*mesh.normals.T], line + " %.17g" * 3, "N" + kind
    if "colors" in mesh.attributes:
        colors = np.rint(np.nan_to_num(mesh.attributes["colors"]) * 255)
        columns, line, kind = columns + [*colors.T], line + " %d %d %d 255", "C" + kind
    with whole_file(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        file.write(f"{kind}\n{len(mesh.vertices)} {len(mesh.faces)} 0\n")
        write_rows(file, columns, line + "\n")
        write_rows(file, [*mesh.faces.T], "3 %d %d %d\n")


def _read_header(path: Path, file) -> tuple[str, int, int]:
    lines = (text for line in iter(file.readline, "") if (text := line.partition("#")[0].strip()))
    match = re.match(r"(ST)?(C)?(N)?OFF\b|(ST)?(C)?(N)?OFF(?=\d)", first := next(lines, ""))
    if match is None:
        raise not_a("OFF", path)
    rest = first[match.end() :].split()
    if rest[:1] == ["BINARY"]:
        raise FileFormatError(f"{path} is a binary OFF file, which cannot be read: convert it to text or to PLY.")
    try:
        counts = [int(word) for word in rest or next(lines, "").split()]
        n_vertices, n_faces = counts[:2]
    except ValueError as error:
        raise FileFormatError(f"{path}: the numbers of vertices and faces below OFF cannot be read.") from error
    if min(n_vertices, n_faces) < 0:
        raise FileFormatError(f"{path}: {n_vertices} vertices and {n_faces} faces cannot be.")
    return match[0].removesuffix("OFF"), n_vertices, n_faces


def _cloud(path: Path, rows: np.ndarray, flags: str) -> PointCloud:
    """Coordinates, then normals, then colours with or without opacity."""
    texture = 2 if "ST" in flags else 0
    flags = flags.removeprefix("ST")
    needed = 3 + 3 * ("N" in flags) + 3 * ("C" in flags)
    width = rows.shape[1] - texture
    if width < needed:
        raise FileFormatError(f"{path}: the lines of the vertices have {width} numbers where {needed} are due.")
    normals = rows[:, 3:6] if "N" in flags else None
    first = 6 if "N" in flags else 3
    colors = rows[:, first : first + 3] if "C" in flags or (not flags and width in (6, 7)) else None
    if colors is not None:
        colors = np.clip(colors / (255 if np.fmax.reduce(colors, axis=None) > 1 else 1), 0.0, 1.0)
    return PointCloud(rows[:, :3], normals, colors)
