"""Reading PLY files: ascii, binary little and big endian."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from ..cloud import PointCloud
from ._numba import walk_rows
from .columns import Content, Layout, PointSource, build, color_scale, faces_in_range, joined, layout_of
from .errors import FileFormatError, truncated
from .ply_header import Element, Header, read_header
from .polygons import polygons_from_lines, triangulated
from .text import number_rows, skip_lines

_CHUNK = 2**18
_INDICES = ("vertex_indices", "vertex_index")


def read(path: Path, faces: bool = True) -> Content:
    """Vertices and, if wanted, faces; polygons and strips become triangles."""
    header = read_header(path)
    source = open_source(path, _CHUNK)
    cloud = joined(source, len(source))
    triangles = _faces(header) if faces else None
    return Content(cloud, None if triangles is None else faces_in_range(triangles, len(cloud), path))


def open_source(path: Path, chunk: int) -> PointSource:
    """The vertices; binary ones are read when they are asked for."""
    header = read_header(path)
    vertex = header.element("vertex", "vertices")
    if vertex is None or vertex.count == 0:
        raise FileFormatError(f"{path} has no vertices.")
    face = header.element("face", "faces", "tristrips")
    n_faces = 0 if face is None else face.count
    layout = layout_of([column.name for column in vertex.properties if column.count is None], path)
    if header.ascii or vertex.has_lists:
        columns = _ascii_columns(header, vertex) if header.ascii else _walked_columns(header, vertex)
        cloud = build(layout, columns, color_scale(layout, columns))
        return PointSource(path, len(cloud), lambda first, last: cloud[first:last], chunk, n_faces)
    start = _start(header, vertex)
    _check_size(header, vertex, start)
    dtype = vertex.dtype

    def rows(first: int, last: int) -> np.ndarray:
        return np.fromfile(path, dtype=dtype, count=last - first, offset=start + first * dtype.itemsize)

    scale = _common_scale(layout, rows, vertex.count)

    def points(first: int, last: int) -> PointCloud:
        return build(layout, rows(first, last), scale)

    return PointSource(path, vertex.count, points, chunk, n_faces)


def _common_scale(layout: Layout, rows, n: int) -> float:
    """One scale of the colours for all chunks: floating point ones have to be looked at."""
    if layout.colors is None:
        return 1.0
    first = rows(0, 1)
    if all(first[name].dtype.kind == "u" for name in layout.colors):
        return color_scale(layout, first)
    return max(color_scale(layout, rows(k, min(k + _CHUNK, n))) for k in range(0, n, _CHUNK))


def _check_size(header: Header, vertex: Element, start: int) -> None:
    size = header.path.stat().st_size
    end = start + vertex.count * vertex.dtype.itemsize
    if size < end:
        complete = max(size - start, 0) // vertex.dtype.itemsize
        raise FileFormatError(
            f"{header.path} is truncated: it promises {vertex.count} vertices ({end} bytes) and holds {complete} "
            f"({size} bytes)."
        )


def _start(header: Header, wanted: Element) -> int:
    """First byte of an element in a binary file."""
    position = header.n_bytes
    for element in header.elements:
        if element is wanted:
            break
        position = (
            _walk(header, element, position)[2]
            if element.has_lists
            else (position + element.count * element.dtype.itemsize)
        )
    return position


def _bytes(path: Path) -> np.ndarray:
    return np.memmap(path, dtype=np.uint8, mode="r")


def _walk(header: Header, element: Element, start: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Place and length of each entry of an element with lists, and the element's end."""
    room = header.path.stat().st_size - start
    if element.count > room:  # before memory is taken for what a damaged count promises
        raise truncated(header.path, f"rows of element {element.name}", element.count, 0)
    offsets = np.empty((element.count, len(element.properties)), dtype=np.int64)
    counts = np.empty_like(offsets)
    count_size = np.array([0 if column.count is None else column.count.itemsize for column in element.properties])
    item_size = np.array([column.dtype.itemsize for column in element.properties])
    data = np.asarray(_bytes(header.path))
    complete, end = walk_rows(data, start, count_size, item_size, header.order == "<", offsets, counts)
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


def _walked_columns(header: Header, vertex: Element) -> dict[str, np.ndarray]:
    offsets, counts, _ = _walk(header, vertex, _start(header, vertex))
    data = _bytes(header.path)
    return {
        column.name: _gathered(data, offsets[:, k], counts[:, k], column.dtype)
        for k, column in enumerate(vertex.properties)
        if column.count is None
    }


def _ascii_columns(header: Header, vertex: Element) -> dict[str, np.ndarray]:
    if vertex.has_lists:
        raise FileFormatError(f"{header.path}: lists among the properties of ascii vertices cannot be read.")
    with _body(header, vertex) as file:
        rows = number_rows(header.path, file, vertex.count, len(vertex.properties), "vertices")
    return {column.name: _cast(rows[:, k], column.dtype) for k, column in enumerate(vertex.properties)}


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Integers in their own type; text may say more about floating point numbers than float32 holds."""
    return values if dtype.kind == "f" else values.astype(dtype)


@contextmanager
def _body(header: Header, wanted: Element) -> Iterator[TextIO]:
    """The text of an ascii file from the first row of an element on."""
    skipped = header.n_lines
    for element in header.elements:
        if element is wanted:
            break
        skipped += element.count
    with open(header.path, encoding="latin-1") as file:
        skip_lines(file, skipped)
        yield file


def _faces(header: Header) -> np.ndarray | None:
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
        corners = _gathered(_bytes(header.path), offsets[:, place], counts, element.properties[place].dtype)
        corners = corners.astype(np.int64)
    return _unrolled(counts, corners) if element.name == "tristrips" else triangulated(counts, corners)


def _plain_triangles(header: Header, element: Element, place: int, start: int) -> np.ndarray | None:
    """The faces of a binary file if all are triangles and there are no other lists: by far the usual case."""
    columns = element.properties
    if any(column.count is not None for k, column in enumerate(columns) if k != place):
        return None
    fields = []
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
                size = header.path.stat().st_size
                raise FileFormatError(
                    f"{header.path} is truncated: it promises {element.count} faces "
                    f"({start + element.count * dtype.itemsize} bytes) and holds {first + len(rows)} ({size} bytes)."
                )
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
