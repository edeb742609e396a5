"""What a smoother of fields knows of its own errors: standard deviations, quantiles and draws of the posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.warnings import warn_user
from ..fields.calibration import deviation_factor
from ..fields.field import Field
from ..fields.posterior import Posterior
from ..fields.settings import Settings
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
    _fit_settings: Settings | None  # of a fit whose deviations are to be calibrated
    _drawn: list[Field] | None
    _saved_noise: Any
    _saved_factor: float | None

    @property
    def noise_variance_(self) -> Any:
        """Estimated noise variance of an observation of weight 1; an array (k,) for k outputs."""
        check_is_fitted(self)
        return self._saved_noise if self._posterior is None else self._posterior.noise_variance

    @property
    def deviation_factor_(self) -> float:
        """What deviations of f are multiplied by, from blocks that are held out; computed when first asked for."""
        posterior = self._known_posterior()
        if self._saved_factor is None:
            settings = self._fit_settings
            factor = 1.0
            if settings is not None:
                factor = deviation_factor(posterior.known_source(), settings, self.std_samples)
            self._saved_factor = factor
        return self._saved_factor

    def sample(self, X: Any, n_samples: int = 1, *, random_state: Any = None) -> np.ndarray:
        """Values at X of functions drawn from the posterior, without noise: (n, n_samples), or (n, k, n_samples) for k
        outputs. Good for millions of points, such as the nodes of a grid.
        """
        return np.stack([f(X) for f in self._functions(self._check_points(X), n_samples, random_state)], axis=-1)

    def predict_gradient(self, X: Any, return_std: bool = False) -> Any:
        """Gradients at X (n, d), or (n, k, d) for k outputs; with ``return_std`` also the standard deviations of their
        components.
        """
        X = self._check_points(X)
        gradient = self.function_.gradient(X)
        return (gradient, self._spread(lambda f: f.gradient(X))) if return_std else gradient

    def predict_functional(self, functional: Functional, return_std: bool = False) -> Any:
        """Linear functionals of f, such as means over blocks, (size,) or (size, k); with ``return_std`` also their
        standard deviations.
        """
        check_is_fitted(self)
        value = functional.apply(self.function_)
        return (value, self._spread(functional.apply)) if return_std else value

    def _functions(self, X: np.ndarray, number: int, random_state: Any) -> Iterator[Callable]:
        """Draws of f."""
        if not number >= 1:
            raise ValueError(f"n_samples must be at least 1, got {number}.")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        mean, factor = self._mean(X), self.deviation_factor_
        for draw in self._known_posterior().samples(number, seed):
            yield lambda Z, draw=draw: mean + factor * draw(Z)

    def _known_posterior(self) -> Posterior:
        check_is_fitted(self)
        if self._posterior is None:
            raise ValueError("files hold no standard deviations, and this smoother comes from one: fit it again.")
        return self._posterior

    def _spread(self, quantity: Callable[[Field], np.ndarray]) -> np.ndarray:
        """The standard deviation of a linear quantity of f, by draws."""
        posterior = self._known_posterior()
        self._drawn = drawn = self._drawn or posterior.unit_samples(self.std_samples)
        squares = sum(quantity(field) ** 2 for field in drawn)
        return self.deviation_factor_ * np.sqrt(posterior.of_outputs(np.asarray(squares / len(drawn))))

    def _std(self, X: np.ndarray, exact: bool | None = None) -> np.ndarray:
        posterior = self._known_posterior()
        exact = posterior.direct is not None or (len(X) <= FEW if exact is None else exact)
        inside = _in_the_box(X, self.function_)
        std = np.full((len(X), *np.shape(posterior.noise_variance)), np.inf)
        if not inside.all():
            low, high = self.function_.bounds
            warn_user(
                f"X has points beyond the box of the field, from {low} to {high}: nothing is known there, and the "
                "standard deviation is infinite. A larger margin makes the box larger."
            )
            X = X[inside]
        if exact:
            std[inside] = self.deviation_factor_ * np.sqrt(np.maximum(posterior.variance(X), 0.0))
        else:
            std[inside] = self._spread(lambda field: field(X))
        return std


def _in_the_box(X: np.ndarray, field: Field | VectorField) -> np.ndarray:
    """Points of the box, up to rounding."""
    box = field.tree.box
    cells = box.coordinates(X)
    return np.all((cells >= -_HAIR) & (cells <= box.cells + _HAIR), axis=1)
