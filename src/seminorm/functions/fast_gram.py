"""Products with the matrix of functionals, by fast sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.base import Kernel
from .functionals import Functional, Term
from .summation.fast_sum import FastSum

_LEAST_TOLERANCE = 1e-14
_ROUNDS = 3
_MARGIN = 0.3  # so that other coefficients need no third set of sums


class FastGram:
    """a -> K a for K = gram(kernel, functionals), whose derivatives are of order 0 or 1.

    The error of what belongs to one term of the functionals (:class:`Term`) is at most ``tolerance`` times the largest
    magnitude there of the derivatives, for each column of a by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.functions import Functional, gram
    >>> from seminorm.functions.fast_gram import FastGram
    >>> from seminorm.kernels import Gaussian
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> functionals = [Functional.values(X), Functional.gradients(X)]
    >>> a = np.ones((150, 1))
    >>> bool(np.allclose(FastGram(Gaussian(), functionals, 1e-8)(a), gram(Gaussian(), functionals) @ a))
    True
    """

    def __init__(self, kernel: Kernel, functionals: Sequence[Functional], tolerance: float):
        self.tolerance = tolerance
        ends = np.cumsum([functional.size for functional in functionals])
        self._size = int(ends[-1])
        terms = [
            (term, slice(end - functional.size, end))
            for functional, end in zip(functionals, ends.tolist(), strict=True)
            for term in functional.terms
        ]
        self._kernel, self._terms = kernel, terms
        self._rows = [self._sums_at(term, tolerance / len(terms)) for term, _ in terms]

    def __call__(self, coef: np.ndarray) -> np.ndarray:
        """K a for a (N, k)."""
        spread = [term.spread(coef[rows]) for term, rows in self._terms]
        result = np.zeros((self._size, coef.shape[1]))
        for number, (term, rows) in enumerate(self._terms):
            total = self._total(number, spread)
            result[rows] += term.combine(total.reshape(term.width, coef.shape[1]))
        return result

    def _sums_at(self, at: Term, tolerance: float) -> list[FastSum]:
        return [
            FastSum(self._kernel, of.points, at.points, tolerance, at.derivative, of.derivative)
            for of, _ in self._terms
        ]

    def _total(self, number: int, spread: list[np.ndarray]) -> np.ndarray:
        """The sums at one term, one after the other. Where they cancel, more accurate ones take their place."""
        for _ in range(_ROUNDS):
            sums = self._rows[number]
            total = sums[0](spread[0])
            largest = _largest(total)
            for fast, coef in zip(sums[1:], spread[1:], strict=True):
                total = fast(coef, total)
                largest = np.maximum(largest, _largest(total))
            final = _largest(total)
            lost = sums[0].tolerance * float(np.max(largest / np.where(final > 0, final, np.inf), initial=0.0))
            if len(sums) * lost <= self.tolerance or sums[0].tolerance <= _LEAST_TOLERANCE:
                break
            share = max(_MARGIN * sums[0].tolerance * self.tolerance / (len(sums) * lost), _LEAST_TOLERANCE)
            self._rows[number] = self._sums_at(self._terms[number][0], share)
        return total


def _largest(values: np.ndarray) -> np.ndarray:
    """The largest magnitude of each output."""
    return np.abs(values).max(axis=tuple(range(values.ndim - 1)), initial=0.0)
