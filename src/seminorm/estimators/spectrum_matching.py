"""Choosing a kernel by the data: its spectrum is the power spectrum of the function [Smola et al. 1998, 5].

The spectrum is a mixture of smooth shells of frequencies above a white floor of noise, estimated by restricted maximum
likelihood, which knows that the trend was estimated from the same data (:mod:`seminorm.solvers.ridge.shells`).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import orth
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state, check_X_y

from .._base.blas import suited_to
from .._base.spacing import neighbor_distances
from ..kernels.spectral import SpectralMixture
from ..nullspace import Polynomials
from ..solvers.ridge.shells import ShellBlock, ShellLikelihood, ShellModel, grow, shell_dictionary

_MAX_DIMENSION = 8
_FEWEST = 20
_BLOCKS = 3
_NEIGHBORS_OF = 2000
_GRID = 257


@dataclass(repr=False)
class SpectrumMatch:
    """What :func:`match_spectrum` found.

    Attributes
    ----------
    kernel : SpectralMixture
        Its spectrum is the estimated power spectrum; its value at distance 0 is the variance of the signal.
    noise : float
        Variance of the white part. ``Smoother(kernel=match.kernel, alpha=match.noise, null_space=trend_degree)`` is the
        best linear prediction; ``alpha="auto"`` chooses anew.
    omega, power : arrays
        The power spectral density F(|omega|) of the signal on a grid of angular frequencies.
    gain : float
        Logarithm of the likelihood ratio to white noise.

    See Also
    --------
    match_spectrum
    """

    kernel: SpectralMixture
    noise: float
    omega: np.ndarray
    power: np.ndarray
    gain: float

    @property
    def signal(self) -> float:
        """Variance of the signal."""
        return float(np.sum(self.kernel.weights))

    @property
    def peak(self) -> float:
        """The angular frequency around which there is most variance, counted over whole spheres of frequencies."""
        assert self.kernel.dimension is not None
        return float(self.omega[np.argmax(self.power * self.omega ** (self.kernel.dimension - 1))])

    def __repr__(self):
        parts = zip(self.kernel.frequencies, self.kernel.widths, self.kernel.weights, strict=True)
        shells = ", ".join(f"{weight:.3g} at {frequency:.3g} +- {width:.2g}" for frequency, width, weight in parts)
        return (
            f"SpectrumMatch(signal {self.signal:.3g} = {shells}; noise {self.noise:.3g}; peak {self.peak:.3g}; "
            f"gain {self.gain:.1f})"
        )


def match_spectrum(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_frequencies: int = 24,
    trend_degree: int = 0,
    max_pairs: int = 60_000,
    random_state: int | np.random.RandomState | None = 0,
) -> SpectrumMatch:
    """The isotropic kernel whose spectrum equals the power spectrum of the data.

    Parameters
    ----------
    X, y : arrays (n, d) and (n,)
        Scattered or regular points, d up to 8, and values with noise.
    n_frequencies : int
        Number of frequencies, from pi / extent to pi / distance of neighbours, at which shells are tried.
    trend_degree : int
        Polynomials of this degree are not part of the signal; -1 if there is no trend, not even a mean.
    max_pairs, random_state : int, int or RandomState
        How many pairs of points are looked at. If there are more, blocks of different extents are drawn: far pairs
        show low frequencies, close pairs show high ones.

    Returns
    -------
    SpectrumMatch

    Raises
    ------
    ValueError
        Also if y is white noise as far as the data tell: then there is no spectrum to match.

    See Also
    --------
    Smoother, seminorm.kernels.SpectralMixture

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import match_spectrum
    >>> rng = np.random.default_rng(0)
    >>> X = 10 * rng.random((100, 1))
    >>> round(match_spectrum(X, np.sin(7 * X[:, 0]) + 0.2 * rng.standard_normal(100)).peak)
    7
    """
    points, values = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    _check(points, n_frequencies, trend_degree, max_pairs)
    values = _without_trend(points, values, trend_degree)
    extent, unit = float(np.ptp(points, axis=0).max()), math.sqrt(np.mean(values**2))
    highest = math.pi * extent / _distance_of_neighbors(points)
    blocks = _blocks(points / extent, values / unit, trend_degree, max_pairs, check_random_state(random_state))
    likelihood = ShellLikelihood(blocks, points.shape[1], highest)
    with suited_to(max(len(block.y) for block in blocks)):
        white = likelihood.improve(ShellModel(np.empty((0, 3)), 1.0))
        model = grow(likelihood, white, shell_dictionary(n_frequencies, highest))
    if not len(model.shells):
        raise ValueError(
            f"y shows no structure beyond white noise in the {sum(len(b.y) for b in blocks)} points looked at: there "
            "is no spectrum to match. Give more points, look at more pairs (max_pairs), or lower trend_degree="
            f"{trend_degree}; if y is noise indeed, its best estimate is the trend."
        )
    weights, frequencies, widths = model.shells[np.argsort(model.shells[:, 1])].T
    kernel = SpectralMixture(frequencies / extent, widths / extent, weights * unit**2, points.shape[1])
    omega = _grid(kernel)
    gain = 0.5 * (white.deviance - model.deviance)
    return SpectrumMatch(kernel, model.noise * unit**2, omega, kernel.spectrum_density(omega), gain)


def _grid(kernel: SpectralMixture) -> np.ndarray:
    """Frequencies from 0 to the end of the spectrum, closer together where it has a shell."""
    frequencies, widths = kernel.frequencies, kernel.widths
    everywhere = np.linspace(0.0, float(np.max(frequencies + 4 * widths)), _GRID)
    near_shells = frequencies[:, None] + widths[:, None] * np.linspace(-3.0, 3.0, 61)
    return np.unique(np.maximum(np.concatenate([everywhere, near_shells.ravel()]), 0.0))


def _blocks(X: np.ndarray, y: np.ndarray, degree: int, max_pairs: int, rng) -> list[ShellBlock]:
    """All points, or three draws: from everywhere, from a neighbourhood, from a small one."""
    n, size = len(X), int(math.sqrt(2 * max_pairs))
    if n <= size:
        return [_block(X, y, degree)]
    size = max(_FEWEST, int(math.sqrt(2 * max_pairs / _BLOCKS)))
    blocks = []
    for count in np.geomspace(n, size, _BLOCKS).astype(int):
        squares = np.sum((X - X[rng.randint(n)]) ** 2, axis=1)
        near = np.argpartition(squares, count - 1)[:count] if count < n else np.arange(n)
        rows = np.sort(rng.choice(near, size, replace=False))
        blocks.append(_block(X[rows], y[rows], degree))
    return blocks


def _block(X: np.ndarray, y: np.ndarray, degree: int) -> ShellBlock:
    trend = Polynomials(degree).fit(X)(X)
    return ShellBlock(pdist(X), y, orth(trend) if trend.shape[1] else trend)


def _without_trend(X: np.ndarray, y: np.ndarray, degree: int) -> np.ndarray:
    trend = Polynomials(degree).fit(X)(X)
    rest = y - trend @ np.linalg.lstsq(trend, y, rcond=None)[0] if trend.shape[1] else y
    if np.abs(rest).max() <= 1e-12 * np.abs(y).max():
        what = "constant" if np.ptp(y) <= 1e-12 * np.abs(y).max() else f"a polynomial of degree {degree}"
        raise ValueError(
            f"y is {what}, which trend_degree={degree} takes for the trend: there is no spectrum to match."
        )
    return rest


def _distance_of_neighbors(X: np.ndarray) -> float:
    """Mean distance to the nearest other place, of some rows spread over X."""
    places = np.unique(X, axis=0)
    return float(neighbor_distances(places, stride=max(1, len(places) // _NEIGHBORS_OF)).mean())


def _check(X, n_frequencies, trend_degree, max_pairs):
    n, d = X.shape
    if d > _MAX_DIMENSION:
        raise ValueError(
            f"X has {d} columns, and spectra are matched in up to {_MAX_DIMENSION} dimensions: in more, distances tell "
            "little about frequencies. Use ThinPlate() or NegativeDistance(), which need no length scale."
        )
    for name, value, least in (("n_frequencies", n_frequencies, 4), ("trend_degree", trend_degree, -1)):
        if not (isinstance(value, (int, np.integer)) and value >= least):
            raise ValueError(f"{name} must be an integer from {least} on, got {value!r}.")
    if not max_pairs >= _FEWEST**2:
        raise ValueError(f"max_pairs must be at least {_FEWEST**2}, got {max_pairs!r}.")
    free = math.comb(d + trend_degree, d) if trend_degree >= 0 else 0
    fewest = max(_FEWEST, 3 * free)
    if n < fewest:
        raise ValueError(
            f"X has n_samples={n}, and a spectrum with trend_degree={trend_degree} in {d} dimensions needs at least "
            f"{fewest} points."
        )
    if len(np.unique(X, axis=0)) < _FEWEST:
        raise ValueError(f"X has fewer than {_FEWEST} distinct points: repeated ones tell nothing about frequencies.")
