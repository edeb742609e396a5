"""Support vector regression with a semi-norm as regulariser."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.utils.validation import _check_sample_weight

from ..kernels import Kernel
from ..losses import REGRESSION, Loss, loss_named
from ..solvers.margin.path import SMALLEST_ERROR
from .margin import FOLDS, MarginMachine


class SVR(RegressorMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i loss(y_i, f(x_i)) [Smola et al. 1998, (6)-(7) and (52)-(55)].

    The loss is max(0, |y - f| - epsilon)^p with p = 1 or 2, the loss of Huber, or the squared error. Points inside the
    tube of half-width epsilon have no kernel term. With p = 1 and with Huber's loss outliers have bounded influence.
    For an indefinite kernel matrix see SVC.

    Parameters
    ----------
    kernel, n_basis, random_state, max_iter, indefinite
        As in :class:`SVC`.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm. "auto" takes the smallest mean absolute error along a path, an array names the
        candidates.
    criterion : {"cv", "loo"}
        How alpha is chosen: by the mean absolute error in five-fold cross-validation, or by that of the leave-one-out
        values, which cost no further training.
    epsilon : float
        Half-width of the tube, in units of y. With Huber's loss the distance from which on the loss is linear.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared"}
        Or the ``name`` of a loss for regression that you registered in :data:`seminorm.losses.all_losses`.
    null_space : "auto", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free; by default the polynomials of the kernel's ``null_degree``, at least the constant.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, null_coef_ : arrays
        Points on or outside the tube, and the coefficients of the function, shapes (1, n_support) and (1, p).
    alpha_, alpha_path_ : float, dict of arrays
        ``alpha`` and ``score`` (the mean absolute error) along the path; empty for a given alpha.
    stationary_, n_iter_ : bool, int
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

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: str | float | np.ndarray = "auto",
        criterion: str = "cv",
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        null_space: object = "auto",
        n_basis: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        max_iter: int = 100,
        indefinite: str = "clip",
        metric: str | None = None,
        verbose: bool = False,
    ):
        self.kernel, self.alpha, self.criterion, self.epsilon, self.loss = kernel, alpha, criterion, epsilon, loss
        self.null_space, self.n_basis, self.random_state, self.max_iter = null_space, n_basis, random_state, max_iter
        self.indefinite, self.metric, self.verbose = indefinite, metric, verbose

    _rule = SMALLEST_ERROR

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> SVR:
        """Train; the arguments are those of :meth:`SVC.fit`."""
        self._check_common_parameters()
        if not (isinstance(self.epsilon, Real) and np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}.")
        self._loss(np.empty(0))
        X, y = self._check_input(X, y, y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._train(*self._merge(X, y.astype(float), weights, null_columns))
        return self

    def predict(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """Values at X."""
        return self._margin_values(X, null_columns)[:, 0]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination."""
        return r2_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def _loss(self, targets: np.ndarray) -> Loss:
        return loss_named(self.loss, REGRESSION)(targets, self.epsilon)

    def _folds(self, targets: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        if len(targets) < 2:
            raise ValueError(
                f"X has n_samples={len(targets)}, too few for choosing alpha by cross-validation: fix alpha."
            )
        return KFold(min(FOLDS, len(targets)), shuffle=True, random_state=0).split(targets)

    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        mean = np.average(targets, weights=weights)
        error, without = (np.average(np.abs(targets - f), weights=weights) for f in (values, mean))
        return float(error), float(without)
