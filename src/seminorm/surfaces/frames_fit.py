"""A function for each frame of a motion, and the displacements from frame to frame."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from tqdm import tqdm

from .._base.warnings import warn_user
from ..clouds.displacement import Displacement, displacement_between
from ..clouds.frames import frames_of
from ..shapes.carried_frames import CarriedFrames
from .chosen_fit import check_solver, settled, warn_of_angles
from .fitting import fit_surface
from .preparation import ReadyPoints, StepClock, choose_model, chosen

_FEWEST = 10  # points of a frame
_LOOKS = 3  # frames that smoothness and tolerance are chosen for
_STRAYED = 0.01  # of the extent: a motion that misses by more deserves a word


def fit_frames(
    ready: ReadyPoints, order: int, wanted: dict, solver: dict, clock: StepClock
) -> tuple[CarriedFrames, dict[str, Any]]:
    """The functions, with the same smoothness and tolerance, and what was chosen."""
    check_solver(solver)
    times = ready.columns["times"]
    rows = frames_of(times)
    moments = np.array([times[frame].mean() for frame in rows])
    for frame, moment in zip(rows, moments, strict=True):
        if len(frame) < _FEWEST:
            raise ValueError(
                f"time {moment:.6g} has {len(frame)} valid points with normals, and each frame needs at least "
                f'{_FEWEST}: leave it out, or use method="spacetime".'
            )
    parts = [_part(ready, frame) for frame in rows]
    around = np.stack([ready.points.min(axis=0), ready.points.max(axis=0)])
    oriented = [part.oriented(around) for part in parts]
    looks = [oriented[k] for k in np.unique(np.linspace(0, len(parts) - 1, _LOOKS).astype(np.int64))]
    model, trials = choose_model(looks[len(looks) // 2], order, **wanted, others=_without(looks, len(looks) // 2))
    warn_of_angles(trials, wanted["estimated"])
    clock.lap("choose")
    fields, residual, hidden = [], 0.0, not wanted["verbose"]
    for part, points in _shown(list(zip(parts, oriented, strict=True)), "fitting", hidden):
        fit = fit_surface(points, model, **solver)
        fit = settled(fit, part.points, **solver) if wanted["estimated"] else fit
        fields.append(fit.field())
        residual = max(residual, fit.outcome.residual)
    clock.lap("fit")
    pairs = _shown(list(pairwise(parts)), "following the motion", hidden)
    moves = [displacement_between(a.points, a.normals, b.points, b.normals) for a, b in pairs]
    _warn_of_strays(moves, moments)
    clock.lap("motion")
    found = {"residual": residual, "time_scale": None, "missed": [move.missed for move in moves]}
    return CarriedFrames(moments, fields, moves), {**found, **chosen(model, looks[len(looks) // 2], trials)}


def _shown(items: list, what: str, hidden: bool) -> Any:
    return tqdm(items, desc=what, unit="frame", disable=hidden, leave=False)


def _without(items: list, k: int) -> list:
    return items[:k] + items[k + 1 :]


def _part(ready: ReadyPoints, rows: np.ndarray) -> ReadyPoints:
    columns = {name: column[rows] for name, column in ready.columns.items()}
    return replace(ready, points=ready.points[rows], normals=ready.normals[rows], columns=columns, attributes={})


def _warn_of_strays(moves: list[Displacement], moments: np.ndarray) -> None:
    """Say between which frames the motion is not understood."""
    missed = np.array([move.missed / move.extent for move in moves])
    worst = int(np.argmax(missed))
    if missed[worst] > _STRAYED:
        warn_user(
            f"between the times {moments[worst]:.6g} and {moments[worst + 1]:.6g} points that took no part in finding "
            f"the motion miss the other frame by {100 * missed[worst]:.1f} % of the extent, on average: frames are too "
            "far apart, noisy, or show different things; what is between them is a guess."
        )
