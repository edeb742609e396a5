"""Several scans as one cloud: each moved by its pose, seen from its own sensor, and numbered."""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .cloud import CloudLike, PointCloud, as_cloud, as_sensor, is_one_place

SCAN = "scan"  #: attribute with the number of each point's scan
_RIGID = 1e-3  # how far a rotation may be from an orthogonal matrix: poses come with few digits


def join_clouds(
    clouds: Sequence[CloudLike],
    *,
    sensors: Sequence[ArrayLike | None] | None = None,
    poses: Sequence[ArrayLike | None] | None = None,
) -> PointCloud:
    """One cloud of several, which knows the scan of each point: attribute "scan".

    Normals, colours and attributes are kept if all clouds have them. Sensors are kept if any cloud has one, with NaN
    for points of the others. Scans that a cloud consists of already (its own attribute "scan", of whole numbers) stay
    apart, so numbers count scans from 0 in the order of the clouds.

    Parameters
    ----------
    clouds : sequence of PointCloud, arrays (n, 3), paths, or what :func:`as_cloud` takes
    sensors : sequence of arrays (3,) or (n, 3) or None, optional
        Where each cloud was measured from, in the coordinates of the cloud before its pose; by default its own
        ``sensor``.
    poses : sequence of arrays (4, 4) or None, optional
        Rotation and translation that bring each cloud, its normals and its sensor into common coordinates.

    Returns
    -------
    PointCloud

    Examples
    --------
    >>> from seminorm.clouds import join_clouds
    >>> pair = join_clouds([[[0, 0, 0], [1, 0, 0]], [[0, 0, 1]]], sensors=[[0, 0, 9], None])
    >>> pair, pair.attributes["scan"]
    (PointCloud(3 points, sensor, scan), array([0, 0, 1], dtype=int32))

    See Also
    --------
    seminorm.reconstruct : Takes several scans, too.
    """
    return joined(placed_scans(clouds, sensors=sensors, poses=poses))


def placed_scans(
    clouds: Sequence[CloudLike],
    *,
    sensors: Sequence[ArrayLike | None] | None = None,
    poses: Sequence[ArrayLike | None] | None = None,
) -> list[PointCloud]:
    """Clouds with their own sensors, or those that are given, all in common coordinates."""
    n = len(clouds)
    if not n:
        raise ValueError("there are no scans: give one or more.")
    places, frames = each_of("sensors", sensors, n), each_of("poses", poses, n)
    scans = []
    for number, (given, place, pose) in enumerate(zip(clouds, places, frames, strict=True)):
        try:
            scan = as_cloud(given)
            if place is not None:
                seen_from = as_sensor(place, len(scan))
                scan = PointCloud(scan.points, scan.normals, scan.colors, scan.attributes, seen_from)
            scans.append(scan if pose is None else _moved(scan, pose))
        except ValueError as error:
            raise ValueError(f"scan {number}: {error}") from error
    return scans


def joined(scans: Sequence[PointCloud]) -> PointCloud:
    """The points of all scans, with the number of their scan; what some scans do not have is left out."""
    number = _numbers(scans)
    scans = [scan for scan in scans if len(scan)] or scans[:1]
    names = [name for name in scans[0].attributes if all(name in scan.attributes for scan in scans)]
    shared = {name: [scan.attributes[name] for scan in scans] for name in names}
    alike = {name: parts for name, parts in shared.items() if len({part.shape[1:] for part in parts}) == 1}
    return PointCloud(
        np.concatenate([scan.points for scan in scans]),
        _if_all([scan.normals for scan in scans]),
        _if_all([scan.colors for scan in scans]),
        {**{name: np.concatenate(parts) for name, parts in alike.items()}, SCAN: number},
        _sensor(scans),
    )


def are_scans(points: Any) -> bool:
    """Whether these are several clouds, rather than one: a list of anything but points."""
    return isinstance(points, (list, tuple)) and len(points) > 0 and all(map(_is_cloud, points))


def scan_numbers(cloud: PointCloud) -> np.ndarray | None:
    """The scan of each point, if the cloud tells."""
    number = cloud.attributes.get(SCAN)
    return number if number is not None and number.ndim == 1 and number.dtype.kind in "iu" else None


def as_scan_numbers(scan_id: ArrayLike, n: int) -> np.ndarray:
    """The scan of each of n points, as whole numbers."""
    number = np.asarray(scan_id)
    if number.shape != (n,) or number.dtype.kind not in "iu":
        found = f"shape {number.shape}, {number.dtype}"
        raise ValueError(f"scan_id must be a whole number for each of the {n} points, got {found}.")
    return number


def _is_cloud(item: Any) -> bool:
    if isinstance(item, (list, tuple, np.ndarray)):
        return len(item) > 0 and np.ndim(item[0]) == 1 if not isinstance(item, np.ndarray) else item.ndim == 2
    return not np.isscalar(item) or isinstance(item, str)


def each_of(name: str, values: Sequence[ArrayLike | None] | None, n: int) -> Sequence[Any]:
    """One value for each of n scans."""
    if values is None:
        return list(repeat(None, n))
    values = list(values)
    if len(values) != n:
        raise ValueError(f"{name} must have one entry, or None, for each of the {n} scans, it has {len(values)}.")
    return values


def _moved(scan: PointCloud, pose: ArrayLike) -> PointCloud:
    """A cloud, its normals and its sensor in other coordinates."""
    rotation, translation = _rigid(pose)
    sensor = scan.sensor
    if sensor is not None:
        sensor = (sensor[0] if is_one_place(sensor) else sensor) @ rotation.T + translation
    normals = None if scan.normals is None else scan.normals @ rotation.T
    return PointCloud(scan.points @ rotation.T + translation, normals, scan.colors, scan.attributes, sensor)


def _rigid(pose: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and translation (3,) of a matrix (4, 4)."""
    try:
        matrix = np.asarray(pose, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"its pose must be an array of numbers: {error}") from error
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise ValueError(f"its pose must be 4 x 4 finite numbers, got shape {matrix.shape}.")
    rotation, translation = matrix[:3, :3], matrix[:3, 3]
    if np.abs(matrix[3] - (0.0, 0.0, 0.0, 1.0)).max() > _RIGID:
        last = ", ".join(f"{number:g}" for number in matrix[3])
        raise ValueError(f"the last row of its pose must be 0, 0, 0, 1, got {last}: transpose it, maybe.")
    off = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if off > _RIGID or np.linalg.det(rotation) < 0:
        found = f"{off:.2g} away from it" if off > _RIGID else "a reflection"
        raise ValueError(f"the upper left 3 x 3 numbers of its pose must be a rotation, they are {found}.")
    return rotation, translation


def _numbers(scans: Sequence[PointCloud]) -> np.ndarray:
    """Numbers of the scans, those within a cloud kept apart."""
    parts, first = [], 0
    for scan in scans:
        own = scan_numbers(scan)
        number = np.zeros(len(scan), dtype=np.int64) if own is None else np.unique(own, return_inverse=True)[1]
        parts.append(first + number)
        first += max(int(number.max(initial=0)) + 1, 1)
    return np.concatenate(parts).astype(np.int32)


def _if_all(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The parts one below the other, None if one is missing."""
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if len(given) == len(parts) else None


def _sensor(scans: Sequence[PointCloud]) -> np.ndarray | None:
    """The place of each point's sensor, NaN where a scan has none; None if none has."""
    if all(scan.sensor is None for scan in scans):
        return None
    unknown = np.full(3, np.nan)
    places = [np.broadcast_to(unknown, (len(scan), 3)) if scan.sensor is None else scan.sensor for scan in scans]
    return np.concatenate(places)
