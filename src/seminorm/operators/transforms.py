"""Fourier transforms of radial functions in R^d, by quadrature.

The convention of the library: F(omega) = integral phi(x) exp(-i omega.x) dx with angular frequencies and no factor, so
that phi(x) = (2 pi)^-d integral F(omega) exp(i omega.x) d omega and |f|^2 = (2 pi)^-d integral |F f|^2 (Parseval).

For a radial phi that is F(omega) = |S^(d-1)| integral phi(r) Omega_d(omega r) r^(d-1) dr. The integral is taken over
half waves of Omega_d, preceded by panels that shrink towards 0. Where phi decays slowly, or grows like a power, it is
faded out far away by a window that is flat at first: the transform of such a window is so concentrated that away from
omega = 0, where the generalised transform of phi may be singular, the result is right to rounding. What is costly to
compute is tabulated octave by octave, where it is needed.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.special import erfc

from ..kernels.sphere import sphere_average

Profile = Callable[[np.ndarray], np.ndarray]

FIRST_WAVE = math.pi  # of z = omega r: below it the panels shrink, above it they are half waves
_NODES = 16
_HALVINGS, _SINGULAR_HALVINGS = 50, 110
_FLATNESS = 30.0  # the window differs from 1 at 0, and its transform from 0 at omega, by exp(-this)
_LONGEST = 6000.0  # of omega r, for profiles that end far out
_CHUNK = 2**21
_SERIES_TERMS = 30
_TABLE_NODES = 24
_MOST_SPLITS = 8
_SMALLEST, _LARGEST = 2.0**-100, 2.0**100


def sphere_area(dimension: int) -> float:
    """Area of the unit sphere in R^d (2 for d = 1)."""
    return 2.0 * math.pi ** (0.5 * dimension) / math.gamma(0.5 * dimension)


def check_dimension(dimension: int) -> int:
    """A dimension that is a positive integer."""
    if not (isinstance(dimension, (int, np.integer)) and dimension >= 1):
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    return int(dimension)


def radial_fourier(
    profile: Profile,
    omega: ArrayLike,
    dimension: int,
    *,
    reach: float = math.inf,
    breaks: Sequence[float] | np.ndarray = (),
    remove: int = 0,
    refine: int = 1,
    widest: float = math.inf,
) -> np.ndarray:
    """The transform of profile(|x|) at frequencies |x-hat| = omega > 0.

    Parameters
    ----------
    profile : callable
        Takes distances r > 0 (any shape).
    omega, dimension : array, int
        Positive frequencies, and the dimension of x.
    reach : float
        Distance beyond which the profile is zero or may be neglected; infinite for slowly decaying and growing ones.
    breaks : sequence of float
        Distances at which the profile is not smooth.
    remove : int
        Take away this number of terms 1, z^2, ... of the power series of Omega_d(z), z = omega r, on z < pi. It makes
        the integral converge for a profile that is singular at 0, and changes the result by what
        :func:`removed_moments` undoes.
    refine, widest : int, float
        Cut every panel into this number of pieces; width of the widest, for profiles that oscillate themselves.

    Returns
    -------
    array, of the shape of omega

    See Also
    --------
    spectrum : the transform of a kernel, in closed form where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.operators import radial_fourier
    >>> radial_fourier(lambda r: np.exp(-r), [0.5, 1.0], 1)  # 2 / (1 + omega^2)
    array([1.6, 1. ])
    """
    dimension = check_dimension(dimension)
    omega = np.asarray(omega, dtype=float)
    if not (np.isfinite(omega).all() and (omega > 0).all()):
        raise ValueError("omega must hold positive finite numbers.")
    flat = omega.ravel()
    if math.isinf(reach) and len(breaks) == 0 and math.isinf(widest):
        z, weights = _open_panels(dimension, remove, refine)
        values = np.concatenate([_at_nodes(profile, part, z, weights) for part in _chunks(flat, len(z))] or [flat])
    else:
        values = np.array([_with_breaks(profile, w, dimension, reach, breaks, remove, refine, widest) for w in flat])
    return (sphere_area(dimension) * flat ** -float(dimension) * values).reshape(omega.shape)


def total(profile: Profile, dimension: int, *, reach: float = math.inf, refine: int = 1) -> float:
    """The integral of profile(|x|) over R^d, the transform at 0; infinite if it diverges at 0 or far out."""
    octaves = 2.0 ** np.arange(-60, 61) if math.isinf(reach) else reach * 2.0 ** np.arange(-100, 1)
    panels = _cut(octaves, refine)
    nodes, weights = leggauss(_NODES)
    half = 0.5 * np.diff(panels)[:, None]
    r = panels[:-1, None] + half * (1.0 + nodes)
    pieces = sphere_area(dimension) * np.einsum("ij,j->i", profile(r) * r ** (dimension - 1) * half, weights)
    parts = pieces.reshape(-1, refine).sum(axis=1)
    return float(parts.sum() + _rest(parts[::-1]) + (_rest(parts) if math.isinf(reach) else 0.0))


def series_coefficients(dimension: int, count: int) -> np.ndarray:
    """t_k with Omega_d(z) = sum_k t_k z^(2 k)."""
    k = np.arange(1, count)
    return np.cumprod(np.concatenate([np.ones(min(count, 1)), -0.25 / (k * (0.5 * dimension + k - 1.0))]))


def removed_moments(profile: Profile, r: ArrayLike, dimension: int, remove: int, origin: float) -> np.ndarray:
    """What to add to ``radial_fourier(profile, r, ..., remove=remove)`` so that the terms of the power series are
    removed up to the frequency ``origin`` for every r, and the result is one function of r up to a polynomial in r^2.

    It is |S^(d-1)| sum_k t_k r^(2 k) times the integral of profile(u) u^(2 k + d - 1) from origin to pi / r.
    """
    r = np.asarray(r, dtype=float)
    ends = np.log(FIRST_WAVE / r) - math.log(origin)
    nodes, weights = leggauss(_NODES)
    steps = np.linspace(0.0, 1.0, 65)
    fractions = (steps[:-1, None] + 0.5 * (1.0 + nodes) / 64.0).ravel()
    weights = np.tile(weights / 128.0, 64)
    total = np.zeros(r.shape)
    for rows in _chunks(np.arange(r.size), fractions.size):
        position = ends.ravel()[rows, None] * fractions
        u = origin * np.exp(position)
        values = profile(u) * ends.ravel()[rows, None] * weights
        for k, t in enumerate(series_coefficients(dimension, remove)):
            total.ravel()[rows] += t * r.ravel()[rows] ** (2 * k) * (values * u ** (2 * k + dimension)).sum(axis=1)
    return sphere_area(dimension) * total


def _at_nodes(profile: Profile, omega: np.ndarray, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return profile(z / omega[:, None]) @ weights


def _chunks(rows: np.ndarray, width: int):
    step = max(1, _CHUNK // max(1, width))
    return [rows[i : i + step] for i in range(0, len(rows), step)]


@lru_cache(maxsize=64)
def _open_panels(dimension: int, remove: int, refine: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z = omega r and weights for profiles without an end."""
    length = 2.0 * _FLATNESS
    ends = np.concatenate([_shrinking(remove), np.arange(FIRST_WAVE + math.pi, 2.0 * length + math.pi, math.pi)])
    return _weighted(ends, dimension, remove, refine, length)


def _with_breaks(profile, omega, dimension, reach, breaks, remove, refine, widest) -> float:
    length = math.inf if omega * reach <= _LONGEST else max(2.0 * _FLATNESS, min(0.5 * omega * reach, _LONGEST))
    last = min(omega * reach, 2.0 * length)
    waves = np.arange(FIRST_WAVE + math.pi, last, math.pi)
    ends = np.concatenate([_shrinking(remove), waves, omega * np.asarray(breaks)])
    if omega * widest < last:
        ends = np.concatenate([ends, np.arange(omega * widest, last, omega * widest)])
    ends = np.unique(np.append(ends[ends < last], last))
    z, weights = _weighted(ends, dimension, remove, refine, length)
    return float(_at_nodes(profile, np.array([omega]), z, weights)[0])


def _shrinking(remove: int) -> np.ndarray:
    halvings = _SINGULAR_HALVINGS if remove else _HALVINGS
    return np.concatenate([[0.0], FIRST_WAVE * 2.0 ** np.arange(-float(halvings), 1.0)])


def _weighted(ends, dimension: int, remove: int, refine: int, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes between the ends, with the weights of Omega_d(z) z^(d-1) and of the window."""
    ends = _cut(ends, refine)
    nodes, weights = leggauss(_NODES)
    half = 0.5 * np.diff(ends)[:, None]
    z = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
    weights = (half * weights).ravel() * z ** (dimension - 1)
    wave = sphere_average(z, dimension)
    if remove:
        near = z < FIRST_WAVE
        wave[near] = _remainder(z[near], dimension, remove)
    if math.isfinite(length):
        wave *= 0.5 * erfc(math.sqrt(_FLATNESS) * (z / length - 1.0))
    return z, weights * wave


def _cut(ends: np.ndarray, refine: int) -> np.ndarray:
    """The ends of panels, each cut into ``refine`` equal pieces."""
    if refine == 1:
        return ends
    pieces = ends[:-1, None] + np.diff(ends)[:, None] * np.arange(refine) / refine
    return np.append(pieces.ravel(), ends[-1])


def _remainder(z: np.ndarray, dimension: int, remove: int) -> np.ndarray:
    """Omega_d(z) less the first terms of its power series, by the others."""
    coefficients = series_coefficients(dimension, remove + _SERIES_TERMS)[remove:]
    return np.polynomial.polynomial.polyval(z * z, coefficients) * z ** (2 * remove)


def _rest(parts: np.ndarray) -> float:
    """What follows a sequence of integrals over doubling panels, if it goes on as a geometric series."""
    last, before = abs(parts[-1]), abs(parts[-2])
    if last <= 1e-16 * np.abs(parts).max():
        return 0.0
    ratio = last / before
    return math.inf * np.sign(parts[-1]) if ratio > 0.9999 else float(parts[-1]) * ratio / (1.0 - ratio)


class OctaveTable:
    """Chebyshev series of a smooth function of positive numbers between the powers of 2, on cells as small as needed.

    The accuracy is relative to the largest value in the octave, or to ``size`` if that is larger.
    """

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], accuracy: float, size: float = 0.0):
        if not 0 < accuracy < 1:
            raise ValueError(f"accuracy must lie between 0 and 1, got {accuracy!r}.")
        self.function, self.accuracy, self.size = function, accuracy, size
        self.octaves: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, u: np.ndarray) -> np.ndarray:
        u = np.clip(u, _SMALLEST, _LARGEST)
        exponent = np.frexp(u)[1] - 1
        values = np.empty(u.shape)
        for octave in np.unique(exponent):
            rows = exponent == octave
            values[rows] = self._interpolated(int(octave), u[rows])
        return values

    def _interpolated(self, octave: int, u: np.ndarray) -> np.ndarray:
        if octave not in self.octaves:
            self.octaves[octave] = self._tabulated(2.0**octave)
        ends, series = self.octaves[octave]
        cell = np.clip(np.searchsorted(ends, u, side="right") - 1, 0, len(ends) - 2)
        middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
        return chebyshev.chebval((u - middle[cell]) / half[cell], series[:, cell], tensor=False)

    def _tabulated(self, start: float) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.cos(math.pi * (np.arange(_TABLE_NODES) + 0.5) / _TABLE_NODES)
        for splits in range(_MOST_SPLITS + 1):
            ends = np.linspace(start, 2.0 * start, 2**splits + 1)
            middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
            samples = self.function(middle[:, None] + half[:, None] * nodes)
            series = chebyshev.chebfit(nodes, samples.T, _TABLE_NODES - 1)
            reached = np.abs(series[-3:]).max() / max(self.size, float(np.abs(samples).max()), np.finfo(float).tiny)
            if reached <= self.accuracy:
                return ends, series
        raise ValueError(
            f"the function oscillates too much to be tabulated around {start:.3g} to the accuracy {self.accuracy:g} "
            f"(reached: {reached:.1e}): choose units in which the data and the operator are of the same size, or a "
            "larger accuracy."
        )
