"""Surfaces from points without normals: against the same points with true normals, and against Open3D.

Points are sampled from closed meshes, clean, with noise of 0.25 % of the diagonal, and with holes. Each program runs as
a process of its own: ``seminorm reconstruct`` on the points alone and on the points with the true normals, and Open3D
with estimated normals (30 neighbours), consistent orientation and Poisson reconstruction at depth 9. Distances are
two-sided means in 1e-4 of the diagonal. A surface fails if it is not closed, if its distance is more than three times
that with true normals, or, on shapes whose topology the sampling settles, if it has the wrong genus or components.

Mesh measures are those of a separate harness, surfbench.py; an interpreter with open3d, trimesh and scipy runs this:

    PYTHON_WITH_OPEN3D benchmarks/points_alone.py [--meshes bunny torus ...] [--sizes 2000 20000 170000] [--seeds 3]
                                                  [--harness surfbench.py] [--seminorm COMMAND]

With ``--published`` the sets that publications compare on are run instead, with defaults, in one process: two-sided
mean distance and the largest one in per cent of the diagonal ("p": of the points from the mesh, where the surface is
not known; "u": in units of the data, as published), components, genus, the share of normals that look to the right
side, whether they are certified, and processor seconds of normals, surface and mesh; the same of Open3D (30 neighbours,
consistent orientation, Poisson at depth 8), and what was published.

    PYTHON_WITH_OPEN3D benchmarks/points_alone.py --published [--sets kitten ...] [--markdown FILE] [--sheet PNG]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _datasets import exists, folder, harness, has_package, missing, without_peer
from _point_sets import SETS, PointSet
from few_points import Nearest, certificate, distances, poisson, right_share, topology

from seminorm import reconstruct
from seminorm.files.png import write_png
from seminorm.rendering import Picture, render_mesh

MESHES = "surfaces/meshes/"  # in the folder of the data
FILES = {
    "bunny": "bunny_hr_odedstein.ply",
    "armadillo": "armadillo_43k.ply",
    "horse": "horse.ply",
    "fertility": "fertility.ply",
    "lucy": "lucy100k.ply",
}
GENUS = {"bunny": 0, "torus": 1, "knot": 1}  # where 2000 points settle it
CONDITIONS = ("clean", "noise", "holes")
NOISE, HOLES, HOLE_RADIUS = 0.0025, 4, 0.05
FAILED = 3.0
HEADER = ("set", "points", "error %", "largest %", "components", "genus", "true", "right %", "certified", "s")
PEER = ("Open3D error %", "components", "genus", "s")
MOST, TILE, ACROSS = 20_000, 220, 6
OPEN3D = """
import sys, numpy as np, open3d as o3d
pcd = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(np.load(sys.argv[1])["points"]))
pcd.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(30))
pcd.orient_normals_consistent_tangent_plane(30)
mesh = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(pcd, depth=9, n_threads=2)[0]
o3d.io.write_triangle_mesh(sys.argv[2], mesh)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = shutil.which("seminorm", path=str(Path(sys.executable).parent)) or "seminorm"
    parser.add_argument("--meshes", nargs="+", default=["bunny", "torus", "knot", "armadillo", "fertility"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000, 20_000, 170_000])
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=CONDITIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--harness", type=Path, help="default: what SEMINORM_SURFBENCH names")
    parser.add_argument("--seminorm", default=beside, help="the command (default: %(default)s)")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--published", action="store_true", help="the sets that publications compare on")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--markdown", type=Path, help="append the rows of --published to this file")
    parser.add_argument("--sheet", type=Path, help="draw the surfaces of --published here")
    arguments = parser.parse_args()
    if arguments.published:
        published(arguments)
        return
    program = harness(arguments.harness)
    for package in ("trimesh", *["open3d"] * (not arguments.no_peer)):
        if not has_package(package):
            print(without_peer(package))
            return
    measures = load(program)
    methods = ["alone", "normals", *([] if arguments.no_peer else ["open3d"])]
    rows = []
    print(f"{'case':>28} " + " ".join(f"{m:>9} {'s':>6}" for m in methods) + "   ratio  notes", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for name in arguments.meshes:
            if name in FILES and not exists(MESHES + FILES[name]):
                print(missing(MESHES + FILES[name]))
                continue
            truth = shape(measures, name)
            for size in arguments.sizes:
                for condition in arguments.conditions:
                    for seed in range(arguments.seeds):
                        case = make(truth, size, condition, seed, Path(place))
                        row = {m: run(m, case, Path(place), arguments.seminorm, measures, truth) for m in methods}
                        rows.append((size, row, report(name, size, condition, seed, row)))
    if rows:
        summary(rows, methods)


def published(arguments) -> None:
    """A row for each of the published sets, and a sheet of pictures."""
    if not has_package("trimesh"):
        print(without_peer("trimesh"))
        return
    peer = not arguments.no_peer and has_package("open3d")
    titles = [*HEADER, *(PEER if peer else ()), "published"]
    pictures: list[np.ndarray] = []
    for name in arguments.sets:
        row, picture = compared(SETS[name](), peer)
        line = f"| {name} | {' | '.join(row)} |"
        new = arguments.markdown is not None and not arguments.markdown.exists()
        if new or name == arguments.sets[0]:
            head = f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 1)}\n"
            print(head, end="")
        if arguments.markdown:
            with arguments.markdown.open("a") as file:
                file.write((head if new else "") + line + "\n")
        print(line, flush=True)
        pictures.append(picture)
    if arguments.sheet:
        write_sheet(arguments.sheet, pictures)


def compared(given: PointSet, peer: bool) -> tuple[list[str], np.ndarray]:
    """The numbers of a set, and a picture of our mesh."""
    import trimesh

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        surface = reconstruct(given.points)
    mesh = surface.mesh()
    seconds = time.process_time() - start
    own = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    nearest = None if given.truth is None else Nearest(given.truth)
    right = "-"
    if given.truth is not None:
        right = f"{100 * right_share(surface, given.truth, nearest):.1f}"
    elif given.normals is not None and len(surface.points) == len(given.points):
        right = f"{100 * float(((surface.normals * given.normals).sum(axis=1) > 0).mean()):.1f}"
    true = "-" if given.truth is None else topology(given.truth)[1]
    row = [str(len(given.points)), *errors(given, own, nearest), *topology(own), true, right]
    row += [certificate(surface), f"{seconds:.1f}"]
    if peer:
        start = time.process_time()
        other = poisson(given.points)
        seconds = time.process_time() - start
        row += [errors(given, other, nearest)[0], *topology(other)] if len(other.faces) else ["-"] * 3
        row.append(f"{seconds:.1f}")
    picture = render_mesh(mesh.vertices, mesh.faces, Picture(size=(TILE, TILE)), normals=mesh.normals)
    return [*row, given.published], picture


def errors(given: PointSet, mesh, nearest: Nearest | None) -> tuple[str, str]:
    """Mean distance and the largest."""
    if nearest is not None:
        mean, largest = distances(mesh, given.truth, nearest)
        if not given.own_units:
            return f"{mean:.3f}", f"{largest:.2f}"
        unit = np.linalg.norm(given.truth.extents) / 100
        return f"{unit * mean:.3f} u", f"{unit * largest:.2f} u"
    away = Nearest(mesh)(given.points[:: max(len(given.points) // MOST, 1)])[0]
    scale = 100 / np.linalg.norm(np.ptp(given.points, axis=0))
    return f"{scale * away.mean():.3f} p", f"{scale * away.max():.2f} p"


def write_sheet(path: Path, pictures: list[np.ndarray]) -> None:
    """All pictures in rows."""
    blank = np.full_like(pictures[0], 255)
    pictures = pictures + [blank] * (-len(pictures) % ACROSS)
    rows = [np.concatenate(pictures[i : i + ACROSS], axis=1) for i in range(0, len(pictures), ACROSS)]
    write_png(path, np.concatenate(rows))


def load(path: Path):
    spec = importlib.util.spec_from_file_location("surfbench", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shape(measures, name: str):
    if name in FILES:
        surface = measures.Surface.load(folder() / MESHES / FILES[name], normalise=True)
    else:
        surface = measures.Surface(*tube(*CURVES[name]))
    a, b, c = (surface.v[surface.f[:, k]] for k in range(3))
    if np.einsum("ij,ij->", a, np.cross(b, c)) < 0:  # turned inside out
        surface = measures.Surface(surface.v, surface.f[:, ::-1])
    return surface


def circle(t):
    return np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)


def trefoil(t):
    return np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)


CURVES = {"torus": (circle, 0.35), "knot": (trefoil, 0.45)}


def tube(curve, radius: float, along: int = 400, around: int = 60):
    """A closed tube around a closed curve, scaled to the diagonal 1."""
    t = 2 * np.pi * np.arange(along) / along
    center, step = curve(t), 1e-4
    tangent = curve(t + step) - curve(t - step)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    side = np.cross(tangent, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, tangent)
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.cos(angle)[:, None] * side[:, None] + np.sin(angle)[:, None] * up[:, None]
    vertices = (center[:, None] + radius * ring).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    a, b = i * around + j, i * around + (j + 1) % around
    c, d = (i + 1) % along * around + j, (i + 1) % along * around + (j + 1) % around
    faces = np.concatenate([np.stack([a, c, b], -1), np.stack([b, c, d], -1)]).reshape(-1, 3)
    return vertices / np.linalg.norm(np.ptp(vertices, axis=0)), faces


def make(truth, size: int, condition: str, seed: int, place: Path) -> Path:
    rng = np.random.default_rng([seed, size])
    at = truth.sample(size, rng)
    points, normals = truth.points(*at), truth.normals(*at)
    if condition == "noise":
        points = points + NOISE * rng.standard_normal(points.shape)
    if condition == "holes":
        centers = points[rng.choice(len(points), HOLES, replace=False)]
        kept = (np.linalg.norm(points[:, None] - centers, axis=2) > HOLE_RADIUS).all(axis=1)
        points, normals = points[kept], normals[kept]
    np.savez(place / "normals.npz", points=points, normals=normals)
    np.savez(place / "alone.npz", points=points)
    return place / "alone.npz"


def run(method: str, case: Path, place: Path, command: str, measures, truth) -> dict:
    output = place / f"{method}.ply"
    output.unlink(missing_ok=True)
    source = case.with_name("normals.npz") if method == "normals" else case
    words = [sys.executable, "-c", OPEN3D] if method == "open3d" else [command, "reconstruct", "--quiet"]
    words += [str(source), str(output)] if method == "open3d" else [str(source), "-o", str(output)]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    seconds = time.perf_counter() - start
    if done.returncode or not output.exists():
        return {"seconds": seconds, "error": (done.stderr.strip().splitlines() or ["nothing written"])[-1]}
    measured = measures.evaluate(output, truth, ([], []), 50_000, np.random.default_rng(1))
    return {"seconds": seconds, "distance": measured["chamfer"] * 1e4, **measured}


def failures(name: str, method: str, row: dict) -> list[str]:
    own, best = row[method], row["normals"]
    if "error" in own:
        return [own["error"]]
    found = [] if own["watertight"] or method == "open3d" else ["not closed"]
    if own["distance"] > FAILED * best.get("distance", np.inf):
        found.append("far off")
    if name in GENUS and (own["components"] != 1 or own["genus"] not in (None, GENUS[name])):
        found.append(f"genus {own['genus']}, {own['components']} component(s)")
    return found


def report(name, size, condition, seed, row) -> dict:
    notes = {method: failures(name, method, row) for method in row}
    values = " ".join(f"{r.get('distance', float('nan')):9.2f} {r['seconds']:6.1f}" for r in row.values())
    ratio = row["alone"].get("distance", np.inf) / row["normals"].get("distance", np.nan)
    said = "; ".join(f"{method}: {', '.join(found)}" for method, found in notes.items() if found)
    print(f"{name:>10} {size:7d} {condition:>6} {seed:2d} {values}  {ratio:6.2f}  {said}", flush=True)
    return {"ratio": ratio, "notes": notes}


def summary(rows: list, methods: list[str]) -> None:
    ratios = np.array([said["ratio"] for _, _, said in rows])
    print(
        f"\ndistance over that with true normals: median {np.median(ratios):.2f}, largest {ratios.max():.2f}, ", end=""
    )
    print(f"above 1.5 in {np.count_nonzero(ratios > 1.5)} of {len(ratios)}")
    for method in methods:
        failed = sum(bool(said["notes"][method]) for _, _, said in rows)
        print(f"{method}: {failed} of {len(rows)} failed")
    for size in sorted({size for size, *_ in rows}):
        means = {m: np.mean([row[m]["seconds"] for s, row, _ in rows if s == size]) for m in methods}
        print(f"{size} points: " + ", ".join(f"{m} {seconds:.1f} s" for m, seconds in means.items()))


if __name__ == "__main__":
    main()
