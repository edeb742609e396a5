"""Estimating a power spectrum as a mixture of shells of frequencies above a white floor of noise.

Shells are added one by one, each started from the best of a dictionary, and all are improved together by restricted
maximum likelihood; the Bayesian information criterion says when to stop.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import squareform

from ...kernels.sphere import sphere_average
from .likelihood import Contrasts, contrasts

_MAX_SHELLS = 8
_TRIAL_STEPS, _STEPS = 15, 60
_LEAST_NOISE = 1e-6


class ShellBlock(NamedTuple):
    """Points looked at together: their distances (condensed), values, and an orthonormal basis of the trend."""

    distances: np.ndarray
    y: np.ndarray
    trend: np.ndarray


class ShellModel(NamedTuple):
    """Rows (weight, frequency, width) of shells, in units in which X has extent 1 and y has variance 1."""

    shells: np.ndarray
    noise: float
    deviance: float = math.inf


class ShellLikelihood:
    """-2 log of the restricted likelihood of a model, its derivatives and its minimum.

    ``highest`` is the highest frequency that the data can tell.
    """

    def __init__(self, blocks: list[ShellBlock], dimension: int, highest: float):
        self.blocks, self.dimension, self.highest = blocks, dimension, highest

    def criterion(self, model: ShellModel) -> float:
        """The Bayesian information criterion; a shell at frequency 0 has two parameters, others three."""
        parameters = 2 * len(model.shells) + np.count_nonzero(model.shells[:, 1])
        return model.deviance + parameters * math.log(sum(len(block.y) for block in self.blocks))

    def improve(self, model: ShellModel, steps: int = _STEPS) -> ShellModel:
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
        return ShellModel(shells, math.exp(found.x[-1]), float(found.fun))

    def _deviance_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        weights, frequencies, widths = theta[:-1].reshape(3, -1)
        shells = np.stack([np.exp(weights), frequencies, np.exp(widths)], axis=1)
        noise = math.exp(theta[-1])
        total, gradient = 0.0, np.zeros_like(theta)
        for block in self.blocks:
            waves, (projection, dual, deviance) = self._contrasts(block, shells, noise)
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

    def scores(self, model: ShellModel, dictionary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each (frequency, width) the score test for a shell more, and a first guess of its weight."""
        slopes, informations = np.zeros(len(dictionary)), np.zeros(len(dictionary))
        for block in self.blocks:
            _, (projection, dual, _) = self._contrasts(block, model.shells, model.noise)
            for j, (frequency, width) in enumerate(dictionary):
                shell = squareform(self._wave(block.distances, 1.0, frequency, width))
                np.fill_diagonal(shell, 1.0)
                product = projection @ shell
                slopes[j] += dual @ shell @ dual - np.trace(product)
                informations[j] += np.sum(product * product.T)
        return slopes / np.sqrt(2 * informations), slopes / informations

    def _contrasts(self, block: ShellBlock, shells: np.ndarray, noise: float) -> tuple[list[np.ndarray], Contrasts]:
        """The covariances of the shells (condensed), and what their sum makes of the data."""
        waves = [self._wave(block.distances, *shell) for shell in shells]
        covariance = squareform(sum(waves, np.zeros_like(block.distances)))
        np.fill_diagonal(covariance, shells[:, 0].sum() + noise)
        return waves, contrasts(covariance, block.trend, block.y)

    def _wave(self, r: np.ndarray, weight: float, frequency: float, width: float) -> np.ndarray:
        return weight * np.exp(-0.5 * (width * r) ** 2) * sphere_average(frequency * r, self.dimension)

    def _frequency_derivative(self, r: np.ndarray, weight: float, frequency: float, width: float) -> np.ndarray:
        steeper = sphere_average(frequency * r, self.dimension + 2)
        return -weight * frequency / self.dimension * r**2 * np.exp(-0.5 * (width * r) ** 2) * steeper


def grow(likelihood: ShellLikelihood, model: ShellModel, dictionary: np.ndarray) -> ShellModel:
    """The model with the best shells of a dictionary (k, 2), added one by one while the criterion falls."""
    while len(model.shells) < _MAX_SHELLS:
        scores, guesses = likelihood.scores(model, dictionary)
        candidates = []
        for j in _most_promising(scores, dictionary):
            weight = float(np.clip(guesses[j], 0.01, 0.9))
            shells = np.vstack([model.shells, [weight, *dictionary[j]]])
            start = ShellModel(shells, max(model.noise - weight, 0.1 * model.noise))
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


def shell_dictionary(count: int, highest: float) -> np.ndarray:
    """Rows (frequency, width): Gaussians of many scales, and shells whose widths reach their neighbours."""
    frequencies = np.geomspace(math.pi, highest, count)
    ratio = frequencies[1] / frequencies[0]
    shells = np.column_stack([frequencies, np.maximum(frequencies * (ratio - 1.0) / 1.5, 1.5)])
    scales = np.geomspace(0.5 * math.pi, 0.5 * highest, (count + 1) // 2)
    return np.vstack([np.column_stack([np.zeros_like(scales), scales]), shells])
