"""Writing glTF 2.0, for viewers and browsers: binary (GLB), or as text with the arrays inside (glTF)."""

import base64
import json
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from ..rendering.shading import linear
from ..shapes.mesh import Mesh

_FLOAT, _UNSIGNED, _UNSIGNED_SHORT = 5126, 5125, 5123
_VERTICES, _INDICES = 34962, 34963
_FAR = 4.0  # in diagonals: farther from the origin, single precision needs an offset


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write positions in single precision, normals, colours and faces.

    A mesh far from the origin is moved to it, and a node moves it back in double precision. Colours are taken as sRGB
    and written in linear light, as the format asks. The axes stay as they are; viewers show y upwards.
    """
    if not len(mesh.faces):
        raise ValueError(f"{path}: a {path.suffix.upper()[1:]} file needs at least one face.")
    parts = _Parts()
    document = _document(mesh, parts)
    if path.suffix.lower() == ".gltf":
        _write_text(path, document, parts)
    else:
        _write_binary(path, document, parts)


def _document(mesh: Mesh, parts: "_Parts") -> dict:
    """The description of a mesh, whose arrays are added to the parts."""
    offset = _offset(mesh)
    positions = (mesh.vertices - offset).astype("<f4")
    limits = {"min": positions.min(axis=0).tolist(), "max": positions.max(axis=0).tolist()}
    attributes = {"POSITION": parts.add(positions, "VEC3", _FLOAT, _VERTICES, **limits)}
    if mesh.normals is not None:
        attributes["NORMAL"] = parts.add(_unit(mesh.normals).astype("<f4"), "VEC3", _FLOAT, _VERTICES)
    if "colors" in mesh.attributes:
        colors = np.full((len(mesh.vertices), 4), 65535, dtype="<u2")
        colors[:, :3] = np.rint(linear(np.nan_to_num(mesh.attributes["colors"])) * 65535)
        attributes["COLOR_0"] = parts.add(colors, "VEC4", _UNSIGNED_SHORT, _VERTICES, normalized=True)
    indices = parts.add(mesh.faces.astype("<u4").reshape(-1), "SCALAR", _UNSIGNED, _INDICES)
    node = {"mesh": 0} if not offset.any() else {"mesh": 0, "translation": offset.tolist()}
    return {
        "asset": {"version": "2.0", "generator": "seminorm"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [node],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.8}, "doubleSided": True}],
        "accessors": parts.accessors,
        "bufferViews": parts.views,
        "buffers": [{"byteLength": parts.n_bytes}],
    }


def _write_text(path: Path, document: dict, parts: "_Parts") -> None:
    data = base64.b64encode(b"".join(array.tobytes() for array in parts.arrays)).decode("ascii")
    document["buffers"][0]["uri"] = f"data:application/octet-stream;base64,{data}"
    with whole_file(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        json.dump(document, file, separators=(",", ":"))


def _write_binary(path: Path, document: dict, parts: "_Parts") -> None:
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + parts.n_bytes
    if total >= 2**32:
        raise ValueError(f"{path}: a GLB file holds at most 4 GiB, and the mesh needs {total / 2**30:.1f}: write PLY.")
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(b"glTF" + _words(2, total))
        file.write(_words(len(text)) + b"JSON" + text)
        file.write(_words(parts.n_bytes) + b"BIN\0")
        for array in parts.arrays:
            file.write(array.data)


class _Parts:
    """Arrays of the binary part, with what the document says of them."""

    def __init__(self):
        self.arrays: list[np.ndarray] = []
        self.accessors: list[dict] = []
        self.views: list[dict] = []
        self.n_bytes = 0

    def add(self, array: np.ndarray, kind: str, component: int, target: int, **more) -> int:
        """Append an array, whose rows are multiples of four bytes; returns the number of its accessor."""
        self.views.append({"buffer": 0, "byteOffset": self.n_bytes, "byteLength": array.nbytes, "target": target})
        view = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(array), "type": kind}
        self.accessors.append(view | more)
        self.arrays.append(np.ascontiguousarray(array))
        self.n_bytes += array.nbytes
        return len(self.accessors) - 1


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def _offset(mesh: Mesh) -> np.ndarray:
    low, high = mesh.bounds
    is_far = np.abs([low, high]).max() > _FAR * np.linalg.norm(high - low)
    return np.rint((low + high) / 2) if is_far else np.zeros(3)


def _unit(normals: np.ndarray) -> np.ndarray:
    """Normals of length one, as the format asks; upwards where there is none."""
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    valid = np.isfinite(length) & (length > 0)
    return np.where(valid, normals / np.where(valid, length, 1.0), [0.0, 0.0, 1.0])
