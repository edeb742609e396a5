"""How much the points of each of several scans count, and where they are."""

from __future__ import annotations

from dataclasses import replace

from ..clouds.agreement import compare_scans, merged_sheets, weights_of_points
from .preparation import ReadyPoints


def reconciled(ready: ReadyPoints) -> tuple[ReadyPoints, list[dict]]:
    """Points of noisy scans count for less, and sheets that are apart meet between them; besides, what was found."""
    scan = ready.columns.get("scan")
    if scan is None or (scan == scan[0]).all():
        return ready, []
    found = compare_scans(ready.points, ready.normals, scan)
    weight, points = weights_of_points(ready.points, scan, found), ready.points
    if found.apart:
        points = merged_sheets(points, ready.normals, scan, weight)
    columns = ready.columns
    if weight is not None:
        columns = {**columns, "confidence": weight * columns.get("confidence", 1.0)}
    return replace(ready, points=points, columns=columns), found.details()
