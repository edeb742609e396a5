"""Does a function belong to the space of a kernel? A numerical test of Aronszajn's theorem (seed 004, 3.1.3).

f belongs to the space of k exactly when k - eps f f' stays positive definite for some eps > 0, and its squared norm is
the smallest 1/eps: the supremum of f_X' K_X^-1 f_X over all finite sets X of points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr
from scipy.stats import qmc

from ..kernels import Kernel
from ..memory import require_memory
from ..nullspace import null_space_for

LEVELLED, GROWING, UNDECIDED = "levelled off", "keeps growing", "undecided"
_RIDGES = 10.0 ** -np.arange(1.0, 14.25, 0.5)
_MOST_SHRINKING, _LEAST_GROWING = (
    0.9,
    1.1,
)  # factors of successive gains, per doubling of points or tenfold smaller ridge
_NEGLIGIBLE = 1e-10
_SETTLED = 0.1  # a rung counts if twice the points change it by less than this part of its gain
_UNRESOLVED = 4  # so many of the lowest rungs may fail to
_LARGEST_REST = 1e-3  # of N, still to come where it has levelled off


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the verdict rests on.

    Attributes
    ----------
    sizes : array (s,)
        Numbers of points, each set containing the one before.
    ridges : array (r,)
        Ridges, relative to the mean of the kernel's diagonal.
    squared_norms : array (s, r)
        f' (K + ridge)^-1 f; every entry is at most the squared norm, up to rounding.
    rounding : array (s, r)
        Bound on the error of ``squared_norms`` that rounding of the kernel matrix makes.
    resolved : int
        So many of the ridges do not feel that there are finitely many points.
    refinement, regularisation : str
        What the squared norms do as points are added at the smallest ridge, and as the ridge is lowered on the
        largest set: "levelled off", "keeps growing" or "undecided".
    """

    sizes: np.ndarray
    ridges: np.ndarray
    squared_norms: np.ndarray
    rounding: np.ndarray
    resolved: int
    refinement: str
    regularisation: str

    def __str__(self) -> str:
        shown = slice(None, None, -(-len(self.ridges) // 7))
        lines = ["points " + "".join(f"{f'ridge {ridge:.0e}':>13}" for ridge in self.ridges[shown])]
        for size, row in zip(self.sizes, self.squared_norms, strict=True):
            lines.append(f"{size:>6} " + "".join(f"{value:>13.5g}" for value in row[shown]))
        lines.append(f"adding points: {self.refinement}; lowering the ridge: {self.regularisation}")
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
    bounds,
    *,
    max_points: int = 1100,
    null_space="auto",
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
        At most so many points; the time is that of the eigenvalues of a matrix of this size.
    null_space : "auto", None, int, callable or NullSpace
        What is left free, as in :class:`seminorm.estimators.Smoother`.

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

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import Laplacian
    >>> from seminorm.operators.belonging import membership
    >>> answer = membership(lambda X: np.exp(-np.abs(X[:, 0])), Laplacian(), (-2.0, 2.0), max_points=257)
    >>> answer.belongs, round(answer.norm, 3)
    (True, 1.0)
    >>> membership(lambda X: np.sign(X[:, 0]), Laplacian(), (-2.0, 2.0), max_points=257).belongs
    False
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
        rows.append(_squared_norms(coefficients, spectrum, np.linalg.norm(values)))
    norms, rounding = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    resolved = _resolved_rungs(norms)
    refinement, regularisation = _trends(norms, rounding, resolved, alternating=len(low) > 1)
    belongs = _verdict(refinement.verdict, regularisation.verdict)
    estimate = max(norms[-1, -1], refinement.limit, regularisation.limit) if belongs else math.nan
    norm = math.inf if belongs is False else math.sqrt(estimate)
    sizes = np.array([len(X) for X, _ in sets])
    evidence = Evidence(sizes, _RIDGES.copy(), norms, rounding, resolved, refinement.verdict, regularisation.verdict)
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
        sets = list(_grids_and_centres(max_points))
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


def _grids_and_centres(max_points: int):
    """Grids of the unit square, and between each and the next one with half the step, the grid with the centres of
    its cells.
    """
    cells = 4
    while (cells + 1) ** 2 <= max_points:
        ticks, weights = np.linspace(0.0, 1.0, cells + 1), _trapezoid(cells + 1)
        grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        product = np.multiply.outer(weights, weights).ravel()
        yield grid, product
        if len(grid) + cells**2 <= max_points:
            middles = 0.5 * (ticks[1:] + ticks[:-1])
            centres = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
            yield np.vstack([grid, centres]), np.r_[0.5 * product, np.full(cells**2, 0.5 / cells**2)]
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
    """Coefficients of the weighted values in the eigenvectors of the weighted kernel matrix on the complement of the
    null space, and its eigenvalues.
    """
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
    """N for every ridge, and what the rounding of the matrix, by eps times its largest eigenvalue, and of the values,
    by eps times their size, does to it.
    """
    dual = coefficients[:, None] / (spectrum[:, None] + _RIDGES * spectrum.sum())
    norms = (coefficients[:, None] * dual).sum(axis=0)
    length = np.linalg.norm(dual, axis=0)
    return norms, np.finfo(float).eps * (spectrum[-1] * length**2 + 2.0 * size * length + norms)


def _resolved_rungs(norms: np.ndarray) -> int:
    """How many ridges, from the largest on, give about the same N on the largest set of points and the one before."""
    gains = np.diff(norms[-1], prepend=0.0)
    change = np.abs(norms[-1] - norms[-2])
    unsettled = change > _SETTLED * np.abs(gains) + _NEGLIGIBLE * norms[-1]
    return int(unsettled.argmax()) if unsettled.any() else norms.shape[1]


@dataclass(frozen=True)
class _Trend:
    """A verdict on a ladder, the limit it tends to, and whether its gains form a geometric series."""

    verdict: str
    limit: float = math.nan
    regular: bool = False


def _trends(norms: np.ndarray, rounding: np.ndarray, resolved: int, alternating: bool) -> tuple[_Trend, _Trend]:
    """The trends of N as points are added, and as the ridge is lowered."""
    largest, last = norms[-1], norms[-1, -1]
    if resolved >= len(largest) - _UNRESOLVED:
        regularisation = _trend(largest[:resolved], rounding[-1, :resolved], 2, _LARGEST_REST, 5 * _LARGEST_REST)
        if regularisation.verdict == LEVELLED and _slower_series_emerges(largest[:resolved]):
            regularisation = _Trend(UNDECIDED)
        return _Trend(LEVELLED, last), regularisation
    # the lower ridges see that there are finitely many points: what they miss is told by the refinement
    refinement = _trend(norms[:, -1], rounding[:, -1], 1, _LARGEST_REST, 20 * _LARGEST_REST)
    regularisation = _trend(largest[:resolved], rounding[-1, :resolved], 2, math.inf, math.inf)
    ridge_matters = abs(last - largest[-3]) > _SETTLED * abs(last - norms[-2, -1])
    if refinement.regular and not ridge_matters and regularisation.verdict == UNDECIDED:
        regularisation = _Trend(LEVELLED, last)
    elif refinement.verdict != LEVELLED and _irregular_points_suffice(norms, resolved, regularisation):
        refinement = _Trend(LEVELLED, last)
    elif refinement.verdict == GROWING and regularisation.verdict == LEVELLED:
        refinement = _Trend(UNDECIDED)
    elif refinement.verdict == UNDECIDED and alternating:
        refinement = _pairwise_trend(norms[:, -1])
    return refinement, _Trend(regularisation.verdict, last)


def _slower_series_emerges(values: np.ndarray) -> bool:
    """Whether smooth ratios of gains rise faster and faster: a slower series, of a weak singularity, comes to light."""
    gains = np.diff(values)
    if gains[-7:].sum() <= 1e-2 * _LARGEST_REST * values[-1]:
        return False
    ratios = (gains[1:] / np.where(gains[:-1] > 0, gains[:-1], np.nan))[-7:]
    rise, earlier_rise = ratios[-1] - ratios[-4], ratios[-4] - ratios[-7]
    return bool(np.ptp(ratios) < 0.1 and rise > max(earlier_rise, 1e-3))


def _pairwise_trend(values: np.ndarray) -> _Trend:
    """Whether the gains of two refinements at a time shrink fast: sets of points that alternate in kind."""
    gains = np.diff(values)
    sums = gains[len(gains) % 2 :].reshape(-1, 2).sum(axis=1)[-3:]
    if len(sums) < 3 or (sums <= 0).any():
        return _Trend(UNDECIDED)
    ratios = sums[1:] / sums[:-1]
    rest = sums[-1] * ratios[1] / abs(1.0 - ratios[1])
    fast = ratios.max() + max(ratios[1] - ratios[0], 0.0) < 0.5
    return _Trend(LEVELLED, values[-1] + rest) if fast and rest < 10 * _LARGEST_REST * values[-1] else _Trend(UNDECIDED)


def _irregular_points_suffice(norms: np.ndarray, resolved: int, regularisation: _Trend) -> bool:
    """Points that meet the kinks of a function irregularly must have stopped to matter, or add no more than promised
    by gains that halve with every tenfold smaller ridge.
    """
    gains = np.diff(norms[:, -1])
    if (np.abs(gains[-3:]) <= 1e-2 * _LARGEST_REST * norms[-1, -1]).all():
        return True
    ridge_gains = np.diff(norms[-1, :resolved])
    fast = regularisation.regular and ridge_gains[-1] < math.sqrt(0.5) * ridge_gains[-2]
    promised, found = regularisation.limit - norms[-1, resolved - 1], norms[-1, -1] - norms[-1, resolved - 1]
    return bool(fast and found < 1.5 * promised < 15 * _LARGEST_REST * norms[-1, -1])


def _trend(
    values: np.ndarray, rounding: np.ndarray, steps_per_unit: int, largest_rest: float, largest_regular_rest: float
) -> _Trend:
    """Whether a sequence levels off or grows without end, judged by the ratios of successive gains.

    Gains may come in lumps (one for each eigenvalue of a smooth kernel): they are summed over parts of the ladder.
    """
    gains = np.diff(values)
    small = np.abs(gains) <= _NEGLIGIBLE * values[1:] + 4.0 * rounding[1:]
    if len(gains) >= 3 and small[-3:].all() and np.abs(gains[-3:]).sum() <= 1e-6 * values[-1]:
        return _Trend(LEVELLED, values[-1])
    gains = gains[: int(small.argmax())] if small.any() else gains
    if len(gains) < 4:
        return _Trend(UNDECIDED)
    together = len(gains) // 4
    sums = _last_four(gains, together)
    half = max(1, len(gains) // 8)
    if _grows(sums, together / steps_per_unit) or _grows(_last_four(gains, half), half / steps_per_unit):
        return _Trend(GROWING, math.inf)
    if np.abs(sums[-1]) <= 1e-2 * _LARGEST_REST * values[-1]:
        return _Trend(LEVELLED, values[-1])
    if not _shrinks(sums, together / steps_per_unit):
        return _Trend(UNDECIDED)
    rest = sums[-1] ** 2 / (sums[-2] - sums[-1])
    regular = _regular(gains)
    if rest > (largest_regular_rest if regular else largest_rest) * values[-1]:
        return _Trend(UNDECIDED)
    return _Trend(LEVELLED, values[-1] + rest, regular)


def _last_four(gains: np.ndarray, together: int) -> np.ndarray:
    return gains[len(gains) - 4 * together :].reshape(4, together).sum(axis=1)


def _grows(sums: np.ndarray, units: float) -> bool:
    if (sums <= 0).any():
        return False
    ratios = sums[1:] / sums[:-1]
    return bool(ratios.min() + min(ratios[2] - ratios[0], 0.0) > _LEAST_GROWING**units)


def _shrinks(sums: np.ndarray, units: float) -> bool:
    if (sums <= 0).any():
        return False
    ratios = sums[1:] / sums[:-1]
    turning = ratios[2] - ratios[1] > max(ratios[1] - ratios[0], 0.02)
    return bool(not turning and ratios.max() + max(ratios[2] - ratios[0], 0.0) < _MOST_SHRINKING**units)


def _regular(gains: np.ndarray) -> bool:
    """Whether the last ratios of gains are alike, and do not creep up: a slower series may hide under a fast one."""
    if (gains[-5:] <= 0).any():
        return False
    ratios = (gains[1:] / gains[:-1])[-4:]
    return bool(np.ptp(ratios) < 0.1 and ratios[-1] - ratios.min() < 0.025)


def _verdict(refinement: str, regularisation: str) -> bool | None:
    if GROWING in (refinement, regularisation):
        return False
    return True if refinement == regularisation == LEVELLED else None
