"""Files of points and meshes; the formats are listed in ``all_formats``.

========== ============================= ==================== ===================
ending     points                        meshes               remarks
========== ============================= ==================== ===================
ply        read, write, in chunks        read, write          keeps everything
xyz, ...   read, write                                        see ``files.text``
pts, pwn   read
pcd        read, write                                        all three storages
ptx        read                                               scans, registered
e57        read                                               the same, needs pye57
las, laz   read                                               COPC, too; needs laspy
obj        read                          read, write          17 digits
stl        read                          read, write          single precision
off        read                          read, write          NOFF, COFF too
3mf        read                          read, write          for printers
glb, gltf                                write                for viewers
html                                     write                turns in browsers
npz        read, write
npy        read, in chunks                                    3, 6 or 9 columns
========== ============================= ==================== ===================
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from .._base.formats import FileFormatError, Format, all_formats, checked_path
from ..clouds.cloud import CloudLike, PointCloud, as_cloud, bounds_of
from ..shapes.mesh import Mesh
from .columns import PointSource

__all__ = ["Format", "all_formats", "describe", "open_points", "read_mesh", "read_points", "write_mesh", "write_points"]

_CHUNK = 2**20


def read_points(path: str | os.PathLike[str]) -> PointCloud:
    """The points of a file, or the vertices of a mesh; the ending of its name says the format.

    NaN and infinity are kept. Colours are brought to [0, 1]; columns with other names become attributes. Scans of E57
    and PTX files are moved to their registered places, numbered by the attribute "scan" if there are several, and
    ``sensor`` is where they were measured from; PLY and PCD files may say that, too.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    PointCloud

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import read_points, write_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_points(write_points(f"{folder}/points.xyz", [[0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0]]))
    PointCloud(2 points, normals)

    See Also
    --------
    open_points, read_mesh : Read large files a chunk at a time; read faces, too.
    """
    return as_cloud(all_formats.read("read_points", path))


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """The mesh of a PLY, OBJ, STL, OFF or 3MF file; polygons become fans of triangles.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    Mesh

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import read_mesh, write_mesh
    >>> from seminorm.shapes import Mesh
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_mesh(write_mesh(f"{folder}/triangle.off", Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])))
    Mesh(3 vertices, 1 faces)

    See Also
    --------
    read_points, write_mesh : Read the vertices alone; write a mesh.
    """
    mesh = all_formats.read("read_mesh", path)
    if not len(mesh.faces):
        raise FileFormatError(f"{path} has {len(mesh.vertices)} vertices and no faces: read it with read_points.")
    return mesh


def open_points(path: str | os.PathLike[str], chunk: int = _CHUNK) -> PointSource:
    """The points of a file, to be read a chunk at a time, several times.

    Binary PLY and NPY files are read when their chunks are asked for; others are read at once and cut.

    Parameters
    ----------
    path : path of the file
    chunk : int
        Largest number of points in a chunk.

    Returns
    -------
    PointSource, ``len`` is the number of points; iterating gives one :class:`PointCloud` per chunk

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import open_points, write_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_points(f"{folder}/points.ply", [[k, 0, 0] for k in range(5)])
    ...     [len(chunk) for chunk in open_points(path, chunk=2)]
    [2, 2, 1]

    See Also
    --------
    read_points : Reads all points at once.
    """
    path = checked_path(path)
    reader = all_formats.get("read_points", path)
    if (chunked := all_formats.find("open_points", path)) is not None:
        return chunked.function("open_points")(path, chunk)
    if (with_faces := all_formats.find("read_mesh", path)) is not None:
        content = with_faces.function("read_mesh")(path)
        cloud, n_faces = as_cloud(content), len(content.faces)
    else:
        cloud, n_faces = reader.function("read_points")(path), 0
    return PointSource(path, len(cloud), lambda first, last: cloud[first:last], chunk, n_faces)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file holds, in plain numbers and words.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    dict
        path, format, bytes; kind ("points" or "mesh"), points, faces; columns; bounds (of the finite points, None
        without any), invalid_points (with NaN or infinity), has_normals, has_colors, has_sensor, has_faces.

    See Also
    --------
    read_points, read_mesh

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import describe, write_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = describe(write_points(f"{folder}/points.xyz", [[0, 0, 1], [0, 1, float("nan")]]))
    >>> found["kind"], found["points"], found["columns"], found["invalid_points"]
    ('points', 2, ['x', 'y', 'z'], 1)
    """
    path = checked_path(path)
    source = open_points(path)
    low, high, n_invalid = np.full(3, np.inf), np.full(3, -np.inf), 0
    for chunk in source:
        n_invalid += len(chunk) - int(np.isfinite(chunk.points).all(axis=1).sum())
        bounds = bounds_of(chunk.points)
        low, high = np.fmin(low, bounds[0]), np.fmax(high, bounds[1])
    columns = ["x", "y", "z"]
    columns += ["nx", "ny", "nz"] if chunk.normals is not None else []
    columns += ["red", "green", "blue"] if chunk.colors is not None else []
    columns += ["x_origin", "y_origin", "z_origin"] if chunk.sensor is not None else []
    return {
        "path": str(path),
        "format": path.suffix.lower()[1:],
        "bytes": path.stat().st_size,
        "kind": "mesh" if source.n_faces else "points",
        "points": len(source),
        "faces": source.n_faces,
        "columns": columns + list(chunk.attributes),
        "bounds": [low.tolist(), high.tolist()] if n_invalid < len(source) else None,
        "invalid_points": n_invalid,
        "has_normals": chunk.normals is not None,
        "has_colors": chunk.colors is not None,
        "has_sensor": chunk.sensor is not None,
        "has_faces": source.n_faces > 0,
    }


def write_mesh(path: str | os.PathLike[str], mesh: Mesh, *, single: bool = False) -> Path:
    """Write a mesh in the format of the path's ending: ply, obj, stl, off, 3mf, glb, gltf or html.

    PLY keeps everything: coordinates in double precision, normals, colours (8 bits), attributes. OBJ and OFF keep
    coordinates to the last digit, normals and colours; 3MF coordinates and colours; STL only the triangles, in single
    precision. HTML is a page that shows the mesh in any browser; see :func:`write_page` for several in one page.

    Parameters
    ----------
    path : path of the file; replaced if it exists, once all is written
    mesh : Mesh
    single : bool
        Single precision in PLY and 3MF files, at about half the size.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import read_mesh, write_mesh
    >>> from seminorm.shapes import Sphere
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_mesh(write_mesh(f"{folder}/ball.ply", Sphere([0, 0, 0], 1).mesh(0.2))).is_watertight
    True

    See Also
    --------
    write_page : Shows several meshes in one page.
    """
    return all_formats.write("write_mesh", path, mesh, single=single)


def write_points(path: str | os.PathLike[str], cloud: CloudLike, *, single: bool = False) -> Path:
    """Write points with all they carry in the format of the path's ending: ply, pcd, xyz, txt or npz.

    Parameters
    ----------
    path : path of the file; replaced if it exists, once all is written
    cloud : PointCloud, or what :func:`seminorm.clouds.as_cloud` takes
    single : bool
        Single precision in PLY and PCD files, at half the size; older versions of the Point Cloud Library need it.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import read_points, write_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_points(write_points(f"{folder}/points.ply", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    PointCloud(2 points)

    See Also
    --------
    read_points
    """
    return all_formats.write("write_points", path, as_cloud(cloud), single=single)
