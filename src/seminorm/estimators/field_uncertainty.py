"""What a smoother of fields knows of its own errors: standard deviations, quantiles and draws of the posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.warnings import warn_user
from ..fields.calibration import Repetition, deviation_factor
from ..fields.drift import Drift, FreeFeatures
from ..fields.field import Field
from ..fields.posterior import Posterior
from ..fields.vector_field import VectorField
from ..functions.functionals import Functional
from .base import FunctionRegressor

FEW = 64  # points whose deviations are exact
_HAIR = 1e-9  # of a cell of level 0


class FieldUncertainty(FunctionRegressor):
    """Deviations and draws of a fitted ``function_``, by its posterior."""

    function_: Field | VectorField
    std_samples: int
    calibrated: bool
    _posterior: Posterior | None
    _repetition: Repetition | None  # of a fit whose deviations are to be calibrated
    _drawn: list[Field] | None
    _saved_noise: Any
    _saved_factor: float | None
    _unit = 1.0  # of the values that were fitted: noise and posterior are in it
    _features: FreeFeatures

    @property
    def null_coef_std_(self) -> Any:
        """Standard deviations of ``null_coef_``, of the same shape, by generalised least squares; not calibrated."""
        drift = self._known_drift()
        std = np.sqrt(np.diag(drift.given_covariance))
        return np.multiply.outer(std, self._noise_std)

    @property
    def noise_variance_(self) -> Any:
        """Estimated noise variance of an observation of weight 1; an array (k,) for k outputs."""
        check_is_fitted(self)
        with np.errstate(over="ignore", under="ignore"):
            return (
                self._saved_noise if self._posterior is None else self._posterior.noise_variance * np.square(self._unit)
            )

    @property
    def deviation_factor_(self) -> float:
        """What deviations of f are multiplied by, from blocks that are held out; computed when first asked for."""
        posterior = self._known_posterior()
        if self._saved_factor is None:
            known = self._repetition
            source = posterior.known_source
            self._saved_factor = 1.0 if known is None else deviation_factor(source(), known, self.std_samples)
        return self._saved_factor

    def sample(self, X: Any, n_samples: int = 1, *, random_state: Any = None) -> np.ndarray:
        """Values at X of functions drawn from the posterior, without noise: (n, n_samples), or (n, k, n_samples) for k
        outputs. Good for millions of points, such as the nodes of a grid.
        """
        return np.stack(list(self._draws(self._check_points(X), n_samples, random_state)), axis=-1)

    def predict_gradient(self, X: Any, return_std: bool = False) -> Any:
        """Gradients at X (n, d), or (n, k, d) for k outputs; with ``return_std`` also the standard deviations of their
        components.
        """
        X = self._check_points(X)
        if self._features:
            raise ValueError(
                "null_space and null_columns tell no gradients of their features: use function_.gradient for those of "
                "f alone."
            )
        gradient = self.function_.gradient(X)
        return (gradient, self._spread(lambda f: f.gradient(X))) if return_std else gradient

    def predict_functional(self, functional: Functional, return_std: bool = False) -> Any:
        """Linear functionals of f, such as means over blocks, (size,) or (size, k); with ``return_std`` also their
        standard deviations.
        """
        check_is_fitted(self)
        if self._features.columns or (self._features and functional.derivative):
            raise ValueError(
                "functionals of null_columns, and derivatives of the features of null_space, are not known: use "
                "function_ for functionals of f alone."
            )
        value = functional.apply(self._mean if self._features else self.function_)
        if not return_std:
            return value
        excess = functional.apply(self._excess) if self._features else None
        return value, self._spread(functional.apply, excess)

    @property
    def _deviation_unit(self) -> float:
        return self.deviation_factor_ * self._unit

    @property
    def _noise_std(self) -> Any:
        return super()._noise_std if self._posterior is None else np.sqrt(self._posterior.noise_variance) * self._unit

    def _draws(self, X: np.ndarray, number: int, random_state: Any) -> Iterator[np.ndarray]:
        """Values of random functions."""
        if not number >= 1:
            raise ValueError(f"n_samples must be at least 1, got {number}.")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        mean, factor, posterior = self._mean(X), self._deviation_unit, self._known_posterior()
        points, deviation = self._features.coordinates(X), np.asarray(np.sqrt(posterior.noise_variance))
        excess = self._excess(X) if self._features else None
        rng = np.random.default_rng([seed, 1])
        for draw in posterior.samples(number, seed):
            values = draw(points)
            if excess is not None:
                of_drift = [s * self._known_drift().draw(excess, rng) for s in deviation.reshape(-1)]
                values = values + np.stack(of_drift, axis=-1).reshape(values.shape)
            yield mean + factor * values

    def _known_drift(self) -> Drift:
        check_is_fitted(self)
        if not self._features:
            raise AttributeError("there are no features without null_space or null_columns.")
        drift = self._known_posterior().drift
        if drift is None:
            raise ValueError("the fit was interrupted before the coefficients of the features were known: fit again.")
        return drift

    def _excess(self, X: np.ndarray) -> np.ndarray:
        """Features at X (n, p), in their units, minus the fields that are fitted to them."""
        return self._known_drift().excess(*self._features.split(X))

    def _known_posterior(self) -> Posterior:
        check_is_fitted(self)
        if self._posterior is None:
            raise ValueError("files hold no standard deviations, and this smoother comes from one: fit it again.")
        return self._posterior

    def _spread(self, quantity: Callable[[Field], np.ndarray], excess: np.ndarray | None = None) -> np.ndarray:
        """The standard deviation of a linear quantity of f, by draws; that of the ``excess`` of features is exact."""
        posterior = self._known_posterior()
        self._drawn = drawn = self._drawn or posterior.unit_samples(self.std_samples)
        squares = sum(quantity(field) ** 2 for field in drawn)
        variance = np.asarray(squares / len(drawn))
        if excess is not None:
            variance = variance + self._known_drift().variance_of(excess)
        return self._deviation_unit * np.sqrt(posterior.of_outputs(variance))

    def _std(self, X: np.ndarray, exact: bool | None = None) -> np.ndarray:
        posterior = self._known_posterior()
        exact = posterior.direct is not None or (len(X) <= FEW if exact is None else exact)
        points = self._features.coordinates(X)
        inside = _in_the_box(points, self.function_)
        std = np.full((len(X), *np.shape(posterior.noise_variance)), np.inf)
        if not inside.all():
            low, high = self.function_.bounds
            warn_user(
                f"X has points beyond the box of the field, from {low} to {high}: nothing is known there, and the "
                "standard deviation is infinite. A larger margin makes the box larger."
            )
            X, points = X[inside], points[inside]
        excess = self._excess(X) if self._features else None
        if not exact:
            std[inside] = self._spread(lambda field: field(points), excess)
            return std
        variance = np.maximum(posterior.variance(points), 0.0)
        if excess is not None:
            variance = variance + posterior.of_outputs(self._known_drift().variance_of(excess))
        std[inside] = self._deviation_unit * np.sqrt(variance)
        return std


def _in_the_box(X: np.ndarray, field: Field | VectorField) -> np.ndarray:
    """Points of the box, up to rounding."""
    box = field.tree.box
    cells = box.coordinates(X)
    return np.all((cells >= -_HAIR) & (cells <= box.cells + _HAIR), axis=1)
