"""Does a function belong to the space of a kernel? A numerical test of Aronszajn's theorem [Walder 2008, 3.1.3].

f belongs to the space of k exactly when k - eps f f' stays positive definite for some eps > 0, and its squared norm is
the smallest 1/eps: the supremum of f_X' K_X^-1 f_X over all finite sets X of points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr
from scipy.stats import qmc

from .._base.memory import require_memory
from ..kernels import Kernel
from ..nullspace import null_space_for
from .trends import resolved_rungs, trends, verdict

_RIDGES = 10.0 ** -np.arange(1.0, 14.25, 0.5)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the verdict rests on; every entry of ``squared_norms`` is at most the squared norm, up to rounding."""

    sizes: np.ndarray  #: (s,) numbers of points, each set containing the one before
    ridges: np.ndarray  #: (r,) relative to the mean of the kernel's diagonal
    squared_norms: np.ndarray  #: (s, r) f' (K + ridge)^-1 f
    rounding: np.ndarray  #: (s, r) bound on their error that rounding of the kernel matrix makes
    resolved: int  #: number of ridges that do not feel that there are finitely many points
    refinement: str  #: what the squared norms do as points are added at the smallest ridge:
    regularization: str  #: "levelled off", "keeps growing" or "undecided"; as the ridge is lowered on the largest set

    def __str__(self) -> str:
        shown = slice(None, None, -(-len(self.ridges) // 7))
        lines = ["points " + "".join(f"{f'ridge {ridge:.0e}':>13}" for ridge in self.ridges[shown])]
        for size, row in zip(self.sizes, self.squared_norms, strict=True):
            lines.append(f"{size:>6} " + "".join(f"{value:>13.5g}" for value in row[shown]))
        lines.append(f"adding points: {self.refinement}; lowering the ridge: {self.regularization}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Membership:
    """The answer of :func:`membership`.

    Attributes
    ----------
    belongs : bool or None
        None: the numbers do not tell.
    norm : float
        Estimate of the norm (semi-norm) if the function belongs, infinite if not, NaN if undecided.
    lower_bound : float
        The norm, if it is finite, is at least this.
    null_dimension : int
        Dimension of the functions left free: if positive, ``norm`` is a semi-norm that does not see them.
    evidence : Evidence

    See Also
    --------
    membership

    Examples
    --------
    >>> from seminorm.kernels import Laplacian
    >>> from seminorm.operators import membership
    >>> str(membership(lambda X: X[:, 0] > 0, Laplacian(), (-2.0, 2.0), max_points=257))[:28]
    'does not belong to the space'
    """

    belongs: bool | None
    norm: float
    lower_bound: float
    null_dimension: int
    evidence: Evidence

    def __str__(self) -> str:
        name = f"semi-norm (modulo {self.null_dimension} free functions)" if self.null_dimension else "norm"
        answer = {
            True: f"belongs to the space, {name} about {self.norm:.6g}",
            False: f"does not belong to the space: its {name} exceeds {self.lower_bound:.3g} and keeps growing",
            None: f"undecided: the {name} is at least {self.lower_bound:.6g}",
        }
        return f"{answer[self.belongs]}\n{self.evidence}"


def membership(
    function: Callable[[np.ndarray], np.ndarray],
    kernel: Kernel,
    bounds: Any,
    *,
    max_points: int = 1100,
    null_space: Any = "auto",
) -> Membership:
    """Test numerically whether a function, restricted to a box, belongs to the space of a kernel.

    On nested sets of n points that fill the box, and for ridges delta, it computes

        N(n, delta) = f' (K + delta mean(diag K) W^-1)^-1 f,       W the weights of the points (about 1/n),

    which tends to the squared norm from below as n grows and delta falls, and to infinity if f is not in the space. For
    many points it is the least |g|^2 + |f - g|^2 / (delta mean(diag K)) over g, with the mean square on the box. The
    function belongs if both the refinement of the points and the lowering of the ridge have levelled off: their gains
    shrink geometrically. It does not if the gains of either grow geometrically. Anything else - gains that neither
    shrink nor grow, that are irregular, or that are about to turn - is undecided.

    Parameters
    ----------
    function : callable
        Maps points X (n, d) to values (n,).
    kernel : Kernel
        Positive definite, or conditionally: then its null space (the polynomials of degree ``kernel.null_degree``) is
        projected out of the kernel and the function, and the semi-norm modulo these is estimated.
    bounds : (low, high)
        Corners of the box: two sequences of d numbers, or two numbers for an interval.
    max_points : int
        The largest number of points; the time is that of the eigenvalues of a matrix of this size.
    null_space : "auto", None, int, callable or NullSpace
        What is left free, as in :class:`seminorm.estimators.Smoother`.

    Returns
    -------
    Membership

    Notes
    -----
    No finite computation can prove either answer. What is small against the rest of the function is not seen: a weak
    singularity, such as |x - c|^a with a just below the critical exponent of a space of three or more derivatives, or
    one between the points, can be taken for a member. Functions that oscillate faster than the kernel resolves in
    double precision look like strangers: their norm, if finite, is beyond ``lower_bound``.

    The space of a Gaussian consists of analytic functions: restricting them to a box loses nothing in theory, but the
    numbers see the box alone. Constants are not in this space, and yet N grows so slowly on a box that they come out
    undecided; so do Gaussians within some five per cent of the critical width scale / sqrt(2), and more on boxes that
    are small against the scale. A kernel whose scale is small against the box needs more points.

    See Also
    --------
    spectral_seminorm

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import Laplacian
    >>> from seminorm.operators import membership
    >>> answer = membership(lambda X: np.exp(-np.abs(X[:, 0])), Laplacian(), (-2.0, 2.0), max_points=257)
    >>> answer.belongs, round(answer.norm, 3)
    (True, 1.0)
    """
    low, high = _box(bounds)
    kernel = kernel.for_dimension(len(low))
    if kernel.is_indefinite:
        raise ValueError(f"kernel must be (conditionally) positive definite to have a space, and {kernel!r} is not.")
    sets = _nested_points(low, high, max_points)
    require_memory(4 * 8 * len(sets[-1][0]) ** 2, "the test of membership", "lower max_points.")
    rows, null_dimension = [], 0
    for X, weights in sets:
        space = null_space_for(null_space, kernel, X)
        values = np.sqrt(weights) * _values(function, X)
        coefficients, spectrum = _spectral_form(values, kernel, X, weights, space)
        null_dimension = len(X) - len(spectrum)
        rows.append(_squared_norms(coefficients, spectrum, float(np.linalg.norm(values))))
    norms, rounding = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    resolved = resolved_rungs(norms)
    refinement, regularization = trends(norms, rounding, resolved, alternating=len(low) > 1)
    belongs = verdict(refinement.verdict, regularization.verdict)
    estimate = max(norms[-1, -1], refinement.limit, regularization.limit) if belongs else math.nan
    norm = math.inf if belongs is False else math.sqrt(estimate)
    sizes = np.array([len(X) for X, _ in sets])
    evidence = Evidence(sizes, _RIDGES.copy(), norms, rounding, resolved, refinement.verdict, regularization.verdict)
    bound = math.sqrt(max((norms - rounding).max(), 0.0))
    return Membership(belongs, norm, bound, null_dimension, evidence)


def _box(bounds) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = (np.atleast_1d(np.asarray(corner, dtype=float)) for corner in bounds)
        low, high = np.broadcast_arrays(low, high)
    except (TypeError, ValueError):
        raise ValueError(f"bounds must be two corners (low, high) of a box, got {bounds!r}.") from None
    if low.ndim != 1 or not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(f"bounds must be finite corners with low < high in every coordinate, got {bounds!r}.")
    return low, high


def _nested_points(low: np.ndarray, high: np.ndarray, max_points: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sets of points, each in the next, with the weights of a mean over the box."""
    dimension = len(low)
    smallest = 129 if dimension == 1 else 256
    if not (isinstance(max_points, (int, np.integer)) and max_points >= smallest):
        raise ValueError(
            f"max_points must be an integer of at least {smallest} in {dimension} dimensions, got {max_points!r}."
        )
    if dimension == 1:
        sizes = [2**k + 1 for k in range(3, int(max_points).bit_length()) if 2**k + 1 <= max_points]
        sets = [(np.linspace(0.0, 1.0, size)[:, None], _trapezoid(size)) for size in sizes]
    elif dimension == 2:
        sets = list(_grids_and_centers(max_points))
    else:
        sizes = [2**k for k in range(4, int(max_points).bit_length())]
        sequence = qmc.Halton(dimension, scramble=False).random(sizes[-1] + 1)[1:]
        sets = [(sequence[:size], np.full(size, 1.0 / size)) for size in sizes]
    # finer towards the sides, where derivatives are seen from one side only; rules of equal angles are very accurate
    return [(low + (high - low) * np.sin(0.5 * math.pi * points) ** 2, weights) for points, weights in sets]


def _trapezoid(size: int) -> np.ndarray:
    weights = np.full(size, 1.0 / (size - 1))
    weights[[0, -1]] *= 0.5
    return weights


def _grids_and_centers(max_points: int):
    """Grids of the unit square, and between each and the next, of half the step, the grid with the cells' centres."""
    cells = 4
    while (cells + 1) ** 2 <= max_points:
        ticks, weights = np.linspace(0.0, 1.0, cells + 1), _trapezoid(cells + 1)
        grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        product = np.multiply.outer(weights, weights).ravel()
        yield grid, product
        if len(grid) + cells**2 <= max_points:
            middles = 0.5 * (ticks[1:] + ticks[:-1])
            centers = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
            yield np.vstack([grid, centers]), np.r_[0.5 * product, np.full(cells**2, 0.5 / cells**2)]
        cells *= 2


def _values(function, X: np.ndarray) -> np.ndarray:
    values = np.asarray(function(X), dtype=float)
    if values.shape != (len(X),):
        raise ValueError(f"function must map X (n, d) to n = {len(X)} values, got shape {values.shape}.")
    if not np.isfinite(values).all():
        place = X[np.flatnonzero(~np.isfinite(values))[0]]
        raise ValueError(f"function is not finite at {place.tolist()}: choose bounds within its domain.")
    return values


def _spectral_form(values, kernel, X, weights, space) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the weighted values in the eigenvectors of the weighted, projected matrix; its eigenvalues."""
    roots = np.sqrt(weights)
    matrix = roots[:, None] * kernel(X) * roots
    basis = roots[:, None] * space(X)
    if basis.shape[1]:
        Q, R, _ = qr(basis, pivoting=True)
        diagonal = np.abs(np.diag(R))
        complement = Q[:, int((diagonal > 1e-12 * diagonal[0]).sum()) :]
        size, values = np.linalg.norm(values), complement.T @ values
        values = values if np.linalg.norm(values) > 1e-13 * size else np.zeros_like(values)
        matrix = complement.T @ matrix @ complement
    eigenvalues, vectors = eigh(matrix, check_finite=False)
    if eigenvalues[0] < -1e-8 * eigenvalues[-1]:
        raise ValueError(
            f"kernel must be positive definite on the complement of the null space, and {kernel!r} has the "
            f"eigenvalue {eigenvalues[0]:.2g} there (largest: {eigenvalues[-1]:.2g})."
        )
    return vectors.T @ values, np.maximum(eigenvalues, 0.0)


def _squared_norms(coefficients: np.ndarray, spectrum: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """N for every ridge, and what the rounding of the matrix and of the values does to it."""
    dual = coefficients[:, None] / (spectrum[:, None] + _RIDGES * spectrum.sum())
    norms = (coefficients[:, None] * dual).sum(axis=0)
    length = np.linalg.norm(dual, axis=0)
    return norms, np.finfo(float).eps * (spectrum[-1] * length**2 + 2.0 * size * length + norms)
