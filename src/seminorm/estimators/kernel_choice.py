"""Which kernel a smoother uses: the one whose fit has the smallest leave-one-out error among those to be tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._base.memory import require_memory
from .._base.warnings import warn_user
from ..kernels import Kernel, NegativeDistance, VectorKernel
from ..nullspace import SoftTwin
from ..solvers.ridge.reweighted import SeparableError
from .attempts import Attempt, advice
from .base import kernel_for
from .settling import choose_scale, has_open_scale, in_metric, is_learned, standardized

if TYPE_CHECKING:
    from .smoother import Smoother

_FACTORS = (1.0, 10.0, 100.0)  # of the soft null space
_FEW = 40  # points per free function from which on nothing is left to choose in few dimensions
_LOW_DIMENSION = 3
_MANY = 1000  # points on which kernels are compared
_GAIN = 0.005  # share by which a later kernel must be better than an earlier one


class FitToSome(Protocol):
    """The fit of one kernel to all observations, or by a factorisation to the values at some of the points."""

    def __call__(self, kernel: Kernel, part: np.ndarray | None = None) -> Attempt: ...


def best_attempt(smoother: Smoother, X: np.ndarray, weights: np.ndarray, fit: FitToSome, values_only: bool) -> Attempt:
    """The attempt with the smallest leave-one-out error among the kernels to be tried; with many points they are
    compared on some of them."""
    many = len(X) > _MANY and values_only
    part = np.sort(np.random.default_rng(0).permutation(len(X))[:_MANY]) if many else None

    def small(kernel: Kernel) -> Attempt:
        return fit(kernel, part)

    settled = _settled(smoother, X, weights, small)
    kernels = _candidates(smoother, settled, X if part is None else X[part], values_only)
    if len(kernels) == 1:
        return fit(_on_all(kernels[0], X))
    if isinstance(settled, VectorKernel):
        likely = min(map(small, kernels), key=lambda attempted: attempted.score)
        return fit(likely.kernel) if many else likely
    best, *others = _attempts(small, kernels)
    for attempted in others:
        if attempted.left_out < (1.0 - _GAIN) * best.left_out:
            best = attempted
    return fit(_on_all(best.kernel, X)) if many else best


def _settled(smoother: Smoother, X: np.ndarray, weights: np.ndarray, fit: Callable[[Kernel], Attempt]) -> Kernel:
    """The kernel that was asked for, with its scale."""

    def score(kernel: Kernel) -> float:
        return fit(kernel).left_out

    settled = kernel_for(smoother.kernel, X, names=getattr(smoother, "feature_names_in_", None))
    is_open = has_open_scale(settled) or smoother.metric == "auto"
    if is_learned(smoother.metric):
        settled = in_metric(settled, smoother.metric_)
    elif smoother.metric == "standardize":
        settled = standardized(settled, X, weights)
    if is_open:
        settled, raw = choose_scale(settled, X, score), settled
        if smoother.metric == "auto":
            other = choose_scale(standardized(raw, X, weights), X, score)
            settled = other if score(other) < score(settled) else settled
    return settled


def _candidates(smoother: Smoother, base: Kernel, X: np.ndarray, values_only: bool) -> list[Kernel]:
    """Kernels to be tried, the first preferred: where points are few for the linear functions that the thin plate
    leaves free, also with these at a price, and -r, which leaves the constant free."""
    if isinstance(base, VectorKernel):
        return [kernel.for_dimension(X.shape[1]) for kernel in base.alternatives()]
    if smoother.term_factors is not None:
        return [base]
    n, d = X.shape
    named = isinstance(smoother.null_space, str)
    wants_soft = named and smoother.null_space == "soft"
    automatic = named and smoother.null_space == "auto" and isinstance(smoother.alpha, str)
    few = n < _FEW * (d + 1) or d > _LOW_DIMENSION
    if base.null_degree < 1 or not (wants_soft or (automatic and values_only and few and n > d + 1)):
        return [base]
    require_memory(3 * 8 * n**2, f"a dense fit of {n} observations", advice(d))
    factors = _FACTORS if isinstance(smoother.alpha, str) else (10.0,)
    soft: list[Kernel] = [SoftTwin(base, X, factor).for_dimension(d) for factor in factors]
    if wants_soft or smoother.kernel is not None:
        return soft if wants_soft else [base, *soft]
    scale = getattr(base, "scale", None)  # of the columns, if they were standardised
    rough = NegativeDistance() if scale is None else NegativeDistance().axis_scale(scale)
    if is_learned(smoother.metric):
        rough = in_metric(rough, smoother.metric_)
    return [base, rough.for_dimension(d), *soft]


def _attempts(fit: Callable[[Kernel], Attempt], kernels: list[Kernel]) -> list[Attempt]:
    """The fits of all kernels; the first must be possible, unless what it leaves free separates the data."""
    try:
        return [fit(kernels[0]), *_possible(fit, kernels[1:])]
    except SeparableError:
        others = _possible(fit, kernels[1:])
        if not others:
            raise
        warn_user(
            f"what {kernels[0]!r} leaves free separates the extreme values of y from the others, and has no best fit: "
            "a price was put on it, or another kernel taken. See null_space_used_ and kernel_."
        )
        return others


def _possible(fit: Callable[[Kernel], Attempt], kernels: list[Kernel]) -> list[Attempt]:
    """The attempts that do not fail."""
    found = []
    for kernel in kernels:
        try:
            found.append(fit(kernel))
        except (ValueError, np.linalg.LinAlgError):
            continue
    return found


def _on_all(kernel: Kernel, X: np.ndarray) -> Kernel:
    """The kernel that was chosen on some points, for all of them."""
    if not isinstance(kernel, SoftTwin):
        return kernel
    return SoftTwin(kernel.kernel, X, kernel.factor).for_dimension(X.shape[1])
