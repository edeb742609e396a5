"""Raw scans of real things with default settings, where the development data are at hand."""

from __future__ import annotations

from pathlib import Path

from ..page import Code, Paragraph, Picture, Section, Table, Viewer
from ..raw_scans import folder_of_scans, raw_scans, reconstructed, sheet, table, what_was_said
from ..scenes import scene

_MOST = 3000  # points that the page takes of a scan
_TURNED = "bunny_range_scans_registered"


def section(folder: Path) -> Section | None:
    """The section, or nothing if the environment variable SEMINORM_DATA names no folder with the scans."""
    points = folder_of_scans()
    if points is None:
        return None
    results = [reconstructed(scan.thinned(_MOST)) for scan in raw_scans(points, largest=True)]
    intro = (
        "Real scans and the test sets of others, with nothing but defaults: normals where the file has them, else "
        "points alone. Range maps show one side of a thing, and their meshes end where the data end; scans from all "
        f"sides become closed (the teapot's spout has an open mouth). Scans of more than {_MOST} "
        "points were thinned to that many, at random, to keep this page quick, and of files with several sets only the "
        "largest is here; `python -m gallery.raw_scans` makes the same sheet of all sets and all of their points."
    )
    caption = (
        "Each time, left: the points, those that face the camera where normals are given. Right: the mesh. Larger "
        f"scans were thinned to {_MOST} points."
    )
    blocks: list[Paragraph | Code | Picture | Table | Viewer] = [
        Paragraph(intro),
        Code.of(reconstructed),
        sheet(folder, results, "scans", caption),
        table(results, "Seconds of a single run here, with the mesh."),
        *what_was_said(results),
    ]
    for result in results:
        if result.scan.name == _TURNED:
            items = {"points": result.scan.cloud, "mesh": result.mesh}
            blocks.append(scene(folder, "scans", items, "The range scans of the bunny and their mesh", "Drag to turn."))
    return Section("Raw scans", blocks)
