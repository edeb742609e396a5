"""Points from files, made ready for a surface."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .options import Triple
from .paths import FACE_SUFFIXES
from .reporting import shown, warn

_EXTREME = 1e100  # lengths whose powers are no numbers any more, or their reciprocals
_THIN = 1e-9  # of the length of points on a line
_COARSE = 0.2  # of the distance between points: steps of coordinates that show
_FEW = 1000  # points of a file that may be meant as a mesh
_SOME = 10_000  # points that tell how coordinates were rounded


def read_clouds(arguments: argparse.Namespace, column: str | None = None) -> tuple[Any, dict[str, int]]:
    """All points as one cloud, valid and prepared as the options say, and how many were left out, by the reason.

    A ``column`` of the files stays as an attribute. The places of sensors, and the numbers of scans, are rows of the
    cloud like all others: they stay with their points.
    """
    sensors = sensors_of(arguments)
    from ..clouds.scans import joined

    clouds = [_read(*each, arguments.color, column) for each in zip(arguments.inputs, sensors, strict=True)]
    check_alike(arguments.inputs, clouds)
    names = naming(arguments.inputs)
    cloud, dropped = valid_points(joined(clouds) if len(clouds) > 1 else clouds[0], names)
    check_spread(cloud, names)
    for option, reason, prepare in _preparations(arguments):
        before = len(cloud)
        cloud = prepare(cloud)
        dropped[reason] = before - len(cloud)
        if dropped[reason] and not arguments.quiet:
            print(f"{shown(names)}: {option} leaves {len(cloud)} of {before} points", file=sys.stderr)
    return cloud, dropped


def sensors_of(arguments: argparse.Namespace) -> Sequence[Triple | None]:
    """The --sensor of each file, None where there is none."""
    given, n = arguments.sensor or [None], len(arguments.inputs)
    if len(given) not in (1, n):
        raise ValueError(
            f"--sensor is given {len(given)} times for {n} file{'s' * (n > 1)}: give it once, or once per file in "
            "their order."
        )
    return given * n if len(given) == 1 else given


def naming(paths: Sequence[Path]) -> str:
    """Some of the files, for messages."""
    more = f" and {len(paths) - 2} more" if len(paths) > 3 else ""
    return ", ".join(map(str, paths[:2] if more else paths)) + more


def known_sensor(cloud, names: str):
    """Where the points of a cloud were measured from, (n, 3), NaN where that is not known; None if it never is."""
    import numpy as np

    if cloud.sensor is None:
        return None
    unknown = int((~np.isfinite(cloud.sensor).all(axis=1)).sum())
    if unknown:
        warn(
            f"{names}: {unknown} of {len(cloud)} points do not say where they were measured from, and so the points "
            "around them orient their normals: give --sensor, once per file."
        )
    return None if unknown == len(cloud) else cloud.sensor


def _read(path: Path, sensor: Triple | None, with_colors: bool, column: str | None = None):
    from ..clouds.cloud import PointCloud
    from ..clouds.scans import SCAN, scan_numbers
    from ..files import open_points, read_points

    cloud = read_points(path)
    if len(cloud) < _FEW and path.suffix.lower() in FACE_SUFFIXES and open_points(path).n_faces:
        warn(f"{path} is a mesh, and its {len(cloud)} vertices are taken as points: give the points it was made of.")
    if with_colors and cloud.colors is None:
        raise ValueError(f"--color: {path} has no colours (red, green, blue).")
    colors = cloud.colors if with_colors else None
    scan = scan_numbers(cloud)
    attributes = {} if scan is None else {SCAN: scan}
    if column is not None:
        if column not in cloud.attributes:
            there = ", ".join(cloud.attributes) or "none besides coordinates, normals and colours"
            raise ValueError(f"{path} has no column {column!r}; it has {there}.")
        attributes[column] = cloud.attributes[column]
    return PointCloud(cloud.points, cloud.normals, colors, attributes, cloud.sensor if sensor is None else sensor)


def check_alike(paths: list[Path], clouds: list) -> None:
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
        advice = "" if dropped["coordinates"] else " Leave the normals out of the file, and they are estimated."
        raise ValueError(f"{names}: none of the {len(cloud)} points can be used: {', '.join(counted)}.{advice}")
    for kind, reason in reasons.items():
        if dropped[kind]:
            warn(f"{names}: left out {dropped[kind]} of {len(cloud)} points: {reason}.")
    return valid, dropped


def check_units(bounds, names: str) -> None:
    """Raise an error if coordinates (their least and largest, (2, 3)) are too large or too near for computations."""
    import numpy as np

    low, high = bounds
    largest, extent = float(np.abs(bounds).max()), float((high / 2 - low / 2).max() * 2)
    if largest > _EXTREME or 0 < extent < 1 / _EXTREME:
        raise ValueError(
            f"{names}: coordinates go up to {largest:.3g} and differ by {extent:.3g}, beyond what one can compute "
            "with: convert them to another unit."
        )


def check_spread(cloud, names: str) -> None:
    """Raise an error if points cannot lie on a surface, and warn if they lost digits."""
    import numpy as np

    check_units(cloud.bounds, names)
    some = cloud.points[:: max(len(cloud) // _SOME, 1)]
    some = some[np.isfinite(some).all(axis=1)]
    extent = float(np.ptp(some, axis=0).max()) if len(some) > 2 else 0.0
    if extent == 0.0:
        return  # the library says what is wrong
    placed = (some - some[0]) / extent
    spreads = np.linalg.svd(placed - placed.mean(axis=0), compute_uv=False)
    if spreads[1] <= _THIN * spreads[0]:
        raise ValueError(f"{names}: all points lie on a line, and a surface needs points that spread over it.")
    single = (some == some.astype(np.float32)).all()
    step = float(np.spacing(np.abs(some).max(initial=0.0, axis=0).astype(np.float32 if single else np.float64)).max())
    apart = extent / len(cloud) ** 0.5
    if step > _COARSE * apart:
        warn(
            f"{names}: coordinates in {'single' if single else 'double'} precision come in steps of {step:.2g} so far "
            f"from 0, and points are about {apart:.2g} apart: subtract an offset before they are saved."
        )


def _preparations(arguments: argparse.Namespace) -> Iterator[tuple[str, str, Callable]]:
    """Each wanted preparation: its option, the reason why points go, and the function."""
    from ..clouds.preparation import remove_duplicates, remove_outliers, thin

    if arguments.remove_duplicates:
        yield "--remove-duplicates", "duplicates", lambda cloud: cloud[remove_duplicates(cloud)]
    if arguments.remove_outliers:
        yield "--remove-outliers", "outliers", lambda cloud: cloud[remove_outliers(cloud)]
    if arguments.thin is not None:
        yield f"--thin {arguments.thin:g}", "thinned", lambda cloud: thin(cloud, arguments.thin)
