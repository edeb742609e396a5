"""Reconstruct a surface that moves from points with times."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..clouds.frames import gathered_frames, has_frames, time_scale_of_motion, with_frame_normals
from ..fields.field import Field
from .chosen_fit import chosen_fit, order_of, warn_of_angles
from .frames_fit import fit_frames
from .moving import MovingSurface
from .preparation import ReadyPoints, StepClock, chosen, length_or_auto

METHODS = "auto", "frames", "spacetime"


def reconstruct_moving(
    points,
    normals=None,
    times=None,
    *,
    sensor=None,
    confidence=None,
    depth: int | str = "auto",
    resolution: float | None = None,
    smoothness: float | str = "auto",
    tolerance: float | str = "auto",
    method: str = "auto",
    time_scale: float | str = "auto",
    order: int | str = "auto",
    fast: bool = False,
    memory_limit: float | None = None,
    tol: float = 1e-2,
    max_iter: int = 100,
    verbose: bool = False,
) -> MovingSurface:
    """Reconstruct a surface that moves from points that were measured at times.

    Where many points share each time, each of these frames has a function of its own, as :func:`reconstruct` makes it.
    Between two frames their functions are carried along the motion and averaged, in the proportion of the time between:
    a smooth displacement takes the points of a frame onto the surface of the next one.

    Otherwise one function of space and time minimises what :func:`reconstruct` does, with derivatives in space and
    time. Only the part of its gradient in space is compared with the normals.

    Parameters
    ----------
    points : array (n, 3), PointCloud, path of a file, or a point cloud of Open3D, trimesh or PyVista, of all times
        Or a list of these, one per frame. Colours and other attributes are carried to the surface.
    normals : array (n, 3), optional, for several frames a list
        Pointing outwards. Taken from ``points`` if those have them, else estimated for the points of each time, with
        signs that agree from frame to frame; ``details["normals"]`` says which.
    times : array (n,)
        When each point was measured; for a list of frames, when each frame was.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from: it orients normals that are estimated.
    confidence, depth, resolution, smoothness, tolerance, order, fast, memory_limit, tol, max_iter, verbose
        As for :func:`reconstruct`; the default order is 3. What is chosen is the same for all frames. With
        ``method="spacetime"`` the longest side of the data may be that of time.
    method : {"auto", "frames", "spacetime"}
        "frames": a function for each frame, carried along the motion. "spacetime": one function of space and time,
        which fills holes of a frame from others and averages their noise if the motion is slow, and loses what moves by
        more than its thickness from frame to frame. "auto": "frames", unless there are none or a time_scale is given.
    time_scale : float or "auto"
        For "spacetime": length that one unit of time counts as, about how far the surface moves in it, or more for less
        coupling of different times. By default three times as far as it moves.

    Returns
    -------
    MovingSurface, ``moving.at(time)`` is the surface at any time

    See Also
    --------
    reconstruct : For points of one time.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import reconstruct_moving
    >>> normals = np.random.default_rng(0).standard_normal((400, 3))
    >>> normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    >>> times = np.repeat([0.0, 1.0], 200)
    >>> points, lengths = normals * (1 + times[:, None]), {"smoothness": 0.1, "tolerance": 0.1, "time_scale": 1.0}
    >>> growing = reconstruct_moving(points, normals, times, depth=2, **lengths)
    >>> growing.at(0.5).inside([[1.3, 0, 0], [1.7, 0, 0]]).tolist()
    [True, False]
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    clock = StepClock()
    given, moments = gathered_frames(points, normals, times)
    scale = length_or_auto("time_scale", time_scale)
    if method == "auto":
        method = "frames" if scale is None and has_frames(moments) else "spacetime"
    elif method == "frames":
        _check_frames(moments, scale)
    origin = "given"
    if given.normals is None:
        given, origin = with_frame_normals(given, moments, sensor, verbose)
    elif sensor is not None:
        raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
    ready = ReadyPoints.of(given, confidence=confidence, columns={"times": moments}, verbose=verbose)
    ready = replace(ready, origin=origin)
    ready.require_enough()
    clock.lap("normals")
    wanted: dict[str, Any] = {"smoothness": smoothness, "tolerance": tolerance, "fast": fast}
    wanted |= {"depth": depth, "resolution": resolution, "estimated": origin != "given", "verbose": verbose}
    solver: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "memory_limit": memory_limit}
    job = ready, order_of(order, fast), wanted, solver, clock
    field, found = fit_frames(*job) if method == "frames" else _fit_spacetime(*job, scale)
    details = {**ready.details(), "method": method, "seconds": clock.seconds, **found}
    return MovingSurface(field, ready.points, ready.columns["times"], details, attributes=ready.attributes)


def _check_frames(moments: np.ndarray, time_scale: float | None) -> None:
    """Refuse what frames for themselves cannot use."""
    if time_scale is not None:
        raise ValueError('time_scale is for method="spacetime": leave it out, or change the method.')
    if not has_frames(moments):
        raise ValueError(
            f'method="frames" needs many points of the same time, and {len(moments)} points have '
            f'{len(np.unique(moments))} times: use method="spacetime".'
        )


def _fit_spacetime(
    ready: ReadyPoints, order: int, wanted: dict, solver: dict, clock: StepClock, scale: float | None
) -> tuple[Field, dict[str, Any]]:
    """One function of four coordinates, and what was chosen."""
    if scale is None:
        scale = time_scale_of_motion(ready.points, ready.normals, ready.columns["times"])
    oriented = ready.oriented_in_time(scale)
    fit, trials = chosen_fit(oriented, order, wanted, solver, clock)
    warn_of_angles(trials, wanted["estimated"])
    clock.lap("fit")
    found = {"residual": fit.outcome.residual, "time_scale": scale, **chosen(fit.model, oriented, trials)}
    return fit.field(), found
