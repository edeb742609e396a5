"""The base of all kernel machines: checked points or a given matrix, a settled kernel, the functions that come out of
training, and saving. An estimator built on it only says what differs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._base.memory import require_memory
from .._base.patterns import PatternTable, alone, validated
from ..functions import Expansion, Functional
from ..kernels import Kernel, NegativeDistance, ThinPlate, VectorKernel
from ..nullspace import NullSpace
from ..nullspace.specification import free_functions
from ..solvers.margin.machines import ProjectedKernel
from .samples import distinct_samples, weighted_rows
from .saving import SavedEstimator
from .settling import (
    check_metric,
    has_open_scale,
    in_metric,
    is_learned,
    learn_metric,
    named_kernel,
    standardized,
    typical_distance,
    warn_of_units,
    with_scale,
)  # fmt: skip

PRECOMPUTED = "precomputed"
_ASYMMETRY = 1e-8
_CONSTANT = 1e-12
_LOW_DIMENSION = 10


class Terms(NamedTuple):
    """The functions sum_i dual[i] k(., x_i) + sum_j null[j] p_j, one per column."""

    rows: np.ndarray  #: of the training points x_i
    points: Any  #: x_i, (m, d); of no use for a given matrix
    dual: np.ndarray  #: (m, k)
    null: np.ndarray  #: (p, k)


class Samples(NamedTuple):
    """Training samples that differ, in an order of their own."""

    X: Any  #: points (n, d), or the given matrix (n, n)
    labels: np.ndarray  #: (n,) classes by number; zeros where there are none
    weights: np.ndarray  #: (n,)
    rows: np.ndarray  #: of the user's X


class FunctionRegressor(SavedEstimator, RegressorMixin, BaseEstimator, ABC):
    """Base of the smoothers: what they do with ``function_`` and its standard deviations."""

    function_: Any
    noise_variance_: Any

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True, "observation"]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(
        self, X: Any, return_std: bool | Literal["observation"] = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Values at X; with ``return_std`` also the posterior standard deviation of f, and with
        ``return_std="observation"`` that of a new observation of weight 1, which has noise.
        """
        noisy = isinstance(return_std, str)
        if noisy and return_std != "observation":
            raise ValueError(f'return_std must be True, False or "observation", got {return_std!r}.')
        X = self._check_points(X)
        mean = self._mean(X)
        if not return_std:
            return mean
        std = self._std(X)
        return mean, np.hypot(std, self._noise(mean)) if noisy else std

    def predict_quantile(self, X: Any, q: ArrayLike, *, observation: bool = True) -> np.ndarray:
        """Quantiles of a normal prediction at X, of a new observation of weight 1 or of f.

        Parameters
        ----------
        X : array (n, d)
            Points.
        q : float or array
            Between 0 and 1.
        observation : bool
            Whether noise counts, as in ``predict(X, return_std="observation")``.

        Returns
        -------
        array (n,), or (n, k) for outputs, with the shape of ``q`` as further axes
        """
        levels = np.asarray(q, dtype=float)
        if not ((levels > 0.0) & (levels < 1.0)).all():
            raise ValueError(f"q must lie between 0 and 1, got {q!r}.")
        mean, std = self.predict(X, return_std="observation" if observation else True)
        return mean[(...,) + (None,) * levels.ndim] + np.multiply.outer(std, special.ndtri(levels))

    @property
    def _noise_std(self) -> Any:
        """Of an observation of weight 1."""
        return np.sqrt(self.noise_variance_)

    def _noise(self, mean: np.ndarray) -> Any:
        """Deviation of an observation of weight 1 about its mean."""
        return self._noise_std

    def predict_gradient(self, X: Any) -> np.ndarray:
        """Gradients at X: (n, d), or (n, k, d) for k outputs."""
        return self.function_.gradient(self._check_points(X))

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """Values at checked points."""
        return self.function_(X)

    @abstractmethod
    def _std(self, X: np.ndarray) -> np.ndarray: ...

    def _check_points(self, X) -> np.ndarray:
        check_is_fitted(self)
        return validated(self, self._patterns(), X, dtype=np.float64, reset=False)

    def _patterns(self) -> Callable[[Any, str], Any] | None:
        """What checks patterns; None where X holds points (n, d)."""
        return _patterns_of(getattr(self, "kernel", None))


class KernelMachine(SavedEstimator, BaseEstimator):
    """Base of the machines with a ``kernel``: one of :mod:`seminorm.kernels`, "precomputed", or None for a default."""

    kernel: Any
    kernel_: Any
    null_space_: NullSpace | None
    diag_fit_: np.ndarray
    n_features_in_: int

    _matrices: tuple[str, ...] = (PRECOMPUTED,)  # names under which a matrix may be given in place of points
    _single_output = False  # whether function_ has one output
    _copies = 4  # kernel matrices that training holds at once
    _advice = "train on a subset."  # where there is no room for them

    # -- input -----------------------------------------------------------------------------------------------------

    def _names(self) -> Any:
        """Names of the columns of X, if it had any."""
        return getattr(self, "feature_names_in_", None)

    def _is_given(self) -> bool:
        """Whether X is a matrix of kernel values (or distances) to the training points."""
        return (isinstance(self.kernel, str) and self.kernel in self._matrices) or self._takes_distances()

    def _takes_distances(self) -> bool:
        """Whether the kernel is one of distances that X holds."""
        distance = getattr(self.kernel, "distance", None)
        return isinstance(distance, str) and distance == PRECOMPUTED

    def _of_distances(self, X):
        """Kernel values for a matrix of distances."""
        if self.kernel.cpd_order > 1:
            raise ValueError(
                f"{self.kernel!r} is of order {self.kernel.cpd_order} and needs more free functions than the constant, "
                "which distances do not give: use a base of order 0 or 1 (Gaussian, NegativeDistance)."
            )
        return self.kernel(X)

    def _accepts_sparse(self):
        accepts = not self._is_given() and getattr(self.kernel, "accepts_sparse", False)
        return "csr" if accepts else False

    def _patterns(self) -> Callable[[Any, str], Any] | None:
        """What checks patterns; None where X holds points (n, d) or a matrix."""
        return None if self._is_given() else _patterns_of(self.kernel)

    def _validated(self, X, y: Any = "no_validation", **options):
        """X, or X and y, as points, a given matrix, or a table of patterns."""
        sparse = self._accepts_sparse()
        return validated(self, self._patterns(), X, y, dtype=np.float64, accept_sparse=sparse, **options)

    def _check_input(self, X, y: Any = "no_validation", **options):
        """X, or X and y, validated."""
        checked = self._validated(X, y, **options)
        if self._is_given():
            self._refuse_bad_matrix(checked if isinstance(y, str) else checked[0])
        if self._takes_distances():
            return self._of_distances(checked) if isinstance(y, str) else (self._of_distances(checked[0]), *checked[1:])
        return checked

    def _samples(self, X, labels=None, sample_weight=None) -> Samples:
        """Distinct samples of positive weight.

        Samples that agree are merged, and their weights added up: a weight is the same as repetition, and nothing
        depends on the order of the samples. Those of a given matrix stay as they are.
        """
        labels = np.zeros(X.shape[0], dtype=int) if labels is None else labels
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self._is_given():
            rows = weighted_rows(weights)
            return Samples(X[np.ix_(rows, rows)], labels[rows], weights[rows], rows)
        rows, merged = distinct_samples(X, labels, weights)
        return Samples(X[rows], labels[rows], merged, rows)

    def _settle(self, samples: Samples) -> None:
        """Settle the kernel and its metric: ``kernel_``, None for a given matrix."""
        metric = getattr(self, "metric", None)
        check_metric(metric)
        if self._is_given():
            if metric is not None:
                raise ValueError(f"metric={metric!r} needs points: leave it out for kernel={self.kernel!r}.")
            self.kernel_ = None
            self._refuse_asymmetric(samples.X)
            return
        self.kernel_ = self._settle_kernel(samples.X)
        if metric is None:
            warn_of_units(self.kernel, samples.X)
            return
        if is_learned(metric):
            self._refuse_unlabelled(metric)
            self.metric_ = learn_metric(metric, samples.X, samples.labels, samples.weights)
            kernel = in_metric(self._default_or_given(), self.metric_)
            self.kernel_ = self._with_scale(kernel, samples.X)
            return
        kernels = [*([self.kernel_] if metric == "auto" else []), self._standardized(samples)]
        self.kernel_ = kernels[0] if len(kernels) == 1 else min(kernels, key=lambda k: self._loss_of(k, samples))

    def _standardized(self, samples: Samples) -> Any:
        """The kernel of columns in units of their standard deviations."""
        kernel = standardized(self._default_or_given(), samples.X, samples.weights)
        return self._with_scale(kernel, samples.X)

    def _refuse_unlabelled(self, metric: Any) -> None:
        """Machines without labels cannot learn a metric."""
        if not hasattr(self, "classes_"):
            raise ValueError(f"metric={metric!r} learns by labels, and there are none: use 'standardize', or None.")

    def _loss_of(self, kernel: Kernel, samples: Samples) -> float:
        """How badly a kernel suits the samples, for metric="auto"; machines with labels can tell."""
        raise ValueError("metric='auto' chooses by labels, and there are none: use metric='standardize', or None.")

    def _default_or_given(self) -> Kernel:
        return named_kernel(NegativeDistance() if self.kernel is None else self.kernel, self._names())

    def _settle_kernel(self, X):
        return self._with_scale(kernel_for(self._default_or_given(), X), X)

    def _with_scale(self, kernel: Kernel, X) -> Kernel:
        """The kernel with an open scale set to the typical distance of two points."""
        if has_open_scale(kernel):
            return with_scale(kernel, typical_distance(kernel, X)).for_dimension(X.shape[1])
        return kernel

    def _refuse_bad_matrix(self, X):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be the square matrix of the training points for kernel={self.kernel!r}, got shape {X.shape}."
            )

    def _refuse_asymmetric(self, X):
        kernel_values = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        if (kernel_values or self._takes_distances()) and np.abs(X - X.T).max() > _ASYMMETRY * np.abs(X).max():
            raise ValueError("X must be a symmetric matrix for kernel='precomputed': use (X + X.T) / 2.")

    def _refuse_higher_order(self):
        """Distances in feature space are the same for all kernels of one semi-norm only up to order 1."""
        if self.kernel_ is not None and self.kernel_.cpd_order > 1:
            raise ValueError(
                f"kernel must be of order 0 or 1 to have distances k(x, x) - 2 k(x, y) + k(y, y), got {self.kernel_!r} "
                f"of order {self.kernel_.cpd_order}: use NegativeDistance(), a positive definite kernel, or "
                "seminorm.nullspace.Twin.from_data(kernel, X)."
            )

    def _check_points(self, X):
        """X validated for a trained machine."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._of_distances(X) if self._takes_distances() else X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given()
        tags.input_tags.sparse = isinstance(self.kernel, Kernel) and bool(self.kernel.accepts_sparse)
        return tags

    # -- matrices --------------------------------------------------------------------------------------------------

    def _gram(self, X) -> np.ndarray:
        """The kernel matrix of the training points, to be overwritten."""
        n = X.shape[0]
        require_memory(self._copies * 8 * n**2, f"a dense machine on {n} points", self._advice)
        return np.array(X) if self._is_given() else self.kernel_(X)

    def _null_matrix(self, X) -> tuple[np.ndarray, float]:
        """The fitted null space at X, and the tolerance for its rank."""
        assert self.null_space_ is not None
        P = self.null_space_(X)
        return P, self.null_space_.resolution

    def _beside_polynomials(self, X, degree: int) -> ProjectedKernel:
        """The kernel matrix beside the polynomials of a degree, or what the kernel has in their place (of a given
        matrix: the constant, or nothing for -1)."""
        if self._is_given():
            self.null_space_ = None
            P, tolerance = np.ones((len(X), 1 if degree >= 0 else 0)), 1e-13
        else:
            self.null_space_ = free_functions(self.kernel_, degree).fit(X)
            P, tolerance = self._null_matrix(X)
        if P.shape[1] and len(P) <= P.shape[1]:
            raise ValueError(
                f"X has n_samples={len(P)}, no more than the {P.shape[1]} polynomials that are projected out of the "
                "kernel: use a kernel of lower order (NegativeDistance, Gaussian), or more points."
            )
        return ProjectedKernel(self._gram(X), P, tolerance)

    def _training_diag(self, X) -> np.ndarray:
        return np.array(np.diagonal(X)) if self._is_given() else self.kernel_.diag(X)

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
            raise ValueError(
                f"diag must hold {len(X)} finite numbers k(x, x), one per row of X, got shape {diag.shape}."
            )
        return diag

    def _refuse_diag(self, diag):
        if diag is not None:
            raise ValueError(f"diag goes with kernel='precomputed', and kernel is {self.kernel!r}.")

    # -- what training found ---------------------------------------------------------------------------------------

    def _keep(self, samples: Samples, coefficients: np.ndarray, null: np.ndarray) -> None:
        """Keep the functions sum_i coefficients[i] k(., x_i) + sum_j null[j] p_j, one per column."""
        used = np.flatnonzero(np.abs(coefficients).sum(axis=1) > 0)
        self._rows_ = samples.rows[used]
        self._points_ = np.empty((0, 0)) if self._is_given() else alone(samples.X[used])
        self._coefficients_, self._null_ = coefficients[used], null

    def _terms(self) -> Terms:
        """What was kept."""
        return Terms(self._rows_, self._points_, self._coefficients_, self._null_)

    @property
    def function_(self) -> Expansion:
        """The functions that training found, as one function with an output for each of them."""
        check_is_fitted(self)
        if self._is_given():
            raise ValueError(
                f"function_ needs the kernel: with kernel={self.kernel!r} only values at given rows of the matrix "
                "exist."
            )
        _, points, dual, null = self._terms()
        if not len(dual):  # an expansion has at least one term
            table = isinstance(points, PatternTable)
            points = points.any_pattern() if table else np.zeros((1, self.n_features_in_))
            dual = np.zeros((1, null.shape[1]))
        if self._single_output:
            dual, null = dual[:, 0], null[:, 0]
        assert self.null_space_ is not None
        return Expansion(self.kernel_, [Functional(points)], dual, self.null_space_, null)

    def _values(self, X) -> np.ndarray:
        """The functions at checked points, or at the rows of a given matrix, (n, k)."""
        rows, _, dual, null = self._terms()
        if self._is_given():
            return X[:, rows] @ dual + null.sum(axis=0)
        if not len(rows):
            assert self.null_space_ is not None
            return self.null_space_(X) @ null
        return self.function_(X).reshape(X.shape[0], -1)


def _patterns_of(kernel: Any) -> Callable[[Any, str], Any] | None:
    """What checks patterns of a kernel that takes other things than points."""
    return kernel.patterns if isinstance(kernel, Kernel) and kernel.accepts_patterns else None


def kernel_for(kernel: Any, X: Any, least: int | None = None, names: Any = None) -> Kernel:
    """The kernel settled for the dimension of X (unless its scale is still open); left out, the thin plate.

    In more than ten dimensions with fewer than two points for each of the d + 1 free functions of the thin plate (in
    any dimension if parts of X have ``least`` points and these are too few), the default is ``NegativeDistance()``,
    which leaves only the constant free.
    """
    d = X.shape[1]
    if kernel is not None:
        kernel = named_kernel(kernel, names)
        return kernel if has_open_scale(kernel) or isinstance(kernel, VectorKernel) else kernel.for_dimension(d)
    few = d > _LOW_DIMENSION and len(np.unique(X, axis=0)) < 2 * (d + 1)
    few = few or (least is not None and least < 2 * (d + 1) and least < X.shape[0])
    return NegativeDistance() if few else ThinPlate()


def alphas_of(alpha: object) -> np.ndarray:
    """Numbers that the user gave for alpha, as an array."""
    try:
        return np.asarray(alpha, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"alpha must be a number, or an array of numbers as candidates, got {alpha!r}.") from None
