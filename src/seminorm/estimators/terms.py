"""Additive models: sums of kernels on different columns, with a factor per term, and the effect of each term."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.memory import require_memory
from ..functions import cross, gram
from ..kernels import Kernel
from ..kernels.algebra import Scaled, Sum, columns_of, summands
from ..nullspace import NullSpace, PolynomialSum
from ..solvers.ridge.reweighted import fit, solve_likelihood, working
from ..solvers.ridge.system import Factor
from ..solvers.ridge.term_factors import best_factors
from .attempts import Attempt, advice
from .families import FamilyRegressor
from .likelihood_fits import likelihood_data

if TYPE_CHECKING:
    from .observations import FunctionalData
    from .smoother import Smoother

_ROUNDS = 20
_SETTLED = 0.02  # change of the logarithms of factors at which working responses are settled
_NEGLIGIBLE = 1e-6  # share of the largest term below which a factor does not matter


def check_terms(smoother: Smoother) -> None:
    """Refuse ``term_factors`` that do not go with the kernel."""
    given = smoother.term_factors
    if given is None:
        return
    if not isinstance(smoother.kernel, Sum):
        raise ValueError(
            "term_factors needs a sum of kernels, such as ThinPlate().on_columns([0, 1]) + Polyharmonic(2).on_columns"
            f"([2]), and kernel is {smoother.kernel!r}."
        )
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"term_factors must be None, 'auto', or one positive number per term, got {given!r}.")
    else:
        factors, count = np.asarray(given, dtype=float), len(summands(smoother.kernel))
        if factors.shape != (count,) or not (np.isfinite(factors) & (factors > 0.0)).all():
            raise ValueError(f"term_factors must be 'auto' or {count} positive numbers, one per term, got {given!r}.")
    if smoother.metric is not None or smoother.solver not in ("auto", "dense"):
        raise ValueError("term_factors goes with metric=None and solver='auto' or 'dense'.")
    if isinstance(smoother.null_space, str) and smoother.null_space == "soft":
        raise ValueError("term_factors goes with null_space='auto', or one of your own, not with 'soft'.")


def term_space(kernel: Kernel, X: np.ndarray) -> NullSpace:
    """What the terms of a kernel leave free together."""
    terms = summands(kernel)
    degrees = [int(term.null_degree) for term in terms]
    return PolynomialSum(degrees, [columns_of(term, X.shape[1]) for term in terms]).fit(X)


def weigh_terms(smoother: Smoother, attempt: Attempt, samples: tuple[np.ndarray, np.ndarray]) -> None:
    """Give each term of the kernel of an attempt its factor; together they keep the variance that they had."""
    terms, observed = summands(attempt.kernel), attempt.observed
    n, d = len(observed.targets), observed.points.shape[1]
    if observed.targets.shape[1] > 1:
        raise ValueError(f"term_factors goes with one output, and y has {observed.targets.shape[1]}.")
    if not isinstance(smoother.term_factors, str):
        attempt.kernel = _sum_of(terms, np.asarray(smoother.term_factors, dtype=float))
        return
    require_memory((2 * len(terms) + 4) * 8 * n**2, f"{len(terms)} terms of {n} observations", advice(d))
    matrices, P = [gram(term, observed.functionals) for term in terms], attempt.null_matrix(observed)
    if n == P.shape[1]:
        return
    if smoother._deviance is None:
        y, scatter = observed.targets[:, 0], float(observed.scatter[0])
        factors = best_factors(matrices, P, y, observed.weights, scatter, observed.repeats)
    else:
        factors = _factors_of_family(smoother, attempt, samples, matrices, P)
    sizes = np.array([_size(K, P) for K in matrices])
    attempt.kernel = _sum_of(terms, factors * sizes.sum() / (factors @ sizes))


def _size(K: np.ndarray, P: np.ndarray) -> float:
    """Trace of K beside the null space."""
    Q = np.linalg.qr(P)[0]
    return float(np.trace(K) - np.sum(Q * (K @ Q)))


def _factors_of_family(smoother, attempt: Attempt, samples, matrices: list[np.ndarray], P: np.ndarray) -> np.ndarray:
    """By the likelihood of working responses, in turns with the fit that they belong to [Wood 2017, 6.5]."""
    sizes = np.array([_size(K, P) for K in matrices])
    factors = sizes.mean() / sizes
    data = likelihood_data(smoother, attempt, samples, _weighted(matrices, factors))
    _, found, work = solve_likelihood(data, None, "reml")
    factors = factors / found.alpha
    for _ in range(_ROUNDS):
        y, weights, before = work.targets, work.weights, factors
        factors = best_factors(matrices, P, y, weights, dispersion=data.loss.dispersion, start=factors)
        data = data._replace(K=_weighted(matrices, factors))
        found = fit(data, 1.0)
        work = working(data, found.values, 1.0)
        matters = np.maximum(factors, before) * sizes > _NEGLIGIBLE * np.max(factors * sizes)
        if np.abs(np.log(factors / before))[matters].max(initial=0.0) < _SETTLED:
            break
    return factors


def _weighted(matrices: list[np.ndarray], factors: np.ndarray) -> np.ndarray:
    total = np.zeros_like(matrices[0])
    for factor, K in zip(factors, matrices, strict=True):
        total += factor * K
    return total


def _sum_of(terms: Sequence[Kernel], factors: np.ndarray) -> Kernel:
    scaled: list[Kernel] = [Scaled(term, float(factor)) for term, factor in zip(terms, factors, strict=True)]
    return reduce(Sum, scaled)


class AdditiveRegressor(FamilyRegressor):
    """Base of smoothers whose kernel may be a sum of terms."""

    term_factors: Any
    kernel_: Kernel
    null_space_: NullSpace
    dual_coef_: np.ndarray
    null_coef_: np.ndarray
    _observed: FunctionalData

    @property
    def term_factors_(self) -> np.ndarray:
        """The factor of each term of the kernel, which has the penalty alpha / factor."""
        return np.array([getattr(term, "factor", 1.0) for term in self._terms()])

    def _terms(self) -> list[Kernel]:
        if not isinstance(getattr(self, "null_space_", None), PolynomialSum) or self.term_factors is None:
            raise AttributeError("only fits with term_factors and the null space of the terms have terms.")
        return summands(self.kernel_)

    def partial_effect(self, term: Any, X: Any, return_std: bool = False) -> Any:
        """What one term of an additive model contributes to the linear predictor at X, and its posterior deviation.

        The effect has the mean 0 over the training samples, and no share in polynomials that other terms have as well.
        If no two terms have a column in common, the effects and the mean of the predictor over the samples add up
        to it.

        Parameters
        ----------
        term : int or str
            The number of the term in the kernel, or the name of the only column that it looks at.
        X : array (n, d)
            Points; columns of other terms do not matter.
        return_std : bool

        Returns
        -------
        array (n,), or two with ``return_std``
        """
        X = self._check_points(X)
        number = self._term_number(term)
        kernel, known = self._terms()[number], self._observed.points
        space = self.null_space_
        assert isinstance(space, PolynomialSum)
        own = np.zeros(sum(space.sizes_))
        own[space.ranges[number]] = 1.0
        shared = _shared(space, number, known)
        counts = np.bincount(self._observed.groups[self._observed.groups >= 0], minlength=len(known)).astype(float)
        root = np.sqrt(counts)[:, None]
        S = shared(known)
        back = shared(X) @ np.linalg.pinv(root * S) * root.T  # (n, known): the shared part at X of values at known

        def part(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return cross(kernel, self._observed.functionals, Z), space(Z) * own

        (at_new, null_new), (at_known, null_known) = part(X), part(known)
        mixed, null = at_new - at_known @ back.T, null_new - back @ null_known
        effect = mixed.T @ self.dual_coef_ + null @ self.null_coef_
        if not return_std:
            return effect
        between = kernel(known, X)
        prior = kernel.diag(X) - 2.0 * np.sum(back * between.T, axis=1) + np.sum((back @ kernel(known)) * back, axis=1)
        variance = self._factor().posterior_covariance(mixed, self._restrict(null), prior, diagonal=True)
        return effect, np.sqrt(np.maximum(variance, 0.0) * self._known_prior_variance())

    def _term_number(self, term: Any) -> int:
        columns = [columns_of(kernel, self._observed.points.shape[1]) for kernel in self._terms()]
        if isinstance(term, str):
            names = [str(name) for name in getattr(self, "feature_names_in_", ())]
            found = [
                k for k, own in enumerate(columns) if len(own) == 1 and own[0] < len(names) and names[own[0]] == term
            ]
            if len(found) == 1:
                return found[0]
        elif isinstance(term, (int, np.integer)) and -len(columns) <= term < len(columns):
            return int(term) % len(columns)
        raise ValueError(
            f"term must be a number from 0 to {len(columns) - 1}, or the name of a column that one term has for "
            f"itself, got {term!r}."
        )

    def _factor(self) -> Factor:
        raise TypeError(f"{type(self).__name__} does not define _factor().")

    def _restrict(self, P: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define _restrict(P).")

    def _known_prior_variance(self) -> Any:
        raise TypeError(f"{type(self).__name__} does not define _known_prior_variance().")


def _shared(space: PolynomialSum, number: int, X: np.ndarray) -> PolynomialSum:
    """The constant, and the polynomials that a term has in common with another one."""
    degrees, columns = [0], [list(space.columns[number])]
    for other in range(len(space.degrees)):
        both = [column for column in space.columns[number] if column in space.columns[other]]
        if other != number and both:
            degrees.append(min(space.degrees[number], space.degrees[other]))
            columns.append(both)
    return PolynomialSum(degrees, columns).fit(X)
