"""What the machines share that need nothing but a kernel: checked points or a given matrix, a settled kernel, the
functions that come out of training, and saving.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..functions import Expansion, Functional
from ..kernels import Kernel, NegativeDistance
from ..memory import require_memory
from ..nullspace import Polynomials, identifiable
from ..solvers.projected import ProjectedKernel
from .defaults import kernel_for
from .saving import Saved

PRECOMPUTED = "precomputed"
_ASYMMETRY = 1e-8
_CONSTANT = 1e-12


class KernelMachine(Saved, BaseEstimator):
    """Base of the machines with a ``kernel``: a kernel of :mod:`seminorm.kernels`, "precomputed", or None for
    ``NegativeDistance()``, which has no length scale.
    """

    _matrices = (PRECOMPUTED,)  # names under which a matrix may be given in place of points

    def _is_given(self) -> bool:
        """Whether X is a matrix of kernel values (or distances) to the training points."""
        return isinstance(self.kernel, str) and self.kernel in self._matrices

    def _accepts_sparse(self):
        accepts = not self._is_given() and getattr(self.kernel, "accepts_sparse", False)
        return "csr" if accepts else False

    def _check_training(self, X, y="no_validation", **options):
        """X, or X and y, validated; ``kernel_`` is the kernel settled for X, None for a given matrix."""
        checked = validate_data(self, X, y, dtype=np.float64, accept_sparse=self._accepts_sparse(), **options)
        X = checked if isinstance(y, str) else checked[0]
        if self._is_given():
            self._refuse_bad_matrix(X)
            self.kernel_ = None
        else:
            self.kernel_ = self._settle_kernel(X)
        return checked

    def _settle_kernel(self, X):
        if isinstance(self.kernel, str):
            names = ", ".join(map(repr, self._matrices))
            raise ValueError(
                f"kernel must be a kernel of seminorm.kernels, {names}, or None for NegativeDistance(), got "
                f"{self.kernel!r}."
            )
        return kernel_for(NegativeDistance() if self.kernel is None else self.kernel, X)

    def _refuse_bad_matrix(self, X):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be the square matrix of the training points for kernel={self.kernel!r}, got shape {X.shape}."
            )
        if self.kernel == PRECOMPUTED and np.abs(X - X.T).max() > _ASYMMETRY * np.abs(X).max():
            raise ValueError("X must be a symmetric matrix for kernel='precomputed': use (X + X.T) / 2.")

    def _refuse_higher_order(self):
        """Distances in feature space are the same for all kernels of one semi-norm only up to order 1."""
        if self.kernel_ is not None and self.kernel_.order > 1:
            raise ValueError(
                f"kernel must be of order 0 or 1 to have distances k(x, x) - 2 k(x, y) + k(y, y), got {self.kernel_!r} "
                f"of order {self.kernel_.order}: use NegativeDistance(), a positive definite kernel, or "
                "seminorm.nullspace.Twin.from_data(kernel, X)."
            )

    def _check_points(self, X):
        """X validated for a trained machine."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, accept_sparse=self._accepts_sparse(), reset=False)

    def _diag(self, X, diag) -> np.ndarray:
        """k(x, x) of checked points; for a given matrix what the user says, or the constant of the training points."""
        if not self._is_given():
            self._refuse_diag(diag)
            return self.kernel_.diag(X)
        if diag is None:
            known = self.diag_fit_
            if np.ptp(known) > _CONSTANT * np.abs(known).max():
                raise ValueError(
                    "diag is needed: give k(x, x) for each row of X. (It may be left out where k(x, x) is the same for "
                    "all training points.)"
                )
            return np.full(len(X), known[0])
        diag = np.asarray(diag, dtype=float)
        if diag.shape != (len(X),) or not np.isfinite(diag).all():
            raise ValueError(f"diag must hold {len(X)} finite numbers k(x, x), one a row of X, got shape {diag.shape}.")
        return diag

    def _refuse_diag(self, diag):
        if diag is not None:
            raise ValueError(f"diag goes with kernel='precomputed', and kernel is {self.kernel!r}.")

    def _training_diag(self, X) -> np.ndarray:
        return np.array(np.diagonal(X)) if self._is_given() else self.kernel_.diag(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given()
        tags.input_tags.sparse = isinstance(self.kernel, Kernel) and bool(self.kernel.accepts_sparse)
        return tags


class ExpansionMachine(KernelMachine):
    """Base of the machines whose training ends in functions sum_i coefficients[i] k(., x_i) + polynomial."""

    def _gram(self, X) -> np.ndarray:
        """The kernel matrix of the training points, to be overwritten."""
        n = X.shape[0]
        require_memory(4 * 8 * n**2, f"a dense machine on {n} points", "train on a subset.")
        return np.array(X) if self._is_given() else self.kernel_(X)

    def _beside_polynomials(self, X, degree: int) -> ProjectedKernel:
        """The kernel matrix with the polynomials of a degree projected out (for a given matrix the constant, unless
        the degree is -1), ``null_space_`` the fitted polynomials.
        """
        if self._is_given():
            self.null_space_ = None
            P, tolerance = np.ones((len(X), 1 if degree >= 0 else 0)), 1e-13
        else:
            self.null_space_ = Polynomials(degree).fit(X)
            P, tolerance = self.null_space_(X), self.null_space_.resolution
            identifiable(self.null_space_, P)  # warns
        if P.shape[1] and len(P) <= P.shape[1]:
            raise ValueError(
                f"X has n_samples={len(P)}, no more than the {P.shape[1]} polynomials that are projected out of the "
                "kernel: use a kernel of lower order (NegativeDistance, Gaussian), or more points."
            )
        return ProjectedKernel(self._gram(X), P, tolerance)

    def _keep(self, X, coefficients: np.ndarray, null: np.ndarray) -> None:
        """Keep the functions sum_i coefficients[i] k(., x_i) + sum_j null[j] p_j, one a column."""
        self._rows_ = np.flatnonzero(np.abs(coefficients).sum(axis=1) > 0)
        self._points_ = np.empty((0, 0)) if self._is_given() else X[self._rows_]
        self._coefficients_, self._null_ = coefficients[self._rows_], null

    @property
    def function_(self) -> Expansion:
        """The functions that training found, as one function with several outputs."""
        check_is_fitted(self)
        if self._is_given():
            raise ValueError(
                f"function_ needs the kernel: with kernel={self.kernel!r} only values at given rows of the matrix "
                "exist."
            )
        return Expansion(self.kernel_, [Functional(self._points_)], self._coefficients_, self.null_space_, self._null_)

    def _values(self, X) -> np.ndarray:
        """The functions at checked points, or at the rows of a given matrix, (n, k)."""
        if self._is_given():
            return X[:, self._rows_] @ self._coefficients_ + self._null_.sum(axis=0)
        return self.function_(X) if len(self._rows_) else self.null_space_(X) @ self._null_
