"""Pictures of pixels between the pixels: linear and cubic splines, as sparse matrices of pixels."""

from numbers import Real

import numpy as np
from scipy import sparse
from scipy.ndimage import gaussian_filter, gaussian_filter1d, spline_filter1d

_MARGIN = 12  # coefficients of cubic splines have fallen to 1e-7 there, and reflections from there to 1e-14
DEGREES = {"linear": 1, "cubic": 3}


def checked_degree(interpolation: str) -> int:
    """The degree of the spline."""
    if interpolation not in DEGREES:
        raise ValueError(f"interpolation must be 'linear' or 'cubic', got {interpolation!r}.")
    return DEGREES[interpolation]


def with_margin(grids: np.ndarray, margin: int) -> np.ndarray:
    """Grids (n, ...) with a margin of zeros on all sides of all axes but the first."""
    return np.pad(grids, [(0, 0)] + [(int(margin), int(margin))] * (grids.ndim - 1))


class Interpolant:
    """Grids (n, h) or (n, h, w) of pixels as functions of the place, splines of degree 1 or 3; zero outside."""

    def __init__(self, grids: np.ndarray, degree: int):
        self.degree = degree
        self.margin = _MARGIN if degree == 3 else 0
        values = with_margin(grids, self.margin)
        if degree == 3:
            for axis in range(1, values.ndim):
                values = spline_filter1d(values, 3, axis=axis, mode="mirror")
        self.shape = values.shape[1:]
        self.columns = np.ascontiguousarray(values.reshape(len(values), -1).T)

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """Values (n, q) at places (q, axes), in pixels from the first one."""
        return np.ascontiguousarray((self._matrix(places + self.margin) @ self.columns).T)

    def _matrix(self, places: np.ndarray) -> sparse.csr_array:
        """The sparse matrix from coefficients to values."""
        index = np.zeros((len(places), 1), dtype=np.int64)
        weight = np.ones((len(places), 1))
        for axis, size in enumerate(self.shape):
            near, share = _spline_weights(places[:, axis], self.degree)
            share = np.where((near >= 0) & (near < size), share, 0.0)
            index = (index[:, :, None] * size + np.clip(near, 0, size - 1)[:, None, :]).reshape(len(places), -1)
            weight = (weight[:, :, None] * share[:, None, :]).reshape(len(places), -1)
        starts = np.arange(len(places) + 1) * index.shape[1]
        return sparse.csr_array((weight.ravel(), index.ravel(), starts), shape=(len(places), int(np.prod(self.shape))))


def _spline_weights(place: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """The knots (q, degree + 1) around each place and the values of their B-splines there."""
    low = np.floor(place).astype(np.int64)
    t = place - low
    if degree == 1:
        return low[:, None] + np.arange(2), np.stack([1 - t, t], axis=1)
    outer = np.stack([(1 - t) ** 3, t**3], axis=1) / 6
    inner = np.stack([4 - 6 * t**2 + 3 * t**3, 4 - 6 * (1 - t) ** 2 + 3 * (1 - t) ** 3], axis=1) / 6
    return low[:, None] + np.arange(-1, 3), np.stack([outer[:, 0], inner[:, 0], inner[:, 1], outer[:, 1]], axis=1)


def smoothed(grids: np.ndarray, smoothing: float) -> np.ndarray:
    """Grids (n, ...) after a Gaussian of the given width in pixels."""
    checked_smoothing(smoothing)
    if smoothing == 0:
        return grids
    return gaussian_filter(grids, (0,) + (smoothing,) * (grids.ndim - 1), mode="constant")


def gradients(grids: np.ndarray, smoothing: float) -> list[np.ndarray]:
    """Derivatives along each axis of the smoothed grids; central differences without smoothing."""
    checked_smoothing(smoothing)
    axes = range(1, grids.ndim)
    if smoothing == 0:
        wide = with_margin(grids, 1)
        inner = (slice(None),) + (slice(1, -1),) * (grids.ndim - 1)
        return [((np.roll(wide, -1, axis) - np.roll(wide, 1, axis)) / 2)[inner] for axis in axes]
    result = []
    for axis in axes:
        values = grids
        for other in axes:
            values = gaussian_filter1d(values, smoothing, axis=other, order=int(other == axis), mode="constant")
        result.append(values)
    return result


def checked_smoothing(smoothing: float) -> None:
    """Raise an error unless the width is a finite number that is not negative."""
    if not (isinstance(smoothing, Real) and np.isfinite(smoothing) and smoothing >= 0):
        raise ValueError(f"smoothing must be a width in pixels >= 0, got {smoothing!r}.")
