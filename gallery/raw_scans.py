"""Raw scans, reconstructed with nothing but defaults: one sheet of pictures and what was said about them. All of them
as they are, on a page of their own:

python -m gallery.raw_scans [--output FOLDER] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from tqdm import tqdm

from seminorm import reconstruct, rendering
from seminorm.clouds import PointCloud, drop_invalid
from seminorm.rendering.cameras import DEFAULT_DIRECTION, Camera, fit
from seminorm.rendering.shading import PALETTE
from seminorm.shapes import Mesh

from .drawing import look, new_figure, save
from .page import Paragraph, Picture, Section, Table, number, page

_SIZE = 420, 360
_CLOSER = 0.85  # what a picture shows, of the box around the points
_PAIRS_PER_ROW = 3
_VIEWS = {  # by the beginning of the name: direction in which the camera looks, and what is up
    "bunny": ((0.3, -0.25, -1.0), (0.0, 1.0, 0.0)),
    "cgal_kitten": ((0.3, -0.25, -1.0), (0.0, 1.0, 0.0)),
    "ipsr_bimba": ((-0.3, -0.1, -1.0), (0.0, 1.0, 0.0)),
    "laurana": ((0.1, -0.1, -1.0), (0.0, 1.0, 0.0)),
    "lion": ((0.5, 1.0, -0.4), (0.0, 0.0, 1.0)),
    "pcl_cturtle": ((0.3, -0.6, -1.0), (0.0, 1.0, 0.0)),
    "pgr_bunny": ((0.2, 0.25, -1.0), (-0.49, -0.87, 0.0)),
    "pgr_teapot": ((0.3, -0.2, -1.0), (-0.93, 0.37, 0.0)),
}
_OTHER_VIEW = DEFAULT_DIRECTION, (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class RawScan:
    """A set of points, with the normals that its file has."""

    name: str
    cloud: PointCloud

    def thinned(self, most: int) -> RawScan:
        """At most so many of the points, chosen at random."""
        if len(self.cloud) <= most:
            return self
        chosen = np.random.default_rng(0).choice(len(self.cloud), most, replace=False)
        return RawScan(self.name, self.cloud[np.sort(chosen)])


@dataclass(frozen=True)
class Result:
    """What became of a scan."""

    scan: RawScan
    mesh: Mesh
    seconds: float
    said: Sequence[str]

    @property
    def ends(self) -> str:
        """Closed, with its number of handles, or open, with its number of parts."""
        parts = self.mesh.components()[1]
        many = f", {parts} parts" if parts > 1 else ""
        return f"closed, genus {self.mesh.genus}{many}" if self.mesh.is_watertight else f"open{many}"


def folder_of_scans() -> Path | None:
    """Where the scans are, or None if the environment variable SEMINORM_DATA names no folder with them."""
    data = os.environ.get("SEMINORM_DATA")
    points = Path(data or "") / "surfaces" / "points"
    return points if data and points.is_dir() else None


def raw_scans(folder: Path, largest: bool = False) -> Iterator[RawScan]:
    """The sets of points of a folder; of a file with several, ``points_1000`` and so on, all or only the largest."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as content:
            sets = {key: content[key] for key in content if key == "points" or key.startswith("points_")}
            normals = {"points": content["normals"].astype(float)} if "normals" in content else {}
        for key in [max(sets, key=lambda name: len(sets[name]))] if largest else sets:
            cloud = PointCloud(sets[key].astype(float), normals.get(key))
            yield RawScan(path.stem + key.removeprefix("points"), cloud)


def reconstructed(scan: RawScan) -> Result:
    """The mesh that the defaults make of a scan, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin = perf_counter()
        mesh = reconstruct(scan.cloud).mesh()
        seconds = perf_counter() - begin
    return Result(scan, mesh, seconds, [str(warning.message) for warning in caught])


def sheet(folder: Path, results: Sequence[Result], name: str, caption: str) -> Picture:
    """Points beside mesh, for all results."""
    rows = -(-len(results) // _PAIRS_PER_ROW)
    figure = new_figure(3.3 * _PAIRS_PER_ROW, 1.75 * rows)
    axes = figure.subplots(rows, 2 * _PAIRS_PER_ROW, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for result, (left, right) in zip(results, axes.reshape(-1, 2), strict=False):
        for ax, image in zip((left, right), _images(result), strict=True):
            ax.imshow(image, interpolation="lanczos")
        left.set_title(f"{result.scan.name}\n{len(result.scan.cloud)} points", fontsize=7)
        right.set_title(f"{result.ends}\n{len(result.mesh.faces)} triangles, {result.seconds:.1f} s", fontsize=7)
    alternative = f"Points of {len(results)} scans, each beside the surface made of it"
    return Picture(save(figure, folder, name), alternative, caption)


def table(results: Sequence[Result], caption: str) -> Table:
    """What the sheet says, in rows."""
    header = ["", "points", "normals", "mesh", "triangles", "seconds"]
    return Table(header, [_row(result) for result in results], caption)


def what_was_said(results: Sequence[Result]) -> list[Paragraph]:
    """The warnings, scan by scan."""
    said = [Paragraph(f"{result.scan.name}: {' '.join(result.said)}") for result in results if result.said]
    quiet = len(results) - len(said)
    return [Paragraph(f"What the library said, {quiet} of {len(results)} times nothing:"), *said]


def _row(result: Result) -> list[str]:
    scan = result.scan
    return [
        scan.name,
        str(len(scan.cloud)),
        "estimated" if scan.cloud.normals is None else "given",
        result.ends,
        str(len(result.mesh.faces)),
        number(result.seconds, 2),
    ]


def _images(result: Result) -> tuple[np.ndarray, np.ndarray]:
    cloud, mesh = drop_invalid(result.scan.cloud)[0], result.mesh
    camera = _camera(cloud, result.scan.name)
    picture = rendering.Picture(_SIZE, camera, background=(1.0, 1.0, 1.0))
    if cloud.normals is not None:
        cloud = cloud[((camera.position - cloud.points) * cloud.normals).sum(axis=1) > 0]
    return (
        rendering.render_points(cloud.points, picture, normals=cloud.normals, colors=PALETTE[1]),
        rendering.render_mesh(mesh.vertices, mesh.faces, picture, normals=mesh.normals, colors=PALETTE[0]),
    )


def _camera(cloud: PointCloud, name: str) -> Camera:
    direction, up = next((view for start, view in _VIEWS.items() if name.startswith(start)), _OTHER_VIEW)
    corners = np.stack([cloud.points.min(axis=0), cloud.points.max(axis=0)])
    center = corners.mean(axis=0)
    return fit(center + _CLOSER * (corners - center), direction, up=up, size=_SIZE)


def main(argv: list[str] | None = None) -> int:
    """Build the page of all scans as they are; without the data say so."""
    parser = argparse.ArgumentParser(description="Reconstruct raw scans with defaults only, and show them on a page.")
    parser.add_argument("--output", metavar="FOLDER", default="demo/scans", help="default: %(default)s")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", default=[""], help="scans whose names contain one of these"
    )
    arguments = parser.parse_args(argv)
    points = folder_of_scans()
    if points is None:
        print("Skipped: there are no scans in surfaces/points of the folder that SEMINORM_DATA names.")
        return 0
    wanted = (scan for scan in raw_scans(points) if any(part in scan.name for part in arguments.only))
    results = [reconstructed(scan) for scan in tqdm(wanted, unit="scan")]
    if not results:
        parser.error("no scan has such a name.")
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    with look():
        picture = sheet(folder, results, "raw-scans", "Each time, left: the points. Right: the mesh.")
    numbers = table(results, "Seconds of a single run, with the mesh.")
    section = Section("Raw scans", [picture, numbers, *what_was_said(results)])
    lead = "Every set as it is in its file, with the normals it has, and nothing but defaults."
    (folder / "index.html").write_text(page("Raw scans", lead, [section], ""), encoding="utf-8")
    print(f"The page is {(folder / 'index.html').resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
