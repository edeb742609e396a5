"""Kernels, what they penalise (their spectra), their responses to an impulse, and the regressions they lead to."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._base.extras import require
from ..estimators.smoother import Smoother
from ..kernels import Kernel
from ._style import BLUE, GRAY, INK, Axes, Kernels, axes_or_new, by_label, curve_style, line_points
from ._views import LEAST_POINTS, CircleView, LineView, view_of

_SEEN_ON_LOG_SCALE = 1e-3  # of the largest value
_IMPULSE_POINTS = 41
_LOWEST_LINEAR, _LOWEST_LOG = 1e-6, 1e-12  # ends of the axis of filters


def plot_kernels(kernels: Kernels, r=None, ax: Axes | None = None) -> Axes:
    """Profiles phi(0, r) of kernels on the line against the distance r.

    A conditionally positive definite kernel is known up to polynomials of degree < order only, so of such a profile the
    shape means something and the level does not.

    Parameters
    ----------
    kernels : Kernel
        Iterable of Kernel, or mapping from labels (by default the ``repr`` of each) to kernels.
    r : array (n,), optional
        Distances; from 0 to 3 if left out.
    ax : Axes, optional; a new figure if left out

    Returns
    -------
    Axes with one profile per kernel

    See Also
    --------
    plot_spectrum

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Matern
    >>> from seminorm.plotting import plot_kernels
    >>> ax = plot_kernels([Gaussian(), Matern(1.5)])
    """
    named = by_label(kernels)
    r = np.linspace(0.0, 3.0, 301) if r is None else line_points(r, "r")
    ax = axes_or_new(ax)
    for i, (label, kernel) in enumerate(named.items()):
        ax.plot(r, kernel([[0.0]], r[:, None])[0], label=label, **curve_style(i))
    ax.set(xlabel="distance r", ylabel="φ(0, r)")
    ax.legend()
    return ax


def plot_spectrum(
    kernel: Kernel, omega=None, r=None, dimension: int = 1, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """A translation-invariant kernel, and beside it its spectrum: large where functions may vary, small where damped.

    Spectra that are infinite at frequency 0 are drawn on logarithmic axes. A conditionally positive definite kernel is
    known up to polynomials only, so its level means nothing; the label says so. Kernels on the circle have stems at
    whole frequencies l, the coefficients of exp(i l t): those of :func:`seminorm.operators.spectrum` at l = 0, half of
    them elsewhere, the other half belonging to -l.

    Parameters
    ----------
    kernel, dimension : Kernel, int
        Translation-invariant, and the dimension of its inputs.
    omega : array (n,), optional
        Angular frequencies, whole numbers for kernels on the circle; left out, up to where the spectrum is small. In
        several dimensions they are lengths, or multiples of the first axis if the kernel is not rotation-invariant.
    r : array (n,), optional
        Distances, along the first axis; left out, up to where the kernel is small.
    axes : pair of Axes, optional, for the kernel and for the spectrum; a new figure if left out

    Returns
    -------
    pair of Axes

    See Also
    --------
    plot_filters, plot_kernels

    Examples
    --------
    >>> from seminorm.kernels import Polyharmonic
    >>> from seminorm.plotting import plot_spectrum
    >>> left, right = plot_spectrum(Polyharmonic(2), dimension=2)
    """
    view = view_of(kernel, dimension)
    omega = view.frequencies() if omega is None else line_points(omega, "omega")
    r = view.distances() if r is None else line_points(r, "r")
    values, heights = view.profile(r), view.filter(omega)
    order = view.kernel.cpd_order
    free = {0: "", 1: ", up to a constant"}.get(order, f", up to polynomials of degree {order - 1}")
    left, right = _pair(axes)
    left.plot(r, values, color=BLUE)
    left.set(xlabel="distance r" if (r >= 0).all() else "difference x", ylabel=f"φ(0, r){free}")
    if view.on_circle:
        right.vlines(omega, 0.0, heights, color=BLUE)
        right.plot(omega, heights, "o", color=BLUE, markersize=4)
        right.set_ylim(bottom=0.0)
        right.set(xlabel="frequency l", ylabel="coefficient of exp(i l t)")
        ticks = require("matplotlib.ticker", "plot").MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True)
        right.xaxis.set_major_locator(ticks)
        return left, right
    right.plot(omega, heights, color=BLUE)
    if view.singular and (omega >= 0).all():
        right.set(xscale="log", yscale="log")
    right.set(xlabel=_frequency_label(view, omega), ylabel="spectrum F(ω)")
    return left, right


def plot_filters(kernels: Kernels, omega=None, dimension: int = 1, ax: Axes | None = None) -> Axes:
    """How strongly kernels let frequencies pass, relative to the one they let pass most, on a logarithmic scale.

    What is small is damped. Kernels with similar curves regularise alike, whatever their shapes. Those on the circle
    are drawn as dots at the multiples of 2 pi / period.

    Parameters
    ----------
    kernels : Kernel
        Iterable of Kernel, or mapping from labels (by default the ``repr`` of each) to kernels.
    omega : array (n,), optional
        Angular frequencies; left out, up to where all spectra are small, on a logarithmic axis if they differ much in
        scale or are infinite at frequency 0.
    dimension : int
        Of the inputs.
    ax : Axes, optional; a new figure if left out

    Returns
    -------
    Axes with one curve per kernel

    See Also
    --------
    plot_spectrum

    Examples
    --------
    >>> from seminorm.kernels import BSpline, Gaussian
    >>> from seminorm.plotting import plot_filters
    >>> ax = plot_filters([BSpline(3), Gaussian(0.6)])
    """
    views = {label: view_of(kernel, dimension) for label, kernel in by_label(kernels).items()}
    if omega is None:
        omega, logarithmic = _common_frequencies(list(views.values()))
    else:
        omega, logarithmic = line_points(omega, "omega"), False
    curves = {label: _relative(view, omega) for label, view in views.items()}
    ax = axes_or_new(ax)
    for i, (label, (where, values)) in enumerate(curves.items()):
        dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
        ax.plot(where, values, label=label, **curve_style(i) | (dots if views[label].on_circle else {}))
    ax.set_yscale("log")
    if logarithmic:
        ax.set_xscale("log")
    seen = np.concatenate([values[values > 0] for _, values in curves.values()])
    ax.set_ylim(max(_LOWEST_LOG if logarithmic else _LOWEST_LINEAR, 0.5 * seen.min()), 2.0)
    ax.set(xlabel=_frequency_label(next(iter(views.values())), omega), ylabel="spectrum, relative to its largest value")
    ax.legend()
    return ax


def plot_impulse(kernels: Kernels, alpha: float | Iterable[float] = 0.1, x=None, ax: Axes | None = None) -> Axes:
    """The equivalent kernel: what smoothing makes of data that are 1 at one point and 0 at all others.

    The smoother is linear, so this is the weight it gives to an observation, against the distance from it.

    Parameters
    ----------
    kernels : Kernel
        Iterable of Kernel, or mapping from labels (by default the ``repr`` of each) to kernels.
    alpha : float or iterable of float, weight of the squared semi-norm; several are one for each kernel
    x : array (n,), optional
        Equally spaced data; the impulse is at the middle one. Left out, 41 points around 0, close enough for the kernel
        with the shortest range (at distance 1 if none has a range), or once around the circle.
    ax : Axes, optional; a new figure if left out

    Returns
    -------
    Axes with one response per kernel

    See Also
    --------
    plot_spectrum, plot_filters

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Polyharmonic
    >>> from seminorm.plotting import plot_impulse
    >>> ax = plot_impulse([Gaussian(), Polyharmonic(2)], alpha=[0.1, 1.0])
    """
    named = by_label(kernels)
    alphas = list(alpha) if isinstance(alpha, Iterable) else [alpha] * len(named)
    if len(alphas) != len(named):
        raise ValueError(f"alpha must be one number, or one for each of {len(named)} kernels, got {len(alphas)}.")
    x = _impulse_points(list(named.values())) if x is None else _equally_spaced(x)
    impulse = np.zeros(len(x))
    middle = len(x) // 2
    impulse[middle] = 1.0
    line = np.unique(np.concatenate([np.linspace(x[0], x[-1], 801), x]))
    responses = [
        Smoother(kernel, alpha=weight).fit(x[:, None], impulse).predict(line[:, None])
        for kernel, weight in zip(named.values(), alphas, strict=True)
    ]
    ax = axes_or_new(ax)
    ax.plot(x, np.zeros(len(x)), "|", color=GRAY, markersize=6, label="data")
    for i, (label, response) in enumerate(zip(named, responses, strict=True)):
        ax.plot(line, response, label=label, **curve_style(i))
    ax.set(xlabel="x", ylabel="response to a unit impulse")
    ax.legend()
    return ax


def plot_regressions(models, x, X=None, y=None, truth=None, ax: Axes | None = None) -> Axes:
    """Several fitted functions of the line in one picture, with the data.

    Parameters
    ----------
    models : fitted estimator, iterable of them, or mapping from labels to them
        Anything with ``predict``, or functions of points (n, 1). Without labels, the ``repr`` of each is its label.
    x : array (m,) or (m, 1)
        Where to draw them.
    X, y : arrays (n,) or (n, 1)
        And (n,), optional, data, drawn as dots.
    truth : callable or array (m,), optional
        The true function of an array of points of the line, or its values at x; drawn dashed and grey.
    ax : Axes, optional; a new figure if left out

    Returns
    -------
    Axes with one curve per model

    See Also
    --------
    plot_filters

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Gaussian, Laplacian
    >>> from seminorm.plotting import plot_regressions
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> models = [Smoother(kernel).fit(X, np.sin(X[:, 0])) for kernel in (Gaussian(), Laplacian())]
    >>> ax = plot_regressions(models, np.linspace(-1, 7, 200), X, np.sin(X[:, 0]), truth=np.sin)
    """
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: give both, or neither.")
    if not isinstance(models, Mapping):
        single = hasattr(models, "predict") or callable(models)
        models = {repr(model): model for model in ([models] if single else models)}
    x = line_points(x)
    order = np.argsort(x, kind="stable")
    curves = {label: _values_on_line(model, x, label)[order] for label, model in models.items()}
    true_values = None if truth is None else _true_values(truth, x)[order]
    ax = axes_or_new(ax)
    if true_values is not None:
        ax.plot(x[order], true_values, color=GRAY, linestyle=(0, (4, 2)), linewidth=1.4, label="truth")
    for i, (label, values) in enumerate(curves.items()):
        ax.plot(x[order], values, color=curve_style(i)["color"], label=label)
    if X is not None:
        ax.plot(line_points(X, "X"), line_points(y, "y"), "o", color=INK, markersize=3.5, label="data")
    ax.legend()
    return ax


def _pair(axes) -> tuple[Axes, Axes]:
    if axes is None:
        return tuple(require("matplotlib.pyplot", "plot").subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")[1])
    left, right = axes
    return axes_or_new(left), axes_or_new(right)


def _frequency_label(view: LineView | CircleView, omega: np.ndarray) -> str:
    if not view.radial:
        return "frequency ω along the first axis"
    return "frequency |ω|" if (omega >= 0).all() else "frequency ω"


def _common_frequencies(views: list[LineView | CircleView]) -> tuple[np.ndarray, bool]:
    """Frequencies that suit all kernels, and whether their axis is to be logarithmic."""
    bands = np.array([view.band(_SEEN_ON_LOG_SCALE) for view in views])
    ends = bands[:, 1]
    if any(view.singular for view in views) or ends.max() > 10.0 * ends.min():
        lows = np.where(bands[:, 0] > 0, bands[:, 0], 0.01 * ends)
        return np.geomspace(lows.min(), ends.max(), 481), True
    resolution = max((view.resolution for view in views if isinstance(view, LineView)), default=LEAST_POINTS)
    return np.linspace(0.0, ends.max(), resolution), False


def _relative(view: LineView | CircleView, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies within the range of omega, and the spectrum there relative to its largest value."""
    where, asked = omega, omega
    if isinstance(view, CircleView):
        asked = np.arange(math.ceil(omega.min() / view.spacing), math.floor(omega.max() / view.spacing) + 1)
        where = asked * view.spacing
    values = view.filter(asked)
    finite = np.isfinite(values)
    if not (finite & (values > 0)).any():
        raise ValueError(
            f"{view.kernel!r} lets none of the frequencies from {omega.min():.3g} to {omega.max():.3g} pass: give "
            "other omega."
        )
    return where[finite], values[finite] / values[finite].max()


def _impulse_points(kernels: list[Kernel]) -> np.ndarray:
    circles = [kernel.period for kernel in kernels if kernel.period is not None]
    if circles:
        half = 0.5 * min(circles)
        return half * np.arange(-(_IMPULSE_POINTS // 2), _IMPULSE_POINTS // 2 + 1) * 2.0 / _IMPULSE_POINTS
    reaches = [LineView(kernel, 1).reach for kernel in kernels if kernel.for_dimension(1).dilation_degree is None]
    spacing = 0.1 * min(reaches) if reaches else 1.0
    return spacing * np.arange(-(_IMPULSE_POINTS // 2), _IMPULSE_POINTS // 2 + 1)


def _equally_spaced(x) -> np.ndarray:
    x = line_points(x)
    steps = np.diff(x)
    if len(x) < 3 or not (steps > 0).all() or np.ptp(steps) > 1e-6 * steps.mean():
        raise ValueError("x must be at least three equally spaced points in increasing order, as of np.linspace.")
    return x


def _values_on_line(model: Any, x: np.ndarray, label: str) -> np.ndarray:
    predict = model.predict if hasattr(model, "predict") else model
    values = np.asarray(predict(x[:, None]), dtype=float)
    if values.shape != x.shape:
        raise ValueError(
            f"models must have one output, and {label!r} returned shape {values.shape} for {len(x)} points: fit one "
            "column of y."
        )
    return values


def _true_values(truth, x: np.ndarray) -> np.ndarray:
    values = np.asarray(truth(x) if callable(truth) else truth, dtype=float)
    if values.shape != x.shape:
        raise ValueError(f"truth must have one value for each of {len(x)} points x, got shape {values.shape}.")
    return values
