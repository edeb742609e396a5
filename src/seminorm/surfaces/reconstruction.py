"""Reconstruct a surface from points, with or without normals, at rest or moving."""

from dataclasses import replace
from numbers import Real
from typing import Any

from tqdm import tqdm

from .._base.memory import NotEnoughMemoryError
from .._base.warnings import warn_user
from ..clouds.frames import gathered_frames, time_scale_of_motion, with_frame_normals
from ..clouds.normals.planar import in_plane
from .fitting import SurfaceFit, fit_surface, settle_normals
from .moving import MovingSurface
from .outside import kept_outside
from .planar import ready_in_plane
from .preparation import LARGE, ReadyPoints, StepClock, choose_model, chosen, length_or_auto
from .sampling import OrientedPoints
from .scans import gathered, reconciled
from .selection import Trial
from .surface import Surface
from .uncertainty import FitModel

_STRANGE = 0.75  # mean of one minus the cosine of held-out normals
_ROUNDS = 3  # of fits with their own normals, where these were estimated
_EXACT = 0.4  # smoothness over tolerance: 0.25 at first (order 3), more where trials found the points exact


def reconstruct(
    points,
    normals=None,
    *,
    sensor=None,
    sensors=None,
    poses=None,
    scan_id="auto",
    confidence=None,
    outliers: str = "auto",
    depth: int | str = "auto",
    resolution: float | None = None,
    smoothness: float | str = "auto",
    tolerance: float | str = "auto",
    order: int | str = "auto",
    fast: bool = False,
    memory_limit: float | None = None,
    tol: float = 1e-2,
    max_iter: int = 100,
    verbose: bool = False,
) -> Surface:
    """Reconstruct a smooth surface through, or near, points in space, or curves through points in the plane.

    The surface is the zero set of the function f that minimises

        smoothness**(2 order - 3) |f|^2 + sum_i a_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / tolerance**2)

    with the semi-norm |f|^2 = integral of the squared derivatives of the given order, and a_i the area that point i
    stands for. Where points are missing f continues as smoothly as it can.

    Parameters
    ----------
    points : array (n, 3), PointCloud, path of a file, or a point cloud of Open3D, trimesh or PyVista
        Or several scans: a list of these. An array (n, 2) gives a curve, by :meth:`Surface.contours`; what is said
        below of (n, 3) is then (n, 2), and scans and sensors one by one are for points in space.
    normals : array (n, 3), optional, for several scans a list
        Pointing outwards; only their directions count, unless ``confidence="normals"``. Taken from ``points`` if those
        have them, else estimated by :func:`seminorm.clouds.estimate_normals`; ``details["normals"]`` says which.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from: it orients normals that are estimated.
    sensors : list of arrays (3,) or (n_i, 3) or None, optional
        The same for each of several scans, before its pose; by default the ``sensor`` of its PointCloud.
    poses : list of arrays (4, 4) or None, optional
        Rotation and translation that bring each of several scans into common coordinates.
    scan_id : array (n,) of int, "auto" or None
        Scan of each point. By default the place in the list of scans, or the attribute "scan" of a cloud; None takes
        all points for one scan. Points of scans with clearly more noise count for less beside those of better ones, and
        where scans that were placed badly overlap, the surface is between them. What was found is in
        ``details["scans"]``.
    confidence : array (n,) or "normals", optional
        How much each point counts; "normals" for the length of its normal.
    outliers : {"auto", "keep"}
        "auto" sets aside points that do not lie on a surface with others, replaces normals that disagree with those
        around them, and turns normals of a closed surface that point inwards, each with a warning. A cloud with hardly
        any such points is left as it is. ``details["outliers"]`` has their rows.
    depth : int or "auto"
        The finest level has 2**depth cells along the longest side of the data. By default the finest cells are about as
        wide as the points are apart, or wider if the points are noisy.
    resolution : float, optional
        Width of the finest cells, instead of ``depth``; rounded down to a power of two.
    smoothness : float or "auto"
        Length below which details are smoothed away. By default the one that best predicts points that were held out.
    tolerance : float or "auto"
        Length: a point at this distance weighs as much as a normal that is wrong by one radian. Small for exact points;
        for noisy ones about their noise divided by that of the normals.
    order : 2, 3 or "auto", of the semi-norm: 3 fills holes and sparse regions better, 2 is twice as fast
    fast : bool
        Use order 2 and cells twice as wide, where these are not given: several times faster, about half as accurate.
    memory_limit : float, optional
        Bytes that the fit may use; by default what is free. An automatic depth ends where the next one would need more,
        with a warning; a given depth that needs more is refused.
    tol, max_iter : float, int
        Relative residual that is good enough, and most steps of conjugate gradients per level.
    verbose : bool
        Show progress.

    Returns
    -------
    Surface, its ``details`` hold what was chosen

    See Also
    --------
    reconstruct_moving : For points that were measured at different times.
    fit_exact : The exact solution for up to some thousand points, with any smooth kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import reconstruct
    >>> sphere = np.random.default_rng(0).standard_normal((500, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> reconstruct(sphere, sphere).mesh().is_watertight
    True
    """
    clock, coarser = StepClock(), 0
    scans: list[dict]
    if in_plane(points):
        _refuse_scans(sensors=sensors, poses=poses, scan_id=None if isinstance(scan_id, str) else scan_id)
        ready, coarser = ready_in_plane(points, normals, sensor, confidence, outliers)
        ready.require_enough()
        measured, scans = ready.points, []
    else:
        given, scan, origin = gathered(points, normals, sensor, sensors, poses, scan_id)
        told: dict[str, Any] = {"confidence": confidence, "columns": {"scan": scan}, "outliers": outliers}
        ready = ReadyPoints.of(given, sensor=sensor, **told, verbose=verbose)
        ready.require_enough()
        measured = ready.points
        ready, scans = reconciled(ready if origin is None else replace(ready, origin=origin))
    clock.lap("normals")
    order = _order(order, fast or len(ready.points) > LARGE)
    oriented, across = ready.oriented(), measured.shape[1] - 1
    if outliers == "auto":
        turned = ready.outwards(oriented.area * oriented.size**across)
        ready, oriented = (ready, oriented) if turned is ready else (turned, turned.oriented())
    wanted: dict[str, Any] = {"smoothness": smoothness, "tolerance": tolerance, "fast": fast}
    estimated = not ready.origin.startswith("given")
    wanted |= {"depth": depth, "resolution": resolution, "estimated": estimated, "coarser": coarser, "verbose": verbose}
    solver: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "memory_limit": memory_limit}
    fit, trials = _chosen_fit(oriented, order, wanted, solver, clock)
    _warn_of_angles(trials, estimated)
    # where points count for more than their normals, estimated normals can be improved by the fit
    exact = fit.model.smoothness > _EXACT * fit.model.tolerance
    if estimated and exact and len(ready.points) <= LARGE:
        fit = settle_normals(fit, ready.points, _ROUNDS, **solver)
    fit = kept_outside(fit, **solver)
    clock.lap("fit")
    area = float((oriented.spacing**across).sum() * oriented.size**across)
    found = chosen(fit.model, oriented, trials)
    details = {**ready.details(), "scans": scans, "area": area, "residual": fit.outcome.residual, "exact": False}
    details |= {"seconds": clock.seconds, **found}
    of_fit = FitModel(found["order"], found["smoothness"], found["tolerance"], area)
    return Surface(fit.field(), measured, details, normals=ready.normals, attributes=ready.attributes, model=of_fit)


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
    time_scale: float | str = "auto",
    order: int | str = "auto",
    fast: bool = False,
    memory_limit: float | None = None,
    tol: float = 1e-2,
    max_iter: int = 100,
    verbose: bool = False,
) -> MovingSurface:
    """Reconstruct a surface that moves: one function of space and time for points that were measured at times.

    It minimises what :func:`reconstruct` does, with derivatives in space and time. Only the part of its gradient in
    space is compared with the normals.

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
        As for :func:`reconstruct`; the longest side of the data may be that of time. The default order is 3.
    time_scale : float or "auto"
        Length that one unit of time counts as: about how far the surface moves in it, or more for less coupling of
        different times. By default three times as far as it moves.

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
    clock = StepClock()
    given, moments = gathered_frames(points, normals, times)
    origin = "given"
    if given.normals is None:
        given, origin = with_frame_normals(given, moments, sensor, verbose)
    elif sensor is not None:
        raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
    ready = ReadyPoints.of(given, confidence=confidence, columns={"times": moments}, verbose=verbose)
    ready = replace(ready, origin=origin)
    ready.require_enough()
    clock.lap("normals")
    order = _order(order, fast)
    scale = length_or_auto("time_scale", time_scale)
    if scale is None:
        scale = time_scale_of_motion(ready.points, ready.normals, ready.columns["times"])
    oriented = ready.oriented_in_time(scale)
    wanted: dict[str, Any] = {"smoothness": smoothness, "tolerance": tolerance, "fast": fast}
    wanted |= {"depth": depth, "resolution": resolution, "estimated": origin != "given", "verbose": verbose}
    solver: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "memory_limit": memory_limit}
    fit, trials = _chosen_fit(oriented, order, wanted, solver, clock)
    _warn_of_angles(trials, origin != "given")
    clock.lap("fit")
    details = {**ready.details(), "residual": fit.outcome.residual, "time_scale": scale}
    details |= {"seconds": clock.seconds, **chosen(fit.model, oriented, trials)}
    return MovingSurface(fit.field(), ready.points, ready.columns["times"], details, attributes=ready.attributes)


def _chosen_fit(
    points: OrientedPoints, order: int, wanted: dict[str, Any], solver: dict[str, Any], clock: StepClock
) -> tuple[SurfaceFit, list[Trial]]:
    """The fit of the model that :func:`choose_model` finds; of a coarser one, if memory does not allow it."""
    for name, value in solver.items():
        if not (value is None and name == "memory_limit") and not (isinstance(value, Real) and float(value) > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    model, trials = choose_model(points, order, **wanted)
    clock.lap("choose")
    may_be_coarser = wanted["depth"] == "auto" and wanted["resolution"] is None
    with tqdm(total=model.depth + 1, desc="fitting", disable=not wanted["verbose"], leave=False) as bar:

        def report(fit: SurfaceFit) -> None:
            bar.set_postfix_str(f"{fit.tree.size} coefficients")
            bar.update()

        while True:
            try:
                return fit_surface(points, model, report=report, **solver), trials
            except NotEnoughMemoryError as error:
                if not may_be_coarser or model.depth <= 2:
                    raise
                warn_user(f"{error} The surface stays at depth {model.depth - 1}.")
                model = model.on_level(model.depth - 1)


def _refuse_scans(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for scans in space, and these points lie in the plane: leave it out.")


def _warn_of_angles(trials: list[Trial], estimated: bool) -> None:
    """Warn if the best of the trials does not know the normals of points that were held out."""
    angle = min(trials, key=lambda trial: trial.score).angle if trials else 0.0
    if angle > _STRANGE:
        advice = "the points lie on no surface that one could see" if estimated else "leave the normals out"
        warn_user(
            f"normals of points that were held out are not those of the surface (mean cosine {1.0 - angle:.2f}): they "
            f"are wrong, or noise hides the surface; {advice}."
        )


def _order(order: int | str, second: bool) -> int:
    if isinstance(order, str) and order == "auto":
        return 2 if second else 3
    if order not in (2, 3):
        raise ValueError(f"order must be 2, 3 or 'auto', got {order!r}.")
    return int(order)
