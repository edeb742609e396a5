"""Exact, dense functions: f = sum_i dual_coef[i] L_i phi(., x_i) + sum_j null_coef[j] p_j.

The L_i are linear functionals (:class:`Functional`): values, derivatives, and sums and averages of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..kernels.base import Kernel
from ..nullspace.spaces import NullSpace
from .functionals import Functional, Term
from .protocol import StoredFunction, output_columns

_CHUNK_ENTRIES = 2**22


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
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.dimension:
            raise ValueError(f"X must have shape (n, {self.dimension}), got {X.shape}.")
        values = np.moveaxis(self._evaluate(X, times), -1, 1)
        return values[:, 0] if self.dual_coef.ndim == 1 else values

    def _evaluate(self, X: Any, times: int, with_null_space: bool = True) -> np.ndarray:
        """Derivatives of the given order in chunks of bounded memory, shape (n,) + (d,) * times + (k,)."""
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
