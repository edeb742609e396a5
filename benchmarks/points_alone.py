"""Surfaces from points without normals: against the same points with true normals, and against Open3D.

Points are sampled from closed meshes, clean, with noise of 0.25 % of the diagonal, and with holes. Each program runs as
a process of its own: ``seminorm reconstruct`` on the points alone and on the points with the true normals, and Open3D
with estimated normals (30 neighbours), consistent orientation and Poisson reconstruction at depth 9. Distances are
two-sided means in 1e-4 of the diagonal. A surface fails if it is not closed, if its distance is more than three times
that with true normals, or, on shapes whose topology the sampling settles, if it has the wrong genus or components.

Mesh measures are those of a separate harness, surfbench.py; an interpreter with open3d, trimesh and scipy runs this:

    PYTHON_WITH_OPEN3D benchmarks/points_alone.py [--meshes bunny torus ...] [--sizes 2000 20000 170000] [--seeds 3]
                                                  [--harness surfbench.py] [--seminorm COMMAND]
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
from pathlib import Path

import numpy as np
from _datasets import exists, folder, harness, has_package, missing, without_peer

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
    arguments = parser.parse_args()
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
