"""Choosing the regularisation parameter of least squares with a semi-norm: criteria along the path of alphas."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..linear.paths import BandPath, EigenPath, PathSummary, factor_path
from .likelihood import deviance
from .system import Factor, ReducedSystem, quotient

CRITERIA = ("auto", "gcv", "loo", "reml")
_DECADES = (-14, 1)
_PER_DECADE = 3
_REFINEMENTS = 2
FEW = 1400  # observations up to which leave-one-out is computed for every alpha
_NEARLY = 0.7  # effective degrees of freedom, as a share of n, from which on a fit nearly interpolates


@dataclass
class Solution:
    """The solution of a reduced system at one alpha, and the criterion along the path that led to it."""

    alpha: float
    path: dict[str, np.ndarray]  #: "alpha", "score" (the criterion) and "edf"
    g: np.ndarray  #: solution of (M + alpha) g = z
    edf: float
    variance: np.ndarray  #: estimate of the prior variance for each output; NaN if nothing is left to estimate it from
    factor: Factor | None = None
    left_out: float = np.nan  #: the weighted mean square of the leave-one-out residuals, where it is known


def solve(system: ReducedSystem, alpha: float | np.ndarray | None, criterion: str, verbose: bool = False) -> Solution:
    """Solve at a given alpha, the best of some candidates, or (None) the best alpha; overwrites the system's matrix."""
    if system.size == system.rank:  # the null space interpolates, whatever alpha is
        return _null_space_only(system, 0.0 if alpha is None or np.ndim(alpha) else float(alpha))
    if alpha is None or np.ndim(alpha):
        return choose_alpha(system, criterion, None if alpha is None else np.asarray(alpha), verbose)
    return _at_given_alpha(system, float(alpha), criterion)


def _null_space_only(system: ReducedSystem, alpha: float) -> Solution:
    outputs, size = system.z.shape[1], float(system.size)
    path = {"alpha": np.array([alpha]), "score": np.array([np.nan]), "edf": np.array([size])}
    return Solution(alpha, path, np.empty((0, outputs)), size, np.full(outputs, np.nan))


def _at_given_alpha(system: ReducedSystem, alpha: float, criterion: str) -> Solution:
    factor = Factor(system, alpha)
    summary = factor.summary()
    edf = system.rank + factor.kept - alpha * summary.trace
    if criterion == "loo":
        weights = system.root**2
        squares = (weights * factor.leave_one_out() ** 2).sum(axis=0)
        score = np.array([(squares / output_units(system)).sum() / weights.sum()])
    elif criterion == "gcv" and factor.kept < system.size - system.rank:
        left = system.size - edf + system.repeats
        residual = ((factor.residual_squares() + system.scatter) / output_units(system)).sum()
        score = (system.size + system.repeats) * residual / left**2
    else:
        score = _criterion_of(criterion, system, np.array([alpha]), summary, factor.kept)
    path = {"alpha": np.array([alpha]), "score": score, "edf": edf}
    return Solution(alpha, path, factor.g, float(edf[0]), _prior_variance(system, alpha, summary, factor.kept), factor)


def _prior_variance(system: ReducedSystem, alpha: float, summary: PathSummary, degrees: int) -> np.ndarray:
    """The most likely variance: energy of the contrasts, and scatter of repeated samples in units of the noise."""
    scatter = system.scatter / alpha if system.repeats else 0.0
    return (summary.energy[0] + scatter) / (degrees + system.repeats)


def choose_alpha(
    system: ReducedSystem, criterion: str, alphas: np.ndarray | None = None, verbose: bool = False
) -> Solution:
    """Minimise the criterion over a grid, refined unless it is given; ties go to the larger alpha."""
    M = system.take_matrix()
    if criterion == "auto":
        criterion = "loo" if len(M) <= FEW else "gcv"
        kept = None if criterion == "loo" else np.array(M)
    else:
        kept = None
    path = factor_path(M, system.z, with_vectors=criterion == "loo", verbose=verbose)
    grid = default_grid(path.trace) if alphas is None else np.unique(np.asarray(alphas, dtype=float))
    score = _scorer(criterion, system, path)
    scores, traces = score(grid)
    best = _last_minimum(scores)
    if kept is not None:
        best = _judged(system, kept, grid, scores, traces, best)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    for _ in range(_REFINEMENTS if alphas is None else 0):
        finer = np.geomspace(low, high, 10)[1:-1]
        finer_scores, finer_traces = score(finer)
        grid, order = np.unique(np.concatenate([grid, finer]), return_index=True)
        scores = np.concatenate([scores, finer_scores])[order]
        traces = np.concatenate([traces, finer_traces])[order]
        best = _last_minimum(scores)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    alpha = float(grid[best])
    table = {"alpha": grid, "score": scores, "edf": system.size - grid * traces}
    degrees = system.size - system.rank
    variance = _prior_variance(system, alpha, path.summary(np.array([alpha])), degrees)
    left_out = np.nan
    if isinstance(path, EigenPath):
        left_out = float(_leave_one_out_path(system, path, np.array([alpha]))[0])
    return Solution(alpha, table, path.solve(alpha), float(table["edf"][best]), variance, left_out=left_out)


def _judged(system: ReducedSystem, M: np.ndarray, grid, scores, traces, best: int) -> int:
    """The minimum of a generalised cross-validation that leave-one-out finds best.

    Where few close points dominate the trace, the criterion has a second minimum, or falls to zero, near
    interpolation. A single minimum far from there needs no judge; otherwise M is factorised once for each.
    """
    finite = np.where(np.isfinite(scores), scores, np.inf)
    padded = np.concatenate([[np.inf], finite, [np.inf]])
    minima = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:]) & np.isfinite(finite))
    edf = system.size - grid * traces
    if len(minima) == 1 and edf[best] < _NEARLY * system.size:
        return best
    tame = np.where(edf < _NEARLY * system.size, finite, np.inf)
    if np.isfinite(tame).any():
        minima = np.union1d(minima, [int(np.argmin(tame))])
    judged = {}
    for k in minima:
        system.M = np.array(M, order="F")
        residual = Factor(system, float(grid[k])).leave_one_out()
        judged[int(k)] = float((system.root**2 * residual**2).sum() / output_units(system).sum())
    return min(judged, key=lambda k: judged[k])


def default_grid(trace: float) -> np.ndarray:
    """From nearly interpolating to nearly the null space alone, in units of the trace of M, as the data scale."""
    low, high = _DECADES
    return max(trace, np.finfo(float).tiny * 1e20) * np.logspace(low, high, (high - low) * _PER_DECADE + 1)


def _last_minimum(scores: np.ndarray) -> int:
    if not np.isfinite(scores).any():
        raise ValueError(
            "alpha could not be chosen: the criterion is not finite for any alpha of the grid. Give alpha a "
            "number, or larger candidates."
        )
    lowest = np.nanmin(np.where(np.isfinite(scores), scores, np.inf))
    return int(np.flatnonzero(scores <= lowest + 1e-12 * abs(lowest))[-1])


def _scorer(criterion: str, system: ReducedSystem, path: EigenPath | BandPath):
    """A function alphas -> (criterion, trace of (M + alpha)^-1)."""

    def score(alphas: np.ndarray):
        summary = path.summary(alphas)
        if criterion == "loo":
            assert isinstance(path, EigenPath)
            scores = _leave_one_out_path(system, path, alphas)
        else:
            scores = _criterion_of(criterion, system, alphas, summary)
        return np.where(np.isfinite(summary.trace), scores, np.nan), summary.trace  # NaN: alpha drowns in rounding

    floor = (
        np.finfo(float).eps ** 2
        * len(system.z)
        * max((system.y_null**2).sum() + (system.z**2).sum(), np.finfo(float).tiny)
    )
    if (system.z**2).sum() <= floor:  # the null space explains the data: every alpha fits, take the largest
        return lambda alphas: (np.zeros(len(alphas)), path.summary(alphas).trace)
    return score


def output_units(system: ReducedSystem) -> np.ndarray:
    """What makes several outputs comparable when their errors are added: their mean squares (1 for a single output)."""
    if system.z.shape[1] == 1:
        return np.ones(1)
    return np.maximum((system.z**2).mean(axis=0), np.finfo(float).tiny)


def _criterion_of(criterion, system: ReducedSystem, alphas: np.ndarray, summary: PathSummary, kept: int | None = None):
    if criterion == "gcv":
        return generalized_cross_validation(
            alphas, summary, system.size, system.repeats, system.scatter, output_units(system)
        )
    degrees = system.size - system.rank if kept is None else kept
    return restricted_likelihood(alphas, summary, degrees, system.repeats, system.scatter)


def generalized_cross_validation(
    alphas: np.ndarray, summary: PathSummary, n: int, repeats: int, scatter: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """n |y - A y|^2 / tr(I - A)^2, summed over the outputs in units of each; repeated samples add their scatter."""
    if not repeats:  # the factors of alpha cancel: also right for alpha = 0
        return n * (summary.squares / units).sum(axis=1) / summary.trace**2
    residual = ((alphas[:, None] ** 2 * summary.squares + scatter) / units).sum(axis=1)
    return (n + repeats) * residual / (alphas * summary.trace + repeats) ** 2


def restricted_likelihood(
    alphas: np.ndarray, summary: PathSummary, degrees: int, repeats: int, scatter: np.ndarray
) -> np.ndarray:
    """Minus the logarithm of the restricted likelihood with the best variance v, summed over the outputs.

    Contrasts z ~ N(0, v (M + alpha I)), and the scatter of repeated samples about their means has variance v alpha.
    """
    total = degrees + repeats
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = summary.energy + (scatter / alphas[:, None] if repeats else 0.0)
        logdet = summary.logdet + (repeats * np.log(alphas) if repeats else 0.0)
        return 0.5 * (deviance(energy, logdet[:, None], total) + total * np.log(2 * np.pi)).sum(axis=1)


def _leave_one_out_path(system: ReducedSystem, path: EigenPath, alphas: np.ndarray) -> np.ndarray:
    """Weighted mean of squared leave-one-out residuals for every alpha, summed over the outputs in units of each."""
    units = output_units(system)
    total = np.zeros(len(alphas))
    for _, residuals in left_out_residuals(system, path, alphas):
        total += ((residuals**2).sum(axis=1) / units).sum(axis=1)
    return total / (system.root**2).sum()


def left_out_residuals(
    system: ReducedSystem, path: EigenPath, alphas: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Residuals (q, rows, k) of observations left out, times the roots of their weights, a block of rows at a time."""
    inverse = 1.0 / (path.values[:, None] + alphas)
    for rows, block in system.lift(path.vectors):
        diagonal = (block**2) @ inverse
        dual = np.stack([block @ (path.z[:, output, None] * inverse) for output in range(path.z.shape[1])], axis=-1)
        yield rows, quotient(dual, diagonal[:, :, None]).transpose(1, 0, 2)
