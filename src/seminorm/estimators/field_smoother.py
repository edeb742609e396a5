"""Smoothing of scattered data in one to four dimensions, for up to millions of points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from ..fields.calibration import Repetition
from ..fields.drift import FreeFeatures
from ..fields.features import fit_with_features
from ..fields.field import Field
from ..fields.fit import Fit, fit_levels
from ..fields.robust import NEEDS, factor_of_outliers, fit_robust
from ..fields.settings import Settings
from ..fields.sources import CHUNK_POINTS, Source, is_chunk
from ..fields.tree import Tree
from ..fields.vector_field import VectorField, field_from_content
from ..losses import loss_named
from ..operators import Operator
from ..operators.operator import Multiplier
from .field_grids import FieldGrids
from .field_input import (
    check_readable,
    column_numbers,
    existing,
    field_functionals,
    floats,
    is_grid,
    name_of,
    points_of,
    scale_of,
    validated,
    without_repetitions,
    without_unused,
)
from .field_parameters import anisotropy_of, check_parameters, energy_of, periods_of
from .field_units import check_weights, unit_of, zoom_of
from .geography import warn_of_mixed_units
from .observations import functional_shape


class FieldSmoother(FieldGrids):
    """Smoothing spline in one to four dimensions by a multilevel basis: the large-scale sibling of :class:`Smoother`.

    Minimises alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2, where |f|^2 is a sum of
    squared derivatives of one or more orders, integrated over a box around the data. Other linear functionals of f
    can be observed as well. Time and memory grow with the number of points, not with its square.

    Parameters
    ----------
    alpha : float or "auto"
        Weight of the squared semi-norm; "auto" minimises the criterion.
    criterion : {"auto", "reml", "robust_gcv", "gcv", "holdout"}
        How alpha is chosen: by restricted likelihood on dense windows of the values; by generalised cross-validation
        with a stochastic trace, with a factor that guards against noise that neighbours share or alone; or by the
        error at a fifth of the points and functionals, fitted to the others. "auto" is "reml" if the operator is
        chosen, and "robust_gcv" otherwise.
    operator : Operator or {"auto", "tension", "matern"}, optional
        What is smooth: a sum of semi-norms of order 0 to 3, given by an operator such as ``4 * derivatives(1) +
        derivatives(2)``, whose symbol is a polynomial in omega^2. The polynomials that it does not penalise are free,
        and where it has a part of order 0 there are none: f is then a Gaussian process of mean zero. "tension" is
        k^2 |f|_1^2 + |f|_2^2, "matern" has the symbol (k^2 + omega^2)^2 for f minus the mean of the values; k is
        chosen together with alpha by restricted likelihood. "auto" is tension, or the order 1 or 2 that it comes close
        to, unless the thin plate is clearly better on held-out blocks. It is the thin plate (order 2) if alpha is a
        number, in three dimensions and more, and where there is too little to choose from. None is the thin plate.
    order : int, optional
        The same as ``operator=derivatives(order)``, the single semi-norm of derivatives of order 1, 2 or 3: polynomials
        of a degree below it are free.
    null_space : callable, optional
        Further functions that are free, an external drift: takes points (n, d) to features (n, p), or (n,) for one,
        such as another fitted field. The values are then those of f plus a linear combination of the features.
    null_columns : list of int or str, optional
        Columns of X that are no coordinates but covariates, by number or name, and free in the same way: the values
        are those of f, a function of the other columns, plus a linear combination of these.
    loss : {"squared", "huber", "student_t"}
        Of the values. "huber" bounds the influence of outliers, "student_t" takes it away from gross ones; both are
        minimised by reweighting, with a threshold that belongs to the median absolute residual. Gradients and
        functionals keep the squared loss.
    degree : int, optional
        Of the B-splines: 2 or 3, at least the highest order. Left out, 2, or 3 for order 3.
    depth : int or "auto"
        The finest functions have 2**depth cells across the longest side of the data. "auto": as deep as residuals and
        sampling ask for, region by region.
    scale : "auto", float or array (d,)
        Coordinates are divided by it before anything else: it makes axes of different units comparable (space and
        time). "auto" is 1, but for columns of X called lon and lat (or longitude, latitude) that hold degrees, where
        longitudes are multiplied by the cosine of the middle latitude: a local plane (see ``scale_``).
    period : float, sequence or dict, optional
        Of axes that close up, such as a longitude (360), an angle or the hour of the day: ``{"lon": 360.0}`` or
        ``[360.0, None]``, a number for one coordinate. The field and its derivatives go on across the seam, and
        coordinates may be given beyond it. In one to three dimensions; periods of several axes, divided by ``scale``,
        must be equal or in the ratio of a power of two.
    anisotropy : {"auto", "rotated"} or array (d, d), optional
        Whether the field may be smoother in some directions than in others: "auto" chooses a factor for each axis by
        restricted likelihood, "rotated" the directions, too; in two or three dimensions, kept if likelihood and
        held-out blocks are both better with it. An array takes scaled coordinates to those in which the field is
        isotropic, ``X / scale @ anisotropy``, such as the ``anisotropy_`` of another fit.
    margin : float, optional
        Width of the box beyond the data, relative to the longest side of the data. Left out, 2, in four dimensions 1.
        The box has whole cells of level 0, which are as wide as the longest side: along each axis, the data and both
        margins are rounded up to a multiple of it. Beside a ``period`` it is 1, in three dimensions 1/4.
    tol, max_iter : float, int
        Relative residual of the linear system at which the solver stops, and its largest number of steps per level.
    memory_limit : float, optional
        In bytes. Left out, what the machine has.
    std_samples : int
        Random fields for the standard deviation at more than 64 points, of relative error 1 / sqrt(2 std_samples). In
        one and two dimensions, deviations of fields with up to some 3000 independent coefficients are exact.
    calibrated : bool
        Whether standard deviations of f are scaled so that bands of 95 % cover as many values of blocks that are held
        out, if alpha is "auto"; it takes one more fit, and 16 draws, when deviations are first asked for.
    verbose : bool
        Show progress, with the level at work.
    callback : callable, optional
        Called with a :class:`seminorm.fields.fit.Fit` after each level.

    Attributes
    ----------
    function_ : Field or VectorField
        The fitted function: value, gradient, Hessian, semi-norm, save and load; a VectorField for y (n, k).
    alpha_, alpha_path_ : float, dict of arrays
        ``alpha`` and ``score`` (the criterion) of all that was tried, by likelihood for the operator that was chosen;
        empty for a given alpha. By cross-validation also ``edf``, the effective degrees of freedom.
    criterion_ : str
        The criterion that chose alpha.
    scale_ : array
        What coordinates are divided by.
    operator_ : Operator
        What alpha multiplies, in coordinates divided by ``scale_``, and by a power of two if their extent is beyond
        2**-100 or 2**100, and mapped by ``anisotropy_``.
    anisotropy_ : array (d, d)
        The map of scaled coordinates that was taken, the identity if there is none. ``details_["anisotropy"]`` has the
        ``directions`` and the relative ``lengths`` over which the field looks alike, the ``gain`` in minus twice the
        log likelihood, errors on ``held_out`` blocks, and the ``reason`` if it was refused.
    null_coef_, null_coef_std_ : arrays (p,), or (p, k) for k outputs
        Coefficients of the features of ``null_space``, then of the ``null_columns``, and their standard deviations by
        generalised least squares; ``function_`` is f without them.
    weights_ : array (n,)
        With a robust loss: what it multiplies the weights of the values by, small for outliers.
    details_ : dict
        How the operator was chosen: ``length`` 1 / k of tension, the number of points in the ``windows`` and the
        ``spacing`` of their cells, squared errors on ``held_out`` blocks, and the ``reason`` why something else was
        taken; empty for a given one. complete_ : bool False if the fit was interrupted: then the field is that of a
        coarse level, and alpha provisional. n_iter_, residual_ : int, float Steps of the last solution, and the
        relative residual reached, in the norm of the preconditioner. data_bounds_ : array (2, d) Extent of the data.

    Notes
    -----
    Interrupted by Ctrl-C, the estimator keeps the field of the last level that was completed, and ``complete_`` is
    False.

    Beyond the box (``function_.bounds``) the semi-norm says nothing about the function: values go on linearly, and the
    standard deviation is infinite, with a warning.

    With ``depth="auto"`` and an alpha chosen by likelihood, cells are refined where the data see far more of their
    functions than the semi-norm does; otherwise where the residuals of neighbouring points agree. Then detail finer
    than the distance of the points looks like noise, and so does all detail beside a few enormous outliers (there
    is a warning then). If a fit of many points ends at depth 0 or 1, compare ``noise_variance_`` with the noise you
    expect, look for fill values, check ``scale``, and try an integer ``depth``.

    A minimiser exists in the limit of ever finer functions only for 2 m > d (2 m > d + 2 with gradients), m the
    highest order. Other orders are allowed; then no cell is made smaller than the sampling, and the answer depends
    on that resolution.

    See Also
    --------
    Smoother : The exact solution, for some thousand points.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import FieldSmoother
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(2000)
    >>> bool(abs(FieldSmoother().fit(X, y).predict([[0.5, 0.5]])[0] - np.sin(3) - 0.5) < 0.05)
    True
    """

    function_: Field | VectorField
    alpha_: float
    criterion_: str
    operator_: Operator
    anisotropy_: np.ndarray
    null_coef_: np.ndarray
    weights_: np.ndarray
    details_: dict[str, Any]
    alpha_path_: dict[str, np.ndarray]
    complete_: bool
    n_iter_: int
    residual_: float
    data_bounds_: np.ndarray
    n_features_in_: int
    scale_: Any
    _state = ("_value_name", "_column_numbers")
    _column_numbers: tuple[int, ...] = ()
    _zoom = 1.0
    _observes_functionals = False
    _value_name: str | list[str] = "value"

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        criterion: str = "auto",
        operator: Operator | str | None = "auto",
        order: int | None = None,
        null_space: Callable[[np.ndarray], np.ndarray] | None = None,
        null_columns: Sequence[int | str] | None = None,
        loss: str = "squared",
        degree: int | None = None,
        depth: int | str = "auto",
        scale: ArrayLike | str = "auto",
        period: Any = None,
        anisotropy: str | ArrayLike | None = None,
        margin: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        memory_limit: float | None = None,
        std_samples: int = 48,
        calibrated: bool = True,
        verbose: bool = False,
        callback: Callable[[Fit], object] | None = None,
    ):
        self.alpha, self.criterion, self.operator, self.order = alpha, criterion, operator, order
        self.null_space, self.null_columns = null_space, null_columns
        self.loss, self.degree, self.depth = loss, degree, depth
        self.scale, self.margin, self.tol, self.max_iter, self.memory_limit = scale, margin, tol, max_iter, memory_limit
        self.period, self.anisotropy = period, anisotropy
        self.std_samples, self.calibrated = std_samples, calibrated
        self.verbose, self.callback = verbose, callback

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        gradients: ArrayLike | None = None,
        gradient_weight: ArrayLike | None = None,
        functionals: Sequence[tuple] | None = None,
    ) -> FieldSmoother:
        """Fit a field.

        Parameters
        ----------
        X : array (n, d), memory-mapped or Dask array, or a source of chunks, optional
            A source is a list of chunks or npz files, or a callable that returns a fresh iterator of chunks; a chunk
            is a tuple (X, y, sample_weight, gradients, gradient_weight), with None for what is missing, or a dict. X
            may be left out if functionals are given, and an ``xarray.DataArray`` holds both X and y: its known values.
        y : array (n,) or (n, k), optional
            Values; may be missing if gradients are given. Several outputs share alpha, the operator and the cells.
        sample_weight : array (n,), optional
            One over the noise variance of each value, up to a common factor. Zero leaves a value out.
        gradients, gradient_weight : arrays (n, d) and (n,) or float, optional
            Gradients at X, NaN for components that are not known, and their weights; (n, k, d) for k outputs, of which
            a component is known, or not, alike.
        functionals : sequence of (Functional, targets) or (Functional, targets, weights), optional
            Other linear functionals that were observed: block averages, derivatives along directions, sums such as
            a f + b df/dn. See :class:`seminorm.Functional`. They stay in memory, beside chunks or Dask arrays too; a
            field takes values and first derivatives, not second ones. With ``depth="auto"`` the cells under
            functionals are refined until there are more cells than functionals.
        """
        if is_grid(X) and y is None:
            self._value_name = name_of(X)
            X, y = points_of(X)
        else:
            self._value_name = name_of(y)
        source = self._source(X, y, sample_weight, gradients, gradient_weight, functionals)
        settings = self._settings(X)
        for name in ("function_", "weights_", "null_coef_"):  # what fails now must not leave the field of other data
            self.__dict__.pop(name, None)
        with tqdm(desc="reading", unit="pass", disable=not self.verbose) as bar:
            try:
                for fit in self._levels(source, settings, partial(_describe, bar)):
                    self._keep(fit, settings)
                    bar.set_postfix_str(f"alpha {fit.alpha:.3g}", refresh=False)
                    bar.update()
                    if self.callback is not None:
                        self.callback(fit)
            except KeyboardInterrupt as interruption:
                if hasattr(self, "function_") and not self.complete_:
                    interruption.add_note(
                        f"The FieldSmoother keeps the field of depth {self.function_.depth}, the last level that was "
                        "completed, with a provisional alpha; complete_ is False."
                    )
                raise
        if isinstance(self.scale, str):
            warn_of_mixed_units(self.data_bounds_)
        return self

    def _mean(self, X: np.ndarray) -> np.ndarray:
        if not self._features:
            return self.function_(X)
        coordinates, features = self._features.split(X)
        return self.function_(coordinates) + features @ self.null_coef_

    @property
    def _features(self) -> FreeFeatures:  # type: ignore[override]
        return FreeFeatures(self.null_space, self._column_numbers)

    def _repetition_of(self, fit: Fit, settings: Settings) -> Repetition | None:
        """How fits of blocks repeat this one, if deviations are to be judged by them."""
        if not (self.calibrated and self.alpha == "auto"):
            return None
        least = 0.0 if fit.factors is None else factor_of_outliers(loss_named(self.loss, needs=NEEDS))
        return Repetition.of(fit, settings, least)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "function_")

    def save(self, path: str | Path) -> Path:
        """Write the fitted smoother to one npz file without pickle; :meth:`load` reads it.

        The file holds the field and what was chosen, neither the system of equations behind the standard deviations
        nor a ``callback``: fit again for these.
        """
        return super().save(path)

    def _parameters(self) -> dict[str, Any]:
        if self.null_space is not None:
            raise ValueError("null_space is code, which files do not hold: save function_ and null_coef_ instead.")
        periods = periods_of(self.period, getattr(self, "feature_names_in_", None)) or {}
        listed = [periods.get(axis) for axis in range(self.n_features_in_)] if periods else None
        return super()._parameters() | {"callback": None, "period": listed}

    def _fitted(self) -> dict[str, Any]:
        noise = self.noise_variance_
        return super()._fitted() | {"function_": self.function_.content(), "_saved_noise": noise}

    def _restore(self, fitted: dict[str, Any]) -> None:
        field = field_from_content(fitted.pop("function_"))
        super()._restore(
            fitted
            | {
                "function_": field,
                "_posterior": None,
                "_drawn": None,
                "_repetition": None,
                "_saved_factor": 1.0,
                "_unit": 1.0,
            }
        )

    def _settings(self, X: Any) -> Settings:
        check_parameters(self)
        columns = getattr(self, "n_features_in_", None)
        dimension = None if columns is None else columns - len(self._column_numbers)
        periods = periods_of(self.period, getattr(self, "feature_names_in_", None), dimension)
        self.scale_ = scale_of(self, X, periods)
        roughness, family = energy_of(self)
        return Settings(
            alpha=self.alpha if isinstance(self.alpha, str) else float(self.alpha),
            criterion=self.criterion,
            roughness=roughness,
            family=family,
            degree=max(2, roughness.order) if self.degree is None else self.degree,
            depth=None if self.depth == "auto" else int(self.depth),
            scale=np.asarray(self.scale_, dtype=float) * self._zoom,
            anisotropy=anisotropy_of(self),
            margin=self.margin,
            period=periods,
            tol=self.tol,
            max_iter=self.max_iter,
            memory_limit=self.memory_limit,
            resolved=not isinstance(self.alpha, str),
        )

    def _levels(self, source: Source, settings: Settings, begin: Callable[[Tree], object]) -> Iterator[Fit]:
        has_features = bool(self._features)
        if self.loss != "squared":
            loss = loss_named(self.loss, needs=NEEDS)
            return fit_robust(source, settings, loss, begin, has_features=has_features)
        return fit_with_features(source, settings, begin) if has_features else fit_levels(source, settings, begin)

    def _source(self, X, y, sample_weight, gradients, gradient_weight, functionals) -> Source:
        self._unit = self._zoom = 1.0
        self._observes_functionals = functionals is not None
        if X is None and functionals is not None:
            if not (y is None and sample_weight is None and gradients is None):
                raise ValueError("y, sample_weight and gradients need X; functionals have targets of their own.")
            self.n_features_in_, _ = functional_shape(functionals)
            self.__dict__.pop("feature_names_in_", None)
            source = Source(lambda: ())
        else:
            source = self._points_source(X, y, sample_weight, gradients, gradient_weight)
        if self.null_columns is not None:
            names = getattr(self, "feature_names_in_", None)
            self._column_numbers = column_numbers(self.null_columns, names, source.width)
        source = source.with_features(self._features.split) if self._features else source
        return source.with_functionals(field_functionals(functionals, getattr(self, "n_features_in_", None)))

    def _points_source(self, X, y, sample_weight, gradients, gradient_weight) -> Source:
        check_readable(X)
        self._column_numbers = ()
        self.__dict__.pop("n_features_in_", None)  # of other data
        chunked = callable(X) or isinstance(X, Source) or hasattr(X, "dask")
        if not chunked and not (isinstance(X, (list, tuple)) and len(X) and is_chunk(X[0])):
            if y is None and gradients is None:
                raise ValueError(
                    "FieldSmoother requires y to be passed, but the target y is None and there are no gradients: "
                    "give at least one of them."
                )
            sample_weight, gradients, gradient_weight = map(floats, (sample_weight, gradients, gradient_weight))
            check_weights(sample_weight)
            X, y = validated(self, X, without_unused(y, sample_weight), len(self.null_columns or ()))
            if not isinstance(X, np.memmap):
                y = self._near_one(X, y, gradients)
            if gradients is None and not isinstance(X, np.memmap) and self.loss == "squared":
                X, y, sample_weight = without_repetitions(X, y, sample_weight)
        elif y is not None and not hasattr(X, "dask"):
            raise ValueError("y must not be given beside chunks: each chunk of X has its own.")
        elif hasattr(X, "shape"):
            self.n_features_in_ = X.shape[1]
        points = CHUNK_POINTS
        if self.memory_limit is not None:
            points = int(min(max(self.memory_limit / 16 / 200, 2**12), CHUNK_POINTS))
        if callable(X):
            return Source.of(lambda: map(existing, X()))
        return Source.of(X, y, sample_weight, gradients, gradient_weight, chunk_points=points)

    def _near_one(self, X: np.ndarray, y: np.ndarray | None, gradients: np.ndarray | None) -> np.ndarray | None:
        """The values divided by a unit, where the squares of values or the powers of lengths would be no numbers."""
        check_parameters(self)
        if self.alpha == "auto" and self.null_columns is None and energy_of(self)[0].is_single:  # else no numbers, too
            self._zoom = zoom_of(X, np.ones(()) if isinstance(self.scale, str) else np.asarray(self.scale, dtype=float))
        if y is None or gradients is not None or self._observes_functionals:
            return y
        self._unit = unit_of(y)
        return y if self._unit == 1.0 else y / self._unit

    def _keep(self, fit: Fit, settings: Settings) -> None:
        posterior = fit.posterior()  # takes a while, and an interruption must not leave half of the attributes
        self.__dict__.update(
            function_=fit.field if self._unit == 1.0 else fit.field.times(self._unit),
            alpha_=fit.alpha,
            alpha_path_=_path(fit),
            operator_=Multiplier(fit.field.roughness.factors),
            criterion_=fit.criterion,
            details_=_details(fit),
            anisotropy_=np.eye(fit.field.dimension) if fit.field.tree.box.axes is None else fit.field.tree.box.axes,
            complete_=fit.final,
            n_iter_=max(fit.outcome.n_iter, 1),
            residual_=fit.outcome.residual,
            n_features_in_=fit.field.dimension + len(self._column_numbers),
            data_bounds_=fit.bounds,
            _posterior=posterior,
            _drawn=None,
            _repetition=self._repetition_of(fit, settings),
            _saved_factor=None,
        )
        if fit.drift is not None:
            self.null_coef_ = fit.drift.given_coef * self._unit
        if fit.factors is not None:
            self.weights_ = fit.factors


def _describe(bar: tqdm, tree: Tree) -> None:
    """Name the level at work on a progress bar."""
    size = f"{tree.size:,}".replace(",", " ")
    bar.set_description(f"depth {tree.depth}, {size} coefficients")


def _details(fit: Fit) -> dict[str, Any]:
    """How the energy and the map of the coordinates were chosen."""
    details = {} if fit.choice is None else fit.choice.details
    stretched = {} if fit.anisotropy is None else fit.anisotropy.details
    return details | ({"anisotropy": stretched} if stretched else {})


def _path(fit: Fit) -> dict[str, np.ndarray]:
    columns = {"alpha": "alpha", "score": "score", "edf": "trace"}
    path = {name: [getattr(score, attribute) for score in fit.path] for name, attribute in columns.items()}
    return {name: np.array(values, dtype=float) for name, values in path.items() if None not in values}
