"""Implicit surfaces, and classifiers with examples on the boundary, by a margin machine [Walder 2008, 4.2]."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._base import blas as threads
from ..fields.field import Field
from ..fields.margin import fit_margin_field
from ..fields.roughness import Roughness
from ..fields.settings import Settings
from ..functions import Expansion
from ..kernels import Kernel, Polyharmonic
from ..losses import HardMargin, Hinge, Loss, PerPoint, SquaredHinge
from ..nullspace import null_space_for
from ..solvers.margin.path import SMALLEST_LOSS
from ..solvers.margin.problem import EMPTY_PATH
from ..solvers.margin.separation import InseparableError
from .base import kernel_for
from .margin import MarginMachine
from .trials import MachineTrial, Rules, TrainingSet

ENGINES = ("auto", "exact", "field")
_LOSSES: dict[str, type[Loss]] = {"squared_hinge": SquaredHinge, "hinge": Hinge}
_MANY = 5000  # points from which on a field is the automatic choice
_CHOOSE_ON = 1500  # points that alpha is chosen on by the exact engine
_FIELD_DIMENSION = 4
_FIELD_TOL = 1e-4


class ImplicitSVM(ClassifierMixin, MarginMachine):
    """A function that is 0 at points of a surface, and at least 1 in modulus at labelled points on its two sides.

    Minimises alpha |f|^2 + sum_{y_i = 0} w_i f(x_i)^2 + C sum_{y_i != 0} w_i max(0, 1 - y_i f(x_i))^p, p = 2 or 1, or
    with a hard margin the first two terms under y_i f(x_i) >= 1 [Walder 2008, 4.2]. Labelled points beyond the margin
    have no influence, and no target value has to be invented for any point.

    As an implicit surface, ``function_`` is negative inside, and can be meshed, ray traced and combined with other
    shapes; labelled points come from normals by :func:`seminorm.clouds.off_surface.off_surface_points`. As a
    classifier, points of label 0 are examples that are too hard to label, or belong to neither class.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Left out, the ``Polyharmonic(m)`` of smallest order with continuous slopes in up to four dimensions (m = 2, from
        three dimensions on 3), and that of :class:`seminorm.SVC` in more.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm. "auto" takes the smallest score along a path; an array names the candidates.
        Among alphas whose score is within 10 % of the smallest, the largest is used. With more than 1500 points, alpha
        is chosen on a sample and scaled by the number of points.
    criterion : {"loo", "cv"}
        How alpha is chosen: by the mean leave-one-out loss, which costs no further training, or by the mean loss in
        five-fold cross-validation.
    margin, loss : {"soft", "hard"}, {"squared_hinge", "hinge"}
        Whether labelled points may lie within the margin, and at what price.
    margin_weight : float
        C, the weight of the labelled points against the surface points; infinite is the hard margin.
    null_space : "auto", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free, as in :class:`seminorm.SVC`: by default the polynomials of the kernel's ``null_degree``, at least
        the constant.
    engine : {"auto", "exact", "field"}
        "exact" is an expansion in kernels, whose cost grows with the cube of the number of points; "field" a multilevel
        basis for many points in up to four dimensions, with a ``Polyharmonic`` kernel, the squared hinge and a soft
        margin. "auto" takes the field above 5000 points where it is possible.
    depth : int or "auto"
        Of the field, as in :class:`seminorm.FieldSmoother`.
    max_iter : int
        Most Newton steps, or fits of a field.

    Attributes
    ----------
    function_ : Expansion or Field
        f, with values, gradients and Hessians.
    classes_, engine_ : array, str
        -1 and 1; "exact" or "field".
    alpha_ : float
        NaN where the null space alone meets all points, and alpha plays no part.
    alpha_path_ : dict of arrays
        ``alpha`` and ``score`` (the criterion) along the path; empty for a given alpha.
    support_ : array
        Rows of X that have an influence: those of label 0, and those on or within the margin.
    dual_coef_, null_coef_ : arrays (1, n_support) and (1, p)
        Exact engine only.
    n_iter_ : int
        Newton or interior-point steps in all, or fits of a field.

    See Also
    --------
    SVC : two classes without a boundary.
    seminorm.reconstruct : surfaces from points with normals.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import ImplicitSVM
    >>> from seminorm.clouds.off_surface import off_surface_points
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z, labels = off_surface_points(circle, circle, distance=0.1)
    >>> X, y = np.concatenate([circle, Z]), np.concatenate([np.zeros(60, dtype=int), labels])
    >>> ImplicitSVM(alpha=1e-4).fit(X, y).predict([[0.0, 0.0], [0.95, 0.0], [1.05, 0.0], [2.0, 2.0]])
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha: str | float | np.ndarray = "auto",
        criterion: str = "loo",
        margin: str = "soft",
        loss: str = "squared_hinge",
        margin_weight: float = 1.0,
        null_space: object = "auto",
        engine: str = "auto",
        depth: int | str = "auto",
        max_iter: int = 100,
    ):
        self.kernel, self.alpha, self.criterion, self.margin, self.loss = kernel, alpha, criterion, margin, loss
        self.margin_weight, self.null_space, self.engine, self.depth = margin_weight, null_space, engine, depth
        self.max_iter = max_iter

    random_state = 0
    field_content_: dict
    _rule = SMALLEST_LOSS
    _single_output = True
    _copies = 4
    _advice = "train on a subset, or use engine='field'."

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> ImplicitSVM:
        """Train on labels y (n,): -1 (inside), 0 (on the surface, too hard to label) and 1 (outside).

        The other arguments are those of :meth:`SVC.fit`.
        """
        self._check_parameters()
        points, given = self._check_input(X, y)
        labels = _labels(given)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        if not self._is_hard():
            weights = np.where(labels == 0, 1.0, self.margin_weight) * weights
        points, labels, weights, rows, null_columns = self._merge(points, labels, weights, null_columns)
        _refuse_missing(labels)
        self.classes_ = np.array([-1, 1])
        for name in ("dual_coef_", "field_content_", "_field"):  # of an earlier training by the other engine
            self.__dict__.pop(name, None)
        engine = self._chosen_engine(points)
        if engine == "field":
            self._train_field(points, labels.astype(float), weights, rows)
        else:
            self._train_exact(points, labels.astype(float), weights, rows, null_columns)
        self.engine_ = engine
        return self

    def decision_function(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """f at X: negative inside, positive outside, 1 in modulus at the margin."""
        check_is_fitted(self, "engine_")
        if self.engine_ == "exact":
            return self._margin_values(X, null_columns).reshape(-1)
        return self.function_(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X: ArrayLike, null_columns: ArrayLike | None = None) -> np.ndarray:
        """-1 inside, 1 outside."""
        return np.where(self.decision_function(X, null_columns) > 0, 1, -1)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, null_columns: ArrayLike | None = None
    ) -> float:
        """Share of the labelled rows that lie on their side; those of label 0 do not count."""
        labels = _labels(np.asarray(y))
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weights = np.where(labels == 0, 0.0, weights)
        if not weights.any():
            raise ValueError("y must have labels -1 or 1 (with positive weight) to score against.")
        return float(np.average(self.predict(X, null_columns) == labels, weights=weights))

    @property
    def function_(self) -> Expansion | Field:  # type: ignore[override]  # a field is no expansion, but as good
        """f, as a function of points."""
        check_is_fitted(self, "engine_")
        if self.engine_ == "exact":
            return super().function_
        if not hasattr(self, "_field"):
            self._field = Field.from_content(self.field_content_, "the saved machine")
        return self._field

    def _is_hard(self) -> bool:
        return self.margin == "hard" or np.isinf(self.margin_weight)

    def _loss(self, targets: np.ndarray, k: int = 0) -> Loss:
        return PerPoint.with_boundary(targets, HardMargin if self._is_hard() else _LOSSES[self.loss])

    def _check_parameters(self) -> None:
        self._check_common_parameters()
        self._check_choice("margin", ("soft", "hard"))
        self._check_choice("loss", _LOSSES)
        self._check_choice("engine", ENGINES)
        if not (isinstance(self.margin_weight, Real) and self.margin_weight > 0):
            raise ValueError(f"margin_weight must be a positive number, got {self.margin_weight!r}.")
        if not (isinstance(self.max_iter, Integral) and self.max_iter > 0):
            raise ValueError(f"max_iter must be a positive integer, got {self.max_iter!r}.")
        if self.depth != "auto" and not (isinstance(self.depth, Integral) and 0 <= self.depth <= 30):
            raise ValueError(f'depth must be "auto" or an integer from 0 to 30, got {self.depth!r}.')

    def _chosen_engine(self, X) -> str:
        if self.engine == "exact":
            return "exact"
        obstacle = self._obstacle_to_field(X)
        if self.engine == "field" and obstacle is not None:
            raise ValueError(f"engine='field' {obstacle}: use engine='exact', or 'auto'.")
        return "field" if obstacle is None and (self.engine == "field" or X.shape[0] > _MANY) else "exact"

    def _obstacle_to_field(self, X) -> str | None:
        """Why a field cannot be fitted, or None."""
        if self._is_hard() or self.loss != "squared_hinge":
            return "needs margin='soft' with the squared hinge"
        if hasattr(X, "tocsr"):
            return "needs a dense X"
        kernel = None if self._is_given() else self._settle_kernel(X)
        if not isinstance(kernel, Polyharmonic):
            return f"needs a Polyharmonic kernel in up to {_FIELD_DIMENSION} dimensions, and kernel is {self.kernel!r}"
        if X.shape[1] > _FIELD_DIMENSION or kernel.order > 3:
            return f"needs at most {_FIELD_DIMENSION} dimensions and order 3, and X has {X.shape[1]} columns"
        if not (isinstance(self.null_space, str) and self.null_space == "auto"):
            return f"needs null_space='auto', and it is {self.null_space!r}"
        return None

    def _settle_kernel(self, X) -> Kernel:
        d = X.shape[1]
        if self.kernel is None and d <= _FIELD_DIMENSION:
            return Polyharmonic(2 if d <= 2 else 3).for_dimension(d)
        return kernel_for(self.kernel, X)

    # -- expansions ------------------------------------------------------------------------------------------------

    def _train_exact(self, X, y, weights, rows, null_columns) -> None:
        try:
            self._train(X, y, weights, rows, null_columns)
        except InseparableError as error:
            raise ValueError(f"margin='hard' cannot be met: {error}") from None
        self.n_iter_ = max(self.n_iter_, 1)

    def _errors(self, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        return 0.0, 0.0  # the machine is never a stationary point

    def _adopt(self, trial: MachineTrial) -> None:
        if trial.is_indefinite:
            raise ValueError(
                "the kernel matrix must be positive definite beside the null space, and has negative eigenvalues: use "
                "another kernel, or seminorm.invariance.DefiniteRepair to repair it."
            )
        super()._adopt(trial)

    def _trained(self, data: TrainingSet, y: np.ndarray, null_columns, rules: Rules) -> MachineTrial:
        if len(data) <= _CHOOSE_ON or rules.fixed is not None:
            return super()._trained(data, y, null_columns, rules)
        alpha, path = self._alpha_of_sample(data, y, null_columns, rules)
        trial = super()._trained(data, y, null_columns, replace(rules, alphas=np.array(alpha)))
        trial.fits = [replace(fit, path=path) for fit in trial.fits]
        return trial

    def _part(self, data: TrainingSet, y: np.ndarray, rules: Rules) -> np.ndarray | None:
        return None

    def _alpha_of_sample(self, data: TrainingSet, labels, null_columns, rules: Rules) -> tuple[float, dict]:
        """Alpha for all points, chosen on a sample that has each label in proportion, and the path."""
        n, rng, given = len(labels), np.random.default_rng(0), rules.alphas
        share = min(1.0, _CHOOSE_ON / n)
        parts = [rng.permutation(np.flatnonzero(labels == label)) for label in (-1, 0, 1)]
        sample = np.sort(np.concatenate([part[: int(np.ceil(share * len(part)))] for part in parts]))
        factor = n / len(sample)
        small = replace(rules, alphas=None if given is None else given / factor)
        columns = None if null_columns is None else null_columns[sample]
        trial = super()._trained(data.part(sample), labels[sample], columns, small)
        alpha, path = trial.alphas[0], trial.fits[0].path
        if np.isnan(alpha):  # the null space alone suffices for the sample, but perhaps not for all
            return float(trial.problems[0].machine.scale if given is None else given.max()), path
        return alpha * factor, {**path, "alpha": path["alpha"] * factor}

    # -- fields ----------------------------------------------------------------------------------------------------

    def _train_field(self, X, y, weights, rows) -> None:
        self._kind, self._own_columns = "free", False
        given, self.alpha_path_ = self._given_alpha(), EMPTY_PATH
        data = TrainingSet(X, weights, self._problems(y))
        self.kernel_ = self._settle_kernel(X)
        self.null_space_ = null_space_for(self.null_space, self.kernel_, X)
        if given is None or given.ndim:
            with threads.suited_to(_CHOOSE_ON):
                alpha, self.alpha_path_ = self._alpha_of_sample(data, y, None, self._rules(lambda alpha: None))
        else:
            alpha = float(given)
        self.alpha_, order = alpha, self.kernel_.order
        settings = Settings(
            alpha=alpha, roughness=Roughness.of(order), degree=max(2, order),
            depth=None if self.depth == "auto" else int(self.depth), tol=_FIELD_TOL, max_iter=1000,
        )  # fmt: skip
        found = fit_margin_field(X, self._loss(y), weights, settings, self.max_iter)
        self._field, self.n_iter_ = found.field, found.n_iter
        self.field_content_ = self._field.content()
        self.support_ = rows[found.active]


def _labels(y: np.ndarray) -> np.ndarray:
    """-1, 0 and 1 as integers."""
    known = np.unique(y)
    if known.dtype.kind not in "iuf" or not np.isin(known, (-1, 0, 1)).all():
        raise ValueError(
            "y must hold the labels -1 (inside), 0 (on the surface, or too hard to label) and 1 (outside), got "
            f"{', '.join(map(repr, known[:5].tolist()))}{', ...' if len(known) > 5 else ''}."
        )
    return y.astype(int)


def _refuse_missing(labels: np.ndarray) -> None:
    """All three labels are needed."""
    if not (labels == 0).any():
        raise ValueError(
            "y has no points of label 0 (with positive weight), on the surface or too hard to label: for two classes "
            "alone use seminorm.SVC."
        )
    missing = [label for label in (-1, 1) if not (labels == label).any()]
    if missing:
        raise ValueError(
            f"y must hold labels of two classes, -1 and 1 (with positive weight), and there is no {missing[0]}"
            f"{' and no 1' if len(missing) == 2 else ''}: without points on both sides f has no sign. See "
            "seminorm.clouds.off_surface.off_surface_points."
        )
