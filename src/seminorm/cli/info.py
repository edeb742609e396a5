"""``seminorm info``: what a file holds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .paths import POINT_SUFFIXES, check_input, holds_surface
from .reporting import as_size, as_word, listed, one_line, table

HELP = "tell what files of points, meshes or surfaces hold"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the verb."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=listed(POINT_SUFFIXES))


def run(arguments: argparse.Namespace) -> int:
    """Tell of each file; one that cannot be read does not keep the others from being told of."""
    failed = False
    for number, path in enumerate(arguments.files):
        try:
            check_input(path, POINT_SUFFIXES)
            rows = _surface_rows(path) if holds_surface(path) else _file_rows(path)
        except (ImportError, OSError, ValueError) as error:
            if arguments.traceback:
                raise
            print(f"seminorm info: {one_line(error)}", file=sys.stderr)
            failed = True
            continue
        print(f"{'' if number == 0 else chr(10)}{path}\n{table(rows)}")
    return int(failed)


def _file_rows(path: Path) -> list[tuple[str, str]]:
    from ..surfaces.files import describe, read_mesh

    told = describe(path)
    is_mesh = told["kind"] == "mesh"
    rows = [
        ("holds", "a mesh" if is_mesh else "points"),
        ("format", f"{told['format']}, {as_size(told['bytes'])}"),
        ("vertices" if is_mesh else "points", str(told["points"])),
    ]
    rows += [("faces", str(told["faces"]))] if is_mesh else []
    rows.append(("columns", ", ".join(told["columns"])))
    rows += _extent_rows(*told["bounds"]) if told["bounds"] is not None else []
    rows += [("NaN or infinite", str(told["invalid_points"]))] if told["invalid_points"] else []
    if is_mesh:
        mesh = read_mesh(path)
        rows += [
            ("watertight", as_word(mesh.is_watertight)),
            ("components", str(mesh.components()[1])),
            ("area", as_word(mesh.area)),
            ("volume", as_word(mesh.volume)),
        ]
    elif not told["has_normals"]:
        rows.append(("normals", "none: seminorm reconstruct estimates them"))
    return rows


def _surface_rows(path: Path) -> list[tuple[str, str]]:
    from ..surfaces.cloud import bounds_of
    from ..surfaces.surface import Surface

    surface = Surface.load(path)
    rows = [
        ("holds", "a surface, as a function"),
        ("format", f"npz, {as_size(path.stat().st_size)}"),
        ("points", str(len(surface.points))),
        ("coefficients", str(surface.field.n_coef)),
        ("resolution", as_word(surface.resolution)),
        ("attributes", ", ".join(surface.attached) or "none"),
        *_extent_rows(*bounds_of(surface.points)),
    ]
    for name, value in surface.details.items():
        if name != "points" and isinstance(value, (bool, int, float, str)):
            rows.append((name.replace("_", " "), as_word(value)))
    return rows


def _extent_rows(low, high) -> list[tuple[str, str]]:
    return [
        (axis, f"{start:.6g} to {stop:.6g} ({stop - start:.4g})")
        for axis, start, stop in zip("xyz", low, high, strict=True)
    ]
