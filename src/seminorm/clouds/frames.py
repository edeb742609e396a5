"""Points with times: which of them belong to one moment, and their normals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import cKDTree
from tqdm import tqdm

from .._base.warnings import warn_user
from .cloud import PointCloud, as_cloud, as_sensor
from .normals.estimation import OrientedCloud, estimate_normals
from .scans import SCAN, are_scans, each_of, joined
from .sheets import signs_of_sheets

_MOTIONS = 3.0  # between two frames, that the time between them counts as
FRAME_POINTS = 50  # on average, from which on points of one time are a frame
GROUP_POINTS = 500  # in a group of points that were measured one by one
_FEWEST = 10  # points of a frame whose normals are estimated
_LOOKS = 2000  # points of a frame that are compared with the next one
_HALF = 0.5  # of the points must know their outside


def gathered_frames(points, normals, times) -> tuple[PointCloud, np.ndarray]:
    """One cloud of one or several, and the time of each point."""
    if not are_scans(points):
        cloud = as_cloud(points, normals)
        return cloud, _times(times, len(cloud), "points")
    n = len(points)
    moments = _times(times, n, "frames")
    own = each_of("normals", normals, n)
    clouds = []
    for number, (given, part) in enumerate(zip(points, own, strict=True)):
        try:
            clouds.append(as_cloud(given, part))
        except ValueError as error:
            raise ValueError(f"frame {number}: {error}") from error
    bare = [number for number, cloud in enumerate(clouds) if cloud.normals is None]
    if bare and len(bare) < n:
        raise ValueError(
            f"frame {bare[0]} has no normals, and other frames have: estimate them first with "
            "seminorm.clouds.estimate_normals, or leave out those of all frames."
        )
    _check_contents(clouds, moments)
    whole = joined(clouds)
    attributes = {name: values for name, values in whole.attributes.items() if name != SCAN}
    cloud = PointCloud(whole.points, whole.normals, whole.colors, attributes, whole.sensor)
    return cloud, np.repeat(moments, [len(cloud) for cloud in clouds])


def _check_contents(clouds: list[PointCloud], moments: np.ndarray) -> None:
    """Refuse frames without points; say which attributes are lost, and which frames become one."""
    empty = [number for number, cloud in enumerate(clouds) if not len(cloud)]
    if empty:
        raise ValueError(f"frame {empty[0]} has no points: leave it out, and its time {moments[empty[0]]:.6g}.")
    carried = [{*cloud.attributes, *(["colors"] if cloud.colors is not None else [])} - {SCAN} for cloud in clouds]
    for name in sorted(set().union(*carried)):
        lacking = [number for number, names in enumerate(carried) if name not in names]
        if lacking:
            warn_user(f"frame {lacking[0]} has no {name!r}, and other frames have: the surface does not carry it.")
    values, counts = np.unique(moments, return_counts=True)
    if len(values) > 1 and (counts > 1).any():
        same = int(np.argmax(counts))
        warn_user(f"{counts[same]} frames have the time {values[same]:.6g}: their points are taken as one frame.")


def _times(times, n: int, what: str) -> np.ndarray:
    if times is None:
        raise ValueError(f"times are missing: give one number for each of the {n} {what}.")
    times = np.asarray(times, dtype=float)
    if times.shape != (n,):
        raise ValueError(f"times must have one number for each of the {n} {what}, got shape {times.shape}.")
    if not np.isfinite(times).all() or np.ptp(times) == 0.0:
        raise ValueError("times must be finite and not all the same; use reconstruct for a surface that does not move.")
    return times


def has_frames(times: np.ndarray) -> bool:
    """Whether many points share each time, or each has one of its own."""
    return len(times) >= FRAME_POINTS * len(np.unique(times))


def frames_of(times: np.ndarray) -> list[np.ndarray]:
    """Rows of the points of each time, earliest first, or of groups of points that follow each other."""
    order = np.argsort(times, kind="stable")
    if not has_frames(times):
        return np.array_split(order, max(len(times) // GROUP_POINTS, 2))
    return np.split(order, np.flatnonzero(np.diff(times[order])) + 1)


def some_of(rows: np.ndarray) -> np.ndarray:
    """Some two thousand of many rows."""
    return rows[:: max(len(rows) // _LOOKS, 1)]


def time_scale_of_motion(points: np.ndarray, normals: np.ndarray, times: np.ndarray) -> float:
    """The length that a unit of time should count as: three times as far as the surface moves in it.

    Smaller ones smooth the motion away, larger ones let every frame forget the others. The motion is the mean distance
    of points from the planes of the nearest points one frame later; noise counts as motion. All times together count at
    least as the distance of neighbouring points. Points that each have a time of their own are put into groups of some
    500.
    """
    frames = frames_of(times)
    moments = np.array([times[rows].mean() for rows in frames])
    trees = [cKDTree(points[rows]) for rows in frames]
    moved, spacing = [], []
    for here, later, tree in zip(frames, frames[1:], trees[1:], strict=False):
        chosen = some_of(here)
        nearest = later[tree.query(points[chosen])[1]]
        moved.append(np.abs(((points[chosen] - points[nearest]) * normals[nearest]).sum(axis=1)).mean())
    for rows, tree in zip(frames, trees, strict=True):
        chosen = some_of(rows)
        spacing.append(np.median(tree.query(points[chosen], k=2)[0][:, 1]))
    least = np.median(spacing) / np.ptp(times)
    return float(max(_MOTIONS * np.sum(moved) / (moments[-1] - moments[0]), least))


def with_frame_normals(cloud: PointCloud, times: np.ndarray, sensor=None, verbose: bool = False):
    """The cloud with normals estimated for the points of each time, and where they come from.

    Each frame finds its own signs. Its sheets, parts that do not touch, are then turned to agree with those of the
    frames around (:func:`~seminorm.clouds.sheets.signs_of_sheets`).
    """
    if not has_frames(times):
        raise ValueError(
            f"normals are estimated for the points of each time, and here {len(cloud)} points have "
            f"{len(np.unique(times))} times: give normals, or give points that belong together the same time."
        )
    sensor = cloud.sensor if sensor is None else as_sensor(sensor, len(cloud))
    frames = frames_of(times)
    for rows in frames:
        n = int(np.isfinite(cloud.points[rows]).all(axis=1).sum())
        if n < _FEWEST:
            raise ValueError(
                f"normals are estimated for the points of each time, from at least {_FEWEST}, and time "
                f"{times[rows[0]]:.6g} has {n}: leave it out, or give normals."
            )
    clouds = [
        PointCloud(cloud.points[rows], sensor=None if sensor is None or not _is_known(sensor[rows]) else sensor[rows])
        for rows in frames
    ]
    found = _alike([estimate_normals(one) for one in _shown(clouds, verbose)], verbose)
    normals = np.empty_like(cloud.points)
    for rows, frame, sign in zip(frames, found, signs_of_sheets(found), strict=True):
        assert frame.normals is not None
        normals[rows] = sign[:, None] * frame.normals
    sizes = np.array([len(frame) for frame in found])
    known = np.array([frame.oriented != "consistent" for frame in found])
    decided = bool(sizes[known].sum() >= _HALF * sizes.sum())
    if not decided:
        warn_user(
            "the points do not show which side is the inside: the estimated normals agree with each other, and all of "
            "them may be the wrong way round. Give sensor=, or normals."
        )
    signs = found[int(np.argmax(known))].oriented if decided else "consistent"
    neighbors = sorted({frame.n_neighbors for frame in found if frame.details["method"] != "variational"})
    counted = f"{neighbors[0]} to {neighbors[-1]}" if len(neighbors) > 1 else "".join(map(str, neighbors))
    seen = f"{counted} neighbours" if neighbors else "all points"
    origin = f"estimated from {seen} of the same time, signs: {signs}"
    return PointCloud(cloud.points, normals, cloud.colors, cloud.attributes, cloud.sensor), origin


def _is_known(sensor: np.ndarray) -> bool:
    return bool(np.isfinite(sensor).all(axis=1).any())


def _shown(items: list, verbose: bool) -> Iterable:
    return tqdm(items, desc="estimating normals", unit="frame", disable=not verbose, leave=False)


def _alike(found: list[OrientedCloud], verbose: bool) -> list[OrientedCloud]:
    """Normals from no more neighbours than one in four frames needs: frames have the same noise, and normals from too
    many agree with surfaces that are too smooth, whatever the points say."""
    local = [k for k, frame in enumerate(found) if frame.details["method"] != "variational"]
    if not local:
        return found
    usual = int(np.quantile([found[k].n_neighbors for k in local], 0.25, method="lower"))
    again = [k for k in local if found[k].n_neighbors > usual]
    for k in _shown(again, verbose):
        found[k] = estimate_normals(PointCloud(found[k].points, sensor=found[k].sensor), n_neighbors=usual)
    return found
