"""Points from files, made ready for a surface."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from .reporting import warn


def read_clouds(arguments: argparse.Namespace):
    """All points as one cloud with valid coordinates and normals, if there are any, prepared as wished.

    Returns
    -------
    cloud : PointCloud
    dropped : dict
        How many points were left out, by the reason.
    """
    clouds = [_read(path, arguments.color) for path in arguments.points]
    _check_alike(arguments.points, clouds)
    cloud = _joined(clouds)
    cloud, dropped = _valid(cloud, ", ".join(map(str, arguments.points)))
    for option, reason, prepare in _preparations(arguments):
        before = len(cloud)
        cloud = prepare(cloud)
        dropped[reason] = before - len(cloud)
        if dropped[reason] and not arguments.quiet:
            print(f"{option}: {len(cloud)} of {before} points are left", file=sys.stderr)
    return cloud, dropped


def _read(path: Path, with_colors: bool):
    from ..surfaces.cloud import PointCloud
    from ..surfaces.files import read_points

    cloud = read_points(path)
    if with_colors and cloud.colors is None:
        raise ValueError(f"--color: {path} has no colours (red, green, blue).")
    return PointCloud(cloud.points, cloud.normals, cloud.colors if with_colors else None)


def _check_alike(paths: list[Path], clouds: list) -> None:
    """Either all files have normals, or none."""
    without = [path for path, cloud in zip(paths, clouds, strict=True) if cloud.normals is None]
    if without and len(without) < len(paths):
        raise ValueError(
            f"{without[0]} has no normals, and other files have: estimate them first (seminorm normals {without[0]} -o "
            "FILE), or give files of one kind."
        )


def _valid(cloud, names: str):
    """The points that can be used, and how many others there were; an error if there are none."""
    from ..surfaces.preparation import drop_invalid

    valid, dropped = drop_invalid(cloud)
    reasons = {"coordinates": "NaN or infinity in their coordinates", "normals": "their normals are zero or not finite"}
    if not len(valid):
        counted = [f"{reason} ({dropped[kind]})" for kind, reason in reasons.items() if dropped[kind]]
        raise ValueError(f"{names}: none of the {len(cloud)} points can be used: {', '.join(counted)}.")
    for kind, reason in reasons.items():
        if dropped[kind]:
            warn(f"left out {dropped[kind]} of {len(cloud)} points: {reason}.")
    return valid, dropped


def _preparations(arguments: argparse.Namespace) -> Iterator[tuple[str, str, Callable]]:
    """Option, reason for which points go, and function, of what is wished."""
    from ..surfaces.preparation import remove_duplicates, remove_outliers, thin

    if arguments.remove_duplicates:
        yield "--remove-duplicates", "duplicates", lambda cloud: _kept(cloud, remove_duplicates(cloud))
    if arguments.remove_outliers:
        yield "--remove-outliers", "outliers", lambda cloud: _kept(cloud, remove_outliers(cloud))
    if arguments.thin is not None:
        yield f"--thin {arguments.thin:g}", "thinned", lambda cloud: thin(cloud, arguments.thin)


def _kept(cloud, rows):
    return cloud if len(rows) == len(cloud) else cloud[rows]


def _joined(clouds: list):
    import numpy as np

    from ..surfaces.cloud import PointCloud

    if len(clouds) == 1:
        return clouds[0]
    parts = ([getattr(cloud, name) for cloud in clouds] for name in ("points", "normals", "colors"))
    return PointCloud(*(None if part[0] is None else np.concatenate(part) for part in parts))
