"""Support vector regression with a semi-norm as regulariser."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.utils.validation import _check_sample_weight

from .._base import blas as threads
from ..kernels import Kernel, NegativeDistance
from ..losses import REGRESSION, Loss, loss_named, spread
from ..solvers.margin.path import SMALLEST_ERROR, AlphaRule, mean_loss
from .margin import FEW_POINTS, FOLDS, MarginMachine, rows_of
from .trials import WHOLE, MachineTrial, Problem, TrainingSet

_SMALLEST_PINBALL = AlphaRule(mean_loss)
_WITHOUT_EPSILON = ("squared", "pinball")
_MULTIPLES = {"huber": 1.345}  # of the noise, as epsilon; of tubes 0.6
_TO_DEVIATION = 1.4826  # from the median of absolute residuals to a standard deviation
_NOISE_FROM = 1000  # points that tell the noise
_OUTLIER = 10.0  # values farther from the median, in units of their scatter, do not tell the noise
_LEAST = 1e-3  # of the scatter of y: data without noise still get a tube
_LOW_DIMENSION = 3
_FOLDS_OF_QUANTILES = 10


class SVR(RegressorMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i loss(y_i, f(x_i)) [Smola et al. 1998, (6)-(7) and (52)-(55)].

    The loss is max(0, |y - f| - epsilon)^p with p = 1 or 2, the loss of Huber, the pinball loss of quantiles, or the
    squared error. Points inside the tube of half-width epsilon have no kernel term. With p = 1, and with the losses of
    Huber and of quantiles, outliers have bounded influence. For an indefinite kernel matrix see SVC.

    Parameters
    ----------
    kernel, n_basis, random_state, max_iter, indefinite, metric, verbose
        As in :class:`SVC`.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm. "auto" takes the smallest mean error along a path, an array names the
        candidates.
    criterion : {"loo", "cv"}
        How alpha is chosen: by the mean absolute error (for quantiles: the mean loss) of leave-one-out values, which
        cost no further training, or of values in five-fold cross-validation.
    epsilon : "auto" or float
        Half-width of the tube, in units of y; with Huber's loss the distance from which on the loss is linear. "auto"
        is a multiple of the noise, whose size the residuals of a least squares fit tell: 0.6 standard deviations for a
        tube [Smola et al. 1998], 1.35 for Huber's loss.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber", "pinball", "squared"}
        Or the ``name`` of a loss for regression that you registered in :data:`seminorm.losses.all_losses`.
    null_space : "auto", "soft", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free. "auto" are the polynomials of the kernel's ``null_degree``, at least the constant; where points
        are few for them, it is chosen by what is left out, as in :class:`SVC`.
    quantile : float
        The share of values below f, for ``loss="pinball"``. With ``alpha="auto"`` f is moved by a constant so that this
        share of the points lies below what machines that have not seen them (ten folds) predict: the minimiser itself
        follows its own points too closely to leave as many others on either side.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, null_coef_ : arrays
        Points on or outside the tube, and the coefficients of the function, shapes (n_outputs, n_support) and
        (n_outputs, p).
    alpha_, alpha_path_ : float, dict of arrays
        ``alpha`` and ``score`` (the mean error) along the path; empty for a given alpha. For several outputs an array
        and a list.
    epsilon_ : float or array
        The half-width used.
    null_space_used_ : str
        "free", "soft", "constant" or "zero".
    stationary_, n_basis_, n_iter_ : bool, int, int
        As in :class:`SVC`.

    See Also
    --------
    SVC : the same for classification.
    Smoother : the squared error, with standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVR
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> bool(SVR(alpha=1e-3, epsilon=0.05).fit(x, y).score(x, y) > 0.99)
    True
    """

    _state = ("_kind", "_own_columns", "_outputs")  # type: ignore[assignment]
    _outputs = 0

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: str | float | np.ndarray = "auto",
        criterion: str = "loo",
        epsilon: str | float = "auto",
        loss: str = "epsilon_insensitive",
        null_space: object = "auto",
        n_basis: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = None,
        max_iter: int = 100,
        indefinite: str = "clip",
        metric: object = None,
        verbose: bool = False,
        quantile: float = 0.5,
    ):
        self.kernel, self.alpha, self.criterion, self.epsilon, self.loss = kernel, alpha, criterion, epsilon, loss
        self.null_space, self.n_basis, self.random_state, self.max_iter = null_space, n_basis, random_state, max_iter
        self.indefinite, self.metric, self.verbose, self.quantile = indefinite, metric, verbose, quantile

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> SVR:
        """Train; y is (n,), or (n, k) for k outputs, and the other arguments are those of :meth:`SVC.fit`."""
        self._check_common_parameters()
        automatic = isinstance(self.epsilon, str) and self.epsilon == "auto"
        if not automatic and not (isinstance(self.epsilon, Real) and 0 <= self.epsilon < np.inf):
            raise ValueError(f"epsilon must be 'auto' or a number >= 0, got {self.epsilon!r}.")
        loss_named(self.loss, REGRESSION)(np.empty(0), self._width(1.0 if automatic else float(self.epsilon)))
        points, values = self._check_samples(X, y, y_numeric=True, multi_output=True)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        self._outputs = 0 if values.ndim == 1 else values.shape[1]
        points, values, weights, rows, columns = self._merge(points, values.astype(float), weights, null_columns)
        self._epsilons = np.full(max(self._outputs, 1), np.nan if automatic else float(self.epsilon))
        if automatic and self.loss not in _WITHOUT_EPSILON:
            self._epsilons = _MULTIPLES.get(self.loss, 0.6) * self._noise(points, values, weights, columns)
        self._train(points, values, weights, rows, columns)
        self.epsilon_ = self._epsilons if self._outputs else float(self._epsilons[0])
        return self

    def predict(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Values at X: (n,), or (n, k) for k outputs."""
        values = self._margin_values(X, null_columns)
        return values if self._outputs else values[:, 0]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination."""
        return r2_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _rule(self) -> AlphaRule:  # type: ignore[override]
        return _SMALLEST_PINBALL if self.loss == "pinball" else SMALLEST_ERROR

    def _width(self, epsilon: float) -> float:
        """What the loss calls epsilon."""
        return self.quantile if self.loss == "pinball" else epsilon

    def _loss(self, targets: np.ndarray, k: int = 0) -> Loss:
        return loss_named(self.loss, REGRESSION)(targets, self._width(float(np.nan_to_num(self._epsilons[k]))))

    def _problems(self, y: np.ndarray) -> list[Problem]:
        everything = np.arange(len(y))
        return [(everything, column) for column in (y[:, None] if y.ndim == 1 else y).T]

    def _noise(self, X, y: np.ndarray, weights: np.ndarray, null_columns) -> np.ndarray:
        """The size of the noise of each output: residuals of a least squares fit to some points, for the degrees of
        freedom that it leaves."""
        machine = SVR(
            self.kernel, loss="squared", null_space=self.null_space, indefinite=self.indefinite, metric=self.metric
        )
        machine._epsilons, machine._outputs = np.full(max(self._outputs, 1), np.nan), self._outputs
        if self._names() is not None:
            machine.feature_names_in_ = self._names()
        columns = y[:, None] if y.ndim == 1 else y
        limits = [(np.median(column), _OUTLIER * spread(column)) for column in columns.T]
        y = np.column_stack([np.clip(c, m - s, m + s) for c, (m, s) in zip(columns.T, limits, strict=True)]).reshape(
            y.shape
        )
        part = np.sort(np.random.default_rng(0).permutation(len(weights))[:_NOISE_FROM])
        data = TrainingSet(X, weights, self._problems(y), self._is_given(), self._groups(X)).part(part)
        with warnings.catch_warnings(), threads.suited_to(len(part)):
            warnings.simplefilter("ignore")
            trial = machine._trained(data, y[part], rows_of(null_columns, part), machine._rules(lambda alpha: None))
        noise = []
        for fit, (_, targets) in zip(trial.fits, data.problems, strict=True):
            residual = targets - fit.values
            with np.errstate(divide="ignore", invalid="ignore"):
                left = residual / (targets - fit.left_out)  # one minus the leverage of each point
            known = np.isfinite(left) & (left > 0)
            scaled = np.abs(residual[known]) / np.sqrt(left[known])  # has the deviation of the noise
            noise.append(_TO_DEVIATION * float(np.median(scaled)) if known.any() else 0.0)
        least = [max(_LEAST * spread(targets), 1e-9 * np.abs(targets).max()) for _, targets in data.problems]
        return np.maximum(np.maximum(noise, least), np.finfo(float).tiny * 1e20)

    def _kernels(self, X, weights) -> list[Kernel | None]:
        kernels = super()._kernels(X, weights)
        if self.kernel is not None or not (self._is_automatic() or self._learns()) or self._given_alpha() is not None:
            return kernels
        few = X.shape[0] < FEW_POINTS * (X.shape[1] + 1) or X.shape[1] > _LOW_DIMENSION
        return [*kernels, NegativeDistance()] if few and not isinstance(kernels[0], NegativeDistance) else kernels

    def _what_is_free(self, P: np.ndarray, problems: list[Problem]) -> list[str]:
        automatic = self._is_automatic() or self._learns()
        settled = not automatic or self._is_given() or self._own_columns
        if settled or P.shape[1] < 2:
            return super()._what_is_free(P, problems)
        n, given = min(len(points) for points, _ in problems), self._given_alpha()
        if n <= P.shape[1]:
            return ["soft"]
        return ["free", "soft"] if n < FEW_POINTS * P.shape[1] and (given is None or given.ndim) else ["free"]

    def _adopt(self, trial: MachineTrial) -> None:
        super()._adopt(trial)
        self.null_space_used_ = self._kind

    def _judge(self, y: np.ndarray, data: TrainingSet, trial: MachineTrial) -> None:
        """Move quantiles by a constant so that the right share of points lies below values from machines that have not
        seen them, in ten folds: closed-form leave-one-out values are too close to what the points pull them to."""
        if self.loss != "pinball" or not isinstance(self.alpha, str) or self._kind == "zero":
            return
        P = trial.candidate.P if self._kind in WHOLE else np.ones((len(data), 1))
        constant = np.linalg.lstsq(P, np.ones(len(P)), rcond=None)[0]
        if np.abs(P @ constant - 1.0).max() > 1e-6:
            return  # the constant is not free
        for k, (points, targets) in enumerate(data.problems):
            residual = targets - trial.unseen(k)
            known = np.isfinite(residual)
            shift = _quantile(residual[known], data.weights[points][known], self.quantile) if known.any() else 0.0
            self.null_coef_[k] += shift * constant

    def _folds(self, targets: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        if len(targets) < 2:
            raise ValueError(
                f"X has n_samples={len(targets)}, too few for choosing alpha by cross-validation: fix alpha."
            )
        number = _FOLDS_OF_QUANTILES if self.loss == "pinball" else FOLDS
        return KFold(min(number, len(targets)), shuffle=True, random_state=0).split(targets)

    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        mean = np.average(targets, weights=weights)
        error, without = (np.average(np.abs(targets - f), weights=weights) for f in (values, mean))
        return float(error), float(without)


def _quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The weighted quantile."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(share * weights.sum(), below, values[order]))
