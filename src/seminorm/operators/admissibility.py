"""Is a function a kernel? Positive definite, conditionally so, or not at all, with the evidence."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..kernels import Kernel
from .circle import fourier_coefficients
from .counterexamples import Counterexample, point_sets, radial_matrix_of, search, waves
from .kernel_operators import profile_of
from .power_series import RADIUS, monotone_order, power_series
from .spectra import is_radial
from .transforms import check_dimension, radial_fourier, total

_SIZES = np.array([0.0, 2.0, -2.0, 4.0, -4.0, 6.0, -6.0])  # octaves around the typical length, the nearest first
_KINDS = ("radial", "dot", "circle")
_FREQUENCIES, _RANGE = 81, (0.02, 100.0)
_WINDOWS = (12.0, 40.0)  # lengths of the Gaussian windows, in units of 1 / omega
_ROUNDING = 1e-13
_OCTAVES = 2.0 ** np.arange(-40.0, 41.0)
_FAR = 2.0**30
_SERIES_TERMS = 24
_HARMONICS = 64


@dataclass(frozen=True)
class Admissibility:
    """The answer of :func:`admissible`.

    Attributes
    ----------
    verdict : str
        "positive definite", "conditionally positive definite", "not admissible" or "undecided".
    cpd_order : int or None
        The minimal order of conditional positive definiteness (0: positive definite), if admissible.
    dimension, evidence : int, list of str
        The dimension of the inputs; what was looked at and what it says.
    counterexample : Counterexample or None
        Points and coefficients with a negative quadratic form, if the function is not admissible and one was found.

    See Also
    --------
    admissible

    Examples
    --------
    >>> from seminorm.kernels import ThinPlate
    >>> from seminorm.operators import admissible
    >>> print(str(admissible(ThinPlate(), 2)).splitlines()[0])
    conditionally positive definite of order 2 in R^2
    """

    verdict: str
    cpd_order: int | None
    dimension: int
    evidence: list[str] = field(default_factory=list)
    counterexample: Counterexample | None = None

    @property
    def admissible(self) -> bool | None:
        """True, False, or None if undecided."""
        return None if self.verdict == "undecided" else self.cpd_order is not None

    def __str__(self) -> str:
        order = f" of order {self.cpd_order}" if self.cpd_order else ""
        lines = [f"{self.verdict}{order} in R^{self.dimension}", *(f"  - {line}" for line in self.evidence)]
        if self.counterexample is not None:
            lines.append(f"  - counterexample: {self.counterexample}")
        return "\n".join(lines)


def admissible(
    function: Kernel | Callable, dimension: int = 1, *, kind: str = "radial", max_order: int = 3, random_state: int = 0
) -> Admissibility:
    """Whether a function can serve as a kernel on R^d, and of which order.

    Radial functions are judged by the sign of their (generalised) Fourier transform, functions of the inner product by
    their power series, functions on the circle by their Fourier series; the order, and failures, by kernel matrices of
    random points. This is a numerical test: a negative answer comes with a frequency or with points that show it, a
    positive one with what was tried. Complete monotonicity of the profile is reported when it is seen: it is
    sufficient in all dimensions, its failure says nothing about a fixed one.

    Parameters
    ----------
    function : Kernel or callable
        A kernel, or a function of one variable: see ``kind``.
    dimension : int
        Of the inputs.
    kind : {"radial", "dot", "circle"}
        What a callable is a function of: the distance r, the inner product <x, y>, or the angle on a circle.
    max_order, random_state : int
        The highest order of conditional positive definiteness to try, and the seed of the random points.

    Returns
    -------
    Admissibility

    See Also
    --------
    spectrum, operator_of

    Examples
    --------
    >>> from seminorm.operators import admissible
    >>> answer = admissible(lambda r: -((1 + r**2) ** 0.5), dimension=3)
    >>> answer.verdict, answer.cpd_order
    ('conditionally positive definite', 1)
    """
    dimension = check_dimension(dimension)
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, _KINDS))}, got {kind!r}.")
    if not (isinstance(max_order, (int, np.integer)) and max_order >= 0):
        raise ValueError(f"max_order must be an integer from 0 on, got {max_order!r}.")
    if isinstance(function, Kernel):
        return _of_kernel(function, dimension, max_order, random_state)
    if not callable(function):
        raise TypeError(f"function must be a kernel of seminorm or a callable, got {function!r}.")
    if kind == "dot":
        return _of_inner_products(function, dimension, max_order, random_state)
    if kind == "circle":
        return _on_circle(function, dimension, max_order)
    return _of_profile(_checked_profile(function), dimension, max_order, random_state)


def _of_kernel(kernel: Kernel, dimension: int, max_order: int, random_state: int) -> Admissibility:
    if kernel.period is not None:
        coefficients = fourier_coefficients(kernel, _HARMONICS)
        rounding = 1e-14 * np.abs(coefficients).max()
        return _of_coefficients(coefficients, dimension, max_order, "Fourier coefficients", rounding)
    if hasattr(kernel, "of_inner_products"):
        try:
            kernel.of_inner_products(np.zeros(1))
        except ValueError:
            pass  # a series of another kernel, not of the inner product
        else:
            return _of_inner_products(kernel.of_inner_products, dimension, max_order, random_state)
    if is_radial(kernel, dimension):
        settled = kernel if dimension > kernel.max_dimension else kernel.for_dimension(dimension)
        return _of_profile(_checked_profile(profile_of(settled, dimension)), dimension, max_order, random_state)
    return _by_matrices(kernel, dimension, max_order, random_state)


def _by_matrices(kernel: Kernel, dimension: int, max_order: int, random_state: int) -> Admissibility:
    """Kernels that are neither radial nor of the inner product: what their construction says, and matrices."""
    sets = point_sets(dimension, (0.1, 0.3, 1.0, 3.0, 10.0), random_state)
    found = search(lambda points: kernel(points), sets, kernel.cpd_order)
    if found is not None:
        return _refusal(dimension, [], found)
    if kernel.is_indefinite or dimension > kernel.max_dimension:
        return Admissibility("undecided", None, dimension, [f"no counterexample in {len(sets)} sets of points"])
    evidence = [
        f"by its construction, {type(kernel).__name__} has order {kernel.cpd_order}",
        f"no counterexample in {len(sets)} sets of points",
    ]
    return _acceptance(kernel.cpd_order, dimension, evidence)


# Radial functions


def _of_profile(profile: Callable, dimension: int, max_order: int, random_state: int) -> Admissibility:
    length = _typical_length(profile)
    sets = point_sets(dimension, length * 2.0**_SIZES, random_state)
    matrix_of = radial_matrix_of(profile)
    growth = _growth(profile, length)
    if growth > 2.0 * max_order + 0.05:
        found = search(matrix_of, sets, max_order)
        evidence = [
            f"it grows like r^{growth:.3g} or faster; functions of order m grow at most like r^(2 m), and orders up to "
            f"{max_order} were asked for"
        ]
        verdict = "not admissible" if math.isinf(growth) else "undecided"
        return Admissibility(verdict, None, dimension, evidence, found)
    omega, values, errors = _windowed_spectrum(profile, dimension, length)
    evidence = [_spectrum_text(omega, values, errors)]
    negative = values < -errors
    if negative.any():
        worst = omega[np.argmin(np.where(negative, values * omega**dimension, np.inf))]
        found = search(matrix_of, [*sets, *waves(dimension, worst)], max_order)
        if found is None:
            evidence.append("no counterexample among the points tried: the negative part of the spectrum is small")
        return _refusal(dimension, evidence, found)
    counterexamples = []
    for order in range(max_order + 1):
        found = search(matrix_of, sets, order)
        if found is None:
            break
        counterexamples.append(found)
    else:
        evidence.append(f"counterexamples for every order up to {max_order}; a higher one was not tried")
        return Admissibility("undecided", None, dimension, evidence, counterexamples[-1])
    if counterexamples:
        evidence.append(f"not of order {order - 1}: {counterexamples[-1]}")
    evidence.append(f"no counterexample of order {order} in {len(sets)} sets of points")
    monotone = monotone_order(profile, length)
    if monotone is not None and monotone <= order:
        evidence.append(
            f"completely monotone of order {monotone} in r^2, as far as tried: admissible in all dimensions"
        )
    return _acceptance(order, dimension, evidence)


def _checked_profile(function: Callable) -> Callable:
    """A function of r >= 0 that is finite at 0, where a formula may have only a limit."""

    def profile(r):
        r = np.asarray(r, dtype=float)
        with np.errstate(all="ignore"):
            values = np.asarray(function(np.where(r == 0, np.finfo(float).tiny, r)), dtype=float)
        return np.broadcast_to(values, r.shape)

    values = profile(np.array([1e-6, 0.1, 1.0, 10.0]))
    if not np.isfinite(values).all():
        raise ValueError("function must be finite for positive arguments; it is not at 1e-6, 0.1, 1 or 10.")
    return profile


def _typical_length(profile: Callable) -> float:
    """Where the function has made half of its change, or where a growing one changes its power; 1 if nothing tells."""
    values = profile(_OCTAVES)
    change = np.abs(values - values[0])
    if not np.isfinite(change).all() or not change.any():
        return 1.0
    if change[-1] < 1e3 * change[40] or change[-1] < 10 * np.median(change):  # bounded
        return float(_OCTAVES[np.argmax(change >= 0.5 * change.max())])
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.diff(np.log2(change))
    steady = np.isfinite(slopes) & (np.arange(len(slopes)) > 4)  # the first are differences to the first value
    first, last = slopes[steady][0], slopes[steady][-1]
    if abs(first - last) < 0.2:
        return 1.0
    middle = 0.5 * (first + last)
    return float(_OCTAVES[:-1][steady][np.argmin(np.abs(slopes[steady] - middle))])


def _growth(profile: Callable, length: float) -> float:
    """The power of r that the function follows far out; infinite if it overflows."""
    far = profile(length * np.array([_FAR, 2.0 * _FAR]))
    if not np.isfinite(far).all():
        return math.inf
    low, high = np.abs(far)
    return 0.0 if high <= low or low == 0 else math.log2(high / low)


def _windowed_spectrum(profile: Callable, dimension: int, length: float):
    """Frequencies, the smallest of the windowed transforms, and bounds of their errors.

    A Gaussian window has a positive transform, so the product of a positive definite function with it stays positive
    definite; away from 0 the same holds for generalised transforms. Functions that end need no window.
    """
    omega = np.geomspace(*_RANGE, _FREQUENCIES) / length
    end = _end(profile, length)
    if math.isfinite(end):
        return omega, *_transformed(profile, omega, dimension, end, length)
    values, errors = np.full(omega.shape, np.inf), np.zeros(omega.shape)
    for window in _WINDOWS:
        found, bound = _gaussian_windowed(profile, omega, dimension, window, length)
        lower = found + bound < values + errors
        values, errors = np.where(lower, found, values), np.where(lower, bound, errors)
    return omega, values, errors


def _gaussian_windowed(profile: Callable, omega: np.ndarray, dimension: int, window: float, length: float):
    pairs = []
    for w in omega:
        faded = lambda r, w=w: profile(r) * np.exp(-0.5 * (r * w / window) ** 2)  # noqa: E731
        pairs.append(_transformed(faded, np.array([w]), dimension, 9.0 * window / w, length))
    return np.concatenate(pairs, axis=1)


def _transformed(profile: Callable, omega: np.ndarray, dimension: int, reach: float, length: float):
    """The transform with a bound of its error, by halving the panels and from the size of what is added up."""
    coarse, fine = (
        radial_fourier(profile, omega, dimension, reach=reach, breaks=[reach], refine=refine, widest=3.0 * length)
        for refine in (1, 2)
    )
    size = total(lambda r: np.abs(profile(r)), dimension, reach=reach)
    return fine, 3.0 * np.abs(fine - coarse) + _ROUNDING * size


def _end(profile: Callable, length: float) -> float:
    """The distance beyond which the function is exactly zero; infinite if there is none."""
    grid = length * 2.0 ** np.arange(-10.0, 30.0, 0.25)
    present = np.flatnonzero(profile(grid) != 0)
    if len(present) == 0 or present[-1] == len(grid) - 1:
        return math.inf
    low, high = grid[present[-1]], grid[present[-1] + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if profile(np.array([middle]))[0] != 0 else (low, middle)
    return float(high)


def _spectrum_text(omega: np.ndarray, values: np.ndarray, errors: np.ndarray) -> str:
    negative = values < -errors
    if negative.any():
        worst = np.argmin(np.where(negative, values, np.inf))
        return (
            f"the spectrum is negative at {np.count_nonzero(negative)} of {len(omega)} frequencies, e.g. "
            f"{values[worst]:.2e} at |omega| = {omega[worst]:.3g}"
        )
    unsure = np.count_nonzero(np.abs(values) <= errors)
    note = f" (below rounding at {unsure})" if unsure else ""
    return f"the spectrum is not negative at {len(omega)} frequencies from {omega[0]:.2g} to {omega[-1]:.2g}{note}"


# Functions of the inner product, and on the circle


def _of_inner_products(function: Callable, dimension: int, max_order: int, random_state: int) -> Admissibility:
    scaled, scaled_errors = power_series(function, _SERIES_TERMS)
    coefficients, errors = (values / RADIUS ** np.arange(_SERIES_TERMS) for values in (scaled, scaled_errors))
    answer = _of_coefficients(coefficients, dimension, max_order, "power series coefficients", errors)
    sets = [
        _within(points, RADIUS * share)
        for points in point_sets(dimension, (1.0,), random_state)
        for share in (0.1, 1.0)
    ]
    found = search(lambda points: np.asarray(function(points @ points.T)), sets, answer.cpd_order or 0)
    if answer.cpd_order is None:
        return Admissibility(answer.verdict, None, dimension, answer.evidence, found)
    if found is not None:
        return _refusal(dimension, answer.evidence, found)
    return answer


def _within(points: np.ndarray, bound: float) -> np.ndarray:
    """The points, scaled so that their inner products stay within the bound."""
    return points * math.sqrt(bound / np.square(points).sum(axis=1).max())


def _on_circle(function: Callable, dimension: int, max_order: int) -> Admissibility:
    if dimension != 1:
        raise ValueError(f"functions on the circle have dimension 1, got {dimension!r}.")
    samples = np.asarray(function(2.0 * math.pi * np.arange(4096) / 4096), dtype=float)
    coefficients = np.fft.rfft(samples).real[:_HARMONICS] / 2048
    coefficients[0] *= 0.5
    errors = np.full(_HARMONICS, 1e-12 * np.abs(samples).max())
    return _of_coefficients(coefficients, dimension, min(max_order, 1), "Fourier coefficients", errors)


def _of_coefficients(coefficients, dimension, max_order, name, errors) -> Admissibility:
    """Non-negative coefficients from the order on: the lower ones belong to polynomials of lower degree."""
    negative = np.flatnonzero(coefficients < -np.abs(errors))
    if len(negative) == 0:
        return _acceptance(0, dimension, [f"the first {len(coefficients)} {name} are not negative"])
    first = negative[0]
    text = f"{name}: number {first} is {coefficients[first]:.3g}"
    order = int(negative[-1]) + 1
    if order > max_order:
        return _refusal(dimension, [text, f"{len(negative)} of the first {len(coefficients)} are negative"], None)
    return _acceptance(order, dimension, [text, f"from number {order} on the first {len(coefficients)} are not"])


def _acceptance(order: int, dimension: int, evidence: list[str]) -> Admissibility:
    verdict = "conditionally positive definite" if order else "positive definite"
    return Admissibility(verdict, order, dimension, evidence)


def _refusal(dimension: int, evidence: list[str], found: Counterexample | None) -> Admissibility:
    return Admissibility("not admissible", None, dimension, evidence, found)
