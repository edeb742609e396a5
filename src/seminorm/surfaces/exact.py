"""The exact function of oriented points: a dense solve, for some thousand points and as the oracle of the fast path.

Minimised is (seed 004, (4.3), with weights and a null space)

    alpha |f|^2 + sum_i w_i (|grad f(x_i) - n_i|^2 + f(x_i)^2 / tolerance^2),

all lengths in the units of the points. The answer combines the kernel and its gradients at the points (4.4).
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils import check_array

from .. import _threads as threads
from ..functions import Expansion, Functional, design, gram
from ..kernels import Kernel, Polyharmonic
from ..memory import require_memory
from ..nullspace import identifiable, null_space_for
from ..solvers.ridge import Factor, ReducedSystem
from ..solvers.selection import choose_alpha

_MATRICES = 4  # of the size of the system, at the same time (measured: 2.8 to 3.4)


def fit_exact(
    points,
    normals,
    *,
    kernel: Kernel | None = None,
    smoothness: float | None = None,
    alpha: float | str | None = None,
    tolerance: float,
    weights=None,
    null_space=None,
) -> Expansion:
    """Fit a function that vanishes at the points and has the normals as its gradients there, without approximation.

    It is negative inside (normals point outwards) and in units of length near the surface. Time grows with the cube,
    memory with the square of n (1 + d) observations: 2000 points in space need about 2 GB.

    Parameters
    ----------
    points, normals : arrays (n, d)
        Normals are taken as they are: of length 1 for values that are distances near the surface.
    kernel : Kernel, optional
        Twice differentiable where its arguments coincide. Left out, the polyharmonic kernel of the lowest order m with
        2 m > d + 2: ``Polyharmonic(3)`` in the plane and in space.
    smoothness : float
        Gives alpha = smoothness**(2 m - 3) for ``Polyharmonic(m)``. With areas (in the plane: lengths) for weights, it
        is the length below which details are smoothed away.
    alpha : float or "auto"
        Factor of the squared semi-norm, in place of ``smoothness``: for kernels with a length scale of their own.
        "auto" for the most likely one (restricted maximum likelihood), which takes several times longer.
    tolerance : float
        Distance from a point that weighs as much as a unit error of its normal.
    weights : array (n,), optional
        The area that each point stands for, times its confidence; 1 if left out. Points of weight 0 are left out.
    null_space : optional
        What is left free, as for :class:`seminorm.Smoother`; left out, the polynomials of the kernel's
        ``null_degree``.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.exact import fit_exact
    >>> angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> f = fit_exact(circle, circle, smoothness=0.1, tolerance=0.1)
    >>> f([[0.0, 0.0], [1.0, 0.0], [1.2, 0.0]]).round(3) + 0.0
    array([-0.5 ,  0.  ,  0.22])
    """
    return solve_exactly(points, normals, kernel, smoothness, alpha, tolerance, weights, null_space)[0]


def solve_exactly(
    points, normals, kernel, smoothness, alpha, tolerance, weights=None, null_space=None
) -> tuple[Expansion, float]:
    """:func:`fit_exact`, and the alpha it took."""
    points, normals, weights = _checked_data(points, normals, weights)
    n, d = points.shape
    kernel = Polyharmonic(_least_order(d)) if kernel is None else kernel
    require_gradients(kernel, d)
    alpha = _factor_of_seminorm(kernel.for_dimension(d), d, smoothness, alpha)
    _require_positive("tolerance", tolerance)
    size = n * (1 + d)
    require_memory(
        _MATRICES * 8 * size**2,
        f"an exact fit of {n} oriented points ({size} observations)",
        "fit a part of the points, or use seminorm.surfaces.fitting.fit_surface, which takes millions of them.",
    )
    functionals = [Functional(points), Functional.gradients(points)]
    targets = np.concatenate([np.zeros(n), normals.ravel()])[:, None]
    # the roots of these weights also bring values and slopes to one unit: the system does not feel the user's
    all_weights = np.concatenate([weights / tolerance**2, np.repeat(weights, d)])
    space = null_space_for("auto" if null_space is None else null_space, kernel, points)
    with threads.suited_to(size):
        dual, null, alpha = _solve(kernel, functionals, targets, all_weights, space, alpha)
    return Expansion(kernel, functionals, dual, space, null), alpha


def _solve(kernel, functionals, targets, weights, space, alpha: float | None):
    P = design(space, functionals)
    combinations = identifiable(space, np.sqrt(weights)[:, None] * P)
    P = P if combinations is None else P @ combinations
    system = ReducedSystem(gram(kernel, functionals), P, targets, weights)
    if system.size == system.rank:  # the null space meets all observations
        g = np.empty((0, 1))
    elif alpha is None:
        chosen = choose_alpha(system, "reml")
        g, alpha = chosen.g, chosen.alpha
    else:
        g = Factor(system, alpha).g
    dual, null = system.coefficients(g)
    return dual[:, 0], (null if combinations is None else combinations @ null)[:, 0], alpha


def _checked_data(points, normals, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = check_array(points, dtype=np.float64, input_name="points")
    normals = check_array(normals, dtype=np.float64, input_name="normals")
    if normals.shape != points.shape:
        raise ValueError(f"normals must have the shape of points, {points.shape}, got {normals.shape}.")
    zero = np.flatnonzero(~normals.any(axis=1))
    if len(zero):
        raise ValueError(
            f"normals must not be zero, and {len(zero)} of {len(normals)} are, the first in row {zero[0]}: leave "
            "these points out."
        )
    if weights is None:
        return points, normals, np.ones(len(points))
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (len(points),) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            f"weights must be {len(points)} finite numbers, none negative and not all zero, one for each point; got "
            f"shape {weights.shape}" + (f" from {weights.min():g} to {weights.max():g}." if weights.size else ".")
        )
    used = weights > 0
    return points[used], normals[used], weights[used]


def _least_order(dimension: int) -> int:
    """The least order m with 2 m > d + 2."""
    return dimension // 2 + 2


def require_gradients(kernel: Kernel, dimension: int) -> None:
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel of seminorm.kernels, got {kernel!r}.")
    rough_polyharmonic = isinstance(kernel, Polyharmonic) and kernel.m < _least_order(dimension)
    if rough_polyharmonic or kernel.for_dimension(dimension).smoothness < 2:
        raise ValueError(
            f"kernel={kernel!r} has no second derivatives where its arguments coincide, and normals need them in "
            f"dimension {dimension} (gradients at points need a semi-norm of order m with 2 m > d + 2): use "
            f"Polyharmonic({_least_order(dimension)}), Matern(2.5), Gaussian() or Multiquadric(). A thin plate with "
            "normals, m = 2, can only be fitted in a basis that is no finer than the points: "
            "seminorm.surfaces.fitting.fit_surface."
        )


def _factor_of_seminorm(kernel: Kernel, dimension: int, smoothness, alpha) -> float | None:
    if (smoothness is None) == (alpha is None):
        raise ValueError(f"give one of smoothness and alpha, got smoothness={smoothness!r} and alpha={alpha!r}.")
    if isinstance(alpha, str) and alpha == "auto":
        return None
    if alpha is not None:
        _require_positive("alpha", alpha)
        return float(alpha)
    _require_positive("smoothness", smoothness)
    if kernel.dilation_degree is None:
        raise ValueError(
            f"smoothness={smoothness!r} is for polyharmonic kernels, and {kernel!r} has a length scale of its own: "
            "give alpha, the factor of the squared semi-norm."
        )
    return float(smoothness) ** (kernel.dilation_degree + dimension - 3)


def _require_positive(name: str, value) -> None:
    if not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
