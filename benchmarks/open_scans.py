"""Open or closed: does the mesh of a simulated scan end where the scan ends, and are holes of closed bodies filled?

Thirty-six scans with normals: patches of a sphere (10 to 80 %), a tube, a terrain, and of five meshes one-sided views
with occlusion, parts cut off, the whole body, the body with three holes of 5 and 12 % of the diagonal, and the noisy
body. An open scan is right if the mesh is open, less than 5 % of its area lies farther than five spacings from the
data, and less than 5 % of the data farther than that from the mesh; a closed one if the mesh is watertight. Beside it:
Open3D's Poisson reconstruction at depth 9 without the 5 % of vertices of least density, the usual recipe.

    python benchmarks/open_scans.py [--meshes bunny ...] [--only view ...]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from _datasets import exists, folder, has_package, missing, without_peer
from scipy.spatial import cKDTree

from seminorm import reconstruct
from seminorm.files import read_mesh

MESHES = "surfaces/meshes/"
FILES = {
    "bunny": "bunny_hr_odedstein.ply",
    "armadillo": "armadillo_43k.ply",
    "horse": "horse.ply",
    "lucy": "lucy100k.ply",
    "fandisk": "fandisk.ply",
}
SIZE = 20_000
SPACINGS, SHARE = 5.0, 0.05
LOOKS = 20_000
TRIMMED = 0.05  # quantile of the peer


def simple_scans(rng) -> dict:
    scans = {}
    for share in (0.1, 0.3, 0.5, 0.8):
        ball = rng.standard_normal((60_000, 3))
        ball /= np.linalg.norm(ball, axis=1, keepdims=True)
        patch = ball[ball[:, 2] > 1 - 2 * share][:8000]
        scans[f"sphere, {share:.0%}"] = patch, patch, False
    angle, height = rng.uniform(0, 2 * np.pi, 8000), rng.uniform(-1, 1, 8000)
    round_ = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(8000)])
    scans["tube"] = round_ + height[:, None] * [0, 0, 1], round_, False
    x, y = rng.uniform(-1, 1, (2, 8000))
    ground = np.column_stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)])
    slope = np.column_stack([-0.6 * np.cos(3 * x) * np.cos(2 * y), 0.4 * np.sin(3 * x) * np.sin(2 * y), np.ones(8000)])
    scans["terrain"] = ground, slope / np.linalg.norm(slope, axis=1, keepdims=True), False
    return scans


def scans_of(name: str, rng) -> dict:
    points, normals = sampled(read_mesh(folder() / MESHES / FILES[name]), rng)
    seen = visible(points, normals, np.array([0.3, 0.2, 1.0]))
    lower = points[:, 1] < np.quantile(points[:, 1], 0.6)
    scans = {
        f"{name}, view": (points[seen], normals[seen], False),
        f"{name}, cut": (points[lower], normals[lower], False),
        f"{name}, whole": (points, normals, True),
    }
    for width in (0.05, 0.12):
        kept = np.ones(len(points), dtype=bool)
        for center in points[rng.integers(len(points), size=3)]:
            kept &= np.linalg.norm(points - center, axis=1) > width / 2
        scans[f"{name}, holes {width:.0%}"] = points[kept], normals[kept], True
    scans[f"{name}, noise"] = points + 0.003 * rng.standard_normal(points.shape), normals, True
    return scans


def sampled(mesh, rng) -> tuple[np.ndarray, np.ndarray]:
    """Points and outward normals of a mesh scaled to a diagonal of 1."""
    vertices = mesh.vertices / np.linalg.norm(np.ptp(mesh.vertices, axis=0))
    a, b, c = (vertices[mesh.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    rows = rng.choice(len(areas), SIZE, p=areas / areas.sum())
    u, v = rng.random((2, SIZE, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    sign = np.sign(mesh.volume)
    points = a[rows] + u * (b - a)[rows] + v * (c - a)[rows]
    return points, sign * normals[rows] / areas[rows, None]


def visible(points: np.ndarray, normals: np.ndarray, direction: np.ndarray, pixel: float = 0.01) -> np.ndarray:
    """What is seen from far away in a direction: the first points in the pixels of a picture."""
    direction = direction / np.linalg.norm(direction)
    right = np.cross(direction, [1, 0, 0])
    right /= np.linalg.norm(right)
    picture = np.floor(np.column_stack([points @ right, points @ np.cross(direction, right)]) / pixel).astype(int)
    _, cell = np.unique(picture, axis=0, return_inverse=True)
    depth = points @ direction
    first = np.full(cell.max() + 1, -np.inf)
    np.maximum.at(first, cell.ravel(), depth)
    return (depth > first[cell.ravel()] - 3 * pixel) & (normals @ direction > 0.05)


def judged(vertices: np.ndarray, faces: np.ndarray, watertight: bool, points: np.ndarray, closed: bool) -> tuple:
    """Whether a mesh is right, and the shares of excess and of missing area."""
    if closed:
        return watertight, 0.0, 0.0
    if not len(faces):
        return False, 0.0, 1.0
    tree = cKDTree(points)
    limit = SPACINGS * float(np.median(tree.query(points, k=2)[0][:, 1]))
    rng = np.random.default_rng(1)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    rows = rng.choice(len(areas), LOOKS, p=areas / areas.sum())
    u, v = rng.random((2, LOOKS, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    places = a[rows] + u * (b - a)[rows] + v * (c - a)[rows]
    excess = float((tree.query(places)[0] > limit).mean())
    lost = float((cKDTree(np.vstack([places, vertices])).query(points)[0] > limit).mean())
    return not watertight and excess < SHARE and lost < SHARE, excess, lost


def ours(points: np.ndarray, normals: np.ndarray) -> tuple:
    mesh = reconstruct(points, normals).mesh()
    return mesh.vertices, mesh.faces, mesh.is_watertight


def open3d(points: np.ndarray, normals: np.ndarray) -> tuple:
    import open3d as o3d

    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    cloud.normals = o3d.utility.Vector3dVector(normals)
    mesh, density = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(cloud, depth=9, n_threads=2)
    mesh.remove_vertices_by_mask(np.asarray(density) < np.quantile(density, TRIMMED))
    return np.asarray(mesh.vertices), np.asarray(mesh.triangles), mesh.is_watertight()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meshes", nargs="*", default=list(FILES), choices=FILES)
    parser.add_argument("--only", nargs="+", help="scans whose names have one of these words")
    arguments = parser.parse_args()
    methods = {"seminorm": ours}
    if has_package("open3d"):
        methods["open3d"] = open3d
    else:
        print(without_peer("open3d"))
    rng = np.random.default_rng(0)
    scans = simple_scans(rng)
    for name in arguments.meshes:
        if exists(MESHES + FILES[name]):
            scans |= scans_of(name, rng)
        else:
            print(missing(MESHES + FILES[name]))
    right = dict.fromkeys(methods, 0)
    chosen = [scan for scan in scans if not arguments.only or any(word in scan for word in arguments.only)]
    print(f"{'scan':>22} " + " ".join(f"{method:>9} excess missing     s" for method in methods))
    for scan in chosen:
        points, normals, closed = scans[scan]
        cells = []
        for method, reconstructed in methods.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                vertices, faces, watertight = reconstructed(points, normals)
            seconds = time.perf_counter() - start
            good, excess, lost = judged(vertices, faces, watertight, points, closed)
            right[method] += good
            cells.append(f"{'right' if good else 'WRONG':>9} {excess:6.3f} {lost:7.3f} {seconds:5.1f}")
        print(f"{scan:>22} " + " ".join(cells), flush=True)
    print(", ".join(f"{method}: {count} of {len(chosen)} right" for method, count in right.items()))


if __name__ == "__main__":
    main()
