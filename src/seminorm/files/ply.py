"""PLY files: ascii, binary little and big endian are read, binary little endian is written."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np

from .. import _native
from .._base.saving import whole_file
from ..clouds.cloud import PointCloud, as_cloud
from ..shapes.mesh import Mesh
from .columns import (
    COLORS,
    NORMALS,
    POINTS,
    SENSORS,
    ColumnLayout,
    Content,
    PointSource,
    build,
    color_scale,
    faces_in_range,
    joined,
    layout_of,
    readers,
)
from .errors import FileFormatError, not_a, truncated
from .rows import number_rows, polygons_from_lines, skip_lines, triangulated

_CHUNK = 2**18
_INDICES = ("vertex_indices", "vertex_index")
_TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"},
    **{"int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8", "float32": "f4", "float64": "f8"},
}
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_PLACE = re.compile(
    r"((?:scanner|sensor)(?:[_ -]?(?:position|origin))?|scan[_ -]?(?:position|origin)|view[_ -]?point)[\s:=(\[]+"
    + r"[\s,;]+".join([_NUMBER] * 3)
    + r"(?![\w.])",
    re.IGNORECASE,
)
_CAMERA = ("view_px", "view_py", "view_pz")  # of the Point Cloud Library
_Order = Literal["=", "<", ">"]
_ORDERS: dict[str, _Order] = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
_WORDS = {  # types and words to write numbers in
    **{"b1": ("u1", "uchar"), "i1": ("i1", "char"), "u1": ("u1", "uchar"), "i2": ("<i2", "short")},
    **{"u2": ("<u2", "ushort"), "i4": ("<i4", "int"), "u4": ("<u4", "uint")},
    **{"f4": ("<f4", "float"), "f8": ("<f8", "double"), "f2": ("<f4", "float")},
}


@dataclass(frozen=True)
class _Property:
    """A column; ``count`` is the type of the length in front of a list, None for a single number."""

    name: str
    dtype: np.dtype
    count: np.dtype | None = None


@dataclass(frozen=True)
class _Element:
    """A table of the file."""

    name: str
    count: int
    properties: list[_Property]

    @property
    def has_lists(self) -> bool:
        """Whether rows can differ in length."""
        return any(column.count is not None for column in self.properties)

    @property
    def dtype(self) -> np.dtype:
        """Type of a row without lists."""
        return np.dtype([(column.name, column.dtype) for column in self.properties])


@dataclass(frozen=True)
class _PlyHeader:
    """The header: what a PLY file promises."""

    path: Path
    ascii: bool
    order: _Order
    elements: list[_Element]
    n_bytes: int
    n_lines: int
    sensor: list[float] | None  # where all points were measured from, if a comment says so

    def element(self, *names: str) -> _Element | None:
        """The first element with one of these names."""
        return next((element for element in self.elements if element.name in names), None)


def _read_header(path: Path) -> _PlyHeader:
    """Read the header of a PLY file."""
    with open(path, "rb") as file:
        if file.readline(16).strip() != b"ply":
            raise not_a("PLY", path)
        lines = []
        while (raw := file.readline(1 << 16)).strip() != b"end_header":
            if not raw:
                raise FileFormatError(f"{path} is truncated: its header has no line end_header.")
            lines.append(raw.decode("latin-1").split())
        n_bytes = file.tell()
    order, elements = _promises(path, lines)
    return _PlyHeader(path, order == "=", order, elements, n_bytes, len(lines) + 2, _sensor(lines))


def _promises(path: Path, lines: list[list[str]]) -> tuple[_Order, list[_Element]]:
    """The order of bytes and the tables that the words of the header promise."""
    order: _Order | None = None
    elements: list[_Element] = []
    for words in lines:
        try:
            if words[:1] == ["format"]:
                order = _ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(_Element(words[1], int(words[2]), []))
                if elements[-1].count < 0:
                    raise ValueError(f"{words[2]} is no count")
            elif words[:1] == ["property"]:
                elements[-1].properties.append(_property(words, order or "="))
        except (LookupError, ValueError) as error:
            raise FileFormatError(f"{path}: the header line {' '.join(words)!r} cannot be understood.") from error
    if order is None:
        raise FileFormatError(f"{path}: the header has no line format.")
    for element in elements:
        names = [column.name for column in element.properties]
        if len(set(names)) < len(names):
            raise FileFormatError(f"{path}: element {element.name} has two properties of one name: {', '.join(names)}.")
    return order, elements


def _sensor(lines: list[list[str]]) -> list[float] | None:
    """The place in a comment such as "scanner_position 1 2 3"; a viewpoint at 0 0 0 says nothing."""
    for words in lines:
        match = _PLACE.match(" ".join(words[1:])) if words[:1] in (["comment"], ["obj_info"]) else None
        if match:
            place = [float(word) for word in match.groups()[1:]]
            return place if any(place) or not match[1].lower().startswith("view") else None
    return None


def _property(words: list[str], order: _Order) -> _Property:
    if words[1] == "list":
        count = _type(words[2], order)
        if count.kind == "f":
            raise ValueError(f"the length of a list cannot be {words[2]}")
        return _Property(words[4], _type(words[3], order), count)
    return _Property(words[2], _type(words[1], order))


def _type(word: str, order: _Order) -> np.dtype:
    return np.dtype(_TYPES[word]).newbyteorder(order)


def _read(path: Path, faces: bool) -> Content:
    """Vertices and faces; polygons and strips become triangles."""
    header = _read_header(path)
    source = open_points(path, _CHUNK)
    cloud = joined(source, len(source))
    triangles = _faces(header) if faces else None
    return Content(cloud, None if triangles is None else faces_in_range(triangles, len(cloud), path))


read_points, read_mesh = readers(_read)


def open_points(path: Path, chunk: int) -> PointSource:
    """The vertices; binary ones are read when they are asked for."""
    header = _read_header(path)
    vertex = header.element("vertex", "vertices")
    if vertex is None or vertex.count == 0:
        raise FileFormatError(f"{path} has no vertices.")
    face = header.element("face", "faces", "tristrips")
    n_faces = 0 if face is None else face.count
    sensor = header.sensor or _camera(header)
    layout = layout_of([column.name for column in vertex.properties if column.count is None], path)
    if header.ascii or vertex.has_lists:
        columns = _ascii_columns(header, vertex) if header.ascii else _walked_columns(header, vertex)
        cloud = build(layout, columns, color_scale(layout, columns), sensor)
        return PointSource(path, len(cloud), lambda first, last: cloud[first:last], chunk, n_faces)
    start = _start(header, vertex)
    dtype, size = vertex.dtype, path.stat().st_size
    end = start + vertex.count * dtype.itemsize
    if size < end:
        raise truncated(path, "vertices", vertex.count, max(size - start, 0) // dtype.itemsize, end)

    def rows(first: int, last: int) -> np.ndarray:
        return np.fromfile(path, dtype=dtype, count=last - first, offset=start + first * dtype.itemsize)

    scale = _common_scale(layout, rows, vertex.count)

    def points(first: int, last: int) -> PointCloud:
        return build(layout, rows(first, last), scale, sensor)

    return PointSource(path, vertex.count, points, chunk, n_faces)


def _common_scale(layout: ColumnLayout, rows, n: int) -> float:
    """One scale of the colours for all chunks: floating point ones have to be looked at."""
    if layout.colors is None:
        return 1.0
    first = rows(0, 1)
    if all(first[name].dtype.kind == "u" for name in layout.colors):
        return color_scale(layout, first)
    return max(color_scale(layout, rows(k, min(k + _CHUNK, n))) for k in range(0, n, _CHUNK))


def _start(header: _PlyHeader, wanted: _Element) -> int:
    """First byte of an element in a binary file."""
    position = header.n_bytes
    for element in header.elements[: header.elements.index(wanted)]:
        if element.has_lists:
            position = _walk(header, element, position)[2]
        else:
            position += element.count * element.dtype.itemsize
    return position


def _camera(header: _PlyHeader) -> list[float] | None:
    """The place of the element camera; None if it is missing, or 0 0 0 because nothing else was known."""
    camera = header.element("camera")
    names = [] if camera is None else [column.name for column in camera.properties]
    if camera is None or camera.count != 1 or camera.has_lists or not {*_CAMERA} <= {*names}:
        return None
    if header.ascii:
        with _body(header, camera) as file:
            row = number_rows(header.path, file, 1, len(names), "cameras")[0].tolist()
    else:
        rows = np.fromfile(header.path, dtype=camera.dtype, count=1, offset=_start(header, camera)).tolist()
        if not rows:
            raise truncated(header.path, "cameras", 1, 0)
        row = rows[0]
    place = [float(row[names.index(name)]) for name in _CAMERA]
    return place if any(place) else None


def _walk(header: _PlyHeader, element: _Element, start: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Place and length of each entry of an element with lists, and the element's end."""
    room = header.path.stat().st_size - start
    if element.count > room:  # before memory is taken for what a damaged count promises
        raise truncated(header.path, f"rows of element {element.name}", element.count, 0)
    offsets = np.empty((element.count, len(element.properties)), dtype=np.int64)
    counts = np.empty_like(offsets)
    columns = element.properties
    count_size = np.array([0 if c.count is None else c.count.itemsize for c in columns], dtype=np.int64)
    item_size = np.array([c.dtype.itemsize for c in columns], dtype=np.int64)
    data = np.asarray(np.memmap(header.path, dtype=np.uint8, mode="r"))
    complete, end = _native.walk_rows(data, start, count_size, item_size, header.order == "<", offsets, counts)
    if complete < element.count:
        raise truncated(header.path, f"rows of element {element.name}", element.count, complete)
    return offsets, counts, end


def _gathered(data: np.ndarray, offsets: np.ndarray, counts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The entries of all rows in one array."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(offsets, counts) + within * dtype.itemsize
    entries = np.empty((len(places), dtype.itemsize), dtype=np.uint8)
    for k in range(dtype.itemsize):
        entries[:, k] = data[places + k]
    return entries.view(dtype)[:, 0] if len(entries) else np.zeros(0, dtype=dtype)


def _walked_columns(header: _PlyHeader, vertex: _Element) -> dict[str, np.ndarray]:
    offsets, counts, _ = _walk(header, vertex, _start(header, vertex))
    data = np.memmap(header.path, dtype=np.uint8, mode="r")
    return {
        column.name: _gathered(data, offsets[:, k], counts[:, k], column.dtype)
        for k, column in enumerate(vertex.properties)
        if column.count is None
    }


def _ascii_columns(header: _PlyHeader, vertex: _Element) -> dict[str, np.ndarray]:
    if vertex.has_lists:
        raise FileFormatError(f"{header.path}: lists among the properties of ascii vertices cannot be read.")
    with _body(header, vertex) as file:
        rows = number_rows(header.path, file, vertex.count, len(vertex.properties), "vertices")
    # integers in their own type; text may say more about floating point numbers than float32 holds
    dtypes = [rows.dtype if column.dtype.kind == "f" else column.dtype for column in vertex.properties]
    return {c.name: rows[:, k].astype(dtypes[k], copy=False) for k, c in enumerate(vertex.properties)}


@contextmanager
def _body(header: _PlyHeader, wanted: _Element) -> Iterator[TextIO]:
    """The text of an ascii file from the first row of an element on."""
    above = header.elements[: header.elements.index(wanted)]
    with open(header.path, encoding="latin-1") as file:
        skip_lines(file, header.n_lines + sum(element.count for element in above))
        yield file


def _faces(header: _PlyHeader) -> np.ndarray | None:
    element = header.element("face", "faces", "tristrips")
    if element is None or element.count == 0:
        return None
    names = [column.name for column in element.properties if column.count is not None]
    name = next((name for name in _INDICES if name in names), None)
    if name is None:
        raise FileFormatError(f"{header.path}: element {element.name} has no list vertex_indices.")
    place = [column.name for column in element.properties].index(name)
    if header.ascii:
        with _body(header, element) as file:
            before = [column.count is not None for column in element.properties[:place]]
            counts, corners = polygons_from_lines(header.path, file, element.count, before)
    else:
        start = _start(header, element)
        triangles = _plain_triangles(header, element, place, start) if element.name != "tristrips" else None
        if triangles is not None:
            return triangles
        offsets, all_counts, _ = _walk(header, element, start)
        counts = all_counts[:, place]
        data = np.memmap(header.path, dtype=np.uint8, mode="r")
        corners = _gathered(data, offsets[:, place], counts, element.properties[place].dtype)
        corners = corners.astype(np.int64)
    return _unrolled(counts, corners) if element.name == "tristrips" else triangulated(counts, corners)


def _plain_triangles(header: _PlyHeader, element: _Element, place: int, start: int) -> np.ndarray | None:
    """The faces of a binary file if all are triangles and there are no other lists: by far the usual case."""
    columns = element.properties
    if any(column.count is not None for k, column in enumerate(columns) if k != place):
        return None
    fields: list[tuple] = []
    for k, column in enumerate(columns):
        fields += [("count", column.count), ("corners", column.dtype, (3,))] if k == place else [(f"{k}", column.dtype)]
    dtype = np.dtype(fields)
    faces = np.empty((element.count, 3), dtype=np.int64 if columns[place].dtype.itemsize > 4 else np.int32)
    with open(header.path, "rb") as file:
        file.seek(start)
        for first in range(0, element.count, _CHUNK):
            n = min(_CHUNK, element.count - first)
            rows = np.fromfile(file, dtype=dtype, count=n)
            if (rows["count"] != 3).any():
                return None
            if len(rows) < n:
                end = start + element.count * dtype.itemsize
                raise truncated(header.path, "faces", element.count, first + len(rows), end)
            faces[first : first + n] = rows["corners"]
    return faces


def _unrolled(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles of strips; -1 starts a new strip within a list, every other triangle is turned round."""
    position = np.arange(len(corners))
    starts = np.zeros(len(corners), dtype=np.int64)
    first = np.cumsum(counts) - counts
    starts[first[counts > 0]] = first[counts > 0]
    cut = np.flatnonzero(corners == -1) + 1
    cut = cut[cut < len(corners)]
    starts[cut] = cut
    starts = np.maximum.accumulate(starts)
    a, b, c = corners[:-2], corners[1:-1], corners[2:]
    whole = (starts[2:] == starts[:-2]) & (a != -1) & (b != -1) & (c != -1)
    odd = (position - starts)[:-2] % 2 == 1
    faces = np.stack([np.where(odd, b, a), np.where(odd, a, b), c], axis=1)[whole]
    return faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]


class _Column(NamedTuple):
    name: str
    dtype: str
    word: str
    values: np.ndarray
    scale: float = 1.0


def write_mesh(path: Path, mesh: Mesh, single: bool = False) -> None:
    """Write vertices with all they carry, and faces."""
    columns = _columns(as_cloud(mesh), single)
    index, word = ("<i4", "int") if len(mesh.vertices) < 2**31 else ("<u4", "uint")
    if len(mesh.vertices) >= 2**32:
        raise ValueError(f"{path}: a PLY file holds at most {2**32} vertices, the mesh has {len(mesh.vertices)}.")
    dtype = np.dtype([("count", "u1"), ("corners", index, (3,))])
    faces = [f"element face {len(mesh.faces)}", f"property list uchar {word} vertex_indices"]
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_header(len(mesh.vertices), columns, faces))
        _write_rows(file, columns, len(mesh.vertices))
        for first in range(0, len(mesh.faces), _CHUNK):
            part = mesh.faces[first : first + _CHUNK]
            rows = np.empty(len(part), dtype=dtype)
            rows["count"], rows["corners"] = 3, part
            file.write(rows.tobytes())


def write_points(path: Path, cloud: PointCloud, single: bool = False) -> None:
    """Write points with all they carry."""
    columns = _columns(cloud, single)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_header(len(cloud), columns, []))
        _write_rows(file, columns, len(cloud))


def _header(n: int, columns: list[_Column], more: list[str]) -> bytes:
    lines = ["ply", "format binary_little_endian 1.0", "comment written by seminorm", f"element vertex {n}"]
    lines += [f"property {column.word} {column.name}" for column in columns] + more + ["end_header", ""]
    return "\n".join(lines).encode("ascii")


def _columns(cloud: PointCloud, single: bool) -> list[_Column]:
    real = ("<f4", "float") if single else ("<f8", "double")
    columns = [_Column(name, *real, cloud.points[:, k]) for k, name in enumerate(POINTS)]
    if cloud.normals is not None:
        columns += [_Column(name, *real, cloud.normals[:, k]) for k, name in enumerate(NORMALS[0])]
    if cloud.colors is not None:
        columns += [_Column(name, "u1", "uchar", cloud.colors[:, k], 255.0) for k, name in enumerate(COLORS[0])]
    if cloud.sensor is not None:
        columns += [_Column(name, *real, cloud.sensor[:, k]) for k, name in enumerate(SENSORS[0])]
    for name, values in cloud.attributes.items():
        columns += _attribute_columns(name, values)
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"attribute {name!r} cannot be written: two columns of the PLY file would have its name.")
    return columns


def _attribute_columns(name: str, values: np.ndarray) -> list[_Column]:
    name = "_".join(name.split())
    if not name or not name.isascii():
        raise ValueError(f"attribute {name!r} cannot be written to a PLY file: its name must be plain ASCII text.")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"attribute {name!r} cannot be written to a PLY file: it holds {values.dtype}, not numbers.")
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        fits = values.size == 0 or (values.min() >= -(2**31) and values.max() < 2**31)
        kind = "i4" if fits else "f8"
    else:
        kind = values.dtype.str[1:]
    dtype, word = _WORDS.get(kind, _WORDS["f8"])
    if values.ndim == 1:
        return [_Column(name, dtype, word, values)]
    return [_Column(f"{name}_{k}", dtype, word, values[:, k]) for k in range(values.shape[1])]


def _write_rows(file, columns: list[_Column], n: int) -> None:
    dtype = np.dtype([(column.name, column.dtype) for column in columns])
    for first in range(0, n, _CHUNK):
        part = slice(first, min(first + _CHUNK, n))
        rows = np.empty(part.stop - part.start, dtype=dtype)
        for column in columns:
            values = column.values[part]
            rows[column.name] = np.rint(np.nan_to_num(values) * column.scale) if column.scale != 1.0 else values
        file.write(rows.tobytes())
