"""STL files, ascii and binary: triangles without shared vertices, in single precision."""

from pathlib import Path

import numpy as np

from .._base.rows import equal_rows
from .._base.saving import whole_file
from .._base.warnings import warn_user
from ..clouds.cloud import PointCloud, unit_rows
from ..shapes.mesh import Mesh
from .columns import Content, readers
from .errors import FileFormatError, not_a, truncated
from .rows import reason_of

_CHUNK = 2**18
_BLOCK_LINES = 2**18
_RECORD = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_LOSS = 1e-6


def _read(path: Path, faces: bool) -> Content:
    """Triangles, with equal corners merged into vertices."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(84)
    promised = int.from_bytes(head[80:84], "little")
    is_text = head.lstrip()[:5].lower() == b"solid" and size != 84 + promised * _RECORD.itemsize
    if not is_text and (size < 84 or (b"\0" not in head and size != 84 + promised * _RECORD.itemsize)):
        raise not_a("STL", path)
    corners = _read_text(path) if is_text else _read_binary(path, size, promised)
    if not len(corners):
        raise FileFormatError(f"{path} has no vertices.")
    first, of_corner = equal_rows(corners)
    return Content(PointCloud(corners[first]), of_corner.reshape(-1, 3).astype(np.int32) if faces else None)


read_points, read_mesh = readers(_read)


def _read_binary(path: Path, size: int, promised: int) -> np.ndarray:
    found = (size - 84) // _RECORD.itemsize
    if found < promised:
        expected = 84 + promised * _RECORD.itemsize
        raise FileFormatError(
            f"{path} is truncated or not an STL file: it promises {promised} faces ({expected} bytes) and holds "
            f"{max(found, 0)} ({size} bytes)."
        )
    corners = np.empty((promised, 3, 3), dtype=np.float32)
    with open(path, "rb") as file:
        file.seek(84)
        for first in range(0, promised, _CHUNK):
            n = min(_CHUNK, promised - first)
            corners[first : first + n] = np.fromfile(file, dtype=_RECORD, count=n)["corners"]
    return corners.reshape(-1, 3)


def _read_text(path: Path) -> np.ndarray:
    parts: list[np.ndarray] = []
    texts: list[str] = []
    ended = False

    def flush() -> None:
        if texts:
            try:
                parts.append(np.loadtxt(texts, ndmin=2))
            except ValueError as error:
                what = f"{path} is damaged or truncated: among its vertices, {reason_of(error)}."
                raise FileFormatError(what) from error
            texts.clear()

    with open(path, encoding="latin-1") as file:
        for line in file:
            words = line.split(None, 1)
            key = words[0].lower() if words else ""
            if key == "vertex" and len(words) == 2:
                texts.append(words[1])
            ended = key == "endsolid" if key else ended
            if len(texts) >= _BLOCK_LINES:
                flush()
    flush()
    corners = np.concatenate(parts) if parts else np.zeros((0, 3))
    if len(corners) % 3 or corners.shape[1] != 3:
        raise truncated(path, "vertices", -(-len(corners) // 3) * 3, len(corners))
    if not ended:
        raise FileFormatError(f"{path} is truncated: it ends after {len(corners) // 3} faces without endsolid.")
    return corners


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write binary STL; warns if single precision moves the vertices."""
    single = mesh.vertices.astype(np.float32)
    _warn_of_loss(path, mesh, single)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(b"binary STL written by seminorm".ljust(80, b" "))
        file.write(len(mesh.faces).to_bytes(4, "little"))
        for first in range(0, len(mesh.faces), _CHUNK):
            part = mesh.faces[first : first + _CHUNK]
            a, b, c = (mesh.vertices[part[:, k]] for k in range(3))
            records = np.zeros(len(part), dtype=_RECORD)
            records["normal"] = unit_rows(np.cross(b - a, c - a))
            records["corners"] = single[part]
            file.write(records.tobytes())


def _warn_of_loss(path: Path, mesh: Mesh, single: np.ndarray) -> None:
    if not len(mesh.vertices):
        return
    low, high = mesh.bounds
    diagonal = float(np.linalg.norm(high - low))
    loss = float(np.fmax.reduce(np.abs(single - mesh.vertices), axis=None))
    if loss > _LOSS * diagonal:
        warn_user(
            f"{path}: STL holds coordinates in single precision, which moves the vertices by up to {loss:.2g} (the "
            f"mesh has a diagonal of {diagonal:.4g}): write PLY instead, or subtract an offset from the vertices first."
        )
