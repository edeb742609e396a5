"""Points from files, made ready for a surface."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .reporting import warn


def read_clouds(arguments: argparse.Namespace) -> tuple[Any, dict[str, int]]:
    """All points as one cloud, valid and prepared as the options say, and how many were left out, by the reason."""
    clouds = [_read(path, arguments.color) for path in arguments.points]
    _check_alike(arguments.points, clouds)
    cloud = _joined(clouds)
    cloud, dropped = valid_points(cloud, ", ".join(map(str, arguments.points)))
    for option, reason, prepare in _preparations(arguments):
        before = len(cloud)
        cloud = prepare(cloud)
        dropped[reason] = before - len(cloud)
        if dropped[reason] and not arguments.quiet:
            print(f"{option}: {len(cloud)} of {before} points are left", file=sys.stderr)
    return cloud, dropped


def _read(path: Path, with_colors: bool):
    from ..clouds.cloud import PointCloud
    from ..files import read_points

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


def valid_points(cloud, names: str):
    """The points that can be used, and how many others there were; an error if there are none."""
    from ..clouds.preparation import drop_invalid

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
    """Each wanted preparation: its option, the reason why points go, and the function."""
    from ..clouds.preparation import remove_duplicates, remove_outliers, thin

    if arguments.remove_duplicates:
        yield "--remove-duplicates", "duplicates", lambda cloud: cloud[remove_duplicates(cloud)]
    if arguments.remove_outliers:
        yield "--remove-outliers", "outliers", lambda cloud: cloud[remove_outliers(cloud)]
    if arguments.thin is not None:
        yield f"--thin {arguments.thin:g}", "thinned", lambda cloud: thin(cloud, arguments.thin)


def _joined(clouds: list):
    import numpy as np

    from ..clouds.cloud import PointCloud

    if len(clouds) == 1:
        return clouds[0]
    parts = [[getattr(cloud, name) for cloud in clouds] for name in ("points", "normals", "colors")]
    joined: list[Any] = [None if part[0] is None else np.concatenate(part) for part in parts]
    return PointCloud(*joined)
