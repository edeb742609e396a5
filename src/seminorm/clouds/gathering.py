"""Points of one or several scans as one cloud."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cloud import PointCloud, as_cloud
from .normals.estimation import estimate_normals
from .scans import SCAN, are_scans, as_scan_numbers, each_of, joined, placed_scans, scan_numbers

_FAR = 10.0  # extents of the data: where given normals look, seen as places of sensors


def gathered(points, normals, sensor, sensors, poses, scan_id) -> tuple[PointCloud, np.ndarray | None, str | None]:
    """One cloud, the scan of each point if there are several, and where normals come from if some were estimated."""
    if not are_scans(points):
        for name, value in (("sensors", sensors), ("poses", poses)):
            if value is not None:
                advice = "give sensor= for one cloud" if name == "sensors" else "move one cloud before"
                raise ValueError(f"{name} is for several scans, a list of clouds: {advice}.")
        return *_numbered(as_cloud(points, normals), scan_id), None
    if not (scan_id is None or _is_auto(scan_id)):
        raise ValueError("scan_id is for one cloud of several scans, and this is a list of them: leave it out.")
    if sensor is not None and sensors is not None:
        raise ValueError("give sensor for all scans, or sensors one by one, not both.")
    own = each_of("normals", normals, len(points))
    clouds = [cloud if part is None else as_cloud(cloud, part) for cloud, part in zip(points, own, strict=True)]
    scans = placed_scans(clouds, sensors=sensors, poses=poses)
    for number, place in enumerate(each_of("sensors", sensors, len(scans))):
        if place is not None and scans[number].normals is not None:
            raise ValueError(
                f"sensors orient normals that are estimated, and scan {number} has normals: give None in its place."
            )
    scans, origin = _completed(scans)
    return *_numbered(joined(scans), scan_id), origin


def _numbered(cloud: PointCloud, scan_id: Any) -> tuple[PointCloud, np.ndarray | None]:
    """The cloud, and the scan of each point: what is given, or the cloud's own attribute."""
    if scan_id is None:
        return cloud, None
    if _is_auto(scan_id):
        return cloud, scan_numbers(cloud)
    number = as_scan_numbers(scan_id, len(cloud))
    attributes = {**cloud.attributes, SCAN: number}
    return PointCloud(cloud.points, cloud.normals, cloud.colors, attributes, cloud.sensor), number


def _is_auto(scan_id: Any) -> bool:
    return isinstance(scan_id, str) and scan_id == "auto"


def _completed(scans: list[PointCloud]) -> tuple[list[PointCloud], str | None]:
    """Scans with normals estimated where other scans have them: their signs come from sensors, and from the others."""
    lacking = [k for k, scan in enumerate(scans) if scan.normals is None]
    if not lacking or len(lacking) == len(scans):
        return scans, None
    extent = max(float(np.nanmax(np.ptp(scan.bounds, axis=0), initial=0.0)) for scan in scans)
    bare = []
    for scan in scans:
        sight = scan.sensor if scan.normals is None else scan.points + _FAR * extent * _unit(scan.normals)
        bare.append(PointCloud(scan.points, sensor=sight))
    whole = joined(bare)
    found = estimate_normals(whole)
    assert found.normals is not None
    ends = np.cumsum([len(scan) for scan in scans])
    completed = list(scans)
    for k in lacking:
        scan, rows = scans[k], slice(ends[k] - len(scans[k]), ends[k])
        completed[k] = PointCloud(scan.points, found.normals[rows], scan.colors, scan.attributes, scan.sensor)
    told = f"given for {len(scans) - len(lacking)} of {len(scans)} scans, the others estimated from "
    return completed, f"{told}{found.source}, signs: {found.oriented}"


def _unit(normals: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return normals / np.linalg.norm(normals, axis=1, keepdims=True)
