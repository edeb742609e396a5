"""Points in NPY files of NumPy."""

from pathlib import Path

import numpy as np

from ..clouds.cloud import PointCloud
from .columns import COLORS, NORMALS, POINTS, PointSource, build, color_scale, layout_of
from .errors import FileFormatError, not_a


def read_points(path: Path) -> PointCloud:
    """All rows at once; see :func:`open_points`."""
    return next(iter(open_points(path, chunk=2**62)))


def open_points(path: Path, chunk: int) -> PointSource:
    """Rows that are read when they are asked for: three coordinates, then normals, then colours; or named columns."""
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header raises whatever NumPy's parser of it does
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise not_a("NPY", path) from error
        raise FileFormatError(f"{path} is damaged or truncated: {error}") from error
    if not isinstance(rows, np.ndarray):
        raise not_a("NPY", path)
    if rows.dtype.names is None:
        if rows.ndim != 2 or rows.shape[1] < 3 or rows.dtype.kind not in "biuf":
            held = f"{rows.dtype}{rows.shape}"
            raise FileFormatError(f"{path} must hold rows of at least three numbers, it holds {held}.")
        names = [*POINTS, *NORMALS[0], *COLORS[0]][: rows.shape[1] if rows.shape[1] in (3, 6, 9) else 3]
        names += [f"column{k + 1}" for k in range(len(names), rows.shape[1])]
        columns = {name: rows[:, k] for k, name in enumerate(names)}
    else:
        names = [*rows.dtype.names]
        columns = {name: rows[name] for name in names}
    if len(rows) == 0:
        raise FileFormatError(f"{path} has no points.")
    layout = layout_of(names, path)
    scale = color_scale(layout, columns)

    def points(first: int, last: int) -> PointCloud:
        return build(layout, {name: columns[name][first:last] for name in names}, scale)

    return PointSource(path, len(rows), points, min(chunk, len(rows)))
