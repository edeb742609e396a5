"""Classification and regression of time series by a weighted sum of twelve kernels, with nothing to choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._base import blas as threads
from .._base.memory import require_memory
from ..invariance.distances.series import Series
from ..invariance.series_views import SeriesViews
from ..solvers.ridge.combination import ClippedRidge, weights_by_loss
from .probabilities import fit_temperature, multinomial_probabilities
from .saving import SavedEstimator

_ALPHAS = np.logspace(-4.0, 2.0, 13)  # kernels are 1 on the diagonal
_ENOUGH = 1500  # series, from which on weights of kernels are those of a part
_AT_ONCE = 512


class _SeriesMachine(SavedEstimator, BaseEstimator, ABC):
    """A sum of kernels exp(-D / median of D), one for each dissimilarity of `SeriesViews`, and least squares."""

    channels: str

    def _fit(self, X: Any, targets: np.ndarray) -> None:
        """Weights, alpha and coefficients for the targets (n, k)."""
        series = self._series(X, reset=True)
        if len(series.lengths) != len(targets):
            raise ValueError(
                f"X and y must have the same number of series: Found input variables with inconsistent numbers of "
                f"samples: {[len(series.lengths), len(targets)]}."
            )
        n = len(targets)
        if n < 3:
            raise ValueError(f"X has n_samples={n} series: leaving one out needs at least 3.")
        require_memory(40 * n * n, f"The kernels of {n} series", "train on fewer series.")
        self.views_ = SeriesViews.of(series)
        self.series_ = self.views_.prepared(series)
        with threads.suited_to(n):
            kernels = self._measured(targets)
            K = np.zeros((n, n))
            for weight, kernel in zip(self.weights_, kernels, strict=True):
                K += weight * kernel
            ridge = ClippedRidge(K, targets)
            residuals = ridge.left_out(_ALPHAS)
            scores = self._scores(targets, residuals)
            best = len(_ALPHAS) - 1 - int(np.argmin(scores[::-1]))
            self.alpha_ = float(_ALPHAS[best])
            self.alpha_path_ = {"alpha": _ALPHAS.copy(), "score": scores}
            self.dual_coef_, self.intercept_ = ridge.solve(self.alpha_)
        self.loo_ = targets - residuals[best]

    def _measured(self, targets: np.ndarray) -> list[np.ndarray]:
        """The kernels of the training series; what each of them gives alone decides on its weight."""
        n = len(targets)
        part = np.arange(n) if n <= _ENOUGH else np.sort(np.random.default_rng(0).permutation(n)[:_ENOUGH])
        off = ~np.eye(n, dtype=bool)
        kernels, names, units, losses, errors = [], [], [], [], []
        for name, D in self.views_.matrices(self.series_):
            unit = float(np.median(D[off]))
            units.append(unit if unit > 0 else max(float(D.mean()), 1.0))
            kernels.append(np.exp(-D.astype(float) / units[-1]))
            own = kernels[-1] if len(part) == n else kernels[-1][np.ix_(part, part)]
            residuals = ClippedRidge(own.copy(), targets[part]).left_out(_ALPHAS)
            squares = np.nan_to_num((residuals**2).mean(axis=(1, 2)), nan=np.inf)
            best = int(np.argmin(squares))
            names.append(name)
            losses.append(float(squares[best]))
            errors.append(self._error(targets[part], residuals[best]))
        self.medians_ = np.array(units)
        self.weights_ = weights_by_loss(losses)
        self.explain_ = {
            "distance": np.array(names),
            "weight": self.weights_,
            "loss": np.array(losses),
            "error": np.array(errors),
        }
        return kernels

    def _values(self, X: Any) -> np.ndarray:
        """The fitted functions (m, k) at series."""
        check_is_fitted(self, "dual_coef_")
        Z = self.views_.prepared(self._series(X, reset=False))
        out = np.tile(self.intercept_, (len(Z), 1))
        for start in range(0, len(Z), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            for k, (_, D) in enumerate(self.views_.matrices(Z[rows], self.series_)):
                out[rows] += self.weights_[k] * (np.exp(-D.astype(float) / self.medians_[k]) @ self.dual_coef_)
        return out

    def _series(self, X: Any, reset: bool) -> Series:
        """The series, checked: as many channels as in training, and for rows as many samples."""
        if _is_rows(X):
            X = validate_data(self, X, dtype=np.float64, reset=reset)
        elif not reset and hasattr(self, "n_features_in_") and hasattr(X, "shape") and np.ndim(X) == 2:
            X = validate_data(self, X, dtype=np.float64, reset=False)
        series = Series.of(X, "X", self.channels)
        if reset:
            self.n_channels_in_ = series.channels
        elif series.channels != self.n_channels_in_:
            raise ValueError(
                f"X has {series.channels} channels, but {type(self).__name__} was trained on {self.n_channels_in_}."
            )
        return series

    @abstractmethod
    def _scores(self, targets: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """What alpha is chosen by, for the residuals of each (n_alphas,)."""

    @abstractmethod
    def _error(self, targets: np.ndarray, residuals: np.ndarray) -> float:
        """What `explain_` says of the values left out."""

    def _fitted(self) -> dict[str, Any]:
        return super()._fitted() | {"views_": asdict(self.views_)}

    def _restore(self, fitted: dict[str, Any]) -> None:
        super()._restore(fitted | {"views_": SeriesViews(**fitted["views_"])})


def _is_rows(X: Any) -> bool:
    """Whether X is something that scikit-learn takes: rows, a sparse matrix to be refused, or a table."""
    if isinstance(X, list | tuple):
        lengths = {len(x) if hasattr(x, "__len__") else -1 for x in X}
        return lengths == {-1} or (len(lengths) == 1 and all(np.ndim(x) == 1 for x in X) and lengths != {0})
    dtype = getattr(X, "dtype", None)
    if dtype is not None and dtype.kind == "O" and np.ndim(X) == 1 and len(X) and np.ndim(X[0]) > 0:
        return False  # an array of series
    return np.asarray(X).ndim != 3


class SeriesClassifier(ClassifierMixin, _SeriesMachine):
    r"""Classes of time series, from the series alone: a weighted sum of twelve kernels.

    Eight kernels are :math:`e^{-D/m}` of elastic distances (`DTW`, `ADTW`, `MSM`, `TWE`) of the series and of their
    slopes,
    four of distances between spectra and autocorrelations; m is the median of D over the training series. Each kernel
    alone, in one-against-rest least squares with closed-form leave-one-out, gets a loss L, and in the sum the weight
    :math:`L^{-4}`. Then alpha is chosen for the sum in the same way. Nothing needs to be set, and nothing is random.

    Parameters
    ----------
    channels : "last" or "first", default "last"
        Whether arrays of series with several channels are (n, length, channels) or (n, channels, length).

    Attributes
    ----------
    classes_ : array (n_classes,)
    explain_ : dict
        For each kernel the ``distance`` it is made of, its ``weight``, and what it does alone: the ``loss`` (mean
        square) and the share of ``error`` when series are left out.
    alpha_, alpha_path_
        The chosen alpha; ``score`` is the share of errors plus the mean square.
    loo_ : array (n, n_outputs)
        Values of the decision functions at training series that are left out.

    Notes
    -----
    Series of unequal length are resampled to the median length. Each channel is standardised by all training samples,
    the
    single series are not: levels and sizes count. The sum is indefinite in general: negative eigenvalues count as zero,
    for training series and for new ones alike, and leave-one-out values, which belong to the repaired matrix, are a
    little optimistic. With n training series, training takes 12 matrices and decompositions of n x n numbers: seconds
    for some hundreds, an hour for ten thousand.

    See Also
    --------
    SeriesRegressor : The same for numbers.
    KernelNeighbors : The nearest neighbour by any of the distances.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SeriesClassifier
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 1, 60)
    >>> y = np.arange(40) % 2
    >>> X = [np.sin(2 * np.pi * ((3 + k) * t + rng.random())) + 0.3 * rng.standard_normal(60) for k in y]
    >>> model = SeriesClassifier().fit(X[:30], y[:30])
    >>> model.score(X[30:], y[30:])
    1.0
    """

    def __init__(self, channels: str = "last"):
        self.channels = channels

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on series X, rows (n, length), (n, length, channels) or a list of series, and their classes y (n,)."""
        labels = column_or_1d(np.asarray(y) if y is not None else self._missing(), warn=True)
        check_classification_targets(labels)
        self.classes_, self.labels_ = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_.tolist()}: the classifier needs at least two.")
        signs = 2.0 * (self.labels_[:, None] == np.arange(len(self.classes_))) - 1.0
        self._fit(X, signs[:, 1:] if len(self.classes_) == 2 else signs)
        self.temperature_ = fit_temperature(self._all_scores(self.loo_), self.labels_, np.ones(len(labels)))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """One value for each series and class (m, n_classes); for two classes (m,), positive for the second."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each series."""
        scores = self._all_scores(self._values(X))
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (m, n_classes): the softmax of decision values, its slope from those left out in training."""
        scores = self._all_scores(self._values(X))
        return multinomial_probabilities(scores, self.temperature_)

    def _missing(self) -> Any:
        raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def _all_scores(self, values: np.ndarray) -> np.ndarray:
        return np.column_stack([-values, values]) if values.shape[1] == 1 else values

    def _error(self, targets: np.ndarray, residuals: np.ndarray) -> float:
        truth = self._all_scores(targets).argmax(axis=1)
        return float((self._all_scores(targets - residuals).argmax(axis=1) != truth).mean())

    def _scores(self, targets: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        errors = np.array([self._error(targets, of_alpha) for of_alpha in residuals])
        return errors + (residuals**2).mean(axis=(1, 2))


class SeriesRegressor(RegressorMixin, _SeriesMachine):
    r"""Numbers from time series: the kernels of `SeriesClassifier`, weighted and regularised for squared errors.

    Parameters
    ----------
    channels : "last" or "first", default "last"
        Whether arrays of series with several channels are (n, length, channels) or (n, channels, length).

    Attributes
    ----------
    explain_ : dict
        For each kernel the ``distance`` it is made of, its ``weight``, and what it does alone: the ``loss`` (mean
        square, in units of the variance of y) and the ``error`` (its root) when series are left out.
    alpha_, alpha_path_
        The chosen alpha, and the leave-one-out ``score`` of the candidates.
    loo_ : array (n, n_outputs)
        Standardised values at training series that are left out.

    See Also
    --------
    SeriesClassifier : How the kernels are made.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SeriesRegressor
    >>> rng = np.random.default_rng(0)
    >>> t, paces = np.linspace(0, 1, 60), rng.uniform(1, 4, 60)
    >>> X = [np.sin(2 * np.pi * (pace * t + rng.random())) for pace in paces]
    >>> model = SeriesRegressor().fit(X[:50], paces[:50])
    >>> bool(model.score(X[50:], paces[50:]) > 0.95)
    True
    """

    def __init__(self, channels: str = "last"):
        self.channels = channels

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on series X, rows (n, length), (n, length, channels) or a list of series, and y (n,) or (n, k)."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        values = np.asarray(y)
        if values.dtype.kind == "c" or values.ndim not in (1, 2):
            raise ValueError(
                f"Complex data not supported: y must be real numbers (n,) or (n, k), got shape {values.shape} of "
                f"{values.dtype}."
            )
        values = values.astype(float)
        if not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity: leave these series out.")
        self.flat_ = values.ndim == 1
        values = values.reshape(len(values), -1)
        self.mean_, deviations = values.mean(axis=0), values.std(axis=0)
        self.unit_ = np.where(deviations > 0, deviations, 1.0)
        self._fit(X, (values - self.mean_) / self.unit_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The number (m,), or numbers (m, k), of each series."""
        values = self._values(X) * self.unit_ + self.mean_
        return values[:, 0] if self.flat_ else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _error(self, targets: np.ndarray, residuals: np.ndarray) -> float:
        return float(np.sqrt((residuals**2).mean()))

    def _scores(self, targets: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        return (residuals**2).mean(axis=(1, 2))
