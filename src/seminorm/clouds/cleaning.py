"""Clouds as they come: what lies on no surface is set aside, and wrong normals are put right."""

from dataclasses import dataclass

import numpy as np

from .normals.repair import repaired_normals
from .strays import stray_points
from .trust import trusted_points


@dataclass(frozen=True)
class Cleaned:
    """What belongs to a surface, of n points."""

    keep: np.ndarray  #: (n,) whether a point belongs
    normals: np.ndarray | None  #: (n, 3) the normals, those of points that belong put right
    repaired: int  #: how many normals were changed


def cleaned(points: np.ndarray, normals: np.ndarray | None = None) -> Cleaned:
    """Decide which points (n, 3) belong, and what their unit normals should be, if these are given.

    Where there are outliers in space, some lie near the surface, too. They are looked for only there, and where normals
    are right.
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
    return Cleaned(keep, normals, repaired)
