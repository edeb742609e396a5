"""Walder 2008, figure 4.9 and the claims of "4D examples": one function of space and time for points with times.

Give the names of the parts wanted, or none for all.

- motion: two balls circle, merge and part; 8 frames of points are fitted, and all is known in between. Distances of
  the surface from the truth at the times of the data and half-way between them, for several time scales; beside them
  the nearest frame alone, and the mean of the functions of the two frames around. Then a slow part of the motion with
  noise or holes in the frames: one function of space and time against every frame for itself, as in the source's film.
- shapes: figure 4.9 itself, with two poses of a cat for the source's monkey and man: eight renderings at evenly spaced
  times. Below them the same by correspondence of the vertices, which the points do not know: the source says that
  this is the better way to morph. The ten poses do not follow each other; these two are the most alike.
- scan: three frames of a depth camera held by hand, with normals from planes through neighbours. The one in the middle
  is left out and compared.

Two time scales are compared where it matters: that of the motion (the time between frames counts as three times the
motion between them), and all times together as the longest side.

In the pictures frames of the data are brown, times without data blue. The distances are means in percent of the
longest side of the data (motion: of true points from the surface and of the surface from the truth).
"""

from __future__ import annotations

import time
from pathlib import Path

import _data
import numpy as np
from _surfaces import (
    CLAY,
    SAGE,
    STEEL,
    Model,
    camera,
    distances,
    draw_mesh,
    draw_points,
    options,
    sample_mesh,
    shape_of,
    side_by_side,
)
from scipy.spatial import cKDTree

from seminorm.clouds.frames import time_scale_of_motion
from seminorm.shapes import Mesh, Sphere, blend
from seminorm.shapes.implicit import Implicit
from seminorm.shapes.meshing import mesh_implicit
from seminorm.surfaces import MovingSurface, reconstruct, reconstruct_moving

FRAMES = 8
SCALES = 0.25, 0.5, 2.0  # of the default time scale
NOISE = 0.01  # of the longest side
HOLE = 0.45  # radius
SLOW = 0.1, 0.2  # first and last time of the slow part
CATS = "4d/cat-poses.npz"
POSES = "cat-08.obj", "cat-09.obj"
KINECT = "4d/kinect_sequence_3frames.npz"
NEIGHBORS = 60  # points of a scan that tell the normal


# -- two balls ---------------------------------------------------------------------------------------------------------


def balls(moment: float) -> Implicit:
    """The truth at a time from 0 to 1."""
    half = 0.35 + 0.375 * (1.0 + np.cos(2.0 * np.pi * moment))
    angle = 0.75 * np.pi * moment
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    return blend(Sphere(-half * along, 0.8), Sphere(half * along, 0.6), 0.4)


def true_points(moment: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of the truth and their normals."""
    shape = balls(moment)
    points = shape.project(sample_mesh(mesh_implicit(shape, 0.06), n, rng)[0])
    normals = shape.gradient(points)
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def error(mesh: Mesh, moment: float, longest: float, n: int = 10_000) -> float:
    """Mean distance between a mesh and the truth, both ways, in percent of the longest side."""
    rng = np.random.default_rng(3)
    missing = distances(mesh, true_points(moment, n, rng)[0]).mean()
    spurious = np.abs(balls(moment).distance(sample_mesh(mesh, n, rng)[0])).mean()
    return 50.0 * float(missing + spurious) / longest


def joined(frames, moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals and times of all frames."""
    points, normals = (np.concatenate(part) for part in zip(*frames, strict=True))
    return points, normals, np.repeat(moments, [len(frame[0]) for frame in frames])


def motion(quick: bool, height: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    moments = np.linspace(0.0, 1.0, FRAMES)
    between = (moments[:-1] + moments[1:]) / 2
    frames = [true_points(moment, 60 if quick else 1000, rng) for moment in moments]
    points, normals, times = joined(frames, moments)
    longest = float(np.ptp(points, axis=0).max())
    print(f"motion: {FRAMES} frames of {len(frames[0][0])} points; distances in percent of the longest side")
    heading = "at the data's times", "half-way", "s"
    print(f"  {'time scale':<34} {heading[0]:>20} {heading[1]:>9} {heading[2]:>6}")

    def row(name: str, mesh_at, seconds: float) -> None:
        means = [np.mean([error(mesh_at(moment), moment, longest) for moment in ts]) for ts in (moments, between)]
        print(f"  {name:<34} {means[0]:20.3f} {means[1]:9.3f} {seconds:6.1f}", flush=True)

    default, seconds = timed(points, normals, times, method="spacetime")
    length = default.details["time_scale"]
    row(f"{length:.3g} (default)", lambda moment: default.at(moment).mesh(), seconds)
    carried, seconds = timed(points, normals, times)
    row("frames, carried along the motion", lambda moment: carried.at(moment).mesh(), seconds)
    # the same trade-off and cells for all, so that only the time scale differs
    given = {name: default.details[name] for name in ("smoothness", "tolerance")}
    given["resolution"] = default.at(0.0).resolution * (1.0 + 1e-6)
    others = {}
    for factor in SCALES[: 2 if quick else None]:
        others[factor], seconds = timed(points, normals, times, time_scale=factor * length, **given)
        row(f"{factor * length:.3g}", lambda moment, it=others[factor]: it.at(moment).mesh(), seconds)
    start = time.perf_counter()
    alone = [reconstruct(*frame) for frame in frames]
    seconds = time.perf_counter() - start
    row("nearest frame alone", lambda moment: alone[int(np.abs(moments - moment).argmin())].mesh(), seconds)
    row("mean of the frames around", lambda moment: averaged(alone, moments, moment), seconds)
    draw_motion(default, others, alone, frames, moments, between, height, folder)
    troubled(40 if quick else 300)


def time_scales(points, normals, times) -> dict[str, float]:
    """The two that are compared, in units of length a unit of time."""
    longest = float(np.ptp(points, axis=0).max() / np.ptp(times))
    return {"of the motion": time_scale_of_motion(points, normals, times), "longest side": longest}


def timed(points, normals, times, **given) -> tuple[MovingSurface, float]:
    """A moving surface, and how long it took."""
    start = time.perf_counter()
    moving = reconstruct_moving(points, normals, times, **given)
    return moving, time.perf_counter() - start


def averaged(alone, moments: np.ndarray, moment: float) -> Mesh:
    """The mesh of the function between those of two frames."""
    after = int(np.clip(np.searchsorted(moments, moment), 1, len(moments) - 1))
    share = (moment - moments[after - 1]) / (moments[after] - moments[after - 1])
    return mesh_implicit(Mean(alone[after - 1], alone[after], share))


class Mean(Implicit):
    """The mean of two functions, with a share for the second."""

    thread_safe = False

    def __init__(self, first: Implicit, second: Implicit, share: float):
        self.first, self.second, self.share = first, second, share
        (low, high), (other_low, other_high) = first.bounds, second.bounds
        self.bounds = np.minimum(low, other_low), np.maximum(high, other_high)
        self.resolution = min(first.resolution, second.resolution)

    def _jet(self, X, order):
        pairs = zip(self.first._jet(X, order), self.second._jet(X, order), strict=True)
        return tuple((1.0 - self.share) * first + self.share * second for first, second in pairs)


def draw_motion(default, others, alone, frames, moments, between, height: int, folder: Path) -> None:
    model = Model("", (0.2, 0.35, -1.0))
    points = default.points
    size = shape_of(points, model, height)
    view = camera(points, model, size, margin=0.05)
    images, titles = [], []
    for moment in np.sort(np.concatenate([moments, between])):
        known = np.isin(moment, moments)
        mesh = default.at(moment).mesh()
        images.append(draw_mesh(mesh, view, size, color=CLAY if known else STEEL))
        titles.append(f"frame {np.abs(moments - moment).argmin() + 1}" if known else "in between")
    side_by_side(images, titles, folder / "walder_figure49_motion.png", columns=5)
    number = 1
    moment = between[number]
    images = [draw_points(frames[number][0], view, size), draw_points(frames[number + 1][0], view, size)]
    titles = ["the frame before", "the frame after"]
    for factor, moving in sorted({1.0: default, **others}.items()):
        images.append(draw_mesh(moving.at(moment).mesh(), view, size, color=STEEL))
        titles.append(f"time scale {moving.details['time_scale']:.2g}" + (" (default)" if factor == 1.0 else ""))
    images.append(draw_mesh(averaged(alone, moments, moment), view, size, color=STEEL))
    images.append(draw_mesh(mesh_implicit(balls(moment), 0.03), view, size, color=SAGE))
    titles += ["mean of the functions around", "the truth"]
    side_by_side(images, titles, folder / "walder_figure49_scales.png", columns=4)


def troubled(n: int) -> None:
    """Noise and holes in a slow motion: together against alone, at the times of the data."""
    rng = np.random.default_rng(1)
    moments = np.linspace(*SLOW, FRAMES)
    frames = [true_points(moment, n, rng) for moment in moments]
    longest = float(np.ptp(np.concatenate([points for points, _ in frames]), axis=0).max())
    noisy = [
        (p + NOISE * longest * rng.standard_normal(p.shape), n + 25.0 * NOISE * rng.standard_normal(p.shape))
        for p, n in frames
    ]
    holes = [points[rng.integers(len(points))] for points, _ in frames]
    lost = [np.linalg.norm(points - hole, axis=1) < HOLE for (points, _), hole in zip(frames, holes, strict=True)]
    holed = [(p[~rows], n[~rows]) for (p, n), rows in zip(frames, lost, strict=True)]

    def off(mesh_at, in_holes: bool) -> float:
        if not in_holes:
            return float(np.mean([error(mesh_at(i), moment, longest) for i, moment in enumerate(moments)]))
        away = [distances(mesh_at(i), frames[i][0][rows]).mean() for i, rows in enumerate(lost)]
        return 100.0 * float(np.mean(away)) / longest

    print(f"slow motion: {FRAMES} frames of {n} points; distances at the times of the data")
    print(f"  {'':<34} {'every frame alone':>18} {'together: of the motion':>24} {'longest side':>13}")
    for name, data in ((f"noise of {100 * NOISE:g} %", noisy), ("in a hole of every frame", holed)):
        points, normals, times = joined(data, moments)
        directions = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        alone = [reconstruct(*frame) for frame in data]
        errors = [off(lambda i, them=alone: them[i].mesh(), data is holed)]
        for length in time_scales(points, directions, times).values():
            moving = reconstruct_moving(points, normals, times, time_scale=length)
            errors.append(off(lambda i, it=moving: it.at(moments[i]).mesh(), data is holed))
        print(f"  {name:<34} {errors[0]:18.3f} {errors[1]:24.3f} {errors[2]:13.3f}", flush=True)


# -- two shapes --------------------------------------------------------------------------------------------------------


def shapes(quick: bool, height: int, folder: Path) -> None:
    if not _data.exists(CATS):
        print(f"shapes: {_data.missing(CATS)}")
        return
    with np.load(_data.folder() / CATS) as cats:
        rows = [int(np.flatnonzero(cats["names"] == pose)[0]) for pose in POSES]
        vertices, faces = cats["vertices"][rows].astype(float), cats["faces"]
    rng = np.random.default_rng(0)
    frames = [sample_mesh(Mesh(corner, faces), 150 if quick else 5000, rng) for corner in vertices]
    points, normals, times = joined(frames, [0.0, 1.0])
    longest = float(np.ptp(points, axis=0).max())
    model = Model("", (1.0, -0.2, 0.3))
    size = shape_of(vertices.reshape(-1, 3), model, height)
    view = camera(vertices.reshape(-1, 3), model, size)
    moments = np.linspace(0.0, 1.0, 8)
    truth = [Mesh((1.0 - moment) * vertices[0] + moment * vertices[1], faces) for moment in moments]
    print(f"shapes: 2 x {len(frames[0][0])} points; distances from what correspondence gives, at 8 times from 0 to 1")
    images, titles = [], []
    for name, length in time_scales(points, normals, times).items():
        moving, seconds = timed(points, normals, times, time_scale=length)
        meshes = [moving.at(moment).mesh() for moment in moments]
        away = [distances(mesh, sample_mesh(true, 10_000, rng)[0]) for mesh, true in zip(meshes, truth, strict=True)]
        away = " ".join(f"{100.0 * distance.mean() / longest:6.3f}" for distance in away)
        print(
            f"  time scale {length:.3g} ({name}): {away} ({moving.field.n_coef} functions, {seconds:.0f} s)", flush=True
        )
        for moment, mesh in zip(moments, meshes, strict=True):
            images.append(draw_mesh(mesh, view, size, color=CLAY if moment in (0.0, 1.0) else STEEL))
            titles.append(f"time {moment:.2f}, scale {name}")
    images += [draw_mesh(mesh, view, size, color=SAGE) for mesh in truth]
    titles += ["by correspondence"] * len(truth)
    side_by_side(images, titles, folder / "walder_figure49_shapes.png", columns=8)


# -- a depth camera ----------------------------------------------------------------------------------------------------


def scan(quick: bool, height: int, folder: Path) -> None:
    if not _data.exists(KINECT):
        print(f"scan: {_data.missing(KINECT)}")
        return
    with np.load(_data.folder() / KINECT) as content:
        moments = content["t"]
        whole = [content[f"frame{i}"].astype(float) for i in range(3)]
    rng = np.random.default_rng(0)
    frames = [seen(frame, 200 if quick else 5000, rng) for frame in whole]
    points, normals, times = joined([frames[0], frames[2]], moments[[0, 2]])
    longest = float(np.ptp(points, axis=0).max())
    left_out = whole[1][rng.choice(len(whole[1]), 10_000, replace=False)]
    print(f"scan: frames 1 and 3 of 3, {len(points)} points; distance of points of frame 2, which was left out, from")

    def row(name: str, mesh: Mesh) -> None:
        away = 100.0 * distances(mesh, left_out) / longest
        print(f"  {name:<50} mean {away.mean():.3f}, median {np.median(away):.3f}", flush=True)

    for i in (0, 2):
        row(f"frame {i + 1} alone", reconstruct(*frames[i]).mesh(boundary="open"))
    for name, length in reversed(time_scales(points, normals, times).items()):
        moving, seconds = timed(points, normals, times, time_scale=length)
        middle = moving.at(float(moments[1])).mesh(boundary="open")
        row(f"both, time scale {length:.3g} ({name}), {seconds:.0f} s", middle)
    model = Model("", (0.15, -0.1, 1.0), (0.0, -1.0, 0.0))
    size = shape_of(points, model, height)
    view = camera(points, model, size, margin=0.12)
    ends = [moving.at(float(moments[i])).mesh(boundary="open") for i in (0, 2)]
    drawn = zip((ends[0], middle, ends[1]), (CLAY, STEEL, CLAY), strict=True)
    images = [draw_mesh(mesh, view, size, color=color) for mesh, color in drawn]
    images.append(draw_points(left_out, view, size, radius=0.004))
    titles = ["frame 1", "in between, at the time of frame 2", "frame 3", "points of frame 2, left out"]
    side_by_side(images, titles, folder / "walder_figure49_scan.png", columns=2)


def seen(points: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Some points of a scan from the origin, and normals towards it of planes through their neighbours."""
    chosen = points[rng.choice(len(points), n, replace=False)]
    around = points[cKDTree(points).query(chosen, k=NEIGHBORS)[1]]
    around -= around.mean(axis=1, keepdims=True)
    normals = np.linalg.eigh(np.einsum("nki,nkj->nij", around, around))[1][:, :, 0]
    return chosen, -normals * np.sign((normals * chosen).sum(axis=1, keepdims=True))


PARTS = {"motion": motion, "shapes": shapes, "scan": scan}


def main() -> None:
    chosen = options(__doc__, tuple(PARTS))
    for name in chosen.figures:
        PARTS[name](chosen.quick, 80 if chosen.quick else 320, chosen.output)


if __name__ == "__main__":
    main()
