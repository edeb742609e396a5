"""Implicit surfaces, and classifiers with examples on the boundary, by a margin machine (seed 004, 4.2)."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _threads as threads
from .._warnings import warn_user
from ..fields.field import Field
from ..fields.fit import Fit, Settings, fit_field
from ..fields.sources import Source
from ..fields.system import System, collapse
from ..functions import Expansion, Functional
from ..kernels import Kernel, Polyharmonic
from ..memory import require_memory
from ..nullspace import identifiable
from ..solvers.implicit_margin import Candidate, ImplicitProblem, minimise_by_fits
from .defaults import kernel_for
from .margin import MarginMachine, _space_of

ENGINES = ("auto", "exact", "field")
_LOSSES = ("squared_hinge", "hinge")
_MANY = 5000  # points from which on a field is the automatic choice
_CHOOSE_ON = 1500  # points that alpha is chosen on by the exact engine
_FIELD_DIMENSION = 4
_FIELD_TOL = 1e-4
_ROUGH_TOL = 1e-2
_REDUCTION = 0.1


class ImplicitSVM(ClassifierMixin, MarginMachine):
    """A function that is 0 at points of a surface, and at least 1 in modulus at labelled points on its two sides.

    Minimises alpha |f|^2 + sum_{y_i = 0} w_i f(x_i)^2 + C sum_{y_i != 0} w_i max(0, 1 - y_i f(x_i))^p, p = 2 or 1, or
    with a hard margin the first two terms under y_i f(x_i) >= 1 (seed 004, 4.2). Labelled points beyond the margin have
    no influence, and no target value has to be invented for any point.

    As an implicit surface, ``function_`` is negative inside, and can be meshed, ray traced and combined with other
    shapes; labelled points come from normals by :func:`seminorm.surfaces.off_surface.off_surface_points`. As a
    classifier, points of label 0 are examples that are too hard to label, or belong to neither class.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Left out, the ``Polyharmonic(m)`` of smallest order with continuous slopes in up to four dimensions (m = 2, from
        three dimensions on 3), and that of :class:`seminorm.SVC` in more.
    alpha : "auto", float or array of float
        Weight of the squared semi-norm. "auto" takes the smallest leave-one-out loss along a path, which costs no
        further training; an array names the candidates. Of more than 1500 points it is chosen on a sample, in
        proportion to the number of points. Of losses within a tenth of the smallest the largest alpha counts.
    margin : {"soft", "hard"}
        Whether labelled points may lie within the margin, at a price.
    loss : {"squared_hinge", "hinge"}
        That price, for the soft margin.
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
    classes_ : array
        -1 and 1.
    engine_ : str
        "exact" or "field".
    alpha_ : float
        NaN where the null space alone meets all points, and alpha plays no part.
    alpha_path_ : dict of arrays
        ``alpha`` and ``loss`` (the criterion), if alpha was chosen.
    support_ : array
        Rows of X that have an influence: those of label 0, and those on or within the margin.
    dual_coef_, null_coef_ : arrays (1, n_support) and (1, p)
        Exact engine only.
    n_iter_ : int
        Newton or interior-point steps in all, or fits of a field.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.estimators.implicit_svm import ImplicitSVM
    >>> from seminorm.surfaces.off_surface import off_surface_points
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z, labels = off_surface_points(circle, circle, distance=0.1)
    >>> X, y = np.concatenate([circle, Z]), np.concatenate([np.zeros(60, dtype=int), labels])
    >>> shape = ImplicitSVM(alpha=1e-4).fit(X, y)
    >>> shape.predict([[0.0, 0.0], [0.95, 0.0], [1.05, 0.0], [2.0, 2.0]])
    array([-1, -1,  1,  1])
    """

    n_basis = None
    _matrix_is_indefinite = False

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha="auto",
        margin: str = "soft",
        loss: str = "squared_hinge",
        margin_weight: float = 1.0,
        null_space="auto",
        engine: str = "auto",
        depth="auto",
        max_iter: int = 100,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.margin = margin
        self.loss = loss
        self.margin_weight = margin_weight
        self.null_space = null_space
        self.engine = engine
        self.depth = depth
        self.max_iter = max_iter

    def fit(self, X, y, sample_weight=None, null_columns=None) -> ImplicitSVM:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix (n, d), or the kernel matrix (n, n) for ``kernel="precomputed"``
        y : array (n,) of -1 (inside), 0 (on the surface, too hard to label) and 1 (outside)
        sample_weight : array (n,), optional
        null_columns : array (n, r), optional
            As in :class:`seminorm.SVC`, for ``kernel="precomputed"``.
        """
        self._check_parameters()
        X, y = self._check_fit_input(X, y)
        labels = _labels(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not self._is_hard():
            weights = np.where(labels == 0, 1.0, self.margin_weight) * weights
        X, labels, weights, rows, null_columns = self._merge(X, labels, weights, null_columns)
        _refuse_missing(labels)
        self.classes_ = np.array([-1, 1])
        for name in ("dual_coef_", "field_content_", "_field"):  # of an earlier training by the other engine
            vars(self).pop(name, None)
        if self._chosen_engine(X) == "field":
            self._train_field(X, labels, weights, rows)
        else:
            with threads.suited_to(X.shape[0]):
                self._train(X, labels, weights, rows, self._prepare(X, null_columns))
        return self

    def decision_function(self, X, null_columns=None) -> np.ndarray:
        """f at X: negative inside, positive outside, 1 in modulus at the margin."""
        check_is_fitted(self, "engine_")
        if self.engine_ == "exact":
            return self._values(X, null_columns).reshape(-1)
        return self.function_(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X, null_columns=None) -> np.ndarray:
        """-1 inside, 1 outside."""
        return np.where(self.decision_function(X, null_columns) > 0, 1, -1)

    def score(self, X, y, sample_weight=None, null_columns=None) -> float:
        """Share of the labelled rows that lie on their side; those of label 0 do not count."""
        labels = _labels(np.asarray(y))
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        weights = np.where(labels == 0, 0.0, weights)
        if not weights.any():
            raise ValueError("y must have labels -1 or 1 (with positive weight) to score against.")
        return float(np.average(self.predict(X, null_columns) == labels, weights=weights))

    @property
    def function_(self) -> Expansion | Field:
        """f, as a function of points."""
        check_is_fitted(self, "engine_")
        if self.engine_ == "exact":
            return self._expansion()
        if not hasattr(self, "_field"):
            self._field = Field.from_content(self.field_content_, "the saved machine")
        return self._field

    def _expansion(self) -> Expansion:
        if self._is_precomputed():
            raise ValueError(
                "function_ needs the kernel: with kernel='precomputed' only decision values at given kernel rows exist."
            )
        points, dual = self.support_vectors_, self.dual_coef_[0]
        if not len(dual):  # the null space alone: an expansion has at least one term
            points, dual = np.zeros((1, self.n_features_in_)), np.zeros(1)
        return Expansion(self.kernel_, [Functional(points)], dual, self.null_space_, self.null_coef_[0])

    def _is_hard(self) -> bool:
        return self.margin == "hard" or np.isinf(self.margin_weight)

    def _check_parameters(self):
        self._check_alpha("auto")
        for name, choices in (("margin", ("soft", "hard")), ("loss", _LOSSES), ("engine", ENGINES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(self, name)!r}.")
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
        if self._is_precomputed() or not isinstance(self._settled(X), Polyharmonic):
            return f"needs a Polyharmonic kernel in up to {_FIELD_DIMENSION} dimensions, and kernel is {self.kernel!r}"
        if X.shape[1] > _FIELD_DIMENSION or self._settled(X).m > 3:
            return f"needs at most {_FIELD_DIMENSION} dimensions and order 3, and X has {X.shape[1]} columns"
        if not (isinstance(self.null_space, str) and self.null_space == "auto"):
            return f"needs null_space='auto', and it is {self.null_space!r}"
        return None

    def _settled(self, X) -> Kernel:
        """The kernel for points of this dimension."""
        d = X.shape[1]
        if self.kernel is None and d <= _FIELD_DIMENSION:
            return Polyharmonic(2 if d <= 2 else 3).for_dimension(d)
        return kernel_for(self.kernel, X)

    def _prepare(self, X, null_columns):
        if self._is_precomputed() or null_columns is not None:
            return super()._prepare(X, null_columns)
        self.kernel_ = self._settled(X)
        self.null_space_ = _space_of(self.null_space, self.kernel_, X)
        self._tolerance = self.null_space_.resolution
        P = self.null_space_(X)
        identifiable(self.null_space_, P)  # warns
        return P

    # -- expansions ------------------------------------------------------------------------------------------------

    def _train(self, X, labels, weights, rows, P):
        named = isinstance(self.null_space, str) and self.null_space in ("zero", "constant")
        self._kind = self.null_space if named else "free"
        self._refuse_too_few(P)
        n = X.shape[0]
        require_memory(4 * 8 * n**2, f"a dense machine on {n} points", "train on a subset, or use engine='field'.")
        Phi = self._gram(X)
        if self._is_indefinite(Phi, P):
            raise ValueError(
                "the kernel matrix must be positive definite beside the null space, and has negative eigenvalues: use "
                "another kernel, or seminorm.invariance.definiteness to repair it."
            )
        alpha, path = self._told_alpha(), None
        if len(labels) > _CHOOSE_ON and (alpha is None or alpha.ndim):
            alpha, path = self._alpha_of_sample(X, P, labels, weights)
        problem = self._problem(Phi, P, X, labels, weights)
        fit = problem.fit(alpha)
        coefficients = problem.machine.expand(*fit.parts)
        dual = np.zeros((X.shape[0], 1))
        dual[coefficients.points, 0] = coefficients.dual
        self.engine_, self.n_iter_ = "exact", max(fit.iterations, 1)
        self.alpha_, self.alpha_path_ = fit.alpha, fit.path if path is None else path
        self._keep(X, dual, coefficients.null[:, None], rows)

    def _problem(self, Phi, P, X, labels, weights) -> ImplicitProblem:
        machine = self._machine(Phi, P, None if self._kind == "free" else self._basis(X, 0))
        loss = "hard" if self._is_hard() else self.loss
        return ImplicitProblem(machine, labels.astype(float), weights, loss, self.max_iter)

    def _told_alpha(self) -> float | np.ndarray | None:
        """A number, candidates, or None for a choice along a path."""
        return None if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=float)

    def _alpha_of_sample(self, X, P, labels, weights) -> tuple[float, dict]:
        """Alpha chosen on a sample that has each label in proportion, for the number of points there are, and the
        path.
        """
        n, rng, told = len(labels), np.random.default_rng(0), self._told_alpha()
        share = min(1.0, _CHOOSE_ON / n)
        parts = [rng.permutation(np.flatnonzero(labels == label)) for label in (-1, 0, 1)]
        sample = np.sort(np.concatenate([part[: int(np.ceil(share * len(part)))] for part in parts]))
        factor = n / len(sample)
        points = X[np.ix_(sample, sample)] if self._is_precomputed() else X[sample]
        problem = self._problem(self._gram(points), P[sample], points, labels[sample], weights[sample])
        fit = problem.fit(None if told is None else told / factor)
        alpha = fit.alpha * factor
        if np.isnan(alpha):  # the null space alone will do for the sample, and may not for all
            alpha = float(problem.machine.scale if told is None else told.max())
        return alpha, {**fit.path, "alpha": fit.path["alpha"] * factor}

    # -- fields ----------------------------------------------------------------------------------------------------

    def _train_field(self, X, labels, weights, rows):
        self.engine_, self._kind, self._own_columns = "field", "free", False
        alpha, self.alpha_path_ = self._told_alpha(), {}
        P = self._prepare(X, None)
        if alpha is None or alpha.ndim:
            with threads.suited_to(_CHOOSE_ON):
                alpha, self.alpha_path_ = self._alpha_of_sample(X, P, labels, weights)
        self.alpha_, order = float(alpha), self.kernel_.m
        settings = Settings(
            alpha=self.alpha_, order=order, degree=max(2, order),
            depth=None if self.depth == "auto" else int(self.depth), tol=_FIELD_TOL, max_iter=1000,
        )  # fmt: skip
        y = labels.astype(float)
        regression = fit_field(Source.of(X, y, weights), settings)
        fields = _FieldFits(regression, X, y, weights, settings)
        found, active, self.n_iter_ = minimise_by_fits(
            y, weights, regression.alpha, fields.start(), fields.fit, fields.mixed_energy, self.max_iter
        )
        self._field = fields.field(found)
        self.field_content_ = self._field.content()
        self.support_ = rows[active]


class _FieldFits:
    """Least squares on some of the points in the basis of a field that was fitted to all of them."""

    def __init__(self, regression: Fit, X, y, weights, settings: Settings):
        self.regression, self.X, self.y, self.weights, self.settings = regression, X, y, weights, settings
        self.tree, self.offset = regression.field.tree, regression.field.offset
        self.energy = regression.system.energy

    def field(self, candidate: Candidate) -> Field:
        return Field(self.tree, collapse(self.tree, candidate.coef), self.settings.order, self.offset)

    def start(self) -> Candidate:
        return self._candidate(self.regression.x)

    def fit(self, active: np.ndarray, start: Candidate, exact: bool) -> Candidate:
        source = Source.of(self.X, self.y, np.where(active, self.weights, 0.0))
        system = source.accumulate(partial(System, self.tree, self.settings.order, self.offset)).close()
        coef = start.coef.copy()
        options = {"tol": self.settings.tol} if exact else {"tol": _ROUGH_TOL, "reduction": _REDUCTION}
        outcome = system.solve(self.regression.alpha, coef, max_iter=self.settings.max_iter, **options)
        if exact and not outcome.converged:
            warn_user(
                f"the field was not solved to a relative residual of {self.settings.tol:g}: after {outcome.n_iter} "
                f"steps it is {outcome.residual:.1e}. Take a larger alpha.",
                ConvergenceWarning,
            )
        return self._candidate(coef)

    def mixed_energy(self, one: Candidate, other: Candidate) -> float:
        """The inner product of the semi-norm, from that of the sum and the difference."""
        both, apart = (self.energy(collapse(self.tree, one.coef + sign * other.coef)) for sign in (1.0, -1.0))
        return 0.25 * (both - apart)

    def _candidate(self, coef: np.ndarray) -> Candidate:
        collapsed = collapse(self.tree, coef)
        values = Field(self.tree, collapsed, self.settings.order, self.offset)(self.X)
        return Candidate(coef, values, self.energy(collapsed))


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
            "seminorm.surfaces.off_surface.off_surface_points."
        )
