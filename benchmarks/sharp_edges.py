"""Sharp edges: meshes with and without them, against Open3D.

20 000 points with normals are sampled from shapes with creases and without: clean, with noise of 0.25 % and 0.5 % of
the diagonal, and clean without normals. Each program runs as a process of its own: ``seminorm reconstruct``, the same
with ``--rounded``, and Open3D's Poisson reconstruction at depth 9; without normals Open3D estimates them (30
neighbours, consistent orientation). All numbers are mean distances in 1e-4 of the diagonal:

    whole    both ways, over the whole surface
    edges    from the true edges (dihedral angles above 30 degrees) to the mesh
    near     from the mesh, within 1 % of the diagonal of a true edge, to the truth
    rest     from the truth, farther than 2 % from all true edges, to the mesh

The octahedron and the pedestal were not used for tuning. Mesh measures are those of a separate harness, surfbench.py;
an interpreter with open3d, trimesh and scipy runs this:

    PYTHON_WITH_OPEN3D benchmarks/sharp_edges.py [--shapes fandisk cube ...] [--conditions clean ...]
                                                 [--harness surfbench.py] [--seminorm COMMAND] [--no-peer]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from _datasets import exists, harness, has_package, missing, without_peer
from points_alone import FILES, MESHES, load, shape
from robustness import OPEN3D as WITH_NORMALS
from robustness import SIZE
from scipy.spatial import cKDTree

CREASE, NEAR, REST = 30.0, 0.01, 0.02
LOOKS = 50_000
CONDITIONS = {"clean": (0.0, True), "noise 0.25 %": (0.0025, True), "noise 0.5 %": (0.005, True), "alone": (0.0, False)}
METHODS = {"sharp": [], "rounded": ["--rounded"]}
FILES["fandisk"] = "fandisk.ply"


def boxes(cells) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a union of unit cells."""
    cells, numbers, faces = set(cells), {}, []
    for cell, axis, side in product(cells, range(3), (0, 1)):
        if tuple(np.add(cell, (2 * side - 1) * np.eye(3, dtype=int)[axis])) in cells:
            continue
        quad = []
        for a, b in ((0, 0), (1, 0), (1, 1), (0, 1)):
            corner = np.array(cell)
            corner[[axis, (axis + 1) % 3, (axis + 2) % 3]] += (side, a, b)
            quad.append(numbers.setdefault(tuple(corner), len(numbers)))
        a, b, c, d = quad if side else quad[::-1]
        faces += [(a, b, c), (a, c, d)]
    return np.array(list(numbers), dtype=float), np.array(faces)


def turned_profile(profile, n: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """The surface that a profile (radius, height), from the axis to the axis upwards, sweeps out."""
    angle, vertices, rings, faces = 2 * np.pi * np.arange(n) / n, [], [], []
    for radius, height in profile:
        count = n if radius else 1
        rings.append(sum(map(len, vertices)) + np.arange(n) % count)
        t = angle[:count]
        vertices.append(np.stack([radius * np.cos(t), radius * np.sin(t), np.full(count, height)], axis=1))
    for low, high in pairwise(rings):
        after, above = np.roll(low, -1), np.roll(high, -1)
        faces += [np.stack([low, after, above], axis=1), np.stack([low, above, high], axis=1)]
    faces = np.concatenate(faces)
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return np.concatenate(vertices), faces[whole]


def octahedron() -> tuple[np.ndarray, np.ndarray]:
    vertices = np.concatenate([np.eye(3), -np.eye(3)])
    faces = [(0 + 3 * a, 1 + 3 * b, 2 + 3 * c) for a, b, c in product((0, 1), repeat=3)]
    return vertices, np.array([f if np.linalg.det(vertices[list(f)]) > 0 else f[::-1] for f in faces])


ALL = list(product((0, 1), repeat=3))
MADE = {
    "cube": lambda: boxes(ALL),
    "lblock": lambda: boxes(c for c in ALL if c[:2] != (1, 1)),
    "notched": lambda: boxes(c for c in ALL if c != (1, 1, 1)),
    "cone": lambda: turned_profile([(0, 0), (1, 0), (0, 1.5)]),
    "cylinder": lambda: turned_profile([(0, 0), (1, 0), (1, 2), (0, 2)]),
    "octahedron": octahedron,
    "pedestal": lambda: boxes([*product(range(4), range(4), (0, 1)), *product((1, 2), (1, 2), (2, 3))]),
}
SHAPES = ["fandisk", *MADE, "torus", "bunny", "fertility", "horse"]


def truth_of(name: str, measures):
    if name not in MADE:
        return shape(measures, name)
    vertices, faces = MADE[name]()
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    vertices = vertices @ (turn * np.linalg.det(turn))  # no mirror
    return measures.Surface(vertices / np.linalg.norm(np.ptp(vertices, axis=0)), faces)


def edge_samples(surface, n: int, rng) -> np.ndarray:
    """Points evenly spread over the creases of a mesh."""
    ends = np.concatenate([surface.f[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    owner = np.tile(np.arange(len(surface.f)), 3)
    keys = np.sort(ends, axis=1) @ [len(surface.v), 1]
    order = np.argsort(keys, kind="stable")
    pair = np.flatnonzero(np.diff(keys[order]) == 0)
    first, second = owner[order[pair]], owner[order[pair + 1]]
    bent = (surface.un[first] * surface.un[second]).sum(axis=1) < np.cos(np.radians(CREASE))
    a, b = surface.v[ends[order[pair[bent]]]].transpose(1, 0, 2)
    lengths = np.linalg.norm(b - a, axis=1)
    if not len(lengths):
        return np.zeros((0, 3))
    at = rng.choice(len(lengths), n, p=lengths / lengths.sum())
    return a[at] + rng.random((n, 1)) * (b - a)[at]


def compare(truth, mesh) -> dict[str, float]:
    rng = np.random.default_rng(1)
    of_truth, of_mesh = truth.points(*truth.sample(LOOKS, rng)), mesh.points(*mesh.sample(LOOKS, rng))
    there, back = mesh.closest(of_truth)[0], truth.closest(of_mesh)[0]
    found = {"whole": (there.mean() + back.mean()) / 2}
    edges = edge_samples(truth, LOOKS, rng)
    if len(edges):
        tree = cKDTree(edges)
        found["edges"] = mesh.closest(edges)[0].mean()
        found["near"] = back[tree.query(of_mesh)[0] < NEAR].mean()
        found["rest"] = there[tree.query(of_truth)[0] > REST].mean()
    return {name: 1e4 * value for name, value in found.items()} | {"closed": mesh.topology()["watertight"]}


def run(method: str, case: Path, place: Path, command: str, measures, truth) -> dict:
    output = place / "mesh.ply"
    output.unlink(missing_ok=True)
    words = [sys.executable, "-c", WITH_NORMALS, str(case), str(output), "open3d"]
    if method in METHODS:
        words = [command, "reconstruct", "--quiet", str(case), "-o", str(output), *METHODS[method]]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    seconds = time.perf_counter() - start
    if done.returncode or not output.exists():
        raise SystemExit(f"{method} failed: {done.stderr.strip()}")
    return compare(truth, measures.Surface.load(output)) | {"seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = shutil.which("seminorm", path=str(Path(sys.executable).parent)) or "seminorm"
    parser.add_argument("--shapes", nargs="+", default=SHAPES, choices=SHAPES)
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS), choices=CONDITIONS)
    parser.add_argument("--harness", type=Path, help="default: what SEMINORM_SURFBENCH names")
    parser.add_argument("--seminorm", default=beside, help="the command (default: %(default)s)")
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    program = harness(arguments.harness)
    for package in ("trimesh", "open3d"):
        if not has_package(package):
            print(without_peer(package))
            return
    measures, methods = load(program), [*METHODS, *([] if arguments.no_peer else ["open3d"])]
    print(f"{'case':>25} {'method':>8} {'whole':>7} {'edges':>7} {'near':>7} {'rest':>7} closed {'s':>5}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.shapes:
            if name in FILES and not exists(MESHES + FILES[name]):
                print(missing(MESHES + FILES[name]))
                continue
            truth = truth_of(name, measures)
            for condition in arguments.conditions:
                noise, with_normals = CONDITIONS[condition]
                rng = np.random.default_rng(0)
                at = truth.sample(SIZE, rng)
                points, normals = truth.points(*at), truth.normals(*at)
                points = points + noise * rng.standard_normal(points.shape)
                case = Path(folder) / "case.npz"
                np.savez(case, points=points, **({"normals": normals} if with_normals else {}))
                rows = {}
                for method in methods:
                    row = rows[method] = run(method, case, Path(folder), arguments.seminorm, measures, truth)
                    cells = " ".join(f"{row.get(key, np.nan):7.2f}" for key in ("whole", "edges", "near", "rest"))
                    closed = "yes" if row["closed"] else "no"
                    print(
                        f"{name:>12} {condition:>12} {method:>8} {cells} {closed:>6} {row['seconds']:5.1f}", flush=True
                    )
                ratios.append((name, condition, rows))
    for key in ("whole", "edges", "near", "rest"):
        found = {f"{n}, {c}": r["sharp"][key] / r["rounded"][key] for n, c, r in ratios if key in r["sharp"]}
        if found:
            worst, middle = max(found, key=found.get), np.median(list(found.values()))
            print(f"sharp over rounded, {key}: median {middle:.2f}, worst {found[worst]:.2f} ({worst})")


if __name__ == "__main__":
    main()
