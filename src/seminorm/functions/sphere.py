"""Points on the sphere: degrees of longitude and latitude, and the unit vectors they stand for."""

import numpy as np
from numpy.typing import ArrayLike


def unit_vectors(X: ArrayLike) -> np.ndarray:
    """The unit vectors (n, 3) of longitudes and latitudes in degrees (n, 2).

    Longitudes that differ by 360 give the same bits, and so do all longitudes at a pole.

    Parameters
    ----------
    X : array (n, 2)
        Longitude and latitude in degrees.

    Returns
    -------
    array (n, 3)

    See Also
    --------
    seminorm.Smoother : Its ``coordinates="geographic"`` measures distances between these vectors.

    Examples
    --------
    >>> from seminorm.functions import unit_vectors
    >>> (unit_vectors([[90.0, 0.0], [-270.0, 0.0], [5.0, 90.0]]) + 0.0).tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    cosines, sines = _turns(np.asarray(X, dtype=float))
    return np.column_stack([cosines[:, 1] * cosines[:, 0], cosines[:, 1] * sines[:, 0], sines[:, 1]])


def contracted(tensors: list[np.ndarray], X: np.ndarray, times: int) -> np.ndarray:
    """Derivatives in degrees (n, k) + (2,) * times of functions of unit vectors, from all their derivatives
    (n, k) + (3,) * order of order 0 to ``times`` <= 2 there.
    """
    if times == 0:
        return tensors[0]
    slope, curvature = _slopes(X)
    if times == 1:
        return np.einsum("nka,nai->nki", tensors[1], slope)
    bent = np.einsum("nkab,nai,nbj->nkij", tensors[2], slope, slope)
    return bent + np.einsum("nka,naij->nkij", tensors[1], curvature)


def _slopes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First (n, 3, 2) and second (n, 3, 2, 2) derivatives of the unit vectors in degrees."""
    cosines, sines = _turns(X)
    (cl, cp), (sl, sp), zero = cosines.T, sines.T, np.zeros(len(X))
    first = np.array([[-sl * cp, -cl * sp], [cl * cp, -sl * sp], [zero, cp]])
    mixed = np.array([sl * sp, -cl * sp, zero])
    second = np.array([[[-cl * cp, mixed[0]], [mixed[0], -cl * cp]], [[-sl * cp, mixed[1]], [mixed[1], -sl * cp]],
                       [[zero, mixed[2]], [mixed[2], -sp]]])  # fmt: skip
    degree = np.pi / 180.0
    return np.moveaxis(first, -1, 0) * degree, np.moveaxis(second, -1, 0) * degree**2


def _turns(degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine, exact at multiples of 90 degrees."""
    quarter = np.round(degrees / 90.0)
    rest = np.radians(degrees - 90.0 * quarter)
    c, s, turn = np.cos(rest), np.sin(rest), quarter.astype(np.int64) % 4
    return np.choose(turn, [c, -s, -c, s]), np.choose(turn, [s, c, -s, -c])
