"""Choosing a kernel by the data: the kernel whose spectrum is the power spectrum of the function (seed 003, section 5).

The spectrum is a mixture of smooth shells of frequencies above a white floor of noise. Shells are added one by one,
each started from the best of a dictionary, and all are improved together by restricted maximum likelihood, which knows
that the trend was estimated from the same data; the Bayesian information criterion says when to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, lapack, orth
from scipy.optimize import minimize
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist, squareform
from sklearn.utils import check_random_state, check_X_y

from .._threads import suited_to
from ..kernels.spectral import SpectralMixture
from ..kernels.sphere import sphere_average
from ..nullspace import Polynomials

_MAX_DIMENSION = 8
_MAX_SHELLS = 8
_FEWEST = 20
_BLOCKS = 3
_NEIGHBOURS_OF = 2000
_TRIAL_STEPS, _STEPS = 15, 60
_LEAST_NOISE = 1e-6
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
        return float(self.omega[np.argmax(self.power * self.omega ** (self.kernel.dimension - 1))])

    def __repr__(self):
        parts = zip(self.kernel.frequencies, self.kernel.widths, self.kernel.weights, strict=True)
        shells = ", ".join(f"{weight:.3g} at {frequency:.3g} +- {width:.2g}" for frequency, width, weight in parts)
        return (
            f"SpectrumMatch(signal {self.signal:.3g} = {shells}; noise {self.noise:.3g}; peak {self.peak:.3g}; "
            f"gain {self.gain:.1f})"
        )


def match_spectrum(
    X,
    y,
    *,
    n_frequencies: int = 24,
    trend_degree: int = 0,
    max_pairs: int = 60_000,
    random_state=0,
) -> SpectrumMatch:
    """The isotropic kernel whose spectrum equals the power spectrum of the data.

    Parameters
    ----------
    X : array (n, d)
        Scattered or regular points, d up to 8.
    y : array (n,)
        Values with noise.
    n_frequencies : int
        Number of frequencies, from pi / extent to pi / distance of neighbours, at which shells are tried.
    trend_degree : int
        Polynomials of this degree are not part of the signal; -1 if there is no trend, not even a mean.
    max_pairs : int
        So many pairs of points are looked at. If there are more, blocks of different extents are drawn, so that low
        frequencies are seen by far and high ones by close pairs.
    random_state : int, RandomState or None
        For the draw.

    Raises
    ------
    ValueError
        Also if y is white noise as far as the data tell: then there is no spectrum to match.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.operators.matching import match_spectrum
    >>> rng = np.random.default_rng(0)
    >>> X = 10 * rng.random((100, 1))
    >>> y = np.sin(7 * X[:, 0]) + 0.2 * rng.standard_normal(100)
    >>> match = match_spectrum(X, y)
    >>> round(match.peak)
    7
    """
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    _check(X, n_frequencies, trend_degree, max_pairs)
    y = _without_trend(X, y, trend_degree)
    extent, unit = float(np.ptp(X, axis=0).max()), math.sqrt(np.mean(y**2))
    highest = math.pi * extent / _distance_of_neighbours(X)
    blocks = _blocks(X / extent, y / unit, trend_degree, max_pairs, check_random_state(random_state))
    likelihood = _Likelihood(blocks, X.shape[1], highest)
    with suited_to(max(len(block.y) for block in blocks)):
        white = likelihood.improve(_Model(np.empty((0, 3)), 1.0))
        model = _grow(likelihood, white, _dictionary(n_frequencies, highest))
    if not len(model.shells):
        raise ValueError(
            f"y shows no structure beyond white noise in the {sum(len(b.y) for b in blocks)} points looked at: there "
            "is no spectrum to match. Give more points, look at more pairs (max_pairs), or lower trend_degree="
            f"{trend_degree}; if y is noise indeed, its best estimate is the trend."
        )
    weights, frequencies, widths = model.shells[np.argsort(model.shells[:, 1])].T
    kernel = SpectralMixture(frequencies / extent, widths / extent, weights * unit**2, X.shape[1])
    omega = _grid(kernel)
    gain = 0.5 * (white.deviance - model.deviance)
    return SpectrumMatch(kernel, model.noise * unit**2, omega, kernel.spectrum_density(omega), gain)


class _Block(NamedTuple):
    """Points looked at together: their distances (condensed), values, and an orthonormal basis of the trend."""

    distances: np.ndarray
    y: np.ndarray
    trend: np.ndarray


class _Model(NamedTuple):
    """Rows (weight, frequency, width) of shells, in units in which X has extent 1 and y has variance 1."""

    shells: np.ndarray
    noise: float
    deviance: float = math.inf


class _Likelihood:
    """-2 log of the restricted likelihood of a model, its derivatives and its minimum."""

    def __init__(self, blocks: list[_Block], dimension: int, highest: float):
        self.blocks, self.dimension, self.highest = blocks, dimension, highest

    def criterion(self, model: _Model) -> float:
        """The Bayesian information criterion; a shell at frequency 0 has two parameters, others three."""
        parameters = 2 * len(model.shells) + np.count_nonzero(model.shells[:, 1])
        return model.deviance + parameters * math.log(sum(len(block.y) for block in self.blocks))

    def improve(self, model: _Model, steps: int = _STEPS) -> _Model:
        """The model after descent in the logarithms of weights and widths, and in the frequencies."""
        count = len(model.shells)
        weights, frequencies, widths = model.shells.T
        start = np.r_[np.log(weights), frequencies, np.log(widths), math.log(model.noise)]
        bounds = [(-12.0, 5.0)] * count + [(0.0, 1.2 * self.highest)] * count
        bounds += [(math.log(0.5), math.log(self.highest))] * count + [(math.log(_LEAST_NOISE), 3.0)]
        found = minimize(
            self._deviance_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
        )
        weights, frequencies, widths = found.x[:-1].reshape(3, count)
        shells = np.stack([np.exp(weights), frequencies, np.exp(widths)], axis=1)
        return _Model(shells, math.exp(found.x[-1]), float(found.fun))

    def _deviance_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        weights, frequencies, widths = theta[:-1].reshape(3, -1)
        shells = np.stack([np.exp(weights), frequencies, np.exp(widths)], axis=1)
        noise = math.exp(theta[-1])
        total, gradient = 0.0, np.zeros_like(theta)
        for block in self.blocks:
            waves = [self._wave(block.distances, *shell) for shell in shells]
            projection, dual, deviance = _inverse(block, waves, shells[:, 0].sum() + noise)
            total += deviance
            slope = projection - np.outer(dual, dual)  # of the deviance, in the entries of the covariance matrix
            trace, pairs = np.trace(slope), 2.0 * squareform(slope, checks=False)
            squares = block.distances**2
            for j, (shell, wave) in enumerate(zip(shells, waves, strict=True)):
                weighted, count = pairs * wave, len(shells)
                gradient[j] += weighted.sum() + shell[0] * trace
                gradient[count + j] += pairs @ self._frequency_derivative(block.distances, *shell)
                gradient[2 * count + j] -= shell[2] ** 2 * (weighted @ squares)
            gradient[-1] += noise * trace
        return total, gradient

    def scores(self, model: _Model, dictionary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each (frequency, width) the score test for a shell more, and a first guess of its weight."""
        slopes, informations = np.zeros(len(dictionary)), np.zeros(len(dictionary))
        for block in self.blocks:
            waves = [self._wave(block.distances, *shell) for shell in model.shells]
            projection, dual, _ = _inverse(block, waves, model.shells[:, 0].sum() + model.noise)
            for j, (frequency, width) in enumerate(dictionary):
                shell = squareform(self._wave(block.distances, 1.0, frequency, width))
                np.fill_diagonal(shell, 1.0)
                product = projection @ shell
                slopes[j] += dual @ shell @ dual - np.trace(product)
                informations[j] += np.sum(product * product.T)
        return slopes / np.sqrt(2 * informations), slopes / informations

    def _wave(self, r: np.ndarray, weight: float, frequency: float, width: float) -> np.ndarray:
        return weight * np.exp(-0.5 * (width * r) ** 2) * sphere_average(frequency * r, self.dimension)

    def _frequency_derivative(self, r: np.ndarray, weight: float, frequency: float, width: float) -> np.ndarray:
        steeper = sphere_average(frequency * r, self.dimension + 2)
        return -weight * frequency / self.dimension * r**2 * np.exp(-0.5 * (width * r) ** 2) * steeper


def _inverse(block: _Block, waves: list[np.ndarray], diagonal: float) -> tuple[np.ndarray, np.ndarray, float]:
    """P = V^-1 - V^-1 T (T' V^-1 T)^-1 T' V^-1, P y and the deviance, for the covariance V and the trend T."""
    covariance = squareform(sum(waves, np.zeros_like(block.distances)))
    np.fill_diagonal(covariance, diagonal)
    factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
    deviance = 2.0 * np.log(np.diag(factor)).sum()
    inverse = lapack.dpotri(factor, lower=True)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    if block.trend.shape[1]:
        inner = inverse @ block.trend
        schur = block.trend.T @ inner
        inverse -= inner @ np.linalg.solve(schur, inner.T)
        deviance += np.linalg.slogdet(schur)[1]
    dual = inverse @ block.y
    return inverse, dual, deviance + float(block.y @ dual)


def _grow(likelihood: _Likelihood, model: _Model, dictionary: np.ndarray) -> _Model:
    """Add the best shell while the criterion falls."""
    while len(model.shells) < _MAX_SHELLS:
        scores, guesses = likelihood.scores(model, dictionary)
        candidates = []
        for j in _most_promising(scores, dictionary):
            weight = float(np.clip(guesses[j], 0.01, 0.9))
            shells = np.vstack([model.shells, [weight, *dictionary[j]]])
            start = _Model(shells, max(model.noise - weight, 0.1 * model.noise))
            candidates.append(likelihood.improve(start, _TRIAL_STEPS))
        if not candidates:
            return model
        best = likelihood.improve(min(candidates, key=likelihood.criterion))
        if likelihood.criterion(best) >= likelihood.criterion(model):
            return model
        model = best
    return model


def _most_promising(scores: np.ndarray, dictionary: np.ndarray) -> list[int]:
    """The best entry at frequency 0, and the two best others that are not neighbours."""
    zero = dictionary[:, 0] == 0
    chosen = [int(np.argmax(np.where(zero, scores, -np.inf)))]
    shells = np.where(zero, -np.inf, scores)
    first = int(np.argmax(shells))
    shells[max(first - 1, 0) : first + 2] = -np.inf
    chosen += [first, int(np.argmax(shells))]
    return [j for j in chosen if scores[j] > 0]


def _grid(kernel: SpectralMixture) -> np.ndarray:
    """Frequencies from 0 to the end of the spectrum, closer together where it has a shell."""
    frequencies, widths = kernel.frequencies, kernel.widths
    everywhere = np.linspace(0.0, float(np.max(frequencies + 4 * widths)), _GRID)
    near_shells = frequencies[:, None] + widths[:, None] * np.linspace(-3.0, 3.0, 61)
    return np.unique(np.maximum(np.concatenate([everywhere, near_shells.ravel()]), 0.0))


def _dictionary(count: int, highest: float) -> np.ndarray:
    """Rows (frequency, width): Gaussians of many scales, and shells whose widths reach their neighbours."""
    frequencies = np.geomspace(math.pi, highest, count)
    ratio = frequencies[1] / frequencies[0]
    shells = np.column_stack([frequencies, np.maximum(frequencies * (ratio - 1.0) / 1.5, 1.5)])
    scales = np.geomspace(0.5 * math.pi, 0.5 * highest, (count + 1) // 2)
    return np.vstack([np.column_stack([np.zeros_like(scales), scales]), shells])


def _blocks(X: np.ndarray, y: np.ndarray, degree: int, max_pairs: int, rng) -> list[_Block]:
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


def _block(X: np.ndarray, y: np.ndarray, degree: int) -> _Block:
    trend = Polynomials(degree).fit(X)(X)
    return _Block(pdist(X), y, orth(trend) if trend.shape[1] else trend)


def _without_trend(X: np.ndarray, y: np.ndarray, degree: int) -> np.ndarray:
    trend = Polynomials(degree).fit(X)(X)
    rest = y - trend @ np.linalg.lstsq(trend, y, rcond=None)[0] if trend.shape[1] else y
    if np.abs(rest).max() <= 1e-12 * np.abs(y).max():
        what = "constant" if np.ptp(y) <= 1e-12 * np.abs(y).max() else f"a polynomial of degree {degree}"
        raise ValueError(
            f"y is {what}, which trend_degree={degree} takes for the trend: there is no spectrum to match."
        )
    return rest


def _distance_of_neighbours(X: np.ndarray) -> float:
    """Mean distance to the nearest other place, of some rows spread over X."""
    places = np.unique(X, axis=0)
    asked = places[:: max(1, len(places) // _NEIGHBOURS_OF)]
    return float(KDTree(places).query(asked, k=2)[0][:, 1].mean())


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
