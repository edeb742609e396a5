"""The perceptron in its dual form: how often each point was corrected."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Corrections:
    """What the perceptron did."""

    counts: np.ndarray  #: corrections of each point
    iterations: int  #: passes over the points
    converged: bool  #: whether all points are on their side


def perceptron(
    K: np.ndarray, y: np.ndarray, max_iter: int, order: Callable[[], np.ndarray], weights: np.ndarray | None = None
) -> Corrections:
    """Pass over the points and add w_i y_i k(., x_i) to f, from f = 0, whenever y_i f(x_i) <= 0, until it no longer
    is.

    It takes finitely many corrections if K is positive definite, at most (R / margin)^2, R^2 the largest k(x, x).
    ``order()`` gives the order of the points in the next of at most ``max_iter`` passes.
    """
    steps = y if weights is None else weights * y
    values, counts = np.zeros(len(y)), np.zeros(len(y), dtype=np.int64)
    for epoch in range(max_iter):
        if (y * values > 0).all():
            return Corrections(counts, epoch, True)
        remaining = order()
        while len(remaining):
            wrong = y[remaining] * values[remaining] <= 0
            next_wrong = int(wrong.argmax())
            if not wrong[next_wrong]:
                break
            i = remaining[next_wrong]
            counts[i] += 1
            values += steps[i] * K[i]
            remaining = remaining[next_wrong + 1 :]
    return Corrections(counts, max_iter, bool((y * values > 0).all()))
