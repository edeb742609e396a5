"""Moving surfaces: how far is the surface at the time of a frame that was left out from that frame?

- cats: a motion through four poses of a cat, whose frames in between follow from the vertices that the poses share.
  Frames of points are drawn from it, every other one is left out, and the mesh at its time is compared with its own:
  the mean distance both ways, in percent of the diagonal. Beside it: one function of space and time, the mean of the
  functions of the two frames around, each fitted alone, and the surface of the frame before. Then the poses
  themselves, far apart as they are, and frames without normals.
- camera: sixteen frames of a depth camera; every other one is left out, and the mean distance of its points from the
  surface is measured, in percent of the diagonal. The normals of the file are not used: those of neighbours hardly
  agree (mean cosine 0.11). Beside it the same.

Times are processor seconds, meshes included, and memory is the growth of the process, both per frame.

    python benchmarks/moving.py [cats] [camera] [--points 3000] [--pictures FOLDER]
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from _datasets import exists, folder, missing
from _memory import peak_of
from scipy.spatial import cKDTree

from seminorm import reconstruct, reconstruct_moving
from seminorm.files import write_png
from seminorm.rendering import Picture, render_mesh, render_points
from seminorm.rendering.cameras import fit
from seminorm.shapes import Mesh, mesh_implicit
from seminorm.shapes.implicit import Implicit

CATS, CAMERA = "4d/cat-poses.npz", "4d/depth_camera_sequence.npz"
PATH = "cat-02.obj", "cat-08.obj", "cat-09.obj", "cat-01.obj"
STEPS = 4  # frames from one pose to the next
LOOKS = 30_000  # points that a distance is measured from


class Mean(Implicit):
    """The mean of two functions."""

    thread_safe = False

    def __init__(self, first, second, share: float):
        self.parts, self.share = (first, second), share
        (low, high), (other_low, other_high) = first.bounds, second.bounds
        self.bounds = np.minimum(low, other_low), np.maximum(high, other_high)
        self.resolution = min(first.resolution, second.resolution)

    def _jet(self, X, order):
        pairs = zip(*(part._jet(X, order) for part in self.parts), strict=True)
        return tuple((1.0 - self.share) * one + self.share * other for one, other in pairs)


def sampled(mesh: Mesh, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points spread evenly over a mesh, with the normals of its faces."""
    rng = np.random.default_rng(seed)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    rows = rng.choice(len(areas), n, p=areas / areas.sum())
    u, v = rng.random((2, n, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    return a[rows] + u * (b - a)[rows] + v * (c - a)[rows], normals[rows] / areas[rows, None]


def away(mesh: Mesh, points: np.ndarray) -> float:
    """Mean distance of points from a mesh."""
    places, normals = sampled(mesh, 8 * LOOKS, 1)
    near = cKDTree(places).query(points)[1]
    return float(np.abs(((points - places[near]) * normals[near]).sum(axis=1)).mean())


def both_ways(mesh: Mesh, truth: Mesh) -> float:
    """Mean distance between meshes."""
    return (away(mesh, sampled(truth, LOOKS, 2)[0]) + away(truth, sampled(mesh, LOOKS, 3)[0])) / 2


def carried(frames, moments, wanted, options, method="frames"):
    """Meshes at wanted times of functions of frames, carried along the motion, and how they were made."""
    points, normals = [frame[0] for frame in frames], [frame[1] for frame in frames]
    moving = reconstruct_moving(points, None if normals[0] is None else normals, moments, method=method)
    return [moving.at(moment).mesh(**options) for moment in wanted], moving.details["normals"], moving.field.n_coef


def together(frames, moments, wanted, options):
    """The same of one function of space and time."""
    return carried(frames, moments, wanted, options, "spacetime")


def averaged(frames, moments, wanted, options):
    """Meshes of the means of functions of the frames around."""
    alone = [reconstruct(*frame) for frame in frames]
    meshes = []
    for moment in wanted:
        after = int(np.searchsorted(moments, moment))
        share = (moment - moments[after - 1]) / (moments[after] - moments[after - 1])
        meshes.append(mesh_implicit(Mean(alone[after - 1], alone[after], share)))
    return meshes, "", 0


def nearest(frames, moments, wanted, options):
    """Meshes of the frames before."""
    rows = [int(np.searchsorted(moments, moment)) - 1 for moment in wanted]
    return [reconstruct(*frames[row]).mesh(**options) for row in rows], "", 0


def compare(frames, moments, wanted, error, options, methods=(carried, together, averaged, nearest)) -> list[Mesh]:
    """Print the errors of the methods at wanted times; the meshes of the first."""
    names = {carried: "frames, carried along the motion"}
    names |= {together: "one function of space and time", averaged: "mean of the functions around"}
    shown: list[Mesh] = []
    for method in methods:
        made, start = [], time.process_time()
        grown = peak_of(lambda method=method, made=made: made.append(method(frames, moments, wanted, options)))
        (meshes, normals, n_coef), seconds = made[0], time.process_time() - start
        errors = [error(mesh, k) for k, mesh in enumerate(meshes)]
        shown = shown or meshes
        per_frame = f"{seconds / len(frames):6.1f} s and {grown / len(frames) / 2**20:5.0f} MB per frame"
        more = f", {n_coef} coefficients, normals {normals}" if n_coef else ""
        name = names.get(method, "the frame before")
        print(f"  {name:<32} mean {np.mean(errors):6.3f}, worst {np.max(errors):6.3f}; {per_frame}{more}", flush=True)
    return shown


def cats(n: int, pictures: Path | None) -> None:
    with np.load(folder() / CATS) as file:
        rows = [int(np.flatnonzero(file["names"] == name)[0]) for name in PATH]
        poses, faces = file["vertices"][rows].astype(float), file["faces"]
    knots = np.arange(len(poses)) * STEPS
    times = np.arange(knots[-1] + 1.0)
    shares = [(int(min(t // STEPS, len(poses) - 2)), t / STEPS - min(t // STEPS, len(poses) - 2)) for t in times]
    truth = [Mesh((1 - share) * poses[k] + share * poses[k + 1], faces) for k, share in shares]
    diagonal = float(np.linalg.norm(np.ptp(poses.reshape(-1, 3), axis=0)))
    points = [sampled(mesh, n, 10 + k) for k, mesh in enumerate(truth)]

    def scored(kept, left, name, frames):
        print(f"{name}: {len(kept)} frames of {n} points; {len(left)} left out; percent of the diagonal")

        def error(mesh: Mesh, k: int) -> float:
            return 100 * both_ways(mesh, truth[left[k]]) / diagonal

        return compare([frames[k] for k in kept], times[kept], times[left], error, {})

    kept, left = np.arange(0, len(times), 2), np.arange(1, len(times), 2)
    meshes = scored(kept, left, "cats, a motion", points)
    scored(knots[[0, 2]], knots[[1]], "cats, poses 02 and 09 without 08", points)
    bare = [(places, None) for places, _ in points]
    scored(kept, left, "cats, without normals", bare)
    if pictures is not None:
        sheet(pictures / "moving_cats.png", meshes, [truth[k] for k in left], [1.0, -0.2, 0.3], (0.0, 1.0, 0.0))


def camera(n: int, pictures: Path | None) -> None:
    with np.load(folder() / CAMERA) as file:
        ends, times = file["point_offsets"], file["time"].astype(float)
        whole = [file["points"][a:b].astype(float) for a, b in pairwise(ends)]
    rng = np.random.default_rng(0)
    frames = [(points[rng.permutation(len(points))[:n]], None) for points in whole]
    kept, left = np.arange(0, len(times), 2), np.arange(1, len(times) - 1, 2)
    diagonal = float(np.linalg.norm(np.ptp(np.concatenate(whole), axis=0)))
    print(f"camera: {len(kept)} frames of {n} points; {len(left)} left out; percent of the diagonal")

    def error(mesh: Mesh, k: int) -> float:
        return 100 * away(mesh, whole[left[k]]) / diagonal

    options = {"boundary": "open"}
    meshes = compare([frames[k] for k in kept], times[kept], times[left], error, options)
    if pictures is not None:
        sheet(pictures / "moving_camera.png", meshes, [whole[k] for k in left], [0.15, -0.1, 1.0], (0.0, -1.0, 0.0))


def sheet(path: Path, meshes, truths, direction, up) -> None:
    """A picture: meshes above, what was left out below."""
    size = 420, 360
    corners = np.concatenate([mesh.bounds for mesh in meshes])
    view = fit((corners.min(axis=0), corners.max(axis=0)), direction, up=up, size=size)
    picture = Picture(size, view, background=(1.0, 1.0, 1.0))
    chosen = np.linspace(0, len(meshes) - 1, 6).astype(int)
    rows = [[], []]
    for k in chosen:
        rows[0].append(render_mesh(meshes[k].vertices, meshes[k].faces, picture, normals=meshes[k].normals))
        truth = truths[k]
        if isinstance(truth, Mesh):
            rows[1].append(render_mesh(truth.vertices, truth.faces, picture))
        else:
            rows[1].append(render_points(truth, picture))
    write_png(path, np.concatenate([np.concatenate(row, axis=1) for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="cats, camera (default: both)")
    parser.add_argument("--points", type=int, default=3000, help="of each frame (default: 3000)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="also draw")
    chosen = parser.parse_args()
    for name, part, file in (("cats", cats, CATS), ("camera", camera, CAMERA)):
        if not chosen.parts or name in chosen.parts:
            if exists(file):
                part(chosen.points, chosen.pictures)
            else:
                print(f"{name}: {missing(file)}")


if __name__ == "__main__":
    main()
