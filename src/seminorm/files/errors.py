"""What can be wrong with a file, said in its own words."""

import re
from pathlib import Path

from .._base.formats import FileFormatError


def not_a(kind: str, path: Path) -> FileFormatError:
    """The error for a file that is not of the kind its ending promises."""
    return FileFormatError(f"{path} is not a {kind} file: it looks like {looks_like(path)}.")


def truncated(path: Path, what: str, expected: int, found: int, n_bytes: int | None = None) -> FileFormatError:
    """The error for a file that ends too early, before the number of bytes it should have."""
    due, size = ("", "") if n_bytes is None else (f" ({n_bytes} bytes)", f" ({path.stat().st_size} bytes)")
    return FileFormatError(f"{path} is truncated: it promises {expected} {what}{due} and holds {found}{size}.")


_SIGNATURES: list[tuple[bytes | tuple[bytes, ...], str]] = [
    (b"ply", "a PLY file"),
    ((b"# .PCD", b"VERSION"), "a PCD file"),
    (b"LASF", "a LAS or LAZ file"),
    (b"glTF", "a GLB file"),
    (b"ASTM-E57", "an E57 file"),
    (b"PK\x03\x04", "a zip archive, an NPZ or a 3MF file"),
    (b"\x93NUMPY", "an NPY file"),
    (b"\x1f\x8b", "a file compressed by gzip: unpack it first"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself: fetch it with `git lfs pull`"),
    (b"<", "a page of HTML or XML"),
    (b"solid", "an STL file"),
    ((b"OFF", b"COFF", b"NOFF"), "an OFF file"),
    (b"v ", "an OBJ file"),
]
_DECIMAL_COMMAS = rb"(?m)^[ \t]*-?\d+,\d+(?:[ \t]*;[ \t]*|[ \t]+)-?\d+,\d+(?:[;\s]|$)"


def looks_like(path: Path) -> str:
    """What the first bytes of a file say it is."""
    with open(path, "rb") as file:
        head = file.read(4096)
    start = head.lstrip()
    for signature, name in _SIGNATURES:
        if start.startswith(signature):
            return name
    if re.search(_DECIMAL_COMMAS, head):
        return "text whose numbers have decimal commas: write 0.5 for 0,5"
    if b"\nv " in head and b"\0" not in head:
        return "an OBJ file"
    if len(head) >= 84 and path.stat().st_size == 84 + 50 * int.from_bytes(head[80:84], "little"):
        return "a binary STL file"
    if any(byte < 9 for byte in head):
        return "binary data of an unknown kind"
    words = re.sub(rb"^\s*(?:#|//).*", b"", head, flags=re.MULTILINE).replace(b",", b" ").split()[:3]
    try:
        return f"text that begins with the numbers {' '.join(str(float(word)) for word in words)}"
    except ValueError:
        return f"text that begins with {head[:40].decode(errors='replace')!r}"
