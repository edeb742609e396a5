"""What a smoother of a family other than the normal one predicts: means, probabilities, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..deviances import Deviance
from .base import FunctionRegressor
from .likelihood_fits import GAUSSIAN, family_named

_NODES = 40  # of the integral over the linear predictor
_PRECISE = 1e-9


def _is_binomial(model: Any) -> bool:
    return isinstance(model.family, str) and model.family == "binomial"


class FamilyRegressor(FunctionRegressor):
    """Base of smoothers with a ``family``: ``function_`` is the linear predictor, and what is predicted is the mean.

    A subclass supplies ``_function_std(X)``, the posterior deviation of the linear predictor.
    """

    family: str

    @property
    def _deviance(self) -> type[Deviance] | None:
        return family_named(getattr(self, "family", GAUSSIAN))

    def predict_link(self, X: Any, return_std: bool = False) -> Any:
        """The linear predictor at X, such as the logarithm of a rate, and its posterior deviation: the mean is its
        image under the inverse of the link. For normal noise it is the mean."""
        X = self._check_points(X)
        values = self.function_(X)
        return (values, self._function_std(X)) if return_std else values

    @available_if(_is_binomial)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, 2) of 0 and 1, for ``family="binomial"``."""
        mean = self._mean(self._check_points(X))
        return np.column_stack([1.0 - mean, mean])

    def predict_quantile(self, X: Any, q: ArrayLike, *, observation: bool = True) -> np.ndarray:
        """Quantiles of the prediction at X, of a new observation of weight 1 or of the mean.

        Parameters
        ----------
        X : array (n, d)
            Points.
        q : float or array
            Between 0 and 1.
        observation : bool
            Whether noise counts, as in ``predict(X, return_std="observation")``. Without it, quantiles of the linear
            predictor are mapped to the mean, and stay within its range.

        Returns
        -------
        array (n,), or (n, k) for outputs, with the shape of ``q`` as further axes
        """
        kind = self._deviance
        if kind is None:
            return super().predict_quantile(X, q, observation=observation)
        levels = np.asarray(q, dtype=float)
        if not ((levels > 0.0) & (levels < 1.0)).all():
            raise ValueError(f"q must lie between 0 and 1, got {q!r}.")
        f, std = self.predict_link(X, return_std=True)
        if not observation:
            return kind.mean(f[(...,) + (None,) * levels.ndim] + np.multiply.outer(std, special.ndtri(levels)))
        found = [self._observation_quantile(kind, f, std, float(level)) for level in levels.ravel()]
        return np.stack(found, axis=-1).reshape(f.shape + levels.shape)

    def _observation_quantile(self, kind: type[Deviance], f: np.ndarray, std: np.ndarray, level: float) -> np.ndarray:
        """Of the mixture of the family over a normal linear predictor, by bisection."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        means = kind.mean(f[:, None] + std[:, None] * nodes)
        weights = weights / weights.sum()

        def probability(t: np.ndarray) -> np.ndarray:
            return kind.cdf(t[:, None], means, self.noise_variance_) @ weights

        low, high = np.full(len(f), -1.0), np.ceil(means.max(axis=1))
        while (short := probability(high) < level).any():
            low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        precision = 0.5 if kind.is_discrete else _PRECISE * high
        while (high - low > precision).any():
            middle = 0.5 * (low + high)
            enough = probability(middle) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.floor(high) if kind.is_discrete else high

    def predict_gradient(self, X: Any) -> np.ndarray:
        """Gradients of the mean at X: (n, d), or (n, k, d) for k outputs."""
        gradient = super().predict_gradient(X)
        kind = self._deviance
        return gradient if kind is None else kind.slope(self.predict_link(X))[:, None] * gradient

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """R^2 for normal noise; otherwise D^2, the share of the deviance that is explained, which is R^2 there."""
        kind = self._deviance
        if kind is None:
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        f, y = self.predict_link(X), np.asarray(y, dtype=float).ravel()
        kind.check(y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        loss, mean = kind(y), np.average(y, weights=weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            constant = weights @ loss.value(np.full(len(y), kind.link(mean)))
        return float(1.0 - weights @ loss.value(f) / constant) if np.isfinite(constant) and constant else 0.0

    def _to_mean(self, f: np.ndarray) -> np.ndarray:
        kind = self._deviance
        return f if kind is None else kind.mean(f)

    def _mean(self, X: np.ndarray) -> np.ndarray:
        return self._to_mean(super()._mean(X))

    def _std(self, X: np.ndarray) -> np.ndarray:
        kind, std = self._deviance, self._function_std(X)
        return std if kind is None else kind.slope(self.function_(X)) * std  # the delta method

    def _noise(self, mean: np.ndarray) -> Any:
        kind = self._deviance
        return super()._noise(mean) if kind is None else np.sqrt(self.noise_variance_ * kind.variance(mean))

    def _function_std(self, X: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define _function_std(X).")
