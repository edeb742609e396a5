"""Clouds as they come: what lies on no surface is set aside, and wrong normals are put right."""

from dataclasses import dataclass

import numpy as np

from .._base.warnings import warn_user
from .cloud import PointCloud, unit_rows
from .normals import variational
from .normals.repair import repaired_normals
from .strays import stray_points
from .trust import trusted_points

_FEWEST = 10  # points, of which nothing is set aside
_FEW = 2000  # points, up to which the smoothest surface of some judges the others


@dataclass(frozen=True)
class Cleaned:
    """What belongs to a surface, of n points."""

    keep: np.ndarray  #: (n,) whether a point belongs
    normals: np.ndarray | None  #: (n, 3) the normals, those of points that belong put right
    repaired: int  #: how many normals were changed


def cleaned(points: np.ndarray, normals: np.ndarray | None = None) -> Cleaned:
    """Decide which points (n, 3) belong, and what their unit normals should be, if these are given.

    Where there are outliers in space, some lie near the surface, too. They are looked for only there, and where normals
    are right. Of few points, those far apart have no neighbours to support them: they stay if they lie on the smoothest
    surface of the others.
    """
    trust = trusted_points(points, normals)
    keep, repaired = trust.keep.copy(), 0
    if normals is not None:
        given = normals[keep]
        better = repaired_normals(points[keep], given)
        repaired = int((better != given).any(axis=1).sum())
        normals = normals.copy()
        normals[keep] = better
    if trust.dirty:
        keep[keep] = ~stray_points(points[keep], None if normals is None else normals[keep])
    if normals is None and len(points) <= _FEW and not keep.all():
        keep |= variational.follow_others(points / np.linalg.norm(np.ptp(points[keep], axis=0)), keep)
    return Cleaned(keep, normals, repaired)


@dataclass(frozen=True)
class Belonging:
    """The points that belong to a surface, with normals that agree with those around them."""

    cloud: PointCloud
    kept: np.ndarray | None  # their rows; None if all
    outliers: np.ndarray  # rows of the others
    repaired: int

    @classmethod
    def of(cls, cloud: PointCloud, outliers: str) -> "Belonging":
        """Clean a cloud (``outliers="auto"``), with a warning if that changes anything, or keep it as it is."""
        if outliers not in ("auto", "keep"):
            raise ValueError(f"outliers must be 'auto' (set them aside) or 'keep', got {outliers!r}.")
        none = np.zeros(0, dtype=np.intp)
        rows = np.flatnonzero(_usable(cloud))
        if outliers == "keep" or len(rows) < _FEWEST:
            return cls(cloud, None, none, 0)
        unit = None if cloud.normals is None else unit_rows(cloud.normals[rows])
        found = cleaned(cloud.points[rows], unit)
        repaired = found.repaired
        if repaired:
            assert cloud.normals is not None and found.normals is not None and unit is not None
            changed = (found.normals != unit).any(axis=1)
            directions = cloud.normals.copy()
            length = np.linalg.norm(directions[rows[changed]], axis=1, keepdims=True)
            directions[rows[changed]] = found.normals[changed] * length
            cloud = PointCloud(cloud.points, directions, cloud.colors, cloud.attributes, cloud.sensor)
        aside = rows[~found.keep]
        if len(aside) or repaired:
            parts = [f"{len(aside)} of {len(rows)} points do not lie on a surface with others, and are set aside"]
            parts += [f"{repaired} normals that disagree with those around them are turned or replaced"]
            told = " and ".join(part for part, any_ in zip(parts, (len(aside), repaired), strict=True) if any_)
            warn_user(f"{told}; details['outliers'] has the rows, and outliers='keep' uses everything as it is.")
        if not len(aside):
            return cls(cloud, None, none, repaired)
        keep = np.ones(len(cloud), dtype=bool)
        keep[aside] = False
        kept = np.flatnonzero(keep)
        return cls(cloud[kept], kept, aside, repaired)


def _usable(cloud: PointCloud) -> np.ndarray:
    """Points with finite coordinates, and a normal if there are normals."""
    usable = np.isfinite(cloud.points).all(axis=1)
    if cloud.normals is None:
        return usable
    return usable & np.isfinite(cloud.normals).all(axis=1) & (cloud.normals != 0).any(axis=1)
