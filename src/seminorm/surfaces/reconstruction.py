"""Reconstruct a surface from points, with or without normals."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from tqdm import tqdm

from .._warnings import warn_user
from ..kernels import Kernel
from ..memory import NotEnoughMemoryError
from .cloud import PointCloud, as_cloud
from .exact import require_gradients, solve_exactly
from .fitting import Model, SurfaceFit, fit_surface, settle_normals
from .moving import MovingSurface, time_scale_of_motion
from .normals import estimate_normals
from .oriented import OrientedPoints
from .preparation import drop_invalid
from .selection import Selection, Trial
from .surface import Surface

_LEAST_POINTS = 10
_POINTS_PER_CELL = 0.5, 1.0  # on the finest level, for few and for many points
_FEW = 10_000  # points, for which one level more costs little
_DEEPEST = 14
_SPARSEST = 1 / 400  # points in a cell, below which a given depth deserves a warning
_ROUNDS = 3  # of fits with their own normals, where these were estimated
_EXACT = 0.4  # smoothness over tolerance: 0.25 at first (order 3), more where trials found the points exact
_LARGE = 100_000  # points, from which on order 2 is the default: as accurate there, and twice as fast


def reconstruct(
    points,
    normals=None,
    *,
    sensor=None,
    depth: int | str = "auto",
    resolution: float | None = None,
    smoothness: float | str = "auto",
    normal_weight: float | str = "auto",
    confidence=None,
    exact: bool = False,
    kernel: Kernel | None = None,
    times=None,
    time_scale: float | str = "auto",
    order: int | str = "auto",
    fast: bool = False,
    memory_limit: float | None = None,
    tol: float = 1e-2,
    max_iter: int = 100,
    verbose: bool = False,
) -> Surface | MovingSurface:
    """A smooth surface through, or near, points.

    It is the zero set of the function f that minimises

        smoothness**(2 order - 3) |f|^2 + sum_i a_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / normal_weight**2)

    with the semi-norm |f|^2 = integral of the squared derivatives of the given order, and a_i the area that point i
    stands for. Where points are missing f goes on as smoothly as it can.

    Parameters
    ----------
    points : array (n, 3), PointCloud, path of a file, or a point cloud of Open3D, trimesh or PyVista
    normals : array (n, 3), optional
        Pointing outwards; only their directions count, unless ``confidence="normals"``. Taken from ``points`` if those
        have them, and estimated by :func:`estimate_normals` if not; ``details["normals"]`` tells.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from, for normals that are to be estimated.
    depth : int or "auto"
        2**depth cells of the finest level lie along the longest side of the data. By default the finest cells are about
        as wide as the points are apart, or wider if the points are noisy.
    resolution : float, optional
        Width of the finest cells in the units of the data, instead of ``depth``; rounded down to a power of two.
    smoothness : float or "auto"
        Length, in the units of the data, below which details are smoothed away. By default what foretells best the
        points of a part that was held out.
    normal_weight : float or "auto"
        Length, in the units of the data: being so far from a point weighs as much as a normal that is wrong by one
        radian. Small for exact points, about their noise divided by that of the normals for noisy ones.
    confidence : array (n,), "normals", optional
        How much each point counts; "normals" for the length of its normal.
    exact : bool
        Solve for the exact function, a combination of kernels and their gradients at the points, instead of a
        piecewise polynomial: for up to some thousand points. Order 3 is the order of the default kernel.
    kernel : Kernel, optional
        For exact functions: one that is twice differentiable where its arguments coincide, by default
        ``Polyharmonic(3)``. If it has a length scale of its own, such as ``Gaussian``, ``smoothness`` is the factor of
        its squared norm, by default the most likely one.
    times : array (n,), optional
        When each point was measured. The result is then a :class:`MovingSurface`, one function of space and time, and
        ``result.at(time)`` the surface at any time.
    time_scale : float or "auto"
        Length, in the units of the data, that one unit of time counts as: about how far the surface moves in it, or
        more for less coupling of different times. By default three times as far as it moves.
    order : 2, 3 or "auto"
        Of the derivatives in the semi-norm. 3 fills holes and sparse regions better, 2 is twice as fast.
    fast : bool
        Order 2 and cells twice as wide, where these are not given: several times faster and about half as accurate.
    memory_limit : float, optional
        Bytes that may be used for the fit; by default what is free. An automatic depth ends where the next one would
        need more, with a warning; a given depth that needs more is refused.
    tol : float
        Relative residual at which the solution is good enough.
    max_iter : int
        Steps of conjugate gradients, a level.
    verbose : bool
        Show progress.

    Returns
    -------
    Surface, or MovingSurface if there are times
        Its ``details`` tell what was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import reconstruct
    >>> sphere = np.random.default_rng(0).standard_normal((500, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> mesh = reconstruct(sphere, sphere).mesh()
    >>> mesh.is_watertight, bool(abs(mesh.volume - 4 / 3 * np.pi) < 0.01)
    (True, True)
    """
    begin = perf_counter()
    given = as_cloud(points, normals)
    cloud, origin = _with_normals(given, sensor, times, verbose)
    estimated = perf_counter()
    ready = _Ready.of(cloud, confidence, times)
    order = _exact_order(order, kernel, ready.times) if exact else _order(order, ready, fast)
    if kernel is not None:
        if not exact:
            raise ValueError(f"kernel={kernel!r} is for exact functions: give exact=True with it, or leave it out.")
        require_gradients(kernel, ready.points.shape[1])
    oriented, scale = ready.oriented(time_scale)
    deepest = _depth(oriented, depth, resolution, fast)
    own_scale = kernel is not None and kernel.dilation_degree is None
    factor = smoothness if own_scale else None  # of the squared norm: not a length that a trial could use
    if own_scale:
        smoothness = "auto"
    with tqdm(desc="choosing the smoothness", disable=not verbose, leave=False) as bar:
        model, trials = _model(oriented, order, deepest, depth, resolution, smoothness, normal_weight, bar)
    chosen = perf_counter()
    if exact:
        function, alpha = _fit_exactly(oriented, ready.points, ready.normals, model, kernel, factor)
        residual = 0.0
    else:
        options = {"tol": tol, "max_iter": max_iter, "memory_limit": memory_limit}
        with tqdm(total=model.depth + 1, desc="fitting", disable=not verbose, leave=False) as bar:
            fit = _fit(oriented, model, depth == "auto" and resolution is None, lambda fit: _show(bar, fit), options)
        if origin != "given" and _exact_values(fit) and len(ready.points) <= _LARGE:
            fit = settle_normals(fit, ready.points, _ROUNDS, **options)
        model, function, residual = fit.model, fit.field(), fit.outcome.residual
    seconds = {"normals": estimated - begin, "choose": chosen - estimated, "fit": perf_counter() - chosen}
    details = {
        "points": len(ready.points),
        "dropped": ready.dropped,
        "normals": origin,
        "area": float((oriented.spacing**2).sum() * oriented.size**2) if ready.times is None else None,
        "residual": residual,
        "exact": exact,
        "seconds": seconds,
        **_chosen(model, oriented, trials),
    }
    if own_scale:
        details["smoothness"] = alpha
    if ready.times is not None:
        return MovingSurface(function, ready.points, ready.times, {**details, "time_scale": scale})
    finest = oriented.size / 2**model.depth
    return Surface(
        function, ready.points, details, normals=ready.normals, attributes=ready.attributes, resolution=finest
    )


def _with_normals(cloud: PointCloud, sensor, times, verbose: bool) -> tuple[PointCloud, str]:
    """The cloud with normals, its own or estimated ones, and where they come from."""
    if cloud.normals is not None:
        if sensor is not None:
            raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
        return cloud, "given"
    if times is not None:
        raise ValueError(
            "normals are missing, and points with times need them: estimate them for the points of each time with "
            "seminorm.surfaces.estimate_normals."
        )
    if len(cloud) < _LEAST_POINTS:
        raise ValueError(f"a surface needs at least {_LEAST_POINTS} points, got {len(cloud)}.")
    estimated = estimate_normals(cloud, sensor=sensor, progress=verbose)
    if estimated.oriented == "consistent":
        warn_user(
            "nothing tells the inside of these points from the outside: the estimated normals agree with each other, "
            "and all of them may be the wrong way round. Give sensor=, or normals; mesh(boundary='open') leaves out "
            "what the points do not cover."
        )
    return estimated, f"estimated from {estimated.k} neighbours, signs: {estimated.oriented}"


@dataclass(frozen=True)
class _Ready:
    """What is left of the input when it has been checked: valid points with unit normals."""

    points: np.ndarray
    normals: np.ndarray
    weights: np.ndarray | None
    times: np.ndarray | None
    attributes: dict
    dropped: dict

    @classmethod
    def of(cls, cloud: PointCloud, confidence, times) -> _Ready:
        columns = {"weight": _weights(cloud, confidence), "time": _times(cloud, times)}
        columns = {f" {name}": column for name, column in columns.items() if column is not None}
        valid, dropped = drop_invalid(
            PointCloud(cloud.points, cloud.normals, cloud.colors, {**cloud.attributes, **columns})
        )
        _check_points(valid, len(cloud), dropped)
        normals = valid.normals / np.linalg.norm(valid.normals, axis=1, keepdims=True)
        attributes = dict(valid.attributes)
        weights, moments = (attributes.pop(f" {name}", None) for name in ("weight", "time"))
        if valid.colors is not None:
            attributes["colors"] = valid.colors
        return cls(valid.points, normals, weights, moments, attributes, dropped)

    def oriented(self, time_scale) -> tuple[OrientedPoints, float | None]:
        """Scaled, in space or in space and time."""
        if self.times is None:
            return OrientedPoints.prepare(self.points, self.normals, self.weights), None
        scale = _time_scale(time_scale, self.points, self.normals, self.times)
        points = np.column_stack([self.points, self.times])
        return OrientedPoints.prepare(points, self.normals, self.weights, time_scale=scale), scale


def _chosen(model: Model, points: OrientedPoints, trials: list[Trial]) -> dict:
    """The model and the trials that led to it, in the user's units."""
    return {
        "order": model.order,
        "depth": model.depth,
        "smoothness": model.smoothness * points.size,
        "normal_weight": float(model.tolerance * points.size),
        "trials": [
            {
                "depth": t.model.depth,
                "smoothness": t.model.smoothness * points.size,
                "normal_weight": float(t.model.tolerance * points.size),
                "score": t.score,
                "distance": t.distance * points.size,
                "angle": t.angle,
            }
            for t in trials
        ],
    }


def _fit_exactly(points: OrientedPoints, X, normals, model: Model, kernel: Kernel | None, factor):
    smoothness = model.smoothness * points.size if factor is None else None
    tolerance, weights = model.tolerance * points.size, points.area * points.size**2
    return solve_exactly(X, normals, kernel, smoothness, factor, tolerance, weights)


def _fit(points: OrientedPoints, model: Model, coarser: bool, report, options: dict) -> SurfaceFit:
    """The fit of the model; of one that is coarser, if memory does not allow it."""
    while True:
        try:
            return fit_surface(points, model, report=report, **options)
        except NotEnoughMemoryError as error:
            if not coarser or model.depth <= 2:
                raise
            warn_user(f"{error} The surface stays at depth {model.depth - 1}.")
            model = model.on_level(model.depth - 1)


def _exact_values(fit: SurfaceFit) -> bool:
    """Whether the points count for more than their normals: then estimated normals can be improved by the fit."""
    return fit.model.smoothness > _EXACT * fit.model.tolerance


def _exact_order(order, kernel: Kernel | None, times) -> int:
    """The order of the trials that choose lengths for an exact function."""
    if times is not None:
        raise ValueError("exact functions do not move: leave out times, or exact=True.")
    if order not in (3, "auto"):
        raise ValueError(
            f"order={order!r} has no exact function in space, where gradients at points need order 3: leave it out, or "
            "give the kernel whose semi-norm you want."
        )
    return 3


def _order(order, ready: _Ready, fast: bool) -> int:
    if order == "auto":
        return 2 if fast or (len(ready.points) > _LARGE and ready.times is None) else 3
    if order not in (2, 3):
        raise ValueError(f"order must be 2, 3 or 'auto', got {order!r}.")
    return order


def _times(cloud: PointCloud, times) -> np.ndarray | None:
    if times is None:
        return None
    times = np.asarray(times, dtype=float)
    if times.shape != (len(cloud),):
        raise ValueError(f"times must have one number for each of the {len(cloud)} points, got shape {times.shape}.")
    if not np.isfinite(times).all() or np.ptp(times) == 0.0:
        raise ValueError("times must be finite and not all the same; leave them out for a surface that does not move.")
    return times


def _time_scale(time_scale, points: np.ndarray, normals: np.ndarray, times: np.ndarray) -> float:
    if isinstance(time_scale, str) and time_scale == "auto":
        return time_scale_of_motion(points, normals, times)
    if isinstance(time_scale, str) or not (np.isfinite(time_scale) and time_scale > 0):
        raise ValueError(f"time_scale must be a positive length or 'auto', got {time_scale!r}.")
    return float(time_scale)


def _show(bar: tqdm, fit: SurfaceFit) -> None:
    bar.set_postfix_str(f"{fit.tree.size} coefficients")
    bar.update()


def _weights(cloud: PointCloud, confidence) -> np.ndarray | None:
    if confidence is None:
        return None
    if isinstance(confidence, str):
        if confidence != "normals":
            raise ValueError(f"confidence must be one number a point or 'normals', got {confidence!r}.")
        return np.linalg.norm(cloud.normals, axis=1)
    weights = np.asarray(confidence, dtype=float)
    if weights.shape != (len(cloud),):
        raise ValueError(f"confidence must have one number for each of the {len(cloud)} points, got {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("confidence must be finite, not negative, and not all zero.")
    return weights


def _check_points(cloud, n_given: int, dropped: dict) -> None:
    if sum(dropped.values()):
        warn_user(
            f"{sum(dropped.values())} of {n_given} points were left out: {dropped['coordinates']} with NaN or infinity "
            f"in the coordinates, {dropped['normals']} whose normal is zero or not finite."
        )
    if len(cloud) < _LEAST_POINTS:
        raise ValueError(f"a surface needs at least {_LEAST_POINTS} valid points with normals, got {len(cloud)}.")
    if np.ptp(cloud.points, axis=0).max() == 0.0:
        raise ValueError("all points are the same: a surface needs points that are apart.")


def _depth(points: OrientedPoints, depth, resolution, fast: bool) -> int:
    if resolution is not None:
        if depth != "auto":
            raise ValueError(f"give depth or resolution, not both: got depth={depth!r} and resolution={resolution!r}.")
        if not (np.isfinite(resolution) and resolution > 0):
            raise ValueError(f"resolution must be positive, got {resolution!r}.")
        depth = max(int(np.ceil(np.log2(points.size / resolution) - 1e-9)), 1)
    if depth == "auto":
        least = _POINTS_PER_CELL[len(points) > _LARGE]
        depth = 2
        while depth < _DEEPEST and points.points_per_cell(depth + 1) >= least:
            depth += 1
        return max(depth + (len(points) < _FEW) - fast, 2)
    if not (isinstance(depth, (int, np.integer)) and 1 <= depth <= _DEEPEST):
        raise ValueError(f"depth must be 'auto' or a whole number from 1 to {_DEEPEST}, got {depth!r}.")
    if points.points_per_cell(depth) < _SPARSEST:
        apart = points.size / 2**depth / np.sqrt(points.points_per_cell(depth))
        warn_user(
            f"cells of depth {depth} are {points.size / 2**depth:.2g} wide, the points some {apart:.2g} apart: that "
            "takes long, and tells no more than a few levels less."
        )
    return int(depth)


def _model(points, order, deepest, depth, resolution, smoothness, normal_weight, bar) -> tuple[Model, list[Trial]]:
    given = {}
    for name, key, value in (("smoothness", "smoothness", smoothness), ("normal_weight", "tolerance", normal_weight)):
        if isinstance(value, str):
            if value != "auto":
                raise ValueError(f"{name} must be a positive length or 'auto', got {value!r}.")
        elif not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive length or 'auto', got {value!r}.")
        else:
            given[key] = value / points.size

    def report(trial: Trial) -> None:
        bar.set_postfix_str(f"depth {trial.model.depth}, smoothness {trial.model.smoothness * points.size:.3g}")
        bar.update()

    selection = Selection(points, order, order, deepest, report, fixed_depth=depth != "auto" or resolution is not None)
    return selection.search(**given), selection.trials
