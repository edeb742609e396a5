"""Normals of points of several scans, which may be noisier than others, or not in their place."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .agreement import compare_scans, rows_that_suffice, weights_of_points
from .cloud import PointCloud
from .normals.estimation import OrientedCloud, estimate_normals
from .normals.local_fits import apart_by_group


def estimate_scan_normals(cloud: PointCloud, scan: np.ndarray, sensor=None, verbose: bool = False) -> OrientedCloud:
    """Normals of points with the scan (n,) of each.

    If sheets of scans are apart, neighbours are those of the same scan, and signs come from some of the points, between
    which the sheets hardly show: to all points two sheets would look like the two sides of a shell. Otherwise points
    of noisy scans count for less beside those of better ones.
    """
    some = rows_that_suffice(len(cloud), len(np.unique(scan)))
    options: dict[str, Any] = {"sensor": _rows(sensor, some, len(cloud)), "verbose": verbose}
    first = estimate_normals(cloud[some], **options)
    assert first.normals is not None
    valid = np.flatnonzero(np.isfinite(first.normals).all(axis=1))
    found = compare_scans(first.points[valid], first.normals[valid], scan[some[valid]])
    if found.apart:
        part = estimate_normals(cloud[some], scan_id=scan[some], **options)
        return part if len(some) == len(cloud) else _with_signs_of(cloud, scan, part, some, verbose)
    whole = np.flatnonzero(np.isfinite(cloud.points).all(axis=1))
    weight = weights_of_points(cloud.points[whole], scan[whole], found)
    if weight is None:
        return first if len(some) == len(cloud) else estimate_normals(cloud, sensor=sensor, verbose=verbose)
    confidence = np.ones(len(cloud))
    confidence[whole] = weight
    return estimate_normals(cloud, sensor=sensor, confidence=confidence, verbose=verbose)


def _with_signs_of(
    cloud: PointCloud, scan: np.ndarray, part: OrientedCloud, rows: np.ndarray, verbose: bool
) -> OrientedCloud:
    """Normals of all points, with the signs of the nearest of those of a part, in the same scan."""
    found = estimate_normals(cloud, scan_id=scan, orient=False, verbose=verbose)
    assert found.normals is not None and part.normals is not None
    valid = np.flatnonzero(np.isfinite(found.normals).all(axis=1))
    known = np.flatnonzero(np.isfinite(part.normals).all(axis=1))
    places = np.full((len(cloud), 4), np.nan)
    places[valid] = apart_by_group(cloud.points[valid], scan[valid])
    nearest = cKDTree(places[rows[known]]).query(places[valid], workers=thread_count())[1]
    signs = np.sign(np.einsum("ij,ij->i", found.normals[valid], part.normals[known[nearest]]))
    found.normals[valid] *= np.where(signs < 0, -1.0, 1.0)[:, None]
    told: dict[str, Any] = {"confidence": found.confidence, "n_neighbors": found.n_neighbors, "details": found.details}
    return OrientedCloud(found, oriented=part.oriented, **told)


def _rows(sensor, rows: np.ndarray, n: int):
    """The sensor of some of the points."""
    return sensor if sensor is None or np.shape(sensor) != (n, 3) else np.asarray(sensor)[rows]
