"""Reconstruct a surface from points, with or without normals."""

from dataclasses import replace
from typing import Any

from ..clouds.gathering import gathered
from ..clouds.normals.planar import in_plane
from .chosen_fit import chosen_fit, order_of, settled, warn_of_angles
from .outside import kept_outside
from .planar import ready_in_plane
from .preparation import LARGE, ReadyPoints, StepClock, chosen
from .scans import reconciled
from .surface import Surface
from .uncertainty import FitModel


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
    order = order_of(order, fast or len(ready.points) > LARGE)
    oriented, across = ready.oriented(), measured.shape[1] - 1
    if outliers == "auto":
        turned = ready.outwards(oriented.area * oriented.size**across)
        ready, oriented = (ready, oriented) if turned is ready else (turned, turned.oriented())
    wanted: dict[str, Any] = {"smoothness": smoothness, "tolerance": tolerance, "fast": fast}
    estimated = not ready.origin.startswith("given")
    wanted |= {"depth": depth, "resolution": resolution, "estimated": estimated, "coarser": coarser, "verbose": verbose}
    solver: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "memory_limit": memory_limit}
    fit, trials = chosen_fit(oriented, order, wanted, solver, clock)
    warn_of_angles(trials, estimated)
    if estimated:
        fit = settled(fit, ready.points, **solver)
    fit = kept_outside(fit, **solver)
    clock.lap("fit")
    area = float((oriented.spacing**across).sum() * oriented.size**across)
    found = chosen(fit.model, oriented, trials)
    details = {**ready.details(), "scans": scans, "area": area, "residual": fit.outcome.residual, "exact": False}
    details |= {"seconds": clock.seconds, **found}
    of_fit = FitModel(found["order"], found["smoothness"], found["tolerance"], area)
    return Surface(fit.field(), measured, details, normals=ready.normals, attributes=ready.attributes, model=of_fit)


def _refuse_scans(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for scans in space, and these points lie in the plane: leave it out.")
