"""Tangent distances: distances of the planes that the transformations of two patterns span, to first order."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from ...memory import require_memory
from ..transformations.images import seven_deformations
from ._tangent_numba import two_sided
from .images import ImageDistance

_BLOCK_BYTES = 2**26
_LEAST_SPRING = 1e-4
_CANCELLATION = 1e-4


class TangentDistance(ImageDistance):
    """Distance of two patterns that may move, to first order, along the tangents of transformations.

    The transformed versions of a pattern are replaced by the plane through it that the derivatives of the
    transformations span. With orthonormal tangents T the squared two-sided distance is the least of |x + T_x' a - y -
    T_y' b|^2 + spring (|a|^2 + |b|^2): the springs keep the planes from being followed too far. The triangle inequality
    does not hold.

    Parameters
    ----------
    shape : (height, width), optional
        Of images, that come as rows of height * width numbers or as (n, height, width). Without a ``transformation``
        the seven classical ones are taken: shifts, rotation, scaling, two shears and line thickness.
    transformation : Transformation, optional
        Whose tangents are taken; patterns are then rows of numbers if there is no shape.
    smoothing : float
        Standard deviation, in pixels, of the Gaussian that images are smoothed with first, for the seven
        transformations: the first order holds over some such lengths.
    spring : float
        How much a step along the tangents costs; at least 1e-4, with which planes are all but unbounded.
    sides : 2 or 1
        1: one of the patterns stays; the squares of both possibilities are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import Euclidean, TangentDistance
    >>> image = np.zeros((16, 16))
    >>> image[4:12, 6:9] = 1.0
    >>> moved = np.roll(image, 1, axis=1)
    >>> near = TangentDistance((16, 16)).distance(image, moved)
    >>> bool(near < 0.2 * Euclidean().distance(image.ravel(), moved.ravel()))
    True
    """

    def __init__(self, shape=None, transformation=None, smoothing: float = 0.9, spring: float = 0.1, sides: int = 2):
        self.shape = shape
        self.transformation = transformation
        self.smoothing = smoothing
        self.spring = spring
        self.sides = sides

    def patterns(self, X, name: str = "X") -> np.ndarray:
        if self.transformation is not None and self.shape is None:
            return self.transformation.patterns(X)
        return super().patterns(X, name)

    def _pairwise(self, X, Y):
        if not (np.isfinite(self.spring) and self.spring >= _LEAST_SPRING):
            raise ValueError(f"spring must be a number, {_LEAST_SPRING:g} or more, got {self.spring!r}.")
        if self.sides not in (1, 2):
            raise ValueError(f"sides must be 1 or 2, got {self.sides!r}.")
        x, Tx = self._planes(X)
        y, Ty = (x, Tx) if Y is None else self._planes(Y)
        n, m = len(x), len(y)
        require_memory(8 * n * m, f"{n} x {m} tangent distances", "use fewer patterns.")
        squared = np.empty((n, m))
        for rows, columns in _tiles(n, m, Tx.shape[1], Y is None):
            tile = self._squared(x[rows], Tx[rows], y[columns], Ty[columns])
            squared[rows, columns] = tile
            if Y is None and rows != columns:
                squared[columns, rows] = tile.T
            elif Y is None:
                upper = np.triu(tile, 1)
                squared[rows, columns] = upper + upper.T
        return np.sqrt(squared, out=squared)

    def _planes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Patterns (n, d) and orthonormal tangents (n, p, d), in single precision."""
        if self.transformation is None:
            if not (np.isfinite(self.smoothing) and self.smoothing > 0):
                raise ValueError(f"smoothing must be a positive number of pixels, got {self.smoothing!r}.")
            tangents = seven_deformations(self.shape, self.smoothing).tangents(X)
            X = gaussian_filter(X.reshape(-1, *self.shape), (0, self.smoothing, self.smoothing), mode="constant")
            X = X.reshape(len(X), -1)
        else:
            tangents = self.transformation.tangents(X)
        return X.astype(np.float32), _orthonormal(tangents).astype(np.float32)

    def _squared(self, x, Tx, y, Ty) -> np.ndarray:
        n, p, d = Tx.shape
        m = len(y)
        squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * (x @ y.T)
        g = np.einsum("npd,nd->np", Tx, x)[:, :, None] - (Tx.reshape(n * p, d) @ y.T).reshape(n, p, m)
        first = np.ascontiguousarray(Ty.transpose(1, 0, 2)).reshape(p * m, d)  # all first tangents, all second, ...
        h = (x @ first.T).reshape(n, p, m).transpose(1, 0, 2) - np.einsum("mpd,md->pm", Ty, y)[:, None, :]
        close = np.nonzero(squares < _CANCELLATION * squares.max(initial=0.0))
        if self.sides == 1:
            moved = 0.5 * ((g**2).sum(axis=1) + (h**2).sum(axis=0))
            out = np.maximum(squares - moved / np.float32(1.0 + self.spring), 0.0).astype(np.float32)
        else:
            S = (Tx.reshape(n * p, d) @ first.T).reshape(n, p, p, m)
            out = np.empty((n, m), dtype=np.float32)
            two_sided(squares, g, np.ascontiguousarray(h), S, float(self.spring), out)
        for i, j in zip(*close, strict=True):
            out[i, j] = self._squared_of_close(x[i], Tx[i], y[j], Ty[j])
        return out

    def _squared_of_close(self, x, Tx, y, Ty) -> float:
        """The same for two patterns that nearly agree, from their difference, in double precision."""
        difference, Tx, Ty = x.astype(float) - y, Tx.astype(float), Ty.astype(float)
        if self.sides == 1:
            moved = 0.5 * (((Tx @ difference) ** 2).sum() + ((Ty @ difference) ** 2).sum())
            return max(difference @ difference - moved / (1.0 + self.spring), 0.0)
        planes = np.concatenate([Tx, -Ty])
        system = planes @ planes.T + self.spring * np.eye(len(planes))
        along = planes @ difference
        return max(difference @ difference - along @ np.linalg.solve(system, along), 0.0)


def _tiles(n: int, m: int, p: int, symmetric: bool):
    """Slices of rows and columns whose products fit into a bounded memory; half of them for a symmetric matrix."""
    side = max(int(np.sqrt(_BLOCK_BYTES / (4.0 * (p + 1) ** 2))), 1)
    for i in range(0, n, side):
        for j in range(i if symmetric else 0, m, side):
            yield slice(i, min(i + side, n)), slice(j, min(j + side, m))


def _orthonormal(tangents: np.ndarray) -> np.ndarray:
    """An orthonormal basis of each row of tangents; zero vectors where they depend on each other."""
    _, values, V = np.linalg.svd(tangents, full_matrices=False)
    kept = values > 1e-10 * values.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
    return V * kept[:, :, None]
