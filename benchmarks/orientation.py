"""Signs of normals of points without any: the eigenvalue method of Walder 2008, signs on patches, the default, Open3D.

Points are sampled from meshes and tubes, clean and with noise of 0.25 % of the diagonal. Printed is the share of signs
that are right, in per cent, and seconds: of (4.14) with weights 1.02 times the critical ones (which the ratio form
supplies), of the ratio form, of local normals with signs held fixed on patches, of ``estimate_normals``, and of
Open3D's normals (30 neighbours) and consistent orientation, whose sign as a whole is chosen for it.

    python benchmarks/orientation.py [--python PYTHON_WITH_OPEN3D] [--sizes 2000 20000] [--million]

``--million`` measures ``estimate_normals`` and Open3D on a million points of the first mesh instead.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings

import numpy as np
from _datasets import exists, folder, missing
from points_alone import CURVES, FILES, MESHES, NOISE, tube

from seminorm.clouds import estimate_normals
from seminorm.files import read_mesh
from seminorm.shapes import Mesh
from seminorm.surfaces.eigen.method import Forms, as_surface, eigen_coefficients, plane_normals
from seminorm.surfaces.eigen.orientation import orient_by_eigenvector
from seminorm.surfaces.eigen.search import critical_factor

SMOOTHNESS, WEIGHT, EXCESS, CELLS = 0.005, 3e-4, 1.02, 24
OPEN3D = """
import sys, time, numpy as np, open3d as o3d
pcd = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(np.load(sys.argv[1])))
start = time.perf_counter()
pcd.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(30))
pcd.orient_normals_consistent_tangent_plane(30)
np.save(sys.argv[2], np.asarray(pcd.normals))
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["bunny", "armadillo", "torus", "knot"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000, 20_000])
    parser.add_argument("--python", help="an interpreter with open3d")
    parser.add_argument("--million", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    estimate_normals(np.random.default_rng(0).standard_normal((500, 3)))  # compiles the loops
    methods = [default] if arguments.million else [difference, ratio, on_patches, default]
    if arguments.python:
        methods.append(lambda points: open3d(points, arguments.python))
    names = [*["(4.14)", "ratio", "patches"] * (not arguments.million), "default", *["Open3D"] * bool(arguments.python)]
    print(f"{'case':>26} " + " ".join(f"{name:>16}" for name in names))
    for name in arguments.shapes[: 1 if arguments.million else None]:
        if name in FILES and not exists(MESHES + FILES[name]):
            print(missing(MESHES + FILES[name]))
            continue
        for size in [10**6] if arguments.million else arguments.sizes:
            for noise in (0.0, NOISE):
                points, truth = sample(mesh_of(name), size, noise)
                cells = [row(m(points), truth, n == "Open3D") for n, m in zip(names, methods, strict=True)]
                print(f"{name:>10} {size:8d} {noise:6g} " + " ".join(f"{cell:>16}" for cell in cells), flush=True)


def mesh_of(name: str) -> Mesh:
    if name in CURVES:
        mesh = Mesh(*tube(*CURVES[name]))
    else:
        mesh = read_mesh(folder() / MESHES / FILES[name])
        mesh = Mesh(mesh.vertices / np.linalg.norm(np.ptp(mesh.vertices, axis=0)), mesh.faces)
    return mesh if mesh.volume > 0 else Mesh(mesh.vertices, mesh.faces[:, ::-1])


def sample(mesh: Mesh, size: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    corners = mesh.vertices[mesh.faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(flat, axis=1)
    chosen = rng.choice(len(area), size, p=area / area.sum())
    root, share = np.sqrt(rng.random(size)), rng.random(size)
    weights = np.stack([1 - root, root * (1 - share), root * share], axis=1)
    points = np.einsum("nk,nkd->nd", weights, corners[chosen])
    return points + noise * rng.standard_normal(points.shape), flat[chosen] / area[chosen, None]


def row(result: tuple[np.ndarray, float], truth: np.ndarray, either: bool) -> str:
    normals, seconds = result
    right = float(((normals * truth).sum(axis=1) > 0).mean())
    return f"{100 * (max(right, 1 - right) if either else right):.2f} ({seconds:.1f} s)"


def difference(points):
    start = time.perf_counter()
    forms = Forms.of(points, CELLS)
    coef = eigen_coefficients(forms, SMOOTHNESS, 0.0, WEIGHT, generalized=True)
    factor = critical_factor(forms, coef, SMOOTHNESS, 0.0, WEIGHT, 2)
    coef = eigen_coefficients(forms, SMOOTHNESS, 0.0, EXCESS * factor * WEIGHT)
    return as_surface(forms, coef, 2).gradient(points), time.perf_counter() - start


def ratio(points):
    start = time.perf_counter()
    forms = Forms.of(points, CELLS)
    coef = eigen_coefficients(forms, SMOOTHNESS, 0.0, WEIGHT, generalized=True)
    return as_surface(forms, coef, 2).gradient(points), time.perf_counter() - start


def on_patches(points):
    start = time.perf_counter()
    normals = plane_normals(points)
    return orient_by_eigenvector(points, normals)[0][:, None] * normals, time.perf_counter() - start


def default(points):
    start = time.perf_counter()
    return estimate_normals(points).normals, time.perf_counter() - start


def open3d(points, python: str):
    with tempfile.TemporaryDirectory() as place:
        np.save(f"{place}/points.npy", points)
        words = [python, "-c", OPEN3D, f"{place}/points.npy", f"{place}/normals.npy"]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return np.load(f"{place}/normals.npy"), float(said.split()[-1])


if __name__ == "__main__":
    main()
