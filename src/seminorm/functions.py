"""Functions: the answer of every method here, with value, gradient, Hessian and semi-norm.

An :class:`Expansion` is exact and dense, f = sum_i dual_coef[i] L_i phi(., x_i) + sum_j null_coef[j] p_j, where the
L_i are linear functionals (:class:`Functional`): point values, gradient components, or weighted combinations of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from .kernels.base import Kernel
from .nullspace.spaces import NullSpace
from .serialization import load_npz, save_npz

_CHUNK_ENTRIES = 2**22


@runtime_checkable
class Function(Protocol):
    """What plotting, meshing and tests ask of a function; expansions and fields answer alike."""

    def __call__(self, X) -> np.ndarray: ...

    def gradient(self, X) -> np.ndarray: ...

    def hessian(self, X) -> np.ndarray: ...

    def seminorm(self) -> float | np.ndarray: ...


class Functional:
    """Linear functionals of a function: combinations of its derivatives of one order at given points.

    (L f)_i = sum_j matrix[i, j] D_j, where D lists the derivatives of the given order at the points (values for order
    0; for order 1 all d components of the first point, then of the second, ...).

    Parameters
    ----------
    points : array (m, d)
    order : int
        0 for values, 1 for gradients, 2 for second derivatives.
    matrix : array or sparse matrix (size, m * d**order), optional
        The combinations; left out, every derivative is a functional of its own. Averages over a cell, directional
        derivatives or the Laplacian are such matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.functions import Functional
    >>> mean_over_three_points = Functional(np.zeros((3, 2)), 0, np.full((1, 3), 1 / 3))
    >>> mean_over_three_points.size
    1
    """

    def __init__(self, points, order: int = 0, matrix=None):
        self.points = sparse.csr_array(points) if sparse.issparse(points) else np.asarray(points, dtype=float)
        self.order = order
        self.matrix = matrix
        if self.points.ndim != 2:
            raise ValueError(f"points must have shape (m, d), got {self.points.shape}.")
        width = self.points.shape[0] * self.points.shape[1] ** order
        if matrix is not None and matrix.shape[1] != width:
            raise ValueError(
                f"matrix must have {width} columns, one for each derivative of order {order} at each point, got "
                f"shape {matrix.shape}."
            )

    @property
    def size(self) -> int:
        """The number of functionals."""
        return (
            self.points.shape[0] * self.points.shape[1] ** self.order if self.matrix is None else self.matrix.shape[0]
        )

    @classmethod
    def gradients(cls, points, observed=None) -> Functional:
        """The components of the gradient at the points, or those of them that ``observed`` (m, d) marks."""
        if observed is None or np.all(observed):
            return cls(points, 1)
        return cls(points, 1, sparse.eye_array(np.size(observed), format="csr")[np.flatnonzero(observed)])

    def combine(self, derivatives: np.ndarray) -> np.ndarray:
        """Apply the matrix to an array whose first axis lists the derivatives."""
        return derivatives if self.matrix is None else self.matrix @ derivatives

    def spread(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients of the functionals (size, k) as coefficients of the derivatives, (m,) + (d,) * order + (k,)."""
        spread = coefficients if self.matrix is None else self.matrix.T @ coefficients
        return spread.reshape((self.points.shape[0],) + (self.points.shape[1],) * self.order + (coefficients.shape[1],))


def gram(kernel: Kernel, functionals: Sequence[Functional]) -> np.ndarray:
    """The matrix L_i L_j phi (seed 004, lemma 4.3.1): the first functional acts on the first argument, the second on
    the second.
    """
    if len(functionals) == 1 and functionals[0].order == 0 and functionals[0].matrix is None:
        return kernel(functionals[0].points)
    ends = np.cumsum([functional.size for functional in functionals])
    matrix = np.empty((ends[-1], ends[-1]))
    for i, first in enumerate(functionals):
        for j, second in enumerate(functionals[i:], start=i):
            rows, columns = slice(ends[i] - first.size, ends[i]), slice(ends[j] - second.size, ends[j])
            block = _block(kernel, first, second)
            matrix[rows, columns] = block
            matrix[columns, rows] = block.T
    return matrix


def cross(kernel: Kernel, functionals: Sequence[Functional], X: np.ndarray) -> np.ndarray:
    """The matrix L_i phi(., X_j), shape (N, n)."""
    points = Functional(X)
    return np.concatenate([_block(kernel, functional, points) for functional in functionals])


def design(space: NullSpace, functionals: Sequence[Functional]) -> np.ndarray:
    """The matrix L_i p_j, shape (N, p)."""
    blocks = []
    for functional in functionals:
        tensor = np.moveaxis(space.derivative(functional.points, functional.order), 1, -1)
        blocks.append(functional.combine(tensor.reshape(math.prod(tensor.shape[:-1]), tensor.shape[-1])))
    return np.concatenate(blocks)


def _block(kernel: Kernel, first: Functional, second: Functional) -> np.ndarray:
    tensor = kernel.derivative(first.points, second.points, x=first.order, y=second.order)
    tensor = np.moveaxis(
        tensor, 1, 1 + first.order
    )  # (points, derivatives of the first, points, derivatives of the second)
    rows = len(first.points) * first.points.shape[1] ** first.order
    block = first.combine(tensor.reshape(rows, -1))
    return second.combine(block.T).T


class Expansion:
    """f = sum_i dual_coef[i] L_i phi(., x_i) + sum_j null_coef[j] p_j.

    Parameters
    ----------
    kernel : Kernel
    functionals : sequence of Functional
    dual_coef : array (N,) or (N, k)
        Coefficients of the functionals; for k outputs, one column each.
    null_space : NullSpace
        Fitted.
    null_coef : array (p,) or (p, k)
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

    def __repr__(self):
        terms = f"{len(self.dual_coef)} kernel terms, {len(self.null_coef)} null-space terms"
        outputs = "" if self.dual_coef.ndim == 1 else f", {self.dual_coef.shape[1]} outputs"
        return f"<Expansion of {self.kernel!r}: {terms}{outputs}>"

    def __call__(self, X) -> np.ndarray:
        """Values at X: (n,), or (n, k) for k outputs."""
        return self._derivative(X, 0)

    def gradient(self, X) -> np.ndarray:
        """Gradients at X: (n, d), or (n, k, d)."""
        return self._derivative(X, 1)

    def hessian(self, X) -> np.ndarray:
        """Hessians at X: (n, d, d), or (n, k, d, d)."""
        return self._derivative(X, 2)

    def seminorm(self) -> float | np.ndarray:
        """|f|, the square root of the quadratic form of the kernel; one number for each output."""
        dual = self._columns(self.dual_coef)
        squared, start = np.zeros(dual.shape[1]), 0
        for functional in self.functionals:
            derivatives = self._evaluate(functional.points, functional.order, with_null_space=False)
            observed = functional.combine(derivatives.reshape(-1, dual.shape[1]))
            squared += np.einsum("ij,ij->j", dual[start : start + functional.size], observed)
            start += functional.size
        norms = np.sqrt(np.maximum(squared, 0.0))
        return float(norms[0]) if self.dual_coef.ndim == 1 else norms

    def with_kernel(self, kernel: Kernel) -> Expansion:
        """The same coefficients over another kernel."""
        return Expansion(kernel, self.functionals, self.dual_coef, self.null_space, self.null_coef)

    @property
    def n_coef(self) -> int:
        """Number of coefficients, an output."""
        return len(self.dual_coef) + len(self.null_coef)

    def jet(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients."""
        return self(X), self.gradient(X)

    def content(self) -> dict:
        """What :meth:`from_content` makes the function from: plain values, arrays, a kernel and a null space."""
        functionals = [{"points": f.points, "order": f.order, "matrix": f.matrix} for f in self.functionals]
        state = {name: getattr(self, name) for name in ("kernel", "dual_coef", "null_space", "null_coef")}
        return {"functionals": functionals, **state}

    @classmethod
    def from_content(cls, content: dict) -> Expansion:
        """The function that :meth:`content` describes; what else is there is not looked at."""
        functionals = [Functional(**functional) for functional in content["functionals"]]
        return cls(content["kernel"], functionals, *(content[n] for n in ("dual_coef", "null_space", "null_coef")))

    def save(self, path) -> Path:
        """Write the function to one npz file without pickle; :meth:`load` reads it."""
        return save_npz(path, {"type": "Expansion", **self.content()})

    @classmethod
    def load(cls, path) -> Expansion:
        """Read a function written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "Expansion":
            raise ValueError(f"{path} does not hold an Expansion.")
        return cls.from_content(content)

    def _columns(self, coefficients: np.ndarray) -> np.ndarray:
        return coefficients[:, None] if coefficients.ndim == 1 else coefficients

    def _derivative(self, X, times: int) -> np.ndarray:
        X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
        dimension = self.functionals[0].points.shape[1]
        if X.ndim != 2 or X.shape[1] != dimension:
            raise ValueError(f"X must have shape (n, {dimension}), got {X.shape}.")
        values = np.moveaxis(self._evaluate(X, times), -1, 1)
        return values[:, 0] if self.dual_coef.ndim == 1 else values

    def _evaluate(self, X: np.ndarray, times: int, with_null_space: bool = True) -> np.ndarray:
        """Derivatives of the given order in chunks of bounded memory, shape (n,) + (d,) * times + (k,)."""
        dual, null = self._columns(self.dual_coef), self._columns(self.null_coef)
        d = X.shape[1]
        width = max(f.points.shape[0] * d ** (times + f.order) for f in self.functionals)
        step = max(1, _CHUNK_ENTRIES // width)
        result = np.zeros((X.shape[0],) + (d,) * times + (dual.shape[1],))
        for begin in range(0, X.shape[0], step):
            chunk, start = X[begin : begin + step], 0
            for f in self.functionals:
                tensor = self.kernel.derivative(chunk, f.points, x=times, y=f.order)
                coefficients = f.spread(dual[start : start + f.size])
                contracted = [1, *range(2 + times, 2 + times + f.order)]
                result[begin : begin + step] += np.tensordot(
                    tensor, coefficients, axes=(contracted, range(1 + f.order))
                )
                start += f.size
            if with_null_space and len(null):
                basis = self.null_space.derivative(chunk, times)
                result[begin : begin + step] += np.tensordot(basis, null, axes=(1, 0))
        return result
