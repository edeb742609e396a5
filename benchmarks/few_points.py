"""Few points without normals: the sets of Huang et al. 2019, with defaults, and Open3D beside us.

Tori sampled by 25 and 50 points, half, in cuts, in parallel curves and along wires; bottle, hand and kitten of 500
points, the kitten with noise, and a head of 500 to 4000 points. Printed are the two-sided mean distance from the true
surface and the largest one, in per cent of its diagonal, components and genus of the mesh (with that of the true one),
the share of normals that look to the right side, whether they are certified, and the processor time of normals, surface
and mesh. The kittens with noise were sampled around the kitten, whose surface is taken for theirs.

Open3D gets normals from 30 neighbours (or all), consistent orientation, and Poisson reconstruction at depth 8; its
surface is cut to the box of the points, as it extends beyond them. Needs trimesh and SciPy:

    benchmarks/few_points.py [--sets multisample_n25 kitten ...] [--no-peer] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _datasets import arrays, has_package, require, without_peer
from scipy.spatial import cKDTree

from seminorm import reconstruct

FOLDER = "surfaces/vipss/"
TORI = ("multisample_n25", "multisample_n50", "halfsamplel500_r25", "crosscut", "parallelcut", "wires")
SINGLE = ("bottle", "hand", "kitten")
NOISY = {"kitten h001": "noise_kitten_kitten_h001.001", "kitten h004": "noise_kitten_kitten_h004.001"}
HEADS = (500, 1000, 2000, 4000)
SETS = (*TORI, *SINGLE, *NOISY, *(f"planck {n}" for n in HEADS))
SAMPLES, NEAR, NEIGHBORS = 20_000, 60_000, 30
HEADER = ("set", "error %", "largest %", "components", "genus", "true", "right %", "certified", "s")
PEER = ("Open3D error %", "components", "genus")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    require(FOLDER + "torus.npz")
    if not has_package("trimesh"):
        print(without_peer("trimesh"))
        return
    peer = not arguments.no_peer and has_package("open3d")
    if not peer and not arguments.no_peer:
        print(without_peer("open3d"))
    titles = (*HEADER, *(PEER if peer else ()))
    lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
    print("\n".join(lines), flush=True)
    for name in arguments.sets:
        row = compared(name, *load(name), peer)
        lines.append(f"| {name} | {' | '.join(row)} |")
        print(lines[-1], flush=True)
    if arguments.markdown:
        arguments.markdown.write_text("# Few points without normals\n\n" + "\n".join(lines) + "\n")


def load(name: str):
    """The points, and the true surface."""
    import trimesh

    if name in TORI:
        content, points = arrays(FOLDER + "torus.npz"), name
    elif name.startswith("planck"):
        content, points = arrays(FOLDER + "planck.npz"), f"points_{name.split()[1]}"
    else:
        content, points = arrays(FOLDER + f"{name.split()[0]}_500.npz"), "points"
    places = arrays(FOLDER + "no_truth.npz")[NOISY[name]] if name in NOISY else content[points]
    truth = trimesh.Trimesh(content["vertices"], content["faces"], process=False)
    return places, truth if truth.volume > 0 else trimesh.Trimesh(truth.vertices, truth.faces[:, ::-1], process=False)


def compared(name: str, points: np.ndarray, truth, peer: bool) -> list[str]:
    import trimesh

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        surface = reconstruct(points)
    mesh = surface.mesh()
    seconds = time.process_time() - start
    own = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    nearest = Nearest(truth)
    error, largest = distances(own, truth, nearest)
    right = 100 * right_share(surface, truth, nearest)
    row = [f"{error:.3f}", f"{largest:.2f}", *topology(own), topology(truth)[1], f"{right:.1f}", certificate(surface)]
    row.append(f"{seconds:.1f}")
    if peer:
        other = poisson(points)
        row += [f"{distances(other, truth, nearest)[0]:.3f}", *topology(other)] if len(other.faces) else ["-"] * 3
    return row


def certificate(surface) -> str:
    """Whether the normals are certified, and whether those from neighbours were kept."""
    how = surface.details["estimation"]
    certified = {True: "yes", False: f"gap {how.get('gap', np.nan):.3f}", None: "-"}[how.get("certified")]
    return certified + ", neighbours" * (how["method"] == "propagation")


class Nearest:
    """Distances from a mesh: to the triangles of the nearest samples."""

    def __init__(self, mesh):
        import trimesh

        self.mesh = mesh
        samples, self.face = trimesh.sample.sample_surface(mesh, NEAR, seed=5)
        self.tree = cKDTree(samples)

    def __call__(self, X: np.ndarray, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
        """Distance, and the triangle."""
        import trimesh

        faces = self.face[self.tree.query(X, k=k)[1]]
        feet = [trimesh.triangles.closest_point(self.mesh.triangles[column], X) for column in faces.T]
        away = np.stack([np.linalg.norm(X - foot, axis=1) for foot in feet])
        best = away.argmin(axis=0)
        return away.min(axis=0), faces[np.arange(len(X)), best]


def distances(mesh, truth, nearest: Nearest) -> tuple[float, float]:
    """Two-sided mean distance, and the largest, in per cent of the diagonal."""
    import trimesh

    there, back = (trimesh.sample.sample_surface(one, SAMPLES, seed=seed)[0] for seed, one in enumerate((mesh, truth)))
    away, missed = nearest(there)[0], Nearest(mesh)(back)[0]
    scale = 100 / np.linalg.norm(truth.extents)
    return scale * (away.mean() + missed.mean()) / 2, scale * max(away.max(), missed.max())


def right_share(surface, truth, nearest: Nearest) -> float:
    """Share of the normals that look to the side of the true ones at the nearest place."""
    faces = nearest(surface.points)[1]
    return float(((truth.face_normals[faces] * surface.normals).sum(axis=1) > 0).mean())


def topology(mesh) -> tuple[str, str]:
    """Components, and the genus of the largest, if it is closed."""
    parts = mesh.split(only_watertight=False)
    largest = max(parts, key=lambda part: len(part.faces))
    return str(len(parts)), str(1 - largest.euler_number // 2) if largest.is_watertight else "open"


def poisson(points: np.ndarray):
    """Open3D's surface."""
    import open3d
    import trimesh

    neighbors = min(NEIGHBORS, len(points) - 1)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(neighbors))
    cloud.orient_normals_consistent_tangent_plane(neighbors)
    mesh = open3d.geometry.TriangleMesh.create_from_point_cloud_poisson(cloud, depth=8, n_threads=1)[0]
    low, high = points.min(axis=0), points.max(axis=0)
    border = 0.1 * (high - low).max()
    mesh = mesh.crop(open3d.geometry.AxisAlignedBoundingBox(low - border, high + border))
    return trimesh.Trimesh(np.asarray(mesh.vertices), np.asarray(mesh.triangles), process=False)


if __name__ == "__main__":
    main()
