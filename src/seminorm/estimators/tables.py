"""Estimators of tables that need no tuning: a stack of kernel machines with learned metrics."""

from __future__ import annotations

from abc import ABC
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_is_fitted, column_or_1d

from .._base import blas as threads
from .._base.progress import Progress
from ..solvers.metric.ensemble import Machine, Stack, train
from ..solvers.metric.profiles import PowerProfile
from ..solvers.metric.scaling import Ranked, Squashed, mean_and_deviation
from .probabilities import binary_probabilities, fit_slopes, fit_temperature, multinomial_probabilities
from .samples import distinct_samples
from .saving import SavedEstimator
from .table_columns import FROM_DTYPE, TableEncoder, read_table


class TableExplanation(NamedTuple):
    """What carries the predictions of a stack; ``print`` shows it as a table.

    Parameters
    ----------
    members : list of dict
        Of each machine tried: its kernel, how often its metric was learned, its error on left-out rows, its weight.
    columns : dict
        Share of each column of X in the gradients, largest first.

    Examples
    --------
    >>> from seminorm.estimators import TableExplanation
    >>> print(TableExplanation([], {"age": 1.0}).columns)
    {'age': 1.0}

    See Also
    --------
    TableRegressor, TableClassifier : their ``explain_``.
    """

    members: list[dict[str, Any]]
    columns: dict[str, float]

    def __str__(self) -> str:
        lines = ["machine                                    metric learned   left-out error   weight"]
        lines += [
            f"{m['kernel']:<42} {m['step']:>6} times {m['error']:>16.4g} {m['weight']:>8.3f}"
            for m in self.members
            if m["weight"] > 0
        ]
        lines += ["", "column                                     share of the gradients"]
        lines += [f"{name:<42} {share:>10.3f}" for name, share in self.columns.items()]
        return "\n".join(lines)


class TableMachine(SavedEstimator, BaseEstimator, ABC):
    """Base of the two: columns, scales, the stack and its values."""

    categorical_features: Any
    n_basis: int | str
    verbose: bool
    n_features_in_: int
    _encoder: TableEncoder
    _ranked: Ranked
    _stack: Stack

    # -- training --------------------------------------------------------------------------------------------------

    def _train(self, table, targets: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Train on targets Y (n, k); distinct rows and their weights come back."""
        rows, merged = distinct_samples(table.keys(), targets, weights)
        if len(rows) < 2:
            raise ValueError(f"X has n_samples={len(rows)} distinct rows of positive weight: at least two are needed.")
        table, Y = table.take(rows), Y[rows]
        with threads.suited_to(len(rows)), Progress(self.verbose, type(self).__name__) as progress:
            self._encoder, X = TableEncoder.fit_transform(table, Y, merged)
            self._ranked = Ranked.fit(X, merged, Squashed.fit(X, merged, self._encoder.levels))
            self._points = self._on_scales(X)
            self._stack = train(self._points, Y, merged, self._checked_basis(), progress.step)
        self.n_basis_ = len(self._stack.machines[0].centers)
        self._rows_fit_ = X
        return rows[self._stack.rows], merged[self._stack.rows]

    def _checked_basis(self) -> int | None:
        given = self.n_basis
        if isinstance(given, str) and given == "auto":
            return None
        if isinstance(given, Integral) and not isinstance(given, bool) and given > 1:
            return int(given)
        raise ValueError(f"n_basis must be 'auto' or an integer above 1, got {given!r}.")

    def _on_scales(self, X: np.ndarray) -> dict[str, np.ndarray]:
        return {"squashed": self._ranked.squashed(X), "ranked": self._ranked(X)}

    def _values(self, X: Any) -> np.ndarray:
        """What the stack says at X (n, k)."""
        check_is_fitted(self)
        table = read_table(self, X, self.categorical_features, reset=False)
        Z = self._on_scales(self._encoder.transform(table))
        with threads.suited_to(len(self._rows_fit_)):
            return np.sum([m.weight * m(Z[m.scale], self._points[m.scale]) for m in self._stack.machines], axis=0)

    # -- what training found ---------------------------------------------------------------------------------------

    @property
    def explain_(self) -> TableExplanation:
        """Which machines and which columns carry the prediction."""
        check_is_fitted(self)
        members = [
            {"kernel": name, "step": step, "error": float(np.sqrt(loss)) * self._unit(), "weight": weight}
            for name, step, loss, weight in sorted(self._stack.losses, key=lambda entry: -entry[3])
        ]
        squares = np.zeros(self.n_features_in_)
        for machine in self._stack.machines:
            own = np.bincount(self._encoder.origin, machine.sensitivity**2, self.n_features_in_)
            squares += machine.weight * np.sqrt(own)
        shares = squares / (squares.sum() or 1.0)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        order = np.argsort(-shares, kind="stable")
        return TableExplanation(members, {str(names[j]): float(shares[j]) for j in order})

    def _unit(self) -> float:
        """The unit of errors."""
        return 1.0

    # -- scikit-learn and files ------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fitted(self) -> dict[str, Any]:
        squashed, ranked, stack = self._ranked.squashed, self._ranked, self._stack
        return super()._fitted() | {
            "encoder": self._encoder.content(),
            "squashed": (squashed.mean, squashed.deviation, squashed.levels),
            "ranked": (ranked.knots, ranked.ranks, ranked.moments),
            "machines": [tuple({**m._asdict(), "profile": tuple(m.profile)}.values()) for m in stack.machines],
            "stack": (stack.rows, stack.left_out, stack.losses),
        }

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._encoder = TableEncoder.from_content(fitted.pop("encoder"))
        self._ranked = Ranked(Squashed(*fitted.pop("squashed")), *fitted.pop("ranked"))
        machines = [Machine(*parts) for parts in fitted.pop("machines")]
        machines = [machine._replace(profile=PowerProfile(*machine.profile)) for machine in machines]
        self._stack = Stack(machines, *fitted.pop("stack"))
        super()._restore(fitted)
        self._points = self._on_scales(self._rows_fit_)


class TableRegressor(RegressorMixin, TableMachine):
    """Regression on a table, with nothing to tune.

    Kernel machines without a length scale (-r^1.8, -r, -(l1 distance)^0.7 on ranks, and the linear function) are fitted
    by least squares, each in a metric that it learns: columns that the function does not depend on fade from the
    distances, and directions along which it changes are stretched. Alpha is chosen by leave-one-out at every step. All
    steps of all machines are then combined by non-negative weights with sum 1, those for which predictions of left-out
    rows are best.

    Parameters
    ----------
    categorical_features : "from_dtype", None, mask, numbers or names of columns
        Which columns hold categories. "from_dtype" and None take those of a DataFrame that hold categories or text.
        Values that training has not seen are taken for average ones.
    n_basis : "auto" or int
        Number of rows on which functions are expanded. "auto" takes all of up to 2500 rows, 2000 of more, and 3000
        from 10 000 on; metrics are then learned on 2000 rows first. With as many as there are rows, all are used.
    verbose : bool
        Show progress.

    Attributes
    ----------
    explain_ : TableExplanation
        Which machines, and which columns, carry the prediction.
    loo_error_ : float or array (k,)
        Root mean square error at training rows left out.
    n_basis_ : int
        Number of rows on which functions were expanded.
    n_features_in_, feature_names_in_ : int, array

    See Also
    --------
    TableClassifier : the same for classes.
    Smoother : one kernel, with standard deviations, derivatives and functionals.

    Notes
    -----
    Missing numbers are allowed everywhere: they become the mean, and a further column says where they were missing.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import TableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(200, 5))
    >>> y = np.sin(6 * X[:, 0]) + 2 * X[:, 1] ** 2
    >>> model = TableRegressor().fit(X, y)
    >>> list(model.explain_.columns)[:2]
    ['x0', 'x1']
    """

    _mean: np.ndarray
    _deviation: np.ndarray

    def __init__(self, categorical_features: Any = FROM_DTYPE, n_basis: int | str = "auto", verbose: bool = False):
        self.categorical_features, self.n_basis, self.verbose = categorical_features, n_basis, verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on a table X, a DataFrame or an array (n, d), and values y, (n,) or (n, k)."""
        table = read_table(self, X, self.categorical_features, reset=True)
        _refuse_none(y)
        checked: np.ndarray = _check_y(y, multi_output=True, y_numeric=True, estimator=self).astype(float)
        check_consistent_length(table.columns[0], checked)
        weights = _check_sample_weight(sample_weight, checked, dtype=np.float64, ensure_non_negative=True)
        self._single = checked.ndim == 1
        Y = checked.reshape(len(checked), -1)
        self._mean, self._deviation = mean_and_deviation(Y, weights) if weights.any() else (Y[0], np.ones(Y.shape[1]))
        rows, kept = self._train(table, Y, (Y - self._mean) / self._deviation, weights)
        self._residuals = Y[rows] - self._mean - self._deviation * self._stack.left_out
        self._residual_weights = kept
        errors = np.sqrt(np.average(self._residuals**2, axis=0, weights=kept))
        self.loo_error_ = float(errors[0]) if self._single else errors
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Values at the rows of X."""
        values = self._mean_values(X)
        return values[:, 0] if self._single else values

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of intervals that hold a share ``coverage`` of new values.

        Their width is a quantile of the errors at training rows left out.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
        values = self._mean_values(X)
        half = _upper_quantile(np.abs(self._residuals), self._residual_weights, coverage)
        low, high = values - half, values + half
        return (low[:, 0], high[:, 0]) if self._single else (low, high)

    _state = ("_single", "_mean", "_deviation", "_residuals", "_residual_weights")

    def _mean_values(self, X: Any) -> np.ndarray:
        values = self._values(X)
        return self._mean + self._deviation * values

    def _unit(self) -> float:
        return float(np.sqrt(np.mean(self._deviation**2)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class TableClassifier(ClassifierMixin, TableMachine):
    """Classification of a table, with nothing to tune: the stack of :class:`TableRegressor` for classes.

    Its machines fit an indicator of each class by least squares. Probabilities come from a link that is fitted to what
    the stack says of training rows left out.

    Parameters
    ----------
    categorical_features : "from_dtype", None, mask, numbers or names of columns
        Which columns hold categories; see :class:`TableRegressor`.
    n_basis : "auto" or int
        Number of rows on which functions are expanded; see :class:`TableRegressor`.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : array
    explain_ : TableExplanation
        Which machines, and which columns, carry the prediction.
    loo_error_ : float
        Share of training rows that are classified wrongly when left out.
    link_coef_ : array
        Slopes of the link between decision values and probabilities.
    n_basis_ : int
        Number of rows on which functions were expanded.
    n_features_in_, feature_names_in_ : int, array

    See Also
    --------
    TableRegressor : the same for values.
    SVC : one kernel, margins and null spaces of your own.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import TableClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> bool(TableClassifier().fit(X, y).loo_error_ < 0.15)
    True
    """

    classes_: np.ndarray

    def __init__(self, categorical_features: Any = FROM_DTYPE, n_basis: int | str = "auto", verbose: bool = False):
        self.categorical_features, self.n_basis, self.verbose = categorical_features, n_basis, verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on a table X, a DataFrame or an array (n, d), and classes y (n,)."""
        table = read_table(self, X, self.categorical_features, reset=True)
        _refuse_none(y)
        y = _check_y(y, estimator=self) if np.asarray(y).dtype.kind == "f" else column_or_1d(y, warn=True)
        check_consistent_length(table.columns[0], y)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        self.classes_, labels = np.unique(y, return_inverse=True)
        present = np.unique(labels[weights > 0])
        if len(present) < 2:
            raise ValueError(f"y must hold at least two classes (with positive weight), got one class: {present}.")
        codes = np.eye(len(self.classes_))[labels]
        Y = 2.0 * codes[:, 1:] - 1.0 if len(self.classes_) == 2 else codes
        rows, kept = self._train(table, labels, Y, weights)
        self._fit_link(labels[rows], kept)
        return self

    def _fit_link(self, labels: np.ndarray, weights: np.ndarray) -> None:
        left_out = self._stack.left_out
        if len(self.classes_) == 2:
            self.link_coef_ = fit_slopes(left_out[:, 0], np.where(labels == 1, 1.0, -1.0), weights)
        else:
            self.link_coef_ = np.array([fit_temperature(left_out, labels, weights)])
        self.loo_error_ = float(np.average(self._chosen(left_out) != labels, weights=weights))

    def _chosen(self, values: np.ndarray) -> np.ndarray:
        return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Values of the stack: (n,) for two classes, otherwise (n, n_classes)."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row of X."""
        chosen = self._chosen(self._values(X))
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes (n, n_classes); the most probable one is the class predicted."""
        values = self._values(X)
        if values.shape[1] == 1:
            return binary_probabilities(values[:, 0], self.link_coef_)
        return multinomial_probabilities(values, float(self.link_coef_[0]))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _refuse_none(y: Any) -> None:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")


def _upper_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Weighted quantile of each column, as if one more value, beyond all of them, had been seen."""
    out = np.empty(values.shape[1])
    for k, column in enumerate(values.T):
        order = np.argsort(column)
        mass = np.cumsum(weights[order])
        place = np.searchsorted(mass, level * (mass[-1] + weights.mean()) * (1.0 - 1e-12))
        out[k] = column[order][min(place, len(order) - 1)]
    return out
