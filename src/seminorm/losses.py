"""Squared losses with a flat part: which points are active, and the value that an active point is drawn to.

On the active set such a loss is w (f - target)^2, which is all that Newton's method needs to know. (The hinge and the
epsilon-insensitive loss themselves are constraints of the box QP: see :mod:`seminorm.solvers.hinge`.)
"""

from __future__ import annotations

import numpy as np


class SquaredHinge:
    """max(0, 1 - y f)^2: points with y f < 1 are active and drawn to y."""

    def __init__(self, y: np.ndarray):
        self.y = y

    def subset(self, points: np.ndarray) -> SquaredHinge:
        return SquaredHinge(self.y[points])

    def active(self, f: np.ndarray) -> np.ndarray:
        return self.y * f < 1.0

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y


class SquaredInsensitive:
    """max(0, |y - f| - epsilon)^2: points outside the tube are active and drawn to its nearer edge."""

    def __init__(self, y: np.ndarray, epsilon: float):
        self.y = y
        self.epsilon = epsilon

    def subset(self, points: np.ndarray) -> SquaredInsensitive:
        return SquaredInsensitive(self.y[points], self.epsilon)

    def active(self, f: np.ndarray) -> np.ndarray:
        return np.abs(self.y - f) > self.epsilon

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y - self.epsilon * np.sign(self.y - f)
