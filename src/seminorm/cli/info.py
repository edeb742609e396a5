"""``seminorm info``: what a file holds."""

import argparse
from pathlib import Path
from typing import Any

from .options import add_input
from .parsing import Parser
from .paths import POINT_SUFFIXES, check_input, holds_motion, holds_surface
from .reporting import as_size, as_word, listed, shown, table, tell_failure

HELP = "describe what files of points, meshes or surfaces hold"


def add_arguments(parser: Parser) -> None:
    parser.set_layout(
        "FILE [FILE ...] [option ...]",
        "seminorm info scan.ply mesh.ply surface.npz",
        "cat scan.xyz | seminorm info - --from xyz",
    )
    add_input(parser, "FILE", f"points, meshes, surfaces: {listed(POINT_SUFFIXES)}", POINT_SUFFIXES)


def run(arguments: argparse.Namespace) -> int:
    """Describe each file; the others are still described if one cannot be read."""
    failed = False
    for number, path in enumerate(arguments.inputs):
        try:
            check_input(path, POINT_SUFFIXES)
            rows = _surface_rows(path) if holds_surface(path) else _file_rows(path)
        except Exception as error:  # the other files may be better
            if arguments.traceback:
                raise
            tell_failure("info", error, shown(path))
            failed = True
            continue
        print(f"{'' if number == 0 else chr(10)}{shown(path)}\n{table(rows)}")
    return int(failed)


def _file_rows(path: Path) -> list[tuple[str, str]]:
    from ..files import describe, read_mesh

    found = describe(path)
    is_mesh = found["kind"] == "mesh"
    rows = [
        ("holds", "a mesh" if is_mesh else "points"),
        ("format", f"{found['format']}, {as_size(found['bytes'])}"),
        ("vertices" if is_mesh else "points", str(found["points"])),
    ]
    rows += [("faces", str(found["faces"]))] if is_mesh else []
    rows.append(("columns", ", ".join(found["columns"])))
    rows += _extent_rows(*found["bounds"]) if found["bounds"] is not None else []
    rows += [("NaN or infinite", str(found["invalid_points"]))] if found["invalid_points"] else []
    if is_mesh:
        mesh = read_mesh(path)
        rows += [("watertight", as_word(mesh.is_watertight)), ("components", str(mesh.components()[1]))]
        rows += [("area", as_word(mesh.area)), ("volume", as_word(mesh.volume))]
    elif not found["has_normals"]:
        rows.append(("normals", "none: seminorm reconstruct estimates them"))
    return rows


def _surface_rows(path: Path) -> list[tuple[str, str]]:
    from ..clouds.cloud import bounds_of
    from ..surfaces.moving import MovingSurface
    from ..surfaces.surface import Surface

    surface: Any
    if holds_motion(path):
        surface = MovingSurface.load(path)
        first, last, n = surface.times.min(), surface.times.max(), len(set(surface.times.tolist()))
        rows = [("holds", "a surface that moves, as a function"), ("times", f"{first:g} to {last:g}, {n} different")]
        resolution = surface.at(float(first)).resolution
    else:
        surface = Surface.load(path)
        rows, resolution = [("holds", "a surface, as a function")], surface.resolution
    rows += [
        ("format", f"npz, {as_size(path.stat().st_size)}"),
        ("points", str(len(surface.points))),
        ("coefficients", str(surface.field.n_coef)),
        ("resolution", as_word(resolution)),
        ("attributes", ", ".join(surface.attached) or "none"),
        *_extent_rows(*bounds_of(surface.points)),
    ]
    for name, value in surface.details.items():
        if name != "points" and isinstance(value, (bool, int, float, str)):
            rows.append((name.replace("_", " "), as_word(value)))
    return rows


def _extent_rows(low, high) -> list[tuple[str, str]]:
    extents = zip("xyz", low, high, strict=True)
    return [(axis, f"{start:.6g} to {stop:.6g} ({stop - start:.4g})") for axis, start, stop in extents]
