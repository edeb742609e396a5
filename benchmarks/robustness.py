"""Raw scans: outliers, wrong normals, misregistered scans, uneven density, holes and noise, against Open3D.

20 000 points are sampled from closed meshes, spoilt, and given to programs that run as processes of their own, with
their defaults: ``seminorm reconstruct``, and Open3D's Poisson reconstruction at depth 9, with and without its removal
of statistical outliers (20 neighbours, 2 deviations) before. Without normals, Open3D estimates them (30 neighbours,
consistent orientation). Distances are two-sided means in 1e-4 of the diagonal; "ratio" is that to the clean points.
Horse and lucy were not used for tuning.

Mesh measures are those of a separate harness, surfbench.py; an interpreter with open3d, trimesh and scipy runs this:

    PYTHON_WITH_OPEN3D benchmarks/robustness.py [--meshes bunny ...] [--conditions clean outliers1 ...] [--alone]
                                                [--pictures FOLDER] [--harness surfbench.py] [--seminorm COMMAND]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _datasets import exists, harness, has_package, missing, without_peer
from points_alone import FILES, MESHES, load, shape

SIZE = 20_000
FURTHER = {"fandisk": "fandisk.ply"}
OPEN3D = """
import sys, numpy as np, open3d as o3d
data = np.load(sys.argv[1])
pcd = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(data["points"]))
if "normals" in data:
    pcd.normals = o3d.utility.Vector3dVector(data["normals"])
if sys.argv[3] == "cleaned":
    pcd = pcd.remove_statistical_outlier(20, 2.0)[0]
if not pcd.has_normals():
    pcd.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(30))
    pcd.orient_normals_consistent_tangent_plane(30)
mesh = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(pcd, depth=9, n_threads=2)[0]
o3d.io.write_triangle_mesh(sys.argv[2], mesh)
"""


def outliers(points, normals, rng, share):
    low, high = points.min(axis=0), points.max(axis=0)
    n = int(share * len(points))
    wrong = (low + high) / 2 + 0.55 * (high - low) * rng.uniform(-1, 1, (n, 3))
    return np.vstack([points, wrong]), np.vstack([normals, directions(n, rng)])


def cluster(points, normals, rng):
    n, high = len(points) // 100, points.max(axis=0)
    wrong = high + 0.1 + 0.02 * rng.standard_normal((n, 3))
    return np.vstack([points, wrong]), np.vstack([normals, directions(n, rng)])


def turned(points, normals, rng, share, at_random):
    wrong = rng.random(len(points))[:, None] < share
    return points, np.where(wrong, directions(len(points), rng) if at_random else -normals, normals)


def misregistered(points, normals, rng):
    moved = rng.random(len(points)) < 0.5
    shift = 0.004 * directions(1, rng)
    return points + moved[:, None] * shift, normals


def uneven(points, normals, rng):
    x = points[:, 0]
    kept = rng.random(len(points)) < np.exp(3 * (x - x.max()) / np.ptp(x))
    return points[kept], normals[kept]


def holes(points, normals, rng):
    centers = points[rng.choice(len(points), 4, replace=False)]
    kept = (np.linalg.norm(points[:, None] - centers, axis=2) > 0.05).all(axis=1)
    return points[kept], normals[kept]


def noise(points, normals, rng):
    return points + 0.0025 * rng.standard_normal(points.shape), normals


def directions(n, rng):
    vectors = rng.standard_normal((n, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


CONDITIONS = {
    "clean": lambda *data: data[:2],
    "outliers1": lambda *data: outliers(*data, 0.01),
    "outliers5": lambda *data: outliers(*data, 0.05),
    "outliers20": lambda *data: outliers(*data, 0.2),
    "cluster": cluster,
    "flipped5": lambda *data: turned(*data, 0.05, at_random=False),
    "random5": lambda *data: turned(*data, 0.05, at_random=True),
    "inward": lambda points, normals, rng: (points, -normals),
    "misregistered": misregistered,
    "uneven": uneven,
    "holes": holes,
    "noise": noise,
}
OF_NORMALS = ("flipped5", "random5", "inward")
METHODS = ("seminorm", "open3d", "open3d, cleaned")


def run(method: str, case: Path, place: Path, command: str, measures, truth) -> dict:
    output = place / "mesh.ply"
    output.unlink(missing_ok=True)
    words = [command, "reconstruct", "--quiet", str(case), "-o", str(output)]
    if method != "seminorm":
        words = [sys.executable, "-c", OPEN3D, str(case), str(output), method.split(", ")[-1]]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    seconds = time.perf_counter() - start
    if done.returncode or not output.exists():
        return {"seconds": seconds, "distance": np.inf, "said": done.stderr.strip().splitlines()[-1:]}
    measured = measures.evaluate(output, truth, ([], []), 50_000, np.random.default_rng(1))
    return {**measured, "seconds": seconds, "distance": measured["chamfer"] * 1e4}


def draw(name: str, place: Path, command: str, pictures: Path) -> None:
    words = [command, "render", str(place / "mesh.ply"), "-o", str(pictures / f"{name}.png"), "--size", "300x300"]
    subprocess.run([*words, "--quiet"], capture_output=True)


def sheet(pictures: Path, names: list[str], columns: int) -> None:
    """All pictures as one."""
    from PIL import Image

    images = [Image.open(pictures / f"{name}.png") for name in names if (pictures / f"{name}.png").exists()]
    whole = Image.new("RGB", (300 * columns, 300 * -(-len(images) // columns)), "white")
    for k, image in enumerate(images):
        whole.paste(image, (300 * (k % columns), 300 * (k // columns)))
    whole.save(pictures / "sheet.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = shutil.which("seminorm", path=str(Path(sys.executable).parent)) or "seminorm"
    parser.add_argument("--meshes", nargs="+", default=["bunny", "armadillo", "fandisk", "horse", "lucy"])
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=CONDITIONS)
    parser.add_argument("--alone", action="store_true", help="points without normals")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw our meshes, and all of them as one sheet")
    parser.add_argument("--harness", type=Path, help="default: what SEMINORM_SURFBENCH names")
    parser.add_argument("--seminorm", default=beside, help="the command (default: %(default)s)")
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    program = harness(arguments.harness)
    for package in ("trimesh", "open3d", *["PIL"] * (arguments.pictures is not None)):
        if not has_package(package):
            print(without_peer(package))
            return
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    FILES.update(FURTHER)
    measures, methods = load(program), METHODS[:1] if arguments.no_peer else METHODS
    conditions = [c for c in arguments.conditions if not (arguments.alone and c in OF_NORMALS)]
    ratios: dict[str, list[float]] = {condition: [] for condition in conditions}
    drawn = []
    print(f"{'case':>26} " + " ".join(f"{m:>15} {'comp':>4} {'genus':>5} {'s':>5}" for m in methods) + "  ratio")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in arguments.meshes:
            if not exists(MESHES + FILES[name]):
                print(missing(MESHES + FILES[name]))
                continue
            truth, clean = shape(measures, name), np.nan
            for condition in conditions:
                rng = np.random.default_rng(0)
                at = truth.sample(SIZE, rng)
                points, normals = CONDITIONS[condition](truth.points(*at), truth.normals(*at), rng)
                case = place / "case.npz"
                np.savez(case, points=points, **({} if arguments.alone else {"normals": normals}))
                rows = []
                for method in methods:
                    rows.append(run(method, case, place, arguments.seminorm, measures, truth))
                    if method == "seminorm" and arguments.pictures is not None:
                        drawn.append(f"{name}-{condition}")
                        draw(drawn[-1], place, arguments.seminorm, arguments.pictures)
                clean = rows[0]["distance"] if condition == "clean" else clean
                ratios[condition].append(rows[0]["distance"] / clean)
                cells = (
                    f"{r['distance']:15.2f} {r.get('components', 0):4d} {r.get('genus')!s:>5} {r['seconds']:5.1f}"
                    for r in rows
                )
                print(f"{name:>12} {condition:>13} " + " ".join(cells) + f"  {ratios[condition][-1]:.2f}", flush=True)
    print("\ndistance over that of clean points: " + ", ".join(f"{c} {max(r):.2f}" for c, r in ratios.items() if r))
    if drawn and arguments.pictures is not None:
        sheet(arguments.pictures, drawn, len(conditions))


if __name__ == "__main__":
    main()
