"""Pair steps for a quadratic in a box whose variables have a fixed sum: the compiled loop of :mod:`.indefinite`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def pair_steps(K, ridge, points, c, lower, upper, x, values, tolerance, max_steps):
    """Shift weight between two variables at a time; ``x`` (m,) and ``values`` = (K + ridge) a (n,) change in place.

    Variable k is part of the coefficient of point ``points[k]``; -1 is a variable without a kernel, which frees the
    sum. The first of a pair violates the optimality conditions most, the second promises the largest decrease on the
    segment that the box leaves, whatever the sign of the curvature. Returns the number of steps, the violation left,
    and whether the objective falls for ever along some pair.
    """
    m, n = len(x), len(K)
    steps = 0
    while True:
        first, best_up, worst_down = -1, -np.inf, np.inf
        for k in range(m):
            p = points[k]
            slope = c[k] - (values[p] if p >= 0 else 0.0)
            if x[k] < upper[k] and slope > best_up:
                first, best_up = k, slope
            if x[k] > lower[k] and slope < worst_down:
                worst_down = slope
        violation = best_up - worst_down
        if not violation > tolerance or steps >= max_steps:
            return steps, max(violation, 0.0), False
        i = points[first]
        own = K[i, i] + ridge[i] if i >= 0 else 0.0
        second, gain, length = -1, 0.0, 0.0
        for k in range(m):
            if k == first or not x[k] > lower[k]:
                continue
            p = points[k]
            slope = best_up - (c[k] - (values[p] if p >= 0 else 0.0))
            if slope <= 0.0:
                continue
            curvature = own
            if p >= 0:
                curvature += K[p, p] + ridge[p]
                if i >= 0:
                    curvature -= 2.0 * K[i, p]
                if p == i:
                    curvature = 0.0
            room = min(upper[first] - x[first], x[k] - lower[k])
            t = room
            if curvature > 0.0 and slope < room * curvature:
                t = slope / curvature
            if t == np.inf:
                return steps, violation, True
            promised = t * (slope - 0.5 * curvature * t)
            if promised > gain:
                second, gain, length = k, promised, t
        if second < 0:
            return steps, violation, False
        j = points[second]
        at_upper, at_lower = length == upper[first] - x[first], length == x[second] - lower[second]
        x[first] = upper[first] if at_upper else x[first] + length
        x[second] = lower[second] if at_lower else x[second] - length
        if i != j:
            for p in range(n):
                change = 0.0
                if i >= 0:
                    change += K[i, p]
                if j >= 0:
                    change -= K[j, p]
                values[p] += length * change
            if i >= 0:
                values[i] += length * ridge[i]
            if j >= 0:
                values[j] -= length * ridge[j]
        steps += 1
