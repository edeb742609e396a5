"""Functions of a positive number that are costly to compute, tabulated octave by octave where they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

_NODES = 24
_MOST_SPLITS = 8
_SMALLEST, _LARGEST = 2.0**-100, 2.0**100


class OctaveTable:
    """Chebyshev series of a function between the powers of 2, on as many cells as the accuracy needs.

    Parameters
    ----------
    function : callable
        Of positive numbers; smooth.
    accuracy : float
        Relative to the largest value in the octave, or to ``size`` if that is larger.
    size : float
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
        nodes = np.cos(math.pi * (np.arange(_NODES) + 0.5) / _NODES)
        for splits in range(_MOST_SPLITS + 1):
            ends = np.linspace(start, 2.0 * start, 2**splits + 1)
            middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
            samples = self.function(middle[:, None] + half[:, None] * nodes)
            series = chebyshev.chebfit(nodes, samples.T, _NODES - 1)
            reached = np.abs(series[-3:]).max() / max(self.size, float(np.abs(samples).max()), np.finfo(float).tiny)
            if reached <= self.accuracy:
                return ends, series
        raise ValueError(
            f"the function oscillates too much to be tabulated around {start:.3g} to the accuracy {self.accuracy:g} "
            f"(reached: {reached:.1e}): choose units in which the data and the operator are of the same size, or a "
            "larger accuracy."
        )
