"""3MF files of additive manufacturing: zip archives with triangles as XML, and colours of the materials extension.

Specifications: https://github.com/3MFConsortium/spec_core and https://github.com/3MFConsortium/spec_materials.
"""

import io
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, TextIO
from xml.parsers import expat

import numpy as np

from .._base.saving import whole_file
from ..clouds.cloud import PointCloud
from ..shapes.mesh import Mesh
from .columns import Content, faces_in_range, readers
from .errors import FileFormatError, not_a
from .rows import write_rows

_SCHEMAS = "http://schemas.microsoft.com/3dmanufacturing"
_CORE, _MATERIAL = f"{_SCHEMAS}/core/2015/02", f"{_SCHEMAS}/material/2015/02"
_PATH = f"{_SCHEMAS}/production/2015/06 path"  # attribute of what lies in another part
_MODEL_RELATION = f"{_SCHEMAS}/2013/01/3dmodel"
_RELATIONS, _MODEL = "_rels/.rels", "3D/3dmodel.model"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # in zip archives: the same mesh gives the same bytes at any time
_LARGE = 2**30  # bytes of text, from which an archive needs the 64-bit extension
_VERTEX_BYTES, _FACE_BYTES = 90, 90  # of text, at most
_MESH, _COLORS = 1, 2  # resources that are written
_NONE = -1
_WHITE = 255.0
_IDENTITY = np.eye(4, 3)
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def write_mesh(path: Path, mesh: Mesh, single: bool = False) -> None:
    """Write vertices with 17 digits (9 if ``single``), faces and colours (8 bits); the unit is called millimetre.

    Faces with one vertex twice, which the format does not allow, are left out.
    """
    a, b, c = mesh.faces.T
    faces = mesh.faces[(a != b) & (b != c) & (c != a)]
    if not len(faces):
        raise ValueError(f"{path}: a 3MF file needs at least one face with three different vertices.")
    if not np.isfinite(mesh.vertices).all():
        raise ValueError(f"{path}: a 3MF file holds no NaN and no infinity, and vertices of the mesh have some.")
    is_large = len(mesh.vertices) * _VERTEX_BYTES + len(faces) * _FACE_BYTES > _LARGE
    with whole_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_entry("[Content_Types].xml"), _content_types())
        archive.writestr(_entry(_RELATIONS), _relations())
        part = archive.open(_entry(_MODEL), "w", force_zip64=is_large)
        with io.TextIOWrapper(part, encoding="ascii", newline="\n") as file:
            _write_model(file, mesh, faces, "%.9g" if single else "%.17g")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _content_types() -> str:
    kinds = {
        "rels": "application/vnd.openxmlformats-package.relationships+xml",
        "model": "application/vnd.ms-package.3dmanufacturing-3dmodel+xml",
    }
    lines = "".join(f'<Default Extension="{ending}" ContentType="{kind}"/>\n' for ending, kind in kinds.items())
    return f'{_XML}<Types xmlns="{_PACKAGE}/content-types">\n{lines}</Types>\n'


def _relations() -> str:
    line = f'<Relationship Id="rel0" Target="/{_MODEL}" Type="{_MODEL_RELATION}"/>'
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">\n{line}\n</Relationships>\n'


def _write_model(file: TextIO, mesh: Mesh, faces: np.ndarray, number: str) -> None:
    colors = mesh.attributes.get("colors")
    spaces = f'xmlns="{_CORE}"' + ("" if colors is None else f' xmlns:m="{_MATERIAL}"')
    file.write(f'{_XML}<model unit="millimeter" xml:lang="en-US" {spaces}>\n')
    file.write('<metadata name="Application">seminorm</metadata>\n<resources>\n')
    material, columns, triangle = "", [*faces.T], '<triangle v1="%d" v2="%d" v3="%d"/>\n'
    if colors is not None:
        of_vertex = _write_colors(file, colors)
        material = f' pid="{_COLORS}" pindex="0"'
        columns += [*of_vertex[faces].T]
        triangle = f'<triangle v1="%d" v2="%d" v3="%d" pid="{_COLORS}" p1="%d" p2="%d" p3="%d"/>\n'
    file.write(f'<object id="{_MESH}" type="model"{material}>\n<mesh>\n<vertices>\n')
    write_rows(file, [*mesh.vertices.T], f'<vertex x="{number}" y="{number}" z="{number}"/>\n')
    file.write("</vertices>\n<triangles>\n")
    write_rows(file, columns, triangle)
    file.write("</triangles>\n</mesh>\n</object>\n</resources>\n")
    file.write(f'<build>\n<item objectid="{_MESH}"/>\n</build>\n</model>\n')


def _write_colors(file: TextIO, colors: np.ndarray) -> np.ndarray:
    """Write each distinct colour once; returns the place of each vertex's colour among them."""
    red, green, blue = np.rint(np.nan_to_num(colors) * 255).astype(np.int64).T
    distinct, of_vertex = np.unique(red << 16 | green << 8 | blue, return_inverse=True)
    file.write(f'<m:colorgroup id="{_COLORS}">\n')
    write_rows(file, [distinct], '<m:color color="#%06X"/>\n')
    file.write("</m:colorgroup>\n")
    return of_vertex


class _Placed(NamedTuple):
    """An object of a part of the archive, and where it is put."""

    part: str
    number: int
    matrix: np.ndarray  # (4, 3): three rows for the directions, one for the place


@dataclass
class _Object:
    """A mesh, or a list of other objects."""

    vertices: array = field(default_factory=lambda: array("d"))
    corners: array = field(default_factory=lambda: array("q"))
    properties: array = field(default_factory=lambda: array("q"))  # per face: group, and an entry per corner
    components: list[_Placed] = field(default_factory=list)


@dataclass
class _Part:
    """What one part of the archive holds."""

    objects: dict[int, _Object] = field(default_factory=dict)
    groups: dict[int, list[list[int]]] = field(default_factory=dict)  # colours from 0 to 255
    build: list[_Placed] = field(default_factory=list)


class _Reader:
    """Collects what the elements of a model say, one after the other."""

    def __init__(self, part: str):
        self.part, self.model = part, _Part()
        self._object, self._default = _Object(), (_NONE, _NONE)
        self._group: list[list[int]] = []
        self.handlers: dict[str, Callable[[dict[str, str]], None]] = {
            f"{_CORE} object": self._start_object,
            f"{_CORE} vertex": self._add_vertex,
            f"{_CORE} triangle": self._add_triangle,
            f"{_CORE} component": lambda given: self._object.components.append(self._placed(given)),
            f"{_CORE} item": lambda given: self.model.build.append(self._placed(given)),
            f"{_CORE} basematerials": self._start_group,
            f"{_CORE} base": lambda given: self._group.append(_bytes(given["displaycolor"])),
            f"{_MATERIAL} colorgroup": self._start_group,
            f"{_MATERIAL} color": lambda given: self._group.append(_bytes(given["color"])),
        }

    def _start_object(self, given: dict[str, str]) -> None:
        self._object = self.model.objects[int(given["id"])] = _Object()
        self._default = int(given.get("pid", _NONE)), int(given.get("pindex", 0))

    def _start_group(self, given: dict[str, str]) -> None:
        self._group = self.model.groups[int(given["id"])] = []

    def _add_vertex(self, given: dict[str, str]) -> None:
        self._object.vertices.extend((float(given["x"]), float(given["y"]), float(given["z"])))

    def _add_triangle(self, given: dict[str, str]) -> None:
        self._object.corners.extend((int(given["v1"]), int(given["v2"]), int(given["v3"])))
        group, entry = self._default
        if "p1" in given:
            group, first = int(given.get("pid", group)), int(given["p1"])
            entries = first, int(given.get("p2", first)), int(given.get("p3", first))
        else:
            entries = entry, entry, entry
        self._object.properties.extend((group, *entries))

    def _placed(self, given: dict[str, str]) -> _Placed:
        numbers = [float(word) for word in given.get("transform", "").split()]
        if len(numbers) not in (0, _IDENTITY.size):
            raise ValueError(f"a transformation has {len(numbers)} numbers where {_IDENTITY.size} are due")
        matrix = np.array(numbers).reshape(_IDENTITY.shape) if numbers else _IDENTITY
        return _Placed(given.get(_PATH, self.part), int(given["objectid"]), matrix)


def _bytes(color: str) -> list[int]:
    """Red, green and blue of #RRGGBB or #RRGGBBAA."""
    return list(bytes.fromhex(color.strip().removeprefix("#"))[:3])


def _parse(file: IO[bytes], handlers: dict[str, Callable[[dict[str, str]], None]]) -> None:
    """Call the handlers of elements, known by name space and name."""

    def start(name: str, given: dict[str, str]) -> None:
        if (handler := handlers.get(name)) is not None:
            handler(given)

    def refuse(*_) -> None:
        raise ValueError("it has a document type, which the format does not allow")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    parser.ParseFile(file)


class _Archive:
    """The parts of a file, each parsed when it is needed."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path, self._archive = path, archive
        self._names = {name.lower(): name for name in archive.namelist()}
        self._parts: dict[str, _Part] = {}

    def root(self) -> str:
        """The part that the relations of the archive call the model."""
        targets: list[str] = []

        def relation(given: dict[str, str]) -> None:
            if given.get("Type") == _MODEL_RELATION:
                targets.append(given["Target"])

        if _RELATIONS in self._names:
            with self._archive.open(self._names[_RELATIONS]) as file:
                _parse(file, {f"{_PACKAGE}/relationships Relationship": relation})
        return targets[0] if targets else _MODEL

    def has(self, part: str) -> bool:
        """Whether there is a part of that name."""
        return part.lstrip("/").lower() in self._names

    def model(self, part: str) -> _Part:
        """What a part holds."""
        key = part.lstrip("/").lower()
        if key not in self._parts:
            if key not in self._names:
                raise ValueError(f"there is no part {part}")
            reader = _Reader(part)
            with self._archive.open(self._names[key]) as file:
                _parse(file, reader.handlers)
            self._parts[key] = reader.model
        return self._parts[key]

    def pieces(self, placed: _Placed, around: tuple[tuple[str, int], ...] = ()) -> Iterator["_Piece"]:
        """The meshes of an object and of its components, where they belong."""
        model, key = self.model(placed.part), (placed.part.lower(), placed.number)
        if placed.number not in model.objects:
            raise ValueError(f"there is no object {placed.number} in {placed.part}")
        if key in around:
            raise ValueError(f"object {placed.number} is a component of itself")
        found = model.objects[placed.number]
        if len(found.corners) or len(found.vertices):
            yield _piece(self.path, found, model.groups).moved(placed.matrix)
        for component in found.components:
            for piece in self.pieces(component, (*around, key)):
                yield piece.moved(placed.matrix)


class _Piece(NamedTuple):
    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None  # from 0 to 255

    def moved(self, matrix: np.ndarray) -> "_Piece":
        """The same elsewhere; faces of mirror images are turned round, so that they look outwards still."""
        if np.array_equal(matrix, _IDENTITY):
            return self
        faces = self.faces[:, ::-1] if np.linalg.det(matrix[:3]) < 0 else self.faces
        return self._replace(vertices=self.vertices @ matrix[:3] + matrix[3], faces=faces)


def _piece(path: Path, found: _Object, groups: dict[int, list[list[int]]]) -> _Piece:
    vertices = np.array(found.vertices).reshape(-1, 3)
    faces = faces_in_range(np.array(found.corners).reshape(-1, 3), len(vertices), path)
    return _Piece(vertices, faces, _vertex_colors(found, faces, len(vertices), groups))


def _vertex_colors(found: _Object, faces: np.ndarray, n: int, groups: dict[int, list[list[int]]]) -> np.ndarray | None:
    """The mean of the colours that faces have at each vertex, white where they have none; None without any."""
    properties = np.array(found.properties).reshape(-1, 4)
    sums, counts = np.zeros((n, 3)), np.zeros(n)
    for number in np.unique(properties[:, 0]).tolist():
        colors = np.array(groups.get(number, ()), dtype=float).reshape(-1, 3)
        of_group = properties[:, 0] == number
        corner, entry = faces[of_group].ravel(), properties[of_group, 1:].ravel()
        if not len(colors) or not len(corner):
            continue
        if entry.min() < 0 or entry.max() >= len(colors):
            raise ValueError(f"a face refers to more than the {len(colors)} colours of group {number}")
        counts += np.bincount(corner, minlength=n)
        for channel in range(3):
            sums[:, channel] += np.bincount(corner, colors[entry, channel], minlength=n)
    if not counts.any():
        return None
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], _WHITE)


def _read(path: Path, faces: bool) -> Content:
    """The objects of the build, where they belong, in the unit of the file."""
    if not zipfile.is_zipfile(path):
        raise not_a("whole 3MF", path)
    try:
        with zipfile.ZipFile(path) as file:
            archive = _Archive(path, file)
            if not archive.has(root := archive.root()):
                raise FileFormatError(f"{path} is not a 3MF file: the zip archive has no part {root}.")
            pieces = [piece for item in archive.model(root).build for piece in archive.pieces(item)]
    except FileFormatError:
        raise
    except KeyError as error:
        raise FileFormatError(f"{path} is damaged: an element lacks the attribute {error}.") from error
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"{path} is damaged: {error}.") from error
    return _joined(path, pieces)


read_points, read_mesh = readers(_read)


def _joined(path: Path, pieces: Sequence[_Piece]) -> Content:
    if not sum(len(piece.vertices) for piece in pieces):
        raise FileFormatError(f"{path} has no vertices: there is no mesh in its build.")
    starts = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    faces = [piece.faces.astype(np.int64) + start for piece, start in zip(pieces, starts, strict=False)]
    colors = None
    if any(piece.colors is not None for piece in pieces):
        given = [np.full(p.vertices.shape, _WHITE) if p.colors is None else p.colors for p in pieces]
        colors = np.concatenate(given) / 255.0
    vertices = np.concatenate([piece.vertices for piece in pieces])
    return Content(PointCloud(vertices, None, colors), faces_in_range(np.concatenate(faces), len(vertices), path))
