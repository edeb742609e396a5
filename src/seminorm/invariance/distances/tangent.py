"""Tangent distances: distances of the planes that the transformations of two patterns span, to first order."""

import numpy as np
from numpy.typing import ArrayLike

from ... import _native
from ..transformations.base import Transformation
from ..transformations.grids import checked_shape
from ..transformations.images import seven_deformations
from ..transformations.interpolation import smoothed
from .base import ImageDistance, distance_matrix, require_equal_patterns

_TILE_BYTES = 2**26
_LEAST_SPRING = 1e-4
_CANCELLATION = 1e-4


class TangentDistance(ImageDistance):
    """Distance of two patterns that may move, to first order, along the tangents of transformations.

    The transformed versions of a pattern are replaced by the plane through it that the derivatives of the
    transformations span. With orthonormal tangents T the squared two-sided distance is the smallest value of
    |x + T_x' a - y - T_y' b|^2 + spring (|a|^2 + |b|^2): springs keep patterns from moving too far along the planes.
    The triangle inequality does not hold.

    Parameters
    ----------
    shape : (height, width), optional
        Of the images, which are given as rows of pixels or as (n, height, width).
    transformation : Transformation, optional
        The set that supplies the tangents, by default the seven classical deformations of images. With a transformation
        and without a shape, patterns are rows of numbers.
    smoothing : float
        Width, in pixels, of the Gaussian that smooths images before the seven deformations; the first order is accurate
        over a few such lengths.
    spring : float
        The cost of a step along the tangents, at least 1e-4: practically unbounded planes.
    sides : {2, 1}
        With 1 only one of the patterns moves; the squares of both possibilities are averaged.

    See Also
    --------
    seven_deformations : The transformations that are used by default.
    ImageDistortion : Every pixel moves on its own.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import TangentDistance
    >>> image = np.zeros((16, 16))
    >>> image[4:12, 6:9] = 1.0
    >>> TangentDistance((16, 16)).distance(image, np.roll(image, 1, axis=1)) < 0.2 * 4.0  # of the Euclidean distance
    True
    """

    def __init__(
        self,
        shape: tuple[int, int] | None = None,
        transformation: Transformation | None = None,
        smoothing: float = 0.9,
        spring: float = 0.1,
        sides: int = 2,
    ):
        self.shape, self.transformation, self.smoothing = shape, transformation, smoothing
        self.spring, self.sides = spring, sides

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        if self.transformation is not None and self.shape is None:
            return self.transformation.patterns(X, name)
        return super().patterns(X, name)

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        if not (np.isfinite(self.spring) and self.spring >= _LEAST_SPRING):
            raise ValueError(f"spring must be a number, {_LEAST_SPRING:g} or more, got {self.spring!r}.")
        if self.sides not in (1, 2):
            raise ValueError(f"sides must be 1 or 2, got {self.sides!r}.")
        require_equal_patterns(X, Y)
        x, Tx = self._planes(X)
        y, Ty = (x, Tx) if Y is None else self._planes(Y)
        squared = distance_matrix(
            lambda rows, columns: self._squared(x[rows], Tx[rows], y[columns], Ty[columns]),
            len(x), None if Y is None else len(y),
            side=max(int(np.sqrt(_TILE_BYTES / (4.0 * (Tx.shape[1] + 1) ** 2))), 1),
        )  # fmt: skip
        return np.sqrt(squared, out=squared)

    def _planes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Patterns (n, d) and orthonormal tangents (n, p, d), in single precision."""
        if self.transformation is None:
            if not (np.isfinite(self.smoothing) and self.smoothing > 0):
                raise ValueError(f"smoothing must be a positive number of pixels, got {self.smoothing!r}.")
            shape = checked_shape(self.shape)
            tangents = seven_deformations(shape, self.smoothing).tangents(X)
            X = smoothed(X.reshape(-1, *shape), self.smoothing).reshape(len(X), -1)
        else:
            tangents = self.transformation.tangents(X)
        return X.astype(np.float32), _orthonormal(tangents).astype(np.float32)

    def _squared(self, x: np.ndarray, Tx: np.ndarray, y: np.ndarray, Ty: np.ndarray) -> np.ndarray:
        n, p, d = Tx.shape
        m = len(y)
        squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2.0 * (x @ y.T)
        g = np.einsum("npd,nd->np", Tx, x)[:, :, None] - (Tx.reshape(n * p, d) @ y.T).reshape(n, p, m)
        first = np.ascontiguousarray(Ty.transpose(1, 0, 2)).reshape(p * m, d)  # all first tangents, all second, ...
        h = (x @ first.T).reshape(n, p, m) - np.einsum("mpd,md->pm", Ty, y)
        close = np.nonzero(squares < _CANCELLATION * squares.max(initial=0.0))
        if self.sides == 1:
            moved = 0.5 * ((g**2).sum(axis=1) + (h**2).sum(axis=1))
            out = np.maximum(squares - moved / np.float32(1.0 + self.spring), 0.0).astype(np.float32)
        else:
            S = (Tx.reshape(n * p, d) @ first.T).reshape(n, p, p, m)
            out = np.empty((n, m), dtype=np.float32)
            contiguous = map(np.ascontiguousarray, (squares, g, h, S))
            _native.tangent_planes(*contiguous, float(self.spring), out)
        for i, j in zip(*close, strict=True):
            out[i, j] = self._squared_of_close(x[i], Tx[i], y[j], Ty[j])
        return out

    def _squared_of_close(self, x: np.ndarray, Tx: np.ndarray, y: np.ndarray, Ty: np.ndarray) -> float:
        """The same for two patterns that nearly agree, from their difference, in double precision."""
        difference, Tx, Ty = x.astype(float) - y, Tx.astype(float), Ty.astype(float)
        if self.sides == 1:
            moved = 0.5 * (((Tx @ difference) ** 2).sum() + ((Ty @ difference) ** 2).sum())
            return max(difference @ difference - moved / (1.0 + self.spring), 0.0)
        planes = np.concatenate([Tx, -Ty])
        system = planes @ planes.T + self.spring * np.eye(len(planes))
        along = planes @ difference
        return max(difference @ difference - along @ np.linalg.solve(system, along), 0.0)


def _orthonormal(tangents: np.ndarray) -> np.ndarray:
    """An orthonormal basis of each row of tangents; zero vectors where they depend on each other."""
    _, values, V = np.linalg.svd(tangents, full_matrices=False)
    kept = values > 1e-10 * values.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
    return V * kept[:, :, None]
