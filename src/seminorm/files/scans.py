"""Several scans of one file, each measured from one place, as one cloud."""

from collections.abc import Sequence
from pathlib import Path

from ..clouds.cloud import PointCloud
from ..clouds.scans import joined
from .errors import FileFormatError


def joined_scans(path: Path, scans: Sequence[PointCloud]) -> PointCloud:
    """The points of all scans, with the number of their scan; what some scans do not have is left out."""
    if not sum(map(len, scans)):
        raise FileFormatError(f"{path} has no points.")
    return scans[0] if len(scans) == 1 else joined(scans)
