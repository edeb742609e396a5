"""Files of points and meshes.

========== ============================= ==================== ===================
ending     points                        meshes               remarks
========== ============================= ==================== ===================
ply        read, write, in chunks        read, write          keeps everything
xyz, txt,  read, write                                        columns by name, or
asc, csv,                                                     see ``files.text``
xyzn, ...
pts, pwn   read
pcd        read                                               all three storages
obj        read                          read, write          17 digits
stl        read                          read, write          single precision
off        read                          read, write          NOFF, COFF too
glb                                      write                for viewers
html                                     write                turns in browsers
npz        read, write
npy        read, in chunks                                    3, 6 or 9 columns
las, laz   read                                               needs laspy
========== ============================= ==================== ===================
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..cloud import PointCloud, as_cloud, bounds_of
from ..mesh import Mesh
from . import arrays, glb, html, las, obj, off, pcd, ply, ply_writing, stl, text
from .columns import Content, PointSource
from .errors import FileFormatError, checked_path
from .html import write_page

__all__ = [
    "FileFormatError",
    "PointSource",
    "describe",
    "open_points",
    "read_mesh",
    "read_points",
    "write_mesh",
    "write_page",
    "write_points",
]

_TEXT = (".xyz", ".txt", ".asc", ".csv", ".xyzn", ".xyzrgb")
_READERS = {
    ".ply": ply.read,
    **dict.fromkeys((*_TEXT, ".pts", ".pwn"), text.read),
    ".pcd": pcd.read,
    ".obj": obj.read,
    ".stl": stl.read,
    ".off": off.read,
    **dict.fromkeys((".npz", ".npy"), arrays.read),
    **dict.fromkeys((".las", ".laz"), las.read),
}
_WITH_FACES = (".ply", ".obj", ".stl", ".off")
_CHUNKED = {".ply": ply.open_source, ".npy": arrays.open_npy}
_MESH_WRITERS = {
    ".ply": ply_writing.write_mesh,
    ".obj": obj.write_mesh,
    ".stl": stl.write_mesh,
    ".off": off.write_mesh,
    ".glb": glb.write_mesh,
    ".html": html.write_mesh,
}
_POINT_WRITERS = {
    ".ply": ply_writing.write_points,
    **dict.fromkeys(_TEXT, text.write_points),
    ".npz": arrays.write_points,
}
_CHUNK = 2**20


def read_points(path) -> PointCloud:
    """The points of a file, or the vertices of a mesh; the ending of its name says the format.

    NaN and infinity are kept. Colours are brought to [0, 1]; columns with other names become attributes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seminorm.surfaces.files import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.xyz"
    ...     _ = path.write_text("# x y z nx ny nz\\n0 0 1  0 0 1\\n0 1 0  0 1 0\\n")
    ...     read_points(path)
    PointCloud(2 points, normals)
    """
    return _content(path, faces=False).cloud


def read_mesh(path) -> Mesh:
    """The mesh of a PLY, OBJ, STL or OFF file; polygons become fans of triangles."""
    path = checked_path(path)
    _lookup(_WITH_FACES, path, "read as a mesh")
    cloud, faces = _content(path, faces=True)
    if faces is None or not len(faces):
        raise FileFormatError(f"{path} has {len(cloud)} vertices and no faces: read it with read_points.")
    attributes = cloud.attributes if cloud.colors is None else {"colors": cloud.colors, **cloud.attributes}
    return Mesh(cloud.points, faces, cloud.normals, attributes)


def open_points(path, chunk: int = _CHUNK) -> PointSource:
    """The points of a file, to be read a chunk at a time, several times.

    Binary PLY and NPY files are read when their chunks are asked for; others are read at once and cut.

    Parameters
    ----------
    path : path of the file
    chunk : int
        Largest number of points in a chunk.

    Returns
    -------
    PointSource
        ``len`` is the number of points; iterating gives a :class:`PointCloud` for each chunk.
    """
    path = checked_path(path)
    reader = _lookup(_READERS, path, "read")
    if _suffix(path) in _CHUNKED:
        return _CHUNKED[_suffix(path)](path, chunk)
    cloud, faces = reader(path, faces=_suffix(path) in _WITH_FACES)
    return PointSource(path, len(cloud), lambda a, b: cloud[a:b], chunk, 0 if faces is None else len(faces))


def describe(path) -> dict:
    """What a file holds, in plain numbers and words.

    Returns
    -------
    dict
        path, format, bytes; kind ("points" or "mesh"), points, faces; columns; bounds (of the finite points, None
        without any), invalid_points (with NaN or infinity), has_normals, has_colors, has_faces.
    """
    path = checked_path(path)
    source = open_points(path)
    low, high, n_invalid = np.full(3, np.inf), np.full(3, -np.inf), 0
    for chunk in source:
        n_invalid += len(chunk) - int(np.isfinite(chunk.points).all(axis=1).sum())
        bounds = bounds_of(chunk.points)
        low, high = np.fmin(low, bounds[0]), np.fmax(high, bounds[1])
    columns = ["x", "y", "z"]
    columns += [*("nx", "ny", "nz")] if chunk.normals is not None else []
    columns += [*("red", "green", "blue")] if chunk.colors is not None else []
    return {
        "path": str(path),
        "format": _suffix(path)[1:],
        "bytes": path.stat().st_size,
        "kind": "mesh" if source.n_faces else "points",
        "points": len(source),
        "faces": source.n_faces,
        "columns": columns + list(chunk.attributes),
        "bounds": [low.tolist(), high.tolist()] if n_invalid < len(source) else None,
        "invalid_points": n_invalid,
        "has_normals": chunk.normals is not None,
        "has_colors": chunk.colors is not None,
        "has_faces": source.n_faces > 0,
    }


def write_mesh(path, mesh: Mesh, *, single: bool = False) -> Path:
    """Write a mesh in the format of the path's ending: ply, obj, stl, off, glb or html.

    PLY keeps everything: coordinates in double precision, normals, colours (8 bits), attributes. OBJ and OFF keep
    coordinates to the last digit, normals and colours; STL only the triangles, in single precision. HTML is a page
    that shows the mesh in any browser; see :func:`write_page` for several in one page.

    Parameters
    ----------
    path : path of the file
        An existing file is replaced once all is written.
    mesh : Mesh
    single : bool
        Single precision in PLY files, at half the size.
    """
    path = Path(path)
    writer = _lookup(_MESH_WRITERS, path, "written as a mesh")
    _check_folder(path)
    writer(path, mesh, single) if _suffix(path) == ".ply" else writer(path, mesh)
    return path


def write_points(path, cloud, *, single: bool = False) -> Path:
    """Write points with normals, colours and attributes in the format of the path's ending: ply, xyz, txt or npz.

    Parameters
    ----------
    path : path of the file
        An existing file is replaced once all is written.
    cloud : PointCloud, or what :func:`seminorm.surfaces.cloud.as_cloud` takes
    single : bool
        Single precision in PLY files, at half the size.
    """
    path, cloud = Path(path), as_cloud(cloud)
    writer = _lookup(_POINT_WRITERS, path, "written as points")
    _check_folder(path)
    writer(path, cloud, single) if _suffix(path) == ".ply" else writer(path, cloud)
    return path


def _content(path, faces: bool) -> Content:
    path = checked_path(path)
    return _lookup(_READERS, path, "read")(path, faces=faces)


def _suffix(path: Path) -> str:
    return path.suffix.lower()


def _lookup(formats, path: Path, what: str):
    suffix = _suffix(path)
    if suffix not in formats:
        ending = f"the ending {suffix!r}" if suffix else "no ending"
        raise FileFormatError(
            f"{path} has {ending} and cannot be {what}: the endings for that are {', '.join(sorted(formats))}."
        )
    return formats[suffix] if isinstance(formats, dict) else suffix


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
