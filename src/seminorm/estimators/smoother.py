"""Smoothing and interpolation with a semi-norm: thin-plate splines, kernel ridge, kriging, in one estimator."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _threads as threads
from ..functions import Expansion, cross, design, gram
from ..kernels import Kernel
from ..memory import require_memory
from ..nullspace import identifiable, null_space_for, semidefinite_matrix, unisolvent_subset
from ..solvers.ridge import Factor, ReducedSystem
from ..solvers.selection import CRITERIA, solve
from .defaults import alphas_of, kernel_for
from .observations import collect_observations

_CHUNK_COLUMNS = 1024


class Smoother(RegressorMixin, BaseEstimator):
    """Minimise alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 over the kernel's space and its null space.

    With a conditionally positive definite kernel this is a smoothing spline, with a positive definite one kernel
    ridge regression; both are the posterior mean of a Gaussian process (with an improper prior on the null space:
    universal kriging). The one parameter is chosen automatically.

    Parameters
    ----------
    kernel : Kernel, optional
        Any kernel of :mod:`seminorm.kernels`; ``ThinPlate()`` if left out. (In more than ten dimensions with fewer
        than two points for each of its d + 1 free functions it is ``NegativeDistance()``, which leaves only the
        constant free. ``kernel_`` tells.)
    alpha : "auto", float or array of float
        Weight of the squared semi-norm; 0 interpolates. "auto" minimises the criterion, an array names the candidates.
    criterion : {"gcv", "loo", "reml"}
        How alpha is chosen: generalised cross-validation, leave-one-out, or restricted maximum likelihood.
    null_space : "auto", None, int, sequence of int, callable, transformer or NullSpace
        What is left free: by default the polynomials of the kernel's ``null_degree``; a degree; the constant and some
        columns; features of your own. See :mod:`seminorm.nullspace`.
    prior_variance : "auto" or float
        Variance of the Gaussian process in units of the kernel, for ``return_std`` and ``sample``; estimated by
        default.
    verbose : bool
        Show progress.

    Attributes
    ----------
    function_ : Expansion
        The fitted function, with value, gradient, Hessian and semi-norm.
    alpha_ : float
        The regularisation parameter used.
    alpha_path_ : dict of arrays
        ``alpha``, ``score`` (the criterion) and ``edf`` along the path.
    edf_ : float
        Effective degrees of freedom, the trace of the map from data to fitted values.
    loo_ : array
        Leave-one-out residuals y_i - f(x_i) with f fitted without the point x_i, in closed form (computed when first
        asked for).
    dual_coef_, null_coef_ : arrays
        Coefficients of the kernel and of the null space.
    prior_variance_, noise_variance_ : float or array
        Of the Gaussian process; an array for several outputs. The noise variance is that of an observation of weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(200)
    >>> model = Smoother().fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> mean, std = model.predict(X[:3], return_std=True)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        alpha="auto",
        criterion: str = "gcv",
        null_space="auto",
        prior_variance="auto",
        verbose: bool = False,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.criterion = criterion
        self.null_space = null_space
        self.prior_variance = prior_variance
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, gradients=None, functionals=None) -> Smoother:
        """Fit to values and, optionally, gradients.

        Parameters
        ----------
        X : array (n, d)
        y : array (n,) or (n, k)
        sample_weight : array (n,), optional
            Inverse noise variances up to a common factor, or numbers of repetitions.
        gradients : array, (points, array) or (points, array, weights), optional
            Observed gradients at X, or at points of their own: shape (m, d), or (m, k, d) for k outputs; NaN marks
            components that were not observed. Their squared errors enter with the weights given, or with those of the
            samples, or 1: mind the units, a gradient is a value per length.
        functionals : sequence of (Functional, targets) or (Functional, targets, weights), optional
            Any other linear functionals that were observed: averages, directional derivatives, Laplacians.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        self._check_parameters()
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must have a positive entry: all weights are zero.")
        y = y.astype(float)
        self.X_fit_, self._y, self._single = X, y.reshape(len(y), -1), y.ndim == 1
        self.kernel_ = kernel_for(self.kernel, X[weights > 0])
        self._observed = collect_observations(X, self._y, weights, gradients, functionals, self.kernel_)
        self.null_space_ = null_space_for(self.null_space, self.kernel_, self._observed.functionals[0].points)
        self._check_observations(int((weights > 0).sum()))
        self.__dict__.pop("_loo", None)
        self._identifiable = identifiable(self.null_space_, design(self.null_space_, self._observed.functionals))
        with threads.suited_to(len(self._observed.targets)):
            self._solve()
        return self

    def predict(self, X, return_std: bool = False):
        """Values at X; with ``return_std`` also the posterior standard deviation of f (without the noise)."""
        X = self._check_points(X)
        mean = self.function_(X)
        if not return_std:
            return mean
        parts = []
        for i in range(0, len(X), _CHUNK_COLUMNS):
            chunk = X[i : i + _CHUNK_COLUMNS]
            parts.append(self._posterior(chunk, self.kernel_.diag(chunk), diagonal=True))
        variance = np.maximum(np.concatenate(parts), 0.0)  # rounding may leave -1e-17 at an interpolated point
        std = np.sqrt(variance[:, None] * np.atleast_1d(self._known_prior_variance()))
        return mean, std[:, 0] if self._single else std

    def predict_gradient(self, X) -> np.ndarray:
        """Gradients at X: (n, d), or (n, k, d) for k outputs."""
        return self.function_.gradient(self._check_points(X))

    def sample(self, X, n_samples: int = 1, *, prior: bool = False, random_state=None) -> np.ndarray:
        """Values at X of functions drawn from the posterior, or from the prior modulo the null space.

        A draw from the prior is fixed by letting it vanish at a few of the training points: any function of the null
        space may be added.

        Returns
        -------
        array (n, n_samples), or (n, k, n_samples) for k outputs
        """
        X = self._check_points(X)
        rng = check_random_state(random_state)
        variance = np.atleast_1d(self._known_prior_variance())
        require_memory(3 * 8 * len(X) ** 2, f"drawing at {len(X)} points", "draw at fewer points.")
        if prior:
            covariance = self._prior_covariance(X)
            mean = np.zeros((len(X), len(variance)))
        else:
            covariance = self._posterior(X, self.kernel_(X), diagonal=False)
            mean = self.function_(X).reshape(len(X), -1)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = rng.standard_normal((len(variance), len(X), n_samples))
        draws = mean[:, :, None] + np.sqrt(variance)[:, None] * np.moveaxis(root @ noise, 0, 1)
        return draws[:, 0] if self._single else draws

    @property
    def loo_(self) -> np.ndarray:
        check_is_fitted(self)
        if not hasattr(self, "_loo"):
            observed = self._observed
            merged = self._factor().leave_one_out()[: len(observed.functionals[0].points)]
            left_out = self._y - self.function_(self.X_fit_).reshape(self._y.shape)
            kept = observed.groups >= 0
            group = observed.groups[kept]
            left_out[kept] = self._y[kept] - observed.targets[group] + merged[group]
            self._loo = left_out[:, 0] if self._single else left_out
        return self._loo

    def _check_parameters(self):
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {self.criterion!r}.")
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(f"alpha must be 'auto', a number >= 0 or an array of candidates, got {self.alpha!r}.")
        else:
            alphas = alphas_of(self.alpha)
            if (
                alphas.ndim > 1
                or alphas.size == 0
                or not np.isfinite(alphas).all()
                or (alphas < 0).any()
                or (alphas.ndim == 1 and (alphas == 0).any())
            ):
                raise ValueError(
                    f"alpha must be >= 0 (0 interpolates), and candidates positive, got {self.alpha!r}: use "
                    "alpha='auto' to have it chosen."
                )
        if self.prior_variance != "auto" and not (
            isinstance(self.prior_variance, Real) and 0 < self.prior_variance < np.inf
        ):
            raise ValueError(f"prior_variance must be 'auto' or a positive number, got {self.prior_variance!r}.")

    def _check_observations(self, n_values: int):
        points, size = self._observed.functionals[0].points, len(self._observed.targets)
        dimension = self.null_space_(points[:1]).shape[1]
        if size < dimension:
            raise ValueError(
                f"X has n_samples={size} distinct observations, fewer than the dimension {dimension} of the null "
                "space: give more points, a smaller "
                "null_space, or a kernel of lower order (NegativeDistance leaves only the constant free, Gaussian "
                "nothing)."
            )
        if self._fixed_alpha() == 0 and len(points) < n_values:
            raise ValueError(
                f"alpha=0 interpolates, and X has {n_values - len(points)} duplicated points: remove them "
                "(np.unique(X, axis=0)), or use alpha > 0 or 'auto'."
            )
        # three n x n matrices, and the tensors of derivatives from which the blocks of gradient data are made
        tensors = sum(
            (len(f.points) * f.points.shape[1] ** f.order) ** 2 for f in self._observed.functionals if f.order
        )
        require_memory(
            3 * 8 * (size**2 + tensors),
            f"a dense fit of {size} observations",
            "fit a subset, or use seminorm.FieldSmoother, which takes millions of points in one to four dimensions."
            if points.shape[1] <= 4
            else "fit a subset.",
        )

    def _fixed_alpha(self) -> float | None:
        return None if isinstance(self.alpha, str) or np.ndim(self.alpha) else float(self.alpha)

    def _reduced_system(self) -> ReducedSystem:
        observed = self._observed
        P = self._restrict(design(self.null_space_, observed.functionals))
        K = gram(self.kernel_, observed.functionals)
        return ReducedSystem(K, P, observed.targets, observed.weights, observed.scatter, observed.repeats)

    def _restrict(self, P: np.ndarray) -> np.ndarray:
        return P if self._identifiable is None else P @ self._identifiable

    def _solve(self):
        system = self._reduced_system()
        solution = solve(system, None if isinstance(self.alpha, str) else self.alpha, self.criterion, self.verbose)
        dual, null = system.coefficients(solution.g)
        null = null if self._identifiable is None else self._identifiable @ null
        self.dual_coef_, self.null_coef_ = (dual[:, 0], null[:, 0]) if self._single else (dual, null)
        self.function_ = Expansion(
            self.kernel_, self._observed.functionals, self.dual_coef_, self.null_space_, self.null_coef_
        )
        self.alpha_, self.alpha_path_, self.edf_ = solution.alpha, solution.path, solution.edf
        variance = solution.variance if self.prior_variance == "auto" else np.full(dual.shape[1], self.prior_variance)
        self.prior_variance_ = float(variance[0]) if self._single else variance
        self.noise_variance_ = self.alpha_ * self.prior_variance_
        self._cached_factor = solution.factor

    def _known_prior_variance(self):
        if np.isnan(self.prior_variance_).any():
            raise ValueError(
                "prior_variance cannot be estimated when there are no more observations than free functions: give "
                "it a number."
            )
        return self.prior_variance_

    def _factor(self) -> Factor:
        if getattr(self, "_cached_factor", None) is None:
            with threads.suited_to(len(self._observed.targets)):
                self._cached_factor = Factor(self._reduced_system(), self.alpha_)
        return self._cached_factor

    def _posterior(self, X, prior, diagonal: bool) -> np.ndarray:
        null = self._restrict(self.null_space_(X))
        return self._factor().posterior_covariance(
            cross(self.kernel_, self._observed.functionals, X), null, prior, diagonal
        )

    def _prior_covariance(self, X) -> np.ndarray:
        """The kernel's semi-definite twin that vanishes at unisolvent points of the training data."""
        known = self._observed.functionals[0].points
        P = self._restrict(self.null_space_(known))
        chosen = unisolvent_subset(P)
        lagrange = self._restrict(self.null_space_(X)) @ np.linalg.pinv(P[chosen])
        return semidefinite_matrix(self.kernel_, X, known[chosen], lagrange)

    def _check_points(self, X) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)

    def __getstate__(self):
        return {**super().__getstate__(), "_cached_factor": None}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
