"""What support vector classification and regression share: checked input, matrices, machines, evaluation, saving."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._warnings import warn_user
from ..functions import Expansion, Functional
from ..kernels.base import Kernel
from ..memory import require_memory
from ..nullspace import NullSpace, Polynomials, identifiable, null_space_for
from ..solvers.indefinite import is_definite
from ..solvers.machines import DenseMachine, FreeMachine, RepairedMachine
from .defaults import alphas_of, kernel_for
from .saving import Saved

PRECOMPUTED = "precomputed"
NAMED_NULL_SPACES = ("auto", "zero", "constant")
WAYS_WITH_INDEFINITE = ("stationary", "clip", "flip")


class MarginMachine(Saved, BaseEstimator):
    """Base of SVC and SVR: everything but the loss.

    ``_kind`` says what is free: "free" (the whole null space), "constant" or "zero" (seed 000, 6.2).
    """

    _state = "_kind", "_own_columns"

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _check_alpha(self, *words: str):
        if isinstance(self.alpha, str):
            if self.alpha not in words:
                raise ValueError(
                    f"alpha must be one of {', '.join(map(repr, words))}, a positive number or candidates, got "
                    f"{self.alpha!r}."
                )
            return
        alphas = alphas_of(self.alpha)
        if alphas.ndim > 1 or alphas.size == 0 or not (np.isfinite(alphas).all() and (alphas > 0).all()):
            raise ValueError(f"alpha must be positive (a small one approaches the hard margin), got {self.alpha!r}.")

    def _check_fit_input(self, X, y, **options):
        kernel = None if self._is_precomputed() else self.kernel
        sparse = "csr" if kernel is not None and getattr(kernel, "accepts_sparse", False) else False
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=sparse, **options)
        if self._is_precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be the square kernel matrix of the training points for kernel='precomputed', got shape "
                f"{X.shape}."
            )
        return X, y

    def _check_indefinite(self):
        if self.indefinite not in WAYS_WITH_INDEFINITE:
            raise ValueError(
                f"indefinite must be one of {', '.join(map(repr, WAYS_WITH_INDEFINITE))}, got {self.indefinite!r}."
            )

    def _check_n_basis(self):
        if self.n_basis is not None and not (isinstance(self.n_basis, (int, np.integer)) and self.n_basis > 0):
            raise ValueError(f"n_basis must be a positive integer or None, got {self.n_basis!r}.")

    def _merge(self, X, y, weights, null_columns):
        """Leave out samples of weight zero, and add up the weights of samples that agree in point and target.

        The samples come out in an order of their own, so that nothing depends on the order in which they came in.
        """
        if null_columns is not None:
            null_columns = _columns(null_columns, X.shape[0])
        rows = np.flatnonzero(weights > 0)
        if not len(rows):
            raise ValueError("sample_weight must have a positive entry: all weights are zero.")
        if self._is_precomputed():
            columns = None if null_columns is None else null_columns[rows]
            return X[np.ix_(rows, rows)], y[rows], weights[rows], rows, columns
        if hasattr(X, "tocsr"):
            _, first, inverse = np.unique(_row_keys(X[rows], y[rows]), return_index=True, return_inverse=True)
        else:
            keyed = np.column_stack([X[rows], y[rows]])
            _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
        kept = rows[first]
        return X[kept], y[kept], np.bincount(inverse.ravel(), weights[rows]), kept, null_columns

    def _refuse_too_few(self, P):
        if self._kind != "free" and len(P) <= P.shape[1]:
            raise ValueError(
                f"X has n_samples={len(P)} distinct points, no more than the {P.shape[1]} functions that the "
                "coefficients "
                "must annihilate: nothing is left for the kernel. Use a kernel of lower order (NegativeDistance, "
                "Gaussian), or more points."
            )

    def _null_part(self, P: np.ndarray, null: np.ndarray) -> np.ndarray:
        """What the null space adds at points with the null-space matrix P."""
        return P @ null if self._kind == "free" else np.full(len(P), null.sum())

    def _prepare(self, X, null_columns):
        """Settle kernel and null space on the training points; returns the null-space matrix."""
        if self._is_precomputed():
            if not (isinstance(self.null_space, str) and self.null_space in NAMED_NULL_SPACES):
                raise ValueError(
                    "null_space cannot be evaluated with kernel='precomputed': give its columns as null_columns."
                )
            self.kernel_, self.null_space_ = None, None
            self._own_columns = null_columns is not None
            P = np.ones((X.shape[0], 1)) if null_columns is None else _columns(null_columns, X.shape[0])
            self._tolerance = 1e-13
        else:
            if null_columns is not None:
                raise ValueError(
                    "null_columns goes with kernel='precomputed': name your features by null_space=Features(...) "
                    "otherwise."
                )
            self.kernel_ = kernel_for(self.kernel, X)
            self.null_space_ = _space_of(self.null_space, self.kernel_, X)
            P = self.null_space_(X)
            self._tolerance = self.null_space_.resolution
            identifiable(self.null_space_, P)  # warns
        require_memory(3 * 8 * X.shape[0] ** 2, f"a dense machine on {X.shape[0]} points", "train on a subset.")
        return P

    def _gram(self, X) -> np.ndarray:
        return np.array(X) if self._is_precomputed() else self.kernel_(X)

    def _inspect(self, Phi: np.ndarray, P: np.ndarray):
        self._matrix_is_indefinite = self._is_indefinite(Phi, P)
        self.stationary_ = self._matrix_is_indefinite and self.indefinite == "stationary"

    def _warn_if_useless(self, error: float, without: float):
        """A stationary point may be worse than no kernel at all, if alpha is too small for it."""
        if self.stationary_ and error > without:
            warn_user(
                f"the stationary point fits the training data worse ({error:.3g}) than a constant ({without:.3g}): the "
                "kernel matrix is too indefinite for so little regularisation. Take a larger alpha, or "
                "indefinite='clip'.",
                ConvergenceWarning,
            )

    def _is_indefinite(self, Phi: np.ndarray, P: np.ndarray) -> bool:
        """Whether the kernel matrix has negative eigenvalues beside the null space; only asked where it may."""
        if not (self._is_precomputed() or getattr(self.kernel_, "is_indefinite", False)):
            return False
        if is_definite(FreeMachine(np.array(Phi), P, self._tolerance).K, overwrite=True):
            return False
        if self.n_basis is not None:
            raise ValueError(
                f"n_basis={self.n_basis!r} needs a kernel that is positive definite beside the null space, and this "
                "matrix has negative eigenvalues: leave n_basis out."
            )
        return True

    def _machine(self, Phi: np.ndarray, P: np.ndarray, basis: np.ndarray | None = None) -> FreeMachine | DenseMachine:
        free = P if self._kind == "free" else np.ones((len(Phi), 1 if self._kind == "constant" else 0))
        if (
            self._matrix_is_indefinite
        ):  # nothing is gained by annihilating polynomials for a kernel that stays indefinite
            if self.stationary_:
                return FreeMachine(Phi, free, self._tolerance, indefinite=True)
            return RepairedMachine(Phi, free, self._tolerance, self.indefinite)
        if self._kind == "free":
            return FreeMachine(Phi, P, self._tolerance)
        if not P.shape[1] and basis is None:  # a positive definite kernel: nothing to annihilate
            return FreeMachine(Phi, free, self._tolerance)
        return DenseMachine(Phi, P, free, basis, self._tolerance)

    def _basis(self, X, rng) -> np.ndarray | None:
        """Points of a dense expansion: distinct ones, at random if there are to be fewer; None for all."""
        n = X.shape[0]
        distinct = np.arange(n)
        if not self._is_precomputed() and not hasattr(X, "tocsr"):
            distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
        if self.n_basis is not None and self.n_basis < len(distinct):
            return np.sort(check_random_state(rng).choice(distinct, self.n_basis, replace=False))
        return None if len(distinct) == n else distinct

    def _keep(self, X, dual: np.ndarray, null: np.ndarray, rows: np.ndarray):
        """Keep the support: ``dual`` (n, k) and ``null`` (p, k); ``rows`` are the rows of the user's X."""
        support = np.flatnonzero(np.abs(dual).sum(axis=1) > 0)
        self.support_ = rows[support]
        self.dual_coef_, self.null_coef_ = dual[support].T, null.T
        if self._is_precomputed():
            self.support_vectors_ = np.empty((0, 0))
            return
        self.support_vectors_ = X[support]
        if self._kind != "free":
            self.null_space_ = Polynomials(0 if self._kind == "constant" else -1).fit(X)

    @property
    def function_(self) -> Expansion:
        """The decision functions as one function with as many outputs as there are binary problems."""
        check_is_fitted(self, "dual_coef_")
        if self._is_precomputed():
            raise ValueError(
                "function_ needs the kernel: with kernel='precomputed' only decision values at given kernel rows exist."
            )
        return Expansion(
            self.kernel_, [Functional(self.support_vectors_)], self.dual_coef_.T, self.null_space_, self.null_coef_.T
        )

    def _values(self, X, null_columns=None) -> np.ndarray:
        """Decision values, (n, k)."""
        check_is_fitted(self, "dual_coef_")
        sparse = "csr" if not self._is_precomputed() and self.kernel_.accepts_sparse else False
        X = validate_data(self, X, dtype=np.float64, accept_sparse=sparse, reset=False)
        if not self._is_precomputed():
            return self.function_(X) if len(self.support_) else self.null_space_(X) @ self.null_coef_.T
        if self._kind == "free" and self._own_columns and null_columns is None:
            raise ValueError("null_columns were given to fit: give those of these points, too.")
        columns = np.ones((len(X), 1)) if null_columns is None else _columns(null_columns, len(X))
        if self._kind != "free":
            columns = columns[:, :0] if self._kind == "zero" else np.ones((len(X), 1))
        if columns.shape[1] != self.null_coef_.shape[1]:
            raise ValueError(
                f"null_columns must have {self.null_coef_.shape[1]} columns, as in fit, got {columns.shape[1]}."
            )
        return X[:, self.support_] @ self.dual_coef_.T + columns @ self.null_coef_.T

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = isinstance(self.kernel, Kernel) and bool(self.kernel.accepts_sparse)
        return tags


def _space_of(specification, kernel: Kernel, X) -> NullSpace:
    """The free or annihilated functions; never less than the constant, the usual bias, unless the user says so."""
    if isinstance(specification, str) and specification in NAMED_NULL_SPACES:
        return Polynomials(max(kernel.null_degree, 0) if specification == "auto" else kernel.null_degree).fit(X)
    return null_space_for(specification, kernel, X)


def _row_keys(X, y) -> np.ndarray:
    """One string a row of a sparse matrix and its target: equal rows have equal keys."""
    X = X.sorted_indices()
    parts = zip(X.indptr[:-1], X.indptr[1:], y, strict=True)
    return np.array(
        [X.indices[i:j].tobytes().hex() + X.data[i:j].tobytes().hex() + repr(float(t)) for i, j, t in parts]
    )


def _columns(null_columns, n: int) -> np.ndarray:
    columns = np.asarray(null_columns.toarray() if hasattr(null_columns, "toarray") else null_columns, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != n:
        raise ValueError(f"null_columns must be of shape (n, r) with n = {n}, got shape {columns.shape}.")
    if not np.isfinite(columns).all():
        raise ValueError("null_columns must be finite, and hold NaN or infinity.")
    return columns
