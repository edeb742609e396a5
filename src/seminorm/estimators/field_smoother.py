"""Smoothing of scattered data in one to four dimensions, for up to millions of points."""

from __future__ import annotations

import sys
from functools import partial
from math import prod
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from .._compilation import announce_compilation
from .._warnings import warn_user
from ..fields import _numba as loops
from ..fields.fit import Fit, Settings, fit_levels
from ..fields.gridding import regular_axes, sample_on_grid
from ..fields.sources import CHUNK_POINTS, Source, is_chunk

_FEW = 64
_CHOICES = ("auto", "gcv", "holdout")
_HAIR = 1e-9  # of a cell of level 0
_ALWAYS_NEEDED = (loops.locate, loops.apply, loops.add_data, loops.evaluate)


class FieldSmoother(RegressorMixin, BaseEstimator):
    """Smoothing spline in one to four dimensions by a multilevel basis: the large-scale sibling of :class:`Smoother`.

    Minimises alpha |f|^2 + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2, where |f|^2 is the sum of
    squared derivatives of order m, integrated over a box around the data. Time and memory grow with the number of
    points, not with its square.

    Parameters
    ----------
    alpha : float or {"auto", "gcv", "holdout"}, default "auto"
        Weight of the squared semi-norm. "auto" and "gcv": generalised cross-validation with a stochastic trace;
        "holdout": the error at a fifth of the points.
    order : int, default 2
        m, the order of the derivatives in the semi-norm: 1, 2 or 3. Polynomials of degree m - 1 are free.
    degree : int, optional
        Of the B-splines: 2 or 3, at least the order. Left out, 2, or 3 for order 3.
    depth : int or "auto", default "auto"
        The finest functions have 2**depth cells across the longest side of the data. "auto": as deep as residuals and
        sampling ask for, region by region.
    scale : float or array (d,), default 1
        What the coordinates are divided by before anything else: makes axes of different units comparable (space and
        time).
    margin : float, optional
        Width of the box beyond the data, relative to the longest side of the data. Left out, 2, in four dimensions 1.
        The box has whole cells of level 0, which are as wide as the longest side: along each axis, the data and both
        margins are rounded up to a multiple of it.
    tol : float, default 1e-4
        Relative residual of the linear system at which the solver stops.
    max_iter : int, default 1000
        Most steps of the solver on a level.
    memory_limit : float, optional
        In bytes. Left out, what the machine has.
    std_samples : int, default 64
        Random fields for the standard deviation at more than 64 points; its relative error is 1 / sqrt(2 std_samples).
    verbose : bool, default False
        Progress bar, with the level at work; and a word before the loops are compiled, once on a machine.
    callback : callable, optional
        Called with a :class:`seminorm.fields.fit.Fit` after each level.

    Attributes
    ----------
    field_ : Field
        The fitted function: value, gradient, Hessian, semi-norm, save and load.
    alpha_ : float
    alpha_path_ : dict of arrays
        ``alpha`` and ``score`` (the criterion) of all that was tried, empty for a given alpha; unless points were held
        out also ``edf``, the effective degrees of freedom.
    complete_ : bool
        False if the fit was interrupted: then the field is that of a coarse level, and alpha provisional.
    n_iter_ : int
        Steps of the last solution.
    residual_ : float
        Relative residual reached, in the norm of the preconditioner.
    data_bounds_ : pair of arrays (d,)
        Extent of the data.
    n_features_in_ : int

    Notes
    -----
    Interrupted by Ctrl-C, the estimator keeps the field of the last level that was completed, and ``complete_`` is
    False.

    Beyond the box (``field_.bounds``) the semi-norm says nothing about the function: values go on linearly, and the
    standard deviation is infinite, with a warning.

    With ``depth="auto"`` cells are refined where the residuals of neighbouring points agree. Detail finer than the
    distance of the points looks like noise, and so does all detail beside a few enormous outliers (there is a warning
    then). If a fit of many points ends at depth 0 or 1, compare ``noise_variance_`` with the noise you expect, look
    for fill values, check ``scale``, and try an integer ``depth``.

    A minimiser exists in the limit of ever finer functions only for 2 m > d (2 m > d + 2 with gradients). Other
    orders are allowed; then no cell is made smaller than the sampling, and the answer depends on that resolution.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import FieldSmoother
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(2000)
    >>> smoother = FieldSmoother().fit(X, y)
    >>> bool(abs(smoother.predict([[0.5, 0.5]])[0] - np.sin(3) - 0.5) < 0.05)
    True
    """

    def __init__(
        self,
        alpha="auto",
        *,
        order=2,
        degree=None,
        depth="auto",
        scale=1.0,
        margin=None,
        tol=1e-4,
        max_iter=1000,
        memory_limit=None,
        std_samples=64,
        verbose=False,
        callback=None,
    ):
        self.alpha = alpha
        self.order = order
        self.degree = degree
        self.depth = depth
        self.scale = scale
        self.margin = margin
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.std_samples = std_samples
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None, gradients=None, gradient_weight=None):
        """Fit a field.

        Parameters
        ----------
        X : array (n, d), memory-mapped or Dask array, or a source of chunks
            A source is a list of chunks or npz files, or a callable that returns a fresh iterator of chunks; a chunk
            is a tuple (X, y, sample_weight, gradients, gradient_weight), with None for what is missing, or a dict.
        y : array (n,), optional
            Values; may be missing if gradients are given.
        sample_weight : array (n,), optional
            One over the noise variance of each value, up to a common factor. Zero leaves a value out.
        gradients : array (n, d), optional
            Gradients at X; NaN for components that are not known.
        gradient_weight : array (n,) or float, optional

        Returns
        -------
        self
        """
        source = self._source(X, y, sample_weight, gradients, gradient_weight)
        settings = self._settings()
        vars(self).pop("field_", None)  # what fails now must not leave the field of other data
        if self.verbose:
            announce_compilation(_ALWAYS_NEEDED, partial(print, file=sys.stderr, flush=True))
        with tqdm(desc="reading", unit="pass", disable=not self.verbose) as bar:
            try:
                for fit in fit_levels(source, settings, partial(_describe, bar)):
                    self._keep(fit)
                    bar.set_postfix_str(f"alpha {fit.alpha:.3g}", refresh=False)
                    bar.update()
                    if self.callback is not None:
                        self.callback(fit)
            except KeyboardInterrupt as interruption:
                if hasattr(self, "field_") and not self.complete_:
                    interruption.add_note(
                        f"The FieldSmoother keeps the field of depth {self.field_.depth}, the last level that was "
                        "completed, with a provisional alpha; complete_ is False."
                    )
                raise
        return self

    def predict(self, X, return_std=False):
        """Values at X; with ``return_std`` also the standard deviation of the field there, without the noise.

        It is infinite beyond the box, where the semi-norm says nothing.
        """
        X = self._points(X)
        values = self.field_(X)
        return (values, self._std(X, exact=len(X) <= _FEW)) if return_std else values

    @property
    def noise_variance_(self):
        """Estimated noise variance of an observation of weight 1."""
        check_is_fitted(self)
        return self._posterior.noise_variance

    def predict_gradient(self, X):
        """Gradients at X, shape (n, d)."""
        return self.field_.gradient(self._points(X))

    def grid(self, spacing=None, *, bounds=None, names=None, value_name="value", std=False):
        """Values on a regular grid, as an ``xarray.DataArray`` if xarray is installed, else a tuple of axes and the
        array.

        Parameters
        ----------
        spacing : float or array (d,), optional
            Distance of the grid points; left out, 100 points along the longest side, and the same distance along the
            others, both in coordinates divided by ``scale``.
        bounds : optional
            Two corners (d,), or flat, as (xmin, xmax, ymin, ymax, ...); left out, the extent of the data.
        names : list of str, optional
            Of the axes.
        value_name : str
        std : bool, default False
            Add the standard deviation of the field as ``value_name + "_std"``: then the grid is an
            ``xarray.Dataset``, or the tuple has another array.
        """
        check_is_fitted(self)
        bounds = self.data_bounds_ if bounds is None else bounds
        axes = regular_axes(bounds, self.field_.dimension, spacing, self.field_.tree.box.scale)
        functions = {value_name: self.field_}
        if std:
            functions[f"{value_name}_std"] = partial(self._std, exact=prod(map(len, axes)) <= _FEW)
        return sample_on_grid(functions, axes, names)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "field_")

    def _settings(self) -> Settings:
        _check_parameters(self)
        return Settings(
            alpha=self.alpha if isinstance(self.alpha, str) else float(self.alpha),
            order=self.order,
            degree=max(2, self.order) if self.degree is None else self.degree,
            depth=None if self.depth == "auto" else int(self.depth),
            scale=np.asarray(self.scale, dtype=float),
            margin=self.margin,
            tol=self.tol,
            max_iter=self.max_iter,
            memory_limit=self.memory_limit,
        )

    def _source(self, X, y, sample_weight, gradients, gradient_weight) -> Source:
        _check_readable(X)
        chunked = callable(X) or isinstance(X, Source) or hasattr(X, "dask")
        if not chunked and not (isinstance(X, (list, tuple)) and len(X) and is_chunk(X[0])):
            if y is None and gradients is None:
                raise ValueError(
                    "FieldSmoother requires y to be passed, but the target y is None and there are no gradients: "
                    "give at least one of them."
                )
            sample_weight, gradients, gradient_weight = map(_floats, (sample_weight, gradients, gradient_weight))
            X, y = _validated(self, X, _without_unused(y, sample_weight))
        elif y is not None and not hasattr(X, "dask"):
            raise ValueError("y must not be given beside chunks: each chunk of X has its own.")
        elif hasattr(X, "shape"):
            self.n_features_in_ = X.shape[1]
        points = CHUNK_POINTS
        if self.memory_limit is not None:
            points = int(min(max(self.memory_limit / 16 / 200, 2**12), CHUNK_POINTS))
        if callable(X):
            return Source.of(lambda: map(_existing, X()))
        return Source.of(X, y, sample_weight, gradients, gradient_weight, chunk_points=points)

    def _keep(self, fit: Fit) -> None:
        posterior = fit.posterior()  # takes a while, and an interruption must not leave half of the attributes
        vars(self).update(
            field_=fit.field,
            alpha_=fit.alpha,
            alpha_path_=_path(fit),
            complete_=fit.final,
            n_iter_=max(fit.outcome.n_iter, 1),
            residual_=fit.outcome.residual,
            n_features_in_=fit.field.dimension,
            data_bounds_=fit.bounds,
            _posterior=posterior,
            _drawn=None,
        )

    def _points(self, X) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _std(self, X: np.ndarray, exact: bool) -> np.ndarray:
        inside = _in_the_box(X, self.field_)
        std = np.full(len(X), np.inf)
        if not inside.all():
            low, high = self.field_.bounds
            warn_user(
                f"X has points beyond the box of the field, from {low} to {high}: nothing is known there, and the "
                "standard deviation is infinite. A larger margin makes the box larger."
            )
            X = X[inside]
        if exact:
            std[inside] = np.sqrt(np.maximum(self._posterior.variance(X), 0.0))
            return std
        if self._drawn is None:
            self._drawn = self._posterior.samples(self.std_samples)
        squares = np.zeros(len(X))
        for field in self._drawn:
            squares += field(X) ** 2
        std[inside] = np.sqrt(squares / len(self._drawn))
        return std


def _describe(bar: tqdm, tree) -> None:
    """Name the level at work on a progress bar."""
    size = f"{tree.size:,}".replace(",", " ")
    bar.set_description(f"depth {tree.depth}, {size} coefficients")


def _path(fit: Fit) -> dict[str, np.ndarray]:
    columns = {"alpha": "alpha", "score": "score", "edf": "trace"}
    path = {name: [getattr(score, attribute) for score in fit.path] for name, attribute in columns.items()}
    return {name: np.array(values, dtype=float) for name, values in path.items() if None not in values}


def _in_the_box(X: np.ndarray, field) -> np.ndarray:
    """Points of the box, up to rounding."""
    box = field.tree.box
    cells = box.coordinates(X)
    return ((cells >= -_HAIR) & (cells <= box.cells + _HAIR)).all(axis=1)


def _check_readable(X) -> None:
    """Refuse what holds nothing, cannot be read twice, or names files that are not there."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError(
            f"X is an empty {type(X).__name__}: give points, or chunks or files of points. If it is a list of files, "
            "check the folder and the pattern."
        )
    if hasattr(X, "__next__"):
        raise ValueError(
            f"X is a {type(X).__name__}, which can be read once, and observations are read several times: give a list "
            "of chunks, or a function that returns a fresh iterator each time it is called."
        )
    if isinstance(X, (list, tuple)) and is_chunk(X[0]):
        for number, chunk in enumerate(X):
            _existing(chunk, f", item {number} of {len(X)} of X")


def _existing(chunk, where: str = ""):
    """The chunk itself; the path of a file must be that of a file."""
    if (isinstance(chunk, str) or hasattr(chunk, "__fspath__")) and not Path(chunk).is_file():
        state = "is a folder" if Path(chunk).is_dir() else "does not exist"
        raise FileNotFoundError(f"the chunk file {chunk}{where} {state}: give paths of npz files.")
    return chunk


def _floats(values) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _without_unused(y, sample_weight):
    """Values of weight 0 may be anything, NaN too: 0 stands for them."""
    if y is None or sample_weight is None or not (sample_weight == 0.0).any():
        return y
    y = np.asarray(y, dtype=np.float64)
    return np.where(sample_weight == 0.0, 0.0, y) if y.shape == sample_weight.shape else y


def _validated(smoother: FieldSmoother, X, y) -> tuple[np.ndarray, np.ndarray | None]:
    """Arrays of an ordinary call; a memory-mapped X is checked chunk by chunk later."""
    if isinstance(X, np.memmap):
        smoother.n_features_in_ = X.shape[1]
        return X, y
    if y is None:
        X = validate_data(smoother, X, dtype=np.float64)
    else:
        X, y = validate_data(smoother, X, y, dtype=np.float64, y_numeric=True)
    if X.shape[1] > 4:
        raise ValueError(
            f"X has {X.shape[1]} features, and fields have one to four coordinates: use seminorm.Smoother for more."
        )
    return X, y


def _check_parameters(smoother: FieldSmoother) -> None:
    alpha, depth = smoother.alpha, smoother.depth
    if isinstance(alpha, str):
        if alpha not in _CHOICES:
            raise ValueError(f"alpha must be a positive number or one of {', '.join(_CHOICES)}, got {alpha!r}.")
    elif not (isinstance(alpha, Real) and np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be a positive number or one of {', '.join(_CHOICES)}, got {alpha!r}.")
    if smoother.order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3, got {smoother.order!r}.")
    if smoother.degree not in (None, 2, 3):
        raise ValueError(f"degree must be 2 or 3, got {smoother.degree!r}.")
    if depth != "auto" and not (isinstance(depth, Integral) and 0 <= depth <= 30):
        raise ValueError(f'depth must be "auto" or an integer from 0 to 30, got {depth!r}.')
    if not np.all(np.isfinite(smoother.scale)) or np.min(smoother.scale) <= 0:
        raise ValueError(f"scale must be positive, got {smoother.scale!r}.")
    for name, low in (("margin", 0), ("tol", 0), ("max_iter", 1), ("std_samples", 1)):
        value = getattr(smoother, name)
        if name == "margin" and value is None:
            continue
        if not (isinstance(value, Real) and np.isfinite(value) and value >= low):
            raise ValueError(f"{name} must be a number not below {low}, got {value!r}.")
    if smoother.memory_limit is not None and not smoother.memory_limit > 0:
        raise ValueError(f"memory_limit must be a positive number of bytes or None, got {smoother.memory_limit!r}.")
