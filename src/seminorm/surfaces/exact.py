"""The exact function of oriented points, by a factorisation or by iteration.

Minimised is [Walder 2008, (4.3)], with weights and a null space,

    alpha |f|^2 + sum_i a_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / tolerance^2),

all lengths in the units of the points. The answer combines the kernel and its gradients at the points
[Walder 2008, (4.4)].
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..clouds.cloud import as_cloud, weight_per_point
from ..functions import Expansion, Functional, design
from ..functions.fits import Iteration, chosen_solver, fit_functionals
from ..kernels import Kernel, Polyharmonic
from ..nullspace import identifiable, null_space_for
from ..shapes.boundaries import check_resolution
from .preparation import ReadyPoints, StepClock, automatic_depth, choose_model, chosen, length_or_auto
from .surface import Surface

_ORDER = 3  # of the trials that choose lengths
_SCALABLE = (2, 3, 4)  # dimensions in which areas are estimated
_CHOOSABLE = (2, 3)  # dimensions in which lengths are chosen
_CELLS = 64  # along the longest side, of a surface whose resolution nothing decides


def fit_exact(
    points,
    normals=None,
    *,
    kernel: Kernel | None = None,
    smoothness: float | str = "auto",
    alpha: float | str | None = None,
    tolerance: float | str = "auto",
    areas=None,
    confidence=None,
    unit_normals: bool = True,
    null_space=None,
    sensor=None,
    resolution: float | None = None,
    solver: str = "auto",
    tol: float = 1e-5,
    max_iter: int = 300,
    verbose: bool = False,
) -> Surface:
    """Fit a surface to points and normals without approximation, with any smooth kernel.

    Its function is a combination of the kernel and its gradients at the points. It is negative inside (normals point
    outwards) and in units of length near the surface. Up to 2000 points in space are solved for by a factorisation;
    then an iteration takes its place, for some 10^4 points.

    Parameters
    ----------
    points : array (n, d), or in space also a PointCloud, the path of a file, or a cloud of another library
    normals : array (n, d), optional
        Pointing outwards. In space they are taken from ``points``, or estimated, where they are left out.
    kernel : Kernel, optional
        Twice differentiable where its arguments coincide. Left out, the polyharmonic kernel of the lowest order m with
        2 m > d + 2: ``Polyharmonic(3)`` in the plane and in space.
    smoothness : float or "auto"
        Length below which details are smoothed away. It gives alpha = smoothness**(2 m - 3) for ``Polyharmonic(m)``. By
        default the one that best predicts points that were held out.
    alpha : float or "auto", optional
        Factor of the squared semi-norm, instead of ``smoothness``. "auto" finds the most likely one (restricted maximum
        likelihood), which takes several times longer; it is the default for kernels with a length scale of their own,
        such as ``Gaussian``.
    tolerance : float or "auto"
        Length: a point at this distance weighs as much as a unit error of its normal.
    areas : array (n,), optional
        Area (in the plane: length) that each point stands for; by default from the density.
    confidence : array (n,) or "normals", optional
        How much each point counts: a factor of its area; "normals" for the length of its normal. Points that count for
        nothing are left out of the fit.
    unit_normals : bool
        Bring the normals to length 1. If False, they are gradients that the function is to have.
    null_space : optional
        What is left free, as for :class:`seminorm.Smoother`; left out, polynomials of the kernel's ``null_degree``.
    sensor : array (3,) or (n, 3), optional
        Where the points were measured from: it orients normals that are estimated.
    resolution : float, optional
        Width of the smallest details, for meshes; by default about the distance of points.
    solver : {"auto", "dense", "fast"}
        "dense" factorises the matrix of all n (1 + d) observations, "fast" iterates with sums by near and far field (up
        to three coordinates, kernels of distances); "auto" is dense for up to 8000 observations, and then fast where
        the kernel allows it. ``details["solver"]`` tells, and ``details["residual"]`` how far it got.
    tol, max_iter : float, int
        Of the fast solver: the residual at which it stops, relative to what of the normals the null space does not
        explain, and its largest number of steps.
    verbose : bool
        Show progress.

    Returns
    -------
    Surface, its ``field`` is an :class:`seminorm.Expansion`; its ``details`` hold what was chosen

    See Also
    --------
    reconstruct : The same for millions of points, in a basis of splines.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces import fit_exact
    >>> angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> fit_exact(circle, circle, smoothness=0.1, tolerance=0.1)([[0.0, 0.0], [1.0, 0.0], [1.2, 0.0]]).round(3) + 0.0
    array([-0.5 ,  0.  ,  0.22])
    """
    clock = StepClock()
    ready = _ready(points, normals, areas, confidence, unit_normals, sensor, verbose)
    n, d = ready.points.shape
    clock.lap("normals")
    kernel = Polyharmonic(_least_order(d)) if kernel is None else kernel
    _require_gradients(kernel, d)
    alpha = _given_alpha(kernel.for_dimension(d), smoothness, alpha)
    iteration = Iteration(float(tol), int(max_iter), verbose)
    advice = "fit a part of the points, or use seminorm.surfaces.reconstruct, which takes millions of them."
    what = f"an exact fit of {n} oriented points ({n * (1 + d)} observations)"
    solver = chosen_solver(solver, kernel, Functional.gradients(np.zeros((1, d))), n * (1 + d), iteration, what, advice)
    scales = _Scales.of(ready, smoothness if alpha is None else None, tolerance, resolution, verbose)
    clock.lap("choose")
    if scales.smoothness is not None:
        alpha = scales.smoothness ** (kernel.for_dimension(d).dilation_degree + d - 3)
    factor = None if isinstance(alpha, str) else alpha
    parts = ready, kernel, factor, scales.tolerance, scales.weights, null_space
    function, used, residual = _solve(*parts, iteration if solver == "fast" else None)
    clock.lap("fit")
    details = {**ready.details(), "exact": True, "solver": solver, "residual": residual, "alpha": used}
    if scales.smoothness is not None:
        details["smoothness"] = scales.smoothness
    details |= {"tolerance": scales.tolerance, "trials": scales.trials, "seconds": clock.seconds}
    options: dict[str, Any] = {"normals": ready.normals, "attributes": ready.attributes}
    return Surface(function, ready.points, details, resolution=scales.resolution, **options)


def _ready(points, normals, areas, confidence, unit_normals: bool, sensor, verbose: bool) -> ReadyPoints:
    in_space = normals is None or np.shape(normals)[1:] == (3,)
    points = as_cloud(points, normals) if in_space else points
    columns = {"areas": None if areas is None else weight_per_point("areas", areas, len(points))}
    options: dict[str, Any] = {"confidence": confidence, "columns": columns, "unit_normals": unit_normals}
    if in_space:
        return ReadyPoints.of(points, sensor=sensor, verbose=verbose, **options)
    if sensor is not None:
        raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
    return ReadyPoints.of_arrays(points, normals, **options)


@dataclass(frozen=True)
class _Scales:
    """What an exact fit needs besides the kernel, in the units of the data; smoothness is None where alpha is given."""

    weights: np.ndarray
    smoothness: float | None
    tolerance: float
    resolution: float
    trials: list[dict[str, Any]]

    @classmethod
    def of(cls, ready: ReadyPoints, smoothness, tolerance, resolution: float | None, verbose: bool) -> _Scales:
        """Given or chosen; ``smoothness`` is None where alpha is given."""
        by_alpha = smoothness is None
        given = 1.0 if by_alpha else length_or_auto("smoothness", smoothness)
        distance = length_or_auto("tolerance", tolerance)
        d = ready.points.shape[1]
        if (given is None or distance is None) and d not in _CHOOSABLE:
            raise ValueError(f"lengths are chosen in the plane and in space: give smoothness and tolerance in {d}-D.")
        if "areas" not in ready.columns and d not in _SCALABLE:
            raise ValueError(f"areas are estimated for 2 to 4 coordinates, and the points have {d}: give areas.")
        check_resolution(resolution)
        trials: list[dict[str, Any]] = []
        if d not in _SCALABLE:
            weights = ready.weights()
            finest = (float(np.ptp(ready.points, axis=0).max()) or 1.0) / _CELLS
        else:
            oriented = ready.oriented()
            weights = oriented.area * oriented.size ** (d - 1)
            depth = automatic_depth(oriented)
            if given is None or distance is None:
                ready.require_enough()
                searched = "auto" if by_alpha else smoothness
                model, tried = choose_model(oriented, _ORDER, smoothness=searched, tolerance=tolerance, verbose=verbose)
                found = chosen(model, oriented, tried)
                depth, trials = model.depth, found["trials"]
                given, distance = found["smoothness"], found["tolerance"]
            finest = oriented.size / 2**depth
        assert distance is not None
        return cls(weights, None if by_alpha else given, distance, resolution or finest, trials)


def _solve(
    ready: ReadyPoints,
    kernel: Kernel,
    alpha: float | None,
    tolerance: float,
    weights: np.ndarray,
    null_space,
    iteration: Iteration | None,
) -> tuple[Expansion, float | None, float]:
    """The function, the alpha that was given or found, and the residual."""
    used = weights > 0
    if not used.any():
        raise ValueError("areas and confidence leave no point that counts: one of them is zero everywhere.")
    points, normals, weights = ready.points[used], ready.normals[used], weights[used]
    n, d = points.shape
    functionals = [Functional(points), Functional.gradients(points)]
    targets = np.concatenate([np.zeros(n), normals.ravel()])[:, None]
    # the roots of these weights also bring values and slopes to one unit: the system does not feel the user's
    all_weights = np.concatenate([weights / tolerance**2, np.repeat(weights, d)])
    space = null_space_for("auto" if null_space is None else null_space, kernel, points)
    P = design(space, functionals)
    combinations = identifiable(space, np.sqrt(all_weights)[:, None] * P)
    P = P if combinations is None else P @ combinations
    found = fit_functionals(kernel, functionals, targets, all_weights, P, alpha, iteration)
    null = found.null if combinations is None else combinations @ found.null
    return Expansion(kernel, functionals, found.dual[:, 0], space, null[:, 0]), found.alpha, found.residual


def _least_order(dimension: int) -> int:
    """The least order m with 2 m > d + 2."""
    return dimension // 2 + 2


def _require_gradients(kernel: Kernel, dimension: int) -> None:
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel of seminorm.kernels, got {kernel!r}.")
    rough_polyharmonic = isinstance(kernel, Polyharmonic) and kernel.order < _least_order(dimension)
    if rough_polyharmonic or kernel.for_dimension(dimension).differentiability < 2:
        raise ValueError(
            f"kernel={kernel!r} has no second derivatives where its arguments coincide, and normals need them in "
            f"dimension {dimension} (gradients at points need a semi-norm of order m with 2 m > d + 2): use "
            f"Polyharmonic({_least_order(dimension)}), Matern(2.5), Gaussian() or Multiquadric(). A thin plate with "
            "normals, m = 2, can only be fitted in a basis that is no finer than the points: "
            "seminorm.surfaces.reconstruct(order=2)."
        )


def _given_alpha(kernel: Kernel, smoothness: float | str, alpha: float | str | None) -> float | str | None:
    """The factor of the squared semi-norm, or "auto"; None where the smoothness decides it."""
    by_smoothness = length_or_auto("smoothness", smoothness) is not None
    if by_smoothness and alpha is not None:
        raise ValueError(f"give smoothness or alpha, not both: got smoothness={smoothness!r} and alpha={alpha!r}.")
    if by_smoothness and kernel.dilation_degree is None:
        raise ValueError(
            f"smoothness={smoothness!r} is for polyharmonic kernels, and {kernel!r} has a length scale of its own: "
            "give alpha, the factor of the squared semi-norm."
        )
    if alpha is None:
        return "auto" if kernel.dilation_degree is None else None
    if not (isinstance(alpha, str) and alpha == "auto") and not (isinstance(alpha, Real) and 0 < float(alpha) < np.inf):
        raise ValueError(f"alpha must be a positive number or 'auto', got {alpha!r}.")
    return alpha if isinstance(alpha, str) else float(alpha)
