"""Points of a surface, with what was measured at them."""

import os
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._base.formats import all_formats


class HasVertices(Protocol):
    """A mesh of this library or of another one, with vertices (n, 3)."""

    vertices: Any


class PointCloud:
    """Points with normals, colours and further attributes; rows belong together.

    Parameters
    ----------
    points : array (n, 3)
        Kept as float64. NaN and infinity are allowed; :func:`drop_invalid` removes such points.
    normals : array (n, 3), optional
        Of any length.
    colors : array (n, 3), optional
        In [0, 1], or unsigned integers that fill the range of their type.
    attributes : dict of arrays (n,) or (n, k), optional, whatever else is known of the points, by name
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from, in all or one by one; NaN where that is not known. Kept as (n, 3).

    Examples
    --------
    >>> from seminorm.clouds import PointCloud
    >>> cloud = PointCloud([[0, 0, 0], [1, 0, 0], [0, 2, 0]], attributes={"intensity": [3, 4, 5]})
    >>> len(cloud), cloud[[2, 0]].attributes["intensity"]
    (3, array([5, 3]))

    See Also
    --------
    as_cloud : Makes one of arrays, meshes, files and objects of other libraries.
    """

    __slots__ = ("attributes", "colors", "normals", "points", "sensor")

    def __init__(
        self,
        points: ArrayLike,
        normals: ArrayLike | None = None,
        colors: ArrayLike | None = None,
        attributes: Mapping[str, ArrayLike] | None = None,
        sensor: ArrayLike | None = None,
    ):
        self.points = as_triples(points, "points")
        self.normals = None if normals is None else as_triples(normals, "normals", len(self.points))
        self.colors = None if colors is None else as_colors(colors, len(self.points))
        self.attributes = as_attributes(attributes, len(self.points))
        self.sensor = None if sensor is None else as_sensor(sensor, len(self.points))

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: ArrayLike | slice) -> "PointCloud":
        """The points of a mask, of indices or of a slice."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.size == 0 and rows.dtype != bool:
                rows = rows.astype(np.intp)
            if rows.ndim != 1 or rows.dtype.kind not in "biu":
                raise IndexError(f"rows must be a mask, indices or a slice, got shape {rows.shape}, {rows.dtype}.")
        return PointCloud(
            self.points[rows],
            None if self.normals is None else self.normals[rows],
            None if self.colors is None else self.colors[rows],
            {name: values[rows] for name, values in self.attributes.items()},
            None if self.sensor is None else sensor_rows(self.sensor, rows),
        )

    def __repr__(self) -> str:
        parts = [name for name in ("normals", "colors", "sensor") if getattr(self, name) is not None]
        parts += list(self.attributes)
        return f"PointCloud({len(self)} points{', ' if parts else ''}{', '.join(parts)})"

    @property
    def bounds(self) -> np.ndarray:
        """Smallest and largest finite coordinates, (2, 3); NaN without finite points."""
        return bounds_of(self.points)


CloudLike: TypeAlias = PointCloud | HasVertices | ArrayLike | str | os.PathLike[str]


def as_cloud(obj: CloudLike, normals: ArrayLike | None = None) -> PointCloud:
    """A point cloud from what people have.

    Parameters
    ----------
    obj : PointCloud, Mesh, array (n, 3), array (n, 6) with normals, path of a file, or a point cloud or mesh of
        Open3D, trimesh or PyVista
    normals : array (n, 3), optional
        Take the place of those in ``obj``.

    Returns
    -------
    PointCloud

    Examples
    --------
    >>> from seminorm.clouds import as_cloud
    >>> as_cloud([[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]])
    PointCloud(1 points, normals)

    See Also
    --------
    seminorm.files.read_points : The points of a file.
    """
    cloud = _converted(obj)
    if normals is None:
        return cloud
    return PointCloud(cloud.points, normals, cloud.colors, cloud.attributes, cloud.sensor)


def as_triples(values: ArrayLike, name: str, n: int | None = None) -> np.ndarray:
    """A float64 array (n, 3), contiguous; ``name`` is what errors call it."""
    try:
        triples = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error
    if triples.size == 0 and n in (None, 0):
        return np.zeros((0, 3))
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise ValueError(f"{name} must have shape (n, 3), it has {triples.shape}.")
    if n is not None and len(triples) != n:
        raise ValueError(f"{name} must have one row for each of {n} points, it has {len(triples)}.")
    return triples


def as_colors(colors: ArrayLike, n: int) -> np.ndarray:
    """Colours as float64 in [0, 1]; unsigned integers are divided by the largest of their type."""
    given = np.asarray(colors)
    triples = as_triples(given, "colors", n)
    if given.dtype.kind == "u":
        triples = triples / float(np.iinfo(given.dtype).max)
    low, high = (limit.reduce(triples, axis=None, initial=0.0) for limit in (np.fmin, np.fmax))
    if low < 0.0 or high > 1.0:
        found = f"they go from {low:g} to {high:g}: divide them by their largest possible value"
        raise ValueError(f"colors must lie in [0, 1] (or be unsigned integers), {found}.")
    return triples


def as_attributes(attributes: Mapping[str, ArrayLike] | None, n: int) -> dict[str, np.ndarray]:
    """Attributes as arrays, one row for each of n points."""
    result = {}
    for name, given in (attributes or {}).items():
        values = np.asarray(given)
        if values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(f"attribute {name!r} must have shape ({n},) or ({n}, k), it has {values.shape}.")
        result[str(name)] = values
    return result


def as_sensor(sensor: ArrayLike, n: int) -> np.ndarray:
    """Places of the sensor as float64, (n, 3); one place for all points stays one in memory."""
    try:
        places = np.asarray(sensor, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sensor must be an array of numbers: {error}") from error
    if places.shape == (3,) or (places.shape == (n, 3) and is_one_place(places)):
        return np.broadcast_to(places.reshape(-1, 3)[:1], (n, 3))
    if places.shape != (n, 3):
        raise ValueError(f"sensor must have shape (3,) or ({n}, 3), one row per point, it has {places.shape}.")
    return np.ascontiguousarray(places)


def is_one_place(sensor: np.ndarray) -> bool:
    """Whether all rows of (n, 3) are the same three numbers in memory."""
    return len(sensor) > 0 and sensor.strides[0] == 0


def sensor_rows(sensor: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
    """Rows of the places of the sensor; one place for all stays one."""
    return sensor[0] if is_one_place(sensor) else sensor[rows]


def weight_per_point(name: str, weights, n: int) -> np.ndarray:
    """An array of n finite numbers, none negative and not all zero."""
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n,):
        raise ValueError(f"{name} must have one number for each of the {n} points, got shape {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            f"{name} must be finite, not negative, and not all zero, got numbers from {weights.min():g} to "
            f"{weights.max():g}."
        )
    return weights


def bounds_of(points: np.ndarray) -> np.ndarray:
    """Smallest and largest finite coordinates, (2, 3); NaN without finite points."""
    with np.errstate(invalid="ignore"):
        bounds = np.array([points.min(axis=0), points.max(axis=0)]) if len(points) else np.full((2, 3), np.nan)
    if len(points) and not np.isfinite(bounds).all():
        return bounds_of(points[np.isfinite(points).all(axis=1)])
    return bounds


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) of length 1; zero vectors stay."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _converted(obj: Any) -> PointCloud:
    if isinstance(obj, PointCloud):
        return obj
    if isinstance(obj, (str, os.PathLike)):
        return _converted(all_formats.read("read_points", obj))
    converter = _CONVERTERS.get(type(obj).__module__.partition(".")[0])
    if converter is not None and not isinstance(obj, np.ndarray):  # trimesh has arrays of its own
        return converter(obj)
    if hasattr(obj, "vertices") and hasattr(obj, "faces"):
        return _from_mesh(obj)
    array = np.asarray(obj)
    if array.ndim == 2 and array.shape[1] == 6 and array.dtype.kind in "iuf":
        return PointCloud(array[:, :3], array[:, 3:])
    if array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "biuf":
        return PointCloud(array)
    raise ValueError(
        "points must be an array (n, 3), an array (n, 6) with normals, a point cloud or mesh of this library, Open3D, "
        f"trimesh or PyVista, or the path of a file: got {type(obj).__name__} of shape {array.shape}."
    )


def _from_mesh(mesh: Any) -> PointCloud:
    attributes = dict(getattr(mesh, "attributes", None) or {})
    colors = attributes.pop("colors", None)
    is_placed = "sensor" in attributes and np.shape(attributes["sensor"]) == np.shape(mesh.vertices)
    sensor = attributes.pop("sensor") if is_placed else None
    return PointCloud(mesh.vertices, getattr(mesh, "normals", None), colors, attributes, sensor)


def _from_open3d(obj: Any) -> PointCloud:
    for tensors in (getattr(obj, "point", None), getattr(obj, "vertex", None)):
        if tensors is not None:
            return _from_tensors({name: tensors[name].cpu().numpy() for name in tensors})
    is_mesh = hasattr(obj, "vertices")
    names = ("vertices", "vertex_normals", "vertex_colors") if is_mesh else ("points", "normals", "colors")
    points, normals, colors = (np.asarray(getattr(obj, name)) for name in names)
    return PointCloud(points, normals if len(normals) else None, colors if len(colors) else None)


def _from_tensors(arrays: dict[str, np.ndarray]) -> PointCloud:
    points, normals, colors = arrays.pop("positions"), arrays.pop("normals", None), arrays.pop("colors", None)
    flat = {name: a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for name, a in arrays.items() if a.ndim <= 2}
    return PointCloud(points, normals, colors, flat)


def _from_trimesh(obj: Any) -> PointCloud:
    if not hasattr(obj, "vertices"):
        raise ValueError(f"points must be a trimesh PointCloud or Trimesh, got {type(obj).__name__}.")
    normals, colors = getattr(obj, "vertex_normals", None), getattr(obj, "colors", None)
    if getattr(getattr(obj, "visual", None), "kind", None) == "vertex":
        colors = obj.visual.vertex_colors
    has_colors = colors is not None and np.ndim(colors) == 2 and len(colors) == len(obj.vertices)
    return PointCloud(obj.vertices, normals, np.asarray(colors)[:, :3] if has_colors else None)


def _from_pyvista(obj: Any) -> PointCloud:
    points = np.asarray(obj.points)
    data = {name: np.asarray(obj.point_data[name]) for name in obj.point_data.keys()}  # noqa: SIM118
    normals, given = data.pop("Normals", None), [name for name in ("RGB", "RGBA", "colors") if name in data]
    name = next((name for name in given if data[name].ndim == 2 and data[name].shape[1] in (3, 4)), None)
    colors = None if name is None else data.pop(name)[:, :3]
    return PointCloud(points, normals, colors, {name: a for name, a in data.items() if a.ndim <= 2})


_CONVERTERS = {"open3d": _from_open3d, "trimesh": _from_trimesh, "pyvista": _from_pyvista}
