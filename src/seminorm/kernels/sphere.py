"""The average of a plane wave over a sphere, which is to radial functions in R^d what the cosine is on the line."""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import j0, j1

_FAR = 1000.0
_NEGLIGIBLE = 1e-18


def sphere_average(z: ArrayLike, dimension: int) -> np.ndarray:
    """Omega_d(z) = Gamma(d/2) (2/z)^(d/2-1) J_(d/2-1)(z), the average of exp(i omega.x) over all directions of omega
    at |omega| |x| = z.

    It is cos(z), J_0(z), sin(z) / z in dimension 1, 2, 3; Omega_d(0) = 1, and
    d/ds Omega_d(w sqrt(s)) = -w^2 / (2 d) Omega_(d+2)(w sqrt(s)). z may have any shape and sign; the absolute error is
    about 1e-15.
    """
    if not (isinstance(dimension, (int, np.integer)) and dimension >= 1):
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    z = np.abs(np.asarray(z, dtype=np.float64))
    if dimension <= 3:
        return (np.cos, partial(_bessel, 0), _sinc)[dimension - 1](z)
    near = z * z <= 8.0 * dimension
    if near.all():
        return _series(z, dimension)
    if not near.any():
        return _recurrence(z, dimension)
    values = np.empty_like(z)
    values[near] = _series(z[near], dimension)
    values[~near] = _recurrence(z[~near], dimension)
    return values


def _sinc(z: np.ndarray) -> np.ndarray:
    return np.divide(np.sin(z), z, where=z > 0, out=np.ones_like(z))


def _series(z: np.ndarray, dimension: int) -> np.ndarray:
    """The power series sum_k (-z^2/4)^k / (k! (d/2)_k); its terms stay below 10 for z^2 <= 8 d."""
    square = -0.25 * z * z
    largest = float(np.abs(square).max(initial=0.0))
    total, term, bound, k = np.ones_like(z), np.ones_like(z), 1.0, 0
    while bound > _NEGLIGIBLE:
        divisor = (k + 1) * (0.5 * dimension + k)
        term *= square / divisor
        total += term
        bound *= largest / divisor
        k += 1
    return total


def _recurrence(z: np.ndarray, dimension: int) -> np.ndarray:
    """Omega_(d+2) = d (d - 2) / z^2 (Omega_d - Omega_(d-2)), which is stable upwards for z beyond about d."""
    inverse_square = 1.0 / (z * z)
    if dimension % 2:
        lower, upper, d = np.cos(z), np.sin(z) / z, 3
    else:
        lower, upper, d = _bessel(0, z), 2.0 * _bessel(1, z) / z, 4
    while d < dimension:
        lower, upper = upper, d * (d - 2) * inverse_square * (upper - lower)
        d += 2
    return upper


def _bessel(order: int, z: np.ndarray) -> np.ndarray:
    """J_0 or J_1, for large z by Hankel's expansion with an exact phase (SciPy's rounds z - pi/4)."""
    values = np.asarray((j0, j1)[order](z))
    far = z > _FAR
    if not far.any():
        return values
    z = z[far]
    a = [1.0]
    for k in range(1, 5):
        a.append(a[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    even, odd = a[0] - a[2] / z**2 + a[4] / z**4, a[1] / z - a[3] / z**3
    plus, minus = np.cos(z) + np.sin(z), np.sin(z) - np.cos(z)  # sqrt(2) times cosine and sine of z - pi/4
    cosine, sine = (plus, minus) if order == 0 else (minus, -plus)
    values[far] = (even * cosine - odd * sine) / np.sqrt(math.pi * z)
    return values
