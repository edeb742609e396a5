"""Several scans of one file, each measured from one place, as one cloud."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..clouds.cloud import PointCloud
from .errors import FileFormatError

_SCAN = "scan"  # attribute with the number of the scan
_UNKNOWN = np.full(3, np.nan)


def joined_scans(path: Path, scans: Sequence[PointCloud]) -> PointCloud:
    """The points of all scans, with the number of their scan; what some scans do not have is left out."""
    if not sum(map(len, scans)):
        raise FileFormatError(f"{path} has no points.")
    if len(scans) == 1:
        return scans[0]
    number = np.repeat(np.arange(len(scans), dtype=np.int32), [len(scan) for scan in scans])
    scans = [scan for scan in scans if len(scan)]
    names = [name for name in scans[0].attributes if all(name in scan.attributes for scan in scans)]
    attributes = {name: np.concatenate([scan.attributes[name] for scan in scans]) for name in names}
    return PointCloud(
        np.concatenate([scan.points for scan in scans]),
        _if_all([scan.normals for scan in scans]),
        _if_all([scan.colors for scan in scans]),
        {**attributes, _SCAN: number},
        _sensor(scans),
    )


def _if_all(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The parts one below the other, None if one is missing."""
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if len(given) == len(parts) else None


def _sensor(scans: Sequence[PointCloud]) -> np.ndarray | None:
    """The place of each point's sensor, NaN where a scan has none; None if none has."""
    if all(scan.sensor is None for scan in scans):
        return None
    places = [np.broadcast_to(_UNKNOWN, (len(scan), 3)) if scan.sensor is None else scan.sensor for scan in scans]
    return np.concatenate(places)
