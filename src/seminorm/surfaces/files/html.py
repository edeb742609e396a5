"""Writing pages that show meshes and points in any browser: one file, no network."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib import resources
from pathlib import Path

import numpy as np

from ...serialization import whole_file
from ..cloud import PointCloud
from ..mesh import Mesh

_STEPS = 2**16 - 1  # of coordinates, along each side of the bounds
_NORMAL_STEPS = 127
_COLOR_STEPS = 255
_POINT_SAMPLE = 2000
_CHUNK_FACES = 2**19
_LARGEST = 2**29 - 2**20  # letters in one array, of what browsers read


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write a page that shows one mesh; see :func:`write_page`."""
    write_page(path, {path.stem: mesh}, title=path.stem)


def write_page(path, items: Mapping[str, Mesh | PointCloud], *, title: str = "", direction=None, up=None) -> Path:
    """Write a page that shows meshes and point clouds, to be turned and zoomed in any browser.

    The page is one file that needs no network. Buttons switch between the items; all are seen from the same side.
    Coordinates are rounded to a 65535th of the sides of an item's bounds, normals and colours to 8 bits: 100 000
    vertices take some 2 to 3 MB.

    Parameters
    ----------
    path : path of the file
        An existing file is replaced once all is written.
    items : dict of Mesh or PointCloud
        By the names on the buttons. Meshes without normals get those of their faces; points with NaN or infinity are
        left out.
    title : str
        Of the page.
    direction : array (3,), optional
        Where one looks at first; by default at the front, from the right and from above.
    up : array (3,), optional
        What is up at first; by default the z axis, or y if one looks along z.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from seminorm.surfaces import Sphere
    >>> from seminorm.surfaces.cloud import as_cloud
    >>> from seminorm.surfaces.files import write_page
    >>> ball = Sphere([0, 0, 0], 1).mesh(0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(Path(folder) / "ball.html", {"mesh": ball, "points": as_cloud(ball)}, title="A ball")
    ...     page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    from ..cameras import DEFAULT_DIRECTION, fit  # here, because cameras load what reading files does not need

    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")
    if not items:
        raise ValueError(f"{path}: items must name at least one mesh or point cloud, got none.")
    shown = {str(name): _checked(str(name), item) for name, item in items.items()}
    bounds = np.array([item.bounds for item in shown.values()])
    low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
    centre = (low + high) / 2
    reach = max(float(np.linalg.norm(_positions(item) - centre, axis=1).max()) for item in shown.values()) or 1.0
    scene = {
        "frame": fit((low, high), DEFAULT_DIRECTION if direction is None else direction, up=up).frame.ravel().tolist(),
        "reach": reach,
        "items": [_described(i, name, item, centre) for i, (name, item) in enumerate(shown.items())],
    }
    words = {"title": escape(title), "scene": json.dumps(scene, separators=(",", ":")).replace("<", "\\u003c")}
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for text, name in _template():
            file.write(text)
            file.writelines(_scripts(shown) if name == "arrays" else [words.get(name, "")])
    return path


def _template() -> Iterator[tuple[str, str]]:
    """The pieces of the page, each with the name of what follows it, empty for the last."""
    pieces = re.split(r"{{(\w+)}}", resources.files(__package__).joinpath("viewer.html").read_text(encoding="utf-8"))
    return zip(pieces[::2], [*pieces[1::2], ""], strict=True)


def _scripts(items: Mapping[str, Mesh | PointCloud]) -> Iterator[str]:
    """The arrays of all items, made one after the other."""
    for i, (name, item) in enumerate(items.items()):
        for kind, content in _arrays(item):
            yield f'<script type="text/plain" id="{kind}-{i}">{_letters(content, name)}</script>\n'


def _checked(name: str, item) -> Mesh | PointCloud:
    """The item, if there is something to show: its finite points, or a mesh whose vertices are all finite."""
    if isinstance(item, PointCloud):
        valid = np.isfinite(item.points).all(axis=1)
        if not valid.any():
            raise ValueError(f"{name!r} has no points to show: a page needs at least one that is finite.")
        return item if valid.all() else item[valid]
    if not isinstance(item, Mesh):
        raise ValueError(f"items must be Mesh or PointCloud, {name!r} is {type(item).__name__}.")
    if not len(item.faces):
        raise ValueError(f"{name!r} has no faces to show: give a mesh with at least one, or a PointCloud.")
    invalid = np.count_nonzero(~np.isfinite(item.vertices).all(axis=1))
    if invalid:
        raise ValueError(f"{name!r} has {invalid} vertices with NaN or infinity: leave out their faces (Mesh.keep).")
    return item


def _positions(item: Mesh | PointCloud) -> np.ndarray:
    return item.vertices if isinstance(item, Mesh) else item.points


def _colors(item: Mesh | PointCloud) -> np.ndarray | None:
    return item.attributes.get("colors") if isinstance(item, Mesh) else item.colors


def _normals(item: Mesh | PointCloud) -> np.ndarray | None:
    return item.vertex_normals() if isinstance(item, Mesh) and item.normals is None else item.normals


def _described(i: int, name: str, item: Mesh | PointCloud, centre: np.ndarray) -> dict:
    """What the page is told of an item, in words and numbers; places are relative to the centre of all."""
    from ..shading import PALETTE

    positions, (low, high) = _positions(item), item.bounds
    is_mesh = isinstance(item, Mesh)
    has_normals, has_colors = is_mesh or item.normals is not None, _colors(item) is not None
    kinds = {"position": True, "normal": has_normals, "color": has_colors, "corners": is_mesh}
    return {
        "name": name,
        "vertices": len(positions),
        "faces": len(item.faces) if is_mesh else 0,
        "low": (low - centre).tolist(),
        "size": (high - low).tolist(),
        "paint": PALETTE[0 if is_mesh else 1].tolist(),
        "diameter": 0.0 if is_mesh else _spacing(positions),
        "arrays": {kind: f"{kind}-{i}" for kind, is_there in kinds.items() if is_there},
    }


def _spacing(points: np.ndarray) -> float:
    """Typical distance of neighbouring points."""
    from ..attributes import Neighbourhood

    rows = np.unique(np.linspace(0, len(points) - 1, _POINT_SAMPLE).astype(np.int64))
    return float(np.median(Neighbourhood(points).spacing(rows))) if len(points) > 1 else 1.0


def _arrays(item: Mesh | PointCloud) -> Iterator[tuple[str, bytes]]:
    """The arrays of an item as bytes, by kind."""
    positions, (low, high) = _positions(item), item.bounds
    steps = (positions - low) * (_STEPS / np.where(high > low, high - low, 1.0))
    yield "position", np.rint(steps).astype("<u2").tobytes()
    normals, colors = _normals(item), _colors(item)
    if normals is not None:
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        is_valid = np.isfinite(length) & (length > 0)
        unit = np.where(is_valid, normals, 0.0) / np.where(is_valid, length, 1.0)
        yield "normal", np.rint(unit * _NORMAL_STEPS).astype(np.int8).tobytes()
    if colors is not None:
        yield "color", np.rint(np.nan_to_num(colors) * _COLOR_STEPS).astype(np.uint8).tobytes()
    if isinstance(item, Mesh):
        yield "corners", _packed_corners(item.faces)


def _packed_corners(faces: np.ndarray) -> bytes:
    """The corners of the faces, each as its difference to the one before; see :func:`_packed`."""
    pieces, last = [], 0
    for begin in range(0, len(faces), _CHUNK_FACES):
        corners = faces[begin : begin + _CHUNK_FACES].ravel().astype(np.int64)
        pieces.append(_packed(np.diff(corners, prepend=last)))
        last = corners[-1]
    return b"".join(pieces)


def _packed(numbers: np.ndarray) -> bytes:
    """Whole numbers, seven bits a byte, the lowest first, 128 added to all but the last byte of each; the sign is the
    last bit of the number. Neighbours in a mesh differ little: most take one or two bytes.
    """
    unsigned = np.where(numbers < 0, -2 * numbers - 1, 2 * numbers)
    n_bytes = 1 + sum(unsigned >= 2**bits for bits in (7, 14, 21, 28))
    begins = np.cumsum(n_bytes) - n_bytes
    packed = np.empty(int(n_bytes.sum()), dtype=np.uint8)
    for k in range(int(n_bytes.max())):
        rows = np.flatnonzero(n_bytes > k)
        packed[begins[rows] + k] = (unsigned[rows] >> 7 * k) & 127 | np.where(n_bytes[rows] > k + 1, 128, 0)
    return packed.tobytes()


def _letters(content: bytes, name: str) -> str:
    letters = base64.b64encode(content).decode("ascii")
    if len(letters) > _LARGEST:
        raise ValueError(
            f"{name!r} is too large for a browser ({len(letters) / 2**20:.0f} MB in one array): make a mesh of coarser "
            "resolution, thin the points, or write PLY."
        )
    return letters
