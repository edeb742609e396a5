"""Raw point sets without normals, as surfaces: bimba, the kitten without its normals, a torus, a bunny.

Printed: how the normals were found, and whether the mesh is closed; for the kitten also the share of normals that agree
with its own. One picture, points above and surfaces below.
"""

from __future__ import annotations

import time

import _data
import numpy as np
from _surfaces import SAGE, STEEL, Model, camera, draw_mesh, draw_points, options, side_by_side

from seminorm.surfaces import reconstruct

SCANS = {
    "bimba": Model("ipsr_bimba", (-0.3, -0.1, -1.0)),
    "kitten": Model("cgal_kitten", (0.3, -0.15, -1.0)),
    "torus": Model("gcno_BS_4000_torus", (0.3, -0.8, -1.0)),
    "bunny": Model("pgr_bunny_20000", (0.25, 1.0, -0.15), (0.0, 0.0, 1.0)),
}


def main() -> None:
    chosen = options(__doc__)
    paths = {name: f"surfaces/points/{scan.file}.npz" for name, scan in SCANS.items()}
    _data.require(*paths.values())
    size = (300, 300) if chosen.quick else (520, 520)
    above, below, titles = [], [], []
    for name, scan in SCANS.items():
        if not _data.exists(paths[name]):
            continue
        arrays = np.load(_data.folder() / paths[name])
        points = arrays["points"].astype(float)
        start = time.perf_counter()
        surface = reconstruct(points)
        mesh = surface.mesh()
        seconds = time.perf_counter() - start
        summary = f"{surface.details['normals']}, closed: {mesh.is_watertight}, {seconds:.0f} s"
        print(f"{name}: {len(points)} points, {summary}")
        if "normals" in arrays:
            agree = (surface.normals * arrays["normals"]).sum(axis=1) > 0
            print(f"  {100 * agree.mean():.2f} % of the normals look to the side of the given ones")
        view = camera(mesh.vertices, scan, size)
        above.append(draw_points(points, view, size, STEEL))
        below.append(draw_mesh(mesh, view, size, SAGE))
        titles.append(f"{name}, {len(points)} points")
    path = chosen.output / "unoriented_scans.png"
    side_by_side([*above, *below], [*titles, *["surface"] * len(titles)], path, columns=len(titles))


if __name__ == "__main__":
    main()
