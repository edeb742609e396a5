"""Exact, dense functions: f = sum_i dual_coef[i] L_i phi(., x_i) + sum_j null_coef[j] p_j.

The L_i are linear functionals (:class:`Functional`): values, derivatives, and sums and averages of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from .._base.patterns import as_points, is_plain
from ..kernels.base import Kernel
from ..nullspace.spaces import NullSpace
from .functionals import Functional, Term
from .protocol import StoredFunction, output_columns
from .summation.fast_sum import FastSum

_CHUNK_ENTRIES = 2**22
_COMPILED_PAIRS = 2**21  # from which on compiled loops sum
_FAST_PAIRS = 10**10  # from which on far fields are used
_STRICT = 1e-10  # their tolerance then


class Expansion(StoredFunction):
    """f = sum_i dual_coef[i] L_i phi(., x_i) + sum_j null_coef[j] p_j.

    Parameters
    ----------
    kernel, functionals : Kernel, sequence of Functional
        Of N functionals in all.
    dual_coef : array (N,) or (N, k)
        Coefficients of the functionals; for k outputs, one column each.
    null_space, null_coef : fitted NullSpace, array (p,) or (p, k)

    See Also
    --------
    seminorm.fields.Field : the function of many points in few dimensions.

    Examples
    --------
    >>> from seminorm.functions import Expansion, Functional
    >>> from seminorm.kernels import Gaussian
    >>> from seminorm.nullspace import Polynomials
    >>> X = [[0.0], [1.0]]
    >>> f = Expansion(Gaussian(), [Functional.values(X)], [1.0, -1.0], Polynomials(0).fit(X), [2.0])
    >>> f([[0.5]]), f.gradient([[0.5]]).round(3)
    (array([2.]), array([[-0.882]]))
    """

    def __init__(self, kernel: Kernel, functionals: Sequence[Functional], dual_coef, null_space: NullSpace, null_coef):
        self.kernel = kernel
        self.functionals = list(functionals)
        self.dual_coef = np.asarray(dual_coef, dtype=float)
        self.null_space = null_space
        self.null_coef = np.asarray(null_coef, dtype=float)
        size = sum(functional.size for functional in self.functionals)
        if len(self.dual_coef) != size or self.dual_coef.shape[1:] != self.null_coef.shape[1:]:
            raise ValueError(
                f"dual_coef must have {size} rows and null_coef as many columns, got shapes {self.dual_coef.shape} "
                f"and {self.null_coef.shape}."
            )

    def __repr__(self) -> str:
        terms = f"{len(self.dual_coef)} kernel terms, {len(self.null_coef)} null-space terms"
        outputs = "" if self.dual_coef.ndim == 1 else f", {self.dual_coef.shape[1]} outputs"
        return f"<Expansion of {self.kernel!r}: {terms}{outputs}>"

    def seminorm(self) -> float | np.ndarray:
        """|f|, the square root of the quadratic form of the kernel; one number per output."""
        dual = output_columns(self.dual_coef)
        squared = np.zeros(dual.shape[1])
        for term, rows in self._terms():
            derivatives = self._evaluate(term.points, term.derivative, with_null_space=False)
            squared += np.einsum("ij,ij->j", dual[rows], term.combine(derivatives.reshape(-1, dual.shape[1])))
        norms = np.sqrt(np.maximum(squared, 0.0))
        return float(norms[0]) if self.dual_coef.ndim == 1 else norms

    def with_kernel(self, kernel: Kernel) -> Expansion:
        """The same coefficients over another kernel."""
        return Expansion(kernel, self.functionals, self.dual_coef, self.null_space, self.null_coef)

    @property
    def n_coef(self) -> int:
        """Number of coefficients per output."""
        return len(self.dual_coef) + len(self.null_coef)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.functionals[0].dimension

    def evaluate(self, X: Any, tolerance: float = 1e-6, derivative: int = 0) -> np.ndarray:
        """Values or gradients whose error is at most ``tolerance`` times the largest magnitude of them, by a
        :class:`~seminorm.functions.summation.FastSum` where kernel and dimension permit it.

        f(X) and f.gradient(X) sum over all pairs of a centre and a point, or, from 10^10 pairs on, are made with a
        tolerance of 10^-10.

        Examples
        --------
        >>> import numpy as np
        >>> from seminorm import Smoother
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> f = Smoother(alpha=1e-3).fit(X, np.sin(6 * X[:, 0])).function_
        >>> places = np.random.default_rng(1).random((10**5, 2))
        >>> bool(np.abs(f.evaluate(places, 1e-4) - f(places)).max() <= 1e-4 * np.abs(f(places)).max())
        True
        """
        if derivative not in (0, 1):
            raise ValueError(f"derivative must be 0 or 1, got {derivative!r}.")
        return self._outputs_first(self._evaluate(self._points(X), derivative, tolerance=tolerance))

    def jet(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients."""
        return self(X), self.gradient(X)

    def content(self) -> dict:
        functionals = [functional.content() for functional in self.functionals]
        state = {name: getattr(self, name) for name in ("kernel", "dual_coef", "null_space", "null_coef")}
        return {"functionals": functionals, **state}

    @classmethod
    def from_content(cls, content: dict, path: Any = "the file") -> Self:
        functionals = [Functional.from_content(functional) for functional in content["functionals"]]
        return cls(content["kernel"], functionals, *(content[n] for n in ("dual_coef", "null_space", "null_coef")))

    def _terms(self) -> Iterator[tuple[Term, slice]]:
        """The terms of all functionals, each with the rows of its coefficients."""
        start = 0
        for functional in self.functionals:
            yield from ((term, slice(start, start + functional.size)) for term in functional.terms)
            start += functional.size

    def _derivative(self, X: Any, times: int) -> np.ndarray:
        return self._outputs_first(self._evaluate(self._points(X), times))

    def _points(self, X: Any):
        if self.kernel.accepts_patterns:
            X = self.kernel.patterns(X, "X")
        X = as_points(X)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        return X

    def _outputs_first(self, values: np.ndarray) -> np.ndarray:
        """The axis of the outputs behind that of the points, or gone if there is one output."""
        return values[..., 0] if self.dual_coef.ndim == 1 else np.moveaxis(values, -1, 1)

    def _evaluate(self, X: Any, times: int, with_null_space: bool = True, tolerance: float | None = None) -> np.ndarray:
        """Derivatives of the given order, shape (n,) + (d,) * times + (k,); tolerance None is that of f(X)."""
        terms = list(self._terms())
        pairs = X.shape[0] * max(term.points.shape[0] for term, _ in terms)
        few = pairs < _COMPILED_PAIRS and tolerance is None
        if (
            few
            or times > 1
            or not is_plain(X)
            or any(term.derivative > 1 or not is_plain(term.points) for term, _ in terms)
        ):
            return self._in_chunks(X, times, with_null_space)
        if tolerance is None:
            tolerance = _STRICT if pairs >= _FAST_PAIRS else 0.0
        null = output_columns(self.null_coef)
        values = np.zeros((X.shape[0],) + (X.shape[1],) * times + (null.shape[1],))
        if with_null_space and len(null):
            values += np.tensordot(self.null_space.derivative(X, times), null, axes=(1, 0))
        return self._add_terms(values, X, times, tolerance)

    def _add_terms(self, values: np.ndarray, X: np.ndarray, times: int, tolerance: float) -> np.ndarray:
        """Add the sums to the null-space part; what is lost where they cancel is made up for by a second round."""
        terms, dual = list(self._terms()), output_columns(self.dual_coef)
        share = tolerance / len(terms)
        for _ in range(2):
            total, largest = values, 0.0
            for term, rows in terms:
                fast = FastSum(self.kernel, term.points, X, share, times, term.derivative)
                total = fast(term.spread(dual[rows]), total)
                largest = np.maximum(largest, np.abs(total).max(axis=tuple(range(total.ndim - 1)), initial=0.0))
            final = np.abs(total).max(axis=tuple(range(total.ndim - 1)), initial=0.0)
            worst = float(np.max(largest / np.where(final > 0, final, np.inf), initial=0.0))
            if tolerance == 0 or len(terms) == 1 or worst <= 1.0:
                return total
            share = max(share / worst, 1e-14)
        return total

    def _in_chunks(self, X: Any, times: int, with_null_space: bool) -> np.ndarray:
        """The same from matrices of bounded size."""
        dual, null = output_columns(self.dual_coef), output_columns(self.null_coef)
        d = X.shape[1]
        width = max(term.width * d**times for term, _ in self._terms())
        step = max(1, _CHUNK_ENTRIES // width)
        result = np.zeros((X.shape[0],) + (d,) * times + (dual.shape[1],))
        for begin in range(0, X.shape[0], step):
            chunk = X[begin : begin + step]
            for term, rows in self._terms():
                tensor = self.kernel.derivative(chunk, term.points, x=times, y=term.derivative)
                contracted = [1, *range(2 + times, 2 + times + term.derivative)]
                result[begin : begin + step] += np.tensordot(
                    tensor, term.spread(dual[rows]), axes=(contracted, range(1 + term.derivative))
                )
            if with_null_space and len(null):
                basis = self.null_space.derivative(chunk, times)
                result[begin : begin + step] += np.tensordot(basis, null, axes=(1, 0))
        return result
