"""Scores of predictions by normal distributions [Gneiting and Raftery 2007]."""

import numpy as np
from scipy.special import ndtr

WIDTH = 1.959963984540054  # of a band of 95 %, in standard deviations


def scores(y, mean, std):
    """Root mean square and mean absolute error, CRPS, interval score and coverage of bands of 95 %."""
    error = y - mean
    z = error / std
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    crps = std * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))
    outside = np.maximum(abs(error) - WIDTH * std, 0.0)
    interval = 2.0 * WIDTH * std + 2.0 / 0.05 * outside
    covered = outside == 0.0
    return np.sqrt(np.mean(error**2)), np.mean(abs(error)), np.mean(crps), np.mean(interval), np.mean(covered)
