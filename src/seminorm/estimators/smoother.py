"""Smoothing and interpolation with a semi-norm: thin-plate splines, kernel ridge, kriging, in one estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._base import blas as threads
from .._base.memory import require_memory
from .._base.patterns import validated
from .._base.warnings import warn_user
from ..functions import Expansion, cross, design
from ..functions.large_system import LargeSystem, large_system
from ..kernels import Kernel, VectorKernel
from ..nullspace import NullSpace, SoftTwin, identifiable, null_space_for, semidefinite_matrix, unisolvent_subset
from ..nullspace.spaces import warn_off_span
from ..solvers.ridge.selection import solve
from ..solvers.ridge.system import Factor
from .attempts import Attempt, advice
from .base import alphas_of
from .engines import chosen_solver, solved_by_field, solved_fast
from .field_smoother import FieldSmoother
from .frames import GEOGRAPHIC, Frame, check_vector_data, frame_of, geographic_frame
from .geography import GeographicColumns
from .kernel_choice import best_attempt
from .likelihood_fits import GAUSSIAN, check_family, family_data, solved_by_reweighting
from .observations import FunctionalData, collect_observations, functional_shape, observed_functionals
from .settling import is_learned, learn_metric, warn_of_units, with_column_numbers
from .slopes import gradient_variances
from .smoother_parameters import check_parameters
from .terms import AdditiveRegressor, check_terms, term_space, weigh_terms

_CHUNK_COLUMNS = 1024
_FAST_COLUMNS = 32
_MANY_DEVIATIONS = 1000
_GRADIENT_ROWS = 128  # whose prior covariances are made at once
_NEARLY = 0.9  # degrees of freedom, as a share of n, from which on a fit nearly interpolates
_PREDICTED = 0.05  # share of the variance of y that leaving out may cost a fit that nearly interpolates
_ENOUGH = 10


class Smoother(AdditiveRegressor):
    """Minimise alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 over the kernel's space and its null space.

    With a conditionally positive definite kernel this is a smoothing spline, with a positive definite one kernel
    ridge regression; both are the posterior mean of a Gaussian process (with an improper prior on the null space:
    universal kriging). The one parameter is chosen automatically.

    Parameters
    ----------
    kernel : Kernel, optional
        Any kernel of :mod:`seminorm.kernels`, with ``scale="auto"`` for a scale chosen by what is left out.
        ``ThinPlate()`` if left out; in more than three dimensions, or with few points, also ``NegativeDistance()``,
        which leaves only the constant free, is tried, and the better one by leave-one-out is used (see ``kernel_``).
        :class:`seminorm.kernels.Elastic` couples the two components of velocities y (n, 2), of which some may be NaN.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm; 0 interpolates. "auto" minimises the criterion, an array names the candidates.
    criterion : {"auto", "gcv", "loo", "reml"}
        How alpha is chosen: generalised cross-validation, leave-one-out, or restricted maximum likelihood. "auto" is
        leave-one-out, and for more than 1400 observations generalised cross-validation, among whose minima
        leave-one-out decides. Points that (nearly) coincide count as one place. For kernels of vector fields "auto" is
        "reml", which does not depend on the axes, and Poisson's ratio is chosen by the same criterion.
    null_space : "auto", "soft", None, int, sequence of int, callable, transformer or NullSpace
        What is left free: by default the polynomials of the kernel's ``null_degree``, or, where it is better by
        leave-one-out, the same at a price ("soft", see :class:`seminorm.nullspace.SoftTwin`); a degree; the constant
        and some columns; features of your own. See :mod:`seminorm.nullspace`.
    prior_variance : "auto" or float
        Variance of the Gaussian process in units of the kernel, for ``return_std`` and ``sample``; estimated by
        default.
    verbose : bool
        Show progress.
    metric : None, "standardize", "auto", "diagonal", "full" or LearnedMetric
        As in :class:`SVC`.
    coordinates : "auto", "geographic" or None
        "geographic": X is longitude and latitude in degrees (in the order of its column names, if it has any), and
        distances are those of the points in space, so that poles and the date line are places like all others. The
        kernel is one of distances, whose scale is in radii of the sphere, and what is free are polynomials in the unit
        vector. "auto" is that for columns called lon and lat (or longitude, latitude) where nothing speaks against it,
        with a warning that says so; None takes the numbers as they are.
    solver : {"auto", "dense", "fast", "field"}
        "dense" factorises the matrix of all pairs of points, "fast" iterates with sums by near and far field (values
        and first derivatives in 1 to 3 dimensions, kernels of distances), "field" takes the basis of
        :class:`FieldSmoother` (values, ``Polyharmonic``, ``Tension``, ``ThinPlate`` in the plane). "auto" is dense for
        up to 8000 observations, then fast, and a field beyond 20 000 (a million if alpha is given), each where the
        kernel allows it; ``solver_`` tells.
    tol, max_iter : float, int
        Of the fast solver: the residual at which it stops, relative to what of y the null space does not explain, and
        its largest number of steps.
    family : {"gaussian", "binomial", "poisson", "gamma"}
        Distribution of y about its mean, whose logit (binomial: y in [0, 1]) or logarithm is f: squares become
        deviances. ``predict`` gives the mean, ``predict_link`` gives f, and ``predict_proba`` probabilities. See
        :mod:`seminorm.deviances`.
    term_factors : None, "auto" or array of float
        For a sum of kernels on some columns each, an additive model: a factor per term, by restricted likelihood or as
        given. What is free is then the sum of what the terms leave free, and :meth:`partial_effect` shows the terms.

    Attributes
    ----------
    function_ : Expansion
        The fitted function, with value, gradient, Hessian and semi-norm.
    alpha_, alpha_path_ : float, dict of arrays
        The regularisation parameter used; ``alpha``, ``score`` (the criterion) and ``edf`` along the path.
    kernel_, null_space_used_ : Kernel, str
        What was used; "free" or "soft".
    coordinates_ : str or None
        "geographic" for degrees on the sphere.
    edf_ : float
        Effective degrees of freedom, the trace of the map from data to fitted values.
    loo_ : array
        Leave-one-out residuals y_i - f(x_i) with f fitted without the point x_i, in closed form (computed when first
        asked for).
    dual_coef_, null_coef_ : arrays
        Coefficients of the kernel and of the null space; none for a field.
    solver_, n_iter_ : str, int
        "dense", "fast" or "field"; steps of the last solution, 1 for a factorisation.
    prior_variance_, noise_variance_ : float or array
        Of the Gaussian process; an array for several outputs. The noise variance is that of an observation of weight
        1, or the dispersion of its family.

    See Also
    --------
    FieldSmoother : For up to millions of points in one to four dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(200)
    >>> mean, std = Smoother().fit(X, y).predict(X[:3], return_std=True)
    """

    _cached_factor: Factor | None
    _cached_large: LargeSystem | None

    def __init__(
        self,
        kernel: Kernel | None = None,
        alpha: ArrayLike = "auto",
        criterion: str = "auto",
        null_space: Any = "auto",
        prior_variance: float | str = "auto",
        verbose: bool = False,
        metric: object = None,
        coordinates: str | None = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 300,
        family: str = GAUSSIAN,
        term_factors: ArrayLike | None = None,
    ):
        self.kernel, self.alpha, self.criterion, self.null_space = kernel, alpha, criterion, null_space
        self.prior_variance, self.verbose, self.metric = prior_variance, verbose, metric
        self.coordinates, self.solver, self.tol, self.max_iter = coordinates, solver, tol, max_iter
        self.family, self.term_factors = family, term_factors

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        gradients: Any = None,
        functionals: Sequence[tuple] | None = None,
        exposure: ArrayLike | None = None,
    ) -> Smoother:
        """Fit to values and, optionally, gradients and other functionals.

        Parameters
        ----------
        X, y : arrays (n, d) and (n,) or (n, k), optional
            May be left out if functionals are given.
        sample_weight : array (n,), optional
            Inverse noise variances up to a common factor, or numbers of repetitions. For a ``family`` with known
            dispersion (counts, shares) they are numbers of repetitions, or of trials.
        gradients : array, (points, array) or (points, array, weights), optional
            Observed gradients at X, or at points of their own: shape (m, d), or (m, k, d) for k outputs; NaN marks
            components that were not observed. Their squared errors enter with the weights given, or with those of the
            samples, or 1: mind the units, a gradient is a value per length.
        functionals : sequence of (Functional, targets) or (Functional, targets, weights), optional
            Any other linear functionals that were observed: block averages, derivatives along directions, sums such
            as a f + b df/dn, Laplacians. See :class:`seminorm.Functional`.
        exposure : array (n,), optional
            For ``family="poisson"``: the length of time, area or population in which y was counted. What is predicted
            is then the rate, the mean count for an exposure of 1.
        """
        check_family(self, gradients, functionals)
        X, y, weights = self._samples(X, y, sample_weight, functionals)
        y, weights = family_data(self.family, y, weights, exposure)
        check_parameters(self)
        check_terms(self)
        self.X_fit_, self._single = X, y.ndim == 1 or isinstance(self.kernel, VectorKernel)
        frame = self._choose_frame(X, gradients is None and not functionals and self.metric is None)
        self._y, weights = frame.stacked(y, weights)
        X = frame.rows(X)
        further = [observed_functionals(item, X.shape[1], self._y.shape[1]) for item in functionals or ()]
        known = X[weights > 0] if len(X) else np.concatenate([item.functional.points for item in further])
        if self.metric is None:
            warn_of_units(self.kernel, frame.with_units(known))
        self.__dict__.pop("_loo", None)

        used = np.flatnonzero(weights > 0)

        def attempt(kernel: Kernel, part: np.ndarray | None = None) -> Attempt:
            if part is None:
                observed = collect_observations(X, self._y, weights, gradients, further, kernel)
                return self._attempt(kernel, observed, (self._y[used], weights[used]), self.solver)
            samples = self._y[used[part]], weights[used[part]]
            observed = collect_observations(X[used[part]], *samples, None, [], kernel)
            return self._attempt(kernel, observed, samples, "dense")

        values_only = gradients is None and not further
        self._learn_metric(X, weights, values_only)
        with threads.suited_to(len(known)):
            best = best_attempt(self, known, weights[used], attempt, values_only)
        self._adopt(best)
        return self

    def _learn_metric(self, X: np.ndarray, weights: np.ndarray, values_only: bool) -> None:
        """Learn a metric from the values, if one is asked for: ``metric_``."""
        self.__dict__.pop("metric_", None)
        if is_learned(self.metric):
            if not values_only or isinstance(self.kernel, VectorKernel):
                raise ValueError(f"metric={self.metric!r} learns from values alone: use 'standardize', or None.")
            self.metric_ = learn_metric(self.metric, X, self._y, weights)

    def _choose_frame(self, X: np.ndarray, plain: bool) -> Frame:
        """What becomes of the points of the user, kept in ``_degrees`` and ``coordinates_``."""
        free = isinstance(self.null_space, str) or self.coordinates == GEOGRAPHIC
        self._degrees = geographic_frame(self.coordinates, self.kernel, X, self._names(), plain and free)
        self.coordinates_ = None if self._degrees is None else GEOGRAPHIC
        if isinstance(self.kernel, VectorKernel) and not plain:
            raise ValueError(
                f"{self.kernel!r} takes values alone, with metric=None: leave gradients and functionals out."
            )
        return frame_of(self.kernel, self._degrees)

    @property
    def _frame(self) -> Frame:
        return frame_of(self.kernel_, self._degrees)

    def _check_points(self, X) -> np.ndarray:
        X = super()._check_points(X)
        if self._identifiable is not None and isinstance(self.null_space, str):
            warn_off_span(self.null_space_(self._frame.rows(X)), self._identifiable)
        return X

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def _function_std(self, X: np.ndarray) -> np.ndarray:
        if self._solved_by("field"):
            return self._field._std(X)
        parts, frame = [], self._frame
        rows = frame.rows(X)
        step = _FAST_COLUMNS if self._solved_by("fast") else _CHUNK_COLUMNS
        if self._solved_by("fast") and len(rows) > _MANY_DEVIATIONS:
            warn_user(
                f"deviations at {len(rows)} points take {-(-len(rows) // step)} solutions of the fast solver: ask for "
                "some of the points, or use solver='field' or FieldSmoother, whose deviations cost little."
            )
        for i in range(0, len(rows), step):
            chunk = rows[i : i + step]
            parts.append(self._posterior(chunk, self.kernel_.diag(chunk), diagonal=True))
        variance = np.maximum(np.concatenate(parts), 0.0)  # rounding may leave -1e-17 at an interpolated point
        std = np.sqrt(variance[:, None] * np.atleast_1d(self._known_prior_variance()))
        return frame.shaped(std[:, 0]) if self._single else std

    def predict_gradient(self, X: Any, return_std: bool = False) -> Any:
        """Gradients at X (n, d), or (n, k, d) for k outputs; with ``return_std`` also the standard deviations of their
        components, which exist for kernels with two derivatives where their arguments coincide.
        """
        gradient = super().predict_gradient(X)
        if not return_std:
            return gradient
        if self._deviance is not None:
            raise ValueError("return_std of gradients goes with family='gaussian': leave it out.")
        if self._degrees is not None:
            raise ValueError("return_std of gradients needs coordinates of a plane: project longitude and latitude.")
        if self._solved_by("field"):
            raise ValueError("a field has no deviations of gradients: use solver='dense' or 'fast'.")
        rows, variance = self._frame.rows(self._check_points(X)), np.atleast_1d(self._known_prior_variance())
        fitted = self.kernel_, self._observed.functionals, self.null_space_, self._restrict
        step = _FAST_COLUMNS if self._solved_by("fast") else _GRADIENT_ROWS
        squares = gradient_variances(*fitted, self._posterior_covariance, rows, gradient.shape[-1], step)
        std = np.sqrt(squares[:, None, :] * variance[:, None])
        return gradient, self._frame.shaped(std[:, 0]) if self._single else std

    def sample(self, X: Any, n_samples: int = 1, *, prior: bool = False, random_state: Any = None) -> np.ndarray:
        """Values at X of functions drawn from the posterior, or from the prior modulo the null space.

        A draw from the prior is fixed by letting it vanish at a few of the training points: any function of the null
        space may be added.

        Returns
        -------
        array (n, n_samples), or (n, k, n_samples) for k outputs
        """
        X, frame = self._check_points(X), self._frame
        if self._solved_by("field"):
            if prior:
                raise ValueError("a field has no draws from the prior: use solver='dense' or 'fast', or prior=False.")
            return self._field.sample(X, n_samples, random_state=random_state)
        rng = check_random_state(random_state)
        variance = np.atleast_1d(self._known_prior_variance())
        rows = frame.rows(X)
        require_memory(3 * 8 * len(rows) ** 2, f"drawing at {len(X)} points", "draw at fewer points.")
        if prior:
            covariance = self._prior_covariance(rows)
            mean = np.zeros((len(rows), len(variance)))
        else:
            covariance = self._posterior(rows, self.kernel_(rows), diagonal=False)
            mean = self.function_(X).reshape(len(rows), -1)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = rng.standard_normal((len(variance), len(rows), n_samples))
        draws = mean[:, :, None] + np.sqrt(variance)[:, None] * np.moveaxis(root @ noise, 0, 1)
        return self._to_mean(frame.shaped(draws[:, 0]) if self._single else draws)

    @property
    def loo_(self) -> np.ndarray:
        """Leave-one-out residuals, approximately for the fast solver."""
        check_is_fitted(self)
        if self._solved_by("field"):
            raise ValueError("a field has no leave-one-out residuals: use solver='dense' or 'fast'.")
        if not hasattr(self, "_loo"):
            observed = self._observed
            merged = self._left_out()[: observed.n_values]
            left_out = self._y - self._mean(self.X_fit_).reshape(self._y.shape)
            kept = observed.groups >= 0
            group = observed.groups[kept]
            left_out[kept] = self._y[kept] - self._to_mean(observed.targets[group] - merged[group])
            self._loo = self._frame.shaped(left_out[:, 0]) if self._single else left_out
        return self._loo

    def _samples(self, X, y, sample_weight, functionals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, values and weights; empty arrays if there are only functionals."""
        if X is None and y is None and functionals is not None:
            if sample_weight is not None:
                raise ValueError("sample_weight needs X and y; functionals have weights of their own.")
            self.n_features_in_, outputs = functional_shape(functionals)
            self.__dict__.pop("feature_names_in_", None)
            return np.empty((0, self.n_features_in_)), np.empty((0, *outputs)), np.empty(0)
        missing = None
        if isinstance(self.kernel, VectorKernel):
            y, missing = check_vector_data(self.kernel, y)
        X, y = validated(self, self._patterns(), X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must have a positive entry: all weights are zero.")
        return X, y.astype(float) if missing is None else np.where(missing, np.nan, y), weights

    def _check_observations(self, observed: FunctionalData, space: NullSpace, n_values: int) -> None:
        size, distinct = len(observed.targets), observed.n_values
        dimension = space(observed.points[:1]).shape[1]
        if size < dimension:
            raise ValueError(
                f"X has n_samples={size} distinct observations, fewer than the dimension {dimension} of the null "
                "space: give more points, a smaller null_space, or a kernel of lower order (NegativeDistance leaves "
                "only the constant free, Gaussian nothing)."
            )
        if distinct < n_values and np.ndim(self.alpha) == 0 and self._given_alpha() == 0:
            raise ValueError(
                f"alpha=0 interpolates, and X has {n_values - distinct} duplicated points: remove them "
                "(np.unique(X, axis=0)), or use alpha > 0 or 'auto'."
            )

    def _check_memory(self, observed: FunctionalData) -> None:
        # three n x n matrices, and the tensors of derivatives from which the blocks of other functionals are made
        terms = [term for functional in observed.functionals for term in functional.terms]
        tensors = sum(term.width**2 for term in terms if term.derivative or term.matrix is not None)
        size, d = len(observed.targets), observed.points.shape[1]
        require_memory(3 * 8 * (size**2 + tensors), f"a dense fit of {size} observations", advice(d))

    def _given_alpha(self) -> float | np.ndarray | None:
        """A number, candidates, or None for a search."""
        if isinstance(self.alpha, str):
            return None
        alphas = alphas_of(self.alpha)
        return alphas if alphas.ndim else float(alphas)

    def _restrict(self, P: np.ndarray) -> np.ndarray:
        return P if self._identifiable is None else P @ self._identifiable

    def _attempt(
        self, kernel: Kernel, observed: FunctionalData, samples: tuple[np.ndarray, np.ndarray], solver: str
    ) -> Attempt:
        """The fit of one kernel; ``samples`` are values and weights before those at one point were merged."""
        soft = isinstance(self.null_space, str) and self.null_space == "soft"
        named = "auto" if soft else with_column_numbers(self.null_space, self._names())
        values_only = len(observed.functionals) == 1 and observed.n_values == len(observed.targets)
        targets = observed.targets[:, 0] if self._single else observed.targets
        if self.term_factors is not None and isinstance(named, str):
            space = term_space(kernel, observed.points)
        else:
            space = null_space_for(named, kernel, observed.points, targets if values_only else None)
        self._check_observations(observed, space, len(samples[1]))
        warn = not (isinstance(self.null_space, str) or self.null_space is None)
        combinations = identifiable(space, design(space, observed.functionals), warn)
        attempt = Attempt(kernel, space, observed, combinations)
        if values_only and not isinstance(self.null_space, str):
            learned = space.training_matrix(observed.points, targets)
            attempt.training = None if np.array_equal(learned, space(observed.points)) else learned
        if kernel.is_indefinite:
            attempt.refuse_indefinite()
        # what is left out are components, and so leave-one-out depends on the axes; the likelihood does not
        criterion = "reml" if isinstance(kernel, VectorKernel) and self.criterion == "auto" else self.criterion
        if self.term_factors is not None:
            weigh_terms(self, attempt, (samples[0][:, 0], samples[1]))
            kernel, solver = attempt.kernel, "dense"
        if self._deviance is not None:
            return solved_by_reweighting(self, attempt, self._given_alpha(), (samples[0][:, 0], samples[1]))
        attempt.solver = chosen_solver(self, attempt, solver, self._given_alpha(), values_only)
        if attempt.solver == "field":
            return solved_by_field(self, attempt, self._given_alpha())
        choosing = self._given_alpha() is None and attempt.training is None
        places = observed.merged_places(kernel) if choosing else None
        if attempt.solver == "fast":
            return solved_fast(self, attempt, self._given_alpha(), places)
        self._check_memory(observed)
        if places is None:
            attempt.system = attempt.reduced_system(observed)
            attempt.solution = solve(attempt.system, self._given_alpha(), criterion, self.verbose)
            return attempt
        chosen = solve(attempt.reduced_system(places), None, criterion, self.verbose)
        attempt.system = attempt.reduced_system(observed)
        solution = solve(attempt.system, chosen.alpha, criterion, self.verbose)
        path = {**chosen.path}
        attempt.solution = replace(solution, path=path, variance=chosen.variance, left_out=chosen.left_out)
        return attempt

    def _adopt_field(self, attempt: Attempt) -> None:
        """Keep a field; alpha is in units of the kernel."""
        field, factor = attempt.field, attempt.field_factor
        assert field is not None
        self._field, self.function_ = field, field.function_
        self.alpha_, self.alpha_path_ = factor * float(field.alpha_), dict(field.alpha_path_)
        self.edf_, self.n_iter_ = np.nan, field.n_iter_
        if len(self.alpha_path_["alpha"]):
            self.alpha_path_["alpha"] = factor * self.alpha_path_["alpha"]
            nearest = np.argmin(np.abs(self.alpha_path_["alpha"] - self.alpha_))
            self.edf_ = float(self.alpha_path_["edf"][nearest]) if "edf" in self.alpha_path_ else np.nan
        self.noise_variance_ = field.noise_variance_
        self.prior_variance_ = self.noise_variance_ / self.alpha_
        self._cached_factor, self._cached_large = None, None

    def _adopt(self, attempt: Attempt) -> None:
        """Keep a fit."""
        for name in ("dual_coef_", "null_coef_", "_field"):  # of another solver
            self.__dict__.pop(name, None)
        self.solver_ = attempt.solver
        self.kernel_, self.null_space_, self._observed = attempt.kernel, attempt.null_space, attempt.observed
        self._identifiable, self._training = attempt.combinations, attempt.training
        self.null_space_used_ = "soft" if isinstance(self.kernel_, SoftTwin) else "free"
        if attempt.field is not None:
            return self._adopt_field(attempt)
        solution = attempt.solution
        assert solution is not None
        dual, null = attempt.coefficients()
        self.dual_coef_, self.null_coef_ = (dual[:, 0], null[:, 0]) if self._single else (dual, null)
        self.function_ = self._expansion()
        self.alpha_, self.alpha_path_, self.edf_ = solution.alpha, solution.path, solution.edf
        variance = solution.variance if self.prior_variance == "auto" else np.full(dual.shape[1], self.prior_variance)
        self.prior_variance_ = float(variance[0]) if self._single else variance
        self.noise_variance_ = self.alpha_ * self.prior_variance_
        self._cached_factor = solution.factor
        self._cached_large = None if attempt.large is None else attempt.large.system
        self.n_iter_ = 1 if attempt.large is None else max(attempt.large.n_iter, 1)
        if isinstance(self.alpha, str) and self._deviance is None:
            self._warn_if_interpolating(attempt)
        return None

    def _warn_if_interpolating(self, attempt: Attempt) -> None:
        """Warn where a chosen alpha nearly interpolates data that the others do not predict."""
        observed, n = self._observed, len(self._observed.targets)
        if n <= _ENOUGH + self.null_coef_.shape[0] or self.edf_ < _NEARLY * n or self._y.shape[1] > 1:
            return
        weights, y = observed.weights, observed.targets[:, 0]
        spread = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
        error = attempt.left_out if np.isfinite(attempt.left_out) else self._left_out_square()
        if error > _PREDICTED * spread:
            warn_user(
                f"the fit has {self.edf_:.4g} effective degrees of freedom for {n} observations: it nearly "
                f"interpolates, although leaving out points shows errors of {100 * np.sqrt(error / spread):.2g} % of "
                "the scatter of y. If y has noise, choose alpha by criterion='reml', or give it a number."
            )

    def _left_out_square(self) -> float:
        residual = self._left_out()[:, 0]
        return float(np.average(residual**2, weights=self._observed.weights))

    def _known_prior_variance(self) -> float | np.ndarray:
        if np.isnan(self.prior_variance_).any():
            raise ValueError(
                "prior_variance cannot be estimated when there are no more observations than free functions: give "
                "it a number."
            )
        return self.prior_variance_

    def _solved_by(self, solver: str) -> bool:
        return getattr(self, "solver_", "dense") == solver  # files of older versions do not say

    def _left_out(self) -> np.ndarray:
        """Leave-one-out residuals of the merged observations (n, k)."""
        if not self._solved_by("fast"):
            return self._factor().leave_one_out()
        return self._large().left_out(self.dual_coef_.reshape(len(self.dual_coef_), -1), self.alpha_)

    def _large(self) -> LargeSystem:
        """The equations of the fast solver."""
        system: LargeSystem | None = getattr(self, "_cached_large", None)
        if system is None:
            attempt = Attempt(self.kernel_, self.null_space_, self._observed, self._identifiable)
            P = attempt.null_matrix(self._observed)
            given = self._observed.functionals, self._observed.weights, P, float(self.tol), self.alpha_ == 0.0
            self._cached_large = system = large_system(self.kernel_, *given)
        return system

    def _factor(self) -> Factor:
        factor: Factor | None = getattr(self, "_cached_factor", None)
        if factor is None:
            with threads.suited_to(len(self._observed.targets)):
                attempt = Attempt(self.kernel_, self.null_space_, self._observed, self._identifiable)
                attempt.training = self._training
                self._cached_factor = factor = Factor(attempt.reduced_system(self._observed), self.alpha_)
        return factor

    def _posterior(self, X, prior, diagonal: bool) -> np.ndarray:
        mixed, null = cross(self.kernel_, self._observed.functionals, X), self._restrict(self.null_space_(X))
        return self._posterior_covariance(mixed, null, prior, diagonal)

    def _posterior_covariance(self, mixed, null, prior, diagonal: bool) -> np.ndarray:
        if not self._solved_by("fast"):
            return self._factor().posterior_covariance(mixed, null, prior, diagonal)
        with threads.one_thread():
            return self._large().posterior_covariance(
                mixed, null, prior, self.alpha_, tol=float(self.tol), max_iter=int(self.max_iter)
            )

    def _prior_covariance(self, X) -> np.ndarray:
        """The kernel's semi-definite twin that vanishes at unisolvent points of the training data."""
        known = self._observed.points
        P = self._restrict(self.null_space_(known))
        chosen = unisolvent_subset(P)
        lagrange = self._restrict(self.null_space_(X)) @ np.linalg.pinv(P[chosen])
        return semidefinite_matrix(self.kernel_, X, known[chosen], lagrange)

    _state = "_y", "_single", "_identifiable", "_training", "_degrees"

    def _fitted(self) -> dict[str, Any]:
        fitted = super()._fitted()
        del fitted["function_"]  # made of the rest
        degrees = None if self._degrees is None else list(self._degrees)
        if self._solved_by("field"):
            fitted["field"] = {"parameters": self._field._parameters(), "fitted": self._field._fitted()}
        return fitted | {"observed": self._observed.content(), "_degrees": degrees}

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._observed, field = FunctionalData.from_content(fitted.pop("observed")), fitted.pop("field", None)
        columns = fitted.pop("_degrees", None)  # of older files
        self._degrees = None if columns is None else GeographicColumns(*columns)
        super()._restore({"coordinates_": None} | fitted)
        if field is None:
            self.function_ = self._expansion()
            return
        self._field = FieldSmoother(**field["parameters"])
        self._field._restore(field["fitted"])
        self.function_ = self._field.function_

    def _expansion(self) -> Expansion:
        functionals = self._observed.functionals
        parts = self.kernel_, functionals, self.dual_coef_, self.null_space_, self.null_coef_
        return self._frame.expansion(*parts)

    def __getstate__(self):
        return {**super().__getstate__(), "_cached_factor": None, "_cached_large": None}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.family == GAUSSIAN
        tags.target_tags.positive_only = self.family not in (GAUSSIAN, "binomial")
        return tags
