"""Pictures as PNG files, with nothing but the standard library."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np

from .._base.formats import check_folder
from .._base.saving import whole_file

_COLOR_TYPES = {1: 0, 3: 2, 4: 6}
_UP = 2  # each row is stored as its difference to the row above


def write_png(path: str | os.PathLike[str], image: np.ndarray) -> Path:
    """Write a picture; the file appears whole or not at all.

    Parameters
    ----------
    path : path of the file
    image : uint8 array
        Shape (height, width) for grey, (height, width, 3) for RGB, (height, width, 4) for RGBA.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from seminorm.files import write_png
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_png(f"{folder}/grey.png", np.full((4, 6), 128, np.uint8)).read_bytes()[1:4]
    b'PNG'

    See Also
    --------
    seminorm.rendering.render : Makes pictures of shapes.
    """
    path, image = Path(path), np.asarray(image)
    grid = image[:, :, None] if image.ndim == 2 else image
    if image.dtype != np.uint8 or grid.ndim != 3 or grid.shape[2] not in _COLOR_TYPES or 0 in grid.shape:
        kinds = "a uint8 array of shape (height, width), (height, width, 3) or (height, width, 4)"
        raise ValueError(f"image must be {kinds}, got {image.dtype} of shape {image.shape}.")
    check_folder(path)
    height, width, channels = grid.shape
    rows = np.ascontiguousarray(grid).reshape(height, width * channels)
    filtered = np.empty((height, 1 + width * channels), dtype=np.uint8)
    filtered[:, 0] = _UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 6)), (b"IEND", b""))
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, content in chunks:
            checksum = zlib.crc32(kind + content)
            file.write(struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum))
    return path
