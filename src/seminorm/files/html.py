"""Writing pages that show meshes and points in any browser: one file, no network."""

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.formats import check_folder
from .._base.saving import whole_file
from ..clouds.cloud import PointCloud
from ..rendering.cameras import DEFAULT_DIRECTION, fit
from ..rendering.shading import PALETTE
from ..shapes.attributes import Neighborhood
from ..shapes.mesh import Mesh
from .columns import Content

_STEPS = 2**16 - 1  # of coordinates, along each side of the bounds
_NORMAL_STEPS = 127
_COLOR_STEPS = 255
_CHUNK_FACES = 2**19
_LARGEST = 2**29 - 2**20  # letters in one array, of what browsers read


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write a page that shows one mesh; see :func:`write_page`."""
    write_page(path, {path.stem: mesh}, title=path.stem)


def write_page(
    path: str | os.PathLike[str],
    items: Mapping[str, Mesh | PointCloud],
    *,
    title: str = "",
    direction: ArrayLike | None = None,
    up: ArrayLike | None = None,
    times: ArrayLike | None = None,
) -> Path:
    """Write a page that shows meshes and point clouds, to be turned and zoomed in any browser.

    The page is one file that needs no network. Buttons switch between the items; all are seen from the same side.
    Coordinates are rounded to a 65535th of the sides of an item's bounds, normals and colours to 8 bits: 100 000
    vertices take some 2 to 3 MB.

    Parameters
    ----------
    path : path of the file; replaced if it exists, once all is written
    items : dict of Mesh (without normals, those of the faces) or PointCloud (finite points), by the names on buttons
    title : str
        Of the page.
    direction : array (3,), optional
        Where one looks at first; by default at the front, from the right and from above.
    up : array (3,), optional
        What is up at first; by default the z axis, or y if one looks along z.
    times : array (number of items,), optional
        When each item was, increasing: the items are one shape that moves, and a slider and a button that plays them,
        at their times, take the place of the other buttons.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from seminorm.files import write_page
    >>> from seminorm.shapes import Sphere
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_page(f"{folder}/ball.html", {"ball": Sphere([0, 0, 0], 1).mesh(0.2)}, title="A ball")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'

    See Also
    --------
    write_mesh : Writes a page of one mesh, or another format.
    """
    path = Path(path)
    check_folder(path)
    if not items:
        raise ValueError(f"{path}: items must name at least one mesh or point cloud, got none.")
    moments = None if times is None else _checked_times(times, len(items))
    shown = {str(name): _checked(str(name), item) for name, item in items.items()}
    bounds = np.array([item.cloud.bounds for item in shown.values()])
    low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
    center = (low + high) / 2
    reach = max(float(np.linalg.norm(item.cloud.points - center, axis=1).max()) for item in shown.values()) or 1.0
    scene = {
        "frame": fit((low, high), DEFAULT_DIRECTION if direction is None else direction, up=up).frame.ravel().tolist(),
        "reach": reach,
        "items": [_described(i, name, item, center) for i, (name, item) in enumerate(shown.items())],
    }
    if moments is not None:
        scene["times"] = moments
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


def _scripts(items: Mapping[str, Content]) -> Iterator[str]:
    """The arrays of all items, made one after the other."""
    for i, (name, item) in enumerate(items.items()):
        for kind, content in _arrays(item):
            yield f'<script type="text/plain" id="{kind}-{i}">{_letters(content, name)}</script>\n'


def _checked(name: str, item) -> Content:
    """What there is to show of an item: its finite points, or a mesh whose vertices are all finite, with normals."""
    if isinstance(item, PointCloud):
        valid = np.isfinite(item.points).all(axis=1)
        if not valid.any():
            raise ValueError(f"{name!r} has no points to show: a page needs at least one that is finite.")
        return Content(item if valid.all() else item[valid])
    if not isinstance(item, Mesh):
        raise ValueError(f"items must be Mesh or PointCloud, {name!r} is {type(item).__name__}.")
    if not len(item.faces):
        raise ValueError(f"{name!r} has no faces to show: give a mesh with at least one, or a PointCloud.")
    invalid = np.count_nonzero(~np.isfinite(item.vertices).all(axis=1))
    if invalid:
        raise ValueError(f"{name!r} has {invalid} vertices with NaN or infinity: leave out their faces (Mesh.keep).")
    normals = item.vertex_normals() if item.normals is None else item.normals
    return Content(PointCloud(item.vertices, normals, item.attributes.get("colors")), item.faces)


def _checked_times(times: ArrayLike, n: int) -> list[float]:
    moments = np.asarray(times, dtype=float)
    if moments.shape != (n,) or n < 2:
        raise ValueError(f"times must have one number for each of two items or more: {n} items, shape {moments.shape}.")
    if not np.isfinite(moments).all() or (np.diff(moments) <= 0).any():
        raise ValueError("times must be finite and increase from item to item.")
    return moments.tolist()


def _described(i: int, name: str, item: Content, center: np.ndarray) -> dict[str, Any]:
    """What the page has to know of an item, in words and numbers; places are relative to the centre of all."""
    cloud, is_mesh = item.cloud, item.faces is not None
    positions, (low, high) = cloud.points, cloud.bounds
    has_normals, has_colors = cloud.normals is not None, cloud.colors is not None
    kinds = {"position": True, "normal": has_normals, "color": has_colors, "corners": is_mesh}
    return {
        "name": name,
        "vertices": len(positions),
        "faces": 0 if item.faces is None else len(item.faces),
        "low": (low - center).tolist(),
        "size": (high - low).tolist(),
        "paint": PALETTE[0 if is_mesh else 1].tolist(),
        "diameter": 0.0 if is_mesh else Neighborhood(positions).typical if len(positions) > 1 else 1.0,
        "arrays": {kind: f"{kind}-{i}" for kind, is_there in kinds.items() if is_there},
    }


def _arrays(item: Content) -> Iterator[tuple[str, bytes]]:
    """The arrays of an item as bytes, by kind."""
    (low, high), normals, colors = item.cloud.bounds, item.cloud.normals, item.cloud.colors
    steps = (item.cloud.points - low) * (_STEPS / np.where(high > low, high - low, 1.0))
    yield "position", np.rint(steps).astype("<u2").tobytes()
    if normals is not None:
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        is_valid = np.isfinite(length) & (length > 0)
        unit = np.where(is_valid, normals, 0.0) / np.where(is_valid, length, 1.0)
        yield "normal", np.rint(unit * _NORMAL_STEPS).astype(np.int8).tobytes()
    if colors is not None:
        yield "color", np.rint(np.nan_to_num(colors) * _COLOR_STEPS).astype(np.uint8).tobytes()
    if item.faces is not None:
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
    """Whole numbers, seven bits per byte, the lowest first, 128 added to all but the last; the sign is the last bit."""
    unsigned = np.where(numbers < 0, -2 * numbers - 1, 2 * numbers)
    n_bytes = 1 + np.sum([unsigned >= 2**bits for bits in (7, 14, 21, 28)], axis=0)
    begins = np.cumsum(n_bytes) - n_bytes
    packed = np.empty(int(n_bytes.sum()), dtype=np.uint8)
    for k in range(int(n_bytes.max())):
        rows = np.flatnonzero(n_bytes > k)
        packed[begins[rows] + k] = (unsigned[rows] >> 7 * k) & 127 | np.where(n_bytes[rows] > k + 1, 128, 0)
    return packed.tobytes()


def _letters(content: bytes, name: str) -> str:
    letters = base64.b64encode(content).decode("ascii")
    if len(letters) > _LARGEST:
        advice = "make a mesh of coarser resolution, thin the points, or write PLY"
        raise ValueError(f"{name!r} is too large for a browser ({len(letters) / 2**20:.0f} MB in one array): {advice}.")
    return letters
