"""The image distortion distance: every pixel may move a little, on its own."""

import numpy as np
from scipy.ndimage import correlate1d

from ... import _native
from ..transformations.grids import checked_shape
from .base import ImageDistance, require_equal_patterns

_SLOPE, _SMOOTH = (-0.5, 0.0, 0.5), (0.25, 0.5, 0.25)  # Sobel's filter, along an axis and across it


class ImageDistortion(ImageDistance):
    """How well two images agree if every pixel may look for its counterpart nearby.

    Each pixel, with its surroundings, is compared to all places within ``reach`` in the other image, and the best
    agreement counts. The distance is the root of the squared differences, summed over the pixels and averaged over both
    directions. Gradients with some context work best on handwritten digits. The triangle inequality does not hold.

    Parameters
    ----------
    shape : (height, width)
        Of the images, which are given as rows of pixels or as (n, height, width).
    reach : int
        The largest displacement of a pixel along an axis.
    context : int
        How many pixels to each side are compared together with a pixel.
    gradients : bool
        Compare local gradients (Sobel's filter) instead of grey values.

    See Also
    --------
    TangentDistance : The whole image moves, to first order.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import ImageDistortion
    >>> image = np.zeros((1, 12, 12))
    >>> image[0, 5:7, 4:7] = 1.0
    >>> ImageDistortion((12, 12)).pairwise(image, np.roll(image, 1, axis=2))
    array([[0.]])
    """

    def __init__(self, shape: tuple[int, int] | None = None, reach: int = 2, context: int = 1, gradients: bool = True):
        self.shape, self.reach, self.context, self.gradients = shape, reach, context, gradients

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        require_equal_patterns(X, Y)
        for name in ("reach", "context"):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= 0):
                raise ValueError(f"{name} must be a whole number of pixels, 0 or more, got {value!r}.")
        A = self._channels(X)
        B = A if Y is None else self._channels(Y)
        squared = np.zeros((len(A), len(B)))
        _native.distort(A, B, self.reach, self.context, Y is None, squared)
        if Y is None:
            squared += squared.T
        return np.sqrt(squared, out=squared)

    def _channels(self, X: np.ndarray) -> np.ndarray:
        """What is compared, with a border of zeros: (n, channels, h, w)."""
        images = X.reshape(-1, *checked_shape(self.shape))
        border = self.reach + self.context
        images = np.pad(images, ((0, 0), (border, border), (border, border)))
        if not self.gradients:
            return np.ascontiguousarray(images[:, None], dtype=np.float32)
        slopes = [
            correlate1d(correlate1d(images, _SLOPE, axis, mode="constant"), _SMOOTH, 3 - axis, mode="constant")
            for axis in (1, 2)
        ]
        return np.ascontiguousarray(np.stack(slopes, axis=1), dtype=np.float32)
