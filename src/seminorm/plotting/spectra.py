"""What kernels penalise: their spectra, their responses to an impulse, and the regressions they lead to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import require
from ..kernels import Kernel, SpectralMixture
from ..operators.circle import fourier_coefficients, period_of
from ..operators.spectra import is_radial, operator_of, profile_of, spectrum
from ._style import BLUE, CYCLE, DASHES, GREY, INK, axes_or_new, by_label, line_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kernels = Kernel | Iterable[Kernel] | Mapping[str, Kernel]

_THIRD_OCTAVES = 2.0 ** np.arange(-40.0, 40.0, 1.0 / 3.0)
_NEAR_THIRD_OCTAVES = _THIRD_OCTAVES[np.abs(np.log2(_THIRD_OCTAVES)) < 16]
_ONE_OCTAVE = 2.0 ** np.arange(0.0, 1.0, 1.0 / 16.0)
_MOST_OCTAVES = 100
_SEEN_DISTANCE, _SEEN_FREQUENCY, _SEEN_ON_LOG_SCALE = 0.05, 0.01, 1e-3  # of the largest value
_MARGIN = 1.3
_LEAST_POINTS, _MOST_POINTS = 400, 1500
_HARMONICS, _MOST_STEMS = 512, 64
_IMPULSE_POINTS = 41
_LOWEST_LINEAR, _LOWEST_LOG = 1e-6, 1e-12  # ends of the axis of filters


def plot_spectrum(
    kernel: Kernel, omega=None, r=None, dimension: int = 1, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """A translation-invariant kernel, and beside it its spectrum: large where functions may vary, small where they are
    damped.

    Spectra that are infinite at frequency 0 are drawn on logarithmic axes. A conditionally positive definite kernel is
    known up to polynomials only, so its level means nothing; the label says so. Kernels on the circle have stems at
    whole frequencies l, the coefficients of exp(i l t): those of :func:`seminorm.operators.spectrum` at l = 0, half of
    them elsewhere, the other half belonging to -l.

    Parameters
    ----------
    kernel : Kernel
        Translation-invariant.
    omega : array (n,), optional
        Angular frequencies, whole numbers for kernels on the circle; left out, up to where the spectrum is small. In
        several dimensions they are lengths, or multiples of the first axis if the kernel is not rotation-invariant.
    r : array (n,), optional
        Distances, along the first axis; left out, up to where the kernel is small.
    dimension : int
        Of the inputs.
    axes : pair of Axes, optional
        For the kernel and for the spectrum. Left out, a new figure is made.

    Examples
    --------
    >>> from seminorm.kernels import BSpline, Polyharmonic
    >>> from seminorm.plotting import plot_spectrum
    >>> left, right = plot_spectrum(BSpline(3))
    >>> left, right = plot_spectrum(Polyharmonic(2), dimension=2)
    """
    view = _view(kernel, dimension)
    omega = view.frequencies() if omega is None else line_points(omega, "omega")
    r = view.distances() if r is None else line_points(r, "r")
    values, heights = view.profile(r), view.filter(omega)
    left, right = _pair(axes)
    left.plot(r, values, color=BLUE)
    left.set(xlabel="distance r" if (r >= 0).all() else "difference x", ylabel=f"φ{_unknown_part(view.kernel)}")
    if view.on_circle:
        _stems(right, omega, heights, BLUE)
        right.set(xlabel="frequency l", ylabel="coefficient of exp(i l t)")
        right.xaxis.get_major_locator().set_params(integer=True)
        return left, right
    right.plot(omega, heights, color=BLUE)
    if view.singular and (omega >= 0).all():
        right.set(xscale="log", yscale="log")
    right.set(xlabel=_frequency_label(view, omega), ylabel="spectrum F(ω)")
    return left, right


def plot_filters(kernels: Kernels, omega=None, dimension: int = 1, ax: Axes | None = None) -> Axes:
    """How strongly kernels let frequencies pass, relative to the one they let pass most, on a logarithmic scale.

    What is small is damped. Kernels with similar curves regularise alike, whatever their shapes.

    Parameters
    ----------
    kernels : Kernel, iterable of Kernel, or mapping from labels to kernels
        Without labels, the ``repr`` of each kernel is its label. Those on the circle are drawn as dots at the multiples
        of 2 pi / period.
    omega : array (n,), optional
        Angular frequencies; left out, up to where all spectra are small, on a logarithmic axis if they differ much in
        scale or are infinite at frequency 0.
    dimension : int
        Of the inputs.
    ax : Axes, optional
        Left out, a new figure is made.

    Examples
    --------
    >>> from seminorm.kernels import BSpline, Gaussian
    >>> from seminorm.plotting import plot_filters
    >>> ax = plot_filters([BSpline(3), Gaussian(0.6)])
    """
    views = {label: _view(kernel, dimension) for label, kernel in by_label(kernels).items()}
    if omega is None:
        omega, logarithmic = _common_frequencies(list(views.values()))
    else:
        omega, logarithmic = line_points(omega, "omega"), False
    curves = {label: _relative(view, omega) for label, view in views.items()}
    ax = axes_or_new(ax)
    for i, (label, (where, values)) in enumerate(curves.items()):
        line = {"linestyle": DASHES[i % len(DASHES)]}
        style = {"linestyle": "none", "marker": "o", "markersize": 4} if views[label].on_circle else line
        ax.plot(where, values, color=CYCLE[i % len(CYCLE)], label=label, **style)
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
    kernels : Kernel, iterable of Kernel, or mapping from labels to kernels
        On the line or the circle. Without labels, the ``repr`` of each kernel is its label.
    alpha : float or iterable of float
        Weight of the squared semi-norm; several are one for each kernel.
    x : array (n,), optional
        Equally spaced data; the impulse is at the middle one. Left out, 41 points around 0, close enough for the
        kernel with the shortest range (at distance 1 if none has a range), or once around the circle.
    ax : Axes, optional
        Left out, a new figure is made.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Polyharmonic
    >>> from seminorm.plotting import plot_impulse
    >>> ax = plot_impulse([Gaussian(), Polyharmonic(2)], alpha=[0.1, 1.0])
    """
    from ..estimators.smoother import Smoother  # here, because estimators load the compiler

    named = by_label(kernels)
    alphas = [alpha] * len(named) if np.ndim(alpha) == 0 else list(alpha)
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
    ax.plot(x, np.zeros(len(x)), "|", color=GREY, markersize=6, label="data")
    for i, (label, response) in enumerate(zip(named, responses, strict=True)):
        ax.plot(line, response, color=CYCLE[i % len(CYCLE)], linestyle=DASHES[i % len(DASHES)], label=label)
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
    X, y : arrays (n,) or (n, 1), and (n,), optional
        Data, drawn as dots.
    truth : callable or array (m,), optional
        The true function of an array of points of the line, or its values at x; drawn dashed and grey.
    ax : Axes, optional
        Left out, a new figure is made.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import Smoother
    >>> from seminorm.kernels import Gaussian, Laplacian
    >>> from seminorm.plotting import plot_regressions
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> models = {"Gaussian": Smoother(Gaussian()).fit(X, y), "Laplacian": Smoother(Laplacian()).fit(X, y)}
    >>> ax = plot_regressions(models, np.linspace(-1, 7, 200), X, y, truth=np.sin)
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
        ax.plot(x[order], true_values, color=GREY, linestyle=(0, (4, 2)), linewidth=1.4, label="truth")
    for i, (label, values) in enumerate(curves.items()):
        ax.plot(x[order], values, color=CYCLE[i % len(CYCLE)], label=label)
    if X is not None:
        ax.plot(line_points(X, "X"), line_points(y, "y"), "o", color=INK, markersize=3.5, label="data")
    ax.legend()
    return ax


class _LineView:
    """A kernel of R^d, its spectrum, and the ranges in which they can be seen."""

    on_circle = False

    def __init__(self, kernel: Kernel, dimension: int):
        self.radial = is_radial(kernel, dimension)
        self._spectrum = operator_of(kernel, dimension).spectrum if self.radial else self._along_first_axis
        self.kernel, self.dimension = kernel.for_dimension(dimension), dimension
        self.profile: Callable = profile_of(self.kernel, dimension)
        self.singular = self.kernel.order > 0 or not np.isfinite(self.filter(np.zeros(1))[0])

    def filter(self, omega: np.ndarray) -> np.ndarray:
        """The spectrum."""
        return self._spectrum(np.abs(omega))

    def _along_first_axis(self, omega: np.ndarray) -> np.ndarray:
        vectors = np.zeros((len(omega), self.dimension))
        vectors[:, 0] = omega
        return spectrum(self.kernel, vectors, self.dimension)

    @cached_property
    def reach(self) -> float:
        """Distance up to which there is something to see; for kernels that grow, a few of their typical lengths."""
        if self.kernel.order > 0:
            return 3.0 * self._length
        height = float(self.profile(np.zeros(1))[0])
        return _MARGIN * _last_seen(lambda r: np.abs(self.profile(r)) > _SEEN_DISTANCE * height)

    def band(self, level: float) -> tuple[float, float]:
        """The lowest and the highest frequency at which there is something to see."""
        if self.singular:
            return 0.01 / self._length, 10.0 / self._length
        probes, values = self._probed
        first_unseen = np.flatnonzero(values > level * values.max())[-1] + 1
        return 0.0, float(probes[min(first_unseen, len(probes) - 1)])

    def distances(self) -> np.ndarray:
        return np.linspace(0.0, self.reach, self.resolution)

    def frequencies(self) -> np.ndarray:
        low, high = self.band(_SEEN_FREQUENCY)
        if self.singular:
            return np.geomspace(low, high, 241)
        peaks = _shells(self.kernel)
        return np.union1d(np.linspace(0.0, high, self.resolution), peaks[peaks < high])

    @property
    def resolution(self) -> int:
        """Points that show every wave of the kernel or of its spectrum."""
        waves = self.reach * self.band(_SEEN_FREQUENCY)[1] / (2.0 * math.pi)
        return int(np.clip(24 * waves, _LEAST_POINTS, _MOST_POINTS)) + 1

    @cached_property
    def _length(self) -> float:
        """The inverse of the frequency at which a singular spectrum leaves the power that it follows near 0; 1 if it
        never does.
        """
        probes, values = self._probed
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.diff(np.log(values)) / np.diff(np.log(probes))
        left = np.flatnonzero(~(np.abs(slopes - slopes[0]) < 0.5))
        return float(1.0 / probes[left[0]]) if len(left) else 1.0

    @cached_property
    def _probed(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies and the spectrum there: no peak is much narrower than 1 / reach."""
        if self.kernel.order > 0:
            return _THIRD_OCTAVES, self.filter(_THIRD_OCTAVES)
        even = np.arange(1.0, 151.0)
        probes = np.unique(np.concatenate([_NEAR_THIRD_OCTAVES / self.reach, even / self.reach, _shells(self.kernel)]))
        return probes, self.filter(probes)


class _CircleView:
    """A kernel on the circle and its Fourier coefficients."""

    on_circle, singular, radial = True, False, True

    def __init__(self, kernel: Kernel, dimension: int):
        spectrum(kernel, np.zeros(1), dimension)  # refuses other dimensions
        self.kernel, self.profile = kernel, profile_of(kernel, 1)

    def filter(self, omega: np.ndarray) -> np.ndarray:
        """The coefficients of exp(i l t)."""
        return np.where(omega == 0, 1.0, 0.5) * spectrum(self.kernel, omega)

    def highest(self, level: float) -> int:
        """The last whole frequency at which there is something to see."""
        values = fourier_coefficients(self.kernel, _HARMONICS)
        return int(np.flatnonzero(values > level * values.max())[-1])

    def band(self, level: float) -> tuple[float, float]:
        """In angular frequencies."""
        return 0.0, _MARGIN * max(self.highest(level), 1) * self.spacing

    def frequencies(self) -> np.ndarray:
        return np.arange(min(self.highest(1e-3) + 3, _MOST_STEMS))

    def distances(self) -> np.ndarray:
        half = 0.5 * period_of(self.kernel)
        return np.linspace(-half, half, int(np.clip(48 * self.highest(1e-3), _LEAST_POINTS, _MOST_POINTS)) + 1)

    @property
    def spacing(self) -> float:
        """Of the angular frequencies."""
        return 2.0 * math.pi / period_of(self.kernel)


def _view(kernel: Kernel, dimension: int) -> _LineView | _CircleView:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of seminorm such as Gaussian(), got {kernel!r}.")
    return (_CircleView if period_of(kernel) is not None else _LineView)(kernel, dimension)


def _last_seen(seen: Callable) -> float:
    """The largest distance at which there is something to see: octave by octave outwards from 1 until three are empty,
    or inwards until one is not.
    """
    last, empty = 0.0, 0
    for k in range(_MOST_OCTAVES):
        octave = 2.0**k * _ONE_OCTAVE
        visible = octave[seen(octave)]
        last, empty = (float(visible[-1]), 0) if len(visible) else (last, empty + 1)
        if empty == 3:
            break
    for k in range(1, _MOST_OCTAVES if last == 0 else 0):
        octave = 2.0**-k * _ONE_OCTAVE
        visible = octave[seen(octave)]
        if len(visible):
            return float(visible[-1])
    return last or 1.0


def _shells(kernel: Kernel) -> np.ndarray:
    """Frequencies around narrow peaks that equal steps would miss."""
    parts = [part for part in (kernel, *kernel.get_params().values()) if isinstance(part, SpectralMixture)]
    peaks = [np.asarray(part.frequencies) + np.outer(np.linspace(-3.0, 3.0, 13), part.widths) for part in parts]
    return np.abs(np.concatenate([peak.ravel() for peak in peaks])) if peaks else np.empty(0)


def _pair(axes) -> tuple[Axes, Axes]:
    if axes is None:
        return tuple(require("matplotlib.pyplot", "plot").subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")[1])
    left, right = axes
    return axes_or_new(left), axes_or_new(right)


def _stems(ax: Axes, where: np.ndarray, heights: np.ndarray, color: str) -> None:
    ax.vlines(where, 0.0, heights, color=color)
    ax.plot(where, heights, "o", color=color, markersize=4)
    ax.set_ylim(bottom=0.0)


def _unknown_part(kernel: Kernel) -> str:
    free = {0: "(0, r)", 1: "(0, r), up to a constant"}
    return free.get(kernel.order, f"(0, r), up to polynomials of degree {kernel.order - 1}")


def _frequency_label(view, omega: np.ndarray) -> str:
    if not view.radial:
        return "frequency ω along the first axis"
    return "frequency |ω|" if (omega >= 0).all() else "frequency ω"


def _common_frequencies(views: list) -> tuple[np.ndarray, bool]:
    """Frequencies that suit all kernels, and whether their axis had better be logarithmic."""
    bands = np.array([view.band(_SEEN_ON_LOG_SCALE) for view in views])
    ends = bands[:, 1]
    if any(view.singular for view in views) or ends.max() > 10.0 * ends.min():
        lows = np.where(bands[:, 0] > 0, bands[:, 0], 0.01 * ends)
        return np.geomspace(lows.min(), ends.max(), 481), True
    resolution = max((view.resolution for view in views if not view.on_circle), default=_LEAST_POINTS)
    return np.linspace(0.0, ends.max(), resolution), False


def _relative(view, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies within the range of omega, and the spectrum there relative to its largest value."""
    where, asked = omega, omega
    if view.on_circle:
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
    circles = [period_of(kernel) for kernel in kernels if period_of(kernel) is not None]
    if circles:
        half = 0.5 * min(circles)
        return half * np.arange(-(_IMPULSE_POINTS // 2), _IMPULSE_POINTS // 2 + 1) * 2.0 / _IMPULSE_POINTS
    views = [_view(kernel, 1) for kernel in kernels]
    reaches = [view.reach for view in views if view.kernel.dilation_degree is None]
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
