"""Fits of ``Smoother(family=...)``: what is checked, and how a penalised likelihood becomes a fit of a smoother.

At its minimum it is the ridge regression of working responses with working weights, so these take the place of the
observations: leave-one-out, posterior, saving and loading are those of normal noise, for the linear predictor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array, column_or_1d

from .._base.memory import require_memory
from ..deviances import Deviance, all_deviances
from ..functions import gram
from ..kernels import VectorKernel
from ..solvers.ridge.reweighted import CRITERIA, LikelihoodData, solve_likelihood
from .attempts import Attempt, advice

if TYPE_CHECKING:
    from .smoother import Smoother

GAUSSIAN = "gaussian"
_COPIES = 5  # matrices of all pairs that a fit holds at once


def family_named(name: Any) -> type[Deviance] | None:
    """The family with a name; None for normal noise."""
    known = {all_deviances[key].name: all_deviances[key] for key in all_deviances}
    if isinstance(name, str) and name == GAUSSIAN:
        return None
    if not isinstance(name, str) or name not in known:
        names = ", ".join(map(repr, [GAUSSIAN, *known]))
        raise ValueError(f"family must be one of {names}, got {name!r}.")
    return known[name]


def family_data(family: Any, y: np.ndarray, weights: np.ndarray, exposure: Any) -> tuple[np.ndarray, np.ndarray]:
    """Targets and weights that the family has, with an error otherwise; counts become rates of weight ``exposure``."""
    kind = family_named(family)
    if kind is None:
        if exposure is not None:
            raise ValueError("exposure goes with family='poisson': leave it out.")
        return y, weights
    y = column_or_1d(y, warn=True)
    kind.check(y[weights > 0])
    if exposure is None:
        return y, weights
    if kind.name != "poisson":
        raise ValueError(f"exposure goes with family='poisson', and family is {family!r}: divide y by it instead.")
    exposure = check_array(exposure, ensure_2d=False, dtype=np.float64, input_name="exposure")
    if exposure.shape != y.shape or not (exposure > 0.0).all():
        raise ValueError(
            f"exposure must hold {len(y)} positive numbers, one per count, got shape {exposure.shape}"
            + (f" and a smallest number of {exposure.min():g}." if exposure.size else ".")
        )
    return y / exposure, weights * exposure


def check_family(smoother: Smoother, gradients: Any, functionals: Any) -> None:
    """Refuse what only goes with normal noise."""
    if family_named(smoother.family) is None:
        return
    family = f"family={smoother.family!r}"
    if gradients is not None or functionals is not None:
        raise ValueError(f"{family} takes values alone: leave gradients and functionals out.")
    if isinstance(smoother.kernel, VectorKernel):
        raise ValueError(f"{family} has one output, and {smoother.kernel!r} has several: use family='gaussian'.")
    if smoother.criterion not in CRITERIA:
        raise ValueError(
            f"criterion must be one of {', '.join(map(repr, CRITERIA))} for {family}, got {smoother.criterion!r}."
        )
    if smoother.solver not in ("auto", "dense"):
        raise ValueError(f"solver must be 'auto' or 'dense' for {family}, got {smoother.solver!r}.")
    if smoother.prior_variance != "auto":
        raise ValueError(
            f"prior_variance is the dispersion over alpha for {family}: leave it out, and give alpha instead of "
            f"{smoother.prior_variance!r}."
        )
    if np.ndim(smoother.alpha) == 0 and not isinstance(smoother.alpha, str) and float(smoother.alpha) == 0.0:  # type: ignore[arg-type]
        raise ValueError(f"alpha must be positive for {family}, got 0: no function has all observations as its means.")


def likelihood_data(
    smoother: Smoother, attempt: Attempt, samples: tuple[np.ndarray, np.ndarray], K: np.ndarray | None = None
) -> LikelihoodData:
    """What is fitted; ``samples`` are y and weights before those at one point were merged."""
    kind, observed = smoother._deviance, attempt.observed
    assert kind is not None
    y, weights = samples
    loss, own, middle = kind(observed.targets[:, 0]), kind(y), kind.link(kind(y).start(weights))
    groups = observed.groups[observed.groups >= 0]
    common = middle[np.unique(groups, return_index=True)[1]]  # any f will do that is the same for copies
    scatter = float(weights @ own.value(common[groups]) - observed.weights @ loss.value(common))
    K = gram(attempt.kernel, observed.functionals) if K is None else K
    return LikelihoodData(K, attempt.null_matrix(observed), loss, observed.weights, own, weights, max(scatter, 0.0))


def solved_by_reweighting(
    smoother: Smoother, attempt: Attempt, alpha: Any, samples: tuple[np.ndarray, np.ndarray]
) -> Attempt:
    """The fit of a likelihood to observations."""
    observed = attempt.observed
    n = len(observed.targets)
    require_memory(_COPIES * 8 * n**2, f"a dense fit of {n} observations", advice(observed.points.shape[1]))
    data = likelihood_data(smoother, attempt, samples)
    attempt.solution, _, work = solve_likelihood(data, alpha, smoother.criterion)
    attempt.system = work.factor.system
    attempt.observed = replace(
        observed, targets=work.targets[:, None], weights=work.weights, scatter=np.zeros(1), repeats=0
    )
    return attempt
