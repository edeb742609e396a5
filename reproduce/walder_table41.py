"""Walder 2008, Table 4.1: points, basis functions and seconds of each stage.

The source's stages are: place the functions, build the regulariser, build the values and derivatives, multiply, solve.
Ours do not build these matrices. They are: prepare (scale the points, estimate the area that each stands for), choose
(smoothness, weights and depth, from points held out: the seconds of a run that chooses less those of one that does
not), fit (all levels), mesh (triangles, half as large as the finest cells). The source had its parameters given.
Seconds are of the processor: run it with NUMBA_NUM_THREADS=1.

Points are drawn from meshes, in the source's number where a model has the same name (its scans are not at hand;
Face is another face, Lucy has fewer points). The second row of each model has the finest two levels left out. Distance
is the mean distance of points that were not fitted from the triangles, in thousandths of the longest side.
"""

from __future__ import annotations

import time
from pathlib import Path

import _data
import numba
import numpy as np
from _report import ABSENT, Results, Table
from _report import options as table_options
from _surfaces import MODELS, Model, distances

from seminorm.clouds.sampling import OrientedPoints
from seminorm.surfaces import reconstruct

SOURCE = {  # points, functions, seconds: basis, regulariser, values and derivatives, multiply, solve, total
    "Bunny": (34834, 9283, 0.4, 2.4, 3.7, 12, 20, 39),
    "Face": (75970, 7593, 0.7, 1.9, 7.0, 20, 16, 46),
    "Armadillo": (172974, 45704, 6.6, 8.5, 37, 123.4, 72, 248),
    "Dragon": (437645, 65288, 14.4, 16.3, 71, 322.8, 1381, 1806),
    "Buddha": (543197, 105993, 117.4, 27.4, 99, 423.7, 2909, 3577),
    "Asian Dragon": (3609455, 232197, 441.6, 61, 608.3, 1885.0, 1010, 4005),
    "Thai Statue": (4999996, 530966, 3742.0, 198, 1575.6, 3121.2, 2570, 11206),
    "Lucy": (14027872, 364982, 1425.8, 170.5, 3484, 9367.7, 1341, 15789),
}
OURS = {
    "Bunny": ("bunny", 34834),
    "Face": ("mask", 75970),
    "Armadillo": ("armadillo", 172974),
    "Dragon": ("dragon", 437645),
    "Buddha": ("buddha", 543197),
    "Lucy": ("lucy", 500000),
}
TEST_POINTS = 50_000
COARSER = 2


def measure(model: Model, n: int) -> dict:
    """Seconds, sizes and errors of one model: as chosen, and with fewer levels."""
    points, normals = model.sample(n)
    start = time.process_time()
    OrientedPoints.prepare(points, normals)
    prepared = time.process_time() - start
    start = time.process_time()
    details = reconstruct(points, normals).details
    total = time.process_time() - start
    given = {name: details[name] for name in ("order", "smoothness", "tolerance")}
    rows = [fitted(model, points, normals, prepared, depth=details["depth"] - less, **given) for less in (0, COARSER)]
    rows[0]["choose"] = max(total - prepared - rows[0]["fit"], 0.0)
    return {"rows": rows}


def fitted(model: Model, points: np.ndarray, normals: np.ndarray, prepared: float, **given) -> dict:
    """One fit with given parameters."""
    start = time.process_time()
    surface = reconstruct(points, normals, **given)
    fit = time.process_time() - start - prepared
    start = time.process_time()
    mesh = surface.mesh()
    seconds = time.process_time() - start
    test, _ = model.sample(TEST_POINTS, seed=2)
    error = distances(mesh, test, 4 * TEST_POINTS).mean() / np.ptp(points, axis=0).max()
    return {
        "points": len(points), "functions": surface.field.n_coef, "order": given["order"], "depth": given["depth"],
        "prepare": prepared, "fit": fit, "mesh": seconds, "error": float(error),
    }  # fmt: skip


def print_source(path: Path | None) -> str:
    """The source's table, as Markdown too."""
    headings = [
        "source",
        "points",
        "functions",
        "points per function",
        "basis",
        "K_reg",
        "K_xv",
        "multiply",
        "solve",
        "total",
    ]
    table = Table(
        "Walder 2008, Table 4.1, the source's (2.4 GHz Opteron, seconds)", headings, [12, 9, 9, 8, 7, 7, 7, 8, 7, 7]
    )
    for name, (points, functions, *seconds) in SOURCE.items():
        table.add(name, points, functions, f"{points / functions:.1f}", *(f"{value:g}" for value in seconds))
    if path is None:
        return ""
    table.write(path)
    return path.read_text()


def main() -> None:
    chosen = table_options(__doc__).parse_args()
    here = {name: OURS[name] for name in OURS if _data.exists(MODELS[OURS[name][0]].path)}
    _data.require(*(MODELS[model].path for model, _ in OURS.values()))
    source = print_source(chosen.markdown)
    results = Results(chosen.cache)
    headings = ["ours", "points", "functions", "points per function", "order", "depth"]
    headings += ["prepare", "choose", "fit", "total", "mesh", "distance"]
    table = Table("Ours (seconds of processor time)", headings, [10, 8, 9, 8, 5, 5, 7, 7, 7, 7, 7, 8])
    reconstruct(*MODELS[here[next(iter(here))][0]].sample(2000)).mesh()  # compiles
    for name, (model, n) in here.items():
        n = n // 40 if chosen.quick else n
        for row in results.get(f"{name} {n}", lambda model=model, n=n: measure(MODELS[model], n))["rows"]:
            total = row["prepare"] + row.get("choose", 0.0) + row["fit"]
            table.add(
                name if "choose" in row else "", row["points"], row["functions"],
                f"{row['points'] / row['functions']:.2f}", row["order"], row["depth"], f"{row['prepare']:.1f}",
                f"{row['choose']:.1f}" if "choose" in row else ABSENT, f"{row['fit']:.1f}", f"{total:.1f}",
                f"{row['mesh']:.1f}", f"{1000 * row['error']:.3f}",
            )  # fmt: skip
    table.note(
        f"Taken on a shared machine, where other work ran at the same time: seconds are of the processor, on "
        f"{numba.get_num_threads()} thread(s), and include no waiting; nor do they include compiling."
    )
    table.note(
        "Ours takes far more functions than the source: they fill blocks of cells around all points on every level, "
        "where Algorithm 3.1 places few on flat parts. In return no matrix of all functions is stored or factorised."
    )
    table.note(
        "Distance: mean distance of points that were not fitted from the triangles, in thousandths of the longest "
        "side. Second rows: the finest two levels left out, the smoothing as before."
    )
    if chosen.markdown is not None:
        table.write(chosen.markdown)
        chosen.markdown.write_text(source + "\n" + chosen.markdown.read_text())


if __name__ == "__main__":
    main()
