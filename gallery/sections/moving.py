"""Frames of a shape that moves become one surface in space and time: also between the frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import reconstruct_moving
from seminorm.shapes import Sphere, blend

from ..page import Code, Paragraph, Section
from ..scenes import scene


def follow(points, normals, times):
    return reconstruct_moving(points, normals, times, depth=4, smoothness=0.1, tolerance=0.05, time_scale=1.0)


def _drops(t: float):
    """Two drops that approach and merge."""
    x = 1.0 - 0.17 * t
    return blend(Sphere([-x, 0, 0], 0.6), Sphere([x, 0, 0], 0.6), 0.35)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    frames = [_drops(t) for t in range(5)]
    points = [shape.mesh(0.06).vertices for shape in frames]
    points = [p[rng.choice(len(p), 900, replace=False)] for p in points]
    normals = [shape.gradient(p) for shape, p in zip(frames, points, strict=True)]
    moving = follow(np.concatenate(points), np.concatenate(normals), np.repeat(np.arange(5.0), 900))
    times = np.linspace(0, 4, 9)
    film = {f"t = {t:g}": moving.at(t).mesh() for t in times}
    intro = (
        "Five frames of 900 points each. Time is a fourth coordinate; the surface at any time is a slice of one "
        "function of four variables, so there are as many frames as you like, and topology may change."
    )
    caption = "Nine moments, every second one between two frames. Click, then press play."
    turn = scene(folder, "moving", film, "Two drops that merge, as a film to play and turn", caption, times=times)
    return Section("A surface that moves", [Paragraph(intro), Code.of(follow), turn])
